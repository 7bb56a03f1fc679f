package dev.slicewright.issues;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * A broken slice that kept its working cubes kept cordoned ones too, though a move creates it anew;
 * the verifier refused the plan.
 */
class SwapOffCordonedCubesTest {

  private static final List<CubeId> CUBES = List.of(new CubeId(3), new CubeId(7));

  private static Plan plan(Fleet fleet) {
    return SlicePlanner.builder()
        .failOnRejectedPlan(true)
        .formulations(List.of())
        .build()
        .plan(
            fleet,
            List.of(),
            PlanningRules.builder().permit("train", Permission.MOVABLE).build(),
            SolveBudget.within(Duration.ofSeconds(10)));
  }

  private static Fleet broken() {
    SliceRequest train = SliceRequest.builder("train").shape("4x4x8").build();
    return Fleet.builder()
        .pod("block", TpuTopology.tpu7x())
        .running(
            RunningSlice.builder(train, 0, "block", Shape.of(4, 4, 8), new Footprint.Cubes(CUBES))
                .build())
        .build()
        .fail("block", new Part.Cube(new CubeId(7)));
  }

  @Test
  void keepsTheCubeThatWorks() {
    Plan plan = plan(broken());
    assertThat(plan.moves()).hasSize(1);
    assertThat(plan.moves().get(0).to().cubes().get(0)).isEqualTo(new CubeId(3));
    assertThat(plan.moves().get(0).to().cubes().get(1)).isNotIn(CUBES);
    assertThat(plan.broken()).isEmpty();
  }

  @Test
  void leavesTheCubeThatIsCordoned() {
    Plan plan = plan(broken().cordon("block", new Part.Cube(new CubeId(3))));
    assertThat(plan.moves()).hasSize(1);
    assertThat(plan.moves().get(0).to().cubes()).doesNotContainAnyElementsOf(CUBES);
  }
}
