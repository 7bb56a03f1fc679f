package dev.slicewright.topology;

import java.util.Arrays;
import java.util.Objects;

/**
 * A set of cells of one pod. Immutable, safe to share.
 *
 * <p>A cell is a group of chips that slices always take together ({@link TpuTopology#cellCount()}).
 * Adding or removing k cells costs O(k) plus a copy of the touched chunks of {@value #CHUNK_WORDS}
 * words and of one reference per chunk; everything else is shared.
 */
public final class CellSet {

  private static final int CHUNK_WORDS = 64;
  private static final int CHUNK_SHIFT = 12; // log2(64 words x 64 bits)

  private final int size;
  private final long[][] chunks;
  private final int cardinality;

  private CellSet(int size, long[][] chunks, int cardinality) {
    this.size = size;
    this.chunks = chunks;
    this.cardinality = cardinality;
  }

  /**
   * The empty set over a number of cells.
   *
   * @param size the number of cells of the pod, 0 or more
   * @return the set
   */
  public static CellSet empty(int size) {
    if (size < 0) {
      throw new IllegalArgumentException("A cell set has 0 or more cells, but was " + size + ".");
    }
    int words = (size + 63) >>> 6;
    long[][] chunks = new long[(words + CHUNK_WORDS - 1) / CHUNK_WORDS][];
    for (int c = 0; c < chunks.length; c++) {
      chunks[c] = new long[Math.min(CHUNK_WORDS, words - c * CHUNK_WORDS)];
    }
    return new CellSet(size, chunks, 0);
  }

  /**
   * The number of cells that the set ranges over.
   *
   * @return 0 or more
   */
  public int size() {
    return size;
  }

  /**
   * The number of cells in the set.
   *
   * @return from 0 to {@link #size()}
   */
  public int cardinality() {
    return cardinality;
  }

  /**
   * Whether the set has no cell.
   *
   * @return true if empty
   */
  public boolean isEmpty() {
    return cardinality == 0;
  }

  /**
   * Whether a cell is in the set.
   *
   * @param cell from 0 to {@link #size()} - 1
   * @return true if it is
   */
  public boolean contains(int cell) {
    Objects.checkIndex(cell, size);
    return (chunks[cell >>> CHUNK_SHIFT][(cell >>> 6) & (CHUNK_WORDS - 1)] & (1L << cell)) != 0;
  }

  /**
   * The number of 64-bit words.
   *
   * @return ceil(size / 64)
   */
  public int wordCount() {
    return (size + 63) >>> 6;
  }

  /**
   * One 64-bit word: bit i is cell 64 × index + i.
   *
   * @param index from 0 to {@link #wordCount()} - 1
   * @return the word; bits beyond {@link #size()} are 0
   */
  public long word(int index) {
    return chunks[index >>> 6][index & (CHUNK_WORDS - 1)];
  }

  /**
   * Up to 64 cells from a starting cell, as bits.
   *
   * @param from the first cell
   * @param count how many, 1 to 64; from + count must not exceed {@link #size()}
   * @return bit i is cell from + i
   */
  public long bits(int from, int count) {
    int index = from >>> 6;
    int shift = from & 63;
    long low = word(index) >>> shift;
    if (shift + count > 64) {
      low |= word(index + 1) << (64 - shift);
    }
    return count == 64 ? low : low & ((1L << count) - 1);
  }

  /**
   * How many of the given cells are in the set.
   *
   * @param cells cells, each from 0 to {@link #size()} - 1
   * @return the count
   */
  public int countOf(int[] cells) {
    int count = 0;
    for (int cell : cells) {
      if (contains(cell)) {
        count++;
      }
    }
    return count;
  }

  /**
   * Whether any of the given cells is in the set.
   *
   * @param cells cells, each from 0 to {@link #size()} - 1
   * @return true if one is
   */
  public boolean containsAny(int[] cells) {
    for (int cell : cells) {
      if (contains(cell)) {
        return true;
      }
    }
    return false;
  }

  /**
   * This set and the given cells.
   *
   * @param cells cells to add
   * @return the union
   */
  public CellSet with(int... cells) {
    return change(cells, true);
  }

  /**
   * This set without the given cells.
   *
   * @param cells cells to remove
   * @return the difference
   */
  public CellSet without(int... cells) {
    return change(cells, false);
  }

  private CellSet change(int[] cells, boolean add) {
    long[][] copy = null;
    int count = cardinality;
    for (int cell : cells) {
      if (contains(cell) == add && copy == null) {
        continue;
      }
      int c = cell >>> CHUNK_SHIFT;
      if (copy == null) {
        copy = chunks.clone();
      }
      if (copy[c] == chunks[c]) {
        copy[c] = chunks[c].clone();
      }
      int w = (cell >>> 6) & (CHUNK_WORDS - 1);
      long bit = 1L << cell;
      long before = copy[c][w];
      long after = add ? before | bit : before & ~bit;
      if (after != before) {
        copy[c][w] = after;
        count += add ? 1 : -1;
      }
    }
    return copy == null ? this : new CellSet(size, copy, count);
  }

  /**
   * The cells in ascending order.
   *
   * @return a new array
   */
  public int[] toArray() {
    int[] cells = new int[cardinality];
    int n = 0;
    for (int i = 0; i < wordCount(); i++) {
      for (long w = word(i); w != 0; w &= w - 1) {
        cells[n++] = (i << 6) + Long.numberOfTrailingZeros(w);
      }
    }
    return cells;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof CellSet that
        && size == that.size
        && cardinality == that.cardinality
        && Arrays.deepEquals(chunks, that.chunks);
  }

  @Override
  public int hashCode() {
    return 31 * size + Arrays.deepHashCode(chunks);
  }

  @Override
  public String toString() {
    return cardinality + " of " + size + " cells";
  }
}
