package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Work whose author has chosen its Slices by name. */
class SelectedSlicesTest {

  private static final ClusterReader LENIENT = ClusterReader.builder().lenient(true).build();

  private static final String SELECTOR =
      "Job/a/train.spec.template.spec.nodeSelector[" + TpuLabels.SLICE + "]";

  private static final String JOB =
      """
      apiVersion: batch/v1
      kind: Job
      metadata: {name: train, namespace: a}
      spec:
        completionMode: Indexed
        parallelism: 16
        completions: 16
        template:
          metadata: {annotations: {cloud.google.com/gke-tpu-slice-topology: 4x4x4}}
          spec:
            nodeSelector:
              cloud.google.com/gke-tpu-accelerator: tpu7x
              cloud.google.com/gke-tpu-slice: mine
            containers: [{name: w, resources: {limits: {google.com/tpu: "4"}}}]
      """;

  private static final String JOB_SET =
      """
      apiVersion: jobset.x-k8s.io/v1alpha2
      kind: JobSet
      metadata: {name: ms, namespace: a}
      spec:
        replicatedJobs:
        - name: w
          replicas: 2
          template:
            spec:
              parallelism: 16
              completions: 16
              template:
                metadata: {annotations: {cloud.google.com/gke-tpu-slice-topology: 4x4x4}}
                spec:
                  nodeSelector: {cloud.google.com/gke-tpu-accelerator: tpu7x}
                  affinity:
                    nodeAffinity:
                      requiredDuringSchedulingIgnoredDuringExecution:
                        nodeSelectorTerms:
                        - matchExpressions:
                          - {key: cloud.google.com/gke-tpu-slice, operator: In, values: [two, one]}
                  containers: [{name: w, resources: {limits: {google.com/tpu: "4"}}}]
      """;

  private static GenericKubernetesResource slice(String name, String topology, String... ids) {
    GenericKubernetesResource slice =
        new SliceManifest(name, "tpu7x", Shape.parse(topology), List.of(ids), Map.of(), null, false)
            .toResource();
    return Scene.state(slice, SliceState.ACTIVE);
  }

  private static List<HasMetadata> objects(String yaml, HasMetadata... more) throws IOException {
    List<HasMetadata> objects = new ArrayList<>(ClusterFixtures.block("b", 3));
    objects.addAll(WorkloadFixturesTest.read(yaml));
    objects.addAll(List.of(more));
    return objects;
  }

  private static Map<String, String> running(Cluster cluster) {
    Map<String, String> running = new java.util.TreeMap<>();
    for (RunningSlice slice : cluster.fleet().running()) {
      running.put(
          slice.id().toString(),
          cluster.fleet().pod(slice.pod()).orElseThrow().topology().describe(slice.footprint()));
    }
    return running;
  }

  private static void assertLeftOut(Cluster cluster, String object, String... words) {
    assertThat(cluster.workloads()).isEmpty();
    assertThat(cluster.requests()).isEmpty();
    assertThat(cluster.leftOut())
        .filteredOn(left -> left.object().path().equals(object))
        .singleElement()
        .satisfies(left -> assertThat(left.reason()).contains(words).contains("drop the selector"));
  }

  @Test
  void aJobRunsOnTheFreeSliceThatItsAuthorNames() throws IOException {
    List<HasMetadata> objects = objects(JOB, slice("mine", "4x4x4", "b-c1"));
    for (int seed = 0; seed < 5; seed++) {
      Cluster cluster = ClusterReader.create().read(objects);
      assertThat(running(cluster).keySet()).containsExactly("Job/a/train/0");
      assertThat(running(cluster).get("Job/a/train/0")).contains("b-c1");
      assertThat(cluster.requests()).isEmpty();
      Collections.shuffle(objects, new Random(seed));
    }
  }

  @Test
  void nothingIsMadeForItAndNothingItSaysIsOverwritten() throws IOException {
    Cluster cluster = ClusterReader.create().read(objects(JOB, slice("mine", "4x4x4", "b-c1")));
    ClusterPlan plan =
        ClusterPlan.of(
            cluster,
            SlicePlanner.create()
                .plan(
                    cluster.fleet(),
                    cluster.requests(),
                    SolveBudget.within(Duration.ofSeconds(5))));
    assertThat(plan.steps()).isEmpty();
  }

