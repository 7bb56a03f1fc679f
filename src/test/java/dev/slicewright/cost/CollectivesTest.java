package dev.slicewright.cost;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.LogicalTopology;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.util.List;
import org.junit.jupiter.api.Test;

class CollectivesTest {

  private static final AcceleratorType V5P = AcceleratorType.V5P;
  private static final long GIB = 1L << 30;

  private static LogicalTopology torus(String shape) {
    return new LogicalTopology(Shape.parse(shape), true, true, true, Twist.NONE, 4);
  }

  private static LogicalTopology mesh(String shape) {
    return new LogicalTopology(Shape.parse(shape), false, false, false, Twist.NONE, 4);
  }

  private static double allReduce(LogicalTopology t) {
    return Collectives.allReduceSeconds(t, V5P, GIB).orElseThrow();
  }

  private static double allToAll(LogicalTopology t) {
    return Collectives.allToAllSeconds(t, V5P, GIB).orElseThrow();
  }

  @Test
  void moreWrapIsFaster() {
    LogicalTopology none = mesh("8x8x8");
    LogicalTopology one =
        new LogicalTopology(Shape.parse("8x8x8"), true, false, false, Twist.NONE, 4);
    LogicalTopology all = torus("8x8x8");
    assertThat(allReduce(all)).isLessThan(allReduce(one));
    assertThat(allReduce(one)).isLessThan(allReduce(none));
    assertThat(allToAll(all)).isEqualTo(allToAll(none) / 2);
  }

  @Test
  void cubeLikeBeatsLongAndTwistedBeatsPlain() {
    assertThat(allToAll(torus("8x8x8"))).isLessThan(allToAll(torus("4x8x16")));
    assertThat(allToAll(torus("4x8x16"))).isLessThan(allToAll(torus("4x4x32")));
    Twist twist = TpuTopology.v5p().twist(Shape.parse("4x4x8")).orElseThrow();
    LogicalTopology twisted = new LogicalTopology(Shape.parse("4x4x8"), true, true, true, twist, 4);
    assertThat(allToAll(twisted)).isLessThan(allToAll(torus("4x4x8")));
    assertThat(allReduce(twisted)).isEqualTo(allReduce(torus("4x4x8")));
  }

  @Test
  void figuresOfARing() {
    // 8 chips in a ring: each of the 16 directed links carries 8 chips x 2 hops / 16 links = 1.
    LogicalTopology ring = torus("1x1x8");
    double rate = V5P.iciLinkBytesPerSecond().orElseThrow();
    assertThat(allToAll(ring)).isCloseTo(GIB / rate, within(1e-12));
    assertThat(allReduce(ring)).isCloseTo(2.0 * GIB * 7 / 8 / (2 * rate), within(1e-12));
    assertThat(allReduce(torus("1x1x1"))).isZero();
    assertThat(allToAll(torus("1x1x1"))).isZero();
  }

  @Test
  void unknownRatesGiveNothingAndNegativeBytesAreRefused() {
    AcceleratorType unknown = AcceleratorType.builder("lab").podDims(Shape.of(4, 4, 4)).build();
    assertThat(Collectives.allReduceSeconds(torus("4x4x4"), unknown, 1)).isEmpty();
    assertThat(Collectives.allToAllSeconds(torus("4x4x4"), unknown, 1)).isEmpty();
    assertThatThrownBy(() -> Collectives.allReduceSeconds(torus("4x4x4"), V5P, -1))
        .hasMessageContaining("-1");
  }

  @Test
  void shapesOfANumberOfChipsFastestFirst() {
    TpuTopology t = TpuTopology.v5p();
    List<Shape> shapes = Collectives.shapesByAllToAll(t, 512);
    assertThat(shapes.get(0)).isEqualTo(Shape.of(8, 8, 8));
    assertThat(shapes).containsExactlyInAnyOrderElementsOf(t.shapesFor(512));
    assertThat(shapes.get(shapes.size() - 1)).isEqualTo(Shape.of(4, 4, 32));
    assertThat(Collectives.shapesByAllToAll(t, 7)).isEmpty();
    // On a wired torus what spans an axis wraps: 8x8x2 beats 4x4x8 where 8 is the whole axis.
    TpuTopology wired = TpuTopology.torus(8, 8, 16);
    List<Shape> boxes = Collectives.shapesByAllToAll(wired, 128);
    assertThat(boxes.indexOf(Shape.of(2, 8, 8))).isLessThan(boxes.indexOf(Shape.of(4, 4, 8)));
    assertThat(Collectives.shapesByAllToAll(TpuTopology.v5e(), 128))
        .containsExactly(Shape.of(8, 16));
  }

  @Test
  void ranksFollowTheOptions() {
    TpuTopology t = TpuTopology.v5p();
    SliceRequest listed = SliceRequest.builder("a").shape("4x8x4").shape("4x4x4").build();
    List<Shape> options = Collectives.shapeOptions(listed, t);
    assertThat(options).isEqualTo(listed.shapes());
    assertThat(Collectives.rank(listed, options, Shape.of(4, 4, 8))).hasValue(0);
    assertThat(Collectives.rank(listed, options, Shape.of(4, 4, 4))).hasValue(1);
    assertThat(Collectives.rank(listed, options, Shape.of(8, 8, 8))).isEmpty();
    SliceRequest fixed = listed.toBuilder().mayTurn(false).build();
    assertThat(Collectives.rank(fixed, options, Shape.of(4, 4, 8))).isEmpty();
    SliceRequest chips = SliceRequest.builder("b").chips(512).build();
    assertThat(Collectives.shapeOptions(chips, t)).hasSize(t.shapesFor(512).size());
  }
}
