package dev.slicewright.kubernetes;

import java.util.Comparator;

/** Orders names as people do: runs of digits by their value, {@code n-2} before {@code n-10}. */
enum NaturalOrder implements Comparator<String> {
  INSTANCE;

  @Override
  public int compare(String a, String b) {
    int i = 0;
    int j = 0;
    while (i < a.length() && j < b.length()) {
      if (isDigit(a.charAt(i)) && isDigit(b.charAt(j))) {
        int endA = endOfDigits(a, i);
        int endB = endOfDigits(b, j);
        int c = compareNumbers(a, i, endA, b, j, endB);
        if (c != 0) {
          return c;
        }
        i = endA;
        j = endB;
      } else if (a.charAt(i) != b.charAt(j)) {
        return Character.compare(a.charAt(i), b.charAt(j));
      } else {
        i++;
        j++;
      }
    }
    int rest = Integer.compare(a.length() - i, b.length() - j);
    return rest != 0 ? rest : a.compareTo(b); // "n-02" and "n-2" are two names
  }

  private static int compareNumbers(String a, int fromA, int toA, String b, int fromB, int toB) {
    int i = fromA;
    int j = fromB;
    while (i < toA - 1 && a.charAt(i) == '0') {
      i++;
    }
    while (j < toB - 1 && b.charAt(j) == '0') {
      j++;
    }
    int c = Integer.compare(toA - i, toB - j);
    for (; c == 0 && i < toA; i++, j++) {
      c = Character.compare(a.charAt(i), b.charAt(j));
    }
    return c;
  }

  private static int endOfDigits(String text, int from) {
    int end = from;
    while (end < text.length() && isDigit(text.charAt(end))) {
      end++;
    }
    return end;
  }

  private static boolean isDigit(char c) {
    return c >= '0' && c <= '9';
  }
}
