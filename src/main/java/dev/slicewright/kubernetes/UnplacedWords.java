package dev.slicewright.kubernetes;

import dev.slicewright.fleet.EffectiveHealth;
import dev.slicewright.fleet.Fleet;
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
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Why a request waits, counted in what operators think in: cubes of a block, partitions of its
 * shape, node pools. What can be placed counts, not chips that are free in pieces. Confined to one
 * thread at a time.
 */
final class UnplacedWords {

  /** How a unit stands: the first that applies, failed first. */
  private enum Standing {
    FAILED("failed", "what has failed is in order again"),
    USED("in use", "a slice ends"),
    CORDONED("cordoned", "nodes are uncordoned"),
    HELD("held for others", "a hold ends"),
    FREE("free", "");

    private final String words;
    private final String until; // it is free

    Standing(String words, String until) {
      this.words = words;
      this.until = until;
    }
  }

  private static final List<Standing> TAKEN =
      List.of(Standing.USED, Standing.FAILED, Standing.CORDONED, Standing.HELD);

  private static final Pattern POD = Pattern.compile("(?<!\\S)pod(s?)(?![^\\s,.;:])");

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

  /** One or two sentences: what it needs and what there is, then what that means. */
  String of(Unplaced unplaced) {
    SliceRequest request = requests.get(unplaced.request());
    String meaning = operators(unplaced.sentence());
    if (request == null || unplaced.never() && unplaced.reason() != Reason.OVER_CAPACITY) {
      return meaning;
    }
    Tally tally = best(request, fleet(unplaced.reason())).orElse(null);
    if (tally == null) {
      return meaning;
    }
    boolean counted = unplaced.reason() == Reason.NOT_ENOUGH_FREE && !unplaced.never();
    return tally.sentence(request.slices()) + " " + (counted ? tally.advice() : meaning);
  }

