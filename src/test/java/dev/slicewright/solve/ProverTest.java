package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.StopReason;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What search and relaxation prove together, without any formulation. */
class ProverTest {

  private static final SlicePlanner PLANNER =
      SlicePlanner.builder().formulations(List.of()).maxWorkers(4).failOnRejectedPlan(true).build();

  private static SolveBudget budget(SolveBudget.Mode mode) {
    return SolveBudget.builder()
        .deadline(Duration.ofSeconds(20))
        .workers(mode == SolveBudget.Mode.REPRODUCIBLE ? 1 : 2)
        .mode(mode)
        .build();
  }

  private static List<SliceRequest> wants(String shape, int count, long priority) {
    List<SliceRequest> out = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      out.add(
          SliceRequest.builder(shape + "-" + priority + "-" + i)
              .shape(shape)
              .priority(priority)
              .build());
    }
    return out;
  }

  /** A ring of five cells holds two boxes of two; by prices alone, two and a half. */
  @ParameterizedTest
  @EnumSource(SolveBudget.Mode.class)
  void casesCloseWhatPricesLeaveOpen(SolveBudget.Mode mode) {
    Fleet fleet = Fleet.builder().pod("ring", TpuTopology.torus(10, 2)).build();

    Plan plan = PLANNER.plan(fleet, wants("4x2", 3, 0), PlanningRules.NONE, budget(mode));

    assertThat(plan.score().values()).isEqualTo("16");
    assertThat(plan.score().bounds()).isEqualTo("16");
    assertThat(plan.stopped()).isEqualTo(StopReason.OPTIMAL);
  }

  /** Every box of 4x4 cells covers the middle cell or its like of a 7x7 mesh: one fits. */
  @Test
  void pricesProveWhatCountingCannot() {
    Fleet fleet =
        Fleet.builder().pod("mesh", TpuTopology.torusBuilder(14, 14).mesh().build()).build();

    Plan plan =
        PLANNER.plan(
            fleet, wants("8x8", 4, 0), PlanningRules.NONE, budget(SolveBudget.Mode.REPRODUCIBLE));

    assertThat(plan.score().values()).isEqualTo("64");
    assertThat(plan.stopped()).isEqualTo(StopReason.OPTIMAL);
    assertThat(plan.score().levels().get(0).proof()).isInstanceOf(Proof.Certified.class);
  }

  /** The lower priority is bounded given what the higher one holds. */
  @Test
  void levelsAreProvedInTurn() {
    Fleet fleet = Fleet.builder().pod("ring", TpuTopology.torus(14, 2)).build();
    List<SliceRequest> wants = new ArrayList<>(wants("4x2", 2, 1));
    wants.addAll(wants("6x2", 3, 0));

    Plan plan =
        PLANNER.plan(fleet, wants, PlanningRules.NONE, budget(SolveBudget.Mode.REPRODUCIBLE));

    // Seven cells: two of two cells, then one of three.
    assertThat(plan.score().values()).isEqualTo("16/12");
    assertThat(plan.stopped()).isEqualTo(StopReason.OPTIMAL);
  }

  @Test
  void quotasArePriced() {
    Fleet fleet = Fleet.builder().pod("torus", TpuTopology.torus(8, 8, 8)).build();
    List<SliceRequest> wants = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      wants.add(SliceRequest.builder("a" + i).shape("4x4x4").tenant("a").build());
      wants.add(SliceRequest.builder("b" + i).shape("4x4x4").tenant("b").build());
    }
    PlanningRules rules = PlanningRules.builder().quota("a", 130).quota("b", 200).build();

    Plan plan = PLANNER.plan(fleet, wants, rules, budget(SolveBudget.Mode.REPRODUCIBLE));

    assertThat(plan.score().values()).isEqualTo("320"); // two of a, three of b
    assertThat(plan.stopped()).isEqualTo(StopReason.OPTIMAL);
  }

  @ParameterizedTest
  @EnumSource(
      value = SolveBudget.Mode.class,
      names = {"REPRODUCIBLE", "REPRODUCIBLE_PARALLEL"})
  void runsRepeat(SolveBudget.Mode mode) {
    Fleet fleet = Fleet.builder().pod("torus", TpuTopology.torus(12, 10, 14)).build();
    List<SliceRequest> wants = new ArrayList<>(wants("4x4x6", 9, 0));
    wants.addAll(wants("6x6x5", 6, 0));
    wants.addAll(wants("2x2x2", 30, 0));
    SolveBudget budget =
        SolveBudget.builder()
            .deadline(Duration.ofSeconds(1))
            .workers(mode == SolveBudget.Mode.REPRODUCIBLE ? 1 : 3)
            .mode(mode)
            .build();

    Plan one = PLANNER.plan(fleet, wants, PlanningRules.NONE, budget);
    Plan two = PLANNER.plan(fleet, wants, PlanningRules.NONE, budget);

    assumeThat(List.of(one.stopped(), two.stopped())).doesNotContain(StopReason.DEADLINE);
    assertThat(one.placements()).isEqualTo(two.placements());
    assertThat(one.score()).isEqualTo(two.score());
  }
}
