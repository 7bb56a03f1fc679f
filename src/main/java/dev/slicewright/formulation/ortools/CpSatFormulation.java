package dev.slicewright.formulation.ortools;

import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;

/**
 * Solves placement models with CP-SAT of OR-Tools, in this process. Safe for concurrent use.
 *
 * <p><b>Native code.</b> The first use loads it, which takes about 0.6 s and unpacks about 71 MB
 * into {@code java.io.tmpdir}, or about 20 ms where {@code -Djava.library.path} points at an
 * unpacked copy: call {@link #preload()} or {@link #availability()} at start-up, so that no solve
 * pays for it. The system property {@code dev.slicewright.natives=off} keeps native code out
 * altogether. A crash inside native code takes the JVM with it; no Java code can prevent that.
 *
 * <p><b>Limits.</b> A solve stops early enough to be back by the task's deadline: a reserve of 10 %
 * of the time left is kept, of 25 % from {@value CpSatRun#LARGE_LITERALS} literals on. Where the
 * native side overruns nonetheless, the caller is released shortly after the deadline, after a
 * cancellation within 50 ms; the native thread is then left behind, told to stop every 10 ms, and
 * ends by itself. While {@value #MAX_LINGERING} such threads live, {@link #whyNot} declines new
 * models. An interrupt of the calling thread cancels the solve and stays set.
 *
 * <p><b>Size.</b> {@link #whyNot} declines models of more than {@value #MAX_LITERALS} literals
 * (cells, gains and terms of the candidates, equal items counted once) and those with less than
 * {@value #MICROS_PER_LITERAL} µs left for each literal. Sums of magnitudes beyond 2^60 in one row
 * or level fail.
 *
 * <p><b>Determinism.</b> In mode {@code REPRODUCIBLE} there is one worker and a deterministic limit
 * of {@value CpSatRun#DETERMINISTIC_SHARE} deterministic seconds for each second of the budget's
 * {@code deadline()}, never of the time left, so that equal tasks give equal answers unless the
 * wall clock cut in; {@code REPRODUCIBLE_PARALLEL} interleaves its workers and overruns that limit
 * coarsely. {@code FAST} has no such limit. Models of fewer than {@value CpSatRun#SMALL_VARIABLES}
 * variables get one worker in any mode. Answers may change with the version of OR-Tools.
 *
 * <p>Every solution is evaluated on the model before it is reported; one that breaks it turns the
 * result into {@code FAILED}. {@code OPTIMAL}, {@code INFEASIBLE} and bounds are claims. With a gap
 * target above 0 the solve may stop at that gap, with status {@code FEASIBLE}. Listeners run on
 * native threads, one at a time, and are not called once the solve has returned; what they throw
 * ends the solve and is rethrown from it.
 *
 * @see <a href="https://developers.google.com/optimization/cp/cp_solver">CP-SAT</a>
 */
public final class CpSatFormulation implements Formulation {

  /** The most literals that a model may have. */
  static final int MAX_LITERALS = 500_000;

  /** Time that must be left for each literal: building, handing over and presolve, with room. */
  static final int MICROS_PER_LITERAL = 4;

  /** Beyond so many times the literals allowed, equal items are not even looked for. */
  private static final int MAX_COPIES = 16;

  /** How many native threads may be left behind before new models are declined. */
  static final int MAX_LINGERING = 4;

  private static final Set<Capability> CAPABILITIES =
      Set.of(
          Capability.STREAM,
          Capability.BOUND,
          Capability.WARM_START,
          Capability.INTERRUPT,
          Capability.SIDE_ROWS,
          Capability.GROUP_TIES);

  private final OrToolsNatives natives;
  private final AtomicInteger lingering = new AtomicInteger();

  /** For tests. */
  CpSatFormulation(OrToolsNatives natives) {
    this.natives = natives;
  }

  /**
   * Makes one; loads nothing.
   *
   * @return a new formulation
   */
  public static CpSatFormulation create() {
    return new CpSatFormulation(OrToolsNatives.shared());
  }

  /**
   * Loads the native code if that was not done, and says why it cannot be used. Waits for loading,
   * 60 s at most.
   *
   * @return what failed, what was found on this machine, and how to mend it; empty if CP-SAT works
   */
  public static Optional<String> availability() {
    return OrToolsNatives.shared().whyUnavailable();
  }

