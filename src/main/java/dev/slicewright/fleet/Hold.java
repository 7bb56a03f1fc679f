package dev.slicewright.fleet;

import dev.slicewright.InvalidInputException;
import dev.slicewright.topology.Footprint;
import java.time.Instant;
import java.util.Objects;

/**
 * A footprint kept for a request until an expiry: it blocks its chips for all others while now is
 * before the expiry, and ends when its request is placed. Immutable, safe to share.
 *
 * @param id the hold's id, unique in the fleet
 * @param pod the pod's id
 * @param footprint what is kept
 * @param request the id of the request for which it is kept
 * @param expiry when it ends
 */
public record Hold(String id, String pod, Footprint footprint, String request, Instant expiry) {
  /**
   * Checks the components; that the footprint fits the pod is checked by the fleet.
   *
   * @throws InvalidInputException if the id or the request is empty
   */
  public Hold {
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(pod, "pod");
    Objects.requireNonNull(footprint, "footprint");
    Objects.requireNonNull(request, "request");
    Objects.requireNonNull(expiry, "expiry");
    if (id.isEmpty() || request.isEmpty()) {
      throw new InvalidInputException("hold", id.isEmpty() ? "id" : "request", "must not be empty");
    }
  }

  /**
   * Whether it still blocks.
   *
   * @param now the time of the planning rules
   * @return true while now is before the expiry
   */
  public boolean isLive(Instant now) {
    return now.isBefore(expiry);
  }
}
