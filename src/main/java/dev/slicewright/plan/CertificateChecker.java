package dev.slicewright.plan;

import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import java.util.List;

/** Recomputes the bound that a certificate proves. */
final class CertificateChecker {
  CertificateChecker(
      Fleet fleet,
      List<SliceRequest> requests,
      PlanningRules rules,
      CostTerms cost,
      Standing standing,
      List<Level> levels) {}

  long bound(Certificate certificate, long[] values) {
    throw new IllegalArgumentException("not yet");
  }
}
