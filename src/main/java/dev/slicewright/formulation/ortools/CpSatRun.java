package dev.slicewright.formulation.ortools;

import com.google.ortools.sat.CpSolver;
import com.google.ortools.sat.CpSolverResponse;
import com.google.ortools.sat.CpSolverSolutionCallback;
import com.google.ortools.sat.CpSolverStatus;
import com.google.ortools.sat.SatParameters;
import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget.Mode;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One solve: the native side on a daemon thread, the caller waiting and watching. Safe for
 * concurrent use; {@link #call()} is called once.
 *
 * <p>A stop that comes before the native search exists is lost, so the watcher repeats it every 10
 * ms until the solve has returned. Nothing is ever thrown into native code.
 */
final class CpSatRun {

  /** From so many literals on, a quarter of the time left is kept in reserve. */
  static final int LARGE_LITERALS = 20_000;

  /** Models with fewer variables get one worker: more only cost start-up time. */
  static final int SMALL_VARIABLES = 100;

  /**
   * Deterministic seconds for each second of the budget's deadline. Placement models of 1,000 to
   * 10,000 variables were seen to use 0.05 to 0.55 of them in a second.
   */
  static final double DETERMINISTIC_SHARE = 0.25;

  private static final long STOP_EVERY_MILLIS = 10;
  private static final long DEADLINE_GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
  private static final long CANCEL_GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(40);

  private final PlacementModel model;
  private final FormulationTask task;
  private final Supplier<CpProgram> programs;
  private final AtomicInteger lingering;

  /** Guards all that follows, and is notified when something changes. */
  private final Object lock = new Object();

  private boolean done;
  private boolean closed;
  private @Nullable FormulationResult result;
  private @Nullable Throwable thrown;
  private int @Nullable [] incumbent;
  private String rejected = "";

  private volatile boolean stopRequested;
  private volatile @Nullable CpSolver solver;

  /**
   * Prepares a run.
   *
   * @param programs writes the task on the model as a CP-SAT program; called once, on the solver's
   *     thread; throws ArithmeticException if figures are too large
   */
  CpSatRun(
      PlacementModel model,
      FormulationTask task,
      Supplier<CpProgram> programs,
      AtomicInteger lingering) {
    this.model = model;
    this.task = task;
    this.programs = programs;
    this.lingering = lingering;
  }

  FormulationResult call() {
    Thread worker = new Thread(this::work, "slicewright-cp-sat");
    worker.setDaemon(true);
    boolean interrupted = false;
    CancelToken.Registration registration = task.cancel().onCancel(this::wake);
    try {
      worker.start();
      interrupted = watch();
      return collect(interrupted);
    } finally {
      registration.close();
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private void wake() {
    synchronized (lock) {
      lock.notifyAll();
    }
  }

  /** Waits for the end; returns whether this thread was interrupted. */
  private boolean watch() {
    boolean interrupted = false;
    boolean stopping = false;
    long releaseAt = task.deadlineNanos() + DEADLINE_GRACE_NANOS;
    while (true) {
      long now = System.nanoTime();
      boolean cancelled = interrupted || task.cancel().isCancelled();
      if (!stopping && (cancelled || task.deadlineNanos() - now <= 0)) {
        stopping = true;
        if (cancelled && now + CANCEL_GRACE_NANOS - releaseAt < 0) {
          releaseAt = now + CANCEL_GRACE_NANOS;
        }
      }
      if (stopping) {
        stop();
      }
      synchronized (lock) {
        if (done || now - releaseAt >= 0) {
          return interrupted;
        }
        long millis =
            stopping
                ? STOP_EVERY_MILLIS
                : 1 + TimeUnit.NANOSECONDS.toMillis(task.deadlineNanos() - now);
        if (!stopping && (interrupted || task.cancel().isCancelled())) {
          continue;
        }
        try {
          lock.wait(millis);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
  }

  private void stop() {
    stopRequested = true;
    CpSolver running = solver;
    if (running != null) {
      running.stopSearch();
    }
  }

  private FormulationResult collect(boolean interrupted) {
    synchronized (lock) {
      closed = true;
      if (done) {
        Throwable failure = thrown;
        if (failure instanceof RuntimeException e) {
          throw e;
        }
        if (failure instanceof Error e) {
          throw e;
        }
        FormulationResult found = result;
        if (found == null) {
          return new FormulationResult(
              Status.FAILED, null, null, "CP-SAT ended without a result: " + failure);
        }
        return cancelledUnlessProved(found, interrupted);
      }
      // The native side lingers: leave it to a watchdog.
      lingering.incrementAndGet();
      Thread watchdog = new Thread(this::stopUntilDone, "slicewright-cp-sat-watchdog");
      watchdog.setDaemon(true);
      watchdog.start();
      String message = "CP-SAT did not stop in time; its thread is left behind until it does";
      if (interrupted || task.cancel().isCancelled()) {
        return new FormulationResult(Status.CANCELLED, incumbent, null, message);
      }
      return incumbent == null
          ? new FormulationResult(Status.UNKNOWN, null, null, message)
          : new FormulationResult(Status.FEASIBLE, incumbent, null, message);
    }
  }

  private FormulationResult cancelledUnlessProved(FormulationResult found, boolean interrupted) {
    boolean open = found.status() == Status.FEASIBLE || found.status() == Status.UNKNOWN;
    return open && (interrupted || task.cancel().isCancelled())
        ? new FormulationResult(Status.CANCELLED, found.chosen(), found.bound(), found.message())
        : found;
  }

  private void stopUntilDone() {
    try {
      while (true) {
        stop();
        synchronized (lock) {
          if (done) {
            return;
          }
          lock.wait(STOP_EVERY_MILLIS);
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // nobody has this thread to interrupt it
    } finally {
      lingering.decrementAndGet();
    }
  }

  // ---- the solver's thread ---------------------------------------------------------------------

  private void work() {
    FormulationResult found = null;
    Throwable failure = null;
    try {
      found = solve();
    } catch (LinkageError e) {
      failure = OrToolsNatives.late(e);
    } catch (Throwable t) { // handed to the caller's thread
      failure = t;
    }
    synchronized (lock) {
      // What the listener threw came first.
      if (thrown == null) {
        result = found;
        thrown = failure;
      }
      done = true;
      solver = null;
      lock.notifyAll();
    }
  }

  private FormulationResult solve() {
    CpProgram program;
    boolean hinted = false;
    try {
      program = programs.get();
      int[] start = task.warmStart();
      if (start != null) {
        hinted = program.hint(start);
      }
    } catch (ArithmeticException e) {
      return new FormulationResult(Status.FAILED, null, null, String.valueOf(e.getMessage()));
    }
    double seconds = seconds(program.literals());
    if (stopRequested || seconds <= 0) {
      return new FormulationResult(
          Status.UNKNOWN, null, null, "no time was left after building the model");
    }
    CpSolver native0 = new CpSolver();
    configure(native0.getParameters(), program, seconds);
    solver = native0;
    if (stopRequested) {
      return new FormulationResult(Status.UNKNOWN, null, null, "stopped before the search");
    }
    CpSolverStatus status = native0.solve(program.cpModel(), new Listener(program));
    return read(program, status, native0.response(), hinted);
  }

  private double seconds(long literals) {
    long remaining = task.remainingNanos();
    long reserve = literals >= LARGE_LITERALS ? remaining / 4 : remaining / 10;
    return (remaining - reserve) / 1e9;
  }

  private void configure(SatParameters.Builder parameters, CpProgram program, double seconds) {
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
    }
    program.configure(parameters, task.variant());
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
    if (stopRequested) {
      return "; stopped";
    }
    boolean deterministic =
        task.budget().mode() != Mode.FAST
            && response.getDeterministicTime() >= 0.99 * deterministicLimit();
    return deterministic ? "; deterministic limit" : "; wall limit";
  }

  /** Called from native threads, one at a time; throws nothing. */
  private final class Listener extends CpSolverSolutionCallback {
    private final CpProgram program;

    Listener(CpProgram program) {
      this.program = program;
    }

    @Override
    public void onSolutionCallback() {
      try {
        int[] chosen = program.chosen(this::solutionIntegerValue);
        String complaint = program.complaint(chosen);
        boolean tell = false;
        synchronized (lock) {
          if (closed || thrown != null) {
            stopSearch();
          } else if (!complaint.isEmpty()) {
            rejected = complaint;
          } else {
            incumbent = chosen;
            tell = true;
          }
        }
        if (tell) { // outside the lock: the listener may wait for whoever waits for us
          task.listener().accept(chosen.clone());
        }
      } catch (Throwable t) { // an exception that reaches native code aborts the JVM
        synchronized (lock) {
          if (thrown == null) {
            thrown = t;
          }
        }
        stopSearch();
      }
    }
  }

  private FormulationResult read(
      CpProgram program, CpSolverStatus status, CpSolverResponse response, boolean hinted) {
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
    synchronized (lock) {
      if (!rejected.isEmpty()) {
        return failed("CP-SAT reported a solution that breaks the model: " + rejected, message);
      }
    }
    return switch (status) {
      case OPTIMAL, FEASIBLE -> solution(program, status, response, message);
      case INFEASIBLE -> new FormulationResult(Status.INFEASIBLE, null, null, message);
      case UNKNOWN -> new FormulationResult(Status.UNKNOWN, null, null, message);
      case MODEL_INVALID -> failed("CP-SAT refuses the model", message);
      case UNRECOGNIZED ->
          failed("CP-SAT gave a status that this version of Slicewright does not know", message);
    };
  }

  private FormulationResult solution(
      CpProgram program, CpSolverStatus status, CpSolverResponse response, String message) {
    int[] chosen = program.chosen(response::getSolution);
    String complaint = program.complaint(chosen);
    if (!complaint.isEmpty()) {
      return failed("CP-SAT returned a solution that breaks the model: " + complaint, message);
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
      return failed(
          "CP-SAT says OPTIMAL, but its bound " + bound + " is not the value " + value, message);
    }
    return new FormulationResult(
        optimal ? Status.OPTIMAL : Status.FEASIBLE, chosen, bound, message);
  }

  private static FormulationResult failed(String what, String message) {
    return new FormulationResult(Status.FAILED, null, null, what + " (" + message + ")");
  }
}
