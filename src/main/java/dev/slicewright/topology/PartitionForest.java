package dev.slicewright.topology;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The partitions of one pod: a forest in which smaller ones nest in larger ones. Immutable, safe to
 * share.
 *
 * <p>Partitions are numbered so that parents come before their children; the cells of a partition
 * are consecutive: {@link #firstCell} and {@link #cellCount}. Every query is O(1) unless it says
 * otherwise.
 *
 * <p>Names are the platform's where it lists the partitions. Names of halved pods and cubes are
 * generated and stable: in a cube, the path from the cube down, each step the shape of the part and
 * its number among its siblings (x fastest), such as {@code c1/2x4x4.0/2x2x4.1}; in a halved pod
 * whose coordinates are known, shape and corner, such as {@code 8x16@0.0} or {@code 2x2x4@0.2.4}.
 */
public final class PartitionForest {

  private final String[] names;
  private final Shape[] shapes;
  private final int[] parents;
  private final List<List<PartitionId>> children;
  private final int[] firstCells;
  private final int[] cellCounts;
  private final int[] depths;
  private final Footprint.@Nullable Box[] boxes;
  private final List<PartitionId> roots;
  private final Map<String, PartitionId> byName;
  private final List<PartitionId> ids;
  private final Map<Shape, List<PartitionId>> byShape;

  private PartitionForest(
      String[] names,
      Shape[] shapes,
      int[] parents,
      int[] firstCells,
      int[] cellCounts,
      Footprint.@Nullable Box[] boxes) {
    this.names = names;
    this.shapes = shapes;
    this.parents = parents;
    this.firstCells = firstCells;
    this.cellCounts = cellCounts;
    this.boxes = boxes;
    int n = names.length;
    List<List<PartitionId>> kids = new ArrayList<>(n);
    List<PartitionId> tops = new ArrayList<>();
    List<PartitionId> all = new ArrayList<>(n);
    Map<Shape, List<PartitionId>> shaped = new HashMap<>();
    this.byName = new HashMap<>(2 * n);
    this.depths = new int[n];
    for (int i = 0; i < n; i++) {
      kids.add(new ArrayList<>(2));
      PartitionId id = new PartitionId(i);
      byName.put(names[i], id);
      all.add(id);
      shaped.computeIfAbsent(shapes[i].sorted(), s -> new ArrayList<>()).add(id);
      if (parents[i] < 0) {
        tops.add(id);
      } else {
        kids.get(parents[i]).add(id);
        depths[i] = depths[parents[i]] + 1;
      }
    }
    this.ids = List.copyOf(all);
    shaped.replaceAll((shape, list) -> List.copyOf(list));
    this.byShape = shaped;
    kids.replaceAll(List::copyOf);
    this.children = List.copyOf(kids);
    this.roots = List.copyOf(tops);
  }

  /** A node while a forest is generated. */
  record Draft(
      String name,
      Shape shape,
      int parent,
      int firstCell,
      int cells,
      Footprint.@Nullable Box box) {}

  static PartitionForest generated(List<Draft> drafts) {
    int n = drafts.size();
    String[] names = new String[n];
    Shape[] shapes = new Shape[n];
    int[] parents = new int[n];
    int[] first = new int[n];
    int[] counts = new int[n];
    Footprint.@Nullable Box[] boxes = new Footprint.@Nullable Box[n];
    for (int i = 0; i < n; i++) {
      Draft draft = drafts.get(i);
      names[i] = draft.name();
      shapes[i] = draft.shape();
      parents[i] = draft.parent();
      first[i] = draft.firstCell();
      counts[i] = draft.cells();
      boxes[i] = draft.box();
    }
    return new PartitionForest(names, shapes, parents, first, counts, boxes);
  }

  /**
   * Checks what a platform lists and finds the order of hosts in which every partition is
   * consecutive.
   *
   * @param problems what is wrong with the list so far
   * @param hostCount hosts of the pod
   * @param chipsPerHost chips of a host
   * @param specs what the platform lists
   * @param boxOf the box that the hosts of a sound partition fill, if they do
   * @param hostOrderOut receives the hosts in cell order
   */
  static PartitionForest listed(
      Problems problems,
      int hostCount,
      int chipsPerHost,
      List<PartitionSpec> specs,
      Function<PartitionSpec, Footprint.@Nullable Box> boxOf,
      int[] hostOrderOut) {
    Set<String> seen = new HashSet<>();
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < specs.size(); i++) {
      PartitionSpec spec = specs.get(i);
      String path = "partitions[" + i + "]";
      if (spec.id().isEmpty() || !seen.add(spec.id())) {
        problems.add(path + ".id", "expected an id of its own, but \"" + spec.id() + "\" is used");
      }
      Set<HostId> hosts = new HashSet<>(spec.hosts());
      if (hosts.size() != spec.hosts().size()) {
        problems.add(path + ".hosts", "a host is named twice");
      }
      if (spec.hosts().stream().anyMatch(h -> h.index() < 0 || h.index() >= hostCount)) {
        problems.add(path + ".hosts", "expected hosts from 0 to " + (hostCount - 1));
      } else if (spec.shape().chips() % chipsPerHost != 0) {
        problems.add(
            path + ".shape",
            "expected whole hosts of " + chipsPerHost + " chips, but was " + spec.shape());
      } else if (spec.shape().chips() != (long) hosts.size() * chipsPerHost) {
        problems.add(
            path + ".hosts",
            "a "
                + spec.shape()
                + " partition has "
                + spec.shape().chips() / chipsPerHost
                + " hosts, but "
                + hosts.size()
                + " were listed");
      }
      order.add(i);
    }
    problems.throwIfAny("partitions");
    order.sort(
        Comparator.comparing((Integer i) -> -specs.get(i).hosts().size())
            .thenComparing(i -> specs.get(i).id()));
    int n = specs.size();
    int[] parent = new int[n];
    int[] smallest = new int[hostCount]; // the smallest partition so far around a host
    Arrays.fill(smallest, -1);
    for (int k = 0; k < n; k++) {
      PartitionSpec spec = specs.get(order.get(k));
      int around = smallest[spec.hosts().get(0).index()];
      for (HostId host : spec.hosts()) {
        if (smallest[host.index()] != around) {
          problems.add(
              "partitions[" + order.get(k) + "].hosts",
              "partition "
                  + spec.id()
                  + " overlaps another without lying inside it, or lies in two parents; each"
                  + " partition must lie inside one larger one");
          break;
        }
      }
      if (around >= 0 && specs.get(order.get(around)).hosts().size() == spec.hosts().size()) {
        problems.add(
            "partitions[" + order.get(k) + "].hosts",
            "has the same hosts as partition " + specs.get(order.get(around)).id());
      }
      parent[k] = around;
      for (HostId host : spec.hosts()) {
        smallest[host.index()] = k;
      }
    }
    problems.throwIfAny("partitions");
    // Order hosts so that every partition is consecutive: by the path of partitions around them.
    List<List<Integer>> kids = new ArrayList<>();
    for (int k = 0; k < n; k++) {
      kids.add(new ArrayList<>());
    }
    List<Integer> tops = new ArrayList<>();
    for (int k = 0; k < n; k++) {
      (parent[k] < 0 ? tops : kids.get(parent[k])).add(k);
    }
    tops.sort(
        Comparator.comparingInt(
            k -> specs.get(order.get(k)).hosts().stream().mapToInt(HostId::index).min().orElse(0)));
    int[] first = new int[n];
    int[] count = new int[n];
    boolean[] done = new boolean[hostCount];
    int at = 0;
    List<int[]> stack = new ArrayList<>(); // {node, next child}
    for (int top : tops) {
      stack.add(new int[] {top, 0});
      first[top] = at;
      while (!stack.isEmpty()) {
        int[] frame = stack.get(stack.size() - 1);
        List<Integer> below = kids.get(frame[0]);
        if (frame[1] < below.size()) {
          int child = below.get(frame[1]++);
          first[child] = at;
          stack.add(new int[] {child, 0});
          continue;
        }
        List<HostId> hosts = new ArrayList<>(specs.get(order.get(frame[0])).hosts());
        hosts.sort(Comparator.naturalOrder());
        for (HostId host : hosts) {
          if (!done[host.index()]) {
            done[host.index()] = true;
            hostOrderOut[at++] = host.index();
          }
        }
        count[frame[0]] = at - first[frame[0]];
        stack.remove(stack.size() - 1);
      }
    }
    for (int host = 0; host < hostCount; host++) {
      if (!done[host]) {
        hostOrderOut[at++] = host;
      }
    }
    String[] names = new String[n];
    Shape[] shapes = new Shape[n];
    Footprint.@Nullable Box[] boxes = new Footprint.@Nullable Box[n];
    for (int k = 0; k < n; k++) {
      PartitionSpec spec = specs.get(order.get(k));
      names[k] = spec.id();
      shapes[k] = spec.shape();
      boxes[k] = boxOf.apply(spec);
    }
    return new PartitionForest(names, shapes, parent, first, count, boxes);
  }

  /**
   * The number of partitions.
   *
   * @return 0 or more
   */
  public int size() {
    return names.length;
  }

  /**
   * Every partition, in order.
   *
   * @return an unmodifiable list
   */
  public List<PartitionId> ids() {
    return ids;
  }

  /**
   * The partitions of a shape, in order.
   *
   * @param shape a shape in any order of its extents
   * @return an unmodifiable list, perhaps empty
   */
  public List<PartitionId> ofShape(Shape shape) {
    return byShape.getOrDefault(shape.sorted(), List.of());
  }

  /**
   * The number of the smallest partition around a partition.
   *
   * @param id the partition
   * @return its parent's number, or -1 for a root
   */
  public int parentIndex(PartitionId id) {
    return parents[check(id)];
  }

  /**
   * The partitions that lie in no other, in order.
   *
   * @return an unmodifiable list
   */
  public List<PartitionId> roots() {
    return roots;
  }

  /**
   * The platform's id of a partition, or a generated name.
   *
   * @param id the partition
   * @return its name
   */
  public String name(PartitionId id) {
    return names[check(id)];
  }

  /**
   * The partition of a name.
   *
   * @param name a platform's id
   * @return the partition, or empty
   */
  public Optional<PartitionId> byName(String name) {
    return Optional.ofNullable(byName.get(Objects.requireNonNull(name, "name")));
  }

  /**
   * The shape that a partition becomes.
   *
   * @param id the partition
   * @return its shape
   */
  public Shape shape(PartitionId id) {
    return shapes[check(id)];
  }

  /**
   * The smallest partition around a partition.
   *
   * @param id the partition
   * @return its parent, or empty for a root
   */
  public Optional<PartitionId> parent(PartitionId id) {
    int parent = parents[check(id)];
    return parent < 0 ? Optional.empty() : Optional.of(new PartitionId(parent));
  }

  /**
   * The largest partitions inside a partition, in order.
   *
   * @param id the partition
   * @return an unmodifiable list
   */
  public List<PartitionId> children(PartitionId id) {
    return children.get(check(id));
  }

  /**
   * How many partitions lie around a partition.
   *
   * @param id the partition
   * @return 0 for a root
   */
  public int depth(PartitionId id) {
    return depths[check(id)];
  }

  /**
   * The first cell of a partition.
   *
   * @param id the partition
   * @return a cell of the pod
   */
  public int firstCell(PartitionId id) {
    return firstCells[check(id)];
  }

  /**
   * The number of cells of a partition; they are consecutive.
   *
   * @param id the partition
   * @return 1 or more
   */
  public int cellCount(PartitionId id) {
    return cellCounts[check(id)];
  }

  /**
   * Where a partition lies, if the pod's coordinates are known and its hosts fill a box of its
   * shape.
   *
   * @param id the partition
   * @return its box, or empty
   */
  public Optional<Footprint.Box> box(PartitionId id) {
    return Optional.ofNullable(boxes[check(id)]);
  }

  private int check(PartitionId id) {
    if (id.index() < 0 || id.index() >= names.length) {
      throw new InvalidInputException(
          "partition",
          "partition",
          "expected 0 to " + (names.length - 1) + ", but was " + id.index());
    }
    return id.index();
  }
}
