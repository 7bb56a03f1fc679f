package dev.slicewright.bench;

import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.BitSet;

/**
 * Busy cells of any box of a pod of boxes in constant time, by a table of prefix sums over the grid
 * laid twice along each axis that wraps. Not safe; external synchronisation needed.
 */
final class BoxSums {

  private final int[] size = new int[3]; // cells along each axis
  private final boolean[] wraps = new boolean[3];
  private final int spanX;
  private final int spanXy;
  private final int[] sums;

  BoxSums(TpuTopology topology, BitSet busy) {
    Shape grid = topology.cellGrid();
    int[] laid = new int[3];
    for (Axis axis : Axis.values()) {
      int a = axis.ordinal();
      size[a] = grid.get(axis);
      wraps[a] = topology.wraps(axis);
      laid[a] = wraps[a] ? 2 * size[a] : size[a];
    }
    spanX = laid[0] + 1;
    spanXy = spanX * (laid[1] + 1);
    sums = new int[spanXy * (laid[2] + 1)];
    for (int z = 1; z <= laid[2]; z++) {
      for (int y = 1; y <= laid[1]; y++) {
        int row = 0;
        for (int x = 1; x <= laid[0]; x++) {
          int cell =
              (x - 1) % size[0] + size[0] * ((y - 1) % size[1] + size[1] * ((z - 1) % size[2]));
          row += busy.get(cell) ? 1 : 0;
          int at = x + spanX * y + spanXy * z;
          // The rows before in this layer, and the layers before.
          sums[at] = row + sums[at - spanX] + sums[at - spanXy] - sums[at - spanX - spanXy];
        }
      }
    }
  }

  /** Whether a box, in cells, does not cross an edge that does not wrap; its origin is inside. */
  boolean isInside(int x, int y, int z, int dx, int dy, int dz) {
    return fits(0, x, dx) && fits(1, y, dy) && fits(2, z, dz);
  }

  private boolean fits(int axis, int from, int by) {
    return by <= size[axis] && (wraps[axis] || from + by <= size[axis]);
  }

  /** Busy cells in a box that {@link #isInside}. */
  int busyIn(int x, int y, int z, int dx, int dy, int dz) {
    int low = spanXy * z;
    int high = spanXy * (z + dz);
    int near = spanX * y;
    int far = spanX * (y + dy);
    int right = x + dx;
    return sums[right + far + high]
        - sums[x + far + high]
        - sums[right + near + high]
        - sums[right + far + low]
        + sums[x + near + high]
        + sums[x + far + low]
        + sums[right + near + low]
        - sums[x + near + low];
  }

  /**
   * Free cells that share a face with a box that {@link #isInside}, a cell once for each face.
   *
   * @param enough where to stop counting
   */
  int exposed(int x, int y, int z, int dx, int dy, int dz, int enough) {
    int free = 0;
    for (int side = 0; side < 2; side++) {
      int at = beside(0, x, dx, side);
      free += at < 0 ? 0 : dy * dz - busyIn(at, y, z, 1, dy, dz);
    }
    for (int side = 0; side < 2 && free <= enough; side++) {
      int at = beside(1, y, dy, side);
      free += at < 0 ? 0 : dx * dz - busyIn(x, at, z, dx, 1, dz);
    }
    for (int side = 0; side < 2 && free <= enough; side++) {
      int at = beside(2, z, dz, side);
      free += at < 0 ? 0 : dx * dy - busyIn(x, y, at, dx, dy, 1);
    }
    return free;
  }

  /** The layer before or after a box, or -1 if there is none or the box touches itself. */
  private int beside(int axis, int from, int by, int side) {
    int at = side == 0 ? from - 1 : from + by;
    if (by == size[axis] || !wraps[axis] && (at < 0 || at >= size[axis])) {
      return -1;
    }
    return at < 0 ? at + size[axis] : at >= size[axis] ? at - size[axis] : at;
  }
}
