package dev.slicewright.report;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Shape;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The fields of one JSON object, read by name and type. What is missing, of the wrong type or out
 * of range is put on the list of problems with its path and read as a stand-in, so that reading
 * goes on; {@link #end} adds the fields that nobody asked for.
 */
final class Fields {

  final String path;
  final Problems problems;
  private final Map<?, ?> map;
  private final Set<String> known = new HashSet<>();

  private Fields(Map<?, ?> map, String path, Problems problems) {
    this.map = map;
    this.path = path;
    this.problems = problems;
  }

  static Fields of(Object value, String path, Problems problems) {
    if (value instanceof Map<?, ?> map) {
      return new Fields(map, path, problems);
    }
    problems.add(path.isEmpty() ? "document" : path, expected("an object", value));
    Fields none = new Fields(Map.of(), path, problems);
    none.broken = true;
    return none;
  }

  /** Set where there is no object at all: then nothing more is said of its fields. */
  private boolean broken;

  static String join(String path, String name) {
    String plain =
        name.isEmpty() || name.chars().anyMatch(c -> c == '.' || c == '[' || c == ' ')
            ? "\"" + Words.shorten(Words.oneLine(name), 60) + "\""
            : Words.shorten(Words.oneLine(name), 60);
    return path.isEmpty() ? plain : path + "." + plain;
  }

  String at(String name) {
    return join(path, name);
  }

  static String expected(String what, @Nullable Object value) {
    String shown =
        value instanceof Map
            ? "an object"
            : value instanceof List
                ? "a list"
                : value == JsonTree.NULL
                    ? "null"
                    : value instanceof String s
                        ? "\"" + Words.shorten(Words.oneLine(s), 60) + "\""
                        : String.valueOf(value);
    return "expected " + what + ", but was " + shown;
  }

  /** The raw value of a field, or null where it is left out. */
  @Nullable Object raw(String name) {
    known.add(name);
    return map.get(name);
  }

  boolean has(String name) {
    return raw(name) != null;
  }

  private @Nullable Object required(String name, String what) {
    Object value = raw(name);
    if (value == null && !broken) {
      problems.add(at(name), "is missing; expected " + what);
    }
    return value;
  }

  void end() {
    if (broken) {
      return;
    }
    for (Object key : map.keySet()) {
      if (!known.contains(key)) {
        problems.add(
            at((String) key),
            "is no field of this object; expected "
                + String.join(", ", known.stream().sorted().toList()));
      }
    }
  }

  // ---------------------------------------------------------------- scalars

  String text(String name) {
    Object value = required(name, "a string");
    return value == null ? "" : string(value, at(name), problems);
  }

  String text(String name, String otherwise) {
    Object value = raw(name);
    return value == null ? otherwise : string(value, at(name), problems);
  }

  static String string(Object value, String path, Problems problems) {
    if (value instanceof String s) {
      return s;
    }
    problems.add(path, expected("a string", value));
    return "";
  }

  boolean flag(String name, boolean otherwise) {
    Object value = raw(name);
    if (value == null || value instanceof Boolean) {
      return value == null ? otherwise : (Boolean) value;
    }
    problems.add(at(name), expected("true or false", value));
    return otherwise;
  }

  long whole(String name, long min, long max) {
    Object value = required(name, "a whole number");
    return value == null ? min : whole(value, min, max, at(name), problems);
  }

  long whole(String name, long min, long max, long otherwise) {
    Object value = raw(name);
    return value == null ? otherwise : whole(value, min, max, at(name), problems);
  }

  int small(String name, int min, int max, int otherwise) {
    return (int) whole(name, min, max, otherwise);
  }

  static long whole(Object value, long min, long max, String path, Problems problems) {
    if (value instanceof Long number && number >= min && number <= max) {
      return number;
    }
    String range =
        min == Long.MIN_VALUE && max == Long.MAX_VALUE
            ? "of 64 bits"
            : max == Long.MAX_VALUE ? "of " + min + " or more" : "from " + min + " to " + max;
    problems.add(path, expected("a whole number " + range, value));
    return min;
  }

  double number(String name, double otherwise) {
    Object value = raw(name);
    if (value == null) {
      return otherwise;
    }
    double number =
        value instanceof Long whole
            ? whole.doubleValue()
            : value instanceof Double d ? d : Double.NaN;
    if (Double.isFinite(number)) {
      return number;
    }
    problems.add(at(name), expected("a number", value));
    return otherwise;
  }

  <E extends Enum<E>> @Nullable E word(String name, Class<E> type) {
    Object value = required(name, words(type));
    return value == null ? null : word(value, type, at(name));
  }

  <E extends Enum<E>> E word(String name, Class<E> type, E otherwise) {
    Object value = raw(name);
    E read = value == null ? null : word(value, type, at(name));
    return read == null ? otherwise : read;
  }

  private <E extends Enum<E>> @Nullable E word(Object value, Class<E> type, String where) {
    for (E constant : type.getEnumConstants()) {
      if (word(constant).equals(value)) {
        return constant;
      }
    }
    problems.add(where, expected(words(type), value));
    return null;
  }

  private static <E extends Enum<E>> String words(Class<E> type) {
    List<String> words = new ArrayList<>();
    for (E constant : type.getEnumConstants()) {
      words.add(word(constant));
    }
    return "one of " + String.join(", ", words);
  }

  /** How an enum constant is written: {@code NOT_ENOUGH_FREE} as {@code not-enough-free}. */
  static String word(Enum<?> constant) {
    return constant.name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  @Nullable Instant instant(String name, boolean required) {
    Object value = required ? required(name, "a time such as 2026-03-01T12:00:00Z") : raw(name);
    return value == null
        ? null
        : parse(value, at(name), "a time such as 2026-03-01T12:00:00Z", Instant::parse);
  }

  @Nullable Duration duration(String name) {
    Object value = raw(name);
    return value == null
        ? null
        : parse(value, at(name), "a duration such as PT10M", Duration::parse);
  }

  private <T> @Nullable T parse(
      Object value, String where, String what, Function<String, T> parser) {
    if (value instanceof String s && s.length() <= 60) {
      try {
        return parser.apply(s);
      } catch (DateTimeException | ArithmeticException e) {
        // Said below.
      }
    }
    problems.add(where, expected(what, value));
    return null;
  }

  @Nullable Shape shape(String name, boolean required) {
    Object value = required ? required(name, "a shape such as 4x4x8") : raw(name);
    return value == null ? null : shape(value, at(name), problems);
  }

  static @Nullable Shape shape(Object value, String path, Problems problems) {
    if (value instanceof String s) {
      try {
        return Shape.parse(s);
      } catch (InvalidInputException e) {
        problems.add(path, e.problems().get(0).message());
        return null;
      }
    }
    problems.add(path, expected("a shape such as \"4x4x8\"", value));
    return null;
  }

  static @Nullable Chip chip(Object value, String path, Problems problems) {
    if (value instanceof List<?> list && (list.size() == 2 || list.size() == 3)) {
      int[] e = new int[3];
      for (int i = 0; i < list.size(); i++) {
        e[i] = (int) whole(list.get(i), 0, Shape.MAX_EXTENT, path + "[" + i + "]", problems);
      }
      return new Chip(e[0], e[1], e[2]);
    }
    problems.add(path, expected("a chip such as [0, 4, 8]", value));
    return null;
  }

  // ---------------------------------------------------------------- nested

  /** The fields of a nested object, or null where it is left out. */
  @Nullable Fields object(String name) {
    Object value = raw(name);
    return value == null ? null : of(value, at(name), problems);
  }

  /** Reads every element; those that come out null have said why. */
  <T> List<T> list(String name, Element<T> element) {
    Object value = raw(name);
    List<T> read = new ArrayList<>();
    if (value instanceof List<?> list) {
      String where = at(name);
      for (int i = 0; i < list.size(); i++) {
        T t = element.read(list.get(i), where + "[" + i + "]");
        if (t != null) {
          read.add(t);
        }
      }
    } else if (value != null) {
      problems.add(at(name), expected("a list", value));
    }
    return read;
  }

  List<String> strings(String name) {
    return list(name, (value, where) -> string(value, where, problems));
  }

  /** Reads every field of a nested object as a value of its own, by name. */
  <T> Map<String, T> map(String name, Element<T> element) {
    Object value = raw(name);
    Map<String, T> read = new LinkedHashMap<>();
    if (value instanceof Map<?, ?> inner) {
      String where = at(name);
      for (Map.Entry<?, ?> entry : inner.entrySet()) {
        String key = (String) entry.getKey();
        T t = element.read(entry.getValue(), join(where, key));
        if (t != null) {
          read.put(key, t);
        }
      }
    } else if (value != null) {
      problems.add(at(name), expected("an object", value));
    }
    return read;
  }

  Map<String, String> labels(String name) {
    return map(name, (value, where) -> string(value, where, problems));
  }

  /** Labels whose values are one string or several. */
  Map<String, List<String>> labelSets(String name) {
    return map(
        name,
        (value, where) -> {
          if (!(value instanceof List<?> several)) {
            return List.of(string(value, where, problems));
          }
          List<String> read = new ArrayList<>();
          for (int i = 0; i < several.size(); i++) {
            read.add(string(several.get(i), where + "[" + i + "]", problems));
          }
          return read;
        });
  }

  long[] longs(String name, long min) {
    List<Long> read =
        list(name, (value, where) -> whole(value, min, Long.MAX_VALUE, where, problems));
    return read.stream().mapToLong(Long::longValue).toArray();
  }

  /** Builds a value whose own checks may object; what they say gets this path. */
  <T> @Nullable T build(Supplier<T> maker) {
    return build(path, problems, maker);
  }

  static <T> @Nullable T build(String path, Problems problems, Supplier<T> maker) {
    try {
      return maker.get();
    } catch (InvalidInputException e) {
      problems.addAll(path, e);
    } catch (IllegalArgumentException e) {
      problems.add(path, String.valueOf(e.getMessage()));
    }
    return null;
  }

  /** Reads one element of a list or map. */
  interface Element<T> {
    @Nullable T read(Object value, String path);
  }
}
