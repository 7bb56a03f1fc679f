package dev.slicewright.topology;

import java.util.List;

/**
 * How a platform lets chips become a slice. Immutable, safe to share.
 *
 * <p>All three are real: statically wired tori and meshes ({@link TorusBoxes}), platforms that list
 * partitions ({@link NestedPartitions}), and cubes that optical switches join ({@link
 * OpticalCubes}).
 */
public sealed interface Slicing {

  /**
   * Any host-aligned box of a legal shape, in any allowed orientation, wrapping round where the
   * axis wraps. Immutable, safe to share.
   *
   * @param shapes the legal shapes (sorted extents); empty for every host-aligned box
   * @param powersOfTwo whether every extent must also be a power of two
   */
  record TorusBoxes(List<Shape> shapes, boolean powersOfTwo) implements Slicing {
    /** Copies the list, each shape sorted. */
    public TorusBoxes {
      shapes = shapes.stream().map(Shape::sorted).distinct().sorted().toList();
    }

    /**
     * Every host-aligned box.
     *
     * @return the slicing
     */
    public static TorusBoxes anyBox() {
      return new TorusBoxes(List.of(), false);
    }
  }

  /**
   * Only the partitions that the platform lists; they nest. Immutable, safe to share.
   *
   * @param partitions what the platform lists; empty to halve the pod, longest axis first: on 2-D
   *     pods down to one chip (16x16, 8x16, 8x8, … 2x2, 1x1: the shapes of v5e and v6e), on 3-D
   *     pods down to one host; {@link PartitionForest} says how such partitions are named
   */
  record NestedPartitions(List<PartitionSpec> partitions) implements Slicing {
    /** Copies the list. */
    public NestedPartitions {
      partitions = List.copyOf(partitions);
    }

    /**
     * The pod halved again and again.
     *
     * @return the slicing
     */
    public static NestedPartitions halving() {
      return new NestedPartitions(List.of());
    }
  }

  /**
   * A slice of whole 4x4x4 cubes is any free, healthy cubes of one pod; a smaller slice stays
   * inside one cube. Immutable, safe to share.
   *
   * @param maxCubes the most cubes that one slice may have, 1 or more
   * @param boxesInCube whether a smaller slice may be any host-aligned box of its cube; if not, it
   *     is a partition of the cube
   * @param partitions what the platform lists; empty to halve each cube: 4x4x4, 2x4x4, 2x2x4,
   *     2x2x2, 2x2x1; {@link PartitionForest} says how such partitions are named
   */
  record OpticalCubes(int maxCubes, boolean boxesInCube, List<PartitionSpec> partitions)
      implements Slicing {
    /** Copies the list. */
    public OpticalCubes {
      partitions = List.copyOf(partitions);
    }

    /**
     * Cubes halved into partitions.
     *
     * @param maxCubes the most cubes that one slice may have
     * @return the slicing
     */
    public static OpticalCubes upTo(int maxCubes) {
      return new OpticalCubes(maxCubes, false, List.of());
    }
  }
}
