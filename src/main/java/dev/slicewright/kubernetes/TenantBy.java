package dev.slicewright.kubernetes;

/** What the tenant of a workload is. Immutable, safe to share. */
public enum TenantBy {
  /** Its namespace. */
  NAMESPACE,
  /** Its namespace and local queue, such as {@code team-a/research}; its namespace without one. */
  QUEUE
}
