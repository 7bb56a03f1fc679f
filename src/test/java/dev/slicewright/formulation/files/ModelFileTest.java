package dev.slicewright.formulation.files;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Item;
import dev.slicewright.formulation.PlacementModel.Level;
import dev.slicewright.formulation.PlacementModel.Row;
import dev.slicewright.formulation.PlacementModel.Term;
import dev.slicewright.formulation.conformance.RandomModels;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ModelFileTest {

  private static String lp(ModelFile file) throws IOException {
    StringBuilder out = new StringBuilder();
    file.writeLp(out);
    return out.toString();
  }

  private static String mps(ModelFile file) throws IOException {
    StringBuilder out = new StringBuilder();
    file.writeMps(out);
    return out.toString();
  }

  @Test
  void bothTextsSayTheSame() throws IOException {
    for (long seed = 0; seed < 500; seed++) {
      PlacementModel model = RandomModels.tiny(seed, true, true);
      ModelFile file = ModelFile.of(model, 0);
      ParsedProgram lp = ParsedProgram.lp(lp(file));
      ParsedProgram mps = ParsedProgram.mps(mps(file));
      assertThat(mps.rows()).isEqualTo(lp.rows()).hasSize(file.rows());
      assertThat(mps.binaries()).isEqualTo(lp.binaries()).hasSize(file.variables());
      Map<String, Long> minimised = new LinkedHashMap<>(lp.objective());
      if (lp.maximise()) {
        minimised.replaceAll((name, coefficient) -> -coefficient);
      }
      assertThat(mps.objective()).isEqualTo(minimised);
      assertThat(lp.maximise()).isEqualTo(model.levels().get(0).maximise());
      assertThat(lp.longestLine()).isLessThan(500);
    }
  }

  @Test
  void namesAreReadableUniqueAndTakenByEveryReader() throws IOException {
    PlacementModel.Builder b = PlacementModel.builder(2, List.of(new Level("", true)));
    Set<String> keywords = Set.of("free", "inf", "infinity", "end", "st", "max", "bin");
    for (String name :
        List.of(
            "a",
            "a",
            "a",
            "a_2",
            "é漢字",
            "",
            "e9",
            "free",
            "end",
            "x y\nz",
            "9",
            "x".repeat(500),
            "x".repeat(500),
            "-",
            "[a]",
            "<=",
            "\\ comment",
            "'MARKER'")) {
      int item = b.item(new Item(name, b.group(Group.wanted(name))));
      for (int cell = 0; cell < 2; cell++) {
        b.candidate(
            new Candidate(item, new int[] {cell}, new long[] {1}, List.of(), 0, 0, 0, false, null));
      }
    }
    PlacementModel model = b.build();
    ModelFile file = ModelFile.of(model, 0);
    Set<String> seen = new HashSet<>();
    for (int c = 0; c < model.candidates().size(); c++) {
      String name = file.variableOf(c);
      assertThat(name).matches("x_[A-Za-z0-9._]{0,98}");
      assertThat(seen.add(name)).as(name).isTrue();
      assertThat(keywords).doesNotContain(name.toLowerCase());
    }
    assertThat(file.variableOf(0)).isEqualTo("x_a_pod_0_cell_0");
    assertThat(file.variableOf(2)).isEqualTo("x_a_pod_0_cell_0_2");
    assertThat(ParsedProgram.lp(lp(file)).binaries()).containsAll(seen);
    assertThat(ParsedProgram.mps(mps(file)).binaries()).containsAll(seen);
    ModelFile named = ModelFile.of(model, 0, new long[0], c -> "always the same");
    assertThat(named.variableOf(7)).isEqualTo("x_always_the_same_8");
  }

  @Test
  void numbersAreExactAndOutOfReachLimitsAreTamed() throws IOException {
    long huge = PlacementModel.MAX_MAGNITUDE / 4 - 1;
    PlacementModel.Builder b = PlacementModel.builder(0, List.of(new Level("l", true)));
    b.row(new Row("never", Long.MIN_VALUE));
    b.row(new Row("always", Long.MAX_VALUE));
    b.row(new Row("hard", 2 * huge - 1));
    b.row(new Row("halved", 7));
    b.row(new Row("empty", 0));
    b.row(new Row("hopeless", -1));
    List<Term> terms = List.of(new Term(0, 1), new Term(1, 1), new Term(2, huge), new Term(3, 4));
    for (int i = 0; i < 2; i++) {
      int item = b.item(new Item("i" + i, b.group(Group.wanted("g"))));
      b.candidate(
          new Candidate(item, new int[0], new long[] {huge - i}, terms, 0, 0, 0, false, null));
    }
    ModelFile file = ModelFile.of(b.build(), 0);
    ParsedProgram lp = ParsedProgram.lp(lp(file));
    assertThat(ParsedProgram.mps(mps(file)).rows()).isEqualTo(lp.rows());
    assertThat(lp.objective().values()).containsExactly(huge, huge - 1);
    assertThat(lp.rows()).doesNotContainKeys("row_always", "row_empty");
    assertThat(lp.rows().get("row_never").limit()).isEqualTo(-1);
    assertThat(lp.rows().get("row_hopeless").limit()).isEqualTo(-1);
    assertThat(lp.rows().get("row_hard").limit()).isEqualTo(1);
    assertThat(lp.rows().get("row_halved").limit()).isEqualTo(1);
    assertThat(lp.rows().get("row_halved").terms().values()).containsExactly(1L, 1L);
  }

  @Test
  void anEmptyModelHasAFile() throws IOException {
    ModelFile file =
        ModelFile.of(PlacementModel.builder(3, List.of(new Level("l", true))).build(), 0);
    assertThat(ParsedProgram.lp(lp(file)).rows()).isEmpty();
    assertThat(ParsedProgram.mps(mps(file)).binaries()).hasSize(1);
  }

  @Test
  void filesHoldTheSameAndAreReproducible(@TempDir Path dir) throws IOException {
    ModelFile file = ModelFile.of(SampleModel.model(), 1, 20);
    file.writeLp(dir.resolve("a.lp"));
    file.writeMps(dir.resolve("a.mps"));
    ModelFile again = ModelFile.of(SampleModel.model(), 1, 20);
    assertThat(Files.readString(dir.resolve("a.lp"))).isEqualTo(lp(again));
    assertThat(Files.readString(dir.resolve("a.mps"))).isEqualTo(mps(again));
    assertThat(lp(file)).contains("Minimize", "held_chips", "row_quota_of_team_a");
  }

  @Test
  void aWrongLevelIsRefused() {
    PlacementModel model = SampleModel.model();
    for (int level : new int[] {-1, 1, 2}) {
      assertThatThrownBy(() -> ModelFile.of(model, level))
          .isInstanceOf(InvalidInputException.class)
          .hasMessageContaining("level");
    }
    assertThatThrownBy(() -> ModelFile.of(model, 0).variableOf(99))
        .isInstanceOf(IndexOutOfBoundsException.class);
  }
}
