package dev.slicewright.slurm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Host list expressions, against a reader and a writer that know nothing of runs. */
class HostListTest {

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "tpu1; tpu1",
        "tpu[0001-0003,20]; tpu0001 tpu0002 tpu0003 tpu20",
        "rack[1-2]n[0-1]; rack1n0 rack1n1 rack2n0 rack2n1",
        "n[0-30:10]; n0 n10 n20 n30",
        "n[0-35:10]; n0 n10 n20 n30",
        "n[08-11]; n08 n09 n10 n11",
        "n[9-11]; n9 n10 n11",
        "n[099-101]; n099 n100 n101",
        "n[3,1-2]; n3 n1 n2",
        "n[1-2]-ib; n1-ib n2-ib",
        "a,b , c; a b c",
        "[1-2]; 1 2",
        "n[5]; n5",
        "n1,n1; n1 n1",
      })
  void anExpressionStandsForItsNames(String text, String names) {
    assertThat(HostList.parse(text).names()).containsExactly(names.split(" "));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "n[",
        "n]",
        "n[]",
        "n[1-]",
        "n[-1]",
        "n[2-1]",
        "n[1-2:0]",
        "n[a-b]",
        "n[1,,2]",
        "a,,b",
        "a,",
        ",a",
        "n[1-2",
        "n[1[2]]",
        "a b",
        "n[1 - 2]",
        "n[1-9999999999999999999]",
        "[1]é",
        "a[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]"
      })
  void whatIsNoHostListIsRefusedWithTheText(String text) {
    assertThatThrownBy(() -> HostList.parse(text))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("expected");
  }

  @Test
  void aListThatIsTooLongIsRefusedBeforeItIsExpanded() {
    assertThatThrownBy(() -> HostList.parse("n[1-999999999999999]"))
        .hasMessageContaining("expected at most 1000000 names");
    assertThatThrownBy(() -> HostList.parse("[1-9999][1-9999][1-9999][1-9999]"))
        .hasMessageContaining("more than two thousand million");
    assertThatThrownBy(() -> HostList.parse("n[1-4]", 3)).hasMessageContaining("but was 4");
    assertThat(HostList.parse("n[1-3]", 3).size()).isEqualTo(3);
    assertThatThrownBy(() -> HostList.parse("a".repeat(251) + "[1-2][1000-1002]"))
        .hasMessageContaining("but had 256");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      value = {
        "n1 n2 n3; n[1-3]",
        "n3 n1 n2; n[3,1-2]",
        "n08 n09 n10; n[08-10]",
        "n9 n10; n[9-10]",
        "n1 n02; n[1,02]",
        "n1 m1 n2; n1,m1,n2",
        "r1n0 r1n1 r2n0; r1n[0-1],r2n0",
        "a b; a,b",
        "n1 n1 n2; n[1,1-2]",
        "n99 n100; n[99-100]",
        "n1-ib n2-ib; n1-ib,n2-ib",
      })
  void namesAreWrittenInRunsThatKeepTheirOrder(String names, String text) {
    assertThat(HostList.of(List.of(names.split(" "))).toString()).isEqualTo(text);
  }

  @Test
  void equalSetsHaveOneCanonicalText() {
    assertThat(HostList.of(List.of("n10", "n9", "n09", "m", "n9")).sorted().toString())
        .isEqualTo("m,n[9,09-10]");
    assertThat(HostList.parse("").sorted().toString()).isEmpty();
  }

  @Test
  void aNameThatIsNoneIsNamedByItsPlace() {
    List<String> names = new ArrayList<>(List.of("a", "b c", "", "d[1]", "e,f"));
    names.add(null);
    assertThatThrownBy(() -> HostList.of(names))
        .isInstanceOfSatisfying(
            InvalidInputException.class,
            e ->
                assertThat(e.problems())
                    .extracting(p -> p.path())
                    .containsExactly("names[1]", "names[2]", "names[3]", "names[4]", "names[5]"));
  }

  @Property(tries = 3_000)
  void namesWrittenAndReadAreTheSameInTheSameOrder(@ForAll("names") List<String> names) {
    HostList list = HostList.of(names);

    assertThat(HostList.parse(list.toString())).isEqualTo(list);
    assertThat(expandPlainly(list.toString())).isEqualTo(names);
  }

  @Property(tries = 1_000)
  void sortedNamesAreTheSetAndDoNotDependOnOrder(@ForAll("names") List<String> names) {
    List<String> reversed = new ArrayList<>(names);
    Collections.reverse(reversed);

    HostList sorted = HostList.of(names).sorted();

    assertThat(sorted).isEqualTo(HostList.of(reversed).sorted());
    assertThat(sorted.names()).doesNotHaveDuplicates();
    assertThat(new TreeSet<>(sorted.names())).isEqualTo(new TreeSet<>(names));
  }

  @Property(tries = 3_000)
  void expressionsExpandAsTheirMeaningSays(@ForAll("expressions") String text) {
    assertThat(HostList.parse(text).names()).isEqualTo(expandPlainly(text));
  }

  @Property(tries = 5_000)
  void anyTextIsReadOrRefused(@ForAll("noise") String text) {
    try {
      HostList list = HostList.parse(text, 10_000);
      assertThat(HostList.parse(list.toString(), 10_000)).isEqualTo(list);
    } catch (InvalidInputException e) {
      assertThat(e.problems()).hasSize(1);
    }
  }

  @Provide
  Arbitrary<List<String>> names() {
    Arbitrary<String> prefix = Arbitraries.of("n", "tpu", "r1n", "r01n", "", "x-");
    Arbitrary<String> number = Arbitraries.of("0", "1", "2", "9", "10", "11", "01", "09", "099");
    Arbitrary<String> any = Arbitraries.integers().between(0, 120).map(i -> "" + i);
    Arbitrary<String> padded = Arbitraries.integers().between(0, 12).map(i -> "00" + i);
    Arbitrary<String> digits = Arbitraries.oneOf(number, any, padded);
    Arbitrary<String> end = Arbitraries.of("", "", "", "-ib", "b");
    return Combinators.combine(prefix, digits, end).as((p, d, e) -> p + d + e).list().ofMaxSize(20);
  }

  @Provide
  Arbitrary<String> expressions() {
    Arbitrary<String> range =
        Combinators.combine(
                Arbitraries.integers().between(0, 30),
                Arbitraries.integers().between(0, 4),
                Arbitraries.integers().between(1, 3),
                Arbitraries.integers().between(1, 3))
            .as(
                (low, more, width, step) ->
                    String.format(Locale.ROOT, "%0" + width + "d", low)
                        + (more == 0 ? "" : "-" + (low + more) + (step > 1 ? ":" + step : "")));
    Arbitrary<String> bracket =
        range.list().ofMinSize(1).ofMaxSize(3).map(l -> "[" + String.join(",", l) + "]");
    Arbitrary<String> item =
        Combinators.combine(
                Arbitraries.of("n", "tpu", "r-"), bracket, Arbitraries.of("", "m"), bracket)
            .as((a, b, c, d) -> c.isEmpty() ? a + b : a + b + c + d);
    return item.list().ofMinSize(1).ofMaxSize(3).map(l -> String.join(",", l));
  }

  @Provide
  Arbitrary<String> noise() {
    return Arbitraries.strings().withChars("n[]-,:0129 a\t\n").ofMaxLength(20);
  }

  /** By recursion on the first bracket; no limits, no checks. */
  private static List<String> expandPlainly(String text) {
    List<String> names = new ArrayList<>();
    int depth = 0;
    int start = 0;
    for (int i = 0; i <= text.length(); i++) {
      char c = i == text.length() ? ',' : text.charAt(i);
      depth += c == '[' ? 1 : c == ']' ? -1 : 0;
      if (c == ',' && depth == 0) {
        if (i > start) {
          names.addAll(item(text.substring(start, i)));
        }
        start = i + 1;
      }
    }
    return names;
  }

  private static List<String> item(String item) {
    int open = item.indexOf('[');
    if (open < 0) {
      return List.of(item);
    }
    int close = item.indexOf(']', open);
    List<String> names = new ArrayList<>();
    for (String range : item.substring(open + 1, close).split(",")) {
      String[] ends = range.split("[-:]");
      int low = Integer.parseInt(ends[0]);
      int high = ends.length > 1 ? Integer.parseInt(ends[1]) : low;
      int step = ends.length > 2 ? Integer.parseInt(ends[2]) : 1;
      for (int n = low; n <= high; n += step) {
        for (String rest : item(item.substring(close + 1))) {
          names.add(
              item.substring(0, open)
                  + String.format(Locale.ROOT, "%0" + ends[0].length() + "d", n)
                  + rest);
        }
      }
    }
    return names;
  }
}
