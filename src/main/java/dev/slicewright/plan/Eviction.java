package dev.slicewright.plan;

import dev.slicewright.fleet.RunningSlice;
import java.util.List;
import java.util.Objects;

/**
 * A running request that has to leave, all its slices. Immutable, safe to share.
 *
 * @param request its id
 * @param slices its slices as they run
 */
public record Eviction(String request, List<RunningSlice> slices) {
  /** Checks for null and copies the list. */
  public Eviction {
    Objects.requireNonNull(request, "request");
    slices = List.copyOf(slices);
  }
}
