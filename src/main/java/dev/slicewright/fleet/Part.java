package dev.slicewright.fleet;

import dev.slicewright.topology.Axis;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.HostId;
import java.util.Objects;

/**
 * A part of a pod that can fail or be cordoned. Immutable, safe to share.
 *
 * <p>What a part's health means for slices is {@link HealthPolicy}'s to say.
 */
public sealed interface Part {

  /**
   * One chip. Immutable, safe to share.
   *
   * @param chip its coordinate in the pod
   */
  record Chip(dev.slicewright.topology.Chip chip) implements Part {
    /** Checks for null. */
    public Chip {
      Objects.requireNonNull(chip, "chip");
    }
  }

  /**
   * One host. Immutable, safe to share.
   *
   * @param host its number in the pod
   */
  record Host(HostId host) implements Part {
    /** Checks for null. */
    public Host {
      Objects.requireNonNull(host, "host");
    }
  }

  /**
   * One ICI link, named by the chip that it leaves in the positive direction of its axis. On
   * optical pods a link that leaves its cube is optical. Immutable, safe to share.
   *
   * @param from the chip that it leaves
   * @param axis its axis
   */
  record Link(dev.slicewright.topology.Chip from, Axis axis) implements Part {
    /** Checks for null. */
    public Link {
      Objects.requireNonNull(from, "from");
      Objects.requireNonNull(axis, "axis");
    }
  }

  /**
   * One cube of an optical pod. Immutable, safe to share.
   *
   * @param cube its number in the pod
   */
  record Cube(CubeId cube) implements Part {
    /** Checks for null. */
    public Cube {
      Objects.requireNonNull(cube, "cube");
    }
  }

  /**
   * One port of the optical switches: a face of a cube has 16, one for each chip of the face.
   * Immutable, safe to share.
   *
   * @param cube the cube that it serves
   * @param axis the axis of the face
   * @param positive whether it is the face in the positive direction
   * @param index 0 to 15, over the face's other two axes, the earlier axis fastest
   */
  record OcsPort(CubeId cube, Axis axis, boolean positive, int index) implements Part {
    /** Checks for null. */
    public OcsPort {
      Objects.requireNonNull(cube, "cube");
      Objects.requireNonNull(axis, "axis");
    }
  }
}
