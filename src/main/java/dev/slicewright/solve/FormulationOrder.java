package dev.slicewright.solve;

import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.MeshPacking;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.ortools.CpSatIntervalsFormulation;
import dev.slicewright.search.Demand;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Which of the built-in formulations to ask first, by what a model asks.
 *
 * <p>Whether boxes fit into a mesh: intervals are quickest by far. With nothing to waste they may
 * be hopeless, so they get a quarter of the time; then come the exhaustive search and CP-SAT over
 * candidates, whose cell rows are equations. On all else those that are made for meshes are left
 * out, unless the user has named them: then the user's order stands, and one that declines says why
 * in a note. Formulations that are not built in keep their place after the built-in ones.
 */
final class FormulationOrder {

  private FormulationOrder() {}

  /**
   * The formulations to ask, first ones first. O(cells of the model).
   *
   * @param given all of them
   * @param named whether the user has named them, and not left them to us
   * @param model the model
   */
  static List<Formulation> of(List<Formulation> given, boolean named, PlacementModel model) {
    boolean special = given.stream().anyMatch(FormulationOrder::isForMeshes);
    if (!special || given.size() == 1) {
      return given;
    }
    MeshPacking packing = MeshPacking.of(model, model.levels().size() - 1).orElse(null);
    List<Formulation> out = new ArrayList<>(given);
    if (packing == null && named) {
      return given;
    }
    if (packing == null) {
      out.removeIf(FormulationOrder::isForMeshes);
      return out.isEmpty() ? given : out;
    }
    boolean tight = waste(packing) == 0;
    out.sort((a, b) -> Integer.compare(rank(a, tight), rank(b, tight)));
    if (tight && out.size() > 1 && out.get(0) instanceof CpSatIntervalsFormulation first) {
      out.set(0, new Brief(first));
    }
    return out;
  }

  /** Whether one gang wants room in one flat mesh: its model may be large and yet soon decided. */
  static boolean mayBeMeshQuestion(Instance in) {
    if (in.pods.size() != 1 || !in.free.isEmpty()) {
      return false;
    }
    TpuTopology t = in.pods.get(0).topology();
    return t.slicing() instanceof Slicing.TorusBoxes
        && t.cellGrid().z() == 1
        && !t.wraps(Axis.X)
        && !t.wraps(Axis.Y)
        && in.demands.stream().mapToInt(Demand::unit).distinct().count() == 1;
  }

  /** Whether a model asks only whether boxes fit into a mesh, and something is made for that. */
  static boolean isMeshQuestion(List<Formulation> given, @Nullable ModelTranslation t) {
    return t != null
        && given.stream().anyMatch(FormulationOrder::isForMeshes)
        && MeshPacking.of(t.model(), t.model().levels().size() - 1).isPresent();
  }

  /** Whether it has a second setting that can confirm the first. */
  static boolean hasSecondSetting(Formulation formulation) {
    return Asker.isCpSat(formulation)
        || formulation instanceof CpSatIntervalsFormulation
        || formulation instanceof Brief;
  }

  /** One that gets a quarter of the time left. Safe for concurrent use. */
  private record Brief(CpSatIntervalsFormulation of) implements Formulation {
    @Override
    public String name() {
      return of.name();
    }

    @Override
    public Set<Capability> capabilities() {
      return of.capabilities();
    }

    @Override
    public Optional<String> whyNot(PlacementModel model, FormulationTask task) {
      return of.whyNot(model, task);
    }

    @Override
    public FormulationResult solve(PlacementModel model, FormulationTask task) {
      return of.solve(
          model,
          new FormulationTask(
              task.level(),
              task.held(),
              System.nanoTime() + task.remainingNanos() / 4,
              task.budget(),
              task.variant(),
              task.warmStart(),
              task.listener(),
              task.cancel()));
    }
  }

  private static boolean isForMeshes(Formulation formulation) {
    return formulation instanceof CpSatIntervalsFormulation
        || formulation instanceof MeshSearchFormulation;
  }

  private static int rank(Formulation formulation, boolean tight) {
    if (formulation instanceof CpSatIntervalsFormulation) {
      return 0;
    }
    if (formulation instanceof MeshSearchFormulation) {
      return tight ? 1 : 3;
    }
    return Asker.isCpSat(formulation) ? 2 : 4;
  }

  /** Cells that stay free at most. */
  private static long waste(MeshPacking packing) {
    long open = (long) packing.width() * packing.height() - packing.blocked().cardinality();
    for (List<MeshPacking.Size> ways : packing.sizes()) {
      open -= ways.stream().mapToLong(s -> (long) s.width() * s.height()).min().orElse(0);
    }
    return open;
  }
}
