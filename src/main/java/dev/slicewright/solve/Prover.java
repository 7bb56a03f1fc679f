package dev.slicewright.solve;

import dev.slicewright.plan.Certificate;
import dev.slicewright.plan.Certificate.CellPrices;
import dev.slicewright.plan.Certificate.RowPrice;
import dev.slicewright.plan.Level;
import dev.slicewright.search.Demand;
import dev.slicewright.search.Demand.Choice;
import dev.slicewright.search.Limit;
import dev.slicewright.search.PlacementSearch;
import dev.slicewright.search.PodSpace;
import dev.slicewright.search.Want;
import dev.slicewright.search.WindowLp;
import dev.slicewright.topology.Slicing;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Proves bounds of placed chips on pods of boxes: the linear relaxation, its prices rounded up to
 * integers. Confined to one thread at a time, but for {@link #guide}.
 *
 * <p>It works on the first level of placed chips whose bound is not met, for the values in hand,
 * and offers what it finds to {@link Bounds}, which recomputes it exactly. Deterministic: the same
 * calls give the same results.
 */
final class Prover {

  /** The most candidates that a relaxation may have. */
  private static final long MAX_CANDIDATES = 2_000_000;

  private final Instance in;
  private final Bounds bounds;
  private final Map<Integer, @Nullable Relaxation> relaxations = new HashMap<>(); // by level
  private final boolean boxes;
  private volatile @Nullable Guide guide;

  /** Prices of cells that a search may follow. */
  record Guide(Map<Integer, float[]> byPod) {}

  Prover(Instance in, Bounds bounds) {
    this.in = in;
    this.bounds = bounds;
    this.boxes = onlyBoxes(in);
  }

  /** Whether it has anything to say about an instance: all that is wanted goes on boxes. */
  static boolean onlyBoxes(Instance in) {
    boolean any = false;
    for (Demand demand : in.demands) {
      for (Choice choice : demand.choices()) {
        for (int p : choice.pods()) {
          any = true;
          if (!(in.pods.get(p).topology().slicing() instanceof Slicing.TorusBoxes)) {
            return false;
          }
        }
      }
    }
    return any;
  }

  /** The latest prices, for searches on other threads. */
  @Nullable Guide guide() {
    return guide;
  }

  /**
   * Takes some steps towards a better bound.
   *
   * @param values the values in hand, by level
   * @return false if there is nothing left to do for these values
   */
  boolean work(long[] values) {
    if (!boxes) {
      return false;
    }
    for (int l = 0; l < in.levels.size(); l++) {
      Level level = in.levels.get(l);
      if (level.kind() != Level.Kind.PLACED || bounds.bound(l, values).value() <= values[l]) {
        continue;
      }
      Relaxation relaxation = relaxations.get(l);
      if (relaxation == null && !relaxations.containsKey(l)) {
        relaxation = Relaxation.of(in, l);
        relaxations.put(l, relaxation);
      }
      return relaxation != null && relaxation.work(this, values);
    }
    return false;
  }

  /** The linear relaxation of one level. */
  private static final class Relaxation {

    /** Evaluations without progress after which it has converged. */
    private static final int PATIENCE = 40;

    private final Instance in;
    private final int level;
    private final int[] pods; // by field
    private final double unit; // chips
    private final long gcd; // of gains at the level, in chips
    private final List<Integer> limits; // by row
    private final int[] earlierRow; // by earlier level: its row, or -1
    private final WindowLp lp;
    private double progress = Double.POSITIVE_INFINITY;
    private int stale;
    private double offered = Double.POSITIVE_INFINITY;

    private Relaxation(
        Instance in,
        int level,
        int[] pods,
        double unit,
        long gcd,
        List<Integer> limits,
        int[] earlierRow,
        WindowLp lp) {
      this.in = in;
      this.level = level;
      this.pods = pods;
      this.unit = unit;
      this.gcd = gcd;
      this.limits = limits;
      this.earlierRow = earlierRow;
      this.lp = lp;
    }

    static @Nullable Relaxation of(Instance in, int level) {
      long priority = in.levels.get(level).priority();
      WindowLp.Builder builder = new WindowLp.Builder();
      Map<Integer, Integer> fieldOf = new LinkedHashMap<>();
      Map<Integer, PodSpace> spaces = new HashMap<>();
      double unit = Double.POSITIVE_INFINITY;
      for (Demand demand : in.demands) {
        for (Choice choice : demand.choices()) {
          for (int p : choice.pods()) {
            if (demand.request().priority() >= priority && !fieldOf.containsKey(p)) {
              PodSpace space = in.cleared(p);
              spaces.put(p, space);
              fieldOf.put(p, builder.field(space));
              unit = Math.min(unit, in.pods.get(p).topology().chipsPerCell());
            }
          }
        }
      }
      // Demands that are alike, their tenant and priority too, make one class.
      Map<List<Object>, List<Demand>> classes = new LinkedHashMap<>();
      for (Demand demand : in.demands) {
        if (demand.request().priority() >= priority && !demand.choices().isEmpty()) {
          List<Object> key = PlacementSearch.classKey(demand);
          key.set(0, demand.request().priority());
          for (Choice choice : demand.choices()) {
            for (int p : choice.pods()) {
              if (!in.pods.get(p).holds().isEmpty()) {
                Want want = PlacementSearch.wantOf(demand, choice, in.pods.get(p), in.rules.now());
                key.add(want.holder());
              }
            }
          }
          classes.computeIfAbsent(key, k -> new ArrayList<>()).add(demand);
        }
      }
      List<Demand> ofBlock = new ArrayList<>();
      List<Choice> choiceOfBlock = new ArrayList<>();
      List<Integer> podOfBlock = new ArrayList<>();
      long gcd = 0;
      for (List<Demand> alike : classes.values()) {
        Demand demand = alike.get(0);
        long count = 0;
        for (Demand each : alike) {
          count += each.request().slices();
        }
        int clazz = builder.clazz(count);
        boolean own = demand.request().priority() == priority;
        for (Choice choice : demand.choices()) {
          gcd = own ? gcd(gcd, choice.gain()) : gcd;
          for (int p : choice.pods()) {
            PodSpace space = Objects.requireNonNull(spaces.get(p));
            int field = Objects.requireNonNull(fieldOf.get(p));
            int want =
                space.register(
                    PlacementSearch.wantOf(demand, choice, in.pods.get(p), in.rules.now()));
            int added = builder.candidates(clazz, field, want, own ? choice.gain() / unit : 0);
            for (int i = 0; i < added; i++) {
              ofBlock.add(demand);
              choiceOfBlock.add(choice);
              podOfBlock.add(p);
            }
            if (builder.candidates() > MAX_CANDIDATES) {
              return null;
            }
          }
        }
      }
      if (builder.candidates() == 0) {
        return null;
      }
      WindowLp lp = builder.build();
      int blocks = ofBlock.size();
      List<Integer> limits = new ArrayList<>();
      for (int i = 0; i < in.limits.size(); i++) {
        Limit limit = in.limits.get(i);
        float[] coefficients = new float[blocks];
        boolean any = false;
        for (int b = 0; b < blocks; b++) {
          if (limit.counts(ofBlock.get(b).request().tenant(), podOfBlock.get(b))) {
            coefficients[b] = (float) (choiceOfBlock.get(b).shape().chips() / unit);
            any = true;
          }
        }
        if (any) {
          lp.row(coefficients, limit.room() / unit);
          limits.add(i);
        }
      }
      int rows = limits.size();
      int[] earlierRow = new int[level];
      Arrays.fill(earlierRow, -1);
      for (int j = 0; j < level; j++) {
        if (in.levels.get(j).kind() == Level.Kind.PLACED) {
          float[] coefficients = new float[blocks];
          for (int b = 0; b < blocks; b++) {
            if (ofBlock.get(b).request().priority() == in.levels.get(j).priority()) {
              coefficients[b] = (float) (-choiceOfBlock.get(b).gain() / unit);
            }
          }
          lp.row(coefficients, 0);
          earlierRow[j] = rows++;
        }
      }
      int[] pods = new int[fieldOf.size()];
      fieldOf.forEach((p, f) -> pods[f] = p);
      return new Relaxation(in, level, pods, unit, Math.max(1, gcd), limits, earlierRow, lp);
    }

    private static long gcd(long a, long b) {
      while (b != 0) {
        long rest = a % b;
        a = b;
        b = rest;
      }
      return a;
    }

    boolean work(Prover prover, long[] values) {
      for (int j = 0; j < level; j++) {
        if (earlierRow[j] >= 0) {
          lp.limit(earlierRow[j], -values[j] / unit);
        }
      }
      if (stale >= PATIENCE) {
        return false;
      }
      lp.goal(values[level] / unit);
      lp.advance();
      WindowLp.Prices prices = lp.prices();
      double chips = prices.bound * unit;
      if (chips < progress - 0.01 * gcd) {
        progress = chips;
        stale = 0;
        Map<Integer, float[]> byPod = new HashMap<>();
        for (int f = 0; f < pods.length; f++) {
          byPod.put(pods[f], prices.cells(f));
        }
        prover.guide = new Guide(byPod);
      } else {
        stale++;
      }
      // Exact evaluation costs as much as many steps: only where it may help.
      System.err.println(
          lp.steps()
              + " "
              + chips
              + " now "
              + lp.nowBound
              + " avg "
              + lp.avgBound
              + " stale "
              + stale
              + " val "
              + values[level]
              + " counts "
              + Arrays.toString(lp.counts()));
      double floor = Math.floor((chips + 0.004 * unit) / gcd) * gcd;
      long known = prover.bounds.bound(level, values).value();
      if (floor < known && floor < offered && (floor <= values[level] || stale > 2)) {
        offered = floor;
        prover.bounds.offer(level, certificate(prices), values);
      }
      return true;
    }

    /** The prices, rounded up to integers. */
    private Certificate certificate(WindowLp.Prices prices) {
      List<CellPrices> cells = new ArrayList<>(pods.length);
      for (int f = 0; f < pods.length; f++) {
        float[] given = prices.cells(f);
        long[] exact = new long[given.length];
        for (int i = 0; i < exact.length; i++) {
          exact[i] = exact(given[i]);
        }
        cells.add(new CellPrices(in.pods.get(pods[f]).id(), exact));
      }
      List<RowPrice> rows = new ArrayList<>();
      for (int r = 0; r < limits.size(); r++) {
        // A row in units has its coefficients divided: the price of a chip is the same.
        long price = (long) Math.ceil(prices.row(r) * (double) Certificate.UNIT);
        if (price > 0) {
          rows.add(Bounds.limitPrice(in, limits.get(r), price));
        }
      }
      long[] earlier = new long[level];
      for (int j = 0; j < level; j++) {
        if (earlierRow[j] >= 0) {
          earlier[j] = (long) (prices.row(earlierRow[j]) * (double) Certificate.UNIT);
        }
      }
      return new Certificate(level, cells, rows, earlier);
    }

    private long exact(float price) {
      return (long) Math.ceil(price * unit * Certificate.UNIT);
    }
  }
}
