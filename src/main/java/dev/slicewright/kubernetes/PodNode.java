package dev.slicewright.kubernetes;

import java.util.Objects;

/**
 * The node of one pod. Immutable, safe to share.
 *
 * @param request the id of the workload's request
 * @param slice the number of its slice, from 0
 * @param worker its number in the slice, from 0, over all pod sets of the slice
 * @param podSet its pod set; empty where there is one only
 * @param group the number of the group of pods that it belongs to, from 0: of a JobSet the index of
 *     the job, of a LeaderWorkerSet that of the group. Most often a group is a slice
 * @param index its number among the pods of its pod set in that group, from 0: of an indexed Job
 *     the completion index; of a LeaderWorkerSet one less than the worker index where leaders have
 *     a template of their own
 * @param node the name of the node
 * @param orderAssumed whether the order of workers is assumed, because the platform gives labels
 *     but no coordinates
 */
public record PodNode(
    String request,
    int slice,
    int worker,
    String podSet,
    int group,
    int index,
    String node,
    boolean orderAssumed) {
  /** Checks for null. */
  public PodNode {
    Objects.requireNonNull(request, "request");
    Objects.requireNonNull(podSet, "podSet");
    Objects.requireNonNull(node, "node");
  }
}
