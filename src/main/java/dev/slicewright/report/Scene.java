package dev.slicewright.report;

import dev.slicewright.SliceId;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Move;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What a picture shows, before anything is drawn: one frame (or two), panels of dots, and a letter
 * for every slice. O(cells + slices x their cells).
 *
 * <p>A dot is a host, or a chip where a host has several owners. A panel is a rectangle of dots: a
 * cube of an optical pod, else a z layer. Inside a cube, dots follow a Morton curve over the cell
 * numbers, so that every partition is a rectangle.
 */
final class Scene {

  private static final String LOWER = "abcdefghijklmnopqrstuvwyz0123456789";
  private static final String UPPER = "ABCDEFGHIJKLMNOPQRSTUVWYZ";

  /** What a plan does to a slice. */
  enum Fate {
    STAYS(""),
    NEW("new"),
    MOVED("moved"),
    EVICTED("evicted");

    final String word;

    Fate(String word) {
      this.word = word;
    }
  }

  /** A slice of the picture: its number is its place in {@link #slices}. */
  record Slice(SliceId id, Shape shape, char letter, Fate fate, boolean leaving, String where) {}

  /** What is where at one moment: owners by cell (-1 none), holds by cell (-1 none). */
  record Frame(String title, int[] owner, int[] held, List<Hold> holds) {}

  /** A rectangle of dots; each is named by one of its cells, or -1 for a gap. */
  record Panel(String name, int gridX, int gridY, int cols, int rows, int[] dots, int cube) {
    int dot(int col, int row) {
      return col < 0 || row < 0 || col >= cols || row >= rows ? -1 : dots[row * cols + col];
    }
  }

  /** Panels that lie in one plane. */
  record Layer(String title, int cols, int rows, List<Panel> panels) {}

  final Pod pod;
  final TpuTopology topology;
  final List<Slice> slices = new ArrayList<>();
  final List<Frame> frames = new ArrayList<>();
  final List<Layer> layers = new ArrayList<>();
  final boolean dotsAreHosts;

  private Scene(Pod pod, @Nullable Plan plan, boolean before, boolean after) {
    this.pod = pod;
    this.topology = pod.topology();
    Map<SliceId, Integer> numbers = new HashMap<>();
    Map<SliceId, Fate> fates = new HashMap<>();
    List<Placement> arriving = new ArrayList<>();
    Set<String> placed = new HashSet<>();
    if (plan != null) {
      for (Move move : plan.moves()) {
        fates.put(move.from().id(), Fate.MOVED);
        if (move.to().pod().equals(pod.id())) {
          arriving.add(move.to());
        }
      }
      for (Eviction eviction : plan.evictions()) {
        eviction.slices().forEach(s -> fates.put(s.id(), Fate.EVICTED));
      }
      for (RequestPlacement request : plan.placements()) {
        placed.add(request.request().id());
        for (Placement placement : request.slices()) {
          if (placement.pod().equals(pod.id())) {
            fates.put(placement.id(), Fate.NEW);
            arriving.add(placement);
          }
        }
      }
    }
    int lower = 0;
    List<RunningSlice> running = new ArrayList<>(pod.running());
    running.sort(Comparator.comparing(RunningSlice::id, Words.NATURAL));
    arriving.sort(Comparator.comparing(Placement::id, Words.NATURAL));
    for (RunningSlice slice : running) {
      Fate fate = fates.getOrDefault(slice.id(), Fate.STAYS);
      if (!before && fate == Fate.EVICTED) {
        continue;
      }
      numbers.put(slice.id(), slices.size());
      char letter = LOWER.charAt(lower++ % LOWER.length());
      slices.add(
          new Slice(
              slice.id(), slice.shape(), letter, fate, slice.leaving(), where(slice.footprint())));
    }
    int upper = 0;
    for (Placement placement : arriving) {
      Integer known = numbers.get(placement.id());
      if (known != null) {
        // Moved inside this pod: it keeps its letter.
        continue;
      }
      numbers.put(placement.id(), slices.size());
      char letter = UPPER.charAt(upper++ % UPPER.length());
      Fate fate = fates.getOrDefault(placement.id(), Fate.NEW);
      slices.add(
          new Slice(
              placement.id(),
              placement.shape(),
              letter,
              fate,
              false,
              where(placement.footprint())));
    }
    if (before) {
      int[] owner = blank();
      for (RunningSlice slice : pod.running()) {
        paint(owner, slice.footprint(), number(numbers, slice.id()));
      }
      List<Hold> holds = holds(plan, Set.of());
      frames.add(new Frame(after ? "before" : "", owner, held(holds), holds));
    }
    if (after) {
      int[] owner = blank();
      for (RunningSlice slice : pod.running()) {
        Fate fate = fates.getOrDefault(slice.id(), Fate.STAYS);
        if (fate != Fate.MOVED && fate != Fate.EVICTED) {
          paint(owner, slice.footprint(), number(numbers, slice.id()));
        }
      }
      for (Placement placement : arriving) {
        paint(owner, placement.footprint(), number(numbers, placement.id()));
      }
      List<Hold> holds = holds(plan, placed);
      frames.add(new Frame(before ? "after" : "", owner, held(holds), holds));
    }
    this.dotsAreHosts = topology.cells(new HostId(0)).length == 1 || hostsAreUniform();
    if (topology.isOptical()) {
      cubes();
    } else {
      planes();
    }
  }

