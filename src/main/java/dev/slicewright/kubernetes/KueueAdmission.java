package dev.slicewright.kubernetes;

import dev.slicewright.kubernetes.TopologyAssignment.Domain;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Topology assignments for Kueue. Immutable, safe to share.
 *
 * <p>Where a topology ends in the hostname, Kueue's assignments carry that level alone, and their
 * domains ascend by the values of all levels (kueue, TASFlavorSnapshot.buildAssignment).
 */
final class KueueAdmission {

  private static final Comparator<List<String>> LEXICAL =
      (a, b) -> {
        for (int i = 0; i < Math.min(a.size(), b.size()); i++) {
          int c = a.get(i).compareTo(b.get(i));
          if (c != 0) {
            return c;
          }
        }
        return Integer.compare(a.size(), b.size());
      };

  private KueueAdmission() {}

  /** Whether a workload is an object of Kueue's own kind, which its slices then name as owner. */
  static boolean isKueueWorkload(Workload workload) {
    return workload.object().kind().equals("Workload")
        && workload.object().apiVersion().startsWith("kueue.x-k8s.io/");
  }

  /** Whether Kueue admits it: a Workload of its own, or an object with a local queue. */
  static boolean isAdmittedByKueue(Workload workload) {
    return isKueueWorkload(workload)
        || Generic.labels(workload.source()).containsKey(TpuLabels.QUEUE);
  }

  /** A level of a topology: a label, and the shape of its partitions where it is one of those. */
  private record Level(String label, @Nullable Shape shape) {}

  /** The levels above the hostname of the topology that a place is part of, from the widest. */
  private static List<Level> levels(PlacedSlice place) {
    return switch (place.domain().kind()) {
      case DYNAMIC ->
          List.of(new Level(TpuLabels.BLOCK, null), partitions(place, SlicePlaces.CUBE));
      case SUBSLICING -> {
        List<Level> levels = new ArrayList<>();
        levels.add(new Level(TpuLabels.NODE_POOL, null));
        place.domain().topology().partitions().stream()
            .flatMap(forest -> forest.ids().stream().map(forest::shape))
            .distinct()
            .sorted(Comparator.comparingLong(Shape::chips).reversed())
            .forEach(shape -> levels.add(partitions(place, shape)));
        yield levels;
      }
      case POOL, NODE -> List.of(new Level(TpuLabels.NODE_POOL, null));
    };
  }

  private static Level partitions(PlacedSlice place, Shape shape) {
    return new Level(place.domain().idLabel(shape), shape);
  }

  /** A node's value at each level and its name; empty where it has none, which comes first. */
  private static List<String> values(PlacedSlice place, HostId host, List<Level> levels) {
    TpuTopology topology = place.domain().topology();
    List<String> values = new ArrayList<>();
    for (Level level : levels) {
      Shape shape = level.shape();
      values.add(
          shape == null
              ? place.domain().labels().getOrDefault(level.label(), "")
              : topology
                  .partitions()
                  .flatMap(f -> PlacedSlice.around(f, shape, topology.cells(host)[0]))
                  .map(place.domain()::platformId)
                  .orElse(""));
    }
    values.add(place.node(host));
    return values;
  }

  /**
   * The assignment of each pod set of a request.
   *
   * @param places all slices of the request
   * @return by pod set, in the order of the workload's members
   */
  static Map<String, TopologyAssignment> assignments(Workload workload, List<PlacedSlice> places) {
    Map<String, Map<String, Integer>> pods = new LinkedHashMap<>(); // by pod set and node
    Map<String, List<String>> order = new TreeMap<>(); // values of all levels by node
    for (PlacedSlice place : places) {
      List<Level> levels = levels(place);
      for (HostId host : place.at().hosts()) {
        order.put(place.node(host), values(place, host, levels));
      }
      for (PodNode pod : PodNodes.of(place, workload)) {
        pods.computeIfAbsent(pod.podSet(), set -> new TreeMap<>())
            .merge(pod.node(), 1, Integer::sum);
      }
    }
    Map<String, TopologyAssignment> assignments = new LinkedHashMap<>();
    pods.forEach(
        (podSet, counts) -> {
          List<Domain> domains = new ArrayList<>();
          counts.entrySet().stream()
              .sorted(
                  Map.Entry.comparingByKey(
                      Comparator.comparing(node -> order.getOrDefault(node, List.of()), LEXICAL)))
              .forEach(entry -> domains.add(new Domain(List.of(entry.getKey()), entry.getValue())));
          assignments.put(podSet, new TopologyAssignment(List.of(TpuLabels.HOSTNAME), domains));
        });
    return assignments;
  }
}
