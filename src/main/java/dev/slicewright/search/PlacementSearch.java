package dev.slicewright.search;

import dev.slicewright.fleet.Pod;
import dev.slicewright.request.Spread;
import dev.slicewright.search.Demand.Choice;
import dev.slicewright.search.PodSpace.Spot;
import dev.slicewright.topology.Footprint;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Places demands into pods: best fit decreasing, then ruin and recreate. Confined to one thread at
 * a time.
 *
 * <p>Demands go by priority, then by size; each takes the best spot over the pods that match it.
 * Ruin and recreate (G. Schrimpf, J. Schneider, H. Stamm-Wilbrandt, G. Dueck, "Record breaking
 * optimization results using the ruin and recreate principle", Journal of Computational Physics
 * 159, 2000, doi:10.1006/jcph.1999.6413) takes out what lies in a random neighbourhood, puts back
 * in a shuffled order, and keeps the result unless it is worse. Values are compared level by level,
 * so a chip of a higher priority is never traded for any number of lower ones.
 *
 * <p>A gang, and the slices of a request, are placed together or not at all. Equal inputs and seeds
 * give equal results for equal numbers of rounds.
 */
public final class PlacementSearch {

  private final List<Pod> pods;
  private final List<Demand> demands;
  private final List<Limit> limits;
  private final int priorities;
  private final Instant now;
  private final long @Nullable [][] credits;
  private final boolean preferDegraded;
  private final boolean online;
  private final @Nullable PodSpace[] spaces;
  private final List<int[]> units; // demands of each unit
  private final @Nullable Held[] held; // by demand
  private final long[] room; // left of each limit
  private final long[] pending; // what a demand under way takes of each limit
  private final long[] value; // placed by priority, then -rank, -price
  private final int[][][] wants; // by demand, choice, place in the choice's pods; UNKNOWN at first
  private final int[] classes; // demands of one class are interchangeable
  private final List<Integer> log = new ArrayList<>(); // demands placed since it was cleared
  private final SplittableRandom random;

  private static final int UNKNOWN = -2;

  /** Weights of prices against exposed cells, one drawn each round. */
  private static final double[] WEIGHTS = {0, 1, 4, 16};

  private int[] guided = {}; // pods with prices

  /** What a placed demand holds. */
  private static final class Held {
    final int choice;
    final int[] pods;
    final Spot[] spots;

    Held(int choice, int[] pods, Spot[] spots) {
      this.choice = choice;
      this.pods = pods;
      this.spots = spots;
    }
  }

  /**
   * Makes a search in which nothing is placed yet.
   *
   * @param pods the pods, as numbered by the demands
   * @param demands the demands
   * @param limits quotas and reserved capacity
   * @param priorities the number of different priorities wanted
   * @param now the time that decides which holds are live
   * @param seed the seed of every random choice
   * @param credits by demand and limit: the chips of the demand's own live holds, which count until
   *     it is placed; null if there are none
   */
  public PlacementSearch(
      List<Pod> pods,
      List<Demand> demands,
      List<Limit> limits,
      int priorities,
      Instant now,
      long seed,
      long @Nullable [][] credits) {
    this.pods = List.copyOf(pods);
    this.demands = List.copyOf(demands);
    this.limits = List.copyOf(limits);
    this.priorities = priorities;
    this.now = now;
    this.credits = credits;
    boolean strict = false;
    long slices = 0;
    int unitCount = 0;
    for (Demand demand : demands) {
      strict |= demand.request().healthyOnly();
      slices += demand.request().slices();
      unitCount = Math.max(unitCount, demand.unit() + 1);
    }
    this.preferDegraded = strict;
    this.online = slices == 1;
    this.spaces = new PodSpace[pods.size()];
    this.held = new Held[demands.size()];
    this.room = new long[limits.size()];
    for (int i = 0; i < room.length; i++) {
      room[i] = limits.get(i).room();
    }
    this.pending = new long[room.length];
    this.value = new long[priorities + 2];
    this.random = new SplittableRandom(seed);
    int[][] members = new int[unitCount][];
    int[] sizes = new int[unitCount];
    for (Demand demand : demands) {
      sizes[demand.unit()]++;
    }
    for (int u = 0; u < unitCount; u++) {
      members[u] = new int[sizes[u]];
    }
    int[] at = new int[unitCount];
    for (int d = 0; d < demands.size(); d++) {
      int u = demands.get(d).unit();
      members[u][at[u]++] = d;
    }
    this.units = List.of(members);
    this.wants = new int[demands.size()][][];
    this.classes = new int[demands.size()];
    Set<String> holders = new HashSet<>();
    for (Pod pod : this.pods) {
      pod.holds().forEach(hold -> holders.add(hold.request()));
    }
    Map<List<Object>, Integer> known = new HashMap<>();
    for (int d = 0; d < demands.size(); d++) {
      List<Choice> choices = demands.get(d).choices();
      wants[d] = new int[choices.size()][];
      for (int c = 0; c < choices.size(); c++) {
        wants[d][c] = new int[choices.get(c).pods().length];
        Arrays.fill(wants[d][c], UNKNOWN);
      }
      List<Object> key = classKey(demands.get(d));
      key.add(holders.contains(demands.get(d).request().id()) ? demands.get(d).request().id() : "");
      classes[d] = known.computeIfAbsent(key, k -> known.size());
    }
  }

