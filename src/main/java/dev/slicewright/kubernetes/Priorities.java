package dev.slicewright.kubernetes;

import dev.slicewright.Problems;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The priority classes of a cluster: Kubernetes' and Kueue's. Confined to one thread at a time.
 *
 * <p>Of several classes that claim to be the default for all, the lowest counts, as in Kubernetes'
 * admission.
 */
final class Priorities {

  private static final String CLASS = "PriorityClass";
  private static final String WORKLOAD_CLASS = "WorkloadPriorityClass";
  private static final Map<String, List<String>> VERSIONS =
      Map.of(
          CLASS, List.of("scheduling.k8s.io/v1"),
          WORKLOAD_CLASS, List.of("kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1"));

  private final Map<String, Long> classes = new HashMap<>();
  private final Map<String, Long> workloadClasses = new HashMap<>();
  private @Nullable Long byDefault;

  /** Reads classes; of several of one name, the last counts. */
  Priorities(List<HasMetadata> objects, Problems problems) {
    // Kubernetes has these two without an object.
    classes.put("system-node-critical", 2_000_001_000L);
    classes.put("system-cluster-critical", 2_000_000_000L);
    for (HasMetadata object : objects) {
      add(object, VERSIONS.getOrDefault(object.getKind(), List.of()), problems);
    }
  }

  /** Whether an object is a priority class of either kind, whatever its version. */
  static boolean isClass(HasMetadata object) {
    List<String> versions = object.getKind() == null ? null : VERSIONS.get(object.getKind());
    return versions != null
        && WorkKind.group(versions.get(0)).equals(WorkKind.group(object.getApiVersion()));
  }

  private void add(HasMetadata object, List<String> versions, Problems problems) {
    ObjectRef ref = ObjectRef.of(object);
    if (!versions.contains(ref.apiVersion())) {
      problems.add(
          ref.path() + ".apiVersion",
          "expected "
              + String.join(" or ", versions)
              + ", but was \""
              + ref.apiVersion()
              + "\"; convert the object");
      return;
    }
    Generic fields = Generic.read(object, problems);
    OptionalLong value = fields.whole("value");
    if (value.isEmpty()) {
      if (!fields.get("value").isPresent()) {
        fields.get("value").problem("a whole number", "write the priority");
      }
      return;
    }
    if (ref.kind().equals(WORKLOAD_CLASS)) {
      workloadClasses.put(ref.name(), value.getAsLong());
      return;
    }
    classes.put(ref.name(), value.getAsLong());
    if (fields.flag("globalDefault").orElse(false)) {
      long given = value.getAsLong();
      byDefault = byDefault == null ? given : Math.min(byDefault, given);
    }
  }

  /** The priority of work that names no class. */
  long byDefault() {
    return byDefault == null ? 0 : byDefault;
  }

  /** The value of a class; a problem of the field that names it, and 0, if there is none. */
  long of(String name, Generic field) {
    return value(classes, CLASS, name, field);
  }

  /** The value of one of Kueue's classes; a problem of the field, and 0, if there is none. */
  long ofWorkload(String name, Generic field) {
    return value(workloadClasses, WORKLOAD_CLASS, name, field);
  }

  private static long value(Map<String, Long> from, String kind, String name, Generic field) {
    Long value = from.get(name);
    if (value == null) {
      field.problem(
          "the name of a " + kind + " among the objects",
          "hand in the " + kind + ", or name another; until then the priority is 0");
      return 0;
    }
    return value;
  }
}
