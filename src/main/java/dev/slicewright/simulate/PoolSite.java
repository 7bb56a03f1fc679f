package dev.slicewright.simulate;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.simulate.Trace.Change;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.Shape;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * All chips in one pool; where chips fail, the slices that came last end until the others fit.
 * Confined to one thread at a time.
 */
final class PoolSite extends Site {

  private final Map<String, Long> running = new LinkedHashMap<>();
  private Fleet fleet;
  private long usable;
  private long busy;

  PoolSite(Fleet fleet) {
    this.fleet = fleet;
    this.usable = usable(fleet);
    for (RunningSlice slice : fleet.running()) {
      running.merge(slice.request().id(), slice.shape().chips(), Long::sum);
      busy += slice.shape().chips();
    }
  }

  static long usable(Fleet fleet) {
    long sum = 0;
    for (Pod pod : fleet.pods()) {
      CellSet failed = pod.health().failedCells();
      int off = 0;
      for (int cell = 0; cell < pod.topology().cellCount(); cell++) {
        off += failed.contains(cell) || pod.cordonedCells().contains(cell) ? 1 : 0;
      }
      sum += (long) (pod.topology().cellCount() - off) * pod.topology().chipsPerCell();
    }
    return sum;
  }

  static long chips(SliceRequest request) {
    long each = request.shapes().isEmpty() ? request.chips() : request.shapes().get(0).chips();
    return Math.multiplyExact(each, (long) request.slices());
  }

  @Override
  List<String> place(List<SliceRequest> requests, Instant now) {
    List<String> placed = new ArrayList<>();
    for (SliceRequest request : requests) {
      long chips = chips(request);
      if (chips <= usable - busy) {
        running.put(request.id(), chips);
        busy += chips;
        placed.add(request.id());
      }
    }
    return placed;
  }

  @Override
  void leave(String request) {
    Long chips = running.remove(request);
    busy -= chips == null ? 0 : chips;
  }

  @Override
  List<String> change(Change change, Instant now) {
    fleet = changed(fleet, change);
    usable = usable(fleet);
    List<String> gone = new ArrayList<>();
    List<String> order = new ArrayList<>(running.keySet());
    for (int i = order.size() - 1; i >= 0 && change.kind() == Trace.Kind.FAIL; i--) {
      if (busy > usable) {
        gone.add(order.get(i));
        leave(order.get(i));
      }
    }
    return gone;
  }

  static Fleet changed(Fleet fleet, Change change) {
    return switch (change.kind()) {
      case FAIL -> fleet.fail(change.pod(), change.part());
      case REPAIR -> fleet.repair(change.pod(), change.part());
      case CORDON -> fleet.cordon(change.pod(), change.part());
      case UNCORDON -> fleet.uncordon(change.pod(), change.part());
    };
  }

  @Override
  long usableChips() {
    return usable;
  }

  @Override
  boolean fits(Shape shape) {
    return shape.chips() <= usable - busy;
  }
}
