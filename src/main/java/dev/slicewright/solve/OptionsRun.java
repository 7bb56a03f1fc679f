package dev.slicewright.solve;

import dev.slicewright.CancelToken;
import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.search.Assignment;
import dev.slicewright.search.Demand;
import dev.slicewright.search.Demand.Choice;
import dev.slicewright.search.PodSpace;
import dev.slicewright.search.Want;
import dev.slicewright.solve.Options.Difference;
import dev.slicewright.solve.Options.Leaves;
import dev.slicewright.solve.Options.Option;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Lists the ways to place one request. One slice: every place of every pod that could be among the
 * best is looked at, O(places × (cells of the slice + shapes tried)); whole cubes by their number
 * alone, O(cubes). Several: sets of pods by size. Confined to one thread at a time.
 */
final class OptionsRun {

  private static final int MAX_SHAPES = 2_000;

  /** Sets of pods compared at most. */
  private static final int MAX_SETS = 20_000;

  private final SlicePlanner planner;
  private final Instance in;
  private final SliceRequest request;
  private final Demand demand;
  private final int k;
  private final SolveBudget budget;
  private final CancelToken token = new CancelToken();
  private final long start;
  private final Stop stop; // of comparing; what is left is for building plans
  private final Stop hardStop;
  private final List<Pod> pods; // without the request's own holds, which end when it is placed
  private final Map<Integer, Room> rooms = new HashMap<>();
  private final Map<Integer, CellSet> own = new HashMap<>(); // by pod: the request's live holds
  private boolean complete = true;
  private long compared;

  private OptionsRun(SlicePlanner planner, Instance in, int k, SolveBudget budget, long start) {
    this.planner = planner;
    this.in = in;
    this.request = in.requests.get(0);
    this.demand = in.demands.get(0);
    this.k = k;
    this.budget = budget;
    this.start = start;
    long whole = budget.deadline().toNanos();
    this.stop = new Stop(token, start + whole / 2);
    this.hardStop = new Stop(token, start + whole);
    Fleet bare = in.fleet;
    for (Hold hold : in.fleet.holdsOf(request.id())) {
      bare = bare.dropHold(hold.id());
      if (hold.isLive(in.rules.now())) {
        int p = in.podOf(hold.pod());
        TpuTopology t = in.pods.get(p).topology();
        own.merge(
            p,
            CellSet.empty(t.cellCount()).with(t.cells(hold.footprint())),
            (a, b) -> a.with(b.toArray()));
      }
    }
    this.pods = List.copyOf(bare.pods());
  }

  static Options of(
      SlicePlanner planner,
      Fleet fleet,
      SliceRequest request,
      int k,
      PlanningRules rules,
      SolveBudget budget) {
    long start = System.nanoTime();
    Objects.requireNonNull(budget, "budget");
    if (k < 1 || k > Options.MAX) {
      throw new InvalidInputException(
          "options", "k", "expected 1 to " + Options.MAX + " options, but was " + k);
    }
    return new OptionsRun(planner, planner.alone(fleet, request, rules), k, budget, start).run();
  }

  private Options run() {
    List<Way> ways = request.slices() == 1 ? single() : several();
    List<Option> options = new ArrayList<>();
    for (Way way : ways) {
      if (!options.isEmpty() && hardStop.getAsBoolean()) {
        complete = false;
        break;
      }
      Plan plan = plan(way);
      if (plan != null) {
        options.add(option(plan, way.leaves, options));
      }
    }
    Unplaced reason = null;
    if (options.isEmpty()) {
      long left = Math.max(1, start + budget.deadline().toNanos() - System.nanoTime());
      Plan plan =
          planner.plan(
              in.given,
              List.of(request),
              in.rules,
              budget.toBuilder().deadline(Duration.ofNanos(left)).build());
      if (plan.placements().isEmpty()) {
        reason = plan.unplaced().get(0);
      } else {
        complete = false;
        options.add(option(plan, leavesOf(plan), options));
      }
    }
    return new Options(request.id(), options, reason, complete, compared, sentence(options));
  }

  private String sentence(List<Option> options) {
    String what = request.slices() == 1 ? " distinct places" : " sets of pods";
    if (!options.isEmpty() && compared == 0) {
      return "Found by planning; nothing was compared with it.";
    }
    return String.format(java.util.Locale.ROOT, "%,d", compared)
        + what
        + " were compared"
        + (complete
            ? "; there are no others that could be better."
            : "; there may be others, also better ones.");
  }

