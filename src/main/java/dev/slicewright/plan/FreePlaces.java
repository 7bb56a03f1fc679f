package dev.slicewright.plan;

import dev.slicewright.fleet.EffectiveHealth;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.request.Interconnect;
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
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The places of a pod that a slice could take at once: nothing runs there, no hold (live or not)
 * lies there, nothing is failed or cordoned. Confined to one thread at a time.
 */
final class FreePlaces {

  private static final long CLOSED = Long.MAX_VALUE;

  private final Pod pod;
  private final TpuTopology t;
  private final SliceRequest request;
  private final Shape shape;
  private final long[] price; // CLOSED where the slice may not go
  private @Nullable Footprint best;
  private long bestPrice = CLOSED;

  private FreePlaces(Pod pod, SliceRequest request, Shape shape, long[] price) {
    this.pod = pod;
    this.t = pod.topology();
    this.request = request;
    this.shape = shape;
    this.price = price;
  }

  /**
   * The cheapest place, the first of equals.
   *
   * @param pod as it stands
   * @param prices by cell, 0 or more, their sum a long; less than 0 where the slice must not go
   * @return the place, or null. O(places × cells of one)
   */
  static @Nullable Footprint cheapest(Pod pod, SliceRequest request, Shape shape, long[] prices) {
    TpuTopology t = pod.topology();
    if (pod.whyNot(request).isPresent() || !t.isLegal(shape)) {
      return null;
    }
    EffectiveHealth health = pod.reportedHealth().isEmpty() ? null : pod.health();
    boolean cordons = pod.isCordoned() || !pod.cordons().isEmpty();
    long[] price = prices.clone();
    for (int cell = 0; cell < price.length; cell++) {
      if (price[cell] < 0
          || pod.busy().contains(cell)
          || cordons && pod.cordonedCells().contains(cell)
          || health != null
              && (health.failedCells().contains(cell)
                  || request.healthyOnly() && health.degradedCells().contains(cell))) {
        price[cell] = CLOSED;
      }
    }
    for (Hold hold : pod.holds()) {
      for (int cell : t.cells(hold.footprint())) {
        price[cell] = CLOSED;
      }
    }
    FreePlaces places = new FreePlaces(pod, request, shape, price);
    places.search();
    return places.best;
  }

  private void search() {
    int cubes = t.cubesOf(shape);
    if (cubes > 0) {
      cubes(cubes);
      return;
    }
    if (!(t.slicing() instanceof Slicing.TorusBoxes)) {
      PartitionForest forest = t.partitions().orElse(null);
      for (int i = 0; forest != null && i < forest.size(); i++) {
        if (forest.shape(new PartitionId(i)).sorted().equals(shape.sorted())) {
          offer(new Footprint.Partition(new PartitionId(i)));
        }
      }
    }
    if (t.slicing() instanceof Slicing.TorusBoxes) {
      boxes(new Chip(0, 0, 0), t.dims(), this::offer);
    } else if (t.slicing() instanceof Slicing.OpticalCubes optical && optical.boxesInCube()) {
      for (int c = 0; c < t.cubeCount(); c++) {
        boxes(t.originOf(new CubeId(c)), Shape.of(4, 4, 4), this::offer);
      }
    }
  }

  private void boxes(Chip origin, Shape room, Consumer<Footprint> to) {
    Set<Shape> extents = new LinkedHashSet<>();
    for (Orientation orientation : Orientation.ofRank(shape.rank())) {
      extents.add(orientation.extents(shape));
    }
    boolean whole = t.slicing() instanceof Slicing.TorusBoxes;
    for (Shape e : extents) {
      Shape stride = t.alignment(e).orElse(null);
      if (stride == null) {
        continue;
      }
      int[] end = new int[3];
      for (Axis axis : Axis.values()) {
        boolean wraps = whole && t.wraps(axis);
        end[axis.ordinal()] = wraps ? room.get(axis) : room.get(axis) - e.get(axis) + 1;
      }
      for (int z = 0; z < end[2]; z += stride.z()) {
        for (int y = 0; y < end[1]; y += stride.y()) {
          for (int x = 0; x < end[0]; x += stride.x()) {
            Chip at = new Chip(origin.x() + x, origin.y() + y, origin.z() + z);
            if (price[t.cellOf(at)] < bestPrice) {
              to.accept(new Footprint.Box(at, e));
            }
          }
        }
      }
    }
  }

  private void cubes(int count) {
    List<CubeId> open = new ArrayList<>();
    long[] sums = new long[t.cubeCount()];
    for (int c = 0; c < t.cubeCount(); c++) {
      CubeId cube = new CubeId(c);
      sums[c] = sum(t.cells(new Footprint.Cubes(List.of(cube))));
      if (sums[c] != CLOSED && serves(new Footprint.Cubes(List.of(cube)))) {
        open.add(cube);
      }
    }
    open.sort(Comparator.comparingLong(cube -> sums[cube.index()]));
    if (open.size() >= count) {
      offer(new Footprint.Cubes(open.subList(0, count)));
    }
  }

  private long sum(int[] cells) {
    long sum = 0;
    for (int cell : cells) {
      if (price[cell] == CLOSED) {
        return CLOSED;
      }
      sum += price[cell];
    }
    return sum;
  }

  private void offer(Footprint footprint) {
    if (t.whyNot(shape, footprint).isPresent()) {
      return;
    }
    long sum = sum(t.cells(footprint));
    if (sum < bestPrice
        && serves(footprint)
        && (request.mayTurn() || !Verification.isTurned(t, shape, footprint))
        && (request.interconnect() != Interconnect.WRAPAROUND || t.isTorus(shape, footprint))) {
      best = footprint;
      bestPrice = sum;
    }
  }

  private boolean serves(Footprint footprint) {
    if (pod.reportedHealth().isEmpty()) {
      return true;
    }
    Health health = pod.health().of(t, footprint);
    return health == Health.HEALTHY || health == Health.DEGRADED && !request.healthyOnly();
  }
}
