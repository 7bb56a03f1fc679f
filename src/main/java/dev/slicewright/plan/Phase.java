package dev.slicewright.plan;

import java.time.Duration;
import java.util.Objects;

/**
 * The time that one phase of a solve took, and the size of what it worked on. Immutable, safe to
 * share.
 *
 * <p>Phases do not overlap: what verifies a plan in the middle of a search counts as verifying. A
 * phase that did not take place is absent.
 *
 * @param name translate, search, bound, build, solve, explain or verify
 * @param time wall time, summed over all turns of the phase
 * @param size what it worked on: requests (translate, search, explain), levels (bound), candidates
 *     of the model (build, solve) or placed requests (verify)
 */
public record Phase(String name, Duration time, long size) {
  /** Checks for null. */
  public Phase {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(time, "time");
  }
}
