package dev.slicewright.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayDeque;
import java.util.BitSet;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.jgrapht.Graph;
import org.jgrapht.Graphs;
import org.jgrapht.alg.connectivity.ConnectivityInspector;
import org.jgrapht.alg.shortestpath.BFSShortestPath;
import org.jgrapht.alg.shortestpath.GraphMeasurer;
import org.jgrapht.graph.Multigraph;
import org.jgrapht.traverse.BreadthFirstIterator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class IciGraphTest {

  private static final Chip NONE = new Chip(0, 0, 0);

  @ParameterizedTest
  @CsvSource({"4x4x4,6", "4x4x8,8", "4x8x8,10", "8x8x8,12"})
  void diameterOfPlainSliceOfCubesIsTheSumOfHalves(String shape, int diameter) {
    assertThat(diameter(whole(shape, Twist.NONE).graph())).isEqualTo(diameter);
  }

  @ParameterizedTest
  @CsvSource({"4x4x8,6", "4x8x8,8"})
  void defaultTwistShortensTheDiameter(String shape, int diameter) {
    Twist twist = TpuTopology.v5p().twist(Shape.parse(shape)).orElseThrow();
    assertThat(diameter(whole(shape, twist).graph())).isEqualTo(diameter);
  }

  @Test
  void wrapOfXThatShiftsBothOthersIsBetterStillOnOneTwoTwo() {
    Twist twist = new Twist(new Chip(0, 4, 4), NONE, NONE);
    assertThat(diameter(whole("4x8x8", twist).graph())).isEqualTo(6);
  }

  @Test
  void jgraphtMeasuresTheSameDiameters() {
    for (Twist twist : List.of(Twist.NONE, TpuTopology.v5p().twist(Shape.of(4, 4, 8)).get())) {
      Graph<Chip, IciLink> graph = whole("4x4x8", twist).graph();
      assertThat(new GraphMeasurer<>(graph, new BFSShortestPath<>(graph)).getDiameter())
          .isEqualTo(diameter(graph));
    }
  }

  @Test
  void opticalPodFallsApartIntoItsCubes() {
    TpuTopology pod = TpuTopology.v5p();
    ConnectivityInspector<Chip, IciLink> parts = new ConnectivityInspector<>(pod.graph());
    List<Set<Chip>> cubes = parts.connectedSets();
    assertThat(cubes).hasSize(140).allSatisfy(cube -> assertThat(cube).hasSize(64));
    for (Set<Chip> cube : cubes) {
      assertThat(cube.stream().map(pod::cubeOf).distinct()).hasSize(1);
    }
    assertThat(pod.graph().edgeSet())
        .hasSize(140 * 3 * 48)
        .allSatisfy(link -> assertThat(link.medium()).isEqualTo(IciLink.Medium.COPPER))
        .allSatisfy(link -> assertThat(link.wraps()).isFalse());
    assertThat(pod.graph().edgeSet().size()).isEqualTo(140 * 3 * 48);
    assertThat(pod.graph().degreeOf(NONE)).isEqualTo(3);
    assertThat(pod.graph().degreeOf(new Chip(4, 5, 6))).isEqualTo(5);
    assertThat(pod.graph().containsEdge(new Chip(3, 0, 0), new Chip(4, 0, 0))).isFalse();
  }

  /** tpu.md 3.1: 96 optical links leave a cube, and each chip of a torus has 6 links. */
  @Test
  void sliceOfCubesHasNinetySixOpticalEndsPerCube() {
    for (String shape : List.of("4x4x4", "4x4x8", "8x8x8")) {
      LogicalTopology slice = whole(shape, Twist.NONE);
      long optical =
          slice.graph().edgeSet().stream()
              .filter(link -> link.medium() == IciLink.Medium.OPTICAL)
              .count();
      long cubes = slice.shape().chips() / 64;
      assertThat(2 * optical).isEqualTo(AcceleratorType.V4.opticalLinksPerCube() * cubes);
      assertThat(slice.graph().vertexSet())
          .allSatisfy(
              chip ->
                  assertThat(slice.graph().degreeOf(chip))
                      .isEqualTo(AcceleratorType.V4.iciLinksPerChip()));
    }
  }

  @Test
  void wrappingAxisOfTwoJoinsItsChipsTwice() {
    TpuTopology pod = TpuTopology.torusBuilder(2, 1).hostTile(Shape.of(1, 1)).build();
    Graph<Chip, IciLink> graph = pod.graph();
    Chip b = new Chip(1, 0, 0);
    assertThat(graph.edgeSet()).hasSize(2);
    assertThat(graph.getAllEdges(NONE, b)).hasSize(2).isEqualTo(graph.getAllEdges(b, NONE));
    assertThat(graph.degreeOf(b)).isEqualTo(2);
    assertThat(graph.getEdge(NONE, b).from()).isEqualTo(NONE);
    assertThat(graph.containsEdge(NONE, NONE)).isFalse();
  }

  @Test
  void typeSaysWhatItIs() {
    Graph<Chip, IciLink> graph = TpuTopology.v6e().graph();
    assertThat(graph.getType().isUndirected()).isTrue();
    assertThat(graph.getType().isWeighted()).isFalse();
    assertThat(graph.getType().isAllowingMultipleEdges()).isTrue();
    assertThat(graph.getType().isAllowingSelfLoops()).isFalse();
    assertThat(graph.getType().isModifiable()).isFalse();
    IciLink link = graph.edgeSet().iterator().next();
    assertThat(graph.getEdgeWeight(link)).isEqualTo(1.0);
    assertThat(graph.getVertexSupplier()).isNull();
    assertThat(graph.getEdgeSupplier()).isNull();
    assertThat(graph.toString()).contains("16x16", "256", "512");
    assertThat(graph).isEqualTo(TpuTopology.v6e().graph());
    assertThat(graph.hashCode()).isEqualTo(TpuTopology.v6e().graph().hashCode());
    assertThat(graph).isNotEqualTo(TpuTopology.v4().graph());
  }

  @Test
  void strangersAreNotInIt() {
    Graph<Chip, IciLink> graph = TpuTopology.v6e().graph();
    Chip outside = new Chip(16, 0, 0);
    assertThat(graph.containsVertex(outside)).isFalse();
    assertThat(graph.containsVertex(new Chip(0, 0, 1))).isFalse();
    assertThat(graph.containsVertex(new Chip(-1, 0, 0))).isFalse();
    Set<?> chips = graph.vertexSet();
    Set<?> links = graph.edgeSet();
    assertThat(chips.contains("x")).isFalse();
    assertThat(links.contains("x")).isFalse();
    assertThat(graph.getEdge(outside, NONE)).isNull();
    assertThat(graph.getEdge(null, NONE)).isNull();
    assertThat(graph.getAllEdges(NONE, outside)).isNull();
    assertThat(graph.containsEdge(NONE, outside)).isFalse();
    assertThatThrownBy(() -> graph.edgesOf(outside)).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> graph.degreeOf(outside)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void everyChangeIsRefusedWithAWayOut() {
    Graph<Chip, IciLink> graph = TpuTopology.v6e().graph();
    Chip next = new Chip(1, 0, 0);
    IciLink link = graph.getEdge(NONE, next);
    List<ThrowingCallable> changes =
        List.of(
            () -> graph.addVertex(),
            () -> graph.addVertex(NONE),
            () -> graph.addEdge(NONE, next),
            () -> graph.addEdge(NONE, next, link),
            () -> graph.removeEdge(link),
            () -> graph.removeEdge(NONE, next),
            () -> graph.removeVertex(NONE),
            () -> graph.removeAllEdges(NONE, next),
            () -> graph.removeAllEdges(List.of(link)),
            () -> graph.removeAllVertices(List.of(NONE)),
            () -> graph.setEdgeWeight(link, 2),
            () -> graph.setEdgeWeight(NONE, next, 2));
    for (ThrowingCallable change : changes) {
      assertThatExceptionOfType(UnsupportedOperationException.class)
          .isThrownBy(change)
          .withMessageContaining("read-only")
          .withMessageContaining("Copy");
    }
    assertThatThrownBy(() -> graph.vertexSet().remove(NONE))
        .isInstanceOf(UnsupportedOperationException.class);
    assertThatThrownBy(() -> graph.edgeSet().clear())
        .isInstanceOf(UnsupportedOperationException.class);
    assertThatThrownBy(() -> graph.edgesOf(NONE).remove(link))
        .isInstanceOf(UnsupportedOperationException.class);
  }

  @Test
  void copyMayBeChanged() {
    Multigraph<Chip, IciLink> copy = new Multigraph<>(IciLink.class);
    Graphs.addGraph(copy, TpuTopology.v6e().graph());
    assertThat(copy.edgeSet()).hasSize(512);
    copy.removeVertex(NONE);
    assertThat(copy.edgeSet()).hasSize(508);
    assertThat(new ConnectivityInspector<>(copy).isConnected()).isTrue();
  }

  @Test
  void meshHasNoWrap() {
    TpuTopology mesh = TpuTopology.torusBuilder(4, 4).mesh().build();
    assertThat(mesh.graph().edgeSet()).hasSize(24).noneMatch(IciLink::wraps);
    assertThat(diameter(mesh.graph())).isEqualTo(6);
  }

  @Test
  void chipsOfTheLargestPodDifferInHash() {
    TpuTopology pod = TpuTopology.torus(64, 256, 256);
    BitSet low = new BitSet();
    int collisions = 0;
    for (int i = 0; i < pod.chipCount(); i += 37) {
      int h = pod.chip(i).hashCode();
      int slot = (h ^ h >>> 16) & ((1 << 18) - 1); // as a HashMap of this many keys does
      collisions += low.get(slot) ? 1 : 0;
      low.set(slot);
    }
    assertThat(collisions).isLessThan(pod.chipCount() / 37 / 2);
  }

  @Tag("slow")
  @Test
  void largestPodIsWalkedInOneGo() {
    Graph<Chip, IciLink> graph = TpuTopology.torus(64, 256, 256).graph();
    assertThat(graph.edgeSet().size()).isEqualTo(3 * 64 * 256 * 256);
    BreadthFirstIterator<Chip, IciLink> walk = new BreadthFirstIterator<>(graph, NONE);
    int seen = 0;
    Chip last = NONE;
    while (walk.hasNext()) {
      last = walk.next();
      seen++;
    }
    assertThat(seen).isEqualTo(64 * 256 * 256);
    assertThat(walk.getDepth(last)).isEqualTo(32 + 128 + 128);
  }

  static LogicalTopology whole(String shape, Twist twist) {
    return new LogicalTopology(Shape.parse(shape), true, true, true, twist, 4);
  }

  /** A search from every chip: twisted tori look the same from all, meshes do not. */
  static int diameter(Graph<Chip, IciLink> graph) {
    int diameter = 0;
    for (Chip from : graph.vertexSet()) {
      Map<Chip, Integer> depth = new HashMap<>();
      Deque<Chip> queue = new ArrayDeque<>();
      depth.put(from, 0);
      queue.add(from);
      while (!queue.isEmpty()) {
        Chip at = queue.remove();
        for (IciLink link : graph.edgesOf(at)) {
          Chip to = Graphs.getOppositeVertex(graph, link, at);
          if (depth.putIfAbsent(to, depth.get(at) + 1) == null) {
            queue.add(to);
          }
        }
      }
      assertThat(depth).hasSize(graph.vertexSet().size());
      diameter = Math.max(diameter, depth.values().stream().mapToInt(d -> d).max().orElse(0));
    }
    return diameter;
  }
}
