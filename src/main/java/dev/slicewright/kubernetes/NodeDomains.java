package dev.slicewright.kubernetes;

import dev.slicewright.Problem;
import dev.slicewright.topology.Shape;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The pods of the fleet as the nodes' labels describe them. Immutable, safe to share.
 *
 * <p>Which nodes make a pod, and the partitions in it, follow from which node has which label,
 * never from the text of ids. Read anew after a change, it keeps what the change does not concern.
 */
final class NodeDomains implements Domains {

  private final Map<String, NodeFacts> nodes; // by name; not changed once here
  private final TreeMap<String, DomainLayout> layouts; // empty ones included
  private final TreeMap<String, NodeDomain> domains;
  private final List<NodeDomain> partitioned;
  private final List<NodeFacts> faulty; // nodes that have problems of their own
  private final List<Problem> groupProblems;
  private final List<LeftOut> groupLeftOut;

  private NodeDomains(
      Map<String, NodeFacts> nodes,
      TreeMap<String, DomainLayout> layouts,
      TreeMap<String, NodeDomain> domains,
      List<NodeFacts> faulty,
      List<Problem> groupProblems,
      List<LeftOut> groupLeftOut) {
    this.nodes = nodes;
    this.faulty = faulty;
    this.layouts = layouts;
    this.domains = domains;
    this.groupProblems = groupProblems;
    this.groupLeftOut = groupLeftOut;
    this.partitioned =
        domains.values().stream()
            .filter(d -> d.kind() == Domain.Kind.DYNAMIC || d.kind() == Domain.Kind.SUBSLICING)
            .toList();
  }

  static NodeDomains none() {
    return new NodeDomains(
        Map.of(), new TreeMap<>(), new TreeMap<>(), List.of(), List.of(), List.of());
  }

  /**
   * Reads the domains of nodes. O(nodes times labels), and building the topology of each domain.
   *
   * @param nodes by name; not changed afterwards
   */
  static NodeDomains read(Map<String, NodeFacts> nodes) {
    return none().regrouped(nodes);
  }

  /** The domains of other nodes; layouts are kept where they are the same. */
  private NodeDomains regrouped(Map<String, NodeFacts> newNodes) {
    NodeGroups groups = new NodeGroups(newNodes.values());
    TreeMap<String, DomainLayout> newLayouts = new TreeMap<>();
    TreeMap<String, NodeDomain> newDomains = new TreeMap<>();
    groups
        .roots()
        .forEach(
            (id, roots) -> {
              DomainLayout before = layouts.get(id);
              DomainLayout layout =
                  before != null && before.isOf(roots) ? before : DomainLayout.of(id, roots);
              newLayouts.put(id, layout);
              if (!layout.isEmpty()) {
                newDomains.put(id, new NodeDomain(layout, newNodes));
              }
            });
    return new NodeDomains(
        newNodes, newLayouts, newDomains, faulty(newNodes), groups.problems(), groups.leftOut());
  }

  private static List<NodeFacts> faulty(Map<String, NodeFacts> nodes) {
    return nodes.values().stream().filter(node -> !node.problems().isEmpty()).toList();
  }

  /**
   * The domains after changes. Where no node changes its place, only the domains of the changed
   * nodes are looked at.
   *
   * @param newNodes all nodes, by name; not changed afterwards
   * @param touched the names of those that are new, changed or gone
   */
  NodeDomains update(Map<String, NodeFacts> newNodes, Collection<String> touched) {
    Set<String> ids = new HashSet<>();
    boolean faults = false;
    for (String name : touched) {
      NodeFacts before = nodes.get(name);
      NodeFacts after = newNodes.get(name);
      NodeFacts.Layout place = before == null ? null : before.layout();
      if (!Objects.equals(place, after == null ? null : after.layout())
          || !ids(before).equals(ids(after))) {
        return regrouped(newNodes);
      }
      if (place != null) {
        ids.add(place.domain());
      }
      faults |= hasProblems(before) || hasProblems(after);
    }
    TreeMap<String, NodeDomain> newDomains = new TreeMap<>(domains);
    for (String id : ids) {
      newDomains.computeIfPresent(id, (k, before) -> new NodeDomain(before.layout(), newNodes));
    }
    return new NodeDomains(
        newNodes,
        layouts,
        newDomains,
        faults ? faulty(newNodes) : faulty,
        groupProblems,
        groupLeftOut);
  }

  private static Map<String, String> ids(@Nullable NodeFacts node) {
    return node == null ? Map.of() : node.ids();
  }

  private static boolean hasProblems(@Nullable NodeFacts node) {
    return node != null && !node.problems().isEmpty();
  }

  /** Everything wrong with nodes, in no particular order. */
  List<Problem> problems() {
    List<Problem> all = new ArrayList<>(groupProblems);
    faulty.forEach(node -> all.addAll(node.problems()));
    layouts.values().forEach(layout -> all.addAll(layout.problems()));
    domains.values().forEach(domain -> all.addAll(domain.problems()));
    return all;
  }

  /** The TPU nodes that are in no pod, in no particular order. */
  List<LeftOut> leftOut() {
    List<LeftOut> all = new ArrayList<>(groupLeftOut);
    for (NodeFacts node : faulty) {
      if (node.layout() == null) {
        all.add(new LeftOut(node.ref(), node.problems().get(0).message()));
      }
    }
    layouts.values().forEach(layout -> all.addAll(layout.leftOut()));
    return all;
  }

  /** The facts of all TPU nodes, by name. */
  Map<String, NodeFacts> nodes() {
    return nodes;
  }

  @Nullable NodeDomain get(String id) {
    return domains.get(id);
  }

  /** The domains themselves, by id. */
  Map<String, NodeDomain> byId() {
    return Collections.unmodifiableMap(domains);
  }

  @Override
  public Collection<Domain> all() {
    return Collections.unmodifiableCollection(domains.values());
  }

  @Override
  public Optional<Domain> domain(String id) {
    return Optional.ofNullable(domains.get(id));
  }

  @Override
  public Optional<Place> node(String name) {
    NodeFacts facts = nodes.get(name);
    NodeDomain domain =
        facts == null || facts.layout() == null ? null : domains.get(facts.layout().domain());
    return domain == null
        ? Optional.empty()
        : domain.host(name).map(host -> new Place(domain, host));
  }

  @Override
  public List<Domain> withPartition(Shape shape, String platformId) {
    List<Domain> found = new ArrayList<>(1);
    for (NodeDomain domain : partitioned) {
      if (domain.partition(shape, platformId).isPresent()) {
        found.add(domain);
      }
    }
    return found;
  }
}
