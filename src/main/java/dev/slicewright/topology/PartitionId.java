package dev.slicewright.topology;

/**
 * The number of a partition in its pod's {@link PartitionForest}. Immutable, safe to share.
 *
 * @param index from 0 to {@link PartitionForest#size()} - 1
 */
public record PartitionId(int index) implements Comparable<PartitionId> {
  @Override
  public int compareTo(PartitionId other) {
    return Integer.compare(index, other.index);
  }
}
