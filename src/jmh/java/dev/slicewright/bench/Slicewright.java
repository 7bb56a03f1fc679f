package dev.slicewright.bench;

import dev.slicewright.plan.Plan;
import dev.slicewright.solve.SlicePlanner;

/** The default planner with everything it has. Confined to one thread at a time. */
final class Slicewright implements Engine {

  static final String NAME = "slicewright";

  private final SlicePlanner planner = SlicePlanner.create();

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Outcome solve(BenchProblem p, Limits limits) {
    long since = System.nanoTime();
    Plan plan = planner.plan(p.fleet(), p.requests(), p.rules(), limits.budget());
    return new Outcome(
        Outcome.since(since), plan.stopped().name(), java.util.List.of(), null, plan);
  }
}
