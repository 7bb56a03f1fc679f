package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SliceId;
import dev.slicewright.SolveBudget;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.Score;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.report.PlanText;
import dev.slicewright.report.Snapshot;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.testing.RandomFleets.Instance;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Plans with rules on victims, drains and room goals against all plans, enumerated. */
class GoalsPropertiesTest {

  private static final int PROBLEMS = 40;

  private static final long MAX_NODES = 60_000;

  @ParameterizedTest
  @EnumSource
  void plansWithGoalsAreTheBestThereAre(PlannerPropertiesTest.Kinds kinds) {
    int enumerated = 0;
    int proved = 0;
    int drained = 0;
    int roomy = 0;
    for (long seed = 0; seed < PROBLEMS; seed++) {
      Instance i = GoalProblems.of(50_000 + 1_000 * kinds.ordinal() + seed, kinds.kinds);
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
        check(plan(i, false), best);
        proved += plan.score().isOptimal() ? 1 : 0;
        drained += has(plan, Level.Kind.DRAIN) && !plan.moves().isEmpty() ? 1 : 0;
        roomy += plan.room().isEmpty() ? 0 : 1;
        tampered(i, plan);
        held(i, plan);
        carried(i, plan);
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError(kinds + ", seed " + seed + "\n" + i, e);
      }
    }
    assertThat(enumerated).isGreaterThan(PROBLEMS * 3 / 4);
    assertThat(proved).isGreaterThan(enumerated * 9 / 10);
    assertThat(drained).isPositive();
    assertThat(roomy).isGreaterThan(2);
  }

  private static boolean has(Plan plan, Level.Kind kind) {
    return plan.score().levels().stream().anyMatch(l -> l.level().kind() == kind);
  }

  private static Plan plan(Instance i, boolean formulations) {
    SlicePlanner.Builder b = SlicePlanner.builder().cost(i.cost()).failOnRejectedPlan(true);
    if (!formulations) {
      b.formulations(List.of());
    }
    Duration deadline = formulations ? Duration.ofSeconds(20) : Duration.ofMillis(60);
    return b.build().plan(i.fleet(), i.requests(), i.rules(), SolveBudget.within(deadline));
  }

  private static void check(Plan plan, long[] best) {
    List<LevelScore> levels = plan.score().levels();
    assertThat(levels).hasSize(best.length);
    for (int l = 0; l < best.length; l++) {
      LevelScore level = levels.get(l);
      long sign = level.level().kind().maximise() ? 1 : -1;
      assertThat(sign * level.value()).as("%s", level).isLessThanOrEqualTo(sign * best[l]);
      assertThat(sign * level.bound()).as("%s", level).isGreaterThanOrEqualTo(sign * best[l]);
      if (level.value() != best[l]) {
        return;
      }
    }
  }

  private static void tampered(Instance i, Plan plan) {
    assertThat(violations(i, plan)).isEmpty();
    // A wrong value of a goal's level.
    for (int l = 0; l < plan.score().levels().size(); l++) {
      Level.Kind kind = plan.score().levels().get(l).level().kind();
      if (kind == Level.Kind.DRAIN || kind == Level.Kind.ROOM) {
        List<LevelScore> levels = new ArrayList<>(plan.score().levels());
        LevelScore was = levels.get(l);
        levels.set(
            l, new LevelScore(was.level(), was.value() + 1, was.bound() + 1, was.proof(), null));
        Plan wrong = plan.toBuilder().score(new Score(levels)).build();
        String path = "score.levels[" + l + "].value";
        assertThat(violations(i, wrong)).anyMatch(v -> v.path().equals(path));
      }
    }
    // The same room twice.
    if (!plan.room().isEmpty()) {
      Plan twice = plan.toBuilder().room(plan.room().get(0)).build();
      assertThat(violations(i, twice)).anyMatch(v -> v.message().contains("takes chips"));
    }
    // Room on a placed slice.
    if (!plan.room().isEmpty() && !plan.placements().isEmpty()) {
      Placement on = plan.placements().get(0).slices().get(0);
      SliceRequest phantom = plan.room().get(0).request();
      Placement over =
          new Placement(
              new SliceId(phantom.id(), 0),
              on.pod(),
              on.topology(),
              on.shape(),
              on.footprint(),
              on.twist());
      Plan wrong = plan.toBuilder().room(new RequestPlacement(phantom, List.of(over), 0)).build();
      assertThat(violations(i, wrong)).anyMatch(v -> v.message().contains("takes chips"));
    }
    // What stays is all named.
    if (!plan.staying().isEmpty()) {
      Plan twice = plan.toBuilder().staying(plan.staying().get(0)).build();
      assertThat(violations(i, twice)).anyMatch(v -> v.path().startsWith("staying["));
    }
  }

  /** Room can be held once the plan is applied. */
  private static void held(Instance i, Plan plan) {
    var after = plan.applyTo(i.fleet()).dropExpiredHolds(i.rules().now());
    var held = plan.holdRoom(after, i.rules().now().plusSeconds(60));
    long slices = plan.room().stream().mapToLong(r -> r.slices().size()).sum();
    assertThat(held.holds()).hasSize(after.holds().size() + (int) slices);
  }

  private static void carried(Instance i, Plan plan) {
    Snapshot all =
        Snapshot.of(i.fleet(), i.requests()).withRules(i.rules()).withCost(i.cost()).withPlan(plan);
    Snapshot read = Snapshot.read(all.toJson());
    assertThat(read.rules()).isEqualTo(i.rules());
    assertThat(read.plan()).contains(plan);
    String text = PlanText.of(i.requests(), plan);
    plan.room().forEach(r -> assertThat(text).contains(r.request().id()));
    plan.staying().forEach(s -> assertThat(text).contains(s.sentence()));
  }

  private static List<PlanVerifier.Violation> violations(Instance i, Plan plan) {
    return PlanVerifier.verify(i.fleet(), i.requests(), i.rules(), i.cost(), plan);
  }
}
