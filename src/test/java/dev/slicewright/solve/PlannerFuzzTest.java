package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.plan.Plan;
import dev.slicewright.testing.RandomFleets;
import java.time.Duration;
import org.junit.jupiter.api.Test;

/** Every plan for small random problems with all features passes the verifier. */
class PlannerFuzzTest {

  @Test
  void everyPlanPassesTheVerifier() {
    int proved = 0;
    int placed = 0;
    for (long seed = 0; seed < 400; seed++) {
      RandomFleets.Instance i = RandomFleets.instance(seed, RandomFleets.Limits.DEFAULT);
      SlicePlanner planner = SlicePlanner.builder().cost(i.cost()).failOnRejectedPlan(true).build();
      Plan plan;
      try {
        plan =
            planner.plan(
                i.fleet(), i.requests(), i.rules(), SolveBudget.within(Duration.ofSeconds(20)));
      } catch (RuntimeException e) {
        throw new AssertionError("seed " + seed + "\n" + i, e);
      }
      assertThat(plan.placements().size() + plan.unplaced().size()).isEqualTo(i.requests().size());
      proved += plan.score().isOptimal() ? 1 : 0;
      placed += plan.placements().size();
    }
    assertThat(proved).isGreaterThan(390);
    assertThat(placed).isGreaterThan(100);
  }
}
