package dev.slicewright.kubernetes;

import dev.slicewright.Problem;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Part;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import io.fabric8.kubernetes.api.model.Taint;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** A domain: where its nodes are, and how they are. Immutable, safe to share. */
final class NodeDomain implements Domain {

  private final DomainLayout layout;
  private final List<NodeFacts.KeepOff> taints;
  private final List<Taint> ownTaints; // the same, as templates tolerate them
  private final Map<Part, Health> health;
  private final List<HostId> cordons;
  private final List<Problem> problems;

  /**
   * A domain.
   *
   * @param layout where its nodes are; not empty
   * @param nodes the facts of all nodes, by name
   */
  NodeDomain(DomainLayout layout, Map<String, NodeFacts> nodes) {
    this.layout = layout;
    Reading reading = new Reading(layout, nodes);
    this.taints = reading.sharedTaints();
    this.ownTaints = taints.stream().map(NodeFacts.KeepOff::taint).toList();
    this.cordons = reading.cordons(taints);
    this.health = Collections.unmodifiableMap(reading.health());
    this.problems = List.copyOf(reading.problems);
  }

  DomainLayout layout() {
    return layout;
  }

  /** What is wrong with the states of partitions. */
  List<Problem> problems() {
    return problems;
  }

  Optional<HostId> host(String node) {
    return layout.host(node);
  }

  @Override
  public String id() {
    return layout.id();
  }

  @Override
  public Kind kind() {
    return layout.kind();
  }

  @Override
  public TpuTopology topology() {
    return layout.topology();
  }

  @Override
  public Map<String, String> labels() {
    return layout.labels();
  }

  @Override
  public Set<String> varyingLabels() {
    return layout.varying();
  }

  @Override
  public List<String> odd(String label) {
    return layout.odd(label);
  }

  @Override
  public List<Taint> taints() {
    return ownTaints;
  }

  @Override
  public List<String> nodes() {
    return layout.nodes();
  }

  @Override
  public String platformId(PartitionId partition) {
    return layout.platformId(partition);
  }

  @Override
  public Optional<PartitionId> partition(Shape shape, String platformId) {
    return layout.partition(shape, platformId);
  }

  @Override
  public String idLabel(Shape shape) {
    return layout.idLabel(shape);
  }

  @Override
  public Map<Part, Health> health() {
    return health;
  }

  @Override
  public List<HostId> cordons() {
    return cordons;
  }

  /** Whether work is placed here under the same conditions, health and cordons aside. */
  boolean isAlike(NodeDomain other) {
    return layout == other.layout && taints.equals(other.taints);
  }

  @Override
  public String toString() {
    return kind() + " " + id();
  }

  /** The states of nodes while they are read. */
  private static final class Reading {
    private final DomainLayout layout;
    private final @Nullable NodeFacts[] hosts;
    private final List<Problem> problems = new ArrayList<>();

    Reading(DomainLayout layout, Map<String, NodeFacts> nodes) {
      this.layout = layout;
      this.hosts = new NodeFacts[layout.nodes().size()];
      for (int host = 0; host < hosts.length; host++) {
        String name = layout.nodes().get(host);
        hosts[host] = name.isEmpty() ? null : nodes.get(name); // a node without a name is nowhere
      }
    }

    /** Taints that all nodes have: they keep out workloads, not hosts. */
    List<NodeFacts.KeepOff> sharedTaints() {
      Set<NodeFacts.KeepOff> shared = null;
      for (NodeFacts node : hosts) {
        if (node == null) {
          continue;
        }
        List<NodeFacts.KeepOff> own = node.status().taints();
        if (own.isEmpty()) {
          return List.of();
        }
        if (shared == null) {
          shared =
              new TreeSet<>(
                  Comparator.comparing(NodeFacts.KeepOff::key)
                      .thenComparing(NodeFacts.KeepOff::value)
                      .thenComparing(NodeFacts.KeepOff::effect));
          shared.addAll(own);
        } else {
          shared.retainAll(own);
        }
      }
      return shared == null ? List.of() : List.copyOf(shared);
    }

    List<HostId> cordons(List<NodeFacts.KeepOff> shared) {
      List<HostId> cordons = new ArrayList<>();
      for (int host = 0; host < hosts.length; host++) {
        NodeFacts node = hosts[host];
        if (node != null
            && (node.status().cordoned() || !shared.containsAll(node.status().taints()))) {
          cordons.add(new HostId(host));
        }
      }
      return List.copyOf(cordons);
    }

    Map<Part, Health> health() {
      Map<Part, Health> found = new LinkedHashMap<>();
      boolean sound = true;
      for (int host = 0; host < hosts.length; host++) {
        NodeFacts node = hosts[host];
        if (node == null || !node.status().working()) {
          found.put(new Part.Host(new HostId(host)), Health.FAILED);
        }
        sound &= node == null || node.status().sound();
      }
      if (!sound) {
        addStates(found);
      }
      return found;
    }

