package dev.slicewright.formulation.ortools;

import dev.slicewright.InvalidInputException;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Term;
import dev.slicewright.formulation.PlacementModel.Union;
import dev.slicewright.formulation.ortools.ItemClasses.ItemClass;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.IntToLongFunction;
import java.util.function.IntUnaryOperator;
import java.util.function.ToIntFunction;

/**
 * One level of a {@link PlacementModel} as an integer program, handed row by row to the subclass
 * that writes it for its solver. Confined to one thread at a time.
 *
 * <p>For each {@linkplain ItemClasses class of items} and each of its ways there is one variable
 * that counts the items placed so: a Boolean if the way takes cells, else up to the size of the
 * class. An <i>absence</i> variable per gang, tied group or class completes the counts, so that no
 * constraint needs an enforcement literal. Further Booleans: a group is moved; a group has a shape
 * or pod; a union is touched. Where two variables must agree in one direction only, only that one
 * is written.
 *
 * <p>The objective is minimised, divided by the greatest common divisor of its coefficients; so are
 * all rows. Coefficients are summed exactly, and the sum of magnitudes of every row and of the
 * objective must stay below {@link #MAX_SUM}.
 */
abstract class PlacementProgram {

  /**
   * What |coefficient| times the largest value of its variable may sum to, in each row and the
   * objective, after division by the common divisor: 2^60 at most. CP-SAT refuses sums beyond 2^62.
   */
  static final long MAX_SUM = 1L << 60;

  private final PlacementModel model;
  private final int level;
  private final long[] held;
  private final ItemClasses classes;

  private final long maxSum;
  private long literals;

  private int[] upper = new int[64];
  private int variables;

  /** The first variable of each class; its ways follow. */
  private final int[] firstOfClass;

  private final Sum[] rows;
  private final Sum[] levels;
  private final List<Derived> derived = new ArrayList<>();
  private long objectiveDivisor = 1;
  private int droppedCellRows;
  private boolean hasObjective;

  /** What a row of the program stands for. */
  enum Kind {
    /** At most one way on a cell. */
    CELL,
    /** A row of the model. */
    ROW,
    /** An earlier level. */
    LEVEL,
    /** Counts of items, and what ties groups. */
    TIE
  }

  /**
   * Where a row comes from.
   *
   * @param kind what it stands for
   * @param index the cell, row or level; 0 for ties
   * @param divisor by what its coefficients were divided
   */
  record Origin(Kind kind, int index, long divisor) {}

  private static final Origin TIE = new Origin(Kind.TIE, 0, 1);

  /** How a variable that a solution does not name follows from those that came before. */
  private record Derived(int variable, Kind kind, int size, int[] sources) {
    enum Kind {
      /** {@code size} less the sum of the sources. */
      REST,
      /** 1 if all sources are 0. */
      NONE,
      /** 1 if a source is not 0; negated sources count as literals. */
      ANY
    }
  }

  /**
   * Prepares; {@link #build()} builds.
   *
   * @param maxSum what magnitudes may sum to, at most {@link #MAX_SUM}
   */
  PlacementProgram(PlacementModel model, ItemClasses classes, int level, long[] held, long maxSum) {
    this.model = model;
    this.level = level;
    this.held = held;
    this.classes = classes;
    this.maxSum = maxSum;
    this.rows = sums(model.rows().size());
    this.levels = sums(level + 1);
    this.firstOfClass = new int[classes.all().size()];
  }

  // ---- what the subclass writes ----------------------------------------------------------------

  /** Σ coefficient × variable lies between the two numbers. */
  abstract void writeLinear(
      int[] variables, long[] coefficients, int size, long min, long max, Origin origin);

  abstract void writeAtMostOne(int[] variables, Origin origin);

  abstract void writeExactlyOne(int[] variables, Origin origin);

  /** At least one is true; a negated variable x is -x - 1. */
  abstract void writeOr(int[] literals, Origin origin);

  /** The objective, to be minimised; not called where it is 0. */
  abstract void writeObjective(int[] variables, long[] coefficients, int size);

  /** The variables, integers from 0; called last. */
  abstract void writeVariables(int[] upper, int count);

  // ---- building --------------------------------------------------------------------------------

