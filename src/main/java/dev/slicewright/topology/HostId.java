package dev.slicewright.topology;

/**
 * The number of a host in its pod: x fastest, then y, then z over the grid of host tiles, on
 * optical pods cube by cube; on pods of named hosts, their order in the builder. Immutable, safe to
 * share.
 *
 * @param index from 0 to {@link TpuTopology#hostCount()} - 1
 */
public record HostId(int index) implements Comparable<HostId> {
  @Override
  public int compareTo(HostId other) {
    return Integer.compare(index, other.index);
  }
}
