package dev.slicewright.kubernetes;

import dev.slicewright.Problem;
import dev.slicewright.topology.Shape;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Sorts nodes into domains, and leaves out those whose labels contradict the others'. Confined to
 * one thread at a time.
 *
 * <p>Where labels contradict each other the majority is right: most nodes of a pool have its
 * topology, most nodes of a partition lie in its parent. Where there is no majority, all that
 * disagree are left out. O(nodes times labels).
 */
final class NodeGroups {

  /**
   * The nodes that share the largest partition: a cube, a pool, or a pod that is provisioned only.
   *
   * @param shape its shape, sorted
   * @param id the platform's id
   * @param label the label that has the id
   * @param levels the shapes of partitions below it, the largest first
   * @param members its nodes by name, each with a tag for each level
   * @param absent nodes that are left out but say that they are in it, by name
   */
  record Root(
      Shape shape,
      String id,
      String label,
      List<Shape> levels,
      List<PartitionRow.Member> members,
      List<Absent> absent) {}

  /**
   * A node that is left out.
   *
   * @param name its name
   * @param ids its labels of its pool and of the ids of partitions
   */
  record Absent(String name, Map<String, String> ids) {}

  private static final Comparator<NodeFacts> BY_NAME =
      Comparator.comparing(NodeFacts::name, NaturalOrder.INSTANCE);

  private final List<Problem> problems = new ArrayList<>();
  private final List<LeftOut> leftOut = new ArrayList<>();
  private final Set<String> gone = new HashSet<>();
  private final TreeMap<String, List<Root>> roots = new TreeMap<>();

  NodeGroups(Collection<NodeFacts> nodes) {
    TreeMap<String, List<NodeFacts>> domains = new TreeMap<>();
    for (NodeFacts node : nodes) {
      if (node.layout() != null) {
        domains.computeIfAbsent(node.layout().domain(), k -> new ArrayList<>()).add(node);
      }
    }
    domains.forEach(
        (domain, members) -> {
          if (members.size() > 1) {
            members.sort(BY_NAME);
          }
          List<NodeFacts> alike = agreeing(domain, members);
          if (!alike.isEmpty()) {
            roots.put(domain, roots(domain, alike));
          }
        });
    checkParents();
    roots.replaceAll((domain, list) -> list.stream().map(this::withoutGone).toList());
    roots.replaceAll(
        (domain, list) -> list.stream().filter(root -> !root.members().isEmpty()).toList());
    roots.values().removeIf(List::isEmpty);
    addAbsent(nodes);
  }

  /** Tells each root of the nodes that would be in it. */
  private void addAbsent(Collection<NodeFacts> nodes) {
    List<Absent> absent = new ArrayList<>();
    for (NodeFacts node : nodes) {
      boolean named = !node.name().isEmpty();
      if (named && (node.layout() == null || gone.contains(node.name()))) {
        absent.add(new Absent(node.name(), ids(node)));
      }
    }
    if (absent.isEmpty()) {
      return;
    }
    absent.sort(Comparator.comparing(Absent::name, NaturalOrder.INSTANCE));
    Map<Map.Entry<String, String>, List<Absent>> byId = new HashMap<>();
    for (Absent node : absent) {
      node.ids()
          .forEach(
              (key, id) ->
                  byId.computeIfAbsent(Map.entry(key, id), k -> new ArrayList<>()).add(node));
    }
    roots.replaceAll(
        (domain, list) ->
            list.stream()
                .map(
                    root ->
                        new Root(
                            root.shape(),
                            root.id(),
                            root.label(),
                            root.levels(),
                            root.members(),
                            List.copyOf(
                                byId.getOrDefault(Map.entry(root.label(), root.id()), List.of()))))
                .toList());
  }

  private static Map<String, String> ids(NodeFacts node) {
    if (node.layout() == null) {
      return node.ids();
    }
    Map<String, String> ids = new TreeMap<>();
    node.layout().tags().forEach(tag -> ids.put(tag.label(), tag.id()));
    String pool = node.layout().labels().get(TpuLabels.NODE_POOL);
    if (pool != null) {
      ids.put(TpuLabels.NODE_POOL, pool);
    }
    return Collections.unmodifiableMap(ids);
  }

  /** By domain id: its largest partitions, in natural order of their ids. */
  Map<String, List<Root>> roots() {
    return roots;
  }

  List<Problem> problems() {
    return problems;
  }

  List<LeftOut> leftOut() {
    return leftOut;
  }

  private static NodeFacts.Layout layout(NodeFacts node) {
    return Objects.requireNonNull(node.layout(), "layout");
  }

  /** The tag of a node that has one of that shape. */
  private static NodeFacts.Tag tag(NodeFacts node, Shape shape) {
    return Objects.requireNonNull(layout(node).tag(shape), "tag");
  }

  private void leave(NodeFacts node, String field, String message) {
    Problem problem = new Problem(node.ref().path() + field, message);
    // What is wrong with a field by itself has been said.
    if (node.problems().stream().noneMatch(said -> said.path().equals(problem.path()))) {
      problems.add(problem);
    }
    leave(node, message);
  }

