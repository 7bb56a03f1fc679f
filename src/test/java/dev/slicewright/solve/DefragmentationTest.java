package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.Rollout;
import dev.slicewright.plan.Score;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.PlanningRules.DisruptionBudget;
import dev.slicewright.request.RoomGoal;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.testing.RandomFleets.Instance;
import dev.slicewright.testing.RolloutChecks;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Room made by moves. */
class DefragmentationTest {

  private static final Instant NOW = Instant.parse("2026-11-30T12:00:00Z");
  private static final SolveBudget BUDGET = SolveBudget.within(Duration.ofSeconds(2));
  private static final PlanningRules MOVABLE =
      PlanningRules.builder().now(NOW).permitByDefault(Permission.MOVABLE).build();
  private final SlicePlanner planner =
      SlicePlanner.builder().formulations(List.of()).failOnRejectedPlan(true).build();

  private static RoomGoal goal(String shape) {
    return new RoomGoal(SliceRequest.builder("room").shape(shape).build(), 1, 0);
  }

  private static RunningSlice box(int number, int age, Shape extents, int x, int y, int z) {
    SliceRequest request =
        SliceRequest.builder("run-" + number).shape(extents).tenant("t" + number % 3).build();
    return RunningSlice.builder(
            request, 0, "pod", extents, new Footprint.Box(new Chip(x, y, z), extents))
        .startedAt(NOW.minusSeconds(age))
        .restartTime(Duration.ofSeconds(60))
        .build();
  }

  /** A torus of 8x8x4 chips with boxes thrown in at random. */
  private static Fleet scattered(long seed, int boxes) {
    SplittableRandom random = new SplittableRandom(seed);
    TpuTopology t = TpuTopology.torusBuilder(8, 8, 4).hostTile(Shape.of(2, 2, 1)).build();
    Fleet.Builder fleet = Fleet.builder().pod("pod", t);
    boolean[] busy = new boolean[t.cellCount()];
    int number = 0;
    for (int tries = 0; tries < 200 && number < boxes; tries++) {
      Shape e =
          List.of(Shape.of(2, 2, 1), Shape.of(2, 2, 2), Shape.of(2, 4, 2), Shape.of(4, 4, 2))
              .get(random.nextInt(4));
      int x = 2 * random.nextInt(4);
      int y = 2 * random.nextInt(4);
      int z = random.nextInt(4);
      int[] cells = t.cells(new Footprint.Box(new Chip(x, y, z), e));
      boolean free = true;
      for (int cell : cells) {
        free &= !busy[cell];
      }
      if (free) {
        for (int cell : cells) {
          busy[cell] = true;
        }
        fleet.running(box(number++, 60 + random.nextInt(90_000), e, x, y, z));
      }
    }
    return fleet.build();
  }

  private static void check(Fleet fleet, Defragmentation d, long seed) {
    assertThat(PlanVerifier.verify(fleet, List.of(), d.rules(), CostTerms.DEFAULT, d.plan()))
        .isEmpty();
    RolloutChecks.check(Rollout.of(fleet, d.plan()), seed);
  }

  private static LevelScore lost(Plan plan) {
    return plan.score().levels().stream()
        .filter(l -> l.level().kind() == Level.Kind.DISRUPTION)
        .findFirst()
        .orElseThrow();
  }

  @Test
  void searchedPlansAreTheBestThatCpSatFinds() {
    SlicePlanner both = SlicePlanner.builder().failOnRejectedPlan(true).build();
    int searched = 0;
    for (long seed = 0; seed < 6; seed++) {
      Fleet fleet = scattered(seed, 14);
      Defragmentation d = planner.defragment(fleet, List.of(goal("4x8x4")), MOVABLE, BUDGET);
      check(fleet, d, seed);
      if (d.gained() == 0) {
        continue;
      }
      Level disruption = lost(d.plan()).level();
      searched += lost(d.plan()).proof() instanceof Proof.Searched ? 1 : 0;
      // The same problem with two goals in one is not searched: there CP-SAT decides.
      PlanningRules rules =
          MOVABLE.toBuilder()
              .room(goal("4x8x4"))
              .room(new RoomGoal(SliceRequest.builder("never").shape("8x8x4").build(), 1, 1))
              .build();
      Plan other = both.plan(fleet, List.of(), rules, SolveBudget.within(Duration.ofSeconds(10)));
      LevelScore theirs = lost(other);
      assertThat(lost(d.plan()).bound()).as("seed %d", seed).isLessThanOrEqualTo(theirs.value());
      assertThat(theirs.level()).isEqualTo(disruption);
      if (theirs.isProved()) {
        assertThat(theirs.bound()).isLessThanOrEqualTo(lost(d.plan()).value());
      }
    }
    assertThat(searched).isPositive();
  }

