package dev.slicewright.bench;

import dev.slicewright.request.SliceRequest;
import dev.slicewright.simulate.SlurmPods;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;

/**
 * A queue, by priority and then as given, in front of the Slurm torus3d rule: the toruses list the
 * shapes of the batch in every allowed turn. Confined to one thread at a time.
 *
 * <p>Platforms that list partitions or join cubes are modelled with anchors as far apart as a
 * placement is long, since no other place can be a slice: a pod of nested partitions is one torus,
 * a cube is one torus, and n cubes are a job of n segments of a cube, each in the torus with the
 * fewest idle nodes. The partitions of one shape are the anchors of its placement, and those that
 * spoil the fewest wholly idle partitions of the next larger size go first.
 */
final class SlurmEngine implements Engine {

  private final String name;
  private final boolean dense;

  SlurmEngine(String name, boolean dense) {
    this.name = name;
    this.dense = dense;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Optional<String> whyNot(BenchProblem p) {
    if (p.requests().stream().anyMatch(r -> r.gang().isPresent() || r.slices() > 1)) {
      return Optional.of(
          "a job is one set of segments of one shape, so gangs of several jobs and multislices of"
              + " several cubes each have no such model.");
    }
    if (dense && !isBoxes(p)) {
      return Optional.of(
          "where the platform lists the partitions, anchors stand where those do; see"
              + " slurm-aligned.");
    }
    return Optional.empty();
  }

  private static boolean isBoxes(BenchProblem p) {
    return p.fleet().pods().stream()
        .allMatch(pod -> pod.topology().slicing() instanceof Slicing.TorusBoxes);
  }

  @Override
  public Outcome solve(BenchProblem p, Limits limits) {
    long since = System.nanoTime();
    long deadline = limits.deadlineNanos();
    Placing[] placed = new Placing[p.requests().size()];
    boolean boxes = isBoxes(p);
    Boxes onBoxes = boxes ? new Boxes(p) : null;
    Parts onParts = boxes ? null : new Parts(p);
    Quotas quotas = new Quotas(p);
    boolean inTime = true;
    for (List<Integer> unit : Queue.units(p)) {
      if (System.nanoTime() > deadline) {
        inTime = false;
        break;
      }
      int r = unit.get(0);
      SliceRequest request = p.requests().get(r);
      if (quotas.allows(request)) {
        placed[r] = boxes ? onBoxes.place(request) : onParts.place(request);
        if (placed[r] != null) {
          quotas.add(request, 1);
        }
      }
    }
    return Outcome.of(since, inTime ? Outcome.DONE : Outcome.DEADLINE, placed, null);
  }

  /** Pods of boxes. */
  private final class Boxes {
    final SlurmPods pods;

    Boxes(BenchProblem p) {
      List<Shape> shapes =
          p.requests().stream().map(Positions::shape).map(Shape::sorted).distinct().toList();
      this.pods = new SlurmPods(p.fleet(), shapes, dense);
    }

    Placing place(SliceRequest request) {
      SlurmPods.Place place = pods.place(Positions.shape(request));
      return place == null
          ? null
          : new Placing(Positions.shape(request), List.of(place.pod()), List.of(place.box()));
    }
  }

  /** Pods of nested partitions or cubes; a torus is a root of a pod's forest. */
  private static final class Parts {
    final Positions at;
    final BitSet taken;
    final List<int[]> idle = new ArrayList<>(); // by pod: idle cells of each root
    final List<int[]> rootOf = new ArrayList<>(); // by pod: the root of each cell
    final List<Shape> shapes; // those asked for, small first

    Parts(BenchProblem p) {
      this.at = new Positions(p.fleet());
      this.taken = (BitSet) at.blocked.clone();
      for (int pod = 0; pod < at.pods.size(); pod++) {
        TpuTopology t = at.pods.get(pod).topology();
        PartitionForest forest = t.partitions().orElseThrow();
        // What no slice may use is as a node that is down.
        if (!at.pods.get(pod).reportedHealth().isEmpty()) {
          for (int cell = 0; cell < t.cellCount(); cell++) {
            if (at.pods.get(pod).health().failedCells().contains(cell)) {
              taken.set(at.firstCell[pod] + cell);
            }
          }
        }
        int[] roots = new int[t.cellCount()];
        int[] free = new int[forest.roots().size()];
        for (int r = 0; r < free.length; r++) {
          PartitionId root = forest.roots().get(r);
          int first = forest.firstCell(root);
          for (int cell = first; cell < first + forest.cellCount(root); cell++) {
            roots[cell] = r;
            free[r] += taken.get(at.firstCell[pod] + cell) ? 0 : 1;
          }
        }
        rootOf.add(roots);
        idle.add(free);
      }
      this.shapes =
          p.requests().stream()
              .map(Positions::shape)
              .filter(s -> at.pods.get(0).topology().cubesOf(s) <= 1)
              .map(Shape::sorted)
              .distinct()
              .sorted(java.util.Comparator.comparingLong(Shape::chips))
              .toList();
    }

    Placing place(SliceRequest request) {
      Shape shape = Positions.shape(request);
      int cubes = at.cubes(request);
      if (cubes > 0) {
        return whole(shape, cubes);
      }
      Shape larger = null;
      for (Shape s : shapes) {
        if (larger == null && s.chips() > shape.chips()) {
          larger = s;
        }
      }
      int bestPod = -1;
      PartitionId best = null;
      int bestSpoilt = 0;
      int bestIdle = 0;
      for (int pod = 0; pod < at.pods.size(); pod++) {
        PartitionForest forest = at.pods.get(pod).topology().partitions().orElseThrow();
        for (PartitionId id : forest.ofShape(shape)) {
          if (!isFree(pod, forest, id)) {
            continue;
          }
          int room = idle.get(pod)[rootOf.get(pod)[forest.firstCell(id)]];
          if (best == null || room <= bestIdle || sameTorus(pod, id, bestPod, best)) {
            int spoilt = spoils(pod, forest, id, larger) ? 1 : 0;
            // Within a torus the spoilt ones count, between toruses the idle nodes do.
            boolean better =
                best == null
                    || (sameTorus(pod, id, bestPod, best) ? spoilt < bestSpoilt : room < bestIdle);
            if (better) {
              bestPod = pod;
              best = id;
              bestSpoilt = spoilt;
              bestIdle = room;
            }
          }
        }
      }
      if (best == null) {
        return null;
      }
      PartitionForest forest = at.pods.get(bestPod).topology().partitions().orElseThrow();
      int first = forest.firstCell(best);
      take(bestPod, first, forest.cellCount(best));
      return new Placing(
          shape, List.of(at.pods.get(bestPod).id()), List.of(new Footprint.Partition(best)));
    }

    private boolean sameTorus(int pod, PartitionId id, int otherPod, PartitionId other) {
      if (pod != otherPod) {
        return false;
      }
      PartitionForest forest = at.pods.get(pod).topology().partitions().orElseThrow();
      return rootOf.get(pod)[forest.firstCell(id)] == rootOf.get(pod)[forest.firstCell(other)];
    }

    private boolean isFree(int pod, PartitionForest forest, PartitionId id) {
      int first = at.firstCell[pod] + forest.firstCell(id);
      int next = taken.nextSetBit(first);
      return next < 0 || next >= first + forest.cellCount(id);
    }

    /** Whether the partition of a larger shape around one is wholly idle. */
    private boolean spoils(int pod, PartitionForest forest, PartitionId id, Shape larger) {
      if (larger == null) {
        return false;
      }
      for (PartitionId p = forest.parent(id).orElse(null);
          p != null;
          p = forest.parent(p).orElse(null)) {
        if (forest.shape(p).sorted().equals(larger)) {
          return isFree(pod, forest, p);
        }
      }
      return false;
    }

    private void take(int pod, int first, int cells) {
      taken.set(at.firstCell[pod] + first, at.firstCell[pod] + first + cells);
      idle.get(pod)[rootOf.get(pod)[first]] -= cells;
    }

    /** Segments go to wholly idle cubes, which all have the same idle nodes: the first ones. */
    private Placing whole(Shape shape, int cubes) {
      for (int pod = 0; pod < at.pods.size(); pod++) {
        TpuTopology t = at.pods.get(pod).topology();
        TreeSet<CubeId> found = new TreeSet<>();
        for (int cube : at.freeCubes(pod)) {
          int first = at.firstCell[pod] + t.firstCell(new CubeId(cube));
          if (found.size() < cubes && isIdle(first, t.hostsPerCube())) {
            found.add(new CubeId(cube));
          }
        }
        if (found.size() == cubes) {
          for (CubeId cube : found) {
            take(pod, t.firstCell(cube), t.hostsPerCube());
          }
          return new Placing(
              shape,
              List.of(at.pods.get(pod).id()),
              List.of(new Footprint.Cubes(List.copyOf(found))));
        }
      }
      return null;
    }

    private boolean isIdle(int first, int cells) {
      int next = taken.nextSetBit(first);
      return next < 0 || next >= first + cells;
    }
  }
}
