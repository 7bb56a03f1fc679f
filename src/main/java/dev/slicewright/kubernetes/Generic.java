package dev.slicewright.kubernetes;

import dev.slicewright.Problems;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.json.JsonMapper;

/**
 * A field of an object whose class this library does not have, or does not want to depend on: reads
 * maps and lists as they come out of JSON. Confined to one thread at a time.
 *
 * <p>Nothing here throws. What is missing or null reads as absent; what has another type than asked
 * for is a problem with the field's path, and reads as absent too.
 */
final class Generic {

  private static final ObjectMapper MAPPER = new JsonMapper();
  private static final int SHOWN = 60;

  private final String root; // of the path, where there is no parent
  private final @Nullable Generic parent;
  private final Object key; // String or Integer; "" at the root
  private final @Nullable Object value;
  private final Problems problems;

  private Generic(
      String root,
      @Nullable Generic parent,
      Object key,
      @Nullable Object value,
      Problems problems) {
    this.root = root;
    this.parent = parent;
    this.key = key;
    this.value = value;
    this.problems = problems;
  }

  /**
   * Any object as a generic one: itself, or a copy of its fields. The metadata is shared with the
   * object given. A class that cannot be taken apart gives a resource with metadata alone, whose
   * missing spec then is what is reported.
   */
  static GenericKubernetesResource of(HasMetadata object) {
    if (object instanceof GenericKubernetesResource generic) {
      return generic;
    }
    GenericKubernetesResource copy = new GenericKubernetesResource();
    copy.setApiVersion(object.getApiVersion());
    copy.setKind(object.getKind());
    copy.setMetadata(object.getMetadata());
    copy.setAdditionalProperties(fields(object));
    return copy;
  }

  private static Map<String, @Nullable Object> fields(HasMetadata object) {
    Map<String, @Nullable Object> fields = new LinkedHashMap<>();
    try {
      if (MAPPER.convertValue(object, Object.class) instanceof Map<?, ?> all) {
        all.forEach((field, content) -> fields.put(String.valueOf(field), content));
      }
    } catch (JacksonException | IllegalArgumentException e) {
      fields.clear();
    }
    fields.keySet().removeAll(List.of("apiVersion", "kind", "metadata"));
    return fields;
  }

  /** The fields of an object, but its metadata; paths begin with the object's. */
  static Generic read(HasMetadata object, Problems problems) {
    GenericKubernetesResource resource = of(object);
    Map<String, Object> fields = resource.getAdditionalProperties();
    return new Generic(
        ObjectRef.of(object).path(), null, "", fields == null ? Map.of() : fields, problems);
  }

  /** Any tree of maps and lists, such as a value of an annotation that holds JSON. */
  static Generic read(String path, @Nullable Object tree, Problems problems) {
    return new Generic(path, null, "", tree, problems);
  }

  /** The labels of an object; empty if it has none. */
  static Map<String, String> labels(HasMetadata object) {
    ObjectMeta metadata = object.getMetadata();
    return metadata == null ? Map.of() : withoutNulls(metadata.getLabels());
  }

  /** The annotations of an object; empty if it has none. */
  static Map<String, String> annotations(HasMetadata object) {
    ObjectMeta metadata = object.getMetadata();
    return metadata == null ? Map.of() : withoutNulls(metadata.getAnnotations());
  }

  private static Map<String, String> withoutNulls(@Nullable Map<String, String> given) {
    if (given == null || given.isEmpty()) {
      return Map.of();
    }
    for (Map.Entry<String, String> entry : given.entrySet()) {
      if (entry.getKey() == null || entry.getValue() == null) {
        Map<String, String> sound = new LinkedHashMap<>();
        given.forEach(
            (name, text) -> {
              if (name != null && text != null) {
                sound.put(name, text);
              }
            });
        return sound;
      }
    }
    return Collections.unmodifiableMap(given);
  }

  /** A field further down; absent if anything on the way is. */
  Generic get(String... keys) {
    Generic at = this;
    for (String next : keys) {
      at = at.child(next);
    }
    return at;
  }

  private Generic child(String next) {
    if (value == null) {
      return new Generic("", this, next, null, problems);
    }
    if (value instanceof Map<?, ?> map) {
      return new Generic("", this, next, map.get(next), problems);
    }
    wrongType("a map");
    return new Generic("", this, next, null, problems);
  }

  /** The same field with another value. */
  Generic instead(@Nullable Object other) {
    return new Generic(root, parent, key, other, problems);
  }

  /** Whether there is a value that is not null. */
  boolean isPresent() {
    return value != null;
  }

  /** The value as it is. */
  @Nullable Object raw() {
    return value;
  }

