package dev.slicewright.plan;

import dev.slicewright.SliceId;
import dev.slicewright.request.SliceRequest;
import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * One step of a {@link Rollout}: something done to one slice. Immutable, safe to share.
 *
 * @param number its number, from 1; numbers ascend with the waves
 * @param wave the number of its wave, from 1
 * @param kind what is done
 * @param request the request of the slice
 * @param at the slice and its place: the one that it leaves where the step {@linkplain
 *     Kind#vacates() vacates}, the one that it takes or has in all other steps
 * @param after the numbers of the steps that it waits for, ascending, all of earlier waves. Steps
 *     may be started as soon as these are done, without regard to waves
 * @param time how long it takes, as far as that is known
 * @param timeKnown whether the time rests on what callers said, not on {@link
 *     dev.slicewright.cost.Disruption#UNKNOWN_RESTART}
 */
public record Step(
    int number,
    int wave,
    Kind kind,
    SliceRequest request,
    Placement at,
    List<Integer> after,
    Duration time,
    boolean timeKnown) {

  /** What is done. Immutable, safe to share. */
  public enum Kind {
    /** A slice is deleted for good. */
    EVICT("evict"),
    /**
     * A slice is deleted to be created anew: where it goes is free already (or is left in this very
     * step, where old and new place overlap).
     */
    DELETE("delete"),
    /**
     * A slice is deleted before its new place is free, to break a cycle of moves: it is down until
     * others have moved.
     */
    SUSPEND("suspend"),
    /** A slice is created at a place that it leaves again in a later wave, to break a cycle. */
    DETOUR("detour"),
    /** A slice is created where the plan has it: a new one, or a moved one. */
    CREATE("create"),
    /** A slice that was just created goes on from its checkpoint. */
    RESTORE("restore"),
    /**
     * A slice that stays where it is goes on from its checkpoint, since others of its request
     * moved; it stopped when the first of those was deleted.
     */
    RESTART("restart");

    private final String word;

    Kind(String word) {
      this.word = word;
    }

    /**
     * Whether chips become free.
     *
     * @return true for {@link #EVICT}, {@link #DELETE} and {@link #SUSPEND}
     */
    public boolean vacates() {
      return this == EVICT || this == DELETE || this == SUSPEND;
    }

    /**
     * Whether chips are taken.
     *
     * @return true for {@link #DETOUR} and {@link #CREATE}
     */
    public boolean takes() {
      return this == DETOUR || this == CREATE;
    }

    @Override
    public String toString() {
      return word;
    }
  }

  /** Checks for null and copies the list. */
  public Step {
    Objects.requireNonNull(kind, "kind");
    Objects.requireNonNull(request, "request");
    Objects.requireNonNull(at, "at");
    after = List.copyOf(after);
    Objects.requireNonNull(time, "time");
  }

  /**
   * The slice.
   *
   * @return its id
   */
  public SliceId slice() {
    return at.id();
  }

  @Override
  public String toString() {
    return number + " " + kind + " " + at + (after.isEmpty() ? "" : " after " + after);
  }
}
