package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.Score;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomFleets.Instance;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What is evicted or moved for what is wanted, without formulations, against all plans. */
class DisplacementTest {

  private static final long MAX_NODES = 100_000;

  /** One slice and nothing that ties victims together: the best plan, and proved. */
  @ParameterizedTest
  @EnumSource
  void oneSliceIsExactAndProved(PlannerPropertiesTest.Kinds kinds) {
    int enumerated = 0;
    int evicted = 0;
    int byPlaces = 0;
    for (long seed = 0; seed < 250; seed++) {
      Instance i = single(seed, kinds, Permission.EVICTABLE);
      long[] best = best(i);
      if (best.length == 0) {
        continue;
      }
      enumerated++;
      try {
        Plan plan = plan(i, List.of());
        assertThat(values(plan)).isEqualTo(best);
        assertThat(plan.score().isOptimal()).as("%s", plan.score()).isTrue();
        evicted += plan.evictions().isEmpty() ? 0 : 1;
        byPlaces +=
            plan.score().levels().stream().anyMatch(l -> l.proof() instanceof Proof.Enumerated)
                ? 1
                : 0;
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError(kinds + ", seed " + seed + "\n" + i, e);
      }
    }
    assertThat(enumerated).isGreaterThan(200);
    assertThat(evicted).isGreaterThan(20);
    assertThat(byPlaces).isGreaterThan(20);
  }

  /** With moves, quotas and budgets: never better than the best, never a false bound. */
  @ParameterizedTest
  @EnumSource
  void movesAndRulesAreBounded(PlannerPropertiesTest.Kinds kinds) {
    List<Permission> permissions =
        List.of(
            Permission.ANY, Permission.MOVABLE, new Permission(true, true, true), Permission.ANY);
    int enumerated = 0;
    int reached = 0;
    int moved = 0;
    for (long seed = 1_000; seed < 1_150; seed++) {
      Instance i = single(seed, kinds, permissions.get((int) (seed % 4)));
      Instance tiny = TinyProblems.of(seed, kinds.kinds);
      if (seed % 3 == 0) {
        i = tiny;
      }
      long[] best = best(i);
      if (best.length == 0) {
        continue;
      }
      enumerated++;
      try {
        Plan plan = plan(i, List.of());
        moved += plan.moves().isEmpty() ? 0 : 1;
        boolean same = true;
        for (int l = 0; same && l < best.length; l++) {
          LevelScore level = plan.score().levels().get(l);
          long sign = level.level().kind().maximise() ? 1 : -1;
          assertThat(sign * level.bound()).as("%s", level).isGreaterThanOrEqualTo(sign * best[l]);
          assertThat(sign * level.value()).as("%s", level).isLessThanOrEqualTo(sign * best[l]);
          same = level.value() == best[l];
        }
        reached += same ? 1 : 0;
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError(kinds + ", seed " + seed + "\n" + i, e);
      }
    }
    assertThat(enumerated).isGreaterThan(100);
    assertThat(reached).isGreaterThan(enumerated * 8 / 10);
    assertThat(moved).isGreaterThan(5);
  }

  @Test
  void formulationsAgree() {
    for (long seed = 0; seed < 25; seed++) {
      Instance i = single(seed, PlannerPropertiesTest.Kinds.ALL, Permission.EVICTABLE);
      Plan own = plan(i, List.of());
      Plan other =
          SlicePlanner.builder()
              .cost(i.cost())
              .failOnRejectedPlan(true)
              .build()
              .plan(i.fleet(), i.requests(), i.rules(), SolveBudget.within(Duration.ofSeconds(20)));
      assertThat(values(own)).as("seed %s", seed).isEqualTo(values(other));
    }
  }

  // ---------------------------------------------------------------- known answers

  private static final Shape HALF = Shape.of(2, 4, 4);

  private static SliceRequest request(String id, String shape, long priority) {
    return SliceRequest.builder(id).shape(shape).priority(priority).build();
  }

  private static RunningSlice half(String id, int x, long priority) {
    return RunningSlice.builder(
            request(id, "2x4x4", priority),
            0,
            "p",
            HALF,
            new Footprint.Box(new Chip(x, 0, 0), HALF))
        .build();
  }

