package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.BrokenSlice;
import dev.slicewright.plan.CountedRepairs;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.Move;
import dev.slicewright.plan.ObjectiveLevels;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.Reason;
import dev.slicewright.plan.Score;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.plan.StopReason;
import dev.slicewright.report.Snapshot;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomFleets.Instance;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Repairs against all ways to repair, enumerated; and what people are told. */
class RepairTest {

  private static final int PROBLEMS = 300;
  private static final long MAX_NODES = 60_000;
  private static final SolveBudget BUDGET = SolveBudget.within(Duration.ofSeconds(20));

  /** Without formulations: what is proved is proved by counting, certificates and arithmetic. */
  private static final SlicePlanner ALONE =
      SlicePlanner.builder().formulations(List.of()).failOnRejectedPlan(true).build();

  private enum Kinds {
    BOXES(
        EnumSet.of(
            RandomFleets.Kind.BOXES_2D,
            RandomFleets.Kind.BOXES_3D,
            RandomFleets.Kind.SHAPED_BOXES)),
    PARTITIONS(EnumSet.of(RandomFleets.Kind.HALVED, RandomFleets.Kind.LISTED)),
    CUBES(EnumSet.copyOf(RandomFleets.Kind.CUBES)),
    ALL(EnumSet.allOf(RandomFleets.Kind.class));

    final Set<RandomFleets.Kind> kinds;

    Kinds(Set<RandomFleets.Kind> kinds) {
      this.kinds = kinds;
    }
  }

  private enum Outcome {
    TOO_LARGE,
    OPEN,
    PROVED
  }

  @ParameterizedTest
  @EnumSource
  void repairsAreTheBestThereAre(Kinds kinds) {
    Map<Outcome, Integer> count = new EnumMap<>(Outcome.class);
    for (long seed = 0; seed < PROBLEMS; seed++) {
      count.merge(outcome(kinds, 5_000 * kinds.ordinal() + seed), 1, Integer::sum);
    }
    int proved = count.getOrDefault(Outcome.PROVED, 0);
    int open = count.getOrDefault(Outcome.OPEN, 0);
    assertThat(proved + open).isGreaterThan(PROBLEMS / 2);
    assertThat(proved).isGreaterThan((proved + open) * 7 / 10);
  }

  private static Outcome outcome(Kinds kinds, long seed) {
    Instance tiny = TinyProblems.of(seed, kinds.kinds);
    Fleet fleet = hurt(tiny.fleet(), new SplittableRandom(seed));
    PlanningRules rules = RepairRules.of(fleet, tiny.rules());
    Instance i =
        new Instance(seed, tiny.limits(), fleet, List.of(), rules, RepairRules.of(tiny.cost()));
    long[] best;
    try {
      best = new PlannerBruteForce(i, MAX_NODES).solve();
    } catch (PlannerBruteForce.TooLarge e) {
      return Outcome.TOO_LARGE;
    }
    List<Level> levels = ObjectiveLevels.of(fleet, List.of(), rules, i.cost());
    Optional<CountedRepairs> counted = CountedRepairs.of(fleet, List.of(), rules, i.cost());
    for (int l = 0; counted.isPresent() && l < best.length; l++) {
      OptionalLong bound = counted.get().bound(l, best);
      if (bound.isEmpty()) {
        break;
      }
      long sign = levels.get(l).kind().maximise() ? 1 : -1;
      assertThat(sign * bound.getAsLong())
          .as("%s, seed %s, level %s", kinds, seed, l)
          .isGreaterThanOrEqualTo(sign * best[l]);
    }
    SlicePlanner planner =
        SlicePlanner.builder()
            .formulations(List.of())
            .cost(tiny.cost())
            .failOnRejectedPlan(true)
            .build();
    Plan plan = planner.repair(fleet, tiny.rules(), BUDGET);
    assertThat(PlanVerifier.verify(fleet, List.of(), plan.rules(), i.cost(), plan)).isEmpty();
    assertThat(plan.rules()).isEqualTo(rules);
    for (int l = 0; l < best.length; l++) {
      LevelScore level = plan.score().levels().get(l);
      long sign = level.level().kind().maximise() ? 1 : -1;
      String about = kinds + ", seed " + seed + ", " + level + ", best " + best[l];
      assertThat(sign * level.value()).as(about).isLessThanOrEqualTo(sign * best[l]);
      assertThat(sign * level.bound()).as(about).isGreaterThanOrEqualTo(sign * best[l]);
      if (level.value() != best[l]) {
        break; // what follows is bounded for this plan's values, not for the best ones
      }
    }
    return plan.score().isOptimal() ? Outcome.PROVED : Outcome.OPEN;
  }

