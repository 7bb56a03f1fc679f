package dev.slicewright.plan;

import static dev.slicewright.plan.Case.box;
import static dev.slicewright.plan.Case.running;
import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SliceId;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.List;
import org.junit.jupiter.api.Test;

class ObjectiveLevelsTest {

  private static final CostTerms ALL =
      CostTerms.builder().newHosts(true).pricePerChipHourMicros("torus", 1).build();

  private static SliceRequest want(String id, long priority) {
    return SliceRequest.builder(id).shape("4x4x4").priority(priority).build();
  }

  private static List<String> names(
      Fleet fleet, List<SliceRequest> requests, PlanningRules rules, CostTerms cost) {
    return ObjectiveLevels.of(fleet, requests, rules, cost).stream().map(Level::name).toList();
  }

  @Test
  void keptBeforePlacedHighestPriorityFirst() {
    Fleet fleet =
        Fleet.builder()
            .pod("p", TpuTopology.torus(8, 8, 4))
            .build()
            .place(running(want("r1", 1), 0, "p", "4x4x4", box("4x4x4", 0, 0, 0)))
            .place(running(want("r3", 3), 0, "p", "4x4x4", box("4x4x4", 4, 0, 0)));
    List<SliceRequest> requests = List.of(want("a", -2), want("b", 3), want("c", 2));
    PlanningRules none = PlanningRules.NONE;
    assertThat(names(fleet, requests, none, CostTerms.DEFAULT))
        .containsExactly(
            "chips kept at priority 3",
            "chips placed at priority 3",
            "chips placed at priority 2",
            "chips kept at priority 1",
            "chips placed at priority -2");
    assertThat(names(fleet.leaving(new SliceId("r1", 0), true), requests, none, CostTerms.DEFAULT))
        .doesNotContain("chips kept at priority 1");
    assertThat(names(fleet, List.of(), none, ALL))
        .containsExactly(
            "chips kept at priority 3", "chips kept at priority 1", "micro-units an hour");
  }

  @Test
  void preferencesOnlyWhereTheyCanMatter() {
    Fleet fleet =
        Fleet.builder()
            .pod("p", TpuTopology.torus(8, 8, 4))
            .build()
            .place(running(want("r", 0), 0, "p", "4x4x4", box("4x4x4", 0, 0, 0)));
    SliceRequest choice = SliceRequest.builder("a").shape("4x4x4").shape("4x4x2").build();
    SliceRequest chips = SliceRequest.builder("a").chips(64).build();
    PlanningRules evict = PlanningRules.builder().permit("r", Permission.EVICTABLE).build();
    PlanningRules move = PlanningRules.builder().permit("r", Permission.MOVABLE).build();
    String kept = "chips kept at priority 0";
    String placed = "chips placed at priority 0";
    String lost = "chip-seconds lost";
    for (SliceRequest request : List.of(choice, chips)) {
      assertThat(names(fleet, List.of(request), evict, ALL))
          .containsExactly(kept, placed, lost, "chips x shape rank", "micro-units an hour");
      assertThat(names(fleet, List.of(request), move, ALL))
          .containsExactly(
              kept, placed, lost, "chips x shape rank", "new hosts", "micro-units an hour");
    }
    assertThat(names(fleet, List.of(choice), move, CostTerms.builder().shapeRank(false).build()))
        .containsExactly(kept, placed, lost);
    assertThat(names(fleet, List.of(want("a", 0)), move, CostTerms.DEFAULT))
        .containsExactly(kept, placed, lost);
    Fleet leaving = fleet.leaving(new SliceId("r", 0), true);
    assertThat(names(leaving, List.of(want("a", 0)), move, ALL))
        .containsExactly(placed, "micro-units an hour");
    assertThat(ObjectiveLevels.permission(leaving, move, "r")).isEqualTo(Permission.PINNED);
    assertThat(ObjectiveLevels.permission(fleet, move, "r")).isEqualTo(Permission.MOVABLE);
    assertThat(ObjectiveLevels.permission(fleet, move, "x")).isEqualTo(Permission.PINNED);
  }

  @Test
  void aSliceCountsUpToItsFirstShape() {
    SliceRequest request = SliceRequest.builder("a").shape("4x4x2").shape("4x4x4").build();
    assertThat(ObjectiveLevels.mostCounted(request)).isEqualTo(32);
    assertThat(ObjectiveLevels.counted(request, Shape.parse("4x4x4"))).isEqualTo(32);
    assertThat(ObjectiveLevels.counted(request, Shape.parse("2x2x1"))).isEqualTo(4);
  }
}
