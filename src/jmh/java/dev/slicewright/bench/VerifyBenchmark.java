package dev.slicewright.bench;

import dev.slicewright.SliceId;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Certificate;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.ObjectiveLevels;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.Score;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.util.ArrayList;
import java.util.Arrays;
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
 * What it costs to verify a plan: of 1,000 slices of 64 chips on eight pods of 8,960 chips, as
 * boxes and as cubes; of one slice on a v5p pod of 140 cubes with 150 running slices; and a
 * certificate of one torus pod.
 *
 * <p>Run with {@code mvn -q -Pbench verify -Dbench.args="VerifyBenchmark"}.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 1)
@Measurement(iterations = 5, time = 1)
public class VerifyBenchmark {

  private record Problem(Fleet fleet, List<SliceRequest> requests, Plan plan) {
    List<PlanVerifier.Violation> verify() {
      return PlanVerifier.verify(fleet, requests, PlanningRules.NONE, CostTerms.DEFAULT, plan);
    }
  }

  private Problem boxes;
  private Problem cubes;
  private Problem one;
  private Problem certified;

  @Setup
  public void setUp() {
    boxes = thousand(TpuTopology.torus(16, 20, 28));
    cubes = thousand(TpuTopology.v5p());
    one = one();
    certified = certified();
    for (Problem problem : List.of(boxes, cubes, one, certified)) {
      if (!problem.verify().isEmpty()) {
        throw new IllegalStateException(problem.verify().toString());
      }
    }
  }

  private static SliceRequest want(String id, String shape) {
    return SliceRequest.builder(id).shape(shape).build();
  }

  private static Placement slice(
      SliceRequest request, String pod, TpuTopology t, Footprint footprint) {
    return new Placement(
        new SliceId(request.id(), 0), pod, t, request.shapes().get(0), footprint, Twist.NONE);
  }

  /** All placed, trivially the best. */
  private static Problem placed(
      Fleet fleet, List<SliceRequest> requests, List<Placement> slices, Proof.Certified proof) {
    Plan.Builder b = Plan.builder(fleet.version(), PlanningRules.NONE);
    long chips = 0;
    for (int i = 0; i < slices.size(); i++) {
      b.placement(new RequestPlacement(requests.get(i), List.of(slices.get(i)), 0));
      chips += slices.get(i).chips();
    }
    List<Score.LevelScore> scores = new ArrayList<>();
    for (Level level : ObjectiveLevels.of(fleet, requests, PlanningRules.NONE, CostTerms.DEFAULT)) {
      long kept = PlanVerifier.trivialBound(fleet, requests, PlanningRules.NONE, level);
      long value = level.kind() == Level.Kind.PLACED ? chips : kept;
      scores.add(
          new Score.LevelScore(
              level, value, value, proof == null ? new Proof.Trivial() : proof, null));
    }
    return new Problem(fleet, requests, b.score(new Score(scores)).build());
  }

  private static Problem thousand(TpuTopology t) {
    Fleet.Builder fleet = Fleet.builder();
    List<SliceRequest> requests = new ArrayList<>();
    List<Placement> slices = new ArrayList<>();
    for (int pod = 0; pod < 8; pod++) {
      fleet.pod("p" + pod, t);
    }
    for (int i = 0; i < 1_000; i++) {
      int at = i % 140;
      Footprint footprint =
          t.isOptical()
              ? new Footprint.Cubes(List.of(new CubeId(at)))
              : new Footprint.Box(
                  new Chip(at % 4 * 4, at / 4 % 5 * 4, at / 20 * 4), Shape.of(4, 4, 4));
      requests.add(want("r" + i, "4x4x4"));
      slices.add(slice(requests.get(i), "p" + i / 140, t, footprint));
    }
    return placed(fleet.build(), requests, slices, null);
  }

  private static Problem one() {
    TpuTopology t = TpuTopology.v5p();
    PartitionForest forest = t.partitions().orElseThrow();
    Fleet.Builder fleet = Fleet.builder().pod("p", t);
    int n = 0;
    for (int i = 0; i < forest.size() && n < 150; i++) {
      PartitionId id = new PartitionId(i);
      if (forest.shape(id).chips() == 32) {
        SliceRequest running = want("running" + n++, "2x4x4");
        fleet.running(
            RunningSlice.builder(
                    running, 0, "p", running.shapes().get(0), new Footprint.Partition(id))
                .build());
      }
    }
    SliceRequest request = want("new", "4x4x8");
    Footprint at = new Footprint.Cubes(List.of(new CubeId(100), new CubeId(120)));
    return placed(fleet.build(), List.of(request), List.of(slice(request, "p", t, at)), null);
  }

  /** 30 of 8x8x4 wanted, 30 placed; uniform prices. */
  private static Problem certified() {
    TpuTopology t = TpuTopology.torus(16, 16, 28);
    List<SliceRequest> requests = new ArrayList<>();
    List<Placement> slices = new ArrayList<>();
    for (int i = 0; i < 28; i++) {
      requests.add(want("r" + i, "8x8x4"));
      Chip at = new Chip(i % 2 * 8, i / 2 % 2 * 8, i / 4 * 4);
      slices.add(slice(requests.get(i), "p", t, new Footprint.Box(at, Shape.of(8, 8, 4))));
    }
    long[] prices = new long[t.cellCount()];
    Arrays.fill(prices, 4 * Certificate.UNIT);
    Certificate certificate =
        new Certificate(
            0, List.of(new Certificate.CellPrices("p", prices)), List.of(), new long[0]);
    return placed(
        Fleet.builder().pod("p", t).build(), requests, slices, new Proof.Certified(certificate));
  }

  @Benchmark
  public List<PlanVerifier.Violation> thousandBoxes() {
    return boxes.verify();
  }

  @Benchmark
  public List<PlanVerifier.Violation> thousandCubes() {
    return cubes.verify();
  }

  @Benchmark
  public List<PlanVerifier.Violation> oneSlice() {
    return one.verify();
  }

  @Benchmark
  public List<PlanVerifier.Violation> certificate() {
    return certified.verify();
  }
}