  private Option option(Plan plan, List<Leaves> leaves, List<Option> before) {
    List<Difference> levels = new ArrayList<>();
    List<LevelScore> scores = plan.score().levels();
    for (int l = 0; l < scores.size(); l++) {
      Level level = scores.get(l).level();
      long value = scores.get(l).value();
      long best = before.isEmpty() ? value : before.get(0).levels().get(l).value();
      long worse =
          level.kind().maximise()
              ? Math.subtractExact(best, value)
              : Math.subtractExact(value, best);
      levels.add(new Difference(level, value, worse));
    }
    return new Option(plan, levels, leaves);
  }

  private @Nullable Plan plan(Way way) {
    try {
      return new SolveRun(planner, in, budget, token, SlicePlanner.NOBODY, start)
          .planOf(way.solution(in), "options");
    } catch (InvalidInputException e) {
      if (planner.failsOnRejection()) {
        throw new IllegalStateException("The verifier rejected an option: " + e.getMessage(), e);
      }
      complete = false;
      return null;
    }
  }

  // ---------------------------------------------------------------- ways

  /** One way, with what orders it. */
  private static final class Way {
    final int choice;
    final int[] pods; // by slice
    final List<Footprint> footprints;
    final long[] values;
    final long[] order; // less is better
    List<Leaves> leaves = List.of();

    Way(int choice, int[] pods, List<Footprint> footprints, long[] values, long... order) {
      this.choice = choice;
      this.pods = pods;
      this.footprints = footprints;
      this.values = values;
      this.order = order;
    }

    Solution solution(Instance in) {
      Solution nothing = Solution.nothing(in.demands.size());
      List<@Nullable Assignment> placed = new ArrayList<>(nothing.placed());
      placed.set(0, new Assignment(choice, pods, footprints));
      return Solution.of(placed);
    }
  }

  /** The values of all ways of a choice in some pods: they do not depend on the footprints. */
  private long[] values(int choice, int[] slicePods) {
    return Values.of(in, new Way(choice, slicePods, List.of(), new long[0]).solution(in));
  }

  private Comparator<Way> best() {
    return (a, b) -> {
      int c = Values.compare(in.levels, b.values, a.values);
      return c != 0 ? c : Arrays.compare(a.order, b.order);
    };
  }

  private boolean allowed(int[] slicePods, long chips) {
    for (int l = 0; l < in.limits.size(); l++) {
      long need = in.credits == null ? 0 : -in.credits[0][l];
      boolean any = false;
      for (int p : slicePods) {
        if (in.limits.get(l).counts(request.tenant(), p)) {
          need = Math.addExact(need, chips);
          any = true;
        }
      }
      if (any && need > in.limits.get(l).room()) {
        return false;
      }
    }
    return true;
  }

  // ---------------------------------------------------------------- one slice

  /** A choice in a pod. */
  private record Home(int choice, int pod, long[] values) {}

  private List<Way> single() {
    List<Home> homes = new ArrayList<>();
    for (int c = 0; c < demand.choices().size(); c++) {
      for (int p : demand.choices().get(c).pods()) {
        if (allowed(new int[] {p}, demand.choices().get(c).shape().chips())) {
          homes.add(new Home(c, p, values(c, new int[] {p})));
        }
      }
    }
    homes.sort((a, b) -> Values.compare(in.levels, b.values(), a.values()));
    List<Way> found = new ArrayList<>();
    for (int h = 0; h < homes.size(); h++) {
      Home home = homes.get(h);
      if (found.size() >= k
          && Values.compare(in.levels, found.get(k - 1).values, home.values()) > 0) {
        break; // all that follow are worse by the objective alone
      }
      if (stop.getAsBoolean()) {
        complete = false;
        break;
      }
      places(home, found);
      found.sort(best());
      if (found.size() > k) {
        found.subList(k, found.size()).clear();
      }
    }
    return found;
  }

