package dev.slicewright.formulation.ortools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Item;
import dev.slicewright.formulation.PlacementModel.Level;
import dev.slicewright.formulation.conformance.RandomModels;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CpSatFormulationTest {

  private final CpSatFormulation formulation = CpSatFormulation.create();

  private static FormulationTask task(
      Duration left, int @org.jspecify.annotations.Nullable [] start, Consumer<int[]> listener) {
    return task(left, start, listener, new CancelToken());
  }

  private static FormulationTask task(
      Duration left,
      int @org.jspecify.annotations.Nullable [] start,
      Consumer<int[]> listener,
      CancelToken cancel) {
    return new FormulationTask(
        0,
        new long[0],
        System.nanoTime() + left.toNanos(),
        SolveBudget.within(Duration.ofSeconds(60)),
        0,
        start,
        listener,
        cancel);
  }

  private static final Consumer<int[]> DEAF = solution -> {};

  @Test
  void namesItself() {
    assertThat(formulation.name()).isEqualTo("cp-sat");
  }

  @Test
  void levelsThatDoNotExist() {
    PlacementModel model = RandomModels.line(5, 1, 1);
    FormulationTask wrong =
        new FormulationTask(
            1,
            new long[1],
            System.nanoTime(),
            SolveBudget.within(Duration.ofSeconds(1)),
            0,
            null,
            DEAF,
            new CancelToken());
    assertThat(formulation.whyNot(model, wrong).orElseThrow()).contains("level below 1", "was 1");
    assertThatThrownBy(() -> formulation.solve(model, wrong))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("level below 1");
  }

  @Test
  void largeModelsAreDeclinedAndEqualItemsCountOnce() {
    Duration hour = Duration.ofHours(1);
    // 300 x 900 candidates of 2 to 7 cells; each of six sizes counts once.
    PlacementModel alike = RandomModels.line(900, 300, 1);
    assertThat(formulation.whyNot(alike, task(hour, null, DEAF))).isEmpty();
    assertThat(formulation.whyNot(alike, task(Duration.ofMillis(20), null, DEAF)).orElseThrow())
        .contains("literals", "500000", "more time");

    PlacementModel.Builder b = PlacementModel.builder(600, List.of(new Level("value", true)));
    for (int i = 0; i < 1_000; i++) {
      int item = b.item(new Item("i", b.group(Group.wanted("g"))));
      b.candidate(
          new Candidate(
              item,
              IntStream.range(0, 500).toArray(),
              new long[] {i},
              List.of(),
              0,
              0,
              0,
              false,
              null));
    }
    assertThat(formulation.whyNot(b.build(), task(hour, null, DEAF)).orElseThrow())
        .contains("literals", "500000");
  }

  @Test
  void magnitudesBeyondTheBudgetFailWithAReason() {
    PlacementModel.Builder b = PlacementModel.builder(0, List.of(new Level("value", true)));
    for (long gain : new long[] {(1L << 61) - 1, 1L << 60}) {
      int item = b.item(new Item("i", b.group(Group.wanted("g"))));
      b.candidate(
          new Candidate(item, new int[0], new long[] {gain}, List.of(), 0, 0, 0, false, null));
    }
    FormulationResult result =
        formulation.solve(b.build(), task(Duration.ofSeconds(30), null, DEAF));
    assertThat(result.status()).isEqualTo(Status.FAILED);
    assertThat(result.message()).contains("2^60", "level 0 (value)", "scale");
  }

  @Test
  void completeWarmStartsAreFeasibleHints() {
    PlacementModel model = RandomModels.knapsack(60, 4, 2);
    FormulationTask plain = task(Duration.ofSeconds(30), null, DEAF);
    // The best that half a deterministic second finds, then from there.
    int[] first =
        formulation
            .solve(
                model,
                new FormulationTask(
                    0,
                    plain.held(),
                    plain.deadlineNanos(),
                    SolveBudget.builder().deadline(Duration.ofSeconds(1)).build(),
                    0,
                    null,
                    DEAF,
                    plain.cancel()))
            .solution()
            .orElseThrow();
    long[] best = {Long.MIN_VALUE};
    CancelToken cancel = new CancelToken();
    FormulationResult again =
        formulation.solve(
            model,
            task(
                Duration.ofSeconds(30),
                first,
                solution -> {
                  if (best[0] == Long.MIN_VALUE) {
                    best[0] = model.evaluate(solution)[0];
                    cancel.cancel();
                  }
                },
                cancel));
    assertThat(again.message()).contains("warm start complete");
    assertThat(best[0]).isGreaterThanOrEqualTo(model.evaluate(first)[0]);
  }

  @Test
  void whatLingersIsLeftBehindAndCounted() throws Exception {
    PlacementModel model = RandomModels.knapsack(100, 5, 3);
    CountDownLatch hang = new CountDownLatch(1);
    for (int n = 0; n < NativeGate.MAX_LINGERING; n++) {
      assertThat(formulation.whyNot(model, task(Duration.ofSeconds(30), null, DEAF))).isEmpty();
      CancelToken cancel = new CancelToken();
      // A listener that does not return holds up the native side as an overrun does.
      Consumer<int[]> hanging =
          solution -> {
            cancel.cancel();
            try {
              hang.await();
            } catch (InterruptedException e) {
              throw new IllegalStateException(e);
            }
          };
      FormulationResult result =
          formulation.solve(model, task(Duration.ofSeconds(60), null, hanging, cancel));
      assertThat(result.status()).isEqualTo(Status.CANCELLED);
      assertThat(result.message()).contains("left behind");
      model.evaluate(result.solution().orElseThrow());
    }
    assertThat(formulation.whyNot(model, task(Duration.ofSeconds(30), null, DEAF)).orElseThrow())
        .contains("overran");
    hang.countDown();
    for (int n = 0; n < 3_000; n++) {
      if (formulation.whyNot(model, task(Duration.ofSeconds(30), null, DEAF)).isEmpty()) {
        return;
      }
      Thread.sleep(10);
    }
    throw new AssertionError("the threads left behind never ended");
  }

  @Test
  void aListenerThatHangsDoesNotHoldTheDeadline() {
    PlacementModel model = RandomModels.knapsack(100, 5, 3);
    CountDownLatch hang = new CountDownLatch(1);
    FormulationResult result =
        formulation.solve(
            model,
            task(
                Duration.ofMillis(500),
                null,
                solution -> {
                  try {
                    hang.await();
                  } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                  }
                }));
    assertThat(result.status()).isIn(Status.FEASIBLE, Status.UNKNOWN);
    hang.countDown();
  }
}
