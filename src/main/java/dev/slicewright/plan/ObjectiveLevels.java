package dev.slicewright.plan;

import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.RoomGoal;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.VictimRules;
import dev.slicewright.topology.Shape;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.TreeSet;

/**
 * Which levels the objective of a problem has, and what counts in them. Immutable, safe to share.
 */
public final class ObjectiveLevels {
  private ObjectiveLevels() {}

  /**
   * The levels of a problem, most important first.
   *
   * <p>For each priority, highest first: chips kept, if a running slice that is not leaving has it;
   * then chips placed, if a request has it. Then chips left in drained parts, if any are drained;
   * room left, if any is asked for; disruption, if any running request may be moved or evicted; the
   * rank of shapes, if it counts and a request has more than one option; new hosts, if they count
   * and a running request may be moved; and price, if any is set. Phantoms count in their own level
   * alone.
   *
   * @param fleet the fleet
   * @param requests the requests
   * @param rules the rules
   * @param cost the cost terms
   * @return an unmodifiable list. O(running slices + requests)
   */
  public static List<Level> of(
      Fleet fleet, List<SliceRequest> requests, PlanningRules rules, CostTerms cost) {
    return of(Standing.of(fleet, rules), requests, cost);
  }

  static List<Level> of(Standing standing, List<SliceRequest> requests, CostTerms cost) {
    List<Level> levels = new ArrayList<>();
    TreeSet<Long> wanted = new TreeSet<>();
    boolean choice = false;
    for (SliceRequest request : requests) {
      if (wanted.isEmpty() || wanted.first() != request.priority()) {
        wanted.add(request.priority());
      }
      choice |= request.shapes().size() != 1;
    }
    TreeSet<Long> all = new TreeSet<>(wanted);
    all.addAll(standing.pinnedKept.keySet());
    for (long priority : all.descendingSet()) {
      if (standing.pinnedKept.containsKey(priority)) {
        levels.add(new Level(Level.Kind.KEPT, priority));
      }
      if (wanted.contains(priority)) {
        levels.add(new Level(Level.Kind.PLACED, priority));
      }
    }
    if (!standing.rules.drains().isEmpty()) {
      levels.add(new Level(Level.Kind.DRAIN, 0));
    }
    if (!standing.rules.rooms().isEmpty()) {
      levels.add(new Level(Level.Kind.ROOM, RoomGoal.PRIORITY));
    }
    if (!standing.groups.isEmpty()) {
      levels.add(new Level(Level.Kind.DISRUPTION, 0));
    }
    if (cost.shapeRank() && choice) {
      levels.add(new Level(Level.Kind.SHAPE_RANK, 0));
    }
    if (cost.newHosts() && standing.anyMayMove) {
      levels.add(new Level(Level.Kind.NEW_HOSTS, 0));
    }
    if (cost.hasPrices()) {
      levels.add(new Level(Level.Kind.PRICE, 0));
    }
    return List.copyOf(levels);
  }

  /**
   * The most chips that a slice of a request counts for: those of its first shape.
   *
   * @param request the request
   * @return 1 or more
   */
  public static long mostCounted(SliceRequest request) {
    return request.shapes().isEmpty() ? request.chips() : request.shapes().get(0).chips();
  }

  /**
   * The chips that a slice of a request counts for: its own, and no more than those of the first
   * shape.
   *
   * @param request the request
   * @param shape the shape that the slice has
   * @return 1 or more
   */
  public static long counted(SliceRequest request, Shape shape) {
    return Math.min(shape.chips(), mostCounted(request));
  }

  /**
   * What a plan may do to a running request: what the rules permit, no eviction where the {@link
   * VictimRules} spare it, and nothing if a slice of it is leaving. The most victims of one tenant
   * are no matter of one request, so they do not count here.
   *
   * @param fleet the fleet
   * @param rules the rules
   * @param request the id of a running request
   * @return the permission; {@link Permission#PINNED} if it does not run
   */
  public static Permission permission(Fleet fleet, PlanningRules rules, String request) {
    Permission permission = rules.permission(Objects.requireNonNull(request, "request"));
    if (!permission.move() && !permission.evict()) {
      return Permission.PINNED;
    }
    List<RunningSlice> slices = fleet.runningOf(request);
    for (RunningSlice slice : slices) {
      if (slice.leaving()) {
        return Permission.PINNED;
      }
    }
    if (slices.isEmpty()) {
      return Permission.PINNED;
    }
    return permission.evict() && isSpared(fleet, rules, slices)
        ? new Permission(permission.move(), false, permission.withinPod())
        : permission;
  }

  /** Whether the rules on victims spare a running request, whatever its permission says. */
  private static boolean isSpared(Fleet fleet, PlanningRules rules, List<RunningSlice> slices) {
    VictimRules victims = rules.victims();
    if (victims.equals(VictimRules.NONE)) {
      return false;
    }
    SliceRequest request = slices.get(0).request();
    Long below = victims.belowPriority();
    if (victims.mostPerTenant() == 0
        || victims.protectedRequests().contains(request.id())
        || victims.protectedTenants().contains(request.tenant())
        || below != null && request.priority() >= below) {
      return true;
    }
    if (!victims.coolDown().isZero()) {
      for (RunningSlice slice : slices) {
        Instant start = slice.startedAt().orElse(null);
        if (start == null
            || Duration.between(start, rules.now()).compareTo(victims.coolDown()) < 0) {
          return true;
        }
      }
    }
    return victims.overQuotaOnly() && !isOverQuota(fleet, rules, request.tenant(), slices);
  }

  /** Whether a quota that counts a slice is passed by what runs. */
  private static boolean isOverQuota(
      Fleet fleet, PlanningRules rules, String tenant, List<RunningSlice> slices) {
    for (PlanningRules.Quota quota : rules.quotas()) {
      if (quota.tenant().equals(tenant)
          && fleet.totals().chips(tenant, quota.accelerator()) > quota.chips()) {
        for (RunningSlice slice : slices) {
          if (RuleLimits.counts(quota, tenant, fleet.pod(slice.pod()).orElseThrow())) {
            return true;
          }
        }
      }
    }
    return false;
  }
}
