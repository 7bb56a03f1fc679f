package dev.slicewright.kubernetes;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Trees of maps and lists, and merge patches as RFC 7386 has them, apart from the library's. */
final class PlanTrees {

  private PlanTrees() {}

  @SuppressWarnings("unchecked") // trees out of JSON have text as keys
  static Map<String, Object> map(Object tree) {
    return (Map<String, Object>) tree;
  }

  /** RFC 7386, section 2. */
  static Object patched(Object target, Object patch) {
    if (!(patch instanceof Map<?, ?> fields)) {
      return patch;
    }
    Map<String, Object> result = target instanceof Map ? map(copy(target)) : new LinkedHashMap<>();
    fields.forEach(
        (name, value) -> {
          if (value == null) {
            result.remove(name);
          } else {
            result.put((String) name, patched(result.get(name), value));
          }
        });
    return result;
  }

  static Object copy(Object tree) {
    if (tree instanceof Map<?, ?> fields) {
      Map<String, Object> copy = new LinkedHashMap<>();
      fields.forEach((name, value) -> copy.put((String) name, copy(value)));
      return copy;
    }
    if (tree instanceof List<?> list) {
      List<Object> copy = new ArrayList<>();
      list.forEach(entry -> copy.add(copy(entry)));
      return copy;
    }
    return tree;
  }

  /** Takes out what is at a path of keys, if it is there. */
  static void remove(Object tree, String... path) {
    Object here = tree;
    for (int i = 0; i < path.length - 1; i++) {
      here = here instanceof Map<?, ?> fields ? fields.get(path[i]) : null;
    }
    if (here instanceof Map<?, ?> fields) {
      fields.remove(path[path.length - 1]);
    }
  }
}
