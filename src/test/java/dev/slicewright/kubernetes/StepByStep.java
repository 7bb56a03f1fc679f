package dev.slicewright.kubernetes;

import static dev.slicewright.kubernetes.PlanCase.at;
import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.kubernetes.WorkloadPatch.Requires;
import dev.slicewright.plan.Eviction;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;

/**
 * Carries out steps in any order that they allow, and refuses what an API server would: Slices on
 * nodes in use, changes of templates that are fixed at the time. What is patched is compared with
 * what the plan says that it comes to.
 */
final class StepByStep {

  private static final String SLICE = "cloud.google.com/gke-tpu-slice";

  private final Cluster cluster;
  private final ClusterPlan told;
  private final List<Node> nodes = new ArrayList<>();
  private final Map<String, GenericKubernetesResource> slices = new TreeMap<>();
  private final Map<ObjectRef, Map<String, Object>> work = new HashMap<>();
  private final Map<String, ObjectRef> user = new HashMap<>(); // of a Slice, before
  private final Set<String> lost = new HashSet<>(); // Slices selected before, and not there
  private final Set<ObjectRef> stopped = new HashSet<>();
  private final Set<ObjectRef> resumed = new HashSet<>();
  private final Set<ObjectRef> changed = new HashSet<>();

  StepByStep(List<HasMetadata> objects, Cluster cluster, ClusterPlan told) {
    this.cluster = cluster;
    this.told = told;
    for (HasMetadata object : objects) {
      if (object instanceof Node node) {
        nodes.add(new NodeBuilder(node).build());
      } else if (object instanceof GenericKubernetesResource slice
          && slice.getKind().equals("Slice")) {
        slices.put(slice.getMetadata().getName(), slice);
      }
    }
    PlanPlaces places = new PlanPlaces(cluster, told.plan());
    for (Workload workload : cluster.workloads()) {
      work.computeIfAbsent(
          workload.object(),
          o -> PlanTrees.map(PlanTrees.copy(WorkloadPatches.tree(workload.source()))));
      for (RunningSlice slice : cluster.fleet().runningOf(workload.request().id())) {
        PlacedSlice place = places.running(slice);
        if (place.slice() != null) {
          user.put(place.slice().name(), workload.object());
        }
      }
    }
  }

  void carryOut(Random random) {
    List<ClusterStep> left = new ArrayList<>(told.steps());
    Set<Integer> done = new HashSet<>();
    work.values().forEach(object -> collect(object, lost));
    lost.removeAll(slices.keySet());
    told.slices().forEach(slice -> lost.remove(slice.name()));
    while (!left.isEmpty()) {
      List<ClusterStep> ready =
          left.stream().filter(step -> done.containsAll(step.after())).toList();
      assertThat(ready).as("no circle in %s", left).isNotEmpty();
      ClusterStep step = ready.get(random.nextInt(ready.size()));
      carryOut(step);
      left.remove(step);
      done.add(step.number());
    }
    checkEnd();
  }

  private void carryOut(ClusterStep step) {
    ObjectRef ref = step.object();
    switch (step.kind()) {
      case SUSPEND -> {
        stopped.add(ref);
        PlanTrees.map(work.get(ref).get("spec")).put("suspend", true);
      }
      case DELETE_PODS -> stopped.add(ref);
      case DELETE_SLICE -> delete(step);
      case CREATE_SLICE -> create(step);
      case PATCH -> patch(step);
      case RECREATE -> {
        assertThat(step.patch().requires()).as("%s", step).isEqualTo(Requires.RECREATED);
        apply(step);
      }
      case RESUME -> {
        resumed.add(ref);
        assertThat(isSuspended(ref) || changed.contains(ref)).as("%s rests", ref).isTrue();
        PlanTrees.map(work.get(ref).get("spec")).put("suspend", false);
        checkSelected(step);
      }
      case ADMIT, BIND_PODS -> checkSelected(step);
    }
  }

