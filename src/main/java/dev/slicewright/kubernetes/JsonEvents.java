package dev.slicewright.kubernetes;

import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.BooleanNode;
import tools.jackson.databind.node.NullNode;
import tools.jackson.databind.node.StringNode;

/** The events of one JSON value within a text. Confined to one thread at a time. */
final class JsonEvents implements ManifestEvents {

  private static final int LONGEST_NUMBER = 1000;

  private final JsonParser parser;
  private final int start;
  private final int firstLine;
  private final int firstColumn;
  private @Nullable JsonToken token;
  private @Nullable JsonNode scalar;

  /**
   * Events of the value that begins at a place.
   *
   * @param place where it begins
   * @param factory of parsers
   */
  JsonEvents(JsonPlace place, JsonFactory factory) {
    this.start = place.at();
    this.firstLine = place.line();
    this.firstColumn = place.column();
    this.parser =
        factory.createParser(
            ObjectReadContext.empty(), new TextPart(place.text(), start, place.end()));
  }

  /** Parsers that stop at the limits. */
  static JsonFactory factory(ManifestLimits limits) {
    StreamReadConstraints constraints =
        StreamReadConstraints.builder()
            // One more, so that the tree finds it first and says it in its own words.
            .maxNestingDepth(limits.maxDepth() + 1)
            .maxStringLength(limits.maxObjectSize())
            .maxNameLength(limits.maxObjectSize())
            .maxNumberLength(LONGEST_NUMBER)
            .build();
    return JsonFactory.builder().streamReadConstraints(constraints).build();
  }

  @Override
  public Kind next() {
    scalar = null;
    try {
      token = parser.nextToken();
      if (token != null && token.isScalarValue()) {
        scalar = scalarOf(token, parser.getString());
      } else if (token == JsonToken.PROPERTY_NAME) {
        scalar = StringNode.valueOf(parser.currentName());
      }
    } catch (JacksonException e) {
      TokenStreamLocation at = e.getLocation();
      throw fault(
          at == null ? parser.currentLocation() : at,
          "not readable as JSON: " + e.getOriginalMessage());
    }
    return kind();
  }

  private static @Nullable JsonNode scalarOf(JsonToken token, String text) {
    return switch (token) {
      case VALUE_TRUE -> BooleanNode.TRUE;
      case VALUE_FALSE -> BooleanNode.FALSE;
      case VALUE_NULL -> NullNode.getInstance();
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> ManifestScalars.number(text);
      default -> StringNode.valueOf(text);
    };
  }

  @Override
  public Kind kind() {
    if (token == null) {
      return Kind.END;
    }
    return switch (token) {
      case START_OBJECT -> Kind.MAPPING_START;
      case END_OBJECT -> Kind.MAPPING_END;
      case START_ARRAY -> Kind.LIST_START;
      case END_ARRAY -> Kind.LIST_END;
      default -> Kind.SCALAR;
    };
  }

  @Override
  public JsonNode scalar() {
    return scalar == null ? NullNode.getInstance() : scalar;
  }

  @Override
  public int length() {
    return parser.getStringLength();
  }

  @Override
  public @Nullable String anchor() {
    return null;
  }

  @Override
  public boolean isMerge() {
    return false;
  }

  @Override
  public @Nullable String flaw() {
    return kind() == Kind.SCALAR && scalar == null
        ? "expected a finite number, got " + parser.getString()
        : null;
  }

  @Override
  public int line() {
    return firstLine + Math.max(parser.currentTokenLocation().getLineNr(), 1) - 1;
  }

  /** Where the next value may begin, once all of this one has been read. */
  int end() {
    return start + (int) parser.currentLocation().getCharOffset();
  }

  @Override
  public ManifestFault fault(String message) {
    return fault(parser.currentTokenLocation(), message);
  }

  private ManifestFault fault(TokenStreamLocation at, String message) {
    int line = Math.max(at.getLineNr(), 1);
    int column = Math.max(at.getColumnNr(), 1);
    return new ManifestFault(
        firstLine + line - 1,
        line == 1 ? firstColumn + column - 1 : column,
        start + (int) Math.max(at.getCharOffset(), 0),
        message);
  }
}
