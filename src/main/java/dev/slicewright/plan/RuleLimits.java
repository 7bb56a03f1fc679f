package dev.slicewright.plan;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What quotas and reserved capacity leave room for, in chips, at one moment. Immutable, safe to
 * share.
 *
 * <p>Each rule is a row: fixed + the chips of what a plan places, keeps or moves of what may move
 * or leave + the live holds of requests of the batch that it does not place ≤ limit. Fixed are
 * running slices that may neither move nor leave (those leaving too), and live holds of requests
 * that are not in the batch. A limit that what runs and is held now already exceeds is raised to
 * that, so that the plan that changes nothing keeps every rule, and a lowered quota never evicts by
 * itself. The tenant of a hold is that of its request, where the request is in the batch or runs;
 * else it has none.
 *
 * <p>The usable chips of reserved capacity are those neither failed, cordoned nor drained. Phantoms
 * of room goals count as requests of the batch do.
 */
public final class RuleLimits {

  private final long[] quotaLimit;
  private final long[] quotaFixed;
  private final long[] reservedLimit;
  private final long[] reservedFixed;

  private RuleLimits(int quotas, int reserved) {
    quotaLimit = new long[quotas];
    quotaFixed = new long[quotas];
    reservedLimit = new long[reserved];
    reservedFixed = new long[reserved];
  }

  /**
   * The limits of a problem.
   *
   * @param fleet the fleet
   * @param requests the batch
   * @param rules the rules
   * @return the limits. O(1) without such rules, else O(rules × (slices that may move or leave +
   *     holds), and pods for each reservation)
   */
  public static RuleLimits of(Fleet fleet, List<SliceRequest> requests, PlanningRules rules) {
    if (rules.quotas().isEmpty() && rules.reserved().isEmpty()) {
      return new RuleLimits(0, 0);
    }
    Standing standing = Standing.of(fleet, rules);
    Goals goals = standing.goals;
    return of(goals.cordoned(fleet), goals.with(requests), rules, standing);
  }

  static RuleLimits of(
      Fleet fleet, List<SliceRequest> requests, PlanningRules rules, Standing standing) {
    RuleLimits limits = new RuleLimits(rules.quotas().size(), rules.reserved().size());
    if (rules.quotas().isEmpty() && rules.reserved().isEmpty()) {
      return limits;
    }
    long[] quotaFloor = new long[limits.quotaLimit.length];
    long[] reservedFloor = new long[limits.reservedLimit.length];
    for (int i = 0; i < quotaFloor.length; i++) {
      PlanningRules.Quota quota = rules.quotas().get(i);
      quotaFloor[i] = fleet.totals().chips(quota.tenant(), quota.accelerator());
    }
    long[] usable = new long[reservedFloor.length];
    for (Pod pod : reservedFloor.length == 0 ? List.<Pod>of() : fleet.pods()) {
      for (int i = 0; i < reservedFloor.length; i++) {
        PlanningRules.Reserved r = rules.reserved().get(i);
        if (selects(r, pod)) {
          long others = pod.totals().chips() - pod.totals().chips(r.tenant(), "");
          reservedFloor[i] = Math.addExact(reservedFloor[i], others);
          long chips = (long) pod.room().usableCells() * pod.topology().chipsPerCell();
          usable[i] = Math.addExact(usable[i], chips);
        }
      }
    }
    System.arraycopy(quotaFloor, 0, limits.quotaFixed, 0, quotaFloor.length);
    System.arraycopy(reservedFloor, 0, limits.reservedFixed, 0, reservedFloor.length);
    for (Standing.Group group : standing.groups) {
      for (RunningSlice slice : group.slices()) {
        Pod pod = fleet.pod(slice.pod()).orElseThrow();
        String tenant = slice.request().tenant();
        long chips = slice.shape().chips();
        for (int i = 0; i < quotaFloor.length; i++) {
          limits.quotaFixed[i] -= counts(rules.quotas().get(i), tenant, pod) ? chips : 0;
        }
        for (int i = 0; i < reservedFloor.length; i++) {
          limits.reservedFixed[i] -= counts(rules.reserved().get(i), tenant, pod) ? chips : 0;
        }
      }
    }
    Map<String, SliceRequest> batch = new HashMap<>();
    if (!fleet.holds().isEmpty()) {
      for (SliceRequest request : requests) {
        batch.put(request.id(), request);
      }
    }
    for (Hold hold : fleet.holds()) {
      if (!hold.isLive(rules.now())) {
        continue;
      }
      Pod pod = fleet.pod(hold.pod()).orElseThrow();
      boolean fixed = !batch.containsKey(hold.request());
      String tenant = tenantOf(fleet, batch, hold);
      long chips = chips(pod, hold);
      for (int i = 0; i < quotaFloor.length; i++) {
        if (counts(rules.quotas().get(i), tenant, pod)) {
          quotaFloor[i] = Math.addExact(quotaFloor[i], chips);
          limits.quotaFixed[i] = Math.addExact(limits.quotaFixed[i], fixed ? chips : 0);
        }
      }
      for (int i = 0; i < reservedFloor.length; i++) {
        if (counts(rules.reserved().get(i), tenant, pod)) {
          reservedFloor[i] = Math.addExact(reservedFloor[i], chips);
          limits.reservedFixed[i] = Math.addExact(limits.reservedFixed[i], fixed ? chips : 0);
        }
      }
    }
    for (int i = 0; i < quotaFloor.length; i++) {
      limits.quotaLimit[i] = Math.max(rules.quotas().get(i).chips(), quotaFloor[i]);
    }
    for (int i = 0; i < reservedFloor.length; i++) {
      PlanningRules.Reserved r = rules.reserved().get(i);
      limits.reservedLimit[i] =
          Math.max(Math.subtractExact(usable[i], r.chips()), reservedFloor[i]);
    }
    return limits;
  }

