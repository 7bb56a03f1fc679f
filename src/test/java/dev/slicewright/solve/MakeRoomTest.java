package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.PlanningRules.DisruptionBudget;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Making room for one slice against brute force, on tiny tori and meshes. */
class MakeRoomTest {

  private static final SolveBudget BUDGET = SolveBudget.within(Duration.ofSeconds(20));
  private static final String POD = "pod";

  private final SlicePlanner planner = SlicePlanner.builder().failOnRejectedPlan(true).build();

  /** A pod of single-chip hosts, filled at random, some hosts failed. */
  private static Fleet fleet(SplittableRandom random) {
    boolean flat = random.nextBoolean();
    TpuTopology.Builder b =
        flat
            ? TpuTopology.torusBuilder(3 + random.nextInt(2), 4)
            : TpuTopology.torusBuilder(2, 2 + random.nextInt(2), 3);
    b.hostTile(flat ? Shape.of(1, 1) : Shape.of(1, 1, 1));
    TpuTopology t = b.build();
    Fleet fleet = Fleet.builder().pod(POD, t).build();
    if (random.nextInt(3) == 0) {
      fleet = fleet.failHost(POD, new HostId(random.nextInt(t.hostCount())));
    }
    for (int i = 0; i < 12; i++) {
      Shape shape = shape(flat, random, 4);
      List<Footprint> free = new ArrayList<>();
      for (Footprint f : RandomFleets.footprints(t, shape)) {
        if (isFree(fleet, t, f)) {
          free.add(f);
        }
      }
      if (!free.isEmpty()) {
        SliceRequest request = SliceRequest.builder("r" + i).shape(shape).build();
        Footprint at = free.get(random.nextInt(free.size()));
        fleet = fleet.place(RunningSlice.builder(request, 0, POD, shape, at).build());
      }
    }
    List<String> ids = fleet.running().stream().map(s -> s.request().id()).toList();
    for (String id : ids) {
      if (random.nextInt(3) == 0) {
        fleet = fleet.release(id);
      }
    }
    return fleet;
  }

  private static Shape shape(boolean flat, SplittableRandom random, int most) {
    while (true) {
      int a = 1 + random.nextInt(3);
      int b = 1 + random.nextInt(3);
      int c = flat ? 1 : 1 + random.nextInt(3);
      if (a * b * c <= most && a * b * c > 1) {
        return flat ? Shape.of(a, b) : Shape.of(a, b, c);
      }
    }
  }

  private static boolean isFree(Fleet fleet, TpuTopology t, Footprint f) {
    Pod pod = fleet.pod(POD).orElseThrow();
    for (int cell : t.cells(f)) {
      if (pod.busy().contains(cell) || pod.health().failedCells().contains(cell)) {
        return false;
      }
    }
    return true;
  }

  private static BitSet bits(TpuTopology t, Footprint f) {
    BitSet bits = new BitSet();
    for (int cell : t.cells(f)) {
      bits.set(cell);
    }
    return bits;
  }

  /** Whether so few moves make room, by trying every set of slices and every place. */
  private static boolean canMake(Fleet fleet, Shape shape, int moves, List<String> pinned) {
    Pod pod = fleet.pod(POD).orElseThrow();
    TpuTopology t = pod.topology();
    List<RunningSlice> movable = new ArrayList<>();
    for (RunningSlice s : pod.running()) {
      if (!pinned.contains(s.request().id())) {
        movable.add(s);
      }
    }
    BitSet taken = new BitSet();
    for (int cell = 0; cell < t.cellCount(); cell++) {
      taken.set(cell, pod.busy().contains(cell) || pod.health().failedCells().contains(cell));
    }
    for (int i = -1; i < movable.size(); i++) {
      for (int j = -1; j < Math.max(i, 0); j++) {
        List<RunningSlice> lifted = new ArrayList<>();
        BitSet left = (BitSet) taken.clone();
        for (int k : new int[] {i, j}) {
          if (k >= 0) {
            lifted.add(movable.get(k));
            left.andNot(bits(t, movable.get(k).footprint()));
          }
        }
        List<Shape> shapes = new ArrayList<>(List.of(shape));
        lifted.forEach(s -> shapes.add(s.shape()));
        if (lifted.size() <= moves && pack(t, shapes, 0, left)) {
          return true;
        }
      }
    }
    return false;
  }

