package dev.slicewright.plan;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.StalePlanException.Conflict;
import dev.slicewright.plan.StalePlanException.ConflictKind;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.TpuTopology;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Applies a plan to a fleet: first everything that the plan needs is checked, then what moves or
 * leaves is released, and what is placed runs. O(cells of the plan's slices + words of the touched
 * pods, log of the fleet); quotas and reserved capacity, where they concern the plan, add O(running
 * slices + holds).
 */
final class PlanApplication {

  private static final int MAX_NAMED = 4;

  private final Plan plan;
  private final Fleet fleet;
  private final PlanningRules rules;
  private final List<Conflict> conflicts = new ArrayList<>();
  private final Map<String, Room> rooms = new HashMap<>();
  private final Map<String, List<String>> podsGone = new LinkedHashMap<>();
  private final Set<String> gone = new HashSet<>();
  private final Set<String> expired = new HashSet<>();

  /** The cells of one touched pod. */
  private static final class Room {
    final Pod pod;
    final long[] taken;
    final @Nullable Hold @Nullable [] held;

    Room(Pod pod) {
      this.pod = pod;
      this.taken = new long[pod.busy().wordCount()];
      for (int i = 0; i < taken.length; i++) {
        taken[i] = pod.busy().word(i);
      }
      @Nullable Hold[] at = null;
      for (Hold hold : pod.holds()) {
        at = at == null ? new @Nullable Hold[pod.topology().cellCount()] : at;
        for (int cell : pod.topology().cells(hold.footprint())) {
          at[cell] = hold;
        }
      }
      this.held = at;
    }
  }

  private PlanApplication(Plan plan, Fleet fleet) {
    this.plan = plan;
    this.fleet = fleet;
    this.rules = plan.rules();
  }

  static Fleet apply(Plan plan, Fleet fleet) {
    return new PlanApplication(plan, fleet).apply();
  }

  /**
   * What keeps one slice of a plan from a place in a fleet; nothing is released first. Quotas are
   * left out.
   */
  static List<Conflict> whyNot(Plan plan, Fleet fleet, SliceRequest request, Placement slice) {
    PlanApplication application = new PlanApplication(plan, fleet);
    application.take(request, slice);
    application.podsGone();
    return application.conflicts;
  }

  private void conflict(ConflictKind kind, String subject, String message) {
    conflicts.add(new Conflict(kind, subject, message));
  }

  private Fleet apply() {
    for (Eviction eviction : plan.evictions()) {
      evict(eviction);
    }
    for (Move move : plan.moves()) {
      Optional<RunningSlice> now = fleet.running(move.from().id());
      if (now.isEmpty() || !isSame(now.get(), move.from())) {
        changed(move.from().id().toString(), now.isEmpty());
      } else {
        free(now.get());
      }
    }
    for (Move move : plan.moves()) {
      take(move.from().request(), move.to());
    }
    for (RequestPlacement answer : plan.placements()) {
      String id = answer.request().id();
      if (!fleet.runningOf(id).isEmpty()) {
        conflict(ConflictKind.RUNS_ALREADY, id, "request " + id + " runs already");
      }
      for (Placement slice : answer.slices()) {
        take(answer.request(), slice);
      }
    }
    podsGone();
    if (conflicts.isEmpty()) {
      limits();
    }
    if (!conflicts.isEmpty()) {
      throw new StalePlanException(plan.fleetVersion(), fleet.version(), conflicts);
    }
    return changedFleet();
  }

  private void podsGone() {
    podsGone.forEach(
        (pod, slices) ->
            conflict(
                ConflictKind.POD_CHANGED,
                pod,
                "pod "
                    + pod
                    + ", where "
                    + list(slices)
                    + (slices.size() == 1 ? " was" : " were")
                    + " to go, is gone"));
  }

  private Fleet changedFleet() {
    Fleet result = fleet;
    for (String hold : expired) {
      result = result.dropHold(hold);
    }
    for (Eviction eviction : plan.evictions()) {
      result = result.release(eviction.request());
    }
    List<RunningSlice> moved = new ArrayList<>();
    for (Move move : plan.moves()) {
      RunningSlice now = fleet.running(move.from().id()).orElseThrow();
      result = result.release(now.id());
      moved.add(
          started(now.request(), move.to())
              .restartTime(now.restartTime().orElse(null))
              .checkpointAt(now.checkpointAt().orElse(null))
              .endsAt(laterEnd(now))
              .build());
    }
    for (RunningSlice slice : moved) {
      result = result.place(slice);
    }
    for (RequestPlacement answer : plan.placements()) {
      for (Placement slice : answer.slices()) {
        result = result.place(started(answer.request(), slice).build());
      }
      for (Hold hold : result.holdsOf(answer.request().id())) {
        result = result.dropHold(hold.id());
      }
    }
    return result;
  }

  /** A slice that starts anew does not end before that. */
  private @Nullable Instant laterEnd(RunningSlice slice) {
    return slice.endsAt().filter(end -> !end.isBefore(rules.now())).orElse(null);
  }