  /**
   * Builds, once. O(n log n) for n cells, gains and terms in the candidates, and the check for
   * contained cell rows, which is O(rows × cells of a candidate × literals of a row) at worst.
   *
   * @throws ArithmeticException if a sum of magnitudes passes the limit
   */
  final void build() {
    waysAndCells();
    Map<Integer, Integer> absence = tiedGroups();
    Map<Integer, Integer> moved = moves();
    unions(absence, moved);
    closeRows();
    writeVariables(upper, variables);
  }

  int variables() {
    return variables;
  }

  /** Literals and terms in all constraints. */
  long literals() {
    return literals;
  }

  /** Cell rows that others imply. */
  int droppedCellRows() {
    return droppedCellRows;
  }

  /**
   * A cell for each variable that counts several items on a way that takes cells: its row, though
   * it may have been left out, is what keeps the variable at 1. Else -1.
   */
  int[] cellsBehindBounds() {
    int[] out = new int[variables];
    Arrays.fill(out, -1);
    for (int k = 0; k < firstOfClass.length; k++) {
      ItemClass c = classes.all().get(k);
      for (int w = 0; c.size() > 1 && w < c.ways().length; w++) {
        int[] cells = model.candidates().get(c.ways()[w]).cells();
        out[firstOfClass[k] + w] = cells.length == 0 ? -1 : cells[0];
      }
    }
    return out;
  }

  long objectiveDivisor() {
    return objectiveDivisor;
  }

  /** A bound of the level from a lower bound of the minimised, divided objective. */
  long boundOfLevel(long innerLowerBound) {
    long bound = Math.multiplyExact(innerLowerBound, objectiveDivisor);
    return model.levels().get(level).maximise() ? Math.negateExact(bound) : bound;
  }

  boolean hasObjective() {
    return hasObjective;
  }

  /** The solution in terms of items. */
  int[] chosen(IntToLongFunction value) {
    int[] chosen = new int[model.items().size()];
    Arrays.fill(chosen, -1);
    for (int k = 0; k < firstOfClass.length; k++) {
      ItemClass c = classes.all().get(k);
      int next = 0;
      for (int way = 0; way < c.ways().length; way++) {
        long count = value.applyAsLong(firstOfClass[k] + way);
        for (long n = 0; n < count && next < c.size(); n++, next++) {
          chosen[c.items()[next]] = c.copies()[next][way];
        }
      }
    }
    return chosen;
  }

  /**
   * A solution as values of the variables: of all if it is one, else of the ways that can be read
   * of it. None if it places nothing: hinting that kept CP-SAT from finding anything better.
   *
   * @param start for each item a candidate or -1; anything else is left out
   */
  Optional<Hint> hint(int[] start) {
    boolean complete = isSolution(start);
    long[] values = new long[variables];
    boolean any = false;
    for (int i = 0; i < Math.min(start.length, model.items().size()); i++) {
      int c = start[i];
      if (c < 0 || c >= model.candidates().size() || model.candidates().get(c).item() != i) {
        continue;
      }
      int variable = firstOfClass[classes.classOfItem(i)] + classes.wayOfCandidate(c);
      if (values[variable] < upper[variable]) {
        values[variable]++;
        any = true;
      }
    }
    if (!any) {
      return Optional.empty();
    }
    if (complete) {
      derived.forEach(d -> values[d.variable()] = value(d, values));
      return Optional.of(new Hint(values, true));
    }
    return Optional.of(new Hint(Arrays.copyOf(values, waysEnd()), false));
  }

  /**
   * Where to start from.
   *
   * @param values of the variables, from the first on
   * @param complete whether it is a solution that keeps the held values
   */
  record Hint(long[] values, boolean complete) {}

  /** Why a solution breaks the model or the held values, or empty. */
  String complaint(int[] chosen) {
    long[] values;
    try {
      values = model.evaluate(chosen);
    } catch (InvalidInputException e) {
      return String.valueOf(e.getMessage());
    }
    for (int l = 0; l < level; l++) {
      boolean maximise = model.levels().get(l).maximise();
      if (maximise ? values[l] < held[l] : values[l] > held[l]) {
        return "level " + l + " was to be held at " + held[l] + ", but is " + values[l];
      }
    }
    return "";
  }

  private boolean isSolution(int[] start) {
    for (int c : start) {
      if (c < -1 || c >= model.candidates().size()) {
        return false;
      }
    }
    return complaint(start).isEmpty();
  }

