package dev.slicewright.solve;

import dev.slicewright.CancelToken;
import dev.slicewright.SliceId;
import dev.slicewright.SolveBudget;
import dev.slicewright.SolverUnavailableException;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.plan.BrokenSlice;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Move;
import dev.slicewright.plan.Phase;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.Reason;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.Score;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.plan.StopReason;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.search.Assignment;
import dev.slicewright.search.Demand;
import dev.slicewright.search.Demand.Choice;
import dev.slicewright.search.PlacementSearch;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.lang.System.Logger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One solve: translate, search, bound, formulate, verify, explain. Confined to one thread at a
 * time, but for the searches that it runs beside its own.
 */
final class SolveRun {

  private static final Logger LOG = System.getLogger(SolveRun.class.getName());

  /** Ruin-and-recreate rounds for each millisecond of the deadline, where runs must repeat. */
  private static final long ROUNDS_PER_MILLI = 5;

  /** Rounds before a formulation that can hold the model takes over. */
  private static final long ROUNDS_BEFORE_MODEL = 300;

  /** The most candidates that a formulation is asked to hold, and where running slices may move. */
  private static final int MAX_CANDIDATES = 6_000;

  private static final int MAX_CANDIDATES_MOVING = 40_000;

  private static final long LISTENER_PAUSE_NANOS = 10_000_000;

  private final SlicePlanner planner;
  private final SolveBudget budget;
  private final Consumer<Plan> listener;
  private final Instance in;
  private final Stop stop; // the search's, a little before the deadline
  private final Stop hardStop;
  private final long startNanos;
  private final Map<String, long[]> phases = new LinkedHashMap<>(); // nanos, size
  private final Set<String> engines = new java.util.LinkedHashSet<>();
  private final List<String> notes = new ArrayList<>();
  private final Bounds bounds;
  private Solution best;
  private long[] values;
  private final Bounds.Bound[] proved;
  private final @Nullable Long[] claimed;
  private boolean roundsRanOut;
  private boolean cutShort;
  private long lastTold;

  SolveRun(
      SlicePlanner planner,
      Instance in,
      SolveBudget budget,
      CancelToken token,
      Consumer<Plan> listener,
      long startNanos) {
    this.planner = planner;
    this.in = in;
    this.budget = budget;
    this.listener = listener;
    this.startNanos = startNanos;
    long whole = budget.deadline().toNanos();
    // What building, verifying and explaining the plan may take.
    long reserve = Math.min(whole / 4, Math.max(2_000_000, whole / 12));
    this.stop = new Stop(token, startNanos + whole - reserve);
    this.hardStop = new Stop(token, startNanos + whole);
    phase("translate", startNanos, in.requests.size());
    this.bounds = new Bounds(in, stop);
    this.best = Solution.nothing(in.demands.size());
    this.values = Values.of(in, best);
    this.proved = new Bounds.Bound[in.levels.size()];
    this.claimed = new Long[in.levels.size()];
  }

  private void phase(String name, long sinceNanos, long size) {
    long[] sum = phases.computeIfAbsent(name, n -> new long[2]);
    sum[0] += System.nanoTime() - sinceNanos;
    sum[1] = Math.max(sum[1], size);
  }

  Plan run() {
    Solution first = best;
    if (!stop.getAsBoolean()) {
      search();
      first = best;
      if (!isDone()) {
        refine();
      }
    } else {
      cutShort = true;
    }
    if (!provedAll()) {
      bound(true);
    }
    return finish(first);
  }

  // ---------------------------------------------------------------- search

  private void search() {
    long since = System.nanoTime();
    PlacementSearch search = newSearch(budget.seed());
    search.construct(stop);
    cutShort |= stop.getAsBoolean();
    engines.add("search");
    adopt(Solution.of(search.assignments()));
    phase("search", since, in.demands.size());
    bound(false);
    if (isDone() || stop.getAsBoolean()) {
      return;
    }
    tell();
    boolean small = planner.hasFormulations() && translation() != null;
    long rounds = budget.mode() == SolveBudget.Mode.FAST ? Long.MAX_VALUE : roundLimit();
    Stop own = stop;
    if (small) {
      rounds = Math.min(rounds, ROUNDS_BEFORE_MODEL);
      own =
          new Stop(
              stop.token(), System.nanoTime() + Math.max(1_000_000, stop.remainingNanos() / 5));
    }
    improve(search, rounds, own, small);
  }