  private void places(Home home, List<Way> found) {
    Choice choice = demand.choices().get(home.choice());
    Pod pod = pods.get(home.pod());
    TpuTopology t = pod.topology();
    if (PodSpace.bestCase(pod, choice.shape(), request.healthyOnly()) == Double.POSITIVE_INFINITY) {
      return;
    }
    Room room = room(home.pod());
    int want = room.space.register(Want.of(request, choice.shape(), pod, in.rules.now()));
    List<Footprint> places = new ArrayList<>();
    room.space.forEachCandidate(want, places::add);
    int cubes = t.cubesOf(choice.shape());
    if (cubes > 0) {
      wholeCubes(home, room, want, places, cubes, found);
      return;
    }
    Room.Figures before = room.figures(want, 0);
    Set<Footprint> seen = new HashSet<>();
    Map<List<Object>, Way> alike = new LinkedHashMap<>(); // on optical cubes: one of each kind
    long number = 0;
    for (Footprint place : places) {
      if (number > 0 && stop.getAsBoolean()) {
        complete = false;
        break;
      }
      if (!seen.add(canonical(t, place))) {
        continue;
      }
      room.space.setTaken(place, true);
      Room.Figures after = room.figures(want, 0);
      room.space.setTaken(place, false);
      int[] cells = t.cells(place);
      int degraded = degraded(pod, place, cells);
      int brokenUp = before.wholeCubes - after.wholeCubes;
      Way way =
          new Way(
              home.choice(),
              new int[] {home.pod()},
              List.of(place),
              home.values(),
              outside(home.pod(), cells),
              before.largestChips() - after.largestChips(),
              brokenUp,
              before.alike - after.alike,
              degraded,
              home.pod(),
              home.choice(),
              number++);
      way.leaves = List.of(room.leaves(after, brokenUp));
      if (t.isOptical()) {
        alike.merge(
            List.of(brokenUp, degraded > 0), way, (a, b) -> best().compare(a, b) <= 0 ? a : b);
      } else {
        compared++;
        found.add(way);
      }
    }
    compared += alike.size();
    found.addAll(alike.values());
  }

  /** Boxes that take a whole axis that wraps are the same wherever they start on it. */
  private static Footprint canonical(TpuTopology t, Footprint place) {
    if (!(place instanceof Footprint.Box box)) {
      return place;
    }
    int[] at = {box.origin().x(), box.origin().y(), box.origin().z()};
    for (Axis axis : Axis.values()) {
      if (box.extents().get(axis) == t.dims().get(axis)) {
        at[axis.ordinal()] = 0;
      }
    }
    return new Footprint.Box(new Chip(at[0], at[1], at[2]), box.extents());
  }

  /** Cells outside the request's own holds, where it has any. */
  private long outside(int pod, int[] cells) {
    if (own.isEmpty()) {
      return 0;
    }
    CellSet held = own.get(pod);
    return cells.length - (held == null ? 0 : held.countOf(cells));
  }

  private static int degraded(Pod pod, Footprint place, int[] cells) {
    if (pod.reportedHealth().isEmpty() || pod.healthOf(place) != Health.DEGRADED) {
      return 0;
    }
    return Math.max(1, pod.health().degradedCells().countOf(cells));
  }

  /** A way for each number of degraded cubes. */
  private void wholeCubes(
      Home home, Room room, int want, List<Footprint> places, int cubes, List<Way> found) {
    Pod pod = pods.get(home.pod());
    TpuTopology t = pod.topology();
    List<CubeId> healthy = new ArrayList<>();
    List<CubeId> degraded = new ArrayList<>();
    places.sort(Comparator.comparingLong(f -> outside(home.pod(), t.cells(f)))); // stable
    for (Footprint place : places) {
      CubeId cube = ((Footprint.Cubes) place).cubes().get(0);
      (pod.healthOf(place) == Health.DEGRADED ? degraded : healthy).add(cube);
    }
    Room.Figures before = room.figures(want, cubes);
    int most = Math.min(cubes, degraded.size());
    for (int d = Math.max(0, cubes - healthy.size()); d <= most; d++) {
      List<CubeId> taken = new ArrayList<>(healthy.subList(0, cubes - d));
      taken.addAll(degraded.subList(0, d));
      taken.sort(Comparator.comparingInt(CubeId::index));
      Footprint place = new Footprint.Cubes(taken);
      room.space.setTaken(place, true);
      Room.Figures after = room.figures(want, cubes);
      room.space.setTaken(place, false);
      Way way =
          new Way(
              home.choice(),
              new int[] {home.pod()},
              List.of(place),
              home.values(),
              outside(home.pod(), t.cells(place)),
              before.largestChips() - after.largestChips(),
              0,
              before.alike - after.alike,
              d,
              home.pod(),
              home.choice(),
              d);
      way.leaves = List.of(room.leaves(after, 0));
      compared++;
      found.add(way);
    }
  }

  // ---------------------------------------------------------------- several slices

  /** Slices of a choice that fit together in a pod, as far as found. */
  private record Filled(int pod, int domain, List<Footprint> slices) {}

