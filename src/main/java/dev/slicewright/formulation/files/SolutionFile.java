package dev.slicewright.formulation.files;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What a solver's file says: checked against the model, and no word of it taken for a proof.
 * Immutable, safe to share. Its array must not be changed.
 *
 * @param format who writes such files
 * @param status the solver's own word for how it ended, for people; empty if the file has none
 * @param chosen for each item the index of its candidate or -1, or null if the file has no solution
 * @param values the value of every level, most important first; empty without a solution
 */
public record SolutionFile(
    Format format, String status, int @Nullable [] chosen, List<Long> values) {

  /** Who writes files like this. Immutable, safe to share. */
  public enum Format {
    /** The XML of CPLEX. */
    CPLEX,
    /** A name and a value a line, {@code #} before comments. */
    GUROBI,
    /** SCIP's own, with {@code (obj:…)} behind the values. */
    SCIP,
    /** HiGHS's raw, sparse or pretty style: its {@code write_solution_style} 0, 4 or 1. */
    HIGHS
  }

  /** Checks for null; copies the list. */
  public SolutionFile {
    Objects.requireNonNull(format, "format");
    Objects.requireNonNull(status, "status");
    values = List.copyOf(values);
  }

  /**
   * The solution.
   *
   * @return for each item the index of its candidate or -1; empty if the solver had found none
   */
  public Optional<int[]> solution() {
    return Optional.ofNullable(chosen);
  }
}
