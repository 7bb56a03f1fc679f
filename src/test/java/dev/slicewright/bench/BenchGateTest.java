package dev.slicewright.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.bench.BenchGate.Row;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BenchGateTest {

  @Test
  void aRowBelowItsLimitPasses() {
    assertThat(BenchGate.misses(new Row("a", 999.9, 200), 1_000, 200)).isEmpty();
  }

  @Test
  void aRowAtOrOverItsLimitIsNamed() {
    assertThat(BenchGate.misses(new Row("a", 1_000, 200), 1_000, 200))
        .containsExactly("a: expected a 99th percentile below 1000.0 ms, but it is 1000.0 ms.");
    assertThat(BenchGate.misses(new Row("a", Double.NaN, 200), 1_000, 200)).hasSize(1);
  }

  @Test
  void tooFewSamplesAreNamed() {
    assertThat(BenchGate.misses(new Row("a", 5, 199), 1_000, 200))
        .containsExactly(
            "a: expected 200 samples or more, but there are 199; give it more iterations.");
    assertThat(BenchGate.misses(new Row("a", 2_000, 0), 1_000, 200)).hasSize(2);
  }

  @Test
  void aRunWithTooFewSamplesEndsNonZeroAndStillWritesItsResults(@TempDir Path dir)
      throws Exception {
    Path json = dir.resolve("jmh.json");
    String small = "SolveBudget -p fleet=torus-1024 -p batch=1 -f 0 -wi 0 -i 1 -v SILENT";
    String rest = " -foe true -rf json -rff " + json;
    assertThat(BenchGate.run((small + rest).split(" "))).isEqualTo(1);
    assertThat(Files.readString(json)).contains("SolveBudgetBenchmark.plan").contains("99.0");
  }

  @Test
  void benchmarksWithoutALimitAndListsEndWithZeroAndMistakesDoNot() throws Exception {
    assertThat(
            BenchGate.run(
                "Verify.*oneSlice", "-f", "0", "-wi", "0", "-i", "1", "-r", "1ms", "-v", "SILENT"))
        .isZero();
    assertThat(BenchGate.run("NoSuchBenchmark")).isEqualTo(1);
    assertThat(BenchGate.run("-i", "many")).isEqualTo(1);
    assertThat(BenchGate.run("-l")).isZero();
  }
}
