package dev.slicewright.bench;

import dev.slicewright.kubernetes.Cluster;
import dev.slicewright.kubernetes.ClusterReader;
import dev.slicewright.kubernetes.KubernetesObjects;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.batch.v1.JobBuilder;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * Reads 1,000 workloads into requests: Jobs as a client gives them, JobSets, LeaderWorkerSets and
 * Kueue Workloads as generic resources, with 20 different selectors, beside 50 static pools of four
 * nodes. The cluster is small so that the workloads are most of the time.
 *
 * <pre>mvn -q -Pbench verify -Dbench.args="WorkloadBenchmark"</pre>
 */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MILLISECONDS)
public class WorkloadBenchmark {

  private static final int WORKLOADS = 1_000;
  private static final int POOLS = 50;
  private static final int HOSTS = 4;
  private static final int TEAMS = 20;

  private static final String ACCELERATOR = "cloud.google.com/gke-tpu-accelerator";
  private static final String TOPOLOGY = "cloud.google.com/gke-tpu-topology";

  private ClusterReader reader;
  private KubernetesObjects objects;

  /** Makes the objects. */
  @Setup
  public void setUp() {
    List<HasMetadata> all = new ArrayList<>();
    for (int pool = 0; pool < POOLS; pool++) {
      for (int host = 0; host < HOSTS; host++) {
        all.add(node(pool, host));
      }
    }
    all.addAll(workloads(WORKLOADS));
    objects = KubernetesObjects.of(all);
    reader = ClusterReader.create();
  }

  /** Translates them. */
  @Benchmark
  public Cluster read() {
    return reader.read(objects);
  }

  static List<HasMetadata> workloads(int count) {
    List<HasMetadata> work = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      work.add(
          switch (i % 10) {
            case 0, 1, 2, 3 -> job(i);
            case 4, 5, 6 -> jobSet(i);
            case 7 -> leaderWorkerSet(i);
            default -> workload(i);
          });
    }
    return work;
  }

  private static Node node(int pool, int host) {
    return new NodeBuilder()
        .withNewMetadata()
        .withName("pool-" + pool + "-" + host)
        .addToLabels(ACCELERATOR, "tpu-v6e-slice")
        .addToLabels(TOPOLOGY, "4x4")
        .addToLabels("cloud.google.com/gke-nodepool", "pool-" + pool)
        .addToLabels("kubernetes.io/hostname", "pool-" + pool + "-" + host)
        .addToLabels("team", "t" + pool % TEAMS)
        .endMetadata()
        .withNewStatus()
        .addToAllocatable("google.com/tpu", new Quantity("4"))
        .endStatus()
        .build();
  }

  private static HasMetadata job(int i) {
    return new JobBuilder()
        .withNewMetadata()
        .withNamespace("team-" + i % TEAMS)
        .withName("job-" + i)
        .addToLabels("kueue.x-k8s.io/queue-name", "q")
        .endMetadata()
        .withNewSpec()
        .withCompletionMode("Indexed")
        .withParallelism(HOSTS)
        .withCompletions(HOSTS)
        .withNewTemplate()
        .withNewSpec()
        .addToNodeSelector(ACCELERATOR, "tpu-v6e-slice")
        .addToNodeSelector(TOPOLOGY, "4x4")
        .addToNodeSelector("team", "t" + i % TEAMS)
        .addNewContainer()
        .withName("w")
        .withNewResources()
        .addToLimits("google.com/tpu", new Quantity("4"))
        .endResources()
        .endContainer()
        .endSpec()
        .endTemplate()
        .endSpec()
        .build();
  }

  private static HasMetadata jobSet(int i) {
    return resource(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        i,
        Map.of(
            "replicatedJobs",
            List.of(
                Map.of(
                    "name",
                    "driver",
                    "template",
                    Map.of("spec", Map.of("template", Map.of("spec", Map.of())))),
                Map.of(
                    "name",
                    "slice",
                    "replicas",
                    2,
                    "template",
                    Map.of(
                        "spec",
                        Map.of(
                            "parallelism", HOSTS, "completions", HOSTS, "template", pods(i)))))));
  }

  private static HasMetadata leaderWorkerSet(int i) {
    return resource(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        i,
        Map.of(
            "replicas",
            2,
            "leaderWorkerTemplate",
            Map.of("size", HOSTS, "workerTemplate", pods(i))));
  }

  private static HasMetadata workload(int i) {
    return resource(
        "kueue.x-k8s.io/v1beta2",
        "Workload",
        i,
        Map.of(
            "queueName",
            "q",
            "priority",
            i,
            "podSets",
            List.of(Map.of("name", "main", "count", HOSTS, "template", pods(i)))));
  }

  private static Map<String, Object> pods(int i) {
    Map<String, Object> affinity =
        Map.of(
            "nodeAffinity",
            Map.of(
                "requiredDuringSchedulingIgnoredDuringExecution",
                Map.of(
                    "nodeSelectorTerms",
                    List.of(
                        Map.of(
                            "matchExpressions",
                            List.of(
                                Map.of(
                                    "key", "team",
                                    "operator", "NotIn",
                                    "values", List.of("t" + i % TEAMS))))))));
    return Map.of(
        "spec",
        Map.of(
            "nodeSelector",
            Map.of(ACCELERATOR, "tpu-v6e-slice", TOPOLOGY, "4x4"),
            "affinity",
            affinity,
            "containers",
            List.of(
                Map.of(
                    "name", "w", "resources", Map.of("limits", Map.of("google.com/tpu", "4"))))));
  }

  private static GenericKubernetesResource resource(
      String apiVersion, String kind, int i, Map<String, Object> spec) {
    GenericKubernetesResource resource = new GenericKubernetesResource();
    resource.setApiVersion(apiVersion);
    resource.setKind(kind);
    resource.setMetadata(
        new ObjectMetaBuilder()
            .withNamespace("team-" + i % TEAMS)
            .withName(kind.toLowerCase(Locale.ROOT) + "-" + i)
            .build());
    resource.setAdditionalProperties(new LinkedHashMap<>(Map.of("spec", spec)));
    return resource;
  }
}
