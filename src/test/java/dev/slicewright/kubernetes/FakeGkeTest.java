package dev.slicewright.kubernetes;

import static dev.slicewright.kubernetes.SliceRulesTest.slice;
import static dev.slicewright.kubernetes.Tpu7xNodes.id;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The platform's stand-in does as GKE documents; tests that lean on it are worth no more. */
class FakeGkeTest {

  private final FakeGke gke = new FakeGke();
  private final KubernetesClient client = gke.connect();

  @BeforeEach
  void twoCubes() {
    gke.addCube("blk-a", "c1");
    gke.addCube("blk-a", "c2");
  }

  @AfterEach
  void close() {
    gke.close();
  }

  private void create(GenericKubernetesResource slice) {
    client.genericKubernetesResources(FakeGke.SLICE).resource(slice).create();
  }

  private long labelled(String slice) {
    return gke.nodes().stream()
        .map(Node::getMetadata)
        .filter(node -> slice.equals(node.getLabels().get(Tpu7xNodes.SLICE)))
        .count();
  }

  @Test
  void aSliceIsFormedStateByStateAndTakenApart() {
    create(slice("s", "4x4x8", id("c2"), id("c1")));
    assertThat(gke.states()).containsExactly(Map.entry("s", ""));
    assertThat(gke.tick()).containsExactly("s is SliceNotCreated");
    assertThat(gke.tick()).containsExactly("s is ACTIVATING");
    assertThat(labelled("s")).isZero();
    assertThat(gke.tick()).containsExactly("s is ACTIVE");
    assertThat(labelled("s")).isEqualTo(32);
    assertThat(gke.tick()).isEmpty();

    client.genericKubernetesResources(FakeGke.SLICE).withName("s").delete();
    assertThat(gke.slices().get(0).isMarkedForDeletion()).isTrue();
    assertThat(gke.tick()).containsExactly("s is DEACTIVATING");
    assertThat(labelled("s")).isEqualTo(32);
    assertThat(gke.tick()).containsExactly("s is gone");
    assertThat(labelled("s")).isZero();
    assertThat(gke.slices()).isEmpty();
  }

  @Test
  void ofTwoSlicesThatOverlapTheFirstIsFormed() {
    create(slice("a", "2x2x2", id("c1", "2x2x2", 3)));
    create(slice("b", "4x4x4", id("c1")));
    gke.settle();
    assertThat(gke.states()).isEqualTo(Map.of("a", "ACTIVE", "b", "SliceCreationFailed"));
    assertThat(labelled("a")).isEqualTo(2);
  }

  @Test
  void aDegradedPartitionGivesADegradedSlice() {
    Node node = gke.nodes().get(0);
    node.getMetadata().getLabels().put(Tpu7xNodes.stateLabel("4x4x4"), "DEGRADED");
    client.nodes().resource(node).update();
    create(slice("s", "4x4x4", id("c1")));
    gke.settle();
    assertThat(gke.states()).isEqualTo(Map.of("s", "ACTIVE_DEGRADED"));
  }

  @Test
  void aNodeThatFailsTakesItsSliceAndItsPodsWithIt() {
    create(slice("s", "4x4x4", id("c1")));
    gke.add(job("train", 16, "s"));
    gke.settle();
    assertThat(gke.running("team-a")).hasSize(16);
    gke.failNode(Tpu7xNodes.node("c1", 4));
    gke.settle();
    assertThat(gke.states()).isEqualTo(Map.of("s", "FAILED"));
    assertThat(gke.running("team-a")).isEmpty();
    assertThat(labelled("s")).isZero();
    gke.healNode(Tpu7xNodes.node("c1", 4));
    create(slice("t", "4x4x4", id("c1")));
    gke.settle();
    assertThat(gke.states()).isEqualTo(Map.of("s", "FAILED", "t", "ACTIVE"));
  }

  @Test
  void podsWaitForTheirSliceAndRunOnItsNodesAlone() {
    gke.add(job("train", 8, "half"));
    gke.settle();
    assertThat(gke.running("team-a")).isEmpty();
    create(slice("half", "2x4x4", id("c2", "2x4x4", 1)));
    gke.settle();
    assertThat(gke.running("team-a"))
        .hasSize(8)
        .containsEntry("train-0", "node-c2-i")
        .containsEntry("train-7", "node-c2-p");
  }

  @Test
  void eachJobOfAJobSetRunsInASliceOfItsOwn() {
    create(slice("s0", "4x4x4", id("c1")));
    create(slice("s1", "4x4x4", id("c2")));
    gke.add(jobSet("ms", false));
    gke.settle();
    Map<String, String> running = gke.running("team-a");
    assertThat(running).hasSize(32);
    assertThat(running.entrySet())
        .allMatch(
            pod ->
                pod.getValue()
                    .startsWith(pod.getKey().startsWith("ms-workers-0") ? "node-c1" : "node-c2"));
  }

  @Test
  void suspendedWorkHasNoPods() {
    create(slice("s0", "4x4x4", id("c1")));
    create(slice("s1", "4x4x4", id("c2")));
    gke.add(jobSet("ms", true));
    Job job = job("train", 2, "s0");
    job.getSpec().setSuspend(true);
    gke.add(job);
    gke.settle();
    assertThat(client.pods().inNamespace("team-a").list().getItems()).isEmpty();

    suspend("ms", false);
    gke.settle();
    assertThat(gke.running("team-a")).hasSize(32);
    suspend("ms", true);
    gke.settle();
    assertThat(gke.running("team-a")).isEmpty();
  }

