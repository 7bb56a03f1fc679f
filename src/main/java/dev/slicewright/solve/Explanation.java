package dev.slicewright.solve;

import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Unplaced;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Why a request does not fit, and what would let it in. Immutable, safe to share.
 *
 * <p>What the rules drain counts as cordoned, also in the fleets of the changes.
 *
 * @param request the request's id
 * @param plan the planner's plan for the request alone, all rules kept
 * @param remedies changes that would let it in, at most one of each kind, each shown by a plan;
 *     cheapest first: by chip-seconds, then by the order of {@link Remedy.Kind}. Empty if it fits
 * @param notExamined kinds of changes that time ran out for, or that were not looked through to the
 *     end; of all others it is known that there is nothing, or what is given was found
 */
public record Explanation(
    String request, Plan plan, List<Remedy> remedies, List<Remedy.Kind> notExamined) {

  /** Checks for null and copies the lists. */
  public Explanation {
    Objects.requireNonNull(request, "request");
    Objects.requireNonNull(plan, "plan");
    remedies = List.copyOf(remedies);
    notExamined = List.copyOf(notExamined);
  }

  /**
   * Whether it fits as things are.
   *
   * @return true if {@link #plan()} places it
   */
  public boolean fits() {
    return plan.placement(request).isPresent();
  }

  /**
   * Why it does not fit.
   *
   * @return the reason, or empty if it fits
   */
  public Optional<Unplaced> unplaced() {
    return fits() ? Optional.empty() : Optional.of(plan.unplaced().get(0));
  }

  /**
   * The remedy of a kind.
   *
   * @param kind the kind
   * @return the remedy, or empty if there is none
   */
  public Optional<Remedy> remedy(Remedy.Kind kind) {
    Objects.requireNonNull(kind, "kind");
    return remedies.stream().filter(r -> r.kind() == kind).findFirst();
  }
}
