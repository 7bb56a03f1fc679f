package dev.slicewright.kubernetes;

import static dev.slicewright.kubernetes.PlanCase.tree;
import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.OwnerReferenceBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import tools.jackson.databind.json.JsonMapper;

/**
 * The objects of a cluster in which a plan is carried out step by step: Slices come and go and
 * label their nodes, workloads are patched, and their controllers make pods on the nodes that the
 * plan says. It knows the steps and what the objects look like, and nothing of how plans are told.
 */
final class CarriedOut {

  private final Map<String, HasMetadata> objects = new LinkedHashMap<>(); // by path

  CarriedOut(List<? extends HasMetadata> given) {
    given.forEach(this::put);
  }

  private void put(HasMetadata object) {
    objects.put(ObjectRef.of(object).path(), object);
  }

  List<HasMetadata> objects() {
    return List.copyOf(objects.values());
  }

  Cluster read() {
    return ClusterReader.create().read(objects());
  }

  /** Does all steps in order; then pods run wherever the plan put any. */
  CarriedOut carryOut(ClusterPlan plan) {
    Set<String> stopped = new HashSet<>();
    for (ClusterStep step : plan.steps()) {
      String path = step.object().path();
      switch (step.kind()) {
        case SUSPEND, DELETE_PODS -> {
          stopped.add(path);
          deletePods(path);
        }
        case CREATE_SLICE -> createSlice(step.slice());
        case DELETE_SLICE -> deleteSlice(step.object().name());
        case PATCH, RECREATE -> patch(step);
        case RESUME -> resume(path);
        case ADMIT, BIND_PODS -> {}
      }
    }
    plan.podsToNodes().forEach(pod -> run(plan, pod));
    // Other slices of a request that moves start again where they were.
    for (String path : stopped) {
      restart(plan, path);
    }
    return this;
  }

  private void createSlice(SliceManifest slice) {
    GenericKubernetesResource resource = slice.toResource();
    assertThat(SliceRules.check(resource)).as("%s", slice).isEmpty();
    resource.setAdditionalProperty(
        "status",
        tree("conditions", List.of(tree("type", "Ready", "status", "True", "reason", "ACTIVE"))));
    assertThat(objects).as("a Slice of that name").doesNotContainKey("Slice/" + slice.name());
    put(resource);
    String label =
        "cloud.google.com/gke-tpu-partition-"
            + (slice.topology().chips() >= 64 ? "4x4x4" : slice.topology())
            + "-id";
    int nodes = 0;
    for (Node node : nodes()) {
      Map<String, String> labels = node.getMetadata().getLabels();
      if (slice.partitionIds().contains(labels.getOrDefault(label, ""))) {
        assertThat(labels).as("%s", node).doesNotContainKey("cloud.google.com/gke-tpu-slice");
        labels.put("cloud.google.com/gke-tpu-slice", slice.name());
        labels.put("cloud.google.com/gke-tpu-slice-topology", slice.topology().toString());
        nodes++;
      }
    }
    assertThat(nodes * 4L).isEqualTo(slice.topology().chips());
  }

  /** A Slice disappears, and with it the pods on it. */
  void lose(String slice) {
    Set<String> nodes = new HashSet<>();
    for (Node node : nodes()) {
      if (slice.equals(node.getMetadata().getLabels().get("cloud.google.com/gke-tpu-slice"))) {
        nodes.add(node.getMetadata().getName());
      }
    }
    deleteSlice(slice);
    objects
        .values()
        .removeIf(o -> o instanceof Pod pod && nodes.contains(pod.getSpec().getNodeName()));
  }

  private void deleteSlice(String name) {
    assertThat(objects.remove("Slice/" + name)).as("Slice %s", name).isNotNull();
    for (Node node : nodes()) {
      if (name.equals(node.getMetadata().getLabels().get("cloud.google.com/gke-tpu-slice"))) {
        node.getMetadata().getLabels().remove("cloud.google.com/gke-tpu-slice");
        node.getMetadata().getLabels().remove("cloud.google.com/gke-tpu-slice-topology");
      }
    }
  }

  private List<Node> nodes() {
    return objects.values().stream().filter(Node.class::isInstance).map(Node.class::cast).toList();
  }

  private void patch(ClusterStep step) {
    HasMetadata object = objects.get(step.object().path());
    Map<String, Object> patched = step.patch().applyTo(WorkloadPatches.tree(object));
    put(
        object instanceof Pod
            ? new JsonMapper().convertValue(patched, Pod.class)
            : WorkloadPatches.resource(patched));
  }

  private void resume(String path) {
    put(
        WorkloadPatches.resource(
            MergePatch.apply(
                WorkloadPatches.tree(objects.get(path)), tree("spec", tree("suspend", false)))));
  }

