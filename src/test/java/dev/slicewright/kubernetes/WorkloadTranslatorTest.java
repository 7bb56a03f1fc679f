package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.Problem;
import dev.slicewright.Problems;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.AcceleratorType;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import io.fabric8.kubernetes.api.model.batch.v1.JobBuilder;
import io.fabric8.kubernetes.api.model.scheduling.v1.PriorityClassBuilder;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** What workloads become, beyond single fixtures; and what happens in rows of public issues. */
class WorkloadTranslatorTest {

  private final Problems problems = new Problems();
  private final List<LeftOut> leftOut = new ArrayList<>();

  // ---------------------------------------------------------------- public issues

  /** kueue#15277: charged, its remainder never placed; less than a group: tried for ever. */
  @Example
  void kueue15277_podCountNoMultipleOfTheSliceIsRefusedBeforeSolving() throws IOException {
    assertThat(translate(fixture("kueue15277-pods-no-multiple-of-the-slice-size"))).isEmpty();
    assertThat(problems.list())
        .extracting(Problem::message)
        .anyMatch(m -> m.contains("divides the 34 pods") && m.contains("leaves 2"))
        .anyMatch(m -> m.contains("divides the 3 pods") && m.contains("leaves 3"));
    assertThat(leftOut).hasSize(6);
  }

  /** kueue#15640: no way to say that leader and workers fill slices together. */
  @Example
  void kueue15640_leaderAndWorkersFillTheirSlicesExactly() throws IOException {
    Map<String, Workload> work =
        translate(fixture("kueue15640-a-leader-and-15-workers-fill-four-slices"));
    for (String id : List.of("Workload/team-a/four/all", "LeaderWorkerSet/team-a/led")) {
      Workload four = work.get(id);
      assertThat(four.request().slices()).isEqualTo(4);
      assertThat(four.members()).hasSize(2);
      int pods = 0;
      for (int slice = 0; slice < 4; slice++) {
        int chips = four.members(slice).stream().mapToInt(m -> m.pods() * m.chips()).sum();
        assertThat(chips).isEqualTo(16);
        pods += four.members(slice).stream().mapToInt(Workload.Member::pods).sum();
      }
      assertThat(pods).isEqualTo(16);
      assertThatThrownBy(() -> four.members(4)).isInstanceOf(IndexOutOfBoundsException.class);
    }
    assertThat(work.get("Workload/team-a/one/all").request().slices()).isEqualTo(1);
    assertThat(problems.list()).hasSize(1); // 17 pods are not 16
  }

  /** marin#3402: a job that can never run is to be told so at once. */
  @Example
  void marin3402_whatCanNeverBeFormedIsRefusedWithTheReason() throws IOException {
    assertThat(translate(fixture("job-shapes-that-cannot-be-formed"))).isEmpty();
    assertThat(problems.list()).hasSize(5);
    assertThat(problems.list().get(1).message()).contains("160 cubes").contains("Near it are");
  }

  // ---------------------------------------------------------------- counting

  @Property(tries = 500)
  void aJobSetIsAcceptedExactlyIfItsPodsFillItsSlices(
      @ForAll @IntRange(min = 0, max = 3) int size,
      @ForAll @IntRange(min = 0, max = 40) int pods,
      @ForAll @IntRange(min = 1, max = 5) int replicas,
      @ForAll boolean grouped) {
    String shape = List.of("2x2x1", "2x2x2", "4x4x4", "4x4x8").get(size);
    int hosts = List.of(1, 2, 16, 32).get(size);
    int group = Math.min(hosts, 16);
    String label = size == 3 ? "4x4x4" : shape;
    String yaml =
        """
        apiVersion: jobset.x-k8s.io/v1alpha2
        kind: JobSet
        metadata: {name: js, namespace: a}
        spec:
          replicatedJobs:
          - name: w
            replicas: REPLICAS
            template:
              spec:
                parallelism: PODS
                completions: PODS
                template:
                  metadata:
                    annotations:
                      cloud.google.com/gke-tpu-slice-topology: SHAPE
                GROUPS
                  spec:
                    nodeSelector: {cloud.google.com/gke-tpu-accelerator: tpu7x}
                    containers: [{name: w, resources: {limits: {google.com/tpu: "4"}}}]
        """
            .replace("REPLICAS", "" + replicas)
            .replace("PODS", "" + pods)
            .replace("SHAPE", shape)
            .replace("        GROUPS\n", grouped ? groups(label, group) : "");
    Problems found = new Problems();
    Map<String, Workload> work =
        WorkloadTranslator.translate(
                KubernetesObjects.of(WorkloadFixturesTest.read(yaml)),
                WorkloadFixturesTest.CLUSTER,
                new ReadSettings(true, TenantBy.NAMESPACE),
                found,
                new ArrayList<>())
            .workloads();
    boolean fills = pods == hosts || pods > 0 && pods % hosts == 0 && (grouped || hosts == 1);
    if (pods == 0) {
      assertThat(work).isEmpty();
      assertThat(found.list()).isEmpty();
    } else if (fills) {
      assertThat(found.list()).isEmpty();
      SliceRequest request = work.get("JobSet/a/js/w").request();
      assertThat(request.slices() * hosts).isEqualTo(replicas * pods);
    } else {
      assertThat(work).isEmpty();
      assertThat(found.list()).isNotEmpty();
    }
  }

