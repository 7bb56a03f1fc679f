package dev.slicewright.formulation;

import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Grid;
import dev.slicewright.formulation.PlacementModel.GridPlace;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Term;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Supplier;

/**
 * The question whether all boxes of a model fit into one rectangle together, for models that ask
 * nothing else: the two-dimensional orthogonal packing problem. Immutable, safe to share.
 *
 * <p>A model asks only that, up to a level, if
 *
 * <ul>
 *   <li>its items are all placed or none: they are one group, or one gang, or all mandatory;
 *   <li>every candidate has a place on the grid of one pod, which is flat and does not wrap, and
 *       takes the cells of that box;
 *   <li>each box may lie wherever none of its cells is blocked, where a cell is blocked if no
 *       candidate takes it;
 *   <li>gains, at that level and the earlier ones, and coefficients in rows do not depend on which
 *       candidate an item gets; nothing runs or moves.
 * </ul>
 */
public final class MeshPacking {

  /** The largest width and height: 62. */
  public static final int MAX_EXTENT = 62;

  /** The most boxes: 500. */
  public static final int MAX_ITEMS = 500;

  /**
   * A way for a box to lie. Immutable, safe to share.
   *
   * @param width cells along x, 1 or more
   * @param height cells along y, 1 or more
   */
  public record Size(int width, int height) {}

  private final int width;
  private final int height;
  private final BitSet blocked;
  private final List<List<Size>> sizes; // by item
  private final List<List<int[]>> places; // by item and way: candidates at x + width * y, or -1
  private final boolean mayBeAbsent;
  private final boolean mayBePlaced;
  private final long[] placedValues;
  private final long[] absentValues;

  /** Why a model asks something else. */
  private static final class Other extends RuntimeException {
    private static final long serialVersionUID = 1;

    Other(String why) {
      super(why, null, false, false);
    }
  }

  /**
   * Why a model asks something else.
   *
   * @param model the model
   * @param level the level up to which gains count
   * @return one sentence, or empty if this is all that it asks. O(cells and terms of the model)
   */
  public static Optional<String> whyNot(PlacementModel model, int level) {
    try {
      new MeshPacking(model, level);
      return Optional.empty();
    } catch (Other e) {
      return Optional.of(String.valueOf(e.getMessage()));
    }
  }

  /**
   * The question, if a model asks no other.
   *
   * @param model the model
   * @param level the level up to which gains count
   * @return the question, or empty. O(cells and terms of the model)
   */
  public static Optional<MeshPacking> of(PlacementModel model, int level) {
    try {
      return Optional.of(new MeshPacking(model, level));
    } catch (Other e) {
      return Optional.empty();
    }
  }

  private MeshPacking(PlacementModel model, int level) {
    Grid grid = grid(model);
    this.width = grid.sizeX();
    this.height = grid.sizeY();
    boolean mandatory = tied(model);
    int items = model.items().size();
    long[][] gains = new long[items][];
    List<List<Term>> terms = new ArrayList<>();
    List<Map<Size, int[]>> byItem = new ArrayList<>();
    for (int i = 0; i < items; i++) {
      byItem.add(new LinkedHashMap<>());
      terms.add(List.of());
    }
    BitSet open = new BitSet();
    for (int c = 0; c < model.candidates().size(); c++) {
      Candidate candidate = model.candidates().get(c);
      int i = candidate.item();
      GridPlace at = place(candidate, grid);
      if (candidate.moves()) {
        throw new Other("A candidate moves what runs.");
      }
      if (gains[i] == null) {
        gains[i] = Arrays.copyOf(candidate.gains(), level + 1);
        terms.set(i, candidate.terms());
      } else if (!Arrays.equals(gains[i], 0, level + 1, candidate.gains(), 0, level + 1)) {
        throw new Other("The gain of an item depends on how it lies.");
      } else if (!terms.get(i).equals(candidate.terms())) {
        throw new Other("The coefficients of an item in rows depend on how it lies.");
      }
      for (int cell : candidate.cells()) {
        open.set(cell - grid.firstCell());
      }
      int[] known =
          byItem
              .get(i)
              .computeIfAbsent(
                  new Size(at.sizeX(), at.sizeY()),
                  s -> {
                    int[] none = new int[width * height];
                    Arrays.fill(none, -1);
                    return none;
                  });
      known[at.x() + width * at.y()] = c;
    }
    this.blocked = open;
    blocked.flip(0, width * height);
    int[][] blockedBefore = sums();
    this.sizes = new ArrayList<>();
    this.places = new ArrayList<>();
    for (Map<Size, int[]> ways : byItem) {
      ways.forEach((size, at) -> everywhere(size, at, blockedBefore));
      sizes.add(List.copyOf(ways.keySet()));
      places.add(List.copyOf(ways.values()));
    }
    this.mayBeAbsent = !mandatory;
    this.mayBePlaced = fits(model, terms, true);
    if (!fits(model, terms, false)) {
      throw new Other("A row is broken by a plan without any item.");
    }
    this.placedValues = new long[level + 1];
    this.absentValues = new long[level + 1];
    boolean[] seen = new boolean[model.groups().size()];
    for (int i = 0; i < items; i++) {
      long[] own = gains[i];
      int g = model.items().get(i).group();
      long[] absent = seen[g] ? new long[0] : model.groups().get(g).absentGain();
      seen[g] = true;
      for (int l = 0; l <= level; l++) {
        placedValues[l] += own == null ? 0 : own[l];
        absentValues[l] += absent.length == 0 ? 0 : absent[l];
      }
    }
  }

