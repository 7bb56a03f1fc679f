package dev.slicewright.bench;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Does a plan come back within one second, whatever the batch? Deadline 800 ms, two workers, {@code
 * FAST}; the 99th percentile of at least 200 calls must be below 1 s, or the run ends with exit
 * code 1.
 *
 * <p>Fleets of 1,024 to 16,384 chips, about half full: wired tori after first-fit churn, a v5p pod
 * of optical cubes, 64 v6e pods of partitions. Batches of 1, 20 and 100 requests with the mixed
 * shares. Each call plans another of {@value #CASES} fleets and batches. An iteration is over after
 * its first call that ends later than a millisecond, so that a row takes 200 calls, and a quick one
 * more: at most 160 s a row, 48 min in all; in practice a third of that.
 *
 * <p>{@code mvn -q -Pbench verify -Dbench.args=SolveBudget}
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
@Warmup(iterations = 5, time = 2)
@Measurement(iterations = SolveBudgetBenchmark.SAMPLES, time = 1, timeUnit = TimeUnit.MILLISECONDS)
@Fork(1)
@AtMost(p99Millis = 1_000, samples = SolveBudgetBenchmark.SAMPLES)
public class SolveBudgetBenchmark {

  static final int SAMPLES = 200;

  private static final int CASES = 20;

  private static final int FLEETS = 4;

  private static final double LOAD = 0.5;

  /** The fleet, by its chips. */
  @Param({"torus-1024", "torus-4096", "torus-8960", "torus-16384", "v5p-8960", "v6e-16384"})
  public String fleet;

  /** Requests in the batch. */
  @Param({"1", "20", "100"})
  public int batch;

  private final SlicePlanner planner = SlicePlanner.builder().maxWorkers(2).build();
  private final SolveBudget budget =
      SolveBudget.builder()
          .deadline(Duration.ofMillis(800))
          .workers(2)
          .mode(SolveBudget.Mode.FAST)
          .build();
  private final List<Fleet> fleets = new ArrayList<>();
  private final List<List<SliceRequest>> batches = new ArrayList<>();
  private int next;

  /** Fills the fleets and draws the batches. */
  @Setup
  public void setUp() {
    for (int i = 0; i < FLEETS; i++) {
      fleets.add(fleet(i + 1));
    }
    TpuTopology topology = fleets.get(0).pods().iterator().next().topology();
    for (int i = 0; i < CASES; i++) {
      batches.add(Situations.batch(topology, batch, new SplittableRandom(i + 1)));
    }
  }

  private Fleet fleet(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    return switch (fleet) {
      case "torus-1024" -> torus(Shape.of(8, 8, 16), seed);
      case "torus-4096" -> torus(Shape.of(16, 16, 16), seed);
      case "torus-8960" -> torus(Shape.of(16, 20, 28), seed);
      case "torus-16384" -> torus(Shape.of(16, 32, 32), seed);
      case "v5p-8960" -> Situations.half(List.of(TpuTopology.v5p()), random);
      case "v6e-16384" -> Situations.half(Collections.nCopies(64, TpuTopology.v6e()), random);
      default -> throw new IllegalArgumentException("No fleet " + fleet);
    };
  }

  private static Fleet torus(Shape dims, long seed) {
    return Churn.fleet(
        TpuTopology.torus(dims.x(), dims.y(), dims.z()), LOAD, seed, Churn.Rule.FIRST_FIT);
  }

  /**
   * Plans the next batch.
   *
   * @return the plan
   */
  @Benchmark
  public Plan plan() {
    int i = next++;
    return planner.plan(fleets.get(i % FLEETS), batches.get(i % CASES), PlanningRules.NONE, budget);
  }
}
