package dev.slicewright.kubernetes;

import tools.jackson.databind.JsonNode;

/** Values as messages show them: on one line and never long. */
final class Shown {

  private static final int LONGEST = 60;

  private Shown() {}

  /** Kind and text of a value, such as {@code the number 5} or {@code a list}. */
  static String of(JsonNode value) {
    return switch (value.getNodeType()) {
      case STRING -> "the string \"" + abbreviated(value.asString(), LONGEST) + "\"";
      case NUMBER -> "the number " + abbreviated(ManifestScalars.written(value), LONGEST);
      case BOOLEAN -> "the boolean " + ManifestScalars.written(value);
      case ARRAY -> "a list";
      case OBJECT -> "a mapping";
      default -> "nothing";
    };
  }

  /**
   * At most so many characters of a text, and a mark where there are more; control characters are
   * replaced.
   */
  static String abbreviated(String text, int longest) {
    StringBuilder shown = new StringBuilder(Math.min(text.length(), longest + 1));
    for (int i = 0; i < text.length() && i < longest; i++) {
      char c = text.charAt(i);
      boolean dangling = Character.isSurrogate(c) && i + 1 == longest;
      shown.append(Character.isISOControl(c) || dangling ? '?' : c);
    }
    return text.length() > longest ? shown + "…" : shown.toString();
  }
}
