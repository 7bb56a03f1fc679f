package dev.slicewright.formulation;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;
import java.util.OptionalLong;

/**
 * Items that want candidates, cells that hold one candidate each, rows that limit sums, and ranked
 * objective levels. Immutable, safe to share.
 *
 * <p>A solution chooses at most one candidate for each item so that
 *
 * <ul>
 *   <li>no two chosen candidates share a cell;
 *   <li>for every row, the sum of the chosen candidates' coefficients, of the disturbed groups'
 *       coefficients and of the touched unions' coefficients is at most its limit;
 *   <li>the items of a group are all placed or none, and groups of one gang are all placed or none;
 *       a mandatory group is placed;
 *   <li>the chosen candidates of a group agree on {@link Candidate#shape} if it says {@code
 *       sameShape}, on {@link Candidate#pod} if {@code samePod}, differ in pod if {@code
 *       differentPods}, and at most {@code maxPerDomain} of them share a {@link Candidate#domain}
 *       where that is more than 0.
 * </ul>
 *
 * <p>A group is <i>moved</i> if a chosen candidate of it says {@link Candidate#moves}; it is
 * <i>disturbed</i> if it is moved, or if it {@linkplain Group#running runs} and is not placed. The
 * value of a level is the sum of the chosen candidates' gains, of {@code movedGain} of moved groups
 * and of {@code absentGain} of groups not placed. All values are exact integers; sums must stay
 * below 2^62 in magnitude, which the builder checks.
 */
public final class PlacementModel {

  /** The largest magnitude that any level or row may reach: 2^62. */
  public static final long MAX_MAGNITUDE = 1L << 62;

  /**
   * One level of the objective. Immutable, safe to share.
   *
   * @param name a short name
   * @param maximise whether more is better; if not, less is
   */
  public record Level(String name, boolean maximise) {}

  /**
   * One thing to place. Immutable, safe to share.
   *
   * @param name a short name
   * @param group the index of its group
   */
  public record Item(String name, int group) {}

  /**
   * A limit on a sum. Immutable, safe to share.
   *
   * @param name a short name
   * @param limit the most that the sum may be; may be negative
   */
  public record Row(String name, long limit) {}

  /**
   * A coefficient in a row. Immutable, safe to share.
   *
   * @param row the index of the row
   * @param coefficient any value; negative ones give room
   */
  public record Term(int row, long coefficient) {}

  /**
   * One way of placing one item. Immutable, safe to share. Its arrays must not be changed.
   *
   * @param item the index of the item
   * @param cells the cells that it takes, ascending, each once; may be empty
   * @param gains its gain at each level
   * @param terms its coefficients in rows
   * @param shape a number for its shape
   * @param pod a number for its pod
   * @param domain a number for its failure domain
   * @param moves whether choosing it moves a running item
   * @param grid its place on the pod's grid of cells, or null
   */
  public record Candidate(
      int item,
      int[] cells,
      long[] gains,
      List<Term> terms,
      int shape,
      int pod,
      int domain,
      boolean moves,
      @org.jspecify.annotations.Nullable GridPlace grid) {}

  /**
   * Where a candidate lies on its pod's grid of cells. Immutable, safe to share.
   *
   * @param x first cell along x
   * @param y first cell along y
   * @param z first cell along z
   * @param sizeX cells along x
   * @param sizeY cells along y
   * @param sizeZ cells along z
   */
  public record GridPlace(int x, int y, int z, int sizeX, int sizeY, int sizeZ) {}

  /**
   * The grid of cells of one pod. Immutable, safe to share.
   *
   * @param pod the pod's number
   * @param firstCell the model's cell of grid place (0, 0, 0); x fastest
   * @param sizeX cells along x
   * @param sizeY cells along y
   * @param sizeZ cells along z
   * @param wrapX whether x wraps
   * @param wrapY whether y wraps
   * @param wrapZ whether z wraps
   */
  public record Grid(
      int pod,
      int firstCell,
      int sizeX,
      int sizeY,
      int sizeZ,
      boolean wrapX,
      boolean wrapY,
      boolean wrapZ) {}

  /**
   * Items that are placed all or none. Immutable, safe to share. Its arrays must not be changed.
   *
   * @param name a short name
   * @param gang groups of one number of 0 or more are placed all or none; -1 for none
   * @param mandatory whether it must be placed
   * @param running whether it runs now: not placing it disturbs it
   * @param sameShape whether its candidates must agree on the shape
   * @param samePod whether they must agree on the pod
   * @param differentPods whether they must differ in pod
   * @param maxPerDomain at most so many in one domain, or 0 for any number
   * @param movedGain added to the levels once if it is moved; empty for zeros
   * @param absentGain added to the levels once if it is not placed; empty for zeros
   * @param disturbedTerms coefficients in rows if it is disturbed
   */
  public record Group(
      String name,
      int gang,
      boolean mandatory,
      boolean running,
      boolean sameShape,
      boolean samePod,
      boolean differentPods,
      int maxPerDomain,
      long[] movedGain,
      long[] absentGain,
      List<Term> disturbedTerms) {

    /**
     * A wanted group: all or none, nothing more.
     *
     * @param name a short name
     * @return the group
     */
    public static Group wanted(String name) {
      return new Group(
          name, -1, false, false, false, false, false, 0, new long[0], new long[0], List.of());
    }
  }

