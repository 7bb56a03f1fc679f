package dev.slicewright.kubernetes;

import dev.slicewright.Problems;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.RunningSlice;
import java.util.List;
import java.util.Map;

/** Finds what runs: from Slices, and from pods on nodes without one. */
final class RunningSlices {

  /**
   * What runs and what is held.
   *
   * @param running by slice id; no two overlap
   * @param holds by id
   * @param missing for each request some but not all of whose slices run: the numbers of those that
   *     do not, ascending
   * @param slices every Slice object, by name
   * @param cordons by domain id: partitions of failed Slices
   */
  record Found(
      List<RunningSlice> running,
      List<Hold> holds,
      Map<String, List<Integer>> missing,
      List<SliceManifest> slices,
      Map<String, List<Part>> cordons) {}

  private RunningSlices() {}

  static Found find(
      KubernetesObjects objects,
      Domains domains,
      WorkloadTranslator.Translation work,
      ReadSettings settings,
      Problems problems,
      List<LeftOut> leftOut) {
    throw new UnsupportedOperationException();
  }
}
