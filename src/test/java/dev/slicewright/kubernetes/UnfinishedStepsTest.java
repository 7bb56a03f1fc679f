package dev.slicewright.kubernetes;

import static dev.slicewright.kubernetes.FakeGke.job;
import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.kubernetes.ClusterStep.Kind;
import dev.slicewright.plan.Plan;
import dev.slicewright.solve.SlicePlanner;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What earlier plans have begun is finished by the steps of any later one. */
class UnfinishedStepsTest {

  private final List<HasMetadata> objects = new ArrayList<>();
  private final Job job = job("train", "4x4x4", 16);

  @BeforeEach
  void twoCubesAndAJob() {
    objects.addAll(Tpu7xNodes.cube("blk-a", "c1"));
    objects.addAll(Tpu7xNodes.cube("blk-a", "c2"));
    objects.add(job);
  }

  private ClusterPlan planned() {
    Cluster cluster = ClusterReader.create().read(objects);
    Plan plan =
        SlicePlanner.create()
            .plan(cluster.fleet(), cluster.requests(), SolveBudget.within(Duration.ofSeconds(5)));
    return ClusterPlan.of(cluster, plan);
  }

  /** The Slice that a first plan makes, in a state. */
  private GenericKubernetesResource created(SliceState state) {
    GenericKubernetesResource slice = planned().slices().get(0).toResource();
    slice.setAdditionalProperty(
        "status", Map.of("conditions", List.of(Map.of("type", "Ready", "reason", state.reason()))));
    objects.add(slice);
    return slice;
  }

  private List<Kind> kinds() {
    return planned().steps().stream().map(ClusterStep::kind).toList();
  }

  @ParameterizedTest
  @EnumSource(names = {"ACTIVE", "ACTIVE_DEGRADED"})
  void workWhoseSliceIsReadyIsSentThereAndGoesOn(SliceState state) {
    GenericKubernetesResource slice = created(state);
    List<ClusterStep> steps = planned().steps();
    assertThat(steps).extracting(ClusterStep::kind).containsExactly(Kind.PATCH, Kind.RESUME);
    assertThat(steps.get(0).object()).isEqualTo(ObjectRef.of(job));
    assertThat(steps.get(0).patch().toJson())
        .contains("\"cloud.google.com/gke-tpu-slice\":\"" + slice.getMetadata().getName() + '"');
    assertThat(steps.get(1).after()).containsExactly(1);
  }

  @ParameterizedTest
  @EnumSource(names = {"NOT_CREATED", "ACTIVATING"})
  void workWhoseSliceIsNotReadyWaits(SliceState state) {
    created(state);
    assertThat(planned().steps()).isEmpty();
  }

  @ParameterizedTest
  @EnumSource(names = {"DEACTIVATING", "INCOMPLETE"})
  void workWhoseSliceGoesIsSentToAnother(SliceState state) {
    GenericKubernetesResource leaving = created(state);
    List<ClusterStep> steps = planned().steps();
    assertThat(steps)
        .extracting(ClusterStep::kind)
        .containsExactly(Kind.CREATE_SLICE, Kind.PATCH, Kind.RESUME);
    assertThat(steps.get(0).object()).isNotEqualTo(ObjectRef.of(leaving));
  }

  @Test
  void workThatIsThereAlreadyIsLeftAlone() {
    created(SliceState.ACTIVE);
    ClusterStep patch = planned().steps().get(0);
    objects.remove(job);
    Map<?, ?> patched =
        patch.patch().applyTo(WorkloadPatches.tree(job)); // as the API server does it
    Job bound = Serialization.unmarshal(Serialization.asJson(patched), Job.class);
    objects.add(bound);
    assertThat(kinds()).as("patched, but it rests").containsExactly(Kind.RESUME);
    bound.getSpec().setSuspend(false);
    assertThat(kinds()).isEmpty();
  }

  @Test
  void workThatDoesNotRestIsSuspendedFirst() {
    created(SliceState.ACTIVE);
    job.getSpec().setSuspend(false);
    assertThat(kinds()).containsExactly(Kind.SUSPEND, Kind.PATCH, Kind.RESUME);
  }

  @Test
  void aSliceThatSomebodyElseHasMadeSendsNobodyAnywhere() {
    created(SliceState.ACTIVE).getMetadata().getAnnotations().remove(TpuLabels.OWN_REQUEST);
    assertThat(kinds()).doesNotContain(Kind.DELETE_SLICE);
    assertThat(planned().steps())
        .noneMatch(step -> step.kind() == Kind.PATCH && step.after().isEmpty());
  }

