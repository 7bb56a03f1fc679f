package dev.slicewright.bench;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.simulate.Policy;
import dev.slicewright.simulate.SimulationReport;
import dev.slicewright.simulate.Simulator;
import dev.slicewright.simulate.Trace;
import dev.slicewright.simulate.TraceGenerator;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

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
 * <p>Rules: {@code slicewright}, one {@link SlicePlanner} call an arrival, nothing moved; {@code
 * slicewright-moves}, at most two running slices moved for an admission that needs it; {@code
 * slicewright-tidy}, of the same two moves those not needed leave more room; {@code slurm-dense}
 * and {@code slurm-aligned}, the Slurm torus3d rule with anchors on every cell and as far apart as
 * the shape is long; {@code slurm-dense-everywhere}, the first with its spoilt anchors compared
 * between all placements; {@code first-fit}; {@code pool}. All run in {@link Simulator}.
 *
 * <p>{@code mvn -q -Psolve-bench verify -Dsolve.main=dev.slicewright.bench.ChurnBench
 * -Dsolve.args="0.7,0.9 1..10 20000 2000"} writes {@code target/churn.csv}; ends with exit code 1
 * where slicewright does not turn away less than {@code slurm-dense}.
 */
public final class ChurnBench {

  private static final String OURS = "slicewright";
  private static final String PEER = "slurm-dense";
  private static final String POOL = "pool";

  private static final TpuTopology TOPOLOGY =
      TpuTopology.torusBuilder(16, 16, 16).hostTile(Shape.of(1, 1, 1)).build();

  private record Outcome(
      long asked, long rejected, int slices, int lost, double micros, long moves, long admitted) {}

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
    Map<String, Policy> rules = rules();
    Path file = Path.of("target", "churn.csv");
    Files.createDirectories(file.toAbsolutePath().getParent());
    boolean better = true;
    try (PrintWriter csv = new PrintWriter(Files.newBufferedWriter(file, StandardCharsets.UTF_8))) {
      csv.println(
          "load,seed,rule,arrivals,lost,asked_chips,rejected_chips,rejected_share,"
              + "rejected_beyond_pool,mean_decision_us,moves_per_admission");
      StringBuilder summary = new StringBuilder();
      for (String load : loads) {
        Map<String, List<Outcome>> all = new LinkedHashMap<>();
        for (int seed = Integer.parseInt(seeds[0]);
            seed <= Integer.parseInt(seeds[seeds.length - 1]);
            seed++) {
          Trace trace = trace(Double.parseDouble(load), seed, before + counted);
          Map<String, Outcome> row = new LinkedHashMap<>();
          rules.forEach((name, policy) -> row.put(name, run(policy, trace, before)));
          Outcome pool = row.get(POOL);
          for (Map.Entry<String, Outcome> e : row.entrySet()) {
            Outcome o = e.getValue();
            all.computeIfAbsent(e.getKey(), k -> new ArrayList<>()).add(o);
            csv.printf(
                Locale.ROOT,
                "%s,%d,%s,%d,%d,%d,%d,%.6f,%.6f,%.1f,%.4f%n",
                load,
                seed,
                e.getKey(),
                o.slices(),
                o.lost(),
                o.asked(),
                o.rejected(),
                share(o.rejected(), o.asked()),
                share(o.rejected() - pool.rejected(), o.asked()),
                o.micros(),
                share(o.moves(), o.admitted()));
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
                  + " %s's; less than it on %d of %d seeds; %.0f us an arrival,"
                  + " %.3f moves an admission%n",
              load,
              e.getKey(),
              100 * share(lost, asked),
              100 * share(lost - pool, asked),
              share(lost - pool, peer - pool),
              PEER,
              less,
              some.size(),
              some.stream().mapToDouble(Outcome::micros).average().orElse(Double.NaN),
              share(
                  some.stream().mapToLong(Outcome::moves).sum(),
                  some.stream().mapToLong(Outcome::admitted).sum())));
    }
    return rejected(all.get(OURS)) < peer;
  }

  private static long rejected(List<Outcome> some) {
    return some.stream().mapToLong(Outcome::rejected).sum();
  }

  private static double share(long part, long of) {
    return of == 0 ? 0 : (double) part / of;
  }

  private static Trace trace(double load, long seed, int count) {
    TraceGenerator.Builder b =
        TraceGenerator.builder(TOPOLOGY.chipCount()).load(load).arrivals(count);
    Churn.shares().forEach(b::shape);
    return b.build().generate(seed * 1_000_003 + Math.round(load * 1_000));
  }

  private static Outcome run(Policy policy, Trace trace, int before) {
    Fleet fleet = Fleet.builder().pod("pod", TOPOLOGY).build();
    Simulator simulator = Simulator.of(fleet).withWarmUp(before).withSamples(0);
    long since = System.nanoTime();
    SimulationReport r = simulator.run(trace, policy);
    double micros = (System.nanoTime() - since) / 1e3 / trace.arrivals().size();
    return new Outcome(
        r.askedChips(),
        r.rejectedChips(),
        (int) r.arrivals(),
        (int) r.rejected(),
        micros,
        r.moves(),
        r.admitted());
  }

  private static Map<String, Policy> rules() {
    SlicePlanner planner = SlicePlanner.create();
    Policy ours = Policy.planner(planner, SolveBudget.within(Duration.ofMillis(800)));
    Map<String, Policy> rules = new LinkedHashMap<>();
    rules.put(OURS, ours);
    rules.put("slicewright-moves", ours.withMoves(2));
    rules.put("slicewright-tidy", ours.withMoves(2).withTidying(true));
    rules.put(PEER, Policy.slurmTorus3d(true));
    rules.put("slurm-dense-everywhere", Policy.slurmTorus3dEverywhere());
    rules.put("slurm-aligned", Policy.slurmTorus3d(false));
    rules.put("first-fit", Policy.firstFit());
    rules.put(POOL, Policy.pool());
    return rules;
  }
}
