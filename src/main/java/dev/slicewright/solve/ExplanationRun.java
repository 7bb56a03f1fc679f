package dev.slicewright.solve;

import dev.slicewright.CancelToken;
import dev.slicewright.InvalidInputException;
import dev.slicewright.SliceId;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.ObjectiveLevels;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Reason;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.plan.StopReason;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.PlanningRules.DisruptionBudget;
import dev.slicewright.request.PlanningRules.Quota;
import dev.slicewright.request.PlanningRules.Reserved;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.VictimRules;
import dev.slicewright.search.Assignment;
import dev.slicewright.search.Demand;
import dev.slicewright.search.Demand.Choice;
import dev.slicewright.search.PodSpace;
import dev.slicewright.search.Want;
import dev.slicewright.solve.Remedy.Change;
import dev.slicewright.solve.Remedy.Cut;
import dev.slicewright.solve.Remedy.Kind;
import dev.slicewright.solve.Remedy.PodPart;
import dev.slicewright.solve.Remedy.Raise;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Finds the smallest changes of one kind that let a request in.
 *
 * <p>One slice: every place of an empty, healthy fleet is looked at once; a place with obstacles of
 * one kind only is a candidate for the remedy of that kind, O(places × cells of the slice). Whole
 * cubes are {@link Cover} over the cubes. Several slices: with all obstacles of a kind gone, halves
 * are put back as long as it still fits (U. Junker, "QuickXplain", AAAI 2004), O(m × log(n / m))
 * placements for m of n obstacles; nothing in the result can be left out, but there may be a
 * smaller one. Moves clear a place that is cheapest to evict, if what stands there fits elsewhere;
 * else they are the planner's own. Confined to one thread at a time.
 */
final class ExplanationRun {

  /** Shapes tried at most, for {@link Remedy.Reshape}. */
  private static final int MAX_SHAPES = 500;

  private static final int MAX_NAMED = 5;

  /** Places tried for moves before the planner is asked. */
  private static final int MAX_CLEARINGS = 8;

  private final SlicePlanner planner;
  private final Instance in;
  private final SliceRequest request;
  private final Demand demand;
  private final SolveBudget budget;
  private final long start;
  private final Stop stop;
  private final Set<Kind> open = EnumSet.noneOf(Kind.class); // not examined to the end
  private final List<Remedy> remedies = new ArrayList<>();
  private final Map<TpuTopology, Pod> empty = new HashMap<>();
  private @Nullable Obstacles obstacles; // made when first asked
  private final List<Cover.Pick> clearings = new ArrayList<>(); // of what runs, cheapest first
  private long leastEviction = -1; // -1 where not known

  private ExplanationRun(SlicePlanner planner, Instance in, SolveBudget budget, long start) {
    this.planner = planner;
    this.in = in;
    this.request = in.requests.get(0);
    this.demand = in.demands.get(0);
    this.budget = budget;
    this.start = start;
    this.stop = new Stop(new CancelToken(), start + budget.deadline().toNanos());
  }

  static Explanation of(
      SlicePlanner planner,
      Fleet fleet,
      SliceRequest request,
      PlanningRules rules,
      SolveBudget budget) {
    long start = System.nanoTime();
    Objects.requireNonNull(budget, "budget");
    Instance given = planner.alone(fleet, request, rules);
    // What is drained stays closed to new slices; the goals themselves are another question.
    Instance in =
        rules.drains().isEmpty() && rules.rooms().isEmpty()
            ? given
            : planner.alone(given.fleet, request, rules.toBuilder().withoutGoals().build());
    return new ExplanationRun(planner, in, budget, start).run();
  }

  private Explanation run() {
    Plan plan =
        planner.plan(in.given, List.of(request), in.rules, part(budget.deadline().toNanos() / 4));
    if (plan.placement(request.id()).isEmpty() && fitsAfterAll()) {
      plan = planner.plan(in.given, List.of(request), in.rules, part(stop.remainingNanos()));
    }
    if (plan.placement(request.id()).isEmpty()) {
      Unplaced reason = plan.unplaced().get(0);
      if (reason.reason() != Reason.NO_POD_MATCHES) {
        examine(Kind.RESHAPE, this::reshape);
      }
      if (!demand.choices().isEmpty() && !reason.never()) {
        examine(Kind.RAISE_QUOTA, this::quota);
        examine(Kind.LOWER_RESERVED, this::reserved);
        if (request.slices() == 1) {
          places();
        } else {
          examine(Kind.UNCORDON, () -> several(Kind.UNCORDON, Obstacles.CORDON));
          examine(Kind.DROP_HOLDS, () -> several(Kind.DROP_HOLDS, Obstacles.HELD));
          examine(Kind.REPAIR, () -> several(Kind.REPAIR, Obstacles.HEALTH));
          examine(Kind.EVICT, () -> several(Kind.EVICT, Obstacles.RUNNING));
        }
        examine(Kind.WAIT, this::await);
        examine(Kind.MOVE, this::move);
      }
    }
    remedies.sort(Comparator.comparingLong(Remedy::chipSeconds).thenComparing(Remedy::kind));
    return new Explanation(request.id(), plan, remedies, List.copyOf(open));
  }

