package dev.slicewright.examples;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.report.Snapshot;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;

/**
 * Writes the three documents of {@code examples/data}, the same bytes every time:
 *
 * <pre>mvn -q compile exec:java -Dexec.mainClass=dev.slicewright.examples.DataGenerator</pre>
 */
public final class DataGenerator {

  private static final Instant NOW = Instant.parse("2026-03-01T12:00:00Z");

  private final SplittableRandom random;
  private Fleet fleet;
  private int jobs;

  private DataGenerator(long seed, Fleet fleet) {
    this.random = new SplittableRandom(seed);
    this.fleet = fleet;
  }

  public static void main(String[] args) throws IOException {
    Path directory = Path.of(args.length > 0 ? args[0] : "examples/data");
    Files.createDirectories(directory);
    for (Map.Entry<String, Snapshot> document : documents().entrySet()) {
      Path file = directory.resolve(document.getKey());
      Files.writeString(file, document.getValue().toJson());
      System.out.println("wrote " + file);
    }
  }

  /** The documents by file name. */
  static Map<String, Snapshot> documents() {
    return new TreeMap<>(
        Map.of("v5p-pod.json", v5p(), "v6e-pods.json", v6e(), "tpu7x-block.json", tpu7x()));
  }

  // ---------------------------------------------------------------- one v5p pod

  private static Snapshot v5p() {
    String pod = "us-east5-a/1";
    DataGenerator g =
        new DataGenerator(
            5, Fleet.builder().pod(pod, TpuTopology.v5p(), Map.of("zone", "us-east5-a")).build());
    g.runCubes(pod, "8x16x16", "prod", 50);
    g.runCubes(pod, "8x8x16", "research", 10);
    g.runCubes(pod, "8x8x8", "research", 10);
    g.runCubes(pod, "4x8x8", "prod", 50);
    g.runCubes(pod, "4x4x12", "eval", 0);
    for (int i = 0; i < 6; i++) {
      g.runCubes(pod, i < 3 ? "4x4x8" : "4x4x4", "eval", 0);
    }
    String[] small = {"2x2x1", "2x2x2", "2x2x4", "2x4x4"};
    for (int i = 0; i < 16; i++) {
      g.runPartition(pod, small[i % 4], "eval", 0, 4);
    }
    for (int i = 0; i < 7; i++) {
      g.failFreeHost(pod);
    }
    g.fleet = g.fleet.failHost(pod, g.hostOf(pod, "job-2"));
    g.fleet = g.fleet.cordon(pod, new Part.Cube(g.freeCube(pod)));
    g.fleet =
        g.fleet.report(pod, new Part.OcsPort(g.freeCube(pod), Axis.Y, true, 4), Health.DEGRADED);
    List<SliceRequest> requests =
        List.of(
            wants("train-llm").shape("8x16x16").tenant("prod").priority(100).build(),
            wants("tune").shape("8x8x8").slices(2).tenant("research").priority(50).build(),
            wants("distil").shape("4x8x8").tenant("research").priority(50).build(),
            wants("serve").shape("2x4x4").slices(4).tenant("prod").priority(80).build(),
            wants("sweep").chips(32).slices(6).tenant("eval").build(),
            wants("probe").shape("2x2x1").slices(8).tenant("eval").build(),
            // Larger than one slice may be on v5p: 128 cubes.
            wants("whale").shape("16x16x32").tenant("research").priority(60).build(),
            // More than is free.
            wants("train-moe").shape("16x16x16").tenant("prod").priority(40).build(),
            // More than the quota of its tenant.
            wants("hoarder").shape("8x8x16").tenant("capped").priority(30).build(),
            // A gang of which one does not fit.
            wants("actor").shape("4x4x8").gang("rl").tenant("research").priority(20).build(),
            wants("learner").shape("8x8x16").gang("rl").tenant("capped").priority(20).build());
    PlanningRules rules = PlanningRules.builder().now(NOW).quota("capped", 512).build();
    return Snapshot.of(g.fleet, requests).withRules(rules);
  }

  // ---------------------------------------------------------------- sixteen v6e pods

