package dev.slicewright.search;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Orientation;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;

/** Random small pods sliced into boxes, and what can be said of them without any cleverness. */
final class RandomTorus {
  static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

  private RandomTorus() {}

  static TpuTopology topology(SplittableRandom random) {
    boolean flat = random.nextInt(3) == 0;
    TpuTopology.Builder builder;
    if (flat) {
      Shape tile =
          List.of(Shape.of(1, 1), Shape.of(2, 2), Shape.of(2, 4), Shape.of(3, 1))
              .get(random.nextInt(4));
      int x = tile.x() * (1 + random.nextInt(6));
      int y = tile.y() * (1 + random.nextInt(6));
      builder = TpuTopology.torusBuilder(x, y).hostTile(tile);
      if (tile.chips() > 3 && random.nextBoolean()) {
        List<Shape> shapes = new ArrayList<>(List.of(Shape.of(1, 1), Shape.of(2, 2)));
        shapes.add(Shape.of(1, 2));
        shapes.add(Shape.of(2, 4));
        shapes.add(Shape.of(4, 4));
        shapes.add(Shape.of(x, y));
        builder.slicing(new Slicing.TorusBoxes(shapes, random.nextInt(4) == 0));
      }
    } else {
      Shape tile =
          List.of(Shape.of(1, 1, 1), Shape.of(2, 2, 1), Shape.of(1, 2, 2), Shape.of(1, 1, 3))
              .get(random.nextInt(4));
      builder =
          TpuTopology.torusBuilder(
                  tile.x() * (1 + random.nextInt(4)),
                  tile.y() * (1 + random.nextInt(4)),
                  tile.z() * (1 + random.nextInt(5)))
              .hostTile(tile);
      if (random.nextInt(6) == 0) {
        builder.slicing(new Slicing.TorusBoxes(List.of(), true));
      } else if (tile.chips() == 4 && random.nextInt(4) == 0) {
        builder.slicing(
            new Slicing.TorusBoxes(
                List.of(
                    Shape.of(1, 1, 1),
                    Shape.of(1, 1, 2),
                    Shape.of(1, 2, 2),
                    Shape.of(2, 2, 2),
                    Shape.of(2, 2, 4)),
                false));
      }
    }
    for (Axis axis : Axis.values()) {
      builder.wrap(axis, random.nextBoolean());
    }
    TpuTopology made = builder.build();
    return made.legalShapes().isEmpty() ? topology(random) : made;
  }

  static Shape shape(TpuTopology topology, SplittableRandom random) {
    List<Shape> legal = topology.legalShapes();
    Shape shape = legal.get(random.nextInt(legal.size()));
    List<Orientation> turns = Orientation.ofRank(shape.rank());
    return turns.get(random.nextInt(turns.size())).extents(shape);
  }

  static Want want(TpuTopology topology, SplittableRandom random) {
    return new Want(
        shape(topology, random),
        random.nextInt(3) > 0,
        random.nextInt(3) == 0,
        random.nextInt(4) == 0,
        random.nextInt(3) == 0 ? "mine" : "");
  }

  static Chip chip(TpuTopology topology, SplittableRandom random) {
    return topology.chip(random.nextInt(topology.chipCount()));
  }

  static Pod pod(TpuTopology topology, SplittableRandom random) {
    Fleet.Builder builder = Fleet.builder().pod("p", topology);
    CellSet used = CellSet.empty(topology.cellCount());
    int slices = random.nextInt(6);
    for (int i = 0; i < slices; i++) {
      Shape shape = shape(topology, random);
      Footprint.Box box = box(topology, shape, random);
      if (box != null && !used.containsAny(topology.cells(box))) {
        used = used.with(topology.cells(box));
        builder.running(
            RunningSlice.builder(
                    SliceRequest.builder("r" + i).shape(shape).build(), 0, "p", shape, box)
                .build());
      }
    }
    for (int i = random.nextInt(4); i > 0; i--) {
      Footprint.Box box = box(topology, shape(topology, random), random);
      if (box != null && !used.containsAny(topology.cells(box))) {
        used = used.with(topology.cells(box));
        builder.hold(
            new Hold(
                "h" + i,
                "p",
                box,
                random.nextBoolean() ? "mine" : "other",
                NOW.plusSeconds(random.nextInt(3) == 0 ? 0 : 60)));
      }
    }
    Map<Part, Health> parts = new LinkedHashMap<>();
    if (random.nextInt(3) > 0) {
      for (int i = random.nextInt(3); i > 0; i--) {
        parts.put(new Part.Host(new HostId(random.nextInt(topology.hostCount()))), health(random));
        parts.put(new Part.Chip(chip(topology, random)), health(random));
      }
      for (int i = random.nextInt(4); i > 0; i--) {
        Chip from = chip(topology, random);
        Axis axis = Axis.values()[random.nextInt(topology.dims().rank())];
        int n = topology.dims().get(axis);
        if (from.get(axis) < n - 1 || (topology.wraps(axis) && n > 1)) {
          parts.put(new Part.Link(from, axis), health(random));
        }
      }
    }
    parts.forEach((part, health) -> builder.health("p", part, health));
    if (random.nextInt(3) == 0) {
      builder.cordon("p", new Part.Chip(chip(topology, random)));
    }
    return builder.build().pod("p").orElseThrow();
  }