  private static Grid grid(PlacementModel model) {
    if (model.candidates().isEmpty()) {
      throw new Other("No item has a candidate.");
    }
    if (model.items().size() > MAX_ITEMS) {
      throw new Other("There are more than " + MAX_ITEMS + " items.");
    }
    int pod = model.candidates().get(0).pod();
    List<Grid> of = model.grids().stream().filter(g -> g.pod() == pod).toList();
    if (of.size() != 1) {
      throw new Other("The grid of pod " + pod + " is not known.");
    }
    Grid grid = of.get(0);
    if (grid.sizeZ() != 1 || grid.wrapX() || grid.wrapY() || grid.wrapZ()) {
      throw new Other("The grid is not flat, or wraps.");
    }
    if (grid.sizeX() > MAX_EXTENT || grid.sizeY() > MAX_EXTENT) {
      throw new Other("The grid is longer than " + MAX_EXTENT + " cells.");
    }
    return grid;
  }

  /** Checks that all items are placed or none; returns whether all must be. */
  private static boolean tied(PlacementModel model) {
    if (!model.unions().isEmpty()) {
      throw new Other("It has unions of groups.");
    }
    int[] size = new int[model.groups().size()];
    model.items().forEach(item -> size[item.group()]++);
    Set<Integer> gangs = new HashSet<>();
    boolean anyMandatory = false;
    boolean allMandatory = true;
    int groups = 0;
    for (int g = 0; g < size.length; g++) {
      if (size[g] == 0) {
        continue;
      }
      Group group = model.groups().get(g);
      groups++;
      gangs.add(group.gang() < 0 ? -1 - g : group.gang());
      anyMandatory |= group.mandatory();
      allMandatory &= group.mandatory();
      if (group.running()) {
        throw new Other("It has running items.");
      }
      if (size[g] > 1 && (group.differentPods() || group.maxPerDomain() > 0)) {
        throw new Other("A group must spread over pods or domains.");
      }
      if (size[g] > 1 && group.sameShape() && shapes(model, g) > 1) {
        throw new Other("A group may choose its shape.");
      }
    }
    if (groups > 1 && gangs.size() > 1 && !allMandatory) {
      throw new Other("Some items may be placed without others.");
    }
    for (int g = 0; g < size.length; g++) {
      // A group without items counts as placed, and so all of its gang must be.
      anyMandatory |= size[g] == 0 && gangs.contains(model.groups().get(g).gang());
    }
    return anyMandatory;
  }

  private static long shapes(PlacementModel model, int group) {
    return model.candidates().stream()
        .filter(c -> model.items().get(c.item()).group() == group)
        .mapToInt(Candidate::shape)
        .distinct()
        .count();
  }

  private static GridPlace place(Candidate candidate, Grid grid) {
    GridPlace at = candidate.grid();
    if (at == null || candidate.pod() != grid.pod()) {
      throw new Other("Not all candidates have a place on one grid.");
    }
    if (!Arrays.equals(candidate.cells(), grid.cells(at))) {
      throw new Other("A candidate does not take the cells of its place on the grid.");
    }
    return at;
  }

