package dev.slicewright.bench;

import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * First fit: requests by priority, then as given; each to the first position that is free. A
 * request or gang of which a part does not fit is not placed at all. Whole cubes go to the first
 * pod that has enough. Confined to one thread at a time.
 */
final class FirstFitEngine implements Engine {

  @Override
  public String name() {
    return "first-fit";
  }

  @Override
  public Outcome solve(BenchProblem p, Limits limits) {
    long since = System.nanoTime();
    long deadline = limits.deadlineNanos();
    Run run = new Run(p, new Positions(p.fleet()));
    boolean inTime = Queue.units(p).stream().allMatch(unit -> run.unit(unit, deadline));
    return Outcome.of(since, inTime ? Outcome.DONE : Outcome.DEADLINE, run.placed, null);
  }

  private static final class Run {
    final BenchProblem p;
    final Positions at;
    final BitSet taken;
    final Placing[] placed;
    final Quotas quotas;
    final Set<Shape> full = new HashSet<>(); // found no room

    Run(BenchProblem p, Positions at) {
      this.p = p;
      this.at = at;
      this.taken = (BitSet) at.blocked.clone();
      this.placed = new Placing[p.requests().size()];
      this.quotas = new Quotas(p);
    }

    /** Places requests that go together; false if time is up. */
    boolean unit(List<Integer> unit, long deadline) {
      if (System.nanoTime() > deadline) {
        return false;
      }
      List<Integer> mine = new ArrayList<>();
      boolean all = true;
      for (int r : unit) {
        SliceRequest request = p.requests().get(r);
        if (!quotas.allows(request)) {
          all = false;
          break;
        }
        List<String> pods = new ArrayList<>();
        List<Footprint> footprints = new ArrayList<>();
        for (int s = 0; s < request.slices() && all; s++) {
          all = slice(request, pods, footprints, mine);
        }
        if (!all) {
          break;
        }
        quotas.add(request, 1);
        placed[r] = new Placing(Positions.shape(request), pods, footprints);
      }
      if (!all) {
        if (!mine.isEmpty()) {
          mine.forEach(taken::clear);
          full.clear();
        }
        for (int r : unit) {
          if (placed[r] != null) {
            quotas.add(p.requests().get(r), -1);
            placed[r] = null;
          }
        }
      }
      return true;
    }

    private boolean slice(
        SliceRequest request, List<String> pods, List<Footprint> footprints, List<Integer> mine) {
      int cubes = at.cubes(request);
      if (cubes > 0) {
        return whole(cubes, pods, footprints, mine);
      }
      // Room only shrinks, but where a gang gives back what it had.
      if (full.contains(Positions.shape(request))) {
        return false;
      }
      Positions.Position position = at.first(request, taken);
      if (position == null) {
        full.add(Positions.shape(request));
        return false;
      }
      pods.add(at.pods.get(position.pod()).id());
      footprints.add(position.footprint());
      for (int cell : position.cells()) {
        taken.set(cell);
        mine.add(cell);
      }
      return true;
    }

    private boolean whole(
        int cubes, List<String> pods, List<Footprint> footprints, List<Integer> mine) {
      for (int pod = 0; pod < at.pods.size(); pod++) {
        int per = at.pods.get(pod).topology().hostsPerCube();
        List<CubeId> found = new ArrayList<>();
        for (int cube : at.freeCubes(pod)) {
          int first = at.firstCell[pod] + at.pods.get(pod).topology().firstCell(new CubeId(cube));
          if (found.size() < cubes && taken.get(first, first + per).isEmpty()) {
            found.add(new CubeId(cube));
          }
        }
        if (found.size() == cubes) {
          pods.add(at.pods.get(pod).id());
          footprints.add(new Footprint.Cubes(found));
          for (CubeId cube : found) {
            int first = at.firstCell[pod] + at.pods.get(pod).topology().firstCell(cube);
            for (int cell = first; cell < first + per; cell++) {
              taken.set(cell);
              mine.add(cell);
            }
          }
          return true;
        }
      }
      return false;
    }
  }
}
