package dev.slicewright.kubernetes;

import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** A cluster as text that a reader can check against its objects. */
final class ClusterText {

  private final StringBuilder text = new StringBuilder();
  private final Cluster cluster;

  private ClusterText(Cluster cluster) {
    this.cluster = cluster;
  }

  static String of(Cluster cluster) {
    return new ClusterText(cluster).write();
  }

  private String write() {
    cluster.fleet().pods().forEach(this::pod);
    section("running", cluster.fleet().running().stream().map(this::running).toList());
    section("held", cluster.fleet().holds().stream().map(Object::toString).toList());
    section("waiting", cluster.requests().stream().map(ClusterText::waiting).toList());
    section(
        "slices",
        cluster.slices().stream()
            .map(s -> s.name() + " " + s.topology() + " " + s.partitionIds() + " " + s.condition())
            .toList());
    section("problems", cluster.problems().stream().map(Object::toString).toList());
    section("left out", cluster.leftOut().stream().map(Object::toString).toList());
    return text.toString();
  }

  private void section(String title, List<String> lines) {
    if (!lines.isEmpty()) {
      text.append(title).append('\n');
      lines.forEach(line -> text.append("  ").append(line).append('\n'));
    }
  }

  private void pod(Pod pod) {
    TpuTopology t = pod.topology();
    Domain domain = cluster.domains().domain(pod.id()).orElseThrow();
    List<String> lines = new ArrayList<>();
    lines.add(t + ", " + t.hostCount() + " hosts of " + t.hostTile());
    pod.labels()
        .forEach(
            (key, value) -> {
              if (!key.equals(TpuLabels.OWN_POD)) {
                lines.add("label " + key + "=" + value);
              }
            });
    if (!domain.taints().isEmpty()) {
      lines.add(
          domain.taints().stream()
              .map(taint -> taint.getKey() + "=" + taint.getValue() + ":" + taint.getEffect())
              .collect(Collectors.joining(" ", "taints ", "")));
    }
    if (domain.kind() != Domain.Kind.NODE) {
      partitions(domain, lines);
    }
    if (t.isOptical()) {
      for (int c = 0; c < t.cubeCount(); c++) {
        int first = c * t.hostsPerCube();
        lines.add(
            "cube "
                + t.cubeName(new CubeId(c))
                + ": "
                + nodes(domain.nodes().subList(first, first + t.hostsPerCube())));
      }
    } else {
      lines.add("nodes: " + nodes(domain.nodes()));
    }
    pod.reportedHealth().forEach((part, health) -> lines.add(health + " " + part(domain, part)));
    pod.cordons().forEach(part -> lines.add("cordoned " + part(domain, part)));
    Map<Health, Integer> largest = new TreeMap<>();
    PartitionForest forest = t.partitions().orElseThrow();
    for (PartitionId root : forest.roots()) {
      Footprint whole =
          t.isOptical()
              ? new Footprint.Cubes(List.of(t.cubeOf(t.hostOfCell(forest.firstCell(root)))))
              : new Footprint.Partition(root);
      largest.merge(pod.healthOf(whole), 1, Integer::sum);
    }
    lines.add("whole: " + largest);
    section(pod.id() + " " + domain.kind(), lines);
  }

  private static void partitions(Domain domain, List<String> lines) {
    PartitionForest forest = domain.topology().partitions().orElseThrow();
    Map<Shape, List<String>> byShape = new TreeMap<>((a, b) -> b.compareTo(a));
    for (PartitionId id : forest.ids()) {
      byShape
          .computeIfAbsent(forest.shape(id), k -> new ArrayList<>())
          .add(
              domain.platformId(id)
                  + forest.parent(id).map(p -> "<" + domain.platformId(p)).orElse(""));
    }
    byShape.forEach(
        (shape, ids) ->
            lines.add(shape + " [" + domain.idLabel(shape) + "] " + String.join(" ", ids)));
  }

  private static String nodes(List<String> names) {
    return names.stream().map(n -> n.isEmpty() ? "-" : n).collect(Collectors.joining(" "));
  }

  private static String part(Domain domain, Part part) {
    if (part instanceof Part.Host host) {
      String node = domain.nodes().get(host.host().index());
      return "host " + (node.isEmpty() ? domain.topology().hostName(host.host()) : node);
    }
    if (part instanceof Part.Link link) {
      HostId host = domain.topology().hostOf(link.from());
      return "copper link " + link.axis() + " of " + domain.nodes().get(host.index());
    }
    if (part instanceof Part.OcsPort port) {
      return "optical port of cube " + domain.topology().cubeName(port.cube());
    }
    if (part instanceof Part.Cube cube) {
      return "cube " + domain.topology().cubeName(cube.cube());
    }
    return part.toString();
  }

  private String running(RunningSlice slice) {
    TpuTopology t = cluster.fleet().pod(slice.pod()).orElseThrow().topology();
    return slice.id()
        + " "
        + slice.shape()
        + " on "
        + t.describe(slice.footprint())
        + " of "
        + slice.pod()
        + (slice.leaving() ? ", leaving" : "")
        + (t.isTorus(slice.shape(), slice.footprint()) ? ", torus" : "");
  }

  private static String waiting(SliceRequest request) {
    return request.toString()
        + (request.accelerators().isEmpty() ? "" : " " + request.accelerators())
        + (request.requiredLabels().isEmpty() ? "" : " needs " + request.requiredLabels())
        + (request.forbiddenLabels().isEmpty() ? "" : " not " + request.forbiddenLabels());
  }
}
