package dev.slicewright.slurm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import dev.slicewright.InvalidInputException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Text that nobody meant to write ends in a cluster or in problems, and soon. */
class SlurmFuzzTest {

  private static final String[] BITS = {
    "\n",
    "\t",
    " ",
    ":",
    "-",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&a",
    "*a",
    "!!",
    "|",
    ">",
    "\"",
    "'",
    "#",
    "%",
    "@",
    "0",
    "9",
    "-1",
    "99999",
    "65536",
    "x",
    "dims",
    "nodes",
    "\u0000",
    "\u2028",
    "é",
    "\ud800",
    "---",
    "...",
    "?",
    "null",
    "~",
    "1e9",
    "0x10",
    "[1-99999999]",
    "n[1-",
    "<<: ",
    "- "
  };

  @Test
  void twentyThousandMutatedFilesAreReadOrRefused() throws Exception {
    Random random = new Random(41);
    List<String> files = new ArrayList<>();
    SlurmTopologyFixturesTest.files()
        .forEach(f -> files.add(SlurmTopologyFixturesTest.read(f.getFileName().toString())));
    int[] counts = new int[2];
    assertTimeoutPreemptively(
        Duration.ofMinutes(10),
        () -> {
          for (int i = 0; i < 20_000; i++) {
            String text = mutated(random, files.get(random.nextInt(files.size())));
            try {
              SlurmCluster cluster = SlurmTopologyReader.builder().lenient(true).build().read(text);
              assertThat(cluster.toruses()).isNotEmpty();
              counts[0]++;
            } catch (InvalidInputException e) {
              assertThat(e.problems()).as(text).isNotEmpty();
              counts[1]++;
            }
          }
        });
    assertThat(counts[0]).isGreaterThan(2_000);
    assertThat(counts[1]).isGreaterThan(2_000);
  }

  @Test
  void mutatedStatesAndJobsAreReadOrRefused() {
    Random random = new Random(42);
    String states = "tpu[001-120] idle\ntpu[121-126] down*\ntpu127 mixed\ntpu128 IDLE+DRAIN\n";
    String nodes =
        "{\"nodes\": [{\"name\": \"tpu001\", \"state\": [\"IDLE\", \"DRAIN\"]},"
            + " {\"name\": \"tpu002\", \"state\": \"idle\", \"state_flags\": [\"DRAIN\"]}]}";
    String queue =
        "12|PENDING|Resources|64|900|ann|prod|tpu|1-00:00:00|\n"
            + "14|RUNNING|None|8|700|ann|prod|tpu|30:00|tpu[001-002,005-006,017-018,021-022]\n";
    String jobs =
        "{\"jobs\": [{\"job_id\": 22, \"job_state\": [\"RUNNING\"], \"nodes\": \"tpu[001-064]\","
            + " \"segment_size\": 8, \"start_time\": {\"set\": true, \"number\": 5000},"
            + " \"time_limit\": {\"set\": true, \"infinite\": false, \"number\": 10}},"
            + " {\"job_id\": 23, \"job_state\": [\"PENDING\"], \"node_count\": 8}]}";
    SlurmCluster cluster =
        SlurmTopologyReader.builder()
            .lenient(true)
            .build()
            .read(SlurmTopologyFixturesTest.read("one-torus.yaml"));
    assertTimeoutPreemptively(
        Duration.ofMinutes(10),
        () -> {
          for (int i = 0; i < 2_000; i++) {
            try {
              cluster
                  .withNodes(mutated(random, i % 2 == 0 ? states : nodes))
                  .withJobs(mutated(random, i % 3 == 0 ? queue : jobs))
                  .requests();
            } catch (InvalidInputException e) {
              assertThat(e.problems()).isNotEmpty();
            }
          }
        });
  }

  private static String mutated(Random random, String text) {
    StringBuilder s = new StringBuilder(text);
    int times = 1 + random.nextInt(4);
    for (int i = 0; i < times; i++) {
      int at = random.nextInt(s.length() + 1);
      int end = Math.min(s.length(), at + random.nextInt(12));
      switch (random.nextInt(5)) {
        case 0 -> s.delete(at, end);
        case 1 -> s.insert(at, s.substring(at, end));
        case 2 -> s.insert(at, BITS[random.nextInt(BITS.length)]);
        case 3 -> s.replace(at, end, BITS[random.nextInt(BITS.length)]);
        default -> {
          if (at < s.length()) {
            s.setCharAt(at, (char) random.nextInt(256));
          }
        }
      }
    }
    return s.toString();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "x", "[]", "{}", "- {}", "null", "- - -", "\ufeff", "%YAML 9", "&a [*a]"})
  void smallTextsThatAreNoTopologyAreRefused(String text) {
    assertThatThrownBy(() -> SlurmTopologyReader.builder().lenient(true).build().read(text))
        .isInstanceOfSatisfying(
            InvalidInputException.class, e -> assertThat(e.problems()).isNotEmpty());
  }

  @Test
  void depthSizeAndExpansionsAreBounded() {
    String bomb =
        "- topology: t\n  torus3d: {toruses: [{name: a, dims: {x: 2, y: 1, z: 1}, nodes: ";
    for (String text :
        List.of(
            "[".repeat(100_000),
            "- ".repeat(100_000),
            "{a: ".repeat(100_000),
            "a: &a [1]\n".repeat(10_000),
            bomb + "'n[1-999999999]'}]}",
            bomb + "'[0-9999][0-9999][0-9999]'}]}",
            "- topology: t\n  torus3d: {toruses: [{name: a, dims: {x: 65535, y: 65535, z: 65535},"
                + " nodes: a}]}",
            " ".repeat(TextTree.MAX_YAML + 1))) {
      assertTimeoutPreemptively(
          Duration.ofMinutes(2),
          () ->
              assertThatThrownBy(
                      () -> SlurmTopologyReader.builder().lenient(true).build().read(text))
                  .isInstanceOf(InvalidInputException.class));
    }
  }
}
