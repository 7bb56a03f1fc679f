package dev.slicewright.topology;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A pod that is one slice for good, of which only names are known: as GKE's static node pools are.
 */
class JoinedCubesTest {

  private static TpuTopology pool(AcceleratorType type, Shape dims, boolean wraps) {
    List<HostId> hosts = new ArrayList<>();
    for (int h = 0; h < dims.chips() / type.hostTile().chips(); h++) {
      hosts.add(new HostId(h));
    }
    TpuTopology.Builder builder =
        TpuTopology.builder(type)
            .slicing(new Slicing.NestedPartitions(List.of(new PartitionSpec("pool", dims, hosts))))
            .coordinatesUnknown();
    if (dims.rank() == 2) {
      return builder.dims(dims.x(), dims.y()).build();
    }
    for (Axis axis : Axis.values()) {
      builder.wrap(axis, wraps);
    }
    return builder.dims(dims.x(), dims.y(), dims.z()).build();
  }

  private static final Footprint ALL = new Footprint.Partition(new PartitionId(0));

  @ParameterizedTest
  @CsvSource({"4x4x4,false", "4x4x8,true", "4x8x8,true", "8x8x12,false", "8x4x4,true"})
  void wholeCubesThatWrapAreATorusTwistedByTheUsualRule(String shape, boolean twistable) {
    Shape dims = Shape.parse(shape).sorted();
    TpuTopology t = pool(AcceleratorType.V5P, dims, true);

    Shape wanted = Shape.parse(shape);
    assertThat(t.whyNot(wanted, ALL)).isEmpty();
    assertThat(t.isTorus(wanted, ALL)).isTrue();
    assertThat(t.twist(wanted).isPresent()).isEqualTo(twistable);
    // As the same cubes joined on demand, link for link.
    TpuTopology optical = TpuTopology.v5p();
    assertThat(t.twist(wanted)).isEqualTo(optical.twist(wanted));
    List<CubeId> cubes = new ArrayList<>();
    for (int c = 0; c < dims.chips() / 64; c++) {
      cubes.add(new CubeId(c));
    }
    Twist twist = t.twist(wanted).orElse(Twist.NONE);
    assertThat(t.logical(wanted, ALL, twist))
        .isEqualTo(optical.logical(wanted, new Footprint.Cubes(cubes), twist));
  }

  @Test
  void lessThanACubeIsAMesh() {
    Shape shape = Shape.of(2, 4, 4);
    TpuTopology t = pool(AcceleratorType.V4, shape, false);

    assertThat(t.isTorus(shape, ALL)).isFalse();
    assertThat(t.twist(shape)).isEmpty();
    assertThat(t.logical(shape, ALL, Twist.NONE))
        .isEqualTo(new LogicalTopology(shape, false, false, false, Twist.NONE, 0));
  }

  @Test
  void aMeshOfWholeCubesIsNotTwisted() {
    TpuTopology t = pool(AcceleratorType.V5P, Shape.of(4, 4, 8), false);

    assertThat(t.twist(Shape.of(4, 4, 8))).isEmpty();
    assertThat(t.isTorus(Shape.of(4, 4, 8), ALL)).isFalse();
  }

  @Test
  void aWholeHalfPodIsACylinderOnItsLongAxisInEitherOrderOfExtents() {
    // "v5e 8x16 will have a wraparound on the longer axis": How to Scale Your Model.
    TpuTopology t = pool(AcceleratorType.V6E, Shape.of(8, 16), true);

    assertThat(t.logical(Shape.of(8, 16), ALL, Twist.NONE).wrapX()).isFalse();
    assertThat(t.logical(Shape.of(8, 16), ALL, Twist.NONE).wrapY()).isTrue();
    assertThat(t.logical(Shape.of(16, 8), ALL, Twist.NONE).wrapX()).isTrue();
    assertThat(t.logical(Shape.of(16, 8), ALL, Twist.NONE).wrapY()).isFalse();
  }
}
