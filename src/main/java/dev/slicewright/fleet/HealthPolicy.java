package dev.slicewright.fleet;

import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Says what the reported health of parts means for slices. Implementations must be immutable and
 * safe to share, and equal inputs must give equal answers.
 *
 * <p>Immutable, safe to share.
 */
@FunctionalInterface
public interface HealthPolicy {

  /**
   * Derives what slices may use.
   *
   * @param topology the pod's topology
   * @param reported the parts that are not healthy, in a fixed order
   * @return what it means; its sets of cells range over the topology's cells
   */
  EffectiveHealth derive(TpuTopology topology, Map<Part, Health> reported);

  /**
   * The rules of this library: a failed chip is its host failed; on a failed host or copper link no
   * slice runs, and its cube serves no slice of whole cubes; a failed optical link or OCS port
   * degrades its cube; a failed cube is all its hosts failed; degraded parts degrade the slices
   * that use them. (That degraded parts are usable by default is the platform's rule: GKE's dynamic
   * slicing takes HEALTHY and DEGRADED; all else is our own.)
   *
   * @return the policy
   */
  static HealthPolicy standard() {
    return StandardHealthPolicy.INSTANCE;
  }
}

/** The default rules, in one place. */
enum StandardHealthPolicy implements HealthPolicy {
  INSTANCE;

  @Override
  public EffectiveHealth derive(TpuTopology t, Map<Part, Health> reported) {
    CellSet failed = CellSet.empty(t.cellCount());
    CellSet degraded = failed;
    List<Part.Link> failedLinks = new ArrayList<>();
    List<Part.Link> degradedLinks = new ArrayList<>();
    Set<CubeId> broken = new TreeSet<>();
    Set<CubeId> degradedCubes = new TreeSet<>();
    for (Map.Entry<Part, Health> entry : reported.entrySet()) {
      Part part = entry.getKey();
      boolean fail = entry.getValue() == Health.FAILED;
      if (entry.getValue() == Health.HEALTHY) {
        continue;
      }
      if (part instanceof Part.Chip chip) {
        part = fail ? new Part.Host(t.hostOf(chip.chip())) : part;
      }
      int[] cells = {};
      if (part instanceof Part.Chip chip) {
        cells = new int[] {t.cellOf(chip.chip())};
      } else if (part instanceof Part.Host host) {
        cells = t.cells(host.host());
      } else if (part instanceof Part.Cube cube) {
        cells = new int[t.hostsPerCube()];
        for (int i = 0; i < cells.length; i++) {
          cells[i] = t.firstCell(cube.cube()) + i;
        }
      } else if (part instanceof Part.OcsPort port) {
        degradedCubes.add(port.cube());
      } else if (part instanceof Part.Link link) {
        if (t.isOptical() && isOptical(link)) {
          degradedCubes.add(t.cubeOf(link.from()));
        } else {
          (fail ? failedLinks : degradedLinks).add(link);
          if (t.isOptical()) {
            (fail ? broken : degradedCubes).add(t.cubeOf(link.from()));
          }
        }
      }
      if (cells.length > 0) {
        if (fail) {
          failed = failed.with(cells);
        } else {
          degraded = degraded.with(cells);
        }
        if (t.isOptical()) {
          for (int cell : cells) {
            (fail ? broken : degradedCubes).add(t.cubeOf(t.originOfCell(cell)));
          }
        }
      }
    }
    return new EffectiveHealth(failed, degraded, failedLinks, degradedLinks, broken, degradedCubes);
  }

  private static boolean isOptical(Part.Link link) {
    return link.from().get(link.axis()) % 4 == 3;
  }
}
