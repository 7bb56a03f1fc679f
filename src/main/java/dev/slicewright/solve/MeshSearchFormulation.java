package dev.slicewright.solve;

import dev.slicewright.SolveBudget;
import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.MeshPacking;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.search.MeshSearch;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * Decides by exhaustive search whether all boxes of a model fit into one flat mesh together. Safe
 * for concurrent use.
 *
 * <p>For models that ask only that ({@link MeshPacking}); all others are declined. No native code.
 * With two workers in mode {@code FAST} it uses two threads; otherwise one, and then equal tasks
 * give equal answers unless the deadline cut in. An interrupt of the calling thread cancels the
 * solve and stays set. Memory is bounded by the smaller of 256 MiB and an eighth of the heap.
 */
public final class MeshSearchFormulation implements Formulation {

  private static final Set<Capability> CAPABILITIES =
      Set.of(
          Capability.BOUND,
          Capability.INTERRUPT,
          Capability.SIDE_ROWS,
          Capability.GROUP_TIES,
          Capability.NEEDS_GRID);

  private MeshSearchFormulation() {}

  /**
   * Makes one.
   *
   * @return a new formulation
   */
  public static MeshSearchFormulation create() {
    return new MeshSearchFormulation();
  }

  @Override
  public String name() {
    return "mesh-search";
  }

  @Override
  public Set<Capability> capabilities() {
    return CAPABILITIES;
  }

  /**
   * {@inheritDoc}
   *
   * <p>Declines all models that ask anything else. O(cells of the candidates).
   */
  @Override
  public Optional<String> whyNot(PlacementModel model, FormulationTask task) {
    if (task.level() >= model.levels().size()) {
      return Optional.of(
          "Expected a level below " + model.levels().size() + ", but was " + task.level() + ".");
    }
    return MeshPacking.whyNot(model, task.level());
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalArgumentException if the model asks anything else
   */
  @Override
  public FormulationResult solve(PlacementModel model, FormulationTask task) {
    if (task.cancel().isCancelled() || Thread.currentThread().isInterrupted()) {
      return new FormulationResult(Status.CANCELLED, null, null, "cancelled before the search");
    }
    if (task.remainingNanos() == 0) {
      return new FormulationResult(
          Status.UNKNOWN, null, null, "the deadline had passed before the search");
    }
    MeshPacking packing =
        MeshPacking.of(model, task.level())
            .orElseThrow(
                () ->
                    new IllegalArgumentException(
                        MeshPacking.whyNot(model, task.level()).orElse("")));
    return packing.decide(model, task, () -> search(packing, task));
  }

  private static FormulationResult search(MeshPacking packing, FormulationTask task) {
    Thread caller = Thread.currentThread();
    BooleanSupplier cancelled = () -> task.cancel().isCancelled() || caller.isInterrupted();
    boolean twoThreads =
        task.budget().workers() > 1 && task.budget().mode() == SolveBudget.Mode.FAST;
    MeshSearch search = new MeshSearch(packing);
    MeshSearch.Answer answer =
        search.run(twoThreads, () -> task.remainingNanos() == 0 || cancelled.getAsBoolean());
    String message = String.format(Locale.ROOT, "%s after %d states", answer, search.states());
    return switch (answer) {
      case PACKED -> new FormulationResult(Status.OPTIMAL, search.chosen(), null, message);
      case IMPOSSIBLE -> new FormulationResult(Status.INFEASIBLE, null, null, message);
      case STOPPED ->
          new FormulationResult(
              cancelled.getAsBoolean() ? Status.CANCELLED : Status.UNKNOWN, null, null, message);
    };
  }
}
