package dev.slicewright.bench;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Pod;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import java.util.List;
import java.util.Optional;

/**
 * One problem of the solve bench. Immutable, safe to share.
 *
 * @param family its family
 * @param seed its seed
 * @param fleet the fleet
 * @param requests what is wanted
 * @param rules the rules
 * @param feasible whether everything can be placed, where that is published
 */
record BenchProblem(
    String family,
    long seed,
    Fleet fleet,
    List<SliceRequest> requests,
    PlanningRules rules,
    Optional<Boolean> feasible) {

  BenchProblem {
    requests = List.copyOf(requests);
  }

  BenchProblem(String family, long seed, Fleet fleet, List<SliceRequest> requests) {
    this(family, seed, fleet, requests, PlanningRules.NONE, Optional.empty());
  }

  /** The chips of the fleet. */
  long chips() {
    return fleet.pods().stream().map(Pod::topology).mapToLong(t -> t.chipCount()).sum();
  }

  /** The slices wanted. */
  int items() {
    return requests.stream().mapToInt(SliceRequest::slices).sum();
  }

  /** The chips wanted. */
  long demand() {
    return requests.stream().mapToLong(r -> r.shapes().get(0).chips() * r.slices()).sum();
  }
}
