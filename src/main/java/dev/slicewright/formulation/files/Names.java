package dev.slicewright.formulation.files;

import java.util.HashMap;
import java.util.Map;

/**
 * Names that every reader of MPS and LP files takes, each once. Confined to one thread at a time.
 *
 * <p>ASCII letters, digits, {@code _} and {@code .}, at most {@value #LONGEST} characters, behind a
 * lower-case prefix of our own: so no name is a keyword of the LP format, begins like a number, or
 * has blanks. (CPLEX cuts names at 255 characters, and forbids a leading digit, period or {@code
 * e}: "Variable names in LP file format" of its file format reference.)
 */
final class Names {

  static final int LONGEST = 100;

  private final Map<String, Integer> taken = new HashMap<>();

  /** A name like {@code prefix_text}, with a number behind it if that is taken. */
  String of(String prefix, String text) {
    StringBuilder out = new StringBuilder(prefix).append('_');
    boolean gap = true; // what is left out between two letters becomes one underscore
    for (int i = 0; i < text.length() && out.length() < LONGEST; i++) {
      char c = text.charAt(i);
      if (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.') {
        out.append(c);
        gap = false;
      } else if (!gap) {
        out.append('_');
        gap = true;
      }
    }
    String name = out.toString();
    Integer known = taken.putIfAbsent(name, 1);
    if (known == null) {
      return name;
    }
    int count = known;
    String numbered;
    do {
      count++;
      String tail = "_" + count;
      numbered = name.substring(0, Math.min(name.length(), LONGEST - tail.length())) + tail;
    } while (taken.containsKey(numbered));
    taken.put(name, count);
    taken.put(numbered, 1);
    return numbered;
  }
}
