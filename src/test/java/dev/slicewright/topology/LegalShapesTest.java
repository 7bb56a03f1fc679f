package dev.slicewright.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Which slices each platform forms, row by row of the published tables. */
class LegalShapesTest {

  @ParameterizedTest
  @CsvSource({
    // Cloud TPU documentation, "TPU v5p": shape, cores, chips, hosts, cubes, twist
    "2x2x1,8,4,1,0,false",
    "2x2x2,16,8,2,0,false",
    "2x2x4,32,16,4,0,false",
    "2x4x4,64,32,8,0,false",
    "4x4x4,128,64,16,1,false",
    "4x4x8,256,128,32,2,true",
    "4x8x8,512,256,64,4,true",
    "8x8x8,1024,512,128,8,false",
    "8x8x16,2048,1024,256,16,true",
    "8x16x16,4096,2048,512,32,true",
    "16x16x16,8192,4096,1024,64,false",
    "16x16x24,12288,6144,1536,96,false"
  })
  void v5p(String text, int cores, int chips, int hosts, int cubes, boolean twist) {
    TpuTopology pod = TpuTopology.v5p();
    Shape shape = Shape.parse(text);
    assertLegal(pod, shape);
    assertThat(shape.chips()).isEqualTo(chips);
    assertThat(pod.accelerator().typeName(chips)).isEqualTo("v5p-" + cores);
    assertThat(pod.hostsOf(shape)).isEqualTo(hosts);
    assertThat(pod.cubesOf(shape)).isEqualTo(cubes);
    assertThat(pod.twist(shape).isPresent()).isEqualTo(twist);
    assertThat(pod.platformForm(shape)).isEqualTo(shape);
    assertThat(pod.shapesFor(chips)).contains(shape);
  }

  @ParameterizedTest
  @CsvSource({
    // Cloud TPU documentation, "TPU v6e" and "TPU v5e": shape, chips, VMs of 2x2 chips
    "1x1,1,1",
    "2x2,4,1",
    "2x4,8,2",
    "4x4,16,4",
    "4x8,32,8",
    "8x8,64,16",
    "8x16,128,32",
    "16x16,256,64"
  })
  void planar(String text, int chips, int vms) {
    Shape shape = Shape.parse(text);
    for (AcceleratorType type : List.of(AcceleratorType.V5E, AcceleratorType.V6E)) {
      for (TpuTopology pod :
          List.of(TpuTopology.builder(type).build(), TpuTopology.builder(type).boxes().build())) {
        assertLegal(pod, shape);
        assertThat(pod.legalShapes()).hasSize(8).contains(shape);
        assertThat(shape.chips()).isEqualTo(chips);
        assertThat(pod.hostsOf(shape)).isEqualTo(vms);
        assertThat(pod.cubesOf(shape)).isZero();
        assertThat(pod.twist(shape)).isEmpty();
        assertThat(pod.shapesFor(chips)).containsExactly(shape);
        assertThat((double) shape.chips() / pod.physicalHostTile().chips()).isEqualTo(chips / 8.0);
      }
    }
  }

  @ParameterizedTest
  @CsvSource({"1x2", "2x1", "1x4", "2x8", "4x16", "16x32", "3x3", "6x4", "4x4x1", "2x2x1"})
  void planarHasNoOthers(String text) {
    for (TpuTopology pod :
        List.of(
            TpuTopology.v5e(),
            TpuTopology.v6e(),
            TpuTopology.builder(AcceleratorType.V6E).boxes().build())) {
      assertIllegal(pod, Shape.parse(text));
    }
  }

  @ParameterizedTest
  @CsvSource({
    // the common set, and the largest documented
    "2x2x1,true",
    "2x2x2,true",
    "2x2x4,true",
    "2x4x4,true",
    "4x4x4,true",
    "4x4x8,true",
    "4x8x8,true",
    "8x8x8,true",
    "8x8x12,true",
    "8x8x16,true",
    "8x16x16,true",
    "12x16x16,true",
    "4x4x192,true",
    // all at most 4, or all multiples of 4
    "2x4x8,false",
    "2x2x8,false",
    "4x4x6,false",
    "1x1x1,false",
    "1x2x4,false",
    "4x4x2,true",
    // 49, 54 (documented), 64 and 65 cubes
    "4x28x28,true",
    "12x12x24,true",
    "16x16x16,true",
    "4x4x260,false",
    "4x4,false"
  })
  void v4(String text, boolean legal) {
    assertThat(TpuTopology.v4().isLegal(Shape.parse(text))).isEqualTo(legal);
    assertThat(TpuTopology.v4().whyNotLegal(Shape.parse(text)).isEmpty()).isEqualTo(legal);
  }