  @Test
  void aSearchIsCheckedAnew() {
    for (long seed = 0; seed < 40; seed++) {
      Fleet fleet = scattered(seed, 14);
      Defragmentation d = planner.defragment(fleet, List.of(goal("4x8x4")), MOVABLE, BUDGET);
      if (d.gained() > 0 && lost(d.plan()).proof() instanceof Proof.Searched proof) {
        int at = d.plan().score().levels().indexOf(lost(d.plan()));
        LevelScore was = lost(d.plan());
        List<LevelScore> levels = new ArrayList<>(d.plan().score().levels());
        // Another plan's value is worse: a bound between is not proved by a search that finds this.
        levels.set(at, new LevelScore(was.level(), was.value(), was.bound() + 1, proof, null));
        Plan wrong = d.plan().toBuilder().score(new Score(levels)).build();
        assertThat(PlanVerifier.verify(fleet, List.of(), d.rules(), CostTerms.DEFAULT, wrong))
            .anyMatch(v -> v.path().equals("score.levels[" + at + "].proof"));
        return;
      }
    }
    throw new AssertionError("no plan with a search");
  }

  @ParameterizedTest
  @EnumSource
  void mixesAgreeWithAllPlansEnumerated(PlannerPropertiesTest.Kinds kinds) {
    int enumerated = 0;
    for (long seed = 0; seed < 14; seed++) {
      Instance of = GoalProblems.of(90_000 + 1_000 * kinds.ordinal() + seed, kinds.kinds);
      if (of.rules().rooms().isEmpty()) {
        continue;
      }
      PlanningRules.Builder b =
          PlanningRules.builder().now(of.rules().now()).permitByDefault(Permission.MOVABLE);
      PlanningRules rules = b.build();
      of.rules().rooms().forEach(b::room);
      Instance i =
          new Instance(of.seed(), of.limits(), of.fleet(), List.of(), b.build(), CostTerms.DEFAULT);
      long[] best;
      try {
        best = new PlannerBruteForce(i, 60_000).solve();
      } catch (PlannerBruteForce.TooLarge e) {
        continue;
      }
      enumerated++;
      Defragmentation d =
          planner.defragment(
              of.fleet(), of.rules().rooms(), rules, SolveBudget.within(Duration.ofMillis(90)));
      check(of.fleet(), d, seed);
      Plan plan =
          planner.plan(of.fleet(), List.of(), i.rules(), SolveBudget.within(Duration.ofMillis(60)));
      for (int l = 0; l < best.length; l++) {
        LevelScore level = plan.score().levels().get(l);
        long sign = level.level().kind().maximise() ? 1 : -1;
        assertThat(sign * level.value())
            .as("%s seed %d", level, seed)
            .isLessThanOrEqualTo(sign * best[l]);
        assertThat(sign * level.bound())
            .as("%s seed %d", level, seed)
            .isGreaterThanOrEqualTo(sign * best[l]);
        // Where something is broken, to move it comes before room.
        if (level.level().kind() == Level.Kind.ROOM && of.fleet().totals().broken() == 0) {
          assertThat(d.after()).isLessThanOrEqualTo(best[l]);
          assertThat(d.before()).isLessThanOrEqualTo(d.after());
        }
        if (level.value() != best[l]) {
          break;
        }
      }
    }
    assertThat(enumerated).isGreaterThan(5);
  }

  @Test
  void roomThatIsThereCostsNothing() {
    Fleet fleet = scattered(1, 2);
    Defragmentation d = planner.defragment(fleet, List.of(goal("2x2x1")), MOVABLE, BUDGET);
    check(fleet, d, 1);
    assertThat(d.nothingWorthMoving()).hasValueSatisfying(s -> assertThat(s).contains("already"));
    assertThat(d.plan().moves()).isEmpty();
    assertThat(d.plan().room()).hasSize(1);
    assertThat(d.plan().score().isOptimal()).isTrue();
    assertThat(d.gained()).isZero();
    assertThat(d.gainPerChipHour()).isZero();
  }

  /** Four slices in the way, one in each quarter. */
  private static Fleet quarters() {
    Fleet.Builder fleet =
        Fleet.builder()
            .pod("pod", TpuTopology.torusBuilder(8, 8, 4).hostTile(Shape.of(2, 2, 1)).build());
    int[][] at = {{0, 0, 0}, {4, 0, 0}, {0, 4, 0}, {4, 4, 0}};
    for (int i = 0; i < 4; i++) {
      fleet.running(box(i, 3_540 * (i + 1), Shape.of(2, 2, 1), at[i][0], at[i][1], at[i][2]));
    }
    return fleet.build();
  }

