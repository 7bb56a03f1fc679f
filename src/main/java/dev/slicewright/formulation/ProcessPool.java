package dev.slicewright.formulation;

import dev.slicewright.SolverUnavailableException;
import dev.slicewright.formulation.ChildProcess.State;
import dev.slicewright.formulation.ProcessWire.BadMessage;
import dev.slicewright.formulation.ProcessWire.In;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The children of one {@link ProcessFormulation}: starts, lends, retires and buries them. Safe for
 * concurrent use. One monitor guards everything and is notified of every change; nothing that could
 * block is done while it is held.
 */
final class ProcessPool implements Runnable {

  /** After a start that failed, others fail with the same words for so long. */
  private static final long FAILURE_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

  /** The most improving solutions that wait for a slow listener; older ones are dropped. */
  private static final int MAX_MAIL = 64;

  /** How long the thread of a process that has ended may take to read what is left. */
  private static final long EXIT_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

  private static final long CLOSE_NANOS = TimeUnit.SECONDS.toNanos(5);

  private final ProcessSettings settings;
  private final ScheduledThreadPoolExecutor timers;

  /** Guards all below and the fields of the children. */
  final Object lock = new Object();

  private final List<ChildProcess> children = new ArrayList<>();
  private int waiting;
  private boolean closed;
  private long calls;
  private long failures;
  private long failedAt;
  private String failure = "";

  ProcessPool(ProcessSettings settings) {
    this.settings = settings;
    this.timers =
        new ScheduledThreadPoolExecutor(
            1,
            task -> {
              Thread thread = new Thread(task, "slicewright-process-timer");
              thread.setDaemon(true);
              return thread;
            });
    timers.setRemoveOnCancelPolicy(true);
    timers.setKeepAliveTime(5, TimeUnit.SECONDS);
    timers.allowCoreThreadTimeOut(true);
  }

  ProcessSettings settings() {
    return settings;
  }

  /** Kills a child later if a condition, asked under the lock, holds then. */
  @Nullable Future<?> killLater(
      ChildProcess child, long nanos, BooleanSupplier condition, String why) {
    return later(
        nanos,
        () -> {
          synchronized (lock) {
            if (!condition.getAsBoolean()) {
              return;
            }
          }
          child.kill(why);
        });
  }

  private @Nullable Future<?> later(long nanos, Runnable task) {
    try {
      return timers.schedule(task, nanos, TimeUnit.NANOSECONDS);
    } catch (RejectedExecutionException e) {
      return null; // closed, so that every child is killed anyway
    }
  }

  private static void cancel(@Nullable Future<?> timer) {
    if (timer != null) {
      timer.cancel(false);
    }
  }

  void wake() {
    synchronized (lock) {
      lock.notifyAll();
    }
  }

  // ---------------------------------------------------------------- lending

  /** Starts a child if there is none. */
  void preload() {
    synchronized (lock) {
      if (!closed && children.isEmpty()) {
        start();
      }
    }
  }

  /**
   * Lends a child, one that has the model already where there is one; waits for it until the call
   * stops.
   *
   * @return the child, or null if the call had to stop first
   * @throws SolverUnavailableException if children cannot be started
   */
  @Nullable ChildProcess acquire(ProcessCall call, PlacementModel model) {
    synchronized (lock) {
      long before = failures;
      waiting++;
      try {
        while (true) {
          if (closed) {
            throw new SolverUnavailableException(
                "The process formulation " + settings.name() + " is closed; make a new one.", null);
          }
          ChildProcess free = free(model);
          if (free != null) {
            cancel(free.timer);
            free.timer = null;
            free.state = State.BUSY;
            free.holder = call;
            free.mail.clear();
            free.lastHeard = System.nanoTime();
            return free;
          }
          if (failures != before) {
            throw new SolverUnavailableException(failure, null);
          }
          if (!failure.isEmpty() && System.nanoTime() - failedAt < FAILURE_PAUSE_NANOS) {
            throw new SolverUnavailableException(failure, null);
          }
          if (call.mustStop()) {
            return null;
          }
          int busy = count(EnumSet.of(State.STARTING, State.IDLE, State.BUSY));
          if (count(EnumSet.of(State.STARTING)) < waiting
              && busy < settings.maxProcesses()
              && children.size() < 2 * settings.maxProcesses()) {
            start();
          }
          call.await(lock, call.remainingNanos());
        }
      } finally {
        waiting--;
      }
    }
  }

  private @Nullable ChildProcess free(PlacementModel model) {
    ChildProcess last = null;
    for (ChildProcess child : children) {
      if (child.state == State.IDLE && child.isAlive()) {
        WeakReference<PlacementModel> has = child.model;
        if (has != null && has.get() == model) {
          return child;
        }
        last = child;
      }
    }
    return last;
  }

  private int count(Set<State> states) {
    int n = 0;
    for (ChildProcess child : children) {
      n += states.contains(child.state) ? 1 : 0;
    }
    return n;
  }

  long nextCall(ChildProcess child) {
    synchronized (lock) {
      child.call = calls++;
      return child.call;
    }
  }

  /** Takes a child back that has answered, if this call still holds it. */
  void release(ProcessCall call, ChildProcess child, boolean solved) {
    boolean retire;
    synchronized (lock) {
      if (child.state != State.BUSY || child.holder != call) {
        return;
      }
      child.solves += solved ? 1 : 0;
      retire = !rest(child);
    }
    if (retire) {
      child.kill("it has solved as often as it may");
    }
  }

