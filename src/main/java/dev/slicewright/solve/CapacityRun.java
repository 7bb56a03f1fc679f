package dev.slicewright.solve;

import dev.slicewright.CancelToken;
import dev.slicewright.SliceId;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.formulation.Formulation;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.plan.StopReason;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.search.Demand;
import dev.slicewright.search.Demand.Choice;
import dev.slicewright.search.Limit;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.lang.System.Logger;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * How many more requests of one kind fit. Confined to one thread at a time.
 *
 * <p>As many copies as the free chips suffice for are planned; copies that are alike cost the
 * search, the bounds and the model little. Where no rule ties pods, each pod is asked for itself:
 * the most of the fleet is the sum, each part is smaller, and the bound of each is rounded down on
 * its own. A quota that all the pods share then cuts the sum.
 *
 * <p>O(p) plans for p pods.
 */
final class CapacityRun {

  private static final Logger LOG = System.getLogger(CapacityRun.class.getName());

  private final SlicePlanner planner;
  private final Fleet fleet;
  private final SliceRequest like;
  private final PlanningRules rules;
  private final SolveBudget budget;
  private final long end; // nanos
  private final boolean ownId; // whether one copy may have the id asked about
  private final String prefix; // of the other ids
  private final List<Capacity.Part> parts = new ArrayList<>();
  private final List<List<RequestPlacement>> found = new ArrayList<>(); // by part

  CapacityRun(
      SlicePlanner planner,
      Fleet fleet,
      SliceRequest like,
      PlanningRules rules,
      SolveBudget budget) {
    this.end = System.nanoTime() + budget.deadline().toNanos();
    this.planner = planner;
    Objects.requireNonNull(fleet, "fleet");
    this.budget = budget;
    Objects.requireNonNull(like, "like");
    Objects.requireNonNull(rules, "rules");
    this.fleet = LargestRun.withoutDrained(fleet, rules);
    // What fits beside all that runs: nothing moves or leaves. A gang would tie the copies.
    this.rules = LargestRun.still(rules);
    this.like = like.toBuilder().gang("").build();
    this.ownId = fleet.runningOf(like.id()).isEmpty();
    this.prefix = prefix(fleet, like.id());
  }

  /** The start of ids that nothing in the fleet has. */
  private static String prefix(Fleet fleet, String id) {
    Set<String> used = new HashSet<>();
    fleet.running().forEach(slice -> used.add(slice.id().request()));
    fleet.holds().forEach(hold -> used.add(hold.request()));
    String prefix = id + "-more-";
    while (startsAny(used, prefix)) {
      prefix += "-";
    }
    return prefix;
  }

  private static boolean startsAny(Set<String> ids, String prefix) {
    return ids.stream().anyMatch(id -> id.startsWith(prefix));
  }

  /** The same request with another id. */
  private static SliceRequest named(SliceRequest of, String id) {
    SliceRequest.Builder b =
        SliceRequest.builder(id)
            .slices(of.slices())
            .mayTurn(of.mayTurn())
            .interconnect(of.interconnect())
            .healthyOnly(of.healthyOnly())
            .priority(of.priority())
            .tenant(of.tenant())
            .spread(of.spread())
            .accelerators(of.accelerators().toArray(new String[0]));
    of.shapes().forEach(b::shape);
    if (of.chips() > 0) {
      b.chips(of.chips());
    }
    of.requiredLabels().forEach(b::requireLabel);
    of.forbiddenLabels().forEach((key, values) -> values.forEach(v -> b.forbidLabel(key, v)));
    of.pod().ifPresent(b::pod);
    return b.build();
  }

  private List<SliceRequest> copies(SliceRequest of, long count) {
    List<SliceRequest> out = new ArrayList<>();
    for (long i = 0; i < count; i++) {
      out.add(i == 0 && ownId ? of : named(of, prefix + i));
    }
    return out;
  }

  static Capacity of(
      SlicePlanner planner,
      Fleet fleet,
      SliceRequest like,
      PlanningRules rules,
      SolveBudget budget) {
    Objects.requireNonNull(budget, "budget");
    return new CapacityRun(planner, fleet, like, rules, budget).run();
  }

