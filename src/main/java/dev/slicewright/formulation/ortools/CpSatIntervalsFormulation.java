package dev.slicewright.formulation.ortools;

import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;

/**
 * Solves placement models with CP-SAT of OR-Tools over intervals: each item is a rectangle with two
 * start variables, and those on one grid do not overlap. Safe for concurrent use.
 *
 * <p>Its size follows the items, not their candidates, and it is strong where boxes of many sizes
 * must share a small mesh; {@link CpSatFormulation} is stronger where little or nothing can be
 * wasted, and takes models of any kind.
 *
 * <p><b>What it does not support</b>, and declines in {@link #whyNot}: candidates without a place
 * on a grid; grids of more than one cell along z; grids that wrap; two grids that share cells or a
 * pod; candidates that take other cells than those of their place. Candidates may leave out any
 * places.
 *
 * <p>Limits, determinism, native code and what is claimed are as in {@link CpSatFormulation}, but
 * that equal items which may lie in more than one way are told apart.
 *
 * @see <a href="https://developers.google.com/optimization/cp/cp_solver">CP-SAT</a>
 */
public final class CpSatIntervalsFormulation implements Formulation {

  /** The most cells in all candidates. */
  static final long MAX_CELLS = 20_000_000;

  /** Cells that are read in a microsecond, with room. */
  static final int CELLS_PER_MICRO = 10;

  private static final Set<Capability> CAPABILITIES =
      Set.of(
          Capability.STREAM,
          Capability.BOUND,
          Capability.WARM_START,
          Capability.INTERRUPT,
          Capability.SIDE_ROWS,
          Capability.GROUP_TIES);

  private final CpSatFormulation engine;

  private CpSatIntervalsFormulation(CpSatFormulation engine) {
    this.engine = engine;
  }

  /**
   * Makes one; loads nothing.
   *
   * @return a new formulation
   */
  public static CpSatIntervalsFormulation create() {
    return new CpSatIntervalsFormulation(CpSatFormulation.create());
  }

  @Override
  public String name() {
    return "cp-sat-intervals";
  }

  @Override
  public Set<Capability> capabilities() {
    return CAPABILITIES;
  }

  /**
   * {@inheritDoc}
   *
   * <p>Declines what it does not support, models that are too large for the time left, and all
   * models where native code cannot be used. O(cells of the candidates), without native code; waits
   * for loading, three quarters of the time left at most.
   */
  @Override
  public Optional<String> whyNot(PlacementModel model, FormulationTask task) {
    if (task.level() >= model.levels().size()) {
      return Optional.of(
          "Expected a level below " + model.levels().size() + ", but was " + task.level() + ".");
    }
    long cells = 0;
    for (Candidate candidate : model.candidates()) {
      cells += candidate.cells().length + 1;
    }
    long micros = TimeUnit.NANOSECONDS.toMicros(task.remainingNanos());
    long affordable = Math.min(MAX_CELLS, CELLS_PER_MICRO * micros);
    if (cells > affordable) {
      return Optional.of(
          String.format(
              Locale.ROOT,
              "Intervals are read from at most %d cells, and from %d for each µs left, now %d; the"
                  + " candidates of this model have %d. Give it fewer candidates or more time.",
              MAX_CELLS,
              CELLS_PER_MICRO,
              affordable,
              cells));
    }
    Optional<String> unsupported = IntervalProgram.whyNot(model);
    return unsupported.isPresent() ? unsupported : engine.whyNotNow(task);
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalArgumentException if the model is one that it does not support
   */
  @Override
  public FormulationResult solve(PlacementModel model, FormulationTask task) {
    IntervalProgram.whyNot(model)
        .ifPresent(
            why -> {
              throw new IllegalArgumentException(why);
            });
    return engine.solve(model, task, (m, t) -> new IntervalProgram(m, t.level(), t.held()));
  }
}
