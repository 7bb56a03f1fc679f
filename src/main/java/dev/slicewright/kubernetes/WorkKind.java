package dev.slicewright.kubernetes;

import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The kinds of objects that are work, and the versions of each that are read. */
enum WorkKind {
  POD("Pod", "v1"),
  JOB("Job", "batch/v1"),
  JOB_SET("JobSet", "jobset.x-k8s.io/v1alpha2"),
  LEADER_WORKER_SET("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1"),
  WORKLOAD("Workload", "kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1");

  private final String kind;
  private final List<String> versions;

  WorkKind(String kind, String... versions) {
    this.kind = kind;
    this.versions = List.of(versions);
  }

  String kind() {
    return kind;
  }

  /** Whether requests are made of its pod sets, not of the object, and are named after them. */
  boolean hasPodSets() {
    return this == JOB_SET || this == WORKLOAD;
  }

  /** The versions read, the newest first. */
  List<String> versions() {
    return versions;
  }

  /**
   * The kind of an object, by kind and API group; whether its version is read is another matter.
   */
  static Optional<WorkKind> of(HasMetadata object) {
    return of(object.getApiVersion(), object.getKind());
  }

  /** The kind that an API version and a kind name. */
  static Optional<WorkKind> of(@Nullable String apiVersion, @Nullable String kind) {
    for (WorkKind work : values()) {
      if (work.kind.equals(kind) && group(work.versions.get(0)).equals(group(apiVersion))) {
        return Optional.of(work);
      }
    }
    return Optional.empty();
  }

  /** The group of an API version; empty for the core group. */
  static String group(@Nullable String apiVersion) {
    if (apiVersion == null) {
      return "";
    }
    int slash = apiVersion.indexOf('/');
    return slash < 0 ? "" : apiVersion.substring(0, slash);
  }
}
