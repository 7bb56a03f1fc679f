package dev.slicewright.kubernetes;

import static dev.slicewright.kubernetes.PlanCase.at;
import static dev.slicewright.kubernetes.PlanCase.tree;
import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.kubernetes.WorkloadPatch.Requires;
import dev.slicewright.topology.AcceleratorType;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.json.JsonMapper;

class WorkloadPatchTest {

  private static final String NODE_TERMS = "requiredDuringSchedulingIgnoredDuringExecution";

  private static WorkloadPatch only(ClusterPlan plan) {
    assertThat(plan.patches()).hasSize(1);
    return plan.patches().get(0);
  }

  private static PlanCase block() {
    return new PlanCase().domain(StubDomain.block("blk-a", 8));
  }

  private static Map<String, Object> affinity(Object... terms) {
    return tree("nodeAffinity", tree(NODE_TERMS, tree("nodeSelectorTerms", List.of(terms))));
  }

  private static Map<String, Object> expression(String key, String operator, String... values) {
    return tree("key", key, "operator", operator, "values", List.of(values));
  }

  /** A workload like another, its object changed. */
  private static Workload with(Workload workload, Map<String, Object> patch) {
    HasMetadata object =
        WorkloadPatches.resource(MergePatch.apply(WorkloadPatches.tree(workload.source()), patch));
    return new Workload(
        workload.object(), workload.podSet(), workload.request(), workload.members(), object);
  }

  @Test
  void aJobOfOneSliceSelectsItBySliceName() {
    ClusterPlan plan = PlanCase.planned(block().workload(PlanCase.job("train", "4x4x8")).build());

    WorkloadPatch patch = only(plan);
    String slice = plan.slices().get(0).name();
    String epoch = plan.slices().get(0).epoch();
    assertThat(patch.object().path()).isEqualTo("Job/team-a/train");
    assertThat(patch.requires()).isEqualTo(Requires.SUSPENDED);
    assertThat(patch.toJson())
        .isEqualTo(
            "{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{"
                + "\"cloud.google.com/gke-tpu-slice-topology\":\"4x4x8\","
                + "\"slicewright.dev/binding\":\"cloud.google.com/gke-tpu-accelerator,"
                + "cloud.google.com/gke-tpu-slice,cloud.google.com/gke-tpu-slice-topology,"
                + "cloud.google.com/gke-tpu-topology\","
                + "\"slicewright.dev/epoch\":\""
                + epoch
                + "\","
                + "\"slicewright.dev/request\":\"Job/team-a/train\"}},"
                + "\"spec\":{\"nodeSelector\":{\"cloud.google.com/gke-tpu-accelerator\":\"tpu7x\","
                + "\"cloud.google.com/gke-tpu-slice\":\""
                + slice
                + "\",\"cloud.google.com/gke-tpu-topology\":\"4x4x8\"},"
                + "\"tolerations\":[{\"effect\":\"NoSchedule\",\"key\":\"google.com/tpu\","
                + "\"operator\":\"Exists\"}]}}}}");
  }

  @Test
  void tolerationsAreAddedToThoseThereAre() {
    Map<String, Object> own = tree("key", "team", "operator", "Equal", "value", "a");
    Workload job =
        with(
            PlanCase.job("train", "4x4x4"),
            tree("spec", tree("template", tree("spec", tree("tolerations", List.of(own))))));
    WorkloadPatch patch = only(PlanCase.planned(block().workload(job).build()));

    assertThat(at(patch.patch(), "spec", "template", "spec", "tolerations"))
        .isEqualTo(
            List.of(
                own, tree("key", "google.com/tpu", "operator", "Exists", "effect", "NoSchedule")));
  }

  @Test
  void aTolerationOfEverythingIsEnough() {
    Workload job =
        with(
            PlanCase.job("train", "4x4x4"),
            tree(
                "spec",
                tree(
                    "template",
                    tree("spec", tree("tolerations", List.of(tree("operator", "Exists")))))));
    WorkloadPatch patch = only(PlanCase.planned(block().workload(job).build()));

    assertThat(at(patch.patch(), "spec", "template", "spec", "tolerations")).isNull();
  }