  @Test
  void whatIsGainedAndLost() {
    Fleet fleet = quarters();
    Defragmentation d = planner.defragment(fleet, List.of(goal("4x8x4")), MOVABLE, BUDGET);
    check(fleet, d, 2);
    assertThat(d.nothingWorthMoving()).isEqualTo(Optional.empty());
    assertThat(d.gained()).isEqualTo(128);
    assertThat(d.slices()).isEqualTo(d.plan().moves().size());
    assertThat(d.chipSeconds()).isEqualTo(lost(d.plan()).value());
    assertThat(lost(d.plan()).isProved()).isTrue();
    assertThat(d.gainPerChipHour()).isEqualTo(128 / (d.chipSeconds() / 3_600.0));
    Defragmentation dear =
        planner.defragment(
            fleet, List.of(goal("4x8x4")), MOVABLE, BUDGET, d.gainPerChipHour() * 1.01);
    check(fleet, dear, 3);
    assertThat(dear.plan().moves()).isEmpty();
    assertThat(dear.nothingWorthMoving())
        .hasValueSatisfying(s -> assertThat(s).contains("less than"));
    assertThat(
            planner
                .defragment(
                    fleet, List.of(goal("4x8x4")), MOVABLE, BUDGET, d.gainPerChipHour() * 0.99)
                .gained())
        .isEqualTo(128);
  }

  @Test
  void budgetsAndPinsBind() {
    Fleet fleet = quarters();
    for (DisruptionBudget none :
        List.of(
            new DisruptionBudget(0, Long.MAX_VALUE, Long.MAX_VALUE),
            new DisruptionBudget(Long.MAX_VALUE, 0, Long.MAX_VALUE),
            new DisruptionBudget(Long.MAX_VALUE, Long.MAX_VALUE, 0))) {
      Defragmentation d =
          planner.defragment(
              fleet, List.of(goal("4x8x4")), MOVABLE.toBuilder().disruption(none).build(), BUDGET);
      check(fleet, d, 4);
      assertThat(d.plan().moves()).isEmpty();
      assertThat(d.nothingWorthMoving()).isPresent();
    }
    Defragmentation pinned =
        planner.defragment(
            fleet, List.of(goal("4x8x4")), PlanningRules.builder().now(NOW).build(), BUDGET);
    check(fleet, pinned, 5);
    assertThat(pinned.nothingWorthMoving())
        .hasValueSatisfying(s -> assertThat(s).contains("No moves that the rules allow"));
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 5})
  void shortDeadlinesAreHonest(long millis) {
    for (long seed = 0; seed < 10; seed++) {
      Fleet fleet = scattered(seed, 16);
      SolveBudget budget = SolveBudget.within(Duration.ofMillis(millis));
      Defragmentation d = planner.defragment(fleet, List.of(goal("4x8x4")), MOVABLE, budget);
      check(fleet, d, seed);
      assertThat(d.after()).isGreaterThanOrEqualTo(d.before());
      assertThat(d.nothingWorthMoving().isPresent()).isEqualTo(d.gained() == 0);
    }
  }

  @Test
  void smallSlicesGoToFewCubes() {
    TpuTopology t = TpuTopology.v4();
    PartitionForest forest = t.partitions().orElseThrow();
    Fleet.Builder fleet = Fleet.builder().pod("pod", t);
    for (int cube = 0; cube < t.cubeCount(); cube++) {
      int cell = t.cells(new Footprint.Cubes(List.of(new CubeId(cube))))[0];
      PartitionId first =
          forest.ofShape(Shape.of(2, 2, 1)).stream()
              .filter(id -> forest.firstCell(id) == cell)
              .findFirst()
              .orElseThrow();
      SliceRequest request = SliceRequest.builder("small-" + cube).shape("2x2x1").build();
      fleet.running(
          RunningSlice.builder(request, 0, "pod", Shape.of(2, 2, 1), new Footprint.Partition(first))
              .startedAt(NOW.minusSeconds(600L * (cube + 1)))
              .restartTime(Duration.ofSeconds(60))
              .build());
    }
    Fleet before = fleet.build();
    Defragmentation d = planner.defragment(before, List.of(goal("4x4x12")), MOVABLE, BUDGET);
    check(before, d, 6);
    assertThat(d.gained()).isEqualTo(192);
    assertThat(d.slices()).isEqualTo(3); // the youngest of three cubes go to others
    assertThat(d.chipSeconds()).isEqualTo(4 * (600 + 1_200 + 1_800 + 3 * 60));
    assertThat(lost(d.plan()).isProved()).isTrue();
  }

  @Test
  void whatMakesNoSenseIsNamed() {
    Fleet fleet = quarters();
    assertThatThrownBy(() -> planner.defragment(fleet, List.of(), MOVABLE, BUDGET))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("goals");
    for (double least : new double[] {-1, Double.NaN}) {
      assertThatThrownBy(
              () -> planner.defragment(fleet, List.of(goal("4x4x4")), MOVABLE, BUDGET, least))
          .isInstanceOf(InvalidInputException.class)
          .hasMessageContaining("leastPerChipHour");
    }
  }
}
