package dev.slicewright.simulate;

import dev.slicewright.SolveBudget;
import dev.slicewright.bench.Churn;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.simulate.BoxGrid.Extents;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.Shape;
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
 * One decision of Slurm's torus3d rule beside one of the planner, for the same fleet and request.
 *
 * <p>The wired torus 16x16x16 with one chip a host, anchors on every cell, all turns listed, at a
 * load after first-fit churn; each call decides for the next of 64 shapes drawn with the mixed
 * shares. {@code slurm} walks the anchors as bitmaps, as the plugin does (without its checks of
 * processors, memory and weights); {@code slurmByWindows} is our own faster way to the same answer;
 * {@code planner} is a whole {@link SlicePlanner} call: input checks, proof, verification and, for
 * what finds no place, the reason.
 *
 * <p>{@code mvn -q -Pbench verify -Dbench.args=SlurmRule}
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 3, time = 2)
@Fork(1)
public class SlurmRuleBenchmark {

  /** Busy chips over all, in percent. */
  @Param({"30", "60", "80"})
  public int load;

  private final SlicePlanner planner = SlicePlanner.create();
  private final SolveBudget budget = SolveBudget.within(Duration.ofMillis(800));
  private final List<List<SliceRequest>> requests = new ArrayList<>();
  private final List<List<Extents>> turns = new ArrayList<>();
  private Fleet fleet = Fleet.builder().build();
  private List<BoxGrid> grids = List.of();
  private SlurmRule rule;
  private int next;

  /** Fills the torus. */
  @Setup
  public void setUp() {
    TpuTopology topology = TpuTopology.torusBuilder(16, 16, 16).hostTile(Shape.of(1, 1, 1)).build();
    fleet = Churn.fleet(topology, load / 100.0, 1, Churn.Rule.FIRST_FIT);
    grids = BoxGrid.of(fleet);
    rule = SlurmRule.of(topology, Churn.shapes(), true, SlurmRule.Compare.WITHIN_PLACEMENT);
    SplittableRandom random = new SplittableRandom(7);
    for (int i = 0; i < 64; i++) {
      Shape shape = Churn.draw(random);
      requests.add(List.of(SliceRequest.builder("want-" + i).shape(shape).build()));
      turns.add(BoxGrid.turns(topology, shape));
    }
  }

  /**
   * The plugin's way.
   *
   * @return where it goes
   */
  @Benchmark
  public Object slurm() {
    return rule.placeByScan(grids, turns.get(next++ & 63));
  }

  /**
   * The same answer by window sums.
   *
   * @return where it goes
   */
  @Benchmark
  public Object slurmByWindows() {
    return rule.place(grids, turns.get(next++ & 63));
  }

  /**
   * The planner.
   *
   * @return the plan
   */
  @Benchmark
  public Plan planner() {
    return planner.plan(fleet, requests.get(next++ & 63), budget);
  }
}
