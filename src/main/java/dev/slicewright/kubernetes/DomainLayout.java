package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.PartitionSpec;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What a domain is: all that follows from where its nodes are. Immutable, safe to share.
 *
 * <p>Kept while the labels of its nodes stay as they are, whatever their health does.
 */
final class DomainLayout {

  private final String id;
  private final List<NodeGroups.Root> roots; // what it was made of
  private final Domain.@Nullable Kind kind; // null where nothing sound was left
  private final @Nullable TpuTopology topology;
  private final Map<String, String> labels;
  private final Set<String> varying;
  private final List<String> nodes;
  private final Map<String, HostId> hosts;
  private final List<PartitionRow.Span> spans;
  private final List<PartitionId> spanIds;
  private final String[] platformIds; // by number of the partition
  private final Map<Shape, Map<String, PartitionId>> byPlatformId;
  private final Map<Shape, String> idLabels;
  private final List<Problem> problems;
  private final List<LeftOut> leftOut;

  private DomainLayout(Builder b, @Nullable TpuTopology topology) {
    this.id = b.id;
    this.roots = b.roots;
    this.kind = topology == null ? null : b.kind;
    this.topology = topology;
    this.nodes = List.copyOf(b.names);
    this.spans = List.copyOf(b.spans);
    this.idLabels = b.idLabels;
    this.problems = List.copyOf(b.problems);
    this.leftOut = List.copyOf(b.leftOut);
    this.varying = new TreeSet<>();
    this.labels = b.sharedLabels(varying);
    this.hosts = new HashMap<>();
    for (int host = 0; host < nodes.size(); host++) {
      if (!nodes.get(host).isEmpty()) {
        hosts.put(nodes.get(host), new HostId(host));
      }
    }
    this.byPlatformId = new HashMap<>();
    List<PartitionId> ids = new ArrayList<>();
    PartitionForest forest = topology == null ? null : topology.partitions().orElseThrow();
    this.platformIds = new String[forest == null ? 0 : forest.size()];
    for (int i = 0; forest != null && i < spans.size(); i++) {
      PartitionRow.Span span = spans.get(i);
      PartitionId partition = forest.byName(b.specNames.get(i)).orElseThrow();
      ids.add(partition);
      platformIds[partition.index()] = span.id();
      byPlatformId.computeIfAbsent(span.shape(), k -> new HashMap<>()).put(span.id(), partition);
    }
    this.spanIds = List.copyOf(ids);
  }

  static DomainLayout of(String id, List<NodeGroups.Root> roots) {
    return new Builder(id, roots).build();
  }

  /** Whether other nodes would give this very layout. */
  boolean isOf(List<NodeGroups.Root> others) {
    if (roots.size() != others.size()) {
      return false;
    }
    for (int r = 0; r < roots.size(); r++) {
      NodeGroups.Root mine = roots.get(r);
      NodeGroups.Root other = others.get(r);
      if (!mine.id().equals(other.id())
          || !mine.label().equals(other.label())
          || !mine.shape().equals(other.shape())
          || !mine.levels().equals(other.levels())
          || !mine.absent().equals(other.absent())
          || mine.members().size() != other.members().size()) {
        return false;
      }
      for (int m = 0; m < mine.members().size(); m++) {
        NodeFacts a = mine.members().get(m).node();
        NodeFacts b = other.members().get(m).node();
        if (a != b && !(a.name().equals(b.name()) && Objects.equals(a.layout(), b.layout()))) {
          return false;
        }
      }
    }
    return true;
  }

  String id() {
    return id;
  }

  boolean isEmpty() {
    return topology == null;
  }

  Domain.Kind kind() {
    return Objects.requireNonNull(kind);
  }

  TpuTopology topology() {
    return Objects.requireNonNull(topology);
  }

  Map<String, String> labels() {
    return labels;
  }

  Set<String> varying() {
    return Collections.unmodifiableSet(varying);
  }

  /** The nodes that differ in a label from more than half of all; none if there is no such half. */
  List<String> odd(String label) {
    Map<String, List<String>> byValue = new TreeMap<>();
    int all = 0;
    for (NodeGroups.Root root : roots) {
      for (PartitionRow.Member member : root.members()) {
        String value = Builder.labels(member.node()).get(label);
        byValue
            .computeIfAbsent(value == null ? "" : "=" + value, v -> new ArrayList<>())
            .add(member.node().name());
        all++;
      }
    }
    int half = all / 2;
    if (byValue.values().stream().noneMatch(names -> names.size() > half)) {
      return List.of();
    }
    return byValue.values().stream()
        .filter(names -> names.size() <= half)
        .flatMap(List::stream)
        .sorted(NaturalOrder.INSTANCE)
        .toList();
  }

  List<String> nodes() {
    return nodes;
  }

  Optional<HostId> host(String node) {
    return Optional.ofNullable(hosts.get(node));
  }

  /** The partitions, each cube or pool before what is in it. */
  List<PartitionRow.Span> spans() {
    return spans;
  }

  PartitionId partition(int span) {
    return spanIds.get(span);
  }