  private static long value(Derived d, long[] values) {
    long sum = 0;
    for (int source : d.sources()) {
      sum += source >= 0 ? values[source] : 1 - values[-source - 1];
    }
    return switch (d.kind()) {
      case REST -> d.size() - sum;
      case NONE -> sum == 0 ? 1 : 0;
      case ANY -> sum > 0 ? 1 : 0;
    };
  }

  // ---- variables -------------------------------------------------------------------------------

  private int newVariable(int max) {
    if (variables == upper.length) {
      upper = Arrays.copyOf(upper, 2 * variables);
    }
    upper[variables] = max;
    return variables++;
  }

  private int waysEnd() {
    int last = firstOfClass.length - 1;
    return firstOfClass[last] + classes.all().get(last).ways().length;
  }

  /** Variables of all ways, their gains and terms, the loose classes' counts, the cell rows. */
  private void waysAndCells() {
    for (int k = 0; k < firstOfClass.length; k++) {
      ItemClass c = classes.all().get(k);
      Group group = model.groups().get(c.group());
      firstOfClass[k] = variables;
      int cap = c.size();
      if (!c.loose() && group.differentPods()) {
        cap = 1;
      } else if (!c.loose() && group.maxPerDomain() > 0) {
        cap = Math.min(cap, group.maxPerDomain());
      }
      for (int way : c.ways()) {
        Candidate candidate = model.candidates().get(way);
        int x = newVariable(candidate.cells().length > 0 ? 1 : cap);
        gains(x, candidate.gains());
        terms(x, candidate.terms());
        if (c.loose() && candidate.moves()) {
          gains(x, group.movedGain());
          terms(x, group.disturbedTerms());
        }
      }
    }
    for (int k = 0; k < firstOfClass.length; k++) {
      ItemClass c = classes.all().get(k);
      if (c.loose()) {
        looseCount(c, ways(k), model.groups().get(c.group()));
      }
    }
    cells();
  }

  private int[] ways(int k) {
    int[] ways = new int[classes.all().get(k).ways().length];
    Arrays.setAll(ways, w -> firstOfClass[k] + w);
    return ways;
  }

  private void looseCount(ItemClass c, int[] ways, Group group) {
    boolean absenceCounts =
        counts(group.absentGain()) || group.running() && !group.disturbedTerms().isEmpty();
    if (group.mandatory()) {
      count(ways, c.size(), true);
    } else if (absenceCounts) {
      int absent = newVariable(c.size());
      derived.add(new Derived(absent, Derived.Kind.REST, c.size(), ways));
      gains(absent, group.absentGain());
      if (group.running()) {
        terms(absent, group.disturbedTerms());
      }
      count(append(ways, absent), c.size(), true);
    } else {
      count(ways, c.size(), false);
    }
  }

  /** Whether gains count at a level that this program has. */
  private boolean counts(long[] gains) {
    for (int l = 0; l < Math.min(gains.length, level + 1); l++) {
      if (gains[l] != 0) {
        return true;
      }
    }
    return false;
  }

  private void gains(int variable, long[] gains) {
    for (int l = 0; l < Math.min(gains.length, level + 1); l++) {
      levels[l].add(variable, gains[l]);
    }
  }

  private void terms(int variable, List<Term> terms) {
    for (Term term : terms) {
      rows[term.row()].add(variable, term.coefficient());
    }
  }

  // ---- cells -----------------------------------------------------------------------------------

  /** At most one way on each cell; rows that another row implies are left out. */
  private void cells() {
    int[] sizes = new int[model.cellCount()];
    forEachCell((variable, cell) -> sizes[cell]++);
    int[][] byCell = new int[sizes.length][];
    for (int cell = 0; cell < sizes.length; cell++) {
      byCell[cell] = new int[sizes[cell]];
      sizes[cell] = 0;
    }
    forEachCell((variable, cell) -> byCell[cell][sizes[cell]++] = variable);

    int[][] cellsOf = new int[variables][];
    int[] classOf = new int[variables];
    for (int k = 0; k < firstOfClass.length; k++) {
      int[] ways = classes.all().get(k).ways();
      for (int w = 0; w < ways.length; w++) {
        cellsOf[firstOfClass[k] + w] = model.candidates().get(ways[w]).cells();
        classOf[firstOfClass[k] + w] = k;
      }
    }
    Set<IntKey> seen = new HashSet<>();
    for (int cell = 0; cell < byCell.length; cell++) {
      int[] row = byCell[cell];
      if (row.length < 2) {
        continue;
      }
      int k = classOf[row[0]];
      boolean implied =
          classes.all().get(k).size() == 1 && classOf[row[row.length - 1]] == k // ascending
              || !seen.add(new IntKey(row))
              || isContained(row, byCell, cellsOf);
      if (implied) {
        droppedCellRows++;
      } else {
        atMostOne(row, new Origin(Kind.CELL, cell, 1));
      }
    }
  }

