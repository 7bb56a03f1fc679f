package dev.slicewright.plan;

import dev.slicewright.fleet.RunningSlice;
import java.util.Objects;

/**
 * A running slice that uses a failed part and is not moved by the plan. Immutable, safe to share.
 *
 * @param slice the slice as it runs
 * @param reason why it is not moved: {@link Reason#PINNED}, or as for a wanted slice
 * @param sentence the reason for people
 */
public record BrokenSlice(RunningSlice slice, Reason reason, String sentence) {
  /** Checks for null. */
  public BrokenSlice {
    Objects.requireNonNull(slice, "slice");
    Objects.requireNonNull(reason, "reason");
    Objects.requireNonNull(sentence, "sentence");
  }
}
