package dev.slicewright.plan;

import java.util.Arrays;
import java.util.Objects;

/**
 * Certificates that together prove a bound of one level: a case for each leaf, and every plan falls
 * under some leaf, because each split parts "the count is at most a" from "it is a + 1 or more".
 * Immutable, safe to share.
 *
 * <p>A leaf prices, besides the rows of its {@link Certificate}, the steps that lead to it from the
 * root. A price p on "count ≤ a" adds p·a to the bound and takes p from the reduced gain of every
 * candidate that counts; on "count ≥ a + 1" it takes p·(a + 1) from the bound and adds p to those
 * gains. Each leaf's bound is rounded as a certificate's is; the tree's is the weakest of them: the
 * largest on a maximised level, the least on a minimised one.
 *
 * <p>A tree that splits more than {@value #MAX_DEPTH} deep, has more than {@value #MAX_LEAVES}
 * leaves or leaves of different levels cannot be made.
 */
public sealed interface BranchTree {

  /** The most splits between the root and a leaf. */
  int MAX_DEPTH = 64;

  /** The most leaves. */
  int MAX_LEAVES = 4_096;

  /**
   * The level that the leaves are for.
   *
   * @return its index in the score
   */
  int level();

  /**
   * The most splits on the way to a leaf.
   *
   * @return 0 for a leaf. O(leaves)
   */
  int depth();

  /**
   * The cases.
   *
   * @return 1 for a leaf. O(leaves)
   */
  int leaves();

  /**
   * Two cases. Immutable, safe to share.
   *
   * @param row what is counted
   * @param atMost the most that falls under {@code below}, 0 or more
   * @param below the plans whose count is {@code atMost} or less
   * @param above the plans whose count is {@code atMost} + 1 or more
   */
  record Split(CountRow row, long atMost, BranchTree below, BranchTree above)
      implements BranchTree {
    /** Checks sizes and levels. */
    public Split {
      Objects.requireNonNull(row, "row");
      if (atMost < 0 || atMost == Long.MAX_VALUE) {
        throw new IllegalArgumentException(
            "Expected to split at a count from 0 to 2^63 - 2, but was " + atMost);
      }
      int depth = 1 + Math.max(below.depth(), above.depth());
      if (depth > MAX_DEPTH) {
        throw new IllegalArgumentException(
            "Expected at most " + MAX_DEPTH + " splits on the way to a leaf, but was " + depth);
      }
      int leaves = below.leaves() + above.leaves();
      if (leaves > MAX_LEAVES) {
        throw new IllegalArgumentException(
            "Expected at most " + MAX_LEAVES + " leaves, but was " + leaves);
      }
      if (below.level() != above.level()) {
        throw new IllegalArgumentException(
            "Expected leaves of one level, but was " + below.level() + " and " + above.level());
      }
    }

    @Override
    public int level() {
      return below.level();
    }

    @Override
    public int depth() {
      return 1 + Math.max(below.depth(), above.depth());
    }

    @Override
    public int leaves() {
      return below.leaves() + above.leaves();
    }
  }

  /**
   * One case. Immutable, safe to share.
   *
   * @param certificate the prices on what every plan keeps
   * @param branchPrices a price, 0 or more in units of 2^-20, for each step from the root to this
   *     leaf, in that order
   */
  record Leaf(Certificate certificate, long[] branchPrices) implements BranchTree {
    /** Checks for null, and copies. */
    public Leaf {
      Objects.requireNonNull(certificate, "certificate");
      branchPrices = branchPrices.clone();
    }

    /**
     * The prices of the steps.
     *
     * @return a copy
     */
    @Override
    public long[] branchPrices() {
      return branchPrices.clone();
    }

    /** The prices themselves, not to be changed. */
    long[] shared() {
      return branchPrices;
    }

    @Override
    public int level() {
      return certificate.level();
    }

    @Override
    public int depth() {
      return 0;
    }

    @Override
    public int leaves() {
      return 1;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Leaf that
          && certificate.equals(that.certificate)
          && Arrays.equals(branchPrices, that.branchPrices);
    }

    @Override
    public int hashCode() {
      return 31 * certificate.hashCode() + Arrays.hashCode(branchPrices);
    }

    @Override
    public String toString() {
      return "Leaf[" + certificate + ", branchPrices=" + Arrays.toString(branchPrices) + "]";
    }
  }

  /**
   * One side of a split: the count is {@code atMost} or less, or {@code atMost} + 1 or more.
   * Immutable, safe to share.
   *
   * @param row what is counted
   * @param atMost where it splits, 0 or more
   * @param above whether it is the side of the larger counts
   */
  record Step(CountRow row, long atMost, boolean above) {
    /** Checks for null and range. */
    public Step {
      Objects.requireNonNull(row, "row");
      if (atMost < 0 || atMost == Long.MAX_VALUE) {
        throw new IllegalArgumentException(
            "Expected to split at a count from 0 to 2^63 - 2, but was " + atMost);
      }
    }
  }
}
