package dev.slicewright.bench;

import dev.slicewright.SliceId;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * One change of a fleet of TPU7x pods: placing or releasing a slice of one cube (16 cells) or of 40
 * (640 cells), and building the whole fleet. Every pod runs 100 slices of one cube, so {@code
 * pods=1000} has 100,000 of them; a change should cost about the same as at {@code pods=1}. With
 * {@code oneRequest} all slices are those of a single request.
 *
 * <pre>mvn -q -Pbench verify -Dbench.args="FleetChange"</pre>
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class FleetChangeBenchmark {

  private static final int SLICES_PER_POD = 100;

  /** Pods of the fleet. */
  @Param({"1", "1000"})
  public int pods;

  /** Whether all running slices are those of one request. */
  @Param({"false", "true"})
  public boolean oneRequest;

  private List<RunningSlice> slices;
  private TpuTopology topology;
  private Fleet fleet;
  private Fleet withLarge;
  private RunningSlice small;
  private RunningSlice large;
  private SliceId middle;

  /** Builds the fleet. */
  @Setup
  public void setUp() {
    topology = TpuTopology.tpu7x();
    slices = new ArrayList<>();
    int count = pods * SLICES_PER_POD;
    SliceRequest wide = SliceRequest.builder("wide").shape("4x4x4").slices(100_000).build();
    for (int i = 0; i < count; i++) {
      SliceRequest request =
          oneRequest ? wide : SliceRequest.builder("r" + i).shape("4x4x4").build();
      slices.add(slice(request, oneRequest ? i : 0, i / SLICES_PER_POD, i % SLICES_PER_POD, 1));
    }
    fleet = build();
    middle = slices.get(count / 2).id();
    small = slice(SliceRequest.builder("s").shape("4x4x4").build(), 0, pods / 2, 100, 1);
    if (oneRequest) {
      small = slices.get(count / 2);
    }
    large = slice(SliceRequest.builder("t").shape("8x16x20").build(), 0, pods / 2, 104, 40);
    withLarge = fleet.place(large);
  }

  private static RunningSlice slice(
      SliceRequest request, int index, int pod, int firstCube, int cubes) {
    List<CubeId> ids = new ArrayList<>();
    for (int i = 0; i < cubes; i++) {
      ids.add(new CubeId(firstCube + i));
    }
    Shape shape = request.shapes().get(0);
    return RunningSlice.builder(request, index, "pod-" + pod, shape, new Footprint.Cubes(ids))
        .build();
  }

  /**
   * Builds the fleet.
   *
   * @return the fleet
   */
  @Benchmark
  public Fleet build() {
    Fleet.Builder builder = Fleet.builder();
    for (int p = 0; p < pods; p++) {
      builder.pod("pod-" + p, topology);
    }
    slices.forEach(builder::running);
    return builder.build();
  }

  /**
   * Releases a slice of 16 cells and places one.
   *
   * @return the fleet
   */
  @Benchmark
  public Fleet releaseAndPlaceSmall() {
    return fleet.release(middle).place(small);
  }

  /**
   * Places a slice of 640 cells.
   *
   * @return the fleet
   */
  @Benchmark
  public Fleet placeLarge() {
    return fleet.place(large);
  }

  /**
   * Releases a slice of 640 cells.
   *
   * @return the fleet
   */
  @Benchmark
  public Fleet releaseLarge() {
    return withLarge.release(large.id());
  }
}
