package dev.slicewright.fleet;

import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Orientation;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.PartitionSpec;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/** Small pods of every kind of slicing, and random parts and footprints of them. */
final class RandomParts {

  static final TpuTopology TORUS = TpuTopology.torus(4, 6, 3);
  static final TpuTopology MESH = TpuTopology.torusBuilder(8, 4).mesh().build();
  static final TpuTopology SUB_HOST =
      TpuTopology.torusBuilder(4, 4)
          .slicing(
              new Slicing.TorusBoxes(
                  List.of(Shape.of(1, 1), Shape.of(2, 2), Shape.of(2, 4), Shape.of(4, 4)), false))
          .build();
  static final TpuTopology NESTED = TpuTopology.v5e();
  static final TpuTopology LISTED =
      TpuTopology.torusBuilder(4, 4)
          .slicing(
              new Slicing.NestedPartitions(
                  List.of(
                      new PartitionSpec("half", Shape.of(2, 4), List.of(host(0), host(2))),
                      new PartitionSpec("left", Shape.of(2, 2), List.of(host(0))),
                      new PartitionSpec("right", Shape.of(2, 2), List.of(host(2))),
                      new PartitionSpec("rest", Shape.of(2, 4), List.of(host(1), host(3))))))
          .build();
  static final TpuTopology CUBES = TpuTopology.builder(AcceleratorType.V5P).cubes(4).build();
  static final TpuTopology CUBES_WITH_BOXES =
      TpuTopology.builder(AcceleratorType.V5P)
          .dims(8, 8, 4)
          .slicing(new Slicing.OpticalCubes(3, true, List.of()))
          .build();

  static final List<TpuTopology> ALL =
      List.of(TORUS, MESH, SUB_HOST, NESTED, LISTED, CUBES, CUBES_WITH_BOXES);

  /** A shape on a footprint. */
  record Spot(Shape shape, Footprint footprint) {}

  private RandomParts() {}

  private static HostId host(int index) {
    return new HostId(index);
  }

  /** Mostly legal, now and then not. */
  static Spot spot(TpuTopology t, Random random) {
    if (t.isOptical() && random.nextInt(3) == 0) {
      List<CubeId> cubes = new ArrayList<>();
      for (int i = 0; i < t.cubeCount(); i++) {
        cubes.add(new CubeId(i));
      }
      Collections.shuffle(cubes, random);
      int n = 1 + random.nextInt(2);
      return new Spot(Shape.of(4, 4, 4 * n), new Footprint.Cubes(cubes.subList(0, n)));
    }
    boolean boxes =
        t.slicing() instanceof Slicing.TorusBoxes
            || t.slicing() instanceof Slicing.OpticalCubes o
                && o.boxesInCube()
                && random.nextBoolean();
    if (!boxes) {
      PartitionForest forest = t.partitions().orElseThrow();
      PartitionId id = new PartitionId(random.nextInt(forest.size()));
      return new Spot(forest.shape(id), new Footprint.Partition(id));
    }
    for (int i = 0; i < 20; i++) {
      Spot spot = box(t, random);
      if (t.whyNot(spot.shape(), spot.footprint()).isEmpty()) {
        return spot;
      }
    }
    return box(t, random);
  }

  private static Spot box(TpuTopology t, Random random) {
    List<Shape> legal =
        t.legalShapes().stream().filter(s -> s.chips() < (t.isOptical() ? 64 : 1000)).toList();
    Shape shape = legal.get(random.nextInt(legal.size()));
    List<Orientation> turns = Orientation.ofRank(shape.rank());
    Shape extents = turns.get(random.nextInt(turns.size())).extents(shape);
    Shape stride = t.alignment(extents).orElse(t.hostTile());
    Chip at = t.chip(random.nextInt(t.chipCount()));
    Chip origin =
        new Chip(
            at.x() - at.x() % stride.x(),
            at.y() - at.y() % stride.y(),
            at.z() - at.z() % stride.z());
    return new Spot(shape, new Footprint.Box(origin, extents));
  }

  /** A part that the pod has. */
  static Part part(TpuTopology t, Random random) {
    while (true) {
      Chip chip = t.chip(random.nextInt(t.chipCount()));
      Axis axis = Axis.values()[random.nextInt(t.dims().rank())];
      switch (random.nextInt(t.isOptical() ? 6 : 4)) {
        case 0:
          return new Part.Chip(chip);
        case 1:
          return new Part.Host(t.hostOf(chip));
        case 4:
          return new Part.Cube(t.cubeOf(chip));
        case 5:
          return new Part.OcsPort(t.cubeOf(chip), axis, random.nextBoolean(), random.nextInt(16));
        default:
          int end = t.dims().get(axis) - 1;
          if (t.isOptical() || end > 0 && (chip.get(axis) < end || t.wraps(axis))) {
            return new Part.Link(chip, axis);
          }
      }
    }
  }
}
