package dev.slicewright.plan;

import dev.slicewright.fleet.EffectiveHealth;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.PlanningRules;
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
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The cells of one pod that the slices of a problem may take, once all that may move or leave is
 * gone; and the cheapest footprint of a shape under given prices on cells.
 *
 * <p>Boxes by sliding-window sums along one axis after the other, O(cells) for each orientation;
 * partitions by differences of running sums, O(partitions); whole cubes by sorting their prices.
 */
final class Room {

  /** No footprint will do. */
  static final long NONE = -1;

  final Pod pod;
  final TpuTopology topology;
  final long[] free; // no price on any cell

  private final boolean[] closed; // taken for good, failed, cordoned or held for a stranger
  private final boolean[] present; // taken by a slice that may move or leave
  private final String @Nullable [] holder; // whose live hold is on a cell
  private final Set<String> holders = new HashSet<>();
  private final @Nullable EffectiveHealth health;
  private final Map<ViewKey, View> views = new HashMap<>();
  private final Map<TakeKey, Taken> taken = new HashMap<>();
  private Shape @Nullable [] nodeShapes; // sorted

  private record ViewKey(boolean healthyOnly, String holder) {}

  /** What one kind of request may use. */
  private static final class View {
    final boolean[] blocked;
    final int[] blockedBefore;
    final boolean[] cubes;
    final Map<Shape, Anchors> anchors = new HashMap<>(); // by extents

    View(boolean[] blocked, int[] blockedBefore, boolean[] cubes) {
      this.blocked = blocked;
      this.blockedBefore = blockedBefore;
      this.cubes = cubes;
    }
  }

  Room(Pod pod, PlanningRules rules, List<RunningSlice> mayGo, Predicate<String> isItem) {
    this.pod = pod;
    this.topology = pod.topology();
    int n = topology.cellCount();
    this.free = new long[n];
    this.closed = new boolean[n];
    this.present = new boolean[n];
    for (RunningSlice slice : mayGo) {
      for (int cell : topology.cells(slice.footprint())) {
        present[cell] = true;
      }
    }
    this.health = pod.reportedHealth().isEmpty() ? null : pod.health();
    boolean cordons = pod.isCordoned() || !pod.cordons().isEmpty();
    for (int cell = 0; cell < n; cell++) {
      closed[cell] =
          pod.busy().contains(cell) && !present[cell]
              || health != null && health.failedCells().contains(cell)
              || cordons && pod.cordonedCells().contains(cell);
    }
    String[] held = null;
    for (Hold hold : pod.holds()) {
      if (hold.isLive(rules.now())) {
        held = held == null ? new String[n] : held;
        boolean known = isItem.test(hold.request());
        for (int cell : topology.cells(hold.footprint())) {
          held[cell] = hold.request();
          closed[cell] |= !known;
        }
        holders.add(hold.request());
      }
    }
    this.holder = held;
  }

  /** Whether some slice may take a cell, or stays on it though it might go. */
  boolean counts(int cell) {
    return !closed[cell] || present[cell];
  }

  private boolean isDegraded(int cell) {
    return health != null && health.degradedCells().contains(cell);
  }

  private View view(boolean healthyOnly, String request) {
    ViewKey key = new ViewKey(healthyOnly, holders.contains(request) ? request : "");
    View view = views.get(key);
    if (view == null) {
      int n = closed.length;
      boolean[] blocked = new boolean[n];
      int[] before = new int[n + 1];
      for (int cell = 0; cell < n; cell++) {
        String by = holder == null ? null : holder[cell];
        blocked[cell] =
            closed[cell]
                || by != null && !by.equals(key.holder())
                || healthyOnly && isDegraded(cell);
        before[cell + 1] = before[cell] + (blocked[cell] ? 1 : 0);
      }
      boolean[] cubes = new boolean[topology.cubeCount()];
      for (int c = 0; c < cubes.length; c++) {
        int first = c * topology.hostsPerCube();
        cubes[c] =
            before[first + topology.hostsPerCube()] == before[first] && cubeServes(c, healthyOnly);
      }
      view = new View(blocked, before, cubes);
      views.put(key, view);
    }
    return view;
  }

