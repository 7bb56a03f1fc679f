package dev.slicewright.formulation.ortools;

import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Row;
import dev.slicewright.formulation.PlacementModel.Term;
import dev.slicewright.formulation.ortools.ItemClasses.GroupKey;
import dev.slicewright.formulation.ortools.ItemClasses.ItemClass;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A placement model whose cells nest, as one over counts, and the way back. Immutable, safe to
 * share.
 *
 * <p>A <i>node</i> is a set of cells that some candidate takes. Where any two nodes that overlap
 * nest, the nodes are a forest, and nodes are of one <i>type</i> if they have as many cells, serve
 * the same items in the same way, and have children of the same types. Each node of a type then
 * contains equally many nodes of any other, so that cells can be replaced by one row a type:
 *
 * <p>the candidates on nodes of the type, and for each on a larger node the nodes of the type
 * within it, are at most the nodes of the type.
 *
 * <p>These rows are exact. They are necessary, since what they count are distinct nodes. They
 * suffice: give out nodes by size, largest first; when a type's turn comes, exactly the nodes
 * counted are taken, and whichever of the others are chosen, equally many smaller ones are left.
 * (For partitions that split evenly these are the rows of divisible sizes: Coffman, Garey and
 * Johnson 1987.) Candidates of one item on nodes of one type that differ in nothing else become
 * one, a <i>pattern</i>; what the group does not ask for (shape, pod, domain) is no difference.
 *
 * <p>Cells of nodes that overlap without nesting stay as they are. O(n log n) for n cells, gains
 * and terms in the candidates.
 */
final class CountModel {

  /** Some way of serving an item. */
  private record Pattern(
      int type, int node, int firstWay, Candidate as, Map<Integer, Integer> ways) {}

  /** All of a candidate that counts, but for its cells. */
  private record Props(
      List<Long> gains, Map<Integer, Long> terms, int shape, int pod, int domain, boolean moves) {}

  /** The only candidate of an item that is alone: which node it has does not matter. */
  private record Private(GroupKey group, Props props) {}

  private record Served(int itemClass, Props props) {}

  private record Type(int size, List<Integer> serves, List<Integer> children) {}

  private record PatternKey(int type, int node, Props props) {}

  private final PlacementModel full;
  private final ItemClasses classes;
  private final PlacementModel counted;
  private final boolean nests;
  private final List<List<Pattern>> patterns = new ArrayList<>(); // by class
  private final int[][] patternOfWay; // by class
  private final int[] firstCandidate; // by item: its first in the counted model
  private final int[] patternOf; // by counted candidate: its index within its class
  private final int[] placeInClass; // by item

  // The forest.
  private final List<int[]> nodes = new ArrayList<>();
  private final int[] typeOf; // by node, -1 where it does not nest
  private final List<List<Integer>> nodesOfType = new ArrayList<>();
  private final List<Type> types = new ArrayList<>();
  private final Map<Integer, Map<Private, List<Integer>>> privates = new HashMap<>(); // by node
  private final @Nullable Private[] privateOfClass;

