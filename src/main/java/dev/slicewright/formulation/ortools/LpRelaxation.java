package dev.slicewright.formulation.ortools;

import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import java.util.Optional;
import java.util.Set;

/**
 * Bounds placement models by their linear relaxation, solved with GLOP of OR-Tools. Safe for
 * concurrent use.
 *
 * <p>The result carries prices: the duals of cells, rows and earlier levels, rounded to multiples
 * of 2^-20. Its bound is what these prices prove, recomputed in exact integer arithmetic by {@link
 * PlacementModel#certifiedBound}; no floating-point figure counts. With an incumbent, {@link
 * PlacementModel#reduced} fixes by them.
 *
 * <p>Its status is {@code UNKNOWN} (with a bound), or {@code FEASIBLE} or {@code OPTIMAL} where the
 * relaxation happens to be solved in integers; {@code INFEASIBLE} is a claim in floating point. It
 * finds solutions by accident only, takes no warm start and cannot be interrupted: as for SCIP, a
 * thread left behind works on until the task's deadline.
 *
 * <p>Native code, limits and sizes as {@link MipFormulation}. Deterministic unless the wall clock
 * cut in; {@code variant} 1 uses the dual simplex method.
 *
 * @see <a href="https://developers.google.com/optimization/lp">GLOP</a>
 */
public final class LpRelaxation implements Formulation {

  private static final Set<Capability> CAPABILITIES =
      Set.of(Capability.BOUND, Capability.SIDE_ROWS, Capability.GROUP_TIES);

  private final NativeGate gate =
      new NativeGate(
          "GLOP",
          MipFormulation.MAX_LITERALS,
          MipFormulation.MICROS_PER_LITERAL,
          OrToolsNatives.shared());

  private LpRelaxation() {}

  /**
   * Makes one; loads nothing.
   *
   * @return a new formulation
   */
  public static LpRelaxation create() {
    return new LpRelaxation();
  }

  @Override
  public String name() {
    return "glop";
  }

  @Override
  public Set<Capability> capabilities() {
    return CAPABILITIES;
  }

  /**
   * {@inheritDoc}
   *
   * <p>Declines models that are too large, and all where native code cannot be used. O(model size),
   * without native code; waits for loading, three quarters of the time left at most.
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
    return gate.solve(model, task, lingering -> new LpRun(model, task, lingering));
  }
}
