package dev.slicewright.formulation;

import java.util.Optional;
import java.util.Set;

/**
 * Something that solves placement models: CP-SAT, a MIP solver, or the user's own. Implementations
 * must be safe for concurrent use.
 *
 * <p>Safe for concurrent use.
 *
 * <p>What it returns is never trusted: solutions are checked against the model and again by the
 * plan's verifier, and what it says of bounds or infeasibility is a claim until a second opinion or
 * a certificate agrees.
 */
public interface Formulation {

  /** What a formulation can do. Immutable, safe to share. */
  enum Capability {
    /** Reports improving solutions while it runs. */
    STREAM,
    /** Claims a bound of its own. */
    BOUND,
    /** Starts from a given solution. */
    WARM_START,
    /** Comes back soon after its task is cancelled. */
    INTERRUPT,
    /** Understands rows, disturbed groups and unions; else models with them are not given to it. */
    SIDE_ROWS,
    /** Understands what ties the items of a group beyond all or none, and gangs. */
    GROUP_TIES,
    /** Needs every candidate to have a {@link PlacementModel.GridPlace}. */
    NEEDS_GRID
  }

  /**
   * A short name for plans and benchmarks.
   *
   * @return for example {@code cp-sat}
   */
  String name();

  /**
   * What it can do.
   *
   * @return an unmodifiable set
   */
  Set<Capability> capabilities();

  /**
   * Why it cannot take a model, for example because it is too large for its budget.
   *
   * @param model the model
   * @param task what it would be asked
   * @return one sentence, or empty if it can
   */
  Optional<String> whyNot(PlacementModel model, FormulationTask task);

  /**
   * Optimises one level, all earlier ones held.
   *
   * @param model the model
   * @param task which level, the held values, the budget, a warm start, a listener
   * @return what it found; never null. Running out of time and being cancelled are results
   * @throws dev.slicewright.SolverUnavailableException if its solver cannot run here
   */
  FormulationResult solve(PlacementModel model, FormulationTask task);
}
