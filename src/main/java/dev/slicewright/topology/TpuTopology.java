package dev.slicewright.topology;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.IntConsumer;
import java.util.function.ToIntFunction;
import org.jgrapht.Graph;
import org.jspecify.annotations.Nullable;

/**
 * The graph model of one pod: chips, hosts, cubes and ICI links, and which slices its platform can
 * form. Immutable, safe to share.
 *
 * <p>Chips have coordinates and are numbered x fastest, then y, then z. Hosts are numbered the same
 * way over the grid of host tiles; on optical pods cube by cube, x fastest inside the cube. A
 * <i>cell</i> is the least set of chips that slices take together: a host, or a chip where slices
 * smaller than a host are legal. Cells are numbered so that partitions are consecutive; on torus
 * boxes, x fastest.
 *
 * <p>Two topologies are equal if everything that their builders were given is.
 */
public final class TpuTopology {

  /** The most chips along x. */
  public static final int MAX_X = 64;

  /** The most chips along y and along z. */
  public static final int MAX_YZ = 256;

  /** The most cubes of an optical pod. */
  public static final int MAX_CUBES = 4096;

  private static final Axis[] AXES = Axis.values(); // values() copies each time
  private static final int EDGE = 4;
  private static final int CUBES_NAMED = 4;
  private static final int CUBE_CHIPS = EDGE * EDGE * EDGE;

  private final AcceleratorType accelerator;
  private final Shape dims;
  private final Shape hostTile;
  private final Shape physicalHostTile;
  private final boolean[] wraps;
  private final Slicing slicing;
  private final List<String> hostNames;
  private final List<String> cubeNames;
  private final boolean coordinatesKnown;

  private final Shape hostGrid;
  private final Shape cubeGrid; // 1x1x1 without cubes
  private final int hostsPerCube;
  private final Shape cellTile;
  private final Shape cellGrid; // of torus boxes
  private final @Nullable PartitionForest forest;
  private final int @Nullable [] chipOfCell; // first chip of a cell, on forests
  private final int @Nullable [] cellOfChip; // on forests
  private final List<Shape> subShapes; // legal shapes of forests, and sub-cube shapes
  private final int hash;

  private TpuTopology(Builder b) {
    this.accelerator = b.accelerator;
    this.dims = Objects.requireNonNull(b.dims);
    this.hostTile = b.hostTile;
    this.physicalHostTile = b.physicalHostTile;
    this.wraps = b.effectiveWraps.clone();
    this.slicing = b.slicing;
    this.hostNames = List.copyOf(b.hostNames);
    this.cubeNames = List.copyOf(b.cubeNames);
    this.coordinatesKnown = b.coordinatesKnown;
    this.hostGrid = divide(dims, hostTile);
    boolean optical = slicing instanceof Slicing.OpticalCubes;
    this.cubeGrid = optical ? divide(dims, Shape.of(EDGE, EDGE, EDGE)) : unit(dims.rank());
    this.hostsPerCube = optical ? (int) (CUBE_CHIPS / hostTile.chips()) : 0;
    if (slicing instanceof Slicing.TorusBoxes boxes) {
      boolean subHost = boxes.shapes().stream().anyMatch(s -> s.chips() < hostTile.chips());
      this.cellTile = subHost ? unit(dims.rank()) : hostTile;
      this.cellGrid = divide(dims, cellTile);
      this.forest = null;
      this.chipOfCell = null;
      this.cellOfChip = null;
      this.subShapes = List.of();
    } else {
      List<PartitionSpec> listed =
          slicing instanceof Slicing.NestedPartitions nested
              ? nested.partitions()
              : ((Slicing.OpticalCubes) slicing).partitions();
      // Slices smaller than a host are known on 2-D pods only.
      boolean toChips = listed.isEmpty() && dims.rank() == 2;
      this.cellTile = toChips ? unit(2) : hostTile;
      this.cellGrid = divide(dims, cellTile);
      int cells = (int) (dims.chips() / cellTile.chips());
      int[] first = new int[cells];
      PartitionForest made;
      if (listed.isEmpty()) {
        List<PartitionForest.Draft> drafts = new ArrayList<>();
        int[] next = {0};
        if (optical) {
          for (int c = 0; c < cubeCount(); c++) {
            halve(
                drafts,
                cubeName(new CubeId(c)),
                -1,
                cubeOrigin(c),
                CUBE_SHAPE,
                hostTile,
                first,
                next);
          }
        } else {
          halve(drafts, "", -1, new Chip(0, 0, 0), dims, cellTile, first, next);
        }
        made = PartitionForest.generated(drafts);
      } else {
        List<PartitionSpec> specs = new ArrayList<>(listed);
        Problems problems = new Problems();
        checkShapes(problems, specs);
        if (optical) {
          addMissingCubes(problems, specs);
        }
        int[] hostOrder = new int[hostCount()];
        made =
            PartitionForest.listed(
                problems, hostCount(), (int) hostTile.chips(), specs, this::boxOf, hostOrder);
        for (int cell = 0; cell < cells; cell++) {
          first[cell] = chipIndex(originOf(new HostId(hostOrder[cell])));
        }
      }
      this.forest = made;
      this.chipOfCell = first;
      int[] back = new int[(int) dims.chips()];
      for (int cell = 0; cell < cells; cell++) {
        Chip at = chip(first[cell]);
        for (int z = 0; z < cellTile.z(); z++) {
          for (int y = 0; y < cellTile.y(); y++) {
            for (int x = 0; x < cellTile.x(); x++) {
              back[index(at.x() + x, at.y() + y, at.z() + z)] = cell;
            }
          }
        }
      }
      this.cellOfChip = back;
      TreeSet<Shape> shapes = new TreeSet<>();
      for (int i = 0; i < made.size(); i++) {
        Shape shape = made.shape(new PartitionId(i));
        if (!optical || shape.chips() < CUBE_CHIPS) {
          shapes.add(shape.sorted());
        }
      }
      if (slicing instanceof Slicing.OpticalCubes cubes && cubes.boxesInCube()) {
        addBoxesOfCube(shapes);
      }
      this.subShapes = List.copyOf(shapes);
    }
    this.hash = Objects.hash(accelerator, dims, hostTile, slicing, coordinatesKnown);
  }

  private static final Shape CUBE_SHAPE = Shape.of(EDGE, EDGE, EDGE);

  private static Shape unit(int rank) {
    return rank == 2 ? Shape.of(1, 1) : Shape.of(1, 1, 1);
  }

  private static Shape divide(Shape dims, Shape tile) {
    return dims.rank() == 2
        ? Shape.of(dims.x() / tile.x(), dims.y() / tile.y())
        : Shape.of(dims.x() / tile.x(), dims.y() / tile.y(), dims.z() / tile.z());
  }

  /**
   * Halves a box down to a leaf, longest axis first (x before y before z); 2x2 falls into chips.
   * Parts of a named box are named by the path to them, others by where they lie.
   */
  private void halve(
      List<PartitionForest.Draft> out,
      String name,
      int parent,
      Chip origin,
      Shape extents,
      Shape leaf,
      int[] chipOfCellOut,
      int[] nextCell) {
    int me = out.size();
    int firstCell = nextCell[0];
    long cells = extents.chips() / leaf.chips();
    Footprint.Box box = coordinatesKnown ? new Footprint.Box(origin, extents) : null;
    String own = name.isEmpty() ? extents + "@" + join(origin, extents.rank()) : name;
    out.add(new PartitionForest.Draft(own, extents, parent, firstCell, (int) cells, box));
    if (cells == 1) {
      chipOfCellOut[nextCell[0]++] = chipIndex(origin);
      return;
    }
    Shape child;
    if (extents.rank() == 2 && extents.x() == 2 && extents.y() == 2) {
      child = leaf;
    } else {
      Axis longest = Axis.X;
      for (Axis axis : Axis.values()) {
        if (extents.get(axis) / leaf.get(axis) > 1
            && (extents.get(axis) > extents.get(longest)
                || extents.get(longest) / leaf.get(longest) <= 1)) {
          longest = axis;
        }
      }
      int half = extents.get(longest) / 2;
      child =
          switch (longest) {
            case X -> shape(extents.rank(), half, extents.y(), extents.z());
            case Y -> shape(extents.rank(), extents.x(), half, extents.z());
            case Z -> shape(extents.rank(), extents.x(), extents.y(), half);
          };
    }
    int n = 0;
    for (int z = 0; z < extents.z(); z += child.z()) {
      for (int y = 0; y < extents.y(); y += child.y()) {
        for (int x = 0; x < extents.x(); x += child.x()) {
          Chip at = new Chip(origin.x() + x, origin.y() + y, origin.z() + z);
          String sub = name.isEmpty() ? "" : name + "/" + child + "." + n++;
          halve(out, sub, me, at, child, leaf, chipOfCellOut, nextCell);
        }
      }
    }
  }

  private static String join(Chip at, int rank) {
    return at.x() + "." + at.y() + (rank == 2 ? "" : "." + at.z());
  }

  private static Shape shape(int rank, int x, int y, int z) {
    return rank == 2 ? Shape.of(x, y) : Shape.of(x, y, z);
  }

  /** Every box of whole hosts inside a cube, the cube itself left out. */
  private void addBoxesOfCube(Set<Shape> out) {
    for (int z = hostTile.z(); z <= EDGE; z += hostTile.z()) {
      for (int y = hostTile.y(); y <= EDGE; y += hostTile.y()) {
        for (int x = hostTile.x(); x <= EDGE; x += hostTile.x()) {
          Shape box = Shape.of(x, y, z);
          if (box.chips() < CUBE_CHIPS) {
            out.add(box.sorted());
          }
        }
      }
    }
  }

  private void checkShapes(Problems problems, List<PartitionSpec> specs) {
    for (int i = 0; i < specs.size(); i++) {
      Shape shape = specs.get(i).shape();
      String path = "partitions[" + i + "].shape";
      if (shape.rank() != dims.rank()) {
        problems.add(path, "expected " + dims.rank() + " extents, as the pod, but was " + shape);
      } else if (isOptical() && shape.sorted().z() > EDGE) {
        problems.add(path, "a partition lies inside one 4x4x4 cube, but was " + shape);
      }
    }
  }