  private static boolean pack(TpuTopology t, List<Shape> shapes, int from, BitSet taken) {
    if (from == shapes.size()) {
      return true;
    }
    for (Footprint f : RandomFleets.footprints(t, shapes.get(from))) {
      BitSet own = bits(t, f);
      if (!own.intersects(taken)) {
        BitSet next = (BitSet) taken.clone();
        next.or(own);
        if (pack(t, shapes, from + 1, next)) {
          return true;
        }
      }
    }
    return false;
  }

  @Test
  void findsAWayIfAndOnlyIfThereIsOne() {
    int made = 0;
    int chained = 0;
    int none = 0;
    for (int seed = 0; seed < 400; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      Fleet fleet = fleet(random);
      boolean flat = fleet.pod(POD).orElseThrow().topology().dims().rank() == 2;
      Shape shape = shape(flat, random, 6);
      PlanningRules.Builder b =
          PlanningRules.builder().now(RandomFleets.NOW).permitByDefault(Permission.MOVABLE);
      List<String> pinned = new ArrayList<>();
      for (RunningSlice s : fleet.running()) {
        if (random.nextInt(5) == 0) {
          pinned.add(s.request().id());
          b.permit(s.request().id(), Permission.PINNED);
        }
      }
      PlanningRules rules = b.build();
      SliceRequest wanted = SliceRequest.builder("wanted").shape(shape).build();
      if (!fleet.pod(POD).orElseThrow().topology().isLegal(shape)) {
        continue;
      }
      for (int moves = 0; moves <= 2; moves++) {
        Plan plan = planner.makeRoom(fleet, wanted, moves, rules, BUDGET);
        assertThat(PlanVerifier.verify(fleet, List.of(wanted), rules, CostTerms.DEFAULT, plan))
            .isEmpty();
        assertThat(plan.moves()).hasSizeLessThanOrEqualTo(moves);
        boolean placed = plan.placement("wanted").isPresent();
        assertThat(placed)
            .as("seed %d, %s with %d moves on %s", seed, shape, moves, fleet)
            .isEqualTo(canMake(fleet, shape, moves, pinned));
        if (placed) {
          plan.applyTo(fleet);
        } else {
          assertThat(plan.moves()).isEmpty();
        }
        made += placed && !plan.moves().isEmpty() ? 1 : 0;
        chained += placed && plan.moves().size() == 2 ? 1 : 0;
        none += placed ? 0 : 1;
      }
    }
    assertThat(made).isGreaterThan(20);
    assertThat(chained).isGreaterThan(5);
    assertThat(none).isGreaterThan(20);
  }

  /** A mesh of one row: 2 free, 1 busy, 2 free; a slice of 4 needs the one moved to an end. */
  @Test
  void keepsToTheDisruptionBudget() {
    TpuTopology t =
        TpuTopology.torusBuilder(5, 1).hostTile(Shape.of(1, 1)).wrap(Axis.X, false).build();
    SliceRequest old = SliceRequest.builder("old").shape(Shape.of(1, 1)).build();
    Fleet fleet =
        Fleet.builder()
            .pod(POD, t)
            .running(
                RunningSlice.builder(
                        old,
                        0,
                        POD,
                        Shape.of(1, 1),
                        new Footprint.Box(new Chip(2, 0, 0), Shape.of(1, 1)))
                    .build())
            .build();
    SliceRequest wanted = SliceRequest.builder("wanted").shape(Shape.of(4, 1)).build();
    PlanningRules rules =
        PlanningRules.builder()
            .now(RandomFleets.NOW)
            .permitByDefault(Permission.MOVABLE)
            .disruption(new DisruptionBudget(5, 4_199, 5))
            .build();

    // Restart and age unknown: 600 and 3,600 s of one chip.
    assertThat(planner.makeRoom(fleet, wanted, 2, rules, BUDGET).placements()).isEmpty();
    PlanningRules enough = rules.toBuilder().disruption(new DisruptionBudget(5, 4_200, 5)).build();
    Plan plan = planner.makeRoom(fleet, wanted, 2, enough, BUDGET);
    assertThat(plan.placements()).hasSize(1);
    assertThat(plan.moves()).hasSize(1);
    assertThat(planner.makeRoom(fleet, wanted, 2, PlanningRules.NONE, BUDGET).placements())
        .isEmpty();
  }

