package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.request.PlanningRules;
import java.time.Duration;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Published packing instances as gangs on one mesh: all placed, or proved that they cannot be. */
class OppTest {

  /** Such as are quick on any machine. */
  private static final Set<String> QUICK =
      Set.of(
          "E00N10", "E02F22", "E02N20", "E03N10", "E03X18", "E04F17", "E04N17", "E05F15", "E07N10",
          "E08F15", "E10N10", "E13N15", "E15N10", "E20F15", "E20X15");

  @Test
  void fileIsWhole() {
    assertThat(OppInstances.all()).hasSize(41);
    assertThat(OppInstances.all().stream().filter(OppInstances.Opp::feasible)).hasSize(15);
  }

  @Test
  void quickOnesAreAnsweredRight() {
    SlicePlanner planner = SlicePlanner.builder().failOnRejectedPlan(true).build();
    SolveBudget budget =
        SolveBudget.within(Duration.ofSeconds(60)).toBuilder()
            .mode(SolveBudget.Mode.FAST)
            .workers(2)
            .build();
    for (OppInstances.Opp opp : OppInstances.all()) {
      if (!QUICK.contains(opp.name())) {
        continue;
      }
      Plan plan = planner.plan(opp.fleet(), opp.requests(), budget);
      assertThat(
              PlanVerifier.verify(
                  opp.fleet(), opp.requests(), PlanningRules.NONE, CostTerms.DEFAULT, plan))
          .isEmpty();
      LevelScore placed =
          plan.score().levels().stream()
              .filter(l -> l.level().kind() == Level.Kind.PLACED)
              .findFirst()
              .orElseThrow();
      if (opp.feasible()) {
        assertThat(plan.unplaced()).as(opp.name()).isEmpty();
      } else {
        assertThat(plan.placements()).as(opp.name()).isEmpty();
        assertThat(placed.bound()).as("%s: %s", opp.name(), plan.notes()).isZero();
        assertThat(placed.proof()).as(opp.name()).isNotInstanceOf(Proof.Trivial.class);
      }
    }
  }
}
