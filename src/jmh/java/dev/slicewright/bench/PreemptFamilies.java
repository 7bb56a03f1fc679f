package dev.slicewright.bench;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Orientation;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;

/**
 * Full pods of 9,216 chips on which 700 slices of at most 32 chips run, all of which may be
 * evicted, and what is wanted there. Stateless.
 *
 * <p>Shapes are drawn with the mixed shares, rescaled; then some are replaced by smaller draws
 * until they take at most 97 % of the pod. Each goes to the first place that is free, and is drawn
 * anew if there is none. Priorities are 100, 200 or 300, tenants eight; ages, checkpoints and
 * restart times differ, and some are not known. What is wanted is above them all or at the top of
 * the three; in the second case a third of what runs cannot leave. No search of the library takes
 * part.
 */
final class PreemptFamilies {

  static final int RUNNING = 700;
  static final int WANTED = 20;
  static final Instant NOW = Instant.parse("2026-11-30T12:00:00Z");

  private static final long SMALL = 32;
  private static final long LARGE = 512;

  private PreemptFamilies() {}

  static TpuTopology torus() {
    return TpuTopology.torus(16, 24, 24);
  }

  static PlanningRules rules() {
    return PlanningRules.builder().now(NOW).permitByDefault(Permission.EVICTABLE).build();
  }

  /** A shape of the mix of so many chips at most. */
  private static Shape draw(long chips, SplittableRandom random) {
    Shape shape;
    do {
      shape = Mix.TORUS.draw(random);
    } while (shape.chips() > chips);
    return shape;
  }

  static BenchProblem joint(String family, TpuTopology topology, long seed, boolean above) {
    SplittableRandom random = TorusFamilies.random(family, seed);
    Fleet fleet = fleet(topology, random);
    List<SliceRequest> wanted = new ArrayList<>();
    while (wanted.size() < WANTED) {
      SliceRequest request = TorusFamilies.want(wanted.size(), draw(LARGE, random));
      wanted.add(request.toBuilder().priority(above ? 400 : 300).build());
    }
    return new BenchProblem(family, seed, fleet, wanted, rules(), Optional.empty());
  }

  static SliceRequest one(boolean above) {
    return SliceRequest.builder("wanted").shape("8x8x8").priority(above ? 400 : 300).build();
  }

  static Fleet fleet(TpuTopology topology, SplittableRandom random) {
    List<Shape> shapes = new ArrayList<>();
    long chips = 0;
    while (shapes.size() < RUNNING) {
      shapes.add(draw(SMALL, random));
      chips += shapes.get(shapes.size() - 1).chips();
    }
    while (chips > topology.chipCount() * 0.97) {
      int at = random.nextInt(RUNNING);
      Shape other = draw(SMALL, random);
      if (other.chips() < shapes.get(at).chips()) {
        chips += other.chips() - shapes.set(at, other).chips();
      }
    }
    Fleet.Builder fleet = Fleet.builder().pod(Churn.POD, topology);
    BitSet busy = new BitSet();
    for (int i = 0; i < RUNNING; i++) {
      Shape shape = shapes.get(i);
      Footprint place = firstFree(topology, shape, busy, random);
      for (int tries = 0; place == null && tries < 1_000; tries++) {
        shape = draw(SMALL, random);
        place = firstFree(topology, shape, busy, random);
      }
      if (place == null) {
        throw new IllegalStateException("No room for slice " + i + " of " + RUNNING);
      }
      for (int cell : topology.cells(place)) {
        busy.set(cell);
      }
      fleet.running(running(i, shape, place, random));
    }
    return fleet.build();
  }

  private static RunningSlice running(
      int number, Shape shape, Footprint place, SplittableRandom random) {
    String id = String.format(Locale.ROOT, "run-%04d", number);
    SliceRequest request =
        SliceRequest.builder(id)
            .shape(shape)
            .priority(100 * (1 + random.nextInt(3)))
            .tenant("tenant-" + random.nextInt(8))
            .build();
    RunningSlice.Builder b = RunningSlice.builder(request, 0, Churn.POD, shape, place);
    if (random.nextInt(10) > 0) {
      long age = 60 + random.nextInt(3 * 86_400);
      b.startedAt(NOW.minusSeconds(age));
      if (random.nextInt(3) > 0) {
        b.checkpointAt(NOW.minusSeconds(Math.min(age, random.nextInt(7_200))));
      }
    }
    if (random.nextBoolean()) {
      b.restartTime(Duration.ofSeconds(60 + random.nextInt(840)));
    }
    return b.build();
  }

  private static Footprint firstFree(
      TpuTopology t, Shape shape, BitSet busy, SplittableRandom random) {
    PartitionForest forest = t.partitions().orElse(null);
    if (forest != null) {
      for (PartitionId id : forest.ofShape(shape)) {
        int end = forest.firstCell(id) + forest.cellCount(id);
        int taken = busy.nextSetBit(forest.firstCell(id));
        if (taken < 0 || taken >= end) {
          return new Footprint.Partition(id);
        }
      }
      return null;
    }
    Set<Shape> turns = new LinkedHashSet<>();
    List<Orientation> orientations = new ArrayList<>(Arrays.asList(Orientation.values()));
    java.util.Collections.shuffle(orientations, new java.util.Random(random.nextLong()));
    orientations.forEach(o -> turns.add(o.extents(shape)));
    for (Shape e : turns) {
      Shape stride = t.alignment(e).orElse(null);
      if (stride == null) {
        continue;
      }
      for (int z = 0; z + e.z() <= t.dims().get(Axis.Z); z += stride.z()) {
        for (int y = 0; y + e.y() <= t.dims().get(Axis.Y); y += stride.y()) {
          for (int x = 0; x + e.x() <= t.dims().get(Axis.X); x += stride.x()) {
            Footprint box = new Footprint.Box(new Chip(x, y, z), e);
            boolean free = true;
            for (int cell : t.cells(box)) {
              free &= !busy.get(cell);
            }
            if (free) {
              return box;
            }
          }
        }
      }
    }
    return null;
  }
}
