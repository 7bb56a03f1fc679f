package dev.slicewright.simulate;

import dev.slicewright.cost.Collectives;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.simulate.BoxGrid.Extents;
import dev.slicewright.simulate.BoxGrid.Spot;
import dev.slicewright.simulate.Trace.Change;
import dev.slicewright.simulate.Trace.Kind;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * Pods of boxes under a rule that places one box after another; what breaks ends. A request of
 * several slices is placed whole or not at all. Labels, pods and spread of a request do not count.
 * Confined to one thread at a time.
 */
final class RuledSite extends Site {

  private final PlacementRule rule;
  private final List<Pod> pods;
  private final List<BoxGrid> grids;
  private final List<String[]> owners = new ArrayList<>(); // by grid and cell
  private final Map<String, List<Spot>> spots = new HashMap<>();
  private final Map<Shape, List<Extents>> turns = new HashMap<>();
  private Fleet fleet;

  RuledSite(Fleet fleet, PlacementRule rule) {
    this.fleet = fleet;
    this.rule = rule;
    this.pods = List.copyOf(fleet.pods());
    this.grids = BoxGrid.of(fleet);
    for (int g = 0; g < grids.size(); g++) {
      String[] own = new String[grids.get(g).cells()];
      Arrays.fill(own, "");
      owners.add(own);
      for (RunningSlice slice : pods.get(g).running()) {
        Footprint.Box box = (Footprint.Box) slice.footprint();
        Extents tile = BoxGrid.extents(pods.get(g).topology().cellTile());
        Extents e = BoxGrid.extents(box.extents());
        Spot spot =
            new Spot(
                g,
                box.origin().x() / tile.x(),
                box.origin().y() / tile.y(),
                box.origin().z() / tile.z(),
                new Extents(e.x() / tile.x(), e.y() / tile.y(), e.z() / tile.z()));
        own(slice.request().id(), spot);
      }
    }
  }

  private void own(String id, Spot spot) {
    for (int cell : grids.get(spot.grid()).cells(spot)) {
      owners.get(spot.grid())[cell] = id;
    }
    spots.computeIfAbsent(id, k -> new ArrayList<>()).add(spot);
  }

  private List<Extents> turns(Shape shape) {
    return turns.computeIfAbsent(shape, s -> BoxGrid.turns(pods.get(0).topology(), s));
  }

  @Override
  List<String> place(List<SliceRequest> requests, Instant now) {
    List<String> placed = new ArrayList<>();
    for (SliceRequest request : requests) {
      List<Spot> found = new ArrayList<>();
      for (int i = 0; i < request.slices() && found.size() == i; i++) {
        for (Shape shape : Collectives.shapeOptions(request, pods.get(0).topology())) {
          Spot spot = rule.place(grids, turns(shape));
          if (spot != null) {
            grids.get(spot.grid()).take(spot);
            found.add(spot);
            break;
          }
        }
      }
      if (found.size() == request.slices()) {
        found.forEach(spot -> own(request.id(), spot));
        placed.add(request.id());
      } else {
        found.forEach(spot -> grids.get(spot.grid()).give(spot));
      }
    }
    return placed;
  }

  @Override
  void leave(String request) {
    List<Spot> own = spots.remove(request);
    if (own == null) {
      return;
    }
    for (Spot spot : own) {
      boolean[] blocked = blocked(spot.grid());
      for (int cell : grids.get(spot.grid()).cells(spot)) {
        owners.get(spot.grid())[cell] = "";
        grids.get(spot.grid()).take(cell, blocked[cell]);
      }
    }
  }

  /** The cells that nothing new may use, by number in the grid. */
  private boolean[] blocked(int g) {
    Pod pod = fleet.pod(pods.get(g).id()).orElseThrow();
    boolean[] out = new boolean[grids.get(g).cells()];
    if (!pod.reportedHealth().isEmpty() || !pod.cordons().isEmpty()) {
      BoxGrid bare = BoxGrid.bare(pod);
      for (int i = 0; i < out.length; i++) {
        out[i] = bare.isTaken(i);
      }
    }
    return out;
  }

  @Override
  List<String> change(Change change, Instant now) {
    int g = 0;
    while (!pods.get(g).id().equals(change.pod())) {
      g++;
    }
    boolean[] before = blocked(g);
    fleet = PoolSite.changed(fleet, change);
    boolean[] after = blocked(g);
    Set<String> gone = new TreeSet<>();
    for (int i = 0; i < after.length; i++) {
      String owner = owners.get(g)[i];
      if (after[i] && !before[i] && change.kind() == Kind.FAIL && !owner.isEmpty()) {
        gone.add(owner);
      }
      grids.get(g).take(i, after[i] || !owner.isEmpty());
    }
    gone.forEach(this::leave);
    return List.copyOf(gone);
  }

  @Override
  long usableChips() {
    return PoolSite.usable(fleet);
  }

  @Override
  boolean fits(Shape shape) {
    return rule.place(grids, turns(shape)) != null;
  }
}
