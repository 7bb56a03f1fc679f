package dev.slicewright;

import org.jspecify.annotations.Nullable;

/**
 * Thrown where a solver was asked for by name and cannot run here, for example because its native
 * library does not load. Immutable, safe to share.
 *
 * <p>The planner never throws it: without natives it plans with search and bounds, and the plan
 * says so.
 */
public class SolverUnavailableException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /**
   * Makes one.
   *
   * @param message which solver, why it cannot run, and how to mend it
   * @param cause what the loader threw, or null where nothing was tried
   */
  public SolverUnavailableException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }
}