  private int[][] sums() {
    int[][] sums = new int[height + 1][width + 1];
    for (int y = 0; y < height; y++) {
      for (int x = 0; x < width; x++) {
        sums[y + 1][x + 1] =
            sums[y][x + 1] + sums[y + 1][x] - sums[y][x] + (blocked.get(x + width * y) ? 1 : 0);
      }
    }
    return sums;
  }

  private void everywhere(Size size, int[] at, int[][] s) {
    for (int y = 0; y + size.height() <= height; y++) {
      for (int x = 0; x + size.width() <= width; x++) {
        int right = x + size.width();
        int top = y + size.height();
        boolean isOpen = s[top][right] - s[y][right] - s[top][x] + s[y][x] == 0;
        if (isOpen && at[x + width * y] < 0) {
          throw new Other("An item may not lie at " + x + "," + y + ", where nothing blocks it.");
        }
      }
    }
  }

  private static boolean fits(PlacementModel model, List<List<Term>> terms, boolean placed) {
    long[] sums = new long[model.rows().size()];
    if (placed) {
      terms.forEach(of -> of.forEach(term -> sums[term.row()] += term.coefficient()));
    }
    for (int r = 0; r < sums.length; r++) {
      if (sums[r] > model.rows().get(r).limit()) {
        return false;
      }
    }
    return true;
  }

  /**
   * The width of the rectangle.
   *
   * @return cells along x, 1 to {@link #MAX_EXTENT}
   */
  public int width() {
    return width;
  }

  /**
   * The height of the rectangle.
   *
   * @return cells along y, 1 to {@link #MAX_EXTENT}
   */
  public int height() {
    return height;
  }

  /**
   * The cells that nothing may take, the cell (x, y) at x + width × y.
   *
   * @return a copy
   */
  public BitSet blocked() {
    return (BitSet) blocked.clone();
  }

  /**
   * The ways in which each item may lie.
   *
   * @return for each item its sizes; none if it has no candidate
   */
  public List<List<Size>> sizes() {
    return List.copyOf(sizes);
  }

  /**
   * The candidate of an item at a place.
   *
   * @param item the item
   * @param way the index of its size
   * @param x the first cell along x
   * @param y the first cell along y
   * @return the candidate, or empty if something blocks it
   */
  public OptionalInt candidate(int item, int way, int x, int y) {
    int c =
        x < 0 || x >= width || y < 0 || y >= height ? -1 : places.get(item).get(way)[x + width * y];
    return c < 0 ? OptionalInt.empty() : OptionalInt.of(c);
  }

  /**
   * Whether a plan without any item keeps the model's rules.
   *
   * @return false where items are mandatory
   */
  public boolean mayBeAbsent() {
    return mayBeAbsent;
  }

  /**
   * Whether the model's rows leave room for all items.
   *
   * @return false if a row forbids it wherever they lie
   */
  public boolean mayBePlaced() {
    return mayBePlaced;
  }

  /**
   * The value of each level if all items are placed.
   *
   * @return a copy, up to the level asked about
   */
  public long[] placedValues() {
    return placedValues.clone();
  }

  /**
   * The value of each level if no item is placed.
   *
   * @return a copy, up to the level asked about
   */
  public long[] absentValues() {
    return absentValues.clone();
  }

  /**
   * Answers a task by asking whether all items fit, if that decides it.
   *
   * @param model the model whose question this is
   * @param task the task; its level must be that of the question
   * @param fitting looks for a plan with all items: any solution of it counts as optimal, {@code
   *     INFEASIBLE} means that they do not fit. Called once, or not at all where a plan without any
   *     item is as good
   * @return the answer for the task
   */
  public FormulationResult decide(
      PlacementModel model, FormulationTask task, Supplier<FormulationResult> fitting) {
    int level = task.level();
    long placed = placedValues[level];
    long absent = absentValues[level];
    boolean placedHolds = mayBePlaced && holds(model, task.held(), placedValues);
    boolean absentHolds = mayBeAbsent && holds(model, task.held(), absentValues);
    boolean better =
        !absentHolds || (model.levels().get(level).maximise() ? placed > absent : placed < absent);
    int[] none = new int[sizes.size()];
    Arrays.fill(none, -1);
    if (!placedHolds || !better) {
      return absentHolds
          ? new FormulationResult(Status.OPTIMAL, none, absent, "nothing is to be placed")
          : new FormulationResult(
              Status.INFEASIBLE, null, null, "earlier levels or rows forbid it");
    }
    FormulationResult found = fitting.get();
    int[] chosen = found.solution().orElse(null);
    if (chosen != null) {
      return new FormulationResult(Status.OPTIMAL, chosen, placed, found.message());
    }
    return switch (found.status()) {
      case INFEASIBLE ->
          absentHolds
              ? new FormulationResult(
                  Status.OPTIMAL, none, absent, "not all items fit; " + found.message())
              : found;
      case UNKNOWN ->
          absentHolds
              ? new FormulationResult(Status.FEASIBLE, none, placed, found.message())
              : found;
      case CANCELLED ->
          new FormulationResult(
              Status.CANCELLED, absentHolds ? none : null, placed, found.message());
      case OPTIMAL, FEASIBLE, FAILED -> found;
    };
  }