  /** Takes a child back that has not answered, if this call still holds it: it has the grace. */
  void abandon(ProcessCall call, ChildProcess child, boolean solving) {
    synchronized (lock) {
      if (child.state != State.BUSY || child.holder != call) {
        return;
      }
      child.solves += solving ? 1 : 0;
      child.state = State.WINDING;
      child.mail.clear();
      child.timer =
          killLater(
              child,
              settings.grace().toNanos(),
              () -> child.state == State.WINDING && child.holder == call,
              "it did not end within its grace");
      lock.notifyAll();
    }
  }

  /** Makes a child idle; false if it has to go. */
  private boolean rest(ChildProcess child) {
    cancel(child.timer);
    child.timer = null;
    child.holder = null;
    child.call = -1;
    child.mail.clear();
    if (closed || child.solves >= settings.solvesPerProcess()) {
      child.state = State.WINDING;
      return false;
    }
    child.state = State.IDLE;
    long calledBefore = calls;
    child.timer =
        killLater(
            child,
            settings.idle().toNanos(),
            () -> {
              boolean still = child.state == State.IDLE && child.idleSince == calledBefore;
              if (still) {
                child.state = State.WINDING; // so that nobody takes it any more
              }
              return still;
            },
            "it was idle");
    child.idleSince = calledBefore;
    lock.notifyAll();
    return true;
  }

  // ---------------------------------------------------------------- births and deaths

  private void start() {
    ChildProcess child = new ChildProcess(this, settings);
    children.add(child);
    child.timer =
        killLater(
            child,
            settings.startLimit().toNanos(),
            () -> child.state == State.STARTING,
            "it was not ready " + settings.startLimit() + " after it was started");
    Thread thread = new Thread(child, "slicewright-process-" + settings.name());
    thread.setDaemon(true);
    thread.start();
  }

  /** Called by a child's own thread. */
  void received(ChildProcess child, byte[] message) throws BadMessage {
    In in = new In(message);
    byte type = in.raw();
    String kill = "";
    synchronized (lock) {
      child.lastHeard = System.nanoTime();
      switch (type) {
        case ProcessWire.BEAT -> {}
        case ProcessWire.READY -> {
          in.string();
          Set<Formulation.Capability> can = ProcessWire.capabilities(in);
          if (!can.containsAll(settings.capabilities())) {
            child.refusal =
                "it was said to be capable of "
                    + settings.capabilities()
                    + ", but in its process it is of "
                    + can;
            kill = "it was refused";
          } else {
            failure = "";
            if (!rest(child)) {
              kill = "the formulation was closed";
            }
          }
        }
        case ProcessWire.REFUSED -> {
          child.refusal = in.string();
          kill = "it refused";
        }
        default -> {
          long call = in.number();
          if (call != child.call) {
            return; // from before
          }
          if (child.state == State.BUSY) {
            if (type == ProcessWire.SOLUTION && child.mail.size() >= MAX_MAIL) {
              child.mail.removeFirst();
            }
            child.mail.add(message);
            lock.notifyAll();
          } else if (child.state == State.WINDING
              && type != ProcessWire.SOLUTION
              && type != ProcessWire.THREW // which may be the last that it says
              && child.timer != null
              && !rest(child)) {
            kill = "it has solved as often as it may";
          }
        }
      }
    }
    if (!kill.isEmpty()) {
      child.kill(kill);
    }
  }

  /**
   * Called when a process has ended. Its thread sees that too, unless something that the process
   * started holds its output open.
   */
  void exited(ChildProcess child) {
    later(EXIT_NANOS, () -> died(child, () -> child.bury("")));
  }

  /** Called by a child's own thread, last. */
  void died(ChildProcess child, Supplier<String> last) {
    synchronized (lock) {
      if (!children.contains(child)) {
        return;
      }
    }
    String how = last.get();
    synchronized (lock) {
      if (!children.remove(child)) {
        return;
      }
      State was = child.state;
      cancel(child.timer);
      child.timer = null;
      child.state = State.DEAD;
      child.obituary = how;
      if (was == State.STARTING && !closed) {
        failures++;
        failedAt = System.nanoTime();
        failure =
            child.refusal.isEmpty()
                ? settings.name()
                    + " cannot run in a process of its own: "
                    + how
                    + ". Check java ("
                    + settings.java()
                    + "), jvmOptions, classPath and the class "
                    + settings.type()
                    + "."
                : settings.name() + " refuses to run in a process of its own: " + child.refusal;
      } else if ((was == State.BUSY || was == State.WINDING && child.call >= 0)
          && !closed
          && settings.solvesPerProcess() > 1
          && children.isEmpty()) {
        start(); // so that the next solve finds one
      }
      lock.notifyAll();
    }
  }

  /** Kills all children and refuses new calls; for the cleaner, so it does not wait. */
  @Override
  public void run() {
    List<ChildProcess> all;
    synchronized (lock) {
      closed = true;
      all = List.copyOf(children);
      lock.notifyAll();
    }
    all.forEach(child -> child.kill("the formulation was closed"));
    timers.shutdownNow();
  }

  /** As {@link #run()}, and waits until the children are gone. */
  void close() {
    run();
    long until = System.nanoTime() + CLOSE_NANOS;
    boolean interrupted = false;
    synchronized (lock) {
      while (!children.isEmpty() && until - System.nanoTime() > 0) {
        try {
          TimeUnit.NANOSECONDS.timedWait(lock, Math.max(1, until - System.nanoTime()));
        } catch (InterruptedException e) {
          interrupted = true;
          break;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** For tests. */
  List<Long> pids() {
    synchronized (lock) {
      return children.stream().map(ChildProcess::pid).filter(pid -> pid >= 0).toList();
    }
  }
}
