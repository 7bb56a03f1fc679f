package dev.slicewright.kubernetes;

import java.util.Iterator;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.api.lowlevel.Parse;
import org.snakeyaml.engine.v2.common.Anchor;
import org.snakeyaml.engine.v2.events.AliasEvent;
import org.snakeyaml.engine.v2.events.CollectionStartEvent;
import org.snakeyaml.engine.v2.events.Event;
import org.snakeyaml.engine.v2.events.NodeEvent;
import org.snakeyaml.engine.v2.events.ScalarEvent;
import org.snakeyaml.engine.v2.exceptions.Mark;
import org.snakeyaml.engine.v2.exceptions.MarkedYamlEngineException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.NullNode;
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
    this.events = new Parse(SETTINGS).parseReader(part).iterator();
  }

  @Override
  public Kind next() {
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
    ScalarEvent scalar = (ScalarEvent) current();
    String text = scalar.getValue();
    String tag = scalar.getTag().orElse("");
    if (tag.isEmpty()) {
      return scalar.isPlain() ? ManifestScalars.plain(text) : StringNode.valueOf(text);
    }
    return switch (coreType(tag)) {
      case "int", "float", "bool" -> ManifestScalars.plain(text);
      case "null" -> NullNode.getInstance();
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
    Event now = current();
    if (now instanceof AliasEvent) {
      return null;
    }
    String tag =
        now instanceof ScalarEvent scalar
            ? scalar.getTag().orElse("")
            : now instanceof CollectionStartEvent collection ? collection.getTag().orElse("") : "";
    if (!tag.isEmpty()) {
      String type = coreType(tag);
      boolean known =
          switch (kind) {
            case SCALAR ->
                switch (type) {
                  case "str" -> true;
                  case "int" -> scalar().isIntegralNumber();
                  case "float" -> scalar().isNumber();
                  case "bool" -> scalar().isBoolean();
                  case "null" -> ManifestScalars.plain(((ScalarEvent) now).getValue()).isNull();
                  default -> false;
                };
            case MAPPING_START -> type.equals("map");
            case LIST_START -> type.equals("seq");
            default -> true;
          };
      if (!known) {
        return "the tag " + tag + " does not fit this value or Kubernetes; remove the tag";
      }
    }
    if (now instanceof ScalarEvent) {
      JsonNode value = scalar();
      if (value.isDouble() && !Double.isFinite(value.doubleValue())) {
        return "expected a finite number, got " + ManifestScalars.written(value) + "; quote it";
      }
    }
    return null;
  }

  /** The part of a tag that names a type of YAML's own; the mark of no tag means a string. */
  private static String coreType(String tag) {
    return tag.equals("!")
        ? "str"
        : tag.startsWith(CORE) ? tag.substring(CORE.length()).toLowerCase(Locale.ROOT) : "";
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
