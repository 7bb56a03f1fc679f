package dev.slicewright.plan;

import dev.slicewright.Problems;
import dev.slicewright.SliceId;
import dev.slicewright.cost.Collectives;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.cost.Disruption;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * One run of the verifier. O(running slices + cells of the plan's slices + words of the touched
 * pods), certificates aside.
 */
final class Verification {

  private final Fleet given;
  private final Fleet fleet; // its drained parts cordoned
  private final List<SliceRequest> requests;
  private final PlanningRules rules;
  private final CostTerms cost;
  private final Plan plan;
  private final List<PlanVerifier.Violation> out = new ArrayList<>();

  private final Map<String, Integer> indexOf;
  private final Standing standing;
  private final Goals goals;
  private final Map<String, Integer> phantomOf = new HashMap<>();
  private final boolean[] roomLeft; // by phantom
  private final Map<String, PodState> pods = new HashMap<>();
  private final Map<String, Standing.Group> groups = new HashMap<>();
  private final Map<SliceId, Move> moved = new HashMap<>();
  private final Set<String> movedRequests = new HashSet<>();
  private final Set<String> evicted = new HashSet<>();
  private boolean[] placed;
  private @Nullable Options lastOptions;
  private long[] computed = {};

  private record Options(TpuTopology topology, long chips, List<Shape> shapes) {}

  /** The cells of one pod that are taken so far. */
  private static final class PodState {
    final Pod pod;
    final TpuTopology topology;
    final long[] taken;
    final boolean reported;
    final boolean cordons;
    final int @Nullable [] holdAt; // number of the live hold on a cell + 1
    final List<Hold> holds = new ArrayList<>();

    PodState(Pod pod, PlanningRules rules) {
      this.pod = pod;
      this.topology = pod.topology();
      this.taken = new long[pod.busy().wordCount()];
      for (int i = 0; i < taken.length; i++) {
        taken[i] = pod.busy().word(i);
      }
      this.reported = !pod.reportedHealth().isEmpty();
      this.cordons = pod.isCordoned() || !pod.cordons().isEmpty();
      int[] at = null;
      for (Hold hold : pod.holds()) {
        if (hold.isLive(rules.now())) {
          holds.add(hold);
          at = at == null ? new int[topology.cellCount()] : at;
          for (int cell : topology.cells(hold.footprint())) {
            at[cell] = holds.size();
          }
        }
      }
      this.holdAt = at;
    }
  }

  Verification(
      Fleet fleet, List<SliceRequest> requests, PlanningRules rules, CostTerms cost, Plan plan) {
    this.given = fleet;
    this.requests = requests;
    this.rules = rules;
    this.cost = cost;
    this.plan = plan;
    this.indexOf = new HashMap<>(2 * requests.size());
    this.placed = new boolean[requests.size()];
    this.standing = Standing.of(fleet, rules);
    this.goals = standing.goals;
    this.fleet = goals.cordoned(fleet);
    this.roomLeft = new boolean[goals.phantoms().size()];
    for (int i = 0; i < requests.size(); i++) {
      if (indexOf.putIfAbsent(requests.get(i).id(), i) != null) {
        bad("requests[" + i + "]", "request id " + requests.get(i).id() + " is used twice");
      }
    }
    Problems problems = new Problems();
    Goals.check(fleet, requests, rules, problems);
    problems.list().forEach(p -> bad(p.path(), p.message()));
    for (int i = 0; i < roomLeft.length; i++) {
      phantomOf.put(goals.phantoms().get(i).id(), i);
    }
  }

  private void bad(String path, String message) {
    out.add(new PlanVerifier.Violation(path, message));
  }

  /** The values by level, once run; empty if the plan's levels are wrong. */
  long[] values() {
    return computed.clone();
  }

  List<PlanVerifier.Violation> run() {
    if (plan.fleetVersion() != given.version()) {
      bad(
          "fleetVersion",
          "expected " + given.version() + ", the fleet's, but was " + plan.fleetVersion());
    }
    if (plan.rules() != rules && !plan.rules().equals(rules)) {
      bad("rules", "the plan was made under other rules");
    }
    answers();
    if (!plan.moves().isEmpty() || !plan.evictions().isEmpty()) {
      for (Standing.Group group : standing.groups) {
        groups.put(group.request().id(), group);
      }
      evictions();
      moves();
    }
    for (int i = 0; i < plan.placements().size(); i++) {
      place("placements[" + i + "]", plan.placements().get(i));
    }
    for (int i = 0; i < plan.moves().size(); i++) {
      Move move = plan.moves().get(i);
      take("moves[" + i + "]", move.from().request(), move.to());
    }
    room();
    movedTogether();
    gangs();
    broken();
    staying();
    victims();
    try {
      budget();
      limits();
    } catch (ArithmeticException e) {
      bad("plan", "the chips or chip-seconds of the plan overflow a long");
    }
    try {
      score();
    } catch (ArithmeticException e) {
      bad("score", "the values or bounds of the plan overflow a long");
    }
    return List.copyOf(out);
  }

  // ---------------------------------------------------------------- requests

