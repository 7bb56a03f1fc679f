package dev.slicewright.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SliceId;
import dev.slicewright.plan.ObjectiveLevels;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.UnaryOperator;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** The figures that pods and fleets keep, against counting anew after every change. */
class FiguresPropertiesTest {

  private static final List<String> TENANTS = List.of("", "blue", "red");

  @Property(tries = 150, edgeCases = EdgeCasesMode.NONE)
  void areWhatCountingGives(
      @ForAll @IntRange(max = 6) int kind,
      @ForAll @IntRange(max = 6) int otherKind,
      @ForAll @IntRange(min = 1, max = 40) int steps,
      @ForAll long seed) {
    Random random = new Random(seed);
    Fleet.Builder b = Fleet.builder();
    int pods = 1 + random.nextInt(9);
    for (int i = 0; i < pods; i++) {
      b.pod("p" + i, RandomParts.ALL.get(random.nextInt(3) == 0 ? otherKind : kind));
    }
    Fleet fleet = b.build();
    List<Fleet> snapshots = new ArrayList<>();
    for (int i = 0; i < steps; i++) {
      // Now and then nobody asks, so that several changes come between two questions.
      if (random.nextInt(3) > 0) {
        check(fleet);
      }
      snapshots.add(fleet);
      fleet = step(fleet, i, random);
    }
    check(fleet);
    // What a later fleet was asked must not have changed an earlier one.
    check(snapshots.get(random.nextInt(snapshots.size())));
  }

  private static Fleet step(Fleet fleet, int number, Random random) {
    List<Pod> pods = List.copyOf(fleet.pods());
    Pod pod = pods.get(random.nextInt(pods.size()));
    TpuTopology t = pod.topology();
    Part part = RandomParts.part(t, random);
    List<RunningSlice> running = List.copyOf(fleet.running());
    SliceId id = running.isEmpty() ? null : running.get(random.nextInt(running.size())).id();
    return switch (random.nextInt(9)) {
      case 0, 1, 2, 3 -> {
        RandomParts.Spot spot = RandomParts.spot(t, random);
        SliceRequest request =
            SliceRequest.builder("r" + number)
                .shape(random.nextInt(4) == 0 ? Shape.of(1, 1, 1) : spot.shape())
                .tenant(TENANTS.get(random.nextInt(3)))
                .priority(random.nextInt(3) - 1)
                .build();
        yield attempt(
            fleet,
            f ->
                f.place(
                    RunningSlice.builder(request, 0, pod.id(), spot.shape(), spot.footprint())
                        .leaving(random.nextInt(5) == 0)
                        .build()));
      }
      case 4 -> id == null ? fleet : fleet.release(id);
      case 5 -> id == null ? fleet : attempt(fleet, f -> f.leaving(id, random.nextBoolean()));
      case 6 -> fleet.report(pod.id(), part, Health.values()[random.nextInt(3)]);
      case 7 ->
          random.nextInt(4) == 0
              ? random.nextBoolean() ? fleet.cordonPod(pod.id()) : fleet.uncordonPod(pod.id())
              : attempt(fleet, f -> f.cordon(pod.id(), part));
      default ->
          attempt(
              fleet,
              f ->
                  f.hold(
                      new Hold(
                          "h" + number,
                          pod.id(),
                          RandomParts.spot(t, random).footprint(),
                          "x",
                          Instant.EPOCH)));
    };
  }

  private static Fleet attempt(Fleet fleet, UnaryOperator<Fleet> change) {
    try {
      return change.apply(fleet);
    } catch (InvalidInputException e) {
      return fleet;
    }
  }

  private static void check(Fleet fleet) {
    checkTotals(fleet.totals(), fleet, List.copyOf(fleet.running()));
    for (Pod pod : fleet.pods()) {
      checkTotals(pod.totals(), fleet, List.copyOf(pod.running()));
      assertThat(pod.hasHolds()).isEqualTo(!pod.holds().isEmpty());
      checkRoom(pod);
    }
  }

