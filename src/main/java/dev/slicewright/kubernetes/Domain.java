package dev.slicewright.kubernetes;

import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Part;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import io.fabric8.kubernetes.api.model.Taint;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * One pod of the fleet as the nodes' labels describe it. Immutable, safe to share.
 *
 * <p>Hosts are the nodes, named by node; a host of which no node is known (a node is missing) has a
 * generated name and counts as failed.
 */
interface Domain {

  /** How its slices come about. */
  enum Kind {
    /** A reservation block of TPU7x: Slices name its partitions. Id: {@code block/NAME}. */
    DYNAMIC,
    /** A v5e or v6e pool (or provision-only pod) whose nodes carry ids of sub-slices. */
    SUBSLICING,
    /** A multi-host node pool: one slice of the pool's topology. Id: {@code nodepool/NAME}. */
    POOL,
    /** A node that is a slice of its own. Id: {@code node/NAME}. */
    NODE
  }

  String id();

  Kind kind();

  /** Whether it is one slice as a whole, of which no part can be had. */
  default boolean isAtomic() {
    return kind() == Kind.POOL || kind() == Kind.NODE;
  }

  TpuTopology topology();

  /** Labels that all its nodes share, those of partitions left out. They become pod labels. */
  Map<String, String> labels();

  /** Keys of labels that not all its nodes share. */
  Set<String> varyingLabels();

  /**
   * The nodes whose value of a label is not that of most others, in order; none if no value is that
   * of more than half of them. O(nodes).
   */
  List<String> odd(String label);

  /** Taints that all its nodes share; google.com/tpu and node.kubernetes.io/* left out. */
  List<Taint> taints();

  /** Names of nodes by host number; empty text where no node is known. */
  List<String> nodes();

  /** The platform's id of a partition (of a cube where it is one). */
  String platformId(PartitionId partition);

  /** The partition of a shape by the platform's id. */
  Optional<PartitionId> partition(Shape shape, String platformId);

  /** The label whose value is the id of a partition of this shape. */
  String idLabel(Shape shape);

  /** What is not healthy. */
  Map<Part, Health> health();

  /** Hosts on which nothing new may start: unschedulable, tainted, being deleted. */
  List<HostId> cordons();
}
