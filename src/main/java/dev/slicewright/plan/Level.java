package dev.slicewright.plan;

import java.util.Objects;

/**
 * One level of the objective. Immutable, safe to share.
 *
 * @param kind what it counts
 * @param priority the priority that it counts, for {@link Kind#KEPT} and {@link Kind#PLACED}; for
 *     {@link Kind#ROOM} {@link dev.slicewright.request.RoomGoal#PRIORITY}; else 0
 */
public record Level(Kind kind, long priority) {

  /** What a level counts. Immutable, safe to share. */
  public enum Kind {
    /** Chips of running slices kept, in place or moved; maximised. */
    KEPT(true, "chips kept"),
    /** Chips newly placed; maximised. */
    PLACED(true, "chips placed"),
    /**
     * Chips of drained parts that running slices still take, those that are leaving anyway aside;
     * minimised.
     */
    DRAIN(false, "chips left in drained parts"),
    /** Chips of room that is left as asked, or what the caller says it is worth; maximised. */
    ROOM(true, "room left"),
    /** Chip-seconds lost by moved and evicted slices; minimised. */
    DISRUPTION(false, "chip-seconds lost"),
    /** Chips times the rank of the shape among those that the request would take; minimised. */
    SHAPE_RANK(false, "chips x shape rank"),
    /** Hosts that moved slices did not hold before; minimised. */
    NEW_HOSTS(false, "new hosts"),
    /** Price of an hour in micro-units of the caller's currency; minimised. */
    PRICE(false, "micro-units an hour");

    private final boolean maximise;
    private final String unit;

    Kind(boolean maximise, String unit) {
      this.maximise = maximise;
      this.unit = unit;
    }

    /**
     * Whether more is better.
     *
     * @return false if less is
     */
    public boolean maximise() {
      return maximise;
    }

    /**
     * What is counted, for people.
     *
     * @return for example {@code chips placed}
     */
    public String unit() {
      return unit;
    }
  }

  /** Checks for null. */
  public Level {
    Objects.requireNonNull(kind, "kind");
  }

  /**
   * A name for reports.
   *
   * @return for example {@code chips placed at priority 100}
   */
  public String name() {
    return kind == Kind.KEPT || kind == Kind.PLACED
        ? kind.unit() + " at priority " + priority
        : kind.unit();
  }
}
