package dev.slicewright.kubernetes;

/** Finds what runs: from Slices, and from pods on nodes without one. */
final class RunningSlices {
  private RunningSlices() {}
}
