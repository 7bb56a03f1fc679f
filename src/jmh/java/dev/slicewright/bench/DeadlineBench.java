package dev.slicewright.bench;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.formulation.ortools.CpSatFormulation;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.StopReason;
import dev.slicewright.solve.SlicePlanner;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Do plans come back in time? Plans random problems (tori of up to 8,960 chips, pods of optical
 * cubes, sixteen v6e pods, sixteen mixed pods; up to 300 requests with every feature) with a
 * deadline, two workers and {@code FAST}, and reports how late each return was; then cancels each
 * of them at a random time, some before the start, and reports the time from {@code cancel()} to
 * the return. Every plan is verified. Ends with exit code 1 if a return or a cancel is late by more
 * than 100 ms, or a plan is refused, and prints those with their seeds and phases. On a machine
 * that is busy with other things the scheduler alone makes plans late: see the CPU time beside the
 * wall time.
 *
 * <p>{@code mvn -q -Psolve-bench verify -Dsolve.main=dev.slicewright.bench.DeadlineBench
 * -Dsolve.args="1000 200"}
 */
public final class DeadlineBench {

  private static final int WARM_UP = 60;
  private static final double LIMIT_MILLIS = 100;

  /** How long, at most, a thread that only sleeps was kept waiting: what the machine adds. */
  private static final AtomicLong LONGEST_STALL = new AtomicLong();

  private final int problems;
  private final long firstSeed;
  private final long deadlineMillis;
  private final RandomProblem.Maker maker = new RandomProblem.Maker();
  private final SlicePlanner planner =
      SlicePlanner.builder().maxWorkers(2).failOnRejectedPlan(true).build();
  private final List<String> offenders = new ArrayList<>();
  private int refused;

  private DeadlineBench(int problems, long deadlineMillis, long firstSeed) {
    this.problems = problems;
    this.deadlineMillis = deadlineMillis;
    this.firstSeed = firstSeed;
  }

  /**
   * Runs it.
   *
   * @param args the number of problems, the deadline in milliseconds, the first seed
   */
  public static void main(String[] args) {
    DeadlineBench bench =
        new DeadlineBench(
            args.length > 0 ? Integer.parseInt(args[0]) : 1000,
            args.length > 1 ? Long.parseLong(args[1]) : 200,
            args.length > 2 ? Long.parseLong(args[2]) : 1);
    watchMachine();
    CpSatFormulation.availability();
    for (int i = 1; i <= Math.min(WARM_UP, bench.problems); i++) {
      bench.plan(bench.maker.make(-i), bench.deadlineMillis, new CancelToken());
    }
    bench.deadlines();
    bench.cancels();
    bench.offenders.forEach(System.out::println);
    System.exit(bench.offenders.isEmpty() && bench.refused == 0 ? 0 : 1);
  }

  private static void watchMachine() {
    Thread watcher =
        new Thread(
            () -> {
              while (true) {
                long until = System.nanoTime() + 1_000_000;
                LockSupport.parkNanos(1_000_000);
                LONGEST_STALL.accumulateAndGet(System.nanoTime() - until, Math::max);
              }
            });
    watcher.setDaemon(true);
    watcher.start();
  }

  private SolveBudget budget(long millis) {
    return SolveBudget.builder()
        .deadline(Duration.ofMillis(millis))
        .workers(2)
        .mode(SolveBudget.Mode.FAST)
        .build();
  }

  private Plan plan(RandomProblem p, long millis, CancelToken token) {
    try {
      return planner.plan(p.fleet(), p.requests(), p.rules(), budget(millis), token, x -> {});
    } catch (RuntimeException e) {
      refused++;
      String text = String.valueOf(e);
      System.out.println(p + ": " + text.substring(0, Math.min(400, text.length())));
      return null;
    }
  }

  private void verify(RandomProblem p, Plan plan) {
    List<PlanVerifier.Violation> violations =
        PlanVerifier.verify(p.fleet(), p.requests(), p.rules(), CostTerms.DEFAULT, plan);
    if (!violations.isEmpty()) {
      refused++;
      System.out.println(p + ": " + violations.get(0));
    }
  }

