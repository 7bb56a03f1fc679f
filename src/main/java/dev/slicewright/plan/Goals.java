package dev.slicewright.plan;

import dev.slicewright.Problems;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Drain;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.RoomGoal;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * What drains and room goals mean for a fleet: the cells to be emptied, and the phantoms that ask
 * for room. Immutable, safe to share.
 *
 * <p>To everything that is placed or moved a drained part is a cordoned one, and a phantom is a
 * request of priority {@link RoomGoal#PRIORITY}.
 */
public final class Goals {

  private static final Goals NONE = new Goals(Map.of(), Map.of(), List.of(), Map.of());

  private final Map<String, CellSet> drained; // by pod
  private final Map<String, List<Drain>> drains; // by pod
  private final List<SliceRequest> phantoms;
  private final Map<String, Long> weights; // by phantom, where not its chips

  private Goals(
      Map<String, CellSet> drained,
      Map<String, List<Drain>> drains,
      List<SliceRequest> phantoms,
      Map<String, Long> weights) {
    this.drained = drained;
    this.drains = drains;
    this.phantoms = phantoms;
    this.weights = weights;
  }

  /**
   * The goals of a problem. Parts that do not exist are left out; {@link #check} names them.
   *
   * @param fleet the fleet
   * @param rules the rules
   * @return the goals. O(drained parts + pods if a label is drained + phantoms)
   */
  public static Goals of(Fleet fleet, PlanningRules rules) {
    if (rules.drains().isEmpty() && rules.rooms().isEmpty()) {
      return NONE;
    }
    Map<String, CellSet> drained = new HashMap<>();
    Map<String, List<Drain>> drains = new HashMap<>();
    for (Drain drain : rules.drains()) {
      for (Pod pod : podsOf(fleet, drain)) {
        CellSet before = drained.get(pod.id());
        CellSet empty = CellSet.empty(pod.topology().cellCount());
        drained.put(pod.id(), (before == null ? empty : before).with(cells(pod, drain)));
        drains.computeIfAbsent(pod.id(), p -> new ArrayList<>()).add(drain);
      }
    }
    List<SliceRequest> phantoms = new ArrayList<>();
    Map<String, Long> weights = new HashMap<>();
    for (RoomGoal goal : rules.rooms()) {
      for (SliceRequest phantom : goal.phantoms()) {
        phantoms.add(phantom);
        if (goal.weight() > 0) {
          weights.put(phantom.id(), goal.weight());
        }
      }
    }
    return new Goals(drained, drains, List.copyOf(phantoms), weights);
  }

  private static List<Pod> podsOf(Fleet fleet, Drain drain) {
    if (drain instanceof Drain.OfLabel label) {
      return fleet.pods().stream()
          .filter(p -> label.value().equals(p.labels().get(label.key())))
          .toList();
    }
    return fleet.pod(podOf(drain)).stream().toList();
  }

  private static String podOf(Drain drain) {
    if (drain instanceof Drain.OfHosts hosts) {
      return hosts.pod();
    }
    return drain instanceof Drain.OfCubes cubes ? cubes.pod() : ((Drain.OfPod) drain).pod();
  }

  private static int[] cells(Pod pod, Drain drain) {
    TpuTopology t = pod.topology();
    if (drain instanceof Drain.OfHosts hosts) {
      return hosts.hosts().stream()
          .filter(h -> h.index() >= 0 && h.index() < t.hostCount())
          .flatMapToInt(h -> IntStream.of(t.cells(h)))
          .toArray();
    }
    if (drain instanceof Drain.OfCubes cubes) {
      return cubes.cubes().stream()
          .filter(c -> c.index() >= 0 && c.index() < t.cubeCount())
          .flatMapToInt(c -> IntStream.of(t.cells(new Footprint.Cubes(List.of(c)))))
          .toArray();
    }
    return IntStream.range(0, t.cellCount()).toArray();
  }

  /**
   * Checks goals against a fleet and a batch.
   *
   * @param fleet the fleet
   * @param requests the batch
   * @param rules the rules
   * @param problems where every problem is added
   */
  public static void check(
      Fleet fleet, List<SliceRequest> requests, PlanningRules rules, Problems problems) {
    for (int i = 0; i < rules.drains().size(); i++) {
      checkDrain(fleet, rules.drains().get(i), "rules.drains[" + i + "]", problems);
    }
    if (rules.rooms().isEmpty()) {
      return;
    }
    Set<String> wanted = new HashSet<>();
    for (int i = 0; i < requests.size(); i++) {
      SliceRequest request = requests.get(i);
      if (request != null) {
        wanted.add(request.id());
        if (request.priority() == RoomGoal.PRIORITY) {
          problems.add(
              "requests[" + i + "].priority",
              "expected "
                  + (RoomGoal.PRIORITY + 1)
                  + " or more, since the least is kept for room goals, but was "
                  + request.priority());
        }
      }
    }
    for (int i = 0; i < rules.rooms().size(); i++) {
      for (SliceRequest phantom : rules.rooms().get(i).phantoms()) {
        if (wanted.contains(phantom.id()) || !fleet.runningOf(phantom.id()).isEmpty()) {
          problems.add(
              "rules.rooms[" + i + "].like.id",
              "expected an id that is neither wanted nor running, but was "
                  + phantom.id()
                  + "; name the goal otherwise");
        }
      }
    }
  }

  private static void checkDrain(Fleet fleet, Drain drain, String path, Problems problems) {
    if (drain instanceof Drain.OfLabel label) {
      if (podsOf(fleet, drain).isEmpty()) {
        problems.add(
            path,
            "expected a label that a pod has, but no pod has "
                + label.key()
                + "="
                + label.value()
                + "; name pods by id, or mend the label");
      }
      return;
    }
    Pod pod = fleet.pod(podOf(drain)).orElse(null);
    if (pod == null) {
      problems.add(
          path + ".pod",
          "expected a pod of the fleet, but was " + podOf(drain) + "; there is no such pod");
      return;
    }
    TpuTopology t = pod.topology();
    if (drain instanceof Drain.OfHosts hosts) {
      for (HostId host : hosts.hosts()) {
        if (host.index() < 0 || host.index() >= t.hostCount()) {
          problems.add(
              path + ".hosts",
              "expected 0 to "
                  + (t.hostCount() - 1)
                  + ", the hosts of pod "
                  + pod.id()
                  + ", but was "
                  + host.index());
        }
      }
    } else if (drain instanceof Drain.OfCubes cubes) {
      for (CubeId cube : cubes.cubes()) {
        if (cube.index() < 0 || cube.index() >= t.cubeCount()) {
          problems.add(
              path + ".cubes",
              t.cubeCount() == 0
                  ? "expected a pod of cubes, but pod " + pod.id() + " has none; name its hosts"
                  : "expected 0 to "
                      + (t.cubeCount() - 1)
                      + ", the cubes of pod "
                      + pod.id()
                      + ", but was "
                      + cube.index());
        }
      }
    }
  }

  // ---------------------------------------------------------------- drains

  /**
   * The fleet with its drained parts cordoned, as all that is placed or moved sees it.
   *
   * @param fleet the fleet that these goals are of
   * @return the fleet itself if nothing is drained; else one of another version
   */
  public Fleet cordoned(Fleet fleet) {
    Fleet out = fleet;
    for (Map.Entry<String, CellSet> pod : drained.entrySet()) {
      TpuTopology t = fleet.pod(pod.getKey()).orElseThrow().topology();
      CellSet cells = pod.getValue();
      if (cells.cardinality() == t.cellCount()) {
        out = out.cordonPod(pod.getKey());
        continue;
      }
      Set<HostId> hosts = new HashSet<>();
      for (int cell : cells.toArray()) {
        HostId host = t.hostOfCell(cell);
        if (hosts.add(host)) {
          out = out.cordon(pod.getKey(), new Part.Host(host));
        }
      }
    }
    return out;
  }

  /**
   * The chips of drained parts that a running slice takes.
   *
   * @param fleet the fleet
   * @param slice the slice
   * @return 0 or more
   */
  public long drainedChips(Fleet fleet, RunningSlice slice) {
    CellSet cells = drained.get(slice.pod());
    if (cells == null) {
      return 0;
    }
    TpuTopology t = fleet.pod(slice.pod()).orElseThrow().topology();
    return (long) cells.countOf(t.cells(slice.footprint())) * t.chipsPerCell();
  }

  /**
   * The running slices on drained parts, those aside that are leaving anyway.
   *
   * @param fleet the fleet
   * @return a new list, by pod and id
   */
  public List<RunningSlice> onDrained(Fleet fleet) {
    List<RunningSlice> out = new ArrayList<>();
    for (Pod pod : drained.isEmpty() ? List.<Pod>of() : fleet.pods()) {
      if (drained.containsKey(pod.id())) {
        for (RunningSlice slice : pod.running()) {
          if (!slice.leaving() && drainedChips(fleet, slice) > 0) {
            out.add(slice);
          }
        }
      }
    }
    return out;
  }

  /**
   * When a slice should be out: the earliest deadline of the drains of parts that it takes.
   *
   * @param fleet the fleet
   * @param slice the slice
   * @return the time, or null for none
   */
  public @Nullable Instant deadline(Fleet fleet, RunningSlice slice) {
    Pod pod = fleet.pod(slice.pod()).orElseThrow();
    Instant first = null;
    for (Drain drain : drains.getOrDefault(pod.id(), List.of())) {
      Instant by = drain.deadline();
      if (by != null && (first == null || by.isBefore(first))) {
        CellSet cells = CellSet.empty(pod.topology().cellCount()).with(cells(pod, drain));
        if (cells.containsAny(pod.topology().cells(slice.footprint()))) {
          first = by;
        }
      }
    }
    return first;
  }

  // ---------------------------------------------------------------- room

  /**
   * The phantoms, goal by goal.
   *
   * @return an unmodifiable list
   */
  public List<SliceRequest> phantoms() {
    return phantoms;
  }

  /**
   * A batch with the phantoms behind it.
   *
   * @param requests the batch
   * @return the batch itself if there are none
   */
  public List<SliceRequest> with(List<SliceRequest> requests) {
    if (phantoms.isEmpty()) {
      return requests;
    }
    List<SliceRequest> all = new ArrayList<>(requests);
    all.addAll(phantoms);
    return all;
  }

  /**
   * What a slice of a request, or of a phantom, earns at its level.
   *
   * @param request the request
   * @param shape the shape that the slice has
   * @return {@link ObjectiveLevels#counted}, or a phantom's weight
   */
  public long gain(SliceRequest request, Shape shape) {
    Long weight = weight(request);
    return weight == null ? ObjectiveLevels.counted(request, shape) : weight;
  }

  /**
   * The most that a slice of a request, or of a phantom, earns at its level.
   *
   * @param request the request
   * @return {@link ObjectiveLevels#mostCounted}, or a phantom's weight
   */
  public long mostGain(SliceRequest request) {
    Long weight = weight(request);
    return weight == null ? ObjectiveLevels.mostCounted(request) : weight;
  }

  /** What each slice of a phantom is worth, or null for its chips. */
  @Nullable Long weight(SliceRequest request) {
    return request.priority() == RoomGoal.PRIORITY ? weights.get(request.id()) : null;
  }
}
