package dev.slicewright.formulation;

import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link Formulation} found. Immutable, safe to share. Its array must not be changed.
 *
 * @param status what it claims
 * @param chosen the best solution, for each item the index of its candidate or -1, or null
 * @param bound the claimed bound of the optimised level, or null
 * @param message the solver's own words, for people
 * @param prices what proves a bound, or null; {@link PlacementModel#certifiedBound} recomputes it
 * @param limit which limit ended it
 */
public record FormulationResult(
    Status status,
    int @Nullable [] chosen,
    @Nullable Long bound,
    String message,
    @Nullable ModelPrices prices,
    Limit limit) {

  /** What ended a solve before it was done. Immutable, safe to share. */
  public enum Limit {
    /** Nothing, or nothing that is known. */
    NONE,
    /** The deadline. */
    TIME,
    /** A limit of work, deterministic. */
    WORK,
    /** A limit of memory. */
    MEMORY,
    /** The size of the model. */
    SIZE
  }

  /** What a solver claims. Immutable, safe to share. */
  public enum Status {
    /** {@link #chosen} is claimed to be optimal. */
    OPTIMAL,
    /** {@link #chosen} is a solution; nothing is claimed of its standing but {@link #bound}. */
    FEASIBLE,
    /** Claimed: there is no solution. */
    INFEASIBLE,
    /** Out of time, work or memory before a solution was found. */
    UNKNOWN,
    /** Cancelled; {@link #chosen} may be in hand. */
    CANCELLED,
    /** The solver failed; {@link #message} says how. */
    FAILED
  }

  /** Checks for null. */
  public FormulationResult {
    Objects.requireNonNull(status, "status");
    Objects.requireNonNull(message, "message");
    Objects.requireNonNull(limit, "limit");
    if ((status == Status.OPTIMAL || status == Status.FEASIBLE) && chosen == null) {
      throw new IllegalArgumentException(status + " needs a solution.");
    }
  }

  /**
   * A result without prices, ended by no limit that is known.
   *
   * @param status what it claims
   * @param chosen the best solution, or null
   * @param bound the claimed bound of the optimised level, or null
   * @param message the solver's own words, for people
   */
  public FormulationResult(
      Status status, int @Nullable [] chosen, @Nullable Long bound, String message) {
    this(status, chosen, bound, message, null, Limit.NONE);
  }

  /**
   * This result, ended by a limit.
   *
   * @param by which
   * @return the same with the limit
   */
  public FormulationResult endedBy(Limit by) {
    return new FormulationResult(status, chosen, bound, message, prices, by);
  }

  /**
   * Prices that prove a bound of the optimised level.
   *
   * @return what {@link PlacementModel#certifiedBound} takes, or empty
   */
  public Optional<ModelPrices> evidence() {
    return Optional.ofNullable(prices);
  }

  /**
   * The best solution.
   *
   * @return for each item the index of its candidate or -1, or empty
   */
  public Optional<int[]> solution() {
    return Optional.ofNullable(chosen);
  }

  /**
   * The claimed bound of the optimised level.
   *
   * @return the bound, or empty
   */
  public OptionalLong claimedBound() {
    return bound == null ? OptionalLong.empty() : OptionalLong.of(bound);
  }
}
