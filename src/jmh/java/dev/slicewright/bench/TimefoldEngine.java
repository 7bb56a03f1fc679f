package dev.slicewright.bench;

import ai.timefold.solver.core.api.solver.SolverConfigOverride;
import ai.timefold.solver.core.api.solver.SolverFactory;
import ai.timefold.solver.core.config.constructionheuristic.ConstructionHeuristicPhaseConfig;
import ai.timefold.solver.core.config.constructionheuristic.ConstructionHeuristicType;
import ai.timefold.solver.core.config.constructionheuristic.decider.forager.ConstructionHeuristicForagerConfig;
import ai.timefold.solver.core.config.constructionheuristic.decider.forager.ConstructionHeuristicPickEarlyType;
import ai.timefold.solver.core.config.heuristic.selector.common.SelectionOrder;
import ai.timefold.solver.core.config.heuristic.selector.move.factory.MoveIteratorFactoryConfig;
import ai.timefold.solver.core.config.localsearch.LocalSearchPhaseConfig;
import ai.timefold.solver.core.config.localsearch.LocalSearchType;
import ai.timefold.solver.core.config.score.director.ScoreDirectorFactoryConfig;
import ai.timefold.solver.core.config.solver.EnvironmentMode;
import ai.timefold.solver.core.config.solver.SolverConfig;
import ai.timefold.solver.core.config.solver.termination.TerminationConfig;
import dev.slicewright.bench.TimefoldModel.Packing;
import dev.slicewright.bench.TimefoldModel.Slice;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Timefold: first fit, large slices first, then late acceptance over moves that put a slice
 * somewhere and take off what lies there. Its free edition searches in one thread, so each worker
 * runs a solver with a seed of its own, and the best of them counts. It claims no bound. Confined
 * to one thread at a time.
 */
final class TimefoldEngine implements Engine {

  /** Two solvers in one JVM register one gauge twice, of which Micrometer warns. */
  private static final Logger METERS = Logger.getLogger("io.micrometer");

  static {
    METERS.setLevel(Level.SEVERE);
  }

  private final Map<Integer, SolverFactory<Packing>> factories = new ConcurrentHashMap<>();

  @Override
  public String name() {
    return "timefold";
  }

  @Override
  public Optional<String> whyNot(BenchProblem p) {
    return PositionItems.whyNot(p);
  }

  private static SolverFactory<Packing> factory(int worker) {
    ConstructionHeuristicPhaseConfig construct =
        new ConstructionHeuristicPhaseConfig()
            .withConstructionHeuristicType(ConstructionHeuristicType.FIRST_FIT)
            .withForagerConfig(
                new ConstructionHeuristicForagerConfig()
                    .withPickEarlyType(
                        ConstructionHeuristicPickEarlyType
                            .FIRST_FEASIBLE_SCORE_OR_NON_DETERIORATING_HARD));
    MoveIteratorFactoryConfig moves =
        new MoveIteratorFactoryConfig().withMoveIteratorFactoryClass(TimefoldModel.Puts.class);
    moves.setSelectionOrder(SelectionOrder.RANDOM);
    LocalSearchPhaseConfig improve =
        new LocalSearchPhaseConfig()
            .withLocalSearchType(LocalSearchType.LATE_ACCEPTANCE)
            .withMoveSelectorConfig(moves);
    return SolverFactory.create(
        new SolverConfig()
            .withEnvironmentMode(EnvironmentMode.NO_ASSERT)
            .withSolutionClass(Packing.class)
            .withEntityClasses(Slice.class)
            .withRandomSeed((long) worker)
            .withScoreDirectorFactory(
                new ScoreDirectorFactoryConfig()
                    .withIncrementalScoreCalculatorClass(TimefoldModel.Calculator.class))
            .withPhases(construct, improve));
  }

  @Override
  public Outcome solve(BenchProblem p, Limits limits) {
    long since = System.nanoTime();
    long deadline = limits.deadlineNanos();
    PositionItems items = new PositionItems(p);
    for (int i = 0; i < items.size(); i++) {
      items.positions(i); // listed once, before threads share them
      if (System.nanoTime() > deadline) {
        return Outcome.of(since, Outcome.NO_SOLUTION, items.placings(null), null);
      }
    }
    Packing[] found = new Packing[limits.workers()];
    List<Thread> threads = new ArrayList<>();
    for (int w = 1; w < found.length; w++) {
      int worker = w;
      Thread thread = new Thread(() -> found[worker] = run(items, worker, deadline));
      thread.start();
      threads.add(thread);
    }
    found[0] = run(items, 0, deadline);
    Packing best = found[0];
    for (int w = 1; w < found.length; w++) {
      join(threads.get(w - 1));
      if (found[w] != null
          && (best == null || found[w].getScore().compareTo(best.getScore()) > 0)) {
        best = found[w];
      }
    }
    // A construction that time cut short hands back what it was given.
    if (best == null || best.getScore() == null || best.getSlices().get(0).getPosition() == null) {
      return Outcome.of(since, Outcome.NO_SOLUTION, items.placings(null), null);
    }
    return Outcome.of(since, Outcome.DEADLINE, items.placings(chosen(items, best)), null);
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private Packing run(PositionItems items, int worker, long deadline) {
    SolverFactory<Packing> factory = factories.computeIfAbsent(worker, TimefoldEngine::factory);
    // Large slices first, which is the order of construction; numbers follow the list.
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < items.size(); i++) {
      order.add(i);
    }
    order.sort(Comparator.comparingLong(i -> -items.gain(i)));
    Map<Object, Integer> units = new HashMap<>();
    List<Slice> slices = new ArrayList<>();
    for (int i : order) {
      Integer unit = units.computeIfAbsent(items.unit(i), u -> units.size());
      slices.add(new Slice(slices.size(), unit, items.gain(i), items.positions(i)));
    }
    long left = (deadline - System.nanoTime()) / 1_000_000;
    if (left <= 0) {
      return null;
    }
    return factory
        .buildSolver(
            new SolverConfigOverride<Packing>()
                .withTerminationConfig(
                    new TerminationConfig().withSpentLimit(Duration.ofMillis(left))))
        .solve(new Packing(slices, items.at.cellCount));
  }

  /** Position numbers, from 1, of each item; those of incomplete units are dropped. */
  private static int[] chosen(PositionItems items, Packing packing) {
    List<Integer> order = new ArrayList<>();
    for (int i = 0; i < items.size(); i++) {
      order.add(i);
    }
    order.sort(Comparator.comparingLong(i -> -items.gain(i)));
    Map<Object, Boolean> complete = new HashMap<>();
    for (int n = 0; n < order.size(); n++) {
      complete.merge(
          items.unit(order.get(n)), packing.getSlices().get(n).isPlaced(), Boolean::logicalAnd);
    }
    int[] chosen = new int[order.size()];
    for (int n = 0; n < order.size(); n++) {
      int item = order.get(n);
      if (complete.get(items.unit(item))) {
        chosen[item] = items.positions(item).indexOf(packing.getSlices().get(n).getPosition()) + 1;
      }
    }
    return chosen;
  }
}
