package dev.slicewright.formulation.files;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.files.SolutionFile.Format;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SolutionReaderTest {

  private final PlacementModel model = SampleModel.model();
  private final ModelFile file = ModelFile.of(model, 0);

  private static String resource(String name) throws IOException {
    try (InputStream in = SolutionReaderTest.class.getResourceAsStream("/sol/" + name)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private static SolutionFile read(ModelFile file, String text) throws IOException {
    return file.read(new ByteArrayInputStream(text.getBytes(StandardCharsets.UTF_8)));
  }

  private List<String> problems(String text) {
    InvalidInputException e =
        catchThrowableOfType(InvalidInputException.class, () -> read(file, text));
    assertThat(e).as(text).isNotNull();
    return e.problems().stream().map(Problem::toString).toList();
  }

  // ---- what solvers write ----------------------------------------------------------------------

  @ParameterizedTest
  @CsvSource({
    "cplex.sol,                CPLEX,  integer optimal solution",
    "cplex-pool.sol,           CPLEX,  integer optimal solution",
    "gurobi.sol,               GUROBI, ''",
    "scip.sol,                 SCIP,   ''",
    "scip-shell.sol,           SCIP,   optimal solution found",
    "highs-raw.sol,            HIGHS,  Optimal",
    "highs-pretty.sol,         HIGHS,  Optimal",
    "highs-sparse.sol,         HIGHS,  Optimal"
  })
  void optimaAreRead(String name, Format format, String status) throws IOException {
    for (String text : List.of(resource(name), resource(name).replace("\n", "\r\n"))) {
      SolutionFile read = read(file, text);
      assertThat(read.format()).isEqualTo(format);
      assertThat(read.status()).isEqualTo(status);
      int[] chosen = read.solution().orElseThrow();
      assertThat(model.evaluate(chosen)[0]).isEqualTo(SampleModel.OPTIMUM);
      assertThat(read.values()).hasSize(2).first().isEqualTo(SampleModel.OPTIMUM);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "highs-infeasible.sol,        Infeasible",
    "highs-pretty-infeasible.sol, Infeasible",
    "scip-shell-infeasible.sol,   infeasible"
  })
  void noSolutionIsAResult(String name, String status) throws IOException {
    SolutionFile read = read(ModelFile.of(model, 1, 21), resource(name));
    assertThat(read.solution()).isEmpty();
    assertThat(read.values()).isEmpty();
    assertThat(read.status()).isEqualTo(status);
  }

  @Test
  void cplexWithoutASolutionIsAResult() throws IOException {
    String head = "<CPLEXSolution version=\"1.2\"><header solutionStatusString=\"%s\"/>%s";
    String end = "</CPLEXSolution>";
    assertThat(read(file, head.formatted("integer infeasible", end)).solution()).isEmpty();
    // Only what is not 0 is written at level 3, so this places nothing.
    assertThat(
            read(file, head.formatted("integer optimal solution", "<variables/>" + end))
                .solution()
                .orElseThrow())
        .containsOnly(-1);
  }

  @Test
  void readsFromAPath(@TempDir Path dir) throws IOException {
    Path sol = Files.writeString(dir.resolve("a.sol"), resource("gurobi.sol"));
    assertThat(file.read(sol).values().get(0)).isEqualTo(SampleModel.OPTIMUM);
    Files.writeString(sol, "\uFEFF" + resource("cplex.sol"));
    assertThat(file.read(sol).format()).isEqualTo(Format.CPLEX);
    Files.writeString(sol, "\uFEFF" + resource("gurobi.sol"));
    assertThat(file.read(sol).format()).isEqualTo(Format.GUROBI);
  }

  // ---- what is wrong ---------------------------------------------------------------------------

  @Test
  void everyProblemIsListedWithItsLine() {
    assertThat(
            problems(
                """
                # Solution for model
                x_eval_pod_1_at_3.0.0_size_1x1x1 0.5
                x_evil 1

                x_eval_pod_0_at_0.0.0_size_1x1x1 one
                absent_train 0x1p0
                x_eval_pod_1_at_3.0.0_size_1x1x1 1
                x_train_0_pod_0_at_0.0.0_size_1x1x1 1
                x_train_0_pod_0_at_1.0.0_size_1x1x1 1
                x_train_1_pod_0_at_1.0.0_size_1x1x1 nan
                x_train_1_pod_0_at_2.0.0_size_1x1x1 1e400
                pod_train_0 1 2 3
                """))
        .satisfiesExactly(
            p -> assertThat(p).startsWith("line 2").contains("0 or 1", "0.5", "relaxation"),
            p -> assertThat(p).startsWith("line 3").contains("\"x_evil\"", "another model"),
            p -> assertThat(p).startsWith("line 5").contains("a number", "\"one\""),
            p -> assertThat(p).startsWith("line 6").contains("a number", "0x1p0"),
            p -> assertThat(p).startsWith("line 7").contains("on line 2 already"),
            p -> assertThat(p).startsWith("line 9").contains("item train/0", "line 8"),
            p -> assertThat(p).startsWith("line 10").contains("a number"),
            p -> assertThat(p).startsWith("line 11").contains("0 or 1"),
            p -> assertThat(p).startsWith("line 12").contains("a name and a value"));
  }

  @Test
  void problemsInXmlHaveTheirLine() {
    assertThat(
            problems(
                """
                <CPLEXSolution>
                 <variables>
                  <variable name="x_evil" value="1"/>
                  <variable index="3" value="1"/>
                  <variable name="absent_train"/>
                 </variables>
                </CPLEXSolution>
                """))
        .satisfiesExactly(
            p -> assertThat(p).startsWith("line 3").contains("x_evil"),
            p -> assertThat(p).startsWith("line 4").contains("its name is missing"),
            p -> assertThat(p).startsWith("line 5").contains("its value is missing"));
    assertThat(problems("<CPLEXSolution>\n<variables>\n<variable name=</variables>"))
        .singleElement()
        .satisfies(p -> assertThat(p).startsWith("line 3").contains("well-formed"));
    assertThat(problems("<html><body/></html>")).singleElement().asString().contains("other XML");
  }

  @Test
  void rulesThatASolutionBreaksAreListed() {
    assertThat(
            problems(
                """
                x_train_0_pod_0_at_0.0.0_size_1x1x1 1
                x_eval_pod_0_at_0.0.0_size_1x1x1 1
                """))
        .anyMatch(p -> p.contains("cell 0 is taken"))
        .anyMatch(p -> p.contains("1 of 2 items are placed"));
  }

  @Test
  void whatIsHeldMustBeKept() throws IOException {
    assertThat(read(ModelFile.of(model, 1, 20), resource("gurobi.sol")).values()).contains(20L);
    assertThatThrownBy(() -> read(ModelFile.of(model, 1, 21), resource("gurobi.sol")))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("levels[0]")
        .hasMessageContaining("expected at least 21")
        .hasMessageContaining("has 20");
  }

  @ParameterizedTest
  @ValueSource(strings = {"highs-raw.sol", "highs-sparse.sol", "highs-pretty.sol", "cplex.sol"})
  void aFileThatIsCutOffIsRefused(String name) throws IOException {
    String text = resource(name);
    List<String> lines = text.lines().toList();
    int whole = 0;
    for (int i = 0; i < lines.size(); i++) {
      if (lines.get(i).contains("x_eval")) {
        whole = i;
      }
    }
    for (int end = 0; end < whole; end++) {
      String cut = String.join("\n", lines.subList(0, end));
      assertThatThrownBy(() -> read(file, cut))
          .as(cut)
          .isInstanceOf(InvalidInputException.class)
          .hasMessageContaining("line ");
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "\n\n",
        "# nothing\n",
        "c Problem:    t\nc Rows: 4\n",
        "dear reader\n",
        "a b c d\n",
        "\0\0\0\0",
        "<",
        "< >",
        "PK\003\004"
      })
  void otherFilesAreRefused(String text) {
    assertThat(problems(text)).isNotEmpty().allMatch(p -> p.startsWith("line "));
  }

  // ---- hostile files ---------------------------------------------------------------------------

  @Test
  void nothingOutsideTheFileIsRead(@TempDir Path dir) throws IOException {
    Path secret = Files.writeString(dir.resolve("secret"), "x_evil");
    String entity =
        """
        <?xml version="1.0"?>
        <!DOCTYPE CPLEXSolution [<!ENTITY a SYSTEM "%s">]>
        <CPLEXSolution><variables><variable name="a" value="&a;"/></variables>&a;</CPLEXSolution>
        """
            .formatted(secret.toUri());
    assertThat(problems(entity))
        .isNotEmpty()
        .noneMatch(p -> p.contains("x_evil"))
        .anyMatch(p -> p.contains("no document type"));
    StringBuilder laughs = new StringBuilder("<!DOCTYPE l [<!ENTITY l0 \"ha\">");
    for (int i = 1; i < 40; i++) {
      laughs.append("<!ENTITY l%d \"&l%d;&l%d;\">".formatted(i, i - 1, i - 1));
    }
    laughs.append("]><CPLEXSolution><header solutionStatusString=\"&l39;\"/></CPLEXSolution>");
    assertThat(problems(laughs.toString())).isNotEmpty();
  }

  /** A head, then one part again and again, without end. */
  private static final class Endless extends InputStream {
    private final byte[] head;
    private final byte[] part;
    private long at;

    Endless(String head, String part) {
      this.head = head.getBytes(StandardCharsets.UTF_8);
      this.part = part.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public int read() {
      byte b = at < head.length ? head[(int) at] : part[(int) ((at - head.length) % part.length)];
      at++;
      return b & 0xFF;
    }
  }

  @Test
  void filesWithoutEndEndInAnError() {
    String xml = "<CPLEXSolution><variables>";
    List<Endless> files =
        List.of(
            new Endless("# a\n", "x"),
            new Endless("# a\n", "x_evil 1\n"),
            new Endless("# a\n", "#\n"),
            new Endless("", "\n"),
            new Endless("", " "),
            new Endless("Model status\nOptimal\n# Columns 3\n", "x_evil 1\n"),
            new Endless(xml, "<variable name=\"x_evil\" value=\"1\"/>\n"),
            new Endless(xml, "<a>"),
            new Endless(xml, " "),
            new Endless(xml + "<variable name=\"", "x"),
            new Endless(xml + "<", "x"),
            new Endless(xml + "<a ", "b"),
            new Endless(xml + "<!--", "x"));
    for (int i = 0; i < files.size(); i++) {
      Endless endless = files.get(i);
      InvalidInputException e =
          catchThrowableOfType(InvalidInputException.class, () -> file.read(endless));
      assertThat(e).as("file %d", i).isNotNull();
      assertThat(e.problems()).hasSizeLessThan(1_100);
      assertThat(e.getMessage()).hasSizeLessThan(20_000);
      assertThat(endless.at).isLessThan(2L << 20);
    }
  }

  @Test
  void brokenFilesEndInAnErrorOrAValidSolution() throws IOException {
    Random random = new Random(4);
    for (String name :
        List.of(
            "cplex.sol",
            "gurobi.sol",
            "scip-shell.sol",
            "highs-raw.sol",
            "highs-pretty.sol",
            "highs-sparse.sol")) {
      byte[] whole = resource(name).getBytes(StandardCharsets.UTF_8);
      for (int run = 0; run < 200; run++) {
        byte[] broken = whole.clone();
        for (int hit = random.nextInt(4); hit >= 0; hit--) {
          broken[random.nextInt(broken.length)] =
              random.nextBoolean()
                  ? (byte) random.nextInt(256)
                  : (byte) "01 \n#<>&".charAt(run % 8);
        }
        if (random.nextInt(4) == 0) {
          broken = Arrays.copyOf(broken, random.nextInt(broken.length));
        }
        try {
          SolutionFile read = file.read(new ByteArrayInputStream(broken));
          read.solution().ifPresent(model::evaluate);
        } catch (InvalidInputException e) {
          assertThat(e.problems()).isNotEmpty();
        }
      }
    }
  }
}
