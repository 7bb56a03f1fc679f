package dev.slicewright.kubernetes;

import static dev.slicewright.kubernetes.PlanCase.tree;
import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Pod;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Move;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.Drain;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.RoomGoal;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.VictimRules;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Whatever is planned for a cluster of all kinds of nodes and work, what comes out keeps the
 * platform's rules at each moment, whichever order its steps are done in, and leaves nothing out in
 * silence.
 */
class PlansOfEveryKindTest {

  private static final Instant NOW = Instant.parse("2026-03-01T12:00:00Z");
  private static final SolveBudget BUDGET = SolveBudget.within(Duration.ofSeconds(5));
  private static final SlicePlanner PLANNER =
      SlicePlanner.builder().failOnRejectedPlan(true).build();
  private static final String[] SHAPES = {"2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8"};
  private static final int SEEDS = 6;

  /** A way to make a plan. */
  enum Operation {
    PLAN,
    PREEMPT,
    VICTIMS,
    REPAIR,
    DRAIN_CUBES,
    DRAIN_HOSTS,
    DEFRAGMENT,
    MAKE_ROOM,
    TIDY,
    ROOM
  }

  // ---------------------------------------------------------------- clusters and work

  private static List<HasMetadata> nodes() {
    List<HasMetadata> objects = new ArrayList<>();
    objects.addAll(ClusterFixtures.block("a", 5));
    objects.addAll(ClusterFixtures.block("b", 2));
    objects.addAll(ClusterFixtures.subslicing("sub", "8x8"));
    objects.addAll(ClusterFixtures.provisioned("prov"));
    objects.addAll(ClusterFixtures.pool("p1", "tpu-v5p-slice", "2x2x4"));
    objects.addAll(ClusterFixtures.pool("p2", "tpu-v5p-slice", "2x2x4"));
    for (int i = 0; i < 2; i++) {
      objects.add(ClusterFixtures.single("v5e-" + i, "v5e", "tpu-v5-lite-podslice", "2x4", 8));
    }
    return objects;
  }

  private static Map<String, Object> template(String accelerator, String shape, int priority) {
    boolean single = accelerator.equals("tpu-v5-lite-podslice");
    Map<String, Object> selector = tree("cloud.google.com/gke-tpu-accelerator", accelerator);
    Map<String, Object> annotations = tree("example.com/of", "the user");
    switch (accelerator) {
      case "tpu7x" -> annotations.put("cloud.google.com/gke-tpu-slice-topology", shape);
      case "tpu-v6e-slice" -> {
        annotations.put("cloud.google.com/gke-tpu-slice-topology", shape);
        selector.put("cloud.google.com/gke-tpu-topology", "8x8");
      }
      default -> selector.put("cloud.google.com/gke-tpu-topology", shape);
    }
    Map<String, Object> limits = tree("google.com/tpu", single ? "8" : "4");
    return tree(
        "metadata",
        tree("annotations", annotations),
        "spec",
        tree(
            "priority",
            priority,
            "nodeSelector",
            selector,
            "tolerations",
            List.of(tree("key", "example.com/spot", "operator", "Exists")),
            "containers",
            List.of(tree("name", "w", "resources", tree("limits", limits)))));
  }

  private static int pods(String accelerator, String shape) {
    long chips = Shape.parse(shape).chips();
    return (int) chips / (accelerator.equals("tpu-v5-lite-podslice") ? 8 : 4);
  }

  private static Map<String, Object> jobSpec(String accelerator, String shape, int priority) {
    int pods = pods(accelerator, shape);
    return tree(
        "completions",
        pods,
        "parallelism",
        pods,
        "completionMode",
        "Indexed",
        "template",
        template(accelerator, shape, priority));
  }

  private static HasMetadata job(
      String name, String accelerator, String shape, int priority, boolean suspended) {
    Map<String, Object> spec = jobSpec(accelerator, shape, priority);
    spec.put("suspend", suspended);
    return PlanCase.generic("batch/v1", "Job", name, tree("spec", spec));
  }

  private static HasMetadata jobSet(
      String name, String accelerator, String shape, int replicas, int priority, String... jobs) {
    List<Object> replicated = new ArrayList<>();
    for (String job : jobs) {
      Map<String, Object> spec = jobSpec(accelerator, shape, priority + replicated.size());
      replicated.add(tree("name", job, "replicas", replicas, "template", tree("spec", spec)));
    }
    return PlanCase.generic(
        "jobset.x-k8s.io/v1alpha2",
        "JobSet",
        name,
        tree("spec", tree("suspend", true, "replicatedJobs", replicated)));
  }

