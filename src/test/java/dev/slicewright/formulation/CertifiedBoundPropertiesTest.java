package dev.slicewright.formulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Item;
import dev.slicewright.formulation.PlacementModel.Level;
import dev.slicewright.formulation.conformance.ModelBruteForce;
import dev.slicewright.formulation.conformance.RandomModels;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;

/** Bounds that prices prove, and what they fix, against all solutions, enumerated. */
class CertifiedBoundPropertiesTest {

  /** Prices on some of what is there: none, small, or larger than any gain. */
  private static ModelPrices prices(PlacementModel model, int level, Random random) {
    int scale = 1 + random.nextInt(20);
    ModelPrices prices = ModelPrices.zero(model, level);
    for (long[] some : List.of(prices.cells(), prices.rows(), prices.earlier())) {
      for (int i = 0; i < some.length; i++) {
        some[i] = random.nextInt(3) == 0 ? 0 : (long) (random.nextDouble() * scale * (1 << 20));
      }
    }
    return prices;
  }

  private static long[] held(
      ModelBruteForce truth, PlacementModel model, int level, Random random) {
    long[] held = Arrays.copyOf(truth.lexicographic().orElse(new long[9]), level);
    for (int l = 0; l < level; l++) {
      boolean maximise = model.levels().get(l).maximise();
      held[l] += random.nextInt(3) * (maximise ? -random.nextInt(3) : random.nextInt(3));
    }
    return held;
  }

  @Property(tries = 1_500, seed = "20261130", shrinking = ShrinkingMode.OFF)
  void anyPricesBoundEveryOptimum(@ForAll long seed) {
    Random random = new Random(seed);
    PlacementModel model = RandomModels.tiny(seed, random.nextInt(4) > 0, random.nextInt(4) > 0);
    ModelBruteForce truth = ModelBruteForce.of(model);
    for (int level = 0; level < model.levels().size(); level++) {
      long[] held = held(truth, model, level, random);
      ModelPrices prices = prices(model, level, random);
      OptionalLong bound = model.certifiedBound(level, held, prices);
      OptionalLong optimum = truth.optimum(level, held);
      if (bound.isEmpty()) {
        assertThat(truth.feasible()).as("only where there is no solution").isFalse();
      } else if (optimum.isPresent()) {
        if (model.levels().get(level).maximise()) {
          assertThat(bound.getAsLong()).isGreaterThanOrEqualTo(optimum.getAsLong());
        } else {
          assertThat(bound.getAsLong()).isLessThanOrEqualTo(optimum.getAsLong());
        }
      }
    }
  }

  @Property(tries = 1_500, seed = "20261130", shrinking = ShrinkingMode.OFF)
  void fixingKeepsEveryBetterSolution(@ForAll long seed) {
    Random random = new Random(seed);
    PlacementModel model = RandomModels.tiny(seed, random.nextInt(4) > 0, random.nextInt(4) > 0);
    ModelBruteForce truth = ModelBruteForce.of(model);
    List<int[]> solutions = List.copyOf(truth.solutions().values());
    if (solutions.isEmpty()) {
      return;
    }
    int level = random.nextInt(model.levels().size());
    int[] incumbent = solutions.get(random.nextInt(solutions.size()));
    long[] held = Arrays.copyOf(model.evaluate(incumbent), level);
    ReducedModel reduced = model.reduced(level, held, prices(model, level, random), incumbent);
    assertThat(reduced.model().candidates()).hasSize(model.candidates().size() - reduced.dropped());
    assertThat(reduced.toOriginal(reduced.toReduced(incumbent))).isEqualTo(incumbent);
    assertThat(ModelBruteForce.of(reduced.model()).optimum(level, held))
        .isEqualTo(truth.optimum(level, held));
  }

  private static PlacementModel twoOnOneCell() {
    PlacementModel.Builder b = PlacementModel.builder(1, List.of(new Level("value", true)));
    RandomModels.single(b, new int[] {0}, 12, List.of());
    RandomModels.single(b, new int[] {0}, 4, List.of());
    return b.build();
  }

  @Test
  void aPriceOnTheCellProvesTheOptimumAndFixes() {
    PlacementModel model = twoOnOneCell();
    long unit = ModelPrices.UNIT;
    long[] none = new long[0];
    assertThat(model.certifiedBound(0, none, ModelPrices.zero(model, 0))).hasValue(16);
    ModelPrices five = new ModelPrices(new long[] {5 * unit}, none, none);
    assertThat(model.certifiedBound(0, none, five)).as("5 + 7 + 0").hasValue(12);
    ModelPrices three = new ModelPrices(new long[] {3 * unit + 1}, none, none);
    assertThat(model.certifiedBound(0, none, three))
        .as("a little less than 13 is 12: all gains are multiples of 4")
        .hasValue(12);
    ReducedModel reduced = model.reduced(0, none, five, new int[] {0, -1});
    assertThat(reduced.dropped()).isEqualTo(1);
    assertThat(model.reduced(0, none, five, new int[] {-1, 1}).dropped())
        .as("the larger one would be better, and the incumbent stays")
        .isZero();
  }

  @Test
  void whatDoesNotFitIsRefused() {
    PlacementModel model = twoOnOneCell();
    ModelPrices wrong = new ModelPrices(new long[2], new long[0], new long[0]);
    assertThatThrownBy(() -> model.certifiedBound(0, new long[0], wrong))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("1 cells");
    assertThatThrownBy(() -> model.certifiedBound(1, new long[1], wrong))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("level below 1");
    assertThatThrownBy(() -> new ModelPrices(new long[] {-1}, new long[0], new long[0]))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("-1");
  }

  @Test
  void figuresBeyondLongsProveNothing() {
    PlacementModel.Builder b = PlacementModel.builder(0, List.of(new Level("value", true)));
    RandomModels.single(b, new int[0], 1L << 50, List.of());
    PlacementModel model = b.build();
    assertThat(model.certifiedBound(0, new long[0], ModelPrices.zero(model, 0))).isEmpty();
    ReducedModel reduced =
        model.reduced(0, new long[0], ModelPrices.zero(model, 0), new int[] {-1});
    assertThat(reduced.dropped()).isZero();
  }

  @Test
  void aMandatoryGroupWithoutCandidatesHasNoBound() {
    PlacementModel.Builder b = PlacementModel.builder(0, List.of(new Level("value", true)));
    Group must =
        new Group(
            "g", -1, true, false, false, false, false, 0, new long[0], new long[0], List.of());
    b.item(new Item("a", b.group(must)));
    PlacementModel model = b.build();
    assertThat(model.certifiedBound(0, new long[0], ModelPrices.zero(model, 0))).isEmpty();
  }
}