  /** A slice of a shape, anywhere. */
  static SliceRequest any(Shape shape) {
    return SliceRequest.builder("any-" + shape).shape(shape).build();
  }

  private Capacity run() {
    SliceRequest one = ownId ? like : named(like, prefix + 0);
    Instance probe = new Instance(fleet, List.of(one), rules, planner.cost());
    Demand demand = probe.demands.get(0);
    TreeSet<Integer> pods = new TreeSet<>();
    long least = Long.MAX_VALUE; // chips of a copy
    long gain = Long.MAX_VALUE;
    for (Choice choice : demand.choices()) {
      for (int p : choice.pods()) {
        pods.add(p);
      }
      least = Math.min(least, Math.multiplyExact(choice.shape().chips(), (long) like.slices()));
      gain = Math.min(gain, Math.multiplyExact(choice.gain(), (long) like.slices()));
    }
    if (pods.isEmpty()) {
      return new Capacity(like, 0, 0, List.of(), StopReason.OPTIMAL, List.of(), why(one));
    }
    long cap = Long.MAX_VALUE; // by rules that count in all of the pods
    boolean tied = like.slices() > 1;
    int limits = 0;
    for (Limit limit : probe.limits) {
      long counted = pods.stream().filter(p -> limit.counts(one.tenant(), p)).count();
      tied |= counted > 0 && counted < pods.size();
      if (counted > 0) {
        limits++;
        cap = Math.min(cap, Math.max(0, limit.room()) / least);
      }
    }
    // A held place is one copy's alone, and what it holds counts in quotas already.
    Set<String> holding = new HashSet<>();
    long held = 0;
    for (Hold hold : ownId ? fleet.holdsOf(like.id()) : List.<Hold>of()) {
      if (hold.isLive(rules.now())) {
        holding.add(hold.pod());
        TpuTopology t = probe.pods.get(probe.podOf(hold.pod())).topology();
        held += (long) t.cells(hold.footprint()).length * t.chipsPerCell();
      }
    }
    tied |= holding.size() > 1 || !holding.isEmpty() && limits > 0;
    if (tied) {
      cap = Long.MAX_VALUE;
      for (Limit limit : probe.limits) {
        if (pods.stream().allMatch(p -> limit.counts(one.tenant(), p))) {
          cap = Math.min(cap, Math.max(0, limit.room() + held) / least);
        }
      }
      long room = 0;
      for (int p : pods) {
        room += room(probe.pods.get(p));
      }
      Scope all = new Scope(null, -1, like, Math.min(cap, (room + held) / least), gain);
      part(all, demand.choices(), budget.deadline());
    } else {
      int left = pods.size();
      for (int p : pods) {
        Pod pod = probe.pods.get(p);
        long room = room(pod) + (holding.contains(pod.id()) ? held : 0);
        long remaining = Math.max(0, end - System.nanoTime());
        SliceRequest own = like.toBuilder().pod(pod.id()).build();
        Duration share = Duration.ofNanos(remaining / left--);
        boolean model = !holding.contains(pod.id()) && like.interconnect() != Interconnect.TWISTED;
        int number = model && pod.topology().slicing() instanceof Slicing.TorusBoxes ? p : -1;
        long most = Math.min(cap, room / least);
        part(new Scope(pod.id(), number, own, most, gain), demand.choices(), share);
      }
    }
    return sum(cap, one, holding);
  }

  private static long room(Pod pod) {
    return (long) pod.room().freeCells() * pod.topology().chipsPerCell();
  }

  /** What one part asks: in a pod, which has a number if a model of boxes may serve. */
  private record Scope(@Nullable String pod, int number, SliceRequest of, long most, long gain) {}