  private void deadlines() {
    List<Double> late = new ArrayList<>();
    Map<StopReason, Integer> stops = new TreeMap<>();
    for (int i = 0; i < problems; i++) {
      RandomProblem p = maker.make(firstSeed + i);
      Usage usage = new Usage();
      Plan plan = plan(p, deadlineMillis, new CancelToken());
      double ms = usage.wallMillis() - deadlineMillis;
      if (plan == null) {
        continue;
      }
      late.add(ms);
      stops.merge(plan.stopped(), 1, Integer::sum);
      if (ms > LIMIT_MILLIS) {
        offend("late", ms, p, plan, usage);
      }
      verify(p, plan);
    }
    System.out.printf(
        Locale.ROOT,
        "deadline %d ms: %d problems, %s; late by p50 %.1f p99 %.1f max %.1f ms; later than 0/20/50/"
            + "100 ms: %d/%d/%d/%d; plans refused: %d; load %.1f%n",
        deadlineMillis,
        late.size(),
        stops,
        quantile(late, 0.5),
        quantile(late, 0.99),
        quantile(late, 1),
        later(late, 0),
        later(late, 20),
        later(late, 50),
        later(late, 100),
        refused,
        ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
  }

  private void cancels() {
    List<Double> before = new ArrayList<>();
    List<Double> during = new ArrayList<>();
    int done = 0;
    for (int i = 0; i < problems; i++) {
      RandomProblem p = maker.make(firstSeed + i);
      SplittableRandom random = new SplittableRandom(~p.seed());
      boolean first = random.nextInt(10) == 0;
      long wait = first ? 0 : random.nextLong(deadlineMillis * 1_500_000);
      CancelToken token = new CancelToken();
      AtomicLong cancelledAt = new AtomicLong(Long.MAX_VALUE);
      Thread canceller =
          new Thread(
              () -> {
                long until = System.nanoTime() + wait;
                while (until - System.nanoTime() > 0) {
                  LockSupport.parkNanos(until - System.nanoTime());
                }
                cancelledAt.set(System.nanoTime());
                token.cancel();
              });
      canceller.start();
      if (first) {
        join(canceller);
      }
      Usage usage = new Usage();
      Plan plan = plan(p, 10 * deadlineMillis, token);
      usage.wallMillis();
      if (plan == null) {
        join(canceller);
        continue;
      }
      long at = first ? usage.start : cancelledAt.get();
      if (at > usage.end) {
        done++;
      } else {
        double ms = (usage.end - at) / 1e6;
        (first ? before : during).add(ms);
        if (ms > LIMIT_MILLIS) {
          offend(first ? "cancelled before the start" : "cancelled", ms, p, plan, usage);
        }
      }
      join(canceller);
      verify(p, plan);
    }
    for (List<Double> some : List.of(before, during)) {
      System.out.printf(
          Locale.ROOT,
          "cancelled %s: %d; back after median %.1f p99 %.1f max %.1f ms%n",
          some == before ? "before the start" : "under way",
          some.size(),
          quantile(some, 0.5),
          quantile(some, 0.99),
          quantile(some, 1));
    }
    System.out.printf(
        Locale.ROOT,
        "done before the cancel: %d; plans refused: %d; load %.1f%n",
        done,
        refused,
        ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage());
  }

  private static void join(Thread thread) {
    try {
      thread.join();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private void offend(String what, double ms, RandomProblem p, Plan plan, Usage usage) {
    StringBuilder s = new StringBuilder();
    s.append(
        String.format(
            Locale.ROOT,
            "%s by %.1f ms: %s; %s %s; own CPU %.0f of %.0f ms, GC %d ms, an idle thread waited up to"
                + " %.0f ms for its turn;",
            what,
            ms,
            p,
            plan.stopped(),
            plan.engines(),
            usage.cpuMillis,
            usage.wallMillis,
            usage.gcMillis,
            usage.stallMillis));
    plan.phases()
        .forEach(
            f ->
                s.append(
                    String.format(
                        Locale.ROOT,
                        " %s %.1f (%d)",
                        f.name(),
                        f.time().toNanos() / 1e6,
                        f.size())));
    offenders.add(s.toString());
  }

  /** What the calling thread and the collector used between two points. */
  private static final class Usage {
    final long start = System.nanoTime();
    long end;
    double cpuMillis = cpu();
    long gcMillis = gc();
    double wallMillis;
    double stallMillis;

    Usage() {
      LONGEST_STALL.set(0);
    }

    double wallMillis() {
      end = System.nanoTime();
      wallMillis = (end - start) / 1e6;
      cpuMillis = cpu() - cpuMillis;
      gcMillis = gc() - gcMillis;
      stallMillis = LONGEST_STALL.get() / 1e6;
      return wallMillis;
    }

    private static double cpu() {
      return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() / 1e6;
    }

    private static long gc() {
      return ManagementFactory.getGarbageCollectorMXBeans().stream()
          .mapToLong(GarbageCollectorMXBean::getCollectionTime)
          .sum();
    }
  }

  private static int later(List<Double> values, double than) {
    return (int) values.stream().filter(v -> v > than).count();
  }

  private static double quantile(List<Double> values, double q) {
    if (values.isEmpty()) {
      return Double.NaN;
    }
    double[] sorted = values.stream().mapToDouble(Double::doubleValue).toArray();
    Arrays.sort(sorted);
    return sorted[(int) Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
  }
}
