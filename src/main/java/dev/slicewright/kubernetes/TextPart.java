package dev.slicewright.kubernetes;

import java.io.Reader;

/**
 * Reads a part of a text without copying it, and no further than allowed. Confined to one thread at
 * a time.
 */
final class TextPart extends Reader {

  private final String text;
  private final int end;
  private int at;
  private long allowed = Long.MAX_VALUE;

  TextPart(String text, int start, int end) {
    this.text = text;
    this.at = start;
    this.end = end;
  }

  /** Lets this many characters more be read; whoever wants more has {@link Exhausted} thrown. */
  void allow(int characters) {
    allowed = (long) at + characters;
  }

  @Override
  public int read(char[] target, int offset, int length) {
    if (at >= end) {
      return -1;
    }
    if (at >= allowed) {
      throw new Exhausted();
    }
    int count = Math.min(length, end - at);
    text.getChars(at, at + count, target, offset);
    at += count;
    return count;
  }

  @Override
  public void close() {}

  /** More was wanted than allowed. */
  static final class Exhausted extends RuntimeException {
    Exhausted() {
      super(null, null, false, false);
    }
  }
}
