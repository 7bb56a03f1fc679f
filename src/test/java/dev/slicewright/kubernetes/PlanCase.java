package dev.slicewright.kubernetes;

import dev.slicewright.SliceId;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.batch.v1.JobBuilder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A small cluster built by hand, without reading objects, and plans for it. */
final class PlanCase {

  static final SolveBudget BUDGET = SolveBudget.within(Duration.ofSeconds(20));

  private final Fleet.Builder fleet = Fleet.builder();
  private final Map<String, StubDomain> domains = new TreeMap<>();
  private final Map<String, Workload> workloads = new TreeMap<>();
  private final Map<String, List<Integer>> missing = new TreeMap<>();
  private final List<SliceManifest> slices = new ArrayList<>();

  PlanCase domain(StubDomain domain) {
    domains.put(domain.id(), domain);
    Map<String, String> labels = new TreeMap<>(domain.labels());
    labels.put("slicewright.dev/pod", domain.id());
    fleet.pod(domain.id(), domain.topology(), labels);
    return this;
  }

  PlanCase workload(Workload workload) {
    workloads.put(workload.request().id(), workload);
    return this;
  }

  PlanCase missing(String request, Integer... slices) {
    missing.put(request, List.of(slices));
    return this;
  }

  PlanCase slice(SliceManifest slice) {
    slices.add(slice);
    return this;
  }

  PlanCase fail(String pod, int host) {
    fleet.health(pod, new Part.Host(new HostId(host)), dev.slicewright.fleet.Health.FAILED);
    return this;
  }

  PlanCase cordon(String pod, int host) {
    fleet.cordon(pod, new Part.Host(new HostId(host)));
    return this;
  }

  /** A slice of whole cubes runs, and has a Slice object named {@code old-REQUEST-INDEX}. */
  PlanCase running(SliceRequest request, int index, String pod, String shape, int... cubes) {
    List<CubeId> ids = new ArrayList<>();
    List<String> names = new ArrayList<>();
    for (int cube : cubes) {
      ids.add(new CubeId(cube));
      names.add(PlacedSlice.cubeId(domains.get(pod), new CubeId(cube)));
    }
    fleet.running(
        RunningSlice.builder(request, index, pod, Shape.parse(shape), new Footprint.Cubes(ids))
            .build());
    return slice(
        new SliceManifest(
            oldName(request.id(), index),
            "tpu7x",
            Shape.parse(shape),
            names,
            Map.of(),
            "ACTIVE",
            false));
  }

  /** A slice runs on the first partition of its shape, or on another. */
  PlanCase runningPartition(SliceRequest request, int index, String pod, String shape, int which) {
    StubDomain domain = domains.get(pod);
    PartitionId id =
        domain.topology().partitions().orElseThrow().ofShape(Shape.parse(shape)).get(which);
    fleet.running(
        RunningSlice.builder(request, index, pod, Shape.parse(shape), new Footprint.Partition(id))
            .build());
    if (domain.kind() == Domain.Kind.DYNAMIC) {
      slice(
          new SliceManifest(
              oldName(request.id(), index),
              "tpu7x",
              Shape.parse(shape),
              List.of(domain.platformId(id)),
              Map.of(),
              "ACTIVE",
              false));
    }
    return this;
  }

  /**
   * Two cubes, on which a job runs that one of a higher priority waits for: {@code low} and {@code
   * high}.
   */
  static PlanCase lowRunsWhereHighWaits() {
    Workload low = job(request("Job", "low", "", "4x4x8").build(), false);
    Workload high = job(request("Job", "high", "", "4x4x8").priority(9).build(), true);
    return new PlanCase()
        .domain(StubDomain.block("blk-a", 2))
        .workload(low)
        .workload(high)
        .running(low.request(), 0, "block/blk-a", "4x4x8", 0, 1);
  }

  static String oldName(String request, int index) {
    return "old-" + Names.digest(request) + "-" + index;
  }

  Cluster build() {
    return new Cluster(
        fleet.build(),
        workloads,
        slices,
        missing,
        StubDomains.of(domains.values().toArray(new StubDomain[0])),
        List.of(),
        List.of(),
        ClusterState.empty(new ReadSettings(false, TenantBy.NAMESPACE)));
  }

  static Plan plan(Cluster cluster) {
    return plan(cluster, PlanningRules.NONE);
  }

  static Plan plan(Cluster cluster, PlanningRules rules) {
    return SlicePlanner.builder()
        .failOnRejectedPlan(true)
        .build()
        .plan(cluster.fleet(), cluster.requests(), rules, BUDGET);
  }

  static ClusterPlan planned(Cluster cluster) {
    return ClusterPlan.of(cluster, plan(cluster));
  }

  // ---------------------------------------------------------------- workloads

  static SliceRequest.Builder request(String kind, String name, String podSet, String shape) {
    return SliceRequest.builder(Names.request(kind, "team-a", name, podSet))
        .shape(shape)
        .tenant("team-a");
  }

  private static List<Workload.Member> members(String podSet, SliceRequest request) {
    return List.of(new Workload.Member(podSet, (int) (request.shapes().get(0).chips() / 4), 4));
  }

