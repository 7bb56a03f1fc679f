package dev.slicewright.kubernetes;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * What a parser sees in a text, one event after the other: the same for YAML and for JSON. Confined
 * to one thread at a time.
 *
 * <p>All but {@link #next} speak of the event that {@code next} returned last.
 */
interface ManifestEvents {

  /** Kinds of events. */
  enum Kind {
    /** A mapping begins: keys and values in turn follow. */
    MAPPING_START,
    /** The innermost mapping ends. */
    MAPPING_END,
    /** A list begins. */
    LIST_START,
    /** The innermost list ends. */
    LIST_END,
    /** A scalar: {@link ManifestEvents#scalar}. */
    SCALAR,
    /** The value that {@link ManifestEvents#anchor} names. */
    ALIAS,
    /** The text ends. */
    END
  }

  /**
   * Goes on to the next event.
   *
   * @return its kind
   * @throws ManifestFault if the text cannot be read further
   */
  Kind next();

  /** The kind of the current event. */
  Kind kind();

  /** The value of the scalar: a string, number, boolean or null. */
  JsonNode scalar();

  /** Characters of the scalar. */
  int length();

  /** The anchor of the value or the name that the alias refers to; null for a value without one. */
  @Nullable String anchor();

  /** Whether the scalar is the key that merges another mapping into its own, {@code <<}. */
  boolean isMerge();

  /** What the value has that no Kubernetes object can carry, or null. */
  @Nullable String flaw();

  /** The line of the event, counted from 1. */
  int line();

  /** Says that the text cannot be read beyond the current event. */
  ManifestFault fault(String message);
}
