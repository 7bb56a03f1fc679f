package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Reason;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.Event;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** What goes wrong elsewhere, by public issue, and what a plan for a cluster says instead. */
class PlanPeersTest {

  private static final Instant NOW = Instant.parse("2026-03-01T12:00:00Z");

  private static PlanCase block(int cubes) {
    return new PlanCase().domain(StubDomain.block("blk-a", cubes));
  }

  private static Event only(ClusterPlan plan) {
    assertThat(plan.events(NOW)).hasSize(1);
    return plan.events(NOW).get(0);
  }

  // https://github.com/kubernetes-sigs/kueue/issues/4329
  @Test
  void kueue4329_chipsThatAreFreeInPiecesAreNotCapacity() {
    PlanCase given = block(4);
    SliceRequest small = SliceRequest.builder("small").shape("2x2x1").slices(4).build();
    for (int cube = 0; cube < 4; cube++) {
      given.runningPartition(small, cube, "block/blk-a", "2x2x1", 16 * cube);
    }
    ClusterPlan plan = PlanCase.planned(given.workload(PlanCase.job("train", "4x4x8")).build());

    assertThat(plan.slices()).isEmpty();
    Event event = only(plan);
    assertThat(event.getReason()).isEqualTo("Fragmented");
    assertThat(event.getMessage())
        .startsWith(
            "needs 2 of 4 cubes in block/blk-a for 4x4x8; 0 are free (4 in use),"
                + " though 240 chips are free in pieces.");
  }

  @Test
  void whatIsMissingIsCountedInCubesOfABlock() {
    PlanCase given = block(16);
    SliceRequest other = SliceRequest.builder("other").shape("4x4x8").build();
    given.running(other, 0, "block/blk-a", "4x4x8", 3, 4);
    given.fail("block/blk-a", 0).fail("block/blk-a", 17);
    ClusterPlan plan = PlanCase.planned(given.workload(PlanCase.job("train", "8x8x16")).build());

    assertThat(only(plan).getMessage())
        .isEqualTo(
            "needs 16 of 16 cubes in block/blk-a for 8x8x16; 12 are free (2 in use, 2 failed). It"
                + " waits until a slice ends, and what has failed is in order again.");
  }

  @Test
  void slicesOfAMultisliceAreCountedOverAllBlocks() {
    PlanCase given =
        new PlanCase().domain(StubDomain.block("blk-a", 5)).domain(StubDomain.block("blk-b", 4));
    PlanCase.jobSet("ms", "4x4x8", 4, "w").forEach(given::workload);
    given.cordon("block/blk-b", 0);

    assertThat(only(PlanCase.planned(given.build())).getMessage())
        .startsWith(
            "needs 4 slices of 4x4x8, each on 2 cubes of one block, and there is room for 3; of 5"
                + " cubes in block/blk-a, 5 are free.");
  }

  @Test
  void aSliceThatStaysBrokenNamesItsSliceAndTheNodesThatFailed() {
    PlanCase given = block(2);
    Workload job = PlanCase.job(PlanCase.request("Job", "train", "", "4x4x8").build(), false);
    given.workload(job).running(job.request(), 0, "block/blk-a", "4x4x8", 0, 1);
    given.fail("block/blk-a", 17);
    Cluster cluster = given.build();
    Plan plan = SlicePlanner.create().repair(cluster.fleet(), PlanningRules.NONE, PlanCase.BUDGET);

    Event event = only(ClusterPlan.of(cluster, plan));
    assertThat(event.getReason()).startsWith("Broken");
    assertThat(event.getMessage())
        .startsWith(
            "slice 0 on block/blk-a, Slice "
                + PlanCase.oldName(job.request().id(), 0)
                + " (2 partitions c0, c1), whose node ")
        .contains(" failed, stays there. ")
        .doesNotContain("uses failed parts");
  }

  @Test
  void whatIsMissingIsCountedInPoolsWhereAPoolIsASlice() {
    PlanCase given = new PlanCase();
    for (int i = 0; i < 3; i++) {
      given.domain(StubDomain.pool(AcceleratorType.V6E, "np-" + i, "4x4"));
    }
    given.fail("nodepool/np-1", 2).cordon("nodepool/np-2", 0);
    PlanCase.jobSet("ms", "4x4", 2, "w").forEach(given::workload);

    assertThat(only(PlanCase.planned(given.build())).getMessage())
        .startsWith("needs 2 of 3 node pools for 4x4; 1 is free (1 failed, 1 cordoned).");
  }

