package dev.slicewright.solve;

import dev.slicewright.SliceId;
import dev.slicewright.cost.Collectives;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.PlanningRules.DisruptionBudget;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.search.Assignment;
import dev.slicewright.search.Demand;
import dev.slicewright.search.Limit;
import dev.slicewright.search.PlacementSearch;
import dev.slicewright.search.PodSpace;
import dev.slicewright.search.PodSpace.Spot;
import dev.slicewright.search.Want;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Adds to a solution, by search, what it leaves out: moves slices that use failed or drained parts
 * and may move, lets go what is drained, may leave and keeps nothing by staying, and places demands
 * that are not placed. Nothing of the solution is taken back, so the result is never worse.
 *
 * <p>A slice of whole cubes keeps those that work and swaps the others; every other slice goes to
 * the best fit, its own pod first. O(demands × a search for a place).
 */
final class Completion {

  private final Instance in;
  private final Solution from;
  private final PlacementSearch search;
  private final Solution out;

  private Completion(Instance in, Solution from, Set<SliceId> lifted, long seed) {
    this.in = in;
    this.from = from;
    List<Demand> open = new ArrayList<>(in.demands.size());
    Set<Integer> settled = new TreeSet<>();
    for (int d = 0; d < in.demands.size(); d++) {
      if (from.placed().get(d) != null) {
        settled.add(in.demands.get(d).unit());
      }
    }
    for (Demand demand : in.demands) {
      open.add(
          settled.contains(demand.unit())
              ? new Demand(demand.request(), demand.unit(), demand.priorityIndex(), List.of())
              : demand);
    }
    this.search =
        new PlacementSearch(
            in.pods,
            open,
            limits(in, from),
            in.priorities.length,
            in.rules.now(),
            seed,
            in.credits);
    this.out =
        new Solution(
            new ArrayList<>(from.placed()),
            new TreeMap<>(from.moved()),
            new TreeSet<>(from.evicted()));
    occupy(lifted);
  }

  /**
   * Completes a solution.
   *
   * @param repairFirst whether broken slices are moved before demands are placed, or after
   */
  static Solution of(
      Instance in, Solution from, boolean repairFirst, long seed, BooleanSupplier stop) {
    Completion c = new Completion(in, from, Set.of(), seed);
    if (repairFirst) {
      c.repair(stop);
    }
    c.search.construct(stop);
    List<@Nullable Assignment> more = c.search.assignments();
    for (int d = 0; d < more.size(); d++) {
      if (more.get(d) != null) {
        c.out.placed().set(d, more.get(d));
      }
    }
    if (!repairFirst) {
      c.repair(stop);
    }
    return c.out;
  }

  /** Whether there is anything broken that may move, or drained that may move or leave. */
  static boolean hasRepairs(Instance in) {
    for (Instance.Free free : in.free) {
      for (int i = 0; i < free.broken().length; i++) {
        if (free.shouldMove(i) && free.permission().move() || free.drained()[i] > 0) {
          return true;
        }
      }
    }
    return false;
  }

  /** The room of every limit after the solution. */
  static List<Limit> limits(Instance in, Solution from) {
    List<Limit> out = new ArrayList<>(in.limits.size());
    for (int l = 0; l < in.limits.size(); l++) {
      Limit limit = in.limits.get(l);
      long room = limit.room();
      for (int d = 0; d < in.demands.size(); d++) {
        Assignment a = from.placed().get(d);
        Demand demand = in.demands.get(d);
        for (int s = 0; a != null && s < a.pods().length; s++) {
          if (limit.counts(demand.request().tenant(), a.pods()[s])) {
            room -= demand.choices().get(a.choice()).shape().chips();
          }
        }
        room += a != null && in.credits != null ? in.credits[d][l] : 0;
      }
      for (Instance.Free free : in.free) {
        for (RunningSlice slice : free.slices()) {
          Solution.Target to = from.moved().get(slice.id());
          String tenant = free.request().tenant();
          if ((to != null || from.evicted().contains(free.request().id()))
              && limit.counts(tenant, in.podOf(slice.pod()))) {
            room += slice.shape().chips();
          }
          if (to != null && limit.counts(tenant, to.pod())) {
            room -= to.shape().chips();
          }
        }
      }
      out.add(new Limit(limit.tenant(), limit.others(), limit.pods(), room));
    }
    return out;
  }

