package dev.slicewright.topology;

import static java.util.Objects.requireNonNull;

import java.util.AbstractSet;
import java.util.Arrays;
import java.util.Collection;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Set;
import java.util.function.Supplier;
import org.jgrapht.Graph;
import org.jgrapht.GraphType;
import org.jgrapht.graph.AbstractGraph;
import org.jgrapht.graph.DefaultGraphType;
import org.jspecify.annotations.Nullable;

/**
 * A read-only view of a grid of chips, its links computed on demand: no memory per chip or link.
 *
 * <p>An axis of length 1 has no link, so there are no loops; an axis of length 2 that wraps has two
 * between its chips. Queries on one chip or link are O(1), the sets are iterated in O(chips).
 */
final class IciGraph extends AbstractGraph<Chip, IciLink> {

  private static final Axis[] AXES = Axis.values();

  private static final GraphType TYPE =
      new DefaultGraphType.Builder(false, true)
          .weighted(false)
          .allowMultipleEdges(true)
          .allowSelfLoops(false)
          .allowCycles(true)
          .modifiable(false)
          .build();

  private final Shape dims;
  private final boolean[] wraps;
  private final Twist twist;
  private final int cutEvery; // no link crosses a multiple of this; 0 for none
  private final int opticalEvery; // as in LogicalTopology
  private final Set<Chip> vertices = new Vertices();
  private final Set<IciLink> edges = new Edges();

  private IciGraph(Shape dims, boolean[] wraps, Twist twist, int cutEvery, int opticalEvery) {
    this.dims = dims;
    this.wraps = wraps;
    this.twist = twist;
    this.cutEvery = cutEvery;
    this.opticalEvery = opticalEvery;
  }

  static Graph<Chip, IciLink> of(TpuTopology topology) {
    boolean[] wraps = new boolean[AXES.length];
    for (Axis axis : AXES) {
      wraps[axis.ordinal()] = topology.wraps(axis);
    }
    int cut = topology.isOptical() ? topology.dims().x() / topology.cubeGrid().x() : 0;
    return new IciGraph(topology.dims(), wraps, Twist.NONE, cut, 0);
  }

  static Graph<Chip, IciLink> of(LogicalTopology topology) {
    boolean[] wraps = {topology.wrapX(), topology.wrapY(), topology.wrapZ()};
    return new IciGraph(topology.shape(), wraps, topology.twist(), 0, topology.opticalEvery());
  }

  // ---------------------------------------------------------------- the geometry

  private boolean contains(Chip chip) {
    return chip.x() >= 0
        && chip.y() >= 0
        && chip.z() >= 0
        && chip.x() < dims.x()
        && chip.y() < dims.y()
        && chip.z() < dims.z();
  }

  /** Whether a link of an axis leaves a place on it in the positive direction. */
  private boolean leaves(int place, Axis axis) {
    int last = dims.get(axis) - 1;
    return place < last
        ? cutEvery == 0 || (place + 1) % cutEvery != 0
        : last > 0 && wraps[axis.ordinal()];
  }

  private int before(int place, Axis axis) {
    return place == 0 ? dims.get(axis) - 1 : place - 1;
  }

  /** The link that leaves a chip in the positive direction. */
  private @Nullable IciLink leaving(Chip from, Axis axis) {
    int place = from.get(axis);
    if (!leaves(place, axis)) {
      return null;
    }
    boolean wrap = place == dims.get(axis) - 1;
    int step = wrap ? -place : 1;
    Chip shift = wrap ? twist.shift(axis) : NO_SHIFT;
    Chip to =
        switch (axis) {
          case X -> new Chip(from.x() + step, add(from, shift, Axis.Y), add(from, shift, Axis.Z));
          case Y -> new Chip(add(from, shift, Axis.X), from.y() + step, add(from, shift, Axis.Z));
          case Z -> new Chip(add(from, shift, Axis.X), add(from, shift, Axis.Y), from.z() + step);
        };
    boolean optical = opticalEvery > 0 && (wrap || (place + 1) % opticalEvery == 0);
    return new IciLink(
        from, axis, to, wrap, optical ? IciLink.Medium.OPTICAL : IciLink.Medium.COPPER);
  }

  private static final Chip NO_SHIFT = new Chip(0, 0, 0);

  private int add(Chip at, Chip shift, Axis axis) {
    int by = shift.get(axis);
    return by == 0 ? at.get(axis) : (int) (((long) at.get(axis) + by) % dims.get(axis));
  }

