package dev.slicewright.fleet;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.SliceId;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Twist;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** A slice that runs, with its request. Immutable, safe to share. */
public final class RunningSlice {

  private static final Duration MAX_RESTART = Duration.ofDays(365);

  private final Builder b;
  private final SliceId id;

  private RunningSlice(Builder b) {
    this.b = b;
    this.id = new SliceId(b.request.id(), b.index);
  }

  /**
   * A builder.
   *
   * @param request the request that it serves
   * @param index which of the request's slices, from 0
   * @param pod the id of its pod
   * @param shape its shape, in its own order
   * @param footprint where it runs
   * @return a new builder
   */
  public static Builder builder(
      SliceRequest request, int index, String pod, Shape shape, Footprint footprint) {
    return new Builder(request, index, pod, shape, footprint);
  }

  /**
   * The request's id and the index.
   *
   * @return the id
   */
  public SliceId id() {
    return id;
  }

  /**
   * The request that it serves.
   *
   * @return the request
   */
  public SliceRequest request() {
    return b.request;
  }

  /**
   * The pod that it runs on.
   *
   * @return the pod's id
   */
  public String pod() {
    return b.pod;
  }

  /**
   * Its shape, in its own order.
   *
   * @return the shape
   */
  public Shape shape() {
    return b.shape;
  }

  /**
   * Where it runs.
   *
   * @return the footprint
   */
  public Footprint footprint() {
    return b.footprint;
  }

  /**
   * The chips that it counts for while it runs: its own, and no more than those of its request's
   * first shape, or than the number of chips asked for.
   *
   * @return 1 or more
   */
  public long countedChips() {
    List<Shape> asked = b.request.shapes();
    long most = asked.isEmpty() ? b.request.chips() : asked.get(0).chips();
    return Math.min(b.shape.chips(), most);
  }

  /**
   * How its wraps are twisted.
   *
   * @return {@link Twist#NONE} for a plain torus or mesh
   */
  public Twist twist() {
    return b.twist;
  }

  /**
   * When it started.
   *
   * @return the time, or empty if not known
   */
  public Optional<Instant> startedAt() {
    return Optional.ofNullable(b.startedAt);
  }

  /**
   * When it last wrote a checkpoint.
   *
   * @return the time, or empty if not known
   */
  public Optional<Instant> checkpointAt() {
    return Optional.ofNullable(b.checkpointAt);
  }

  /**
   * How long it needs to start again.
   *
   * @return the duration, or empty if not known
   */
  public Optional<Duration> restartTime() {
    return Optional.ofNullable(b.restartTime);
  }

  /**
   * When it is expected to end by itself, as its owner says; nothing is released for it.
   *
   * @return the time, or empty if not known
   */
  public Optional<Instant> endsAt() {
    return Optional.ofNullable(b.endsAt);
  }

  /**
   * Whether it is on its way out: pinned, worth nothing, and a hold may cover it.
   *
   * @return false by default
   */
  public boolean leaving() {
    return b.leaving;
  }

  /**
   * A builder that starts from this slice.
   *
   * @return a new builder
   */
  public Builder toBuilder() {
    return b.copy();
  }

  @Override
  public boolean equals(Object other) {
    return this == other || other instanceof RunningSlice that && b.key().equals(that.b.key());
  }

  @Override
  public int hashCode() {
    return id.hashCode();
  }

  @Override
  public String toString() {
    return id + " " + b.shape + " on " + b.pod + " " + b.footprint;
  }

  /** Builds a {@link RunningSlice}. Confined to one thread at a time. */
  public static final class Builder {
    private final SliceRequest request;
    private final int index;
    private final String pod;
    private final Shape shape;
    private final Footprint footprint;
    private Twist twist = Twist.NONE;
    private @Nullable Instant startedAt;
    private @Nullable Instant checkpointAt;
    private @Nullable Duration restartTime;
    private @Nullable Instant endsAt;
    private boolean leaving;

