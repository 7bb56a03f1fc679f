package dev.slicewright.examples.scheduler;

import dev.slicewright.kubernetes.ClusterStep;
import dev.slicewright.kubernetes.ObjectRef;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.NonDeletingOperation;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.BooleanSupplier;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/**
 * Carries out steps so that each may be repeated, and may be done by two at once. Confined to one
 * thread at a time.
 *
 * <p>What exists already is taken as created if it is alike. A workload is changed only while it is
 * what the plan was made for: its uid and its generation, which counts changes of its spec, have to
 * be those that were read, and each patch carries the resource version that was looked at.
 */
final class ClusterWriter {

  static final int NOT_FOUND = 404;
  private static final int CONFLICT = 409; // a stale version, or a name that exists already
  private static final int ATTEMPTS = 5;
  private static final Set<String> READY = Set.of("Ready");
  private static final Set<String> OVER = Set.of("Complete", "Completed", "Failed", "Succeeded");
  private static final JsonMapper JSON = new JsonMapper(); // keeps nulls, which take fields out

  /** What is read or written without a class of its own, by kind. */
  static final Map<String, ResourceDefinitionContext> KINDS =
      Map.of(
          "Slice", kind("accelerator.gke.io", "v1beta1", "Slice", "slices", false),
          "JobSet", kind("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", true),
          "LeaderWorkerSet",
              kind("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets", true),
          "Job", kind("batch", "v1", "Job", "jobs", true),
          "Pod", kind(null, "v1", "Pod", "pods", true));

  private final KubernetesClient client;
  private final Map<ObjectRef, String> planned = new HashMap<>(); // version planned for
  private final Map<ObjectRef, String> changed = new HashMap<>(); // by this round's steps
  private final Map<ObjectRef, GenericKubernetesResource> toCreate = new HashMap<>();
  private final Map<String, String> said = new HashMap<>(); // message by name of event

  ClusterWriter(KubernetesClient client) {
    this.client = client;
  }

  /** The next plan is made for this version of the object. */
  void saw(HasMetadata object) {
    if (KINDS.containsKey(object.getKind())) {
      planned.put(ObjectRef.of(object), version(object));
    }
  }

  void forget(ObjectRef gone) {
    planned.remove(gone);
  }

  private static String version(HasMetadata object) {
    return object.getMetadata().getUid() + "/" + object.getMetadata().getGeneration();
  }

  /** Does one step; whether it is finished, so that others that come after it may follow. */
  boolean perform(ClusterStep step) {
    ObjectRef ref = step.object();
    return switch (step.kind()) {
      case CREATE_SLICE -> create(ref, step.slice().toResource()) && is(READY, at(ref).get());
      case DELETE_SLICE -> delete(ref);
      case SUSPEND -> patch(ref, Map.of("spec", Map.of("suspend", true)));
      case RESUME -> patch(ref, Map.of("spec", Map.of("suspend", false)));
      case PATCH -> unstart(ref) && patch(ref, step.patch().patch());
      case RECREATE -> recreate(step);
      case DELETE_PODS -> deletePods(ref);
      case BIND_PODS -> true; // pods select their slice: kube-scheduler binds them
      case ADMIT -> false; // where Kueue admits, its Workload's status would be written here
    };
  }

  /**
   * A new round begins. What earlier rounds have changed is left alone until it has been read: a
   * plan that does not know of it would do it again.
   *
   * @return what is still to be {@linkplain #createAgain created again}
   */
  Set<ObjectRef> begin() {
    changed.clear();
    return Set.copyOf(toCreate.keySet());
  }

  /** Whether what was deleted to be made anew is there: its name may not have been free yet. */
  boolean createAgain(ObjectRef ref) {
    return create(ref, toCreate.get(ref));
  }

  /** Whether the object is there: made now, or found alike, made by another leader or before. */
  private boolean create(ObjectRef ref, GenericKubernetesResource wanted) {
    boolean made = unless(CONFLICT, () -> client.resource(wanted).create() != null);
    GenericKubernetesResource is = at(ref).get();
    boolean there =
        is != null
            && !is.isMarkedForDeletion() // its successor has to wait until it is gone
            && (made || is.get("spec").equals(wanted.get("spec")));
    if (there) {
      toCreate.remove(ref);
      changed.put(ref, version(is));
    }
    return there;
  }

  /** Whether a condition of one of these types is true. */
  private static boolean is(Set<String> types, GenericKubernetesResource object) {
    List<Map<String, Object>> conditions = object.get("status", "conditions");
    return conditions != null
        && conditions.stream()
            .anyMatch(c -> types.contains(c.get("type")) && "True".equals(c.get("status")));
  }

  /** Whether the object is gone: GKE takes a Slice apart first. */
  boolean delete(ObjectRef ref) {
    asPlanned(ref) // another of the same name may serve by now
        .map(is -> at(ref).lockResourceVersion(is.getMetadata().getResourceVersion()))
        .ifPresent(same -> unless(CONFLICT, () -> !same.delete().isEmpty()));
    return at(ref).get() == null;
  }

