package dev.slicewright.plan;

import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What one wanted slice costs at best, level by level, by looking at every place that it could take
 * if all that may move or leave were gone. Confined to one thread at a time.
 *
 * <p>At a place each running request inside has to move or leave. One that may move costs at least
 * its disruption; one that may only leave, its disruption and its kept chips, and those of its
 * running gang. Requests are counted once, however many of their slices lie inside. The sums are
 * compared level by level, and so is the plan that places nothing. Rules that are not looked at
 * (quotas, whether what may move finds a place) could only make plans worse, so the best sum is a
 * bound: at each level for all plans that reach it at the earlier ones.
 *
 * <p>Boxes and partitions: O(places × cells of a place). Whole cubes: those that share running
 * requests with others form components; within one, all sets of kinds of cubes are weighed, and
 * components are joined by dynamic programming over the number of cubes. O(cubes × cubes of the
 * slice + 2^kinds), given up beyond {@link #MAX_SETS} sets.
 */
final class PlaceEnumeration {

  /** Sets of kinds of cubes that are weighed at most, over all components of a pod. */
  private static final int MAX_SETS = 1 << 16;

  private static final int CLOSED = -2;
  private static final int NOBODY = -1;

  /** How a problem's footprints of a shape in a pod are listed. */
  interface Rooms {
    Room of(int pod);

    List<Shape> options(SliceRequest request, TpuTopology topology);
  }

  private final Fleet fleet;
  private final SliceRequest request;
  private final PlanningRules rules;
  private final CostTerms cost;
  private final Standing standing;
  private final List<Level> levels;
  private final Rooms rooms;
  private final int n;
  private final long[][] unitCost; // what is lost if a running request goes, by level
  private final int[] unitOf; // of each group; CLOSED if it can neither move nor leave
  private final long[] unitSlices; // that are moved or leave at least
  private final int[] tenantOf; // of each unit
  private int tenants;
  private final int lost; // the level of disruption, or -1
  private long places;
  private boolean tooLarge;
  private long[] best; // as costs: less is better

  private PlaceEnumeration(
      Fleet fleet,
      SliceRequest request,
      PlanningRules rules,
      CostTerms cost,
      Standing standing,
      List<Level> levels,
      Rooms rooms) {
    this.fleet = fleet;
    this.request = request;
    this.rules = rules;
    this.cost = cost;
    this.standing = standing;
    this.levels = levels;
    this.rooms = rooms;
    this.n = levels.size();
    int groups = standing.groups.size();
    this.unitCost = new long[groups][];
    this.unitOf = new int[groups];
    this.unitSlices = new long[groups];
    this.tenantOf = new int[groups];
    int at = n - 1;
    while (at >= 0 && levels.get(at).kind() != Level.Kind.DISRUPTION) {
      at--;
    }
    this.lost = at;
    this.best = new long[n]; // nothing is placed, nothing goes
  }

  /**
   * Enumerates.
   *
   * @return the costs, or null if the problem is not of this kind or too large
   * @throws ArithmeticException if a sum overflows
   */
  static @Nullable PlaceEnumeration of(
      Fleet fleet,
      List<SliceRequest> requests,
      PlanningRules rules,
      CostTerms cost,
      Standing standing,
      List<Level> levels,
      Rooms rooms) {
    if (requests.size() != 1 || requests.get(0).slices() != 1) {
      return null;
    }
    for (Level level : levels) {
      switch (level.kind()) {
        case KEPT, PLACED, ROOM, DISRUPTION, SHAPE_RANK, NEW_HOSTS, PRICE -> {}
        case DRAIN -> {
          return null; // what is drained leaves for its own sake
        }
      }
    }
    PlaceEnumeration e =
        new PlaceEnumeration(fleet, requests.get(0), rules, cost, standing, levels, rooms);
    e.units();
    e.run();
    return e.tooLarge ? null : e;
  }

  /** The places looked at; of slices of whole cubes, the cubes. */
  long places() {
    return places;
  }

  /**
   * The bound of a level.
   *
   * @param level the level
   * @param values a plan's values of the earlier levels
   * @param trivially the bound of each level from what is asked for alone
   * @return the bound; the trivial one if the earlier values are not the best
   */
  long bound(int level, long[] values, long[] trivially) {
    for (int l = 0; l < level; l++) {
      if (values[l] != value(l, trivially)) {
        return trivially[level];
      }
    }
    return value(level, trivially);
  }

  private long value(int level, long[] trivially) {
    return switch (levels.get(level).kind()) {
      case KEPT -> Math.subtractExact(trivially[level], best[level]);
      case PLACED, ROOM -> -best[level];
      case DRAIN, DISRUPTION, SHAPE_RANK, NEW_HOSTS, PRICE -> best[level];
    };
  }

  // ---------------------------------------------------------------- what may go

  /** What each running request costs if it goes; those of one gang that may only leave as one. */
  private void units() {
    Set<String> stuck = new HashSet<>(); // gangs of which some can not leave
    Set<String> gangs = new HashSet<>();
    Map<String, Standing.Group> byId = new HashMap<>();
    for (Standing.Group group : standing.groups) {
      group.request().gang().ifPresent(gangs::add);
      byId.put(group.request().id(), group);
    }
    if (!gangs.isEmpty()) {
      for (RunningSlice slice : fleet.running()) {
        String gang = slice.request().gang().orElse(null);
        if (gang != null && gangs.contains(gang) && !slice.leaving()) {
          Standing.Group group = byId.get(slice.id().request());
          if (group == null || !group.permission().evict()) {
            stuck.add(gang);
          }
        }
      }
    }
    Map<String, Integer> firstOfGang = new HashMap<>();
    Map<String, Integer> tenantIndex = new HashMap<>();
    for (int g = 0; g < unitOf.length; g++) {
      Standing.Group group = standing.groups.get(g);
      String gang = group.request().gang().orElse(null);
      tenantOf[g] = tenantIndex.computeIfAbsent(group.request().tenant(), t -> tenantIndex.size());
      unitCost[g] = new long[n];
      if (group.permission().move()) {
        unitOf[g] = g;
        unitSlices[g] = 1;
        lose(unitCost[g], group, false, true);
      } else if (gang == null) {
        unitOf[g] = g;
        unitSlices[g] = group.slices().size();
        lose(unitCost[g], group, true, true);
      } else if (stuck.contains(gang)) {
        unitOf[g] = CLOSED;
      } else {
        Integer known = firstOfGang.putIfAbsent(gang, g);
        int first = known == null ? g : known;
        unitOf[g] = first;
        unitSlices[first] += group.slices().size();
        lose(unitCost[first], group, true, true);
      }
    }
    // Of a gang that has to leave, those that might have moved are lost as well; their disruption
    // is left out, as it may be counted at the place itself.
    for (int g = 0; g < unitOf.length; g++) {
      Standing.Group group = standing.groups.get(g);
      String gang = group.request().gang().orElse(null);
      if (gang == null || !group.permission().move()) {
        continue;
      }
      Integer first = firstOfGang.get(gang);
      if (first != null) {
        lose(unitCost[first], group, true, false);
      }
    }
    tenants = tenantIndex.size();
  }

  private void lose(long[] into, Standing.Group group, boolean chips, boolean disruption) {
    for (int l = 0; l < n; l++) {
      Level level = levels.get(l);
      if (chips
          && level.kind() == Level.Kind.KEPT
          && level.priority() == group.request().priority()) {
        for (int i = 0; i < group.slices().size(); i++) {
          if (!group.isBroken(i) || group.permission().move()) {
            Shape shape = group.slices().get(i).shape();
            into[l] = Math.addExact(into[l], ObjectiveLevels.counted(group.request(), shape));
          }
        }
      } else if (disruption && level.kind() == Level.Kind.DISRUPTION) {
        into[l] = Math.addExact(into[l], Verification.disruption(group, rules));
      }
    }
  }

  // ---------------------------------------------------------------- places

  private void run() {
    List<Pod> pods = List.copyOf(fleet.pods());
    for (int p = 0; p < pods.size() && !tooLarge; p++) {
      Pod pod = pods.get(p);
      if (pod.whyNot(request).isPresent()) {
        continue;
      }
      TpuTopology t = pod.topology();
      List<Shape> options = rooms.options(request, t);
      int[] inside = null;
      for (int rank = 0; rank < options.size() && !tooLarge; rank++) {
        Shape shape = options.get(rank);
        if (!t.isLegal(shape)) {
          continue;
        }
        if (inside == null) {
          inside = inside(pod);
        }
        long[] own = own(pod, shape, rank);
        Room room = rooms.of(p);
        if (t.cubesOf(shape) > 0) {
          cubes(t, room.cubesFor(request, shape), t.cubesOf(shape), inside, own);
        } else {
          Sum sum = new Sum(own);
          int[] on = inside;
          room.forEachPlace(request, shape, place -> sum.weigh(t.cells(place), on));
        }
      }
    }
  }

  /** What the slice itself costs: less than nothing for the chips that it earns. */
  private long[] own(Pod pod, Shape shape, int rank) {
    boolean phantom = !standing.goals.phantoms().isEmpty(); // the only one that is wanted
    long[] own = new long[n];
    for (int l = 0; l < n; l++) {
      own[l] =
          switch (levels.get(l).kind()) {
            case PLACED, ROOM -> -standing.goals.gain(request, shape);
            case SHAPE_RANK -> phantom ? 0 : Math.multiplyExact(shape.chips(), (long) rank);
            case PRICE ->
                phantom
                    ? 0
                    : Math.multiplyExact(
                        shape.chips(),
                        cost.pricePerChipHourMicros(pod.id(), pod.topology().accelerator().name()));
            case KEPT, DRAIN, DISRUPTION, NEW_HOSTS -> 0;
          };
    }
    return own;
  }

  /** By cell: the running request on it, or NOBODY; CLOSED if it cannot go. */
  private int[] inside(Pod pod) {
    int[] unit = new int[pod.topology().cellCount()];
    Arrays.fill(unit, NOBODY);
    for (int g = 0; g < unitOf.length; g++) {
      for (RunningSlice slice : standing.groups.get(g).slices()) {
        if (slice.pod().equals(pod.id())) {
          for (int cell : pod.topology().cells(slice.footprint())) {
            unit[cell] = unitOf[g];
          }
        }
      }
    }
    return unit;
  }

  /** Adds up places, one after the other. */
  private final class Sum {
    private final long[] own;
    private final long[] sum = new long[n];
    private final int[] seen = new int[unitOf.length];
    private final int[] seenTenant = new int[tenants];
    private int stamp;

    Sum(long[] own) {
      this.own = own;
    }

    void weigh(int[] cells, int[] unit) {
      places++;
      stamp++;
      System.arraycopy(own, 0, sum, 0, n);
      long slices = 0;
      long touched = 0;
      for (int cell : cells) {
        int u = unit[cell];
        if (u == NOBODY) {
          continue;
        }
        if (u == CLOSED) {
          return;
        }
        if (seen[u] == stamp) {
          continue;
        }
        seen[u] = stamp;
        if (!add(unitCost[u])) {
          return;
        }
        slices += unitSlices[u];
        if (seenTenant[tenantOf[u]] != stamp) {
          seenTenant[tenantOf[u]] = stamp;
          touched++;
        }
      }
      PlanningRules.DisruptionBudget budget = rules.disruption();
      if (slices <= budget.slices()
          && touched <= budget.tenants()
          && (lost < 0 || sum[lost] <= budget.chipSeconds())
          && compare(sum, best) < 0) {
        best = sum.clone();
      }
    }

    /** Adds; false as soon as the sum, which only grows, is worse than the best. */
    private boolean add(long[] more) {
      boolean level = true;
      boolean worse = false;
      for (int l = 0; l < n; l++) {
        sum[l] = Math.addExact(sum[l], more[l]);
        if (level && sum[l] != best[l]) {
          level = false;
          worse = sum[l] > best[l];
        }
      }
      return !worse;
    }
  }

  private static int compare(long[] a, long[] b) {
    for (int l = 0; l < a.length; l++) {
      int c = Long.compare(a[l], b[l]);
      if (c != 0) {
        return c;
      }
    }
    return 0;
  }

  // ---------------------------------------------------------------- whole cubes

  /** Cubes with the same running requests on them. */
  private static final class Alike {
    final List<Integer> units;
    int cubes;

    Alike(List<Integer> units) {
      this.units = units;
    }
  }

  private void cubes(TpuTopology t, boolean[] usable, int count, int[] inside, long[] own) {
    int size = t.hostsPerCube();
    Map<List<Integer>, Alike> alike = new TreeMap<>(PlaceEnumeration::order);
    int open = 0;
    for (int c = 0; c < usable.length; c++) {
      List<Integer> units = usable[c] ? on(inside, c * size, size) : null;
      if (units != null) {
        open++;
        alike.computeIfAbsent(units, Alike::new).cubes++;
      }
    }
    places += open;
    if (open < count) {
      return;
    }
    long[] @Nullable [] cheapest = new long[count + 1][]; // by number of cubes cleared
    cheapest[0] = new long[n];
    int sets = 0;
    for (List<Alike> component : components(List.copyOf(alike.values()))) {
      sets += component.size() > 16 ? MAX_SETS + 1 : 1 << component.size();
      if (sets > MAX_SETS) {
        tooLarge = true;
        return;
      }
      cheapest = join(cheapest, clear(component, count), count);
    }
    long[] least = cheapest[count];
    if (least != null) {
      for (int l = 0; l < n; l++) {
        least[l] = Math.addExact(least[l], own[l]);
      }
      best = compare(least, best) < 0 ? least : best;
    }
  }

  /** The running requests on a cube, ascending; null if one of them cannot go. */
  private static @Nullable List<Integer> on(int[] unit, int first, int size) {
    List<Integer> units = new ArrayList<>();
    for (int cell = first; cell < first + size; cell++) {
      if (unit[cell] == CLOSED) {
        return null;
      }
      if (unit[cell] != NOBODY && !units.contains(unit[cell])) {
        units.add(unit[cell]);
      }
    }
    units.sort(null);
    return units;
  }

  private static int order(List<Integer> a, List<Integer> b) {
    for (int i = 0; i < Math.min(a.size(), b.size()); i++) {
      int c = a.get(i).compareTo(b.get(i));
      if (c != 0) {
        return c;
      }
    }
    return Integer.compare(a.size(), b.size());
  }

  /** Kinds of cubes that no chain of shared running requests joins are apart. */
  private List<List<Alike>> components(List<Alike> all) {
    int[] root = new int[all.size()];
    Map<Integer, Integer> firstWith = new HashMap<>();
    for (int i = 0; i < root.length; i++) {
      root[i] = i;
      for (int u : all.get(i).units) {
        Integer other = firstWith.putIfAbsent(u, i);
        if (other != null) {
          int a = find(root, i);
          int b = find(root, other);
          root[Math.max(a, b)] = Math.min(a, b);
        }
      }
    }
    Map<Integer, List<Alike>> byRoot = new TreeMap<>();
    for (int i = 0; i < root.length; i++) {
      byRoot.computeIfAbsent(find(root, i), r -> new ArrayList<>()).add(all.get(i));
    }
    return List.copyOf(byRoot.values());
  }

  private static int find(int[] root, int i) {
    int at = i;
    while (root[at] != at) {
      at = root[at];
    }
    return at;
  }

  /** By number of cubes, up to a count: the least cost of clearing so many of a component. */
  private long[] @Nullable [] clear(List<Alike> component, int count) {
    long[] @Nullable [] cheapest = new long[count + 1][];
    int[] paid = new int[unitOf.length];
    weigh(component, 0, 0, new long[n], paid, cheapest);
    return cheapest;
  }

  private void weigh(
      List<Alike> component,
      int at,
      int cubes,
      long[] sum,
      int[] paid,
      long[] @Nullable [] cheapest) {
    if (at == component.size()) {
      for (int k = Math.min(cubes, cheapest.length - 1); k >= 0; k--) {
        long[] known = cheapest[k];
        if (known != null && compare(known, sum) <= 0) {
          break; // and so are those for fewer cubes
        }
        cheapest[k] = sum;
      }
      return;
    }
    weigh(component, at + 1, cubes, sum, paid, cheapest);
    long[] more = sum.clone();
    for (int u : component.get(at).units) {
      for (int l = 0; paid[u] == 0 && l < n; l++) {
        more[l] = Math.addExact(more[l], unitCost[u][l]);
      }
      paid[u]++;
    }
    weigh(component, at + 1, cubes + component.get(at).cubes, more, paid, cheapest);
    for (int u : component.get(at).units) {
      paid[u]--;
    }
  }

  private long[] @Nullable [] join(long[] @Nullable [] a, long[] @Nullable [] b, int count) {
    long[] @Nullable [] out = new long[count + 1][];
    for (int i = 0; i <= count; i++) {
      long[] one = a[i];
      for (int j = 0; one != null && j <= count - i; j++) {
        long[] two = b[j];
        if (two == null) {
          continue;
        }
        long[] sum = new long[n];
        for (int l = 0; l < n; l++) {
          sum[l] = Math.addExact(one[l], two[l]);
        }
        long[] known = out[i + j];
        if (known == null || compare(sum, known) < 0) {
          out[i + j] = sum;
        }
      }
    }
    return out;
  }
}