  private void part(Scope scope, List<Choice> ways, Duration deadline) {
    long asked = Math.min(scope.most(), SlicePlanner.MAX_SLICES / scope.of().slices());
    boolean early = deadline.compareTo(LEAST) < 0;
    late |= early && asked > 0;
    if (asked == 0 || early) {
      parts.add(
          new Capacity.Part(scope.pod(), 0, scope.most(), new Proof.Trivial(), List.of(), null));
      found.add(List.of());
      return;
    }
    List<SliceRequest> copies = copies(scope.of(), asked);
    long until = System.nanoTime() + deadline.toNanos();
    Formulation solver = null;
    for (Formulation each : planner.formulations()) {
      if (solver == null && Asker.isCpSat(each)) {
        solver = each;
      }
    }
    if (scope.number() < 0 || solver == null) {
      Plan plan = planner.plan(fleet, copies, rules, budget.toBuilder().deadline(deadline).build());
      keep(scope, copies, plan, null);
      return;
    }
    race(scope, ways, copies, solver, until);
  }

  /**
   * Search and relaxation on one thread, the model on another: the first that is sure ends both.
   * Where runs must repeat, one after the other.
   */
  private void race(
      Scope scope, List<Choice> ways, List<SliceRequest> copies, Formulation solver, long until) {
    long whole = until - System.nanoTime();
    Pod pod = fleet.pod(Objects.requireNonNull(scope.pod())).orElseThrow();
    Stop stop = new Stop(new CancelToken(), until - Math.min(whole / 4, 20_000_000));
    Stop hard = new Stop(stop.token(), until);
    SolveBudget alone = budget.toBuilder().workers(1).build();
    SlicePlanner plain = planner.withoutFormulations();
    CancelToken token = new CancelToken();
    boolean wish = budget.mode() == SolveBudget.Mode.FAST && budget.workers() > 1;
    BoxPacking of = wish ? BoxPacking.of(pod, scope.number(), scope.of(), ways, rules.now()) : null;
    boolean both = of != null && planner.acquireWorkers(1) > 0;
    Asker asker = new Asker(stop, hard, note -> {});
    BoxPacking packing = null;
    Plan plan;
    if (!both) {
      plan = plain.plan(fleet, copies, rules, some(alone, whole), token, SlicePlanner.NOBODY);
      if (isOpen(plan, scope, null)) {
        packing =
            of != null ? of : BoxPacking.of(pod, scope.number(), scope.of(), ways, rules.now());
        for (int variant = 0; packing != null && variant < 2; variant++) {
          if (!isOpen(plan, scope, packing)
              || stop.getAsBoolean()
              || !packing.solve(asker, solver, variant, budget, stop)) {
            break;
          }
        }
      }
    } else {
      BoxPacking model = Objects.requireNonNull(of);
      packing = model;
      AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
      Thread thread =
          new Thread(
              () -> {
                try {
                  if (model.solve(asker, solver, 0, alone, stop)
                      && !stop.getAsBoolean()
                      && model.solve(asker, solver, 1, alone, stop)
                      && model.proof() != null) {
                    token.cancel();
                  }
                } catch (RuntimeException | Error e) {
                  failure.set(e);
                }
              },
              "slicewright-capacity");
      thread.setDaemon(true);
      try {
        thread.start();
        SolveBudget own = all(alone, until - System.nanoTime());
        plan = plain.plan(fleet, copies, rules, own, token, SlicePlanner.NOBODY);
        if (!isOpen(plan, scope, packing)) {
          stop.token().cancel();
        }
      } finally {
        SolveRun.join(thread);
        planner.releaseWorkers(1);
      }
      Throwable failed = failure.get();
      if (failed != null) {
        LOG.log(Logger.Level.WARNING, "The model beside the search failed", failed);
      }
    }
    long rest = until - System.nanoTime();
    if (packing == null && isOpen(plan, scope, null) && rest > LEAST.toNanos()) {
      // Too large a model: search and relaxation have all of the time.
      Duration left = Duration.ofNanos(rest);
      plan = planner.plan(fleet, copies, rules, budget.toBuilder().deadline(left).build());
    }
    keep(scope, copies, plan, packing);
  }

  private static SolveBudget all(SolveBudget budget, long nanos) {
    return budget.toBuilder().deadline(Duration.ofNanos(Math.max(1_000_000, nanos))).build();
  }