  private static void checkTotals(RunningTotals totals, Fleet fleet, List<RunningSlice> running) {
    Map<Long, Long> counted = new HashMap<>();
    Map<List<String>, Long> chips = new HashMap<>();
    long all = 0;
    int broken = 0;
    for (RunningSlice slice : running) {
      Pod pod = fleet.pod(slice.pod()).orElseThrow();
      String accelerator = pod.topology().accelerator().name();
      boolean hurt = pod.healthOf(slice.footprint()) == Health.FAILED;
      long own = slice.shape().chips();
      long counts = ObjectiveLevels.counted(slice.request(), slice.shape());
      assertThat(slice.countedChips()).isEqualTo(counts);
      all += own;
      broken += hurt ? 1 : 0;
      chips.merge(List.of(slice.request().tenant(), accelerator), own, Long::sum);
      chips.merge(List.of(slice.request().tenant(), ""), own, Long::sum);
      if (!slice.leaving()) {
        counted.merge(slice.request().priority(), hurt ? 0 : counts, Long::sum);
      }
    }
    assertThat(totals.chips()).isEqualTo(all);
    assertThat(totals.broken()).isEqualTo(broken);
    assertThat(totals.countedChips()).isEqualTo(counted);
    for (String tenant : TENANTS) {
      for (String accelerator : List.of("", "v5p", "v5e", "torus", "nothing")) {
        assertThat(totals.chips(tenant, accelerator))
            .isEqualTo(chips.getOrDefault(List.of(tenant, accelerator), 0L));
      }
    }
  }

  private static void checkRoom(Pod pod) {
    TpuTopology t = pod.topology();
    FreeRoom room = pod.room();
    boolean[] free = new boolean[t.cellCount()];
    int freeCells = 0;
    int usable = 0;
    for (int cell = 0; cell < free.length; cell++) {
      boolean off = pod.health().failedCells().contains(cell) || pod.cordonedCells().contains(cell);
      free[cell] = !off && pod.runningAt(cell).isEmpty();
      freeCells += free[cell] ? 1 : 0;
      usable += off ? 0 : 1;
    }
    assertThat(room.freeCells()).isEqualTo(freeCells);
    assertThat(room.usableCells()).isEqualTo(usable);
    int cubes = 0;
    int healthy = 0;
    for (int c = 0; t.isOptical() && c < t.cubeCount(); c++) {
      Footprint cube = new Footprint.Cubes(List.of(new CubeId(c)));
      boolean all = true;
      for (int cell : t.cells(cube)) {
        all &= free[cell];
      }
      Health health = pod.healthOf(cube);
      cubes += all && health != Health.FAILED ? 1 : 0;
      healthy += all && health == Health.HEALTHY ? 1 : 0;
    }
    assertThat(room.freeCubes(false)).isEqualTo(cubes);
    assertThat(room.freeCubes(true)).isEqualTo(healthy);
    if (!room.hasDegraded()) {
      assertThat(healthy).isEqualTo(cubes);
    }
    PartitionForest forest = t.partitions().orElse(null);
    if (forest == null || t.slicing() instanceof Slicing.TorusBoxes) {
      assertThat(room.smallestFreePartition(1)).isZero();
      return;
    }
    for (int size = 1; size <= 20; size++) {
      boolean[] inside = new boolean[free.length];
      int smallest = 0;
      for (PartitionId id : forest.ids()) {
        if (forest.cellCount(id) >= size && isFree(forest, id, free)) {
          for (int k = 0; k < forest.cellCount(id); k++) {
            inside[forest.firstCell(id) + k] = true;
          }
          boolean largest =
              forest.parent(id).isEmpty() || !isFree(forest, forest.parent(id).get(), free);
          if (largest && (smallest == 0 || forest.cellCount(id) < smallest)) {
            smallest = forest.cellCount(id);
          }
        }
      }
      int cells = 0;
      for (boolean in : inside) {
        cells += in ? 1 : 0;
      }
      assertThat(room.cellsInFreePartitions(size)).isEqualTo(cells);
      assertThat(room.smallestFreePartition(size)).isEqualTo(smallest);
    }
  }

  private static boolean isFree(PartitionForest forest, PartitionId id, boolean[] free) {
    boolean all = true;
    for (int k = 0; k < forest.cellCount(id); k++) {
      all &= free[forest.firstCell(id) + k];
    }
    return all;
  }
}
