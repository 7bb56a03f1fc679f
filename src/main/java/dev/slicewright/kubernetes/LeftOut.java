package dev.slicewright.kubernetes;

import java.util.Objects;

/**
 * An object that lenient reading, or reading at all, does not represent, and why. Immutable, safe
 * to share.
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
