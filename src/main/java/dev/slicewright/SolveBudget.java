package dev.slicewright;

import java.time.Duration;
import java.util.Objects;

/**
 * How long one solve may take, how good is good enough, and how it may search. Immutable, safe to
 * share.
 *
 * <p>The deadline is wall time over everything, verification included, measured from the call. It
 * is kept by search and bounds to a few milliseconds; a native solver that lingers is left behind
 * on its own thread.
 */
public final class SolveBudget {

  /** The deadline where none is given: 800 ms. */
  public static final Duration DEFAULT_DEADLINE = Duration.ofMillis(800);

  /** The longest deadline: 24 hours. */
  public static final Duration MAX_DEADLINE = Duration.ofHours(24);

  /** The most workers that one solve may use. */
  public static final int MAX_WORKERS = 64;

  /** Whether equal inputs must give equal plans. Immutable, safe to share. */
  public enum Mode {
    /**
     * One worker and deterministic work limits: the same input and seed give the same plan unless
     * the deadline cut in, which the plan then says.
     */
    REPRODUCIBLE,
    /**
     * Several workers, interleaved deterministically; slower, and its work limit is coarse. As
     * {@link #REPRODUCIBLE} otherwise.
     */
    REPRODUCIBLE_PARALLEL,
    /** All workers, first proof wins; two runs may give different plans of equal standing. */
    FAST
  }

  private final Duration deadline;
  private final double gapTarget;
  private final int workers;
  private final long seed;
  private final Mode mode;

  private SolveBudget(Builder builder) {
    this.deadline = builder.deadline;
    this.gapTarget = builder.gapTarget;
    this.workers = builder.workers;
    this.seed = builder.seed;
    this.mode = builder.mode;
  }

  /**
   * A reproducible budget of one worker.
   *
   * @param deadline wall time for everything; more than zero, at most {@link #MAX_DEADLINE}
   * @return the budget
   * @throws InvalidInputException if the deadline is out of range
   */
  public static SolveBudget within(Duration deadline) {
    return builder().deadline(deadline).build();
  }

  /**
   * A builder with the defaults: 800 ms, gap 0, one worker, seed 1, reproducible.
   *
   * @return a new builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * A builder that starts from this budget.
   *
   * @return a new builder
   */
  public Builder toBuilder() {
    return new Builder()
        .deadline(deadline)
        .gapTarget(gapTarget)
        .workers(workers)
        .seed(seed)
        .mode(mode);
  }

  /**
   * Wall time for everything.
   *
   * @return more than zero
   */
  public Duration deadline() {
    return deadline;
  }

  /**
   * The gap at which the solve may stop, as the plan's {@code gap()} defines it.
   *
   * @return from 0.0 (prove the optimum) to 1.0
   */
  public double gapTarget() {
    return gapTarget;
  }

  /**
   * Threads that the solve may use, the caller's included.
   *
   * @return 1 or more; 1 in {@link Mode#REPRODUCIBLE}
   */
  public int workers() {
    return workers;
  }

  /**
   * The seed of every random choice.
   *
   * @return any value
   */
  public long seed() {
    return seed;
  }

  /**
   * Whether equal inputs must give equal plans.
   *
   * @return the mode
   */
  public Mode mode() {
    return mode;
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SolveBudget that
        && deadline.equals(that.deadline)
        && Double.compare(gapTarget, that.gapTarget) == 0
        && workers == that.workers
        && seed == that.seed
        && mode == that.mode;
  }

  @Override
  public int hashCode() {
    return Objects.hash(deadline, gapTarget, workers, seed, mode);
  }

  @Override
  public String toString() {
    return "SolveBudget[deadline="
        + deadline
        + ", gapTarget="
        + gapTarget
        + ", workers="
        + workers
        + ", seed="
        + seed
        + ", mode="
        + mode
        + "]";
  }

  /** Builds a {@link SolveBudget}. Confined to one thread at a time. */
  public static final class Builder {
    private Duration deadline = DEFAULT_DEADLINE;
    private double gapTarget;
    private int workers = 1;
    private long seed = 1;
    private Mode mode = Mode.REPRODUCIBLE;

    private Builder() {}

    /**
     * Sets the wall time for everything.
     *
     * @param value more than zero, at most {@link #MAX_DEADLINE}
     * @return this
     */
    public Builder deadline(Duration value) {
      deadline = Objects.requireNonNull(value, "deadline");
      return this;
    }

    /**
     * Sets the gap at which the solve may stop.
     *
     * @param value from 0.0 to 1.0
     * @return this
     */
    public Builder gapTarget(double value) {
      gapTarget = value + 0.0; // -0.0 is 0.0
      return this;
    }

    /**
     * Sets the number of threads; more than one needs another mode than {@link Mode#REPRODUCIBLE}.
     *
     * @param value from 1 to {@link #MAX_WORKERS}
     * @return this
     */
    public Builder workers(int value) {
      workers = value;
      return this;
    }

    /**
     * Sets the seed of every random choice.
     *
     * @param value any value
     * @return this
     */
    public Builder seed(long value) {
      seed = value;
      return this;
    }

    /**
     * Sets whether equal inputs must give equal plans.
     *
     * @param value the mode
     * @return this
     */
    public Builder mode(Mode value) {
      mode = Objects.requireNonNull(value, "mode");
      return this;
    }

    /**
     * Checks and builds.
     *
     * @return the budget
     * @throws InvalidInputException listing every option out of range
     */
    public SolveBudget build() {
      Problems problems = new Problems();
      if (deadline.isNegative() || deadline.isZero() || deadline.compareTo(MAX_DEADLINE) > 0) {
        problems.add(
            "deadline",
            "expected more than zero and at most "
                + MAX_DEADLINE
                + ", but was "
                + deadline
                + "; to stop at once, pass a cancelled CancelToken");
      }
      if (!(gapTarget >= 0.0 && gapTarget <= 1.0)) {
        problems.add(
            "gapTarget", "expected 0.0 to 1.0, but was " + gapTarget + "; 0.0 asks for a proof");
      }
      if (workers < 1 || workers > MAX_WORKERS) {
        problems.add(
            "workers",
            "expected 1 to " + MAX_WORKERS + ", but was " + workers + "; 1 is the default");
      } else if (workers > 1 && mode == Mode.REPRODUCIBLE) {
        problems.add(
            "workers",
            "REPRODUCIBLE uses one worker, but was "
                + workers
                + "; choose REPRODUCIBLE_PARALLEL or FAST for more");
      }
      problems.throwIfAny("solve budget");
      return new SolveBudget(this);
    }
  }
}
