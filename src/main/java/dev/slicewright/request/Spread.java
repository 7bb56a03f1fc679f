package dev.slicewright.request;

import dev.slicewright.InvalidInputException;
import java.util.Objects;

/**
 * How the slices of one request lie over pods. Immutable, safe to share.
 *
 * @param kind which rule
 * @param max for {@link Kind#AT_MOST}: the most slices in one failure domain, 1 or more; else 0
 * @param label for {@link Kind#AT_MOST}: the pod label whose value names the domain; empty for the
 *     pod itself. A pod without the label is a domain of its own
 */
public record Spread(Kind kind, int max, String label) {

  /** The rules. Immutable, safe to share. */
  public enum Kind {
    /** Any pods. */
    ANY,
    /** All slices in one pod. */
    SAME_POD,
    /** Every slice in a pod of its own. */
    DIFFERENT_PODS,
    /** At most a number of slices in one failure domain. */
    AT_MOST
  }

  /**
   * Checks the components.
   *
   * @throws InvalidInputException if max does not fit the kind
   */
  public Spread {
    Objects.requireNonNull(kind, "kind");
    Objects.requireNonNull(label, "label");
    if (kind == Kind.AT_MOST ? max < 1 : max != 0 || !label.isEmpty()) {
      throw new InvalidInputException(
          "spread",
          "spread",
          kind == Kind.AT_MOST
              ? "AT_MOST expects 1 or more slices of a failure domain, but was "
                  + max
                  + "; use Spread.atMost(1, label) for one each"
              : kind
                  + " expects neither a number nor a label, but was "
                  + max
                  + " and \""
                  + label
                  + "\"; only Spread.atMost takes them");
    }
  }

  /**
   * Any pods: the default.
   *
   * @return the rule
   */
  public static Spread any() {
    return new Spread(Kind.ANY, 0, "");
  }

  /**
   * All slices in one pod.
   *
   * @return the rule
   */
  public static Spread samePod() {
    return new Spread(Kind.SAME_POD, 0, "");
  }

  /**
   * Every slice in a pod of its own.
   *
   * @return the rule
   */
  public static Spread differentPods() {
    return new Spread(Kind.DIFFERENT_PODS, 0, "");
  }

  /**
   * At most a number of slices in one failure domain.
   *
   * @param max 1 or more
   * @param label the pod label whose value names the domain; empty for the pod itself
   * @return the rule
   */
  public static Spread atMost(int max, String label) {
    return new Spread(Kind.AT_MOST, max, label);
  }
}
