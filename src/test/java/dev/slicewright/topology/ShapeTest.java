package dev.slicewright.topology;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ShapeTest {

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        " ",
        "x",
        "4",
        "4x",
        "x4",
        "4x4x",
        "4xx4",
        "4x4x4x4",
        "0x4",
        "4x0x4",
        "-4x4",
        "4x-4",
        "+4x4",
        " 4x4",
        "4x4 ",
        "4 x4",
        "4.0x4",
        "4e1x4",
        "0x10x4x4",
        "65537x1",
        "1x1x65537",
        "99999999x4",
        "2147483648x4",
        "4294967300x4",
        "99999999999999999999x4",
        "4×4",
        "4*4",
        "٤x٤",
        "४x४",
        "4x4\n",
        "4x4\u0000",
        "axb",
        "1111111111111111111111111111111111111111111111111111111111111x4"
      })
  void malformedShapeIsRefusedWithItsPath(String text) {
    assertThatExceptionOfType(InvalidInputException.class)
        .isThrownBy(() -> Shape.parse(text))
        .satisfies(e -> assertThat(e.problems()).extracting(Problem::path).containsExactly("shape"))
        .withMessageContaining("expected", "\"" + text.substring(0, Math.min(60, text.length())));
  }

  @Test
  void hugeTextIsCutShort() {
    assertThatExceptionOfType(InvalidInputException.class)
        .isThrownBy(() -> Shape.parse("4x".repeat(1_000_000)))
        .satisfies(e -> assertThat(e.getMessage()).hasSizeLessThan(300));
  }

  @ParameterizedTest
  @CsvSource({"4x4x8,4,4,8,3", "8X4,8,4,1,2", "04x4,4,4,1,2", "65536x1x65536,65536,1,65536,3"})
  void wellFormedShapeIsRead(String text, int x, int y, int z, int rank) {
    Shape shape = Shape.parse(text);
    assertThat(List.of(shape.x(), shape.y(), shape.z(), shape.rank()))
        .containsExactly(x, y, z, rank);
    assertThat(Shape.parse(shape.toString())).isEqualTo(shape).hasSameHashCodeAs(shape);
    assertThat(shape.chips()).isEqualTo((long) x * y * z);
  }

  @Test
  void extentsOutOfRangeAreRefused() {
    for (int bad : new int[] {0, -1, Shape.MAX_EXTENT + 1, Integer.MIN_VALUE}) {
      assertThatExceptionOfType(InvalidInputException.class).isThrownBy(() -> Shape.of(bad, 1));
      assertThatExceptionOfType(InvalidInputException.class).isThrownBy(() -> Shape.of(1, bad));
      assertThatExceptionOfType(InvalidInputException.class).isThrownBy(() -> Shape.of(1, 1, bad));
    }
  }

  @Test
  void sortedKeepsRankAndExtents() {
    assertThat(Shape.of(8, 4, 2).sorted()).isEqualTo(Shape.of(2, 4, 8));
    assertThat(Shape.of(2, 2, 1).sorted()).isEqualTo(Shape.of(1, 2, 2));
    assertThat(Shape.of(8, 4).sorted()).isEqualTo(Shape.of(4, 8));
    Shape already = Shape.of(2, 2, 4);
    assertThat(already.sorted()).isSameAs(already);
  }

  @Test
  void flatAndDeepShapesDiffer() {
    assertThat(Shape.of(4, 4)).isNotEqualTo(Shape.of(4, 4, 1));
    assertThat(Shape.of(4, 4)).isNotEqualTo(Shape.of(4, 8));
    assertThat(new TreeSet<>(List.of(Shape.of(4, 4), Shape.of(4, 4, 1)))).hasSize(2);
  }

  @Test
  void orderIsByRankThenChipsThenExtents() {
    assertThat(
            new TreeSet<>(
                List.of(
                    Shape.of(8, 4, 4),
                    Shape.of(4, 4, 8),
                    Shape.of(4, 8, 4),
                    Shape.of(2, 2, 2),
                    Shape.of(16, 16))))
        .containsExactly(
            Shape.of(16, 16),
            Shape.of(2, 2, 2),
            Shape.of(4, 4, 8),
            Shape.of(4, 8, 4),
            Shape.of(8, 4, 4));
  }
}
