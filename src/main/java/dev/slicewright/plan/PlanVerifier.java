package dev.slicewright.plan;

import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import java.util.List;
import java.util.Objects;
import java.util.function.BooleanSupplier;

/**
 * Checks a plan from topology, fleet, requests, rules and cost terms alone, never from what a
 * solver says. Immutable, safe to share.
 *
 * <p>Placements, values and every bound that is trivial, has certificates or rests on enumerated
 * places are derived anew. A bound that rests on a {@link Proof.Agreement} cannot be: of it only
 * the form is checked, so it is worth as much as where the plan comes from. Reasons of unplaced
 * requests are not checked.
 */
public final class PlanVerifier {

  /**
   * One rule that a plan breaks. Immutable, safe to share.
   *
   * @param path the part of the plan, for example {@code placements[2].slices[0]}
   * @param message what is wrong
   */
  public record Violation(String path, String message) {
    /** Checks for null. */
    public Violation {
      Objects.requireNonNull(path, "path");
      Objects.requireNonNull(message, "message");
    }
  }

  private PlanVerifier() {}

  /**
   * Checks a plan.
   *
   * @param fleet the fleet that it was made from
   * @param requests the requests, in the order given
   * @param rules the rules
   * @param cost the cost terms
   * @param plan the plan
   * @return every violation; empty if the plan is right
   */
  public static List<Violation> verify(
      Fleet fleet, List<SliceRequest> requests, PlanningRules rules, CostTerms cost, Plan plan) {
    Objects.requireNonNull(plan, "plan");
    return new Verification(fleet, requests, rules, cost, plan).run();
  }

  /**
   * The bound that a certificate proves, as {@link #verify} computes it.
   *
   * @param fleet the fleet
   * @param requests the requests
   * @param rules the rules
   * @param cost the cost terms
   * @param certificate the prices
   * @param values a plan's values by level, at least those of the levels before the certificate's
   * @return a bound of the certificate's level for all plans that keep the values of the earlier
   *     levels, rounded towards the value; never weaker than the trivial bound
   * @throws IllegalArgumentException if the certificate is malformed: a negative price, an unknown
   *     pod or row, a wrong number of cells, or a {@link Certificate.RowKind#TREE} row on a pod
   *     whose partitions do not split evenly
   * @throws ArithmeticException if a sum overflows a long
   */
  public static long certifiedBound(
      Fleet fleet,
      List<SliceRequest> requests,
      PlanningRules rules,
      CostTerms cost,
      Certificate certificate,
      long[] values) {
    return boundChecker(fleet, requests, rules, cost).bound(certificate, values);
  }

  /**
   * What computes the bounds that certificates, leaves and trees prove, as {@link #verify} does.
   *
   * @param fleet the fleet
   * @param requests the requests
   * @param rules the rules
   * @param cost the cost terms
   * @return a new checker of this problem. O(requests + cells)
   */
  public static BoundChecker boundChecker(
      Fleet fleet, List<SliceRequest> requests, PlanningRules rules, CostTerms cost) {
    return boundChecker(fleet, requests, rules, cost, () -> false);
  }

  /**
   * The same, for a caller whose time is short.
   *
   * @param fleet the fleet
   * @param requests the requests
   * @param rules the rules
   * @param cost the cost terms
   * @param stop asked often while a bound is computed; once true, the methods throw {@link
   *     java.util.concurrent.CancellationException} but for certificates that are remembered, and
   *     may be asked again
   * @return a new checker of this problem. O(requests + cells)
   */
  public static BoundChecker boundChecker(
      Fleet fleet,
      List<SliceRequest> requests,
      PlanningRules rules,
      CostTerms cost,
      BooleanSupplier stop) {
    Standing standing = Standing.of(fleet, rules);
    List<Level> levels = ObjectiveLevels.of(standing, requests, cost);
    return new CertificateChecker(fleet, requests, cost, standing, levels, stop);
  }

  /**
   * The bound of a level that follows from what is asked for alone: that of {@link Proof.Trivial}.
   *
   * @param fleet the fleet
   * @param requests the requests
   * @param rules the rules
   * @param level a level
   * @return for {@link Level.Kind#PLACED} all chips wanted; for {@link Level.Kind#KEPT} those of
   *     all running slices that are not broken or may be moved; for {@link Level.Kind#ROOM} all
   *     that is asked for; for {@link Level.Kind#DRAIN} what can neither move nor leave; else 0
   */
  public static long trivialBound(
      Fleet fleet, List<SliceRequest> requests, PlanningRules rules, Level level) {
    return Verification.trivialBound(Standing.of(fleet, rules), requests, level);
  }
}