  static Scene of(Pod pod) {
    return new Scene(pod, null, true, false);
  }

  static Scene after(Pod pod, Plan plan) {
    return new Scene(pod, plan, false, true);
  }

  static Scene both(Pod pod, Plan plan) {
    return new Scene(pod, plan, true, true);
  }

  private static int number(Map<SliceId, Integer> numbers, SliceId id) {
    Integer number = numbers.get(id);
    return number == null ? -1 : number;
  }

  private int[] blank() {
    int[] cells = new int[topology.cellCount()];
    Arrays.fill(cells, -1);
    return cells;
  }

  private void paint(int[] owner, Footprint footprint, int number) {
    for (int cell : topology.cells(footprint)) {
      owner[cell] = number;
    }
  }

  private List<Hold> holds(@Nullable Plan plan, Set<String> ended) {
    List<Hold> live = new ArrayList<>();
    for (Hold hold : pod.holds()) {
      if (!ended.contains(hold.request()) && (plan == null || hold.isLive(plan.rules().now()))) {
        live.add(hold);
      }
    }
    return live;
  }

  private int[] held(List<Hold> holds) {
    int[] held = blank();
    for (int i = 0; i < holds.size(); i++) {
      paint(held, holds.get(i).footprint(), i);
    }
    return held;
  }

  private String where(Footprint footprint) {
    if (footprint instanceof Footprint.Cubes cubes) {
      int n = cubes.cubes().size();
      return n == 1 ? topology.cubeName(cubes.cubes().get(0)) : n + " cubes";
    }
    if (footprint instanceof Footprint.Partition partition) {
      return topology.partitions().map(f -> f.name(partition.id())).orElse("");
    }
    return "@" + ((Footprint.Box) footprint).origin();
  }

  // ---------------------------------------------------------------- the state of a cell

  /** The sign of a cell: a slice's letter, or one of {@code . X ! = + ~}. */
  char sign(Frame frame, int cell) {
    if (frame.owner()[cell] >= 0) {
      return isFailed(cell) ? '!' : slices.get(frame.owner()[cell]).letter();
    }
    if (isFailed(cell)) {
      return 'X';
    }
    if (isCordoned(cell)) {
      return '=';
    }
    if (frame.held()[cell] >= 0) {
      return '+';
    }
    return isDegraded(cell) ? '~' : '.';
  }

  boolean isFailed(int cell) {
    return pod.health().failedCells().contains(cell);
  }

  boolean isDegraded(int cell) {
    return pod.health().degradedCells().contains(cell);
  }

  boolean isCordoned(int cell) {
    return pod.cordonedCells().contains(cell);
  }

  /**
   * Whether a state turns up in the picture, under a slice or not; {@code x} and {@code ~} of cubes
   * too.
   */
  boolean shows(char sign) {
    for (int cube = 0; cube < topology.cubeCount(); cube++) {
      if (sign == 'x' && isLinkBroken(cube) || sign == '~' && isCubeDegraded(cube)) {
        return true;
      }
    }
    for (Frame frame : frames) {
      for (int cell = 0; cell < topology.cellCount(); cell++) {
        if (sign(frame, cell) == sign) {
          return true;
        }
      }
    }
    return false;
  }

  /** Whether no slice of whole cubes may use a cube although all its hosts stand. */
  boolean isLinkBroken(int cube) {
    if (!pod.health().brokenCubes().contains(new CubeId(cube))) {
      return false;
    }
    int first = topology.firstCell(new CubeId(cube));
    for (int i = 0; i < topology.hostsPerCube(); i++) {
      if (isFailed(first + i)) {
        return false;
      }
    }
    return true;
  }

  boolean isCubeDegraded(int cube) {
    return pod.health().degradedCubes().contains(new CubeId(cube));
  }

  /** A cell that no other of its host differs from, in any frame. */
  private boolean hostsAreUniform() {
    for (int h = 0; h < topology.hostCount(); h++) {
      int[] cells = topology.cells(new HostId(h));
      for (int cell : cells) {
        for (Frame frame : frames) {
          if (frame.owner()[cell] != frame.owner()[cells[0]]
              || frame.held()[cell] != frame.held()[cells[0]]) {
            return false;
          }
        }
        if (isFailed(cell) != isFailed(cells[0])
            || isDegraded(cell) != isDegraded(cells[0])
            || isCordoned(cell) != isCordoned(cells[0])) {
          return false;
        }
      }
    }
    return true;
  }

  // ---------------------------------------------------------------- where things are drawn

