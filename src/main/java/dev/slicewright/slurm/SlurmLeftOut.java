package dev.slicewright.slurm;

import java.util.Objects;

/**
 * Something of the input that the fleet and its requests do not represent, and why. Immutable, safe
 * to share.
 *
 * @param what which one, such as {@code topology campus}, {@code job 17} or {@code nodes tpu[3-4]}
 * @param reason one sentence
 */
public record SlurmLeftOut(String what, String reason) {
  /** Checks for null. */
  public SlurmLeftOut {
    Objects.requireNonNull(what, "what");
    Objects.requireNonNull(reason, "reason");
  }

  @Override
  public String toString() {
    return what + ": " + reason;
  }
}