    private Builder(SliceRequest request, int index, String pod, Shape shape, Footprint footprint) {
      this.request = Objects.requireNonNull(request, "request");
      this.index = index;
      this.pod = Objects.requireNonNull(pod, "pod");
      this.shape = Objects.requireNonNull(shape, "shape");
      this.footprint = Objects.requireNonNull(footprint, "footprint");
    }

    private Builder copy() {
      Builder c = new Builder(request, index, pod, shape, footprint);
      c.twist = twist;
      c.startedAt = startedAt;
      c.checkpointAt = checkpointAt;
      c.restartTime = restartTime;
      c.endsAt = endsAt;
      c.leaving = leaving;
      return c;
    }

    private List<Object> key() {
      return List.of(
          index,
          request,
          pod,
          shape,
          footprint,
          twist,
          Optional.ofNullable(startedAt),
          Optional.ofNullable(checkpointAt),
          Optional.ofNullable(restartTime),
          Optional.ofNullable(endsAt),
          leaving);
    }

    /**
     * Sets how its wraps are twisted.
     *
     * @param value {@link Twist#NONE} by default
     * @return this
     */
    public Builder twist(Twist value) {
      twist = Objects.requireNonNull(value, "twist");
      return this;
    }

    /**
     * Sets when it started.
     *
     * @param value the time, or null if not known
     * @return this
     */
    public Builder startedAt(@Nullable Instant value) {
      startedAt = value;
      return this;
    }

    /**
     * Sets when it last wrote a checkpoint.
     *
     * @param value the time, or null if not known
     * @return this
     */
    public Builder checkpointAt(@Nullable Instant value) {
      checkpointAt = value;
      return this;
    }

    /**
     * Sets how long it needs to start again.
     *
     * @param value 0 to 365 days, or null if not known
     * @return this
     */
    public Builder restartTime(@Nullable Duration value) {
      restartTime = value;
      return this;
    }

    /**
     * Sets when it is expected to end by itself. A fleet releases nothing for it, but a planner can
     * say what to wait for.
     *
     * @param value the time, not before the start where that is known; or null if not known
     * @return this
     */
    public Builder endsAt(@Nullable Instant value) {
      endsAt = value;
      return this;
    }

    /**
     * Sets whether it is on its way out.
     *
     * @param value false by default
     * @return this
     */
    public Builder leaving(boolean value) {
      leaving = value;
      return this;
    }

    /**
     * Checks and builds; where it runs is checked by the fleet.
     *
     * @return the slice
     * @throws InvalidInputException listing every problem: the restart time is out of range, it
     *     ends before it started, the index is not one of the request's slices, or the request does
     *     not ask for the shape
     */
    public RunningSlice build() {
      Problems problems = new Problems();
      if (index < 0 || index >= request.slices()) {
        problems.add(
            "index",
            "expected 0 to "
                + (request.slices() - 1)
                + ", since request "
                + request.id()
                + " has "
                + request.slices()
                + " slices, but was "
                + index);
      }
      boolean asked =
          request.shapes().isEmpty()
              ? request.chips() == shape.chips()
              : request.shapes().stream().anyMatch(s -> s.sorted().equals(shape.sorted()));
      if (!asked) {
        problems.add(
            "shape",
            "expected "
                + (request.shapes().isEmpty()
                    ? request.chips() + " chips"
                    : "a turn of one of " + request.shapes())
                + ", as request "
                + request.id()
                + " asks, but was "
                + shape
                + "; give the request that the slice was placed for");
      }
      if (restartTime != null
          && (restartTime.isNegative() || restartTime.compareTo(MAX_RESTART) > 0)) {
        problems.add(
            "restartTime",
            "expected 0 to 365 days, but was " + restartTime + "; null says that it is not known");
      }
      if (endsAt != null && startedAt != null && endsAt.isBefore(startedAt)) {
        problems.add(
            "endsAt",
            "expected no earlier time than the start, which is "
                + startedAt
                + ", but was "
                + endsAt
                + "; null says that it is not known");
      }
      problems.throwIfAny("running slice " + request.id() + "/" + index);
      return new RunningSlice(copy());
    }
  }
}
