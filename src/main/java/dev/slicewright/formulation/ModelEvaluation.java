package dev.slicewright.formulation;

import dev.slicewright.Problems;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Term;
import dev.slicewright.formulation.PlacementModel.Union;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Checks models and evaluates solutions straight from the definition; nothing here is fast. */
final class ModelEvaluation {

  private ModelEvaluation() {}

  static void check(PlacementModel m, Problems problems) {
    int levels = m.levels().size();
    if (levels == 0) {
      problems.add("levels", "expected one level or more");
    }
    if (m.cellCount() < 0) {
      problems.add("cellCount", "expected 0 or more, but was " + m.cellCount());
    }
    Magnitudes sums = new Magnitudes(levels, m.rows().size());
    for (int i = 0; i < m.items().size(); i++) {
      int group = m.items().get(i).group();
      if (group < 0 || group >= m.groups().size()) {
        problems.add("items[" + i + "].group", "there is no group " + group);
      }
    }
    for (int c = 0; c < m.candidates().size(); c++) {
      Candidate cand = m.candidates().get(c);
      String path = "candidates[" + c + "]";
      if (cand.item() < 0 || cand.item() >= m.items().size()) {
        problems.add(path + ".item", "there is no item " + cand.item());
      }
      int last = -1;
      for (int cell : cand.cells()) {
        if (cell <= last || cell >= m.cellCount()) {
          problems.add(path + ".cells", "expected ascending cells below " + m.cellCount());
          break;
        }
        last = cell;
      }
      if (cand.gains().length != levels) {
        problems.add(path + ".gains", "expected " + levels + ", but had " + cand.gains().length);
      } else {
        sums.gains(problems, path, cand.gains());
      }
      sums.terms(problems, path, cand.terms());
    }
    for (int g = 0; g < m.groups().size(); g++) {
      Group group = m.groups().get(g);
      String path = "groups[" + g + "]";
      for (long[] gains : List.of(group.movedGain(), group.absentGain())) {
        if (gains.length != 0 && gains.length != levels) {
          problems.add(path, "expected no gains or " + levels + ", but had " + gains.length);
        } else if (gains.length > 0) {
          sums.gains(problems, path, gains);
        }
      }
      sums.terms(problems, path, group.disturbedTerms());
      if (group.maxPerDomain() < 0) {
        problems.add(path + ".maxPerDomain", "expected 0 or more: " + group.maxPerDomain());
      }
    }
    for (Union union : m.unions()) {
      for (int g : union.groups()) {
        if (g < 0 || g >= m.groups().size()) {
          problems.add("unions", "there is no group " + g);
        }
      }
      sums.terms(problems, "unions", union.terms());
    }
  }

  /** Sums of magnitudes over all that could be chosen together, an upper bound. */
  private static final class Magnitudes {
    private final double[] levels;
    private final double[] rows;

    Magnitudes(int levels, int rows) {
      this.levels = new double[levels];
      this.rows = new double[rows];
    }

    void gains(Problems problems, String path, long[] gains) {
      for (int l = 0; l < gains.length; l++) {
        levels[l] += Math.abs((double) gains[l]);
        if (levels[l] >= PlacementModel.MAX_MAGNITUDE) {
          problems.add(path + ".gains", "the sum of level " + l + " may pass 2^62; scale it down");
          levels[l] = 0;
        }
      }
    }

    void terms(Problems problems, String path, List<Term> terms) {
      for (Term term : terms) {
        if (term.row() < 0 || term.row() >= rows.length) {
          problems.add(path + ".terms", "there is no row " + term.row());
          continue;
        }
        rows[term.row()] += Math.abs((double) term.coefficient());
        if (rows[term.row()] >= PlacementModel.MAX_MAGNITUDE) {
          problems.add(path + ".terms", "the sum of row " + term.row() + " may pass 2^62");
          rows[term.row()] = 0;
        }
      }
    }
  }

