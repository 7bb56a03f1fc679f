package dev.slicewright.solve;

import dev.slicewright.plan.BoundChecker;
import dev.slicewright.plan.BranchTree;
import dev.slicewright.plan.Certificate;
import dev.slicewright.plan.Certificate.CellPrices;
import dev.slicewright.plan.Certificate.RowKind;
import dev.slicewright.plan.Certificate.RowPrice;
import dev.slicewright.plan.CountedRepairs;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.ObjectiveLevels;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.RoomMoves;
import dev.slicewright.search.Demand;
import dev.slicewright.search.Demand.Choice;
import dev.slicewright.search.PlacementSearch;
import dev.slicewright.search.PodSpace;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CancellationException;
import org.jspecify.annotations.Nullable;

/**
 * Bounds of each level by arithmetic: what is asked for, and certificates with prices of a simple
 * form.
 *
 * <p>For a size s, everything of s chips or more pays one chip a chip: on boxes, on the cells that
 * some box of such a size can cover (coverage); on partitions and cubes, on the row of that size
 * (free partitions of the size, or parcels of cubes). Smaller things pay nothing and count in full.
 * Where sizes divide each other, as on partitions, one of these prices is an optimal dual: the most
 * that fits is the least, over s, of the room in pieces of s plus the demand below s. Quotas may be
 * priced as well. Every price is checked by {@link PlanVerifier#certifiedBound}, whose bound alone
 * counts.
 */
final class Bounds {

  /** A bound and what stands behind it. */
  record Bound(long value, Proof proof) {}

  /** The certificates of a level, and its bound for given values of the earlier ones. */
  private static final class Known {
    final Bound trivial;
    long @Nullable [] earlier; // values for which, up to this level, best and tried hold
    Bound best;
    int tried; // certificates so far
    int evaluated; // certificates that the checker knows: other values cost next to nothing
    long slowestNanos; // of evaluating one
    @Nullable Certificate found; // the best that was offered
    @Nullable Bound cases; // the best that cases gave
    long @Nullable [] treeFor; // values for which they hold
    long leafNanos; // of evaluating one case
    long treeNanos; // of evaluating the best cases
    @Nullable List<Certificate> certificates; // made when the trivial bound does not settle it

    Known(Bound trivial) {
      this.trivial = trivial;
      this.best = trivial;
    }
  }

  private final Map<Integer, Known> known = new HashMap<>();
  private @Nullable BoundChecker checker; // made when first asked
  private long checkerNanos;
  private long slowestNanos; // of one certificate of each level
  private @Nullable Map<Long, Long> wantedChips; // by priority, made when first asked
  private @Nullable Map<Long, Long> keptChips; // the same
  private final Map<CellPrices, CellPrices> interned = new HashMap<>();

  private static final long UNIT = Certificate.UNIT;

  private final Instance in;
  private final Map<Integer, PodSpace> fresh = new HashMap<>();
  private final Map<Long, int[]> podsWanted = new HashMap<>(); // by lowest priority
  private final Map<String, List<RowPrice>> rowCache = new HashMap<>();
  private final Map<String, List<CellPrices>> cellCache = new HashMap<>();
  private final Map<List<Integer>, int[]> coverage = new HashMap<>(); // by pod and want
  private final Stop stop;
  private final long endNanos;
  private volatile long giveUpNanos; // when to leave the evaluation of one certificate

  /**
   * Makes the bounds of a problem.
   *
   * @param in the problem
   * @param stop when nothing more is to be tried
   * @param endNanos by when the plan has to be verified
   */
  Bounds(Instance in, Stop stop, long endNanos) {
    this.in = in;
    this.stop = stop;
    this.endNanos = endNanos;
  }

  /** Most plans need no certificate, and so no checker. */
  private BoundChecker checker() {
    BoundChecker made = checker;
    if (made == null) {
      long since = System.nanoTime();
      made =
          PlanVerifier.boundChecker(
              in.fleet,
              in.requests,
              in.rules,
              in.cost,
              () -> stop.isCancelled() || System.nanoTime() - giveUpNanos >= 0);
      checker = made;
      checkerNanos = System.nanoTime() - since;
    }
    return made;
  }