  private static HasMetadata leaderWorkerSet(String name, String shape, int groups, int priority) {
    Map<String, Object> group =
        tree(
            "size",
            pods("tpu7x", shape),
            "leaderTemplate",
            template("tpu7x", shape, priority),
            "workerTemplate",
            template("tpu7x", shape, priority));
    return PlanCase.generic(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        name,
        tree("spec", tree("replicas", groups, "leaderWorkerTemplate", group)));
  }

  private static HasMetadata kueue(String name, String version, String shape, int podSets) {
    List<Object> sets = new ArrayList<>();
    for (int i = 0; i < podSets; i++) {
      sets.add(
          tree(
              "name",
              "set-" + i,
              "count",
              pods("tpu7x", shape),
              "template",
              template("tpu7x", shape, 0)));
    }
    return PlanCase.generic(
        "kueue.x-k8s.io/" + version, "Workload", name, tree("spec", tree("podSets", sets)));
  }

  private static HasMetadata pod(String name, int priority, boolean gated) {
    Map<String, Object> template = template("tpu7x", "2x2x1", priority);
    Map<String, Object> spec = PlanTrees.map(template.get("spec"));
    if (gated) {
      spec.put("schedulingGates", List.of(tree("name", "slicewright.dev/slice")));
    }
    Map<String, Object> metadata = PlanTrees.map(template.get("metadata"));
    metadata.put("namespace", "team-a");
    metadata.put("name", name);
    return new tools.jackson.databind.json.JsonMapper()
        .convertValue(
            tree("apiVersion", "v1", "kind", "Pod", "metadata", metadata, "spec", spec),
            io.fabric8.kubernetes.api.model.Pod.class);
  }

  private static HasMetadata work(String name, Random random, int priority) {
    String shape = SHAPES[random.nextInt(SHAPES.length)];
    boolean suspended = random.nextInt(3) > 0;
    return switch (random.nextInt(12)) {
      case 0 -> jobSet(name, "tpu7x", shape, 1 + random.nextInt(3), priority, "w");
      case 1 -> jobSet(name, "tpu7x", shape, 1, priority, "actor", "learner");
      case 2 -> jobSet(name, "tpu-v6e-slice", "4x4", 2, priority, "w");
      case 3 -> leaderWorkerSet(name, "2x2x4", 1 + random.nextInt(2), priority);
      case 4 -> job(name, "tpu-v6e-slice", random.nextBoolean() ? "4x8" : "2x4", priority, true);
      case 5 -> kueue(name, random.nextBoolean() ? "v1beta1" : "v1beta2", shape, 1);
      case 6 -> kueue(name, "v1beta2", "2x4x4", 2);
      case 7 -> job(name, "tpu-v5p-slice", "2x2x4", priority, suspended);
      case 8 -> job(name, "tpu-v5-lite-podslice", "2x4", priority, suspended);
      case 9 -> pod(name, priority, random.nextBoolean());
      default -> job(name, "tpu7x", shape, priority, suspended);
    };
  }

  // ---------------------------------------------------------------- plans

  private static Plan plan(Cluster cluster, Operation operation, Random random) {
    PlanningRules.Builder rules = PlanningRules.builder().now(NOW);
    PlanningRules any = PlanningRules.builder().now(NOW).permitByDefault(Permission.ANY).build();
    SliceRequest like =
        SliceRequest.builder("like").shape(random.nextBoolean() ? "4x4x8" : "4x4x4").build();
    return switch (operation) {
      case PLAN -> PLANNER.plan(cluster.fleet(), cluster.requests(), rules.build(), BUDGET);
      case PREEMPT -> PLANNER.plan(cluster.fleet(), cluster.requests(), any, BUDGET);
      case VICTIMS ->
          PLANNER.plan(
              cluster.fleet(),
              cluster.requests(),
              rules
                  .permitByDefault(Permission.EVICTABLE)
                  .victims(VictimRules.builder().belowPriority(5).mostPerTenant(3).build())
                  .build(),
              BUDGET);
      case REPAIR -> PLANNER.repair(cluster.fleet(), any, BUDGET);
      case DRAIN_CUBES ->
          PLANNER.drain(
              cluster.fleet(),
              List.of(
                  Drain.cubes("block/a", List.of(new CubeId(random.nextInt(5)), new CubeId(1)))
                      .by(NOW.plusSeconds(random.nextInt(7200)))),
              any,
              BUDGET);
      case DRAIN_HOSTS -> {
        List<Pod> pods = List.copyOf(cluster.fleet().pods());
        Pod pod = pods.get(random.nextInt(pods.size()));
        yield PLANNER.drain(
            cluster.fleet(), List.of(Drain.hosts(pod.id(), List.of(new HostId(0)))), any, BUDGET);
      }
      case DEFRAGMENT ->
          PLANNER
              .defragment(
                  cluster.fleet(),
                  List.of(new RoomGoal(like, 2, 1000)),
                  rules.permitByDefault(Permission.MOVABLE).build(),
                  BUDGET)
              .plan();
      case MAKE_ROOM ->
          PLANNER.makeRoom(
              cluster.fleet(),
              cluster.requests().isEmpty() ? like : cluster.requests().get(0),
              2,
              any,
              BUDGET);
      case TIDY -> PLANNER.tidy(cluster.fleet(), 3, any, BUDGET);
      case ROOM ->
          PLANNER.plan(
              cluster.fleet(),
              cluster.requests(),
              rules.permitByDefault(Permission.ANY).room(like, 2).build(),
              BUDGET);
    };
  }

