package dev.slicewright.solve;

import dev.slicewright.CancelToken;
import java.util.function.BooleanSupplier;

/** When a solve has to end: its deadline, or its cancellation. */
final class Stop implements BooleanSupplier {

  private final CancelToken token;
  private volatile long deadlineNanos;

  Stop(CancelToken token, long deadlineNanos) {
    this.token = token;
    this.deadlineNanos = deadlineNanos;
  }

  boolean isCancelled() {
    return token.isCancelled();
  }

  boolean isLate() {
    return System.nanoTime() - deadlineNanos >= 0;
  }

  long deadlineNanos() {
    return deadlineNanos;
  }

  /** Ends earlier, if that is earlier than now known. */
  void bringForward(long nanos) {
    if (nanos - deadlineNanos < 0) {
      deadlineNanos = nanos;
    }
  }

  CancelToken token() {
    return token;
  }

  long remainingNanos() {
    return Math.max(0, deadlineNanos - System.nanoTime());
  }

  @Override
  public boolean getAsBoolean() {
    return token.isCancelled() || isLate();
  }
}