  /** The verifier will take as long again: half of the time that is left is all there is. */
  private void limit() {
    long now = System.nanoTime();
    giveUpNanos = now + Math.max(0, endNanos - now - verifyNanos()) / 2;
  }

  /** About how long the verifier will take to check one certificate of each level. */
  synchronized long verifyNanos() {
    return checkerNanos + placesNanos + movesNanos + slowestNanos + countNanos;
  }

  private void took(Known k, long nanos, long treeNanos) {
    slowestNanos -= Math.max(k.slowestNanos, k.treeNanos);
    k.slowestNanos = Math.max(k.slowestNanos, nanos);
    k.treeNanos = treeNanos;
    slowestNanos += Math.max(k.slowestNanos, k.treeNanos);
  }

  /**
   * The best bound of a level known by arithmetic. Once it has to stop, only what was evaluated
   * before counts.
   *
   * @param l the level
   * @param values the values held at earlier levels, and this level's own value; kept, so not to be
   *     changed
   */
  synchronized Bound bound(int l, long[] values) {
    Known k = known.computeIfAbsent(l, i -> new Known(trivial(in.levels.get(i))));
    long[] earlier = k.earlier;
    if (earlier == null || earlier != values && !Arrays.equals(earlier, 0, l, values, 0, l)) {
      k.earlier = values;
      k.best = k.trivial;
      k.tried = 0;
      if (k.found != null) {
        Bound again = evaluate(l, values, k.found); // evaluated before, so next to free
        k.best = isBetter(l, again, k.best) ? again : k.best;
      }
      // Cases hold for the values they were made for: a listener may have asked for others since.
      long[] treeFor = k.treeFor;
      Bound cases = k.cases;
      if (cases != null
          && treeFor != null
          && Arrays.equals(treeFor, 0, l, values, 0, l)
          && cases.value() < k.best.value()) {
        k.best = cases;
      }
    }
    CountedRepairs count = counted;
    OptionalLong room =
        count == null || k.best.value() == values[l]
            ? OptionalLong.empty()
            : count.bound(l, values);
    if (room.isPresent()) {
      Bound bound = new Bound(room.getAsLong(), new Proof.Counted());
      k.best = isBetter(l, bound, k.best) ? bound : k.best;
    }
    if (k.best.value() != values[l] && mayEnumerate()) {
      Bound places = enumerated(l, values);
      k.best = isBetter(l, places, k.best) ? places : k.best;
    }
    if (k.certificates == null && k.best.value() != values[l] && !stop.getAsBoolean()) {
      k.certificates = certificates(l);
    }
    List<Certificate> all = k.certificates == null ? List.of() : k.certificates;
    while (k.best.value() != values[l]
        && k.tried < all.size()
        && (k.tried < k.evaluated || !stop.getAsBoolean())) {
      long since = System.nanoTime();
      Bound proved;
      try {
        proved = evaluate(l, values, all.get(k.tried));
      } catch (CancellationException e) {
        k.certificates = List.copyOf(all.subList(0, k.evaluated)); // others would take as long
        break;
      }
      k.best = isBetter(l, proved, k.best) ? proved : k.best;
      k.tried++;
      took(k, System.nanoTime() - since, k.treeNanos);
      k.evaluated = Math.max(k.evaluated, k.tried);
    }
    return k.best;
  }

  /** Whether one slice is wanted and something may go for it. */
  private boolean mayEnumerate() {
    return !in.free.isEmpty() && in.isSingle() && (placesKnown || !stop.getAsBoolean());
  }

  private Bound enumerated(int l, long[] values) {
    long since = System.nanoTime();
    Bound out = trivial(in.levels.get(l));
    try {
      OptionalLong bound = checker().enumeratedBound(l, values);
      if (bound.isPresent()) {
        out = new Bound(bound.getAsLong(), new Proof.Enumerated(checker().places()));
      }
    } catch (ArithmeticException e) {
      // Figures too large for them.
    }
    if (!placesKnown) {
      placesKnown = true;
      placesNanos = System.nanoTime() - since;
    }
    return out;
  }

