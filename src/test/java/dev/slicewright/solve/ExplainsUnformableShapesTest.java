package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Reason;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Why no pod forms a shape, where several kinds of pod match. */
class ExplainsUnformableShapesTest {

  private static Unplaced explain(Fleet fleet, SliceRequest request) {
    Plan plan =
        SlicePlanner.create()
            .plan(fleet, List.of(request), SolveBudget.within(Duration.ofSeconds(30)));
    assertThat(plan.unplaced()).hasSize(1);
    assertThat(plan.unplaced().get(0).reason()).isEqualTo(Reason.SHAPE_NOT_FORMABLE);
    return plan.unplaced().get(0);
  }

  private static SliceRequest shape(String... shapes) {
    SliceRequest.Builder request = SliceRequest.builder("a");
    List.of(shapes).forEach(request::shape);
    return request.build();
  }

  @Test
  void everyKindOfPodHasItsReasonAndTheNearestComesFirst() {
    for (String lab : List.of("lab/t", "zoo/t")) { // before and after v5p by id
      Fleet fleet =
          Fleet.builder()
              .pod("v5p/1", TpuTopology.v5p())
              .pod("v5p/2", TpuTopology.v5p())
              .pod(lab, TpuTopology.torus(8, 8, 4))
              .build();
      Unplaced why = explain(fleet, shape("16x20x28"));
      assertThat(why.sentence())
          .startsWith("Pod v5p/1 (v5p): 16x20x28 has 140 cubes, but a slice has at most 96")
          .contains(" Pod " + lab + " (torus): No turn of 16x20x28 is a box")
          .contains("The nearest legal shapes are 16x16x24, ")
          .doesNotContain("v5p/2");
      assertThat(why.evidence().nearestShapes())
          .hasSize(4)
          .startsWith(Shape.of(16, 16, 24))
          .endsWith(Shape.of(4, 8, 8));
      assertThat(why.evidence().freeChips()).isEqualTo(2 * 8_960 + 256);
      assertThat(why.evidence().matchingPods()).isEqualTo(3);
    }
  }

  @Test
  void chipsThatNoPodHasAreNearToTheShapesOfAll() {
    Fleet fleet =
        Fleet.builder().pod("a", TpuTopology.torus(8, 8, 4)).pod("b", TpuTopology.v5p()).build();
    Unplaced why = explain(fleet, SliceRequest.builder("a").chips(8_960).build());
    assertThat(why.sentence())
        .startsWith("No legal shape of torus or v5p has exactly 8,960 chips.");
    assertThat(why.evidence().nearestShapes()).hasSize(4);
    assertThat(why.evidence().nearestShapes().subList(0, 3)).allMatch(s -> s.chips() == 6_144);
  }

  @Test
  void podsOfOtherDimensionsComeLastAndAtMostThreeKindsAreNamed() {
    Fleet fleet =
        Fleet.builder()
            .pod("a", TpuTopology.v6e())
            .pod("b", TpuTopology.torus(8, 8, 4))
            .pod("c", TpuTopology.v5p())
            .pod("d", TpuTopology.v4())
            .pod("e", TpuTopology.v5e())
            .build();
    Unplaced why = explain(fleet, shape("5x5x5"));
    assertThat(why.sentence())
        .contains("Pod b (torus)", "Pod c (v5p)", "Pod d (v4)", "Nor can 2 more kinds of pod.")
        .doesNotContain("2-D");
    assertThat(why.evidence().nearestShapes()).allMatch(s -> s.rank() == 3);
  }

  @Test
  void oneKindOfPodHasOneSentenceOfTheShapeThatComesNearest() {
    Fleet fleet = Fleet.builder().pod("a", TpuTopology.torus(8, 8, 4)).build();
    assertThat(explain(fleet, shape("16x20x28", "8x8x5")).sentence())
        .startsWith("No turn of 8x8x5 is a box");
  }
}
