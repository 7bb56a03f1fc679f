package dev.slicewright.examples;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Pod;
import dev.slicewright.formulation.ortools.CpSatFormulation;
import dev.slicewright.plan.Plan;
import dev.slicewright.report.PlanText;
import dev.slicewright.report.PodPicture;
import dev.slicewright.report.Snapshot;
import dev.slicewright.solve.SlicePlanner;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;

/**
 * Reads three fleets with the slices that are wanted, plans each, and shows the answer: requests,
 * plan, time and gap as text, and every pod that changes as text and as SVG under {@code target/}.
 *
 * <pre>mvn -q compile exec:java</pre>
 */
public final class Quickstart {

  private static final Path DATA = Path.of("examples", "data");

  private Quickstart() {}

  public static void main(String[] args) throws IOException {
    CpSatFormulation.preload(); // loads native code while data is read, not within the first solve
    SlicePlanner planner = SlicePlanner.create();
    for (String name : List.of("v5p-pod", "v6e-pods", "tpu7x-block")) {
      Snapshot problem = Snapshot.read(Files.newInputStream(DATA.resolve(name + ".json")));
      Fleet fleet = problem.fleet();

      Plan plan =
          planner.plan(
              fleet,
              problem.requests(),
              problem.rules(),
              SolveBudget.within(Duration.ofSeconds(5))); // or less: a proof ends it

      System.out.println("=".repeat(100) + "\n" + name + ": " + fleet + "\n");
      System.out.println(PlanText.of(problem.requests(), plan));
      show(name, fleet, plan);
      System.out.printf(
          Locale.ROOT,
          "%s: planned in %.1f ms, gap %.4f, %s%n%n",
          name,
          plan.time().toNanos() / 1e6,
          plan.gap(),
          plan.stopped());
    }
  }

  /** Draws every pod that the plan changes: two as text, all of them as SVG. */
  private static void show(String name, Fleet fleet, Plan plan) throws IOException {
    TreeSet<String> changed = new TreeSet<>();
    plan.placements().forEach(p -> p.slices().forEach(s -> changed.add(s.pod())));
    plan.moves().forEach(m -> changed.addAll(List.of(m.from().pod(), m.to().pod())));
    plan.evictions().forEach(e -> e.slices().forEach(s -> changed.add(s.pod())));
    Path directory = Path.of("target", "quickstart");
    Files.createDirectories(directory);
    int shown = 0;
    for (String id : changed) {
      Pod pod = fleet.pod(id).orElseThrow();
      if (shown++ < 2) {
        System.out.println(PodPicture.after(pod, plan).text());
      }
      String file = changed.size() == 1 ? name : id.replaceAll("[^a-zA-Z0-9-]", "_");
      Path svg = directory.resolve(file + ".svg");
      Files.writeString(svg, PodPicture.beforeAndAfter(pod, plan).svg());
      System.out.println("before and after: " + svg + "\n");
    }
  }
}
