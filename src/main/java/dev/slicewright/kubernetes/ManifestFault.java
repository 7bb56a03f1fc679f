package dev.slicewright.kubernetes;

/**
 * A place in a document from which it cannot be read further. Never leaves {@link ManifestReader}:
 * it becomes a problem.
 */
final class ManifestFault extends RuntimeException {

  private final int line;
  private final int column;
  private final int offset;

  /**
   * A fault.
   *
   * @param line counted from 1 in the whole text
   * @param column counted from 1
   * @param offset in the text, or -1 if only line and column are known
   * @param message what was found and what was expected
   */
  ManifestFault(int line, int column, int offset, String message) {
    // Faults are ordinary results of bad text: no stack trace.
    super(message, null, false, false);
    this.line = line;
    this.column = column;
    this.offset = offset;
  }

  int line() {
    return line;
  }

  int offset() {
    return offset;
  }

  boolean isAfter(ManifestFault other) {
    return line > other.line || (line == other.line && column > other.column);
  }

  boolean isAt(ManifestFault other) {
    return line == other.line && column == other.column;
  }

  String sentence() {
    return "line " + line + ", column " + column + ": " + getMessage();
  }
}
