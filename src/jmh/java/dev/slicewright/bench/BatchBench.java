package dev.slicewright.bench;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.StopReason;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * How good is a batch of 100 mixed requests after one second? Reports value, bound and gap.
 *
 * <p>Families: {@code torus-10}, {@code torus-40}, {@code torus-70}: the wired torus 16x20x28 at
 * those loads after 3,000 events of first-fit churn; {@code v5p} and {@code tpu7x}: optical cubes,
 * half full; {@code v6e}: sixteen pods of nested partitions, half full.
 *
 * <p>{@code mvn -q -Psolve-bench verify -Dsolve.args="torus-10,torus-40,torus-70,v5p,tpu7x,v6e
 * 1..20 1000"}
 */
public final class BatchBench {

  private BatchBench() {}

  /**
   * Runs the families.
   *
   * @param args families, seeds as {@code a..b}, deadline in milliseconds, anything for more detail
   */
  public static void main(String[] args) {
    String[] families =
        (args.length > 0 ? args[0] : "torus-10,torus-40,torus-70,v5p,tpu7x,v6e").split(",");
    String[] seeds = (args.length > 1 ? args[1] : "1..20").split("\\.\\.");
    long millis = args.length > 2 ? Long.parseLong(args[2]) : 1000;
    boolean verbose = args.length > 3;
    SlicePlanner planner = SlicePlanner.builder().failOnRejectedPlan(true).build();
    SolveBudget budget =
        SolveBudget.builder()
            .deadline(Duration.ofMillis(millis))
            .workers(2)
            .mode(SolveBudget.Mode.FAST)
            .build();
    for (String family : families) {
      // Warm-up on other seeds.
      for (int i = 0; i < 3; i++) {
        Fleet fleet = fleet(family, 1000 + i);
        planner.plan(fleet, batch(family, 1000 + i), PlanningRules.NONE, budget);
      }
      List<Double> gaps = new ArrayList<>();
      List<Double> times = new ArrayList<>();
      int proved = 0;
      for (int seed = Integer.parseInt(seeds[0]);
          seed <= Integer.parseInt(seeds[seeds.length - 1]);
          seed++) {
        Fleet fleet = fleet(family, seed);
        List<SliceRequest> requests = batch(family, seed);
        long since = System.nanoTime();
        Plan plan = planner.plan(fleet, requests, PlanningRules.NONE, budget);
        double ms = (System.nanoTime() - since) / 1e6;
        gaps.add(plan.gap());
        times.add(ms);
        proved += plan.stopped() == StopReason.OPTIMAL ? 1 : 0;
        System.out.printf(
            Locale.ROOT,
            "%-9s seed %2d  value %-12s bound %-12s gap %6.2f %%  %7.1f ms  %s %s%n",
            family,
            seed,
            plan.score().values(),
            plan.score().bounds(),
            100 * plan.gap(),
            ms,
            plan.stopped(),
            plan.engines());
        if (verbose) {
          plan.phases().forEach(p -> System.out.println("    " + p));
          plan.notes().forEach(n -> System.out.println("    " + n));
          plan.unplaced().stream()
              .collect(
                  java.util.stream.Collectors.groupingBy(
                      u -> u.reason(), java.util.stream.Collectors.counting()))
              .forEach((r, n) -> System.out.println("    " + n + " " + r));
        }
      }
      Collections.sort(gaps);
      Collections.sort(times);
      System.out.printf(
          Locale.ROOT,
          "%-9s %d seeds: proved optimal %d, gap median %.2f %% worst %.2f %%, time median %.1f ms"
              + " worst %.1f ms%n",
          family,
          gaps.size(),
          proved,
          100 * gaps.get(gaps.size() / 2),
          100 * gaps.get(gaps.size() - 1),
          times.get(times.size() / 2),
          times.get(times.size() - 1));
    }
  }

  private static Fleet fleet(String family, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    return switch (family) {
      case "torus-10", "torus-40", "torus-70" ->
          Churn.fleet(
              TpuTopology.torus(16, 20, 28),
              Integer.parseInt(family.substring(6)) / 100.0,
              seed,
              Churn.Rule.FIRST_FIT);
      case "v5p" -> Situations.half(List.of(TpuTopology.v5p()), random);
      case "tpu7x" -> Situations.half(List.of(TpuTopology.tpu7x()), random);
      case "v6e" -> Situations.half(Collections.nCopies(16, TpuTopology.v6e()), random);
      default ->
          throw new IllegalArgumentException(
              "No family "
                  + family
                  + "; there are "
                  + Arrays.asList("torus-10", "v5p", "tpu7x", "v6e"));
    };
  }

  private static List<SliceRequest> batch(String family, long seed) {
    return Situations.batch(
        family.equals("v6e") ? TpuTopology.v6e() : TpuTopology.v5p(),
        100,
        new SplittableRandom(seed * 31 + 7));
  }
}
