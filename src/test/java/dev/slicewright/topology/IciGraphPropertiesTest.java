package dev.slicewright.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.jgrapht.Graph;
import org.jgrapht.alg.connectivity.ConnectivityInspector;

/** The views against lists of links made the slow way. */
class IciGraphPropertiesTest {

  @Property(tries = 300, edgeCases = EdgeCasesMode.NONE)
  void logicalGraphHasExactlyTheLinksOfTheRules(@ForAll("logical") LogicalTopology topology) {
    assertSame(topology.graph(), topology.shape(), links(topology));
  }

  @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
  void wiredPodHasExactlyTheLinksOfTheRules(@ForAll("wired") TpuTopology pod) {
    LogicalTopology same =
        new LogicalTopology(
            pod.dims(), pod.wraps(Axis.X), pod.wraps(Axis.Y), pod.wraps(Axis.Z), Twist.NONE, 0);
    assertSame(pod.graph(), pod.dims(), links(same));
    assertThat(pod.graph().edgeSet()).isEqualTo(same.graph().edgeSet());
  }

  @Property(tries = 100, edgeCases = EdgeCasesMode.NONE)
  void wiredPodIsConnected(@ForAll("wired") TpuTopology pod) {
    assertThat(new ConnectivityInspector<>(pod.graph()).isConnected()).isTrue();
  }

  /** Every link by the definition: passing the end adds the shift. */
  private static List<IciLink> links(LogicalTopology t) {
    Shape s = t.shape();
    List<IciLink> links = new ArrayList<>();
    for (int z = 0; z < s.z(); z++) {
      for (int y = 0; y < s.y(); y++) {
        for (int x = 0; x < s.x(); x++) {
          for (Axis axis : Axis.values()) {
            int[] at = {x, y, z};
            int a = axis.ordinal();
            int next = at[a] + 1;
            boolean wrap = next == s.get(axis);
            if (s.get(axis) == 1 || wrap && !t.wraps(axis)) {
              continue;
            }
            int[] to = at.clone();
            to[a] = wrap ? 0 : next;
            if (wrap) {
              Chip shift = t.twist().shift(axis);
              to[0] = (to[0] + shift.x()) % s.x();
              to[1] = (to[1] + shift.y()) % s.y();
              to[2] = (to[2] + shift.z()) % s.z();
            }
            boolean optical = t.opticalEvery() > 0 && (wrap || next % t.opticalEvery() == 0);
            links.add(
                new IciLink(
                    new Chip(x, y, z),
                    axis,
                    new Chip(to[0], to[1], to[2]),
                    wrap,
                    optical ? IciLink.Medium.OPTICAL : IciLink.Medium.COPPER));
          }
        }
      }
    }
    return links;
  }

  static void assertSame(Graph<Chip, IciLink> graph, Shape shape, List<IciLink> links) {
    assertThat(graph.vertexSet()).hasSize((int) shape.chips()).doesNotHaveDuplicates();
    assertThat(graph.edgeSet()).hasSize(links.size()); // iterates: size() is checked below
    assertThat(new ArrayList<>(graph.edgeSet())).isEqualTo(links);
    assertThat(graph.edgeSet().size()).isEqualTo(links.size());
    assertThat(graph.iterables().edgeCount()).isEqualTo(links.size());
    assertThat(graph.iterables().vertexCount()).isEqualTo(shape.chips());
    int degrees = 0;
    List<Chip> chips = new ArrayList<>(graph.vertexSet());
    for (Chip chip : chips) {
      Set<IciLink> around = new HashSet<>();
      for (IciLink link : links) {
        if (link.from().equals(chip) || link.to().equals(chip)) {
          around.add(link);
        }
      }
      assertThat(graph.edgesOf(chip)).isEqualTo(around).hasSameSizeAs(around);
      assertThat(graph.incomingEdgesOf(chip)).isEqualTo(around);
      assertThat(graph.outgoingEdgesOf(chip)).isEqualTo(around);
      assertThat(graph.degreeOf(chip)).isEqualTo(around.size());
      assertThat(graph.inDegreeOf(chip)).isEqualTo(around.size());
      assertThat(graph.outDegreeOf(chip)).isEqualTo(around.size());
      degrees += around.size();
      for (Chip other : List.of(chips.get(0), chips.get(chips.size() / 2), neighbour(around))) {
        Set<IciLink> between = new HashSet<>(around);
        between.removeIf(
            k ->
                !(k.from().equals(chip) && k.to().equals(other)
                    || k.from().equals(other) && k.to().equals(chip)));
        assertThat(graph.getAllEdges(chip, other)).isEqualTo(between);
        assertThat(graph.containsEdge(chip, other)).isEqualTo(!between.isEmpty());
        if (between.isEmpty()) {
          assertThat(graph.getEdge(chip, other)).isNull();
        } else {
          assertThat(between).contains(graph.getEdge(chip, other));
        }
      }
    }
    assertThat(degrees).isEqualTo(2 * links.size());
    for (IciLink link : links) {
      assertThat(graph.containsEdge(link)).isTrue();
      assertThat(graph.getEdgeSource(link)).isEqualTo(link.from());
      assertThat(graph.getEdgeTarget(link)).isEqualTo(link.to());
      IciLink lie = new IciLink(link.from(), link.axis(), link.to(), !link.wraps(), link.medium());
      assertThat(graph.containsEdge(lie)).isFalse();
    }
  }

  private static Chip neighbour(Set<IciLink> around) {
    return around.stream().findFirst().map(IciLink::to).orElse(new Chip(0, 0, 0));
  }

  @Provide
  Arbitrary<LogicalTopology> logical() {
    Arbitrary<Integer> length = Arbitraries.integers().between(1, 5);
    Arbitrary<Boolean> wrap = Arbitraries.of(true, false);
    Arbitrary<Integer> shift = Arbitraries.integers().between(0, 6);
    Arbitrary<int[]> shifts =
        shift.list().ofSize(6).map(l -> l.stream().mapToInt(Integer::intValue).toArray());
    return Combinators.combine(
            length, length, length, wrap, wrap, wrap, shifts, Arbitraries.of(0, 1, 2, 4))
        .as(
            (x, y, z, wx, wy, wz, k, every) ->
                new LogicalTopology(
                    Shape.of(x, y, z),
                    wx,
                    wy,
                    wz,
                    new Twist(
                        wx ? new Chip(0, k[0], k[1]) : new Chip(0, 0, 0),
                        wy ? new Chip(k[2], 0, k[3]) : new Chip(0, 0, 0),
                        wz ? new Chip(k[4], k[5], 0) : new Chip(0, 0, 0)),
                    every));
  }

  @Provide
  Arbitrary<TpuTopology> wired() {
    Arbitrary<Integer> length = Arbitraries.integers().between(1, 6);
    Arbitrary<Boolean> wrap = Arbitraries.of(true, false);
    return Combinators.combine(
            length, length, Arbitraries.integers().between(0, 4), wrap, wrap, wrap)
        .as(
            (x, y, z, wx, wy, wz) ->
                (z == 0
                        ? TpuTopology.torusBuilder(x, y).hostTile(Shape.of(1, 1))
                        : TpuTopology.torusBuilder(x, y, z).hostTile(Shape.of(1, 1, 1)))
                    .wrap(Axis.X, wx)
                    .wrap(Axis.Y, wy)
                    .wrap(Axis.Z, wz)
                    .build());
  }
}
