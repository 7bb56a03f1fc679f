package dev.slicewright.topology;

import dev.slicewright.InvalidInputException;
import java.util.Arrays;
import java.util.Objects;

/**
 * The extent of a slice along its axes in chips, for example 4x4x8. Immutable, safe to share.
 *
 * <p>A shape keeps the order it was given in; what TPUs allow depends on the {@link #sorted()}
 * extents only. 2-D and 3-D shapes differ: 4x4 is not 4x4x1.
 */
public final class Shape implements Comparable<Shape> {

  /** The largest extent along any axis: 65,536. */
  public static final int MAX_EXTENT = 1 << 16;

  private final int x;
  private final int y;
  private final int z;
  private final int rank;

  private Shape(int x, int y, int z, int rank) {
    this.x = x;
    this.y = y;
    this.z = z;
    this.rank = rank;
  }

  /**
   * A 2-D shape.
   *
   * @param x extent along x, from 1 to {@link #MAX_EXTENT}
   * @param y extent along y
   * @return the shape
   * @throws InvalidInputException if an extent is out of range
   */
  public static Shape of(int x, int y) {
    check(x, y, 1, x + "x" + y);
    return new Shape(x, y, 1, 2);
  }

  /**
   * A 3-D shape.
   *
   * @param x extent along x, from 1 to {@link #MAX_EXTENT}
   * @param y extent along y
   * @param z extent along z
   * @return the shape
   * @throws InvalidInputException if an extent is out of range
   */
  public static Shape of(int x, int y, int z) {
    check(x, y, z, x + "x" + y + "x" + z);
    return new Shape(x, y, z, 3);
  }

  /**
   * Reads a shape such as {@code 4x8} or {@code 4x4x8}.
   *
   * @param text two or three decimal extents joined by {@code x} (or {@code X})
   * @return the shape, in the order given
   * @throws InvalidInputException if the text is malformed or an extent is out of range
   */
  public static Shape parse(String text) {
    Objects.requireNonNull(text, "text");
    String shown = text.length() > 60 ? text.substring(0, 60) + "…" : text;
    String[] parts = text.length() > 60 ? new String[0] : text.split("[xX]", -1);
    if (parts.length != 2 && parts.length != 3) {
      throw malformed(shown, "expected two or three extents such as 4x8 or 4x4x8");
    }
    int[] extents = new int[3];
    extents[2] = 1;
    for (int i = 0; i < parts.length; i++) {
      String part = parts[i];
      if (part.isEmpty()
          || part.length() > 7
          || !part.chars().allMatch(c -> c >= '0' && c <= '9')) {
        throw malformed(shown, "expected whole numbers from 1 to " + MAX_EXTENT + " joined by 'x'");
      }
      extents[i] = Integer.parseInt(part);
    }
    check(extents[0], extents[1], extents[2], shown);
    return new Shape(extents[0], extents[1], extents[2], parts.length);
  }

  private static void check(int x, int y, int z, String shown) {
    if (x < 1 || y < 1 || z < 1 || x > MAX_EXTENT || y > MAX_EXTENT || z > MAX_EXTENT) {
      throw malformed(shown, "expected every extent to be from 1 to " + MAX_EXTENT);
    }
  }

  private static InvalidInputException malformed(String shown, String expected) {
    return new InvalidInputException(
        "shape", "shape", expected + ", but the shape was \"" + shown + "\"");
  }

  /**
   * The extent along x.
   *
   * @return 1 or more
   */
  public int x() {
    return x;
  }

  /**
   * The extent along y.
   *
   * @return 1 or more
   */
  public int y() {
    return y;
  }

  /**
   * The extent along z.
   *
   * @return 1 or more; 1 on a 2-D shape
   */
  public int z() {
    return z;
  }

  /**
   * The number of axes.
   *
   * @return 2 or 3
   */
  public int rank() {
    return rank;
  }

  /**
   * The extent along one axis.
   *
   * @param axis the axis
   * @return 1 or more
   */
  public int get(Axis axis) {
    return switch (axis) {
      case X -> x;
      case Y -> y;
      case Z -> z;
    };
  }

  /**
   * The number of chips.
   *
   * @return the product of the extents, at most 2^48
   */
  public long chips() {
    return (long) x * y * z;
  }

  /**
   * The same extents in ascending order.
   *
   * @return this, or a sorted shape of the same rank
   */
  public Shape sorted() {
    if (x <= y && (rank == 2 || y <= z)) {
      return this;
    }
    if (rank == 2) {
      return new Shape(y, x, 1, 2);
    }
    int[] e = {x, y, z};
    Arrays.sort(e);
    return new Shape(e[0], e[1], e[2], 3);
  }

  /** Orders by rank, then chips, then the extents as given. */
  @Override
  public int compareTo(Shape other) {
    int c = Integer.compare(rank, other.rank);
    c = c != 0 ? c : Long.compare(chips(), other.chips());
    c = c != 0 ? c : Integer.compare(x, other.x);
    c = c != 0 ? c : Integer.compare(y, other.y);
    return c != 0 ? c : Integer.compare(z, other.z);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Shape that
        && x == that.x
        && y == that.y
        && z == that.z
        && rank == that.rank;
  }

  @Override
  public int hashCode() {
    return ((x * 31 + y) * 31 + z) * 31 + rank;
  }

  /** The extents joined by {@code x}, as {@link #parse} reads them. */
  @Override
  public String toString() {
    return rank == 2 ? x + "x" + y : x + "x" + y + "x" + z;
  }
}
