package dev.slicewright.formulation.ortools;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.ortools.Loader;
import com.google.ortools.modelbuilder.ModelBuilder;
import com.google.ortools.modelbuilder.Variable;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.conformance.ModelBruteForce;
import dev.slicewright.formulation.conformance.RandomModels;
import dev.slicewright.formulation.files.ModelFile;
import dev.slicewright.formulation.files.ParsedProgram;
import dev.slicewright.formulation.files.SolutionFile;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Files that are written, solved elsewhere and read back have the optima of brute force. */
class ModelFileSolvedTest {

  @BeforeAll
  static void load() {
    Loader.loadNativeLibraries();
  }

  @Test
  void mpsThatOrToolsImportsHasTheOptimaOfBruteForce() throws IOException {
    int[] seen = new int[2];
    for (long seed = 0; seed < 120; seed++) {
      PlacementModel model = RandomModels.tiny(seed, true, true);
      levels(
          seed,
          model,
          seen,
          file -> {
            StringBuilder text = new StringBuilder();
            file.writeMps(text);
            ModelBuilder builder = new ModelBuilder();
            assertThat(builder.importFromMpsString(text.toString())).isTrue();
            Map<String, Variable> variables = new HashMap<>();
            for (int v = 0; v < builder.numVariables(); v++) {
              Variable variable = builder.varFromIndex(v);
              variables.put(variable.getName(), variable);
            }
            return SolvedPrograms.solve(builder, variables);
          });
    }
    assertThat(seen[0]).as("feasible").isGreaterThan(150);
    assertThat(seen[1]).as("infeasible").isGreaterThan(5);
  }

  @Test
  void lpHasTheOptimaOfBruteForce() throws IOException {
    int[] seen = new int[2];
    for (long seed = 1_000; seed < 1_080; seed++) {
      PlacementModel model = RandomModels.tiny(seed, true, true);
      levels(
          seed,
          model,
          seen,
          file -> {
            StringBuilder text = new StringBuilder();
            file.writeLp(text);
            return SolvedPrograms.solve(ParsedProgram.lp(text.toString()));
          });
    }
    assertThat(seen[0]).as("feasible").isGreaterThan(100);
  }

  private interface Solver {
    /** A solution file as Gurobi writes it, or null if there is no solution. */
    String solve(ModelFile file) throws IOException;
  }

  private static void levels(long seed, PlacementModel model, int[] seen, Solver solver)
      throws IOException {
    ModelBruteForce truth = ModelBruteForce.of(model);
    long[] held = new long[0];
    for (int level = 0; level < model.levels().size(); level++) {
      OptionalLong optimum = truth.optimum(level, held);
      ModelFile file = ModelFile.of(model, level, held);
      String solution = solver.solve(file);
      if (optimum.isEmpty()) {
        seen[1]++;
        assertThat(solution).as("model %d level %d", seed, level).isNull();
        return;
      }
      seen[0]++;
      assertThat(solution).as("model %d level %d", seed, level).isNotNull();
      SolutionFile read =
          file.read(new ByteArrayInputStream(solution.getBytes(StandardCharsets.UTF_8)));
      assertThat(read.format()).isEqualTo(SolutionFile.Format.GUROBI);
      int[] chosen = read.solution().orElseThrow();
      assertThat(model.evaluate(chosen)[level])
          .as("model %d level %d", seed, level)
          .isEqualTo(optimum.getAsLong())
          .isEqualTo(read.values().get(level));
      held = Arrays.copyOf(held, level + 1);
      held[level] = optimum.getAsLong();
    }
    // One more than the best of the first level is out of reach.
    if (held.length > 1) {
      held = Arrays.copyOf(held, 1);
      held[0] += model.levels().get(0).maximise() ? 1 : -1;
      assertThat(solver.solve(ModelFile.of(model, 1, held))).as("model %d", seed).isNull();
    }
  }
}
