package dev.slicewright.kubernetes;

import dev.slicewright.fleet.Health;
import java.util.Comparator;

/**
 * What the state of a partition means. Documented are HEALTHY and DEGRADED, of which GKE's dynamic
 * slicing takes both; UNHEALTHY is met in the field; whatever else it says, it is not to be used.
 */
final class NodeHealth {

  /** Orders states by how bad they are, then by text. */
  static final Comparator<String> WORSE =
      Comparator.comparing(NodeHealth::of).thenComparing(Comparator.naturalOrder());

  private NodeHealth() {}

  static Health of(String state) {
    return switch (state) {
      case "HEALTHY" -> Health.HEALTHY;
      case "DEGRADED" -> Health.DEGRADED;
      default -> Health.FAILED;
    };
  }

  static boolean isKnown(String state) {
    return of(state) != Health.FAILED || state.equals("UNHEALTHY");
  }
}
