package dev.slicewright.formulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectMethod;

import dev.slicewright.formulation.Formulation.Capability;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.conformance.FormulationConformance;
import dev.slicewright.formulation.conformance.ModelBruteForce;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/** The conformance suite passes an honest formulation and fails each kind of lie. */
class ConformanceFindsLiesTest {

  // ---- formulations ----------------------------------------------------------------------------

  private record Answering(
      Set<Capability> capabilities,
      BiFunction<PlacementModel, FormulationTask, FormulationResult> by)
      implements Formulation {
    Answering {
      capabilities = Collections.unmodifiableSet(capabilities);
    }

    @Override
    public String name() {
      return "answering";
    }

    /** As large as brute force can hold, where that is what answers. */
    @Override
    public Optional<String> whyNot(PlacementModel model, FormulationTask task) {
      boolean enumerates =
          !capabilities.contains(Capability.STREAM) && !capabilities.contains(Capability.INTERRUPT);
      return enumerates && (model.items().size() > 8 || model.candidates().size() > 36)
          ? Optional.of("It has more than 8 items or 36 candidates.")
          : Optional.empty();
    }

    @Override
    public FormulationResult solve(PlacementModel model, FormulationTask task) {
      return by.apply(model, task);
    }
  }

  private static final Set<Capability> ALL_ANSWERS =
      EnumSet.of(Capability.BOUND, Capability.SIDE_ROWS, Capability.GROUP_TIES);

  /** The truth, by trying everything. */
  private static FormulationResult truth(PlacementModel model, FormulationTask task) {
    ModelBruteForce truth = ModelBruteForce.of(model);
    OptionalLong optimum = truth.optimum(task.level(), task.held());
    if (optimum.isEmpty()) {
      return new FormulationResult(Status.INFEASIBLE, null, null, "");
    }
    for (int[] chosen : truth.solutions().values()) {
      long[] values = model.evaluate(chosen);
      if (values[task.level()] == optimum.getAsLong() && keeps(model, task, values)) {
        task.listener().accept(chosen);
        return new FormulationResult(Status.OPTIMAL, chosen, optimum.getAsLong(), "");
      }
    }
    throw new AssertionError();
  }

  private static boolean keeps(PlacementModel model, FormulationTask task, long[] values) {
    for (int l = 0; l < task.level(); l++) {
      boolean most = !model.levels().get(l).maximise();
      if (most ? values[l] > task.held()[l] : values[l] < task.held()[l]) {
        return false;
      }
    }
    return true;
  }

  /** A suite with short patience over few models. */
  abstract static class Suite extends FormulationConformance {
    private final Formulation formulation;

    Suite(
        Set<Capability> capabilities,
        BiFunction<PlacementModel, FormulationTask, FormulationResult> by) {
      this.formulation = new Answering(capabilities, by);
    }

    @Override
    protected Formulation formulation() {
      return formulation;
    }

    @Override
    protected int models() {
      return 30;
    }

    @Override
    protected Duration patience() {
      return Duration.ofMillis(500);
    }
  }

  static class Honest extends Suite {
    Honest() {
      super(ALL_ANSWERS, ConformanceFindsLiesTest::truth);
    }
  }

  /** Any solution is called the best. */
  static class ClaimsOptima extends Suite {
    ClaimsOptima() {
      super(
          Set.of(Capability.SIDE_ROWS, Capability.GROUP_TIES),
          (model, task) -> {
            int[] any = ModelBruteForce.of(model).any().orElse(null);
            return any == null || !keeps(model, task, model.evaluate(any))
                ? new FormulationResult(Status.UNKNOWN, null, null, "")
                : new FormulationResult(Status.OPTIMAL, any, null, "");
          });
    }
  }

  static class ClaimsInfeasible extends Suite {
    ClaimsInfeasible() {
      super(Set.of(), (m, t) -> new FormulationResult(Status.INFEASIBLE, null, null, ""));
    }
  }