  /** The box that the hosts of a partition fill, or null if they fill none of its shape. */
  private Footprint.@Nullable Box boxOf(PartitionSpec spec) {
    if (!coordinatesKnown) {
      return null;
    }
    int[] origin = new int[3];
    int[] extents = new int[3];
    long volume = 1;
    for (Axis axis : Axis.values()) {
      int tile = hostTile.get(axis);
      boolean[] taken = new boolean[hostGrid.get(axis)];
      for (HostId host : spec.hosts()) {
        taken[originOf(host).get(axis) / tile] = true;
      }
      int length = 0;
      int starts = 0;
      for (int i = 0; i < taken.length; i++) {
        if (taken[i]) {
          length++;
          boolean continued = i > 0 ? taken[i - 1] : wraps(axis) && taken[taken.length - 1];
          if (!continued) {
            starts++;
            origin[axis.ordinal()] = i * tile;
          }
        }
      }
      if (starts > 1) {
        return null;
      }
      extents[axis.ordinal()] = length * tile;
      volume *= length;
    }
    Shape filled = shape(dims.rank(), extents[0], extents[1], extents[2]);
    return volume == spec.hosts().size() && filled.sorted().equals(spec.shape().sorted())
        ? new Footprint.Box(new Chip(origin[0], origin[1], origin[2]), filled)
        : null;
  }

  /** A cube that the platform does not list as a partition is added under its own name. */
  private void addMissingCubes(Problems problems, List<PartitionSpec> specs) {
    Set<String> names = new HashSet<>();
    boolean[] listed = new boolean[cubeCount()];
    for (int i = 0; i < specs.size(); i++) {
      PartitionSpec spec = specs.get(i);
      names.add(spec.id());
      Set<Integer> cubes = new TreeSet<>();
      for (HostId host : spec.hosts()) {
        cubes.add(host.index() / hostsPerCube);
      }
      if (cubes.size() > 1) {
        problems.add(
            "partitions[" + i + "].hosts",
            "partition " + spec.id() + " must lie inside one cube, but has hosts of " + cubes);
      } else if (spec.hosts().size() == hostsPerCube
          && spec.hosts().get(0).index() / hostsPerCube < cubeCount()
          && spec.hosts().get(0).index() >= 0) {
        listed[spec.hosts().get(0).index() / hostsPerCube] = true;
      }
    }
    for (int c = 0; c < listed.length; c++) {
      if (!listed[c]) {
        List<HostId> hosts = new ArrayList<>();
        for (int h = 0; h < hostsPerCube; h++) {
          hosts.add(new HostId(c * hostsPerCube + h));
        }
        String name = cubeName(new CubeId(c));
        while (!names.add(name)) {
          name = name + "'";
        }
        specs.add(new PartitionSpec(name, CUBE_SHAPE, hosts));
      }
    }
  }

  // ---------------------------------------------------------------- factories

  /**
   * A TPU v2 pod: a wired 16x16 torus, boxes with power-of-two extents. Which slices v2 allows is
   * not published in the sources used: assumed.
   *
   * @return the topology
   */
  public static TpuTopology v2() {
    return builder(AcceleratorType.V2).build();
  }

  /**
   * A TPU v3 pod: a wired 32x32 torus, boxes with power-of-two extents (assumed, as for {@link
   * #v2}).
   *
   * @return the topology
   */
  public static TpuTopology v3() {
    return builder(AcceleratorType.V3).build();
  }

  /**
   * A TPU v4 pod: 64 optical cubes.
   *
   * @return the topology
   */
  public static TpuTopology v4() {
    return builder(AcceleratorType.V4).build();
  }

  /**
   * A TPU v5e pod: 16x16, nested partitions.
   *
   * @return the topology
   */
  public static TpuTopology v5e() {
    return builder(AcceleratorType.V5E).build();
  }

  /**
   * A TPU v5p pod: 140 optical cubes, 8,960 chips; slices of up to 96 cubes.
   *
   * @return the topology
   */
  public static TpuTopology v5p() {
    return builder(AcceleratorType.V5P).build();
  }

  /**
   * A TPU v6e pod: 16x16, nested partitions.
   *
   * @return the topology
   */
  public static TpuTopology v6e() {
    return builder(AcceleratorType.V6E).build();
  }

  /**
   * A TPU7x block: 144 optical cubes, 9,216 chips.
   *
   * @return the topology
   */
  public static TpuTopology tpu7x() {
    return builder(AcceleratorType.TPU7X).build();
  }

  /**
   * A wired 3-D torus with hosts of 2x2x1 chips, sliced into any host-aligned boxes.
   *
   * @param x chips along x, 1 to {@link #MAX_X}
   * @param y chips along y, 1 to {@link #MAX_YZ}
   * @param z chips along z, 1 to {@link #MAX_YZ}
   * @return the topology
   * @throws InvalidInputException if a dimension is out of range or the host tile does not divide
   *     it; {@link #torusBuilder} takes another tile
   */
  public static TpuTopology torus(int x, int y, int z) {
    return torusBuilder(x, y, z).build();
  }

  /**
   * A wired 2-D torus with hosts of 2x2 chips, sliced into any host-aligned boxes.
   *
   * @param x chips along x, 1 to {@link #MAX_X}
   * @param y chips along y, 1 to {@link #MAX_YZ}
   * @return the topology
   * @throws InvalidInputException as {@link #torus(int, int, int)}
   */
  public static TpuTopology torus(int x, int y) {
    return torusBuilder(x, y).build();
  }

  /**
   * A builder for a wired 3-D torus: host tile, wrap and slicing may be changed.
   *
   * @param x chips along x
   * @param y chips along y
   * @param z chips along z
   * @return a new builder
   */
  public static Builder torusBuilder(int x, int y, int z) {
    return new Builder(x, y, z);
  }

  /**
   * A builder for a wired 2-D torus.
   *
   * @param x chips along x
   * @param y chips along y
   * @return a new builder
   */
  public static Builder torusBuilder(int x, int y) {
    return new Builder(x, y);
  }

  /**
   * A builder for a pod of an accelerator, with the platform's defaults: optical cubes where it has
   * cubes, nested partitions on v5e and v6e, boxes otherwise.
   *
   * @param accelerator the accelerator
   * @return a new builder
   */
  public static Builder builder(AcceleratorType accelerator) {
    return new Builder(accelerator);
  }

  // ---------------------------------------------------------------- what it is

  /**
   * The accelerator.
   *
   * @return its type
   */
  public AcceleratorType accelerator() {
    return accelerator;
  }

  /**
   * Chips along each axis. On TPU7x, and on pods of named hosts, nominal.
   *
   * @return the dimensions
   */
  public Shape dims() {
    return dims;
  }

  /**
   * Chips of a host along each axis.
   *
   * @return the tile
   */
  public Shape hostTile() {
    return hostTile;
  }

  /**
   * Chips of a physical machine along each axis: a failure domain.
   *
   * @return the tile
   */
  public Shape physicalHostTile() {
    return physicalHostTile;
  }

  /**
   * Whether an axis of the pod wraps in copper; never on optical pods, where slices wrap instead.
   *
   * @param axis the axis
   * @return true if it wraps
   */
  public boolean wraps(Axis axis) {
    return wraps[axis.ordinal()];
  }

  /**
   * How the platform lets chips become slices.
   *
   * @return the slicing
   */
  public Slicing slicing() {
    return slicing;
  }

  /**
   * Whether cubes are joined by optical switches.
   *
   * @return true for {@link Slicing.OpticalCubes}
   */
  public boolean isOptical() {
    return hostsPerCube > 0;
  }

  /**
   * Whether coordinates are the platform's own; if not, hosts are known by name only and worker
   * order is assumed.
   *
   * @return true if known
   */
  public boolean coordinatesKnown() {
    return coordinatesKnown;
  }

  /**
   * The number of chips.
   *
   * @return 1 or more
   */
  public int chipCount() {
    return (int) dims.chips();
  }

  /**
   * The number of hosts.
   *
   * @return 1 or more
   */
  public int hostCount() {
    return (int) hostGrid.chips();
  }

  /**
   * The number of cubes.
   *
   * @return 0 unless {@link #isOptical}
   */
  public int cubeCount() {
    return isOptical() ? (int) cubeGrid.chips() : 0;
  }

  /**
   * The number of cells.
   *
   * @return 1 or more
   */
  public int cellCount() {
    return (int) cellGrid.chips();
  }

  /**
   * The chips of a cell along each axis.
   *
   * @return the host tile, or one chip
   */
  public Shape cellTile() {
    return cellTile;
  }

  /**
   * The number of chips of a cell.
   *
   * @return 1 or more
   */
  public int chipsPerCell() {
    return (int) cellTile.chips();
  }

  /**
   * Cells along each axis. On torus boxes cells are numbered x fastest over this grid.
   *
   * @return the dimensions in cells
   */
  public Shape cellGrid() {
    return cellGrid;
  }

  /**
   * The partitions.
   *
   * @return the forest, or empty on torus boxes
   */
  public Optional<PartitionForest> partitions() {
    return Optional.ofNullable(forest);
  }

  // ---------------------------------------------------------------- numbering

  /**
   * The number of a chip: x fastest.
   *
   * @param chip a coordinate of this pod
   * @return from 0 to {@link #chipCount()} - 1
   * @throws InvalidInputException if it lies outside
   */
  public int chipIndex(Chip chip) {
    if (!contains(chip)) {
      throw new InvalidInputException(
          "chip", "chip", "expected a coordinate inside " + dims + ", but was " + chip);
    }
    return index(chip.x(), chip.y(), chip.z());
  }

  private int index(int x, int y, int z) {
    return x + dims.x() * (y + dims.y() * z);
  }

  /**
   * The chip of a number.
   *
   * @param index from 0 to {@link #chipCount()} - 1
   * @return its coordinate
   */
  public Chip chip(int index) {
    Objects.checkIndex(index, chipCount());
    int x = index % dims.x();
    int rest = index / dims.x();
    return new Chip(x, rest % dims.y(), rest / dims.y());
  }

