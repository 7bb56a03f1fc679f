package dev.slicewright.bench;

import dev.slicewright.SolveBudget;
import dev.slicewright.bench.BoxGrid.Extents;
import dev.slicewright.bench.BoxGrid.Spot;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.function.Supplier;

/**
 * How many chips does each rule turn away when slices come and go, one at a time?
 *
 * <p>The wired torus 16x16x16, one chip a host. Slices of the eight mixed shapes, all orientations,
 * arrive as a Poisson process and stay for exponential times, both independent of what runs; the
 * load is the chips that would be busy if all found a place, over the chips there are. A slice that
 * finds no place is lost at once. All rules see the same arrivals; a share is of the chips asked
 * for, after the warm-up. The pool takes whatever there are free chips for: what it turns away no
 * rule can place, so the rules are compared by what they turn away beyond it.
 *
 * <p>Rules: {@code slicewright}, one {@link SlicePlanner} call an arrival; {@code slurm-dense} and
 * {@code slurm-aligned}, {@link SlurmRule} with anchors on every cell and as far apart as the shape
 * is long; {@code slurm-dense-everywhere}, the same with {@link SlurmRule.Compare#EVERYWHERE};
 * {@code first-fit}; {@code pool}.
 *
 * <p>{@code mvn -q -Psolve-bench verify -Dsolve.main=dev.slicewright.bench.ChurnBench
 * -Dsolve.args="0.7,0.9 1..10 20000 2000"} writes {@code target/churn.csv}; ends with exit code 1
 * where slicewright does not turn away less than {@code slurm-dense}.
 */
public final class ChurnBench {

  private static final String POD = "pod";
  private static final String OURS = "slicewright";
  private static final String PEER = "slurm-dense";
  private static final String POOL = "pool";

  private static final TpuTopology TOPOLOGY =
      TpuTopology.torusBuilder(16, 16, 16).hostTile(Shape.of(1, 1, 1)).build();

  /** Somewhere that slices arrive at and leave. */
  private interface Site {
    /** Whether the slice found a place. */
    boolean arrive(int number, Shape shape);

    void leave(int number, Shape shape);
  }

  private record Arrival(double time, double stay, Shape shape) {}

  private record Departure(double time, int number) {}

  private record Outcome(long asked, long rejected, int slices, int lost, double micros) {}

  private ChurnBench() {}

  /**
   * Runs it.
   *
   * @param args loads, seeds as {@code a..b}, arrivals counted, arrivals before
   * @throws IOException if the table cannot be written
   */
  public static void main(String[] args) throws IOException {
    String[] loads = (args.length > 0 ? args[0] : "0.7,0.9").split(",");
    String[] seeds = (args.length > 1 ? args[1] : "1..10").split("\\.\\.");
    int counted = args.length > 2 ? Integer.parseInt(args[2]) : 20_000;
    int before = args.length > 3 ? Integer.parseInt(args[3]) : 2_000;
    Map<String, Supplier<Site>> rules = rules();
    Path file = Path.of("target", "churn.csv");
    Files.createDirectories(file.toAbsolutePath().getParent());
    boolean better = true;
    try (PrintWriter csv = new PrintWriter(Files.newBufferedWriter(file, StandardCharsets.UTF_8))) {
      csv.println(
          "load,seed,rule,arrivals,lost,asked_chips,rejected_chips,rejected_share,"
              + "rejected_beyond_pool,mean_decision_us");
      StringBuilder summary = new StringBuilder();
      for (String load : loads) {
        Map<String, List<Outcome>> all = new LinkedHashMap<>();
        for (int seed = Integer.parseInt(seeds[0]);
            seed <= Integer.parseInt(seeds[seeds.length - 1]);
            seed++) {
          List<Arrival> arrivals = arrivals(Double.parseDouble(load), seed, before + counted);
          Map<String, Outcome> row = new LinkedHashMap<>();
          rules.forEach((name, site) -> row.put(name, run(site.get(), arrivals, before)));
          Outcome pool = row.get(POOL);
          for (Map.Entry<String, Outcome> e : row.entrySet()) {
            Outcome o = e.getValue();
            all.computeIfAbsent(e.getKey(), k -> new ArrayList<>()).add(o);
            csv.printf(
                Locale.ROOT,
                "%s,%d,%s,%d,%d,%d,%d,%.6f,%.6f,%.1f%n",
                load,
                seed,
                e.getKey(),
                o.slices(),
                o.lost(),
                o.asked(),
                o.rejected(),
                share(o.rejected(), o.asked()),
                share(o.rejected() - pool.rejected(), o.asked()),
                o.micros());
          }
          csv.flush();
          System.out.println("load " + load + " seed " + seed + " " + shares(row));
        }
        better &= summarise(load, all, summary);
      }
      System.out.print(summary);
    }
    System.exit(better ? 0 : 1);
  }

  private static String shares(Map<String, Outcome> row) {
    StringBuilder s = new StringBuilder();
    row.forEach(
        (name, o) ->
            s.append(
                String.format(
                    Locale.ROOT, " %s %.2f %%", name, 100 * share(o.rejected(), o.asked()))));
    return s.toString();
  }