  // https://github.com/kubernetes-sigs/kueue/issues/14570
  @Test
  void kueue14570_twoWorkloadsOfOneBatchNeverGetTheSameNode() {
    PlanCase given = block(6);
    given.workload(PlanCase.job("a", "4x4x8")).workload(PlanCase.job("b", "4x4x8"));
    given.workload(PlanCase.job("c", "2x2x4")).workload(PlanCase.job("d", "2x2x1"));
    PlanCase.kueue("wl", "4x4x4", "main").forEach(given::workload);
    ClusterPlan plan = PlanCase.planned(given.build());

    assertThat(plan.plan().placements()).hasSize(5);
    List<String> nodes = plan.podsToNodes().stream().map(PodNode::node).toList();
    assertThat(nodes).hasSize(32 + 32 + 4 + 1 + 16).doesNotHaveDuplicates();
    List<String> partitions =
        plan.slices().stream().flatMap(slice -> slice.partitionIds().stream()).toList();
    assertThat(partitions).doesNotHaveDuplicates();
  }

  /** The repair of a slice of two cubes of a Kueue Workload, of which one has failed. */
  private static ClusterPlan repaired(int cubes) {
    Workload workload = PlanCase.kueue("wl", "4x4x8", "main").get(0);
    Cluster cluster =
        block(cubes)
            .workload(workload)
            .running(workload.request(), 0, "block/blk-a", "4x4x8", 0, 1)
            .fail("block/blk-a", 5)
            .build();
    PlanningRules rules = PlanningRules.builder().permitByDefault(Permission.MOVABLE).build();
    return ClusterPlan.of(
        cluster, SlicePlanner.create().repair(cluster.fleet(), rules, PlanCase.BUDGET));
  }

  // https://github.com/kubernetes-sigs/kueue/issues/6913, /6914
  @Test
  void kueue6913_aReplacementIsAWholeAssignmentNotAnEmptyOne() {
    ClusterPlan told = repaired(3);

    assertThat(told.topologyAssignments()).hasSize(1);
    TopologyAssignment assignment = told.topologyAssignments().get(0).assignment();
    assertThat(assignment.pods()).isEqualTo(32);
    assertThat(assignment.domains().stream().map(d -> d.values().get(0)))
        .doesNotContain("blk-a-n5");
    assertThat(told.slices()).hasSize(1);
  }

  @Test
  void kueue6913_whereThereIsNoReplacementThereIsNoAssignment() {
    ClusterPlan told = repaired(2);

    assertThat(told.topologyAssignments()).isEmpty();
    assertThat(told.slices()).isEmpty();
    assertThat(only(told).getReason()).startsWith("Broken");
  }

  // https://github.com/kubernetes-sigs/kueue/issues/15536
  @Test
  void kueue15536_whatAlsoNeedsPreemptionIsAdmittedWithAllItsPodsOrNotAtAll() {
    for (Permission permission : List.of(Permission.PINNED, Permission.EVICTABLE)) {
      Workload low = PlanCase.job(PlanCase.request("Job", "low", "", "4x4x4").build(), false);
      PlanCase given = block(2).workload(low);
      given.running(low.request(), 0, "block/blk-a", "4x4x4", 1);
      Workload high =
          new Workload(
              PlanCase.kueue("wl", "4x4x8", "main").get(0).object(),
              "main",
              PlanCase.request("Workload", "wl", "main", "4x4x8").priority(10).build(),
              PlanCase.kueue("wl", "4x4x8", "main").get(0).members(),
              PlanCase.kueue("wl", "4x4x8", "main").get(0).source());
      Cluster cluster = given.workload(high).build();
      PlanningRules rules = PlanningRules.builder().permitByDefault(permission).build();
      ClusterPlan plan = ClusterPlan.of(cluster, PlanCase.plan(cluster, rules));

      if (permission.evict()) {
        assertThat(plan.topologyAssignments().get(0).assignment().pods()).isEqualTo(32);
        assertThat(plan.steps().stream().map(ClusterStep::kind))
            .containsSubsequence(
                ClusterStep.Kind.DELETE_SLICE,
                ClusterStep.Kind.CREATE_SLICE,
                ClusterStep.Kind.ADMIT);
      } else {
        assertThat(plan.topologyAssignments()).isEmpty();
        assertThat(plan.slices()).isEmpty();
        assertThat(plan.steps()).isEmpty();
      }
    }
  }

