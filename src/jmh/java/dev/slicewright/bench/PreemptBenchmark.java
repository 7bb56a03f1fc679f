package dev.slicewright.bench;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.ArrayList;
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
 * How long does it take to find the cheapest victims for one 8x8x8, from the call to the verified
 * plan that is proved optimal?
 *
 * <p>Places: the wired torus 16x24x24 and a TPU7x block, each with 700 running slices of at most 32
 * chips at three priorities. The slice is wanted above them all, or at the top of the three; then a
 * third of what runs cannot leave, and on the torus no place is left. Each call takes the next of
 * eight such fleets. A plan that is not proved optimal ends the benchmark.
 *
 * <p>{@code mvn -q -Pbench verify -Dbench.args="Preempt"}
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class PreemptBenchmark {

  private static final int FLEETS = 8;

  /** Where the slice goes. */
  @Param({"torus", "tpu7x"})
  public String place;

  /** Its priority: above all that runs, or the highest of what runs. */
  @Param({"above", "among"})
  public String priority;

  private final SlicePlanner planner = SlicePlanner.create();
  private final SolveBudget budget =
      SolveBudget.builder()
          .deadline(Duration.ofSeconds(1))
          .workers(2)
          .mode(SolveBudget.Mode.FAST)
          .build();
  private final PlanningRules rules = PreemptFamilies.rules();
  private final List<Fleet> fleets = new ArrayList<>();
  private List<SliceRequest> request = List.of();
  private int next;

  /** Fills the fleets. */
  @Setup
  public void setUp() {
    TpuTopology topology = place.equals("torus") ? PreemptFamilies.torus() : TpuTopology.tpu7x();
    for (int i = 0; i < FLEETS; i++) {
      fleets.add(PreemptFamilies.fleet(topology, new SplittableRandom(i)));
    }
    request = List.of(PreemptFamilies.one(priority.equals("above")));
  }

  /**
   * One slice.
   *
   * @return the plan
   */
  @Benchmark
  public Plan one() {
    next = (next + 1) % FLEETS;
    Plan plan = planner.plan(fleets.get(next), request, rules, budget);
    if (!plan.score().isOptimal()) {
      throw new IllegalStateException("Not proved optimal: " + plan);
    }
    return plan;
  }
}
