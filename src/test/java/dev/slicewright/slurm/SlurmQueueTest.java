package dev.slicewright.slurm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.slurm.SlurmNode.Use;
import dev.slicewright.solve.SlicePlanner;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Queues as large and as odd as Slurm's get: components, arrays, limits, pins, many names. */
class SlurmQueueTest {

  private static final SolveBudget BUDGET = SolveBudget.within(Duration.ofSeconds(2));

  private static final String TWO =
      """
      - topology: t
        torus3d:
          toruses:
            - name: a
              dims: {x: 4, y: 4, z: 4}
              nodes: a[01-64]
              placements: [{dims: {x: 2, y: 2, z: 2}}, {dims: {x: 4, y: 4, z: 4}}]
            - name: b
              dims: {x: 4, y: 4, z: 4}
              nodes: b[01-64]
              placements: [{dims: {x: 2, y: 2, z: 2}}]
      """;

  private static final String CUBE = "a[01-02,05-06,17-18,21-22]";

  private static SlurmCluster two() {
    return SlurmTopologyReader.create().read(TWO);
  }

  private static SlurmCluster lenient() {
    return SlurmTopologyReader.builder().lenient(true).build().read(TWO);
  }

  private static SlurmPlan plan(SlurmCluster cluster, PlanningRules rules) {
    return SlurmPlan.of(
        cluster, SlicePlanner.create().plan(cluster.fleet(), cluster.requests(), rules, BUDGET));
  }

  private static String json(String... jobs) {
    return "{\"jobs\": [" + String.join(",", jobs) + "]}";
  }

  // ---------------------------------------------------------------- what kind of job

