package dev.slicewright.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;

/** Numbers, cells, worker order and links against the slow way, on pods of every kind. */
class TpuTopologyPropertiesTest {

  private static final Axis[] AXES = Axis.values();

  @Property(tries = 150, edgeCases = EdgeCasesMode.NONE)
  void numbersAreBijections(@ForAll("pods") TpuTopology pod) {
    int perHost = (int) pod.hostTile().chips();
    int[] chipsOfHost = new int[pod.hostCount()];
    int[] chipsOfCell = new int[pod.cellCount()];
    for (int i = 0; i < pod.chipCount(); i++) {
      Chip chip = pod.chip(i);
      assertThat(pod.chipIndex(chip)).isEqualTo(i);
      HostId host = pod.hostOf(chip);
      chipsOfHost[host.index()]++;
      Chip origin = pod.originOf(host);
      int cell = pod.cellOf(chip);
      chipsOfCell[cell]++;
      Chip cellOrigin = pod.originOfCell(cell);
      for (Axis axis : AXES) {
        int tile = pod.hostTile().get(axis);
        assertThat(origin.get(axis)).isEqualTo(chip.get(axis) / tile * tile);
        int in = pod.cellTile().get(axis);
        assertThat(cellOrigin.get(axis)).isEqualTo(chip.get(axis) / in * in);
      }
      assertThat(pod.hostOfCell(cell)).isEqualTo(host);
      assertThat(pod.cells(host)).contains(cell);
      if (pod.isOptical()) {
        CubeId cube = pod.cubeOf(chip);
        assertThat(pod.cubeOf(host)).isEqualTo(cube);
        assertThat(cell / pod.hostsPerCube()).isEqualTo(cube.index());
        assertThat(host.index() / pod.hostsPerCube()).isEqualTo(cube.index());
        for (Axis axis : AXES) {
          assertThat(pod.originOf(cube).get(axis)).isEqualTo(chip.get(axis) / 4 * 4);
        }
      }
    }
    assertThat(chipsOfHost).containsOnly(perHost);
    assertThat(chipsOfCell).containsOnly(pod.chipsPerCell());
    assertThat((long) pod.cellCount() * pod.chipsPerCell()).isEqualTo(pod.chipCount());
    Set<HostId> seen = new HashSet<>();
    for (int h = 0; h < pod.hostCount(); h++) {
      HostId host = new HostId(h);
      List<HostId> machine = pod.machineHosts(host);
      assertThat(machine).contains(host).isSorted();
      for (HostId other : machine) {
        assertThat(pod.machineHosts(other)).isEqualTo(machine);
      }
      seen.addAll(machine);
    }
    assertThat(seen).hasSize(pod.hostCount());
  }

  /** Every box that is legal, and every one that is nearly so. */
  @Property(tries = 150, edgeCases = EdgeCasesMode.NONE)
  void boxIsLegalExactlyWhereTheRulesSay(
      @ForAll("boxPods") TpuTopology pod, @ForAll Random random) {
    List<Shape> legal = pod.legalShapes();
    for (int k = 0; k < 60; k++) {
      Shape shape =
          k % 4 == 0 || legal.isEmpty()
              ? anyShape(pod, random)
              : legal.get(random.nextInt(legal.size()));
      List<Orientation> turns = Orientation.ofRank(shape.rank());
      Shape extents = turns.get(random.nextInt(turns.size())).extents(shape);
      Chip origin = pod.chip(random.nextInt(pod.chipCount()));
      Footprint.Box box = new Footprint.Box(origin, extents);
      assertThat(pod.whyNot(shape, box).isEmpty())
          .as("%s of %s on %s", box, shape, pod)
          .isEqualTo(isLegalBox(pod, box));
      if (pod.whyNot(shape, box).isEmpty()) {
        assertThat(pod.isLegal(shape)).isTrue();
        assertThat(pod.alignment(extents)).isPresent();
      }
    }
  }

  private static boolean isLegalBox(TpuTopology pod, Footprint.Box box) {
    Shape e = box.extents();
    boolean optical = pod.isOptical();
    for (Axis axis : AXES) {
      int end = box.origin().get(axis) + e.get(axis);
      if (optical) {
        if (box.origin().get(axis) / 4 != (end - 1) / 4) {
          return false;
        }
      } else if (e.get(axis) > pod.dims().get(axis)
          || end > pod.dims().get(axis) && !pod.wraps(axis)) {
        return false;
      }
    }
    if (optical && e.equals(Shape.of(4, 4, 4))) {
      return false;
    }
    List<Shape> only = List.of();
    if (pod.slicing() instanceof Slicing.TorusBoxes boxes) {
      only = boxes.shapes();
      if (!only.isEmpty() && !only.contains(e.sorted())) {
        return false;
      }
    }
    // Whole hosts, or a tile of one host.
    Set<HostId> hosts = new HashSet<>();
    List<Chip> chips = chips(pod, box);
    chips.forEach(chip -> hosts.add(pod.hostOf(chip)));
    if (chips.size() == hosts.size() * pod.hostTile().chips()) {
      // A ring's whole axis may be started at a host only.
      return pod.originOf(pod.hostOf(box.origin())).equals(box.origin());
    }
    boolean tiles = true;
    for (Axis axis : AXES) {
      tiles &= pod.hostTile().get(axis) % e.get(axis) == 0;
      tiles &= box.origin().get(axis) % e.get(axis) == 0;
    }
    return !only.isEmpty() && hosts.size() == 1 && tiles;
  }

