package dev.slicewright.topology;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.PriorityQueue;
import java.util.Set;

/**
 * The boxes of whole hosts of a pod, looked through from some number of chips on: a large pod has a
 * million, and messages name a few. Where two extents are fixed the chips grow with the third, so
 * that only the ends of these rows are looked at. Confined to one thread at a time.
 */
final class BoxShapes {

  private final int rank;
  private final int[] longest; // the extents along the axis with the most of them, ascending
  private final List<long[]> rows = new ArrayList<>(); // the other two extents, and their product

  /**
   * Lists the rows. O(hosts in the two shorter axes).
   *
   * @param t a pod of any boxes
   */
  BoxShapes(TpuTopology t) {
    this.rank = t.dims().rank();
    boolean powers = ((Slicing.TorusBoxes) t.slicing()).powersOfTwo();
    List<int[]> axes = new ArrayList<>();
    for (Axis axis : Axis.values()) {
      axes.add(extents(t.dims().get(axis), t.hostTile().get(axis), powers));
    }
    axes.sort(Comparator.comparingInt(a -> -a.length));
    this.longest = axes.get(0);
    for (int y : axes.get(1)) {
      for (int x : axes.get(2)) {
        rows.add(new long[] {x, y, (long) x * y});
      }
    }
  }

  private static int[] extents(int most, int step, boolean powers) {
    int[] all = new int[most / step];
    int n = 0;
    for (int e = step; e <= most; e += step) {
      if (!powers || Integer.bitCount(e) == 1) {
        all[n++] = e;
      }
    }
    return Arrays.copyOf(all, n);
  }

  /** The largest of at most so many chips, sorted extents, in descending order. */
  List<Shape> largest(long chips, int limit) {
    Comparator<int[]> byShape = Comparator.comparing(this::shape); // row, place
    PriorityQueue<int[]> heads =
        new PriorityQueue<>(
            Comparator.comparingLong((int[] h) -> -chips(h)).thenComparing(byShape.reversed()));
    for (int r = 0; r < rows.size(); r++) {
      int at = upTo(r, chips);
      if (at >= 0) {
        heads.add(new int[] {r, at});
      }
    }
    List<Shape> out = new ArrayList<>();
    for (int[] head = heads.poll(); head != null && out.size() < limit; head = heads.poll()) {
      Shape shape = shape(head);
      if (out.isEmpty() || !out.get(out.size() - 1).equals(shape)) {
        out.add(shape);
      }
      if (head[1] > 0) {
        heads.add(new int[] {head[0], head[1] - 1});
      }
    }
    return out;
  }

  /** Sorted extents: of each row, so many on either side of a number of chips. */
  Set<Shape> around(long chips, int limit) {
    Set<Shape> out = new HashSet<>();
    for (int r = 0; r < rows.size(); r++) {
      int at = upTo(r, chips);
      int from = Math.max(0, at - limit + 1);
      for (int i = from; i < longest.length && i - at <= limit; i++) {
        out.add(shape(new int[] {r, i}));
      }
    }
    return out;
  }

  private long chips(int[] at) {
    return rows.get(at[0])[2] * longest[at[1]];
  }

  private Shape shape(int[] at) {
    long[] row = rows.get(at[0]);
    int z = longest[at[1]];
    Shape sorted = Shape.of((int) row[0], (int) row[1], z).sorted();
    // On a 2-D pod the least of the three is the 1 of z.
    return rank == 2 ? Shape.of(sorted.y(), sorted.z()) : sorted;
  }

  /** The place of the largest extent with which a row has at most so many chips, or -1. */
  private int upTo(int row, long chips) {
    long product = rows.get(row)[2];
    int low = 0;
    int high = longest.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (product * longest[middle] <= chips) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low - 1;
  }
}