  /** The ways to make room by moves; null where something else is wanted, or there is no time. */
  synchronized @Nullable RoomMoves roomMoves() {
    if (stop.getAsBoolean()) {
      return null;
    }
    long since = System.nanoTime();
    try {
      return checker().roomMoves();
    } catch (ArithmeticException e) {
      return null;
    } finally {
      movesNanos = Math.max(movesNanos, System.nanoTime() - since);
    }
  }

  /**
   * Takes what a search of all ways has proved.
   *
   * @param l its level
   * @param proved the bound
   * @param values the values held at earlier levels, and this level's own value
   * @param nanos how long it may take the verifier
   */
  synchronized void offer(int l, Bound proved, long[] values, long nanos) {
    if (isBetter(l, proved, bound(l, values))) {
      Known k = Objects.requireNonNull(known.get(l));
      k.best = proved;
      movesNanos += nanos;
    }
  }

  private long movesNanos;
  private boolean placesKnown;
  private long placesNanos;

  /**
   * Takes what counting has shown; before the first bound is asked for.
   *
   * @param value the count
   * @param nanos how long it took, and so will again for the verifier
   */
  synchronized void count(CountedRepairs value, long nanos) {
    counted = value;
    countNanos = nanos;
  }

  private @Nullable CountedRepairs counted;
  private long countNanos;

  /**
   * Takes a certificate that somebody else has found.
   *
   * @param l its level
   * @param certificate the certificate
   * @param values the values held at earlier levels, and this level's own value
   * @return the bound that it proves; the weakest of all if it does not suit this problem
   */
  synchronized long offer(int l, Certificate certificate, long[] values) {
    bound(l, values);
    Known k = Objects.requireNonNull(known.get(l));
    long since = System.nanoTime();
    Bound proved;
    try {
      proved = evaluate(l, values, certificate);
    } catch (CancellationException e) {
      return weakest(l);
    }
    took(k, System.nanoTime() - since, k.treeNanos);
    if (isBetter(l, proved, k.best)) {
      k.best = proved;
      k.found = certificate;
    }
    return proved.value();
  }

  /**
   * Takes cases that somebody else has found, each leaf evaluated by {@link #leaf}.
   *
   * @param l their level
   * @param tree the cases
   * @param bound the weakest bound of a leaf
   * @param values the values held at earlier levels, and this level's own value
   */
  synchronized void offer(int l, BranchTree tree, long bound, long[] values) {
    if (bound < bound(l, values).value()) {
      Known k = Objects.requireNonNull(known.get(l));
      k.best = new Bound(bound, new Proof.Branched(tree));
      k.cases = k.best;
      k.treeFor = values;
      took(k, k.slowestNanos, k.leafNanos * tree.leaves());
    }
  }

  /**
   * The bound of one case.
   *
   * @return the bound; {@link Long#MAX_VALUE} if the prices do not suit this problem, or there is
   *     no time to evaluate them
   */
  synchronized long leaf(
      Certificate certificate, List<BranchTree.Step> path, long[] branchPrices, long[] values) {
    long since = System.nanoTime();
    long bound;
    try {
      BoundChecker made = checker();
      limit();
      bound = made.bound(certificate, path, branchPrices, values);
    } catch (IllegalArgumentException | ArithmeticException | CancellationException e) {
      return Long.MAX_VALUE;
    }
    Known k = known.get(certificate.level());
    if (k != null) {
      k.leafNanos = Math.max(k.leafNanos, System.nanoTime() - since);
    }
    return bound;
  }

  /** The price of a chip in a quota or a reservation, by its number among the limits. */
  static RowPrice limitPrice(Instance in, int limit, long price) {
    int quotas = in.rules.quotas().size();
    boolean quota = limit < quotas;
    return new RowPrice(
        quota ? RowKind.QUOTA : RowKind.RESERVED, "", quota ? limit : limit - quotas, false, price);
  }

  /** The chips that are asked for, by priority. */
  private Map<Long, Long> wanted() {
    Map<Long, Long> sums = wantedChips;
    if (sums == null) {
      sums = new HashMap<>();
      for (Demand demand : in.demands) {
        long chips =
            Math.multiplyExact(
                in.goals.mostGain(demand.request()), (long) demand.request().slices());
        sums.merge(demand.request().priority(), chips, Math::addExact);
      }
      wantedChips = sums;
    }
    return sums;
  }

