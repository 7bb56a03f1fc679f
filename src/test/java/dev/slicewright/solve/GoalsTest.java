package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.ObjectiveLevels;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Reason;
import dev.slicewright.request.Drain;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.RoomGoal;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.VictimRules;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Rules on victims, drains and room goals, one by one. */
class GoalsTest {

  private static final Instant NOW = Instant.parse("2026-03-01T12:00:00Z");

  /** A wired 8x8 torus, full: four 4x4 slices of tenants red, red, blue and blue. */
  private static Fleet full() {
    Fleet fleet = Fleet.builder().pod("p", TpuTopology.torus(8, 8), Map.of("zone", "z")).build();
    String[] tenants = {"red", "red", "blue", "blue"};
    for (int i = 0; i < 4; i++) {
      fleet = fleet.place(slice("run-" + i, tenants[i], i, i * 4 % 8, i / 2 * 4));
    }
    return fleet;
  }

  private static RunningSlice slice(String id, String tenant, long priority, int x, int y) {
    SliceRequest request =
        SliceRequest.builder(id).shape("4x4").tenant(tenant).priority(priority).build();
    Footprint box = new Footprint.Box(new Chip(x, y, 0), Shape.of(4, 4));
    return RunningSlice.builder(request, 0, "p", Shape.of(4, 4), box)
        .startedAt(NOW.minusSeconds(3_600 * (priority + 1)))
        .build();
  }

  private static PlanningRules.Builder rules() {
    return PlanningRules.builder().now(NOW).permitByDefault(Permission.EVICTABLE);
  }

  private static Plan plan(Fleet fleet, List<SliceRequest> requests, PlanningRules rules) {
    return SlicePlanner.builder()
        .failOnRejectedPlan(true)
        .build()
        .plan(fleet, requests, rules, SolveBudget.within(Duration.ofSeconds(20)));
  }

  private static List<Boolean> victims(VictimRules victims) {
    PlanningRules rules = rules().quota("red", 16).quota("blue", 32).victims(victims).build();
    return List.of(0, 1, 2, 3).stream()
        .map(i -> ObjectiveLevels.permission(full(), rules, "run-" + i).evict())
        .toList();
  }

  @Test
  void everyRuleOnVictimsSparesThoseItNames() {
    VictimRules.Builder none = VictimRules.builder();
    assertThat(victims(none.build())).containsExactly(true, true, true, true);
    assertThat(victims(VictimRules.builder().belowPriority(2).build()))
        .containsExactly(true, true, false, false);
    assertThat(victims(VictimRules.builder().overQuotaOnly(true).build()))
        .containsExactly(true, true, false, false);
    assertThat(victims(VictimRules.builder().coolDown(Duration.ofHours(2)).build()))
        .containsExactly(false, true, true, true);
    assertThat(victims(VictimRules.builder().mostPerTenant(0).build()))
        .containsExactly(false, false, false, false);
    assertThat(victims(VictimRules.builder().protectRequests(Set.of("run-3")).build()))
        .containsExactly(true, true, true, false);
    assertThat(victims(VictimRules.builder().protectTenants(Set.of("red")).build()))
        .containsExactly(false, false, true, true);
  }

  @Test
  void anUnknownStartIsSparedByACoolDownAndProtectionLeavesMovesAlone() {
    Fleet fleet = full().release("run-0");
    SliceRequest request = SliceRequest.builder("old").shape("4x4").build();
    Footprint box = new Footprint.Box(new Chip(0, 0, 0), Shape.of(4, 4));
    fleet = fleet.place(RunningSlice.builder(request, 0, "p", Shape.of(4, 4), box).build());
    VictimRules cool = VictimRules.builder().coolDown(Duration.ofSeconds(1)).build();
    PlanningRules rules = rules().permitByDefault(Permission.ANY).victims(cool).build();
    assertThat(ObjectiveLevels.permission(fleet, rules, "old")).isEqualTo(Permission.MOVABLE);
  }

  @Test
  void atMostSoManyVictimsOfATenant() {
    List<SliceRequest> all = List.of(SliceRequest.builder("top").shape("8x8").priority(9).build());
    Plan free = plan(full(), all, rules().build());
    assertThat(free.evictions()).hasSize(4);
    PlanningRules one = rules().victims(VictimRules.builder().mostPerTenant(1).build()).build();
    Plan bound = plan(full(), all, one);
    assertThat(bound.evictions()).isEmpty();
    assertThat(bound.score().isOptimal()).isTrue();
    List<SliceRequest> half = List.of(SliceRequest.builder("top").shape("4x8").priority(9).build());
    assertThat(plan(full(), half, one).evictions()).hasSize(2);
    Plan.Builder claim = Plan.builder(free.fleetVersion(), one).score(free.score());
    free.placements().forEach(claim::placement);
    free.evictions().forEach(claim::eviction);
    assertThat(PlanVerifier.verify(full(), all, one, CostTerms.DEFAULT, claim.build()))
        .anyMatch(v -> v.message().contains("at most 1 evicted requests of tenant"));
  }