  @ParameterizedTest
  @CsvSource({
    "2x2x1,1,0",
    "2x2x2,2,0",
    "2x2x4,4,0",
    "2x4x4,8,0",
    "4x4x4,16,1",
    "4x4x12,48,3",
    "16x24x24,2304,144",
    "16x20x28,2240,140",
    "16x16x24,1536,96",
    "16x16x32,2048,128",
    "4x4x576,2304,144"
  })
  void tpu7x(String text, int hosts, int cubes) {
    TpuTopology block = TpuTopology.tpu7x();
    Shape shape = Shape.parse(text);
    assertLegal(block, shape);
    assertThat(block.hostsOf(shape)).isEqualTo(hosts);
    assertThat(block.cubesOf(shape)).isEqualTo(cubes);
    assertThat(shape.chips()).isLessThanOrEqualTo(9216);
  }

  @ParameterizedTest
  @CsvSource({"1x1x1", "1x2x4", "2x4x8", "4x4x580", "20x20x24", "2x2x3", "4x4x10", "16x16"})
  void tpu7xHasNoOthers(String text) {
    assertIllegal(TpuTopology.tpu7x(), Shape.parse(text));
  }

  @Test
  void theMostCubesOfASliceMayBeChanged() {
    Shape whole = Shape.of(16, 20, 28);
    assertThat(TpuTopology.v5p().isLegal(whole)).isFalse();
    assertThat(TpuTopology.v5p().whyNotLegal(whole).orElseThrow()).contains("140", "96");
    TpuTopology wide =
        TpuTopology.builder(AcceleratorType.V5P).slicing(Slicing.OpticalCubes.upTo(140)).build();
    assertThat(wide.isLegal(whole)).isTrue();
    assertThat(wide.shapesFor(8960)).contains(whole);
    assertThat(
            TpuTopology.builder(AcceleratorType.V4)
                .slicing(Slicing.OpticalCubes.upTo(64))
                .build()
                .isLegal(Shape.of(16, 16, 16)))
        .isTrue();
  }

  @ParameterizedTest
  @CsvSource({
    "4x4x8,true", "4x8x8,true", "12x12x24,true", "8x8x16,true", "8x4x4,true", "8x4x8,true",
    "4x4x4,false", "4x4x12,false", "4x8x16,false", "2x2x4,false", "2x4x4,false", "4x8x12,false"
  })
  void twistOfOneTwoTwoAndOneOneTwo(String text, boolean twisted) {
    assertThat(TpuTopology.v5p().twist(Shape.parse(text)).isPresent()).isEqualTo(twisted);
  }

  @Test
  void defaultTwistShiftsTheLongestAxisByHalf() {
    Chip none = new Chip(0, 0, 0);
    Chip z4 = new Chip(0, 0, 4);
    TpuTopology pod = TpuTopology.v5p();
    assertThat(pod.twist(Shape.of(4, 4, 8))).contains(new Twist(z4, z4, none));
    assertThat(pod.twist(Shape.of(4, 8, 8))).contains(new Twist(z4, z4, none));
    Chip y4 = new Chip(0, 4, 0);
    assertThat(pod.twist(Shape.of(4, 8, 4))).contains(new Twist(y4, none, y4));
    assertThat(pod.twist(Shape.of(8, 8, 4))).contains(new Twist(y4, none, y4));
    Chip x4 = new Chip(4, 0, 0);
    assertThat(pod.twist(Shape.of(8, 4, 4))).contains(new Twist(none, x4, x4));
  }

