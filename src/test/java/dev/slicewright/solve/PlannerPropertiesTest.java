package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Reason;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomFleets.Instance;
import java.time.Duration;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Plans of tiny problems against all plans, enumerated. */
class PlannerPropertiesTest {

  /** Problems of each slicing. */
  private static final int PROBLEMS = 400;

  private static final long MAX_NODES = 60_000;

  private static final Set<Reason> DO_NOT_FIT =
      EnumSet.of(
          Reason.NOT_ENOUGH_FREE,
          Reason.BLOCKED_BY_HEALTH,
          Reason.BLOCKED_BY_CORDON,
          Reason.BLOCKED_BY_HOLD,
          Reason.FRAGMENTED,
          Reason.SPREAD,
          Reason.DISRUPTION_BUDGET);

  enum Kinds {
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

  /** What became of a problem. */
  private enum Outcome {
    /** Too many plans to enumerate. */
    TOO_LARGE,
    /** Not proved, and no better than it claims. */
    OPEN,
    /** Proved with CP-SAT. */
    PROVED,
    /** Proved by search and bounds alone, too. */
    PROVED_ALONE
  }

  @ParameterizedTest
  @EnumSource
  void plansAreTheBestThereAre(Kinds kinds) {
    Map<Outcome, Integer> count = new EnumMap<>(Outcome.class);
    for (long seed = 0; seed < PROBLEMS; seed++) {
      count.merge(outcome(kinds, 1_000 * kinds.ordinal() + seed), 1, Integer::sum);
    }
    int enumerated = PROBLEMS - count.getOrDefault(Outcome.TOO_LARGE, 0);
    int alone = count.getOrDefault(Outcome.PROVED_ALONE, 0);
    int proved = count.getOrDefault(Outcome.PROVED, 0) + alone;
    assertThat(enumerated).isGreaterThan(PROBLEMS * 9 / 10);
    assertThat(proved).isGreaterThanOrEqualTo(enumerated * 99 / 100);
    assertThat(alone).isGreaterThan(enumerated / 2);
  }

  /** The same for seeds drawn by jqwik; its own seed is fixed, so that builds repeat. */
  @Property(tries = 600, seed = "20261130", shrinking = ShrinkingMode.OFF)
  void plansOfDrawnProblemsAreTheBestThereAre(
      @ForAll Kinds kinds, @ForAll @LongRange(min = 10_000, max = 1_000_000_000) long seed) {
    outcome(kinds, seed);
  }

  private static Outcome outcome(Kinds kinds, long seed) {
    Instance i = TinyProblems.of(seed, kinds.kinds);
    long[] best;
    try {
      best = new PlannerBruteForce(i, MAX_NODES).solve();
    } catch (PlannerBruteForce.TooLarge e) {
      return Outcome.TOO_LARGE;
    }
    try {
      Plan plan = plan(i, true);
      check(plan, best);
      // New hosts of moves to unnamed cubes have no exact price: the one level left open.
      for (LevelScore level : plan.score().levels()) {
        if (!level.isProved()) {
          assertThat(level.level().name()).isEqualTo("new hosts");
          break;
        }
      }
      reasons(i, plan);
      Plan own = plan(i, false);
      check(own, best);
      reasons(i, own);
      return own.score().isOptimal()
          ? Outcome.PROVED_ALONE
          : plan.score().isOptimal() ? Outcome.PROVED : Outcome.OPEN;
    } catch (RuntimeException | AssertionError e) {
      throw new AssertionError(kinds + ", seed " + seed + "\n" + i, e);
    }
  }

  private static Plan plan(Instance i, boolean formulations) {
    SlicePlanner.Builder b = SlicePlanner.builder().cost(i.cost()).failOnRejectedPlan(true);
    if (!formulations) {
      b.formulations(List.of());
    }
    // A deadline that limits rounds, not time.
    Duration deadline = formulations ? Duration.ofSeconds(20) : Duration.ofMillis(60);
    return b.build().plan(i.fleet(), i.requests(), i.rules(), SolveBudget.within(deadline));
  }

  /** bound ≥ optimum ≥ value at the first level that differs, and equality where it is claimed. */
  private static void check(Plan plan, long[] best) {
    List<LevelScore> levels = plan.score().levels();
    assertThat(levels).hasSize(best.length);
    for (int l = 0; l < best.length; l++) {
      LevelScore level = levels.get(l);
      long sign = level.level().kind().maximise() ? 1 : -1;
      assertThat(sign * level.value()).as("%s", level).isLessThanOrEqualTo(sign * best[l]);
      assertThat(sign * level.bound()).as("%s", level).isGreaterThanOrEqualTo(sign * best[l]);
      if (level.value() != best[l]) {
        // What follows is bounded for this plan's values, not for the best ones.
        return;
      }
    }
  }

  private static void reasons(Instance i, Plan plan) {
    for (Unplaced unplaced : plan.unplaced()) {
      SliceRequest request =
          i.requests().stream()
              .filter(r -> r.id().equals(unplaced.request()))
              .findFirst()
              .orElseThrow();
      try {
        boolean ever = PlannerBruteForce.fitsEmpty(i, request.id(), MAX_NODES);
        if (unplaced.never()) {
          assertThat(ever).as("never: %s", unplaced).isFalse();
        } else if (request.slices() == 1
            && request.gang().isEmpty()
            && unplaced.reason() != Reason.DEADLINE) {
          assertThat(ever).as("not never: %s", unplaced).isTrue();
        }
        if (DO_NOT_FIT.contains(unplaced.reason())) {
          assertThat(PlannerBruteForce.fitsAlone(i, request.id(), MAX_NODES))
              .as("alone: %s", unplaced)
              .isFalse();
        } else if (unplaced.reason() == Reason.OUTRANKED) {
          assertThat(PlannerBruteForce.fitsAlone(i, request.id(), MAX_NODES))
              .as("alone: %s", unplaced)
              .isTrue();
        }
      } catch (PlannerBruteForce.TooLarge e) {
        continue;
      }
    }
    assertThat(PlanVerifier.verify(i.fleet(), i.requests(), i.rules(), i.cost(), plan)).isEmpty();
  }
}
