package dev.slicewright.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Random;
import org.junit.jupiter.api.Test;

class BoxSumsTest {

  @Test
  void sumsEveryBoxThatWrapsRound() {
    Random random = new Random(7);
    for (int[] n : new int[][] {{1, 1, 1}, {5, 1, 1}, {1, 4, 3}, {4, 3, 5}, {6, 2, 1}}) {
      long[] prices = random.longs((long) n[0] * n[1] * n[2], 0, 1L << 50).toArray();
      BoxSums sums = new BoxSums(prices, n[0], n[1], n[2]);
      for (int x = 1; x <= n[0]; x++) {
        for (int y = 1; y <= n[1]; y++) {
          for (int z = 1; z <= n[2]; z++) {
            long[] expected = new long[prices.length];
            for (int cell = 0; cell < prices.length; cell++) {
              for (int k = 0; k < x * y * z; k++) {
                int cx = (cell % n[0] + k % x) % n[0];
                int cy = (cell / n[0] % n[1] + k / x % y) % n[1];
                int cz = (cell / n[0] / n[1] + k / x / y) % n[2];
                expected[cell] += prices[cx + n[0] * (cy + n[1] * cz)];
              }
            }
            assertThat(sums.of(x, y, z)).isEqualTo(expected);
          }
        }
      }
    }
  }

  @Test
  void remembersTheMostRecentArraysAlone() {
    RecentPrices<Integer> recent = new RecentPrices<>(10);
    long[] a = new long[5];
    long[] b = new long[5];
    long[] large = new long[50];
    int[] made = new int[1];
    for (long[] prices : new long[][] {a, b, a, b}) {
      recent.get(prices, p -> made[0]++);
    }
    assertThat(made[0]).as("equal arrays are told apart, and remembered").isEqualTo(2);
    recent.get(a, p -> made[0]++);
    recent.get(new long[5], p -> made[0]++); // b goes
    recent.get(a, p -> made[0]++);
    assertThat(made[0]).isEqualTo(3);
    recent.get(b, p -> made[0]++);
    assertThat(made[0]).isEqualTo(4);
    recent.get(large, p -> made[0]++);
    recent.get(large, p -> made[0]++);
    assertThat(made[0]).as("even what is beyond the limit is kept once").isEqualTo(5);
  }
}
