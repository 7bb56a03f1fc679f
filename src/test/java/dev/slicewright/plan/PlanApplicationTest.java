package dev.slicewright.plan;

import static dev.slicewright.plan.Case.all;
import static dev.slicewright.plan.Case.box;
import static dev.slicewright.plan.Case.running;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.SliceId;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.StalePlanException.ConflictKind;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;

class PlanApplicationTest {

  private static final TpuTopology TORUS = TpuTopology.torus(8, 8, 4);
  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");
  private static final SliceRequest LOW =
      SliceRequest.builder("low").shape("4x4x4").tenant("t").build();
  private static final SliceRequest MOVED =
      SliceRequest.builder("moved").shape("4x4x4").tenant("t").build();
  private static final SliceRequest NEW =
      SliceRequest.builder("new").shape("4x8x4").tenant("u").healthyOnly(true).build();
  private static final Footprint LEFT = box("4x8x4", 0, 0, 0);

  /** In the way of new: low leaves, moved moves. */
  private static final Fleet FLEET =
      Fleet.builder()
          .pod("p", TORUS, Map.of("zone", "z"))
          .build()
          .place(running(LOW, 0, "p", "4x4x4", box("4x4x4", 0, 0, 0)))
          .place(
              running(MOVED, 0, "p", "4x4x4", box("4x4x4", 0, 4, 0)).toBuilder()
                  .restartTime(Duration.ofSeconds(7))
                  .build())
          .hold(new Hold("own", "p", box("4x4x4", 4, 4, 0), "new", NOW.plusSeconds(9)));

  private static Case base(PlanningRules.Builder rules) {
    return new Case(
        FLEET,
        List.of(NEW),
        rules.now(NOW).permitByDefault(Permission.ANY).build(),
        CostTerms.DEFAULT);
  }

  private static Plan plan(Case c) {
    return c.plan()
        .placement(all(NEW, 0, c.slice(NEW, 0, "p", "4x8x4", LEFT)))
        .eviction(new Eviction("low", FLEET.runningOf("low")))
        .move(
            new Move(
                FLEET.runningOf("moved").get(0),
                c.slice(MOVED, 0, "p", "4x4x4", box("4x4x4", 4, 0, 0))))
        .build();
  }

  private static final Plan PLAN = plan(base(PlanningRules.builder()));

  private static void conflicts(Plan plan, Fleet fleet, ConflictKind... kinds) {
    assertThatThrownBy(() -> plan.applyTo(fleet))
        .asInstanceOf(InstanceOfAssertFactories.type(StalePlanException.class))
        .satisfies(
            e -> {
              assertThat(e.conflicts())
                  .extracting(StalePlanException.Conflict::kind)
                  .containsExactlyInAnyOrder(kinds);
              assertThat(e).hasMessageContaining("Plan again");
            });
  }

  @Test
  void thePlanIsRight() {
    Case c = base(PlanningRules.builder());
    long lost = 64 * (600 + 3600) + 64 * (7 + 3600);
    c.accepts(
        c.plan()
            .placement(PLAN.placements().get(0))
            .eviction(PLAN.evictions().get(0))
            .move(PLAN.moves().get(0))
            .score(c.score(64, 128, lost))
            .build());
  }

  @Test
  void evictsMovesPlacesAndEndsHolds() {
    Fleet after = PLAN.applyTo(FLEET);
    assertThat(after.running())
        .extracting(s -> s.id().toString())
        .containsExactly("moved/0", "new/0");
    RunningSlice moved = after.running(new SliceId("moved", 0)).orElseThrow();
    assertThat(moved.footprint()).isEqualTo(box("4x4x4", 4, 0, 0));
    assertThat(moved.restartTime()).contains(Duration.ofSeconds(7));
    RunningSlice placed = after.running(new SliceId("new", 0)).orElseThrow();
    assertThat(placed.footprint()).isEqualTo(LEFT);
    assertThat(placed.startedAt()).contains(NOW);
    assertThat(placed.request()).isEqualTo(NEW);
    assertThat(after.holds()).isEmpty();
    assertThat(after.version()).isGreaterThan(FLEET.version());
    assertThat(FLEET.running()).hasSize(2);
  }

