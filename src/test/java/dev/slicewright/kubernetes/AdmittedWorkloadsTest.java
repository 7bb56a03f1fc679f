package dev.slicewright.kubernetes;

import static dev.slicewright.kubernetes.PlanCase.tree;
import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.Problem;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.SliceRequest;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.OwnerReference;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What Kueue has assigned is taken, though no pod is there yet. */
class AdmittedWorkloadsTest {

  private static final ClusterReader LENIENT = ClusterReader.builder().lenient(true).build();

  private static Cluster read(List<HasMetadata> objects) {
    return LENIENT.read(objects);
  }

  private static List<String> running(Cluster cluster) {
    return cluster.fleet().running().stream().map(AdmittedWorkloadsTest::text).toList();
  }

  private static String text(RunningSlice slice) {
    return slice.id() + " " + slice.shape() + " " + slice.pod();
  }

  private static List<String> paths(Cluster cluster) {
    return cluster.problems().stream().map(Problem::path).toList();
  }

  /** A Workload of one pod set that is admitted with these nodes, one pod on each. */
  private static HasMetadata admitted(
      String version, String name, String accelerator, String shape, int pods, String... nodes) {
    return admitted(
        version,
        name,
        accelerator,
        shape,
        pods,
        new TopologyAssignment(
            List.of("kubernetes.io/hostname"),
            Arrays.stream(nodes)
                .map(node -> new TopologyAssignment.Domain(List.of(node), 1))
                .toList()));
  }

  private static HasMetadata admitted(
      String version,
      String name,
      String accelerator,
      String shape,
      int pods,
      TopologyAssignment assignment) {
    Map<String, Object> selector = tree("cloud.google.com/gke-tpu-accelerator", accelerator);
    Map<String, Object> annotations = tree();
    if (accelerator.equals("tpu7x") || shape.equals("2x4")) {
      annotations.put("cloud.google.com/gke-tpu-slice-topology", shape);
    } else {
      selector.put("cloud.google.com/gke-tpu-topology", shape);
    }
    Map<String, Object> template =
        tree(
            "metadata",
            tree("annotations", annotations),
            "spec",
            tree(
                "nodeSelector",
                selector,
                "containers",
                List.of(
                    tree("name", "w", "resources", tree("limits", tree("google.com/tpu", "4"))))));
    HasMetadata workload =
        PlanCase.generic(
            "kueue.x-k8s.io/" + version,
            "Workload",
            name,
            tree(
                "spec",
                tree("podSets", list(tree("name", "main", "count", pods, "template", template))),
                "status",
                tree(
                    "admission",
                    tree(
                        "podSetAssignments",
                        list(
                            tree(
                                "name",
                                "main",
                                "topologyAssignment",
                                version.equals("v1beta1")
                                    ? assignment.toV1Beta1()
                                    : assignment.toV1Beta2()))),
                    "conditions",
                    list(tree("type", "Admitted", "status", "True")))));
    workload.getMetadata().setNamespace("team");
    return workload;
  }

  private static List<Object> list(Object... entries) {
    return new ArrayList<>(List.of(entries));
  }

  private static HasMetadata with(HasMetadata workload, String condition) {
    Map<String, Object> status =
        tree(
            "admission",
            PlanCase.at(WorkloadPatches.tree(workload), "status", "admission"),
            "conditions",
            list(tree("type", condition, "status", "True")));
    Generic.of(workload).setAdditionalProperty("status", status);
    return workload;
  }

  // ---------------------------------------------------------------- taken

  @ParameterizedTest
  @ValueSource(strings = {"v1beta1", "v1beta2"})
  @DisplayName("kueue#14570: nodes of an admitted workload are given to nobody else")
  void kueue14570_nodesAssignedToAWorkloadWithoutPodsAreTaken(String version) {
    List<HasMetadata> objects =
        new ArrayList<>(ClusterFixtures.pool("v5p", "tpu-v5p-slice", "2x2x2"));
    objects.add(admitted(version, "wl", "tpu-v5p-slice", "2x2x2", 2, "v5p-0", "v5p-1"));
    objects.add(ClusterFixtures.job("team", "other", "tpu-v5p-slice", "2x2x2", 9));

    Cluster cluster = ClusterReader.create().read(objects);

    assertThat(running(cluster)).containsExactly("Workload/team/wl/main/0 2x2x2 nodepool/v5p");
    assertThat(cluster.requests()).extracting(SliceRequest::id).containsExactly("Job/team/other");
  }

