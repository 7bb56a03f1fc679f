package dev.slicewright.simulate;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.cost.Collectives;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.simulate.SimulationReport.Sample;
import dev.slicewright.simulate.SimulationReport.Waits;
import dev.slicewright.simulate.Trace.Arrival;
import dev.slicewright.simulate.Trace.Change;
import dev.slicewright.topology.Shape;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.TreeMap;

/**
 * Replays a trace on a fleet under a policy. Immutable, safe to share. The same fleet, trace and
 * policy give the same report, unless a deadline of the planner cuts in.
 *
 * <p>At one time slices end first, then parts change, then requests arrive. A request that finds no
 * place waits, as long as its patience lasts, and is tried again whenever a slice ends or a part is
 * usable again; those that wait go by priority, then by arrival, and one that finds no place does
 * not hold up the next. With batches all requests wait for the next batch, and are rejected there
 * once their patience is over. A slice that moves ends when it would have ended; what moving loses
 * is reported. What the fleet runs at the start stays to the end.
 *
 * <p>O(events × a decision), and for each sample a search for each shape of the trace.
 */
public final class Simulator {

  /** When a trace starts, for whatever needs a time. */
  private static final Instant START = Instant.parse("2000-01-01T00:00:00Z");

  private final Fleet fleet;
  private final int warmUp;
  private final int sampleEvery;

  private Simulator(Fleet fleet, int warmUp, int sampleEvery) {
    this.fleet = fleet;
    this.warmUp = warmUp;
    this.sampleEvery = sampleEvery;
  }

  /**
   * A simulator that counts every arrival and samples the room at every hundredth.
   *
   * @param fleet the fleet at the start, of one pod or more
   * @return the simulator
   */
  public static Simulator of(Fleet fleet) {
    if (fleet.pods().isEmpty()) {
      throw new InvalidInputException("simulation", "fleet", "expected a pod, but there is none");
    }
    return new Simulator(fleet, 0, 100);
  }

  /**
   * The same, that leaves out the first arrivals.
   *
   * @param arrivals how many, 0 or more
   * @return the changed simulator
   */
  public Simulator withWarmUp(int arrivals) {
    return new Simulator(fleet, notNegative("warmUp", arrivals), sampleEvery);
  }

  /**
   * The same, that looks at the room more or less often.
   *
   * @param arrivals after how many arrivals each time; 0 for never
   * @return the changed simulator
   */
  public Simulator withSamples(int arrivals) {
    return new Simulator(fleet, warmUp, notNegative("samples", arrivals));
  }

  private static int notNegative(String path, int value) {
    if (value < 0) {
      throw new InvalidInputException("simulation", path, "expected 0 or more, but was " + value);
    }
    return value;
  }

  /**
   * Replays a trace.
   *
   * @param trace what happens
   * @param policy who decides
   * @return what came of it
   * @throws InvalidInputException listing requests that run already, parts of pods that the fleet
   *     has not, and parts that are not in their pod; or if the policy is not for these pods
   */
  public SimulationReport run(Trace trace, Policy policy) {
    Objects.requireNonNull(policy, "policy");
    Problems problems = new Problems();
    for (int i = 0; i < trace.arrivals().size(); i++) {
      String id = trace.arrivals().get(i).request().id();
      if (!fleet.runningOf(id).isEmpty()) {
        problems.add("arrivals[" + i + "].request.id", "request id " + id + " runs already");
      }
    }
    for (int i = 0; i < trace.changes().size(); i++) {
      Change change = trace.changes().get(i);
      try {
        fleet.repair(change.pod(), change.part());
      } catch (IllegalArgumentException e) {
        problems.add("changes[" + i + "]", String.valueOf(e.getMessage()));
      }
    }
    problems.throwIfAny("trace");
    return new Run(trace, policy).report();
  }

  private enum What {
    END,
    CHANGE,
    ARRIVE,
    EXPIRE,
    BATCH
  }

  private record Event(Duration at, What what, int number) {}