  private CountModel(PlacementModel full) {
    this.full = full;
    this.classes = ItemClasses.of(full);
    int count = classes.all().size();
    int[][] nodeOfWay = internNodes();
    Props[][] props = new Props[count][];
    this.privateOfClass = new Private[count];
    for (int k = 0; k < count; k++) {
      ItemClass c = classes.all().get(k);
      Group group = full.groups().get(c.group());
      props[k] = new Props[c.ways().length];
      for (int w = 0; w < props[k].length; w++) {
        props[k][w] = props(full.candidates().get(c.ways()[w]), group, c.loose());
      }
      if (c.loose() && c.size() == 1 && props[k].length == 1 && nodeOfWay[k][0] >= 0) {
        privateOfClass[k] = new Private(new GroupKey(group), props[k][0]);
      }
    }
    this.typeOf = new int[nodes.size()];
    this.nests = forest(nodeOfWay, props);

    // Patterns, and the counted model.
    this.patternOfWay = new int[count][];
    PlacementModel.Builder b = PlacementModel.builder(nests ? 0 : full.cellCount(), full.levels());
    full.rows().forEach(b::row);
    int[] rowOfType = new int[types.size()];
    List<Map<Integer, Long>> within = new ArrayList<>(); // by type: nodes of others in one node
    for (int t = 0; t < types.size(); t++) {
      rowOfType[t] = b.row(new Row("nodes of type " + t, nodesOfType.get(t).size()));
      Map<Integer, Long> inside = new TreeMap<>();
      for (int child : types.get(t).children()) { // their numbers are smaller
        inside.merge(child, 1L, Math::addExact);
        within.get(child).forEach((type, n) -> inside.merge(type, n, Math::addExact));
      }
      within.add(inside);
    }
    for (int k = 0; k < count; k++) {
      patterns.add(patternsOf(k, nodeOfWay[k], props[k], rowOfType, within));
    }
    full.groups().forEach(b::group);
    full.items().forEach(b::item);
    full.unions().forEach(b::union);
    this.placeInClass = new int[full.items().size()];
    this.firstCandidate = new int[full.items().size()];
    for (ItemClass c : classes.all()) {
      for (int p = 0; p < c.size(); p++) {
        placeInClass[c.items()[p]] = p;
      }
    }
    int total = 0;
    for (int i = 0; i < firstCandidate.length; i++) {
      total += patterns.get(classes.classOfItem(i)).size();
    }
    this.patternOf = new int[total];
    for (int i = 0, at = 0; i < firstCandidate.length; i++) {
      firstCandidate[i] = at;
      List<Pattern> own = patterns.get(classes.classOfItem(i));
      for (int p = 0; p < own.size(); p++) {
        Candidate as = own.get(p).as();
        patternOf[at++] = p;
        b.candidate(
            new Candidate(
                i,
                as.cells(),
                as.gains(),
                as.terms(),
                as.shape(),
                as.pod(),
                as.domain(),
                as.moves(),
                null));
      }
    }
    this.counted = b.build();
  }

  static CountModel of(PlacementModel model) {
    return new CountModel(model);
  }

  /** Whether these are the counts of that very model. */
  boolean isOf(PlacementModel model) {
    return full == model;
  }

  /** The model over counts: same items, groups and levels. */
  PlacementModel model() {
    return counted;
  }

  /** Whether all nodes nest, so that no cells are left. */
  boolean nests() {
    return nests;
  }

  /** Types of nodes. */
  int types() {
    return types.size();
  }

  // ---- there -----------------------------------------------------------------------------------

  private int[][] internNodes() {
    Map<CellsKey, Integer> numbers = new HashMap<>();
    int[][] nodeOfWay = new int[classes.all().size()][];
    for (int k = 0; k < nodeOfWay.length; k++) {
      int[] ways = classes.all().get(k).ways();
      nodeOfWay[k] = new int[ways.length];
      for (int w = 0; w < ways.length; w++) {
        int[] cells = full.candidates().get(ways[w]).cells();
        nodeOfWay[k][w] = -1;
        if (cells.length > 0) {
          Integer known = numbers.putIfAbsent(new CellsKey(cells), nodes.size());
          nodeOfWay[k][w] = known == null ? nodes.size() : known;
          if (known == null) {
            nodes.add(cells);
          }
        }
      }
    }
    return nodeOfWay;
  }

