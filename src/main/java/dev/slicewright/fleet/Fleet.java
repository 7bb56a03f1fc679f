package dev.slicewright.fleet;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.SliceId;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A snapshot of all pods, what runs on them and what is held. Immutable, safe to share.
 *
 * <p>Every change gives a new fleet whose {@link #version()} is one higher; it shares all that did
 * not change. Placing or releasing a slice of k cells in a fleet of n slices costs O(k + log n).
 * Pods, slices and holds are iterated in the order of their ids.
 *
 * <p>Equality compares pods (topology, labels, health, cordons, running slices, holds), not the
 * version.
 */
public final class Fleet {

  /** The most running slices of one fleet: 1,000,000. */
  public static final int MAX_SLICES = 1_000_000;

  private final long version;
  private final PersistentMap<String, Pod> pods;
  private final PersistentMap<SliceId, RunningSlice> running;
  private final PersistentMap<String, Hold> holds;

  private Fleet(
      long version,
      PersistentMap<String, Pod> pods,
      PersistentMap<SliceId, RunningSlice> running,
      PersistentMap<String, Hold> holds) {
    this.version = version;
    this.pods = pods;
    this.running = running;
    this.holds = holds;
  }

  /**
   * A builder of a fleet without pods.
   *
   * @return a new builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * How many changes lie behind this snapshot.
   *
   * @return 0 for a built fleet, unless the builder set another
   */
  public long version() {
    return version;
  }

  /**
   * The pods in the order of their ids.
   *
   * @return an unmodifiable collection
   */
  public Collection<Pod> pods() {
    return Collections.unmodifiableCollection(pods.values(null));
  }

  /**
   * The pod of an id.
   *
   * @param id the pod's id
   * @return the pod, or empty. O(log pods)
   */
  public Optional<Pod> pod(String id) {
    return Optional.ofNullable(pods.get(Objects.requireNonNull(id, "id")));
  }

  /**
   * The running slices in the order of their ids.
   *
   * @return an unmodifiable collection
   */
  public Collection<RunningSlice> running() {
    return Collections.unmodifiableCollection(running.values(null));
  }

  /**
   * The running slice of an id.
   *
   * @param id the slice
   * @return the slice, or empty. O(log slices)
   */
  public Optional<RunningSlice> running(SliceId id) {
    return Optional.ofNullable(running.get(Objects.requireNonNull(id, "id")));
  }

  /**
   * The running slices of a request, by index.
   *
   * @param request the request's id
   * @return an unmodifiable list, perhaps empty. O(log slices + slices of the request)
   */
  public List<RunningSlice> runningOf(String request) {
    List<RunningSlice> found = new ArrayList<>();
    for (RunningSlice slice : running.values(new SliceId(request, 0))) {
      if (!slice.id().request().equals(request)) {
        break;
      }
      found.add(slice);
    }
    return List.copyOf(found);
  }

  /**
   * The holds in the order of their ids; expired ones too.
   *
   * @return an unmodifiable collection
   */
  public Collection<Hold> holds() {
    return Collections.unmodifiableCollection(holds.values(null));
  }

  /**
   * The hold of an id.
   *
   * @param id the hold's id
   * @return the hold, or empty
   */
  public Optional<Hold> hold(String id) {
    return Optional.ofNullable(holds.get(Objects.requireNonNull(id, "id")));
  }

  // ---------------------------------------------------------------- changes

  /**
   * Adds a pod.
   *
   * @param id its id
   * @param topology its topology
   * @param labels its labels
   * @return the changed fleet
   * @throws InvalidInputException if the id is empty or used
   */
  public Fleet withPod(String id, TpuTopology topology, Map<String, String> labels) {
    Problems problems = new Problems();
    Builder.checkPodId(problems, "pod", id, pods);
    problems.throwIfAny("pod");
    return with(pods.with(id, Builder.empty(id, topology, labels, HealthPolicy.standard())));
  }

  /**
   * Removes a pod on which nothing runs and nothing is held.
   *
   * @param id its id
   * @return the changed fleet
   * @throws InvalidInputException if it is unknown, or slices or holds are on it
   */
  public Fleet withoutPod(String id) {
    Pod pod = known(id);
    if (!pod.running().isEmpty() || !pod.holds().isEmpty()) {
      throw new InvalidInputException(
          "pod", "pod", id + " still has running slices or holds; release them first");
    }
    return with(pods.without(id));
  }

  /**
   * Places a slice that now runs.
   *
   * @param slice the slice
   * @return the changed fleet
   * @throws InvalidInputException if its id runs already, its pod or footprint does not exist, or a
   *     chip is taken
   */
  public Fleet place(RunningSlice slice) {
    Problems problems = new Problems();
    int[] cells = check(problems, "slice", slice, pods.get(slice.pod()));
    if (running.get(slice.id()) != null) {
      problems.add("slice.id", slice.id() + " runs already; release it first");
    }
    for (RunningSlice sibling : runningOf(slice.id().request())) {
      if (!sibling.request().equals(slice.request())) {
        problems.add(
            "slice.request",
            "the running slices of " + slice.id().request() + " have another request of that id");
        break;
      }
    }
    if (running.size() >= MAX_SLICES) {
      problems.add("slice", "a fleet has at most " + MAX_SLICES + " running slices");
    }
    problems.throwIfAny("running slice");
    Pod pod = known(slice.pod()).place(slice, Objects.requireNonNull(cells));
    return new Fleet(version + 1, pods.with(pod.id(), pod), running.with(slice.id(), slice), holds);
  }

  /** Checks a slice against its pod; returns its cells if they could be determined. */
  private static int @Nullable [] check(
      Problems problems, String path, RunningSlice slice, @Nullable Pod pod) {
    if (pod == null) {
      problems.add(path + ".pod", "there is no pod " + slice.pod() + "; add the pod first");
      return null;
    }
    Optional<String> why = pod.topology().whyNot(slice.shape(), slice.footprint());
    if (why.isPresent()) {
      problems.add(path + ".footprint", why.get());
      return null;
    }
    int[] cells = pod.topology().cells(slice.footprint());
    for (int cell : cells) {
      if (pod.busy().contains(cell)) {
        problems.add(
            path + ".footprint",
            "chip "
                + pod.topology().originOfCell(cell)
                + " of pod "
                + pod.id()
                + " is already taken by "
                + pod.runningAt(cell).map(s -> s.id().toString()).orElse("another slice"));
        break;
      }
    }
    return cells;
  }

  /**
   * Marks a running slice as on its way out, or not: then it is pinned and worth nothing, and a
   * hold may cover it.
   *
   * @param id the slice
   * @param leaving whether it leaves
   * @return the changed fleet
   * @throws InvalidInputException if it does not run
   */
  public Fleet leaving(SliceId id, boolean leaving) {
    RunningSlice slice = knownSlice(id).toBuilder().leaving(leaving).build();
    Pod pod = known(slice.pod()).replace(slice);
    return new Fleet(version + 1, pods.with(pod.id(), pod), running.with(id, slice), holds);
  }

  private RunningSlice knownSlice(SliceId id) {
    RunningSlice slice = running.get(id);
    if (slice == null) {
      throw new InvalidInputException("slice", "slice", "no slice " + id + " runs in this fleet");
    }
    return slice;
  }

  /**
   * Releases a slice that no longer runs.
   *
   * @param id the slice
   * @return the changed fleet
   * @throws InvalidInputException if it does not run
   */
  public Fleet release(SliceId id) {
    RunningSlice slice = knownSlice(id);
    Pod pod = known(slice.pod()).release(slice);
    return new Fleet(version + 1, pods.with(pod.id(), pod), running.without(id), holds);
  }

  /**
   * Releases all slices of a request.
   *
   * @param request the request's id
   * @return the changed fleet
   * @throws InvalidInputException if none runs
   */
  public Fleet release(String request) {
    List<RunningSlice> slices = runningOf(request);
    if (slices.isEmpty()) {
      throw new InvalidInputException(
          "request", "request", "no slice of " + request + " runs in this fleet");
    }
    Fleet fleet = this;
    for (RunningSlice slice : slices) {
      fleet = fleet.release(slice.id());
    }
    return fleet;
  }

  /**
   * Adds a hold.
   *
   * @param hold the hold
   * @return the changed fleet
   * @throws InvalidInputException if its id is used, its pod or footprint does not exist, it
   *     overlaps a hold that does not end before it begins to matter, or a running slice that is
   *     not leaving
   */
  public Fleet hold(Hold hold) {
    Problems problems = new Problems();
    Pod pod = pods.get(hold.pod());
    checkHold(problems, "hold", hold, pod, holds);
    problems.throwIfAny("hold");
    Pod changed = known(hold.pod()).hold(hold);
    return new Fleet(
        version + 1, pods.with(changed.id(), changed), running, holds.with(hold.id(), hold));
  }

  private static void checkHold(
      Problems problems,
      String path,
      Hold hold,
      @Nullable Pod pod,
      PersistentMap<String, Hold> holds) {
    if (holds.get(hold.id()) != null) {
      problems.add(path + ".id", "hold " + hold.id() + " exists already; drop it first");
    }
    if (pod == null) {
      problems.add(path + ".pod", "there is no pod " + hold.pod());
      return;
    }
    TpuTopology t = pod.topology();
    Optional<String> why = whyNotHold(t, hold.footprint());
    if (why.isPresent()) {
      problems.add(path + ".footprint", why.get());
      return;
    }
    CellSet mine = CellSet.empty(t.cellCount()).with(t.cells(hold.footprint()));
    for (Hold other : pod.holds()) {
      if (mine.containsAny(t.cells(other.footprint()))) {
        problems.add(path + ".footprint", "overlaps hold " + other.id() + "; drop that one first");
      }
    }
    if (!intersects(pod.busy(), mine)) {
      return;
    }
    for (RunningSlice slice : pod.running()) {
      if (!slice.leaving() && mine.containsAny(t.cells(slice.footprint()))) {
        problems.add(
            path + ".footprint",
            "covers running slice " + slice.id() + ", which is not marked leaving");
      }
    }
  }

  private static boolean intersects(CellSet a, CellSet b) {
    for (int i = 0; i < a.wordCount(); i++) {
      if ((a.word(i) & b.word(i)) != 0) {
        return true;
      }
    }
    return false;
  }

  private static Optional<String> whyNotHold(TpuTopology t, Footprint footprint) {
    if (footprint instanceof Footprint.Cubes cubes) {
      if (cubes.cubes().isEmpty()
          || cubes.cubes().stream().distinct().count() != cubes.cubes().size()
          || cubes.cubes().stream().anyMatch(c -> c.index() < 0 || c.index() >= t.cubeCount())) {
        return Optional.of("Expected cubes of this pod, each once, but was " + cubes + ".");
      }
      return Optional.empty();
    }
    if (footprint instanceof Footprint.Partition partition) {
      return partition.id().index() >= 0
              && partition.id().index() < t.partitions().map(f -> f.size()).orElse(0)
          ? Optional.empty()
          : Optional.of("This pod has no " + partition + ".");
    }
    Footprint.Box box = (Footprint.Box) footprint;
    return t.whyNot(box.extents(), box);
  }

  /**
   * Drops a hold.
   *
   * @param id the hold's id
   * @return the changed fleet
   * @throws InvalidInputException if there is none of that id
   */
  public Fleet dropHold(String id) {
    Hold hold = holds.get(id);
    if (hold == null) {
      throw new InvalidInputException("hold", "hold", "there is no hold " + id);
    }
    Pod pod = known(hold.pod()).dropHold(id);
    return new Fleet(version + 1, pods.with(pod.id(), pod), running, holds.without(id));
  }

  /**
   * Reports the health of a part.
   *
   * @param pod the pod's id
   * @param part the part
   * @param health its health
   * @return the changed fleet
   * @throws InvalidInputException if the pod or the part does not exist
   */
  public Fleet report(String pod, Part part, Health health) {
    Pod p = known(pod);
    Problems problems = new Problems();
    checkPart(problems, "part", p.topology(), part);
    problems.throwIfAny("part");
    return with(pods.with(pod, p.report(part, health)));
  }

  /**
   * Reports a part as failed.
   *
   * @param pod the pod's id
   * @param part the part
   * @return the changed fleet
   */
  public Fleet fail(String pod, Part part) {
    return report(pod, part, Health.FAILED);
  }

  /**
   * Reports a host as failed.
   *
   * @param pod the pod's id
   * @param host the host
   * @return the changed fleet
   */
  public Fleet failHost(String pod, HostId host) {
    return fail(pod, new Part.Host(host));
  }

  /**
   * Reports a part as healthy again.
   *
   * @param pod the pod's id
   * @param part the part
   * @return the changed fleet
   */
  public Fleet repair(String pod, Part part) {
    return report(pod, part, Health.HEALTHY);
  }

  /**
   * Cordons a chip, host or cube: nothing new, what runs stays.
   *
   * @param pod the pod's id
   * @param part a chip, host or cube
   * @return the changed fleet
   * @throws InvalidInputException if the pod or the part does not exist, or it is a link or port
   */
  public Fleet cordon(String pod, Part part) {
    return cordon(pod, part, true);
  }

  /**
   * Takes a cordon back.
   *
   * @param pod the pod's id
   * @param part a chip, host or cube
   * @return the changed fleet
   */
  public Fleet uncordon(String pod, Part part) {
    return cordon(pod, part, false);
  }

  private Fleet cordon(String pod, Part part, boolean value) {
    Pod p = known(pod);
    Problems problems = new Problems();
    checkPart(problems, "part", p.topology(), part);
    checkCordon(problems, "part", part);
    problems.throwIfAny("part");
    return with(pods.with(pod, p.cordon(part, value)));
  }

  private static void checkCordon(Problems problems, String path, Part part) {
    if (part instanceof Part.Link || part instanceof Part.OcsPort) {
      problems.add(path, "chips, hosts, cubes and pods can be cordoned, but was " + part);
    }
  }

  /**
   * Cordons a whole pod.
   *
   * @param pod the pod's id
   * @return the changed fleet
   */
  public Fleet cordonPod(String pod) {
    return with(pods.with(pod, known(pod).cordon(true)));
  }

  /**
   * Takes the cordon of a whole pod back; cordons of its parts stay.
   *
   * @param pod the pod's id
   * @return the changed fleet
   */
  public Fleet uncordonPod(String pod) {
    return with(pods.with(pod, known(pod).cordon(false)));
  }

  private static void checkPart(Problems problems, String path, TpuTopology t, Part part) {
    try {
      if (part instanceof Part.Chip chip) {
        t.chipIndex(chip.chip());
      } else if (part instanceof Part.Host host) {
        t.originOf(host.host());
      } else if (part instanceof Part.Cube cube) {
        t.originOf(cube.cube());
      } else if (part instanceof Part.OcsPort port) {
        t.originOf(port.cube());
        if (port.index() < 0 || port.index() > 15) {
          problems.add(path + ".index", "expected 0 to 15, but was " + port.index());
        }
      } else if (part instanceof Part.Link link) {
        t.chipIndex(link.from());
        boolean last = link.from().get(link.axis()) == t.dims().get(link.axis()) - 1;
        if (!t.isOptical() && last && (!t.wraps(link.axis()) || t.dims().get(link.axis()) == 1)) {
          problems.add(path, "no link leaves " + link.from() + " along " + link.axis());
        }
      }
    } catch (InvalidInputException e) {
      problems.add(path, e.problems().get(0).message());
    }
  }

  private Pod known(String id) {
    Pod pod = pods.get(Objects.requireNonNull(id, "pod"));
    if (pod == null) {
      throw new InvalidInputException("pod", "pod", "there is no pod " + id + " in this fleet");
    }
    return pod;
  }

  private Fleet with(PersistentMap<String, Pod> newPods) {
    return new Fleet(version + 1, newPods, running, holds);
  }

  @Override
  public boolean equals(Object other) {
    return this == other
        || other instanceof Fleet that && List.copyOf(pods()).equals(List.copyOf(that.pods()));
  }

  @Override
  public int hashCode() {
    return List.copyOf(pods()).hashCode();
  }

  @Override
  public String toString() {
    return "Fleet version "
        + version
        + ": "
        + pods.size()
        + " pods, "
        + running.size()
        + " running slices, "
        + holds.size()
        + " holds";
  }

  /**
   * Builds a {@link Fleet}; everything is checked together when it is built. Confined to one thread
   * at a time.
   */
  public static final class Builder {
    private record PodEntry(String id, TpuTopology topology, Map<String, String> labels) {}

    private record PartEntry(String pod, Part part, Health health) {}

    private final List<PodEntry> pods = new ArrayList<>();
    private final List<PartEntry> health = new ArrayList<>();
    private final List<PartEntry> cordons = new ArrayList<>();
    private final List<String> podCordons = new ArrayList<>();
    private final List<RunningSlice> running = new ArrayList<>();
    private final List<Hold> holds = new ArrayList<>();
    private HealthPolicy policy = HealthPolicy.standard();
    private long version;

    private Builder() {}

    /**
     * Adds a pod without labels.
     *
     * @param id its id, not empty
     * @param topology its topology
     * @return this
     */
    public Builder pod(String id, TpuTopology topology) {
      return pod(id, topology, Map.of());
    }

    /**
     * Adds a pod.
     *
     * @param id its id, not empty
     * @param topology its topology
     * @param labels its labels
     * @return this
     */
    public Builder pod(String id, TpuTopology topology, Map<String, String> labels) {
      pods.add(
          new PodEntry(
              Objects.requireNonNull(id, "id"),
              Objects.requireNonNull(topology, "topology"),
              Collections.unmodifiableMap(new TreeMap<>(labels))));
      return this;
    }

    /**
     * Reports the health of a part.
     *
     * @param pod the pod's id
     * @param part the part
     * @param value its health
     * @return this
     */
    public Builder health(String pod, Part part, Health value) {
      health.add(new PartEntry(pod, part, value));
      return this;
    }

    /**
     * Cordons a chip, host or cube.
     *
     * @param pod the pod's id
     * @param part the part
     * @return this
     */
    public Builder cordon(String pod, Part part) {
      cordons.add(new PartEntry(pod, part, Health.HEALTHY));
      return this;
    }

    /**
     * Cordons a whole pod.
     *
     * @param pod the pod's id
     * @return this
     */
    public Builder cordonPod(String pod) {
      podCordons.add(Objects.requireNonNull(pod, "pod"));
      return this;
    }

    /**
     * Adds a running slice.
     *
     * @param slice the slice
     * @return this
     */
    public Builder running(RunningSlice slice) {
      running.add(Objects.requireNonNull(slice, "slice"));
      return this;
    }

    /**
     * Adds a hold.
     *
     * @param hold the hold
     * @return this
     */
    public Builder hold(Hold hold) {
      holds.add(Objects.requireNonNull(hold, "hold"));
      return this;
    }

    /**
     * Sets what health means for slices.
     *
     * @param value {@link HealthPolicy#standard()} by default
     * @return this
     */
    public Builder healthPolicy(HealthPolicy value) {
      policy = Objects.requireNonNull(value, "policy");
      return this;
    }

    /**
     * Sets the version of the snapshot.
     *
     * @param value 0 by default
     * @return this
     */
    public Builder version(long value) {
      version = value;
      return this;
    }

    private static void checkPodId(
        Problems problems, String path, String id, PersistentMap<String, Pod> known) {
      if (id.isEmpty()) {
        problems.add(path + ".id", "expected an id that is not empty");
      } else if (known.get(id) != null) {
        problems.add(path + ".id", "pod id " + id + " is used twice");
      }
    }

    private static Pod empty(
        String id, TpuTopology topology, Map<String, String> labels, HealthPolicy policy) {
      return new Pod(
          id,
          topology,
          Collections.unmodifiableMap(new TreeMap<>(labels)),
          policy,
          Map.of(),
          Set.of(),
          false,
          CellSet.empty(topology.cellCount()),
          PersistentMap.empty(),
          PersistentMap.empty());
    }

    /**
     * Checks and builds.
     *
     * @return the fleet
     * @throws InvalidInputException listing every problem
     */
    public Fleet build() {
      Problems problems = new Problems();
      PersistentMap<String, Pod> podMap = PersistentMap.empty();
      for (int i = 0; i < pods.size(); i++) {
        PodEntry e = pods.get(i);
        int before = problems.list().size();
        checkPodId(problems, "pods[" + i + "]", e.id(), podMap);
        if (problems.list().size() == before) {
          podMap = podMap.with(e.id(), empty(e.id(), e.topology(), e.labels(), policy));
        }
      }
      podMap = applyParts(problems, podMap);
      if (running.size() > MAX_SLICES) {
        problems.add(
            "running", "expected at most " + MAX_SLICES + " slices, but was " + running.size());
        problems.throwIfAny("fleet");
      }
      PersistentMap<SliceId, RunningSlice> runningMap = PersistentMap.empty();
      Map<String, RunningSlice> requests = new HashMap<>();
      for (int i = 0; i < running.size(); i++) {
        RunningSlice slice = running.get(i);
        String path = "running[" + i + "]";
        Pod pod = podMap.get(slice.pod());
        Problems own = new Problems();
        int[] cells = check(own, path, slice, pod);
        if (runningMap.get(slice.id()) != null) {
          own.add(path + ".id", "slice id " + slice.id() + " is used twice");
        }
        RunningSlice sibling = requests.putIfAbsent(slice.id().request(), slice);
        if (sibling != null && !sibling.request().equals(slice.request())) {
          own.add(path + ".request", "request id " + slice.id().request() + " has two contents");
        }
        if (own.isEmpty() && pod != null && cells != null) {
          podMap = podMap.with(pod.id(), pod.place(slice, cells));
          runningMap = runningMap.with(slice.id(), slice);
        }
        own.list().forEach(p -> problems.add(p.path(), p.message()));
      }
      PersistentMap<String, Hold> holdMap = PersistentMap.empty();
      for (int i = 0; i < holds.size(); i++) {
        Hold hold = holds.get(i);
        Pod pod = podMap.get(hold.pod());
        Problems own = new Problems();
        checkHold(own, "holds[" + i + "]", hold, pod, holdMap);
        if (own.isEmpty() && pod != null) {
          podMap = podMap.with(pod.id(), pod.hold(hold));
          holdMap = holdMap.with(hold.id(), hold);
        }
        own.list().forEach(p -> problems.add(p.path(), p.message()));
      }
      problems.throwIfAny("fleet");
      return new Fleet(version, podMap, runningMap, holdMap);
    }

    private PersistentMap<String, Pod> applyParts(
        Problems problems, PersistentMap<String, Pod> podMap) {
      Map<String, Pod> changed = new LinkedHashMap<>();
      for (int i = 0; i < health.size(); i++) {
        PartEntry e = health.get(i);
        Pod pod = changed.containsKey(e.pod()) ? changed.get(e.pod()) : podMap.get(e.pod());
        if (pod == null) {
          problems.add("health[" + i + "].pod", "there is no pod " + e.pod());
          continue;
        }
        Problems own = new Problems();
        checkPart(own, "health[" + i + "].part", pod.topology(), e.part());
        if (own.isEmpty()) {
          changed.put(e.pod(), pod.report(e.part(), e.health()));
        }
        own.list().forEach(p -> problems.add(p.path(), p.message()));
      }
      for (int i = 0; i < cordons.size(); i++) {
        PartEntry e = cordons.get(i);
        Pod pod = changed.containsKey(e.pod()) ? changed.get(e.pod()) : podMap.get(e.pod());
        if (pod == null) {
          problems.add("cordons[" + i + "].pod", "there is no pod " + e.pod());
          continue;
        }
        Problems own = new Problems();
        checkPart(own, "cordons[" + i + "].part", pod.topology(), e.part());
        checkCordon(own, "cordons[" + i + "].part", e.part());
        if (own.isEmpty()) {
          changed.put(e.pod(), pod.cordon(e.part(), true));
        }
        own.list().forEach(p -> problems.add(p.path(), p.message()));
      }
      for (int i = 0; i < podCordons.size(); i++) {
        String id = podCordons.get(i);
        Pod pod = changed.containsKey(id) ? changed.get(id) : podMap.get(id);
        if (pod == null) {
          problems.add("podCordons[" + i + "]", "there is no pod " + id);
        } else {
          changed.put(id, pod.cordon(true));
        }
      }
      PersistentMap<String, Pod> out = podMap;
      for (Pod pod : changed.values()) {
        out = out.with(pod.id(), pod);
      }
      return out;
    }
  }
}
