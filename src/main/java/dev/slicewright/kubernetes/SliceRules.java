package dev.slicewright.kubernetes;

import dev.slicewright.Problem;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import java.util.List;

/**
 * The published rules for a Slice, written from the documentation of the resource and not from what
 * this library writes. Immutable, safe to share.
 */
public final class SliceRules {
  private SliceRules() {}

  /** Checks one object as the platform's webhook does. */
  public static List<Problem> check(GenericKubernetesResource slice) {
    throw new UnsupportedOperationException();
  }
}