  @Test
  void aPatchAppliedTwiceChangesNothingMore() {
    Workload job = PlanCase.job("train", "4x4x8");
    ClusterPlan first = PlanCase.planned(block().workload(job).build());
    Workload patched = with(job, new LinkedHashMap<>(only(first).patch()));

    ClusterPlan second = PlanCase.planned(block().workload(patched).build());

    assertThat(second.slices()).isEqualTo(first.slices());
    assertThat(second.patches()).isEmpty();
  }

  @Test
  void theJobsOfAJobSetShareATemplateAndSoAnyOfItsSlices() {
    PlanCase given = block();
    PlanCase.jobSet("ms", "4x4x8", 2, "workers").forEach(given::workload);
    ClusterPlan plan = PlanCase.planned(given.build());

    WorkloadPatch patch = only(plan);
    List<String> slices = plan.slices().stream().map(SliceManifest::name).toList();
    Object job = at(patch.patch(), "spec", "replicatedJobs", 0);
    Object pods = at(job, "template", "spec", "template");
    assertThat(slices).hasSize(2).doesNotHaveDuplicates();
    assertThat(at(job, "replicas")).as("lists are written whole").isEqualTo(2);
    assertThat(at(pods, "spec", "containers", 0, "image")).isEqualTo("x");
    assertThat(at(pods, "spec", "nodeSelector"))
        .isEqualTo(
            tree(
                "cloud.google.com/gke-tpu-accelerator",
                "tpu7x",
                "cloud.google.com/gke-tpu-topology",
                "4x4x8"));
    assertThat(at(pods, "spec", "affinity", "nodeAffinity", NODE_TERMS, "nodeSelectorTerms"))
        .isEqualTo(
            List.of(
                tree(
                    "matchExpressions",
                    List.of(
                        expression(
                            "cloud.google.com/gke-tpu-slice",
                            "In",
                            slices.toArray(new String[0]))))));
    assertThat(
            at(
                job,
                "template",
                "metadata",
                "annotations",
                "alpha.jobset.sigs.k8s.io/exclusive-topology"))
        .isEqualTo("cloud.google.com/gke-tpu-slice");
    assertThat(at(pods, "metadata", "annotations", "slicewright.dev/epoch"))
        .isEqualTo(plan.slices().get(0).epoch() + "," + plan.slices().get(1).epoch());
    // JobSet's webhook takes no change of affinity, not even of a suspended JobSet.
    assertThat(patch.requires()).isEqualTo(Requires.RECREATED);
  }

  @Test
  void aJobSetOfOneSliceEachNeedsOnlyToBeSuspendedAndIsPatchedOnce() {
    PlanCase given = block();
    PlanCase.jobSet("rl", "4x4x4", 1, "actor", "learner").forEach(given::workload);
    ClusterPlan plan = PlanCase.planned(given.build());

    WorkloadPatch patch = only(plan);
    assertThat(patch.requires()).isEqualTo(Requires.SUSPENDED);
    for (int i = 0; i < 2; i++) {
      Object job = at(patch.patch(), "spec", "replicatedJobs", i);
      String request = "JobSet/team-a/rl/" + at(job, "name");
      SliceManifest slice =
          plan.slices().stream()
              .filter(s -> request.equals(s.annotations().get("slicewright.dev/request")))
              .findFirst()
              .orElseThrow();
      assertThat(
              at(
                  job,
                  "template",
                  "spec",
                  "template",
                  "spec",
                  "nodeSelector",
                  "cloud.google.com/gke-tpu-slice"))
          .isEqualTo(slice.name());
    }
  }

