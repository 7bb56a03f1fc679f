package dev.slicewright.solve;

import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Certificate;
import dev.slicewright.plan.Certificate.CellPrices;
import dev.slicewright.plan.Level;
import dev.slicewright.search.Demand;
import dev.slicewright.search.PlacementSearch;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The best prices of cells, where all places and all that runs are nested: on partitions and whole
 * cubes. Confined to one thread at a time.
 *
 * <p>Each kind of place gets one price, that its cheapest place has to reach, and each earlier
 * level one for what is held there. Given these, the best prices of cells are known: a running
 * slice lets its cells cost as much as it is worth for nothing, and whatever a place then lacks is
 * paid in full, the smallest places first. What is left is a concave function of a handful of
 * prices; its maximum is found by cutting planes (J. E. Kelley, Journal of the Society for
 * Industrial and Applied Mathematics 8, 1960, doi:10.1137/0108053), whose linear programs are
 * solved by their duals, a column for each cut. That is the optimum of the candidates' linear
 * program, found in a few milliseconds. One evaluation costs O(places + running slices), times the
 * kinds.
 */
final class TreePrices {

  /** The largest sum that certificates can tell. */
  private static final double LARGEST = (double) (Long.MAX_VALUE / Certificate.UNIT) / 4;

  /** The most that a chip of an earlier level is worth, in the dearest cell of this one. */
  private static final double ENOUGH = 1_024;

  private static final int MOST_KINDS = 24;
  private static final int MOST_NODES = 400_000;

  /** How near the best of all is near enough: levels are whole numbers. */
  private static final double NEAR = 1e-3;

  /** Demands that find the same places; a slice takes so many of a kind. */
  private record Alike(int kind, int units, long slices, int at, long gain) {}

  private final Instance in;
  private final int level;
  private final int[] earlier; // levels whose values are held, each of a price
  private final double[] held; // what is lost at each of them
  private final boolean[] full; // levels at which all that is wanted is placed
  private final List<Alike> wanted = new ArrayList<>();
  private final List<Map<Integer, int[][]>> kinds = new ArrayList<>(); // by pod: {first, cells}
  private double[] most = {}; // by kind, then by earlier level: more is of no use, or too much

  // The nodes of all pods, parents after their children.
  private int[] pod = {};
  private int[] first = {};
  private int[] size = {};
  private int[] parent = {};
  private int[] kindOf = {}; // or -1
  private double[] @Nullable [] worth = {}; // at the level, then at earlier ones, if it runs

  private double[] total = {};
  private double[] raised = {};
  private double[][] slope = {};
  private double[] best = {};
  private double bestSum = Double.NEGATIVE_INFINITY;

  private TreePrices(Instance in, int level, boolean[] full, int[] earlier, double[] held) {
    this.in = in;
    this.level = level;
    this.full = full;
    this.earlier = earlier;
    this.held = held;
  }

  /**
   * Prices for a level.
   *
   * @param places lists the places; nothing is placed there
   * @param values the values in hand
   * @return null where places are not nested, or demands have more than one shape
   */
  static @Nullable TreePrices of(Instance in, Displacement places, int level, long[] values) {
    int n = level + 1;
    long[] all = Values.of(in, Solution.nothing(in.demands.size()));
    for (Demand demand : in.demands) {
      int at = in.level(Level.Kind.PLACED, demand.request().priority());
      all[at] = Math.addExact(all[at], Math.multiplyExact(gain(demand), demand.request().slices()));
    }
    boolean[] full = new boolean[n];
    int count = 0;
    int[] earlier = new int[level];
    double[] held = new double[level];
    for (int l = 0; l < level; l++) {
      full[l] = in.levels.get(l).kind() == Level.Kind.PLACED && all[l] == values[l];
      if (!full[l]) {
        held[count] = all[l] - values[l];
        earlier[count++] = l;
      }
    }
    TreePrices made =
        new TreePrices(in, level, full, Arrays.copyOf(earlier, count), Arrays.copyOf(held, count));
    return made.findWanted(places) && made.findNodes(places) ? made : null;
  }

  private static long gain(Demand demand) {
    return demand.choices().stream().mapToLong(c -> c.gain()).max().orElse(0);
  }

