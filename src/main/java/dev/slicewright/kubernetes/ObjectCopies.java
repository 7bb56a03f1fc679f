package dev.slicewright.kubernetes;

import io.fabric8.kubernetes.api.model.Affinity;
import io.fabric8.kubernetes.api.model.AffinityBuilder;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.Container;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.OwnerReference;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodCondition;
import io.fabric8.kubernetes.api.model.PodSchedulingGate;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.PodStatus;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.ResourceRequirements;
import io.fabric8.kubernetes.api.model.Toleration;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.json.JsonMapper;

/**
 * Copies of the objects that matter beside nodes: nobody's later changes reach them. Of pods, which
 * are many, only what placing and binding them needs; work, Slices, priority classes and holds
 * whole.
 */
final class ObjectCopies {

  private static final ObjectMapper MAPPER = new JsonMapper();
  private static final int MAX_DEPTH = 256; // far deeper than any resource

  /** Kinds that are copied whole. */
  private static final Set<String> WHOLE =
      Set.of(
          "Job",
          "JobSet",
          "LeaderWorkerSet",
          "Workload",
          SliceManifest.KIND,
          "PriorityClass",
          "WorkloadPriorityClass");

  /** Controllers whose pods, if they want no chips, keep no TPU pods company. */
  private static final Set<String> APART = Set.of("DaemonSet", "ReplicaSet", "Node");

  private ObjectCopies() {}

  /** A copy of an object that is no node; empty if it has nothing to do with TPUs. */
  static Optional<HasMetadata> of(HasMetadata given) {
    HasMetadata object = typed(given);
    if (object instanceof Pod pod) {
      return matters(pod) ? Optional.of(copy(pod)) : Optional.empty();
    }
    if (object instanceof ConfigMap) {
      return Generic.labels(object).containsKey(TpuLabels.OWN_HOLD)
          ? Optional.of(whole(object))
          : Optional.empty();
    }
    String kind = object.getKind();
    return kind != null && WHOLE.contains(kind) ? Optional.of(whole(object)) : Optional.empty();
  }

  /** An object of the class that its kind has; itself where that is no class of this library. */
  static HasMetadata typed(HasMetadata object) {
    if (!(object instanceof GenericKubernetesResource)) {
      return object;
    }
    Class<? extends HasMetadata> type =
        switch (object.getApiVersion() + "/" + object.getKind()) {
          case "v1/Node" -> Node.class;
          case "v1/Pod" -> Pod.class;
          case "v1/ConfigMap" -> ConfigMap.class;
          case "batch/v1/Job" -> Job.class;
          default -> null;
        };
    try {
      return type == null ? object : MAPPER.convertValue(object, type);
    } catch (JacksonException | IllegalArgumentException e) {
      return object; // what reads it says what is wrong with it
    }
  }

  private static HasMetadata whole(HasMetadata object) {
    if (!(object instanceof GenericKubernetesResource)) {
      try {
        HasMetadata copy = MAPPER.treeToValue(MAPPER.valueToTree(object), object.getClass());
        if (copy != null) {
          return copy;
        }
      } catch (JacksonException | IllegalArgumentException e) {
        // Then as a tree, as far as it goes.
      }
    }
    GenericKubernetesResource from = Generic.of(object);
    GenericKubernetesResource copy = new GenericKubernetesResource();
    copy.setApiVersion(from.getApiVersion());
    copy.setKind(from.getKind());
    copy.setMetadata(copy(from.getMetadata()));
    Map<String, Object> fields = from.getAdditionalProperties();
    if (fields != null) {
      copy.setAdditionalProperties(copy(fields, 0));
    }
    return copy;
  }

  private static Map<String, Object> copy(Map<?, ?> map, int depth) {
    Map<String, Object> copy = new LinkedHashMap<>();
    map.forEach(
        (key, value) -> {
          if (key != null) {
            copy.put(String.valueOf(key), tree(value, depth + 1));
          }
        });
    return copy;
  }

  private static @Nullable Object tree(@Nullable Object value, int depth) {
    if (depth > MAX_DEPTH) {
      return null;
    }
    if (value instanceof Map<?, ?> map) {
      return copy(map, depth);
    }
    if (value instanceof List<?> list) {
      List<@Nullable Object> copy = new ArrayList<>(list.size());
      list.forEach(entry -> copy.add(tree(entry, depth + 1)));
      return copy;
    }
    return value;
  }

  // ---------------------------------------------------------------- pods

  private static boolean matters(Pod pod) {
    if (WorkIndex.wantsChips(pod) || Generic.labels(pod).containsKey(WorkIndex.POD_GROUP)) {
      return true;
    }
    ObjectMeta metadata = pod.getMetadata();
    if (metadata == null || metadata.getOwnerReferences() == null) {
      return false;
    }
    for (OwnerReference owner : metadata.getOwnerReferences()) {
      if (owner != null
          && Boolean.TRUE.equals(owner.getController())
          && !APART.contains(Objects.requireNonNullElse(owner.getKind(), ""))) {
        return true;
      }
    }
    return false;
  }

