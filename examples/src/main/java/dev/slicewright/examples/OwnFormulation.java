package dev.slicewright.examples;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * A formulation of one's own, greedy, given to the planner. It knows nothing of TPUs.
 *
 * <pre>mvn -q compile exec:java -Dexec.mainClass=dev.slicewright.examples.OwnFormulation</pre>
 */
public final class OwnFormulation implements Formulation {

  @Override
  public String name() {
    return "greedy";
  }

  /** Nothing special: so the planner gives it no models with side rows, gangs or other ties. */
  @Override
  public Set<Capability> capabilities() {
    return Set.of();
  }

  @Override
  public Optional<String> whyNot(PlacementModel model, FormulationTask task) {
    return Optional.empty();
  }

  /** Takes candidates by gain per cell, as long as their cells are free and the item is not yet. */
  @Override
  public FormulationResult solve(PlacementModel model, FormulationTask task) {
    int sign = model.levels().get(task.level()).maximise() ? 1 : -1;
    int[] chosen = new int[model.items().size()];
    Arrays.fill(chosen, -1);
    boolean[] taken = new boolean[model.cellCount()];
    List<Candidate> all = model.candidates();
    int[] order =
        IntStream.range(0, all.size())
            .filter(c -> sign * all.get(c).gains()[task.level()] > 0)
            .boxed()
            .sorted(
                Comparator.comparingDouble(
                    c ->
                        -(double) sign
                            * all.get(c).gains()[task.level()]
                            / (1 + all.get(c).cells().length)))
            .mapToInt(Integer::intValue)
            .toArray();
    for (int c : order) {
      if (task.cancel().isCancelled() || task.remainingNanos() == 0) {
        break;
      }
      Candidate candidate = all.get(c);
      if (chosen[candidate.item()] < 0
          && Arrays.stream(candidate.cells()).noneMatch(cell -> taken[cell])) {
        chosen[candidate.item()] = c;
        Arrays.stream(candidate.cells()).forEach(cell -> taken[cell] = true);
      }
    }
    return keepsAll(model, task, chosen)
        ? new FormulationResult(Status.FEASIBLE, chosen, null, "greedy")
        : new FormulationResult(Status.UNKNOWN, null, null, "greed broke a rule or a held level");
  }

  /** Whether every rule is kept, groups of several items included, and what is held. */
  private static boolean keepsAll(PlacementModel model, FormulationTask task, int[] chosen) {
    try {
      long[] values = model.evaluate(chosen);
      return IntStream.range(0, task.level())
          .allMatch(
              l ->
                  model.levels().get(l).maximise()
                      ? values[l] >= task.held()[l]
                      : values[l] <= task.held()[l]);
    } catch (InvalidInputException e) {
      return false;
    }
  }

  public static void main(String[] args) {
    Fleet fleet = Fleet.builder().pod("lab/1", TpuTopology.torus(6, 6, 2)).build();
    SlicePlanner planner =
        SlicePlanner.builder().formulations(List.of(new OwnFormulation())).build();
    List<SliceRequest> wanted =
        IntStream.range(0, 6)
            .mapToObj(
                i -> SliceRequest.builder("job-" + i).shape(i < 3 ? "4x4x1" : "2x6x1").build())
            .toList();
    Plan plan = planner.plan(fleet, wanted, SolveBudget.within(Duration.ofSeconds(2)));
    System.out.println(plan);
    System.out.println("engines: " + plan.engines() + ", notes: " + plan.notes());
  }
}