  /**
   * Whether a coordinate lies in this pod.
   *
   * @param chip a coordinate
   * @return true if it does
   */
  public boolean contains(Chip chip) {
    return chip.x() >= 0
        && chip.y() >= 0
        && chip.z() >= 0
        && chip.x() < dims.x()
        && chip.y() < dims.y()
        && chip.z() < dims.z();
  }

  /**
   * The host of a chip.
   *
   * @param chip a coordinate of this pod
   * @return its host
   */
  public HostId hostOf(Chip chip) {
    chipIndex(chip);
    if (isOptical()) {
      int cube = cubeOf(chip).index();
      int hx = chip.x() % EDGE / hostTile.x();
      int hy = chip.y() % EDGE / hostTile.y();
      int hz = chip.z() % EDGE / hostTile.z();
      int nx = EDGE / hostTile.x();
      int ny = EDGE / hostTile.y();
      return new HostId(cube * hostsPerCube + hx + nx * (hy + ny * hz));
    }
    int hx = chip.x() / hostTile.x();
    int hy = chip.y() / hostTile.y();
    int hz = chip.z() / hostTile.z();
    return new HostId(hx + hostGrid.x() * (hy + hostGrid.y() * hz));
  }

  /**
   * The chip of a host with the least coordinates.
   *
   * @param host a host of this pod
   * @return its first chip
   */
  public Chip originOf(HostId host) {
    checkHost(host);
    if (isOptical()) {
      Chip cube = cubeOrigin(host.index() / hostsPerCube);
      int in = host.index() % hostsPerCube;
      int nx = EDGE / hostTile.x();
      int ny = EDGE / hostTile.y();
      return new Chip(
          cube.x() + in % nx * hostTile.x(),
          cube.y() + in / nx % ny * hostTile.y(),
          cube.z() + in / (nx * ny) * hostTile.z());
    }
    int hx = host.index() % hostGrid.x();
    int rest = host.index() / hostGrid.x();
    return new Chip(
        hx * hostTile.x(), rest % hostGrid.y() * hostTile.y(), rest / hostGrid.y() * hostTile.z());
  }

  /**
   * The hosts that share a physical machine, and so fail together: on v5e and v6e the two {@code
   * -4t} VMs of 2x2 chips on a machine of 2x4.
   *
   * @param host a host of this pod
   * @return the hosts of its machine, itself among them, ascending; itself alone where coordinates
   *     are not known
   */
  public List<HostId> machineHosts(HostId host) {
    checkHost(host);
    if (!coordinatesKnown || physicalHostTile.equals(hostTile)) {
      return List.of(host);
    }
    Chip at = originOf(host);
    int x0 = at.x() - at.x() % physicalHostTile.x();
    int y0 = at.y() - at.y() % physicalHostTile.y();
    int z0 = at.z() - at.z() % physicalHostTile.z();
    List<HostId> hosts = new ArrayList<>();
    for (int z = 0; z < physicalHostTile.z(); z += hostTile.z()) {
      for (int y = 0; y < physicalHostTile.y(); y += hostTile.y()) {
        for (int x = 0; x < physicalHostTile.x(); x += hostTile.x()) {
          hosts.add(hostOf(new Chip(x0 + x, y0 + y, z0 + z)));
        }
      }
    }
    hosts.sort(null);
    return List.copyOf(hosts);
  }

  private void checkHost(HostId host) {
    if (host.index() < 0 || host.index() >= hostCount()) {
      throw new InvalidInputException(
          "host", "host", "expected 0 to " + (hostCount() - 1) + ", but was " + host.index());
    }
  }

  private void checkCube(CubeId cube) {
    if (cube.index() < 0 || cube.index() >= cubeCount()) {
      throw new InvalidInputException(
          "cube",
          "cube",
          isOptical()
              ? "expected 0 to " + (cubeCount() - 1) + ", but was " + cube.index()
              : "this pod has no cubes");
    }
  }

  /**
   * The name of a host: the platform's where it was given, else its number.
   *
   * @param host a host of this pod
   * @return its name
   */
  public String hostName(HostId host) {
    checkHost(host);
    return hostNames.isEmpty() ? Integer.toString(host.index()) : hostNames.get(host.index());
  }

  /**
   * The platform's names of the hosts, in host order.
   *
   * @return an unmodifiable list, empty where none were given
   */
  public List<String> hostNames() {
    return hostNames;
  }

  /**
   * The name of a cube: the platform's where it was given, else {@code c} and its number.
   *
   * @param cube a cube of this pod
   * @return its name
   */
  public String cubeName(CubeId cube) {
    checkCube(cube);
    return cubeNames.isEmpty() ? "c" + cube.index() : cubeNames.get(cube.index());
  }

  /**
   * The platform's names of the cubes, in cube order.
   *
   * @return an unmodifiable list, empty where none were given
   */
  public List<String> cubeNames() {
    return cubeNames;
  }

  /**
   * The cube of a chip.
   *
   * @param chip a coordinate of this pod
   * @return its cube
   * @throws InvalidInputException if the pod has no cubes
   */
  public CubeId cubeOf(Chip chip) {
    if (!isOptical()) {
      checkCube(new CubeId(-1));
    }
    chipIndex(chip);
    return new CubeId(
        chip.x() / EDGE + cubeGrid.x() * (chip.y() / EDGE + cubeGrid.y() * (chip.z() / EDGE)));
  }

  /**
   * The cube of a host.
   *
   * @param host a host of this pod
   * @return its cube
   */
  public CubeId cubeOf(HostId host) {
    checkHost(host);
    if (!isOptical()) {
      checkCube(new CubeId(-1));
    }
    return new CubeId(host.index() / hostsPerCube);
  }

  /**
   * The chip of a cube with the least coordinates.
   *
   * @param cube a cube of this pod
   * @return its first chip
   */
  public Chip originOf(CubeId cube) {
    checkCube(cube);
    return cubeOrigin(cube.index());
  }

  private Chip cubeOrigin(int cube) {
    int cx = cube % cubeGrid.x();
    int rest = cube / cubeGrid.x();
    return new Chip(cx * EDGE, rest % cubeGrid.y() * EDGE, rest / cubeGrid.y() * EDGE);
  }

  /**
   * Cubes along each axis of the (nominal) layout.
   *
   * @return the grid of cubes, 1 along each axis where there are none
   */
  public Shape cubeGrid() {
    return cubeGrid;
  }

  /**
   * Hosts of a cube.
   *
   * @return 16 on TPUs, 0 where there are no cubes
   */
  public int hostsPerCube() {
    return hostsPerCube;
  }

  /**
   * The first cell of a cube; its {@link #hostsPerCube()} cells are consecutive.
   *
   * @param cube a cube of this pod
   * @return a cell
   */
  public int firstCell(CubeId cube) {
    checkCube(cube);
    return cube.index() * hostsPerCube;
  }

  /**
   * The cell of a chip.
   *
   * @param chip a coordinate of this pod
   * @return from 0 to {@link #cellCount()} - 1
   */
  public int cellOf(Chip chip) {
    int index = chipIndex(chip);
    if (cellOfChip != null) {
      return cellOfChip[index];
    }
    return chip.x() / cellTile.x()
        + cellGrid.x() * (chip.y() / cellTile.y() + cellGrid.y() * (chip.z() / cellTile.z()));
  }

  /**
   * The chip of a cell with the least coordinates.
   *
   * @param cell from 0 to {@link #cellCount()} - 1
   * @return its first chip
   */
  public Chip originOfCell(int cell) {
    Objects.checkIndex(cell, cellCount());
    if (chipOfCell != null) {
      return chip(chipOfCell[cell]);
    }
    int x = cell % cellGrid.x();
    int rest = cell / cellGrid.x();
    return new Chip(
        x * cellTile.x(), rest % cellGrid.y() * cellTile.y(), rest / cellGrid.y() * cellTile.z());
  }

  /**
   * The host of a cell.
   *
   * @param cell from 0 to {@link #cellCount()} - 1
   * @return its host
   */
  public HostId hostOfCell(int cell) {
    return hostOf(originOfCell(cell));
  }

  /**
   * The cells of a host.
   *
   * @param host a host of this pod
   * @return the cells, one or more, ascending
   */
  public int[] cells(HostId host) {
    Chip at = originOf(host);
    int[] cells = new int[(int) (hostTile.chips() / cellTile.chips())];
    int n = 0;
    for (int z = 0; z < hostTile.z(); z += cellTile.z()) {
      for (int y = 0; y < hostTile.y(); y += cellTile.y()) {
        for (int x = 0; x < hostTile.x(); x += cellTile.x()) {
          cells[n++] = cellOf(new Chip(at.x() + x, at.y() + y, at.z() + z));
        }
      }
    }
    Arrays.sort(cells);
    return cells;
  }

  // ---------------------------------------------------------------- legal shapes

  /**
   * Whether the platform can form a shape, in some order of its extents: on optical pods slices of
   * whole cubes if cubes enough were free, anything else if the pod were empty. O(number of listed
   * shapes).
   *
   * @param shape any shape
   * @return true if it can
   */
  public boolean isLegal(Shape shape) {
    if (shape.rank() != dims.rank()) {
      return false;
    }
    if (slicing instanceof Slicing.TorusBoxes boxes) {
      return isListed(boxes, shape) && anyTurnAligns(boxes, shape);
    }
    if (slicing instanceof Slicing.OpticalCubes optical && isWholeCubes(shape)) {
      return shape.chips() / CUBE_CHIPS <= optical.maxCubes();
    }
    return subShapes.contains(shape.sorted());
  }

  private static boolean isListed(Slicing.TorusBoxes boxes, Shape shape) {
    return (boxes.shapes().isEmpty() || boxes.shapes().contains(shape.sorted()))
        && (!boxes.powersOfTwo() || isPowersOfTwo(shape));
  }

  private static boolean isPowersOfTwo(Shape shape) {
    return Integer.bitCount(shape.x()) == 1
        && Integer.bitCount(shape.y()) == 1
        && Integer.bitCount(shape.z()) == 1;
  }

