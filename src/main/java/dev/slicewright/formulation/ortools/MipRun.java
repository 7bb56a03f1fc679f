package dev.slicewright.formulation.ortools;

import com.google.ortools.modelbuilder.ModelBuilderHelper;
import com.google.ortools.modelbuilder.ModelSolverHelper;
import com.google.ortools.modelbuilder.SolveStatus;
import dev.slicewright.SolverUnavailableException;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Limit;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.ortools.MipFormulation.Solver;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * One solve by a solver of ModelBuilder. Safe for concurrent use; {@link #call()} is called once.
 *
 * <p>Native memory is given back right after the solve. To stop a solver that was given back would
 * be fatal, so both happen under one lock.
 */
class MipRun extends NativeRun {

  /** By how much a bound in doubles may be wrong: absolute, and relative to its magnitude. */
  private static final double BOUND_TOLERANCE = 1e-6;

  private static final double BOUND_ERROR = 1e-9;

  /** From so many literals on, a quarter of the time left is kept in reserve. */
  private static final int LARGE_LITERALS = 20_000;

  private final Solver kind;
  private final Object handover = new Object();
  private @Nullable ModelSolverHelper running;

  MipRun(PlacementModel model, FormulationTask task, Solver kind, AtomicInteger lingering) {
    super(
        model,
        task,
        kind.title(),
        "slicewright-" + kind.title().toLowerCase(Locale.ROOT),
        lingering);
    this.kind = kind;
  }

  /** What the solver left, read before its memory is given back. */
  record Answer(
      SolveStatus status,
      String words,
      double @Nullable [] values,
      double bound,
      double[] duals,
      double[] reducedCosts) {}

  @Override
  FormulationResult solve() {
    MipProgram program;
    try {
      program = new MipProgram(model, ItemClasses.of(model), task.level(), task.held());
    } catch (ArithmeticException e) {
      return new FormulationResult(Status.FAILED, null, null, String.valueOf(e.getMessage()));
    }
    if (program.impossible()) {
      return new FormulationResult(
          Status.INFEASIBLE, null, null, "a row that nothing can change does not hold");
    }
    boolean integer = kind != Solver.GLOP;
    ModelBuilderHelper built = program.inNativeMemory(integer);
    try {
      boolean hinted = false;
      int[] start = task.warmStart();
      if (start != null && kind.takesHints()) {
        PlacementProgram.Hint hint = program.hint(start).orElse(null);
        for (int v = 0; hint != null && hint.complete() && v < hint.values().length; v++) {
          built.addHint(v, hint.values()[v]);
        }
        hinted = hint != null && hint.complete();
      }
      double seconds = seconds(program.literals() >= LARGE_LITERALS);
      if (stopRequested() || seconds <= 0) {
        return unknown("no time was left after building the model");
      }
      Answer answer = run(built, program, seconds);
      String message =
          String.format(
              Locale.ROOT,
              "%s; %d variables, %d rows, %d literals%s%s",
              answer.status(),
              program.variables(),
              program.origins().size(),
              program.literals(),
              hinted ? "; warm start complete" : "",
              answer.words().isEmpty() ? "" : "; " + answer.words());
      return read(program, answer, message);
    } finally {
      built.delete();
    }
  }

  private Answer run(ModelBuilderHelper built, MipProgram program, double seconds) {
    ModelSolverHelper solver = new ModelSolverHelper(kind.name());
    try {
      solver.enableOutput(false);
      solver.setTimeLimitInSeconds(seconds);
      solver.setSolverSpecificParameters(
          kind.parameters(task, program.variables() < CpSatRun.SMALL_VARIABLES));
      synchronized (handover) {
        running = solver;
      }
      solver.solve(built);
      synchronized (handover) {
        running = null;
      }
      if (!solver.hasResponse()) {
        return new Answer(
            SolveStatus.ABNORMAL, "no response", null, Double.NaN, new double[0], new double[0]);
      }
      double[] values = null;
      double[] duals = new double[0];
      double[] reducedCosts = new double[0];
      if (solver.hasSolution()) {
        values = new double[program.variables()];
        for (int v = 0; v < values.length; v++) {
          values[v] = solver.getVariableValue(v);
        }
        if (kind == Solver.GLOP) {
          duals = new double[program.origins().size()];
          for (int r = 0; r < duals.length; r++) {
            duals[r] = solver.getDualValue(r);
          }
          reducedCosts = new double[values.length];
          for (int v = 0; v < values.length; v++) {
            reducedCosts[v] = solver.getReducedCost(v);
          }
        }
      }
      return new Answer(
          solver.getStatus(),
          solver.getStatusString(),
          values,
          solver.getBestObjectiveBound(),
          duals,
          reducedCosts);
    } finally {
      synchronized (handover) {
        running = null;
        solver.delete();
      }
    }
  }

  @Override
  void stopNative() {
    synchronized (handover) {
      if (running != null) {
        running.interruptSolve();
      }
    }
  }

  FormulationResult read(MipProgram program, Answer answer, String message) {
    SolveStatus status = answer.status();
    if (status == SolveStatus.SOLVER_TYPE_UNAVAILABLE) {
      throw new SolverUnavailableException(
          kind.title()
              + " is not part of this build of OR-Tools, or was not found ("
              + message
              + ").",
          null);
    }
    if (status == SolveStatus.OPTIMAL || status == SolveStatus.FEASIBLE) {
      return solution(program, answer, message);
    }
    if (status == SolveStatus.INFEASIBLE) {
      return new FormulationResult(Status.INFEASIBLE, null, null, message);
    }
    if (status == SolveStatus.NOT_SOLVED
        || status == SolveStatus.CANCELLED_BY_USER
        || status == SolveStatus.UNKNOWN_STATUS) { // HiGHS at a limit, whatever it has found
      return unknown(message + limit()).endedBy(Limit.TIME);
    }
    return failed("ended in a way that no placement model should lead to", message);
  }

  final String limit() {
    return stopRequested() ? "; stopped" : "; wall limit";
  }

  private FormulationResult solution(MipProgram program, Answer answer, String message) {
    double[] values = answer.values();
    if (values == null) {
      return failed("claims a solution and has none", message);
    }
    int[] chosen = program.chosen(v -> Math.round(values[v]));
    String complaint = program.complaint(chosen);
    if (!complaint.isEmpty()) {
      return failed("returned a solution that breaks the model: " + complaint, message);
    }
    long value = model.evaluate(chosen)[task.level()];
    Long bound = bound(program, answer.bound());
    boolean maximise = model.levels().get(task.level()).maximise();
    if (bound != null && (maximise ? bound < value : bound > value)) {
      return failed(
          "claims the bound " + bound + ", which its value " + value + " passes", message);
    }
    // OPTIMAL alone may mean: within a tolerance. Only a met bound is a claim worth making.
    boolean optimal = answer.status() == SolveStatus.OPTIMAL && bound != null && bound == value;
    return optimal
        ? new FormulationResult(Status.OPTIMAL, chosen, bound, message)
        : new FormulationResult(Status.FEASIBLE, chosen, bound, message + limit())
            .endedBy(answer.status() == SolveStatus.FEASIBLE ? Limit.TIME : Limit.NONE);
  }

  /** The bound of a level, rounded away from the value by what doubles may be wrong. */
  private static @Nullable Long bound(MipProgram program, double lowest) {
    if (!program.hasObjective()) {
      return 0L;
    }
    if (!(Math.abs(lowest) < MipProgram.MAX_DOUBLE_SUM)) {
      return null; // none was found
    }
    double error = BOUND_TOLERANCE + BOUND_ERROR * Math.abs(lowest);
    return program.boundOfLevel((long) Math.ceil(lowest - error));
  }
}