  /**
   * What makes two demands alike: they find the same places and fail alike. Members of gangs are
   * alike only to themselves.
   *
   * @param demand the demand
   * @return a new list that is equal for demands that are alike
   */
  public static List<Object> classKey(Demand demand) {
    List<Object> key = new ArrayList<>();
    var r = demand.request();
    key.add(r.gang().isPresent() ? r.id() : "");
    key.add(r.slices());
    key.add(r.mayTurn());
    key.add(r.healthyOnly());
    key.add(r.interconnect());
    key.add(r.spread());
    key.add(r.tenant());
    key.add(r.pod());
    key.add(r.requiredLabels());
    key.add(r.forbiddenLabels());
    key.add(r.accelerators());
    key.add(r.shapes());
    key.add(r.chips());
    return key;
  }

  /**
   * The free room of a pod, as the search has left it.
   *
   * @param pod the pod's number
   * @return its space; changing it changes the search
   */
  public PodSpace space(int pod) {
    PodSpace space = spaces[pod];
    if (space == null) {
      space = PodSpace.of(pods.get(pod), now, preferDegraded);
      spaces[pod] = space;
    }
    return space;
  }

  /**
   * The value of what is placed: chips by priority, highest first, then minus chips × rank, then
   * minus price. More is better, the first difference decides.
   *
   * @return a copy
   */
  public long[] value() {
    return value.clone();
  }

  /**
   * Where every demand goes.
   *
   * @return for each demand its assignment, or null; a new list
   */
  public List<@Nullable Assignment> assignments() {
    List<@Nullable Assignment> out = new ArrayList<>(held.length);
    for (Held h : held) {
      if (h == null) {
        out.add(null);
        continue;
      }
      List<Footprint> footprints = new ArrayList<>(h.spots.length);
      for (Spot spot : h.spots) {
        footprints.add(spot.footprint());
      }
      out.add(new Assignment(h.choice, h.pods.clone(), footprints));
    }
    return out;
  }

  /**
   * Places what it can: by priority, then by size, then in the order given.
   *
   * @param stop asked between units; true ends the pass early
   */
  public void construct(BooleanSupplier stop) {
    int[] order = order(null);
    Set<Integer> failed = new HashSet<>();
    for (int unit : order) {
      if (stop.getAsBoolean()) {
        return;
      }
      tryUnit(unit, null, failed);
    }
  }

  /** Units by priority, then size; with random, sizes are blurred within a priority. */
  private int[] order(@Nullable SplittableRandom chance) {
    int n = units.size();
    Integer[] order = new Integer[n];
    double[] size = new double[n];
    int[] priority = new int[n];
    for (int u = 0; u < n; u++) {
      order[u] = u;
      priority[u] = Integer.MAX_VALUE;
      for (int d : units.get(u)) {
        Demand demand = demands.get(d);
        priority[u] = Math.min(priority[u], demand.priorityIndex());
        size[u] = Math.max(size[u], demand.sliceChips());
      }
      if (chance != null) {
        size[u] *= 0.5 + chance.nextDouble();
      }
    }
    Arrays.sort(
        order,
        Comparator.<Integer>comparingInt(u -> priority[u])
            .thenComparingDouble(u -> -size[u])
            .thenComparingInt(u -> u));
    return Arrays.stream(order).mapToInt(Integer::intValue).toArray();
  }

