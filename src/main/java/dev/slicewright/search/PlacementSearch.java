package dev.slicewright.search;

import dev.slicewright.fleet.Pod;
import dev.slicewright.request.Spread;
import dev.slicewright.search.Demand.Choice;
import dev.slicewright.search.PodSpace.Spot;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Slicing;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.function.IntPredicate;
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
 * in order of size with a random disturbance, and keeps the result unless it is worse. Values are
 * compared level by level, so a chip of a higher priority is never traded for any number of lower
 * ones. A {@linkplain #warm warm} search also goes on from slightly worse packings.
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
  private final int[] plainOrder; // units by priority, then size
  private final @Nullable Held[] held; // by demand
  private final @Nullable Held[] bestHeld; // the best so far
  private final long[] bestValue; // of bestHeld
  private double warmth; // a loss of so many chips is accepted with probability 1/e
  private final long[] room; // left of each limit
  private final long[] pending; // what a demand under way takes of each limit
  private final long[] value; // placed by priority, then -rank, -price
  private final int[][] kinds; // by demand and choice: where in known
  private final List<Known> known = new ArrayList<>();
  private final int[] changes; // of each pod so far
  private long randomCalls;
  private final int[][] limitsOf; // by demand: those of its tenant that count in all pods
  private final int[][] podLimitsOf; // and those that count in some
  private final int[] classes; // demands of one class are interchangeable
  private final List<Integer> log = new ArrayList<>(); // demands placed since it was cleared
  private final SplittableRandom random;

  private static final int UNKNOWN = -2;

  /**
   * The temperature at which slightly worse packings are accepted, in cells; where cells are small,
   * the lesser of so many chips and of a share of the mean slice. Measured on empty tori of
   * 24x24x24 and 30x17x13 chips, shapes such as 3x5x7, one second: gaps of 0.3 % on average in
   * place of 0.4.
   */
  private static final double WARM_CELLS = 6;

  private static final double WARM_CHIPS = 24;
  private static final double WARM_SHARE = 0.25;

  /** Weights of prices against exposed cells, one drawn each round. */
  private static final double[] WEIGHTS = {0, 1, 4, 16};

  private int[] guided = {}; // pods with prices
  private int @Nullable [] podsInUse; // that some demand could take; made when first asked

  /**
   * What is known of the places for one kind of want, in each pod of a choice. Immutable but for
   * its arrays, which are filled as pods are asked. At first there is only what the pod's figures
   * say is at best to be had, so that a request touches few pods.
   */
  private static final class Known {
    final int[] want; // the space's number of it; UNKNOWN at first
    final double[] score; // of the spot, or at best
    final @Nullable Spot[] spot;
    final int[] asked; // the pod's changes at that time; NEVER at first
    final long[] call; // the random call that found it; 0 if none did

    Known(int n) {
      this.want = new int[n];
      this.score = new double[n];
      this.spot = new Spot[n];
      this.asked = new int[n];
      this.call = new long[n];
      Arrays.fill(want, UNKNOWN);
      Arrays.fill(asked, NEVER);
    }
  }

  private static final int NEVER = -1;

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
    this.bestHeld = new Held[demands.size()];
    this.room = new long[limits.size()];
    for (int i = 0; i < room.length; i++) {
      room[i] = limits.get(i).room();
    }
    this.pending = new long[room.length];
    this.value = new long[priorities + 2];
    this.bestValue = new long[priorities + 2];
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
    this.plainOrder = order(units, this.demands);
    this.changes = new int[pods.size()];
    this.kinds = new int[demands.size()][];
    this.limitsOf = new int[demands.size()][];
    this.podLimitsOf = new int[demands.size()][];
    this.classes = new int[demands.size()];
    Set<String> holders = new HashSet<>();
    for (Pod pod : this.pods) {
      if (pod.hasHolds()) {
        pod.holds().forEach(hold -> holders.add(hold.request()));
      }
    }
    Map<List<Object>, Integer> knownClasses = new HashMap<>();
    Map<List<Object>, Integer> knownKinds = new HashMap<>();
    Map<String, int[][]> byTenant = new HashMap<>();
    for (int d = 0; d < demands.size(); d++) {
      var request = demands.get(d).request();
      String holder = holders.contains(request.id()) ? request.id() : "";
      List<Choice> choices = demands.get(d).choices();
      kinds[d] = new int[choices.size()];
      for (int c = 0; c < kinds[d].length; c++) {
        // Equal choices have the same arrays of pods.
        List<Object> kind =
            List.of(
                choices.get(c),
                request.mayTurn(),
                request.healthyOnly(),
                request.interconnect(),
                holder);
        Integer number = knownKinds.get(kind);
        if (number == null) {
          number = known.size();
          knownKinds.put(kind, number);
          known.add(known(choices.get(c), request.healthyOnly()));
        }
        kinds[d][c] = number;
      }
      int[][] own = byTenant.computeIfAbsent(request.tenant(), this::limitsOf);
      limitsOf[d] = own[0];
      podLimitsOf[d] = own[1];
      List<Object> key = classKey(demands.get(d));
      key.add(holder);
      classes[d] = knownClasses.computeIfAbsent(key, k -> knownClasses.size());
    }
  }

  private Known known(Choice choice, boolean healthyOnly) {
    Known k = new Known(choice.pods().length);
    for (int p = 0; p < k.score.length; p++) {
      k.score[p] = PodSpace.bestCase(pods.get(choice.pods()[p]), choice.shape(), healthyOnly);
    }
    return k;
  }

  /** The limits that count a tenant in all pods, and those that may in some. */
  private int[][] limitsOf(String tenant) {
    int[][] out = new int[2][limits.size()];
    int[] n = new int[2];
    for (int l = 0; l < limits.size(); l++) {
      Limit limit = limits.get(l);
      if (limit.tenant().equals(tenant) != limit.others()) {
        int which = limit.pods() == null ? 0 : 1;
        out[which][n[which]++] = l;
      }
    }
    return new int[][] {Arrays.copyOf(out[0], n[0]), Arrays.copyOf(out[1], n[1])};
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
   * @return its space; changing it changes the search, so ask again for each change
   */
  public PodSpace space(int pod) {
    changes[pod]++; // what is known of it may be out of date
    return own(pod);
  }

  private PodSpace own(int pod) {
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
    return bestValue.clone();
  }

  /**
   * Where every demand goes.
   *
   * @return for each demand its assignment, or null; a new list
   */
  public List<@Nullable Assignment> assignments() {
    List<@Nullable Assignment> out = new ArrayList<>(held.length);
    for (Held h : bestHeld) {
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
    Set<Integer> failed = new HashSet<>();
    for (int unit : plainOrder) {
      if (stop.getAsBoolean()) {
        break;
      }
      tryUnit(unit, null, failed);
    }
    keepBest();
  }

  /** Units by priority, then size. */
  private static int[] order(List<int[]> units, List<Demand> demands) {
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

  /** From now on slightly worse packings are accepted for a while; the best is kept. */
  public void warm() {
    long chips = 0;
    long slices = 0;
    for (Demand demand : demands) {
      chips += demand.chips();
      slices += demand.request().slices();
    }
    double mean = slices == 0 ? 0 : (double) chips / slices;
    warmth =
        Math.max(WARM_CELLS * chipsPerCell(pods, demands), Math.min(WARM_CHIPS, WARM_SHARE * mean));
  }

  /**
   * Improves by ruin and recreate.
   *
   * @param rounds how many rounds at most
   * @param stop asked between rounds; true ends the search early
   * @param improved told after every round that improved the value
   * @return the number of rounds done
   */
  public long improve(long rounds, BooleanSupplier stop, Runnable improved) {
    int[] inUse = podsInUse;
    if (inUse == null) {
      inUse = podsInUse();
      podsInUse = inUse;
    }
    if (inUse.length == 0) {
      return 0;
    }
    for (long round = 0; round < rounds; round++) {
      if (stop.getAsBoolean()) {
        return round;
      }
      long[] before = value.clone();
      log.clear();
      Map<Integer, Held> removed = ruin(inUse);
      double weight = guided.length == 0 ? 0 : WEIGHTS[random.nextInt(WEIGHTS.length)];
      for (int pod : guided) {
        space(pod).follow(weight);
      }
      recreate(removed.keySet());
      int c = compare(value, before);
      if (isOverdrawn() || c < 0 && !isAccepted(before)) {
        undo(removed);
      } else if (compare(value, bestValue) > 0) {
        keepBest();
        improved.run();
      }
    }
    return rounds;
  }

  /**
   * Whether to go on from a slightly worse value all the same: as in simulated annealing at a low,
   * constant temperature, on the lowest priority alone, and never far from the best.
   */
  private boolean isAccepted(long[] before) {
    int last = priorities - 1;
    if (warmth == 0) {
      return false;
    }
    for (int i = 0; i < last; i++) {
      if (value[i] != before[i]) {
        return false;
      }
    }
    if (last < 0 || value[last] >= before[last] || value[last] < bestValue[last] - 12 * warmth) {
      return false;
    }
    return random.nextDouble() < Math.exp((value[last] - before[last]) / warmth);
  }

  private void keepBest() {
    System.arraycopy(value, 0, bestValue, 0, value.length);
    System.arraycopy(held, 0, bestHeld, 0, held.length);
  }

  private static int chipsPerCell(List<Pod> pods, List<Demand> demands) {
    int least = Integer.MAX_VALUE;
    for (Demand demand : demands) {
      for (Choice choice : demand.choices()) {
        for (int pod : choice.pods()) {
          least = Math.min(least, pods.get(pod).topology().chipsPerCell());
        }
      }
    }
    return least == Integer.MAX_VALUE ? 1 : least;
  }

  /**
   * Whether a limit is broken: a demand whose own hold had made room is gone, and others that use
   * this room are not.
   */
  private boolean isOverdrawn() {
    for (int l = 0; credits != null && l < room.length; l++) {
      if (room[l] < Math.min(0, limits.get(l).room())) {
        return true;
      }
    }
    return false;
  }

  /** The pods that units can take; one with a member that has no choice takes none. */
  private int[] podsInUse() {
    boolean[] used = new boolean[pods.size()];
    for (int[] unit : units) {
      boolean movable = true;
      for (int d : unit) {
        movable &= !demands.get(d).choices().isEmpty();
      }
      for (int i = 0; movable && i < unit.length; i++) {
        for (Choice choice : demands.get(unit[i]).choices()) {
          for (int pod : choice.pods()) {
            used[pod] = true;
          }
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

  private Map<Integer, Held> ruin(int[] inUse) {
    Map<Integer, Held> removed = new HashMap<>();
    int pod = inUse[random.nextInt(inUse.length)];
    int second =
        inUse.length > 1 && random.nextInt(2) == 0 ? inUse[random.nextInt(inUse.length)] : pod;
    Predicate<Spot> window = own(pod).window(random);
    Predicate<Spot> other = second == pod ? window : own(second).window(random);
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

  /**
   * Puts back in order of size, disturbed in one of two ways: two kinds of slices change places, or
   * some that were not there before are passed over.
   */
  private void recreate(Set<Integer> removedDemands) {
    boolean skip = random.nextInt(3) == 0;
    List<Integer> waiting = new ArrayList<>();
    for (int unit : plainOrder) {
      int first = units.get(unit)[0];
      if (held[first] == null && !demands.get(first).choices().isEmpty()) {
        waiting.add(unit);
      }
    }
    if (!skip && waiting.size() > 1) {
      swapKinds(waiting);
    }
    Set<Integer> failed = new HashSet<>();
    for (int unit : waiting) {
      if (skip && !removedDemands.contains(units.get(unit)[0]) && random.nextInt(4) == 0) {
        continue;
      }
      tryUnit(unit, random, failed);
    }
  }

  /** All waiting units like one of them go where those like another one are, and the reverse. */
  private void swapKinds(List<Integer> waiting) {
    int one = units.get(waiting.get(random.nextInt(waiting.size())))[0];
    int two = units.get(waiting.get(random.nextInt(waiting.size())))[0];
    int a = classes[one];
    int b = classes[two];
    if (a == b || demands.get(one).priorityIndex() != demands.get(two).priorityIndex()) {
      return;
    }
    List<Integer> ofA = new ArrayList<>();
    List<Integer> ofB = new ArrayList<>();
    for (int unit : waiting) {
      int k = classes[units.get(unit)[0]];
      if (k == a) {
        ofA.add(unit);
      } else if (k == b) {
        ofB.add(unit);
      }
    }
    List<Integer> out = new ArrayList<>(waiting.size());
    boolean aDone = false;
    boolean bDone = false;
    for (int unit : waiting) {
      int k = classes[units.get(unit)[0]];
      if (k == a) {
        if (!aDone) {
          out.addAll(ofB);
          aDone = true;
        }
      } else if (k == b) {
        if (!bDone) {
          out.addAll(ofA);
          bDone = true;
        }
      } else {
        out.add(unit);
      }
    }
    Collections.copy(waiting, out);
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
        take(h.pods[s], h.spots[s]);
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

  private void take(int pod, Spot spot) {
    changes[pod]++;
    own(pod).take(spot);
  }

  private void giveBack(int pod, Spot spot) {
    changes[pod]++;
    own(pod).giveBack(spot);
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
      giveBack(h.pods[s], h.spots[s]);
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

  /**
   * The place in a choice's pods where the best spot is, -1 if there is none. Pods are asked in the
   * order of what is at best to be had there, until no other could be better.
   */
  private int best(int d, int c, IntPredicate allowed, @Nullable SplittableRandom chance) {
    Choice choice = demands.get(d).choices().get(c);
    Known k = known.get(kinds[d][c]);
    while (true) {
      int best = -1;
      boolean sure = false;
      for (int p = 0; p < k.score.length; p++) {
        int pod = choice.pods()[p];
        boolean asked = isAsked(k, p, pod, chance);
        if (k.score[p] == Double.POSITIVE_INFINITY && (asked || isUntouched(k, p, pod))
            || !allowed.test(p)) {
          continue;
        }
        if (!asked && !(isUntouched(k, p, pod) && k.score[p] > Double.NEGATIVE_INFINITY)) {
          ask(d, c, p, chance);
          asked = true;
          if (k.score[p] == Double.POSITIVE_INFINITY) {
            continue;
          }
        }
        if (best < 0 || better(choice, p, k.score[p], best, k.score[best])) {
          best = p;
          sure = asked;
        }
      }
      if (best < 0 || sure) {
        return best;
      }
      ask(d, c, best, chance);
    }
  }

  /** Whether the spot that is known is what asking again would find, or as good. */
  private boolean isAsked(Known k, int p, int pod, @Nullable SplittableRandom chance) {
    return k.asked[p] == changes[pod]
        && k.call[p] == (chance != null && varies(pod) ? randomCalls : 0);
  }

  /** Whether the pod is as its figures say. */
  private boolean isUntouched(Known k, int p, int pod) {
    return k.asked[p] == NEVER && changes[pod] == 0;
  }

  /** Whether chance changes how good a spot is found, and not only which of the best. */
  private boolean varies(int pod) {
    return pods.get(pod).topology().slicing() instanceof Slicing.TorusBoxes;
  }

  private void ask(int d, int c, int p, @Nullable SplittableRandom chance) {
    Known k = known.get(kinds[d][c]);
    int pod = demands.get(d).choices().get(c).pods()[p];
    Spot spot = find(d, c, p, varies(pod) ? chance : null);
    k.spot[p] = spot;
    k.score[p] = spot == null ? Double.POSITIVE_INFINITY : spot.score();
    k.asked[p] = changes[pod];
    k.call[p] = chance != null && varies(pod) ? randomCalls : 0;
  }

  /** The spot to take in a pod that {@link #best} has chosen. */
  private Spot chosen(int d, int c, int p, @Nullable SplittableRandom chance) {
    Spot spot = known.get(kinds[d][c]).spot[p];
    if (chance != null && !varies(demands.get(d).choices().get(c).pods()[p])) {
      spot = find(d, c, p, chance); // as good, but another of the best
    }
    return Objects.requireNonNull(spot);
  }

  private @Nullable Spot find(int d, int c, int at, @Nullable SplittableRandom chance) {
    Demand demand = demands.get(d);
    Choice choice = demand.choices().get(c);
    PodSpace space = own(choice.pods()[at]);
    int[] wants = known.get(kinds[d][c]).want;
    int want = wants[at];
    if (want == UNKNOWN) {
      want = space.register(wantOf(demand, choice, choice.pods()[at]));
      wants[at] = want;
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

  /** Whether the limits that count everywhere leave room. */
  private boolean roomFor(int d, long chips) {
    for (int l : limitsOf[d]) {
      if (room[l] - pending[l] < chips) {
        return false;
      }
    }
    return true;
  }

  /** Whether the limits that count in some pods leave room in one. */
  private boolean roomFor(int d, int pod, long chips) {
    for (int l : podLimitsOf[d]) {
      if (room[l] - pending[l] < chips
          && limits.get(l).counts(demands.get(d).request().tenant(), pod)) {
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
    long chips = choice.shape().chips();
    randomCalls += chance == null ? 0 : 1;
    boolean apart =
        spread.kind() == Spread.Kind.DIFFERENT_PODS || spread.kind() == Spread.Kind.AT_MOST;
    int most = spread.kind() == Spread.Kind.DIFFERENT_PODS ? 1 : spread.max();
    int[] used = new int[apart ? n : 0]; // slices so far in each pod, or in its domain
    int[] pod = new int[slices];
    Spot[] spots = new Spot[slices];
    for (int s = 0; s < slices; s++) {
      int best =
          roomFor(d, chips)
              ? best(
                  d,
                  c,
                  p -> (!apart || used[p] < most) && roomFor(d, choice.pods()[p], chips),
                  chance)
              : -1;
      if (best < 0) {
        giveBack(pod, spots, s);
        return null;
      }
      pod[s] = choice.pods()[best];
      spots[s] = chosen(d, c, best, chance);
      take(pod[s], spots[s]);
      pend(demand, pod[s], chips);
      if (spread.kind() == Spread.Kind.AT_MOST) {
        for (int p = 0; p < n; p++) {
          if (choice.domains()[p] == choice.domains()[best]) {
            used[p]++;
          }
        }
      } else if (apart) {
        used[best]++;
      }
    }
    return new Held(c, pod, spots);
  }

  private static boolean better(Choice choice, int p, double score, int best, double bestScore) {
    int byRank = Integer.compare(choice.ranks()[p], choice.ranks()[best]);
    if (byRank != 0) {
      return byRank < 0;
    }
    int byPrice = Long.compare(choice.prices()[p], choice.prices()[best]);
    return byPrice != 0 ? byPrice < 0 : score < bestScore;
  }

  /** All slices in one pod: the pods in order of their first spot, each tried in full. */
  private @Nullable Held placeTogether(int d, int c, @Nullable SplittableRandom chance) {
    Demand demand = demands.get(d);
    Choice choice = demand.choices().get(c);
    int slices = demand.request().slices();
    long chips = choice.shape().chips() * slices;
    if (!roomFor(d, chips)) {
      return null;
    }
    randomCalls += chance == null ? 0 : 1;
    boolean[] tried = new boolean[choice.pods().length];
    while (true) {
      int best = best(d, c, p -> !tried[p] && roomFor(d, choice.pods()[p], chips), chance);
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
        Spot spot = s == 0 ? chosen(d, c, best, chance) : find(d, c, best, chance);
        if (spot == null) {
          break;
        }
        spots[s] = spot;
        take(pod, spot);
      }
      if (s == slices) {
        return new Held(c, where, spots);
      }
      giveBack(where, spots, s);
    }
  }

  private void giveBack(int[] pod, Spot[] spots, int count) {
    for (int s = 0; s < count; s++) {
      giveBack(pod[s], spots[s]);
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
