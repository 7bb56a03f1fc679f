package dev.slicewright.kubernetes;

import dev.slicewright.fleet.EffectiveHealth;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Reason;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Why a request waits, counted in what operators think in: cubes of a block, partitions of its
 * shape, node pools. What can be placed counts, not chips that are free in pieces. Confined to one
 * thread at a time.
 */
final class UnplacedWords {

  private final Cluster cluster;
  private final Plan plan;
  private final Map<String, SliceRequest> requests = new HashMap<>();
  private @Nullable Fleet after;

  UnplacedWords(Cluster cluster, Plan plan) {
    this.cluster = cluster;
    this.plan = plan;
    cluster.requests().forEach(request -> requests.put(request.id(), request));
    cluster.workloads().forEach(w -> requests.putIfAbsent(w.request().id(), w.request()));
  }

  /** One or two sentences: what it needs and what there is, then the planner's own. */
  String of(Unplaced unplaced) {
    SliceRequest request = requests.get(unplaced.request());
    if (request == null || unplaced.never() && unplaced.reason() != Reason.OVER_CAPACITY) {
      return unplaced.sentence();
    }
    Fleet fleet = fleet(unplaced.reason());
    return best(request, fleet).map(tally -> tally.sentence(request) + " ").orElse("")
        + unplaced.sentence();
  }

  /** As the plan leaves it, where what the plan does is the reason. */
  private Fleet fleet(Reason reason) {
    if (reason != Reason.OUTRANKED && reason != Reason.FRAGMENTED) {
      return cluster.fleet();
    }
    Fleet fleet = after;
    if (fleet == null) {
      fleet = plan.applyTo(cluster.fleet());
      after = fleet;
    }
    return fleet;
  }

  /** How the units of one pod, or of all pods that are one unit each, stand. */
  private record Tally(
      String unit, String where, Shape shape, long needed, int free, int used, int failed,
      int cordoned, int held, long idleChips) {

    int all() {
      return free + used + failed + cordoned + held;
    }

    String sentence(SliceRequest request) {
      StringBuilder text = new StringBuilder("needs ");
      if (request.slices() > 1) {
        text.append(request.slices()).append(" slices of ");
      }
      text.append(count(needed, unit));
      text.append(needed > 1 ? " in one block for " : " for ").append(shape);
      text.append("; ").append(free).append(" of ").append(all()).append(free == 1 ? " is" : " are");
      text.append(" free ").append(where);
      List<String> rest = new ArrayList<>();
      add(rest, used, "in use");
      add(rest, failed, request.healthyOnly() ? "not healthy" : "failed");
      add(rest, cordoned, "cordoned");
      add(rest, held, "held for others");
      if (!rest.isEmpty()) {
        text.append(" (").append(String.join(", ", rest)).append(')');
      }
      if (free < needed && idleChips >= needed * chipsPerUnit()) {
        text.append(", though ").append(count(idleChips, "chip")).append(" are free in pieces");
      }
      return text.append('.').toString();
    }

    private long chipsPerUnit() {
      return shape.chips() / Math.max(1, needed);
    }

    private static void add(List<String> rest, int number, String word) {
      if (number > 0) {
        rest.add(number + " " + word);
      }
    }
  }

  static String count(long number, String noun) {
    return String.format(Locale.ROOT, "%,d ", number) + noun + (number == 1 ? "" : "s");
  }

  /** The pod that comes nearest to it; pods that are one slice each are counted together. */
  private Optional<Tally> best(SliceRequest request, Fleet fleet) {
    Tally best = null;
    Tally pools = null;
    for (Pod pod : fleet.pods()) {
      Domain domain = cluster.domains().domain(pod.id()).orElse(null);
      Shape shape = domain == null || !matches(request, pod) ? null : shape(request, pod.topology());
      if (shape == null) {
        continue;
      }
      Tally tally = tally(request, pod, domain, shape);
      if (tally == null) {
        continue;
      }
      if (domain.kind() == Domain.Kind.POOL || domain.kind() == Domain.Kind.NODE) {
        pools = pools == null ? tally : sum(pools, tally);
      } else if (best == null || missing(tally) < missing(best)) {
        best = tally;
      }
    }
    return Optional.ofNullable(best == null ? pools : best);
  }

  private static long missing(Tally tally) {
    return tally.needed() - tally.free();
  }