  private RunningSlice.Builder started(SliceRequest request, Placement slice) {
    Instant now = rules.now();
    return RunningSlice.builder(
            request, slice.id().index(), slice.pod(), slice.shape(), slice.footprint())
        .twist(slice.twist())
        .startedAt(now.equals(Instant.EPOCH) ? null : now);
  }

  private void evict(Eviction eviction) {
    List<RunningSlice> now = fleet.runningOf(eviction.request());
    boolean same = now.size() == eviction.slices().size();
    for (int i = 0; same && i < now.size(); i++) {
      same = isSame(now.get(i), eviction.slices().get(i));
    }
    if (!same) {
      changed(eviction.request(), now.isEmpty());
      return;
    }
    gone.add(eviction.request());
    now.forEach(this::free);
  }

  private void changed(String subject, boolean isGone) {
    conflict(
        ConflictKind.SLICE_CHANGED,
        subject,
        subject + (isGone ? " no longer runs" : " runs otherwise than when the plan was made"));
  }

  /** Whether a slice is where it was, and as free to go; its checkpoints may be newer. */
  private static boolean isSame(RunningSlice now, RunningSlice then) {
    return now.id().equals(then.id())
        && now.pod().equals(then.pod())
        && now.shape().equals(then.shape())
        && now.footprint().equals(then.footprint())
        && now.leaving() == then.leaving()
        && now.request().equals(then.request());
  }

  private @Nullable Room room(String id) {
    Room room = rooms.get(id);
    if (room == null) {
      Pod pod = fleet.pod(id).orElse(null);
      if (pod != null) {
        room = new Room(pod);
        rooms.put(id, room);
      }
    }
    return room;
  }

  private void free(RunningSlice slice) {
    Room room = room(slice.pod());
    if (room != null) {
      for (int cell : room.pod.topology().cells(slice.footprint())) {
        room.taken[cell >>> 6] &= ~(1L << cell);
      }
    }
  }

  private void take(SliceRequest request, Placement slice) {
    Room room = room(slice.pod());
    String subject = slice.id().toString();
    if (room == null) {
      podsGone.computeIfAbsent(slice.pod(), pod -> new ArrayList<>()).add(subject);
      return;
    }
    TpuTopology t = room.pod.topology();
    String mismatch = room.pod.whyNot(request).orElse(null);
    if (!t.equals(slice.topology())
        || mismatch != null
        || t.whyNot(slice.shape(), slice.footprint()).isPresent()) {
      conflict(
          ConflictKind.POD_CHANGED,
          subject,
          subject
              + " was to go to pod "
              + slice.pod()
              + ", which "
              + (mismatch == null ? "has another topology by now" : mismatch));
      return;
    }
    int[] cells = t.cells(slice.footprint());
    boolean taken = false;
    Hold other = null;
    for (int cell : cells) {
      long bit = 1L << cell;
      taken |= (room.taken[cell >>> 6] & bit) != 0;
      room.taken[cell >>> 6] |= bit;
      Hold hold = room.held == null ? null : room.held[cell];
      if (hold != null && !hold.request().equals(request.id())) {
        if (hold.isLive(rules.now())) {
          other = hold;
        } else {
          expired.add(hold.id());
        }
      }
    }
    String was =
        subject
            + " was to take "
            + t.describe(slice.footprint())
            + " of pod "
            + slice.pod()
            + ", but ";
    if (taken) {
      conflict(ConflictKind.CHIPS_TAKEN, subject, was + "chips there are no longer free");
    }
    if (other != null) {
      conflict(
          ConflictKind.CHIPS_HELD,
          subject,
          was + "chips there are held for " + other.request() + " (hold " + other.id() + ")");
    }
    if (!room.pod.reportedHealth().isEmpty()) {
      Health health = room.pod.health().of(t, slice.footprint(), cells);
      if (health == Health.FAILED || health == Health.DEGRADED && request.healthyOnly()) {
        List<String> parts = new ArrayList<>();
        room.pod
            .reportedHealth()
            .forEach(
                (part, state) -> {
                  if (state == health && touches(t, part, slice.footprint(), cells)) {
                    parts.add(name(t, part));
                  }
                });
        boolean failed = health == Health.FAILED;
        conflict(
            ConflictKind.HEALTH_CHANGED,
            subject,
            was
                + (parts.isEmpty() ? "a part there" : list(parts))
                + (parts.size() > 1
                    ? failed ? " have failed" : " are degraded"
                    : failed ? " has failed" : " is degraded"));
      }
    }
    boolean cordons = room.pod.isCordoned() || !room.pod.cordons().isEmpty();
    if (cordons && room.pod.cordonedCells().containsAny(cells)) {
      List<String> parts = new ArrayList<>();
      for (Part part : room.pod.cordons()) {
        if (touches(t, part, slice.footprint(), cells)) {
          parts.add(name(t, part));
        }
      }
      conflict(
          ConflictKind.CORDONED,
          subject,
          was
              + (room.pod.isCordoned()
                  ? "the whole pod is cordoned"
                  : parts.isEmpty()
                      ? "a part there is cordoned"
                      : list(parts) + (parts.size() > 1 ? " are" : " is") + " cordoned"));
    }
  }