  @ParameterizedTest
  @EnumSource(Operation.class)
  void whatComesOutIsLegalInEveryOrderAndComplete(Operation operation) {
    Map<ClusterStep.Kind, Integer> kinds = new EnumMap<>(ClusterStep.Kind.class);
    for (int seed = 0; seed < SEEDS; seed++) {
      Random random = new Random(100L * operation.ordinal() + seed);
      List<HasMetadata> objects = nodes();
      for (int i = 0; i < 9; i++) {
        objects.add(work("low-" + i, random, random.nextInt(3)));
      }
      CarriedOut carried = new CarriedOut(objects);
      Cluster empty = carried.read();
      Plan first = PLANNER.plan(empty.fleet(), empty.requests(), PlanningRules.NONE, BUDGET);
      check(carried, empty, first, random, kinds);
      ClusterRoundTripTest.check(carried, empty, first);

      List<HasMetadata> more = new ArrayList<>(carried.objects());
      disturb(more, random);
      if (random.nextBoolean()) {
        loseASlice(more, random);
      }
      for (int i = 0; i < 3; i++) {
        more.add(work("high-" + i, random, 7));
      }
      carried = new CarriedOut(more);
      Cluster cluster = carried.read();
      Plan plan = plan(cluster, operation, random);
      check(carried, cluster, plan, random, kinds);
      ClusterRoundTripTest.check(carried, cluster, plan);
    }
    assertThat(kinds).as("the test has something to try").hasSizeGreaterThan(4);
  }

  private static void disturb(List<HasMetadata> objects, Random random) {
    List<Node> nodes =
        objects.stream().filter(Node.class::isInstance).map(Node.class::cast).toList();
    for (int i = 0; i < 2; i++) {
      ClusterFixtures.ready(nodes.get(random.nextInt(nodes.size())), "False");
    }
    nodes.get(random.nextInt(nodes.size())).getSpec().setUnschedulable(true);
    ClusterFixtures.state(nodes, "4x4x4", "a-c" + random.nextInt(5), "DEGRADED");
    if (random.nextBoolean()) {
      ClusterFixtures.state(nodes, "4x4x4", "b-c" + random.nextInt(2), "UNHEALTHY");
    }
  }

  private static void loseASlice(List<HasMetadata> objects, Random random) {
    List<String> names = new ArrayList<>();
    for (HasMetadata object : objects) {
      if (object.getKind().equals("Slice")) {
        names.add(object.getMetadata().getName());
      }
    }
    if (!names.isEmpty()) {
      CarriedOut lost = new CarriedOut(objects);
      lost.lose(names.get(random.nextInt(names.size())));
      objects.clear();
      objects.addAll(lost.objects());
    }
  }

  // ---------------------------------------------------------------- what is checked

  private static void check(
      CarriedOut carried,
      Cluster cluster,
      Plan plan,
      Random random,
      Map<ClusterStep.Kind, Integer> kinds) {
    ClusterPlan told = ClusterPlan.of(cluster, plan);
    told.steps().forEach(step -> kinds.merge(step.kind(), 1, Integer::sum));
    for (int order = 0; order < 3; order++) {
      new StepByStep(carried.objects(), cluster, told).carryOut(random);
    }
    checkPods(cluster, told);
    checkComplete(cluster, told);
    checkLimits(told);
    assertThat(told.topologyAssignments())
        .allSatisfy(a -> assertThat(a.assignment().domains()).isNotEmpty());
    assertThat(told.deviceAllocations("tpu.google.com"))
        .allSatisfy(devices -> assertThat(devices.devices()).isNotEmpty());
  }

