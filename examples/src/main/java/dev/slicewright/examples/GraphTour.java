package dev.slicewright.examples;

import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.IciLink;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;
import org.jgrapht.Graph;
import org.jgrapht.alg.flow.DinicMFImpl;
import org.jgrapht.alg.shortestpath.BFSShortestPath;
import org.jgrapht.alg.shortestpath.GraphMeasurer;
import org.jgrapht.graph.DefaultWeightedEdge;
import org.jgrapht.graph.SimpleWeightedGraph;

/**
 * The interconnect of a slice as a JGraphT graph: what twisting its wraps does to the longest way
 * between two chips and to the links between its halves.
 */
public final class GraphTour {

  private GraphTour() {}

  /**
   * Prints a table.
   *
   * @param args not used
   */
  public static void main(String[] args) {
    TpuTopology pod = TpuTopology.v5p();
    System.out.println(
        "Slices of v5p cubes, plain and twisted: the hops between the chips farthest");
    System.out.println("apart, and the links between the two halves of each axis, by max flow.");
    System.out.println(
        "A wrap that is shifted by half of another axis also joins the halves of that.");
    System.out.println();
    System.out.printf(
        Locale.ROOT,
        "%-6s %-18s %8s %6s %6s %6s%n",
        "shape",
        "twist",
        "diameter",
        "x cut",
        "y cut",
        "z cut");
    Chip none = new Chip(0, 0, 0);
    for (Shape shape : List.of(Shape.of(4, 4, 8), Shape.of(4, 8, 8))) {
      row(pod, shape, "none", Twist.NONE);
      row(pod, shape, "x, y shift z", pod.twist(shape).orElseThrow());
      if (shape.y() == 8) {
        row(pod, shape, "x shifts y, z", new Twist(new Chip(0, 4, 4), none, none));
      }
    }
  }

  private static void row(TpuTopology pod, Shape shape, String name, Twist twist) {
    // Any free cubes will do: the optical switches join them.
    List<CubeId> cubes =
        IntStream.range(0, pod.cubesOf(shape)).mapToObj(i -> new CubeId(7 * i)).toList();
    Graph<Chip, IciLink> graph = pod.logical(shape, new Footprint.Cubes(cubes), twist).graph();
    double diameter = new GraphMeasurer<>(graph, new BFSShortestPath<>(graph)).getDiameter();
    System.out.printf(
        Locale.ROOT,
        "%-6s %-18s %8.0f %6.0f %6.0f %6.0f%n",
        shape,
        name,
        diameter,
        cut(graph, shape, Axis.X),
        cut(graph, shape, Axis.Y),
        cut(graph, shape, Axis.Z));
  }

  /** The view cannot be changed, so a copy gets the source and the sink. */
  private static double cut(Graph<Chip, IciLink> graph, Shape shape, Axis axis) {
    Graph<Object, DefaultWeightedEdge> network =
        new SimpleWeightedGraph<>(DefaultWeightedEdge.class);
    graph.vertexSet().forEach(network::addVertex);
    for (IciLink link : graph.edgeSet()) {
      DefaultWeightedEdge edge = network.getEdge(link.from(), link.to());
      if (edge == null) {
        network.addEdge(link.from(), link.to()); // of weight 1
      } else {
        network.setEdgeWeight(edge, network.getEdgeWeight(edge) + 1);
      }
    }
    network.addVertex("lower half");
    network.addVertex("upper half");
    for (Chip chip : graph.vertexSet()) {
      String half = chip.get(axis) < shape.get(axis) / 2 ? "lower half" : "upper half";
      network.setEdgeWeight(network.addEdge(half, chip), graph.degreeOf(chip));
    }
    return new DinicMFImpl<>(network).getMaximumFlowValue("lower half", "upper half");
  }
}