  private void delete(ClusterStep step) {
    String name = step.object().name();
    ObjectRef owner = user.get(name);
    if (owner != null) {
      assertThat(stopped.contains(owner) || isSuspended(owner))
          .as("%s rests before its Slice goes: %s of %s", owner, step, told.steps())
          .isTrue();
    }
    assertThat(slices.remove(name)).as("%s", step).isNotNull();
    label(name, null);
  }

  private void create(ClusterStep step) {
    GenericKubernetesResource slice = step.slice().toResource();
    assertThat(SliceRules.checkAgainst(slice, nodes, slices.values()))
        .as("%s of %s", step, told.steps())
        .isEmpty();
    String name = slice.getMetadata().getName();
    assertThat(slices.put(name, slice)).as("there is none of that name: %s", step).isNull();
    label(name, step.slice());
  }

  private void label(String name, SliceManifest slice) {
    for (Node node : nodes) {
      Map<String, String> labels = node.getMetadata().getLabels();
      if (slice == null) {
        if (labels.remove(SLICE, name)) {
          labels.remove("cloud.google.com/gke-tpu-slice-topology");
        }
      } else if (slice.partitionIds().contains(labels.getOrDefault(idLabel(slice), ""))) {
        labels.put(SLICE, name);
      }
    }
  }

  private static String idLabel(SliceManifest slice) {
    return "cloud.google.com/gke-tpu-partition-"
        + (slice.topology().chips() >= 64 ? "4x4x4" : slice.topology())
        + "-id";
  }

  // ---------------------------------------------------------------- workloads

  private boolean isSuspended(ObjectRef ref) {
    return Boolean.TRUE.equals(at(work.get(ref), "spec", "suspend"));
  }

  private void patch(ClusterStep step) {
    ObjectRef ref = step.object();
    Map<String, Object> before = work.get(ref);
    boolean suspended = isSuspended(ref);
    Map<String, Object> after = apply(step);
    switch (step.patch().requires()) {
      case SUSPENDED -> {
        assertThat(suspended || isSuspended(ref)).as("%s of %s", step, told.steps()).isTrue();
        assertThat(withoutDirectives(ref, after)).isEqualTo(withoutDirectives(ref, before));
      }
      case GATED -> {
        assertThat(at(before, "spec", "schedulingGates")).as("%s", step).isNotNull();
        Object selector = at(before, "spec", "nodeSelector");
        if (selector != null) {
          assertThat(PlanTrees.map(at(after, "spec", "nodeSelector")))
              .containsAllEntriesOf(PlanTrees.map(selector));
        }
        checkOnlyTolerationsAndNotes(before, after, "nodeSelector", "schedulingGates");
      }
      case NOTHING -> {
        if (ref.kind().equals("Pod")) {
          checkOnlyTolerationsAndNotes(before, after);
        }
      }
      case RECREATED -> throw new AssertionError("patched what has to be made anew: " + step);
    }
  }

  /** What may change of a suspended Job (KEP-2926) or JobSet (its webhook), taken out. */
  private static Object withoutDirectives(ObjectRef ref, Map<String, Object> object) {
    Object tree = PlanTrees.copy(object);
    PlanTrees.remove(tree, "metadata", "annotations");
    PlanTrees.remove(tree, "spec", "suspend");
    boolean isJob = ref.kind().equals("Job");
    List<Object> templates = new ArrayList<>();
    if (isJob) {
      templates.add(at(tree, "spec", "template"));
    } else {
      for (Object job : (List<?>) at(tree, "spec", "replicatedJobs")) {
        templates.add(at(job, "template", "spec", "template"));
      }
    }
    for (Object template : templates) {
      PlanTrees.remove(template, "metadata");
      PlanTrees.remove(template, "spec", "nodeSelector");
      PlanTrees.remove(template, "spec", "tolerations");
      PlanTrees.remove(template, "spec", "schedulingGates");
      if (isJob) {
        PlanTrees.remove(template, "spec", "affinity");
      }
    }
    return tree;
  }

