package dev.slicewright;

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

  /**
   * Checks the components.
   *
   * @throws InvalidInputException if the request id is empty or the index negative
   */
  public SliceId {
    Objects.requireNonNull(request, "request");
    if (request.isEmpty() || index < 0) {
      Problems problems = new Problems();
      if (request.isEmpty()) {
        problems.add("request", "expected the id of a request, but it was empty; name one");
      }
      if (index < 0) {
        problems.add(
            "index", "expected 0 or more, but was " + index + "; slices are counted from 0");
      }
      problems.throwIfAny("slice id");
    }
  }

  @Override
  public int compareTo(SliceId other) {
    int c = request.compareTo(other.request);
    return c != 0 ? c : Integer.compare(index, other.index);
  }

  @Override
  public String toString() {
    return request + "/" + index;
  }
}