  @Test
  void componentsOfHeterogeneousJobsAreNotPlannedApartAndNotMovedApart() {
    String waits =
        "{\"job_id\": 31, \"het_job_id\": {\"set\": true, \"number\": 30}, \"het_job_offset\":"
            + " {\"set\": true, \"number\": 1}, \"job_state\": [\"PENDING\"], \"node_count\": 8}";
    String plain =
        "{\"job_id\": 32, \"het_job_id\": {\"set\": true, \"number\": 0}, \"het_job_offset\":"
            + " {\"set\": true, \"number\": 0}, \"job_state\": [\"PENDING\"], \"node_count\": 8}";

    SlurmCluster fromJson = two().withJobs(json(waits, plain));
    SlurmCluster fromText =
        two().withJobs("30+1|PENDING|Resources|8|9|u|a|p|1:00|\n32|PENDING|None|8|9|u|a|p|1:00|\n");
    SlurmCluster running = two().withJobs("40+0|RUNNING|None|8|9|u|a|p|1:00|" + CUBE + "\n");

    for (SlurmCluster cluster : List.of(fromJson, fromText)) {
      assertThat(cluster.requests()).extracting(SliceRequest::id).containsExactly("32");
      assertThat(cluster.leftOut())
          .singleElement()
          .asString()
          .startsWith("job 30+1: is a component of a heterogeneous job;");
    }
    assertThat(running.pinned(PlanningRules.NONE).permission("40+0")).isEqualTo(Permission.PINNED);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "AssocGrpNodeLimit",
        "QOSMaxNodePerUserLimit",
        "PartitionTimeLimit",
        "PartitionDown",
        "InvalidAccount",
        "Licenses",
        "BurstBufferStageIn",
        "launch failed requeued held",
        "job_requeued_in_held_state",
        "JobHoldMaxRequeue",
        "JobHeldAdmin",
        "DependencyNeverSatisfied",
        "ReservationDeleted"
      })
  void aJobThatNodesWouldNotHelpIsNotPlanned(String reason) {
    SlurmCluster cluster = two().withJobs("1|PENDING|" + reason + "|8|9|u|a|p|1:00|\n");

    assertThat(cluster.requests()).isEmpty();
    assertThat(cluster.leftOut()).singleElement().asString().startsWith("job 1: is held, or");
  }

  @ParameterizedTest
  @ValueSource(strings = {"Resources", "Priority", "None", "ReqNodeNotAvail", "NodeDown", "Prolog"})
  void aJobThatWaitsForNodesIsPlanned(String reason) {
    assertThat(two().withJobs("1|PENDING|" + reason + "|8|9|u|a|p|1:00|\n").requests()).hasSize(1);
  }

  @Test
  void aJobOfSeveralPartitionsCountsForEachOfThem() {
    SlurmTopologyReader reader = SlurmTopologyReader.builder().partitions("tpu").build();

    assertThat(
            reader
                .read(TWO)
                .withJobs(
                    "1|PENDING|None|8|9|u|a|cpu,tpu|1:00|\n2|PENDING|None|8|9|u|a|cpu|1:00|\n")
                .requests())
        .extracting(SliceRequest::id)
        .containsExactly("1");
  }

  @Test
  void aJobOfAReservationIsNotPlanned() {
    SlurmCluster cluster =
        two()
            .withJobs(
                json(
                    "{\"job_id\": 1, \"job_state\": [\"PENDING\"], \"node_count\": 8,"
                        + " \"resv_name\": \"weekly\"}",
                    "{\"job_id\": 2, \"job_state\": [\"PENDING\"], \"node_count\": 8,"
                        + " \"resv_name\": \"\"}"));

    assertThat(cluster.requests()).extracting(SliceRequest::id).containsExactly("2");
  }

  // ---------------------------------------------------------------- pins

  @Test
  void nodesToWhichAJobIsPinnedButNotYetStartedAreNotGivenAway() {
    String pinned =
        "{\"job_id\": 1, \"job_state\": [\"PENDING\"], \"node_count\": 8, \"required_nodes\": \""
            + CUBE
            + "\"}";
    SlurmCluster cluster =
        two()
            .withJobs(
                json(pinned, "{\"job_id\": 2, \"job_state\": \"PENDING\", \"node_count\": 64}"));

    assertThat(cluster.job("1").orElseThrow().requiredNodes()).isEqualTo(HostList.parse(CUBE));
    assertThat(cluster.idleNodes().names())
        .doesNotContainAnyElementsOf(HostList.parse(CUBE).names());
    assertThat(cluster.leftOut()).singleElement().asString().contains("are cordoned for it");
    assertThat(plan(cluster, PlanningRules.NONE).placements()).isEmpty(); // 2 needs all of torus a
  }

  @Test
  void aPinToNodesOfAnotherJobKeepsNothing() {
    String runs = "{\"job_id\": 3, \"job_state\": [\"RUNNING\"], \"nodes\": \"" + CUBE + "\"}";
    String pinned =
        "{\"job_id\": 1, \"job_state\": [\"PENDING\"], \"node_count\": 8, \"required_nodes\": [\""
            + CUBE
            + "\"]}";
    SlurmCluster cluster = two().withJobs(json(runs, pinned));

    assertThat(cluster.requests()).isEmpty();
    assertThat(cluster.leftOut()).singleElement().asString().contains("asks for nodes by name");
    assertThat(cluster.fleet().running()).hasSize(1);
    assertThat(cluster.idleNodes().size()).isEqualTo(120);
  }

  @Test
  void anEvictedJobIsReleasedForAnyNodes() {
    SlurmCluster cluster =
        two()
            .withJobs(
                List.of(
                    SlurmJob.builder("1_7", 64).runningOn("a[01-64]").build(),
                    SlurmJob.builder("2", 64).priority(10).build()));
    SlurmPlan plan =
        plan(cluster, PlanningRules.builder().permitByDefault(Permission.EVICTABLE).build());

    assertThat(plan.actions().get(2).commands())
        .containsExactly("scontrol update jobid=1_7 reqnodelist=", "scontrol release 1_7");
  }

  @Test
  void commandsAreQuotedForAShell() {
    String odd = TWO.replace("a[01-64]", "\"o'd$(id)[01-64]\"");
    SlurmCluster cluster =
        SlurmTopologyReader.create().read(odd).withJobs(List.of(SlurmJob.builder("2", 64).build()));

    assertThat(plan(cluster, PlanningRules.NONE).actions().get(0).commands())
        .containsExactly("scontrol update jobid=2 reqnodelist='o'\\''d$(id)[01-64]'");
  }

  // ---------------------------------------------------------------- states

  @ParameterizedTest
  @ValueSource(
      strings = {
        "IDLE+CLOUD+NOT_RESPONDING+POWERING_UP",
        "POWERING_UP+IDLE+NO_RESPOND",
        "idle#",
        "IDLE+CLOUD+POWERED_DOWN",
        "idle~"
      })
  void aNodeThatIsPoweredUpOnDemandIsFree(String state) {
    assertThat(SlurmNode.of("n", state).use()).isEqualTo(Use.FREE);
  }

  @ParameterizedTest
  @ValueSource(strings = {"IDLE+NOT_RESPONDING", "DOWN+POWERING_UP+NOT_RESPONDING", "idle*"})
  void aNodeThatDoesNotAnswerOtherwiseIsFailed(String state) {
    assertThat(SlurmNode.of("n", state).use()).isEqualTo(Use.FAILED);
  }

  @Test
  void aJobThatGaveAllItsNodesBackIsOver() {
    assertThat(two().withJobs("2|COMPLETING|None|8|50|a|b|p|1:00|\n").jobs()).isEmpty();
  }

  @Test
  void aJobOnTwoToruses() {
    String nodes = CUBE + "," + CUBE.replace('a', 'b');
    SlurmJob whole = SlurmJob.builder("1", 16).runningOn(nodes).build();

    assertThat(two().withJobs(List.of(whole.toBuilder().segment(8).build())).fleet().running())
        .hasSize(2);
    SlurmCluster one = two().withJobs(List.of(whole));
    assertThat(one.fleet().running()).isEmpty();
    assertThat(one.idleNodes().size()).isEqualTo(112);
  }

  // ---------------------------------------------------------------- text

  @Test
  void marksAndLineEndsOfOtherSystemsDoNotMatter() {
    String mark = "\ufeff";
    SlurmCluster cluster =
        SlurmTopologyReader.create()
            .read(mark + TWO.replace("\n", "\r\n"))
            .withNodes(mark + "a[01-64] idle\r\nb[01-64]\tdrained\r\n")
            .withJobs(
                mark
                    + json(
                        "{\"job_id\": \"7\", \"job_state\": \"PENDING\", \"node_count\": \"8\"}"));

    assertThat(cluster.idleNodes()).isEqualTo(HostList.parse("a[01-64]"));
    assertThat(cluster.requests()).hasSize(1);
  }

  @Test
  void anAnswerWithoutJobsOrNodesIsNoEmptyQueue() {
    assertThatThrownBy(() -> two().withJobs("{\"errors\": [\"down\"]}"))
        .hasMessageContaining("jobs")
        .hasMessageContaining("expected a list, but there is none");
    assertThat(lenient().withNodes("{}").problems()).isNotEmpty();
    assertThat(two().withJobs("").jobs()).isEmpty();
    assertThat(two().withJobs("{\"jobs\": []}").jobs()).isEmpty();
  }

  @Test
  void aProblemOfAJobWithoutIdIsNamedByItsPlace() {
    assertThat(lenient().withJobs("{\"jobs\": [{}]}").problems().get(0).path())
        .isEqualTo("jobs[0].job_state");
  }

  @Test
  void manyShortLinesDoNotStandForMoreNamesThanMayBe() {
    SlurmCluster nodes = lenient().withNodes("x[0-999999] idle\n".repeat(5_000));
    SlurmCluster jobs =
        lenient().withJobs("1|RUNNING|None|8|50|a|b|p|1:00|x[0-999999]\n".repeat(5_000));

    assertThat(nodes.problems().get(0).path()).isEqualTo("nodes.line 2");
    assertThat(nodes.problems().get(0).message()).contains("in all lines together");
    assertThat(jobs.problems().get(0).message()).contains("expected at most 0 names");
  }

  // ---------------------------------------------------------------- topologies

  @Test
  void aTorusWithoutNodesYetIsLeftOutAndNoProblem() {
    SlurmCluster cluster =
        SlurmTopologyReader.create()
            .read(
                TWO
                    + "      - {name: later, dims: {x: 2, y: 2, z: 2},"
                    + " placements: [{dims: {x: 2, y: 2, z: 2}}]}\n");

    assertThat(cluster.toruses()).hasSize(2);
    assertThat(cluster.leftOut()).singleElement().asString().contains("has no nodes yet");
  }

  @Test
  void cellsAndAnchorsOfAllTorusesTogetherAreBounded() {
    StringBuilder cells = new StringBuilder("- topology: t\n  torus3d:\n    toruses:\n");
    for (int i = 0; i < 20; i++) {
      cells
          .append("      - {name: t" + i)
          .append(", dims: {x: 64, y: 128, z: 256}, regions: [{anchor: {x: 0, y: 0, z: 0}, ")
          .append("dims: {x: 1, y: 1, z: 1}, nodes: n" + i + "}]}\n");
    }
    String placement = "{dims: {x: 2, y: 2, z: 2}, anchor_spacing: {x: 1, y: 1, z: 1}}";
    String anchors =
        "- topology: t\n  torus3d:\n    toruses:\n      - {name: a, dims: {x: 16, y: 16, z: 16},"
            + " nodes: \"n[1-4096]\", placements: ["
            + String.join(", ", Collections.nCopies(5_000, placement))
            + "]}\n";
    SlurmTopologyReader reader = SlurmTopologyReader.builder().lenient(true).build();

    assertThat(reader.read(cells.toString()).toruses()).hasSize(2);
    SlurmCluster cut = reader.read(anchors);
    assertThat(cut.toruses().get(0).placements()).hasSize(4_096);
    assertThat(cut.problems()).singleElement().asString().contains("anchors in all placements");
    assertThatThrownBy(() -> SlurmTopologyReader.create().read(anchors))
        .isInstanceOf(InvalidInputException.class);
  }

  /** Walking each of the many anchors cell by cell would take hours. */
  @Test
  void aHoleAtTheEndOfLargeAnchorsCostsNothing() {
    SlurmCluster cluster =
        SlurmTopologyReader.create()
            .read(
                """
                - topology: t
                  torus3d:
                    toruses:
                      - name: a
                        dims: {x: 32, y: 64, z: 64}
                        regions:
                          - {anchor: {x: 0, y: 0, z: 0}, dims: {x: 32, y: 64, z: 63},
                             nodes: "n[1-129024]"}
                        placements:
                          - {dims: {x: 31, y: 63, z: 63}, anchor_spacing: {x: 1, y: 1, z: 1}}
                """);

    assertThat(cluster.model("a")).contains(SlurmModel.BOXES);
    assertThat(cluster.assembly().hasIdleAnchor(31 * 63 * 63, Set.of())).isTrue();
    assertThat(cluster.assembly().hasIdleAnchor(31 * 63 * 63, Set.of("n1"))).isTrue();
    assertThat(cluster.assembly().hasIdleAnchor(31 * 63 * 63, Set.of("n2048"))).isTrue();
    assertThat(cluster.assembly().hasIdleAnchor(31 * 63 * 64, Set.of())).isFalse();
  }

  // ---------------------------------------------------------------- against the plugin's rule

  @Test
  void besideJobsThatRunAJobStartsExactlyWhereThePluginCouldStartIt() {
    Random random = new Random(72);
    int placed = 0;
    int waits = 0;
    int beside = 0;
    for (int round = 0; round < 150; round++) {
      SlurmAnchorsTest.Case c = SlurmAnchorsTest.random(random);
      SlurmCluster empty = SlurmTopologyReader.create().read(c.yaml()).withNodes(c.nodes());
      List<SlurmJob> jobs = new ArrayList<>();
      Set<String> taken = new HashSet<>();
      for (int i = 0; i < 4; i++) {
        int size = anySize(random, c);
        List<Set<String>> free =
            SlurmOracle.anchors(c.toruses(), size).stream()
                .filter(a -> empty.idleNodes().names().containsAll(a))
                .filter(a -> Collections.disjoint(a, taken))
                .collect(Collectors.toCollection(ArrayList::new));
        if (!free.isEmpty() && random.nextInt(3) > 0) {
          Set<String> nodes = free.get(random.nextInt(free.size()));
          taken.addAll(nodes);
          jobs.add(
              SlurmJob.builder("run" + i, size)
                  .runningOn(HostList.of(nodes).sorted().toString())
                  .build());
        }
      }
      int size = anySize(random, c);
      jobs.add(SlurmJob.builder("new", size).build());
      SlurmCluster cluster = empty.withJobs(jobs);
      Set<Set<String>> free =
          SlurmOracle.anchors(c.toruses(), size).stream()
              .filter(a -> empty.idleNodes().names().containsAll(a))
              .filter(a -> Collections.disjoint(a, taken))
              .collect(Collectors.toSet());

      SlurmPlan plan = plan(cluster, PlanningRules.NONE);

      assertThat(plan.placements().isEmpty())
          .as("%s%n%s", c.yaml(), jobs)
          .isEqualTo(free.isEmpty());
      plan.placements().forEach(p -> assertThat(free).as(c.yaml()).contains(Set.copyOf(p.nodes())));
      placed += plan.placements().size();
      waits += plan.waiting().size();
      beside += taken.isEmpty() ? 0 : 1;
    }
    assertThat(placed).isGreaterThan(40);
    assertThat(waits).isGreaterThan(40);
    assertThat(beside).isGreaterThan(60);
  }

  private static int anySize(Random random, SlurmAnchorsTest.Case c) {
    List<TorusPlacement> all =
        c.toruses().stream().flatMap(torus -> torus.placements().stream()).toList();
    return (int) all.get(random.nextInt(all.size())).size();
  }
}
