package dev.slicewright.kubernetes;

import static dev.slicewright.kubernetes.PlanCase.tree;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.SolveBudget;
import dev.slicewright.plan.Plan;
import dev.slicewright.solve.SlicePlanner;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

/**
 * Whole small clusters with damaged fields and damaged bytes: whatever the damage, they end in a
 * cluster or in listed problems, and what is sound is planned and read back. For more of it, {@code
 * -Dfuzz.inputs=1000000 -Dfuzz.seed=7}.
 */
class ClusterFuzzTest {

  private static final int INPUTS = Integer.getInteger("fuzz.inputs", 12_000);
  private static final int PLANNED = 50; // one of so many
  private static final ClusterReader LENIENT = ClusterReader.builder().lenient(true).build();
  private static final ClusterReader STRICT = ClusterReader.create();
  private static final SlicePlanner PLANNER =
      SlicePlanner.builder().failOnRejectedPlan(true).build();
  private static final SolveBudget BUDGET =
      SolveBudget.builder().deadline(Duration.ofMillis(5)).workers(1).build();
  private static final JsonMapper JSON = new JsonMapper();

  private static final Object[] VALUES = {
    null,
    "",
    "0",
    "-4",
    "4",
    "2.5",
    "3500m",
    "4Gi",
    "1e30",
    0,
    1,
    3,
    -1,
    2.5,
    1e300,
    Integer.MAX_VALUE,
    Long.MIN_VALUE,
    true,
    "true",
    "False",
    "Unknown",
    List.of(),
    Map.of(),
    List.of("x"),
    Map.of("key", "value"),
    "4x4x4",
    "2x2x1",
    "4X4",
    "8x4x4",
    "2x2",
    "1x1",
    "-2x2x1",
    "99999x99999x99999",
    "0x0x0",
    "HEALTHY",
    "UNHEALTHY",
    "odd",
    "tpu7x",
    "tpu-v6e-slice",
    "tpu-v5p-slice",
    "ACTIVE",
    "FAILED",
    "DEACTIVATING",
    "Running",
    "Succeeded",
    "In",
    "NotIn",
    "DoesNotExist",
    "Gt",
    "NoExecute",
    "2026-01-01T00:00:00Z",
    "yesterday",
    "a-c0",
    "a-c0-q1",
    "a-0-3",
    "sub-0",
    "v5p-0",
    "one-1",
    "x".repeat(300),
    "ünïcode \u0000",
  };

  private static final String[] KEYS = {
    "cloud.google.com/gke-tpu-accelerator",
    "cloud.google.com/gke-tpu-topology",
    "cloud.google.com/gce-topology-block",
    "cloud.google.com/gke-nodepool",
    "cloud.google.com/gke-tpu-slice",
    "cloud.google.com/gke-tpu-slice-topology",
    "cloud.google.com/gke-tpu-partition-4x4x4-id",
    "cloud.google.com/gke-tpu-partition-2x2x2-id",
    "cloud.google.com/gke-tpu-partition-2x2x2-state",
    "cloud.google.com/gke-tpu-partition-3x5x7-id",
    "cloud.google.com/gke-tpu-slice-2x4-id",
    "kubernetes.io/hostname",
    "google.com/tpu",
    "deletionTimestamp",
    "nodeName",
    "suspend",
    "unschedulable",
    "parallelism",
    "slicewright.dev/request",
    "name",
  };

  /** A small cluster: each object as a tree, and as what it is read as. */
  private record Seed(List<Object> trees, List<HasMetadata> objects) {}

  private static Seed seed(List<HasMetadata> objects) {
    List<Object> trees = new ArrayList<>();
    for (HasMetadata object : objects) {
      trees.add(JSON.convertValue(object, Object.class));
    }
    return new Seed(trees, List.copyOf(objects));
  }

  // ---------------------------------------------------------------- clusters

  private static List<Seed> seeds() {
    return List.of(seed(block()), seed(subslices()), seed(pools()), seed(singles()), seed(mixed()));
  }

  private static List<HasMetadata> block() {
    List<HasMetadata> objects = new ArrayList<>(ClusterFixtures.block("a", 1));
    objects.add(ClusterFixtures.slice("s1", "2x2x2", "ACTIVE", List.of("a-c0-e0")));
    objects.add(ClusterFixtures.slice("s2", "2x2x4", "FAILED", List.of("a-c0-q2")));
    Job job = ClusterFixtures.job("team", "train", "tpu7x", "2x2x2", 5);
    job.getSpec().getTemplate().getSpec().getNodeSelector().put(TpuLabels.SLICE, "s1");
    objects.add(job);
    objects.add(ClusterFixtures.podOf(job, 0, "a-0-0"));
    objects.add(ClusterFixtures.podOf(job, 1, "a-0-1"));
    objects.add(ClusterFixtures.job("team", "next", "tpu7x", "2x2x4", 1));
    objects.add(jobSet("tpu7x", "2x2x1"));
    objects.add(hold("h", "Job/team/next", "block/a"));
    return objects;
  }

