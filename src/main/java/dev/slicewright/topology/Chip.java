package dev.slicewright.topology;

/**
 * The coordinate of one chip in its pod, or in a slice's own frame. Immutable, safe to share.
 *
 * @param x along {@link Axis#X}, from 0
 * @param y along {@link Axis#Y}, from 0
 * @param z along {@link Axis#Z}, from 0; always 0 on a 2-D torus
 */
public record Chip(int x, int y, int z) {

  /**
   * The coordinate along one axis.
   *
   * @param axis the axis
   * @return the coordinate
   */
  public int get(Axis axis) {
    return switch (axis) {
      case X -> x;
      case Y -> y;
      case Z -> z;
    };
  }

  /**
   * Different for any two chips of a pod. The one of records would put some sixty chips of a large
   * pod on every value.
   */
  @Override
  public int hashCode() {
    return (x + (y << 6) + (z << 14)) * 0x9E3779B9;
  }

  @Override
  public String toString() {
    return "(" + x + "," + y + "," + z + ")";
  }
}
