package dev.slicewright.solve;

import dev.slicewright.SliceId;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.CountedRepairs;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.search.PodSpace;
import dev.slicewright.search.PodSpace.Spot;
import dev.slicewright.search.Want;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Names places for what {@link CountedRepairs} has counted. Confined to one thread at a time.
 *
 * <p>Slices of whole cubes first keep the cubes of theirs that work, then take what they lack; then
 * partitions by falling size, those that can hold on to hosts of theirs first. Sizes divide each
 * other, so taking the best fit by falling size finds a place for all that was counted (Coffman,
 * Garey and Johnson, Journal of Complexity 3, 1987, doi:10.1016/0885-064X(87)90009-4). O(slices × a
 * search for a place).
 */
final class Repair {

  private record Mover(
      Instance.Free free, RunningSlice slice, int pod, Shape shape, @Nullable Set<CubeId> kept) {}

  private final Instance in;
  private final Map<Integer, PodSpace> spaces = new HashMap<>();
  private final Set<SliceId> leaving = new LinkedHashSet<>();
  private final Solution out;

  private Repair(Instance in) {
    this.in = in;
    this.out = Solution.nothing(in.demands.size());
  }

  /** The solution, or null where some slice finds no place, or rules that were not counted bind. */
  static @Nullable Solution of(Instance in, CountedRepairs counted) {
    Map<SliceId, Instance.Free> frees = new HashMap<>();
    Map<SliceId, RunningSlice> slices = new HashMap<>();
    for (Instance.Free free : in.free) {
      for (RunningSlice slice : free.slices()) {
        frees.put(slice.id(), free);
        slices.put(slice.id(), slice);
      }
    }
    Repair repair = new Repair(in);
    List<Mover> movers = new ArrayList<>();
    for (CountedRepairs.Step step : counted.steps()) {
      Instance.Free free = frees.get(step.slice());
      RunningSlice slice = slices.get(step.slice());
      if (free == null || slice == null) {
        return null;
      }
      if (step.evicted() && free.request().gang().isPresent()) {
        return null; // who else of its gang runs was not counted
      }
      if (step.evicted()) {
        repair.out.evicted().add(free.request().id());
      } else if (!step.pod().isEmpty()) {
        int pod = in.podOf(step.pod());
        boolean loose =
            free.slices().size() == 1 || free.request().spread().kind() == Spread.Kind.ANY;
        boolean same = step.pod().equals(slice.pod());
        if (same
            && free.drained()[free.slices().indexOf(slice)] == 0
            && !free.broken()[free.slices().indexOf(slice)]
            && step.shape().sorted().equals(slice.shape().sorted())) {
          continue; // it may as well stay
        }
        boolean sameRoom = same && step.shape().chips() <= slice.shape().chips();
        if (!(loose || same && in.keepsSpread(free)) || !(in.limits.isEmpty() || sameRoom)) {
          return null;
        }
        movers.add(new Mover(free, slice, pod, step.shape(), null));
      }
    }
    return repair.place(movers) ? repair.out : null;
  }

  private PodSpace space(int pod) {
    return spaces.computeIfAbsent(
        pod,
        p -> {
          PodSpace space = PodSpace.of(in.pods.get(p), in.rules.now(), false);
          for (SliceId id : leaving) {
            RunningSlice slice = in.fleet.running(id).orElseThrow();
            if (in.podOf(slice.pod()) == p) {
              space.setTaken(slice.footprint(), false);
            }
          }
          return space;
        });
  }

  private boolean place(List<Mover> movers) {
    for (Mover mover : movers) {
      leaving.add(mover.slice().id());
    }
    for (Instance.Free free : in.free) {
      if (out.evicted().contains(free.request().id())) {
        free.slices().forEach(slice -> leaving.add(slice.id()));
      }
    }
    List<Mover> cubes = new ArrayList<>();
    List<Mover> others = new ArrayList<>();
    for (Mover mover : movers) {
      TpuTopology t = in.pods.get(mover.pod()).topology();
      if (t.cubesOf(mover.shape()) > 0) {
        cubes.add(keep(mover, t.cubesOf(mover.shape())));
      } else {
        others.add(mover);
      }
    }
    for (Mover mover : cubes) {
      if (!fill(mover)) {
        return false;
      }
    }
    // A slice that shrinks where it is goes before others of its new size.
    others.sort(
        Comparator.comparingLong((Mover m) -> m.shape().chips())
            .reversed()
            .thenComparing(m -> !shrinksAtHome(m)));
    for (Mover mover : others) {
      if (!put(mover)) {
        return false;
      }
    }
    return true;
  }

