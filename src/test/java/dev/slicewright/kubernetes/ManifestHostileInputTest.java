package dev.slicewright.kubernetes;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import java.io.IOException;
import java.io.InputStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Texts made to exhaust a reader. None is timed: whatever took more than linear time or memory
 * would not end, or not within the memory of the tests.
 */
class ManifestHostileInputTest {

  private static final int MILLION = 1_000_000;
  private static final String HEAD = "apiVersion: x/v1\nkind: A\nmetadata: {name: a}\n";

  private static KubernetesObjects read(String text) {
    return ManifestReader.create().read(text);
  }

  static Stream<Arguments> deep() {
    return Stream.of(
        arguments("lists", "[".repeat(MILLION)),
        arguments("closed lists", "[".repeat(MILLION) + "]".repeat(MILLION)),
        arguments("mappings", "{a: ".repeat(MILLION)),
        arguments("JSON", "{\"a\":".repeat(MILLION)),
        arguments("closed JSON", "{\"a\":".repeat(MILLION) + "1" + "}".repeat(MILLION)),
        arguments("JSON lists", "[1,".repeat(MILLION)),
        arguments("compact lists", "- ".repeat(MILLION)),
        arguments("compact keys", "? ".repeat(MILLION)),
        arguments("anchors", "&a [".repeat(MILLION)),
        arguments("braces as keys", "{? {".repeat(MILLION)),
        arguments("indentation", indented(2_000)));
  }

