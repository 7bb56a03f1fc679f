package dev.slicewright.cost;

import dev.slicewright.topology.Axis;
import dev.slicewright.topology.LogicalTopology;

/** How fast collectives run on a slice's interconnect. Immutable, safe to share. */
public final class Collectives {
  private Collectives() {}

  /**
   * The relative time of an all-to-all: the load of the busiest link when every chip sends one unit
   * in all, spread evenly over all chips. Larger is slower.
   *
   * @param topology the slice's interconnect
   * @return the load in units, 0 for a single chip
   */
  public static double allToAllLoad(LogicalTopology topology) {
    double worst = 0;
    for (Axis axis : Axis.values()) {
      int extent = topology.shape().get(axis);
      if (extent > 1) {
        worst = Math.max(worst, extent / (topology.wraps(axis) ? 8.0 : 4.0));
      }
    }
    return worst;
  }
}
