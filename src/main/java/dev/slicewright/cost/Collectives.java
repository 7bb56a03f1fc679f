package dev.slicewright.cost;

import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.LogicalTopology;
import dev.slicewright.topology.Orientation;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalInt;

/**
 * How fast collectives run on a slice's interconnect. Immutable, safe to share.
 *
 * <p>The model is bandwidth only: links work in both directions at once, nothing else uses them,
 * and the time of a hop is left out, so short messages take longer than it says. Rings are ordered
 * by dimension, and all axes work at once. It follows "How to Scale Your Model" of the JAX team
 * (jax-ml/scaling-book, the chapters on TPUs and on sharded matrices), extended to axes that do not
 * wrap.
 */
public final class Collectives {
  private Collectives() {}

  /**
   * The relative time of an all-to-all: the load of the busiest link when every chip sends one unit
   * in all, spread evenly over all chips. Larger is slower. Twists are not considered.
   *
   * <p>An axis of n chips loads its links with n/8 where it wraps and n/4 where it does not: half
   * of what one half of the axis sends crosses the middle, over two links or one.
   *
   * @param topology the slice's interconnect
   * @return the load in units, 0 for a single chip
   */
  public static double allToAllLoad(LogicalTopology topology) {
    double worst = 0;
    for (Axis axis : Axis.values()) {
      worst = Math.max(worst, axisLoad(topology.shape().get(axis), topology.wraps(axis)));
    }
    return worst;
  }

  private static double axisLoad(int extent, boolean wraps) {
    return extent == 1 ? 0 : extent / (wraps ? 8.0 : 4.0);
  }

  /**
   * The time of an all-to-all in which every chip sends the given bytes, spread evenly over all
   * chips of the slice: bytes × {@link #allToAllLoad} / link rate. On a twisted torus, bytes × the
   * mean distance / links of a chip / link rate, as if routes spread evenly over all links: a lower
   * bound, by a breadth-first search in O(chips).
   *
   * @param topology the slice's interconnect
   * @param accelerator whose link rate counts
   * @param bytesPerChip what each chip sends in all, 0 or more
   * @return seconds, or empty if the link rate is not known
   */
  public static OptionalDouble allToAllSeconds(
      LogicalTopology topology, AcceleratorType accelerator, long bytesPerChip) {
    checkBytes(bytesPerChip);
    OptionalDouble rate = accelerator.iciLinkBytesPerSecond();
    if (rate.isEmpty()) {
      return rate;
    }
    double load = topology.twist().isNone() ? allToAllLoad(topology) : twistedLoad(topology);
    return OptionalDouble.of(bytesPerChip * load / rate.getAsDouble());
  }

  /**
   * The time to sum an array of the given bytes over all chips, each of which has one and gets the
   * sum: a reduce-scatter and an all-gather. On rings of n chips in all each of them moves bytes ×
   * (n - 1) / n over every chip, through two links on an axis that wraps and one on an axis that
   * does not, the array being split over the axes in proportion. A twist changes nothing.
   *
   * @param topology the slice's interconnect
   * @param accelerator whose link rate counts
   * @param bytes the size of the array, 0 or more
   * @return seconds, 0 for a single chip, or empty if the link rate is not known
   */
  public static OptionalDouble allReduceSeconds(
      LogicalTopology topology, AcceleratorType accelerator, long bytes) {
    checkBytes(bytes);
    OptionalDouble rate = accelerator.iciLinkBytesPerSecond();
    if (rate.isEmpty()) {
      return rate;
    }
    int links = 0;
    for (Axis axis : Axis.values()) {
      if (topology.shape().get(axis) > 1) {
        links += topology.wraps(axis) ? 2 : 1;
      }
    }
    if (links == 0) {
      return OptionalDouble.of(0);
    }
    double n = topology.shape().chips();
    return OptionalDouble.of(2.0 * bytes * ((n - 1) / n) / (links * rate.getAsDouble()));
  }

  private static void checkBytes(long bytes) {
    if (bytes < 0) {
      throw new IllegalArgumentException("Expected 0 bytes or more, but was " + bytes + ".");
    }
  }

  /** Mean distance over the links of a chip; every chip of a twisted torus sees the same. */
  private static double twistedLoad(LogicalTopology t) {
    Shape s = t.shape();
    int n = (int) s.chips();
    int[] distance = new int[n];
    int[] queue = new int[n];
    int head = 0;
    int tail = 1;
    long sum = 0;
    int links = 0;
    for (Axis axis : Axis.values()) {
      links += s.get(axis) > 1 ? 2 : 0;
    }
    while (head < tail) {
      int at = queue[head++];
      sum += distance[at];
      int[] c = {at % s.x(), at / s.x() % s.y(), at / s.x() / s.y()};
      for (Axis axis : Axis.values()) {
        for (int sign = -1; sign <= 1; sign += 2) {
          int next = neighbour(t, c, axis, sign);
          if (next > 0 && distance[next] == 0) {
            distance[next] = distance[at] + 1;
            queue[tail++] = next;
          }
        }
      }
    }
    return links == 0 ? 0 : (double) sum / n / links;
  }

