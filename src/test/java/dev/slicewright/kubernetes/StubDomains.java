package dev.slicewright.kubernetes;

import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Part;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import io.fabric8.kubernetes.api.model.Taint;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;

/** Domains made of topologies, for tests of what runs on them. */
final class StubDomains implements Domains {

  private final Map<String, Domain> byId = new TreeMap<>();
  private final Map<String, Place> nodes = new LinkedHashMap<>();

  /** A block of TPU7x; partition ids are the block's name and the forest's names. */
  StubDomains block(String name, int cubes) {
    TpuTopology topology = TpuTopology.builder(AcceleratorType.TPU7X).cubes(cubes).build();
    return add("block/" + name, name, Domain.Kind.DYNAMIC, topology, Map.of());
  }

  /** A v6e pool of 16x16 whose nodes carry ids of sub-slices. */
  StubDomains subslicing(String name) {
    return add("nodepool/" + name, name, Domain.Kind.SUBSLICING, TpuTopology.v6e(), Map.of());
  }

  /** A v5p pool of so many cubes, which is one slice. */
  StubDomains pool(String name, String topology) {
    int cubes = (int) (Shape.parse(topology).chips() / 64);
    TpuTopology pod = TpuTopology.builder(AcceleratorType.V5P).cubes(cubes).build();
    return add(
        "nodepool/" + name, name, Domain.Kind.POOL, pod, Map.of(TpuLabels.TOPOLOGY, topology));
  }

  /** A v6e node of 2x2 chips. */
  StubDomains single(String name) {
    TpuTopology topology =
        TpuTopology.builder(AcceleratorType.V6E)
            .dims(2, 2)
            .mesh()
            .slicing(Slicing.TorusBoxes.anyBox())
            .build();
    return add("node/" + name, name, Domain.Kind.NODE, topology, Map.of(TpuLabels.TOPOLOGY, "2x2"));
  }

  private StubDomains add(
      String id, String name, Domain.Kind kind, TpuTopology topology, Map<String, String> labels) {
    boolean single = kind == Domain.Kind.NODE;
    List<String> hosts =
        IntStream.range(0, topology.hostCount())
            .mapToObj(i -> single ? name : name + "-n" + i)
            .toList();
    Domain domain = new Stub(id, name, kind, topology, labels, hosts);
    byId.put(id, domain);
    for (int i = 0; i < hosts.size(); i++) {
      nodes.put(hosts.get(i), new Place(domain, new HostId(i)));
    }
    return this;
  }

  Domain get(String id) {
    return byId.get(id);
  }

  /** The id of a whole cube. */
  String cube(String block, int cube) {
    Domain domain = byId.get("block/" + block);
    TpuTopology topology = domain.topology();
    for (PartitionId id : topology.partitions().orElseThrow().ofShape(Shape.of(4, 4, 4))) {
      HostId host = topology.hostOfCell(topology.cells(new Footprint.Partition(id))[0]);
      if (topology.cubeOf(host).index() == cube) {
        return domain.platformId(id);
      }
    }
    throw new AssertionError("no cube " + cube);
  }

  /** The id of the partition of a shape around a node. */
  String partition(String node, String shape) {
    Place place = nodes.get(node);
    Domain domain = place.domain();
    for (PartitionId id :
        domain.topology().partitions().orElseThrow().ofShape(Shape.parse(shape))) {
      if (nodesOf(domain, id).contains(node)) {
        return domain.platformId(id);
      }
    }
    throw new AssertionError("no " + shape + " around " + node);
  }

  /** The nodes of a partition. */
  List<String> nodesOf(Domain domain, PartitionId id) {
    TpuTopology topology = domain.topology();
    return Arrays.stream(topology.cells(new Footprint.Partition(id)))
        .mapToObj(cell -> domain.nodes().get(topology.hostOfCell(cell).index()))
        .distinct()
        .toList();
  }

  /** The nodes of a footprint of a domain. */
  static List<String> nodesOf(Domain domain, Footprint footprint) {
    TpuTopology topology = domain.topology();
    return Arrays.stream(topology.cells(footprint))
        .mapToObj(cell -> domain.nodes().get(topology.hostOfCell(cell).index()))
        .distinct()
        .toList();
  }

  @Override
  public Collection<Domain> all() {
    return byId.values();
  }

  @Override
  public Optional<Domain> domain(String id) {
    return Optional.ofNullable(byId.get(id));
  }

  @Override
  public Optional<Place> node(String name) {
    return Optional.ofNullable(nodes.get(name));
  }

  @Override
  public List<Domain> withPartition(Shape shape, String platformId) {
    return byId.values().stream()
        .filter(domain -> domain.partition(shape, platformId).isPresent())
        .toList();
  }

  private record Stub(
      String id,
      String name,
      Kind kind,
      TpuTopology topology,
      Map<String, String> labels,
      List<String> nodes)
      implements Domain {

    @Override
    public Set<String> varyingLabels() {
      return Set.of();
    }

    @Override
    public List<String> odd(String label) {
      return List.of();
    }

    @Override
    public List<Taint> taints() {
      return List.of();
    }

    @Override
    public String platformId(PartitionId partition) {
      return name + ":" + topology.partitions().orElseThrow().name(partition);
    }

    @Override
    public Optional<PartitionId> partition(Shape shape, String platformId) {
      PartitionForest forest = topology.partitions().orElse(null);
      return forest == null || !platformId.startsWith(name + ":")
          ? Optional.empty()
          : forest
              .byName(platformId.substring(name.length() + 1))
              .filter(id -> forest.shape(id).sorted().equals(shape.sorted()));
    }

    @Override
    public String idLabel(Shape shape) {
      return TpuLabels.PARTITION_PREFIX + shape + TpuLabels.ID_SUFFIX;
    }

    @Override
    public Map<Part, Health> health() {
      return Map.of();
    }

    @Override
    public List<HostId> cordons() {
      return List.of();
    }
  }
}