  private static boolean summarise(
      String load, Map<String, List<Outcome>> all, StringBuilder summary) {
    long pool = rejected(all.get(POOL));
    long peer = rejected(all.get(PEER));
    for (Map.Entry<String, List<Outcome>> e : all.entrySet()) {
      List<Outcome> some = e.getValue();
      long asked = some.stream().mapToLong(Outcome::asked).sum();
      long lost = rejected(some);
      int less = 0;
      for (int i = 0; i < some.size(); i++) {
        less += some.get(i).rejected() < all.get(PEER).get(i).rejected() ? 1 : 0;
      }
      summary.append(
          String.format(
              Locale.ROOT,
              "load %s %-22s rejected %6.2f %% of chips, beyond the pool %6.2f %%, that is %.3f of"
                  + " %s's; less than it on %d of %d seeds; %.0f us a decision%n",
              load,
              e.getKey(),
              100 * share(lost, asked),
              100 * share(lost - pool, asked),
              share(lost - pool, peer - pool),
              PEER,
              less,
              some.size(),
              some.stream().mapToDouble(Outcome::micros).average().orElse(Double.NaN)));
    }
    return rejected(all.get(OURS)) < peer;
  }

  private static long rejected(List<Outcome> some) {
    return some.stream().mapToLong(Outcome::rejected).sum();
  }

  private static double share(long part, long of) {
    return of == 0 ? 0 : (double) part / of;
  }

  private static List<Arrival> arrivals(double load, long seed, int count) {
    SplittableRandom random = new SplittableRandom(seed * 1_000_003 + Math.round(load * 1_000));
    double rate = load * TOPOLOGY.chipCount() / Churn.meanChips();
    List<Arrival> arrivals = new ArrayList<>();
    double time = 0;
    for (int i = 0; i < count; i++) {
      time += exponential(random) / rate;
      arrivals.add(new Arrival(time, exponential(random), Churn.draw(random)));
    }
    return arrivals;
  }

  private static double exponential(SplittableRandom random) {
    return -Math.log(1 - random.nextDouble());
  }

  private static Outcome run(Site site, List<Arrival> arrivals, int before) {
    PriorityQueue<Departure> departures =
        new PriorityQueue<>(java.util.Comparator.comparingDouble(Departure::time));
    long asked = 0;
    long rejected = 0;
    int lost = 0;
    long nanos = 0;
    for (int i = 0; i < arrivals.size(); i++) {
      Arrival a = arrivals.get(i);
      while (!departures.isEmpty() && departures.peek().time() <= a.time()) {
        int gone = departures.poll().number();
        site.leave(gone, arrivals.get(gone).shape());
      }
      long since = System.nanoTime();
      boolean placed = site.arrive(i, a.shape());
      nanos += System.nanoTime() - since;
      if (placed) {
        departures.add(new Departure(a.time() + a.stay(), i));
      }
      if (i >= before) {
        asked += a.shape().chips();
        rejected += placed ? 0 : a.shape().chips();
        lost += placed ? 0 : 1;
      }
    }
    return new Outcome(
        asked, rejected, arrivals.size() - before, lost, nanos / 1e3 / arrivals.size());
  }

  private static Map<String, Supplier<Site>> rules() {
    Map<String, Supplier<Site>> rules = new LinkedHashMap<>();
    rules.put(OURS, Planned::new);
    rules.put(PEER, () -> slurm(true, SlurmRule.Compare.WITHIN_PLACEMENT));
    rules.put("slurm-dense-everywhere", () -> slurm(true, SlurmRule.Compare.EVERYWHERE));
    rules.put("slurm-aligned", () -> slurm(false, SlurmRule.Compare.WITHIN_PLACEMENT));
    rules.put("first-fit", () -> new Ruled(new FirstFit()));
    rules.put(POOL, Pool::new);
    return rules;
  }

  private static Site slurm(boolean dense, SlurmRule.Compare compare) {
    return new Ruled(SlurmRule.of(TOPOLOGY, Churn.SHAPES, dense, compare));
  }

  private static final class Planned implements Site {
    private final SlicePlanner planner = SlicePlanner.create();
    private final SolveBudget budget = SolveBudget.within(Duration.ofMillis(800));
    private Fleet fleet = Fleet.builder().pod(POD, TOPOLOGY).build();

    @Override
    public boolean arrive(int number, Shape shape) {
      SliceRequest request = SliceRequest.builder("run-" + number).shape(shape).build();
      Plan plan = planner.plan(fleet, List.of(request), budget);
      fleet = plan.applyTo(fleet);
      return !plan.placements().isEmpty();
    }

    @Override
    public void leave(int number, Shape shape) {
      fleet = fleet.release("run-" + number);
    }
  }

  private static final class Ruled implements Site {
    private final PlacementRule rule;
    private final BoxGrid grid = BoxGrid.of(TOPOLOGY);
    private final Map<Integer, Spot> spots = new HashMap<>();
    private final Map<Shape, List<Extents>> turns = new HashMap<>();

    Ruled(PlacementRule rule) {
      this.rule = rule;
    }

    @Override
    public boolean arrive(int number, Shape shape) {
      Spot spot =
          rule.place(List.of(grid), turns.computeIfAbsent(shape, s -> BoxGrid.turns(TOPOLOGY, s)));
      if (spot == null) {
        return false;
      }
      grid.take(spot);
      spots.put(number, spot);
      return true;
    }

    @Override
    public void leave(int number, Shape shape) {
      grid.give(spots.remove(number));
    }
  }

  private static final class Pool implements Site {
    private long free = TOPOLOGY.chipCount();

    @Override
    public boolean arrive(int number, Shape shape) {
      boolean fits = shape.chips() <= free;
      free -= fits ? shape.chips() : 0;
      return fits;
    }

    @Override
    public void leave(int number, Shape shape) {
      free += shape.chips();
    }
  }
}
