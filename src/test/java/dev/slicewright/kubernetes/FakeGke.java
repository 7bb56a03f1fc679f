package dev.slicewright.kubernetes;

import dev.slicewright.Problem;
import io.fabric8.kubernetes.api.model.Affinity;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeSelectorRequirement;
import io.fabric8.kubernetes.api.model.NodeSelectorTerm;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.OwnerReference;
import io.fabric8.kubernetes.api.model.OwnerReferenceBuilder;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.PodTemplateSpec;
import io.fabric8.kubernetes.api.model.Taint;
import io.fabric8.kubernetes.api.model.Toleration;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import io.fabric8.kubernetes.api.model.batch.v1.JobBuilder;
import io.fabric8.kubernetes.api.model.batch.v1.JobSpec;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.base.CustomResourceDefinitionContext;
import io.fabric8.kubernetes.client.server.mock.KubernetesCrudDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.kubernetes.client.server.mock.crud.KubernetesCrudDispatcherException;
import io.fabric8.kubernetes.client.utils.Serialization;
import io.fabric8.mockwebserver.Context;
import io.fabric8.mockwebserver.MockWebServer;
import io.fabric8.mockwebserver.crud.AttributeSet;
import io.fabric8.mockwebserver.http.Buffer;
import io.fabric8.mockwebserver.http.Headers;
import io.fabric8.mockwebserver.http.MockResponse;
import io.fabric8.mockwebserver.http.RecordedRequest;
import io.fabric8.zjsonpatch.JsonPatch;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.UnaryOperator;
import java.util.logging.Level;
import java.util.logging.Logger;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * Plays GKE with dynamic slicing to a scheduler, over HTTP: an API server that keeps what it is
 * given and refuses what the real one refuses, the slice controller, the controllers of Jobs and
 * JobSets, and kube-scheduler.
 *
 * <p>Nothing moves by itself. {@link #tick} lets every controller take one step, so that each state
 * in between is there for a test to see; {@link #settle} ticks until nothing changes.
 *
 * <p>What it refuses, and where that is written: a Slice against the published rules ({@link
 * SliceRules}); a change of a Slice's spec (GKE's types); a change of the pod template of a Job
 * that is not suspended, and of more than its scheduling directives of one that is (KEP-2926), or
 * of any of it while its status says that it has started; the same of the replicated jobs of a
 * JobSet, whose affinity is not among those directives (JobSet API).
 */
final class FakeGke implements AutoCloseable {

  static final CustomResourceDefinitionContext SLICE =
      crd("accelerator.gke.io", "v1beta1", "Slice", "slices", "Cluster");
  static final CustomResourceDefinitionContext JOB_SET =
      crd("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", "Namespaced");
  static final CustomResourceDefinitionContext LEADER_WORKER_SET =
      crd("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets", "Namespaced");
  static final CustomResourceDefinitionContext WORKLOAD =
      crd("kueue.x-k8s.io", "v1beta1", "Workload", "workloads", "Namespaced");

  static final String FINALIZER = "accelerator.gke.io/slice-finalizer";
  private static final ObjectMapper JSON = new JsonMapper();
  private static final String TOPOLOGY = "cloud.google.com/gke-tpu-topology";
  private static final String EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology";
  private static final String TPU = "google.com/tpu";
  private static final Set<String> FORMED = Set.of("ACTIVE", "ACTIVE_DEGRADED");
  private static final Set<String> NO_NODES_YET = Set.of("", "SliceNotCreated");
  private static final Set<String> FAILED = Set.of("FAILED", "SliceCreationFailed");
  private static final Set<String> DONE = Set.of("Succeeded", "Failed");
  private static final int MANY_TICKS = 100;
  private static final String START = "2026-12-01T09:00:00Z";

  /**
   * Kept out of the output of tests: the server's line for each request, and Netty's regrets about
   * connections that end together with their event loop. Held here, or they would be forgotten.
   */
  private static final List<Logger> QUIET =
      List.of(Logger.getLogger("io.fabric8.mockwebserver"), Logger.getLogger("io.netty"));

  static {
    QUIET.forEach(logger -> logger.setLevel(Level.OFF));
  }

  private final ApiServer api = new ApiServer();
  private final KubernetesMockServer server;
  private final KubernetesClient client;
  private final List<KubernetesClient> handedOut = new ArrayList<>();
  private final List<String> happened = new ArrayList<>();

  FakeGke() {
    server =
        new KubernetesMockServer(
            new Context(JSON), new MockWebServer(), new HashMap<>(), api, false);
    server.init();
    client = server.createClient();
  }

  private static CustomResourceDefinitionContext crd(
      String group, String version, String kind, String plural, String scope) {
    return new CustomResourceDefinitionContext.Builder()
        .withGroup(group)
        .withVersion(version)
        .withKind(kind)
        .withPlural(plural)
        .withName(plural + "." + group)
        .withScope(scope)
        .withStatusSubresource(true)
        .build();
  }

  @Override
  public void close() {
    handedOut.forEach(KubernetesClient::close);
    client.close();
    server.destroy();
  }

  // ---- what a test does to the cluster

  /** A connection of its own, as each scheduler has one. */
  KubernetesClient connect() {
    KubernetesClient connection = server.createClient();
    handedOut.add(connection);
    return connection;
  }

  void addCube(String block, String cube) {
    Tpu7xNodes.cube(block, cube).forEach(this::add);
  }

  void add(HasMetadata object) {
    client.resource(object).create();
  }

  /** The node stops answering: not ready, and tainted as the node controller does. */
  void failNode(String name) {
    setReady(name, false);
  }

  void healNode(String name) {
    setReady(name, true);
  }

  private void setReady(String name, boolean ready) {
    Node node = client.nodes().withName(name).get();
    node.getStatus().getConditions().stream()
        .filter(condition -> condition.getType().equals("Ready"))
        .forEach(condition -> condition.setStatus(ready ? "True" : "Unknown"));
    node.getSpec().getTaints().removeIf(t -> t.getKey().equals("node.kubernetes.io/unreachable"));
    if (!ready) {
      for (String effect : List.of("NoSchedule", "NoExecute")) {
        Taint taint = new Taint();
        taint.setKey("node.kubernetes.io/unreachable");
        taint.setEffect(effect);
        node.getSpec().getTaints().add(taint);
      }
    }
    client.nodes().resource(client.nodes().resource(node).update()).updateStatus();
  }

  /** The job is done: its pods have succeeded, and so has it. */
  void finish(String namespace, String job) {
    for (Pod pod : podsOf(namespace, "batch.kubernetes.io/job-name", job)) {
      pod.getStatus().setPhase("Succeeded");
      client.pods().resource(pod).updateStatus();
    }
    Job finished = client.batch().v1().jobs().inNamespace(namespace).withName(job).get();
    client
        .batch()
        .v1()
        .jobs()
        .resource(
            new JobBuilder(finished)
                .editOrNewStatus()
                .addNewCondition()
                .withType("Complete")
                .withStatus("True")
                .endCondition()
                .endStatus()
                .build())
        .updateStatus();
  }

  /**
   * Lets another writer in just before the next change of an object, so that a writer that relies
   * on what it has read gets a conflict.
   *
   * @param path the object's path at the API server, without {@code /status}
   */
  void writeBetween(String path) {
    api.writeBetween.add(path);
  }

  /**
   * Refuses to create objects, until they are accepted again.
   *
   * @param path the path of their collection at the API server
   */
  void refuse(String path) {
    api.refused.add(path);
  }

  void accept(String path) {
    api.refused.remove(path);
  }

  /** Every create, change and delete of Slices, Jobs, JobSets and the like, as method and path. */
  List<String> writes() {
    return List.copyOf(api.writes);
  }

  // ---- what a test sees

  List<GenericKubernetesResource> slices() {
    List<GenericKubernetesResource> slices =
        new ArrayList<>(client.genericKubernetesResources(SLICE).list().getItems());
    slices.sort(Comparator.comparing(slice -> slice.getMetadata().getName()));
    return slices;
  }

  /** The reason of the condition Ready by name of the Slice; empty text before there is one. */
  Map<String, String> states() {
    Map<String, String> states = new TreeMap<>();
    slices().forEach(slice -> states.put(slice.getMetadata().getName(), state(slice)));
    return states;
  }

  List<Node> nodes() {
    List<Node> nodes = new ArrayList<>(client.nodes().list().getItems());
    nodes.sort(Comparator.comparing(node -> node.getMetadata().getName()));
    return nodes;
  }

  /** Nodes of running pods of a namespace, by pod. */
  Map<String, String> running(String namespace) {
    Map<String, String> running = new TreeMap<>();
    for (Pod pod : client.pods().inNamespace(namespace).list().getItems()) {
      if ("Running".equals(pod.getStatus().getPhase())) {
        running.put(pod.getMetadata().getName(), pod.getSpec().getNodeName());
      }
    }
    return running;
  }

  // ---- the controllers

  /**
   * One step of each controller.
   *
   * @return what happened, in words; empty if nothing was to do
   */
  List<String> tick() {
    happened.clear();
    slices().forEach(this::stepSlice);
    dropChildren();
    client.genericKubernetesResources(JOB_SET).inAnyNamespace().list().getItems().stream()
        .sorted(BY_NAME)
        .forEach(this::stepJobSet);
    client.batch().v1().jobs().inAnyNamespace().list().getItems().stream()
        .sorted(BY_NAME)
        .forEach(this::stepJob);
    dropOrphans();
    bind();
    return List.copyOf(happened);
  }

  /** Ticks until nothing changes any more. */
  void settle() {
    for (int i = 0; i < MANY_TICKS; i++) {
      if (tick().isEmpty()) {
        return;
      }
    }
    throw new AssertionError("does not come to rest: " + happened);
  }

  private static final Comparator<HasMetadata> BY_NAME =
      Comparator.comparing((HasMetadata o) -> Objects.toString(o.getMetadata().getNamespace(), ""))
          .thenComparing(o -> o.getMetadata().getName());

  private void stepSlice(GenericKubernetesResource slice) {
    String state = state(slice);
    if (slice.isMarkedForDeletion()) {
      if (!state.equals("DEACTIVATING")) {
        setState(slice, "DEACTIVATING", "deleted");
      } else {
        label(slice, null);
        slice.getMetadata().setFinalizers(List.of());
        client.genericKubernetesResources(SLICE).resource(slice).update();
        happened.add(slice.getMetadata().getName() + " is gone");
      }
    } else if (state.isEmpty()) {
      slice.getMetadata().setFinalizers(List.of(FINALIZER));
      setState(
          client.genericKubernetesResources(SLICE).resource(slice).update(),
          "SliceNotCreated",
          "checks run");
    } else if (state.equals("SliceNotCreated")) {
      List<GenericKubernetesResource> formed = slices();
      formed.removeIf(other -> NO_NODES_YET.contains(state(other)));
      List<Problem> problems = SliceRules.checkAgainst(slice, nodes(), formed);
      if (problems.isEmpty()) {
        setState(slice, "ACTIVATING", "being formed");
      } else {
        setState(slice, "SliceCreationFailed", problems.toString());
      }
    } else if (!FAILED.contains(state) && nodesOf(slice).anyMatchNotReady()) {
      label(slice, null);
      setState(slice, "FAILED", "a node is not ready");
    } else if (state.equals("ACTIVATING")) {
      label(slice, topology(slice));
      boolean degraded = nodesOf(slice).anyDegraded();
      setState(slice, degraded ? "ACTIVE_DEGRADED" : "ACTIVE", "formed");
    }
  }

  private record Nodes(List<Node> all, String shape) {
    boolean anyMatchNotReady() {
      return all.stream().anyMatch(node -> !isReady(node));
    }

    boolean anyDegraded() {
      return all.stream()
          .anyMatch(node -> "DEGRADED".equals(labels(node).get(Tpu7xNodes.stateLabel(shape))));
    }
  }

  private Nodes nodesOf(GenericKubernetesResource slice) {
    String shape = Tpu7xNodes.SHAPES.containsKey(topology(slice)) ? topology(slice) : "4x4x4";
    List<?> ids = slice.get("spec", "partitionIds");
    List<Node> nodes = nodes();
    nodes.removeIf(node -> !ids.contains(labels(node).get(Tpu7xNodes.idLabel(shape))));
    return new Nodes(nodes, shape);
  }

  /** Labels the nodes of a slice, or takes its labels off where there is no topology. */
  private void label(GenericKubernetesResource slice, String topology) {
    String name = slice.getMetadata().getName();
    for (Node node : nodesOf(slice).all()) {
      Map<String, String> labels = node.getMetadata().getLabels();
      if (topology == null && name.equals(labels.get(Tpu7xNodes.SLICE))) {
        labels.keySet().removeAll(List.of(Tpu7xNodes.SLICE, Tpu7xNodes.SLICE_TOPOLOGY, TOPOLOGY));
      } else if (topology != null) {
        labels.put(Tpu7xNodes.SLICE, name);
        labels.put(Tpu7xNodes.SLICE_TOPOLOGY, topology);
        labels.put(TOPOLOGY, topology);
      } else {
        continue;
      }
      client.nodes().resource(node).update();
    }
  }

  private void setState(GenericKubernetesResource slice, String reason, String message) {
    String status = FORMED.contains(reason) ? "True" : "False";
    slice.setAdditionalProperty(
        "status",
        Map.of(
            "conditions",
            List.of(
                Map.of("type", "Ready", "status", status, "reason", reason, "message", message))));
    client.genericKubernetesResources(SLICE).resource(slice).updateStatus();
    happened.add(slice.getMetadata().getName() + " is " + reason);
  }

  static String state(GenericKubernetesResource slice) {
    List<Map<String, String>> conditions = slice.get("status", "conditions");
    return conditions == null
        ? ""
        : conditions.stream()
            .filter(condition -> "Ready".equals(condition.get("type")))
            .map(condition -> condition.get("reason"))
            .findFirst()
            .orElse("");
  }

  private static String topology(GenericKubernetesResource slice) {
    return slice.get("spec", "topology");
  }

  /** One child Job for each replica; a Job that is no longer its template's is made anew. */
  private void stepJobSet(GenericKubernetesResource jobSet) {
    String namespace = jobSet.getMetadata().getNamespace();
    boolean suspend = Boolean.TRUE.equals(jobSet.get("spec", "suspend"));
    List<Map<String, Object>> replicated = jobSet.get("spec", "replicatedJobs");
    for (Map<String, Object> entry : replicated) {
      int replicas = entry.get("replicas") instanceof Integer number ? number : 1;
      for (int i = 0; i < replicas; i++) {
        Job wanted = childOf(jobSet, entry, i);
        wanted.getSpec().setSuspend(suspend);
        var jobs = client.batch().v1().jobs().inNamespace(namespace);
        Job is = jobs.withName(wanted.getMetadata().getName()).get();
        if (is != null && !is.getSpec().getTemplate().equals(wanted.getSpec().getTemplate())) {
          jobs.withName(wanted.getMetadata().getName()).delete();
          is = null;
        }
        if (is == null) {
          jobs.resource(wanted).create();
          happened.add("Job " + wanted.getMetadata().getName() + " is created");
        } else if (!Boolean.valueOf(suspend).equals(is.getSpec().getSuspend())) {
          is.getSpec().setSuspend(suspend);
          jobs.resource(is).update();
          happened.add("Job " + is.getMetadata().getName() + (suspend ? " stops" : " goes on"));
        }
      }
    }
  }

  /** Children of a JobSet that is no more, or is another of the same name. */
  private void dropChildren() {
    for (Job job : client.batch().v1().jobs().inAnyNamespace().list().getItems()) {
      for (OwnerReference owner : job.getMetadata().getOwnerReferences()) {
        HasMetadata jobSet =
            client
                .genericKubernetesResources(JOB_SET)
                .inNamespace(job.getMetadata().getNamespace())
                .withName(owner.getName())
                .get();
        if (jobSet == null || !jobSet.getMetadata().getUid().equals(owner.getUid())) {
          client.batch().v1().jobs().resource(job).delete();
          happened.add("Job " + job.getMetadata().getName() + " is deleted: its JobSet is no more");
        }
      }
    }
  }

  private static Job childOf(
      GenericKubernetesResource jobSet, Map<String, Object> replicated, int index) {
    Map<String, Object> template = GenericKubernetesResource.get(replicated, "template");
    JobSpec spec =
        Serialization.unmarshal(Serialization.asJson(template.get("spec")), JobSpec.class);
    ObjectMeta metadata = jobSet.getMetadata();
    Map<String, String> labels = new TreeMap<>();
    labels.put("jobset.sigs.k8s.io/jobset-name", metadata.getName());
    labels.put("jobset.sigs.k8s.io/replicatedjob-name", (String) replicated.get("name"));
    labels.put("jobset.sigs.k8s.io/job-index", String.valueOf(index));
    PodTemplateSpec pods = spec.getTemplate();
    pods.setMetadata(pods.getMetadata() == null ? new ObjectMeta() : pods.getMetadata());
    Map<String, String> podLabels = new TreeMap<>(orEmpty(pods.getMetadata().getLabels()));
    podLabels.putAll(labels);
    pods.getMetadata().setLabels(podLabels);
    String exclusive =
        Optional.ofNullable(orEmpty(metadata.getAnnotations()).get(EXCLUSIVE))
            .orElseGet(
                () ->
                    GenericKubernetesResource.get(template, "metadata", "annotations", EXCLUSIVE));
    if (exclusive != null) {
      Map<String, String> annotations = new TreeMap<>(orEmpty(pods.getMetadata().getAnnotations()));
      annotations.put(EXCLUSIVE, exclusive);
      pods.getMetadata().setAnnotations(annotations);
    }
    return new JobBuilder()
        .withNewMetadata()
        .withNamespace(metadata.getNamespace())
        .withName(metadata.getName() + "-" + replicated.get("name") + "-" + index)
        .withLabels(labels)
        .withOwnerReferences(
            new OwnerReferenceBuilder()
                .withApiVersion(jobSet.getApiVersion())
                .withKind(jobSet.getKind())
                .withName(metadata.getName())
                .withUid(metadata.getUid())
                .withController(true)
                .build())
        .endMetadata()
        .withSpec(spec)
        .build();
  }

  /** As many pods as the Job runs in parallel; those on a node that is lost are made anew. */
  private void stepJob(Job job) {
    ObjectMeta metadata = job.getMetadata();
    JobSpec spec = job.getSpec();
    boolean done =
        job.getStatus() != null
            && job.getStatus().getConditions().stream()
                .anyMatch(c -> c.getType().equals("Complete") && c.getStatus().equals("True"));
    if (done || Boolean.TRUE.equals(spec.getSuspend())) {
      return;
    }
    if (job.getStatus() == null || job.getStatus().getStartTime() == null) {
      Job started = new JobBuilder(job).editOrNewStatus().withStartTime(START).endStatus().build();
      client.batch().v1().jobs().resource(started).updateStatus();
    }
    List<Pod> pods =
        podsOf(metadata.getNamespace(), "batch.kubernetes.io/job-name", metadata.getName());
    Set<String> have = new HashSet<>();
    for (Pod pod : pods) {
      Map<String, String> template = orEmpty(spec.getTemplate().getSpec().getNodeSelector());
      if (pod.getSpec().getNodeName() == null
          && !template.equals(orEmpty(pod.getSpec().getNodeSelector()))) {
        delete(pod, "its template has changed");
      } else {
        have.add(pod.getMetadata().getName());
      }
    }
    int parallelism = spec.getParallelism() == null ? 1 : spec.getParallelism();
    for (int i = 0; i < parallelism; i++) {
      Pod pod = podOf(job, i);
      if (!have.contains(pod.getMetadata().getName())) {
        client.pods().inNamespace(metadata.getNamespace()).resource(pod).create();
        happened.add("Pod " + pod.getMetadata().getName() + " is created");
      }
    }
  }

  private static Pod podOf(Job job, int index) {
    ObjectMeta metadata = job.getMetadata();
    PodTemplateSpec template = job.getSpec().getTemplate();
    ObjectMeta given = template.getMetadata() == null ? new ObjectMeta() : template.getMetadata();
    Map<String, String> labels = new TreeMap<>(orEmpty(given.getLabels()));
    labels.put("batch.kubernetes.io/job-name", metadata.getName());
    labels.put("batch.kubernetes.io/job-completion-index", String.valueOf(index));
    Map<String, String> annotations = new TreeMap<>(orEmpty(given.getAnnotations()));
    annotations.put("batch.kubernetes.io/job-completion-index", String.valueOf(index));
    return new PodBuilder()
        .withNewMetadata()
        .withNamespace(metadata.getNamespace())
        .withName(metadata.getName() + "-" + index)
        .withLabels(labels)
        .withAnnotations(annotations)
        .withOwnerReferences(
            new OwnerReferenceBuilder()
                .withApiVersion("batch/v1")
                .withKind("Job")
                .withName(metadata.getName())
                .withUid(metadata.getUid())
                .withController(true)
                .build())
        .endMetadata()
        .withSpec(Serialization.clone(template.getSpec()))
        .withNewStatus()
        .withPhase("Pending")
        .endStatus()
        .build();
  }

  /** Pods whose node or Job is gone, suspended or another; pods of slices that are no more. */
  private void dropOrphans() {
    Map<String, Node> nodes = new HashMap<>();
    nodes().forEach(node -> nodes.put(node.getMetadata().getName(), node));
    Map<String, Job> jobs = new HashMap<>();
    client
        .batch()
        .v1()
        .jobs()
        .inAnyNamespace()
        .list()
        .getItems()
        .forEach(job -> jobs.put(job.getMetadata().getUid(), job));
    for (Pod pod : client.pods().inAnyNamespace().list().getItems()) {
      if (!pod.getMetadata().getOwnerReferences().isEmpty()) {
        Job job = jobs.get(pod.getMetadata().getOwnerReferences().get(0).getUid());
        if (job == null || Boolean.TRUE.equals(job.getSpec().getSuspend())) {
          delete(pod, "its Job is no more");
          continue;
        }
      }
      Node node = nodes.get(pod.getSpec().getNodeName());
      if ("Running".equals(pod.getStatus().getPhase())
          && (node == null || !isReady(node) || !selects(pod.getSpec(), node))) {
        delete(pod, "its node is lost, or no longer of its slice");
      }
    }
  }

  private void delete(Pod pod, String why) {
    client.pods().resource(pod).delete();
    happened.add("Pod " + pod.getMetadata().getName() + " is deleted: " + why);
  }

  /** Binds what fits, all pods of a Job or none, each to a free node. */
  private void bind() {
    List<Pod> pods = new ArrayList<>(client.pods().inAnyNamespace().list().getItems());
    pods.sort(Comparator.comparingInt(FakeGke::index));
    Set<String> full = new HashSet<>();
    Map<String, List<Pod>> pending = new TreeMap<>();
    for (Pod pod : pods) {
      if (DONE.contains(pod.getStatus().getPhase())) {
        continue; // it has left its node
      }
      if (pod.getSpec().getNodeName() != null) {
        full.add(pod.getSpec().getNodeName());
      } else if (pod.getSpec().getSchedulingGates() == null
          || pod.getSpec().getSchedulingGates().isEmpty()) {
        String job = orEmpty(pod.getMetadata().getLabels()).get("batch.kubernetes.io/job-name");
        String group =
            pod.getMetadata().getNamespace()
                + "/"
                + (job == null ? "pod " + pod.getMetadata().getName() : job);
        pending.computeIfAbsent(group, unused -> new ArrayList<>()).add(pod);
      }
    }
    List<Node> nodes = nodes();
    for (Map.Entry<String, List<Pod>> group : pending.entrySet()) {
      Map<String, List<Node>> domains = new TreeMap<>();
      List<Pod> members = group.getValue();
      String exclusive = orEmpty(members.get(0).getMetadata().getAnnotations()).get(EXCLUSIVE);
      for (Node node : nodes) {
        String domain = exclusive == null ? "" : labels(node).get(exclusive);
        if (domain != null
            && isReady(node)
            && !full.contains(node.getMetadata().getName())
            && selects(members.get(0).getSpec(), node)
            && tolerates(members.get(0).getSpec(), node)) {
          domains.computeIfAbsent(domain, unused -> new ArrayList<>()).add(node);
        }
      }
      domains.values().removeIf(free -> free.size() < members.size());
      if (domains.isEmpty()) {
        continue;
      }
      List<Node> chosen = domains.values().iterator().next();
      for (int i = 0; i < members.size(); i++) {
        Pod pod = members.get(i);
        String node = chosen.get(i).getMetadata().getName();
        pod.getSpec().setNodeName(node);
        pod.getStatus().setPhase("Running");
        client.pods().resource(client.pods().resource(pod).update()).updateStatus();
        full.add(node);
      }
      happened.add(group.getKey() + " runs on " + members.size() + " nodes");
    }
  }

  private static int index(Pod pod) {
    return Integer.parseInt(
        orEmpty(pod.getMetadata().getAnnotations())
            .getOrDefault("batch.kubernetes.io/job-completion-index", "0"));
  }

  private static boolean selects(PodSpec pod, Node node) {
    if (!labels(node).entrySet().containsAll(orEmpty(pod.getNodeSelector()).entrySet())) {
      return false;
    }
    Affinity affinity = pod.getAffinity();
    if (affinity == null
        || affinity.getNodeAffinity() == null
        || affinity.getNodeAffinity().getRequiredDuringSchedulingIgnoredDuringExecution() == null) {
      return true;
    }
    return affinity
        .getNodeAffinity()
        .getRequiredDuringSchedulingIgnoredDuringExecution()
        .getNodeSelectorTerms()
        .stream()
        .anyMatch(term -> matches(term, node));
  }

  private static boolean matches(NodeSelectorTerm term, Node node) {
    for (NodeSelectorRequirement wanted : term.getMatchExpressions()) {
      String value = labels(node).get(wanted.getKey());
      boolean ok =
          switch (wanted.getOperator()) {
            case "In" -> value != null && wanted.getValues().contains(value);
            case "NotIn" -> value == null || !wanted.getValues().contains(value);
            case "Exists" -> value != null;
            case "DoesNotExist" -> value == null;
            default -> throw new AssertionError("operator " + wanted.getOperator());
          };
      if (!ok) {
        return false;
      }
    }
    return true;
  }

  /** GKE itself gives pods that ask for TPUs the toleration of google.com/tpu. */
  private static boolean tolerates(PodSpec pod, Node node) {
    for (Taint taint : node.getSpec().getTaints()) {
      boolean tolerated =
          taint.getKey().equals(TPU) || taint.getEffect().equals("PreferNoSchedule");
      for (Toleration toleration : pod.getTolerations()) {
        tolerated |=
            (toleration.getKey() == null || toleration.getKey().equals(taint.getKey()))
                && (toleration.getEffect() == null
                    || toleration.getEffect().equals(taint.getEffect()))
                && ("Exists".equals(toleration.getOperator())
                    || Objects.equals(toleration.getValue(), taint.getValue()));
      }
      if (!tolerated) {
        return false;
      }
    }
    return !Boolean.TRUE.equals(node.getSpec().getUnschedulable());
  }

  private List<Pod> podsOf(String namespace, String label, String value) {
    return client.pods().inNamespace(namespace).withLabel(label, value).list().getItems();
  }

  static boolean isReady(Node node) {
    return node.getStatus().getConditions().stream()
        .anyMatch(c -> c.getType().equals("Ready") && c.getStatus().equals("True"));
  }

  private static Map<String, String> labels(Node node) {
    return orEmpty(node.getMetadata().getLabels());
  }

  private static Map<String, String> orEmpty(Map<String, String> map) {
    return map == null ? Map.of() : map;
  }

  // ---- the API server

  /** Keeps objects, refuses what admission refuses, and can let another writer in between. */
  private static final class ApiServer extends KubernetesCrudDispatcher {

    private static final int UNPROCESSABLE = 422;

    final List<String> writes = new CopyOnWriteArrayList<>();
    final Set<String> writeBetween = ConcurrentHashMap.newKeySet();
    final Set<String> refused = ConcurrentHashMap.newKeySet();

    ApiServer() {
      super(List.of(SLICE, JOB_SET, LEADER_WORKER_SET, WORKLOAD));
    }

    @Override
    public MockResponse handleCreate(RecordedRequest request) {
      note(request.getMethod(), request.getPath());
      if (refused.contains(request.getPath())) {
        return refuse("refused by a webhook");
      }
      String body = request.getUtf8Body();
      GenericKubernetesResource object =
          Serialization.unmarshal(body, GenericKubernetesResource.class);
      if (object != null && "Slice".equals(object.getKind())) {
        List<Problem> problems = SliceRules.check(object);
        if (!problems.isEmpty()) {
          return refuse(problems.toString());
        }
      }
      return super.handleCreate(again(request, body));
    }

    @Override
    public MockResponse handleUpdate(RecordedRequest request) {
      return change(request, body -> body);
    }

    @Override
    public MockResponse handlePatch(RecordedRequest request) {
      boolean merge = Objects.toString(request.getHeader("Content-Type")).contains("merge");
      return change(
          request,
          patch -> {
            Map.Entry<AttributeSet, String> stored = findResource(getKey(request.getPath()));
            JsonNode before = tree(stored == null ? "{}" : stored.getValue());
            return merge ? merged(before, patch) : JsonPatch.apply(tree(patch), before).toString();
          });
    }

    private String merged(JsonNode before, String patch) {
      try {
        return merge(before, patch).toString();
      } catch (KubernetesCrudDispatcherException e) {
        throw new AssertionError(e);
      }
    }

    private static JsonNode tree(String json) {
      return JSON.readTree(json);
    }

    @Override
    public MockResponse handleDelete(String path) {
      note("DELETE", path);
      return super.handleDelete(path);
    }

    private MockResponse change(RecordedRequest request, UnaryOperator<String> result) {
      String path = request.getPath();
      String body = request.getUtf8Body();
      note(request.getMethod(), path);
      if (writeBetween.remove(path)) {
        touch(path);
      }
      Map.Entry<AttributeSet, String> stored = findResource(getKey(path));
      String after = path.endsWith("/status") ? null : result.apply(body);
      if (stored != null && after != null) {
        Optional<String> refusal =
            refusal(
                Serialization.unmarshal(stored.getValue(), GenericKubernetesResource.class),
                Serialization.unmarshal(after, GenericKubernetesResource.class));
        if (refusal.isPresent()) {
          return refuse(refusal.get());
        }
      }
      RecordedRequest same = again(request, body);
      return request.getMethod().equals("PUT") ? super.handleUpdate(same) : super.handlePatch(same);
    }

    /** Another writer: an annotation, and with it a new version of the object. */
    private void touch(String path) {
      Map.Entry<AttributeSet, String> stored = findResource(getKey(path));
      ObjectNode node = (ObjectNode) tree(stored.getValue());
      ObjectNode metadata = (ObjectNode) node.get("metadata");
      metadata.withObject("annotations").put("example.com/touched", "yes");
      metadata.put("resourceVersion", String.valueOf(requestResourceVersion()));
      processEvent(path, getKey(path), stored.getKey(), null, Serialization.asJson(node));
    }

    private static Optional<String> refusal(
        GenericKubernetesResource before, GenericKubernetesResource after) {
      switch (before.getKind()) {
        case "Slice":
          List<Problem> problems = SliceRules.checkUpdate(before, after);
          return problems.isEmpty() ? Optional.empty() : Optional.of(problems.toString());
        case "Job":
          return templates(before, after, "/spec/template", true);
        case "JobSet":
          return templates(before, after, "/spec/replicatedJobs", false);
        default:
          return Optional.empty();
      }
    }

    /** While it is suspended scheduling directives change, and nothing else ever does. */
    private static Optional<String> templates(
        GenericKubernetesResource before,
        GenericKubernetesResource after,
        String path,
        boolean affinity) {
      JsonNode was = JSON.valueToTree(before).at(path);
      JsonNode is = JSON.valueToTree(after).at(path);
      if (was.equals(is)) {
        return Optional.empty();
      }
      if (!Boolean.TRUE.equals(before.get("spec", "suspend"))) {
        return Optional.of(path + " is immutable: " + before.getKind() + " is not suspended");
      }
      if (before.get("status", "startTime") != null) { // of a Job; before Kubernetes 1.36
        return Optional.of(path + " is immutable: " + before.getKind() + " has started");
      }
      return withoutDirectives(was, affinity).equals(withoutDirectives(is, affinity))
          ? Optional.empty()
          : Optional.of(path + " is immutable but for scheduling directives");
    }

    private static JsonNode withoutDirectives(JsonNode tree, boolean affinity) {
      JsonNode copy = tree.deepCopy();
      List<JsonNode> specs = new ArrayList<>();
      if (copy.isArray()) {
        copy.forEach(job -> specs.add(job.at("/template/spec/template")));
      } else {
        specs.add(copy);
      }
      for (JsonNode template : specs) {
        ((ObjectNode) template).remove("metadata");
        ObjectNode spec = (ObjectNode) template.get("spec");
        spec.remove("nodeSelector");
        spec.remove("tolerations");
        spec.remove("schedulingGates");
        if (affinity) {
          spec.remove("affinity");
        }
      }
      return copy;
    }

    private void note(String method, String path) {
      writes.add(method + " " + path);
    }

    /** A request's body can be read once only. */
    private static RecordedRequest again(RecordedRequest request, String body) {
      Headers headers = request.getHeaders();
      return new RecordedRequest(
          request.getHttpVersion(),
          request.method(),
          request.getPath(),
          headers,
          new Buffer().writeUtf8(body));
    }

    private static MockResponse refuse(String why) {
      Map<String, Object> status =
          Map.of(
              "apiVersion", "v1",
              "kind", "Status",
              "status", "Failure",
              "reason", "Invalid",
              "code", UNPROCESSABLE,
              "message", why);
      return new MockResponse()
          .setResponseCode(UNPROCESSABLE)
          .setHeader("Content-Type", "application/json")
          .setBody(Serialization.asJson(status));
    }
  }

  // ---- work to give it

  /** A suspended Job of one slice, its pods indexed. */
  static Job job(String name, String topology, int pods) {
    return Serialization.unmarshal(
        """
        apiVersion: batch/v1
        kind: Job
        metadata: {name: %s, namespace: team-a}
        spec:
          suspend: true
          completionMode: Indexed
          completions: %s
          parallelism: %s
          backoffLimit: 0
          template:
            metadata:
              annotations: {cloud.google.com/gke-tpu-slice-topology: %s}
            spec:
              restartPolicy: Never
              nodeSelector: {cloud.google.com/gke-tpu-accelerator: tpu7x}
              containers:
              - {name: w, image: x, resources: {limits: {google.com/tpu: "4"}}}
        """
            .formatted(name, pods, pods, topology),
        Job.class);
  }

  /** A suspended JobSet with one replicated job, {@code workers}, of a slice for each replica. */
  static GenericKubernetesResource jobSet(String name, String topology, int slices, int pods) {
    return Serialization.unmarshal(
        """
        apiVersion: jobset.x-k8s.io/v1alpha2
        kind: JobSet
        metadata:
          name: %s
          namespace: team-a
          annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: cloud.google.com/gke-tpu-slice}
        spec:
          suspend: true
          replicatedJobs:
          - name: workers
            replicas: %s
            template:
              spec:
                completionMode: Indexed
                parallelism: %s
                completions: %s
                backoffLimit: 0
                template:
                  metadata:
                    annotations: {cloud.google.com/gke-tpu-slice-topology: %s}
                  spec:
                    nodeSelector: {cloud.google.com/gke-tpu-accelerator: tpu7x}
                    containers:
                    - {name: w, image: x, resources: {limits: {google.com/tpu: "4"}}}
        """
            .formatted(name, slices, pods, pods, topology),
        GenericKubernetesResource.class);
  }
}
