package dev.slicewright.fleet;

import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.TpuTopology;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/**
 * What the reported health of a pod's parts means for slices, as a {@link HealthPolicy} derived it.
 * Immutable, safe to share.
 *
 * @param failedCells cells that no slice may use
 * @param degradedCells cells that are usable, but degraded
 * @param failedLinks copper links that no slice may use
 * @param degradedLinks copper links that make the slices that use them degraded
 * @param brokenCubes cubes that cannot be part of a slice of whole cubes
 * @param degradedCubes cubes that make a slice of whole cubes degraded
 */
public record EffectiveHealth(
    CellSet failedCells,
    CellSet degradedCells,
    List<Part.Link> failedLinks,
    List<Part.Link> degradedLinks,
    Set<CubeId> brokenCubes,
    Set<CubeId> degradedCubes) {

  /** Copies the collections. */
  public EffectiveHealth {
    Objects.requireNonNull(failedCells, "failedCells");
    Objects.requireNonNull(degradedCells, "degradedCells");
    failedLinks = List.copyOf(failedLinks);
    degradedLinks = List.copyOf(degradedLinks);
    brokenCubes = Set.copyOf(brokenCubes);
    degradedCubes = Set.copyOf(degradedCubes);
  }

  /**
   * The health of a slice on a footprint: failed if it uses a failed part, else degraded if it uses
   * a degraded one.
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
   * @param cells its cells
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
      if (topology.usesLink(footprint, link.from(), link.axis())) {
        return Health.FAILED;
      }
    }
    for (Part.Link link : degradedLinks) {
      degraded = degraded || topology.usesLink(footprint, link.from(), link.axis());
    }
    return degraded ? Health.DEGRADED : Health.HEALTHY;
  }
}
