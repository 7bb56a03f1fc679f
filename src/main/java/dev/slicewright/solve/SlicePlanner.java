package dev.slicewright.solve;

import dev.slicewright.CancelToken;
import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.SolveBudget;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.formulation.DiscoveredFormulations;
import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.ProcessFormulation;
import dev.slicewright.formulation.ortools.CpSatFormulation;
import dev.slicewright.formulation.ortools.CpSatIntervalsFormulation;
import dev.slicewright.formulation.ortools.LpRelaxation;
import dev.slicewright.plan.Goals;
import dev.slicewright.plan.ObjectiveLevels;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.Drain;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.RoomGoal;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Shape;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Plans batches of slice requests: the front door. Safe for concurrent use.
 *
 * <p>A plan comes back within the budget's deadline, verified, with a bound on how much better any
 * plan could be and a reason for every request that is not placed. Running slices stay where they
 * are unless the rules permit otherwise.
 *
 * <p>Each call works on its caller's thread; further threads are capped over all calls of one
 * planner. Native solvers load on the first call that needs them; where they cannot load, plans
 * come from search and bounds, and say so in {@link Plan#notes()}.
 */
public final class SlicePlanner {

  /** The most slices of one batch: 1,000,000. */
  public static final int MAX_SLICES = 1_000_000;

  static final Consumer<Plan> NOBODY = plan -> {};

  private final List<Formulation> formulations;
  private final boolean named;
  private final CostTerms cost;
  private final Semaphore workers;
  private final boolean failOnRejection;

  private SlicePlanner(Builder b) {
    this.formulations = List.copyOf(b.formulations);
    this.named = b.named;
    this.cost = b.cost;
    this.workers = new Semaphore(b.maxWorkers - 1);
    this.failOnRejection = b.failOnRejection;
    Profiling.prepare();
  }

  /**
   * A planner with the defaults: CP-SAT as formulation, beside it what is made for flat meshes; no
   * prices; as many workers as there are processors.
   *
   * @return a new planner
   */
  public static SlicePlanner create() {
    return builder().build();
  }

  /**
   * A builder with the defaults.
   *
   * @return a new builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Plans a batch without rules: nothing running may be touched. Without rules there is no present
   * time either: {@link PlanningRules#NONE} has the epoch as its {@code now}, so that every hold
   * that expires later counts as live. Where holds expire, give rules with the time.
   *
   * @param fleet the present fleet
   * @param requests what is wanted; ids must differ from each other and from what runs
   * @param budget how long it may take
   * @return the plan
   * @throws InvalidInputException listing every problem of the input
   */
  public Plan plan(Fleet fleet, List<SliceRequest> requests, SolveBudget budget) {
    return plan(fleet, requests, PlanningRules.NONE, budget);
  }

  /**
   * Plans a batch.
   *
   * @param fleet the present fleet
   * @param requests what is wanted; ids must differ from each other and from what runs
   * @param rules quotas, reserved capacity, permissions, and the time
   * @param budget how long it may take
   * @return the plan
   * @throws InvalidInputException listing every problem of the input
   */
  public Plan plan(
      Fleet fleet, List<SliceRequest> requests, PlanningRules rules, SolveBudget budget) {
    return plan(fleet, requests, rules, budget, new CancelToken(), NOBODY);
  }

  /**
   * Plans a batch, with cancellation and news of improving plans.
   *
   * @param fleet the present fleet
   * @param requests what is wanted; ids must differ from each other and from what runs
   * @param rules quotas, reserved capacity, permissions, and the time
   * @param budget how long it may take
   * @param cancel comes back early with what is in hand when cancelled, also before the start
   * @param listener told of improving plans, each verified, on the calling thread, at most every 10
   *     ms; its exceptions are logged and dropped. It is not told of the plan that is returned, so
   *     it may hear nothing at all
   * @return the plan
   * @throws InvalidInputException listing every problem of the input
   */
  public Plan plan(
      Fleet fleet,
      List<SliceRequest> requests,
      PlanningRules rules,
      SolveBudget budget,
      CancelToken cancel,
      Consumer<Plan> listener) {
    return plan(fleet, requests, rules, cost, budget, cancel, listener, System.nanoTime());
  }

  private Plan plan(
      Fleet fleet,
      List<SliceRequest> requests,
      PlanningRules rules,
      CostTerms terms,
      SolveBudget budget,
      CancelToken cancel,
      Consumer<Plan> listener,
      long start) {
    Objects.requireNonNull(budget, "budget");
    Objects.requireNonNull(cancel, "cancel");
    Objects.requireNonNull(listener, "listener");
    Profiling.Recording recording = Profiling.begin();
    List<SliceRequest> batch = checked(fleet, requests, rules);
    Instance instance = new Instance(fleet, batch, rules, terms);
    Plan plan = new SolveRun(this, instance, budget, cancel, listener, start).run();
    recording.done(fleet, batch, budget, plan);
    return plan;
  }

  /**
   * Mends what is broken: a plan without new requests in which each running request with a slice on
   * a failed part may move, whatever the default permission; one that the rules name keeps the
   * permission that they give it, so that it can be pinned, kept in its pod, or evicted.
   *
   * <p>All failures are weighed together: first what is kept by priority, then the fewest
   * chip-seconds lost, then the shape that the request prefers, then the fewest hosts that a slice
   * did not hold before, so that a slice of whole cubes keeps those that work and swaps the others.
   * A slice goes to a smaller shape of its request where that alone fits; all slices of a request
   * have one shape. What is neither moved nor evicted stays as it is and is in {@link
   * Plan#broken()} with the reason, which also says so where others of its request are moved.
   *
   * <p>The plan's own {@link Plan#rules()} hold the permissions; to verify it, pass those, and the
   * planner's cost terms with {@link CostTerms#newHosts() new hosts} counted.
   *
   * @param fleet the present fleet
   * @param rules quotas, reserved capacity, permissions, and the time
   * @param budget how long it may take
   * @return the plan; nothing in it if nothing is broken and nothing else asks for a change
   * @throws InvalidInputException listing every problem of the input
   */
  public Plan repair(Fleet fleet, PlanningRules rules, SolveBudget budget) {
    return repair(fleet, rules, budget, new CancelToken(), NOBODY);
  }

  /**
   * Empties parts of the fleet: a plan without new requests in which each running request on a
   * drained part may move, whatever the default permission; one that the rules name keeps the
   * permission that they give it, so that it can be pinned, kept in its pod, or evicted where it
   * finds no place.
   *
   * <p>What runs elsewhere stays unless the rules permit more. {@link Plan#staying()} names each
   * slice that is not out, or not in time, with the reason; cordon the parts until the work on them
   * is done, since a plan lasts for one call only.
   *
   * @param fleet the present fleet
   * @param drains what to empty, added to those of the rules
   * @param rules quotas, reserved capacity, permissions, and the time
   * @param budget how long it may take
   * @return the plan; its own {@link Plan#rules()} hold the drains and the permissions
   * @throws InvalidInputException listing every problem of the input, parts that do not exist and
   *     deadlines before the rules' now among them
   */
  public Plan drain(
      Fleet fleet, Collection<Drain> drains, PlanningRules rules, SolveBudget budget) {
    long start = System.nanoTime();
    Objects.requireNonNull(fleet, "fleet");
    Objects.requireNonNull(rules, "rules");
    Objects.requireNonNull(drains, "drains");
    PlanningRules own = RepairRules.draining(fleet, rules, drains);
    return plan(fleet, List.of(), own, cost, budget, new CancelToken(), NOBODY, start);
  }

  /**
   * Mends what is broken, with cancellation and news of improving plans.
   *
   * @param fleet the present fleet
   * @param rules quotas, reserved capacity, permissions, and the time
   * @param budget how long it may take
   * @param cancel comes back early with what is in hand when cancelled, also before the start
   * @param listener as for {@link #plan(Fleet, List, PlanningRules, SolveBudget, CancelToken,
   *     Consumer)}
   * @return the plan
   * @throws InvalidInputException listing every problem of the input
   */
  public Plan repair(
      Fleet fleet,
      PlanningRules rules,
      SolveBudget budget,
      CancelToken cancel,
      Consumer<Plan> listener) {
    long start = System.nanoTime();
    Objects.requireNonNull(fleet, "fleet");
    Objects.requireNonNull(rules, "rules");
    PlanningRules own = RepairRules.of(fleet, rules);
    return plan(fleet, List.of(), own, RepairRules.of(cost), budget, cancel, listener, start);
  }

  /**
   * Plans a batch on a thread of its own.
   *
   * @param fleet the present fleet
   * @param requests what is wanted
   * @param rules quotas, reserved capacity, permissions, and the time
   * @param budget how long it may take, from this call
   * @return a handle: cancel, best so far, result
   */
  public PlanHandle submit(
      Fleet fleet, List<SliceRequest> requests, PlanningRules rules, SolveBudget budget) {
    CancelToken token = new CancelToken();
    PlanHandle handle = new PlanHandle(token);
    long start = System.nanoTime();
    List<SliceRequest> batch = new ArrayList<>(requests); // nulls are reported with all else
    Thread thread =
        new Thread(
            () -> {
              try {
                handle.done(
                    plan(fleet, batch, rules, cost, budget, token, handle::improved, start));
              } catch (RuntimeException | Error e) {
                handle.failed(e);
              }
            },
            "slicewright-plan");
    thread.setDaemon(true);
    thread.start();
    return handle;
  }

  /**
   * The problem of a batch as a model for other solvers, to be written as MPS or LP; what they find
   * becomes a plan. This planner's formulations take no part.
   *
   * @param fleet the present fleet
   * @param requests what is wanted; ids must differ from each other and from what runs
   * @param rules quotas, reserved capacity, permissions, and the time
   * @param budget how long listing all candidates may take, and again bounding and explaining each
   *     plan
   * @return the problem
   * @throws InvalidInputException listing every problem of the input; also if there is nothing to
   *     decide, or there would be more than 150,000 candidates, or time was up before all were
   *     listed
   */
  public ExportedProblem export(
      Fleet fleet, List<SliceRequest> requests, PlanningRules rules, SolveBudget budget) {
    Objects.requireNonNull(budget, "budget");
    long start = System.nanoTime();
    List<SliceRequest> batch = checked(fleet, requests, rules);
    return ExportedProblem.of(this, new Instance(fleet, batch, rules, cost), budget, start);
  }

  /**
   * Plans one slice and, where it finds no place, the moves of running slices that make one: the
   * cheapest that move only what stands in its place, else a way that pushes further. For admission
   * one at a time: milliseconds, where {@link #plan} with the same permissions would weigh every
   * way. No way of at most two moves within the slice's pod is missed on wired tori and meshes of
   * up to some dozen slices; beyond that, and elsewhere, a limit on the tries may cut in. Nothing
   * is evicted. A request of several slices is placed without moves.
   *
   * @param fleet the present fleet
   * @param request what is wanted; its id must differ from what runs
   * @param moves the most slices that may move, 0 to 8; the rules' disruption budget holds too
   * @param rules quotas, reserved capacity, the time, and who may move
   * @param budget how long it may take
   * @return the plan, verified; without moves where none are needed, or none help
   * @throws InvalidInputException listing every problem of the input
   */
  public Plan makeRoom(
      Fleet fleet, SliceRequest request, int moves, PlanningRules rules, SolveBudget budget) {
    long start = System.nanoTime();
    MakeRoom.check(moves);
    Objects.requireNonNull(budget, "budget");
    Objects.requireNonNull(request, "request");
    List<SliceRequest> batch = checked(fleet, List.of(request), rules);
    Instance instance = new Instance(fleet, batch, rules, cost);
    return new MakeRoom(this, instance, budget, start).admit(moves);
  }

  /**
   * Plans moves that leave more room for slices to come, where a shape of the expected mix has no
   * place on a wired torus or mesh though chips enough are free; else, and where no move is worth
   * it, the plan is empty. Each move is the one that leaves most room, whatever it costs within the
   * rules' disruption budget.
   *
   * @param fleet the present fleet
   * @param moves the most slices that may move, 0 to 8
   * @param rules the time, and who may move
   * @param budget how long it may take
   * @return the plan, verified
   * @throws InvalidInputException listing every problem of the input
   */
  public Plan tidy(Fleet fleet, int moves, PlanningRules rules, SolveBudget budget) {
    long start = System.nanoTime();
    MakeRoom.check(moves);
    Objects.requireNonNull(budget, "budget");
    List<SliceRequest> batch = checked(fleet, List.of(), rules);
    Instance instance = new Instance(fleet, batch, rules, cost);
    return new MakeRoom(this, instance, budget, start).tidy(moves);
  }

  /**
   * How many more slices of a shape fit now, disjoint and all together, without rules.
   *
   * @param fleet the present fleet
   * @param shape the shape; it may be turned, and go to any pod that can form it
   * @param budget how long it may take
   * @return the number found, a bound, and where they go
   */
  public Capacity capacity(Fleet fleet, Shape shape, SolveBudget budget) {
    return CapacityRun.of(this, fleet, CapacityRun.any(shape), PlanningRules.NONE, budget);
  }

  /**
   * How many more requests of one kind fit now, disjoint and all together, beside all that runs:
   * nothing is moved or evicted, whatever the rules permit. Holds, health, cordons, drains, quotas
   * and reserved capacity count as in {@link #plan}. A gang is not looked at. Of a multislice,
   * copies of all its slices are counted.
   *
   * <p>Where shapes earn different chips the planner takes the most chips, so that the value may
   * fall short of the bound.
   *
   * @param fleet the present fleet
   * @param like the kind; it need not be new: its id may run already
   * @param rules quotas, reserved capacity, and the time
   * @param budget how long it may take
   * @return the number found, a bound, and where they go; 0 with the reason where none fits
   * @throws InvalidInputException naming drained parts that do not exist
   */
  public Capacity capacity(
      Fleet fleet, SliceRequest like, PlanningRules rules, SolveBudget budget) {
    return CapacityRun.of(this, fleet, like, rules, budget);
  }

  /**
   * The largest slice that fits now, in each pod and in the fleet, beside all that runs.
   *
   * @param fleet the present fleet
   * @param like what is asked of the slice: accelerators, labels, pod, tenant, interconnect,
   *     health; its shapes, chips, slices and turning are not looked at. Its own holds do not block
   *     it
   * @param rules quotas, reserved capacity, and the time
   * @return exact; an empty list of pods where none matches
   * @throws InvalidInputException naming drained parts that do not exist
   */
  public LargestPlaceable largestPlaceable(Fleet fleet, SliceRequest like, PlanningRules rules) {
    return LargestRun.of(fleet, like, rules);
  }

  /**
   * Moves what runs so that there is room for more, as far as it is worth it.
   *
   * <p>The answer is a plan of rules with these room goals: what the rules pin stays, and their
   * disruption budget binds. Room that is there already costs nothing. At most a third of the time
   * goes into finding out what fits as the fleet is.
   *
   * @param fleet the present fleet
   * @param goals what to make room for, one or more, besides the goals of the rules
   * @param rules permissions, disruption budget, quotas, and the time
   * @param budget how long it may take
   * @return the plan, what it gains and what it costs; an empty plan with the reason where nothing
   *     is gained
   * @throws InvalidInputException listing every problem of the input
   */
  public Defragmentation defragment(
      Fleet fleet, List<RoomGoal> goals, PlanningRules rules, SolveBudget budget) {
    return defragment(fleet, goals, rules, budget, 0);
  }

  /**
   * The same, if each chip-hour that is lost gains enough.
   *
   * @param fleet the present fleet
   * @param goals what to make room for, one or more, besides the goals of the rules
   * @param rules permissions, disruption budget, quotas, and the time
   * @param budget how long it may take
   * @param leastPerChipHour the least that a chip-hour lost has to gain, in chips or the goals'
   *     weights, 0 or more; below that nothing is worth moving
   * @return the plan, what it gains and what it costs
   * @throws InvalidInputException listing every problem of the input
   */
  public Defragmentation defragment(
      Fleet fleet,
      List<RoomGoal> goals,
      PlanningRules rules,
      SolveBudget budget,
      double leastPerChipHour) {
    return DefragmentationRun.of(this, fleet, goals, rules, budget, leastPerChipHour);
  }

  /** The same planner with search and bounds alone, on its caller's thread. */
  SlicePlanner withoutFormulations() {
    Builder b = builder().formulations(List.of()).cost(cost).maxWorkers(1);
    return b.failOnRejectedPlan(failOnRejection).build();
  }

  CostTerms cost() {
    return cost;
  }

  /**
   * The best distinct ways to place one request beside all that runs, best first: where it could
   * go, how that scores, and what it leaves.
   *
   * @param fleet the present fleet
   * @param request what is wanted; its id must be no running one's
   * @param k how many ways at most, 1 to {@value Options#MAX}
   * @param rules quotas, reserved capacity, permissions, and the time
   * @param budget how long it may take
   * @return the ways, each a verified plan; none, with the reason, where nothing fits
   * @throws InvalidInputException listing every problem of the input
   */
  public Options options(
      Fleet fleet, SliceRequest request, int k, PlanningRules rules, SolveBudget budget) {
    return OptionsRun.of(this, fleet, request, k, rules, budget);
  }

  /**
   * Why one request does not fit, and the smallest changes of one kind that would let it in, each
   * shown by a plan. Nothing is changed.
   *
   * @param fleet the present fleet
   * @param request what is wanted; its id must be no running one's
   * @param rules quotas, reserved capacity, permissions, and the time
   * @param budget how long it may take; kinds of changes that it left no time for are named
   * @return the explanation
   * @throws InvalidInputException listing every problem of the input
   */
  public Explanation explain(
      Fleet fleet, SliceRequest request, PlanningRules rules, SolveBudget budget) {
    return ExplanationRun.of(this, fleet, request, rules, budget);
  }

  /** The problem of one request alone, its input checked. */
  Instance alone(Fleet fleet, SliceRequest request, PlanningRules rules) {
    return new Instance(
        fleet, checked(fleet, java.util.Collections.singletonList(request), rules), rules, cost);
  }

  private static List<SliceRequest> checked(
      Fleet fleet, List<SliceRequest> requests, PlanningRules rules) {
    Objects.requireNonNull(fleet, "fleet");
    Objects.requireNonNull(rules, "rules");
    List<SliceRequest> batch = new ArrayList<>(Objects.requireNonNull(requests, "requests"));
    Problems problems = new Problems();
    Set<String> seen = new HashSet<>();
    long slices = 0;
    long chips = 0;
    boolean tooMany = false;
    for (int i = 0; i < batch.size(); i++) {
      SliceRequest request = batch.get(i);
      String path = "requests[" + i + "]";
      if (request == null) {
        problems.add(path, "expected a request, but was null");
        continue;
      }
      slices += request.slices();
      try {
        long each = ObjectiveLevels.mostCounted(request);
        chips = Math.addExact(chips, Math.multiplyExact(each, (long) request.slices()));
      } catch (ArithmeticException e) {
        if (!tooMany) {
          problems.add(
              path,
              "expected at most 2^63 - 1 chips in all, but with request "
                  + request.id()
                  + " there are more; ask for fewer slices or a smaller shape");
        }
        tooMany = true;
      }
      if (!seen.add(request.id())) {
        problems.add(path + ".id", "request id " + request.id() + " is used twice");
      }
      if (!fleet.runningOf(request.id()).isEmpty()) {
        problems.add(
            path + ".id",
            "request id " + request.id() + " runs already; release it first or use another id");
      }
    }
    Goals.check(fleet, batch, rules, problems);
    try {
      long room = 0;
      for (RoomGoal goal : rules.rooms()) {
        SliceRequest like = goal.like();
        long each = goal.weight() > 0 ? goal.weight() : ObjectiveLevels.mostCounted(like);
        each = Math.multiplyExact(each, (long) like.slices());
        room = Math.addExact(room, Math.multiplyExact(each, (long) goal.times()));
        slices += (long) goal.times() * like.slices();
      }
    } catch (ArithmeticException e) {
      problems.add(
          "rules.rooms",
          "expected at most 2^63 - 1 chips, or a value of that, in all room goals, but there is"
              + " more; ask for less");
    }
    if (slices > MAX_SLICES) {
      problems.add(
          "requests", "expected at most " + MAX_SLICES + " slices, but there are " + slices);
    }
    problems.throwIfAny("planning input");
    return List.copyOf(batch);
  }

  boolean hasFormulations() {
    return !formulations.isEmpty();
  }

  List<Formulation> formulations() {
    return formulations;
  }

  /** Whether the user has named the formulations. */
  boolean namedFormulations() {
    return named;
  }

  /** Starts loading native code, so that it is there when the search has had its turn. */
  void preload() {
    for (Formulation formulation : formulations) {
      if (formulation instanceof CpSatFormulation) {
        CpSatFormulation.preload();
      } else if (formulation instanceof ProcessFormulation outside) {
        outside.preload();
      }
    }
  }

  boolean failsOnRejection() {
    return failOnRejection;
  }

  /** Takes up to so many further workers without waiting; returns how many it got. */
  int acquireWorkers(int wanted) {
    int got = 0;
    while (got < wanted && workers.tryAcquire()) {
      got++;
    }
    return got;
  }

  void releaseWorkers(int count) {
    workers.release(count);
  }

  /** Builds a {@link SlicePlanner}. Confined to one thread at a time. */
  public static final class Builder {
    private List<Formulation> formulations =
        List.of(
            LpRelaxation.create(),
            CpSatFormulation.create(),
            CpSatIntervalsFormulation.create(),
            MeshSearchFormulation.create());
    private boolean named;
    private CostTerms cost = CostTerms.DEFAULT;
    private int maxWorkers = Math.max(1, Runtime.getRuntime().availableProcessors());
    private boolean failOnRejection;

    private Builder() {}

    /**
     * Sets the formulations, tried in this order, but that on flat meshes the built-in ones go by
     * what is quickest there; one that cannot take a model says why in {@link Plan#notes()}. None
     * at all leaves search and bounds.
     *
     * @param values the formulations
     * @return this
     */
    public Builder formulations(List<Formulation> values) {
      formulations = List.copyOf(values);
      named = true;
      return this;
    }

    /**
     * Adds the formulations that the class path registers, behind those set so far; each is a line
     * in {@code META-INF/services/dev.slicewright.formulation.Formulation}. Without this call none
     * is looked for.
     *
     * @param loader where to look, or null for the system class loader
     * @return this
     * @throws InvalidInputException naming every registered one that cannot be used; {@link
     *     DiscoveredFormulations} gives the others all the same
     */
    public Builder discover(@Nullable ClassLoader loader) {
      DiscoveredFormulations found = DiscoveredFormulations.of(loader);
      if (!found.problems().isEmpty()) {
        throw new InvalidInputException("registered formulations", found.problems());
      }
      List<Formulation> all = new ArrayList<>(formulations);
      all.addAll(found.formulations());
      formulations = List.copyOf(all);
      return this;
    }

    /**
     * Adds the formulations that the thread's context class loader sees, as {@link
     * #discover(ClassLoader)}; where there is none, those that the library's own loader sees.
     *
     * @return this
     * @throws InvalidInputException naming every registered one that cannot be used
     */
    public Builder discover() {
      ClassLoader context = Thread.currentThread().getContextClassLoader();
      return discover(context != null ? context : SlicePlanner.class.getClassLoader());
    }

    /**
     * Sets the preferences and prices.
     *
     * @param value {@link CostTerms#DEFAULT} by default
     * @return this
     */
    public Builder cost(CostTerms value) {
      cost = Objects.requireNonNull(value, "cost");
      return this;
    }

    /**
     * Sets the most workers over all calls of this planner, each call's own thread counted once.
     *
     * @param value 1 or more; the number of processors by default
     * @return this
     */
    public Builder maxWorkers(int value) {
      maxWorkers = value;
      return this;
    }

    /**
     * Sets whether a plan that the verifier rejects is an exception, as tests want it; by default
     * it is dropped, reported in the notes, and the next best verified plan returned.
     *
     * @param value false by default
     * @return this
     */
    public Builder failOnRejectedPlan(boolean value) {
      failOnRejection = value;
      return this;
    }

    /**
     * Checks and builds.
     *
     * @return the planner
     * @throws InvalidInputException if the workers are out of range
     */
    public SlicePlanner build() {
      if (maxWorkers < 1 || maxWorkers > 4096) {
        throw new InvalidInputException(
            "planner", "maxWorkers", "expected 1 to 4096, but was " + maxWorkers);
      }
      return new SlicePlanner(this);
    }
  }
}