  private static void checkOnlyTolerationsAndNotes(
      Map<String, Object> before, Map<String, Object> after, String... more) {
    Object was = PlanTrees.copy(before);
    Object is = PlanTrees.copy(after);
    for (Object tree : List.of(was, is)) {
      PlanTrees.remove(tree, "metadata", "annotations");
      PlanTrees.remove(tree, "spec", "tolerations");
      for (String field : more) {
        PlanTrees.remove(tree, "spec", field);
      }
    }
    assertThat(is).isEqualTo(was);
    if (at(before, "spec", "tolerations") instanceof List<?> tolerations) {
      assertThat((List<Object>) new ArrayList<Object>((List<?>) at(after, "spec", "tolerations")))
          .containsAll(tolerations);
    }
  }

  private Map<String, Object> apply(ClusterStep step) {
    Map<String, Object> before = work.get(step.object());
    Map<String, Object> after = PlanTrees.map(PlanTrees.patched(before, step.patch().patch()));
    assertThat(step.patch().applyTo(before)).isEqualTo(after);
    work.put(step.object(), after);
    changed.add(step.object());
    return after;
  }

  /** Once work goes on, all Slices that its templates select are there. */
  private void checkSelected(ClusterStep step) {
    Set<String> selected = new HashSet<>();
    collect(work.get(step.object()), selected);
    selected.removeAll(lost);
    if (!step.object().kind().equals("Workload")) {
      assertThat(slices.keySet()).as("%s of %s", step, told.steps()).containsAll(selected);
    }
  }

  private static void collect(Object tree, Set<String> selected) {
    if (tree instanceof Map<?, ?> map) {
      if (map.get(SLICE) instanceof String name) {
        selected.add(name);
      }
      if (SLICE.equals(map.get("key")) && map.get("values") instanceof List<?> names) {
        names.forEach(name -> selected.add((String) name));
      }
      map.values().forEach(value -> collect(value, selected));
    } else if (tree instanceof List<?> list) {
      list.forEach(value -> collect(value, selected));
    }
  }

  // ---------------------------------------------------------------- in the end

  private void checkEnd() {
    Set<ObjectRef> evicted = new HashSet<>();
    for (Eviction eviction : told.plan().evictions()) {
      cluster.workload(eviction.request()).ifPresent(w -> evicted.add(w.object()));
    }
    Map<ObjectRef, HasMetadata> manifests = new HashMap<>();
    told.manifests().forEach(object -> manifests.put(ObjectRef.of(object), object));
    for (WorkloadPatch patch : told.patches()) {
      ObjectRef ref = patch.object();
      if (ref.kind().equals("Workload")) {
        continue;
      }
      assertThat(changed).as("%s of %s", patch, told.steps()).contains(ref);
      assertThat(content(work.get(ref)))
          .as("%s", patch)
          .isEqualTo(content(WorkloadPatches.tree(manifests.get(ref))));
    }
    for (Workload workload : cluster.workloads()) {
      ObjectRef ref = workload.object();
      if (!WorkloadPatches.isSuspendable(ref)) {
        continue;
      }
      if (evicted.contains(ref)) {
        assertThat(isSuspended(ref)).as("%s is evicted: %s", ref, told.steps()).isTrue();
      } else if (!workload.suspended()) {
        assertThat(isSuspended(ref)).as("%s goes on: %s", ref, told.steps()).isFalse();
      } else if (resumed.contains(ref)) {
        for (Workload sibling : cluster.workloads()) {
          if (sibling.object().equals(ref)) {
            assertThat(slicesAfter(sibling))
                .as("%s has all its slices when it starts: %s", ref, told.steps())
                .isEqualTo(sibling.request().slices());
          }
        }
      }
    }
  }

  private int slicesAfter(Workload workload) {
    return told.plan().applyTo(cluster.fleet()).running().stream()
        .filter(s -> Cluster.wholeId(s.request().id()).equals(workload.request().id()))
        .toList()
        .size();
  }

  private static Object content(Map<String, ?> object) {
    Object tree = PlanTrees.copy(object);
    PlanTrees.remove(tree, "status");
    PlanTrees.remove(tree, "spec", "suspend");
    return tree;
  }
}