  private boolean anyTurnAligns(Slicing.TorusBoxes boxes, Shape shape) {
    int x = shape.x();
    int y = shape.y();
    int z = shape.z();
    boolean flat = aligns(boxes, x, y, z) || aligns(boxes, y, x, z);
    return flat
        || shape.rank() == 3
            && (aligns(boxes, x, z, y)
                || aligns(boxes, z, x, y)
                || aligns(boxes, y, z, x)
                || aligns(boxes, z, y, x));
  }

  private boolean aligns(Slicing.TorusBoxes boxes, int x, int y, int z) {
    return x <= dims.x()
        && y <= dims.y()
        && z <= dims.z()
        && (fitsTile(x, y, z) || !boxes.shapes().isEmpty() && fitsInTile(x, y, z));
  }

  /** Whether a box is made of whole hosts. */
  private boolean fitsTile(int x, int y, int z) {
    return x % hostTile.x() == 0 && y % hostTile.y() == 0 && z % hostTile.z() == 0;
  }

  /** Whether such boxes tile a host. */
  private boolean fitsInTile(int x, int y, int z) {
    return hostTile.x() % x == 0 && hostTile.y() % y == 0 && hostTile.z() % z == 0;
  }

  /**
   * Why the platform cannot form a shape.
   *
   * @param shape any shape
   * @return one sentence, or empty if {@link #isLegal}
   */
  public Optional<String> whyNotLegal(Shape shape) {
    return isLegal(shape) ? Optional.empty() : Optional.of(illegality(shape));
  }

  private String illegality(Shape shape) {
    if (shape.rank() != dims.rank()) {
      return shape
          + " has "
          + shape.rank()
          + " extents, but "
          + accelerator
          + " is "
          + dims.rank()
          + "-D.";
    }
    if (slicing instanceof Slicing.TorusBoxes boxes) {
      if (!boxes.shapes().isEmpty() && !boxes.shapes().contains(shape.sorted())) {
        return shape + " is not one of the shapes " + platformForms(boxes.shapes()) + ".";
      }
      if (boxes.powersOfTwo() && !isPowersOfTwo(shape)) {
        return shape + " has an extent that is not a power of two.";
      }
      return "No turn of "
          + shape
          + " is a box of whole "
          + hostTile
          + " hosts inside the "
          + dims
          + " pod.";
    }
    if (slicing instanceof Slicing.OpticalCubes optical && isWholeCubes(shape)) {
      return shape
          + " has "
          + shape.chips() / CUBE_CHIPS
          + (cubeCount() <= optical.maxCubes()
              ? " cubes, but the whole pod has " + cubeCount() + "."
              : " cubes, but a slice has at most "
                  + optical.maxCubes()
                  + " (a limit of this topology that can be changed).");
    }
    return isOptical()
        ? shape
            + " is neither whole cubes (every extent a multiple of 4) nor one of "
            + platformForms(subShapes)
            + "."
        : shape + " is not the shape of any partition: " + platformForms(subShapes) + ".";
  }

  private List<Shape> platformForms(List<Shape> shapes) {
    return shapes.stream().map(this::platformForm).toList();
  }

  /** Whether every extent is a multiple of 4, on an optical pod. */
  private boolean isWholeCubes(Shape shape) {
    return isOptical()
        && shape.rank() == 3
        && shape.x() % EDGE == 0
        && shape.y() % EDGE == 0
        && shape.z() % EDGE == 0;
  }

  /**
   * A shape's extents in the order that platforms write: ascending, except where hosts fit another
   * order only (2x2x1).
   *
   * @param shape a shape of this pod's rank
   * @return the same extents, perhaps in another order
   */
  public Shape platformForm(Shape shape) {
    Shape best = shape.sorted();
    if (isWholeCubes(shape) || fitsTile(best)) {
      return best;
    }
    Shape found = null;
    for (Orientation orientation : Orientation.ofRank(shape.rank())) {
      Shape turned = orientation.extents(shape);
      if (fitsTile(turned) && (found == null || turned.compareTo(found) < 0)) {
        found = turned;
      }
    }
    return found == null ? best : found;
  }

  private boolean fitsTile(Shape e) {
    return fitsTile(e.x(), e.y(), e.z());
  }

  /**
   * Every legal shape in the platform's order of extents, by ascending chips, then the sorted
   * extents. On any boxes, O(h log h) for h hosts of the pod.
   *
   * @return a new unmodifiable list
   */
  public List<Shape> legalShapes() {
    List<Shape> sorted = new ArrayList<>();
    if (slicing instanceof Slicing.TorusBoxes boxes) {
      if (boxes.shapes().isEmpty()) {
        addBoxes(boxes, sorted);
      } else {
        boxes.shapes().stream().filter(this::isLegal).forEach(sorted::add);
      }
    } else {
      sorted.addAll(subShapes);
      if (slicing instanceof Slicing.OpticalCubes optical) {
        int max = optical.maxCubes();
        for (int i = 1; (long) i * i * i <= max; i++) {
          for (int j = i; (long) i * j * j <= max; j++) {
            for (int k = j; (long) i * j * k <= max && k * EDGE <= Shape.MAX_EXTENT; k++) {
              sorted.add(Shape.of(i * EDGE, j * EDGE, k * EDGE));
            }
          }
        }
      }
      sorted.sort(null);
    }
    return sorted.stream().map(this::platformForm).toList();
  }

  /** Every box of whole hosts, sorted; a large pod has a million, so they are packed. */
  private void addBoxes(Slicing.TorusBoxes boxes, List<Shape> out) {
    long[] packed = new long[hostCount()];
    int n = 0;
    int bits = 9; // extents are at most 256
    for (int z = hostTile.z(); z <= dims.z(); z += hostTile.z()) {
      for (int y = hostTile.y(); y <= dims.y(); y += hostTile.y()) {
        for (int x = hostTile.x(); x <= dims.x(); x += hostTile.x()) {
          long least = Math.min(x, Math.min(y, z));
          long most = Math.max(x, Math.max(y, z));
          long middle = (long) x + y + z - least - most;
          long chips = (long) x * y * z;
          packed[n++] = ((chips << bits | least) << bits | middle) << bits | most;
        }
      }
    }
    Arrays.sort(packed);
    int mask = (1 << bits) - 1;
    for (int i = 0; i < n; i++) {
      if (i > 0 && packed[i] == packed[i - 1]) {
        continue;
      }
      int a = (int) (packed[i] >> 2 * bits) & mask;
      int b = (int) (packed[i] >> bits) & mask;
      int c = (int) packed[i] & mask;
      // On a 2-D pod the least of the three is the 1 of z.
      Shape shape = dims.rank() == 2 ? Shape.of(b, c) : Shape.of(a, b, c);
      if (!boxes.powersOfTwo() || isPowersOfTwo(shape)) {
        out.add(shape);
      }
    }
  }

  /**
   * The legal shapes of a number of chips, in the platform's order of extents, by ascending sorted
   * extents: those of {@link #legalShapes} with so many chips.
   *
   * @param chips 1 or more
   * @return an unmodifiable list, empty if no shape has so many chips. O(divisors of chips squared)
   */
  public List<Shape> shapesFor(long chips) {
    if (chips < 1 || chips > (isOptical() ? (long) MAX_CUBES * CUBE_CHIPS : dims.chips())) {
      return List.of();
    }
    List<Shape> found = new ArrayList<>(); // sorted by x, then y
    for (long x = 1; x * x <= chips && x <= Shape.MAX_EXTENT; x++) {
      if (chips % x != 0) {
        continue;
      }
      long rest = chips / x;
      if (dims.rank() == 2) {
        addIfLegal(found, x, rest, 1);
        continue;
      }
      for (long y = x; y * y <= rest; y++) {
        if (rest % y == 0) {
          addIfLegal(found, x, y, rest / y);
        }
      }
    }
    return List.copyOf(found);
  }

  private void addIfLegal(List<Shape> found, long x, long y, long z) {
    if (y <= Shape.MAX_EXTENT && z <= Shape.MAX_EXTENT) {
      Shape s = shape(dims.rank(), (int) x, (int) y, (int) z);
      if (isLegal(s)) {
        found.add(platformForm(s));
      }
    }
  }

  /**
   * The largest legal shapes of at most a number of chips: the end of {@link #legalShapes}, those
   * with more chips left out. On any boxes, O(a log a + limit log a) for hosts a in the two shorter
   * axes; else as long as {@link #legalShapes}.
   *
   * @param chips the most chips, 0 or more
   * @param limit how many shapes at most, 0 or more
   * @return an unmodifiable list, in descending order of {@link #legalShapes}
   */
  public List<Shape> largestLegalShapes(long chips, int limit) {
    if (limit < 0) {
      throw new IllegalArgumentException("The limit is 0 or more, but was " + limit + ".");
    }
    if (anyBoxes()) {
      return new BoxShapes(this).largest(chips, limit).stream().map(this::platformForm).toList();
    }
    List<Shape> all = legalShapes();
    List<Shape> out = new ArrayList<>();
    for (int i = all.size() - 1; i >= 0 && out.size() < limit; i--) {
      if (all.get(i).chips() <= chips) {
        out.add(all.get(i));
      }
    }
    return List.copyOf(out);
  }

  private boolean anyBoxes() {
    return slicing instanceof Slicing.TorusBoxes boxes && boxes.shapes().isEmpty();
  }

  /** All legal shapes, or where they are many, enough to hold the few that are nearest in chips. */
  private List<Shape> shapesAround(long chips, int limit) {
    return anyBoxes()
        ? new BoxShapes(this).around(chips, limit).stream().map(this::platformForm).toList()
        : legalShapes();
  }

  /**
   * Legal shapes near a number of chips, for a message to a user: nearest by ratio, then in their
   * natural order. On any boxes, O(limit × a log a) for hosts a in the two shorter axes; else as
   * long as {@link #legalShapes}.
   *
   * @param chips 1 or more
   * @param limit how many at most, 0 or more
   * @return an unmodifiable list, nearest first
   */
  public List<Shape> nearestLegalShapes(long chips, int limit) {
    return nearest(chips, limit, s -> 0);
  }

