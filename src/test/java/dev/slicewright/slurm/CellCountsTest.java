package dev.slicewright.slurm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Shape;
import java.util.Random;
import org.junit.jupiter.api.Test;

class CellCountsTest {

  @Test
  void aBoxHoldsWhatCountingItsCellsSaysHoweverItWraps() {
    Random random = new Random(71);
    for (int round = 0; round < 300; round++) {
      Shape torus = Shape.of(1 + random.nextInt(5), 1 + random.nextInt(6), 1 + random.nextInt(7));
      boolean[] marked = new boolean[(int) torus.chips()];
      for (int i = 0; i < marked.length; i++) {
        marked[i] = random.nextInt(4) != 0;
      }
      CellCounts counts = new CellCounts(torus, cell -> marked[cell]);
      for (int i = 0; i < 20; i++) {
        Shape extents =
            Shape.of(
                1 + random.nextInt(torus.x()),
                1 + random.nextInt(torus.y()),
                1 + random.nextInt(torus.z()));
        TorusBox box =
            TorusBox.of(
                new Chip(
                    random.nextInt(torus.x()),
                    random.nextInt(torus.y()),
                    random.nextInt(torus.z())),
                extents,
                torus);
        int expected = 0;
        for (int cell : box.cells(torus)) {
          expected += marked[cell] ? 1 : 0;
        }
        assertThat(counts.in(box)).as("%s in %s", box, torus).isEqualTo(expected);
        assertThat(counts.all(box)).isEqualTo(expected == extents.chips());
      }
    }
  }
}