  /**
   * Prices of cells, as a linear relaxation has them: in a share of the rounds cheap cells are
   * preferred. Prices of pods of partitions or cubes are not used.
   *
   * @param byPod by pod, a price for each cell; not copied
   */
  public void guide(Map<Integer, float[]> byPod) {
    byPod.forEach((pod, prices) -> space(pod).guide(prices));
    guided = byPod.keySet().stream().mapToInt(Integer::intValue).toArray();
  }

  /**
   * Improves by ruin and recreate.
   *
   * @param rounds how many rounds at most
   * @param stop asked between rounds; true ends the search early
   * @param target stops where this value is reached (compared as {@link #value()}), or null
   * @param improved told after every round that improved the value
   * @return the number of rounds done
   */
  public long improve(
      long rounds, BooleanSupplier stop, long @Nullable [] target, Runnable improved) {
    boolean[] movable = new boolean[units.size()];
    List<Integer> candidates = new ArrayList<>();
    for (int u = 0; u < units.size(); u++) {
      movable[u] = true;
      for (int d : units.get(u)) {
        movable[u] &= !demands.get(d).choices().isEmpty();
      }
      if (movable[u]) {
        candidates.add(u);
      }
    }
    if (candidates.isEmpty()) {
      return 0;
    }
    int[] podsInUse = podsInUse();
    if (podsInUse.length == 0) {
      return 0;
    }
    for (long round = 0; round < rounds; round++) {
      if (stop.getAsBoolean() || target != null && compare(value, target) >= 0) {
        return round;
      }
      long[] before = value.clone();
      log.clear();
      Map<Integer, Held> removed = ruin(podsInUse);
      double weight = guided.length == 0 ? 0 : WEIGHTS[random.nextInt(WEIGHTS.length)];
      for (int pod : guided) {
        space(pod).follow(weight);
      }
      recreate(candidates, removed.keySet());
      int c = compare(value, before);
      if (c < 0) {
        undo(removed);
      } else if (c > 0) {
        improved.run();
      }
    }
    return rounds;
  }

  private int[] podsInUse() {
    boolean[] used = new boolean[pods.size()];
    for (Demand demand : demands) {
      for (Choice choice : demand.choices()) {
        for (int pod : choice.pods()) {
          used[pod] = true;
        }
      }
    }
    int n = 0;
    int[] out = new int[pods.size()];
    for (int p = 0; p < used.length; p++) {
      if (used[p]) {
        out[n++] = p;
      }
    }
    return Arrays.copyOf(out, n);
  }

  private Map<Integer, Held> ruin(int[] podsInUse) {
    Map<Integer, Held> removed = new HashMap<>();
    int pod = podsInUse[random.nextInt(podsInUse.length)];
    int second =
        podsInUse.length > 1 && random.nextInt(2) == 0
            ? podsInUse[random.nextInt(podsInUse.length)]
            : pod;
    Predicate<Spot> window = space(pod).window(random);
    Predicate<Spot> other = second == pod ? window : space(second).window(random);
    for (int u = 0; u < units.size(); u++) {
      boolean hit = false;
      for (int d : units.get(u)) {
        Held h = held[d];
        for (int s = 0; h != null && !hit && s < h.spots.length; s++) {
          hit =
              h.pods[s] == pod && window.test(h.spots[s])
                  || h.pods[s] == second && other.test(h.spots[s]);
        }
      }
      if (hit) {
        for (int d : units.get(u)) {
          Held h = held[d];
          if (h != null) {
            removed.put(d, h);
            release(d);
          }
        }
      }
    }
    return removed;
  }

  private void recreate(List<Integer> candidates, Set<Integer> removedDemands) {
    int mode = random.nextInt(4);
    int[] order = order(mode == 0 ? null : random);
    Set<Integer> failed = new HashSet<>();
    // Half of the time the removed ones go first, so that what was placed comes back.
    boolean skip = mode == 3;
    for (int unit : order) {
      int first = units.get(unit)[0];
      if (held[first] != null || demands.get(first).choices().isEmpty()) {
        continue;
      }
      if (skip && !removedDemands.contains(first) && random.nextInt(4) == 0) {
        continue;
      }
      tryUnit(unit, mode == 0 ? null : random, failed);
    }
  }