  /**
   * Legal shapes near a shape, for a message to its user: nearest in chips (by ratio), then in
   * extents. Takes as long as {@link #nearestLegalShapes(long, int)}.
   *
   * @param shape any shape
   * @param limit how many at most, 0 or more
   * @return an unmodifiable list, nearest first
   */
  public List<Shape> nearestLegalShapes(Shape shape, int limit) {
    Shape wanted = shape.sorted();
    return nearest(
        wanted.chips(),
        limit,
        legal -> {
          Shape s = legal.sorted();
          return Math.abs(s.x() - wanted.x())
              + Math.abs(s.y() - wanted.y())
              + Math.abs(s.z() - wanted.z());
        });
  }

  private List<Shape> nearest(long chips, int limit, ToIntFunction<Shape> extents) {
    if (limit < 0) {
      throw new IllegalArgumentException("The limit is 0 or more, but was " + limit + ".");
    }
    if (limit == 0) {
      return List.of();
    }
    TreeSet<Near> nearest = new TreeSet<>();
    for (Shape legal : shapesAround(chips, limit)) {
      double ratio = Math.abs(Math.log((double) legal.chips() / chips));
      if (nearest.size() == limit && ratio > nearest.last().ratio()) {
        continue;
      }
      nearest.add(new Near(ratio, extents.applyAsInt(legal), legal));
      if (nearest.size() > limit) {
        nearest.pollLast();
      }
    }
    return nearest.stream().map(Near::shape).toList();
  }

  private record Near(double ratio, int extents, Shape shape) implements Comparable<Near> {
    private static final Comparator<Near> ORDER =
        Comparator.comparingDouble(Near::ratio)
            .thenComparingInt(Near::extents)
            .thenComparing(Near::shape);

    @Override
    public int compareTo(Near other) {
      return ORDER.compare(this, other);
    }
  }

  /**
   * Hosts of a slice of a shape.
   *
   * @param shape a legal shape
   * @return 1 or more; 1 for a shape smaller than a host
   */
  public int hostsOf(Shape shape) {
    return (int) Math.min(Integer.MAX_VALUE, Math.max(1, shape.chips() / hostTile.chips()));
  }

  /**
   * Cubes of a slice of a shape.
   *
   * @param shape a shape
   * @return the whole cubes, or 0 for a slice inside one cube or a pod without cubes
   */
  public int cubesOf(Shape shape) {
    return isWholeCubes(shape) ? (int) Math.min(Integer.MAX_VALUE, shape.chips() / CUBE_CHIPS) : 0;
  }

  /**
   * The default twist of a shape: on optical pods, shapes k x k x 2k and k x 2k x 2k of whole cubes
   * may be twisted (Cloud TPU documentation, "TPU v4"). So may a wired pod of an accelerator that
   * has cubes, if it is one partition and wraps on all axes: a slice that the switches have joined
   * once and for all, as static node pools are.
   *
   * <p>Which shift is used is not published by Google. The default, taken from a third-party
   * re-implementation (github.com/ayaka14732/tpu-topology-visualizer), lets the wraps of the other
   * two axes shift the longest (last, if two are) axis by half its extent. Any other {@link Twist}
   * may be used in a {@link LogicalTopology}.
   *
   * @param shape a shape in any order
   * @return the twist in the shape's own order of axes, or empty if it cannot be twisted
   */
  public Optional<Twist> twist(Shape shape) {
    if (!(isWholeCubes(shape) || isJoinedCubes(shape)) || !isLegal(shape)) {
      return Optional.empty();
    }
    Shape s = shape.sorted();
    boolean one = s.x() == s.y() && s.z() == 2 * s.x();
    boolean two = s.y() == s.z() && s.y() == 2 * s.x();
    if (!one && !two) {
      return Optional.empty();
    }
    Axis longest = shape.z() == s.z() ? Axis.Z : shape.y() == s.z() ? Axis.Y : Axis.X;
    int half = s.z() / 2;
    Chip shift =
        switch (longest) {
          case X -> new Chip(half, 0, 0);
          case Y -> new Chip(0, half, 0);
          case Z -> new Chip(0, 0, half);
        };
    Chip none = new Chip(0, 0, 0);
    return Optional.of(
        new Twist(
            longest == Axis.X ? none : shift,
            longest == Axis.Y ? none : shift,
            longest == Axis.Z ? none : shift));
  }

  /** Whether a slice of a shape is this wired pod, whole cubes that wrap on all axes. */
  private boolean isJoinedCubes(Shape shape) {
    return slicing instanceof Slicing.NestedPartitions
        && accelerator.cubeEdge() == EDGE
        && shape.sorted().equals(dims.sorted())
        && dims.x() % EDGE == 0
        && dims.y() % EDGE == 0
        && dims.z() % EDGE == 0
        && wraps[0]
        && wraps[1]
        && wraps[2];
  }

  // ---------------------------------------------------------------- footprints

  /**
   * The grid on which a box of the given extents may start: host-aligned, or for a legal shape
   * smaller than a host, aligned to itself so that it stays inside one host.
   *
   * @param extents extents in the pod's frame
   * @return the stride along each axis, or empty if no such box is a legal slice
   */
  public Optional<Shape> alignment(Shape extents) {
    return Optional.ofNullable(stride(extents));
  }

  private @Nullable Shape stride(Shape e) {
    if (e.rank() != dims.rank()) {
      return null;
    }
    if (slicing instanceof Slicing.TorusBoxes boxes) {
      if (!isListed(boxes, e) || !aligns(boxes, e.x(), e.y(), e.z())) {
        return null;
      }
      return fitsTile(e) ? hostTile : e;
    }
    boolean inCube = e.x() <= EDGE && e.y() <= EDGE && e.z() <= EDGE && e.chips() < CUBE_CHIPS;
    return slicing instanceof Slicing.OpticalCubes o && o.boxesInCube() && inCube && fitsTile(e)
        ? hostTile
        : null;
  }

  /**
   * What is wrong with placing a slice of a shape on a footprint of this pod, its health and
   * occupancy aside.
   *
   * @param shape the slice's shape
   * @param footprint where it would go
   * @return one sentence, or empty if the footprint is legal
   */
  public Optional<String> whyNot(Shape shape, Footprint footprint) {
    Optional<String> illegal = whyNotLegal(shape);
    if (illegal.isPresent()) {
      return illegal;
    }
    if (footprint instanceof Footprint.Cubes cubes) {
      int need = cubesOf(shape);
      if (need == 0) {
        return Optional.of("A slice of " + shape + " on this pod is not made of whole cubes.");
      }
      if (cubes.cubes().size() != need) {
        return Optional.of(
            shape + " takes " + need + " whole cubes, but " + cubes.cubes().size() + " are named.");
      }
      boolean[] named = new boolean[cubeCount()];
      for (CubeId cube : cubes.cubes()) {
        int c = cube.index();
        if (c < 0 || c >= named.length || named[c]) {
          return Optional.of("A cube is named twice or is not in this pod: " + cubes + ".");
        }
        named[c] = true;
      }
      return Optional.empty();
    }
    if (footprint instanceof Footprint.Partition partition) {
      if (forest == null || partition.id().index() < 0 || partition.id().index() >= forest.size()) {
        return Optional.of("This pod has no " + partition + ".");
      }
      if (isWholeCubes(shape)) {
        return Optional.of(
            "A slice of whole cubes is placed on cubes, not on a " + partition + ".");
      }
      Shape has = forest.shape(partition.id());
      return has.sorted().equals(shape.sorted())
          ? Optional.empty()
          : Optional.of("Partition " + forest.name(partition.id()) + " is " + has + ".");
    }
    Footprint.Box box = (Footprint.Box) footprint;
    if (slicing instanceof Slicing.NestedPartitions
        || isOptical() && !((Slicing.OpticalCubes) slicing).boxesInCube()) {
      return Optional.of(
          "This pod's slices are partitions, not boxes: use a Footprint.Partition with an id of"
              + " partitions()"
              + (isOptical() ? ", or Footprint.Cubes for whole cubes." : "."));
    }
    if (isWholeCubes(shape)) {
      return Optional.of("A slice of whole cubes is placed on cubes, not on a box.");
    }
    if (!box.extents().sorted().equals(shape.sorted()) || box.extents().rank() != shape.rank()) {
      return Optional.of("Box " + box + " is no turn of " + shape + ".");
    }
    Shape stride = stride(box.extents());
    Chip o = box.origin();
    if (stride == null
        || !contains(o)
        || o.x() % stride.x() != 0
        || o.y() % stride.y() != 0
        || o.z() % stride.z() != 0) {
      return Optional.of("Box " + box + " does not lie along host boundaries.");
    }
    for (Axis axis : AXES) {
      int end = o.get(axis) + box.extents().get(axis);
      if (isOptical()) {
        if (o.get(axis) / EDGE != (end - 1) / EDGE) {
          return Optional.of("Box " + box + " leaves its cube.");
        }
      } else if (end > dims.get(axis) && !wraps(axis)) {
        return Optional.of("Box " + box + " passes the end of " + axis + ", which does not wrap.");
      }
    }
    return Optional.empty();
  }

  /**
   * A footprint in words, with the names of this pod.
   *
   * @param footprint a footprint of this pod
   * @return such as {@code 4x4x8 at (0,0,4)}, {@code partition c1/2x4x4.1} or {@code cubes c0 c1};
   *     of more than five cubes, the first four and how many more
   */
  public String describe(Footprint footprint) {
    if (footprint instanceof Footprint.Partition partition) {
      return "partition " + Objects.requireNonNull(forest, "forest").name(partition.id());
    }
    if (footprint instanceof Footprint.Cubes cubes) {
      int count = cubes.cubes().size();
      int shown = count <= CUBES_NAMED + 1 ? count : CUBES_NAMED;
      StringBuilder text = new StringBuilder(count == 1 ? "cube" : "cubes");
      cubes.cubes().subList(0, shown).forEach(c -> text.append(' ').append(cubeName(c)));
      return shown == count
          ? text.toString()
          : text.append(" and ").append(count - shown).append(" more").toString();
    }
    Footprint.Box box = (Footprint.Box) footprint;
    return box.extents() + " at " + box.origin();
  }