  /**
   * Starts to load the native code on a thread of its own, if that was not done, and returns at
   * once. What goes wrong shows at the next use.
   */
  public static void preload() {
    OrToolsNatives.shared().start();
  }

  @Override
  public String name() {
    return "cp-sat";
  }

  @Override
  public Set<Capability> capabilities() {
    return CAPABILITIES;
  }

  /**
   * {@inheritDoc}
   *
   * <p>Declines models that are too large, and all models where native code cannot be used. O(model
   * size), without native code; waits for loading, three quarters of the time left at most.
   */
  @Override
  public Optional<String> whyNot(PlacementModel model, FormulationTask task) {
    if (task.level() >= model.levels().size()) {
      return Optional.of(
          "Expected a level below " + model.levels().size() + ", but was " + task.level() + ".");
    }
    long literals = literals(model, MAX_LITERALS);
    long affordable = Math.min(MAX_LITERALS, TimeUnit.NANOSECONDS.toMicros(task.remainingNanos()));
    if (literals > affordable) {
      return Optional.of(
          String.format(
              Locale.ROOT,
              "CP-SAT is given at most %d literals, and one for each %d µs left, now %d; this"
                  + " model has %d. Give it fewer candidates or more time.",
              MAX_LITERALS,
              MICROS_PER_LITERAL,
              affordable,
              literals));
    }
    return whyNotNow(task);
  }

  /** Why nothing can be solved at present, or empty. */
  Optional<String> whyNotNow(FormulationTask task) {
    int left = lingering.get();
    if (left >= MAX_LINGERING) {
      return Optional.of(
          left + " native solves that overran have not ended; try again when they have.");
    }
    return natives.whyNot(loadingDeadline(task));
  }

  /**
   * {@inheritDoc}
   *
   * <p>Models that {@link #whyNot} declines for their size are tried nonetheless.
   */
  @Override
  public FormulationResult solve(PlacementModel model, FormulationTask task) {
    return solve(
        model, task, (m, t) -> new CpSatProgram(m, ItemClasses.of(m), t.level(), t.held()));
  }

  /** Solves with a program that is written for the task. */
  FormulationResult solve(
      PlacementModel model,
      FormulationTask task,
      BiFunction<PlacementModel, FormulationTask, CpProgram> programs) {
    Objects.requireNonNull(model, "model");
    if (task.level() >= model.levels().size()) {
      throw new IllegalArgumentException(
          "Expected a level below " + model.levels().size() + ", but was " + task.level() + ".");
    }
    if (task.cancel().isCancelled()) {
      return new FormulationResult(Status.CANCELLED, null, null, "cancelled before the solve");
    }
    if (Thread.currentThread().isInterrupted()) {
      return new FormulationResult(Status.CANCELLED, null, null, "interrupted before the solve");
    }
    if (!natives.require(loadingDeadline(task))) {
      boolean interrupted = Thread.currentThread().isInterrupted();
      return new FormulationResult(
          interrupted ? Status.CANCELLED : Status.UNKNOWN,
          null,
          null,
          interrupted
              ? "interrupted while native code was being loaded"
              : "native code was still being loaded when time ran out");
    }
    if (task.remainingNanos() == 0) {
      return new FormulationResult(
          Status.UNKNOWN, null, null, "the deadline had passed before the solve");
    }
    return WholeMesh.solve(
        model, task, (m, t) -> new CpSatRun(m, t, () -> programs.apply(m, t), lingering).call());
  }

  /** Until when to wait for loading: three quarters of the time left. */
  private static long loadingDeadline(FormulationTask task) {
    long now = System.nanoTime();
    return now + Math.max(0, task.deadlineNanos() - now) / 4 * 3;
  }

  /**
   * Literals of a model. Equal items are counted once, unless the count is below the limit without
   * that, or far beyond it.
   */
  static long literals(PlacementModel model, long limit) {
    long tied = 0;
    for (Group group : model.groups()) {
      tied += group.disturbedTerms().size() + 1;
    }
    long all = tied;
    for (Candidate candidate : model.candidates()) {
      all += size(candidate);
    }
    if (all <= limit || all / MAX_COPIES > limit) {
      return all;
    }
    long distinct = tied;
    for (ItemClasses.ItemClass c : ItemClasses.of(model).all()) {
      for (int way : c.ways()) {
        distinct += size(model.candidates().get(way));
      }
    }
    return distinct;
  }

  private static int size(Candidate candidate) {
    return candidate.cells().length + candidate.gains().length + candidate.terms().size() + 1;
  }
}
