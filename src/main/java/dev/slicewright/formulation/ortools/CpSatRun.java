package dev.slicewright.formulation.ortools;

import com.google.ortools.sat.CpSolver;
import com.google.ortools.sat.CpSolverResponse;
import com.google.ortools.sat.CpSolverSolutionCallback;
import com.google.ortools.sat.CpSolverStatus;
import com.google.ortools.sat.SatParameters;
import dev.slicewright.SolveBudget.Mode;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Limit;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** One solve by CP-SAT. Safe for concurrent use; {@link #call()} is called once. */
final class CpSatRun extends NativeRun {

  /** From so many literals on, a quarter of the time left is kept in reserve. */
  static final int LARGE_LITERALS = 20_000;

  /** Models with fewer variables get one worker: more only cost start-up time. */
  static final int SMALL_VARIABLES = 100;

  /**
   * Deterministic seconds for each second of the budget's deadline. Placement models of 1,000 to
   * 10,000 variables were seen to use 0.05 to 0.55 of them in a second.
   */
  static final double DETERMINISTIC_SHARE = 0.25;

  private volatile @Nullable CpSolver solver;

  CpSatRun(PlacementModel model, FormulationTask task, AtomicInteger lingering) {
    super(model, task, "CP-SAT", "slicewright-cp-sat", lingering);
  }

  @Override
  FormulationResult solve() {
    CpSatProgram program;
    boolean hinted = false;
    try {
      program = new CpSatProgram(model, ItemClasses.of(model), task.level(), task.held());
      int[] start = task.warmStart();
      if (start != null) {
        hinted = program.addHint(start);
      }
    } catch (ArithmeticException e) {
      return new FormulationResult(Status.FAILED, null, null, String.valueOf(e.getMessage()));
    }
    double seconds = seconds(program.literals() >= LARGE_LITERALS);
    if (stopRequested() || seconds <= 0) {
      return unknown("no time was left after building the model");
    }
    CpSolver native0 = new CpSolver();
    configure(native0.getParameters(), program, seconds);
    solver = native0;
    if (stopRequested()) {
      return unknown("stopped before the search");
    }
    CpSolverStatus status = native0.solve(program.cpModel(), new Listener(program));
    solver = null;
    return read(program, status, native0.response(), hinted);
  }

  @Override
  void stopNative() {
    CpSolver running = solver;
    if (running != null) {
      running.stopSearch();
    }
  }

  private void configure(SatParameters.Builder parameters, CpSatProgram program, double seconds) {
    Mode mode = task.budget().mode();
    int workers = program.variables() < SMALL_VARIABLES ? 1 : task.budget().workers();
    parameters
        .setLogToStdout(false)
        .setCatchSigintSignal(false) // the JVM's own handler stays in place
        .setNumWorkers(workers)
        .setMaxTimeInSeconds(seconds);
    long seed = task.budget().seed();
    if (task.variant() != 0) {
      seed = seed * 0x9E3779B97F4A7C15L + 0x632BE59BD9B4E019L * task.variant();
      // Most wrong answers of CP-SAT came out of its presolve: the second opinion goes without.
      parameters.setCpModelPresolve(false).setLinearizationLevel(2);
    } else {
      // Equal items are one already, and probing costs more than it gains on packing rows.
      parameters.setCpModelProbingLevel(0).setSymmetryLevel(0);
    }
    parameters.setRandomSeed(Long.hashCode(seed) & Integer.MAX_VALUE);
    if (mode != Mode.FAST) {
      parameters.setMaxDeterministicTime(deterministicLimit());
    }
    if (mode == Mode.REPRODUCIBLE_PARALLEL && workers > 1) {
      parameters.setInterleaveSearch(true);
    }
    if (task.budget().gapTarget() > 0) {
      // Relative to the value, which is never smaller than relative to the bound where maximised.
      parameters.setRelativeGapLimit(task.budget().gapTarget());
    }
  }

  private double deterministicLimit() {
    return DETERMINISTIC_SHARE * (task.budget().deadline().toMillis() + 1) / 1e3;
  }

  /** What ended a solve without a proof. */
  private String limit(CpSolverStatus status, CpSolverResponse response) {
    if (status != CpSolverStatus.FEASIBLE && status != CpSolverStatus.UNKNOWN) {
      return "";
    }
    if (stopRequested()) {
      return "; stopped";
    }
    return endedBy(response) == Limit.WORK ? "; deterministic limit" : "; wall limit";
  }

  private Limit endedBy(CpSolverResponse response) {
    return task.budget().mode() != Mode.FAST
            && response.getDeterministicTime() >= 0.99 * deterministicLimit()
        ? Limit.WORK
        : Limit.TIME;
  }

  /** Called from native threads, one at a time; throws nothing. */
  private final class Listener extends CpSolverSolutionCallback {
    private final CpSatProgram program;

    Listener(CpSatProgram program) {
      this.program = program;
    }

    @Override
    public void onSolutionCallback() {
      boolean goOn = report(() -> program.chosen(this::solutionIntegerValue), program::complaint);
      if (!goOn) {
        stopSearch();
      }
    }
  }

  private FormulationResult read(
      CpSatProgram program, CpSolverStatus status, CpSolverResponse response, boolean hinted) {
    String message =
        String.format(
            Locale.ROOT,
            "%s; %d variables, %d literals, %.6f deterministic s%s%s%s",
            status,
            program.variables(),
            program.literals(),
            response.getDeterministicTime(),
            limit(status, response),
            hinted ? "; warm start complete" : "",
            response.getSolutionInfo().isEmpty() ? "" : "; " + response.getSolutionInfo());
    if (!rejected().isEmpty()) {
      return failed("reported a solution that breaks the model: " + rejected(), message);
    }
    return switch (status) {
      case OPTIMAL, FEASIBLE -> solution(program, status, response, message);
      case INFEASIBLE -> new FormulationResult(Status.INFEASIBLE, null, null, message);
      case UNKNOWN -> unknown(message).endedBy(endedBy(response));
      case MODEL_INVALID -> failed("refuses the model", message);
      case UNRECOGNIZED ->
          failed("gave a status that this version of Slicewright does not know", message);
    };
  }

  private FormulationResult solution(
      CpSatProgram program, CpSolverStatus status, CpSolverResponse response, String message) {
    int[] chosen = program.chosen(response::getSolution);
    String complaint = program.complaint(chosen);
    if (!complaint.isEmpty()) {
      return failed("returned a solution that breaks the model: " + complaint, message);
    }
    long value = model.evaluate(chosen)[task.level()];
    Long bound;
    try {
      bound =
          program.hasObjective()
              ? (Long) program.boundOfLevel(response.getInnerObjectiveLowerBound())
              : (Long) 0L;
    } catch (ArithmeticException e) {
      bound = null; // no bound was found: CP-SAT gives the smallest long
    }
    // Within a gap limit CP-SAT says OPTIMAL; only a met bound is one.
    boolean optimal = status == CpSolverStatus.OPTIMAL && bound != null && bound == value;
    if (status == CpSolverStatus.OPTIMAL && !optimal && task.budget().gapTarget() == 0) {
      return failed("says OPTIMAL, but its bound " + bound + " is not the value " + value, message);
    }
    FormulationResult result =
        new FormulationResult(optimal ? Status.OPTIMAL : Status.FEASIBLE, chosen, bound, message);
    return status == CpSolverStatus.FEASIBLE ? result.endedBy(endedBy(response)) : result;
  }
}
