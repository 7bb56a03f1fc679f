package dev.slicewright.topology;

import java.util.List;

/**
 * How a slice's own axes lie on the axes of its pod; the name lists the pod axis of the slice's x,
 * y and z. Immutable, safe to share.
 */
public enum Orientation {
  /** Not turned: slice x on pod x, y on y, z on z. */
  XYZ(Axis.X, Axis.Y, Axis.Z),
  /** Slice x on pod x, y on z, z on y. */
  XZY(Axis.X, Axis.Z, Axis.Y),
  /** Slice x on pod y, y on x, z on z: the only turn of a 2-D slice. */
  YXZ(Axis.Y, Axis.X, Axis.Z),
  /** Slice x on pod y, y on z, z on x. */
  YZX(Axis.Y, Axis.Z, Axis.X),
  /** Slice x on pod z, y on x, z on y. */
  ZXY(Axis.Z, Axis.X, Axis.Y),
  /** Slice x on pod z, y on y, z on x. */
  ZYX(Axis.Z, Axis.Y, Axis.X);

  private static final List<Orientation> PLANAR = List.of(XYZ, YXZ);
  private static final List<Orientation> SPATIAL = List.of(values());

  private final Axis ofX;
  private final Axis ofY;
  private final Axis ofZ;

  Orientation(Axis ofX, Axis ofY, Axis ofZ) {
    this.ofX = ofX;
    this.ofY = ofY;
    this.ofZ = ofZ;
  }

  /**
   * The orientations that a shape of the given rank may have, not turned first.
   *
   * @param rank 2 or 3
   * @return two or six orientations
   */
  public static List<Orientation> ofRank(int rank) {
    return rank == 2 ? PLANAR : SPATIAL;
  }

  /**
   * The first orientation that turns a shape into the given extents.
   *
   * @param shape the slice's shape
   * @param extents the extents in the pod's frame, of the same rank
   * @return the orientation
   * @throws IllegalArgumentException if no turn of the shape has these extents
   */
  public static Orientation between(Shape shape, Shape extents) {
    for (Orientation orientation : ofRank(shape.rank())) {
      if (orientation.extents(shape).equals(extents)) {
        return orientation;
      }
    }
    throw new IllegalArgumentException("No turn of " + shape + " has the extents " + extents + ".");
  }

  /**
   * The pod axis on which a slice axis lies.
   *
   * @param sliceAxis an axis of the slice's own frame
   * @return the axis of the pod's frame
   */
  public Axis podAxis(Axis sliceAxis) {
    return switch (sliceAxis) {
      case X -> ofX;
      case Y -> ofY;
      case Z -> ofZ;
    };
  }

  /**
   * The extents of a turned shape in the pod's frame.
   *
   * @param shape the slice's shape in its own frame
   * @return a shape of the same rank
   */
  public Shape extents(Shape shape) {
    int[] e = new int[3];
    e[ofX.ordinal()] = shape.x();
    e[ofY.ordinal()] = shape.y();
    e[ofZ.ordinal()] = shape.z();
    return shape.rank() == 2 ? Shape.of(e[0], e[1]) : Shape.of(e[0], e[1], e[2]);
  }

  /**
   * The place in the pod's frame, relative to the box's origin, of a place in the slice's frame.
   *
   * @param x slice x
   * @param y slice y
   * @param z slice z
   * @return the offset in the pod's frame
   */
  public Chip offset(int x, int y, int z) {
    int[] e = new int[3];
    e[ofX.ordinal()] = x;
    e[ofY.ordinal()] = y;
    e[ofZ.ordinal()] = z;
    return new Chip(e[0], e[1], e[2]);
  }
}
