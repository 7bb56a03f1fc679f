package dev.slicewright.fleet;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.topology.Footprint;
import java.time.Instant;
import java.util.Objects;

/**
 * A footprint kept for a request until an expiry: it blocks its chips for all others while now is
 * before the expiry, and ends when its request is placed. Immutable, safe to share.
 *
 * <p>On optical pods whole cubes are named as {@link Footprint.Cubes}, of any number. A fleet reads
 * no clock: it keeps an expired hold until {@link Fleet#dropExpiredHolds}.
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
    Problems problems = new Problems();
    if (id.isEmpty()) {
      problems.add("id", "expected a name, but it was empty; give each hold an id of its own");
    }
    if (request.isEmpty()) {
      problems.add(
          "request", "expected the id of the request it is kept for, but it was empty; name one");
    }
    problems.throwIfAny("hold");
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
