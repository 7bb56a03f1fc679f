package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;

/** Types of partitions and cubes: their rows say exactly what can be taken together. */
class NodeTypesTest {

  /** A pod, and for some kinds of slices random nodes that serve them. */
  private record Case(TpuTopology topology, NodeTypes types, SplittableRandom random) {
    static Case of(long seed) {
      SplittableRandom random = new SplittableRandom(seed);
      TpuTopology t =
          random.nextBoolean()
              ? TpuTopology.builder(AcceleratorType.V5P).cubes(3).build()
              : TpuTopology.builder(AcceleratorType.V6E)
                  .dims(4, 8)
                  .slicing(Slicing.NestedPartitions.halving())
                  .build();
      PartitionForest forest = t.partitions().orElseThrow();
      int wants = 1 + random.nextInt(4);
      List<BitSet> byWant = new ArrayList<>();
      int sparse = 1 + random.nextInt(4);
      for (int w = 0; w < wants; w++) {
        BitSet nodes = new BitSet();
        int cells = forest.cellCount(forest.ids().get(random.nextInt(forest.size())));
        for (PartitionId id : forest.ids()) {
          boolean cube = t.isOptical() && forest.cellCount(id) == t.hostsPerCube();
          nodes.set(
              id.index(),
              !cube && forest.cellCount(id) == cells && random.nextInt(sparse + 1) < sparse);
        }
        byWant.add(nodes);
      }
      List<BitSet> byKind = new ArrayList<>();
      if (t.isOptical()) {
        BitSet cubes = new BitSet();
        for (int c = 0; c < t.cubeCount(); c++) {
          cubes.set(c, random.nextInt(3) > 0);
        }
        byKind.add(cubes);
      }
      return new Case(t, NodeTypes.of(t, byWant, byKind), random);
    }

    /** Whether so many nodes of each type keep all rows. */
    boolean keepsRows(int[] taken) {
      long[] used = new long[taken.length];
      for (int type = 0; type < taken.length; type++) {
        int n = taken[type];
        types.within(type).forEach((part, count) -> used[part] += (long) n * count);
      }
      for (int type = 0; type < taken.length; type++) {
        if (used[type] > types.count(type)) {
          return false;
        }
      }
      return true;
    }
  }

  @Property(tries = 400, seed = "20261130")
  void whateverKeepsTheRowsCanBeTaken(@ForAll @LongRange(min = 0, max = 1L << 40) long seed) {
    Case c = Case.of(seed);
    int size = c.types.size();
    int[] wanted = new int[size];
    for (int misses = 0; size > 0 && misses < 20; ) {
      int type = c.random.nextInt(size);
      wanted[type]++;
      if (!c.keepsRows(wanted)) {
        wanted[type]--;
        misses++;
      }
    }
    BitSet taken = new BitSet();
    List<Integer> order = new ArrayList<>();
    for (int type = 0; type < size; type++) {
      order.add(type);
    }
    order.sort((a, b) -> c.types.cells(b) - c.types.cells(a));
    for (int type : order) {
      for (int i = 0; i < wanted[type]; i++) {
        assertThat(takes(c, type, taken)).as("type %d of %s", type, c.topology).isTrue();
      }
    }
  }

  private static boolean takes(Case c, int type, BitSet taken) {
    int h = c.topology.hostsPerCube();
    for (int cube = 0; cube < c.topology.cubeCount(); cube++) {
      if (c.types.typeOfCube(cube) == type && taken.get(cube * h, (cube + 1) * h).isEmpty()) {
        taken.set(cube * h, (cube + 1) * h);
        return true;
      }
    }
    return c.types.take(type, taken) != null;
  }

  @Property(tries = 400, seed = "20261130")
  void whateverCanBeTakenKeepsTheRows(@ForAll @LongRange(min = 0, max = 1L << 40) long seed) {
    Case c = Case.of(seed);
    PartitionForest forest = c.topology.partitions().orElseThrow();
    int h = c.topology.hostsPerCube();
    int[] number = new int[c.types.size()];
    BitSet taken = new BitSet();
    for (int i = 0; i < 60; i++) {
      boolean cube = c.topology.isOptical() && c.random.nextInt(4) == 0;
      int at = c.random.nextInt(cube ? c.topology.cubeCount() : forest.size());
      PartitionId id = cube ? null : forest.ids().get(at);
      int type = cube ? c.types.typeOfCube(at) : c.types.typeOf(id);
      int first = cube ? at * h : forest.firstCell(id);
      int cells = cube ? h : forest.cellCount(id);
      if (type >= 0 && taken.get(first, first + cells).isEmpty()) {
        taken.set(first, first + cells);
        number[type]++;
        assertThat(c.types.cells(type)).isEqualTo(cells);
      }
    }
    assertThat(c.keepsRows(number)).isTrue();
  }

  @Property(tries = 100, seed = "20261130")
  void pricesOfNodesArePaidByThoseWhoTakeThem(@ForAll @LongRange(min = 0, max = 1L << 40) long s) {
    Case c = Case.of(s);
    PartitionForest forest = c.topology.partitions().orElseThrow();
    long[] prices = c.random.longs(c.types.size(), 0, 1_000).toArray();
    long[] byCell = new long[c.topology.cellCount()];
    c.types.spread(prices, c.topology.hostsPerCube(), byCell);
    long all = 0;
    for (int type = 0; type < prices.length; type++) {
      all += prices[type] * c.types.count(type);
    }
    assertThat(java.util.Arrays.stream(byCell).sum()).isEqualTo(all);
    for (PartitionId id : forest.ids()) {
      int type = c.types.typeOf(id);
      if (type >= 0) {
        long[] due = new long[1];
        c.types.within(type).forEach((part, count) -> due[0] += count * prices[part]);
        long paid = 0;
        for (int i = 0; i < forest.cellCount(id); i++) {
          paid += byCell[forest.firstCell(id) + i];
        }
        assertThat(paid).isGreaterThanOrEqualTo(due[0]);
      }
    }
  }
}