  /**
   * The cells of a footprint.
   *
   * @param footprint a footprint of this pod, as {@link #whyNot} accepts it for some shape
   * @return the cells, ascending. O(cells)
   */
  public int[] cells(Footprint footprint) {
    if (footprint instanceof Footprint.Partition partition) {
      PartitionForest f = Objects.requireNonNull(forest, "forest");
      int first = f.firstCell(partition.id());
      int[] cells = new int[f.cellCount(partition.id())];
      for (int i = 0; i < cells.length; i++) {
        cells[i] = first + i;
      }
      return cells;
    }
    if (footprint instanceof Footprint.Cubes cubes) {
      int[] firsts = new int[cubes.cubes().size()];
      for (int i = 0; i < firsts.length; i++) {
        firsts[i] = firstCell(cubes.cubes().get(i));
      }
      Arrays.sort(firsts);
      int[] cells = new int[firsts.length * hostsPerCube];
      int n = 0;
      for (int first : firsts) {
        for (int i = 0; i < hostsPerCube; i++) {
          cells[n++] = first + i;
        }
      }
      return cells;
    }
    Footprint.Box box = (Footprint.Box) footprint;
    if (forest == null) {
      return cellsOnGrid(box);
    }
    Shape e = box.extents();
    int sx = Math.min(e.x(), cellTile.x());
    int sy = Math.min(e.y(), cellTile.y());
    int sz = Math.min(e.z(), cellTile.z());
    int[] cells = new int[(int) (e.chips() / ((long) sx * sy * sz))];
    int n = 0;
    for (int z = 0; z < e.z(); z += sz) {
      for (int y = 0; y < e.y(); y += sy) {
        for (int x = 0; x < e.x(); x += sx) {
          cells[n++] =
              cellOf(
                  new Chip(
                      (box.origin().x() + x) % dims.x(),
                      (box.origin().y() + y) % dims.y(),
                      (box.origin().z() + z) % dims.z()));
        }
      }
    }
    Arrays.sort(cells);
    return cells;
  }

  /** The cells of a box where they are numbered x fastest: no division for each. */
  private int[] cellsOnGrid(Footprint.Box box) {
    int nx = box.extents().x() / cellTile.x();
    int ny = box.extents().y() / cellTile.y();
    int nz = box.extents().z() / cellTile.z();
    int gx = cellGrid.x();
    int gy = cellGrid.y();
    int gz = cellGrid.z();
    int x0 = box.origin().x() / cellTile.x();
    int y0 = box.origin().y() / cellTile.y();
    int z0 = box.origin().z() / cellTile.z();
    int[] cells = new int[nx * ny * nz];
    int n = 0;
    for (int z = z0; z < z0 + nz; z++) {
      for (int y = y0; y < y0 + ny; y++) {
        int row = gx * ((y < gy ? y : y - gy) + gy * (z < gz ? z : z - gz));
        for (int x = x0; x < x0 + nx; x++) {
          cells[n++] = row + (x < gx ? x : x - gx);
        }
      }
    }
    if (x0 + nx > gx || y0 + ny > gy || z0 + nz > gz) {
      Arrays.sort(cells);
    }
    return cells;
  }

  /**
   * Runs an action on the number of every chip of a footprint, in no particular order.
   *
   * @param footprint a footprint of this pod
   * @param action receives chip numbers. O(chips)
   */
  public void forEachChip(Footprint footprint, IntConsumer action) {
    for (int cell : cells(footprint)) {
      Chip at = originOfCell(cell);
      for (int z = 0; z < cellTile.z(); z++) {
        for (int y = 0; y < cellTile.y(); y++) {
          for (int x = 0; x < cellTile.x(); x++) {
            action.accept(index(at.x() + x, at.y() + y, at.z() + z));
          }
        }
      }
    }
  }

  /**
   * Whether a slice on a footprint uses a copper link. A box uses the links between neighbours
   * inside it, and closes a ring only where it spans the whole of a wrapping axis. Where
   * coordinates are not known, links have no place: a partition uses none.
   *
   * @param footprint a footprint of this pod
   * @param from the chip that the link leaves in the positive direction
   * @param axis the axis of the link
   * @return true if the slice's ICI runs over it
   */
  public boolean usesLink(Footprint footprint, Chip from, Axis axis) {
    if (!contains(from)) {
      return false;
    }
    if (footprint instanceof Footprint.Cubes cubes) {
      return from.get(axis) % EDGE != EDGE - 1 && cubes.cubes().contains(cubeOf(from));
    }
    Footprint.Box box;
    if (footprint instanceof Footprint.Partition partition) {
      Optional<Footprint.Box> at = Objects.requireNonNull(forest, "forest").box(partition.id());
      if (at.isEmpty()) {
        return coordinatesKnown && joinsInside(partition.id(), from, axis);
      }
      box = at.get();
    } else {
      box = (Footprint.Box) footprint;
    }
    for (Axis a : AXES) {
      int n = dims.get(a);
      int in = Math.floorMod(from.get(a) - box.origin().get(a), n);
      int e = box.extents().get(a);
      if (in >= e) {
        return false;
      }
      if (a == axis) {
        boolean closes = in == e - 1;
        boolean podWrapLink = from.get(a) == n - 1;
        if (closes && !(e == n && wraps(a) && n > 1)) {
          return false;
        }
        if (podWrapLink && !wraps(a)) {
          return false;
        }
      }
    }
    return true;
  }

  /** Whether both ends of a link lie in a partition that is no box. */
  private boolean joinsInside(PartitionId id, Chip from, Axis axis) {
    int n = dims.get(axis);
    boolean end = from.get(axis) == n - 1;
    if (end && (n == 1 || !wraps(axis))) {
      return false;
    }
    int step = end ? 1 - n : 1;
    Chip to =
        new Chip(
            from.x() + (axis == Axis.X ? step : 0),
            from.y() + (axis == Axis.Y ? step : 0),
            from.z() + (axis == Axis.Z ? step : 0));
    return isInside(id, from) && isInside(id, to);
  }

  private boolean isInside(PartitionId id, Chip chip) {
    PartitionForest f = Objects.requireNonNull(forest, "forest");
    int in = cellOf(chip) - f.firstCell(id);
    return in >= 0 && in < f.cellCount(id);
  }

  /**
   * The orientation of a slice on a footprint: the first one that fits; {@link Orientation#XYZ} on
   * cubes, and where coordinates are not known.
   *
   * @param shape the slice's shape
   * @param footprint a footprint that {@link #whyNot} accepts
   * @return the orientation
   */
  public Orientation orientation(Shape shape, Footprint footprint) {
    if (footprint instanceof Footprint.Box box) {
      return Orientation.between(shape, box.extents());
    }
    if (footprint instanceof Footprint.Partition partition) {
      return Objects.requireNonNull(forest, "forest")
          .box(partition.id())
          .map(box -> Orientation.between(shape, box.extents()))
          .orElse(Orientation.XYZ);
    }
    return Orientation.XYZ;
  }

  /**
   * The hosts of a slice in worker order: x fastest, then y, then z, in the slice's own frame (a
   * convention of this library). Where coordinates are not known, or the hosts of a listed
   * partition fill no box: partitions in id order, hosts in host order; then the order is assumed.
   *
   * @param shape the slice's shape
   * @param footprint a footprint that {@link #whyNot} accepts
   * @return the hosts, each once. O(hosts)
   */
  public List<HostId> workerHosts(Shape shape, Footprint footprint) {
    Footprint.Box box = null;
    if (footprint instanceof Footprint.Box given) {
      box = given;
    } else if (footprint instanceof Footprint.Partition partition) {
      box = Objects.requireNonNull(forest, "forest").box(partition.id()).orElse(null);
      if (box == null) {
        List<HostId> hosts = new ArrayList<>();
        for (int cell : cells(footprint)) {
          HostId host = hostOfCell(cell);
          if (hosts.isEmpty() || !hosts.get(hosts.size() - 1).equals(host)) {
            hosts.add(host);
          }
        }
        return List.copyOf(hosts);
      }
    }
    Orientation orientation = orientation(shape, footprint);
    // The host tile as the slice's own axes see it.
    int tx = Math.min(hostTile.get(orientation.podAxis(Axis.X)), shape.x());
    int ty = Math.min(hostTile.get(orientation.podAxis(Axis.Y)), shape.y());
    int tz = Math.min(hostTile.get(orientation.podAxis(Axis.Z)), shape.z());
    HostId[] hosts = new HostId[(int) (shape.chips() / ((long) tx * ty * tz))];
    int n = 0;
    if (box == null) {
      List<CubeId> cubes = ((Footprint.Cubes) footprint).cubes();
      if (!coordinatesKnown) {
        for (CubeId cube : cubes) {
          for (int i = 0; i < hostsPerCube; i++) {
            hosts[n++] = hostOfCell(firstCell(cube) + i);
          }
        }
        return List.of(hosts);
      }
      int gx = shape.x() / EDGE;
      int gy = shape.y() / EDGE;
      int nx = EDGE / hostTile.x();
      int ny = EDGE / hostTile.y();
      for (int z = 0; z < shape.z(); z += tz) {
        for (int y = 0; y < shape.y(); y += ty) {
          for (int x = 0; x < shape.x(); x += tx) {
            int cube = cubes.get(x / EDGE + gx * (y / EDGE + gy * (z / EDGE))).index();
            int in = x % EDGE / tx + nx * (y % EDGE / ty + ny * (z % EDGE / tz));
            hosts[n++] = new HostId(cube * hostsPerCube + in);
          }
        }
      }
      return List.of(hosts);
    }
    for (int z = 0; z < shape.z(); z += tz) {
      for (int y = 0; y < shape.y(); y += ty) {
        for (int x = 0; x < shape.x(); x += tx) {
          Chip offset = orientation.offset(x, y, z);
          hosts[n++] =
              hostOf(
                  new Chip(
                      (box.origin().x() + offset.x()) % dims.x(),
                      (box.origin().y() + offset.y()) % dims.y(),
                      (box.origin().z() + offset.z()) % dims.z()));
        }
      }
    }
    return List.of(hosts);
  }

