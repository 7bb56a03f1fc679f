package dev.slicewright.fleet;

import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Objects;
import java.util.TreeSet;

/**
 * What a pod has free, in figures: enough to tell that a slice has no place there, without looking
 * at its cells. Immutable, safe to share.
 *
 * <p>A cell is free if nothing runs on it and it is neither failed nor cordoned. <b>Holds are left
 * out</b>, since whether one is live depends on the time and the asker: where the pod has any, the
 * true room may be less, never more.
 */
public final class FreeRoom {

  private final int freeCells;
  private final int usableCells;
  private final int freeCubes;
  private final int healthyFreeCubes;
  private final boolean degraded;
  private final int[] sizes; // of partitions, ascending
  private final int[] largest; // by size: free partitions that lie in no larger free one

  private FreeRoom(
      int freeCells,
      int usableCells,
      int freeCubes,
      int healthyFreeCubes,
      boolean degraded,
      int[] sizes,
      int[] largest) {
    this.freeCells = freeCells;
    this.usableCells = usableCells;
    this.freeCubes = freeCubes;
    this.healthyFreeCubes = healthyFreeCubes;
    this.degraded = degraded;
    this.sizes = sizes;
    this.largest = largest;
  }

  /** The figures of one pod. O(partitions) at worst; O(cubes) where most are free or full. */
  static FreeRoom of(Pod pod) {
    TpuTopology t = pod.topology();
    CellSet busy = pod.busy();
    EffectiveHealth health = pod.reportedHealth().isEmpty() ? null : pod.health();
    CellSet failed = health == null ? null : health.failedCells();
    CellSet cordoned = pod.isCordoned() || !pod.cordons().isEmpty() ? pod.cordonedCells() : null;
    long[] closed = new long[busy.wordCount()];
    int taken = 0;
    int unusable = 0;
    for (int i = 0; i < closed.length; i++) {
      long off = (failed == null ? 0 : failed.word(i)) | (cordoned == null ? 0 : cordoned.word(i));
      closed[i] = busy.word(i) | off;
      taken += Long.bitCount(closed[i]);
      unusable += Long.bitCount(off);
    }
    int free = 0;
    int healthy = 0;
    int size = t.hostsPerCube();
    for (int c = 0; t.isOptical() && c < t.cubeCount(); c++) {
      if (countIn(closed, c * size, size) > 0) {
        continue;
      }
      CubeId cube = new CubeId(c);
      if (health == null) {
        free++;
        healthy++;
      } else if (!health.brokenCubes().contains(cube)) {
        free++;
        boolean hurt = health.degradedCubes().contains(cube);
        for (int cell = c * size; !hurt && cell < (c + 1) * size; cell++) {
          hurt = health.degradedCells().contains(cell);
        }
        healthy += hurt ? 0 : 1;
      }
    }
    boolean degraded =
        health != null
            && !(health.degradedCells().isEmpty()
                && health.degradedCubes().isEmpty()
                && health.degradedLinks().isEmpty());
    int[] sizes = sizes(t);
    int[] largest = new int[sizes.length];
    if (sizes.length > 0) {
      PartitionForest forest = t.partitions().orElseThrow();
      count(forest, closed, sizes, largest);
    }
    return new FreeRoom(
        t.cellCount() - taken, t.cellCount() - unusable, free, healthy, degraded, sizes, largest);
  }

  private static int[] sizes(TpuTopology t) {
    PartitionForest forest = t.partitions().orElse(null);
    if (forest == null || t.slicing() instanceof Slicing.TorusBoxes) {
      return new int[0];
    }
    TreeSet<Integer> sizes = new TreeSet<>();
    int last = 0;
    for (PartitionId id : forest.ids()) {
      int size = forest.cellCount(id);
      if (size != last) {
        sizes.add(size);
        last = size;
      }
    }
    return sizes.stream().mapToInt(Integer::intValue).toArray();
  }

  /** Listed partitions may nest as deep as a pod has hosts, so this does not recurse. */
  private static void count(PartitionForest forest, long[] closed, int[] sizes, int[] largest) {
    Deque<PartitionId> open = new ArrayDeque<>(forest.roots());
    while (!open.isEmpty()) {
      PartitionId at = open.pop();
      int size = forest.cellCount(at);
      int taken = countIn(closed, forest.firstCell(at), size);
      if (taken == 0) {
        largest[Arrays.binarySearch(sizes, size)]++;
      } else if (taken < size) {
        forest.children(at).forEach(open::push);
      }
    }
  }

  private static int countIn(long[] words, int first, int count) {
    int from = first >>> 6;
    int last = (first + count - 1) >>> 6;
    int sum = 0;
    for (int i = from; i <= last; i++) {
      long mask = i == from ? -1L << first : -1L;
      mask &= i == last ? -1L >>> (63 - ((first + count - 1) & 63)) : -1L;
      sum += Long.bitCount(words[i] & mask);
    }
    return sum;
  }

  /**
   * The free cells.
   *
   * @return 0 or more
   */
  public int freeCells() {
    return freeCells;
  }

  /**
   * The cells that are neither failed nor cordoned, taken or not.
   *
   * @return 0 or more
   */
  public int usableCells() {
    return usableCells;
  }

  /**
   * The cubes that a slice of whole cubes may take: all cells free, and the cube not broken.
   *
   * @param healthyOnly whether degraded cubes, and cubes with degraded cells, are left out
   * @return 0 where the pod has no optical cubes
   */
  public int freeCubes(boolean healthyOnly) {
    return healthyOnly ? healthyFreeCubes : freeCubes;
  }

  /**
   * Whether anything of the pod is degraded.
   *
   * @return if not, all that is free is healthy
   */
  public boolean hasDegraded() {
    return degraded;
  }

  /**
   * The size of the smallest free partition of so many cells or more that lies in no larger free
   * partition. Degraded cells and broken links and cubes are not looked at.
   *
   * @param cells 1 or more
   * @return cells of that partition; 0 if there is none, so that no slice of so many cells fits
   */
  public int smallestFreePartition(int cells) {
    for (int i = 0; i < sizes.length; i++) {
      if (sizes[i] >= cells && largest[i] > 0) {
        return sizes[i];
      }
    }
    return 0;
  }

  /**
   * The cells in free partitions of so many cells or more. Degraded cells and broken links and
   * cubes are not looked at.
   *
   * @param cells 1 or more
   * @return 0 or more
   */
  public int cellsInFreePartitions(int cells) {
    int sum = 0;
    for (int i = 0; i < sizes.length; i++) {
      sum += sizes[i] >= cells ? sizes[i] * largest[i] : 0;
    }
    return sum;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof FreeRoom that
        && freeCells == that.freeCells
        && usableCells == that.usableCells
        && freeCubes == that.freeCubes
        && healthyFreeCubes == that.healthyFreeCubes
        && degraded == that.degraded
        && Arrays.equals(sizes, that.sizes)
        && Arrays.equals(largest, that.largest);
  }

  @Override
  public int hashCode() {
    return Objects.hash(freeCells, usableCells, freeCubes, Arrays.hashCode(largest));
  }

  @Override
  public String toString() {
    return freeCells
        + " cells free, "
        + freeCubes
        + " whole cubes, largest free partitions "
        + Arrays.toString(largest)
        + " of "
        + Arrays.toString(sizes)
        + " cells";
  }
}
