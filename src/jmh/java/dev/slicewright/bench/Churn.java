package dev.slicewright.bench;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Orientation;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * Fleets of one pod of boxes as churn leaves them. An event adds a slice of a random shape of the
 * mix while the share of busy chips is below the load, and otherwise removes a random slice; a
 * slice that finds no place is dropped. The rule that places the slices matters more than anything
 * else, so say which one a figure is for. Deterministic. Not safe; external synchronisation needed.
 *
 * <p>It knows nothing of the library's own search, so that instances do not change with it.
 */
public final class Churn {

  /** The pod's id. */
  public static final String POD = "pod";

  /** Events of the published figures. */
  public static final int EVENTS = 3_000;

  /** Where churn places a slice. Immutable, safe to share. */
  public enum Rule {
    /** F: the first free origin (x fastest) of a random orientation, the others if it has none. */
    FIRST_FIT,
    /** S: a random free origin of all orientations; nobody's scheduler, but what scatters most. */
    SCATTER,
    /**
     * C: of all free origins and orientations one with the least exposed surface, that is with the
     * fewest free cells that touch it; ties at random.
     */
    LEAST_EXPOSED
  }

  /** The eight mixed shapes of the first figures. */
  static final List<Shape> SHAPES = Mix.TORUS.shapes().subList(0, 8);

  private static final Mix EIGHT = new Mix(SHAPES, new int[] {15, 10, 12, 13, 22, 15, 8, 5});

  private final TpuTopology topology;
  private final Rule rule;
  private final Mix mix;
  private final SplittableRandom random;
  private final BitSet busy = new BitSet();
  private final List<Placed> placed = new ArrayList<>();
  private int busyCells;
  private int next;

  private record Placed(int number, Shape shape, Footprint.Box box) {}

  private Churn(TpuTopology topology, Rule rule, Mix mix, long seed) {
    this.topology = topology;
    this.rule = rule;
    this.mix = mix;
    this.random = new SplittableRandom(seed);
  }

  /**
   * A fleet after {@value #EVENTS} events.
   *
   * @param topology a 3-D topology of boxes
   * @param load the share of chips aimed at, 0 to 1
   * @param seed any number
   * @param rule where slices go
   * @return a fleet of the pod {@value #POD}
   */
  public static Fleet fleet(TpuTopology topology, double load, long seed, Rule rule) {
    return fleet(topology, load, seed, rule, EVENTS);
  }

  /**
   * A fleet after a number of events.
   *
   * @param topology a 3-D topology of boxes
   * @param load the share of chips aimed at, 0 to 1
   * @param seed any number
   * @param rule where slices go
   * @param events how many
   * @return a fleet of the pod {@value #POD}
   */
  public static Fleet fleet(TpuTopology topology, double load, long seed, Rule rule, int events) {
    return fleet(topology, load, seed, rule, events, EIGHT);
  }

  /** A fleet after a number of events with shapes of a mix. */
  static Fleet fleet(TpuTopology topology, double load, long seed, Rule rule, int events, Mix mix) {
    Churn churn = new Churn(topology, rule, mix, seed);
    for (int i = 0; i < events; i++) {
      churn.event(load);
    }
    Fleet.Builder builder = Fleet.builder().pod(POD, topology);
    for (Placed p : churn.placed) {
      builder.running(
          RunningSlice.builder(
                  SliceRequest.builder("run-" + p.number()).shape(p.shape()).build(),
                  0,
                  POD,
                  p.shape(),
                  p.box())
              .build());
    }
    return builder.build();
  }

  /**
   * A random shape of the mix: 2x2x1 to 8x8x8.
   *
   * @param random the source of chance
   * @return the shape, ascending but for 2x2x1
   */
  public static Shape draw(SplittableRandom random) {
    return EIGHT.draw(random);
  }

  /**
   * The eight mixed shapes.
   *
   * @return 2x2x1 to 8x8x8
   */
  public static List<Shape> shapes() {
    return SHAPES;
  }

  /** How often each of them is drawn. */
  static Map<Shape, Double> shares() {
    Map<Shape, Double> shares = new LinkedHashMap<>();
    for (int i = 0; i < SHAPES.size(); i++) {
      shares.put(SHAPES.get(i), (double) EIGHT.shares()[i]);
    }
    return shares;
  }