  private static String groups(String label, int size) {
    String indent = " ".repeat(14);
    return indent
        + TpuLabels.SLICE_REQUIRED_TOPOLOGY
        + ": "
        + TpuLabels.PARTITION_PREFIX
        + label
        + "-id\n"
        + indent
        + TpuLabels.SLICE_SIZE
        + ": \""
        + size
        + "\"\n";
  }

  // ---------------------------------------------------------------- what clients hand in

  @Example
  void typedClassesOfOtherModulesAreReadByKind() throws IOException {
    List<HasMetadata> objects = new ArrayList<>(fixture("pod-single-host"));
    ((Pod) objects.get(0)).getSpec().setPriorityClassName("high");
    objects.add(
        new PriorityClassBuilder()
            .withNewMetadata()
            .withName("high")
            .endMetadata()
            .withValue(77)
            .build());
    assertThat(translate(objects).get("Pod/team-a/serve").request().priority()).isEqualTo(77);
    assertThat(problems.list()).isEmpty();
  }

  @Example
  void emptyObjectsOfEveryClassAreNothing() {
    Job bare = new Job();
    bare.setMetadata(null);
    Job hollow = new JobBuilder().withNewMetadata().withName("x").endMetadata().build();
    Pod pod = new Pod();
    pod.setSpec(null);
    GenericKubernetesResource nameless = new GenericKubernetesResource();
    GenericKubernetesResource jobSet = new GenericKubernetesResource();
    jobSet.setApiVersion("jobset.x-k8s.io/v1alpha2");
    jobSet.setKind("JobSet");
    jobSet.setAdditionalProperties(null);
    assertThat(translate(List.of(bare, hollow, pod, nameless, jobSet))).isEmpty();
    assertThat(problems.list()).isEmpty();
  }