  /** The most chips that can be kept, by priority. */
  private Map<Long, Long> kept() {
    Map<Long, Long> sums = keptChips;
    if (sums == null) {
      sums = new HashMap<>(in.pinnedKept);
      for (Instance.Free free : in.free) {
        for (int i = 0; i < free.slices().size(); i++) {
          if (free.keptByStaying(i) > 0 || free.permission().move()) {
            long chips = ObjectiveLevels.counted(free.request(), free.slices().get(i).shape());
            sums.merge(free.request().priority(), chips, Math::addExact);
          }
        }
      }
      keptChips = sums;
    }
    return sums;
  }

  private Bound trivial(Level level) {
    long sum = 0;
    if (level.kind() == Level.Kind.DRAIN) {
      sum = in.pinnedDrained;
    } else if (level.kind() == Level.Kind.PLACED || level.kind() == Level.Kind.ROOM) {
      sum = wanted().getOrDefault(level.priority(), 0L);
    } else if (level.kind() == Level.Kind.KEPT) {
      sum = kept().getOrDefault(level.priority(), 0L);
    }
    return new Bound(sum, new Proof.Trivial());
  }

  private boolean isBetter(int l, Bound one, Bound other) {
    return in.levels.get(l).kind().maximise()
        ? one.value() < other.value()
        : one.value() > other.value();
  }

  private long weakest(int l) {
    return in.levels.get(l).kind().maximise() ? Long.MAX_VALUE : Long.MIN_VALUE;
  }

  /**
   * The bound of a certificate; the weakest of all if it does not suit this problem.
   *
   * @throws CancellationException if it takes too long
   */
  private Bound evaluate(int l, long[] values, Certificate certificate) {
    long value;
    try {
      BoundChecker made = checker();
      limit();
      value = made.bound(certificate, values);
    } catch (IllegalArgumentException | ArithmeticException e) {
      // Prices that do not suit this pod, or figures too large for them.
      value = weakest(l);
    }
    return new Bound(value, new Proof.Certified(certificate));
  }

  // ---------------------------------------------------------------- placed chips

  private List<Certificate> certificates(int l) {
    Level level = in.levels.get(l);
    if (level.kind() == Level.Kind.PRICE) {
      return List.of(cheapest(l), forced(l));
    }
    if (level.kind() == Level.Kind.SHAPE_RANK) {
      return List.of(forced(l));
    }
    if ((level.kind() == Level.Kind.KEPT || level.kind() == Level.Kind.DRAIN)
        && !in.free.isEmpty()) {
      // Without prices: what has no place to which it could move.
      return List.of(new Certificate(l, List.of(), List.of(), new long[l]));
    }
    if (level.kind() != Level.Kind.PLACED && level.kind() != Level.Kind.ROOM) {
      return List.of();
    }
    long priority = level.priority();
    TreeSet<Long> sizes = new TreeSet<>();
    boolean strict = false;
    for (Demand demand : in.demands) {
      if (demand.request().priority() >= priority) {
        demand.choices().forEach(c -> sizes.add(c.shape().chips()));
        strict |= demand.request().healthyOnly();
      }
    }
    Set<Certificate> out = new LinkedHashSet<>();
    long[] held = held(l);
    // Without prices on room first: that nothing has a place, or a quota alone binds.
    for (List<RowPrice> rule : rulePrices(priority, Long.MAX_VALUE)) {
      out.add(new Certificate(l, List.of(), rule, rule.isEmpty() ? new long[l] : held));
    }
    for (long size : sizes) {
      if (stop.getAsBoolean()) {
        break;
      }
      for (int healthy = 0; healthy < (strict ? 2 : 1); healthy++) {
        List<RowPrice> rows = rows(size, priority, healthy == 1);
        List<CellPrices> cells = healthy == 1 ? List.of() : cells(size, priority);
        if (rows.isEmpty() && cells.isEmpty()) {
          continue;
        }
        for (List<RowPrice> rule : rulePrices(priority, size)) {
          List<RowPrice> all = new ArrayList<>(rows);
          all.addAll(rule);
          out.add(new Certificate(l, cells, all, held));
        }
      }
    }
    return List.copyOf(out);
  }