  /** Finds parents and types; returns whether all nodes nest. */
  private boolean forest(int[][] nodeOfWay, Props[][] props) {
    int[] component = new int[full.cellCount()];
    Arrays.setAll(component, i -> i);
    for (int[] cells : nodes) {
      for (int cell : cells) {
        component[root(component, cell)] = root(component, cells[0]);
      }
    }
    Integer[] bySize = new Integer[nodes.size()];
    Arrays.setAll(bySize, i -> i);
    Arrays.sort(bySize, Comparator.comparingInt((Integer n) -> -nodes.get(n).length));
    int[] owner = new int[full.cellCount()]; // the smallest node so far, or -1
    Arrays.fill(owner, -1);
    int[] parent = new int[nodes.size()];
    boolean[] tangled = new boolean[full.cellCount()]; // by component
    boolean any = false;
    for (int n : bySize) {
      int[] cells = nodes.get(n);
      parent[n] = owner[cells[0]];
      for (int cell : cells) {
        if (owner[cell] != parent[n]) {
          tangled[root(component, cell)] = true;
          any = true;
        }
        owner[cell] = n;
      }
    }
    // What each node serves, as numbers.
    Map<Object, Integer> numbers = new HashMap<>();
    List<List<Integer>> serves = new ArrayList<>();
    List<List<Integer>> children = new ArrayList<>();
    for (int n = 0; n < nodes.size(); n++) {
      serves.add(new ArrayList<>());
      children.add(new ArrayList<>());
    }
    for (int k = 0; k < nodeOfWay.length; k++) {
      for (int w = 0; w < nodeOfWay[k].length; w++) {
        int n = nodeOfWay[k][w];
        if (n >= 0) {
          Private own = privateOfClass[k];
          Object what = own != null ? own : new Served(k, props[k][w]);
          serves.get(n).add(numbers.computeIfAbsent(what, x -> numbers.size()));
          if (own != null) {
            privates
                .computeIfAbsent(n, x -> new HashMap<>())
                .computeIfAbsent(own, x -> new ArrayList<>())
                .add(k);
          }
        }
      }
    }
    Map<Type, Integer> known = new HashMap<>();
    for (int i = bySize.length - 1; i >= 0; i--) { // children come before parents
      int n = bySize[i];
      typeOf[n] = -1;
      if (tangled[root(component, nodes.get(n)[0])]) {
        continue;
      }
      serves.get(n).sort(null);
      children.get(n).sort(null);
      Type type = new Type(nodes.get(n).length, serves.get(n), children.get(n));
      Integer number = known.putIfAbsent(type, types.size());
      if (number == null) {
        number = types.size();
        types.add(type);
        nodesOfType.add(new ArrayList<>());
      }
      typeOf[n] = number;
      nodesOfType.get(number).add(n);
      if (parent[n] >= 0) {
        children.get(parent[n]).add(number);
      }
    }
    return !any;
  }

  private static int root(int[] component, int of) {
    int at = of;
    while (component[at] != at) {
      component[at] = component[component[at]];
      at = component[at];
    }
    return at;
  }

  private static Props props(Candidate c, Group group, boolean loose) {
    boolean pods = !loose && (group.samePod() || group.differentPods());
    return new Props(
        Arrays.stream(c.gains()).boxed().toList(),
        ItemClasses.sum(c.terms()),
        !loose && group.sameShape() ? c.shape() : 0,
        pods ? c.pod() : 0,
        !loose && group.maxPerDomain() > 0 ? c.domain() : 0,
        c.moves());
  }

