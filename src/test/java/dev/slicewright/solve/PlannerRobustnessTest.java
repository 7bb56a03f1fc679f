package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.CancelToken;
import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Reason;
import dev.slicewright.plan.StopReason;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomFleets.Instance;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;

/** Bad input, extremes, deadlines, cancellation and repetition. */
class PlannerRobustnessTest {

  private static final Duration SANE = Duration.ofSeconds(5);

  private static Fleet torus(int x, int y) {
    return Fleet.builder().pod("pod", TpuTopology.torus(x, y)).build();
  }

  private static SliceRequest.Builder want(String id) {
    return SliceRequest.builder(id);
  }

  private static Plan plan(Fleet fleet, List<SliceRequest> requests, long millis) {
    Plan plan =
        SlicePlanner.builder()
            .failOnRejectedPlan(true)
            .build()
            .plan(fleet, requests, SolveBudget.within(Duration.ofMillis(millis)));
    assertThat(
            PlanVerifier.verify(
                fleet, requests, PlanningRules.NONE, dev.slicewright.cost.CostTerms.DEFAULT, plan))
        .isEmpty();
    return plan;
  }

  // ---------------------------------------------------------------- input

  @Test
  void badInputIsListedWhole() {
    Fleet fleet = torus(4, 4);
    SliceRequest runs = want("runs").shape("2x2").build();
    fleet =
        fleet.place(
            RunningSlice.builder(
                    runs,
                    0,
                    "pod",
                    Shape.of(2, 2),
                    RandomFleets.footprints(TpuTopology.torus(4, 4), Shape.of(2, 2)).get(0))
                .build());
    List<SliceRequest> requests = new ArrayList<>();
    requests.add(want("twice").shape("2x2").build());
    requests.add(null);
    requests.add(want("twice").shape("2x4").build());
    requests.add(runs);
    for (int i = 0; i < 11; i++) {
      requests.add(want("many" + i).shape("2x2").slices(SliceRequest.MAX_SLICES).build());
    }
    Fleet now = fleet;
    SlicePlanner planner = SlicePlanner.create();
    SolveBudget budget = SolveBudget.within(Duration.ofMillis(50));
    assertThatThrownBy(() -> planner.plan(now, requests, budget))
        .isInstanceOfSatisfying(
            InvalidInputException.class,
            e ->
                assertThat(e.problems())
                    .extracting(p -> p.path())
                    .containsExactlyInAnyOrder(
                        "requests[1]", "requests[2].id", "requests[3].id", "requests"));
    assertThatThrownBy(() -> planner.submit(now, requests, PlanningRules.NONE, budget).join())
        .isInstanceOf(InvalidInputException.class);
  }

  @Test
  void nothingToDoIsOptimal() {
    Fleet none = Fleet.builder().build();
    assertThat(plan(none, List.of(), 50).stopped()).isEqualTo(StopReason.OPTIMAL);
    assertThat(plan(torus(4, 4), List.of(), 50).stopped()).isEqualTo(StopReason.OPTIMAL);
    Plan empty = plan(none, List.of(want("a").shape("2x2").build()), 50);
    assertThat(empty.unplaced()).hasSize(1);
    assertThat(empty.unplaced().get(0).reason()).isEqualTo(Reason.NO_POD_MATCHES);
    assertThat(empty.unplaced().get(0).never()).isTrue();
  }

  @Test
  void prioritiesMayBeExtreme() {
    List<SliceRequest> requests =
        List.of(
            want("least").shape("4x4").priority(Long.MIN_VALUE).build(),
            want("most").shape("2x4").priority(Long.MAX_VALUE).build(),
            want("zero").shape("2x2").build());
    Plan plan = plan(torus(4, 4), requests, 2_000);
    assertThat(plan.score().isOptimal()).isTrue();
    assertThat(plan.placement("most")).isPresent();
    assertThat(plan.placement("zero")).isPresent();
    assertThat(plan.placement("least")).isEmpty();
  }

  @Test
  void hugeRequestsOnSmallPodsComeBack() {
    List<SliceRequest> requests = new ArrayList<>();
    for (Spread spread :
        List.of(Spread.any(), Spread.samePod(), Spread.differentPods(), Spread.atMost(3, "zone"))) {
      requests.add(
          want("huge-" + spread.kind())
              .shape("2x2")
              .slices(SliceRequest.MAX_SLICES)
              .spread(spread)
              .build());
    }
    long before = System.nanoTime();
    Plan plan = plan(torus(16, 16), requests, 300);
    assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(SANE);
    assertThat(plan.unplaced()).hasSize(4).allMatch(u -> u.never());
    assertThat(plan.score().isOptimal()).isTrue();
  }