  @Test
  void everyTermOfAffinityIsNarrowedButNotOneThatMatchesNothing() {
    Map<String, Object> zone = expression("zone", "In", "a");
    Map<String, Object> disk = expression("disk", "Exists");
    List<Workload> sets = PlanCase.jobSet("ms", "4x4x4", 2, "w");
    Map<String, Object> source = WorkloadPatches.tree(sets.get(0).source());
    @SuppressWarnings("unchecked")
    Map<String, Object> podSpec =
        (Map<String, Object>)
            at(source, "spec", "replicatedJobs", 0, "template", "spec", "template", "spec");
    podSpec.put(
        "affinity",
        affinity(
            tree("matchExpressions", new ArrayList<>(List.of(zone))),
            tree("matchExpressions", new ArrayList<>(List.of(disk))),
            tree()));
    Workload workload =
        new Workload(
            sets.get(0).object(),
            "w",
            sets.get(0).request(),
            sets.get(0).members(),
            WorkloadPatches.resource(source));
    ClusterPlan plan = PlanCase.planned(block().workload(workload).build());

    Map<String, Object> ours =
        expression(
            "cloud.google.com/gke-tpu-slice",
            "In",
            plan.slices().get(0).name(),
            plan.slices().get(1).name());
    assertThat(
            at(
                only(plan).patch(),
                "spec",
                "replicatedJobs",
                0,
                "template",
                "spec",
                "template",
                "spec",
                "affinity"))
        .isEqualTo(
            affinity(
                tree("matchExpressions", List.of(zone, ours)),
                tree("matchExpressions", List.of(disk, ours)),
                tree()));
  }

  @Test
  void aBindingTakesThePlaceOfAnEarlierOneAndLeavesWhatTheUserWrote() {
    Map<String, Object> template =
        tree(
            "spec",
            tree(
                "nodeSelector",
                tree("disk", "ssd", "cloud.google.com/gke-tpu-accelerator", "tpu7x"),
                "affinity",
                affinity(tree("matchExpressions", List.of(expression("zone", "In", "a"))))));
    StubDomain blk = StubDomain.block("blk-a", 8);
    for (int slices = 1; slices <= 2; slices++) {
      Map<String, Object> bound = MergePatch.copyOf(template);
      new TemplateBinding("r", true, places(blk, slices, 0)).bind(bound);
      Map<String, Object> again = MergePatch.copyOf(bound);
      new TemplateBinding("r", true, places(blk, 3 - slices, 4)).bind(again);
      Map<String, Object> direct = MergePatch.copyOf(template);
      new TemplateBinding("r", true, places(blk, 3 - slices, 4)).bind(direct);

      assertThat(again).as("bound anew").isEqualTo(direct);
      TemplateBinding.unbind(bound);
      Map<String, Object> expected = MergePatch.copyOf(template);
      expected.put("metadata", tree("annotations", tree()));
      TemplateBinding.map(expected, "spec")
          .put(
              "tolerations",
              List.of(tree("key", "google.com/tpu", "operator", "Exists", "effect", "NoSchedule")));
      assertThat(bound).as("unbound").isEqualTo(expected);
    }
  }

  private static List<PlacedSlice> places(StubDomain domain, int slices, int firstCube) {
    PlanCase given = new PlanCase().domain(domain);
    dev.slicewright.request.SliceRequest request =
        dev.slicewright.request.SliceRequest.builder("r").shape("4x4x4").slices(slices).build();
    for (int i = 0; i < slices; i++) {
      given.running(request, i, domain.id(), "4x4x4", firstCube + i);
    }
    Cluster cluster = given.build();
    PlanPlaces places =
        new PlanPlaces(
            cluster,
            dev.slicewright.plan.Plan.builder(
                    cluster.fleet().version(), dev.slicewright.request.PlanningRules.NONE)
                .build());
    return cluster.fleet().running().stream().map(places::running).toList();
  }