  @Test
  void withoutATopologyAssignmentNothingIsTaken() {
    List<HasMetadata> objects =
        new ArrayList<>(ClusterFixtures.pool("v5p", "tpu-v5p-slice", "2x2x2"));
    HasMetadata workload = admitted("v1beta2", "wl", "tpu-v5p-slice", "2x2x2", 2, "v5p-0");
    Generic.of(workload)
        .setAdditionalProperty(
            "status",
            tree("admission", tree("podSetAssignments", list(tree("name", "main", "count", 2)))));
    objects.add(workload);

    Cluster cluster = ClusterReader.create().read(objects);

    assertThat(running(cluster)).isEmpty();
    assertThat(cluster.requests()).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"Finished", "Evicted"})
  void whatHasEndedOrIsEvictedTakesNothing(String condition) {
    List<HasMetadata> objects =
        new ArrayList<>(ClusterFixtures.pool("v5p", "tpu-v5p-slice", "2x2x2"));
    objects.add(
        with(admitted("v1beta2", "wl", "tpu-v5p-slice", "2x2x2", 2, "v5p-0", "v5p-1"), condition));

    Cluster cluster = ClusterReader.create().read(objects);

    assertThat(running(cluster)).isEmpty();
    assertThat(cluster.requests()).hasSize(condition.equals("Finished") ? 0 : 1);
  }

  @Test
  void theWorkloadOfAJobStandsForTheJob() {
    List<HasMetadata> objects = new ArrayList<>(ClusterFixtures.block("a", 1));
    Job job = ClusterFixtures.job("team", "train", "tpu7x", "2x2x2", 9);
    HasMetadata workload = admitted("v1beta2", "wl", "tpu7x", "2x2x2", 2, "a-0-2", "a-0-3");
    OwnerReference owner = new OwnerReference();
    owner.setApiVersion("batch/v1");
    owner.setKind("Job");
    owner.setName("train");
    owner.setController(true);
    workload.getMetadata().setOwnerReferences(new ArrayList<>(List.of(owner)));
    objects.add(job);
    objects.add(workload);

    Cluster cluster = ClusterReader.create().read(objects);

    assertThat(running(cluster)).containsExactly("Job/team/train/0 2x2x2 block/a");
    assertThat(cluster.requests()).isEmpty();
    // Once a pod of it is there, or its Slice, it is the same slice.
    Pod pod = ClusterFixtures.podOf(job, 1, "a-0-3");
    Cluster withPod = cluster.update(List.of(pod), List.of());
    assertThat(running(withPod)).isEqualTo(running(cluster));
    assertThat(withPod.problems()).isEmpty();
    HasMetadata slice = ClusterFixtures.slice("any", "2x2x2", "ACTIVATING", List.of("a-c0-e1"));
    Cluster withSlice = cluster.update(List.of(slice), List.of());
    assertThat(running(withSlice)).isEqualTo(running(cluster));
    assertThat(withSlice.problems()).isEmpty();
  }

  @Test
  void severalSlicesAreCutInTheOrderOfTheAssignment() {
    List<HasMetadata> objects = new ArrayList<>(ClusterFixtures.block("a", 5));
    String[] nodes = new String[64];
    int[] cubes = {3, 0, 4, 1}; // first slice 3 and 0, second 4 and 1
    for (int i = 0; i < 64; i++) {
      nodes[i] = "a-" + cubes[i / 16] + "-" + i % 16;
    }
    HasMetadata workload = admitted("v1beta2", "wl", "tpu7x", "4x4x8", 64, nodes);
    objects.add(workload);

    Cluster cluster = ClusterReader.create().read(objects);

    assertThat(running(cluster))
        .containsExactly(
            "Workload/team/wl/main/0 4x4x8 block/a", "Workload/team/wl/main/1 4x4x8 block/a");
    assertThat(cluster.fleet().running())
        .extracting(slice -> slice.footprint().toString())
        .allSatisfy(text -> assertThat(text).doesNotContain("2"));
    assertThat(cluster.requests()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(strings = {"v1beta1", "v1beta2"})
  void partitionsMayBeAssignedInsteadOfNodes(String version) {
    List<HasMetadata> objects = new ArrayList<>(ClusterFixtures.block("a", 2));
    TopologyAssignment assignment =
        new TopologyAssignment(
            List.of(
                "cloud.google.com/gce-topology-block",
                "cloud.google.com/gke-tpu-partition-4x4x4-id"),
            List.of(new TopologyAssignment.Domain(List.of("a", "a-c1"), 16)));
    objects.add(admitted(version, "wl", "tpu7x", "4x4x4", 16, assignment));

    Cluster cluster = ClusterReader.create().read(objects);

    assertThat(running(cluster)).containsExactly("Workload/team/wl/main/0 4x4x4 block/a");
    assertThat(cluster.fleet().running().iterator().next().footprint().toString()).contains("1");
  }

  // ---------------------------------------------------------------- contradictions

  @Test
  void nodesThatAreNotThereAreNamed() {
    List<HasMetadata> objects =
        new ArrayList<>(ClusterFixtures.pool("v5p", "tpu-v5p-slice", "2x2x2"));
    objects.add(admitted("v1beta2", "wl", "tpu-v5p-slice", "2x2x2", 2, "gone-0", "gone-1"));

    Cluster cluster = read(objects);

    assertThat(running(cluster)).isEmpty();
    assertThat(paths(cluster))
        .containsOnly("Workload/team/wl.status.admission.podSetAssignments[0].topologyAssignment");
    assertThat(cluster.problems().toString()).contains("gone-0").contains("gone-1");
  }

  @Test
  void anAssignmentThatMissesPodsOrCannotBeReadIsNamed() {
    List<HasMetadata> objects = new ArrayList<>(ClusterFixtures.block("a", 1));
    objects.add(admitted("v1beta1", "wl", "tpu7x", "2x2x2", 2, "a-0-2"));
    HasMetadata broken = admitted("v1beta1", "xl", "tpu7x", "2x2x1", 1, "a-0-9");
    Map<String, Object> status =
        tree(
            "admission",
            tree(
                "podSetAssignments",
                list(
                    tree(
                        "name",
                        "main",
                        "topologyAssignment",
                        tree(
                            "levels",
                            list("kubernetes.io/hostname"),
                            "domains",
                            list(tree("values", list("a-0-9"), "count", -3)))))));
    Generic.of(broken).setAdditionalProperty("status", status);
    objects.add(broken);

    Cluster cluster = read(objects);

    assertThat(running(cluster)).isEmpty();
    assertThat(paths(cluster))
        .contains(
            "Workload/team/wl.status.admission.podSetAssignments[0].topologyAssignment",
            "Workload/team/xl.status.admission.podSetAssignments[0].topologyAssignment"
                + ".domains[0].count");
    assertThat(cluster.leftOut())
        .extracting(left -> left.object().path())
        .contains("Workload/team/wl", "Workload/team/xl");
    // The node that is promised is nobody else's.
    assertThat(isOpen(cluster, "a-0-2")).isFalse();
  }

  private static boolean isOpen(Cluster cluster, String node) {
    Cluster.HostRef at = cluster.host(node).orElseThrow();
    return !cluster
        .fleet()
        .pod(at.pod())
        .orElseThrow()
        .cordons()
        .contains(new Part.Host(at.host()));
  }

  @Test
  void ofTwoWorkloadsWithTheSameNodesOneRuns() {
    List<HasMetadata> objects = new ArrayList<>(ClusterFixtures.subslicing("sub", "4x4"));
    objects.add(admitted("v1beta2", "one", "tpu-v6e-slice", "2x4", 2, "sub-0", "sub-1"));
    objects.add(admitted("v1beta2", "two", "tpu-v6e-slice", "2x4", 2, "sub-0", "sub-1"));

    for (int seed = 0; seed < 4; seed++) {
      Collections.shuffle(objects, new Random(seed));
      Cluster cluster = read(objects);

      assertThat(running(cluster)).containsExactly("Workload/team/one/main/0 2x4 nodepool/sub");
      assertThat(cluster.requests())
          .extracting(SliceRequest::id)
          .containsExactly("Workload/team/two/main");
      assertThat(paths(cluster))
          .containsExactly(
              "Workload/team/two.status.admission.podSetAssignments[0].topologyAssignment");
    }
  }

  @Test
  void podsOfOthersOnAssignedNodesAreAProblemAndTheRestIsKeptFree() {
    List<HasMetadata> objects = new ArrayList<>(ClusterFixtures.block("a", 1));
    objects.add(admitted("v1beta2", "wl", "tpu7x", "2x2x2", 2, "a-0-2", "a-0-3"));
    Job other = ClusterFixtures.job("team", "other", "tpu7x", "2x2x1", 0);
    objects.add(other);
    objects.add(ClusterFixtures.podOf(other, 0, "a-0-3"));

    Cluster cluster = read(objects);

    assertThat(running(cluster)).containsExactly("Job/team/other/0 2x2x1 block/a");
    assertThat(cluster.problems()).hasSize(1);
    assertThat(cluster.requests())
        .extracting(SliceRequest::id)
        .containsExactly("Workload/team/wl/main");
    assertThat(isOpen(cluster, "a-0-2")).isFalse();
  }
}
