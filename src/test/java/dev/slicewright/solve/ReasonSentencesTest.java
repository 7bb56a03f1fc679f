package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Reason;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the sentences of unplaced requests advise, and whom they name. */
class ReasonSentencesTest {

  private static final SolveBudget BUDGET = SolveBudget.within(Duration.ofSeconds(10));

  private static Fleet cubes(int n) {
    return Fleet.builder()
        .pod("p", TpuTopology.builder(AcceleratorType.TPU7X).cubes(n).build())
        .build();
  }

  private static SliceRequest request(String id, String shape, long priority) {
    return SliceRequest.builder(id).shape(shape).priority(priority).build();
  }

  private static Fleet running(Fleet fleet, String id, int cube) {
    SliceRequest request = request(id, "4x4x4", 0);
    return fleet.place(
        RunningSlice.builder(
                request, 0, "p", Shape.of(4, 4, 4), new Footprint.Cubes(List.of(new CubeId(cube))))
            .build());
  }

  private static Unplaced unplaced(Fleet fleet, PlanningRules rules, SliceRequest... requests) {
    List<Unplaced> unplaced =
        SlicePlanner.create().plan(fleet, List.of(requests), rules, BUDGET).unplaced();
    assertThat(unplaced).hasSize(1);
    return unplaced.get(0);
  }

  @Test
  void waitingIsNotAdvisedWhereOnlyRepairHelps() {
    Fleet fleet = running(cubes(4), "old", 0).failHost("p", new HostId(20));

    Unplaced all = unplaced(fleet, PlanningRules.NONE, request("all", "4x8x8", 0));
    assertThat(all.reason()).isEqualTo(Reason.NOT_ENOUGH_FREE);
    assertThat(all.sentence()).contains("252 chips could be used", "repair or uncordon");

    Unplaced cordoned =
        unplaced(
            running(cubes(4), "old", 0).cordon("p", new Part.Cube(new CubeId(2))),
            PlanningRules.NONE,
            request("all", "4x8x8", 0));
    assertThat(cordoned.sentence()).contains("192 chips could be used", "repair or uncordon");

    Unplaced some =
        unplaced(running(cubes(4), "old", 0), PlanningRules.NONE, request("all", "4x8x8", 0));
    assertThat(some.sentence()).contains("wait for a slice to end").doesNotContain("repair");
  }

  @Test
  void nobodyIsSaidToGiveWayToWhatRanksLower() {
    Unplaced low =
        unplaced(
            cubes(3),
            PlanningRules.NONE,
            request("top", "4x4x8", 9),
            request("small", "4x4x4", 1),
            request("middle", "4x4x8", 5));

    assertThat(low.request()).isEqualTo("middle");
    assertThat(low.reason()).isEqualTo(Reason.OUTRANKED);
    assertThat(low.sentence()).contains("top (priority 9)").doesNotContain("small");
  }

  @Test
  void noRoomIsSaidOfWhatRunsAsItIs() {
    // Two cubes are half full: one whole cube is free only once something moves.
    Fleet fleet = cubes(2);
    for (int cube = 0; cube < 2; cube++) {
      TpuTopology t = fleet.pod("p").orElseThrow().topology();
      int at = cube;
      Footprint half =
          new Footprint.Partition(
              t.partitions().orElseThrow().ofShape(Shape.of(2, 4, 4)).stream()
                  .filter(id -> t.partitions().orElseThrow().firstCell(id) == at * 16)
                  .findFirst()
                  .orElseThrow());
      SliceRequest old = request("old" + cube, "2x4x4", 0);
      fleet = fleet.place(RunningSlice.builder(old, 0, "p", Shape.of(2, 4, 4), half).build());
    }
    PlanningRules movable = PlanningRules.builder().permitByDefault(Permission.MOVABLE).build();

    assertThat(
            SlicePlanner.create()
                .plan(fleet, List.of(request("one", "4x4x4", 0)), movable, BUDGET)
                .unplaced())
        .isEmpty();
    Unplaced second =
        unplaced(fleet, movable, request("one", "4x4x4", 5), request("two", "4x4x4", 0));
    assertThat(second.sentence()).doesNotContain("Even with nothing");
  }
}
