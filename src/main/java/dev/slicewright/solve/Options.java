package dev.slicewright.solve;

import dev.slicewright.plan.Level;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.topology.Shape;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The best distinct ways to place one request, best first. Immutable, safe to share.
 *
 * <p>Nothing that runs is touched, unless nothing fits otherwise and the rules permit it: then the
 * planner's own plan is the only option. What counts as distinct:
 *
 * <ul>
 *   <li>one slice, as a box or a partition of a pod without cubes: other chips;
 *   <li>one slice on optical cubes: another pod, another shape, another number of cubes broken up
 *       (0 or 1, for slices within a cube), or another number of degraded cubes taken. Which of the
 *       equal cubes it is makes no difference;
 *   <li>several slices: another set of pods, or another shape. Each set is filled pod by pod, in
 *       one way.
 * </ul>
 *
 * <p>Order: the levels of the objective; then, for one slice, its own live holds first; then the
 * least that its pod loses of its largest placeable shape, in chips; fewest cubes broken up; the
 * fewest further places lost for a slice like it; fewest degraded chips or cubes; then a fixed
 * order. Several slices: the levels, then the fewest pods, then a fixed order.
 *
 * @param request the request's id
 * @param options the options, best first
 * @param reason why there is none, or null if there is one
 * @param complete whether all ways were compared, so that these are the best ones; if false, time
 *     ran out, there were too many, or the search for several boxes may have missed some
 * @param compared how many ways were compared
 * @param sentence what was compared, for people
 */
public record Options(
    String request,
    List<Option> options,
    @Nullable Unplaced reason,
    boolean complete,
    long compared,
    String sentence) {

  /** The most options of one call: 1,000. */
  public static final int MAX = 1_000;

  /** Checks for null and copies the list. */
  public Options {
    Objects.requireNonNull(request, "request");
    Objects.requireNonNull(sentence, "sentence");
    options = List.copyOf(options);
  }

  /**
   * The best option.
   *
   * @return the first, or empty if nothing fits
   */
  public Optional<Option> best() {
    return options.isEmpty() ? Optional.empty() : Optional.of(options.get(0));
  }

  /**
   * Why there is no option.
   *
   * @return the reason, or empty if there is one
   */
  public Optional<Unplaced> unplaced() {
    return Optional.ofNullable(reason);
  }

  /**
   * One way to place the request. Immutable, safe to share.
   *
   * @param plan the plan that does so, verified; it can be applied to the fleet
   * @param levels its values, level by level, beside the best option's
   * @param leaves what it leaves, for each pod that it uses, in order of their ids
   */
  public record Option(Plan plan, List<Difference> levels, List<Leaves> leaves) {
    /** Checks for null and copies the lists. */
    public Option {
      Objects.requireNonNull(plan, "plan");
      levels = List.copyOf(levels);
      leaves = List.copyOf(leaves);
    }

    /**
     * Where the slices go.
     *
     * @return the placement of all slices
     */
    public RequestPlacement placement() {
      return plan.placements().get(0);
    }
  }

  /**
   * The value of one level. Immutable, safe to share.
   *
   * @param level the level
   * @param value the option's value
   * @param worse by how much it is worse than the best option's: positive if worse. Of the first
   *     level where they differ it is positive
   */
  public record Difference(Level level, long value, long worse) {
    /** Checks for null. */
    public Difference {
      Objects.requireNonNull(level, "level");
    }
  }

  /**
   * What is left in one pod. Immutable, safe to share.
   *
   * @param pod the pod's id
   * @param largestShape the largest legal shape that still has a place there, or null if none of
   *     the 2,000 largest that its free chips would do for has
   * @param freeChips the pod's free chips: neither taken, failed, cordoned nor held for others
   * @param alike how many places a further slice of the same shape has; on whole cubes, how many
   *     further slices fit
   * @param brokenUp how many cubes, free as a whole before, are no longer so and not taken as a
   *     whole either
   * @param fragmentation the share of the free chips that the largest shape does not reach: 0.0 (or
   *     nothing free) to 1.0
   */
  public record Leaves(
      String pod,
      @Nullable Shape largestShape,
      long freeChips,
      long alike,
      int brokenUp,
      double fragmentation) {
    /** Checks for null. */
    public Leaves {
      Objects.requireNonNull(pod, "pod");
    }

    /**
     * The largest legal shape that still has a place.
     *
     * @return the shape, or empty
     */
    public Optional<Shape> largest() {
      return Optional.ofNullable(largestShape);
    }
  }
}
