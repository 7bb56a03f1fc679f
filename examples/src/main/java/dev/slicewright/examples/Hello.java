package dev.slicewright.examples;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.List;

/** The program of the README. */
public final class Hello {
  public static void main(String[] args) {
    Fleet fleet =
        Fleet.builder()
            .pod("us-east5-a/1", TpuTopology.v5p()) // 140 optical cubes, 8,960 chips
            .build()
            .failHost("us-east5-a/1", new HostId(17));

    SliceRequest train =
        SliceRequest.builder("train").shape("8x8x16").slices(2).priority(100).build();
    SliceRequest eval = SliceRequest.builder("eval").chips(32).build();

    Plan plan =
        SlicePlanner.create()
            .plan(fleet, List.of(train, eval), SolveBudget.within(Duration.ofMillis(800)));

    System.out.println(plan.placement("train").orElseThrow().slices().get(0).hosts().subList(0, 4));
    System.out.println("gap " + plan.gap() + ", unplaced " + plan.unplaced());
    fleet = plan.applyTo(fleet);
    System.out.println(fleet);
  }
}
