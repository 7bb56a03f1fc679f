package dev.slicewright.solve;

import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Level;
import dev.slicewright.request.PlanningRules.DisruptionBudget;
import dev.slicewright.request.Spread;
import dev.slicewright.search.Assignment;
import dev.slicewright.search.Demand;
import dev.slicewright.search.Demand.Choice;
import dev.slicewright.search.Limit;
import dev.slicewright.search.PlacementSearch;
import dev.slicewright.search.PodSpace;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Places demands where something that runs may have to move or leave for them, at the least cost.
 * Confined to one thread at a time.
 *
 * <p>For each shape and pod all places are listed that would do if all that may go were gone. A
 * place costs what the distinct running requests on it cost that do not go already, level by level;
 * the cheapest is taken. For one slice that is exact where nothing may move: one pass, O(places ×
 * cells of a place). What may move costs its disruption alone at first; places are then tried in
 * the order of their cost until none that is left can be cheaper than one where all that had to
 * move found a place. A slice of whole cubes takes those that are cheapest to clear: cubes that
 * share no running request by sorting, others by weighing all sets of the requests that they share,
 * O(2^shared), joined by dynamic programming over the number of cubes.
 *
 * <p>Many demands go one after the other by priority and size, then by ruin and recreate: some are
 * taken back, with what had to go for them alone, and put where they now cost least. (G. Schrimpf
 * and others, Journal of Computational Physics 159, 2000, doi:10.1006/jcph.1999.6413.)
 */
final class Displacement {

  private static final int CLOSED = -2;
  private static final int NOBODY = -1;

  /** Shared requests of one component of cubes of which all sets are weighed. */
  private static final int MOST_SHARED = 12;

  /** Places at which moves are tried for one slice. */
  private static final int MOST_TRIES = 400;

  /** Cells of listed places that are kept, in all. */
  private static final long MOST_CELLS = 24_000_000;

  private final Instance in;
  private final long seed;
  private final SplittableRandom random;
  private final boolean hopeful; // what may move is taken to find a place
  private final int n; // levels
  private final long[][] unitCost; // by unit, then level
  private final int[][] members; // by unit: the free requests that go together
  private final int[] unitOf; // by free request
  private final int[] active; // levels at which units cost something
  private final double[] roughWeight; // of the first of these, so that their order is kept
  private final double[] roughCost; // by unit
  private final int[] unitCells; // by unit: the cells on which it runs
  private final int[] @Nullable [] unitAt; // by pod and cell, made when first asked
  private final int[] @Nullable [] freeAt; // by pod and cell, made when first asked
  private final Map<Integer, PodSpace> cleared = new HashMap<>();
  private final Map<List<Integer>, Places> placesOf = new HashMap<>(); // by pod and want
  private long cellsKept;

  // The state: who is placed where, and how many of their footprints lie on each unit.
  private final int[] touch;
  private final int[] @Nullable [] placedAt; // by pod and cell: demand + 1
  private final @Nullable Way[] held; // by demand
  private final long[] sum; // the cost of it all, level by level: less is better
  private final List<int[]> groups; // demands that are placed together or not at all
  private final int[] order; // of groups
  private final int[] seen;
  private int stamp;
  private double slack = SLACK;
  private double blink; // share of places that are passed over

  /** The footprints of a want in a pod, all that may go gone. */
  private static final class Places {
    final List<Footprint> footprints = new ArrayList<>();
    final List<int @Nullable []> cells = new ArrayList<>(); // null where not kept
    int[] origins = {}; // cells of boxes on a grid, made when first asked
  }

  /** Where the slices of a demand are. */
  private static final class Way {
    final int choice;
    final List<Spot> spots;

    Way(int choice, List<Spot> spots) {
      this.choice = choice;
      this.spots = spots;
    }

    Assignment assignment() {
      int[] pods = new int[spots.size()];
      List<Footprint> footprints = new ArrayList<>(pods.length);
      for (int s = 0; s < pods.length; s++) {
        pods[s] = spots.get(s).pod;
        footprints.add(spots.get(s).footprint);
      }
      return new Assignment(choice, pods, footprints);
    }
  }

  /** A footprint, and what it costs when it is found. */
  private static final class Spot {
    final int pod;
    final Footprint footprint;
    final int[] cells;
    final long[] cost;

    Spot(int pod, Footprint footprint, int[] cells, long[] cost) {
      this.pod = pod;
      this.footprint = footprint;
      this.cells = cells;
      this.cost = cost;
    }
  }

  Displacement(Instance in, boolean hopeful, long seed) {
    this.in = in;
    this.hopeful = hopeful;
    this.seed = seed;
    this.random = new SplittableRandom(seed);
    this.n = in.levels.size();
    this.unitOf = new int[in.free.size()];
    List<List<Integer>> units = units();
    this.members = new int[units.size()][];
    this.unitCost = new long[units.size()][n];
    boolean[] used = new boolean[n];
    for (int u = 0; u < members.length; u++) {
      members[u] = units.get(u).stream().mapToInt(Integer::intValue).toArray();
      for (int f : members[u]) {
        cost(in.free.get(f), unitCost[u]);
      }
      for (int l = 0; l < n; l++) {
        used[l] |= unitCost[u][l] != 0;
      }
    }
    int count = 0;
    int[] levels = new int[n];
    for (int l = 0; l < n; l++) {
      if (used[l]) {
        levels[count++] = l;
      }
    }
    this.active = Arrays.copyOf(levels, count);
    this.roughWeight = roughWeights();
    this.roughCost = new double[members.length];
    this.unitCells = new int[members.length];
    for (int u = 0; u < members.length; u++) {
      roughCost[u] = rough(unitCost[u], new long[n]);
      for (int f : members[u]) {
        for (RunningSlice slice : in.free.get(f).slices()) {
          unitCells[u] +=
              in.pods.get(in.podOf(slice.pod())).topology().cells(slice.footprint()).length;
        }
      }
    }
    this.unitAt = new int[in.pods.size()][];
    this.freeAt = new int[in.pods.size()][];
    this.placedAt = new int[in.pods.size()][];
    this.touch = new int[members.length];
    this.seen = new int[members.length];
    this.held = new Way[in.demands.size()];
    this.sum = new long[n];
    Map<Integer, List<Integer>> byUnit = new LinkedHashMap<>();
    for (int d = 0; d < in.demands.size(); d++) {
      byUnit.computeIfAbsent(in.demands.get(d).unit(), k -> new ArrayList<>()).add(d);
    }
    this.groups =
        byUnit.values().stream()
            .map(l -> l.stream().mapToInt(Integer::intValue).toArray())
            .toList();
    this.order = order();
  }

