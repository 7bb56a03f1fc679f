package dev.slicewright.formulation;

import dev.slicewright.CancelToken;
import dev.slicewright.SolverUnavailableException;
import dev.slicewright.formulation.ChildProcess.State;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.ProcessWire.BadMessage;
import dev.slicewright.formulation.ProcessWire.In;
import dev.slicewright.formulation.ProcessWire.Out;
import dev.slicewright.formulation.ProcessWire.TooLong;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.util.Locale;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One question to a child, on its caller's thread, which is let go in time whatever the child does.
 * Confined to one thread at a time, but for the cancel that wakes it.
 */
final class ProcessCall {

  /** The longest that a caller is held after its deadline, and after a cancel. */
  private static final long MAX_RELEASE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private static final long MIN_RELEASE_NANOS = TimeUnit.MILLISECONDS.toNanos(2);
  private static final long CANCEL_RELEASE_NANOS = TimeUnit.MILLISECONDS.toNanos(40);

  /** What the child's deadline comes earlier, so that its answer is here in time. */
  private static final long MAX_MARGIN_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

  /** A child tells every half second that it lives. */
  private static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final ProcessPool pool;
  private final PlacementModel model;
  private final FormulationTask task;
  private final long startedAt = System.nanoTime();
  private final long release;
  private boolean interrupted;
  private boolean stopping;
  private long releaseAt;
  private int @Nullable [] incumbent;

  // Guarded by the pool's lock.
  private @Nullable ChildProcess sendingTo;
  private @Nullable Future<?> cancelGuard;

  ProcessCall(ProcessPool pool, PlacementModel model, FormulationTask task) {
    this.pool = pool;
    this.model = model;
    this.task = task;
    this.release =
        Math.min(MAX_RELEASE_NANOS, Math.max(MIN_RELEASE_NANOS, task.remainingNanos() / 20));
    this.releaseAt = task.deadlineNanos() + release;
  }

  /** What comes of a question: a message of the child, or nothing. */
  private interface Conversation<T> {
    T with(ChildProcess child) throws BadMessage;
  }

  // ---------------------------------------------------------------- questions

  FormulationResult solve() {
    return call(this::solve, this::ended, this::failed, true);
  }

  /** One sentence, or an empty string if the child takes the model. */
  String whyNot() {
    return call(
        this::whyNot,
        what -> "No answer came in time: " + what + ".",
        what -> "It failed: " + what + ".",
        false);
  }

