package dev.slicewright.plan;

import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A request that is not placed: one reason, the evidence, and one sentence. Immutable, safe to
 * share.
 *
 * @param request the request's id
 * @param reason why
 * @param never whether nothing could ever satisfy it: not even this fleet empty, healthy,
 *     uncordoned and without quotas; if false, it must wait
 * @param evidence the figures behind the reason
 * @param sentence the reason for people
 */
public record Unplaced(
    String request, Reason reason, boolean never, Evidence evidence, String sentence) {

  /** Checks for null. */
  public Unplaced {
    Objects.requireNonNull(request, "request");
    Objects.requireNonNull(reason, "reason");
    Objects.requireNonNull(evidence, "evidence");
    Objects.requireNonNull(sentence, "sentence");
  }

  /**
   * A host that stands in the way. Immutable, safe to share.
   *
   * @param pod its pod's id
   * @param host the host
   */
  public record BlockingHost(String pod, HostId host) {}

  /**
   * The figures behind a reason; 0, empty or null where one does not apply. Immutable, safe to
   * share.
   *
   * @param wantedChips chips that the request wants, all slices
   * @param freeChips chips that are free for it in the pods that match: after the plan where the
   *     reason is FRAGMENTED or OUTRANKED, else before it
   * @param matchingPods pods that match it
   * @param largestFit the largest of the legal shapes that still fits in a matching pod after the
   *     plan, or null
   * @param blockers failed, degraded or cordoned hosts (at most 16) that block the place where the
   *     fewest do
   * @param holds ids of the holds in the way
   * @param nearestShapes legal shapes near those wanted (at most 4), over all pods that match,
   *     nearest first
   * @param limit the quota, reserved capacity or budget that binds, in chips (slices for a budget)
   * @param used how much of the limit is used without it
   */
  public record Evidence(
      long wantedChips,
      long freeChips,
      int matchingPods,
      @Nullable Shape largestFit,
      List<BlockingHost> blockers,
      List<String> holds,
      List<Shape> nearestShapes,
      long limit,
      long used) {
    /** Copies the lists. */
    public Evidence {
      blockers = List.copyOf(blockers);
      holds = List.copyOf(holds);
      nearestShapes = List.copyOf(nearestShapes);
    }

    /**
     * Only the chips wanted.
     *
     * @param wantedChips chips that the request wants
     * @return evidence without other figures
     */
    public static Evidence of(long wantedChips) {
      return new Evidence(wantedChips, 0, 0, null, List.of(), List.of(), List.of(), 0, 0);
    }

    /**
     * The largest legal shape that still fits.
     *
     * @return the shape, or empty
     */
    public Optional<Shape> largest() {
      return Optional.ofNullable(largestFit);
    }
  }
}