  String platformId(PartitionId partition) {
    return platformIds[partition.index()];
  }

  Optional<PartitionId> partition(Shape shape, String platformId) {
    return Optional.ofNullable(byPlatformId.getOrDefault(shape.sorted(), Map.of()).get(platformId));
  }

  String idLabel(Shape shape) {
    String known = idLabels.get(shape.sorted());
    return known != null
        ? known
        : (kind == Domain.Kind.DYNAMIC ? TpuLabels.PARTITION_PREFIX : TpuLabels.SUBSLICE_PREFIX)
            + topology().platformForm(shape)
            + TpuLabels.ID_SUFFIX;
  }

  List<Problem> problems() {
    return problems;
  }

  List<LeftOut> leftOut() {
    return leftOut;
  }

  /** Confined to one thread at a time. */
  private static final class Builder {
    private final String id;
    private final List<NodeGroups.Root> roots;
    private final NodeFacts.Layout first;
    private final Domain.Kind kind;
    private final List<Problem> problems = new ArrayList<>();
    private final List<LeftOut> leftOut = new ArrayList<>();
    private final List<String> names = new ArrayList<>();
    private final Map<Integer, String> absent = new HashMap<>(); // names of nodes left out, by host
    private final List<NodeFacts> present = new ArrayList<>();
    private final List<String> cubes = new ArrayList<>();
    private final List<PartitionRow.Span> spans = new ArrayList<>();
    private final List<String> specNames = new ArrayList<>();
    private final Map<Shape, String> idLabels = new TreeMap<>();

    Builder(String id, List<NodeGroups.Root> roots) {
      this.id = id;
      this.roots = roots;
      this.first = Objects.requireNonNull(roots.get(0).members().get(0).node().layout());
      this.kind = kind();
    }

    private Domain.Kind kind() {
      NodeGroups.Root root = roots.get(0);
      if (first.dynamic()) {
        return Domain.Kind.DYNAMIC;
      }
      if (root.shape().chips() == first.chips()) {
        return Domain.Kind.NODE;
      }
      return root.levels().isEmpty() && first.topology() != null
          ? Domain.Kind.POOL
          : Domain.Kind.SUBSLICING;
    }

    DomainLayout build() {
      roots.forEach(this::addRoot);
      if (names.isEmpty()) {
        return new DomainLayout(this, null);
      }
      TpuTopology topology = null;
      try {
        topology = topology();
      } catch (InvalidInputException e) {
        problems.add(
            new Problem(
                present.get(0).ref().path(),
                "expected nodes that make a pod, but "
                    + id
                    + " does not: "
                    + e.problems().get(0)
                    + "; it is left out"));
        present.forEach(node -> leftOut.add(new LeftOut(node.ref(), id + " makes no pod")));
        names.clear();
        spans.clear();
      }
      return new DomainLayout(this, topology);
    }

    private void addRoot(NodeGroups.Root root) {
      PartitionRow.Row row =
          PartitionRow.of(
              root.shape(), root.id(), root.levels(), first.chips(), root.members(), problems);
      String what = kind == Domain.Kind.DYNAMIC ? "cube " + root.id() : id;
      if (row == null) {
        for (PartitionRow.Member member : root.members()) {
          leftOut.add(
              new LeftOut(
                  member.node().ref(),
                  "the labels of " + what + " do not add up, so it is left out"));
        }
        return;
      }
      int missing = row.missing();
      if (missing > 0) {
        int room = row.hosts().size();
        problems.add(
            new Problem(
                NodeFacts.path(root.members().get(0).node().name(), root.label()),
                "expected "
                    + room
                    + " nodes in "
                    + what
                    + " ("
                    + root.shape()
                    + "), but there are "
                    + (room - missing)
                    + "; add the others, or mend their labels; until then those hosts count as"
                    + " failed"));
      }
      int offset = names.size();
      addAbsent(root, row, offset);
      for (PartitionRow.Span span : row.spans()) {
        spans.add(
            new PartitionRow.Span(span.shape(), span.id(), span.first() + offset, span.hosts()));
      }
      for (NodeFacts node : row.hosts()) {
        names.add(node == null ? "" : node.name());
        if (node != null) {
          present.add(node);
        }
      }
      cubes.add(root.id());
      idLabels.putIfAbsent(root.shape(), root.label());
      for (NodeFacts.Tag tag : root.members().get(0).tags()) {
        idLabels.putIfAbsent(tag.shape(), tag.label());
      }
    }

    /** Hosts whose nodes are left out, where it is certain which node it would be. */
    private void addAbsent(NodeGroups.Root root, PartitionRow.Row row, int offset) {
      if (root.absent().isEmpty()) {
        return;
      }
      Map<Integer, List<String>> byHost = new TreeMap<>();
      Map<String, Integer> places = new HashMap<>();
      for (int host = 0; host < row.hosts().size(); host++) {
        if (row.hosts().get(host) == null) {
          Map<String, String> around = idsAround(root, row, host);
          for (NodeGroups.Absent node : root.absent()) {
            if (node.ids().entrySet().containsAll(around.entrySet())) {
              byHost.computeIfAbsent(host, h -> new ArrayList<>()).add(node.name());
              places.merge(node.name(), 1, Integer::sum);
            }
          }
        }
      }
      byHost.forEach(
          (host, nodes) -> {
            if (nodes.size() == 1 && places.getOrDefault(nodes.get(0), 0) == 1) {
              absent.put(offset + host, nodes.get(0));
            }
          });
    }