  private List<Pattern> patternsOf(
      int k, int[] nodeOfWay, Props[] props, int[] rowOfType, List<Map<Integer, Long>> within) {
    Map<PatternKey, Integer> index = new LinkedHashMap<>();
    List<Pattern> own = new ArrayList<>();
    patternOfWay[k] = new int[nodeOfWay.length];
    for (int w = 0; w < nodeOfWay.length; w++) {
      int node = nodeOfWay[w];
      int type = node < 0 ? -1 : typeOf[node];
      int kept = node >= 0 && type < 0 ? node : -1; // its cells stay
      PatternKey key = new PatternKey(type, kept, props[w]);
      Integer known = index.putIfAbsent(key, own.size());
      if (known == null) {
        known = own.size();
        List<Term> terms = new ArrayList<>();
        props[w].terms().forEach((row, a) -> terms.add(new Term(row, a)));
        if (type >= 0) {
          terms.add(new Term(rowOfType[type], 1));
          within.get(type).forEach((other, n) -> terms.add(new Term(rowOfType[other], n)));
        }
        Candidate c = full.candidates().get(classes.all().get(k).ways()[w]);
        own.add(
            new Pattern(
                type,
                kept,
                w,
                new Candidate(
                    0,
                    kept >= 0 ? c.cells() : new int[0],
                    c.gains(),
                    List.copyOf(terms),
                    props[w].shape(),
                    props[w].pod(),
                    props[w].domain(),
                    c.moves(),
                    null),
                new HashMap<>()));
      }
      patternOfWay[k][w] = known;
      own.get(known).ways().putIfAbsent(node, w);
    }
    return own;
  }

  // ---- back ------------------------------------------------------------------------------------

  /** A solution of the model as one of the counted model; -1 where it has no such candidate. */
  int[] toCounted(int[] chosen) {
    int[] out = new int[chosen.length];
    for (int i = 0; i < out.length; i++) {
      int c = chosen[i];
      boolean valid =
          i < firstCandidate.length
              && c >= 0
              && c < full.candidates().size()
              && full.candidates().get(c).item() == i;
      out[i] =
          valid
              ? firstCandidate[i] + patternOfWay[classes.classOfItem(i)][classes.wayOfCandidate(c)]
              : c < 0 ? c : Integer.MAX_VALUE;
    }
    return out;
  }

  /** A solution of the counted model as one of the model; null if nodes run out: it is none. */
  int @Nullable [] toFull(int[] chosen) {
    int[] out = new int[chosen.length];
    Arrays.fill(out, -1);
    List<List<Integer>> byType = new ArrayList<>();
    types.forEach(t -> byType.add(new ArrayList<>()));
    for (int i = 0; i < chosen.length; i++) {
      if (chosen[i] >= 0) {
        int k = classes.classOfItem(i);
        Pattern pattern = patterns.get(k).get(patternOf[chosen[i]]);
        if (pattern.type() >= 0) {
          byType.get(pattern.type()).add(i);
        } else {
          out[i] = classes.all().get(k).copies()[placeInClass[i]][pattern.firstWay()];
        }
      }
    }
    boolean[] taken = new boolean[full.cellCount()];
    for (int t = types.size() - 1; t >= 0; t--) { // larger ones have larger numbers
      int next = 0;
      List<Integer> of = nodesOfType.get(t);
      for (int i : byType.get(t)) {
        // Only nodes of this size or larger are taken so far: all of a node is, or nothing.
        while (next < of.size() && taken[nodes.get(of.get(next))[0]]) {
          next++;
        }
        if (next == of.size()) {
          return null;
        }
        int node = of.get(next);
        for (int cell : nodes.get(node)) {
          taken[cell] = true;
        }
        int k = classes.classOfItem(i);
        Private own = privateOfClass[k];
        if (own == null) {
          Pattern pattern = patterns.get(k).get(patternOf[chosen[i]]);
          Integer way = pattern.ways().get(node);
          if (way == null) {
            return null;
          }
          out[i] = classes.all().get(k).copies()[placeInClass[i]][way];
        } else { // the one of its kind that has this node
          List<Integer> there = privates.getOrDefault(node, Map.of()).getOrDefault(own, List.of());
          if (there.isEmpty()) {
            return null;
          }
          ItemClass c = classes.all().get(there.get(0));
          out[c.items()[0]] = c.copies()[0][0];
        }
      }
    }
    return out;
  }

  private record CellsKey(int[] cells) {
    @Override
    public boolean equals(Object other) {
      return other instanceof CellsKey that && Arrays.equals(cells, that.cells);
    }

    @Override
    public int hashCode() {
      return Arrays.hashCode(cells);
    }
  }
}