  /** Whether one slice fits where the planner ran out of its share of the time. */
  private boolean fitsAfterAll() {
    try {
      return request.slices() == 1 && fits(in.fleet, request, in.rules);
    } catch (Explainer.OutOfTime e) {
      return false;
    }
  }

  private void examine(Kind kind, Runnable question) {
    if (stop.getAsBoolean()) {
      open.add(kind);
      return;
    }
    try {
      question.run();
    } catch (Explainer.OutOfTime e) {
      open.add(kind);
    } catch (InvalidInputException e) {
      open.add(kind); // the change cannot be made as it stands, so nothing is known of it
    }
  }

  private void inTime() {
    if (stop.getAsBoolean()) {
      throw new Explainer.OutOfTime();
    }
  }

  /** A budget of some of what is left. */
  private SolveBudget part(long nanos) {
    long left = start + budget.deadline().toNanos() - System.nanoTime();
    return budget.toBuilder()
        .deadline(Duration.ofNanos(Math.max(1, Math.min(nanos, left))))
        .build();
  }

  private static String count(long n) {
    return String.format(Locale.ROOT, "%,d", n);
  }

  private static String chips(long n) {
    return count(n) + (n == 1 ? " chip" : " chips");
  }

  private static String named(Collection<String> names) {
    String some = String.join(", ", names.stream().limit(MAX_NAMED).toList());
    return names.size() <= MAX_NAMED
        ? some
        : some + " and " + count(names.size() - MAX_NAMED) + " more";
  }

  // ---------------------------------------------------------------- does it fit

  /** Whether a request fits alone; exact for one slice. */
  private boolean fits(Fleet fleet, SliceRequest wanted, PlanningRules rules) {
    inTime();
    Instance changed = planner.alone(fleet, wanted, rules);
    return !changed.demands.get(0).choices().isEmpty()
        && explainer(changed).fitsAlone(0, changed.pods);
  }

  private Explainer explainer(Instance changed) {
    return new Explainer(
        changed, Solution.nothing(changed.demands.size()), StopReason.EXHAUSTED, false, stop);
  }

  /** A plan that places the request after a change, or null if the planner finds none. */
  private @Nullable Change solved(Fleet fleet, SliceRequest wanted, PlanningRules rules) {
    inTime();
    Plan plan = planner.plan(fleet, List.of(wanted), rules, part(stop.remainingNanos() / 2));
    return plan.placement(wanted.id()).isPresent() ? new Change(fleet, wanted, rules, plan) : null;
  }

  private void offer(Kind kind, @Nullable Remedy remedy) {
    if (remedy == null) {
      open.add(kind);
    } else {
      remedies.add(remedy);
    }
  }

  // ---------------------------------------------------------------- another shape

  private void reshape() {
    long wanted =
        request.shapes().isEmpty()
            ? request.chips()
            : request.shapes().stream().mapToLong(Shape::chips).max().orElse(0);
    Set<TpuTopology> seen = new LinkedHashSet<>();
    for (Pod pod : in.pods) {
      if (Instance.matches(request, pod)) {
        seen.add(pod.topology());
      }
    }
    TreeSet<Shape> smaller =
        new TreeSet<>(
            Comparator.comparingLong((Shape s) -> -s.chips())
                .thenComparing(Comparator.naturalOrder()));
    Set<Shape> larger = new LinkedHashSet<>();
    boolean all = true;
    for (TpuTopology t : seen) {
      inTime();
      List<Shape> some = t.largestLegalShapes(wanted, MAX_SHAPES);
      all &= some.size() < MAX_SHAPES;
      smaller.addAll(some);
      List<Shape> near =
          request.shapes().isEmpty()
              ? t.nearestLegalShapes(wanted, 3)
              : t.nearestLegalShapes(request.shapes().get(0), 3);
      near.stream().filter(s -> s.chips() > wanted).forEach(larger::add);
    }
    smaller.removeIf(this::isAsked);
    List<Shape> tried = new ArrayList<>(smaller);
    larger.stream().sorted(Comparator.comparingLong(Shape::chips)).forEach(tried::add);
    Shape shape = firstFitting(tried);
    if (shape == null) {
      if (!all) {
        open.add(Kind.RESHAPE);
      }
      return;
    }
    Change change = solved(in.fleet, reshaped(List.of(shape)), in.rules);
    offer(
        Kind.RESHAPE,
        change == null
            ? null
            : new Remedy.Reshape(
                shape,
                request.slices() == 1,
                "Take "
                    + shape
                    + " ("
                    + chips(shape.chips())
                    + (request.slices() == 1 ? "" : " a slice")
                    + ")"
                    + (request.slices() == 1 && shape.chips() <= wanted
                        ? ": the largest that fits."
                        : "."),
                change));
  }

