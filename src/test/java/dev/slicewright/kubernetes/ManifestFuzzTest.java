package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Damaged manifests end in objects or listed problems, whatever the damage. */
class ManifestFuzzTest {

  private static final Path SEEDS = Path.of("src/test/resources/kubernetes/seeds");

  private static final String[] TOKENS = {
    "apiVersion",
    "kind",
    "items",
    "metadata",
    "labels",
    "name",
    "null",
    "~",
    "true",
    "yes",
    "-1",
    "2.5",
    "1e999",
    "0x7f",
    "99999999999999999999",
    "''",
    "\"\"",
    "{}",
    "[]",
    "[null]",
    "{a: b}",
    "v1",
    "v2",
    "List",
    "Node",
    "Pod",
    "Job",
    "NodeList",
    "4x4x4",
    "HEALTHY",
    "google.com/tpu"
  };

  private static final String[] INSERTS = {
    "&a ",
    "*a",
    "*labels",
    "<<: *a\n",
    "!!str ",
    "!!binary ",
    "!x ",
    "? ",
    ": ",
    "- ",
    "| ",
    "> ",
    "%",
    "@",
    "`",
    "#",
    "\t",
    "\r",
    "\u0000",
    "\u0007",
    "\uFEFF",
    "\u2028",
    "\\",
    "\"",
    "'",
    "{",
    "}",
    "[",
    "]",
    ",",
    "\n---\n",
    "\n...\n",
    "%YAML 9.9\n",
    "\\u0000",
    "\\ud800",
    "\uD83D"
  };

  /** What is done with the objects of one input; it may throw nothing. */
  @FunctionalInterface
  interface Pipeline {
    void run(KubernetesObjects objects);
  }

  @Test
  void everyInputEndsInObjectsOrProblems() throws IOException {
    long[] counts = new long[3];

    fuzz(
        100_000,
        20_260_101,
        objects -> {
          counts[0] += objects.all().size();
          counts[1] += objects.problems().isEmpty() ? 0 : 1;
          counts[2] += objects.all().isEmpty() ? 0 : 1;
        });

    // The damage is neither so small that nothing is wrong nor so large that nothing is read.
    assertThat(counts[0]).isGreaterThan(30_000);
    assertThat(counts[1]).isGreaterThan(30_000);
    assertThat(counts[2]).isGreaterThan(30_000);
  }

  @Test
  void theSeedsThemselvesAreSound() throws IOException {
    for (byte[] seed : seeds()) {
      KubernetesObjects read = ManifestReader.create().read(seed);
      assertThat(read.problems()).isEmpty();
      assertThat(read.all()).isNotEmpty();
    }
  }

  /**
   * Damages seeds and hands what is read of them to a pipeline.
   *
   * @param inputs how many
   * @param random decides the damage, and so all inputs
   * @param pipeline what is done with the objects of each
   */
  static void fuzz(int inputs, long random, Pipeline pipeline) throws IOException {
    List<byte[]> seeds = seeds();
    ManifestReader reader = ManifestReader.create();
    SplittableRandom all = new SplittableRandom(random);
    for (int i = 0; i < inputs; i++) {
      SplittableRandom one = all.split();
      byte[] input = seeds.get(one.nextInt(seeds.size()));
      for (int damages = 1 + one.nextInt(3); damages > 0; damages--) {
        input = damaged(input, seeds, one);
      }
      try {
        KubernetesObjects objects = reader.read(input);
        if (objects.all().isEmpty() && objects.problems().isEmpty()) {
          assertThat(isOfAnObject(input)).as("passed over in silence").isFalse();
        }
        pipeline.run(objects);
      } catch (Throwable e) {
        throw new AssertionError(
            "input " + i + ": " + HexFormat.of().formatHex(input) + "\n" + text(input), e);
      }
    }
  }

  /** Whether there is something of an object, and nothing of a list, which may be empty. */
  private static boolean isOfAnObject(byte[] input) {
    String text = text(input);
    return !text.contains("List") && text.lines().anyMatch(line -> line.startsWith("spec:"));
  }

  private static List<byte[]> seeds() throws IOException {
    List<byte[]> seeds = new ArrayList<>();
    try (Stream<Path> files = Files.list(SEEDS)) {
      for (Path file : files.sorted().toList()) {
        seeds.add(Files.readAllBytes(file));
      }
    }
    return seeds;
  }

  // ---------------------------------------------------------------- damage