  static class BoundsTooWell extends Suite {
    BoundsTooWell() {
      super(
          Set.of(Capability.SIDE_ROWS, Capability.GROUP_TIES),
          (model, task) -> {
            FormulationResult r = truth(model, task);
            return r.bound() == null
                ? r
                : new FormulationResult(
                    Status.FEASIBLE,
                    r.chosen(),
                    r.bound() + (model.levels().get(task.level()).maximise() ? -1 : 1),
                    "");
          });
    }
  }

  /** One that says BOUND has to prove. */
  static class ProvesNothing extends Suite {
    ProvesNothing() {
      super(
          ALL_ANSWERS, (model, task) -> new FormulationResult(Status.UNKNOWN, null, null, "tired"));
    }
  }

  /** Every item at its first candidate. */
  static class BreaksRules extends Suite {
    BreaksRules() {
      super(
          Set.of(),
          (model, task) -> {
            int[] chosen = new int[model.items().size()];
            Arrays.fill(chosen, -1);
            for (int c = model.candidates().size() - 1; c >= 0; c--) {
              Candidate candidate = model.candidates().get(c);
              chosen[candidate.item()] = c;
            }
            return new FormulationResult(Status.FEASIBLE, chosen, null, "");
          });
    }
  }

  static class ForgetsWhatIsHeld extends Suite {
    ForgetsWhatIsHeld() {
      super(
          Set.of(Capability.SIDE_ROWS, Capability.GROUP_TIES),
          (model, task) -> {
            int[] any = ModelBruteForce.of(model).any().orElse(null);
            return any == null
                ? new FormulationResult(Status.UNKNOWN, null, null, "")
                : new FormulationResult(Status.FEASIBLE, any, null, "");
          });
    }
  }

  static class SaysNothing extends Suite {
    SaysNothing() {
      super(Set.of(), (model, task) -> null);
    }
  }

  static class FailsWithoutAWord extends Suite {
    FailsWithoutAWord() {
      super(Set.of(), (m, t) -> new FormulationResult(Status.FAILED, null, null, ""));
    }
  }

  static class ClaimsToBeCancelled extends Suite {
    ClaimsToBeCancelled() {
      super(Set.of(), (m, t) -> new FormulationResult(Status.CANCELLED, null, null, ""));
    }
  }

  static class StreamsNonsense extends Suite {
    StreamsNonsense() {
      super(
          Set.of(Capability.STREAM),
          (model, task) -> {
            int[] nothing = new int[model.items().size()];
            Arrays.fill(nothing, -1);
            task.listener().accept(new int[] {7, 7, 7});
            task.listener().accept(nothing);
            return new FormulationResult(Status.FEASIBLE, nothing, null, "");
          });
    }
  }

  /** Says that it can be cancelled, and cannot. */
  static class Deaf extends Suite {
    Deaf() {
      super(
          Set.of(Capability.INTERRUPT, Capability.SIDE_ROWS),
          (model, task) -> {
            long end = System.nanoTime() + 3_000_000_000L;
            while (System.nanoTime() < end) {
              LockSupport.parkNanos(end - System.nanoTime());
              Thread.interrupted(); // deaf to that too
            }
            return new FormulationResult(Status.CANCELLED, null, null, "");
          });
    }
  }

  /** Two at once fail. */
  static class Alone extends Suite {
    Alone() {
      super(ALL_ANSWERS, alone());
    }

    private static BiFunction<PlacementModel, FormulationTask, FormulationResult> alone() {
      AtomicInteger inside = new AtomicInteger();
      return (model, task) -> {
        boolean first = inside.incrementAndGet() == 1;
        try {
          Thread.sleep(2);
          return first
              ? truth(model, task)
              : new FormulationResult(Status.INFEASIBLE, null, null, "");
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        } finally {
          inside.decrementAndGet();
        }
      };
    }
  }

  /** Uses all its time, as local searches do. */
  static class UsesItsTime extends Suite {
    UsesItsTime() {
      super(
          Set.of(Capability.STREAM),
          (model, task) -> {
            int[] chosen = new int[model.items().size()];
            Arrays.fill(chosen, -1);
            for (long left = task.remainingNanos(); left > 0; left = task.remainingNanos()) {
              LockSupport.parkNanos(left);
            }
            return new FormulationResult(Status.FEASIBLE, chosen, null, "");
          });
    }
  }

