package dev.slicewright.fleet;

import dev.slicewright.SliceId;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.TpuTopology;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * One pod of a fleet: its topology, labels, health, cordons, running slices and holds. Immutable,
 * safe to share.
 */
public final class Pod {

  private final String id;
  private final TpuTopology topology;
  private final Map<String, String> labels;
  private final HealthPolicy policy;
  private final Map<Part, Health> reported;
  private final Map<Part, Instant> healing; // some of those reported
  private final Set<Part> cordons;
  private final boolean cordoned;
  private final CellSet busy;
  private final CellSet held; // of all holds; they do not overlap
  private final PersistentMap<SliceId, RunningSlice> running;
  private final PersistentMap<String, Hold> holds;
  // Derived on first use; racing threads derive equal values.
  private volatile @Nullable EffectiveHealth health;
  private volatile @Nullable CellSet cordonedCells;
  private volatile @Nullable RunningTotals totals;
  private volatile @Nullable FreeRoom room;

  Pod(
      String id,
      TpuTopology topology,
      Map<String, String> labels,
      HealthPolicy policy,
      Map<Part, Health> reported,
      Map<Part, Instant> healing,
      Set<Part> cordons,
      boolean cordoned,
      CellSet busy,
      CellSet held,
      PersistentMap<SliceId, RunningSlice> running,
      PersistentMap<String, Hold> holds) {
    this.id = id;
    this.topology = topology;
    this.labels = labels;
    this.policy = policy;
    this.reported = reported;
    this.healing = healing;
    this.cordons = cordons;
    this.cordoned = cordoned;
    this.busy = busy;
    this.held = held;
    this.running = running;
    this.holds = holds;
  }

  /**
   * The pod's id.
   *
   * @return not empty
   */
  public String id() {
    return id;
  }

  /**
   * Its topology.
   *
   * @return the topology
   */
  public TpuTopology topology() {
    return topology;
  }

  /**
   * Its labels: location and whatever else requests select by.
   *
   * @return an unmodifiable map in key order
   */
  public Map<String, String> labels() {
    return labels;
  }

  /**
   * The parts that are not healthy, as reported.
   *
   * @return an unmodifiable map, ordered by kind of part, then place
   */
  public Map<Part, Health> reportedHealth() {
    return reported;
  }

  /**
   * Parts that are reported healthy again but whose cool-down goes on: each is still in {@link
   * #reportedHealth} and is used no more than before.
   *
   * @return an unmodifiable map from part to the time from which it may be used, ordered by kind of
   *     part, then place
   */
  public Map<Part, Instant> healing() {
    return healing;
  }

  /**
   * What the reported health means for slices.
   *
   * @return derived on first use, then kept
   * @throws IllegalStateException if the fleet's own {@link HealthPolicy} gave sets of cells that
   *     do not range over this pod's cells
   */
  public EffectiveHealth health() {
    EffectiveHealth h = health;
    if (h == null) {
      h = Objects.requireNonNull(policy.derive(topology, reported), "HealthPolicy.derive");
      int cells = topology.cellCount();
      if (h.failedCells().size() != cells || h.degradedCells().size() != cells) {
        throw new IllegalStateException(
            "Expected a health policy to give sets of "
                + cells
                + " cells for pod "
                + id
                + ", but it gave "
                + h.failedCells().size()
                + " and "
                + h.degradedCells().size()
                + "; start from CellSet.empty(topology.cellCount()).");
      }
      health = h;
    }
    return h;
  }

  /**
   * The cordoned parts, a cordon of the whole pod aside.
   *
   * @return an unmodifiable set, ordered by kind of part, then place
   */
  public Set<Part> cordons() {
    return cordons;
  }

  /**
   * Whether the whole pod is cordoned.
   *
   * @return true if nothing new may be placed here
   */
  public boolean isCordoned() {
    return cordoned;
  }

  /**
   * The cells on which nothing new may be placed; all of them if the pod is cordoned.
   *
   * @return derived on first use, then kept
   */
  public CellSet cordonedCells() {
    CellSet c = cordonedCells;
    if (c == null) {
      c = CellSet.empty(topology.cellCount());
      if (cordoned) {
        c = c.with(IntStream.range(0, topology.cellCount()).toArray());
      }
      for (Part part : cordons) {
        if (part instanceof Part.Chip chip) {
          c = c.with(topology.cells(topology.hostOf(chip.chip())));
        } else if (part instanceof Part.Host host) {
          c = c.with(topology.cells(host.host()));
        } else if (part instanceof Part.Cube cube) {
          c = c.with(topology.cells(new Footprint.Cubes(List.of(cube.cube()))));
        }
      }
      cordonedCells = c;
    }
    return c;
  }

