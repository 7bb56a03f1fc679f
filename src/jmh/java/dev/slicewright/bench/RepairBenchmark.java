package dev.slicewright.bench;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.StopReason;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.solve.SlicePlanner;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Repair after 20 hosts of a TPU7x block at 90 % have failed: one operation is one {@code repair},
 * over 50 seeds in turn, none of whose plans may be less than proved optimal. Within 200 ms each.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class RepairBenchmark {

  private static final int SEEDS = 50;

  private final SlicePlanner planner = SlicePlanner.builder().maxWorkers(2).build();
  private final SolveBudget budget =
      SolveBudget.builder()
          .deadline(Duration.ofMillis(200))
          .workers(2)
          .mode(SolveBudget.Mode.FAST)
          .build();
  private final List<Fleet> fleets = new ArrayList<>();
  private int next;

  /** Fills the blocks and fails hosts; checks that every seed is proved. */
  @Setup
  public void setUp() {
    for (int seed = 1; seed <= SEEDS; seed++) {
      fleets.add(RepairCases.block(seed));
    }
    SolveBudget ample = SolveBudget.within(Duration.ofSeconds(10));
    for (Fleet fleet : fleets) {
      Plan plan = planner.repair(fleet, PlanningRules.NONE, ample);
      if (plan.stopped() != StopReason.OPTIMAL) {
        throw new IllegalStateException("Not proved: " + plan);
      }
    }
  }

  /**
   * Repairs the next block.
   *
   * @return the plan
   */
  @Benchmark
  public Plan repair() {
    return planner.repair(fleets.get(next++ % SEEDS), PlanningRules.NONE, budget);
  }
}