  private void leave(NodeFacts node, String reason) {
    if (gone.add(node.name())) {
      leftOut.add(new LeftOut(node.ref(), reason));
    }
  }

  // ---------------------------------------------------------------- one kind of node in a domain

  private List<NodeFacts> agreeing(String domain, List<NodeFacts> members) {
    // As written: another spelling of the same is another value to the selectors of pods.
    List<NodeFacts> alike = members;
    for (String key : List.of(TpuLabels.ACCELERATOR, TpuLabels.TOPOLOGY)) {
      alike =
          agreeing(
              domain,
              alike,
              node -> layout(node).labels().getOrDefault(key, ""),
              text -> text.isEmpty() ? "no label" : text,
              ".metadata.labels[" + key + "]");
    }
    return agreeing(
        domain,
        alike,
        node -> layout(node).chips(),
        chips -> chips + " chips",
        ".status.allocatable[" + TpuLabels.TPU + "]");
  }

  private <T> List<NodeFacts> agreeing(
      String domain,
      List<NodeFacts> members,
      Function<NodeFacts, T> what,
      Function<T, String> text,
      String field) {
    Map<T, List<NodeFacts>> by = new LinkedHashMap<>();
    for (NodeFacts node : members) {
      by.computeIfAbsent(what.apply(node), k -> new ArrayList<>()).add(node);
    }
    if (by.size() <= 1) {
      return members;
    }
    T right = most(by);
    by.forEach(
        (value, nodes) -> {
          if (!value.equals(right)) {
            for (NodeFacts node : nodes) {
              leave(
                  node,
                  field,
                  "expected "
                      + (right == null
                          ? "all nodes of " + domain + " to agree"
                          : text.apply(right) + " as most nodes of " + domain + " have")
                      + ", but was "
                      + text.apply(value)
                      + "; mend it, or put the node into a pool of its own");
            }
          }
        });
    return right == null ? List.of() : by.getOrDefault(right, List.of());
  }

  /** The key of the longest list; null if two are as long. */
  private static <T, V> @Nullable T most(Map<T, List<V>> by) {
    T best = null;
    int size = 0;
    boolean tie = false;
    for (Map.Entry<T, List<V>> entry : by.entrySet()) {
      int n = entry.getValue().size();
      if (n >= size) {
        tie = n == size;
        best = entry.getKey();
        size = n;
      }
    }
    return tie ? null : best;
  }

  // ---------------------------------------------------------------- roots and levels

  private List<Root> roots(String domain, List<NodeFacts> members) {
    NodeFacts.Layout first = layout(members.get(0));
    if (first.dynamic()) {
      TreeMap<String, List<NodeFacts>> cubes = new TreeMap<>(NaturalOrder.INSTANCE);
      for (NodeFacts node : members) {
        cubes.computeIfAbsent(layout(node).tags().get(0).id(), k -> new ArrayList<>()).add(node);
      }
      List<Root> all = new ArrayList<>();
      cubes.forEach((id, nodes) -> all.add(root(layout(nodes.get(0)).tags().get(0), nodes)));
      return all;
    }
    Shape topology = first.topology();
    if (topology == null) {
      return List.of(root(first.tags().get(0), members)); // the domain is called after that
    }
    if (topology.chips() == first.chips()) {
      NodeFacts node = members.get(0);
      return List.of(
          new Root(
              topology,
              node.name(),
              TpuLabels.HOSTNAME,
              List.of(),
              List.of(new PartitionRow.Member(node, List.of())),
              List.of()));
    }
    NodeFacts.Tag pool =
        new NodeFacts.Tag(topology, TpuLabels.NODE_POOL, domain.substring(domain.indexOf('/') + 1));
    Map<String, List<NodeFacts>> named = new LinkedHashMap<>();
    for (NodeFacts node : members) {
      NodeFacts.Tag tag = layout(node).tag(topology);
      if (tag != null) {
        named.computeIfAbsent(tag.id(), k -> new ArrayList<>()).add(node);
      }
    }
    String id = named.isEmpty() ? null : most(named);
    if (id == null) {
      return List.of(root(pool, members));
    }
    List<NodeFacts> inside = new ArrayList<>();
    for (NodeFacts node : members) {
      NodeFacts.Tag tag = layout(node).tag(topology);
      if (tag == null || tag.id().equals(id)) {
        inside.add(node);
      } else {
        leave(
            node,
            ".metadata.labels[" + tag.label() + "]",
            "expected "
                + id
                + " as most nodes of "
                + domain
                + " have, but was "
                + tag.id()
                + "; mend the label");
      }
    }
    return List.of(root(tag(named.getOrDefault(id, inside).get(0), topology), inside));
  }

