package dev.slicewright.formulation.ortools;

import com.google.ortools.sat.ConstraintProto;
import com.google.ortools.sat.CpModel;
import com.google.ortools.sat.CpModelProto;
import com.google.ortools.sat.CumulativeConstraintProto;
import com.google.ortools.sat.IntegerVariableProto;
import com.google.ortools.sat.IntervalConstraintProto;
import com.google.ortools.sat.LinearConstraintProto;
import com.google.ortools.sat.LinearExpressionProto;
import com.google.ortools.sat.NoOverlap2DConstraintProto;
import com.google.ortools.sat.SatParameters;
import dev.slicewright.InvalidInputException;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Grid;
import dev.slicewright.formulation.PlacementModel.GridPlace;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.IntToLongFunction;

/**
 * One level of a {@link PlacementModel} on flat grids, as rectangles that must not overlap.
 * Confined to one thread at a time.
 *
 * <p>Candidates of one item that differ only in where they lie are one <i>way</i>. A {@link
 * CpSatProgram} of the ways, without cells, has all that is not geometry: groups, rows, levels. Its
 * Boolean of a way is the presence of two optional intervals. Each grid has one {@code NoOverlap2D}
 * and two cumulatives, one along each axis: they are implied, and most of what is infeasible shows
 * in them. Where a way may not lie everywhere on its grid, x + width × y takes only the places that
 * it has; cells that no candidate takes are fixed rectangles besides.
 */
final class IntervalProgram implements CpProgram {

  /** Of ways that take no cells. */
  private static final GridPlace NOWHERE = new GridPlace(0, 0, 0, 0, 0, 0);

  private static final Grid NO_GRID = new Grid(-1, 0, 1, 1, 1, false, false, false);

  private final PlacementModel model;
  private final int level;
  private final long[] held;
  private final List<Way> ways = new ArrayList<>(); // as the candidates of the core
  private final CpSatProgram core;
  private final CpModelProto.Builder proto;
  private int variables;
  private long literals;

  /** Candidates of one item that differ only in their place. */
  private static final class Way {
    final int item;
    final Grid grid;
    final int sizeX;
    final int sizeY;
    final TreeMap<Integer, Integer> at = new TreeMap<>(); // candidate by x + width * y
    int presence = -1;
    int x = -1; // start variables, or -1 where it has no cells
    int y = -1;

    Way(int item, Grid grid, int sizeX, int sizeY) {
      this.item = item;
      this.grid = grid;
      this.sizeX = sizeX;
      this.sizeY = sizeY;
    }
  }

  /** What makes candidates one way. */
  private record WayKey(int item, int sizeX, int sizeY, List<Object> rest, List<Long> gains) {}

  /**
   * Builds. O(cells of all candidates).
   *
   * @throws IllegalArgumentException if {@link #whyNot} has an objection
   * @throws ArithmeticException if a sum is too large
   */
  IntervalProgram(PlacementModel model, int level, long[] held) {
    whyNot(model)
        .ifPresent(
            why -> {
              throw new IllegalArgumentException(why);
            });
    this.model = model;
    this.level = level;
    this.held = held;
    PlacementModel flat = flat();
    this.core = new CpSatProgram(flat, ItemClasses.of(flat), level, held);
    this.proto = core.cpModel().getBuilder();
    this.variables = core.variables();
    this.literals = core.literals();
    for (int w = 0; w < ways.size(); w++) {
      ways.get(w).presence = core.variableOf(w);
    }
    Map<Grid, List<Way>> byGrid = new LinkedHashMap<>();
    ways.forEach(way -> byGrid.computeIfAbsent(way.grid, g -> new ArrayList<>()).add(way));
    byGrid.remove(NO_GRID);
    byGrid.forEach(this::place);
    order();
  }

  /** Why a model cannot be written so, or empty. O(cells of all candidates). */
  static Optional<String> whyNot(PlacementModel model) {
    Map<Integer, Grid> grids = new HashMap<>();
    for (Grid grid : model.grids()) {
      if (grids.put(grid.pod(), grid) != null) {
        return Optional.of("Pod " + grid.pod() + " has more than one grid.");
      }
    }
    BitSet taken = new BitSet();
    for (Grid grid : grids.values()) {
      long end = grid.firstCell() + (long) grid.sizeX() * grid.sizeY();
      if (grid.sizeZ() == 1 && grid.firstCell() >= 0 && end <= model.cellCount()) {
        int next = taken.nextSetBit(grid.firstCell());
        if (next >= 0 && next < end) {
          return Optional.of("Two grids share cells.");
        }
        taken.set(grid.firstCell(), (int) end);
      }
    }
    for (Candidate candidate : model.candidates()) {
      if (candidate.cells().length == 0) {
        continue;
      }
      GridPlace at = candidate.grid();
      Grid grid = grids.get(candidate.pod());
      if (at == null || grid == null) {
        return Optional.of("Intervals need the place on a grid of every candidate with cells.");
      }
      if (grid.sizeZ() != 1 || grid.wrapX() || grid.wrapY() || grid.wrapZ()) {
        return Optional.of("Intervals need flat grids that do not wrap.");
      }
      if (!Arrays.equals(candidate.cells(), grid.cells(at))) {
        return Optional.of("A candidate does not take the cells of its place on the grid.");
      }
    }
    return Optional.empty();
  }

