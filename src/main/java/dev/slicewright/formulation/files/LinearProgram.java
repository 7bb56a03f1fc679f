package dev.slicewright.formulation.files;

import dev.slicewright.InvalidInputException;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Term;
import dev.slicewright.formulation.PlacementModel.Union;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.IntFunction;
import java.util.function.ToIntFunction;

/**
 * One level of a placement model as rows over 0/1 variables. Not changed once built.
 *
 * <p>A variable a candidate (these come first, in the model's order), and where a rule needs them:
 * {@code absent} for a group or gang that is not placed, {@code moved} for a group, {@code shape}
 * and {@code pod} for what the items of a group have in common, {@code touched} for a union. Every
 * one is tied to the candidates from both sides, so each solution of the model has exactly one
 * point here. The objective has no constant, since readers differ in how they take one from MPS.
 *
 * <p>Rows and held levels are divided by the greatest common divisor of their coefficients and left
 * out where they always hold.
 */
final class LinearProgram {

  /** The most coefficients in all rows. */
  static final int MAX_ENTRIES = 200_000_000;

  /** What a row's sum must be, with the letter of MPS and the sign of LP. */
  enum Sense {
    AT_MOST('L', "<="),
    AT_LEAST('G', ">="),
    EXACTLY('E', "=");

    final char letter;
    final String sign;

    Sense(char letter, String sign) {
      this.letter = letter;
      this.sign = sign;
    }
  }

  private final PlacementModel model;
  private final int level;
  private final Names names = new Names();

  final List<String> variables = new ArrayList<>();
  final List<String> rowNames = new ArrayList<>();
  final List<Sense> senses = new ArrayList<>();
  final Longs limits = new Longs();
  final Ints starts = new Ints(); // of each row, and the end
  final Ints columns = new Ints();
  final Longs coefficients = new Longs();
  final String objectiveName;
  final Ints objectiveColumns = new Ints();
  final Longs objective = new Longs();
  int leftOut;

  private final int[][] itemsOf; // by group
  private final int[][] candidatesOf; // by item
  private final int[] absent; // by group: variable, or -1 if it is placed or nothing asks
  private final boolean[] must; // by group
  private final int[][] moved; // by group: variables of which at most one is 1
  private long[] scratch = new long[0];

  LinearProgram(PlacementModel model, int level, long[] held, IntFunction<String> candidateNames) {
    this.model = model;
    this.level = level;
    this.itemsOf = byKey(model.items().size(), model.groups().size(), i -> group(i));
    this.candidatesOf =
        byKey(
            model.candidates().size(), model.items().size(), c -> model.candidates().get(c).item());
    this.absent = new int[model.groups().size()];
    this.must = new boolean[model.groups().size()];
    this.moved = new int[model.groups().size()][];
    for (int c = 0; c < model.candidates().size(); c++) {
      variables.add(names.of("x", candidateNames.apply(c)));
    }
    this.objectiveName = names.of("level", model.levels().get(level).name());
    absences();
    items();
    cells();
    ties();
    moves();
    Sum[] rows = sums(model.rows().size());
    Sum[] levels = sums(level + 1);
    collect(rows, levels);
    for (int r = 0; r < rows.length; r++) {
      String name = model.rows().get(r).name();
      limit("row", name, rows[r], model.rows().get(r).limit(), true);
    }
    for (int l = 0; l < level; l++) {
      boolean most = !model.levels().get(l).maximise();
      limit("held", model.levels().get(l).name(), levels[l], held[l], most);
    }
    merge(levels[level], objectiveColumns, objective);
    if (variables.isEmpty()) {
      variables.add(names.of("nothing", "to place"));
    }
    starts.add(columns.size());
  }

  int rows() {
    return rowNames.size();
  }

  private int group(int item) {
    return model.items().get(item).group();
  }

  private static int[][] byKey(int count, int keys, ToIntFunction<Integer> key) {
    int[] sizes = new int[keys];
    for (int i = 0; i < count; i++) {
      sizes[key.applyAsInt(i)]++;
    }
    int[][] out = new int[keys][];
    for (int k = 0; k < keys; k++) {
      out[k] = new int[sizes[k]];
    }
    for (int i = count - 1; i >= 0; i--) {
      int k = key.applyAsInt(i);
      out[k][--sizes[k]] = i;
    }
    return out;
  }

