package dev.slicewright.kubernetes;

import java.math.BigInteger;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.BigIntegerNode;
import tools.jackson.databind.node.BooleanNode;
import tools.jackson.databind.node.DoubleNode;
import tools.jackson.databind.node.IntNode;
import tools.jackson.databind.node.LongNode;
import tools.jackson.databind.node.NullNode;
import tools.jackson.databind.node.StringNode;

/**
 * What a plain scalar means: the rules of {@code kubectl}, that is of sigs.k8s.io/yaml, which go
 * beyond YAML 1.2 in reading {@code yes}, {@code on} and {@code y} as booleans, {@code 010} as
 * octal and {@code 1_000} as a number, and do not know sexagesimal numbers; dates stay strings.
 *
 * <p>Values whose text is not their usual one keep it ({@link #written}): a partition id such as
 * {@code 0012} that somebody forgot to quote is not to become 10.
 */
final class ManifestScalars {

  /** Beyond this many characters no text is a number: reading it would take quadratic time. */
  private static final int LONGEST_NUMBER = 1000;

  // No part of it can match in two ways: linear.
  private static final Pattern FLOAT =
      Pattern.compile("[-+]?(?:\\.[0-9]+|[0-9]+(?:\\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?");

  private static final BigInteger UNSIGNED_64_BITS = BigInteger.ONE.shiftLeft(64);

  private static final Map<String, JsonNode> WORDS = new HashMap<>();

  static {
    for (String word : List.of("y", "Y", "yes", "Yes", "YES", "True", "TRUE", "on", "On", "ON")) {
      WORDS.put(word, new WrittenBoolean(true, word));
    }
    for (String word : List.of("n", "N", "no", "No", "NO", "False", "FALSE", "off", "Off", "OFF")) {
      WORDS.put(word, new WrittenBoolean(false, word));
    }
    WORDS.put("true", BooleanNode.TRUE);
    WORDS.put("false", BooleanNode.FALSE);
    for (String word : List.of("", "~", "null", "Null", "NULL")) {
      WORDS.put(word, NullNode.getInstance());
    }
    for (String word : List.of("inf", "Inf", "INF")) {
      WORDS.put("." + word, new WrittenDouble(Double.POSITIVE_INFINITY, "." + word));
      WORDS.put("+." + word, new WrittenDouble(Double.POSITIVE_INFINITY, "+." + word));
      WORDS.put("-." + word, new WrittenDouble(Double.NEGATIVE_INFINITY, "-." + word));
    }
    for (String word : List.of(".nan", ".NaN", ".NAN")) {
      WORDS.put(word, new WrittenDouble(Double.NaN, word));
    }
  }

  private ManifestScalars() {}

  /** The value of a plain scalar in YAML. */
  static JsonNode plain(String text) {
    if (text.length() > LONGEST_NUMBER) {
      return StringNode.valueOf(text);
    }
    JsonNode word = WORDS.get(text);
    if (word != null) {
      return word;
    }
    char first = text.charAt(0);
    if (first == '.' || first == '+' || first == '-' || (first >= '0' && first <= '9')) {
      JsonNode number = number(text);
      if (number != null) {
        return number;
      }
    }
    return StringNode.valueOf(text);
  }

  /** The number that a text of at most 1,000 characters stands for, or null if for none. */
  static @Nullable JsonNode number(String text) {
    // A number that begins with a point has no underscores: so have the rules it.
    String digits = text.charAt(0) == '.' ? text : text.replace("_", "");
    JsonNode integer = integer(digits, text);
    if (integer != null) {
      return integer;
    }
    if (!FLOAT.matcher(digits).matches()) {
      return null;
    }
    double value = Double.parseDouble(digits);
    if (Double.isInfinite(value)) {
      return null;
    }
    // JSON has one kind of number, and what is whole is sent without a fraction.
    boolean whole = value == Math.rint(value) && Math.abs(value) < 1L << 53;
    return whole ? ofLong((long) value, text) : new WrittenDouble(value, text);
  }

  private static @Nullable JsonNode integer(String digits, String text) {
    int sign = digits.startsWith("-") || digits.startsWith("+") ? 1 : 0;
    String body = digits.substring(sign);
    int radix = 10;
    if (body.length() > 1 && body.charAt(0) == '0') {
      char mark = body.charAt(1);
      radix = mark == 'x' || mark == 'X' ? 16 : mark == 'b' || mark == 'B' ? 2 : 8;
      body = body.substring(radix != 8 || mark == 'o' || mark == 'O' ? 2 : 1);
    }
    if (body.isEmpty() || !hasOnlyDigits(body, radix)) {
      return null;
    }
    BigInteger size = new BigInteger(body, radix);
    BigInteger value = digits.charAt(0) == '-' ? size.negate() : size;
    if (value.bitLength() < Long.SIZE) {
      return ofLong(value.longValue(), text);
    }
    // Decimal numbers beyond 64 bits go on as floats, others as they are.
    boolean fits = value.signum() > 0 && value.compareTo(UNSIGNED_64_BITS) < 0;
    return fits || radix != 10 ? new WrittenBig(value, text) : null;
  }

  private static boolean hasOnlyDigits(String body, int radix) {
    for (int i = 0; i < body.length(); i++) {
      char c = body.charAt(i);
      if (c > 'f' || Character.digit(c, radix) < 0) {
        return false;
      }
    }
    return true;
  }

  private static JsonNode ofLong(long value, String text) {
    boolean usual = Long.toString(value).equals(text);
    if (value == (int) value) {
      return usual ? IntNode.valueOf((int) value) : new WrittenInt((int) value, text);
    }
    return usual ? LongNode.valueOf(value) : new WrittenLong(value, text);
  }

  /** The text of a scalar as it was written. */
  static String written(JsonNode scalar) {
    return scalar instanceof Written w ? w.text() : scalar.asString();
  }

  /** A value that keeps its text. */
  private interface Written {
    String text();
  }

  private static final class WrittenInt extends IntNode implements Written {
    private final String text;

    WrittenInt(int value, String text) {
      super(value);
      this.text = text;
    }

    @Override
    public String text() {
      return text;
    }
  }

  private static final class WrittenLong extends LongNode implements Written {
    private final String text;

    WrittenLong(long value, String text) {
      super(value);
      this.text = text;
    }

    @Override
    public String text() {
      return text;
    }
  }

  private static final class WrittenBig extends BigIntegerNode implements Written {
    private final String text;

    WrittenBig(BigInteger value, String text) {
      super(value);
      this.text = text;
    }

    @Override
    public String text() {
      return text;
    }
  }

  private static final class WrittenDouble extends DoubleNode implements Written {
    private final String text;

    WrittenDouble(double value, String text) {
      super(value);
      this.text = text;
    }

    @Override
    public String text() {
      return text;
    }
  }

  private static final class WrittenBoolean extends BooleanNode implements Written {
    private final String text;

    WrittenBoolean(boolean value, String text) {
      super(value);
      this.text = text;
    }

    @Override
    public String text() {
      return text;
    }
  }
}
