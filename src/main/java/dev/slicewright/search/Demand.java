package dev.slicewright.search;

import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Shape;
import java.util.List;
import java.util.Objects;

/**
 * One request resolved against a fleet: the ways in which it could be served. Immutable, safe to
 * share: its arrays must not be changed.
 *
 * @param request the request
 * @param unit the number of its unit: requests of one gang share one
 * @param priorityIndex 0 for the highest priority wanted
 * @param choices shapes on accelerators, most preferred first
 */
public record Demand(SliceRequest request, int unit, int priorityIndex, List<Choice> choices) {

  /**
   * A shape on an accelerator. Immutable, safe to share: its arrays must not be changed.
   *
   * @param shape the shape, in the order asked for
   * @param rank its rank among the request's shapes
   * @param gain what one slice of it earns at its priority
   * @param pods the pods that match and can form it, by number, ascending
   * @param domains the failure domain of each of those pods
   * @param prices the price of one slice in each of those pods
   * @param twisted whether its wraps must be twisted
   */
  public record Choice(
      Shape shape, int rank, long gain, int[] pods, int[] domains, long[] prices, boolean twisted) {
    /** Checks for null. */
    public Choice {
      Objects.requireNonNull(shape, "shape");
    }
  }

  /** Copies the list. */
  public Demand {
    Objects.requireNonNull(request, "request");
    choices = List.copyOf(choices);
  }

  /**
   * The chips of its largest choice, all slices.
   *
   * @return 0 if it has no choice
   */
  public long chips() {
    long most = 0;
    for (Choice choice : choices) {
      most = Math.max(most, choice.shape().chips() * request.slices());
    }
    return most;
  }

  /**
   * The chips of one slice of its first choice.
   *
   * @return 0 if it has no choice
   */
  public long sliceChips() {
    return choices.isEmpty() ? 0 : choices.get(0).shape().chips();
  }
}
