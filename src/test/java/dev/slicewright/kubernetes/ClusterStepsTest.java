package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SliceId;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.kubernetes.ClusterStep.Kind;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Move;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Twist;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class ClusterStepsTest {

  private static final PlanningRules MAY_DO_ALL =
      PlanningRules.builder().permitByDefault(Permission.ANY).build();

  private static PlanCase block(int cubes) {
    return new PlanCase().domain(StubDomain.block("blk-a", cubes));
  }

  private static List<String> told(List<ClusterStep> steps) {
    return steps.stream().map(step -> step.kind() + " " + step.object().kind()).toList();
  }

  @Test
  void newWorkIsCreatedThenPatchedThenResumed() {
    List<ClusterStep> steps =
        PlanCase.planned(block(4).workload(PlanCase.job("train", "4x4x8")).build()).steps();

    assertThat(told(steps)).containsExactly("CREATE_SLICE Slice", "PATCH Job", "RESUME Job");
    assertThat(steps.get(1).after()).containsExactly(1);
    assertThat(steps.get(2).after()).containsExactly(2);
  }

  @Test
  void aJobThatIsNotSuspendedIsSuspendedBeforeItsTemplateChanges() {
    Workload job = PlanCase.job(PlanCase.request("Job", "train", "", "4x4x8").build(), false);
    List<ClusterStep> steps = PlanCase.planned(block(4).workload(job).build()).steps();

    assertThat(told(steps))
        .containsExactly("CREATE_SLICE Slice", "SUSPEND Job", "PATCH Job", "RESUME Job");
  }

  @Test
  void aRepairDeletesTheOldSliceBeforeItCreatesTheNew() {
    Workload job = PlanCase.job(PlanCase.request("Job", "train", "", "4x4x8").build(), false);
    Cluster cluster =
        block(3)
            .workload(job)
            .running(job.request(), 0, "block/blk-a", "4x4x8", 0, 1)
            .fail("block/blk-a", 3)
            .build();
    Plan plan = SlicePlanner.create().repair(cluster.fleet(), MAY_DO_ALL, PlanCase.BUDGET);
    assertThat(plan.moves()).hasSize(1);
    List<ClusterStep> steps = ClusterPlan.of(cluster, plan).steps();

    assertThat(told(steps))
        .containsExactly(
            "SUSPEND Job", "DELETE_SLICE Slice", "CREATE_SLICE Slice", "PATCH Job", "RESUME Job");
    assertThat(steps.get(1).object().name()).isEqualTo(PlanCase.oldName(job.request().id(), 0));
    assertThat(steps.get(2).slice()).isEqualTo(ClusterPlan.of(cluster, plan).slices().get(0));
  }

  @Test
  void whatIsEvictedIsSuspendedAndItsSliceDeletedBeforeThePlaceIsTaken() {
    Cluster cluster = PlanCase.lowRunsWhereHighWaits().build();
    ClusterPlan plan = ClusterPlan.of(cluster, PlanCase.plan(cluster, MAY_DO_ALL));
    assertThat(plan.plan().evictions()).hasSize(1);
    List<ClusterStep> steps = plan.steps();

    assertThat(told(steps))
        .containsExactly(
            "SUSPEND Job",
            "DELETE_SLICE Slice",
            "PATCH Job",
            "CREATE_SLICE Slice",
            "PATCH Job",
            "RESUME Job");
    assertThat(steps.get(3).after()).contains(2);
    assertThat(plan.patches()).hasSize(2);
    assertThat(plan.patches().get(1).toJson())
        .as("it stays suspended")
        .isEqualTo("{\"spec\":{\"suspend\":true}}");
  }

  // https://github.com/AI-Hypercomputer/xpk/issues/685
  @Test
  void xpk685_afterASliceFailedItIsTriedElsewhereAndTheFailedOneGoesOnceTheNewOneIsThere() {
    Workload job = PlanCase.job("train", "4x4x4");
    SliceManifest failed =
        new SliceManifest(
            "train-0-old",
            "tpu7x",
            Shape.parse("4x4x4"),
            List.of("c0"),
            Map.of(
                "slicewright.dev/request", job.request().id(), "slicewright.dev/slice-index", "0"),
            "FAILED",
            false);
    PlanCase given = block(2).workload(job).slice(failed);
    for (int host = 0; host < 16; host++) {
      given.cordon("block/blk-a", host); // as the reader does for failed Slices
    }
    List<ClusterStep> steps = PlanCase.planned(given.build()).steps();

    assertThat(told(steps))
        .containsExactly("CREATE_SLICE Slice", "DELETE_SLICE Slice", "PATCH Job", "RESUME Job");
    assertThat(steps.get(1).object().name()).isEqualTo("train-0-old");
    assertThat(steps.get(1).after()).containsExactly(1);
    assertThat(steps.get(0).slice().partitionIds()).containsExactly("c1");
  }

  @Test
  void bothJobsOfAJobSetArePlacedBeforeItIsPatchedOnce() {
    PlanCase given = block(4);
    PlanCase.jobSet("rl", "4x4x4", 1, "actor", "learner").forEach(given::workload);
    List<ClusterStep> steps = PlanCase.planned(given.build()).steps();

    assertThat(told(steps))
        .containsExactly(
            "CREATE_SLICE Slice", "CREATE_SLICE Slice", "PATCH JobSet", "RESUME JobSet");
    assertThat(steps.get(2).after()).containsExactly(1, 2);
    assertThat(steps.get(2).patch()).isEqualTo(PlanCase.planned(given.build()).patches().get(0));
  }

  @Test
  void podsCannotBeSuspendedSoTheyAreDeletedAndMadeAnew() {
    Workload pod = PlanCase.pod("p", "2x2x1", false);
    Cluster cluster =
        block(2)
            .workload(pod)
            .runningPartition(pod.request(), 0, "block/blk-a", "2x2x1", 0)
            .fail("block/blk-a", 0)
            .build();
    Plan plan = SlicePlanner.create().repair(cluster.fleet(), MAY_DO_ALL, PlanCase.BUDGET);

    assertThat(told(ClusterPlan.of(cluster, plan).steps()))
        .containsExactly(
            "DELETE_PODS Pod",
            "DELETE_SLICE Slice",
            "CREATE_SLICE Slice",
            "RECREATE Pod",
            "BIND_PODS Pod");
  }

  // ---------------------------------------------------------------- parts of a JobSet

  private static final String BLOCK = "block/blk-a";

  private static Placement cube(Cluster cluster, String request, int cube) {
    return new Placement(
        new SliceId(request, 0),
        BLOCK,
        cluster.fleet().pod(BLOCK).orElseThrow().topology(),
        Shape.parse("4x4x4"),
        new Footprint.Cubes(List.of(new CubeId(cube))),
        Twist.NONE);
  }

  private static Move move(Cluster cluster, String request, int cube) {
    return new Move(cluster.fleet().runningOf(request).get(0), cube(cluster, request, cube));
  }

  @Test
  void aJobSetOfWhichAPartIsEvictedRestsThoughTheOtherPartMoves() {
    PlanCase given = block(4);
    List<Workload> rl = PlanCase.jobSet("rl", "4x4x4", 1, "actor", "learner");
    rl.forEach(given::workload);
    String actor = rl.get(0).request().id();
    String learner = rl.get(1).request().id();
    given.running(rl.get(0).request(), 0, BLOCK, "4x4x4", 0);
    given.running(rl.get(1).request(), 0, BLOCK, "4x4x4", 1);
    Cluster cluster = given.build();
    Plan plan =
        Plan.builder(cluster.fleet().version(), MAY_DO_ALL)
            .move(move(cluster, learner, 2))
            .eviction(new Eviction(actor, cluster.fleet().runningOf(actor)))
            .build();
    ClusterPlan told = ClusterPlan.of(cluster, plan);

    assertThat(told(told.steps()))
        .contains("PATCH JobSet", "CREATE_SLICE Slice")
        .doesNotContain("RESUME JobSet");
    assertThat(told.patches()).hasSize(1);
    assertThat(PlanCase.at(WorkloadPatches.tree(told.manifests().get(1)), "spec", "suspend"))
        .isEqualTo(true);
    assertThat(told.patches().get(0).toJson()).contains(told.slices().get(0).name());
    assertThat(told.steps().stream().filter(s -> s.kind() == Kind.PATCH).map(ClusterStep::patch))
        .as("one patch, of both parts")
        .containsExactly(told.patches().get(0));
  }

  @Test
  void aJobSetThatRestsDoesNotStartBecauseOnePartOfItMoves() {
    PlanCase given = block(4);
    List<Workload> rl = PlanCase.jobSet("rl", "4x4x4", 1, "actor", "learner");
    rl.forEach(given::workload);
    given.running(rl.get(0).request(), 0, BLOCK, "4x4x4", 0);
    Cluster cluster = given.build();
    Plan plan =
        Plan.builder(cluster.fleet().version(), MAY_DO_ALL)
            .move(move(cluster, rl.get(0).request().id(), 2))
            .build();

    assertThat(told(ClusterPlan.of(cluster, plan).steps()))
        .contains("PATCH JobSet")
        .doesNotContain("RESUME JobSet");
  }

  @Test
  void aJobSetThatIsMadeAnewAfterItWasSuspendedGoesOn() {
    PlanCase given = block(6);
    Workload ms = PlanCase.jobSet("ms", "4x4x4", 2, "w").get(0);
    given.workload(ms);
    given.running(ms.request(), 0, BLOCK, "4x4x4", 0);
    given.running(ms.request(), 1, BLOCK, "4x4x4", 1);
    Cluster cluster = given.build();
    Plan plan =
        Plan.builder(cluster.fleet().version(), MAY_DO_ALL)
            .move(move(cluster, ms.request().id(), 2))
            .build();

    assertThat(told(ClusterPlan.of(cluster, plan).steps()))
        .containsExactly(
            "SUSPEND JobSet",
            "DELETE_SLICE Slice",
            "CREATE_SLICE Slice",
            "RECREATE JobSet",
            "RESUME JobSet");
  }

  @Test
  void whatIsAskedForTwiceIsMadeOnce() {
    ClusterPlan told = PlanCase.planned(block(4).workload(PlanCase.job("train", "4x4x8")).build());

    assertThat(told.steps()).isNotEmpty().isSameAs(told.steps());
    assertThat(told.patches()).isNotEmpty().isSameAs(told.patches());
  }

  /** Steps done in any order that {@code after} allows never have two Slices on one partition. */
  @Test
  void noOrderOfStepsHasTwoSlicesOnOnePartition() {
    Random random = new Random(3);
    int moves = 0;
    for (int round = 0; round < 60; round++) {
      Cluster cluster = randomCluster(random);
      Plan plan =
          random.nextBoolean()
              ? PlanCase.plan(cluster, MAY_DO_ALL)
              : SlicePlanner.create().repair(cluster.fleet(), MAY_DO_ALL, PlanCase.BUDGET);
      ClusterPlan told = ClusterPlan.of(cluster, plan);
      List<ClusterStep> steps = told.steps();
      moves += plan.moves().size() + plan.evictions().size();
      for (int order = 0; order < 5; order++) {
        Map<String, Set<String>> standing = standing(cluster);
        for (ClusterStep step : shuffled(steps, random)) {
          if (step.kind() == Kind.DELETE_SLICE) {
            assertThat(standing.remove(step.object().name())).as("%s", steps).isNotNull();
          } else if (step.kind() == Kind.CREATE_SLICE) {
            Set<String> ids = new HashSet<>(step.slice().partitionIds());
            standing.forEach(
                (name, taken) ->
                    assertThat(taken).as("%s of %s", step, steps).doesNotContainAnyElementsOf(ids));
            standing.put(step.slice().name(), ids);
          }
        }
        Fleet after = plan.applyTo(cluster.fleet());
        assertThat(standing).hasSize(after.running().size());
      }
    }
    assertThat(moves).as("the test has something to try").isGreaterThan(20);
  }

  private static Map<String, Set<String>> standing(Cluster cluster) {
    Map<String, Set<String>> standing = new java.util.TreeMap<>();
    cluster.slices().forEach(s -> standing.put(s.name(), new HashSet<>(s.partitionIds())));
    return standing;
  }

  private static Cluster randomCluster(Random random) {
    PlanCase given = block(6);
    List<Integer> cubes = new ArrayList<>(List.of(0, 1, 2, 3, 4, 5));
    java.util.Collections.shuffle(cubes, random);
    for (int i = 0; i < 2 + random.nextInt(2); i++) {
      SliceRequest request =
          PlanCase.request("Job", "run-" + i, "", "4x4x4").priority(random.nextInt(3)).build();
      given.workload(PlanCase.job(request, false));
      given.running(request, 0, "block/blk-a", "4x4x4", cubes.remove(0));
    }
    SliceRequest wide = PlanCase.request("Job", "wide", "", "4x4x8").priority(1).build();
    given.workload(PlanCase.job(wide, false));
    given.running(wide, 0, "block/blk-a", "4x4x8", cubes.remove(0), cubes.remove(0));
    SliceRequest big =
        PlanCase.request("Job", "big", "", random.nextBoolean() ? "4x8x8" : "4x4x8")
            .priority(5)
            .build();
    given.workload(PlanCase.job(big, true));
    given.fail("block/blk-a", random.nextInt(96));
    return given.build();
  }

  private static List<ClusterStep> shuffled(List<ClusterStep> steps, Random random) {
    List<ClusterStep> left = new ArrayList<>(steps);
    List<ClusterStep> order = new ArrayList<>();
    Set<Integer> done = new HashSet<>();
    while (!left.isEmpty()) {
      List<ClusterStep> ready =
          left.stream().filter(step -> done.containsAll(step.after())).toList();
      assertThat(ready).as("no circle in %s", steps).isNotEmpty();
      ClusterStep next = ready.get(random.nextInt(ready.size()));
      left.remove(next);
      order.add(next);
      done.add(next.number());
    }
    return order;
  }
}
