package dev.slicewright.solve;

import dev.slicewright.plan.Level;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.plan.StopReason;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.request.SliceRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How many more requests of one kind fit beside what runs now. Immutable, safe to share.
 *
 * <p>The most that fit is {@link #value()} where that equals {@link #bound()}; else it lies between
 * the two. What stands behind the bound is in the {@link #parts()}: a part is a pod, or the whole
 * fleet where a rule or the request itself ties pods.
 *
 * @param like the request that was asked about
 * @param value how many were found room for, disjoint and all together: 0 or more
 * @param bound no more than so many fit: the value or more
 * @param placements where they go, as many as the value; the first has the id of the request that
 *     was asked about unless that runs, so that its own holds serve it, the others ids of their own
 * @param stopped why the search for more ended; {@link StopReason#OPTIMAL} where none is left
 * @param parts the parts, of which the bound is the sum, or less where a quota is; empty if no pod
 *     could ever serve the request
 * @param why why none fits; null if some do
 */
public record Capacity(
    SliceRequest like,
    long value,
    long bound,
    List<RequestPlacement> placements,
    StopReason stopped,
    List<Part> parts,
    @Nullable Unplaced why) {

  /** Checks the figures and copies the lists. */
  public Capacity {
    Objects.requireNonNull(like, "like");
    Objects.requireNonNull(stopped, "stopped");
    placements = List.copyOf(placements);
    parts = List.copyOf(parts);
    if (value < 0 || bound < value || placements.size() != value) {
      throw new IllegalArgumentException(
          "expected 0 <= value = placements <= bound, but was " + value + ", " + bound);
    }
  }

  /**
   * Whether the value is proved to be the most.
   *
   * @return true if it equals the bound
   */
  public boolean isExact() {
    return value == bound;
  }

  /**
   * The distance from the bound, as a share of it.
   *
   * @return 0.0 if exact, up to 1.0
   */
  public double gap() {
    return (bound - value) / (double) Math.max(1, bound);
  }

  /**
   * Where the slices go, request by request.
   *
   * @return an unmodifiable list
   */
  public List<Placement> slices() {
    return placements.stream().flatMap(p -> p.slices().stream()).toList();
  }

  @Override
  public String toString() {
    return (isExact() ? "" + value : value + " to " + bound) + " more of " + like;
  }

  /**
   * One pod, or all that the request may use. Immutable, safe to share.
   *
   * <p>Where the proof is a certificate the plan is the evidence: it was made for the requests
   * asked, and {@code PlanVerifier} checks it with them and the plan's own rules.
   *
   * @param pod the pod's id; null for all pods together
   * @param value how many were found room for
   * @param bound no more than so many fit
   * @param proof what stands behind the bound: {@link Proof.Trivial} where it is the free chips or
   *     a quota
   * @param asked as many requests as room could suffice for; empty where time was up before
   * @param plan the plan for them, which may place fewer than the value and know a weaker bound
   *     where a model of the pod knew better; null where time was up before, or none was asked
   */
  public record Part(
      @Nullable String pod,
      long value,
      long bound,
      Proof proof,
      List<SliceRequest> asked,
      @Nullable Plan plan) {

    /** Checks for null and copies the list. */
    public Part {
      Objects.requireNonNull(proof, "proof");
      asked = List.copyOf(asked);
    }

    static LevelScore placed(Plan plan) {
      List<LevelScore> of = new ArrayList<>(plan.score().levels());
      of.removeIf(l -> l.level().kind() != Level.Kind.PLACED);
      return of.get(0);
    }
  }
}
