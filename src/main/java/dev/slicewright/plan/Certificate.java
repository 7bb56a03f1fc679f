package dev.slicewright.plan;

import java.util.Arrays;
import java.util.List;
import java.util.Objects;

/**
 * Integer prices that prove a bound of one level; anyone can check it. Immutable, safe to share.
 *
 * <p>All prices are multiples of {@link #UNIT}: a stored price of 2^20 is 1. Write the level as a
 * maximum. For any prices p ≥ 0 on rows a·x ≤ b and q on earlier levels of held values v, the
 * reduced gain of a candidate is its gain + Σ q × its gain at the earlier levels - Σ p × a, and
 *
 * <p>bound = Σ p·b - Σ q·v + Σ over groups of w
 *
 * <p>where w is the largest sum of reduced gains of the group's joint choices, and at least 0 if
 * the group may stay unplaced. The bound holds by weak linear-programming duality, whatever the
 * prices; {@link PlanVerifier} recomputes it exactly and rounds it towards the value by the gcd of
 * the level's gains.
 *
 * @param level the index of the level in the score
 * @param cells prices on cells: at most one candidate a cell
 * @param rows prices on other rows
 * @param earlier q for each earlier level, as a maximum; its length is {@code level}
 */
public record Certificate(int level, List<CellPrices> cells, List<RowPrice> rows, long[] earlier) {

  /** The unit of prices: 2^20 is a price of 1. */
  public static final long UNIT = 1L << 20;

  /** Checks for null and lengths, and copies. */
  public Certificate {
    cells = List.copyOf(cells);
    rows = List.copyOf(rows);
    earlier = earlier.clone();
    if (earlier.length != level) {
      throw new IllegalArgumentException(
          "Expected a price for each of the " + level + " earlier levels: " + earlier.length);
    }
  }

  /**
   * The prices on earlier levels.
   *
   * @return a copy
   */
  @Override
  public long[] earlier() {
    return earlier.clone();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Certificate that
        && level == that.level
        && cells.equals(that.cells)
        && rows.equals(that.rows)
        && Arrays.equals(earlier, that.earlier);
  }

  @Override
  public int hashCode() {
    return Objects.hash(level, cells, rows, Arrays.hashCode(earlier));
  }

  @Override
  public String toString() {
    return "Certificate[level="
        + level
        + ", cells="
        + cells
        + ", rows="
        + rows
        + ", earlier="
        + Arrays.toString(earlier)
        + "]";
  }

  /**
   * Prices on the cells of one pod. Immutable, safe to share.
   *
   * @param pod the pod's id
   * @param byCell a price for each cell of the pod, 0 or more
   */
  public record CellPrices(String pod, long[] byCell) {
    /** Checks for null, and copies. */
    public CellPrices {
      Objects.requireNonNull(pod, "pod");
      byCell = byCell.clone();
    }

    /**
     * The price of each cell.
     *
     * @return a copy
     */
    @Override
    public long[] byCell() {
      return byCell.clone();
    }

    /** The prices themselves, not to be changed: the checker reads them often. */
    long[] shared() {
      return byCell;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof CellPrices that
          && pod.equals(that.pod)
          && Arrays.equals(byCell, that.byCell);
    }

    @Override
    public int hashCode() {
      return 31 * pod.hashCode() + Arrays.hashCode(byCell);
    }

    @Override
    public String toString() {
      return pod + ": " + byCell.length + " prices";
    }
  }

  /** Which row. Immutable, safe to share. */
  public enum RowKind {
    /**
     * Whole cubes of an optical pod, in parcels of {@code size} cubes: the sum of floor(n / size)
     * over the slices of n whole cubes is at most floor(free / size), where free counts the cubes
     * that are free, or whose slices may leave, and that may be part of a slice of whole cubes.
     * (With size 1 the pool itself; larger sizes are its Chvátal-Gomory cuts.)
     */
    POOL,
    /**
     * Partitions of {@code size} cells of a pod whose partitions all split into equal children: the
     * cells of the slices (whole cubes too) that take {@code size} cells or more are at most size ×
     * the partitions of that size that are free, or whose slices may leave.
     */
    TREE,
    /** Chips of a tenant: quota number {@code size} of the rules, raised where need be. */
    QUOTA,
    /** Chips of all others in a selector's pods: reservation number {@code size} of the rules. */
    RESERVED
  }

  /**
   * A price on a row. Immutable, safe to share.
   *
   * @param kind which row
   * @param pod the pod's id for {@link RowKind#POOL} and {@link RowKind#TREE}, else empty
   * @param size the row's number, as its kind says
   * @param healthyOnly for {@link RowKind#POOL} and {@link RowKind#TREE}: whether the row counts
   *     only requests for healthy parts, and only healthy cubes or partitions
   * @param price 0 or more, in units of 2^-20
   */
  public record RowPrice(RowKind kind, String pod, int size, boolean healthyOnly, long price) {
    /** Checks for null. */
    public RowPrice {
      Objects.requireNonNull(kind, "kind");
      Objects.requireNonNull(pod, "pod");
    }
  }
}