  private static boolean holds(PlacementModel model, long[] held, long[] values) {
    for (int l = 0; l < held.length; l++) {
      boolean maximise = model.levels().get(l).maximise();
      if (maximise ? values[l] < held[l] : values[l] > held[l]) {
        return false;
      }
    }
    return true;
  }

  /**
   * Candidates without which all items fit if and only if they fit with them.
   *
   * <p>Where nothing is blocked, a box as wide as the rectangle may be slid to its end, over and
   * over; and of what remains, mirroring it along x and y leaves each box in the lower half of its
   * places at will: that is used for the largest box that differs from all others.
   *
   * @return the numbers of candidates. O(candidates)
   */
  public BitSet needless() {
    BitSet out = new BitSet();
    if (!blocked.isEmpty()) {
      return out;
    }
    int n = sizes.size();
    boolean[] pinned = new boolean[n];
    int x0 = 0;
    int y0 = 0;
    for (boolean again = true; again; ) {
      again = false;
      for (int i = 0; i < n; i++) {
        if (pinned[i] || sizes.get(i).size() != 1) {
          continue;
        }
        Size size = sizes.get(i).get(0);
        boolean across = size.width() == width - x0 && size.height() <= height - y0;
        boolean along = size.height() == height - y0 && size.width() <= width - x0;
        if (across || along) {
          keep(i, x0, x0, y0, y0, out);
          pinned[i] = true;
          again = true;
          y0 += across ? size.height() : 0;
          x0 += across ? 0 : size.width();
        }
      }
    }
    int largest = largestUnlikeOthers(pinned);
    for (int i = 0; i < n; i++) {
      if (!pinned[i]) {
        keep(i, x0, width, y0, height, out);
      }
    }
    if (largest >= 0) {
      for (int way = 0; way < sizes.get(largest).size(); way++) {
        Size size = sizes.get(largest).get(way);
        int[] at = places.get(largest).get(way);
        // A place beyond the middle is a mirror image of one before it.
        int lastX = x0 + (width - x0 - size.width()) / 2;
        int lastY = y0 + (height - y0 - size.height()) / 2;
        for (int p = 0; p < at.length; p++) {
          if (at[p] >= 0 && (p % width > lastX || p / width > lastY)) {
            out.set(at[p]);
          }
        }
      }
    }
    return out;
  }

  private int largestUnlikeOthers(boolean[] pinned) {
    Map<Set<Size>, Integer> count = new HashMap<>();
    sizes.forEach(ways -> count.merge(new HashSet<>(ways), 1, Integer::sum));
    int largest = -1;
    int most = 0;
    for (int i = 0; i < pinned.length; i++) {
      int area = sizes.get(i).stream().mapToInt(s -> s.width() * s.height()).max().orElse(0);
      if (!pinned[i] && area > most && count.getOrDefault(new HashSet<>(sizes.get(i)), 0) == 1) {
        largest = i;
        most = area;
      }
    }
    return largest;
  }

  /** Keeps the places of an item from one corner to another, and calls the others needless. */
  private void keep(int item, int fromX, int toX, int fromY, int toY, BitSet out) {
    for (int[] at : places.get(item)) {
      for (int p = 0; p < at.length; p++) {
        int x = p % width;
        int y = p / width;
        if (at[p] >= 0 && (x < fromX || x > toX || y < fromY || y > toY)) {
          out.set(at[p]);
        }
      }
    }
  }
}
