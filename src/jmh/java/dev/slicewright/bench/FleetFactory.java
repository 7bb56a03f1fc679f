package dev.slicewright.bench;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.PlanningRules.Quota;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.search.PodSpace;
import dev.slicewright.search.PodSpace.Spot;
import dev.slicewright.search.Want;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * Fleets of many TPU7x blocks that are busy with slices of 20 tenants, and batches for them; equal
 * seeds give equal ones.
 *
 * <p>Every block is filled by best fit with shapes drawn from one host to 32 cubes, until the share
 * of its chips that was drawn for it, within 10 points of the fleet's, is busy. A tenant's quota is
 * a factor of the chips that it runs.
 */
final class FleetFactory {

  /** Tenants: {@code team-00} and on. */
  static final int TENANTS = 20;

  /** The two priorities, the higher one first. */
  static final int[] PRIORITIES = {100, 0};

  private static final int HIGHER_PERCENT = 30;

  private static final List<Shape> SHAPES =
      List.of(
          Shape.of(2, 2, 1),
          Shape.of(2, 2, 2),
          Shape.of(2, 2, 4),
          Shape.of(2, 4, 4),
          Shape.of(4, 4, 4),
          Shape.of(4, 4, 8),
          Shape.of(4, 8, 8),
          Shape.of(8, 8, 8),
          Shape.of(8, 8, 16),
          Shape.of(8, 16, 16));

  private static final int[] SHARES = {12, 10, 10, 10, 20, 14, 10, 8, 4, 2};

  private static final int MISSES = 30; // draws in a row without room that end a block

  private FleetFactory() {}

  /** A shape from one host to 32 cubes. */
  static Shape draw(SplittableRandom random) {
    int at = random.nextInt(100);
    for (int i = 0; i < SHARES.length; i++) {
      at -= SHARES[i];
      if (at < 0) {
        return SHAPES.get(i);
      }
    }
    return SHAPES.get(0);
  }

  private static SliceRequest request(String id, SplittableRandom random) {
    return SliceRequest.builder(id)
        .shape(draw(random))
        .tenant(String.format(Locale.ROOT, "team-%02d", random.nextInt(TENANTS)))
        .priority(PRIORITIES[random.nextInt(100) < HIGHER_PERCENT ? 0 : 1])
        .build();
  }

  /**
   * A fleet.
   *
   * @param blocks the number of blocks
   * @param busy the share of the chips that are busy
   * @param seed the seed
   */
  static Fleet fleet(int blocks, double busy, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    TpuTopology topology = TpuTopology.tpu7x();
    Pod empty = Fleet.builder().pod("empty", topology).build().pod("empty").orElseThrow();
    Fleet.Builder b = Fleet.builder();
    int n = 0;
    for (int i = 0; i < blocks; i++) {
      String pod = String.format(Locale.ROOT, "block-%04d", i);
      b.pod(pod, topology, Map.of("row", String.valueOf(i / 50)));
      double share = Math.min(1, busy + (random.nextDouble() - 0.5) / 5);
      PodSpace space = PodSpace.of(empty, Instant.EPOCH, false);
      long used = 0;
      int misses = 0;
      while (used < share * topology.chipCount() && misses < MISSES) {
        SliceRequest request = request("run-" + n, random);
        Shape shape = request.shapes().get(0);
        Spot spot = space.find(space.register(Want.of(request, shape, empty, Instant.EPOCH)), null);
        if (spot == null) {
          misses++;
          continue;
        }
        space.take(spot);
        misses = 0;
        n++;
        used += shape.chips();
        b.running(RunningSlice.builder(request, 0, pod, shape, spot.footprint()).build());
      }
    }
    return b.build();
  }

  /** A quota for each tenant: so many times the chips that it runs. */
  static PlanningRules quotas(Fleet fleet, double factor) {
    Map<String, Long> chips = new TreeMap<>();
    for (RunningSlice slice : fleet.running()) {
      chips.merge(slice.request().tenant(), slice.shape().chips(), Long::sum);
    }
    PlanningRules.Builder b = PlanningRules.builder();
    chips.forEach((tenant, sum) -> b.quota(new Quota(tenant, "", (long) (sum * factor))));
    return b.build();
  }

  /** A batch of lone requests from the draws that filled the fleet. */
  static List<SliceRequest> batch(int size, long seed) {
    SplittableRandom random = new SplittableRandom(seed * 31 + 7);
    List<SliceRequest> batch = new ArrayList<>(size);
    for (int i = 0; i < size; i++) {
      batch.add(request(String.format(Locale.ROOT, "want-%04d", i), random));
    }
    return batch;
  }
}