  @Test
  void startIsUnknownWhereTheTimeIs() {
    Case c = new Case(FLEET, List.of(), PlanningRules.NONE, CostTerms.DEFAULT);
    SliceRequest a = SliceRequest.builder("a").shape("4x4x4").build();
    Plan plan = c.plan().placement(c.one(a, "p", "4x4x4", box("4x4x4", 4, 0, 0))).build();
    assertThat(plan.applyTo(FLEET).running(new SliceId("a", 0)).orElseThrow().startedAt())
        .isEmpty();
  }

  @Test
  void aNewerFleetWillDoWhereNothingNeededHasChanged() {
    Fleet newer =
        FLEET.failHost("p", TORUS.hostOf(new Chip(4, 4, 3))).withPod("q", TORUS, Map.of());
    assertThat(PLAN.applyTo(newer).running()).hasSize(2);
  }

  @Test
  void namesPodsThatChanged() {
    Fleet other = Fleet.builder().pod("p", TpuTopology.torus(8, 8, 8)).build();
    conflicts(
        PLAN,
        other,
        ConflictKind.SLICE_CHANGED,
        ConflictKind.SLICE_CHANGED,
        ConflictKind.POD_CHANGED,
        ConflictKind.POD_CHANGED);
    conflicts(
        PLAN,
        Fleet.builder().build(),
        ConflictKind.SLICE_CHANGED,
        ConflictKind.SLICE_CHANGED,
        ConflictKind.POD_CHANGED);
    assertThatThrownBy(() -> PLAN.applyTo(Fleet.builder().build()))
        .hasMessageContaining("pod p, where moved/0 and new/0 were to go, is gone");
  }

  @Test
  void namesSlicesThatChanged() {
    conflicts(PLAN, FLEET.release("low"), ConflictKind.SLICE_CHANGED);
    Fleet elsewhere =
        FLEET
            .release("moved")
            .dropHold("own")
            .place(running(MOVED, 0, "p", "4x4x4", box("4x4x4", 4, 4, 0)));
    conflicts(PLAN, elsewhere, ConflictKind.SLICE_CHANGED);
    conflicts(
        PLAN,
        FLEET.leaving(new SliceId("low", 0), true),
        ConflictKind.SLICE_CHANGED,
        ConflictKind.CHIPS_TAKEN);
  }

  @Test
  void checkpointsMayBeNewer() {
    RunningSlice newer =
        FLEET.runningOf("low").get(0).toBuilder().checkpointAt(NOW).startedAt(NOW).build();
    assertThat(PLAN.applyTo(FLEET.release("low").place(newer)).running()).hasSize(2);
  }

  @Test
  void namesChipsTaken() {
    SliceRequest other = SliceRequest.builder("other").shape("2x2x1").build();
    conflicts(
        PLAN,
        FLEET.place(running(other, 0, "p", "2x2x1", box("2x2x1", 4, 0, 0))),
        ConflictKind.CHIPS_TAKEN);
  }

  @Test
  void namesChipsHeldUnlessTheHoldHasExpired() {
    Footprint at = box("2x2x1", 4, 0, 0);
    conflicts(
        PLAN,
        FLEET.hold(new Hold("h", "p", at, "other", NOW.plusSeconds(1))),
        ConflictKind.CHIPS_HELD);
    Fleet late = PLAN.applyTo(FLEET.hold(new Hold("h", "p", at, "other", NOW)));
    assertThat(late.holds()).isEmpty();
  }