  private boolean cubeServes(int cube, boolean healthyOnly) {
    CubeId id = new CubeId(cube);
    return health == null
        || !health.brokenCubes().contains(id)
            && !(healthyOnly && health.degradedCubes().contains(id));
  }

  /** Cubes that some request of a kind may use for a slice of whole cubes. */
  boolean[] openCubes(boolean healthyOnly) {
    boolean[] open = new boolean[topology.cubeCount()];
    int size = topology.hostsPerCube();
    for (int c = 0; c < open.length; c++) {
      open[c] = cubeServes(c, healthyOnly);
      for (int cell = c * size; open[c] && cell < (c + 1) * size; cell++) {
        open[c] = !closed[cell] && !(healthyOnly && isDegraded(cell));
      }
    }
    return open;
  }

  /**
   * By cell: whether it lies in a partition of a number of cells that some request of a kind may
   * use.
   *
   * @throws IllegalArgumentException if a larger slice is not made of such partitions
   */
  boolean[] openNodes(int size, boolean healthyOnly) {
    PartitionForest forest = topology.partitions().orElse(null);
    if (forest == null || size < 1) {
      throw new IllegalArgumentException("pod " + pod.id() + " has no partitions of " + size);
    }
    if (topology.slicing() instanceof Slicing.OpticalCubes optical
        && (size > topology.hostsPerCube()
            || optical.boxesInCube() && size < topology.hostsPerCube())) {
      throw new IllegalArgumentException(
          "slices of pod " + pod.id() + " are not all made of partitions of " + size + " cells");
    }
    boolean[] inside = new boolean[closed.length];
    boolean[] open = new boolean[closed.length];
    for (int i = 0; i < forest.size(); i++) {
      PartitionId id = new PartitionId(i);
      if (forest.cellCount(id) == size) {
        int first = forest.firstCell(id);
        boolean all = true;
        for (int cell = first; cell < first + size; cell++) {
          inside[cell] = true;
          all &= !closed[cell] && !(healthyOnly && isDegraded(cell));
        }
        Arrays.fill(open, first, first + size, all);
      }
    }
    for (int i = 0; i < forest.size(); i++) {
      PartitionId id = new PartitionId(i);
      for (int k = 0; forest.cellCount(id) > size && k < forest.cellCount(id); k++) {
        if (!inside[forest.firstCell(id) + k]) {
          throw new IllegalArgumentException(
              "partition "
                  + forest.name(id)
                  + " of pod "
                  + pod.id()
                  + " does not split into partitions of "
                  + size
                  + " cells");
        }
      }
    }
    return open;
  }

  /**
   * The least sum of prices over the footprints that a slice may take, its ties to others aside.
   *
   * @param prices by cell, 0 or more, their sum a long
   * @return 0 or more, or {@link #NONE}
   */
  long cheapest(SliceRequest request, Shape shape, long[] prices) {
    return cheapest(request, shape, prices, null);
  }

  /**
   * The same, with sums over boxes that are worth keeping.
   *
   * @param sums gives {@link #sums} of the prices, or null; asked only where boxes are of use
   */
  long cheapest(
      SliceRequest request, Shape shape, long[] prices, @Nullable Function<long[], BoxSums> sums) {
    if (!topology.isLegal(shape)
        || request.interconnect() == Interconnect.TWISTED && topology.twist(shape).isEmpty()) {
      return NONE;
    }
    View view = view(request.healthyOnly(), request.id());
    int cubes = topology.cubesOf(shape);
    if (cubes > 0) {
      return cheapestCubes(view, cubes, prices);
    }
    long best = NONE;
    if (topology.partitions().isPresent()) {
      best = cheapestPartition(request, shape, view, prices);
    }
    if (topology.slicing() instanceof Slicing.TorusBoxes) {
      return cheapestBox(request, shape, view, sums == null ? sums(prices) : sums.apply(prices));
    }
    if (topology.slicing() instanceof Slicing.OpticalCubes optical && optical.boxesInCube()) {
      long box = cheapestBoxInCube(request, shape, view, prices);
      best = best == NONE || box != NONE && box < best ? box : best;
    }
    return best;
  }