  private <T> T call(
      Conversation<T> conversation,
      Function<String, T> late,
      Function<String, T> failed,
      boolean solving) {
    CancelToken.Registration registration = task.cancel().onCancel(this::cancelled);
    ChildProcess child = null;
    try {
      child = pool.acquire(this, model);
      if (child == null) {
        return late.apply("no process was ready, they are busy or still being started");
      }
      return conversation.with(child);
    } catch (BadMessage e) {
      if (child != null) {
        child.kill("it sent what nobody understands: " + e.getMessage());
      }
      return failed.apply("its process sent what nobody understands: " + e.getMessage());
    } finally {
      registration.close();
      if (child != null) {
        pool.abandon(this, child, solving); // does nothing where it was released
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private FormulationResult solve(ChildProcess child) throws BadMessage {
    String trouble = load(child);
    if (trouble != null) {
      return trouble.isEmpty() ? missing(child) : failed(trouble);
    }
    if (mustStop()) {
      pool.release(this, child, false);
      return ended("no time was left after the model was sent");
    }
    long call = pool.nextCall(child);
    Out order = new Out(ProcessWire.SOLVE).number(call).number(child.modelId);
    ProcessWire.task(order, earlier());
    send(child, order);
    byte[] message;
    while ((message = await(child)) != null) {
      In in = new In(message);
      byte type = in.raw();
      in.number();
      switch (type) {
        case ProcessWire.SOLUTION -> improved(child, in.solution());
        case ProcessWire.RESULT -> {
          FormulationResult result = ProcessWire.result(in);
          pool.release(this, child, true);
          return settled(result);
        }
        case ProcessWire.UNAVAILABLE -> {
          pool.release(this, child, true);
          throw new SolverUnavailableException(in.string(), null);
        }
        case ProcessWire.THREW -> {
          return failed("it threw " + threw(child, in, true));
        }
        default -> throw new BadMessage("message " + type + " answers no solve");
      }
    }
    return missing(child);
  }

  private String whyNot(ChildProcess child) throws BadMessage {
    String trouble = load(child);
    if (trouble == null) {
      long call = pool.nextCall(child);
      Out order = new Out(ProcessWire.WHY_NOT).number(call).number(child.modelId);
      ProcessWire.task(order, earlier());
      send(child, order);
      byte[] message = await(child);
      if (message != null) {
        In in = new In(message);
        byte type = in.raw();
        in.number();
        if (type != ProcessWire.WHY) {
          return "It was asked and threw " + threw(child, in, false);
        }
        pool.release(this, child, false);
        return in.string();
      }
      trouble = "";
    }
    if (!trouble.isEmpty()) {
      return trouble;
    }
    return String.valueOf(missing(child).message());
  }

  /** Sends the model if the child does not have it; null if it has, empty if it did not answer. */
  private @Nullable String load(ChildProcess child) throws BadMessage {
    WeakReference<PlacementModel> has = child.model;
    if (has != null && has.get() == model) {
      return null;
    }
    child.model = null;
    long call = pool.nextCall(child);
    Out out = new Out(ProcessWire.MODEL).number(call);
    try {
      ProcessWire.model(out, model);
    } catch (TooLong e) {
      pool.release(this, child, false);
      return "The model is too large for a process of its own: " + e.getMessage() + ".";
    }
    send(child, out);
    byte[] message = await(child);
    if (message == null) {
      return "";
    }
    In in = new In(message);
    byte type = in.raw();
    in.number();
    if (type != ProcessWire.MODEL_TAKEN) {
      return "The process did not take the model: " + threw(child, in, false);
    }
    child.modelId = call;
    child.model = new WeakReference<>(model);
    return null;
  }

  /** What the child threw; after some of that it ends. */
  private String threw(ChildProcess child, In in, boolean solving) throws BadMessage {
    boolean last = in.flag();
    String what = in.string();
    if (last) {
      pool.abandon(this, child, solving);
    } else {
      pool.release(this, child, solving);
    }
    return what;
  }

  private FormulationTask earlier() {
    long margin = Math.min(MAX_MARGIN_NANOS, task.remainingNanos() / 20);
    return new FormulationTask(
        task.level(),
        task.held(),
        task.deadlineNanos() - margin,
        task.budget(),
        task.variant(),
        task.warmStart(),
        task.listener(),
        task.cancel());
  }

  private void improved(ChildProcess child, int @Nullable [] chosen) throws BadMessage {
    if (chosen == null || chosen.length != model.items().size()) {
      throw new BadMessage("a solution of another model");
    }
    incumbent = chosen;
    boolean heard = false;
    try {
      task.listener().accept(chosen.clone());
      heard = true;
    } finally {
      if (!heard) {
        send(child, new Out(ProcessWire.CANCEL).number(child.call));
      }
    }
  }

  // ---------------------------------------------------------------- results

  private boolean isCancelled() {
    return interrupted || task.cancel().isCancelled();
  }

  private FormulationResult settled(FormulationResult r) {
    int[] chosen = r.chosen() == null ? incumbent : r.chosen();
    return switch (r.status()) {
      case OPTIMAL, INFEASIBLE -> r;
      case FAILED -> new FormulationResult(Status.FAILED, chosen, r.bound(), r.message());
      case FEASIBLE, UNKNOWN, CANCELLED ->
          // At the deadline it was told to stop, which it may call a cancel.
          new FormulationResult(
              isCancelled() ? Status.CANCELLED : chosen == null ? Status.UNKNOWN : Status.FEASIBLE,
              chosen,
              r.bound(),
              r.message());
    };
  }

  private FormulationResult failed(String why) {
    return new FormulationResult(Status.FAILED, incumbent, null, why);
  }

  /** Out of time, or cancelled. */
  private FormulationResult ended(String why) {
    Status status =
        isCancelled() ? Status.CANCELLED : incumbent == null ? Status.UNKNOWN : Status.FEASIBLE;
    return new FormulationResult(status, incumbent, null, why);
  }

  /** It did not answer: it is dead, or late. */
  private FormulationResult missing(ChildProcess child) {
    String obituary;
    synchronized (pool.lock) {
      obituary = child.state == State.DEAD ? child.obituary : "";
    }
    if (obituary.isEmpty()) {
      return ended(
          "its process did not answer in time; it is killed where it does not within "
              + pool.settings().grace());
    }
    double seconds = (System.nanoTime() - startedAt) / 1e9;
    return failed(
        String.format(Locale.ROOT, "%.3f s into the call %s", seconds, obituary)
            + (incumbent == null ? "" : "; its best solution until then is kept"));
  }

  // ---------------------------------------------------------------- waiting

  boolean mustStop() {
    return isCancelled() || remainingNanos() == 0;
  }

  long remainingNanos() {
    return task.remainingNanos();
  }

  /** Waits on a monitor that this thread holds; an interrupt is remembered. */
  void await(Object lock, long nanos) {
    try {
      TimeUnit.NANOSECONDS.timedWait(lock, Math.max(1, nanos));
    } catch (InterruptedException e) {
      interrupted = true;
    }
  }

  /** The next message of the child, or null if it is dead or this caller has to go. */
  private byte @Nullable [] await(ChildProcess child) {
    while (true) {
      boolean tell = false;
      String kill = "";
      synchronized (pool.lock) {
        byte[] message = child.mail.poll();
        if (message != null) {
          return message;
        }
        long now = System.nanoTime();
        if (child.state == State.DEAD || stopping && now - releaseAt >= 0) {
          return null;
        }
        boolean cancelled = isCancelled();
        if (!stopping && (cancelled || now - task.deadlineNanos() >= 0)) {
          stopping = true;
          tell = true;
          if (cancelled && now + CANCEL_RELEASE_NANOS - releaseAt < 0) {
            releaseAt = now + CANCEL_RELEASE_NANOS;
          }
        } else if (now - child.lastHeard >= SILENCE_NANOS) {
          child.lastHeard = now;
          kill = "it gave no sign of life for " + SILENCE_NANOS / 1_000_000_000 + " s";
        } else {
          long until = (stopping ? releaseAt : task.deadlineNanos()) - now;
          await(pool.lock, Math.min(until, child.lastHeard + SILENCE_NANOS - now));
        }
      }
      if (tell) {
        send(child, new Out(ProcessWire.CANCEL).number(child.call));
      }
      if (!kill.isEmpty()) {
        child.kill(kill);
      }
    }
  }

  // ---------------------------------------------------------------- sending

  /** Runs on the thread that cancels. */
  private void cancelled() {
    synchronized (pool.lock) {
      guardCancel();
      pool.lock.notifyAll();
    }
  }

  private void guardCancel() {
    ChildProcess child = sendingTo;
    if (child != null && cancelGuard == null) {
      cancelGuard =
          pool.killLater(
              child, CANCEL_RELEASE_NANOS, () -> sendingTo == child, "it did not read its input");
    }
  }

  /** Sends; where the child does not read, it is killed when this caller has to go. */
  private void send(ChildProcess child, Out message) {
    long left = Math.max(0, releaseAt - System.nanoTime()) + release;
    Future<?> guard;
    synchronized (pool.lock) {
      sendingTo = child;
      guard = pool.killLater(child, left, () -> sendingTo == child, "it did not read its input");
      if (task.cancel().isCancelled()) {
        guardCancel();
      }
    }
    try {
      child.send(message);
    } catch (IOException e) {
      child.kill("its input is closed"); // only says so where it is not dead already
    } finally {
      if (guard != null) {
        guard.cancel(false);
      }
      synchronized (pool.lock) {
        sendingTo = null;
        if (cancelGuard != null) {
          cancelGuard.cancel(false);
          cancelGuard = null;
        }
      }
    }
  }
}
