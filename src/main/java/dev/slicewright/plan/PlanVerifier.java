package dev.slicewright.plan;

import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import java.util.List;
import java.util.Objects;

/**
 * Checks a plan from topology, fleet, requests, rules and cost terms alone, never from what a
 * solver says. Immutable, safe to share.
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
}
