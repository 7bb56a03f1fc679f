package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.StopReason;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A plan that a limit of work ended says which. */
class LimitNoteTest {

  @Test
  void theRoundsThatAreSpentAreNoted() {
    // It fits after a move, which nobody here weighs, so neither a plan nor a bound closes the gap.
    SliceRequest old = SliceRequest.builder("old").shape("2x4x4").slices(2).build();
    Fleet.Builder fleet = Fleet.builder().pod("a", TpuTopology.torus(8, 4, 4));
    for (int i = 0; i < 2; i++) {
      Footprint box = new Footprint.Box(new Chip(4 * i, 0, 0), Shape.of(2, 4, 4));
      fleet.running(RunningSlice.builder(old, i, "a", Shape.of(2, 4, 4), box).build());
    }
    Plan plan =
        SlicePlanner.builder()
            .formulations(List.of())
            .build()
            .plan(
                fleet.build(),
                List.of(SliceRequest.builder("new").shape("4x4x4").build()),
                PlanningRules.builder().permit("old", Permission.MOVABLE).build(),
                SolveBudget.within(Duration.ofSeconds(20))); // a second or so is used
    assertThat(plan.stopped()).isEqualTo(StopReason.LIMIT);
    assertThat(plan.notes()).anyMatch(n -> n.contains("100,000 rounds"));
  }
}
