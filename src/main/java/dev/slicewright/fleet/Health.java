package dev.slicewright.fleet;

/** The health of a part. Immutable, safe to share. */
public enum Health {
  /** Works. */
  HEALTHY,
  /** Works less well; usable unless a request says healthy only. */
  DEGRADED,
  /** Does not work. */
  FAILED
}