  /** Every request exactly once, in the order given. */
  private void answers() {
    boolean[] seen = new boolean[requests.size()];
    int last = -1;
    for (int i = 0; i < plan.placements().size(); i++) {
      RequestPlacement answer = plan.placements().get(i);
      last = answer("placements[" + i + "]", answer.request().id(), seen, last);
      Integer index = indexOf.get(answer.request().id());
      if (index != null) {
        placed[index] = true;
        SliceRequest request = requests.get(index);
        if (request != answer.request() && !request.equals(answer.request())) {
          bad("placements[" + i + "].request", "differs from the request given");
        }
      }
    }
    last = -1;
    for (int i = 0; i < plan.unplaced().size(); i++) {
      last = answer("unplaced[" + i + "]", plan.unplaced().get(i).request(), seen, last);
    }
    for (int i = 0; i < seen.length; i++) {
      if (!seen[i] && indexOf.getOrDefault(requests.get(i).id(), -1) == i) {
        bad("requests[" + i + "]", requests.get(i).id() + " is neither placed nor unplaced");
      }
    }
  }

  private int answer(String path, String id, boolean[] seen, int last) {
    Integer index = indexOf.get(id);
    if (index == null) {
      bad(path, "there is no request " + id);
      return last;
    }
    if (seen[index]) {
      bad(path, "request " + id + " is answered twice");
      return last;
    }
    seen[index] = true;
    if (index < last) {
      bad(path, "request " + id + " is out of the order given");
      return last;
    }
    return index;
  }

  // ---------------------------------------------------------------- moves and evictions

  private void evictions() {
    for (int i = 0; i < plan.evictions().size(); i++) {
      Eviction eviction = plan.evictions().get(i);
      String path = "evictions[" + i + "]";
      String id = eviction.request();
      if (i > 0 && plan.evictions().get(i - 1).request().compareTo(id) >= 0) {
        bad(path, "evictions are by request id, each once: " + id);
      }
      if (!evicted.add(id)) {
        continue;
      }
      List<RunningSlice> running = fleet.runningOf(id);
      if (running.isEmpty()) {
        bad(path, "no slice of " + id + " runs");
        continue;
      }
      if (!running.equals(eviction.slices())) {
        bad(path + ".slices", "expected all slices of " + id + " as they run: " + running);
      }
      Standing.Group group = groups.get(id);
      if (group == null || !group.permission().evict()) {
        bad(path, id + " may not be evicted, or a slice of it is leaving");
      }
      for (RunningSlice slice : running) {
        free(slice);
      }
    }
    runningGangs();
  }

  /** Running requests of one gang leave together; those leaving anyway aside. */
  private void runningGangs() {
    Set<String> gangs = new HashSet<>();
    for (int i = 0; i < plan.evictions().size(); i++) {
      for (RunningSlice slice : plan.evictions().get(i).slices()) {
        slice.request().gang().ifPresent(gangs::add);
      }
    }
    if (gangs.isEmpty()) {
      return;
    }
    for (RunningSlice slice : fleet.running()) {
      Optional<String> gang = slice.request().gang();
      if (gang.isPresent()
          && gangs.contains(gang.get())
          && !slice.leaving()
          && !evicted.contains(slice.id().request())) {
        bad(
            "evictions",
            "running gang " + gang.get() + " is torn: " + slice.id() + " would stay behind");
        gangs.remove(gang.get());
      }
    }
  }

  private void moves() {
    SliceId before = null;
    for (int i = 0; i < plan.moves().size(); i++) {
      Move move = plan.moves().get(i);
      String path = "moves[" + i + "]";
      SliceId id = move.from().id();
      if (before != null && before.compareTo(id) >= 0) {
        bad(path, "moves are by slice id, each once: " + id);
      }
      before = id;
      Optional<RunningSlice> running = fleet.running(id);
      if (running.isEmpty() || !running.get().equals(move.from())) {
        bad(path + ".from", id + " does not run like this");
        continue;
      }
      if (moved.putIfAbsent(id, move) != null) {
        continue;
      }
      if (!move.to().id().equals(id)) {
        bad(path + ".to", "expected " + id + ", but was " + move.to().id());
      }
      if (evicted.contains(id.request())) {
        bad(path, id + " is moved and evicted");
        continue;
      }
      movedRequests.add(id.request());
      Standing.Group group = groups.get(id.request());
      Permission permission = group == null ? Permission.PINNED : group.permission();
      if (!permission.move()) {
        bad(path, id + " may not be moved, or a slice of its request is leaving");
      } else if (permission.withinPod() && !move.to().pod().equals(move.from().pod())) {
        bad(path, id + " may be moved within pod " + move.from().pod() + " only");
      }
      if (move.to().pod().equals(move.from().pod())
          && move.to().footprint().equals(move.from().footprint())
          && move.to().shape().sorted().equals(move.from().shape().sorted())) {
        bad(path, id + " is moved to where it is");
      }
      free(running.get());
    }
  }