  private void cubes() {
    Shape grid = topology.cubeGrid();
    boolean row = !topology.coordinatesKnown() || grid.x() * grid.y() == 1;
    int cols = row ? Math.min(12, topology.cubeCount()) : grid.x();
    int perLayer = row ? topology.cubeCount() : grid.x() * grid.y();
    int count = topology.cubeCount() / perLayer;
    for (int z = 0; z < count; z++) {
      List<Panel> panels = new ArrayList<>();
      for (int i = 0; i < perLayer; i++) {
        int cube = z * perLayer + i;
        panels.add(cube(cube, i % cols, i / cols));
      }
      layers.add(
          new Layer(
              row ? "" : "z " + 4 * z + "–" + (4 * z + 3), cols, rows(perLayer, cols), panels));
    }
  }

  private static int rows(int count, int cols) {
    return (count + cols - 1) / cols;
  }

  private Panel cube(int cube, int gridX, int gridY) {
    int cells = topology.hostsPerCube();
    int bits = 31 - Integer.numberOfLeadingZeros(cells);
    int cols = 1 << (bits + 1) / 2;
    int rows = cells / cols;
    int[] dots = new int[cells];
    int first = topology.firstCell(new CubeId(cube));
    for (int i = 0; i < cells; i++) {
      int col = 0;
      int row = 0;
      for (int b = bits - 1; b >= 0; b--) {
        int bit = i >> b & 1;
        if ((bits - 1 - b) % 2 == 0) {
          col = col << 1 | bit;
        } else {
          row = row << 1 | bit;
        }
      }
      dots[row * cols + col] = first + i;
    }
    return new Panel(topology.cubeName(new CubeId(cube)), gridX, gridY, cols, rows, dots, cube);
  }

  private void planes() {
    Shape tile = dotsAreHosts ? topology.hostTile() : topology.cellTile();
    Shape dims = topology.dims();
    if (!topology.coordinatesKnown()) {
      // No coordinates: in the order of the cells, where partitions are consecutive.
      int step = dotsAreHosts ? topology.cells(new HostId(0)).length : 1;
      int count = topology.cellCount() / step;
      int cols = Math.min(16, count);
      int[] dots = new int[cols * rows(count, cols)];
      Arrays.fill(dots, -1);
      for (int i = 0; i < count; i++) {
        dots[i] = i * step;
      }
      layers.add(
          new Layer("", 1, 1, List.of(new Panel("", 0, 0, cols, rows(count, cols), dots, -1))));
      return;
    }
    int cols = dims.x() / tile.x();
    int rows = dims.y() / tile.y();
    int count = dims.z() / tile.z();
    for (int z = 0; z < count; z++) {
      int[] dots = new int[cols * rows];
      for (int y = 0; y < rows; y++) {
        for (int x = 0; x < cols; x++) {
          dots[y * cols + x] = topology.cellOf(new Chip(x * tile.x(), y * tile.y(), z * tile.z()));
        }
      }
      String title =
          dims.rank() == 2
              ? ""
              : tile.z() == 1 ? "z " + z : "z " + z * tile.z() + "–" + ((z + 1) * tile.z() - 1);
      layers.add(new Layer(title, 1, 1, List.of(new Panel("", 0, 0, cols, rows, dots, -1))));
    }
  }

  // ---------------------------------------------------------------- words

  /** The chips in each state, as a line such as {@code 512 chips: 300 used, 212 free}. */
  String counts(Frame frame) {
    int used = 0;
    int failed = 0;
    int cordoned = 0;
    int held = 0;
    int free = 0;
    for (int cell = 0; cell < topology.cellCount(); cell++) {
      switch (sign(frame, cell)) {
        case '.', '~' -> free++;
        case 'X' -> failed++;
        case '=' -> cordoned++;
        case '+' -> held++;
        default -> used++;
      }
    }
    int per = topology.chipsPerCell();
    StringBuilder text =
        new StringBuilder(Words.count((long) used * per))
            .append(" chips used, ")
            .append(Words.count((long) free * per))
            .append(" free");
    int[] numbers = {held, cordoned, failed};
    String[] names = {"held", "cordoned", "failed"};
    for (int i = 0; i < numbers.length; i++) {
      if (numbers[i] > 0) {
        text.append(", ").append(Words.count((long) numbers[i] * per)).append(' ').append(names[i]);
      }
    }
    return text.toString();
  }

  /** What the pod is: accelerator, dimensions, cubes or hosts, chips. */
  String kind() {
    TpuTopology t = topology;
    return t.accelerator()
        + (t.coordinatesKnown() && !(t.isOptical() && t.cubeGrid().x() * t.cubeGrid().y() == 1)
            ? " " + t.dims()
            : "")
        + ", "
        + (t.isOptical()
            ? Words.plural(t.cubeCount(), "optical cube")
            : Words.plural(t.hostCount(), "host"))
        + ", "
        + Words.plural(t.chipCount(), "chip")
        + (pod.isCordoned() ? ", cordoned" : "");
  }

  /** The failed or degraded links that are no cube's, for the pods whose dots cannot show them. */
  List<String> links() {
    List<String> found = new ArrayList<>();
    pod.health().failedLinks().forEach(l -> found.add("failed " + l.from() + " " + l.axis()));
    pod.health().degradedLinks().forEach(l -> found.add("degraded " + l.from() + " " + l.axis()));
    return found;
  }
}
