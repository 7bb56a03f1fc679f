package dev.slicewright.topology;

import java.util.List;
import java.util.Objects;

/**
 * The chips that one way of placing a slice takes, in a given pod. Immutable, safe to share.
 *
 * <p>Three kinds, one for each way that a platform lets chips become a slice ({@link Slicing}). On
 * Java 17, tell them apart with {@code instanceof} or {@link #kind()}.
 */
public sealed interface Footprint {

  /** The kinds of footprint. Immutable, safe to share. */
  enum Kind {
    /** A {@link Box}. */
    BOX,
    /** A {@link Cubes}. */
    CUBES,
    /** A {@link Partition}. */
    PARTITION
  }

  /**
   * Which kind this is.
   *
   * @return the kind
   */
  Kind kind();

  /**
   * A box of chips, wrapping round where the pod's axis wraps; on optical pods, a box inside one
   * cube. Immutable, safe to share.
   *
   * @param origin the corner with the least coordinates before wrapping
   * @param extents the extents in the pod's frame
   */
  record Box(Chip origin, Shape extents) implements Footprint {
    /** Checks for null. */
    public Box {
      Objects.requireNonNull(origin, "origin");
      Objects.requireNonNull(extents, "extents");
    }

    @Override
    public Kind kind() {
      return Kind.BOX;
    }

    @Override
    public String toString() {
      return extents + "@" + origin;
    }
  }

  /**
   * Whole cubes of one optical pod, in logical order: x fastest, then y, then z over the grid of
   * cubes in the slice's own frame. Immutable, safe to share.
   *
   * @param cubes one or more, each once
   */
  record Cubes(List<CubeId> cubes) implements Footprint {
    /** Copies the list. */
    public Cubes {
      cubes = List.copyOf(cubes);
    }

    @Override
    public Kind kind() {
      return Kind.CUBES;
    }

    @Override
    public String toString() {
      StringBuilder text = new StringBuilder("cubes");
      char separator = ' ';
      for (CubeId cube : cubes) {
        text.append(separator).append(cube.index());
        separator = ',';
      }
      return text.toString();
    }
  }

  /**
   * One partition of the pod's {@link PartitionForest}. Immutable, safe to share.
   *
   * @param id the partition
   */
  record Partition(PartitionId id) implements Footprint {
    /** Checks for null. */
    public Partition {
      Objects.requireNonNull(id, "id");
    }

    @Override
    public Kind kind() {
      return Kind.PARTITION;
    }

    @Override
    public String toString() {
      return "partition " + id.index();
    }
  }
}
