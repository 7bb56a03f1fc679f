package dev.slicewright.kubernetes;

import dev.slicewright.Problems;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.OwnerReference;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The objects that are work, by name, and which of them are part of others: pods of jobs, jobs of
 * JobSets, Kueue Workloads of the object that they are for. Immutable, safe to share.
 */
final class WorkIndex {

  /** Label: the pod group of a pod, and the name of the Workload that Kueue makes for it. */
  static final String POD_GROUP = "kueue.x-k8s.io/pod-group-name";

  /** Annotation: the admitted Workload of a pod. */
  static final String WORKLOAD = "kueue.x-k8s.io/workload";

  private static final int MAX_DEPTH = 8; // no real chain of owners is longer

  private final List<HasMetadata> objects = new ArrayList<>();
  private final Map<String, HasMetadata> byKey = new HashMap<>();
  private final Map<String, List<HasMetadata>> workloads = new HashMap<>(); // by key of the owner
  private final Map<String, HasMetadata> strangers = new HashMap<>(); // Workloads by other owners

  /** Indexes the objects of a cluster; versions that are not read, and doubles, are problems. */
  WorkIndex(List<HasMetadata> all, Problems problems, List<LeftOut> leftOut) {
    List<HasMetadata> work = new ArrayList<>();
    for (HasMetadata object : all) {
      if (WorkKind.of(object).isPresent() && (!isPod(object) || wantsChips(object))) {
        work.add(object);
      }
    }
    work.sort(Comparator.comparing(ObjectRef::of));
    for (HasMetadata object : work) {
      add(object, problems, leftOut);
    }
    for (HasMetadata object : objects) {
      if (kind(object) == WorkKind.WORKLOAD) {
        addOwners(object);
      }
    }
  }

  private void add(HasMetadata object, Problems problems, List<LeftOut> leftOut) {
    ObjectRef ref = ObjectRef.of(object);
    List<String> versions = kind(object).versions();
    if (!versions.contains(ref.apiVersion())) {
      String message =
          "expected "
              + String.join(" or ", versions)
              + ", but was \""
              + ref.apiVersion()
              + "\"; convert the object";
      problems.add(ref.path() + ".apiVersion", message);
      leftOut.add(new LeftOut(ref, message));
    } else if (byKey.putIfAbsent(key(object), object) != null) {
      String message = "expected each object once, but there are several; remove all but one";
      problems.add(ref.path(), message);
      leftOut.add(new LeftOut(ref, message));
    } else {
      objects.add(object);
    }
  }

  private void addOwners(HasMetadata workload) {
    for (OwnerReference owner : owners(workload)) {
      String key = key(namespace(workload), owner);
      HasMetadata known = byKey.get(key);
      if (known == null) {
        strangers.putIfAbsent(key, workload);
      } else if (!isInGroupOf(known, workload)) {
        workloads.computeIfAbsent(key, k -> new ArrayList<>()).add(workload);
      }
    }
  }

  /** Pods of a pod group own its Workload, and are part of it all the same. */
  private static boolean isInGroupOf(HasMetadata object, HasMetadata workload) {
    return isPod(object) && name(workload).equals(Generic.labels(object).get(POD_GROUP));
  }

  /** The objects, in the order of their names. */
  List<HasMetadata> objects() {
    return objects;
  }

  Optional<HasMetadata> find(WorkKind kind, String namespace, String name) {
    return Optional.ofNullable(byKey.get(key(kind.kind(), namespace, name)));
  }

  /** The Kueue Workloads of an object. */
  List<HasMetadata> workloadsOf(HasMetadata object) {
    return workloads.getOrDefault(key(object), List.of());
  }

