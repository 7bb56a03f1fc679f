package dev.slicewright.plan;

import dev.slicewright.fleet.RunningSlice;
import java.util.Objects;

/**
 * A running slice that goes elsewhere: it is deleted, created there, and restored from its
 * checkpoint. Immutable, safe to share.
 *
 * @param from the slice as it runs
 * @param to where it goes
 */
public record Move(RunningSlice from, Placement to) {
  /** Checks for null. */
  public Move {
    Objects.requireNonNull(from, "from");
    Objects.requireNonNull(to, "to");
  }
}