  static long[] evaluate(PlacementModel m, int[] chosen) {
    Problems problems = new Problems();
    if (chosen.length != m.items().size()) {
      problems.add("chosen", "expected " + m.items().size() + ", but had " + chosen.length);
      problems.throwIfAny("solution");
    }
    long[] values = new long[m.levels().size()];
    long[] sums = new long[m.rows().size()];
    int[] owner = new int[m.cellCount()];
    int groups = m.groups().size();
    int[] placed = new int[groups];
    int[] wanted = new int[groups];
    boolean[] moved = new boolean[groups];
    for (int i = 0; i < chosen.length; i++) {
      int g = m.items().get(i).group();
      wanted[g]++;
      if (chosen[i] < 0) {
        continue;
      }
      if (chosen[i] >= m.candidates().size()) {
        problems.add("chosen[" + i + "]", "there is no candidate " + chosen[i]);
        problems.throwIfAny("solution"); // nothing further can be read
      }
      Candidate c = m.candidates().get(chosen[i]);
      if (c.item() != i) {
        problems.add("chosen[" + i + "]", "candidate " + chosen[i] + " is of item " + c.item());
        continue;
      }
      placed[g]++;
      moved[g] |= c.moves();
      add(values, c.gains());
      add(sums, c.terms());
      for (int cell : c.cells()) {
        if (owner[cell] != 0) {
          problems.add(
              "chosen[" + i + "]", "cell " + cell + " is taken by item " + (owner[cell] - 1));
        }
        owner[cell] = i + 1;
      }
    }
    boolean[] disturbed = new boolean[groups];
    Map<Integer, Boolean> gangs = new HashMap<>();
    for (int g = 0; g < groups; g++) {
      Group group = m.groups().get(g);
      String path = "groups[" + g + "]";
      boolean all = placed[g] == wanted[g];
      boolean none = placed[g] == 0 && wanted[g] > 0;
      if (!all && !none) {
        problems.add(path, placed[g] + " of " + wanted[g] + " items are placed");
      }
      if (none && group.mandatory()) {
        problems.add(path, "is mandatory, but is not placed");
      }
      if (group.gang() >= 0) {
        Boolean first = gangs.putIfAbsent(group.gang(), none);
        if (first != null && first != none) {
          problems.add(path, "gang " + group.gang() + " is placed in part");
        }
      }
      disturbed[g] = moved[g] || none && group.running();
      if (moved[g]) {
        add(values, group.movedGain());
      }
      if (none) {
        add(values, group.absentGain());
      }
      if (disturbed[g]) {
        add(sums, group.disturbedTerms());
      }
    }
    ties(m, chosen, problems);
    for (Union union : m.unions()) {
      for (int g : union.groups()) {
        if (disturbed[g]) {
          add(sums, union.terms());
          break;
        }
      }
    }
    for (int r = 0; r < sums.length; r++) {
      if (sums[r] > m.rows().get(r).limit()) {
        problems.add("rows[" + r + "]", sums[r] + " exceeds " + m.rows().get(r).limit());
      }
    }
    problems.throwIfAny("solution");
    return values;
  }

  private static void ties(PlacementModel m, int[] chosen, Problems problems) {
    Map<Integer, Integer> shape = new HashMap<>();
    Map<Integer, Set<Integer>> pods = new HashMap<>();
    Map<List<Integer>, Integer> perDomain = new HashMap<>();
    for (int i = 0; i < chosen.length; i++) {
      if (chosen[i] < 0) {
        continue;
      }
      Candidate c = m.candidates().get(chosen[i]);
      int g = m.items().get(i).group();
      Group group = m.groups().get(g);
      String path = "groups[" + g + "]";
      Integer seen = shape.putIfAbsent(g, c.shape());
      if (group.sameShape() && seen != null && seen != c.shape()) {
        problems.add(path, "its items have different shapes");
      }
      Set<Integer> used = pods.computeIfAbsent(g, k -> new HashSet<>());
      boolean fresh = used.add(c.pod());
      if (group.samePod() && used.size() > 1) {
        problems.add(path, "its items lie in different pods");
      }
      if (group.differentPods() && !fresh) {
        problems.add(path, "two of its items lie in pod " + c.pod());
      }
      int n = perDomain.merge(List.of(g, c.domain()), 1, Integer::sum);
      if (group.maxPerDomain() > 0 && n > group.maxPerDomain()) {
        problems.add(path, n + " of its items lie in domain " + c.domain());
      }
    }
  }

  private static void add(long[] into, long[] gains) {
    for (int l = 0; l < gains.length; l++) {
      into[l] += gains[l];
    }
  }

  private static void add(long[] into, List<Term> terms) {
    for (Term term : terms) {
      into[term.row()] += term.coefficient();
    }
  }
}
