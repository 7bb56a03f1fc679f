package dev.slicewright.fleet;

import dev.slicewright.topology.Axis;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.TpuTopology;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;

/**
 * What the reported health of a pod's parts means for slices, as a {@link HealthPolicy} derived it.
 * Immutable, safe to share.
 *
 * @param failedCells cells that no slice may use
 * @param degradedCells cells that are usable, but degraded
 * @param failedLinks copper links that no slice may use
 * @param degradedLinks copper links that make the slices that use them degraded
 * @param brokenCubes cubes that cannot be part of a slice of whole cubes, in ascending order
 * @param degradedCubes cubes that make a slice of whole cubes degraded, in ascending order
 */
public record EffectiveHealth(
    CellSet failedCells,
    CellSet degradedCells,
    List<Part.Link> failedLinks,
    List<Part.Link> degradedLinks,
    Set<CubeId> brokenCubes,
    Set<CubeId> degradedCubes) {

  /** Copies the collections; the cubes in ascending order. */
  public EffectiveHealth {
    Objects.requireNonNull(failedCells, "failedCells");
    Objects.requireNonNull(degradedCells, "degradedCells");
    failedLinks = List.copyOf(failedLinks);
    degradedLinks = List.copyOf(degradedLinks);
    brokenCubes = ascending(brokenCubes);
    degradedCubes = ascending(degradedCubes);
  }

  /** Set.copyOf would iterate in an order of its own in every JVM. */
  private static Set<CubeId> ascending(Set<CubeId> cubes) {
    return Collections.unmodifiableSet(new LinkedHashSet<>(new TreeSet<>(cubes)));
  }

  /**
   * The health of a slice on a footprint: failed if it uses a failed part, else degraded if it uses
   * a degraded one. Of a partition whose place is not known, it is assumed to use a link if it has
   * both its ends.
   *
   * @param topology the pod's topology
   * @param footprint a footprint of the pod
   * @return the health. O(cells + links reported)
   */
  public Health of(TpuTopology topology, Footprint footprint) {
    return of(topology, footprint, topology.cells(footprint));
  }

  /**
   * As {@link #of(TpuTopology, Footprint)}, where the cells are at hand.
   *
   * @param topology the pod's topology
   * @param footprint a footprint of the pod
   * @param cells its cells, ascending
   * @return the health
   */
  public Health of(TpuTopology topology, Footprint footprint, int[] cells) {
    if (failedCells.containsAny(cells)) {
      return Health.FAILED;
    }
    boolean degraded = degradedCells.containsAny(cells);
    if (footprint instanceof Footprint.Cubes cubes) {
      for (CubeId cube : cubes.cubes()) {
        if (brokenCubes.contains(cube)) {
          return Health.FAILED;
        }
        degraded |= degradedCubes.contains(cube);
      }
    }
    for (Part.Link link : failedLinks) {
      if (uses(topology, footprint, cells, link)) {
        return Health.FAILED;
      }
    }
    for (Part.Link link : degradedLinks) {
      degraded = degraded || uses(topology, footprint, cells, link);
    }
    return degraded ? Health.DEGRADED : Health.HEALTHY;
  }

  private static boolean uses(
      TpuTopology topology, Footprint footprint, int[] cells, Part.Link link) {
    if (!(footprint instanceof Footprint.Partition partition)
        || topology.partitions().flatMap(f -> f.box(partition.id())).isPresent()) {
      return topology.usesLink(footprint, link.from(), link.axis());
    }
    Chip from = link.from();
    int along = from.get(link.axis()) + 1;
    boolean ends =
        topology.isOptical() ? along % 4 == 0 : along == topology.dims().get(link.axis());
    if (ends && !topology.wraps(link.axis())) {
      return false;
    }
    along %= topology.dims().get(link.axis());
    Chip to =
        new Chip(
            link.axis() == Axis.X ? along : from.x(),
            link.axis() == Axis.Y ? along : from.y(),
            link.axis() == Axis.Z ? along : from.z());
    return Arrays.binarySearch(cells, topology.cellOf(from)) >= 0
        && Arrays.binarySearch(cells, topology.cellOf(to)) >= 0;
  }
}
