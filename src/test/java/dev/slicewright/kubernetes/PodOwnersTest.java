package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.Problems;
import dev.slicewright.kubernetes.Owners.PodOwner;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Whose pod is whose, and which worker of which slice it is. */
class PodOwnersTest {

  private static final String SPEC_7X =
      """
                  template:
                    metadata: {annotations: {cloud.google.com/gke-tpu-slice-topology: SHAPE}}
                    spec:
                      nodeSelector: {cloud.google.com/gke-tpu-accelerator: tpu7x}
                      containers: [{name: w, resources: {limits: {google.com/tpu: "4"}}}]
      """;

  private static final String JOB_SET =
      """
      apiVersion: jobset.x-k8s.io/v1alpha2
      kind: JobSet
      metadata: {name: ms, namespace: a}
      spec:
        replicatedJobs:
          - name: driver
            template: {spec: {template: {spec: {containers: [{name: d}]}}}}
          - name: slice
            replicas: 2
            template:
              spec:
                  parallelism: 4
                  completions: 4
      """
          + SPEC_7X.replace("SHAPE", "2x2x4");

  private static final String JOB_OF_JOB_SET =
      """
      apiVersion: batch/v1
      kind: Job
      metadata:
        name: ms-slice-1
        namespace: a
        labels:
          jobset.sigs.k8s.io/jobset-name: ms
          jobset.sigs.k8s.io/replicatedjob-name: slice
          jobset.sigs.k8s.io/job-index: "1"
        ownerReferences:
          - {apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: ms, uid: u, controller: true}
      spec:
                  completionMode: Indexed
                  parallelism: 4
                  completions: 4
      """
          + SPEC_7X.replace("SHAPE", "2x2x4");

  @Test
  void aPodOfAJobSetIsTheWorkerThatItsNumbersSay() {
    Pod pod =
        pod("ms-slice-1-3-x", 4)
            .editMetadata()
            .addToLabels(PodOwners.JOB_SET, "ms")
            .addToLabels(PodOwners.REPLICATED_JOB, "slice")
            .addToLabels(PodOwners.JOB_INDEX, "1")
            .addToLabels(PodOwners.COMPLETION_INDEX, "3")
            .addNewOwnerReference()
            .withApiVersion("batch/v1")
            .withKind("Job")
            .withName("ms-slice-1")
            .withController(true)
            .endOwnerReference()
            .endMetadata()
            .build();
    PodOwner expected = new PodOwner("JobSet/a/ms/slice", 1, 3);
    assertThat(owners(JOB_SET, JOB_OF_JOB_SET).of(pod)).contains(expected);
    assertThat(owners().of(pod)).as("without the objects").contains(expected);

    Pod bare =
        new PodBuilder(pod)
            .editMetadata()
            .withLabels(Map.of())
            .withAnnotations(Map.of(PodOwners.COMPLETION_INDEX, "3"))
            .endMetadata()
            .build();
    assertThat(owners(JOB_SET, JOB_OF_JOB_SET).of(bare))
        .as("the labels of its job do as well")
        .contains(expected);
  }

  @Test
  void podsWithoutChipsBelongToWorkThatHasThemOrToNothing() {
    Pod driver =
        pod("ms-driver-0-0-x", 0)
            .editMetadata()
            .addToLabels(PodOwners.JOB_SET, "ms")
            .addToLabels(PodOwners.REPLICATED_JOB, "driver")
            .endMetadata()
            .build();
    assertThat(owners(JOB_SET).of(driver)).isEmpty();
    assertThat(owners().of(driver)).isEmpty();
    assertThat(owners().of(pod("web", 0).build())).isEmpty();
    assertThat(owners().of(new Pod())).isEmpty();
  }

  @Test
  void aPodOfAnIndexedJobIsItsNumber() {
    String job =
        """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: pair, namespace: a}
        spec:
                  completionMode: Indexed
                  parallelism: 32
                  completions: 32
                  template:
                    metadata:
                      annotations:
                        cloud.google.com/gke-tpu-slice-topology: 4x4x4
                        kueue.x-k8s.io/podset-slice-required-topology: cloud.google.com/gce-topology-block
                        kueue.x-k8s.io/podset-slice-size: "16"
                    spec:
                      nodeSelector: {cloud.google.com/gke-tpu-accelerator: tpu7x}
                      containers: [{name: w, resources: {limits: {google.com/tpu: "4"}}}]
        """;
    Pod pod = podOfJob("pair-21-x", "pair", 4, 21);
    assertThat(owners(job).of(pod)).contains(new PodOwner("Job/a/pair", 1, 5));
    assertThat(owners().of(pod))
        .as("how many pods a slice has cannot be told without the job")
        .contains(new PodOwner("Job/a/pair", 0, 21));
    assertThat(owners(job).of(podOfJob("pair-99-x", "pair", 4, 99)))
        .as("a number beyond the job's")
        .contains(new PodOwner("Job/a/pair", 0, -1));
  }

