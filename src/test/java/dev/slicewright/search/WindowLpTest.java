package dev.slicewright.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Pod;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

class WindowLpTest {

  /** A random program on one small pod, with all that an oracle needs. */
  private static final class Case {
    final TpuTopology topology;
    final List<List<Footprint.Box>> boxes = new ArrayList<>(); // by class
    final List<Integer> demands = new ArrayList<>();
    final List<Integer> gains = new ArrayList<>();
    final List<Integer> classOfBlock = new ArrayList<>();
    final WindowLp lp;

    Case(SplittableRandom random) {
      topology = RandomTorus.topology(random);
      Pod pod = RandomTorus.pod(topology, random);
      TorusSpace space = new TorusSpace(pod, RandomTorus.NOW);
      WindowLp.Builder builder = new WindowLp.Builder();
      int field = builder.field(space);
      for (int k = 1 + random.nextInt(3); k > 0; k--) {
        Want want = RandomTorus.want(topology, random);
        List<Footprint.Box> free = new ArrayList<>();
        for (Footprint.Box box : RandomTorus.boxes(topology, want)) {
          if (RandomTorus.usable(pod, want, box) && !pod.busy().containsAny(topology.cells(box))) {
            free.add(box);
          }
        }
        boxes.add(free);
        demands.add(1 + random.nextInt(3));
        gains.add(1 + random.nextInt(20));
        int clazz = builder.clazz(demands.get(demands.size() - 1));
        int blocks =
            builder.candidates(clazz, field, space.register(want), gains.get(gains.size() - 1));
        for (int b = 0; b < blocks; b++) {
          classOfBlock.add(clazz);
        }
      }
      lp = builder.build();
    }

    /** The bound that prices prove, by listing all boxes. */
    double bound(float[] cells, double[] classPrice, double rowsSum) {
      double sum = rowsSum;
      for (float price : cells) {
        sum += price;
      }
      for (int k = 0; k < boxes.size(); k++) {
        double most = 0;
        for (Footprint.Box box : boxes.get(k)) {
          double price = classPrice[k];
          for (int cell : topology.cells(box)) {
            price += cells[cell];
          }
          most = Math.max(most, gains.get(k) - price);
        }
        sum += most * demands.get(k);
      }
      return sum;
    }

    /** The most that any choice earns, with at most so many boxes in all. */
    long optimum(int atMost) {
      return best(0, 0, atMost, CellSet.empty(topology.cellCount()));
    }

    private int[] left = {};

    private long best(int k, int from, int atMost, CellSet taken) {
      if (left.length == 0) {
        left = demands.stream().mapToInt(Integer::intValue).toArray();
      }
      if (k == boxes.size() || atMost == 0) {
        return 0;
      }
      long best = best(k + 1, 0, atMost, taken);
      if (left[k] > 0) {
        left[k]--;
        for (int i = from; i < boxes.get(k).size(); i++) {
          int[] cells = topology.cells(boxes.get(k).get(i));
          if (!taken.containsAny(cells)) {
            best = Math.max(best, gains.get(k) + best(k, i + 1, atMost - 1, taken.with(cells)));
          }
        }
        left[k]++;
      }
      return best;
    }

    boolean isSmall() {
      long ways = 1;
      for (int k = 0; k < boxes.size(); k++) {
        for (int i = 0; i < demands.get(k); i++) {
          ways *= 1 + boxes.get(k).size();
          if (ways > 100_000) {
            return false;
          }
        }
      }
      return true;
    }
  }

  @Property(tries = 400)
  void pricesProveWhatTheySay(@ForAll long seed) {
    Case c = new Case(new SplittableRandom(seed));
    c.lp.goal(0);
    double before = c.lp.prices().bound();
    for (int i = 0; i < 5; i++) {
      c.lp.advance();
      WindowLp.Prices prices = c.lp.prices();

      assertThat(prices.bound()).isLessThanOrEqualTo(before);
      before = prices.bound();
      for (float price : prices.cells(0)) {
        assertThat(price).isNotNegative();
      }
      double exact = c.bound(prices.cells(0), new double[c.boxes.size()], 0);
      assertThat(prices.bound()).isCloseTo(exact, within(1e-3 * (1 + exact)));
    }
    if (c.isSmall()) {
      assertThat(before).isGreaterThan(c.optimum(Integer.MAX_VALUE) - 1e-3);
    }
  }

