package dev.slicewright.kubernetes;

import dev.slicewright.topology.Chip;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Deals the pods and devices of slices out to nodes. Immutable, safe to share. */
final class PodNodes {

  private PodNodes() {}

  /**
   * The nodes of a slice's pods: members in order, each pod on the next of the slice's hosts in
   * worker order; pods without chips beside the pod that follows them. O(pods).
   *
   * @param workload whose pods they are; empty where it is not known, then one pod for each host
   */
  static List<PodNode> of(PlacedSlice place, Optional<Workload> workload) {
    List<String> nodes = place.nodes();
    long perNode = Math.max(1, place.at().chips() / nodes.size());
    List<PodNode> pods = new ArrayList<>();
    long chips = 0;
    for (Workload.Member member : members(workload, nodes.size(), perNode)) {
      for (int i = 0; i < member.pods(); i++) {
        String node = nodes.get((int) Math.min(nodes.size() - 1, chips / perNode));
        pods.add(
            new PodNode(
                place.id().request(),
                place.id().index(),
                pods.size(),
                member.podSet(),
                node,
                place.at().orderAssumed()));
        chips += member.chips();
      }
    }
    return pods;
  }

  private static List<Workload.Member> members(
      Optional<Workload> workload, int nodes, long perNode) {
    return workload
        .map(Workload::members)
        .orElseGet(() -> List.of(new Workload.Member("", nodes, (int) perNode)));
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
                    place.id().request(),
                    place.id().index(),
                    driver,
                    place.node(host),
                    devices)));
    return result;
  }
}
