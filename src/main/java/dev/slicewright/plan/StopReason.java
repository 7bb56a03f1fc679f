package dev.slicewright.plan;

/** Why a solve stopped; what is in hand is another matter. Immutable, safe to share. */
public enum StopReason {
  /** Every level is proved optimal. */
  OPTIMAL,
  /** The gap target of the budget is reached. */
  GAP_REACHED,
  /** The deadline cut in. */
  DEADLINE,
  /**
   * The limit of work: where runs must repeat, a deadline stands for a number of rounds of search,
   * and all of them are done before it. A note of the plan says how many they were.
   */
  LIMIT,
  /** Every engine ended early without a proof. */
  EXHAUSTED,
  /** The caller cancelled. */
  CANCELLED
}