  @Property(tries = 200)
  void casesHoldForWhatFallsUnderThem(@ForAll long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    Case c = new Case(random);
    if (!c.isSmall()) {
      return;
    }
    c.lp.goal(0);
    c.lp.advance();
    int atMost = 1 + random.nextInt(3);
    WindowLp below = c.lp.fork();
    float[] each = new float[c.classOfBlock.size()];
    Arrays.fill(each, 1);
    int row = below.row(each, atMost);
    double whole = c.lp.prices().bound();
    for (int i = 0; i < 8; i++) {
      below.advance();
    }

    WindowLp.Prices prices = below.prices();
    double[] classPrice = new double[c.boxes.size()];
    Arrays.fill(classPrice, prices.row(row));
    assertThat(prices.row(row)).isNotNegative();
    double exact = c.bound(prices.cells(0), classPrice, prices.row(row) * (double) atMost);
    assertThat(prices.bound()).isCloseTo(exact, within(1e-3 * (1 + exact)));
    assertThat(prices.bound()).isGreaterThan(c.optimum(atMost) - 1e-3);
    assertThat(prices.bound()).isLessThan(whole + 1e-3 * (1 + whole));
    // The fork left the program alone.
    assertThat(c.lp.prices().bound()).isEqualTo(whole);
  }

  @Property(tries = 200)
  void evenSharesAreNoBetterThanAnyBound(@ForAll long seed) {
    Case c = new Case(new SplittableRandom(seed));
    double even = c.lp.evenValue();
    c.lp.goal(0);
    for (int i = 0; i < 60; i++) {
      double bound = c.lp.prices().bound();
      assertThat(even).isLessThanOrEqualTo(bound + 1e-3 * (1 + bound));
      c.lp.advance();
    }
  }

  /** On an empty torus all places are alike, so that even shares use every cell. */
  @Example
  void evenSharesFillAnEmptyTorus() {
    TpuTopology topology = TpuTopology.torusBuilder(5, 6, 7).hostTile(Shape.of(1, 1, 1)).build();
    TorusSpace space =
        new TorusSpace(
            Fleet.builder().pod("p", topology).build().pods().iterator().next(), RandomTorus.NOW);
    WindowLp.Builder builder = new WindowLp.Builder();
    int field = builder.field(space);
    Want want = new Want(Shape.of(2, 3, 5), true, false, false, "");
    builder.candidates(builder.clazz(8), field, space.register(want), 30);
    assertThat(builder.build().evenValue()).isCloseTo(210, within(0.01));
  }

  /** What is allocated is known before, so that a pod too large for it is left to others. */
  @Example
  void itsSizeIsKnownBeforeItIsBuilt() {
    TpuTopology topology = TpuTopology.torus(16, 16, 16); // 8x8x16 cells
    TorusSpace space =
        new TorusSpace(
            Fleet.builder().pod("p", topology).build().pods().iterator().next(), RandomTorus.NOW);
    WindowLp.Builder builder = new WindowLp.Builder();
    int field = builder.field(space);
    assertThat(builder.sums()).isEqualTo(1024);
    Want want = new Want(Shape.of(4, 4, 3), false, false, false, "");
    builder.candidates(builder.clazz(1), field, space.register(want), 1);
    // Beside single cells, windows of 2x1x1, 2x2x1, 2x2x2 and 2x2x3 cells.
    assertThat(builder.sums()).isEqualTo(5 * 1024);
    assertThat(builder.candidates()).isEqualTo(1024);
  }

  @Property(tries = 30)
  void itConverges(@ForAll long seed) {
    Case c = new Case(new SplittableRandom(seed));
    c.lp.goal(0);
    for (int i = 0; i < 150; i++) {
      c.lp.advance();
    }
    double bound = c.lp.prices().bound();
    // What is chosen is then nearly feasible and earns nearly as much.
    assertThat(c.lp.value()).isCloseTo(bound, within(0.02 * bound + 0.05));
  }
}