  /** A chip of an earlier level is worth a chip. */
  private long[] held(int l) {
    long[] q = new long[l];
    for (int j = 0; j < l; j++) {
      Level.Kind kind = in.levels.get(j).kind();
      q[j] = kind == Level.Kind.PLACED || kind == Level.Kind.KEPT && !in.free.isEmpty() ? UNIT : 0;
    }
    return q;
  }

  /**
   * Prices on quotas and reservations, to go with one chip a chip on what is of a size or more.
   *
   * <p>Where each chip counts in one quota, the best: a quota pays where its demand below the size
   * passes its room, and not elsewhere. (Sizes that divide each other on one side and tenants on
   * the other are two laminar families of rows, so that optimal prices are 0 or 1.) Where there are
   * few rules, also each alone and all that bind, since rules may overlap.
   */
  private List<List<RowPrice>> rulePrices(long priority, long size) {
    List<RowPrice> fit = new ArrayList<>();
    List<RowPrice> all = new ArrayList<>();
    for (int i = 0; i < in.limits.size(); i++) {
      long wanted = 0;
      long below = 0;
      for (Demand demand : in.demands) {
        for (Choice choice : demand.choices()) {
          if (demand.request().priority() >= priority
              && choice.pods().length > 0
              && in.limits.get(i).counts(demand.request().tenant(), choice.pods()[0])) {
            wanted += demand.chips();
            below += demand.sliceChips() < size ? demand.chips() : 0;
            break;
          }
        }
      }
      RowPrice price = limitPrice(in, i, UNIT);
      if (wanted > in.limits.get(i).room()) {
        all.add(price);
      }
      if (below > in.limits.get(i).room()) {
        fit.add(price);
      }
    }
    Set<List<RowPrice>> out = new LinkedHashSet<>();
    out.add(List.copyOf(fit));
    out.add(List.of());
    if (all.size() <= MAX_RULES_APART) {
      all.forEach(price -> out.add(List.of(price)));
    }
    out.add(List.copyOf(all));
    return List.copyOf(out);
  }

  private static final int MAX_RULES_APART = 4;

  /** One chip a chip on the rows of a size, in every pod of partitions or cubes. */
  private List<RowPrice> rows(long size, long priority, boolean healthyOnly) {
    return rowCache.computeIfAbsent(
        size + "/" + priority + "/" + healthyOnly,
        key -> {
          List<RowPrice> rows = new ArrayList<>();
          for (int p : podsWanted(priority)) {
            TpuTopology t = in.pods.get(p).topology();
            if (t.slicing() instanceof Slicing.TorusBoxes) {
              continue;
            }
            String pod = in.pods.get(p).id();
            if (t.isOptical() && size >= 64) {
              int parcel = (int) Math.min(TpuTopology.MAX_CUBES, (size + 63) / 64);
              rows.add(new RowPrice(RowKind.POOL, pod, parcel, healthyOnly, 64L * parcel * UNIT));
            } else {
              int cells = (int) Math.max(1, size / t.chipsPerCell());
              rows.add(
                  new RowPrice(RowKind.TREE, pod, cells, healthyOnly, t.chipsPerCell() * UNIT));
            }
          }
          return rows;
        });
  }

