package dev.slicewright.issues;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Hold;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * A request that is placed gives the chips of its hold back to the quota, and others took them; the
 * search then swapped that request for another of better rank, and the quota was broken.
 */
class HoldLetOthersIntoQuotaTest {

  @Test
  void roomFromAHoldGoesWithTheRequestThatHoldsIt() {
    Instant now = Instant.parse("2026-03-01T12:00:00Z");
    TpuTopology host = TpuTopology.torus(2, 2);
    TpuTopology four = TpuTopology.torus(4, 4);
    Fleet fleet =
        Fleet.builder()
            .pod("contested", host)
            .pod("room", four)
            .pod("held", four)
            .pod("open", host)
            .hold(
                new Hold(
                    "h",
                    "held",
                    new Footprint.Box(new Chip(0, 0, 0), Shape.of(4, 4)),
                    "holder",
                    now.plusSeconds(60)))
            .build();
    List<SliceRequest> requests = new ArrayList<>();
    // Its first shape has no room, so the rival is preferred in its place.
    requests.add(
        SliceRequest.builder("holder")
            .shape("4x2")
            .shape("2x2")
            .tenant("red")
            .pod("contested")
            .build());
    requests.add(of("rival", "blue", "contested").build());
    for (int i = 0; i < 3; i++) {
      requests.add(of("user-" + i, "red", "room").build());
    }
    // Never placed, and arithmetic does not see it: the search goes on.
    requests.add(of("gang-0", "blue", "open").gang("gang").build());
    requests.add(of("gang-1", "blue", "open").gang("gang").build());
    PlanningRules rules = PlanningRules.builder().now(now).quota("red", 16).build();

    Plan plan =
        SlicePlanner.builder()
            .formulations(List.of())
            .failOnRejectedPlan(true)
            .build()
            .plan(fleet, requests, rules, SolveBudget.within(Duration.ofSeconds(1)));

    assertThat(plan.score().levels().get(0).value()).isEqualTo(16);
    assertThat(plan.notes()).noneMatch(n -> n.contains("rejected"));
  }

  private static SliceRequest.Builder of(String id, String tenant, String pod) {
    return SliceRequest.builder(id).shape("2x2").tenant(tenant).pod(pod);
  }
}
