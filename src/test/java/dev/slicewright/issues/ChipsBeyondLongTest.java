package dev.slicewright.issues;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A batch whose chips overflow a long ended in an ArithmeticException. */
class ChipsBeyondLongTest {

  private final Fleet fleet = Fleet.builder().pod("p", TpuTopology.torus(4, 4, 4)).build();
  private final SlicePlanner planner =
      SlicePlanner.builder().formulations(List.of()).failOnRejectedPlan(true).build();
  private final SolveBudget budget = SolveBudget.within(Duration.ofSeconds(5));

  @Test
  void tooManyChipsInAllAreBadData() {
    SliceRequest small = SliceRequest.builder("small").shape("2x2x1").build();
    SliceRequest giant =
        SliceRequest.builder("giant").shape("65536x65536x65536").slices(100_000).build();

    assertThatThrownBy(() -> planner.plan(fleet, List.of(small, giant), budget))
        .isInstanceOfSatisfying(
            InvalidInputException.class,
            e -> {
              assertThat(e.problems()).hasSize(1);
              assertThat(e.problems().get(0).path()).isEqualTo("requests[1]");
              assertThat(e.problems().get(0).message()).contains("giant", "2^63 - 1");
            });
  }

  @Test
  void whatStillFitsALongIsMerelyNotPlaced() {
    SliceRequest large =
        SliceRequest.builder("large").shape("65536x65536x65536").slices(30_000).build();

    Plan plan = planner.plan(fleet, List.of(large), budget);

    assertThat(plan.unplaced()).hasSize(1);
    assertThat(plan.unplaced().get(0).never()).isTrue();
  }
}