  @Test
  void aLeaderWorkerSetBindsLeaderAndWorkers() {
    ClusterPlan plan =
        PlanCase.planned(block().workload(PlanCase.leaderWorkerSet("serve", "2x2x4", 2)).build());

    WorkloadPatch patch = only(plan);
    assertThat(patch.requires()).isEqualTo(Requires.NOTHING);
    assertThat(
            at(
                patch.patch(),
                "metadata",
                "annotations",
                "leaderworkerset.sigs.k8s.io/exclusive-topology"))
        .isEqualTo("cloud.google.com/gke-tpu-slice");
    Object leader = at(patch.patch(), "spec", "leaderWorkerTemplate", "leaderTemplate");
    assertThat(at(leader, "spec", "affinity")).isNotNull();
    assertThat(leader)
        .isEqualTo(at(patch.patch(), "spec", "leaderWorkerTemplate", "workerTemplate"));
  }

  @Test
  void onlyAGatedPodGetsSelectors() {
    WorkloadPatch gated =
        only(PlanCase.planned(block().workload(PlanCase.pod("p", "2x2x1", true)).build()));
    WorkloadPatch free =
        only(PlanCase.planned(block().workload(PlanCase.pod("p", "2x2x1", false)).build()));

    assertThat(gated.requires()).isEqualTo(Requires.GATED);
    assertThat(at(gated.patch(), "spec", "nodeSelector", "cloud.google.com/gke-tpu-slice"))
        .isNotNull();
    assertThat(free.requires()).isEqualTo(Requires.NOTHING);
    assertThat(at(free.patch(), "spec", "nodeSelector")).isNull();
    assertThat(at(free.patch(), "metadata", "annotations", "slicewright.dev/request"))
        .isEqualTo("Pod/team-a/p");
  }

  @Test
  void aGatedPodThatSelectsSomethingElseHasToBeMadeAnew() {
    Workload pod =
        with(
            PlanCase.pod("p", "2x2x1", true),
            tree("spec", tree("nodeSelector", tree("cloud.google.com/gke-tpu-slice", "gone"))));

    assertThat(only(PlanCase.planned(block().workload(pod).build())).requires())
        .isEqualTo(Requires.RECREATED);
  }

  // KEP-3838: of a gated pod selectors may be added, and none taken out.
  @Test
  void aGatedPodThatAnEarlierPlanBoundByAnotherLabelHasToBeMadeAnew() {
    Workload pod =
        with(
            PlanCase.pod("p", "2x2x1", true),
            tree(
                "metadata",
                tree(
                    "annotations",
                    tree("slicewright.dev/binding", "cloud.google.com/gke-nodepool")),
                "spec",
                tree("nodeSelector", tree("cloud.google.com/gke-nodepool", "gone"))));

    WorkloadPatch patch = only(PlanCase.planned(block().workload(pod).build()));
    assertThat(patch.requires()).isEqualTo(Requires.RECREATED);
    assertThat(
            at(
                patch.applyTo(WorkloadPatches.tree(pod.source())),
                "spec",
                "nodeSelector",
                "cloud.google.com/gke-nodepool"))
        .isNull();
  }

  @Test
  void bindingTakesOurGateOutOfAPodAndEvictionPutsItIn() {
    Workload pod =
        with(
            PlanCase.pod("p", "2x2x1", false),
            tree("spec", tree("schedulingGates", List.of(tree("name", "slicewright.dev/slice")))));
    ClusterPlan plan = PlanCase.planned(block().workload(pod).build());
    WorkloadPatch bind = only(plan);

    assertThat(bind.requires()).isEqualTo(Requires.GATED);
    Map<String, Object> bound = bind.applyTo(WorkloadPatches.tree(pod.source()));
    assertThat(at(bound, "spec", "schedulingGates")).isNull();
    assertThat(at(bound, "spec", "nodeSelector", "cloud.google.com/gke-tpu-slice"))
        .isEqualTo(plan.slices().get(0).name());

    WorkloadPatch evict =
        WorkloadPatches.of(
                List.of(
                    new WorkloadPatches.Change(
                        new Workload(
                            pod.object(),
                            "",
                            pod.request(),
                            pod.members(),
                            WorkloadPatches.resource(bound)),
                        null)),
                true)
            .orElseThrow();
    assertThat(evict.requires()).isEqualTo(Requires.RECREATED);
    Map<String, Object> evicted = evict.applyTo(bound);
    assertThat(at(evicted, "spec", "schedulingGates"))
        .isEqualTo(List.of(tree("name", "slicewright.dev/slice")));
    assertThat(at(evicted, "spec", "nodeSelector")).isNull();
  }

