package dev.slicewright.solve;

import dev.slicewright.plan.BranchTree;
import dev.slicewright.plan.Certificate;
import dev.slicewright.plan.Certificate.CellPrices;
import dev.slicewright.plan.Certificate.RowPrice;
import dev.slicewright.plan.CountRow;
import dev.slicewright.plan.Level;
import dev.slicewright.search.Demand;
import dev.slicewright.search.Demand.Choice;
import dev.slicewright.search.Limit;
import dev.slicewright.search.PlacementSearch;
import dev.slicewright.search.PodSpace;
import dev.slicewright.search.Want;
import dev.slicewright.search.WindowLp;
import dev.slicewright.topology.Slicing;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Proves bounds of placed chips on pods of boxes: the linear relaxation, its prices rounded up to
 * integers, and where that is not enough, cases. Confined to one thread at a time, but for {@link
 * #guide}.
 *
 * <p>Where the relaxation places a fraction of a slice, a case is split in two by how many slices
 * of that size there are, the largest sizes first: at most so many, or one more. The case with the
 * weakest bound is worked on next (best-first branch and bound: A. H. Land and A. G. Doig, An
 * automatic method of solving discrete programming problems, Econometrica 28, 1960).
 *
 * <p>It works on the first level of placed chips whose bound is not met, for the values in hand,
 * and offers what it finds to {@link Bounds}, which recomputes it exactly. Deterministic: the same
 * calls give the same results.
 */
final class Prover {

  /** The most candidates that a relaxation may have. */
  private static final long MAX_CANDIDATES = 2_000_000;

  /** The most window sums that it may keep: about 130 MB. */
  private static final long MAX_SUMS = 8_000_000;

  /** Cases take time to verify: one for so many milliseconds of the deadline. */
  private static final long MILLIS_A_CASE = 4;

  private static final int MAX_CASES = 256;

  private final Instance in;
  private final Bounds bounds;
  private final Map<Integer, @Nullable Relaxation> relaxations = new HashMap<>(); // by level
  private final boolean boxes;
  private final int mostCases;
  private volatile @Nullable Guide guide;

  /** Prices of cells that a search may follow. */
  record Guide(Map<Integer, float[]> byPod) {}

  Prover(Instance in, Bounds bounds, long deadlineMillis) {
    this.in = in;
    this.bounds = bounds;
    this.boxes = onlyBoxes(in);
    this.mostCases = (int) Math.max(8, Math.min(MAX_CASES, deadlineMillis / MILLIS_A_CASE));
  }

  /** Whether it has anything to say about its instance: all that is wanted goes on boxes. */
  boolean applies() {
    return boxes;
  }

  private static boolean onlyBoxes(Instance in) {
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
      boolean placed = level.kind() == Level.Kind.PLACED || level.kind() == Level.Kind.ROOM;
      if (!placed || bounds.bound(l, values).value() <= values[l]) {
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

  /** The linear relaxation of one level, and the cases into which it is split. */
  private static final class Relaxation {

    /** Steps without progress after which a case has converged. */
    private static final int PATIENCE = 480;

    /** Steps before a case may count as converged. */
    private static final int AT_LEAST = 320;

    private static final int MAX_DEPTH = 40;

    private final Instance in;
    private final int level;
    private final int[] pods; // by field
    private final double unit; // chips
    private final long gcd; // of gains at the level, in chips
    private final List<Integer> limits; // by row
    private final int[] earlierRow; // by earlier level: its row, or -1
    private final int baseRows; // before those of a case's path
    private final TreeMap<Long, float[]> sizes; // coefficients of blocks that count, by chips
    private final WindowLp lp;
    private long @Nullable [] heldFor;
    private boolean helps; // whether it ever knew better than arithmetic
    private Case root;
    private final List<Case> leaves = new ArrayList<>();

    /** One case: the relaxation with the counts of its path. */
    private static final class Case {
      final @Nullable Case parent;
      final BranchTree.@Nullable Step step;
      final WindowLp lp;
      final int depth;
      Certificate certificate;
      long[] branchPrices;
      long bound; // exact
      double progress = Double.POSITIVE_INFINITY;
      int steps;
      int stale; // steps without progress
      int sinceEvaluated;
      double tried = Double.POSITIVE_INFINITY; // bounds down to this have been evaluated exactly
      boolean stuck;
      @Nullable Case below;
      @Nullable Case above;

      Case(
          @Nullable Case parent,
          BranchTree.@Nullable Step step,
          WindowLp lp,
          Certificate certificate,
          long[] branchPrices,
          long bound) {
        this.parent = parent;
        this.step = step;
        this.lp = lp;
        this.depth = parent == null ? 0 : parent.depth + 1;
        this.certificate = certificate;
        this.branchPrices = branchPrices;
        this.bound = bound;
      }

      List<BranchTree.Step> path() {
        ArrayDeque<BranchTree.Step> path = new ArrayDeque<>();
        for (Case c = this; c != null && c.step != null; c = c.parent) {
          path.addFirst(c.step);
        }
        return List.copyOf(path);
      }

      BranchTree tree() {
        Case b = below;
        Case a = above;
        if (a == null || b == null || b.step == null) {
          return new BranchTree.Leaf(certificate, branchPrices);
        }
        return new BranchTree.Split(b.step.row(), b.step.atMost(), b.tree(), a.tree());
      }
    }

    private Relaxation(
        Instance in,
        int level,
        int[] pods,
        double unit,
        long gcd,
        List<Integer> limits,
        int[] earlierRow,
        TreeMap<Long, float[]> sizes,
        WindowLp lp) {
      this.in = in;
      this.level = level;
      this.pods = pods;
      this.unit = unit;
      this.gcd = gcd;
      this.limits = limits;
      this.earlierRow = earlierRow;
      this.baseRows = limits.size() + (int) Arrays.stream(earlierRow).filter(r -> r >= 0).count();
      this.sizes = sizes;
      this.lp = lp;
      this.root = wholeProblem();
    }

    private Case wholeProblem() {
      leaves.clear();
      Case whole =
          new Case(
              null,
              null,
              lp,
              new Certificate(level, List.of(), List.of(), new long[level]),
              new long[0],
              Long.MAX_VALUE);
      leaves.add(whole);
      return whole;
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
          key.add(in.goals.mostGain(demand.request()));
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
      List<Demand> ofBlock = new ArrayList<>(); // by block, as the next two
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
      if (builder.candidates() == 0 || builder.sums() > MAX_SUMS) {
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
      // One row for every size at this priority, largest first.
      TreeMap<Long, float[]> sizes = new TreeMap<>(Comparator.reverseOrder());
      for (int b = 0; b < blocks; b++) {
        if (ofBlock.get(b).request().priority() == priority) {
          long chips = choiceOfBlock.get(b).shape().chips();
          sizes.computeIfAbsent(chips, c -> new float[blocks])[b] = 1;
        }
      }
      return new Relaxation(in, level, pods, unit, Math.max(1, gcd), limits, earlierRow, sizes, lp);
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
      long[] held = Arrays.copyOf(values, level);
      if (!Arrays.equals(held, heldFor)) {
        // Bounds depend on the earlier values: start from the whole again, its prices kept.
        heldFor = held;
        for (int j = 0; j < level; j++) {
          if (earlierRow[j] >= 0) {
            lp.limit(earlierRow[j], -values[j] / unit);
          }
        }
        root = wholeProblem();
      }
      Case next = null;
      for (Case leaf : leaves) {
        boolean weaker =
            next == null || leaf.bound > next.bound || leaf.bound == next.bound && leaf.stuck;
        if (leaf.bound > values[level] && weaker) {
          next = leaf;
        }
      }
      if (next == null || next.stuck) {
        return false; // the weakest bound cannot be improved
      }
      if (next.parent == null && next.steps == 0 && !helps && isEven(prover, values)) {
        next.stuck = true;
        return false;
      }
      advance(prover, next, values);
      return true;
    }

    /** Whether one place is so like another that the relaxation knows no better than arithmetic. */
    private boolean isEven(Prover prover, long[] values) {
      double chips = (lp.evenValue() + 0.004) * unit;
      return Math.floor(chips / gcd) * gcd >= prover.bounds.bound(level, values).value();
    }

    private void advance(Prover prover, Case at, long[] values) {
      double goal = values[level] / unit;
      at.lp.goal(goal);
      at.lp.advance();
      at.steps += at.lp.stride();
      at.sinceEvaluated += at.lp.stride();
      WindowLp.Prices prices = at.lp.prices();
      double chips = prices.bound() * unit;
      if (chips < at.progress - 0.02 * gcd) {
        at.progress = chips;
        at.stale = 0;
        Map<Integer, float[]> byPod = new HashMap<>();
        for (int f = 0; f < pods.length; f++) {
          byPod.put(pods[f], prices.cells(f));
        }
        prover.guide = new Guide(byPod);
      } else {
        at.stale += at.lp.stride();
      }
      // What is chosen is nearly feasible: where it earns as much as the bound, that is the
      // optimum.
      boolean converged =
          at.steps >= AT_LEAST
              && (at.stale >= PATIENCE
                  || prices.bound() - at.lp.value() < 0.2 * (prices.bound() - goal)
                      && chips > values[level] + gcd);
      // Exact evaluation costs as much as many steps: only where it may help.
      double floor = Math.floor((chips + 0.004 * unit) / gcd) * gcd;
      if (floor < at.bound
          && floor < at.tried
          && (floor <= values[level] || converged || at.sinceEvaluated >= PATIENCE)) {
        at.tried = floor;
        at.sinceEvaluated = 0;
        evaluate(prover, at, prices, values);
      }
      if (converged && at.bound > values[level]) {
        if (!helps) {
          // Not even the relaxation of the whole knows better than arithmetic: cases will not.
          at.stuck = true;
        } else {
          split(at, prover.mostCases);
        }
      }
    }

    private void evaluate(Prover prover, Case at, WindowLp.Prices prices, long[] values) {
      Certificate certificate = certificate(prices);
      if (at.parent == null) {
        long known = prover.bounds.bound(level, values).value();
        at.certificate = certificate;
        at.bound = Math.min(at.bound, prover.bounds.offer(level, certificate, values));
        helps |= at.bound < known;
        return;
      }
      List<BranchTree.Step> path = at.path();
      long[] branchPrices = new long[path.size()];
      for (int i = 0; i < branchPrices.length; i++) {
        branchPrices[i] = (long) (prices.row(baseRows + i) * unit * Certificate.UNIT);
      }
      long bound = prover.bounds.leaf(certificate, path, branchPrices, values);
      if (bound >= at.bound) {
        return;
      }
      at.bound = bound;
      at.certificate = certificate;
      at.branchPrices = branchPrices;
      long weakest = Long.MIN_VALUE;
      for (Case leaf : leaves) {
        weakest = Math.max(weakest, leaf.bound);
      }
      prover.bounds.offer(level, root.tree(), weakest, values);
    }

    /** Two cases by the number of slices of the largest size that comes in fractions. */
    private void split(Case at, int mostCases) {
      at.stuck = true;
      if (leaves.size() >= mostCases || at.depth >= MAX_DEPTH) {
        return;
      }
      double[] counts = at.lp.counts();
      long size = -1;
      double most = 0.02;
      double count = 0;
      for (Map.Entry<Long, float[]> entry : sizes.entrySet()) {
        double n = 0;
        for (int b = 0; b < counts.length; b++) {
          n += counts[b] * entry.getValue()[b];
        }
        double fraction = Math.min(n - Math.floor(n), Math.ceil(n) - n);
        if (fraction > most) {
          size = entry.getKey();
          count = n;
          most = fraction;
          if (fraction > 0.08) {
            break;
          }
        }
      }
      if (size < 0) {
        return;
      }
      float[] coefficients = sizes.get(size);
      if (coefficients == null) {
        return;
      }
      long atMost = (long) Math.floor(count);
      long priority = in.levels.get(level).priority();
      CountRow row = CountRow.ofChips(size, size).withPriorities(priority, priority);
      Case below =
          child(at, new BranchTree.Step(row, atMost, false), at.lp.fork(), coefficients, atMost);
      float[] negative = coefficients.clone();
      for (int b = 0; b < negative.length; b++) {
        negative[b] = -negative[b];
      }
      Case above =
          child(at, new BranchTree.Step(row, atMost, true), at.lp.fork(), negative, -atMost - 1);
      at.below = below;
      at.above = above;
      leaves.remove(at);
      leaves.add(above);
      leaves.add(below);
    }

    private static Case child(
        Case at, BranchTree.Step step, WindowLp lp, float[] coefficients, long limit) {
      lp.row(coefficients, limit);
      long[] prices = Arrays.copyOf(at.branchPrices, at.branchPrices.length + 1);
      return new Case(at, step, lp, at.certificate, prices, at.bound);
    }

    /** The prices, rounded up to integers. */
    private Certificate certificate(WindowLp.Prices prices) {
      List<CellPrices> cells = new ArrayList<>(pods.length);
      for (int f = 0; f < pods.length; f++) {
        float[] given = prices.cells(f);
        long[] exact = new long[given.length];
        for (int i = 0; i < exact.length; i++) {
          exact[i] = (long) Math.ceil(given[i] * unit * Certificate.UNIT);
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
  }
}