  /** Fails up to three hosts under running slices. */
  private static Fleet hurt(Fleet fleet, SplittableRandom random) {
    List<RunningSlice> running = new ArrayList<>(fleet.running());
    Fleet hurt = fleet;
    for (int k = 1 + random.nextInt(3); k > 0 && !running.isEmpty(); k--) {
      RunningSlice slice = running.get(random.nextInt(running.size()));
      TpuTopology t = fleet.pod(slice.pod()).orElseThrow().topology();
      int[] cells = t.cells(slice.footprint());
      HostId host = t.hostOfCell(cells[random.nextInt(cells.length)]);
      hurt = hurt.failHost(slice.pod(), host);
    }
    return hurt;
  }

  // ---------------------------------------------------------------- what people are told

  private static final TpuTopology FOUR =
      TpuTopology.builder(AcceleratorType.TPU7X).cubes(4).build();

  private static Footprint.Cubes cubes(int... ids) {
    return new Footprint.Cubes(IntStream.of(ids).mapToObj(CubeId::new).toList());
  }

  private static RunningSlice running(SliceRequest request, int index, int... ids) {
    return RunningSlice.builder(request, index, "p", request.shapes().get(0), cubes(ids)).build();
  }

  private static Part.Host hostOf(int cube) {
    return new Part.Host(new HostId(cube * 16 + 3));
  }

  @Test
  void oneCubeOfManyIsSwapped() {
    SliceRequest request = SliceRequest.builder("r").shape("4x4x12").build();
    Fleet fleet =
        Fleet.builder()
            .pod("p", FOUR)
            .running(running(request, 0, 2, 0, 1))
            .build()
            .fail("p", hostOf(0));
    Plan plan = ALONE.repair(fleet, PlanningRules.NONE, BUDGET);
    assertThat(plan.stopped()).isEqualTo(StopReason.OPTIMAL);
    assertThat(plan.moves()).hasSize(1);
    assertThat(plan.moves().get(0).to().footprint()).isEqualTo(cubes(2, 3, 1));
    assertThat(plan.broken()).isEmpty();
    assertThat(plan.applyTo(fleet).totals().broken()).isZero();
    // Not while the spare cube cools down.
    Fleet cooling =
        fleet.fail("p", hostOf(3)).healing("p", hostOf(3), RandomFleets.NOW.plusSeconds(600));
    assertThat(ALONE.repair(cooling.healed(RandomFleets.NOW), PlanningRules.NONE, BUDGET).broken())
        .extracting(BrokenSlice::reason)
        .containsExactly(Reason.FRAGMENTED);
    assertThat(
            ALONE
                .repair(
                    cooling.healed(RandomFleets.NOW.plusSeconds(600)), PlanningRules.NONE, BUDGET)
                .moves())
        .hasSize(1);
  }

  @Test
  void whatFindsNoRoomShrinksWhereItsRequestAllows() {
    SliceRequest request = SliceRequest.builder("r").shape("4x4x16").shape("4x4x8").build();
    Fleet fleet =
        Fleet.builder()
            .pod("p", FOUR)
            .running(running(request, 0, 0, 1, 2, 3))
            .build()
            .fail("p", hostOf(1));
    Plan plan = ALONE.repair(fleet, PlanningRules.NONE, BUDGET);
    assertThat(plan.stopped()).isEqualTo(StopReason.OPTIMAL);
    Move move = plan.moves().get(0);
    assertThat(move.to().shape()).isEqualTo(Shape.of(4, 4, 8));
    assertThat(((Footprint.Cubes) move.to().footprint()).cubes()).doesNotContain(new CubeId(1));
    assertThat(plan.applyTo(fleet).totals().broken()).isZero();
  }

  @Test
  void aMultisliceThatIsMendedInPartIsNamed() {
    SliceRequest request = SliceRequest.builder("r").shape("4x4x4").slices(3).build();
    Fleet fleet =
        Fleet.builder()
            .pod("p", FOUR)
            .running(running(request, 0, 0))
            .running(running(request, 1, 1))
            .running(running(request, 2, 2))
            .build()
            .report(Map.of("p", List.of(hostOf(0), hostOf(1))), Health.FAILED);
    Plan plan = ALONE.repair(fleet, PlanningRules.NONE, BUDGET);
    assertThat(plan.stopped()).isEqualTo(StopReason.OPTIMAL);
    assertThat(plan.moves()).hasSize(1);
    assertThat(plan.broken()).hasSize(1);
    assertThat(plan.broken().get(0).sentence()).contains("1 of the 2 broken slices of r");
  }