  /** The chips that a hold keeps. */
  static long chips(Pod pod, Hold hold) {
    return (long) pod.topology().cells(hold.footprint()).length * pod.topology().chipsPerCell();
  }

  static String tenantOf(Fleet fleet, Map<String, SliceRequest> batch, Hold hold) {
    SliceRequest request = batch.get(hold.request());
    if (request != null) {
      return request.tenant();
    }
    List<RunningSlice> running = fleet.runningOf(hold.request());
    return running.isEmpty() ? "" : running.get(0).request().tenant();
  }

  /** Whether chips of a tenant on a pod count in a quota. */
  static boolean counts(PlanningRules.Quota quota, String tenant, Pod pod) {
    return quota.tenant().equals(tenant)
        && (quota.accelerator().isEmpty()
            || quota.accelerator().equalsIgnoreCase(pod.topology().accelerator().name()));
  }

  /** Whether chips of a tenant on a pod count as those of others in a reservation. */
  static boolean counts(PlanningRules.Reserved reserved, String tenant, Pod pod) {
    return !reserved.tenant().equals(tenant) && selects(reserved, pod);
  }

  /** Whether a reservation is about a pod. */
  static boolean selects(PlanningRules.Reserved reserved, Pod pod) {
    for (Map.Entry<String, String> label : reserved.podLabels().entrySet()) {
      if (!label.getValue().equals(pod.labels().get(label.getKey()))) {
        return false;
      }
    }
    return true;
  }

  /**
   * The limit of a quota, raised where need be.
   *
   * @param quota its number in the rules
   * @return chips of its tenant
   */
  public long quotaLimit(int quota) {
    return quotaLimit[quota];
  }

  /**
   * What no plan can change of a quota's use.
   *
   * @param quota its number in the rules
   * @return chips of its tenant
   */
  public long quotaFixed(int quota) {
    return quotaFixed[quota];
  }

  /**
   * The limit of a reservation, raised where need be.
   *
   * @param reserved its number in the rules
   * @return chips of all others
   */
  public long reservedLimit(int reserved) {
    return reservedLimit[reserved];
  }

  /**
   * What no plan can change of the others' use of reserved capacity.
   *
   * @param reserved its number in the rules
   * @return chips of all others
   */
  public long reservedFixed(int reserved) {
    return reservedFixed[reserved];
  }
}
