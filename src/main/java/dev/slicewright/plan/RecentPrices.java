package dev.slicewright.plan;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;

/**
 * What was derived from arrays of prices, by the array itself; what was least recently asked for
 * goes first, so that endless new prices do not fill the heap. Confined to one thread at a time.
 */
final class RecentPrices<V> {

  /** An array by its identity. */
  private record Key(long[] prices) {
    @Override
    public boolean equals(Object other) {
      return other instanceof Key that && prices == that.prices;
    }

    @Override
    public int hashCode() {
      return System.identityHashCode(prices);
    }
  }

  private final Map<Key, V> known = new LinkedHashMap<>(16, 0.75f, true);
  private final long most;
  private long cells;

  /**
   * Makes an empty one.
   *
   * @param most the cells of all arrays together that are kept; one is kept whatever its length
   */
  RecentPrices(long most) {
    this.most = most;
  }

  V get(long[] prices, Function<long[], V> make) {
    Key key = new Key(prices);
    V value = known.get(key);
    if (value == null) {
      value = make.apply(prices);
      cells += prices.length;
      for (Iterator<Key> old = known.keySet().iterator(); cells > most && old.hasNext(); ) {
        cells -= old.next().prices().length;
        old.remove();
      }
      known.put(key, value);
    }
    return value;
  }
}
