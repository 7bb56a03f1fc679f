package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import io.fabric8.kubernetes.api.model.batch.v1.JobBuilder;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RunningSlicesTest {

  private final Scene scene = new Scene();

  private String cube(int number) {
    return scene.domains.cube("a", number);
  }

  private String part(String node, String shape) {
    return scene.domains.partition(node, shape);
  }

  private List<String> nodes(RunningSlice slice) {
    return StubDomains.nodesOf(scene.domains.get(slice.pod()), slice.footprint());
  }

  // ---- Slices: states and places

  @ParameterizedTest
  @EnumSource(SliceState.class)
  void aSliceTakesItsPartitionsInSixOfEightStates(SliceState state) {
    scene.domains.block("a", 2);
    Scene.state(scene.slice("s", "4x4x4", cube(1)), state);

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    assertThat(found.found().slices()).extracting(SliceManifest::name).containsExactly("s");
    Set<SliceState> failed = Set.of(SliceState.FAILED, SliceState.CREATION_FAILED);
    if (failed.contains(state)) {
      assertThat(found.ids()).isEmpty();
      assertThat(scene.cordoned(found, "block/a")).hasSize(16);
    } else {
      assertThat(found.ids()).containsExactly("Slice//s/0");
      assertThat(found.found().cordons()).isEmpty();
      RunningSlice slice = found.slice("Slice//s/0").orElseThrow();
      assertThat(slice.footprint()).isEqualTo(new Footprint.Cubes(List.of(new CubeId(1))));
      assertThat(slice.leaving())
          .isEqualTo(state == SliceState.DEACTIVATING || state == SliceState.INCOMPLETE);
      assertThat(slice.startedAt().isPresent()).isEqualTo(state.isReady());
    }
  }

  @Test
  void aSliceWithoutStatusTakesItsPartitions() {
    scene.domains.block("a", 1);
    scene.slice("s", "4x4x4", cube(0));

    assertThat(scene.find().ids()).containsExactly("Slice//s/0");
  }

  @Test
  void aSliceOfAnUnknownStateTakesItsPartitionsAndIsAProblem() {
    scene.domains.block("a", 1);
    Scene.condition(scene.slice("s", "4x4x4", cube(0)), "SHINY", true);

    Scene.Outcome found = scene.find();

    assertThat(found.ids()).containsExactly("Slice//s/0");
    assertThat(found.problem("Slice/s.status.conditions[0].reason")).contains("SHINY");
  }

  @Test
  void aSliceBeingDeletedLeaves() {
    scene.domains.block("a", 1);
    GenericKubernetesResource slice =
        Scene.state(scene.slice("s", "4x4x4", cube(0)), SliceState.ACTIVE);
    slice.getMetadata().setDeletionTimestamp(Scene.CREATED);

    assertThat(scene.find().slice("Slice//s/0").orElseThrow().leaving()).isTrue();
  }

  @Test
  void cubesKeepTheOrderListed() {
    scene.domains.block("a", 4);
    scene.slice("s", "4x4x12", cube(3), cube(0), cube(2));

    RunningSlice slice = scene.find().slice("Slice//s/0").orElseThrow();

    assertThat(slice.footprint())
        .isEqualTo(new Footprint.Cubes(List.of(new CubeId(3), new CubeId(0), new CubeId(2))));
    assertThat(slice.shape()).isEqualTo(Shape.of(4, 4, 12));
    assertThat(slice.pod()).isEqualTo("block/a");
  }

  @Test
  void aSubSliceIsThePartitionOfThatVeryShape() {
    scene.domains.block("a", 2);
    for (String shape : List.of("2x2x1", "2x2x2", "2x2x4", "2x4x4")) {
      scene.objects.clear();
      String id = part("a-n20", shape);
      scene.slice("s", shape, id);

      Scene.Outcome found = scene.find();

      assertThat(found.problems()).isEmpty();
      RunningSlice slice = found.slice("Slice//s/0").orElseThrow();
      assertThat(nodes(slice)).contains("a-n20").hasSize((int) Shape.parse(shape).chips() / 4);
      assertThat(slice.shape()).hasToString(shape);
    }
  }

  @Test
  void aSliceOfV6eIsASubSliceOfItsPool() {
    scene.domains.subslicing("p").block("a", 1);
    String id = part("p-n0", "4x8");
    scene.slice("s", "4x8", id);

    RunningSlice slice = scene.find().slice("Slice//s/0").orElseThrow();

    assertThat(slice.pod()).isEqualTo("nodepool/p");
    assertThat(nodes(slice)).contains("p-n0").hasSize(8);
  }

  // ---- Slices: bad input

  private void refused(String field, String... words) {
    Scene.Outcome found = scene.find();

    assertThat(found.problem("Slice/s" + field)).contains(words);
    assertThat(found.left()).contains("Slice/s");
    assertThat(found.ids()).doesNotContain("Slice//s/0");
  }

  @Test
  void anUnknownPartitionIsAProblem() {
    scene.domains.block("a", 2);
    scene.slice("s", "4x4x8", cube(0), "nowhere");

    refused(".spec.partitionIds[1]", "nowhere", "4x4x4");
    assertThat(scene.cordoned(scene.find(), "block/a"))
        .as("what it does name may be in use")
        .hasSize(16);
  }

  @Test
  void theIdOfAPartitionOfAnotherShapeIsUnknown() {
    scene.domains.block("a", 1);
    scene.slice("s", "2x2x4", part("a-n0", "2x4x4"));

    refused(".spec.partitionIds[0]", "2x2x4");
  }

  @Test
  void cubesOfTwoBlocksAreAProblem() {
    scene.domains.block("a", 1).block("b", 1);
    scene.slice("s", "4x4x8", cube(0), scene.domains.cube("b", 0));

    refused(".spec.partitionIds", "block/a and block/b");
  }

  @Test
  void tooFewOrTooManyCubesAreAProblem() {
    scene.domains.block("a", 3);
    scene.slice("s", "4x4x8", cube(0));
    refused(".spec.partitionIds", "2 ids of cubes", "were 1");

    scene.objects.clear();
    scene.slice("s", "4x4x8", cube(0), cube(1), cube(2));
    refused(".spec.partitionIds", "2 ids of cubes", "were 3");
  }

  @Test
  void twoPartitionsOfASubSliceAreAProblem() {
    scene.domains.block("a", 1);
    scene.slice("s", "2x2x1", part("a-n0", "2x2x1"), part("a-n15", "2x2x1"));

    refused(".spec.partitionIds", "one partition of 2x2x1");
  }

  @Test
  void aCubeNamedTwiceIsAProblem() {
    scene.domains.block("a", 2);
    scene.slice("s", "4x4x8", cube(0), cube(0));

    refused(".spec.partitionIds[1]", "twice");
  }

  @Test
  void partitionsOfAnotherAcceleratorAreAProblem() {
    scene.domains.subslicing("p");
    GenericKubernetesResource slice = scene.slice("s", "4x4", part("p-n0", "4x4"));
    @SuppressWarnings("unchecked")
    Map<String, Object> spec = (Map<String, Object>) slice.getAdditionalProperties().get("spec");
    spec.put("type", "tpu7x");

    refused(".spec.partitionIds[0]", "tpu7x");
  }

  @Test
  void aShapeThatThePlatformDoesNotFormIsAProblem() {
    scene.domains.block("a", 1);
    scene.slice("s", "4x4x6", cube(0));

    refused(".spec.partitionIds[0]", "4x4x6");
  }

  @Test
  void twoObjectsOfOneNameAreAProblem() {
    scene.domains.block("a", 2);
    Scene.state(scene.slice("s", "4x4x4", cube(0)), SliceState.ACTIVE);
    scene.slice("s", "4x4x4", cube(1)).setApiVersion("accelerator.gke.io/v1alpha1");

    Scene.Outcome found = scene.find();

    assertThat(found.problem("Slice/s.metadata.name")).contains("v1alpha1", "once");
    assertThat(found.ids()).containsExactly("Slice//s/0");
    assertThat(found.slice("Slice//s/0").orElseThrow().footprint())
        .isEqualTo(new Footprint.Cubes(List.of(new CubeId(0))));
  }

  @Test
  void aSliceThatCannotBeReadIsLeftOutAndItsNodesAreNotFree() {
    scene.domains.block("a", 1);
    scene.slice("s", "4x4x4", cube(0)).setAdditionalProperty("spec", "none");
    scene.labelled("a-n3", "s", "4x4x4");

    Scene.Outcome found = scene.find();

    assertThat(found.left()).containsExactly("Slice/s");
    assertThat(scene.cordoned(found, "block/a")).containsExactly("a-n3");
  }

  @Test
  void aSliceThatFailedForItsPartitionsIsNoProblemOfOurs() {
    scene.domains.block("a", 2);
    Scene.state(scene.slice("s", "4x4x8", cube(0), "nowhere"), SliceState.CREATION_FAILED);

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    assertThat(scene.cordoned(found, "block/a")).hasSize(16);
  }

  // ---- Overlap

  @Test
  @DisplayName("The open-source controller compares ids, so it misses a 2x2x1 inside a used 2x4x4")
  void aSliceInsideAUsedPartitionIsAProblemThatNamesBoth() {
    scene.domains.block("a", 1);
    Scene.state(scene.slice("outer", "2x4x4", part("a-n0", "2x4x4")), SliceState.ACTIVE);
    scene.slice("s", "2x2x1", part("a-n0", "2x2x1"));

    refused(".spec.partitionIds", "Slice/outer", "overlaps", "2x2x1");
    assertThat(scene.find().ids()).containsExactly("Slice//outer/0");
  }

  @Test
  void aSliceAroundAUsedPartitionIsAProblemAndItsRestIsNotFree() {
    scene.domains.block("a", 1);
    Scene.state(scene.slice("inner", "2x2x1", part("a-n0", "2x2x1")), SliceState.ACTIVE);
    scene.slice("s", "4x4x4", cube(0));

    refused(".spec.partitionIds", "Slice/inner", "cube");
    assertThat(scene.cordoned(scene.find(), "block/a")).hasSize(15).doesNotContain("a-n0");
  }

  @Test
  void whatIsFormedStaysThenTheOlderThenByName() {
    scene.domains.block("a", 1);
    GenericKubernetesResource old = scene.slice("old", "4x4x4", cube(0));
    old.getMetadata().setCreationTimestamp("2025-01-01T00:00:00Z");
    GenericKubernetesResource z = scene.slice("z", "4x4x4", cube(0));
    scene.slice("b", "4x4x4", cube(0));
    assertThat(scene.find().ids()).containsExactly("Slice//old/0");

    scene.objects.remove(old);
    assertThat(scene.find().ids()).containsExactly("Slice//b/0");

    scene.objects.add(old);
    Scene.state(z, SliceState.ACTIVE_DEGRADED);
    assertThat(scene.find().ids()).containsExactly("Slice//z/0");
  }

  @Test
  void slicesThatShareACubeButNoHostBothRun() {
    scene.domains.block("a", 1);
    scene.slice("x", "2x4x4", part("a-n0", "2x4x4"));
    scene.slice("y", "2x4x4", part("a-n15", "2x4x4"));

    Scene.Outcome found = scene.find();

    assertThat(found.ids()).containsExactly("Slice//x/0", "Slice//y/0");
    assertThat(found.problems()).isEmpty();
  }

  // ---- Whose a Slice is

  @Test
  void ourAnnotationsNameRequestNumberSizePriorityAndTenant() {
    scene.domains.block("a", 3);
    GenericKubernetesResource slice = scene.owned("s", "JobSet/t/train/w", 1, "4x4x4", cube(0));
    Scene.annotate(slice, TpuLabels.OWN_SLICES, "3");
    Scene.annotate(slice, TpuLabels.OWN_PRIORITY, "-7");
    Scene.annotate(slice, TpuLabels.OWN_TENANT, "t/q");

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    assertThat(found.found().missing())
        .containsExactly(Map.entry("JobSet/t/train/w", List.of(0, 2)));
    assertThat(found.slice("JobSet/t/train/w/1").orElseThrow().request())
        .isEqualTo(
            SliceRequest.builder("JobSet/t/train/w")
                .shape("4x4x4")
                .accelerators("tpu7x")
                .slices(3)
                .priority(-7)
                .tenant("t/q")
                .build());
  }

  @Test
  void allSlicesOfARequestShareTheRequestOfTheWorkload() {
    scene.domains.block("a", 3);
    SliceRequest request =
        SliceRequest.builder("Job/t/j").shape("4x4x4").slices(3).healthyOnly(true).build();
    scene.workload(request);
    scene.owned("s", "Job/t/j", 2, "4x4x4", cube(0));
    scene.owned("r", "Job/t/j", 0, "4x4x4", cube(1));

    Scene.Outcome found = scene.find();

    assertThat(found.ids()).containsExactly("Job/t/j/0", "Job/t/j/2");
    assertThat(found.found().running()).allSatisfy(s -> assertThat(s.request()).isSameAs(request));
    assertThat(found.found().missing()).containsExactly(Map.entry("Job/t/j", List.of(1)));
  }

  @Test
  void theOwnerAnnotationsOfTheOpenSourceControllerNameTheWorkload() {
    scene.domains.block("a", 12);
    scene.slcOwners.put("t/wl/w", "JobSet/t/train/w");
    for (int i = 10; i >= 0; i--) {
      GenericKubernetesResource slice = scene.slice("wl-w-" + i, "4x4x4", cube(i));
      Scene.annotate(slice, TpuLabels.OWNER_NAMESPACE, "t");
      Scene.annotate(slice, TpuLabels.OWNER_NAME, "wl");
      Scene.annotate(slice, TpuLabels.OWNER_POD_SET, "w");
    }

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    assertThat(found.ids()).hasSize(11);
    for (int i = 0; i <= 10; i++) {
      RunningSlice slice = found.slice("JobSet/t/train/w/" + i).orElseThrow();
      assertThat(slice.footprint())
          .as("number %s by name", i)
          .isEqualTo(new Footprint.Cubes(List.of(new CubeId(i))));
      assertThat(slice.request().tenant()).isEqualTo("t");
    }
  }

  @Test
  void podsOnItsNodesNameTheOwnerWhereNoAnnotationDoes() {
    scene.domains.block("a", 2);
    scene.slice("s", "4x4x4", cube(1));
    Pod pod = scene.pod("p", "Job/team/j", 3, "a-n20");
    pod.getSpec().setPriority(50);
    pod.getMetadata().getLabels().put(TpuLabels.QUEUE, "q");
    scene.tenantBy = TenantBy.QUEUE;

    RunningSlice slice = scene.find().slice("Job/team/j/3").orElseThrow();

    assertThat(slice.request().slices()).isEqualTo(4);
    assertThat(slice.request().priority()).isEqualTo(50);
    assertThat(slice.request().tenant()).isEqualTo("team/q");
    assertThat(slice.startedAt()).contains(Instant.parse("2026-01-03T00:00:00Z"));
  }

  @Test
  void aPodThatSelectsTheSliceNamesTheOwnerBeforeItRuns() {
    scene.domains.block("a", 1);
    scene.slice("s", "4x4x4", cube(0));
    Pod pod = scene.pod("p", "Job/team/j", 0, null);
    pod.getSpec().setNodeSelector(Map.of(TpuLabels.SLICE, "s"));

    assertThat(scene.find().ids()).containsExactly("Job/team/j/0");
  }

  @Test
  void whatRunsOnEveryNodeOwnsNothing() {
    scene.domains.block("a", 1);
    scene.slice("s", "4x4x4", cube(0));
    Pod pod = scene.pod("agent", "none", 0, "a-n0");
    pod.getMetadata().setLabels(Map.of());
    pod.getSpec().getContainers().get(0).setResources(null);

    RunningSlice slice = scene.find().slice("Slice//s/0").orElseThrow();

    assertThat(slice.request().tenant()).isEmpty();
    assertThat(slice.startedAt()).isEmpty();
  }

  @Test
  void podsOfTwoWorkloadsOnOneSliceAreAProblemAndMostOfThemWin() {
    scene.domains.block("a", 1);
    scene.slice("s", "4x4x4", cube(0));
    scene.pod("a", "Job/team/a", 0, "a-n0");
    scene.pod("b", "Job/team/b", 0, "a-n1");
    scene.pod("c", "Job/team/b", 0, "a-n2");

    Scene.Outcome found = scene.find();

    assertThat(found.ids()).containsExactly("Job/team/b/0");
    assertThat(found.problem("Slice/s.metadata.name")).contains("Job/team/a and Job/team/b");
  }

  @Test
  void twoSlicesOfOneNumberAreAProblemAndTheYoungerIsNobodys() {
    scene.domains.block("a", 2);
    scene.owned("young", "Job/t/j", 0, "4x4x4", cube(0));
    scene
        .owned("old", "Job/t/j", 0, "4x4x4", cube(1))
        .getMetadata()
        .setCreationTimestamp("2025-01-01T00:00:00Z");

    Scene.Outcome found = scene.find();

    assertThat(found.ids()).containsExactly("Job/t/j/0", "Slice//young/0");
    assertThat(found.problem("Slice/young")).contains("Slice/old", "number 0 of request Job/t/j");
  }

  @Test
  void aSliceThatItsWorkloadDoesNotAskForIsNobodys() {
    scene.domains.block("a", 4);
    scene.workload(SliceRequest.builder("Job/t/j").shape("4x4x4").slices(2).build());
    scene.owned("big", "Job/t/j", 0, "4x4x8", cube(0), cube(1));
    scene.owned("far", "Job/t/j", 5, "4x4x4", cube(2));
    scene.owned("good", "Job/t/j", 1, "4x4x4", cube(3));

    Scene.Outcome found = scene.find();

    assertThat(found.ids()).containsExactly("Job/t/j/1", "Slice//big/0", "Slice//far/0");
    assertThat(found.problem("Slice/big")).contains("4x4x8", "[4x4x4]");
    assertThat(found.problem("Slice/far")).contains("below 2", "5");
    assertThat(found.found().missing()).containsExactly(Map.entry("Job/t/j", List.of(0)));
  }

  @Test
  void slicesOfTwoShapesAreNotOfOneRequest() {
    scene.domains.block("a", 3);
    scene.owned("a", "Job/t/j", 0, "4x4x8", cube(0), cube(1));
    scene.owned("b", "Job/t/j", 1, "4x4x4", cube(2));

    Scene.Outcome found = scene.find();

    assertThat(found.ids()).containsExactly("Job/t/j/0", "Slice//b/0");
    assertThat(found.problem("Slice/b")).contains("4x4x4");
  }

  @Test
  void oneSliceMoreThanAskedForIsNobodys() {
    scene.domains.block("a", 3);
    scene.workload(SliceRequest.builder("Job/t/j").shape("4x4x4").slices(2).build());
    for (int i = 0; i < 3; i++) {
      Scene.annotate(scene.slice("s" + i, "4x4x4", cube(i)), TpuLabels.OWN_REQUEST, "Job/t/j");
    }

    Scene.Outcome found = scene.find();

    assertThat(found.ids()).containsExactly("Job/t/j/0", "Job/t/j/1", "Slice//s2/0");
    assertThat(found.problem("Slice/s2")).contains("at most 2");
  }

  @Test
  void annotationsThatAreNoNumbersAreProblemsAndPassedOver() {
    scene.domains.block("a", 1);
    GenericKubernetesResource slice = scene.owned("s", "Job/t/j", 0, "4x4x4", cube(0));
    Scene.annotate(slice, TpuLabels.OWN_INDEX, "-1");
    Scene.annotate(slice, TpuLabels.OWN_SLICES, "many");
    Scene.annotate(slice, TpuLabels.OWN_PRIORITY, "9999999999999999999");

    Scene.Outcome found = scene.find();

    assertThat(found.ids()).containsExactly("Job/t/j/0");
    for (String key : List.of(TpuLabels.OWN_INDEX, TpuLabels.OWN_SLICES, TpuLabels.OWN_PRIORITY)) {
      assertThat(found.problem("Slice/s.metadata.annotations[" + key + "]")).contains("expected");
    }
  }

  @Test
  void siblingsThatDisagreeOnTheNumberOfSlicesAreAProblemAndTheMostCounts() {
    scene.domains.block("a", 2);
    Scene.annotate(scene.owned("a", "J", 0, "4x4x4", cube(0)), TpuLabels.OWN_SLICES, "2");
    Scene.annotate(scene.owned("b", "J", 1, "4x4x4", cube(1)), TpuLabels.OWN_SLICES, "4");

    Scene.Outcome found = scene.find();

    assertThat(found.found().missing()).containsExactly(Map.entry("J", List.of(2, 3)));
    assertThat(found.problem("Slice/a.metadata.annotations[" + TpuLabels.OWN_SLICES + "]"))
        .contains("[2, 4]");
  }

  @Test
  void aLeavingSliceFreesItsRequestToBePlacedAnew() {
    scene.domains.block("a", 2);
    scene.workload(SliceRequest.builder("Job/t/j").shape("4x4x4").priority(9).tenant("t").build());
    Scene.state(scene.owned("s", "Job/t/j", 0, "4x4x4", cube(0)), SliceState.DEACTIVATING);

    Scene.Outcome found = scene.find();

    RunningSlice slice = found.slice("Slice//s/0").orElseThrow();
    assertThat(found.ids()).hasSize(1);
    assertThat(found.problems()).isEmpty();
    assertThat(slice.leaving()).isTrue();
    assertThat(slice.request().priority()).isEqualTo(9);
    assertThat(slice.request().tenant()).isEqualTo("t");
  }

  @Test
  void duringAMoveTheNewSliceHasTheNumberAndTheOldOneLeaves() {
    scene.domains.block("a", 2);
    Scene.state(scene.owned("old", "Job/t/j", 0, "4x4x4", cube(0)), SliceState.DEACTIVATING);
    Scene.state(scene.owned("new", "Job/t/j", 0, "4x4x4", cube(1)), SliceState.ACTIVATING);

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    assertThat(found.ids()).containsExactly("Job/t/j/0", "Slice//old/0");
    assertThat(found.slice("Job/t/j/0").orElseThrow().leaving()).isFalse();
  }

  @Test
  void aJobWithADeadlineSaysWhenItsSliceEnds() {
    scene.domains.block("a", 1);
    Job job =
        new JobBuilder()
            .withNewMetadata()
            .withNamespace("t")
            .withName("j")
            .endMetadata()
            .withNewSpec()
            .withActiveDeadlineSeconds(86_400L)
            .endSpec()
            .withNewStatus()
            .withStartTime("2026-01-02T00:00:00Z")
            .endStatus()
            .build();
    scene.workload(SliceRequest.builder("Job/t/j").shape("4x4x4").build(), job);
    scene.owned("s", "Job/t/j", 0, "4x4x4", cube(0));

    assertThat(scene.find().slice("Job/t/j/0").orElseThrow().endsAt())
        .contains(Instant.parse("2026-01-03T00:00:00Z"));

    job.getSpec().setActiveDeadlineSeconds(Long.MAX_VALUE);
    assertThat(scene.find().slice("Job/t/j/0").orElseThrow().endsAt()).isEmpty();
  }

  // ---- Labels of nodes

  @Test
  void withoutAnySliceObjectTheLabelsOfTheNodesSayWhatRuns() {
    scene.domains.block("a", 3);
    for (int i = 16; i < 48; i++) {
      scene.labelled("a-n" + i, "s", "4x4x8");
    }
    scene.pod("p", "Job/team/j", 0, "a-n17");

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    RunningSlice slice = found.slice("Job/team/j/0").orElseThrow();
    assertThat(slice.shape()).isEqualTo(Shape.of(4, 4, 8));
    assertThat(slice.footprint())
        .isEqualTo(new Footprint.Cubes(List.of(new CubeId(1), new CubeId(2))));
  }

  @Test
  void theNumberOfNodesSaysTheTopologyWhereNoLabelDoes() {
    scene.domains.block("a", 1);
    List<String> half =
        StubDomains.nodesOf(
            scene.domains.get("block/a"),
            new Footprint.Partition(
                scene
                    .domains
                    .get("block/a")
                    .partition(Shape.of(2, 4, 4), part("a-n0", "2x4x4"))
                    .orElseThrow()));
    half.forEach(node -> scene.labelled(node, "s", ""));

    Scene.Outcome found = scene.find();

    assertThat(found.slice("Slice//s/0").orElseThrow().shape()).isEqualTo(Shape.of(2, 4, 4));
  }

  @Test
  void labelsThatAreNoSliceAreAProblemAndTheNodesAreNotFree() {
    scene.domains.block("a", 2).block("b", 1);
    scene.labelled("a-n0", "s", "4x4x4");
    scene.labelled("b-n0", "s", "4x4x4");
    scene.labelled("a-n1", "u", "4xx");

    Scene.Outcome found = scene.find();

    assertThat(found.ids()).isEmpty();
    String label = ".metadata.labels[" + TpuLabels.SLICE + "]";
    assertThat(found.problem("Node/a-n0" + label)).contains("4x4x4");
    assertThat(found.problem("Node/a-n1" + label)).contains("4xx");
    assertThat(scene.cordoned(found, "block/a")).containsExactly("a-n0", "a-n1");
    assertThat(scene.cordoned(found, "block/b")).containsExactly("b-n0");
  }

  @Test
  void aNodeStillLabelledWithASliceThatIsGoneIsNotFree() {
    scene.domains.block("a", 3);
    scene.slice("s", "4x4x4", cube(0));
    scene.labelled("a-n0", "s", "4x4x4");
    scene.labelled("a-n16", "gone", "4x4x4");
    scene.pod("late", "Job/team/late", 0, "a-n16");

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    assertThat(found.ids()).containsExactly("Slice//s/0");
    assertThat(scene.cordoned(found, "block/a")).containsExactly("a-n16");
  }

  // ---- Pods where no Slice is

  @Test
  void anyPodTakesTheWholeOfAPool() {
    scene.domains.pool("p", "4x4x8");
    scene.pod("x", "Job/team/j", 0, "p-n31");

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    RunningSlice slice = found.slice("Job/team/j/0").orElseThrow();
    assertThat(slice.shape()).isEqualTo(Shape.of(4, 4, 8));
    assertThat(nodes(slice)).hasSize(32);
    assertThat(slice.startedAt()).contains(Instant.parse("2026-01-03T00:00:00Z"));
    assertThat(slice.request().tenant()).isEqualTo("team");
  }

  @Test
  void aPendingPodWithANodeTakesItsPoolAndAnEndedOneDoesNot() {
    for (String phase : List.of("Pending", "Running", "Unknown")) {
      Scene one = new Scene();
      one.domains.pool("p", "4x4x4");
      one.pod("x", "Job/team/j", 0, "p-n0").getStatus().setPhase(phase);
      assertThat(one.find().ids()).containsExactly("Job/team/j/0");
    }
    for (String phase : List.of("Succeeded", "Failed")) {
      Scene one = new Scene();
      one.domains.pool("p", "4x4x4");
      one.pod("x", "Job/team/j", 0, "p-n0").getStatus().setPhase(phase);
      assertThat(one.find().ids()).isEmpty();
    }
    Scene waiting = new Scene();
    waiting.domains.pool("p", "4x4x4");
    waiting.pod("x", "Job/team/j", 0, null);
    assertThat(waiting.find().ids()).isEmpty();
  }

  @Test
  void twoOwnersOfOnePoolAreAProblemThatNamesBoth() {
    scene.domains.pool("p", "4x4x4");
    scene.pod("x", "Job/team/j", 0, "p-n0");
    scene.pod("y", "Job/team/k", 0, "p-n5");

    Scene.Outcome found = scene.find();

    assertThat(found.ids()).containsExactly("Job/team/j/0");
    assertThat(found.problem("Pod/team/y.spec.nodeName"))
        .contains("Job/team/j and Job/team/k both run there")
        .doesNotContain("restart", "delete");
    assertThat(found.left()).containsExactly("Pod/team/y");
    assertThat(scene.cordoned(found, "nodepool/p")).containsExactly("p-n5"); // it still runs
  }

  @Test
  void twoPodsOfNobodyOnOnePoolAreNamedPlainly() {
    scene.domains.pool("p", "4x4x4");
    scene.pod("old-0", "Pod/team/old-0", 0, "p-n0");
    scene.pod("old-1", "Pod/team/old-1", 0, "p-n1");

    assertThat(scene.find().problem("Pod/team/old-1.spec.nodeName"))
        .contains("Pod/team/old-0 and Pod/team/old-1 both run there")
        .contains("before Pod/team/old-1 has ended")
        .doesNotContain("restart", "delete", "old-0/0");
  }

  @Test
  void aSliceWhosePodsAreAllBeingDeletedLeaves() {
    scene.domains.pool("p", "4x4x4").pool("q", "4x4x4");
    Pod x = scene.pod("x", "Job/team/j", 0, "p-n0");
    Pod y = scene.pod("y", "Job/team/j", 0, "p-n1");
    x.getMetadata().setDeletionTimestamp(Scene.CREATED);
    assertThat(scene.find().slice("Job/team/j/0").orElseThrow().leaving()).isFalse();

    y.getMetadata().setDeletionTimestamp(Scene.CREATED);
    scene.pod("new", "Job/team/j", 0, "q-n0");
    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    assertThat(found.ids()).containsExactly("Job/team/j/0", "Pod/team/x#leaving/0");
    assertThat(found.slice("Job/team/j/0").orElseThrow().pod()).isEqualTo("nodepool/q");
    assertThat(found.slice("Pod/team/x#leaving/0").orElseThrow().leaving()).isTrue();
  }

  @Test
  void podsThatLeaveAPoolThatHasANewOwnerAreNoProblem() {
    scene.domains.pool("p", "4x4x4");
    scene.pod("x", "Job/team/a", 0, "p-n0").getMetadata().setDeletionTimestamp(Scene.CREATED);
    scene.pod("y", "Job/team/b", 0, "p-n1");

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    assertThat(found.ids()).containsExactly("Job/team/b/0");
    assertThat(found.left()).containsExactly("Pod/team/x");
  }

  @Test
  void podsOfOneSliceInTwoPoolsAreAProblemAndBothPoolsAreTaken() {
    scene.domains.pool("p", "4x4x4").pool("q", "4x4x4");
    scene.pod("x", "Job/team/j", 0, "p-n0");
    scene.pod("y", "Job/team/j", 0, "q-n0");
    scene.pod("z", "Job/team/j", 0, "q-n1");

    Scene.Outcome found = scene.find();

    assertThat(found.slice("Job/team/j/0").orElseThrow().pod()).isEqualTo("nodepool/q");
    assertThat(found.slice("Pod/team/x/0").orElseThrow().pod()).isEqualTo("nodepool/p");
    assertThat(found.problem("Pod/team/x.spec.nodeName")).contains("nodepool/p", "nodepool/q");
  }

  @Test
  void aPodTakesItsWholeNode() {
    scene.domains.single("n");
    Pod pod = scene.pod("x", "unused", 0, "n");
    pod.getMetadata().setLabels(null);

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    RunningSlice slice = found.slice("Pod/team/x/0").orElseThrow();
    assertThat(slice.shape()).isEqualTo(Shape.of(2, 2));
    assertThat(slice.pod()).isEqualTo("node/n");
  }

  @Test
  void podsThatFillASubSliceTakeIt() {
    scene.domains.subslicing("p");
    Domain domain = scene.domains.get("nodepool/p");
    List<String> nodes =
        StubDomains.nodesOf(
            domain,
            new Footprint.Partition(
                domain.partition(Shape.of(4, 4), part("p-n9", "4x4")).orElseThrow()));
    for (String node : nodes) {
      scene.pod("on-" + node, "Job/team/j", 0, node);
    }

    RunningSlice slice = scene.find().slice("Job/team/j/0").orElseThrow();

    assertThat(slice.shape()).isEqualTo(Shape.of(4, 4));
    assertThat(nodes(slice)).containsExactlyInAnyOrderElementsOf(nodes);
  }

  @Test
  void podsThatFillNoSubSliceTakeTheSmallestAroundThemOrTheOneTheyAskFor() {
    scene.domains.subslicing("p");
    Domain domain = scene.domains.get("nodepool/p");
    List<String> nodes =
        StubDomains.nodesOf(
            domain,
            new Footprint.Partition(
                domain.partition(Shape.of(4, 4), part("p-n9", "4x4")).orElseThrow()));
    scene.pod("x", "Job/team/j", 0, nodes.get(0));
    scene.pod("y", "Job/team/j", 0, nodes.get(3));
    assertThat(scene.find().slice("Job/team/j/0").orElseThrow().shape()).isEqualTo(Shape.of(4, 4));

    scene.workload(SliceRequest.builder("Job/team/j").shape("4x8").accelerators("v6e").build());
    assertThat(scene.find().slice("Job/team/j/0").orElseThrow().shape()).isEqualTo(Shape.of(4, 8));
  }

  @Test
  void aPodOnADynamicNodeWithoutASliceTakesItsHost() {
    scene.domains.block("a", 2);
    scene.slice("s", "4x4x4", cube(0));
    scene.pod("x", "Pod/team/x", 0, "a-n16");
    scene.pod("y", "Job/team/of-s", 0, "a-n3");

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    assertThat(found.ids()).containsExactly("Job/team/of-s/0", "Pod/team/x/0");
    assertThat(nodes(found.slice("Pod/team/x/0").orElseThrow())).containsExactly("a-n16");
  }

  @Test
  void podsInTwoCubesWithoutASliceAreAProblemAndTheirNodesAreNotFree() {
    scene.domains.block("a", 2);
    scene.pod("x", "Job/team/j", 0, "a-n0");
    scene.pod("y", "Job/team/j", 0, "a-n16");

    Scene.Outcome found = scene.find();

    assertThat(found.ids()).isEmpty();
    assertThat(found.problem("Pod/team/x.spec.nodeName")).contains("no partition");
    assertThat(found.left()).containsExactly("Pod/team/x", "Pod/team/y");
    assertThat(scene.cordoned(found, "block/a")).containsExactly("a-n0", "a-n16");
  }

  @Test
  void podsOfAFailedSliceRunNothing() {
    scene.domains.block("a", 2);
    Scene.state(scene.slice("s", "4x4x4", cube(0)), SliceState.FAILED);
    scene.labelled("a-n0", "s", "4x4x4");
    scene.pod("x", "Job/team/j", 0, "a-n0");

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    assertThat(found.ids()).isEmpty();
  }

  @Test
  void aPodLeftOverFromAFailedSliceRunsNothingButItsNodeIsNotFree() {
    scene.domains.block("a", 2);
    Scene.state(scene.slice("s", "4x4x4", "nowhere"), SliceState.FAILED);
    Pod pod = scene.pod("x", "Job/team/j", 0, "a-n5");
    pod.getSpec().setNodeSelector(Map.of(TpuLabels.SLICE, "s"));

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    assertThat(found.ids()).isEmpty();
    assertThat(scene.cordoned(found, "block/a")).containsExactly("a-n5");
  }

  @Test
  void nothingThrowsForPodsOfNulls() {
    scene.domains.block("a", 1).pool("p", "4x4x4");
    scene.objects.add(new Pod());
    Pod pod = scene.pod("x", "J", 0, "p-n0");
    pod.setStatus(null);
    pod.getSpec()
        .setContainers(java.util.Arrays.asList(null, pod.getSpec().getContainers().get(0)));
    Pod bad = scene.pod("y", "J", 0, "p-n1");
    bad.getStatus().setStartTime("yesterday");

    Scene.Outcome found = scene.find();

    assertThat(found.ids()).containsExactly("J/0");
    assertThat(found.problem("Pod/team/y.status.startTime")).contains("yesterday");
  }

  // ---- Rows of what users ask for

  @Test
  @DisplayName("xpk#685: after a slice fails the workload is never retried")
  void xpk685_aFailedSlicesRequestIsMissingAndItsPartitionsAreOutOfUse() {
    scene.domains.block("a", 3);
    SliceRequest request = SliceRequest.builder("Job/t/j").shape("4x4x4").slices(2).build();
    scene.workload(request);
    scene.owned("ok", "Job/t/j", 0, "4x4x4", cube(0));
    Scene.state(scene.owned("bad", "Job/t/j", 1, "4x4x4", cube(1)), SliceState.FAILED);

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    assertThat(found.found().missing()).containsExactly(Map.entry("Job/t/j", List.of(1)));
    // The retry goes where the failure was not.
    var retry =
        dev.slicewright.solve.SlicePlanner.create()
            .plan(
                scene.fleet(found.found()),
                List.of(request.toBuilder("Job/t/j#rest").slices(1).build()),
                dev.slicewright.SolveBudget.within(java.time.Duration.ofSeconds(5)));
    assertThat(retry.placement("Job/t/j#rest").orElseThrow().slices().get(0).footprint())
        .isEqualTo(new Footprint.Cubes(List.of(new CubeId(2))));
  }

  @Test
  @DisplayName("xpk#1135: a slice still points to the old partition after evict and re-admit")
  void xpk1135_aPodBoundToAnEarlierPlacementOfItsSliceIsNamed() {
    scene.domains.block("a", 2);
    GenericKubernetesResource slice = scene.owned("s", "Job/t/j", 0, "4x4x4", cube(1));
    Problemless now = new Problemless(slice);
    SliceManifest before = now.at(cube(0));
    Scene.annotate(slice, TpuLabels.OWN_EPOCH, now.manifest.epoch());
    Pod stale = scene.pod("stale", "Job/t/j", 0, null);
    stale.getSpec().setNodeSelector(Map.of(TpuLabels.SLICE, "s"));
    Scene.annotate(stale, TpuLabels.OWN_EPOCH, before.epoch());
    Pod fresh = scene.pod("fresh", "Job/t/j", 0, "a-n16");
    Scene.annotate(fresh, TpuLabels.OWN_EPOCH, now.manifest.epoch());
    Pod shared = scene.pod("shared", "Job/t/j", 0, "a-n17");
    Scene.annotate(shared, TpuLabels.OWN_EPOCH, before.epoch() + "," + now.manifest.epoch());
    Pod other = scene.pod("other", "Job/t/j", 0, "a-n18");
    other.getSpec().setNodeSelector(Map.of(TpuLabels.SLICE, "earlier"));
    Pod going = scene.pod("going", "Job/t/j", 0, "a-n19");
    Scene.annotate(going, TpuLabels.OWN_EPOCH, before.epoch());
    going.getMetadata().setDeletionTimestamp(Scene.CREATED);

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    assertThat(found.found().stalePods())
        .extracting(ObjectRef::path)
        .containsExactly("Pod/team/other", "Pod/team/stale");
    assertThat(found.leftOut())
        .extracting(LeftOut::reason)
        .allSatisfy(reason -> assertThat(reason).contains("restart the pod"));
    assertThat(found.ids()).containsExactly("Job/t/j/0");
  }

  private record Problemless(SliceManifest manifest) {
    Problemless(GenericKubernetesResource slice) {
      this(SliceManifest.of(slice, new dev.slicewright.Problems()).orElseThrow());
    }

    SliceManifest at(String... ids) {
      return new SliceManifest(
          manifest.name(),
          manifest.type(),
          manifest.topology(),
          List.of(ids),
          manifest.annotations(),
          null,
          false);
    }
  }

  @Test
  @DisplayName("xpk#1135: a slice still points to the old partition after evict and re-admit")
  void xpk1135_aSliceThatIsNotWhatItsEpochSaysIsAProblem() {
    scene.domains.block("a", 1);
    GenericKubernetesResource slice = scene.owned("s", "Job/t/j", 0, "4x4x4", cube(0));
    Scene.annotate(slice, TpuLabels.OWN_EPOCH, "abcdefghij");

    Scene.Outcome found = scene.find();

    assertThat(found.problem("Slice/s.metadata.annotations[" + TpuLabels.OWN_EPOCH + "]"))
        .contains("abcdefghij", new Problemless(slice).manifest().epoch());
    assertThat(found.ids()).containsExactly("Job/t/j/0");
  }

  private void workloadObject(String name, Object status) {
    GenericKubernetesResource workload = new GenericKubernetesResource();
    workload.setApiVersion("kueue.x-k8s.io/v1beta1");
    workload.setKind("Workload");
    workload.setMetadata(new io.fabric8.kubernetes.api.model.ObjectMeta());
    workload.getMetadata().setNamespace("t");
    workload.getMetadata().setName(name);
    workload.setAdditionalProperty("spec", Map.of("podSets", List.of(Map.of("name", "w"))));
    workload.setAdditionalProperty("status", status);
    scene.objects.add(workload);
  }

  @Test
  @DisplayName("xpk#1179: wants the reason of an eviction")
  void xpk1179_theReasonOfALostSliceIsReadable() {
    scene.domains.block("a", 4);
    scene.slcOwners.put("t/wl/w", "JobSet/t/train/w");
    for (SliceFailure failure : SliceFailure.values()) {
      Map<String, Object> condition =
          Map.of(
              "type",
              SliceFailure.CONDITION,
              "status",
              "True",
              "reason",
              failure.reason(),
              "message",
              "why");
      scene.objects.clear();
      workloadObject("wl", Map.of("conditions", List.of(condition)));

      assertThat(scene.find().found().failures())
          .singleElement()
          .satisfies(
              notice -> {
                assertThat(notice.failure()).isEqualTo(failure);
                assertThat(notice.request()).isEqualTo("JobSet/t/train/w");
                assertThat(notice.object().path()).isEqualTo("Workload/t/wl");
                assertThat(notice.message()).isEqualTo("why");
              });
    }
    scene.objects.clear();
    workloadObject(
        "wl",
        Map.of(
            "conditions",
            List.of(
                Map.of("type", SliceFailure.CONDITION, "status", "False", "reason", "Deletion"),
                Map.of("type", SliceFailure.CONDITION, "status", "True", "reason", "Boredom"))));
    Scene.state(scene.owned("f", "J/f", 0, "4x4x4", cube(0)), SliceState.FAILED);
    Scene.state(scene.owned("c", "J/c", 0, "4x4x4", cube(1)), SliceState.CREATION_FAILED);
    Scene.state(scene.owned("d", "J/d", 0, "4x4x4", cube(2)), SliceState.DEACTIVATING);
    Scene.state(scene.owned("a", "J/a", 0, "4x4x4", cube(3)), SliceState.ACTIVE);

    assertThat(scene.find().found().failures())
        .extracting(Object::toString)
        .containsExactly(
            "Slice/c: ConfigurationFailure, the message",
            "Slice/d: Deletion, the message",
            "Slice/f: RuntimeFailure, the message");
  }

  @Test
  @DisplayName("kueue#15536, xpk#515: admitted, though there is no topology assignment")
  void kueue15536_xpk515_aWorkloadAdmittedWithoutAnAssignmentOwnsNothing() {
    scene.domains.block("a", 1).pool("p", "4x4x4");
    scene.slcOwners.put("t/wl/w", "JobSet/t/train/w");
    scene.workload(SliceRequest.builder("JobSet/t/train/w").shape("4x4x4").build());
    workloadObject(
        "wl",
        Map.of(
            "admission",
            Map.of("podSetAssignments", List.of(Map.of("name", "w", "count", 16))),
            "conditions",
            List.of(Map.of("type", "Admitted", "status", "True", "reason", "Admitted"))));

    Scene.Outcome found = scene.find();

    assertThat(found.problems()).isEmpty();
    assertThat(found.ids()).isEmpty();
    assertThat(found.found().missing()).isEmpty();
    assertThat(found.found().cordons()).isEmpty();
  }

  @Test
  @DisplayName("kueue#6913: a replacement with slices gave an empty assignment and a panic")
  void kueue6913_aSliceWithAnEmptyAssignmentIsLeftOutAndNothingIsFreed() {
    scene.domains.block("a", 1);
    scene.slice("s", "4x4x4");
    scene.labelled("a-n0", "s", "4x4x4");

    Scene.Outcome found = scene.find();

    assertThat(found.problem("Slice/s.spec.partitionIds")).contains("none");
    assertThat(found.left()).containsExactly("Slice/s");
    assertThat(scene.cordoned(found, "block/a")).containsExactly("a-n0");
  }
}
