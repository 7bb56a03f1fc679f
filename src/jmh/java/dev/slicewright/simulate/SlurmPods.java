package dev.slicewright.simulate;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Pod;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.List;

/** A fleet of pods of boxes under the Slurm rule. Not safe; external synchronisation needed. */
public final class SlurmPods {

  /** Where a box went. Immutable, safe to share. */
  public record Place(String pod, Footprint.Box box) {}

  private final List<Pod> pods;
  private final List<BoxGrid> grids;
  private final SlurmRule rule;

  /** Pods of one topology; the toruses list all turns of the shapes. */
  public SlurmPods(Fleet fleet, List<Shape> shapes, boolean dense) {
    this.pods = List.copyOf(fleet.pods());
    this.grids = BoxGrid.of(fleet);
    this.rule =
        SlurmRule.of(pods.get(0).topology(), shapes, dense, SlurmRule.Compare.WITHIN_PLACEMENT);
  }

  /** Places a shape, or returns null. */
  public Place place(Shape shape) {
    TpuTopology topology = pods.get(0).topology();
    BoxGrid.Spot spot = rule.place(grids, BoxGrid.turns(topology, shape));
    if (spot == null) {
      return null;
    }
    grids.get(spot.grid()).take(spot);
    return new Place(pods.get(spot.grid()).id(), BoxGrid.box(topology, spot));
  }
}
