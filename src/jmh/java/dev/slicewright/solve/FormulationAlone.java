package dev.slicewright.solve;

import dev.slicewright.CancelToken;
import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.search.Assignment;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Lets the solve bench ask one formulation alone: the translated model, level by level, without the
 * planner's search and bounds. Stateless.
 */
public final class FormulationAlone {

  /** Time kept for naming cubes and handing back. */
  private static final int RESERVE_PARTS = 20;

  private FormulationAlone() {}

  /**
   * Where a request goes. Immutable, safe to share.
   *
   * @param shape the shape of its slices
   * @param pods the pod's id of each slice
   * @param footprints the footprint of each slice
   */
  public record Placed(Shape shape, List<String> pods, List<Footprint> footprints) {}

  /**
   * What it found. Immutable, safe to share. Its array must not be changed.
   *
   * @param placed for each request where it goes, or null
   * @param bounds for each level the bound claimed, or null
   * @param optimal whether it claims that every level is optimal
   * @param solved whether there is a solution
   * @param declined whether it did not take the model, or no model could be made for it
   * @param notes why it did less than all
   */
  public record Result(
      List<Placed> placed,
      Long[] bounds,
      boolean optimal,
      boolean solved,
      boolean declined,
      List<String> notes) {}

  /** Solves level by level. */
  public static Result solve(
      Fleet fleet,
      List<SliceRequest> requests,
      PlanningRules rules,
      Formulation formulation,
      SolveBudget budget) {
    long start = System.nanoTime();
    long whole = budget.deadline().toNanos();
    CancelToken token = new CancelToken();
    Stop stop = new Stop(token, start + whole - whole / RESERVE_PARTS);
    Stop hardStop = new Stop(token, start + whole);
    List<String> notes = new ArrayList<>();
    Instance in = new Instance(fleet, requests, rules, CostTerms.DEFAULT);
    Long[] bounds = new Long[in.levels.size()];
    ModelTranslation t = ModelTranslation.of(in, Integer.MAX_VALUE, stop);
    if (t == null) {
      notes.add("The model is too large, or was not built in time.");
      return new Result(nothing(requests.size()), bounds, false, false, true, notes);
    }
    Asker asker = new Asker(stop, hardStop, notes::add);
    PlacementModel model = t.model();
    int[] chosen = null;
    long[] values = new long[bounds.length];
    boolean optimal = true;
    for (int l = 0; l < bounds.length && optimal; l++) {
      if (isConstant(model, l)) {
        bounds[l] = t.constant(l);
        continue;
      }
      FormulationTask task =
          new FormulationTask(
              l, Arrays.copyOf(values, l), stop.deadlineNanos(), budget, 0, chosen, x -> {}, token);
      FormulationResult result = asker.ask(formulation, model, task);
      optimal = result != null && result.status() == FormulationResult.Status.OPTIMAL;
      if (result == null) {
        break;
      }
      int[] found = result.solution().orElse(null);
      if (found != null) {
        try {
          values = model.evaluate(found);
          chosen = found;
        } catch (InvalidInputException e) {
          notes.add("It breaks its model: " + e.problems().get(0));
          optimal = false;
        }
      }
      if (result.bound() != null) {
        bounds[l] = Math.addExact(result.bound(), t.constant(l));
      } else if (optimal) {
        bounds[l] = Math.addExact(values[l], t.constant(l));
      }
      if (!result.message().isEmpty() && !optimal) {
        notes.add(result.message());
      }
    }
    Solution solution = chosen == null ? null : t.decode(chosen);
    if (chosen != null && solution == null) {
      notes.add("The cubes of its solution cannot be named.");
    }
    return new Result(
        solution == null ? nothing(requests.size()) : placed(in, solution),
        bounds,
        optimal,
        solution != null,
        solution == null && notes.stream().anyMatch(FormulationAlone::isDeclined),
        notes);
  }

  /** The words of {@link Asker} for it. */
  private static boolean isDeclined(String note) {
    return note.contains(" was not used: ") || note.contains(" cannot run here: ");
  }

  private static boolean isConstant(PlacementModel model, int level) {
    return model.candidates().stream().allMatch(c -> c.gains()[level] == 0)
        && model.groups().stream()
            .allMatch(
                g ->
                    (g.movedGain().length == 0 || g.movedGain()[level] == 0)
                        && (g.absentGain().length == 0 || g.absentGain()[level] == 0));
  }

  private static List<Placed> nothing(int requests) {
    return new ArrayList<>(java.util.Collections.nCopies(requests, null));
  }

  private static List<Placed> placed(Instance in, Solution solution) {
    List<Placed> out = nothing(in.demands.size());
    for (int d = 0; d < out.size(); d++) {
      Assignment a = solution.placed().get(d);
      if (a != null) {
        out.set(
            d,
            new Placed(
                in.demands.get(d).choices().get(a.choice()).shape(),
                Arrays.stream(a.pods()).mapToObj(p -> in.pods.get(p).id()).toList(),
                a.footprints()));
      }
    }
    return out;
  }
}
