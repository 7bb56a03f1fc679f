package dev.slicewright.topology;

/**
 * The number of a cube in its pod. Immutable, safe to share.
 *
 * @param index from 0 to {@link TpuTopology#cubeCount()} - 1
 */
public record CubeId(int index) implements Comparable<CubeId> {
  @Override
  public int compareTo(CubeId other) {
    return Integer.compare(index, other.index);
  }
}
