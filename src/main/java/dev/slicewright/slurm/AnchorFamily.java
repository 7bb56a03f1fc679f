package dev.slicewright.slurm;

import dev.slicewright.topology.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Boxes of a torus of which any two are apart or one inside the other: what nested partitions can
 * say. Confined to one thread at a time.
 */
final class AnchorFamily {

  /** The most cells looked at while a family is chosen, so that no file takes for ever. */
  private static final long MAX_WORK = 300_000_000;

  private final SlurmTorus torus;
  private final List<TorusBox> boxes = new ArrayList<>();
  private final Map<TorusBox, Boolean> tried = new HashMap<>();
  private final int[][] at; // per cell, the boxes around it
  private long work;

  AnchorFamily(SlurmTorus torus) {
    this.torus = torus;
    this.at = new int[torus.nodes().size()][0];
  }

  /**
   * The anchors with a node in every cell if they nest, each set of nodes once.
   *
   * @return the family, or null if two anchors cross
   */
  static @Nullable AnchorFamily all(SlurmTorus torus) {
    AnchorFamily family = new AnchorFamily(torus);
    for (TorusPlacement placement : torus.placements()) {
      for (TorusBox box : anchors(torus, placement)) {
        if (torus.isMapped(box) && !family.add(box)) {
          return null;
        }
      }
    }
    return family;
  }

  /**
   * Some of the anchors: boxes in use first, then idle ones of the sizes wanted, then larger before
   * smaller and idle before others; of two that cross, the first.
   *
   * @param used boxes that must be in it, apart from one another
   * @param wanted sizes of placements, most wanted first
   * @param idle per cell, whether a job could start
   */
  static AnchorFamily some(
      SlurmTorus torus, List<TorusBox> used, List<Long> wanted, boolean[] idle) {
    AnchorFamily family = new AnchorFamily(torus);
    CellCounts idleCells = new CellCounts(torus.dims(), cell -> idle[cell]);
    used.forEach(family::add);
    for (long size : wanted) {
      family.addSize(size, idleCells, true);
    }
    TreeSet<Long> sizes = new TreeSet<>();
    torus.placements().forEach(p -> sizes.add(p.size()));
    for (long size : sizes.descendingSet()) {
      family.addSize(size, idleCells, true);
      family.addSize(size, idleCells, false);
    }
    return family;
  }

  private void addSize(long size, CellCounts idle, boolean onlyIdle) {
    for (TorusPlacement placement : torus.placements()) {
      if (placement.size() == size) {
        for (TorusBox box : anchors(torus, placement)) {
          if (work > MAX_WORK) {
            return;
          }
          if (torus.isMapped(box) && (!onlyIdle || idle.all(box))) {
            add(box);
          }
        }
      }
    }
  }

  /** The boxes at the anchors of a placement, as sets of cells, in the order of the plugin. */
  static List<TorusBox> anchors(SlurmTorus torus, TorusPlacement placement) {
    Shape dims = torus.dims();
    return placement.anchors(dims).stream()
        .map(origin -> TorusBox.of(origin, placement.dims(), dims))
        .toList();
  }

  /** Adds a box unless it crosses one that is there; true if it is in the family then. */
  private boolean add(TorusBox box) {
    return tried.computeIfAbsent(box, this::nests);
  }

  private boolean nests(TorusBox box) {
    int[] cells = box.cells(torus.dims());
    Map<Integer, Integer> shared = new HashMap<>();
    for (int cell : cells) {
      work += 1 + at[cell].length;
      for (int other : at[cell]) {
        shared.merge(other, 1, Integer::sum);
      }
    }
    for (Map.Entry<Integer, Integer> entry : shared.entrySet()) {
      if (entry.getValue() != Math.min(cells.length, boxes.get(entry.getKey()).size())) {
        return false;
      }
    }
    int me = boxes.size();
    boxes.add(box);
    for (int cell : cells) {
      at[cell] = Arrays.copyOf(at[cell], at[cell].length + 1);
      at[cell][at[cell].length - 1] = me;
    }
    return true;
  }

  /** The boxes, in the order in which they came. */
  List<TorusBox> boxes() {
    return boxes;
  }
}
