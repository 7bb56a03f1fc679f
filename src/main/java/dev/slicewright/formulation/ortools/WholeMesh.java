package dev.slicewright.formulation.ortools;

import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.MeshPacking;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Item;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.function.BiFunction;
import org.jspecify.annotations.Nullable;

/**
 * Models that ask whether all boxes fit into one rectangle: solved as a model in which each item is
 * mandatory and that has only the candidates that matter. Immutable, safe to share.
 *
 * <p>That nothing may be absent is what makes the cell rows equations where nothing can be wasted,
 * and intervals obligatory.
 */
final class WholeMesh {

  private final PlacementModel whole;
  private final int[] original; // by candidate of the whole

  private WholeMesh(PlacementModel model, MeshPacking packing) {
    PlacementModel.Builder b = PlacementModel.builder(model.cellCount(), model.levels());
    // Each item by itself, so that equal ones need not be told apart.
    for (Item item : model.items()) {
      b.item(new Item(item.name(), b.group(mandatory(item.name()))));
    }
    model.rows().forEach(b::row);
    model.grids().forEach(b::grid);
    BitSet needless = packing.needless();
    this.original = new int[model.candidates().size() - needless.cardinality()];
    int n = 0;
    for (int c = needless.nextClearBit(0); c < model.candidates().size(); ) {
      b.candidate(model.candidates().get(c));
      original[n++] = c;
      c = needless.nextClearBit(c + 1);
    }
    this.whole = b.build();
  }

  private static Group mandatory(String name) {
    return new Group(
        name, -1, true, false, false, false, false, 0, new long[0], new long[0], List.of());
  }

  /** Solves a task; models that ask anything else are handed on as they are. */
  static FormulationResult solve(
      PlacementModel model,
      FormulationTask task,
      BiFunction<PlacementModel, FormulationTask, FormulationResult> solver) {
    boolean over = task.cancel().isCancelled() || task.remainingNanos() == 0;
    MeshPacking packing =
        over || task.level() >= model.levels().size()
            ? null
            : MeshPacking.of(model, task.level()).orElse(null);
    if (packing == null) {
      return solver.apply(model, task);
    }
    return packing.decide(model, task, () -> new WholeMesh(model, packing).ask(task, solver));
  }

  private FormulationResult ask(
      FormulationTask task, BiFunction<PlacementModel, FormulationTask, FormulationResult> solver) {
    FormulationTask own =
        new FormulationTask(
            task.level(),
            task.held(),
            task.deadlineNanos(),
            task.budget(),
            task.variant(),
            start(task.warmStart()),
            chosen -> task.listener().accept(back(chosen)),
            task.cancel());
    FormulationResult found = solver.apply(whole, own);
    int[] chosen = found.chosen();
    return chosen == null
        ? found
        : new FormulationResult(found.status(), back(chosen), found.bound(), found.message());
  }

  /** A warm start without what does not matter. */
  private int @Nullable [] start(int @Nullable [] start) {
    if (start == null) {
      return null;
    }
    int[] own = new int[start.length];
    for (int i = 0; i < own.length; i++) {
      own[i] = Math.max(-1, Arrays.binarySearch(original, start[i]));
    }
    return own;
  }

  private int[] back(int[] chosen) {
    int[] out = new int[chosen.length];
    for (int i = 0; i < out.length; i++) {
      out[i] = chosen[i] < 0 ? -1 : original[chosen[i]];
    }
    return out;
  }
}