  private boolean isAsked(Shape shape) {
    return request.shapes().isEmpty()
        ? request.chips() == shape.chips()
        : request.shapes().stream()
            .anyMatch(s -> request.mayTurn() ? s.sorted().equals(shape.sorted()) : s.equals(shape));
  }

  private SliceRequest reshaped(List<Shape> shapes) {
    return request.toBuilder().shapes(shapes).build();
  }

  private @Nullable Shape firstFitting(List<Shape> shapes) {
    if (shapes.isEmpty()) {
      return null;
    }
    if (request.slices() > 1 || !in.limits.isEmpty()) {
      for (Shape shape : shapes) {
        if (fits(in.fleet, reshaped(List.of(shape)), in.rules)) {
          return shape;
        }
      }
      return null;
    }
    // All at once, so that each pod is read once.
    Set<Shape> sorted = new TreeSet<>();
    List<Shape> distinct = new ArrayList<>(shapes);
    distinct.removeIf(s -> !sorted.add(s.sorted()));
    Instance many = planner.alone(in.fleet, reshaped(distinct), in.rules);
    Explainer explainer = explainer(many);
    Demand all = many.demands.get(0);
    List<Choice> choices = new ArrayList<>(all.choices());
    choices.sort(Comparator.comparingInt(Choice::rank)); // as they were listed
    for (Choice choice : choices) {
      for (int p : choice.pods()) {
        if (explainer.fits(all, choice, many.pods, p)) {
          return choice.shape();
        }
      }
    }
    return null;
  }

  // ---------------------------------------------------------------- limits

  /** By how much each limit is passed in one pod, or in all pods of a choice; 0 where it is not. */
  private long[] over(Choice choice, int pod) {
    long[] over = new long[in.limits.size()];
    long need = Math.multiplyExact(choice.shape().chips(), (long) request.slices());
    for (int l = 0; l < over.length; l++) {
      if (in.limits.get(l).counts(request.tenant(), pod)) {
        long credit = in.credits == null ? 0 : in.credits[0][l];
        over[l] =
            Math.max(
                0, Math.subtractExact(Math.subtractExact(need, credit), in.limits.get(l).room()));
      }
    }
    return over;
  }

  private boolean withinLimits(Choice choice, int pod) {
    return Arrays.stream(over(choice, pod)).allMatch(n -> n == 0);
  }

  private void quota() {
    limit(Kind.RAISE_QUOTA, 0, in.rules.quotas().size());
  }

  private void reserved() {
    limit(Kind.LOWER_RESERVED, in.rules.quotas().size(), in.limits.size());
  }

  /** The least that limits of one kind, from one number up to another, would have to give. */
  private void limit(Kind kind, int from, int to) {
    if (from == to) {
      return;
    }
    Set<List<Long>> tried = new LinkedHashSet<>();
    for (Choice choice : demand.choices()) {
      for (int p : choice.pods()) {
        long[] over = over(choice, p);
        boolean any = false;
        boolean other = false;
        for (int l = 0; l < over.length; l++) {
          boolean mine = l >= from && l < to;
          any |= mine && over[l] > 0;
          other |= !mine && over[l] > 0;
        }
        // Several slices may lie where others limit them less.
        if (any && (!other || request.slices() > 1)) {
          List<Long> own = new ArrayList<>();
          for (int l = from; l < to; l++) {
            own.add(over[l]);
          }
          tried.add(own);
        }
      }
    }
    List<List<Long>> least = new ArrayList<>(tried);
    least.sort(Comparator.comparingLong(own -> own.stream().mapToLong(n -> n).sum()));
    for (List<Long> own : least) {
      PlanningRules rules = loosened(kind, from, own);
      if (rules != null && fits(in.fleet, request, rules)) {
        Change change = solved(in.fleet, request, rules);
        offer(kind, change == null ? null : loosening(kind, from, own, change));
        return;
      }
    }
  }

  private @Nullable PlanningRules loosened(Kind kind, int from, List<Long> by) {
    List<Quota> quotas = new ArrayList<>(in.rules.quotas());
    List<Reserved> reserved = new ArrayList<>(in.rules.reserved());
    for (int i = 0; i < by.size(); i++) {
      if (by.get(i) == 0) {
        continue;
      }
      long limit = Math.addExact(in.usages.get(from + i).limit(), by.get(i));
      if (kind == Kind.RAISE_QUOTA) {
        Quota old = quotas.get(i);
        quotas.set(i, new Quota(old.tenant(), old.accelerator(), limit));
      } else {
        Reserved old = reserved.get(i);
        long left = usable(old) - limit;
        if (left < 0) {
          return null; // not even without it
        }
        reserved.set(i, new Reserved(old.tenant(), old.podLabels(), left));
      }
    }
    return in.rules.toBuilder().quotas(quotas).reserved(reserved).build();
  }

