package dev.slicewright.slurm;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One torus of a {@code topology/torus3d} topology: its cells, the nodes in them, and the boxes
 * that jobs may get. Immutable, safe to share.
 */
public final class SlurmTorus {

  private final String name;
  private final Shape dims;
  private final List<String> nodes;
  private final List<TorusPlacement> placements;
  private final Map<String, Integer> cells;
  private final CellCounts mapped;

  /**
   * A torus.
   *
   * @param name unique in its topology; not empty
   * @param dims cells along each axis
   * @param nodes the node of each cell, x fastest, then y, then z; empty text for a cell without
   *     one
   * @param placements the boxes that jobs may get, in the order listed; empty where jobs may have
   *     any nodes
   * @throws InvalidInputException listing every problem: not one name for each cell, a node in two
   *     cells, no node at all, or a placement, its seed or its spacing outside the torus
   */
  public SlurmTorus(String name, Shape dims, List<String> nodes, List<TorusPlacement> placements) {
    this.name = Objects.requireNonNull(name, "name");
    this.dims = Objects.requireNonNull(dims, "dims");
    this.nodes = List.copyOf(nodes);
    this.placements = List.copyOf(placements);
    this.cells = new HashMap<>(2 * this.nodes.size());
    Problems problems = new Problems();
    if (dims.rank() != 3 || this.nodes.size() != dims.chips()) {
      problems.add(
          "nodes",
          "expected a node, or an empty text, for each cell of "
              + dims
              + ", but were "
              + this.nodes.size()
              + "; name all");
    }
    for (int i = 0; i < this.nodes.size(); i++) {
      String node = this.nodes.get(i);
      if (!node.isEmpty() && cells.put(node, i) != null) {
        problems.add("nodes[" + i + "]", node + " is in another cell too; name it once");
      }
    }
    if (cells.isEmpty()) {
      problems.add("nodes", "expected a node in some cell, but there is none; name one");
    }
    for (int i = 0; i < this.placements.size(); i++) {
      if (!isInside(this.placements.get(i), dims)) {
        problems.add(
            "placements[" + i + "]",
            "expected extents, seed and spacing inside the torus of "
                + dims
                + ", but was "
                + this.placements.get(i)
                + "; correct it");
      }
    }
    problems.throwIfAny("torus " + name);
    this.mapped = new CellCounts(dims, cell -> !this.nodes.get(cell).isEmpty());
  }

  /** Why extents are beyond a pod of the fleet, though Slurm takes them; empty if they are not. */
  static Optional<String> whyTooLarge(Shape dims) {
    return dims.x() <= TpuTopology.MAX_X
            && dims.y() <= TpuTopology.MAX_YZ
            && dims.z() <= TpuTopology.MAX_YZ
        ? Optional.empty()
        : Optional.of(
            "expected at most "
                + TpuTopology.MAX_X
                + "x"
                + TpuTopology.MAX_YZ
                + "x"
                + TpuTopology.MAX_YZ
                + " cells, a limit of this library, but was "
                + dims
                + "; let the longest axis be z");
  }

  private static boolean isInside(TorusPlacement placement, Shape torus) {
    if (torus.rank() != 3 || placement.dims().rank() != 3 || placement.spacing().rank() != 3) {
      return false;
    }
    for (Axis axis : Axis.values()) {
      int length = torus.get(axis);
      int seed = placement.seed().get(axis);
      if (placement.dims().get(axis) > length
          || placement.spacing().get(axis) > length
          || seed < 0
          || seed >= length) {
        return false;
      }
    }
    return true;
  }

  /**
   * The name.
   *
   * @return not empty
   */
  public String name() {
    return name;
  }

  /**
   * Cells along each axis.
   *
   * @return three extents
   */
  public Shape dims() {
    return dims;
  }

  /**
   * The node of each cell, x fastest, then y, then z.
   *
   * @return an unmodifiable list; empty text for a cell without a node
   */
  public List<String> nodes() {
    return nodes;
  }

  /**
   * The boxes that jobs may get, in the order listed.
   *
   * @return an unmodifiable list, empty where jobs may have any nodes
   */
  public List<TorusPlacement> placements() {
    return placements;
  }

  /**
   * Where a node is.
   *
   * @param node its name
   * @return its cell, or empty if it is not in this torus
   */
  public Optional<Chip> cell(String node) {
    Integer index = cells.get(Objects.requireNonNull(node, "node"));
    return index == null ? Optional.empty() : Optional.of(chip(index));
  }

  /**
   * A node's address as Slurm writes it in {@code topology=} of a node.
   *
   * @param node its name
   * @return such as {@code pod1:3:0:2}, or empty if it is not in this torus
   */
  public Optional<String> address(String node) {
    return cell(node).map(c -> name + ":" + c.x() + ":" + c.y() + ":" + c.z());
  }

  /**
   * Whether a set of nodes is one that the plugin may give a job: exactly the cells of one of the
   * placements at one of its anchors. O(nodes · placements of that size)
   *
   * @param set node names
   * @return true if it is; where the torus lists no placements, true for any box
   */
  public boolean isAnchor(Collection<String> set) {
    Set<Integer> members = new HashSet<>();
    for (String node : set) {
      Integer index = cells.get(node);
      if (index == null || !members.add(index)) {
        return false;
      }
    }
    TorusBox box = TorusBox.of(members, dims);
    return box != null && allows(box);
  }

  /** Whether a box of mapped cells is an anchor. */
  boolean allows(TorusBox box) {
    return placements.isEmpty()
        || placements.stream()
            .anyMatch(p -> p.dims().equals(box.extents()) && p.mayBeginAt(box.origin(), dims));
  }

  /** The index of a node's cell, or null. */
  @Nullable Integer index(String node) {
    return cells.get(node);
  }

  Chip chip(int index) {
    return new Chip(index % dims.x(), index / dims.x() % dims.y(), index / (dims.x() * dims.y()));
  }

  int index(Chip cell) {
    return cell.x() + dims.x() * (cell.y() + dims.y() * cell.z());
  }

  /** Whether every cell of a box has a node. O(1) */
  boolean isMapped(TorusBox box) {
    return mapped.all(box);
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof SlurmTorus that
        && name.equals(that.name)
        && dims.equals(that.dims)
        && nodes.equals(that.nodes)
        && placements.equals(that.placements);
  }

  @Override
  public int hashCode() {
    return Objects.hash(name, dims, nodes, placements);
  }

  @Override
  public String toString() {
    return name + " " + dims + ", " + cells.size() + " nodes, " + placements.size() + " placements";
  }
}
