package dev.slicewright.slurm;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Pod;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Orientation;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Writes {@code topology.yaml} of Slurm 26.05. Immutable, safe to share.
 *
 * <p>What it writes, {@link SlurmTopologyReader} reads back equal: the same toruses, nodes and
 * placements. Needs no other library.
 */
public final class SlurmTopologyWriter {

  /** The most placements that a torus gets without being told its shapes: 64. */
  public static final int MAX_PLACEMENTS = 64;

  private SlurmTopologyWriter() {}

  /**
   * A topology of toruses.
   *
   * @param topology its name
   * @param toruses one or more
   * @return the text, one topology, the cluster's default
   * @throws InvalidInputException listing every name that YAML or Slurm would not take as it is
   */
  public static String write(String topology, List<SlurmTorus> toruses) {
    Problems problems = new Problems();
    checkName(problems, "topology", topology);
    for (int i = 0; i < toruses.size(); i++) {
      checkName(problems, "toruses[" + i + "].name", toruses.get(i).name());
    }
    problems.throwIfAny("topology.yaml");
    StringBuilder text = new StringBuilder("---\n");
    text.append("- topology: ").append(quoted(topology)).append('\n');
    text.append("  cluster_default: true\n  torus3d:\n    toruses:\n");
    toruses.forEach(torus -> write(text, torus));
    return text.toString();
  }

  private static void checkName(Problems problems, String path, String name) {
    if (name.isEmpty() || name.length() > 64 || name.chars().anyMatch(c -> c < ' ' || c > '~')) {
      problems.add(
          path,
          "expected 1 to 64 printable ASCII characters, but was "
              + HostList.quoted(name)
              + "; choose another name");
    }
  }

  private static void write(StringBuilder text, SlurmTorus torus) {
    text.append("      - name: ").append(quoted(torus.name())).append('\n');
    text.append("        dims: ").append(triple(torus.dims())).append('\n');
    if (torus.nodes().stream().noneMatch(String::isEmpty)) {
      text.append("        nodes: ").append(hosts(torus.nodes())).append('\n');
    } else {
      text.append("        regions:\n");
      regions(text, torus);
    }
    if (!torus.placements().isEmpty()) {
      text.append("        placements:\n");
    }
    for (TorusPlacement placement : torus.placements()) {
      text.append("          - dims: ").append(triple(placement.dims())).append('\n');
      Chip seed = placement.seed();
      if (!seed.equals(new Chip(0, 0, 0))) {
        text.append("            anchor_seed: ")
            .append(triple(seed.x(), seed.y(), seed.z()))
            .append('\n');
      }
      if (!placement.spacing().equals(placement.dims())) {
        text.append("            anchor_spacing: ")
            .append(triple(placement.spacing()))
            .append('\n');
      }
    }
  }

  /** Cuts the mapped cells into boxes: each from the first cell left, as far as x, y, then z go. */
  private static void regions(StringBuilder text, SlurmTorus torus) {
    Shape dims = torus.dims();
    boolean[] left = new boolean[torus.nodes().size()];
    for (int i = 0; i < left.length; i++) {
      left[i] = !torus.nodes().get(i).isEmpty();
    }
    for (int i = 0; i < left.length; i++) {
      if (!left[i]) {
        continue;
      }
      Chip anchor = torus.chip(i);
      Shape extents = Shape.of(1, 1, 1);
      for (Axis axis : Axis.values()) {
        Shape longer = longer(extents, axis);
        while (anchor.get(axis) + longer.get(axis) <= dims.get(axis)
            && allLeft(new TorusBox(anchor, longer), dims, left)) {
          extents = longer;
          longer = longer(extents, axis);
        }
      }
      List<String> nodes = new ArrayList<>();
      for (int cell : new TorusBox(anchor, extents).cells(dims)) {
        left[cell] = false;
        nodes.add(torus.nodes().get(cell));
      }
      text.append("          - anchor: ")
          .append(triple(anchor.x(), anchor.y(), anchor.z()))
          .append("\n            dims: ")
          .append(triple(extents))
          .append("\n            nodes: ")
          .append(hosts(nodes))
          .append('\n');
    }
  }

  private static Shape longer(Shape shape, Axis axis) {
    return Shape.of(
        shape.x() + (axis == Axis.X ? 1 : 0),
        shape.y() + (axis == Axis.Y ? 1 : 0),
        shape.z() + (axis == Axis.Z ? 1 : 0));
  }

  private static boolean allLeft(TorusBox box, Shape dims, boolean[] left) {
    for (int cell : box.cells(dims)) {
      if (!left[cell]) {
        return false;
      }
    }
    return true;
  }

  private static String hosts(List<String> nodes) {
    return quoted(HostList.of(nodes).toString());
  }

  private static String quoted(String text) {
    return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
  }

  private static String triple(Shape shape) {
    return triple(shape.x(), shape.y(), shape.z());
  }

  private static String triple(int x, int y, int z) {
    return "{x: " + x + ", y: " + y + ", z: " + z + "}";
  }

