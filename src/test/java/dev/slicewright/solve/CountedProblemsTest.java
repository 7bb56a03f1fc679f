package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.ortools.CountFormulation;
import dev.slicewright.formulation.ortools.CpSatFormulation;
import dev.slicewright.testing.RandomFleets;
import java.time.Duration;
import java.util.EnumSet;
import org.junit.jupiter.api.Test;

/** Problems of partitions and cubes over counts. */
class CountedProblemsTest {

  private static final int PROBLEMS = 120;

  private static FormulationTask task(int level, long[] held) {
    return new FormulationTask(
        level,
        held,
        System.nanoTime() + Duration.ofSeconds(20).toNanos(),
        SolveBudget.within(Duration.ofSeconds(20)),
        0,
        null,
        solution -> {},
        new CancelToken());
  }

  @Test
  void partitionsAndCubesNestAndHaveTheSameOptima() {
    EnumSet<RandomFleets.Kind> kinds = EnumSet.copyOf(RandomFleets.Kind.CUBES);
    kinds.add(RandomFleets.Kind.HALVED);
    kinds.add(RandomFleets.Kind.LISTED);
    CountFormulation counts = CountFormulation.create();
    CpSatFormulation plain = CpSatFormulation.create();
    int solved = 0;
    int declined = 0;
    for (long seed = 0; seed < PROBLEMS; seed++) {
      RandomFleets.Instance i = TinyProblems.of(90_000 + seed, kinds);
      Instance in = new Instance(i.fleet(), i.requests(), i.rules(), i.cost());
      ModelTranslation t = ModelTranslation.of(in, 2_000, () -> false);
      if (t == null) {
        continue;
      }
      FormulationTask task = task(0, new long[0]);
      if (counts.whyNot(t.model(), task).isPresent()) {
        declined++; // boxes in cubes overlap
        continue;
      }
      FormulationResult counted = counts.solve(t.model(), task);
      FormulationResult expected = plain.solve(t.model(), task);
      assertThat(counted.status()).as("problem %d: %s", seed, counted).isEqualTo(Status.OPTIMAL);
      assertThat(counted.claimedBound()).isEqualTo(expected.claimedBound());
      assertThat(t.decode(counted.solution().orElseThrow())).isNotNull();
      solved++;
    }
    assertThat(solved).isGreaterThan(PROBLEMS / 2);
    assertThat(declined).isLessThan(PROBLEMS / 3);
  }
}