  /**
   * The footprint of a slice that is known by its hosts, for those who know no footprints. O(hosts)
   * for boxes and cubes, O(partitions of the shape + hosts) for partitions.
   *
   * @param shape the slice's shape
   * @param hosts its hosts; their order matters for whole cubes, which are taken in the order in
   *     which they first appear (worker order gives them back as they were), and where a box goes
   *     all round a ring, which begins at the first host
   * @return a footprint that {@link #whyNot} accepts and that takes exactly those hosts; for a
   *     shape smaller than a host, only if it is the one footprint there; a box where a partition
   *     would do too; empty if there is none
   */
  public Optional<Footprint> footprintOf(Shape shape, Collection<HostId> hosts) {
    Set<HostId> distinct = new LinkedHashSet<>(hosts);
    for (HostId host : distinct) {
      if (host.index() < 0 || host.index() >= hostCount()) {
        return Optional.empty();
      }
    }
    if (!isLegal(shape) || distinct.isEmpty() || distinct.size() != hostsOf(shape)) {
      return Optional.empty();
    }
    Footprint found;
    if (cubesOf(shape) > 0) {
      Set<CubeId> cubes = new LinkedHashSet<>();
      distinct.forEach(host -> cubes.add(cubeOf(host)));
      found = new Footprint.Cubes(List.copyOf(cubes));
    } else if (slicing instanceof Slicing.TorusBoxes
        || slicing instanceof Slicing.OpticalCubes optical && optical.boxesInCube()) {
      found = shape.chips() < hostTile.chips() ? null : boxOf(distinct);
    } else {
      found = null;
    }
    if (found == null && forest != null && cubesOf(shape) == 0) {
      found = partitionOf(shape, distinct);
    }
    return Optional.ofNullable(found).filter(f -> whyNot(shape, f).isEmpty());
  }

  /** The one partition of a shape on hosts, or null. */
  private @Nullable Footprint partitionOf(Shape shape, Set<HostId> hosts) {
    PartitionForest f = Objects.requireNonNull(forest, "forest");
    int[] cells = hosts.stream().flatMapToInt(h -> Arrays.stream(cells(h))).sorted().toArray();
    Footprint found = null;
    for (PartitionId id : f.ofShape(shape)) {
      int first = Arrays.binarySearch(cells, f.firstCell(id));
      int last = first + f.cellCount(id) - 1;
      if (first >= 0
          && last < cells.length
          && cells[last] == f.firstCell(id) + f.cellCount(id) - 1) {
        if (found != null) {
          return null;
        }
        found = new Footprint.Partition(id);
      }
    }
    return found;
  }

  /** The box that hosts fill, if they fill one; round a whole ring from the first host. */
  private Footprint.@Nullable Box boxOf(Set<HostId> hosts) {
    Chip first = originOf(hosts.iterator().next());
    int[] starts = new int[AXES.length];
    int[] extents = new int[AXES.length];
    long filled = 1;
    for (Axis axis : AXES) {
      int tile = hostTile.get(axis);
      int ring = dims.get(axis) / tile;
      boolean round = wraps(axis) && !isOptical();
      boolean[] used = new boolean[ring];
      int count = 0;
      for (HostId host : hosts) {
        int at = originOf(host).get(axis) / tile;
        count += used[at] ? 0 : 1;
        used[at] = true;
      }
      int start = 0;
      if (round && count == ring) {
        start = first.get(axis) / tile;
      } else {
        while (!used[start] || round && used[(start + ring - 1) % ring]) {
          start++;
        }
      }
      for (int i = 0; i < count; i++) {
        if (start + i >= ring && !round || !used[(start + i) % ring]) {
          return null;
        }
      }
      starts[axis.ordinal()] = start * tile;
      extents[axis.ordinal()] = count * tile;
      filled *= count;
    }
    return filled != hosts.size()
        ? null
        : new Footprint.Box(
            new Chip(starts[0], starts[1], starts[2]),
            shape(dims.rank(), extents[0], extents[1], extents[2]));
  }

  /**
   * Whether every axis of a slice on a footprint that is longer than one chip wraps.
   *
   * @param shape the slice's shape
   * @param footprint a footprint that {@link #whyNot} accepts
   * @return true for a full torus
   */
  public boolean isTorus(Shape shape, Footprint footprint) {
    return logical(shape, footprint, Twist.NONE).isTorus();
  }

  /**
   * The interconnect of a slice in its own frame. On optical pods slices of whole cubes wrap on all
   * axes and smaller ones on none; on wired pods an axis wraps where the slice spans the whole of a
   * wrapping axis of the pod. Where coordinates are not known, only of a slice that is the whole
   * pod, or as long as a full pod whose axes are alike, is it known which axes it spans.
   *
   * @param shape the slice's shape
   * @param footprint a footprint that {@link #whyNot} accepts
   * @param twist how its wraps are twisted; {@link Twist#NONE} for a plain torus
   * @return the logical topology
   */
  public LogicalTopology logical(Shape shape, Footprint footprint, Twist twist) {
    if (footprint instanceof Footprint.Cubes) {
      return new LogicalTopology(shape, true, true, true, twist, EDGE);
    }
    boolean whole = !coordinatesKnown && isWholePod(shape, footprint);
    Orientation orientation =
        whole ? Orientation.between(shape, dims) : orientation(shape, footprint);
    boolean[] w = new boolean[3];
    // Without coordinates only the extents tell: enough on a full pod whose axes are alike.
    boolean placed = coordinatesKnown ? isBox(footprint) : whole || isFullSquare();
    if (!isOptical() && placed) {
      for (Axis axis : AXES) {
        Axis pod = orientation.podAxis(axis);
        w[axis.ordinal()] = wraps(pod) && shape.get(axis) == dims.get(pod);
      }
    }
    return new LogicalTopology(
        shape, w[0], w[1], w[2], twist, whole && isJoinedCubes(shape) ? EDGE : 0);
  }

  private boolean isWholePod(Shape shape, Footprint footprint) {
    return footprint instanceof Footprint.Partition partition
        && Objects.requireNonNull(forest, "forest").cellCount(partition.id()) == cellCount()
        && shape.sorted().equals(dims.sorted());
  }

  private boolean isBox(Footprint footprint) {
    return footprint instanceof Footprint.Box
        || footprint instanceof Footprint.Partition partition
            && Objects.requireNonNull(forest, "forest").box(partition.id()).isPresent();
  }

  private boolean isFullSquare() {
    return dims.equals(accelerator.podDims())
        && dims.x() == dims.y()
        && (dims.rank() == 2 || dims.y() == dims.z());
  }

  /**
   * The chips and links of the pod as a read-only graph. On optical pods: the cubes with their
   * copper links, and no link between cubes; a placed slice's own graph ({@link
   * LogicalTopology#graph}) adds the optical ones.
   *
   * @return an undirected, unweighted multigraph without loops (two links join the chips of a
   *     wrapping axis of length 2); edges are values made on demand, so it takes no memory per
   *     edge. Safe to share. Vertices are iterated x fastest, edges by their first chip, then axis
   */
  public Graph<Chip, IciLink> graph() {
    return IciGraph.of(this);
  }

  @Override
  public boolean equals(Object other) {
    return this == other
        || other instanceof TpuTopology that
            && hash == that.hash
            && accelerator.equals(that.accelerator)
            && dims.equals(that.dims)
            && hostTile.equals(that.hostTile)
            && physicalHostTile.equals(that.physicalHostTile)
            && Arrays.equals(wraps, that.wraps)
            && slicing.equals(that.slicing)
            && hostNames.equals(that.hostNames)
            && cubeNames.equals(that.cubeNames)
            && coordinatesKnown == that.coordinatesKnown;
  }

  @Override
  public int hashCode() {
    return hash;
  }

  @Override
  public String toString() {
    return accelerator
        + " "
        + dims
        + (isOptical() ? " (" + cubeCount() + " cubes)" : "")
        + " "
        + slicing.getClass().getSimpleName();
  }

  /** Builds a {@link TpuTopology}. Confined to one thread at a time. */
  public static final class Builder {
    private AcceleratorType accelerator;
    private final boolean custom;
    private boolean acceleratorSet;
    private int[] rawDims;
    private @Nullable Shape dims;
    private Shape hostTile;
    private Shape physicalHostTile;
    private boolean physicalSet;
    private final boolean[] wraps = new boolean[3];
    private final boolean[] wrapSet = new boolean[3];
    private boolean[] effectiveWraps = new boolean[3];
    private Slicing slicing;
    private List<String> hostNames = List.of();
    private List<String> cubeNames = List.of();
    private boolean coordinatesKnown = true;
    private int cubes;
    private boolean cubesSet;

    private Builder(AcceleratorType accelerator) {
      this.accelerator = Objects.requireNonNull(accelerator, "accelerator");
      this.custom = false;
      Shape d = accelerator.podDims();
      this.rawDims = d.rank() == 2 ? new int[] {d.x(), d.y()} : new int[] {d.x(), d.y(), d.z()};
      this.hostTile = accelerator.hostTile();
      this.physicalHostTile = accelerator.physicalHostTile();
      this.slicing =
          accelerator.cubeEdge() == EDGE
              ? Slicing.OpticalCubes.upTo(accelerator.maxCubes())
              : accelerator.boxes().shapes().isEmpty()
                  ? accelerator.boxes()
                  : Slicing.NestedPartitions.halving();
    }

    private Builder(int... dims) {
      this.custom = true;
      this.rawDims = dims;
      this.hostTile = dims.length == 2 ? Shape.of(2, 2) : Shape.of(2, 2, 1);
      this.physicalHostTile = hostTile;
      this.slicing = Slicing.TorusBoxes.anyBox();
      this.accelerator =
          AcceleratorType.builder("torus").podDims(hostTile).hostTile(hostTile).build();
    }

    /**
     * Names the accelerator of a custom torus; requests may ask for it. The default is {@code
     * torus}.
     *
     * @param value an accelerator of the same rank
     * @return this
     */
    public Builder accelerator(AcceleratorType value) {
      accelerator = Objects.requireNonNull(value, "accelerator");
      acceleratorSet = true;
      return this;
    }

    /**
     * Sets the chips along each axis.
     *
     * @param extents two or three, within {@link #MAX_X} and {@link #MAX_YZ}
     * @return this
     */
    public Builder dims(int... extents) {
      rawDims = extents.clone();
      return this;
    }

