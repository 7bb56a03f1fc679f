package dev.slicewright.formulation.conformance;

import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Term;
import dev.slicewright.formulation.PlacementModel.Union;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * All solutions of a small model, read straight from the Javadoc of {@link PlacementModel} and not
 * from its code. O(product of (candidates + 1) over the items).
 */
public final class ModelBruteForce {

  private final PlacementModel model;
  private final List<List<Integer>> candidatesOf = new ArrayList<>();
  private final List<List<Integer>> itemsOf = new ArrayList<>();
  private final int[] chosen;
  private final boolean[] taken;

  /** One solution for each vector of values that some solution has. */
  private final Map<List<Long>, int[]> solutions = new LinkedHashMap<>();

  private ModelBruteForce(PlacementModel model) {
    this.model = model;
    this.chosen = new int[model.items().size()];
    this.taken = new boolean[model.cellCount()];
    model.groups().forEach(g -> itemsOf.add(new ArrayList<>()));
    for (int i = 0; i < chosen.length; i++) {
      candidatesOf.add(new ArrayList<>());
      itemsOf.get(model.items().get(i).group()).add(i);
    }
    for (int c = 0; c < model.candidates().size(); c++) {
      candidatesOf.get(model.candidates().get(c).item()).add(c);
    }
    recurse(0);
  }

  public static ModelBruteForce of(PlacementModel model) {
    return new ModelBruteForce(model);
  }

  public boolean feasible() {
    return !solutions.isEmpty();
  }

  /** The best values, most important level first. */
  public Optional<long[]> lexicographic() {
    if (!feasible()) {
      return Optional.empty();
    }
    long[] best = new long[0];
    for (int l = 0; l < model.levels().size(); l++) {
      best = Arrays.copyOf(best, l + 1);
      best[l] = optimum(l, Arrays.copyOf(best, l)).orElseThrow();
    }
    return Optional.of(best);
  }

  /** The best value of a level, earlier ones held; empty if nothing keeps them. */
  public OptionalLong optimum(int level, long[] held) {
    OptionalLong best = OptionalLong.empty();
    for (List<Long> values : solutions.keySet()) {
      boolean keeps = true;
      for (int l = 0; l < level; l++) {
        keeps &=
            model.levels().get(l).maximise() ? values.get(l) >= held[l] : values.get(l) <= held[l];
      }
      long value = values.get(level);
      if (keeps
          && (best.isEmpty()
              || (model.levels().get(level).maximise()
                  ? value > best.getAsLong()
                  : value < best.getAsLong()))) {
        best = OptionalLong.of(value);
      }
    }
    return best;
  }

  /** Some solution, or empty. */
  public Optional<int[]> any() {
    return solutions.values().stream().findFirst();
  }

  /** One solution for each vector of values. */
  public Map<List<Long>, int[]> solutions() {
    return solutions;
  }

  private void recurse(int item) {
    if (item == chosen.length) {
      leaf();
      return;
    }
    chosen[item] = -1;
    recurse(item + 1);
    for (int c : candidatesOf.get(item)) {
      int[] cells = model.candidates().get(c).cells();
      if (Arrays.stream(cells).anyMatch(cell -> taken[cell])) {
        continue;
      }
      for (int cell : cells) {
        taken[cell] = true;
      }
      chosen[item] = c;
      recurse(item + 1);
      for (int cell : cells) {
        taken[cell] = false;
      }
    }
    chosen[item] = -1;
  }

  private void leaf() {
    long[] values = new long[model.levels().size()];
    long[] sums = new long[model.rows().size()];
    boolean[] disturbed = new boolean[itemsOf.size()];
    Map<Integer, Set<Boolean>> gangs = new HashMap<>();
    for (int g = 0; g < itemsOf.size(); g++) {
      Group group = model.groups().get(g);
      List<Candidate> placed =
          itemsOf.get(g).stream()
              .filter(i -> chosen[i] >= 0)
              .map(i -> model.candidates().get(chosen[i]))
              .toList();
      if (!placed.isEmpty() && placed.size() < itemsOf.get(g).size()) {
        return;
      }
      // A group without items has them all placed.
      boolean absent = placed.size() < itemsOf.get(g).size();
      boolean moved = placed.stream().anyMatch(Candidate::moves);
      if (absent && group.mandatory()) {
        return;
      }
      if (group.gang() >= 0) {
        Set<Boolean> seen = gangs.computeIfAbsent(group.gang(), k -> new HashSet<>());
        seen.add(absent);
        if (seen.size() > 1) {
          return;
        }
      }
      long pods = placed.stream().map(Candidate::pod).distinct().count();
      if (group.sameShape() && placed.stream().map(Candidate::shape).distinct().count() > 1
          || group.samePod() && pods > 1
          || group.differentPods() && pods < placed.size()) {
        return;
      }
      Map<Integer, Integer> domains = new HashMap<>();
      placed.forEach(c -> domains.merge(c.domain(), 1, Integer::sum));
      if (group.maxPerDomain() > 0
          && domains.values().stream().anyMatch(n -> n > group.maxPerDomain())) {
        return;
      }
      placed.forEach(
          c -> {
            plus(values, c.gains());
            plus(sums, c.terms());
          });
      if (moved) {
        plus(values, group.movedGain());
      }
      if (absent) {
        plus(values, group.absentGain());
      }
      disturbed[g] = moved || absent && group.running();
      if (disturbed[g]) {
        plus(sums, group.disturbedTerms());
      }
    }
    for (Union union : model.unions()) {
      if (Arrays.stream(union.groups()).anyMatch(g -> disturbed[g])) {
        plus(sums, union.terms());
      }
    }
    for (int r = 0; r < sums.length; r++) {
      if (sums[r] > model.rows().get(r).limit()) {
        return;
      }
    }
    solutions.computeIfAbsent(Arrays.stream(values).boxed().toList(), k -> chosen.clone());
  }

  private static void plus(long[] into, long[] gains) {
    for (int l = 0; l < gains.length; l++) {
      into[l] += gains[l];
    }
  }

  private static void plus(long[] into, List<Term> terms) {
    for (Term term : terms) {
      into[term.row()] += term.coefficient();
    }
  }
}
