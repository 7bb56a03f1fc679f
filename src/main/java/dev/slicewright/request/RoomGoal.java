package dev.slicewright.request;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;

/**
 * Room that a plan should leave: for a request like this, so many times. Immutable, safe to share.
 *
 * <p>Each time is a phantom: a request below all real ones, for which nothing is evicted and which
 * moves others only as far as their permissions and the disruption budget allow. A phantom counts
 * in its tenant's quota and may use the live holds of its own id. It does not come to run: the plan
 * lists where it would go, and that may become a hold.
 *
 * @param like what to leave room for; its priority is not looked at, and it may be in no gang
 * @param times how often, 1 or more
 * @param weight what each slice that has room is worth; 0 for its chips
 */
public record RoomGoal(SliceRequest like, int times, long weight) {

  /** The priority of phantoms, below all that a request in a plan with room goals may have. */
  public static final long PRIORITY = Long.MIN_VALUE;

  private static final int MAX_ID = 240;

  /** The largest weight. */
  public static final long MAX_WEIGHT = 1_000_000_000_000L;

  /**
   * Checks the components.
   *
   * @throws InvalidInputException listing every problem
   */
  public RoomGoal {
    Objects.requireNonNull(like, "like");
    Problems problems = new Problems();
    if (times < 1 || times > SliceRequest.MAX_SLICES) {
      problems.add(
          "times",
          "expected 1 to "
              + SliceRequest.MAX_SLICES
              + ", but was "
              + times
              + "; leave the goal out for none");
    }
    if (weight < 0 || weight > MAX_WEIGHT) {
      problems.add(
          "weight",
          "expected 0 to "
              + MAX_WEIGHT
              + ", but was "
              + weight
              + "; 0 counts chips, and weights only compare with each other, so divide them");
    }
    if (like.gang().isPresent()) {
      problems.add(
          "like.gang",
          "expected none, but was "
              + like.gang().get()
              + "; ask for room for a request of several slices instead");
    }
    if (times > 1 && like.id().length() > MAX_ID) {
      problems.add(
          "like.id",
          "expected at most "
              + MAX_ID
              + " characters, so that a number fits behind, but had "
              + like.id().length());
    }
    problems.throwIfAny("room goal");
  }

  /**
   * The phantoms: requests like this, of priority {@link #PRIORITY}.
   *
   * @return one with the id of {@link #like} if there is one; else ids with -0, -1 and so on behind
   */
  public List<SliceRequest> phantoms() {
    List<SliceRequest> out = new ArrayList<>(times);
    for (String id : ids()) {
      out.add(like.toBuilder(id).priority(PRIORITY).build());
    }
    return out;
  }

  List<String> ids() {
    return times == 1
        ? List.of(like.id())
        : IntStream.range(0, times).mapToObj(i -> like.id() + "-" + i).toList();
  }
}
