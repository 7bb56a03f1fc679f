package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Prices of nested places, against plans in hand and against other prices. */
class TreePricesTest {

  private static final List<String> SMALL = List.of("2x2x1", "2x2x2", "2x2x4", "2x4x4");
  private static final List<String> LARGE = List.of("4x4x4", "4x4x8", "4x8x8");
  private static final PlanningRules RULES =
      PlanningRules.builder().permitByDefault(Permission.EVICTABLE).build();

  @Test
  void noPricesAreBetterAndNoBoundIsFalse() {
    int levels = 0;
    for (long seed = 0; seed < 10; seed++) {
      SplittableRandom random = new SplittableRandom(seed);
      Fleet fleet = fleet(random);
      List<SliceRequest> wanted = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        List<String> shapes = random.nextInt(3) > 0 ? SMALL : LARGE;
        wanted.add(
            SliceRequest.builder("wanted-" + i)
                .shape(shapes.get(random.nextInt(shapes.size())))
                .priority(random.nextInt(2) == 0 ? 200 : 300)
                .build());
      }
      Plan plan =
          SlicePlanner.create()
              .plan(fleet, wanted, RULES, SolveBudget.within(Duration.ofSeconds(1)));
      long[] best = plan.score().levels().stream().mapToLong(LevelScore::value).toArray();
      Instance in = new Instance(fleet, wanted, RULES, CostTerms.DEFAULT);
      for (int l = 0; l < best.length; l++) {
        TreePrices prices = TreePrices.of(in, new Displacement(in, false, seed), l, best);
        if (prices == null) {
          int at = l; // nothing is wanted so far
          assertThat(wanted).noneMatch(w -> in.level(Level.Kind.PLACED, w.priority()) <= at);
          continue;
        }
        assertThat(prices.solve(2_000, () -> false)).as("seed %s, level %s", seed, l).isTrue();
        long bound = bounds(in).offer(l, prices.certificate(), best);
        VictimPrices other = new VictimPrices(in, l, best, seed);
        other.improve(200, () -> false);
        long sign = in.levels.get(l).kind().maximise() ? 1 : -1;
        assertThat(sign * bound)
            .as("seed %s, level %s", seed, in.levels.get(l))
            .isGreaterThanOrEqualTo(sign * best[l]);
        if (in.levels.get(l).kind() != Level.Kind.PLACED) { // there they may still be weaker
          assertThat(sign * bound)
              .as("seed %s, level %s", seed, in.levels.get(l))
              .isLessThanOrEqualTo(sign * bounds(in).offer(l, other.certificate(), best));
        }
        levels++;
      }
    }
    assertThat(levels).isGreaterThan(35);
  }

  /** Boxes of a torus overlap, so nothing is nested. */
  @Test
  void boxesHaveNone() {
    Fleet fleet = Fleet.builder().pod("p", TpuTopology.torus(4, 4, 4)).build();
    List<SliceRequest> wanted = List.of(SliceRequest.builder("a").shape("2x2x2").build());
    Instance in = new Instance(fleet, wanted, RULES, CostTerms.DEFAULT);
    long[] nothing = new long[in.levels.size()];
    for (int l = 0; l < nothing.length; l++) {
      assertThat(TreePrices.of(in, new Displacement(in, false, 1), l, nothing)).isNull();
    }
  }

  private static Bounds bounds(Instance in) {
    long end = System.nanoTime() + Duration.ofMinutes(10).toNanos();
    return new Bounds(in, new Stop(new CancelToken(), end), end);
  }

  /** Five cubes that are nearly full of small slices of three priorities. */
  private static Fleet fleet(SplittableRandom random) {
    TpuTopology t = TpuTopology.builder(TpuTopology.tpu7x().accelerator()).cubes(5).build();
    PartitionForest forest = t.partitions().orElseThrow();
    Fleet.Builder fleet = Fleet.builder().pod("p", t);
    BitSet busy = new BitSet();
    for (int i = 0; i < 40; i++) {
      Shape shape = Shape.parse(SMALL.get(random.nextInt(SMALL.size())));
      List<PartitionId> all = forest.ofShape(shape);
      PartitionId id = all.get(random.nextInt(all.size()));
      int first = forest.firstCell(id);
      int end = first + forest.cellCount(id);
      int taken = busy.nextSetBit(first);
      if (taken < 0 || taken >= end) {
        busy.set(first, end);
        SliceRequest request =
            SliceRequest.builder("run-" + i)
                .shape(shape)
                .priority(100 * (1 + random.nextInt(3)))
                .build();
        fleet.running(
            RunningSlice.builder(request, 0, "p", shape, new Footprint.Partition(id))
                .restartTime(Duration.ofSeconds(60 + random.nextInt(900)))
                .build());
      }
    }
    return fleet.build();
  }
}
