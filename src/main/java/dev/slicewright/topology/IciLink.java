package dev.slicewright.topology;

import java.util.Objects;

/**
 * One link of the inter-chip interconnect. Immutable, safe to share.
 *
 * <p>A link starts at the chip from which it leaves in the positive direction of its axis, so every
 * link has one name. Two links join the chips of a wrapping axis of length 2.
 *
 * @param from the chip it leaves in the positive direction
 * @param axis the axis along which it leaves
 * @param to the chip it reaches
 * @param wraps whether it closes the ring of its axis
 * @param medium copper or optical
 */
public record IciLink(Chip from, Axis axis, Chip to, boolean wraps, Medium medium) {

  /** What a link is made of. Immutable, safe to share. */
  public enum Medium {
    /** An electrical link, inside a cube or a wired torus. */
    COPPER,
    /** A link through an optical circuit switch, between cubes. */
    OPTICAL
  }

  /** Checks for null. */
  public IciLink {
    Objects.requireNonNull(from, "from");
    Objects.requireNonNull(axis, "axis");
    Objects.requireNonNull(to, "to");
    Objects.requireNonNull(medium, "medium");
  }
}