  private static Pod copy(Pod from) {
    Pod pod = new Pod();
    pod.setApiVersion(from.getApiVersion());
    pod.setMetadata(copy(from.getMetadata()));
    if (from.getSpec() != null) {
      pod.setSpec(copy(from.getSpec()));
    }
    if (from.getStatus() != null) {
      pod.setStatus(copy(from.getStatus()));
    }
    return pod;
  }

  private static @Nullable ObjectMeta copy(@Nullable ObjectMeta from) {
    if (from == null) {
      return null;
    }
    ObjectMeta metadata = new ObjectMeta();
    metadata.setName(from.getName());
    metadata.setNamespace(from.getNamespace());
    metadata.setUid(from.getUid());
    metadata.setGeneration(from.getGeneration());
    metadata.setResourceVersion(from.getResourceVersion());
    metadata.setCreationTimestamp(from.getCreationTimestamp());
    metadata.setDeletionTimestamp(from.getDeletionTimestamp());
    metadata.setLabels(copy(from.getLabels()));
    metadata.setAnnotations(copy(from.getAnnotations()));
    metadata.setFinalizers(each(from.getFinalizers(), name -> name));
    metadata.setOwnerReferences(each(from.getOwnerReferences(), ObjectCopies::copy));
    return metadata;
  }

  private static OwnerReference copy(OwnerReference from) {
    OwnerReference owner = new OwnerReference();
    owner.setApiVersion(from.getApiVersion());
    owner.setKind(from.getKind());
    owner.setName(from.getName());
    owner.setUid(from.getUid());
    owner.setController(from.getController());
    owner.setBlockOwnerDeletion(from.getBlockOwnerDeletion());
    return owner;
  }

  private static PodSpec copy(PodSpec from) {
    PodSpec spec = new PodSpec();
    spec.setNodeName(from.getNodeName());
    spec.setNodeSelector(copy(from.getNodeSelector()));
    Affinity affinity = from.getAffinity();
    spec.setAffinity(affinity == null ? null : new AffinityBuilder(affinity).build());
    spec.setTolerations(each(from.getTolerations(), ObjectCopies::copy));
    spec.setPriority(from.getPriority());
    spec.setPriorityClassName(from.getPriorityClassName());
    spec.setSchedulerName(from.getSchedulerName());
    spec.setRestartPolicy(from.getRestartPolicy());
    spec.setHostname(from.getHostname());
    spec.setSubdomain(from.getSubdomain());
    spec.setSchedulingGates(each(from.getSchedulingGates(), ObjectCopies::copy));
    spec.setContainers(each(from.getContainers(), ObjectCopies::copy));
    spec.setInitContainers(each(from.getInitContainers(), ObjectCopies::copy));
    return spec;
  }

  private static Toleration copy(Toleration from) {
    Toleration toleration = new Toleration();
    toleration.setKey(from.getKey());
    toleration.setOperator(from.getOperator());
    toleration.setValue(from.getValue());
    toleration.setEffect(from.getEffect());
    toleration.setTolerationSeconds(from.getTolerationSeconds());
    return toleration;
  }

  private static PodSchedulingGate copy(PodSchedulingGate from) {
    return new PodSchedulingGate(from.getName());
  }

  private static Container copy(Container from) {
    Container container = new Container();
    container.setName(from.getName());
    container.setRestartPolicy(
        from.getRestartPolicy()); // tells side-cars from other init containers
    ResourceRequirements resources = from.getResources();
    if (resources != null) {
      ResourceRequirements copy = new ResourceRequirements();
      copy.setLimits(quantities(resources.getLimits()));
      copy.setRequests(quantities(resources.getRequests()));
      container.setResources(copy);
    }
    return container;
  }

  private static @Nullable Map<String, Quantity> quantities(@Nullable Map<String, Quantity> from) {
    if (from == null || from.isEmpty()) {
      return from == null ? null : new LinkedHashMap<>();
    }
    Map<String, Quantity> copy = new LinkedHashMap<>();
    from.forEach(
        (name, amount) ->
            copy.put(
                name,
                amount == null ? null : new Quantity(amount.getAmount(), amount.getFormat())));
    return copy;
  }

  private static PodStatus copy(PodStatus from) {
    PodStatus status = new PodStatus();
    status.setPhase(from.getPhase());
    status.setReason(from.getReason());
    status.setStartTime(from.getStartTime());
    status.setNominatedNodeName(from.getNominatedNodeName());
    status.setConditions(each(from.getConditions(), ObjectCopies::copy));
    return status;
  }

  private static PodCondition copy(PodCondition from) {
    PodCondition condition = new PodCondition();
    condition.setType(from.getType());
    condition.setStatus(from.getStatus());
    condition.setReason(from.getReason());
    condition.setLastTransitionTime(from.getLastTransitionTime());
    return condition;
  }

  private static @Nullable Map<String, String> copy(@Nullable Map<String, String> from) {
    return from == null ? null : new LinkedHashMap<>(from);
  }

  private static <T> @Nullable List<T> each(@Nullable List<T> from, UnaryOperator<T> copy) {
    if (from == null) {
      return null;
    }
    List<T> all = new ArrayList<>(from.size());
    for (T one : from) {
      if (one != null) {
        all.add(copy.apply(one));
      }
    }
    return all;
  }
}
