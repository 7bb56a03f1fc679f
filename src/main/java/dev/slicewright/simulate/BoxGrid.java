package dev.slicewright.simulate;

import dev.slicewright.fleet.EffectiveHealth;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Orientation;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * One pod as the placement rules of other schedulers see it: a grid of cells, each free or taken,
 * axes that wrap or end, and boxes of whole cells. Not safe; external synchronisation needed.
 */
final class BoxGrid {

  /**
   * Where a rule puts a box: the number of the grid, the origin and the extents, in cells.
   * Immutable, safe to share.
   */
  record Spot(int grid, int x, int y, int z, Extents extents) {}

  /** The extents of a box in cells. Immutable, safe to share. */
  record Extents(int x, int y, int z) {
    int size() {
      return x * y * z;
    }
  }

  final Extents dims;
  final boolean wrapX;
  final boolean wrapY;
  final boolean wrapZ;

  /** x fastest, then y. */
  private final boolean[] taken;

  private int free;

  BoxGrid(Extents dims, boolean wrapX, boolean wrapY, boolean wrapZ) {
    this.dims = dims;
    this.wrapX = wrapX;
    this.wrapY = wrapY;
    this.wrapZ = wrapZ;
    this.taken = new boolean[dims.size()];
    this.free = dims.size();
  }

  /** An empty pod. */
  static BoxGrid of(TpuTopology topology) {
    boolean flat = topology.dims().rank() == 2;
    return new BoxGrid(
        extents(topology.cellGrid()),
        topology.wraps(Axis.X),
        topology.wraps(Axis.Y),
        !flat && topology.wraps(Axis.Z));
  }

  /**
   * A pod as it is: what runs, failed and cordoned cells are taken. A rule that knows only nodes
   * cannot avoid a dead link, so the cell at its lower end is taken too, as an operator would drain
   * that node.
   */
  static BoxGrid of(Pod pod) {
    return of(pod, true);
  }

  /** The same without what runs. */
  static BoxGrid bare(Pod pod) {
    return of(pod, false);
  }

  private static BoxGrid of(Pod pod, boolean running) {
    TpuTopology topology = pod.topology();
    BoxGrid grid = of(topology);
    EffectiveHealth health = pod.health();
    for (int cell = 0; cell < topology.cellCount(); cell++) {
      if (running && pod.busy().contains(cell)
          || health.failedCells().contains(cell)
          || pod.cordonedCells().contains(cell)) {
        grid.take(grid.indexOf(topology, topology.originOfCell(cell)), true);
      }
    }
    pod.reportedHealth()
        .forEach(
            (part, value) -> {
              if (part instanceof Part.Link link
                  && value == dev.slicewright.fleet.Health.FAILED
                  && topology.contains(link.from())) {
                grid.take(grid.indexOf(topology, link.from()), true);
              }
            });
    return grid;
  }

  /** The pods of a fleet, in its order; all must be pods of boxes. */
  static List<BoxGrid> of(Fleet fleet) {
    List<BoxGrid> grids = new ArrayList<>();
    fleet.pods().forEach(pod -> grids.add(of(pod)));
    return grids;
  }

  /**
   * The different ways to turn a shape that a topology allows, in cells. Shapes smaller than a cell
   * take one.
   */
  static List<Extents> turns(TpuTopology topology, Shape shape) {
    List<Extents> turns = new ArrayList<>();
    for (Orientation orientation : Orientation.ofRank(shape.rank())) {
      Optional<Shape> aligned = topology.alignment(orientation.extents(shape));
      Extents e = extents(orientation.extents(shape));
      Extents tile = extents(topology.cellTile());
      Extents cells =
          new Extents(ceil(e.x(), tile.x()), ceil(e.y(), tile.y()), ceil(e.z(), tile.z()));
      if (aligned.isPresent()
          && !turns.contains(cells)
          && fits(extents(topology.cellGrid()), cells)) {
        turns.add(cells);
      }
    }
    return turns;
  }

  /** The footprint of a spot. */
  static Footprint.Box box(TpuTopology topology, Spot spot) {
    Extents tile = extents(topology.cellTile());
    Extents e = spot.extents();
    Shape shape =
        topology.dims().rank() == 2
            ? Shape.of(e.x() * tile.x(), e.y() * tile.y())
            : Shape.of(e.x() * tile.x(), e.y() * tile.y(), e.z() * tile.z());
    return new Footprint.Box(
        new Chip(spot.x() * tile.x(), spot.y() * tile.y(), spot.z() * tile.z()), shape);
  }