  /** The text of a field. */
  Optional<String> text(String... keys) {
    Generic field = get(keys);
    if (field.value == null) {
      return Optional.empty();
    }
    if (field.value instanceof String text) {
      return Optional.of(text);
    }
    field.wrongType("text");
    return Optional.empty();
  }

  /** The whole number of a field. */
  OptionalLong whole(String... keys) {
    Generic field = get(keys);
    Object number = field.value;
    if (number == null) {
      return OptionalLong.empty();
    }
    if (number instanceof Integer || number instanceof Long || number instanceof Short) {
      return OptionalLong.of(((Number) number).longValue());
    }
    try {
      if (number instanceof BigInteger big) {
        return OptionalLong.of(big.longValueExact());
      }
      // 4.0 is whole to JSON; the text "4" is not a number to it.
      if (number instanceof Double || number instanceof Float || number instanceof BigDecimal) {
        BigDecimal exact = new BigDecimal(number.toString());
        if (exact.precision() - exact.scale() <= 19) {
          return OptionalLong.of(exact.longValueExact());
        }
      }
    } catch (ArithmeticException | NumberFormatException e) {
      field.wrongType("a whole number");
      return OptionalLong.empty();
    }
    field.wrongType("a whole number");
    return OptionalLong.empty();
  }

  /** The truth value of a field. */
  Optional<Boolean> flag(String... keys) {
    Generic field = get(keys);
    if (field.value == null) {
      return Optional.empty();
    }
    if (field.value instanceof Boolean flag) {
      return Optional.of(flag);
    }
    field.wrongType("true or false");
    return Optional.empty();
  }

  /** The entries of a field; empty if it is absent. Entries may be absent (null) themselves. */
  List<Generic> list(String... keys) {
    Generic field = get(keys);
    if (field.value == null) {
      return List.of();
    }
    if (field.value instanceof List<?> list) {
      List<Generic> entries = new ArrayList<>(list.size());
      for (Object entry : list) {
        entries.add(new Generic("", field, entries.size(), entry, problems));
      }
      return entries;
    }
    field.wrongType("a list");
    return List.of();
  }

  /** The texts of a list; entries of another type are problems and left out. */
  List<String> textList(String... keys) {
    List<String> texts = new ArrayList<>();
    for (Generic entry : list(keys)) {
      entry.text().ifPresent(texts::add);
    }
    return texts;
  }

  /** Labels and the like, in key order; values of another type are problems and left out. */
  Map<String, String> texts(String... keys) {
    Map<String, Generic> fields = map(keys);
    if (fields.isEmpty()) {
      return Map.of();
    }
    Map<String, String> texts = new TreeMap<>();
    fields.forEach((name, field) -> field.text().ifPresent(text -> texts.put(name, text)));
    return texts;
  }

  /** The fields of a map, in key order; those that are null are left out. */
  Map<String, Generic> map(String... keys) {
    Generic field = get(keys);
    if (field.value == null) {
      return Map.of();
    }
    if (field.value instanceof Map<?, ?> map) {
      Map<String, Generic> fields = new TreeMap<>();
      map.forEach(
          (name, content) -> {
            if (name instanceof String text && content != null) {
              fields.put(text, new Generic("", field, text, content, problems));
            }
          });
      return fields;
    }
    field.wrongType("a map");
    return Map.of();
  }

  /** Where the field is, such as {@code Job/a/b.spec.template.spec.containers[0].name}. */
  String path() {
    if (parent == null) {
      return root;
    }
    StringBuilder path = new StringBuilder();
    append(path);
    return path.toString();
  }

  private void append(StringBuilder path) {
    if (parent == null) {
      path.append(root);
      return;
    }
    parent.append(path);
    if (key instanceof Integer || !isPlain((String) key)) {
      path.append('[').append(key).append(']');
    } else {
      path.append('.').append(key);
    }
  }

  private static boolean isPlain(String name) {
    return !name.isEmpty() && name.chars().allMatch(Character::isLetterOrDigit);
  }

  /** Adds a problem of this field. */
  void problem(String message) {
    problems.add(path(), message);
  }

  /** Adds a problem: what was expected, the value, and what to do. */
  void problem(String expected, String whatToDo) {
    problem("expected " + expected + ", but was " + shown() + "; " + whatToDo);
  }

  private void wrongType(String expected) {
    problem("expected " + expected + ", but was " + shown() + "; write " + expected);
  }

  /** The value for a message, shortened. */
  String shown() {
    if (value == null) {
      return "missing";
    }
    if (value instanceof Map<?, ?>) {
      return "a map";
    }
    if (value instanceof List<?>) {
      return "a list";
    }
    String text = String.valueOf(value);
    String shortened = Shown.abbreviated(text, SHOWN);
    return value instanceof String ? "\"" + shortened + "\"" : shortened;
  }

  @Override
  public String toString() {
    return path() + " = " + shown();
  }
}
