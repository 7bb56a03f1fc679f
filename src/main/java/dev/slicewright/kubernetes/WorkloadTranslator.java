package dev.slicewright.kubernetes;

import dev.slicewright.Problems;
import java.util.List;
import java.util.Map;

/** Makes requests of workloads. */
final class WorkloadTranslator {

  /** Workloads by request id, in order of it, and whose pods are whose. */
  record Translation(Map<String, Workload> workloads, Owners owners) {}

  private WorkloadTranslator() {}

  static Translation translate(
      KubernetesObjects objects,
      Domains domains,
      ReadSettings settings,
      Problems problems,
      List<LeftOut> leftOut) {
    throw new UnsupportedOperationException();
  }
}
