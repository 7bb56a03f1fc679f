package dev.slicewright.plan;

import dev.slicewright.request.SliceRequest;
import java.util.List;
import java.util.Objects;

/**
 * Where the slices of one request go: all of them. Immutable, safe to share.
 *
 * @param request the request
 * @param slices one placement for each slice, by index
 * @param shapeRank which of its shapes it got: 0 for the most preferred
 */
public record RequestPlacement(SliceRequest request, List<Placement> slices, int shapeRank) {
  /** Checks for null and copies the list. */
  public RequestPlacement {
    Objects.requireNonNull(request, "request");
    slices = List.copyOf(slices);
  }

  /**
   * The chips of all slices.
   *
   * @return 1 or more
   */
  public long chips() {
    long sum = 0;
    for (Placement slice : slices) {
      sum += slice.chips();
    }
    return sum;
  }
}