  /** The usable chips that a reservation is about. */
  private long usable(Reserved reserved) {
    long sum = 0;
    for (Pod pod : in.pods) {
      if (pod.labels().entrySet().containsAll(reserved.podLabels().entrySet())) {
        sum += (long) pod.room().usableCells() * pod.topology().chipsPerCell();
      }
    }
    return sum;
  }

  private Remedy loosening(Kind kind, int from, List<Long> by, Change change) {
    boolean smallest = request.slices() == 1;
    List<String> names = new ArrayList<>();
    List<Raise> raises = new ArrayList<>();
    List<Cut> cuts = new ArrayList<>();
    for (int i = 0; i < by.size(); i++) {
      if (by.get(i) == 0) {
        continue;
      }
      if (kind == Kind.RAISE_QUOTA) {
        Quota old = in.rules.quotas().get(i);
        long to = change.rules().quotas().get(i).chips();
        raises.add(new Raise(old, to, by.get(i)));
        names.add(
            "the quota of tenant "
                + (old.tenant().isEmpty() ? "(none)" : old.tenant())
                + (old.accelerator().isEmpty() ? "" : " for " + old.accelerator())
                + " by "
                + chips(by.get(i))
                + " to "
                + count(to));
      } else {
        Reserved old = in.rules.reserved().get(i);
        long to = change.rules().reserved().get(i).chips();
        cuts.add(new Cut(old, to, by.get(i)));
        names.add(
            "what is reserved for tenant "
                + (old.tenant().isEmpty() ? "(none)" : old.tenant())
                + " from "
                + count(old.chips())
                + " to "
                + chips(to));
      }
    }
    return kind == Kind.RAISE_QUOTA
        ? new Remedy.RaiseQuota(raises, smallest, "Raise " + named(names) + ".", change)
        : new Remedy.LowerReserved(cuts, smallest, "Lower " + named(names) + ".", change);
  }

  // ---------------------------------------------------------------- one slice

  /** The best so far for each kind of obstacle. */
  private static final class Best {
    final Map<Integer, Cover.Pick> picks = new HashMap<>();

    void offer(int kind, Cover.@Nullable Pick pick) {
      if (pick != null && pick.isBetter(picks.get(kind))) {
        picks.put(kind, pick);
      }
    }
  }

  private static final List<Integer> OBSTACLES =
      List.of(Obstacles.CORDON, Obstacles.HELD, Obstacles.HEALTH, Obstacles.RUNNING);

  private static Kind remedyOf(int obstacle) {
    return switch (obstacle) {
      case Obstacles.CORDON -> Kind.UNCORDON;
      case Obstacles.HELD -> Kind.DROP_HOLDS;
      case Obstacles.HEALTH -> Kind.REPAIR;
      default -> Kind.EVICT;
    };
  }

  private void places() {
    Best best = new Best();
    boolean whole = true;
    boolean limited = false; // a change might also free a limit, which is not looked at
    try {
      for (Choice choice : demand.choices()) {
        for (int p : choice.pods()) {
          if (withinLimits(choice, p)) {
            scan(choice, p, best);
          } else {
            limited = true;
          }
        }
      }
    } catch (Explainer.OutOfTime e) {
      whole = false;
    }
    for (int kind : OBSTACLES) {
      Kind remedy = remedyOf(kind);
      if (!whole) {
        open.add(remedy);
      }
      Cover.Pick pick = best.picks.get(kind);
      if (pick != null) {
        boolean smallest = whole && pick.cheapest() && !limited;
        if (kind == Obstacles.RUNNING && smallest && !obstacles().hasGangs()) {
          leastEviction = pick.cost();
        }
        examine(remedy, () -> offer(remedy, removal(kind, pick, smallest)));
      }
    }
  }

  private Obstacles obstacles() {
    Obstacles known = obstacles;
    if (known == null) {
      known = new Obstacles(in);
      obstacles = known;
    }
    return known;
  }

