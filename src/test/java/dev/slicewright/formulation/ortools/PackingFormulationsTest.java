package dev.slicewright.formulation.ortools;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PackingBruteForce;
import dev.slicewright.formulation.PlacementModel;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Models that ask whether all boxes fit, many of them with nothing to waste. */
class PackingFormulationsTest {

  private static FormulationTask task(int variant) {
    return new FormulationTask(
        0,
        new long[0],
        System.nanoTime() + Duration.ofSeconds(30).toNanos(),
        SolveBudget.within(Duration.ofSeconds(30)),
        variant,
        null,
        solution -> {},
        new CancelToken());
  }

  @Test
  void bothFormulationsAgreeWithBruteForce() {
    int fit = 0;
    int n = 120;
    for (int seed = 0; seed < n; seed++) {
      PackingBruteForce.Question q = PackingBruteForce.random(seed);
      boolean truth = q.fits();
      fit += truth ? 1 : 0;
      for (boolean mandatory : new boolean[] {false, true}) {
        PlacementModel model = q.model(mandatory);
        for (Formulation formulation :
            List.of(CpSatFormulation.create(), CpSatIntervalsFormulation.create())) {
          FormulationResult result = formulation.solve(model, task(seed % 2));
          String about = seed + " " + formulation.name() + ": " + result;
          if (truth) {
            assertThat(result.status()).as(about).isEqualTo(Status.OPTIMAL);
            int[] chosen = result.solution().orElseThrow();
            model.evaluate(chosen);
            assertThat(chosen).as(about).doesNotContain(-1);
          } else if (mandatory) {
            assertThat(result.status()).as(about).isEqualTo(Status.INFEASIBLE);
          } else {
            assertThat(result.status()).as(about).isEqualTo(Status.OPTIMAL);
            assertThat(result.solution().orElseThrow()).as(about).containsOnly(-1);
            assertThat(result.claimedBound()).as(about).hasValue(0);
          }
        }
      }
    }
    assertThat(fit).isBetween(n / 5, n * 4 / 5);
  }

  @Test
  void closedCellsBecomeRectangles() {
    BitSet open = new BitSet();
    open.set(0, 12);
    assertThat(IntervalProgram.blocked(open, 4, 3)).isEmpty();
    open.clear(1, 3);
    open.clear(5, 7);
    open.clear(11);
    assertThat(IntervalProgram.blocked(open, 4, 3))
        .containsExactly(new int[] {1, 0, 2, 2}, new int[] {3, 2, 1, 1});
  }
}
