package dev.slicewright.examples.scheduler;

import dev.slicewright.SolveBudget;
import dev.slicewright.kubernetes.Cluster;
import dev.slicewright.kubernetes.ClusterPlan;
import dev.slicewright.kubernetes.ClusterReader;
import dev.slicewright.kubernetes.ClusterStep;
import dev.slicewright.kubernetes.ObjectRef;
import dev.slicewright.kubernetes.TpuLabels;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.solve.SlicePlanner;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.KubernetesResourceList;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.FilterWatchListDeletable;
import io.fabric8.kubernetes.client.dsl.NonDeletingOperation;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.function.Supplier;
import tools.jackson.databind.json.JsonMapper;

/**
 * A scheduler for GKE's dynamic slicing, to start your own from.
 *
 * <p>Each round takes in what has changed, plans, and does what can be done now. What has to wait,
 * such as for a Slice to form or to go, is found again in a later round, so that nothing is lost
 * with this process. A second leader does no harm: the name of a Slice follows from its request and
 * its place, so equal names are equal Slices; of two that overlap, GKE forms the first and fails the
 * other, which is then planned elsewhere; and a workload is changed only as long as it is what the
 * plan was made for. Confined to one thread at a time, but for the watches' own threads.
 */
public final class SchedulerLoop {

  private static final String NAME = "slicewright-scheduler";
  private static final SolveBudget BUDGET = SolveBudget.within(Duration.ofMillis(800));
  private static final Duration RESYNC = Duration.ofMinutes(5);
  private static final Duration IDLE = Duration.ofSeconds(10);
  private static final int ATTEMPTS = 5;
  private static final int NOT_FOUND = 404;
  private static final int CONFLICT = 409; // a stale version, or a name that exists already
  private static final System.Logger LOG = System.getLogger(SchedulerLoop.class.getName());
  private static final JsonMapper JSON = new JsonMapper();

  /** What has no class of its own in the client, and whatever is written, by kind. */
  private static final Map<String, ResourceDefinitionContext> KINDS =
      Map.of(
          "Slice", kind("accelerator.gke.io", "v1beta1", "Slice", "slices", false),
          "JobSet", kind("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", true),
          "LeaderWorkerSet",
              kind("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets", true),
          "Job", kind("batch", "v1", "Job", "jobs", true),
          "Pod", kind(null, "v1", "Pod", "pods", true));

  private final KubernetesClient client;
  private final InstantSource clock;
  private final ClusterReader reader = ClusterReader.builder().lenient(true).build();
  private final SlicePlanner planner = SlicePlanner.create();
  private final Map<ObjectRef, Optional<HasMetadata>> news = new LinkedHashMap<>(); // its own lock
  private final Map<ObjectRef, Long> generations = new HashMap<>(); // of what was planned for
  private final Map<ObjectRef, GenericKubernetesResource> toCreate = new HashMap<>();
  private final Map<String, String> said = new HashMap<>(); // message by name of event
  private Cluster cluster;

  public SchedulerLoop(KubernetesClient client, InstantSource clock) {
    this.client = client;
    this.clock = clock;
    this.cluster = reader.read(List.of());
  }

  public static void main(String[] args) {
    try (KubernetesClient client = new KubernetesClientBuilder().build()) {
      SchedulerLoop loop = new SchedulerLoop(client, InstantSource.system());
      client
          .leaderElector()
          .withConfig(
              new LeaderElectionConfigBuilder()
                  .withName(NAME)
                  .withLock(
                      new LeaseLock(client.getNamespace(), NAME, UUID.randomUUID().toString()))
                  .withLeaseDuration(Duration.ofSeconds(15))
                  .withRenewDeadline(Duration.ofSeconds(10))
                  .withRetryPeriod(Duration.ofSeconds(2))
                  .withReleaseOnCancel(true)
                  .withLeaderCallbacks(
                      new LeaderCallbacks(
                          () -> new Thread(loop::run, NAME).start(),
                          () -> System.exit(1), // started anew, it waits for its turn
                          leader -> LOG.log(System.Logger.Level.INFO, "leader: " + leader)))
                  .build())
          .build()
          .run();
    }
  }