  private static Health health(SplittableRandom random) {
    return random.nextBoolean() ? Health.FAILED : Health.DEGRADED;
  }

  static Footprint.@org.jspecify.annotations.Nullable Box box(
      TpuTopology topology, Shape shape, SplittableRandom random) {
    for (int tries = 0; tries < 20; tries++) {
      List<Orientation> turns = Orientation.ofRank(shape.rank());
      Footprint.Box box =
          new Footprint.Box(
              chip(topology, random), turns.get(random.nextInt(turns.size())).extents(shape));
      if (topology.whyNot(shape, box).isEmpty()) {
        return box;
      }
    }
    return null;
  }

  // ---------------------------------------------------------------- the oracle

  /** Every legal box of a want, whatever is taken or blocked. */
  static List<Footprint.Box> boxes(TpuTopology topology, Want want) {
    Set<Shape> turns = new LinkedHashSet<>();
    for (Orientation orientation : Orientation.ofRank(want.shape().rank())) {
      Shape extents = orientation.extents(want.shape());
      if (want.mayTurn() || extents.equals(want.shape())) {
        turns.add(extents);
      }
    }
    List<Footprint.Box> boxes = new ArrayList<>();
    for (Shape extents : turns) {
      for (int i = 0; i < topology.chipCount(); i++) {
        Footprint.Box box = new Footprint.Box(topology.chip(i), extents);
        if (topology.whyNot(want.shape(), box).isEmpty()
            && (!want.wraparound() || topology.isTorus(want.shape(), box))) {
          boxes.add(box);
        }
      }
    }
    return boxes;
  }

  /** Whether a box would serve if nothing were taken. */
  static boolean usable(Pod pod, Want want, Footprint.Box box) {
    int[] cells = pod.topology().cells(box);
    Health health = pod.health().of(pod.topology(), box);
    if (health == Health.FAILED || (want.healthyOnly() && health == Health.DEGRADED)) {
      return false;
    }
    if (pod.cordonedCells().containsAny(cells)) {
      return false;
    }
    return !held(pod, want.holder()).containsAny(cells);
  }

  static CellSet held(Pod pod, String holder) {
    CellSet held = CellSet.empty(pod.topology().cellCount());
    for (Hold hold : pod.holds()) {
      if (hold.isLive(NOW) && !hold.request().equals(holder)) {
        held = held.with(pod.topology().cells(hold.footprint()));
      }
    }
    return held;
  }

  /** Cells outside the box that share a face with it and that the holder could use. */
  static int exposed(Pod pod, CellSet taken, Want want, Footprint.Box box) {
    TpuTopology t = pod.topology();
    CellSet mine = CellSet.empty(t.cellCount()).with(t.cells(box));
    CellSet held = held(pod, want.holder());
    Shape grid = t.cellGrid();
    Set<Integer> found = new LinkedHashSet<>();
    for (int cell : t.cells(box)) {
      Chip origin = t.originOfCell(cell);
      for (Axis axis : Axis.values()) {
        for (int step : new int[] {-1, 1}) {
          int[] at = {
            origin.x() / t.cellTile().x(),
            origin.y() / t.cellTile().y(),
            origin.z() / t.cellTile().z()
          };
          int n = grid.get(axis);
          int to = at[axis.ordinal()] + step;
          if ((to < 0 || to >= n) && !t.wraps(axis)) {
            continue;
          }
          at[axis.ordinal()] = Math.floorMod(to, n);
          int next = at[0] + grid.x() * (at[1] + grid.y() * at[2]);
          if (!mine.contains(next)
              && !taken.contains(next)
              && !pod.health().failedCells().contains(next)
              && !pod.cordonedCells().contains(next)
              && !held.contains(next)) {
            found.add(next);
          }
        }
      }
    }
    return found.size();
  }

  /** What tells footprints apart: a ring is the same wherever it starts. */
  static String key(TpuTopology topology, Footprint.Box box) {
    return box.extents() + Arrays.toString(topology.cells(box));
  }
}