  private List<Way> several() {
    List<Way> found = new ArrayList<>();
    boolean byPod = in.cost.hasPrices();
    for (Choice choice : demand.choices()) {
      byPod |= Arrays.stream(choice.ranks()).distinct().count() > 1;
    }
    for (int c = 0; c < demand.choices().size(); c++) {
      if (!byPod && found.size() >= k) {
        break; // a later choice is worse, or no better and later
      }
      List<Filled> filled = filled(demand.choices().get(c));
      int most = Math.min(filled.size(), request.slices());
      for (int size = 1; size <= most && (byPod || found.size() < k); size++) {
        sets(c, filled, size, 0, new ArrayList<>(), found);
      }
    }
    found.sort(best());
    List<Way> kept = new ArrayList<>(found.subList(0, Math.min(k, found.size())));
    for (Way way : kept) {
      way.leaves = leavesOf(way.choice, way.pods, way.footprints);
    }
    return kept;
  }

  private List<Filled> filled(Choice choice) {
    List<Filled> out = new ArrayList<>();
    for (int at = 0; at < choice.pods().length; at++) {
      int p = choice.pods()[at];
      if (stop.getAsBoolean()) {
        complete = false;
        break;
      }
      PodSpace space = room(p).space;
      int want = space.register(Want.of(request, choice.shape(), pods.get(p), in.rules.now()));
      List<PodSpace.Spot> taken = new ArrayList<>();
      while (taken.size() < request.slices()) {
        PodSpace.Spot spot = space.find(want, null);
        if (spot == null) {
          break;
        }
        space.take(spot);
        taken.add(spot);
      }
      for (int i = taken.size() - 1; i >= 0; i--) {
        space.giveBack(taken.get(i));
      }
      TpuTopology t = pods.get(p).topology();
      boolean exact = t.partitions().isPresent() || t.cubesOf(choice.shape()) > 0;
      complete &= exact || taken.size() == request.slices();
      if (!taken.isEmpty()) {
        out.add(
            new Filled(
                p, choice.domains()[at], taken.stream().map(PodSpace.Spot::footprint).toList()));
      }
    }
    return out;
  }

  private void sets(
      int c, List<Filled> filled, int size, int from, List<Filled> set, List<Way> found) {
    if (set.size() == size) {
      compared++;
      Way way = spread(c, set, size);
      if (way != null) {
        found.add(way);
      }
      return;
    }
    for (int i = from; i <= filled.size() - (size - set.size()); i++) {
      if (compared >= MAX_SETS || stop.getAsBoolean()) {
        complete = false;
        return;
      }
      set.add(filled.get(i));
      sets(c, filled, size, i + 1, set, found);
      set.remove(set.size() - 1);
    }
  }

