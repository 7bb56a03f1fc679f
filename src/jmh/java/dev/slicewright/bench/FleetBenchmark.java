package dev.slicewright.bench;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
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
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * How long does one slice take in a fleet of 1,000 TPU7x blocks (9.2 million chips, 85 % busy, 20
 * quotas), and how long a batch of 1,000 slices?
 *
 * <p>{@code same}: each call asks for the next of 256 slices against one fleet. {@code next}: each
 * placed slice runs in the fleet that the next call sees, so that nothing that a fleet knows about
 * itself as a whole is left from the call before; after 256 calls it starts again. {@code batch}:
 * all 1,000 at once.
 *
 * <p>{@code mvn -q -Pbench verify -Dbench.args="FleetBenchmark -jvmArgs -Xmx512m"}
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 3)
@Measurement(iterations = 5, time = 3)
@Fork(1)
public class FleetBenchmark {

  private static final int REQUESTS = 256;

  /** The number of blocks. */
  @Param("1000")
  public int blocks;

  private final SlicePlanner planner = SlicePlanner.builder().maxWorkers(2).build();
  private final SolveBudget budget =
      SolveBudget.builder()
          .deadline(Duration.ofSeconds(1))
          .workers(2)
          .mode(SolveBudget.Mode.FAST)
          .build();
  private Fleet fleet = Fleet.builder().build();
  private Fleet now = fleet;
  private PlanningRules rules = PlanningRules.NONE;
  private List<List<SliceRequest>> requests = List.of();
  private List<SliceRequest> batch = List.of();
  private int next;

  /** Fills the fleet. */
  @Setup
  public void setUp() {
    fleet = FleetFactory.fleet(blocks, 0.85, 1);
    now = fleet;
    rules = FleetFactory.quotas(fleet, 1.1);
    requests = new ArrayList<>();
    FleetFactory.batch(REQUESTS, 2).forEach(r -> requests.add(List.of(r)));
    batch = FleetFactory.batch(1_000, 1);
  }

  /**
   * One slice, against one fleet.
   *
   * @return the plan
   */
  @Benchmark
  public Plan same() {
    next = (next + 1) % REQUESTS;
    return planner.plan(fleet, requests.get(next), rules, budget);
  }

  /**
   * One slice, which then runs.
   *
   * @return the plan
   */
  @Benchmark
  public Plan next() {
    next = (next + 1) % REQUESTS;
    now = next == 0 ? fleet : now;
    Plan plan = planner.plan(now, requests.get(next), rules, budget);
    now = plan.applyTo(now);
    return plan;
  }

  /**
   * A batch.
   *
   * @return the plan
   */
  @Benchmark
  public Plan batch() {
    return planner.plan(fleet, batch, rules, budget);
  }
}