  private interface CellVisitor {
    void visit(int variable, int cell);
  }

  private void forEachCell(CellVisitor visitor) {
    for (int k = 0; k < firstOfClass.length; k++) {
      int[] ways = classes.all().get(k).ways();
      for (int w = 0; w < ways.length; w++) {
        for (int cell : model.candidates().get(ways[w]).cells()) {
          visitor.visit(firstOfClass[k] + w, cell);
        }
      }
    }
  }

  /** Whether the row of another cell has all of these variables and more. */
  private static boolean isContained(int[] row, int[][] byCell, int[][] cellsOf) {
    int rarest = row[0];
    for (int variable : row) {
      if (cellsOf[variable].length < cellsOf[rarest].length) {
        rarest = variable;
      }
    }
    for (int cell : cellsOf[rarest]) {
      if (byCell[cell].length > row.length) {
        boolean all = true;
        for (int variable : row) {
          if (Arrays.binarySearch(cellsOf[variable], cell) < 0) {
            all = false;
            break;
          }
        }
        if (all) {
          return true;
        }
      }
    }
    return false;
  }

  // ---- groups ----------------------------------------------------------------------------------

  /**
   * All or none, and what ties the items of a group.
   *
   * @return the absence variable of each tied group that has items
   */
  private Map<Integer, Integer> tiedGroups() {
    Map<Integer, List<Integer>> classesOf = new LinkedHashMap<>();
    for (int k = 0; k < firstOfClass.length; k++) {
      if (!classes.all().get(k).loose()) {
        classesOf.computeIfAbsent(classes.all().get(k).group(), g -> new ArrayList<>()).add(k);
      }
    }
    int[] itemsOf = new int[model.groups().size()];
    model.items().forEach(item -> itemsOf[item.group()]++);

    Map<Integer, Integer> ofGang = new HashMap<>();
    Map<Integer, Integer> ofGroup = new LinkedHashMap<>();
    for (Map.Entry<Integer, List<Integer>> entry : classesOf.entrySet()) {
      Group group = model.groups().get(entry.getKey());
      List<Integer> ks = entry.getValue();
      int[] all = ks.stream().flatMapToInt(k -> Arrays.stream(ways(k))).toArray();
      Integer known = group.gang() >= 0 ? ofGang.get(group.gang()) : null;
      int absent;
      if (known == null) {
        absent = newVariable(1);
        derived.add(new Derived(absent, Derived.Kind.NONE, 0, all));
        if (group.gang() >= 0) {
          ofGang.put(group.gang(), absent);
        }
      } else {
        absent = known;
      }
      ofGroup.put(entry.getKey(), absent);
      gains(absent, group.absentGain());
      if (group.running()) {
        terms(absent, group.disturbedTerms());
      }
      for (int k : ks) {
        int size = classes.all().get(k).size();
        if (size == 1) {
          exactlyOne(append(ways(k), absent));
        } else {
          Sum sum = new Sum();
          Arrays.stream(ways(k)).forEach(x -> sum.add(x, 1));
          sum.add(absent, size);
          linear(sum, size, size);
        }
      }
      if (itemsOf[entry.getKey()] > 1) {
        ties(group, ks, all, absent);
      }
    }
    // Absent is out of the question for mandatory groups, and for gangs with a group without items.
    for (int g = 0; g < itemsOf.length; g++) {
      Group group = model.groups().get(g);
      Integer absent = ofGroup.get(g);
      if (absent != null && group.mandatory()) {
        upper[absent] = 0;
      }
      Integer ofThisGang = itemsOf[g] == 0 && group.gang() >= 0 ? ofGang.get(group.gang()) : null;
      if (ofThisGang != null) {
        upper[ofThisGang] = 0;
      }
    }
    return ofGroup;
  }

