package dev.slicewright.kubernetes;

import dev.slicewright.SliceId;
import dev.slicewright.plan.Placement;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Where one slice of a workload is, in the words of the cluster. Immutable, safe to share.
 *
 * @param id the slice, counted over all slices of its workload
 * @param at the place
 * @param domain the pod of the fleet that it is on
 * @param slice the Slice object, or null where there is none: the platform makes none, or pods run
 *     without one
 * @param isNew whether the plan brings the slice here
 */
record PlacedSlice(
    SliceId id, Placement at, Domain domain, @Nullable SliceManifest slice, boolean isNew) {

  PlacedSlice {
    Objects.requireNonNull(id, "id");
    Objects.requireNonNull(at, "at");
    Objects.requireNonNull(domain, "domain");
  }

  /** The platform's ids of a footprint: cubes in logical order, or the one partition. */
  static List<String> partitionIds(Domain domain, Footprint footprint) {
    if (footprint instanceof Footprint.Cubes cubes) {
      return cubes.cubes().stream().map(cube -> cubeId(domain, cube)).toList();
    }
    return footprint instanceof Footprint.Partition partition
        ? List.of(domain.platformId(partition.id()))
        : List.of();
  }

  /** The platform's id of a cube. */
  static String cubeId(Domain domain, CubeId cube) {
    TpuTopology topology = domain.topology();
    return topology
        .partitions()
        .flatMap(forest -> around(forest, SlicePlaces.CUBE, topology.firstCell(cube)))
        .map(domain::platformId)
        .orElseGet(() -> topology.cubeName(cube));
  }

  /** The partition of a shape around a cell. */
  static Optional<PartitionId> around(PartitionForest forest, Shape shape, int cell) {
    for (PartitionId id : forest.ofShape(shape)) {
      int first = forest.firstCell(id);
      if (first <= cell && cell < first + forest.cellCount(id)) {
        return Optional.of(id);
      }
    }
    return Optional.empty();
  }

  /** Its shape as the platform writes it. */
  Shape shape() {
    return domain.topology().platformForm(at.shape());
  }

  List<String> partitionIds() {
    return partitionIds(domain, at.footprint());
  }

  /** The nodes in worker order. */
  List<String> nodes() {
    return at.hosts().stream().map(this::node).toList();
  }

  String node(HostId host) {
    String name = domain.nodes().get(host.index());
    return name.isEmpty() ? domain.topology().hostName(host) : name;
  }

  /**
   * The label that tells the nodes of this slice from all others, and its value there: of the
   * Slice, of the partition, of the pool or of the node.
   */
  Binding binding() {
    return switch (domain.kind()) {
      case DYNAMIC ->
          new Binding(TpuLabels.SLICE, slice == null ? "" : slice.name()); // empty: no such node
      case SUBSLICING -> {
        Shape shape = shape();
        Optional<String> pool = wholePool();
        yield pool.isPresent()
            ? new Binding(TpuLabels.NODE_POOL, pool.get())
            : new Binding(domain.idLabel(shape), partitionIds().get(0));
      }
      case POOL ->
          new Binding(
              TpuLabels.NODE_POOL, domain.labels().getOrDefault(TpuLabels.NODE_POOL, plainName()));
      case NODE ->
          new Binding(
              TpuLabels.HOSTNAME, domain.labels().getOrDefault(TpuLabels.HOSTNAME, nodes().get(0)));
    };
  }

  /** The pool, where the slice is all of it: the largest partition need not have a label. */
  private Optional<String> wholePool() {
    return at.chips() == domain.topology().chipCount()
        ? Optional.ofNullable(domain.labels().get(TpuLabels.NODE_POOL))
        : Optional.empty();
  }

  private String plainName() {
    return domain.id().substring(domain.id().indexOf('/') + 1);
  }

  /**
   * What a pod selects its slice by. Immutable, safe to share.
   *
   * @param key a label of nodes
   * @param value its value
   */
  record Binding(String key, String value) {}
}
