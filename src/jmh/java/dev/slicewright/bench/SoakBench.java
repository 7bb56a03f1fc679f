package dev.slicewright.bench;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Phase;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.TpuTopology;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * Does memory stay flat over many solves? Plans random problems of all kinds (wired tori, optical
 * cubes, partitions, mixed pods, every feature; see {@link RandomProblem}) and, in turn with them,
 * small wired tori that go to CP-SAT, with short deadlines and two workers, a fresh planner every
 * 100 solves, one solve in ten cancelled before its start, and looks at the memory ten times on the
 * way: the heap after a full collection, what the JVM takes beside it, and the resident memory of
 * the process, native solvers included.
 *
 * <p>The first {@value #SETTLING} looks are for the JVM to settle (compiled code, the problems' own
 * fleets, malloc's arenas). From then on the growth is the slope of a line through the looks by
 * least squares, times the solves between the first and the last. Ends with exit code 1 if the heap
 * grows by more than {@value #HEAP_MARGIN_MIB} MiB or the resident memory by more than {@value
 * #RESIDENT_MARGIN_MIB} MiB: 1 and 7 KB a solve at 9,000 solves.
 *
 * <p>Run it with a heap that is committed at once, or its growth hides the rest: the JVM of {@code
 * -Psolve-bench} takes {@code JDK_JAVA_OPTIONS="-Xms1g -Xmx1g -XX:+AlwaysPreTouch"}.
 *
 * <p>{@code mvn -q -Psolve-bench verify -Dsolve.main=dev.slicewright.bench.SoakBench
 * -Dsolve.args="10000 25"}
 */
public final class SoakBench {

  private static final int LOOKS = 10;
  private static final int SETTLING = 3;
  private static final double HEAP_MARGIN_MIB = 8;
  private static final double RESIDENT_MARGIN_MIB = 64;
  private static final double MIB = 1 << 20;

  /** What memory was in use after so many solves, in MiB. */
  record Look(int solves, double heap, double nonHeap, double resident, int threads) {}

  private SoakBench() {}

  /**
   * Runs it.
   *
   * @param args solves, deadline in milliseconds
   * @throws IOException if the process's status cannot be read
   */
  public static void main(String[] args) throws IOException {
    int solves = args.length > 0 ? Integer.parseInt(args[0]) : 10_000;
    int millis = args.length > 1 ? Integer.parseInt(args[1]) : 25;
    RandomProblem.Maker maker = new RandomProblem.Maker();
    SolveBudget budget =
        SolveBudget.builder()
            .deadline(Duration.ofMillis(millis))
            .workers(2)
            .mode(SolveBudget.Mode.FAST)
            .build();
    List<RandomProblem> small = small();
    Map<String, Integer> engines = new TreeMap<>();
    Map<String, Integer> stops = new TreeMap<>();
    List<Look> looks = new ArrayList<>();
    SlicePlanner planner = SlicePlanner.builder().maxWorkers(2).build();
    int solvedByModel = 0;
    for (int i = 1; i <= solves; i++) {
      // Problems repeat, so that nothing grows but what the library keeps.
      RandomProblem p =
          i % 2 == 0 ? maker.make(1 + i % 500) : small.get(i % 500 / 2 % small.size());
      if (i % 100 == 0) {
        planner = SlicePlanner.builder().maxWorkers(2).build();
      }
      CancelToken token = new CancelToken();
      if (i % 10 == 0) {
        token.cancel();
      }
      Plan plan = planner.plan(p.fleet(), p.requests(), p.rules(), budget, token, x -> {});
      plan.engines().forEach(e -> engines.merge(e, 1, Integer::sum));
      stops.merge(plan.stopped().name(), 1, Integer::sum);
      for (Phase phase : plan.phases()) {
        if (phase.name().equals("solve")) {
          solvedByModel++;
          break;
        }
      }
      if (i % Math.max(1, solves / LOOKS) == 0) {
        looks.add(look(i));
        System.out.println(line(looks.get(looks.size() - 1)));
      }
    }
    System.out.println(
        "stopped " + stops + ", engines " + engines + ", with a model solved " + solvedByModel);
    List<Look> settled = looks.subList(Math.min(SETTLING - 1, looks.size() - 1), looks.size());
    double heap = growth(settled, settled.stream().mapToDouble(Look::heap).toArray());
    double resident = growth(settled, settled.stream().mapToDouble(Look::resident).toArray());
    System.out.printf(
        Locale.ROOT,
        "growth after settling: heap %.1f MiB (at most %.0f), resident %.1f MiB (at most %.0f)%n",
        heap,
        HEAP_MARGIN_MIB,
        resident,
        RESIDENT_MARGIN_MIB);
    System.exit(heap <= HEAP_MARGIN_MIB && resident <= RESIDENT_MARGIN_MIB ? 0 : 1);
  }

  /**
   * Wired tori of 512 chips and twelve requests, which CP-SAT gets when the search leaves a gap.
   */
  private static List<RandomProblem> small() {
    List<RandomProblem> out = new ArrayList<>();
    for (int seed = 0; seed < 50; seed++) {
      Fleet fleet = Churn.fleet(TpuTopology.torus(8, 8, 8), 0.4, seed, Churn.Rule.SCATTER, 300);
      List<SliceRequest> batch =
          Situations.batch(TpuTopology.v5p(), 12, new SplittableRandom(seed));
      out.add(new RandomProblem(seed, "small", fleet, batch, PlanningRules.NONE));
    }
    return out;
  }

  private static String line(Look look) {
    return String.format(
        Locale.ROOT,
        "%6d solves: heap %7.1f MiB, other JVM memory %6.1f MiB, resident %7.1f MiB, %d threads",
        look.solves(),
        look.heap(),
        look.nonHeap(),
        look.resident(),
        look.threads());
  }

  private static Look look(int solves) throws IOException {
    // Solvers that were left behind at a deadline end; cleaners run.
    for (int i = 0; i < 3; i++) {
      System.gc();
      try {
        Thread.sleep(200);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
    MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
    MemoryUsage other = ManagementFactory.getMemoryMXBean().getNonHeapMemoryUsage();
    return new Look(
        solves,
        heap.getUsed() / MIB,
        other.getUsed() / MIB,
        residentMib(),
        ManagementFactory.getThreadMXBean().getThreadCount());
  }

  /** Of Linux; elsewhere 0. */
  private static double residentMib() throws IOException {
    Path status = Path.of("/proc/self/status");
    if (!Files.exists(status)) {
      return 0;
    }
    for (String line : Files.readAllLines(status)) {
      if (line.startsWith("VmRSS:")) {
        return Long.parseLong(line.replaceAll("\\D", "")) / 1024.0;
      }
    }
    return 0;
  }

  /** The slope of the line of least squares, times the solves from the first look to the last. */
  static double growth(List<Look> looks, double[] values) {
    double meanX = looks.stream().mapToInt(Look::solves).average().orElse(0);
    double meanY = java.util.Arrays.stream(values).average().orElse(0);
    double xy = 0;
    double xx = 0;
    for (int i = 0; i < values.length; i++) {
      double dx = looks.get(i).solves() - meanX;
      xy += dx * (values[i] - meanY);
      xx += dx * dx;
    }
    return xx == 0 ? 0 : xy / xx * (looks.get(looks.size() - 1).solves() - looks.get(0).solves());
  }
}
