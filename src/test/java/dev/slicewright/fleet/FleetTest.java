package dev.slicewright.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.SliceId;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class FleetTest {

  private static final TpuTopology CUBES = RandomParts.CUBES;
  private static final TpuTopology TORUS = RandomParts.TORUS;
  private static final Instant NOON = Instant.parse("2026-01-01T12:00:00Z");

  private static SliceRequest request(String id, String shape, int slices) {
    return SliceRequest.builder(id).shape(shape).slices(slices).build();
  }

  private static RunningSlice cubes(SliceRequest request, int index, String pod, int... cubes) {
    return RunningSlice.builder(request, index, pod, request.shapes().get(0), cubes(cubes)).build();
  }

  private static Footprint.Cubes cubes(int... cubes) {
    return new Footprint.Cubes(IntStream.of(cubes).mapToObj(CubeId::new).toList());
  }

  private static Footprint.Box box(int x, int y, int z, String extents) {
    return new Footprint.Box(new Chip(x, y, z), Shape.parse(extents));
  }

  private static List<String> paths(InvalidInputException e) {
    return e.problems().stream().map(Problem::path).toList();
  }

  private static InvalidInputException invalid(
      org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
    return catchThrowableOfType(InvalidInputException.class, call);
  }

  @Test
  void anEmptyFleetIsAFleet() {
    Fleet fleet = Fleet.builder().build();
    assertThat(fleet.version()).isZero();
    assertThat(fleet.pods()).isEmpty();
    assertThat(fleet.running()).isEmpty();
    assertThat(fleet.holds()).isEmpty();
    assertThat(fleet.runningOf("")).isEmpty();
    assertThat(fleet.runningOf("x")).isEmpty();
    assertThat(fleet.holdsOf("x")).isEmpty();
    assertThat(fleet.pod("x")).isEmpty();
    assertThat(fleet).isEqualTo(Fleet.builder().version(7).build());
    assertThat(fleet.dropExpiredHolds(Instant.MAX)).isSameAs(fleet);
    assertThat(fleet).hasToString("Fleet version 0: 0 pods, 0 running slices, 0 holds");
  }

  @Test
  void everythingWrongIsListedAtOnce() {
    SliceRequest a = request("a", "4x4x4", 2);
    SliceRequest otherA = a.toBuilder().priority(1).build();
    SliceRequest b = request("b", "2x2x3", 1);
    Footprint.Partition partition = new Footprint.Partition(new PartitionId(1));
    InvalidInputException e =
        invalid(
            () ->
                Fleet.builder()
                    .version(-1)
                    .pod("c", CUBES)
                    .pod("c", TORUS)
                    .pod("", TORUS)
                    .pod("t", TORUS)
                    .health("nowhere", new Part.Host(new HostId(0)), Health.FAILED)
                    .health("t", new Part.Host(new HostId(99)), Health.FAILED)
                    .health("t", new Part.Cube(new CubeId(0)), Health.FAILED)
                    .health("c", new Part.OcsPort(new CubeId(0), Axis.X, true, 16), Health.FAILED)
                    .health("c", new Part.Chip(new Chip(0, 0, 16)), Health.FAILED)
                    .health("c", new Part.Host(new HostId(0)), Health.FAILED)
                    .health("c", new Part.Host(new HostId(0)), Health.DEGRADED)
                    .cordon("c", new Part.Link(new Chip(0, 0, 0), Axis.X))
                    .cordonPod("nowhere")
                    .running(cubes(a, 0, "c", 0))
                    .running(cubes(a, 0, "c", 1))
                    .running(cubes(otherA, 1, "c", 0))
                    .running(cubes(request("d", "4x4x4", 1), 0, "nowhere", 0))
                    .running(cubes(request("e", "4x4x4", 1), 0, "c", 4))
                    .running(
                        RunningSlice.builder(b, 0, "t", Shape.parse("2x2x3"), partition).build())
                    .hold(new Hold("h", "c", cubes(0), "x", NOON))
                    .hold(new Hold("h", "nowhere", cubes(0), "x", NOON))
                    .hold(new Hold("i", "t", cubes(0), "x", NOON))
                    .build());
    assertThat(paths(e))
        .containsExactly(
            "version",
            "pods[1].id",
            "pods[2].id",
            "health[0].pod",
            "health[1].part",
            "health[2].part",
            "health[3].part.index",
            "health[4].part",
            "health[6].part",
            "cordons[0].part",
            "podCordons[0]",
            "running[1].id",
            "running[2].footprint",
            "running[2].request",
            "running[3].pod",
            "running[4].footprint",
            "running[5].footprint",
            "holds[0].footprint",
            "holds[1].id",
            "holds[1].pod",
            "holds[2].footprint");
    assertThat(e.problems().get(12).message()).contains("(0,0,0)", "taken by a/0", "release");
    assertThat(e.problems().get(13).message()).contains("request id a", "a/0", "same request");
    assertThat(e.problems().get(14).message()).contains("no pod nowhere", "add the pod");
  }

  @Test
  void placingListsEveryProblemAndChangesNothing() {
    SliceRequest a = request("a", "4x4x4", 3);
    Fleet fleet = Fleet.builder().pod("c", CUBES).running(cubes(a, 0, "c", 0)).build();
    SliceRequest changed = a.toBuilder().shape("4x4x8").priority(2).build();
    RunningSlice slice =
        RunningSlice.builder(changed, 0, "c", Shape.parse("4x4x8"), cubes(0, 1))
            .twist(new Twist(new Chip(0, 4, 0), new Chip(0, 0, 8), new Chip(0, 0, 0)))
            .build();
    InvalidInputException e = invalid(() -> fleet.place(slice));
    assertThat(paths(e))
        .containsExactly(
            "slice.twist",
            "slice.twist",
            "slice.footprint",
            "slice.id",
            "slice.request",
            "slice.shape");
    assertThat(fleet.running()).hasSize(1);
    assertThat(fleet.version()).isZero();
    assertThat(paths(invalid(() -> fleet.place(cubes(a, 1, "x", 1))))).containsExactly("slice.pod");
    assertThat(invalid(() -> fleet.release(new SliceId("a", 1)))).hasMessageContaining("a/1");
    assertThat(invalid(() -> fleet.release("b"))).hasMessageContaining("none of b");
    assertThat(invalid(() -> fleet.dropHold("h"))).hasMessageContaining("no hold h");
    assertThat(invalid(() -> fleet.leaving(new SliceId("b", 0), true))).isNotNull();
  }

  @Test
  void slicesOfARequestHaveOneAccelerator() {
    SliceRequest a = request("a", "4x4x4", 2);
    TpuTopology v4 = TpuTopology.builder(AcceleratorType.V4).cubes(2).build();
    Fleet fleet =
        Fleet.builder().pod("c", CUBES).pod("v4", v4).running(cubes(a, 0, "c", 0)).build();
    InvalidInputException e = invalid(() -> fleet.place(cubes(a, 1, "v4", 0)));
    assertThat(paths(e)).containsExactly("slice.pod");
    assertThat(e).hasMessageContaining("v5p").hasMessageContaining("v4");
  }

  @Test
  void twistsAreForShapesThatCanBeTwisted() {
    SliceRequest a = request("a", "4x4x8", 1);
    Twist twist = CUBES.twist(Shape.parse("4x4x8")).orElseThrow();
    Fleet fleet = Fleet.builder().pod("c", CUBES).pod("t", TORUS).build();
    RunningSlice twisted = cubes(a, 0, "c", 0, 1).toBuilder().twist(twist).build();
    assertThat(fleet.place(twisted).running()).containsExactly(twisted);
    RunningSlice cube = cubes(request("b", "4x4x4", 1), 0, "c", 0).toBuilder().twist(twist).build();
    assertThat(paths(invalid(() -> fleet.place(cube)))).containsExactly("slice.twist");
    RunningSlice box =
        RunningSlice.builder(
                request("d", "4x6x3", 1), 0, "t", Shape.parse("4x6x3"), box(0, 0, 0, "4x6x3"))
            .twist(twist)
            .build();
    assertThat(invalid(() -> fleet.place(box))).hasMessageContaining("Twist.NONE");
  }

  @Test
  void aRunningSliceIsWhatItsRequestAsksFor() {
    SliceRequest chips = SliceRequest.builder("a").chips(64).slices(2).build();
    Shape shape = Shape.parse("4x4x4");
    RunningSlice slice =
        RunningSlice.builder(chips, 1, "c", shape, cubes(0))
            .startedAt(Instant.MIN)
            .checkpointAt(NOON)
            .restartTime(Duration.ofDays(365))
            .leaving(true)
            .build();
    assertThat(slice.toBuilder().build()).isEqualTo(slice).hasSameHashCodeAs(slice);
    assertThat(slice.toBuilder().restartTime(null).build()).isNotEqualTo(slice);
    InvalidInputException e =
        invalid(
            () ->
                RunningSlice.builder(chips, 2, "c", Shape.parse("4x4x8"), cubes(0, 1))
                    .restartTime(Duration.ofNanos(-1))
                    .build());
    assertThat(paths(e)).containsExactly("index", "shape", "restartTime");
    assertThat(e).hasMessageContaining("64 chips").hasMessageContaining("4x4x8");
    assertThat(paths(invalid(() -> RunningSlice.builder(chips, -1, "c", shape, cubes(0)).build())))
        .containsExactly("index");
    assertThat(
            RunningSlice.builder(
                    request("b", "4x8x4", 1), 0, "c", Shape.parse("4x4x8"), cubes(0, 1))
                .build()
                .shape())
        .isEqualTo(Shape.parse("4x4x8"));
  }

  @Test
  void tooManySlicesAreRefusedAtOnce() {
    RunningSlice slice = cubes(request("a", "4x4x4", 1), 0, "c", 0);
    Fleet.Builder builder = Fleet.builder().pod("c", CUBES);
    for (int i = 0; i <= Fleet.MAX_SLICES; i++) {
      builder.running(slice);
    }
    InvalidInputException e = invalid(builder::build);
    assertThat(paths(e)).containsExactly("running");
    assertThat(e).hasMessageContaining("1000000").hasMessageContaining("1000001");
  }

  @Test
  void slicesMayRunOnFailedPartsAndPrioritiesMayBeAnything() {
    SliceRequest low = request("low", "4x4x4", 1).toBuilder().priority(Long.MIN_VALUE).build();
    SliceRequest high = request("high", "4x4x4", 1).toBuilder().priority(Long.MAX_VALUE).build();
    Fleet fleet =
        Fleet.builder()
            .pod("c", CUBES)
            .health("c", new Part.Cube(new CubeId(0)), Health.FAILED)
            .cordonPod("c")
            .running(cubes(low, 0, "c", 0))
            .build()
            .place(cubes(high, 0, "c", 1))
            .failHost("c", new HostId(17));
    Pod pod = fleet.pod("c").orElseThrow();
    assertThat(pod.healthOf(cubes(0))).isEqualTo(Health.FAILED);
    assertThat(pod.healthOf(cubes(1))).isEqualTo(Health.FAILED);
    assertThat(pod.runningAt(20)).contains(cubes(high, 0, "c", 1));
  }

  @Test
  void podsComeAndGo() {
    SliceRequest a = request("a", "4x4x4", 1);
    Map<String, String> labels = new HashMap<>(Map.of("zone", "b", "block", "1"));
    Fleet fleet = Fleet.builder().build().withPod("c", CUBES, labels);
    labels.put("zone", "changed");
    Pod pod = fleet.pod("c").orElseThrow();
    assertThat(pod.labels()).containsEntry("zone", "b");
    assertThat(pod.labels().keySet()).containsExactly("block", "zone");
    assertThat(paths(invalid(() -> fleet.withPod("c", CUBES, Map.of())))).containsExactly("pod.id");
    assertThat(paths(invalid(() -> fleet.withPod("", CUBES, Map.of())))).containsExactly("pod.id");
    assertThat(fleet.withoutPod("c").pods()).isEmpty();
    assertThat(fleet.withoutPod("c").version()).isEqualTo(2);
    assertThatThrownBy(() -> fleet.place(cubes(a, 0, "c", 0)).withoutPod("c"))
        .hasMessageContaining("1 running slice")
        .hasMessageContaining("0 holds");
    assertThatThrownBy(() -> fleet.hold(new Hold("h", "c", cubes(0), "a", NOON)).withoutPod("c"))
        .hasMessageContaining("1 hold;");
    Map<String, String> hole = new HashMap<>();
    hole.put("zone", null);
    assertThatNullPointerException().isThrownBy(() -> fleet.withPod("d", CUBES, hole));
    assertThatNullPointerException().isThrownBy(() -> Fleet.builder().pod("d", CUBES, hole));
  }

  @Test
  void nullsAreRefusedAtTheDoor() {
    Fleet fleet = Fleet.builder().pod("c", CUBES).build();
    Part host = new Part.Host(new HostId(0));
    assertThatNullPointerException().isThrownBy(() -> fleet.report("c", null, Health.FAILED));
    assertThatNullPointerException().isThrownBy(() -> fleet.report("c", host, null));
    assertThatNullPointerException().isThrownBy(() -> fleet.cordon("c", null));
    assertThatNullPointerException().isThrownBy(() -> fleet.pod(null));
    assertThatNullPointerException().isThrownBy(() -> fleet.holdsOf(null));
    assertThatNullPointerException().isThrownBy(() -> fleet.runningOf(null));
    assertThatNullPointerException()
        .isThrownBy(() -> Fleet.builder().health("c", null, Health.FAILED));
    assertThatNullPointerException().isThrownBy(() -> Fleet.builder().health("c", host, null));
    assertThatNullPointerException().isThrownBy(() -> Fleet.builder().cordon("c", null));
  }

  // ---------------------------------------------------------------- holds

  @Test
  void holdsCoverLeavingSlicesOnly() {
    SliceRequest a = request("a", "4x4x4", 1);
    SliceId id = new SliceId("a", 0);
    Fleet fleet = Fleet.builder().pod("c", CUBES).running(cubes(a, 0, "c", 0)).build();
    Hold hold = new Hold("h", "c", cubes(0, 2), "b", NOON);
    InvalidInputException e = invalid(() -> fleet.hold(hold));
    assertThat(paths(e)).containsExactly("hold.footprint");
    assertThat(e).hasMessageContaining("a/0").hasMessageContaining("leaving");
    Fleet held = fleet.leaving(id, true).hold(hold);
    assertThat(held.version()).isEqualTo(2);
    assertThat(invalid(() -> held.leaving(id, false))).hasMessageContaining("drop that hold");
    assertThat(held.dropHold("h").leaving(id, false)).isEqualTo(fleet);
    assertThat(held.release(id).holds()).containsExactly(hold);
    assertThat(invalid(() -> held.hold(new Hold("i", "c", cubes(2), "b", NOON))))
        .hasMessageContaining("overlaps hold h");
    assertThat(held.hold(new Hold("i", "c", cubes(3), "b", NOON)).holdsOf("b")).hasSize(2);
    assertThat(
            Fleet.builder()
                .pod("c", CUBES)
                .running(cubes(a, 0, "c", 0).toBuilder().leaving(true).build())
                .hold(hold)
                .build())
        .isEqualTo(held);
  }

  @Test
  void aHoldEndsWhenItsRequestIsPlaced() {
    SliceRequest two = request("two", "4x4x4", 2);
    Fleet fleet =
        Fleet.builder()
            .pod("c", CUBES)
            .hold(new Hold("near", "c", cubes(0), "two", NOON))
            .hold(new Hold("far", "c", cubes(1), "two", NOON))
            .hold(new Hold("other", "c", cubes(3), "x", NOON))
            .build();
    assertThat(invalid(() -> fleet.place(cubes(two, 0, "c", 3))))
        .hasMessageContaining("held for request x")
        .hasMessageContaining("drop hold other");
    Fleet one = fleet.place(cubes(two, 0, "c", 0));
    assertThat(one.version()).isEqualTo(1);
    assertThat(one.holds()).extracting(Hold::id).containsExactly("far", "other");
    Fleet both = one.place(cubes(two, 1, "c", 2));
    assertThat(both.holds()).extracting(Hold::id).containsExactly("other");
    assertThat(both.pod("c").orElseThrow().holds()).extracting(Hold::id).containsExactly("other");
    assertThat(both.holdsOf("two")).isEmpty();
    assertThat(both.version()).isEqualTo(2);
    assertThat(fleet.holds()).hasSize(3);
  }

  @Test
  void aHoldForAMoveOutlivesTheSliceThatLeaves() {
    SliceRequest a = request("a", "4x4x4", 1);
    Fleet fleet =
        Fleet.builder()
            .pod("c", CUBES)
            .running(cubes(a, 0, "c", 0))
            .hold(new Hold("h", "c", cubes(1), "a", NOON))
            .build()
            .leaving(new SliceId("a", 0), true);
    Fleet released = fleet.release("a");
    assertThat(released.holds()).hasSize(1);
    assertThat(released.place(cubes(a, 0, "c", 1)).holds()).isEmpty();
  }

  @Test
  void expiredHoldsCountUntilTheyAreDropped() {
    SliceRequest a = request("a", "4x4x4", 1);
    Fleet fleet =
        Fleet.builder()
            .pod("c", CUBES)
            .hold(new Hold("h", "c", cubes(0), "x", NOON))
            .hold(new Hold("i", "c", cubes(1), "y", NOON.plusNanos(1)))
            .hold(new Hold("j", "c", cubes(2), "y", Instant.MIN))
            .build();
    assertThat(fleet.hold("h").orElseThrow().isLive(NOON)).isFalse();
    assertThat(fleet.hold("i").orElseThrow().isLive(NOON)).isTrue();
    assertThat(invalid(() -> fleet.place(cubes(a, 0, "c", 0)))).isNotNull();
    Fleet dropped = fleet.dropExpiredHolds(NOON);
    assertThat(dropped.holds()).extracting(Hold::id).containsExactly("i");
    assertThat(dropped.version()).isEqualTo(1);
    assertThat(dropped.place(cubes(a, 0, "c", 0)).running()).hasSize(1);
  }

  @Test
  void holdsNameFootprintsThatThePodHas() {
    TpuTopology nested = RandomParts.NESTED;
    TpuTopology withBoxes = RandomParts.CUBES_WITH_BOXES;
    Fleet fleet =
        Fleet.builder()
            .pod("c", CUBES)
            .pod("b", withBoxes)
            .pod("t", TORUS)
            .pod("n", nested)
            .build();
    Footprint.Partition cube = new Footprint.Partition(new PartitionId(0));
    Footprint.Partition half = new Footprint.Partition(new PartitionId(1));
    List<Hold> legal = new ArrayList<>();
    legal.add(new Hold("1", "c", half, "x", NOON));
    legal.add(new Hold("2", "c", cubes(3, 1, 2), "x", NOON));
    legal.add(new Hold("3", "b", box(0, 2, 1, "4x2x2"), "x", NOON));
    legal.add(new Hold("4", "t", box(2, 4, 2, "4x4x2"), "x", NOON));
    legal.add(new Hold("5", "n", cube, "x", NOON));
    Fleet held = fleet;
    for (Hold hold : legal) {
      held = held.hold(hold);
    }
    assertThat(held.holds()).containsExactlyElementsOf(legal);
    List<Hold> illegal =
        List.of(
            new Hold("i", "c", cubes(), "x", NOON),
            new Hold("i", "c", cubes(1, 1), "x", NOON),
            new Hold("i", "c", cubes(4), "x", NOON),
            new Hold("i", "c", cubes(-1), "x", NOON),
            new Hold("i", "c", box(0, 0, 0, "2x2x1"), "x", NOON),
            new Hold("i", "t", half, "x", NOON),
            new Hold("i", "t", cubes(0), "x", NOON),
            new Hold("i", "t", box(1, 0, 0, "2x2x1"), "x", NOON),
            new Hold("i", "t", box(0, 0, 0, "2x2"), "x", NOON),
            new Hold("i", "n", new Footprint.Partition(new PartitionId(-1)), "x", NOON),
            new Hold("i", "n", box(0, 0, 0, "2x2"), "x", NOON));
    for (Hold hold : illegal) {
      assertThat(paths(invalid(() -> fleet.hold(hold)))).containsExactly("hold.footprint");
    }
    InvalidInputException e = invalid(() -> fleet.hold(new Hold("i", "c", cube, "x", NOON)));
    assertThat(e).hasMessageContaining("hold cube 0 instead");
    assertThat(paths(invalid(() -> new Hold("", "c", cube, "", NOON))))
        .containsExactly("id", "request");
  }

  // ---------------------------------------------------------------- health

  @Test
  void aFailedHostTakesItsCubeFromLargeSlicesOnly() {
    Fleet fleet = Fleet.builder().pod("c", CUBES).build().failHost("c", new HostId(0));
    Pod pod = fleet.pod("c").orElseThrow();
    assertThat(pod.healthOf(cubes(0))).isEqualTo(Health.FAILED);
    assertThat(pod.healthOf(cubes(1))).isEqualTo(Health.HEALTHY);
    var forest = CUBES.partitions().orElseThrow();
    List<PartitionId> halves = forest.children(new PartitionId(0));
    assertThat(halves)
        .extracting(id -> pod.healthOf(new Footprint.Partition(id)))
        .containsExactlyInAnyOrder(Health.FAILED, Health.HEALTHY);
    assertThat(pod.health().brokenCubes()).containsExactly(new CubeId(0));
    assertThat(pod.freeChips()).isEqualTo(252);
    assertThat(pod.idleChips()).isEqualTo(256);
  }

  @Test
  void repairsTakeBackWhatWasReported() {
    Part chip = new Part.Chip(new Chip(1, 1, 0));
    Part host = new Part.Host(new HostId(0));
    Fleet fleet = Fleet.builder().pod("c", CUBES).build();
    Fleet failed = fleet.fail("c", chip);
    assertThat(failed.repair("c", host)).isSameAs(failed);
    assertThat(failed.pod("c").orElseThrow().health().failedCells().toArray()).containsExactly(0);
    assertThat(failed.repair("c", chip)).isEqualTo(fleet);
    assertThat(failed.repair("c", chip).pod("c").orElseThrow().reportedHealth()).isEmpty();
    assertThat(failed.report("c", chip, Health.DEGRADED).pod("c").orElseThrow().healthOf(cubes(0)))
        .isEqualTo(Health.DEGRADED);
    assertThat(fleet.uncordon("c", host)).isSameAs(fleet);
    assertThat(invalid(() -> fleet.uncordon("c", new Part.Cube(new CubeId(9))))).isNotNull();
    assertThat(invalid(() -> fleet.fail("x", chip))).hasMessageContaining("no pod x");
    assertThat(Fleet.builder().pod("c", CUBES).health("c", chip, Health.HEALTHY).build())
        .isEqualTo(fleet);
  }

  @Test
  void aPartThatHealsIsExcludedUntilItsCoolDownHasPassed() {
    Part chip = new Part.Chip(new Chip(1, 1, 0));
    Part host = new Part.Host(new HostId(7));
    Fleet fleet = Fleet.builder().pod("c", CUBES).pod("t", TORUS).build();
    Fleet failed = fleet.fail("c", chip).report("c", host, Health.DEGRADED).fail("t", host);
    Fleet healing =
        failed
            .healing("c", chip, NOON)
            .healing("c", host, NOON.plusSeconds(1))
            .healing("t", host, NOON);
    Pod pod = healing.pod("c").orElseThrow();
    assertThat(pod.healing())
        .containsExactly(Map.entry(chip, NOON), Map.entry(host, NOON.plusSeconds(1)));
    assertThat(pod.reportedHealth()).isEqualTo(failed.pod("c").orElseThrow().reportedHealth());
    assertThat(pod.health().failedCells())
        .isEqualTo(failed.pod("c").orElseThrow().health().failedCells());
    assertThat(healing).isNotEqualTo(failed);
    assertThat(healing.healing("c", chip, NOON)).isSameAs(healing);

    assertThat(healing.healed(NOON.minusNanos(1))).isSameAs(healing);
    Fleet noon = healing.healed(NOON);
    assertThat(noon.version()).isEqualTo(healing.version() + 1);
    assertThat(noon.pod("c").orElseThrow().reportedHealth()).containsOnlyKeys(host);
    assertThat(noon.pod("c").orElseThrow().healing()).containsOnlyKeys(host);
    assertThat(noon.pod("t")).isEqualTo(fleet.pod("t"));
    assertThat(noon.healed(NOON.plusSeconds(1))).isEqualTo(fleet);

    // Whatever is said of the part in between ends the cool-down.
    assertThat(healing.fail("c", chip).healed(NOON).pod("c").orElseThrow().reportedHealth())
        .containsEntry(chip, Health.FAILED);
    assertThat(healing.repair("c", chip).pod("c").orElseThrow().healing()).containsOnlyKeys(host);

    assertThat(invalid(() -> fleet.healing("c", chip, NOON)))
        .hasMessageContaining("report it first");
    assertThat(invalid(() -> failed.healing("x", chip, NOON))).hasMessageContaining("no pod x");
    assertThat(
            invalid(() -> failed.healing("c", new Part.Host(new HostId(9_999)), NOON)).problems())
        .hasSize(1);
    assertThat(
            Fleet.builder()
                .pod("c", CUBES)
                .pod("t", TORUS)
                .health("c", chip, Health.FAILED)
                .health("c", host, Health.DEGRADED)
                .health("t", host, Health.FAILED)
                .healing("t", host, NOON)
                .healing("c", host, NOON.plusSeconds(1))
                .healing("c", chip, NOON)
                .build())
        .isEqualTo(healing);
    assertThat(
            paths(
                invalid(
                    () ->
                        Fleet.builder()
                            .pod("c", CUBES)
                            .health("c", chip, Health.FAILED)
                            .healing("c", chip, NOON)
                            .healing("c", chip, NOON)
                            .healing("c", host, NOON)
                            .healing("y", host, NOON)
                            .build())))
        .containsExactly("healing[1].part", "healing[2].part", "healing[3].pod");
  }

  @Test
  void manyPartsAreReportedAtOnceOrNotAtAll() {
    Part chip = new Part.Chip(new Chip(1, 1, 0));
    Part host = new Part.Host(new HostId(7));
    Fleet fleet = Fleet.builder().pod("c", CUBES).pod("t", TORUS).build();
    Map<String, List<Part>> parts = Map.of("c", List.of(chip, host), "t", List.of(host));
    Fleet failed = fleet.report(parts, Health.FAILED);
    assertThat(failed.version()).isOne();
    assertThat(failed).isEqualTo(fleet.fail("c", chip).fail("c", host).fail("t", host));
    assertThat(failed.report(parts, Health.FAILED)).isSameAs(failed);
    assertThat(failed.report(parts, Health.HEALTHY)).isEqualTo(fleet);
    Map<String, List<Part>> bad = new java.util.TreeMap<>();
    bad.put("c", List.of(chip, new Part.Host(new HostId(9_999)), new Part.Cube(new CubeId(99))));
    bad.put("t", List.of(new Part.Cube(new CubeId(0))));
    bad.put("x", List.of(host));
    assertThat(paths(invalid(() -> fleet.report(bad, Health.FAILED))))
        .containsExactly("parts.c[1]", "parts.c[2]", "parts.t[0]", "parts.x");
  }

  @Test
  void linksExistWhereThePodHasThem() {
    Fleet fleet = Fleet.builder().pod("t", TORUS).pod("m", RandomParts.MESH).build();
    assertThat(fleet.fail("t", new Part.Link(new Chip(3, 5, 2), Axis.X)).version()).isOne();
    assertThat(fleet.fail("m", new Part.Link(new Chip(6, 3, 0), Axis.X)).version()).isOne();
    for (Part link :
        List.of(
            new Part.Link(new Chip(7, 0, 0), Axis.X),
            new Part.Link(new Chip(0, 0, 0), Axis.Z),
            new Part.Link(new Chip(8, 0, 0), Axis.X))) {
      assertThat(paths(invalid(() -> fleet.fail("m", link)))).containsExactly("part");
    }
  }

  @Test
  void aPhysicalMachineIsAllItsHosts() {
    Fleet fleet = Fleet.builder().pod("n", RandomParts.NESTED).pod("c", CUBES).build();
    TpuTopology t = RandomParts.NESTED;
    HostId host = t.hostOf(new Chip(4, 6, 0));
    Fleet failed = fleet.reportPhysicalHost("n", host, Health.FAILED);
    Pod pod = failed.pod("n").orElseThrow();
    assertThat(failed.version()).isOne();
    assertThat(t.physicalHostTile().chips()).isEqualTo(8);
    assertThat(pod.reportedHealth()).hasSize(2).containsKey(new Part.Host(host));
    assertThat(pod.health().failedCells().cardinality()).isEqualTo(8);
    for (int cell : pod.health().failedCells().toArray()) {
      Chip chip = t.originOfCell(cell);
      assertThat(chip.x() / t.physicalHostTile().x()).isEqualTo(4 / t.physicalHostTile().x());
      assertThat(chip.y() / t.physicalHostTile().y()).isEqualTo(6 / t.physicalHostTile().y());
    }
    assertThat(failed.reportPhysicalHost("n", host, Health.HEALTHY)).isEqualTo(fleet);
    assertThat(
            fleet
                .reportPhysicalHost("c", new HostId(5), Health.DEGRADED)
                .pod("c")
                .orElseThrow()
                .reportedHealth())
        .containsExactly(Map.entry(new Part.Host(new HostId(5)), Health.DEGRADED));
    assertThat(invalid(() -> fleet.reportPhysicalHost("n", new HostId(64), Health.FAILED)))
        .isNotNull();
    Fleet nominal =
        Fleet.builder()
            .pod("n", TpuTopology.builder(AcceleratorType.V5E).coordinatesUnknown().build())
            .build();
    assertThat(invalid(() -> nominal.reportPhysicalHost("n", host, Health.FAILED)))
        .hasMessageContaining("nominal");
  }

  @Test
  void aPolicyOfTheCallersOwnIsHonoured() {
    HealthPolicy strict =
        (t, reported) -> {
          EffectiveHealth base = HealthPolicy.standard().derive(t, reported);
          return new EffectiveHealth(
              base.failedCells().with(base.degradedCells().toArray()),
              base.degradedCells(),
              base.failedLinks(),
              base.degradedLinks(),
              base.degradedCubes(),
              Set.of());
        };
    Part host = new Part.Host(new HostId(1));
    Fleet fleet =
        Fleet.builder()
            .pod("c", CUBES)
            .healthPolicy(strict)
            .health("c", host, Health.DEGRADED)
            .build();
    assertThat(fleet.pod("c").orElseThrow().healthOf(cubes(0))).isEqualTo(Health.FAILED);
    Fleet later = fleet.withPod("d", CUBES, Map.of()).report("d", host, Health.DEGRADED);
    assertThat(later.pod("d").orElseThrow().healthOf(cubes(0))).isEqualTo(Health.FAILED);
    assertThat(fleet)
        .isNotEqualTo(Fleet.builder().pod("c", CUBES).health("c", host, Health.DEGRADED).build());
    HealthPolicy wholeCubes =
        (t, reported) ->
            new EffectiveHealth(
                CellSet.empty(t.cellCount()),
                CellSet.empty(t.cellCount()),
                List.of(),
                List.of(),
                Set.of(new CubeId(1)),
                Set.of(new CubeId(2)));
    Pod pod =
        Fleet.builder().pod("c", CUBES).healthPolicy(wholeCubes).build().pod("c").orElseThrow();
    assertThat(pod.healthOf(cubes(0))).isEqualTo(Health.HEALTHY);
    assertThat(pod.healthOf(cubes(2, 1))).isEqualTo(Health.FAILED);
    assertThat(pod.healthOf(cubes(2, 0))).isEqualTo(Health.DEGRADED);
    HealthPolicy wrong =
        (t, reported) ->
            new EffectiveHealth(
                CellSet.empty(1), CellSet.empty(1), List.of(), List.of(), Set.of(), Set.of());
    Fleet broken = Fleet.builder().pod("c", CUBES).healthPolicy(wrong).build();
    assertThatThrownBy(() -> broken.pod("c").orElseThrow().health())
        .isInstanceOf(IllegalStateException.class)
        .hasMessageContaining("64 cells");
  }

  @Test
  void equalPodsListTheirPartsEqually() {
    List<Part> parts =
        List.of(
            new Part.OcsPort(new CubeId(1), Axis.X, true, 3),
            new Part.Link(new Chip(1, 0, 0), Axis.Y),
            new Part.Cube(new CubeId(3)),
            new Part.Link(new Chip(1, 0, 0), Axis.X),
            new Part.Host(new HostId(10)),
            new Part.Host(new HostId(2)),
            new Part.Chip(new Chip(0, 0, 5)));
    Fleet forward = Fleet.builder().pod("c", CUBES).build();
    Fleet backward = forward;
    for (int i = 0; i < parts.size(); i++) {
      forward = forward.fail("c", parts.get(i));
      backward = backward.fail("c", parts.get(parts.size() - 1 - i));
    }
    assertThat(forward).isEqualTo(backward);
    Pod pod = forward.pod("c").orElseThrow();
    assertThat(backward.pod("c").orElseThrow().reportedHealth().keySet())
        .containsExactly(
            parts.get(6),
            parts.get(5),
            parts.get(4),
            parts.get(3),
            parts.get(1),
            parts.get(2),
            parts.get(0));
    assertThat(pod.health()).isEqualTo(backward.pod("c").orElseThrow().health());
    assertThat(List.copyOf(pod.health().brokenCubes())).isSorted();
    assertThatThrownBy(() -> pod.reportedHealth().clear())
        .isInstanceOf(UnsupportedOperationException.class);
    assertThatThrownBy(() -> pod.cordons().add(parts.get(0)))
        .isInstanceOf(UnsupportedOperationException.class);
    assertThatThrownBy(() -> pod.running().clear())
        .isInstanceOf(UnsupportedOperationException.class);
  }

  // ---------------------------------------------------------------- size

  @Test
  void aHundredThousandSlicesOfOneRequestAreOneFleet() {
    int pods = 700;
    TpuTopology t = TpuTopology.tpu7x();
    SliceRequest request = request("wide", "4x4x4", 100_000);
    Fleet.Builder builder = Fleet.builder();
    for (int p = 0; p < pods; p++) {
      builder.pod("p" + p, t);
    }
    for (int i = 0; i < 100_000; i++) {
      builder.running(cubes(request, i, "p" + i % pods, i / pods));
    }
    Fleet fleet = builder.build();
    assertThat(fleet.running()).hasSize(100_000);
    assertThat(fleet.pods().stream().mapToInt(p -> p.running().size()).sum()).isEqualTo(100_000);
    Fleet changed = fleet;
    for (int i = 0; i < 20_000; i++) {
      SliceId id = new SliceId("wide", i * 5);
      RunningSlice slice = fleet.running(id).orElseThrow();
      changed = changed.release(id).place(slice);
    }
    assertThat(changed.version()).isEqualTo(40_000);
    assertThat(changed).isEqualTo(fleet);
    assertThat(fleet.release("wide").running()).isEmpty();
    int[] all = IntStream.range(0, t.cellCount()).toArray();
    assertThat(Arrays.stream(all).filter(fleet.pod("p0").orElseThrow().busy()::contains).count())
        .isEqualTo(143 * 16);
  }

  @Test
  void aPodSaysWhyItIsNoneThatARequestTakes() {
    Pod pod = Fleet.builder().pod("p", CUBES, Map.of("zone", "a")).build().pod("p").orElseThrow();

    assertThat(pod.whyNot(SliceRequest.builder("r").chips(64).build())).isEmpty();
    assertThat(pod.whyNot(SliceRequest.builder("r").chips(64).accelerators("v6e").build()))
        .contains("is " + CUBES.accelerator() + ", not one of [v6e]");
    assertThat(pod.whyNot(SliceRequest.builder("r").chips(64).requireLabel("zone", "b").build()))
        .contains("lacks the required label zone=b");
    assertThat(pod.whyNot(SliceRequest.builder("r").chips(64).requireLabel("zone", "a").build()))
        .isEmpty();
    assertThat(pod.whyNot(SliceRequest.builder("r").chips(64).forbidLabel("zone", "a").build()))
        .contains("has the forbidden label zone=a");
    assertThat(pod.whyNot(SliceRequest.builder("r").chips(64).forbidLabel("rack", "a").build()))
        .isEmpty();
    assertThat(pod.whyNot(SliceRequest.builder("r").chips(64).pod("q").build()))
        .contains("is not the pinned pod q");
    assertThat(pod.whyNot(SliceRequest.builder("r").chips(64).pod("p").build())).isEmpty();
  }
}
