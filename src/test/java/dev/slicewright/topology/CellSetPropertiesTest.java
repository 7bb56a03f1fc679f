package dev.slicewright.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Random;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** Against {@link BitSet}, over words and chunks. */
class CellSetPropertiesTest {

  @Property(tries = 200)
  void behavesAsABitSet(@ForAll @IntRange(min = 1, max = 13_000) int size, @ForAll long seed) {
    Random random = new Random(seed);
    CellSet set = CellSet.empty(size);
    BitSet model = new BitSet();
    for (int round = 0; round < 12; round++) {
      int from = random.nextInt(size);
      int[] cells =
          random.ints(1 + random.nextInt(200), from, Math.min(size, from + 5_000)).toArray();
      boolean add = random.nextInt(3) > 0;
      CellSet before = set;
      int[] beforeCells = before.toArray();
      set = add ? set.with(cells) : set.without(cells);
      for (int cell : cells) {
        model.set(cell, add);
      }
      assertThat(before.toArray()).isEqualTo(beforeCells); // a snapshot stays
      assertSame(set, model, size, random);
      assertThat(set.countOf(cells))
          .isEqualTo((int) Arrays.stream(cells).filter(model::get).count());
      assertThat(set.containsAny(cells)).isEqualTo(Arrays.stream(cells).anyMatch(model::get));
    }
    assertThat(set.without(set.toArray())).isEqualTo(CellSet.empty(size));
  }

  private static void assertSame(CellSet set, BitSet model, int size, Random random) {
    assertThat(set.size()).isEqualTo(size);
    assertThat(set.cardinality()).isEqualTo(model.cardinality());
    assertThat(set.isEmpty()).isEqualTo(model.isEmpty());
    assertThat(set.toArray()).isEqualTo(model.stream().toArray());
    CellSet anew = CellSet.empty(size).with(set.toArray());
    assertThat(set).isEqualTo(anew).hasSameHashCodeAs(anew);
    long[] words = Arrays.copyOf(model.toLongArray(), set.wordCount());
    for (int i = 0; i < words.length; i++) {
      assertThat(set.word(i)).isEqualTo(words[i]);
    }
    for (int k = 0; k < 50; k++) {
      int count = 1 + random.nextInt(Math.min(64, size));
      int from = k == 0 ? size - count : random.nextInt(size - count + 1);
      long expected = 0;
      for (int i = 0; i < count; i++) {
        expected |= model.get(from + i) ? 1L << i : 0;
      }
      assertThat(set.bits(from, count)).isEqualTo(expected);
    }
  }

  @Example
  void bitsCrossWordsAndChunks() {
    CellSet set = CellSet.empty(9_000).with(4_095, 4_096, 4_159, 63, 64);
    assertThat(set.bits(4_095, 64)).isEqualTo(0b11L);
    assertThat(set.bits(4_096, 64)).isEqualTo(1L | 1L << 63);
    assertThat(set.bits(63, 2)).isEqualTo(0b11L);
    assertThat(set.bits(0, 64)).isEqualTo(1L << 63);
  }

  @Example
  void noChangeIsTheSameObject() {
    CellSet set = CellSet.empty(100).with(1, 99);
    assertThat(set.with(1)).isSameAs(set);
    assertThat(set.without(2)).isSameAs(set);
    assertThat(set.with()).isSameAs(set);
    assertThat(set.with(2).without(2)).isEqualTo(set);
    assertThat(CellSet.empty(0).toArray()).isEmpty();
  }

  @Example
  void cellsOutsideAreRefused() {
    CellSet set = CellSet.empty(100);
    for (int bad : List.of(-1, 100, Integer.MAX_VALUE)) {
      assertThatThrownBy(() -> set.contains(bad)).isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> set.with(bad)).isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> set.with(1, bad)).isInstanceOf(IndexOutOfBoundsException.class);
      assertThatThrownBy(() -> set.without(bad)).isInstanceOf(IndexOutOfBoundsException.class);
    }
    assertThatThrownBy(() -> CellSet.empty(-1)).isInstanceOf(IllegalArgumentException.class);
  }
}