  // ---------------------------------------------------------------- rows of their own

  private void term(int variable, long coefficient) {
    if (columns.size() >= MAX_ENTRIES) {
      throw new InvalidInputException(
          "placement model",
          "",
          "expected at most "
              + MAX_ENTRIES
              + " coefficients in all rows; offer fewer candidates, or split the model");
    }
    columns.add(variable);
    coefficients.add(coefficient);
  }

  /** Begins a row; its terms follow. */
  private void row(String prefix, String name, Sense sense, long limit) {
    rowNames.add(names.of(prefix, name));
    senses.add(sense);
    limits.add(limit);
    starts.add(columns.size());
  }

  private int variable(String prefix, String name) {
    variables.add(names.of(prefix, name));
    return variables.size() - 1;
  }

  private String name(int group) {
    return model.groups().get(group).name();
  }

  private void absences() {
    boolean[] inUnion = new boolean[itemsOf.length];
    for (Union union : model.unions()) {
      for (int g : union.groups()) {
        inUnion[g] = true;
      }
    }
    Map<Integer, List<Integer>> gangs = new TreeMap<>();
    for (int g = 0; g < itemsOf.length; g++) {
      Group group = model.groups().get(g);
      absent[g] = -1;
      must[g] = group.mandatory();
      if (group.gang() >= 0) {
        gangs.computeIfAbsent(group.gang(), k -> new ArrayList<>()).add(g);
      } else if (!must[g]
          && itemsOf[g].length > 0
          && (itemsOf[g].length > 1
              || counts(group.absentGain())
              || group.running() && (inUnion[g] || !group.disturbedTerms().isEmpty()))) {
        absent[g] = variable("absent", name(g));
      }
    }
    for (Map.Entry<Integer, List<Integer>> gang : gangs.entrySet()) {
      List<Integer> members = gang.getValue();
      // A group without items counts as placed.
      boolean placed =
          members.stream()
              .anyMatch(g -> model.groups().get(g).mandatory() || itemsOf[g].length == 0);
      int one = placed ? -1 : variable("absent", "gang " + gang.getKey());
      for (int g : members) {
        must[g] = placed;
        absent[g] = one;
      }
    }
  }

  /** Whether gains matter for the level or an earlier one. */
  private boolean counts(long[] gains) {
    for (int l = 0; l <= level && l < gains.length; l++) {
      if (gains[l] != 0) {
        return true;
      }
    }
    return false;
  }

  private void items() {
    for (int i = 0; i < candidatesOf.length; i++) {
      int g = group(i);
      boolean exactly = must[g] || absent[g] >= 0;
      if (!exactly && candidatesOf[i].length == 0) {
        continue;
      }
      row("item", model.items().get(i).name(), exactly ? Sense.EXACTLY : Sense.AT_MOST, 1);
      for (int c : candidatesOf[i]) {
        term(c, 1);
      }
      if (absent[g] >= 0) {
        term(absent[g], 1);
      }
    }
  }

  private void cells() {
    int[] sizes = new int[model.cellCount()];
    for (Candidate c : model.candidates()) {
      for (int cell : c.cells()) {
        sizes[cell]++;
      }
    }
    int[][] users = new int[sizes.length][];
    for (int cell = 0; cell < sizes.length; cell++) {
      users[cell] = new int[sizes[cell]];
    }
    for (int c = model.candidates().size() - 1; c >= 0; c--) {
      for (int cell : model.candidates().get(c).cells()) {
        users[cell][--sizes[cell]] = c;
      }
    }
    Set<List<Integer>> small = new HashSet<>(); // equal rows: sought only among the short ones
    for (int cell = 0; cell < users.length; cell++) {
      int[] of = users[cell];
      boolean several = false;
      for (int c : of) {
        several |= model.candidates().get(c).item() != model.candidates().get(of[0]).item();
      }
      if (several && (of.length > 64 || small.add(Arrays.stream(of).boxed().toList()))) {
        row("cell", Integer.toString(cell), Sense.AT_MOST, 1);
        for (int c : of) {
          term(c, 1);
        }
      }
    }
  }