  private static Shape anyShape(TpuTopology pod, Random random) {
    int x = 1 + random.nextInt(pod.dims().x() + 1);
    int y = 1 + random.nextInt(pod.dims().y() + 1);
    int z = 1 + random.nextInt(pod.dims().z() + 1);
    return pod.dims().rank() == 2 ? Shape.of(x, y) : Shape.of(x, y, z);
  }

  /** Cells, worker order, wraps and links of every kind of footprint. */
  @Property(tries = 200, edgeCases = EdgeCasesMode.NONE)
  void placedSliceIsWhatItsChipsAre(@ForAll("pods") TpuTopology pod, @ForAll Random random) {
    for (int k = 0; k < 8; k++) {
      Slice slice = anySlice(pod, random);
      if (slice == null) {
        return;
      }
      assertThat(pod.whyNot(slice.shape, slice.footprint)).isEmpty();
      List<Chip> frame = frame(pod, slice); // pod chips in the slice's order, x fastest

      TreeSet<Integer> cells = new TreeSet<>();
      LinkedHashSet<HostId> hosts = new LinkedHashSet<>();
      for (Chip chip : frame) {
        cells.add(pod.cellOf(chip));
        hosts.add(pod.hostOf(chip));
      }
      assertThat(frame).doesNotHaveDuplicates().hasSize((int) slice.shape.chips());
      assertThat(pod.cells(slice.footprint))
          .isEqualTo(cells.stream().mapToInt(Integer::intValue).toArray());
      BitSet chips = new BitSet();
      pod.forEachChip(slice.footprint, chips::set);
      assertThat(chips.stream().toArray())
          .isEqualTo(frame.stream().mapToInt(pod::chipIndex).sorted().toArray());

      // Hosts by the place of their least chip in the slice's frame.
      List<HostId> workers = pod.workerHosts(slice.shape, slice.footprint);
      assertThat(workers).containsExactlyElementsOf(byLeastPlace(pod, slice, frame));
      assertThat(workers).hasSize(pod.hostsOf(slice.shape)).hasSameElementsAs(hosts);

      // From its hosts back to the footprint.
      if (slice.shape.chips() >= pod.hostTile().chips()) {
        boolean boxesToo =
            pod.slicing() instanceof Slicing.OpticalCubes o
                && o.boxesInCube()
                && slice.footprint instanceof Footprint.Partition;
        if (!boxesToo) {
          assertThat(pod.footprintOf(slice.shape, workers)).contains(slice.footprint);
        }
        assertThat(pod.footprintOf(slice.shape, Set.copyOf(workers)))
            .hasValueSatisfying(
                f -> assertThat(pod.cells(f)).isEqualTo(pod.cells(slice.footprint)));
        assertThat(pod.footprintOf(slice.shape, workers.subList(1, workers.size()))).isEmpty();
      } else {
        pod.footprintOf(slice.shape, workers)
            .ifPresent(f -> assertThat(pod.cells(f)).isEqualTo(pod.cells(slice.footprint)));
      }

      assertLinks(pod, slice, frame);
    }
  }

  private static List<HostId> byLeastPlace(TpuTopology pod, Slice slice, List<Chip> frame) {
    // Sort hosts by (least z, least y, least x) of their chips in the slice's own frame.
    Map<HostId, int[]> least = new HashMap<>();
    Shape s = slice.shape;
    for (int i = 0; i < frame.size(); i++) {
      int[] place = {i / (s.x() * s.y()), i / s.x() % s.y(), i % s.x()};
      least.merge(
          pod.hostOf(frame.get(i)),
          place,
          (a, b) -> IntStream.range(0, 3).map(j -> Math.min(a[j], b[j])).toArray());
    }
    return least.entrySet().stream()
        .sorted((a, b) -> Arrays.compare(a.getValue(), b.getValue()))
        .map(Map.Entry::getKey)
        .toList();
  }