  @Test
  void podsWithoutNumbersAreNumberedByTheirNames() {
    String job =
        """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: sweep, namespace: a}
        spec:
                    parallelism: 3
        """
            + SPEC_7X.replace("SHAPE", "2x2x1");
    List<HasMetadata> objects = new ArrayList<>(WorkloadFixturesTest.read(job));
    List<Pod> pods = new ArrayList<>();
    for (String name : List.of("sweep-c", "sweep-a", "sweep-d", "sweep-b")) {
      Pod pod = podOfJob(name, "sweep", 4, -1);
      if (name.endsWith("a")) {
        pod = new PodBuilder(pod).withNewStatus().withPhase("Failed").endStatus().build();
      }
      pods.add(pod);
      objects.add(pod);
    }
    Owners owners = owners(objects);
    assertThat(owners.of(pods.get(0))).contains(new PodOwner("Job/a/sweep", 1, 0));
    assertThat(owners.of(pods.get(1))).contains(new PodOwner("Job/a/sweep", 0, -1));
    assertThat(owners.of(pods.get(2))).contains(new PodOwner("Job/a/sweep", 2, 0));
    assertThat(owners.of(pods.get(3))).contains(new PodOwner("Job/a/sweep", 0, 0));
  }

  @Test
  void theLeaderIsWorkerZeroIfItHasChips() {
    String led =
        """
        apiVersion: leaderworkerset.x-k8s.io/v1
        kind: LeaderWorkerSet
        metadata: {name: serve, namespace: a}
        spec:
          replicas: 2
          leaderWorkerTemplate:
            size: 16
            leaderTemplate:
              spec:
                nodeSelector: {cloud.google.com/gke-tpu-accelerator: tpu7x}
                containers: [{name: l, resources: {limits: {google.com/tpu: "4"}}}]
            workerTemplate:
              metadata: {annotations: {cloud.google.com/gke-tpu-slice-topology: 4x4x4}}
              spec:
                nodeSelector: {cloud.google.com/gke-tpu-accelerator: tpu7x}
                containers: [{name: w, resources: {limits: {google.com/tpu: "4"}}}]
        """;
    Owners owners = owners(led);
    assertThat(owners.of(podOfSet("serve-1", 4, 1, 0)))
        .contains(new PodOwner("LeaderWorkerSet/a/serve", 1, 0));
    assertThat(owners.of(podOfSet("serve-1-9", 4, 1, 9)))
        .contains(new PodOwner("LeaderWorkerSet/a/serve", 1, 9));
    assertThat(owners().of(podOfSet("serve-1-9", 4, 1, 9)))
        .as("without the object")
        .contains(new PodOwner("LeaderWorkerSet/a/serve", 1, 9));

    String proxied =
        led.replace("size: 16", "size: 17")
            .replace("{name: l, resources: {limits: {google.com/tpu: \"4\"}}}", "{name: l}");
    assertThat(owners(proxied).of(podOfSet("serve-1", 0, 1, 0)))
        .as("a leader that keeps its workers company")
        .contains(new PodOwner("LeaderWorkerSet/a/serve", 1, -1));
    assertThat(owners(proxied).of(podOfSet("serve-1-9", 4, 1, 9)))
        .contains(new PodOwner("LeaderWorkerSet/a/serve", 1, 8));
  }

  /** kueue#15640: heterogeneous members over several slices. */
  @Test
  void kueue15640_aLeaderAndFifteenWorkersFillFourSlicesInOrder() {
    String workload = "";
    for (String podSet : List.of("leader", "workers")) {
      workload +=
          """
            - name: NAME
              count: COUNT
              topologyRequest: {podSetGroupName: all}
          """
                  .replace("NAME", podSet)
                  .replace("COUNT", podSet.equals("leader") ? "1" : "15")
              + SPEC_7X.replace("SHAPE", "2x2x4").replaceAll("(?m)^ {12}", "    ");
    }
    workload =
        """
        apiVersion: kueue.x-k8s.io/v1beta2
        kind: Workload
        metadata: {name: four, namespace: a}
        spec:
          podSets:
        """
            + workload;
    Owners owners = owners(workload);
    for (int worker = 0; worker < 16; worker++) {
      Pod pod =
          pod("four-" + worker, 4)
              .editMetadata()
              .addToAnnotations(WorkIndex.WORKLOAD, "four")
              .addToLabels(PodOwners.POD_SET, worker == 0 ? "leader" : "workers")
              .addToLabels(PodOwners.COMPLETION_INDEX, String.valueOf(worker == 0 ? 0 : worker - 1))
              .endMetadata()
              .build();
      assertThat(owners.of(pod))
          .contains(new PodOwner("Workload/a/four/all", worker / 4, worker % 4));
    }
    assertThat(owners.of("a", "four", "workers")).contains("Workload/a/four/all");
  }

