package dev.slicewright.plan;

import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Shape;
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
   * then chips placed, if a request has it. Then disruption, if any running request may be moved or
   * evicted; the rank of shapes, if it counts and a request has more than one option; new hosts, if
   * they count and a running request may be moved; and price, if any is set.
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
   * What a plan may do to a running request: what the rules permit, and nothing if a slice of it is
   * leaving.
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
    return slices.isEmpty() ? Permission.PINNED : permission;
  }
}