  @Test
  void theMoreImportantIsMendedFirstAndRulesAreKept() {
    SliceRequest high = SliceRequest.builder("high").shape("4x4x4").priority(5).build();
    SliceRequest low = SliceRequest.builder("low").shape("4x4x8").priority(1).build();
    Fleet fleet =
        Fleet.builder()
            .pod("p", FOUR)
            .running(running(high, 0, 0))
            .running(running(low, 0, 1, 2))
            .build()
            .report(Map.of("p", List.of(hostOf(0), hostOf(1))), Health.FAILED);
    Plan plan = ALONE.repair(fleet, PlanningRules.NONE, BUDGET);
    assertThat(plan.stopped()).isEqualTo(StopReason.OPTIMAL);
    assertThat(plan.moves()).extracting(m -> m.from().id().request()).containsExactly("high");
    assertThat(plan.broken()).extracting(b -> b.slice().id().request()).containsExactly("low");

    Plan pinned =
        ALONE.repair(
            fleet, PlanningRules.builder().permit("high", Permission.PINNED).build(), BUDGET);
    assertThat(pinned.moves()).extracting(m -> m.from().id().request()).containsExactly("low");
    assertThat(pinned.broken()).extracting(BrokenSlice::reason).containsExactly(Reason.PINNED);

    Plan none =
        ALONE.repair(
            fleet,
            PlanningRules.builder().disruption(new PlanningRules.DisruptionBudget(0, 0, 0)).build(),
            BUDGET);
    assertThat(none.moves()).isEmpty();
    assertThat(none.broken()).hasSize(2);

    // With leave to evict, a broken slice that cannot be mended is no worse off, so it stays.
    Plan evict =
        ALONE.repair(
            fleet, PlanningRules.builder().permitByDefault(Permission.ANY).build(), BUDGET);
    assertThat(evict.moves()).extracting(m -> m.from().id().request()).contains("high");
  }

  @Test
  void nothingBrokenIsAnEmptyPlan() {
    SliceRequest request = SliceRequest.builder("r").shape("4x4x4").build();
    Fleet fleet = Fleet.builder().pod("p", FOUR).running(running(request, 0, 0)).build();
    Plan plan = ALONE.repair(fleet, PlanningRules.NONE, BUDGET);
    assertThat(plan.stopped()).isEqualTo(StopReason.OPTIMAL);
    assertThat(plan.moves()).isEmpty();
    assertThat(plan.broken()).isEmpty();
    assertThatThrownBy(() -> fleet.failHost("q", new HostId(0)))
        .isInstanceOf(InvalidInputException.class);
  }

  @Test
  void aCountThatClaimsTooMuchIsRefused() {
    SliceRequest request = SliceRequest.builder("r").shape("4x4x16").build();
    Fleet fleet =
        Fleet.builder()
            .pod("p", FOUR)
            .running(running(request, 0, 0, 1, 2, 3))
            .build()
            .fail("p", hostOf(0));
    Plan plan = ALONE.repair(fleet, PlanningRules.NONE, BUDGET);
    List<LevelScore> levels = new ArrayList<>(plan.score().levels());
    for (int l = 0; l < levels.size(); l++) {
      LevelScore was = levels.get(l);
      levels.set(
          l, new LevelScore(was.level(), was.value(), was.bound(), new Proof.Counted(), null));
    }
    assertThat(verify(fleet, plan, levels)).isEmpty();
    Snapshot written =
        Snapshot.of(fleet, List.of())
            .withRules(plan.rules())
            .withCost(RepairRules.of(CostTerms.DEFAULT))
            .withPlan(plan.toBuilder().score(new Score(levels)).build());
    assertThat(Snapshot.read(written.toJson())).isEqualTo(written);
    assertThat(
            CountedRepairs.of(
                fleet, List.of(), plan.rules(), RepairRules.of(CostTerms.DEFAULT), () -> true))
        .isEmpty();
    // Nothing could be kept; a bound below what counting proves is refused.
    assertThat(levels.get(0).value()).isZero();
    LevelScore kept = levels.get(0);
    levels.set(0, new LevelScore(kept.level(), 0, -1, new Proof.Counted(), null));
    assertThat(verify(fleet, plan, levels)).isNotEmpty();
    // Where something new is wanted, it says nothing.
    assertThat(
            CountedRepairs.of(
                fleet,
                List.of(SliceRequest.builder("new").shape("4x4x4").build()),
                plan.rules(),
                RepairRules.of(CostTerms.DEFAULT)))
        .isEmpty();
  }

  private static List<PlanVerifier.Violation> verify(
      Fleet fleet, Plan plan, List<LevelScore> levels) {
    return PlanVerifier.verify(
        fleet,
        List.of(),
        plan.rules(),
        RepairRules.of(CostTerms.DEFAULT),
        plan.toBuilder().score(new Score(levels)).build());
  }
}
