package dev.slicewright;

import java.util.Comparator;
import java.util.Objects;

/**
 * One slice of a request: the request's id and the slice's index in it. Immutable, safe to share.
 *
 * <p>Ordered by request id, then index.
 *
 * @param request the id of the request; not empty
 * @param index 0-based; below the number of slices of the request
 */
public record SliceId(String request, int index) implements Comparable<SliceId> {

  private static final Comparator<SliceId> ORDER =
      Comparator.comparing(SliceId::request).thenComparingInt(SliceId::index);

  /**
   * Checks the components.
   *
   * @throws IllegalArgumentException if the request id is empty or the index negative
   */
  public SliceId {
    Objects.requireNonNull(request, "request");
    if (request.isEmpty()) {
      throw new IllegalArgumentException("A slice id needs a request id that is not empty.");
    }
    if (index < 0) {
      throw new IllegalArgumentException(
          "A slice index is 0 or more, but was " + index + " for request " + request + ".");
    }
  }

  @Override
  public int compareTo(SliceId other) {
    return ORDER.compare(this, other);
  }

  @Override
  public String toString() {
    return request + "/" + index;
  }
}