  /** What is moved fits what stays of its request. */
  private void movedTogether() {
    for (String id : movedRequests) {
      List<RunningSlice> running = fleet.runningOf(id);
      SliceRequest request = running.get(0).request();
      List<Pod> on = new ArrayList<>();
      Shape first = null;
      boolean same = true;
      for (RunningSlice slice : running) {
        Move move = moved.get(slice.id());
        Shape shape = move == null ? slice.shape() : move.to().shape();
        Optional<Pod> pod = fleet.pod(move == null ? slice.pod() : move.to().pod());
        pod.ifPresent(on::add);
        first = first == null ? shape : first;
        same &= sameShape(request, first, shape);
        if (move != null && pod.isPresent()) {
          if (Collectives.rank(request, options(request, pod.get().topology()), shape).isEmpty()) {
            bad("moves " + slice.id(), shape + " is not a shape that " + id + " asks for");
          }
        }
      }
      if (!same) {
        bad("moves " + id, "the slices of one request must keep one shape");
      }
      together("moves " + id, request, on);
    }
  }

  private void free(RunningSlice slice) {
    PodState state = state(slice.pod());
    if (state != null) {
      for (int cell : state.topology.cells(slice.footprint())) {
        state.taken[cell >>> 6] &= ~(1L << cell);
      }
    }
  }

  private @Nullable PodState state(String id) {
    PodState state = pods.get(id);
    if (state == null) {
      Optional<Pod> pod = fleet.pod(id);
      if (pod.isPresent()) {
        state = new PodState(pod.get(), rules);
        pods.put(id, state);
      }
    }
    return state;
  }

  // ---------------------------------------------------------------- placements

  private void place(String path, RequestPlacement answer) {
    SliceRequest request = answer.request();
    List<Placement> slices = answer.slices();
    if (slices.size() != request.slices()) {
      bad(
          path + ".slices",
          "expected all " + request.slices() + " slices, but was " + slices.size());
    }
    for (RunningSlice slice : fleet.runningOf(request.id())) {
      int index = slice.id().index();
      String at = index < slices.size() ? path + ".slices[" + index + "]" : path;
      bad(at, slice.id() + " runs already");
    }
    List<Pod> on = slices.size() > 1 ? new ArrayList<>(slices.size()) : List.of();
    for (int i = 0; i < slices.size(); i++) {
      Placement slice = slices.get(i);
      String at = path + ".slices[" + i + "]";
      if (slice.id().index() != i || !slice.id().request().equals(request.id())) {
        bad(at + ".id", "expected " + request.id() + "/" + i + ", but was " + slice.id());
      }
      if (i > 0 && !sameShape(request, slices.get(0).shape(), slice.shape())) {
        bad(at + ".shape", "expected " + slices.get(0).shape() + " as the first slice");
      }
      take(at, request, slice);
      PodState state = state(slice.pod());
      if (state != null) {
        if (slices.size() > 1) {
          on.add(state.pod);
        }
        OptionalInt rank =
            Collectives.rank(request, options(request, state.topology), slice.shape());
        if (rank.isEmpty()) {
          bad(at + ".shape", slice.shape() + " is not a shape that " + request.id() + " asks for");
        } else if (i == 0 && rank.getAsInt() != answer.shapeRank()) {
          bad(
              path + ".shapeRank",
              "expected " + rank.getAsInt() + ", but was " + answer.shapeRank());
        }
      }
    }
    together(path, request, on);
  }

  private static boolean sameShape(SliceRequest request, Shape a, Shape b) {
    return a.equals(b) || request.mayTurn() && a.sorted().equals(b.sorted());
  }

  private List<Shape> options(SliceRequest request, TpuTopology topology) {
    if (!request.shapes().isEmpty()) {
      return request.shapes();
    }
    Options last = lastOptions;
    if (last == null || last.topology() != topology || last.chips() != request.chips()) {
      List<Shape> shapes = Collectives.shapesByAllToAll(topology, request.chips());
      last = new Options(topology, request.chips(), shapes);
      lastOptions = last;
    }
    return last.shapes();
  }

  /** Accelerator and spread of the slices of one request; their pods by slice. */
  private void together(String path, SliceRequest request, List<Pod> on) {
    if (on.size() < 2) {
      return;
    }
    Spread spread = request.spread();
    Map<String, Integer> domains = new HashMap<>();
    int most = spread.kind() == Spread.Kind.DIFFERENT_PODS ? 1 : spread.max();
    Pod first = on.get(0);
    for (Pod pod : on) {
      if (pod == first) {
        if (spread.kind() == Spread.Kind.ANY || spread.kind() == Spread.Kind.SAME_POD) {
          continue;
        }
      } else if (!first
          .topology()
          .accelerator()
          .name()
          .equals(pod.topology().accelerator().name())) {
        bad(path, "the slices of " + request.id() + " must all have one accelerator");
        return;
      } else if (spread.kind() == Spread.Kind.SAME_POD) {
        bad(path, "the slices of " + request.id() + " must all be in one pod");
        return;
      }
      if (spread.kind() == Spread.Kind.DIFFERENT_PODS || spread.kind() == Spread.Kind.AT_MOST) {
        String domain = domain(spread, pod);
        if (domains.merge(domain, 1, Integer::sum) > most) {
          bad(
              path,
              "at most "
                  + most
                  + " slices of "
                  + request.id()
                  + " may be in pod or domain "
                  + pod.id());
          return;
        }
      }
    }
  }

