package dev.slicewright.slurm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.SolveBudget;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.StalePlanException;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.slurm.SlurmPlan.Action.Kind;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Shape;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Plans in Slurm's words, carried out on a queue that knows only nodes and commands. */
class SlurmPlanTest {

  private static final SolveBudget BUDGET = SolveBudget.within(Duration.ofSeconds(10));

  private static final SolveBudget SHORT = SolveBudget.within(Duration.ofSeconds(1));

  private final SlicePlanner planner = SlicePlanner.create();

  private static SlurmCluster cluster(SlurmJob... jobs) {
    return SlurmTopologyReader.create()
        .read(SlurmTopologyFixturesTest.read("one-torus.yaml"))
        .withJobs(List.of(jobs));
  }

  private SlurmPlan plan(SlurmCluster cluster, PlanningRules rules) {
    return SlurmPlan.of(cluster, planner.plan(cluster.fleet(), cluster.requests(), rules, BUDGET));
  }

  @Test
  void nodesStandInWorkerOrderAndTheListInCanonicalOrder() {
    SlurmPlan plan = plan(cluster(SlurmJob.builder("9", 8).build()), PlanningRules.NONE);

    SlurmPlan.JobPlacement placed = plan.placement("9").orElseThrow();
    SlurmTorus torus = cluster().toruses().get(0);
    Chip first = torus.cell(placed.nodes().get(0)).orElseThrow();
    assertThat(placed.segments().get(0).dims()).isEqualTo(Shape.of(2, 2, 2));
    int i = 0;
    for (int z = 0; z < 2; z++) {
      for (int y = 0; y < 2; y++) {
        for (int x = 0; x < 2; x++) {
          assertThat(torus.cell(placed.nodes().get(i++)))
              .contains(new Chip(first.x() + x, first.y() + y, first.z() + z));
        }
      }
    }
    assertThat(HostList.parse(placed.nodeList())).isEqualTo(HostList.of(placed.nodes()).sorted());
    assertThat(torus.address(placed.nodes().get(0)))
        .contains("t0:" + first.x() + ":" + first.y() + ":" + first.z());
    assertThat(plan.actions())
        .singleElement()
        .satisfies(
            a -> {
              assertThat(a.kind()).isEqualTo(Kind.START);
              assertThat(a.commands())
                  .containsExactly(
                      "scontrol update jobid=9 reqnodelist='" + placed.nodeList() + "'");
            });
  }

  @Test
  void aSegmentedJobWhoseNodesHoldMoreAnchorsThanSegmentsIsNoted() {
    String yaml =
        """
        - topology: ring
          torus3d:
            toruses:
              - name: r
                dims: {x: 4, y: 1, z: 1}
                nodes: r[1-4]
                placements: [{dims: {x: 2, y: 1, z: 1}, anchor_spacing: {x: SPACING}}]
        """;
    List<SlurmJob> jobs = List.of(SlurmJob.builder("1", 4).segment(2).build());
    SlurmCluster dense =
        SlurmTopologyReader.create().read(yaml.replace("SPACING", "1")).withJobs(jobs);
    SlurmCluster aligned =
        SlurmTopologyReader.create().read(yaml.replace("SPACING", "2")).withJobs(jobs);

    assertThat(plan(dense, PlanningRules.NONE).notes())
        .singleElement()
        .asString()
        .startsWith("job 1: 4 anchors lie in its nodes, of which it gets 2;");
    assertThat(plan(aligned, PlanningRules.NONE).notes()).isEmpty();
    assertThat(plan(aligned, PlanningRules.NONE).placements()).hasSize(1);
  }

  @Test
  void aMoveIsARequeueBeforeAStartAndARelease() {
    // Two small jobs, one in each half: the large one needs a half.
    SlurmCluster cluster =
        cluster(
            SlurmJob.builder("1", 8).runningOn("tpu[001-002,005-006,017-018,021-022]").build(),
            SlurmJob.builder("2", 8).runningOn("tpu[065-066,069-070,081-082,085-086]").build(),
            SlurmJob.builder("3", 64).priority(10).build());

    SlurmPlan plan =
        plan(cluster, PlanningRules.builder().permitByDefault(Permission.MOVABLE).build());

    assertThat(plan.waiting()).isEmpty();
    assertThat(plan.actions())
        .extracting(SlurmPlan.Action::kind)
        .containsExactlyInAnyOrder(Kind.REQUEUE, Kind.START, Kind.START);
    String moved = plan.actions().get(0).job();
    assertThat(plan.actions().get(0).kind()).isEqualTo(Kind.REQUEUE);
    assertThat(plan.actions().get(0).commands()).containsExactly("scontrol requeuehold " + moved);
    assertThat(plan.actions())
        .filteredOn(a -> a.job().equals(moved) && a.kind() == Kind.START)
        .singleElement()
        .satisfies(
            a -> assertThat(a.commands()).hasSize(2).last().isEqualTo("scontrol release " + moved));
  }