  /** Puts the solution into the search's pods. */
  private void occupy(Set<SliceId> lifted) {
    for (Instance.Free free : in.free) {
      for (RunningSlice slice : free.slices()) {
        if (from.evicted().contains(free.request().id())
            || from.moved().containsKey(slice.id())
            || lifted.contains(slice.id())) {
          search.space(in.podOf(slice.pod())).setTaken(slice.footprint(), false);
        }
      }
    }
    for (Assignment a : from.placed()) {
      for (int s = 0; a != null && s < a.pods().length; s++) {
        search.space(a.pods()[s]).setTaken(a.footprints().get(s), true);
      }
    }
    for (Solution.Target to : from.moved().values()) {
      search.space(to.pod()).setTaken(to.footprint(), true);
    }
  }

  // ---------------------------------------------------------------- repairs

  private void repair(BooleanSupplier stop) {
    List<Instance.Free> order = new ArrayList<>(in.free);
    order.sort(
        Comparator.comparingLong((Instance.Free f) -> f.request().priority())
            .reversed()
            .thenComparing(f -> f.request().id()));
    for (Instance.Free free : order) {
      if (stop.getAsBoolean()) {
        return;
      }
      if (free.permission().move()
          && !out.evicted().contains(free.request().id())
          && in.keepsSpread(free)) {
        for (int i = 0; i < free.slices().size(); i++) {
          RunningSlice slice = free.slices().get(i);
          boolean fine =
              free.request().interconnect() != Interconnect.TWISTED || !slice.twist().isNone();
          if (free.shouldMove(i)
              && fine
              && !out.moved().containsKey(slice.id())
              && withinBudget(free, 1)) {
            move(free, slice);
          }
        }
      }
      evict(free);
    }
  }

  /** Lets a request go that should leave drained parts and keeps nothing by staying. */
  private void evict(Instance.Free free) {
    boolean drained = false;
    boolean idle = free.permission().evict() && free.request().gang().isEmpty();
    for (int i = 0; idle && i < free.slices().size(); i++) {
      drained |= free.drained()[i] > 0;
      idle = free.keptByStaying(i) == 0 && !out.moved().containsKey(free.slices().get(i).id());
    }
    if (!idle
        || !drained
        || out.evicted().contains(free.request().id())
        || !withinBudget(free, free.slices().size())) {
      return;
    }
    String tenant = free.request().tenant();
    long victims =
        in.free.stream()
            .filter(f -> f.request().tenant().equals(tenant))
            .filter(f -> out.evicted().contains(f.request().id()))
            .count();
    if (victims < in.rules.victims().mostPerTenant()) {
      out.evicted().add(free.request().id());
      for (RunningSlice slice : free.slices()) {
        search.space(in.podOf(slice.pod())).setTaken(slice.footprint(), false);
      }
    }
  }

  /** Whether so many more slices of a request may be disturbed. */
  private boolean withinBudget(Instance.Free next, int more) {
    DisruptionBudget budget = in.rules.disruption();
    long slices = (long) out.moved().size() + more;
    long seconds = 0;
    Set<String> tenants = new TreeSet<>();
    for (Instance.Free free : in.free) {
      boolean gone = out.evicted().contains(free.request().id());
      slices += gone ? free.slices().size() : 0;
      if (free == next || Values.disturbed(free, out)) {
        seconds = Math.addExact(seconds, Values.disruption(in, free));
        tenants.add(free.request().tenant());
      }
    }
    return slices <= budget.slices()
        && seconds <= budget.chipSeconds()
        && tenants.size() <= budget.tenants();
  }

