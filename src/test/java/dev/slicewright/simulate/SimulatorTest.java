package dev.slicewright.simulate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Part;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.simulate.Trace.Arrival;
import dev.slicewright.simulate.Trace.Change;
import dev.slicewright.simulate.Trace.Kind;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class SimulatorTest {

  private static final TpuTopology TORUS =
      TpuTopology.torusBuilder(8, 8, 4).hostTile(Shape.of(1, 1, 1)).build();
  private static final Fleet FLEET = Fleet.builder().pod("p", TORUS).build();
  private static final Policy PLANNER =
      Policy.planner(
          SlicePlanner.builder().failOnRejectedPlan(true).formulations(List.of()).build(),
          SolveBudget.within(Duration.ofSeconds(4)));

  private static TraceGenerator.Builder load(double load) {
    return TraceGenerator.builder(TORUS.chipCount())
        .shape(Shape.of(1, 2, 2), 3)
        .shape(Shape.of(2, 2, 2), 3)
        .shape(Shape.of(2, 2, 4), 2)
        .shape(Shape.of(4, 4, 4), 1)
        .load(load)
        .arrivals(200);
  }

  private static List<Policy> policies() {
    return List.of(
        PLANNER,
        PLANNER.withMoves(2),
        PLANNER.withMoves(2).withTidying(true),
        PLANNER.inBatches(Duration.ofMinutes(5)),
        Policy.firstFit(),
        Policy.slurmTorus3d(true),
        Policy.slurmTorus3dEverywhere(),
        Policy.slurmTorus3d(false),
        Policy.pool());
  }

  private static Arrival arrival(String id, String shape, int at, int stay, int patience) {
    return new Arrival(
        SliceRequest.builder(id).shape(shape).build(),
        Duration.ofSeconds(at),
        Duration.ofSeconds(stay),
        Duration.ofSeconds(patience));
  }

  @Test
  void everyArrivalIsAdmittedRejectedOrWaitsAndRunsRepeat() {
    Trace trace =
        load(0.9)
            .patience(Duration.ofMinutes(6))
            .failures(FLEET, Duration.ofDays(6), Duration.ofHours(2))
            .arrivals(120)
            .build()
            .generate(3);
    assertThat(trace.changes()).isNotEmpty();
    for (Policy policy : policies()) {
      Simulator simulator = Simulator.of(FLEET).withWarmUp(40).withSamples(20);
      SimulationReport r = simulator.run(trace, policy);
      assertThat(r.arrivals()).as(policy.toString()).isEqualTo(80);
      assertThat(r.admitted() + r.rejected() + r.waiting()).isEqualTo(r.arrivals());
      assertThat(r.utilisation()).isBetween(0.2, 1.0);
      assertThat(r.rejectedShare()).isBetween(0.0, 0.8);
      assertThat(r.waits().p50()).isLessThanOrEqualTo(r.waits().p99());
      assertThat(r.waits().p99()).isLessThanOrEqualTo(Duration.ofMinutes(11));
      assertThat(r.samples()).hasSize(4);
      for (SimulationReport.Sample s : r.samples()) {
        assertThat(s.busyChips() + s.freeChips()).isLessThanOrEqualTo(TORUS.chipCount());
        assertThat(s.largestChips()).isLessThanOrEqualTo(s.freeChips());
        assertThat(s.placeableShare()).isBetween(0.0, 1.0);
      }
      assertThat(simulator.run(trace, policy)).isEqualTo(r);
    }
  }

  /** Nothing happens for 100,000 days, so nothing is planned again either. */
  @Test
  void batchesSleepWhileNothingHappens() {
    Arrival never =
        new Arrival(
            SliceRequest.builder("never").shape("16x16x16").build(),
            Duration.ofSeconds(7),
            Duration.ofSeconds(60),
            Trace.MAX_TIME);
    Arrival late =
        new Arrival(
            SliceRequest.builder("late").shape("2x2x2").build(),
            Trace.MAX_TIME,
            Duration.ofSeconds(60),
            Duration.ofSeconds(60));
    SimulationReport r =
        Simulator.of(FLEET)
            .run(
                new Trace(List.of(never, late), List.of()),
                PLANNER.inBatches(Duration.ofSeconds(10)));
    assertThat(r.arrivals()).isEqualTo(2);
    assertThat(r.admitted() + r.waiting()).isEqualTo(2);
  }

  @Test
  void thePoolTurnsAwayLeastAndMovesHelp() {
    long pool = 0;
    long first = 0;
    long alone = 0;
    long moved = 0;
    for (int seed = 0; seed < 4; seed++) {
      Trace trace = load(0.9).build().generate(seed);
      Simulator simulator = Simulator.of(FLEET).withSamples(0);
      pool += simulator.run(trace, Policy.pool()).rejectedChips();
      first += simulator.run(trace, Policy.firstFit()).rejectedChips();
      alone += simulator.run(trace, PLANNER).rejectedChips();
      SimulationReport r = simulator.run(trace, PLANNER.withMoves(2));
      moved += r.rejectedChips();
      assertThat(r.moves()).isPositive().isLessThanOrEqualTo(2 * r.admitted());
      assertThat(r.movedChipSeconds()).isPositive();
    }
    assertThat(first).isGreaterThan(pool);
    assertThat(alone).isGreaterThan(pool);
    assertThat(moved - pool).isLessThan((alone - pool) / 2);
  }

  @Test
  void waitsAndUtilisationByHand() {
    Fleet four =
        Fleet.builder()
            .pod("p", TpuTopology.torusBuilder(4, 1).hostTile(Shape.of(1, 1)).build())
            .build();
    Trace trace =
        new Trace(
            List.of(
                arrival("a", "4x1", 0, 100, 0),
                arrival("b", "2x1", 10, 100, 95),
                arrival("c", "2x1", 20, 100, 60),
                arrival("d", "1x1", 200, 100, 0)),
            List.of());
    for (Policy policy : List.of(PLANNER, Policy.firstFit(), Policy.pool())) {
      SimulationReport r = Simulator.of(four).run(trace, policy);
      assertThat(r.admitted()).isEqualTo(3);
      assertThat(r.rejected()).isEqualTo(1);
      assertThat(r.rejectedChips()).isEqualTo(2);
      assertThat(r.waits().p99()).isEqualTo(Duration.ofSeconds(90));
      assertThat(r.waits().mean()).isEqualTo(Duration.ofSeconds(30));
      // 4 chips for 100 s, then 2 for 100 s, of 4 for 200 s.
      assertThat(r.utilisation()).isCloseTo(0.75, within(1e-9));
    }
  }

  @Test
  void failuresMoveWhatThePlannerRuns() {
    List<Arrival> arrivals = new ArrayList<>();
    arrivals.add(arrival("a", "4x4x4", 0, 1_000, 0));
    arrivals.add(arrival("last", "1x2x2", 900, 1, 0));
    List<Change> changes = new ArrayList<>();
    for (int host = 0; host < 3; host++) {
      changes.add(
          new Change(
              Duration.ofSeconds(10 + host), Kind.FAIL, "p", new Part.Host(new HostId(host))));
    }
    Trace trace = new Trace(arrivals, changes);
    SimulationReport planned = Simulator.of(FLEET).run(trace, PLANNER);
    assertThat(planned.repairs()).isPositive();
    assertThat(planned.evictions()).isZero();
    assertThat(planned.repairs()).isEqualTo(planned.moves());
    SimulationReport first = Simulator.of(FLEET).run(trace, Policy.firstFit());
    assertThat(first.evictions()).isEqualTo(1);
    assertThat(first.moves()).isZero();
  }

  @Test
  void refusesWhatDoesNotFitTheFleet() {
    Trace trace =
        new Trace(
            List.of(),
            List.of(
                new Change(Duration.ZERO, Kind.FAIL, "q", new Part.Host(new HostId(0))),
                new Change(Duration.ZERO, Kind.FAIL, "p", new Part.Host(new HostId(999)))));
    assertThatThrownBy(() -> Simulator.of(FLEET).run(trace, Policy.pool()))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("changes[0]")
        .hasMessageContaining("changes[1]");
    assertThatThrownBy(() -> Policy.pool().withMoves(1))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("expected the planner, but this is pool");
    Fleet cubes = Fleet.builder().pod("p", TpuTopology.v5p()).build();
    assertThatThrownBy(
            () -> Simulator.of(cubes).run(new Trace(List.of(), List.of()), Policy.firstFit()))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("pod of boxes");
  }

  @Test
  void cubesUnderThePlanner() {
    Fleet cubes = Fleet.builder().pod("p", TpuTopology.v4()).build();
    Trace trace =
        TraceGenerator.builder(4096)
            .shape(Shape.of(2, 2, 4), 4)
            .shape(Shape.of(4, 4, 8), 2)
            .shape(Shape.of(8, 8, 8), 1)
            .load(0.9)
            .arrivals(120)
            .build()
            .generate(5);
    SimulationReport r = Simulator.of(cubes).run(trace, PLANNER.withMoves(2).withTidying(true));
    assertThat(r.admitted() + r.rejected()).isEqualTo(120);
  }
}