  @Test
  void anEvictedJobIsHeldUntilTheOthersHaveStartedAndThenReleased() {
    SlurmCluster cluster =
        cluster(
            SlurmJob.builder("1", 128).runningOn("tpu[001-128]").build(),
            SlurmJob.builder("2", 64).priority(10).build());

    SlurmPlan plan =
        plan(cluster, PlanningRules.builder().permitByDefault(Permission.EVICTABLE).build());

    assertThat(plan.actions())
        .extracting(SlurmPlan.Action::kind)
        .containsExactly(Kind.REQUEUE, Kind.START, Kind.RELEASE);
    assertThat(plan.actions().get(0).sentence())
        .isEqualTo(
            "job 1 makes room for other jobs: requeue and hold it, it gives back tpu[001-128]");
  }

  @Test
  void aJobThatMayNotBeRequeuedIsCancelledOrPinned() {
    SlurmCluster cluster =
        cluster(
            SlurmJob.builder("1", 128).runningOn("tpu[001-128]").mayRequeue(false).build(),
            SlurmJob.builder("2", 64).priority(10).build());
    PlanningRules rules = PlanningRules.builder().permitByDefault(Permission.EVICTABLE).build();

    assertThat(plan(cluster, rules).actions().get(0).commands()).containsExactly("scancel 1");
    assertThat(plan(cluster, cluster.pinned(rules)).actions()).isEmpty();
  }

  @Test
  void aPlanForAnotherStateOfTheClusterIsStale() {
    SlurmCluster before = cluster(SlurmJob.builder("1", 128).build());
    Plan plan = planner.plan(before.fleet(), before.requests(), BUDGET);
    SlurmCluster after = cluster(SlurmJob.builder("2", 128).runningOn("tpu[001-128]").build());

    assertThatThrownBy(() -> SlurmPlan.of(after, plan)).isInstanceOf(StalePlanException.class);
  }

  @Test
  void actionsInOrderNeverStartAJobOnNodesInUseAndEndAtThePlan() {
    Random random = new Random(21);
    Set<Kind> kinds = new HashSet<>();
    for (int round = 0; round < 20; round++) {
      SlurmCluster cluster = busy(random);
      PlanningRules rules =
          PlanningRules.builder()
              .permitByDefault(random.nextBoolean() ? Permission.ANY : Permission.MOVABLE)
              .build();
      Plan plan = planner.plan(cluster.fleet(), cluster.requests(), rules, SHORT);
      SlurmPlan slurm = SlurmPlan.of(cluster, plan);

      Map<String, Set<String>> queue = new TreeMap<>();
      cluster.jobs().stream()
          .filter(j -> j.phase() == SlurmJob.Phase.RUNNING)
          .forEach(j -> queue.put(j.id(), Set.copyOf(j.nodes().names())));
      for (SlurmPlan.Action action : slurm.actions()) {
        kinds.add(action.kind());
        Set<String> nodes = Set.copyOf(action.nodes().names());
        switch (action.kind()) {
          case REQUEUE, CANCEL ->
              assertThat(queue.remove(action.job())).as("%s", slurm.actions()).isEqualTo(nodes);
          case START -> {
            queue.values().forEach(v -> assertThat(v).doesNotContainAnyElementsOf(nodes));
            assertThat(queue.put(action.job(), nodes)).isNull();
            assertThat(String.join(" ", action.commands())).contains(action.nodes().toString());
          }
          case RELEASE -> assertThat(queue).doesNotContainKey(action.job());
        }
      }

      assertThat(queue).isEqualTo(nodesOf(cluster, plan));
    }
    assertThat(kinds).contains(Kind.REQUEUE, Kind.START, Kind.RELEASE);
  }

  /** The nodes of every job once the plan is carried out, by the fleet. */
  private static Map<String, Set<String>> nodesOf(SlurmCluster cluster, Plan plan) {
    Map<String, Set<String>> nodes = new HashMap<>();
    plan.applyTo(cluster.fleet())
        .running()
        .forEach(
            s ->
                nodes
                    .computeIfAbsent(s.request().id(), r -> new HashSet<>())
                    .addAll(cluster.nodes(s.pod(), s.shape(), s.footprint())));
    return nodes;
  }

  /** A torus with jobs of one or two segments on about half its nodes, and jobs that wait. */
  private static SlurmCluster busy(Random random) {
    SlurmCluster cluster = cluster();
    List<SlurmJob> jobs = new ArrayList<>();
    Set<String> taken = new HashSet<>();
    for (int i = 0; i < 12; i++) {
      List<HostList> anchors = new ArrayList<>(cluster.idleAnchors(8));
      anchors.removeIf(a -> a.names().stream().anyMatch(taken::contains));
      int segments = 1 + random.nextInt(2);
      if (anchors.size() < segments || random.nextInt(3) == 0) {
        continue;
      }
      List<String> nodes = new ArrayList<>();
      for (int s = 0; s < segments; s++) {
        nodes.addAll(anchors.remove(random.nextInt(anchors.size())).names());
      }
      taken.addAll(nodes);
      jobs.add(
          SlurmJob.builder("run" + i, nodes.size())
              .segment(8)
              .runningOn(HostList.of(nodes).sorted().toString())
              .priority(random.nextInt(3))
              .build());
    }
    jobs.add(SlurmJob.builder("big", 64).priority(5).build());
    jobs.add(SlurmJob.builder("small", 16).segment(8).priority(random.nextInt(6)).build());
    return cluster.withJobs(jobs);
  }
}
