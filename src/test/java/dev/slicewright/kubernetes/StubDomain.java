package dev.slicewright.kubernetes;

import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Part;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import io.fabric8.kubernetes.api.model.Taint;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * A domain without nodes' objects behind it: as the labels of an intact pod would give. Partitions
 * have the names that the library generates as their platform ids, behind a prefix.
 *
 * @param idPrefix what platform ids begin with, to tell pods apart; perhaps nothing
 */
record StubDomain(
    String id,
    Kind kind,
    TpuTopology topology,
    Map<String, String> labels,
    Set<String> varyingLabels,
    List<Taint> taints,
    List<String> nodes,
    Map<Part, Health> health,
    List<HostId> cordons,
    String idPrefix)
    implements Domain {

  @Override
  public List<String> odd(String label) {
    return List.of();
  }

  /** A block of TPU7x with so many cubes. */
  static StubDomain block(String name, int cubes) {
    return of(
        "block/" + name,
        Kind.DYNAMIC,
        TpuTopology.builder(AcceleratorType.TPU7X).cubes(cubes).build(),
        Map.of(TpuLabels.ACCELERATOR, "tpu7x", TpuLabels.BLOCK, name),
        Set.of(TpuLabels.NODE_POOL, TpuLabels.SUBBLOCK, TpuLabels.HOSTNAME, TpuLabels.SLICE));
  }

  /** A v6e pool whose nodes have ids of sub-slices. */
  static StubDomain subslicing(String pool, String shape) {
    Shape dims = Shape.parse(shape);
    return of(
        "nodepool/" + pool,
        Kind.SUBSLICING,
        TpuTopology.builder(AcceleratorType.V6E).dims(dims.x(), dims.y()).build(),
        Map.of(
            TpuLabels.ACCELERATOR, "tpu-v6e-slice",
            TpuLabels.TOPOLOGY, shape,
            TpuLabels.NODE_POOL, pool),
        Set.of(TpuLabels.HOSTNAME));
  }

  /** A pool that is one slice. */
  static StubDomain pool(AcceleratorType accelerator, String pool, String shape) {
    Shape dims = Shape.parse(shape);
    TpuTopology.Builder topology = TpuTopology.builder(accelerator).mesh();
    if (accelerator.rank() == 2) {
      topology.dims(dims.x(), dims.y());
    } else {
      topology.dims(dims.x(), dims.y(), dims.z());
    }
    return of(
        "nodepool/" + pool,
        Kind.POOL,
        topology.boxes().build(),
        Map.of(
            TpuLabels.ACCELERATOR, accelerator.gkeAccelerator().orElseThrow(),
            TpuLabels.TOPOLOGY, shape,
            TpuLabels.NODE_POOL, pool),
        Set.of(TpuLabels.HOSTNAME));
  }

  /** A node that is a slice of its own. */
  static StubDomain node(AcceleratorType accelerator, String node, String shape) {
    Shape dims = Shape.parse(shape);
    return of(
        "node/" + node,
        Kind.NODE,
        TpuTopology.builder(accelerator).dims(dims.x(), dims.y()).hostTile(dims).boxes().build(),
        Map.of(
            TpuLabels.ACCELERATOR, accelerator.gkeAccelerator().orElseThrow(),
            TpuLabels.TOPOLOGY, shape,
            TpuLabels.HOSTNAME, node),
        Set.of());
  }

  private static StubDomain of(
      String id, Kind kind, TpuTopology topology, Map<String, String> labels, Set<String> varying) {
    String name = id.substring(id.indexOf('/') + 1);
    List<String> nodes = new ArrayList<>();
    for (int i = 0; i < topology.hostCount(); i++) {
      nodes.add(kind == Kind.NODE ? name : name + "-n" + i);
    }
    return new StubDomain(
        id,
        kind,
        topology,
        Collections.unmodifiableMap(new TreeMap<>(labels)),
        Collections.unmodifiableSet(new TreeSet<>(varying)),
        List.of(),
        List.copyOf(nodes),
        Map.of(),
        List.of(),
        "");
  }

  /** The same with its name before each platform id, so that no two pods share one. */
  StubDomain withOwnIds() {
    return new StubDomain(
        id,
        kind,
        topology,
        labels,
        varyingLabels,
        taints,
        nodes,
        health,
        cordons,
        id.substring(id.indexOf('/') + 1) + ":");
  }

  /** The same with one more label on all nodes. */
  StubDomain label(String key, String value) {
    Map<String, String> more = new TreeMap<>(labels);
    more.put(key, value);
    return new StubDomain(
        id, kind, topology, more, varyingLabels, taints, nodes, health, cordons, idPrefix);
  }

  /** The same with one more taint on all nodes. */
  StubDomain taint(String key, String value, String effect) {
    List<Taint> more = new ArrayList<>(taints);
    more.add(new Taint(effect, key, null, value));
    return new StubDomain(
        id,
        kind,
        topology,
        labels,
        varyingLabels,
        List.copyOf(more),
        nodes,
        health,
        cordons,
        idPrefix);
  }

  @Override
  public String platformId(PartitionId partition) {
    return idPrefix + topology.partitions().orElseThrow().name(partition);
  }

  @Override
  public Optional<PartitionId> partition(Shape shape, String platformId) {
    return topology
        .partitions()
        .filter(forest -> platformId.startsWith(idPrefix))
        .flatMap(
            forest ->
                forest
                    .byName(platformId.substring(idPrefix.length()))
                    .filter(found -> forest.shape(found).sorted().equals(shape.sorted())));
  }

  @Override
  public String idLabel(Shape shape) {
    String prefix = kind == Kind.DYNAMIC ? TpuLabels.PARTITION_PREFIX : TpuLabels.SUBSLICE_PREFIX;
    return prefix + topology.platformForm(shape) + TpuLabels.ID_SUFFIX;
  }
}