  /**
   * The model with one candidate for each way. It takes a cell of its item, so that items are told
   * apart, and one of its own: ways of other sizes may be alike in all else.
   */
  private PlacementModel flat() {
    Map<Integer, Grid> grids = new HashMap<>();
    model.grids().forEach(grid -> grids.put(grid.pod(), grid));
    Map<WayKey, Way> known = new HashMap<>();
    PlacementModel.Builder b =
        PlacementModel.builder(
            model.items().size() + model.candidates().size(), List.copyOf(model.levels()));
    model.groups().forEach(b::group);
    model.items().forEach(b::item);
    model.rows().forEach(b::row);
    model.unions().forEach(b::union);
    for (int c = 0; c < model.candidates().size(); c++) {
      Candidate own = model.candidates().get(c);
      GridPlace place = own.grid();
      GridPlace at = own.cells().length == 0 || place == null ? NOWHERE : place;
      Grid grid = at == NOWHERE ? NO_GRID : grids.getOrDefault(own.pod(), NO_GRID);
      WayKey key =
          new WayKey(
              own.item(),
              at.sizeX(),
              at.sizeY(),
              List.of(own.terms(), own.shape(), own.pod(), own.domain(), own.moves()),
              Arrays.stream(own.gains()).limit(level + 1L).boxed().toList());
      Way way = known.get(key);
      if (way == null) {
        way = new Way(own.item(), grid, at.sizeX(), at.sizeY());
        known.put(key, way);
        ways.add(way);
        b.candidate(
            new Candidate(
                own.item(),
                new int[] {own.item(), model.items().size() + ways.size() - 1},
                own.gains(),
                own.terms(),
                own.shape(),
                own.pod(),
                own.domain(),
                own.moves(),
                null));
      }
      way.at.putIfAbsent(at.x() + grid.sizeX() * at.y(), c);
    }
    return b.build();
  }

  // ---- geometry --------------------------------------------------------------------------------

  private void place(Grid grid, List<Way> on) {
    NoOverlap2DConstraintProto.Builder apart = NoOverlap2DConstraintProto.newBuilder();
    CumulativeConstraintProto.Builder along = cumulative(grid.sizeY());
    CumulativeConstraintProto.Builder up = cumulative(grid.sizeX());
    BitSet open = new BitSet();
    for (Way way : on) {
      way.x = start(way, true);
      way.y = start(way, false);
      restrict(way);
      int ix = interval(way.x, way.sizeX, way.presence);
      int iy = interval(way.y, way.sizeY, way.presence);
      add(apart, along, up, ix, iy, way.sizeX, way.sizeY);
      for (int at : way.at.keySet()) {
        for (int y = 0; y < way.sizeY; y++) {
          int from = at + y * grid.sizeX();
          open.set(from, from + way.sizeX);
        }
      }
    }
    for (int[] r : blocked(open, grid.sizeX(), grid.sizeY())) {
      add(apart, along, up, fixed(r[0], r[2]), fixed(r[1], r[3]), r[2], r[3]);
    }
    proto.addConstraints(ConstraintProto.newBuilder().setNoOverlap2D(apart));
    proto.addConstraints(ConstraintProto.newBuilder().setCumulative(along));
    proto.addConstraints(ConstraintProto.newBuilder().setCumulative(up));
  }

  private static CumulativeConstraintProto.Builder cumulative(int capacity) {
    return CumulativeConstraintProto.newBuilder().setCapacity(constant(capacity));
  }

  private void add(
      NoOverlap2DConstraintProto.Builder apart,
      CumulativeConstraintProto.Builder along,
      CumulativeConstraintProto.Builder up,
      int ix,
      int iy,
      int sizeX,
      int sizeY) {
    apart.addXIntervals(ix).addYIntervals(iy);
    along.addIntervals(ix).addDemands(constant(sizeY));
    up.addIntervals(iy).addDemands(constant(sizeX));
    literals += 6;
  }

