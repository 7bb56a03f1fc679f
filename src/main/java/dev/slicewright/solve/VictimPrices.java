package dev.slicewright.solve;

import dev.slicewright.plan.Certificate;
import dev.slicewright.plan.Certificate.CellPrices;
import dev.slicewright.plan.Level;
import dev.slicewright.search.Demand;
import dev.slicewright.search.PlacementSearch;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Prices of cells that bound what many wanted slices cost those that run. Confined to one thread at
 * a time.
 *
 * <p>Each running slice spreads what it is worth over its cells; a wanted slice pays for the cells
 * of its cheapest place. The sum of these is a lower bound of what is lost, whatever the spread
 * (weak duality of the candidates' linear program), and the spread is improved by subgradient steps
 * (N. Z. Shor, "Minimization Methods for Non-Differentiable Functions", 1985,
 * doi:10.1007/978-3-642-82118-9): cells that cheapest places take become dearer, by so much as
 * would close the gap to the plan in hand (B. T. Polyak, 1969). What comes out is a certificate;
 * {@link Bounds#offer} computes what it proves exactly. A step costs O(cells of all places of the
 * wanted shapes). Only where nothing that runs may move.
 */
final class VictimPrices {

  /** What a chip that an earlier level keeps is worth here, where some of it is lost. */
  private static final double EARLIER = 4;

  /** The same where none is lost: so much that none will be. */
  private static final double SURE = 1_024;

  /** The same for chip-seconds, whose figures are larger. */
  private static final double SURE_SECONDS = 32;

  /** Demands that find the same places. */
  private record Alike(Demand demand, int slices) {}

  private final Instance in;
  private final Displacement places;
  private final int level;
  private final List<Alike> wanted;
  private final double[] worth; // by free request
  private final double[] earlier; // weight of each level
  private final boolean[] full; // levels at which all that is wanted is placed
  private final double[] @Nullable [] prices; // by pod and cell
  private final double[] @Nullable [] best;
  private final double[] @Nullable [] slope;
  private final int[] pods;
  private double bestSum = Double.NEGATIVE_INFINITY;
  private double scale;
  private double share = 1;
  private int idle;
  private final double target; // what is lost now

  private static final int PATIENCE = 8;

  /**
   * Prices for a level.
   *
   * @param values the values in hand, which the prices try to prove
   */
  VictimPrices(Instance in, int level, long[] values, long seed) {
    this.in = in;
    this.level = level;
    this.places = new Displacement(in, false, seed);
    Map<List<Object>, Alike> alike = new LinkedHashMap<>();
    for (Demand demand : in.demands) {
      if (in.level(Level.Kind.PLACED, demand.request().priority()) <= level) {
        alike.merge(
            PlacementSearch.classKey(demand),
            new Alike(demand, demand.request().slices()),
            (a, b) -> new Alike(a.demand(), a.slices() + b.slices()));
      }
    }
    this.wanted = List.copyOf(alike.values());
    this.earlier = new double[level + 1];
    long[] all = Values.of(in, Solution.nothing(in.demands.size()));
    this.worth = worth(all, values);
    this.full = new boolean[level + 1];
    double lost = 0;
    for (Demand demand : in.demands) {
      int at = in.level(Level.Kind.PLACED, demand.request().priority());
      all[at] += gain(demand) * demand.request().slices();
    }
    for (int l = 0; l <= level; l++) {
      full[l] = in.levels.get(l).kind() == Level.Kind.PLACED && all[l] == values[l];
      lost += earlier[l] * Math.abs(all[l] - values[l]);
    }
    this.target = lost;
    this.pods =
        wanted.stream()
            .flatMap(w -> w.demand().choices().stream())
            .flatMapToInt(c -> Arrays.stream(c.pods()))
            .distinct()
            .sorted()
            .toArray();
    this.prices = new double[in.pods.size()][];
    this.best = new double[in.pods.size()][];
    this.slope = new double[in.pods.size()][];
    for (int pod : pods) {
      int[] free = places.freeAt(pod);
      int[] size = new int[in.free.size()];
      for (int f = 0; f < size.length; f++) {
        size[f] =
            in.free.get(f).slices().stream()
                .mapToInt(s -> Math.max(1, (int) (s.shape().chips() / chipsPerCell(s.pod()))))
                .sum();
      }
      double[] own = new double[free.length];
      for (int cell = 0; cell < own.length; cell++) {
        own[cell] = free[cell] < 0 ? 0 : worth[free[cell]] / size[free[cell]];
        scale = Math.max(scale, own[cell]);
      }
      prices[pod] = own;
      best[pod] = own.clone();
      slope[pod] = new double[own.length];
    }
  }

  /** Whether it says anything about a level of a problem. */
  static boolean applies(Instance in, int level) {
    Level.Kind kind = in.levels.get(level).kind();
    for (Level other : in.levels) {
      if (other.kind() == Level.Kind.DRAIN || other.kind() == Level.Kind.ROOM) {
        return false; // its certificates know no goals
      }
    }
    return (kind == Level.Kind.KEPT || kind == Level.Kind.PLACED || kind == Level.Kind.DISRUPTION)
        && !Displacement.anyMayMove(in);
  }

  private int chipsPerCell(String pod) {
    return in.pods.get(in.podOf(pod)).topology().chipsPerCell();
  }

  private double[] worth(long[] all, long[] values) {
    double[] sum = new double[in.free.size()];
    double dearest = 0;
    long[][] lost = new long[sum.length][];
    for (int f = 0; f < sum.length; f++) {
      lost[f] = places.lost(in.free.get(f));
      long chips = in.free.get(f).slices().stream().mapToLong(s -> s.shape().chips()).sum();
      dearest = Math.max(dearest, (double) lost[f][level] / Math.max(1, chips));
    }
    for (int l = 0; l <= level; l++) {
      if (l == level) {
        earlier[l] = 1;
      } else if (in.levels.get(l).kind() == Level.Kind.KEPT) {
        double sure = in.levels.get(level).kind() == Level.Kind.DISRUPTION ? SURE_SECONDS : SURE;
        earlier[l] = Math.ceil((all[l] == values[l] ? sure : EARLIER) * Math.max(1, dearest));
      } else if (in.levels.get(l).kind() == Level.Kind.PLACED) {
        earlier[l] = Math.ceil(2 * Math.max(1, dearest)); // more where all is placed
      }
      for (int f = 0; f < sum.length; f++) {
        sum[f] += earlier[l] * lost[f][l]; // nothing at levels of placed chips
      }
    }
    return sum;
  }

  /**
   * Improves the prices.
   *
   * @return the steps taken
   */
  int improve(int steps, BooleanSupplier stop) {
    int done = 0;
    for (; done < steps && !stop.getAsBoolean(); done++) {
      step();
    }
    return done;
  }

  private void step() {
    double[] @Nullable [] up = new double[prices.length][];
    double sum = 0;
    double[] paid = new double[in.free.size()];
    for (int pod : pods) {
      double[] own = of(prices, pod);
      int[] free = places.freeAt(pod);
      up[pod] = new double[own.length];
      for (int cell = 0; cell < own.length; cell++) {
        sum -= own[cell];
        if (free[cell] >= 0) {
          paid[free[cell]] += own[cell];
        }
      }
    }
    for (int f = 0; f < paid.length; f++) {
      sum += Math.min(paid[f], worth[f]);
    }
    for (Alike w : wanted) {
      Displacement.Cheapest c = places.cheapest(w.demand(), prices);
      if (c == null) {
        double unplaced = unplaced(w);
        sum += unplaced == Double.POSITIVE_INFINITY ? 0 : w.slices() * unplaced;
        continue;
      }
      // Unplaced it costs what it would earn.
      double unplaced = unplaced(w);
      sum += w.slices() * Math.min(c.price(), unplaced);
      for (int cell : c.price() >= unplaced ? new int[0] : c.cells()) {
        of(up, c.pod())[cell] += w.slices();
      }
    }
    if (sum > bestSum) {
      bestSum = sum;
      for (int pod : pods) {
        best[pod] = of(prices, pod).clone();
      }
    }
    if (sum >= bestSum) {
      idle = 0;
    } else if (++idle >= PATIENCE) {
      idle = 0;
      share *= 0.6;
    }
    double square = 0;
    for (int pod : pods) {
      double[] own = of(prices, pod);
      double[] way = of(slope, pod);
      int[] free = places.freeAt(pod);
      double[] more = of(up, pod);
      for (int cell = 0; cell < own.length; cell++) {
        boolean full = free[cell] < 0 || paid[free[cell]] > worth[free[cell]] * (1 + 1e-9);
        double g = more[cell] - (full ? 1 : 0);
        way[cell] = 0.5 * way[cell] + 0.5 * g;
        square += own[cell] > 0 || way[cell] > 0 ? way[cell] * way[cell] : 0;
      }
    }
    if (square == 0) {
      return;
    }
    double length = share * Math.max(target - sum, 1e-3 * scale) / square;
    for (int pod : pods) {
      double[] own = of(prices, pod);
      double[] way = of(slope, pod);
      for (int cell = 0; cell < own.length; cell++) {
        own[cell] = Math.max(0, own[cell] + length * way[cell]);
      }
    }
  }

  /** What a slice earns here; without limit where all of its priority is placed. */
  private double unplaced(Alike w) {
    int at = in.level(Level.Kind.PLACED, w.demand().request().priority());
    return at < level && full[at] ? Double.POSITIVE_INFINITY : earlier[at] * gain(w.demand());
  }

  private static long gain(Demand demand) {
    return demand.choices().stream().mapToLong(c -> c.gain()).max().orElse(0);
  }

  private static double[] of(double[] @Nullable [] all, int pod) {
    double[] own = all[pod];
    if (own == null) {
      throw new IllegalStateException("no prices in pod " + pod);
    }
    return own;
  }

  /** The best prices found, as a certificate. */
  Certificate certificate() {
    List<CellPrices> cells = new ArrayList<>(pods.length);
    double dearest = 0;
    for (int pod : pods) {
      double[] own = of(best, pod);
      long[] exact = new long[own.length];
      int chips = in.pods.get(pod).topology().chipsPerCell();
      for (int cell = 0; cell < own.length; cell++) {
        exact[cell] = (long) (own[cell] * Certificate.UNIT);
        dearest = Math.max(dearest, own[cell] / chips);
      }
      cells.add(new CellPrices(in.pods.get(pod).id(), exact));
    }
    long[] q = new long[level];
    for (int l = 0; l < level; l++) {
      q[l] =
          in.levels.get(l).kind() == Level.Kind.PLACED && full[l]
              ? Math.multiplyExact((long) dearest + 2, Certificate.UNIT)
              : (long) earlier[l] * Certificate.UNIT;
    }
    return new Certificate(level, cells, List.of(), q);
  }
}
