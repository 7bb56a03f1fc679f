package dev.slicewright.bench;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.plan.Plan;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** Fleets and batches that several benchmarks share; equal seeds give equal ones. */
final class Situations {

  private static final List<Shape> V6E =
      List.of(
          Shape.of(2, 4),
          Shape.of(4, 4),
          Shape.of(4, 8),
          Shape.of(8, 8),
          Shape.of(8, 16),
          Shape.of(16, 16));

  private static final int[] V6E_SHARES = {30, 25, 20, 15, 8, 2};

  private Situations() {}

  /** A shape of the six that v6e pods are sub-sliced into. */
  static Shape drawV6e(SplittableRandom random) {
    int at = random.nextInt(100);
    for (int i = 0; i < V6E.size(); i++) {
      at -= V6E_SHARES[i];
      if (at < 0) {
        return V6E.get(i);
      }
    }
    return V6E.get(0);
  }

  /** A shape for a pod: of the six on v6e, else of the eight mixed ones. */
  static Shape draw(TpuTopology topology, SplittableRandom random) {
    return topology.dims().rank() == 2 ? drawV6e(random) : Churn.draw(random);
  }

  /** A fleet filled to about half by the planner, then thinned at random and filled again. */
  static Fleet half(List<TpuTopology> topologies, SplittableRandom random) {
    return filled(topologies, random, 0.5);
  }

  static Fleet filled(List<TpuTopology> topologies, SplittableRandom random, double load) {
    Fleet.Builder b = Fleet.builder();
    long chips = 0;
    for (int i = 0; i < topologies.size(); i++) {
      b.pod(String.format(java.util.Locale.ROOT, "pod-%02d", i), topologies.get(i));
      chips += topologies.get(i).chipCount();
    }
    Fleet fleet = b.build();
    SlicePlanner planner = SlicePlanner.builder().formulations(List.of()).build();
    SolveBudget budget = SolveBudget.within(Duration.ofSeconds(2));
    long used = 0;
    int n = 0;
    // Over-fill by a third of the load, then release at random down to it.
    while (used < chips * load * 1.3 && n < 20_000) {
      SliceRequest request =
          SliceRequest.builder("run-" + n++).shape(draw(topologies.get(0), random)).build();
      Plan plan = planner.plan(fleet, List.of(request), budget);
      if (plan.placements().isEmpty()) {
        break;
      }
      fleet = plan.applyTo(fleet);
      used += plan.placements().get(0).chips();
    }
    List<String> ids = new ArrayList<>();
    fleet.running().forEach(s -> ids.add(s.id().request()));
    while (used > chips * load && !ids.isEmpty()) {
      String id = ids.remove(random.nextInt(ids.size()));
      used -= fleet.runningOf(id).get(0).shape().chips();
      fleet = fleet.release(id);
    }
    return fleet;
  }

  /** A batch of lone requests with shapes drawn for a topology. */
  static List<SliceRequest> batch(TpuTopology topology, int size, SplittableRandom random) {
    List<SliceRequest> batch = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      batch.add(
          SliceRequest.builder(String.format(java.util.Locale.ROOT, "want-%03d", i))
              .shape(draw(topology, random))
              .build());
    }
    return batch;
  }
}