  private int subtract(Chip at, Chip shift, Axis axis) {
    int by = shift.get(axis);
    return by == 0 ? at.get(axis) : (int) Math.floorMod((long) at.get(axis) - by, dims.get(axis));
  }

  /** The link that reaches a chip in the positive direction. */
  private @Nullable IciLink arriving(Chip to, Axis axis) {
    int place = before(to.get(axis), axis);
    if (!leaves(place, axis)) {
      return null;
    }
    Chip shift = to.get(axis) == 0 ? twist.shift(axis) : NO_SHIFT;
    Chip from =
        switch (axis) {
          case X -> new Chip(place, subtract(to, shift, Axis.Y), subtract(to, shift, Axis.Z));
          case Y -> new Chip(subtract(to, shift, Axis.X), place, subtract(to, shift, Axis.Z));
          case Z -> new Chip(subtract(to, shift, Axis.X), subtract(to, shift, Axis.Y), place);
        };
    return leaving(from, axis);
  }

  /** The number of links along one line of an axis. */
  private long linksPerLine(Axis axis) {
    int n = dims.get(axis);
    if (n == 1) {
      return 0;
    }
    int cuts = cutEvery == 0 ? 0 : (n - 1) / cutEvery;
    return n - 1 - cuts + (wraps[axis.ordinal()] ? 1 : 0);
  }

  private static int saturated(long size) {
    return (int) Math.min(Integer.MAX_VALUE, size);
  }

  // ---------------------------------------------------------------- vertices and edges

  @Override
  public Set<Chip> vertexSet() {
    return vertices;
  }

  @Override
  public Set<IciLink> edgeSet() {
    return edges;
  }

  @Override
  public boolean containsVertex(@Nullable Chip chip) {
    return chip != null && contains(chip);
  }

  @Override
  public boolean containsEdge(@Nullable IciLink link) {
    return link != null && contains(link.from()) && link.equals(leaving(link.from(), link.axis()));
  }

  @Override
  public Set<IciLink> edgesOf(Chip chip) {
    assertVertexExist(chip);
    IciLink[] found = new IciLink[2 * AXES.length];
    int n = 0;
    for (Axis axis : AXES) {
      IciLink out = leaving(chip, axis);
      if (out != null) {
        found[n++] = out;
      }
      IciLink in = arriving(chip, axis);
      if (in != null) {
        found[n++] = in;
      }
    }
    return new Few(n == found.length ? found : Arrays.copyOf(found, n));
  }

  @Override
  public int degreeOf(Chip chip) {
    assertVertexExist(chip);
    int degree = 0;
    for (Axis axis : AXES) {
      int place = chip.get(axis);
      degree += leaves(place, axis) ? 1 : 0;
      degree += leaves(before(place, axis), axis) ? 1 : 0;
    }
    return degree;
  }

  @Override
  public Set<IciLink> incomingEdgesOf(Chip chip) {
    return edgesOf(chip);
  }

  @Override
  public Set<IciLink> outgoingEdgesOf(Chip chip) {
    return edgesOf(chip);
  }

  @Override
  public int inDegreeOf(Chip chip) {
    return degreeOf(chip);
  }

  @Override
  public int outDegreeOf(Chip chip) {
    return degreeOf(chip);
  }

  @Override
  public @Nullable IciLink getEdge(@Nullable Chip one, @Nullable Chip other) {
    if (!containsVertex(one) || !containsVertex(other)) {
      return null;
    }
    for (IciLink link : edgesOf(requireNonNull(one))) {
      if (link.from().equals(one) ? link.to().equals(other) : link.from().equals(other)) {
        return link;
      }
    }
    return null;
  }

  @Override
  public @Nullable Set<IciLink> getAllEdges(@Nullable Chip one, @Nullable Chip other) {
    if (!containsVertex(one) || !containsVertex(other)) {
      return null;
    }
    return new Few(
        edgesOf(requireNonNull(one)).stream()
            .filter(k -> k.from().equals(one) ? k.to().equals(other) : k.from().equals(other))
            .toArray(IciLink[]::new));
  }

  @Override
  public Chip getEdgeSource(IciLink link) {
    return link.from();
  }

  @Override
  public Chip getEdgeTarget(IciLink link) {
    return link.to();
  }