  @Test
  void workOfAQueueIsLeftToKueue() {
    job.getMetadata().setLabels(Map.of(TpuLabels.QUEUE, "research"));
    created(SliceState.ACTIVE);
    assertThat(kinds()).doesNotContain(Kind.RESUME);
  }

  @ParameterizedTest
  @EnumSource(names = {"FAILED", "CREATION_FAILED"})
  void aFailedSliceStaysUntilItsWorkHasAnother(SliceState state) {
    GenericKubernetesResource failed = created(state);
    List<ClusterStep> steps = planned().steps();
    assertThat(steps.get(0).kind()).isEqualTo(Kind.CREATE_SLICE);
    ClusterStep delete =
        steps.stream().filter(step -> step.kind() == Kind.DELETE_SLICE).findFirst().orElseThrow();
    assertThat(delete.object()).isEqualTo(ObjectRef.of(failed));
    assertThat(delete.after()).containsExactly(1);

    created(SliceState.ACTIVATING);
    assertThat(kinds()).isEmpty();
    objects.remove(objects.size() - 1);
    created(SliceState.ACTIVE);
    assertThat(kinds()).containsExactly(Kind.PATCH, Kind.RESUME, Kind.DELETE_SLICE);
  }

  @Test
  void aFailedSliceIsDeletedIfNothingElseIsFree() {
    objects.removeIf(object -> object.getMetadata().getName().startsWith("node-c2"));
    GenericKubernetesResource failed = created(SliceState.FAILED);
    assertThat(planned().steps())
        .singleElement()
        .matches(step -> step.kind() == Kind.DELETE_SLICE)
        .matches(step -> step.object().equals(ObjectRef.of(failed)));
    failed.getMetadata().setDeletionTimestamp("2026-12-01T09:00:00Z");
    assertThat(kinds()).as("on its way").isEmpty();
  }

  /** As two schedulers leave it that did not know of each other. */
  @Test
  void ofTwoSlicesOfOneSliceThatWithoutPodsIsDeleted() {
    GenericKubernetesResource first = created(SliceState.ACTIVE);
    GenericKubernetesResource second = Serialization.clone(first);
    second.getMetadata().setName("train-0-other");
    String other =
        Tpu7xNodes.id(
            first.get("spec", "partitionIds", 0).equals(Tpu7xNodes.id("c1")) ? "c2" : "c1");
    second.setAdditionalProperty(
        "spec", Map.of("type", "tpu7x", "topology", "4x4x4", "partitionIds", List.of(other)));
    objects.add(second);
    for (GenericKubernetesResource used : List.of(first, second)) {
      List<HasMetadata> pods = pods(used.get("spec", "partitionIds", 0));
      objects.addAll(pods);
      Cluster cluster = ClusterReader.builder().lenient(true).build().read(objects);
      objects.removeAll(pods);
      Plan plan =
          SlicePlanner.create()
              .plan(cluster.fleet(), cluster.requests(), SolveBudget.within(Duration.ofSeconds(5)));
      GenericKubernetesResource unused = used == first ? second : first;
      assertThat(ClusterPlan.of(cluster, plan).steps())
          .filteredOn(step -> step.kind() == Kind.DELETE_SLICE)
          .extracting(ClusterStep::object)
          .containsExactly(ObjectRef.of(unused));
    }
  }

  private List<HasMetadata> pods(String cube) {
    List<HasMetadata> pods = new ArrayList<>();
    for (HasMetadata node : List.copyOf(objects)) {
      if (node instanceof Node
          && cube.equals(node.getMetadata().getLabels().get(Tpu7xNodes.idLabel("4x4x4")))) {
        pods.add(
            new PodBuilder()
                .withNewMetadata()
                .withNamespace("team-a")
                .withName("train-" + pods.size())
                .addToAnnotations("batch.kubernetes.io/job-completion-index", "" + pods.size())
                .addNewOwnerReference()
                .withApiVersion("batch/v1")
                .withKind("Job")
                .withName("train")
                .withController(true)
                .endOwnerReference()
                .endMetadata()
                .withSpec(Serialization.clone(job.getSpec().getTemplate().getSpec()))
                .editSpec()
                .withNodeName(node.getMetadata().getName())
                .endSpec()
                .withNewStatus()
                .withPhase("Running")
                .endStatus()
                .build());
      }
    }
    return pods;
  }
}