  /** Finds kinds and demands; false if some have a choice of shapes. */
  private boolean findWanted(Displacement places) {
    Map<List<Object>, Integer> kindOfPlaces = new HashMap<>();
    Map<List<Object>, Alike> alike = new LinkedHashMap<>();
    for (Demand demand : in.demands) {
      int at = in.level(Level.Kind.PLACED, demand.request().priority());
      if (at > level || demand.choices().isEmpty()) {
        continue;
      }
      if (demand.choices().size() > 1) {
        return false;
      }
      List<Object> key = PlacementSearch.classKey(demand);
      Alike known = alike.get(key);
      long slices = demand.request().slices();
      if (known != null) {
        Alike more =
            new Alike(known.kind, known.units, known.slices + slices, known.at, known.gain);
        alike.put(key, more);
        continue;
      }
      int units = 0;
      List<Object> placesKey = new ArrayList<>();
      Map<Integer, int[][]> byPod = new HashMap<>();
      for (int p : demand.choices().get(0).pods()) {
        int cubes = in.pods.get(p).topology().cubesOf(demand.choices().get(0).shape());
        if (units > 0 && units != Math.max(1, cubes)) {
          return false;
        }
        units = Math.max(1, cubes);
        int[][] ranges = places.ranges(demand, 0, p);
        if (ranges == null) {
          return false;
        }
        byPod.put(p, ranges);
        placesKey.add(p);
        for (int[] range : ranges) {
          placesKey.add(range[0]);
          placesKey.add(range[1]);
        }
      }
      Integer kind = kindOfPlaces.get(placesKey);
      if (kind == null) {
        kind = kinds.size();
        if (kind == MOST_KINDS) {
          return false;
        }
        kindOfPlaces.put(placesKey, kind);
        kinds.add(byPod);
      }
      alike.put(key, new Alike(kind, units, slices, at, gain(demand)));
    }
    wanted.addAll(alike.values());
    return !wanted.isEmpty();
  }

  /** Puts all places and what runs into one forest; false if they are not nested. */
  private boolean findNodes(Displacement places) {
    record Range(int pod, int first, int size, int kind, double @Nullable [] worth) {}
    List<Range> ranges = new ArrayList<>();
    for (int k = 0; k < kinds.size(); k++) {
      for (Map.Entry<Integer, int[][]> entry : kinds.get(k).entrySet()) {
        for (int[] range : entry.getValue()) {
          ranges.add(new Range(entry.getKey(), range[0], range[1], k, null));
        }
      }
    }
    for (Instance.Free free : in.free) {
      long[] lost = places.lost(free);
      long chips = free.slices().stream().mapToLong(s -> s.shape().chips()).sum();
      for (RunningSlice slice : free.slices()) {
        int p = in.podOf(slice.pod());
        if (kinds.stream().noneMatch(k -> k.containsKey(p))) {
          continue;
        }
        int[] cells = in.pods.get(p).topology().cells(slice.footprint());
        for (int[] run : Displacement.runs(cells)) {
          double share = (double) slice.shape().chips() / chips * run[1] / cells.length;
          double[] part = new double[earlier.length + 1];
          part[0] = share * lost[level]; // nothing at levels of placed chips
          for (int e = 0; e < earlier.length; e++) {
            part[e + 1] = share * lost[earlier[e]];
          }
          ranges.add(new Range(p, run[0], run[1], -1, part));
        }
      }
    }
    if (ranges.size() > MOST_NODES) {
      return false;
    }
    // Children before parents: by last cell, shorter ones first.
    ranges.sort(
        Comparator.<Range>comparingInt(Range::pod)
            .thenComparingInt(r -> r.first() + r.size())
            .thenComparingInt(Range::size)
            .thenComparingInt(Range::kind));
    int n = ranges.size();
    pod = new int[n];
    first = new int[n];
    size = new int[n];
    parent = new int[n];
    kindOf = new int[n];
    worth = new double[n][];
    total = new double[n];
    raised = new double[n];
    slope = new double[n][kinds.size() + earlier.length];
    most = new double[kinds.size() + earlier.length];
    long chips = in.pods.stream().mapToLong(p -> p.topology().chipCount()).sum();
    double dearest = 1; // chip at the level
    for (Range r : ranges) {
      double[] of = r.worth();
      dearest = of == null ? dearest : Math.max(dearest, of[0] / r.size());
    }
    Arrays.fill(
        most,
        kinds.size(),
        most.length,
        Math.min(ENOUGH * dearest, LARGEST / chips / Math.max(1, earlier.length)));
    int[] open = new int[n]; // nodes without a parent yet
    int depth = 0;
    double[] within = new double[n]; // worth of what runs there
    for (int i = 0; i < n; i++) {
      Range r = ranges.get(i);
      pod[i] = r.pod();
      first[i] = r.first();
      size[i] = r.size();
      kindOf[i] = r.kind();
      worth[i] = r.worth();
      parent[i] = -1;
      within[i] = r.worth() == null ? 0 : atMost(r.worth());
      while (depth > 0 && pod[open[depth - 1]] == r.pod()) {
        int top = open[depth - 1];
        if (first[top] >= r.first()) {
          parent[top] = i;
          within[i] += within[top];
          depth--;
        } else if (first[top] + size[top] > r.first()) {
          return false;
        } else {
          break;
        }
      }
      open[depth++] = i;
    }
    double[] around = new double[n]; // the same of it, or of what runs around it
    for (int i = n - 1; i >= 0; i--) {
      around[i] = Math.max(within[i], parent[i] < 0 ? 0 : worthAbove(parent[i], around));
      if (kindOf[i] >= 0) {
        most[kindOf[i]] = Math.max(most[kindOf[i]], around[i]);
      }
    }
    for (int k = 0; k < kinds.size(); k++) {
      most[k] = 2 * most[k] + 1;
    }
    for (Alike w : wanted) {
      int e = Arrays.binarySearch(earlier, w.at());
      double unplaced = w.at() == level ? w.gain() : e < 0 ? 0 : most[kinds.size() + e] * w.gain();
      most[w.kind()] = Math.max(most[w.kind()], unplaced / w.units() + 1);
    }
    return true;
  }