  private void scan(Choice choice, int p, Best best) {
    inTime();
    Pod pod = in.pods.get(p);
    TpuTopology t = pod.topology();
    Pod bare =
        empty.computeIfAbsent(
            t, k -> Fleet.builder().pod("empty", k).build().pods().iterator().next());
    PodSpace space = PodSpace.of(bare, in.rules.now(), false);
    int want = space.register(Want.of(request, choice.shape(), bare, in.rules.now()));
    Obstacles.Local local = obstacles().local(p);
    Map<Integer, long[]> costs = new HashMap<>();
    OBSTACLES.forEach(kind -> costs.put(kind, obstacles().costs(kind)));
    int cubes = t.cubesOf(choice.shape());
    int[] free = {0};
    Map<Integer, List<int[]>> blocked = new HashMap<>();
    Set<List<Integer>> seen = new LinkedHashSet<>(); // many places share their obstacles
    space.forEachCandidate(
        want,
        place -> {
          inTime();
          int[] cells = t.cells(place);
          int kind = local.kinds(place, cells);
          if (kind == 0) {
            free[0]++;
          }
          long[] cost = costs.get(kind);
          int[] items = cost == null ? null : local.items(kind, place, cells);
          if (cost == null || items == null) {
            return; // free, or more than one kind, or what cannot be removed
          }
          if (cubes > 0) {
            blocked.computeIfAbsent(kind, b -> new ArrayList<>()).add(items);
          } else {
            List<Integer> key = new ArrayList<>(List.of(kind));
            Arrays.stream(items).forEach(key::add);
            if (seen.add(key)) {
              offer(best, kind, Cover.of(items, cost));
            }
          }
        });
    if (cubes > 0) {
      for (int kind : OBSTACLES) {
        List<int[]> sets = blocked.get(kind);
        long[] cost = costs.get(kind);
        if (sets != null && cost != null) {
          offer(best, kind, Cover.cheapest(sets, cost, cubes - free[0]));
        }
      }
    }
  }

  private void offer(Best best, int kind, Cover.@Nullable Pick pick) {
    best.offer(kind, pick);
    if (kind == Obstacles.RUNNING && pick != null) {
      int at = clearings.size();
      while (at > 0 && pick.isBetter(clearings.get(at - 1))) {
        at--;
      }
      clearings.add(at, pick);
      if (clearings.size() > MAX_CLEARINGS) {
        clearings.remove(MAX_CLEARINGS);
      }
    }
  }

  // ---------------------------------------------------------------- several slices

  private void several(Kind remedy, int kind) {
    Obstacles all = obstacles();
    long[] cost = all.costs(kind);
    List<Integer> items = new ArrayList<>();
    for (int i = 0; i < cost.length; i++) {
      if (kind != Obstacles.RUNNING || all.groups.get(i).mayLeave()) {
        items.add(i);
      }
    }
    // The dear ones are the first to be put back.
    items.sort(Comparator.comparingLong(i -> cost[i]));
    if (items.isEmpty() || !fits(without(kind, items), request, in.rules)) {
      return;
    }
    List<Integer> least = needed(kind, List.of(), items, false);
    int[] picked = least.stream().mapToInt(Integer::intValue).toArray();
    boolean one = picked.length == 1 && kind != Obstacles.RUNNING;
    offer(remedy, removal(kind, Cover.of(picked, cost), one));
  }

  /** Of some items, so few that with them and those given gone it fits; none can be left out. */
  private List<Integer> needed(int kind, List<Integer> gone, List<Integer> items, boolean changed) {
    if (changed && fits(without(kind, gone), request, in.rules)) {
      return List.of();
    }
    if (items.size() == 1) {
      return items;
    }
    List<Integer> cheap = items.subList(0, items.size() / 2);
    List<Integer> dear = items.subList(items.size() / 2, items.size());
    List<Integer> fromDear = needed(kind, joined(gone, cheap), dear, true);
    List<Integer> fromCheap = needed(kind, joined(gone, fromDear), cheap, !fromDear.isEmpty());
    return joined(fromCheap, fromDear);
  }

  private static List<Integer> joined(List<Integer> a, List<Integer> b) {
    List<Integer> both = new ArrayList<>(a);
    both.addAll(b);
    return both;
  }

  // ---------------------------------------------------------------- removing obstacles

  /** The fleet without some obstacles of one kind. */
  private Fleet without(int kind, Collection<Integer> items) {
    Obstacles all = obstacles();
    Fleet fleet = in.fleet;
    for (int item : items) {
      switch (kind) {
        case Obstacles.RUNNING -> {
          for (String id : all.groups.get(item).requests()) {
            fleet = fleet.release(id);
          }
        }
        case Obstacles.HEALTH -> {
          PodPart part = all.parts.get(item);
          fleet = fleet.repair(part.pod(), Objects.requireNonNull(part.part()));
        }
        case Obstacles.CORDON -> {
          PodPart cordon = all.cordons.get(item);
          Part part = cordon.part();
          fleet =
              part == null ? fleet.uncordonPod(cordon.pod()) : fleet.uncordon(cordon.pod(), part);
        }
        default -> fleet = fleet.dropHold(all.holds.get(item).id());
      }
    }
    return fleet;
  }

