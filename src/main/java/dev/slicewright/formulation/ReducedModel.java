package dev.slicewright.formulation;

import dev.slicewright.formulation.PlacementModel.Candidate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A placement model with fewer candidates, and the way back. Immutable, safe to share.
 *
 * <p>Made by {@link PlacementModel#reduced}, it has every solution that is better than the
 * incumbent at the level, and the incumbent itself: its optimum there is the model's, and what is
 * proved of one holds for the other. At other levels, or with other held values, it says nothing of
 * the model.
 */
public final class ReducedModel {

  private final PlacementModel model;
  private final int[] original; // by reduced candidate
  private final int[] reduced; // by original candidate, or -1

  ReducedModel(PlacementModel full, BitSet without) {
    int count = full.candidates().size();
    this.reduced = new int[count];
    int[] kept = new int[count];
    int n = 0;
    List<Candidate> candidates = new ArrayList<>();
    for (int c = 0; c < count; c++) {
      reduced[c] = -1;
      if (!without.get(c)) {
        kept[n] = c;
        reduced[c] = n++;
        candidates.add(full.candidates().get(c));
      }
    }
    this.original = Arrays.copyOf(kept, n);
    this.model = full.with(candidates);
  }

  /**
   * The smaller model.
   *
   * @return a model with the same items, groups, cells and rows
   */
  public PlacementModel model() {
    return model;
  }

  /**
   * How many candidates were dropped.
   *
   * @return 0 or more
   */
  public int dropped() {
    return reduced.length - original.length;
  }

  /**
   * A solution of the smaller model as one of the model.
   *
   * @param chosen for each item a candidate of the smaller model, or -1
   * @return for each item a candidate of the model, or -1
   */
  public int[] toOriginal(int[] chosen) {
    int[] out = chosen.clone();
    for (int i = 0; i < out.length; i++) {
      out[i] = out[i] < 0 ? -1 : original[out[i]];
    }
    return out;
  }

  /**
   * A solution of the model as one of the smaller model; -1 where its candidate was dropped.
   *
   * @param chosen for each item a candidate of the model, or -1
   * @return for each item a candidate of the smaller model, or -1
   */
  public int[] toReduced(int[] chosen) {
    int[] out = chosen.clone();
    for (int i = 0; i < out.length; i++) {
      out[i] = out[i] < 0 || out[i] >= reduced.length ? -1 : reduced[out[i]];
    }
    return out;
  }

  /**
   * Solves the smaller model, in terms of the model: warm start, reported solutions and result.
   *
   * @param formulation solves it
   * @param task a task of the model; its level and held values are those of the reduction
   * @return the result; prices hold for the smaller model only and are left out
   */
  public FormulationResult solve(Formulation formulation, FormulationTask task) {
    FormulationResult found = formulation.solve(model, task(task));
    int[] chosen = found.chosen();
    return new FormulationResult(
        found.status(),
        chosen == null ? null : toOriginal(chosen),
        found.bound(),
        found.message() + "; " + dropped() + " candidates fixed before",
        null,
        found.limit());
  }

  /**
   * A task of the model as one of the smaller model.
   *
   * @param task the task
   * @return the same with warm start and listener translated
   */
  public FormulationTask task(FormulationTask task) {
    Objects.requireNonNull(task, "task");
    int @Nullable [] start = task.warmStart();
    return new FormulationTask(
        task.level(),
        task.held(),
        task.deadlineNanos(),
        task.budget(),
        task.variant(),
        start == null ? null : toReduced(start),
        solution -> task.listener().accept(toOriginal(solution)),
        task.cancel());
  }
}
