package dev.slicewright.cost;

import dev.slicewright.fleet.RunningSlice;
import java.time.Duration;
import java.time.Instant;

/**
 * What it costs to stop a running slice and start it again, in chip-seconds. Immutable, safe to
 * share.
 *
 * <p>Chips × (restart time + time since the last checkpoint). Checkpoint unknown: since its start;
 * start unknown: {@link #UNKNOWN_AGE}; restart unknown: {@link #UNKNOWN_RESTART}. A broken slice
 * has lost its work already: restart only.
 */
public final class Disruption {

  /** Time since the start where neither checkpoint nor start is known: one hour. */
  public static final Duration UNKNOWN_AGE = Duration.ofHours(1);

  /** Restart time where it is not known: ten minutes. */
  public static final Duration UNKNOWN_RESTART = Duration.ofMinutes(10);

  /** No age or restart counts for more: ten years. */
  private static final long MAX_SECONDS = Duration.ofDays(3650).toSeconds();

  private Disruption() {}

  /**
   * The chip-seconds lost if a slice is moved or evicted.
   *
   * @param slice the running slice
   * @param broken whether it uses a failed part
   * @param now the time of the planning rules
   * @return 0 or more; ages in the future count as 0, beyond ten years as ten years
   */
  public static long chipSeconds(RunningSlice slice, boolean broken, Instant now) {
    long restart = clamp(restartTime(slice));
    long lost =
        broken
            ? 0
            : slice
                .checkpointAt()
                .or(slice::startedAt)
                .map(since -> clamp(Duration.between(since, now)))
                .orElse(UNKNOWN_AGE.toSeconds());
    return Math.multiplyExact(slice.shape().chips(), Math.addExact(restart, lost));
  }

  /**
   * How long a slice takes to come up again.
   *
   * @param slice the running slice
   * @return its restart time, or {@link #UNKNOWN_RESTART}
   */
  public static Duration restartTime(RunningSlice slice) {
    return slice.restartTime().orElse(UNKNOWN_RESTART);
  }

  private static long clamp(Duration duration) {
    return Math.max(0, Math.min(MAX_SECONDS, duration.toSeconds()));
  }
}