  private @Nullable Remedy removal(int kind, Cover.Pick pick, boolean smallest) {
    List<Integer> items = Arrays.stream(pick.items()).boxed().sorted().toList();
    Change change = solved(without(kind, items), request, in.rules);
    if (change == null) {
      return null;
    }
    Obstacles all = obstacles();
    switch (kind) {
      case Obstacles.CORDON -> {
        List<PodPart> parts = items.stream().map(all.cordons::get).toList();
        String sentence = "Lift the cordon of " + named(names(parts)) + ".";
        return new Remedy.Uncordon(parts, smallest, sentence, change);
      }
      case Obstacles.HELD -> {
        List<Hold> holds = items.stream().map(all.holds::get).toList();
        List<String> names = new ArrayList<>();
        for (Hold hold : holds) {
          names.add(hold.id() + " (for " + hold.request() + " until " + hold.expiry() + ")");
        }
        String sentence =
            "Drop, or let expire, " + (holds.size() == 1 ? "hold " : "holds ") + named(names) + ".";
        return new Remedy.DropHolds(holds, smallest, sentence, change);
      }
      case Obstacles.HEALTH -> {
        List<PodPart> parts = items.stream().map(all.parts::get).toList();
        String sentence = "Repair " + named(names(parts)) + ".";
        return new Remedy.Repair(parts, smallest, sentence, change);
      }
      default -> {
        return eviction(items, pick.cost(), smallest, change.plan());
      }
    }
  }

  private List<String> names(List<PodPart> parts) {
    List<String> names = new ArrayList<>();
    for (PodPart of : parts) {
      TpuTopology t = in.pods.get(in.podOf(of.pod())).topology();
      Part part = of.part();
      if (part == null) {
        names.add("pod " + of.pod());
        continue;
      }
      String name =
          part instanceof Part.Host host
              ? "host " + t.hostName(host.host())
              : part instanceof Part.Cube cube
                  ? "cube " + t.cubeName(cube.cube())
                  : part instanceof Part.Chip chip
                      ? "chip " + chip.chip()
                      : part instanceof Part.Link link
                          ? "the link of chip " + link.from() + " along " + link.axis()
                          : part instanceof Part.OcsPort port
                              ? "an OCS port of cube " + t.cubeName(port.cube())
                              : part.toString();
      names.add(name + " of pod " + of.pod());
    }
    return names;
  }

  /** Evictions and placement in one plan, on the fleet as it is. */
  private @Nullable Remedy eviction(
      List<Integer> items, long cost, boolean smallest, Plan placing) {
    Set<String> victims = new TreeSet<>();
    items.forEach(i -> victims.addAll(obstacles().groups.get(i).requests()));
    PlanningRules.Builder b =
        in.rules.toBuilder().victims(VictimRules.NONE).disruption(DisruptionBudget.UNLIMITED);
    List<Eviction> evictions = new ArrayList<>();
    List<String> forbidden = new ArrayList<>();
    List<String> outranking = new ArrayList<>();
    List<String> names = new ArrayList<>();
    for (String id : victims) {
      List<RunningSlice> slices = in.fleet.runningOf(id);
      boolean may = ObjectiveLevels.permission(in.fleet, in.rules, id).evict();
      b.permit(id, Permission.EVICTABLE);
      evictions.add(new Eviction(id, slices));
      if (!may) {
        forbidden.add(id);
      }
      if (slices.get(0).request().priority() >= request.priority()) {
        outranking.add(id);
      }
      names.add(id + (may ? "" : " (not permitted)"));
    }
    PlanningRules rules = b.build();
    Instance opened = planner.alone(in.fleet, request, rules);
    Assignment where = assignment(opened, placing.placements().get(0));
    if (where == null) {
      return null;
    }
    Solution nothing = Solution.nothing(opened.demands.size());
    List<@Nullable Assignment> placed = new ArrayList<>(nothing.placed());
    placed.set(0, where);
    Solution solution = new Solution(placed, nothing.moved(), victims);
    Plan plan = run(opened, solution);
    return new Remedy.Evict(
        evictions,
        forbidden,
        outranking,
        cost,
        smallest,
        "Evict " + named(names) + ": " + count(cost) + " chip-seconds lost.",
        new Change(in.fleet, request, rules, plan));
  }

  /** A placement in terms of an instance's choices. */
  private static @Nullable Assignment assignment(Instance of, RequestPlacement placement) {
    List<Choice> choices = of.demands.get(0).choices();
    List<Placement> slices = placement.slices();
    int[] pods = slices.stream().mapToInt(s -> of.podOf(s.pod())).toArray();
    for (int c = 0; c < choices.size(); c++) {
      Choice choice = choices.get(c);
      if (choice.shape().equals(slices.get(0).shape())
          && Arrays.stream(pods).allMatch(p -> choice.placeOf(p) >= 0)) {
        return new Assignment(c, pods, slices.stream().map(Placement::footprint).toList());
      }
    }
    return null;
  }

