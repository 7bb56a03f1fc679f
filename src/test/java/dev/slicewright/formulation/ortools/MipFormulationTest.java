package dev.slicewright.formulation.ortools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import dev.slicewright.SolverUnavailableException;
import dev.slicewright.formulation.Formulation.Capability;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Limit;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Level;
import dev.slicewright.formulation.PlacementModel.Row;
import dev.slicewright.formulation.PlacementModel.Term;
import dev.slicewright.formulation.conformance.RandomModels;
import dev.slicewright.formulation.ortools.MipFormulation.Solver;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MipFormulationTest {

  private static FormulationTask task(Duration left, int... start) {
    return new FormulationTask(
        0,
        new long[0],
        System.nanoTime() + left.toNanos(),
        SolveBudget.within(left),
        0,
        start.length == 0 ? null : start,
        solution -> {},
        new CancelToken());
  }

  private static MipFormulation gurobi(Map<String, String> environment) {
    return new MipFormulation(Solver.GUROBI, OrToolsNatives.shared(), environment);
  }

  @Test
  void scipIsTheDefault() {
    assertThat(MipFormulation.create().name()).isEqualTo("mip-scip");
    assertThatThrownBy(() -> MipFormulation.create(Solver.GLOP))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("LpRelaxation");
  }

  @Test
  void gurobiIsNeverTriedWhereItIsNotInstalled(@TempDir Path home) throws Exception {
    PlacementModel model = RandomModels.line(5, 1, 1);
    FormulationTask task = task(Duration.ofSeconds(30));
    MipFormulation unset = gurobi(Map.of());
    assertThat(unset.whyNot(model, task).orElseThrow()).contains("GUROBI_HOME is not set", "SCIP");
    assertThatThrownBy(() -> unset.solve(model, task))
        .isInstanceOf(SolverUnavailableException.class)
        .hasMessageContaining("GUROBI_HOME is not set");
    MipFormulation empty = gurobi(Map.of("GUROBI_HOME", home.toString()));
    assertThat(empty.whyNot(model, task).orElseThrow()).contains(home.toString(), "there is none");
    Files.createDirectories(home.resolve("lib"));
    Files.createFile(home.resolve("lib").resolve("libgurobi_light.txt"));
    assertThat(empty.whyNot(model, task).orElseThrow()).contains("there is none");
    Files.createFile(home.resolve("lib").resolve("libgurobi120.so"));
    assertThat(empty.whyNot(model, task)).as("a library that could be one").isEmpty();
  }

  @ParameterizedTest
  @EnumSource(
      value = Solver.class,
      names = {"SCIP", "SAT", "HIGHS"})
  void whatALimitLeavesIsNoClaim(Solver solver) {
    PlacementModel model = RandomModels.knapsack(300, 20, 5);
    FormulationResult result =
        MipFormulation.create(solver).solve(model, task(Duration.ofMillis(1_500)));
    if (solver == Solver.HIGHS) {
      assertThat(result.status()).as("%s", result).isEqualTo(Status.UNKNOWN);
      assertThat(result.bound()).isNull();
    } else {
      assertThat(result.status()).as("%s", result).isIn(Status.FEASIBLE, Status.UNKNOWN);
    }
    assertThat(result.limit()).isEqualTo(Limit.TIME);
    result
        .solution()
        .ifPresent(
            chosen ->
                assertThat(result.claimedBound().orElseThrow())
                    .isGreaterThan(model.evaluate(chosen)[0]));
  }

  @ParameterizedTest
  @EnumSource(
      value = Solver.class,
      names = {"SCIP", "SAT"})
  void warmStartsAreTakenUp(Solver solver) {
    PlacementModel model = RandomModels.knapsack(60, 4, 2);
    int[] start =
        CpSatFormulation.create()
            .solve(model, task(Duration.ofSeconds(2)))
            .solution()
            .orElseThrow();
    MipFormulation mip = MipFormulation.create(solver);
    assertThat(mip.capabilities()).contains(Capability.WARM_START);
    FormulationResult result = mip.solve(model, task(Duration.ofMillis(700), start));
    assertThat(result.message()).contains("warm start complete");
    result
        .solution()
        .ifPresent(
            chosen ->
                assertThat(model.evaluate(chosen)[0])
                    .isGreaterThanOrEqualTo(model.evaluate(start)[0]));
  }

  @Test
  void sumsThatDoublesCannotHoldFailWithAReason() {
    PlacementModel.Builder b = PlacementModel.builder(0, List.of(new Level("value", true)));
    b.row(new Row("r", (1L << 41) + 1));
    RandomModels.single(b, new int[0], 5, List.of(new Term(0, (1L << 41) - 1)));
    RandomModels.single(b, new int[0], 7, List.of(new Term(0, 3)));
    FormulationResult result =
        MipFormulation.create().solve(b.build(), task(Duration.ofSeconds(30)));
    assertThat(result.status()).isEqualTo(Status.FAILED);
    assertThat(result.message()).contains("2^40", "row 0 (r)", "scale");
  }

  @Test
  void largeModelsAreDeclined() {
    PlacementModel model = RandomModels.line(900, 300, 1);
    assertThat(MipFormulation.create().whyNot(model, task(Duration.ofMillis(20))).orElseThrow())
        .contains("SCIP", "literals", "300000", "more time");
  }
}