  private static LinearExpressionProto constant(int value) {
    return LinearExpressionProto.newBuilder().setOffset(value).build();
  }

  private static LinearExpressionProto variable(int variable) {
    return LinearExpressionProto.newBuilder().addVars(variable).addCoeffs(1).build();
  }

  private int start(Way way, boolean alongX) {
    int width = way.grid.sizeX();
    int[] values =
        way.at.keySet().stream()
            .mapToInt(at -> alongX ? at % width : at / width)
            .distinct()
            .sorted()
            .toArray();
    IntegerVariableProto.Builder domain = IntegerVariableProto.newBuilder();
    for (int i = 0; i < values.length; ) {
      int j = i;
      while (j + 1 < values.length && values[j + 1] == values[j] + 1) {
        j++;
      }
      domain.addDomain(values[i]).addDomain(values[j]);
      i = j + 1;
    }
    proto.addVariables(domain);
    return variables++;
  }

  /** Only the places that a way has, where those are not all that its starts allow. */
  private void restrict(Way way) {
    int width = way.grid.sizeX();
    long all =
        way.at.keySet().stream().map(at -> at % width).distinct().count()
            * way.at.keySet().stream().map(at -> at / width).distinct().count();
    if (all == way.at.size()) {
      return;
    }
    LinearConstraintProto.Builder linear =
        LinearConstraintProto.newBuilder()
            .addVars(way.x)
            .addCoeffs(1)
            .addVars(way.y)
            .addCoeffs(width);
    int from = -1;
    int to = -1;
    for (int at : way.at.keySet()) {
      if (from >= 0 && at == to + 1) {
        to = at;
        continue;
      }
      if (from >= 0) {
        linear.addDomain(from).addDomain(to);
        literals++;
      }
      from = at;
      to = at;
    }
    linear.addDomain(from).addDomain(to);
    literals += 3;
    proto.addConstraints(
        ConstraintProto.newBuilder().addEnforcementLiteral(way.presence).setLinear(linear));
  }

  private int interval(int start, int size, int presence) {
    IntervalConstraintProto.Builder interval =
        IntervalConstraintProto.newBuilder()
            .setStart(variable(start))
            .setSize(constant(size))
            .setEnd(variable(start).toBuilder().setOffset(size));
    proto.addConstraints(
        ConstraintProto.newBuilder().addEnforcementLiteral(presence).setInterval(interval));
    return proto.getConstraintsCount() - 1;
  }

  private int fixed(int start, int size) {
    IntervalConstraintProto.Builder interval =
        IntervalConstraintProto.newBuilder()
            .setStart(constant(start))
            .setSize(constant(size))
            .setEnd(constant(start + size));
    proto.addConstraints(ConstraintProto.newBuilder().setInterval(interval));
    return proto.getConstraintsCount() - 1;
  }

  /** The closed cells of a grid as rectangles {x, y, width, height}, greedily. */
  static List<int[]> blocked(BitSet open, int width, int height) {
    BitSet done = (BitSet) open.clone();
    List<int[]> out = new ArrayList<>();
    int n = width * height;
    for (int at = done.nextClearBit(0); at < n; at = done.nextClearBit(at)) {
      int x = at % width;
      int y = at / width;
      int w = 1;
      while (x + w < width && !done.get(at + w)) {
        w++;
      }
      int h = 1;
      while (y + h < height && clear(done, at + h * width, w)) {
        h++;
      }
      for (int row = 0; row < h; row++) {
        done.set(at + row * width, at + row * width + w);
      }
      out.add(new int[] {x, y, w, h});
    }
    return out;
  }

  private static boolean clear(BitSet set, int from, int count) {
    int next = set.nextSetBit(from);
    return next < 0 || next >= from + count;
  }

  // ---- equal items -----------------------------------------------------------------------------

  /**
   * Of items that need not be told apart and have one way, those placed come first, in the order of
   * their places.
   */
  private void order() {
    Map<Integer, Way> only = new HashMap<>();
    BitSet several = new BitSet();
    for (Way way : ways) {
      if (only.put(way.item, way) != null) {
        several.set(way.item);
      }
    }
    for (ItemClasses.ItemClass c : ItemClasses.of(model).all()) {
      for (int i = 1; i < c.size(); i++) {
        Way a = only.get(c.items()[i - 1]);
        Way b = only.get(c.items()[i]);
        if (a == null || b == null || a.x < 0 || several.get(a.item) || several.get(b.item)) {
          continue;
        }
        int width = a.grid.sizeX();
        proto.addConstraints(
            ConstraintProto.newBuilder()
                .addEnforcementLiteral(b.presence)
                .setBoolOr(
                    com.google.ortools.sat.BoolArgumentProto.newBuilder().addLiterals(a.presence)));
        proto.addConstraints(
            ConstraintProto.newBuilder()
                .addEnforcementLiteral(b.presence)
                .setLinear(
                    LinearConstraintProto.newBuilder()
                        .addVars(b.x)
                        .addCoeffs(1)
                        .addVars(b.y)
                        .addCoeffs(width)
                        .addVars(a.x)
                        .addCoeffs(-1)
                        .addVars(a.y)
                        .addCoeffs(-width)
                        .addDomain(1)
                        .addDomain((long) width * a.grid.sizeY())));
        literals += 6;
      }
    }
  }