  private void ties(Group group, List<Integer> ks, int[] all, int absent) {
    if (group.sameShape()) {
      agree(ks, absent, Candidate::shape);
    }
    if (group.samePod()) {
      agree(ks, absent, Candidate::pod);
    }
    IntUnaryOperator pod = x -> candidateOf(x, ks).pod();
    IntUnaryOperator domain = x -> candidateOf(x, ks).domain();
    if (group.differentPods()) {
      split(all, pod).forEach(xs -> count(xs, 1, false));
    }
    if (group.maxPerDomain() > 0) {
      split(all, domain).forEach(xs -> count(xs, group.maxPerDomain(), false));
    }
  }

  private Candidate candidateOf(int x, List<Integer> ks) {
    for (int k : ks) {
      int way = x - firstOfClass[k];
      if (way >= 0 && way < classes.all().get(k).ways().length) {
        return model.candidates().get(classes.all().get(k).ways()[way]);
      }
    }
    throw new IllegalStateException("Variable " + x + " is no way of these classes.");
  }

  private static List<int[]> split(int[] xs, IntUnaryOperator by) {
    Map<Integer, List<Integer>> parts = new LinkedHashMap<>();
    for (int x : xs) {
      parts.computeIfAbsent(by.applyAsInt(x), p -> new ArrayList<>()).add(x);
    }
    return parts.values().stream()
        .map(part -> part.stream().mapToInt(Integer::intValue).toArray())
        .toList();
  }

  /** One Boolean per property; each class takes all its items from the one that is true. */
  private void agree(List<Integer> ks, int absent, ToIntFunction<Candidate> property) {
    Map<Integer, List<Integer>> withProperty = new LinkedHashMap<>();
    for (int k : ks) {
      for (int way : classes.all().get(k).ways()) {
        withProperty.putIfAbsent(
            property.applyAsInt(model.candidates().get(way)), new ArrayList<>());
      }
    }
    if (withProperty.size() < 2) {
      return;
    }
    List<Integer> indicators = new ArrayList<>();
    withProperty.forEach(
        (value, unused) -> {
          int has = newVariable(1);
          indicators.add(has);
          List<Integer> sources = new ArrayList<>();
          for (int k : ks) {
            ItemClass c = classes.all().get(k);
            Sum sum = new Sum();
            for (int w = 0; w < c.ways().length; w++) {
              if (property.applyAsInt(model.candidates().get(c.ways()[w])) == value) {
                sum.add(firstOfClass[k] + w, 1);
                sources.add(firstOfClass[k] + w);
              }
            }
            sum.add(has, -c.size());
            linear(sum, 0, 0);
          }
          derived.add(new Derived(has, Derived.Kind.ANY, 0, ints(sources)));
        });
    exactlyOne(append(ints(indicators), absent));
  }

  /**
   * A Boolean for each tied group whose move counts.
   *
   * @return by group
   */
  private Map<Integer, Integer> moves() {
    boolean[] inUnion = new boolean[model.groups().size()];
    for (Union union : model.unions()) {
      for (int g : union.groups()) {
        inUnion[g] = true;
      }
    }
    Map<Integer, List<Integer>> movers = new LinkedHashMap<>();
    for (int k = 0; k < firstOfClass.length; k++) {
      ItemClass c = classes.all().get(k);
      Group group = model.groups().get(c.group());
      boolean matters =
          !c.loose()
              && (inUnion[c.group()]
                  || counts(group.movedGain())
                  || !group.disturbedTerms().isEmpty());
      for (int w = 0; matters && w < c.ways().length; w++) {
        if (model.candidates().get(c.ways()[w]).moves()) {
          movers.computeIfAbsent(c.group(), g -> new ArrayList<>()).add(firstOfClass[k] + w);
        }
      }
    }
    Map<Integer, Integer> moved = new HashMap<>();
    movers.forEach(
        (g, list) -> {
          int[] xs = ints(list);
          int m = newVariable(1);
          moved.put(g, m);
          derived.add(new Derived(m, Derived.Kind.ANY, 0, xs));
          gains(m, model.groups().get(g).movedGain());
          terms(m, model.groups().get(g).disturbedTerms());
          Sum sum = new Sum();
          sum.add(m, 1);
          for (int x : xs) {
            sum.add(x, -1);
            if (upper[x] == 1) {
              boolOr(new int[] {not(x), m});
            } else {
              Sum forces = new Sum();
              forces.add(x, 1);
              forces.add(m, -upper[x]);
              linear(forces, -upper[x], 0);
            }
          }
          linear(sum, sum.min(upper), 0);
        });
    return moved;
  }

