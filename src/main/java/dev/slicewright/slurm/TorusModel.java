package dev.slicewright.slurm;

import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Orientation;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.PartitionSpec;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * One torus as a pod of the fleet, and the way back from the pod's chips to its nodes. Immutable,
 * safe to share.
 *
 * <p>A chip of the pod is a node. Where all anchors stand on one grid, the pod's coordinates are
 * the torus's moved by the grid's offset, and a host of the pod is a block of the grid.
 */
final class TorusModel {

  private static final Chip ORIGIN = new Chip(0, 0, 0);
  private static final Shape CELL = Shape.of(1, 1, 1);

  private final SlurmTorus torus;
  private final SlurmModel kind;
  private final Chip shift;
  private final TpuTopology topology;

  private TorusModel(
      SlurmTorus torus, SlurmModel kind, Chip shift, Shape tile, Slicing slicing, String name) {
    this.torus = torus;
    this.kind = kind;
    this.shift = shift;
    Shape dims = torus.dims();
    this.topology =
        TpuTopology.torusBuilder(dims.x(), dims.y(), dims.z())
            .accelerator(AcceleratorType.builder(name).podDims(dims).hostTile(tile).build())
            .hostTile(tile)
            .hostNames(hostNames(tile))
            .slicing(slicing)
            .build();
  }

  /**
   * Chooses the model of a torus.
   *
   * @param offered extents of the placements of all toruses
   * @param used boxes of jobs that run; they are kept where not all anchors can be said
   * @param wanted sizes of placements, most wanted first
   * @param idle per cell, whether a job could start
   */
  static TorusModel of(
      SlurmTorus torus,
      Set<Shape> offered,
      SlurmCluster.Settings settings,
      List<TorusBox> used,
      List<Long> wanted,
      boolean[] idle) {
    String name = settings.accelerator();
    Slicing anyBox = Slicing.TorusBoxes.anyBox();
    if (torus.placements().isEmpty()) {
      SlurmModel kind = offered.isEmpty() ? SlurmModel.ANY_BOX : SlurmModel.UNUSABLE;
      return new TorusModel(torus, kind, ORIGIN, CELL, anyBox, name);
    }
    AnchorFamily all = AnchorFamily.all(torus);
    if (all != null) {
      return all.boxes().isEmpty()
          ? new TorusModel(torus, SlurmModel.UNUSABLE, ORIGIN, CELL, anyBox, name)
          : partitions(torus, SlurmModel.PARTITIONS, all, name);
    }
    Grid grid = Grid.of(torus);
    boolean exact = grid.isExact(torus, offered);
    if (exact || settings.anyAnchor()) {
      SlurmModel kind = exact ? SlurmModel.BOXES : SlurmModel.ANY_ANCHOR;
      List<Shape> shapes = torus.placements().stream().map(TorusPlacement::dims).toList();
      Slicing boxes = new Slicing.TorusBoxes(shapes, false);
      return new TorusModel(torus, kind, grid.seed, grid.tile, boxes, name);
    }
    AnchorFamily some = AnchorFamily.some(torus, used, wanted, idle);
    return partitions(torus, SlurmModel.SOME_ANCHORS, some, name);
  }

  private static TorusModel partitions(
      SlurmTorus torus, SlurmModel kind, AnchorFamily family, String name) {
    List<PartitionSpec> specs = new ArrayList<>();
    for (TorusBox box : family.boxes()) {
      List<HostId> hosts = new ArrayList<>();
      for (int cell : box.cells(torus.dims())) {
        hosts.add(new HostId(cell));
      }
      specs.add(new PartitionSpec(box.toString(), box.extents(), hosts));
    }
    return new TorusModel(torus, kind, ORIGIN, CELL, new Slicing.NestedPartitions(specs), name);
  }

  /**
   * The grid of all places where boxes may begin.
   *
   * @param seed one of them
   * @param tile its mesh
   */
  private record Grid(Chip seed, Shape tile) {

    static Grid of(SlurmTorus torus) {
      int[] seed = new int[3];
      int[] mesh = new int[3];
      for (Axis axis : Axis.values()) {
        int a = axis.ordinal();
        for (TorusPlacement p : torus.placements()) {
          if (!p.isRing(axis, torus.dims())) {
            seed[a] = mesh[a] == 0 ? p.seed().get(axis) : seed[a];
            mesh[a] = TorusPlacement.gcd(mesh[a], p.step(axis, torus.dims()));
            mesh[a] = TorusPlacement.gcd(mesh[a], Math.abs(p.seed().get(axis) - seed[a]));
            mesh[a] = TorusPlacement.gcd(mesh[a], p.dims().get(axis));
          }
        }
        mesh[a] = Math.max(1, mesh[a]);
        seed[a] %= mesh[a];
      }
      return new Grid(new Chip(seed[0], seed[1], seed[2]), Shape.of(mesh[0], mesh[1], mesh[2]));
    }

