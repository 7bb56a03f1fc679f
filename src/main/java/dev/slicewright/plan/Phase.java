package dev.slicewright.plan;

import java.time.Duration;
import java.util.Objects;

/**
 * The time that one phase of a solve took, and the size of what it worked on. Immutable, safe to
 * share.
 *
 * @param name translate, bound, search, build, solve or verify
 * @param time wall time
 * @param size what it worked on: requests, candidates or slices, as the name suggests
 */
public record Phase(String name, Duration time, long size) {
  /** Checks for null. */
  public Phase {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(time, "time");
  }
}
