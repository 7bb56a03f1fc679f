package dev.slicewright.slurm;

import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * One entry of a torus's {@code placements}: a box, and where it may begin. Immutable, safe to
 * share.
 *
 * <p>Along each axis it may begin at the seed and at every spacing further on, round the axis until
 * that repeats: at every {@code gcd(spacing, axis)} from the seed (topology.yaml(5) of Slurm 26.05;
 * a box is never turned, each turn is an entry of its own).
 *
 * @param dims nodes along each axis
 * @param seed one place where it may begin, inside the torus
 * @param spacing from one place to the next, 1 or more along each axis, at most the torus
 */
public record TorusPlacement(Shape dims, Chip seed, Shape spacing) {
  /** Checks for null. */
  public TorusPlacement {
    Objects.requireNonNull(dims, "dims");
    Objects.requireNonNull(seed, "seed");
    Objects.requireNonNull(spacing, "spacing");
  }

  /**
   * A box that begins at the corner and at every multiple of itself: Slurm's default.
   *
   * @param dims nodes along each axis
   * @return the placement
   */
  public static TorusPlacement of(Shape dims) {
    return new TorusPlacement(dims, new Chip(0, 0, 0), dims);
  }

  /**
   * A box that may begin anywhere.
   *
   * @param dims nodes along each axis
   * @return the placement
   */
  public static TorusPlacement anywhere(Shape dims) {
    return new TorusPlacement(dims, new Chip(0, 0, 0), Shape.of(1, 1, 1));
  }

  /**
   * The number of nodes of a job that it serves.
   *
   * @return 1 or more
   */
  public long size() {
    return dims.chips();
  }

  /** How far apart the places along an axis of a torus are in the end. */
  int step(Axis axis, Shape torus) {
    return gcd(spacing.get(axis), torus.get(axis));
  }

  /** Whether it goes all round an axis, so that it does not matter where it begins. */
  boolean isRing(Axis axis, Shape torus) {
    return dims.get(axis) == torus.get(axis);
  }

  /** Whether the box may begin at a cell of a torus, which cells are mapped aside. */
  boolean mayBeginAt(Chip origin, Shape torus) {
    for (Axis axis : Axis.values()) {
      if (!isRing(axis, torus)
          && Math.floorMod(origin.get(axis) - seed.get(axis), step(axis, torus)) != 0) {
        return false;
      }
    }
    return true;
  }

  /** Where the box may begin, each different set of cells once, in the order of the plugin. */
  List<Chip> anchors(Shape torus) {
    List<Chip> found = new ArrayList<>();
    for (int x : positions(Axis.X, torus)) {
      for (int y : positions(Axis.Y, torus)) {
        for (int z : positions(Axis.Z, torus)) {
          found.add(new Chip(x, y, z));
        }
      }
    }
    return found;
  }

  /** The number of {@link #anchors}, without listing them. */
  long anchorCount(Shape torus) {
    long count = 1;
    for (Axis axis : Axis.values()) {
      count *= isRing(axis, torus) ? 1 : torus.get(axis) / step(axis, torus);
    }
    return count;
  }

  private int[] positions(Axis axis, Shape torus) {
    int length = torus.get(axis);
    if (isRing(axis, torus)) {
      return new int[] {0};
    }
    int[] at = new int[length / step(axis, torus)];
    for (int i = 0, next = seed.get(axis); i < at.length; i++) {
      at[i] = next;
      next = (next + spacing.get(axis)) % length;
    }
    return at;
  }

  static int gcd(int a, int b) {
    return b == 0 ? a : gcd(b, a % b);
  }
}
