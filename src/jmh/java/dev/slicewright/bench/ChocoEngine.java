package dev.slicewright.bench;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.chocosolver.solver.Model;
import org.chocosolver.solver.ParallelPortfolio;
import org.chocosolver.solver.constraints.Constraint;
import org.chocosolver.solver.search.SearchState;
import org.chocosolver.solver.search.loop.lns.INeighborFactory;
import org.chocosolver.solver.search.strategy.Search;
import org.chocosolver.solver.search.strategy.selectors.variables.InputOrder;
import org.chocosolver.solver.variables.BoolVar;
import org.chocosolver.solver.variables.IntVar;

/**
 * Choco with one integer variable for each slice: its position, or 0 for not placed. A propagator
 * of the model's own takes the positions that a placed slice overlaps out of all other domains.
 * Large slices are decided first, each at its first position left. Of the workers of a portfolio
 * the first searches all, the others improve by large neighbourhood search. Confined to one thread
 * at a time.
 */
final class ChocoEngine implements Engine {

  @Override
  public String name() {
    return "choco";
  }

  @Override
  public Optional<String> whyNot(BenchProblem p) {
    return PositionItems.whyNot(p);
  }

  @Override
  public Outcome solve(BenchProblem p, Limits limits) {
    long since = System.nanoTime();
    long deadline = limits.deadlineNanos();
    PositionItems items = new PositionItems(p);
    ParallelPortfolio portfolio = new ParallelPortfolio(false);
    List<Model> models = new ArrayList<>();
    Map<Model, IntVar[]> positions = new HashMap<>();
    NoOverlap.Index index = new NoOverlap.Index(items, deadline);
    for (int w = 0; w < limits.workers() && System.nanoTime() < deadline; w++) {
      Model model = new Model();
      positions.put(model, model(model, items, index, w));
      models.add(model);
      portfolio.addModel(model, w == 0);
    }
    int[] best = null;
    long left = (deadline - System.nanoTime()) / 1_000_000;
    boolean optimal = false;
    if (index.isComplete() && left > 0) {
      models.forEach(m -> m.getSolver().limitTime(left));
      while (portfolio.solve()) {
        IntVar[] found = positions.get(portfolio.getBestModel());
        best = new int[found.length];
        for (int i = 0; i < best.length; i++) {
          best[i] = found[i].getValue();
        }
      }
      optimal =
          best != null
              && models.get(0).getSolver().getSearchState() == SearchState.TERMINATED
              && System.nanoTime() < deadline;
    }
    Placing[] placed = items.placings(best);
    return Outcome.of(
        since,
        optimal ? Outcome.OPTIMAL : best == null ? Outcome.NO_SOLUTION : Outcome.DEADLINE,
        placed,
        optimal ? items.proved(placed) : null);
  }

  private static IntVar[] model(
      Model model, PositionItems items, NoOverlap.Index index, int worker) {
    int n = items.size();
    IntVar[] position = new IntVar[n];
    BoolVar[] placed = new BoolVar[n];
    int[] gains = new int[n];
    Map<Object, BoolVar> units = new HashMap<>();
    for (int i = 0; i < n; i++) {
      position[i] = model.intVar("slice" + i, 0, items.positions(i).size(), false);
      placed[i] = model.boolVar("placed" + i);
      model.reifyXneC(position[i], 0, placed[i]);
      gains[i] = Math.toIntExact(items.gain(i));
      // All or none.
      BoolVar unit = units.putIfAbsent(items.unit(i), placed[i]);
      if (unit != null) {
        model.arithm(unit, "=", placed[i]).post();
      }
    }
    new Constraint("no overlap", new NoOverlap(position, items, index)).post();
    int most = 0;
    for (int gain : gains) {
      most = Math.addExact(most, gain);
    }
    IntVar objective = model.intVar("chips", 0, most, true);
    model.scalar(placed, gains, "=", objective).post();
    model.setObjective(Model.MAXIMIZE, objective);
    Integer[] order = new Integer[n];
    for (int i = 0; i < n; i++) {
      order[i] = i;
    }
    java.util.Arrays.sort(order, Comparator.comparingLong((Integer i) -> -items.gain(i)));
    IntVar[] sorted = new IntVar[n];
    for (int i = 0; i < n; i++) {
      sorted[i] = position[order[i]];
    }
    model
        .getSolver()
        .setSearch(
            Search.intVarSearch(
                new InputOrder<>(model),
                v -> {
                  int first = v.nextValue(0);
                  return first == Integer.MAX_VALUE ? v.getLB() : first;
                },
                sorted));
    if (worker > 0) {
      model.getSolver().setLNS(INeighborFactory.random(worker, sorted));
    }
    return position;
  }
}