  private long roundLimit() {
    return Math.max(200, budget.deadline().toMillis() * ROUNDS_PER_MILLI);
  }

  private PlacementSearch newSearch(long seed) {
    PlacementSearch search =
        new PlacementSearch(
            in.pods, in.demands, in.limits, in.priorities.length, in.rules.now(), seed, in.credits);
    return search;
  }

  private void improve(PlacementSearch search, long rounds, Stop own, boolean small) {
    long since = System.nanoTime();
    int extra =
        budget.mode() == SolveBudget.Mode.REPRODUCIBLE || small
            ? 0
            : planner.acquireWorkers(budget.workers() - 1);
    List<Thread> threads = new ArrayList<>();
    List<PlacementSearch> others = new ArrayList<>();
    AtomicBoolean reached = new AtomicBoolean();
    long[] target = target();
    boolean race = budget.mode() == SolveBudget.Mode.FAST;
    try {
      for (int w = 1; w <= extra; w++) {
        PlacementSearch other = newSearch(budget.seed() + 0x9E3779B97F4A7C15L * w);
        others.add(other);
        Thread thread =
            new Thread(
                () -> {
                  other.construct(own);
                  other.improve(
                      rounds, () -> race && reached.get() || own.getAsBoolean(), target, () -> {});
                  if (target != null && reaches(other.value(), target)) {
                    reached.set(true);
                  }
                },
                "slicewright-search-" + w);
        thread.setDaemon(true);
        threads.add(thread);
        thread.start();
      }
      long done =
          search.improve(
              rounds,
              () -> race && reached.get() || own.getAsBoolean(),
              target,
              () -> {
                if (listener != SlicePlanner.NOBODY
                    && System.nanoTime() - lastTold > LISTENER_PAUSE_NANOS) {
                  adopt(Solution.of(search.assignments()));
                  tell();
                }
              });
      reached.compareAndSet(false, target != null && reaches(search.value(), target));
      roundsRanOut = done >= rounds;
    } finally {
      for (Thread thread : threads) {
        join(thread);
      }
      planner.releaseWorkers(extra);
    }
    adopt(Solution.of(search.assignments()));
    for (PlacementSearch other : others) {
      adopt(Solution.of(other.assignments()));
    }
    cutShort |= stop.getAsBoolean();
    phase("search", since, in.demands.size());
    bound(false);
  }

