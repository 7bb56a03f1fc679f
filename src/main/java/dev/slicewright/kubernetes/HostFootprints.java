package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Finds the chips that a slice has, of which some or all hosts are known. */
final class HostFootprints {

  /** A footprint, and the shape that it becomes. */
  record Found(Shape shape, Footprint footprint) {}

  private HostFootprints() {}

  /**
   * The chips of a slice that runs on these hosts: the whole of an atomic pool or node; else what
   * one of the shapes wanted makes around them; else the smallest partition around them.
   *
   * @param hosts one or more
   * @param wanted shapes, the likeliest first; perhaps none
   */
  static Optional<Found> find(Domain domain, SortedSet<HostId> hosts, List<Shape> wanted) {
    if (domain.isAtomic()) {
      return whole(domain);
    }
    for (Shape shape : wanted) {
      Optional<Found> found = around(domain.topology(), hosts, shape);
      if (found.isPresent()) {
        return found;
      }
    }
    return smallest(domain.topology(), hosts);
  }

  /** All of a domain as one slice: of the topology that its nodes are labelled with. */
  static Optional<Found> whole(Domain domain) {
    TpuTopology topology = domain.topology();
    List<HostId> hosts = IntStream.range(0, topology.hostCount()).mapToObj(HostId::new).toList();
    List<Shape> shapes = new ArrayList<>();
    labelled(domain).ifPresent(shapes::add);
    shapes.add(topology.dims());
    shapes.addAll(topology.shapesFor(topology.chipCount()));
    for (Shape shape : shapes) {
      Optional<Footprint> footprint = topology.footprintOf(shape, hosts);
      if (footprint.isPresent()) {
        return Optional.of(new Found(topology.platformForm(shape), footprint.get()));
      }
    }
    return Optional.empty();
  }

  private static Optional<Shape> labelled(Domain domain) {
    String text = domain.labels().get(TpuLabels.TOPOLOGY);
    try {
      return Optional.ofNullable(text).map(Shape::parse);
    } catch (InvalidInputException e) {
      return Optional.empty();
    }
  }

  /** The one footprint of a shape that has all these hosts. */
  static Optional<Found> around(TpuTopology topology, SortedSet<HostId> hosts, Shape shape) {
    if (!topology.isLegal(shape)) {
      return Optional.empty();
    }
    int cubes = topology.cubesOf(shape);
    if (cubes > 0) {
      TreeSet<CubeId> touched = new TreeSet<>();
      hosts.forEach(host -> touched.add(topology.cubeOf(host)));
      return touched.size() == cubes
          ? Optional.of(new Found(shape, new Footprint.Cubes(List.copyOf(touched))))
          : Optional.empty();
    }
    return topology.partitions().isEmpty()
        ? topology.footprintOf(shape, hosts).map(footprint -> new Found(shape, footprint))
        : chain(topology, hosts).stream()
            .filter(found -> found.shape().sorted().equals(shape.sorted()))
            .findFirst();
  }

  /** The slice that has these hosts and no others. */
  static Optional<Found> exact(TpuTopology topology, SortedSet<HostId> hosts) {
    long chips = hosts.size() * topology.hostTile().chips();
    for (Shape shape : topology.shapesFor(chips)) {
      Optional<Footprint> footprint = topology.footprintOf(shape, hosts);
      if (footprint.isPresent()) {
        return Optional.of(new Found(shape, footprint.get()));
      }
    }
    return Optional.empty();
  }

  /** The smallest partition that has all these hosts. */
  private static Optional<Found> smallest(TpuTopology topology, SortedSet<HostId> hosts) {
    List<Found> chain = chain(topology, hosts);
    return chain.isEmpty() ? Optional.empty() : Optional.of(chain.get(chain.size() - 1));
  }

  /**
   * The partitions that have all these hosts, each inside the one before. O(roots + hosts + depth
   * times children).
   */
  private static List<Found> chain(TpuTopology topology, SortedSet<HostId> hosts) {
    PartitionForest forest = topology.partitions().orElse(null);
    int first = Integer.MAX_VALUE;
    int last = -1;
    for (HostId host : hosts) {
      for (int cell : topology.cells(host)) {
        first = Math.min(first, cell);
        last = Math.max(last, cell);
      }
    }
    List<Found> chain = new ArrayList<>();
    PartitionId at = forest == null ? null : around(forest, forest.roots(), first, last);
    while (forest != null && at != null) {
      Found found = found(topology, forest, at);
      if (topology.whyNot(found.shape(), found.footprint()).isEmpty()) {
        chain.add(found);
      }
      at = around(forest, forest.children(at), first, last);
    }
    return chain;
  }

  private static @Nullable PartitionId around(
      PartitionForest forest, List<PartitionId> level, int first, int last) {
    for (PartitionId id : level) {
      int from = forest.firstCell(id);
      if (from <= first && last < from + forest.cellCount(id)) {
        return id;
      }
    }
    return null;
  }

  private static Found found(TpuTopology topology, PartitionForest forest, PartitionId id) {
    Shape shape = topology.platformForm(forest.shape(id));
    return new Found(
        shape,
        topology.cubesOf(shape) > 0
            ? new Footprint.Cubes(List.of(SlicePlaces.cube(topology, id)))
            : new Footprint.Partition(id));
  }
}
