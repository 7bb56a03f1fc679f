package dev.slicewright.report;

import dev.slicewright.SliceId;
import java.math.BigInteger;
import java.time.Duration;
import java.util.Comparator;
import java.util.Locale;

/** How the reports write numbers and names, whatever the default locale. */
final class Words {
  private Words() {}

  /** Numbers within names by value: job-2 before job-10. */
  static final Comparator<SliceId> NATURAL =
      Comparator.comparing(SliceId::request, Words::compareNatural)
          .thenComparing(Comparator.naturalOrder());

  private static int compareNatural(String a, String b) {
    int i = 0;
    int j = 0;
    while (i < a.length() && j < b.length()) {
      int m = digitsEnd(a, i);
      int n = digitsEnd(b, j);
      if (m == i || n == j) {
        if (a.charAt(i) != b.charAt(j)) {
          return Character.compare(a.charAt(i), b.charAt(j));
        }
        i++;
        j++;
        continue;
      }
      int byValue = new BigInteger(a.substring(i, m)).compareTo(new BigInteger(b.substring(j, n)));
      if (byValue != 0) {
        return byValue;
      }
      i = m;
      j = n;
    }
    return Integer.compare(a.length() - i, b.length() - j);
  }

  private static int digitsEnd(String text, int from) {
    int end = from;
    while (end < text.length() && text.charAt(end) >= '0' && text.charAt(end) <= '9') {
      end++;
    }
    return end;
  }

  /** With thousands separated by commas. */
  static String count(long value) {
    return String.format(Locale.ROOT, "%,d", value);
  }

  static String plural(long value, String noun) {
    return count(value) + " " + noun + (value == 1 ? "" : "s");
  }

  /** At most so many characters, the last an ellipsis where something is left out. */
  static String shorten(String text, int most) {
    if (text.length() <= most) {
      return text;
    }
    int end = most - 1;
    if (Character.isHighSurrogate(text.charAt(end - 1))) {
      end--;
    }
    return text.substring(0, end) + "…";
  }

  /** Without control characters, which would break a line of a report or be refused by XML. */
  static String oneLine(String text) {
    StringBuilder out = null;
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      boolean lone =
          Character.isHighSurrogate(c)
                  && (i + 1 == text.length() || !Character.isLowSurrogate(text.charAt(i + 1)))
              || Character.isLowSurrogate(c)
                  && (i == 0 || !Character.isHighSurrogate(text.charAt(i - 1)));
      if (Character.isISOControl(c) || lone || c >= 0xFFFE || c == 0x2028 || c == 0x2029) {
        out = out == null ? new StringBuilder(text) : out;
        out.setCharAt(i, c == '\n' || c == '\r' || c == '\t' ? ' ' : '\uFFFD');
      }
    }
    return out == null ? text : out.toString();
  }

  static String pad(String text, int width) {
    return text.length() >= width ? text : text + " ".repeat(width - text.length());
  }

  static String padLeft(String text, int width) {
    return text.length() >= width ? text : " ".repeat(width - text.length()) + text;
  }

  /** Milliseconds with three digits after the point. */
  static String millis(Duration time) {
    return String.format(Locale.ROOT, "%,.3f ms", time.toNanos() / 1e6);
  }

  static String percent(double share) {
    return String.format(Locale.ROOT, "%.2f %%", 100 * share);
  }
}
