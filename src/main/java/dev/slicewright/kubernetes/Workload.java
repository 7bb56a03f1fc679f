package dev.slicewright.kubernetes;

import dev.slicewright.request.SliceRequest;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Work of the cluster that wants slices: a pod set of a Pod, Job, JobSet, LeaderWorkerSet or Kueue
 * Workload. Immutable, safe to share.
 */
public final class Workload {

  /**
   * Pods of one kind in each slice, in worker order. Immutable, safe to share.
   *
   * @param podSet the name of the replicated job, template or pod set; empty where there is one
   * @param pods how many in each slice, 1 or more
   * @param chips chips of each pod; 0 for pods that only keep others company
   */
  public record Member(String podSet, int pods, int chips) {
    /** Checks for null. */
    public Member {
      Objects.requireNonNull(podSet, "podSet");
    }
  }

  private final ObjectRef object;
  private final String podSet;
  private final SliceRequest request;
  private final List<Member> members;
  private final HasMetadata source; // a copy of our own, for patches

  Workload(
      ObjectRef object,
      String podSet,
      SliceRequest request,
      List<Member> members,
      HasMetadata source) {
    this.object = object;
    this.podSet = podSet;
    this.request = request;
    this.members = List.copyOf(members);
    this.source = source;
  }

  /**
   * The object.
   *
   * @return its name
   */
  public ObjectRef object() {
    return object;
  }

  /**
   * Which pod set of the object.
   *
   * @return empty where the object has one only
   */
  public String podSet() {
    return podSet;
  }

  /**
   * All its slices, running or not.
   *
   * @return the request; its id is the object's path, and the pod set where there is one
   */
  public SliceRequest request() {
    return request;
  }

  /**
   * The pods of each slice, in worker order.
   *
   * @return one member or more
   */
  public List<Member> members() {
    return members;
  }

  HasMetadata source() {
    return source;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Workload o
        && object.equals(o.object)
        && podSet.equals(o.podSet)
        && request.equals(o.request)
        && members.equals(o.members);
  }

  @Override
  public int hashCode() {
    return Objects.hash(object, podSet, request);
  }

  @Override
  public String toString() {
    return request.toString();
  }
}