  /**
   * The cells that running slices take; holds are not in it.
   *
   * @return the cells
   */
  public CellSet busy() {
    return busy;
  }

  /**
   * The slices that run here, in the order of their ids.
   *
   * @return an unmodifiable collection
   */
  public Collection<RunningSlice> running() {
    return Collections.unmodifiableCollection(running.values(null));
  }

  /**
   * The holds on this pod, in the order of their ids; expired ones too.
   *
   * @return an unmodifiable collection
   */
  public Collection<Hold> holds() {
    return Collections.unmodifiableCollection(holds.values(null));
  }

  /**
   * The running slice that takes a cell.
   *
   * @param cell from 0 to the topology's cell count - 1
   * @return the slice, or empty if the cell is free. O(slices of the pod)
   */
  public Optional<RunningSlice> runningAt(int cell) {
    if (!busy.contains(cell)) {
      return Optional.empty();
    }
    for (RunningSlice slice : running.values(null)) {
      for (int c : topology.cells(slice.footprint())) {
        if (c == cell) {
          return Optional.of(slice);
        }
      }
    }
    return Optional.empty();
  }

  /**
   * What runs here, added up.
   *
   * @return derived on first use, then kept. O(slices of the pod) at first
   */
  public RunningTotals totals() {
    RunningTotals sums = totals;
    if (sums == null) {
      sums = RunningTotals.of(this);
      totals = sums;
    }
    return sums;
  }

  /**
   * What is free here, in figures; holds are left out.
   *
   * @return derived on first use, then kept. O(partitions + cells) at first
   */
  public FreeRoom room() {
    FreeRoom r = room;
    if (r == null) {
      r = FreeRoom.of(this);
      room = r;
    }
    return r;
  }

  /**
   * Whether it has any hold, expired ones too.
   *
   * @return false if {@link #room} is all there is to say
   */
  public boolean hasHolds() {
    return holds.size() > 0;
  }

  /**
   * Chips that nothing runs on; failed, cordoned and held ones count.
   *
   * @return 0 or more
   */
  public int idleChips() {
    return (topology.cellCount() - busy.cardinality()) * topology.chipsPerCell();
  }

  /**
   * Chips that are neither taken nor failed nor cordoned; holds do not count.
   *
   * @return 0 or more
   */
  public int freeChips() {
    CellSet failed = health().failedCells();
    CellSet off = cordonedCells();
    int cells = 0;
    for (int i = 0; i < busy.wordCount(); i++) {
      cells += Long.bitCount(busy.word(i) | failed.word(i) | off.word(i));
    }
    return (topology.cellCount() - cells) * topology.chipsPerCell();
  }

  /** The cells of all holds, expired ones too. */
  CellSet held() {
    return held;
  }

  // ---------------------------------------------------------------- changes, for Fleet

  Pod place(RunningSlice slice, int[] cells) {
    return copy(
        reported,
        healing,
        cordons,
        cordoned,
        busy.with(cells),
        held,
        running.with(slice.id(), slice),
        holds);
  }

  /** The same slice, changed in what does not move it. */
  Pod replace(RunningSlice slice) {
    return copy(
        reported, healing, cordons, cordoned, busy, held, running.with(slice.id(), slice), holds);
  }

  Pod release(RunningSlice slice) {
    return copy(
        reported,
        healing,
        cordons,
        cordoned,
        busy.without(topology.cells(slice.footprint())),
        held,
        running.without(slice.id()),
        holds);
  }

  Pod hold(Hold hold, int[] cells) {
    return copy(
        reported,
        healing,
        cordons,
        cordoned,
        busy,
        held.with(cells),
        running,
        holds.with(hold.id(), hold));
  }

  Pod dropHold(Hold hold) {
    return copy(
        reported,
        healing,
        cordons,
        cordoned,
        busy,
        held.without(topology.cells(hold.footprint())),
        running,
        holds.without(hold.id()));
  }

  /** This pod itself where the parts have that health already. */
  Pod report(Collection<? extends Part> parts, Health value) {
    TreeMap<Part, Health> more = new TreeMap<>(PartOrder.INSTANCE);
    more.putAll(reported);
    TreeMap<Part, Instant> cooling = new TreeMap<>(PartOrder.INSTANCE);
    cooling.putAll(healing);
    for (Part part : parts) {
      cooling.remove(part); // what is said now holds now
      if (value == Health.HEALTHY) {
        more.remove(part);
      } else {
        more.put(part, value);
      }
    }
    return changed(more, cooling);
  }

  /** The same health, to end at a time; this pod itself where that is known already. */
  Pod healing(Part part, Instant usableFrom) {
    TreeMap<Part, Instant> more = new TreeMap<>(PartOrder.INSTANCE);
    more.putAll(healing);
    more.put(part, usableFrom);
    return changed(reported, more);
  }