  @Test
  void theOwnerOfASliceIsTheObjectThatTheWorkloadIsFor() {
    String workload =
        """
        apiVersion: kueue.x-k8s.io/v1beta1
        kind: Workload
        metadata:
          name: jobset-ms-8f2
          namespace: a
          ownerReferences:
            - {apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, name: ms, uid: u, controller: true}
        spec:
          podSets: [{name: slice, count: 8}]
        """;
    Owners owners = owners(JOB_SET, workload);
    assertThat(owners.of("a", "jobset-ms-8f2", "slice")).contains("JobSet/a/ms/slice");
    assertThat(owners.of("a", "ms", "slice")).contains("JobSet/a/ms/slice");
    assertThat(owners.of("a", "gone", "slice")).isEmpty();
    assertThat(owners.of("b", "jobset-ms-8f2", "slice")).isEmpty();
  }

  @Test
  void podsOfOtherControllersAreTheirOwnUnlessTheirSliceIsLarger() {
    Pod single =
        pod("deployed-x", 4)
            .editMetadata()
            .addToAnnotations(TpuLabels.SLICE_TOPOLOGY, "2x2x1")
            .addNewOwnerReference()
            .withApiVersion("apps/v1")
            .withKind("ReplicaSet")
            .withName("deployed")
            .withController(true)
            .endOwnerReference()
            .endMetadata()
            .build();
    assertThat(owners().of(single)).contains(new PodOwner("Pod/a/deployed-x", 0, 0));
    Pod multi =
        new PodBuilder(single)
            .editMetadata()
            .addToAnnotations(TpuLabels.SLICE_TOPOLOGY, "2x2x4")
            .endMetadata()
            .build();
    assertThat(owners().of(multi)).contains(new PodOwner("ReplicaSet/a/deployed", 0, -1));
  }

  @Test
  void ownersThatOwnEachOtherEnd() {
    String loop =
        """
        apiVersion: batch/v1
        kind: Job
        metadata:
          name: one
          namespace: a
          ownerReferences: [{apiVersion: batch/v1, kind: Job, name: two, uid: u, controller: true}]
        ---
        apiVersion: batch/v1
        kind: Job
        metadata:
          name: two
          namespace: a
          ownerReferences: [{apiVersion: batch/v1, kind: Job, name: one, uid: u, controller: true}]
        """;
    assertThat(owners(loop).of(podOfJob("one-0", "one", 4, 0))).isPresent();
  }

  // ---------------------------------------------------------------- what the tests share

  private static Owners owners(String... yaml) {
    List<HasMetadata> objects = new ArrayList<>();
    for (String text : yaml) {
      objects.addAll(WorkloadFixturesTest.read(text));
    }
    return owners(objects);
  }

  private static Owners owners(List<HasMetadata> objects) {
    Problems problems = new Problems();
    Owners owners =
        WorkloadTranslator.translate(
                KubernetesObjects.of(objects),
                WorkloadFixturesTest.CLUSTER,
                new ReadSettings(true, TenantBy.NAMESPACE),
                problems,
                new ArrayList<>())
            .owners();
    assertThat(problems.list()).isEmpty();
    return owners;
  }

  private static Pod podOfJob(String name, String job, int chips, int number) {
    PodBuilder pod =
        pod(name, chips)
            .editMetadata()
            .addToLabels(PodOwners.JOB, job)
            .addNewOwnerReference()
            .withApiVersion("batch/v1")
            .withKind("Job")
            .withName(job)
            .withController(true)
            .endOwnerReference()
            .endMetadata();
    return number < 0
        ? pod.build()
        : pod.editMetadata()
            .addToLabels(PodOwners.COMPLETION_INDEX, String.valueOf(number))
            .endMetadata()
            .build();
  }

  private static Pod podOfSet(String name, int chips, int group, int worker) {
    return pod(name, chips)
        .editMetadata()
        .addToLabels(PodOwners.LWS, "serve")
        .addToLabels(PodOwners.LWS_GROUP, String.valueOf(group))
        .addToLabels(PodOwners.LWS_WORKER, String.valueOf(worker))
        .addNewOwnerReference()
        .withApiVersion("apps/v1")
        .withKind("StatefulSet")
        .withName("serve")
        .withController(true)
        .endOwnerReference()
        .endMetadata()
        .build();
  }

  private static PodBuilder pod(String name, int chips) {
    PodBuilder pod =
        new PodBuilder()
            .withNewMetadata()
            .withNamespace("a")
            .withName(name)
            .endMetadata()
            .withNewSpec()
            .addNewContainer()
            .withName("w")
            .endContainer()
            .endSpec();
    return chips == 0
        ? pod
        : pod.editSpec()
            .editFirstContainer()
            .withNewResources()
            .addToLimits(TpuLabels.TPU, new Quantity(String.valueOf(chips)))
            .endResources()
            .endContainer()
            .endSpec();
  }
}