  /** Weights of as many active levels as one figure can hold in their order. */
  private double[] roughWeights() {
    double[] totals = new double[active.length];
    for (long[] cost : unitCost) {
      for (int k = 0; k < totals.length; k++) {
        totals[k] += cost[active[k]];
      }
    }
    int used = 0;
    double all = 1;
    while (used < totals.length && all * (totals[used] + 1) <= LARGEST) {
      all *= totals[used++] + 1;
    }
    double[] weights = new double[used];
    double weight = 1;
    for (int k = used - 1; k >= 0; k--) {
      weights[k] = weight;
      weight *= totals[k] + 1;
    }
    return weights;
  }

  /** Whether moves make a difference between hoping for them and not. */
  static boolean anyMayMove(Instance in) {
    return in.free.stream().anyMatch(f -> f.permission().move());
  }

  /** Running requests that go together; sets {@link #unitOf}. */
  private List<List<Integer>> units() {
    Set<String> gangs = new HashSet<>();
    Map<String, Instance.Free> byId = new HashMap<>();
    for (Instance.Free free : in.free) {
      free.request().gang().ifPresent(gangs::add);
      byId.put(free.request().id(), free);
    }
    Set<String> stuck = new HashSet<>();
    for (RunningSlice slice : gangs.isEmpty() ? List.<RunningSlice>of() : in.fleet.running()) {
      String gang = slice.request().gang().orElse(null);
      Instance.Free free = byId.get(slice.id().request());
      if (gang != null && !slice.leaving() && (free == null || !free.permission().evict())) {
        stuck.add(gang);
      }
    }
    List<List<Integer>> units = new ArrayList<>();
    Map<String, Integer> unitOfGang = new HashMap<>();
    for (int f = 0; f < unitOf.length; f++) {
      Instance.Free free = in.free.get(f);
      String gang = free.request().gang().orElse(null);
      if (hopeful && free.permission().move()) {
        unitOf[f] = units.size();
        units.add(new ArrayList<>(List.of(f)));
      } else if (!free.permission().evict() || gang != null && stuck.contains(gang)) {
        unitOf[f] = CLOSED;
      } else {
        Integer known = gang == null ? null : unitOfGang.get(gang);
        if (known == null) {
          known = units.size();
          units.add(new ArrayList<>());
          if (gang != null) {
            unitOfGang.put(gang, known);
          }
        }
        unitOf[f] = known;
        units.get(known).add(f);
      }
    }
    return units;
  }

  private void cost(Instance.Free free, long[] into) {
    boolean stays = hopeful && free.permission().move();
    for (int l = 0; l < n; l++) {
      Level level = in.levels.get(l);
      if (level.kind() == Level.Kind.DISRUPTION) {
        into[l] = Math.addExact(into[l], Values.disruption(in, free));
      } else if (level.kind() == Level.Kind.KEPT
          && level.priority() == free.request().priority()
          && !stays) {
        for (int i = 0; i < free.slices().size(); i++) {
          into[l] = Math.addExact(into[l], free.keptByStaying(i));
        }
      }
    }
  }

  private int[] order() {
    Integer[] sorted = new Integer[groups.size()];
    long[] size = new long[sorted.length];
    int[] priority = new int[sorted.length];
    for (int g = 0; g < sorted.length; g++) {
      sorted[g] = g;
      priority[g] = Integer.MAX_VALUE;
      for (int d : groups.get(g)) {
        size[g] = Math.max(size[g], in.demands.get(d).sliceChips());
        priority[g] = Math.min(priority[g], in.demands.get(d).priorityIndex());
      }
    }
    Arrays.sort(
        sorted,
        Comparator.<Integer>comparingInt(g -> priority[g])
            .thenComparingLong(g -> -size[g])
            .thenComparingInt(g -> g));
    return Arrays.stream(sorted).mapToInt(Integer::intValue).toArray();
  }

  // ---------------------------------------------------------------- one slice

  /**
   * The cheapest plan for one wanted slice; exact, as far as rules that tie victims together and
   * the places to which they could move allow.
   *
   * @return null if there is none
   */
  @Nullable Solution one(BooleanSupplier stop) {
    Demand demand = in.demands.get(0);
    if (!hopeful
        && in.limits.isEmpty()
        && in.rules.disruption().equals(DisruptionBudget.UNLIMITED)
        && in.rules.victims().mostPerTenant() == Long.MAX_VALUE) {
      Way way = cheapest(0);
      held[0] = way;
      Solution solution = way == null ? null : realised();
      held[0] = null;
      return solution;
    }
    List<Way> ways = new ArrayList<>();
    List<Choice> choices = demand.choices();
    for (int c = 0; c < choices.size(); c++) {
      for (int pod : choices.get(c).pods()) {
        int choice = c;
        forEachSpot(demand, c, pod, spot -> ways.add(new Way(choice, List.of(spot))));
      }
    }
    ways.sort((a, b) -> compare(a.spots.get(0).cost, b.spots.get(0).cost));
    Solution best = null;
    long[] bestValues = Values.of(in, Solution.nothing(1));
    long[] none = new long[n];
    int tries = 0;
    for (Way way : ways) {
      long[] cost = way.spots.get(0).cost;
      if (tries >= MOST_TRIES
          || tries > 0 && stop.getAsBoolean()
          || compare(cost, none) >= 0
          || best != null && !mayBeat(cost, bestValues)) {
        break;
      }
      tries++;
      held[0] = way;
      Solution solution = realised();
      held[0] = null;
      if (solution != null) {
        long[] values = Values.of(in, solution);
        if (Values.compare(in.levels, values, bestValues) > 0) {
          best = solution;
          bestValues = values;
        }
      }
    }
    return best;
  }

