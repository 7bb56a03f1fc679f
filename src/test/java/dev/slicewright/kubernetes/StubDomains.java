package dev.slicewright.kubernetes;

import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** Domains without nodes' objects behind them. */
final class StubDomains implements Domains {

  private final Map<String, Domain> byId = new TreeMap<>();
  private final Map<String, Place> nodes = new LinkedHashMap<>();

  /** These as all there are. */
  static StubDomains of(StubDomain... given) {
    StubDomains domains = new StubDomains();
    for (StubDomain domain : given) {
      domains.add(domain);
    }
    return domains;
  }

  /** A block of TPU7x. */
  StubDomains block(String name, int cubes) {
    return add(StubDomain.block(name, cubes).withOwnIds());
  }

  /** A v6e pool of 16x16 whose nodes carry ids of sub-slices. */
  StubDomains subslicing(String name) {
    return add(StubDomain.subslicing(name, "16x16").withOwnIds());
  }

  /** A v5p pool, which is one slice. */
  StubDomains pool(String name, String topology) {
    return add(StubDomain.pool(AcceleratorType.V5P, name, topology));
  }

  /** A v6e node of 2x2 chips. */
  StubDomains single(String name) {
    return add(StubDomain.node(AcceleratorType.V6E, name, "2x2"));
  }

  private StubDomains add(StubDomain domain) {
    byId.put(domain.id(), domain);
    for (int i = 0; i < domain.nodes().size(); i++) {
      nodes.put(domain.nodes().get(i), new Place(domain, new HostId(i)));
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
      if (nodesOf(domain, new Footprint.Partition(id)).contains(node)) {
        return domain.platformId(id);
      }
    }
    throw new AssertionError("no " + shape + " around " + node);
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
    return Collections.unmodifiableCollection(byId.values());
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
}
