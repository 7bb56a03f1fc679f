package dev.slicewright.formulation.ortools;

import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import java.util.Optional;
import java.util.Set;

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
 * ends by itself. While {@value NativeGate#MAX_LINGERING} such threads live, {@link #whyNot}
 * declines new models. An interrupt of the calling thread cancels the solve and stays set.
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

  private static final Set<Capability> CAPABILITIES =
      Set.of(
          Capability.STREAM,
          Capability.BOUND,
          Capability.WARM_START,
          Capability.INTERRUPT,
          Capability.SIDE_ROWS,
          Capability.GROUP_TIES);

  private final NativeGate gate;

  /** For tests. */
  CpSatFormulation(OrToolsNatives natives) {
    this.gate = new NativeGate("CP-SAT", MAX_LITERALS, MICROS_PER_LITERAL, natives);
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
    return gate.whyNot(model, task);
  }

  /**
   * {@inheritDoc}
   *
   * <p>Models that {@link #whyNot} declines for their size are tried nonetheless.
   */
  @Override
  public FormulationResult solve(PlacementModel model, FormulationTask task) {
    return gate.solve(model, task, lingering -> new CpSatRun(model, task, lingering));
  }
}
