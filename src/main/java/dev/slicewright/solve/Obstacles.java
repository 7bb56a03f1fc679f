package dev.slicewright.solve;

import dev.slicewright.cost.Disruption;
import dev.slicewright.fleet.EffectiveHealth;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.Remedy.PodPart;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * What stands in a request's way in a fleet, as numbered items of four kinds: running requests (and
 * their gangs), reported parts, cordons, holds. Confined to one thread at a time.
 */
final class Obstacles {

  /** Kinds of what may stand on a place; each is one bit. */
  static final int RUNNING = 1;

  static final int HEALTH = 2;
  static final int CORDON = 4;
  static final int HELD = 8;

  /** Where what runs may not leave. */
  private static final int BLOCKED = -2;

  /** Running requests that leave together. */
  record Group(List<String> requests, long chipSeconds, boolean mayLeave) {}

  final List<Group> groups = new ArrayList<>();
  final List<PodPart> parts = new ArrayList<>();
  final List<PodPart> cordons = new ArrayList<>();
  final List<Hold> holds = new ArrayList<>();

  private final Instance in;
  private final SliceRequest request;
  private final Map<String, Integer> groupOf = new HashMap<>(); // by request
  private final Map<Integer, Local> locals = new HashMap<>();

  Obstacles(Instance in) {
    this.in = in;
    this.request = in.requests.get(0);
    readGroups();
    for (Pod pod : in.pods) {
      pod.reportedHealth()
          .forEach(
              (part, health) -> {
                if (health == Health.FAILED || health == Health.DEGRADED && request.healthyOnly()) {
                  parts.add(new PodPart(pod.id(), part));
                }
              });
      if (pod.isCordoned()) {
        cordons.add(new PodPart(pod.id(), null));
      }
      pod.cordons().forEach(part -> cordons.add(new PodPart(pod.id(), part)));
    }
    for (Hold hold : in.fleet.holds()) {
      if (hold.isLive(in.rules.now()) && !hold.request().equals(request.id())) {
        holds.add(hold);
      }
    }
  }

  private void readGroups() {
    Map<String, List<RunningSlice>> byRequest = new LinkedHashMap<>();
    for (RunningSlice slice : in.fleet.running()) {
      byRequest.computeIfAbsent(slice.id().request(), r -> new ArrayList<>()).add(slice);
    }
    Map<String, List<String>> units = new LinkedHashMap<>();
    byRequest.forEach(
        (id, slices) -> {
          boolean gone = slices.stream().allMatch(RunningSlice::leaving);
          String gang = slices.get(0).request().gang().orElse("");
          // What is leaving anyway is tied to nobody.
          String key = gone || gang.isEmpty() ? "r" + id : "g" + gang;
          units.computeIfAbsent(key, u -> new ArrayList<>()).add(id);
        });
    for (List<String> ids : units.values()) {
      boolean may = true;
      long cost = 0;
      for (String id : ids) {
        groupOf.put(id, groups.size());
        for (RunningSlice slice : byRequest.getOrDefault(id, List.of())) {
          may &= !slice.leaving();
          Pod pod = in.pods.get(in.podOf(slice.pod()));
          boolean broken =
              !pod.reportedHealth().isEmpty() && pod.healthOf(slice.footprint()) == Health.FAILED;
          cost = Math.addExact(cost, Disruption.chipSeconds(slice, broken, in.rules.now()));
        }
      }
      groups.add(new Group(List.copyOf(ids), cost, may));
    }
  }

  /** Whether requests are tied to others. */
  boolean hasGangs() {
    return groups.stream().anyMatch(g -> g.requests().size() > 1);
  }

  long[] costs(int kind) {
    if (kind == RUNNING) {
      return groups.stream().mapToLong(Group::chipSeconds).toArray();
    }
    long[] ones =
        new long[kind == HEALTH ? parts.size() : kind == CORDON ? cordons.size() : holds.size()];
    Arrays.fill(ones, 1);
    return ones;
  }

  Local local(int p) {
    return locals.computeIfAbsent(p, Local::new);
  }

  /** What stands in one pod. */
  final class Local {
    private final Pod pod;
    private final TpuTopology t;
    private final CellSet held;
    private final Map<Integer, CellSet> heldCells = new LinkedHashMap<>(); // by hold
    private @Nullable Map<Integer, CellSet> cordonCells; // by cordon
    private int @Nullable [] groupByCell;
    private @Nullable Map<Integer, EffectiveHealth> effects; // by part

