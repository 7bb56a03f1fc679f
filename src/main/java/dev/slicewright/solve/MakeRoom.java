package dev.slicewright.solve;

import dev.slicewright.CancelToken;
import dev.slicewright.InvalidInputException;
import dev.slicewright.SliceId;
import dev.slicewright.SolveBudget;
import dev.slicewright.cost.Collectives;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.PlanningRules.DisruptionBudget;
import dev.slicewright.request.Spread;
import dev.slicewright.search.Assignment;
import dev.slicewright.search.Demand;
import dev.slicewright.search.Limit;
import dev.slicewright.search.PlacementSearch;
import dev.slicewright.search.PodSpace;
import dev.slicewright.search.RoomSearch;
import dev.slicewright.search.RoomSearch.Runner;
import dev.slicewright.search.RoomSearch.Shift;
import dev.slicewright.search.RoomSearch.Way;
import dev.slicewright.search.Want;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

/**
 * Moves for one admission: {@link RoomSearch} with what the rules allow, and its answer as a plan.
 * A running request of several slices counts as disrupted once for each that moves. Confined to one
 * thread at a time.
 */
final class MakeRoom {

  private static final int MAX_MOVES = 8;

  private final SlicePlanner planner;
  private final Instance in;
  private final SolveBudget budget;
  private final long start;
  private final Stop stop;
  private final List<PodSpace> spaces = new ArrayList<>();
  private final List<Runner> runners = new ArrayList<>();
  private final List<RunningSlice> slices = new ArrayList<>(); // by runner

  MakeRoom(SlicePlanner planner, Instance in, SolveBudget budget, long start) {
    this.planner = planner;
    this.in = in;
    this.budget = budget;
    this.start = start;
    long whole = budget.deadline().toNanos();
    this.stop = new Stop(new CancelToken(), start + whole / 2);
  }

  static void check(int moves) {
    if (moves < 0 || moves > MAX_MOVES) {
      throw new InvalidInputException(
          "planning input",
          "moves",
          "expected 0 to " + MAX_MOVES + ", but was " + moves + "; for more, call plan");
    }
  }

  /** The plan for the one request of the batch. */
  Plan admit(int moves) {
    PlacementSearch search =
        new PlacementSearch(
            in.pods,
            in.demands,
            in.limits,
            in.priorities.length,
            in.rules.now(),
            budget.seed(),
            in.credits);
    search.construct(stop);
    Solution solution = Solution.of(search.assignments());
    Demand demand = in.demands.get(0);
    if (solution.placed().get(0) == null
        && demand.request().slices() == 1
        && moves > 0
        && !in.free.isEmpty()) {
      solution = cleared(demand, moves);
    }
    return planOf(solution);
  }

  /** A plan of moves alone. */
  Plan tidy(int moves) {
    Solution solution = Solution.nothing(in.demands.size()); // room goals are demands, too
    if (moves > 0 && !in.free.isEmpty()) {
      put(solution, search().tidy(moves));
    }
    return planOf(solution);
  }

  private Plan planOf(Solution solution) {
    return new SolveRun(planner, in, budget, new CancelToken(), SlicePlanner.NOBODY, start)
        .planOf(solution, "search");
  }

  private Solution cleared(Demand demand, int moves) {
    RoomSearch search = search();
    for (int c = 0; c < demand.choices().size(); c++) {
      Demand.Choice choice = demand.choices().get(c);
      int[] pods = new int[choice.pods().length];
      int[] wants = new int[pods.length];
      int n = 0;
      for (int p : choice.pods()) {
        if (fits(demand, choice, p)) {
          pods[n] = p;
          wants[n++] =
              spaces
                  .get(p)
                  .register(
                      Want.of(demand.request(), choice.shape(), in.pods.get(p), in.rules.now()));
        }
      }
      Way way =
          search.free(java.util.Arrays.copyOf(pods, n), java.util.Arrays.copyOf(wants, n), moves);
      if (way != null) {
        Solution out = Solution.nothing(in.demands.size());
        out.placed().set(0, new Assignment(c, new int[] {way.pod()}, List.of(way.place())));
        put(out, way.shifts());
        return out;
      }
    }
    return Solution.nothing(in.demands.size());
  }