  /** Rounds until the thread is interrupted; everything is read anew now and then. */
  public void run() {
    watch();
    Instant resync = Instant.MIN;
    while (!Thread.currentThread().isInterrupted()) {
      try {
        if (!clock.instant().isBefore(resync)) {
          resync();
          resync = clock.instant().plus(RESYNC);
        }
        round();
        synchronized (news) {
          if (news.isEmpty()) {
            news.wait(IDLE.toMillis());
          }
        }
      } catch (KubernetesClientException e) {
        LOG.log(System.Logger.Level.WARNING, "the next round tries again", e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }

  // ---- in

  private List<
          FilterWatchListDeletable<
              ? extends HasMetadata, ? extends KubernetesResourceList<? extends HasMetadata>, ?>>
      sources() {
    return List.of(
        client.nodes(),
        client.pods().inAnyNamespace(),
        client.batch().v1().jobs().inAnyNamespace(),
        client.scheduling().v1().priorityClasses(),
        client.configMaps().inAnyNamespace().withLabel(TpuLabels.OWN_HOLD),
        client.genericKubernetesResources(KINDS.get("Slice")),
        client.genericKubernetesResources(KINDS.get("JobSet")).inAnyNamespace(),
        client.genericKubernetesResources(KINDS.get("LeaderWorkerSet")).inAnyNamespace());
  }

  /** Reads the whole cluster. */
  public void resync() {
    List<HasMetadata> objects = new ArrayList<>();
    for (var source : sources()) {
      unless(NOT_FOUND, () -> objects.addAll(source.list().getItems())); // no such CRD here
    }
    generations.clear();
    objects.forEach(object -> saw(object));
    cluster = reader.read(objects);
    cluster.problems().forEach(p -> LOG.log(System.Logger.Level.WARNING, p.toString()));
  }

  /** From now on changes come by themselves; a round takes in those that have arrived. */
  public void watch() {
    ResourceEventHandler<HasMetadata> handler =
        new ResourceEventHandler<>() {
          @Override
          public void onAdd(HasMetadata object) {
            heard(object, Optional.of(object));
          }

          @Override
          public void onUpdate(HasMetadata before, HasMetadata object) {
            heard(object, Optional.of(object));
          }

          @Override
          public void onDelete(HasMetadata object, boolean unknown) {
            heard(object, Optional.empty());
          }
        };
    for (var source : sources()) {
      unless(NOT_FOUND, () -> source.inform(handler) != null);
    }
  }

  private void heard(HasMetadata object, Optional<HasMetadata> is) {
    synchronized (news) {
      news.put(ObjectRef.of(object), is);
      news.notifyAll();
    }
  }

  private void takeIn() {
    List<HasMetadata> changed = new ArrayList<>();
    List<ObjectRef> gone = new ArrayList<>();
    synchronized (news) {
      news.forEach((ref, is) -> is.ifPresentOrElse(changed::add, () -> gone.add(ref)));
      news.clear();
    }
    changed.forEach(this::saw);
    gone.forEach(generations::remove);
    if (!changed.isEmpty() || !gone.isEmpty()) {
      cluster = cluster.update(changed, gone);
    }
  }

  private void saw(HasMetadata object) {
    generations.put(ObjectRef.of(object), object.getMetadata().getGeneration());
  }

  // ---- plan, and out

  /**
   * One round.
   *
   * @return what was done or could not be done, in words; empty if there was nothing to do
   */
  public List<String> round() {
    takeIn();
    List<String> done = new ArrayList<>();
    Map.copyOf(toCreate).forEach((ref, object) -> done.add(ref + " created: " + create(ref, object)));
    // Nothing that runs is touched but to repair it. Quotas, permissions to move or to evict: here.
    PlanningRules rules = PlanningRules.builder().now(clock.instant()).build();
    Plan plan = planner.repair(cluster.fleet(), rules, BUDGET);
    if (plan.moves().isEmpty() && plan.evictions().isEmpty()) {
      plan = planner.plan(cluster.fleet(), cluster.requests(), rules, BUDGET);
    }
    ClusterPlan todo = ClusterPlan.of(cluster, plan);
    Set<Integer> finished = new HashSet<>();
    for (ClusterStep step : todo.steps()) {
      if (finished.containsAll(step.after())) {
        try {
          boolean finish = perform(step);
          done.add(step + (finish ? "" : ", to be finished"));
          if (finish) {
            finished.add(step.number());
          }
        } catch (KubernetesClientException e) { // what does not follow from it goes on
          done.add(step + " failed: " + e.getMessage());
        }
      }
    }
    todo.events().forEach(this::say);
    done.forEach(line -> LOG.log(System.Logger.Level.INFO, line));
    return done;
  }

  /** Does one step; whether it is finished, so that others that come after it may follow. */
  private boolean perform(ClusterStep step) {
    ObjectRef ref = step.object();
    return switch (step.kind()) {
      case CREATE_SLICE -> create(ref, step.slice().toResource()) && isReady(ref);
      case DELETE_SLICE -> delete(ref);
      case SUSPEND -> patch(ref, Map.of("spec", Map.of("suspend", true)));
      case RESUME -> patch(ref, Map.of("spec", Map.of("suspend", false)));
      case PATCH -> patch(ref, step.patch().patch());
      case RECREATE -> recreate(step);
      case DELETE_PODS -> deletePods(ref);
      case BIND_PODS -> true; // they select their slice: kube-scheduler binds them
      case ADMIT -> false; // with Kueue in charge, its admission is written here
    };
  }

  private Resource<GenericKubernetesResource> at(ObjectRef ref) {
    var all = client.genericKubernetesResources(KINDS.get(ref.kind()));
    return ref.namespace().isEmpty()
        ? all.withName(ref.name())
        : all.inNamespace(ref.namespace()).withName(ref.name());
  }

  /** Whether the object is there: made now, or found alike, made by another leader or before. */
  private boolean create(ObjectRef ref, GenericKubernetesResource wanted) {
    boolean made = unless(CONFLICT, () -> client.resource(wanted).create() != null);
    GenericKubernetesResource is = at(ref).get();
    boolean there =
        is != null
            && !is.isMarkedForDeletion() // or else its successor waits until it is gone
            && (made || is.get("spec").equals(wanted.get("spec")));
    if (there) {
      toCreate.remove(ref);
    }
    return there;
  }

  private boolean isReady(ObjectRef slice) {
    return cluster.slices().stream()
        .filter(s -> s.name().equals(slice.name()))
        .anyMatch(s -> s.state().filter(state -> state.isReady()).isPresent());
  }

  private boolean delete(ObjectRef ref) {
    at(ref).delete();
    return at(ref).get() == null; // GKE takes a Slice apart first
  }

  private boolean deletePods(ObjectRef owner) {
    if (owner.kind().equals("Pod")) {
      return delete(owner);
    }
    String label = "leaderworkerset.sigs.k8s.io/name";
    client.pods().inNamespace(owner.namespace()).withLabel(label, owner.name()).delete();
    return true;
  }

  /** The object as it is now, if that is what the plan was made for. */
  private Optional<GenericKubernetesResource> asPlanned(ObjectRef ref) {
    GenericKubernetesResource is = at(ref).get();
    return Optional.ofNullable(is)
        .filter(o -> Objects.equals(o.getMetadata().getGeneration(), generations.get(ref)));
  }

  /** Patches the version that it has looked at and no other, so that nobody's change is lost. */
  private boolean patch(ObjectRef ref, Map<String, ?> fields) {
    for (int i = 0; i < ATTEMPTS; i++) {
      Optional<GenericKubernetesResource> is = asPlanned(ref);
      if (is.isEmpty()) {
        return false; // gone, or another: the next round plans for it as it is then
      }
      Map<String, Object> body = new LinkedHashMap<>(fields);
      Map<Object, Object> metadata =
          new LinkedHashMap<>(body.get("metadata") instanceof Map<?, ?> given ? given : Map.of());
      metadata.put("resourceVersion", is.get().getMetadata().getResourceVersion());
      body.put("metadata", metadata);
      PatchContext merge = PatchContext.of(PatchType.JSON_MERGE);
      String json = JSON.writeValueAsString(body);
      if (unless(
          CONFLICT,
          () -> {
            saw(at(ref).patch(merge, json));
            return true;
          })) {
        return true;
      }
    }
    return false;
  }

  /** For fields that are fixed once an object is there. What is deleted here is created below. */
  private boolean recreate(ClusterStep step) {
    Optional<GenericKubernetesResource> is = asPlanned(step.object());
    if (is.isEmpty()) {
      return false;
    }
    Map<?, ?> fields = JSON.convertValue(is.get(), Map.class);
    @SuppressWarnings("unchecked")
    Map<String, Object> patched = step.patch().applyTo((Map<String, ?>) fields);
    patched.remove("status");
    GenericKubernetesResource wanted =
        Serialization.unmarshal(JSON.writeValueAsString(patched), GenericKubernetesResource.class);
    wanted.getMetadata().setResourceVersion(null);
    wanted.getMetadata().setUid(null);
    wanted.getMetadata().setCreationTimestamp(null);
    wanted.getMetadata().setManagedFields(null);
    toCreate.put(step.object(), wanted); // tried again each round, should the old one take time
    at(step.object()).delete();
    return create(step.object(), wanted);
  }

  /** An event is one object for the same thing said again; it is written when its words change. */
  private void say(Event event) {
    String key = event.getMetadata().getNamespace() + "/" + event.getMetadata().getName();
    if (!event.getMessage().equals(said.put(key, event.getMessage()))) {
      client.v1().events().resource(event).createOr(NonDeletingOperation::update);
    }
  }

  private static boolean unless(int code, Supplier<Boolean> request) {
    try {
      return request.get();
    } catch (KubernetesClientException e) {
      if (e.getCode() != code) {
        throw e;
      }
      return false;
    }
  }

  private static ResourceDefinitionContext kind(
      String group, String version, String kind, String plural, boolean namespaced) {
    return new ResourceDefinitionContext.Builder()
        .withGroup(group)
        .withVersion(version)
        .withKind(kind)
        .withPlural(plural)
        .withNamespaced(namespaced)
        .build();
  }
}