  /** Each pod of each new slice once, each node once. */
  private static void checkPods(Cluster cluster, ClusterPlan told) {
    Map<String, List<PodNode>> byRequest = new TreeMap<>();
    Set<String> nodes = new HashSet<>();
    for (PodNode pod : told.podsToNodes()) {
      byRequest.computeIfAbsent(pod.request(), r -> new ArrayList<>()).add(pod);
      assertThat(nodes.add(pod.node())).as("%s twice", pod.node()).isTrue();
    }
    Map<String, Set<Integer>> slices = new TreeMap<>();
    PlanPlaces places = new PlanPlaces(cluster, told.plan());
    for (PlacedSlice place : places.created()) {
      slices.computeIfAbsent(place.id().request(), r -> new HashSet<>()).add(place.id().index());
    }
    told.leftOut().forEach(out -> slices.keySet().removeIf(r -> isOf(cluster, r, out.object())));
    assertThat(byRequest.keySet()).isEqualTo(slices.keySet());
    byRequest.forEach(
        (request, pods) -> {
          Workload workload = cluster.workload(request).orElseThrow();
          int expected = 0;
          for (int slice : slices.get(request)) {
            for (Workload.Member member : workload.members(slice)) {
              expected += member.pods();
            }
          }
          assertThat(pods).as(request).hasSize(expected);
          assertThat(pods.stream().map(p -> p.podSet() + "/" + p.group() + "/" + p.index()))
              .as(request)
              .doesNotHaveDuplicates();
        });
  }

  private static boolean isOf(Cluster cluster, String request, ObjectRef object) {
    return cluster.workload(request).orElseThrow().object().equals(object);
  }

  /** Whatever the plan decides is done by some step, or named as left out; and is said. */
  private static void checkComplete(Cluster cluster, ClusterPlan told) {
    Plan plan = told.plan();
    Set<String> requests = new HashSet<>();
    plan.placements().forEach(p -> requests.add(Cluster.wholeId(p.request().id())));
    plan.moves().stream().map(Move::from).forEach(from -> requests.add(from.id().request()));
    plan.evictions().stream().map(Eviction::request).forEach(requests::add);
    Set<ObjectRef> out = new HashSet<>();
    told.leftOut().forEach(left -> out.add(left.object()));
    Set<ObjectRef> done = new HashSet<>();
    told.steps().forEach(step -> done.add(cluster.workload(step.request()).orElseThrow().object()));
    for (String request : requests) {
      ObjectRef object = cluster.workload(request).orElseThrow().object();
      assertThat(done.contains(object) || out.contains(object))
          .as("%s of %s", request, told.steps())
          .isTrue();
    }
    int silent = plan.placements().size() + plan.unplaced().size() - told.leftOut().size();
    assertThat(told.events(NOW)).hasSizeGreaterThanOrEqualTo(Math.max(0, silent));
  }

  private static void checkLimits(ClusterPlan told) {
    told.manifests().forEach(object -> checkNames(object.getMetadata()));
    List<ConfigMap> holds = told.holds("team-a", NOW.plusSeconds(600));
    holds.forEach(hold -> checkNames(hold.getMetadata()));
    assertThat(holds.stream().map(hold -> hold.getMetadata().getName())).doesNotHaveDuplicates();
    List<Event> events = told.events(NOW);
    for (Event event : events) {
      checkNames(event.getMetadata());
      assertThat(event.getMessage().getBytes(StandardCharsets.UTF_8)).hasSizeBetween(1, 1024);
      assertThat(event.getReason()).matches("[A-Z][A-Za-z]{0,127}");
      assertThat(event.getInvolvedObject().getNamespace())
          .isEqualTo(event.getMetadata().getNamespace());
    }
    assertThat(events.stream().map(e -> e.getMetadata().getName() + e.getMetadata().getNamespace()))
        .doesNotHaveDuplicates();
  }

  private static void checkNames(ObjectMeta metadata) {
    assertThat(metadata.getName()).matches("[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?");
    Map<String, String> labels = metadata.getLabels() == null ? Map.of() : metadata.getLabels();
    String text = "[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?";
    assertThat(labels.values()).allMatch(value -> value.isEmpty() || value.matches(text));
    Map<String, String> notes =
        metadata.getAnnotations() == null ? Map.of() : metadata.getAnnotations();
    Stream.concat(labels.keySet().stream(), notes.keySet().stream())
        .forEach(key -> assertThat(key).matches("([-.a-z0-9]{1,253}/)?" + text));
    long size = 0;
    for (Map.Entry<String, String> note : notes.entrySet()) {
      size += note.getKey().length() + note.getValue().getBytes(StandardCharsets.UTF_8).length;
    }
    assertThat(size).isLessThan(256 * 1024);
  }
}
