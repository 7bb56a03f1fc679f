package dev.slicewright.bench;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;

/** Empty v6e pods: nested partitions, or free boxes. Stateless. */
final class FlatFamilies {

  private FlatFamilies() {}

  static BenchProblem nested(long seed) {
    return make("nested-v6e", seed, 64, TpuTopology.v6e(), 500);
  }

  static BenchProblem boxes(long seed) {
    return make(
        "boxes-v6e", seed, 16, TpuTopology.builder(AcceleratorType.V6E).boxes().build(), 200);
  }

  private static BenchProblem make(
      String family, long seed, int pods, TpuTopology topology, int wanted) {
    SplittableRandom random = TorusFamilies.random(family, seed);
    Fleet.Builder fleet = Fleet.builder();
    for (int p = 0; p < pods; p++) {
      fleet.pod(String.format(Locale.ROOT, "pod-%02d", p), topology);
    }
    List<SliceRequest> requests = new ArrayList<>();
    while (requests.size() < wanted) {
      requests.add(TorusFamilies.want(requests.size(), Mix.V6E.draw(random)));
    }
    return new BenchProblem(family, seed, fleet.build(), requests);
  }
}
