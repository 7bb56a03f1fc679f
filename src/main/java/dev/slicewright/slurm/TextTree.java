package dev.slicewright.slurm;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.LoadSettings;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.ObjectReadContext;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.dataformat.yaml.YAMLFactory;
import tools.jackson.dataformat.yaml.YAMLParser;

/**
 * YAML and JSON as maps, lists and texts: maps keep their order, scalars their text, null is the
 * empty text. Confined to one thread at a time.
 *
 * <p>Reads tokens, not Jackson's trees: those turn an alias into a text and keep the last of two
 * equal keys. Here an alias, an equal key, and depth, size or number of values beyond a limit end
 * the reading with one problem, so time and memory are linear in the text.
 */
final class TextTree {

  /** The longest YAML text, in characters: a torus of 64x256x256 nodes fits. */
  static final int MAX_YAML = 64 << 20;

  /** The longest JSON text, in characters. */
  static final int MAX_JSON = 512 << 20;

  private static final int MAX_DEPTH = 32;
  private static final int MAX_VALUES = 20_000_000;
  private static final int MAX_SCALAR = 16 << 20;

  private static final StreamReadConstraints CONSTRAINTS =
      StreamReadConstraints.builder()
          .maxNestingDepth(MAX_DEPTH + 2)
          .maxStringLength(MAX_SCALAR)
          .maxNameLength(10_000)
          .maxDocumentLength(MAX_JSON)
          .build();

  private final JsonParser parser;
  private final String what;
  private final @Nullable Set<String> wanted;
  private int values;

  private TextTree(JsonParser parser, String what, @Nullable Set<String> wanted) {
    this.parser = parser;
    this.what = what;
    this.wanted = wanted;
  }

  /**
   * Reads one YAML document.
   *
   * @throws InvalidInputException with one problem, whose path is the line
   */
  static Object yaml(String text, String what) {
    checkLength(text, MAX_YAML, what);
    YAMLFactory factory =
        YAMLFactory.builder()
            .loadSettings(LoadSettings.builder().setCodePointLimit(MAX_YAML).setLabel(what).build())
            .streamReadConstraints(CONSTRAINTS)
            .build();
    return parse(factory.createParser(ObjectReadContext.empty(), text), what, null);
  }

  /**
   * Reads one JSON document.
   *
   * @param wanted names of the fields to keep; others are skipped
   * @throws InvalidInputException with one problem, whose path is the line
   */
  static Object json(String text, String what, Set<String> wanted) {
    checkLength(text, MAX_JSON, what);
    JsonFactory factory = JsonFactory.builder().streamReadConstraints(CONSTRAINTS).build();
    return parse(factory.createParser(ObjectReadContext.empty(), text), what, wanted);
  }

  private static void checkLength(String text, int limit, String what) {
    if (text.length() > limit) {
      throw new InvalidInputException(
          what,
          "",
          "expected at most "
              + limit
              + " characters, but was "
              + text.length()
              + "; pass the one document alone");
    }
  }

  private static Object parse(JsonParser parser, String what, @Nullable Set<String> wanted) {
    try (parser) {
      TextTree tree = new TextTree(parser, what, wanted);
      JsonToken first = parser.nextToken();
      if (first == null) {
        return "";
      }
      Object value = tree.value(first, 0);
      if (parser.nextToken() != null) {
        throw tree.problem("expected one document, but another follows; remove it");
      }
      return value;
    } catch (JacksonException e) {
      int line = e.getLocation() == null ? 0 : e.getLocation().getLineNr();
      throw unreadable(what, line, e.getOriginalMessage());
    } catch (InvalidInputException e) {
      throw e;
    } catch (RuntimeException e) {
      // The scanner under Jackson has exceptions of its own, and some inputs trip it.
      throw unreadable(what, 0, e.getMessage());
    }
  }

  private static InvalidInputException unreadable(String what, int line, @Nullable String message) {
    String first = message == null ? "" : message.lines().findFirst().orElse("");
    return new InvalidInputException(
        what,
        line > 0 ? "line " + line : "",
        "expected readable text, but was not: "
            + (first.length() > 200 ? first.substring(0, 200) + "..." : first)
            + "; correct it");
  }