  @Test
  void severalNamesAreItsSlicesByOrder() throws IOException {
    Cluster cluster =
        ClusterReader.create()
            .read(objects(JOB_SET, slice("one", "4x4x4", "b-c0"), slice("two", "4x4x4", "b-c2")));
    assertThat(running(cluster).keySet()).containsExactly("JobSet/a/ms/w/0", "JobSet/a/ms/w/1");
    assertThat(running(cluster).get("JobSet/a/ms/w/0")).contains("b-c2");
    assertThat(running(cluster).get("JobSet/a/ms/w/1")).contains("b-c0");
  }

  @Test
  void oneNameForTwoSlicesIsAProblem() throws IOException {
    String one = JOB_SET.replace("[two, one]", "[one]");
    assertLeftOut(
        LENIENT.read(objects(one, slice("one", "4x4x4", "b-c0"))), "JobSet/a/ms", "there is 1");
  }

  @Test
  void aSliceThatIsNotThereIsAProblemUntilItComes() throws IOException {
    List<HasMetadata> objects = objects(JOB);
    Cluster without = LENIENT.read(objects);
    assertLeftOut(without, "Job/a/train", "there is no Slice mine", "create it");
    assertThat(without.problems()).singleElement().matches(p -> p.path().equals(SELECTOR));
    assertThatThrownBy(() -> ClusterReader.create().read(objects))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("there is no Slice mine");

    GenericKubernetesResource slice = slice("mine", "4x4x4", "b-c1");
    Cluster with = without.update(List.of(slice), List.of());
    assertThat(with.problems()).isEmpty();
    assertThat(running(with).keySet()).containsExactly("Job/a/train/0");
    Cluster again = with.update(List.of(), List.of(ObjectRef.of(slice)));
    assertLeftOut(again, "Job/a/train", "there is no Slice mine");
  }

  @Test
  void aSliceOfAnotherIsAProblem() throws IOException {
    GenericKubernetesResource ours = slice("mine", "4x4x4", "b-c1");
    Scene.annotate(ours, TpuLabels.OWN_REQUEST, "Job/b/other");
    assertLeftOut(LENIENT.read(objects(JOB, ours)), "Job/a/train", "is of Job/b/other");

    GenericKubernetesResource theirs = slice("mine", "4x4x4", "b-c1");
    Scene.annotate(theirs, TpuLabels.OWNER_NAMESPACE, "b");
    Scene.annotate(theirs, TpuLabels.OWNER_NAME, "gone");
    assertLeftOut(LENIENT.read(objects(JOB, theirs)), "Job/a/train", "is of b/gone");

    Scene scene = new Scene();
    HasMetadata pod = scene.pod("stranger", "", 0, "b-1-0");
    assertLeftOut(
        LENIENT.read(objects(JOB, slice("mine", "4x4x4", "b-c1"), pod)),
        "Job/a/train",
        "stranger",
        "on it");
  }

  @Test
  void aSliceThatHasFailedOrLeavesOrHasAnotherShapeIsAProblem() throws IOException {
    GenericKubernetesResource failed = slice("mine", "4x4x4", "b-c1");
    Scene.state(failed, SliceState.FAILED);
    assertLeftOut(LENIENT.read(objects(JOB, failed)), "Job/a/train", "has no partitions");

    GenericKubernetesResource leaving = slice("mine", "4x4x4", "b-c1");
    leaving.getMetadata().setDeletionTimestamp("2026-01-01T00:00:00Z");
    assertLeftOut(LENIENT.read(objects(JOB, leaving)), "Job/a/train", "is being deleted");

    assertLeftOut(
        LENIENT.read(objects(JOB, slice("mine", "2x2x2", "b-c1-e0"))), "Job/a/train", "2x2x2");
  }

  @Test
  void ofTwoThatNameOneSliceOneHasIt() throws IOException {
    List<HasMetadata> objects = objects(JOB, slice("mine", "4x4x4", "b-c1"));
    objects.addAll(WorkloadFixturesTest.read(JOB.replace("name: train", "name: second")));
    Cluster cluster = LENIENT.read(objects);
    assertThat(running(cluster).keySet()).containsExactly("Job/a/second/0");
    assertThat(cluster.leftOut())
        .singleElement()
        .matches(left -> left.reason().contains("is of Job/a/second"));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void whatBindingHasPutInIsNoChoiceOfTheAuthors(boolean bound) throws IOException {
    String job =
        bound
            ? JOB.replace(
                "gke-tpu-slice-topology: 4x4x4",
                "gke-tpu-slice-topology: 4x4x4, slicewright.dev/binding: " + TpuLabels.SLICE)
            : JOB;
    Cluster cluster = LENIENT.read(objects(job));
    assertThat(cluster.requests())
        .extracting(SliceRequest::id)
        .isEqualTo(bound ? List.of("Job/a/train") : List.of());
  }
}