  @Test
  void hugeGangsComeBack() {
    List<SliceRequest> requests = new ArrayList<>();
    for (int i = 0; i < 5_000; i++) {
      requests.add(want("member-" + i).shape("2x2").gang("all").build());
    }
    requests.add(want("other").shape("2x2").build());
    long before = System.nanoTime();
    Plan plan = plan(torus(16, 16), requests, 3_000);
    assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(SANE);
    assertThat(plan.placement("other")).isPresent();
    assertThat(plan.unplaced()).hasSize(5_000);
  }

  @Test
  void manyRequestsOnManyPodsComeBack() {
    Fleet.Builder b = Fleet.builder();
    for (int p = 0; p < 16; p++) {
      b.pod("pod-" + p, TpuTopology.v6e());
    }
    List<SliceRequest> requests = new ArrayList<>();
    for (int i = 0; i < 10_000; i++) {
      requests.add(want("r" + i).shape(i % 3 == 0 ? "2x2" : "2x4").priority(i % 7).build());
    }
    long before = System.nanoTime();
    Plan plan = plan(b.build(), requests, 5_000);
    assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(SANE.multipliedBy(2));
    assertThat(plan.placements()).isNotEmpty();
  }

  @Test
  void whatRunsOnFailedPartsIsReported() {
    Fleet fleet = torus(4, 4);
    TpuTopology t = TpuTopology.torus(4, 4);
    Footprint where = RandomFleets.footprints(t, Shape.of(2, 2)).get(0);
    SliceRequest runs = want("runs").shape("2x2").build();
    fleet = fleet.place(RunningSlice.builder(runs, 0, "pod", Shape.of(2, 2), where).build());
    fleet = fleet.failHost("pod", t.hostOfCell(t.cells(where)[0]));
    Plan plan = plan(fleet, List.of(want("a").shape("4x4").build()), 500);
    assertThat(plan.broken()).hasSize(1);
    assertThat(plan.broken().get(0).reason()).isEqualTo(Reason.PINNED);
    assertThat(plan.score().isOptimal()).isTrue();
  }

  // ---------------------------------------------------------------- time

  private static Instance instance(long seed) {
    return RandomFleets.instance(seed, RandomFleets.Limits.DEFAULT.requests(6).running(4));
  }

  private static Plan plan(Instance i, SolveBudget budget) {
    Plan plan =
        SlicePlanner.builder()
            .cost(i.cost())
            .failOnRejectedPlan(true)
            .build()
            .plan(i.fleet(), i.requests(), i.rules(), budget);
    assertThat(PlanVerifier.verify(i.fleet(), i.requests(), i.rules(), i.cost(), plan)).isEmpty();
    return plan;
  }

  @Test
  void tinyDeadlinesGiveVerifiedPlans() {
    for (long seed = 0; seed < 200; seed++) {
      long millis = List.of(1L, 5L, 20L).get((int) (seed % 3));
      long before = System.nanoTime();
      Plan plan = plan(instance(seed), SolveBudget.within(Duration.ofMillis(millis)));
      assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(SANE);
      assertThat(plan.stopped())
          .isIn(StopReason.OPTIMAL, StopReason.DEADLINE, StopReason.LIMIT, StopReason.EXHAUSTED);
    }
  }

  /** A problem that takes its time. */
  private static List<SliceRequest> hard() {
    List<SliceRequest> requests = new ArrayList<>();
    for (int i = 0; i < 60; i++) {
      requests.add(
          want("r" + i).shape(List.of("6x4", "2x10", "8x6", "4x4", "2x6").get(i % 5)).build());
    }
    return requests;
  }

