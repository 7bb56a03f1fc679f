package dev.slicewright.bench;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.locks.LockSupport;

/**
 * Waits until this process does next to nothing: native solvers that were left behind at a limit
 * work on for a while and would slow down who comes next. Stateless.
 */
final class Quiet {

  private static final long LOOK_NANOS = 20_000_000;
  private static final long GIVE_UP_NANOS = 10_000_000_000L;

  private Quiet() {}

  static void await() {
    OperatingSystemMXBean system =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    long since = System.nanoTime();
    long wall = since;
    long cpu = system.getProcessCpuTime();
    do {
      LockSupport.parkNanos(LOOK_NANOS);
      long wallNow = System.nanoTime();
      long cpuNow = system.getProcessCpuTime();
      if (cpuNow - cpu < (wallNow - wall) / 5) {
        return;
      }
      wall = wallNow;
      cpu = cpuNow;
    } while (wall - since < GIVE_UP_NANOS);
  }
}
