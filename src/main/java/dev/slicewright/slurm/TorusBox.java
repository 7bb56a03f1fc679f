package dev.slicewright.slurm;

import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Shape;
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * A box of cells of a torus, wrapping round every axis. Immutable, safe to share.
 *
 * <p>Boxes with equal cells are equal: along an axis that it goes all round, the origin is 0.
 */
record TorusBox(Chip origin, Shape extents) {

  /** A box of a torus, its origin normalised. */
  static TorusBox of(Chip origin, Shape extents, Shape torus) {
    return new TorusBox(
        new Chip(
            extents.x() == torus.x() ? 0 : origin.x(),
            extents.y() == torus.y() ? 0 : origin.y(),
            extents.z() == torus.z() ? 0 : origin.z()),
        extents);
  }

  /** The box that cells fill, or null if they fill none. O(cells + extents of the torus) */
  static @Nullable TorusBox of(Collection<Integer> cells, Shape torus) {
    if (cells.isEmpty()) {
      return null;
    }
    int[] start = new int[3];
    int[] length = new int[3];
    long volume = 1;
    int stride = 1;
    for (Axis axis : Axis.values()) {
      int n = torus.get(axis);
      boolean[] used = new boolean[n];
      for (int cell : cells) {
        used[cell / stride % n] = true;
      }
      stride *= n;
      int runs = 0;
      int a = axis.ordinal();
      for (int i = 0; i < n; i++) {
        length[a] += used[i] ? 1 : 0;
        if (used[i] && !used[(i + n - 1) % n]) {
          runs++;
          start[a] = i;
        }
      }
      if (runs > 1) {
        return null;
      }
      volume *= length[a];
    }
    return volume == cells.size()
        ? new TorusBox(
            new Chip(start[0], start[1], start[2]), Shape.of(length[0], length[1], length[2]))
        : null;
  }

  int size() {
    return (int) extents.chips();
  }

  /** Its cells: x fastest, then y, then z from the origin. */
  int[] cells(Shape torus) {
    int[] cells = new int[size()];
    int i = 0;
    for (int dz = 0; dz < extents.z(); dz++) {
      int z = (origin.z() + dz) % torus.z();
      for (int dy = 0; dy < extents.y(); dy++) {
        int row = torus.x() * ((origin.y() + dy) % torus.y() + torus.y() * z);
        for (int dx = 0; dx < extents.x(); dx++) {
          cells[i++] = row + (origin.x() + dx) % torus.x();
        }
      }
    }
    return cells;
  }

  @Override
  public String toString() {
    return extents + "@" + origin.x() + "." + origin.y() + "." + origin.z();
  }
}
