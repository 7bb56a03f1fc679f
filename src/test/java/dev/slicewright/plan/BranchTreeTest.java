package dev.slicewright.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Proofs by cases, on a ring of five cells that holds two boxes of two cells, and 2.5 by prices.
 */
class BranchTreeTest {

  private static final long UNIT = Certificate.UNIT;
  private static final CountRow BOXES = CountRow.ofShape(Shape.of(2, 4));
  private static final Level PLACED = new Level(Level.Kind.PLACED, 0);

  private final SliceRequest a = want("a", "4x2", "ring");
  private final SliceRequest b = want("b", "4x2", "ring");
  private final SliceRequest c = want("c", "4x2", "ring");
  private final SliceRequest other = want("other", "2x2", "other");
  private final Case ring =
      Case.of(
          Fleet.builder()
              .pod("ring", TpuTopology.torus(10, 2), Map.of("name", "ring"))
              .pod("other", TpuTopology.torus(4, 4), Map.of("name", "other"))
              .build(),
          a,
          b,
          c,
          other);
  private final BoundChecker checker =
      PlanVerifier.boundChecker(ring.fleet(), ring.requests(), ring.rules(), ring.cost());

  private static SliceRequest want(String id, String shape, String pod) {
    return SliceRequest.builder(id).shape(shape).requireLabel("name", pod).build();
  }

  private static Certificate each(long price) {
    long[] prices = new long[5];
    Arrays.fill(prices, price);
    return new Certificate(
        0, List.of(new Certificate.CellPrices("ring", prices)), List.of(), new long[0]);
  }

  private static BranchTree.Leaf leaf(Certificate certificate, long... branchPrices) {
    return new BranchTree.Leaf(certificate, branchPrices);
  }

  /** At most two at no price but 8 a box; three cost more than the ring has. */
  private static BranchTree cases() {
    return new BranchTree.Split(
        BOXES, 2, leaf(each(0), 8 * UNIT), leaf(each(16 * UNIT), 24 * UNIT));
  }

  private Plan plan(Proof proof, long bound) {
    return ring.plan()
        .placement(ring.one(a, "ring", "4x2", Case.box("4x2", 0, 0)))
        .placement(ring.one(b, "ring", "4x2", Case.box("4x2", 6, 0)))
        .placement(ring.one(other, "other", "2x2", Case.box("2x2", 0, 0)))
        .unplaced(Case.unplaced(c))
        .stopped(StopReason.OPTIMAL)
        .score(new Score(List.of(new Score.LevelScore(PLACED, 20, bound, proof, null))))
        .build();
  }

  @Test
  void casesProveWhatNoSingleCertificateCan() {
    assertThat(checker.bound(cases(), new long[1])).isEqualTo(20);
    ring.accepts(plan(new Proof.Branched(cases()), 20));

    assertThat(checker.bound(each(4 * UNIT), new long[1])).isEqualTo(24);
    Random random = new Random(1);
    for (int i = 0; i < 1_000; i++) {
      long[] prices = random.longs(5, 0, 8 * UNIT).toArray();
      Certificate any =
          new Certificate(
              0, List.of(new Certificate.CellPrices("ring", prices)), List.of(), new long[0]);
      // Half a box at each of the five places fills the ring: 20 chips, and 4 in the other pod.
      assertThat(checker.bound(any, new long[1])).isGreaterThanOrEqualTo(24);
    }
    ring.rejects(
        plan(new Proof.Certified(each(4 * UNIT)), 20), "score.levels[0].bound", "expected 24");
  }

  @Test
  void aLeafIsBoundedByItsSteps() {
    BranchTree.Step most = new BranchTree.Step(BOXES, 2, false);
    BranchTree.Step least = new BranchTree.Step(BOXES, 2, true);
    long[] none = new long[1];

    assertThat(checker.bound(each(0), List.of(), new long[0], none)).isEqualTo(28);
    assertThat(checker.bound(each(0), List.of(most), new long[] {8 * UNIT}, none)).isEqualTo(20);
    assertThat(checker.bound(each(0), List.of(most), new long[] {0}, none)).isEqualTo(28);
    // 5 x 16 + 3 x (8 - 32 + 24) - 3 x 24 + 4: no plan has three.
    assertThat(checker.bound(each(16 * UNIT), List.of(least), new long[] {24 * UNIT}, none))
        .isEqualTo(12);
    // One step after another; at least one and at most one.
    BranchTree.Step one = new BranchTree.Step(BOXES.inPod("ring"), 1, false);
    BranchTree.Step some = new BranchTree.Step(CountRow.ofChips(8, 8), 0, true);
    assertThat(checker.bound(each(0), List.of(some, one), new long[] {UNIT, 9 * UNIT}, none))
        .isEqualTo(12);
  }

