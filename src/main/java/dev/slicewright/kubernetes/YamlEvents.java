package dev.slicewright.kubernetes;

import java.util.Iterator;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.common.Anchor;
import org.snakeyaml.engine.v2.events.CollectionStartEvent;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.events.NodeEvent;
import org.snakeyaml.engine.v2.events.ScalarEvent;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import org.snakeyaml.engine.v2.parser.ParserImpl;
import org.snakeyaml.engine.v2.scanner.StreamReader;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.StringNode;

/**
 * The events of a part of a YAML text. Confined to one thread at a time.
 *
 * <p>Stands on the parser below Jackson's YAML: Jackson's own tokens neither tell plain scalars
 * from quoted ones nor follow aliases.
 */
final class YamlEvents implements ManifestEvents {

  private static final String CORE = "tag:yaml.org,2002:";

  private static final LoadSettings SETTINGS =
      LoadSettings.builder().setUseMarks(true).setCodePointLimit(Integer.MAX_VALUE).build();

  private final TextPart part;
  private final int firstLine;
  private final int maxTokenLength;
  private final Iterator<Event> events;
  private @Nullable Event event;
  private Kind kind = Kind.END;
  private @Nullable JsonNode scalar;

  /**
   * Events of a part.
   *
   * @param text the whole text
   * @param start of the part
   * @param end of the part, exclusive
   * @param firstLine the line of the start, counted from 1
   * @param maxTokenLength characters between one event and the next
   */
  YamlEvents(String text, int start, int end, int firstLine, int maxTokenLength) {
    this.part = new TextPart(text, start, end);
    this.firstLine = firstLine;
    this.maxTokenLength = maxTokenLength;
    part.allow(maxTokenLength);
    // What the engine's Parse does, whose package its module does not export.
    this.events = new ParserImpl(SETTINGS, new StreamReader(SETTINGS, part));
  }

  @Override
  public Kind next() {
    scalar = null;
    Kind found;
    do {
      part.allow(maxTokenLength);
      event = pull();
      found = kindOf(event);
    } while (found == null);
    kind = found;
    return found;
  }

  private Event pull() {
    try {
      return events.next();
    } catch (TextPart.Exhausted e) {
      throw fault("one scalar or comment has more than " + maxTokenLength + " characters");
    } catch (MarkedYamlEngineException e) {
      String message = "not readable as YAML: " + context(e) + e.getProblem();
      Optional<Mark> mark = e.getProblemMark();
      throw mark.isPresent() ? fault(mark.get(), message) : fault(message);
    } catch (RuntimeException e) {
      // The parser has more ways to fail than it declares, such as a code point out of range.
      throw fault("not readable as YAML: " + e.getMessage());
    }
  }

  /** What the parser was at, and where that began. */
  private String context(MarkedYamlEngineException e) {
    if (e.getContext() == null || e.getContext().isBlank()) {
      return "";
    }
    String begun =
        e.getContextMark().map(mark -> " of line " + (firstLine + mark.getLine())).orElse("");
    return e.getContext() + begun + ", ";
  }

  private static @Nullable Kind kindOf(Event event) {
    return switch (event.getEventId()) {
      case Scalar -> Kind.SCALAR;
      case Alias -> Kind.ALIAS;
      case MappingStart -> Kind.MAPPING_START;
      case MappingEnd -> Kind.MAPPING_END;
      case SequenceStart -> Kind.LIST_START;
      case SequenceEnd -> Kind.LIST_END;
      case StreamEnd -> Kind.END;
      default -> null;
    };
  }

  @Override
  public Kind kind() {
    return kind;
  }

  @Override
  public JsonNode scalar() {
    if (scalar == null) {
      scalar = scalarOf((ScalarEvent) current());
    }
    return scalar;
  }

  private JsonNode scalarOf(ScalarEvent event) {
    String text = event.getValue();
    return switch (coreType(event.getTag().orElse(""))) {
      case "" -> event.isPlain() ? ManifestScalars.plain(text) : StringNode.valueOf(text);
      case "int", "float", "bool", "null" -> ManifestScalars.plain(text);
      default -> StringNode.valueOf(text);
    };
  }

  @Override
  public int length() {
    return ((ScalarEvent) current()).getValue().length();
  }

  @Override
  public @Nullable String anchor() {
    return current() instanceof NodeEvent node
        ? node.getAnchor().map(Anchor::getValue).orElse(null)
        : null;
  }

  @Override
  public boolean isMerge() {
    return current() instanceof ScalarEvent scalar
        && scalar.isPlain()
        && scalar.getTag().isEmpty()
        && scalar.getValue().equals("<<");
  }

  @Override
  public @Nullable String flaw() {
    String tag = tag();
    if (!isFitting(coreType(tag))) {
      return "the tag " + Shown.abbreviated(tag, 60) + " does not fit the value; remove the tag";
    }
    if (kind == Kind.SCALAR && scalar().isDouble() && !Double.isFinite(scalar().doubleValue())) {
      return "expected a finite number, got " + ManifestScalars.written(scalar()) + "; quote it";
    }
    return null;
  }

  private String tag() {
    if (current() instanceof ScalarEvent scalarEvent) {
      return scalarEvent.getTag().orElse("");
    }
    return current() instanceof CollectionStartEvent start ? start.getTag().orElse("") : "";
  }

  /** Whether the value is of a type, the empty one being any. */
  private boolean isFitting(String coreType) {
    return switch (coreType) {
      case "" -> true;
      case "str" -> kind == Kind.SCALAR;
      case "int" -> kind == Kind.SCALAR && scalar().isIntegralNumber();
      case "float" -> kind == Kind.SCALAR && scalar().isNumber();
      case "bool" -> kind == Kind.SCALAR && scalar().isBoolean();
      case "null" -> kind == Kind.SCALAR && scalar().isNull();
      case "map" -> kind == Kind.MAPPING_START;
      case "seq" -> kind == Kind.LIST_START;
      default -> false;
    };
  }

  /**
   * The type that a tag stands for, in YAML's own short names; the mark of no tag stands for the
   * type that a value has if it is not plain.
   */
  private String coreType(String tag) {
    if (tag.equals("!")) {
      return kind == Kind.MAPPING_START ? "map" : kind == Kind.LIST_START ? "seq" : "str";
    }
    return tag.startsWith(CORE) ? tag.substring(CORE.length()) : tag;
  }

  @Override
  public int line() {
    return event == null
        ? firstLine
        : event.getStartMark().map(mark -> firstLine + mark.getLine()).orElse(firstLine);
  }

  @Override
  public ManifestFault fault(String message) {
    Optional<Mark> mark = event == null ? Optional.empty() : event.getStartMark();
    return mark.isPresent()
        ? fault(mark.get(), message)
        : new ManifestFault(firstLine, 1, -1, message);
  }

  private ManifestFault fault(Mark mark, String message) {
    return new ManifestFault(firstLine + mark.getLine(), mark.getColumn() + 1, -1, message);
  }

  private Event current() {
    if (event == null) {
      throw new IllegalStateException("expected next() first");
    }
    return event;
  }
}