  // ---------------------------------------------------------------- pods

  /**
   * The pods of a fleet as toruses: a cell is a host, and every legal shape in every turn is a
   * placement that may begin anywhere, which says exactly what boxes of whole hosts say.
   *
   * @param fleet pods that are wired and sliced into boxes
   * @param shapes the shapes to offer, in chips; none for every legal one of whole hosts, of which
   *     there may be {@link #MAX_PLACEMENTS} with their turns
   * @return one torus for each pod, by id
   * @throws InvalidInputException listing each pod that Slurm cannot say, and each shape that is
   *     not legal in one
   */
  public static List<SlurmTorus> toruses(Fleet fleet, Shape... shapes) {
    Problems problems = new Problems();
    List<SlurmTorus> toruses = new ArrayList<>();
    for (Pod pod : fleet.pods()) {
      Problems own = new Problems();
      try {
        SlurmTorus torus = torus(pod, List.of(shapes), own);
        if (own.isEmpty()) {
          toruses.add(torus);
        }
        own.throwIfAny("pod " + pod.id());
      } catch (InvalidInputException e) {
        problems.addAll("pod/" + pod.id(), e);
      }
    }
    problems.throwIfAny("fleet");
    return List.copyOf(toruses);
  }

  private static SlurmTorus torus(Pod pod, List<Shape> shapes, Problems problems) {
    TpuTopology topology = pod.topology();
    if (!(topology.slicing() instanceof Slicing.TorusBoxes) || !topology.coordinatesKnown()) {
      throw new InvalidInputException(
          "pod",
          "topology",
          "expected a wired pod that is sliced into boxes, but was "
              + topology
              + "; topology/torus3d knows boxes of a torus alone");
    }
    if (topology.hostNames().isEmpty()) {
      throw new InvalidInputException(
          "pod",
          "hostNames",
          "expected the names of its nodes, but there are none; give them to the topology's"
              + " builder");
    }
    Shape tile = topology.hostTile();
    Shape grid = divided(topology.dims(), tile);
    List<Shape> wanted = shapes.isEmpty() ? topology.legalShapes() : shapes;
    Set<TorusPlacement> placements = new LinkedHashSet<>();
    for (Shape shape : wanted) {
      boolean legal = topology.isLegal(shape);
      if (!legal) {
        problems.add(
            "shape " + shape,
            topology.whyNotLegal(shape).orElse("") + " Drop it, or write the pods apart.");
      }
      for (Orientation turn : Orientation.ofRank(shape.rank())) {
        Shape extents = turn.extents(shape);
        if (legal && isWhole(extents, tile) && fits(extents, topology.dims())) {
          placements.add(TorusPlacement.anywhere(divided(extents, tile)));
        }
      }
    }
    if (shapes.isEmpty() && placements.size() > MAX_PLACEMENTS) {
      problems.add(
          "shapes",
          "expected at most "
              + MAX_PLACEMENTS
              + " placements, for slurmctld keeps a bitmap of every anchor of each, but were "
              + placements.size()
              + "; name the shapes that jobs ask for");
    }
    return meshAsTorus(pod, grid, placements);
  }

  /**
   * Every axis of Slurm's toruses wraps. One that does not gets a plane of cells without nodes: no
   * anchor can hold one, so no box passes the end.
   */
  private static SlurmTorus meshAsTorus(Pod pod, Shape grid, Set<TorusPlacement> placements) {
    TpuTopology topology = pod.topology();
    HostList.of(topology.hostNames()); // refuses what Slurm could not read back
    int[] dims = new int[3];
    for (Axis axis : Axis.values()) {
      boolean open = grid.get(axis) > 1 && !topology.wraps(axis);
      dims[axis.ordinal()] = grid.get(axis) + (open ? 1 : 0);
    }
    String[] nodes = new String[dims[0] * dims[1] * dims[2]];
    Arrays.fill(nodes, "");
    List<String> names = topology.hostNames();
    for (int host = 0; host < names.size(); host++) {
      int x = host % grid.x();
      int y = host / grid.x() % grid.y();
      int z = host / (grid.x() * grid.y());
      nodes[x + dims[0] * (y + dims[1] * z)] = names.get(host);
    }
    return new SlurmTorus(
        pod.id(),
        Shape.of(dims[0], dims[1], dims[2]),
        Arrays.asList(nodes),
        List.copyOf(placements));
  }

  private static boolean isWhole(Shape extents, Shape tile) {
    return extents.x() % tile.x() == 0
        && extents.y() % tile.y() == 0
        && extents.z() % tile.z() == 0;
  }

  private static boolean fits(Shape extents, Shape dims) {
    return extents.x() <= dims.x() && extents.y() <= dims.y() && extents.z() <= dims.z();
  }

  private static Shape divided(Shape extents, Shape tile) {
    return Shape.of(extents.x() / tile.x(), extents.y() / tile.y(), extents.z() / tile.z());
  }
}
