package dev.slicewright.solve;

import dev.slicewright.plan.Plan;
import dev.slicewright.request.PlanningRules;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What moving would gain, and what it would cost. Immutable, safe to share.
 *
 * @param plan the plan, verified; empty, with its bounds, where nothing is worth moving
 * @param rules the rules that the plan was made with: those given and the goals; nothing may move
 *     where the plan is empty because nothing is worth it
 * @param before what the goals get as the fleet is, in chips or the goals' weights
 * @param beforeBound no more than this would fit now; equal to {@code before} if that is exact
 * @param after what they get by the plan
 * @param slices running slices moved or evicted
 * @param chipSeconds the chip-seconds that those lose
 * @param tenants the tenants touched
 * @param why why nothing is worth moving; null if something is
 */
public record Defragmentation(
    Plan plan,
    PlanningRules rules,
    long before,
    long beforeBound,
    long after,
    int slices,
    long chipSeconds,
    int tenants,
    @Nullable String why) {

  /** Checks for null. */
  public Defragmentation {
    Objects.requireNonNull(plan, "plan");
    Objects.requireNonNull(rules, "rules");
  }

  /**
   * What is gained: room in chips, or the goals' weights.
   *
   * @return 0 or more
   */
  public long gained() {
    return after - before;
  }

  /**
   * What is lost, in chip-hours.
   *
   * @return 0 or more
   */
  public double chipHours() {
    return chipSeconds / 3_600.0;
  }

  /**
   * What is gained for each chip-hour lost.
   *
   * @return infinity where something is gained for nothing; 0 where nothing is gained
   */
  public double gainPerChipHour() {
    return gained() == 0 ? 0 : gained() / chipHours();
  }

  /**
   * Whether nothing is worth moving.
   *
   * @return the reason; empty if something is
   */
  public Optional<String> nothingWorthMoving() {
    return Optional.ofNullable(why);
  }
}
