package dev.slicewright.kubernetes;

import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * One step of carrying out a plan: something done to one object. Immutable, safe to share.
 *
 * @param number its number, from 1
 * @param after the numbers of the steps that have to be done before, ascending, all lower. A
 *     created Slice counts as done once it is ready, a deleted one once it is gone
 * @param kind what is done
 * @param object to which object
 * @param request the id of the workload's request
 * @param slice the Slice to create, or null
 * @param patch the patch to apply, or null
 */
public record ClusterStep(
    int number,
    List<Integer> after,
    Kind kind,
    ObjectRef object,
    String request,
    @Nullable SliceManifest slice,
    @Nullable WorkloadPatch patch) {

  /** What is done. Immutable, safe to share. */
  public enum Kind {
    /**
     * A Job or JobSet is suspended ({@code spec.suspend: true}), or a Kueue Workload's admission is
     * taken back ({@code status.admission: null}), and its pods go.
     */
    SUSPEND,
    /** The pods of a workload that cannot be suspended are deleted. */
    DELETE_PODS,
    /** A Slice is deleted. */
    DELETE_SLICE,
    /** A Slice is created. */
    CREATE_SLICE,
    /** A workload is patched: {@link ClusterStep#patch}. */
    PATCH,
    /** A workload is deleted and created again with {@link ClusterStep#patch} applied. */
    RECREATE,
    /** A Kueue Workload is admitted with its {@link ClusterPlan#topologyAssignments}. */
    ADMIT,
    /** A suspended workload goes on. */
    RESUME,
    /** Pods are bound to their nodes: {@link ClusterPlan#podsToNodes}. */
    BIND_PODS
  }

  /** Checks for null and copies the list. */
  public ClusterStep {
    after = List.copyOf(after);
    Objects.requireNonNull(kind, "kind");
    Objects.requireNonNull(object, "object");
    Objects.requireNonNull(request, "request");
  }

  @Override
  public String toString() {
    return number + " " + kind + " " + object + (after.isEmpty() ? "" : " after " + after);
  }
}
