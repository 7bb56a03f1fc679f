package dev.slicewright.formulation;

import java.util.Arrays;
import java.util.Objects;

/**
 * Prices on what is scarce in a {@link PlacementModel}, which prove a bound of one level; see
 * {@link PlacementModel#certifiedBound}. Immutable, safe to share. Its arrays must not be changed.
 *
 * <p>All are multiples of 2^-20: a stored price of {@link #UNIT} is 1. They are 0 or more and
 * belong to the level written as a maximum. Any such prices give a bound, good ones a good bound:
 * the duals of a linear relaxation the one of that relaxation.
 *
 * @param cells a price for each cell
 * @param rows a price for each row
 * @param earlier a price for each earlier level, written as a maximum
 */
public record ModelPrices(long[] cells, long[] rows, long[] earlier) {

  /** The unit of prices: 2^20 is a price of 1. */
  public static final long UNIT = 1L << 20;

  /** Checks for null and negative prices. */
  public ModelPrices {
    Objects.requireNonNull(cells, "cells");
    Objects.requireNonNull(rows, "rows");
    Objects.requireNonNull(earlier, "earlier");
    for (long[] prices : new long[][] {cells, rows, earlier}) {
      for (long price : prices) {
        if (price < 0) {
          throw new IllegalArgumentException(
              "Expected prices of 0 or more, but was " + price + ".");
        }
      }
    }
  }

  /**
   * Prices of 0: their bound is what the groups gain where nothing is scarce.
   *
   * @param model the model
   * @param level the level
   * @return prices of 0
   */
  public static ModelPrices zero(PlacementModel model, int level) {
    return new ModelPrices(
        new long[model.cellCount()], new long[model.rows().size()], new long[level]);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof ModelPrices that
        && Arrays.equals(cells, that.cells)
        && Arrays.equals(rows, that.rows)
        && Arrays.equals(earlier, that.earlier);
  }

  @Override
  public int hashCode() {
    return 31 * (31 * Arrays.hashCode(cells) + Arrays.hashCode(rows)) + Arrays.hashCode(earlier);
  }

  @Override
  public String toString() {
    return "ModelPrices["
        + Arrays.stream(cells).filter(p -> p != 0).count()
        + " cells, "
        + Arrays.stream(rows).filter(p -> p != 0).count()
        + " rows, earlier "
        + Arrays.toString(earlier)
        + "]";
  }
}
