package dev.slicewright.plan;

import dev.slicewright.SliceId;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.LogicalTopology;
import dev.slicewright.topology.Orientation;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.util.List;
import java.util.Objects;

/**
 * Where one slice goes. Immutable, safe to share.
 *
 * @param id the slice
 * @param pod the id of its pod
 * @param topology the pod's topology
 * @param shape its shape, in its own order of axes
 * @param footprint the chips that it takes
 * @param twist how its wraps are twisted; {@link Twist#NONE} for a plain torus or mesh
 */
public record Placement(
    SliceId id, String pod, TpuTopology topology, Shape shape, Footprint footprint, Twist twist) {

  /** Checks for null. */
  public Placement {
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(pod, "pod");
    Objects.requireNonNull(topology, "topology");
    Objects.requireNonNull(shape, "shape");
    Objects.requireNonNull(footprint, "footprint");
    Objects.requireNonNull(twist, "twist");
  }

  /**
   * The number of chips.
   *
   * @return 1 or more
   */
  public long chips() {
    return shape.chips();
  }

  /**
   * How the slice's axes lie on the pod's.
   *
   * @return the first orientation that fits
   */
  public Orientation orientation() {
    return topology.orientation(shape, footprint);
  }

  /**
   * Its hosts in worker order: x fastest, then y, then z, in the slice's own frame (a convention of
   * this library).
   *
   * @return each host once; computed anew. O(hosts)
   */
  public List<HostId> hosts() {
    return topology.workerHosts(shape, footprint);
  }

  /**
   * The names of its hosts in worker order.
   *
   * @return each host once; computed anew. O(hosts)
   */
  public List<String> hostNames() {
    return hosts().stream().map(topology::hostName).toList();
  }

  /**
   * Whether the worker order is assumed, because the platform gives labels but no coordinates:
   * partitions in id order, hosts in host order.
   *
   * @return false where coordinates are known
   */
  public boolean orderAssumed() {
    return !topology.coordinatesKnown();
  }

  /**
   * Its cubes in logical order.
   *
   * @return the cubes, empty unless it takes whole cubes of an optical pod
   */
  public List<CubeId> cubes() {
    return footprint instanceof Footprint.Cubes cubes ? cubes.cubes() : List.of();
  }

  /**
   * Its interconnect, in its own frame: shape, wraps, twist, and the graph of its links.
   *
   * @return the logical topology
   */
  public LogicalTopology logical() {
    return topology.logical(shape, footprint, twist);
  }

  @Override
  public String toString() {
    return id + ": " + shape + " on " + pod + ", " + footprint;
  }
}