  /** All that was placed in this round goes, then what was removed comes back. */
  private void undo(Map<Integer, Held> removed) {
    for (int d : log) {
      if (held[d] != null) {
        release(d);
      }
    }
    for (Map.Entry<Integer, Held> entry : removed.entrySet()) {
      Held h = entry.getValue();
      for (int s = 0; s < h.spots.length; s++) {
        space(h.pods[s]).take(h.spots[s]);
      }
      hold(entry.getKey(), h);
    }
  }

  // ---------------------------------------------------------------- placing

  private boolean tryUnit(int unit, @Nullable SplittableRandom chance, Set<Integer> failed) {
    int[] members = units.get(unit);
    for (int d : members) {
      if (failed.contains(classes[d])) {
        return false;
      }
    }
    for (int i = 0; i < members.length; i++) {
      if (!place(members[i], chance)) {
        if (members.length == 1) {
          failed.add(classes[members[i]]);
        }
        for (int j = 0; j < i; j++) {
          release(members[j]);
        }
        return false;
      }
    }
    for (int d : members) {
      log.add(d);
    }
    return true;
  }

  private boolean place(int d, @Nullable SplittableRandom chance) {
    List<Choice> choices = demands.get(d).choices();
    for (int c = 0; c < choices.size(); c++) {
      Held h = placeChoice(d, c, chance);
      if (h != null) {
        hold(d, h);
        return true;
      }
    }
    return false;
  }

  /** Accounts for a demand whose spots are taken. */
  private void hold(int d, Held h) {
    held[d] = h;
    account(d, h, 1);
  }

  private void release(int d) {
    Held h = held[d];
    if (h == null) {
      return;
    }
    for (int s = 0; s < h.spots.length; s++) {
      space(h.pods[s]).giveBack(h.spots[s]);
    }
    held[d] = null;
    account(d, h, -1);
  }

  private void account(int d, Held h, int sign) {
    Demand demand = demands.get(d);
    Choice choice = demand.choices().get(h.choice);
    long chips = choice.shape().chips();
    value[demand.priorityIndex()] += sign * choice.gain() * h.spots.length;
    for (int l = 0; credits != null && l < room.length; l++) {
      room[l] += sign * credits[d][l];
    }
    for (int pod : h.pods) {
      int at = choice.placeOf(pod);
      value[priorities] -= sign * chips * choice.ranks()[at];
      value[priorities + 1] -= sign * choice.prices()[at];
      for (int l = 0; l < room.length; l++) {
        if (limits.get(l).counts(demand.request().tenant(), pod)) {
          room[l] -= sign * chips;
        }
      }
    }
  }

  private @Nullable Spot find(int d, int c, int at, @Nullable SplittableRandom chance) {
    Demand demand = demands.get(d);
    Choice choice = demand.choices().get(c);
    PodSpace space = space(choice.pods()[at]);
    int want = wants[d][c][at];
    if (want == UNKNOWN) {
      want = space.register(wantOf(demand, choice, choice.pods()[at]));
      wants[d][c][at] = want;
    }
    if (want < 0) {
      return null;
    }
    return online ? space.findOnline(want) : space.find(want, chance);
  }

  /** What a demand looks for in a pod when it takes a choice. */
  private Want wantOf(Demand demand, Choice choice, int pod) {
    return wantOf(demand, choice, pods.get(pod), now);
  }

  /**
   * What a demand looks for in a pod when it takes a choice.
   *
   * @param demand the demand
   * @param choice one of its choices
   * @param pod the pod
   * @param now the time that decides which holds are live
   * @return the want
   */
  public static Want wantOf(Demand demand, Choice choice, Pod pod, Instant now) {
    return Want.of(demand.request(), choice.shape(), pod, now);
  }

  private boolean roomFor(Demand demand, int pod, long chips) {
    for (int l = 0; l < room.length; l++) {
      if (room[l] - pending[l] < chips && limits.get(l).counts(demand.request().tenant(), pod)) {
        return false;
      }
    }
    return true;
  }

  private void pend(Demand demand, int pod, long chips) {
    for (int l = 0; l < room.length; l++) {
      if (limits.get(l).counts(demand.request().tenant(), pod)) {
        pending[l] += chips;
      }
    }
  }

