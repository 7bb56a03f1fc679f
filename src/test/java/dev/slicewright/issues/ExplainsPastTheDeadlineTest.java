package dev.slicewright.issues;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Reason;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * The nearest of a million legal shapes were looked for, request by request, when time was up: 16 s
 * for a hundred requests at a deadline of 1 ms.
 */
class ExplainsPastTheDeadlineTest {

  @Test
  void nearestShapesAreNotLookedForWhenTimeIsUp() {
    Fleet fleet = Fleet.builder().pod("p", TpuTopology.torus(64, 64, 64)).build();
    SliceRequest shape = SliceRequest.builder("a").shape("3x5x7").build();
    SliceRequest chips = SliceRequest.builder("b").chips(7).build();

    assertThat(plan(fleet, shape, new CancelToken()).evidence().nearestShapes()).isNotEmpty();
    assertThat(plan(fleet, chips, new CancelToken()).evidence().nearestShapes()).isNotEmpty();
    CancelToken cancelled = new CancelToken();
    cancelled.cancel();
    assertThat(plan(fleet, shape, cancelled).evidence().nearestShapes()).isEmpty();
    assertThat(plan(fleet, chips, cancelled).evidence().nearestShapes()).isEmpty();
  }

  private static dev.slicewright.plan.Unplaced plan(
      Fleet fleet, SliceRequest request, CancelToken token) {
    Plan plan =
        SlicePlanner.create()
            .plan(
                fleet,
                List.of(request),
                PlanningRules.NONE,
                SolveBudget.within(Duration.ofSeconds(30)),
                token,
                p -> {});
    assertThat(plan.unplaced()).hasSize(1);
    assertThat(plan.unplaced().get(0).reason()).isEqualTo(Reason.SHAPE_NOT_FORMABLE);
    return plan.unplaced().get(0);
  }
}
