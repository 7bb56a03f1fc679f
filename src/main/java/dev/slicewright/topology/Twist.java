package dev.slicewright.topology;

import dev.slicewright.InvalidInputException;
import java.util.Objects;

/**
 * How the wrap links of a slice shift the other axes: passing the wrap of an axis in the positive
 * direction adds the shift of that axis. Immutable, safe to share.
 *
 * <p>A plain torus has no shift at all. The default twist of a shape is {@link
 * TpuTopology#twist(Shape)}.
 *
 * @param onX added by the wrap along x; its own x is 0
 * @param onY added by the wrap along y; its own y is 0
 * @param onZ added by the wrap along z; its own z is 0
 */
public record Twist(Chip onX, Chip onY, Chip onZ) {

  /** No shift: a plain torus or mesh. */
  public static final Twist NONE =
      new Twist(new Chip(0, 0, 0), new Chip(0, 0, 0), new Chip(0, 0, 0));

  /** Checks that no wrap shifts its own axis and no shift is negative. */
  public Twist {
    Objects.requireNonNull(onX, "onX");
    Objects.requireNonNull(onY, "onY");
    Objects.requireNonNull(onZ, "onZ");
    if (onX.x() != 0 || onY.y() != 0 || onZ.z() != 0) {
      throw new InvalidInputException(
          "twist", "twist", "a wrap may shift other axes only, but was " + onX + onY + onZ);
    }
    for (Chip shift : new Chip[] {onX, onY, onZ}) {
      if (shift.x() < 0 || shift.y() < 0 || shift.z() < 0) {
        throw new InvalidInputException(
            "twist", "twist", "shifts must be 0 or more, but was " + shift);
      }
    }
  }

  /**
   * The shift of one axis's wrap.
   *
   * @param axis the wrapping axis
   * @return what its wrap adds
   */
  public Chip shift(Axis axis) {
    return switch (axis) {
      case X -> onX;
      case Y -> onY;
      case Z -> onZ;
    };
  }

  /**
   * Whether nothing is shifted.
   *
   * @return true for a plain torus or mesh
   */
  public boolean isNone() {
    return equals(NONE);
  }
}
