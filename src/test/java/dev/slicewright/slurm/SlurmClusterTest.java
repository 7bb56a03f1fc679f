package dev.slicewright.slurm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.Problems;
import dev.slicewright.SliceId;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Reason;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.slurm.SlurmNode.Use;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Node states and jobs of a cluster of one torus, 4x4x8, with nested anchors. */
class SlurmClusterTest {

  private static final SolveBudget BUDGET = SolveBudget.within(Duration.ofSeconds(2));

  private static SlurmCluster strict() {
    return SlurmTopologyReader.create().read(SlurmTopologyFixturesTest.read("one-torus.yaml"));
  }

  private static SlurmCluster lenient() {
    return SlurmTopologyReader.builder()
        .lenient(true)
        .build()
        .read(SlurmTopologyFixturesTest.read("one-torus.yaml"));
  }

  private static String all(String state) {
    return "tpu[001-128] " + state + "\n";
  }

  // ---------------------------------------------------------------- nodes

  @ParameterizedTest
  @CsvSource({
    "idle, FREE",
    "IDLE, FREE",
    "planned, FREE",
    "idle~, FREE",
    "idle#, FREE",
    "idle-, FREE",
    "allocated, BUSY",
    "allocated+, BUSY",
    "mixed, BUSY",
    "MIXED+COMPLETING, BUSY",
    "drained, CORDONED",
    "draining, CORDONED",
    "IDLE+DRAIN, CORDONED",
    "ALLOCATED+DRAIN, CORDONED",
    "maint, CORDONED",
    "idle$, CORDONED",
    "idle@, CORDONED",
    "idle^, CORDONED",
    "idle%, CORDONED",
    "idle!, CORDONED",
    "reserved, CORDONED",
    "blocked, CORDONED",
    "failing, DEGRADED",
    "down, FAILED",
    "down*, FAILED",
    "idle*, FAILED",
    "mixed*, FAILED",
    "DOWN+DRAIN+NOT_RESPONDING, FAILED",
    "fail, FAILED",
    "unknown, FAILED",
    "inval, FAILED",
    "future, FAILED",
  })
  void aStateIsTheWorstOfItsWordsAndSuffixes(String state, Use use) {
    assertThat(SlurmNode.of("n", state).use()).isEqualTo(use);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "*", "happy", "idle+happy", "+", "idle?"})
  void aStateThatSlurmDoesNotHaveIsRefused(String state) {
    assertThatThrownBy(() -> SlurmNode.of("n", state))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("expected a node state of sinfo(1)");
  }

  @Test
  void everyKnownStateIsReadInLowerAndUpperCase() {
    assertThat(SlurmNode.knownStates())
        .hasSizeGreaterThan(40)
        .allSatisfy(
            word ->
                assertThat(SlurmNode.of("n", word.toUpperCase(Locale.ROOT)).use())
                    .isEqualTo(SlurmNode.of("n", word).use()));
  }

  @Test
  void statesBecomeHealthAndCordonsOfHosts() {
    SlurmCluster cluster =
        strict()
            .withNodes(
                "tpu[001-120] idle\ntpu121 down*\ntpu122 drained\ntpu123 failing\n"
                    + "tpu124 planned\ntpu[125-128] idle~\ngpu7 idle\n");
    Pod pod = cluster.fleet().pod("t0").orElseThrow();

    assertThat(pod.reportedHealth())
        .containsOnly(
            Map.entry(new Part.Host(new HostId(120)), Health.FAILED),
            Map.entry(new Part.Host(new HostId(122)), Health.DEGRADED));
    assertThat(pod.cordons())
        .containsExactlyInAnyOrder(new Part.Host(new HostId(121)), new Part.Host(new HostId(122)));
    assertThat(cluster.idleNodes().toString()).isEqualTo("tpu[001-120,124-128]");
  }

  @Test
  void aNodeOfSeveralPartitionsCountsOnceInItsWorstState() {
    SlurmCluster cluster = strict().withNodes(all("idle") + "tpu005 drained\n" + all("idle"));

    assertThat(cluster.idleNodes().toString()).isEqualTo("tpu[001-004,006-128]");
  }

  @Test
  void jsonOfScontrolSaysTheSameAsTextOfSinfo() {
    StringBuilder json = new StringBuilder("{\"meta\": {\"a\": [1, {}]}, \"nodes\": [");
    StringBuilder text = new StringBuilder();
    for (int i = 1; i <= 128; i++) {
      String name = String.format(Locale.ROOT, "tpu%03d", i);
      String state = i == 3 ? "[\"IDLE\", \"DRAIN\"]" : i == 9 ? "[\"DOWN\"]" : "[\"IDLE\"]";
      json.append(i == 1 ? "" : ",")
          .append("{\"name\": \"" + name + "\", \"cpus\": 8, \"state\": " + state + "}");
      text.append(name).append(i == 3 ? " drained" : i == 9 ? " down" : " idle").append('\n');
    }
    json.append("]}");
    String old =
        json.toString().replace("[\"IDLE\", \"DRAIN\"]", "\"idle\",\"state_flags\":[\"DRAIN\"]");

    assertThat(strict().withNodes(json.toString()).fleet())
        .isEqualTo(strict().withNodes(text.toString()).fleet())
        .isEqualTo(strict().withNodes(old).fleet());
  }

  @Test
  void whatIsWrongWithNodesIsListedWholeAndLenientlyTakenAsFailed() {
    String text = "tpu[001-100] idle\ntpu[101-110] happy\ntpu111\ntpu[112- idle\n";
    List<Problem> expected = lenient().withNodes(text).problems();

    assertThat(expected)
        .extracting(Problem::path)
        .containsOnly("nodes.line 2", "nodes.line 3", "nodes.line 4.nodes", "torus/t0.nodes");
    assertThatThrownBy(() -> strict().withNodes(text))
        .isInstanceOfSatisfying(
            InvalidInputException.class, e -> assertThat(e.problems()).isEqualTo(expected));
    assertThat(lenient().withNodes(text).idleNodes().toString()).isEqualTo("tpu[001-100]");
  }

  // ---------------------------------------------------------------- jobs

  @Test
  void aRunningJobOnAnAnchorIsARunningSliceWithItsOwnerAndTimes() {
    SlurmJob job =
        SlurmJob.builder("17", 8)
            .runningOn("tpu[001-002,005-006,017-018,021-022]")
            .priority(50)
            .account("prod")
            .startedAt(Instant.ofEpochSecond(1000))
            .timeLimit(Duration.ofHours(1))
            .build();

    SlurmCluster cluster = strict().withNodes(all("idle")).withJobs(List.of(job));

    assertThat(cluster.leftOut()).isEmpty();
    RunningSlice slice = cluster.fleet().running(new SliceId("17", 0)).orElseThrow();
    assertThat(slice.shape()).isEqualTo(Shape.of(2, 2, 2));
    assertThat(slice.request().priority()).isEqualTo(50);
    assertThat(slice.request().tenant()).isEqualTo("prod");
    assertThat(slice.endsAt()).contains(Instant.ofEpochSecond(4600));
    assertThat(cluster.idleNodes().size()).isEqualTo(120);
    assertThat(cluster.idleAnchors(8)).hasSize(15);
    assertThat(cluster.idleAnchors(128)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        // eight nodes in a row: as many as an anchor has
        "8; 0; tpu[001-008]; has nodes of torus t0 that are no anchor; tpu[001-008]",
        // a box that begins between two anchors
        "8; 0; tpu[002-003,006-007,018-019,022-023]; that are no anchor;"
            + " tpu[002-003,006-007,018-019,022-023]",
        "2; 0; tpu001,gpu1; runs on gpu1 too; tpu001",
        "2; 0; gpu[1-2]; runs on no torus; ''",
        "12; 8; tpu[001-012]; segments that do not divide; tpu[001-012]",
        "16; 8; tpu[001-016]; that are no anchors of 8 nodes each; tpu[001-016]",
      })
  void aRunningJobThatIsNoAnchorIsLeftOutAndItsNodesAreCordoned(
      int nodes, int segment, String list, String reason, String cordoned) {
    SlurmJob job = SlurmJob.builder("17", nodes).segment(segment).runningOn(list).build();

    SlurmCluster cluster = strict().withNodes(all("idle")).withJobs(List.of(job));

    assertThat(cluster.leftOut())
        .singleElement()
        .satisfies(
            l -> {
              assertThat(l.what()).isEqualTo("job 17");
              assertThat(l.reason()).contains(reason);
            });
    assertThat(cluster.fleet().running()).isEmpty();
    List<String> down = new ArrayList<>();
    Pod pod = cluster.fleet().pod("t0").orElseThrow();
    for (Part part : pod.cordons()) {
      down.add(pod.topology().hostName(((Part.Host) part).host()));
    }
    assertThat(HostList.of(down).sorted().toString()).isEqualTo(cordoned);
  }

  @Test
  void twoJobsOnOneNodeAreTheFirstAndOneThatIsLeftOut() {
    SlurmCluster cluster =
        strict()
            .withNodes(all("mixed"))
            .withJobs(
                List.of(
                    SlurmJob.builder("1", 64).runningOn("tpu[001-064]").build(),
                    SlurmJob.builder("2", 64).runningOn("tpu[001-064]").build()));

    assertThat(cluster.fleet().running()).extracting(s -> s.request().id()).containsExactly("1");
    assertThat(cluster.leftOut())
        .extracting(SlurmLeftOut::toString)
        .anyMatch(l -> l.startsWith("job 2: shares nodes with another job"))
        .anyMatch(l -> l.startsWith("nodes tpu[065-128]: are allocated, but no job"));
    assertThat(cluster.idleNodes().isEmpty()).isTrue();
  }

  @Test
  void segmentsOfARunningJobAreFoundInItsNodes() {
    SlurmJob job = SlurmJob.builder("3", 64).segment(8).runningOn("tpu[065-128]").build();

    SlurmCluster cluster = strict().withJobs(List.of(job));

    assertThat(cluster.leftOut()).isEmpty();
    assertThat(cluster.fleet().runningOf("3")).hasSize(8);
    assertThat(cluster.idleNodes().toString()).isEqualTo("tpu[001-064]");
  }

  @Test
  void textOfSqueueBecomesJobs() {
    String text =
        "12|PENDING|Resources|64|900|ann|prod|tpu|1-00:00:00|\n"
            + "13_4|PENDING|Priority|8|800|bob|lab|tpu|30:00|\n"
            + "14|RUNNING|None|8|700|ann|prod|tpu|UNLIMITED|"
            + "tpu[001-002,005-006,017-018,021-022]\n"
            + "15|PENDING|JobHeldUser|8|0|bob|lab|tpu|30:00|\n"
            + "16|PENDING|Dependency|8|5|bob|lab|tpu|30:00|\n"
            + "17_[1-9]|PENDING|Resources|8|5|bob|lab|tpu|30:00|\n"
            + "18|COMPLETED|None|8|5|bob|lab|tpu|30:00|tpu[001-008]\n"
            + "19|PENDING|Resources|8|5|bob|lab|cpu|30:00|\n";

    SlurmCluster cluster =
        SlurmTopologyReader.builder()
            .partitions("tpu")
            .build()
            .read(SlurmTopologyFixturesTest.read("one-torus.yaml"))
            .withNodes(all("idle"))
            .withJobs(text);

    assertThat(cluster.requests()).extracting(SliceRequest::id).containsExactly("12", "13_4");
    SliceRequest first = cluster.requests().get(0);
    assertThat(first.shapes()).containsExactly(Shape.of(4, 4, 4));
    assertThat(first.mayTurn()).isFalse();
    assertThat(first.priority()).isEqualTo(900);
    assertThat(first.tenant()).isEqualTo("prod");
    assertThat(cluster.job("12").orElseThrow().timeLimit()).contains(Duration.ofDays(1));
    assertThat(cluster.job("13_4").orElseThrow().timeLimit()).contains(Duration.ofMinutes(30));
    assertThat(cluster.fleet().running()).hasSize(1);
    assertThat(cluster.leftOut())
        .extracting(SlurmLeftOut::what)
        .containsExactlyInAnyOrder("job 15", "job 16", "job 17_[1-9]", "job 19");
  }

  @Test
  void jsonOfSqueueHasSegmentsTimesAndNodesAskedFor() {
    String json =
        """
        {"jobs": [
          {"job_id": 20, "job_state": ["PENDING"], "state_reason": "Resources", "nodes": "",
           "node_count": {"set": true, "infinite": false, "number": 16}, "segment_size": 8,
           "priority": {"set": true, "infinite": false, "number": 77}, "user_name": "ann",
           "account": "prod", "partition": "tpu", "requeue": false,
           "array_job_id": {"set": true, "infinite": false, "number": 0},
           "array_task_id": {"set": false, "infinite": false, "number": 0},
           "time_limit": {"set": true, "infinite": false, "number": 90}, "extra": {"a": [1]}},
          {"job_id": 22, "job_state": ["RUNNING"], "nodes": "tpu[001-064]",
           "node_count": {"set": true, "infinite": false, "number": 64},
           "array_job_id": {"set": true, "infinite": false, "number": 21},
           "array_task_id": {"set": true, "infinite": false, "number": 3},
           "start_time": {"set": true, "infinite": false, "number": 5000},
           "time_limit": {"set": true, "infinite": true, "number": 0}},
          {"job_id": 23, "job_state": "PENDING", "node_count": 8, "required_nodes": "tpu001"},
          {"job_id": 24, "job_state": ["COMPLETED", "COMPLETING"], "nodes": "tpu[065-128]",
           "node_count": 64},
          {"job_id": 25, "job_state": ["CANCELLED"], "node_count": 8}
        ]}
        """;

    SlurmCluster cluster = strict().withJobs(json);

    SlurmJob segmented = cluster.job("20").orElseThrow();
    assertThat(segmented.segment()).isEqualTo(8);
    assertThat(segmented.mayRequeue()).isFalse();
    assertThat(segmented.timeLimit()).contains(Duration.ofMinutes(90));
    assertThat(cluster.requests())
        .singleElement()
        .satisfies(
            r -> {
              assertThat(r.slices()).isEqualTo(2);
              assertThat(r.shapes()).containsExactly(Shape.of(2, 2, 2));
            });
    assertThat(cluster.fleet().running(new SliceId("21_3", 0)).orElseThrow().startedAt())
        .contains(Instant.ofEpochSecond(5000));
    assertThat(cluster.fleet().running(new SliceId("24", 0)).orElseThrow().leaving()).isTrue();
    assertThat(cluster.leftOut()).extracting(SlurmLeftOut::what).containsExactly("job 23");
    assertThat(cluster.jobs()).hasSize(4);
  }

  @Test
  void whatIsWrongWithJobsIsListedWhole() {
    String text =
        "1|SLEEPING|None|8|1|a|b|p|1:00|\n"
            + "2|PENDING|None|many|1|a|b|p|1:00|\n"
            + "3|PENDING|None|8|-1|a|b|p|soon|\n"
            + "4|RUNNING|None|8|1|a|b|p|1:00|tpu[1-\n"
            + "5|PENDING|None|8|1|a|b|p|1:00\n"
            + "6|PENDING|None|8|1|a|b|p|1:00|\n"
            + "6|PENDING|None|8|1|a|b|p|1:00|\n"
            + "7|PENDING|None|0|1|a|b|p|1:00|\n";

    SlurmCluster cluster = lenient().withJobs(text);

    assertThat(cluster.problems())
        .extracting(Problem::path)
        .containsExactlyInAnyOrder(
            "Job/1.job_state",
            "Job/2.node_count",
            "Job/3.priority",
            "Job/3.time_limit",
            "Job/4.nodes",
            "jobs.line 5",
            "Job/6",
            "Job/7.node_count");
    assertThat(cluster.requests()).extracting(SliceRequest::id).containsExactly("6");
    assertThatThrownBy(() -> strict().withJobs(text))
        .isInstanceOfSatisfying(
            InvalidInputException.class,
            e -> assertThat(e.problems()).isEqualTo(cluster.problems()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"{", "{\"nodes\": 3}", "{\"nodes\": [7, {}, {\"name\": []}]}", "{}}"})
  void jsonThatIsNoneOrOfAnotherKindIsAProblemAndNoCrash(String json) {
    assertThatThrownBy(() -> strict().withNodes(json)).isInstanceOf(InvalidInputException.class);
    assertThatThrownBy(() -> strict().withJobs(json.replace("nodes", "jobs")))
        .isInstanceOf(InvalidInputException.class);
  }

  @Test
  void aNullInAListIsAProblem() {
    List<SlurmJob> jobs = new ArrayList<>();
    jobs.add(null);
    List<SlurmNode> nodes = new ArrayList<>();
    nodes.add(null);

    assertThatThrownBy(() -> strict().withJobs(jobs)).isInstanceOf(InvalidInputException.class);
    assertThatThrownBy(() -> strict().withNodes(nodes)).isInstanceOf(InvalidInputException.class);
    assertThat(lenient().withJobs(jobs).problems()).hasSize(1);
  }

  @Test
  void problemsBeyondTheLimitAreCounted() {
    Problems problems = new Problems();
    SlurmNode.parse("x\n".repeat(1500), problems);

    assertThat(problems.list()).hasSize(Problems.MAX_KEPT + 1);
  }

  // ---------------------------------------------------------------- rows of what goes wrong

  @Test
  @DisplayName("kubernetes-sigs/kueue#4329: free devices are counted, though no place fits")
  void kueue4329_idleNodesThatFillNoPlacementAreNamedNotCounted() {
    // One node of each 2x2x2 is down: 112 nodes are idle, and no placement of 8.
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 128; i++) {
      boolean corner = i % 2 == 0 && i / 4 % 2 == 0 && i / 16 % 2 == 0;
      text.append(String.format(Locale.ROOT, "tpu%03d %s%n", i + 1, corner ? "down" : "idle"));
    }
    SlurmCluster cluster =
        strict().withNodes(text.toString()).withJobs(List.of(SlurmJob.builder("5", 8).build()));

    assertThat(cluster.idleNodes().size()).isEqualTo(112);
    assertThat(cluster.idleAnchors(8)).isEmpty();
    SlurmPlan plan =
        SlurmPlan.of(
            cluster, SlicePlanner.create().plan(cluster.fleet(), cluster.requests(), BUDGET));

    assertThat(plan.waiting())
        .singleElement()
        .satisfies(
            w -> {
              assertThat(w.reason()).isEqualTo(Reason.BLOCKED_BY_HEALTH);
              assertThat(w.never()).isFalse();
              assertThat(w.sentence())
                  .startsWith(
                      "needs a placement of 8 nodes that is wholly idle; 112 nodes stay idle"
                          + " (tpu[002,004-")
                  .contains("but no placement lies in them")
                  .doesNotContain("chip");
            });
  }

  @Test
  @DisplayName("A size that no placement has never starts: Slurm refuses it, and so do we")
  void aSizeWithoutPlacementIsNeverPlaced() {
    SlurmCluster cluster = strict().withJobs(List.of(SlurmJob.builder("5", 7).build()));

    SlurmPlan plan =
        SlurmPlan.of(
            cluster, SlicePlanner.create().plan(cluster.fleet(), cluster.requests(), BUDGET));

    assertThat(plan.waiting())
        .singleElement()
        .satisfies(
            w -> {
              assertThat(w.never()).isTrue();
              assertThat(w.reason()).isEqualTo(Reason.SHAPE_NOT_FORMABLE);
            });
  }
}