  /** Whether a place of a cost, at best, gives better values. */
  private boolean mayBeat(long[] cost, long[] values) {
    long[] atBest = Values.of(in, Solution.nothing(in.demands.size()));
    for (int l = 0; l < n; l++) {
      atBest[l] += in.levels.get(l).kind().maximise() ? -cost[l] : cost[l];
    }
    return Values.compare(in.levels, atBest, values) > 0;
  }

  // ---------------------------------------------------------------- many

  /** How many places all demands have in all, one slice each. */
  long candidates() {
    long sum = 0;
    for (Demand demand : in.demands) {
      for (int c = 0; c < demand.choices().size(); c++) {
        for (int pod : demand.choices().get(c).pods()) {
          sum += places(demand, c, pod).footprints.size();
        }
      }
    }
    return sum;
  }

  /** Places what it can, one after the other. */
  void construct(BooleanSupplier stop) {
    for (int g : order) {
      if (stop.getAsBoolean()) {
        return;
      }
      insert(groups.get(g));
    }
  }

  /**
   * Ruin and recreate.
   *
   * @param improved told whenever the best so far has become better
   * @return the rounds done
   */
  long improve(long rounds, BooleanSupplier stop, Consumer<Displacement> improved) {
    long[] best = sum.clone();
    for (long round = 0; round < rounds; round++) {
      if (stop.getAsBoolean()) {
        return round;
      }
      long[] before = sum.clone();
      @Nullable Way[] old = held.clone();
      List<Integer> out = ruin();
      blink = BLINKS[random.nextInt(BLINKS.length)];
      for (int g : out) {
        insert(groups.get(g));
      }
      blink = 0;
      if (!isAccepted(before, best)) {
        restore(old);
      } else if (compare(sum, best) < 0) {
        best = sum.clone();
        improved.accept(this);
      }
    }
    return rounds;
  }

  private static final double[] BLINKS = {0, 0.01, 0.05, 0.2};

  /** A loss up to this share of the best, at the level that decides, is gone along with. */
  private static final double SLACK = 0.01;

  /** The same for a bold search. */
  private static final double BOLD = 0.04;

  /** Goes along with greater losses from now on. */
  void bold() {
    slack = BOLD;
  }

  private boolean isAccepted(long[] before, long[] best) {
    if (compare(sum, before) <= 0) {
      return true;
    }
    for (int l = 0; l < n; l++) {
      if (sum[l] != best[l]) {
        return sum[l] < best[l]
            || in.levels.get(l).kind() != Level.Kind.PLACED
                && sum[l] - best[l] <= slack * Math.max(0, best[l]);
      }
    }
    return true;
  }

  /** Takes some back, and gives the groups to be put again in their new order. */
  private List<Integer> ruin() {
    int most = Math.min(groups.size(), 5);
    int count = 1 + random.nextInt(Math.max(1, most));
    List<Integer> out = new ArrayList<>();
    int first = random.nextInt(groups.size());
    boolean near = random.nextInt(3) > 0;
    Way at = held[groups.get(first)[0]];
    out.add(first);
    for (int tries = 0; out.size() < count && tries < 4 * count; tries++) {
      int g = random.nextInt(groups.size());
      if (near && at != null) {
        // The nearest of some.
        long least = Long.MAX_VALUE;
        for (int k = 0; k < 4; k++) {
          int other = random.nextInt(groups.size());
          Way way = held[groups.get(other)[0]];
          long away = way == null ? Long.MAX_VALUE : distance(at.spots.get(0), way.spots.get(0));
          if (away < least && !out.contains(other)) {
            least = away;
            g = other;
          }
        }
      }
      if (!out.contains(g)) {
        out.add(g);
      }
    }
    for (int d = 0; d < held.length; d++) {
      int group = in.demands.get(d).unit();
      if (held[d] == null && !out.contains(groupAt(group))) {
        out.add(groupAt(group)); // what has no place yet is tried each time
      }
    }
    for (int g : out) {
      remove(groups.get(g));
    }
    double[] key = new double[groups.size()];
    for (int g : out) {
      Demand demand = in.demands.get(groups.get(g)[0]);
      key[g] =
          demand.priorityIndex() * 1e9 - demand.sliceChips() * (0.4 + 1.2 * random.nextDouble());
    }
    out.sort(Comparator.<Integer>comparingDouble(g -> key[g]).thenComparingInt(g -> g));
    return out;
  }

  private int groupAt(int unit) {
    // Groups are in the order of their first demands, as units are numbered.
    return unit < groups.size() && in.demands.get(groups.get(unit)[0]).unit() == unit
        ? unit
        : find(unit);
  }

  private int find(int unit) {
    for (int g = 0; g < groups.size(); g++) {
      if (in.demands.get(groups.get(g)[0]).unit() == unit) {
        return g;
      }
    }
    throw new IllegalStateException("no group of unit " + unit);
  }

  private static long distance(Spot a, Spot b) {
    return a.pod != b.pod ? Integer.MAX_VALUE : Math.abs(a.cells[0] - b.cells[0]);
  }

  private void restore(@Nullable Way[] old) {
    for (int d = 0; d < held.length; d++) {
      if (held[d] != old[d]) {
        take(d, null);
      }
    }
    for (int d = 0; d < held.length; d++) {
      if (held[d] != old[d]) {
        take(d, old[d]);
      }
    }
  }

  private void remove(int[] group) {
    for (int d : group) {
      take(d, null);
    }
  }

  /** Puts a group where it costs least, if it is worth it and the rules allow it. */
  private boolean insert(int[] group) {
    long[] before = sum.clone();
    boolean all = true;
    for (int d : group) {
      Way way = cheapest(d);
      if (way == null) {
        all = false;
        break;
      }
      take(d, way);
    }
    if (all && compare(sum, before) < 0 && withinRules()) {
      return true;
    }
    remove(group);
    return false;
  }

  /** Places a demand, or takes it back, and keeps what that costs. */
  private void take(int d, @Nullable Way way) {
    Way old = held[d];
    if (old != null) {
      own(in.demands.get(d), old, -1);
      old.spots.forEach(spot -> occupy(spot, 0));
    }
    held[d] = way;
    if (way != null) {
      own(in.demands.get(d), way, 1);
      way.spots.forEach(spot -> occupy(spot, d + 1));
    }
  }

