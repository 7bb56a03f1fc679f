package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;

/** Which Slice each node is labelled with, where slices are formed of partitions. */
final class SliceLabels {

  /**
   * The nodes labelled with one Slice.
   *
   * @param slice its name
   * @param topology what its nodes say of its topology; empty if nothing, or not all the same
   * @param firstNode the first of them by place
   * @param hosts them, by domain and host
   */
  record Labelled(String slice, String topology, ObjectRef firstNode, List<Domains.Place> hosts) {

    /** The one slice that these nodes are, or are part of, if their labels say which. */
    Optional<HostFootprints.Found> footprint() {
      Domain domain = hosts.get(0).domain();
      SortedSet<HostId> numbers = new TreeSet<>();
      for (Domains.Place place : hosts) {
        if (!place.domain().id().equals(domain.id())) {
          return Optional.empty();
        }
        numbers.add(place.host());
      }
      try {
        if (!topology.isEmpty()) {
          return HostFootprints.around(
              domain.topology(), numbers, SliceManifest.platformForm(Shape.parse(topology)));
        }
      } catch (InvalidInputException e) {
        return Optional.empty();
      }
      return HostFootprints.exact(domain.topology(), numbers);
    }
  }

  private record Entry(Node node, Domains.Place place, String topology) {}

  private final List<Labelled> all;
  private final Map<String, String> byHost;

  private SliceLabels(List<Labelled> all, Map<String, String> byHost) {
    this.all = all;
    this.byHost = byHost;
  }

  /** O(n log n) for n labelled nodes. */
  static SliceLabels read(KubernetesObjects objects, Domains domains) {
    Map<String, List<Entry>> bySlice = new TreeMap<>();
    Map<String, String> byHost = new HashMap<>();
    for (HasMetadata object : objects.all()) {
      if (!(object instanceof Node node)) {
        continue;
      }
      Map<String, String> labels = Generic.labels(node);
      String slice = labels.getOrDefault(TpuLabels.SLICE, "");
      Domains.Place place =
          slice.isEmpty() ? null : domains.node(ObjectRef.of(node).name()).orElse(null);
      if (place != null
          && !place.domain().isAtomic()
          && byHost.putIfAbsent(key(place), slice) == null) {
        String topology = labels.getOrDefault(TpuLabels.SLICE_TOPOLOGY, "");
        bySlice
            .computeIfAbsent(slice, name -> new ArrayList<>())
            .add(new Entry(node, place, topology));
      }
    }
    List<Labelled> all = new ArrayList<>();
    bySlice.forEach((slice, entries) -> all.add(labelled(slice, entries)));
    return new SliceLabels(List.copyOf(all), byHost);
  }

  private static Labelled labelled(String slice, List<Entry> entries) {
    entries.sort(
        Comparator.comparing((Entry entry) -> entry.place().domain().id())
            .thenComparing(entry -> entry.place().host()));
    String topology = entries.get(0).topology();
    boolean same = entries.stream().allMatch(entry -> entry.topology().equals(topology));
    return new Labelled(
        slice,
        same ? topology : "",
        ObjectRef.of(entries.get(0).node()),
        entries.stream().map(Entry::place).toList());
  }

  private static String key(Domains.Place place) {
    return place.domain().id() + " " + place.host().index();
  }

  /** By name of the Slice. */
  List<Labelled> all() {
    return all;
  }

  /** The Slice that a node is labelled with; empty if none. */
  String at(Domains.Place place) {
    return byHost.getOrDefault(key(place), "");
  }
}