  private void move(Instance.Free free, RunningSlice slice) {
    int home = in.podOf(slice.pod());
    if (slice.footprint() instanceof Footprint.Cubes cubes && swap(free, slice, cubes, home)) {
      return;
    }
    search.space(home).setTaken(slice.footprint(), false);
    if (!relocate(free, slice)) {
      search.space(home).setTaken(slice.footprint(), true);
    }
  }

  /** Finds a place for a slice whose own cells are given back already, and takes it. */
  private boolean relocate(Instance.Free free, RunningSlice slice) {
    int home = in.podOf(slice.pod());
    Spot best = null;
    int bestPod = -1;
    for (int p : pods(free, slice, home)) {
      PodSpace space = search.space(p);
      Spot spot =
          space.find(
              space.register(
                  Want.of(free.request(), slice.shape(), in.pods.get(p), in.rules.now())),
              null);
      if (spot != null && (best == null || bestPod != home && spot.score() < best.score())) {
        best = spot;
        bestPod = p;
      }
    }
    if (best == null) {
      return false;
    }
    search.space(bestPod).take(best);
    put(slice.id(), bestPod, slice.shape(), best.footprint());
    return true;
  }

  // ---------------------------------------------------------------- displaced

  /**
   * A solution that places demands where something runs: what is in the way moves if it may and
   * finds a place, the most important and largest first, and else leaves with its gang.
   *
   * @param placed where demands go
   * @param hit the running requests in the way, each with its slices that are
   * @return null if one can do neither
   */
  static @Nullable Solution displaced(
      Instance in,
      List<@Nullable Assignment> placed,
      Map<Instance.Free, List<RunningSlice>> hit,
      long seed) {
    Solution from = Solution.of(placed);
    Set<SliceId> lifted = new TreeSet<>();
    List<Instance.Free> movers = new ArrayList<>();
    for (Instance.Free free : hit.keySet()) {
      if (!free.permission().move() || !in.keepsSpread(free)) {
        if (!evict(in, free, from.evicted())) {
          return null;
        }
      }
    }
    hit.forEach(
        (free, slices) -> {
          if (!from.evicted().contains(free.request().id())) {
            movers.add(free);
            slices.forEach(slice -> lifted.add(slice.id()));
          }
        });
    if (movers.isEmpty()) {
      return from;
    }
    movers.sort(
        Comparator.comparingLong((Instance.Free f) -> f.request().priority())
            .thenComparingLong(f -> f.slices().get(0).shape().chips())
            .reversed()
            .thenComparing(f -> f.request().id()));
    Completion c = new Completion(in, from, lifted, seed);
    for (Instance.Free free : movers) {
      if (c.out.evicted().contains(free.request().id())) {
        continue; // with its gang
      }
      for (RunningSlice slice : hit.getOrDefault(free, List.of())) {
        boolean fine =
            free.request().interconnect() != Interconnect.TWISTED || !slice.twist().isNone();
        if (!fine || !c.relocate(free, slice)) {
          if (!c.leave(free, lifted)) {
            return null;
          }
          break;
        }
      }
    }
    return c.out;
  }

  /** Evicts a request that was to move, and its gang, and gives their room to others. */
  private boolean leave(Instance.Free free, Set<SliceId> lifted) {
    Set<String> before = new TreeSet<>(out.evicted());
    if (!evict(in, free, out.evicted())) {
      return false;
    }
    for (Instance.Free other : in.free) {
      if (!out.evicted().contains(other.request().id()) || before.contains(other.request().id())) {
        continue;
      }
      for (RunningSlice slice : other.slices()) {
        Solution.Target to = out.moved().remove(slice.id());
        if (to != null) {
          search.space(to.pod()).setTaken(to.footprint(), false);
        } else if (!lifted.contains(slice.id())) {
          search.space(in.podOf(slice.pod())).setTaken(slice.footprint(), false);
        }
      }
    }
    return true;
  }

