package dev.slicewright.issues;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SliceId;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.Score;
import dev.slicewright.plan.StopReason;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The verifier let a request pass of which another slice, of a higher index, runs already. */
class RequestRunsAlreadyTest {

  @Test
  void anyRunningSliceOfTheRequestIsFound() {
    TpuTopology torus = TpuTopology.torus(4, 4);
    Shape host = Shape.of(2, 2);
    SliceRequest before = SliceRequest.builder("a").shape("2x2").slices(6).build();
    SliceRequest again = SliceRequest.builder("a").shape("2x2").build();
    Footprint here = new Footprint.Box(new Chip(0, 0, 0), host);
    Footprint there = new Footprint.Box(new Chip(2, 2, 0), host);
    Fleet fleet =
        Fleet.builder()
            .pod("p", torus)
            .running(RunningSlice.builder(before, 5, "p", host, here).build())
            .build();
    Plan plan =
        Plan.builder(fleet.version(), PlanningRules.NONE)
            .placement(
                new RequestPlacement(
                    again,
                    List.of(
                        new Placement(new SliceId("a", 0), "p", torus, host, there, Twist.NONE)),
                    0))
            .score(new Score(List.of(level(Level.Kind.KEPT, 4), level(Level.Kind.PLACED, 4))))
            .stopped(StopReason.OPTIMAL)
            .build();

    List<PlanVerifier.Violation> violations =
        PlanVerifier.verify(fleet, List.of(again), PlanningRules.NONE, CostTerms.DEFAULT, plan);

    assertThat(violations).hasSize(1);
    assertThat(violations.get(0).message()).contains("runs already");
  }

  private static Score.LevelScore level(Level.Kind kind, long value) {
    return new Score.LevelScore(new Level(kind, 0), value, value, new Proof.Trivial(), null);
  }
}