  private static Snapshot v6e() {
    Fleet.Builder builder = Fleet.builder();
    for (int i = 0; i < 16; i++) {
      String id = String.format(java.util.Locale.ROOT, "v6e-%02d", i);
      builder.pod(id, TpuTopology.v6e(), Map.of("zone", "zone-" + (char) ('a' + i / 6)));
    }
    DataGenerator g = new DataGenerator(6, builder.build());
    List<String> pods = g.fleet.pods().stream().map(Pod::id).toList();
    g.runPartition(pods.get(0), "16x16", "prod", 50, 1);
    g.runPartition(pods.get(7), "16x16", "research", 10, 1);
    String[] shapes = {"8x16", "8x8", "4x8", "4x4", "2x4", "2x2", "2x2", "1x1"};
    for (int i = 0; i < 110; i++) {
      String pod = pods.get(g.random.nextInt(pods.size()));
      // Large ones are rare.
      String shape = shapes[Math.max(g.random.nextInt(8), i < 12 ? 0 : 1 + g.random.nextInt(6))];
      g.runPartition(pod, shape, i % 3 == 0 ? "prod" : "research", i % 5 * 10L, 6);
    }
    for (int i = 0; i < 9; i++) {
      g.failFreeHost(pods.get(g.random.nextInt(pods.size())));
    }
    g.fleet = g.fleet.cordonPod("v6e-15");
    List<SliceRequest> requests =
        List.of(
            wants("train").shape("16x16").slices(2).tenant("prod").priority(100).build(),
            wants("tune").shape("8x8").slices(4).tenant("research").priority(50).build(),
            wants("serve-a")
                .shape("4x4")
                .slices(6)
                .priority(80)
                .spread(Spread.atMost(2, "zone"))
                .tenant("prod")
                .build(),
            wants("serve-b").shape("2x4").slices(8).tenant("prod").priority(80).build(),
            wants("batch").chips(16).slices(5).tenant("research").priority(10).build(),
            wants("notebooks").shape("1x1").slices(12).tenant("research").build(),
            // No shape of v6e can be twisted.
            wants("ring")
                .shape("8x16")
                .interconnect(Interconnect.TWISTED)
                .tenant("research")
                .priority(5)
                .build(),
            // Not one of v6e's eight shapes.
            wants("odd").shape("6x8").tenant("research").build(),
            // Of another generation than any pod here.
            wants("elsewhere").chips(64).accelerators("v5p").tenant("prod").build(),
            wants("capped").shape("8x16").tenant("guest").build());
    PlanningRules rules = PlanningRules.builder().now(NOW).quota("guest", 64).build();
    return Snapshot.of(g.fleet, requests).withRules(rules);
  }

  // ---------------------------------------------------------------- one TPU7x block

  private static Snapshot tpu7x() {
    String pod = "us-central1-c/block-3";
    DataGenerator g =
        new DataGenerator(
            7,
            Fleet.builder().pod(pod, TpuTopology.tpu7x(), Map.of("zone", "us-central1-c")).build());
    g.runCubes(pod, "16x16x16", "prod", 50);
    g.runCubes(pod, "8x8x16", "prod", 50);
    g.runCubes(pod, "8x8x8", "research", 10);
    for (int i = 0; i < 4; i++) {
      g.runCubes(pod, i < 2 ? "4x8x8" : "4x4x8", "research", 10);
    }
    String[] small = {"2x2x1", "2x4x4", "2x2x2", "2x2x4"};
    for (int i = 0; i < 12; i++) {
      g.runPartition(pod, small[i % 4], "eval", 0, 3);
    }
    for (int i = 0; i < 6; i++) {
      g.fleet =
          g.fleet.report(
              pod,
              new Part.OcsPort(g.freeCube(pod), Axis.values()[i % 3], i % 2 == 0, i),
              Health.FAILED);
    }
    for (int i = 0; i < 5; i++) {
      g.failFreeHost(pod);
    }
    Pod now = g.fleet.pod(pod).orElseThrow();
    Chip corner = now.topology().originOf(g.freeCube(pod));
    g.fleet = g.fleet.fail(pod, new Part.Link(corner, Axis.X)); // copper: no whole-cube slice here
    List<SliceRequest> requests =
        List.of(
            wants("train").shape("8x16x16").tenant("prod").priority(100).build(),
            wants("tune")
                .shape("8x8x8")
                .slices(2)
                .healthyOnly(true)
                .priority(60)
                .tenant("research")
                .build(),
            wants("serve").shape("4x4x4").slices(4).tenant("prod").priority(80).build(),
            wants("eval").chips(32).slices(5).tenant("eval").priority(5).build(),
            wants("probe").shape("2x2x1").slices(6).tenant("eval").build(),
            // Fits if degraded cubes will do, but it says healthy only.
            wants("picky").shape("8x8x16").healthyOnly(true).tenant("prod").priority(40).build(),
            // Not even an empty block could hold it: 160 cubes.
            wants("whale").shape("16x16x40").tenant("prod").priority(90).build(),
            wants("crowded-out").shape("8x16x16").tenant("guest").priority(1).build());
    PlanningRules rules =
        PlanningRules.builder()
            .now(NOW)
            .reserve(new PlanningRules.Reserved("prod", Map.of("zone", "us-central1-c"), 6144))
            .build();
    return Snapshot.of(g.fleet, requests).withRules(rules);
  }

