package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.StalePlanException;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Shape;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ClusterPlanTest {

  private static PlanCase block() {
    return new PlanCase().domain(StubDomain.block("blk-a", 8));
  }

  @Test
  void aSliceNamesItsCubesInLogicalOrderAndItsRequest() {
    SliceRequest request =
        PlanCase.request("Job", "train", "", "4x8x8").priority(5).tenant("ml").build();
    Cluster cluster = block().workload(PlanCase.job(request, true)).build();
    Plan plan = PlanCase.plan(cluster);

    List<SliceManifest> slices = ClusterPlan.of(cluster, plan).slices();

    assertThat(slices).hasSize(1);
    SliceManifest slice = slices.get(0);
    assertThat(slice.type()).isEqualTo("tpu7x");
    assertThat(slice.topology()).isEqualTo(Shape.parse("4x8x8"));
    assertThat(slice.partitionIds())
        .isEqualTo(
            plan.placement(request.id()).orElseThrow().slices().get(0).cubes().stream()
                .map(cube -> "c" + cube.index())
                .toList());
    assertThat(slice.annotations())
        .isEqualTo(
            Map.of(
                "slicewright.dev/request", "Job/team-a/train",
                "slicewright.dev/slice-index", "0",
                "slicewright.dev/slices", "1",
                "slicewright.dev/priority", "5",
                "slicewright.dev/tenant", "ml",
                "slicewright.dev/epoch", slice.epoch()));
    assertThat(slice.name()).startsWith("train-0-").hasSizeLessThanOrEqualTo(49);
    assertThat(slice.condition()).isNull();
  }

  @Test
  void aSliceBelowACubeNamesOnePartitionAndKeepsThePlatformsForm() {
    for (String shape : List.of("2x2x1", "2x2x2", "2x2x4", "2x4x4")) {
      ClusterPlan plan = PlanCase.planned(block().workload(PlanCase.job("eval", shape)).build());

      assertThat(plan.slices()).hasSize(1);
      assertThat(plan.slices().get(0).topology()).hasToString(shape);
      assertThat(plan.slices().get(0).partitionIds()).hasSize(1);
    }
  }

  @Test
  void theSamePlanToldTwiceIsTheSameObjects() {
    PlanCase given = block();
    PlanCase.jobSet("ms", "4x4x4", 3, "w").forEach(given::workload);
    Cluster cluster = given.build();
    Plan plan = PlanCase.plan(cluster);
    ClusterPlan a = ClusterPlan.of(cluster, plan);
    ClusterPlan b = ClusterPlan.of(given.build(), plan);

    assertThat(b.slices()).isEqualTo(a.slices());
    assertThat(b.patches()).isEqualTo(a.patches());
    assertThat(b.steps()).isEqualTo(a.steps());
    assertThat(b.podsToNodes()).isEqualTo(a.podsToNodes());
  }

  @Test
  void podsGoToTheHostsOfTheirSliceInWorkerOrder() {
    Cluster cluster = block().workload(PlanCase.job("train", "4x4x8")).build();
    Plan plan = PlanCase.plan(cluster);

    List<PodNode> pods = ClusterPlan.of(cluster, plan).podsToNodes();

    List<String> nodes = cluster.domains().domain("block/blk-a").orElseThrow().nodes();
    assertThat(pods.stream().map(PodNode::node))
        .isEqualTo(
            plan.placements().get(0).slices().get(0).hosts().stream()
                .map(host -> nodes.get(host.index()))
                .toList());
    assertThat(pods.stream().map(PodNode::worker))
        .isEqualTo(IntStream.range(0, 32).boxed().toList());
    assertThat(pods.stream().map(PodNode::node)).doesNotHaveDuplicates();
  }

  @Test
  void membersOfASliceFollowOneAnotherAndPodsWithoutChipsKeepTheNextCompany() {
    Workload like = PlanCase.leaderWorkerSet("serve", "2x2x4", 1);
    Workload workload =
        new Workload(
            like.object(),
            "",
            like.request(),
            List.of(
                new Workload.Member("proxy", 1, 0),
                new Workload.Member("leader", 1, 4),
                new Workload.Member("worker", 3, 4)),
            like.source());
    List<PodNode> pods = PlanCase.planned(block().workload(workload).build()).podsToNodes();

    assertThat(pods.stream().map(PodNode::podSet))
        .containsExactly("proxy", "leader", "worker", "worker", "worker");
    assertThat(pods.get(0).node()).isEqualTo(pods.get(1).node());
    assertThat(pods.stream().map(PodNode::node).distinct()).hasSize(4);
  }

  @Test
  void theRestOfAMultisliceIsToldAsTheSlicesThatItStandsFor() {
    PlanCase given = block();
    Workload workload = PlanCase.jobSet("ms", "4x4x4", 3, "w").get(0);
    given
        .workload(workload)
        .running(workload.request(), 1, "block/blk-a", "4x4x4", 5)
        .missing(workload.request().id(), 0, 2);
    Cluster cluster = given.build();
    ClusterPlan plan = PlanCase.planned(cluster);

    assertThat(plan.plan().placements().get(0).request().id()).endsWith("#rest");
    assertThat(plan.slices()).hasSize(2);
    assertThat(plan.slices().stream().map(s -> s.annotations().get("slicewright.dev/request")))
        .containsOnly("JobSet/team-a/ms/w");
    assertThat(plan.slices().stream().map(s -> s.annotations().get("slicewright.dev/slice-index")))
        .containsExactly("0", "2");
    assertThat(plan.slices().stream().map(s -> s.annotations().get("slicewright.dev/slices")))
        .containsOnly("3");
    assertThat(plan.podsToNodes().stream().map(PodNode::slice).distinct()).containsExactly(0, 2);
    assertThat(plan.patches().get(0).toJson())
        .as("the slice that runs is one that pods may go to")
        .contains(PlanCase.oldName(workload.request().id(), 1));
  }

  @Test
  void noSlicesWhereThePlatformMakesNone() {
    ClusterPlan plan =
        PlanCase.planned(
            new PlanCase()
                .domain(StubDomain.pool(AcceleratorType.V6E, "np-1", "4x4"))
                .domain(StubDomain.subslicing("np-2", "8x8"))
                .workload(PlanCase.job("a", "4x4"))
                .workload(PlanCase.job("b", "4x8"))
                .build());

    assertThat(plan.plan().placements()).hasSize(2);
    assertThat(plan.slices()).isEmpty();
    assertThat(plan.podsToNodes()).hasSize(4 + 8);
    assertThat(plan.patches()).hasSize(2);
  }

  @Test
  void aPlanThatNoLongerFitsIsRefused() {
    PlanCase given = block().workload(PlanCase.job("train", "4x4x8"));
    Plan plan = PlanCase.plan(given.build());
    SliceRequest other = SliceRequest.builder("other").shape("8x8x8").build();
    given.running(other, 0, "block/blk-a", "8x8x8", 0, 1, 2, 3, 4, 5, 6, 7);

    assertThatThrownBy(() -> ClusterPlan.of(given.build(), plan))
        .isInstanceOf(StalePlanException.class);
  }

  @Test
  void anEmptyPlanIsNothingToDo() {
    Cluster cluster = block().build();
    ClusterPlan plan = PlanCase.planned(cluster);

    assertThat(plan.slices()).isEmpty();
    assertThat(plan.patches()).isEmpty();
    assertThat(plan.steps()).isEmpty();
    assertThat(plan.manifests()).isEmpty();
    assertThat(plan.topologyAssignments()).isEmpty();
    Fleet after = plan.plan().applyTo(cluster.fleet());
    assertThat(after).isEqualTo(cluster.fleet());
  }
}