  static byte[] damaged(byte[] input, List<byte[]> seeds, SplittableRandom random) {
    if (input.length == 0) {
      return bytes(INSERTS, random);
    }
    int at = random.nextInt(input.length);
    return switch (random.nextInt(10)) {
      case 0 -> withByteFlipped(input, at, random);
      case 1 -> Arrays.copyOf(input, at);
      case 2 -> inserted(input, lineStart(input, random.nextInt(input.length)), line(input, at));
      case 3 -> replaced(input, lineStart(input, at), lineEnd(input, at), new byte[0]);
      case 4 -> replaced(input, tokenStart(input, at), tokenEnd(input, at), bytes(TOKENS, random));
      case 5 -> withTokensSwapped(input, at, random.nextInt(input.length));
      case 6 -> withOtherIndentation(input, at, random);
      case 7, 8 -> inserted(input, at, bytes(INSERTS, random));
      default -> {
        byte[] other = seeds.get(random.nextInt(seeds.size()));
        int tail = random.nextInt(other.length);
        yield replaced(input, at, input.length, Arrays.copyOfRange(other, tail, other.length));
      }
    };
  }

  private static byte[] withByteFlipped(byte[] input, int at, SplittableRandom random) {
    byte[] output = input.clone();
    output[at] ^= (byte) (1 << random.nextInt(8));
    return output;
  }

  private static byte[] withTokensSwapped(byte[] input, int one, int other) {
    int first = Math.min(one, other);
    int second = Math.max(one, other);
    byte[] token = token(input, first);
    byte[] later = token(input, second);
    // The later place first, so that the earlier one stays where it is.
    byte[] half = replaced(input, tokenStart(input, second), tokenEnd(input, second), token);
    return tokenEnd(input, first) > tokenStart(input, second)
        ? half
        : replaced(half, tokenStart(input, first), tokenEnd(input, first), later);
  }

  private static byte[] withOtherIndentation(byte[] input, int at, SplittableRandom random) {
    int start = lineStart(input, at);
    return switch (random.nextInt(4)) {
      case 0 -> inserted(input, start, new byte[] {' '});
      case 1 -> inserted(input, start, new byte[] {'\t'});
      case 2 -> inserted(input, start, new byte[] {' ', ' '});
      default ->
          input[start] == ' ' ? replaced(input, start, start + 1, new byte[0]) : input.clone();
    };
  }

  private static byte[] inserted(byte[] input, int at, byte[] more) {
    return replaced(input, at, at, more);
  }

  private static byte[] replaced(byte[] input, int start, int end, byte[] by) {
    byte[] output = new byte[input.length - (end - start) + by.length];
    System.arraycopy(input, 0, output, 0, start);
    System.arraycopy(by, 0, output, start, by.length);
    System.arraycopy(input, end, output, start + by.length, input.length - end);
    return output;
  }

  private static byte[] line(byte[] input, int at) {
    return Arrays.copyOfRange(input, lineStart(input, at), lineEnd(input, at));
  }

  private static int lineStart(byte[] input, int at) {
    int start = at;
    while (start > 0 && input[start - 1] != '\n') {
      start--;
    }
    return start;
  }

  private static int lineEnd(byte[] input, int at) {
    int end = at;
    while (end < input.length && input[end] != '\n') {
      end++;
    }
    return Math.min(end + 1, input.length);
  }

  private static byte[] token(byte[] input, int at) {
    return Arrays.copyOfRange(input, tokenStart(input, at), tokenEnd(input, at));
  }

  /** A word, or one other character. */
  private static int tokenStart(byte[] input, int at) {
    int start = at;
    while (start > 0 && isOfWord(input[start]) && isOfWord(input[start - 1])) {
      start--;
    }
    return start;
  }

  private static int tokenEnd(byte[] input, int at) {
    int end = at + 1;
    while (end < input.length && isOfWord(input[end]) && isOfWord(input[end - 1])) {
      end++;
    }
    return end;
  }

  private static boolean isOfWord(byte b) {
    return b >= '0' && b <= '9' || b >= 'A' && b <= 'Z' || b >= 'a' && b <= 'z' || b == '-';
  }

  private static byte[] bytes(String[] texts, SplittableRandom random) {
    String text = texts[random.nextInt(texts.length)];
    // A lone surrogate in the form that no decoder may accept.
    return text.equals("\uD83D")
        ? new byte[] {(byte) 0xED, (byte) 0xA0, (byte) 0xBD}
        : text.getBytes(StandardCharsets.UTF_8);
  }

  private static String text(byte[] input) {
    return new String(input, StandardCharsets.ISO_8859_1);
  }
}