  /** What something is worth with the largest prices. */
  private double atMost(double[] of) {
    double sum = of[0];
    for (int e = 0; e < earlier.length; e++) {
      sum += of[e + 1] * most[kinds.size() + e];
    }
    return sum;
  }

  private double worthAbove(int node, double[] around) {
    for (int i = node; i >= 0; i = parent[i]) {
      if (worth[i] != null) {
        return around[i];
      }
    }
    return 0;
  }

  /**
   * The sum that prices prove, and its slope.
   *
   * @param prices by kind, then by earlier level
   * @param way the slope, in the same order, to be filled in
   */
  private double sum(double[] prices, double[] way) {
    int m = kinds.size();
    Arrays.fill(way, 0);
    double sum = 0;
    for (int e = 0; e < earlier.length; e++) {
      sum -= prices[m + e] * held[e];
      way[m + e] = -held[e];
    }
    for (Alike w : wanted) {
      double price = w.units() * prices[w.kind()];
      int e = Arrays.binarySearch(earlier, w.at());
      double unplaced =
          w.at() == level
              ? w.gain() // what it would earn
              : e < 0 ? Double.POSITIVE_INFINITY : prices[m + e] * w.gain();
      if (price < unplaced) {
        sum += w.slices() * price;
        way[w.kind()] += (double) w.slices() * w.units();
      } else {
        sum += w.slices() * unplaced;
        if (e >= 0) {
          way[m + e] += (double) w.slices() * w.gain();
        }
      }
    }
    Arrays.fill(total, 0);
    for (double[] own : slope) {
      Arrays.fill(own, 0);
    }
    for (int i = 0; i < total.length; i++) {
      double[] own = slope[i];
      raised[i] = 0;
      int k = kindOf[i];
      if (k >= 0) {
        if (total[i] < prices[k]) {
          raised[i] = prices[k] - total[i];
          if (!isWithin(i)) {
            sum -= raised[i];
            way[k] -= 1;
            for (int j = 0; j < own.length; j++) {
              way[j] += own[j];
            }
          }
          total[i] = prices[k];
          Arrays.fill(own, 0);
          own[k] = 1;
        }
      } else {
        double[] all = Objects.requireNonNull(worth[i]);
        double most = all[0];
        for (int e = 0; e < earlier.length; e++) {
          most += all[e + 1] * prices[m + e];
        }
        if (total[i] > most) {
          sum -= total[i] - most;
          for (int j = 0; j < own.length; j++) {
            way[j] -= own[j];
          }
          for (int e = 0; e < earlier.length; e++) {
            way[m + e] += all[e + 1];
          }
        } else {
          raised[i] = most - total[i];
          total[i] = most;
          Arrays.fill(own, 0);
          System.arraycopy(all, 1, own, m, earlier.length);
        }
      }
      int up = parent[i];
      if (up >= 0) {
        total[up] += total[i];
        double[] above = slope[up];
        for (int j = 0; j < own.length; j++) {
          above[j] += own[j];
        }
      }
    }
    return sum;
  }