  private void own(Demand demand, Way way, int sign) {
    for (Spot spot : way.spots) {
      long[] own = own(demand, way.choice, spot.pod);
      for (int l = 0; l < n; l++) {
        sum[l] += sign * own[l];
      }
    }
  }

  /** What a slice costs itself: less than nothing for the chips that it earns. */
  private long[] own(Demand demand, int choice, int pod) {
    Choice c = demand.choices().get(choice);
    int at = c.placeOf(pod);
    long[] own = new long[n];
    boolean phantom = in.isPhantom(demand);
    for (int l = 0; l < n; l++) {
      Level level = in.levels.get(l);
      boolean wanted = level.priority() == demand.request().priority();
      switch (level.kind()) {
        case PLACED, ROOM -> own[l] = wanted ? -c.gain() : 0;
        case SHAPE_RANK ->
            own[l] = phantom ? 0 : Math.multiplyExact(c.shape().chips(), (long) c.ranks()[at]);
        case PRICE -> own[l] = phantom ? 0 : c.prices()[at];
        case KEPT, DRAIN, DISRUPTION, NEW_HOSTS -> {}
      }
    }
    return own;
  }

  private void occupy(Spot spot, int by) {
    int[] units = unitAt(spot.pod);
    int[] placed = placedAt(spot.pod);
    stamp++;
    for (int cell : spot.cells) {
      placed[cell] = by;
      int u = units[cell];
      if (u < 0 || seen[u] == stamp) {
        continue;
      }
      seen[u] = stamp;
      touch[u] += by == 0 ? -1 : 1;
      if (touch[u] == (by == 0 ? 0 : 1)) {
        for (int l : active) {
          sum[l] += by == 0 ? -unitCost[u][l] : unitCost[u][l];
        }
      }
    }
  }

  /** The cheapest way to place all slices of a demand now; the state is as before. */
  private @Nullable Way cheapest(int d) {
    Demand demand = in.demands.get(d);
    Way best = null;
    long[] bestSum = sum.clone();
    Spread spread = demand.request().spread();
    int slices = demand.request().slices();
    for (int c = 0; c < demand.choices().size(); c++) {
      Choice choice = demand.choices().get(c);
      boolean onePod = slices > 1 && spread.kind() == Spread.Kind.SAME_POD;
      for (int only = 0; only < (onePod ? choice.pods().length : 1); only++) {
        List<Spot> spots = new ArrayList<>(slices);
        int[] inDomain = new int[choice.pods().length];
        for (int s = 0; s < slices; s++) {
          Spot spot = null;
          for (int at = onePod ? only : 0; at < (onePod ? only + 1 : inDomain.length); at++) {
            if (slices == 1 || inDomain[choice.domains()[at]] < most(spread, slices)) {
              spot = cheapest(demand, c, choice.pods()[at], spot);
            }
          }
          if (spot == null) {
            break;
          }
          inDomain[choice.domains()[choice.placeOf(spot.pod)]]++;
          spots.add(spot);
          take(d, new Way(c, List.copyOf(spots)));
        }
        if (spots.size() == slices && (best == null || compare(sum, bestSum) < 0)) {
          best = held[d];
          bestSum = sum.clone();
        }
        take(d, null);
      }
    }
    return best;
  }

  private static int most(Spread spread, int slices) {
    return switch (spread.kind()) {
      case ANY, SAME_POD -> slices;
      case DIFFERENT_PODS -> 1;
      case AT_MOST -> spread.max();
    };
  }

  private @Nullable Spot cheapest(Demand demand, int choice, int pod, @Nullable Spot than) {
    Spot[] best = {than};
    Choice c = demand.choices().get(choice);
    if (in.pods.get(pod).topology().cubesOf(c.shape()) > 0) {
      forEachSpot(
          demand,
          choice,
          pod,
          spot ->
              best[0] = best[0] == null || compare(spot.cost, best[0].cost) < 0 ? spot : best[0]);
      return best[0];
    }
    Places places = places(demand, choice, pod);
    long[] own = own(demand, choice, pod);
    int[] units = unitAt(pod);
    int[] placed = placedAt(pod);
    long[] sums = new long[n];
    long[] least = than == null ? null : than.cost;
    int bestAt = -1;
    int ties = 1;
    double[] atLeast = atLeast(places, pod);
    double most = Double.POSITIVE_INFINITY; // the cost of the best place here
    int first = first(atLeast);
    for (int k = -1; k < places.footprints.size(); k++) {
      int i = k < 0 ? first : k; // what promises most first
      if (i < 0 || k == first) {
        continue;
      }
      if (atLeast.length > 0 && atLeast[i] > most || blink > 0 && random.nextDouble() < blink) {
        continue;
      }
      int[] cells = cells(places, i, pod);
      System.arraycopy(own, 0, sums, 0, n);
      boolean fits = true;
      stamp++;
      for (int cell : cells) {
        if (placed[cell] != 0) {
          fits = false;
          break;
        }
        int u = units[cell];
        if (u == NOBODY) {
          continue;
        }
        if (u == CLOSED) {
          fits = false;
          break;
        }
        if (seen[u] == stamp || touch[u] > 0) {
          continue;
        }
        seen[u] = stamp;
        long[] cost = unitCost[u];
        for (int l : active) {
          sums[l] += cost[l];
        }
        if (least != null && isWorse(sums, least)) {
          fits = false; // and could only grow
          break;
        }
      }
      if (!fits) {
        continue;
      }
      int better = least == null ? -1 : compare(sums, least);
      if (better < 0) {
        least = sums.clone();
        most = rough(least, own);
        bestAt = i;
        ties = 1;
      } else if (better == 0 && blink > 0 && bestAt >= 0 && random.nextInt(++ties) == 0) {
        bestAt = i;
      }
    }
    return bestAt < 0 || least == null
        ? than
        : new Spot(pod, places.footprints.get(bestAt), cells(places, bestAt, pod), least);
  }

