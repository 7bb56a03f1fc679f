package dev.slicewright.search;

import java.util.BitSet;
import java.util.Objects;

/**
 * A limit on the chips of some demands in some pods: a quota or reserved capacity. Immutable, safe
 * to share: its set must not be changed.
 *
 * @param tenant the tenant
 * @param others whether it limits all but the tenant
 * @param pods the pods where it counts, by number; null for all
 * @param room the chips that may be added; negative where something has to leave first
 */
public record Limit(
    String tenant, boolean others, @org.jspecify.annotations.Nullable BitSet pods, long room) {
  /** Checks for null. */
  public Limit {
    Objects.requireNonNull(tenant, "tenant");
  }

  /**
   * Whether it counts a request's chips in a pod.
   *
   * @param requestTenant the request's tenant
   * @param pod the pod's number
   * @return true if it does
   */
  public boolean counts(String requestTenant, int pod) {
    return tenant.equals(requestTenant) != others && (pods == null || pods.get(pod));
  }
}