  private static void assertLinks(TpuTopology pod, Slice slice, List<Chip> frame) {
    LogicalTopology logical = pod.logical(slice.shape, slice.footprint, Twist.NONE);
    Shape s = slice.shape;
    // A copper link of the slice runs between neighbours in the pod: find the link of the pod.
    Set<List<Object>> used = new HashSet<>();
    for (IciLink link : logical.graph().edgeSet()) {
      if (link.medium() == IciLink.Medium.OPTICAL) {
        continue;
      }
      Chip from = frame.get(link.from().x() + s.x() * (link.from().y() + s.y() * link.from().z()));
      Chip to = frame.get(link.to().x() + s.x() * (link.to().y() + s.y() * link.to().z()));
      Axis axis = slice.orientation.podAxis(link.axis());
      assertThat((from.get(axis) + 1) % pod.dims().get(axis)).isEqualTo(to.get(axis));
      used.add(List.of(from, axis));
    }
    for (int i = 0; i < pod.chipCount(); i++) {
      for (Axis axis : AXES) {
        Chip from = pod.chip(i);
        assertThat(pod.usesLink(slice.footprint, from, axis))
            .as("%s %s of %s on %s", from, axis, slice, pod)
            .isEqualTo(used.contains(List.of(from, axis)));
      }
    }
    assertThat(pod.usesLink(slice.footprint, new Chip(-1, 0, 0), Axis.X)).isFalse();
    // The pod has every link that a slice of copper uses.
    for (List<Object> link : used) {
      assertThat(pod.graph().edgesOf((Chip) link.get(0)))
          .anyMatch(k -> k.from().equals(link.get(0)) && k.axis() == link.get(1));
    }
    boolean torus = true;
    for (Axis axis : AXES) {
      boolean wraps;
      if (slice.footprint instanceof Footprint.Cubes) {
        wraps = true;
      } else {
        Axis on = slice.orientation.podAxis(axis);
        wraps = pod.wraps(on) && s.get(axis) == pod.dims().get(on);
      }
      assertThat(logical.wraps(axis)).isEqualTo(wraps);
      torus &= wraps || s.get(axis) == 1;
    }
    assertThat(pod.isTorus(s, slice.footprint)).isEqualTo(torus);
  }

  private record Slice(Shape shape, Footprint footprint, Orientation orientation) {}

  /** A legal slice, or null where this pod has none of the kind drawn. */
  private static Slice anySlice(TpuTopology pod, Random random) {
    if (pod.isOptical() && random.nextBoolean()) {
      List<Shape> whole =
          pod.legalShapes().stream()
              .filter(s -> pod.cubesOf(s) > 0 && pod.cubesOf(s) <= pod.cubeCount())
              .toList();
      Shape shape = turned(whole.get(random.nextInt(whole.size())), random);
      List<CubeId> cubes = new ArrayList<>();
      for (int c = 0; c < pod.cubeCount(); c++) {
        cubes.add(new CubeId(c));
      }
      Collections.shuffle(cubes, random);
      return new Slice(
          shape, new Footprint.Cubes(cubes.subList(0, pod.cubesOf(shape))), Orientation.XYZ);
    }
    boolean boxes =
        pod.slicing() instanceof Slicing.TorusBoxes
            || pod.slicing() instanceof Slicing.OpticalCubes o && o.boxesInCube();
    if (!boxes || pod.isOptical() && random.nextBoolean()) {
      PartitionForest forest = pod.partitions().orElseThrow();
      PartitionId id = new PartitionId(random.nextInt(forest.size()));
      if (pod.isOptical() && forest.shape(id).chips() == 64) {
        id = forest.children(id).get(0);
      }
      Shape shape = turned(forest.shape(id), random);
      Shape extents = forest.box(id).orElseThrow().extents();
      return new Slice(shape, new Footprint.Partition(id), Orientation.between(shape, extents));
    }
    List<Shape> legal = pod.legalShapes().stream().filter(s -> pod.cubesOf(s) == 0).toList();
    if (legal.isEmpty()) {
      return null;
    }
    for (int tries = 0; tries < 2_000; tries++) {
      Shape shape = turned(legal.get(random.nextInt(legal.size())), random);
      Shape extents = turned(shape, random);
      Chip origin = pod.chip(random.nextInt(pod.chipCount()));
      Footprint.Box box = new Footprint.Box(origin, extents);
      if (pod.whyNot(shape, box).isEmpty()) {
        return new Slice(shape, box, Orientation.between(shape, extents));
      }
    }
    return null;
  }

  private static Shape turned(Shape shape, Random random) {
    List<Orientation> turns = Orientation.ofRank(shape.rank());
    return turns.get(random.nextInt(turns.size())).extents(shape);
  }

