package dev.slicewright.topology;

import dev.slicewright.InvalidInputException;
import java.util.List;
import java.util.Objects;
import org.jgrapht.Graph;

/**
 * The interconnect of one slice in its own frame: its shape, which axes wrap, how wraps are
 * twisted, and where links are optical. Immutable, safe to share.
 *
 * @param shape the slice's shape in its own order
 * @param wrapX whether x wraps
 * @param wrapY whether y wraps
 * @param wrapZ whether z wraps; false on 2-D shapes
 * @param twist how wraps shift other axes; {@link Twist#NONE} for a plain torus or mesh
 * @param opticalEvery a non-wrapping link is optical where it crosses a multiple of this many
 *     chips, and wrapping links are optical; 0 where every link is copper
 */
public record LogicalTopology(
    Shape shape, boolean wrapX, boolean wrapY, boolean wrapZ, Twist twist, int opticalEvery) {

  /**
   * Checks the components.
   *
   * @throws InvalidInputException if a twist shifts by the wrap of an axis that does not wrap, or
   *     opticalEvery is negative
   */
  public LogicalTopology {
    Objects.requireNonNull(shape, "shape");
    Objects.requireNonNull(twist, "twist");
    boolean[] wraps = {wrapX, wrapY, wrapZ};
    for (Axis axis : Axis.values()) {
      Chip shift = twist.shift(axis);
      if (!wraps[axis.ordinal()] && !shift.equals(new Chip(0, 0, 0))) {
        throw new InvalidInputException(
            "logical topology", "twist", "shifts by the wrap of " + axis + ", which does not wrap");
      }
    }
    if (opticalEvery < 0) {
      throw new InvalidInputException(
          "logical topology", "opticalEvery", "expected 0 or more, but was " + opticalEvery);
    }
  }

  /**
   * Whether an axis wraps.
   *
   * @param axis the axis
   * @return true if its ends are joined
   */
  public boolean wraps(Axis axis) {
    return switch (axis) {
      case X -> wrapX;
      case Y -> wrapY;
      case Z -> wrapZ;
    };
  }

  /**
   * Whether every axis longer than one chip wraps.
   *
   * @return true for a full torus
   */
  public boolean isTorus() {
    for (Axis axis : List.of(Axis.values())) {
      if (shape.get(axis) > 1 && !wraps(axis)) {
        return false;
      }
    }
    return true;
  }

  /**
   * The chips and links of the slice as a read-only graph, chips in the slice's own frame.
   *
   * @return an undirected, unweighted multigraph without loops; edges are values made on demand, so
   *     it takes no memory per edge. Safe to share
   * @see TpuTopology#graph()
   */
  public Graph<Chip, IciLink> graph() {
    return IciGraph.of(this);
  }
}
