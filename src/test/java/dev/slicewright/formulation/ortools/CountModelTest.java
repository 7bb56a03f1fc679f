package dev.slicewright.formulation.ortools;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Item;
import dev.slicewright.formulation.PlacementModel.Level;
import dev.slicewright.formulation.PlacementModel.Row;
import dev.slicewright.formulation.PlacementModel.Term;
import dev.slicewright.formulation.conformance.ModelBruteForce;
import dev.slicewright.formulation.conformance.RandomModels;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Random;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;

class CountModelTest {

  private static FormulationTask task(Duration left) {
    return new FormulationTask(
        0,
        new long[0],
        System.nanoTime() + left.toNanos(),
        SolveBudget.within(left),
        0,
        null,
        solution -> {},
        new CancelToken());
  }

  private static Group group(int gang, boolean mandatory, boolean sameShape, int maxPerDomain) {
    return new Group(
        "g",
        gang,
        mandatory,
        false,
        sameShape,
        false,
        false,
        maxPerDomain,
        new long[0],
        new long[] {-1},
        List.of());
  }

  /** Items that want aligned runs of 1, 2 or 4 of up to 8 cells, some of which are missing. */
  private static PlacementModel nested(Random random) {
    int cells = 4 * (1 + random.nextInt(2));
    PlacementModel.Builder b = PlacementModel.builder(cells, List.of(new Level("value", true)));
    b.row(new Row("quota", 3 + random.nextInt(8)));
    boolean[] dead = new boolean[cells];
    for (int cell = 0; cell < cells; cell++) {
      dead[cell] = random.nextInt(6) == 0;
    }
    int items = 1 + random.nextInt(5);
    int g = -1;
    for (int i = 0; i < items; i++) {
      if (g < 0 || random.nextInt(3) > 0) {
        g =
            b.group(
                group(
                    random.nextInt(4) == 0 ? 0 : -1,
                    random.nextInt(12) == 0,
                    random.nextBoolean(),
                    random.nextInt(3)));
      }
      int item = b.item(new Item("i" + i, g));
      int which = 1 + random.nextInt(7);
      boolean quota = random.nextBoolean();
      for (int size = 1; size <= 4; size *= 2) {
        for (int at = 0; (which & size) != 0 && at < cells; at += size) {
          int[] taken = IntStream.range(at, at + size).toArray();
          if (IntStream.of(taken).noneMatch(cell -> dead[cell])) {
            b.candidate(
                new Candidate(
                    item,
                    taken,
                    new long[] {size},
                    quota ? List.of(new Term(0, size)) : List.of(),
                    size,
                    at / 4,
                    at / 4,
                    false,
                    null));
          }
        }
      }
    }
    // Items that keep four cells free for a row, as whole cubes do.
    if (random.nextBoolean()) {
      int row = b.row(new Row("pool", 0));
      for (int at = 0; at < cells; at += 4) {
        RandomModels.single(
            b, IntStream.range(at, at + 4).toArray(), 0, List.of(new Term(row, -1)));
      }
      RandomModels.single(b, new int[0], 7, List.of(new Term(row, 1)));
    }
    return b.build();
  }

  @Property(tries = 800, seed = "20261130", shrinking = ShrinkingMode.OFF)
  void nestedModelsHaveTheSameOptimaOverCounts(@ForAll long seed) {
    PlacementModel model = nested(new Random(seed));
    CountModel counts = CountModel.of(model);
    assertThat(counts.nests()).isTrue();
    assertThat(counts.model().cellCount()).isZero();
    ModelBruteForce truth = ModelBruteForce.of(model);
    ModelBruteForce counted = ModelBruteForce.of(counts.model());
    OptionalLong optimum = truth.optimum(0, new long[0]);
    assertThat(counted.optimum(0, new long[0])).isEqualTo(optimum);
    // Every solution of one is one of the other, worth the same.
    for (int[] chosen : counted.solutions().values()) {
      int[] full = counts.toFull(chosen);
      assertThat(full).isNotNull();
      assertThat(model.evaluate(full)).isEqualTo(counts.model().evaluate(chosen));
    }
    for (int[] chosen : truth.solutions().values()) {
      assertThat(counts.model().evaluate(counts.toCounted(chosen)))
          .isEqualTo(model.evaluate(chosen));
    }
  }

