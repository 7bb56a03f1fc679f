package dev.slicewright.kubernetes;

import dev.slicewright.Problems;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import org.jspecify.annotations.Nullable;

/** Reads times as Kubernetes writes them. */
final class Times {

  private static final int SHOWN = 40;

  private Times() {}

  /** The time, or null if there is none; text of another form is a problem. */
  static @Nullable Instant read(@Nullable String text, String path, Problems problems) {
    if (text == null || text.isEmpty()) {
      return null;
    }
    try {
      return OffsetDateTime.parse(text).toInstant();
    } catch (DateTimeParseException e) {
      problems.add(
          path,
          "expected a time such as 2026-01-31T12:00:00Z, but was \""
              + Shown.abbreviated(text, SHOWN)
              + "\"; write it in the form of RFC 3339");
      return null;
    }
  }
}
