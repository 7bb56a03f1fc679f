package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.ProcessFormulation;
import dev.slicewright.formulation.Wayward;
import dev.slicewright.formulation.ortools.CpSatFormulation;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Proof;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomFleets.Instance;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Plans whose formulation runs, and dies, in a process of its own. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ProcessPlanTest {

  /** Time enough to start a process on a busy machine. */
  private static final Duration TIME = Duration.ofSeconds(20);

  private static Plan plan(Instance i, Formulation... formulations) {
    return plan(i, TIME, formulations);
  }

  private static Plan plan(Instance i, Duration time, Formulation... formulations) {
    return SlicePlanner.builder()
        .cost(i.cost())
        .failOnRejectedPlan(true)
        .formulations(List.of(formulations))
        .build()
        .plan(i.fleet(), i.requests(), i.rules(), SolveBudget.within(time));
  }

  private static boolean isClosedByCpSat(Plan plan) {
    return plan.score().isOptimal()
        && plan.score().levels().stream().anyMatch(l -> l.proof() instanceof Proof.Agreement);
  }

  /** A problem that search and bounds leave open and CP-SAT closes. */
  static Instance open() {
    return Found.OPEN;
  }

  private static final class Found {
    static final Instance OPEN = find();
  }

  private static Instance find() {
    CpSatFormulation.availability();
    for (long seed = 0; ; seed++) {
      Instance i = TinyProblems.of(seed, EnumSet.allOf(RandomFleets.Kind.class));
      SolveBudget little = SolveBudget.within(Duration.ofMillis(40));
      Plan alone =
          SlicePlanner.builder()
              .cost(i.cost())
              .formulations(List.of())
              .build()
              .plan(i.fleet(), i.requests(), i.rules(), little);
      if (!alone.score().isOptimal()
          && isClosedByCpSat(plan(i, Duration.ofSeconds(2), CpSatFormulation.create()))) {
        return i;
      }
    }
  }

  private static ProcessFormulation wayward(String deed) {
    return ProcessFormulation.builder(Wayward.class)
        .jvmOptions(List.of("-Xmx64m", "-XX:+UseSerialGC", "-Dwayward.deed=" + deed))
        .warmUp(false)
        .build();
  }

  @Test
  void aDeathLeavesThePlanOfTheSearch() {
    Instance i = open();
    try (ProcessFormulation declines = wayward("decline");
        ProcessFormulation halts = wayward("halt")) {
      Plan search = plan(i, declines);
      assertThat(search.notes())
          .anyMatch(n -> n.equals("wayward was not used: It would rather not."));
      for (int again = 0; again < 2; again++) { // the second time with another process
        Plan plan = plan(i, halts);
        assertThat(PlanVerifier.verify(i.fleet(), i.requests(), i.rules(), i.cost(), plan))
            .isEmpty();
        assertThat(plan.score().compareValues(search.score())).isGreaterThanOrEqualTo(0);
        assertThat(plan.notes())
            .anyMatch(n -> n.matches("(?s)wayward failed: .*its process died with exit code 77.*"));
        assertThat(plan.engines()).contains("search", "wayward");
      }
    }
  }

  @Test
  void cpSatProvesFromOutsideWhatItProvesWithin() {
    Instance i = open();
    try (ProcessFormulation outside =
        ProcessFormulation.builder(CpSatFormulation.class)
            .jvmOptions(List.of("-Xmx256m", "-XX:+UseSerialGC"))
            .build()) {
      Plan plan = plan(i, outside);
      assertThat(plan.score().isOptimal()).as("%s", plan.notes()).isTrue();
      assertThat(isClosedByCpSat(plan)).isTrue();
      assertThat(plan.score().values())
          .isEqualTo(plan(i, CpSatFormulation.create()).score().values());
    }
  }
}