  /** This pod itself where no cool-down has passed. */
  Pod healed(Instant now) {
    if (healing.isEmpty()) {
      return this;
    }
    List<Part> done = new ArrayList<>();
    healing.forEach(
        (part, from) -> {
          if (!from.isAfter(now)) {
            done.add(part);
          }
        });
    return report(done, Health.HEALTHY);
  }

  private Pod changed(Map<Part, Health> newReported, Map<Part, Instant> newHealing) {
    boolean same = newReported.equals(reported);
    if (same && newHealing.equals(healing)) {
      return this;
    }
    return copy(
        same ? reported : Collections.unmodifiableMap(newReported),
        newHealing.equals(healing) ? healing : Collections.unmodifiableMap(newHealing),
        cordons,
        cordoned,
        busy,
        held,
        running,
        holds);
  }

  /** This pod itself where nothing changes. */
  Pod cordon(Part part, boolean value) {
    TreeSet<Part> more = new TreeSet<>(PartOrder.INSTANCE);
    more.addAll(cordons);
    boolean changed = value ? more.add(part) : more.remove(part);
    return changed
        ? copy(
            reported,
            healing,
            Collections.unmodifiableSet(more),
            cordoned,
            busy,
            held,
            running,
            holds)
        : this;
  }

  /** This pod itself where nothing changes. */
  Pod cordon(boolean value) {
    return value == cordoned
        ? this
        : copy(reported, healing, cordons, value, busy, held, running, holds);
  }

  private Pod copy(
      Map<Part, Health> newReported,
      Map<Part, Instant> newHealing,
      Set<Part> newCordons,
      boolean newCordoned,
      CellSet newBusy,
      CellSet newHeld,
      PersistentMap<SliceId, RunningSlice> newRunning,
      PersistentMap<String, Hold> newHolds) {
    Pod pod =
        new Pod(
            id,
            topology,
            labels,
            policy,
            newReported,
            newHealing,
            newCordons,
            newCordoned,
            newBusy,
            newHeld,
            newRunning,
            newHolds);
    if (newReported == reported) {
      pod.health = health;
    }
    if (newCordons == cordons && newCordoned == cordoned) {
      pod.cordonedCells = cordonedCells;
      if (newReported == reported && newBusy == busy) {
        pod.room = room;
      }
    }
    if (newReported == reported && newRunning == running) {
      pod.totals = totals;
    }
    return pod;
  }

  /**
   * The health of a footprint of this pod.
   *
   * @param footprint a footprint
   * @return failed, degraded or healthy
   */
  public Health healthOf(Footprint footprint) {
    return health().of(topology, footprint);
  }

  /**
   * Why this pod is none that a request would take, whatever is free: accelerator, labels, or the
   * pod that the request is pinned to.
   *
   * @param request a request
   * @return what is wrong, to follow the name of the pod; empty if it matches. O(labels asked for)
   */
  public Optional<String> whyNot(SliceRequest request) {
    if (!request.accelerators().isEmpty()
        && !request.accelerators().contains(topology.accelerator().name())) {
      return Optional.of("is " + topology.accelerator() + ", not one of " + request.accelerators());
    }
    for (Map.Entry<String, String> label : request.requiredLabels().entrySet()) {
      if (!label.getValue().equals(labels.get(label.getKey()))) {
        return Optional.of("lacks the required label " + label);
      }
    }
    for (Map.Entry<String, Set<String>> label : request.forbiddenLabels().entrySet()) {
      String value = labels.get(label.getKey());
      if (value != null && label.getValue().contains(value)) {
        return Optional.of("has the forbidden label " + label.getKey() + "=" + value);
      }
    }
    return request.pod().filter(pod -> !pod.equals(id)).map(pod -> "is not the pinned pod " + pod);
  }

  /** Equal if all of it is, the fleet's {@link HealthPolicy} included. */
  @Override
  public boolean equals(Object other) {
    return this == other
        || other instanceof Pod that
            && id.equals(that.id)
            && topology.equals(that.topology)
            && labels.equals(that.labels)
            && policy.equals(that.policy)
            && reported.equals(that.reported)
            && healing.equals(that.healing)
            && cordons.equals(that.cordons)
            && cordoned == that.cordoned
            && busy.equals(that.busy)
            && List.copyOf(running()).equals(List.copyOf(that.running()))
            && List.copyOf(holds()).equals(List.copyOf(that.holds()));
  }

  @Override
  public int hashCode() {
    return id.hashCode();
  }

  @Override
  public String toString() {
    return id
        + ": "
        + topology
        + ", "
        + idleChips()
        + " of "
        + topology.chipCount()
        + " chips idle";
  }
}