  /** The failure domain of a pod; a pod without the label is a domain of its own. */
  static String domain(Spread spread, Pod pod) {
    String value = spread.label().isEmpty() ? null : pod.labels().get(spread.label());
    return value == null ? "pod " + pod.id() : "label " + value;
  }

  /** Checks one slice on its footprint, and takes its cells. */
  private void take(String path, SliceRequest request, Placement slice) {
    PodState state = state(slice.pod());
    if (state == null) {
      bad(path + ".pod", "there is no pod " + slice.pod());
      return;
    }
    TpuTopology t = state.topology;
    if (slice.topology() != t && !slice.topology().equals(t)) {
      bad(path + ".topology", "is not that of pod " + slice.pod());
      return;
    }
    String mismatch = state.pod.whyNot(request).orElse(null);
    if (mismatch != null) {
      bad(path + ".pod", "pod " + slice.pod() + " " + mismatch);
    }
    Footprint footprint = slice.footprint();
    Optional<String> illegal = t.whyNot(slice.shape(), footprint);
    if (illegal.isPresent()) {
      bad(path + ".footprint", illegal.get());
      return;
    }
    if (!request.mayTurn() && isTurned(t, slice.shape(), footprint)) {
      bad(path + ".footprint", request.id() + " may not be turned, but is: " + footprint);
    }
    interconnect(path, request, t, slice);
    int[] cells = t.cells(footprint);
    boolean overlap = false;
    for (int cell : cells) {
      long bit = 1L << cell;
      overlap |= (state.taken[cell >>> 6] & bit) != 0;
      state.taken[cell >>> 6] |= bit;
    }
    if (overlap) {
      bad(path + ".footprint", "takes chips that another slice has: " + footprint);
    }
    if (state.reported) {
      Health health = state.pod.health().of(t, footprint, cells);
      if (health == Health.FAILED) {
        bad(path + ".footprint", "uses a failed part: " + footprint);
      } else if (health != Health.HEALTHY && request.healthyOnly()) {
        bad(path + ".footprint", "uses a degraded part, but healthy only is asked: " + footprint);
      }
    }
    if (state.cordons && state.pod.cordonedCells().containsAny(cells)) {
      bad(path + ".footprint", "uses a cordoned part: " + footprint);
    }
    int[] holdAt = state.holdAt;
    if (holdAt != null) {
      for (int cell : cells) {
        if (holdAt[cell] != 0) {
          Hold hold = state.holds.get(holdAt[cell] - 1);
          if (!hold.request().equals(request.id())) {
            bad(path + ".footprint", "takes chips of hold " + hold.id() + ", for another request");
            break;
          }
        }
      }
    }
  }

  static boolean isTurned(TpuTopology t, Shape shape, Footprint footprint) {
    if (!t.coordinatesKnown()) {
      return false;
    }
    if (footprint instanceof Footprint.Box box) {
      return !box.extents().equals(shape);
    }
    if (footprint instanceof Footprint.Partition partition) {
      Optional<Footprint.Box> box = t.partitions().flatMap(f -> f.box(partition.id()));
      return box.isPresent() && !box.get().extents().equals(shape);
    }
    return false;
  }

  private void interconnect(String path, SliceRequest request, TpuTopology t, Placement slice) {
    boolean twisted = !slice.twist().isNone();
    if (twisted && t.twist(slice.shape()).isEmpty()) {
      bad(path + ".twist", slice.shape() + " cannot be twisted");
    }
    for (Axis wrap : Axis.values()) {
      for (Axis axis : Axis.values()) {
        if (twisted && slice.twist().shift(wrap).get(axis) >= slice.shape().get(axis)) {
          bad(path + ".twist", "shifts by the whole extent or more: " + slice.twist());
        }
      }
    }
    if (request.interconnect() == Interconnect.TWISTED && !twisted) {
      bad(path + ".twist", request.id() + " asks for a twisted torus");
    }
    if (request.interconnect() == Interconnect.WRAPAROUND
        && !t.isTorus(slice.shape(), slice.footprint())) {
      bad(path + ".footprint", "does not wrap on every axis, as " + request.id() + " asks");
    }
  }

  /** Room for phantoms: each at most once, in the order of the goals, and like any placement. */
  private void room() {
    int last = -1;
    for (int i = 0; i < plan.room().size(); i++) {
      RequestPlacement answer = plan.room().get(i);
      String path = "room[" + i + "]";
      Integer index = phantomOf.get(answer.request().id());
      if (index == null) {
        bad(path, "there is no room goal for " + answer.request().id());
      } else {
        if (index <= last) {
          bad(path, answer.request().id() + " is listed twice or out of the order of the goals");
        }
        last = index;
        roomLeft[index] = true;
        if (!answer.request().equals(goals.phantoms().get(index))) {
          bad(path + ".request", "differs from what the goal asks for");
        }
      }
      place(path, answer);
    }
  }

  // ---------------------------------------------------------------- what ties requests