  private void ties() {
    for (int g = 0; g < itemsOf.length; g++) {
      if (itemsOf[g].length < 2) {
        continue;
      }
      Group group = model.groups().get(g);
      if (group.sameShape()) {
        agree(g, "shape", Candidate::shape);
      }
      if (group.samePod()) {
        agree(g, "pod", Candidate::pod);
      }
      if (group.differentPods()) {
        atMost(g, "apart", "pod", 1, Candidate::pod);
      }
      if (group.maxPerDomain() > 0) {
        atMost(g, "spread", "domain", group.maxPerDomain(), Candidate::domain);
      }
    }
  }

  private TreeSet<Integer> values(int g, ToIntFunction<Candidate> of) {
    TreeSet<Integer> values = new TreeSet<>();
    for (int i : itemsOf[g]) {
      for (int c : candidatesOf[i]) {
        values.add(of.applyAsInt(model.candidates().get(c)));
      }
    }
    return values;
  }

  private void agree(int g, String what, ToIntFunction<Candidate> of) {
    TreeSet<Integer> values = values(g, of);
    if (values.size() < 2) {
      return;
    }
    for (int value : values) {
      int common = variable(what, name(g) + " " + value);
      for (int i : itemsOf[g]) {
        row("same_" + what, model.items().get(i).name() + " " + value, Sense.EXACTLY, 0);
        for (int c : candidatesOf[i]) {
          if (of.applyAsInt(model.candidates().get(c)) == value) {
            term(c, 1);
          }
        }
        term(common, -1);
      }
    }
  }

  private void atMost(int g, String prefix, String what, int most, ToIntFunction<Candidate> of) {
    if (most >= itemsOf[g].length) {
      return;
    }
    Map<Integer, List<Integer>> byValue = new TreeMap<>();
    for (int i : itemsOf[g]) {
      for (int c : candidatesOf[i]) {
        byValue
            .computeIfAbsent(of.applyAsInt(model.candidates().get(c)), k -> new ArrayList<>())
            .add(c);
      }
    }
    byValue.forEach(
        (value, candidates) -> {
          row(prefix, name(g) + " " + what + " " + value, Sense.AT_MOST, most);
          candidates.forEach(c -> term(c, 1));
        });
  }

  private void moves() {
    boolean[] inUnion = new boolean[itemsOf.length];
    for (Union union : model.unions()) {
      for (int g : union.groups()) {
        inUnion[g] = true;
      }
    }
    for (int g = 0; g < itemsOf.length; g++) {
      Group group = model.groups().get(g);
      moved[g] = new int[0];
      if (!counts(group.movedGain()) && group.disturbedTerms().isEmpty() && !inUnion[g]) {
        continue;
      }
      List<int[]> moving = new ArrayList<>(); // of each item that has such
      for (int i : itemsOf[g]) {
        int[] of =
            Arrays.stream(candidatesOf[i]).filter(c -> model.candidates().get(c).moves()).toArray();
        if (of.length > 0) {
          moving.add(of);
        }
      }
      if (moving.size() == 1) {
        moved[g] = moving.get(0);
      } else if (moving.size() > 1) {
        moved[g] = new int[] {any("moved", name(g), moving)};
      }
    }
  }

  /** A variable that is 1 just if one of some sets has a 1; each set has at most one. */
  private int any(String prefix, String name, List<int[]> sets) {
    int any = variable(prefix, name);
    for (int[] set : sets) {
      row("if_" + prefix, name, Sense.AT_MOST, 0);
      for (int v : set) {
        term(v, 1);
      }
      term(any, -1);
    }
    row("only_if_" + prefix, name, Sense.AT_LEAST, 0);
    // Sets may share a variable, that of a gang; once is enough.
    sets.stream().flatMapToInt(Arrays::stream).distinct().forEach(v -> term(v, 1));
    term(any, -1);
    return any;
  }

  // ---------------------------------------------------------------- rows and levels

  /** A sum under way: variables may come more than once. */
  private static final class Sum {
    final Ints columns = new Ints();
    final Longs coefficients = new Longs();

    void add(int variable, long coefficient) {
      if (coefficient != 0) {
        columns.add(variable);
        coefficients.add(coefficient);
      }
    }
  }

  private static Sum[] sums(int count) {
    Sum[] sums = new Sum[count];
    Arrays.setAll(sums, i -> new Sum());
    return sums;
  }

  private static void gains(Sum[] levels, int variable, long[] gains) {
    for (int l = 0; l < levels.length && l < gains.length; l++) {
      levels[l].add(variable, gains[l]);
    }
  }

