package dev.slicewright.formulation.conformance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.Formulation.Capability;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
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
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.opentest4j.TestAbortedException;

/**
 * What every {@link Formulation} must do, as far as it says that it can. Extend it in a test:
 *
 * <pre>{@code
 * class MyFormulationTest extends FormulationConformance {
 *   @Override
 *   protected Formulation formulation() {
 *     return new MyFormulation();
 *   }
 * }
 * }</pre>
 *
 * <p>Answers are compared with those of {@link ModelBruteForce} on {@link RandomModels}. A
 * formulation may decline any model by {@link Formulation#whyNot}, but not nearly all. One that is
 * not {@link #exact} may say that it found something, or nothing; what it says must be true all the
 * same. Times are generous: they find what hangs, not what is slow.
 *
 * <p>Every protected method that is not final may be overridden. A test that does not apply is
 * skipped and says why: a capability that is not claimed, or a model that is declined. A
 * formulation that declines large models should give models of its own by {@link #middling}, {@link
 * #open} and {@link #endless}; where the endless one is declined, deadlines and cancellation are
 * tested on the middling or a tiny one.
 */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class FormulationConformance {

  /** What is tested; made anew or the same each time. */
  protected abstract Formulation formulation();

  /** How many tiny models to try. */
  protected int models() {
    return 1_000;
  }

  /** Variants of {@link FormulationTask#variant()} that must agree. */
  protected int variants() {
    return 2;
  }

  /** Whether it solves tiny models to the end within half a minute; else it need only be honest. */
  protected boolean exact() {
    return can(Capability.BOUND);
  }

  /** Whether the same task has the same answer again. */
  protected boolean reproducible() {
    return true;
  }

  /** How long it may go on after its deadline, or after it was cancelled if it can be. */
  protected Duration patience() {
    return Duration.ofSeconds(20);
  }

  protected final boolean can(Capability capability) {
    return formulation().capabilities().contains(capability);
  }

  protected static final Consumer<int[]> DEAF = solution -> {};

  protected static final SolveBudget BUDGET = SolveBudget.within(Duration.ofSeconds(30));

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

  // ---- models that it can take -----------------------------------------------------------------

  /** A tiny model, by default one of the kind that it says it takes. */
  protected PlacementModel tiny(long seed) {
    return can(Capability.NEEDS_GRID) || seed % 8 == 7
        ? RandomModels.gridded(seed)
        : RandomModels.tiny(seed, can(Capability.SIDE_ROWS), can(Capability.GROUP_TIES));
  }

  /** One that takes a while, with many solutions. */
  protected PlacementModel middling() {
    return can(Capability.NEEDS_GRID)
        ? RandomModels.boxes(5, 4, 7, 9)
        : RandomModels.line(40, 12, 9);
  }

  /**
   * One with solutions at once and no proof for long, if it can take such. Of about so many items
   * and side rows where there are any; its first level is maximised.
   */
  protected PlacementModel open(int items, int rows) {
    return can(Capability.SIDE_ROWS) && !can(Capability.NEEDS_GRID)
        ? RandomModels.knapsack(items, rows, 5)
        : RandomModels.boxes(24, 24, 60, 5);
  }

  /** One that nobody solves in a day, if it can take such; it has a solution. */
  protected PlacementModel endless() {
    return can(Capability.SIDE_ROWS) && !can(Capability.NEEDS_GRID)
        ? RandomModels.marketSplit(7, 11)
        : RandomModels.boxes(40, 40, 150, 11);
  }

  /** Whether {@link #endless} is sure to be so. Override it with that one. */
  protected boolean isEndless() {
    return exact() && can(Capability.SIDE_ROWS) && !can(Capability.NEEDS_GRID);
  }

  /** A model that is to take long, and whether it is sure that nobody solves it. */
  private record Lengthy(PlacementModel model, boolean sure) {}

  /** The endless model, or one that it takes instead. */
  private Lengthy lengthy(FormulationTask task) {
    PlacementModel endless = endless();
    if (!declines(endless, task)) {
      return new Lengthy(endless, isEndless());
    }
    PlacementModel middling = middling();
    if (!declines(middling, task)) {
      return new Lengthy(middling, false);
    }
    for (long seed = 0; seed < models(); seed++) {
      PlacementModel tiny = tiny(5_000_000 + seed);
      if (!declines(tiny, task) && ModelBruteForce.of(tiny).feasible()) {
        return new Lengthy(tiny, false);
      }
    }
    throw new TestAbortedException(declined(endless, task) + " And all smaller ones too.");
  }

  private Optional<String> whyNot(PlacementModel model, FormulationTask task) {
    Optional<String> why = formulation().whyNot(model, task);
    assertThat(why).as("whyNot is never null").isNotNull();
    why.ifPresent(sentence -> assertThat(sentence).as("why it declines").isNotBlank());
    return why;
  }

  private boolean declines(PlacementModel model, FormulationTask task) {
    return whyNot(model, task).isPresent();
  }

  private String declined(PlacementModel model, FormulationTask task) {
    return formulation().name()
        + " declines "
        + model
        + ": "
        + whyNot(model, task).orElse("it does not");
  }

  // ---- what is skipped says why ----------------------------------------------------------------

  private void needs(Capability... needed) {
    for (Capability capability : needed) {
      assumeTrue(can(capability), () -> formulation().name() + " does not claim " + capability);
    }
  }

  private void needsExact() {
    assumeTrue(exact(), () -> formulation().name() + " is not exact()");
  }

  private void unlessDeclined(PlacementModel model, FormulationTask task) {
    assumeTrue(!declines(model, task), () -> declined(model, task));
  }

  private FormulationResult solve(PlacementModel model, FormulationTask task) {
    FormulationResult result = formulation().solve(model, task);
    assertThat(result).as("the result is never null").isNotNull();
    return result;
  }

  /** Solves, or skips the test if it declines. */
  private FormulationResult solveOrSkip(PlacementModel model, FormulationTask task) {
    unlessDeclined(model, task);
    return solve(model, task);
  }

  /** Solves and compares with the truth; false if it declines. */
  private boolean check(
      Object name, PlacementModel model, ModelBruteForce truth, FormulationTask task) {
    if (declines(model, task)) {
      return false;
    }
    FormulationResult result = solve(model, task);
    String what = "model %s level %d: %s".formatted(name, task.level(), shown(result));
    OptionalLong optimum = truth.optimum(task.level(), task.held());
    if (exact()) {
      assertThat(result.status())
          .as(what)
          .isEqualTo(optimum.isPresent() ? Status.OPTIMAL : Status.INFEASIBLE);
    }
    honest(what, model, truth, task, result);
    if (exact() && can(Capability.BOUND) && optimum.isPresent()) {
      assertThat(result.claimedBound()).as(what).hasValue(optimum.getAsLong());
    }
    return true;
  }

  private static String shown(FormulationResult r) {
    return r.status() + " " + Arrays.toString(r.chosen()) + " " + r.bound() + " " + r.message();
  }

  /** Whether what it says is true. */
  private static void honest(
      String what,
      PlacementModel model,
      ModelBruteForce truth,
      FormulationTask task,
      FormulationResult result) {
    OptionalLong optimum = truth.optimum(task.level(), task.held());
    boolean maximise = model.levels().get(task.level()).maximise();
    result
        .solution()
        .ifPresent(
            chosen -> {
              long[] values = keeping(what, model, task, chosen);
              assertThat(truth.solutions())
                  .as(what)
                  .containsKey(Arrays.stream(values).boxed().toList());
              if (result.status() == Status.OPTIMAL) {
                assertThat(values[task.level()])
                    .as("%s, but the optimum is %s", what, optimum)
                    .isEqualTo(optimum.orElseThrow());
              }
            });
    switch (result.status()) {
      case OPTIMAL, FEASIBLE -> assertThat(result.solution()).as(what).isPresent();
      case INFEASIBLE -> assertThat(optimum).as("the optimum, but it says %s", what).isEmpty();
      case FAILED -> assertThat(result.message()).as(what).isNotBlank();
      case UNKNOWN -> {}
      case CANCELLED -> assertThat(task.cancel().isCancelled()).as(what).isTrue();
    }
    if (optimum.isPresent()) {
      result
          .claimedBound()
          .ifPresent(
              bound ->
                  assertThat(maximise ? bound >= optimum.getAsLong() : bound <= optimum.getAsLong())
                      .as("the bound of %s, where the optimum is %s", what, optimum)
                      .isTrue());
    }
  }

  /** The values of a solution, which must keep every rule and what is held. */
  private static long[] keeping(
      String what, PlacementModel model, FormulationTask task, int[] chosen) {
    long[] values = model.evaluate(chosen);
    for (int l = 0; l < task.level(); l++) {
      if (model.levels().get(l).maximise()) {
        assertThat(values[l]).as("held: %s", what).isGreaterThanOrEqualTo(task.held()[l]);
      } else {
        assertThat(values[l]).as("held: %s", what).isLessThanOrEqualTo(task.held()[l]);
      }
    }
    return values;
  }

  // ---- what it says of itself ------------------------------------------------------------------

  @Test
  void nameAndCapabilitiesAreThereAndStay() {
    assertThat(formulation().name()).isNotBlank().isEqualTo(formulation().name());
    assertThat(formulation().capabilities()).isNotNull().isEqualTo(formulation().capabilities());
    assertThatThrownBy(() -> formulation().capabilities().add(Capability.STREAM))
        .as("its capabilities cannot be changed from outside")
        .isInstanceOf(UnsupportedOperationException.class);
  }

  @Test
  void declinesAreNotTheRule() {
    int taken = 0;
    for (long seed = 0; seed < models(); seed++) {
      taken += declines(tiny(4_000_000 + seed), task(0)) ? 0 : 1;
    }
    assertThat(taken).as("of %d models", models()).isGreaterThanOrEqualTo(models() / 10);
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
          check(seed, model, truth, task(BUDGET, variant, 0));
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

  // ---- degenerate models -----------------------------------------------------------------------

  private static PlacementModel.Builder oneLevel(int cells) {
    return PlacementModel.builder(cells, List.of(new Level("value", true)));
  }

  /** Solves all levels of a model, the best of the earlier ones held. */
  private void checkAll(String name, PlacementModel.Builder b) {
    PlacementModel model = b.build();
    ModelBruteForce truth = ModelBruteForce.of(model);
    long[] best = truth.lexicographic().orElse(new long[1]);
    for (int level = 0; level < best.length; level++) {
      check(name, model, truth, task(level, Arrays.copyOf(best, level)));
    }
  }

  @Test
  void withoutItems() {
    checkAll("of nothing", oneLevel(0));
    checkAll("of cells", oneLevel(3));
    PlacementModel.Builder b = oneLevel(0);
    b.group(Group.wanted("of none"));
    checkAll("of an empty group", b);
  }

  @Test
  void withoutCandidates() {
    PlacementModel.Builder b = oneLevel(0);
    b.item(new Item("a", b.group(Group.wanted("a"))));
    b.item(new Item("b", b.group(Group.wanted("b"))));
    checkAll("without candidates", b);
  }

  private static Group mandatory(int gang) {
    return new Group(
        "g", gang, true, false, false, false, false, 0, new long[0], new long[0], List.of());
  }

  @Test
  void mandatoryWithoutCandidatesIsInfeasible() {
    PlacementModel.Builder b = oneLevel(0);
    b.item(new Item("a", b.group(mandatory(-1))));
    checkAll("mandatory without candidates", b);
  }

  @Test
  void mandatoryOnOneCellIsInfeasible() {
    PlacementModel.Builder b = oneLevel(1);
    for (int i = 0; i < 3; i++) {
      int item = b.item(new Item("a", b.group(mandatory(-1))));
      b.candidate(
          new Candidate(item, new int[] {0}, new long[] {1}, List.of(), 0, 0, 0, false, null));
    }
    checkAll("three that must have one cell", b);
  }

  @Test
  void mandatoryGangWithAMemberWithoutCandidatesIsInfeasible() {
    needs(Capability.GROUP_TIES);
    PlacementModel.Builder b = oneLevel(1);
    int first = b.item(new Item("a", b.group(mandatory(0))));
    b.candidate(
        new Candidate(first, new int[] {0}, new long[] {1}, List.of(), 0, 0, 0, false, null));
    Group other =
        new Group(
            "h", 0, false, false, false, false, false, 0, new long[0], new long[0], List.of());
    b.item(new Item("b", b.group(other)));
    checkAll("a gang that cannot be", b);
  }

  @Test
  void cellsThatNobodyWantsAndCandidatesWithoutCells() {
    PlacementModel.Builder b = oneLevel(1_000);
    RandomModels.single(b, new int[] {999}, 2, List.of());
    RandomModels.single(b, new int[] {999}, 3, List.of());
    RandomModels.single(b, new int[0], 5, List.of());
    RandomModels.single(b, new int[0], -5, List.of());
    checkAll("with empty cells", b);
  }

  @Test
  void anUnreachableNegativeLimitIsInfeasible() {
    needs(Capability.SIDE_ROWS);
    for (long limit : new long[] {-1, Long.MIN_VALUE}) {
      PlacementModel.Builder b = oneLevel(0);
      b.row(new Row("r", limit));
      RandomModels.single(b, new int[0], 5, List.of());
      checkAll("below " + limit, b);
    }
  }

  @Test
  void aReachableNegativeLimitForces() {
    needs(Capability.SIDE_ROWS);
    PlacementModel.Builder b = oneLevel(0);
    b.row(new Row("r", -3));
    RandomModels.single(b, new int[0], -5, List.of(new Term(0, -3)));
    checkAll("that forces", b);
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
    checkAll("of zeros", b);
  }

  // ---- warm starts -----------------------------------------------------------------------------

  @Test
  void warmStartsOfAnyQualityChangeNoOptimum() {
    // Those that do not use one are given it all the same.
    for (long seed = 0; seed < models() / 4; seed++) {
      PlacementModel model = tiny(2_000_000 + seed);
      ModelBruteForce truth = ModelBruteForce.of(model);
      Random random = new Random(seed);
      int n = model.items().size();
      int[] start =
          switch ((int) (seed % 5)) {
            case 0 -> truth.any().orElse(new int[n]);
            case 1 -> random.ints(n, -1, model.candidates().size() + 1).toArray();
            case 2 -> random.ints(n, Integer.MIN_VALUE, Integer.MAX_VALUE).toArray();
            case 3 -> random.ints(random.nextInt(9), -1, 9).toArray();
            default -> null;
          };
      int[] before = start == null ? null : start.clone();
      FormulationTask plain = task(0);
      check(
          seed,
          model,
          truth,
          new FormulationTask(
              0, plain.held(), plain.deadlineNanos(), BUDGET, 0, start, DEAF, new CancelToken()));
      assertThat(start).as("the warm start afterwards").isEqualTo(before);
    }
  }

  // ---- streams ---------------------------------------------------------------------------------

  @Test
  void streamedSolutionsAreSolutionsAndImprove() {
    needs(Capability.STREAM);
    PlacementModel model = can(Capability.SIDE_ROWS) ? open(40, 3) : middling();
    List<Long> values = Collections.synchronizedList(new ArrayList<>());
    List<Throwable> wrong = Collections.synchronizedList(new ArrayList<>());
    FormulationResult result =
        solveOrSkip(
            model,
            new FormulationTask(
                0,
                new long[0],
                in(Duration.ofSeconds(20)),
                BUDGET,
                0,
                null,
                solution -> {
                  try {
                    values.add(model.evaluate(solution)[0]);
                  } catch (RuntimeException e) {
                    wrong.add(e);
                  }
                },
                new CancelToken()));
    assertThat(wrong).as("streamed solutions that break a rule").isEmpty();
    assertThat(values).isNotEmpty().isSorted();
    assertThat(values.get(values.size() - 1))
        .isLessThanOrEqualTo(model.evaluate(result.solution().orElseThrow())[0]);
  }

  @Test
  void whatTheListenerThrowsComesOut() {
    needs(Capability.STREAM);
    PlacementModel model = can(Capability.NEEDS_GRID) ? middling() : RandomModels.line(30, 8, 3);
    unlessDeclined(model, task(0));
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
    assertThat(solve(model, task(0)).solution()).isPresent();
  }

  // ---- coming back -----------------------------------------------------------------------------

  private static FormulationTask endlessTask(CancelToken cancel, Consumer<int[]> listener) {
    SolveBudget day = SolveBudget.within(Duration.ofHours(20));
    return new FormulationTask(
        0, new long[0], in(Duration.ofHours(20)), day, 0, null, listener, cancel);
  }

  /** What may be said of a model that was not solved to the end, perhaps only by bad luck. */
  private void unfinished(Lengthy lengthy, FormulationResult result, Status expected) {
    if (lengthy.sure()) {
      assertThat(result.status()).as(shown(result)).isEqualTo(expected);
    } else {
      assertThat(result.status()).as(shown(result)).isNotEqualTo(Status.INFEASIBLE);
    }
    result.solution().ifPresent(lengthy.model()::evaluate);
  }

  @Test
  void cancelledBefore() {
    CancelToken cancel = new CancelToken();
    cancel.cancel();
    FormulationTask task =
        can(Capability.INTERRUPT)
            ? endlessTask(cancel, DEAF)
            : new FormulationTask(
                0, new long[0], in(Duration.ofSeconds(1)), BUDGET, 0, null, DEAF, cancel);
    Lengthy lengthy = lengthy(task);
    unfinished(lengthy, solve(lengthy.model(), task), Status.CANCELLED);
  }

  @Test
  void cancelledAtOnceAndDuring() throws Exception {
    needs(Capability.INTERRUPT);
    Lengthy lengthy = lengthy(endlessTask(new CancelToken(), DEAF));
    PlacementModel model = lengthy.model();
    var pool = Executors.newCachedThreadPool();
    try {
      for (int millis : new int[] {0, 1, 3, 10, 300}) {
        CancelToken cancel = new CancelToken();
        Future<FormulationResult> future =
            pool.submit(() -> solve(model, endlessTask(cancel, DEAF)));
        Thread.sleep(millis);
        cancel.cancel();
        FormulationResult result = future.get(patience().toMillis(), TimeUnit.MILLISECONDS);
        unfinished(lengthy, result, Status.CANCELLED);
      }
    } finally {
      pool.shutdownNow();
    }
  }

  @Test
  void cancelledWithASolutionInHand() {
    needs(Capability.INTERRUPT, Capability.SIDE_ROWS, Capability.STREAM);
    CancelToken cancel = new CancelToken();
    PlacementModel model = open(300, 20);
    FormulationResult result = solveOrSkip(model, endlessTask(cancel, solution -> cancel.cancel()));
    if (isEndless()) {
      assertThat(result.status()).isEqualTo(Status.CANCELLED);
    }
    long value = model.evaluate(result.solution().orElseThrow())[0];
    result.claimedBound().ifPresent(bound -> assertThat(bound).isGreaterThanOrEqualTo(value));
  }

  @Test
  void anInterruptCancelsAndStaysSet() throws Exception {
    needs(Capability.INTERRUPT);
    Lengthy lengthy = lengthy(endlessTask(new CancelToken(), DEAF));
    assumeTrue(lengthy.sure(), "there is no model that it takes and is sure not to solve");
    PlacementModel model = lengthy.model();
    for (int millis : new int[] {0, 200}) {
      CountDownLatch started = new CountDownLatch(1);
      List<Object> seen = Collections.synchronizedList(new ArrayList<>());
      Thread thread =
          new Thread(
              () -> {
                started.countDown();
                seen.add(solve(model, endlessTask(new CancelToken(), DEAF)).status());
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

  /** Solves on a thread of its own, so that one that does not come back is left behind. */
  private FormulationResult inTime(PlacementModel model, FormulationTask task) throws Exception {
    var pool = Executors.newSingleThreadExecutor();
    try {
      long millis = task.remainingNanos() / 1_000_000 + patience().toMillis();
      return pool.submit(() -> solve(model, task)).get(millis, TimeUnit.MILLISECONDS);
    } finally {
      pool.shutdownNow();
    }
  }

  @Test
  void aDeadlineInThePast() throws Exception {
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
    Lengthy lengthy = lengthy(task(0));
    unfinished(lengthy, inTime(lengthy.model(), task), Status.UNKNOWN);
  }

  @Test
  void aDeadlineThatComes() throws Exception {
    // With so little time it may decline, but must cope all the same.
    Lengthy lengthy = lengthy(task(0));
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
      unfinished(lengthy, inTime(lengthy.model(), task), Status.UNKNOWN);
    }
  }

  @Test
  void aGapTargetIsNoProof() {
    needs(Capability.SIDE_ROWS);
    needsExact();
    PlacementModel model = open(200, 10);
    SolveBudget loose = BUDGET.toBuilder().gapTarget(0.5).build();
    FormulationResult result = solveOrSkip(model, task(loose, 0, 0));
    long value = model.evaluate(result.solution().orElseThrow())[0];
    if (result.status() == Status.OPTIMAL) {
      assertThat(result.claimedBound()).hasValue(value);
    } else {
      assertThat(result.status()).isEqualTo(Status.FEASIBLE);
      result.claimedBound().ifPresent(bound -> assertThat(bound).isGreaterThan(value));
    }
  }

  // ---- the same again --------------------------------------------------------------------------

  private static final Duration SHORT = Duration.ofSeconds(5);

  /** Solves in a short time; skips the test if that ended it, for such runs need not be equal. */
  private FormulationResult untilDone(PlacementModel model) {
    FormulationTask task =
        new FormulationTask(
            0, new long[0], in(SHORT), SolveBudget.within(SHORT), 0, null, DEAF, new CancelToken());
    FormulationResult result = solveOrSkip(model, task);
    // It may well stop a little before.
    assumeTrue(
        task.remainingNanos() > SHORT.toNanos() / 10,
        () ->
            "the deadline of %s ended a run, and such need not be equal; give a smaller middling()"
                .formatted(SHORT));
    return result;
  }

  @Test
  void reproducibleRunsAreEqual() {
    assumeTrue(reproducible(), () -> formulation().name() + " is not reproducible()");
    PlacementModel model = middling();
    FormulationResult first = untilDone(model);
    for (int run = 0; run < 3; run++) {
      FormulationResult again = untilDone(model);
      assertThat(again.status()).isEqualTo(first.status());
      assertThat(again.chosen()).isEqualTo(first.chosen());
      assertThat(again.claimedBound()).isEqualTo(first.claimedBound());
    }
  }

  @Test
  void allModesAndWorkersAgree() {
    needsExact();
    PlacementModel model = middling();
    long value = model.evaluate(solveOrSkip(model, task(0)).solution().orElseThrow())[0];
    for (SolveBudget.Mode mode : SolveBudget.Mode.values()) {
      for (int workers = 1; workers <= (mode == SolveBudget.Mode.REPRODUCIBLE ? 1 : 2); workers++) {
        SolveBudget budget = BUDGET.toBuilder().mode(mode).workers(workers).seed(-7).build();
        FormulationResult result = solve(model, task(budget, 0, 0));
        assertThat(result.status()).as("%s", budget).isEqualTo(Status.OPTIMAL);
        assertThat(model.evaluate(result.solution().orElseThrow())[0]).isEqualTo(value);
      }
    }
  }

  @Test
  void manyThreadsAtOnce() throws Exception {
    var pool = Executors.newFixedThreadPool(4);
    Formulation shared = Objects.requireNonNull(formulation());
    try {
      List<Future<?>> futures = new ArrayList<>();
      for (int t = 0; t < 4; t++) {
        long from = 3_000_000 + 50L * t;
        futures.add(
            pool.submit(
                () -> {
                  for (long seed = from; seed < from + 50; seed++) {
                    PlacementModel model = tiny(seed);
                    FormulationTask task = task(0);
                    if (!declines(model, task)) {
                      FormulationResult result = shared.solve(model, task);
                      String what = "model " + seed + " among others: " + shown(result);
                      ModelBruteForce truth = ModelBruteForce.of(model);
                      honest(what, model, truth, task, result);
                      if (exact()) {
                        assertThat(result.status())
                            .as(what)
                            .isEqualTo(truth.feasible() ? Status.OPTIMAL : Status.INFEASIBLE);
                      }
                    }
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

  /** It may say that it cannot, but nothing that is not so. */
  private void exactOrFailed(PlacementModel model) {
    FormulationTask task = task(0);
    FormulationResult result = solveOrSkip(model, task);
    honest(shown(result), model, ModelBruteForce.of(model), task, result);
  }

  @Test
  void largeCoefficientsStayExact() {
    // Neighbouring values that no double tells apart.
    long big = 1L << 57;
    PlacementModel.Builder b = oneLevel(1);
    RandomModels.single(b, new int[] {0}, big, List.of());
    RandomModels.single(b, new int[] {0}, big + 1, List.of());
    RandomModels.single(b, new int[0], big - 3, List.of());
    exactOrFailed(b.build());
  }

  @Test
  void coefficientsAtTheLimitAreExactOrFail() {
    long huge = PlacementModel.MAX_MAGNITUDE / 4 - 1;
    PlacementModel.Builder b = oneLevel(0);
    RandomModels.single(b, new int[0], huge, List.of());
    RandomModels.single(b, new int[0], huge - 1, List.of());
    RandomModels.single(b, new int[0], -huge, List.of());
    exactOrFailed(b.build());
  }

  @Test
  void rowsAtTheLimitAreExactOrFail() {
    needs(Capability.SIDE_ROWS);
    long huge = PlacementModel.MAX_MAGNITUDE / 4 - 1;
    PlacementModel.Builder b = oneLevel(0);
    b.row(new Row("r", 2 * huge - 2));
    RandomModels.single(b, new int[0], 1, List.of(new Term(0, huge)));
    RandomModels.single(b, new int[0], 1, List.of(new Term(0, huge - 1)));
    exactOrFailed(b.build());
  }
}
