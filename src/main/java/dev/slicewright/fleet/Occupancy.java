package dev.slicewright.fleet;

import dev.slicewright.topology.TpuTopology;
import org.jspecify.annotations.Nullable;

/**
 * Says which running slice and which hold has a cell: of a pod, or of one that is being built.
 * Confined to one thread at a time.
 *
 * <p>Where bad data gives a cell to two, the first has it. A cell that is free is answered in O(1);
 * the first that is not costs O(cells of the pod).
 */
final class Occupancy {

  private final TpuTopology topology;
  private final @Nullable Pod pod;
  private @Nullable RunningSlice @Nullable [] slices;
  private @Nullable Hold @Nullable [] holds;

  /** Nothing runs and nothing is held. */
  Occupancy(TpuTopology topology) {
    this.topology = topology;
    this.pod = null;
  }

  /** What runs and is held on a pod. */
  Occupancy(Pod pod) {
    this.topology = pod.topology();
    this.pod = pod;
  }

  @Nullable RunningSlice slice(int cell) {
    if (pod != null && !pod.busy().contains(cell)) {
      return null;
    }
    if (slices == null && pod != null) {
      pod.running().forEach(slice -> add(slice, topology.cells(slice.footprint())));
    }
    return slices == null ? null : slices[cell];
  }

  @Nullable Hold hold(int cell) {
    if (pod != null && !pod.held().contains(cell)) {
      return null;
    }
    if (holds == null && pod != null) {
      pod.holds().forEach(hold -> add(hold, topology.cells(hold.footprint())));
    }
    return holds == null ? null : holds[cell];
  }

  void add(RunningSlice slice, int[] cells) {
    @Nullable RunningSlice[] to = slices;
    if (to == null) {
      to = new RunningSlice[topology.cellCount()];
      slices = to;
    }
    for (int cell : cells) {
      to[cell] = to[cell] == null ? slice : to[cell];
    }
  }

  void add(Hold hold, int[] cells) {
    @Nullable Hold[] to = holds;
    if (to == null) {
      to = new Hold[topology.cellCount()];
      holds = to;
    }
    for (int cell : cells) {
      to[cell] = to[cell] == null ? hold : to[cell];
    }
  }
}