  /** Adds a request and its running gang to those evicted; false if one of them may not leave. */
  private static boolean evict(Instance in, Instance.Free free, Set<String> evicted) {
    String gang = free.request().gang().orElse(null);
    if (gang == null) {
      if (free.permission().evict()) {
        evicted.add(free.request().id());
      }
      return free.permission().evict();
    }
    Set<String> all = new TreeSet<>();
    for (RunningSlice slice : in.fleet.running()) {
      if (!slice.leaving() && gang.equals(slice.request().gang().orElse(null))) {
        all.add(slice.id().request());
      }
    }
    for (Instance.Free other : in.free) {
      if (other.permission().evict()) {
        all.remove(other.request().id());
      }
    }
    if (!all.isEmpty()) {
      return false;
    }
    for (Instance.Free other : in.free) {
      if (gang.equals(other.request().gang().orElse(null))) {
        evicted.add(other.request().id());
      }
    }
    return true;
  }

  /** Keeps the cubes that work, each in its place, and swaps the others. */
  private boolean swap(Instance.Free free, RunningSlice slice, Footprint.Cubes cubes, int home) {
    Pod pod = in.pods.get(home);
    if (!Instance.matches(free.request(), pod) || !asked(free.request(), slice, pod.topology())) {
      return false;
    }
    PodSpace space = search.space(home);
    int want = space.register(Want.cubeOf(free.request(), pod, in.rules.now()));
    List<CubeId> now = new ArrayList<>();
    List<Spot> taken = new ArrayList<>();
    List<Footprint> left = new ArrayList<>();
    for (CubeId cube : cubes.cubes()) {
      Footprint alone = new Footprint.Cubes(List.of(cube));
      Health health = pod.healthOf(alone);
      // What is created anew may not stand on a cordoned part, not even where it stood before.
      boolean cordoned = pod.cordonedCells().containsAny(pod.topology().cells(alone));
      boolean works =
          health == Health.HEALTHY || health == Health.DEGRADED && !free.request().healthyOnly();
      if (works && !cordoned) {
        now.add(cube);
        continue;
      }
      Spot spot = space.find(want, null);
      if (spot == null) {
        taken.forEach(space::giveBack);
        return false;
      }
      space.take(spot);
      taken.add(spot);
      left.add(alone);
      now.add(((Footprint.Cubes) spot.footprint()).cubes().get(0));
    }
    left.forEach(f -> space.setTaken(f, false));
    put(slice.id(), home, slice.shape(), new Footprint.Cubes(now));
    return true;
  }

  private void put(SliceId id, int pod, Shape shape, Footprint footprint) {
    out.moved().put(id, new Solution.Target(pod, shape, footprint));
  }

  /**
   * The pods to which a slice may go, its own first; other pods only where no tie speaks of them.
   */
  private List<Integer> pods(Instance.Free free, RunningSlice slice, int home) {
    List<Integer> found = new ArrayList<>();
    SliceRequest request = free.request();
    boolean elsewhere =
        !free.permission().withinPod()
            && in.limits.isEmpty()
            && (free.slices().size() == 1 || request.spread().kind() == Spread.Kind.ANY);
    String accelerator = in.pods.get(home).topology().accelerator().name();
    for (int p = 0; p < in.pods.size(); p++) {
      Pod pod = in.pods.get(p);
      TpuTopology t = pod.topology();
      if ((p == home || elsewhere)
          && Instance.matches(request, pod)
          && t.accelerator().name().equals(accelerator)
          && t.isLegal(slice.shape())
          && asked(request, slice, t)
          && (slice.twist().isNone() || t.twist(slice.shape()).isPresent())) {
        found.add(p == home ? 0 : found.size(), p);
      }
    }
    return found;
  }

  /**
   * Whether a slice has a shape that its request still asks for; what runs may have been turned.
   */
  private static boolean asked(SliceRequest request, RunningSlice slice, TpuTopology t) {
    return Collectives.rank(request, Collectives.shapeOptions(request, t), slice.shape())
        .isPresent();
  }
}
