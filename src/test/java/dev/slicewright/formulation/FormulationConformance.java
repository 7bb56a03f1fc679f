package dev.slicewright.formulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import dev.slicewright.formulation.Formulation.Capability;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Item;
import dev.slicewright.formulation.PlacementModel.Level;
import dev.slicewright.formulation.PlacementModel.Row;
import dev.slicewright.formulation.PlacementModel.Term;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What every {@link Formulation} must do, as far as it says that it can. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class FormulationConformance {

  protected abstract Formulation formulation();

  /** How many tiny models to try. */
  protected int models() {
    return 1_000;
  }

  /** Variants that must agree. */
  protected int variants() {
    return 2;
  }

  protected final boolean can(Capability capability) {
    return formulation().capabilities().contains(capability);
  }

  protected static final Consumer<int[]> DEAF = solution -> {};

  protected static final SolveBudget BUDGET = SolveBudget.within(Duration.ofSeconds(30));

  /** Skips a test whose model is of a kind that the formulation says it does not take. */
  private PlacementModel taken(PlacementModel model) {
    assumeTrue(
        !can(Capability.NEEDS_GRID) || model.candidates().stream().allMatch(c -> c.grid() != null));
    assumeTrue(formulation().whyNot(model, task(0)).isEmpty());
    return model;
  }

  /** A task with half a minute. */
  protected static FormulationTask task(int level, long... held) {
    return task(BUDGET, 0, level, held);
  }

  protected static FormulationTask task(SolveBudget budget, int variant, int level, long... held) {
    return new FormulationTask(
        level, held, in(Duration.ofSeconds(30)), budget, variant, null, DEAF, new CancelToken());
  }

  protected static long in(Duration duration) {
    return System.nanoTime() + duration.toNanos();
  }

  /** A tiny model that the formulation should take. */
  protected PlacementModel tiny(long seed) {
    return RandomModels.tiny(seed, can(Capability.SIDE_ROWS), can(Capability.GROUP_TIES));
  }

  // ---- right answers ---------------------------------------------------------------------------

  @Test
  void tinyModelsHaveTheOptimaOfBruteForce() {
    int infeasible = 0;
    for (long seed = 0; seed < models(); seed++) {
      PlacementModel model = tiny(seed);
      ModelBruteForce truth = ModelBruteForce.of(model);
      long[] best = truth.lexicographic().orElse(null);
      for (int variant = 0; variant < variants(); variant++) {
        if (best == null) {
          infeasible++;
          FormulationResult result = formulation().solve(model, task(BUDGET, variant, 0));
          assertThat(result.status()).as("model %d: %s", seed, result).isEqualTo(Status.INFEASIBLE);
          continue;
        }
        for (int level = 0; level < best.length; level++) {
          long[] held = Arrays.copyOf(best, level);
          check(seed, model, truth, task(BUDGET, variant, level, held));
        }
      }
    }
    assertThat(infeasible).as("the generator makes some infeasible models").isPositive();
    assertThat(infeasible).as("and not too many").isLessThan(models());
  }

  @Test
  void heldValuesMayBeAnything() {
    for (long seed = 0; seed < models() / 4; seed++) {
      PlacementModel model = tiny(1_000_000 + seed);
      if (model.levels().size() < 2) {
        continue;
      }
      ModelBruteForce truth = ModelBruteForce.of(model);
      Random random = new Random(seed);
      int level = model.levels().size() - 1;
      long[] held =
          random
              .longs(level, -5, 20)
              .map(
                  h -> random.nextInt(20) == 0 ? (h % 2 == 0 ? Long.MIN_VALUE : Long.MAX_VALUE) : h)
              .toArray();
      check(seed, model, truth, task(BUDGET, (int) (seed % variants()), level, held));
    }
  }

  private void check(long seed, PlacementModel model, ModelBruteForce truth, FormulationTask task) {
    FormulationResult result = formulation().solve(model, task);
    OptionalLong optimum = truth.optimum(task.level(), task.held());
    if (optimum.isEmpty()) {
      assertThat(result.status())
          .as("model %d level %d: %s", seed, task.level(), result)
          .isEqualTo(Status.INFEASIBLE);
      return;
    }
    assertThat(result.status())
        .as("model %d level %d: %s", seed, task.level(), result)
        .isEqualTo(Status.OPTIMAL);
    long[] values = model.evaluate(result.solution().orElseThrow());
    assertThat(values[task.level()])
        .as("model %d level %d: %s", seed, task.level(), result)
        .isEqualTo(optimum.getAsLong());
    assertThat(truth.solutions()).containsKey(Arrays.stream(values).boxed().toList());
    for (int l = 0; l < task.level(); l++) {
      if (model.levels().get(l).maximise()) {
        assertThat(values[l]).isGreaterThanOrEqualTo(task.held()[l]);
      } else {
        assertThat(values[l]).isLessThanOrEqualTo(task.held()[l]);
      }
    }
    if (can(Capability.BOUND)) {
      assertThat(result.claimedBound()).hasValue(optimum.getAsLong());
    }
  }

  // ---- degenerate models -----------------------------------------------------------------------

  private static PlacementModel.Builder oneLevel(int cells) {
    return PlacementModel.builder(cells, List.of(new Level("value", true)));
  }

  @Test
  void withoutItems() {
    FormulationResult result = formulation().solve(taken(oneLevel(3).build()), task(0));
    assertThat(result.status()).isEqualTo(Status.OPTIMAL);
    assertThat(result.solution().orElseThrow()).isEmpty();
    assertThat(result.claimedBound().orElse(0)).isZero();
  }

  @Test
  void withoutCandidates() {
    PlacementModel.Builder b = oneLevel(0);
    b.item(new Item("a", b.group(Group.wanted("a"))));
    FormulationResult result = formulation().solve(taken(b.build()), task(0));
    assertThat(result.status()).isEqualTo(Status.OPTIMAL);
    assertThat(result.solution().orElseThrow()).containsExactly(-1);
  }

  private static Group mandatory(int gang) {
    return new Group(
        "g", gang, true, false, false, false, false, 0, new long[0], new long[0], List.of());
  }

  @Test
  void mandatoryWithoutCandidatesIsInfeasible() {
    PlacementModel.Builder b = oneLevel(0);
    b.item(new Item("a", b.group(mandatory(-1))));
    assertThat(formulation().solve(taken(b.build()), task(0)).status())
        .isEqualTo(Status.INFEASIBLE);
  }

  @Test
  void mandatoryGangWithAMemberWithoutCandidatesIsInfeasible() {
    assumeTrue(can(Capability.GROUP_TIES));
    PlacementModel.Builder b = oneLevel(1);
    int first = b.item(new Item("a", b.group(mandatory(0))));
    b.candidate(
        new Candidate(first, new int[] {0}, new long[] {1}, List.of(), 0, 0, 0, false, null));
    Group other =
        new Group(
            "h", 0, false, false, false, false, false, 0, new long[0], new long[0], List.of());
    b.item(new Item("b", b.group(other)));
    assertThat(formulation().solve(taken(b.build()), task(0)).status())
        .isEqualTo(Status.INFEASIBLE);
  }

  @Test
  void anUnreachableNegativeLimitIsInfeasible() {
    assumeTrue(can(Capability.SIDE_ROWS));
    for (long limit : new long[] {-1, Long.MIN_VALUE}) {
      PlacementModel.Builder b = oneLevel(0);
      b.row(new Row("r", limit));
      RandomModels.single(b, new int[0], 5, List.of());
      assertThat(formulation().solve(taken(b.build()), task(0)).status())
          .isEqualTo(Status.INFEASIBLE);
    }
  }

  @Test
  void aReachableNegativeLimitForces() {
    assumeTrue(can(Capability.SIDE_ROWS));
    PlacementModel.Builder b = oneLevel(0);
    b.row(new Row("r", -3));
    RandomModels.single(b, new int[0], -5, List.of(new Term(0, -3)));
    FormulationResult result = formulation().solve(taken(b.build()), task(0));
    assertThat(result.status()).isEqualTo(Status.OPTIMAL);
    assertThat(result.solution().orElseThrow()).containsExactly(0);
    assertThat(result.claimedBound().orElse(-5)).isEqualTo(-5);
  }

  @Test
  void unlimitedRowsAndZeroGains() {
    PlacementModel.Builder b = oneLevel(1);
    if (can(Capability.SIDE_ROWS)) {
      b.row(new Row("r", Long.MAX_VALUE));
      RandomModels.single(b, new int[] {0}, 0, List.of(new Term(0, 7)));
    } else {
      RandomModels.single(b, new int[] {0}, 0, List.of());
    }
    RandomModels.single(b, new int[] {0}, 0, List.of());
    FormulationResult result = formulation().solve(taken(b.build()), task(0));
    assertThat(result.status()).isEqualTo(Status.OPTIMAL);
    assertThat(result.claimedBound().orElse(0)).isZero();
  }

  // ---- warm starts -----------------------------------------------------------------------------

  @Test
  void warmStartsOfAnyQualityChangeNoOptimum() {
    assumeTrue(can(Capability.WARM_START));
    for (long seed = 0; seed < models() / 4; seed++) {
      PlacementModel model = tiny(2_000_000 + seed);
      ModelBruteForce truth = ModelBruteForce.of(model);
      Random random = new Random(seed);
      int n = model.items().size();
      int[] start =
          switch ((int) (seed % 4)) {
            case 0 -> truth.any().orElse(new int[n]);
            case 1 -> random.ints(n, -1, model.candidates().size() + 1).toArray();
            case 2 -> random.ints(n, Integer.MIN_VALUE, Integer.MAX_VALUE).toArray();
            default -> random.ints(random.nextInt(9), -1, 9).toArray();
          };
      FormulationTask plain = task(0);
      check(
          seed,
          model,
          truth,
          new FormulationTask(
              0, plain.held(), plain.deadlineNanos(), BUDGET, 0, start, DEAF, new CancelToken()));
    }
  }

  // ---- streams ---------------------------------------------------------------------------------

  @Test
  void streamedSolutionsAreSolutionsAndImprove() {
    assumeTrue(can(Capability.STREAM) && can(Capability.SIDE_ROWS));
    PlacementModel model = taken(RandomModels.knapsack(40, 3, 7));
    List<Long> values = Collections.synchronizedList(new ArrayList<>());
    FormulationResult result =
        formulation()
            .solve(
                model,
                new FormulationTask(
                    0,
                    new long[0],
                    in(Duration.ofSeconds(20)),
                    BUDGET,
                    0,
                    null,
                    solution -> values.add(model.evaluate(solution)[0]),
                    new CancelToken()));
    assertThat(values).isNotEmpty().isSorted();
    assertThat(values.get(values.size() - 1))
        .isEqualTo(model.evaluate(result.solution().orElseThrow())[0]);
  }

  @Test
  void whatTheListenerThrowsComesOut() {
    assumeTrue(can(Capability.STREAM));
    PlacementModel model = taken(RandomModels.line(30, 8, 3));
    for (Throwable thrown : List.of(new IllegalStateException("mine"), new AssertionError("own"))) {
      Consumer<int[]> listener =
          solution -> {
            if (thrown instanceof Error e) {
              throw e;
            }
            throw (RuntimeException) thrown;
          };
      FormulationTask task =
          new FormulationTask(
              0,
              new long[0],
              in(Duration.ofSeconds(20)),
              BUDGET,
              0,
              null,
              listener,
              new CancelToken());
      assertThatThrownBy(() -> formulation().solve(model, task)).isSameAs(thrown);
    }
    // And it works as before.
    assertThat(formulation().solve(model, task(0)).status()).isEqualTo(Status.OPTIMAL);
  }

  // ---- coming back -----------------------------------------------------------------------------

  private PlacementModel endless() {
    return taken(RandomModels.marketSplit(7, 11));
  }

  private static FormulationTask endlessTask(CancelToken cancel, Consumer<int[]> listener) {
    SolveBudget day = SolveBudget.within(Duration.ofHours(20));
    return new FormulationTask(
        0, new long[0], in(Duration.ofHours(20)), day, 0, null, listener, cancel);
  }

  @Test
  void cancelledBefore() {
    CancelToken cancel = new CancelToken();
    cancel.cancel();
    FormulationResult result = formulation().solve(endless(), endlessTask(cancel, DEAF));
    assertThat(result.status()).isEqualTo(Status.CANCELLED);
  }

  @Test
  void cancelledAtOnceAndDuring() throws Exception {
    assumeTrue(can(Capability.INTERRUPT) && can(Capability.SIDE_ROWS));
    PlacementModel model = endless();
    var pool = Executors.newSingleThreadExecutor();
    try {
      for (int millis : new int[] {0, 1, 3, 10, 300}) {
        CancelToken cancel = new CancelToken();
        Future<FormulationResult> future =
            pool.submit(() -> formulation().solve(model, endlessTask(cancel, DEAF)));
        Thread.sleep(millis);
        cancel.cancel();
        assertThat(future.get(30, TimeUnit.SECONDS).status()).isEqualTo(Status.CANCELLED);
      }
    } finally {
      pool.shutdownNow();
    }
  }

  @Test
  void cancelledWithASolutionInHand() {
    assumeTrue(can(Capability.INTERRUPT) && can(Capability.SIDE_ROWS) && can(Capability.STREAM));
    CancelToken cancel = new CancelToken();
    PlacementModel model = taken(RandomModels.knapsack(300, 20, 5));
    FormulationResult result =
        formulation().solve(model, endlessTask(cancel, solution -> cancel.cancel()));
    assertThat(result.status()).isEqualTo(Status.CANCELLED);
    long value = model.evaluate(result.solution().orElseThrow())[0];
    result.claimedBound().ifPresent(bound -> assertThat(bound).isGreaterThanOrEqualTo(value));
  }

  @Test
  void anInterruptCancelsAndStaysSet() throws Exception {
    assumeTrue(can(Capability.INTERRUPT) && can(Capability.SIDE_ROWS));
    PlacementModel model = endless();
    for (int millis : new int[] {0, 200}) {
      CountDownLatch started = new CountDownLatch(1);
      List<Object> seen = Collections.synchronizedList(new ArrayList<>());
      Thread thread =
          new Thread(
              () -> {
                started.countDown();
                seen.add(formulation().solve(model, endlessTask(new CancelToken(), DEAF)).status());
                seen.add(Thread.currentThread().isInterrupted());
              });
      thread.start();
      started.await();
      Thread.sleep(millis);
      thread.interrupt();
      thread.join(30_000);
      assertThat(seen).containsExactly(Status.CANCELLED, true);
    }
  }

  @Test
  void aDeadlineInThePast() {
    FormulationTask task =
        new FormulationTask(
            0,
            new long[0],
            System.nanoTime() - 1_000_000,
            BUDGET,
            0,
            null,
            DEAF,
            new CancelToken());
    assertThat(formulation().solve(endless(), task).status()).isEqualTo(Status.UNKNOWN);
  }

  @Test
  void aDeadlineThatComes() {
    assumeTrue(can(Capability.SIDE_ROWS));
    for (int millis : new int[] {1, 5, 20, 200}) {
      FormulationTask task =
          new FormulationTask(
              0,
              new long[0],
              in(Duration.ofMillis(millis)),
              SolveBudget.within(Duration.ofHours(20)),
              0,
              null,
              DEAF,
              new CancelToken());
      assertThat(formulation().solve(endless(), task).status()).isEqualTo(Status.UNKNOWN);
    }
  }

  @Test
  void aGapTargetIsNoProof() {
    assumeTrue(can(Capability.SIDE_ROWS));
    PlacementModel model = taken(RandomModels.knapsack(200, 10, 5));
    SolveBudget loose = BUDGET.toBuilder().gapTarget(0.5).build();
    FormulationResult result = formulation().solve(model, task(loose, 0, 0));
    long value = model.evaluate(result.solution().orElseThrow())[0];
    if (result.status() == Status.OPTIMAL) {
      assertThat(result.claimedBound()).hasValue(value);
    } else {
      assertThat(result.status()).isEqualTo(Status.FEASIBLE);
      result.claimedBound().ifPresent(bound -> assertThat(bound).isGreaterThan(value));
    }
  }

  // ---- the same again --------------------------------------------------------------------------

  @Test
  void reproducibleRunsAreEqual() {
    PlacementModel model = taken(RandomModels.line(40, 12, 9));
    FormulationResult first = formulation().solve(model, task(0));
    for (int run = 0; run < 3; run++) {
      FormulationResult again = formulation().solve(model, task(0));
      assertThat(again.status()).isEqualTo(first.status());
      assertThat(again.solution().orElseThrow()).isEqualTo(first.solution().orElseThrow());
      assertThat(again.claimedBound()).isEqualTo(first.claimedBound());
    }
  }

  @Test
  void allModesAndWorkersAgree() {
    PlacementModel model = taken(RandomModels.line(40, 12, 9));
    long value = model.evaluate(formulation().solve(model, task(0)).solution().orElseThrow())[0];
    for (SolveBudget.Mode mode : SolveBudget.Mode.values()) {
      for (int workers = 1; workers <= (mode == SolveBudget.Mode.REPRODUCIBLE ? 1 : 2); workers++) {
        SolveBudget budget = BUDGET.toBuilder().mode(mode).workers(workers).seed(-7).build();
        FormulationResult result = formulation().solve(model, task(budget, 0, 0));
        assertThat(result.status()).as("%s", budget).isEqualTo(Status.OPTIMAL);
        assertThat(model.evaluate(result.solution().orElseThrow())[0]).isEqualTo(value);
      }
    }
  }

  @Test
  void manyThreadsAtOnce() throws Exception {
    var pool = Executors.newFixedThreadPool(4);
    try {
      List<Future<?>> futures = new ArrayList<>();
      for (int t = 0; t < 4; t++) {
        long from = 3_000_000 + 50L * t;
        futures.add(
            pool.submit(
                () -> {
                  for (long seed = from; seed < from + 50; seed++) {
                    PlacementModel model = tiny(seed);
                    check(seed, model, ModelBruteForce.of(model), task(0));
                  }
                }));
      }
      for (Future<?> future : futures) {
        future.get();
      }
    } finally {
      pool.shutdownNow();
    }
  }

  // ---- magnitudes ------------------------------------------------------------------------------

  @Test
  void largeCoefficientsStayExact() {
    // Neighbouring values that no double tells apart.
    long big = 1L << 57;
    PlacementModel.Builder b = oneLevel(1);
    RandomModels.single(b, new int[] {0}, big, List.of());
    RandomModels.single(b, new int[] {0}, big + 1, List.of());
    RandomModels.single(b, new int[0], big - 3, List.of());
    PlacementModel model = taken(b.build());
    FormulationResult result = formulation().solve(model, task(0));
    if (result.status() != Status.FAILED) {
      assertThat(model.evaluate(result.solution().orElseThrow())[0]).isEqualTo(2 * big - 2);
      if (can(Capability.BOUND)) {
        assertThat(result.claimedBound()).hasValue(2 * big - 2);
      }
    }
  }

  @Test
  void coefficientsAtTheLimitAreExactOrFail() {
    long huge = PlacementModel.MAX_MAGNITUDE / 4 - 1;
    PlacementModel.Builder b = oneLevel(0);
    RandomModels.single(b, new int[0], huge, List.of());
    RandomModels.single(b, new int[0], huge - 1, List.of());
    RandomModels.single(b, new int[0], -huge, List.of());
    PlacementModel model = taken(b.build());
    FormulationResult result = formulation().solve(model, task(0));
    if (result.status() == Status.FAILED) {
      assertThat(result.message()).isNotEmpty();
    } else {
      assertThat(model.evaluate(result.solution().orElseThrow())[0]).isEqualTo(2 * huge - 1);
    }
  }
}
