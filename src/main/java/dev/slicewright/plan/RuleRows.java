package dev.slicewright.plan;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Quotas and reserved capacity as rows, while a plan is carried out: how many chips count now, and
 * the most that may. Immutable, safe to share.
 *
 * <p>What runs counts, and live holds of requests that the plan neither places nor moves. The most
 * is the plan's own limit, raised where need be to what counts before and after the plan.
 */
final class RuleRows {

  private final PlanningRules rules;
  private final Map<String, SliceRequest> placed = new HashMap<>();
  private final Set<String> touched = new HashSet<>();
  private final long[] most;

  RuleRows(Fleet fleet, Plan plan, Fleet after) {
    this.rules = plan.rules();
    for (RequestPlacement answer : plan.placements()) {
      placed.put(answer.request().id(), answer.request());
      touched.add(answer.request().id());
    }
    for (Move move : plan.moves()) {
      touched.add(move.from().id().request());
    }
    this.most = new long[rules.quotas().size() + rules.reserved().size()];
    if (most.length > 0) {
      RuleLimits limits =
          RuleLimits.of(
              fleet, plan.placements().stream().map(RequestPlacement::request).toList(), rules);
      for (int i = 0; i < most.length; i++) {
        int quotas = rules.quotas().size();
        long limit = i < quotas ? limits.quotaLimit(i) : limits.reservedLimit(i - quotas);
        most[i] = Math.max(limit, Math.max(used(i, fleet), used(i, after)));
      }
    }
  }

  int size() {
    return most.length;
  }

  long most(int row) {
    return most[row];
  }

  boolean counts(int row, String tenant, Pod pod) {
    int quotas = rules.quotas().size();
    return row < quotas
        ? RuleLimits.counts(rules.quotas().get(row), tenant, pod)
        : RuleLimits.counts(rules.reserved().get(row - quotas), tenant, pod);
  }

  String name(int row) {
    int quotas = rules.quotas().size();
    return row < quotas
        ? "quota of tenant " + rules.quotas().get(row).tenant()
        : "capacity reserved for tenant " + rules.reserved().get(row - quotas).tenant();
  }

  /** The chips that count in a fleet. O(1) for quotas, O(pods) for reservations, and O(holds). */
  long used(int row, Fleet fleet) {
    int quotas = rules.quotas().size();
    long sum = 0;
    if (row < quotas) {
      PlanningRules.Quota quota = rules.quotas().get(row);
      sum = fleet.totals().chips(quota.tenant(), quota.accelerator());
    } else {
      PlanningRules.Reserved reserved = rules.reserved().get(row - quotas);
      for (Pod pod : fleet.pods()) {
        if (RuleLimits.selects(reserved, pod)) {
          long others = pod.totals().chips() - pod.totals().chips(reserved.tenant(), "");
          sum = Math.addExact(sum, others);
        }
      }
    }
    for (Hold hold : fleet.holds()) {
      if (hold.isLive(rules.now()) && !touched.contains(hold.request())) {
        Pod pod = fleet.pod(hold.pod()).orElseThrow();
        if (counts(row, RuleLimits.tenantOf(fleet, placed, hold), pod)) {
          sum = Math.addExact(sum, RuleLimits.chips(pod, hold));
        }
      }
    }
    return sum;
  }

  /** The rows in which a slice of a tenant on a pod counts. */
  List<Integer> of(String tenant, Pod pod) {
    List<Integer> rows = new ArrayList<>();
    for (int i = 0; i < most.length; i++) {
      if (counts(i, tenant, pod)) {
        rows.add(i);
      }
    }
    return rows;
  }
}