  /** The cubes of which a slice of whole cubes may be made; none if it may not be here at all. */
  boolean[] cubesFor(SliceRequest request, Shape shape) {
    return request.interconnect() == Interconnect.TWISTED && topology.twist(shape).isEmpty()
        ? new boolean[topology.cubeCount()]
        : view(request.healthyOnly(), request.id()).cubes.clone();
  }

  /**
   * Lists the footprints, those of whole cubes aside, that a slice may take, its ties to others
   * aside.
   */
  void forEachPlace(SliceRequest request, Shape shape, Consumer<Footprint> action) {
    if (!topology.isLegal(shape)
        || topology.cubesOf(shape) > 0
        || request.interconnect() == Interconnect.TWISTED && topology.twist(shape).isEmpty()) {
      return;
    }
    View view = view(request.healthyOnly(), request.id());
    if (topology.slicing() instanceof Slicing.TorusBoxes) {
      Shape tile = topology.cellTile();
      Shape grid = topology.cellGrid();
      for (Shape e : turns(request, shape)) {
        long[] words = anchors(view, e).words;
        for (int w = 0; w < words.length; w++) {
          for (long left = words[w]; left != 0; left &= left - 1) {
            int cell = (w << 6) + Long.numberOfTrailingZeros(left);
            int x = cell % grid.x();
            int y = cell / grid.x() % grid.y();
            int z = cell / grid.x() / grid.y();
            Chip at = new Chip(x * tile.x(), y * tile.y(), z * tile.z());
            offer(request, shape, new Footprint.Box(at, e), action);
          }
        }
      }
      return;
    }
    PartitionForest forest = topology.partitions().orElseThrow();
    for (PartitionId id : forest.ofShape(shape)) {
      int from = forest.firstCell(id);
      if (view.blockedBefore[from + forest.cellCount(id)] == view.blockedBefore[from]) {
        offer(request, shape, new Footprint.Partition(id), action);
      }
    }
    if (topology.slicing() instanceof Slicing.OpticalCubes optical && optical.boxesInCube()) {
      forEachBoxInCube(
          request,
          shape,
          box -> {
            boolean open = true;
            for (int cell : topology.cells(box)) {
              open &= !view.blocked[cell];
            }
            if (open) {
              offer(request, shape, box, action);
            }
          });
    }
  }

  private void offer(
      SliceRequest request, Shape shape, Footprint place, Consumer<Footprint> action) {
    if (mayTake(request, shape, place)) {
      action.accept(place);
    }
  }

  private void forEachBoxInCube(SliceRequest request, Shape shape, Consumer<Footprint> action) {
    Shape tile = topology.hostTile();
    for (Shape e : turns(request, shape)) {
      if (topology.alignment(e).isEmpty()) {
        continue;
      }
      for (int c = 0; c < topology.cubeCount(); c++) {
        Chip at = topology.originOf(new CubeId(c));
        for (int z = 0; z + e.z() <= 4; z += tile.z()) {
          for (int y = 0; y + e.y() <= 4; y += tile.y()) {
            for (int x = 0; x + e.x() <= 4; x += tile.x()) {
              action.accept(new Footprint.Box(new Chip(at.x() + x, at.y() + y, at.z() + z), e));
            }
          }
        }
      }
    }
  }