  /** One slice to each pod of a set, the others to those with most room, as the request allows. */
  private @Nullable Way spread(int c, List<Filled> set, int size) {
    Spread spread = request.spread();
    int slices = request.slices();
    int[] count = new int[set.size()];
    Map<Integer, Integer> byDomain = new HashMap<>();
    int sum = 0;
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < count.length; i++) {
      count[i] = 1;
      sum++;
      byDomain.merge(set.get(i).domain(), 1, Integer::sum);
      order.add(i);
    }
    order.sort(Comparator.comparingInt(i -> -set.get(i).slices().size()));
    if (spread.kind() == Spread.Kind.SAME_POD && size > 1) {
      return null;
    }
    for (int i : order) {
      int domain = set.get(i).domain();
      int room = Math.min(set.get(i).slices().size() - 1, slices - sum);
      room =
          switch (spread.kind()) {
            case ANY, SAME_POD -> room;
            case DIFFERENT_PODS -> 0;
            case AT_MOST -> Math.min(room, spread.max() - byDomain.getOrDefault(domain, 0));
          };
      if (room > 0) {
        count[i] += room;
        sum += room;
        byDomain.merge(domain, room, Integer::sum);
      }
    }
    boolean kept =
        spread.kind() != Spread.Kind.AT_MOST
            || byDomain.values().stream().allMatch(n -> n <= spread.max());
    if (sum != slices || !kept) {
      return null;
    }
    int[] slicePods = new int[slices];
    List<Footprint> footprints = new ArrayList<>();
    for (int i = 0; i < count.length; i++) {
      for (int s = 0; s < count[i]; s++) {
        slicePods[footprints.size()] = set.get(i).pod();
        footprints.add(set.get(i).slices().get(s));
      }
    }
    if (!allowed(slicePods, demand.choices().get(c).shape().chips())) {
      return null;
    }
    return new Way(c, slicePods, footprints, values(c, slicePods), size, c, compared);
  }

  // ---------------------------------------------------------------- what is left

  private List<Leaves> leavesOf(Plan plan) {
    List<Leaves> out = new ArrayList<>();
    Fleet after = plan.applyTo(in.fleet);
    Map<String, Shape> used = new TreeMap<>();
    for (Placement slice : plan.placements().get(0).slices()) {
      used.put(slice.pod(), slice.shape());
    }
    used.forEach(
        (id, shape) -> {
          Pod pod = after.pod(id).orElseThrow();
          Room room = new Room(pod);
          int want = room.space.register(Want.of(request, shape, pod, in.rules.now()));
          out.add(room.leaves(room.figures(want, pod.topology().cubesOf(shape)), 0));
        });
    return out;
  }

  private List<Leaves> leavesOf(int c, int[] slicePods, List<Footprint> footprints) {
    List<Leaves> out = new ArrayList<>();
    Shape shape = demand.choices().get(c).shape();
    Set<Integer> used = new TreeSet<>();
    Arrays.stream(slicePods).forEach(used::add);
    for (int p : used) {
      Room room = room(p);
      int cubes = pods.get(p).topology().cubesOf(shape);
      int want = room.space.register(Want.of(request, shape, pods.get(p), in.rules.now()));
      int before = room.figures(want, cubes).wholeCubes;
      int whole = 0;
      for (int s = 0; s < slicePods.length; s++) {
        if (slicePods[s] == p) {
          room.space.setTaken(footprints.get(s), true);
          whole += cubes;
        }
      }
      Room.Figures after = room.figures(want, cubes);
      out.add(room.leaves(after, before - after.wholeCubes - whole));
      for (int s = 0; s < slicePods.length; s++) {
        if (slicePods[s] == p) {
          room.space.setTaken(footprints.get(s), false);
        }
      }
    }
    return out;
  }

  private Room room(int p) {
    return rooms.computeIfAbsent(p, i -> new Room(pods.get(i)));
  }

  /** The room of one pod. */
  private final class Room {
    final PodSpace space;
    private final TpuTopology t;
    private final List<Shape> ladder; // largest first
    private final int[] wants; // of the ladder; -2 where not registered yet
    private int cubeWant = -2;
    private int rung; // none above it fits, nothing taken

    Room(Pod pod) {
      t = pod.topology();
      space = PodSpace.of(pod, in.rules.now(), false);
      ladder = t.largestLegalShapes((long) space.freeCells() * t.chipsPerCell(), MAX_SHAPES);
      wants = new int[ladder.size()];
      Arrays.fill(wants, -2);
      rung = fitting(0);
    }

    private int fitting(int from) {
      int i = from;
      while (i < ladder.size() && !space.fits(want(i))) {
        i++;
      }
      return i;
    }

    private int want(int i) {
      if (wants[i] == -2) {
        wants[i] = space.register(new Want(ladder.get(i), true, false, false, ""));
      }
      return wants[i];
    }

    /** The figures of a pod at one moment. */
    record Figures(@Nullable Shape largest, long freeChips, long alike, int wholeCubes) {
      long largestChips() {
        return largest == null ? 0 : largest.chips();
      }
    }

    Figures figures(int want, int cubes) {
      int at = fitting(rung);
      long alike = count(want);
      return new Figures(
          at < ladder.size() ? ladder.get(at) : null,
          (long) space.freeCells() * t.chipsPerCell(),
          cubes > 0 ? alike / cubes : alike,
          t.isOptical() ? (int) count(cube()) : 0);
    }

    private int cube() {
      if (cubeWant == -2) {
        cubeWant = space.register(new Want(Shape.of(4, 4, 4), true, false, false, ""));
      }
      return cubeWant;
    }

    private long count(int want) {
      int counted = space.countCandidates(want);
      if (counted > 0 || want < 0) {
        return counted;
      }
      long[] n = {0};
      space.forEachCandidate(want, f -> n[0]++);
      return n[0];
    }

    Leaves leaves(Figures f, int brokenUp) {
      return new Leaves(
          space.pod().id(),
          f.largest(),
          f.freeChips(),
          f.alike(),
          Math.max(0, brokenUp),
          f.freeChips() == 0 ? 0.0 : 1.0 - (double) f.largestChips() / f.freeChips());
    }
  }
}
