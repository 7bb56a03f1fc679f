package dev.slicewright.search;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.formulation.MeshPacking;
import dev.slicewright.formulation.PackingBruteForce;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.conformance.RandomModels;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

class MeshSearchTest {

  @Test
  void agreesWithBruteForce() {
    int fit = 0;
    int asked = 0;
    for (int seed = 0; seed < 1_000; seed++) {
      PackingBruteForce.Question q = PackingBruteForce.random(seed);
      PlacementModel model = q.model(seed % 2 == 0);
      MeshPacking packing = MeshPacking.of(model, 0).orElse(null);
      if (packing == null) { // blocked cells that leave no place at all
        continue;
      }
      boolean truth = q.fits();
      asked++;
      fit += truth ? 1 : 0;
      MeshSearch search = new MeshSearch(packing);
      assertThat(search.run(seed % 3 == 0, () -> false))
          .as("%d", seed)
          .isEqualTo(truth ? MeshSearch.Answer.PACKED : MeshSearch.Answer.IMPOSSIBLE);
      if (truth) {
        int[] chosen = search.chosen();
        assertThat(chosen).doesNotContain(-1);
        model.evaluate(chosen);
      }
    }
    assertThat(asked).isGreaterThan(800);
    assertThat(fit).isBetween(asked / 5, asked * 4 / 5);
  }

  @Test
  void eachDirectionAgreesWithBruteForceWithHardlyAnyMemory() {
    for (int seed = 10_000; seed < 10_600; seed++) {
      PackingBruteForce.Question q = PackingBruteForce.random(seed);
      boolean truth = q.fits();
      for (boolean turned : new boolean[] {false, true}) {
        List<int[][]> types = new ArrayList<>();
        for (int[][] ways : q.boxes()) {
          types.add(
              Arrays.stream(ways)
                  .map(s -> turned ? new int[] {s[1], s[0]} : s)
                  .toArray(int[][]::new));
        }
        int[] counts = new int[types.size()];
        Arrays.fill(counts, 1);
        BitSet blocked = new BitSet();
        q.blocked().stream()
            .forEach(c -> blocked.set(turned ? c / q.width() + q.height() * (c % q.width()) : c));
        Skyline skyline =
            new Skyline(
                turned ? q.height() : q.width(),
                turned ? q.width() : q.height(),
                types,
                counts,
                blocked,
                seed % 2 == 0 ? 0 : 1L << 20);
        assertThat(skyline.run(Long.MAX_VALUE / 2, () -> false))
            .as("%d %s", seed, turned)
            .isEqualTo(truth ? Skyline.Answer.PACKED : Skyline.Answer.IMPOSSIBLE);
      }
    }
  }

  @Test
  void whatIsNeedlessChangesNoAnswer() {
    int dropped = 0;
    for (int seed = 20_000; seed < 20_500; seed++) {
      PackingBruteForce.Question q = PackingBruteForce.random(seed);
      PlacementModel model = q.model(true);
      MeshPacking packing = MeshPacking.of(model, 0).orElse(null);
      if (packing == null) {
        continue;
      }
      BitSet needless = packing.needless();
      dropped += needless.cardinality();
      assertThat(fits(model, needless, 0, new BitSet())).as("%d", seed).isEqualTo(q.fits());
    }
    assertThat(dropped).isGreaterThan(500);
  }

  private static boolean fits(PlacementModel model, BitSet without, int item, BitSet taken) {
    if (item == model.items().size()) {
      return true;
    }
    for (int c = 0; c < model.candidates().size(); c++) {
      PlacementModel.Candidate candidate = model.candidates().get(c);
      if (candidate.item() != item
          || without.get(c)
          || Arrays.stream(candidate.cells()).anyMatch(taken::get)) {
        continue;
      }
      BitSet more = (BitSet) taken.clone();
      Arrays.stream(candidate.cells()).forEach(more::set);
      if (fits(model, without, item + 1, more)) {
        return true;
      }
    }
    return false;
  }

  @Test
  void stopsWhenTold() {
    // Nobody knows soon: 13 boxes of 3x7 and one cell of waste, on 16x... with odd rests.
    List<int[][]> boxes = new ArrayList<>(Collections.nCopies(40, new int[][] {{3, 7}, {7, 3}}));
    boxes.addAll(Collections.nCopies(12, new int[][] {{5, 4}, {4, 5}}));
    PlacementModel model = RandomModels.packing(33, 33, new BitSet(), false, boxes);
    for (boolean twoThreads : new boolean[] {false, true}) {
      MeshSearch search = new MeshSearch(MeshPacking.of(model, 0).orElseThrow());
      assertThat(search.run(twoThreads, () -> true))
          .isIn(MeshSearch.Answer.STOPPED, MeshSearch.Answer.PACKED);
    }
  }

  @Test
  void saysWhyAModelAsksSomethingElse() {
    PlacementModel line = RandomModels.line(10, 4, 1); // each item by itself
    assertThat(MeshPacking.whyNot(line, 0)).hasValueSatisfying(w -> assertThat(w).endsWith("."));
    PlacementModel gang = PackingBruteForce.random(1).model(false);
    assertThat(MeshPacking.whyNot(gang, 0)).isEmpty();
    PlacementModel other = RandomModels.knapsack(3, 1, 1);
    assertThat(MeshPacking.whyNot(other, 0)).isPresent();
  }
}