  // https://github.com/AI-Hypercomputer/xpk/issues/515
  @Test
  void xpk515_noSliceWithoutAnAssignmentOfAllPodSets() {
    PlanCase given = block(2);
    PlanCase.kueue("wl", "4x4x8", "a", "b").forEach(given::workload);
    Cluster cluster = given.build();
    Plan plan = PlanCase.plan(cluster);
    assertThat(plan.placements()).as("room for one of two").hasSize(1);
    ClusterPlan told = ClusterPlan.of(cluster, plan);

    assertThat(told.topologyAssignments()).isEmpty();
    assertThat(told.slices()).isEmpty();
    assertThat(told.podsToNodes()).isEmpty();
    assertThat(told.patches()).isEmpty();
    assertThat(told.steps()).isEmpty();
    assertThat(told.leftOut()).hasSize(1);
    assertThat(told.leftOut().get(0).object().path()).isEqualTo("Workload/team-a/wl");
    assertThat(told.events(NOW).stream().map(Event::getReason)).doesNotContain("Placed");
  }

  // https://github.com/AI-Hypercomputer/xpk/issues/1135
  @Test
  void xpk1135_otherPartitionsAreAnotherNameAndEpochTheSameAreTheSame() {
    Workload job = PlanCase.job("train", "4x4x4");
    Map<String, String> epochs = new TreeMap<>();
    Set<String> names = new HashSet<>();
    for (int failed = -1; failed < 3; failed++) {
      PlanCase given = block(4).workload(job);
      for (int cube = 0; cube <= failed; cube++) {
        given.fail("block/blk-a", 16 * cube);
      }
      ClusterPlan plan = PlanCase.planned(given.build());
      SliceManifest slice = plan.slices().get(0);
      assertThat(PlanCase.planned(given.build()).slices().get(0).name()).isEqualTo(slice.name());
      epochs.put(slice.partitionIds().toString(), slice.epoch());
      names.add(slice.name());
      assertThat(slice.annotations()).containsEntry("slicewright.dev/epoch", slice.epoch());
      assertThat(plan.patches().get(0).toJson())
          .contains("\"slicewright.dev/epoch\":\"" + slice.epoch() + "\"", slice.name());
    }
    assertThat(epochs).hasSize(4);
    assertThat(new HashSet<>(epochs.values())).hasSize(4);
    assertThat(names).hasSize(4);
  }

  // https://github.com/AI-Hypercomputer/xpk/issues/1179
  @Test
  void xpk1179_everyReasonHasACodeForMachinesAndNoTwoTheSame() {
    Set<String> codes = new HashSet<>();
    for (Reason reason : Reason.values()) {
      for (boolean never : new boolean[] {false, true}) {
        codes.add(
            PlanEvents.reason(
                new Unplaced("r", reason, never, Unplaced.Evidence.of(4), "sentence")));
      }
    }
    assertThat(codes).hasSize(2 * Reason.values().length);
    // CamelCase of at most 128 characters, as the API wants reasons.
    assertThat(codes).allMatch(code -> code.matches("([A-Z][a-z]+)+") && code.length() <= 128);
    assertThat(codes).contains("NotEnoughFree", "NeverOverCapacity", "BlockedByHealth");
  }

  @Test
  void xpk1179_anEvictionSaysSoToItsWorkload() {
    Cluster cluster = PlanCase.lowRunsWhereHighWaits().build();
    PlanningRules rules = PlanningRules.builder().permitByDefault(Permission.EVICTABLE).build();
    List<Event> events = ClusterPlan.of(cluster, PlanCase.plan(cluster, rules)).events(NOW);

    assertThat(events.stream().map(e -> e.getInvolvedObject().getName() + " " + e.getReason()))
        .containsExactly("high Placed", "low Evicted");
    assertThat(events.get(1).getType()).isEqualTo("Warning");
    assertThat(events.get(1).getMessage()).contains("block/blk-a", "c0, c1");
  }

  // https://github.com/ray-project/ray/issues/62893
  @Test
  void ray62893_whatMustWaitIsToldApartFromWhatCanNeverBe() {
    PlanCase given = block(4);
    SliceRequest other = SliceRequest.builder("other").shape("4x4x8").build();
    given.running(other, 0, "block/blk-a", "4x4x8", 0, 1);
    given.workload(PlanCase.job("waits", "4x4x12")).workload(PlanCase.job("never", "4x4x20"));
    Map<String, Event> events = new TreeMap<>();
    PlanCase.planned(given.build())
        .events(NOW)
        .forEach(event -> events.put(event.getInvolvedObject().getName(), event));

    assertThat(events.get("waits").getType()).isEqualTo("Normal");
    assertThat(events.get("waits").getReason()).isEqualTo("NotEnoughFree");
    assertThat(events.get("never").getType()).isEqualTo("Warning");
    assertThat(events.get("never").getReason()).isEqualTo("NeverOverCapacity");
  }