    Local(int p) {
      pod = in.pods.get(p);
      t = pod.topology();
      CellSet sum = CellSet.empty(t.cellCount());
      for (int i = 0; i < holds.size(); i++) {
        if (holds.get(i).pod().equals(pod.id())) {
          int[] cells = t.cells(holds.get(i).footprint());
          heldCells.put(i, CellSet.empty(t.cellCount()).with(cells));
          sum = sum.with(cells);
        }
      }
      held = sum;
    }

    /** The kinds of what stands on a place; 0 if it is free. */
    int kinds(Footprint place, int[] cells) {
      int mask = pod.busy().containsAny(cells) ? RUNNING : 0;
      mask |= held.containsAny(cells) ? HELD : 0;
      mask |= pod.cordonedCells().containsAny(cells) ? CORDON : 0;
      if (!pod.reportedHealth().isEmpty()) {
        Health health = pod.health().of(t, place, cells);
        mask |= isBad(health) ? HEALTH : 0;
      }
      return mask;
    }

    private boolean isBad(Health health) {
      return health == Health.FAILED || health == Health.DEGRADED && request.healthyOnly();
    }

    /** The items of one kind on a place, or null if they cannot all be removed. */
    int @Nullable [] items(int kind, Footprint place, int[] cells) {
      TreeSet<Integer> found = new TreeSet<>();
      switch (kind) {
        case RUNNING -> {
          int[] by = groupByCell();
          for (int cell : cells) {
            if (by[cell] == BLOCKED) {
              return null;
            }
            if (by[cell] >= 0) {
              found.add(by[cell]);
            }
          }
        }
        case HEALTH ->
            effects()
                .forEach(
                    (part, effect) -> {
                      if (isBad(effect.of(t, place, cells))) {
                        found.add(part);
                      }
                    });
        case CORDON ->
            cordonCells()
                .forEach(
                    (cordon, on) -> {
                      if (on.containsAny(cells)) {
                        found.add(cordon);
                      }
                    });
        default ->
            heldCells.forEach(
                (hold, on) -> {
                  if (on.containsAny(cells)) {
                    found.add(hold);
                  }
                });
      }
      return found.isEmpty() ? null : found.stream().mapToInt(Integer::intValue).toArray();
    }

    /** The group on each cell: -1 where nothing runs, {@link #BLOCKED} where it may not leave. */
    private int[] groupByCell() {
      int[] known = groupByCell;
      if (known == null) {
        known = new int[t.cellCount()];
        Arrays.fill(known, -1);
        for (RunningSlice slice : pod.running()) {
          int group = groupOf.getOrDefault(slice.id().request(), -1);
          boolean may = group >= 0 && groups.get(group).mayLeave();
          for (int cell : t.cells(slice.footprint())) {
            known[cell] = may ? group : BLOCKED;
          }
        }
        groupByCell = known;
      }
      return known;
    }

    private Map<Integer, CellSet> cordonCells() {
      Map<Integer, CellSet> known = cordonCells;
      if (known == null) {
        known = new LinkedHashMap<>();
        for (int i = 0; i < cordons.size(); i++) {
          if (cordons.get(i).pod().equals(pod.id())) {
            known.put(i, CellSet.empty(t.cellCount()).with(cells(cordons.get(i).part())));
          }
        }
        cordonCells = known;
      }
      return known;
    }

    private int[] cells(@Nullable Part part) {
      if (part instanceof Part.Chip chip) {
        return t.cells(t.hostOf(chip.chip()));
      }
      if (part instanceof Part.Host host) {
        return t.cells(host.host());
      }
      if (part instanceof Part.Cube cube) {
        return t.cells(new Footprint.Cubes(List.of(cube.cube())));
      }
      // The whole pod; nothing else can be cordoned.
      return part == null ? IntStream.range(0, t.cellCount()).toArray() : new int[0];
    }

    /** What each reported part alone means, by the fleet's own policy. */
    private Map<Integer, EffectiveHealth> effects() {
      Map<Integer, EffectiveHealth> known = effects;
      if (known == null) {
        known = new LinkedHashMap<>();
        Fleet healthy = in.fleet;
        for (Part part : pod.reportedHealth().keySet()) {
          healthy = healthy.repair(pod.id(), part);
        }
        for (int i = 0; i < parts.size(); i++) {
          Part part = parts.get(i).part();
          Health health = part == null ? null : pod.reportedHealth().get(part);
          if (parts.get(i).pod().equals(pod.id()) && part != null && health != null) {
            known.put(
                i, healthy.report(pod.id(), part, health).pod(pod.id()).orElseThrow().health());
          }
        }
        effects = known;
      }
      return known;
    }
  }
}
