package dev.slicewright.kubernetes;

import dev.slicewright.request.SliceRequest;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

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
  private final Layout layout;
  private final boolean suspended;
  private final List<String> notes;
  private final SliceSelection selection;
  private final HasMetadata source; // for patches; never changed

  /**
   * How the pods of a workload make up its slices.
   *
   * @param group the pods of one group (job of a replicated job, group of a LeaderWorkerSet), in
   *     worker order
   * @param slicesPerGroup slices that the pods of a group fill one after another, 1 or more
   * @param podsPerSlice pods with chips in each slice, 1 or more
   */
  record Layout(List<Member> group, int slicesPerGroup, int podsPerSlice) {
    Layout {
      group = List.copyOf(group);
    }
  }

  Workload(
      ObjectRef object,
      String podSet,
      SliceRequest request,
      Layout layout,
      boolean suspended,
      List<String> notes,
      SliceSelection selection,
      HasMetadata source) {
    this.object = object;
    this.podSet = podSet;
    this.request = request;
    this.layout = layout;
    this.suspended = suspended;
    this.notes = List.copyOf(notes);
    this.selection = selection;
    this.source = source;
  }

  /** One group for each slice. */
  Workload(
      ObjectRef object,
      String podSet,
      SliceRequest request,
      List<Member> members,
      HasMetadata source) {
    this(
        object,
        podSet,
        request,
        new Layout(members, 1, members.stream().mapToInt(m -> m.chips > 0 ? m.pods : 0).sum()),
        false,
        List.of(),
        SliceSelection.NONE,
        source);
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
   * The pods of the first slice, in worker order; those of the others too, unless a leader of
   * another template leads several slices.
   *
   * @return one member or more
   */
  public List<Member> members() {
    return members(0);
  }

  /**
   * The pods of one slice, in worker order. Where several slices hold the pods of one group, the
   * group's pods fill them in order: of 1 leader and 15 workers in 4 slices, the first gets the
   * leader and 3 workers.
   *
   * @param slice its number, from 0
   * @return one member or more
   * @throws IndexOutOfBoundsException if there is no such slice
   */
  public List<Member> members(int slice) {
    Objects.checkIndex(slice, request.slices());
    int at = slice % layout.slicesPerGroup;
    int from = at * layout.podsPerSlice;
    int to = from + layout.podsPerSlice;
    List<Member> members = new ArrayList<>();
    int before = 0;
    for (Member member : layout.group) {
      if (member.chips == 0) {
        // Company stays with the first slice of its group.
        if (at == 0) {
          members.add(member);
        }
        continue;
      }
      int pods = Math.min(to, before + member.pods) - Math.max(from, before);
      if (pods > 0) {
        members.add(new Member(member.podSet, pods, member.chips));
      }
      before += member.pods;
    }
    return List.copyOf(members);
  }

  Layout layout() {
    return layout;
  }

  /**
   * Whether its object says that its pods are not to start yet. Such work waits for slices like any
   * other: to give it its slices and to resume it is one patch.
   *
   * @return true for suspended Jobs and JobSets
   */
  public boolean suspended() {
    return suspended;
  }

  /**
   * What its object asks for that binds nobody, such as a preferred topology.
   *
   * @return one sentence each; mostly empty
   */
  public List<String> notes() {
    return notes;
  }

  /** The Slices that its author has chosen for it. */
  SliceSelection selection() {
    return selection;
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
        && layout.equals(o.layout)
        && suspended == o.suspended
        && notes.equals(o.notes)
        && selection.equals(o.selection);
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
