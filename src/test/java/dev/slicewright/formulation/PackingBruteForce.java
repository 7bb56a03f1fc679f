package dev.slicewright.formulation;

import dev.slicewright.formulation.conformance.RandomModels;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;

/** Tiny packing questions, and their answers by trying everything. */
public final class PackingBruteForce {

  private PackingBruteForce() {}

  /** Boxes, each with its sizes {width, height}, for a rectangle with blocked cells. */
  public record Question(int width, int height, BitSet blocked, List<int[][]> boxes) {

    /** Whether all fit. */
    public boolean fits() {
      return fits(0, (BitSet) blocked.clone());
    }

    private boolean fits(int box, BitSet taken) {
      if (box == boxes.size()) {
        return true;
      }
      for (int[] size : boxes.get(box)) {
        for (int y = 0; y + size[1] <= height; y++) {
          for (int x = 0; x + size[0] <= width; x++) {
            int corner = x + width * y;
            boolean free =
                IntStream.range(0, size[0] * size[1])
                    .noneMatch(k -> taken.get(corner + k % size[0] + width * (k / size[0])));
            if (free) {
              BitSet more = (BitSet) taken.clone();
              for (int row = 0; row < size[1]; row++) {
                more.set(corner + row * width, corner + row * width + size[0]);
              }
              if (fits(box + 1, more)) {
                return true;
              }
            }
          }
        }
      }
      return false;
    }

    /** The same as a model; mandatory, or a gang. */
    public PlacementModel model(boolean mandatory) {
      return RandomModels.packing(width, height, blocked, mandatory, boxes);
    }
  }

  /** A question whose boxes need about as much as there is; each fits by itself. */
  public static Question random(long seed) {
    Random random = new Random(seed * 0x9E3779B97F4A7C15L + 7);
    int width = 2 + random.nextInt(5);
    int height = 2 + random.nextInt(4);
    BitSet blocked = new BitSet();
    if (random.nextInt(3) == 0) {
      for (int k = 0; k <= random.nextInt(3); k++) {
        blocked.set(random.nextInt(width * height));
      }
    }
    int waste = random.nextInt(3) == 0 ? random.nextInt(4) : 0;
    int area = width * height - blocked.cardinality() - waste;
    List<int[][]> boxes = new ArrayList<>();
    while (area > 0 && boxes.size() < 7) {
      int w = 1 + random.nextInt(Math.min(width, 4));
      int h = 1 + random.nextInt(Math.min(height, 4));
      if (w * h > area) {
        w = 1;
        h = 1;
      }
      int[][] ways = {{w, h}};
      if (random.nextInt(4) == 0 && w != h && h <= width && w <= height) {
        ways = new int[][] {{w, h}, {h, w}};
      }
      boxes.add(ways);
      area -= w * h;
    }
    return new Question(width, height, blocked, boxes);
  }
}
