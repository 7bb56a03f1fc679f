package dev.slicewright.bench;

import dev.slicewright.topology.Shape;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Shapes and how often each is drawn. Immutable, safe to share. Its array must not be changed.
 *
 * @param shapes the shapes
 * @param shares the share of each in per cent, together 100
 */
record Mix(List<Shape> shapes, int[] shares) {

  /** What wired tori are asked for. */
  static final Mix TORUS =
      of(
          new int[] {15, 8, 10, 12, 20, 12, 10, 8, 5},
          "2x2x1 2x2x2 2x2x4 2x4x4 4x4x4 4x4x8 4x8x8 8x8x8 8x8x16");

  /** What optical pods are asked for: one host to 32 cubes. */
  static final Mix CUBES =
      of(
          new int[] {12, 10, 10, 10, 20, 14, 10, 8, 4, 2},
          "2x2x1 2x2x2 2x2x4 2x4x4 4x4x4 4x4x8 4x8x8 8x8x8 8x8x16 8x16x16");

  /** The six shapes that v6e pods are sub-sliced into. */
  static final Mix V6E = of(new int[] {30, 25, 20, 15, 8, 2}, "2x4 4x4 4x8 8x8 8x16 16x16");

  /** Shapes whose extents are no powers of two. */
  static final Mix ODD =
      of(
          new int[] {10, 15, 15, 12, 16, 16, 9, 5, 2},
          "1x1x1 1x2x3 2x3x3 3x3x5 2x9x4 3x5x7 5x6x7 7x8x9 9x10x11");

  Mix {
    shapes = List.copyOf(shapes);
    if (shapes.size() != shares.length || Arrays.stream(shares).sum() != 100) {
      throw new IllegalArgumentException(
          "Expected a share for each shape, together 100: " + Arrays.toString(shares));
    }
  }

  private static Mix of(int[] shares, String shapes) {
    return new Mix(Arrays.stream(shapes.split(" ")).map(Shape::parse).toList(), shares);
  }

  /** The chips of a drawn shape, on average. */
  double meanChips() {
    double sum = 0;
    for (int i = 0; i < shares.length; i++) {
      sum += shares[i] / 100.0 * shapes.get(i).chips();
    }
    return sum;
  }

  Shape draw(SplittableRandom random) {
    int at = random.nextInt(100);
    int i = 0;
    for (; at >= shares[i]; i++) {
      at -= shares[i];
    }
    return shapes.get(i);
  }
}
