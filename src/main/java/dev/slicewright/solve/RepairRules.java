package dev.slicewright.solve;

import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;

/** The rules and costs with which a fleet is repaired. Stateless. */
final class RepairRules {
  private RepairRules() {}

  /**
   * The caller's rules, but that requests with a broken slice may move where the rules say nothing
   * of them in particular. O(slices of pods with broken ones)
   */
  static PlanningRules of(Fleet fleet, PlanningRules rules) {
    if (fleet.totals().broken() == 0) {
      return rules;
    }
    PlanningRules.Builder b = rules.toBuilder();
    Permission otherwise = rules.defaultPermission();
    Permission may = otherwise.move() ? otherwise : new Permission(true, otherwise.evict(), false);
    for (Pod pod : fleet.pods()) {
      if (pod.totals().broken() == 0) {
        continue;
      }
      for (RunningSlice slice : pod.running()) {
        String request = slice.id().request();
        if (!rules.permissions().containsKey(request)
            && pod.healthOf(slice.footprint()) == Health.FAILED) {
          b.permit(request, may);
        }
      }
    }
    return b.build();
  }

  /** A repair keeps what hosts it can. */
  static CostTerms of(CostTerms cost) {
    return cost.newHosts() ? cost : cost.toBuilder().newHosts(true).build();
  }
}