  /** Places of fewer cells are walked as quickly. */
  private static final int FEW_CELLS = 12;

  /**
   * By place: a part of its cost at the levels that count most, as each cell bears its share of
   * what runs there; nothing where that does not pay.
   */
  private double[] atLeast(Places places, int pod) {
    TpuTopology t = in.pods.get(pod).topology();
    if (places.footprints.isEmpty()
        || !(t.slicing() instanceof Slicing.TorusBoxes)
        || t.cellCount() > MOST_SUMMED
        || cells(places, 0, pod).length < FEW_CELLS) {
      return NONE;
    }
    int[] units = unitAt(pod);
    int[] placed = placedAt(pod);
    double[] shares = new double[units.length];
    for (int cell = 0; cell < shares.length; cell++) {
      int u = units[cell];
      if (placed[cell] != 0 || u == CLOSED) {
        shares[cell] = TAKEN;
      } else if (u != NOBODY && touch[u] == 0) {
        shares[cell] = Math.floor(roughCost[u] / unitCells[u]);
      }
    }
    return sums(places, pod, shares);
  }

  private static final double[] NONE = {};

  /** The largest cost at the levels that count most, taken together. */
  private static final double LARGEST = 1e11;

  /** More than any cost; whole numbers, so that sums over this many cells are exact. */
  private static final double TAKEN = 4e11;

  private static final int MOST_SUMMED = 20_000;

  private static int first(double[] costs) {
    int at = -1;
    for (int i = 0; i < costs.length; i++) {
      at = costs[i] < TAKEN && (at < 0 || costs[i] < costs[at]) ? i : at;
    }
    return at;
  }

  /** What goes for a place, at the levels that count most, as one figure. */
  private double rough(long[] cost, long[] own) {
    double sum = 0;
    for (int k = 0; k < roughWeight.length; k++) {
      sum += roughWeight[k] * (cost[active[k]] - own[active[k]]);
    }
    return sum;
  }

  private static boolean isWorse(long[] a, long[] b) {
    for (int l = 0; l < a.length; l++) {
      if (a[l] != b[l]) {
        return a[l] > b[l];
      }
    }
    return false;
  }

  // ---------------------------------------------------------------- places

  private int[] unitAt(int pod) {
    int[] at = unitAt[pod];
    if (at == null) {
      at = new int[in.pods.get(pod).topology().cellCount()];
      Arrays.fill(at, NOBODY);
      unitAt[pod] = at;
      for (int f = 0; f < unitOf.length; f++) {
        for (RunningSlice slice : in.free.get(f).slices()) {
          if (in.podOf(slice.pod()) == pod) {
            for (int cell : in.pods.get(pod).topology().cells(slice.footprint())) {
              at[cell] = unitOf[f];
            }
          }
        }
      }
    }
    return at;
  }

  private int[] placedAt(int pod) {
    int[] at = placedAt[pod];
    if (at == null) {
      at = new int[in.pods.get(pod).topology().cellCount()];
      placedAt[pod] = at;
    }
    return at;
  }

  private Places places(Demand demand, int choice, int pod) {
    PodSpace space = cleared.computeIfAbsent(pod, in::cleared);
    int want =
        space.register(
            PlacementSearch.wantOf(
                demand, demand.choices().get(choice), in.pods.get(pod), in.rules.now()));
    return placesOf.computeIfAbsent(
        List.of(pod, want),
        k -> {
          Places places = new Places();
          TpuTopology t = in.pods.get(pod).topology();
          space.forEachCandidate(
              want,
              footprint -> {
                places.footprints.add(footprint);
                int[] cells = cellsKept < MOST_CELLS ? t.cells(footprint) : null;
                cellsKept += cells == null ? 0 : cells.length;
                places.cells.add(cells);
              });
          return places;
        });
  }

  private int[] cells(Places places, int i, int pod) {
    int[] cells = places.cells.get(i);
    return cells != null ? cells : in.pods.get(pod).topology().cells(places.footprints.get(i));
  }

  /** Lists the places of one slice with their costs; of a slice of whole cubes only the best. */
  private void forEachSpot(Demand demand, int choice, int pod, Consumer<Spot> action) {
    Places places = places(demand, choice, pod);
    long[] own = own(demand, choice, pod);
    TpuTopology t = in.pods.get(pod).topology();
    int cubes = t.cubesOf(demand.choices().get(choice).shape());
    if (cubes > 0) {
      Spot spot = cubes(places, pod, cubes, own);
      if (spot != null) {
        action.accept(spot);
      }
      return;
    }
    for (int i = 0; i < places.footprints.size(); i++) {
      int[] cells = cells(places, i, pod);
      long[] cost = own.clone();
      if (add(pod, cells, cost)) {
        action.accept(new Spot(pod, places.footprints.get(i), cells, cost));
      }
    }
  }

  /** Adds what has to go for some cells; false if it cannot. */
  private boolean add(int pod, int[] cells, long[] cost) {
    int[] units = unitAt(pod);
    int[] placed = placedAt(pod);
    stamp++;
    for (int cell : cells) {
      int u = units[cell];
      if (u == CLOSED || placed[cell] != 0) {
        return false;
      }
      if (u != NOBODY && seen[u] != stamp && touch[u] == 0) {
        seen[u] = stamp;
        for (int l : active) {
          cost[l] = Math.addExact(cost[l], unitCost[u][l]);
        }
      }
    }
    return true;
  }

  // ---------------------------------------------------------------- prices

  /** A place, and the sum of the prices of its cells. */
  record Cheapest(double price, int pod, int[] cells) {}

  /** By cell: the free request that runs there, or -1. */
  int[] freeAt(int pod) {
    int[] at = freeAt[pod];
    if (at == null) {
      at = new int[in.pods.get(pod).topology().cellCount()];
      Arrays.fill(at, NOBODY);
      freeAt[pod] = at;
      for (int f = 0; f < unitOf.length; f++) {
        for (RunningSlice slice : in.free.get(f).slices()) {
          if (in.podOf(slice.pod()) == pod) {
            for (int cell : in.pods.get(pod).topology().cells(slice.footprint())) {
              at[cell] = f;
            }
          }
        }
      }
    }
    return at;
  }

