package dev.slicewright.plan;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SliceId;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** A problem of the tests in this package, and plans for it. */
record Case(Fleet fleet, List<SliceRequest> requests, PlanningRules rules, CostTerms cost) {

  static Case of(Fleet fleet, SliceRequest... requests) {
    return new Case(fleet, List.of(requests), PlanningRules.NONE, CostTerms.DEFAULT);
  }

  Case with(PlanningRules newRules) {
    return new Case(fleet, requests, newRules, cost);
  }

  Case with(CostTerms newCost) {
    return new Case(fleet, requests, rules, newCost);
  }

  Case with(Fleet newFleet) {
    return new Case(newFleet, requests, rules, cost);
  }

  Plan.Builder plan() {
    return Plan.builder(fleet.version(), rules);
  }

  /** A score of these values with trivial bounds. */
  Score score(long... values) {
    List<Level> levels = ObjectiveLevels.of(fleet, requests, rules, cost);
    assertThat(levels).hasSameSizeAs(values);
    List<Score.LevelScore> scores = new ArrayList<>();
    for (int i = 0; i < values.length; i++) {
      long bound = PlanVerifier.trivialBound(fleet, requests, rules, levels.get(i));
      scores.add(new Score.LevelScore(levels.get(i), values[i], bound, new Proof.Trivial(), null));
    }
    return new Score(scores);
  }

  Placement slice(SliceRequest request, int index, String pod, String shape, Footprint footprint) {
    return slice(request, index, pod, shape, footprint, Twist.NONE);
  }

  Placement slice(
      SliceRequest request, int index, String pod, String shape, Footprint at, Twist twist) {
    TpuTopology topology = fleet.pod(pod).orElseThrow().topology();
    return new Placement(
        new SliceId(request.id(), index), pod, topology, Shape.parse(shape), at, twist);
  }

  RequestPlacement one(SliceRequest request, String pod, String shape, Footprint footprint) {
    return all(request, 0, slice(request, 0, pod, shape, footprint));
  }

  static RequestPlacement all(SliceRequest request, int rank, Placement... slices) {
    return new RequestPlacement(request, List.of(slices), rank);
  }

  static Unplaced unplaced(SliceRequest request) {
    return new Unplaced(
        request.id(), Reason.OUTRANKED, false, Unplaced.Evidence.of(0), "Others took the room.");
  }

  static RunningSlice running(
      SliceRequest request, int index, String pod, String shape, Footprint footprint) {
    return RunningSlice.builder(request, index, pod, Shape.parse(shape), footprint).build();
  }

  static Footprint box(String extents, int... at) {
    return new Footprint.Box(
        new Chip(at[0], at[1], at.length > 2 ? at[2] : 0), Shape.parse(extents));
  }

  static Footprint cubes(int... cubes) {
    return new Footprint.Cubes(Arrays.stream(cubes).mapToObj(CubeId::new).toList());
  }

  /** The nth partition of a shape. */
  static Footprint partition(TpuTopology topology, String shape, int nth) {
    PartitionForest forest = topology.partitions().orElseThrow();
    Shape sorted = Shape.parse(shape).sorted();
    return new Footprint.Partition(
        IntStream.range(0, forest.size())
            .mapToObj(PartitionId::new)
            .filter(id -> forest.shape(id).sorted().equals(sorted))
            .skip(nth)
            .findFirst()
            .orElseThrow());
  }

  List<PlanVerifier.Violation> verify(Plan plan) {
    return PlanVerifier.verify(fleet, requests, rules, cost, plan);
  }

  void accepts(Plan plan) {
    assertThat(verify(plan)).isEmpty();
  }

  /** The verifier names what is wrong, at the place where it is. */
  void rejects(Plan plan, String path, String message) {
    assertThat(verify(plan))
        .anySatisfy(
            v -> {
              assertThat(v.path()).startsWith(path);
              assertThat(v.message()).contains(message);
            });
  }
}
