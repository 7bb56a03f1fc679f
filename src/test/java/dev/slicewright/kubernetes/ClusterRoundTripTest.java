package dev.slicewright.kubernetes;

import static dev.slicewright.kubernetes.PlanCase.tree;
import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SliceId;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Rollout;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * What is emitted reads back as the same plan: the objects of a cluster in which a plan has been
 * carried out are read, and the fleet is that which the plan gives.
 */
class ClusterRoundTripTest {

  private static final PlanningRules MAY_DO_ALL =
      PlanningRules.builder().permitByDefault(Permission.ANY).build();

  private static final SlicePlanner PLANNER =
      SlicePlanner.builder().failOnRejectedPlan(true).build();

  // ---------------------------------------------------------------- the oracle

  /** What a running slice is, as far as objects say. */
  private record Running(SliceId id, SliceRequest request, String pod, Shape shape, Object chips) {}

  private static List<Running> running(Fleet fleet, Cluster before) {
    PlanPlaces places =
        new PlanPlaces(before, Plan.builder(before.fleet().version(), PlanningRules.NONE).build());
    Map<SliceId, Running> all = new TreeMap<>();
    for (RunningSlice slice : fleet.running()) {
      SliceId id = places.idOf(slice.id());
      all.put(
          id,
          new Running(
              id,
              places.whole(slice.request()),
              slice.pod(),
              slice.shape().sorted(),
              slice.footprint()));
    }
    return List.copyOf(all.values());
  }

  static Cluster check(CarriedOut objects, Cluster cluster, Plan plan) {
    ClusterPlan told = ClusterPlan.of(cluster, plan);
    Cluster after = objects.carryOut(told).read();

    assertThat(running(after.fleet(), after))
        .as("%s", told.steps())
        .isEqualTo(running(plan.applyTo(cluster.fleet()), cluster));
    TreeSet<String> waiting = new TreeSet<>();
    plan.unplaced().stream().map(Unplaced::request).forEach(waiting::add);
    plan.evictions().stream().map(Eviction::request).forEach(waiting::add);
    cluster.requests().stream()
        .map(SliceRequest::id)
        .filter(id -> plan.placement(id).isEmpty())
        .forEach(waiting::add);
    assertThat(after.requests().stream().map(SliceRequest::id)).containsExactlyElementsOf(waiting);
    Plan nothing = PLANNER.plan(after.fleet(), List.of(), PlanCase.BUDGET);
    assertThat(ClusterPlan.of(after, nothing).steps()).as("all is done").isEmpty();
    return after;
  }

  private static Cluster plan(CarriedOut objects, PlanningRules rules) {
    Cluster cluster = objects.read();
    return check(
        objects,
        cluster,
        PLANNER.plan(cluster.fleet(), cluster.requests(), rules, PlanCase.BUDGET));
  }

  private static Cluster repair(CarriedOut objects) {
    Cluster cluster = objects.read();
    return check(objects, cluster, PLANNER.repair(cluster.fleet(), MAY_DO_ALL, PlanCase.BUDGET));
  }

  // ---------------------------------------------------------------- clusters and work

  private static List<HasMetadata> nodes() {
    List<HasMetadata> objects = new ArrayList<>();
    objects.addAll(ClusterFixtures.block("a", 6));
    objects.addAll(ClusterFixtures.block("b", 3));
    objects.addAll(ClusterFixtures.subslicing("sub", "8x8"));
    objects.addAll(ClusterFixtures.pool("p1", "tpu-v6e-slice", "4x4"));
    objects.addAll(ClusterFixtures.pool("p2", "tpu-v6e-slice", "4x4"));
    return objects;
  }

  private static Map<String, Object> template(String accelerator, String shape) {
    boolean dynamic = accelerator.equals("tpu7x");
    boolean part = shape.equals("2x4") || shape.equals("4x8");
    Map<String, Object> selector = tree("cloud.google.com/gke-tpu-accelerator", accelerator);
    if (!dynamic) {
      selector.put("cloud.google.com/gke-tpu-topology", part ? "8x8" : shape);
    }
    return tree(
        "metadata",
        tree(
            "annotations",
            dynamic || part ? tree("cloud.google.com/gke-tpu-slice-topology", shape) : tree()),
        "spec",
        tree(
            "nodeSelector",
            selector,
            "containers",
            List.of(tree("name", "w", "resources", tree("limits", tree("google.com/tpu", "4"))))));
  }

