package dev.slicewright.bench;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
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
 * How long does one slice take, from the call to the verified plan?
 *
 * <p>Places: the wired torus 16x20x28 at 60 % load after 3,000 events of first-fit churn; a v5p pod
 * of 140 cubes and a TPU7x block of 144, half full; sixteen v6e pods of nested partitions, half
 * full. Each call asks for the next of 64 shapes drawn with the mixed shares (on v6e, of the six
 * sub-slicing shapes), against the same fleet.
 *
 * <p>{@code mvn -q -Pbench verify -Dbench.args="PlanOne -prof gc"}
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class PlanOneBenchmark {

  /** Where the slice goes. */
  @Param({"torus-60", "v5p", "tpu7x", "v6e-16"})
  public String place;

  private final SlicePlanner planner = SlicePlanner.create();
  private final SolveBudget budget = SolveBudget.within(Duration.ofMillis(800));
  private Fleet fleet = Fleet.builder().build();
  private List<List<SliceRequest>> requests = List.of();
  private int next;

  /** Fills the fleet. */
  @Setup
  public void setUp() {
    SplittableRandom random = new SplittableRandom(7);
    fleet =
        switch (place) {
          case "torus-60" ->
              Churn.fleet(TpuTopology.torus(16, 20, 28), 0.6, 1, Churn.Rule.FIRST_FIT);
          case "v5p" -> Situations.half(List.of(TpuTopology.v5p()), random);
          case "tpu7x" -> Situations.half(List.of(TpuTopology.tpu7x()), random);
          default -> Situations.half(java.util.Collections.nCopies(16, TpuTopology.v6e()), random);
        };
    List<List<SliceRequest>> wanted = new java.util.ArrayList<>();
    for (int i = 0; i < 64; i++) {
      Shape shape = place.equals("v6e-16") ? Situations.drawV6e(random) : Churn.draw(random);
      wanted.add(List.of(SliceRequest.builder("wanted-" + i).shape(shape).build()));
    }
    requests = wanted;
  }

  /**
   * One slice.
   *
   * @return the plan
   */
  @Benchmark
  public Plan one() {
    next = (next + 1) % requests.size();
    return planner.plan(fleet, requests.get(next), budget);
  }
}