  private void unions(Map<Integer, Integer> absence, Map<Integer, Integer> moved) {
    for (Union union : model.unions()) {
      List<Integer> literalsOfUnion = new ArrayList<>();
      for (int g : Arrays.stream(union.groups()).distinct().toArray()) {
        Integer m = moved.get(g);
        if (m != null) {
          literalsOfUnion.add(m);
        }
        Integer absent = absence.get(g);
        if (absent != null && model.groups().get(g).running()) {
          literalsOfUnion.add(absent);
        }
      }
      Map<Integer, Long> terms = ItemClasses.sum(union.terms());
      if (literalsOfUnion.isEmpty() || terms.isEmpty()) {
        continue;
      }
      int[] any = ints(literalsOfUnion);
      int touched = newVariable(1);
      derived.add(new Derived(touched, Derived.Kind.ANY, 0, any));
      terms(touched, union.terms());
      for (int literal : any) {
        boolOr(new int[] {not(literal), touched});
      }
      if (terms.values().stream().anyMatch(value -> value < 0)) {
        boolOr(append(any, not(touched)));
      }
    }
  }

  // ---- rows and the objective ------------------------------------------------------------------

  private void closeRows() {
    for (int r = 0; r < rows.length; r++) {
      String name = "row " + r + " (" + model.rows().get(r).name() + ")";
      atMost(rows[r], model.rows().get(r).limit(), name, Kind.ROW, r);
    }
    for (int l = 0; l < level; l++) {
      String name = "level " + l + " (" + model.levels().get(l).name() + ")";
      if (model.levels().get(l).maximise()) {
        if (held[l] == Long.MIN_VALUE) {
          continue; // holds nothing, and has no negative
        }
        levels[l].negate();
        atMost(levels[l], -held[l], name, Kind.LEVEL, l);
      } else {
        atMost(levels[l], held[l], name, Kind.LEVEL, l);
      }
    }
    Sum objective = levels[level];
    if (model.levels().get(level).maximise()) {
      objective.negate();
    }
    objectiveDivisor = objective.divide();
    objective.check(
        upper, maxSum, "level " + level + " (" + model.levels().get(level).name() + ")");
    if (objective.size > 0) {
      hasObjective = true;
      writeObjective(objective.variables, objective.coefficients, objective.size);
      literals += objective.size;
    }
  }

  private void atMost(Sum sum, long limit, String name, Kind kind, int index) {
    long divisor = sum.divide();
    long scaled = Math.floorDiv(limit, divisor);
    sum.check(upper, maxSum, name);
    long min = sum.min(upper);
    if (scaled < min) {
      linear(new Sum(), 1, 1, TIE); // 0 = 1
    } else if (scaled < sum.max(upper)) {
      linear(sum, min, scaled, new Origin(kind, index, divisor));
    }
  }

  /** The count of some ways is a number, or at most that. */
  private void count(int[] xs, int number, boolean exactly) {
    boolean booleans = Arrays.stream(xs).allMatch(x -> upper[x] <= 1);
    if (number == 1 && booleans) {
      if (exactly) {
        exactlyOne(xs);
      } else {
        atMostOne(xs, TIE);
      }
      return;
    }
    Sum sum = new Sum();
    for (int x : xs) {
      sum.add(x, 1);
    }
    if (exactly || sum.max(upper) > number) {
      linear(sum, exactly ? number : 0, number);
    }
  }

  private void linear(Sum sum, long min, long max) {
    linear(sum, min, max, TIE);
  }

  private void linear(Sum sum, long min, long max, Origin origin) {
    literals += sum.size;
    writeLinear(sum.variables, sum.coefficients, sum.size, min, max, origin);
  }

  private void atMostOne(int[] xs, Origin origin) {
    if (xs.length > 1) {
      literals += xs.length;
      writeAtMostOne(xs, origin);
    }
  }