  @Test
  void whatCannotLeaveADrainedPartIsNamed() {
    Fleet fleet = full().release("run-3");
    PlanningRules rules =
        PlanningRules.builder()
            .now(NOW)
            .permit("run-0", Permission.MOVABLE)
            .permit("run-1", Permission.MOVABLE)
            .drain(Drain.hosts("p", List.of(new HostId(0))).by(NOW.plusSeconds(60)))
            .drain(Drain.hosts("p", List.of(new HostId(3))))
            .drain(Drain.hosts("p", List.of(new HostId(15))))
            .build();
    Plan plan = plan(fleet, List.of(), rules);
    assertThat(plan.score().isOptimal()).isTrue();
    // The free quarter is drained in part, so neither has a place.
    assertThat(plan.staying()).extracting(s -> s.reason()).containsOnly(Reason.FRAGMENTED);
    PlanningRules less =
        PlanningRules.builder()
            .now(NOW)
            .permit("run-0", Permission.MOVABLE)
            .drain(Drain.hosts("p", List.of(new HostId(0), new HostId(3))).by(NOW.plusSeconds(60)))
            .build();
    Plan late = plan(fleet, List.of(), less);
    assertThat(late.moves()).hasSize(1);
    assertThat(late.staying())
        .extracting(s -> s.slice().request().id() + " " + s.reason())
        .containsExactly("run-0 LATE", "run-1 PINNED");
  }

  @Test
  void nothingNewOnDrainedPartsAndEvictedWhereItCannotMove() {
    PlanningRules rules = rules().drain(Drain.label("zone", "z")).build();
    Plan plan = plan(full(), List.of(SliceRequest.builder("new").shape("4x4").build()), rules);
    assertThat(plan.evictions()).hasSize(4);
    assertThat(plan.placements()).isEmpty();
    assertThat(plan.staying()).isEmpty();
    assertThat(plan.score().isOptimal()).isTrue();
  }

  @Test
  void roomEvictsNobodyAndBecomesAHold() {
    SliceRequest like = SliceRequest.builder("big").shape("4x8").build();
    assertThat(plan(full(), List.of(), rules().room(like, 1).build()).evictions()).isEmpty();
    Fleet fleet = full().release("run-1").release("run-2");
    PlanningRules move = rules().permitByDefault(Permission.MOVABLE).room(like, 1).build();
    Plan plan = plan(fleet, List.of(), move);
    assertThat(plan.moves()).hasSize(1);
    assertThat(plan.room()).hasSize(1);
    assertThat(plan.score().isOptimal()).isTrue();
    Fleet held = plan.holdRoom(plan.applyTo(fleet), NOW.plusSeconds(60));
    PlanningRules pinned = PlanningRules.builder().now(NOW).build();
    SliceRequest other = SliceRequest.builder("other").shape("4x4").build();
    assertThat(plan(held, List.of(other), pinned).placements()).isEmpty();
    assertThat(plan(held, List.of(like), pinned).placements()).hasSize(1);
  }

  @Test
  void badRulesAreTypedErrors() {
    assertThatThrownBy(() -> VictimRules.builder().mostPerTenant(-1).coolDown(seconds(-1)).build())
        .isInstanceOfSatisfying(
            InvalidInputException.class, e -> assertThat(e.problems()).hasSize(2));
    assertThatThrownBy(() -> rules().drain(Drain.pod("p").by(NOW.minusSeconds(1))).build())
        .hasMessageContaining("drains[0].by");
    SliceRequest like = SliceRequest.builder("big").shape("4x8").build();
    assertThatThrownBy(() -> new RoomGoal(like.toBuilder().gang("g").build(), 0, -1))
        .isInstanceOfSatisfying(
            InvalidInputException.class, e -> assertThat(e.problems()).hasSize(3));
    PlanningRules rules =
        rules()
            .drain(Drain.pod("q"))
            .drain(Drain.hosts("p", List.of(new HostId(64))))
            .drain(Drain.cubes("p", List.of(new CubeId(0))))
            .drain(Drain.label("zone", "y"))
            .room(SliceRequest.builder("run-0").shape("4x4").build(), 1)
            .build();
    List<SliceRequest> least =
        List.of(SliceRequest.builder("low").shape("4x4").priority(Long.MIN_VALUE).build());
    assertThatThrownBy(() -> plan(full(), least, rules))
        .isInstanceOfSatisfying(
            InvalidInputException.class,
            e ->
                assertThat(e.problems())
                    .extracting(p -> p.path())
                    .contains(
                        "rules.drains[0].pod",
                        "rules.drains[1].hosts",
                        "rules.drains[2].cubes",
                        "rules.drains[3]",
                        "rules.rooms[0].like.id",
                        "requests[0].priority"));
  }

  private static Duration seconds(long n) {
    return Duration.ofSeconds(n);
  }
}