  /** Whether something runs around a place, so that what it lacks costs nothing yet. */
  private boolean isWithin(int node) {
    for (int i = parent[node]; i >= 0; i = parent[i]) {
      if (worth[i] != null) {
        return true;
      }
    }
    return false;
  }

  /**
   * Finds the best prices.
   *
   * @return whether they are the best of all
   */
  boolean solve(int cuts, BooleanSupplier stop) {
    int m = most.length;
    best = new double[m];
    Cuts master = new Cuts(most);
    double[] at = new double[m];
    for (int c = 0; c < cuts && !stop.getAsBoolean(); c++) {
      double[] way = new double[m];
      double sum = sum(at, way);
      if (sum > bestSum) {
        bestSum = sum;
        best = at.clone();
      }
      double constant = sum;
      for (int k = 0; k < m; k++) {
        constant -= way[k] * at[k];
      }
      double above = master.add(constant, way);
      double[] next = master.prices();
      if (above - bestSum <= NEAR || !master.isSound() || Arrays.equals(at, next)) {
        return above - bestSum <= NEAR;
      }
      at = next;
    }
    return false;
  }

  /** The best prices found, as a certificate. */
  Certificate certificate() {
    for (int e = 0; e < earlier.length; e++) {
      // As the certificate will tell it.
      best[kinds.size() + e] =
          Math.rint(best[kinds.size() + e] * Certificate.UNIT) / Certificate.UNIT;
    }
    sum(best, new double[best.length]);
    Map<Integer, double[]> byPod = new LinkedHashMap<>();
    for (int i = 0; i < pod.length; i++) {
      int p = pod[i];
      double[] own =
          byPod.computeIfAbsent(p, k -> new double[in.pods.get(k).topology().cellCount()]);
      for (int cell = first[i]; cell < first[i] + size[i]; cell++) {
        own[cell] += raised[i] / size[i];
      }
    }
    List<CellPrices> cells = new ArrayList<>();
    byPod.forEach(
        (p, own) -> {
          long[] exact = new long[own.length];
          for (int cell = 0; cell < own.length; cell++) {
            exact[cell] = (long) (own[cell] * Certificate.UNIT);
          }
          cells.add(new CellPrices(in.pods.get(p).id(), exact));
        });
    double dearest = 0;
    for (Alike w : wanted) {
      dearest = Math.max(dearest, best[w.kind()] * w.units() / Math.max(1, w.gain()));
    }
    long[] q = new long[level];
    for (int l = 0; l < level; l++) {
      int e = Arrays.binarySearch(earlier, l);
      q[l] =
          e >= 0
              ? (long) (best[kinds.size() + e] * Certificate.UNIT)
              : Math.multiplyExact((long) dearest + 2, Certificate.UNIT);
    }
    return new Certificate(level, cells, List.of(), q);
  }

  /**
   * The largest θ and prices between 0 and their limits below all cuts θ ≤ c + s · prices, by the
   * simplex method on the dual: a column (s, 1) of cost c for each cut, (-1, 0) of the limit's cost
   * and a slack for each price.
   */
  private static final class Cuts {
    private final int m;
    private final List<double[]> columns = new ArrayList<>(); // m + 1 entries, then the cost
    private final int[] basis;
    private double[][] inverse = {};
    private double[] dual = {};
    private boolean sound = true;

