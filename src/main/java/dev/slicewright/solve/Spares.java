package dev.slicewright.solve;

import dev.slicewright.Problems;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;

/**
 * Room that is kept free for repairs: holds for a request that nobody places. Immutable, safe to
 * share.
 *
 * <p>How many to keep is {@link dev.slicewright.cost.Availability}'s question. A spare is a place
 * for one slice like a given request: a cube on optical pods (shape 4x4x4), else whatever shape is
 * to be replaced. Plans respect the holds. A repair may use them once they are released:
 *
 * <pre>{@code
 * Plan mend = planner.repair(Spares.release(fleet, "spare"), rules, budget);
 * fleet = mend.applyTo(Spares.release(fleet, "spare"));
 * fleet = Spares.keep(planner, fleet, spare, 3, expiry, rules, budget).fleet();
 * }</pre>
 */
public final class Spares {
  private Spares() {}

  /**
   * What is kept now. Immutable, safe to share.
   *
   * @param fleet the fleet with the holds
   * @param holds the holds, as many as were asked for or as there is room for
   * @param missing how many more were asked for
   */
  public record Kept(Fleet fleet, List<Hold> holds, int missing) {
    /** Checks for null and copies. */
    public Kept {
      Objects.requireNonNull(fleet, "fleet");
      holds = List.copyOf(holds);
    }
  }

  /**
   * Keeps spares: those that are held already and still usable stay, with the new expiry; others
   * are dropped; what is missing goes where a plan would put it.
   *
   * @param planner finds the places
   * @param fleet the present fleet
   * @param like what a spare is for: its shape, pod, labels and whether only healthy parts will do;
   *     its id names the holds, and its number of slices counts for nothing
   * @param count how many, 0 to 100,000
   * @param expiry until when; after the rules' now
   * @param rules quotas, reserved capacity and the time; nothing is moved or evicted for a spare
   * @param budget how long it may take
   * @return the fleet with the holds, and how many found no room
   * @throws dev.slicewright.InvalidInputException listing every problem: a count out of range, an
   *     expiry that has passed, an id that runs
   */
  public static Kept keep(
      SlicePlanner planner,
      Fleet fleet,
      SliceRequest like,
      int count,
      Instant expiry,
      PlanningRules rules,
      SolveBudget budget) {
    Objects.requireNonNull(like, "like");
    Problems problems = new Problems();
    if (count < 0 || count > 100_000) {
      problems.add(
          "count", String.format(Locale.ROOT, "expected 0 to 100,000 spares, but was %d", count));
    }
    if (!expiry.isAfter(rules.now())) {
      problems.add(
          "expiry",
          "expected a time after now, "
              + rules.now()
              + ", but was "
              + expiry
              + "; name a later one");
    }
    if (!fleet.runningOf(like.id()).isEmpty()) {
      problems.add(
          "like.id", "expected an id that does not run, but " + like.id() + " does; use another");
    }
    problems.throwIfAny("spares");
    Fleet changed = fleet;
    List<Hold> kept = new ArrayList<>();
    for (Hold hold : fleet.holdsOf(like.id())) {
      Pod pod = fleet.pod(hold.pod()).orElseThrow();
      changed = changed.dropHold(hold.id());
      Health health = pod.healthOf(hold.footprint());
      boolean usable =
          hold.isLive(rules.now())
              && (health == Health.HEALTHY || health == Health.DEGRADED && !like.healthyOnly())
              && !pod.cordonedCells().containsAny(pod.topology().cells(hold.footprint()));
      if (usable && kept.size() < count) {
        kept.add(new Hold(hold.id(), hold.pod(), hold.footprint(), hold.request(), expiry));
      }
    }
    for (Hold hold : kept) {
      changed = changed.hold(hold);
    }
    List<SliceRequest> wanted = new ArrayList<>();
    for (int next = 0; kept.size() + wanted.size() < count; next++) {
      String id = like.id() + "/" + next;
      if (changed.hold(id).isEmpty() && changed.runningOf(id).isEmpty()) {
        wanted.add(like.toBuilder(id).slices(1).gang("").build());
      }
    }
    if (!wanted.isEmpty()) {
      PlanningRules.Builder still = PlanningRules.builder().now(rules.now());
      rules.quotas().forEach(still::quota);
      rules.reserved().forEach(still::reserve);
      Plan plan = planner.plan(changed, wanted, still.build(), budget);
      for (RequestPlacement placed : plan.placements()) {
        Placement at = placed.slices().get(0);
        Hold hold = new Hold(placed.request().id(), at.pod(), at.footprint(), like.id(), expiry);
        changed = changed.hold(hold);
        kept.add(hold);
      }
    }
    return new Kept(changed, kept, count - kept.size());
  }

  /**
   * Releases all spares of a name.
   *
   * @param fleet the fleet
   * @param id the id of the request that they are like
   * @return the changed fleet, or this one if there are none
   */
  public static Fleet release(Fleet fleet, String id) {
    Fleet changed = fleet;
    for (Hold hold : fleet.holdsOf(id)) {
      changed = changed.dropHold(hold.id());
    }
    return changed;
  }
}