  private void exactlyOne(int[] xs) {
    literals += xs.length;
    writeExactlyOne(xs, TIE);
  }

  private void boolOr(int[] xs) {
    literals += xs.length;
    writeOr(xs, TIE);
  }

  private static int not(int literal) {
    return -literal - 1;
  }

  private static int[] append(int[] xs, int x) {
    int[] longer = Arrays.copyOf(xs, xs.length + 1);
    longer[xs.length] = x;
    return longer;
  }

  private static int[] ints(List<Integer> list) {
    return list.stream().mapToInt(Integer::intValue).toArray();
  }

  private static Sum[] sums(int count) {
    Sum[] sums = new Sum[count];
    Arrays.setAll(sums, i -> new Sum());
    return sums;
  }

  private record IntKey(int[] values) {
    @Override
    public boolean equals(Object other) {
      return other instanceof IntKey that && Arrays.equals(values, that.values);
    }

    @Override
    public int hashCode() {
      return Arrays.hashCode(values);
    }
  }

  /** A linear sum over variables, exact. */
  private static final class Sum {
    private int[] variables = new int[8];
    private long[] coefficients = new long[8];
    private int size;

    void add(int variable, long coefficient) {
      if (coefficient == 0) {
        return;
      }
      if (size > 0 && variables[size - 1] == variable) {
        coefficients[size - 1] = Math.addExact(coefficients[size - 1], coefficient);
        return;
      }
      if (size == variables.length) {
        variables = Arrays.copyOf(variables, 2 * size);
        coefficients = Arrays.copyOf(coefficients, 2 * size);
      }
      variables[size] = variable;
      coefficients[size++] = coefficient;
    }

    /** Each variable once, ascending. The absence of a gang may have been added several times. */
    private void merge() {
      for (int i = 1; i < size; i++) {
        if (variables[i] <= variables[i - 1]) {
          Map<Integer, Long> merged = new TreeMap<>();
          for (int j = 0; j < size; j++) {
            merged.merge(variables[j], coefficients[j], Math::addExact);
          }
          size = 0;
          merged.forEach(this::add);
          return;
        }
      }
    }

    void negate() {
      for (int i = 0; i < size; i++) {
        coefficients[i] = Math.negateExact(coefficients[i]);
      }
    }

    /** Divides by the common divisor, which is returned; drops zeros. */
    long divide() {
      merge();
      long divisor = 0;
      int kept = 0;
      for (int i = 0; i < size; i++) {
        if (coefficients[i] != 0) {
          variables[kept] = variables[i];
          coefficients[kept++] = coefficients[i];
          divisor = gcd(divisor, Math.absExact(coefficients[i]));
        }
      }
      size = kept;
      if (divisor <= 1) {
        return 1;
      }
      for (int i = 0; i < size; i++) {
        coefficients[i] /= divisor;
      }
      return divisor;
    }

    void check(int[] upper, long maxSum, String name) {
      long sum = 0;
      for (int i = 0; i < size; i++) {
        long part = 0;
        try {
          part = Math.multiplyExact(Math.absExact(coefficients[i]), (long) upper[variables[i]]);
          sum = Math.addExact(sum, part);
        } catch (ArithmeticException e) {
          sum = Long.MAX_VALUE;
          break;
        }
        if (sum >= maxSum) {
          break;
        }
      }
      if (sum >= maxSum) {
        throw new ArithmeticException(
            "Expected magnitudes that sum to less than 2^"
                + (63 - Long.numberOfLeadingZeros(maxSum))
                + " in "
                + name
                + ", but they pass it; scale its coefficients down.");
      }
    }

    long min(int[] upper) {
      long sum = 0;
      for (int i = 0; i < size; i++) {
        if (coefficients[i] < 0) {
          sum = Math.addExact(sum, Math.multiplyExact(coefficients[i], (long) upper[variables[i]]));
        }
      }
      return sum;
    }

    long max(int[] upper) {
      long sum = 0;
      for (int i = 0; i < size; i++) {
        if (coefficients[i] > 0) {
          sum = Math.addExact(sum, Math.multiplyExact(coefficients[i], (long) upper[variables[i]]));
        }
      }
      return sum;
    }

    private static long gcd(long a, long b) {
      while (b != 0) {
        long rest = a % b;
        a = b;
        b = rest;
      }
      return a;
    }
  }
}