  @Test
  void anEvictedLeaderWorkerSetKeepsSelectingSlicesThatAreGoneSoThatItsPodsWait() {
    assertThat(
            WorkloadPatches.of(
                List.of(
                    new WorkloadPatches.Change(
                        PlanCase.leaderWorkerSet("serve", "2x2x4", 2), null)),
                true))
        .isEmpty();
  }

  @Test
  void workOnAPoolSelectsThePool() {
    ClusterPlan plan =
        PlanCase.planned(
            new PlanCase()
                .domain(StubDomain.pool(AcceleratorType.V6E, "np-1", "4x4"))
                .workload(PlanCase.job("train", "4x4"))
                .build());

    assertThat(plan.slices()).isEmpty();
    assertThat(at(only(plan).patch(), "spec", "template", "spec", "nodeSelector"))
        .isEqualTo(
            tree(
                "cloud.google.com/gke-nodepool", "np-1",
                "cloud.google.com/gke-tpu-accelerator", "tpu-v6e-slice",
                "cloud.google.com/gke-tpu-topology", "4x4"));
  }

  @Test
  void workOnASubSliceSelectsItByIdInAPoolOfThatTopology() {
    ClusterPlan plan =
        PlanCase.planned(
            new PlanCase()
                .domain(StubDomain.subslicing("np-1", "8x8"))
                .workload(PlanCase.job("train", "4x4"))
                .build());

    Object template = at(only(plan).patch(), "spec", "template");
    assertThat(at(template, "spec", "nodeSelector", "cloud.google.com/gke-tpu-topology"))
        .as("the pool's")
        .isEqualTo("8x8");
    assertThat(at(template, "spec", "nodeSelector", "cloud.google.com/gke-tpu-slice-4x4-id"))
        .isNotNull();
    assertThat(at(template, "metadata", "annotations", "cloud.google.com/gke-tpu-slice-topology"))
        .isEqualTo("4x4");
  }

  // ---------------------------------------------------------------- RFC 7386

  /** The examples of appendix A of RFC 7386. */
  @Test
  void mergePatchesDoAsTheRfcSays() {
    String[][] cases = {
      {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
      {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
      {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
      {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
      {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
      {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
      {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
      {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
      {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
      {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
    };
    for (String[] c : cases) {
      assertThat(MergePatch.apply(json(c[0]), json(c[1])))
          .as("%s", List.of(c))
          .isEqualTo(json(c[2]));
    }
  }

  @Test
  void theDifferenceOfTwoTreesMakesOneOfTheOther() {
    Random random = new Random(7);
    for (int i = 0; i < 2_000; i++) {
      Map<String, Object> before = randomTree(random, 3);
      Map<String, Object> after = randomTree(random, 3);
      Map<String, Object> patch = MergePatch.between(before, after);

      assertThat(MergePatch.apply(before, patch)).isEqualTo(after);
      assertThat(MergePatch.between(after, after)).isEmpty();
    }
  }

  private static Map<String, Object> randomTree(Random random, int depth) {
    Map<String, Object> tree = new LinkedHashMap<>();
    for (String key : List.of("a", "b", "c")) {
      switch (random.nextInt(depth > 0 ? 5 : 3)) {
        case 1 -> tree.put(key, random.nextInt(3));
        case 2 -> tree.put(key, List.of(random.nextInt(2)));
        case 3, 4 -> tree.put(key, randomTree(random, depth - 1));
        default -> {}
      }
    }
    return tree;
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> json(String text) {
    return new JsonMapper().readValue(text, Map.class);
  }
}
