package dev.slicewright.plan;

import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * Steps of a {@link Rollout} that may run side by side, in any order, once all earlier waves are
 * done. Immutable, safe to share.
 *
 * @param number from 1
 * @param steps by number, not empty
 * @param time that of its longest step
 * @param timeKnown whether the times of all its steps are known
 */
public record Wave(int number, List<Step> steps, Duration time, boolean timeKnown) {
  /** Checks for null and copies the list. */
  public Wave {
    steps = List.copyOf(steps);
    Objects.requireNonNull(time, "time");
  }

  static Wave of(int number, List<Step> steps) {
    Duration time = Duration.ZERO;
    boolean known = true;
    for (Step step : steps) {
      time = step.time().compareTo(time) > 0 ? step.time() : time;
      known &= step.timeKnown();
    }
    return new Wave(number, steps, time, known);
  }
}