  @ParameterizedTest
  @CsvSource({"16x16,true,true", "8x16,false,true", "8x8,false,false", "1x1,false,false"})
  void planarAxisWrapsWhereItSpansThePod(String text, boolean x, boolean y) {
    Shape shape = Shape.parse(text);
    TpuTopology pod = TpuTopology.v6e();
    PartitionForest forest = pod.partitions().orElseThrow();
    for (int i = 0; i < forest.size(); i++) {
      PartitionId id = new PartitionId(i);
      if (!forest.shape(id).sorted().equals(shape)) {
        continue;
      }
      LogicalTopology slice = pod.logical(shape, new Footprint.Partition(id), Twist.NONE);
      assertThat(slice.wrapX()).isEqualTo(x);
      assertThat(slice.wrapY()).isEqualTo(y);
      assertThat(slice.opticalEvery()).isZero();
    }
    TpuTopology boxes = TpuTopology.builder(AcceleratorType.V6E).boxes().build();
    for (Shape turned : List.of(shape, Orientation.YXZ.extents(shape))) {
      Footprint box = new Footprint.Box(new Chip(0, 0, 0), turned);
      if (boxes.whyNot(shape, box).isEmpty()) {
        LogicalTopology slice = boxes.logical(shape, box, Twist.NONE);
        assertThat(List.of(slice.wrapX(), slice.wrapY())).containsExactly(x, y);
      }
    }
  }

  @Test
  void wiringOfAPartOfAPodDoesNotClose() {
    TpuTopology part = TpuTopology.builder(AcceleratorType.V6E).dims(8, 16).build();
    assertThat(part.wraps(Axis.X)).isFalse();
    assertThat(part.wraps(Axis.Y)).isTrue();
    assertThat(part.wraps(Axis.Z)).isFalse();
    TpuTopology told =
        TpuTopology.builder(AcceleratorType.V6E).dims(8, 16).wrap(Axis.X, true).build();
    assertThat(told.wraps(Axis.X)).isTrue();
    assertThat(TpuTopology.torus(8, 8, 4).wraps(Axis.Z)).isTrue();
    assertThat(TpuTopology.v5p().wraps(Axis.X)).isFalse();
  }

  @Test
  void wholeCubesAreATorusAndSmallerSlicesAMesh() {
    for (TpuTopology pod : List.of(TpuTopology.v4(), TpuTopology.v5p(), TpuTopology.tpu7x())) {
      Footprint one = new Footprint.Cubes(List.of(new CubeId(7)));
      assertThat(pod.isTorus(Shape.of(4, 4, 4), one)).isTrue();
      PartitionForest forest = pod.partitions().orElseThrow();
      for (int i = 0; i < forest.size(); i++) {
        Shape shape = forest.shape(new PartitionId(i));
        if (shape.chips() < 64) {
          Footprint part = new Footprint.Partition(new PartitionId(i));
          LogicalTopology slice = pod.logical(pod.platformForm(shape), part, Twist.NONE);
          assertThat(Stream.of(Axis.values()).anyMatch(slice::wraps)).isFalse();
        }
      }
    }
  }

  @Test
  void wiredResearchAndOldPods() {
    assertLegal(TpuTopology.v2(), Shape.of(16, 16));
    assertLegal(TpuTopology.v3(), Shape.of(32, 32));
    assertLegal(TpuTopology.v3(), Shape.of(2, 32));
    assertIllegal(TpuTopology.v2(), Shape.of(6, 4));
    assertIllegal(TpuTopology.v2(), Shape.of(1, 1));
    assertThat(TpuTopology.v2().whyNotLegal(Shape.of(6, 4)).orElseThrow()).contains("power of two");
    TpuTopology torus = TpuTopology.torus(16, 20, 28);
    assertLegal(torus, Shape.of(6, 10, 7));
    assertLegal(torus, Shape.of(28, 2, 2));
    assertIllegal(torus, Shape.of(5, 7, 2));
    assertIllegal(torus, Shape.of(22, 22, 2));
    assertIllegal(torus, Shape.of(30, 2, 2));
  }

  @Test
  void listedBoxMustFitThePodAndItsHosts() {
    TpuTopology small = TpuTopology.builder(AcceleratorType.V6E).dims(8, 8).boxes().build();
    assertIllegal(small, Shape.of(16, 16));
    assertThat(small.legalShapes()).hasSize(6);
    TpuTopology odd =
        TpuTopology.torusBuilder(12, 12)
            .hostTile(Shape.of(4, 1))
            .slicing(new Slicing.TorusBoxes(List.of(Shape.of(3, 3), Shape.of(4, 3)), false))
            .build();
    assertThat(odd.legalShapes()).containsExactly(Shape.of(4, 3));
    assertIllegal(odd, Shape.of(3, 3));
  }