  /** The object that another is part of, if that is here. */
  Optional<HasMetadata> parent(HasMetadata object) {
    String namespace = namespace(object);
    boolean isWorkload = kind(object) == WorkKind.WORKLOAD;
    for (OwnerReference owner : owners(object)) {
      HasMetadata known = byKey.get(key(namespace, owner));
      boolean counts = isWorkload || Boolean.TRUE.equals(owner.getController());
      if (known != null && counts && !(isWorkload && isInGroupOf(known, object))) {
        return Optional.of(known);
      }
    }
    if (isWorkload) {
      return Optional.empty();
    }
    if (isPod(object)) {
      Map<String, String> labels = Generic.labels(object);
      // Between a LeaderWorkerSet and its pods there are StatefulSets.
      String set = labels.get(PodOwners.LWS);
      HasMetadata leaderWorkerSet =
          set == null ? null : byKey.get(key(WorkKind.LEADER_WORKER_SET.kind(), namespace, set));
      if (leaderWorkerSet != null) {
        return Optional.of(leaderWorkerSet);
      }
      for (String name :
          new @Nullable String[] {
            labels.get(POD_GROUP), Generic.annotations(object).get(WORKLOAD)
          }) {
        HasMetadata workload =
            name == null ? null : byKey.get(key(WorkKind.WORKLOAD.kind(), namespace, name));
        if (workload != null) {
          return Optional.of(workload);
        }
      }
    }
    for (OwnerReference owner : owners(object)) {
      if (Boolean.TRUE.equals(owner.getController())) {
        return Optional.ofNullable(strangers.get(key(namespace, owner)));
      }
    }
    return Optional.empty();
  }

  /** The object that another belongs to in the end; itself if to none. */
  HasMetadata top(HasMetadata object) {
    HasMetadata at = object;
    for (int depth = 0; depth < MAX_DEPTH; depth++) {
      HasMetadata parent = parent(at).orElse(null);
      if (parent == null) {
        return at;
      }
      at = parent;
    }
    return at;
  }

  /** The controller of an object, here or not. */
  static Optional<OwnerReference> controller(HasMetadata object) {
    for (OwnerReference owner : owners(object)) {
      if (Boolean.TRUE.equals(owner.getController())) {
        return Optional.of(owner);
      }
    }
    return Optional.empty();
  }

  private static List<OwnerReference> owners(HasMetadata object) {
    ObjectMeta metadata = object.getMetadata();
    List<OwnerReference> owners = metadata == null ? null : metadata.getOwnerReferences();
    if (owners == null) {
      return List.of();
    }
    return owners.contains(null) ? owners.stream().filter(owner -> owner != null).toList() : owners;
  }

  static String namespace(HasMetadata object) {
    ObjectMeta metadata = object.getMetadata();
    return metadata == null || metadata.getNamespace() == null ? "" : metadata.getNamespace();
  }

  static String name(HasMetadata object) {
    ObjectMeta metadata = object.getMetadata();
    return metadata == null || metadata.getName() == null ? "" : metadata.getName();
  }

  static WorkKind kind(HasMetadata object) {
    return WorkKind.of(object).orElse(WorkKind.POD);
  }

  private static boolean isPod(HasMetadata object) {
    return "Pod".equals(object.getKind());
  }

  private static String key(HasMetadata object) {
    return key(String.valueOf(object.getKind()), namespace(object), name(object));
  }

  /** Owners are in the namespace of what they own. */
  private static String key(String namespace, OwnerReference owner) {
    // Other kinds of the same name in other groups are not ours.
    String kind = String.valueOf(owner.getKind());
    String group =
        WorkKind.of(owner.getApiVersion(), owner.getKind()).isPresent()
            ? ""
            : WorkKind.group(owner.getApiVersion()) + ":";
    return key(group + kind, namespace, String.valueOf(owner.getName()));
  }

  private static String key(String kind, String namespace, String name) {
    return kind + "/" + namespace + "/" + name;
  }

  /** Whether any container of a pod names chips. */
  static boolean wantsChips(HasMetadata pod) {
    if (!(pod instanceof Pod typed)) {
      return new PodTemplate(
              Generic.read(pod, new Problems()).get("spec"),
              List.of(Generic.read("", Map.of(), new Problems())))
          .namesChips();
    }
    return PodChips.anyAmount(typed.getSpec(), amounts -> amounts.containsKey(TpuLabels.TPU));
  }
}
