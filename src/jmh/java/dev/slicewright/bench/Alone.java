package dev.slicewright.bench;

import dev.slicewright.formulation.Formulation;
import dev.slicewright.solve.FormulationAlone;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** One formulation without the planner's search and bounds. Confined to one thread at a time. */
final class Alone implements Engine {

  private final String name;
  private final Formulation formulation;
  private final Set<String> told = new HashSet<>();

  Alone(String name, Formulation formulation) {
    this.name = name;
    this.formulation = formulation;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Outcome solve(BenchProblem p, Limits limits) {
    long since = System.nanoTime();
    FormulationAlone.Result r =
        FormulationAlone.solve(p.fleet(), p.requests(), p.rules(), formulation, limits.budget());
    List<Placing> placed = new ArrayList<>();
    for (FormulationAlone.Placed to : r.placed()) {
      placed.add(to == null ? null : new Placing(to.shape(), to.pods(), to.footprints()));
    }
    Outcome outcome =
        Outcome.of(
            since,
            r.declined()
                ? Outcome.DECLINED
                : r.optimal()
                    ? Outcome.OPTIMAL
                    : r.solved() ? Outcome.DEADLINE : Outcome.NO_SOLUTION,
            placed,
            r.bounds());
    for (String note : r.notes()) {
      if (told.add(p.family() + note)) {
        System.out.println(p.family() + " " + name + ": " + note);
      }
    }
    return outcome;
  }
}