  @Test
  void namesHealthAndCordons() {
    Part host = new Part.Host(new HostId(0));
    conflicts(PLAN, FLEET.fail("p", host), ConflictKind.HEALTH_CHANGED);
    assertThatThrownBy(() -> PLAN.applyTo(FLEET.fail("p", host)))
        .hasMessageContaining("4x8x4 at (0,0,0) of pod p, but host 0 has failed");
    conflicts(PLAN, FLEET.report("p", host, Health.DEGRADED), ConflictKind.HEALTH_CHANGED);
    conflicts(PLAN, FLEET.cordon("p", host), ConflictKind.CORDONED);
    conflicts(PLAN, FLEET.cordonPod("p"), ConflictKind.CORDONED, ConflictKind.CORDONED);
    Part under = new Part.Host(TORUS.hostOf(new Chip(4, 0, 0)));
    assertThat(PLAN.applyTo(FLEET.report("p", under, Health.DEGRADED)).running())
        .as("what moves there accepts degraded parts")
        .hasSize(2);
  }

  @Test
  void namesRequestsThatRunAlready() {
    Fleet started = FLEET.withPod("q", TORUS, Map.of()).place(running(NEW, 0, "q", "4x8x4", LEFT));
    conflicts(PLAN, started, ConflictKind.RUNS_ALREADY);
  }

  @Test
  void namesRulesThatNoLongerAllowIt() {
    Plan quota = plan(base(PlanningRules.builder().quota("u", 128)));
    assertThat(quota.applyTo(FLEET).running()).hasSize(2);
    SliceRequest more = SliceRequest.builder("more").shape("2x2x1").tenant("u").build();
    Fleet used =
        FLEET.place(
            running(more, 0, "p", "2x2x1", box("2x2x1", 4, 4, 0)).toBuilder()
                .leaving(true)
                .build());
    conflicts(quota, used, ConflictKind.RULE_BROKEN);
    Plan reserved =
        plan(
            base(
                PlanningRules.builder()
                    .reserve(new PlanningRules.Reserved("x", Map.of("zone", "z"), 64))));
    assertThat(reserved.applyTo(FLEET).running()).hasSize(2);
    Fleet less = FLEET.dropHold("own").failHost("p", new HostId(63));
    conflicts(reserved, less, ConflictKind.RULE_BROKEN);
  }

  @Test
  void listsEveryConflict() {
    SliceRequest other = SliceRequest.builder("other").shape("2x2x1").build();
    Fleet fleet =
        FLEET
            .place(running(other, 0, "p", "2x2x1", box("2x2x1", 4, 0, 0)))
            .fail("p", new Part.Host(new HostId(0)))
            .release("low");
    conflicts(
        PLAN,
        fleet,
        ConflictKind.SLICE_CHANGED,
        ConflictKind.CHIPS_TAKEN,
        ConflictKind.HEALTH_CHANGED);
  }

  @Test
  void plansAreEqualButForTimes() {
    Case c = base(PlanningRules.builder());
    Plan same = plan(c);
    assertThat(same).isEqualTo(PLAN).hasSameHashCodeAs(PLAN);
    Plan timed =
        c.plan()
            .placement(PLAN.placements().get(0))
            .eviction(PLAN.evictions().get(0))
            .move(PLAN.moves().get(0))
            .phase(new Phase("search", Duration.ofMillis(3), 1))
            .time(Duration.ofMillis(4))
            .build();
    assertThat(timed).isEqualTo(PLAN);
    assertThat(c.plan().build()).isNotEqualTo(PLAN);
    Certificate a =
        new Certificate(
            1,
            List.of(new Certificate.CellPrices("p", new long[] {1, 2})),
            List.of(),
            new long[] {3});
    Certificate b =
        new Certificate(
            1,
            List.of(new Certificate.CellPrices("p", new long[] {1, 2})),
            List.of(),
            new long[] {3});
    assertThat(a).isEqualTo(b).hasSameHashCodeAs(b);
    assertThat(a)
        .isNotEqualTo(new Certificate(1, a.cells(), List.of(), new long[] {4}))
        .isNotEqualTo(
            new Certificate(
                1,
                List.of(new Certificate.CellPrices("p", new long[] {1, 3})),
                List.of(),
                new long[] {3}));
  }
}
