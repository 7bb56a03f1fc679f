package dev.slicewright.simulate;

import dev.slicewright.simulate.BoxGrid.Extents;
import dev.slicewright.simulate.BoxGrid.Spot;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Where Slurm 26.05 puts a box on a 3-D torus, re-created from what its plugin topology/torus3d
 * does (SchedMD/slurm, src/plugins/topology/torus3d, and the page of topology.yaml). Confined to
 * one thread at a time.
 *
 * <p>Each torus lists placements: extents, with anchors at every multiple of a spacing modulo each
 * axis, x outermost and z fastest. They stand in order of size, equal ones as listed; every way to
 * turn a shape is a placement of its own. A request takes an anchor, of a placement of exactly its
 * size, that is wholly idle. The order among them:
 *
 * <ol>
 *   <li>the largest weight of its nodes, least first: here all nodes weigh the same;
 *   <li>between anchors of one placement, how many anchors of the first placement of a larger size
 *       are wholly idle and would not be so any more, fewest first. The plugin compares this number
 *       within a placement only; with {@link Compare#EVERYWHERE} it is compared between all, which
 *       is the rule that its authors may have meant;
 *   <li>the idle nodes of its torus, fewest first;
 *   <li>the first met.
 * </ol>
 *
 * <p>So with one torus and {@link Compare#WITHIN_PLACEMENT}, the first listed turn that has an idle
 * anchor is taken. Requests are served one by one and nothing is taken back.
 *
 * <p>A request names a shape, so placements of its size that are no turn of it do not count, as if
 * each shape had a topology of its own; Slurm itself asks for a number of nodes. An axis that does
 * not wrap is as one with a plane of cells that are no nodes: anchors over the end do not count.
 *
 * <p>{@link #place} finds the answer with window sums, O(turns · cells). {@link #placeByScan} finds
 * the same the way the plugin does: for every idle anchor it walks all anchors of the larger
 * placement as bitmaps, O(anchors · anchors · cells / 64).
 */
final class SlurmRule implements PlacementRule {

  /** Between which anchors the number of spoilt ones is compared. Immutable, safe to share. */
  enum Compare {
    /** As the plugin does. */
    WITHIN_PLACEMENT,
    /** Between all anchors of all placements and toruses. */
    EVERYWHERE
  }

  private final List<Extents> placements;
  private final boolean dense;
  private final Compare compare;

  /** The bitmaps of {@link #placeByScan}, per extents of a torus and placement. */
  private final Map<List<Extents>, Anchors> bitmaps = new HashMap<>();

  private record Anchors(List<Spot> spots, long[][] bits) {}

  /**
   * A rule.
   *
   * @param placements the extents that the toruses list
   * @param dense whether anchors stand on every cell; else as far apart as the placement is long
   * @param compare where the number of spoilt anchors is compared
   */
  SlurmRule(List<Extents> placements, boolean dense, Compare compare) {
    this.placements = new ArrayList<>(placements);
    this.placements.sort(Comparator.comparingInt(Extents::size));
    this.dense = dense;
    this.compare = compare;
  }

  /** A rule whose toruses list all turns of some shapes. */
  static SlurmRule of(TpuTopology topology, List<Shape> shapes, boolean dense, Compare compare) {
    List<Extents> listed = new ArrayList<>();
    for (Shape shape : shapes) {
      for (Extents turn : BoxGrid.turns(topology, shape)) {
        if (!listed.contains(turn)) {
          listed.add(turn);
        }
      }
    }
    return new SlurmRule(listed, dense, compare);
  }

  @Override
  public @Nullable Spot place(List<BoxGrid> grids, List<Extents> turns) {
    Spot best = null;
    Extents bestPlacement = null;
    int bestGrid = -1;
    int bestCost = 0;
    for (int g = 0; g < grids.size(); g++) {
      BoxGrid grid = grids.get(g);
      for (int p = 0; p < placements.size(); p++) {
        Extents e = placements.get(p);
        if (!turns.contains(e) || !fits(grid, e) || e.size() > grid.free()) {
          continue;
        }
        boolean free = best == null || grid.free() < grids.get(bestGrid).free();
        if (!free && compare == Compare.WITHIN_PLACEMENT) {
          continue; // a later placement wins by fewer idle nodes alone
        }
        int[] inTheWay = grid.takenInBox(e);
        int[] cost = null;
        Extents larger = larger(grid, p);
        int[] xs = positions(grid.dims.x(), e.x());
        int[] ys = positions(grid.dims.y(), e.y());
        int[] zs = positions(grid.dims.z(), e.z());
        for (int x : xs) {
          for (int y : ys) {
            for (int z : zs) {
              int i = grid.index(x, y, z);
              if (inTheWay[i] != 0 || !grid.mayStart(x, y, z, e)) {
                continue;
              }
              if (cost == null) {
                cost = spoilt(grid, e, larger);
              }
              boolean better;
              if (best == null) {
                better = true;
              } else if (compare == Compare.EVERYWHERE || (bestGrid == g && bestPlacement == e)) {
                better =
                    cost[i] < bestCost
                        || (cost[i] == bestCost && grid.free() < grids.get(bestGrid).free());
              } else {
                better = grid.free() < grids.get(bestGrid).free();
              }
              if (better) {
                best = new Spot(g, x, y, z, e);
                bestPlacement = e;
                bestGrid = g;
                bestCost = cost[i];
              }
            }
          }
        }
      }
    }
    return best;
  }

  /** The first placement that is larger than one, or null. */
  private @Nullable Extents larger(BoxGrid grid, int placement) {
    for (int i = placement + 1; i < placements.size(); i++) {
      if (placements.get(i).size() > placements.get(placement).size()
          && fits(grid, placements.get(i))) {
        return placements.get(i);
      }
    }
    return null;
  }

  /** Per origin of a box: the idle anchors of a larger placement that it meets. */
  private int[] spoilt(BoxGrid grid, Extents e, @Nullable Extents larger) {
    int[] idle = new int[grid.cells()];
    if (larger == null) {
      return idle;
    }
    int[] inTheWay = grid.takenInBox(larger);
    int[] ys = positions(grid.dims.y(), larger.y());
    int[] zs = positions(grid.dims.z(), larger.z());
    for (int x : positions(grid.dims.x(), larger.x())) {
      for (int y : ys) {
        for (int z : zs) {
          int i = grid.index(x, y, z);
          idle[i] = inTheWay[i] == 0 && grid.mayStart(x, y, z, larger) ? 1 : 0;
        }
      }
    }
    // An anchor at p meets the box at o where p is from o - larger + 1 to o + box - 1.
    int[] sums =
        BoxGrid.windows(
            grid.dims,
            idle,
            new Extents(e.x() + larger.x() - 1, e.y() + larger.y() - 1, e.z() + larger.z() - 1));
    int[] spoilt = new int[sums.length];
    Extents d = grid.dims;
    for (int z = 0, i = 0; z < d.z(); z++) {
      int fz = Math.floorMod(z - larger.z() + 1, d.z());
      for (int y = 0; y < d.y(); y++) {
        int fy = Math.floorMod(y - larger.y() + 1, d.y());
        for (int x = 0; x < d.x(); x++, i++) {
          spoilt[i] = sums[grid.index(Math.floorMod(x - larger.x() + 1, d.x()), fy, fz)];
        }
      }
    }
    return spoilt;
  }

  private static boolean fits(BoxGrid grid, Extents e) {
    return e.x() <= grid.dims.x() && e.y() <= grid.dims.y() && e.z() <= grid.dims.z();
  }

  /** Where the anchors stand along an axis: from 0 in steps of the spacing until it repeats. */
  private int[] positions(int length, int extent) {
    int spacing = dense ? 1 : extent;
    int[] at = new int[length];
    int n = 0;
    int next = 0;
    do {
      at[n++] = next;
      next = (next + spacing) % length;
    } while (next != 0);
    return java.util.Arrays.copyOf(at, n);
  }

  /**
   * The same choice by the plugin's own way, for comparing times. Bitmaps are built on first use.
   *
   * @param grids the pods
   * @param turns the ways in which the box may be turned
   * @return the same as {@link #place}
   */
  @Nullable Spot placeByScan(List<BoxGrid> grids, List<Extents> turns) {
    Spot best = null;
    long[] bestBits = null;
    long[] bestIdle = null;
    Anchors bestLarger = null;
    int bestCost = -1;
    int bestFree = 0;
    for (int g = 0; g < grids.size(); g++) {
      BoxGrid grid = grids.get(g);
      long[] idle = new long[(grid.cells() + 63) / 64];
      for (int i = 0; i < grid.cells(); i++) {
        if (!grid.isTaken(i)) {
          idle[i >> 6] |= 1L << i;
        }
      }
      for (int p = 0; p < placements.size(); p++) {
        Extents e = placements.get(p);
        if (!turns.contains(e) || !fits(grid, e)) {
          continue;
        }
        Extents larger = larger(grid, p);
        Anchors mine = anchors(grid, e);
        Anchors next = larger == null ? null : anchors(grid, larger);
        for (int a = 0; a < mine.bits().length; a++) {
          long[] bits = mine.bits()[a];
          if (!contains(idle, bits)) {
            continue;
          }
          Spot spot = mine.spots().get(a);
          int cost = -1;
          boolean better = best == null;
          if (best != null) {
            boolean equal = true;
            if (compare == Compare.EVERYWHERE
                || (best.grid() == g && best.extents() == spot.extents())) {
              if (bestCost < 0) {
                bestCost =
                    meets(
                        bestLarger,
                        Objects.requireNonNull(bestBits),
                        Objects.requireNonNull(bestIdle));
              }
              cost = meets(next, bits, idle);
              better = cost < bestCost;
              equal = cost == bestCost;
            }
            better |= equal && grid.free() < bestFree;
          }
          if (better) {
            best = new Spot(g, spot.x(), spot.y(), spot.z(), spot.extents());
            bestBits = bits;
            bestIdle = idle;
            bestLarger = next;
            bestCost = cost;
            bestFree = grid.free();
          }
        }
      }
    }
    return best;
  }

  private static int meets(@Nullable Anchors larger, long[] bits, long[] idle) {
    int n = 0;
    if (larger != null) {
      for (long[] other : larger.bits()) {
        if (overlap(other, bits) && contains(idle, other)) {
          n++;
        }
      }
    }
    return n;
  }

  private static boolean overlap(long[] a, long[] b) {
    for (int i = 0; i < a.length; i++) {
      if ((a[i] & b[i]) != 0) {
        return true;
      }
    }
    return false;
  }

  private static boolean contains(long[] all, long[] some) {
    for (int i = 0; i < some.length; i++) {
      if ((some[i] & ~all[i]) != 0) {
        return false;
      }
    }
    return true;
  }

  private Anchors anchors(BoxGrid grid, Extents e) {
    List<Extents> key =
        List.of(
            grid.dims, e, new Extents(grid.wrapX ? 1 : 0, grid.wrapY ? 1 : 0, grid.wrapZ ? 1 : 0));
    Anchors known = bitmaps.get(key);
    if (known == null) {
      List<Spot> spots = new ArrayList<>();
      List<long[]> bits = new ArrayList<>();
      for (int x : positions(grid.dims.x(), e.x())) {
        for (int y : positions(grid.dims.y(), e.y())) {
          for (int z : positions(grid.dims.z(), e.z())) {
            if (grid.mayStart(x, y, z, e)) {
              Spot spot = new Spot(0, x, y, z, e);
              long[] map = new long[(grid.cells() + 63) / 64];
              for (int cell : grid.cells(spot)) {
                map[cell >> 6] |= 1L << cell;
              }
              spots.add(spot);
              bits.add(map);
            }
          }
        }
      }
      known = new Anchors(spots, bits.toArray(new long[0][]));
      bitmaps.put(key, known);
    }
    return known;
  }
}
