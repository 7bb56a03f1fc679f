package dev.slicewright.kubernetes;

import dev.slicewright.Problem;
import dev.slicewright.Problems;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.SliceRequest;
import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;

/** A cluster in the making: domains, objects and workloads, and what is found to run in it. */
final class Scene {

  static final String CREATED = "2026-01-01T00:00:00Z";

  final StubDomains domains = new StubDomains();
  final List<HasMetadata> objects = new ArrayList<>();
  final Map<String, Workload> workloads = new TreeMap<>();
  final Map<String, String> slcOwners = new TreeMap<>(); // "namespace/name/podSet" to request id
  TenantBy tenantBy = TenantBy.NAMESPACE;

  /** What was found, and what was wrong. */
  record Outcome(RunningSlices.Found found, List<Problem> problems, List<LeftOut> leftOut) {

    Optional<RunningSlice> slice(String id) {
      return found.running().stream().filter(s -> s.id().toString().equals(id)).findFirst();
    }

    List<String> ids() {
      return found.running().stream().map(s -> s.id().toString()).toList();
    }

    String problem(String path) {
      return problems.stream()
          .filter(p -> p.path().equals(path))
          .map(Problem::message)
          .findFirst()
          .orElseThrow(() -> new AssertionError("no problem of " + path + " in " + problems));
    }

    List<String> left() {
      return leftOut.stream().map(l -> l.object().path()).toList();
    }
  }

  /** A Slice as the platform shows it. */
  GenericKubernetesResource slice(String name, String topology, String... ids) {
    GenericKubernetesResource slice =
        new SliceManifest(
                name,
                topology.split("x").length == 2 ? "v6e" : "tpu7x",
                dev.slicewright.topology.Shape.parse(topology),
                List.of(ids),
                Map.of(),
                null,
                false)
            .toResource();
    slice.getMetadata().setCreationTimestamp(CREATED);
    objects.add(slice);
    return slice;
  }

  /** An active Slice of a request of ours. */
  GenericKubernetesResource owned(
      String name, String request, int index, String topology, String... ids) {
    GenericKubernetesResource slice = state(slice(name, topology, ids), SliceState.ACTIVE);
    annotate(slice, TpuLabels.OWN_REQUEST, request);
    annotate(slice, TpuLabels.OWN_INDEX, String.valueOf(index));
    return slice;
  }

  static GenericKubernetesResource state(GenericKubernetesResource slice, SliceState state) {
    return condition(slice, state.reason(), state.isReady());
  }

  static GenericKubernetesResource condition(
      GenericKubernetesResource slice, String reason, boolean ready) {
    Map<String, Object> condition = new LinkedHashMap<>();
    condition.put("type", "Ready");
    condition.put("status", ready ? "True" : "False");
    condition.put("reason", reason);
    condition.put("message", "the message");
    condition.put("lastTransitionTime", "2026-01-02T00:00:00Z");
    slice.setAdditionalProperty("status", map("conditions", List.of(condition)));
    return slice;
  }

  static Map<String, Object> map(String key, Object value) {
    Map<String, Object> map = new LinkedHashMap<>();
    map.put(key, value);
    return map;
  }

  static void annotate(HasMetadata object, String key, String value) {
    Map<String, String> annotations = new LinkedHashMap<>();
    if (object.getMetadata().getAnnotations() != null) {
      annotations.putAll(object.getMetadata().getAnnotations());
    }
    annotations.put(key, value);
    object.getMetadata().setAnnotations(annotations);
  }