  @Test
  void boxesInCubeAreAnyHostAlignedBoxes() {
    TpuTopology pod =
        TpuTopology.builder(AcceleratorType.V4)
            .slicing(new Slicing.OpticalCubes(48, true, List.of()))
            .build();
    assertLegal(pod, Shape.of(2, 2, 3));
    assertLegal(pod, Shape.of(4, 4, 1));
    assertLegal(pod, Shape.of(2, 4, 3));
    assertIllegal(pod, Shape.of(3, 3, 3));
    assertIllegal(pod, Shape.of(2, 2, 8));
    assertThat(pod.legalShapes().stream().filter(s -> s.chips() < 64)).hasSize(9);
  }

  @ParameterizedTest
  @CsvSource({
    "1x2x2,2x2x1",
    "2x1x2,2x2x1",
    "4x2x2,2x2x4",
    "8x4x4,4x4x8",
    "16x8x8,8x8x16",
    "4x4x2,2x4x4"
  })
  void platformFormIsAscendingWhereHostsFit(String given, String form) {
    assertThat(TpuTopology.tpu7x().platformForm(Shape.parse(given))).isEqualTo(Shape.parse(form));
  }

  @Test
  void platformFormOfPlanarShapesIsAscending() {
    assertThat(TpuTopology.v6e().platformForm(Shape.of(16, 8))).isEqualTo(Shape.of(8, 16));
    assertThat(TpuTopology.v6e().platformForm(Shape.of(1, 1))).isEqualTo(Shape.of(1, 1));
  }

  @ParameterizedTest
  @MethodSource("pods")
  void shapesForAgreesWithAllLegalShapes(TpuTopology pod) {
    List<Shape> all = pod.legalShapes();
    assertThat(all)
        .doesNotHaveDuplicates()
        .allSatisfy(shape -> assertLegal(pod, shape))
        .isSortedAccordingTo(Comparator.comparing(Shape::sorted));
    long most = all.stream().mapToLong(Shape::chips).max().orElseThrow();
    for (long chips = 0; chips <= most + 65; chips++) {
      long wanted = chips;
      assertThat(pod.shapesFor(chips))
          .isEqualTo(all.stream().filter(s -> s.chips() == wanted).toList());
    }
    assertThat(pod.shapesFor(-1)).isEmpty();
    assertThat(pod.shapesFor(Long.MAX_VALUE)).isEmpty();
  }

  @ParameterizedTest
  @MethodSource("pods")
  void legalShapesAgreeWithATrialOfEveryShape(TpuTopology pod) {
    List<Shape> tried =
        IntStream.rangeClosed(1, 12)
            .boxed()
            .flatMap(
                x ->
                    IntStream.rangeClosed(x, 16)
                        .boxed()
                        .flatMap(
                            y ->
                                pod.dims().rank() == 2
                                    ? Stream.of(Shape.of(x, y))
                                    : IntStream.rangeClosed(y, 20)
                                        .mapToObj(z -> Shape.of(x, y, z))))
            .filter(pod::isLegal)
            .sorted()
            .toList();
    assertThat(
            pod.legalShapes().stream()
                .map(Shape::sorted)
                .filter(s -> s.x() <= 12 && s.y() <= 16 && (s.rank() == 2 || s.z() <= 20))
                .toList())
        .isEqualTo(tried);
  }

  static Stream<TpuTopology> pods() {
    return Stream.of(
        TpuTopology.v2(),
        TpuTopology.v4(),
        TpuTopology.v6e(),
        TpuTopology.builder(AcceleratorType.V6E).boxes().build(),
        TpuTopology.builder(AcceleratorType.V5P).cubes(3).build(),
        TpuTopology.builder(AcceleratorType.V4)
            .slicing(new Slicing.OpticalCubes(5, true, List.of()))
            .build(),
        TpuTopology.torus(8, 6, 5),
        TpuTopology.torus(12, 10),
        TpuTopology.torusBuilder(12, 9).hostTile(Shape.of(4, 3)).mesh().build(),
        TpuTopology.torusBuilder(8, 4, 16).slicing(Slicing.NestedPartitions.halving()).build());
  }

