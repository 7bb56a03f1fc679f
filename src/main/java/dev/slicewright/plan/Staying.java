package dev.slicewright.plan;

import dev.slicewright.fleet.RunningSlice;
import java.util.Objects;

/**
 * A running slice that is not out of a drained part in time. Immutable, safe to share.
 *
 * @param slice the slice as it runs
 * @param reason why: {@link Reason#PINNED} if the rules let it neither move nor leave; {@link
 *     Reason#FRAGMENTED} if no plan that is as good otherwise has a place for it; {@link
 *     Reason#UNDECIDED} if the solve ended before one was found or ruled out; {@link Reason#LATE}
 *     if the plan moves it, but now and its restart time are past the drain's deadline
 * @param sentence the reason for people
 */
public record Staying(RunningSlice slice, Reason reason, String sentence) {
  /** Checks for null. */
  public Staying {
    Objects.requireNonNull(slice, "slice");
    Objects.requireNonNull(reason, "reason");
    Objects.requireNonNull(sentence, "sentence");
  }
}