  private void gangs() {
    Map<String, Boolean> seen = new HashMap<>();
    for (int i = 0; i < requests.size(); i++) {
      Optional<String> gang = requests.get(i).gang();
      if (gang.isPresent()) {
        Boolean other = seen.putIfAbsent(gang.get(), placed[i]);
        if (other != null && other != placed[i]) {
          bad("requests[" + i + "]", "gang " + gang.get() + " is placed in part");
        }
      }
    }
  }

  private void broken() {
    Set<SliceId> expected = new HashSet<>();
    for (RunningSlice slice : standing.broken) {
      if (!moved.containsKey(slice.id()) && !evicted.contains(slice.id().request())) {
        expected.add(slice.id());
      }
    }
    for (int i = 0; i < plan.broken().size(); i++) {
      RunningSlice slice = plan.broken().get(i).slice();
      if (!expected.remove(slice.id())) {
        bad("broken[" + i + "]", slice.id() + " is not broken, does not stay, or is listed twice");
      } else if (!fleet.running(slice.id()).map(slice::equals).orElse(false)) {
        bad("broken[" + i + "]", slice.id() + " does not run like this");
      }
    }
    for (SliceId id : expected) {
      bad("broken", id + " uses a failed part and stays, but is not listed");
    }
  }

  /** What is not out of drained parts in time is named, and nothing else. */
  private void staying() {
    Map<SliceId, Boolean> expected = new HashMap<>(); // whether it is moved
    for (RunningSlice slice : goals.onDrained(fleet)) {
      boolean moves = moved.containsKey(slice.id());
      if (!evicted.contains(slice.id().request())
          && (!moves || isLate(goals, fleet, rules, slice))) {
        expected.put(slice.id(), moves);
      }
    }
    for (int i = 0; i < plan.staying().size(); i++) {
      Staying staying = plan.staying().get(i);
      RunningSlice slice = staying.slice();
      String path = "staying[" + i + "]";
      Boolean moves = expected.remove(slice.id());
      if (moves == null) {
        bad(path, slice.id() + " is out of drained parts in time, or is listed twice");
      } else if (!fleet.running(slice.id()).map(slice::equals).orElse(false)) {
        bad(path, slice.id() + " does not run like this");
      } else {
        Permission may = ObjectiveLevels.permission(fleet, rules, slice.id().request());
        boolean pinned = !may.move() && !may.evict();
        if (moves != (staying.reason() == Reason.LATE)
            || pinned != (staying.reason() == Reason.PINNED)) {
          bad(path + ".reason", staying.reason() + " is not why " + slice.id() + " stays");
        }
      }
    }
    for (SliceId id : expected.keySet()) {
      bad("staying", id + " is not out of drained parts in time, but is not listed");
    }
  }

  /** Whether a slice that moves now is not up elsewhere before its drain's deadline. */
  static boolean isLate(Goals goals, Fleet fleet, PlanningRules rules, RunningSlice slice) {
    Instant by = goals.deadline(fleet, slice);
    return by != null
        && Duration.between(rules.now(), by).compareTo(Disruption.restartTime(slice)) < 0;
  }

  /** At most so many victims a tenant. */
  private void victims() {
    long most = rules.victims().mostPerTenant();
    if (most == Long.MAX_VALUE) {
      return;
    }
    Map<String, Long> byTenant = new TreeMap<>();
    for (String id : evicted) {
      fleet.runningOf(id).stream()
          .findFirst()
          .ifPresent(s -> byTenant.merge(s.request().tenant(), 1L, Long::sum));
    }
    byTenant.forEach(
        (tenant, n) -> {
          if (n > most) {
            bad(
                "evictions",
                "expected at most "
                    + most
                    + " evicted requests of tenant \""
                    + tenant
                    + "\", but was "
                    + n);
          }
        });
  }

  private void budget() {
    PlanningRules.DisruptionBudget budget = rules.disruption();
    if (moved.isEmpty() && evicted.isEmpty()) {
      return;
    }
    long slices = moved.size();
    Set<String> tenants = new HashSet<>();
    for (Move move : moved.values()) {
      tenants.add(move.from().request().tenant());
    }
    for (Eviction eviction : plan.evictions()) {
      slices += eviction.slices().size();
      eviction.slices().forEach(slice -> tenants.add(slice.request().tenant()));
    }
    check("disrupted slices", slices, budget.slices());
    check("disrupted tenants", tenants.size(), budget.tenants());
    check("lost chip-seconds", disruption(), budget.chipSeconds());
  }

  private void check(String what, long used, long limit) {
    if (used > limit) {
      bad("disruption budget", "expected at most " + limit + " " + what + ", but was " + used);
    }
  }

  /** Chip-seconds of moved and evicted requests: all slices of each, once. */
  private long disruption() {
    long sum = 0;
    if (moved.isEmpty() && evicted.isEmpty()) {
      return 0;
    }
    for (Standing.Group group : standing.groups) {
      String id = group.request().id();
      if (movedRequests.contains(id) || evicted.contains(id)) {
        sum = Math.addExact(sum, disruption(group, rules));
      }
    }
    return sum;
  }

