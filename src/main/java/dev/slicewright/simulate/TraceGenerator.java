package dev.slicewright.simulate;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.simulate.Trace.Arrival;
import dev.slicewright.simulate.Trace.Change;
import dev.slicewright.simulate.Trace.Kind;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Draws traces: slices arrive as a Poisson process and stay for exponential times, both independent
 * of what runs; hosts fail and are repaired after exponential times. Immutable, safe to share. The
 * same generator and seed give the same trace.
 *
 * <p>The offered load is the chips that would be busy if all slices found a place at once, over the
 * chips there are.
 */
public final class TraceGenerator {

  private final long chips;
  private final Map<Shape, Double> shares;
  private final double load;
  private final Duration meanStay;
  private final Duration patience;
  private final int count;
  private final @Nullable Fleet fleet;
  private final Duration betweenFailures;
  private final Duration meanRepair;

  private TraceGenerator(Builder b) {
    this.chips = b.chips;
    this.shares = new LinkedHashMap<>(b.shares);
    this.load = b.load;
    this.meanStay = b.meanStay;
    this.patience = b.patience;
    this.count = b.count;
    this.fleet = b.fleet;
    this.betweenFailures = b.betweenFailures;
    this.meanRepair = b.meanRepair;
  }

  /**
   * A builder: load 0.7, a mean stay of an hour, no patience, 1,000 arrivals, no failures.
   *
   * @param chips the chips that the load is relative to
   * @return a new builder
   */
  public static Builder builder(long chips) {
    return new Builder(chips);
  }

  /**
   * Draws a trace. O(arrivals + hosts + failures · log).
   *
   * @param seed any number
   * @return the trace; requests are {@code run-0}, {@code run-1} and so on
   */
  public Trace generate(long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    SplittableRandom other = random.split();
    double total = shares.values().stream().mapToDouble(Double::doubleValue).sum();
    double mean = 0;
    for (Map.Entry<Shape, Double> e : shares.entrySet()) {
      mean += e.getValue() / total * e.getKey().chips();
    }
    double gap = meanStay.toNanos() * mean / (load * chips);
    List<Arrival> arrivals = new ArrayList<>(count);
    double at = 0;
    for (int i = 0; i < count; i++) {
      at += exponential(random) * gap;
      Duration stay = nanos(exponential(random) * meanStay.toNanos());
      SliceRequest request = SliceRequest.builder("run-" + i).shape(draw(random, total)).build();
      arrivals.add(new Arrival(request, nanos(at), stay, patience));
    }
    return new Trace(arrivals, failures(other, at));
  }

  private List<Change> failures(SplittableRandom random, double end) {
    List<Change> changes = new ArrayList<>();
    if (fleet == null) {
      return changes;
    }
    for (Pod pod : fleet.pods()) {
      for (int host = 0; host < pod.topology().hostCount(); host++) {
        Part part = new Part.Host(new HostId(host));
        double at = exponential(random) * betweenFailures.toNanos();
        while (at < end) {
          changes.add(new Change(nanos(at), Kind.FAIL, pod.id(), part));
          at += exponential(random) * meanRepair.toNanos();
          if (at < end) {
            changes.add(new Change(nanos(at), Kind.REPAIR, pod.id(), part));
          }
          at += exponential(random) * betweenFailures.toNanos();
        }
      }
    }
    return changes;
  }

  private Shape draw(SplittableRandom random, double total) {
    double at = random.nextDouble() * total;
    Shape last = null;
    for (Map.Entry<Shape, Double> e : shares.entrySet()) {
      last = e.getKey();
      at -= e.getValue();
      if (at < 0) {
        break;
      }
    }
    return Objects.requireNonNull(last);
  }

  private static double exponential(SplittableRandom random) {
    return -Math.log(1 - random.nextDouble());
  }

  private static Duration nanos(double nanos) {
    return Duration.ofNanos((long) Math.min(nanos, Trace.MAX_TIME.toNanos()));
  }

  /** Builds a {@link TraceGenerator}. Confined to one thread at a time. */
  public static final class Builder {
    private final long chips;
    private final Map<Shape, Double> shares = new LinkedHashMap<>();
    private double load = 0.7;
    private Duration meanStay = Duration.ofHours(1);
    private Duration patience = Duration.ZERO;
    private int count = 1_000;
    private @Nullable Fleet fleet;
    private Duration betweenFailures = Duration.ofDays(365);
    private Duration meanRepair = Duration.ofHours(4);

    private Builder(long chips) {
      this.chips = chips;
    }

    /**
     * Adds a shape.
     *
     * @param shape the shape
     * @param share how often it is drawn, relative to the others; above 0
     * @return this
     */
    public Builder shape(Shape shape, double share) {
      shares.put(Objects.requireNonNull(shape, "shape"), share);
      return this;
    }

    /**
     * Sets the offered load.
     *
     * @param value above 0, at most 100
     * @return this
     */
    public Builder load(double value) {
      load = value;
      return this;
    }

    /**
     * Sets how long slices stay on average.
     *
     * @param value above zero, at most 1,000 days
     * @return this
     */
    public Builder meanStay(Duration value) {
      meanStay = Objects.requireNonNull(value, "meanStay");
      return this;
    }

    /**
     * Sets how long requests wait.
     *
     * @param value zero or more
     * @return this
     */
    public Builder patience(Duration value) {
      patience = Objects.requireNonNull(value, "patience");
      return this;
    }

    /**
     * Sets the number of arrivals.
     *
     * @param value 1 to 10,000,000
     * @return this
     */
    public Builder arrivals(int value) {
      count = value;
      return this;
    }

    /**
     * Lets hosts fail.
     *
     * @param of the fleet whose hosts fail
     * @param meanBetween how long a host lasts on average; a minute or more
     * @param meanRepair how long a repair takes on average; a second or more
     * @return this
     */
    public Builder failures(Fleet of, Duration meanBetween, Duration meanRepair) {
      this.fleet = Objects.requireNonNull(of, "of");
      this.betweenFailures = Objects.requireNonNull(meanBetween, "meanBetween");
      this.meanRepair = Objects.requireNonNull(meanRepair, "meanRepair");
      return this;
    }

    /**
     * Checks and builds.
     *
     * @return the generator
     * @throws InvalidInputException listing everything out of range
     */
    public TraceGenerator build() {
      Problems problems = new Problems();
      range(problems, "chips", chips, 1, 1L << 40);
      range(problems, "load", load, 1e-6, 100);
      range(problems, "arrivals", count, 1, 10_000_000);
      range(problems, "meanStay", seconds(meanStay), 1e-3, 86_400_000);
      range(problems, "patience", seconds(patience), 0, seconds(Trace.MAX_TIME));
      range(problems, "failures.meanBetween", seconds(betweenFailures), 60, 86_400e6);
      range(problems, "failures.meanRepair", seconds(meanRepair), 1, 86_400e6);
      if (shares.isEmpty()) {
        problems.add("shapes", "expected one shape or more, but there is none");
      }
      shares.forEach((shape, share) -> range(problems, "shapes." + shape, share, 1e-9, 1e9));
      problems.throwIfAny("trace generator");
      return new TraceGenerator(this);
    }

    private static double seconds(Duration value) {
      return value.toNanos() / 1e9;
    }

    private static void range(
        Problems problems, String path, double value, double least, double most) {
      if (!(value >= least && value <= most)) {
        problems.add(path, "expected " + least + " to " + most + ", but was " + value);
      }
    }
  }
}
