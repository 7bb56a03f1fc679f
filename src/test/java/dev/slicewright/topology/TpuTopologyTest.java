package dev.slicewright.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TpuTopologyTest {

  private static final Chip ZERO = new Chip(0, 0, 0);

  // ---------------------------------------------------------------- what builds

  @Test
  void largestPodBuildsAndAnswers() {
    TpuTopology pod = TpuTopology.torus(TpuTopology.MAX_X, TpuTopology.MAX_YZ, TpuTopology.MAX_YZ);
    assertThat(pod.chipCount()).isEqualTo(64 * 256 * 256);
    Chip last = new Chip(63, 255, 255);
    assertThat(pod.chipIndex(last)).isEqualTo(pod.chipCount() - 1);
    assertThat(pod.cellOf(last)).isEqualTo(pod.cellCount() - 1);
    assertThat(pod.graph().degreeOf(last)).isEqualTo(6);
    Footprint.Box box = new Footprint.Box(new Chip(62, 254, 255), Shape.of(4, 4, 2));
    assertThat(pod.whyNot(Shape.of(2, 4, 4), box)).isEmpty();
    assertThat(pod.cells(box)).hasSize(8).isSorted();
    assertThat(TpuTopology.torus(64, 256).chipCount()).isEqualTo(64 * 256);
  }

  @Test
  void cubesLieInARow() {
    TpuTopology pod =
        TpuTopology.builder(AcceleratorType.TPU7X).cubes(TpuTopology.MAX_CUBES).build();
    assertThat(pod.dims()).isEqualTo(Shape.of(4, 4, 4 * TpuTopology.MAX_CUBES));
    assertThat(pod.cubeCount()).isEqualTo(TpuTopology.MAX_CUBES);
    assertThat(pod.originOf(new CubeId(17))).isEqualTo(new Chip(0, 0, 68));
  }

  @ParameterizedTest
  @CsvSource({
    "0,4,4,dims.X",
    "-1,4,4,dims.X",
    "65,4,4,dims.X",
    "4,257,4,dims.Y",
    "4,4,0,dims.Z",
    "4,4,257,dims.Z",
    "-2147483648,4,4,dims.X",
    "3,4,4,hostTile",
    "4,5,4,hostTile"
  })
  void dimensionOutOfRangeIsRefused(int x, int y, int z, String path) {
    assertRefused(TpuTopology.torusBuilder(x, y, z), path);
  }

  @Test
  void oneToThreeTooManyExtents() {
    assertRefused(TpuTopology.builder(AcceleratorType.V6E).dims(), "dims");
    assertRefused(TpuTopology.builder(AcceleratorType.V6E).dims(16), "dims");
    assertRefused(TpuTopology.builder(AcceleratorType.V6E).dims(4, 4, 4, 4), "dims");
    assertRefused(TpuTopology.builder(AcceleratorType.V6E).dims(4, 4, 4), "dims");
  }

  @Test
  void everyDimensionIsNamedAtOnce() {
    assertRefused(TpuTopology.torusBuilder(0, 300, -5), "dims.X", "dims.Y", "dims.Z");
  }

  @Test
  void severalProblemsAreListedAtOnce() {
    assertRefused(
        TpuTopology.builder(AcceleratorType.V5P)
            .dims(16, 20, 30)
            .hostTile(Shape.of(3, 2, 1))
            .slicing(Slicing.OpticalCubes.upTo(0)),
        "hostTile",
        "dims",
        "slicing.maxCubes");
    assertRefused(
        TpuTopology.torusBuilder(6, 12)
            .hostTile(Shape.of(4, 4))
            .slicing(Slicing.NestedPartitions.halving()),
        "hostTile",
        "slicing.partitions");
    assertRefused(
        TpuTopology.builder(AcceleratorType.V6E).hostNames(List.of("a")).cubeNames(List.of("c")),
        "hostNames",
        "cubeNames");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, -1, -5, TpuTopology.MAX_CUBES + 1, Integer.MAX_VALUE})
  void numberOfCubesOutOfRangeIsRefused(int cubes) {
    assertRefused(TpuTopology.builder(AcceleratorType.TPU7X).cubes(cubes), "cubes");
  }

  @Test
  void cubesNeedAnOpticalPod() {
    assertRefused(TpuTopology.builder(AcceleratorType.V6E).cubes(4), "cubes");
    assertRefused(TpuTopology.builder(AcceleratorType.V5P).dims(64, 256, 256), "dims");
    assertRefused(TpuTopology.builder(AcceleratorType.V5P).hostTile(Shape.of(1, 1, 1)), "hostTile");
  }

  @Test
  void tileMustDivideThePod() {
    assertRefused(TpuTopology.torusBuilder(8, 8).hostTile(Shape.of(3, 1)), "hostTile");
    assertRefused(TpuTopology.torusBuilder(8, 8).hostTile(Shape.of(2, 2, 1)), "hostTile");
    assertRefused(
        TpuTopology.torusBuilder(8, 8).physicalHostTile(Shape.of(3, 2)), "physicalHostTile");
    assertRefused(
        TpuTopology.torusBuilder(8, 8).physicalHostTile(Shape.of(1, 2)), "physicalHostTile");
  }

  @Test
  void halvingMustNotCutHosts() {
    assertRefused(TpuTopology.builder(AcceleratorType.V6E).hostTile(Shape.of(4, 2)), "hostTile");
    assertRefused(
        TpuTopology.torusBuilder(12, 4).slicing(Slicing.NestedPartitions.halving()),
        "slicing.partitions");
  }

  @Test
  void namesMustBeAsManyAsHostsAndDiffer() {
    TpuTopology.Builder pod = TpuTopology.torusBuilder(4, 2);
    assertRefused(pod.hostNames(List.of("a", "a")), "hostNames[1]");
    assertRefused(pod.hostNames(List.of("", "a")), "hostNames[0]");
    assertRefused(pod.hostNames(List.of("a", "b", "c")), "hostNames");
    TpuTopology named = pod.hostNames(List.of("a", "b")).build();
    assertThat(named.hostName(new HostId(1))).isEqualTo("b");
    assertThat(named.hostNames()).containsExactly("a", "b");
  }

  @Test
  void physicalHostFollowsTheHostWhereItMust() {
    assertThat(TpuTopology.v6e().physicalHostTile()).isEqualTo(Shape.of(2, 4));
    assertThat(TpuTopology.builder(AcceleratorType.V6E).dims(2, 2).build().physicalHostTile())
        .isEqualTo(Shape.of(2, 2));
    assertThat(TpuTopology.torusBuilder(8, 8).hostTile(Shape.of(4, 4)).build().physicalHostTile())
        .isEqualTo(Shape.of(4, 4));
  }

  @Test
  void acceleratorOfACustomTorus() {
    assertThat(TpuTopology.torus(8, 6).accelerator().podDims()).isEqualTo(Shape.of(8, 6));
    assertThat(TpuTopology.torus(8, 6).accelerator().iciLinksPerChip()).isEqualTo(4);
    AcceleratorType own =
        AcceleratorType.builder("torus").podDims(Shape.of(4, 4)).bf16Tflops(7).build();
    assertThat(TpuTopology.torusBuilder(8, 6).accelerator(own).build().accelerator()).isSameAs(own);
    assertRefused(TpuTopology.torusBuilder(8, 6).accelerator(AcceleratorType.V4), "dims");
  }

  @Test
  void builderMayBeUsedAgain() {
    TpuTopology.Builder builder = TpuTopology.torusBuilder(8, 8, 8);
    TpuTopology wired = builder.build();
    TpuTopology optical = builder.slicing(Slicing.OpticalCubes.upTo(8)).build();
    TpuTopology again = builder.slicing(Slicing.TorusBoxes.anyBox()).build();
    assertThat(optical.wraps(Axis.X)).isFalse();
    assertThat(again).isEqualTo(wired).hasSameHashCodeAs(wired).isNotEqualTo(optical);
    assertThat(again.wraps(Axis.X)).isTrue();
  }

  @Test
  void equalIfBuiltFromTheSame() {
    assertThat(TpuTopology.v5p()).isEqualTo(TpuTopology.v5p()).isNotEqualTo(TpuTopology.v4());
    assertThat(TpuTopology.v6e()).isNotEqualTo(TpuTopology.v5e());
    assertThat(TpuTopology.torusBuilder(4, 4).mesh().build()).isNotEqualTo(TpuTopology.torus(4, 4));
    assertThat(TpuTopology.v5p().toString()).contains("v5p", "140");
  }

  @Test
  void everyPodHasItsSlicing() {
    for (TpuTopology pod : List.of(TpuTopology.v4(), TpuTopology.v5p(), TpuTopology.tpu7x())) {
      assertThat(pod.slicing()).isInstanceOf(Slicing.OpticalCubes.class);
    }
    for (TpuTopology pod : List.of(TpuTopology.v5e(), TpuTopology.v6e())) {
      assertThat(pod.slicing()).isInstanceOf(Slicing.NestedPartitions.class);
    }
    for (TpuTopology pod : List.of(TpuTopology.v2(), TpuTopology.v3(), TpuTopology.torus(8, 8))) {
      assertThat(pod.slicing()).isInstanceOf(Slicing.TorusBoxes.class);
      assertThat(pod.partitions()).isEmpty();
    }
  }

  // ---------------------------------------------------------------- machines

  @Test
  void twoSmallHostsShareAMachineOfV6e() {
    TpuTopology pod = TpuTopology.v6e();
    assertThat(pod.machineHosts(new HostId(0))).containsExactly(new HostId(0), new HostId(8));
    assertThat(pod.machineHosts(new HostId(8))).containsExactly(new HostId(0), new HostId(8));
    long machines =
        IntStream.range(0, pod.hostCount())
            .mapToObj(h -> pod.machineHosts(new HostId(h)))
            .distinct()
            .count();
    assertThat(machines).isEqualTo(32); // the documentation's hosts of a 16x16 slice
    assertThat(TpuTopology.v5p().machineHosts(new HostId(5))).containsExactly(new HostId(5));
    // v3: four by two, so neighbours along x
    assertThat(TpuTopology.v3().machineHosts(new HostId(3)))
        .containsExactly(new HostId(2), new HostId(3));
  }

  // ---------------------------------------------------------------- alignment

  @Test
  void alignmentOfPlanarShapesByHost() {
    TpuTopology small = boxes(Shape.of(2, 2));
    TpuTopology large = boxes(Shape.of(2, 4));
    TpuTopology single = boxes(Shape.of(1, 1));
    assertThat(small.alignment(Shape.of(1, 1))).contains(Shape.of(1, 1));
    assertThat(small.alignment(Shape.of(2, 2))).contains(Shape.of(2, 2));
    assertThat(small.alignment(Shape.of(4, 2))).contains(Shape.of(2, 2));
    assertThat(large.alignment(Shape.of(1, 1))).contains(Shape.of(1, 1));
    assertThat(large.alignment(Shape.of(2, 2))).contains(Shape.of(2, 2));
    assertThat(large.alignment(Shape.of(2, 4))).contains(Shape.of(2, 4));
    assertThat(large.alignment(Shape.of(4, 2))).isEmpty(); // cuts two hosts
    assertThat(large.alignment(Shape.of(8, 4))).contains(Shape.of(2, 4));
    assertThat(single.alignment(Shape.of(2, 2))).contains(Shape.of(1, 1));
    for (TpuTopology pod : List.of(small, large, single)) {
      assertThat(pod.alignment(Shape.of(1, 2))).isEmpty(); // no such slice
      assertThat(pod.alignment(Shape.of(4, 6))).isEmpty();
      assertThat(pod.alignment(Shape.of(32, 16))).isEmpty();
      assertThat(pod.alignment(Shape.of(2, 2, 1))).isEmpty();
      assertThat(pod.cellTile()).isEqualTo(Shape.of(1, 1));
    }
  }

  private static TpuTopology boxes(Shape tile) {
    return TpuTopology.builder(AcceleratorType.V6E).hostTile(tile).boxes().build();
  }

  @Test
  void alignmentIsEmptyWhereNoBoxIsASlice() {
    assertThat(TpuTopology.v6e().alignment(Shape.of(4, 4))).isEmpty();
    assertThat(TpuTopology.v5p().alignment(Shape.of(2, 2, 2))).isEmpty();
    TpuTopology pod =
        TpuTopology.builder(AcceleratorType.V5P)
            .slicing(new Slicing.OpticalCubes(96, true, List.of()))
            .build();
    assertThat(pod.alignment(Shape.of(2, 2, 3))).contains(Shape.of(2, 2, 1));
    assertThat(pod.alignment(Shape.of(4, 4, 4))).isEmpty(); // placed on a cube
    assertThat(pod.alignment(Shape.of(4, 4, 8))).isEmpty();
    assertThat(TpuTopology.v2().alignment(Shape.of(6, 4))).isEmpty();
    assertThat(TpuTopology.v2().alignment(Shape.of(8, 4))).contains(Shape.of(2, 2));
  }

  // ---------------------------------------------------------------- footprints

  @Test
  void boxPlacementNamesWhatIsWrong() {
    TpuTopology pod = TpuTopology.torusBuilder(8, 8).wrap(Axis.X, false).build();
    Shape shape = Shape.of(2, 4);
    assertThat(pod.whyNot(shape, box(0, 6, 0, 2, 4))).isEmpty(); // y wraps
    assertThat(pod.whyNot(shape, box(6, 0, 0, 4, 2)).orElseThrow()).contains("X", "wrap");
    assertThat(pod.whyNot(shape, box(1, 0, 0, 2, 4)).orElseThrow()).contains("host");
    assertThat(pod.whyNot(shape, box(8, 0, 0, 2, 4)).orElseThrow()).contains("host");
    assertThat(pod.whyNot(shape, box(0, 0, 0, 4, 4)).orElseThrow()).contains("turn");
    assertThat(pod.whyNot(Shape.of(3, 4), box(0, 0, 0, 2, 4)).orElseThrow()).contains("3x4");
    assertThat(pod.whyNot(shape, cubes(0)).orElseThrow()).contains("cubes");
    assertThat(pod.whyNot(shape, partition(0)).orElseThrow()).contains("no partition");
  }

  @Test
  void cubePlacementNamesWhatIsWrong() {
    TpuTopology pod = TpuTopology.v4();
    Shape two = Shape.of(4, 4, 8);
    assertThat(pod.whyNot(two, cubes(63, 0))).isEmpty();
    assertThat(pod.whyNot(two, cubes(1)).orElseThrow()).contains("2 whole cubes", "1");
    assertThat(pod.whyNot(two, cubes(1, 1)).orElseThrow()).contains("twice");
    assertThat(pod.whyNot(two, cubes(1, 64)).orElseThrow()).contains("not in this pod");
    assertThat(pod.whyNot(two, cubes(-1, 1)).orElseThrow()).contains("not in this pod");
    assertThat(pod.whyNot(two, partition(0)).orElseThrow()).contains("cubes");
    assertThat(pod.whyNot(two, box(0, 0, 0, 4, 4)).orElseThrow()).contains("partitions");
    assertThat(pod.whyNot(Shape.of(2, 2, 2), cubes(1)).orElseThrow()).contains("2x2x2");
    assertThat(pod.whyNot(Shape.of(4, 4, 4), partition(0)).orElseThrow()).contains("cubes");
    assertThat(pod.whyNot(Shape.of(2, 2, 2), partition(0)).orElseThrow()).contains("4x4x4");
    assertThat(pod.whyNot(Shape.of(2, 2, 2), partition(1 << 20)).orElseThrow()).contains("no");
    TpuTopology boxes =
        TpuTopology.builder(AcceleratorType.V4)
            .slicing(new Slicing.OpticalCubes(48, true, List.of()))
            .build();
    Shape small = Shape.of(2, 2, 3);
    assertThat(boxes.whyNot(small, new Footprint.Box(new Chip(2, 2, 1), small))).isEmpty();
    assertThat(boxes.whyNot(small, new Footprint.Box(new Chip(2, 2, 2), small)).orElseThrow())
        .contains("leaves its cube");
  }

  @Test
  void placesOutsideAreRefused() {
    TpuTopology pod = TpuTopology.v4();
    Chip outside = new Chip(16, 0, 0);
    assertOutside(() -> pod.chipIndex(outside));
    assertOutside(() -> pod.hostOf(outside));
    assertOutside(() -> pod.cubeOf(outside));
    assertOutside(() -> pod.cellOf(outside));
    assertOutside(() -> pod.hostName(new HostId(1024)));
    assertOutside(() -> pod.originOf(new HostId(-1)));
    assertOutside(() -> pod.originOf(new CubeId(64)));
    assertOutside(() -> pod.cubeName(new CubeId(-1)));
    assertOutside(() -> TpuTopology.v6e().cubeOf(ZERO));
    assertOutside(() -> TpuTopology.v6e().cubeOf(new HostId(0)));
    assertOutside(() -> TpuTopology.v6e().originOf(new CubeId(0)));
  }

  private static void assertOutside(Runnable action) {
    assertThatExceptionOfType(InvalidInputException.class).isThrownBy(action::run);
  }

  // ---------------------------------------------------------------- twist, orientation

  @Test
  void twistIsChecked() {
    Chip shift = new Chip(0, 0, 2);
    assertThatExceptionOfType(InvalidInputException.class)
        .isThrownBy(() -> new Twist(ZERO, ZERO, shift))
        .withMessageContaining("other axes");
    assertThatExceptionOfType(InvalidInputException.class)
        .isThrownBy(() -> new Twist(new Chip(0, -1, 0), ZERO, ZERO))
        .withMessageContaining("0 or more");
    Twist twist = new Twist(shift, ZERO, ZERO);
    assertThat(twist.isNone()).isFalse();
    assertThat(Twist.NONE.isNone()).isTrue();
    assertThatExceptionOfType(InvalidInputException.class)
        .isThrownBy(() -> new LogicalTopology(Shape.of(4, 4, 4), false, true, true, twist, 4))
        .withMessageContaining("does not wrap");
    assertThatExceptionOfType(InvalidInputException.class)
        .isThrownBy(() -> new LogicalTopology(Shape.of(4, 4, 4), true, true, true, twist, -1))
        .withMessageContaining("opticalEvery");
  }

  @Test
  void orientationsTurnPlacesAsTheyTurnShapes() {
    for (Orientation orientation : Orientation.values()) {
      Shape turned = orientation.extents(Shape.of(2, 3, 5));
      for (Axis axis : Axis.values()) {
        assertThat(turned.get(orientation.podAxis(axis))).isEqualTo(Shape.of(2, 3, 5).get(axis));
        assertThat(orientation.offset(2, 3, 5).get(orientation.podAxis(axis)))
            .isEqualTo(new Chip(2, 3, 5).get(axis));
      }
      assertThat(Orientation.between(Shape.of(2, 3, 5), turned)).isEqualTo(orientation);
    }
    assertThat(Orientation.ofRank(2)).containsExactly(Orientation.XYZ, Orientation.YXZ);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Orientation.between(Shape.of(2, 3), Shape.of(3, 3)))
        .withMessageContaining("2x3");
  }

  private static Footprint.Box box(int x, int y, int z, int ex, int ey) {
    return new Footprint.Box(new Chip(x, y, z), Shape.of(ex, ey));
  }

  private static Footprint cubes(int... ids) {
    return new Footprint.Cubes(IntStream.of(ids).mapToObj(CubeId::new).toList());
  }

  private static Footprint partition(int id) {
    return new Footprint.Partition(new PartitionId(id));
  }

  private static void assertRefused(TpuTopology.Builder builder, String... paths) {
    assertThatExceptionOfType(InvalidInputException.class)
        .isThrownBy(builder::build)
        .satisfies(e -> assertThat(e.problems()).extracting(Problem::path).contains(paths))
        .withMessageContaining("but was");
  }

  @Test
  void hostsThatFillNoFootprintHaveNone() {
    TpuTopology ring = TpuTopology.torus(8, 8, 4);
    Shape shape = Shape.of(4, 4, 4);
    Footprint.Box wrapped = new Footprint.Box(new Chip(6, 6, 0), shape);
    List<HostId> hosts = ring.workerHosts(shape, wrapped);
    assertThat(ring.footprintOf(shape, hosts)).contains(wrapped);
    assertThat(ring.footprintOf(Shape.of(2, 8, 4), hosts)).isEmpty();
    List<HostId> holed = new ArrayList<>(hosts);
    holed.set(0, ring.hostOf(new Chip(2, 2, 2)));
    assertThat(ring.footprintOf(shape, holed)).isEmpty();
    holed.set(0, new HostId(ring.hostCount()));
    assertThat(ring.footprintOf(shape, holed)).isEmpty();
    TpuTopology v6e = TpuTopology.v6e();
    assertThat(v6e.footprintOf(Shape.of(1, 1), List.of(new HostId(0)))).isEmpty();
    assertThat(v6e.footprintOf(Shape.of(4, 4), List.of())).isEmpty();
  }

  @Test
  void footprintsAreDescribedByName() {
    TpuTopology v5p = TpuTopology.v5p();
    assertThat(v5p.describe(new Footprint.Cubes(List.of(new CubeId(3), new CubeId(1)))))
        .isEqualTo("cubes c3 c1");
    PartitionForest forest = v5p.partitions().orElseThrow();
    PartitionId id = forest.ofShape(Shape.of(2, 2, 1)).get(0);
    assertThat(v5p.describe(new Footprint.Partition(id))).contains(forest.name(id));
  }
}