  private static Map<String, Object> jobSpec(String accelerator, String shape) {
    int pods = (int) Shape.parse(shape).chips() / 4;
    return tree(
        "completions",
        pods,
        "parallelism",
        pods,
        "completionMode",
        "Indexed",
        "template",
        template(accelerator, shape));
  }

  private static HasMetadata job(String name, String accelerator, String shape, int priority) {
    Map<String, Object> spec = jobSpec(accelerator, shape);
    spec.put("suspend", true);
    @SuppressWarnings("unchecked")
    Map<String, Object> pods = (Map<String, Object>) PlanCase.at(spec, "template", "spec");
    pods.put("priority", priority);
    return PlanCase.generic("batch/v1", "Job", name, tree("spec", spec));
  }

  private static HasMetadata jobSet(
      String name, String accelerator, String shape, int replicas, String... jobs) {
    List<Object> replicated = new ArrayList<>();
    for (String job : jobs) {
      replicated.add(
          tree(
              "name",
              job,
              "replicas",
              replicas,
              "template",
              tree("spec", jobSpec(accelerator, shape))));
    }
    return PlanCase.generic(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        name,
        tree("spec", tree("suspend", true, "replicatedJobs", replicated)));
  }

  private static HasMetadata leaderWorkerSet(String name, String shape, int groups) {
    return PlanCase.generic(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        name,
        tree(
            "spec",
            tree(
                "replicas",
                groups,
                "leaderWorkerTemplate",
                tree(
                    "size",
                    (int) Shape.parse(shape).chips() / 4,
                    "leaderTemplate",
                    template("tpu7x", shape),
                    "workerTemplate",
                    template("tpu7x", shape)))));
  }

  private static HasMetadata pod(String name) {
    return new PodBuilder()
        .withNewMetadata()
        .withNamespace("team-a")
        .withName(name)
        .addToAnnotations("cloud.google.com/gke-tpu-slice-topology", "2x2x1")
        .endMetadata()
        .withNewSpec()
        .addToNodeSelector("cloud.google.com/gke-tpu-accelerator", "tpu7x")
        .addNewContainer()
        .withName("w")
        .withNewResources()
        .addToLimits("google.com/tpu", new Quantity("4"))
        .endResources()
        .endContainer()
        .endSpec()
        .build();
  }

  private static HasMetadata kueue(String name, String shape) {
    return PlanCase.generic(
        "kueue.x-k8s.io/v1beta1",
        "Workload",
        name,
        tree(
            "spec",
            tree(
                "podSets",
                List.of(
                    tree(
                        "name",
                        "main",
                        "count",
                        (int) Shape.parse(shape).chips() / 4,
                        "template",
                        template("tpu7x", shape))))));
  }

  private static void fail(CarriedOut objects, String node) {
    for (HasMetadata object : objects.objects()) {
      if (object instanceof Node n && n.getMetadata().getName().equals(node)) {
        ClusterFixtures.ready(n, "False");
      }
    }
  }

  // ---------------------------------------------------------------- tests

  @Test
  void everyKindOfWorkReadsBackWhereItWasPlaced() {
    List<HasMetadata> objects = nodes();
    objects.add(job("train", "tpu7x", "4x4x8", 0));
    objects.add(job("eval", "tpu7x", "2x2x4", 0));
    objects.add(job("sub", "tpu-v6e-slice", "2x4", 0));
    objects.add(job("pool", "tpu-v6e-slice", "4x4", 0));
    objects.add(jobSet("ms", "tpu7x", "4x4x4", 2, "w"));
    objects.add(jobSet("rl", "tpu7x", "2x4x4", 1, "actor", "learner"));
    objects.add(leaderWorkerSet("serve", "2x2x2", 2));
    objects.add(pod("note"));
    objects.add(kueue("wl", "4x4x4"));
    CarriedOut carried = new CarriedOut(objects);

    Cluster after = plan(carried, PlanningRules.NONE);

    assertThat(after.requests()).isEmpty();
    assertThat(after.fleet().running()).hasSize(12);
  }

