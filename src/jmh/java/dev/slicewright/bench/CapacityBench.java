package dev.slicewright.bench;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.formulation.ortools.CpSatFormulation;
import dev.slicewright.solve.Capacity;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;

/**
 * How many more slices of each mixed shape fit, exactly? On a wired torus of 16x16x16 chips after
 * first-fit and after scatter churn.
 *
 * <p>{@code mvn -q -Psolve-bench verify -Dsolve.main=dev.slicewright.bench.CapacityBench
 * -Dsolve.args="--load 55 --seeds 1..50 --limit-ms 1000"}
 *
 * <p>Prints every answer that is not exact, and for each shape and churn the share that is, the
 * worst gap and the slowest answer. Options: {@code --load} in per cent, {@code --seeds}, {@code
 * --limit-ms}, {@code --workers}.
 */
public final class CapacityBench {

  private final SlicePlanner planner = SlicePlanner.create();
  private final SolveBudget budget;
  private final int load;

  private CapacityBench(int load, int millis, int workers) {
    this.load = load;
    this.budget =
        SolveBudget.builder()
            .deadline(Duration.ofMillis(millis))
            .workers(workers)
            .mode(SolveBudget.Mode.FAST)
            .build();
  }

  private static final class Tally {
    int asked;
    int exact;
    double gap;
    double slowest;
    double sum;

    @Override
    public String toString() {
      return String.format(
          Locale.ROOT,
          "exact %d of %d (%.1f %%), worst gap %.2f %%, mean %.1f ms, slowest %.1f ms",
          exact,
          asked,
          100.0 * exact / asked,
          100 * gap,
          sum / asked,
          slowest);
    }
  }

  /**
   * Runs it.
   *
   * @param args the options
   */
  public static void main(String[] args) {
    TreeMap<String, String> options = new TreeMap<>();
    for (int i = 0; i + 1 < args.length; i += 2) {
      options.put(args[i], args[i + 1]);
    }
    String[] seeds = options.getOrDefault("--seeds", "1..50").split("\\.\\.");
    CpSatFormulation.availability();
    new CapacityBench(
            Integer.parseInt(options.getOrDefault("--load", "55")),
            Integer.parseInt(options.getOrDefault("--limit-ms", "1000")),
            Integer.parseInt(options.getOrDefault("--workers", "2")))
        .run(Long.parseLong(seeds[0]), Long.parseLong(seeds[1]));
    System.exit(0);
  }

  private void run(long first, long last) {
    for (int i = 0; i < 2; i++) {
      Fleet warm = fleet(Churn.Rule.FIRST_FIT, 1_000_000 + i);
      Churn.SHAPES.forEach(shape -> planner.capacity(warm, shape, budget));
    }
    TreeMap<String, Tally> tallies = new TreeMap<>();
    for (Churn.Rule rule : List.of(Churn.Rule.FIRST_FIT, Churn.Rule.SCATTER)) {
      for (long seed = first; seed <= last; seed++) {
        Fleet fleet = fleet(rule, seed);
        for (Shape shape : Churn.SHAPES) {
          long since = System.nanoTime();
          Capacity capacity = planner.capacity(fleet, shape, budget);
          double millis = (System.nanoTime() - since) / 1e6;
          if (!capacity.isExact()) {
            System.out.printf(
                Locale.ROOT,
                "%s seed %d %s: %d to %d, %s, %.0f ms%n",
                rule,
                seed,
                shape,
                capacity.value(),
                capacity.bound(),
                capacity.stopped(),
                millis);
          }
          for (String key : List.of(rule + " " + shape, "all")) {
            Tally tally = tallies.computeIfAbsent(key, k -> new Tally());
            tally.asked++;
            tally.exact += capacity.isExact() ? 1 : 0;
            tally.gap = Math.max(tally.gap, capacity.gap());
            tally.slowest = Math.max(tally.slowest, millis);
            tally.sum += millis;
          }
        }
      }
    }
    tallies.forEach((key, tally) -> System.out.println("load " + load + " " + key + ": " + tally));
  }

  private Fleet fleet(Churn.Rule rule, long seed) {
    return Churn.fleet(TpuTopology.torus(16, 16, 16), load / 100.0, seed, rule);
  }
}
