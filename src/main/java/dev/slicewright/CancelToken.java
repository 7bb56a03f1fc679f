package dev.slicewright;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Asks a solve to come back with what it has. Safe for concurrent use.
 *
 * <p>{@link #cancel()} may be called from any thread, any number of times, and also before the
 * solve has begun. Cancelling is a result, not an exception: the plan says {@code CANCELLED}.
 */
public final class CancelToken {

  private final Object lock = new Object();
  private volatile boolean cancelled;
  private final List<Runnable> listeners = new ArrayList<>();

  /** Makes a token that is not cancelled. */
  public CancelToken() {}

  /**
   * Cancels; idempotent. Listeners run on the calling thread, once, in the order registered; if one
   * throws, the others run before its exception is thrown on.
   */
  public void cancel() {
    List<Runnable> toRun;
    synchronized (lock) {
      if (cancelled) {
        return;
      }
      cancelled = true;
      toRun = List.copyOf(listeners);
      listeners.clear();
    }
    RuntimeException failed = null;
    for (Runnable action : toRun) {
      try {
        action.run();
      } catch (RuntimeException e) {
        if (failed == null) {
          failed = e;
        } else {
          failed.addSuppressed(e);
        }
      }
    }
    if (failed != null) {
      throw failed;
    }
  }

  /**
   * Whether {@link #cancel()} was called.
   *
   * @return true from then on
   */
  public boolean isCancelled() {
    return cancelled;
  }

  /**
   * Runs an action when the token is cancelled, at once if it is already.
   *
   * @param action short and without exceptions; runs on the thread that cancels
   * @return a handle whose {@code close()} takes the action back; it does not wait for an action
   *     that runs already
   */
  public Registration onCancel(Runnable action) {
    Objects.requireNonNull(action, "action");
    // A wrapper of its own, so that closing one registration never removes another of the same
    // action.
    Runnable entry = new Entry(action);
    boolean now;
    synchronized (lock) {
      now = cancelled;
      if (!now) {
        listeners.add(entry);
      }
    }
    if (now) {
      entry.run();
    }
    return () -> {
      synchronized (lock) {
        listeners.remove(entry);
      }
    };
  }

  /** Takes an action back; safe from any thread, any number of times. Safe for concurrent use. */
  @FunctionalInterface
  public interface Registration extends AutoCloseable {
    /** Takes the action back: it does not run if cancelling has not begun. Never throws. */
    @Override
    void close();
  }

  private static final class Entry implements Runnable {
    private final Runnable action;

    Entry(Runnable action) {
      this.action = action;
    }

    @Override
    public void run() {
      action.run();
    }
  }
}