  /**
   * The places of a slice of a demand as ranges of cells; of one of whole cubes, the cubes.
   *
   * @return first cell and length of each; null if one is no range
   */
  int @Nullable [][] ranges(Demand demand, int choice, int pod) {
    Places places = places(demand, choice, pod);
    int[][] ranges = new int[places.footprints.size()][];
    for (int i = 0; i < ranges.length; i++) {
      List<int[]> runs = runs(cells(places, i, pod));
      if (runs.size() != 1) {
        return null;
      }
      ranges[i] = runs.get(0);
    }
    return ranges;
  }

  /** Runs of consecutive cells: first and length of each. */
  static List<int[]> runs(int[] cells) {
    int[] sorted = cells.clone();
    Arrays.sort(sorted);
    List<int[]> runs = new ArrayList<>(1);
    for (int i = 0, from = 0; i < sorted.length; i++) {
      if (i + 1 == sorted.length || sorted[i + 1] != sorted[i] + 1) {
        runs.add(new int[] {sorted[from], i + 1 - from});
        from = i + 1;
      }
    }
    return runs;
  }

  /** What is lost by level if a free request leaves. */
  long[] lost(Instance.Free free) {
    long[] lost = new long[n];
    cost(free, lost);
    return lost;
  }

  /** The place of a slice of a demand whose cells have the least sum of prices. */
  @Nullable Cheapest cheapest(Demand demand, double[] @Nullable [] prices) {
    Cheapest best = null;
    for (int c = 0; c < demand.choices().size(); c++) {
      for (int pod : demand.choices().get(c).pods()) {
        double[] own = prices[pod];
        Places places = places(demand, c, pod);
        if (own == null || places.footprints.isEmpty()) {
          continue;
        }
        int cubes = in.pods.get(pod).topology().cubesOf(demand.choices().get(c).shape());
        if (cubes > 0) {
          best = cheaper(best, cheapestCubes(places, pod, cubes, own));
          continue;
        }
        double least = best == null ? Double.POSITIVE_INFINITY : best.price();
        int at = -1;
        double[] sums = sums(places, pod, own);
        for (int i = 0; i < sums.length; i++) {
          double sum = sums[i];
          if (sum < least) {
            least = sum;
            at = i;
          }
        }
        best = at < 0 ? best : new Cheapest(least, pod, cells(places, at, pod));
      }
    }
    return best;
  }

  /** The sum of the prices of each place. */
  private double[] sums(Places places, int pod, double[] prices) {
    double[] sums = new double[places.footprints.size()];
    TpuTopology t = in.pods.get(pod).topology();
    if (!(t.slicing() instanceof Slicing.TorusBoxes)) {
      for (int i = 0; i < sums.length; i++) {
        for (int cell : cells(places, i, pod)) {
          sums[i] += prices[cell];
        }
      }
      return sums;
    }
    // Boxes on a grid: windows that slide along one axis after the other.
    Shape grid = t.cellGrid();
    Shape tile = t.cellTile();
    Shape last = null;
    double[] windows = prices;
    int[] origins = places.origins;
    if (origins.length < sums.length) {
      origins = new int[sums.length];
      for (int i = 0; i < origins.length; i++) {
        origins[i] = t.cellOf(((Footprint.Box) places.footprints.get(i)).origin());
      }
      places.origins = origins;
    }
    for (int i = 0; i < sums.length; i++) {
      Footprint.Box box = (Footprint.Box) places.footprints.get(i);
      Shape e = box.extents();
      if (last == null || !e.equals(last)) {
        last = e;
        int x = Math.max(1, e.x() / tile.x());
        int y = Math.max(1, e.y() / tile.y());
        int z = Math.max(1, e.z() / tile.z());
        windows = slide(prices, grid.x(), 1, x);
        windows = slide(windows, grid.y(), grid.x(), y);
        windows = slide(windows, grid.z(), grid.x() * grid.y(), z);
      }
      sums[i] = windows[origins[i]];
    }
    return sums;
  }

  /** By cell: the sum of it and its followers along one axis, wrapping round. */
  private static double[] slide(double[] of, int size, int apart, int length) {
    if (length == 1) {
      return of;
    }
    double[] out = new double[of.length];
    int block = size * apart;
    for (int base = 0; base < of.length; base += block) {
      for (int j = base; j < base + apart; j++) {
        double sum = 0;
        for (int k = 0; k < length; k++) {
          sum += of[j + k * apart];
        }
        for (int i = 0; i < size; i++) {
          out[j + i * apart] = sum;
          int enters = i + length < size ? i + length : i + length - size;
          sum += of[j + enters * apart] - of[j + i * apart];
        }
      }
    }
    return out;
  }

  private static @Nullable Cheapest cheaper(@Nullable Cheapest a, @Nullable Cheapest b) {
    return a == null || b != null && b.price() < a.price() ? b : a;
  }

  private @Nullable Cheapest cheapestCubes(Places places, int pod, int count, double[] prices) {
    int n0 = places.footprints.size();
    if (n0 < count) {
      return null;
    }
    double[] sum = new double[n0];
    Integer[] order = new Integer[n0];
    for (int i = 0; i < n0; i++) {
      order[i] = i;
      for (int cell : cells(places, i, pod)) {
        sum[i] += prices[cell];
      }
    }
    Arrays.sort(order, Comparator.<Integer>comparingDouble(i -> sum[i]));
    double price = 0;
    int[] all = {};
    for (int k = 0; k < count; k++) {
      price += sum[order[k]];
      int[] more = cells(places, order[k], pod);
      int old = all.length;
      all = Arrays.copyOf(all, old + more.length);
      System.arraycopy(more, 0, all, old, more.length);
    }
    return new Cheapest(price, pod, all);
  }

  // ---------------------------------------------------------------- whole cubes

  /** A cube, and what has to go for it. */
  private static final class Cube {
    final int index;
    final long[] alone; // the cost of what is on no other cube
    final List<Integer> shared = new ArrayList<>();

    Cube(int index, int levels) {
      this.index = index;
      this.alone = new long[levels];
    }
  }

  /** Cubes cleared, and at which cost. */
  private record Clearing(long[] cost, List<Integer> cubes) {}

