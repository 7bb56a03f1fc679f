package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.StopReason;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** A plan that a limit of work ended says which. */
class LimitNoteTest {

  @Test
  void theRoundsThatAreSpentAreNoted() {
    // Two boxes that take more than half of each axis are never apart, which prices of single
    // cells do not see; and nobody here looks at cases.
    Fleet fleet =
        Fleet.builder()
            .pod("a", TpuTopology.torusBuilder(5, 5, 5).hostTile(Shape.of(1, 1, 1)).build())
            .build();
    List<SliceRequest> wanted =
        List.of(
            SliceRequest.builder("one").shape("3x3x3").build(),
            SliceRequest.builder("two").shape("3x3x3").build(),
            SliceRequest.builder("small").shape("2x2x2").slices(9).build());
    Plan plan =
        SlicePlanner.builder()
            .formulations(List.of())
            .build()
            .plan(fleet, wanted, SolveBudget.within(Duration.ofSeconds(20)));
    assertThat(plan.stopped()).isEqualTo(StopReason.LIMIT);
    assertThat(plan.notes()).anyMatch(n -> n.contains("100,000 rounds"));
  }
}