  @Test
  void tidyingLeavesMoreRoomOrNothing() {
    TpuTopology t = TpuTopology.torusBuilder(8, 8, 8).hostTile(Shape.of(1, 1, 1)).build();
    PlanningRules rules =
        PlanningRules.builder().now(RandomFleets.NOW).permitByDefault(Permission.MOVABLE).build();
    int moved = 0;
    for (int seed = 0; seed < 12; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      Fleet fleet = Fleet.builder().pod(POD, t).build();
      for (int i = 0; i < 10; i++) {
        Footprint.Box box =
            new Footprint.Box(t.chip(random.nextInt(t.chipCount())), Shape.of(2, 2, 2));
        if (isFree(fleet, t, box)) {
          SliceRequest request = SliceRequest.builder("r" + i).shape(Shape.of(2, 2, 2)).build();
          fleet =
              fleet.place(RunningSlice.builder(request, 0, POD, Shape.of(2, 2, 2), box).build());
        }
      }
      Plan plan = planner.tidy(fleet, 2, rules, BUDGET);
      assertThat(PlanVerifier.verify(fleet, List.of(), rules, CostTerms.DEFAULT, plan)).isEmpty();
      assertThat(plan.moves()).hasSizeLessThanOrEqualTo(2);
      assertThat(plan.applyTo(fleet).running()).hasSameSizeAs(fleet.running());
      assertThat(planner.tidy(fleet, 2, rules, BUDGET).moves()).isEqualTo(plan.moves());
      moved += plan.moves().size();
      assertThat(planner.tidy(fleet, 2, PlanningRules.NONE, BUDGET).moves()).isEmpty();
    }
    assertThat(moved).isPositive();
    Fleet empty = Fleet.builder().pod(POD, t).build();
    assertThat(planner.tidy(empty, 2, rules, BUDGET).moves()).isEmpty();
  }

  @Test
  void takesTwoMovesOfNestedPartitionsToo() {
    TpuTopology t = TpuTopology.v6e();
    Fleet fleet = Fleet.builder().pod(POD, t).build();
    List<Footprint> halves = RandomFleets.footprints(t, Shape.of(8, 8));
    for (int i = 0; i < halves.size(); i++) {
      Shape small = Shape.of(4, 4);
      BitSet half = bits(t, halves.get(i));
      for (Footprint f : RandomFleets.footprints(t, small)) {
        BitSet own = bits(t, f);
        BitSet both = (BitSet) own.clone();
        both.and(half);
        if (both.equals(own)) {
          SliceRequest request = SliceRequest.builder("r" + i).shape(small).build();
          fleet = fleet.place(RunningSlice.builder(request, 0, POD, small, f).build());
          break;
        }
      }
    }
    SliceRequest wanted = SliceRequest.builder("wanted").shape(Shape.of(8, 8)).build();
    PlanningRules rules =
        PlanningRules.builder().now(RandomFleets.NOW).permitByDefault(Permission.MOVABLE).build();

    assertThat(planner.makeRoom(fleet, wanted, 0, rules, BUDGET).placements()).isEmpty();
    Plan plan = planner.makeRoom(fleet, wanted, 1, rules, BUDGET);

    assertThat(plan.placements()).hasSize(1);
    assertThat(plan.moves()).hasSize(1);
  }

  @Test
  void refusesMovesOutOfRange() {
    Fleet fleet = Fleet.builder().pod(POD, TpuTopology.v6e()).build();
    assertThatThrownBy(() -> planner.tidy(fleet, 9, PlanningRules.NONE, BUDGET))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("expected 0 to 8, but was 9");
  }

  @Test
  void roomGoalsDoNotStandInTheWay() {
    for (long seed = 0; seed < 8; seed++) {
      Fleet fleet = fleet(new SplittableRandom(seed));
      TpuTopology t = fleet.pod(POD).orElseThrow().topology();
      PlanningRules rules =
          PlanningRules.builder()
              .permitByDefault(Permission.MOVABLE)
              .room(SliceRequest.builder("later").shape(t.legalShapes().get(0)).build(), 2)
              .build();
      for (Shape shape : t.legalShapes()) {
        List<SliceRequest> wanted = List.of(SliceRequest.builder("wanted").shape(shape).build());
        Plan plan = planner.makeRoom(fleet, wanted.get(0), 2, rules, BUDGET);
        assertThat(PlanVerifier.verify(fleet, wanted, rules, CostTerms.DEFAULT, plan)).isEmpty();
      }
      Plan tidied = planner.tidy(fleet, 2, rules, BUDGET);
      assertThat(PlanVerifier.verify(fleet, List.of(), rules, CostTerms.DEFAULT, tidied)).isEmpty();
    }
  }
}
