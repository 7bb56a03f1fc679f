package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.ortools.LpRelaxation;
import dev.slicewright.plan.BoundChecker;
import dev.slicewright.plan.Certificate;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.testing.RandomFleets;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** Certificates made of the duals of linear relaxations, checked on their own. */
class ModelCertificateTest {

  private static final int PROBLEMS = 250;
  private static final long MAX_NODES = 20_000;

  @Test
  void relaxationsOfTinyProblemsBecomeCertificates() {
    LpRelaxation glop = LpRelaxation.create();
    int made = 0;
    int tight = 0;
    int worse = 0;
    for (long seed = 0; seed < PROBLEMS; seed++) {
      RandomFleets.Instance i =
          TinyProblems.of(70_000 + seed, EnumSet.allOf(RandomFleets.Kind.class));
      long[] best;
      try {
        best = new PlannerBruteForce(i, MAX_NODES).solve();
      } catch (PlannerBruteForce.TooLarge e) {
        continue;
      }
      Instance in = new Instance(i.fleet(), i.requests(), i.rules(), i.cost());
      ModelTranslation t = ModelTranslation.of(in, 20_000, () -> false);
      if (t == null) {
        continue;
      }
      BoundChecker checker =
          PlanVerifier.boundChecker(i.fleet(), i.requests(), i.rules(), i.cost());
      for (int l = 0; l < in.levels.size(); l++) {
        long[] held = Arrays.copyOf(best, l);
        for (int j = 0; j < l; j++) {
          held[j] -= t.constant(j);
        }
        FormulationResult result =
            glop.solve(
                t.model(),
                new FormulationTask(
                    l,
                    held,
                    System.nanoTime() + Duration.ofSeconds(20).toNanos(),
                    SolveBudget.within(Duration.ofSeconds(20)),
                    0,
                    null,
                    solution -> {},
                    new CancelToken()));
        if (result.evidence().isEmpty()) {
          continue;
        }
        Optional<Certificate> certificate = t.certificate(l, result.evidence().orElseThrow());
        if (certificate.isEmpty()) {
          continue;
        }
        made++;
        long bound = checker.bound(certificate.orElseThrow(), best);
        long relaxed = result.claimedBound().orElseThrow() + t.constant(l);
        boolean max = in.levels.get(l).kind().maximise();
        assertThat(max ? bound >= best[l] : bound <= best[l])
            .as("problem %d level %d: bound %d, optimum %d", seed, l, bound, best[l])
            .isTrue();
        tight += bound == best[l] ? 1 : 0;
        if (max ? bound > relaxed : bound < relaxed) {
          worse++;
          // What runs is tied in ways that the checker leaves out.
          assertThat(in.free).as("problem %d level %d", seed, l).isNotEmpty();
        }
      }
    }
    assertThat(made).isGreaterThan(PROBLEMS);
    assertThat(tight).as("of %d", made).isGreaterThan(made * 3 / 4);
    assertThat(worse).as("of %d", made).isLessThan(made / 10);
  }
}