  // ---------------------------------------------------------------- waiting

  private void await() {
    Instant now = in.rules.now();
    TreeSet<Instant> ends = new TreeSet<>();
    for (RunningSlice slice : in.fleet.running()) {
      slice.endsAt().ifPresent(end -> ends.add(end.isBefore(now) ? now : end));
    }
    for (Hold hold : in.fleet.holds()) {
      if (hold.isLive(now) && !hold.request().equals(request.id())) {
        ends.add(hold.expiry());
      }
    }
    List<Instant> times = new ArrayList<>(ends);
    if (times.isEmpty() || !fitsAt(times.get(times.size() - 1))) {
      return;
    }
    int from = 0; // it fits at the time of number to, and not before that of number from
    int to = times.size() - 1;
    while (from < to) {
      int middle = (from + to) >>> 1;
      if (fitsAt(times.get(middle))) {
        to = middle;
      } else {
        from = middle + 1;
      }
    }
    Instant until = times.get(to);
    Change change = solved(fleetAt(until), request, rulesAt(until));
    if (change == null) {
      open.add(Kind.WAIT);
      return;
    }
    Set<SliceId> ending = new TreeSet<>();
    long wanted = 0;
    for (Placement slice : change.plan().placements().get(0).slices()) {
      wanted = Math.addExact(wanted, slice.chips());
      Pod pod = in.pods.get(in.podOf(slice.pod()));
      for (int cell : pod.topology().cells(slice.footprint())) {
        pod.runningAt(cell).ifPresent(s -> ending.add(s.id()));
      }
    }
    Duration wait = Duration.between(now, until);
    long seconds = wait.getNano() > 0 ? Math.addExact(wait.toSeconds(), 1) : wait.toSeconds();
    remedies.add(
        new Remedy.Wait(
            until,
            List.copyOf(ending),
            Math.multiplyExact(wanted, seconds),
            request.slices() == 1,
            "Wait until "
                + until
                + (ending.isEmpty()
                    ? "."
                    : ", when "
                        + named(ending.stream().map(SliceId::toString).toList())
                        + (ending.size() == 1 ? " is" : " are")
                        + " expected to have ended."),
            change));
  }

  private boolean fitsAt(Instant time) {
    return fits(fleetAt(time), request, rulesAt(time));
  }

  private PlanningRules rulesAt(Instant time) {
    return in.rules.toBuilder().now(time).build();
  }

  /** The fleet without what is expected to have ended. */
  private Fleet fleetAt(Instant time) {
    inTime();
    Fleet fleet = in.fleet;
    for (RunningSlice slice : in.fleet.running()) {
      if (slice.endsAt().isPresent() && !slice.endsAt().get().isAfter(time)) {
        fleet = fleet.release(slice.id());
      }
    }
    return fleet.dropExpiredHolds(time);
  }

  // ---------------------------------------------------------------- moves

  private void move() {
    if (in.fleet.running().isEmpty()) {
      return;
    }
    Remedy.Move own = request.slices() == 1 ? relocation() : null;
    if (own != null && own.smallest()) {
      remedies.add(own);
      return;
    }
    PlanningRules rules = movable();
    Plan plan = planner.plan(in.fleet, List.of(request), rules, part(stop.remainingNanos()));
    boolean found = plan.placement(request.id()).isPresent() && !plan.moves().isEmpty();
    boolean settled = true;
    for (LevelScore level : plan.score().levels()) {
      if (level.level().kind() == Level.Kind.DISRUPTION) {
        settled &= !found || level.isProved();
        break;
      }
      settled &= level.isProved();
    }
    // The planner asks for the most chips first, and mends what is broken, at a cost of its own.
    boolean alike =
        in.broken.isEmpty()
            && demand.choices().stream().mapToLong(Choice::gain).distinct().count() == 1;
    Remedy.Move planned = found ? moving(plan, rules, settled && alike) : null;
    if (planned != null && (own == null || planned.chipSeconds() <= own.chipSeconds())) {
      remedies.add(planned);
    } else if (own != null) {
      remedies.add(own);
    } else if (!settled) {
      open.add(Kind.MOVE);
    }
  }

  /** The rules, but everything may move. */
  private PlanningRules movable() {
    PlanningRules.Builder b =
        in.rules.toBuilder()
            .disruption(DisruptionBudget.UNLIMITED)
            .victims(VictimRules.NONE)
            .permitByDefault(Permission.MOVABLE);
    in.rules.permissions().keySet().forEach(id -> b.permit(id, Permission.MOVABLE));
    return b.build();
  }

