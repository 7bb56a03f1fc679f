package dev.slicewright.kubernetes;

import dev.slicewright.topology.Chip;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Deals the pods and devices of slices out to nodes. Immutable, safe to share. */
final class PodNodes {

  private PodNodes() {}

  /**
   * The nodes of a slice's pods: members in order, each pod on the next of the slice's hosts in
   * worker order; pods without chips beside the pod that follows them. O(pods of its group).
   *
   * @param workload whose pods they are; null where it is not known, then one pod for each host
   */
  static List<PodNode> of(PlacedSlice place, @Nullable Workload workload) {
    List<String> nodes = place.nodes();
    long perNode = Math.max(1, place.at().chips() / nodes.size());
    int slice = place.id().index();
    int group = workload == null ? slice : slice / workload.layout().slicesPerGroup();
    Map<String, Integer> next = workload == null ? new HashMap<>() : before(workload, slice);
    List<PodNode> pods = new ArrayList<>();
    long chips = 0;
    List<Workload.Member> members =
        workload == null
            ? List.of(new Workload.Member("", nodes.size(), (int) perNode))
            : workload.members(slice);
    for (Workload.Member member : members) {
      for (int i = 0; i < member.pods(); i++) {
        pods.add(
            new PodNode(
                place.id().request(),
                slice,
                pods.size(),
                member.podSet(),
                group,
                next.merge(member.podSet(), 1, Integer::sum) - 1,
                nodes.get((int) Math.min(nodes.size() - 1, chips / perNode)),
                place.at().orderAssumed()));
        chips += member.chips();
      }
    }
    return pods;
  }

  /** How many pods of each pod set earlier slices of the same group have. */
  private static Map<String, Integer> before(Workload workload, int slice) {
    Map<String, Integer> pods = new HashMap<>();
    int perGroup = workload.layout().slicesPerGroup();
    for (int earlier = slice - slice % perGroup; earlier < slice; earlier++) {
      for (Workload.Member member : workload.members(earlier)) {
        pods.merge(member.podSet(), member.pods(), Integer::sum);
      }
    }
    return pods;
  }

  /** The chips of a slice by node, in worker order. O(chips). */
  static List<DeviceAllocation> devices(PlacedSlice place, String driver) {
    TpuTopology topology = place.domain().topology();
    Map<HostId, List<String>> byHost = new LinkedHashMap<>();
    place.at().hosts().forEach(host -> byHost.put(host, new ArrayList<>()));
    boolean[] taken = new boolean[topology.chipCount()];
    topology.forEachChip(place.at().footprint(), chip -> taken[chip] = true);
    byHost.forEach(
        (host, devices) -> {
          Chip origin = topology.originOf(host);
          Shape tile = topology.hostTile();
          int device = 0;
          for (int z = 0; z < tile.z(); z++) {
            for (int y = 0; y < tile.y(); y++) {
              for (int x = 0; x < tile.x(); x++) {
                Chip chip = new Chip(origin.x() + x, origin.y() + y, origin.z() + z);
                if (taken[topology.chipIndex(chip)]) {
                  devices.add("tpu-" + device);
                }
                device++;
              }
            }
          }
        });
    List<DeviceAllocation> result = new ArrayList<>();
    byHost.forEach(
        (host, devices) ->
            result.add(
                new DeviceAllocation(
                    place.id().request(), place.id().index(), driver, place.node(host), devices)));
    return result;
  }
}
