package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Part;
import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.ortools.CpSatFormulation;
import dev.slicewright.formulation.ortools.LpRelaxation;
import dev.slicewright.plan.BoundChecker;
import dev.slicewright.plan.Certificate;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;

/** Models that count partitions and cubes, against all plans and against models on cells. */
class CountedModelTest {

  private static final int PROBLEMS = 200;
  private static final long MAX_NODES = 30_000;
  private static final Duration LONG = Duration.ofSeconds(20);

  private static final Set<RandomFleets.Kind> KINDS =
      EnumSet.of(
          RandomFleets.Kind.HALVED,
          RandomFleets.Kind.LISTED,
          RandomFleets.Kind.OPTICAL,
          RandomFleets.Kind.OPTICAL_LISTED,
          RandomFleets.Kind.OPTICAL_BOXES,
          RandomFleets.Kind.BOXES_2D);

  /** Nothing may move, so that everything is counted. */
  private static RandomFleets.Instance pinned(RandomFleets.Instance i) {
    PlanningRules.Builder rules = PlanningRules.builder().now(i.rules().now());
    i.rules().quotas().forEach(rules::quota);
    i.rules().reserved().forEach(rules::reserve);
    return new RandomFleets.Instance(
        i.seed(), i.limits(), i.fleet(), i.requests(), rules.build(), i.cost());
  }

  private static FormulationTask task(int level, long[] held, int[] start) {
    return new FormulationTask(
        level,
        held,
        System.nanoTime() + LONG.toNanos(),
        SolveBudget.within(LONG),
        0,
        start,
        solution -> {},
        new CancelToken());
  }

  private static long[] held(ModelTranslation t, long[] values, int level) {
    long[] held = Arrays.copyOf(values, level);
    for (int l = 0; l < level; l++) {
      held[l] -= t.constant(l);
    }
    return held;
  }

  @Test
  void optimaOfTinyProblemsAreThoseOfAllPlans() {
    Formulation cpSat = CpSatFormulation.create();
    LpRelaxation glop = LpRelaxation.create();
    int counted = 0;
    int certificates = 0;
    for (long seed = 0; seed < PROBLEMS; seed++) {
      RandomFleets.Instance i = pinned(TinyProblems.of(130_000 + seed, KINDS));
      long[] best;
      try {
        best = new PlannerBruteForce(i, MAX_NODES).solve();
      } catch (PlannerBruteForce.TooLarge e) {
        continue;
      }
      Instance in = new Instance(i.fleet(), i.requests(), i.rules(), i.cost());
      ModelTranslation t = ModelTranslation.counted(in, 20_000, 20_000, () -> false);
      assertThat(t).isNotNull();
      counted +=
          t.model().rows().stream().anyMatch(r -> r.name().startsWith("nodes")) && t.isCounted()
              ? 1
              : 0;
      BoundChecker checker =
          PlanVerifier.boundChecker(i.fleet(), i.requests(), i.rules(), i.cost());
      int[] start = null;
      for (int l = 0; l < best.length; l++) {
        FormulationTask task = task(l, held(t, best, l), start);
        FormulationResult found = cpSat.solve(t.model(), task);
        assertThat(found.status()).as("problem %d: %s", seed, found).isEqualTo(Status.OPTIMAL);
        assertThat(found.claimedBound().orElseThrow() + t.constant(l))
            .as("problem %d level %d\n%s", seed, l, i)
            .isEqualTo(best[l]);
        start = found.solution().orElseThrow();
        Solution solution = t.decode(start);
        assertThat(solution).as("problem %d level %d", seed, l).isNotNull();
        assertThat(Arrays.copyOf(Values.of(in, solution), l + 1))
            .isEqualTo(Arrays.copyOf(best, l + 1));
        int[] again = t.encode(solution);
        assertThat(again).isNotNull();
        assertThat(t.model().evaluate(again)).isEqualTo(t.model().evaluate(start));
        FormulationResult relaxed = glop.solve(t.model(), task);
        if (relaxed.evidence().isPresent()) {
          Certificate c = t.certificate(l, relaxed.evidence().orElseThrow()).orElseThrow();
          long sign = in.levels.get(l).kind().maximise() ? 1 : -1;
          assertThat(sign * checker.bound(c, best))
              .as("problem %d level %d", seed, l)
              .isBetween(
                  sign * best[l], sign * (relaxed.claimedBound().orElseThrow() + t.constant(l)));
          certificates++;
        }
      }
      if (start != null) {
        verify(i, in, t.decode(start));
      }
    }
    assertThat(counted).isGreaterThan(PROBLEMS / 3);
    assertThat(certificates).isGreaterThan(PROBLEMS / 2);
  }