  private static final Fleet HALVES =
      Fleet.builder()
          .pod("p", TpuTopology.torus(4, 4, 4))
          .running(half("low", 0, 1))
          .running(half("high", 2, 2))
          .build();

  private static final List<SliceRequest> WANTED = List.of(request("wanted", "2x4x4", 3));

  private static Plan plan(PlanningRules rules) {
    return SlicePlanner.builder()
        .formulations(List.of())
        .failOnRejectedPlan(true)
        .build()
        .plan(HALVES, WANTED, rules, SolveBudget.within(Duration.ofSeconds(5)));
  }

  @Test
  void theLessImportantLeaves() {
    Plan plan = plan(PlanningRules.builder().permitByDefault(Permission.EVICTABLE).build());
    assertThat(plan.evictions()).extracting(e -> e.request()).containsExactly("low");
    assertThat(plan.score().isOptimal()).isTrue();
  }

  @Test
  void tamperedEnumerationsAreRejected() {
    PlanningRules both = PlanningRules.builder().permitByDefault(Permission.EVICTABLE).build();
    PlanningRules wrong = PlanningRules.builder().permit("high", Permission.EVICTABLE).build();
    Plan good = plan(both);
    assertThat(PlanVerifier.verify(HALVES, WANTED, both, CostTerms.DEFAULT, good)).isEmpty();
    long places =
        good.score().levels().stream()
            .filter(l -> l.proof() instanceof Proof.Enumerated)
            .mapToLong(l -> ((Proof.Enumerated) l.proof()).places())
            .findFirst()
            .orElseThrow();
    // The number of places.
    assertThat(verify(both, good, scores(good, good.score().levels(), places + 1)))
        .anyMatch(v -> v.contains("places"));
    // A plan that evicts the wrong one, and says that the places prove it.
    List<LevelScore> levels = new ArrayList<>();
    for (LevelScore level : good.score().levels()) {
      long value =
          switch (level.level().kind()) {
            case PLACED -> 32;
            case KEPT -> level.level().priority() == 1 ? 32 : 0;
            default -> level.value();
          };
      levels.add(new LevelScore(level.level(), value, value, new Proof.Enumerated(places), null));
    }
    Plan bad = plan(wrong);
    Plan lie =
        Plan.builder(HALVES.version(), both)
            .placement(bad.placements().get(0))
            .eviction(bad.evictions().get(0))
            .score(new Score(levels))
            .stopped(good.stopped())
            .build();
    assertThat(PlanVerifier.verify(HALVES, WANTED, both, CostTerms.DEFAULT, lie))
        .anyMatch(v -> v.message().contains("enumerating all places proves"))
        .allMatch(v -> v.path().startsWith("score.levels"));
    // A bound that says less is right.
    levels.clear();
    for (LevelScore level : good.score().levels()) {
      levels.add(level.level().kind() == Level.Kind.DISRUPTION ? weaker(level) : level);
    }
    assertThat(
            PlanVerifier.verify(
                HALVES,
                WANTED,
                both,
                CostTerms.DEFAULT,
                good.toBuilder()
                    .score(new Score(levels))
                    .stopped(dev.slicewright.plan.StopReason.EXHAUSTED)
                    .build()))
        .isEmpty();
  }

  private static LevelScore weaker(LevelScore level) {
    return new LevelScore(level.level(), level.value(), level.bound() - 1, level.proof(), null);
  }

  private static Score scores(Plan plan, List<LevelScore> levels, long places) {
    List<LevelScore> out = new ArrayList<>();
    for (LevelScore l : levels) {
      out.add(
          l.proof() instanceof Proof.Enumerated
              ? new LevelScore(l.level(), l.value(), l.bound(), new Proof.Enumerated(places), null)
              : l);
    }
    assertThat(out).isNotEqualTo(plan.score().levels());
    return new Score(out);
  }

  private static List<String> verify(PlanningRules rules, Plan plan, Score score) {
    return PlanVerifier.verify(
            HALVES, WANTED, rules, CostTerms.DEFAULT, plan.toBuilder().score(score).build())
        .stream()
        .map(v -> v.path() + ": " + v.message())
        .toList();
  }