  /** A sentence of the planner's, whose pods are not those that its readers think of. */
  static String operators(String sentence) {
    return POD.matcher(sentence).replaceAll("TPU pod$1");
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

  /**
   * How the units of one pod stand, or of all pods that are one unit each.
   *
   * @param unit what is counted
   * @param where in which pod; empty for pods that are one unit each
   * @param needed units that each slice needs
   * @param counts how many of them are how
   * @param freeChips chips that are free there, in pieces of units too
   * @param fitting slices for which units are free, there and in other pods; negative if that
   *     depends on more
   */
  private record Tally(
      String unit,
      String where,
      Shape shape,
      long needed,
      Map<Standing, Integer> counts,
      long freeChips,
      long fitting) {

    int count(Standing standing) {
      return counts.getOrDefault(standing, 0);
    }

    int total() {
      return counts.values().stream().mapToInt(Integer::intValue).sum();
    }

    long missing() {
      return needed - count(Standing.FREE);
    }

    Tally plus(Tally other) {
      Map<Standing, Integer> sum = new EnumMap<>(Standing.class);
      sum.putAll(counts);
      other.counts.forEach((standing, n) -> sum.merge(standing, n, Integer::sum));
      return new Tally(unit, where, shape, needed, sum, freeChips + other.freeChips, -1);
    }

    Tally fitting(long slices) {
      return new Tally(unit, where, shape, needed, counts, freeChips, slices);
    }

    String sentence(int slices) {
      StringBuilder text = new StringBuilder("needs ");
      int free = count(Standing.FREE);
      long wanted = where.isEmpty() ? needed * slices : needed;
      if (wanted < needed * slices) {
        text.append(slices).append(" slices of ").append(shape).append(", each on ");
        text.append(UnplacedWords.count(needed, unit)).append(needed > 1 ? " of one block" : "");
        if (fitting >= 0) {
          text.append(", and there is room for ").append(fitting);
        }
        text.append("; of ").append(UnplacedWords.count(total(), unit)).append(where);
        text.append(", ").append(free);
      } else if (wanted <= total()) {
        text.append(wanted).append(" of ").append(UnplacedWords.count(total(), unit));
        text.append(where).append(" for ").append(shape).append("; ").append(free);
      } else {
        text.append(UnplacedWords.count(wanted, unit)).append(needed > 1 ? " of one block" : "");
        text.append(" for ").append(shape).append("; of ");
        text.append(UnplacedWords.count(total(), unit)).append(where).append(", ").append(free);
      }
      text.append(free == 1 ? " is free" : " are free");
      List<String> rest = new ArrayList<>();
      for (Standing standing : TAKEN) {
        if (count(standing) > 0) {
          rest.add(count(standing) + " " + standing.words);
        }
      }
      if (!rest.isEmpty()) {
        text.append(" (").append(String.join(", ", rest)).append(')');
      }
      if (free < needed && freeChips >= shape.chips()) {
        text.append(", though ")
            .append(UnplacedWords.count(freeChips, "chip"))
            .append(" are free in pieces");
      }
      return text.append('.').toString();
    }

    /** What it waits for: whatever is enough by itself, or else all of it. */
    String advice() {
      List<String> enough = new ArrayList<>();
      List<String> all = new ArrayList<>();
      for (Standing standing : TAKEN) {
        if (count(standing) > 0) {
          all.add(standing.until);
          if (count(standing) >= missing()) {
            enough.add(standing.until);
          }
        }
      }
      if (all.isEmpty()) {
        return "It waits for more nodes.";
      }
      return "It waits until "
          + (enough.isEmpty() ? String.join(", and ", all) : String.join(", or ", enough))
          + ".";
    }
  }

  static String count(long number, String noun) {
    return String.format(Locale.ROOT, "%,d ", number) + noun + (number == 1 ? "" : "s");
  }

  /** The pod that comes nearest to it; pods that are one slice each are counted together. */
  private Optional<Tally> best(SliceRequest request, Fleet fleet) {
    Tally best = null;
    Tally pools = null;
    long fitting = 0;
    for (Pod pod : fleet.pods()) {
      Domain domain = cluster.domains().domain(pod.id()).orElse(null);
      if (domain == null || pod.whyNot(request).isPresent()) {
        continue;
      }
      Tally tally = tally(request, pod, domain);
      if (tally != null && domain.isAtomic()) {
        pools = pools == null ? tally : pools.plus(tally);
      } else if (tally != null) {
        long here = tally.count(Standing.FREE) / tally.needed();
        fitting =
            switch (request.spread().kind()) {
              case SAME_POD -> Math.max(fitting, here);
              case DIFFERENT_PODS -> fitting + Math.min(1, here);
              default -> fitting + here;
            };
        if (best == null || tally.missing() < best.missing()) {
          best = tally;
        }
      }
    }
    return Optional.ofNullable(best == null ? pools : best.fitting(fitting));
  }

  /** How a pod stands for the first shape that it can form; null if it can form none. */
  private @Nullable Tally tally(SliceRequest request, Pod pod, Domain domain) {
    TpuTopology topology = pod.topology();
    List<Shape> shapes =
        request.shapes().isEmpty() ? topology.shapesFor(request.chips()) : request.shapes();
    for (Shape wanted : shapes) {
      List<int[]> units = units(topology, wanted, domain.isAtomic());
      if (topology.isLegal(wanted) && !units.isEmpty()) {
        Shape shape = topology.platformForm(wanted);
        long cubes = topology.cubesOf(shape);
        String unit =
            switch (domain.kind()) {
              case POOL -> "node pool";
              case NODE -> "node";
              case DYNAMIC, SUBSLICING -> cubes > 0 ? "cube" : "partition";
            };
        return new Tally(
            unit,
            domain.isAtomic() ? "" : " in " + domain.id(),
            shape,
            Math.max(1, cubes),
            counts(request, pod, units),
            domain.isAtomic() ? 0 : pod.freeChips(),
            -1);
      }
    }
    return null;
  }

  /** The cells of each unit that slices of a shape are made of. */
  private static List<int[]> units(TpuTopology topology, Shape shape, boolean whole) {
    List<int[]> units = new ArrayList<>();
    if (whole) {
      units.add(IntStream.range(0, topology.cellCount()).toArray());
    } else if (topology.cubesOf(shape) > 0) {
      for (int i = 0; i < topology.cubeCount(); i++) {
        units.add(topology.cells(new Footprint.Cubes(List.of(new CubeId(i)))));
      }
    } else if (topology.partitions().isPresent()) {
      for (PartitionId id : topology.partitions().get().ofShape(shape)) {
        units.add(topology.cells(new Footprint.Partition(id)));
      }
    }
    return units;
  }

  private Map<Standing, Integer> counts(SliceRequest request, Pod pod, List<int[]> units) {
    EffectiveHealth health = pod.health();
    Set<Integer> brokenCells = new HashSet<>();
    health.brokenCubes().forEach(cube -> brokenCells.add(pod.topology().firstCell(cube)));
    if (request.healthyOnly()) {
      health.degradedCubes().forEach(cube -> brokenCells.add(pod.topology().firstCell(cube)));
    }
    CellSet held = held(request, pod);
    Map<Standing, Integer> counts = new EnumMap<>(Standing.class);
    for (int[] cells : units) {
      boolean failed =
          health.failedCells().containsAny(cells)
              || request.healthyOnly() && health.degradedCells().containsAny(cells)
              || cells.length * pod.topology().chipsPerCell() == SlicePlaces.CUBE.chips()
                  && brokenCells.contains(cells[0]);
      Standing standing =
          failed
              ? Standing.FAILED
              : pod.busy().containsAny(cells)
                  ? Standing.USED
                  : pod.cordonedCells().containsAny(cells)
                      ? Standing.CORDONED
                      : held.containsAny(cells) ? Standing.HELD : Standing.FREE;
      counts.merge(standing, 1, Integer::sum);
    }
    return counts;
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