  static long disruption(Standing.Group group, PlanningRules rules) {
    long sum = 0;
    for (int i = 0; i < group.slices().size(); i++) {
      sum =
          Math.addExact(
              sum, Disruption.chipSeconds(group.slices().get(i), group.isBroken(i), rules.now()));
    }
    return sum;
  }

  private void limits() {
    int quotas = rules.quotas().size();
    int reserved = rules.reserved().size();
    if (quotas + reserved == 0) {
      return;
    }
    RuleLimits limits = RuleLimits.of(fleet, goals.with(requests), rules, standing);
    long[] quotaUsed = new long[quotas];
    long[] reservedUsed = new long[reserved];
    for (int i = 0; i < quotas; i++) {
      quotaUsed[i] = limits.quotaFixed(i);
    }
    for (int i = 0; i < reserved; i++) {
      reservedUsed[i] = limits.reservedFixed(i);
    }
    for (RequestPlacement answer : plan.placements()) {
      for (Placement slice : answer.slices()) {
        count(quotaUsed, reservedUsed, answer.request().tenant(), slice.pod(), slice.chips());
      }
    }
    for (RequestPlacement answer : plan.room()) {
      for (Placement slice : answer.slices()) {
        count(quotaUsed, reservedUsed, answer.request().tenant(), slice.pod(), slice.chips());
      }
    }
    for (Standing.Group group : standing.groups) {
      if (!evicted.contains(group.request().id())) {
        for (RunningSlice slice : group.slices()) {
          Move move = moved.get(slice.id());
          String pod = move == null ? slice.pod() : move.to().pod();
          long chips = move == null ? slice.shape().chips() : move.to().chips();
          count(quotaUsed, reservedUsed, group.request().tenant(), pod, chips);
        }
      }
    }
    for (Hold hold : fleet.holds()) {
      Integer index = indexOf.get(hold.request());
      if (index != null && !placed[index] && hold.isLive(rules.now())) {
        long chips = RuleLimits.chips(fleet.pod(hold.pod()).orElseThrow(), hold);
        count(quotaUsed, reservedUsed, requests.get(index).tenant(), hold.pod(), chips);
      }
      Integer phantom = phantomOf.get(hold.request());
      if (phantom != null && !roomLeft[phantom] && hold.isLive(rules.now())) {
        long chips = RuleLimits.chips(fleet.pod(hold.pod()).orElseThrow(), hold);
        String tenant = goals.phantoms().get(phantom).tenant();
        count(quotaUsed, reservedUsed, tenant, hold.pod(), chips);
      }
    }
    for (int i = 0; i < quotas; i++) {
      if (quotaUsed[i] > limits.quotaLimit(i)) {
        bad(
            "quotas[" + i + "]",
            "tenant "
                + rules.quotas().get(i).tenant()
                + " has at most "
                + limits.quotaLimit(i)
                + " chips, but would have "
                + quotaUsed[i]);
      }
    }
    for (int i = 0; i < reserved; i++) {
      if (reservedUsed[i] > limits.reservedLimit(i)) {
        bad(
            "reserved[" + i + "]",
            "all but "
                + rules.reserved().get(i).tenant()
                + " have at most "
                + limits.reservedLimit(i)
                + " chips, but would have "
                + reservedUsed[i]);
      }
    }
  }

  private void count(
      long[] quotaUsed, long[] reservedUsed, String tenant, String podId, long chips) {
    Optional<Pod> pod = fleet.pod(podId);
    if (pod.isEmpty()) {
      return;
    }
    for (int i = 0; i < quotaUsed.length; i++) {
      if (RuleLimits.counts(rules.quotas().get(i), tenant, pod.get())) {
        quotaUsed[i] = Math.addExact(quotaUsed[i], chips);
      }
    }
    for (int i = 0; i < reservedUsed.length; i++) {
      if (RuleLimits.counts(rules.reserved().get(i), tenant, pod.get())) {
        reservedUsed[i] = Math.addExact(reservedUsed[i], chips);
      }
    }
  }

  // ---------------------------------------------------------------- score

