package dev.slicewright.plan;

import java.util.List;
import java.util.Objects;

/**
 * Thrown where a plan cannot be applied to a fleet because something that it needs has changed.
 * Immutable, safe to share.
 */
public class StalePlanException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  /** What has changed. Immutable, safe to share. */
  public enum ConflictKind {
    /** A pod is gone or has another topology. */
    POD_CHANGED,
    /** Chips are taken by another slice. */
    CHIPS_TAKEN,
    /** Chips are held for another request. */
    CHIPS_HELD,
    /** A part has failed, or is degraded where healthy only was asked. */
    HEALTH_CHANGED,
    /** A part was cordoned. */
    CORDONED,
    /** A slice of the request runs already. */
    RUNS_ALREADY,
    /** A slice to move or evict is gone or has changed. */
    SLICE_CHANGED,
    /** A quota or reserved capacity no longer allows it. */
    RULE_BROKEN
  }

  /**
   * One thing that has changed. Immutable, safe to share.
   *
   * @param kind what
   * @param subject the slice, request or pod concerned
   * @param message for people
   */
  public record Conflict(ConflictKind kind, String subject, String message) {
    /** Checks for null. */
    public Conflict {
      Objects.requireNonNull(kind, "kind");
      Objects.requireNonNull(subject, "subject");
      Objects.requireNonNull(message, "message");
    }
  }

  private final transient List<Conflict> conflicts;

  /**
   * Makes one.
   *
   * @param planVersion the fleet version that the plan was made from
   * @param fleetVersion the fleet version that it met
   * @param conflicts everything that has changed and matters; not empty
   */
  public StalePlanException(long planVersion, long fleetVersion, List<Conflict> conflicts) {
    super(
        "The plan was made from fleet version "
            + planVersion
            + " and no longer fits version "
            + fleetVersion
            + ": "
            + String.join("; ", conflicts.stream().map(Conflict::message).limit(10).toList())
            + ". Plan again from the present fleet.");
    this.conflicts = List.copyOf(conflicts);
  }

  /**
   * Everything that has changed and matters.
   *
   * @return an unmodifiable list, not empty (empty only after Java serialisation)
   */
  public List<Conflict> conflicts() {
    return conflicts == null ? List.of() : conflicts;
  }
}
