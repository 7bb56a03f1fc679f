package dev.slicewright.search;

import dev.slicewright.fleet.FreeRoom;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.time.Instant;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The free room of one pod during a search: finds the best place for a want, takes it and gives it
 * back. Confined to one thread at a time.
 *
 * <p>A place is usable for a want if its cells are neither taken nor failed nor cordoned nor held
 * for another request, its links and cubes are not failed, and, for healthy only, nothing of it is
 * degraded. Wants are registered once and then known by number; wants that no place of the pod
 * could ever serve, taken cells aside, have the number -1.
 */
public abstract class PodSpace {

  /**
   * A place that a want may take; what it holds is its space's own business. Immutable, safe to
   * share.
   */
  public abstract static class Spot {
    /** Makes a spot. */
    protected Spot() {}

    /**
     * The footprint of the spot.
     *
     * @return made on demand
     */
    public abstract Footprint footprint();

    /**
     * How well it fits: less is better, comparable between spots of one want over pods of one kind.
     *
     * @return the score at the time it was found
     */
    public abstract double score();
  }

  /** The pod. */
  protected final Pod pod;

  /** Its topology. */
  protected final TpuTopology topology;

  /** The time of the planning rules. */
  protected final Instant now;

  /**
   * Makes a space over a pod.
   *
   * @param pod the pod
   * @param now the time that decides which holds are live
   */
  protected PodSpace(Pod pod, Instant now) {
    this.pod = pod;
    this.topology = pod.topology();
    this.now = now;
  }

  /**
   * The space that fits a pod's slicing.
   *
   * @param pod the pod
   * @param now the time that decides which holds are live
   * @param preferDegraded whether wants that accept degraded parts should take those first, so that
   *     healthy ones stay for others; if not, healthy parts go first
   * @return a new space with the pod's running slices taken
   */
  public static PodSpace of(Pod pod, Instant now, boolean preferDegraded) {
    return pod.topology().slicing() instanceof Slicing.TorusBoxes
        ? new TorusSpace(pod, now)
        : new ForestSpace(pod, now, preferDegraded);
  }

  /**
   * The score that a place for a shape has at best in a pod as it is, from the pod's figures alone.
   *
   * @param pod the pod
   * @param shape a shape that is legal there
   * @param healthyOnly whether degraded parts must be avoided
   * @return no more than the score of what a new space would {@link #find}; positive infinity if it
   *     surely finds nothing, negative infinity if the figures say nothing
   */
  public static double bestCase(Pod pod, Shape shape, boolean healthyOnly) {
    TpuTopology t = pod.topology();
    FreeRoom room = pod.room();
    if ((long) room.freeCells() * t.chipsPerCell() < shape.chips()) {
      return Double.POSITIVE_INFINITY;
    }
    return t.slicing() instanceof Slicing.TorusBoxes
        ? Double.NEGATIVE_INFINITY
        : ForestSpace.bestCase(pod, room, shape, healthyOnly);
  }

  /**
   * The pod.
   *
   * @return the pod
   */
  public final Pod pod() {
    return pod;
  }

  /**
   * Registers a want.
   *
   * @param want what is looked for
   * @return its number, the same for an equal want; -1 if no place could ever serve it
   */
  public abstract int register(Want want);

  /**
   * The best place for a want.
   *
   * @param want a want's number; -1 finds nothing
   * @param random breaks ties and may trade a little quality for variety; null for the
   *     deterministic best
   * @return the place, or null if there is none
   */
  public abstract @Nullable Spot find(int want, @Nullable SplittableRandom random);

  /**
   * The place for a want that leaves most room for what may come later, for one slice on its own.
   *
   * @param want a want's number; -1 finds nothing
   * @return the place, or null if there is none; deterministic
   */
  public @Nullable Spot findOnline(int want) {
    return find(want, null);
  }

  /**
   * Whether any place would serve a want now.
   *
   * @param want a want's number
   * @return true if {@link #find} would find one
   */
  public abstract boolean fits(int want);

  /**
   * The first of some wants that has a place now.
   *
   * @param wants wants that differ in nothing but their shape, tried in this order
   * @return its index, or -1 if none has
   */
  public int firstThatFits(List<Want> wants) {
    for (int i = 0; i < wants.size(); i++) {
      if (fits(register(wants.get(i)))) {
        return i;
      }
    }
    return -1;
  }

  /**
   * Lists every place that would serve a want now; for whole cubes of an optical pod, every usable
   * cube as a footprint of its own.
   *
   * @param want a want's number
   * @param action receives footprints in a fixed order
   */
  public abstract void forEachCandidate(int want, Consumer<Footprint> action);

  /**
   * Takes a place; its cells must be free.
   *
   * @param spot a place that this space found
   */
  public abstract void take(Spot spot);

  /**
   * Gives a place back.
   *
   * @param spot a place that was taken
   */
  public abstract void giveBack(Spot spot);

  /**
   * Frees the cells of a running slice, or takes them again.
   *
   * @param footprint the slice's footprint
   * @param taken whether it takes them
   */
  public abstract void setTaken(Footprint footprint, boolean taken);

  /**
   * A random neighbourhood in which to ruin, around unused room if there is any.
   *
   * @param random the source of chance
   * @return a predicate on spots of this space: whether a spot lies in the neighbourhood
   */
  public abstract java.util.function.Predicate<Spot> window(SplittableRandom random);

  /**
   * The cells that some place of a want covers now.
   *
   * @param want a want's number; -1 covers nothing
   * @return the cells
   */
  public CellSet coverage(int want) {
    boolean[] covered = new boolean[topology.cellCount()];
    forEachCandidate(
        want,
        f -> {
          for (int cell : topology.cells(f)) {
            covered[cell] = true;
          }
        });
    int n = 0;
    int[] cells = new int[covered.length];
    for (int cell = 0; cell < covered.length; cell++) {
      if (covered[cell]) {
        cells[n++] = cell;
      }
    }
    return CellSet.empty(covered.length).with(java.util.Arrays.copyOf(cells, n));
  }

  /**
   * Cells free for a want that needs nothing special: neither taken, failed, cordoned nor held.
   *
   * @return the count
   */
  public abstract int freeCells();

  /**
   * How many places a want has now, where that is known without listing them.
   *
   * @param want a want's number
   * @return as many as {@link #forEachCandidate} lists, or 0 where counting costs as much as
   *     listing
   */
  public int countCandidates(int want) {
    return 0;
  }

  /**
   * Prices of cells that {@link #find} with a source of chance may follow.
   *
   * @param prices a price for each cell
   */
  void guide(float[] prices) {}

  /**
   * How much prices count.
   *
   * @param weight of a price of 1 against one exposed cell; 0 for not at all
   */
  void follow(double weight) {}

  /** The cells of live holds, those of one request aside. */
  static CellSet heldCells(Pod pod, Instant now, String exceptFor) {
    CellSet held = CellSet.empty(pod.topology().cellCount());
    for (Hold hold : pod.holds()) {
      if (hold.isLive(now) && !hold.request().equals(exceptFor)) {
        held = held.with(pod.topology().cells(hold.footprint()));
      }
    }
    return held;
  }
}
