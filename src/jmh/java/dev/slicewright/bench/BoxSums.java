package dev.slicewright.bench;

import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.BitSet;

/**
 * Busy cells of any box of a pod of boxes in constant time, by a table of prefix sums over the grid
 * laid twice along each axis that wraps. Not safe; external synchronisation needed.
 */
final class BoxSums {

  private final TpuTopology topology;
  private final int[] size = new int[3]; // cells along each axis
  private final int[] tile = new int[3];
  private final boolean[] wraps = new boolean[3];
  private final int spanX;
  private final int spanXy;
  private final int[] sums;

  BoxSums(TpuTopology topology, BitSet busy) {
    this.topology = topology;
    Shape grid = topology.cellGrid();
    int[] laid = new int[3];
    for (Axis axis : Axis.values()) {
      int a = axis.ordinal();
      size[a] = grid.get(axis);
      tile[a] = topology.cellTile().get(axis);
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

  /** Whether a box does not cross an edge that does not wrap. */
  boolean isInside(Footprint.Box box) {
    for (Axis axis : Axis.values()) {
      int a = axis.ordinal();
      if (box.extents().get(axis) > size[a] * tile[a]
          || !wraps[a] && box.origin().get(axis) + box.extents().get(axis) > size[a] * tile[a]) {
        return false;
      }
    }
    return true;
  }

  /** Busy cells in a box that {@link #isInside}. */
  int busyIn(Footprint.Box box) {
    int[] from = new int[3];
    int[] by = new int[3];
    place(box, from, by);
    return count(from[0], from[1], from[2], by[0], by[1], by[2]);
  }

  private void place(Footprint.Box box, int[] from, int[] by) {
    Chip origin = box.origin();
    for (Axis axis : Axis.values()) {
      int a = axis.ordinal();
      from[a] = origin.get(axis) / tile[a];
      by[a] = Math.max(1, box.extents().get(axis) / tile[a]);
    }
  }

  private int count(int x, int y, int z, int dx, int dy, int dz) {
    return corner(x + dx, y + dy, z + dz)
        - corner(x, y + dy, z + dz)
        - corner(x + dx, y, z + dz)
        - corner(x + dx, y + dy, z)
        + corner(x, y, z + dz)
        + corner(x, y + dy, z)
        + corner(x + dx, y, z)
        - corner(x, y, z);
  }

  private int corner(int x, int y, int z) {
    return sums[x + spanX * y + spanXy * z];
  }

  /** Free cells that share a face with a box, a cell once for each face. */
  int exposed(Footprint.Box box) {
    int[] from = new int[3];
    int[] by = new int[3];
    place(box, from, by);
    int volume = by[0] * by[1] * by[2];
    int free = 0;
    for (int a = 0; a < topology.dims().rank(); a++) {
      if (by[a] == size[a]) {
        continue; // it touches itself, or the edge on both sides
      }
      int start = from[a];
      int length = by[a];
      int area = volume / length;
      by[a] = 1;
      for (int side : new int[] {start - 1, start + length}) {
        if (wraps[a] || side >= 0 && side < size[a]) {
          from[a] = Math.floorMod(side, size[a]);
          free += area - count(from[0], from[1], from[2], by[0], by[1], by[2]);
        }
      }
      from[a] = start;
      by[a] = length;
    }
    return free;
  }
}
