package dev.slicewright.plan;

import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Shape;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Which newly placed slices a {@link BranchTree} counts: those that match every component. Slices
 * that run already never count, wherever they move. Immutable, safe to share.
 *
 * @param pod the pod's id, or empty for any
 * @param shape the shape that the slice has, however turned, or null for any; kept sorted
 * @param minChips the fewest chips of the slice, 0 or more
 * @param maxChips the most
 * @param minPriority the lowest priority of the request
 * @param maxPriority the highest
 */
public record CountRow(
    String pod,
    @Nullable Shape shape,
    long minChips,
    long maxChips,
    long minPriority,
    long maxPriority) {

  /** Checks the ranges. */
  public CountRow {
    Objects.requireNonNull(pod, "pod");
    shape = shape == null ? null : shape.sorted();
    if (minChips < 0 || minChips > maxChips) {
      throw new IllegalArgumentException(
          "Expected minChips from 0 to maxChips, but was " + minChips + " to " + maxChips);
    }
    if (minPriority > maxPriority) {
      throw new IllegalArgumentException(
          "Expected minPriority up to maxPriority, but was " + minPriority + " to " + maxPriority);
    }
  }

  /**
   * Slices by their chips, of any priority, in any pod.
   *
   * @param min the fewest chips, 0 or more
   * @param max the most
   * @return the row
   */
  public static CountRow ofChips(long min, long max) {
    return new CountRow("", null, min, max, Long.MIN_VALUE, Long.MAX_VALUE);
  }

  /**
   * Slices of one shape, however turned, of any priority, in any pod.
   *
   * @param shape the shape
   * @return the row
   */
  public static CountRow ofShape(Shape shape) {
    return new CountRow(
        "",
        Objects.requireNonNull(shape, "shape"),
        0,
        Long.MAX_VALUE,
        Long.MIN_VALUE,
        Long.MAX_VALUE);
  }

  /**
   * The same for requests of some priorities alone.
   *
   * @param min the lowest
   * @param max the highest
   * @return the row
   */
  public CountRow withPriorities(long min, long max) {
    return new CountRow(pod, shape, minChips, maxChips, min, max);
  }

  /**
   * The same in one pod alone.
   *
   * @param id the pod's id
   * @return the row
   */
  public CountRow inPod(String id) {
    return new CountRow(id, shape, minChips, maxChips, minPriority, maxPriority);
  }

  /**
   * Whether a newly placed slice counts.
   *
   * @param request the request
   * @param inPod the id of the slice's pod
   * @param of the shape that the slice has
   * @return whether every component matches. O(1)
   */
  public boolean counts(SliceRequest request, String inPod, Shape of) {
    return of.chips() >= minChips
        && of.chips() <= maxChips
        && request.priority() >= minPriority
        && request.priority() <= maxPriority
        && (pod.isEmpty() || pod.equals(inPod))
        && (shape == null || shape.equals(of.sorted()));
  }
}
