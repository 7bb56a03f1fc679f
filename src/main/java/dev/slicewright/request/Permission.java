package dev.slicewright.request;

/**
 * What a plan may do to a running request. Immutable, safe to share.
 *
 * @param move whether its slices may be moved (deleted, created elsewhere, restored)
 * @param evict whether the whole request may be evicted
 * @param withinPod whether a move must stay in the slice's present pod
 */
public record Permission(boolean move, boolean evict, boolean withinPod) {

  /** Neither moved nor evicted: the default. */
  public static final Permission PINNED = new Permission(false, false, false);

  /** May be moved anywhere, not evicted. */
  public static final Permission MOVABLE = new Permission(true, false, false);

  /** May be evicted, not moved. */
  public static final Permission EVICTABLE = new Permission(false, true, false);

  /** May be moved anywhere or evicted. */
  public static final Permission ANY = new Permission(true, true, false);
}
