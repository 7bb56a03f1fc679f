package dev.slicewright.solve;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The cheapest items to remove so that n cubes become free, each cube being free once all its items
 * are gone. Stateless.
 *
 * <p>Cubes that share an item, directly or by others, are one component. Within a component of one
 * cube, or of at most {@value #MAX_ITEMS} items every subset is tried; over components, a knapsack:
 * O(2^12 × cubes + components × n × n). Of larger components only each cube alone and all of it are
 * tried, so the answer may not be the cheapest.
 */
final class Cover {
  private Cover() {}

  private static final int MAX_ITEMS = 12;

  /** What to remove. */
  record Pick(int[] items, long cost, boolean cheapest) {

    private Pick plus(Pick other) {
      int[] both = Arrays.copyOf(items, items.length + other.items.length);
      System.arraycopy(other.items, 0, both, items.length, other.items.length);
      return new Pick(both, Math.addExact(cost, other.cost), cheapest && other.cheapest);
    }

    boolean isBetter(@Nullable Pick other) {
      return other == null
          || cost < other.cost
          || cost == other.cost && items.length < other.items.length;
    }
  }

  static final Pick NOTHING = new Pick(new int[0], 0, true);

  static Pick of(int[] items, long[] cost) {
    long sum = 0;
    for (int item : items) {
      sum = Math.addExact(sum, cost[item]);
    }
    return new Pick(items, sum, true);
  }

  /**
   * The cheapest removal.
   *
   * @param cubes the items of each cube, each item once
   * @param cost by item, 0 or more
   * @param n how many cubes are needed
   * @return the items, or null if there are not so many cubes
   */
  static @Nullable Pick cheapest(List<int[]> cubes, long[] cost, int n) {
    if (n <= 0) {
      return NOTHING;
    }
    if (cubes.size() < n) {
      return null;
    }
    boolean exact = true;
    @Nullable Pick[] best = new Pick[n + 1];
    best[0] = NOTHING;
    for (List<int[]> component : components(cubes, cost.length)) {
      TreeSet<Integer> members = new TreeSet<>();
      component.forEach(cube -> Arrays.stream(cube).forEach(members::add));
      int[] items = members.stream().mapToInt(Integer::intValue).toArray();
      exact &= items.length <= MAX_ITEMS || component.size() == 1;
      @Nullable Pick[] ways = ways(component, items, cost);
      @Nullable Pick[] next = best.clone();
      for (int have = 0; have < n; have++) {
        Pick base = best[have];
        for (int more = 1; base != null && more < ways.length; more++) {
          Pick way = ways[more];
          if (way != null) {
            Pick sum = base.plus(way);
            int to = Math.min(n, have + more);
            if (sum.isBetter(next[to])) {
              next[to] = sum;
            }
          }
        }
      }
      best = next;
    }
    Pick pick = best[n];
    return pick == null ? null : new Pick(pick.items(), pick.cost(), exact);
  }

  /** By the number of cubes of a component that become free: the cheapest way. */
  private static @Nullable Pick[] ways(List<int[]> cubes, int[] items, long[] cost) {
    @Nullable Pick[] ways = new Pick[cubes.size() + 1];
    List<int[]> subsets = new ArrayList<>();
    if (cubes.size() == 1) {
      subsets.add(items); // anything less frees nothing
    } else if (items.length <= MAX_ITEMS) {
      for (int mask = 1; mask < 1 << items.length; mask++) {
        int[] subset = new int[Integer.bitCount(mask)];
        int at = 0;
        for (int i = 0; i < items.length; i++) {
          if ((mask >> i & 1) == 1) {
            subset[at++] = items[i];
          }
        }
        subsets.add(subset);
      }
    } else {
      cubes.forEach(cube -> subsets.add(Arrays.stream(cube).sorted().toArray()));
      subsets.add(items);
    }
    for (int[] subset : subsets) {
      int free = 0;
      for (int[] cube : cubes) {
        boolean all = true;
        for (int item : cube) {
          all &= Arrays.binarySearch(subset, item) >= 0;
        }
        free += all ? 1 : 0;
      }
      Pick pick = of(subset, cost);
      if (free > 0 && pick.isBetter(ways[free])) {
        ways[free] = pick;
      }
    }
    return ways;
  }

  private static List<List<int[]>> components(List<int[]> cubes, int items) {
    int[] root = new int[items];
    Arrays.setAll(root, i -> i);
    for (int[] cube : cubes) {
      for (int item : cube) {
        root[find(root, item)] = find(root, cube[0]);
      }
    }
    Map<Integer, List<int[]>> byRoot = new HashMap<>();
    List<List<int[]>> out = new ArrayList<>();
    for (int[] cube : cubes) {
      byRoot
          .computeIfAbsent(
              find(root, cube[0]),
              r -> {
                List<int[]> made = new ArrayList<>();
                out.add(made);
                return made;
              })
          .add(cube);
    }
    return out;
  }

  private static int find(int[] root, int item) {
    int at = item;
    while (root[at] != at) {
      root[at] = root[root[at]];
      at = root[at];
    }
    return at;
  }
}
