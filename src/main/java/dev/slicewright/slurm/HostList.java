package dev.slicewright.slurm;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Node names as Slurm writes them: {@code tpu[0001-0016,20]}, {@code rack[1-2]n[0-3]}, {@code
 * n[0-30:10]}. Immutable, safe to share.
 *
 * <p>Order and repetition are kept, since both mean something in {@code topology.yaml}: {@link
 * #parse} of {@link #toString} gives back the same names in the same order. Several brackets are a
 * product, the last of them fastest. A range is padded with zeros to the width of its lower end; a
 * colon gives its step. White space around names is ignored.
 *
 * <p>Needs no other library.
 */
public final class HostList {

  /** The most names that a list has unless the caller says otherwise: 1,000,000. */
  public static final int DEFAULT_LIMIT = 1_000_000;

  /** The longest name: 255 characters. */
  public static final int MAX_NAME = 255;

  /** The most digits that are read as a number. */
  private static final int MAX_DIGITS = 18;

  /** The most brackets of one expression: enough for any name, and few enough to recurse over. */
  private static final int MAX_BRACKETS = 16;

  private static final HostList EMPTY = new HostList(List.of());

  private static final Comparator<String> NATURAL =
      Comparator.comparing((String name) -> name.substring(0, digitsFrom(name)))
          .thenComparingLong(HostList::number)
          .thenComparingInt(String::length);

  private final List<String> names;

  private HostList(List<String> names) {
    this.names = names;
  }

  /**
   * A list of names.
   *
   * @param names in any order, each 1 to {@link #MAX_NAME} printable ASCII characters without
   *     brackets, commas and white space
   * @return the list
   * @throws InvalidInputException naming each name that is none
   */
  public static HostList of(Collection<String> names) {
    Problems problems = new Problems();
    int i = 0;
    for (String name : names) {
      String wrong = whyNoName(Objects.requireNonNullElse(name, ""));
      if (wrong != null) {
        problems.add("names[" + i + "]", wrong);
      }
      i++;
    }
    problems.throwIfAny("host list");
    return new HostList(List.copyOf(names));
  }

  /**
   * Reads an expression of at most {@link #DEFAULT_LIMIT} names.
   *
   * @param text such as {@code tpu[0001-0016,20]}; empty for no names
   * @return the names, in the order written
   * @throws InvalidInputException if it is no host list, or has more names
   */
  public static HostList parse(String text) {
    return parse(text, DEFAULT_LIMIT);
  }

  /**
   * Reads an expression. O(text + names); a list that is too long is refused before it is expanded.
   *
   * @param text such as {@code tpu[0001-0016,20]}; empty for no names
   * @param limit the most names, 0 or more
   * @return the names, in the order written
   * @throws InvalidInputException if it is no host list, or has more names
   */
  public static HostList parse(String text, int limit) {
    List<List<Part>> items = new Reader(text).items();
    long count = count(items);
    if (count > limit) {
      throw wrong(
          "expected at most "
              + limit
              + " names, but was "
              + (count == Integer.MAX_VALUE ? "more than two thousand million" : count)
              + " in "
              + quoted(text)
              + "; correct the range, or raise the limit");
    }
    if (items.isEmpty()) {
      return EMPTY;
    }
    List<String> names = new ArrayList<>((int) count);
    for (List<Part> item : items) {
      expand(item, 0, new StringBuilder(), names);
    }
    return new HostList(List.copyOf(names));
  }

  /** How many names an expression stands for, at most 2^31 - 1; nothing is expanded. O(text) */
  static long count(String text) {
    return count(new Reader(text).items());
  }

  private static long count(List<List<Part>> items) {
    long count = 0;
    for (List<Part> item : items) {
      long product = 1;
      for (Part part : item) {
        product = Math.min(Integer.MAX_VALUE, product * part.count());
      }
      count = Math.min(Integer.MAX_VALUE, count + product);
    }
    return count;
  }

  private static void expand(List<Part> item, int at, StringBuilder name, List<String> out) {
    if (at == item.size()) {
      String wrong = whyNoName(name);
      if (wrong != null) {
        throw wrong(wrong);
      }
      out.add(name.toString());
      return;
    }
    int length = name.length();
    item.get(at)
        .forEach(
            piece -> {
              name.append(piece);
              expand(item, at + 1, name, out);
              name.setLength(length);
            });
  }

  /**
   * The names, in order.
   *
   * @return an unmodifiable list
   */
  public List<String> names() {
    return names;
  }

  /**
   * How many names there are, repeated ones counted again.
   *
   * @return 0 or more
   */
  public int size() {
    return names.size();
  }

  /**
   * Whether there is no name.
   *
   * @return true if empty
   */
  public boolean isEmpty() {
    return names.isEmpty();
  }

  /**
   * The names as a set in canonical order: by what stands before the last number, then the number,
   * then its width. Equal sets have equal text, the form for {@code --nodelist}.
   *
   * @return each name once. O(n log n)
   */
  public HostList sorted() {
    return new HostList(names.stream().sorted(NATURAL).distinct().toList());
  }

  /** The order of {@link #sorted}. */
  static Comparator<String> natural() {
    return NATURAL;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof HostList that && names.equals(that.names);
  }

  @Override
  public int hashCode() {
    return names.hashCode();
  }

  /**
   * A text that keeps the order, with one bracket for each run of names that differ in the number
   * at their end alone: {@code tpu[1-4,7],gpu2}. O(n)
   */
  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    int i = 0;
    while (i < names.size()) {
      int digits = digitsFrom(names.get(i));
      String prefix = names.get(i).substring(0, digits);
      int end = i + 1;
      while (end < names.size() && digits < names.get(i).length() && follows(prefix, end)) {
        end++;
      }
      if (i > 0) {
        text.append(',');
      }
      if (end == i + 1) {
        text.append(names.get(i));
      } else {
        text.append(prefix).append('[');
        ranges(text, i, end, digits);
        text.append(']');
      }
      i = end;
    }
    return text.toString();
  }

  private boolean follows(String prefix, int at) {
    String name = names.get(at);
    int digits = digitsFrom(name);
    return digits == prefix.length() && digits < name.length() && name.startsWith(prefix);
  }

  private void ranges(StringBuilder text, int from, int to, int digits) {
    int i = from;
    while (i < to) {
      String low = names.get(i).substring(digits);
      int end = i + 1;
      while (end < to && names.get(end).substring(digits).equals(after(low, end - i))) {
        end++;
      }
      if (i > from) {
        text.append(',');
      }
      text.append(low);
      if (end > i + 1) {
        text.append('-').append(names.get(end - 1), digits, names.get(end - 1).length());
      }
      i = end;
    }
  }

  private static String after(String low, int steps) {
    return padded(Long.parseLong(low) + steps, low.length());
  }

  private static String padded(long number, int width) {
    String digits = Long.toString(number);
    return "0".repeat(Math.max(0, width - digits.length())) + digits;
  }

  /** Where the number at the end of a name begins; its length if there is none that fits. */
  private static int digitsFrom(String name) {
    int at = name.length();
    while (at > 0 && isDigit(name.charAt(at - 1))) {
      at--;
    }
    return name.length() - at > MAX_DIGITS ? name.length() : at;
  }

  private static long number(String name) {
    int at = digitsFrom(name);
    return at == name.length() ? -1 : Long.parseLong(name.substring(at));
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }

  private static @Nullable String whyNoName(CharSequence name) {
    if (name.isEmpty() || name.length() > MAX_NAME) {
      return "expected a node name of 1 to "
          + MAX_NAME
          + " characters, but had "
          + name.length()
          + "; drop or shorten it";
    }
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      if (c == '[' || c == ']' || c == ',' || c <= ' ' || c > '~') {
        return "expected a node name of ASCII without brackets, commas and white space, but was "
            + quoted(name.toString())
            + "; give one name";
      }
    }
    return null;
  }

  private static InvalidInputException wrong(String message) {
    return new InvalidInputException("host list", "nodes", message);
  }

  /** A text for a message, cut where it is long. */
  static String quoted(String text) {
    return "\"" + (text.length() > 80 ? text.substring(0, 77) + "..." : text) + "\"";
  }

  /** A piece of an expression: fixed text, or what a bracket stands for. */
  private interface Part {
    long count();

    void forEach(Consumer<String> action);
  }

  private record Fixed(String text) implements Part {
    @Override
    public long count() {
      return 1;
    }

    @Override
    public void forEach(Consumer<String> action) {
      action.accept(text);
    }
  }

  private record Range(long low, long high, long step, int width) {
    long count() {
      return (high - low) / step + 1;
    }
  }

  private record Ranges(List<Range> ranges) implements Part {
    @Override
    public long count() {
      long sum = 0;
      for (Range range : ranges) {
        sum = Math.min(Integer.MAX_VALUE, sum + range.count());
      }
      return sum;
    }

    @Override
    public void forEach(Consumer<String> action) {
      for (Range range : ranges) {
        for (long i = 0, n = range.low(); i < range.count(); i++, n += range.step()) {
          action.accept(padded(n, range.width()));
        }
      }
    }
  }

  /** Reads an expression from left to right. */
  private static final class Reader {
    private final String text;
    private int at;

    Reader(String text) {
      this.text = text;
    }

    List<List<Part>> items() {
      List<List<Part>> items = new ArrayList<>();
      skipSpace();
      while (at < text.length()) {
        items.add(item());
        skipSpace();
        if (at < text.length()) {
          expect(',', "a comma between names");
          skipSpace();
          if (at == text.length()) {
            throw problem("expected a node name after the last comma");
          }
        }
      }
      return items;
    }

    private List<Part> item() {
      List<Part> parts = new ArrayList<>();
      int brackets = 0;
      int start = at;
      while (at < text.length() && text.charAt(at) != ',' && !Character.isWhitespace(peek())) {
        char c = text.charAt(at);
        if (c == ']') {
          throw problem("expected a bracket to be opened before it is closed");
        }
        if (c == '[') {
          addFixed(parts, start);
          if (++brackets > MAX_BRACKETS) {
            throw problem("expected at most " + MAX_BRACKETS + " brackets in one name");
          }
          at++;
          parts.add(ranges());
          start = at;
        } else {
          at++;
        }
      }
      addFixed(parts, start);
      if (parts.isEmpty()) {
        throw problem("expected a node name");
      }
      return parts;
    }

    private void addFixed(List<Part> parts, int start) {
      if (at > start) {
        parts.add(new Fixed(text.substring(start, at)));
      }
    }

    private Part ranges() {
      List<Range> ranges = new ArrayList<>();
      do {
        ranges.add(range());
      } while (at < text.length() && text.charAt(at) == ',' && at++ >= 0);
      expect(']', "a closing bracket after a range");
      return new Ranges(List.copyOf(ranges));
    }

    private Range range() {
      int start = at;
      long low = digits();
      int width = at - start;
      long high = low;
      long step = 1;
      if (at < text.length() && text.charAt(at) == '-') {
        at++;
        high = digits();
        if (at < text.length() && text.charAt(at) == ':') {
          at++;
          step = digits();
        }
      }
      if (high < low || step < 1) {
        throw problem("expected a range that ascends in steps of 1 or more");
      }
      return new Range(low, high, step, width);
    }

    private long digits() {
      int start = at;
      while (at < text.length() && isDigit(text.charAt(at))) {
        at++;
      }
      if (at == start || at - start > MAX_DIGITS) {
        throw problem("expected a number of 1 to " + MAX_DIGITS + " digits");
      }
      return Long.parseLong(text.substring(start, at));
    }

    private void expect(char wanted, String what) {
      if (at >= text.length() || text.charAt(at) != wanted) {
        throw problem("expected " + what);
      }
      at++;
    }

    private void skipSpace() {
      while (at < text.length() && Character.isWhitespace(peek())) {
        at++;
      }
    }

    private char peek() {
      return text.charAt(at);
    }

    private InvalidInputException problem(String expected) {
      return wrong(
          expected
              + " at character "
              + (at + 1)
              + " of "
              + quoted(text)
              + "; write a list such as tpu[001-016,20]");
    }
  }
}
