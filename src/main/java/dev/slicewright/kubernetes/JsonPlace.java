package dev.slicewright.kubernetes;

/** A place in a part of a text, for JSON values in a row. Confined to one thread at a time. */
final class JsonPlace {

  private final String text;
  private final int end;
  private int at;
  private int line;
  private int column;

  private JsonPlace(String text, int at, int end, int line) {
    this.text = text;
    this.at = at;
    this.end = end;
    this.line = line;
    this.column = 1;
  }

  /** The first character of a part that is neither blank nor of its marker. */
  static JsonPlace startOf(ManifestText.Part part, String text) {
    JsonPlace place = new JsonPlace(text, part.start(), part.end(), part.line());
    if (part.isExplicit() && text.startsWith("---", part.start())) {
      place.advance(part.start() + 3);
    }
    place.skipBlanks();
    return place;
  }

  String text() {
    return text;
  }

  int at() {
    return at;
  }

  int end() {
    return end;
  }

  int line() {
    return line;
  }

  int column() {
    return column;
  }

  boolean isAtEnd() {
    return at >= end;
  }

  /** Whether a mapping or list begins here. */
  boolean isAtOpening() {
    return at < end && (text.charAt(at) == '{' || text.charAt(at) == '[');
  }

  void skipBlanks() {
    while (at < end && " \t\n\r\uFEFF".indexOf(text.charAt(at)) >= 0) {
      advance(at + 1);
    }
  }

  /** Goes forward to a place. */
  void advance(int to) {
    for (; at < Math.min(to, end); at++) {
      char c = text.charAt(at);
      boolean breaks = c == '\n' || (c == '\r' && !text.startsWith("\n", at + 1));
      line += breaks ? 1 : 0;
      column = breaks ? 1 : column + 1;
    }
  }

  /** Goes on to the first line at or after a place that begins with a mapping or list. */
  void advanceToOpeningLine(int from) {
    advance(Math.max(from, at + 1));
    while (!isAtEnd() && !(column == 1 && isAtOpening())) {
      advance(at + 1);
    }
  }
}