  private void score() {
    List<Level> levels = ObjectiveLevels.of(standing, requests, cost);
    List<Score.LevelScore> given = plan.score().levels();
    boolean same = levels.size() == given.size();
    for (int i = 0; same && i < levels.size(); i++) {
      same = levels.get(i).equals(given.get(i).level());
    }
    if (!same) {
      bad(
          "score.levels",
          "expected "
              + levels
              + ", but was "
              + given.stream().map(Score.LevelScore::level).toList());
      return;
    }
    long[] values = values(levels);
    computed = values;
    CertificateChecker checker = null;
    long[] trivial = null; // made when first asked
    Optional<CountedRepairs> counted = null; // the same
    boolean open = false;
    for (int i = 0; i < values.length; i++) {
      Score.LevelScore level = given.get(i);
      String path = "score.levels[" + i + "]";
      boolean max = level.level().kind().maximise();
      if (level.value() != values[i]) {
        bad(path + ".value", "expected " + values[i] + ", but was " + level.value());
      }
      if (max ? level.bound() < level.value() : level.bound() > level.value()) {
        bad(path + ".bound", "bound " + level.bound() + " is worse than value " + level.value());
      }
      open |= !level.isProved();
      if (level.proof() instanceof Proof.Trivial) {
        if (trivial == null) {
          trivial = trivialBounds(standing, requests, levels);
        }
        bound(path, level, trivial[i], "what is asked for");
      } else if (level.proof() instanceof Proof.Agreement agreement) {
        if (agreement.first().isEmpty()
            || agreement.second().isEmpty()
            || agreement.first().equals(agreement.second())) {
          bad(path + ".proof", "an agreement needs two different solves: " + agreement);
        }
      } else if (level.proof() instanceof Proof.Counted) {
        counted =
            counted != null
                ? counted
                : requests.isEmpty()
                    ? CountedRepairs.of(fleet, rules, cost, standing, levels, () -> false)
                    : Optional.empty();
        OptionalLong proved =
            counted.isEmpty() ? OptionalLong.empty() : counted.get().bound(i, values);
        if (proved.isEmpty()) {
          bad(path + ".proof", "counting room proves nothing here");
        } else {
          bound(path, level, proved.getAsLong(), "counting room proves");
        }
      } else if (level.proof() instanceof Proof.Enumerated enumerated) {
        try {
          if (checker == null) {
            checker = new CertificateChecker(fleet, requests, cost, standing, levels, () -> false);
          }
          OptionalLong proved = checker.enumeratedBound(i, values);
          if (proved.isEmpty()) {
            bad(path + ".proof", "enumerating places proves nothing here");
          } else {
            bound(path, level, proved.getAsLong(), "enumerating all places proves");
            if (enumerated.places() != checker.places()) {
              bad(
                  path + ".proof",
                  "expected " + checker.places() + " places, but was " + enumerated.places());
            }
          }
        } catch (ArithmeticException e) {
          bad(path + ".proof", "the sums over a place overflow a long");
        }
      } else if (level.proof() instanceof Proof.Searched searched) {
        try {
          if (checker == null) {
            checker = new CertificateChecker(fleet, requests, cost, standing, levels, () -> false);
          }
          long most = searched.steps() + Proof.Searched.SPARE;
          OptionalLong proved = checker.searchedBound(i, values, level.bound(), most);
          if (searched.steps() < 0 || searched.steps() > Proof.Searched.MOST || proved.isEmpty()) {
            bad(
                path + ".proof",
                "searching all ways does not prove " + level.bound() + " in " + most + " steps");
          }
        } catch (ArithmeticException e) {
          bad(path + ".proof", "the sums over a place overflow a long");
        }
      } else {
        BranchTree tree =
            level.proof() instanceof Proof.Branched branched
                ? branched.tree()
                : new BranchTree.Leaf(((Proof.Certified) level.proof()).certificate(), new long[0]);
        if (tree.level() != i) {
          bad(path + ".proof", "the certificate is for level " + tree.level());
          continue;
        }
        try {
          if (checker == null) {
            checker = new CertificateChecker(fleet, requests, cost, standing, levels, () -> false);
          }
          bound(path, level, checker.bound(tree, values), "the certificate proves");
        } catch (IllegalArgumentException e) {
          bad(path + ".proof", Objects.requireNonNullElse(e.getMessage(), "malformed"));
        } catch (ArithmeticException e) {
          bad(path + ".proof", "the prices of the certificate overflow a long");
        }
      }
    }
    if (open && plan.stopped() == StopReason.OPTIMAL) {
      bad("stopped", "says optimal, but a level is not proved");
    }
  }

  private void bound(String path, Score.LevelScore level, long proved, String by) {
    boolean max = level.level().kind().maximise();
    if (max ? level.bound() < proved : level.bound() > proved) {
      bad(
          path + ".bound",
          "expected "
              + proved
              + " or "
              + (max ? "more" : "less")
              + " ("
              + by
              + "), but was "
              + level.bound());
    }
  }

  /** The bound of a level that follows from what is asked for alone. */
  static long trivialBound(Standing standing, List<SliceRequest> requests, Level level) {
    return trivialBounds(standing, requests, List.of(level))[0];
  }

