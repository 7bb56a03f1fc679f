package dev.slicewright.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class PartitionForestTest {

  @Test
  void planarPodIsHalvedDownToChips() {
    for (TpuTopology pod : List.of(TpuTopology.v5e(), TpuTopology.v6e())) {
      PartitionForest forest = pod.partitions().orElseThrow();
      assertThat(counts(forest))
          .containsExactly(
              Map.entry(Shape.of(1, 1), 256),
              Map.entry(Shape.of(2, 2), 64),
              Map.entry(Shape.of(2, 4), 32),
              Map.entry(Shape.of(4, 4), 16),
              Map.entry(Shape.of(4, 8), 8),
              Map.entry(Shape.of(8, 8), 4),
              Map.entry(Shape.of(8, 16), 2),
              Map.entry(Shape.of(16, 16), 1));
      assertThat(forest.roots()).containsExactly(new PartitionId(0));
      assertThat(pod.cellTile()).isEqualTo(Shape.of(1, 1));
      // Parts as large as a host or larger are whole hosts of either kind.
      for (int i = 0; i < forest.size(); i++) {
        Footprint.Box box = forest.box(new PartitionId(i)).orElseThrow();
        if (box.extents().chips() >= 8) {
          assertThat(box.origin().x() % 2 + box.origin().y() % 4).isZero();
        }
      }
    }
  }

  @Test
  void cubeIsHalvedDownToHosts() {
    TpuTopology block = TpuTopology.tpu7x();
    PartitionForest forest = block.partitions().orElseThrow();
    assertThat(counts(forest))
        .containsExactly(
            Map.entry(Shape.of(2, 2, 1), 16 * 144),
            Map.entry(Shape.of(2, 2, 2), 8 * 144),
            Map.entry(Shape.of(2, 2, 4), 4 * 144),
            Map.entry(Shape.of(2, 4, 4), 2 * 144),
            Map.entry(Shape.of(4, 4, 4), 144));
    assertThat(forest.roots()).hasSize(144);
    for (int c = 0; c < 144; c++) {
      PartitionId root = forest.byName("c" + c).orElseThrow();
      assertThat(forest.firstCell(root)).isEqualTo(block.firstCell(new CubeId(c)));
      assertThat(forest.roots().get(c)).isEqualTo(root);
    }
    assertThat(forest.byName("c144")).isEmpty();
  }

  @Test
  void deepPodIsHalvedDownToHosts() {
    TpuTopology pod =
        TpuTopology.torusBuilder(8, 4, 16).slicing(Slicing.NestedPartitions.halving()).build();
    assertThat(pod.cellTile()).isEqualTo(Shape.of(2, 2, 1));
    assertThat(counts(pod.partitions().orElseThrow()))
        .containsEntry(Shape.of(2, 2, 1), 128)
        .containsEntry(Shape.of(8, 4, 16), 1)
        .hasSize(8);
  }

  private static Map<Shape, Integer> counts(PartitionForest forest) {
    Map<Shape, Integer> counts = new TreeMap<>();
    for (int i = 0; i < forest.size(); i++) {
      counts.merge(forest.shape(new PartitionId(i)), 1, Integer::sum);
    }
    return counts;
  }

  @ParameterizedTest
  @MethodSource("pods")
  void forestNestsAndItsCellsAreItsBoxes(TpuTopology pod) {
    PartitionForest forest = pod.partitions().orElseThrow();
    Set<String> names = new HashSet<>();
    for (int i = 0; i < forest.size(); i++) {
      PartitionId id = new PartitionId(i);
      assertThat(names.add(forest.name(id))).as(forest.name(id)).isTrue();
      assertThat(forest.byName(forest.name(id))).contains(id);
      int from = forest.firstCell(id);
      int to = from + forest.cellCount(id);
      assertThat((long) forest.cellCount(id) * pod.chipsPerCell())
          .isEqualTo(forest.shape(id).chips());
      assertThat(pod.cells(new Footprint.Partition(id)))
          .isEqualTo(IntStream.range(from, to).toArray());
      int before = from;
      for (PartitionId child : forest.children(id)) {
        assertThat(child).isGreaterThan(id);
        assertThat(forest.parent(child)).contains(id);
        assertThat(forest.depth(child)).isEqualTo(forest.depth(id) + 1);
        assertThat(forest.firstCell(child)).isGreaterThanOrEqualTo(before);
        before = forest.firstCell(child) + forest.cellCount(child);
      }
      assertThat(before).isLessThanOrEqualTo(to);
      if (forest.parent(id).isEmpty()) {
        assertThat(forest.roots()).contains(id);
        assertThat(forest.depth(id)).isZero();
      }
      if (forest.box(id).isPresent()) {
        Footprint.Box box = forest.box(id).orElseThrow();
        Set<Integer> cells = new HashSet<>();
        for (Chip chip : TpuTopologyPropertiesTest.chips(pod, box)) {
          cells.add(pod.cellOf(chip));
        }
        assertThat(cells)
            .containsExactlyInAnyOrderElementsOf(IntStream.range(from, to).boxed().toList());
      }
    }
  }

  static Stream<TpuTopology> pods() {
    return Stream.of(
        TpuTopology.v6e(),
        TpuTopology.builder(AcceleratorType.V6E).hostTile(Shape.of(2, 4)).build(),
        TpuTopology.builder(AcceleratorType.V6E).dims(4, 8).build(),
        TpuTopology.builder(AcceleratorType.TPU7X).cubes(5).build(),
        TpuTopology.builder(AcceleratorType.TPU7X).cubes(2).cubeNames(List.of("b", "a")).build(),
        TpuTopology.torusBuilder(8, 4, 16).slicing(Slicing.NestedPartitions.halving()).build(),
        TpuTopology.builder(AcceleratorType.V6E).coordinatesUnknown().build(),
        cubes(listed()),
        wired(
            spec("all", "4x8", 0, 1, 2, 3, 4, 5, 6, 7),
            spec("left", "4x4", 0, 1, 2, 3),
            spec("right", "4x4", 4, 5, 6, 7),
            spec("odd", "2x4", 0, 3)));
  }

  /** Ids that say nothing, hosts in no order: cube 1 in parts, cube 0 and 2 not listed. */
  private static PartitionSpec[] listed() {
    return new PartitionSpec[] {
      spec("f0", "2x2x1", 31),
      spec("zz", "2x4x4", 31, 29, 27, 25, 17, 19, 21, 23),
      spec("aa", "2x4x4", 16, 18, 20, 22, 24, 26, 28, 30),
      spec("q", "2x2x2", 19, 17)
    };
  }

  private static PartitionSpec spec(String id, String shape, int... hosts) {
    return new PartitionSpec(
        id, Shape.parse(shape), Arrays.stream(hosts).mapToObj(HostId::new).toList());
  }

  private static TpuTopology cubes(PartitionSpec... specs) {
    return TpuTopology.builder(AcceleratorType.TPU7X)
        .cubes(3)
        .slicing(new Slicing.OpticalCubes(144, false, List.of(specs)))
        .build();
  }

  /** A 4x8 mesh of 2x2 hosts, two along x, four along y. */
  private static TpuTopology wired(PartitionSpec... specs) {
    return TpuTopology.builder(AcceleratorType.V6E)
        .dims(4, 8)
        .slicing(new Slicing.NestedPartitions(List.of(specs)))
        .build();
  }

  @Test
  void cubesThatAreNotListedAreAdded() {
    TpuTopology pod = cubes(listed());
    PartitionForest forest = pod.partitions().orElseThrow();
    assertThat(forest.size()).isEqualTo(7);
    assertThat(forest.roots().stream().map(forest::name)).containsExactly("c0", "c1", "c2");
    assertThat(forest.parent(id(forest, "zz"))).contains(id(forest, "c1"));
    assertThat(forest.parent(id(forest, "q"))).contains(id(forest, "zz"));
    assertThat(forest.parent(id(forest, "f0"))).contains(id(forest, "zz"));
    for (int c = 0; c < 3; c++) {
      assertThat(forest.firstCell(id(forest, "c" + c))).isEqualTo(16 * c);
    }
    assertThat(pod.legalShapes())
        .startsWith(Shape.of(2, 2, 1), Shape.of(2, 2, 2), Shape.of(2, 4, 4), Shape.of(4, 4, 4));
    assertThat(pod.isLegal(Shape.of(2, 2, 4))).isFalse();
  }

  @Test
  void cubeListedUnderItsOwnIdIsNotAddedAgain() {
    int[] hosts = IntStream.range(16, 32).toArray();
    PartitionForest forest = cubes(spec("c0", "4x4x4", hosts)).partitions().orElseThrow();
    assertThat(forest.size()).isEqualTo(3);
    // The first cube's own name was taken.
    assertThat(forest.firstCell(id(forest, "c0"))).isEqualTo(16);
    assertThat(forest.firstCell(id(forest, "c0'"))).isEqualTo(0);
  }

  private static PartitionId id(PartitionForest forest, String name) {
    return forest.byName(name).orElseThrow();
  }

  @Test
  void listedPartitionsLieWhereTheirHostsDo() {
    PartitionForest forest =
        wired(
                spec("all", "4x8", 7, 6, 5, 4, 3, 2, 1, 0),
                spec("upper", "4x4", 2, 4, 3, 5),
                spec("pair", "2x4", 1, 0),
                spec("odd", "2x4", 2, 5))
            .partitions()
            .orElseThrow();
    assertThat(forest.box(id(forest, "all")))
        .contains(new Footprint.Box(new Chip(0, 0, 0), Shape.of(4, 8)));
    assertThat(forest.box(id(forest, "upper")))
        .contains(new Footprint.Box(new Chip(0, 2, 0), Shape.of(4, 4)));
    assertThat(forest.box(id(forest, "pair")))
        .contains(new Footprint.Box(new Chip(0, 0, 0), Shape.of(4, 2)));
    assertThat(forest.box(id(forest, "odd"))).isEmpty();
  }

  @Test
  void listedPartitionMayPassAWrappingEnd() {
    TpuTopology.Builder pod =
        TpuTopology.torusBuilder(8, 2)
            .slicing(new Slicing.NestedPartitions(List.of(spec("p", "4x2", 3, 0))));
    PartitionForest torus = pod.build().partitions().orElseThrow();
    assertThat(torus.box(id(torus, "p")))
        .contains(new Footprint.Box(new Chip(6, 0, 0), Shape.of(4, 2)));
    PartitionForest mesh = pod.mesh().build().partitions().orElseThrow();
    assertThat(mesh.box(id(mesh, "p"))).isEmpty();
  }

  @Test
  void withoutCoordinatesNothingHasAPlace() {
    TpuTopology pod =
        TpuTopology.builder(AcceleratorType.V6E)
            .dims(4, 8)
            .slicing(
                new Slicing.NestedPartitions(
                    List.of(spec("b", "2x4", 0, 1), spec("a", "2x4", 5, 3))))
            .coordinatesUnknown()
            .build();
    PartitionForest forest = pod.partitions().orElseThrow();
    Footprint a = new Footprint.Partition(id(forest, "a"));
    assertThat(forest.box(id(forest, "a"))).isEmpty();
    assertThat(pod.usesLink(a, new Chip(0, 0, 0), Axis.X)).isFalse();
    assertThat(pod.workerHosts(Shape.of(2, 4), a)).containsExactly(new HostId(3), new HostId(5));
    assertThat(pod.machineHosts(new HostId(3))).containsExactly(new HostId(3));
    TpuTopology halved = TpuTopology.builder(AcceleratorType.V6E).coordinatesUnknown().build();
    Footprint root = new Footprint.Partition(new PartitionId(0));
    assertThat(halved.partitions().orElseThrow().box(new PartitionId(0))).isEmpty();
    assertThat(halved.workerHosts(Shape.of(16, 16), root)).hasSize(64).doesNotHaveDuplicates();
    assertThat(halved.isTorus(Shape.of(16, 16), root)).isTrue();
  }

  @Test
  void partitionThatIsNoBoxUsesTheLinksInsideIt() {
    TpuTopology pod = wired(spec("odd", "2x4", 2, 5));
    Footprint odd = new Footprint.Partition(new PartitionId(0));
    assertThat(pod.isTorus(Shape.of(2, 4), odd)).isFalse();
    // Host 2 has chips (0..1, 2..3), host 5 has (2..3, 4..5).
    assertThat(pod.usesLink(odd, new Chip(0, 2, 0), Axis.X)).isTrue();
    assertThat(pod.usesLink(odd, new Chip(1, 2, 0), Axis.X)).isFalse();
    assertThat(pod.usesLink(odd, new Chip(2, 4, 0), Axis.Y)).isTrue();
    assertThat(pod.usesLink(odd, new Chip(2, 5, 0), Axis.Y)).isFalse();
    assertThat(pod.usesLink(odd, new Chip(3, 4, 0), Axis.X)).isFalse();
  }

  @Test
  void partitionInTwoParentsIsRefused() {
    assertRefused(
        () -> wired(spec("a", "4x4", 0, 1, 2, 3), spec("b", "2x4", 4, 5), spec("c", "2x4", 3, 4)),
        "partitions[2].hosts",
        "c");
    assertRefused(
        () -> wired(spec("a", "2x4", 0, 1), spec("b", "2x4", 1, 2)), "partitions[1].hosts", "b");
  }

  @Test
  void wrongHostCountIsRefused() {
    assertRefused(() -> wired(spec("a", "4x4", 0, 1)), "partitions[0].hosts", "4 hosts");
    assertRefused(() -> wired(spec("a", "4x4")), "partitions[0].hosts", "4 hosts");
    assertRefused(() -> wired(spec("a", "1x2", 0)), "partitions[0].shape", "1x2");
  }

  @Test
  void duplicateIdAndHostsAreRefused() {
    assertRefused(
        () -> wired(spec("a", "2x2", 0), spec("a", "2x2", 1)), "partitions[1].id", "\"a\"");
    assertRefused(() -> wired(spec("", "2x2", 0)), "partitions[0].id", "\"\"");
    assertRefused(() -> wired(spec("a", "2x4", 1, 1)), "partitions[0].hosts", "twice");
    assertRefused(
        () -> wired(spec("a", "2x4", 0, 1), spec("b", "2x4", 1, 0)), "partitions[1].hosts", "a");
  }

  @Test
  void hostsOutsideAreRefused() {
    assertRefused(() -> wired(spec("a", "2x2", 8)), "partitions[0].hosts", "0 to 7");
    assertRefused(() -> wired(spec("a", "2x2", -1)), "partitions[0].hosts", "0 to 7");
    assertRefused(() -> cubes(spec("a", "2x2x1", 48)), "partitions[0].hosts", "0 to 47");
    assertRefused(() -> cubes(spec("a", "2x2x1", -1)), "partitions[0].hosts", "0 to 47");
  }

  @Test
  void partitionOfTwoCubesIsRefused() {
    assertRefused(() -> cubes(spec("a", "2x2x2", 15, 16)), "partitions[0].hosts", "one cube");
    assertRefused(
        () -> cubes(spec("a", "2x4x8", IntStream.range(0, 16).toArray())),
        "partitions[0].shape",
        "2x4x8");
  }

  @Test
  void shapeOfAnotherRankIsRefused() {
    assertRefused(() -> wired(spec("a", "2x2x1", 0)), "partitions[0].shape", "2x2x1");
    assertRefused(() -> cubes(spec("a", "2x2", 0)), "partitions[0].shape", "2x2");
  }

  @Test
  void everyProblemIsListedAtOnce() {
    assertThatExceptionOfType(InvalidInputException.class)
        .isThrownBy(
            () ->
                cubes(
                    spec("a", "2x2", 0),
                    spec("a", "2x2x2", 1),
                    spec("b", "2x2x1", 99),
                    spec("c", "2x2x2", 15, 16)))
        .satisfies(
            e ->
                assertThat(e.problems())
                    .extracting(Problem::path)
                    .contains(
                        "partitions[0].shape",
                        "partitions[1].id",
                        "partitions[1].hosts",
                        "partitions[2].hosts",
                        "partitions[3].hosts"));
  }

  @Test
  void strangePartitionIsRefused() {
    PartitionForest forest = TpuTopology.v6e().partitions().orElseThrow();
    List<PartitionId> bad = new ArrayList<>();
    bad.add(new PartitionId(-1));
    bad.add(new PartitionId(forest.size()));
    for (PartitionId id : bad) {
      assertThatExceptionOfType(InvalidInputException.class)
          .isThrownBy(() -> forest.shape(id))
          .withMessageContaining("was " + id.index());
    }
  }

  private static void assertRefused(Runnable build, String path, String part) {
    assertThatExceptionOfType(InvalidInputException.class)
        .isThrownBy(build::run)
        .satisfies(e -> assertThat(e.problems()).extracting(Problem::path).contains(path))
        .withMessageContaining(part);
  }
}
