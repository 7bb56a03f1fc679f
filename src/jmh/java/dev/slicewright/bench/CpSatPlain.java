package dev.slicewright.bench;

import com.google.ortools.Loader;
import com.google.ortools.sat.BoolVar;
import com.google.ortools.sat.CpModel;
import com.google.ortools.sat.CpSolver;
import com.google.ortools.sat.CpSolverSolutionCallback;
import com.google.ortools.sat.CpSolverStatus;
import com.google.ortools.sat.LinearArgument;
import com.google.ortools.sat.LinearExpr;
import com.google.ortools.sat.Literal;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * CP-SAT as its user would first write it: one Boolean for each slice and position, at most one for
 * a slice and at most one for a cell; nothing aggregated, no hint, no bound, default parameters.
 * Whole cubes are one Boolean for each slice and pod and a row that counts cubes, in which a cube
 * with a smaller slice counts as one. Gangs and quotas are a Boolean and a row. Confined to one
 * thread at a time.
 */
final class CpSatPlain implements Engine {

  static final String NAME = "cp-sat-plain";

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public Outcome solve(BenchProblem p, Limits limits) {
    long since = System.nanoTime();
    return new Run(p, since + limits.millis() * 1_000_000).solve(since, limits.workers());
  }

  /**
   * How long until it is as good as a given answer.
   *
   * @param values the answer's values by level
   * @return milliseconds from the problem, or a negative number if it never was
   */
  double reach(BenchProblem p, long[] values, Limits limits) {
    long since = System.nanoTime();
    Run run = new Run(p, since + limits.millis() * 1_000_000);
    return run.reach(since, run.weights.sum(values), limits.workers());
  }

  /** A chosen place: of a request's slice, a position or a pod. */
  private record Choice(int request, BoolVar literal, Positions.Position position, int pod) {}

  private static final class Run {
    final BenchProblem p;
    final long deadline;
    final Positions at;
    final Weights weights;
    final CpModel model = new CpModel();
    final List<Choice> choices = new ArrayList<>();
    final Map<Integer, List<Literal>> byCell = new HashMap<>();
    final Map<Integer, Map<Integer, BoolVar>> split = new TreeMap<>(); // pod, cube
    final Map<Integer, List<LinearArgument>> cubeRow = new TreeMap<>(); // pod
    final Map<Integer, List<Long>> cubeCounts = new TreeMap<>();

    Run(BenchProblem p, long deadline) {
      this.p = p;
      this.deadline = deadline;
      this.at = new Positions(p.fleet());
      this.weights = new Weights(p);
    }

    /** Builds the model; false if time ran out. */
    boolean build() {
      List<LinearArgument> gains = new ArrayList<>();
      List<Long> gain = new ArrayList<>();
      Map<String, BoolVar> gangs = new HashMap<>();
      Map<String, List<LinearArgument>> used = new TreeMap<>();
      Map<String, List<Long>> usedChips = new TreeMap<>();
      Map<String, Long> quotas = new Quotas(p).left();
      for (int r = 0; r < p.requests().size(); r++) {
        SliceRequest request = p.requests().get(r);
        BoolVar placed =
            request.gang().isPresent()
                ? gangs.computeIfAbsent(request.gang().get(), g -> model.newBoolVar("gang"))
                : model.newBoolVar("placed");
        gains.add(placed);
        gain.add(weights.of(request));
        if (quotas.containsKey(request.tenant())) {
          used.computeIfAbsent(request.tenant(), t -> new ArrayList<>()).add(placed);
          usedChips
              .computeIfAbsent(request.tenant(), t -> new ArrayList<>())
              .add(Positions.shape(request).chips() * request.slices());
        }
        for (int s = 0; s < request.slices(); s++) {
          if (!slice(r, request, placed)) {
            return false;
          }
        }
      }
      for (List<Literal> cell : byCell.values()) {
        if (cell.size() > 1) {
          model.addAtMostOne(cell);
        }
        if (System.nanoTime() > deadline) {
          return false;
        }
      }
      for (int pod : cubeRow.keySet()) {
        for (BoolVar cube : split.getOrDefault(pod, Map.of()).values()) {
          cubeRow.get(pod).add(cube);
          cubeCounts.get(pod).add(1L);
        }
        model.addLessOrEqual(sum(cubeRow.get(pod), cubeCounts.get(pod)), at.freeCubes(pod).size());
      }
      used.forEach(
          (tenant, literals) ->
              model.addLessOrEqual(
                  sum(literals, usedChips.get(tenant)), Math.max(0, quotas.get(tenant))));
      model.maximize(sum(gains, gain));
      return System.nanoTime() < deadline;
    }

    private static LinearExpr sum(List<LinearArgument> literals, List<Long> coefficients) {
      return LinearExpr.weightedSum(
          literals.toArray(new LinearArgument[0]),
          coefficients.stream().mapToLong(Long::longValue).toArray());
    }