    Cuts(double[] limits) {
      m = limits.length;
      basis = new int[m + 1];
      for (int k = 0; k < m; k++) {
        for (int sign = -1; sign <= 1; sign += 2) {
          double[] column = new double[m + 2];
          column[k] = sign;
          column[m + 1] = sign < 0 ? limits[k] : 0;
          columns.add(column);
        }
      }
    }

    boolean isSound() {
      return sound;
    }

    /** Prices of the optimum. */
    double[] prices() {
      double[] prices = new double[m];
      for (int k = 0; k < m; k++) {
        prices[k] = Math.max(0, -dual[k]);
      }
      return prices;
    }

    /** Adds a cut, and gives the largest θ. */
    double add(double constant, double[] way) {
      double[] column = Arrays.copyOf(way, m + 2);
      column[m] = 1;
      column[m + 1] = constant;
      columns.add(column);
      if (columns.size() == 2 * m + 1) {
        for (int k = 0; k < m; k++) {
          basis[k] = 2 * k + (way[k] >= 0 ? 0 : 1);
        }
        basis[m] = 2 * m;
      }
      for (int pivots = 0; pivots < 50 * (m + 1); pivots++) {
        invert();
        int enters = -1;
        double least = 0;
        for (int j = 0; sound && j < columns.size(); j++) {
          double[] c = columns.get(j);
          double reduced = c[m + 1];
          double scale = Math.abs(reduced);
          for (int r = 0; r <= m; r++) {
            reduced -= dual[r] * c[r];
            scale = Math.max(scale, Math.abs(dual[r] * c[r]));
          }
          if (reduced < -1e-14 * scale && reduced < least) {
            least = reduced;
            enters = j;
          }
        }
        if (enters < 0 || !pivot(enters)) {
          break;
        }
      }
      return dual[m];
    }

    private boolean pivot(int enters) {
      double[] c = columns.get(enters);
      int leaves = -1;
      double least = Double.POSITIVE_INFINITY;
      double size = 0;
      for (int r = 0; r <= m; r++) {
        double step = 0;
        for (int j = 0; j <= m; j++) {
          step += inverse[r][j] * c[j];
        }
        double ratio = step > 1e-9 ? Math.max(0, inverse[r][m]) / step : Double.POSITIVE_INFINITY;
        if (ratio < least - 1e-12 || ratio < least + 1e-12 && step > size) {
          least = Math.min(least, ratio);
          size = step;
          leaves = r;
        }
      }
      if (leaves < 0) {
        return false;
      }
      basis[leaves] = enters;
      return true;
    }

    /** Inverts the basis anew, which is small, and finds the duals. */
    private void invert() {
      int n = m + 1;
      double[][] a = new double[n][2 * n];
      for (int r = 0; r < n; r++) {
        for (int j = 0; j < n; j++) {
          a[r][j] = columns.get(basis[j])[r];
        }
        a[r][n + r] = 1;
      }
      for (int j = 0; j < n; j++) {
        int at = j;
        for (int r = j + 1; r < n; r++) {
          at = Math.abs(a[r][j]) > Math.abs(a[at][j]) ? r : at;
        }
        if (Math.abs(a[at][j]) < 1e-9) {
          sound = false;
          return;
        }
        double[] swap = a[j];
        a[j] = a[at];
        a[at] = swap;
        double by = a[j][j];
        for (int k = j; k < 2 * n; k++) {
          a[j][k] /= by;
        }
        for (int r = 0; r < n; r++) {
          double times = r == j ? 0 : a[r][j];
          for (int k = j; times != 0 && k < 2 * n; k++) {
            a[r][k] -= times * a[j][k];
          }
        }
      }
      inverse = new double[n][];
      double[] y = new double[n];
      for (int r = 0; r < n; r++) {
        inverse[r] = Arrays.copyOfRange(a[r], n, 2 * n);
        double cost = columns.get(basis[r])[m + 1];
        for (int k = 0; k < n; k++) {
          y[k] += cost * inverse[r][k];
        }
      }
      dual = y;
    }
  }
}
