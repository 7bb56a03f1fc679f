package dev.slicewright.solve;

import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The partitions and cubes of one pod in types that a plan need not tell apart. Immutable, safe to
 * share.
 *
 * <p>Two nodes are of one type if they have as many cells, serve the same kinds of slices and have
 * parts of the same types inside; a node that serves nobody gives its place to its parts. So each
 * node of a type has equally many nodes of any other type inside, and counting is exact: whoever
 * takes nodes so that for each type those taken, and those inside larger ones taken, are at most
 * the nodes of the type, can be given nodes by size, largest first, whichever are given. (For
 * partitions that split evenly, all free, these are the rows of divisible sizes: E. G. Coffman, M.
 * R. Garey, D. S. Johnson, "Bin packing with divisible item sizes", Journal of Complexity 3, 1987,
 * doi:10.1016/0885-064X(87)90009-4.) Slices that may use nodes of several types, such as those that
 * take degraded parts, choose a type.
 */
final class NodeTypes {

  /** What makes a type. */
  private record Key(int cells, BitSet serves, List<Integer> inside) {}

  private final PartitionForest forest;
  private final int[] typeOfNode; // -1 where it serves nobody
  private final int[] typeOfCube;
  private final List<Key> keys = new ArrayList<>();
  private final List<List<PartitionId>> nodes = new ArrayList<>(); // by type, in order
  private final int[] counts; // by type: nodes and cubes
  private final List<Map<Integer, Integer>> within = new ArrayList<>();

  private NodeTypes(TpuTopology t, List<BitSet> byWant, List<BitSet> byKind) {
    this.forest = t.partitions().orElseThrow();
    int n = forest.size();
    this.typeOfNode = new int[n];
    this.typeOfCube = new int[t.cubeCount()];
    Map<Key, Integer> known = new HashMap<>();
    List<List<Integer>> tops = new ArrayList<>(Collections.nCopies(n, List.of()));
    // Parents come before their children.
    for (int i = n - 1; i >= 0; i--) {
      PartitionId id = forest.ids().get(i);
      List<Integer> inside = new ArrayList<>();
      for (PartitionId child : forest.children(id)) {
        inside.addAll(tops.get(child.index()));
      }
      typeOfNode[i] = type(forest.cellCount(id), serves(byWant, i, 0), inside, known);
      tops.set(i, typeOfNode[i] < 0 ? inside : List.of(typeOfNode[i]));
    }
    List<List<Integer>> inCube = new ArrayList<>();
    for (int c = 0; c < typeOfCube.length; c++) {
      inCube.add(new ArrayList<>());
    }
    for (PartitionId root : typeOfCube.length == 0 ? List.<PartitionId>of() : forest.roots()) {
      inCube.get(forest.firstCell(root) / t.hostsPerCube()).addAll(tops.get(root.index()));
    }
    for (int c = 0; c < typeOfCube.length; c++) {
      typeOfCube[c] =
          type(t.hostsPerCube(), serves(byKind, c, byWant.size()), inCube.get(c), known);
    }
    this.counts = new int[keys.size()];
    for (int i = 0; i < n; i++) {
      if (typeOfNode[i] >= 0) {
        counts[typeOfNode[i]]++;
        nodes.get(typeOfNode[i]).add(forest.ids().get(i));
      }
    }
    for (int type : typeOfCube) {
      if (type >= 0) {
        counts[type]++;
      }
    }
  }

  /**
   * Sorts the nodes of a pod into types.
   *
   * @param byWant for each kind of slice of one partition, the numbers of those that serve it
   * @param byKind for each kind of slice of whole cubes, the numbers of the cubes that serve it
   * @return the types; null if some partition does not lie in one cube
   */
  static @Nullable NodeTypes of(TpuTopology t, List<BitSet> byWant, List<BitSet> byKind) {
    PartitionForest forest = t.partitions().orElseThrow();
    for (PartitionId root : t.cubeCount() == 0 ? List.<PartitionId>of() : forest.roots()) {
      int last = forest.firstCell(root) + forest.cellCount(root) - 1;
      if (forest.firstCell(root) / t.hostsPerCube() != last / t.hostsPerCube()) {
        return null;
      }
    }
    return new NodeTypes(t, byWant, byKind);
  }