  /** Whether chips, quotas and reserved capacity allow a choice in a pod. */
  private boolean fits(Demand demand, Demand.Choice choice, int pod) {
    Pod only = in.pods.get(pod);
    if (in.pods.size() == 1 && !only.hasHolds() && choice.shape().chips() > only.freeChips()) {
      return false; // moves within a pod free no chips
    }
    for (int l = 0; l < in.limits.size(); l++) {
      Limit limit = in.limits.get(l);
      long own = in.credits == null ? 0 : in.credits[0][l];
      if (limit.counts(demand.request().tenant(), pod)
          && choice.shape().chips() > limit.room() + own) {
        return false;
      }
    }
    return true;
  }

  private void put(Solution solution, List<Shift> shifts) {
    for (Shift shift : shifts) {
      RunningSlice slice = slices.get(shift.runner());
      solution.moved().put(slice.id(), new Solution.Target(shift.pod(), slice.shape(), shift.to()));
    }
  }

  private RoomSearch search() {
    for (Pod pod : in.pods) {
      spaces.add(PodSpace.of(pod, in.rules.now(), false));
    }
    for (Instance.Free free : in.free) {
      if (!free.permission().move() || !in.keepsSpread(free)) {
        continue;
      }
      long cost = Values.disruption(in, free);
      for (RunningSlice slice : free.slices()) {
        boolean straight =
            free.request().interconnect() == Interconnect.TWISTED && slice.twist().isNone();
        if (!slice.leaving() && !straight) {
          add(free, slice, cost);
        }
      }
    }
    return new RoomSearch(spaces, runners, this::isWithinBudget, stop);
  }

  private void add(Instance.Free free, RunningSlice slice, long cost) {
    int home = in.podOf(slice.pod());
    boolean elsewhere =
        !free.permission().withinPod()
            && in.limits.isEmpty()
            && (free.slices().size() == 1 && free.request().spread().kind() == Spread.Kind.ANY);
    String accelerator = in.pods.get(home).topology().accelerator().name();
    List<Integer> pods = new ArrayList<>();
    List<Integer> wants = new ArrayList<>();
    for (int p = 0; p < in.pods.size(); p++) {
      Pod pod = in.pods.get(p);
      TpuTopology t = pod.topology();
      Shape shape = slice.shape();
      if ((p == home || elsewhere)
          && Instance.matches(free.request(), pod)
          && t.accelerator().name().equals(accelerator)
          && t.isLegal(shape)
          && (slice.twist().isNone() || t.twist(shape).isPresent())
          && Collectives.rank(free.request(), Collectives.shapeOptions(free.request(), t), shape)
              .isPresent()) {
        int want = spaces.get(p).register(Want.of(free.request(), shape, pod, in.rules.now()));
        pods.add(p == home ? 0 : pods.size(), p);
        wants.add(p == home ? 0 : wants.size(), want);
      }
    }
    if (!pods.isEmpty()) {
      runners.add(
          new Runner(
              home,
              slice.footprint(),
              slice.shape().chips(),
              cost,
              pods.stream().mapToInt(Integer::intValue).toArray(),
              wants.stream().mapToInt(Integer::intValue).toArray()));
      slices.add(slice);
    }
  }

  private boolean isWithinBudget(List<Shift> shifts) {
    DisruptionBudget most = in.rules.disruption();
    long seconds = 0;
    Set<String> tenants = new TreeSet<>();
    Set<SliceId> once = new TreeSet<>();
    for (Shift shift : shifts) {
      seconds = Math.addExact(seconds, runners.get(shift.runner()).cost());
      tenants.add(slices.get(shift.runner()).request().tenant());
      once.add(slices.get(shift.runner()).id());
    }
    return once.size() <= most.slices()
        && seconds <= most.chipSeconds()
        && tenants.size() <= most.tenants();
  }
}
