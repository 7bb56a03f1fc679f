package dev.slicewright.solve;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomFleets.Instance;
import dev.slicewright.topology.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;

/** Random problems small enough to enumerate, with what ties running slices as well. Stateless. */
final class TinyProblems {
  private TinyProblems() {}

  /** The problem of a seed, of pods of some kinds. */
  static Instance of(long seed, Set<RandomFleets.Kind> kinds) {
    SplittableRandom random = new SplittableRandom(~seed);
    Instance i =
        RandomFleets.instance(
            seed,
            RandomFleets.Limits.DEFAULT
                .kinds(kinds)
                .pods(1 + random.nextInt(2))
                .requests(1 + random.nextInt(3))
                .running(random.nextInt(4))
                .faults(random.nextInt(4))
                .holds(random.nextInt(3)));
    return new Instance(
        i.seed(), i.limits(), tied(i.fleet(), random), i.requests(), i.rules(), i.cost());
  }

  /** The fleet with gangs, spreads, wraps and further shapes for some of what runs. */
  private static Fleet tied(Fleet fleet, SplittableRandom random) {
    Set<String> ids = new TreeSet<>();
    fleet.running().forEach(s -> ids.add(s.id().request()));
    Fleet changed = fleet;
    for (String id : ids) {
      List<RunningSlice> slices = changed.runningOf(id);
      RunningSlice first = slices.get(0);
      SliceRequest.Builder b = first.request().toBuilder();
      if (random.nextInt(3) == 0 && first.request().chips() == 0) {
        List<Shape> more =
            fleet.pod(first.pod()).orElseThrow().topology().legalShapes().stream()
                .filter(s -> !s.sorted().equals(first.shape().sorted()))
                .toList();
        if (!more.isEmpty()) {
          b.shape(more.get(random.nextInt(more.size())));
        }
      }
      if (random.nextInt(4) == 0) {
        b.gang("run-gang");
      }
      switch (random.nextInt(8)) {
        case 0 -> b.spread(Spread.samePod());
        case 1 -> b.spread(Spread.differentPods());
        case 2 -> b.spread(Spread.atMost(1, random.nextBoolean() ? "zone" : ""));
        case 3 -> b.interconnect(Interconnect.WRAPAROUND);
        case 4 -> b.interconnect(Interconnect.TWISTED);
        case 5 -> b.mayTurn(false);
        default -> {}
      }
      SliceRequest request = b.build();
      List<RunningSlice> again = new ArrayList<>();
      for (RunningSlice s : slices) {
        RunningSlice.Builder r =
            RunningSlice.builder(request, s.id().index(), s.pod(), s.shape(), s.footprint())
                .twist(s.twist())
                .leaving(s.leaving());
        s.startedAt().ifPresent(r::startedAt);
        s.checkpointAt().ifPresent(r::checkpointAt);
        s.restartTime().ifPresent(r::restartTime);
        again.add(r.build());
      }
      changed = changed.release(id);
      for (RunningSlice s : again) {
        changed = changed.place(s);
      }
    }
    return changed;
  }
}