  /** Requests for runs of 1 to 64 cells in pods of 64, each a power of two. */
  private static PlacementModel pods(int pods, int items) {
    PlacementModel.Builder b = PlacementModel.builder(64 * pods, List.of(new Level("chips", true)));
    List<List<int[]>> nodes = new ArrayList<>();
    for (int size = 1; size <= 64; size *= 2) {
      List<int[]> of = new ArrayList<>();
      for (int at = 0; at < 64 * pods; at += size) {
        of.add(IntStream.range(at, at + size).toArray());
      }
      nodes.add(of);
    }
    for (int i = 0; i < items; i++) {
      int item = b.item(new Item("i" + i, b.group(Group.wanted("g" + i))));
      int size = (1 + i) % 7;
      for (int[] cells : nodes.get(size)) {
        b.candidate(
            new Candidate(
                item,
                cells,
                new long[] {cells.length},
                List.of(),
                size,
                cells[0] / 64,
                0,
                false,
                null));
      }
    }
    return b.build();
  }

  @Test
  void equalPodsAreOneVariableForEachShape() {
    PlacementModel model = pods(8, 100);
    CountModel counts = CountModel.of(model);
    assertThat(counts.types()).isEqualTo(7);
    CpSatProgram program =
        new CpSatProgram(counts.model(), ItemClasses.of(counts.model()), 0, new long[0]);
    assertThat(program.variables()).isEqualTo(7);
    FormulationResult result = CountFormulation.create().solve(model, task(Duration.ofSeconds(30)));
    assertThat(result.status()).as("%s", result).isEqualTo(Status.OPTIMAL);
    assertThat(model.evaluate(result.solution().orElseThrow())[0])
        .as("all 512 chips are asked for several times over")
        .isEqualTo(512);
  }

  @Test
  void poolsOfManyPodsAreOneVariableForEachKindAndPod() {
    PlacementModel.Builder b = PlacementModel.builder(0, List.of(new Level("chips", true)));
    for (int pod = 0; pod < 20; pod++) {
      b.row(new Row("pool" + pod, 7));
    }
    for (int i = 0; i < 300; i++) {
      int item = b.item(new Item("i" + i, b.group(Group.wanted("g" + i))));
      int cubes = 1 + i % 3;
      for (int pod = 0; pod < 20; pod++) {
        b.candidate(
            new Candidate(
                item,
                new int[0],
                new long[] {64L * cubes},
                List.of(new Term(pod, cubes)),
                cubes,
                pod,
                pod,
                false,
                null));
      }
    }
    PlacementModel model = b.build();
    for (CountFormulation counts : List.of(CountFormulation.create(), CountFormulation.scip())) {
      assertThat(counts.whyNot(model, task(Duration.ofSeconds(30)))).isEmpty();
      FormulationResult result = counts.solve(model, task(Duration.ofSeconds(30)));
      assertThat(result.status()).as("%s", result).isEqualTo(Status.OPTIMAL);
      assertThat(result.message()).contains("60 variables");
      assertThat(model.evaluate(result.solution().orElseThrow())[0]).isEqualTo(20 * 7 * 64);
    }
  }

  @Test
  void boxesThatOverlapAreDeclinedAndSolvedAllTheSame() {
    PlacementModel model = RandomModels.line(30, 8, 3);
    CountFormulation counts = CountFormulation.create();
    assertThat(counts.name()).isEqualTo("counts");
    assertThat(counts.whyNot(model, task(Duration.ofSeconds(30))).orElseThrow())
        .contains("overlap", "over candidates");
    FormulationResult result = counts.solve(model, task(Duration.ofSeconds(30)));
    FormulationResult plain = CpSatFormulation.create().solve(model, task(Duration.ofSeconds(30)));
    assertThat(result.status()).isEqualTo(Status.OPTIMAL);
    assertThat(result.claimedBound()).isEqualTo(plain.claimedBound());
  }
}