  private static BitSet serves(List<BitSet> by, int node, int base) {
    BitSet out = new BitSet();
    for (int w = 0; w < by.size(); w++) {
      out.set(base + w, by.get(w).get(node));
    }
    return out;
  }

  private int type(int cells, BitSet serves, List<Integer> inside, Map<Key, Integer> known) {
    if (serves.isEmpty()) {
      return -1;
    }
    List<Integer> sorted = new ArrayList<>(inside);
    Collections.sort(sorted);
    Key key = new Key(cells, serves, sorted);
    Integer same = known.putIfAbsent(key, keys.size());
    if (same != null) {
      return same;
    }
    Map<Integer, Integer> all = new TreeMap<>();
    all.put(keys.size(), 1);
    for (int part : sorted) {
      within.get(part).forEach((type, count) -> all.merge(type, count, Math::addExact));
    }
    keys.add(key);
    nodes.add(new ArrayList<>());
    within.add(all);
    return keys.size() - 1;
  }

  /** The number of types. */
  int size() {
    return keys.size();
  }

  /** The nodes of a type: partitions, or cubes. */
  int count(int type) {
    return counts[type];
  }

  /** The cells of a node of a type. */
  int cells(int type) {
    return keys.get(type).cells();
  }

  /** The nodes of each type inside a node of a type, itself among them. */
  Map<Integer, Integer> within(int type) {
    return within.get(type);
  }

  /** The types that serve slices of one partition of a kind, by its place in the list given. */
  int[] serving(int want) {
    int[] out = new int[keys.size()];
    int n = 0;
    for (int type = 0; type < out.length; type++) {
      if (keys.get(type).serves().get(want)) {
        out[n++] = type;
      }
    }
    return Arrays.copyOf(out, n);
  }

  /** The type of a partition; -1 if it serves nobody. */
  int typeOf(PartitionId node) {
    return typeOfNode[node.index()];
  }

  /** The type of a cube; -1 if it serves nobody. */
  int typeOfCube(int cube) {
    return typeOfCube[cube];
  }

  /** The partition of a type that stands for all. */
  PartitionId first(int type) {
    return nodes.get(type).get(0);
  }

  /**
   * Takes a partition of a type whose cells are free.
   *
   * @param taken the cells that are not; those of the partition are added
   * @return the partition, or null if there is none
   */
  @Nullable PartitionId take(int type, BitSet taken) {
    for (PartitionId node : nodes.get(type)) {
      int from = forest.firstCell(node);
      int to = from + forest.cellCount(node);
      int next = taken.nextSetBit(from);
      if (next < 0 || next >= to) {
        taken.set(from, to);
        return node;
      }
    }
    return null;
  }

  /**
   * Spreads what a node of each type costs over its cells, so that whoever takes a node pays for
   * all nodes inside.
   *
   * @param prices by type
   * @param byCell to which it is added
   */
  void spread(long[] prices, int cellsOfCube, long[] byCell) {
    for (int i = 0; i < typeOfNode.length; i++) {
      if (typeOfNode[i] >= 0) {
        PartitionId id = forest.ids().get(i);
        spread(prices[typeOfNode[i]], forest.firstCell(id), forest.cellCount(id), byCell);
      }
    }
    for (int c = 0; c < typeOfCube.length; c++) {
      if (typeOfCube[c] >= 0) {
        spread(prices[typeOfCube[c]], c * cellsOfCube, cellsOfCube, byCell);
      }
    }
  }

  private static void spread(long price, int first, int cells, long[] byCell) {
    long left = price;
    for (int i = 0; i < cells; i++) {
      long share = left / (cells - i);
      byCell[first + i] = Math.addExact(byCell[first + i], share);
      left -= share;
    }
  }
}