  // ---- what the run asks -----------------------------------------------------------------------

  @Override
  public CpModel cpModel() {
    return core.cpModel();
  }

  @Override
  public int variables() {
    return variables;
  }

  @Override
  public long literals() {
    return literals;
  }

  @Override
  public void configure(SatParameters.Builder parameters, int variant) {
    // More linear relaxation than by default took E00N23 of the tests from one second to fifty.
    if (variant == 0) {
      parameters.setCpModelPresolve(false); // costs more than it gains on packings
    } else {
      parameters.setCpModelProbingLevel(0).setSymmetryLevel(0);
    }
  }

  @Override
  public long boundOfLevel(long innerLowerBound) {
    return core.boundOfLevel(innerLowerBound);
  }

  @Override
  public boolean hasObjective() {
    return core.hasObjective();
  }

  @Override
  public int[] chosen(IntToLongFunction value) {
    int[] chosen = core.chosen(value);
    for (int i = 0; i < chosen.length; i++) {
      if (chosen[i] >= 0) {
        Way way = ways.get(chosen[i]);
        long at =
            way.x < 0 ? 0 : value.applyAsLong(way.x) + way.grid.sizeX() * value.applyAsLong(way.y);
        chosen[i] = way.at.getOrDefault((int) at, -1);
      }
    }
    return chosen;
  }

  @Override
  public boolean addHint(int[] start) {
    Map<Integer, Integer> wayOf = new HashMap<>();
    for (int w = 0; w < ways.size(); w++) {
      for (int c : ways.get(w).at.values()) {
        wayOf.put(c, w);
      }
    }
    int[] sorted = sorted(start);
    int[] own = new int[sorted.length];
    for (int i = 0; i < own.length; i++) {
      own[i] = wayOf.getOrDefault(sorted[i], -1);
    }
    boolean whole = core.addHint(own) && complaint(sorted).isEmpty();
    for (int c : sorted) {
      Integer w = wayOf.get(c);
      GridPlace at = c < 0 ? null : model.candidates().get(c).grid();
      if (w != null && at != null && ways.get(w).x >= 0) {
        Way way = ways.get(w);
        proto.getSolutionHintBuilder().addVars(way.x).addValues(at.x());
        proto.getSolutionHintBuilder().addVars(way.y).addValues(at.y());
      }
    }
    return whole;
  }

  /** A start with equal items in the order that {@link #order} wants; needless to be right. */
  private int[] sorted(int[] start) {
    int[] out = Arrays.copyOf(start, model.items().size());
    if (start.length < out.length) {
      Arrays.fill(out, start.length, out.length, -1);
    }
    for (int i = 0; i < out.length; i++) {
      int c = out[i];
      if (c < 0 || c >= model.candidates().size() || model.candidates().get(c).item() != i) {
        out[i] = -1;
      }
    }
    ItemClasses classes = ItemClasses.of(model);
    for (ItemClasses.ItemClass c : classes.all()) {
      List<Integer> placedAt =
          Arrays.stream(c.items())
              .filter(i -> out[i] >= 0)
              .map(i -> classes.wayOfCandidate(out[i]))
              .boxed()
              .sorted((a, b) -> Integer.compare(corner(c.ways()[a]), corner(c.ways()[b])))
              .toList();
      for (int i = 0; i < c.size(); i++) {
        out[c.items()[i]] = i < placedAt.size() ? c.copies()[i][placedAt.get(i)] : -1;
      }
    }
    return out;
  }

  /** The first cell: ascending with x + width × y on one grid. */
  private int corner(int candidate) {
    int[] cells = model.candidates().get(candidate).cells();
    return cells.length == 0 ? 0 : cells[0];
  }

  @Override
  public String complaint(int[] chosen) {
    long[] values;
    try {
      values = model.evaluate(chosen);
    } catch (InvalidInputException e) {
      return String.valueOf(e.getMessage());
    }
    return PlacementProgram.complaint(model, level, held, values);
  }
}