  private long cheapestCubes(View view, int count, long[] prices) {
    int size = topology.hostsPerCube();
    long[] sums = new long[view.cubes.length];
    int n = 0;
    for (int c = 0; c < view.cubes.length; c++) {
      if (view.cubes[c]) {
        long sum = 0;
        for (int cell = c * size; cell < (c + 1) * size; cell++) {
          sum += prices[cell];
        }
        sums[n++] = sum;
      }
    }
    if (n < count) {
      return NONE;
    }
    Arrays.sort(sums, 0, n);
    long best = 0;
    for (int i = 0; i < count; i++) {
      best += sums[i];
    }
    return best;
  }

  private long cheapestPartition(SliceRequest request, Shape shape, View view, long[] prices) {
    PartitionForest forest = topology.partitions().orElseThrow();
    Shape[] shapes = nodeShapes;
    if (shapes == null) {
      shapes = new Shape[forest.size()];
      for (int i = 0; i < shapes.length; i++) {
        shapes[i] = forest.shape(new PartitionId(i)).sorted();
      }
      nodeShapes = shapes;
    }
    Shape sorted = shape.sorted();
    long best = NONE;
    for (int i = 0; i < shapes.length; i++) {
      if (!shapes[i].equals(sorted)) {
        continue;
      }
      PartitionId id = new PartitionId(i);
      int from = forest.firstCell(id);
      int to = from + forest.cellCount(id);
      if (view.blockedBefore[to] != view.blockedBefore[from]) {
        continue;
      }
      long sum = 0;
      for (int cell = from; cell < to; cell++) {
        sum += prices[cell];
      }
      if ((best == NONE || sum < best) && mayTake(request, shape, new Footprint.Partition(id))) {
        best = sum;
      }
    }
    return best;
  }

  /** Turning, interconnect and links; cells are known to be usable. */
  private boolean mayTake(SliceRequest request, Shape shape, Footprint footprint) {
    if (!request.mayTurn() && Verification.isTurned(topology, shape, footprint)
        || request.interconnect() == Interconnect.WRAPAROUND
            && !topology.isTorus(shape, footprint)) {
      return false;
    }
    if (health == null || health.failedLinks().isEmpty() && health.degradedLinks().isEmpty()) {
      return true;
    }
    Health of = health.of(topology, footprint);
    return of == Health.HEALTHY || of == Health.DEGRADED && !request.healthyOnly();
  }

  private List<Shape> turns(SliceRequest request, Shape shape) {
    List<Shape> turns = new ArrayList<>();
    for (Orientation orientation : Orientation.ofRank(shape.rank())) {
      Shape extents = orientation.extents(shape);
      if (!turns.contains(extents)
          && (request.mayTurn() || !topology.coordinatesKnown() || extents.equals(shape))) {
        turns.add(extents);
      }
    }
    return turns;
  }

  private long cheapestBoxInCube(SliceRequest request, Shape shape, View view, long[] prices) {
    long best = NONE;
    Shape tile = topology.hostTile();
    for (Shape e : turns(request, shape)) {
      if (topology.alignment(e).isEmpty()) {
        continue;
      }
      for (int c = 0; c < topology.cubeCount(); c++) {
        Chip at = topology.originOf(new CubeId(c));
        for (int z = 0; z + e.z() <= 4; z += tile.z()) {
          for (int y = 0; y + e.y() <= 4; y += tile.y()) {
            for (int x = 0; x + e.x() <= 4; x += tile.x()) {
              Footprint box = new Footprint.Box(new Chip(at.x() + x, at.y() + y, at.z() + z), e);
              long sum = 0;
              boolean free = true;
              for (int cell : topology.cells(box)) {
                free &= !view.blocked[cell];
                sum += prices[cell];
              }
              if (free && (best == NONE || sum < best) && mayTake(request, shape, box)) {
                best = sum;
              }
            }
          }
        }
      }
    }
    return best;
  }

  /** Where boxes of given extents may begin, as far as cells decide. */
  private static final class Anchors {
    final int[] length; // in cells
    final long[] words; // a bit for each cell

    Anchors(int[] length, long[] words) {
      this.length = length;
      this.words = words;
    }
  }