  @Override
  public double getEdgeWeight(IciLink link) {
    requireNonNull(link, "link");
    return DEFAULT_EDGE_WEIGHT;
  }

  @Override
  public GraphType getType() {
    return TYPE;
  }

  @Override
  public @Nullable Supplier<Chip> getVertexSupplier() {
    return null;
  }

  @Override
  public @Nullable Supplier<IciLink> getEdgeSupplier() {
    return null;
  }

  /** Short: a pod has millions of links. */
  @Override
  public String toString() {
    return "ICI graph of " + dims + ": " + vertices.size() + " chips, " + edges.size() + " links";
  }

  // ---------------------------------------------------------------- no change

  private static UnsupportedOperationException readOnly() {
    return new UnsupportedOperationException(
        "This graph is a read-only view of the hardware. Copy it to change it: "
            + "Graphs.addGraph(new Multigraph<>(IciLink.class), graph).");
  }

  @Override
  public IciLink addEdge(Chip from, Chip to) {
    throw readOnly();
  }

  @Override
  public boolean addEdge(Chip from, Chip to, IciLink link) {
    throw readOnly();
  }

  @Override
  public Chip addVertex() {
    throw readOnly();
  }

  @Override
  public boolean addVertex(Chip chip) {
    throw readOnly();
  }

  @Override
  public boolean removeAllEdges(Collection<? extends IciLink> links) {
    throw readOnly();
  }

  @Override
  public Set<IciLink> removeAllEdges(Chip from, Chip to) {
    throw readOnly();
  }

  @Override
  public boolean removeAllVertices(Collection<? extends Chip> chips) {
    throw readOnly();
  }

  @Override
  public IciLink removeEdge(Chip from, Chip to) {
    throw readOnly();
  }

  @Override
  public boolean removeEdge(IciLink link) {
    throw readOnly();
  }

  @Override
  public boolean removeVertex(Chip chip) {
    throw readOnly();
  }

  @Override
  public void setEdgeWeight(IciLink link, double weight) {
    throw readOnly();
  }

  // ---------------------------------------------------------------- the sets

  private final class Vertices extends AbstractSet<Chip> {
    @Override
    public int size() {
      return saturated(dims.chips());
    }

    @Override
    public boolean contains(@Nullable Object other) {
      return other instanceof Chip chip && IciGraph.this.contains(chip);
    }

    @Override
    public Iterator<Chip> iterator() {
      return new ChipIterator();
    }
  }

  /** x fastest, then y, then z. */
  private final class ChipIterator implements Iterator<Chip> {
    private int x;
    private int y;
    private int z;

    @Override
    public boolean hasNext() {
      return z < dims.z();
    }

    @Override
    public Chip next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      Chip chip = new Chip(x, y, z);
      if (++x == dims.x()) {
        x = 0;
        if (++y == dims.y()) {
          y = 0;
          z++;
        }
      }
      return chip;
    }
  }

  private final class Edges extends AbstractSet<IciLink> {
    @Override
    public int size() {
      long links = 0;
      for (Axis axis : AXES) {
        links += dims.chips() / dims.get(axis) * linksPerLine(axis);
      }
      return saturated(links);
    }

    @Override
    public boolean contains(@Nullable Object other) {
      return other instanceof IciLink link && containsEdge(link);
    }

    @Override
    public Iterator<IciLink> iterator() {
      return new LinkIterator();
    }
  }

  /** By the chip that a link leaves, then by axis. */
  private final class LinkIterator implements Iterator<IciLink> {
    private final Iterator<Chip> chips = new ChipIterator();
    private Chip from = chips.next(); // a shape has one chip or more
    private int axis;
    private @Nullable IciLink ahead;

    @Override
    public boolean hasNext() {
      while (ahead == null) {
        if (axis == AXES.length) {
          if (!chips.hasNext()) {
            return false;
          }
          from = chips.next();
          axis = 0;
        }
        ahead = leaving(from, AXES[axis++]);
      }
      return true;
    }

    @Override
    public IciLink next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      IciLink link = requireNonNull(ahead);
      ahead = null;
      return link;
    }
  }

  /** Distinct links of one chip. */
  private static final class Few extends AbstractSet<IciLink> {
    private final IciLink[] links;

    Few(IciLink[] links) {
      this.links = links;
    }

    @Override
    public int size() {
      return links.length;
    }

    @Override
    public Iterator<IciLink> iterator() {
      return Arrays.asList(links).iterator();
    }
  }
}