  private @Nullable Spot cubes(Places places, int pod, int count, long[] own) {
    TpuTopology t = in.pods.get(pod).topology();
    List<Cube> open = open(places, pod);
    if (open.size() < count) {
      return null;
    }
    List<Clearing> best = new ArrayList<>(); // by number of cubes
    best.add(new Clearing(new long[n], List.of()));
    for (List<Cube> part : parts(open)) {
      best = joined(best, clearings(part, count), count);
    }
    if (best.size() <= count) {
      return null;
    }
    Clearing found = best.get(count);
    List<CubeId> ids = found.cubes().stream().sorted().map(CubeId::new).toList();
    Footprint footprint = new Footprint.Cubes(ids);
    return new Spot(pod, footprint, t.cells(footprint), plus(own, found.cost()));
  }

  /** The cubes that could be cleared. */
  private List<Cube> open(Places places, int pod) {
    int size = in.pods.get(pod).topology().hostsPerCube();
    int[] units = unitAt(pod);
    int[] placed = placedAt(pod);
    Map<Integer, Integer> cubesOf = new HashMap<>(); // by unit
    List<List<Integer>> on = new ArrayList<>();
    List<Integer> index = new ArrayList<>();
    for (Footprint f : places.footprints) {
      int cube = ((Footprint.Cubes) f).cubes().get(0).index();
      List<Integer> inside = new ArrayList<>();
      boolean ok = true;
      stamp++;
      for (int cell = cube * size; ok && cell < (cube + 1) * size; cell++) {
        int u = units[cell];
        ok = u != CLOSED && placed[cell] == 0;
        if (u >= 0 && seen[u] != stamp && touch[u] == 0) {
          seen[u] = stamp;
          inside.add(u);
        }
      }
      if (ok) {
        index.add(cube);
        on.add(inside);
        inside.forEach(u -> cubesOf.merge(u, 1, Integer::sum));
      }
    }
    List<Cube> open = new ArrayList<>(index.size());
    for (int i = 0; i < index.size(); i++) {
      Cube cube = new Cube(index.get(i), n);
      for (int u : on.get(i)) {
        if (cubesOf.getOrDefault(u, 0) > 1) {
          cube.shared.add(u);
        } else {
          for (int l : active) {
            cube.alone[l] = Math.addExact(cube.alone[l], unitCost[u][l]);
          }
        }
      }
      open.add(cube);
    }
    return open;
  }

  /** Cubes that share nothing are one part; others by what they share. */
  private static List<List<Cube>> parts(List<Cube> open) {
    List<Cube> apart = new ArrayList<>();
    Map<Integer, List<Cube>> partOf = new LinkedHashMap<>(); // by shared unit
    for (Cube cube : open) {
      if (cube.shared.isEmpty()) {
        apart.add(cube);
        continue;
      }
      List<Cube> own = new ArrayList<>(List.of(cube));
      Set<Integer> units = new HashSet<>(cube.shared);
      for (int u : cube.shared) {
        List<Cube> other = partOf.get(u);
        if (other != null && !own.containsAll(other)) {
          own.addAll(other);
          other.forEach(c -> units.addAll(c.shared));
        }
      }
      units.forEach(u -> partOf.put(u, own));
    }
    List<List<Cube>> parts = new ArrayList<>();
    if (!apart.isEmpty()) {
      parts.add(apart);
    }
    for (List<Cube> part : partOf.values()) {
      if (parts.stream().noneMatch(p -> p == part)) {
        parts.add(part);
      }
    }
    return parts;
  }

  /** By number of cubes of a part: the cheapest clearing. */
  private List<Clearing> clearings(List<Cube> part, int count) {
    List<Cube> sorted = new ArrayList<>(part);
    sorted.sort((a, b) -> compare(a.alone, b.alone));
    List<Integer> shared =
        part.stream().flatMap(c -> c.shared.stream()).distinct().sorted().toList();
    List<Clearing> best = new ArrayList<>();
    if (shared.size() <= MOST_SHARED) {
      for (int set = 0; set < 1 << shared.size(); set++) {
        Set<Integer> gone = new HashSet<>();
        for (int i = 0; i < shared.size(); i++) {
          if ((set >> i & 1) != 0) {
            gone.add(shared.get(i));
          }
        }
        offer(best, sorted, gone, count);
      }
    } else {
      // Too many sets: one after the other, what clears most cubes for its cost.
      Set<Integer> gone = new HashSet<>();
      offer(best, sorted, gone, count);
      while (gone.size() < shared.size() && best.size() <= count) {
        Cube next = null;
        long[] least = null;
        for (Cube cube : sorted) {
          if (!gone.containsAll(cube.shared)) {
            long[] cost = cube.alone;
            for (int u : cube.shared) {
              cost = gone.contains(u) ? cost : plus(cost, unitCost[u]);
            }
            if (least == null || compare(cost, least) < 0) {
              least = cost;
              next = cube;
            }
          }
        }
        if (next == null) {
          break;
        }
        gone.addAll(next.shared);
        offer(best, sorted, gone, count);
      }
    }
    return best;
  }

  private void offer(List<Clearing> best, List<Cube> sorted, Set<Integer> gone, int count) {
    long[] cost = new long[n];
    for (int u : gone) {
      cost = plus(cost, unitCost[u]);
    }
    List<Integer> cubes = new ArrayList<>();
    put(best, 0, cost, cubes);
    for (Cube cube : sorted) {
      if (cubes.size() < count && gone.containsAll(cube.shared)) {
        cost = plus(cost, cube.alone);
        cubes.add(cube.index);
        put(best, cubes.size(), cost, cubes);
      }
    }
  }

  private static void put(List<Clearing> best, int at, long[] cost, List<Integer> cubes) {
    if (best.size() == at) {
      best.add(new Clearing(cost, List.copyOf(cubes)));
    } else if (compare(cost, best.get(at).cost()) < 0) {
      best.set(at, new Clearing(cost, List.copyOf(cubes)));
    }
  }

