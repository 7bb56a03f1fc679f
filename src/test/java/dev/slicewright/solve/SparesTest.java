package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.StopReason;
import dev.slicewright.request.Drain;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Spares that plans leave alone and repairs use; drains. */
class SparesTest {

  private static final Instant NOON = Instant.parse("2026-03-01T12:00:00Z");
  private static final Instant LATER = NOON.plusSeconds(3_600);
  private static final PlanningRules RULES = PlanningRules.builder().now(NOON).build();
  private static final SolveBudget BUDGET = SolveBudget.within(Duration.ofSeconds(20));
  private static final SlicePlanner PLANNER =
      SlicePlanner.builder().formulations(List.of()).failOnRejectedPlan(true).build();
  private static final SliceRequest SPARE =
      SliceRequest.builder("spare").shape("4x4x4").healthyOnly(true).build();
  private static final SliceRequest RUN = SliceRequest.builder("run").shape("4x4x8").build();

  private static Footprint.Cubes cubes(int... ids) {
    return new Footprint.Cubes(IntStream.of(ids).mapToObj(CubeId::new).toList());
  }

  private static Fleet fleet() {
    return Fleet.builder()
        .pod("p", TpuTopology.builder(AcceleratorType.TPU7X).cubes(5).build())
        .running(RunningSlice.builder(RUN, 0, "p", RUN.shapes().get(0), cubes(0, 1)).build())
        .build();
  }

  @Test
  void plansLeaveSparesAloneAndRepairsUseThem() {
    Spares.Kept kept = Spares.keep(PLANNER, fleet(), SPARE, 2, LATER, RULES, BUDGET);
    assertThat(kept.missing()).isZero();
    assertThat(kept.fleet().holdsOf("spare")).hasSize(2).isEqualTo(kept.holds());
    SliceRequest two = SliceRequest.builder("two").shape("4x4x8").build();
    assertThat(PLANNER.plan(kept.fleet(), List.of(two), RULES, BUDGET).placements()).isEmpty();
    assertThat(PLANNER.plan(fleet(), List.of(two), RULES, BUDGET).placements()).hasSize(1);

    SliceRequest one = SliceRequest.builder("one").shape("4x4x4").build();
    Fleet full = PLANNER.plan(kept.fleet(), List.of(one), RULES, BUDGET).applyTo(kept.fleet());
    Fleet failed = full.fail("p", new Part.Host(new HostId(3)));
    assertThat(PLANNER.repair(failed, RULES, BUDGET).broken()).hasSize(1);
    Fleet released = Spares.release(failed, "spare");
    Plan mend = PLANNER.repair(released, RULES, BUDGET);
    assertThat(mend.moves()).hasSize(1);
    Fleet mended = mend.applyTo(released);
    assertThat(mended.totals().broken()).isZero();
    // One cube has failed and one is used: one spare is left.
    Spares.Kept again = Spares.keep(PLANNER, mended, SPARE, 2, LATER, RULES, BUDGET);
    assertThat(again.holds()).hasSize(1);
    assertThat(again.missing()).isOne();
  }

  @Test
  void sparesThatServeStayAndOthersAreReplaced() {
    Fleet fleet = Spares.keep(PLANNER, fleet(), SPARE, 2, LATER, RULES, BUDGET).fleet();
    Spares.Kept same = Spares.keep(PLANNER, fleet, SPARE, 2, LATER, RULES, BUDGET);
    assertThat(same.fleet()).isEqualTo(fleet);
    Hold first = fleet.holdsOf("spare").get(0);
    CubeId cube = ((Footprint.Cubes) first.footprint()).cubes().get(0);
    Fleet failed = fleet.fail("p", new Part.Cube(cube));
    Spares.Kept replaced = Spares.keep(PLANNER, failed, SPARE, 2, LATER, RULES, BUDGET);
    assertThat(replaced.missing()).isZero();
    assertThat(replaced.holds())
        .extracting(Hold::footprint)
        .contains(fleet.holdsOf("spare").get(1).footprint())
        .doesNotContain(first.footprint());
    assertThat(Spares.keep(PLANNER, fleet, SPARE, 0, LATER, RULES, BUDGET).fleet().holds())
        .isEmpty();
    assertThat(Spares.release(fleet(), "spare").holds()).isEmpty();
    InvalidInputException bad =
        catchThrowableOfType(
            InvalidInputException.class,
            () ->
                Spares.keep(
                    PLANNER, fleet, SPARE.toBuilder("run").build(), -1, NOON, RULES, BUDGET));
    assertThat(bad.problems()).hasSize(3);
  }

  @Test
  void drainedCubesAreEmptiedAndWhatStaysIsNamed() {
    Plan plan = PLANNER.drain(fleet(), List.of(drain(0)), RULES, BUDGET);
    assertThat(plan.stopped()).isEqualTo(StopReason.OPTIMAL);
    assertThat(plan.staying()).isEmpty();
    assertThat(plan.moves()).hasSize(1);
    assertThat(((Footprint.Cubes) plan.moves().get(0).to().footprint()).cubes())
        .doesNotContain(new CubeId(0));

    PlanningRules pinned = RULES.toBuilder().permit("run", Permission.PINNED).build();
    Plan stays = PLANNER.drain(fleet(), List.of(drain(0)), pinned, BUDGET);
    assertThat(stays.moves()).isEmpty();
    assertThat(stays.staying()).hasSize(1);

    // No room: it stays, unless it may be evicted.
    List<Drain> most = List.of(drain(0, 2, 3, 4));
    assertThat(PLANNER.drain(fleet(), most, RULES, BUDGET).staying()).hasSize(1);
    PlanningRules evict = RULES.toBuilder().permit("run", Permission.ANY).build();
    Plan evicted = PLANNER.drain(fleet(), most, evict, BUDGET);
    assertThat(evicted.evictions()).hasSize(1);
    assertThat(evicted.staying()).isEmpty();
    assertThat(evicted.stopped()).isEqualTo(StopReason.OPTIMAL);

    InvalidInputException unknown =
        catchThrowableOfType(
            InvalidInputException.class,
            () -> PLANNER.drain(fleet(), List.of(drain(77), Drain.pod("q")), RULES, BUDGET));
    assertThat(unknown.problems()).hasSize(2);
  }

  private static Drain drain(int... ids) {
    return Drain.cubes("p", cubes(ids).cubes());
  }
}