  private @Nullable Held placeChoice(int d, int c, @Nullable SplittableRandom chance) {
    Demand demand = demands.get(d);
    Choice choice = demand.choices().get(c);
    int n = choice.pods().length;
    int slices = demand.request().slices();
    Spread spread = demand.request().spread();
    for (int l = 0; l < pending.length; l++) {
      pending[l] = credits == null ? 0 : -credits[d][l];
    }
    if (spread.kind() == Spread.Kind.SAME_POD && slices > 1) {
      return placeTogether(d, c, chance);
    }
    @Nullable Spot[] cached = new Spot[n];
    boolean[] asked = new boolean[n];
    int[] used = new int[n]; // slices so far in each pod, or in its domain
    int[] pod = new int[slices];
    Spot[] spots = new Spot[slices];
    for (int s = 0; s < slices; s++) {
      int best = -1;
      for (int p = 0; p < n; p++) {
        if (spread.kind() == Spread.Kind.DIFFERENT_PODS && used[p] > 0
            || spread.kind() == Spread.Kind.AT_MOST && used[p] >= spread.max()
            || !roomFor(demand, choice.pods()[p], choice.shape().chips())) {
          continue;
        }
        if (!asked[p]) {
          cached[p] = find(d, c, p, chance);
          asked[p] = true;
        }
        Spot spot = cached[p];
        if (spot != null && (best < 0 || better(choice, p, spot, best, cached[best]))) {
          best = p;
        }
      }
      if (best < 0) {
        giveBack(pod, spots, s);
        return null;
      }
      Spot spot = Objects.requireNonNull(cached[best]);
      pod[s] = choice.pods()[best];
      spots[s] = spot;
      space(pod[s]).take(spot);
      pend(demand, pod[s], choice.shape().chips());
      asked[best] = false;
      if (spread.kind() == Spread.Kind.AT_MOST) {
        for (int p = 0; p < n; p++) {
          if (choice.domains()[p] == choice.domains()[best]) {
            used[p]++;
          }
        }
      } else {
        used[best]++;
      }
    }
    return new Held(c, pod, spots);
  }

  private static boolean better(
      Choice choice, int p, Spot spot, int best, @Nullable Spot bestSpot) {
    int byRank = Integer.compare(choice.ranks()[p], choice.ranks()[best]);
    if (byRank != 0) {
      return byRank < 0;
    }
    int byPrice = Long.compare(choice.prices()[p], choice.prices()[best]);
    return byPrice != 0 ? byPrice < 0 : bestSpot == null || spot.score() < bestSpot.score();
  }

  /** All slices in one pod: the pods in order of their first spot, each tried in full. */
  private @Nullable Held placeTogether(int d, int c, @Nullable SplittableRandom chance) {
    Demand demand = demands.get(d);
    Choice choice = demand.choices().get(c);
    int n = choice.pods().length;
    int slices = demand.request().slices();
    long chips = choice.shape().chips();
    boolean[] tried = new boolean[n];
    @Nullable Spot[] first = new Spot[n];
    for (int p = 0; p < n; p++) {
      first[p] = find(d, c, p, chance);
      tried[p] = first[p] == null || !roomFor(demand, choice.pods()[p], chips * slices);
    }
    while (true) {
      int best = -1;
      for (int p = 0; p < n; p++) {
        Spot spot = first[p];
        if (!tried[p] && spot != null && (best < 0 || better(choice, p, spot, best, first[best]))) {
          best = p;
        }
      }
      if (best < 0) {
        return null;
      }
      tried[best] = true;
      int pod = choice.pods()[best];
      Spot[] spots = new Spot[slices];
      int[] where = new int[slices];
      Arrays.fill(where, pod);
      int s = 0;
      for (; s < slices; s++) {
        Spot spot = s == 0 ? first[best] : find(d, c, best, chance);
        if (spot == null) {
          break;
        }
        spots[s] = spot;
        space(pod).take(spot);
      }
      if (s == slices) {
        return new Held(c, where, spots);
      }
      giveBack(where, spots, s);
    }
  }

  private void giveBack(int[] pod, Spot[] spots, int count) {
    for (int s = 0; s < count; s++) {
      space(pod[s]).giveBack(spots[s]);
    }
  }

  private static int compare(long[] a, long[] b) {
    for (int i = 0; i < a.length; i++) {
      int c = Long.compare(a[i], b[i]);
      if (c != 0) {
        return c;
      }
    }
    return 0;
  }
}