  /** Makes a plan of it, which throws if the verifier has anything against it. */
  private static void verify(RandomFleets.Instance i, Instance in, Solution solution) {
    SlicePlanner planner = SlicePlanner.builder().cost(i.cost()).build();
    Plan plan =
        new SolveRun(
                planner,
                in,
                SolveBudget.within(LONG),
                new CancelToken(),
                SlicePlanner.NOBODY,
                System.nanoTime())
            .planOf(solution, "counts");
    assertThat(PlanVerifier.verify(i.fleet(), i.requests(), i.rules(), i.cost(), plan)).isEmpty();
  }

  /** An optical pod with gangs, too large to enumerate. */
  private static RandomFleets.Instance gangs(long seed, int cubes, int wanted) {
    SplittableRandom random = new SplittableRandom(seed);
    TpuTopology t = TpuTopology.builder(AcceleratorType.V5P).cubes(cubes).build();
    Fleet.Builder fleet = Fleet.builder().pod("pod", t);
    for (int c = 0; c < cubes; c++) {
      if (random.nextInt(4) == 0) {
        fleet.health("pod", new Part.Cube(new CubeId(c)), Health.DEGRADED);
      }
    }
    for (int h = 0; h < t.hostCount(); h += 1 + random.nextInt(t.hostCount() / 2)) {
      fleet.health("pod", new Part.Host(new HostId(h)), Health.FAILED);
    }
    List<Shape> shapes = new ArrayList<>();
    for (String shape : List.of("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8")) {
      shapes.add(Shape.parse(shape));
    }
    List<SliceRequest> requests = new ArrayList<>();
    for (int r = 0; r < wanted; r++) {
      SliceRequest.Builder b =
          SliceRequest.builder("r" + r)
              .shape(shapes.get(random.nextInt(shapes.size())))
              .priority(random.nextInt(2))
              .healthyOnly(random.nextInt(3) == 0);
      switch (random.nextInt(3)) {
        case 0 -> b.slices(2 + random.nextInt(3)).spread(Spread.samePod());
        case 1 -> b.gang("g" + random.nextInt(wanted / 3 + 1));
        default -> {}
      }
      requests.add(b.build());
    }
    return new RandomFleets.Instance(
        seed,
        RandomFleets.Limits.DEFAULT,
        fleet.build(),
        requests,
        PlanningRules.NONE,
        CostTerms.DEFAULT);
  }

  @Property(tries = 60, seed = "20261130", shrinking = ShrinkingMode.OFF)
  void countsAndCellsHaveTheSameOptima(@ForAll @LongRange(min = 0, max = 1_000_000) long seed) {
    RandomFleets.Instance i = gangs(seed, 2 + (int) (seed % 4), 6 + (int) (seed % 9));
    Instance in = new Instance(i.fleet(), i.requests(), i.rules(), i.cost());
    ModelTranslation counts = ModelTranslation.counted(in, 20_000, 20_000, () -> false);
    ModelTranslation cells = ModelTranslation.of(in, 20_000, () -> false);
    assertThat(counts.isCounted()).isTrue();
    Formulation cpSat = CpSatFormulation.create();
    long[] values = new long[in.levels.size()];
    for (int l = 0; l < values.length; l++) {
      FormulationResult counted =
          cpSat.solve(counts.model(), task(l, held(counts, values, l), null));
      FormulationResult expected =
          cpSat.solve(cells.model(), task(l, held(cells, values, l), null));
      assertThat(counted.status()).isEqualTo(Status.OPTIMAL);
      assertThat(expected.status()).isEqualTo(Status.OPTIMAL);
      assertThat(counted.claimedBound()).isEqualTo(expected.claimedBound());
      values[l] = counted.claimedBound().orElseThrow() + counts.constant(l);
      Solution solution = counts.decode(counted.solution().orElseThrow());
      assertThat(solution).isNotNull();
      verify(i, in, solution);
      // What one of them has found is a solution of the other.
      Solution other = cells.decode(expected.solution().orElseThrow());
      int[] encoded = counts.encode(other);
      assertThat(encoded).isNotNull();
      assertThat(counts.model().evaluate(encoded))
          .isEqualTo(cells.model().evaluate(expected.solution().orElseThrow()));
    }
  }

  @Test
  void plansOfGangsOnOpticalPodsAreProved() {
    for (long seed = 0; seed < 4; seed++) {
      RandomFleets.Instance i = gangs(seed, 30, 60);
      Plan plan =
          SlicePlanner.builder()
              .failOnRejectedPlan(true)
              .build()
              .plan(i.fleet(), i.requests(), i.rules(), SolveBudget.within(LONG));
      assertThat(plan.score().isOptimal()).as("seed %d: %s", seed, plan.score()).isTrue();
    }
  }
}
