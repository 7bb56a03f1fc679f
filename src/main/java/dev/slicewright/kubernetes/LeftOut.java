package dev.slicewright.kubernetes;

import java.util.Objects;

/**
 * An object that has to do with TPUs and that a cluster, or a plan in its words, does not
 * represent, and why. Immutable, safe to share.
 *
 * @param object which one
 * @param reason one sentence
 */
public record LeftOut(ObjectRef object, String reason) {
  /** Checks for null. */
  public LeftOut {
    Objects.requireNonNull(object, "object");
    Objects.requireNonNull(reason, "reason");
  }

  @Override
  public String toString() {
    return object + ": " + reason;
  }
}
