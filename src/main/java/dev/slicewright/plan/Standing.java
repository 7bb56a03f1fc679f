package dev.slicewright.plan;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * What runs, seen with the eyes of the rules: what is worth how much, what is broken, and which
 * requests may be moved or evicted. Read from the totals that the fleet keeps of what runs; slice
 * by slice only what is broken or may move or leave, in the order of ids.
 */
final class Standing {

  /** A running request that may be moved or evicted; no slice of it is leaving. */
  record Group(
      SliceRequest request,
      List<RunningSlice> slices,
      boolean[] broken,
      long[] drained,
      Permission permission) {
    boolean isBroken(int i) {
      return broken[i];
    }

    /** The chips of drained parts that a slice takes while it stays. */
    long drained(int i) {
      return drained[i];
    }

    /** The chips kept of a slice that stays: none where it should go, and may leave. */
    long keptByStaying(int i) {
      return broken[i] || drained[i] > 0 && permission.evict()
          ? 0
          : ObjectiveLevels.counted(request, slices.get(i).shape());
    }
  }

  /** By priority: the chips kept of slices that can neither be moved nor evicted. */
  final Map<Long, long[]> pinnedKept = new HashMap<>();

  final List<Group> groups = new ArrayList<>();
  final List<RunningSlice> broken = new ArrayList<>();
  boolean anyMayMove;
  final PlanningRules rules;
  final Goals goals;
  long pinnedDrained; // chips of drained parts that nothing can empty

  private final Fleet fleet;

  private Standing(Fleet fleet, PlanningRules rules) {
    this.fleet = fleet;
    this.rules = rules;
    this.goals = Goals.of(fleet, rules);
  }

  static Standing of(Fleet fleet, PlanningRules rules) {
    Standing s = new Standing(fleet, rules);
    fleet.totals().countedChips().forEach((p, chips) -> s.pinnedKept.put(p, new long[] {chips}));
    s.readBroken();
    for (RunningSlice slice : s.goals.onDrained(fleet)) {
      s.pinnedDrained = Math.addExact(s.pinnedDrained, s.goals.drainedChips(fleet, slice));
    }
    if (rules.defaultPermission().move() || rules.defaultPermission().evict()) {
      List<RunningSlice> together = new ArrayList<>();
      for (RunningSlice slice : fleet.running()) {
        if (!together.isEmpty() && !together.get(0).id().request().equals(slice.id().request())) {
          s.close(together);
          together.clear();
        }
        together.add(slice);
      }
      s.close(together);
    } else {
      for (String request : rules.permissions().keySet()) {
        s.close(fleet.runningOf(request));
      }
    }
    return s;
  }

  private void readBroken() {
    if (fleet.totals().broken() == 0) {
      return;
    }
    for (Pod pod : fleet.pods()) {
      if (pod.totals().broken() > 0) {
        for (RunningSlice slice : pod.running()) {
          if (pod.healthOf(slice.footprint()) == Health.FAILED) {
            broken.add(slice);
          }
        }
      }
    }
    broken.sort(Comparator.comparing(RunningSlice::id));
  }

  /** The slices of one running request: a group, if it may move or leave. */
  private void close(List<RunningSlice> slices) {
    if (slices.isEmpty()) {
      return;
    }
    SliceRequest request = slices.get(0).request();
    Permission permission = ObjectiveLevels.permission(fleet, rules, request.id());
    if (!permission.move() && !permission.evict()) {
      return;
    }
    long[] kept = Objects.requireNonNull(pinnedKept.get(request.priority()));
    boolean[] hurt = new boolean[slices.size()];
    long[] drained = new long[hurt.length];
    for (int i = 0; i < hurt.length; i++) {
      RunningSlice slice = slices.get(i);
      hurt[i] = isBroken(slice);
      drained[i] = goals.drainedChips(fleet, slice);
      pinnedDrained -= drained[i];
      if (!hurt[i]) {
        kept[0] =
            Math.subtractExact(kept[0], ObjectiveLevels.counted(slice.request(), slice.shape()));
      }
    }
    groups.add(new Group(request, List.copyOf(slices), hurt, drained, permission));
    anyMayMove |= permission.move();
  }

  private boolean isBroken(RunningSlice slice) {
    if (broken.isEmpty()) {
      return false;
    }
    Pod pod = fleet.pod(slice.pod()).orElseThrow();
    return !pod.reportedHealth().isEmpty() && pod.healthOf(slice.footprint()) == Health.FAILED;
  }
}
