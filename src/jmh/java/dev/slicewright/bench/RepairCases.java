package dev.slicewright.bench;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Part;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.TpuTopology;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.stream.Collectors;

/** Busy fleets in which hosts fail. Stateless. */
final class RepairCases {

  /** How many cubes are busy. */
  static final double BUSY = 0.9;

  /** How many hosts fail. */
  static final int FAILURES = 20;

  private RepairCases() {}

  /**
   * A TPU7x block of 144 cubes, 90 % of them busy with slices of the shapes and shares of the cube
   * families, three priorities alike; then 20 hosts fail that are drawn from all with equal chance.
   *
   * @param seed the seed
   * @return the fleet
   */
  static Fleet block(long seed) {
    SplittableRandom random = TorusFamilies.random("repair-7x", seed);
    TpuTopology topology = TpuTopology.tpu7x();
    Fleet.Builder fleet = Fleet.builder().pod(Churn.POD, topology);
    int[] next = {0};
    new CubeFill(topology, new BitSet(), random)
        .fill(
            (int) Math.round(BUSY * topology.cubeCount()),
            Churn.POD,
            shape ->
                SliceRequest.builder(String.format(Locale.ROOT, "run-%06d", next[0]++))
                    .shape(shape)
                    .priority(random.nextInt(3))
                    .build())
        .forEach(fleet::running);
    List<Part> failed =
        random
            .ints(0, topology.hostCount())
            .distinct()
            .limit(FAILURES)
            .<Part>mapToObj(host -> new Part.Host(new HostId(host)))
            .collect(Collectors.toList());
    return fleet.build().report(Map.of(Churn.POD, failed), Health.FAILED);
  }
}