  /** A level counts where at least half of the nodes have it; those that lack it are left out. */
  private Root root(NodeFacts.Tag tag, List<NodeFacts> members) {
    TreeMap<Shape, List<NodeFacts>> having = new TreeMap<>(Comparator.reverseOrder());
    for (NodeFacts node : members) {
      for (NodeFacts.Tag inside : layout(node).tags()) {
        if (inside.shape().chips() < tag.shape().chips()) {
          having.computeIfAbsent(inside.shape(), k -> new ArrayList<>()).add(node);
        }
      }
    }
    having
        .entrySet()
        .removeIf(
            level -> {
              boolean odd = level.getValue().size() * 2 < members.size();
              if (odd) {
                level.getValue().forEach(node -> ignore(node, level.getKey(), tag));
              }
              return odd;
            });
    List<Shape> levels = List.copyOf(having.keySet());
    List<PartitionRow.Member> sound = new ArrayList<>(members.size());
    for (NodeFacts node : members) {
      List<NodeFacts.Tag> tags = new ArrayList<>(levels.size());
      Shape lacking = null;
      for (Shape level : levels) {
        NodeFacts.Tag inside = layout(node).tag(level);
        if (inside == null) {
          lacking = lacking == null ? level : lacking;
        } else {
          tags.add(inside);
        }
      }
      if (lacking == null) {
        sound.add(new PartitionRow.Member(node, List.copyOf(tags)));
      } else {
        leave(
            node,
            ".metadata.labels["
                + tag(having.getOrDefault(lacking, members).get(0), lacking).label()
                + "]",
            "expected the id of a partition, as other nodes of "
                + tag.id()
                + " have, but there is none; set the label");
      }
    }
    return new Root(tag.shape(), tag.id(), tag.label(), levels, sound, List.of());
  }

  private void ignore(NodeFacts node, Shape level, NodeFacts.Tag root) {
    NodeFacts.Tag tag = tag(node, level);
    problems.add(
        new Problem(
            NodeFacts.path(node.name(), tag.label()),
            "expected no such partition, since most nodes of "
                + root.id()
                + " have none, but was "
                + tag.id()
                + "; the label is ignored"));
  }

  // ---------------------------------------------------------------- one parent for each partition

  private record Key(String scope, Shape shape, String id) {}

  private record Child(NodeFacts node, NodeFacts.Tag tag) {}

  /**
   * A partition lies in one larger one, and a cube in one block. Ids of cubes and what is in them
   * are the platform's own, whichever block they are in; those of pools count in their pool.
   */
  private void checkParents() {
    int depth = 0;
    for (boolean more = true; more; depth++) {
      more = false;
      Map<Key, Map<String, List<Child>>> parents = new HashMap<>();
      for (Map.Entry<String, List<Root>> domain : roots.entrySet()) {
        for (Root root : domain.getValue()) {
          more |= depth <= root.levels().size();
          collect(parents, depth, domain.getKey(), root);
        }
      }
      List<Map.Entry<Key, Map<String, List<Child>>>> torn = new ArrayList<>();
      for (Map.Entry<Key, Map<String, List<Child>>> entry : parents.entrySet()) {
        if (entry.getValue().size() > 1) {
          torn.add(entry);
        }
      }
      torn.sort(
          Map.Entry.comparingByKey(
              Comparator.comparing(Key::scope).thenComparing(Key::shape).thenComparing(Key::id)));
      torn.forEach(entry -> leaveTorn(entry.getKey(), entry.getValue()));
    }
  }

  private void collect(
      Map<Key, Map<String, List<Child>>> parents, int depth, String domain, Root root) {
    if (depth > root.levels().size() || root.members().isEmpty()) {
      return;
    }
    boolean dynamic = layout(root.members().get(0).node()).dynamic();
    if (!dynamic && depth == 0) {
      return; // a pool is in no block
    }
    for (PartitionRow.Member member : root.members()) {
      if (gone.contains(member.node().name())) {
        continue;
      }
      NodeFacts.Tag tag =
          depth > 0
              ? member.tags().get(depth - 1)
              : new NodeFacts.Tag(root.shape(), root.label(), root.id());
      String parent =
          depth == 0 ? domain : depth == 1 ? root.id() : member.tags().get(depth - 2).id();
      parents
          .computeIfAbsent(
              new Key(dynamic ? "" : domain, tag.shape(), tag.id()), k -> new TreeMap<>())
          .computeIfAbsent(parent, k -> new ArrayList<>())
          .add(new Child(member.node(), tag));
    }
  }

  private void leaveTorn(Key key, Map<String, List<Child>> byParent) {
    String right = most(byParent);
    byParent.forEach(
        (parent, children) -> {
          if (!parent.equals(right)) {
            for (Child child : children) {
              leave(
                  child.node(),
                  ".metadata.labels[" + child.tag().label() + "]",
                  "expected partition "
                      + key.id()
                      + " ("
                      + SliceManifest.platformForm(key.shape())
                      + ") to lie in one larger partition or block, but its nodes name "
                      + String.join(" and ", byParent.keySet())
                      + (right == null ? "" : ", most of them " + right)
                      + "; mend the labels");
            }
          }
        });
  }

  private Root withoutGone(Root root) {
    if (root.members().stream().noneMatch(member -> gone.contains(member.node().name()))) {
      return root;
    }
    return new Root(
        root.shape(),
        root.id(),
        root.label(),
        root.levels(),
        root.members().stream().filter(member -> !gone.contains(member.node().name())).toList(),
        root.absent());
  }
}