  /** The bound of each level that follows from what is asked for alone; levels differ. */
  static long[] trivialBounds(Standing standing, List<SliceRequest> requests, List<Level> levels) {
    long[] bounds = new long[levels.size()];
    Map<Long, Integer> placedAt = new HashMap<>();
    Map<Long, Integer> keptAt = new HashMap<>();
    for (int i = 0; i < bounds.length; i++) {
      Level level = levels.get(i);
      if (level.kind() == Level.Kind.PLACED) {
        placedAt.put(level.priority(), i);
      } else if (level.kind() == Level.Kind.KEPT) {
        keptAt.put(level.priority(), i);
        long[] pinned = standing.pinnedKept.get(level.priority());
        bounds[i] = pinned == null ? 0 : pinned[0];
      }
      if (level.kind() == Level.Kind.DRAIN) {
        bounds[i] = standing.pinnedDrained;
      } else if (level.kind() == Level.Kind.ROOM) {
        for (SliceRequest phantom : standing.goals.phantoms()) {
          long most = standing.goals.mostGain(phantom);
          bounds[i] = Math.addExact(bounds[i], Math.multiplyExact(most, (long) phantom.slices()));
        }
      }
    }
    for (SliceRequest request : placedAt.isEmpty() ? List.<SliceRequest>of() : requests) {
      Integer at = placedAt.get(request.priority());
      if (at != null) {
        long chips = Math.multiplyExact(ObjectiveLevels.mostCounted(request), request.slices());
        bounds[at] = Math.addExact(bounds[at], chips);
      }
    }
    for (Standing.Group group : keptAt.isEmpty() ? List.<Standing.Group>of() : standing.groups) {
      Integer at = keptAt.get(group.request().priority());
      for (int i = 0; at != null && i < group.slices().size(); i++) {
        if (group.keptByStaying(i) > 0 || group.permission().move()) {
          Shape shape = group.slices().get(i).shape();
          bounds[at] = Math.addExact(bounds[at], ObjectiveLevels.counted(group.request(), shape));
        }
      }
    }
    return bounds;
  }

  private long[] values(List<Level> levels) {
    long[] values = new long[levels.size()];
    Map<Long, Integer> keptAt = new HashMap<>();
    Map<Long, Integer> placedAt = new HashMap<>();
    int drainAt = -1;
    int rankAt = -1;
    int hostsAt = -1;
    int priceAt = -1;
    for (int i = 0; i < values.length; i++) {
      Level level = levels.get(i);
      switch (level.kind()) {
        case KEPT -> {
          keptAt.put(level.priority(), i);
          values[i] = Objects.requireNonNull(standing.pinnedKept.get(level.priority()))[0];
        }
        case PLACED -> placedAt.put(level.priority(), i);
        case DRAIN -> {
          drainAt = i;
          values[i] = standing.pinnedDrained;
        }
        case ROOM -> values[i] = roomValue();
        case DISRUPTION -> values[i] = disruption();
        case SHAPE_RANK -> rankAt = i;
        case NEW_HOSTS -> hostsAt = i;
        case PRICE -> priceAt = i;
      }
    }
    for (Standing.Group group : standing.groups) {
      SliceRequest request = group.request();
      if (evicted.contains(request.id())) {
        continue;
      }
      int at = Objects.requireNonNull(keptAt.get(request.priority()));
      for (int i = 0; i < group.slices().size(); i++) {
        RunningSlice slice = group.slices().get(i);
        Move move = moved.get(slice.id());
        if (move != null) {
          // No slice keeps more than it has now.
          long had = ObjectiveLevels.counted(request, slice.shape());
          add(values, at, Math.min(had, ObjectiveLevels.counted(request, move.to().shape())));
          if (hostsAt >= 0) {
            add(values, hostsAt, newHosts(move));
          }
          if (priceAt >= 0) {
            add(values, priceAt, price(cost, move.to()));
          }
        } else {
          add(values, at, group.keptByStaying(i));
          if (drainAt >= 0) {
            add(values, drainAt, group.drained(i));
          }
        }
      }
    }
    for (RequestPlacement answer : plan.placements()) {
      SliceRequest request = answer.request();
      Integer at = placedAt.get(request.priority());
      for (Placement slice : answer.slices()) {
        if (at != null) {
          add(values, at, ObjectiveLevels.counted(request, slice.shape()));
        }
        if (rankAt >= 0) {
          int rank =
              Collectives.rank(request, options(request, slice.topology()), slice.shape())
                  .orElse(0);
          add(values, rankAt, Math.multiplyExact(slice.chips(), rank));
        }
        if (priceAt >= 0) {
          add(values, priceAt, price(cost, slice));
        }
      }
    }
    return values;
  }

  private long roomValue() {
    long sum = 0;
    for (RequestPlacement answer : plan.room()) {
      Integer phantom = phantomOf.get(answer.request().id());
      if (phantom != null) {
        for (Placement slice : answer.slices()) {
          sum = Math.addExact(sum, goals.gain(goals.phantoms().get(phantom), slice.shape()));
        }
      }
    }
    return sum;
  }

  private static void add(long[] values, int at, long more) {
    values[at] = Math.addExact(values[at], more);
  }

  private static long price(CostTerms cost, Placement slice) {
    return Math.multiplyExact(
        slice.chips(),
        cost.pricePerChipHourMicros(slice.pod(), slice.topology().accelerator().name()));
  }

  /** Hosts that a moved slice did not hold before. */
  private static long newHosts(Move move) {
    TpuTopology t = move.to().topology();
    if (t.whyNot(move.to().shape(), move.to().footprint()).isPresent()) {
      return 0;
    }
    Set<Integer> old = new HashSet<>();
    if (move.to().pod().equals(move.from().pod())) {
      for (int cell : t.cells(move.from().footprint())) {
        old.add(t.hostOfCell(cell).index());
      }
    }
    long fresh = 0;
    for (int cell : t.cells(move.to().footprint())) {
      fresh += old.add(t.hostOfCell(cell).index()) ? 1 : 0;
    }
    return fresh;
  }
}
