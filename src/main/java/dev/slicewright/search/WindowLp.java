package dev.slicewright.search;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The linear relaxation of placing boxes, solved by first-order primal-dual steps; candidates are
 * never listed with their cells. Confined to one thread at a time.
 *
 * <p>The program: maximise the gains of the chosen candidates so that every cell is covered at most
 * once (price y), every class gets at most its demand (price w), and every side row keeps its limit
 * (price u). For any prices y ≥ 0, u ≥ 0
 *
 * <p>bound = Σ y + Σ u·limit + Σ over classes of demand × max(0, max over its candidates of gain -
 * u·coefficients - y(box))
 *
 * <p>holds by weak duality, so nothing depends on convergence. The steps are those of the
 * primal-dual hybrid gradient method (A. Chambolle and T. Pock, A first-order primal-dual algorithm
 * for convex problems, Journal of Mathematical Imaging and Vision 40, 2011,
 * doi:10.1007/s10851-010-0251-1) with diagonal steps (T. Pock and A. Chambolle, Diagonal
 * preconditioning for first order primal-dual algorithms in convex optimization, ICCV 2011,
 * doi:10.1109/ICCV.2011.6126441) and restarts to the average (D. Applegate et al., Practical
 * large-scale linear programming using primal-dual hybrid gradient, NeurIPS 2021,
 * arXiv:2106.04756). Both products with the constraint matrix are sums over windows of the grid: a
 * box's price is a tree of sums along one axis after the other, extents made of powers of two, and
 * its transpose runs the tree backwards. Any extents will do.
 *
 * <p>With n cells, E different extents and M candidates a step costs O(n·E + M).
 *
 * <p>Arithmetic is in floats; whoever claims a bound recomputes it exactly from {@link #prices}.
 */
public final class WindowLp {

  /** Most steps between evaluations of the bound. */
  private static final int STRIDE = 40;

  /** About so many sums may be made between evaluations, so that a caller can stop in time. */
  private static final long SUMS = 6_000_000;

  /** Restarts come at least this often. */
  private static final int LONGEST = 4000;

  /** Primal steps are divided by this, dual ones multiplied: prices move slowly otherwise. */
  private static final float OMEGA = 30f;

  /** Where a window's sum comes from: two earlier ones, the second shifted along an axis. */
  private record Step(int first, int second, int axis, int shift) {}

  /** The grid of one pod, the windows wanted on it, and scratch room for their sums. */
  private static final class Field {
    final TorusSpace space;
    final int nx;
    final int ny;
    final int nz;
    final int cells;
    final List<Step> steps = new ArrayList<>(); // window 0 is the cell itself: no step
    final Map<Long, Integer> windows = new HashMap<>();
    float[][] sum = new float[1][]; // of prices, by window; as much again is padding
    float[][] load = new float[1][]; // of candidates, by window
    float[] ends = new float[0];
    float[] sigma = new float[0]; // dual step of each cell; 0 where no candidate comes

    Field(TorusSpace space) {
      this.space = space;
      var grid = space.pod().topology().cellGrid();
      nx = grid.x();
      ny = grid.y();
      nz = grid.z();
      cells = nx * ny * nz;
    }

    /** The window of an extent, made with all that it needs. */
    int window(int ex, int ey, int ez) {
      if (ex == 1 && ey == 1 && ez == 1) {
        return 0;
      }
      long key = ((long) ez << 40) | ((long) ey << 20) | ex;
      Integer known = windows.get(key);
      if (known != null) {
        return known;
      }
      Step step;
      if (ez > 1) {
        int k = half(ez);
        step = new Step(window(ex, ey, k), window(ex, ey, ez - k), 2, k);
      } else if (ey > 1) {
        int k = half(ey);
        step = new Step(window(ex, k, 1), window(ex, ey - k, 1), 1, k);
      } else {
        int k = half(ex);
        step = new Step(window(k, 1, 1), window(ex - k, 1, 1), 0, k);
      }
      steps.add(step);
      windows.put(key, steps.size());
      return steps.size();
    }

    /** The largest power of two below an extent. */
    private static int half(int extent) {
      return Integer.highestOneBit(extent - 1);
    }

    void allocate() {
      sum = new float[steps.size() + 1][2 * cells];
      load = new float[steps.size() + 1][2 * cells];
      sigma = new float[cells];
      ends = new float[cells];
    }

    /** Window sums of prices. */
    void gather(float[] prices) {
      System.arraycopy(prices, 0, sum[0], 0, cells);
      for (int w = 1; w <= steps.size(); w++) {
        Step step = steps.get(w - 1);
        add(sum[w], sum[step.first()], sum[step.second()], step.axis(), step.shift());
      }
    }

    /** The transpose: loads of windows to loads of cells, in load[0]. */
    void spread() {
      for (int w = steps.size(); w > 0; w--) {
        Step step = steps.get(w - 1);
        plus(load[step.first()], load[w], cells);
        plusShifted(load[step.second()], load[w], step.axis(), step.shift());
      }
    }

    void clearLoads() {
      for (float[] window : load) {
        Arrays.fill(window, 0, cells, 0);
      }
    }

    // All long loops go from 0 up and shift forwards, the form that the compiler turns into
    // vector code. What would run beyond the end lands in padding, or is put right cell by cell.

    private static void plus(float[] to, float[] from, int n) {
      for (int i = 0; i < n; i++) {
        to[i] += from[i];
      }
    }

    private static void pull(float[] to, float[] a, float[] b, int n, int step) {
      for (int i = 0; i < n; i++) {
        to[i] = a[i] + b[i + step];
      }
    }

    private static void push(float[] to, float[] from, int n, int step) {
      for (int i = 0; i < n; i++) {
        to[i + step] += from[i];
      }
    }

    private int line(int axis) {
      return axis == 2 ? cells : axis == 1 ? nx * ny : nx;
    }

    private int unit(int axis) {
      return axis == 2 ? nx * ny : axis == 1 ? nx : 1;
    }

    /** to[i] = a[i] + b[i shifted forwards, round the end of its line]. */
    private void add(float[] to, float[] a, float[] b, int axis, int shift) {
      int line = line(axis);
      int step = shift * unit(axis);
      System.arraycopy(b, 0, b, cells, step);
      pull(to, a, b, cells, step);
      if (line == cells) {
        return; // the padding was right
      }
      int back = step - line;
      for (int end = line; end <= cells; end += line) {
        for (int i = end - step; i < end; i++) {
          to[i] = a[i] + b[i + back];
        }
      }
    }

    /** to[i shifted forwards, round the end of its line] += from[i]. */
    private void plusShifted(float[] to, float[] from, int axis, int shift) {
      int line = line(axis);
      int step = shift * unit(axis);
      if (line == cells) {
        Arrays.fill(to, cells, cells + step, 0);
        push(to, from, cells, step);
        System.arraycopy(to, cells, ends, 0, step);
        plus(to, ends, step);
        return;
      }
      int ahead = line - step;
      int n = 0;
      for (int begin = 0; begin < cells; begin += line) {
        for (int i = begin; i < begin + step; i++) {
          ends[n++] = to[i] + from[i + ahead];
        }
      }
      push(to, from, cells, step);
      n = 0;
      for (int begin = 0; begin < cells; begin += line) {
        for (int i = begin; i < begin + step; i++) {
          to[i] = ends[n++];
        }
      }
    }
  }

  /** The candidates of one class with one turn in one pod. */
  private static final class Block {
    final int clazz;
    final int field;
    final int window;
    final int volume;
    final float gain;
    final int[] at; // cell numbers of the origins

    Block(int clazz, int field, int window, int volume, float gain, int[] at) {
      this.clazz = clazz;
      this.field = field;
      this.window = window;
      this.volume = volume;
      this.gain = gain;
      this.at = at;
    }
  }

  /** A side row: its coefficient for each block. */
  private static final class Row {
    final float[] coefficients;
    float limit;
    float sigma;
    float u;
    float uSum;

    Row(float[] coefficients, float limit) {
      this.coefficients = coefficients;
      this.limit = limit;
    }

    Row copy() {
      Row copy = new Row(coefficients, limit);
      copy.sigma = sigma;
      copy.u = u;
      return copy;
    }
  }

  /** Prices that give a bound. Immutable, safe to share. */
  public static final class Prices {
    private final float[][] cells;
    private final float[] rows;

    private final double bound;

    Prices(float[][] cells, float[] rows, double bound) {
      this.cells = cells;
      this.rows = rows;
      this.bound = bound;
    }

    /**
     * The bound that these prices prove, in floats: for guidance only.
     *
     * @return the bound
     */
    public double bound() {
      return bound;
    }

    /**
     * The price of each cell of a pod.
     *
     * @param field the pod's number, in the order of {@link Builder#field}
     * @return not to be changed
     */
    public float[] cells(int field) {
      return cells[field];
    }

    /**
     * The price of a side row.
     *
     * @param row its number
     * @return 0 or more
     */
    public float row(int row) {
      return rows[row];
    }
  }

  /** Builds a {@link WindowLp}. Confined to one thread at a time. */
  public static final class Builder {
    private final List<Field> fields = new ArrayList<>();
    private final List<Block> blocks = new ArrayList<>();
    private final List<Double> demands = new ArrayList<>();
    private long candidates;

    /** An empty program. */
    public Builder() {}

    /**
     * Adds a pod of boxes.
     *
     * @param space its free room; must not change until the program is built
     * @return its number, or -1 if its slices are not boxes
     */
    public int field(PodSpace space) {
      if (!(space instanceof TorusSpace torus)) {
        return -1;
      }
      fields.add(new Field(torus));
      return fields.size() - 1;
    }

    /**
     * Adds a class of equal slices.
     *
     * @param demand how many are wanted
     * @return its number
     */
    public int clazz(long demand) {
      demands.add((double) demand);
      return demands.size() - 1;
    }

    /**
     * Adds the candidates of a class in a pod: a block for every turn that has any.
     *
     * @param clazz the class
     * @param field the pod
     * @param want the want, registered with the pod's space
     * @param gain what each earns
     * @return the number of blocks added; blocks are numbered as they come
     */
    public int candidates(int clazz, int field, int want, double gain) {
      Field f = fields.get(field);
      if (want < 0) {
        return 0;
      }
      TorusSpace space = f.space;
      int turns = space.turns(want);
      int[][] at = new int[turns][f.cells];
      int[] n = new int[turns];
      space.feasibleOrigins(
          want, (turn, x, y, z) -> at[turn][n[turn]++] = x + f.nx * (y + f.ny * z));
      var tile = space.pod().topology().cellTile();
      int added = 0;
      for (int t = 0; t < turns; t++) {
        if (n[t] == 0) {
          continue;
        }
        var e = space.extents(want, t);
        int ex = e.x() / tile.x();
        int ey = e.y() / tile.y();
        int ez = e.z() / tile.z();
        blocks.add(
            new Block(
                clazz,
                field,
                f.window(ex, ey, ez),
                ex * ey * ez,
                (float) gain,
                Arrays.copyOf(at[t], n[t])));
        candidates += n[t];
        added++;
      }
      return added;
    }

    /**
     * How many candidates there are so far.
     *
     * @return their number
     */
    public long candidates() {
      return candidates;
    }

    /**
     * The size of what {@link #build} will allocate.
     *
     * @return the sums that one pass over all windows makes; each takes 16 bytes
     */
    public long sums() {
      return WindowLp.sums(fields);
    }

    /**
     * Builds.
     *
     * @return the program without side rows, at prices of 1 a cell and nothing chosen
     */
    public WindowLp build() {
      return new WindowLp(this);
    }
  }

  private final List<Field> fields;
  private final List<Block> blocks;
  private final float[] demand;
  private final float[] wSigma;
  private final List<Row> rows = new ArrayList<>();
  private final float[] tau; // primal step, by block
  private final float[] rowPrice; // by block
  private final float[][] y; // by field
  private final float[][] ySum;
  private final float[][] x; // by block
  private final float[][] xSum;
  private final float[] w;
  private final float[] wSum;
  private final double[] classTotal;
  private int since; // steps since the last restart
  private double gapAtRestart = Double.POSITIVE_INFINITY;
  private double goal = Double.NEGATIVE_INFINITY;
  private final int stride;
  private Prices best;

  private WindowLp(Builder b) {
    fields = List.copyOf(b.fields);
    blocks = List.copyOf(b.blocks);
    demand = new float[b.demands.size()];
    for (int k = 0; k < demand.length; k++) {
      demand[k] = b.demands.get(k).floatValue();
    }
    wSigma = new float[demand.length];
    tau = new float[blocks.size()];
    rowPrice = new float[blocks.size()];
    y = new float[fields.size()][];
    ySum = new float[fields.size()][];
    x = new float[blocks.size()][];
    xSum = new float[blocks.size()][];
    w = new float[demand.length];
    wSum = new float[demand.length];
    classTotal = new double[demand.length];
    for (int f = 0; f < y.length; f++) {
      fields.get(f).allocate();
      y[f] = new float[fields.get(f).cells];
      ySum[f] = new float[fields.get(f).cells];
    }
    for (int i = 0; i < x.length; i++) {
      x[i] = new float[blocks.get(i).at.length];
      xSum[i] = new float[x[i].length];
    }
    scale();
    long work = Math.max(1, 3 * sums(fields) + 2 * b.candidates);
    stride = (int) Math.max(2, Math.min(STRIDE, SUMS / work));
    best = evaluate(false);
  }

  private WindowLp(WindowLp from) {
    fields = from.fields;
    blocks = from.blocks;
    demand = from.demand;
    wSigma = from.wSigma;
    tau = from.tau.clone();
    rowPrice = new float[blocks.size()];
    y = copy(from.y);
    ySum = new float[y.length][];
    x = copy(from.x);
    xSum = new float[x.length][];
    w = from.w.clone();
    wSum = new float[w.length];
    classTotal = new double[w.length];
    for (int f = 0; f < y.length; f++) {
      ySum[f] = new float[y[f].length];
    }
    for (int i = 0; i < x.length; i++) {
      xSum[i] = new float[x[i].length];
    }
    for (Row row : from.rows) {
      rows.add(row.copy());
    }
    goal = from.goal;
    stride = from.stride;
    best = from.best;
  }

  private static long sums(List<Field> fields) {
    long sums = 0;
    for (Field field : fields) {
      sums += (field.steps.size() + 1L) * field.cells;
    }
    return sums;
  }

  private static float[][] copy(float[][] from) {
    float[][] copy = from.clone();
    for (int i = 0; i < copy.length; i++) {
      copy[i] = copy[i].clone();
    }
    return copy;
  }

  /**
   * The same program at the same point, to go on from separately. Both share scratch room, so only
   * one may be used at a time.
   *
   * @return a new program
   */
  public WindowLp fork() {
    return new WindowLp(this);
  }

  /**
   * Adds a side row.
   *
   * @param coefficients for each block its coefficient; not copied
   * @param limit the most that the sum may be
   * @return the row's number
   */
  public int row(float[] coefficients, double limit) {
    Row row = new Row(coefficients, (float) limit);
    double sum = 0;
    for (int i = 0; i < coefficients.length; i++) {
      float size = Math.abs(coefficients[i]);
      sum += size * (double) blocks.get(i).at.length;
      tau[i] = 1 / (1 / tau[i] + OMEGA * size);
    }
    row.sigma = sum == 0 ? 0 : (float) (OMEGA / sum);
    rows.add(row);
    best = evaluate(false);
    return rows.size() - 1;
  }

  /**
   * Changes the limit of a side row.
   *
   * @param row its number
   * @param limit the new limit
   */
  public void limit(int row, double limit) {
    if (rows.get(row).limit != (float) limit) {
      rows.get(row).limit = (float) limit;
      best = evaluate(false);
    }
  }

  /** Step sizes: the inverse row and column sums of the matrix. */
  private void scale() {
    double[] count = new double[demand.length];
    for (int i = 0; i < blocks.size(); i++) {
      Block block = blocks.get(i);
      float[] load = fields.get(block.field).load[block.window];
      for (int at : block.at) {
        load[at] += 1;
      }
      count[block.clazz] += block.at.length;
      tau[i] = 1 / (OMEGA * (block.volume + 1));
    }
    for (int f = 0; f < y.length; f++) {
      Field field = fields.get(f);
      field.spread();
      for (int i = 0; i < field.cells; i++) {
        float cover = field.load[0][i];
        field.sigma[i] = cover == 0 ? 0 : OMEGA / cover;
        y[f][i] = cover == 0 ? 0 : 1;
      }
    }
    for (int k = 0; k < demand.length; k++) {
      wSigma[k] = count[k] == 0 ? 0 : (float) (OMEGA / count[k]);
    }
  }

  /**
   * The value to which the bound should come down: restarts are timed by the distance.
   *
   * @param value a value in hand
   */
  public void goal(double value) {
    goal = value;
  }

  /**
   * The steps of one {@link #advance}.
   *
   * @return 2 to {@value #STRIDE}
   */
  public int stride() {
    return stride;
  }

  /**
   * The prices of the least bound so far.
   *
   * @return the prices
   */
  public Prices prices() {
    return best;
  }

  /**
   * How many candidates of each block are chosen, on average since the last restart; fractions
   * where the program has no integral optimum.
   *
   * @return a new array, by block
   */
  public double[] counts() {
    double[] counts = new double[x.length];
    for (int i = 0; i < x.length; i++) {
      double sum = 0;
      for (float value : since == 0 ? x[i] : xSum[i]) {
        sum += value;
      }
      counts[i] = since == 0 ? sum : sum / since;
    }
    return counts;
  }

  /**
   * What the chosen candidates earn, on average since the last restart; they are nearly feasible
   * once the steps have converged.
   *
   * @return the value
   */
  public double value() {
    double[] counts = counts();
    double sum = 0;
    for (int i = 0; i < counts.length; i++) {
      sum += counts[i] * blocks.get(i).gain;
    }
    return sum;
  }

  /**
   * What is earned by choosing all candidates of a class alike, each class in proportion to its
   * demand, as much as there is room for. No bound of this program is less. Where one place is like
   * any other, as in an empty torus, this may be the optimum.
   *
   * @return the value; negative infinity where side rows are in the way
   */
  public double evenValue() {
    double[] count = new double[demand.length];
    for (Block block : blocks) {
      count[block.clazz] += block.at.length;
    }
    fields.forEach(Field::clearLoads);
    double earned = 0;
    double[] used = new double[rows.size()];
    for (int i = 0; i < x.length; i++) {
      Block block = blocks.get(i);
      double share = demand[block.clazz] / count[block.clazz];
      double chosen = share * block.at.length;
      float[] load = fields.get(block.field).load[block.window];
      for (int at : block.at) {
        load[at] += (float) share;
      }
      earned += block.gain * chosen;
      for (int r = 0; r < used.length; r++) {
        used[r] += rows.get(r).coefficients[i] * chosen;
      }
    }
    double most = 1;
    for (Field field : fields) {
      field.spread();
      for (int i = 0; i < field.cells; i++) {
        most = Math.max(most, field.load[0][i]);
      }
    }
    for (int r = 0; r < used.length; r++) {
      if (used[r] / most > rows.get(r).limit) {
        return Double.NEGATIVE_INFINITY;
      }
    }
    return earned / most;
  }

  /**
   * Takes some steps (up to {@value #STRIDE}, fewer of large programs), then evaluates the bound
   * and restarts where that helps.
   */
  public void advance() {
    for (int i = 0; i < stride; i++) {
      step();
    }
    since += stride;
    Prices current = evaluate(false);
    Prices average = evaluate(true);
    boolean useAverage = average.bound < current.bound;
    Prices better = useAverage ? average : current;
    if (better.bound < best.bound) {
      best = better;
    }
    double gap = better.bound - goal;
    if (gap < 0.7 * gapAtRestart || since >= LONGEST) {
      restart(useAverage);
      gapAtRestart = gap;
    }
  }

  private void restart(boolean toAverage) {
    float share = 1f / since;
    for (int f = 0; f < y.length; f++) {
      restart(y[f], ySum[f], toAverage, share);
    }
    for (int i = 0; i < x.length; i++) {
      restart(x[i], xSum[i], toAverage, share);
    }
    restart(w, wSum, toAverage, share);
    for (Row row : rows) {
      row.u = toAverage ? row.uSum * share : row.u;
      row.uSum = 0;
    }
    since = 0;
  }

  private static void restart(float[] value, float[] sum, boolean toAverage, float share) {
    if (toAverage) {
      for (int i = 0; i < value.length; i++) {
        value[i] = sum[i] * share;
      }
    }
    Arrays.fill(sum, 0);
  }

  private void step() {
    for (int f = 0; f < y.length; f++) {
      fields.get(f).gather(y[f]);
      fields.get(f).clearLoads();
    }
    Arrays.fill(classTotal, 0);
    priceRows(1, false);
    double[] rowTotal = new double[rows.size()];
    for (int i = 0; i < x.length; i++) {
      Block block = blocks.get(i);
      Field field = fields.get(block.field);
      float total =
          primal(
              block.at,
              field.sum[block.window],
              field.load[block.window],
              x[i],
              xSum[i],
              tau[i],
              block.gain - w[block.clazz] - rowPrice[i]);
      classTotal[block.clazz] += total;
      for (int r = 0; r < rowTotal.length; r++) {
        rowTotal[r] += rows.get(r).coefficients[i] * (double) total;
      }
    }
    for (int f = 0; f < y.length; f++) {
      Field field = fields.get(f);
      field.spread();
      dual(y[f], ySum[f], field.sigma, field.load[0]);
    }
    for (int k = 0; k < w.length; k++) {
      w[k] = Math.max(0f, w[k] + wSigma[k] * (float) (classTotal[k] - demand[k]));
      wSum[k] += w[k];
    }
    for (int r = 0; r < rowTotal.length; r++) {
      Row row = rows.get(r);
      row.u = Math.max(0f, row.u + row.sigma * (float) (rowTotal[r] - row.limit));
      row.uSum += row.u;
    }
  }

  /** What the side rows take of the gain of each block. */
  private void priceRows(float share, boolean average) {
    Arrays.fill(rowPrice, 0);
    for (Row row : rows) {
      float price = average ? row.uSum * share : row.u;
      for (int i = 0; price != 0 && i < rowPrice.length; i++) {
        rowPrice[i] += price * row.coefficients[i];
      }
    }
  }

  /** One step of the candidates of a block; returns the sum of the extrapolated ones. */
  private static float primal(
      int[] at, float[] prices, float[] load, float[] x, float[] xSum, float tau, float gain) {
    float total = 0;
    for (int i = 0; i < at.length; i++) {
      int cell = at[i];
      float old = x[i];
      float next = old + tau * (gain - prices[cell]);
      if (next > 0) {
        float ahead = 2 * next - old;
        x[i] = next;
        xSum[i] += next;
        load[cell] += ahead;
        total += ahead;
      } else if (old != 0) { // most candidates are not chosen and stay so
        x[i] = 0;
        load[cell] -= old;
        total -= old;
      }
    }
    return total;
  }

  private static void dual(float[] y, float[] ySum, float[] sigma, float[] load) {
    for (int i = 0; i < y.length; i++) {
      float next = Math.max(0f, y[i] + sigma[i] * (load[i] - 1f));
      y[i] = next;
      ySum[i] += next;
    }
  }

  private Prices evaluate(boolean average) {
    float share = average ? 1f / Math.max(1, since) : 1f;
    float[][] cells = new float[y.length][];
    double sum = 0;
    for (int f = 0; f < cells.length; f++) {
      float[] prices = (average ? ySum[f] : y[f]).clone();
      for (int i = 0; i < prices.length; i++) {
        prices[i] *= share;
        sum += prices[i];
      }
      fields.get(f).gather(prices);
      cells[f] = prices;
    }
    float[] u = new float[rows.size()];
    for (int r = 0; r < u.length; r++) {
      Row row = rows.get(r);
      u[r] = average ? row.uSum * share : row.u;
      sum += u[r] * (double) row.limit;
    }
    priceRows(share, average);
    float[] most = new float[demand.length];
    for (int i = 0; i < x.length; i++) {
      Block block = blocks.get(i);
      float[] prices = fields.get(block.field).sum[block.window];
      float least = Float.POSITIVE_INFINITY;
      for (int at : block.at) {
        least = Math.min(least, prices[at]);
      }
      most[block.clazz] = Math.max(most[block.clazz], block.gain - rowPrice[i] - least);
    }
    for (int k = 0; k < most.length; k++) {
      sum += most[k] * (double) demand[k];
    }
    return new Prices(cells, u, sum);
  }
}