  private static void join(Thread thread) {
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * The value at which a search may stop, in the search's own terms, or null if it is not known.
   */
  private long @Nullable [] target() {
    long[] target = new long[in.priorities.length + 2];
    target[in.priorities.length] = 0;
    target[in.priorities.length + 1] = Long.MIN_VALUE;
    int p = 0;
    for (int l = 0; l < in.levels.size(); l++) {
      Bounds.Bound bound = proved[l];
      switch (in.levels.get(l).kind()) {
        case PLACED -> {
          if (bound == null) {
            return null;
          }
          target[p++] = bound.value();
        }
        case PRICE -> target[in.priorities.length + 1] = bound == null ? 0 : -bound.value();
        case KEPT, DISRUPTION, SHAPE_RANK, NEW_HOSTS -> {}
      }
    }
    return target;
  }

  private static boolean reaches(long[] value, long[] target) {
    for (int i = 0; i < target.length; i++) {
      if (value[i] != target[i]) {
        return value[i] > target[i];
      }
    }
    return true;
  }

  /** Keeps a solution if it is better than the one in hand. */
  private boolean adopt(Solution solution) {
    long[] own = Values.of(in, solution);
    if (Values.compare(in.levels, own, values) > 0) {
      best = solution;
      values = own;
      return true;
    }
    return false;
  }

  // ---------------------------------------------------------------- bound

  /** Bounds every level whose earlier ones are settled; with {@code all}, every level. */
  private void bound(boolean all) {
    long since = System.nanoTime();
    boolean open = false;
    for (int l = 0; l < proved.length; l++) {
      Bounds.Bound known = proved[l];
      if (known == null
          || known.value() != values[l]
          || !(known.proof() instanceof Proof.Agreement)) {
        proved[l] = bounds.bound(l, values);
      }
      open |= proved[l].value() != values[l];
      if (open && !all) {
        // Later levels are bounded for the values held at the end.
        for (int j = l + 1; j < proved.length; j++) {
          proved[j] = bounds.bound(j, values);
          if (stop.getAsBoolean()) {
            break;
          }
        }
        break;
      }
    }
    phase("bound", since, proved.length);
  }

  private boolean provedAll() {
    for (int l = 0; l < proved.length; l++) {
      if (proved[l] == null || proved[l].value() != values[l]) {
        return false;
      }
    }
    return true;
  }

  /** Proved, or within the gap target. */
  private boolean isDone() {
    return provedAll() || budget.gapTarget() > 0 && gap() <= budget.gapTarget();
  }

  private double gap() {
    return score().gap();
  }

  private Score score() {
    List<LevelScore> levels = new ArrayList<>(proved.length);
    for (int l = 0; l < proved.length; l++) {
      Bounds.Bound b = proved[l];
      if (b == null) {
        b = bounds.bound(l, values);
        proved[l] = b;
      }
      Long claim = claimed[l];
      levels.add(
          new LevelScore(
              in.levels.get(l),
              values[l],
              b.value(),
              b.proof(),
              claim == null || claim == b.value() ? null : claim));
    }
    return new Score(levels);
  }

  // ---------------------------------------------------------------- formulations

  private @Nullable ModelTranslation translation;
  private boolean translated;

  private @Nullable ModelTranslation translation() {
    if (!translated) {
      long since = System.nanoTime();
      translated = true;
      translation =
          ModelTranslation.of(in, in.free.isEmpty() ? MAX_CANDIDATES : MAX_CANDIDATES_MOVING);
      phase("build", since, translation == null ? 0 : translation.model().candidates().size());
    }
    return translation;
  }

  private void refine() {
    if (!planner.hasFormulations() || stop.getAsBoolean()) {
      return;
    }
    ModelTranslation t = translation();
    if (t == null) {
      return;
    }
    for (Formulation formulation : planner.formulations()) {
      if (isDone() || stop.getAsBoolean()) {
        return;
      }
      formulate(t, formulation);
    }
  }

  private void formulate(ModelTranslation t, Formulation formulation) {
    long since = System.nanoTime();
    long[] held = new long[0];
    for (int l = 0; l < in.levels.size() && !stop.getAsBoolean(); l++) {
      if (proved[l] == null || proved[l].value() != values[l]) {
        proved[l] = bounds.bound(l, values);
      }
      if (proved[l].value() != values[l]) {
        int level = l;
        long[] heldNow = held;
        FormulationTask task = task(t, level, heldNow, 0);
        String no = formulation.whyNot(t.model(), task).orElse("");
        if (!no.isEmpty()) {
          note(formulation.name() + " was not used: " + no);
          break;
        }
        if (!solveLevel(t, formulation, level, heldNow)) {
          break;
        }
      }
      long[] more = java.util.Arrays.copyOf(held, l + 1);
      more[l] = values[l] - t.constant(l);
      held = more;
    }
    phase("solve", since, t.model().candidates().size());
    bound(false);
  }

  private FormulationTask task(ModelTranslation t, int level, long[] held, int variant) {
    return new FormulationTask(
        level,
        held,
        stop.deadlineNanos(),
        budget,
        variant,
        t.encode(best),
        chosen -> {},
        stop.token());
  }

  /** Optimises one level; false if the formulation is of no further use. */
  private boolean solveLevel(ModelTranslation t, Formulation formulation, int level, long[] held) {
    FormulationResult first = ask(t, formulation, level, held, 0);
    if (first == null) {
      return false;
    }
    engines.add(formulation.name());
    take(t, first);
    first.claimedBound().ifPresent(b -> claim(level, b + t.constant(level)));
    boolean exact =
        in.levels.get(level).kind() != dev.slicewright.plan.Level.Kind.NEW_HOSTS
            || t.newHostsExact();
    if (!exact) {
      return false;
    }
    if (first.status() != FormulationResult.Status.OPTIMAL
        || first.solution().isEmpty()
        || levelValue(t, first, level) != values[level]
        || stop.getAsBoolean()) {
      return first.status() != FormulationResult.Status.FAILED;
    }
    // One solver's word is a claim; a second, differently configured solve has to agree.
    FormulationResult second = ask(t, formulation, level, held, 1);
    if (second != null
        && second.status() == FormulationResult.Status.OPTIMAL
        && levelValue(t, second, level) == values[level]) {
      proved[level] =
          new Bounds.Bound(
              values[level],
              new Proof.Agreement(formulation.name(), formulation.name() + " (second setting)"));
    } else if (second != null) {
      take(t, second);
    }
    return true;
  }

  private long levelValue(ModelTranslation t, FormulationResult result, int level) {
    int[] chosen = result.solution().orElse(null);
    return chosen == null
        ? Long.MIN_VALUE
        : Math.addExact(t.model().evaluate(chosen)[level], t.constant(level));
  }

  private void claim(int level, long bound) {
    claimed[level] = bound;
  }

  private void take(ModelTranslation t, FormulationResult result) {
    int[] chosen = result.solution().orElse(null);
    if (chosen == null) {
      return;
    }
    try {
      t.model().evaluate(chosen);
    } catch (dev.slicewright.InvalidInputException e) {
      note("A solution that breaks its model was dropped: " + e.problems().get(0) + ".");
      return;
    }
    Solution solution = t.decode(chosen);
    if (solution != null && adopt(solution)) {
      tell();
    }
  }

  private @Nullable FormulationResult ask(
      ModelTranslation t, Formulation formulation, int level, long[] held, int variant) {
    try {
      return formulation.solve(t.model(), task(t, level, held, variant));
    } catch (SolverUnavailableException e) {
      note(formulation.name() + " cannot run here: " + e.getMessage());
    } catch (RuntimeException e) {
      LOG.log(Logger.Level.WARNING, "Formulation " + formulation.name() + " failed", e);
      note(formulation.name() + " failed: " + e + ".");
    }
    return null;
  }

  private void note(String sentence) {
    if (!notes.contains(sentence)) {
      notes.add(sentence);
    }
  }

  // ---------------------------------------------------------------- plan

  private void tell() {
    if (listener == SlicePlanner.NOBODY) {
      return;
    }
    lastTold = System.nanoTime();
    Plan plan = build(best, StopReason.EXHAUSTED, score(), false);
    if (verify(plan).isEmpty()) {
      try {
        listener.accept(plan);
      } catch (RuntimeException e) {
        LOG.log(Logger.Level.WARNING, "The plan listener failed", e);
      }
    }
  }

  private List<PlanVerifier.Violation> verify(Plan plan) {
    long since = System.nanoTime();
    List<PlanVerifier.Violation> violations =
        PlanVerifier.verify(in.fleet, in.requests, in.rules, in.cost, plan);
    phase("verify", since, plan.placements().size());
    return violations;
  }

  private StopReason stopReason() {
    if (provedAll()) {
      return StopReason.OPTIMAL;
    }
    if (budget.gapTarget() > 0 && gap() <= budget.gapTarget()) {
      return StopReason.GAP_REACHED;
    }
    if (stop.isCancelled()) {
      return StopReason.CANCELLED;
    }
    if (stop.isLate()) {
      return StopReason.DEADLINE;
    }
    return roundsRanOut ? StopReason.LIMIT : StopReason.EXHAUSTED;
  }

  private Plan finish(Solution first) {
    StopReason reason = stopReason();
    if (reason == StopReason.DEADLINE && budget.mode() != SolveBudget.Mode.FAST) {
      note("The deadline cut in, so a second run may give another plan.");
    }
    List<Solution> tries = new ArrayList<>(List.of(best));
    if (first != best) {
      tries.add(first);
    }
    tries.add(Solution.nothing(in.demands.size()));
    PlanVerifier.Violation refused = null;
    for (Solution solution : tries) {
      if (solution != best) {
        best = solution;
        values = Values.of(in, solution);
        for (int l = 0; l < proved.length; l++) {
          proved[l] = bounds.bound(l, values);
        }
        reason = stopReason();
      }
      Plan plan = build(solution, reason, score(), true);
      List<PlanVerifier.Violation> violations = verify(plan);
      if (violations.isEmpty()) {
        // Once more, so that the time of verifying is in the plan.
        return timed(plan);
      }
      refused = violations.get(0);
      LOG.log(Logger.Level.WARNING, "A plan was rejected by the verifier: {0}", violations);
      if (planner.failsOnRejection()) {
        throw new IllegalStateException(
            "The verifier rejected a plan of " + engines + ": " + violations + "\n" + plan);
      }
      note(
          "An answer was rejected by the verifier and dropped ("
              + refused.path()
              + ": "
              + refused.message()
              + "); please report it with the fleet and the requests.");
    }
    throw new IllegalStateException(
        "Not even the plan that changes nothing passes the verifier: " + refused);
  }

  private Plan timed(Plan plan) {
    Plan.Builder b = plan.toBuilder();
    phases.forEach((name, sum) -> b.phase(new Phase(name, Duration.ofNanos(sum[0]), sum[1])));
    return b.time(Duration.ofNanos(System.nanoTime() - startNanos)).build();
  }

  private Plan build(Solution solution, StopReason reason, Score score, boolean explain) {
    Plan.Builder b = Plan.builder(in.fleet.version(), in.rules).score(score).stopped(reason);
    engines.forEach(b::engine);
    notes.forEach(b::note);
    Explainer explainer =
        new Explainer(in, solution, reason, score.isOptimal(), explain ? hardStop : stop);
    long since = System.nanoTime();
    int unplaced = 0;
    for (int d = 0; d < in.demands.size(); d++) {
      Assignment a = solution.placed().get(d);
      Demand demand = in.demands.get(d);
      if (a != null) {
        b.placement(placement(demand, a));
      } else {
        unplaced++;
        b.unplaced(
            explain
                ? explainer.explain(d)
                : new Unplaced(
                    demand.request().id(),
                    Reason.DEADLINE,
                    false,
                    Unplaced.Evidence.of(0),
                    "Not placed so far; the solve goes on."));
      }
    }
    if (unplaced > 0 && explain) {
      phase("explain", since, unplaced);
    }
    for (Instance.Free free : in.free) {
      if (solution.evicted().contains(free.request().id())) {
        b.eviction(new Eviction(free.request().id(), free.slices()));
        continue;
      }
      for (RunningSlice slice : free.slices()) {
        Solution.Target to = solution.moved().get(slice.id());
        if (to != null) {
          TpuTopology t = in.pods.get(to.pod()).topology();
          b.move(
              new Move(
                  slice,
                  new Placement(
                      slice.id(),
                      in.pods.get(to.pod()).id(),
                      t,
                      slice.shape(),
                      to.footprint(),
                      slice.twist())));
        }
      }
    }
    broken(solution, b);
    return b.build();
  }

  private void broken(Solution solution, Plan.Builder b) {
    if (in.broken.isEmpty()) {
      return;
    }
    Set<String> movable = new TreeSet<>();
    in.free.stream().filter(f -> f.permission().move()).forEach(f -> movable.add(f.request().id()));
    for (RunningSlice slice : in.broken) {
      SliceId id = slice.id();
      if (solution.moved().containsKey(id) || solution.evicted().contains(id.request())) {
        continue;
      }
      boolean may = movable.contains(id.request());
      b.broken(
          new BrokenSlice(
              slice,
              may ? Reason.FRAGMENTED : Reason.PINNED,
              may
                  ? "It uses a failed part, and no free place was found to which it could move."
                  : "It uses a failed part, and the rules do not let it move."));
    }
  }

  private RequestPlacement placement(Demand demand, Assignment a) {
    Choice choice = demand.choices().get(a.choice());
    List<Placement> slices = new ArrayList<>(a.footprints().size());
    for (int s = 0; s < a.footprints().size(); s++) {
      TpuTopology t = in.pods.get(a.pods()[s]).topology();
      slices.add(
          new Placement(
              new SliceId(demand.request().id(), s),
              in.pods.get(a.pods()[s]).id(),
              t,
              choice.shape(),
              a.footprints().get(s),
              choice.twisted() ? t.twist(choice.shape()).orElse(Twist.NONE) : Twist.NONE));
    }
    return new RequestPlacement(demand.request(), slices, choice.rank());
  }
}