  @Test
  void aJobSetThatIsGoneTakesItsJobsAndPodsWithIt() {
    gke.add(jobSet("ms", false));
    gke.settle();
    assertThat(client.pods().inNamespace("team-a").list().getItems()).hasSize(32);
    client
        .genericKubernetesResources(FakeGke.JOB_SET)
        .inNamespace("team-a")
        .withName("ms")
        .delete();
    gke.settle();
    assertThat(client.batch().v1().jobs().inNamespace("team-a").list().getItems()).isEmpty();
    assertThat(client.pods().inNamespace("team-a").list().getItems()).isEmpty();
  }

  private void suspend(String jobSet, boolean suspend) {
    client
        .genericKubernetesResources(FakeGke.JOB_SET)
        .inNamespace("team-a")
        .withName(jobSet)
        .patch(PatchContext.of(PatchType.JSON_MERGE), "{\"spec\":{\"suspend\":" + suspend + "}}");
  }

  @Test
  void whatTheApiServerRefusesIsRefused() {
    assertThatThrownBy(() -> create(slice("s", "4x8x4", id("c1"))))
        .isInstanceOfSatisfying(
            KubernetesClientException.class, e -> assertThat(e.getCode()).isEqualTo(422))
        .hasMessageContaining("Slice/s.spec.topology");
    create(slice("s", "4x4x4", id("c1")));
    assertThatThrownBy(() -> create(slice("s", "4x4x4", id("c1"))))
        .isInstanceOfSatisfying(
            KubernetesClientException.class, e -> assertThat(e.getCode()).isEqualTo(409));
    assertThatThrownBy(
            () -> patchSlice("s", "{\"spec\":{\"partitionIds\":[\"" + id("c2") + "\"]}}"))
        .hasMessageContaining("immutable");
    patchSlice("s", "{\"metadata\":{\"annotations\":{\"example.com/a\":\"b\"}}}");
  }

  private void patchSlice(String name, String patch) {
    client
        .genericKubernetesResources(FakeGke.SLICE)
        .withName(name)
        .patch(PatchContext.of(PatchType.JSON_MERGE), patch);
  }

  @Test
  void schedulingDirectivesChangeOnlyWhileTheJobIsSuspended() {
    String patch =
        "{\"spec\":{\"template\":{\"spec\":{\"nodeSelector\":{\"example.com/a\":\"b\"}}}}}";
    gke.add(job("train", 2, "s"));
    assertThatThrownBy(() -> patchJob("train", patch)).hasMessageContaining("not suspended");
    patchJob("train", "{\"spec\":{\"suspend\":true}}");
    patchJob("train", patch);
    assertThatThrownBy(
            () -> patchJob("train", "{\"spec\":{\"template\":{\"spec\":{\"hostname\":\"x\"}}}}"))
        .hasMessageContaining("scheduling directives");
  }

  private void patchJob(String name, String patch) {
    client
        .batch()
        .v1()
        .jobs()
        .inNamespace("team-a")
        .withName(name)
        .patch(PatchContext.of(PatchType.JSON_MERGE), patch);
  }

  @Test
  void anotherWriterInBetweenIsAConflict() {
    create(slice("s", "4x4x4", id("c1")));
    String version = gke.slices().get(0).getMetadata().getResourceVersion();
    gke.writeBetween("/apis/accelerator.gke.io/v1beta1/slices/s");
    String patch = "{\"metadata\":{\"resourceVersion\":\"" + version + "\"}}";
    assertThatThrownBy(() -> patchSlice("s", patch))
        .isInstanceOfSatisfying(
            KubernetesClientException.class, e -> assertThat(e.getCode()).isEqualTo(409));
    assertThat(gke.slices().get(0).getMetadata().getAnnotations())
        .containsKey("example.com/touched");
    assertThat(gke.writes())
        .hasSize(34)
        .endsWith("PATCH /apis/accelerator.gke.io/v1beta1/slices/s");
  }

  // ---- fixtures

  private static Job job(String name, int pods, String slice) {
    return Serialization.unmarshal(
        """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: %s, namespace: team-a}
        spec:
          completionMode: Indexed
          completions: %s
          parallelism: %s
          template:
            spec:
              restartPolicy: Never
              nodeSelector: {cloud.google.com/gke-tpu-slice: %s}
              containers:
              - {name: w, image: x, resources: {limits: {google.com/tpu: "4"}}}
        """
            .formatted(name, pods, pods, slice),
        Job.class);
  }

  private static GenericKubernetesResource jobSet(String name, boolean suspend) {
    return Serialization.unmarshal(
        """
        apiVersion: jobset.x-k8s.io/v1alpha2
        kind: JobSet
        metadata:
          name: %s
          namespace: team-a
          annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: cloud.google.com/gke-tpu-slice}
        spec:
          suspend: %s
          replicatedJobs:
          - name: workers
            replicas: 2
            template:
              spec:
                completionMode: Indexed
                parallelism: 16
                completions: 16
                template:
                  spec:
                    affinity:
                      nodeAffinity:
                        requiredDuringSchedulingIgnoredDuringExecution:
                          nodeSelectorTerms:
                          - matchExpressions:
                            - {key: cloud.google.com/gke-tpu-slice, operator: In, values: [s0, s1]}
                    containers:
                    - {name: w, image: x, resources: {limits: {google.com/tpu: "4"}}}
        """
            .formatted(name, suspend),
        GenericKubernetesResource.class);
  }

  @Test
  void nothingHappensByItself() {
    assertThat(gke.tick()).isEmpty();
    assertThat(gke.states()).isEmpty();
    assertThat(gke.nodes()).hasSize(32);
    assertThat(List.copyOf(gke.running("team-a").keySet())).isEmpty();
  }
}