  private static List<Clearing> joined(List<Clearing> a, List<Clearing> b, int count) {
    int size = Math.min(count, a.size() + b.size() - 2) + 1;
    List<Clearing> out = new ArrayList<>(size);
    for (int k = 0; k < size; k++) {
      long[] least = null;
      int from = 0;
      for (int i = Math.max(0, k - b.size() + 1); i <= Math.min(k, a.size() - 1); i++) {
        long[] cost = plus(a.get(i).cost(), b.get(k - i).cost());
        if (least == null || compare(cost, least) < 0) {
          least = cost;
          from = i;
        }
      }
      List<Integer> cubes = new ArrayList<>(a.get(from).cubes());
      cubes.addAll(b.get(k - from).cubes());
      out.add(new Clearing(least == null ? new long[0] : least, cubes));
    }
    return out;
  }

  private static long[] plus(long[] a, long[] b) {
    long[] sum = new long[a.length];
    for (int l = 0; l < sum.length; l++) {
      sum[l] = Math.addExact(a[l], b[l]);
    }
    return sum;
  }

  private static int compare(long[] a, long[] b) {
    for (int l = 0; l < a.length; l++) {
      int c = Long.compare(a[l], b[l]);
      if (c != 0) {
        return c;
      }
    }
    return 0;
  }

  // ---------------------------------------------------------------- rules

  /** Whether the budget and the limits leave room for what goes and what comes now, at best. */
  private boolean withinRules() {
    DisruptionBudget budget = in.rules.disruption();
    long mostPerTenant = in.rules.victims().mostPerTenant();
    if (in.limits.isEmpty()
        && budget.equals(DisruptionBudget.UNLIMITED)
        && mostPerTenant == Long.MAX_VALUE) {
      return true;
    }
    long[] room = new long[in.limits.size()];
    for (int l = 0; l < room.length; l++) {
      room[l] = in.limits.get(l).room();
    }
    long slices = 0;
    long seconds = 0;
    Set<String> tenants = new HashSet<>();
    Map<String, Integer> victims = new HashMap<>();
    for (int u = 0; u < touch.length; u++) {
      for (int f : touch[u] > 0 ? members[u] : new int[0]) {
        Instance.Free free = in.free.get(f);
        boolean stays = hopeful && free.permission().move();
        slices += stays ? 1 : free.slices().size();
        if (!stays && victims.merge(free.request().tenant(), 1, Integer::sum) > mostPerTenant) {
          return false;
        }
        seconds = Math.addExact(seconds, Values.disruption(in, free));
        tenants.add(free.request().tenant());
        for (int l = 0; l < room.length; l++) {
          for (RunningSlice slice : stays ? List.<RunningSlice>of() : free.slices()) {
            if (in.limits.get(l).counts(free.request().tenant(), in.podOf(slice.pod()))) {
              room[l] += slice.shape().chips();
            }
          }
        }
      }
    }
    if (slices > budget.slices()
        || seconds > budget.chipSeconds()
        || tenants.size() > budget.tenants()) {
      return false;
    }
    for (int d = 0; d < held.length; d++) {
      Way way = held[d];
      if (way == null) {
        continue;
      }
      Demand demand = in.demands.get(d);
      for (int l = 0; l < room.length; l++) {
        for (Spot spot : way.spots) {
          if (in.limits.get(l).counts(demand.request().tenant(), spot.pod)) {
            room[l] -= demand.choices().get(way.choice).shape().chips();
          }
        }
        room[l] += in.credits == null ? 0 : in.credits[d][l];
      }
    }
    return Arrays.stream(room).allMatch(r -> r >= 0);
  }

  /** Whether a solution keeps the disruption budget and every limit. */
  static boolean keepsRules(Instance in, Solution solution) {
    DisruptionBudget budget = in.rules.disruption();
    long slices = solution.moved().size();
    long seconds = 0;
    Set<String> tenants = new TreeSet<>();
    Map<String, Integer> victims = new HashMap<>();
    for (Instance.Free free : in.free) {
      if (solution.evicted().contains(free.request().id())
          && victims.merge(free.request().tenant(), 1, Integer::sum)
              > in.rules.victims().mostPerTenant()) {
        return false;
      }
      slices += solution.evicted().contains(free.request().id()) ? free.slices().size() : 0;
      if (Values.disturbed(free, solution)) {
        seconds = Math.addExact(seconds, Values.disruption(in, free));
        tenants.add(free.request().tenant());
      }
    }
    if (slices > budget.slices()
        || seconds > budget.chipSeconds()
        || tenants.size() > budget.tenants()) {
      return false;
    }
    for (Limit left : Completion.limits(in, solution)) {
      if (left.room() < 0) {
        return false;
      }
    }
    return true;
  }

  // ---------------------------------------------------------------- solutions

  /**
   * What is placed now, with what it displaces moved where that is allowed and there is room, else
   * evicted.
   *
   * @return null if something can neither move nor leave, or a rule forbids it
   */
  @Nullable Solution realised() {
    List<@Nullable Assignment> placed = new ArrayList<>(held.length);
    boolean[] displaced = new boolean[in.free.size()];
    Map<Integer, Set<Integer>> taken = new HashMap<>(); // cells by pod
    for (Way way : held) {
      placed.add(way == null ? null : way.assignment());
      for (Spot spot : way == null ? List.<Spot>of() : way.spots) {
        Set<Integer> cells = taken.computeIfAbsent(spot.pod, p -> new HashSet<>());
        for (int cell : spot.cells) {
          cells.add(cell);
        }
      }
    }
    Map<Instance.Free, List<RunningSlice>> hit = new LinkedHashMap<>();
    for (int f = 0; f < displaced.length; f++) {
      Instance.Free free = in.free.get(f);
      for (RunningSlice slice : free.slices()) {
        int pod = in.podOf(slice.pod());
        Set<Integer> cells = taken.get(pod);
        boolean on = false;
        for (int cell :
            cells == null ? new int[0] : in.pods.get(pod).topology().cells(slice.footprint())) {
          on |= cells != null && cells.contains(cell);
        }
        if (on) {
          hit.computeIfAbsent(free, k -> new ArrayList<>()).add(slice);
        }
      }
    }
    Solution solution = Completion.displaced(in, placed, hit, seed);
    return solution == null || !keepsRules(in, solution) ? null : solution;
  }
}