    /**
     * Sets the number of cubes of an optical pod; the layout is then a nominal row of cubes along
     * z.
     *
     * @param value 1 to {@link #MAX_CUBES}
     * @return this
     */
    public Builder cubes(int value) {
      cubes = value;
      cubesSet = true;
      return this;
    }

    /**
     * Sets the chips of a host along each axis.
     *
     * @param value of the pod's rank; it must divide the pod
     * @return this
     */
    public Builder hostTile(Shape value) {
      hostTile = Objects.requireNonNull(value, "hostTile");
      return this;
    }

    /**
     * Sets the chips of a physical machine along each axis. The default is the accelerator's; on a
     * custom torus, and where the accelerator's does not go with the host tile or the pod, the host
     * tile.
     *
     * @param value of the pod's rank, a multiple of the host tile that divides the pod
     * @return this
     */
    public Builder physicalHostTile(Shape value) {
      physicalHostTile = Objects.requireNonNull(value, "physicalHostTile");
      physicalSet = true;
      return this;
    }

    /**
     * Sets whether an axis of a wired pod wraps. By default every axis of a custom torus does, and
     * of an accelerator's pod those that have the full length: the wiring of a part of a v5e or v6e
     * pod does not close (Cloud TPU documentation; "How to Scale Your Model").
     *
     * @param axis the axis
     * @param value whether it wraps
     * @return this
     */
    public Builder wrap(Axis axis, boolean value) {
      wraps[axis.ordinal()] = value;
      wrapSet[axis.ordinal()] = true;
      return this;
    }

    /**
     * Makes a wired mesh: no axis wraps.
     *
     * @return this
     */
    public Builder mesh() {
      Arrays.fill(wraps, false);
      Arrays.fill(wrapSet, true);
      return this;
    }

    /**
     * Sets how chips become slices.
     *
     * @param value the slicing
     * @return this
     */
    public Builder slicing(Slicing value) {
      slicing = Objects.requireNonNull(value, "slicing");
      return this;
    }

    /**
     * Slices into free boxes of the accelerator's shapes, instead of partitions or cubes.
     *
     * @return this
     */
    public Builder boxes() {
      return slicing(accelerator.boxes());
    }

    /**
     * Names the hosts, in host order; on optical pods cube by cube.
     *
     * @param names one name for each host, each once
     * @return this
     */
    public Builder hostNames(List<String> names) {
      hostNames = List.copyOf(names);
      return this;
    }

    /**
     * Names the cubes of an optical pod, in cube order.
     *
     * @param names one name for each cube, each once
     * @return this
     */
    public Builder cubeNames(List<String> names) {
      cubeNames = List.copyOf(names);
      return this;
    }

    /**
     * Says that the platform gives names and partitions but no coordinates: worker order is then
     * assumed, and coordinates are nominal.
     *
     * @return this
     */
    public Builder coordinatesUnknown() {
      coordinatesKnown = false;
      return this;
    }

    /**
     * Checks and builds.
     *
     * @return the topology
     * @throws InvalidInputException listing every problem
     */
    public TpuTopology build() {
      Problems problems = new Problems();
      boolean optical = slicing instanceof Slicing.OpticalCubes;
      if (cubesSet) {
        if (!optical) {
          problems.add(
              "cubes",
              "only optical pods have cubes, but was " + cubes + "; set slicing to OpticalCubes");
        } else if (cubes < 1 || cubes > MAX_CUBES) {
          problems.add("cubes", "expected 1 to " + MAX_CUBES + ", but was " + cubes);
        } else {
          rawDims = new int[] {EDGE, EDGE, EDGE * cubes};
        }
      }
      if (rawDims.length != 2 && rawDims.length != 3) {
        problems.add("dims", "expected two or three extents, but was " + Arrays.toString(rawDims));
      }
      int[] limits = {MAX_X, MAX_YZ, cubesSet ? EDGE * MAX_CUBES : MAX_YZ};
      for (int i = 0; i < Math.min(3, rawDims.length); i++) {
        if (rawDims[i] < 1 || rawDims[i] > limits[i]) {
          problems.add(
              "dims." + Axis.values()[i],
              "expected 1 to " + limits[i] + " chips, but was " + rawDims[i]);
        }
      }
      problems.throwIfAny("topology");
      Shape d = shape(rawDims.length, rawDims[0], rawDims[1], rawDims.length == 3 ? rawDims[2] : 1);
      dims = d;
      checkTile(problems, "hostTile", hostTile, d);
      if (!physicalSet
          && (custom || !divides(hostTile, physicalHostTile) || !divides(physicalHostTile, d))) {
        physicalHostTile = hostTile;
      }
      if (physicalSet) {
        checkTile(problems, "physicalHostTile", physicalHostTile, d);
        if (!divides(hostTile, physicalHostTile)) {
          problems.add(
              "physicalHostTile",
              "must be whole hosts of " + hostTile + ", but was " + physicalHostTile);
        }
      }
      if (custom && !acceleratorSet) {
        if (problems.isEmpty()) {
          accelerator = AcceleratorType.builder("torus").podDims(d).hostTile(hostTile).build();
        }
      } else if (accelerator.rank() != d.rank()) {
        problems.add("dims", accelerator + " is " + accelerator.rank() + "-D, but was " + d);
      }
      effectiveWraps = new boolean[3];
      for (Axis axis : AXES) {
        int i = axis.ordinal();
        int n = d.get(axis);
        boolean byDefault = custom || n == accelerator.podDims().get(axis);
        effectiveWraps[i] = n > 1 && !optical && (wrapSet[i] ? wraps[i] : byDefault);
      }
      if (slicing instanceof Slicing.OpticalCubes o) {
        if (d.rank() != 3 || d.x() % EDGE != 0 || d.y() % EDGE != 0 || d.z() % EDGE != 0) {
          problems.add("dims", "optical pods are whole cubes of 4x4x4, but was " + d);
        } else if (d.chips() / CUBE_CHIPS > MAX_CUBES) {
          problems.add(
              "dims",
              "expected at most " + MAX_CUBES + " cubes, but was " + d.chips() / CUBE_CHIPS);
        }
        if (hostTile.rank() == 3
            && (EDGE % hostTile.x() != 0 || EDGE % hostTile.y() != 0 || EDGE % hostTile.z() != 0)) {
          problems.add("hostTile", "must divide a 4x4x4 cube, but was " + hostTile);
        } else if (hostTile.chips() < 4) {
          problems.add(
              "hostTile", "hosts of optical pods have 4 chips or more, but was " + hostTile);
        }
        if (o.maxCubes() < 1 || o.maxCubes() > MAX_CUBES) {
          problems.add(
              "slicing.maxCubes", "expected 1 to " + MAX_CUBES + ", but was " + o.maxCubes());
        }
      }
      if (slicing instanceof Slicing.NestedPartitions n && n.partitions().isEmpty()) {
        if (Integer.bitCount(d.x()) != 1
            || Integer.bitCount(d.y()) != 1
            || Integer.bitCount(d.z()) != 1) {
          problems.add(
              "slicing.partitions",
              "only pods with power-of-two extents can be halved, but was "
                  + d
                  + "; list the partitions instead");
        }
        if (problems.isEmpty() && d.rank() == 2) {
          checkHalves(problems, d);
        }
        if (d.chips() > 1 << 16) {
          problems.add("dims", "halved pods have at most 65,536 chips, but was " + d.chips());
        }
      }
      if (slicing instanceof Slicing.TorusBoxes b) {
        for (Shape s : b.shapes()) {
          if (s.rank() != d.rank()) {
            problems.add("slicing.shapes", s + " does not have " + d.rank() + " extents");
          }
        }
      }
      if (problems.isEmpty()) {
        int hosts = (int) (d.chips() / hostTile.chips());
        checkNames(problems, "hostNames", hostNames, hosts);
        checkNames(problems, "cubeNames", cubeNames, optical ? (int) (d.chips() / CUBE_CHIPS) : 0);
      }
      problems.throwIfAny("topology");
      return new TpuTopology(this);
    }

    /** A host must lie in one part of every halving, or hold whole parts. */
    private void checkHalves(Problems problems, Shape d) {
      int x = d.x();
      int y = d.y();
      while (x * y > 4) {
        if (x >= y) {
          x /= 2;
        } else {
          y /= 2;
        }
        boolean whole = x % hostTile.x() == 0 && y % hostTile.y() == 0;
        boolean part = hostTile.x() % x == 0 && hostTile.y() % y == 0;
        if (!whole && !part) {
          problems.add(
              "hostTile",
              "halving the pod cuts it into "
                  + Shape.of(x, y)
                  + ", which is neither whole hosts nor part of one, but was "
                  + hostTile
                  + "; use another tile, for example 2x2, or list the partitions");
          return;
        }
      }
    }

    private static boolean divides(Shape tile, Shape whole) {
      return tile.rank() == whole.rank()
          && whole.x() % tile.x() == 0
          && whole.y() % tile.y() == 0
          && whole.z() % tile.z() == 0;
    }

    private static void checkTile(Problems problems, String path, Shape tile, Shape dims) {
      if (tile.rank() != dims.rank()) {
        problems.add(path, "expected " + dims.rank() + " extents, but was " + tile);
      } else if (dims.x() % tile.x() != 0 || dims.y() % tile.y() != 0 || dims.z() % tile.z() != 0) {
        problems.add(
            path,
            "must divide the pod "
                + dims
                + ", but was "
                + tile
                + "; use another tile, for example 1x1x1");
      }
    }

    private static void checkNames(
        Problems problems, String path, List<String> names, int expected) {
      if (names.isEmpty()) {
        return;
      }
      if (names.size() != expected) {
        problems.add(path, "expected " + expected + " names, but was " + names.size());
      }
      Set<String> seen = new HashSet<>();
      for (int i = 0; i < names.size(); i++) {
        if (names.get(i).isEmpty() || !seen.add(names.get(i))) {
          problems.add(
              path + "[" + i + "]", "expected a name of its own, but was \"" + names.get(i) + "\"");
        }
      }
    }
  }
}
