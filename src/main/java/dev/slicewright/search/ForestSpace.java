package dev.slicewright.search;

import dev.slicewright.fleet.EffectiveHealth;
import dev.slicewright.fleet.FreeRoom;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Pod;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Orientation;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The free room of a pod of nested partitions or optical cubes.
 *
 * <p>A partition is a range of cells, so a node of the forest is free if the words of a bit set are
 * zero there. Best fit: of the free nodes of a shape, one whose largest free ancestor is smallest,
 * so that large partitions and whole cubes stay whole. On sizes that divide each other, best fit
 * decreasing packs optimally (E. G. Coffman, M. R. Garey, D. S. Johnson, "Bin packing with
 * divisible item sizes", Journal of Complexity 3, 1987, doi:10.1016/0885-064X(87)90009-4).
 *
 * <p>A search for a place costs O(nodes of the shape × depth); one for whole cubes O(cubes).
 */
final class ForestSpace extends PodSpace {

  /** A place: one partition, a box inside a cube, or whole cubes. */
  static final class ForestSpot extends Spot {
    private final Footprint footprint;
    private final int[] cells;
    private final double score;

    ForestSpot(Footprint footprint, int[] cells, double score) {
      this.footprint = footprint;
      this.cells = cells;
      this.score = score;
    }

    @Override
    public Footprint footprint() {
      return footprint;
    }

    @Override
    public double score() {
      return score;
    }
  }

  /** A registered want: which places could serve it, taken cells aside. */
  private static final class Kind {
    final Want want;
    final int cubes; // whole cubes, or 0
    final List<PartitionId> nodes;
    final List<ForestSpot> boxes; // inside cubes
    final long[] blocked; // cells that it may not use, taken ones aside
    final boolean linksMatter;

    Kind(
        Want want,
        int cubes,
        List<PartitionId> nodes,
        List<ForestSpot> boxes,
        long[] blocked,
        boolean linksMatter) {
      this.want = want;
      this.cubes = cubes;
      this.nodes = nodes;
      this.boxes = boxes;
      this.blocked = blocked;
      this.linksMatter = linksMatter;
    }
  }

  private final PartitionForest forest;
  private final boolean optical;
  private final boolean boxesInCube;
  private final boolean preferDegraded;
  private final int hostsPerCube;
  private final EffectiveHealth health;
  private final boolean anyReported;
  private final long[] taken;
  private final long[] base; // failed, cordoned or held
  private final long @Nullable [] degraded;
  private final boolean @Nullable [] brokenCube;
  private final boolean @Nullable [] degradedCube;
  private final List<Kind> kinds = new ArrayList<>();

  ForestSpace(Pod pod, Instant now, boolean preferDegraded) {
    super(pod, now);
    this.forest = topology.partitions().orElseThrow();
    this.optical = topology.isOptical();
    this.boxesInCube =
        topology.slicing() instanceof Slicing.OpticalCubes cubes && cubes.boxesInCube();
    this.preferDegraded = preferDegraded;
    this.hostsPerCube = topology.hostsPerCube();
    this.health = pod.health();
    this.anyReported = !pod.reportedHealth().isEmpty();
    this.taken = words(pod.busy());
    this.base = blockedWords("");
    if (anyReported && !health.degradedCells().isEmpty()) {
      this.degraded = words(health.degradedCells());
    } else {
      this.degraded = null;
    }
    this.brokenCube = flags(health.brokenCubes());
    this.degradedCube = flags(health.degradedCubes());
  }

  static double bestCase(Pod pod, FreeRoom room, Shape shape, boolean healthyOnly) {
    TpuTopology t = pod.topology();
    int cubes = t.cubesOf(shape);
    if (cubes > 0) {
      int free = room.freeCubes(healthyOnly);
      return free < cubes ? Double.POSITIVE_INFINITY : pod.hasHolds() ? 0 : free - cubes;
    }
    if (t.slicing() instanceof Slicing.OpticalCubes o && o.boxesInCube()) {
      return Double.NEGATIVE_INFINITY;
    }
    int cells = (int) Math.max(1, shape.chips() / t.chipsPerCell());
    int around = room.smallestFreePartition(cells);
    if (around == 0) {
      return Double.POSITIVE_INFINITY;
    }
    if (pod.hasHolds()) {
      around = cells; // a hold may have cut the partition around a place
    } else if (t.isOptical() && around == t.hostsPerCube() && !pod.reportedHealth().isEmpty()) {
      around = around / 2 + 1; // perhaps in a broken cube: see freeAround
    }
    return 2.0 * around;
  }

  private boolean @Nullable [] flags(java.util.Set<CubeId> cubes) {
    if (cubes.isEmpty()) {
      return null;
    }
    boolean[] flags = new boolean[topology.cubeCount()];
    for (CubeId cube : cubes) {
      flags[cube.index()] = true;
    }
    return flags;
  }

  private static long[] words(CellSet set) {
    long[] words = new long[set.wordCount()];
    for (int i = 0; i < words.length; i++) {
      words[i] = set.word(i);
    }
    return words;
  }

  private long[] blockedWords(String holder) {
    long[] words = words(health.failedCells());
    CellSet cordoned = pod.cordonedCells();
    if (!cordoned.isEmpty()) {
      for (int i = 0; i < words.length; i++) {
        words[i] |= cordoned.word(i);
      }
    }
    if (!pod.holds().isEmpty()) {
      CellSet held = heldCells(pod, now, holder);
      for (int i = 0; i < words.length; i++) {
        words[i] |= held.word(i);
      }
    }
    return words;
  }

  @Override
  public int register(Want want) {
    for (int i = 0; i < kinds.size(); i++) {
      if (kinds.get(i).want.equals(want)) {
        return i;
      }
    }
    Shape shape = want.shape();
    if (!topology.isLegal(shape)) {
      return -1;
    }
    long[] blocked = want.holder().isEmpty() ? base : blockedWords(want.holder());
    if (want.healthyOnly() && degraded != null) {
      blocked = blocked.clone();
      for (int i = 0; i < blocked.length; i++) {
        blocked[i] |= degraded[i];
      }
    }
    boolean links =
        anyReported
            && (!health.failedLinks().isEmpty()
                || want.healthyOnly() && !health.degradedLinks().isEmpty());
    int cubes = topology.cubesOf(shape);
    List<PartitionId> nodes = List.of();
    List<ForestSpot> boxes = List.of();
    if (cubes > 0) {
      if (cubes > topology.cubeCount()) {
        return -1;
      }
    } else if (boxesInCube) {
      if (want.wraparound() && shape.chips() > 1) {
        return -1;
      }
      boxes = boxes(want);
    } else {
      nodes = new ArrayList<>();
      for (PartitionId node : forest.ofShape(shape)) {
        if (admits(want, node)) {
          nodes.add(node);
        }
      }
    }
    Kind kind = new Kind(want, cubes, nodes, boxes, blocked, links);
    if (!everFits(kind)) {
      return -1;
    }
    kinds.add(kind);
    return kinds.size() - 1;
  }

  /** Whether a node's orientation and wraps are as wanted. */
  private boolean admits(Want want, PartitionId node) {
    if (!want.mayTurn() && topology.coordinatesKnown()) {
      Footprint.Box box = forest.box(node).orElse(null);
      if (box != null && !box.extents().equals(want.shape())) {
        return false;
      }
    }
    return !want.wraparound() || topology.isTorus(want.shape(), new Footprint.Partition(node));
  }

  private List<ForestSpot> boxes(Want want) {
    List<ForestSpot> found = new ArrayList<>();
    List<Shape> seen = new ArrayList<>();
    for (Orientation orientation : Orientation.ofRank(3)) {
      Shape extents = orientation.extents(want.shape());
      Shape stride = topology.alignment(extents).orElse(null);
      if (seen.contains(extents)
          || stride == null
          || !want.mayTurn() && !extents.equals(want.shape())) {
        continue;
      }
      seen.add(extents);
      for (int c = 0; c < topology.cubeCount(); c++) {
        Chip at = topology.originOf(new CubeId(c));
        for (int z = 0; z + extents.z() <= 4; z += stride.z()) {
          for (int y = 0; y + extents.y() <= 4; y += stride.y()) {
            for (int x = 0; x + extents.x() <= 4; x += stride.x()) {
              Footprint box =
                  new Footprint.Box(new Chip(at.x() + x, at.y() + y, at.z() + z), extents);
              found.add(new ForestSpot(box, topology.cells(box), 0));
            }
          }
        }
      }
    }
    return found;
  }

  /** Whether some place would do if nothing were taken. */
  private boolean everFits(Kind kind) {
    if (kind.cubes > 0) {
      int usable = 0;
      for (int c = 0; c < topology.cubeCount(); c++) {
        if (cubeUsable(kind, c, false)) {
          usable++;
        }
      }
      return usable >= kind.cubes;
    }
    for (PartitionId node : kind.nodes) {
      if (nodeUsable(kind, node, false)) {
        return true;
      }
    }
    for (ForestSpot box : kind.boxes) {
      if (boxUsable(kind, box, false)) {
        return true;
      }
    }
    return false;
  }

  private static boolean clear(long[] words, int first, int count) {
    int from = first >>> 6;
    int last = (first + count - 1) >>> 6;
    long mask = -1L << first;
    for (int i = from; i < last; i++) {
      if ((words[i] & mask) != 0) {
        return false;
      }
      mask = -1L;
    }
    return (words[last] & mask & (-1L >>> (63 - ((first + count - 1) & 63)))) == 0;
  }

  private boolean cubeUsable(Kind kind, int cube, boolean now0) {
    int first = cube * hostsPerCube;
    return (!now0 || clear(taken, first, hostsPerCube))
        && clear(kind.blocked, first, hostsPerCube)
        && (brokenCube == null || !brokenCube[cube])
        && (!kind.want.healthyOnly() || degradedCube == null || !degradedCube[cube]);
  }

  private boolean nodeUsable(Kind kind, PartitionId node, boolean now0) {
    int first = forest.firstCell(node);
    int count = forest.cellCount(node);
    return (!now0 || clear(taken, first, count))
        && clear(kind.blocked, first, count)
        && (!kind.linksMatter || healthAdmits(kind, new Footprint.Partition(node)));
  }

  private boolean boxUsable(Kind kind, ForestSpot box, boolean now0) {
    for (int cell : box.cells) {
      long bit = 1L << cell;
      if ((kind.blocked[cell >>> 6] & bit) != 0 || now0 && (taken[cell >>> 6] & bit) != 0) {
        return false;
      }
    }
    return !kind.linksMatter || healthAdmits(kind, box.footprint);
  }

  private boolean healthAdmits(Kind kind, Footprint footprint) {
    Health h = health.of(topology, footprint);
    return h == Health.HEALTHY || h == Health.DEGRADED && !kind.want.healthyOnly();
  }

  @Override
  public @Nullable Spot find(int want, @Nullable SplittableRandom random) {
    if (want < 0) {
      return null;
    }
    Kind kind = kinds.get(want);
    if (kind.cubes > 0) {
      return findCubes(kind);
    }
    return boxesInCube ? findBox(kind, random) : findNode(kind, random);
  }

  private @Nullable Spot findCubes(Kind kind) {
    int cubes = topology.cubeCount();
    int[] chosen = new int[kind.cubes];
    int n = 0;
    int free = 0;
    // Two passes: the cubes that should go first, then the others.
    for (int pass = 0; pass < 2; pass++) {
      boolean wantDegraded = (pass == 0) == preferDegraded;
      for (int c = 0; c < cubes; c++) {
        boolean isDegraded = degradedCube != null && degradedCube[c];
        if (isDegraded == wantDegraded && cubeUsable(kind, c, true)) {
          free++;
          if (n < chosen.length) {
            chosen[n++] = c;
          }
        }
      }
    }
    if (n < chosen.length) {
      return null;
    }
    Arrays.sort(chosen);
    CubeId[] ids = new CubeId[n];
    int[] cells = new int[n * hostsPerCube];
    for (int i = 0; i < n; i++) {
      ids[i] = new CubeId(chosen[i]);
      for (int h = 0; h < hostsPerCube; h++) {
        cells[i * hostsPerCube + h] = chosen[i] * hostsPerCube + h;
      }
    }
    return new ForestSpot(new Footprint.Cubes(List.of(ids)), cells, free - n);
  }

  private @Nullable Spot findNode(Kind kind, @Nullable SplittableRandom random) {
    PartitionId best = null;
    double bestScore = Double.POSITIVE_INFINITY;
    int ties = 0;
    List<PartitionId> nodes = kind.nodes;
    for (int i = 0; i < nodes.size(); i++) {
      PartitionId node = nodes.get(i);
      if (!nodeUsable(kind, node, true)) {
        continue;
      }
      double score = 2.0 * freeAround(node) + degradedPenalty(node);
      if (score < bestScore) {
        best = node;
        bestScore = score;
        ties = 1;
      } else if (random != null && score == bestScore && random.nextInt(++ties) == 0) {
        best = node;
      }
    }
    if (best == null) {
      return null;
    }
    int[] cells = new int[forest.cellCount(best)];
    for (int i = 0; i < cells.length; i++) {
      cells[i] = forest.firstCell(best) + i;
    }
    return new ForestSpot(new Footprint.Partition(best), cells, bestScore);
  }

  /** Cells of the largest free partition around a free node: what taking it would break up. */
  private int freeAround(PartitionId node) {
    int size = forest.cellCount(node);
    for (int up = forest.parentIndex(node); up >= 0; ) {
      PartitionId parent = forest.ids().get(up);
      int first = forest.firstCell(parent);
      int count = forest.cellCount(parent);
      if (!clear(taken, first, count) || !clear(base, first, count)) {
        break;
      }
      size = count;
      up = forest.parentIndex(parent);
    }
    // A free cube that can be no part of a slice of whole cubes is the right place for small ones.
    if (optical
        && brokenCube != null
        && size == hostsPerCube
        && brokenCube[forest.firstCell(node) / hostsPerCube]) {
      size = size / 2 + 1;
    }
    return size;
  }

  private double degradedPenalty(PartitionId node) {
    if (degraded == null) {
      return 0;
    }
    boolean isDegraded = !clear(degraded, forest.firstCell(node), forest.cellCount(node));
    return isDegraded == preferDegraded ? 0 : 1;
  }

  private @Nullable Spot findBox(Kind kind, @Nullable SplittableRandom random) {
    ForestSpot best = null;
    int bestScore = Integer.MAX_VALUE;
    int ties = 0;
    for (ForestSpot box : kind.boxes) {
      if (!boxUsable(kind, box, true)) {
        continue;
      }
      int cube = box.cells[0] / hostsPerCube;
      int score = 0;
      for (int h = 0; h < hostsPerCube; h++) {
        int cell = cube * hostsPerCube + h;
        if (((taken[cell >>> 6] | base[cell >>> 6]) & (1L << cell)) == 0) {
          score += 2;
        }
      }
      // A whole free cube is worth most.
      score = score == 2 * hostsPerCube && (brokenCube == null || !brokenCube[cube]) ? 1000 : score;
      if (degradedCube != null && degradedCube[cube] != preferDegraded) {
        score++;
      }
      if (score < bestScore) {
        best = box;
        bestScore = score;
        ties = 1;
      } else if (random != null && score == bestScore && random.nextInt(++ties) == 0) {
        best = box;
      }
    }
    return best == null ? null : new ForestSpot(best.footprint, best.cells, bestScore);
  }

  @Override
  public boolean fits(int want) {
    if (want < 0) {
      return false;
    }
    Kind kind = kinds.get(want);
    if (kind.cubes > 0) {
      int free = 0;
      for (int c = 0; c < topology.cubeCount() && free < kind.cubes; c++) {
        if (cubeUsable(kind, c, true)) {
          free++;
        }
      }
      return free == kind.cubes;
    }
    for (PartitionId node : kind.nodes) {
      if (nodeUsable(kind, node, true)) {
        return true;
      }
    }
    for (ForestSpot box : kind.boxes) {
      if (boxUsable(kind, box, true)) {
        return true;
      }
    }
    return false;
  }

  @Override
  public void forEachCandidate(int want, Consumer<Footprint> action) {
    if (want < 0) {
      return;
    }
    Kind kind = kinds.get(want);
    if (kind.cubes > 0) {
      for (int c = 0; c < topology.cubeCount(); c++) {
        if (cubeUsable(kind, c, true)) {
          action.accept(new Footprint.Cubes(List.of(new CubeId(c))));
        }
      }
    }
    for (PartitionId node : kind.nodes) {
      if (nodeUsable(kind, node, true)) {
        action.accept(new Footprint.Partition(node));
      }
    }
    for (ForestSpot box : kind.boxes) {
      if (boxUsable(kind, box, true)) {
        action.accept(box.footprint);
      }
    }
  }

  @Override
  public void take(Spot spot) {
    set(((ForestSpot) spot).cells, true);
  }

  @Override
  public void giveBack(Spot spot) {
    set(((ForestSpot) spot).cells, false);
  }

  @Override
  public void setTaken(Footprint footprint, boolean value) {
    set(topology.cells(footprint), value);
  }

  private void set(int[] cells, boolean value) {
    for (int cell : cells) {
      if (value) {
        taken[cell >>> 6] |= 1L << cell;
      } else {
        taken[cell >>> 6] &= ~(1L << cell);
      }
    }
  }

  @Override
  public Predicate<Spot> window(SplittableRandom random) {
    int unit = Math.max(1, optical ? hostsPerCube : topology.cellCount() / 8);
    int units = Math.max(1, topology.cellCount() / unit);
    int count = 1 + random.nextInt(Math.min(units, optical ? 8 : 4));
    boolean[] hit = new boolean[units + 1];
    for (int i = 0; i < count; i++) {
      hit[random.nextInt(units)] = true;
    }
    return spot -> {
      for (int cell : Objects.requireNonNull((ForestSpot) spot).cells) {
        if (hit[cell / unit]) {
          return true;
        }
      }
      return false;
    };
  }

  @Override
  public int freeCells() {
    int used = 0;
    for (int i = 0; i < taken.length; i++) {
      used += Long.bitCount(taken[i] | base[i]);
    }
    return topology.cellCount() - used;
  }
}
