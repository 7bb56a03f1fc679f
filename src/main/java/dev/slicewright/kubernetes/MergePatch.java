package dev.slicewright.kubernetes;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Merge patches of trees of maps, lists and plain values (RFC 7386): maps are merged, null removes,
 * everything else, lists included, is replaced whole. Immutable, safe to share.
 */
final class MergePatch {

  private MergePatch() {}

  /**
   * What makes one tree of another.
   *
   * @return the patch, its keys ascending; empty if the trees are equal
   */
  static Map<String, @Nullable Object> between(Map<?, ?> before, Map<?, ?> after) {
    TreeSet<String> keys = new TreeSet<>();
    before.keySet().forEach(key -> keys.add(String.valueOf(key)));
    after.keySet().forEach(key -> keys.add(String.valueOf(key)));
    Map<String, @Nullable Object> patch = new LinkedHashMap<>();
    for (String key : keys) {
      Object was = before.get(key);
      Object is = after.get(key);
      if (is == null) {
        if (was != null) {
          patch.put(key, null);
        }
      } else if (was instanceof Map<?, ?> from && is instanceof Map<?, ?> to) {
        Map<String, @Nullable Object> inner = between(from, to);
        if (!inner.isEmpty()) {
          patch.put(key, inner);
        }
      } else if (!is.equals(was)) {
        patch.put(key, copy(is));
      }
    }
    return patch;
  }

  /**
   * A tree with a patch applied.
   *
   * @return a new, mutable tree; the one given is left as it is
   */
  static Map<String, @Nullable Object> apply(Map<?, ?> target, Map<?, ?> patch) {
    Map<String, @Nullable Object> result = copyOf(target);
    patch.forEach(
        (name, value) -> {
          String key = String.valueOf(name);
          if (value == null) {
            result.remove(key);
          } else if (value instanceof Map<?, ?> inner) {
            result.put(
                key, apply(result.get(key) instanceof Map<?, ?> old ? old : Map.of(), inner));
          } else {
            result.put(key, copy(value));
          }
        });
    return result;
  }

  /** A mutable copy, all the way down. */
  static Map<String, @Nullable Object> copyOf(Map<?, ?> tree) {
    Map<String, @Nullable Object> copy = new LinkedHashMap<>();
    tree.forEach((key, value) -> copy.put(String.valueOf(key), copy(value)));
    return copy;
  }

  private static @Nullable Object copy(@Nullable Object tree) {
    if (tree instanceof Map<?, ?> map) {
      return copyOf(map);
    }
    if (tree instanceof List<?> list) {
      List<@Nullable Object> copy = new ArrayList<>(list.size());
      list.forEach(entry -> copy.add(copy(entry)));
      return copy;
    }
    return tree;
  }

  /** An unmodifiable copy, all the way down. */
  static Map<String, @Nullable Object> frozen(Map<?, ?> tree) {
    Map<String, @Nullable Object> copy = new LinkedHashMap<>();
    tree.forEach((key, value) -> copy.put(String.valueOf(key), frozen(value)));
    return Collections.unmodifiableMap(copy);
  }

  private static @Nullable Object frozen(@Nullable Object tree) {
    if (tree instanceof Map<?, ?> map) {
      return frozen(map);
    }
    if (tree instanceof List<?> list) {
      List<@Nullable Object> copy = new ArrayList<>(list.size());
      list.forEach(entry -> copy.add(frozen(entry)));
      return Collections.unmodifiableList(copy);
    }
    return tree;
  }
}
