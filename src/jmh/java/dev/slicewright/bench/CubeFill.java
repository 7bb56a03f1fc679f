package dev.slicewright.bench;

import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.function.Function;

/**
 * Fills optical cubes of one pod by best fit until a number of them is busy. A slice below a cube
 * goes to the partition with the least room around it, a broken cube first; whole cubes are taken
 * in a random order, and none with a failed host. A draw that would make too many cubes busy is
 * dropped. It knows nothing of the library's own search. Not safe; external synchronisation needed.
 */
final class CubeFill {

  private static final int MAX_DROPPED = 200;

  private final TpuTopology topology;
  private final PartitionForest forest;
  private final SplittableRandom random;
  private final BitSet taken; // cells
  private final int cubeCells;
  private final List<Integer> whole = new ArrayList<>(); // untouched cubes, the next one last
  private final int[] broken; // cells taken by small slices, by cube
  private final Map<Shape, List<PartitionId>> bySize = new HashMap<>();
  private int busyCubes;

  /**
   * An empty pod.
   *
   * @param topology an optical topology
   * @param failed failed cells
   * @param random the source of chance
   */
  CubeFill(TpuTopology topology, BitSet failed, SplittableRandom random) {
    this.topology = topology;
    this.forest = topology.partitions().orElseThrow();
    this.random = random;
    this.taken = (BitSet) failed.clone();
    this.cubeCells = topology.hostsPerCube();
    this.broken = new int[topology.cubeCount()];
    for (int c = 0; c < topology.cubeCount(); c++) {
      int first = topology.firstCell(new CubeId(c));
      if (taken.get(first, first + cubeCells).isEmpty()) {
        whole.add(c);
      }
    }
    for (int i = whole.size() - 1; i > 0; i--) {
      Collections.swap(whole, i, random.nextInt(i + 1));
    }
  }

  /**
   * Fills.
   *
   * @param cubes how many cubes shall be busy
   * @param pod the pod's id
   * @param request makes a request for a shape
   * @return the running slices
   */
  List<RunningSlice> fill(int cubes, String pod, Function<Shape, SliceRequest> request) {
    List<RunningSlice> out = new ArrayList<>();
    int dropped = 0;
    while (busyCubes < cubes && dropped < MAX_DROPPED) {
      Shape shape = Mix.CUBES.draw(random);
      Footprint where = place(shape, cubes - busyCubes);
      if (where == null) {
        dropped++;
      } else {
        out.add(RunningSlice.builder(request.apply(shape), 0, pod, shape, where).build());
      }
    }
    return out;
  }

  private Footprint place(Shape shape, int room) {
    int n = topology.cubesOf(shape);
    if (n > 0) {
      if (n > Math.min(room, whole.size())) {
        return null;
      }
      TreeSet<CubeId> cubes = new TreeSet<>();
      for (int i = 0; i < n; i++) {
        int cube = whole.remove(whole.size() - 1);
        cubes.add(new CubeId(cube));
        int first = topology.firstCell(new CubeId(cube));
        taken.set(first, first + cubeCells);
      }
      busyCubes += n;
      return new Footprint.Cubes(List.copyOf(cubes));
    }
    PartitionId best = null;
    long bestRoom = Long.MAX_VALUE;
    int fresh = whole.isEmpty() || room == 0 ? -1 : whole.get(whole.size() - 1);
    for (PartitionId id : bySize.computeIfAbsent(shape, forest::ofShape)) {
      int first = forest.firstCell(id);
      int cube = first / cubeCells;
      if ((broken[cube] > 0 || cube == fresh) && isFree(first, forest.cellCount(id))) {
        long around = around(id, cube == fresh);
        if (around < bestRoom) {
          best = id;
          bestRoom = around;
        }
      }
    }
    if (best == null) {
      return null;
    }
    int first = forest.firstCell(best);
    taken.set(first, first + forest.cellCount(best));
    int cube = first / cubeCells;
    if (broken[cube] == 0) {
      busyCubes++;
      whole.remove((Integer) cube);
    }
    broken[cube] += forest.cellCount(best);
    return new Footprint.Partition(best);
  }

  private boolean isFree(int first, int cells) {
    int next = taken.nextSetBit(first);
    return next < 0 || next >= first + cells;
  }

  /**
   * Whether the cube is untouched, then the free cells of each partition around, inmost first, as
   * digits of one number.
   */
  private long around(PartitionId id, boolean fresh) {
    long digits = fresh ? 1 : 0;
    for (int p = forest.parentIndex(id); p >= 0; p = forest.parentIndex(new PartitionId(p))) {
      int first = forest.firstCell(new PartitionId(p));
      int end = first + forest.cellCount(new PartitionId(p));
      int free = 0;
      for (int cell = first; cell < end; cell++) {
        free += taken.get(cell) ? 0 : 1;
      }
      digits = digits * (cubeCells + 1) + free;
    }
    return digits;
  }
}
