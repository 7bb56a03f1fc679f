package dev.slicewright.formulation.ortools;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.ModelPrices;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Item;
import dev.slicewright.formulation.PlacementModel.Level;
import dev.slicewright.formulation.ReducedModel;
import dev.slicewright.formulation.conformance.ModelBruteForce;
import dev.slicewright.formulation.conformance.RandomModels;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class LpRelaxationTest {

  private static final int MODELS = 300;

  private final LpRelaxation glop = LpRelaxation.create();

  private static FormulationTask task(int variant, int level, long... held) {
    return new FormulationTask(
        level,
        held,
        System.nanoTime() + Duration.ofSeconds(30).toNanos(),
        SolveBudget.within(Duration.ofSeconds(30)),
        variant,
        null,
        solution -> {},
        new CancelToken());
  }

  @Test
  void tinyModelsAreBoundedByWhatTheirPricesProve() {
    int tight = 0;
    int levels = 0;
    int dropped = 0;
    for (long seed = 0; seed < MODELS; seed++) {
      PlacementModel model = RandomModels.tiny(seed, true, true);
      ModelBruteForce truth = ModelBruteForce.of(model);
      long[] best = truth.lexicographic().orElse(null);
      if (best == null) {
        FormulationResult result = glop.solve(model, task(0, 0));
        assertThat(result.solution()).as("model %d: %s", seed, result).isEmpty();
        continue;
      }
      for (int level = 0; level < best.length; level++) {
        long[] held = Arrays.copyOf(best, level);
        FormulationResult result = glop.solve(model, task((int) (seed % 2), level, held));
        assertThat(result.status())
            .as("model %d level %d: %s", seed, level, result)
            .isIn(Status.UNKNOWN, Status.FEASIBLE, Status.OPTIMAL);
        ModelPrices prices = result.evidence().orElseThrow();
        long bound = result.claimedBound().orElseThrow();
        assertThat(model.certifiedBound(level, held, prices)).hasValue(bound);
        if (model.levels().get(level).maximise()) {
          assertThat(bound).isGreaterThanOrEqualTo(best[level]);
        } else {
          assertThat(bound).isLessThanOrEqualTo(best[level]);
        }
        if (result.status() == Status.OPTIMAL) {
          assertThat(bound).isEqualTo(best[level]);
        }
        result
            .solution()
            .ifPresent(
                chosen ->
                    assertThat(truth.solutions())
                        .containsKey(Arrays.stream(model.evaluate(chosen)).boxed().toList()));
        tight += bound == best[level] ? 1 : 0;
        levels++;
        int[] incumbent = truth.any().orElseThrow();
        if (level == 0) {
          ReducedModel reduced = model.reduced(0, held, prices, incumbent);
          dropped += reduced.dropped();
          assertThat(ModelBruteForce.of(reduced.model()).optimum(0, held)).hasValue(best[0]);
        }
      }
    }
    assertThat(tight).as("most relaxations of tiny models are tight").isGreaterThan(levels / 2);
    assertThat(dropped).as("and most fix something").isGreaterThan(MODELS / 2);
  }

  @Test
  void boxesOnALineAreBoundedClosely() {
    PlacementModel model = RandomModels.line(40, 12, 9);
    FormulationResult exact = CpSatFormulation.create().solve(model, task(0, 0));
    long optimum = model.evaluate(exact.solution().orElseThrow())[0];
    FormulationResult result = glop.solve(model, task(0, 0));
    assertThat(result.claimedBound().orElseThrow())
        .as("%s", result)
        .isBetween(optimum, optimum + optimum / 20);
    OptionalLong free = model.certifiedBound(0, new long[0], ModelPrices.zero(model, 0));
    assertThat(result.claimedBound().orElseThrow()).isLessThan(free.orElseThrow());
  }

  @Test
  void manyAlikeItemsOnPlacesOfTheirOwn() {
    // Three places for each of eight alike: no row has two ways, yet the places are what is scarce.
    PlacementModel.Builder b = PlacementModel.builder(6, List.of(new Level("chips", true)));
    for (int i = 0; i < 8; i++) {
      int item = b.item(new Item("i" + i, b.group(Group.wanted("g" + i))));
      for (int at = 0; at < 6; at += 2) {
        b.candidate(
            new Candidate(
                item, new int[] {at, at + 1}, new long[] {5}, List.of(), 0, 0, 0, false, null));
      }
    }
    FormulationResult result = glop.solve(b.build(), task(0, 0));
    assertThat(result.status()).as("%s", result).isEqualTo(Status.OPTIMAL);
    assertThat(result.claimedBound()).hasValue(15);
  }

  @Test
  void whatIsFixedLeavesTheOptimumToTheOthers() {
    PlacementModel model = RandomModels.knapsack(40, 3, 7);
    FormulationResult exact = CpSatFormulation.create().solve(model, task(0, 0));
    int[] best = exact.solution().orElseThrow();
    FormulationResult relaxed = glop.solve(model, task(0, 0));
    ReducedModel reduced = model.reduced(0, new long[0], relaxed.evidence().orElseThrow(), best);
    assertThat(reduced.dropped()).isPositive();
    FormulationResult again = reduced.solve(MipFormulation.create(), task(0, 0));
    assertThat(again.status()).as("%s", again).isEqualTo(Status.OPTIMAL);
    assertThat(model.evaluate(again.solution().orElseThrow())).isEqualTo(model.evaluate(best));
    assertThat(again.claimedBound()).isEqualTo(exact.claimedBound());
  }

  @Test
  void sizesAndCancelsAsTheOthers() {
    CancelToken cancelled = new CancelToken();
    cancelled.cancel();
    FormulationTask plain = task(0, 0);
    FormulationTask task =
        new FormulationTask(
            0,
            plain.held(),
            plain.deadlineNanos(),
            plain.budget(),
            0,
            null,
            plain.listener(),
            cancelled);
    PlacementModel model = RandomModels.line(40, 12, 9);
    assertThat(glop.name()).isEqualTo("glop");
    assertThat(glop.whyNot(model, plain)).isEmpty();
    assertThat(glop.solve(model, task).status()).isEqualTo(Status.CANCELLED);
  }
}
