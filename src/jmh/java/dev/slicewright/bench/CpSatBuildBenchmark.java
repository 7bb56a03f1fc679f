package dev.slicewright.bench;

import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Item;
import dev.slicewright.formulation.PlacementModel.Level;
import dev.slicewright.formulation.ortools.CpSatBuild;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
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
 * How long it takes to write a placement model as a CP-SAT model: boxes of several sizes at the
 * places of a wrapped 16x16x16 grid of hosts, each box wanted several times. Loads no native code.
 *
 * <pre>
 * mvn -q -Pbench verify -Dbench.args="CpSatBuildBenchmark -wi 5 -i 5 -w 1s -r 1s -f 2"
 * </pre>
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
public class CpSatBuildBenchmark {

  /** Candidates of all items that differ; equal items multiply the model, not the program. */
  @Param({"1000", "10000"})
  int candidates;

  /** How often each item is wanted. */
  @Param({"1", "4"})
  int copies;

  private PlacementModel model;

  @Setup
  public void setup() {
    model = boxes(candidates, copies);
  }

  /** Boxes in a torus of 16x16x16 cells. */
  static PlacementModel boxes(int candidates, int copies) {
    int side = 16;
    int[][] sizes = {{1, 1, 2}, {2, 2, 2}, {2, 2, 4}, {2, 4, 4}, {4, 4, 4}};
    Random random = new Random(1);
    PlacementModel.Builder b =
        PlacementModel.builder(
            side * side * side, List.of(new Level("chips", true), new Level("cost", false)));
    for (int s = 0; s < sizes.length; s++) {
      int[] size = sizes[s];
      int[] origins = random.ints(0, side * side * side).distinct().limit(candidates / 5).toArray();
      for (int copy = 0; copy < copies; copy++) {
        String name = "item" + s + "." + copy;
        int item = b.item(new Item(name, b.group(Group.wanted(name))));
        for (int o : origins) {
          int[] cells = new int[size[0] * size[1] * size[2]];
          int n = 0;
          for (int x = 0; x < size[0]; x++) {
            for (int y = 0; y < size[1]; y++) {
              for (int z = 0; z < size[2]; z++) {
                cells[n++] =
                    (o + x) % side
                        + side * ((o / side + y) % side)
                        + side * side * ((o / side / side + z) % side);
              }
            }
          }
          Arrays.sort(cells);
          b.candidate(
              new Candidate(
                  item,
                  cells,
                  new long[] {4L * cells.length, o % 7},
                  List.of(),
                  s,
                  0,
                  0,
                  false,
                  null));
        }
      }
    }
    return b.build();
  }

  @Benchmark
  public int classes() {
    return CpSatBuild.classes(model);
  }

  @Benchmark
  public long program() {
    return CpSatBuild.model(model, 0, new long[0]);
  }

  @Benchmark
  public int programAndBytes() {
    return CpSatBuild.bytes(model, 0, new long[0]);
  }
}