  private static int neighbour(LogicalTopology t, int[] c, Axis axis, int sign) {
    Shape s = t.shape();
    int[] d = c.clone();
    int a = axis.ordinal();
    d[a] += sign;
    if (d[a] < 0 || d[a] == s.get(axis)) {
      if (!t.wraps(axis)) {
        return -1;
      }
      Chip shift = t.twist().shift(axis);
      d[a] = Math.floorMod(d[a], s.get(axis));
      d[0] = Math.floorMod(d[0] + sign * shift.x(), s.x());
      d[1] = Math.floorMod(d[1] + sign * shift.y(), s.y());
      d[2] = Math.floorMod(d[2] + sign * shift.z(), s.z());
    }
    return d[0] + s.x() * (d[1] + s.y() * d[2]);
  }

  /**
   * The legal shapes of a number of chips, fastest all-to-all first, ties by sorted extents: the
   * order of preference of a request for a number of chips. Where a shape wraps in some places
   * only, its best place counts.
   *
   * @param topology a pod's topology
   * @param chips 1 or more
   * @return an unmodifiable list in the platform's order of extents, empty if no shape has so many
   *     chips. O(divisors of chips squared), and on nested partitions O(partitions) for each shape
   */
  public static List<Shape> shapesByAllToAll(TpuTopology topology, long chips) {
    List<Shape> shapes = topology.shapesFor(chips);
    if (shapes.size() < 2) {
      return shapes;
    }
    record Timed(Shape shape, double load) {}
    List<Timed> timed = new ArrayList<>(shapes.size());
    for (Shape shape : shapes) {
      timed.add(new Timed(shape, bestLoad(topology, shape)));
    }
    timed.sort(Comparator.comparingDouble(Timed::load).thenComparing(t -> t.shape().sorted()));
    return timed.stream().map(Timed::shape).toList();
  }

  /**
   * The shapes that would do for a request on a pod, best first: those that it lists, or those of
   * its number of chips by {@link #shapesByAllToAll}. Listed ones need not be legal.
   *
   * @param request the request
   * @param topology the pod's topology
   * @return an unmodifiable list
   */
  public static List<Shape> shapeOptions(SliceRequest request, TpuTopology topology) {
    return request.shapes().isEmpty()
        ? shapesByAllToAll(topology, request.chips())
        : request.shapes();
  }

  /**
   * Which of a request's options a shape is. Where the request may be turned, the order of extents
   * does not matter.
   *
   * @param request the request
   * @param options its options, as {@link #shapeOptions} gives them
   * @param shape a shape
   * @return the index, or empty if it is none of them
   */
  public static OptionalInt rank(SliceRequest request, List<Shape> options, Shape shape) {
    for (int i = 0; i < options.size(); i++) {
      Shape option = options.get(i);
      if (option.equals(shape)
          || request.mayTurn()
              && option.chips() == shape.chips()
              && option.sorted().equals(shape.sorted())) {
        return OptionalInt.of(i);
      }
    }
    return OptionalInt.empty();
  }

  private static double bestLoad(TpuTopology t, Shape shape) {
    if (t.isOptical()) {
      boolean wraps = t.cubesOf(shape) > 0;
      return allToAllLoad(new LogicalTopology(shape, wraps, wraps, wraps, Twist.NONE, 0));
    }
    if (!t.coordinatesKnown()) {
      return allToAllLoad(new LogicalTopology(shape, false, false, false, Twist.NONE, 0));
    }
    double best = Double.POSITIVE_INFINITY;
    if (t.slicing() instanceof Slicing.NestedPartitions) {
      PartitionForest forest = t.partitions().orElseThrow();
      for (int i = 0; i < forest.size(); i++) {
        PartitionId id = new PartitionId(i);
        if (forest.shape(id).sorted().equals(shape.sorted())) {
          Shape extents = forest.box(id).map(box -> box.extents()).orElse(shape);
          best = Math.min(best, load(t, extents, forest.box(id).isPresent()));
        }
      }
      return best;
    }
    for (Orientation orientation : Orientation.ofRank(shape.rank())) {
      Shape extents = orientation.extents(shape);
      if (t.alignment(extents).isPresent()) {
        best = Math.min(best, load(t, extents, true));
      }
    }
    return best;
  }

  /** The load of a box of a wired pod. */
  private static double load(TpuTopology t, Shape extents, boolean placed) {
    double worst = 0;
    for (Axis axis : Axis.values()) {
      int e = extents.get(axis);
      worst = Math.max(worst, axisLoad(e, placed && t.wraps(axis) && e == t.dims().get(axis)));
    }
    return worst;
  }
}
