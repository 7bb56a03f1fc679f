package dev.slicewright.bench;

import dev.slicewright.SolveBudget;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.formulation.ortools.CpSatFormulation;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.RoomGoal;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * Defragmentation: room for one slice of 8x8x16 chips on a wired torus of 16x16x16 after churn,
 * everything movable, at the fewest chip-seconds.
 *
 * <p>{@code mvn -q -Psolve-bench verify -Dsolve.main=dev.slicewright.bench.DefragBench
 * -Dsolve.args="--load 70 --rule FIRST_FIT --seeds 1..50 --limit-ms 1000"}
 *
 * <p>Prints for each seed the chips of room, the chip-seconds lost and their bound, and the time;
 * at the end the share of seeds with room, and that with both levels proved. Options: {@code
 * --load} in per cent, {@code --rule} (of churn), {@code --shape}, {@code --seeds}, {@code
 * --limit-ms}, {@code --workers}.
 */
public final class DefragBench {

  private static final Instant NOW = Instant.parse("2026-11-30T12:00:00Z");

  private DefragBench() {}

  /** A torus after churn, its slices of random ages, checkpoints and restart times. */
  static Fleet fleet(int load, Churn.Rule rule, long seed) {
    Fleet churned = Churn.fleet(TpuTopology.torus(16, 16, 16), load / 100.0, seed, rule);
    SplittableRandom random = TorusFamilies.random("defrag", seed);
    Fleet.Builder fleet = Fleet.builder().pod(Churn.POD, TpuTopology.torus(16, 16, 16));
    for (RunningSlice slice : churned.running()) {
      long age = 60 + random.nextInt(3 * 86_400);
      RunningSlice.Builder b =
          RunningSlice.builder(slice.request(), 0, slice.pod(), slice.shape(), slice.footprint())
              .startedAt(NOW.minusSeconds(age))
              .restartTime(Duration.ofSeconds(60 + random.nextInt(840)));
      if (random.nextInt(3) > 0) {
        b.checkpointAt(NOW.minusSeconds(Math.min(age, random.nextInt(7_200))));
      }
      fleet.running(b.build());
    }
    return fleet.build();
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
    int load = Integer.parseInt(options.getOrDefault("--load", "70"));
    Churn.Rule rule = Churn.Rule.valueOf(options.getOrDefault("--rule", "FIRST_FIT"));
    SolveBudget budget =
        SolveBudget.builder()
            .deadline(
                Duration.ofMillis(Integer.parseInt(options.getOrDefault("--limit-ms", "1000"))))
            .workers(Integer.parseInt(options.getOrDefault("--workers", "2")))
            .mode(SolveBudget.Mode.FAST)
            .build();
    SliceRequest like =
        SliceRequest.builder("room").shape(options.getOrDefault("--shape", "8x8x16")).build();
    PlanningRules rules =
        PlanningRules.builder()
            .now(NOW)
            .permitByDefault(Permission.MOVABLE)
            .room(new RoomGoal(like, 1, 0))
            .build();
    SlicePlanner planner = SlicePlanner.create();
    CpSatFormulation.availability();
    for (int i = 0; i < 4; i++) {
      planner.plan(fleet(load, rule, 1_000_000 + i), List.of(), rules, budget);
    }
    int asked = 0;
    int found = 0;
    int proved = 0;
    double[] millis = new double[(int) (Long.parseLong(seeds[1]) - Long.parseLong(seeds[0]) + 1)];
    for (long seed = Long.parseLong(seeds[0]); seed <= Long.parseLong(seeds[1]); seed++) {
      Fleet fleet = fleet(load, rule, seed);
      long since = System.nanoTime();
      Plan plan = planner.plan(fleet, List.of(), rules, budget);
      millis[asked] = (System.nanoTime() - since) / 1e6;
      List<PlanVerifier.Violation> wrong =
          PlanVerifier.verify(fleet, List.of(), rules, CostTerms.DEFAULT, plan);
      LevelScore lost = level(plan, Level.Kind.DISRUPTION);
      LevelScore room = level(plan, Level.Kind.ROOM);
      boolean all = room.value() == room.bound() && lost.value() == lost.bound();
      System.out.printf(
          Locale.ROOT,
          "seed %d: room %d of %d, lost %d, bound %d (%s), moves %d, %s, %.0f ms%s%n",
          seed,
          room.value(),
          room.bound(),
          lost.value(),
          lost.bound(),
          lost.proof(),
          plan.moves().size(),
          all ? "proved" : "open",
          millis[asked],
          wrong.isEmpty() ? "" : " WRONG: " + wrong);
      asked++;
      found += room.value() > 0 ? 1 : 0;
      proved += all ? 1 : 0;
    }
    Arrays.sort(millis);
    System.out.printf(
        Locale.ROOT,
        "load %d %s: room on %d of %d seeds, proved on %d, median %.0f ms, slowest %.0f ms%n",
        load,
        rule,
        found,
        asked,
        proved,
        millis[asked / 2],
        millis[asked - 1]);
    System.exit(0);
  }

  private static LevelScore level(Plan plan, Level.Kind kind) {
    return plan.score().levels().stream()
        .filter(l -> l.level().kind() == kind)
        .findFirst()
        .orElseThrow();
  }
}