  @ParameterizedTest
  @MethodSource("pods")
  void theLargestAndTheNearestAreThoseOfAll(TpuTopology pod) {
    List<Shape> all = pod.legalShapes();
    for (long chips : new long[] {1, 4, 7, 30, 64, 100, 257, 1L << 40}) {
      List<Shape> down = new ArrayList<>(all.stream().filter(s -> s.chips() <= chips).toList());
      Collections.reverse(down);
      assertThat(pod.largestLegalShapes(chips, 1 << 20)).isEqualTo(down);
      assertThat(pod.largestLegalShapes(chips, 5)).isEqualTo(down.stream().limit(5).toList());
      Comparator<Shape> byRatio =
          Comparator.comparingDouble(s -> Math.abs(Math.log((double) s.chips() / chips)));
      assertThat(pod.nearestLegalShapes(chips, 5))
          .isEqualTo(
              all.stream()
                  .sorted(byRatio.thenComparing(Comparator.naturalOrder()))
                  .limit(5)
                  .toList());
      Shape wanted = Shape.of(1, 2, (int) Math.min(chips, 300));
      Comparator<Shape> near =
          Comparator.comparingDouble(s -> Math.abs(Math.log((double) s.chips() / wanted.chips())));
      assertThat(pod.nearestLegalShapes(wanted, 4))
          .isEqualTo(
              all.stream()
                  .sorted(
                      near.thenComparingInt(s -> distance(s.sorted(), wanted.sorted()))
                          .thenComparing(Comparator.naturalOrder()))
                  .limit(4)
                  .toList());
    }
    assertThat(pod.largestLegalShapes(0, 3)).isEmpty();
    assertThatIllegalArgumentException().isThrownBy(() -> pod.largestLegalShapes(4, -1));
  }

  private static int distance(Shape a, Shape b) {
    return Math.abs(a.x() - b.x()) + Math.abs(a.y() - b.y()) + Math.abs(a.z() - b.z());
  }

  @Test
  void nearestShapesAreNearInChipsThenExtents() {
    TpuTopology pod = TpuTopology.tpu7x();
    assertThat(pod.nearestLegalShapes(Shape.of(4, 4, 7), 2))
        .containsExactly(Shape.of(4, 4, 8), Shape.of(4, 4, 12));
    assertThat(pod.nearestLegalShapes(Shape.of(8, 8, 8), 1)).containsExactly(Shape.of(8, 8, 8));
    assertThat(pod.nearestLegalShapes(Shape.of(8, 8, 8), 0)).isEmpty();
    assertThat(TpuTopology.v6e().nearestLegalShapes(Shape.of(3, 3), 3))
        .containsExactly(Shape.of(2, 4), Shape.of(4, 4), Shape.of(2, 2));
    assertThat(TpuTopology.v6e().nearestLegalShapes(Shape.of(3, 3, 3), 100)).hasSize(8);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> pod.nearestLegalShapes(Shape.of(4, 4, 7), -1));
  }

  @ParameterizedTest
  @MethodSource("pods")
  void nearestShapesAgreeWithAFullSort(TpuTopology pod) {
    for (Shape wanted : List.of(Shape.of(3, 5), Shape.of(3, 5, 7), Shape.of(65536, 1, 9))) {
      Shape w = wanted.sorted();
      List<Shape> sorted =
          pod.legalShapes().stream()
              .sorted(
                  Comparator.<Shape>comparingDouble(
                          s -> Math.abs(Math.log((double) s.chips() / w.chips())))
                      .thenComparingInt(
                          s ->
                              Math.abs(s.sorted().x() - w.x())
                                  + Math.abs(s.sorted().y() - w.y())
                                  + Math.abs(s.sorted().z() - w.z()))
                      .thenComparing(Comparator.naturalOrder()))
              .limit(7)
              .toList();
      assertThat(pod.nearestLegalShapes(wanted, 7)).isEqualTo(sorted);
    }
  }

  @Test
  void countsOfHugeShapesDoNotOverflow() {
    Shape huge = Shape.of(65536, 65536, 65536);
    assertThat(TpuTopology.v5p().cubesOf(huge)).isEqualTo(Integer.MAX_VALUE);
    assertThat(TpuTopology.v5p().hostsOf(huge)).isEqualTo(Integer.MAX_VALUE);
    assertIllegal(TpuTopology.v5p(), huge);
  }

  private static void assertLegal(TpuTopology pod, Shape shape) {
    assertThat(pod.isLegal(shape)).as("%s on %s", shape, pod).isTrue();
    assertThat(pod.whyNotLegal(shape)).isEmpty();
    for (Orientation turn : Orientation.ofRank(shape.rank())) {
      assertThat(pod.isLegal(turn.extents(shape))).isTrue();
    }
  }

  private static void assertIllegal(TpuTopology pod, Shape shape) {
    assertThat(pod.isLegal(shape)).as("%s on %s", shape, pod).isFalse();
    assertThat(pod.whyNotLegal(shape).orElseThrow()).contains(shape.toString()).endsWith(".");
  }
}