  /** Declines all but tiny models, and of those forgets the deadline. */
  static class TinyAndLate extends Suite {
    TinyAndLate() {
      super(
          ALL_ANSWERS,
          (model, task) -> {
            if (task.remainingNanos() < 1_000_000_000) {
              LockSupport.parkNanos(2_000_000_000);
            }
            return truth(model, task);
          });
    }
  }

  // ---- runs ------------------------------------------------------------------------------------

  private static TestExecutionSummary run(DiscoverySelector... what) {
    SummaryGeneratingListener listener = new SummaryGeneratingListener();
    LauncherFactory.create()
        .execute(LauncherDiscoveryRequestBuilder.request().selectors(what).build(), listener);
    return listener.getSummary();
  }

  private static void fails(Class<?> suite, String method) {
    TestExecutionSummary summary = run(selectMethod(suite, method));
    assertThat(summary.getTestsFoundCount()).as(method).isEqualTo(1);
    assertThat(summary.getTestsFailedCount()).as("%s of %s", method, suite).isEqualTo(1);
  }

  private static final String TINY = "tinyModelsHaveTheOptimaOfBruteForce";

  @Test
  void anHonestOnePasses() {
    TestExecutionSummary summary = run(selectClass(Honest.class));
    assertThat(summary.getFailures()).extracting(f -> f.getException()).isEmpty();
    assertThat(summary.getTestsSucceededCount()).isGreaterThan(15);
  }

  @Test
  void oneThatClaimsOptimaFailsTheSuite() {
    TestExecutionSummary summary = run(selectClass(ClaimsOptima.class));
    assertThat(summary.getFailures())
        .extracting(f -> f.getTestIdentifier().getDisplayName())
        .contains(TINY + "()");
  }

  @Test
  void wrongAnswersAreFound() {
    for (Class<?> suite :
        List.of(
            ClaimsInfeasible.class,
            BoundsTooWell.class,
            ProvesNothing.class,
            BreaksRules.class,
            ForgetsWhatIsHeld.class,
            SaysNothing.class,
            FailsWithoutAWord.class,
            ClaimsToBeCancelled.class)) {
      fails(suite, TINY);
    }
  }

  @Test
  void wrongStreamsAreFound() {
    fails(StreamsNonsense.class, "streamedSolutionsAreSolutionsAndImprove");
  }

  @Test
  void oneThatDoesNotComeBackIsFound() {
    fails(Deaf.class, "cancelledAtOnceAndDuring");
    fails(Deaf.class, "aDeadlineThatComes");
  }

  @Test
  void deadlinesAreTestedOnTinyModelsWhereOthersAreDeclined() {
    fails(TinyAndLate.class, "aDeadlineInThePast");
  }

  @Test
  void runsThatTheDeadlineEndsAreNotComparedAndWhatIsSkippedSaysWhy() {
    assertThat(skipped(UsesItsTime.class, "reproducibleRunsAreEqual")).contains("deadline");
    assertThat(skipped(UsesItsTime.class, "cancelledAtOnceAndDuring")).contains("INTERRUPT");
    assertThat(skipped(UsesItsTime.class, "allModesAndWorkersAgree")).contains("exact()");
    assertThat(skipped(Honest.class, "reproducibleRunsAreEqual"))
        .contains("declines PlacementModel[", "more than 8 items");
  }

  private static String skipped(Class<?> suite, String method) {
    List<String> why = new ArrayList<>();
    LauncherFactory.create()
        .execute(
            LauncherDiscoveryRequestBuilder.request()
                .selectors(selectMethod(suite, method))
                .build(),
            new TestExecutionListener() {
              @Override
              public void executionFinished(TestIdentifier test, TestExecutionResult result) {
                if (test.isTest()) {
                  assertThat(result.getStatus())
                      .as("%s: %s", method, result)
                      .isEqualTo(TestExecutionResult.Status.ABORTED);
                  why.add(result.getThrowable().orElseThrow().getMessage());
                }
              }
            });
    assertThat(why).hasSize(1);
    return why.get(0);
  }

  @Test
  void oneThatOnlyWorksAloneIsFound() {
    fails(Alone.class, "manyThreadsAtOnce");
  }
}