  private Object value(JsonToken token, int depth) {
    if (++values > MAX_VALUES) {
      throw problem("expected at most " + MAX_VALUES + " values; pass the one document alone");
    }
    if (depth > MAX_DEPTH) {
      throw problem("expected at most " + MAX_DEPTH + " levels; flatten it");
    }
    if (parser instanceof YAMLParser yaml && yaml.isCurrentAlias()) {
      throw problem(
          "expected a value, but was the alias "
              + HostList.quoted("*" + yaml.getString())
              + "; Slurm's file needs none: write the value out");
    }
    switch (token) {
      case START_OBJECT -> {
        Map<String, Object> map = new LinkedHashMap<>();
        while (parser.nextToken() != JsonToken.END_OBJECT) {
          String key = parser.currentName();
          JsonToken next = parser.nextToken();
          if (wanted != null && !wanted.contains(key)) {
            parser.skipChildren();
          } else if (map.put(key, value(next, depth + 1)) != null) {
            throw problem(
                "expected each field once, but " + HostList.quoted(key) + " is repeated; drop one");
          }
        }
        return map;
      }
      case START_ARRAY -> {
        List<Object> list = new ArrayList<>();
        JsonToken next;
        while ((next = parser.nextToken()) != JsonToken.END_ARRAY) {
          list.add(value(next, depth + 1));
        }
        return list;
      }
      case VALUE_NULL -> {
        return "";
      }
      default -> {
        String text = parser.getString();
        return text == null ? "" : text;
      }
    }
  }

  private InvalidInputException problem(String message) {
    return new InvalidInputException(
        what, "line " + parser.currentTokenLocation().getLineNr(), message);
  }

  /**
   * A map with its path, to read fields from; each wrong one is a problem. Confined to one thread
   * at a time.
   */
  static final class Fields {
    private final Map<?, ?> map;
    private final String path;
    private final Problems problems;

    private Fields(Map<?, ?> map, String path, Problems problems) {
      this.map = map;
      this.path = path;
      this.problems = problems;
    }

    /** The fields of a value, or null and a problem if it is no map. */
    static @Nullable Fields of(@Nullable Object value, String path, Problems problems) {
      if (value instanceof Map<?, ?> map) {
        return new Fields(map, path, problems);
      }
      problems.add(path, "expected fields, but was " + kind(value) + "; write named fields");
      return null;
    }

    String path(String field) {
      return path.isEmpty() || field.isEmpty() ? path + field : path + "." + field;
    }

    boolean has(String field) {
      return map.containsKey(field);
    }

    @Nullable Object get(String field) {
      return map.get(field);
    }

    /** The names of the fields. */
    List<String> names() {
      return map.keySet().stream().map(Object::toString).toList();
    }

    void problem(String field, String message) {
      problems.add(path(field), message);
    }

    /** Names every field that is none of those known. */
    void allow(String... known) {
      List<String> allowed = List.of(known);
      for (String name : names()) {
        if (!allowed.contains(name)) {
          problem(
              name,
              "expected one of the fields "
                  + String.join(", ", allowed)
                  + ", but was "
                  + HostList.quoted(name)
                  + "; Slurm refuses a field that it does not know: drop it");
        }
      }
    }

    /** A text; a problem and the empty text if it is another kind of value. */
    String text(String field) {
      Object value = map.get(field);
      if (value == null || value instanceof String) {
        return value == null ? "" : (String) value;
      }
      problem(field, "expected a text, but was " + kind(value) + "; write a text");
      return "";
    }

    /** The items of a list; empty if absent, and a problem if it is no list. */
    List<?> list(String field) {
      Object value = map.get(field);
      if (value == null || value instanceof List<?>) {
        return value == null ? List.of() : (List<?>) value;
      }
      problem(field, "expected a list, but was " + kind(value) + "; write a list");
      return List.of();
    }

    /** The items of a list that must be there; a problem if it is not. */
    List<?> required(String field) {
      if (!has(field)) {
        problem(field, "expected a list, but there is none; pass all that the command prints");
      }
      return list(field);
    }

    /** A whole number in a range; a problem and -1 if it is none. */
    int number(String field, int low, int high) {
      Object value = map.get(field);
      if (value instanceof String text && text.matches("[0-9]{1,9}")) {
        int number = Integer.parseInt(text);
        if (number >= low && number <= high) {
          return number;
        }
      }
      problem(
          field,
          "expected a whole number from "
              + low
              + " to "
              + high
              + ", but was "
              + (value instanceof String text ? HostList.quoted(text) : kind(value))
              + "; correct it");
      return -1;
    }

    private static String kind(@Nullable Object value) {
      return value == null
          ? "missing"
          : value instanceof Map<?, ?>
              ? "a map"
              : value instanceof List<?> ? "a list" : HostList.quoted(value.toString());
    }
  }
}
