package dev.slicewright.simulate;

import java.time.Duration;
import java.util.List;
import java.util.Objects;

/**
 * What came of a simulation. What is counted are the arrivals after the warm-up, and what happens
 * from the first of them to the end of the trace. Immutable, safe to share.
 *
 * @param policy who decided
 * @param arrivals requests counted; as many as admitted, rejected and waiting together
 * @param admitted those that were placed
 * @param rejected those that ran out of patience
 * @param waiting those that still waited at the end
 * @param askedChips the chips that all asked for
 * @param rejectedChips the chips that the rejected ones asked for
 * @param utilisation busy chips over usable ones, both over time; 0 to 1
 * @param waits how long the admitted ones waited
 * @param moves slices moved, repairs included
 * @param movedChipSeconds what the moves lost, in chip-seconds, as a plan counts disruption
 * @param repairs slices that were moved because a part of theirs had failed
 * @param evictions requests that ended because a part had failed and no repair was found
 * @param samples the room at times, in order; none if none was asked for
 */
public record SimulationReport(
    String policy,
    long arrivals,
    long admitted,
    long rejected,
    long waiting,
    long askedChips,
    long rejectedChips,
    double utilisation,
    Waits waits,
    long moves,
    long movedChipSeconds,
    long repairs,
    long evictions,
    List<Sample> samples) {

  /**
   * How long admitted requests waited, those that did not wait included. Immutable, safe to share.
   *
   * @param mean the mean; zero if none was admitted
   * @param p50 the median
   * @param p99 what 99 of 100 did not exceed
   */
  public record Waits(Duration mean, Duration p50, Duration p99) {
    /** Checks for null. */
    public Waits {
      Objects.requireNonNull(mean, "mean");
      Objects.requireNonNull(p50, "p50");
      Objects.requireNonNull(p99, "p99");
    }
  }

  /**
   * How the free room is scattered. Immutable, safe to share.
   *
   * @param at when, from the start of the trace
   * @param busyChips chips of running slices
   * @param freeChips usable chips that no slice has
   * @param largestChips the chips of the largest shape of the trace that has a place; 0 if none has
   * @param placeableShare of the chips that the trace's mix asks for, in shapes of no more chips
   *     than are free, the share whose shape has a place; 1 if no shape is so small
   */
  public record Sample(
      Duration at, long busyChips, long freeChips, long largestChips, double placeableShare) {
    /** Checks for null. */
    public Sample {
      Objects.requireNonNull(at, "at");
    }
  }

  /** Checks for null and copies. */
  public SimulationReport {
    Objects.requireNonNull(policy, "policy");
    Objects.requireNonNull(waits, "waits");
    samples = List.copyOf(samples);
  }

  /**
   * The chips rejected, over those asked for.
   *
   * @return 0 to 1; 0 if none were asked for
   */
  public double rejectedShare() {
    return askedChips == 0 ? 0 : (double) rejectedChips / askedChips;
  }
}