  private static HasMetadata hold(String name, String request, String pod) {
    return new io.fabric8.kubernetes.api.model.ConfigMapBuilder()
        .withNewMetadata()
        .withNamespace("system")
        .withName(name)
        .addToLabels(TpuLabels.OWN_HOLD, "true")
        .endMetadata()
        .addToData("id", name)
        .addToData("request", request)
        .addToData("pod", pod)
        .addToData("topology", "2x2x4")
        .addToData("expiry", "2099-01-01T00:00:00Z")
        .addToData("partitionIds", "a-c0-q3")
        .build();
  }

  private static List<HasMetadata> subslices() {
    List<HasMetadata> objects = new ArrayList<>(ClusterFixtures.subslicing("sub", "4x4"));
    Job job = ClusterFixtures.job("team", "run", "tpu-v6e-slice", "2x4", 5);
    job.getSpec().getTemplate().getSpec().getNodeSelector().put(TpuLabels.TOPOLOGY, "4x4");
    job.getSpec()
        .getTemplate()
        .getMetadata()
        .setAnnotations(new LinkedHashMap<>(Map.of(TpuLabels.SLICE_TOPOLOGY, "2x4")));
    objects.add(job);
    objects.add(ClusterFixtures.podOf(job, 0, "sub-0"));
    objects.add(ClusterFixtures.podOf(job, 1, "sub-1"));
    objects.add(workload("v1beta1", "tpu-v6e-slice", "2x4", 2, "sub-2", "sub-3"));
    return objects;
  }

  private static List<HasMetadata> pools() {
    List<HasMetadata> objects =
        new ArrayList<>(ClusterFixtures.pool("v5p", "tpu-v5p-slice", "2x2x2"));
    objects.addAll(ClusterFixtures.pool("v5q", "tpu-v5p-slice", "2x2x2"));
    objects.add(jobSet("tpu-v5p-slice", "2x2x2"));
    objects.add(workload("v1beta2", "tpu-v5p-slice", "2x2x2", 2, "v5p-0", "v5p-1"));
    return objects;
  }