  /** The pod's chips in the slice's order. */
  private static List<Chip> frame(TpuTopology pod, Slice slice) {
    List<Chip> chips = new ArrayList<>();
    Shape s = slice.shape;
    for (int z = 0; z < s.z(); z++) {
      for (int y = 0; y < s.y(); y++) {
        for (int x = 0; x < s.x(); x++) {
          int[] place = {x, y, z};
          int[] at = new int[3];
          if (slice.footprint instanceof Footprint.Cubes cubes) {
            int cube = x / 4 + s.x() / 4 * (y / 4 + s.y() / 4 * (z / 4));
            Chip origin = pod.originOf(cubes.cubes().get(cube));
            at = new int[] {origin.x() + x % 4, origin.y() + y % 4, origin.z() + z % 4};
          } else {
            Footprint.Box box =
                slice.footprint instanceof Footprint.Box b
                    ? b
                    : pod.partitions()
                        .orElseThrow()
                        .box(((Footprint.Partition) slice.footprint).id())
                        .orElseThrow();
            for (Axis axis : AXES) {
              Axis on = slice.orientation.podAxis(axis);
              at[on.ordinal()] =
                  (box.origin().get(on) + place[axis.ordinal()]) % pod.dims().get(on);
            }
          }
          chips.add(new Chip(at[0], at[1], at[2]));
        }
      }
    }
    return chips;
  }

  static List<Chip> chips(TpuTopology pod, Footprint.Box box) {
    return frame(pod, new Slice(box.extents(), box, Orientation.XYZ));
  }

  @Provide
  Arbitrary<TpuTopology> boxPods() {
    return Arbitraries.oneOf(wired(), sized(), cubesWithBoxes());
  }

  @Provide
  Arbitrary<TpuTopology> pods() {
    return Arbitraries.oneOf(
        wired(),
        sized(),
        cubesWithBoxes(),
        Arbitraries.integers()
            .between(1, 4)
            .map(n -> TpuTopology.builder(AcceleratorType.TPU7X).cubes(n).build()),
        Arbitraries.of(
            TpuTopology.builder(AcceleratorType.V4).dims(8, 4, 8).build(),
            TpuTopology.builder(AcceleratorType.V5P)
                .dims(4, 8, 4)
                .hostTile(Shape.of(1, 2, 4))
                .build(),
            TpuTopology.v6e(),
            TpuTopology.builder(AcceleratorType.V5E).dims(4, 8).build(),
            TpuTopology.builder(AcceleratorType.V6E).hostTile(Shape.of(2, 4)).build(),
            TpuTopology.builder(AcceleratorType.V6E).hostTile(Shape.of(1, 1)).build(),
            TpuTopology.torusBuilder(4, 2, 8).slicing(Slicing.NestedPartitions.halving()).build()));
  }

  private static Arbitrary<TpuTopology> cubesWithBoxes() {
    return Arbitraries.integers()
        .between(1, 3)
        .map(
            n ->
                TpuTopology.builder(AcceleratorType.V4)
                    .cubes(n)
                    .slicing(new Slicing.OpticalCubes(48, true, List.of()))
                    .build());
  }

  /** v6e in boxes, with hosts of 2x2, 2x4 and one chip. */
  private static Arbitrary<TpuTopology> sized() {
    Arbitrary<Shape> tile = Arbitraries.of(Shape.of(2, 2), Shape.of(2, 4), Shape.of(1, 1));
    Arbitrary<Shape> dims = Arbitraries.of(Shape.of(16, 16), Shape.of(8, 16), Shape.of(4, 4));
    return Combinators.combine(tile, dims)
        .as(
            (t, d) ->
                TpuTopology.builder(AcceleratorType.V6E)
                    .dims(d.x(), d.y())
                    .hostTile(t)
                    .boxes()
                    .build());
  }

  private static Arbitrary<TpuTopology> wired() {
    Arbitrary<Integer> tile = Arbitraries.integers().between(1, 3);
    Arbitrary<Integer> hosts = Arbitraries.integers().between(1, 4);
    Arbitrary<Boolean> wrap = Arbitraries.of(true, false);
    return Combinators.combine(
            tile,
            tile,
            tile,
            Combinators.combine(hosts, hosts, hosts).as((x, y, z) -> new int[] {x, y, z}),
            Combinators.combine(wrap, wrap, wrap).as((x, y, z) -> new boolean[] {x, y, z}),
            Arbitraries.of(true, false))
        .as(
            (tx, ty, tz, n, w, flat) ->
                (flat
                        ? TpuTopology.torusBuilder(tx * n[0], ty * n[1]).hostTile(Shape.of(tx, ty))
                        : TpuTopology.torusBuilder(tx * n[0], ty * n[1], tz * n[2])
                            .hostTile(Shape.of(tx, ty, tz)))
                    .wrap(Axis.X, w[0])
                    .wrap(Axis.Y, w[1])
                    .wrap(Axis.Z, w[2])
                    .build());
  }
}