  /** One replay. Confined to one thread at a time. */
  private final class Run {
    private final Trace trace;
    private final Policy policy;
    private final Site site;
    private final Map<Shape, Long> mix = new TreeMap<>(); // how often each shape is asked for
    private final PriorityQueue<Event> events =
        new PriorityQueue<>(
            Comparator.comparing(Event::at)
                .thenComparing(Event::what)
                .thenComparingInt(Event::number));
    private final Map<String, Integer> numbers = new HashMap<>();
    private final Map<String, Long> running = new HashMap<>();
    private final List<Integer> queue = new ArrayList<>();
    private final List<Long> waits = new ArrayList<>(); // in nanos
    private final List<Sample> samples = new ArrayList<>();
    private final Set<Integer> done = new HashSet<>(); // ended before their time
    private Duration now = Duration.ZERO;
    private Duration last;
    private long busy;
    private long usable;
    private double busyTime;
    private double usableTime;
    private long admitted;
    private long rejected;
    private long asked;
    private long rejectedChips;
    private long evictions;
    private long movesBefore;
    private long secondsBefore;
    private long repairsBefore;
    private boolean counting;

    Run(Trace trace, Policy policy) {
      this.trace = trace;
      this.policy = policy;
      List<Arrival> arrivals = trace.arrivals();
      Pod first = fleet.pods().iterator().next();
      Set<Shape> shapes = new HashSet<>();
      for (Arrival a : arrivals) {
        List<Shape> options = Collectives.shapeOptions(a.request(), first.topology());
        shapes.addAll(options);
        if (!options.isEmpty()) {
          mix.merge(options.get(0), (long) a.request().slices(), Long::sum);
        }
      }
      this.site = policy.site(fleet, shapes.stream().sorted().toList());
      this.usable = site.usableChips();
      for (RunningSlice slice : fleet.running()) {
        busy += slice.shape().chips();
        running.merge(slice.request().id(), slice.shape().chips(), Long::sum);
      }
      this.last = Duration.ZERO;
      for (int i = 0; i < arrivals.size(); i++) {
        numbers.put(arrivals.get(i).request().id(), i);
        events.add(new Event(arrivals.get(i).at(), What.ARRIVE, i));
        last = arrivals.get(i).at();
      }
      for (int i = 0; i < trace.changes().size(); i++) {
        Duration at = trace.changes().get(i).at();
        events.add(new Event(at, What.CHANGE, i));
        last = at.compareTo(last) > 0 ? at : last;
      }
    }

    SimulationReport report() {
      counting = warmUp == 0;
      while (!events.isEmpty() && events.peek().at().compareTo(last) <= 0) {
        Event e = events.poll();
        pass(e.at());
        switch (e.what()) {
          case END -> end(e.number());
          case CHANGE -> change(trace.changes().get(e.number()));
          case ARRIVE -> arrive(e.number());
          case EXPIRE -> {
            if (queue.remove((Integer) e.number())) {
              reject(e.number());
            }
          }
          case BATCH -> batch();
        }
      }
      long waiting = queue.stream().filter(i -> i >= warmUp).count();
      return new SimulationReport(
          policy.toString(),
          Math.max(0, trace.arrivals().size() - warmUp),
          admitted,
          rejected,
          waiting,
          asked,
          rejectedChips,
          usableTime == 0 ? 0 : busyTime / usableTime,
          waits(),
          site.moves - movesBefore,
          site.movedChipSeconds - secondsBefore,
          site.repairs - repairsBefore,
          evictions,
          samples);
    }

    private void pass(Duration to) {
      if (counting) {
        double seconds = to.minus(now).toNanos() / 1e9;
        busyTime += busy * seconds;
        usableTime += Math.max(busy, usable) * seconds;
      }
      now = to;
    }

    private void arrive(int i) {
      Arrival a = trace.arrivals().get(i);
      if (i == warmUp) {
        counting = true;
        movesBefore = site.moves;
        secondsBefore = site.movedChipSeconds;
        repairsBefore = site.repairs;
      }
      asked += i >= warmUp ? PoolSite.chips(a.request()) : 0;
      queue.add(i);
      if (policy.every().isZero()) {
        place(List.of(i));
        if (a.patience().isZero() && queue.remove((Integer) i)) {
          reject(i);
        } else if (queue.contains(i)) {
          events.add(new Event(now.plus(a.patience()), What.EXPIRE, i));
        }
      } else if (queue.size() == 1) {
        events.add(new Event(tick(now), What.BATCH, 0));
      }
      if (sampleEvery > 0 && i >= warmUp && (i - warmUp) % sampleEvery == 0) {
        sample();
      }
    }