  @Test
  void aRepairReadsBack() {
    List<HasMetadata> objects = nodes();
    objects.add(job("train", "tpu7x", "4x4x8", 0));
    objects.add(jobSet("ms", "tpu7x", "4x4x4", 2, "w"));
    objects.add(job("sub", "tpu-v6e-slice", "4x8", 0));
    objects.add(leaderWorkerSet("serve", "2x2x2", 1));
    objects.add(pod("note"));
    CarriedOut carried = new CarriedOut(objects);
    Cluster before = plan(carried, PlanningRules.NONE);
    for (RunningSlice slice : before.fleet().running()) {
      Domain domain = before.domains().domain(slice.pod()).orElseThrow();
      fail(
          carried,
          domain
              .nodes()
              .get(domain.topology().workerHosts(slice.shape(), slice.footprint()).get(0).index()));
    }

    Cluster after = repair(carried);

    assertThat(after.fleet().running()).hasSize(6);
    assertThat(running(after.fleet(), after))
        .doesNotContainAnyElementsOf(running(before.fleet(), before));
  }

  @Test
  void theRestOfAMultisliceJoinsTheSlicesThatRun() {
    List<HasMetadata> objects = nodes();
    objects.add(jobSet("ms", "tpu7x", "4x4x4", 3, "w"));
    CarriedOut carried = new CarriedOut(objects);
    Cluster whole = plan(carried, PlanningRules.NONE);
    String lost =
        whole.slices().stream()
            .filter(s -> "1".equals(s.annotations().get("slicewright.dev/slice-index")))
            .findFirst()
            .orElseThrow()
            .name();
    carried.lose(lost);
    assertThat(carried.read().requests().get(0).id()).isEqualTo("JobSet/team-a/ms/w#rest");

    Cluster after = plan(carried, PlanningRules.NONE);

    assertThat(running(after.fleet(), after)).hasSize(3);
    assertThat(after.slices().stream().map(s -> s.annotations().get("slicewright.dev/slice-index")))
        .containsExactlyInAnyOrder("0", "1", "2");
  }

  @Test
  void holdsOfWhatIsToBeCreatedReadBack() {
    List<HasMetadata> objects = nodes();
    objects.add(job("train", "tpu7x", "4x4x8", 0));
    objects.add(job("eval", "tpu7x", "2x2x4", 0));
    objects.add(job("sub", "tpu-v6e-slice", "2x4", 0));
    objects.add(job("pool", "tpu-v6e-slice", "4x4", 0));
    Cluster cluster = ClusterReader.create().read(objects);
    Plan plan = PLANNER.plan(cluster.fleet(), cluster.requests(), PlanCase.BUDGET);
    Instant expiry = Instant.parse("2026-03-01T12:00:00Z");

    objects.addAll(ClusterPlan.of(cluster, plan).holds("team-a", expiry));

    Fleet held = ClusterReader.create().read(objects).fleet();
    assertThat(held.holds()).hasSize(4);
    assertThat(held.holds())
        .containsExactlyInAnyOrderElementsOf(Rollout.of(cluster.fleet(), plan).holds(expiry));
    // What is held is where the next plan puts it.
    Plan again = PLANNER.plan(held, cluster.requests(), PlanCase.BUDGET);
    assertThat(again.placements()).isEqualTo(plan.placements());
  }

  @Test
  void theRoomThatAPlanMakesIsHeldToo() {
    List<HasMetadata> objects = new ArrayList<>(ClusterFixtures.block("a", 4));
    Cluster cluster = ClusterReader.create().read(objects);
    SliceRequest like = SliceRequest.builder("later").shape("4x4x8").build();
    PlanningRules rules = PlanningRules.builder().room(like, 1).build();
    Plan plan = PLANNER.plan(cluster.fleet(), List.of(), rules, PlanCase.BUDGET);
    assertThat(plan.room()).hasSize(1);
    Instant expiry = Instant.parse("2026-03-01T12:00:00Z");

    objects.addAll(ClusterPlan.of(cluster, plan).holds("team-a", expiry));

    assertThat(ClusterReader.create().read(objects).fleet().holds())
        .containsExactlyElementsOf(plan.holdRoom(cluster.fleet(), expiry).holds());
  }