  @Test
  void cancellingIsAResult() {
    SolveBudget budget =
        SolveBudget.builder().deadline(Duration.ofSeconds(60)).mode(SolveBudget.Mode.FAST).build();
    CancelToken early = new CancelToken();
    early.cancel();
    SlicePlanner planner = SlicePlanner.builder().failOnRejectedPlan(true).build();
    Plan nothing = planner.plan(torus(30, 30), hard(), PlanningRules.NONE, budget, early, p -> {});
    assertThat(nothing.stopped()).isEqualTo(StopReason.CANCELLED);
    assertThat(nothing.unplaced()).hasSize(60).allMatch(u -> u.reason() == Reason.CANCELLED);

    CancelToken later = new CancelToken();
    CompletableFuture<Plan> first = new CompletableFuture<>();
    Thread canceller =
        new Thread(
            () -> {
              first.join();
              later.cancel();
            });
    canceller.start();
    Plan some =
        planner.plan(torus(30, 30), hard(), PlanningRules.NONE, budget, later, first::complete);
    assertThat(some.stopped()).isIn(StopReason.CANCELLED, StopReason.OPTIMAL);
    assertThat(some.placements()).isNotEmpty();
    assertThat(some.time()).isLessThan(Duration.ofSeconds(30));

    PlanHandle handle = planner.submit(torus(30, 30), hard(), PlanningRules.NONE, budget);
    handle.cancel();
    assertThat(handle.join().stopped()).isIn(StopReason.CANCELLED, StopReason.OPTIMAL);
    assertThat(handle.best()).contains(handle.join());
  }

  @Test
  void anInterruptKeepsItsFlag() {
    Instance i = TinyProblems.of(1, EnumSet.allOf(RandomFleets.Kind.class));
    Thread.currentThread().interrupt();
    try {
      plan(i, SolveBudget.within(Duration.ofMillis(200)));
      assertThat(Thread.currentThread().isInterrupted()).isTrue();
    } finally {
      assertThat(Thread.interrupted()).isTrue();
    }
  }

  @Test
  void listenersSeeVerifiedImprovingPlans() {
    List<Plan> seen = new CopyOnWriteArrayList<>();
    Plan last =
        SlicePlanner.create()
            .plan(
                torus(30, 30),
                hard(),
                PlanningRules.NONE,
                SolveBudget.within(Duration.ofMillis(400)),
                new CancelToken(),
                plan -> {
                  seen.add(plan);
                  throw new IllegalStateException("listeners may fail");
                });
    for (int p = 0; p < seen.size(); p++) {
      assertThat(
              PlanVerifier.verify(
                  torus(30, 30),
                  hard(),
                  PlanningRules.NONE,
                  dev.slicewright.cost.CostTerms.DEFAULT,
                  seen.get(p)))
          .isEmpty();
      Plan next = p + 1 < seen.size() ? seen.get(p + 1) : last;
      int better = next.score().compareValues(seen.get(p).score());
      assertThat(better).isGreaterThanOrEqualTo(p + 1 < seen.size() ? 1 : 0);
    }
  }

  // ---------------------------------------------------------------- repetition

  /** All of a plan but its times. */
  private static String text(Plan plan) {
    return plan.placements()
        + " "
        + plan.moves()
        + plan.evictions()
        + plan.unplaced()
        + plan.broken()
        + plan.score()
        + plan.stopped()
        + plan.engines()
        + plan.notes();
  }

  @Test
  void equalInputsGiveEqualPlans() {
    for (long seed = 300; seed < 360; seed++) {
      Instance i = instance(seed);
      SolveBudget budget =
          SolveBudget.within(Duration.ofSeconds(20)).toBuilder().seed(seed).build();
      String first = text(plan(i, budget));
      assertThat(text(plan(instance(seed), budget))).as("seed %s", seed).isEqualTo(first);
    }
  }

  @Test
  void allModesAgreeWhereProved() {
    for (long seed = 400; seed < 440; seed++) {
      Instance i = instance(seed);
      SolveBudget.Builder b = SolveBudget.builder().deadline(Duration.ofSeconds(20));
      Plan one = plan(i, b.build());
      for (SolveBudget.Mode mode :
          List.of(SolveBudget.Mode.FAST, SolveBudget.Mode.REPRODUCIBLE_PARALLEL)) {
        Plan two = plan(i, b.mode(mode).workers(2).deadline(Duration.ofMillis(1_000)).build());
        if (one.score().isOptimal() && two.score().isOptimal()) {
          assertThat(two.score().values()).as("seed %s", seed).isEqualTo(one.score().values());
        }
      }
    }
  }

  @Test
  void withoutFormulationsPlansSayWhatTheyAre() {
    int open = 0;
    for (long seed = 0; seed < 60; seed++) {
      Instance i = instance(seed);
      Plan plan =
          SlicePlanner.builder()
              .cost(i.cost())
              .formulations(List.of())
              .failOnRejectedPlan(true)
              .build()
              .plan(i.fleet(), i.requests(), i.rules(), SolveBudget.within(Duration.ofMillis(30)));
      assertThat(plan.engines()).isSubsetOf("search", "displacement");
      open += plan.score().isOptimal() ? 0 : 1;
    }
    assertThat(open).isLessThan(50);
  }
}