  /**
   * Coefficients that count once if any of some groups is disturbed. Immutable, safe to share. Its
   * array must not be changed.
   *
   * @param name a short name
   * @param groups indices of groups
   * @param terms coefficients in rows
   */
  public record Union(String name, int[] groups, List<Term> terms) {}

  private final List<Level> levels;
  private final List<Item> items;
  private final List<Group> groups;
  private final List<Candidate> candidates;
  private final List<Row> rows;
  private final List<Union> unions;
  private final List<Grid> grids;
  private final int cellCount;

  private PlacementModel(Builder b) {
    this.levels = List.copyOf(b.levels);
    this.items = List.copyOf(b.items);
    this.groups = List.copyOf(b.groups);
    this.candidates = List.copyOf(b.candidates);
    this.rows = List.copyOf(b.rows);
    this.unions = List.copyOf(b.unions);
    this.grids = List.copyOf(b.grids);
    this.cellCount = b.cellCount;
  }

  private PlacementModel(PlacementModel m, List<Candidate> candidates) {
    this.levels = m.levels;
    this.items = m.items;
    this.groups = m.groups;
    this.candidates = List.copyOf(candidates);
    this.rows = m.rows;
    this.unions = m.unions;
    this.grids = m.grids;
    this.cellCount = m.cellCount;
  }

  /** The same with some of its candidates. */
  PlacementModel with(List<Candidate> some) {
    return new PlacementModel(this, some);
  }

  /**
   * A builder of an empty model.
   *
   * @param cellCount the number of cells, 0 or more
   * @param levels the objective, most important first, one or more
   * @return a new builder
   */
  public static Builder builder(int cellCount, List<Level> levels) {
    return new Builder(cellCount, levels);
  }

  /**
   * The objective, most important level first.
   *
   * @return an unmodifiable list
   */
  public List<Level> levels() {
    return levels;
  }

  /**
   * The items.
   *
   * @return an unmodifiable list; an item's number is its index
   */
  public List<Item> items() {
    return items;
  }

  /**
   * The groups; every item is in one.
   *
   * @return an unmodifiable list; a group's number is its index
   */
  public List<Group> groups() {
    return groups;
  }

  /**
   * The candidates.
   *
   * @return an unmodifiable list; a candidate's number is its index
   */
  public List<Candidate> candidates() {
    return candidates;
  }

  /**
   * The rows.
   *
   * @return an unmodifiable list; a row's number is its index
   */
  public List<Row> rows() {
    return rows;
  }

  /**
   * The unions.
   *
   * @return an unmodifiable list
   */
  public List<Union> unions() {
    return unions;
  }

  /**
   * The grids of pods, where known.
   *
   * @return an unmodifiable list, perhaps empty
   */
  public List<Grid> grids() {
    return grids;
  }

  /**
   * The number of cells.
   *
   * @return 0 or more
   */
  public int cellCount() {
    return cellCount;
  }

  /**
   * The value of every level of a solution, and a check that it is one.
   *
   * @param chosen for each item the index of its candidate, or -1
   * @return the values, most important level first
   * @throws InvalidInputException listing every rule that the solution breaks. O(model)
   */
  public long[] evaluate(int[] chosen) {
    return ModelEvaluation.evaluate(this, chosen);
  }

  /**
   * The bound of a level that prices prove, recomputed in exact integer arithmetic: no solution
   * that keeps the held values passes it. It holds whatever the prices, by weak duality, and is
   * rounded towards the values by what all gains of the level have in common.
   *
   * @param level the level
   * @param held the value that each earlier level must at least keep (at most, where it is
   *     minimised); its length is {@code level}
   * @param prices prices that fit this model and level
   * @return at least the optimum of a maximised level, at most that of a minimised one; empty if
   *     the arithmetic overflows, or a mandatory group has no candidates to choose from, so that
   *     there is no solution. O(n log n) for n cells, gains and terms in the candidates
   * @throws IllegalArgumentException if a length does not fit
   */
  public OptionalLong certifiedBound(int level, long[] held, ModelPrices prices) {
    try {
      PricedModel priced = new PricedModel(this, level, held, prices);
      return priced.impossible() ? OptionalLong.empty() : OptionalLong.of(priced.bound());
    } catch (ArithmeticException e) {
      return OptionalLong.empty();
    }
  }