    /** Whether every box of the listed extents on the grid is an anchor. */
    boolean isExact(SlurmTorus torus, Set<Shape> offered) {
      Set<Shape> own = new TreeSet<>();
      Set<Shape> sorted = new TreeSet<>();
      for (TorusPlacement p : torus.placements()) {
        own.add(p.dims());
        sorted.add(p.dims().sorted());
        for (Axis axis : Axis.values()) {
          if (!p.isRing(axis, torus.dims()) && p.step(axis, torus.dims()) != tile.get(axis)) {
            return false;
          }
        }
      }
      // Requests ask for the extents that some torus lists; here only those listed here may fit.
      return offered.stream()
          .filter(e -> sorted.contains(e.sorted()) && !own.contains(e))
          .noneMatch(e -> fits(e, torus.dims()));
    }

    private boolean fits(Shape extents, Shape torus) {
      for (Axis axis : Axis.values()) {
        if (extents.get(axis) > torus.get(axis) || extents.get(axis) % tile.get(axis) != 0) {
          return false;
        }
      }
      return true;
    }
  }

  private List<String> hostNames(Shape tile) {
    Shape dims = torus.dims();
    List<String> names = new ArrayList<>();
    for (int z = 0; z < dims.z(); z += tile.z()) {
      for (int y = 0; y < dims.y(); y += tile.y()) {
        for (int x = 0; x < dims.x(); x += tile.x()) {
          Chip corner = cell(new Chip(x, y, z));
          List<String> nodes = new ArrayList<>();
          for (int cell : new TorusBox(corner, tile).cells(dims)) {
            if (!torus.nodes().get(cell).isEmpty()) {
              nodes.add(torus.nodes().get(cell));
            }
          }
          names.add(
              nodes.isEmpty()
                  ? "unmapped@" + corner.x() + "." + corner.y() + "." + corner.z()
                  : HostList.of(nodes).sorted().toString());
        }
      }
    }
    return names;
  }

  SlurmTorus torus() {
    return torus;
  }

  SlurmModel kind() {
    return kind;
  }

  TpuTopology topology() {
    return topology;
  }

  /** The host of the pod in which a cell lies. */
  HostId host(int cell) {
    return topology.hostOf(chip(torus.chip(cell)));
  }

  /** The footprint of a box, or null if the pod cannot say it. */
  @Nullable Footprint footprint(TorusBox box) {
    Footprint footprint;
    if (topology.partitions().isPresent()) {
      Optional<PartitionId> id = topology.partitions().get().byName(box.toString());
      if (id.isEmpty()) {
        return null;
      }
      footprint = new Footprint.Partition(id.get());
    } else {
      footprint = new Footprint.Box(boxOrigin(box), box.extents());
    }
    return topology.whyNot(box.extents(), footprint).isEmpty() ? footprint : null;
  }

  /** Along an axis that the box goes all round it begins at the pod's own origin. */
  private Chip boxOrigin(TorusBox box) {
    Chip at = chip(box.origin());
    Shape dims = torus.dims();
    return new Chip(
        box.extents().x() == dims.x() ? 0 : at.x(),
        box.extents().y() == dims.y() ? 0 : at.y(),
        box.extents().z() == dims.z() ? 0 : at.z());
  }

  /** The nodes of a slice in worker order: x fastest, then y, then z, in the slice's own frame. */
  List<String> nodes(Shape shape, Footprint footprint) {
    Footprint.Box box =
        footprint instanceof Footprint.Box given
            ? given
            : topology
                .partitions()
                .flatMap(forest -> forest.box(((Footprint.Partition) footprint).id()))
                .orElseThrow();
    Orientation orientation = Orientation.between(shape, box.extents());
    Shape dims = torus.dims();
    List<String> nodes = new ArrayList<>((int) shape.chips());
    for (int z = 0; z < shape.z(); z++) {
      for (int y = 0; y < shape.y(); y++) {
        for (int x = 0; x < shape.x(); x++) {
          Chip offset = orientation.offset(x, y, z);
          Chip chip =
              new Chip(
                  (box.origin().x() + offset.x()) % dims.x(),
                  (box.origin().y() + offset.y()) % dims.y(),
                  (box.origin().z() + offset.z()) % dims.z());
          nodes.add(torus.nodes().get(torus.index(cell(chip))));
        }
      }
    }
    return List.copyOf(nodes);
  }

  private Chip cell(Chip chip) {
    Shape dims = torus.dims();
    return new Chip(
        (chip.x() + shift.x()) % dims.x(),
        (chip.y() + shift.y()) % dims.y(),
        (chip.z() + shift.z()) % dims.z());
  }

  private Chip chip(Chip cell) {
    Shape dims = torus.dims();
    return new Chip(
        Math.floorMod(cell.x() - shift.x(), dims.x()),
        Math.floorMod(cell.y() - shift.y(), dims.y()),
        Math.floorMod(cell.z() - shift.z(), dims.z()));
  }
}
