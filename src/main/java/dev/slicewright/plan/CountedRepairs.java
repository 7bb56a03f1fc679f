package dev.slicewright.plan;

import dev.slicewright.SliceId;
import dev.slicewright.cost.Collectives;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.EffectiveHealth;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The best that moving and evicting what runs can reach where nothing new is wanted, by counting
 * room instead of naming places. Immutable, safe to share.
 *
 * <p>A slice of m cells that moves into a pod takes m of the cells that lie in free places of L
 * cells, for every size L up to m into which larger places split: so the sum over all such slices
 * is at most L × the free places of L cells. A place is free if it is usable and whatever may go
 * from it has gone; one that several slices share is counted for each, and spreads, quotas and
 * reservations are left out. That makes the best choice a bound for every plan; on partitions and
 * whole cubes, whose sizes divide each other, it is nearly always reached.
 *
 * <p>The choice is found by depth-first search over the requests, most important first, bounded by
 * the sum of what each of those that are left would like best, level by level (vectors of levels
 * are an ordered group, so that the sum of the best is the best of the sums). What is left of the
 * room tells equal states apart, so that in effect this is dynamic programming: O(requests × states
 * × ways of a request), given up beyond {@value #MAX_STEPS} steps.
 */
public final class CountedRepairs {

  /**
   * What one slice does. Immutable, safe to share.
   *
   * @param slice the running slice
   * @param pod the id of the pod to which it moves, its own perhaps; empty if it stays or is
   *     evicted
   * @param shape the shape that it then has; its present one if it stays or is evicted
   * @param evicted whether its request is evicted
   */
  public record Step(SliceId slice, String pod, Shape shape, boolean evicted) {}

  private static final int MAX_STEPS = 200_000;
  private static final int MAX_GROUPS = 1_000;
  private static final int MAX_WAYS = 2_000; // of one request
  private static final int MAX_ALL_WAYS = 20_000;
  private static final int MAX_PODS = 64;
  private static final long MAX_WORK = 4_000_000; // steps, and ways, times rows

  /** One joint choice of a request: what it is worth by level, and what room it takes by row. */
  private record Way(long[] worth, long[] takes, List<Step> steps) {}

  private final long[] optimum; // as the score has it
  private final List<Step> steps;

  private CountedRepairs(long[] optimum, List<Step> steps) {
    this.optimum = optimum;
    this.steps = steps;
  }

  /**
   * Counts.
   *
   * @param fleet the fleet
   * @param requests what is wanted
   * @param rules the rules
   * @param cost the cost terms
   * @return empty where it says nothing: something new is wanted or nothing may go, the objective
   *     has levels other than kept and drained chips, disruption, new hosts and price, or it is too
   *     much to count
   */
  public static Optional<CountedRepairs> of(
      Fleet fleet, List<SliceRequest> requests, PlanningRules rules, CostTerms cost) {
    return of(fleet, requests, rules, cost, () -> false);
  }

  /**
   * The same, for a caller whose time is short.
   *
   * @param fleet the fleet
   * @param requests what is wanted
   * @param rules the rules
   * @param cost the cost terms
   * @param stop asked now and then; once true, the count is given up
   * @return empty also where it was given up
   */
  public static Optional<CountedRepairs> of(
      Fleet fleet,
      List<SliceRequest> requests,
      PlanningRules rules,
      CostTerms cost,
      BooleanSupplier stop) {
    if (!requests.isEmpty()) {
      return Optional.empty();
    }
    Standing standing = Standing.of(fleet, rules);
    return of(fleet, rules, cost, standing, ObjectiveLevels.of(standing, requests, cost), stop);
  }

  static Optional<CountedRepairs> of(
      Fleet fleet,
      PlanningRules rules,
      CostTerms cost,
      Standing standing,
      List<Level> levels,
      BooleanSupplier stop) {
    if (standing.groups.isEmpty()
        || standing.groups.size() > MAX_GROUPS
        || !levels.stream().allMatch(l -> isCounted(l.kind()))) {
      return Optional.empty();
    }
    try {
      // To what moves, drained parts are cordoned.
      Fleet open = standing.goals.cordoned(fleet);
      return new Count(open, rules, cost, standing, levels, stop).run();
    } catch (ArithmeticException e) {
      return Optional.empty(); // figures too large for exact sums
    }
  }

  private static boolean isCounted(Level.Kind kind) {
    return kind == Level.Kind.KEPT
        || kind == Level.Kind.DRAIN
        || kind == Level.Kind.DISRUPTION
        || kind == Level.Kind.NEW_HOSTS
        || kind == Level.Kind.PRICE;
  }

  /**
   * A bound of a level for all plans that keep the values of the earlier levels.
   *
   * @param level the level's index
   * @param values a plan's values by level, at least those of the levels before it
   * @return the bound; empty if the earlier values are not the best that counting allows
   */
  public OptionalLong bound(int level, long[] values) {
    for (int l = 0; l < level; l++) {
      if (values[l] != optimum[l]) {
        return OptionalLong.empty();
      }
    }
    return OptionalLong.of(optimum[level]);
  }

  /**
   * What reaches the bounds, if the room that was counted can be taken so.
   *
   * @return a step for each slice that may move or be evicted, the most important first
   */
  public List<Step> steps() {
    return steps;
  }

  // ---------------------------------------------------------------- one count

  private record SliceKey(int group, int slice) {}

  /** A limit on the cells of slices of a size or more in one pod; the room if all had gone. */
  private record Row(int pod, int size, long room, Map<SliceKey, Long> staying) {}

  private static final class Count {
    private final Fleet fleet;
    private final PlanningRules rules;
    private final CostTerms cost;
    private final Standing standing;
    private final List<Level> levels;
    private final List<Pod> pods = new ArrayList<>();
    private final List<Row> rows = new ArrayList<>();
    private final List<PodRoom> rooms = new ArrayList<>();
    private int n; // rows, those of the budget too
    private final BooleanSupplier stop;

    Count(
        Fleet fleet,
        PlanningRules rules,
        CostTerms cost,
        Standing standing,
        List<Level> levels,
        BooleanSupplier stop) {
      this.stop = stop;
      this.fleet = fleet;
      this.rules = rules;
      this.cost = cost;
      this.standing = standing;
      this.levels = levels;
    }

    Optional<CountedRepairs> run() {
      for (Pod pod : fleet.pods()) {
        if (isOfUse(pod)) {
          pods.add(pod);
          if (pods.size() > MAX_PODS) {
            return Optional.empty();
          }
        }
      }
      readRows();
      n = rows.size() + 2;
      List<List<Way>> ways = new ArrayList<>();
      Set<String> tenants = new HashSet<>();
      int all = 0;
      for (int g = 0; g < standing.groups.size(); g++) {
        List<Way> own = ways(g);
        all += own == null ? MAX_ALL_WAYS : own.size();
        if (own == null || all > Math.min(MAX_ALL_WAYS, MAX_WORK / n) || stop.getAsBoolean()) {
          return Optional.empty();
        }
        ways.add(own);
        tenants.add(standing.groups.get(g).request().tenant());
      }
      if (rules.disruption().tenants() < tenants.size()) {
        return Optional.empty(); // who shares a tenant is not counted
      }
      return search(ways);
    }

    private boolean isOfUse(Pod pod) {
      for (Standing.Group group : standing.groups) {
        for (RunningSlice slice : group.slices()) {
          if (slice.pod().equals(pod.id())) {
            return true;
          }
        }
        if (group.permission().move()
            && !group.permission().withinPod()
            && pod.whyNot(group.request()).isEmpty()) {
          return true;
        }
      }
      return false;
    }

    // -------------------------------------------------------------- room

    /** The places of one pod. */
    private static final class PodRoom {
      final Pod pod;
      final TpuTopology t;
      final boolean[] usable; // neither failed nor cordoned
      final boolean[] taken; // by what stays, or held
      final @Nullable SliceKey[] owner;

      PodRoom(Pod pod) {
        this.pod = pod;
        this.t = pod.topology();
        this.usable = new boolean[t.cellCount()];
        this.taken = new boolean[t.cellCount()];
        this.owner = new SliceKey[t.cellCount()];
      }

      boolean isUsable(int from, int to) {
        for (int cell = from; cell < to; cell++) {
          if (!usable[cell]) {
            return false;
          }
        }
        return true;
      }

      boolean isUsableCube(int cube) {
        int size = t.hostsPerCube();
        return isUsable(cube * size, (cube + 1) * size)
            && !pod.health().brokenCubes().contains(new CubeId(cube));
      }

      /** A part of a usable cube counts whatever a policy says of its links. */
      boolean isUsablePartition(PartitionForest forest, PartitionId id) {
        int first = forest.firstCell(id);
        return isUsable(first, first + forest.cellCount(id))
            && (t.isOptical() && isUsableCube(first / t.hostsPerCube())
                || pod.reportedHealth().isEmpty()
                || pod.healthOf(new Footprint.Partition(id)) != Health.FAILED);
      }

      /** Whether slices below a cube are partitions. */
      boolean hasPartitions() {
        return t.slicing() instanceof Slicing.OpticalCubes optical
            ? !optical.boxesInCube()
            : t.partitions().isPresent() && !(t.slicing() instanceof Slicing.TorusBoxes);
      }
    }

    private void readRows() {
      Map<SliceId, SliceKey> keys = new HashMap<>();
      Set<String> free = new HashSet<>();
      for (int g = 0; g < standing.groups.size(); g++) {
        Standing.Group group = standing.groups.get(g);
        free.add(group.request().id());
        for (int i = 0; i < group.slices().size(); i++) {
          keys.put(group.slices().get(i).id(), new SliceKey(g, i));
        }
      }
      for (int p = 0; p < pods.size(); p++) {
        PodRoom room = new PodRoom(pods.get(p));
        rooms.add(room);
        Pod pod = room.pod;
        EffectiveHealth health = pod.health();
        CellSet cordoned = pod.cordonedCells();
        for (int cell = 0; cell < room.usable.length; cell++) {
          room.usable[cell] = !health.failedCells().contains(cell) && !cordoned.contains(cell);
        }
        for (RunningSlice slice : pod.running()) {
          SliceKey key = keys.get(slice.id());
          for (int cell : room.t.cells(slice.footprint())) {
            room.owner[cell] = key;
            room.taken[cell] |= key == null;
          }
        }
        for (Hold hold : pod.holds()) {
          if (hold.isLive(rules.now()) && !free.contains(hold.request())) {
            for (int cell : room.t.cells(hold.footprint())) {
              room.taken[cell] = true;
            }
          }
        }
        readRows(p, room);
      }
    }

    private void readRows(int p, PodRoom room) {
      RowCount single = new RowCount(room);
      for (int cell = 0; cell < room.usable.length; cell++) {
        if (room.usable[cell]) {
          single.place(cell, cell + 1);
        }
      }
      rows.add(single.row(p, 1));
      if (room.t.isOptical()) {
        RowCount cubes = new RowCount(room);
        int size = room.t.hostsPerCube();
        for (int cube = 0; cube < room.t.cubeCount(); cube++) {
          if (room.isUsableCube(cube)) {
            cubes.place(cube * size, (cube + 1) * size);
          }
        }
        rows.add(cubes.row(p, size));
      }
      PartitionForest forest = room.t.partitions().orElse(null);
      if (forest == null || !room.hasPartitions()) {
        return;
      }
      Map<Integer, List<PartitionId>> bySize = new LinkedHashMap<>();
      for (PartitionId id : forest.ids()) {
        bySize.computeIfAbsent(forest.cellCount(id), s -> new ArrayList<>()).add(id);
      }
      bySize.forEach(
          (size, ids) -> {
            boolean cube = room.t.isOptical() && size >= room.t.hostsPerCube();
            if (size > 1 && !cube && splits(forest, bySize, ids, size, room.usable.length)) {
              RowCount count = new RowCount(room);
              for (PartitionId id : ids) {
                if (room.isUsablePartition(forest, id)) {
                  count.place(forest.firstCell(id), forest.firstCell(id) + size);
                }
              }
              rows.add(count.row(p, size));
            }
          });
    }

    /** Whether every larger partition is made of partitions of a size. */
    private static boolean splits(
        PartitionForest forest,
        Map<Integer, List<PartitionId>> bySize,
        List<PartitionId> ids,
        int size,
        int cells) {
      boolean[] inside = new boolean[cells];
      for (PartitionId id : ids) {
        Arrays.fill(inside, forest.firstCell(id), forest.firstCell(id) + size, true);
      }
      for (Map.Entry<Integer, List<PartitionId>> other : bySize.entrySet()) {
        for (PartitionId id : other.getKey() > size ? other.getValue() : List.<PartitionId>of()) {
          for (int k = 0; k < other.getKey(); k++) {
            if (!inside[forest.firstCell(id) + k]) {
              return false;
            }
          }
        }
      }
      return true;
    }

    /** Counts places of one size. */
    private static final class RowCount {
      private final PodRoom room;
      private long places;
      private final Map<SliceKey, Long> owned = new HashMap<>();

      RowCount(PodRoom room) {
        this.room = room;
      }

      void place(int from, int to) {
        Set<SliceKey> owners = new HashSet<>();
        for (int cell = from; cell < to; cell++) {
          if (room.taken[cell]) {
            return;
          }
          SliceKey key = room.owner[cell];
          if (key != null) {
            owners.add(key);
          }
        }
        // Free once one of its owners is gone: too much where there are several, never too little.
        places += Math.max(1, owners.size());
        owners.forEach(key -> owned.merge(key, 1L, Long::sum));
      }

      Row row(int pod, int size) {
        Map<SliceKey, Long> staying = new HashMap<>();
        owned.forEach((key, count) -> staying.put(key, count * size));
        return new Row(pod, size, places * size, staying);
      }
    }

    // -------------------------------------------------------------- ways

    /** What one slice may do, its siblings aside. */
    private record Part(
        @Nullable Integer pod, Shape shape, int cells, long kept, long hosts, long drained) {}

    private @Nullable List<Way> ways(int g) {
      Standing.Group group = standing.groups.get(g);
      List<RunningSlice> slices = group.slices();
      // Rows of equal takes differ in worth alone: the best is enough.
      Map<List<Long>, Way> best = new LinkedHashMap<>();
      List<Part> stay = new ArrayList<>();
      for (RunningSlice slice : slices) {
        stay.add(stays(group, stay.size(), slice));
      }
      add(best, g, stay, false);
      if (group.permission().evict()) {
        add(best, g, stay, true);
      }
      if (group.permission().move() && !addMoves(best, g, stay)) {
        return null;
      }
      List<Way> out = new ArrayList<>(best.values());
      out.sort((a, b) -> compare(b.worth(), a.worth()));
      return out;
    }

    private static Part stays(Standing.Group group, int i, RunningSlice slice) {
      return new Part(null, slice.shape(), 0, group.keptByStaying(i), 0, group.drained(i));
    }

    private boolean addMoves(Map<List<Long>, Way> best, int g, List<Part> stay) {
      Standing.Group group = standing.groups.get(g);
      SliceRequest request = group.request();
      Map<List<Object>, List<List<Part>>> joint = new LinkedHashMap<>();
      for (int p = 0; p < pods.size(); p++) {
        TpuTopology t = pods.get(p).topology();
        if (pods.get(p).whyNot(request).isPresent()) {
          continue;
        }
        List<Shape> shapes =
            request.shapes().isEmpty()
                ? Collectives.shapesByAllToAll(t, request.chips())
                : request.shapes();
        for (Shape shape : shapes) {
          if (!t.isLegal(shape)
              || request.interconnect() == Interconnect.TWISTED && t.twist(shape).isEmpty()) {
            continue;
          }
          List<Object> key =
              List.of(t.accelerator().name(), request.mayTurn() ? shape.sorted() : shape);
          for (int i = 0; i < stay.size(); i++) {
            RunningSlice slice = group.slices().get(i);
            boolean home = slice.pod().equals(pods.get(p).id());
            if (home || !group.permission().withinPod()) {
              joint
                  .computeIfAbsent(key, k -> lists(stay.size()))
                  .get(i)
                  .add(moves(slice, p, shape));
            }
          }
        }
      }
      for (Map.Entry<List<Object>, List<List<Part>>> choice : joint.entrySet()) {
        long combinations = 1;
        for (int i = 0; i < stay.size(); i++) {
          RunningSlice slice = group.slices().get(i);
          Shape own = request.mayTurn() ? slice.shape().sorted() : slice.shape();
          String accelerator = fleet.pod(slice.pod()).orElseThrow().topology().accelerator().name();
          if (choice.getKey().equals(List.of(accelerator, own))) {
            choice.getValue().get(i).add(stay.get(i));
          }
          combinations = Math.multiplyExact(combinations, (long) choice.getValue().get(i).size());
          if (combinations > MAX_WAYS) {
            return false;
          }
        }
        combine(best, g, choice.getValue(), new ArrayList<>());
        if (best.size() > MAX_WAYS) {
          return false;
        }
      }
      return true;
    }

    private static List<List<Part>> lists(int count) {
      List<List<Part>> out = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        out.add(new ArrayList<>());
      }
      return out;
    }

    private void combine(
        Map<List<Long>, Way> best, int g, List<List<Part>> parts, List<Part> chosen) {
      if (chosen.size() == parts.size()) {
        add(best, g, chosen, false);
        return;
      }
      for (Part part : parts.get(chosen.size())) {
        chosen.add(part);
        combine(best, g, parts, chosen);
        chosen.remove(chosen.size() - 1);
      }
    }

    private Part moves(RunningSlice slice, int p, Shape shape) {
      PodRoom room = rooms.get(p);
      TpuTopology t = room.t;
      SliceRequest request = slice.request();
      long kept =
          Math.min(
              ObjectiveLevels.counted(request, slice.shape()),
              ObjectiveLevels.counted(request, shape));
      int cells = (int) Math.max(1, shape.chips() / t.chipsPerCell());
      long hosts = Math.min(t.hostsOf(shape), cells);
      if (slice.pod().equals(room.pod.id())) {
        hosts = Math.max(0, hosts - overlap(room, slice, shape, cells));
      }
      return new Part(p, shape, cells, kept, hosts, 0);
    }

    /** The most hosts that a slice can hold on to as it moves within its pod. */
    private static long overlap(PodRoom room, RunningSlice slice, Shape shape, int cells) {
      TpuTopology t = room.t;
      int[] own = t.cells(slice.footprint());
      if (!t.cellTile().equals(t.hostTile())) {
        return own.length; // no more hosts than cells
      }
      boolean[] has = new boolean[t.cellCount()];
      for (int cell : own) {
        has[cell] = true;
      }
      int cubes = t.cubesOf(shape);
      if (cubes > 0) {
        List<Long> counts = new ArrayList<>();
        int size = t.hostsPerCube();
        for (int cube = 0; cube < t.cubeCount(); cube++) {
          long count = count(has, cube * size, (cube + 1) * size);
          if (count > 0 && room.isUsableCube(cube)) {
            counts.add(count);
          }
        }
        counts.sort(Comparator.reverseOrder());
        return counts.stream().limit(cubes).mapToLong(Long::longValue).sum();
      }
      if (!room.hasPartitions()) {
        long usable = 0;
        for (int cell : own) {
          usable += room.usable[cell] ? 1 : 0;
        }
        return Math.min(cells, usable);
      }
      PartitionForest forest = t.partitions().orElseThrow();
      long most = 0;
      for (PartitionId id : forest.ids()) {
        int first = forest.firstCell(id);
        if (forest.cellCount(id) == cells) {
          long count = count(has, first, first + cells);
          if (count > most && room.isUsablePartition(forest, id)) {
            most = count;
          }
        }
      }
      return most;
    }

    private static long count(boolean[] has, int from, int to) {
      long count = 0;
      for (int cell = from; cell < to; cell++) {
        count += has[cell] ? 1 : 0;
      }
      return count;
    }

    private void add(Map<List<Long>, Way> best, int g, List<Part> parts, boolean evicted) {
      Standing.Group group = standing.groups.get(g);
      long[] worth = new long[levels.size()];
      long[] takes = new long[n];
      List<Step> steps = new ArrayList<>();
      long kept = 0;
      long drained = 0;
      long hosts = 0;
      long price = 0;
      int moved = 0;
      for (int i = 0; i < parts.size(); i++) {
        Part part = parts.get(i);
        RunningSlice slice = group.slices().get(i);
        Integer to = part.pod();
        boolean stays = to == null && !evicted;
        SliceKey key = new SliceKey(g, i);
        for (int r = 0; r < rows.size(); r++) {
          Row row = rows.get(r);
          if (stays) {
            takes[r] += row.staying().getOrDefault(key, 0L);
          } else if (to != null && row.pod() == to && part.cells() >= row.size()) {
            takes[r] += part.cells();
          }
        }
        kept = Math.addExact(kept, evicted ? 0 : part.kept());
        drained = Math.addExact(drained, evicted ? 0 : part.drained());
        if (to != null) {
          moved++;
          hosts = Math.addExact(hosts, part.hosts());
          Pod pod = pods.get(to);
          long each = cost.pricePerChipHourMicros(pod.id(), pod.topology().accelerator().name());
          price = Math.addExact(price, Math.multiplyExact(part.shape().chips(), each));
        }
        steps.add(new Step(slice.id(), to == null ? "" : pods.get(to).id(), part.shape(), evicted));
      }
      boolean disturbed = evicted || moved > 0;
      long lost = disturbed ? Verification.disruption(group, rules) : 0;
      takes[n - 2] = evicted ? parts.size() : moved;
      takes[n - 1] = lost;
      for (int l = 0; l < worth.length; l++) {
        Level level = levels.get(l);
        worth[l] =
            switch (level.kind()) {
              case KEPT -> level.priority() == group.request().priority() ? kept : 0;
              case DRAIN -> -drained;
              case DISRUPTION -> -lost;
              case NEW_HOSTS -> -hosts;
              case PRICE -> -price;
              default -> 0;
            };
      }
      List<Long> key = new ArrayList<>(n);
      for (long take : takes) {
        key.add(take);
      }
      Way way = new Way(worth, takes, List.copyOf(steps));
      best.merge(key, way, (a, b) -> compare(b.worth(), a.worth()) > 0 ? b : a);
    }

    // -------------------------------------------------------------- search

    private Optional<CountedRepairs> search(List<List<Way>> ways) {
      List<Integer> order = new ArrayList<>();
      for (int g = 0; g < ways.size(); g++) {
        order.add(g);
      }
      // The first way of each is the one it likes best.
      order.sort(
          Comparator.<Integer, Long>comparing(g -> standing.groups.get(g).request().priority())
              .reversed()
              .thenComparing(
                  (a, b) -> compare(ways.get(b).get(0).worth(), ways.get(a).get(0).worth())));
      List<List<Way>> sorted = order.stream().map(ways::get).toList();
      Tree tree = new Tree(sorted, levels.size(), n, stop);
      long[] room = new long[n];
      for (int r = 0; r < rows.size(); r++) {
        room[r] = rows.get(r).room();
      }
      room[n - 2] = rules.disruption().slices();
      room[n - 1] = rules.disruption().chipSeconds();
      int[] chosen = tree.run(room);
      if (chosen == null) {
        return Optional.empty();
      }
      long[] optimum = new long[levels.size()];
      for (int l = 0; l < optimum.length; l++) {
        Level level = levels.get(l);
        long[] pinned = standing.pinnedKept.get(level.priority());
        optimum[l] =
            level.kind() == Level.Kind.KEPT && pinned != null
                ? pinned[0]
                : level.kind() == Level.Kind.DRAIN ? standing.pinnedDrained : 0;
      }
      List<Step> steps = new ArrayList<>();
      for (int i = 0; i < chosen.length; i++) {
        Way way = sorted.get(i).get(chosen[i]);
        for (int l = 0; l < optimum.length; l++) {
          boolean max = levels.get(l).kind().maximise();
          optimum[l] =
              max
                  ? Math.addExact(optimum[l], way.worth()[l])
                  : Math.subtractExact(optimum[l], way.worth()[l]);
        }
        steps.addAll(way.steps());
      }
      return Optional.of(new CountedRepairs(optimum, Collections.unmodifiableList(steps)));
    }
  }

  private static int compare(long[] a, long[] b) {
    for (int l = 0; l < a.length; l++) {
      if (a[l] != b[l]) {
        return Long.compare(a[l], b[l]);
      }
    }
    return 0;
  }

  /** Depth-first search for the best ways that there is room for. */
  private static final class Tree {
    private final List<List<Way>> ways;
    private final int levels;
    private final int rows;
    private final long[][] hope; // by depth: the best that those left could be worth
    private final long[][] appetite; // by depth: the most that those left could take
    private final List<Map<List<Long>, long[]>> seen = new ArrayList<>();
    private final int[] at;
    private int @Nullable [] best;
    private long[] bestWorth = {};
    private int steps;
    private final int most; // steps
    private final BooleanSupplier stop;

    Tree(List<List<Way>> ways, int levels, int rows, BooleanSupplier stop) {
      this.most = (int) Math.min(MAX_STEPS, MAX_WORK / rows);
      this.stop = stop;
      this.ways = ways;
      this.levels = levels;
      this.rows = rows;
      this.at = new int[ways.size()];
      this.hope = new long[ways.size() + 1][levels];
      this.appetite = new long[ways.size() + 1][rows];
      for (int d = ways.size() - 1; d >= 0; d--) {
        seen.add(new HashMap<>());
        for (int l = 0; l < levels; l++) {
          hope[d][l] = Math.addExact(hope[d + 1][l], ways.get(d).get(0).worth()[l]);
        }
        for (int r = 0; r < rows; r++) {
          long most = 0;
          for (Way way : ways.get(d)) {
            most = Math.max(most, way.takes()[r]);
          }
          appetite[d][r] = Math.addExact(appetite[d + 1][r], most);
        }
      }
    }

    /** By request the number of its way; null if there are too many states. */
    int @Nullable [] run(long[] room) {
      visit(0, new long[levels], room);
      return steps > most ? null : best;
    }

    private void visit(int depth, long[] worth, long[] room) {
      steps += (steps & 1023) == 1023 && stop.getAsBoolean() ? most : 1;
      if (steps > most) {
        return;
      }
      if (depth == ways.size()) {
        if (best == null || compare(worth, bestWorth) > 0) {
          best = at.clone();
          bestWorth = worth;
        }
        return;
      }
      if (best != null && compare(plus(worth, hope[depth]), bestWorth) <= 0) {
        return;
      }
      // Room that those left could not fill tells no states apart.
      List<Long> state = new ArrayList<>(rows);
      for (int r = 0; r < rows; r++) {
        state.add(Math.min(room[r], appetite[depth][r]));
      }
      long[] before = seen.get(depth).get(state);
      if (before != null && compare(worth, before) <= 0) {
        return;
      }
      seen.get(depth).put(state, worth);
      List<Way> own = ways.get(depth);
      for (int w = 0; w < own.size(); w++) {
        long[] left = minus(room, own.get(w).takes());
        if (left != null) {
          at[depth] = w;
          visit(depth + 1, plus(worth, own.get(w).worth()), left);
        }
      }
    }

    private static long[] plus(long[] a, long[] b) {
      long[] sum = new long[a.length];
      for (int i = 0; i < sum.length; i++) {
        sum[i] = Math.addExact(a[i], b[i]);
      }
      return sum;
    }

    private static long @Nullable [] minus(long[] room, long[] takes) {
      long[] left = new long[room.length];
      for (int r = 0; r < left.length; r++) {
        left[r] = room[r] - takes[r];
        if (left[r] < 0) {
          return null;
        }
      }
      return left;
    }
  }
}