  /**
   * This model without the candidates that, as prices prove in exact integer arithmetic, no
   * solution has that is better than the incumbent at a level (reduced-cost fixing). The incumbent
   * stays a solution, so the optimum of that level stays what it is.
   *
   * @param level the level
   * @param held the values held at earlier levels; its length is {@code level}
   * @param prices prices that fit this model and level; the better the bound they prove, the more
   *     goes
   * @param incumbent a solution that keeps the held values: for each item the index of its
   *     candidate or -1
   * @return the smaller model; the same model where the arithmetic overflows. O(n log n) for n
   *     cells, gains and terms in the candidates
   * @throws IllegalArgumentException if a length does not fit or the incumbent does not keep the
   *     held values
   * @throws InvalidInputException if the incumbent is no solution
   */
  public ReducedModel reduced(int level, long[] held, ModelPrices prices, int[] incumbent) {
    long[] values = evaluate(incumbent);
    for (int l = 0; l < level; l++) {
      if (levels.get(l).maximise() ? values[l] < held[l] : values[l] > held[l]) {
        throw new IllegalArgumentException(
            "Expected an incumbent that keeps level "
                + l
                + " at "
                + held[l]
                + ", but it has "
                + values[l]
                + ".");
      }
    }
    BitSet useless;
    try {
      PricedModel priced = new PricedModel(this, level, held, prices);
      useless = priced.impossible() ? new BitSet() : priced.useless(values[level]);
    } catch (ArithmeticException e) {
      useless = new BitSet();
    }
    for (int c : incumbent) {
      if (c >= 0) {
        useless.clear(c);
      }
    }
    return new ReducedModel(this, useless);
  }

  @Override
  public String toString() {
    return "PlacementModel["
        + items.size()
        + " items, "
        + candidates.size()
        + " candidates, "
        + groups.size()
        + " groups, "
        + cellCount
        + " cells, "
        + rows.size()
        + " rows, "
        + levels.size()
        + " levels]";
  }

  /** Builds a {@link PlacementModel}. Confined to one thread at a time. */
  public static final class Builder {
    private final int cellCount;
    private final List<Level> levels;
    private final List<Item> items = new ArrayList<>();
    private final List<Group> groups = new ArrayList<>();
    private final List<Candidate> candidates = new ArrayList<>();
    private final List<Row> rows = new ArrayList<>();
    private final List<Union> unions = new ArrayList<>();
    private final List<Grid> grids = new ArrayList<>();

    private Builder(int cellCount, List<Level> levels) {
      this.cellCount = cellCount;
      this.levels = List.copyOf(levels);
    }

    /**
     * Adds a group.
     *
     * @param group the group
     * @return its number
     */
    public int group(Group group) {
      groups.add(Objects.requireNonNull(group, "group"));
      return groups.size() - 1;
    }

    /**
     * Adds an item.
     *
     * @param item the item
     * @return its number
     */
    public int item(Item item) {
      items.add(Objects.requireNonNull(item, "item"));
      return items.size() - 1;
    }

    /**
     * Adds a row.
     *
     * @param row the row
     * @return its number
     */
    public int row(Row row) {
      rows.add(Objects.requireNonNull(row, "row"));
      return rows.size() - 1;
    }

    /**
     * Adds a candidate.
     *
     * @param candidate the candidate
     * @return its number
     */
    public int candidate(Candidate candidate) {
      candidates.add(Objects.requireNonNull(candidate, "candidate"));
      return candidates.size() - 1;
    }

    /**
     * Adds a union.
     *
     * @param union the union
     * @return this
     */
    public Builder union(Union union) {
      unions.add(Objects.requireNonNull(union, "union"));
      return this;
    }

    /**
     * Adds the grid of a pod.
     *
     * @param grid the grid
     * @return this
     */
    public Builder grid(Grid grid) {
      grids.add(Objects.requireNonNull(grid, "grid"));
      return this;
    }

    /**
     * A candidate added before.
     *
     * @param candidate its number
     * @return the candidate
     */
    public Candidate candidateAt(int candidate) {
      return candidates.get(candidate);
    }

    /**
     * Checks and builds.
     *
     * @return the model
     * @throws InvalidInputException listing every problem: indices out of range, arrays of the
     *     wrong length, sums beyond {@link #MAX_MAGNITUDE}
     */
    public PlacementModel build() {
      Problems problems = new Problems();
      PlacementModel model = new PlacementModel(this);
      ModelEvaluation.check(model, problems);
      problems.throwIfAny("placement model");
      return model;
    }
  }
}