  /** Cubes that share running slices: the cheapest set is not the one of the cheapest cubes. */
  @Test
  void cubesThatShareVictimsAreWeighedTogether() {
    Fleet.Builder fleet =
        Fleet.builder()
            .pod("p", TpuTopology.builder(TpuTopology.v5p().accelerator()).cubes(5).build());
    // One slice on three cubes, and two lone ones that are cheaper each but not together.
    fleet.running(cubes("wide", "4x4x12", List.of(0, 1, 2), 1_000));
    fleet.running(cubes("one", "4x4x4", List.of(3), 700));
    fleet.running(cubes("two", "4x4x4", List.of(4), 800));
    for (int n = 1; n <= 5; n++) {
      String shape = "4x4x" + 4 * n;
      Plan plan =
          SlicePlanner.builder()
              .formulations(List.of())
              .failOnRejectedPlan(true)
              .build()
              .plan(
                  fleet.build(),
                  List.of(request("wanted", shape, 9)),
                  PlanningRules.builder().permitByDefault(Permission.EVICTABLE).build(),
                  SolveBudget.within(Duration.ofSeconds(5)));
      assertThat(plan.evictions())
          .extracting(e -> e.request())
          .as("%s cubes", n)
          .containsExactlyElementsOf(
              switch (n) {
                case 1 -> List.of("one");
                case 2 -> List.of("one", "two");
                case 3 -> List.of("wide");
                case 4 -> List.of("one", "wide");
                default -> List.of("one", "two", "wide");
              });
      assertThat(plan.score().isOptimal()).isTrue();
    }
  }

  private static RunningSlice cubes(String id, String shape, List<Integer> cubes, long seconds) {
    SliceRequest request = request(id, shape, 1);
    return RunningSlice.builder(
            request,
            0,
            "p",
            Shape.parse(shape),
            new Footprint.Cubes(cubes.stream().map(CubeId::new).toList()))
        .restartTime(Duration.ofSeconds(seconds))
        .build();
  }

  // ---------------------------------------------------------------- problems

  /** One wanted slice in a fleet where more runs than usual. */
  private static Instance single(
      long seed, PlannerPropertiesTest.Kinds kinds, Permission permission) {
    SplittableRandom random = new SplittableRandom(seed);
    Instance i =
        RandomFleets.instance(
            seed,
            RandomFleets.Limits.DEFAULT
                .kinds(Set.copyOf(kinds.kinds))
                .pods(1 + random.nextInt(2))
                .requests(1)
                .running(2 + random.nextInt(4))
                .faults(random.nextInt(3))
                .holds(random.nextInt(2)));
    SliceRequest wanted = i.requests().get(0);
    SliceRequest one =
        wanted.toBuilder()
            .slices(1)
            .gang("")
            .priority(random.nextInt(3) == 0 ? wanted.priority() : 1_000)
            .build();
    PlanningRules rules =
        PlanningRules.builder().now(i.rules().now()).permitByDefault(permission).build();
    return new Instance(i.seed(), i.limits(), i.fleet(), List.of(one), rules, i.cost());
  }

  private static long[] best(Instance i) {
    try {
      return new PlannerBruteForce(i, MAX_NODES).solve();
    } catch (PlannerBruteForce.TooLarge e) {
      return new long[0];
    }
  }

  private static long[] values(Plan plan) {
    return plan.score().levels().stream().mapToLong(LevelScore::value).toArray();
  }

  private static Plan plan(Instance i, List<dev.slicewright.formulation.Formulation> formulations) {
    Plan plan =
        SlicePlanner.builder()
            .cost(i.cost())
            .formulations(formulations)
            .failOnRejectedPlan(true)
            .build()
            .plan(i.fleet(), i.requests(), i.rules(), SolveBudget.within(Duration.ofMillis(60)));
    assertThat(PlanVerifier.verify(i.fleet(), i.requests(), i.rules(), i.cost(), plan)).isEmpty();
    return plan;
  }
}
