package dev.slicewright.bench;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Pod;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Orientation;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A problem as somebody without this library sees it: cells over all pods in one numbering, and for
 * each shape every position that is free and healthy now. Slices of whole cubes have no positions
 * but a number of cubes. Positions are listed pod by pod, orientation by orientation, x fastest. It
 * knows nothing of the library's own search. Not safe; external synchronisation needed.
 */
final class Positions {

  /**
   * One place. Immutable, safe to share. Its array must not be changed.
   *
   * @param pod the pod's number
   * @param cells its cells, numbered over all pods
   * @param footprint its footprint in its pod
   */
  record Position(int pod, int[] cells, Footprint footprint) {
    // A place is listed once, and solvers hash it often.
    @Override
    public boolean equals(Object other) {
      return this == other;
    }

    @Override
    public int hashCode() {
      return System.identityHashCode(this);
    }
  }

  /** A shape, and whether it may be turned. */
  private record Key(Shape shape, boolean mayTurn) {}

  final List<Pod> pods;
  final int[] firstCell; // by pod
  final int cellCount;

  /** What is not free: cells that are busy or failed. */
  final BitSet blocked = new BitSet();

  private final Map<Key, List<Position>> lists = new HashMap<>();
  private final List<List<Integer>> freeCubes = new ArrayList<>(); // by pod, or null

  Positions(Fleet fleet) {
    this.pods = List.copyOf(fleet.pods());
    this.firstCell = new int[pods.size() + 1];
    for (int p = 0; p < pods.size(); p++) {
      Pod pod = pods.get(p);
      int cells = pod.topology().cellCount();
      firstCell[p + 1] = firstCell[p] + cells;
      for (int cell : pod.busy().toArray()) {
        blocked.set(firstCell[p] + cell);
      }
      freeCubes.add(null);
    }
    this.cellCount = firstCell[pods.size()];
  }

  /** Whether slices of a request are whole cubes. */
  boolean isWhole(SliceRequest request) {
    return pods.get(0).topology().cubesOf(shape(request)) > 0;
  }

  /** The cubes of each slice of a request, 0 if it is smaller. */
  int cubes(SliceRequest request) {
    return pods.get(0).topology().cubesOf(shape(request));
  }

  static Shape shape(SliceRequest request) {
    return request.shapes().get(0);
  }

  /** The cubes of a pod that are wholly free and healthy enough. */
  List<Integer> freeCubes(int p) {
    List<Integer> known = freeCubes.get(p);
    if (known != null) {
      return known;
    }
    List<Integer> out = new ArrayList<>();
    Pod pod = pods.get(p);
    TpuTopology t = pod.topology();
    for (int c = 0; c < t.cubeCount(); c++) {
      Footprint cube = new Footprint.Cubes(List.of(new CubeId(c)));
      int first = firstCell[p] + t.firstCell(new CubeId(c));
      if (blocked.get(first, first + t.hostsPerCube()).isEmpty() && isHealthy(pod, cube)) {
        out.add(c);
      }
    }
    freeCubes.set(p, out);
    return out;
  }

  /** The cube of a cell in its pod. */
  int cubeOf(int p, int cell) {
    return (cell - firstCell[p]) / pods.get(p).topology().hostsPerCube();
  }

  int podOfCell(int cell) {
    int p = java.util.Arrays.binarySearch(firstCell, cell);
    return p >= 0 ? p : -p - 2;
  }

  /** Every position of a slice that is not of whole cubes. */
  List<Position> of(SliceRequest request) {
    return lists.computeIfAbsent(
        new Key(shape(request), request.mayTurn()), key -> list(key.shape(), key.mayTurn()));
  }

  /** The first position, in the order of {@link #of}, of which no cell is taken, or null. */
  Position first(SliceRequest request, BitSet taken) {
    Shape shape = shape(request);
    for (int p = 0; p < pods.size(); p++) {
      Pod pod = pods.get(p);
      TpuTopology t = pod.topology();
      if (!(t.slicing() instanceof Slicing.TorusBoxes)) {
        PartitionForest forest = t.partitions().orElseThrow();
        for (PartitionId id : forest.ofShape(shape)) {
          Position found = partition(p, forest, id, taken);
          if (found != null) {
            return found;
          }
        }
        continue;
      }
      for (Shape extents : turns(t, shape, request.mayTurn())) {
        for (int cell = 0; cell < t.cellCount(); cell++) {
          Footprint.Box box = new Footprint.Box(t.originOfCell(cell), extents);
          int[] cells = free(p, box, taken);
          if (cells != null && isHealthy(pod, box)) {
            return new Position(p, cells, box);
          }
        }
      }
    }
    return null;
  }

