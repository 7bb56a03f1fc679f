package dev.slicewright.slurm;

import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Shape;
import java.util.function.IntPredicate;

/**
 * How many cells of some kind any box of a torus holds, in constant time. Immutable, safe to share.
 *
 * <p>Sums over all boxes from the origin; a box that wraps is cut in two along each axis.
 */
final class CellCounts {

  private final Shape torus;
  private final int[] sums; // of the cells below x, y and z

  /**
   * Counts. O(cells)
   *
   * @param torus its extents
   * @param counts whether a cell counts, by its index
   */
  CellCounts(Shape torus, IntPredicate counts) {
    this.torus = torus;
    int nx = torus.x();
    int ny = torus.y();
    this.sums = new int[(nx + 1) * (ny + 1) * (torus.z() + 1)];
    int cell = 0;
    for (int z = 1; z <= torus.z(); z++) {
      for (int y = 1; y <= ny; y++) {
        int row = 0;
        for (int x = 1; x <= nx; x++) {
          row += counts.test(cell++) ? 1 : 0;
          sums[at(x, y, z)] =
              row + below(x, y - 1, z) + below(x, y, z - 1) - below(x, y - 1, z - 1);
        }
      }
    }
  }

  /** Whether every cell of a box counts. */
  boolean all(TorusBox box) {
    return in(box) == box.size();
  }

  /** How many cells of a box count. */
  int in(TorusBox box) {
    int[] low = new int[3];
    int[] high = new int[3];
    return in(box, 0, low, high);
  }

  private int in(TorusBox box, int axis, int[] low, int[] high) {
    if (axis == 3) {
      return inside(low, high);
    }
    Axis along = Axis.values()[axis];
    int length = torus.get(along);
    int from = box.origin().get(along);
    int to = from + box.extents().get(along);
    low[axis] = from;
    high[axis] = Math.min(to, length);
    int count = in(box, axis + 1, low, high);
    if (to > length) {
      low[axis] = 0;
      high[axis] = to - length;
      count += in(box, axis + 1, low, high);
    }
    return count;
  }

  private int inside(int[] low, int[] high) {
    return plane(low, high, high[2]) - plane(low, high, low[2]);
  }

  private int plane(int[] low, int[] high, int z) {
    return below(high[0], high[1], z)
        - below(low[0], high[1], z)
        - below(high[0], low[1], z)
        + below(low[0], low[1], z);
  }

  private int below(int x, int y, int z) {
    return sums[at(x, y, z)];
  }

  private int at(int x, int y, int z) {
    return x + (torus.x() + 1) * (y + (torus.y() + 1) * z);
  }
}
