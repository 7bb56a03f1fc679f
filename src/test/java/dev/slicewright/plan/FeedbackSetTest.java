package dev.slicewright.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.jgrapht.Graph;
import org.jgrapht.graph.DefaultDirectedGraph;
import org.jgrapht.graph.DefaultEdge;
import org.junit.jupiter.api.Test;

class FeedbackSetTest {

  private static Graph<Integer, DefaultEdge> random(int n, double density, Random random) {
    Graph<Integer, DefaultEdge> graph = new DefaultDirectedGraph<>(DefaultEdge.class);
    for (int i = 0; i < n; i++) {
      graph.addVertex(i);
    }
    for (int i = 0; i < n; i++) {
      for (int k = 0; k < n; k++) {
        if (i != k && random.nextDouble() < density) {
          graph.addEdge(i, k);
        }
      }
    }
    return graph;
  }

  private static Set<Integer> without(int n, int mask) {
    Set<Integer> left = new TreeSet<>();
    for (int i = 0; i < n; i++) {
      if ((mask & 1 << i) == 0) {
        left.add(i);
      }
    }
    return left;
  }

  @Test
  void smallSetsAreTheCheapest() {
    for (long seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      int n = 2 + random.nextInt(6);
      Graph<Integer, DefaultEdge> graph = random(n, 0.4, random);
      long[] first = random.longs(n, 0, 3).toArray();
      long[] second = random.longs(n, 1, 6).toArray();
      Set<Integer> chosen = FeedbackSet.of(graph, without(n, 0), first, second);
      long best = Long.MAX_VALUE;
      for (int mask = 0; mask < 1 << n; mask++) {
        if (FeedbackSet.components(graph, without(n, mask)).isEmpty()) {
          long weight = 0;
          for (int i = 0; i < n; i++) {
            weight += (mask & 1 << i) != 0 ? 1_000 * first[i] + second[i] : 0;
          }
          best = Math.min(best, weight);
        }
      }
      long weight = chosen.stream().mapToLong(i -> 1_000 * first[i] + second[i]).sum();
      Set<Integer> left = without(n, 0);
      left.removeAll(chosen);
      assertThat(FeedbackSet.components(graph, left)).isEmpty();
      assertThat(weight).as("seed %d", seed).isEqualTo(best);
    }
  }

  @Test
  void largeSetsBreakEveryCycleAndNoVertexIsNeedless() {
    for (long seed = 0; seed < 10; seed++) {
      Random random = new Random(seed);
      int n = 60;
      Graph<Integer, DefaultEdge> graph = random(n, 0.06, random);
      long[] first = new long[n];
      long[] second = random.longs(n, 1, 100).toArray();
      Set<Integer> all = new TreeSet<>(graph.vertexSet());
      Set<Integer> chosen = FeedbackSet.of(graph, all, first, second);
      Set<Integer> left = new TreeSet<>(all);
      left.removeAll(chosen);
      assertThat(FeedbackSet.components(graph, left)).isEmpty();
      for (int v : chosen) {
        Set<Integer> more = new TreeSet<>(left);
        more.add(v);
        assertThat(FeedbackSet.components(graph, more)).as("seed %d", seed).isNotEmpty();
      }
    }
  }
}