  @Test
  void countsByPodShapeChipsAndPriority() {
    Shape box = Shape.of(4, 2);
    assertThat(BOXES.counts(a, "ring", box)).isTrue();
    assertThat(BOXES.counts(a, "ring", Shape.of(8, 1))).isFalse();
    assertThat(BOXES.inPod("other").counts(a, "ring", box)).isFalse();
    assertThat(BOXES.withPriorities(1, 2).counts(a, "ring", box)).isFalse();
    assertThat(BOXES.withPriorities(0, 0).counts(a, "ring", box)).isTrue();
    assertThat(CountRow.ofChips(4, 8).counts(a, "ring", box)).isTrue();
    assertThat(CountRow.ofChips(9, 12).counts(a, "ring", box)).isFalse();
    assertThat(CountRow.ofChips(4, 7).counts(a, "ring", box)).isFalse();
  }

  // ---------------------------------------------------------------- tampered with

  private void rejects(BranchTree tree, String message) {
    ring.rejects(plan(new Proof.Branched(tree), 20), "score.levels[0].proof", message);
  }

  @Test
  void treesTamperedWithAreNamed() {
    BranchTree.Leaf below = leaf(each(0), 8 * UNIT);
    BranchTree.Leaf above = leaf(each(16 * UNIT), 24 * UNIT);
    rejects(
        new BranchTree.Split(BOXES, 2, leaf(each(0), -8 * UNIT), above),
        "the price of step 0 is negative: " + -8 * UNIT);
    rejects(
        new BranchTree.Split(BOXES, 2, leaf(each(0)), above),
        "expected a price for each of the 1 steps to the leaf, but was 0");
    rejects(
        new BranchTree.Split(BOXES, 2, below, leaf(each(0), 0, 0)),
        "expected a price for each of the 1 steps to the leaf, but was 2");
    rejects(
        new BranchTree.Split(BOXES.inPod("none"), 2, below, above),
        "there is no pod for the count");
    rejects(new BranchTree.Split(BOXES, 2, leaf(each(-1), 0), above), "is negative");
    rejects(
        new BranchTree.Split(BOXES, 1L << 62, below, above),
        "the prices of the certificate overflow");
    Certificate later = new Certificate(1, List.of(), List.of(), new long[1]);
    rejects(new BranchTree.Split(BOXES, 2, leaf(later, 0), leaf(later, 0)), "for level 1");
    // Right in form, but proving less.
    ring.rejects(
        plan(new Proof.Branched(new BranchTree.Split(BOXES, 3, below, above)), 20),
        "score.levels[0].bound",
        "expected 28 or more");
    ring.rejects(
        plan(new Proof.Branched(new BranchTree.Split(BOXES, 2, above, below)), 20),
        "score.levels[0].bound",
        "or more");
  }

  @Test
  void whatNoTreeMayBeCannotBeMade() {
    BranchTree.Leaf leaf = leaf(each(0));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new BranchTree.Split(BOXES, -1, leaf, leaf))
        .withMessageContaining("but was -1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new BranchTree.Split(BOXES, Long.MAX_VALUE, leaf, leaf));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new BranchTree.Step(BOXES, Long.MAX_VALUE, true));
    Certificate later = new Certificate(1, List.of(), List.of(), new long[1]);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new BranchTree.Split(BOXES, 0, leaf, leaf(later)))
        .withMessageContaining("0 and 1");
    assertThatExceptionOfType(NullPointerException.class)
        .isThrownBy(() -> new BranchTree.Split(BOXES, 0, leaf, null));

    BranchTree deep = leaf;
    BranchTree broad = leaf;
    for (int i = 0; i < BranchTree.MAX_DEPTH; i++) {
      deep = new BranchTree.Split(BOXES, 0, leaf, deep);
    }
    for (int i = 1; i < BranchTree.MAX_LEAVES; i *= 2) {
      broad = new BranchTree.Split(BOXES, 0, broad, broad);
    }
    assertThat(deep.depth()).isEqualTo(BranchTree.MAX_DEPTH);
    assertThat(broad.leaves()).isEqualTo(BranchTree.MAX_LEAVES);
    assertThat(new Proof.Branched(deep)).hasToString("certificates of 65 cases");
    BranchTree tooDeep = deep;
    BranchTree tooBroad = broad;
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new BranchTree.Split(BOXES, 0, tooDeep, leaf))
        .withMessageContaining("at most 64 splits on the way to a leaf, but was 65");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new BranchTree.Split(BOXES, 0, tooBroad, leaf))
        .withMessageContaining("at most 4096 leaves, but was 4097");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> CountRow.ofChips(5, 4))
        .withMessageContaining("5 to 4");
    assertThatIllegalArgumentException().isThrownBy(() -> CountRow.ofChips(-1, 4));
    assertThatIllegalArgumentException()
        .isThrownBy(() -> BOXES.withPriorities(2, 1))
        .withMessageContaining("2 to 1");
  }
}
