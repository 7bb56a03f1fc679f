package dev.slicewright.kubernetes;

import java.util.Objects;
import java.util.Optional;

/**
 * Why a workload lost its slice, or did not get one. Immutable, safe to share.
 *
 * <p>The reasons are those that the open-source tpu-slice controller writes into the condition
 * {@code TPUSliceFailure} of a Kueue Workload; of a Slice, the state says the same.
 */
public enum SliceFailure {
  /** The Slice was deleted, or is being taken apart. */
  DELETION("Deletion"),
  /** The Slice could not be created as it was written: nodes missing or used, wrong partitions. */
  CONFIGURATION("ConfigurationFailure"),
  /** The Slice has broken, or its hardware could not be joined. */
  RUNTIME("RuntimeFailure"),
  /** The Slice was not formed in time. */
  FORMATION_TIMEOUT("FormationTimeout");

  /** The condition of a Kueue Workload whose reason is one of these. */
  public static final String CONDITION = "TPUSliceFailure";

  /**
   * One failure that a cluster's objects tell of. Immutable, safe to share.
   *
   * @param object the Slice or Kueue Workload that tells it
   * @param request the id of the request that lost its slice; empty if it is not known
   * @param failure what happened
   * @param message what the platform says of it, perhaps empty
   */
  public record Notice(ObjectRef object, String request, SliceFailure failure, String message) {
    /** Checks for null. */
    public Notice {
      Objects.requireNonNull(object, "object");
      Objects.requireNonNull(request, "request");
      Objects.requireNonNull(failure, "failure");
      Objects.requireNonNull(message, "message");
    }

    @Override
    public String toString() {
      return object + ": " + failure.reason + (message.isEmpty() ? "" : ", " + message);
    }
  }

  private final String reason;

  SliceFailure(String reason) {
    this.reason = reason;
  }

  /**
   * The reason as the controller writes it.
   *
   * @return such as {@code RuntimeFailure}
   */
  public String reason() {
    return reason;
  }

  /**
   * Reads the reason of a condition {@value #CONDITION}.
   *
   * @param reason as the controller writes it
   * @return the failure, or empty if there is none of that name
   */
  public static Optional<SliceFailure> of(String reason) {
    for (SliceFailure failure : values()) {
      if (failure.reason.equals(reason)) {
        return Optional.of(failure);
      }
    }
    return Optional.empty();
  }

  /**
   * What the state of a Slice means for its workload.
   *
   * @param slice a Slice
   * @return empty while it is being formed or stands, and if its state is not known; never {@link
   *     #FORMATION_TIMEOUT}, which is for a clock to find
   */
  public static Optional<SliceFailure> of(SliceManifest slice) {
    SliceState state = slice.state().orElse(SliceState.ACTIVE);
    if (state == SliceState.CREATION_FAILED) {
      return Optional.of(CONFIGURATION);
    }
    if (state == SliceState.FAILED) {
      return Optional.of(RUNTIME);
    }
    return slice.deleting() || state.isLeaving() ? Optional.of(DELETION) : Optional.empty();
  }
}
