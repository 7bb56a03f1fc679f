package dev.slicewright.plan;

/** Why a solve stopped; what is in hand is another matter. Immutable, safe to share. */
public enum StopReason {
  /** Every level is proved optimal. */
  OPTIMAL,
  /** The gap target of the budget is reached. */
  GAP_REACHED,
  /** The deadline cut in. */
  DEADLINE,
  /** A limit of work or memory was reached. */
  LIMIT,
  /** Every engine ended early without a proof. */
  EXHAUSTED,
  /** The caller cancelled. */
  CANCELLED
}
