package dev.slicewright.topology;

import org.jgrapht.Graph;

/** Read-only graph views. */
final class IciGraph {
  private IciGraph() {}

  static Graph<Chip, IciLink> of(TpuTopology topology) {
    throw new IllegalStateException("not yet: " + topology);
  }

  static Graph<Chip, IciLink> of(LogicalTopology topology) {
    throw new IllegalStateException("not yet: " + topology);
  }
}