  // ---------------------------------------------------------------- words

  /** At most {@value #MAX_NAMED} names. */
  private static String list(List<String> names) {
    if (names.size() > MAX_NAMED) {
      return String.join(", ", names.subList(0, MAX_NAMED))
          + " and "
          + (names.size() - MAX_NAMED)
          + " more";
    }
    int last = names.size() - 1;
    return last == 0
        ? names.get(0)
        : String.join(", ", names.subList(0, last)) + " and " + names.get(last);
  }

  /** Whether a reported part may matter to a footprint: it lies there, or its cube does. */
  private static boolean touches(TpuTopology t, Part part, Footprint footprint, int[] cells) {
    if (part instanceof Part.Host host) {
      return Arrays.stream(t.cells(host.host()))
          .anyMatch(cell -> Arrays.binarySearch(cells, cell) >= 0);
    }
    if (part instanceof Part.Cube cube) {
      return hasCube(t, cube.cube(), cells);
    }
    if (part instanceof Part.OcsPort port) {
      return footprint instanceof Footprint.Cubes && hasCube(t, port.cube(), cells);
    }
    return Arrays.binarySearch(
            cells,
            t.cellOf(part instanceof Part.Chip chip ? chip.chip() : ((Part.Link) part).from()))
        >= 0;
  }

  private static boolean hasCube(TpuTopology t, CubeId cube, int[] cells) {
    int first = t.firstCell(cube);
    for (int i = 0; i < t.hostsPerCube(); i++) {
      if (Arrays.binarySearch(cells, first + i) >= 0) {
        return true;
      }
    }
    return false;
  }

  private static String name(TpuTopology t, Part part) {
    if (part instanceof Part.Host host) {
      return "host " + t.hostName(host.host());
    }
    if (part instanceof Part.Cube cube) {
      return "cube " + t.cubeName(cube.cube());
    }
    if (part instanceof Part.OcsPort port) {
      return "port "
          + port.index()
          + " of face "
          + (port.positive() ? "+" : "-")
          + port.axis()
          + " of cube "
          + t.cubeName(port.cube());
    }
    if (part instanceof Part.Link link) {
      return "link " + link.from() + " " + link.axis();
    }
    return "chip " + ((Part.Chip) part).chip();
  }

  // ---------------------------------------------------------------- quotas and reserved capacity

  /** Checks the rules to which the plan adds chips. */
  private void limits() {
    if (rules.quotas().isEmpty() && rules.reserved().isEmpty()) {
      return;
    }
    List<SliceRequest> placed = new ArrayList<>();
    for (RequestPlacement answer : plan.placements()) {
      placed.add(answer.request());
    }
    RuleLimits limits = RuleLimits.of(fleet, placed, rules);
    Standing standing = Standing.of(fleet, rules);
    for (int i = 0; i < rules.quotas().size(); i++) {
      PlanningRules.Quota quota = rules.quotas().get(i);
      check(
          (request, pod) -> RuleLimits.counts(quota, request.tenant(), pod),
          standing,
          limits.quotaFixed(i),
          limits.quotaLimit(i),
          "quota of tenant " + quota.tenant());
    }
    for (int i = 0; i < rules.reserved().size(); i++) {
      PlanningRules.Reserved reserved = rules.reserved().get(i);
      check(
          (request, pod) -> RuleLimits.counts(reserved, request.tenant(), pod),
          standing,
          limits.reservedFixed(i),
          limits.reservedLimit(i),
          "capacity reserved for tenant " + reserved.tenant());
    }
  }

  private interface Counts {
    boolean test(SliceRequest request, Pod pod);
  }

  private void check(Counts counts, Standing standing, long fixed, long limit, String what) {
    long added = 0;
    String subject = "";
    for (RequestPlacement answer : plan.placements()) {
      for (Placement slice : answer.slices()) {
        if (counts.test(answer.request(), fleet.pod(slice.pod()).orElseThrow())) {
          added = Math.addExact(added, slice.chips());
          subject = subject.isEmpty() ? answer.request().id() : subject;
        }
      }
    }
    long used = Math.addExact(fixed, added);
    Map<String, Placement> moved = new HashMap<>();
    for (Move move : plan.moves()) {
      moved.put(move.from().id().toString(), move.to());
    }
    for (Standing.Group group : standing.groups) {
      for (RunningSlice slice : group.slices()) {
        Placement to = moved.get(slice.id().toString());
        String pod = to == null ? slice.pod() : to.pod();
        if (!gone.contains(group.request().id())
            && counts.test(group.request(), fleet.pod(pod).orElseThrow())) {
          used = Math.addExact(used, to == null ? slice.shape().chips() : to.chips());
        }
      }
    }
    if (added > 0 && used > limit) {
      conflict(
          ConflictKind.RULE_BROKEN,
          subject,
          String.format(
              Locale.ROOT,
              "the %s allows %,d chips, but with this plan it would be %,d",
              what,
              limit,
              used));
    }
  }
}