  /** A running pod of a slice of a request, on a node. */
  Pod pod(String name, String request, int slice, String node) {
    Pod pod =
        new PodBuilder()
            .withNewMetadata()
            .withNamespace("team")
            .withName(name)
            .addToLabels("request", request)
            .addToLabels("slice", String.valueOf(slice))
            .endMetadata()
            .withNewSpec()
            .withNodeName(node)
            .withContainers(
                new ContainerBuilder()
                    .withName("w")
                    .withNewResources()
                    .addToLimits(TpuLabels.TPU, new Quantity("4"))
                    .endResources()
                    .build())
            .endSpec()
            .withNewStatus()
            .withPhase("Running")
            .withStartTime("2026-01-03T00:00:00Z")
            .endStatus()
            .build();
    objects.add(pod);
    return pod;
  }

  /** A node with the labels of a Slice. */
  void labelled(String node, String slice, String topology) {
    NodeBuilder builder =
        new NodeBuilder()
            .withNewMetadata()
            .withName(node)
            .addToLabels(TpuLabels.SLICE, slice)
            .endMetadata();
    if (!topology.isEmpty()) {
      builder.editMetadata().addToLabels(TpuLabels.SLICE_TOPOLOGY, topology).endMetadata();
    }
    objects.add(builder.build());
  }

  Workload workload(SliceRequest request, HasMetadata source) {
    Workload workload =
        new Workload(
            ObjectRef.of(source), "", request, List.of(new Workload.Member("", 1, 4)), source);
    workloads.put(request.id(), workload);
    return workload;
  }

  Workload workload(SliceRequest request) {
    Pod source = new PodBuilder().withNewMetadata().withName("source").endMetadata().build();
    return workload(request, source);
  }

  Outcome find() {
    return find(objects);
  }

  Outcome shuffled(long seed) {
    List<HasMetadata> order = new ArrayList<>(objects);
    Collections.shuffle(order, new Random(seed));
    return find(order);
  }

  private Outcome find(List<HasMetadata> order) {
    Problems problems = new Problems();
    List<LeftOut> leftOut = new ArrayList<>();
    RunningSlices.Found found =
        RunningSlices.find(
            KubernetesObjects.of(order),
            domains,
            new WorkloadTranslator.Translation(workloads, new LabelOwners(slcOwners)),
            new ReadSettings(true, tenantBy),
            problems,
            leftOut);
    fleet(
        found); // the independent judge: a fleet takes no overlap and no two kinds of slice in one
    // request
    return new Outcome(found, problems.list(), leftOut);
  }

  /** The fleet of what was found. */
  Fleet fleet(RunningSlices.Found found) {
    Fleet.Builder builder = Fleet.builder();
    for (Domain domain : domains.all()) {
      builder.pod(domain.id(), domain.topology(), domain.labels());
      found
          .cordons()
          .getOrDefault(domain.id(), List.of())
          .forEach(part -> builder.cordon(domain.id(), part));
    }
    found.running().forEach(builder::running);
    found.holds().forEach(builder::hold);
    return builder.build();
  }

  /** Nodes of all parts of a domain that are cordoned. */
  List<String> cordoned(Outcome outcome, String domain) {
    Domain of = domains.get(domain);
    return outcome.found().cordons().getOrDefault(domain, List.of()).stream()
        .flatMap(
            part ->
                part instanceof dev.slicewright.fleet.Part.Host host
                    ? List.of(of.nodes().get(host.host().index())).stream()
                    : StubDomains.nodesOf(
                        of,
                        new dev.slicewright.topology.Footprint.Cubes(
                            List.of(((dev.slicewright.fleet.Part.Cube) part).cube())))
                        .stream())
        .toList();
  }

  private record LabelOwners(Map<String, String> slc) implements Owners {
    @Override
    public Optional<PodOwner> of(Pod pod) {
      Map<String, String> labels = Generic.labels(pod);
      return !labels.containsKey("request")
          ? Optional.empty()
          : Optional.of(
              new PodOwner(labels.get("request"), Integer.parseInt(labels.get("slice")), -1));
    }

    @Override
    public Optional<String> of(String namespace, String workload, String podSet) {
      return Optional.ofNullable(slc.get(namespace + "/" + workload + "/" + podSet));
    }
  }
}
