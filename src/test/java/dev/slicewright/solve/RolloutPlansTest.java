package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Rollout;
import dev.slicewright.plan.Step;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomFleets.Instance;
import dev.slicewright.testing.RandomFleets.Limits;
import dev.slicewright.testing.RolloutChecks;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Rollouts of the planner's own plans. */
class RolloutPlansTest {

  private static final SlicePlanner PLANNER =
      SlicePlanner.builder().formulations(List.of()).failOnRejectedPlan(true).build();
  private static final SolveBudget BUDGET = SolveBudget.within(Duration.ofMillis(15));

  private static PlanningRules rules(Instance i) {
    return i.rules().toBuilder()
        .disruption(PlanningRules.DisruptionBudget.UNLIMITED)
        .permitByDefault(Permission.ANY)
        .build();
  }

  /** Each step fails in turn: what stands is planned anew, and that plan rolled out. */
  @Test
  void everyStateIsLegalAndAnyStepMayFail() {
    int disturbed = 0;
    int failed = 0;
    int suspended = 0;
    for (long seed = 0; seed < 160; seed++) {
      Instance i = RandomFleets.instance(seed, Limits.DEFAULT.running(6).holds(1));
      Plan plan = PLANNER.plan(i.fleet(), i.requests(), rules(i), BUDGET);
      try {
        Rollout rollout = Rollout.of(i.fleet(), plan);
        RolloutChecks.check(rollout, seed);
        suspended += rollout.givingWay().size();
        if (plan.moves().isEmpty() && plan.evictions().isEmpty()) {
          continue;
        }
        disturbed++;
        for (Step step : rollout.steps()) {
          // The others of its wave were done, and nothing after it.
          List<Integer> done =
              rollout.steps().stream()
                  .filter(s -> s.wave() <= step.wave() && s.number() != step.number())
                  .map(Step::number)
                  .toList();
          again(i, rules(i), rollout.at(done), seed);
          failed++;
        }
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError("seed " + seed + "\n" + i, e);
      }
    }
    assertThat(disturbed).isGreaterThanOrEqualTo(12);
    assertThat(failed).isGreaterThanOrEqualTo(40);
    // The planner moves no more than it must, so circles are rare.
    assertThat(suspended).isLessThan(failed);
  }

  private static void again(Instance i, PlanningRules rules, Rollout.Progress progress, long seed) {
    Fleet fleet = progress.cleared();
    List<SliceRequest> wanted = new ArrayList<>(progress.waiting());
    for (SliceRequest request : i.requests()) {
      if (!wanted.contains(request) && fleet.runningOf(request.id()).isEmpty()) {
        wanted.add(request);
      }
    }
    Plan next = PLANNER.plan(fleet, wanted, rules, BUDGET);
    assertThat(PlanVerifier.verify(fleet, wanted, rules, CostTerms.DEFAULT, next)).isEmpty();
    RolloutChecks.check(Rollout.of(fleet, next), seed);
  }
}