  // ---------------------------------------------------------------- steps

  private static SliceRequest.Builder wants(String id) {
    return SliceRequest.builder(id);
  }

  private void run(String pod, Shape shape, Footprint footprint, String tenant, long priority) {
    SliceRequest request =
        SliceRequest.builder("job-" + jobs++)
            .shape(shape)
            .tenant(tenant)
            .priority(priority)
            .build();
    fleet =
        fleet.place(
            RunningSlice.builder(request, 0, pod, shape, footprint)
                .startedAt(NOW.minusSeconds(600L * (1 + random.nextInt(300))))
                .build());
  }

  /** Runs a slice of whole cubes on random free ones. */
  private void runCubes(String pod, String text, String tenant, long priority) {
    Shape shape = Shape.parse(text);
    TpuTopology t = fleet.pod(pod).orElseThrow().topology();
    List<CubeId> cubes = new ArrayList<>();
    while (cubes.size() < t.cubesOf(shape)) {
      CubeId cube = freeCube(pod);
      if (!cubes.contains(cube)) {
        cubes.add(cube);
      }
    }
    run(pod, shape, new Footprint.Cubes(cubes), tenant, priority);
  }

  /** Runs a slice on one of the first few free partitions, if there is one. */
  private void runPartition(String pod, String text, String tenant, long priority, int among) {
    Shape shape = Shape.parse(text);
    Pod p = fleet.pod(pod).orElseThrow();
    PartitionForest forest = p.topology().partitions().orElseThrow();
    List<Footprint> free = new ArrayList<>();
    for (int i = 0; i < forest.size() && free.size() < among; i++) {
      Footprint footprint = new Footprint.Partition(new PartitionId(i));
      if (p.topology().whyNot(shape, footprint).isEmpty()
          && !p.busy().containsAny(p.topology().cells(footprint))) {
        free.add(footprint);
      }
    }
    if (!free.isEmpty()) {
      run(pod, shape, free.get(random.nextInt(free.size())), tenant, priority);
    }
  }

  private CubeId freeCube(String pod) {
    Pod p = fleet.pod(pod).orElseThrow();
    while (true) {
      CubeId cube = new CubeId(random.nextInt(p.topology().cubeCount()));
      int[] cells = p.topology().cells(new Footprint.Cubes(List.of(cube)));
      if (!p.busy().containsAny(cells)) {
        return cube;
      }
    }
  }

  private void failFreeHost(String pod) {
    Pod p = fleet.pod(pod).orElseThrow();
    for (int tries = 0; tries < 100; tries++) {
      HostId host = new HostId(random.nextInt(p.topology().hostCount()));
      if (!p.busy().containsAny(p.topology().cells(host))) {
        fleet = fleet.failHost(pod, host);
        return;
      }
    }
  }

  private HostId hostOf(String pod, String request) {
    RunningSlice slice = fleet.runningOf(request).get(0);
    TpuTopology t = fleet.pod(pod).orElseThrow().topology();
    return t.workerHosts(slice.shape(), slice.footprint()).get(3);
  }
}
