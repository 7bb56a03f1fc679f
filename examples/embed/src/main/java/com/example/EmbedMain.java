package com.example;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.formulation.ortools.CpSatFormulation;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.List;

/** A program that embeds Slicewright as its user would: where do these slices go? */
public final class EmbedMain {
  private EmbedMain() {}

  public static void main(String[] args) {
    CpSatFormulation.preload(); // loads native code at start-up, not within the first solve
    Fleet fleet =
        Fleet.builder()
            .pod("us-east5-a/1", TpuTopology.v5p())
            .build()
            .failHost("us-east5-a/1", new HostId(17));
    List<SliceRequest> requests =
        List.of(
            SliceRequest.builder("train").shape("4x4x8").slices(2).priority(100).build(),
            SliceRequest.builder("eval").chips(16).build());

    Plan plan =
        SlicePlanner.create().plan(fleet, requests, SolveBudget.within(Duration.ofSeconds(1)));

    for (SliceRequest request : requests) {
      plan.placement(request.id())
          .ifPresentOrElse(
              placed -> {
                for (Placement slice : placed.slices()) {
                  System.out.println(
                      slice.id() + " on " + slice.pod() + ", workers " + slice.hostNames());
                }
              },
              () -> System.out.println(request.id() + " is not placed: " + plan.unplaced()));
    }
    System.out.println("gap " + plan.gap() + ", " + plan.stopped());
  }
}