    private void batch() {
      place(ordered());
      for (int i : List.copyOf(queue)) {
        Arrival a = trace.arrivals().get(i);
        if (a.at().plus(a.patience()).compareTo(now) <= 0) {
          queue.remove((Integer) i);
          reject(i);
        }
      }
      if (queue.isEmpty()) {
        return;
      }
      // What found no place now finds none until something happens, or loses patience.
      Event next = events.peek();
      Duration wake = next == null ? last : next.at();
      for (int i : queue) {
        Arrival a = trace.arrivals().get(i);
        Duration end = a.at().plus(a.patience());
        wake = end.compareTo(wake) < 0 ? end : wake;
      }
      Duration soonest = now.plus(policy.every());
      Duration then = tick(wake);
      events.add(new Event(then.compareTo(soonest) > 0 ? then : soonest, What.BATCH, 0));
    }

    /** The first time at or after another when a batch is due. */
    private Duration tick(Duration time) {
      Duration before = policy.every().multipliedBy(time.dividedBy(policy.every()));
      return before.equals(time) ? before : before.plus(policy.every());
    }

    private List<Integer> ordered() {
      List<Integer> order = new ArrayList<>(queue);
      order.sort(
          Comparator.comparingLong((Integer i) -> -trace.arrivals().get(i).request().priority())
              .thenComparing(i -> i));
      return order;
    }

    private void retry() {
      if (policy.every().isZero()) {
        ordered().forEach(i -> place(List.of(i)));
      }
    }

    private void place(List<Integer> some) {
      List<SliceRequest> requests =
          some.stream().map(i -> trace.arrivals().get(i).request()).toList();
      for (String id : site.place(requests, START.plus(now))) {
        int i = Objects.requireNonNull(numbers.get(id));
        Arrival a = trace.arrivals().get(i);
        queue.remove((Integer) i);
        long chips = PoolSite.chips(a.request());
        running.put(id, chips);
        busy += chips;
        events.add(new Event(now.plus(a.stay()), What.END, i));
        if (i >= warmUp) {
          admitted++;
          waits.add(now.minus(a.at()).toNanos());
        }
      }
    }

    private void reject(int i) {
      if (i >= warmUp) {
        rejected++;
        rejectedChips += PoolSite.chips(trace.arrivals().get(i).request());
      }
    }

    private void end(int i) {
      if (!done.remove(i)) {
        String id = trace.arrivals().get(i).request().id();
        site.leave(id);
        gone(id);
        retry();
      }
    }

    private void gone(String id) {
      Long chips = running.remove(id);
      busy -= chips == null ? 0 : chips;
    }

    private void change(Change change) {
      for (String id : site.change(change, START.plus(now))) {
        gone(id);
        evictions += counting ? 1 : 0;
        Integer number = numbers.get(id);
        if (number != null) {
          done.add(number);
        }
      }
      usable = site.usableChips();
      retry();
    }

    private void sample() {
      long free = Math.max(0, usable - busy);
      long largest = 0;
      double asks = 0;
      double has = 0;
      for (Map.Entry<Shape, Long> e : mix.entrySet()) {
        long chips = e.getKey().chips();
        if (chips > free) {
          continue;
        }
        boolean fits = site.fits(e.getKey());
        asks += (double) chips * e.getValue();
        has += fits ? (double) chips * e.getValue() : 0;
        largest = fits ? Math.max(largest, chips) : largest;
      }
      samples.add(new Sample(now, busy, free, largest, asks == 0 ? 1 : has / asks));
    }

    private Waits waits() {
      long[] sorted = waits.stream().mapToLong(Long::longValue).toArray();
      Arrays.sort(sorted);
      double mean = Arrays.stream(sorted).average().orElse(0);
      return new Waits(
          Duration.ofNanos((long) mean), quantile(sorted, 0.5), quantile(sorted, 0.99));
    }

    private static Duration quantile(long[] sorted, double share) {
      return sorted.length == 0
          ? Duration.ZERO
          : Duration.ofNanos(sorted[(int) Math.ceil(share * sorted.length) - 1]);
    }
  }
}