  private static Workload workload(
      HasMetadata object,
      String podSet,
      SliceRequest request,
      List<Workload.Member> members,
      boolean suspended) {
    int pods = members.stream().mapToInt(Workload.Member::pods).sum();
    return new Workload(
        ObjectRef.of(object),
        podSet,
        request,
        new Workload.Layout(members, 1, pods),
        suspended,
        List.of(),
        SliceSelection.NONE,
        object);
  }

  /** A suspended Job of one slice. */
  static Workload job(String name, String shape) {
    return job(request("Job", name, "", shape).build(), true);
  }

  static Workload job(SliceRequest request, boolean suspended) {
    String name = request.id().substring(request.id().lastIndexOf('/') + 1);
    HasMetadata job =
        new JobBuilder()
            .withNewMetadata()
            .withNamespace("team-a")
            .withName(name)
            .withResourceVersion("7")
            .endMetadata()
            .withNewSpec()
            .withSuspend(suspended)
            .withCompletions((int) (request.shapes().get(0).chips() / 4))
            .withNewTemplate()
            .withNewSpec()
            .addNewContainer()
            .withName("w")
            .withImage("x")
            .endContainer()
            .endSpec()
            .endTemplate()
            .endSpec()
            .build();
    return workload(job, "", request, members("", request), suspended);
  }

  static Workload pod(String name, String shape, boolean gated) {
    SliceRequest request = request("Pod", name, "", shape).build();
    PodBuilder pod =
        new PodBuilder()
            .withNewMetadata()
            .withNamespace("team-a")
            .withName(name)
            .endMetadata()
            .withNewSpec()
            .addNewContainer()
            .withName("w")
            .endContainer()
            .endSpec();
    if (gated) {
      pod.editSpec().addNewSchedulingGate("example.com/wait").endSpec();
    }
    HasMetadata object = pod.build();
    return new Workload(ObjectRef.of(object), "", request, members("", request), object);
  }

  /** A JobSet with one replicated job of so many slices for each name. */
  static List<Workload> jobSet(String name, String shape, int slices, String... replicatedJobs) {
    List<Object> jobs = new ArrayList<>();
    for (String job : replicatedJobs) {
      jobs.add(
          tree(
              "name",
              job,
              "replicas",
              slices,
              "template",
              tree("spec", tree("parallelism", 4, "template", template()))));
    }
    HasMetadata object =
        generic(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            name,
            tree("spec", tree("suspend", true, "replicatedJobs", jobs)));
    List<Workload> workloads = new ArrayList<>();
    for (String job : replicatedJobs) {
      SliceRequest request = request("JobSet", name, job, shape).slices(slices).build();
      workloads.add(workload(object, job, request, members(job, request), true));
    }
    return workloads;
  }

  static Workload leaderWorkerSet(String name, String shape, int groups) {
    HasMetadata object =
        generic(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            name,
            tree(
                "spec",
                tree(
                    "replicas",
                    groups,
                    "leaderWorkerTemplate",
                    tree("leaderTemplate", template(), "workerTemplate", template()))));
    SliceRequest request = request("LeaderWorkerSet", name, "", shape).slices(groups).build();
    int pods = (int) (request.shapes().get(0).chips() / 4);
    return new Workload(
        ObjectRef.of(object),
        "",
        request,
        List.of(new Workload.Member("leader", 1, 4), new Workload.Member("worker", pods - 1, 4)),
        object);
  }

  /** A Workload of Kueue's with one pod set of one slice for each name. */
  static List<Workload> kueue(String name, String shape, String... podSets) {
    List<Object> sets = new ArrayList<>();
    for (String set : podSets) {
      sets.add(tree("name", set, "count", 4, "template", template()));
    }
    HasMetadata object =
        generic("kueue.x-k8s.io/v1beta1", "Workload", name, tree("spec", tree("podSets", sets)));
    List<Workload> workloads = new ArrayList<>();
    for (String set : podSets) {
      SliceRequest request = request("Workload", name, set, shape).build();
      workloads.add(
          new Workload(ObjectRef.of(object), set, request, members(set, request), object));
    }
    return workloads;
  }

  static Map<String, Object> template() {
    return tree("spec", tree("containers", List.of(tree("name", "w", "image", "x"))));
  }

  static HasMetadata generic(
      String apiVersion, String kind, String name, Map<String, Object> fields) {
    GenericKubernetesResource object = new GenericKubernetesResource();
    object.setApiVersion(apiVersion);
    object.setKind(kind);
    ObjectMeta metadata = new ObjectMeta();
    metadata.setNamespace("team-a");
    metadata.setName(name);
    object.setMetadata(metadata);
    object.setAdditionalProperties(fields);
    return object;
  }

  /** A map of keys and values in turn. */
  static Map<String, Object> tree(Object... keysAndValues) {
    Map<String, Object> map = new LinkedHashMap<>();
    for (int i = 0; i < keysAndValues.length; i += 2) {
      map.put((String) keysAndValues[i], keysAndValues[i + 1]);
    }
    return map;
  }

  /** What is at a path of keys and numbers, or null. */
  static Object at(Object tree, Object... path) {
    Object here = tree;
    for (Object step : path) {
      here =
          here instanceof Map<?, ?> map
              ? map.get(step)
              : here instanceof List<?> list && step instanceof Integer i && i < list.size()
                  ? list.get(i)
                  : null;
    }
    return here;
  }

  static SliceId id(String request, int index) {
    return new SliceId(request, index);
  }
}