  private static Tally sum(Tally a, Tally b) {
    return new Tally(
        a.unit(),
        "in all",
        a.shape(),
        a.needed(),
        a.free() + b.free(),
        a.used() + b.used(),
        a.failed() + b.failed(),
        a.cordoned() + b.cordoned(),
        a.held() + b.held(),
        0);
  }

  private static @Nullable Shape shape(SliceRequest request, TpuTopology topology) {
    List<Shape> shapes =
        request.shapes().isEmpty() ? topology.shapesFor(request.chips()) : request.shapes();
    for (Shape shape : shapes) {
      if (topology.isLegal(shape)) {
        return topology.platformForm(shape);
      }
    }
    return null;
  }

  /** As the planner matches pods. */
  private static boolean matches(SliceRequest request, Pod pod) {
    Map<String, String> labels = pod.labels();
    String accelerator = pod.topology().accelerator().name();
    return (request.accelerators().isEmpty() || request.accelerators().contains(accelerator))
        && request.pod().map(pod.id()::equals).orElse(true)
        && request.requiredLabels().entrySet().stream()
            .allMatch(label -> label.getValue().equals(labels.get(label.getKey())))
        && request.forbiddenLabels().entrySet().stream()
            .noneMatch(label -> has(label.getValue(), labels.get(label.getKey())));
  }

  private static boolean has(Set<String> values, @Nullable String value) {
    return value != null && values.contains(value);
  }

  private @Nullable Tally tally(SliceRequest request, Pod pod, Domain domain, Shape shape) {
    TpuTopology topology = pod.topology();
    List<Footprint> units = new ArrayList<>();
    long needed = 1;
    String unit = shape + " partition";
    if (domain.kind() == Domain.Kind.POOL || domain.kind() == Domain.Kind.NODE) {
      unit = domain.kind() == Domain.Kind.POOL ? "node pool" : "node";
      return stand(request, pod, unit, shape, 1, List.of(), "in all");
    }
    if (topology.cubesOf(shape) > 0) {
      needed = topology.cubesOf(shape);
      unit = "cube";
      for (int i = 0; i < topology.cubeCount(); i++) {
        units.add(new Footprint.Cubes(List.of(new CubeId(i))));
      }
    } else if (topology.partitions().isPresent()) {
      for (PartitionId id : topology.partitions().get().ofShape(shape)) {
        units.add(new Footprint.Partition(id));
      }
    } else {
      return null;
    }
    return stand(request, pod, unit, shape, needed, units, "in " + domain.id());
  }

  /** How units of a pod stand; the whole pod where there are none. */
  private Tally stand(
      SliceRequest request,
      Pod pod,
      String unit,
      Shape shape,
      long needed,
      List<Footprint> units,
      String where) {
    TpuTopology topology = pod.topology();
    EffectiveHealth health = pod.health();
    CellSet held = held(request, pod);
    int[] counts = new int[5];
    if (units.isEmpty()) {
      int[] cells = new int[topology.cellCount()];
      java.util.Arrays.setAll(cells, i -> i);
      boolean sound = !health.failedCells().containsAny(cells);
      counts[state(pod, held, cells, sound)]++;
    }
    for (Footprint footprint : units) {
      int[] cells = topology.cells(footprint);
      Health state = health.of(topology, footprint, cells);
      boolean sound =
          state == Health.HEALTHY || state == Health.DEGRADED && !request.healthyOnly();
      counts[state(pod, held, cells, sound)]++;
    }
    return new Tally(
        unit, where, shape, needed, counts[0], counts[1], counts[2], counts[3], counts[4],
        pod.freeChips());
  }

  /** 0 free, 1 in use, 2 failed, 3 cordoned, 4 held: the first that applies from 2, 1, 3, 4. */
  private static int state(Pod pod, CellSet held, int[] cells, boolean sound) {
    return !sound
        ? 2
        : pod.busy().containsAny(cells)
            ? 1
            : pod.cordonedCells().containsAny(cells) ? 3 : held.containsAny(cells) ? 4 : 0;
  }

  private CellSet held(SliceRequest request, Pod pod) {
    CellSet cells = CellSet.empty(pod.topology().cellCount());
    for (Hold hold : pod.holds()) {
      if (hold.isLive(plan.rules().now()) && !hold.request().equals(request.id())) {
        cells = cells.with(pod.topology().cells(hold.footprint()));
      }
    }
    return cells;
  }
}
