package dev.slicewright.kubernetes;

/** Makes requests of workloads. */
final class WorkloadTranslator {
  private WorkloadTranslator() {}
}
