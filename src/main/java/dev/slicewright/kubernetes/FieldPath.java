package dev.slicewright.kubernetes;

import java.util.List;
import java.util.Set;

/** Writes fields of objects as problems name them. */
final class FieldPath {

  /** Fields whose keys are the user's, not the API's. */
  private static final Set<String> MAPS =
      Set.of(
          "allocatable",
          "annotations",
          "binaryData",
          "capacity",
          "data",
          "labels",
          "limits",
          "matchLabels",
          "nodeLabels",
          "nodeSelector",
          "overhead",
          "requests");

  private static final int LONGEST_KEY = 100;

  private FieldPath() {}

  /**
   * A field, such as {@code metadata.labels[a/b]} or {@code spec.containers[0].image}.
   *
   * @param steps keys as strings and places in lists as integers
   * @return the text; empty for the object itself
   */
  static String of(List<?> steps) {
    StringBuilder path = new StringBuilder();
    Object above = "";
    for (Object step : steps) {
      if (step instanceof Integer || MAPS.contains(above) || !isName(step.toString())) {
        path.append('[').append(Shown.abbreviated(step.toString(), LONGEST_KEY)).append(']');
      } else {
        path.append(path.length() == 0 ? "" : ".").append(step);
      }
      above = step;
    }
    return path.toString();
  }

  /** A field within something that has a path of its own. */
  static String within(String object, String field) {
    return field.isEmpty() || field.startsWith("[") ? object + field : object + "." + field;
  }

  private static boolean isName(String key) {
    return !key.isEmpty()
        && key.length() <= LONGEST_KEY
        && key.chars().allMatch(FieldPath::isPlain);
  }

  private static boolean isPlain(int c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
}
