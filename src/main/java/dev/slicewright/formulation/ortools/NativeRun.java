package dev.slicewright.formulation.ortools;

import dev.slicewright.CancelToken;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * One solve: the native side on a daemon thread, the caller waiting and watching. Safe for
 * concurrent use; {@link #call()} is called once.
 *
 * <p>A stop that comes before the native search exists is lost, so the watcher repeats it every 10
 * ms until the solve has returned. Nothing is ever thrown into native code.
 */
abstract class NativeRun {

  private static final long STOP_EVERY_MILLIS = 10;
  private static final long DEADLINE_GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
  private static final long CANCEL_GRACE_NANOS = TimeUnit.MILLISECONDS.toNanos(40);

  final PlacementModel model;
  final FormulationTask task;
  private final String solverName;
  private final String threadName;
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

  /**
   * Prepares.
   *
   * @param solverName for people
   * @param threadName of the native side
   * @param lingering counts the threads left behind
   */
  NativeRun(
      PlacementModel model,
      FormulationTask task,
      String solverName,
      String threadName,
      AtomicInteger lingering) {
    this.model = model;
    this.task = task;
    this.solverName = solverName;
    this.threadName = threadName;
    this.lingering = lingering;
  }

  // ---- what the subclass does ------------------------------------------------------------------

  /** Solves; called on a thread of its own, and may throw anything. */
  abstract FormulationResult solve();

  /** Tells the native side to stop, if it runs; called again and again, from any thread. */
  abstract void stopNative();

  // ---- what the subclass may ask ---------------------------------------------------------------

  final boolean stopRequested() {
    return stopRequested;
  }

  /** Why a solution reported before was turned down, or empty. */
  final String rejected() {
    synchronized (lock) {
      return rejected;
    }
  }

  /**
   * Takes a solution that the native side reports while it runs, and tells the listener. Throws
   * nothing: an exception that reaches native code aborts the JVM.
   *
   * @return whether the search should go on
   */
  final boolean report(Supplier<int[]> solution, Function<int[], String> complaintOf) {
    try {
      int[] chosen = solution.get();
      String complaint = complaintOf.apply(chosen);
      synchronized (lock) {
        if (closed || thrown != null) {
          return false;
        }
        if (!complaint.isEmpty()) {
          rejected = complaint;
          return true;
        }
        incumbent = chosen;
      }
      // Outside the lock: the listener may wait for whoever waits for us.
      task.listener().accept(chosen.clone());
      return true;
    } catch (Throwable t) {
      synchronized (lock) {
        if (thrown == null) {
          thrown = t;
        }
      }
      return false;
    }
  }

  /** Seconds that a solve may take so as to be back in time; a share of the rest is kept back. */
  final double seconds(boolean large) {
    long remaining = task.remainingNanos();
    return (remaining - (large ? remaining / 4 : remaining / 10)) / 1e9;
  }

  final FormulationResult failed(String what, String message) {
    return new FormulationResult(
        Status.FAILED, null, null, solverName + " " + what + " (" + message + ")");
  }

  static FormulationResult unknown(String message) {
    return new FormulationResult(Status.UNKNOWN, null, null, message);
  }

  // ---- the caller's thread ---------------------------------------------------------------------

  final FormulationResult call() {
    Thread worker = new Thread(this::work, threadName);
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
    stopNative();
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
              Status.FAILED, null, null, solverName + " ended without a result: " + failure);
        }
        return cancelledUnlessProved(found, interrupted);
      }
      // The native side lingers: leave it to a watchdog.
      lingering.incrementAndGet();
      Thread watchdog = new Thread(this::stopUntilDone, threadName + "-watchdog");
      watchdog.setDaemon(true);
      watchdog.start();
      String message =
          solverName + " did not stop in time; its thread is left behind until it does";
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
        ? new FormulationResult(
            Status.CANCELLED,
            found.chosen(),
            found.bound(),
            found.message(),
            found.prices(),
            found.limit())
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
      lock.notifyAll();
    }
  }
}