  /** How long search and relaxation go on before a model is asked instead. */
  private static SolveBudget some(SolveBudget budget, long whole) {
    long nanos = Math.max(1_000_000, Math.min(whole / 3, MOST_SEARCH_NANOS));
    return budget.toBuilder().deadline(Duration.ofNanos(nanos)).build();
  }

  /** Whether neither plan nor model has met the bound. */
  private static boolean isOpen(Plan plan, Scope scope, @Nullable BoxPacking packing) {
    long bound = Math.min(Capacity.Part.placed(plan).bound() / scope.gain(), scope.most());
    return plan.placements().size() < bound
        && (packing == null || packing.value() < bound && packing.proof() == null);
  }

  private void keep(
      Scope scope, List<SliceRequest> copies, Plan plan, @Nullable BoxPacking packing) {
    LevelScore placed = Capacity.Part.placed(plan);
    long bound = placed.bound() / scope.gain();
    Proof proof = placed.proof();
    if (bound >= copies.size()) {
      bound = scope.most();
      proof = new Proof.Trivial();
    }
    List<RequestPlacement> best = plan.placements();
    if (packing != null && Math.min(packing.value(), copies.size()) > best.size()) {
      best = packing.placements(scope.number(), copies);
    }
    Proof agreed = packing == null ? null : packing.proof();
    if (packing != null
        && agreed != null
        && packing.value() < bound
        && packing.value() >= best.size()) {
      bound = packing.value();
      proof = agreed;
    }
    if (bound < best.size()) {
      throw new IllegalStateException(
          "A plan beats the bound " + bound + " of " + proof + ": " + best.size());
    }
    parts.add(new Capacity.Part(scope.pod(), best.size(), bound, proof, copies, plan));
    found.add(best);
  }

  /** No plan is made in less. */
  private static final Duration LEAST = Duration.ofMillis(1);

  /** The most of it. */
  private static final long MOST_SEARCH_NANOS = 300_000_000;

  private boolean late;

  /** Why not even one fits. */
  private @Nullable Unplaced why(SliceRequest one) {
    Duration left = Duration.ofNanos(Math.max(1_000_000, end - System.nanoTime()));
    SolveBudget rest = budget.toBuilder().deadline(left).build();
    List<Unplaced> why = planner.plan(fleet, List.of(one), rules, rest).unplaced();
    return why.isEmpty() ? null : why.get(0);
  }

  private Capacity sum(long cap, SliceRequest one, Set<String> holding) {
    long value = 0;
    long bound = 0;
    List<RequestPlacement> placements = new ArrayList<>();
    StopReason stopped = late ? StopReason.DEADLINE : StopReason.OPTIMAL;
    // The one that has the id first: held places serve no other.
    List<RequestPlacement> all = new ArrayList<>();
    for (int p = 0; p < parts.size(); p++) {
      Capacity.Part part = parts.get(p);
      value += part.value();
      bound += part.bound();
      Plan plan = part.plan();
      if (part.value() < part.bound() && stopped == StopReason.OPTIMAL && plan != null) {
        StopReason own = plan.stopped();
        stopped = own == StopReason.OPTIMAL ? StopReason.EXHAUSTED : own;
      }
      String pod = part.pod();
      boolean first = pod != null && holding.contains(pod);
      all.addAll(first ? 0 : all.size(), found.get(p));
    }
    value = Math.min(value, cap);
    bound = Math.min(bound, cap);
    for (RequestPlacement each : all.subList(0, (int) value)) {
      int i = placements.size();
      SliceRequest request = i == 0 && ownId ? like : named(like, prefix + i);
      List<Placement> slices = new ArrayList<>();
      for (Placement slice : each.slices()) {
        slices.add(
            new Placement(
                new SliceId(request.id(), slice.id().index()),
                slice.pod(),
                slice.topology(),
                slice.shape(),
                slice.footprint(),
                slice.twist()));
      }
      placements.add(new RequestPlacement(request, slices, each.shapeRank()));
    }
    if (value == bound) {
      stopped = StopReason.OPTIMAL;
    }
    Unplaced why = value > 0 ? null : why(one);
    return new Capacity(like, value, bound, placements, stopped, parts, why);
  }
}
