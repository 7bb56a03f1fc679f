package dev.slicewright.kubernetes;

import java.util.Optional;

/**
 * The state of a Slice: the reason of its condition {@code Ready}. Immutable, safe to share.
 *
 * <p>Source: GKE's notes on monitoring dynamic slices.
 */
public enum SliceState {
  /** Initialising; checks run. Takes its partitions. */
  NOT_CREATED("SliceNotCreated", true),
  /** A prerequisite failed: nodes missing or in another Slice, or too many or few partitions. */
  CREATION_FAILED("SliceCreationFailed", false),
  /** Being formed. */
  ACTIVATING("ACTIVATING", true),
  /** Formed. */
  ACTIVE("ACTIVE", true),
  /** Usable, though some part is degraded. */
  ACTIVE_DEGRADED("ACTIVE_DEGRADED", true),
  /** Could not be formed, or has broken. */
  FAILED("FAILED", false),
  /** Being taken apart; its partitions are not free yet. */
  DEACTIVATING("DEACTIVATING", true),
  /** About to disappear; its partitions are not free yet. */
  INCOMPLETE("INCOMPLETE", true);

  private final String reason;
  private final boolean takesPartitions;

  SliceState(String reason, boolean takesPartitions) {
    this.reason = reason;
    this.takesPartitions = takesPartitions;
  }

  /**
   * The reason as the platform writes it.
   *
   * @return such as {@code ACTIVE} or {@code SliceNotCreated}
   */
  public String reason() {
    return reason;
  }

  /**
   * Whether the partitions of such a Slice are taken.
   *
   * @return false for the two failed states
   */
  public boolean takesPartitions() {
    return takesPartitions;
  }

  /**
   * Whether pods may run on such a Slice.
   *
   * @return true for {@link #ACTIVE} and {@link #ACTIVE_DEGRADED}
   */
  public boolean isReady() {
    return this == ACTIVE || this == ACTIVE_DEGRADED;
  }

  /**
   * Whether the Slice is on its way out.
   *
   * @return true for {@link #DEACTIVATING} and {@link #INCOMPLETE}
   */
  public boolean isLeaving() {
    return this == DEACTIVATING || this == INCOMPLETE;
  }

  /**
   * Reads a reason.
   *
   * @param reason as the platform writes it
   * @return the state, or empty if there is none of that name
   */
  public static Optional<SliceState> of(String reason) {
    for (SliceState state : values()) {
      if (state.reason.equals(reason)) {
        return Optional.of(state);
      }
    }
    return Optional.empty();
  }
}
