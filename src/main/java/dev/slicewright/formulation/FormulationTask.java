package dev.slicewright.formulation;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What a {@link Formulation} is asked: to optimise one level while earlier ones keep their values.
 * Immutable, safe to share. Its arrays must not be changed.
 *
 * @param level the index of the level to optimise
 * @param held the value that each earlier level must at least keep (at most, where it is
 *     minimised); its length is {@code level}
 * @param deadlineNanos when to be back, on the clock of {@link System#nanoTime()}
 * @param budget workers, seed, mode and gap target; its deadline only scales deterministic limits
 * @param variant 0, or 1 for another configuration of the same solver that gives a second opinion
 *     (the planner asks 1 only of its own CP-SAT; others need a second formulation to agree)
 * @param warmStart for each item the index of its candidate or -1, or null
 * @param listener told of improving solutions (as warmStart); must be quick
 * @param cancel comes back early with what it has when cancelled
 */
public record FormulationTask(
    int level,
    long[] held,
    long deadlineNanos,
    SolveBudget budget,
    int variant,
    int @Nullable [] warmStart,
    Consumer<int[]> listener,
    CancelToken cancel) {

  /** Checks for null and lengths. */
  public FormulationTask {
    Objects.requireNonNull(budget, "budget");
    Objects.requireNonNull(listener, "listener");
    Objects.requireNonNull(cancel, "cancel");
    if (level < 0 || held.length != level) {
      throw new IllegalArgumentException(
          "Expected one held value for each of the " + level + " earlier levels: " + held.length);
    }
  }

  /**
   * The solution to start from.
   *
   * @return for each item the index of its candidate or -1, or empty
   */
  public Optional<int[]> start() {
    return Optional.ofNullable(warmStart);
  }

  /**
   * Nanoseconds until the deadline.
   *
   * @return 0 or more
   */
  public long remainingNanos() {
    return Math.max(0, deadlineNanos - System.nanoTime());
  }
}