  private Remedy.Move moving(Plan plan, PlanningRules rules, boolean least) {
    long lost = 0;
    for (LevelScore level : plan.score().levels()) {
      lost = level.level().kind() == Level.Kind.DISRUPTION ? level.value() : lost;
    }
    Set<String> forbidden = new TreeSet<>();
    List<String> names = new ArrayList<>();
    for (dev.slicewright.plan.Move move : plan.moves()) {
      String id = move.from().id().request();
      Permission may = ObjectiveLevels.permission(in.fleet, in.rules, id);
      boolean permitted =
          may.move() && (!may.withinPod() || move.from().pod().equals(move.to().pod()));
      if (!permitted) {
        forbidden.add(id);
      }
      names.add(move.from().id() + (permitted ? "" : " (not permitted)"));
    }
    return new Remedy.Move(
        plan.moves(),
        List.copyOf(forbidden),
        lost,
        least,
        "Move " + named(names) + ": " + count(lost) + " chip-seconds lost.",
        new Change(in.fleet, request, rules, plan));
  }

  /**
   * Moves of what stands on a place where that costs least, if there is room for it elsewhere. As
   * whatever moves has to clear some place, no moves are cheaper than the cheapest eviction.
   */
  private Remedy.@Nullable Move relocation() {
    for (Cover.Pick pick : clearings) {
      inTime();
      List<Integer> items = Arrays.stream(pick.items()).boxed().toList();
      Change cleared = solved(without(Obstacles.RUNNING, items), request, in.rules);
      Plan plan = cleared == null ? null : relocated(cleared.plan());
      if (plan != null) {
        Remedy.Move move = moving(plan, movable(), false);
        return new Remedy.Move(
            move.moves(),
            move.forbidden(),
            move.chipSeconds(),
            move.chipSeconds() == leastEviction,
            move.sentence(),
            move.change());
      }
    }
    return null;
  }

  private @Nullable Plan relocated(Plan placing) {
    Map<SliceId, RunningSlice> going = new TreeMap<>();
    for (Placement slice : placing.placements().get(0).slices()) {
      Pod pod = in.pods.get(in.podOf(slice.pod()));
      for (int cell : pod.topology().cells(slice.footprint())) {
        pod.runningAt(cell).ifPresent(s -> going.put(s.id(), s));
      }
    }
    Fleet fleet = in.fleet;
    List<SliceRequest> again = new ArrayList<>();
    for (RunningSlice slice : going.values()) {
      fleet = fleet.release(slice.id());
      again.add(alike(slice, again.size()));
    }
    Plan elsewhere =
        planner.plan(
            placing.applyTo(fleet),
            again,
            PlanningRules.builder().now(in.rules.now()).build(),
            part(stop.remainingNanos() / 4));
    Instance opened = planner.alone(in.fleet, request, movable());
    Assignment where = assignment(opened, placing.placements().get(0));
    if (!elsewhere.unplaced().isEmpty() || where == null) {
      return null;
    }
    Solution nothing = Solution.nothing(opened.demands.size());
    List<@Nullable Assignment> placed = new ArrayList<>(nothing.placed());
    placed.set(0, where);
    Map<SliceId, Solution.Target> moved = new TreeMap<>();
    int at = 0;
    for (SliceId id : going.keySet()) {
      Placement to = elsewhere.placements().get(at++).slices().get(0);
      moved.put(id, new Solution.Target(opened.podOf(to.pod()), to.shape(), to.footprint()));
    }
    try {
      return run(opened, new Solution(placed, moved, nothing.evicted()));
    } catch (InvalidInputException e) {
      return null; // a spread or a quota that was not looked at
    }
  }

  /** A request for one slice like a running one, in its shape. */
  private SliceRequest alike(RunningSlice slice, int number) {
    SliceRequest old = slice.request();
    String id = "move-" + number;
    while (!in.fleet.runningOf(id).isEmpty() || id.equals(request.id())) {
      id = id + "-";
    }
    SliceRequest.Builder b =
        SliceRequest.builder(id)
            .shape(slice.shape())
            .mayTurn(old.mayTurn())
            .interconnect(old.interconnect())
            .healthyOnly(old.healthyOnly())
            .accelerators(in.pods.get(in.podOf(slice.pod())).topology().accelerator().name())
            .pod(old.pod().orElse(""));
    old.requiredLabels().forEach(b::requireLabel);
    old.forbiddenLabels()
        .forEach((key, values) -> values.forEach(value -> b.forbidLabel(key, value)));
    return b.build();
  }

  private Plan run(Instance opened, Solution solution) {
    return new SolveRun(
            planner,
            opened,
            part(stop.remainingNanos()),
            new CancelToken(),
            SlicePlanner.NOBODY,
            System.nanoTime())
        .planOf(solution, "explain");
  }
}