  private static boolean isHealthy(Pod pod, Footprint footprint) {
    return pod.reportedHealth().isEmpty() || pod.healthOf(footprint) != Health.FAILED;
  }

  private List<Position> list(Shape shape, boolean mayTurn) {
    List<Position> out = new ArrayList<>();
    for (int p = 0; p < pods.size(); p++) {
      if (pods.get(p).topology().slicing() instanceof Slicing.TorusBoxes) {
        boxes(p, shape, mayTurn, out);
      } else {
        partitions(p, shape, out);
      }
    }
    return out;
  }

  private void partitions(int p, Shape shape, List<Position> out) {
    PartitionForest forest = pods.get(p).topology().partitions().orElseThrow();
    for (PartitionId id : forest.ofShape(shape)) {
      Position position = partition(p, forest, id, blocked);
      if (position != null) {
        out.add(position);
      }
    }
  }

  private Position partition(int p, PartitionForest forest, PartitionId id, BitSet taken) {
    int first = firstCell[p] + forest.firstCell(id);
    int cells = forest.cellCount(id);
    int next = taken.nextSetBit(first);
    Footprint footprint = new Footprint.Partition(id);
    if (next >= 0 && next < first + cells || !isHealthy(pods.get(p), footprint)) {
      return null;
    }
    int[] own = new int[cells];
    for (int i = 0; i < cells; i++) {
      own[i] = first + i;
    }
    return new Position(p, own, footprint);
  }

  private void boxes(int p, Shape shape, boolean mayTurn, List<Position> out) {
    Pod pod = pods.get(p);
    TpuTopology t = pod.topology();
    for (Shape extents : turns(t, shape, mayTurn)) {
      for (int cell = 0; cell < t.cellCount(); cell++) {
        Footprint.Box box = new Footprint.Box(t.originOfCell(cell), extents);
        int[] cells = free(p, box, blocked);
        if (cells != null && isHealthy(pod, box)) {
          out.add(new Position(p, cells, box));
        }
      }
    }
  }

  static List<Shape> turns(TpuTopology t, Shape shape, boolean mayTurn) {
    List<Shape> turns = new ArrayList<>();
    for (Orientation orientation : Orientation.ofRank(shape.rank())) {
      Shape extents = orientation.extents(shape);
      if (!turns.contains(extents)
          && (mayTurn || extents.equals(shape))
          && t.alignment(extents).isPresent()) {
        turns.add(extents);
      }
    }
    return turns;
  }

  /** The cells of a box, or null if one is not free or it crosses an edge that does not wrap. */
  private int[] free(int p, Footprint.Box box, BitSet taken) {
    TpuTopology t = pods.get(p).topology();
    Chip o = box.origin();
    Shape dims = t.dims();
    for (Axis axis : Axis.values()) {
      if (o.get(axis) + box.extents().get(axis) > dims.get(axis) && !t.wraps(axis)) {
        return null;
      }
    }
    Shape tile = t.cellTile();
    Shape grid = t.cellGrid();
    int nx = box.extents().x() / tile.x();
    int ny = box.extents().y() / tile.y();
    int nz = box.extents().z() / tile.z();
    int corner =
        firstCell[p]
            + o.x() / tile.x()
            + grid.x() * (o.y() / tile.y() + grid.y() * (o.z() / tile.z()));
    if (taken.get(corner)) {
      return null;
    }
    int[] cells = new int[nx * ny * nz];
    int n = 0;
    for (int z = 0; z < nz; z++) {
      int cz = (o.z() / tile.z() + z) % grid.z();
      for (int y = 0; y < ny; y++) {
        int cy = (o.y() / tile.y() + y) % grid.y();
        int row = firstCell[p] + grid.x() * (cy + grid.y() * cz);
        for (int x = 0; x < nx; x++) {
          int cell = row + (o.x() / tile.x() + x) % grid.x();
          if (taken.get(cell)) {
            return null;
          }
          cells[n++] = cell;
        }
      }
    }
    return cells;
  }
}
