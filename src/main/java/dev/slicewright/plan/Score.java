package dev.slicewright.plan;

import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * How good a plan is, level by level, most important first. Immutable, safe to share.
 *
 * <p>For every level bound ≥ optimum ≥ value where it is maximised, reversed where it is minimised,
 * the optimum being over plans that keep the values of the earlier levels.
 *
 * @param levels the levels
 */
public record Score(List<LevelScore> levels) {

  /**
   * One level's value and bound. Immutable, safe to share.
   *
   * @param level what it counts
   * @param value the plan's value
   * @param bound no plan that keeps the earlier levels is better
   * @param proof what stands behind the bound
   * @param claimed a better bound that one solver alone claims, which counts for nothing, or null
   */
  public record LevelScore(
      Level level, long value, long bound, Proof proof, @Nullable Long claimed) {
    /** Checks for null. */
    public LevelScore {
      Objects.requireNonNull(level, "level");
      Objects.requireNonNull(proof, "proof");
    }

    /**
     * Whether the value is optimal.
     *
     * @return true if bound and value meet
     */
    public boolean isProved() {
      return value == bound;
    }

    /**
     * The distance of the value from the bound: |bound - value| / max(1, bound) on a maximised
     * level, / max(1, value) on a minimised one.
     *
     * @return 0.0 if proved
     */
    public double gap() {
      long base = level.kind().maximise() ? bound : value;
      return Math.abs((double) bound - (double) value) / Math.max(1.0, (double) base);
    }

    /**
     * A bound that one solver alone claims.
     *
     * @return the claim, or empty
     */
    public OptionalLong claimedBound() {
      return claimed == null ? OptionalLong.empty() : OptionalLong.of(claimed);
    }
  }

  /** Copies the list. */
  public Score {
    levels = List.copyOf(levels);
  }

  /**
   * The gap of the first level that is not proved.
   *
   * @return 0.0 if all are proved
   */
  public double gap() {
    for (LevelScore level : levels) {
      if (!level.isProved()) {
        return level.gap();
      }
    }
    return 0.0;
  }

  /**
   * Whether every level is proved optimal.
   *
   * @return true if {@link #gap()} is 0
   */
  public boolean isOptimal() {
    return levels.stream().allMatch(LevelScore::isProved);
  }

  /**
   * The values joined by slashes.
   *
   * @return for example {@code 2048/512}
   */
  public String values() {
    return String.join("/", levels.stream().map(l -> Long.toString(l.value())).toList());
  }

  /**
   * The bounds joined by slashes.
   *
   * @return for example {@code 2048/512}
   */
  public String bounds() {
    return String.join("/", levels.stream().map(l -> Long.toString(l.bound())).toList());
  }

  /**
   * Compares values level by level, the first difference decides.
   *
   * @param other the score of another plan for the same problem
   * @return positive if this is better, negative if worse, 0 if equal
   * @throws IllegalArgumentException if the levels differ
   */
  public int compareValues(Score other) {
    if (!levels.stream()
        .map(LevelScore::level)
        .toList()
        .equals(other.levels.stream().map(LevelScore::level).toList())) {
      throw new IllegalArgumentException("The scores are of different problems.");
    }
    for (int i = 0; i < levels.size(); i++) {
      int c = Long.compare(levels.get(i).value(), other.levels.get(i).value());
      if (c != 0) {
        return levels.get(i).level().kind().maximise() ? c : -c;
      }
    }
    return 0;
  }
}
