package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.formulation.files.ModelFile;
import dev.slicewright.formulation.files.ParsedProgram;
import dev.slicewright.formulation.files.SolutionFile;
import dev.slicewright.formulation.ortools.CpSatFormulation;
import dev.slicewright.formulation.ortools.SolvedPrograms;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomFleets.Instance;
import dev.slicewright.topology.TpuTopology;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class ExportedProblemTest {

  private static final SolveBudget BUDGET = SolveBudget.within(Duration.ofSeconds(20));

  private static SolutionFile solve(ModelFile file) throws IOException {
    StringBuilder text = new StringBuilder();
    file.writeLp(text);
    String solution = SolvedPrograms.solve(ParsedProgram.lp(text.toString()));
    return file.read(
        new ByteArrayInputStream(
            (solution == null ? "solution status: infeasible\nno solution available" : solution)
                .getBytes(StandardCharsets.UTF_8)));
  }

  @Test
  void levelByLevelElsewhereIsAsGoodAsThePlannersOwnOptimum() throws IOException {
    int compared = 0;
    for (long seed = 0; seed < 40; seed++) {
      Instance i = TinyProblems.of(seed, EnumSet.allOf(RandomFleets.Kind.class));
      SlicePlanner planner =
          SlicePlanner.builder()
              .cost(i.cost())
              .failOnRejectedPlan(true)
              .formulations(List.of(CpSatFormulation.create()))
              .build();
      Plan own = planner.plan(i.fleet(), i.requests(), i.rules(), BUDGET);
      ExportedProblem problem = planner.export(i.fleet(), i.requests(), i.rules(), BUDGET);
      Plan plan = null;
      for (int level = 0; level < problem.levels().size(); level++) {
        ModelFile file = plan == null ? problem.file(level) : problem.file(level, plan);
        plan = problem.plan(solve(file)).orElseThrow();
        assertThat(PlanVerifier.verify(i.fleet(), i.requests(), i.rules(), i.cost(), plan))
            .isEmpty();
        assertThat(plan.engines()).contains("import");
      }
      assertThat(plan).isNotNull();
      assertThat(plan.score().compareValues(own.score())).isLessThanOrEqualTo(0);
      if (own.score().isOptimal()
          && own.score().levels().stream()
              .noneMatch(l -> l.level().kind() == Level.Kind.NEW_HOSTS)) {
        compared++;
        assertThat(plan.score().values()).as("seed %d", seed).isEqualTo(own.score().values());
      }
    }
    assertThat(compared).isGreaterThan(15);
  }

  private static final Fleet FLEET = Fleet.builder().pod("east/1", TpuTopology.v5p()).build();

  @Test
  void namesSayWhatIsPlacedWhere() {
    ExportedProblem problem =
        SlicePlanner.create()
            .export(
                FLEET,
                List.of(
                    SliceRequest.builder("train").shape("8x8x8").slices(2).build(),
                    SliceRequest.builder("eval").shape("2x2x1").build()),
                PlanningRules.NONE,
                BUDGET);
    List<String> names =
        java.util.stream.IntStream.range(0, problem.model().candidates().size())
            .mapToObj(problem.file(0)::variableOf)
            .toList();
    assertThat(names)
        .contains("x_train_0_in_east_1_8x8x8_any_cubes", "x_train_1_in_east_1_8x8x8_any_cubes")
        .anyMatch(n -> n.startsWith("x_eval_0_in_east_1_2x2x1_"));
  }

  @Test
  void whatBreaksARuleIsRefusedAndNothingIsAPlanToo() {
    ExportedProblem problem =
        SlicePlanner.create()
            .export(
                FLEET,
                List.of(SliceRequest.builder("a").shape("8x8x8").slices(2).build()),
                PlanningRules.NONE,
                BUDGET);
    int[] half = new int[problem.model().items().size()];
    Arrays.fill(half, -1);
    Plan nothing = problem.plan(half);
    assertThat(nothing.unplaced()).extracting(Unplaced::request).containsExactly("a");
    half[0] = 0;
    assertThatThrownBy(() -> problem.plan(half))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("1 of 2 items are placed");
    assertThat(
            problem.plan(new SolutionFile(SolutionFile.Format.SCIP, "infeasible", null, List.of())))
        .isEqualTo(Optional.empty());
  }

  @Test
  void whereThereIsOneLevelASecondFileIsRefusedPlainly() {
    ExportedProblem problem =
        SlicePlanner.create()
            .export(
                FLEET,
                List.of(SliceRequest.builder("a").shape("8x8x8").build()),
                PlanningRules.NONE,
                BUDGET);
    assertThat(problem.levels()).hasSize(1);
    Plan nothing = problem.plan(new int[] {-1});
    assertThatThrownBy(() -> problem.file(1, nothing))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("this problem has only one level");
  }

  @Test
  void whatTheOtherSolverProvedIsNotTakenAndThatIsNoted() {
    ExportedProblem problem =
        SlicePlanner.create()
            .export(
                FLEET,
                List.of(SliceRequest.builder("a").shape("8x8x8").build()),
                PlanningRules.NONE,
                BUDGET);
    Plan nothing = problem.plan(new int[] {-1});
    assertThat(nothing.gap()).isPositive();
    assertThat(nothing.notes()).anyMatch(n -> n.contains("proved is not taken"));
    Plan best = problem.plan(new int[] {0});
    assertThat(best.gap()).isZero();
    assertThat(best.notes()).noneMatch(n -> n.contains("proved is not taken"));
  }

  @Test
  void whatCannotBeExportedIsSaid() {
    SlicePlanner planner = SlicePlanner.create();
    assertThatThrownBy(() -> planner.export(FLEET, List.of(), PlanningRules.NONE, BUDGET))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("nothing is wanted");
    List<SliceRequest> many =
        List.of(SliceRequest.builder("a").shape("2x2x1").slices(2_000).build());
    assertThatThrownBy(() -> planner.export(FLEET, many, PlanningRules.NONE, BUDGET))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("150,000 candidates");
    assertThatThrownBy(
            () ->
                planner.export(
                    FLEET, many, PlanningRules.NONE, SolveBudget.within(Duration.ofMillis(1))))
        .isInstanceOf(InvalidInputException.class);
  }
}
