package dev.slicewright;

import java.util.Objects;

/**
 * One thing wrong with an input: where, and what was expected, given, and can be done. Immutable,
 * safe to share.
 *
 * @param path where the problem is, for example {@code requests[3].shape}
 * @param message what was expected, the value given, and what to do
 */
public record Problem(String path, String message) {

  /**
   * Checks the components.
   *
   * @throws NullPointerException if a component is null
   */
  public Problem {
    Objects.requireNonNull(path, "path");
    Objects.requireNonNull(message, "message");
  }

  @Override
  public String toString() {
    return path + ": " + message;
  }
}