    private boolean slice(int r, SliceRequest request, BoolVar placed) {
      List<Literal> mine = new ArrayList<>();
      mine.add(placed.not());
      int cubes = at.cubes(request);
      if (cubes > 0) {
        for (int pod = 0; pod < at.pods.size(); pod++) {
          if (at.freeCubes(pod).size() >= cubes) {
            BoolVar x = model.newBoolVar("");
            mine.add(x);
            choices.add(new Choice(r, x, null, pod));
            cubeRow.computeIfAbsent(pod, q -> new ArrayList<>()).add(x);
            cubeCounts.computeIfAbsent(pod, q -> new ArrayList<>()).add((long) cubes);
          }
        }
      } else {
        for (Positions.Position position : at.of(request)) {
          BoolVar x = model.newBoolVar("");
          mine.add(x);
          choices.add(new Choice(r, x, position, position.pod()));
          for (int cell : position.cells()) {
            byCell.computeIfAbsent(cell, c -> new ArrayList<>()).add(x);
          }
          if (at.pods.get(position.pod()).topology().isOptical()) {
            int pod = position.pod();
            int cube = at.cubeOf(pod, position.cells()[0]);
            if (at.freeCubes(pod).contains(cube)) {
              BoolVar isSplit =
                  split
                      .computeIfAbsent(pod, q -> new TreeMap<>())
                      .computeIfAbsent(cube, c -> model.newBoolVar("split"));
              model.addImplication(x, isSplit);
            }
          }
          if ((choices.size() & 0xFFF) == 0 && System.nanoTime() > deadline) {
            return false;
          }
        }
      }
      // Exactly one place, or not placed.
      model.addExactlyOne(mine);
      return System.nanoTime() < deadline;
    }

    private CpSolver solver(int workers) {
      CpSolver solver = new CpSolver();
      solver.getParameters().setNumWorkers(workers);
      solver.getParameters().setMaxTimeInSeconds(Math.max(1e-3, left()));
      return solver;
    }

    private double left() {
      return (deadline - System.nanoTime()) / 1e9;
    }

    Outcome solve(long since, int workers) {
      Loader.loadNativeLibraries();
      Placing[] nothing = new Placing[p.requests().size()];
      if (!build()) {
        return Outcome.of(since, Outcome.NO_SOLUTION, nothing, null);
      }
      CpSolver solver = solver(workers);
      CpSolverStatus status = solver.solve(model);
      if (status != CpSolverStatus.OPTIMAL && status != CpSolverStatus.FEASIBLE) {
        return Outcome.of(since, Outcome.NO_SOLUTION, nothing, null);
      }
      Placing[] placed = decode(solver);
      long[] values = weights.values(placed);
      return Outcome.of(
          since,
          status == CpSolverStatus.OPTIMAL ? Outcome.OPTIMAL : Outcome.DEADLINE,
          placed,
          weights.bounds(solver.bestObjectiveBound(), values));
    }

    private Placing[] decode(CpSolver solver) {
      Map<Integer, List<Choice>> chosen = new TreeMap<>();
      Map<Integer, List<Integer>> whole = new HashMap<>(); // cubes still to give, by pod
      for (Choice choice : choices) {
        if (solver.booleanValue(choice.literal())) {
          chosen.computeIfAbsent(choice.request(), r -> new ArrayList<>()).add(choice);
          if (choice.position() != null) {
            int pod = choice.pod();
            if (at.pods.get(pod).topology().isOptical()) {
              cubes(whole, pod).remove((Integer) at.cubeOf(pod, choice.position().cells()[0]));
            }
          }
        }
      }
      Placing[] placed = new Placing[p.requests().size()];
      chosen.forEach(
          (r, slices) -> {
            SliceRequest request = p.requests().get(r);
            List<String> pods = new ArrayList<>();
            List<Footprint> footprints = new ArrayList<>();
            for (Choice slice : slices) {
              pods.add(at.pods.get(slice.pod()).id());
              footprints.add(
                  slice.position() != null
                      ? slice.position().footprint()
                      : take(cubes(whole, slice.pod()), at.cubes(request)));
            }
            placed[r] = new Placing(Positions.shape(request), pods, footprints);
          });
      return placed;
    }

    private List<Integer> cubes(Map<Integer, List<Integer>> whole, int pod) {
      return whole.computeIfAbsent(pod, q -> new ArrayList<>(at.freeCubes(q)));
    }

    private static Footprint take(List<Integer> from, int count) {
      List<Integer> first = from.subList(0, count);
      Footprint cubes = new Footprint.Cubes(first.stream().map(CubeId::new).toList());
      first.clear();
      return cubes;
    }

    double reach(long since, long target, int workers) {
      Loader.loadNativeLibraries();
      if (!build()) {
        return -1;
      }
      CpSolver solver = solver(workers);
      double[] reached = {-1};
      solver.solve(
          model,
          new CpSolverSolutionCallback() {
            @Override
            public void onSolutionCallback() {
              // An exception here would end the JVM, so nothing but arithmetic happens.
              if (reached[0] < 0 && objectiveValue() >= target - 0.5) {
                reached[0] = Outcome.since(since);
                stopSearch();
              }
            }
          });
      return reached[0];
    }
  }
}