  private void event(double load) {
    if (busyCells < load * topology.cellCount()) {
      Shape shape = mix.draw(random);
      Footprint.Box box =
          switch (rule) {
            case FIRST_FIT -> first(shape);
            case SCATTER -> scattered(shape);
            case LEAST_EXPOSED -> snug(shape);
          };
      if (box != null) {
        for (int cell : topology.cells(box)) {
          busy.set(cell);
          busyCells++;
        }
        placed.add(new Placed(next, shape, box));
      }
      next++;
    } else if (!placed.isEmpty()) {
      int victim = random.nextInt(placed.size());
      Placed gone = placed.set(victim, placed.get(placed.size() - 1));
      placed.remove(placed.size() - 1);
      for (int cell : topology.cells(gone.box())) {
        busy.clear(cell);
        busyCells--;
      }
    }
  }

  private List<Shape> turns(Shape shape) {
    List<Shape> turns = new ArrayList<>();
    for (Orientation orientation : Orientation.ofRank(shape.rank())) {
      Shape extents = orientation.extents(shape);
      if (!turns.contains(extents) && topology.alignment(extents).isPresent()) {
        turns.add(extents);
      }
    }
    return turns;
  }

  private Footprint.Box first(Shape shape) {
    List<Shape> turns = turns(shape);
    for (int i = turns.size() - 1; i > 0; i--) {
      Collections.swap(turns, i, random.nextInt(i + 1));
    }
    for (Shape extents : turns) {
      for (int cell = 0; cell < topology.cellCount(); cell++) {
        Footprint.Box box = new Footprint.Box(topology.originOfCell(cell), extents);
        if (isFree(box)) {
          return box;
        }
      }
    }
    return null;
  }

  private Footprint.Box scattered(Shape shape) {
    return ofLeast(shape, false);
  }

  private Footprint.Box snug(Shape shape) {
    return ofLeast(shape, true);
  }

  /** A random one of all free places, or of those that expose least. */
  private Footprint.Box ofLeast(Shape shape, boolean expose) {
    BoxSums sums = new BoxSums(topology, busy);
    Shape grid = topology.cellGrid();
    Shape tile = topology.cellTile();
    List<Shape> extents = new ArrayList<>();
    List<Integer> cells = new ArrayList<>();
    int least = Integer.MAX_VALUE;
    for (Shape turn : turns(shape)) {
      int dx = turn.x() / tile.x();
      int dy = turn.y() / tile.y();
      int dz = turn.z() / tile.z();
      int cell = 0;
      for (int z = 0; z < grid.z(); z++) {
        for (int y = 0; y < grid.y(); y++) {
          for (int x = 0; x < grid.x(); x++, cell++) {
            if (!sums.isInside(x, y, z, dx, dy, dz) || sums.busyIn(x, y, z, dx, dy, dz) > 0) {
              continue;
            }
            int exposed = expose ? sums.exposed(x, y, z, dx, dy, dz, least) : least;
            if (exposed < least) {
              least = exposed;
              cells.clear();
              extents.clear();
            }
            if (exposed == least) {
              cells.add(cell);
              extents.add(turn);
            }
          }
        }
      }
    }
    if (cells.isEmpty()) {
      return null;
    }
    int chosen = random.nextInt(cells.size());
    return new Footprint.Box(topology.originOfCell(cells.get(chosen)), extents.get(chosen));
  }

  private boolean isFree(Footprint.Box box) {
    Chip origin = box.origin();
    Shape dims = topology.dims();
    for (Axis axis : Axis.values()) {
      if (origin.get(axis) + box.extents().get(axis) > dims.get(axis) && !topology.wraps(axis)) {
        return false;
      }
    }
    Shape tile = topology.cellTile();
    for (int z = 0; z < box.extents().z(); z += tile.z()) {
      for (int y = 0; y < box.extents().y(); y += tile.y()) {
        for (int x = 0; x < box.extents().x(); x += tile.x()) {
          Chip chip =
              new Chip(
                  (origin.x() + x) % dims.x(),
                  (origin.y() + y) % dims.y(),
                  (origin.z() + z) % dims.z());
          if (busy.get(topology.cellOf(chip))) {
            return false;
          }
        }
      }
    }
    return true;
  }
}
