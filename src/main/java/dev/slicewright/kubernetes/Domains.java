package dev.slicewright.kubernetes;

import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

/** The pods of the fleet, and where each node and partition is. Immutable, safe to share. */
interface Domains {

  /** A node's place. */
  record Place(Domain domain, HostId host) {}

  /** By id. */
  Collection<Domain> all();

  Optional<Domain> domain(String id);

  Optional<Place> node(String name);

  /** The domains that have a partition of this shape and id (one, unless labels are wrong). */
  List<Domain> withPartition(Shape shape, String platformId);
}
