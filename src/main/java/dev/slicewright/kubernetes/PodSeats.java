package dev.slicewright.kubernetes;

import dev.slicewright.kubernetes.Claim.PodSeat;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodSpec;
import io.fabric8.kubernetes.api.model.Quantity;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Which pods have not ended, and where they are. */
final class PodSeats {

  private static final Set<String> ENDED = Set.of("Succeeded", "Failed");

  private PodSeats() {}

  /**
   * The pods that have not ended and want chips, or belong to a workload that does, by name. O(n +
   * k log k) for k of n pods.
   */
  static List<PodSeat> read(KubernetesObjects objects, Domains domains, Owners owners) {
    List<PodSeat> seats = new ArrayList<>();
    for (HasMetadata object : objects.all()) {
      if (object instanceof Pod pod && !hasEnded(pod)) {
        Owners.PodOwner owner = owners.of(pod).orElse(null);
        boolean wantsChips = PodChips.anyAmount(pod.getSpec(), PodSeats::areChips);
        if (wantsChips || owner != null) { // not what runs on every node
          seats.add(seat(pod, domains, owner, wantsChips));
        }
      }
    }
    seats.sort(Comparator.comparing(PodSeat::ref));
    return seats;
  }

  private static PodSeat seat(
      Pod pod, Domains domains, Owners.@Nullable PodOwner owner, boolean wantsChips) {
    PodSpec spec = pod.getSpec();
    String node = spec == null ? null : spec.getNodeName();
    return new PodSeat(
        pod,
        ObjectRef.of(pod),
        node == null || node.isEmpty() ? null : domains.node(node).orElse(null),
        owner,
        wantsChips,
        pod.getMetadata() != null && pod.getMetadata().getDeletionTimestamp() != null);
  }

  static boolean hasEnded(Pod pod) {
    return pod.getStatus() != null
        && pod.getStatus().getPhase() != null
        && ENDED.contains(pod.getStatus().getPhase());
  }

  /** Whether an amount is of chips, in whatever number; the number is checked elsewhere. */
  private static boolean areChips(Map<String, Quantity> amounts) {
    Quantity chips = amounts.get(TpuLabels.TPU);
    return chips != null && !"0".equals(chips.getAmount());
  }

  /** The name of the Slice that a pod selects; empty if it selects none. */
  static String selectedSlice(Pod pod) {
    Map<String, String> selector = pod.getSpec() == null ? null : pod.getSpec().getNodeSelector();
    String name = selector == null ? null : selector.get(TpuLabels.SLICE);
    return name == null ? "" : name;
  }
}