  /** One chip a chip on the cells that something of a size or more can cover, in pods of boxes. */
  private List<CellPrices> cells(long size, long priority) {
    return cellCache.computeIfAbsent(
        size + "/" + priority,
        key -> {
          Map<Integer, long[]> byPod = new TreeMap<>();
          Map<Integer, Set<Integer>> seen = new HashMap<>(); // by pod: wants
          List<Set<Choice>> same = // for those that mind degraded parts, and others
              List.of(
                  Collections.newSetFromMap(new IdentityHashMap<>()),
                  Collections.newSetFromMap(new IdentityHashMap<>()));
          for (Demand demand : in.demands) {
            if (demand.request().priority() < priority) {
              continue;
            }
            boolean holds = !in.fleet.holdsOf(demand.request().id()).isEmpty();
            for (Choice choice : demand.choices()) {
              if (choice.shape().chips() < size
                  || !holds && !same.get(demand.request().healthyOnly() ? 1 : 0).add(choice)) {
                continue;
              }
              for (int p : choice.pods()) {
                if (stop.getAsBoolean()) {
                  return List.of();
                }
                TpuTopology t = in.pods.get(p).topology();
                boolean inCubes = t.slicing() instanceof Slicing.OpticalCubes o && o.boxesInCube();
                if (!(t.slicing() instanceof Slicing.TorusBoxes) || inCubes) {
                  continue;
                }
                long[] prices = byPod.computeIfAbsent(p, q -> new long[t.cellCount()]);
                PodSpace space = space(p);
                int want =
                    space.register(
                        PlacementSearch.wantOf(demand, choice, in.pods.get(p), in.rules.now()));
                if (seen.computeIfAbsent(p, q -> new HashSet<>()).add(want)) {
                  for (int cell : covered(p, want)) {
                    prices[cell] = t.chipsPerCell() * UNIT;
                  }
                }
              }
            }
          }
          List<CellPrices> out = new ArrayList<>();
          byPod.forEach(
              (p, prices) -> {
                // One object for equal prices: the checker knows them again.
                CellPrices made = new CellPrices(in.pods.get(p).id(), prices);
                out.add(interned.computeIfAbsent(made, m -> m));
              });
          return out;
        });
  }

  private int[] covered(int pod, int want) {
    return coverage.computeIfAbsent(List.of(pod, want), key -> space(pod).coverage(want).toArray());
  }

  /** The pod as it would be if all that may leave had left, nothing of this batch placed. */
  private PodSpace space(int p) {
    return fresh.computeIfAbsent(p, in::cleared);
  }

  private int[] podsWanted(long priority) {
    return podsWanted.computeIfAbsent(
        priority,
        key -> {
          Set<Choice> seen = Collections.newSetFromMap(new IdentityHashMap<>());
          BitSet pods = new BitSet(in.pods.size());
          for (Demand demand : in.demands) {
            if (demand.request().priority() < priority) {
              continue;
            }
            for (Choice choice : demand.choices()) {
              // Requests that could be served alike share their choices.
              for (int p : seen.add(choice) ? choice.pods() : NOWHERE) {
                pods.set(p);
              }
            }
          }
          return pods.stream().toArray();
        });
  }

  private static final int[] NOWHERE = {};

  // ---------------------------------------------------------------- price

  /** Every chip placed costs at least the cheapest price that its priority could get. */
  private Certificate cheapest(int l) {
    long[] q = new long[l];
    for (int j = 0; j < l; j++) {
      Level level = in.levels.get(j);
      if (level.kind() != Level.Kind.PLACED) {
        continue;
      }
      long least = Long.MAX_VALUE;
      for (Demand demand : in.demands) {
        if (demand.request().priority() == level.priority()) {
          for (Choice choice : demand.choices()) {
            for (long price : choice.prices()) {
              least = Math.min(least, price / Math.max(1, choice.gain()));
            }
          }
        }
      }
      if (least == Long.MAX_VALUE || least > Long.MAX_VALUE / UNIT / 4) {
        continue;
      }
      q[j] = least * UNIT;
    }
    return new Certificate(l, List.of(), List.of(), q);
  }

  /**
   * Chips placed are worth so much that nothing stays unplaced for its price or rank: exact where
   * all that has a place is placed.
   */
  private Certificate forced(int l) {
    boolean byRank = in.levels.get(l).kind() == Level.Kind.SHAPE_RANK;
    long most = 0;
    for (Demand demand : in.demands) {
      for (Choice choice : demand.choices()) {
        for (int at = 0; at < choice.pods().length; at++) {
          long cost = byRank ? choice.shape().chips() * choice.ranks()[at] : choice.prices()[at];
          most = Math.max(most, cost / Math.max(1, choice.gain()) + 1);
        }
      }
    }
    long[] q = new long[l];
    if (most > Long.MAX_VALUE / UNIT / 4) {
      return new Certificate(l, List.of(), List.of(), q);
    }
    for (int j = 0; j < l; j++) {
      q[j] = in.levels.get(j).kind() == Level.Kind.PLACED ? most * UNIT : 0;
    }
    return new Certificate(l, List.of(), List.of(), q);
  }
}
