package dev.slicewright.kubernetes;

import dev.slicewright.Problems;
import dev.slicewright.kubernetes.Claim.PodSeat;
import dev.slicewright.request.SliceRequest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/**
 * Gives Slices that nobody owns to the workloads whose authors have named them in a selector.
 * Confined to one thread at a time.
 *
 * <p>Such a workload can run there and nowhere else, so one whose Slice is not there, or is
 * another's, is left out: what a plan would make for it, its pods could not use. Of two that name
 * one Slice the first by id has it. What binding has put into a template is no such selector.
 */
final class SelectedSlices {

  private final WorkloadTranslator.Translation work;
  private final Map<String, SliceObject> slices; // by name, those without partitions included
  private final Problems problems;
  private final List<LeftOut> leftOut;
  private final Map<String, Claim> claims = new HashMap<>(); // of Slices, by the id that they have

  SelectedSlices(
      WorkloadTranslator.Translation work,
      Map<String, SliceObject> slices,
      List<Claim> claims,
      Problems problems,
      List<LeftOut> leftOut) {
    this.work = work;
    this.slices = slices;
    this.problems = problems;
    this.leftOut = leftOut;
    for (Claim claim : claims) {
      if (!claim.isOfPods()) {
        this.claims.put(claim.ownId, claim);
      }
    }
  }

  /**
   * Writes into claims whose they are by selection; leaves out workloads that cannot have theirs,
   * each with all else of its object. O(workloads + pods on the Slices that they name).
   *
   * @return the work without those
   */
  WorkloadTranslator.Translation assign() {
    Map<ObjectRef, List<Workload>> byObject = new TreeMap<>();
    for (Workload workload : work.workloads().values()) {
      byObject.computeIfAbsent(workload.object(), ref -> new ArrayList<>()).add(workload);
    }
    Map<String, Workload> left = new TreeMap<>(work.workloads());
    byObject.forEach(
        (object, parts) -> {
          if (parts.stream().allMatch(this::canHaveItsOwn)) {
            parts.forEach(this::take);
          } else {
            parts.forEach(part -> left.remove(part.request().id()));
          }
        });
    return left.size() == work.workloads().size()
        ? work
        : new WorkloadTranslator.Translation(left, work.owners());
  }

  private boolean canHaveItsOwn(Workload workload) {
    String why = workload.selection().isEmpty() ? "" : whyNot(workload);
    if (!why.isEmpty()) {
      problems.add(workload.selection().field(), why);
      leftOut.add(new LeftOut(workload.object(), why));
    }
    return why.isEmpty();
  }

  private void take(Workload workload) {
    List<String> names = workload.selection().names();
    for (int i = 0; i < names.size(); i++) {
      Claim claim = Objects.requireNonNull(claims.get(RunningSlices.ownId(names.get(i))));
      if (!isOwned(claim, workload)) {
        claim.request = workload.request().id();
        claim.index = i;
      }
    }
  }

  /** Why a workload cannot run on the Slices that it names; empty if it can. */
  private String whyNot(Workload workload) {
    SliceRequest request = workload.request();
    List<String> names = workload.selection().names();
    boolean owned = true;
    for (String name : names) {
      Claim claim = claims.get(RunningSlices.ownId(name));
      String why = claim == null ? absent(name) : whyNot(workload, name, claim);
      if (!why.isEmpty()) {
        return why;
      }
      owned &= claim != null && isOwned(claim, workload);
    }
    return owned || names.size() == request.slices()
        ? ""
        : "expected the names of as many Slices as the workload has slices, "
            + request.slices()
            + ", but there "
            + (names.size() == 1 ? "is " : "are ")
            + names.size()
            + "; name one for each, or drop the selector, so that Slices are made for it";
  }

  private String absent(String name) {
    return slices.containsKey(name)
        ? "expected a Slice that its pods can run on, but Slice "
            + name
            + " has no partitions; delete it and create it anew, or drop the selector, so that"
            + " another is made for the workload"
        : "expected a Slice that is there, since its pods can run on no other, but there is no"
            + " Slice "
            + name
            + "; create it, or drop the selector, so that one is made for the workload";
  }

  private String whyNot(Workload workload, String name, Claim claim) {
    if (claim.leaving) {
      return foreign(name, "is being deleted");
    }
    if (isOwned(claim, workload)) {
      return "";
    }
    String id = workload.request().id();
    String owner = owner(claim);
    if (!owner.isEmpty()) {
      return foreign(name, "is of " + owner);
    }
    for (PodSeat pod : claim.pods) {
      if (pod.owner() != null && !pod.leaving() && !pod.owner().request().equals(id)) {
        return foreign(name, "has " + pod.ref() + " of " + pod.owner().request() + " on it");
      }
    }
    String accelerator = claim.domain.topology().accelerator().name();
    boolean alike =
        workload.request().shapes().stream().anyMatch(s -> s.sorted().equals(claim.shape.sorted()))
            && (workload.request().accelerators().isEmpty()
                || workload.request().accelerators().contains(accelerator));
    return alike ? "" : foreign(name, "is a " + claim.shape + " of " + accelerator);
  }

  private static String foreign(String name, String what) {
    return "expected a Slice that is free for the workload and of the shape that it wants, but"
        + " Slice "
        + name
        + " "
        + what
        + "; name another, or drop the selector, so that one is made for the workload";
  }

  /** Whether a Slice says itself that it is the workload's; then it says which of its slices. */
  private boolean isOwned(Claim claim, Workload workload) {
    return claim.manifest != null
        && SliceOwners.named(claim.manifest.annotations(), work.owners())
            .equals(workload.request().id());
  }

  /** Whose a Slice is, by its own annotations or another's selection; empty if nobody's. */
  private String owner(Claim claim) {
    if (!claim.request.isEmpty() || claim.manifest == null) {
      return claim.request;
    }
    Map<String, String> annotations = claim.manifest.annotations();
    String named = SliceOwners.named(annotations, work.owners());
    return named.isEmpty() && annotations.containsKey(TpuLabels.OWNER_NAME)
        ? annotations.getOrDefault(TpuLabels.OWNER_NAMESPACE, "")
            + "/"
            + annotations.get(TpuLabels.OWNER_NAME)
        : named;
  }
}
