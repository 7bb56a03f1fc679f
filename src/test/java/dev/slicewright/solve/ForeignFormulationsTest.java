package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.SolverUnavailableException;
import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.ortools.CpSatFormulation;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomFleets.Instance;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;

/** Formulations that throw, lie, hang or answer nonsense never spoil a plan. */
class ForeignFormulationsTest {

  private record Foreign(
      String name,
      Set<Capability> capabilities,
      BiFunction<PlacementModel, FormulationTask, FormulationResult> answer)
      implements Formulation {
    @Override
    public Optional<String> whyNot(PlacementModel model, FormulationTask task) {
      return Optional.empty();
    }

    @Override
    public FormulationResult solve(PlacementModel model, FormulationTask task) {
      return answer.apply(model, task);
    }
  }

  private static Formulation foreign(
      BiFunction<PlacementModel, FormulationTask, FormulationResult> answer) {
    return new Foreign(
        "foreign",
        EnumSet.of(Formulation.Capability.SIDE_ROWS, Formulation.Capability.GROUP_TIES),
        answer);
  }

  private static int[] start(PlacementModel model, FormulationTask task) {
    int[] nothing = new int[model.items().size()];
    Arrays.fill(nothing, -1);
    return task.start().orElse(nothing);
  }

  /** Plans problems that search and bounds leave open; returns the notes of all. */
  private static String notes(Formulation... formulations) {
    StringBuilder notes = new StringBuilder();
    int open = 0;
    for (long seed = 0; open < 12; seed++) {
      Instance i = TinyProblems.of(seed, EnumSet.allOf(RandomFleets.Kind.class));
      Plan alone = plan(i, 40);
      if (alone.score().isOptimal()) {
        continue;
      }
      open++;
      Plan right = plan(i, 5_000, CpSatFormulation.create());
      long before = System.nanoTime();
      Plan plan = plan(i, 40, formulations);
      assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(Duration.ofSeconds(5));
      assertThat(PlanVerifier.verify(i.fleet(), i.requests(), i.rules(), i.cost(), plan)).isEmpty();
      assertThat(plan.score().compareValues(right.score())).isLessThanOrEqualTo(0);
      if (plan.score().isOptimal()) {
        assertThat(plan.score().values()).isEqualTo(right.score().values());
      }
      notes.append(plan.notes()).append('\n');
    }
    return notes.toString();
  }

  private static Plan plan(Instance i, long millis, Formulation... formulations) {
    return SlicePlanner.builder()
        .cost(i.cost())
        .failOnRejectedPlan(true)
        .formulations(List.of(formulations))
        .build()
        .plan(i.fleet(), i.requests(), i.rules(), SolveBudget.within(Duration.ofMillis(millis)));
  }

  @Test
  void whatThrowsIsReported() {
    assertThat(
            notes(
                foreign(
                    (m, t) -> {
                      throw new IllegalStateException("out of luck");
                    })))
        .contains("foreign failed", "out of luck");
    assertThat(
            notes(
                foreign(
                    (m, t) -> {
                      throw new StackOverflowError();
                    })))
        .contains("foreign failed");
    assertThat(
            notes(
                foreign(
                    (m, t) -> {
                      throw new SolverUnavailableException("no solver on this machine", null);
                    })))
        .contains("foreign cannot run here: no solver on this machine");
    assertThat(notes(foreign((m, t) -> null))).contains("gave no answer");
  }

  @Test
  void nonsenseIsDropped() {
    assertThat(
            notes(foreign((m, t) -> new FormulationResult(Status.OPTIMAL, new int[0], null, ""))))
        .contains("breaks its model");
    assertThat(
            notes(
                foreign(
                    (m, t) -> {
                      int[] chosen = new int[m.items().size()];
                      Arrays.fill(chosen, Integer.MAX_VALUE);
                      return new FormulationResult(Status.FEASIBLE, chosen, 7L, "");
                    })))
        .contains("breaks its model");
  }

  @Test
  void oneThatDeclinesIsNamed() {
    Formulation simple = new Foreign("simple", Set.of(), (m, t) -> null);
    assertThat(notes(simple)).contains("simple was not used");
  }

  @Test
  void oneThatIsNamedIsAskedThoughMadeForOtherModels() {
    Formulation simple = new Foreign("simple", Set.of(), (m, t) -> null);
    assertThat(notes(MeshSearchFormulation.create())).contains("was not used");
    assertThat(notes(simple, MeshSearchFormulation.create()))
        .contains("simple was not used", MeshSearchFormulation.create().name() + " was not used");
  }

  @Test
  void liesDoNotCount() {
    // The solution in hand, claimed to be the best.
    Formulation liar =
        foreign(
            (m, t) -> {
              int[] chosen = start(m, t);
              long value = m.evaluate(chosen)[t.level()];
              return new FormulationResult(Status.OPTIMAL, chosen, value, "trust me");
            });
    assertThat(notes(liar)).contains("nothing else confirms");
    assertThat(notes(foreign((m, t) -> new FormulationResult(Status.INFEASIBLE, null, null, ""))))
        .contains("claims that there is no plan");
    Formulation low =
        foreign(
            (m, t) -> {
              long worst = m.levels().get(t.level()).maximise() ? -1L << 40 : 1L << 40;
              return new FormulationResult(Status.FEASIBLE, start(m, t), worst, "");
            });
    assertThat(notes(low)).contains("claims a bound that the plan in hand beats");
  }

  @Test
  void oneThatHangsIsLeftBehind() {
    CountDownLatch never = new CountDownLatch(1);
    Formulation hanging =
        foreign(
            (m, t) -> {
              while (true) {
                try {
                  never.await();
                  return new FormulationResult(Status.UNKNOWN, null, null, "");
                } catch (InterruptedException e) {
                  // deaf
                }
              }
            });
    assertThat(notes(hanging)).contains("foreign did not come back in time");
    never.countDown();
  }

  @Test
  void twoThatAgreeCount() {
    CpSatFormulation inner = CpSatFormulation.create();
    Formulation second = foreign(inner::solve);
    int agreed = 0;
    for (long seed = 0; seed < 40; seed++) {
      Instance i = TinyProblems.of(seed, EnumSet.allOf(RandomFleets.Kind.class));
      if (!plan(i, 40).score().isOptimal()) {
        Formulation third = new Foreign("third", second.capabilities(), inner::solve);
        Plan plan = plan(i, 10_000, second, third);
        agreed += plan.score().isOptimal() ? 1 : 0;
      }
    }
    assertThat(agreed).isPositive();
  }
}