  // https://github.com/marin-community/marin/issues/3402
  @Test
  void marin3402_whatCanNeverRunIsSaidAtOnceWithTheReason() {
    for (String shape : List.of("4x4x20", "2x2x8", "3x4x4")) {
      ClusterPlan plan = PlanCase.planned(block(4).workload(PlanCase.job("j", shape)).build());

      assertThat(only(plan).getType()).as(shape).isEqualTo("Warning");
      assertThat(only(plan).getReason()).as(shape).startsWith("Never");
      assertThat(only(plan).getMessage()).as(shape).contains(shape);
      assertThat(plan.slices()).isEmpty();
    }
  }

  @Test
  void anEventSaidAgainIsTheSameObject() {
    PlanCase given = block(1).workload(PlanCase.job("j", "4x4x8"));
    Event first = only(PlanCase.planned(given.build()));
    Event later = PlanCase.planned(given.build()).events(NOW.plusSeconds(60)).get(0);

    assertThat(later.getMetadata().getName()).isEqualTo(first.getMetadata().getName());
    assertThat(later.getMetadata().getNamespace()).isEqualTo("team-a");
    assertThat(first.getMetadata().getName()).startsWith("j.").matches("[a-z0-9.-]+");
    assertThat(first.getLastTimestamp()).isEqualTo("2026-03-01T12:00:00Z");
    assertThat(later.getLastTimestamp()).isEqualTo("2026-03-01T12:01:00Z");
    assertThat(first.getInvolvedObject().getKind()).isEqualTo("Job");
  }

  // https://github.com/tenstorrent/tt-inference-server/issues/4890,
  // https://github.com/NVIDIA/k8s-dra-driver-gpu/issues/174,
  // https://github.com/kubernetes/enhancements/issues/4874
  @Test
  void ttInferenceServer4890_draDriver174_theDevicesOfASliceAreAShapeThatFormsNeverAnyN() {
    for (String shape : List.of("1x1", "2x2", "2x4", "4x4", "4x8")) {
      PlanCase given = new PlanCase().domain(StubDomain.subslicing("np-1", "8x8"));
      SliceRequest one = SliceRequest.builder("one").shape("1x1").build();
      given.runningPartition(one, 0, "nodepool/np-1", "1x1", 1);
      given.workload(PlanCase.job("j", shape));
      Cluster cluster = given.build();
      ClusterPlan plan = PlanCase.planned(cluster);
      List<DeviceAllocation> devices = plan.deviceAllocations("tpu.google.com");

      Set<List<Integer>> chips = new HashSet<>();
      Domain domain = cluster.domains().domain("nodepool/np-1").orElseThrow();
      for (DeviceAllocation node : devices) {
        int host = domain.nodes().indexOf(node.node());
        var origin = domain.topology().originOf(new HostId(host));
        for (String device : node.devices()) {
          int number = Integer.parseInt(device.substring("tpu-".length()));
          int width = domain.topology().hostTile().x();
          chips.add(List.of(origin.x() + number % width, origin.y() + number / width));
        }
      }
      assertThat(box(chips)).as(shape).isEqualTo(Shape.parse(shape));
    }
  }

  /** The extents of chips that fill a box, sorted. */
  private static Shape box(Set<List<Integer>> chips) {
    int[] low = {Integer.MAX_VALUE, Integer.MAX_VALUE};
    int[] high = {-1, -1};
    for (List<Integer> chip : chips) {
      for (int axis = 0; axis < 2; axis++) {
        low[axis] = Math.min(low[axis], chip.get(axis));
        high[axis] = Math.max(high[axis], chip.get(axis));
      }
    }
    int[] extents = {high[0] - low[0] + 1, high[1] - low[1] + 1};
    assertThat(chips).hasSize(extents[0] * extents[1]);
    Arrays.sort(extents);
    return Shape.of(extents[0], extents[1]);
  }

  @Test
  void aClaimsResultNamesDriverNodeAndDevice() {
    ClusterPlan plan = PlanCase.planned(block(1).workload(PlanCase.job("j", "2x2x2")).build());
    List<DeviceAllocation> devices = plan.deviceAllocations("tpu.google.com");

    assertThat(devices).hasSize(2);
    List<Map<String, Object>> results = new ArrayList<>(devices.get(0).results("chips"));
    assertThat(results).hasSize(4);
    assertThat(results.get(3))
        .isEqualTo(
            Map.of(
                "request", "chips",
                "driver", "tpu.google.com",
                "pool", plan.podsToNodes().get(0).node(),
                "device", "tpu-3"));
  }
}
