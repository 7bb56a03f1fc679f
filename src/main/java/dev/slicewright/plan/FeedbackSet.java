package dev.slicewright.plan;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.jgrapht.Graph;
import org.jgrapht.alg.connectivity.KosarajuStrongConnectivityInspector;
import org.jgrapht.graph.AsSubgraph;
import org.jgrapht.graph.DefaultEdge;

/**
 * Vertices of least weight whose removal leaves a directed graph without cycles: a feedback vertex
 * set. Weights are pairs, compared by their first, then by their second parts. Confined to one
 * thread at a time.
 *
 * <p>The problem is NP-hard (Karp, "Reducibility among combinatorial problems", 1972, there
 * "feedback node set"). Components of at most {@value #EXACT} vertices are solved exactly: take a
 * shortest cycle, branch on which of its vertices goes, keep those tried before, and cut where the
 * weight is no less than the best. At most 2^{@value #EXACT} nodes. Larger components lose the
 * vertex of least weight per product of its degrees until what is left is small; then vertices that
 * turn out needless are taken back. O(n²·m) there.
 */
final class FeedbackSet {

  /** The most vertices of a component that is solved exactly. */
  static final int EXACT = 16;

  private final int[] out; // of the component being solved, by local number
  private final long[] first;
  private final long[] second;
  private int best;
  private long bestFirst = Long.MAX_VALUE;
  private long bestSecond = Long.MAX_VALUE;

  private FeedbackSet(int[] out, long[] first, long[] second) {
    this.out = out;
    this.first = first;
    this.second = second;
  }

  /**
   * The set.
   *
   * @param graph without loops
   * @param within the vertices to look at
   * @param first the more important part of each vertex's weight, 0 or more, by vertex
   * @param second the other part, likewise
   * @return ascending
   */
  static Set<Integer> of(
      Graph<Integer, DefaultEdge> graph, Set<Integer> within, long[] first, long[] second) {
    Set<Integer> chosen = new TreeSet<>();
    boolean greedy = false;
    Deque<Set<Integer>> open = new ArrayDeque<>();
    open.add(within);
    while (!open.isEmpty()) {
      Set<Integer> part = open.remove();
      for (Set<Integer> component : components(graph, part)) {
        if (component.size() <= EXACT) {
          exact(graph, new ArrayList<>(new TreeSet<>(component)), first, second, chosen);
        } else {
          int vertex = cheapest(graph, component, first, second);
          chosen.add(vertex);
          Set<Integer> rest = new TreeSet<>(component);
          rest.remove(vertex);
          open.add(rest);
          greedy = true;
        }
      }
    }
    if (greedy) {
      List<Integer> dear = new ArrayList<>(chosen);
      dear.sort(
          Comparator.<Integer>comparingLong(v -> first[v])
              .thenComparingLong(v -> second[v])
              .reversed());
      for (int vertex : dear) {
        Set<Integer> left = new TreeSet<>(within);
        left.removeAll(chosen);
        left.add(vertex);
        if (components(graph, left).isEmpty()) {
          chosen.remove(vertex);
        }
      }
    }
    return Collections.unmodifiableSet(chosen);
  }

  /** The strongly connected components of more than one vertex. */
  static List<Set<Integer>> components(Graph<Integer, DefaultEdge> graph, Set<Integer> within) {
    return new KosarajuStrongConnectivityInspector<>(new AsSubgraph<>(graph, within))
        .stronglyConnectedSets().stream().filter(set -> set.size() > 1).toList();
  }

  private static int cheapest(
      Graph<Integer, DefaultEdge> graph, Set<Integer> component, long[] first, long[] second) {
    Graph<Integer, DefaultEdge> g = new AsSubgraph<>(graph, component);
    int best = -1;
    double bestFirst = 0;
    double bestSecond = 0;
    for (int v : new TreeSet<>(component)) {
      double degrees = (double) g.inDegreeOf(v) * g.outDegreeOf(v);
      double a = first[v] / degrees;
      double b = second[v] / degrees;
      if (best < 0 || a < bestFirst || a == bestFirst && b < bestSecond) {
        best = v;
        bestFirst = a;
        bestSecond = b;
      }
    }
    return best;
  }

  private static void exact(
      Graph<Integer, DefaultEdge> graph,
      List<Integer> vertices,
      long[] first,
      long[] second,
      Set<Integer> chosen) {
    int n = vertices.size();
    int[] out = new int[n];
    long[] a = new long[n];
    long[] b = new long[n];
    for (int i = 0; i < n; i++) {
      a[i] = first[vertices.get(i)];
      b[i] = second[vertices.get(i)];
      for (int k = 0; k < n; k++) {
        out[i] |= graph.containsEdge(vertices.get(i), vertices.get(k)) ? 1 << k : 0;
      }
    }
    FeedbackSet search = new FeedbackSet(out, a, b);
    search.branch((1 << n) - 1, 0, 0, 0, 0);
    for (int i = 0; i < n; i++) {
      if ((search.best & 1 << i) != 0) {
        chosen.add(vertices.get(i));
      }
    }
  }

  private void branch(int left, int kept, int gone, long sumFirst, long sumSecond) {
    if (sumFirst > bestFirst || sumFirst == bestFirst && sumSecond >= bestSecond) {
      return;
    }
    int cycle = shortestCycle(left);
    if (cycle == 0) {
      best = gone;
      bestFirst = sumFirst;
      bestSecond = sumSecond;
      return;
    }
    int tried = kept;
    for (int rest = cycle & ~kept; rest != 0; rest &= rest - 1) {
      int v = Integer.numberOfTrailingZeros(rest);
      branch(
          left & ~(1 << v),
          tried,
          gone | 1 << v,
          Math.addExact(sumFirst, first[v]),
          Math.addExact(sumSecond, second[v]));
      tried |= 1 << v;
    }
  }

  /** The vertices of a shortest cycle, or 0. */
  private int shortestCycle(int left) {
    int found = 0;
    int length = Integer.MAX_VALUE;
    int[] parent = new int[out.length];
    for (int rest = left; rest != 0 && length > 2; rest &= rest - 1) {
      int root = Integer.numberOfTrailingZeros(rest);
      Arrays.fill(parent, -1);
      int level = 1 << root;
      int seen = level;
      for (int depth = 1; level != 0 && depth < length; depth++) {
        int next = 0;
        for (int l = level; l != 0; l &= l - 1) {
          int v = Integer.numberOfTrailingZeros(l);
          if ((out[v] & 1 << root) != 0) {
            found = 0;
            for (int at = v; at >= 0; at = parent[at]) {
              found |= 1 << at;
            }
            length = depth;
            break;
          }
          for (int fresh = out[v] & left & ~seen; fresh != 0; fresh &= fresh - 1) {
            int to = Integer.numberOfTrailingZeros(fresh);
            parent[to] = v;
            seen |= 1 << to;
            next |= 1 << to;
          }
        }
        level = next;
      }
    }
    return found;
  }
}
