package dev.slicewright.plan;

import java.util.HashMap;
import java.util.Map;

/**
 * Sums of one array of prices over all boxes of a grid of cells that wraps round. Boxes of the same
 * length along the first axes share their sums along those. Confined to one thread at a time.
 */
final class BoxSums {

  private static final long[] NONE = {};

  private final long[] prices;
  private final int nx;
  private final int ny;
  private final int nz;
  private final Map<Integer, long[]> alongX = new HashMap<>();
  private final Map<Integer, long[]> alongXy = new HashMap<>();
  private long[] last = NONE;

  /**
   * Sums of nothing yet.
   *
   * @param prices by cell, x fastest, then y; not copied; their sum is a long
   */
  BoxSums(long[] prices, int nx, int ny, int nz) {
    this.prices = prices;
    this.nx = nx;
    this.ny = ny;
    this.nz = nz;
  }

  /**
   * By cell: the sum over the box that begins there. O(cells).
   *
   * @param x the box's cells along x, from 1 to the grid's; y and z likewise
   * @return not to be changed, and only until the next call
   */
  long[] of(int x, int y, int z) {
    long[] rows = x == 1 ? prices : alongX.computeIfAbsent(x, l -> slide(prices, nx, 1, l, NONE));
    long[] planes =
        y == 1
            ? rows
            : alongXy.computeIfAbsent(x * (ny + 1) + y, k -> slide(rows, ny, nx, y, NONE));
    if (z == 1) {
      return planes;
    }
    last = slide(planes, nz, nx * ny, z, last);
    return last;
  }

  /** By cell: the sum of it and its followers along one axis, wrapping round. */
  private static long[] slide(long[] in, int n, int apart, int length, long[] into) {
    long[] out = into.length == in.length ? into : new long[in.length];
    int block = n * apart;
    for (int base = 0; base < in.length; base += block) {
      System.arraycopy(in, base, out, base, apart);
      for (int k = 1; k < length; k++) {
        int from = base + k * apart;
        for (int j = 0; j < apart; j++) {
          out[base + j] += in[from + j];
        }
      }
      for (int i = 1; i < n; i++) {
        int to = base + i * apart;
        int leaves = to - apart;
        int enters = base + (i - 1 + length < n ? i - 1 + length : i - 1 + length - n) * apart;
        for (int j = 0; j < apart; j++) {
          out[to + j] = out[leaves + j] - in[leaves + j] + in[enters + j];
        }
      }
    }
    return out;
  }
}