  @Test
  void manifestsReadBackAsText() {
    List<HasMetadata> objects = nodes();
    objects.add(job("train", "tpu7x", "4x4x8", 0));
    objects.add(jobSet("ms", "tpu7x", "4x4x4", 2, "w"));
    Cluster cluster = ClusterReader.create().read(objects);
    ClusterPlan told =
        ClusterPlan.of(cluster, PLANNER.plan(cluster.fleet(), cluster.requests(), PlanCase.BUDGET));

    KubernetesObjects read = ManifestReader.create().read(ManifestWriter.toYaml(told.manifests()));

    assertThat(read.problems()).isEmpty();
    assertThat(read.all().stream().map(object -> ObjectRef.of(object).kind()))
        .containsExactly("Slice", "Slice", "Slice", "Job", "JobSet");
    assertThat(read.all().stream().map(WorkloadPatches::tree))
        .isEqualTo(told.manifests().stream().map(WorkloadPatches::tree).toList());
    List<HasMetadata> applied = new ArrayList<>(nodes());
    applied.addAll(read.all());
    Cluster after = ClusterReader.create().read(applied);
    assertThat(after.slices()).containsExactlyInAnyOrderElementsOf(told.slices());
    assertThat(after.workloads().stream().map(Workload::request))
        .as("bound, they ask for what they asked for")
        .isEqualTo(cluster.workloads().stream().map(Workload::request).toList());
  }

  @Test
  void randomClustersReadBackThroughPlansPreemptionAndRepair() {
    int moved = 0;
    int evicted = 0;
    for (int seed = 0; seed < 40; seed++) {
      Random random = new Random(seed);
      List<HasMetadata> objects = nodes();
      String[] shapes = {"2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8"};
      for (int i = 0; i < 6; i++) {
        String shape = shapes[random.nextInt(shapes.length)];
        objects.add(
            switch (random.nextInt(6)) {
              case 0 -> jobSet("set-" + i, "tpu7x", shape, 1 + random.nextInt(2), "a");
              case 1 ->
                  random.nextBoolean()
                      ? jobSet("set-" + i, "tpu7x", shape, 1, "a", "b")
                      : jobSet(
                          "set-" + i,
                          "tpu-v6e-slice",
                          random.nextBoolean() ? "4x8" : "4x4",
                          2,
                          "a");
              case 2 -> leaderWorkerSet("lws-" + i, "2x2x4", 1 + random.nextInt(2));
              case 3 -> job("sub-" + i, "tpu-v6e-slice", random.nextBoolean() ? "4x8" : "2x4", 0);
              case 4 -> kueue("wl-" + i, shape);
              default -> job("job-" + i, "tpu7x", shape, random.nextInt(3));
            });
      }
      CarriedOut carried = new CarriedOut(objects);
      plan(carried, PlanningRules.NONE);
      for (int i = 0; i < 3; i++) {
        fail(carried, "a-" + random.nextInt(6) + "-" + random.nextInt(16));
      }
      fail(carried, "sub-" + random.nextInt(16));
      Cluster cluster = carried.read();
      Plan repair = PLANNER.repair(cluster.fleet(), MAY_DO_ALL, PlanCase.BUDGET);
      moved += repair.moves().size();
      check(carried, cluster, repair);

      CarriedOut more = new CarriedOut(carried.objects());
      List<HasMetadata> all = new ArrayList<>(more.objects());
      all.add(job("urgent", "tpu7x", "4x8x8", 100));
      more = new CarriedOut(all);
      Cluster pressed = more.read();
      Plan plan = PLANNER.plan(pressed.fleet(), pressed.requests(), MAY_DO_ALL, PlanCase.BUDGET);
      moved += plan.moves().size();
      evicted += plan.evictions().size();
      check(more, pressed, plan);
    }
    assertThat(moved).isGreaterThan(20);
    assertThat(evicted).isGreaterThan(3);
  }
}
