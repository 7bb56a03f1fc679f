package dev.slicewright.plan;

import java.util.List;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Computes the bounds that prices prove, for many certificates of one problem: what they have in
 * common is computed once. Made by {@link PlanVerifier#boundChecker}. Confined to one thread at a
 * time.
 *
 * <p>The cheapest footprints under a {@link Certificate.CellPrices} are remembered, within limits,
 * by that object: certificates that differ in other prices alone do well to share it.
 *
 * <p>All methods are exact and deterministic, and throw {@link IllegalArgumentException} if the
 * prices are malformed (a negative price, an unknown pod or row, a wrong number of prices, or a
 * {@link Certificate.RowKind#TREE} row on a pod whose partitions do not split evenly) and {@link
 * ArithmeticException} if a sum overflows a long.
 */
public sealed interface BoundChecker permits CertificateChecker {

  /**
   * The bound of a certificate. The certificate is remembered: asked again for other values, the
   * answer costs next to nothing.
   *
   * @param certificate the prices
   * @param values a plan's values by level, at least those of the levels before the certificate's
   * @return a bound of the certificate's level for all plans that keep the values of the earlier
   *     levels, rounded towards the value; never weaker than the trivial bound
   */
  long bound(Certificate certificate, long[] values);

  /**
   * The bound of one leaf of a {@link BranchTree}. The certificate is not remembered.
   *
   * @param certificate the leaf's prices
   * @param path the steps that lead to it
   * @param branchPrices a price for each step, 0 or more, in units of 2^-20
   * @param values a plan's values by level, at least those of the levels before the certificate's
   * @return a bound as of a certificate, for all plans that fall under the leaf; worse than the
   *     value of some other plan where the leaf holds no such plan
   */
  long bound(
      Certificate certificate, List<BranchTree.Step> path, long[] branchPrices, long[] values);

  /**
   * The bound of a tree: the weakest of its leaves'.
   *
   * @param tree the tree
   * @param values a plan's values by level, at least those of the levels before the tree's
   * @return a bound as of a certificate
   */
  long bound(BranchTree tree, long[] values);

  /**
   * The bound of a level from {@link Proof.Enumerated}: by every place that the one wanted slice
   * could take. The places are enumerated once and remembered.
   *
   * @param level the level's index
   * @param values a plan's values by level, at least those of the levels before it
   * @return the bound; empty where it says nothing: more than one slice is wanted, or slices of
   *     whole cubes that share too many running requests
   */
  OptionalLong enumeratedBound(int level, long[] values);

  /**
   * How many places {@link #enumeratedBound} looks at.
   *
   * @return 0 or more; 0 where it says nothing
   */
  long places();

  /**
   * The ways to make room for one slice by moving what runs.
   *
   * @return null where something else is wanted, or there are too many
   */
  @Nullable RoomMoves roomMoves();

  /**
   * The bound of a level from {@link Proof.Searched}: whether no way to make room costs less.
   *
   * @param level the level's index
   * @param values a plan's values by level, at least those of the levels before it
   * @param claim the bound to be proved
   * @param steps the most steps that the search may take
   * @return the claim; empty where it is refuted, or takes more steps, or searching says nothing
   */
  OptionalLong searchedBound(int level, long[] values, long claim, long steps);
}