  @Example
  void manyPoolsThatWillNotDoAreForbiddenQuickly() {
    StubDomain[] pools = new StubDomain[3_000];
    for (int i = 0; i < pools.length; i++) {
      pools[i] =
          StubDomain.pool(AcceleratorType.V6E, "p" + i, "4x4").taint("spot", "true", "NoSchedule");
    }
    List<HasMetadata> objects = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      objects.addAll(
          WorkloadFixturesTest.read(
              """
              apiVersion: batch/v1
              kind: Job
              metadata: {name: NAME, namespace: a}
              spec:
                completionMode: Indexed
                completions: 4
                parallelism: 4
                template:
                  spec:
                    nodeSelector:
                      cloud.google.com/gke-tpu-accelerator: tpu-v6e-slice
                      cloud.google.com/gke-tpu-topology: 4x4
                    containers: [{name: w, resources: {limits: {google.com/tpu: "4"}}}]
              """
                  .replace("NAME", "j" + i)));
    }
    Map<String, Workload> work =
        WorkloadTranslator.translate(
                KubernetesObjects.of(objects),
                StubDomains.of(pools),
                new ReadSettings(true, TenantBy.NAMESPACE),
                problems,
                leftOut)
            .workloads();
    assertThat(work).hasSize(300);
    assertThat(work.values())
        .allSatisfy(
            w -> assertThat(w.request().forbiddenLabels().get(TpuLabels.OWN_POD)).hasSize(3_000));
  }

  // ---------------------------------------------------------------- mutations

  /** Any field of any fixture replaced by something else: problems or results, nothing thrown. */
  @Property(tries = 3_000)
  void mutatedObjectsEndInResultsOrProblems(@ForAll Random random) throws IOException {
    List<String> names = WorkloadFixturesTest.fixtures().toList();
    List<HasMetadata> objects = new ArrayList<>();
    for (HasMetadata object : fixture(names.get(random.nextInt(names.size())))) {
      GenericKubernetesResource generic = Generic.of(object);
      Map<String, Object> fields = new LinkedHashMap<>(generic.getAdditionalProperties());
      GenericKubernetesResource mutated = new GenericKubernetesResource();
      mutated.setApiVersion(generic.getApiVersion());
      mutated.setKind(generic.getKind());
      mutated.setMetadata(random.nextInt(20) == 0 ? null : generic.getMetadata());
      fields.replaceAll((key, value) -> mutated(value, random));
      mutated.setAdditionalProperties(fields);
      objects.add(mutated);
    }
    Problems found = new Problems();
    List<LeftOut> out = new ArrayList<>();
    WorkloadTranslator.Translation translation =
        WorkloadTranslator.translate(
            KubernetesObjects.of(objects),
            WorkloadFixturesTest.CLUSTER,
            new ReadSettings(true, TenantBy.QUEUE),
            found,
            out);
    translation
        .workloads()
        .forEach(
            (id, workload) -> {
              assertThat(workload.request().id()).isEqualTo(id);
              for (int slice = 0; slice < Math.min(20, workload.request().slices()); slice++) {
                assertThat(workload.members(slice)).isNotEmpty();
              }
            });
    if (!out.isEmpty()) {
      assertThat(
              found.list().size()
                  + out.stream().filter(o -> o.reason().startsWith("It belongs")).count())
          .isPositive();
    }
  }

  private static Object mutated(Object value, Random random) {
    if (random.nextInt(12) == 0) {
      return Arrays.asList(
              null,
              "",
              "x",
              -1,
              0,
              1.5,
              Long.MAX_VALUE,
              true,
              List.of(),
              Map.of(),
              List.of("a"),
              Map.of("a", 1),
              "4x4x4",
              "2147483648",
              Integer.MAX_VALUE,
              "0x10")
          .get(random.nextInt(16));
    }
    if (value instanceof Map<?, ?> map) {
      Map<Object, Object> copy = new HashMap<>();
      map.forEach((key, inner) -> copy.put(key, mutated(inner, random)));
      return copy;
    }
    if (value instanceof List<?> list) {
      List<Object> copy = new ArrayList<>();
      list.forEach(inner -> copy.add(mutated(inner, random)));
      if (random.nextInt(10) == 0) {
        copy.addAll(list);
        Collections.shuffle(copy, random);
      }
      return copy;
    }
    return value;
  }

  // ---------------------------------------------------------------- what the tests share

  private static List<HasMetadata> fixture(String name) throws IOException {
    return WorkloadFixturesTest.objects(name);
  }

  private Map<String, Workload> translate(List<HasMetadata> objects) {
    return WorkloadTranslator.translate(
            KubernetesObjects.of(objects),
            WorkloadFixturesTest.CLUSTER,
            new ReadSettings(true, TenantBy.NAMESPACE),
            problems,
            leftOut)
        .workloads();
  }

  // ---------------------------------------------------------------- sub-slices

  @Example
  void aSubSliceAskedForByTheSelectorAloneIsAProblemThatSaysHow() throws IOException {
    String yaml =
        """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: small, namespace: a}
        spec:
          completionMode: Indexed
          parallelism: 2
          completions: 2
          template:
            metadata: {annotations: {}}
            spec:
              nodeSelector:
                cloud.google.com/gke-tpu-accelerator: tpu-v6e-slice
                cloud.google.com/gke-tpu-topology: 2x4
              containers: [{name: w, resources: {limits: {google.com/tpu: "4"}}}]
        """;
    List<HasMetadata> objects = new ArrayList<>(ClusterFixtures.subslicing("big", "4x8"));
    objects.addAll(WorkloadFixturesTest.read(yaml));
    Cluster cluster = ClusterReader.builder().lenient(true).build().read(objects);
    assertThat(cluster.requests()).isEmpty();
    assertThat(cluster.problems())
        .singleElement()
        .satisfies(
            problem -> {
              assertThat(problem.path())
                  .isEqualTo(
                      "Job/a/small.spec.template.spec.nodeSelector[" + TpuLabels.TOPOLOGY + "]");
              assertThat(problem.message())
                  .contains("sub-slices of 2x4 in nodepool/big (4x8)")
                  .contains(TpuLabels.SLICE_TOPOLOGY + ": 2x4")
                  .contains(TpuLabels.TOPOLOGY + ": 4x8");
            });

    // As it says, it works; and where a pool has the topology, or none can be cut so, it is silent.
    String asTold =
        yaml.replace("{}", "{cloud.google.com/gke-tpu-slice-topology: 2x4}")
            .replace("topology: 2x4\n", "topology: 4x8\n");
    objects.set(objects.size() - 1, WorkloadFixturesTest.read(asTold).get(0));
    assertThat(ClusterReader.create().read(objects).requests()).hasSize(1);
    List<HasMetadata> own = new ArrayList<>(ClusterFixtures.subslicing("big", "4x8"));
    own.addAll(ClusterFixtures.pool("small", "tpu-v6e-slice", "2x4"));
    own.addAll(WorkloadFixturesTest.read(yaml));
    assertThat(ClusterReader.create().read(own).requests()).hasSize(1);
    List<HasMetadata> uncut = new ArrayList<>(ClusterFixtures.pool("big", "tpu-v6e-slice", "4x8"));
    uncut.addAll(WorkloadFixturesTest.read(yaml));
    assertThat(ClusterReader.create().read(uncut).requests()).hasSize(1);
  }
}
