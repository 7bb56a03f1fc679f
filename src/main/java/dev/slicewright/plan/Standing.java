package dev.slicewright.plan;

import dev.slicewright.fleet.EffectiveHealth;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What runs, seen with the eyes of the rules: what is worth how much, what is broken, and which
 * requests may be moved or evicted. Read in one pass over the running slices, in the order of their
 * ids, so that the slices of one request come together.
 */
final class Standing {

  /** A running request that may be moved or evicted; no slice of it is leaving. */
  record Group(
      SliceRequest request, List<RunningSlice> slices, boolean[] broken, Permission permission) {
    boolean isBroken(int i) {
      return broken[i];
    }
  }

  /** By priority: the chips kept of slices that can neither be moved nor evicted. */
  final Map<Long, long[]> pinnedKept = new HashMap<>();

  final List<Group> groups = new ArrayList<>();
  final List<RunningSlice> broken = new ArrayList<>();
  boolean anyMayMove;

  private final Fleet fleet;
  private final PlanningRules rules;
  private final boolean anyReported;
  private long lastPriority;
  private long @Nullable [] lastKept;
  private @Nullable Pod lastPod;

  private Standing(Fleet fleet, PlanningRules rules) {
    this.fleet = fleet;
    this.rules = rules;
    boolean reported = false;
    for (Pod pod : fleet.pods()) {
      reported |= !pod.reportedHealth().isEmpty();
    }
    this.anyReported = reported;
  }

  static Standing of(Fleet fleet, PlanningRules rules) {
    Standing s = new Standing(fleet, rules);
    boolean allPinned =
        rules.permissions().isEmpty()
            && !rules.defaultPermission().move()
            && !rules.defaultPermission().evict();
    List<RunningSlice> together = new ArrayList<>();
    for (RunningSlice slice : fleet.running()) {
      if (allPinned) {
        s.pinned(slice, s.isBroken(slice));
        continue;
      }
      if (!together.isEmpty() && !together.get(0).id().request().equals(slice.id().request())) {
        s.close(together);
        together.clear();
      }
      together.add(slice);
    }
    if (!together.isEmpty()) {
      s.close(together);
    }
    return s;
  }

  /** The slices of one running request. */
  private void close(List<RunningSlice> slices) {
    SliceRequest request = slices.get(0).request();
    Permission permission = rules.permission(request.id());
    boolean free = permission.move() || permission.evict();
    for (int i = 0; free && i < slices.size(); i++) {
      free = !slices.get(i).leaving();
    }
    if (!free) {
      for (int i = 0; i < slices.size(); i++) {
        pinned(slices.get(i), isBroken(slices.get(i)));
      }
      return;
    }
    boolean[] hurt = new boolean[slices.size()];
    for (int i = 0; i < hurt.length; i++) {
      hurt[i] = isBroken(slices.get(i));
    }
    groups.add(new Group(request, List.copyOf(slices), hurt, permission));
    keptOf(request.priority());
    anyMayMove |= permission.move();
  }

  private void pinned(RunningSlice slice, boolean hurt) {
    if (!slice.leaving()) {
      long[] sum = keptOf(slice.request().priority());
      if (!hurt) {
        sum[0] = Math.addExact(sum[0], ObjectiveLevels.counted(slice.request(), slice.shape()));
      }
    }
  }

  private long[] keptOf(long priority) {
    long[] last = lastKept;
    if (last == null || lastPriority != priority) {
      last = pinnedKept.computeIfAbsent(priority, p -> new long[1]);
      lastKept = last;
      lastPriority = priority;
    }
    return last;
  }

  private boolean isBroken(RunningSlice slice) {
    if (!anyReported) {
      return false;
    }
    Pod pod = lastPod;
    if (pod == null || !pod.id().equals(slice.pod())) {
      pod = fleet.pod(slice.pod()).orElseThrow();
      lastPod = pod;
    }
    if (pod.reportedHealth().isEmpty()) {
      return false;
    }
    EffectiveHealth health = pod.health();
    boolean hurt = health.of(pod.topology(), slice.footprint()) == Health.FAILED;
    if (hurt) {
      broken.add(slice);
    }
    return hurt;
  }

  /** The priorities that running slices have, those leaving aside; highest first. */
  long[] priorities() {
    long[] all = new long[pinnedKept.size()];
    int n = 0;
    for (long priority : pinnedKept.keySet()) {
      all[n++] = priority;
    }
    Arrays.sort(all);
    for (int i = 0; i < all.length / 2; i++) {
      long swap = all[i];
      all[i] = all[all.length - 1 - i];
      all[all.length - 1 - i] = swap;
    }
    return all;
  }
}
