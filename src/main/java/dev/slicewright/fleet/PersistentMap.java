package dev.slicewright.fleet;

import java.util.AbstractCollection;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.SortedMap;
import java.util.function.BinaryOperator;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A persistent sorted map: changes share all but O(log n) nodes with the map they start from.
 *
 * <p>An AVL tree with path copying (Adelson-Velsky and Landis 1962; Driscoll, Sarnak, Sleator and
 * Tarjan 1989); get, with and without are O(log n) for n entries, whatever the keys.
 */
final class PersistentMap<K extends Comparable<K>, V> {

  private static final class Node<K, V> {
    final K key;
    final V value;
    final @Nullable Node<K, V> left;
    final @Nullable Node<K, V> right;
    final int height;
    @Nullable Object total; // of fold; racing threads store equal values

    Node(K key, V value, @Nullable Node<K, V> left, @Nullable Node<K, V> right) {
      this.key = key;
      this.value = value;
      this.left = left;
      this.right = right;
      this.height = 1 + Math.max(height(left), height(right));
    }
  }

  private final @Nullable Node<K, V> root;
  private final int size;

  private PersistentMap(@Nullable Node<K, V> root, int size) {
    this.root = root;
    this.size = size;
  }

  static <K extends Comparable<K>, V> PersistentMap<K, V> empty() {
    return new PersistentMap<>(null, 0);
  }

  /** The same entries as a map in the natural order of its keys. O(n). */
  static <K extends Comparable<K>, V> PersistentMap<K, V> of(SortedMap<K, V> map) {
    List<Map.Entry<K, V>> entries = List.copyOf(map.entrySet());
    return new PersistentMap<>(middle(entries, 0, entries.size()), entries.size());
  }

  private static <K extends Comparable<K>, V> @Nullable Node<K, V> middle(
      List<Map.Entry<K, V>> entries, int from, int to) {
    if (from == to) {
      return null;
    }
    int at = (from + to) >>> 1;
    Map.Entry<K, V> entry = entries.get(at);
    return new Node<>(
        entry.getKey(), entry.getValue(), middle(entries, from, at), middle(entries, at + 1, to));
  }

  int size() {
    return size;
  }

  /** The longest way from the root down, in nodes; at most 1.45 log2(n + 2). */
  int height() {
    return height(root);
  }

  @Nullable V get(K key) {
    Node<K, V> at = root;
    while (at != null) {
      int c = key.compareTo(at.key);
      if (c == 0) {
        return at.value;
      }
      at = c < 0 ? at.left : at.right;
    }
    return null;
  }

  /**
   * Folds the values in key order. Every subtree keeps its own result, so that after a change only
   * the O(log n) new nodes are folded again; a map must always be folded the same way.
   *
   * @param none the result of an empty map
   * @param one the result of one value; immutable
   * @param both joins two results
   */
  <S> S fold(S none, Function<V, S> one, BinaryOperator<S> both) {
    return fold(root, none, one, both);
  }

  @SuppressWarnings("unchecked") // what fold stored
  private static <K, V, S> S fold(
      @Nullable Node<K, V> at, S none, Function<V, S> one, BinaryOperator<S> both) {
    if (at == null) {
      return none;
    }
    Object known = at.total;
    if (known != null) {
      return (S) known;
    }
    S own = one.apply(at.value);
    S all = at.left == null ? own : both.apply(fold(at.left, none, one, both), own);
    all = at.right == null ? all : both.apply(all, fold(at.right, none, one, both));
    at.total = all;
    return all;
  }

  PersistentMap<K, V> with(K key, V value) {
    boolean known = get(key) != null;
    return new PersistentMap<>(insert(root, key, value), known ? size : size + 1);
  }

  PersistentMap<K, V> without(K key) {
    return get(key) == null ? this : new PersistentMap<>(remove(root, key), size - 1);
  }

  /** The values in key order, those whose key is not below {@code from} if it is given. */
  Collection<V> values(@Nullable K from) {
    return new AbstractCollection<V>() {
      @Override
      public Iterator<V> iterator() {
        Deque<Node<K, V>> path = new ArrayDeque<>();
        Node<K, V> at = root;
        while (at != null) {
          if (from == null || from.compareTo(at.key) <= 0) {
            path.push(at);
            at = at.left;
          } else {
            at = at.right;
          }
        }
        return new Iterator<V>() {
          @Override
          public boolean hasNext() {
            return !path.isEmpty();
          }

          @Override
          public V next() {
            if (path.isEmpty()) {
              throw new NoSuchElementException();
            }
            Node<K, V> out = path.pop();
            for (Node<K, V> n = out.right; n != null; n = n.left) {
              path.push(n);
            }
            return out.value;
          }
        };
      }

      @Override
      public int size() {
        if (from == null) {
          return size;
        }
        int n = 0;
        for (Iterator<V> it = iterator(); it.hasNext(); it.next()) {
          n++;
        }
        return n;
      }
    };
  }

  private static <K, V> int height(@Nullable Node<K, V> node) {
    return node == null ? 0 : node.height;
  }

  private static <K extends Comparable<K>, V> Node<K, V> insert(
      @Nullable Node<K, V> at, K key, V value) {
    if (at == null) {
      return new Node<>(key, value, null, null);
    }
    int c = key.compareTo(at.key);
    if (c == 0) {
      return new Node<>(key, value, at.left, at.right);
    }
    return c < 0
        ? balanced(at.key, at.value, insert(at.left, key, value), at.right)
        : balanced(at.key, at.value, at.left, insert(at.right, key, value));
  }

  private static <K extends Comparable<K>, V> @Nullable Node<K, V> remove(
      @Nullable Node<K, V> at, K key) {
    if (at == null) {
      return null;
    }
    int c = key.compareTo(at.key);
    if (c < 0) {
      return balanced(at.key, at.value, remove(at.left, key), at.right);
    }
    if (c > 0) {
      return balanced(at.key, at.value, at.left, remove(at.right, key));
    }
    if (at.left == null) {
      return at.right;
    }
    if (at.right == null) {
      return at.left;
    }
    Node<K, V> next = at.right;
    while (next.left != null) {
      next = next.left;
    }
    return balanced(next.key, next.value, at.left, remove(at.right, next.key));
  }

  private static <K, V> Node<K, V> balanced(
      K key, V value, @Nullable Node<K, V> left, @Nullable Node<K, V> right) {
    int lean = height(left) - height(right);
    if (lean > 1 && left != null) {
      Node<K, V> inner = left.right;
      if (height(left.left) < height(inner) && inner != null) {
        return new Node<>(
            inner.key,
            inner.value,
            new Node<>(left.key, left.value, left.left, inner.left),
            new Node<>(key, value, inner.right, right));
      }
      return new Node<>(left.key, left.value, left.left, new Node<>(key, value, inner, right));
    }
    if (lean < -1 && right != null) {
      Node<K, V> inner = right.left;
      if (height(right.right) < height(inner) && inner != null) {
        return new Node<>(
            inner.key,
            inner.value,
            new Node<>(key, value, left, inner.left),
            new Node<>(right.key, right.value, inner.right, right.right));
      }
      return new Node<>(right.key, right.value, new Node<>(key, value, left, inner), right.right);
    }
    return new Node<>(key, value, left, right);
  }
}
