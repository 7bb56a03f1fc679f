package dev.slicewright.solve;

import dev.slicewright.CancelToken;
import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.SliceId;
import dev.slicewright.SolveBudget;
import dev.slicewright.cost.Collectives;
import dev.slicewright.cost.Disruption;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.ModelPrices;
import dev.slicewright.formulation.ortools.LpRelaxation;
import dev.slicewright.plan.BrokenSlice;
import dev.slicewright.plan.CountedRepairs;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.Move;
import dev.slicewright.plan.ObjectiveLevels;
import dev.slicewright.plan.Phase;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.Reason;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.RoomMoves;
import dev.slicewright.plan.Score;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.plan.Staying;
import dev.slicewright.plan.StopReason;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.Permission;
import dev.slicewright.search.Assignment;
import dev.slicewright.search.Demand;
import dev.slicewright.search.Demand.Choice;
import dev.slicewright.search.PlacementSearch;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.lang.System.Logger;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
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

  /** The longest that a search goes on before such a formulation. */
  private static final long MOST_SEARCH_NANOS = 1_000_000_000;

  /** Candidates that a formulation may be asked to hold, for each millisecond of the deadline. */
  private static final long CANDIDATES_PER_MILLI = 6;

  /** So many at least. */
  private static final int MIN_CANDIDATES = 6_000;

  /** So many at most; always so many where running slices may move, and on mesh questions. */
  private static final int MAX_CANDIDATES = 40_000;

  /** So many at most where everything is counted. */
  private static final int MAX_COUNTED = 100_000;

  private static final long LISTENER_PAUSE_NANOS = 10_000_000;

  private final SlicePlanner planner;
  private final SolveBudget budget;
  private final Consumer<Plan> listener;
  private final Instance in;
  private final Stop stop; // the search's, a little before the deadline
  private final Stop hardStop;
  private final long startNanos;
  private final Map<String, long[]> phases = new LinkedHashMap<>(); // nanos, size
  private final ArrayDeque<long[]> spans = new ArrayDeque<>(); // since, nanos
  private final Set<String> engines = new java.util.LinkedHashSet<>();
  private final List<String> notes = new ArrayList<>();
  private final Bounds bounds;
  private final Prover prover;
  private final Thread owner = Thread.currentThread();
  private final Asker asker;
  private Solution best;
  private volatile long[] values; // replaced, never changed; read by those that prove it
  private final Bounds.Bound[] proved;
  private final long[][] provedFor; // the values, of earlier levels, for which each bound holds
  private final Map<Integer, Opinion> opinions = new HashMap<>(); // by level
  private final Map<Integer, String> alone = new TreeMap<>(); // by level: who claimed an optimum
  private final @Nullable Long[] claimed;
  private final boolean repairs; // whether something broken may move
  private @Nullable PlacementSearch running;
  private final List<PlacementSearch> beside = new ArrayList<>(); // searches on other threads
  private boolean paused; // whether the search was stopped for a formulation, with time left
  private boolean roundsRanOut;
  private long lastTold;
  private long @Nullable [] toldValues;

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
    this.bounds = new Bounds(in, stop, hardStop.deadlineNanos());
    this.prover = new Prover(in, bounds, budget.deadline().toMillis());
    this.asker = new Asker(stop, hardStop, this::note);
    this.best = Solution.nothing(in.demands.size());
    this.values = Values.of(in, best);
    this.proved = new Bounds.Bound[in.levels.size()];
    this.provedFor = new long[in.levels.size()][];
    this.claimed = new Long[in.levels.size()];
    this.repairs = Completion.hasRepairs(in);
  }

  /** Ends a phase; what others took within it is theirs, so that times add up. */
  private void phase(String name, long sinceNanos, long size) {
    long whole = System.nanoTime() - sinceNanos;
    long own = whole;
    while (!spans.isEmpty() && spans.peekLast()[0] - sinceNanos >= 0) {
      own -= spans.removeLast()[1];
    }
    spans.addLast(new long[] {sinceNanos, whole});
    long[] sum = phases.computeIfAbsent(name, n -> new long[2]);
    sum[0] += own;
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
      PlacementSearch search = running;
      if (search != null && paused && !isDone() && !stop.getAsBoolean()) {
        paused = false;
        improve(search, Math.max(0, roundLimit() - ROUNDS_BEFORE_MODEL), stop, false);
      }
    }
    bound();
    return finish(first);
  }

  /**
   * The plan of a solution from elsewhere: bounded and explained, not improved.
   *
   * @throws InvalidInputException if the verifier rejects it
   */
  Plan planOf(Solution solution, String engine) {
    best = solution;
    values = Values.of(in, solution);
    engines.add(engine);
    bound();
    if (gap() != 0) {
      note(
          "The plan is imported: what the solver that found it proved is not taken, so the gap is to"
              + " a bound of our own.");
    }
    Plan plan = build(solution, stopReason(), score(), true);
    Problems problems = new Problems();
    verify(plan).forEach(v -> problems.add(v.path(), v.message()));
    problems.throwIfAny("solution");
    return timed(plan);
  }

  // ---------------------------------------------------------------- search

  private void search() {
    long since = System.nanoTime();
    PlacementSearch search = newSearch(budget.seed());
    search.construct(stop);
    engines.add("search");
    if (in.demands.isEmpty() && !in.free.isEmpty()) {
      count();
    }
    adopt(repaired(search));
    if (repairs) {
      Solution nothing = Solution.nothing(in.demands.size());
      adopt(Completion.of(in, nothing, true, budget.seed(), stop));
    }
    phase("search", since, in.demands.size());
    displace();
    bound();
    long most = startNanos + budget.deadline().toNanos() / 3 * 2;
    stop.bringForward(Math.max(most, stop.deadlineNanos() - bounds.verifyNanos()));
    if (isDone() || stop.getAsBoolean()) {
      return;
    }
    tell();
    improveDisplacement();
    if (isDone() || stop.getAsBoolean()) {
      return;
    }
    running = search;
    ModelTranslation model = planner.hasFormulations() ? translation() : null;
    boolean small = model != null;
    boolean fast = budget.mode() == SolveBudget.Mode.FAST;
    long rounds = roundLimit();
    Stop own = stop;
    if (model != null) {
      // A share of the time; where runs must repeat, a number of rounds. The rest comes after.
      planner.preload();
      paused = true;
      boolean quick =
          model.isCounted() || FormulationOrder.isMeshQuestion(planner.formulations(), model);
      long percent = quick ? 2 : in.free.isEmpty() ? 50 : 20;
      if (fast) {
        long nanos = Math.min(stop.remainingNanos() / 100 * percent, MOST_SEARCH_NANOS);
        own = new Stop(stop.token(), System.nanoTime() + nanos);
      } else {
        rounds = ROUNDS_BEFORE_MODEL;
      }
    }
    improve(search, rounds, own, small);
  }

  /** Weighs what may go against the room there is, where nothing new is wanted. */
  private void count() {
    long since = System.nanoTime();
    CountedRepairs counted =
        CountedRepairs.of(in.fleet, in.requests, in.rules, in.cost, stop).orElse(null);
    if (counted != null) {
      engines.add("count");
      bounds.count(counted, System.nanoTime() - since);
      Solution solution = Repair.of(in, counted);
      if (solution != null && Displacement.keepsRules(in, solution)) {
        adopt(solution);
      }
    }
    phase("count", since, in.free.size());
  }

  // ---------------------------------------------------------------- displacement

  /** Rounds of displacement for each millisecond of the deadline, where runs must repeat. */
  private static final double DISPLACEMENTS_PER_MILLI = 0.5;

  private @Nullable Displacement displacement; // on which to go on

  /** Lets what runs move or leave for what is not placed. */
  private void displace() {
    boolean single = in.isSingle();
    if (in.free.isEmpty() || earnsAll() && (!single || isDone())) {
      return;
    }
    long since = System.nanoTime();
    engines.add("displacement");
    boolean moves = Displacement.anyMayMove(in);
    for (int hopeful = moves ? 1 : 0; hopeful >= 0 && !stop.getAsBoolean(); hopeful--) {
      Displacement d = new Displacement(in, hopeful == 1, budget.seed());
      if (single) {
        offer(d.one(stop));
      } else {
        d.construct(stop);
        offer(d.realised());
        displacement = d; // the last goes on: what it counts on is sure
      }
    }
    compact();
    phase("displace", since, in.free.size());
  }

  /** Whether each demand earns as much as any of its choices would. */
  private boolean earnsAll() {
    for (int d = 0; d < in.demands.size(); d++) {
      Assignment a = best.placed().get(d);
      for (Choice choice : in.demands.get(d).choices()) {
        if (a == null || in.demands.get(d).choices().get(a.choice()).gain() < choice.gain()) {
          return false;
        }
      }
    }
    return true;
  }

  /** Makes room for one slice by moving what runs: at first by chance, then by all ways. */
  private void compact() {
    int level = in.level(Level.Kind.DISRUPTION, 0);
    RoomMoves moves =
        in.requests.isEmpty()
                && in.isSingle()
                && in.rules.disruption().slices() > 0
                && Displacement.anyMayMove(in)
            ? bounds.roomMoves()
            : null;
    if (moves == null || moves.places().isEmpty() || stop.getAsBoolean()) {
      return;
    }
    Compaction c = new Compaction(in, moves, budget.seed());
    if (hasAllRoom()) {
      c.known(values[level]);
    }
    boolean fast = budget.mode() == SolveBudget.Mode.FAST;
    int extra = fast ? planner.acquireWorkers(Math.min(1, budget.workers() - 1)) : 0;
    long now = System.nanoTime();
    long left = Math.max(0, stop.remainingNanos());
    Stop first = new Stop(stop.token(), now + left / (fast ? 5 : 2));
    // The verifier searches as long again.
    Stop second = new Stop(stop.token(), now + left / 100 * 57);
    long rounds = fast ? Long.MAX_VALUE : Math.max(50, budget.deadline().toMillis() / 2);
    boolean sound;
    try {
      Map<String, Runnable> others = new LinkedHashMap<>();
      if (extra > 0) {
        others.put("moves", () -> c.run(1, rounds, first, stepsOfAll(), second));
      }
      sound = sideBySide(others, () -> c.run(0, rounds, first, stepsOfAll(), second), () -> {});
    } finally {
      planner.releaseWorkers(extra);
    }
    boolean proved = sound && c.isProved(stepsOfAll(), second);
    long took = System.nanoTime() - now;
    Solution solution = c.solution();
    if (solution != null) {
      offer(solution);
    }
    if (proved && hasAllRoom()) {
      bounds.offer(level, new Bounds.Bound(c.best(), new Proof.Searched(c.steps())), values, took);
    }
  }

  /** Whether the one slice has its room, at its best shape, and nothing leaves for it. */
  private boolean hasAllRoom() {
    Assignment room = best.placed().get(0);
    List<Choice> choices = in.demands.get(0).choices();
    return room != null
        && best.evicted().isEmpty()
        && choices.get(room.choice()).gain() == in.goals.mostGain(in.demands.get(0).request());
  }

  private long stepsOfAll() {
    return budget.mode() == SolveBudget.Mode.FAST
        ? Long.MAX_VALUE
        : 20 * Math.max(50, budget.deadline().toMillis());
  }

  private boolean offer(@Nullable Solution solution) {
    if (solution == null) {
      return false;
    }
    boolean better = adopt(solution);
    if (repairs || best.placed().contains(null)) {
      better |= adopt(Completion.of(in, solution, true, budget.seed(), stop));
    }
    return better;
  }

  /** Goes on displacing, where many are wanted. */
  private void improveDisplacement() {
    Displacement d = displacement;
    if (d == null) {
      return;
    }
    long since = System.nanoTime();
    boolean fast = budget.mode() == SolveBudget.Mode.FAST;
    long rounds =
        fast
            ? Long.MAX_VALUE
            : Math.max(50, (long) (budget.deadline().toMillis() * DISPLACEMENTS_PER_MILLI));
    long remaining = stop.remainingNanos();
    boolean modelled =
        planner.hasFormulations() && d.candidates() <= remaining / 5 / CANDIDATE_NANOS;
    long share = Math.min(remaining / 100 * (modelled ? 80 : 97), 3_000_000_000L);
    Stop own = fast ? new Stop(stop.token(), System.nanoTime() + share) : stop;
    int level = firstOpen();
    boolean prices = level >= 0 && VictimPrices.applies(in, level);
    int extra = prices && fast ? planner.acquireWorkers(Math.min(1, budget.workers() - 1)) : 0;
    AtomicBoolean news = new AtomicBoolean(); // of bounds
    AtomicBoolean over = new AtomicBoolean();
    BooleanSupplier end = () -> over.get() || own.getAsBoolean();
    AtomicReference<@Nullable Solution> found = new AtomicReference<>();
    try {
      Map<String, Runnable> others = new LinkedHashMap<>();
      if (extra > 0) {
        Beside told = new Beside(news, found);
        others.put("prices", () -> prices(level, Integer.MAX_VALUE, end, told));
      }
      sideBySide(
          others,
          () ->
              d.improve(
                  rounds,
                  () -> {
                    Solution other = found.getAndSet(null);
                    boolean ends = own.getAsBoolean();
                    if (!ends && other != null && offer(other)) {
                      tell();
                    }
                    return ends || news.getAndSet(false) && isDone();
                  },
                  better -> {
                    if (offer(better.realised())) {
                      tell();
                    }
                  }),
          () -> over.set(true));
    } finally {
      planner.releaseWorkers(extra);
    }
    offer(found.get());
    if (extra == 0 && prices) {
      prices(level, (int) Math.min(PRICE_STEPS, rounds), stop, null);
    }
    phase("displace", since, in.free.size());
    bound();
  }

  /** What a thread beside the search tells it: that there are new bounds, and better plans. */
  private record Beside(AtomicBoolean news, AtomicReference<@Nullable Solution> found) {}

  /**
   * Proves what it can of the values held, level by level, by prices on cells. Where these can do
   * no more it looks for better values itself.
   *
   * @param beside what is told while values may still become better; null if they are final
   */
  private void prices(int from, int steps, BooleanSupplier end, @Nullable Beside beside) {
    try {
      Displacement places = new Displacement(in, false, budget.seed());
      Displacement search = null; // of its own
      VictimPrices climbing = null;
      long[] held = {};
      long[] tried = {-1}; // earlier values for which there are prices of the next level
      int idle = 0;
      long last = 0;
      int level = from;
      int left = steps;
      while (left > 0 && !end.getAsBoolean()) {
        if (held != values) {
          held = values;
          level = from;
        }
        while (level < held.length && bounds.bound(level, held).value() == held[level]) {
          level++;
        }
        boolean open = level < held.length && VictimPrices.applies(in, level);
        boolean known = open && Arrays.equals(tried, Arrays.copyOf(held, level));
        if (open && !known) {
          tried = Arrays.copyOf(held, level);
          TreePrices best = TreePrices.of(in, places, level, held);
          // On placed chips the others may prove more.
          boolean nested = best != null && in.levels.get(level).kind() != Level.Kind.PLACED;
          if (best != null) {
            best.solve(MOST_CUTS, end);
            bounds.offer(level, best.certificate(), held);
            tell(beside);
          }
          climbing = nested ? null : new VictimPrices(in, level, held, budget.seed());
          idle = 0;
          continue;
        }
        if (open && climbing != null) {
          left -= Math.max(1, climbing.improve(Math.min(left, STEPS_A_TURN), end));
          long bound = bounds.offer(level, climbing.certificate(), held);
          idle = bound == last ? idle + 1 : 0;
          last = bound;
          if (idle == 0) {
            tell(beside);
          }
          if (idle < MOST_IDLE || beside == null) {
            continue;
          }
        } else if (beside == null) {
          return;
        }
        if (search == null) {
          search = new Displacement(in, false, budget.seed() + 1);
          search.bold();
          search.construct(end);
        }
        long[] than = held;
        search.improve(
            DISPLACEMENTS_A_TURN,
            () -> end.getAsBoolean() || values != than,
            better -> publish(better.realised(), beside));
      }
    } catch (ArithmeticException e) {
      // Figures too large for prices: no bound.
    }
  }

  private static void tell(@Nullable Beside beside) {
    if (beside != null) {
      beside.news().set(true);
    }
  }

  /** Hands a plan over if it is better than the one in hand. */
  private void publish(@Nullable Solution solution, Beside beside) {
    if (solution != null && Values.compare(in.levels, Values.of(in, solution), values) > 0) {
      beside.found().set(solution);
    }
  }

  /** Turns of prices without a better bound after which they alternate with a search. */
  private static final int MOST_IDLE = 4;

  private static final int DISPLACEMENTS_A_TURN = 40;

  /** The least that a formulation needs for a candidate. */
  private static final long CANDIDATE_NANOS = 4_000;

  /** Cuts that the best prices may take: a few dozen do as a rule. */
  private static final int MOST_CUTS = 2_000;

  /** Steps of prices after which it is seen what they prove. */
  private static final int STEPS_A_TURN = 25;

  /** Steps of prices where runs must repeat, or there is one worker. */
  private static final long PRICE_STEPS = 150;

  /** The first level that is not proved, or -1. */
  private int firstOpen() {
    for (int l = 0; l < proved.length; l++) {
      if (refresh(l).value() != values[l]) {
        return l;
      }
    }
    return -1;
  }

  private long roundLimit() {
    if (budget.mode() == SolveBudget.Mode.FAST) {
      return Long.MAX_VALUE;
    }
    return Math.max(200, budget.deadline().toMillis() * ROUNDS_PER_MILLI);
  }

  private PlacementSearch newSearch(long seed) {
    return new PlacementSearch(
        in.pods, in.demands, in.limits, in.priorities.length, in.rules.now(), seed, in.credits);
  }

  /** Rounds of search, and turns of the prover, that alternate on one thread. */
  private static final int ROUNDS_A_TURN = 100;

  private static final int TURNS = 3;

  /**
   * Search and bound side by side. Where runs need not repeat the prover has a thread of its own,
   * and further workers search; else one thread does both in turn.
   */
  private void improve(PlacementSearch search, long rounds, Stop own, boolean small) {
    long since = System.nanoTime();
    boolean fast = budget.mode() == SolveBudget.Mode.FAST;
    Race race = new Race(own, fast);
    race.offer(search);
    int extra =
        budget.mode() == SolveBudget.Mode.REPRODUCIBLE || small && !fast
            ? 0
            : planner.acquireWorkers(budget.workers() - 1);
    boolean proves = prover.applies();
    try {
      Map<String, Runnable> others = new LinkedHashMap<>();
      for (int w = 1; w <= extra; w++) {
        boolean isNew = beside.size() < w; // else it goes on from where it was
        if (isNew) {
          PlacementSearch made = newSearch(budget.seed() + 0x9E3779B97F4A7C15L * w);
          beside.add(made);
          if (w % 2 == 1) {
            made.warm(); // tori that are nearly full profit, tight ones do not: one of each
          }
        }
        PlacementSearch other = beside.get(w - 1);
        boolean first = w == 1 && fast && proves;
        others.put(
            first ? "prover" : "search-" + w,
            () -> {
              if (first) {
                race.prove();
              }
              if (isNew) {
                other.construct(race.stop);
              }
              race.alternate(other, rounds, first ? 1 : 0);
            });
      }
      boolean both = proves && !(fast && extra > 0);
      boolean sound =
          sideBySide(
              others,
              () -> roundsRanOut = race.alternate(search, rounds, both ? TURNS : 0) >= rounds,
              () -> race.over = true);
      if (!sound) {
        beside.clear();
      }
    } finally {
      planner.releaseWorkers(extra);
    }
    adopt(repaired(search));
    for (PlacementSearch other : beside) {
      adopt(repaired(other));
    }
    phase("search", since, in.demands.size());
    bound();
  }

  /**
   * Works here, and on a thread each beside it.
   *
   * @param others the work of the threads, by name
   * @param end called when the work here has ended; then the threads are waited for
   * @return whether no thread failed; one that did is noted
   */
  private boolean sideBySide(Map<String, Runnable> others, Runnable here, Runnable end) {
    AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
    List<Thread> threads = new ArrayList<>(others.size());
    try {
      others.forEach(
          (name, work) -> {
            Thread thread =
                new Thread(
                    () -> {
                      try {
                        work.run();
                      } catch (RuntimeException | Error e) {
                        failure.set(e);
                      }
                    },
                    "slicewright-" + name);
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
          });
      here.run();
    } finally {
      end.run();
      threads.forEach(SolveRun::join);
    }
    Throwable failed = failure.get();
    if (failed != null) {
      note("A thread beside the search failed (" + failed + "); please report it.");
    }
    return failed == null;
  }

  /** What threads that search and prove at once have in common. */
  private final class Race {
    private final boolean fast; // whether threads may end and guide one another
    private final long[] atStart = values; // of the levels that a search knows nothing of
    private final AtomicReference<long[]> leading = new AtomicReference<>(atStart);
    final BooleanSupplier stop;
    volatile boolean over; // read by all where fast; else each thread does its rounds

    Race(Stop own, boolean fast) {
      this.fast = fast;
      this.stop = fast ? () -> over || own.getAsBoolean() : own;
    }

    /** Makes a search's value the one to prove, if it is better. */
    void offer(PlacementSearch search) {
      long[] own = levelValues(search.value());
      leading.accumulateAndGet(own, (a, b) -> Values.compare(in.levels, b, a) > 0 ? b : a);
    }

    /** Proves until there is nothing left to do. */
    void prove() {
      while (!stop.getAsBoolean()) {
        long[] aim = Objects.requireNonNull(leading.get());
        if (isMet(aim)) {
          over = true;
        } else if (!prover.work(aim)) {
          return;
        }
      }
    }

    /**
     * Searches, and after every so many rounds takes some turns at proving.
     *
     * @return the rounds done
     */
    long alternate(PlacementSearch search, long rounds, int turns) {
      long done = 0;
      Prover.Guide followed = null;
      while (done < rounds && !stop.getAsBoolean()) {
        Prover.Guide guide = fast || turns > 0 ? prover.guide() : null;
        if (guide != followed && guide != null) {
          search.guide(guide.byPod());
          followed = guide;
        }
        long some = Math.min(ROUNDS_A_TURN, rounds - done);
        long did =
            search.improve(
                some,
                stop,
                () -> {
                  offer(search);
                  told(search);
                });
        done += did;
        if (did == 0) {
          break; // nothing that it could change
        }
        long[] aim = fast ? Objects.requireNonNull(leading.get()) : levelValues(search.value());
        boolean met = turns > 0 && isMet(aim);
        for (int i = 0; i < turns && !met && !stop.getAsBoolean(); i++) {
          if (!prover.work(aim)) {
            break;
          }
          met = isMet(aim);
        }
        if (met) {
          over = true;
          break;
        }
      }
      return done;
    }

    /** A search's value level by level. */
    private long[] levelValues(long[] value) {
      long[] out = atStart.clone();
      int p = 0;
      for (int l = 0; l < out.length; l++) {
        switch (in.levels.get(l).kind()) {
          case PLACED, ROOM -> out[l] = value[p++];
          case SHAPE_RANK -> out[l] = -value[in.priorities.length];
          case PRICE -> out[l] = -value[in.priorities.length + 1];
          case KEPT, DRAIN, DISRUPTION, NEW_HOSTS -> {}
        }
      }
      return out;
    }
  }

  private void told(PlacementSearch search) {
    if (listener != SlicePlanner.NOBODY
        && Thread.currentThread() == owner
        && System.nanoTime() - lastTold > LISTENER_PAUSE_NANOS) {
      adopt(Solution.of(search.assignments()));
      tell();
    }
  }

  /** Whether a search cannot do better than these values, or not by more than the gap asked for. */
  private boolean isMet(long[] aim) {
    for (int l = 0; l < aim.length; l++) {
      Level level = in.levels.get(l);
      boolean own =
          switch (level.kind()) {
            case PLACED, ROOM, SHAPE_RANK, PRICE -> true;
            case KEPT, DRAIN, DISRUPTION, NEW_HOSTS -> false;
          };
      long bound = own ? bounds.bound(l, aim).value() : aim[l];
      if (bound != aim[l]) {
        long of = Math.max(1, level.kind().maximise() ? bound : aim[l]);
        return Math.abs(bound - aim[l]) <= budget.gapTarget() * of;
      }
    }
    return true;
  }

  static void join(Thread thread) {
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

  /** What a search has placed, and what is broken moved beside it. */
  private Solution repaired(PlacementSearch search) {
    Solution solution = Solution.of(search.assignments());
    return repairs ? Completion.of(in, solution, false, budget.seed(), stop) : solution;
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

  /** Bounds every level, for the values held at the earlier ones. */
  private void bound() {
    long since = System.nanoTime();
    for (int l = 0; l < proved.length; l++) {
      refresh(l);
    }
    phase("bound", since, proved.length);
  }

  /** The bound of a level; a known one counts only as long as the earlier values are the same. */
  private Bounds.Bound refresh(int l) {
    Bounds.Bound known = proved[l];
    if (known != null && isFor(provedFor[l], l)) {
      if (known.value() == values[l]) {
        return known;
      }
      Bounds.Bound now = bounds.bound(l, values);
      boolean max = in.levels.get(l).kind().maximise();
      return (max ? now.value() < known.value() : now.value() > known.value())
          ? prove(l, now)
          : known;
    }
    claimed[l] = null;
    return prove(l, bounds.bound(l, values));
  }

  private Bounds.Bound prove(int l, Bounds.Bound bound) {
    proved[l] = bound;
    provedFor[l] = values;
    return bound;
  }

  /** Whether the values of the levels before one are those in hand. */
  private boolean isFor(long[] of, int l) {
    return of == values || Arrays.equals(of, 0, l, values, 0, l);
  }

  /** The values of the levels before one. */
  private long[] before(int l) {
    return Arrays.copyOf(values, l);
  }

  private boolean provedAll() {
    for (int l = 0; l < proved.length; l++) {
      if (refresh(l).value() != values[l]) {
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
      Bounds.Bound b = refresh(l);
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

  /** More time, more candidates: at most so many. */
  private int candidatesInTime(int most) {
    long byTime = CANDIDATES_PER_MILLI * budget.deadline().toMillis(); // a day at the most
    return (int) Math.max(MIN_CANDIDATES, Math.min(most, byTime));
  }

  private @Nullable ModelTranslation translation() {
    if (!translated) {
      long since = System.nanoTime();
      translated = true;
      boolean large = !in.free.isEmpty() || FormulationOrder.mayBeMeshQuestion(in);
      translation =
          ModelTranslation.counted(
              in,
              large ? MAX_CANDIDATES : candidatesInTime(MAX_CANDIDATES),
              candidatesInTime(MAX_COUNTED),
              stop);
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
    List<Formulation> order =
        FormulationOrder.of(planner.formulations(), planner.namedFormulations(), t.model());
    for (Formulation formulation : order) {
      if (isDone() || stop.getAsBoolean()) {
        break;
      }
      if (formulation instanceof LpRelaxation && in.free.isEmpty() && prover.applies()) {
        continue; // our own relaxation is the same, and quicker
      }
      formulate(t, formulation);
    }
    for (Map.Entry<Integer, String> claim : alone.entrySet()) {
      int level = claim.getKey();
      if (refresh(level).value() != values[level]) {
        note(
            claim.getValue()
                + " claims an optimum that nothing else confirms, so it does not count as proved;"
                + " give the planner a second formulation.");
      }
    }
  }

  private void formulate(ModelTranslation t, Formulation formulation) {
    long since = System.nanoTime();
    for (int l = 0; l < in.levels.size() && !stop.getAsBoolean(); l++) {
      if (refresh(l).value() != values[l] && !solveLevel(t, formulation, l)) {
        break;
      }
    }
    phase("solve", since, t.model().candidates().size());
    bound();
  }

  private FormulationTask task(ModelTranslation t, int level, int variant) {
    long[] held = before(level);
    for (int l = 0; l < level; l++) {
      held[l] -= t.constant(l);
    }
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

  /** What a formulation said is optimal, the earlier values held. */
  private record Opinion(long[] before, long value, String by) {}

  /** Optimises one level; false if the formulation is of no further use. */
  private boolean solveLevel(ModelTranslation t, Formulation formulation, int level) {
    String name = formulation.name();
    FormulationTask task = task(t, level, 0);
    FormulationResult first = asker.ask(formulation, t.model(), task);
    if (first == null) {
      return false;
    }
    engines.add(name);
    if (first.status() == FormulationResult.Status.FAILED) {
      note(name + " failed: " + first.message() + ".");
    }
    long[] before = before(level);
    long optimum = take(t, name, first, level);
    if (!Arrays.equals(before, before(level))) {
      return true; // an earlier level has become better, so what was claimed is of no use
    }
    if (in.levels.get(level).kind() == Level.Kind.NEW_HOSTS && !t.newHostsExact()) {
      return false; // the model's figures are too high, so a claim about them says nothing
    }
    certify(t, first, level);
    if (refresh(level).value() == values[level]) {
      return true;
    }
    claim(t, name, first, level);
    if (first.status() != FormulationResult.Status.OPTIMAL
        || optimum != values[level]
        || stop.getAsBoolean()) {
      return first.status() != FormulationResult.Status.FAILED;
    }
    // One solver's word is a claim; another, or a second setting of our own, has to agree.
    Opinion other = opinions.get(level);
    if (other != null
        && !other.by().equals(name)
        && other.value() == optimum
        && Arrays.equals(other.before(), before)) {
      prove(level, new Bounds.Bound(optimum, new Proof.Agreement(other.by(), name)));
      return true;
    }
    opinions.put(level, new Opinion(before, optimum, name));
    if (!FormulationOrder.hasSecondSetting(formulation)) {
      alone.put(level, name);
      return true;
    }
    FormulationResult second = asker.ask(formulation, t.model(), task(t, level, 1));
    if (second == null) {
      return true;
    }
    long again = take(t, name, second, level);
    if (Arrays.equals(before, before(level))
        && second.status() == FormulationResult.Status.OPTIMAL) {
      if (again == optimum && optimum == values[level]) {
        prove(
            level,
            new Bounds.Bound(optimum, new Proof.Agreement(name, name + " (second setting)")));
      } else {
        opinions.remove(level);
        note("Two settings of " + name + " disagree, so neither counts; please report it.");
      }
    }
    return true;
  }

  /** Prices that came with a result count for what they prove, recomputed exactly. */
  private void certify(ModelTranslation t, FormulationResult result, int level) {
    ModelPrices prices = result.evidence().orElse(null);
    if (prices == null) {
      return;
    }
    try {
      t.certificate(level, prices).ifPresent(c -> bounds.offer(level, c, values));
    } catch (ArithmeticException | IllegalArgumentException | IndexOutOfBoundsException e) {
      // Prices of another shape or beyond all figures prove nothing.
    }
  }

  /** Takes a claimed bound; one that the plan in hand refutes is reported. */
  private void claim(ModelTranslation t, String name, FormulationResult result, int level) {
    Long bound = result.bound();
    boolean max = in.levels.get(level).kind().maximise();
    if (result.status() == FormulationResult.Status.INFEASIBLE) {
      note(name + " claims that there is no plan, but one is in hand; its claim was dropped.");
    } else if (bound != null) {
      long claim;
      try {
        claim = Math.addExact(bound, t.constant(level));
      } catch (ArithmeticException e) {
        return;
      }
      if (max ? claim < values[level] : claim > values[level]) {
        note(name + " claims a bound that the plan in hand beats; its claim was dropped.");
      } else {
        claimed[level] = claim;
      }
    }
  }

  /**
   * Checks a solution and keeps it if it is better than the one in hand.
   *
   * @return its value at a level; the worst of all if there is none or it is wrong
   */
  private long take(ModelTranslation t, String name, FormulationResult result, int level) {
    int[] chosen = result.solution().orElse(null);
    if (chosen == null) {
      return Long.MIN_VALUE;
    }
    long value;
    Solution solution;
    try {
      long[] all = t.model().evaluate(chosen);
      long[] before = before(level);
      for (int l = 0; l < level; l++) {
        long own = Math.addExact(all[l], t.constant(l));
        if (in.levels.get(l).kind().maximise() ? own < before[l] : own > before[l]) {
          note("A solution of " + name + " that gives up an earlier level was dropped.");
          return Long.MIN_VALUE;
        }
      }
      value = Math.addExact(all[level], t.constant(level));
      solution = t.decode(chosen);
    } catch (InvalidInputException e) {
      note("A solution of " + name + " that breaks its model was dropped: " + e.problems().get(0));
      return Long.MIN_VALUE;
    }
    if (solution == null) {
      return Long.MIN_VALUE;
    }
    // What the level does not ask for may have been left out: more of it is never worse.
    boolean better = adopt(solution);
    better |= adopt(Completion.of(in, solution, true, budget.seed(), stop));
    if (better) {
      tell();
    }
    return value;
  }

  private void note(String sentence) {
    if (!notes.contains(sentence)) {
      notes.add(sentence);
    }
  }

  // ---------------------------------------------------------------- plan

  private void tell() {
    long[] told = toldValues;
    if (listener == SlicePlanner.NOBODY
        || told != null && Values.compare(in.levels, values, told) <= 0) {
      return;
    }
    lastTold = System.nanoTime();
    Plan plan = build(best, StopReason.EXHAUSTED, score(), false);
    if (verify(plan).isEmpty()) {
      toldValues = values.clone();
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
        PlanVerifier.verify(in.given, in.requests, in.rules, in.cost, plan);
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
    if (!in.free.isEmpty()
        && Set.of("search", "displacement", "count").containsAll(engines)
        && !provedAll()) {
      note("No formulation took part, so what moves or leaves was chosen by search alone.");
    }
    StopReason reason = stopReason();
    if (reason == StopReason.DEADLINE && budget.mode() != SolveBudget.Mode.FAST) {
      note("The deadline cut in, so a second run may give another plan.");
    } else if (reason == StopReason.LIMIT) {
      note(
          String.format(
              Locale.ROOT,
              "The search did all %,d rounds that a deadline of %,d ms stands for where runs must"
                  + " repeat; a longer deadline has more.",
              roundLimit(),
              budget.deadline().toMillis()));
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

  /** Explanations leave time to verify. */
  private Stop explainStop() {
    return new Stop(
        stop.token(),
        Math.max(stop.deadlineNanos(), hardStop.deadlineNanos() - bounds.verifyNanos()));
  }

  private Plan build(Solution solution, StopReason reason, Score score, boolean explain) {
    Plan.Builder b = Plan.builder(in.given.version(), in.rules).score(score).stopped(reason);
    engines.forEach(b::engine);
    notes.forEach(b::note);
    Explainer explainer =
        new Explainer(in, solution, reason, score.isOptimal(), explain ? explainStop() : stop);
    long since = System.nanoTime();
    int unplaced = 0;
    for (int d = 0; d < in.demands.size(); d++) {
      Assignment a = solution.placed().get(d);
      Demand demand = in.demands.get(d);
      if (in.isPhantom(d)) {
        if (a != null) {
          b.room(placement(demand, a));
        }
      } else if (a != null) {
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
                      to.shape(),
                      to.footprint(),
                      twist(slice, t, to.shape()))));
        }
      }
    }
    broken(solution, b);
    staying(solution, b);
    return b.build();
  }

  /** Twisted where that is asked, or where the slice is so now and keeps its shape. */
  private static Twist twist(RunningSlice slice, TpuTopology t, Shape shape) {
    if (slice.request().interconnect() == Interconnect.TWISTED) {
      return t.twist(shape).orElse(Twist.NONE);
    }
    return shape.equals(slice.shape()) && t.twist(shape).isPresent() ? slice.twist() : Twist.NONE;
  }

  private void broken(Solution solution, Plan.Builder b) {
    if (in.broken.isEmpty()) {
      return;
    }
    Set<String> movable = new TreeSet<>();
    in.free.stream().filter(f -> f.permission().move()).forEach(f -> movable.add(f.request().id()));
    Map<String, int[]> mended = new TreeMap<>(); // by request: broken slices that move, and all
    for (RunningSlice slice : in.broken) {
      int[] of = mended.computeIfAbsent(slice.id().request(), r -> new int[2]);
      of[0] += solution.moved().containsKey(slice.id()) ? 1 : 0;
      of[1]++;
    }
    for (RunningSlice slice : in.broken) {
      SliceId id = slice.id();
      if (solution.moved().containsKey(id) || solution.evicted().contains(id.request())) {
        continue;
      }
      boolean may = movable.contains(id.request());
      int kept = in.level(Level.Kind.KEPT, slice.request().priority());
      boolean settled = kept >= 0 && proved[kept] != null && proved[kept].value() == values[kept];
      int[] of = mended.getOrDefault(id.request(), new int[2]);
      String part =
          of[0] == 0
              ? ""
              : " "
                  + of[0]
                  + " of the "
                  + of[1]
                  + " broken slices of "
                  + id.request()
                  + (of[0] == 1 ? " is" : " are")
                  + " moved, so that it is mended in part.";
      b.broken(
          new BrokenSlice(
              slice,
              !may ? Reason.PINNED : settled ? Reason.FRAGMENTED : Reason.UNDECIDED,
              (!may
                      ? "It uses a failed part, and the rules do not let it move."
                      : settled
                          ? "It uses a failed part, and no plan that is as good otherwise moves it:"
                              + " free room, or permit more."
                          : "It uses a failed part, and the solve ended before a place to move to was"
                              + " found or ruled out.")
                  + part));
    }
  }

  /** What is not out of drained parts in time, and why. */
  private void staying(Solution solution, Plan.Builder b) {
    List<RunningSlice> drained = new ArrayList<>(in.goals.onDrained(in.fleet));
    drained.sort(Comparator.comparing(RunningSlice::id));
    for (RunningSlice slice : drained) {
      SliceId id = slice.id();
      if (solution.evicted().contains(id.request())) {
        continue;
      }
      Instant by = in.goals.deadline(in.fleet, slice);
      if (solution.moved().containsKey(id)) {
        Duration restart = Disruption.restartTime(slice);
        if (by != null && Duration.between(in.rules.now(), by).compareTo(restart) < 0) {
          b.staying(
              new Staying(
                  slice,
                  Reason.LATE,
                  "It is moved, but takes "
                      + restart.toSeconds()
                      + " s to come up again, and the drain ends before that, at "
                      + by
                      + "."));
        }
        continue;
      }
      Permission may = ObjectiveLevels.permission(in.fleet, in.rules, id.request());
      boolean pinned = !may.move() && !may.evict();
      boolean settled = isSettled(Level.Kind.DRAIN);
      b.staying(
          new Staying(
              slice,
              pinned ? Reason.PINNED : settled ? Reason.FRAGMENTED : Reason.UNDECIDED,
              pinned
                  ? "The rules let it neither move nor leave the drained part."
                  : settled
                      ? "No plan that is as good otherwise gets it out of the drained part: free"
                          + " room, or permit more."
                      : "The solve ended before a way out of the drained part was found or ruled"
                          + " out."));
    }
  }

  /** Whether all levels up to the first of a kind are proved. */
  private boolean isSettled(Level.Kind kind) {
    for (int l = 0; l < values.length; l++) {
      Bounds.Bound bound = proved[l];
      if (bound == null || bound.value() != values[l]) {
        return false;
      }
      if (in.levels.get(l).kind() == kind) {
        return true;
      }
    }
    return false;
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
    int rank = choice.ranks()[choice.placeOf(a.pods()[0])];
    if (in.isPhantom(demand)) {
      // What does not count is not in the choice.
      TpuTopology t = slices.get(0).topology();
      List<Shape> options = Collectives.shapeOptions(demand.request(), t);
      rank = Collectives.rank(demand.request(), options, choice.shape()).orElse(0);
    }
    return new RequestPlacement(demand.request(), slices, rank);
  }
}