  private static boolean fits(Extents dims, Extents e) {
    return e.x() <= dims.x() && e.y() <= dims.y() && e.z() <= dims.z();
  }

  private static int ceil(int a, int b) {
    return (a + b - 1) / b;
  }

  static Extents extents(Shape shape) {
    return new Extents(shape.x(), shape.y(), shape.rank() == 2 ? 1 : shape.z());
  }

  private int indexOf(TpuTopology topology, Chip chip) {
    Extents tile = extents(topology.cellTile());
    return index(chip.x() / tile.x(), chip.y() / tile.y(), chip.z() / tile.z());
  }

  int index(int x, int y, int z) {
    return x + dims.x() * (y + dims.y() * z);
  }

  int cells() {
    return taken.length;
  }

  int free() {
    return free;
  }

  boolean isTaken(int index) {
    return taken[index];
  }

  boolean isFree(Spot spot) {
    for (int i : cells(spot)) {
      if (taken[i]) {
        return false;
      }
    }
    return true;
  }

  void take(Spot spot) {
    change(spot, true);
  }

  void give(Spot spot) {
    change(spot, false);
  }

  /** Takes or frees one cell, whatever it was. */
  void take(int index, boolean value) {
    if (taken[index] != value) {
      taken[index] = value;
      free += value ? -1 : 1;
    }
  }

  private void change(Spot spot, boolean value) {
    for (int i : cells(spot)) {
      if (taken[i] == value) {
        throw new IllegalStateException(spot + " is not " + (value ? "free" : "taken"));
      }
      take(i, value);
    }
  }

  /** The cells of a box, wrapping round. */
  int[] cells(Spot spot) {
    Extents e = spot.extents();
    int[] cells = new int[e.size()];
    int n = 0;
    for (int z = 0; z < e.z(); z++) {
      for (int y = 0; y < e.y(); y++) {
        for (int x = 0; x < e.x(); x++) {
          cells[n++] =
              index(
                  (spot.x() + x) % dims.x(), (spot.y() + y) % dims.y(), (spot.z() + z) % dims.z());
        }
      }
    }
    return cells;
  }

  /** Whether a box may start there: it ends inside the axes that do not wrap. */
  boolean mayStart(int x, int y, int z, Extents e) {
    return (wrapX || x + e.x() <= dims.x())
        && (wrapY || y + e.y() <= dims.y())
        && (wrapZ || z + e.z() <= dims.z());
  }

  /** Per origin, how many cells of the box that starts there are taken. O(cells). */
  int[] takenInBox(Extents e) {
    int[] counts = new int[taken.length];
    for (int i = 0; i < taken.length; i++) {
      counts[i] = taken[i] ? 1 : 0;
    }
    return windows(dims, counts, e);
  }

  /**
   * Per cell, the sum of the values of the wrapped window that starts there; windows longer than an
   * axis count each cell once. O(cells), by sliding the window along each axis in turn.
   */
  static int[] windows(Extents dims, int[] values, Extents window) {
    int[] a = values;
    int[] b = new int[values.length];
    slide(a, b, dims.x(), 1, Math.min(window.x(), dims.x()));
    a = new int[values.length];
    slide(b, a, dims.y(), dims.x(), Math.min(window.y(), dims.y()));
    slide(a, b, dims.z(), dims.x() * dims.y(), Math.min(window.z(), dims.z()));
    return b;
  }

  private static void slide(int[] from, int[] to, int length, int step, int window) {
    if (window == 1) {
      System.arraycopy(from, 0, to, 0, from.length);
      return;
    }
    int block = length * step;
    for (int start = 0; start < from.length; start += block) {
      for (int lane = start; lane < start + step; lane++) {
        int sum = 0;
        for (int i = 0; i < window; i++) {
          sum += from[lane + i * step];
        }
        int head = window == length ? 0 : window;
        for (int i = 0; i < length; i++) {
          to[lane + i * step] = sum;
          sum += from[lane + head * step] - from[lane + i * step];
          head = head + 1 == length ? 0 : head + 1;
        }
      }
    }
  }
}