  private boolean shrinksAtHome(Mover m) {
    return m.shape().chips() < m.slice().shape().chips() && in.podOf(m.slice().pod()) == m.pod();
  }

  /** Takes the cubes that a slice holds already and may keep. */
  private Mover keep(Mover mover, int count) {
    Set<CubeId> kept = new LinkedHashSet<>();
    Pod pod = in.pods.get(mover.pod());
    if (pod.id().equals(mover.slice().pod())
        && mover.slice().footprint() instanceof Footprint.Cubes cubes) {
      for (CubeId cube : cubes.cubes()) {
        Footprint alone = new Footprint.Cubes(List.of(cube));
        Health health = pod.healthOf(alone);
        boolean works =
            health == Health.HEALTHY
                || health == Health.DEGRADED && !mover.slice().request().healthyOnly();
        if (works
            && kept.size() < count
            && !pod.cordonedCells().containsAny(pod.topology().cells(alone))) {
          space(mover.pod()).setTaken(alone, true);
          kept.add(cube);
        }
      }
    }
    return new Mover(mover.free(), mover.slice(), mover.pod(), mover.shape(), kept);
  }

  /** Adds cubes up to the number that a slice needs; those it keeps stay in their places. */
  private boolean fill(Mover mover) {
    SliceRequest request = mover.slice().request();
    Pod pod = in.pods.get(mover.pod());
    PodSpace space = space(mover.pod());
    Set<CubeId> kept = mover.kept() == null ? Set.of() : mover.kept();
    int count = pod.topology().cubesOf(mover.shape());
    int want = space.register(Want.cubeOf(request, pod, in.rules.now()));
    List<CubeId> more = new ArrayList<>();
    while (kept.size() + more.size() < count) {
      Spot spot = space.find(want, null);
      if (spot == null) {
        return false;
      }
      space.take(spot);
      more.add(((Footprint.Cubes) spot.footprint()).cubes().get(0));
    }
    List<CubeId> now = new ArrayList<>();
    boolean sameCount =
        mover.slice().footprint() instanceof Footprint.Cubes had && had.cubes().size() == count;
    if (sameCount && mover.slice().footprint() instanceof Footprint.Cubes had) {
      int next = 0;
      for (CubeId cube : had.cubes()) {
        now.add(kept.contains(cube) ? cube : more.get(next++));
      }
    } else {
      now.addAll(kept);
      now.addAll(more);
    }
    record(mover, new Footprint.Cubes(now));
    return true;
  }

  private boolean put(Mover mover) {
    Pod pod = in.pods.get(mover.pod());
    PodSpace space = space(mover.pod());
    int want = space.register(Want.of(mover.slice().request(), mover.shape(), pod, in.rules.now()));
    if (shrinksAtHome(mover)) {
      Footprint own = atHome(space, want, mover);
      if (own != null) {
        space.setTaken(own, true);
        record(mover, own);
        return true;
      }
    }
    Spot spot = space.find(want, null);
    if (spot == null) {
      return false;
    }
    space.take(spot);
    record(mover, spot.footprint());
    return true;
  }

  /** The place that keeps most of the hosts that a slice holds. */
  private @Nullable Footprint atHome(PodSpace space, int want, Mover mover) {
    if (want < 0) {
      return null;
    }
    Footprint[] best = new Footprint[1];
    long[] least = {in.pods.get(mover.pod()).topology().hostsOf(mover.shape())};
    space.forEachCandidate(
        want,
        where -> {
          long fresh =
              Values.newHosts(
                  in, mover.slice(), new Solution.Target(mover.pod(), mover.shape(), where));
          if (fresh < least[0]) {
            least[0] = fresh;
            best[0] = where;
          }
        });
    return best[0];
  }

  private void record(Mover mover, Footprint where) {
    out.moved().put(mover.slice().id(), new Solution.Target(mover.pod(), mover.shape(), where));
  }
}
