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
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
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

  @ParameterizedTest
  @EnumSource
  void plansAreTheBestThereAre(Kinds kinds) {
    int proved = 0;
    int alone = 0;
    int enumerated = 0;
    for (long seed = 0; seed < PROBLEMS; seed++) {
      Instance i = TinyProblems.of(1_000 * kinds.ordinal() + seed, kinds.kinds);
      long[] best;
      try {
        best = new PlannerBruteForce(i, MAX_NODES).solve();
      } catch (PlannerBruteForce.TooLarge e) {
        continue;
      }
      enumerated++;
      try {
        Plan plan = plan(i, true);
        check(plan, best);
        if (plan.score().isOptimal()) {
          proved++;
        }
        // New hosts of moves to unnamed cubes have no exact price: the one level left open.
        for (int l = 0; l < best.length; l++) {
          LevelScore level = plan.score().levels().get(l);
          if (!level.isProved()) {
            assertThat(level.level().name()).isEqualTo("new hosts");
            break;
          }
        }
        reasons(i, plan);
        Plan own = plan(i, false);
        check(own, best);
        reasons(i, own);
        if (own.score().isOptimal()) {
          alone++;
        }
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError(kinds + ", seed " + seed + "\n" + i, e);
      }
    }
    assertThat(enumerated).isGreaterThan(PROBLEMS * 9 / 10);
    assertThat(proved).isGreaterThanOrEqualTo(enumerated * 99 / 100);
    assertThat(alone).isGreaterThan(enumerated / 2);
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
        } else if (request.slices() == 1 && request.gang().isEmpty()) {
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
