package dev.slicewright.bench;

import dev.slicewright.fleet.Pod;
import dev.slicewright.search.Candidates;
import dev.slicewright.search.PodSpace;
import dev.slicewright.search.PodSpace.Spot;
import dev.slicewright.search.Want;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * Places in the free room of a wired torus of 16x20x28 chips with hosts of 2x2x1, after churn by
 * first fit. Shapes are drawn from the mix of {@link Churn}; the taken cells change between two
 * calls, so that nothing of the last call is of use ({@code touch} alone is what that costs).
 *
 * <pre>mvn -q -Pbench verify -Dbench.args="TorusSpaceBenchmark -wi 3 -i 5 -w 1s -r 1s -f 1"</pre>
 *
 * Add {@code -prof gc} for the bytes allocated.
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class TorusSpaceBenchmark {

  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");
  private static final int DRAWS = 1024;

  /** Busy chips, per cent. */
  @Param({"10", "40", "60", "70"})
  public int load;

  private Pod pod;
  private PodSpace space;
  private PodSpace packed;
  private final int[] wants = new int[DRAWS];
  private final Shape[] shapes = new Shape[DRAWS];
  private final SplittableRandom random = new SplittableRandom(7);
  private Footprint.Box corner;
  private int at;

  private final List<Spot> held = new ArrayList<>();
  private final List<Integer> heldWants = new ArrayList<>();
  private final List<Integer> open = new ArrayList<>();

  /** Makes the pod. */
  @Setup(Level.Iteration)
  public void setUp() {
    TpuTopology topology = TpuTopology.torus(16, 20, 28);
    pod = Churn.fleet(topology, load / 100.0, 1, Churn.Rule.FIRST_FIT).pod(Churn.POD).orElseThrow();
    space = PodSpace.of(pod, NOW, false);
    packed = PodSpace.of(pod, NOW, false);
    SplittableRandom draw = new SplittableRandom(5);
    for (int i = 0; i < DRAWS; i++) {
      shapes[i] = Churn.draw(draw);
      wants[i] = space.register(want(shapes[i]));
      packed.register(want(shapes[i]));
    }
    int cell = 0;
    while (!pod.busy().contains(cell)) {
      cell++;
    }
    corner = new Footprint.Box(topology.originOfCell(cell), topology.cellTile());
    held.clear();
    heldWants.clear();
    open.clear();
    for (int i = 0; i < 100; i++) {
      open.add(wants[i]);
    }
    fill();
  }

  private static Want want(Shape shape) {
    return new Want(shape, true, false, false, "");
  }

  private int next() {
    space.setTaken(corner, true);
    return wants[at++ & (DRAWS - 1)];
  }

  /** The best place, deterministic. */
  @Benchmark
  public Spot find() {
    return space.find(next(), null);
  }

  /** A good place, at random. */
  @Benchmark
  public Spot findRandom() {
    return space.find(next(), random);
  }

  /** The place that destroys the least. */
  @Benchmark
  public Spot findOnline() {
    return space.findOnline(next());
  }

  /** Only the feasible origins. */
  @Benchmark
  public int feasibleOrigins() {
    return Candidates.count(space, next());
  }

  /** A new space, one want and the place that destroys the least: all that one slice needs. */
  @Benchmark
  public Spot onePlan() {
    PodSpace fresh = PodSpace.of(pod, NOW, false);
    return fresh.findOnline(fresh.register(want(shapes[at++ & (DRAWS - 1)])));
  }

  /** A new space, one want and the least exposed place. */
  @Benchmark
  public Spot onePlanByExposure() {
    PodSpace fresh = PodSpace.of(pod, NOW, false);
    return fresh.find(fresh.register(want(shapes[at++ & (DRAWS - 1)])), null);
  }

  /** Ruin in a window, and fill again with what is open, at random order of shapes. */
  @Benchmark
  public int ruinAndRecreate() {
    Predicate<Spot> window = packed.window(random);
    for (int i = held.size() - 1; i >= 0; i--) {
      if (window.test(held.get(i))) {
        packed.giveBack(held.get(i));
        open.add(heldWants.get(i));
        int last = held.size() - 1;
        held.set(i, held.get(last));
        heldWants.set(i, heldWants.get(last));
        held.remove(last);
        heldWants.remove(last);
      }
    }
    return fill();
  }

  private int fill() {
    boolean[] tried = new boolean[64];
    int finds = 0;
    // Decreasing volume: wants of larger shapes have no order of their own, so draw.
    for (int i = open.size() - 1; i >= 0; i--) {
      int want = open.get(i);
      if (tried[want]) {
        continue;
      }
      finds++;
      Spot spot = packed.find(want, random);
      if (spot == null) {
        tried[want] = true;
        continue;
      }
      packed.take(spot);
      held.add(spot);
      heldWants.add(want);
      open.remove(i);
    }
    return finds;
  }
}