  private boolean deletePods(ObjectRef owner) {
    if (owner.kind().equals("Pod")) {
      return delete(owner);
    }
    String label = "leaderworkerset.sigs.k8s.io/name";
    client.pods().inNamespace(owner.namespace()).withLabel(label, owner.name()).delete();
    return true;
  }

  private boolean patch(ObjectRef ref, Map<String, ?> fields) {
    for (int i = 0; i < ATTEMPTS; i++) {
      Optional<GenericKubernetesResource> is = asPlanned(ref);
      if (is.isEmpty()) {
        return false; // gone, or another by now: the next round plans for what it is then
      }
      String body = withVersion(fields, is.get().getMetadata().getResourceVersion());
      PatchContext merge = PatchContext.of(PatchType.JSON_MERGE);
      if (unless(
          CONFLICT,
          () -> {
            changed.put(ref, version(at(ref).patch(merge, body)));
            return true;
          })) {
        return true;
      }
    }
    return false;
  }

  /**
   * Before Kubernetes 1.36 the template of a Job that ran is fixed even while it is suspended,
   * until somebody takes back that it has started.
   */
  private boolean unstart(ObjectRef ref) {
    Optional<GenericKubernetesResource> started =
        asPlanned(ref)
            .filter(is -> is.getKind().equals("Job") && is.get("status", "startTime") != null);
    if (started.isEmpty()) {
      return true;
    }
    Map<String, ?> status = Map.of("status", Collections.singletonMap("startTime", null));
    String body = withVersion(status, started.get().getMetadata().getResourceVersion());
    PatchContext merge = PatchContext.of(PatchType.JSON_MERGE);
    return unless(CONFLICT, () -> at(ref).subresource("status").patch(merge, body) != null);
  }

  private Optional<GenericKubernetesResource> asPlanned(ObjectRef ref) {
    return Optional.ofNullable(at(ref).get())
        .filter(is -> version(is).equals(changed.getOrDefault(ref, planned.get(ref))));
  }

  private static String withVersion(Map<String, ?> fields, String version) {
    Map<String, Object> body = new LinkedHashMap<>(fields);
    Map<Object, Object> metadata =
        new LinkedHashMap<>(body.get("metadata") instanceof Map<?, ?> given ? given : Map.of());
    metadata.put("resourceVersion", version);
    body.put("metadata", metadata);
    return JSON.writeValueAsString(body);
  }

  /** For fields that are fixed once an object is there. */
  private boolean recreate(ClusterStep step) {
    Optional<GenericKubernetesResource> is =
        asPlanned(step.object()).filter(there -> !there.isMarkedForDeletion()); // by its owner
    if (is.isEmpty()) {
      return false;
    }
    Map<String, Object> fields =
        JSON.convertValue(is.get(), new TypeReference<Map<String, Object>>() {});
    Map<String, ?> patched = step.patch().applyTo(fields);
    GenericKubernetesResource wanted =
        Serialization.unmarshal(JSON.writeValueAsString(patched), GenericKubernetesResource.class);
    wanted.getAdditionalProperties().remove("status");
    wanted.getMetadata().setResourceVersion(null);
    wanted.getMetadata().setUid(null);
    wanted.getMetadata().setCreationTimestamp(null);
    wanted.getMetadata().setManagedFields(null);
    toCreate.put(step.object(), wanted); // tried again each round until the name is free
    at(step.object()).delete();
    return create(step.object(), wanted);
  }

  /**
   * Whether the work that a Slice was made for is gone or done. The API server is asked: what could
   * not be read is not gone.
   */
  boolean isOver(String request) {
    String[] id = request.split("/", -1); // kind, namespace, name and, of some kinds, pod set
    if (id.length < 3 || !KINDS.containsKey(id[0]) || request.contains("~")) {
      return false; // not ours to judge; an id that was too long is cut off at ~
    }
    GenericKubernetesResource work = at(new ObjectRef("", id[0], id[1], id[2])).get();
    return work == null
        || is(OVER, work)
        || OVER.contains(Objects.toString(work.get("status", "phase"))); // of a pod
  }

  /** An event is one object for the same thing said again; it is written when its words change. */
  boolean say(Event event) {
    String key = event.getMetadata().getNamespace() + "/" + event.getMetadata().getName();
    if (!event.getMessage().equals(said.get(key))) {
      client.v1().events().resource(event).createOr(NonDeletingOperation::update);
      said.put(key, event.getMessage());
    }
    return true;
  }

  void sayAgain() {
    said.clear();
  }

  private Resource<GenericKubernetesResource> at(ObjectRef ref) {
    var all = client.genericKubernetesResources(KINDS.get(ref.kind()));
    return ref.namespace().isEmpty()
        ? all.withName(ref.name())
        : all.inNamespace(ref.namespace()).withName(ref.name());
  }

  /** What a request says, or false if it is answered with this code. */
  static boolean unless(int code, BooleanSupplier request) {
    try {
      return request.getAsBoolean();
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