    /**
     * The states of partitions, the smallest first. Only what is not explained by what lies inside
     * is a fault of its own: of the hosts if nothing does, of a cube's optical side if it is merely
     * degraded, and else of the copper between the parts.
     */
    private void addStates(Map<Part, Health> found) {
      Health[] worst = new Health[hosts.length]; // of what is in the span, hosts first
      for (int host = 0; host < hosts.length; host++) {
        worst[host] = found.getOrDefault(new Part.Host(new HostId(host)), Health.HEALTHY);
      }
      List<PartitionRow.Span> spans = layout.spans();
      boolean[] inner = inner(spans);
      for (int i = spans.size() - 1; i >= 0; i--) { // children stand behind their parents
        PartitionRow.Span span = spans.get(i);
        Health own = state(span);
        if (own == Health.HEALTHY) {
          continue;
        }
        Health inside = Health.HEALTHY;
        for (int host = span.first(); host < span.first() + span.hosts(); host++) {
          inside = worse(inside, worst[host]);
        }
        if (!inner[i]) {
          for (int host = span.first(); host < span.first() + span.hosts(); host++) {
            if (own.compareTo(worst[host]) > 0) {
              worst[host] = own;
              found.put(new Part.Host(new HostId(host)), own);
            }
          }
        } else if (own.compareTo(inside) > 0) {
          found.put(fault(span, spans.get(i + 1), own), own);
          worst[span.first()] = worse(worst[span.first()], own);
        }
      }
    }

    /** Which partitions have others inside them. */
    private static boolean[] inner(List<PartitionRow.Span> spans) {
      boolean[] inner = new boolean[spans.size()];
      for (int i = 0; i + 1 < spans.size(); i++) {
        PartitionRow.Span next = spans.get(i + 1);
        PartitionRow.Span span = spans.get(i);
        inner[i] = next.first() == span.first() && next.hosts() < span.hosts();
      }
      return inner;
    }

    private static Health worse(Health a, Health b) {
      return a.compareTo(b) >= 0 ? a : b;
    }

    /** The state that the nodes of a partition give it; the worst where they disagree. */
    private Health state(PartitionRow.Span span) {
      Map<String, List<String>> given = new TreeMap<>(NodeHealth.WORSE.reversed());
      for (int host = span.first(); host < span.first() + span.hosts(); host++) {
        NodeFacts node = hosts[host];
        String text = node == null ? null : node.status().states().get(span.shape());
        if (node != null && text != null) {
          given.computeIfAbsent(text, k -> new ArrayList<>()).add(node.name());
        }
      }
      if (given.isEmpty()) {
        return Health.HEALTHY;
      }
      if (given.size() > 1) {
        addContradiction(span, given);
      }
      given.forEach(
          (state, nodes) -> {
            if (!NodeHealth.isKnown(state)) {
              problems.add(
                  new Problem(
                      NodeFacts.path(nodes.get(0), label(span)),
                      "expected HEALTHY, DEGRADED or UNHEALTHY, but was "
                          + state
                          + "; partition "
                          + span.id()
                          + " is not used"));
            }
          });
      return NodeHealth.of(given.keySet().iterator().next());
    }

    /** One problem for a partition, of the node that is most alone. */
    private void addContradiction(PartitionRow.Span span, Map<String, List<String>> given) {
      List<String> odd = Collections.min(given.values(), Comparator.comparingInt(List::size));
      List<String> all = new ArrayList<>();
      given.forEach(
          (state, nodes) ->
              all.add(
                  state
                      + " on "
                      + nodes.get(0)
                      + (nodes.size() == 1 ? "" : " and " + (nodes.size() - 1) + " more")));
      problems.add(
          new Problem(
              NodeFacts.path(odd.get(0), label(span)),
              "expected one state of partition "
                  + span.id()
                  + " on all its nodes, but was "
                  + String.join(", ", all)
                  + "; the worst is taken"));
    }

    private String label(PartitionRow.Span span) {
      String idLabel = layout.idLabel(span.shape());
      return idLabel.endsWith(TpuLabels.ID_SUFFIX)
          ? idLabel.substring(0, idLabel.length() - TpuLabels.ID_SUFFIX.length())
              + TpuLabels.STATE_SUFFIX
          : idLabel;
    }

    private Part fault(PartitionRow.Span span, PartitionRow.Span firstPart, Health own) {
      TpuTopology t = layout.topology();
      boolean cube = t.isOptical() && span.hosts() == t.hostsPerCube();
      if (cube && own == Health.DEGRADED) {
        return new Part.OcsPort(new CubeId(span.first() / t.hostsPerCube()), Axis.X, true, 0);
      }
      return linkBetween(t, span, firstPart);
    }

    /** A copper link that leaves the first part of a partition and ends in another part of it. */
    private static Part linkBetween(
        TpuTopology t, PartitionRow.Span span, PartitionRow.Span firstPart) {
      Map<Chip, Integer> hostOf = new HashMap<>();
      for (int host = span.first(); host < span.first() + span.hosts(); host++) {
        Chip at = t.originOf(new HostId(host));
        for (int z = 0; z < t.hostTile().z(); z++) {
          for (int y = 0; y < t.hostTile().y(); y++) {
            for (int x = 0; x < t.hostTile().x(); x++) {
              hostOf.put(new Chip(at.x() + x, at.y() + y, at.z() + z), host);
            }
          }
        }
      }
      int end = firstPart.first() + firstPart.hosts();
      for (int host = span.first(); host < span.first() + span.hosts(); host++) {
        Chip at = t.originOf(new HostId(host));
        for (Axis axis : Axis.values()) {
          int last = t.hostTile().get(axis) - 1;
          Chip from = step(at, axis, last);
          Integer to = hostOf.get(step(from, axis, 1));
          if (to != null && (host < end) != (to < end)) {
            return new Part.Link(from, axis);
          }
        }
      }
      // Its parts touch nowhere in the nominal layout: then all of it is at fault.
      return new Part.Host(new HostId(span.first()));
    }

    private static Chip step(Chip from, Axis axis, int by) {
      return new Chip(
          from.x() + (axis == Axis.X ? by : 0),
          from.y() + (axis == Axis.Y ? by : 0),
          from.z() + (axis == Axis.Z ? by : 0));
    }
  }
}
