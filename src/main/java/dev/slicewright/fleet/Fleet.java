package dev.slicewright.fleet;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.SliceId;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * A snapshot of all pods, what runs on them and what is held. Immutable, safe to share.
 *
 * <p>Every change gives a new fleet whose {@link #version()} is one higher; it shares all that did
 * not change. A call that changes nothing (a cordon that stands already, a health that is already
 * known) returns the fleet itself. Placing or releasing a slice of k cells in a fleet of n slices
 * costs O(k + log n). Pods, slices and holds are iterated in the order of their ids.
 *
 * <p>In every fleet, running slices do not overlap, holds do not overlap, and a hold covers a
 * running slice only if that slice is {@linkplain RunningSlice#leaving() leaving}. A fleet reads no
 * clock, so an expired hold counts until it is dropped ({@link #dropExpiredHolds}). Slices may run
 * on failed parts: that is for a plan to mend.
 *
 * <p>Equality compares pods (topology, labels, health, its policy and cool-downs, cordons, running
 * slices, holds), not the version.
 */
public final class Fleet {

  /** The most running slices of one fleet: 1,000,000. */
  public static final int MAX_SLICES = 1_000_000;

  private record HoldKey(String request, String hold) implements Comparable<HoldKey> {
    @Override
    public int compareTo(HoldKey other) {
      int c = request.compareTo(other.request);
      return c != 0 ? c : hold.compareTo(other.hold);
    }
  }

  private final long version;
  private final HealthPolicy policy;
  private final PersistentMap<String, Pod> pods;
  private final PersistentMap<SliceId, RunningSlice> running;
  private final PersistentMap<String, Hold> holds;
  private final PersistentMap<HoldKey, Hold> holdsByRequest;

  private Fleet(
      long version,
      HealthPolicy policy,
      PersistentMap<String, Pod> pods,
      PersistentMap<SliceId, RunningSlice> running,
      PersistentMap<String, Hold> holds,
      PersistentMap<HoldKey, Hold> holdsByRequest) {
    this.version = version;
    this.policy = policy;
    this.pods = pods;
    this.running = running;
    this.holds = holds;
    this.holdsByRequest = holdsByRequest;
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
    if (Objects.requireNonNull(request, "request").isEmpty()) {
      return List.of(); // no request has an empty id
    }
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
   * What runs, added up over all pods.
   *
   * @return derived on first use, then kept. O(running slices) at first; after a change of one pod
   *     of n, O(slices of that pod + log n × (tenants + priorities))
   */
  public RunningTotals totals() {
    return pods.fold(RunningTotals.NONE, Pod::totals, RunningTotals::plus);
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

  /**
   * The holds for a request, in the order of their ids; expired ones too.
   *
   * @param request the request's id
   * @return an unmodifiable list, perhaps empty. O(log holds + holds of the request)
   */
  public List<Hold> holdsOf(String request) {
    List<Hold> found = new ArrayList<>();
    HoldKey first = new HoldKey(Objects.requireNonNull(request, "request"), "");
    for (Hold hold : holdsByRequest.values(first)) {
      if (!hold.request().equals(request)) {
        break;
      }
      found.add(hold);
    }
    return List.copyOf(found);
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
    checkPodId(problems, "pod.id", id, pods.get(id) != null);
    problems.throwIfAny("pod");
    Pod pod = new PodDraft(id, topology, copyOf(labels)).build(policy);
    return with(pods.with(id, pod));
  }

  private static void checkPodId(Problems problems, String path, String id, boolean used) {
    if (id.isEmpty()) {
      problems.add(path, "expected a name, but it was empty; give each pod an id of its own");
    } else if (used) {
      problems.add(path, "expected an id of its own, but " + id + " is another pod's; rename one");
    }
  }

  private static Map<String, String> copyOf(Map<String, String> labels) {
    TreeMap<String, String> copy = new TreeMap<>();
    labels.forEach(
        (key, value) ->
            copy.put(
                Objects.requireNonNull(key, "label"),
                Objects.requireNonNull(value, () -> "value of label " + key)));
    return Collections.unmodifiableMap(copy);
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
          "pod",
          "pod",
          "expected an empty pod, but "
              + id
              + " has "
              + plural(pod.running().size(), "running slice")
              + " and "
              + plural(pod.holds().size(), "hold")
              + "; release and drop them first");
    }
    return with(pods.without(id));
  }

  /**
   * Places a slice that now runs, and ends holds of its request: those on the chips that it takes,
   * and all of them once every slice of the request runs. Slices that are leaving end no hold.
   *
   * @param slice the slice
   * @return the changed fleet
   * @throws InvalidInputException listing every problem: its id runs already; its pod, footprint or
   *     twist does not exist; a chip is taken, or held for another request (an expired hold is
   *     dropped first, see {@link #dropExpiredHolds}); its siblings have another request of that
   *     id, another shape or another accelerator; the fleet is full
   */
  public Fleet place(RunningSlice slice) {
    Problems problems = new Problems();
    Pod pod = pods.get(slice.pod());
    int[] cells = null;
    if (pod == null) {
      problems.add("slice.pod", noPod(slice.pod()));
    } else {
      cells = checkPlace(problems, "slice", slice, pod.id(), pod.topology(), new Occupancy(pod));
    }
    if (running.get(slice.id()) != null) {
      problems.add(
          "slice.id",
          "expected a slice that does not run, but " + slice.id() + " does; release it first");
    }
    for (RunningSlice sibling : running.values(new SliceId(slice.id().request(), 0))) {
      // One speaks for all: they agree among themselves.
      if (sibling.id().request().equals(slice.id().request())) {
        Pod other = pods.get(sibling.pod());
        checkSibling(
            problems,
            "slice",
            slice,
            pod == null ? null : pod.topology(),
            sibling,
            other == null ? null : other.topology());
      }
      break;
    }
    if (running.size() >= MAX_SLICES) {
      problems.add("slice", tooMany(running.size() + 1L));
    }
    problems.throwIfAny("running slice");
    Pod changed = Objects.requireNonNull(pod).place(slice, Objects.requireNonNull(cells));
    Fleet placed =
        new Fleet(
            version + 1,
            policy,
            pods.with(changed.id(), changed),
            running.with(slice.id(), slice),
            holds,
            holdsByRequest);
    return slice.leaving() ? placed : placed.endHolds(slice, cells);
  }

  /** Ends the holds of a request that a slice just placed makes void; keeps the version. */
  private Fleet endHolds(RunningSlice slice, int[] cells) {
    List<Hold> own = holdsOf(slice.id().request());
    if (own.isEmpty()) {
      return this;
    }
    long placed =
        runningOf(slice.id().request()).stream().filter(other -> !other.leaving()).count();
    boolean all = placed == slice.request().slices();
    CellSet taken = CellSet.empty(known(slice.pod()).topology().cellCount()).with(cells);
    Fleet fleet = this;
    for (Hold hold : own) {
      if (all
          || hold.pod().equals(slice.pod())
              && taken.containsAny(known(hold.pod()).topology().cells(hold.footprint()))) {
        fleet = fleet.withoutHold(hold, version);
      }
    }
    return fleet;
  }

  private Fleet withoutHold(Hold hold, long newVersion) {
    Pod pod = known(hold.pod()).dropHold(hold);
    return new Fleet(
        newVersion,
        policy,
        pods.with(pod.id(), pod),
        running,
        holds.without(hold.id()),
        holdsByRequest.without(new HoldKey(hold.request(), hold.id())));
  }

  private static String noPod(String id) {
    return "expected a pod of this fleet, but there is no pod " + id + "; add the pod first";
  }

  private static String tooMany(long given) {
    return "expected at most "
        + MAX_SLICES
        + " running slices, but was "
        + given
        + "; split the fleet";
  }

  /** Checks a slice against its pod; returns its cells if the footprint exists. */
  private static int @Nullable [] checkPlace(
      Problems problems,
      String path,
      RunningSlice slice,
      String pod,
      TpuTopology t,
      Occupancy occupancy) {
    Optional<String> why = t.whyNot(slice.shape(), slice.footprint());
    if (why.isPresent()) {
      problems.add(path + ".footprint", why.get());
      return null;
    }
    checkTwist(problems, path + ".twist", slice, t);
    int[] cells = t.cells(slice.footprint());
    for (int cell : cells) {
      RunningSlice other = occupancy.slice(cell);
      if (other != null) {
        problems.add(
            path + ".footprint",
            "expected free chips, but "
                + t.originOfCell(cell)
                + " of pod "
                + pod
                + " is taken by "
                + other.id()
                + "; release that slice first");
        break;
      }
    }
    for (int i = 0; i < cells.length && !slice.leaving(); i++) {
      Hold hold = occupancy.hold(cells[i]);
      if (hold != null && !hold.request().equals(slice.id().request())) {
        problems.add(
            path + ".footprint",
            "expected free chips, but "
                + t.originOfCell(cells[i])
                + " of pod "
                + pod
                + " is held for request "
                + hold.request()
                + " until "
                + hold.expiry()
                + "; drop hold "
                + hold.id()
                + " first");
        break;
      }
    }
    return cells;
  }

  private static void checkTwist(
      Problems problems, String path, RunningSlice slice, TpuTopology t) {
    Twist twist = slice.twist();
    if (twist.isNone()) {
      return;
    }
    Shape shape = slice.shape();
    if (t.twist(shape).isEmpty()) {
      problems.add(
          path,
          "expected no twist, since only k x k x 2k and k x 2k x 2k of whole cubes can be twisted"
              + " and the shape is "
              + shape
              + ", but was "
              + twist
              + "; use Twist.NONE");
      return;
    }
    for (Axis wrap : Axis.values()) {
      for (Axis axis : Axis.values()) {
        int shift = twist.shift(wrap).get(axis);
        if (shift >= shape.get(axis)) {
          problems.add(
              path,
              "expected shifts along "
                  + axis
                  + " below the extent of "
                  + shape
                  + ", but was "
                  + shift
                  + "; take the shift modulo the extent");
        }
      }
    }
  }

  /** All slices of a request have one request, one shape and one accelerator (model). */
  private static void checkSibling(
      Problems problems,
      String path,
      RunningSlice slice,
      @Nullable TpuTopology t,
      RunningSlice sibling,
      @Nullable TpuTopology siblings) {
    String request = slice.id().request();
    if (!sibling.request().equals(slice.request())) {
      problems.add(
          path + ".request",
          "expected one content of request id "
              + request
              + ", but slice "
              + sibling.id()
              + " has another; give all its slices the same request");
    }
    if (!sibling.shape().sorted().equals(slice.shape().sorted())) {
      problems.add(
          path + ".shape",
          "expected "
              + sibling.shape()
              + " as slice "
              + sibling.id()
              + " has, but was "
              + slice.shape()
              + "; slices of one request have one shape: split the request");
    }
    if (t != null
        && siblings != null
        && !t.accelerator().name().equals(siblings.accelerator().name())) {
      problems.add(
          path + ".pod",
          "expected a pod of "
              + siblings.accelerator()
              + " as slice "
              + sibling.id()
              + " has, but "
              + slice.pod()
              + " is of "
              + t.accelerator()
              + "; slices of one request have one accelerator: split the request");
    }
  }

  /**
   * Marks a running slice as on its way out, or not: then it is pinned and worth nothing, and a
   * hold may cover it.
   *
   * @param id the slice
   * @param leaving whether it leaves
   * @return the changed fleet
   * @throws InvalidInputException if it does not run, or is to stay though a hold covers it
   */
  public Fleet leaving(SliceId id, boolean leaving) {
    RunningSlice before = knownSlice(id);
    if (before.leaving() == leaving) {
      return this;
    }
    Pod pod = known(before.pod());
    if (!leaving) {
      Occupancy occupancy = new Occupancy(pod);
      Set<Hold> over = new LinkedHashSet<>();
      for (int cell : pod.topology().cells(before.footprint())) {
        Hold hold = occupancy.hold(cell);
        if (hold != null) {
          over.add(hold);
        }
      }
      Problems problems = new Problems();
      for (Hold hold : over) {
        problems.add(
            "slice",
            "expected no hold on a slice that stays, but hold "
                + hold.id()
                + " covers "
                + id
                + "; drop that hold first");
      }
      problems.throwIfAny("slice");
    }
    RunningSlice slice = before.toBuilder().leaving(leaving).build();
    Pod changed = pod.replace(slice);
    return new Fleet(
        version + 1,
        policy,
        pods.with(changed.id(), changed),
        running.with(id, slice),
        holds,
        holdsByRequest);
  }

  private RunningSlice knownSlice(SliceId id) {
    RunningSlice slice = running.get(Objects.requireNonNull(id, "id"));
    if (slice == null) {
      throw new InvalidInputException(
          "slice",
          "slice",
          "expected a slice that runs in this fleet, but "
              + id
              + " does not; see running() for those that do");
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
    return release(List.of(knownSlice(id)));
  }

  /**
   * Releases all slices of a request: one change.
   *
   * @param request the request's id
   * @return the changed fleet
   * @throws InvalidInputException if none runs
   */
  public Fleet release(String request) {
    List<RunningSlice> slices = runningOf(request);
    if (slices.isEmpty()) {
      throw new InvalidInputException(
          "request",
          "request",
          "expected a request with slices that run in this fleet, but none of "
              + request
              + " does; see running() for those that do");
    }
    return release(slices);
  }

  private Fleet release(List<RunningSlice> slices) {
    PersistentMap<String, Pod> newPods = pods;
    PersistentMap<SliceId, RunningSlice> newRunning = running;
    for (RunningSlice slice : slices) {
      Pod pod = Objects.requireNonNull(newPods.get(slice.pod()));
      newPods = newPods.with(pod.id(), pod.release(slice));
      newRunning = newRunning.without(slice.id());
    }
    return new Fleet(version + 1, policy, newPods, newRunning, holds, holdsByRequest);
  }

  /**
   * Adds a hold.
   *
   * @param hold the hold
   * @return the changed fleet
   * @throws InvalidInputException listing every problem: its id is used, its pod or footprint does
   *     not exist, or it overlaps another hold (expired or not) or a running slice that is not
   *     leaving. O(cells of the pod) where it overlaps anything, else O(k + log n)
   */
  public Fleet hold(Hold hold) {
    Problems problems = new Problems();
    Pod pod = pods.get(hold.pod());
    int[] cells = null;
    if (pod == null) {
      problems.add("hold.pod", noPod(hold.pod()));
    } else {
      cells = checkHold(problems, "hold", hold, pod.topology(), new Occupancy(pod));
    }
    checkHoldId(problems, "hold.id", hold, holds.get(hold.id()) != null);
    problems.throwIfAny("hold");
    Pod changed = Objects.requireNonNull(pod).hold(hold, Objects.requireNonNull(cells));
    return new Fleet(
        version + 1,
        policy,
        pods.with(changed.id(), changed),
        running,
        holds.with(hold.id(), hold),
        holdsByRequest.with(new HoldKey(hold.request(), hold.id()), hold));
  }

  private static void checkHoldId(Problems problems, String path, Hold hold, boolean used) {
    if (used) {
      problems.add(
          path, "expected an id of its own, but there is a hold " + hold.id() + "; drop it first");
    }
  }

  /** Checks a hold against its pod; returns its cells if the footprint exists. */
  private static int @Nullable [] checkHold(
      Problems problems, String path, Hold hold, TpuTopology t, Occupancy occupancy) {
    Optional<String> why = whyNotHold(t, hold.footprint());
    if (why.isPresent()) {
      problems.add(path + ".footprint", why.get());
      return null;
    }
    int[] cells = t.cells(hold.footprint());
    Set<String> overlapped = new LinkedHashSet<>();
    Set<SliceId> covered = new LinkedHashSet<>();
    for (int cell : cells) {
      Hold other = occupancy.hold(cell);
      if (other != null) {
        overlapped.add(other.id());
      }
      RunningSlice slice = occupancy.slice(cell);
      if (slice != null && !slice.leaving()) {
        covered.add(slice.id());
      }
    }
    for (String other : overlapped) {
      problems.add(
          path + ".footprint",
          "expected chips without a hold, but it overlaps hold " + other + "; drop that one first");
    }
    for (SliceId slice : covered) {
      problems.add(
          path + ".footprint",
          "expected free chips or leaving slices, but it covers running slice "
              + slice
              + "; mark that slice leaving, or release it, first");
    }
    return cells;
  }

  private static Optional<String> whyNotHold(TpuTopology t, Footprint footprint) {
    if (footprint instanceof Footprint.Cubes cubes) {
      boolean fits =
          !cubes.cubes().isEmpty()
              && cubes.cubes().stream().distinct().count() == cubes.cubes().size()
              && cubes.cubes().stream().allMatch(c -> c.index() >= 0 && c.index() < t.cubeCount());
      return fits
          ? Optional.empty()
          : Optional.of(
              t.isOptical()
                  ? "expected cubes 0 to "
                      + (t.cubeCount() - 1)
                      + ", one or more and each once, but was "
                      + cubes
                      + "; name free cubes of this pod"
                  : "expected a box or partition, since this pod has no cubes, but was " + cubes);
    }
    if (footprint instanceof Footprint.Partition partition) {
      int size = t.partitions().map(f -> f.size()).orElse(0);
      if (partition.id().index() < 0 || partition.id().index() >= size) {
        return Optional.of(
            size == 0
                ? "expected a box, since this pod has no partitions, but was " + partition
                : "expected partition 0 to " + (size - 1) + ", but was " + partition);
      }
      if (t.isOptical() && t.cells(partition).length == t.hostsPerCube()) {
        return Optional.of(
            "expected whole cubes to be named as cubes, but was "
                + partition
                + "; hold cube "
                + t.cubeOf(t.originOfCell(t.cells(partition)[0])).index()
                + " instead");
      }
      return Optional.empty();
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
    Hold hold = holds.get(Objects.requireNonNull(id, "id"));
    if (hold == null) {
      throw new InvalidInputException(
          "hold",
          "hold",
          "expected a hold of this fleet, but there is no hold "
              + id
              + "; see holds() for those that are");
    }
    return withoutHold(hold, version + 1);
  }

  /**
   * Drops every hold that has expired: one change.
   *
   * @param now the time
   * @return the changed fleet, or this one if none has. O(holds)
   */
  public Fleet dropExpiredHolds(Instant now) {
    Fleet fleet = this;
    for (Hold hold : holds()) {
      if (!hold.isLive(now)) {
        fleet = fleet.withoutHold(hold, version + 1);
      }
    }
    return fleet;
  }

  /**
   * Reports the health of a part. Parts are reported one by one: a failed host is repaired as a
   * host, not chip by chip.
   *
   * @param pod the pod's id
   * @param part the part
   * @param health its health; {@link Health#HEALTHY} takes an earlier report back
   * @return the changed fleet. O(parts reported on the pod)
   * @throws InvalidInputException if the pod or the part does not exist
   */
  public Fleet report(String pod, Part part, Health health) {
    Pod p = known(pod);
    Objects.requireNonNull(health, "health");
    Problems problems = new Problems();
    checkPart(problems, "part", p.topology(), part);
    problems.throwIfAny("part");
    return with(p, p.report(List.of(part), health));
  }

  /**
   * Reports the health of many parts: one change, all or nothing.
   *
   * @param parts the parts by the pod's id
   * @param health their health; {@link Health#HEALTHY} takes earlier reports back
   * @return the changed fleet, or this one if all of it is known
   * @throws InvalidInputException listing every pod and part that does not exist
   */
  public Fleet report(Map<String, ? extends Collection<? extends Part>> parts, Health health) {
    Objects.requireNonNull(health, "health");
    Problems problems = new Problems();
    parts.forEach(
        (id, some) -> {
          Pod pod = pods.get(Objects.requireNonNull(id, "pod"));
          String path = "parts." + id;
          if (pod == null) {
            problems.add(path, noPod(id));
            return;
          }
          int i = 0;
          for (Part part : some) {
            checkPart(problems, path + "[" + i++ + "]", pod.topology(), part);
          }
        });
    problems.throwIfAny("parts");
    PersistentMap<String, Pod> changed = pods;
    boolean any = false;
    for (Map.Entry<String, ? extends Collection<? extends Part>> e : parts.entrySet()) {
      Pod before = known(e.getKey());
      Pod after = before.report(e.getValue(), health);
      any |= after != before;
      changed = after == before ? changed : changed.with(after.id(), after);
    }
    return any ? with(changed) : this;
  }

  /**
   * Reports the health of a physical machine, as that of each host (VM) on it: one change.
   *
   * @param pod the pod's id
   * @param host any host on the machine
   * @param health their health
   * @return the changed fleet
   * @throws InvalidInputException if the pod or the host does not exist, or its machine is not
   *     known since the pod's coordinates are nominal
   * @see TpuTopology#physicalHostTile()
   */
  public Fleet reportPhysicalHost(String pod, HostId host, Health health) {
    Pod p = known(pod);
    Objects.requireNonNull(health, "health");
    TpuTopology t = p.topology();
    Problems problems = new Problems();
    checkPart(problems, "host", t, new Part.Host(host));
    if (!t.coordinatesKnown() && !t.physicalHostTile().equals(t.hostTile())) {
      problems.add(
          "host",
          "expected a pod whose coordinates are known, but those of "
              + pod
              + " are nominal, so its machines are not known; report each host");
    }
    problems.throwIfAny("host");
    Shape tile = t.physicalHostTile();
    Chip at = t.originOf(host);
    Set<Part.Host> hosts = new LinkedHashSet<>();
    hosts.add(new Part.Host(host));
    for (int z = 0; z < tile.z(); z++) {
      for (int y = 0; y < tile.y(); y++) {
        for (int x = 0; x < tile.x(); x++) {
          Chip chip =
              new Chip(
                  at.x() - at.x() % tile.x() + x,
                  at.y() - at.y() % tile.y() + y,
                  at.z() - at.z() % tile.z() + z);
          hosts.add(new Part.Host(t.hostOf(chip)));
        }
      }
    }
    return with(p, p.report(hosts, health));
  }

  /**
   * Reports a part as failed.
   *
   * @param pod the pod's id
   * @param part the part
   * @return the changed fleet
   * @throws InvalidInputException if the pod or the part does not exist
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
   * @throws InvalidInputException if the pod or the host does not exist
   */
  public Fleet failHost(String pod, HostId host) {
    return fail(pod, new Part.Host(host));
  }

  /**
   * Reports a part as healthy again.
   *
   * @param pod the pod's id
   * @param part the part, as it was reported
   * @return the changed fleet
   * @throws InvalidInputException if the pod or the part does not exist
   */
  public Fleet repair(String pod, Part part) {
    return report(pod, part, Health.HEALTHY);
  }

  /**
   * Reports a part as healthy again, but not to be used before a time: its cool-down. Until {@link
   * #healed} is called with that time or a later one, everything stays as if the part had not been
   * repaired. Whatever is reported of the part in between ends the cool-down.
   *
   * @param pod the pod's id
   * @param part the part, as it was reported
   * @param usableFrom from when it may be used; a second call sets another time
   * @return the changed fleet
   * @throws InvalidInputException if the pod or the part does not exist, or the part is reported
   *     neither failed nor degraded
   */
  public Fleet healing(String pod, Part part, Instant usableFrom) {
    Pod p = known(pod);
    Objects.requireNonNull(usableFrom, "usableFrom");
    Problems problems = new Problems();
    checkPart(problems, "part", p.topology(), part);
    if (problems.list().isEmpty() && !p.reportedHealth().containsKey(part)) {
      problems.add("part", notReported(pod, part));
    }
    problems.throwIfAny("part");
    return with(p, p.healing(part, usableFrom));
  }

  private static String notReported(String pod, Part part) {
    return "expected a part that is reported failed or degraded, but "
        + part
        + " of pod "
        + pod
        + " is not; report it first, as the same kind of part";
  }

  /**
   * Makes every part healthy whose cool-down has passed: one change.
   *
   * @param now the time
   * @return the changed fleet, or this one if none has. O(pods + parts reported)
   */
  public Fleet healed(Instant now) {
    Objects.requireNonNull(now, "now");
    PersistentMap<String, Pod> changed = pods;
    boolean any = false;
    for (Pod before : pods()) {
      Pod after = before.healed(now);
      any |= after != before;
      changed = after == before ? changed : changed.with(after.id(), after);
    }
    return any ? with(changed) : this;
  }

  /**
   * Cordons a chip, host or cube: nothing new, what runs stays.
   *
   * @param pod the pod's id
   * @param part a chip (which cordons its host), host or cube
   * @return the changed fleet
   * @throws InvalidInputException if the pod or the part does not exist, or it is a link or port
   */
  public Fleet cordon(String pod, Part part) {
    return cordon(pod, part, true);
  }

  /**
   * Takes a cordon back; other cordons stay, also those that cover the same chips.
   *
   * @param pod the pod's id
   * @param part a chip, host or cube
   * @return the changed fleet, or this one if the part is not cordoned
   * @throws InvalidInputException as {@link #cordon(String, Part)}
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
    return with(p, p.cordon(part, value));
  }

  private static void checkCordon(Problems problems, String path, Part part) {
    if (part instanceof Part.Link || part instanceof Part.OcsPort) {
      problems.add(
          path, "expected a chip, host or cube, but was " + part + "; cordon its host or cube");
    }
  }

  /**
   * Cordons a whole pod.
   *
   * @param pod the pod's id
   * @return the changed fleet
   * @throws InvalidInputException if the pod does not exist
   */
  public Fleet cordonPod(String pod) {
    Pod p = known(pod);
    return with(p, p.cordon(true));
  }

  /**
   * Takes the cordon of a whole pod back; cordons of its parts stay.
   *
   * @param pod the pod's id
   * @return the changed fleet
   * @throws InvalidInputException if the pod does not exist
   */
  public Fleet uncordonPod(String pod) {
    Pod p = known(pod);
    return with(p, p.cordon(false));
  }

  private static void checkPart(Problems problems, String path, TpuTopology t, Part part) {
    Objects.requireNonNull(part, "part");
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
          problems.add(
              path,
              "expected a link of this pod, but none leaves "
                  + link.from()
                  + " along "
                  + link.axis()
                  + " in the positive direction; name a link by the chip at its lower end");
        }
      }
    } catch (InvalidInputException e) {
      problems.add(path, e.problems().get(0).message());
    }
  }

  private Pod known(String id) {
    Pod pod = pods.get(Objects.requireNonNull(id, "pod"));
    if (pod == null) {
      throw new InvalidInputException("pod", "pod", noPod(id));
    }
    return pod;
  }

  private Fleet with(PersistentMap<String, Pod> newPods) {
    return new Fleet(version + 1, policy, newPods, running, holds, holdsByRequest);
  }

  private Fleet with(Pod before, Pod after) {
    return before == after ? this : with(pods.with(after.id(), after));
  }

  @Override
  public boolean equals(Object other) {
    return this == other
        || other instanceof Fleet that
            && policy.equals(that.policy)
            && List.copyOf(pods()).equals(List.copyOf(that.pods()));
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
        + plural(pods.size(), "pod")
        + ", "
        + plural(running.size(), "running slice")
        + ", "
        + plural(holds.size(), "hold");
  }

  private static String plural(int n, String noun) {
    return n + " " + noun + (n == 1 ? "" : "s");
  }

  /** One pod while it is built. */
  private static final class PodDraft {
    private final String id;
    private final TpuTopology topology;
    private final Map<String, String> labels;
    private final TreeMap<Part, Health> reported = new TreeMap<>(PartOrder.INSTANCE);
    private final TreeMap<Part, Instant> healing = new TreeMap<>(PartOrder.INSTANCE);
    private final TreeSet<Part> cordons = new TreeSet<>(PartOrder.INSTANCE);
    private boolean cordoned;
    private final Occupancy occupancy;
    private final TreeMap<SliceId, RunningSlice> running = new TreeMap<>();
    private final TreeMap<String, Hold> holds = new TreeMap<>();

    PodDraft(String id, TpuTopology topology, Map<String, String> labels) {
      this.id = id;
      this.topology = topology;
      this.labels = labels;
      this.occupancy = new Occupancy(topology);
    }

    Pod build(HealthPolicy policy) {
      reported.values().removeIf(health -> health == Health.HEALTHY);
      return new Pod(
          id,
          topology,
          labels,
          policy,
          Collections.unmodifiableMap(reported),
          Collections.unmodifiableMap(healing),
          Collections.unmodifiableSet(cordons),
          cordoned,
          cells(running.values().stream().map(RunningSlice::footprint)),
          cells(holds.values().stream().map(Hold::footprint)),
          PersistentMap.of(running),
          PersistentMap.of(holds));
    }

    private CellSet cells(Stream<Footprint> footprints) {
      return CellSet.empty(topology.cellCount())
          .with(footprints.flatMapToInt(f -> Arrays.stream(topology.cells(f))).toArray());
    }
  }

  /**
   * Builds a {@link Fleet}; everything is checked together when it is built. Confined to one thread
   * at a time.
   */
  public static final class Builder {
    private record PodEntry(String id, TpuTopology topology, Map<String, String> labels) {}

    private record PartEntry(String pod, Part part, Health health) {}

    private record HealingEntry(String pod, Part part, Instant usableFrom) {}

    private final List<PodEntry> pods = new ArrayList<>();
    private final List<PartEntry> health = new ArrayList<>();
    private final List<HealingEntry> healing = new ArrayList<>();
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
              copyOf(labels)));
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
      health.add(
          new PartEntry(
              Objects.requireNonNull(pod, "pod"),
              Objects.requireNonNull(part, "part"),
              Objects.requireNonNull(value, "health")));
      return this;
    }

    /**
     * Sets the time from which a part that is reported failed or degraded may be used again.
     *
     * @param pod the pod's id
     * @param part the part, as it is reported
     * @param usableFrom the end of its cool-down
     * @return this
     * @see Fleet#healing
     */
    public Builder healing(String pod, Part part, Instant usableFrom) {
      healing.add(
          new HealingEntry(
              Objects.requireNonNull(pod, "pod"),
              Objects.requireNonNull(part, "part"),
              Objects.requireNonNull(usableFrom, "usableFrom")));
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
      cordons.add(
          new PartEntry(
              Objects.requireNonNull(pod, "pod"),
              Objects.requireNonNull(part, "part"),
              Health.HEALTHY));
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
     * @param value 0 or more; 0 by default
     * @return this
     */
    public Builder version(long value) {
      version = value;
      return this;
    }

    /**
     * Checks and builds. O(cells + n log n) for n slices, parts and holds.
     *
     * @return the fleet
     * @throws InvalidInputException listing every problem
     */
    public Fleet build() {
      Problems problems = new Problems();
      if (version < 0) {
        problems.add("version", "expected 0 or more, but was " + version);
      }
      TreeMap<String, PodDraft> drafts = new TreeMap<>();
      for (int i = 0; i < pods.size(); i++) {
        PodEntry e = pods.get(i);
        checkPodId(problems, "pods[" + i + "].id", e.id(), drafts.containsKey(e.id()));
        drafts.putIfAbsent(e.id(), new PodDraft(e.id(), e.topology(), e.labels()));
      }
      addParts(problems, drafts);
      if (running.size() > MAX_SLICES) {
        problems.add("running", tooMany(running.size()));
        problems.throwIfAny("fleet");
      }
      TreeMap<SliceId, RunningSlice> runningMap = addRunning(problems, drafts);
      TreeMap<String, Hold> holdMap = new TreeMap<>();
      TreeMap<HoldKey, Hold> holdsByRequest = new TreeMap<>();
      for (int i = 0; i < holds.size(); i++) {
        Hold hold = holds.get(i);
        String path = "holds[" + i + "]";
        checkHoldId(problems, path + ".id", hold, holdMap.putIfAbsent(hold.id(), hold) != null);
        PodDraft pod = draft(problems, path + ".pod", drafts, hold.pod());
        if (pod != null) {
          int[] cells = checkHold(problems, path, hold, pod.topology, pod.occupancy);
          if (cells != null) {
            pod.occupancy.add(hold, cells);
            pod.holds.put(hold.id(), hold);
          }
        }
        holdsByRequest.put(new HoldKey(hold.request(), hold.id()), hold);
      }
      problems.throwIfAny("fleet");
      TreeMap<String, Pod> built = new TreeMap<>();
      drafts.forEach((id, draft) -> built.put(id, draft.build(policy)));
      return new Fleet(
          version,
          policy,
          PersistentMap.of(built),
          PersistentMap.of(runningMap),
          PersistentMap.of(holdMap),
          PersistentMap.of(holdsByRequest));
    }

    private static @Nullable PodDraft draft(
        Problems problems, String path, Map<String, PodDraft> drafts, String id) {
      PodDraft draft = drafts.get(id);
      if (draft == null) {
        problems.add(path, noPod(id));
      }
      return draft;
    }

    private void addParts(Problems problems, Map<String, PodDraft> drafts) {
      for (int i = 0; i < health.size(); i++) {
        PartEntry e = health.get(i);
        PodDraft pod = draft(problems, "health[" + i + "].pod", drafts, e.pod());
        if (pod != null) {
          String path = "health[" + i + "].part";
          checkPart(problems, path, pod.topology, e.part());
          Health before = pod.reported.putIfAbsent(e.part(), e.health());
          if (before != null && before != e.health()) {
            problems.add(
                path,
                "expected one health of "
                    + e.part()
                    + ", but it is both "
                    + before
                    + " and "
                    + e.health()
                    + "; keep the one that holds");
          }
        }
      }
      for (int i = 0; i < healing.size(); i++) {
        HealingEntry e = healing.get(i);
        PodDraft pod = draft(problems, "healing[" + i + "].pod", drafts, e.pod());
        if (pod != null) {
          String path = "healing[" + i + "].part";
          if (pod.reported.getOrDefault(e.part(), Health.HEALTHY) == Health.HEALTHY) {
            problems.add(path, notReported(e.pod(), e.part()));
          } else if (pod.healing.putIfAbsent(e.part(), e.usableFrom()) != null) {
            problems.add(
                path, "expected one cool-down of " + e.part() + ", but there are two; keep one");
          }
        }
      }
      for (int i = 0; i < cordons.size(); i++) {
        PartEntry e = cordons.get(i);
        PodDraft pod = draft(problems, "cordons[" + i + "].pod", drafts, e.pod());
        if (pod != null) {
          checkPart(problems, "cordons[" + i + "].part", pod.topology, e.part());
          checkCordon(problems, "cordons[" + i + "].part", e.part());
          pod.cordons.add(e.part());
        }
      }
      for (int i = 0; i < podCordons.size(); i++) {
        PodDraft pod = draft(problems, "podCordons[" + i + "]", drafts, podCordons.get(i));
        if (pod != null) {
          pod.cordoned = true;
        }
      }
    }

    private TreeMap<SliceId, RunningSlice> addRunning(
        Problems problems, Map<String, PodDraft> drafts) {
      TreeMap<SliceId, RunningSlice> found = new TreeMap<>();
      Map<String, RunningSlice> requests = new HashMap<>();
      for (int i = 0; i < running.size(); i++) {
        RunningSlice slice = running.get(i);
        String path = "running[" + i + "]";
        if (found.putIfAbsent(slice.id(), slice) != null) {
          problems.add(
              path + ".id", "expected an id of its own, but " + slice.id() + " is used twice");
        }
        PodDraft pod = draft(problems, path + ".pod", drafts, slice.pod());
        if (pod != null) {
          int[] cells = checkPlace(problems, path, slice, pod.id, pod.topology, pod.occupancy);
          if (cells != null) {
            pod.occupancy.add(slice, cells);
            pod.running.put(slice.id(), slice);
          }
        }
        RunningSlice sibling = requests.putIfAbsent(slice.id().request(), slice);
        if (sibling != null) {
          PodDraft other = drafts.get(sibling.pod());
          checkSibling(
              problems,
              path,
              slice,
              pod == null ? null : pod.topology,
              sibling,
              other == null ? null : other.topology);
        }
      }
      return found;
    }
  }
}
