package dev.slicewright.bench;

import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.PlanningRules.Quota;
import dev.slicewright.request.SliceRequest;
import java.util.HashMap;
import java.util.Map;

/** What tenants may still get. Not safe; external synchronisation needed. */
final class Quotas {

  private final Map<String, Long> left = new HashMap<>();

  Quotas(BenchProblem p) {
    for (Quota quota : p.rules().quotas()) {
      left.put(quota.tenant(), quota.chips());
    }
    if (!left.isEmpty()) {
      for (RunningSlice slice : p.fleet().running()) {
        left.computeIfPresent(
            slice.request().tenant(), (tenant, chips) -> chips - slice.shape().chips());
      }
    }
  }

  private static long chips(SliceRequest request) {
    return Positions.shape(request).chips() * request.slices();
  }

  boolean allows(SliceRequest request) {
    Long room = left.get(request.tenant());
    return room == null || chips(request) <= room;
  }

  /** Counts a request, or takes it back. */
  void add(SliceRequest request, int times) {
    left.computeIfPresent(request.tenant(), (tenant, chips) -> chips - times * chips(request));
  }

  /** The room of each tenant that has a quota. */
  Map<String, Long> left() {
    return left;
  }
}