  private static String indented(int levels) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < levels; i++) {
      text.append(" ".repeat(i)).append("a:\n");
    }
    return text.toString();
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("deep")
  void nestingBeyondTheLimitEndsTheDocument(String what, String text) {
    KubernetesObjects read = read(text + "\n---\n" + HEAD);

    assertThat(read.all()).hasSize(1);
    assertThat(read.problems()).last().asString().startsWith("document[0]: line ");
  }

  @ParameterizedTest
  @ValueSource(ints = {100, 500})
  void whatIsAsDeepAsAllowedIsRead(int depth) {
    ManifestReader reader = ManifestReader.builder().maxDepth(depth).build();
    String inner = "[".repeat(depth - 1) + "]".repeat(depth - 1);

    assertThat(reader.read(HEAD + "spec: " + inner).all()).hasSize(1);
    assertThat(reader.read(HEAD + "spec: [" + inner + "]").all()).isEmpty();
    String json = "{\"apiVersion\": \"x/v1\", \"kind\": \"A\", \"metadata\": {}, \"s\": %s}";
    assertThat(reader.read(json.formatted(inner)).all()).hasSize(1);
    assertThat(reader.read(json.formatted("[" + inner + "]")).all()).isEmpty();
  }

  @Test
  void aliasesAMillionDeepAreRefusedWhereTheyBecomeTooDeep() {
    StringBuilder text = new StringBuilder(HEAD + "spec:\n  a0: &a0 x\n");
    for (int i = 1; i <= MILLION; i++) {
      text.append("  a" + i + ": &a" + i + " [*a" + (i - 1) + "]\n");
    }

    KubernetesObjects read = read(text.toString());

    assertThat(read.all()).isEmpty();
    assertThat(read.problems()).isNotEmpty().allMatch(p -> p.path().startsWith("A/a"));
    assertThat(read.problems().get(0).message()).contains("at most 100 mappings and lists");
  }

  @Test
  void manyAnchorsAreNoneTooMany() {
    StringBuilder text = new StringBuilder(HEAD + "spec:\n");
    for (int i = 0; i < 300_000; i++) {
      text.append("- &a" + i + " x\n");
    }
    assertThat(read(text.toString()).all()).hasSize(1);
  }

  @ParameterizedTest(name = "{0}")
  @ValueSource(strings = {"[%s]", "{a: %s}", "{a: [%s]}"})
  void laughsByTheBillionAreRefused(String around) {
    StringBuilder text = new StringBuilder(HEAD + "spec:\n  a0: &a0 [lol, lol, lol, lol]\n");
    for (int i = 1; i < 30; i++) {
      String ten = ("*a" + (i - 1) + ",").repeat(around.contains("{a: %s") ? 1 : 10);
      String more = around.formatted(ten.substring(0, ten.length() - 1));
      text.append("  a" + i + ": &a" + i + " [" + (more + ",").repeat(3) + "]\n");
    }

    KubernetesObjects read = read(text.toString());

    assertThat(read.all()).isEmpty();
    assertThat(read.problems())
        .isNotEmpty()
        .anyMatch(p -> p.message().contains("fields and characters"));
  }

  @Test
  void itemsThatRepeatALargeOneAreReadOnlyUpToTheLimit() {
    String large =
        "{apiVersion: x/v1, kind: A, metadata: {name: a}, x: " + "y".repeat(MILLION) + "}";
    KubernetesObjects read = read("- &x " + large + "\n" + "- *x\n".repeat(100_000));

    // Sixteen times a million and a little: the anchor itself counts once.
    assertThat(read.all()).hasSize(16);
    assertThat(read.problems()).hasSize(10_001);
  }

  @Test
  void mergesOfMergesAreRefused() {
    StringBuilder text = new StringBuilder(HEAD + "a0: &a0 {");
    for (int i = 0; i < 1_000; i++) {
      text.append("k" + i + ": v, ");
    }
    text.append("z: v}\n");
    for (int i = 1; i < 1_000; i++) {
      text.append("a" + i + ": &a" + i + " {<<: [" + ("*a" + (i - 1) + ", ").repeat(50) + "{}]}\n");
    }
    assertThat(read(text.toString()).problems()).isNotEmpty();
  }

  static Stream<Arguments> huge() {
    int size = 2 * MILLION;
    return Stream.of(
        arguments("plain", HEAD + "spec: " + "x".repeat(size)),
        arguments("digits", HEAD + "spec: " + "1".repeat(size)),
        arguments("double quotes", HEAD + "spec: \"" + "x".repeat(size) + "\""),
        arguments("single quotes", HEAD + "spec: '" + "'".repeat(size) + "'"),
        arguments("block", HEAD + "spec: |\n" + "  xxx\n".repeat(size / 6)),
        arguments("folded", HEAD + "spec: >\n" + "  xxx\n\n".repeat(size / 7)),
        arguments("plain lines", HEAD + "spec:\n" + "  xxx\n".repeat(size / 6)),
        arguments("key", "{" + "x".repeat(size) + ": a}"),
        arguments("anchor", "- &" + "x".repeat(size) + " a"),
        arguments("tag", "- !" + "x".repeat(size) + " a"),
        arguments("blanks in quotes", "- \"" + " ".repeat(size) + "\""),
        arguments("JSON string", "{\"a\": \"" + "x".repeat(size) + "\"}"),
        arguments("JSON key", "{\"" + "x".repeat(size) + "\": 1}"),
        arguments("JSON digits", "{\"a\": " + "1".repeat(size) + "}"),
        arguments("an object of many fields", HEAD + "spec: [" + "a,".repeat(size / 3) + "]"),
        arguments("an object of many empty fields", HEAD + "spec: {" + "[],".repeat(size / 4)),
        arguments("text without an end", "{\"a\": [" + "1,".repeat(size / 3)));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("huge")
  void whatIsTooLongIsAProblem(String what, String text) {
    ManifestReader reader = ManifestReader.builder().maxObjectSize(MILLION / 2).build();

    KubernetesObjects read = reader.read(text + "\n---\n" + HEAD);

    assertThat(read.all()).hasSize(1);
    assertThat(read.problems()).isNotEmpty();
    assertThat(read.problems()).allMatch(p -> p.toString().length() < 1_000);
  }

  @Test
  void manyBlanksAndCommentsAreNothing() {
    assertThat(read("# comment\n".repeat(MILLION / 4) + HEAD).all()).hasSize(1);
    assertThat(read("\n".repeat(4 * MILLION) + HEAD).all()).hasSize(1);
    assertThat(read(HEAD + " \n".repeat(MILLION)).all()).hasSize(1);
  }

  @Test
  void aMillionDocumentsAreReadOneByOne() {
    assertThat(read("---\n".repeat(MILLION) + HEAD))
        .isEqualTo(read("---\n".repeat(MILLION) + HEAD))
        .satisfies(read -> assertThat(read.all()).hasSize(1))
        .satisfies(read -> assertThat(read.problems()).isEmpty());
    KubernetesObjects broken = read("---\na: b: c\n".repeat(20_000) + "---\n" + HEAD);
    assertThat(broken.all()).hasSize(1);
    assertThat(broken.problems()).hasSize(10_001);
    assertThat(read("{]\n".repeat(20_000)).problems()).hasSize(10_001);
    assertThat(read("{\"a\":1,\n".repeat(200_000)).problems()).hasSize(1);
  }

  @Test
  void aListOfVeryManyItemsWithoutATypeIsNotKept() {
    String items = "items: [" + "{},".repeat(MILLION) + "]\n";

    assertThat(read(items + "kind: NodeList").problems()).hasSize(10_001);
    KubernetesObjects typed =
        ManifestReader.builder()
            .maxObjects(1_000)
            .build()
            .read(items + "kind: NodeList\napiVersion: v1");
    assertThat(typed.all()).hasSize(1_000);
    assertThat(typed.problems()).hasSize(1);
  }

  @Test
  void anchorsThatNobodyRefersToAreNotKeptWithoutLimit() {
    StringBuilder text = new StringBuilder(HEAD + "spec:\n");
    for (int i = 0; i < MILLION; i++) {
      text.append("- &a" + i + "\n");
    }
    assertThat(read(text.toString()).all()).hasSize(1);
    assertThat(read(text + "- *a999999\n").problems())
        .singleElement()
        .asString()
        .startsWith("A/a.spec[1000000]: the alias *a999999 refers to what makes aliases stand");
  }

  @Test
  void twoHundredMegabytesAreRefusedAtTheLimitWithoutBeingKept() throws IOException {
    ManifestReader reader = ManifestReader.builder().maxBytes(4 * MILLION).build();
    Lines in = new Lines("apiVersion: v1\nkind: Node\n---\n", 200L * MILLION);

    KubernetesObjects read = reader.read(in);

    assertThat(read.all()).isEmpty();
    assertThat(read.problems())
        .singleElement()
        .asString()
        .isEqualTo(
            "text: expected at most 4000000 bytes, got more; nothing is read; raise maxBytes or"
                + " split the text");
    assertThat(in.given).isBetween(4L * MILLION + 1, 5L * MILLION);
  }

  /** A text that is made as it is read. */
  private static final class Lines extends InputStream {
    private final byte[] line;
    private final long length;
    long given;

    Lines(String line, long length) {
      this.line = line.getBytes(US_ASCII);
      this.length = length;
    }

    @Override
    public int read() {
      return given < length ? line[(int) (given++ % line.length)] : -1;
    }
  }
}