  private static List<HasMetadata> singles() {
    List<HasMetadata> objects = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      objects.add(ClusterFixtures.single("one-" + i, "one", "tpu-v5-lite-podslice", "2x2", 4));
    }
    Job job = ClusterFixtures.job("team", "tiny", "tpu-v5-lite-podslice", "2x2", 0);
    objects.add(job);
    objects.add(ClusterFixtures.podOf(job, 0, "one-1"));
    objects.add(ClusterFixtures.daemon("agent", "one-0"));
    objects.add(leaderWorkerSet());
    return objects;
  }

  private static List<HasMetadata> mixed() {
    List<HasMetadata> objects = subslices();
    objects.addAll(pools().subList(0, 4));
    objects.addAll(singles());
    objects.add(ClusterFixtures.plain("cpu"));
    return objects;
  }

  private static Map<String, Object> template(String accelerator, String shape) {
    Map<String, Object> selector = tree(TpuLabels.ACCELERATOR, accelerator);
    boolean annotated = accelerator.equals("tpu7x") || shape.equals("2x4");
    if (!annotated) {
      selector.put(TpuLabels.TOPOLOGY, shape);
    }
    return tree(
        "metadata",
        tree("annotations", annotated ? tree(TpuLabels.SLICE_TOPOLOGY, shape) : tree()),
        "spec",
        tree(
            "nodeSelector",
            selector,
            "tolerations",
            List.of(tree("key", "example.com/t", "operator", "Exists")),
            "affinity",
            affinity(),
            "containers",
            List.of(tree("name", "w", "resources", tree("limits", tree("google.com/tpu", "4"))))));
  }

  private static Map<String, Object> affinity() {
    Map<String, Object> term =
        tree(
            "matchExpressions",
            List.of(
                tree("key", TpuLabels.NODE_POOL, "operator", "NotIn", "values", List.of("other"))));
    return tree(
        "nodeAffinity",
        tree(
            "requiredDuringSchedulingIgnoredDuringExecution",
            tree("nodeSelectorTerms", List.of(term))));
  }

  private static HasMetadata named(HasMetadata object) {
    object.getMetadata().setNamespace("team");
    return object;
  }

  private static HasMetadata jobSet(String accelerator, String shape) {
    int pods = (int) dev.slicewright.topology.Shape.parse(shape).chips() / 4;
    return named(
        PlanCase.generic(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            "multi",
            tree(
                "spec",
                tree(
                    "replicatedJobs",
                    List.of(
                        tree(
                            "name",
                            "w",
                            "replicas",
                            2,
                            "template",
                            tree(
                                "spec",
                                tree(
                                    "parallelism",
                                    pods,
                                    "completions",
                                    pods,
                                    "completionMode",
                                    "Indexed",
                                    "template",
                                    template(accelerator, shape)))))))));
  }

  private static HasMetadata leaderWorkerSet() {
    return named(
        PlanCase.generic(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            "serve",
            tree(
                "spec",
                tree(
                    "replicas",
                    2,
                    "leaderWorkerTemplate",
                    tree("size", 1, "workerTemplate", template("tpu-v5-lite-podslice", "2x2"))))));
  }

  private static HasMetadata workload(
      String version, String accelerator, String shape, int pods, String... nodes) {
    List<TopologyAssignment.Domain> domains = new ArrayList<>();
    for (String node : nodes) {
      domains.add(new TopologyAssignment.Domain(List.of(node), 1));
    }
    TopologyAssignment assignment = new TopologyAssignment(List.of(TpuLabels.HOSTNAME), domains);
    return named(
        PlanCase.generic(
            "kueue.x-k8s.io/" + version,
            "Workload",
            "admitted",
            tree(
                "spec",
                tree(
                    "podSets",
                    List.of(
                        tree(
                            "name",
                            "main",
                            "count",
                            pods,
                            "template",
                            template(accelerator, shape)))),
                "status",
                tree(
                    "admission",
                    tree(
                        "podSetAssignments",
                        List.of(
                            tree(
                                "name",
                                "main",
                                "topologyAssignment",
                                version.equals("v1beta1")
                                    ? assignment.toV1Beta1()
                                    : assignment.toV1Beta2()))),
                    "conditions",
                    List.of(tree("type", "Admitted", "status", "True"))))));
  }

  // ---------------------------------------------------------------- the test

  @Test
  void theSeedsAreSound() {
    for (Seed seed : seeds()) {
      assertThat(LENIENT.read(seed.objects).problems()).isEmpty();
    }
  }

  @Test
  void everyClusterEndsInAClusterOrInListedProblems() {
    List<Seed> seeds = seeds();
    SplittableRandom all = new SplittableRandom(Long.getLong("fuzz.seed", 20_260_102));
    int sound = 0;
    int planned = 0;
    for (int i = 0; i < INPUTS; i++) {
      SplittableRandom one = all.split();
      Seed seed = seeds.get(one.nextInt(seeds.size()));
      List<Integer> left = new ArrayList<>();
      for (int n = 0; n < seed.objects.size(); n++) {
        left.add(n);
      }
      List<byte[]> texts = new ArrayList<>();
      KubernetesObjects read = KubernetesObjects.empty();
      try {
        for (int damages = 1 + one.nextInt(3); damages > 0 && !left.isEmpty(); damages--) {
          int at = one.nextInt(left.size());
          Object tree = seed.trees.get(left.remove(at));
          byte[] text = JSON.writeValueAsBytes(damaged(tree, seed, one));
          if (one.nextInt(8) == 0) {
            text = ManifestFuzzTest.damaged(text, List.of(text), one);
          }
          texts.add(text);
          read = read.plus(ManifestReader.create().read(text));
        }
        KubernetesObjects given =
            KubernetesObjects.of(left.stream().map(seed.objects::get).toList()).plus(read);
        Cluster cluster = check(given);
        sound += cluster.problems().isEmpty() ? 1 : 0;
        if (i % PLANNED == 0) {
          planned += plan(cluster);
        }
      } catch (Throwable e) {
        StringBuilder message = new StringBuilder("input " + i);
        texts.forEach(t -> message.append('\n').append(new String(t, StandardCharsets.UTF_8)));
        throw new AssertionError(message.toString(), e);
      }
    }
    // The damage is neither so small that nothing is wrong nor so large that nothing is planned.
    assertThat(sound).isBetween(INPUTS / 20, INPUTS * 19 / 20);
    assertThat(planned).isGreaterThan(INPUTS / PLANNED / 10);
  }

  /** Lenient and strict reading agree. */
  static Cluster check(KubernetesObjects given) {
    Cluster cluster = LENIENT.read(given);
    for (Problem problem : cluster.problems()) {
      assertThat(problem.path()).as("%s", problem).isNotBlank();
      assertThat(problem.message()).as("%s", problem).isNotBlank();
    }
    if (cluster.problems().isEmpty()) {
      Cluster strict = STRICT.read(given);
      assertThat(strict.fleet()).isEqualTo(cluster.fleet());
      assertThat(strict.requests()).isEqualTo(cluster.requests());
    } else {
      InvalidInputException e =
          catchThrowableOfType(InvalidInputException.class, () -> STRICT.read(given));
      assertThat(e).isNotNull();
      assertThat(e.problems()).isEqualTo(cluster.problems());
    }
    return cluster;
  }

  /** Plans what is sound and reads back what comes out. */
  static int plan(Cluster cluster) {
    Plan plan = PLANNER.plan(cluster.fleet(), cluster.requests(), BUDGET);
    ClusterPlan told = ClusterPlan.of(cluster, plan);
    List<HasMetadata> slices = new ArrayList<>();
    for (SliceManifest slice : told.slices()) {
      GenericKubernetesResource resource = slice.toResource();
      assertThat(SliceRules.check(resource)).isEmpty();
      slices.add(resource);
    }
    KubernetesObjects back = ManifestReader.create().read(ManifestWriter.toYaml(slices));
    assertThat(back.problems()).isEmpty();
    assertThat(back.all()).isEqualTo(slices);
    told.steps();
    told.patches();
    told.podsToNodes();
    told.topologyAssignments();
    told.events(Instant.EPOCH);
    return plan.placements().isEmpty() ? 0 : 1;
  }

  // ---------------------------------------------------------------- damage

  /** A slot of a tree: a key of a map, or a place in a list. */
  private record Slot(Object container, Object key) {
    @SuppressWarnings("unchecked")
    void set(Object value) {
      if (container instanceof List<?> list) {
        ((List<Object>) list).set((Integer) key, value);
      } else {
        ((Map<String, Object>) container).put((String) key, value);
      }
    }

    Object get() {
      return container instanceof List<?> list
          ? list.get((Integer) key)
          : ((Map<?, ?>) container).get(key);
    }
  }

  private static Object damaged(Object given, Seed seed, SplittableRandom random) {
    Object tree = copy(given);
    for (int changes = 1 + random.nextInt(2); changes > 0; changes--) {
      List<Slot> slots = new ArrayList<>();
      slots(tree, slots);
      if (slots.isEmpty()) {
        return tree;
      }
      Slot slot = slots.get(random.nextInt(slots.size()));
      switch (random.nextInt(8)) {
        case 0, 1 -> slot.set(copy(VALUES[random.nextInt(VALUES.length)]));
        case 2 -> remove(slot);
        case 3, 4 -> {
          // What another object has there: ids swapped, names doubled.
          List<Slot> others = new ArrayList<>();
          slots(seed.trees.get(random.nextInt(seed.trees.size())), others);
          List<Slot> alike = others.stream().filter(o -> o.key.equals(slot.key)).toList();
          if (!alike.isEmpty()) {
            slot.set(copy(alike.get(random.nextInt(alike.size())).get()));
          }
        }
        case 5 -> {
          if (slot.container instanceof Map<?, ?>) {
            Object value = slot.get();
            remove(slot);
            new Slot(slot.container, KEYS[random.nextInt(KEYS.length)]).set(value);
          }
        }
        case 6 -> slot.set(copy(slots.get(random.nextInt(slots.size())).get()));
        default -> {
          if (slot.container instanceof Map<?, ?>) {
            new Slot(slot.container, KEYS[random.nextInt(KEYS.length)])
                .set(copy(VALUES[random.nextInt(VALUES.length)]));
          } else if (slot.container instanceof List<?> list) {
            addTo(list, copy(slot.get()));
          }
        }
      }
    }
    return tree;
  }

  @SuppressWarnings("unchecked")
  private static void addTo(List<?> list, Object value) {
    ((List<Object>) list).add(value);
  }

  private static void remove(Slot slot) {
    if (slot.container instanceof List<?> list) {
      list.remove((int) (Integer) slot.key);
    } else {
      ((Map<?, ?>) slot.container).remove(slot.key);
    }
  }

  private static void slots(Object tree, List<Slot> into) {
    if (tree instanceof Map<?, ?> map) {
      map.forEach(
          (key, value) -> {
            into.add(new Slot(map, key));
            slots(value, into);
          });
    } else if (tree instanceof List<?> list) {
      for (int i = 0; i < list.size(); i++) {
        into.add(new Slot(list, i));
        slots(list.get(i), into);
      }
    }
  }

  private static Object copy(Object tree) {
    if (tree instanceof Map<?, ?> map) {
      Map<String, Object> copy = new LinkedHashMap<>();
      map.forEach((key, value) -> copy.put((String) key, copy(value)));
      return copy;
    }
    if (tree instanceof List<?> list) {
      List<Object> copy = new ArrayList<>();
      list.forEach(value -> copy.add(copy(value)));
      return copy;
    }
    return tree;
  }
}