    /** The partitions around a host of which other nodes are known, by label. */
    private static Map<String, String> idsAround(
        NodeGroups.Root root, PartitionRow.Row row, int host) {
      Map<Shape, String> labels = new HashMap<>();
      root.members().get(0).tags().forEach(tag -> labels.put(tag.shape(), tag.label()));
      labels.put(root.shape(), root.label());
      Map<String, String> ids = new TreeMap<>();
      for (PartitionRow.Span span : row.spans()) {
        int end = span.first() + span.hosts();
        boolean around = span.first() <= host && host < end;
        if (around && row.hosts().subList(span.first(), end).stream().anyMatch(Objects::nonNull)) {
          ids.put(labels.get(span.shape()), span.id());
        }
      }
      return ids;
    }

    private TpuTopology topology() {
      AcceleratorType type = first.type();
      Shape tile = HostTiles.of(type, first.chips()).orElseThrow();
      TpuTopology.Builder builder =
          TpuTopology.builder(type).hostTile(tile).hostNames(hostNames()).coordinatesUnknown();
      if (kind == Domain.Kind.DYNAMIC) {
        return builder
            .slicing(new Slicing.OpticalCubes(type.maxCubes(), false, specs()))
            .cubes(cubes.size())
            .cubeNames(cubes)
            .build();
      }
      Shape dims = kind == Domain.Kind.NODE ? tile : roots.get(0).shape();
      if (type.rank() == 2) {
        builder.dims(dims.x(), dims.y());
      } else {
        // What is static is wired once and for all: whole cubes as a torus, less as a mesh.
        boolean torus = dims.chips() >= SlicePlaces.CUBE.chips();
        builder.dims(dims.x(), dims.y(), dims.z());
        for (Axis axis : Axis.values()) {
          builder.wrap(axis, torus);
        }
      }
      return builder.slicing(new Slicing.NestedPartitions(specs())).build();
    }

    private List<String> hostNames() {
      List<String> all = new ArrayList<>(names.size());
      for (int host = 0; host < names.size(); host++) {
        String name = names.get(host);
        String left = absent.getOrDefault(host, "missing/" + host); // no node can be called so
        all.add(name.isEmpty() ? left : name);
      }
      return all;
    }

    /** Ids are names where that is enough; a shape tells apart two partitions of one id. */
    private List<PartitionSpec> specs() {
      Set<String> seen = new HashSet<>();
      Set<String> twice = new HashSet<>();
      for (PartitionRow.Span span : spans) {
        if (!seen.add(span.id())) {
          twice.add(span.id());
        }
      }
      List<PartitionSpec> specs = new ArrayList<>(spans.size());
      for (PartitionRow.Span span : spans) {
        String name =
            twice.contains(span.id())
                ? SliceManifest.platformForm(span.shape()) + ":" + span.id()
                : span.id();
        specNames.add(name);
        List<HostId> hosts = new ArrayList<>(span.hosts());
        for (int host = span.first(); host < span.first() + span.hosts(); host++) {
          hosts.add(new HostId(host));
        }
        Shape shape =
            span.shape().chips() == first.chips()
                ? HostTiles.of(first.type(), first.chips()).orElseThrow()
                : span.shape();
        specs.add(new PartitionSpec(name, shape, hosts));
      }
      return specs;
    }

    private Map<String, String> sharedLabels(Set<String> varying) {
      if (present.isEmpty()) {
        return Map.of();
      }
      Map<String, String> some = labels(present.get(0));
      if (present.size() == 1) {
        return some;
      }
      TreeMap<String, String> shared = new TreeMap<>(some);
      for (NodeFacts node : present) {
        Map<String, String> own = labels(node);
        own.forEach(
            (key, value) -> {
              String other = shared.get(key);
              if (other == null || !other.equals(value)) {
                shared.remove(key);
                varying.add(key);
              }
            });
        if (shared.size() > own.size() || !own.keySet().containsAll(shared.keySet())) {
          shared
              .keySet()
              .removeIf(
                  key -> {
                    boolean lacking = !own.containsKey(key);
                    if (lacking) {
                      varying.add(key);
                    }
                    return lacking;
                  });
        }
      }
      if (kind == Domain.Kind.DYNAMIC || kind == Domain.Kind.SUBSLICING) {
        varying.addAll(idLabels.values());
        varying.removeAll(shared.keySet());
      }
      if (kind == Domain.Kind.DYNAMIC) {
        varying.add(TpuLabels.SLICE);
        varying.add(TpuLabels.SLICE_TOPOLOGY);
      }
      return Collections.unmodifiableMap(shared);
    }

    private static Map<String, String> labels(NodeFacts node) {
      return Objects.requireNonNull(node.layout()).labels();
    }
  }
}
