package dev.slicewright.bench;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.LargestPlaceable;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.TpuTopology;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
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
 * How long does the question for the largest slice that fits take? On the wired torus 16x16x16 at
 * 55 % load after 3,000 events of churn, sixteen fleets in turn.
 *
 * <p>{@code mvn -q -Pbench verify -Dbench.args="LargestPlaceable"}
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 5, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class LargestPlaceableBenchmark {

  /** Where churn placed what runs. */
  @Param({"FIRST_FIT", "SCATTER"})
  public Churn.Rule rule;

  private final SlicePlanner planner = SlicePlanner.create();
  private final SliceRequest any = SliceRequest.builder("any").chips(1).build();
  private List<Fleet> fleets = List.of();
  private int next;

  /** Fills the fleets. */
  @Setup
  public void setUp() {
    fleets =
        IntStream.range(0, 16)
            .mapToObj(seed -> Churn.fleet(TpuTopology.torus(16, 16, 16), 0.55, seed, rule))
            .toList();
  }

  /**
   * One question.
   *
   * @return its answer
   */
  @Benchmark
  public LargestPlaceable ask() {
    next = (next + 1) % fleets.size();
    return planner.largestPlaceable(fleets.get(next), any, PlanningRules.NONE);
  }
}
