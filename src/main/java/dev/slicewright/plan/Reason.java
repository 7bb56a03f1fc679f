package dev.slicewright.plan;

/**
 * Why a request is not placed, or a running slice stays broken. Immutable, safe to share.
 *
 * <p>The first that applies, in this order, is given.
 */
public enum Reason {
  /** No pod that matches can form the shape, or any shape of so many chips. */
  SHAPE_NOT_FORMABLE,
  /** No pod matches the accelerator, labels or pinned pod. */
  NO_POD_MATCHES,
  /** No legal shape of it wraps, or can be twisted, as the request requires. */
  INTERCONNECT_NOT_FORMABLE,
  /** The matching pods could not hold it even if they were empty and healthy. */
  OVER_CAPACITY,
  /** Its tenant's quota does not allow it. */
  OVER_QUOTA,
  /** The capacity is reserved for another tenant. */
  RESERVED,
  /** Fewer chips are free in the matching pods than it wants. */
  NOT_ENOUGH_FREE,
  /** It would fit if failed or (for healthy only) degraded parts were healthy. */
  BLOCKED_BY_HEALTH,
  /** It would fit if cordoned parts were not. */
  BLOCKED_BY_CORDON,
  /** It would fit if held chips were not. */
  BLOCKED_BY_HOLD,
  /** Enough chips are free, but not as its shape. */
  FRAGMENTED,
  /** Its slices would fit, but not spread over pods as it asks. */
  SPREAD,
  /** Another request of its gang does not fit. */
  GANG_INCOMPLETE,
  /** It would fit alone; other requests of this batch took the room. */
  OUTRANKED,
  /** Moving or evicting more than the disruption budget allows would be needed. */
  DISRUPTION_BUDGET,
  /** Time ran out before a place was found; there may be one. */
  DEADLINE,
  /** The solve was cancelled before a place was found; there may be one. */
  CANCELLED,
  /** The solve ended, its work limit reached, before a place was found or ruled out. */
  UNDECIDED,
  /** A running slice uses a failed or drained part, and may not move, nor leave where drained. */
  PINNED,
  /** A running slice leaves a drained part, but is not up elsewhere in time. */
  LATE
}