  /** What {@link #mayTake} depends on, for boxes of the same extents. */
  private record TakeKey(
      Shape extents,
      Shape shape,
      boolean mayTurn,
      boolean healthyOnly,
      Interconnect interconnect) {}

  /** By cell where a box begins: whether it was asked, and the answer. */
  private static final class Taken {
    final long[] asked;
    final long[] yes;

    Taken(int words) {
      asked = new long[words];
      yes = new long[words];
    }
  }

  BoxSums sums(long[] prices) {
    Shape grid = topology.cellGrid();
    return new BoxSums(prices, grid.x(), grid.y(), grid.z());
  }

  private long cheapestBox(SliceRequest request, Shape shape, View view, BoxSums sums) {
    Shape tile = topology.cellTile();
    Shape grid = topology.cellGrid();
    long best = NONE;
    for (Shape e : turns(request, shape)) {
      Anchors anchors = view.anchors.get(e);
      if (anchors == null) {
        anchors = anchors(view, e);
        view.anchors.put(e, anchors);
      }
      if (anchors.words.length == 0) {
        continue;
      }
      long[] sum = sums.of(anchors.length[0], anchors.length[1], anchors.length[2]);
      Taken taken = null;
      for (int w = 0; w < anchors.words.length; w++) {
        for (long left = anchors.words[w]; left != 0; left &= left - 1) {
          int cell = (w << 6) + Long.numberOfTrailingZeros(left);
          if (best != NONE && sum[cell] >= best) {
            continue;
          }
          if (taken == null) {
            taken = taken(request, shape, e);
          }
          long bit = 1L << cell;
          if ((taken.asked[w] & bit) == 0) {
            taken.asked[w] |= bit;
            int x = cell % grid.x();
            int y = cell / grid.x() % grid.y();
            int z = cell / grid.x() / grid.y();
            Chip at = new Chip(x * tile.x(), y * tile.y(), z * tile.z());
            taken.yes[w] |= mayTake(request, shape, new Footprint.Box(at, e)) ? bit : 0;
          }
          best = (taken.yes[w] & bit) != 0 ? sum[cell] : best;
        }
      }
    }
    return best;
  }

  private Taken taken(SliceRequest request, Shape shape, Shape extents) {
    return taken.computeIfAbsent(
        new TakeKey(
            extents, shape, request.mayTurn(), request.healthyOnly(), request.interconnect()),
        k -> new Taken((closed.length + 63) / 64));
  }

  private Anchors anchors(View view, Shape e) {
    Shape stride = topology.alignment(e).orElse(null);
    if (stride == null) {
      return new Anchors(new int[3], new long[0]);
    }
    Shape grid = topology.cellGrid();
    Shape tile = topology.cellTile();
    int[] length = new int[3];
    int[] step = new int[3];
    int[] end = new int[3];
    for (Axis axis : Axis.values()) {
      int a = axis.ordinal();
      length[a] = Math.max(1, e.get(axis) / tile.get(axis));
      step[a] = Math.max(1, stride.get(axis) / tile.get(axis));
      if (length[a] > grid.get(axis)) {
        return new Anchors(new int[3], new long[0]);
      }
      end[a] = topology.wraps(axis) ? grid.get(axis) : grid.get(axis) - length[a] + 1;
    }
    long[] blocked = new long[closed.length];
    for (int cell = 0; cell < blocked.length; cell++) {
      blocked[cell] = view.blocked[cell] ? 1 : 0;
    }
    long[] inside = sums(blocked).of(length[0], length[1], length[2]);
    long[] words = new long[(closed.length + 63) / 64];
    for (int z = 0; z < end[2]; z += step[2]) {
      for (int y = 0; y < end[1]; y += step[1]) {
        for (int x = 0; x < end[0]; x += step[0]) {
          int cell = x + grid.x() * (y + grid.y() * z);
          words[cell >>> 6] |= inside[cell] == 0 ? 1L << cell : 0;
        }
      }
    }
    return new Anchors(length, words);
  }
}
