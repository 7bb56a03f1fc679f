package dev.slicewright.solve;

import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Goals;
import dev.slicewright.request.Drain;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import java.util.Collection;

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
    Permission may = movable(rules);
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

  /**
   * The caller's rules with parts to drain, but that requests on those parts may move where the
   * rules say nothing of them in particular. O(slices of pods with drained parts)
   */
  static PlanningRules draining(Fleet fleet, PlanningRules rules, Collection<Drain> drains) {
    PlanningRules.Builder b = rules.toBuilder();
    drains.forEach(b::drain);
    PlanningRules with = b.build();
    Permission may = movable(rules);
    for (RunningSlice slice : Goals.of(fleet, with).onDrained(fleet)) {
      if (!rules.permissions().containsKey(slice.id().request())) {
        b.permit(slice.id().request(), may);
      }
    }
    return b.build();
  }

  private static Permission movable(PlanningRules rules) {
    Permission otherwise = rules.defaultPermission();
    return otherwise.move() ? otherwise : new Permission(true, otherwise.evict(), false);
  }

  /** A repair keeps what hosts it can. */
  static CostTerms of(CostTerms cost) {
    return cost.newHosts() ? cost : cost.toBuilder().newHosts(true).build();
  }
}