  private static void terms(Sum[] rows, int variable, List<Term> terms) {
    for (Term term : terms) {
      rows[term.row()].add(variable, term.coefficient());
    }
  }

  /** What says that a group is disturbed: variables of which at most one is 1. */
  private int[] disturbed(int g) {
    if (!model.groups().get(g).running() || absent[g] < 0) {
      return moved[g];
    }
    int[] of = Arrays.copyOf(moved[g], moved[g].length + 1);
    of[of.length - 1] = absent[g];
    return of;
  }

  private void collect(Sum[] rows, Sum[] levels) {
    for (int c = 0; c < model.candidates().size(); c++) {
      Candidate candidate = model.candidates().get(c);
      gains(levels, c, candidate.gains());
      terms(rows, c, candidate.terms());
    }
    for (int g = 0; g < itemsOf.length; g++) {
      Group group = model.groups().get(g);
      for (int v : moved[g]) {
        gains(levels, v, group.movedGain());
      }
      if (absent[g] >= 0) {
        gains(levels, absent[g], group.absentGain());
      }
      for (int v : disturbed(g)) {
        terms(rows, v, group.disturbedTerms());
      }
    }
    for (Union union : model.unions()) {
      List<int[]> sets =
          Arrays.stream(union.groups())
              .distinct()
              .mapToObj(this::disturbed)
              .filter(of -> of.length > 0)
              .toList();
      if (union.terms().isEmpty() || sets.isEmpty()) {
        continue;
      }
      int[] touched =
          sets.size() == 1 ? sets.get(0) : new int[] {any("touched", union.name(), sets)};
      for (int v : touched) {
        terms(rows, v, union.terms());
      }
    }
  }

  /** Adds up each variable's coefficients, in the order in which the variables first come. */
  private void merge(Sum sum, Ints intoColumns, Longs intoCoefficients) {
    if (scratch.length < variables.size()) {
      scratch = new long[variables.size()];
    }
    for (int k = 0; k < sum.columns.size(); k++) {
      int v = sum.columns.get(k);
      scratch[v] = Math.addExact(scratch[v], sum.coefficients.get(k));
    }
    for (int k = 0; k < sum.columns.size(); k++) {
      int v = sum.columns.get(k);
      if (scratch[v] != 0) {
        intoColumns.add(v);
        intoCoefficients.add(scratch[v]);
        scratch[v] = 0;
      }
    }
  }

  /** The row that a sum is at most, or at least, a value. */
  private void limit(String prefix, String name, Sum sum, long value, boolean most) {
    Ints of = new Ints();
    Longs by = new Longs();
    merge(sum, of, by);
    long low = 0;
    long high = 0;
    long divisor = 0;
    for (int k = 0; k < of.size(); k++) {
      long coefficient = by.get(k);
      low = Math.addExact(low, Math.min(0, coefficient));
      high = Math.addExact(high, Math.max(0, coefficient));
      divisor = gcd(divisor, Math.abs(coefficient));
    }
    if (most ? high <= value : low >= value) {
      leftOut++;
      return;
    }
    // A value far out of reach is as impossible as one just out of reach, and easier to read.
    long limit = most ? Math.max(value, low - 1) : Math.min(value, high + 1);
    if (divisor > 1) {
      limit = most ? Math.floorDiv(limit, divisor) : -Math.floorDiv(-limit, divisor);
    }
    row(prefix, name, most ? Sense.AT_MOST : Sense.AT_LEAST, limit);
    for (int k = 0; k < of.size(); k++) {
      term(of.get(k), by.get(k) / divisor);
    }
  }

  private static long gcd(long a, long b) {
    return b == 0 ? a : gcd(b, a % b);
  }

  // ---------------------------------------------------------------- lists of numbers

  /** A growing list of int. */
  static final class Ints {
    private int[] values = new int[16];
    private int size;

    void add(int value) {
      if (size == values.length) {
        values = Arrays.copyOf(values, 2 * size);
      }
      values[size++] = value;
    }

    int get(int index) {
      return values[index];
    }

    int size() {
      return size;
    }
  }

  /** A growing list of long. */
  static final class Longs {
    private long[] values = new long[16];
    private int size;

    void add(long value) {
      if (size == values.length) {
        values = Arrays.copyOf(values, 2 * size);
      }
      values[size++] = value;
    }

    long get(int index) {
      return values[index];
    }

    int size() {
      return size;
    }
  }
}
