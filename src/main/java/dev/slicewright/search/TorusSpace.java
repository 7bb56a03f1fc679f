package dev.slicewright.search;

import dev.slicewright.fleet.EffectiveHealth;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Orientation;
import dev.slicewright.topology.Shape;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * The free room of a pod whose slices are boxes of a wired torus or mesh. Confined to one thread at
 * a time.
 *
 * <p>Cells are bits. The pod axis with the most cells that fit into a word lies along the bits
 * (axis a); the other two (b and c) number the words, here called rows: 16x20x28 chips with hosts
 * of 2x2x1 are 80 rows of 28 bits. The origins at which a box is free, its <i>map</i>, come from
 * shifting and ANDing the rows with themselves, along each axis in the binary steps of the extent:
 * the cells o, o+1, … o+2k-1 are free if o … o+k-1 are, and o+k … o+2k-1 are. (In image processing
 * this is the erosion of a bitmap by a box, decomposed by doubling: R. van den Boomgaard and R. van
 * Balen, Methods for fast morphological image transforms using bitmapped binary images, CVGIP:
 * Graphical Models and Image Processing 54(3), 1992.) A wrapping axis rotates, others shift zeros
 * in. Failed links strike out just the origins whose box would use them, each a product of three
 * intervals. Where a box spans the whole of a wrapping axis every origin along that axis means the
 * same chips, and only origin 0 is in the map.
 *
 * <p>{@link #find} is best fit: it takes the origin whose box touches the fewest free cells outside
 * it (the <i>exposed</i> cells), counted with masked population counts. A box <i>slides</i> along
 * an axis if the origins before and after it are feasible too; its two faces on that axis are then
 * all free, a lower bound that rules most origins out by whole rows. Origins that slide along no
 * axis are <i>locked</i> and come first. With a source of chance it looks only at those, if there
 * are any, and only at a random sample if they are many.
 *
 * <p>{@link #findOnline} takes the origin that destroys the least: for an expected mix of shapes it
 * counts, per shape, the origins that the box would spoil, and weighs them with the shape's chips
 * and share over the origins that are left. Where all extents are powers of two it looks only at
 * the origins on the shape's own lattice (along each axis the multiples of the extent, as in a
 * buddy system: K. C. Knowlton, A fast storage allocator, CACM 8(10), 1965) and at <i>holes</i>,
 * origins whose box touches no free cell, and counts what is spoilt on the lattices of the mix. On
 * their lattices such boxes nest or are disjoint, so what leaves makes room for what comes, and
 * ties, which go to holes, then to the first turn and the least x, y, z, let siblings fill up.
 * Other extents tear the lattice apart and are no part of it: for those, and for all once a third
 * of the taken cells is theirs, every free origin is looked at and counted, ties going to the
 * fewest exposed cells.
 *
 * <p>Slices that come and go one at a time, with the mixed shapes on a torus of 16x16x16 hosts at a
 * load of 0.7 and of 0.9: this turned away 3.2 and 5.4 % of the chips asked for, beyond those that
 * too few chips were free for; without holes 3.5 and 5.2 % (no clear difference; holes helped on
 * smaller pods), by every free origin 5.7 and 8.3 %. On a torus of 24x24x24 with shapes such as
 * 3x5x7 the lattice alone turned away 20.7 and 30.3 %, every free origin 7.8 and 20.9 %.
 *
 * <p>With R rows, T turns of the shape (at most 6), extent e along an axis, M candidates and S rows
 * on the surface of a box (e_b·e_c + 2e_b + 2e_c): a map costs O(R·log e) for each turn and is kept
 * until the taken cells change; find O(T·R·log e + M·S); findOnline O(M·K·W) more for the K turns
 * in the mix, where W is the number of rows that a box of the mix beside the placed one can reach.
 * Taking and giving back cost O(e_b·e_c). Once wants are registered nothing is allocated but the
 * spot.
 */
final class TorusSpace extends PodSpace {

  /** With a source of chance, the most candidates that are scored. */
  private static final int SAMPLE = 48;

  /** The most locked and the most other origins for which findOnline counts what they spoil. */
  private static final int ONLINE_CANDIDATES = 2048;

  /** The lattice counts for nothing once boxes of other extents hold one in so many taken cells. */
  private static final int ODD_SHARE = 3;

  private static final List<Share> MIX_3D =
      List.of(
          new Share(Shape.of(2, 2, 1), 15),
          new Share(Shape.of(2, 2, 2), 10),
          new Share(Shape.of(2, 2, 4), 12),
          new Share(Shape.of(2, 4, 4), 13),
          new Share(Shape.of(4, 4, 4), 22),
          new Share(Shape.of(4, 4, 8), 15),
          new Share(Shape.of(4, 8, 8), 8),
          new Share(Shape.of(8, 8, 8), 5));

  private static final List<Share> MIX_2D =
      List.of(
          new Share(Shape.of(2, 2), 15),
          new Share(Shape.of(2, 4), 22),
          new Share(Shape.of(4, 4), 35),
          new Share(Shape.of(4, 8), 15),
          new Share(Shape.of(8, 8), 8),
          new Share(Shape.of(8, 16), 5));

  /** How often a shape is expected. */
  record Share(Shape shape, double share) {}

  /** Receives feasible footprints. */
  @FunctionalInterface
  interface OriginConsumer {
    /**
     * Receives one.
     *
     * @param turn which of the want's turns: {@link #extents}
     * @param cellX the origin, in cells
     * @param cellY the origin, in cells
     * @param cellZ the origin, in cells
     */
    void accept(int turn, int cellX, int cellY, int cellZ);
  }

  /** The pod axes along the bits (a), along the words (b) and along the planes of words (c). */
  private final Axis axisA;

  private final Axis axisB;
  private final Axis axisC;
  private final int nA;
  private final int nB;
  private final int nC;
  private final int rows;
  private final boolean wrapA;
  private final boolean wrapB;
  private final boolean wrapC;

  /** All bits of a row. */
  private final long full;

  /** b modulo nB, for b below 2nB; and the first row of plane c modulo nC, for c below 2nC. */
  private final int[] rowB;

  private final int[] rowC;

  private final long[] taken;

  /** The taken cells without those of spots. */
  private final long[] fixed;

  /** How many cells the taken boxes hold, and those with an extent that is no power of two. */
  private long heldCells;

  private long oddCells;

  private final List<Blocks> classes = new ArrayList<>();
  private final Map<Want, Integer> numbers = new HashMap<>();
  private final List<Form> forms = new ArrayList<>();

  /** Up to so many times all rows are looked at one by one for a turn's map. */
  private static final int FEW_ROWS = 4;

  /** How many of the latest changes are remembered; a power of two. */
  private static final int RECENT = 16;

  /** By the version that a change ended: the box that was taken; null for any other change. */
  private final @Nullable Box[] recent = new Box[RECENT];

  /** Changes with the taken cells; a form's maps are good if it has the same. */
  private int version;

  private final long[] bufferOne;
  private final long[] bufferTwo;
  private final long[] runs;
  private final long[] maskOne;
  private final long[] maskTwo;
  private final @Nullable Slides[] slides = new Slides[6];
  private @Nullable Mix mix;

  /** Whether what is spoilt is counted on the lattices, not over all origins. */
  private boolean onLattice;

  private float @Nullable [] priceTable;
  private double lambda; // how much prices weigh against exposed cells

  // What the last scan found.
  private int bestTurn;
  private int bestA;
  private int bestB;
  private int bestC;
  private double leastCost;
  private int leastScore;
  private int leastCell;

  /** What keeps wants of one kind off, taken cells aside. */
  private static final class Blocks {
    final boolean healthyOnly;
    final String holder;
    final long[] blocked;

    /** The same, degraded parts allowed: what counts as free beside a box. */
    final long[] closed;

    final List<Part.Link> links;
    final boolean clear;

    Blocks(
        boolean healthyOnly,
        String holder,
        long[] blocked,
        long[] closed,
        List<Part.Link> links,
        boolean clear) {
      this.healthyOnly = healthyOnly;
      this.holder = holder;
      this.blocked = blocked;
      this.closed = closed;
      this.links = links;
      this.clear = clear;
    }
  }

  /** One way to turn a shape. */
  private static final class Turn {
    final Shape extents;
    final int eA;
    final int eB;
    final int eC;
    final int strideA;
    final int strideB;
    final int strideC;

    /** The bits at which a box may start. */
    final long starts;

    /** The origins that no link forbids; null if none forbids any. */
    final long @Nullable [] linked;

    /** The origins at which the box is free. */
    final long[] map;

    /** The union of each plane of the map. */
    final long[] planes;

    int count;

    /** The origins of the map on the turn's lattice, their planes and number; made when asked. */
    final long[] lattice;

    final long[] latticePlanes;
    int latticeCount;
    int latticeVersion = -1;

    Turn(
        Shape extents,
        int[] e,
        int[] strides,
        long starts,
        long @Nullable [] linked,
        int rows,
        int planes) {
      this.extents = extents;
      this.eA = e[0];
      this.eB = e[1];
      this.eC = e[2];
      this.strideA = strides[0];
      this.strideB = strides[1];
      this.strideC = strides[2];
      this.starts = starts;
      this.linked = linked;
      this.map = new long[rows];
      this.planes = new long[planes];
      this.lattice = new long[rows];
      this.latticePlanes = new long[planes];
    }
  }

  /** Origins by the axes along which they slide both ways; only none holds where there is none. */
  private static final class Slides {
    final long[] none;
    final long[] alongA;
    final long[] alongB;
    final long[] alongC;

    Slides(int rows) {
      none = new long[rows];
      alongA = new long[rows];
      alongB = new long[rows];
      alongC = new long[rows];
    }
  }

  /** A registered want, without what is the same for others. */
  private static final class Form {
    final Blocks blocks;
    final Turn[] turns;
    int version = -1;

    Form(Blocks blocks, Turn[] turns) {
      this.blocks = blocks;
      this.turns = turns;
    }

    int count() {
      int sum = 0;
      for (Turn turn : turns) {
        sum += turn.count;
      }
      return sum;
    }

    boolean isEven() {
      for (Turn turn : turns) {
        if (isOdd(turn.eA, turn.eB, turn.eC)) {
          return false;
        }
      }
      return true;
    }

    int latticeCount() {
      int sum = 0;
      for (Turn turn : turns) {
        sum += turn.latticeCount;
      }
      return sum;
    }
  }

  /** A mix of expected shapes, without those that can never be placed. */
  private static final class Mix {
    final List<Share> of;
    final int[] wants;
    final double[] worth;
    final double[] weight;

    Mix(List<Share> of, int[] wants, double[] worth) {
      this.of = of;
      this.wants = wants;
      this.worth = worth;
      this.weight = new double[worth.length];
    }
  }

  /** A box. */
  private final class Box extends Spot {
    private final Turn turn;
    private final int a;
    private final int b;
    private final int c;
    private final double score;

    Box(Turn turn, int a, int b, int c, double score) {
      this.turn = turn;
      this.a = a;
      this.b = b;
      this.c = c;
      this.score = score;
    }

    @Override
    public Footprint footprint() {
      Shape tile = topology.cellTile();
      return new Footprint.Box(
          new Chip(
              along(Axis.X, a, b, c) * tile.x(),
              along(Axis.Y, a, b, c) * tile.y(),
              along(Axis.Z, a, b, c) * tile.z()),
          turn.extents);
    }

    @Override
    public double score() {
      return score;
    }

    @Override
    public String toString() {
      return footprint() + " (" + score + ")";
    }
  }

  /**
   * A pod's free room.
   *
   * @param pod a pod that is sliced into boxes
   * @param now the time that decides which holds are live
   */
  TorusSpace(Pod pod, Instant now) {
    super(pod, now);
    Shape grid = topology.cellGrid();
    Axis along = Axis.X;
    for (Axis axis : Axis.values()) {
      if (grid.get(axis) <= Long.SIZE && grid.get(axis) > grid.get(along)) {
        along = axis;
      }
    }
    axisA = along;
    axisB = along == Axis.X ? Axis.Y : Axis.X;
    axisC = along == Axis.Z ? Axis.Y : Axis.Z;
    nA = grid.get(axisA);
    nB = grid.get(axisB);
    nC = grid.get(axisC);
    rows = nB * nC;
    wrapA = topology.wraps(axisA);
    wrapB = topology.wraps(axisB);
    wrapC = topology.wraps(axisC);
    full = -1L >>> (Long.SIZE - nA);
    rowB = new int[2 * nB];
    for (int i = 0; i < rowB.length; i++) {
      rowB[i] = i % nB;
    }
    rowC = new int[2 * nC];
    for (int i = 0; i < rowC.length; i++) {
      rowC[i] = i % nC * nB;
    }
    taken = rowsOf(pod.busy());
    fixed = taken.clone();
    bufferOne = new long[rows];
    bufferTwo = new long[rows];
    runs = new long[rows];
    maskOne = new long[nC];
    maskTwo = new long[nC];
    for (RunningSlice slice : pod.running()) {
      tally((Footprint.Box) slice.footprint(), 1);
    }
  }

  private static boolean isOdd(int eA, int eB, int eC) {
    return Integer.bitCount(eA) + Integer.bitCount(eB) + Integer.bitCount(eC) > 3;
  }

  private void tally(Footprint.Box box, int sign) {
    Shape tile = topology.cellTile();
    tally(
        box.extents().x() / tile.x(),
        box.extents().y() / tile.y(),
        box.extents().z() / tile.z(),
        sign);
  }

  private void tally(int eA, int eB, int eC, int sign) {
    long cells = (long) sign * eA * eB * eC;
    heldCells += cells;
    if (isOdd(eA, eB, eC)) {
      oddCells += cells;
    }
  }

  // ---------------------------------------------------------------- coordinates

  /** The coordinate along a pod axis, in cells. */
  private int along(Axis axis, int a, int b, int c) {
    return axis == axisA ? a : axis == axisB ? b : c;
  }

  private int cell(int a, int b, int c) {
    Shape grid = topology.cellGrid();
    return along(Axis.X, a, b, c)
        + grid.x() * (along(Axis.Y, a, b, c) + grid.y() * along(Axis.Z, a, b, c));
  }

  private long[] rowsOf(CellSet cells) {
    long[] out = new long[rows];
    if (cells.isEmpty()) {
      return out;
    }
    Shape grid = topology.cellGrid();
    int nx = grid.x();
    int line = 0;
    for (int z = 0; z < grid.z(); z++) {
      for (int y = 0; y < grid.y(); y++, line++) {
        long bits = cells.bits(line * nx, nx);
        if (axisA == Axis.X) {
          out[line] = bits;
          continue;
        }
        int row = axisA == Axis.Y ? z * nB : y * nB;
        long bit = 1L << (axisA == Axis.Y ? y : z);
        for (; bits != 0; bits &= bits - 1) {
          out[row + Long.numberOfTrailingZeros(bits)] |= bit;
        }
      }
    }
    return out;
  }

  /** Rows as bits by cell number. */
  private long[] byCell(long[] map) {
    long[] out = new long[(topology.cellCount() + 63) >>> 6];
    for (int c = 0; c < nC; c++) {
      for (int b = 0; b < nB; b++) {
        for (long bits = map[c * nB + b]; bits != 0; bits &= bits - 1) {
          int cell = cell(Long.numberOfTrailingZeros(bits), b, c);
          out[cell >>> 6] |= 1L << cell;
        }
      }
    }
    return out;
  }

  /** The bits from a on, round the end of the row. */
  private long span(int a, int e) {
    long bits = -1L >>> (Long.SIZE - e);
    return ((bits << a) | (bits >>> (nA - a))) & full;
  }

  // ---------------------------------------------------------------- wants

  @Override
  public int register(Want want) {
    Integer known = numbers.get(want);
    if (known == null) {
      known = make(want);
      numbers.put(want, known);
    }
    return known;
  }

  private int make(Want want) {
    Shape shape = want.shape();
    if (!topology.isLegal(shape)) {
      return -1;
    }
    TreeSet<Shape> turned = new TreeSet<>();
    if (want.mayTurn()) {
      for (Orientation orientation : Orientation.ofRank(shape.rank())) {
        turned.add(orientation.extents(shape));
      }
    } else {
      turned.add(shape);
    }
    turned.removeIf(
        e ->
            topology.alignment(e).isEmpty()
                || (want.wraparound()
                    && !topology.isTorus(shape, new Footprint.Box(new Chip(0, 0, 0), e))));
    if (turned.isEmpty()) {
      return -1;
    }
    Blocks blocks = blocks(want);
    for (int i = 0; i < forms.size(); i++) {
      if (forms.get(i).blocks == blocks && sameExtents(forms.get(i).turns, turned)) {
        return i;
      }
    }
    Turn[] turns = new Turn[turned.size()];
    int n = 0;
    for (Shape extents : turned) {
      Turn turn = turn(extents, blocks);
      if (blocks.clear || canEver(turn, blocks)) {
        turns[n++] = turn;
      }
    }
    if (n == 0) {
      return -1;
    }
    forms.add(new Form(blocks, Arrays.copyOf(turns, n)));
    return forms.size() - 1;
  }

  private static boolean sameExtents(Turn[] turns, TreeSet<Shape> turned) {
    if (turns.length != turned.size()) {
      return false;
    }
    int i = 0;
    for (Shape extents : turned) {
      if (!turns[i++].extents.equals(extents)) {
        return false;
      }
    }
    return true;
  }

  private Blocks blocks(Want want) {
    EffectiveHealth health = pod.health();
    boolean healthyOnly =
        want.healthyOnly()
            && !(health.degradedCells().isEmpty() && health.degradedLinks().isEmpty());
    String holder = "";
    for (Hold hold : pod.holds()) {
      if (hold.request().equals(want.holder()) && hold.isLive(now)) {
        holder = want.holder();
      }
    }
    return blocks(healthyOnly, holder);
  }

  private Blocks blocks(boolean healthyOnly, String holder) {
    for (Blocks known : classes) {
      if (known.healthyOnly == healthyOnly && known.holder.equals(holder)) {
        return known;
      }
    }
    EffectiveHealth health = pod.health();
    long[] closed;
    long[] blocked;
    List<Part.Link> links;
    if (healthyOnly) {
      Blocks base = blocks(false, holder);
      closed = base.blocked;
      blocked = rowsOf(health.degradedCells());
      or(blocked, closed);
      links = new ArrayList<>(base.links);
      links.addAll(health.degradedLinks());
    } else {
      blocked = rowsOf(health.failedCells());
      CellSet cordoned = pod.cordonedCells();
      if (!cordoned.isEmpty()) {
        or(blocked, rowsOf(cordoned));
      }
      if (!pod.holds().isEmpty()) {
        or(blocked, rowsOf(heldCells(pod, now, holder)));
      }
      closed = blocked;
      links = health.failedLinks();
    }
    boolean clear = links.isEmpty();
    for (int i = 0; clear && i < rows; i++) {
      clear = blocked[i] == 0;
    }
    Blocks made = new Blocks(healthyOnly, holder, blocked, closed, links, clear);
    classes.add(made);
    return made;
  }

  private static void or(long[] into, long[] more) {
    for (int i = 0; i < into.length; i++) {
      into[i] |= more[i];
    }
  }

  private Turn turn(Shape extents, Blocks blocks) {
    Shape tile = topology.cellTile();
    Shape stride = topology.alignment(extents).orElseThrow();
    int[] e = new int[3];
    int[] strides = new int[3];
    Axis[] axes = {axisA, axisB, axisC};
    int[] n = {nA, nB, nC};
    for (int i = 0; i < 3; i++) {
      e[i] = extents.get(axes[i]) / tile.get(axes[i]);
      // A box round a whole ring starts at 0 only: a stride of the whole axis.
      strides[i] = e[i] == n[i] ? n[i] : stride.get(axes[i]) / tile.get(axes[i]);
    }
    long starts = 0;
    for (int a = 0; a < nA; a += strides[0]) {
      starts |= 1L << a;
    }
    long[] linked = null;
    for (Part.Link link : blocks.links) {
      if (linked == null) {
        linked = new long[rows];
        Arrays.fill(linked, full);
      }
      strikeOut(linked, link, extents);
    }
    return new Turn(extents, e, strides, starts, linked, rows, nC);
  }

  /** Takes away the origins of the boxes that use a link. */
  private void strikeOut(long[] linked, Part.Link link, Shape extents) {
    long bits = 0;
    for (int a = 0; a < nA; a++) {
      bits |= uses(axisA, a, link, extents) ? 1L << a : 0;
    }
    if (bits == 0) {
      return;
    }
    for (int c = 0; c < nC; c++) {
      if (uses(axisC, c, link, extents)) {
        for (int b = 0; b < nB; b++) {
          if (uses(axisB, b, link, extents)) {
            linked[c * nB + b] &= ~bits;
          }
        }
      }
    }
  }

  /** One axis of {@link dev.slicewright.topology.TpuTopology#usesLink}. */
  private boolean uses(Axis axis, int cell, Part.Link link, Shape extents) {
    int n = topology.dims().get(axis);
    int e = extents.get(axis);
    int from = link.from().get(axis);
    int in = Math.floorMod(from - cell * topology.cellTile().get(axis), n);
    if (in >= e) {
      return false;
    }
    if (axis != link.axis()) {
      return true;
    }
    boolean wraps = topology.wraps(axis);
    return (in < e - 1 || (e == n && wraps && n > 1)) && (from < n - 1 || wraps);
  }

  private boolean canEver(Turn turn, Blocks blocks) {
    for (int i = 0; i < rows; i++) {
      bufferOne[i] = full & ~blocks.blocked[i];
    }
    long[] map = windows(turn, bufferOne, bufferTwo);
    for (int i = 0; i < rows; i++) {
      if (map[i] != 0) {
        return true;
      }
    }
    return false;
  }

  // ---------------------------------------------------------------- maps

  /**
   * The origins at which every cell of the box is set.
   *
   * @param s the cells; overwritten
   * @param d as long; overwritten
   * @return s or d
   */
  private long[] windows(Turn turn, long[] s, long[] d) {
    runs(s, 1, turn.eA);
    return windowsOfRuns(turn, s, d);
  }

  /** From where so many cells along a are free to where more are. */
  private void runs(long[] s, int length, int longer) {
    for (int have = length; have < longer; ) {
      int k = Math.min(have, longer - have);
      int back = nA - k;
      if (wrapA) {
        for (int i = 0; i < rows; i++) {
          long row = s[i];
          s[i] = row & ((row >>> k) | (row << back));
        }
      } else {
        for (int i = 0; i < rows; i++) {
          long row = s[i];
          s[i] = row & (row >>> k);
        }
      }
      have += k;
    }
  }

  /** The same, from the origins at which the run along a is free. */
  private long[] windowsOfRuns(Turn turn, long[] s, long[] d) {
    for (int have = 1; have < turn.eB; ) {
      int k = Math.min(have, turn.eB - have);
      for (int from = 0; from < rows; from += nB) {
        int plain = from + nB - k;
        int end = from + nB;
        for (int i = from; i < plain; i++) {
          d[i] = s[i] & s[i + k];
        }
        for (int i = plain; i < end; i++) {
          d[i] = wrapB ? s[i] & s[i + k - nB] : 0;
        }
      }
      long[] swap = s;
      s = d;
      d = swap;
      have += k;
    }
    for (int have = 1; have < turn.eC; ) {
      int k = Math.min(have, turn.eC - have);
      int step = k * nB;
      int plain = rows - step;
      for (int i = 0; i < plain; i++) {
        d[i] = s[i] & s[i + step];
      }
      if (wrapC) {
        for (int i = plain; i < rows; i++) {
          d[i] = s[i] & s[i - plain];
        }
      } else {
        Arrays.fill(d, plain, rows, 0);
      }
      long[] swap = s;
      s = d;
      d = swap;
      have += k;
    }
    if (turn.starts != full) {
      for (int i = 0; i < rows; i++) {
        s[i] &= turn.starts;
      }
    }
    if (turn.linked != null) {
      for (int i = 0; i < rows; i++) {
        s[i] &= turn.linked[i];
      }
    }
    if (turn.strideC > 1) {
      for (int c = 0; c < nC; c++) {
        if (c % turn.strideC != 0) {
          Arrays.fill(s, c * nB, (c + 1) * nB, 0);
        }
      }
    }
    if (turn.strideB > 1) {
      for (int b = 0; b < nB; b++) {
        if (b % turn.strideB != 0) {
          for (int i = b; i < rows; i += nB) {
            s[i] = 0;
          }
        }
      }
    }
    return s;
  }

  private void refresh(Form form) {
    if (form.version == version) {
      return;
    }
    int behind = form.version < 0 ? RECENT : version - form.version;
    boolean taken = behind < RECENT;
    for (int v = version - behind; taken && v < version; v++) {
      taken = recent[v & (RECENT - 1)] != null;
    }
    if (taken) {
      // Only boxes were taken since: what they meet goes, the rest stays.
      for (int v = form.version; v < version; v++) {
        Box box = Objects.requireNonNull(recent[v & (RECENT - 1)]);
        for (Turn turn : form.turns) {
          if (turn.count > 0) {
            strike(turn, box);
          }
        }
      }
      form.version = version;
      return;
    }
    form.version = version;
    recompute(form);
  }

  /** Takes away the origins whose box meets a box. */
  private void strike(Turn turn, Box box) {
    Turn other = box.turn;
    long bits = reach(box.a, other.eA, turn.eA);
    int fromB = from(box.b, turn.eB, other.eB, nB, wrapB);
    int endB = end(box.b, turn.eB, other.eB, nB, wrapB);
    int fromC = from(box.c, turn.eC, other.eC, nC, wrapC);
    int endC = end(box.c, turn.eC, other.eC, nC, wrapC);
    long[] map = turn.map;
    for (int k = fromC; k < endC; k++) {
      int plane = k < nC ? k : k - nC;
      if ((turn.planes[plane] & bits) == 0) {
        continue;
      }
      int base = rowC[k];
      for (int j = fromB; j < endB; j++) {
        int row = base + rowB[j];
        turn.count -= Long.bitCount(map[row] & bits);
        map[row] &= ~bits;
      }
      long union = 0;
      for (int b = 0; b < nB; b++) {
        union |= map[base + b];
      }
      turn.planes[plane] = union;
    }
  }

  private void recompute(Form form) {
    long[] blocked = form.blocks.blocked;
    int length = Integer.MAX_VALUE; // of the runs; turns come by x, so they often grow
    for (Turn turn : form.turns) {
      if (turn.eA < length) {
        for (int i = 0; i < rows; i++) {
          runs[i] = full & ~(taken[i] | blocked[i]);
        }
        length = 1;
      }
      runs(runs, length, turn.eA);
      length = turn.eA;
      long[] mask = nB <= Long.SIZE ? rowsThatMay(turn) : null;
      if (mask != null) {
        fewWindows(turn, mask);
        continue;
      }
      System.arraycopy(runs, 0, bufferOne, 0, rows);
      long[] s = windowsOfRuns(turn, bufferOne, bufferTwo);
      int count = 0;
      for (int c = 0, i = 0; c < nC; c++) {
        long plane = 0;
        for (int b = 0; b < nB; b++, i++) {
          long row = s[i];
          turn.map[i] = row;
          plane |= row;
          count += Long.bitCount(row);
        }
        turn.planes[c] = plane;
      }
      turn.count = count;
    }
  }

  /**
   * The rows from which on all rows of a box have some run: by plane, a bit for each b. Where
   * little is free they are few, and the others need no look.
   *
   * @return null if they are so many that going over all rows is less work
   */
  private long @Nullable [] rowsThatMay(Turn turn) {
    long[] s = maskOne;
    long[] d = maskTwo;
    long all = -1L >>> (Long.SIZE - nB);
    for (int c = 0, i = 0; c < nC; c++) {
      long mask = 0;
      for (int b = 0; b < nB; b++, i++) {
        long row = runs[i];
        mask |= (row | -row) >>> (Long.SIZE - 1) << b;
      }
      for (int have = 1; have < turn.eB && mask != 0; ) {
        int k = Math.min(have, turn.eB - have);
        mask &= ((mask >>> k) | (wrapB ? mask << (nB - k) : 0)) & all;
        have += k;
      }
      s[c] = mask;
    }
    for (int have = 1; have < turn.eC; ) {
      int k = Math.min(have, turn.eC - have);
      for (int c = 0; c < nC; c++) {
        int up = c + k;
        d[c] = s[c] & (up < nC ? s[up] : wrapC ? s[up - nC] : 0);
      }
      long[] swap = s;
      s = d;
      d = swap;
      have += k;
    }
    int count = 0;
    for (int c = 0; c < nC; c++) {
      s[c] = c % turn.strideC == 0 ? s[c] : 0;
      count += Long.bitCount(s[c]);
    }
    return (long) count * turn.eB * turn.eC <= FEW_ROWS * (long) rows ? s : null;
  }

  /** The map of a turn, from the rows where there may be any. */
  private void fewWindows(Turn turn, long[] mask) {
    long[] map = turn.map;
    int count = 0;
    for (int c = 0; c < nC; c++) {
      int from = c * nB;
      if (turn.planes[c] != 0) {
        Arrays.fill(map, from, from + nB, 0);
      }
      long plane = 0;
      for (long rest = mask[c]; rest != 0; rest &= rest - 1) {
        int b = Long.numberOfTrailingZeros(rest);
        if (b % turn.strideB != 0) {
          continue;
        }
        long row = turn.starts & (turn.linked == null ? -1L : turn.linked[from + b]);
        for (int k = 0; k < turn.eC && row != 0; k++) {
          int base = rowC[c + k];
          for (int j = 0; j < turn.eB; j++) {
            row &= runs[base + rowB[b + j]];
          }
        }
        map[from + b] = row;
        plane |= row;
        count += Long.bitCount(row);
      }
      turn.planes[c] = plane;
    }
    turn.count = count;
  }

  /**
   * Picks the origins on the lattice: along each axis at multiples of the largest power of two that
   * is not above the extent, from where the box does not go over the end. Boxes of power-of-two
   * extents on their lattices nest or are disjoint.
   */
  private void refreshLattice(Form form) {
    refresh(form);
    for (Turn turn : form.turns) {
      if (turn.latticeVersion == version) {
        continue;
      }
      turn.latticeVersion = version;
      long bits = 0;
      for (int a = 0; a + turn.eA <= nA; a += Integer.highestOneBit(turn.eA)) {
        bits |= 1L << a;
      }
      int stepB = Integer.highestOneBit(turn.eB);
      int stepC = Integer.highestOneBit(turn.eC);
      int count = 0;
      for (int c = 0, row = 0; c < nC; c++) {
        long plane = 0;
        boolean out = c % stepC != 0 || c + turn.eC > nC;
        for (int b = 0; b < nB; b++, row++) {
          long on = out || b % stepB != 0 || b + turn.eB > nB ? 0 : turn.map[row] & bits;
          turn.lattice[row] = on;
          plane |= on;
          count += Long.bitCount(on);
        }
        turn.latticePlanes[c] = plane;
      }
      turn.latticeCount = count;
    }
  }

  /**
   * Sorts a turn's origins by the axes along which they slide, that is, both the origin before and
   * the one after is feasible too.
   *
   * @return how many slide along none
   */
  private int lock(Turn turn, Slides out) {
    long[] map = turn.map;
    int count = 0;
    int sa = turn.strideA;
    boolean slidesA = sa < nA;
    boolean slidesB = turn.strideB < nB;
    for (int c = 0; c < nC; c++) {
      if (turn.planes[c] == 0) {
        Arrays.fill(out.none, c * nB, (c + 1) * nB, 0);
        continue;
      }
      int up = c + turn.strideC;
      int down = c - turn.strideC;
      int rowUp = up < nC ? up * nB : wrapC ? (up - nC) * nB : -1;
      int rowDown = down >= 0 ? down * nB : wrapC ? (down + nC) * nB : -1;
      boolean slidesC = rowUp >= 0 && rowDown >= 0 && turn.strideC < nC;
      int plane = c * nB;
      for (int b = 0; b < nB; b++) {
        int row = plane + b;
        long m = map[row];
        if (m == 0) {
          out.none[row] = 0;
          continue;
        }
        long alongA = 0;
        if (slidesA) {
          alongA =
              wrapA
                  ? m & ((m >>> sa) | (m << (nA - sa))) & ((m << sa) | (m >>> (nA - sa)))
                  : m & (m >>> sa) & (m << sa);
        }
        long alongB = 0;
        if (slidesB) {
          int east = b + turn.strideB;
          int west = b - turn.strideB;
          if (wrapB || (east < nB && west >= 0)) {
            alongB =
                m
                    & map[plane + (east < nB ? east : east - nB)]
                    & map[plane + (west >= 0 ? west : west + nB)];
          }
        }
        long alongC = slidesC ? m & map[rowUp + b] & map[rowDown + b] : 0;
        out.alongA[row] = alongA;
        out.alongB[row] = alongB;
        out.alongC[row] = alongC;
        long none = m & ~(alongA | alongB | alongC);
        out.none[row] = none;
        count += Long.bitCount(none);
      }
    }
    return count;
  }

  // ---------------------------------------------------------------- scores

  /** The free cells outside a box that share a face with one of its cells. */
  private int exposed(Turn turn, long[] closed, int a, int b, int c) {
    return exposedC(turn, closed, a, b, c)
        + exposedB(turn, closed, a, b, c)
        + exposedA(turn, closed, a, b, c);
  }

  private int exposedA(Turn turn, long[] closed, int a, int b, int c) {
    if (turn.eA == nA) {
      return 0;
    }
    long faces = 0;
    if (a > 0) {
      faces = 1L << (a - 1);
    } else if (wrapA) {
      faces = 1L << (nA - 1);
    }
    int end = a + turn.eA;
    if (end < nA) {
      faces |= 1L << end;
    } else if (wrapA) {
      faces |= 1L << (end - nA);
    }
    int sum = 0;
    for (int k = 0; k < turn.eC; k++) {
      int base = rowC[c + k];
      for (int j = 0; j < turn.eB; j++) {
        int row = base + rowB[b + j];
        sum += Long.bitCount(~(taken[row] | closed[row]) & faces);
      }
    }
    return sum;
  }

  private int exposedB(Turn turn, long[] closed, int a, int b, int c) {
    if (turn.eB == nB) {
      return 0;
    }
    long box = span(a, turn.eA);
    int west = b > 0 ? b - 1 : wrapB ? nB - 1 : -1;
    int end = b + turn.eB;
    int east = end < nB ? end : wrapB ? end - nB : -1;
    if (east == west) {
      east = -1;
    }
    int sum = 0;
    for (int k = 0; k < turn.eC; k++) {
      int base = rowC[c + k];
      if (west >= 0) {
        sum += Long.bitCount(~(taken[base + west] | closed[base + west]) & box);
      }
      if (east >= 0) {
        sum += Long.bitCount(~(taken[base + east] | closed[base + east]) & box);
      }
    }
    return sum;
  }

  private int exposedC(Turn turn, long[] closed, int a, int b, int c) {
    if (turn.eC == nC) {
      return 0;
    }
    long box = span(a, turn.eA);
    int down = c > 0 ? c - 1 : wrapC ? nC - 1 : -1;
    int end = c + turn.eC;
    int up = end < nC ? end : wrapC ? end - nC : -1;
    if (up == down) {
      up = -1;
    }
    int sum = 0;
    for (int j = 0; j < turn.eB; j++) {
      int in = rowB[b + j];
      if (down >= 0) {
        int row = down * nB + in;
        sum += Long.bitCount(~(taken[row] | closed[row]) & box);
      }
      if (up >= 0) {
        int row = up * nB + in;
        sum += Long.bitCount(~(taken[row] | closed[row]) & box);
      }
    }
    return sum;
  }

  @Override
  public boolean fits(int want) {
    if (want < 0) {
      return false;
    }
    Form form = forms.get(want);
    refresh(form);
    return form.count() > 0;
  }

  /**
   * One pass over the free cells, grown a cell at a time along each axis, rules out nearly all
   * shapes; what is left is looked at as usual. O(n · r) for n extents with room and r rows.
   */
  @Override
  public int firstThatFits(List<Want> wants) {
    boolean[] open = null;
    for (int i = 0; i < wants.size(); i++) {
      Want want = wants.get(i);
      if (open == null) {
        open = openExtents(blocks(want));
      }
      if (mayFit(want, open) && fits(register(want))) {
        return i;
      }
    }
    return -1;
  }

  private boolean mayFit(Want want, boolean[] open) {
    Shape tile = topology.cellTile();
    List<Orientation> turns =
        want.mayTurn()
            ? Orientation.ofRank(want.shape().rank())
            : List.of(Orientation.ofRank(want.shape().rank()).get(0));
    for (Orientation turn : turns) {
      Shape extents = want.mayTurn() ? turn.extents(want.shape()) : want.shape();
      int eA = cellsAlong(extents, tile, axisA);
      int eB = cellsAlong(extents, tile, axisB);
      int eC = cellsAlong(extents, tile, axisC);
      if (eA <= nA && eB <= nB && eC <= nC && open[extentIndex(eA, eB, eC)]) {
        return true;
      }
    }
    return false;
  }

  private static int cellsAlong(Shape extents, Shape tile, Axis axis) {
    return (extents.get(axis) + tile.get(axis) - 1) / tile.get(axis);
  }

  private int extentIndex(int eA, int eB, int eC) {
    return ((eA - 1) * nB + eB - 1) * nC + eC - 1;
  }

  /** For each extents whether some box of free cells has them, links and alignment aside. */
  private boolean[] openExtents(Blocks blocks) {
    boolean[] open = new boolean[nA * nB * nC];
    long[] base = new long[rows];
    for (int i = 0; i < rows; i++) {
      base[i] = full & ~(taken[i] | blocks.blocked[i]);
    }
    long[] alongA = base.clone();
    long[] alongB = new long[rows];
    long[] alongC = new long[rows];
    for (int eA = 1; eA <= nA && any(alongA); eA++) {
      System.arraycopy(alongA, 0, alongB, 0, rows);
      for (int eB = 1; eB <= nB && any(alongB); eB++) {
        System.arraycopy(alongB, 0, alongC, 0, rows);
        for (int eC = 1; eC <= nC && any(alongC); eC++) {
          open[extentIndex(eA, eB, eC)] = true;
          for (int i = 0; i < rows; i++) {
            int other = i + eC * nB;
            long more = other < rows ? alongB[other] : wrapC ? alongB[other % rows] : 0;
            alongC[i] &= more;
          }
        }
        for (int c = 0; c < rows; c += nB) {
          for (int b = 0; b < nB; b++) {
            int other = b + eB;
            long more = other < nB ? alongA[c + other] : wrapB ? alongA[c + other % nB] : 0;
            alongB[c + b] &= more;
          }
        }
      }
      for (int i = 0; i < rows && eA < nA; i++) {
        long wrapped = wrapA ? base[i] << (nA - eA) : 0;
        alongA[i] &= (base[i] >>> eA | wrapped) & full;
      }
    }
    return open;
  }

  private static boolean any(long[] rows) {
    for (long row : rows) {
      if (row != 0) {
        return true;
      }
    }
    return false;
  }

  @Override
  public @Nullable Spot find(int want, @Nullable SplittableRandom random) {
    if (want < 0) {
      return null;
    }
    Form form = forms.get(want);
    refresh(form);
    int count = form.count();
    if (count == 0) {
      return null;
    }
    int best = random == null ? scanAll(form) : scanSome(form, count, random);
    return new Box(form.turns[bestTurn], bestA, bestB, bestC, best);
  }

  /**
   * The least exposed of all origins: first of those that slide along no axis, then of the others.
   * Along an axis on which a box slides both its faces are all free, which bounds its score from
   * below and rules most out, a row of bits at a time.
   */
  private int scanAll(Form form) {
    int best = Integer.MAX_VALUE;
    int bestCell = 0;
    long[] closed = form.blocks.closed;
    for (int t = 0; t < form.turns.length; t++) {
      Turn turn = form.turns[t];
      Slides s = slides(t);
      if (turn.count == 0 || lock(turn, s) == 0) {
        continue;
      }
      for (int c = 0, row = 0; c < nC; c++) {
        for (int b = 0; b < nB; b++, row++) {
          for (long bits = s.none[row]; bits != 0; bits &= bits - 1) {
            int a = Long.numberOfTrailingZeros(bits);
            int score = exposedB(turn, closed, a, b, c) + exposedC(turn, closed, a, b, c);
            if (score > best) {
              continue;
            }
            score += exposedA(turn, closed, a, b, c);
            if (score < best || (score == best && t == bestTurn && cell(a, b, c) < bestCell)) {
              best = score;
              bestCell = cell(a, b, c);
              keep(t, a, b, c);
            }
          }
        }
      }
    }
    boolean locked = best < Integer.MAX_VALUE;
    for (int t = 0; t < form.turns.length; t++) {
      Turn turn = form.turns[t];
      if (turn.count == 0) {
        continue;
      }
      Slides s = slides(t);
      int fullA = turn.eB * turn.eC * Math.min(2, nA - turn.eA);
      int fullB = turn.eA * turn.eC * Math.min(2, nB - turn.eB);
      int fullC = turn.eA * turn.eB * Math.min(2, nC - turn.eC);
      for (int c = 0, row = 0; c < nC; c++) {
        for (int b = 0; b < nB; b++, row++) {
          long bits = turn.map[row] & ~s.none[row];
          if (bits == 0) {
            continue;
          }
          long alongA = s.alongA[row];
          long alongB = s.alongB[row];
          long alongC = s.alongC[row];
          // Ties go to those that slide along no axis, then to the least cell.
          int limit = locked ? best - 1 : best;
          bits &= fullA > limit ? ~alongA : -1L;
          bits &= fullB > limit ? ~alongB : -1L;
          bits &= fullC > limit ? ~alongC : -1L;
          bits &= fullA + fullB > limit ? ~(alongA & alongB) : -1L;
          bits &= fullA + fullC > limit ? ~(alongA & alongC) : -1L;
          bits &= fullB + fullC > limit ? ~(alongB & alongC) : -1L;
          bits &= fullA + fullB + fullC > limit ? ~(alongA & alongB & alongC) : -1L;
          for (; bits != 0; bits &= bits - 1) {
            int a = Long.numberOfTrailingZeros(bits);
            limit = locked ? best - 1 : best;
            boolean freeA = (alongA >>> a & 1) != 0;
            boolean freeB = (alongB >>> a & 1) != 0;
            boolean freeC = (alongC >>> a & 1) != 0;
            int score = (freeA ? fullA : 0) + (freeB ? fullB : 0) + (freeC ? fullC : 0);
            if (score > limit) {
              continue;
            }
            score += freeB ? 0 : exposedB(turn, closed, a, b, c);
            score += freeC ? 0 : exposedC(turn, closed, a, b, c);
            if (score > limit) {
              continue;
            }
            score += freeA ? 0 : exposedA(turn, closed, a, b, c);
            if (score > limit) {
              continue;
            }
            if (score < best || (t == bestTurn && cell(a, b, c) < bestCell)) {
              best = score;
              bestCell = cell(a, b, c);
              locked = false;
              keep(t, a, b, c);
            }
          }
        }
      }
    }
    return best;
  }

  /** Above this weight of prices, origins that slide are looked at too. */
  private static final double FAR = 8;

  /** The most cells for which a table of prices is kept. */
  private static final int MAX_PRICED = 1 << 17;

  @Override
  void guide(float[] prices) {
    if (topology.cellCount() > MAX_PRICED) {
      return;
    }
    int la = 2 * nA + 1;
    int lb = 2 * nB + 1;
    float[] table = priceTable;
    if (table == null) {
      table = new float[la * lb * (2 * nC + 1)];
      priceTable = table;
    }
    // Sums over all cells below, of the pod repeated twice along every axis.
    for (int c = 0; c < 2 * nC; c++) {
      for (int b = 0; b < 2 * nB; b++) {
        int to = ((c + 1) * lb + b + 1) * la;
        float row = 0;
        for (int a = 0; a < 2 * nA; a++) {
          row += prices[cell(a % nA, b % nB, c % nC)];
          table[to + a + 1] =
              row
                  + table[to - la + a + 1]
                  + table[to - lb * la + a + 1]
                  - table[to - lb * la - la + a + 1];
        }
      }
    }
  }

  @Override
  void follow(double weight) {
    lambda = weight;
  }

  private float priceOf(float[] table, Turn turn, int a, int b, int c) {
    int la = 2 * nA + 1;
    int plane = (2 * nB + 1) * la;
    int low = c * plane + b * la + a;
    int high = low + turn.eC * plane;
    int east = turn.eB * la;
    return table[high + east + turn.eA]
        - table[high + east]
        - table[high + turn.eA]
        + table[high]
        - table[low + east + turn.eA]
        + table[low + east]
        + table[low + turn.eA]
        - table[low];
  }

  private void keep(int turn, int a, int b, int c) {
    bestTurn = turn;
    bestA = a;
    bestB = b;
    bestC = c;
  }

  private Slides slides(int turn) {
    Slides s = slides[turn];
    if (s == null) {
      s = new Slides(rows);
      slides[turn] = s;
    }
    return s;
  }

  /** The locked origins of a form, or all if none is locked: in {@link #slides}; their number. */
  private int lockAll(Form form) {
    int count = 0;
    for (int t = 0; t < form.turns.length; t++) {
      count += form.turns[t].count == 0 ? 0 : lock(form.turns[t], slides(t));
    }
    if (count == 0) {
      for (int t = 0; t < form.turns.length; t++) {
        System.arraycopy(form.turns[t].map, 0, slides(t).none, 0, rows);
        count += form.turns[t].count;
      }
    }
    return count;
  }

  private int scanSome(Form form, int all, SplittableRandom random) {
    float[] table = lambda > 0 ? priceTable : null;
    boolean few = all <= SAMPLE || table != null && lambda > FAR;
    int count = few ? all : lockAll(form);
    long[] closed = form.blocks.closed;
    int step = Math.max(1, (count + SAMPLE - 1) / SAMPLE);
    int next = step == 1 ? 0 : random.nextInt(step);
    int stratum = 0;
    int seen = 0;
    int best = Integer.MAX_VALUE;
    int ties = 0;
    for (int t = 0; t < form.turns.length; t++) {
      Turn turn = form.turns[t];
      if (turn.count == 0) {
        continue;
      }
      long[] map = few ? turn.map : slides(t).none;
      for (int c = 0; c < nC; c++) {
        if (turn.planes[c] == 0) {
          continue;
        }
        for (int b = 0, row = c * nB; b < nB; b++, row++) {
          long bits = map[row];
          if (bits == 0) {
            continue;
          }
          int end = seen + Long.bitCount(bits);
          while (next < end) {
            for (; seen < next; seen++) {
              bits &= bits - 1;
            }
            int a = Long.numberOfTrailingZeros(bits);
            int score = exposed(turn, closed, a, b, c);
            if (table != null) {
              // In sixteenths of a cell, so that prices break ties too.
              score = 16 * score + (int) (16 * lambda * priceOf(table, turn, a, b, c));
            }
            if (score < best) {
              best = score;
              ties = 0;
            }
            if (score == best && (++ties == 1 || random.nextInt(ties) == 0)) {
              keep(t, a, b, c);
            }
            stratum += step;
            next = step == 1 ? stratum : stratum + random.nextInt(step);
            if (next >= count && stratum < count) {
              next = count - 1;
            }
          }
          seen = end;
        }
      }
    }
    return best;
  }

  // ---------------------------------------------------------------- destroying the least

  /**
   * The place for one slice that leaves the most for the slices to come, for the default mix.
   *
   * @param want a want's number
   * @return the place, the same for the same taken cells; null if there is none
   */
  @Override
  public @Nullable Spot findOnline(int want) {
    return findDestroyLeast(want, expected());
  }

  /**
   * The place for one slice that leaves the most for the slices to come. Of every shape of the mix
   * it counts the feasible origins that the slice would spoil, over those there are, times the
   * shape's chips and share; the class says which origins it looks at and counts. It looks at a
   * regular sample where there are more than {@value #ONLINE_CANDIDATES} of a kind: on the lattice,
   * locked or others.
   *
   * @param want a want's number
   * @param expected the shapes expected; those that this pod cannot form do not count, and if none
   *     is left the want's own shape does
   * @return the place, the same for the same taken boxes; null if there is none
   */
  @Nullable Spot findDestroyLeast(int want, List<Share> expected) {
    if (want < 0) {
      return null;
    }
    Form form = forms.get(want);
    refresh(form);
    if (form.count() == 0) {
      return null;
    }
    onLattice = form.isEven() && oddCells * ODD_SHARE <= heldCells;
    Mix m = weigh(expected, want);
    leastCost = Double.POSITIVE_INFINITY;
    int locked = 0;
    for (int t = 0; t < form.turns.length; t++) {
      locked += lock(form.turns[t], slides(t));
    }
    if (onLattice) {
      refreshLattice(form);
      if (form.latticeCount() > 0) {
        spoilLeast(m, form, Among.LATTICE, form.latticeCount());
        spoilLeast(m, form, Among.HOLES, locked);
        Turn turn = form.turns[bestTurn];
        int score = exposed(turn, form.blocks.closed, bestA, bestB, bestC);
        return new Box(turn, bestA, bestB, bestC, score);
      }
    }
    spoilLeast(m, form, Among.LOCKED, locked);
    spoilLeast(m, form, Among.SLIDING, form.count() - locked);
    return new Box(form.turns[bestTurn], bestA, bestB, bestC, leastScore);
  }

  /** Whether a shape of the expected mix has no place though there are chips enough for it. */
  boolean isFragmented() {
    long free = (long) freeCells() * topology.chipsPerCell();
    for (Share share : expected()) {
      int want = register(new Want(share.shape(), true, false, false, ""));
      if (want >= 0 && share.shape().chips() <= free && !fits(want)) {
        return true;
      }
    }
    return false;
  }

  /**
   * How much room is left for what may come: per shape of the expected mix, its share times its
   * chips times the logarithm of one more than its places. So a first place counts for more than
   * another one.
   */
  double room() {
    onLattice = oddCells * ODD_SHARE <= heldCells;
    Mix m = weigh(expected(), -1);
    double sum = 0;
    for (int k = 0; k < m.worth.length && m.wants[k] >= 0; k++) {
      Form form = forms.get(m.wants[k]);
      sum += m.worth[k] * Math.log1p(onLattice ? form.latticeCount() : form.count());
    }
    return sum;
  }

  private List<Share> expected() {
    return topology.dims().rank() == 2 ? MIX_2D : MIX_3D;
  }

  /** Which origins a pass looks at. */
  private enum Among {
    LATTICE,
    /** The locked ones whose box touches no free cell. */
    HOLES,
    LOCKED,
    SLIDING
  }

  /** Goes over some origins, of which there are at most count. */
  private void spoilLeast(Mix m, Form form, Among among, int count) {
    int step = (count + ONLINE_CANDIDATES - 1) / ONLINE_CANDIDATES;
    long[] closed = form.blocks.closed;
    boolean ordered = among == Among.LATTICE || among == Among.HOLES;
    // Below any order, so that holes win ties.
    int first = among == Among.HOLES ? -form.turns.length * topology.cellCount() : 0;
    int skip = 0;
    for (int t = 0; t < form.turns.length; t++) {
      Turn turn = form.turns[t];
      long[] none = slides(t).none;
      for (int c = 0, row = 0; c < nC; c++) {
        for (int b = 0; b < nB; b++, row++) {
          long bits =
              switch (among) {
                case LATTICE -> turn.lattice[row];
                case HOLES, LOCKED -> none[row];
                case SLIDING -> turn.map[row] & ~none[row];
              };
          for (; bits != 0; bits &= bits - 1) {
            if (--skip >= 0) {
              continue;
            }
            skip = step - 1;
            int a = Long.numberOfTrailingZeros(bits);
            if (among == Among.HOLES && exposed(turn, closed, a, b, c) > 0) {
              continue;
            }
            double cost = spoilt(m, turn, a, b, c, leastCost);
            if (cost > leastCost) {
              continue;
            }
            int score = ordered ? first + order(t, a, b, c) : exposed(turn, closed, a, b, c);
            if (cost < leastCost
                || score < leastScore
                || (score == leastScore && t == bestTurn && cell(a, b, c) < leastCell)) {
              leastCost = cost;
              leastScore = score;
              leastCell = cell(a, b, c);
              keep(t, a, b, c);
            }
          }
        }
      }
    }
  }

  /** By turn, then by x, y and z, x first. */
  private int order(int t, int a, int b, int c) {
    Shape grid = topology.cellGrid();
    return ((t * grid.x() + along(Axis.X, a, b, c)) * grid.y() + along(Axis.Y, a, b, c)) * grid.z()
        + along(Axis.Z, a, b, c);
  }

  private Mix weigh(List<Share> expected, int own) {
    Mix m = mix;
    if (m == null || m.of != expected) {
      int[] wants = new int[expected.size()];
      double[] worth = new double[expected.size()];
      int n = 0;
      for (Share share : expected) {
        int want = register(new Want(share.shape(), true, false, false, ""));
        if (want >= 0) {
          wants[n] = want;
          worth[n++] = share.share() * share.shape().chips();
        }
      }
      m = new Mix(expected, Arrays.copyOf(wants, n), Arrays.copyOf(worth, n));
      mix = m;
    }
    if (m.wants.length == 0) {
      m = new Mix(expected, new int[] {own}, new double[] {1});
    }
    for (int k = 0; k < m.wants.length; k++) {
      Form form = forms.get(m.wants[k]);
      int left;
      if (onLattice) {
        refreshLattice(form);
        left = form.latticeCount();
      } else {
        refresh(form);
        left = form.count();
      }
      m.weight[k] = left == 0 ? 0 : m.worth[k] / left;
    }
    return m;
  }

  /** What a box would spoil; if that is more than the limit, anything above the limit. */
  private double spoilt(Mix m, Turn turn, int a, int b, int c, double limit) {
    double cost = 0;
    for (int k = m.wants.length - 1; k >= 0 && cost <= limit; k--) {
      if (m.weight[k] == 0) {
        continue;
      }
      int count = 0;
      for (Turn other : forms.get(m.wants[k]).turns) {
        if ((onLattice ? other.latticeCount : other.count) > 0) {
          count += countNear(other, turn, a, b, c);
        }
      }
      cost += m.weight[k] * count;
    }
    return cost;
  }

  /** The origins of one turn, or those on its lattice, whose box meets the given box. */
  private int countNear(Turn other, Turn turn, int a, int b, int c) {
    long bits = reach(a, turn.eA, other.eA);
    long[] map = onLattice ? other.lattice : other.map;
    long[] planes = onLattice ? other.latticePlanes : other.planes;
    int fromB = from(b, other.eB, turn.eB, nB, wrapB);
    int endB = end(b, other.eB, turn.eB, nB, wrapB);
    int fromC = from(c, other.eC, turn.eC, nC, wrapC);
    int endC = end(c, other.eC, turn.eC, nC, wrapC);
    int sum = 0;
    for (int k = fromC; k < endC; k++) {
      int base = rowC[k];
      if ((planes[k < nC ? k : k - nC] & bits) == 0) {
        continue;
      }
      for (int j = fromB; j < endB; j++) {
        sum += Long.bitCount(map[base + rowB[j]] & bits);
      }
    }
    return sum;
  }

  /** The bits at which a run of length other meets the run of length e at a. */
  private long reach(int a, int e, int other) {
    int length = e + other - 1;
    int from = a - other + 1;
    if (wrapA) {
      return length >= nA ? full : span(from < 0 ? from + nA : from, length);
    }
    int low = Math.max(0, from);
    int high = Math.min(nA, a + e);
    return (-1L >>> (Long.SIZE - (high - low))) << low;
  }

  private static int from(int at, int other, int e, int n, boolean wrap) {
    int from = at - other + 1;
    if (wrap) {
      return e + other - 1 >= n ? 0 : from < 0 ? from + n : from;
    }
    return Math.max(0, from);
  }

  private static int end(int at, int other, int e, int n, boolean wrap) {
    if (wrap) {
      int length = e + other - 1;
      return length >= n ? n : from(at, other, e, n, true) + length;
    }
    return Math.min(n, at + e);
  }

  // ---------------------------------------------------------------- taking

  @Override
  public void take(Spot spot) {
    Box box = (Box) spot;
    long bits = span(box.a, box.turn.eA);
    for (int k = 0; k < box.turn.eC; k++) {
      int base = rowC[box.c + k];
      for (int j = 0; j < box.turn.eB; j++) {
        taken[base + rowB[box.b + j]] |= bits;
      }
    }
    tally(box.turn.eA, box.turn.eB, box.turn.eC, 1);
    recent[version++ & (RECENT - 1)] = box;
  }

  @Override
  public void giveBack(Spot spot) {
    Box box = (Box) spot;
    long bits = ~span(box.a, box.turn.eA);
    for (int k = 0; k < box.turn.eC; k++) {
      int base = rowC[box.c + k];
      for (int j = 0; j < box.turn.eB; j++) {
        taken[base + rowB[box.b + j]] &= bits;
      }
    }
    tally(box.turn.eA, box.turn.eB, box.turn.eC, -1);
    recent[version++ & (RECENT - 1)] = null;
  }

  @Override
  public void setTaken(Footprint footprint, boolean value) {
    Footprint.Box box = (Footprint.Box) footprint;
    Shape tile = topology.cellTile();
    int eA = box.extents().get(axisA) / tile.get(axisA);
    int eB = box.extents().get(axisB) / tile.get(axisB);
    int eC = box.extents().get(axisC) / tile.get(axisC);
    long bits = span(box.origin().get(axisA) / tile.get(axisA), eA);
    int b = box.origin().get(axisB) / tile.get(axisB);
    int c = box.origin().get(axisC) / tile.get(axisC);
    for (int k = 0; k < eC; k++) {
      for (int j = 0; j < eB; j++) {
        int row = rowC[c + k] + rowB[b + j];
        if (value) {
          taken[row] |= bits;
          fixed[row] |= bits;
        } else {
          taken[row] &= ~bits;
          fixed[row] &= ~bits;
        }
      }
    }
    tally(eA, eB, eC, value ? 1 : -1);
    recent[version++ & (RECENT - 1)] = null;
  }

  @Override
  public int freeCells() {
    long[] blocked = blocks(false, "").blocked;
    int count = 0;
    for (int i = 0; i < rows; i++) {
      count += Long.bitCount(full & ~(taken[i] | blocked[i]));
    }
    return count;
  }

  // ---------------------------------------------------------------- neighbourhoods

  private static boolean meet(int p, int pe, int q, int qe, int n, boolean wrap) {
    if (!wrap) {
      return p < q + qe && q < p + pe;
    }
    return Math.floorMod(q - p, n) < pe || Math.floorMod(p - q, n) < qe;
  }

  /**
   * A box of up to 8x8x12 cells, the longest side along the pod's longest axis, round a random free
   * cell.
   */
  @Override
  public Predicate<Spot> window(SplittableRandom random) {
    long[] blocked = blocks(false, "").blocked;
    int row = 0;
    int a = 0;
    int tries = 64;
    do {
      row = random.nextInt(rows);
      a = random.nextInt(nA);
    } while (((taken[row] | blocked[row]) >>> a & 1) != 0 && --tries > 0);
    if (tries == 0) {
      int free = freeCells();
      if (free > 0) {
        int skip = random.nextInt(free);
        row = 0;
        long bits = full & ~(taken[0] | blocked[0]);
        while (skip >= Long.bitCount(bits)) {
          skip -= Long.bitCount(bits);
          row++;
          bits = full & ~(taken[row] | blocked[row]);
        }
        for (; skip > 0; skip--) {
          bits &= bits - 1;
        }
        a = Long.numberOfTrailingZeros(bits);
      }
    }
    int longest = Math.max(nA, Math.max(nB, nC));
    int wA = 1 + random.nextInt(Math.min(nA, nA == longest ? 12 : 8));
    int wB = 1 + random.nextInt(Math.min(nB, nB == longest ? 12 : 8));
    int wC = 1 + random.nextInt(Math.min(nC, nC == longest ? 12 : 8));
    int atA = a - random.nextInt(wA);
    int atB = row % nB - random.nextInt(wB);
    int atC = row / nB - random.nextInt(wC);
    return spot -> {
      Box box = (Box) spot;
      return meet(atA, wA, box.a, box.turn.eA, nA, wrapA)
          && meet(atB, wB, box.b, box.turn.eB, nB, wrapB)
          && meet(atC, wC, box.c, box.turn.eC, nC, wrapC);
    };
  }

  // ---------------------------------------------------------------- for bounds and formulations

  /**
   * The ways a want may be turned here.
   *
   * @param want a want's number, not -1
   * @return how many there are, 1 to 6
   */
  int turns(int want) {
    return forms.get(want).turns.length;
  }

  /**
   * The extents of a turned want, in chips and the pod's frame.
   *
   * @param want a want's number, not -1
   * @param turn from 0 to {@link #turns} - 1
   * @return the extents
   */
  Shape extents(int want, int turn) {
    return forms.get(want).turns[turn].extents;
  }

  /**
   * Lists every feasible footprint, given the cells that are taken now: turn by turn. Where a box
   * goes round a whole ring its origin along that axis is 0.
   *
   * @param want a want's number; -1 has none
   * @param consumer receives them; it must not change this space
   */
  void feasibleOrigins(int want, OriginConsumer consumer) {
    if (want < 0) {
      return;
    }
    Form form = forms.get(want);
    refresh(form);
    for (int t = 0; t < form.turns.length; t++) {
      long[] map = form.turns[t].map;
      for (int c = 0, row = 0; c < nC; c++) {
        for (int b = 0; b < nB; b++, row++) {
          for (long bits = map[row]; bits != 0; bits &= bits - 1) {
            int a = Long.numberOfTrailingZeros(bits);
            consumer.accept(
                t, along(Axis.X, a, b, c), along(Axis.Y, a, b, c), along(Axis.Z, a, b, c));
          }
        }
      }
    }
  }

  /** In the order of {@link #feasibleOrigins}. */
  @Override
  public void forEachCandidate(int want, Consumer<Footprint> action) {
    Shape tile = topology.cellTile();
    feasibleOrigins(
        want,
        (turn, x, y, z) ->
            action.accept(
                new Footprint.Box(
                    new Chip(x * tile.x(), y * tile.y(), z * tile.z()), extents(want, turn))));
  }

  @Override
  public int countCandidates(int want) {
    return feasibleCount(want);
  }

  /**
   * How many feasible footprints there are, given the cells that are taken now.
   *
   * @param want a want's number; -1 has none
   * @return as many as {@link #feasibleOrigins} lists
   */
  int feasibleCount(int want) {
    if (want < 0) {
      return 0;
    }
    refresh(forms.get(want));
    return forms.get(want).count();
  }

  /**
   * The place of a footprint that {@link #feasibleOrigins} listed.
   *
   * @param want a want's number, not -1
   * @param turn which turn
   * @param cellX the origin, in cells
   * @param cellY the origin, in cells
   * @param cellZ the origin, in cells
   * @return the place, scored with what is taken now
   */
  Spot spot(int want, int turn, int cellX, int cellY, int cellZ) {
    int[] at = {cellX, cellY, cellZ};
    int a = Objects.checkIndex(at[axisA.ordinal()], nA);
    int b = Objects.checkIndex(at[axisB.ordinal()], nB);
    int c = Objects.checkIndex(at[axisC.ordinal()], nC);
    Form form = forms.get(want);
    Turn t = form.turns[turn];
    return new Box(t, a, b, c, exposed(t, form.blocks.closed, a, b, c));
  }

  /**
   * The cells that some box of a want could cover if no spot were taken: taken are only the cells
   * that were at construction, as {@link #setTaken} changed them since. No packing of such boxes
   * covers more.
   *
   * @param want a want's number; -1 covers nothing
   * @return bits by cell number, 64 to a word
   */
  long[] coverageWords(int want) {
    long[] covered = new long[rows];
    if (want >= 0) {
      Form form = forms.get(want);
      for (Turn turn : form.turns) {
        for (int i = 0; i < rows; i++) {
          bufferOne[i] = full & ~(fixed[i] | form.blocks.blocked[i]);
        }
        long[] origins = windows(turn, bufferOne, bufferTwo);
        or(covered, dilate(turn, origins, origins == bufferOne ? bufferTwo : bufferOne));
      }
    }
    return byCell(covered);
  }

  @Override
  public CellSet coverage(int want) {
    long[] words = coverageWords(want);
    int[] cells = new int[topology.cellCount()];
    int n = 0;
    for (int i = 0; i < words.length; i++) {
      for (long w = words[i]; w != 0; w &= w - 1) {
        cells[n++] = (i << 6) + Long.numberOfTrailingZeros(w);
      }
    }
    return CellSet.empty(cells.length).with(Arrays.copyOf(cells, n));
  }

  /** The cells of the boxes at the given origins; both arrays are overwritten. */
  private long[] dilate(Turn turn, long[] s, long[] d) {
    for (int have = 1; have < turn.eA; ) {
      int k = Math.min(have, turn.eA - have);
      for (int i = 0; i < rows; i++) {
        long row = s[i];
        s[i] = row | (((row << k) | (wrapA ? row >>> (nA - k) : 0)) & full);
      }
      have += k;
    }
    for (int have = 1; have < turn.eB; ) {
      int k = Math.min(have, turn.eB - have);
      for (int i = 0; i < rows; i++) {
        int b = i % nB - k;
        d[i] = s[i] | (b >= 0 ? s[i - k] : wrapB ? s[i - k + nB] : 0);
      }
      long[] swap = s;
      s = d;
      d = swap;
      have += k;
    }
    for (int have = 1; have < turn.eC; ) {
      int k = Math.min(have, turn.eC - have);
      for (int i = 0; i < rows; i++) {
        int from = i - k * nB;
        d[i] = s[i] | (from >= 0 ? s[from] : wrapC ? s[from + rows] : 0);
      }
      long[] swap = s;
      s = d;
      d = swap;
      have += k;
    }
    return s;
  }
}