  private void deletePods(String path) {
    List<String> gone = new ArrayList<>();
    objects.forEach(
        (key, object) -> {
          if (object instanceof Pod pod && path.equals(pod.getMetadata().getLabels().get("of"))) {
            gone.add(key);
          }
        });
    gone.forEach(objects::remove);
    if (objects.get(path) instanceof Pod pod) {
      pod.getSpec().setNodeName(null);
    }
  }

  private void restart(ClusterPlan plan, String path) {
    if (objects.get(path) instanceof Pod || isSuspended(path)) {
      return;
    }
    Set<String> moved = new HashSet<>();
    plan.podsToNodes().forEach(pod -> moved.add(pod.request() + "/" + pod.slice()));
    for (Workload workload : plan.cluster().workloads()) {
      if (workload.object().path().equals(path)) {
        PlanPlaces places = new PlanPlaces(plan.cluster(), plan.plan());
        places.after(workload.request().id()).stream()
            .filter(place -> !moved.contains(place.id().toString()))
            .flatMap(place -> PodNodes.of(place, workload).stream())
            .forEach(pod -> run(plan, pod));
      }
    }
  }

  private boolean isSuspended(String path) {
    return Boolean.TRUE.equals(
        PlanCase.at(WorkloadPatches.tree(objects.get(path)), "spec", "suspend"));
  }

  // ---------------------------------------------------------------- pods

  private void run(ClusterPlan plan, PodNode at) {
    Workload workload = plan.cluster().workload(at.request()).orElseThrow();
    ObjectRef of = workload.object();
    if (of.kind().equals("Pod")) {
      Pod pod = (Pod) objects.get(of.path());
      pod.getSpec().setNodeName(at.node());
      return;
    }
    if (of.kind().equals("Workload")) {
      return; // its pods are made by what it stands for
    }
    Map<String, String> labels = new TreeMap<>(Map.of("of", of.path()));
    String job = of.name();
    String name = of.name() + "-" + at.group() + "-" + at.podSet() + "-" + at.index();
    switch (of.kind()) {
      case "JobSet" -> {
        job = of.name() + "-" + at.podSet() + "-" + at.group();
        childJob(of, job, at);
        labels.put("jobset.sigs.k8s.io/jobset-name", of.name());
        labels.put("jobset.sigs.k8s.io/replicatedjob-name", at.podSet());
        labels.put("jobset.sigs.k8s.io/job-index", "" + at.group());
      }
      case "LeaderWorkerSet" -> {
        labels.put("leaderworkerset.sigs.k8s.io/name", of.name());
        labels.put("leaderworkerset.sigs.k8s.io/group-index", "" + at.group());
        labels.put(
            "leaderworkerset.sigs.k8s.io/worker-index",
            "" + (at.podSet().equals("worker") ? at.index() + 1 : at.index()));
      }
      default -> {}
    }
    boolean ofJob = !of.kind().equals("LeaderWorkerSet");
    if (ofJob) {
      labels.put("batch.kubernetes.io/job-name", job);
      labels.put("batch.kubernetes.io/job-completion-index", "" + at.index());
    }
    put(
        new PodBuilder()
            .withNewMetadata()
            .withNamespace(of.namespace())
            .withName(name)
            .withLabels(labels)
            .addToOwnerReferences(
                new OwnerReferenceBuilder()
                    .withApiVersion(ofJob ? "batch/v1" : of.apiVersion())
                    .withKind(ofJob ? "Job" : of.kind())
                    .withName(ofJob ? job : of.name())
                    .withController(true)
                    .build())
            .endMetadata()
            .withNewSpec()
            .withNodeName(at.node())
            .addNewContainer()
            .withName("w")
            .withNewResources()
            .addToLimits("google.com/tpu", new Quantity("4"))
            .endResources()
            .endContainer()
            .endSpec()
            .withNewStatus()
            .withPhase("Running")
            .endStatus()
            .build());
  }

  private void childJob(ObjectRef jobSet, String name, PodNode at) {
    HasMetadata job =
        PlanCase.generic("batch/v1", "Job", name, tree("spec", tree("template", tree())));
    job.getMetadata().setNamespace(jobSet.namespace());
    job.getMetadata()
        .setLabels(
            new TreeMap<>(
                Map.of(
                    "jobset.sigs.k8s.io/jobset-name", jobSet.name(),
                    "jobset.sigs.k8s.io/replicatedjob-name", at.podSet(),
                    "jobset.sigs.k8s.io/job-index", "" + at.group())));
    job.getMetadata()
        .setOwnerReferences(
            new ArrayList<>(
                List.of(
                    new OwnerReferenceBuilder()
                        .withApiVersion(jobSet.apiVersion())
                        .withKind("JobSet")
                        .withName(jobSet.name())
                        .withController(true)
                        .build())));
    put(job);
  }
}
