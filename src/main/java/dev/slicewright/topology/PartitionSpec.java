package dev.slicewright.topology;

import java.util.List;
import java.util.Objects;

/**
 * A partition as a platform lists it: an id, a shape, and the hosts in it. Immutable, safe to
 * share.
 *
 * <p>Which partition lies in which follows from the hosts, never from the ids.
 *
 * @param id the platform's id, unique in the pod; not empty
 * @param shape the shape that the partition becomes
 * @param hosts the hosts in it, one or more
 */
public record PartitionSpec(String id, Shape shape, List<HostId> hosts) {
  /** Checks for null and copies the list. */
  public PartitionSpec {
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(shape, "shape");
    hosts = List.copyOf(hosts);
  }
}
