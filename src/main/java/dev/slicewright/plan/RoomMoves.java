package dev.slicewright.plan;

import dev.slicewright.cost.Collectives;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * All ways to make room for one slice by moving what runs. Immutable, safe to share. Its arrays
 * must not be changed.
 *
 * <p>Cells are numbered over all pods. A place costs at least what the requests on it cost. {@link
 * Search} goes through all ways that cost less than a limit: it takes up what stands on the place,
 * puts down the kind of slice with the fewest positions left on each of them in turn, takes up what
 * stands there as well, at its cost, and so on. A state is left when the sum, with the shares of
 * what the cheapest positions of all that is up still cost, reaches the limit; when a kind has
 * fewer positions than slices; and when the same cells, slices up and requests moved have been
 * looked into before. Rules that are not looked at (quotas, the disruption budget, spread) could
 * only make plans worse, so that no way below a limit means that the limit is a bound.
 */
public final class RoomMoves {

  private static final int NOBODY = -1;

  /** Steps of prices, and after how many they have to promise something. */
  private static final int STEPS = 120;

  private static final int FEW_STEPS = 40;
  private static final double PROMISE = 0.3;

  /** Positions of a kind whose cells are counted. */
  private static final int MOST_COVERED = 80;

  /** Cells of positions that are listed at most. */
  private static final long MOST_CELLS = 8_000_000;

  /**
   * Slices that may take the same positions. Immutable, safe to share.
   *
   * @param cells the cells of each position
   * @param pods its pod
   * @param footprints its footprint
   */
  public record Kind(List<int[]> cells, List<Integer> pods, List<Footprint> footprints) {}

  /**
   * A place for the slice for which there is to be room. Immutable, safe to share.
   *
   * @param shape the shape that it has there, as asked for
   * @param pod the pod
   * @param footprint the place itself
   * @param cells its cells
   * @param units the requests on it
   * @param least what those cost
   */
  public record Place(
      Shape shape, int pod, Footprint footprint, int[] cells, int[] units, long least) {}

  private final int cells;
  private final List<RunningSlice> slices = new ArrayList<>();
  private final int[] unitOf; // by slice: its request
  private final int[] kindOf; // by slice; NOBODY if it stays
  private final int[][] cellsOf; // by slice
  private final int[] home; // by cell: the slice, or NOBODY
  private final long[] cost; // by unit
  private final int[][] members; // by unit: its slices
  private final List<Kind> kinds = new ArrayList<>();
  private final List<Place> places = new ArrayList<>();
  private final boolean exact;
  private final int[] base; // by pod: its first cell
  private final List<Pod> pods;
  private final PlaceEnumeration.Rooms rooms;
  private final PlanningRules rules;
  private long kept;
  private boolean tooLarge;

  private RoomMoves(
      Fleet fleet,
      SliceRequest phantom,
      PlanningRules rules,
      Standing standing,
      PlaceEnumeration.Rooms rooms) {
    this.pods = List.copyOf(fleet.pods());
    this.rooms = rooms;
    this.rules = rules;
    this.base = new int[pods.size()];
    Map<String, Integer> podOf = new HashMap<>();
    int n = 0;
    for (int p = 0; p < base.length; p++) {
      base[p] = n;
      podOf.put(pods.get(p).id(), p);
      n = Math.addExact(n, pods.get(p).topology().cellCount());
    }
    this.cells = n;
    this.home = new int[n];
    Arrays.fill(home, NOBODY);
    int units = standing.groups.size();
    this.cost = new long[units];
    this.members = new int[units][];
    List<Integer> unit = new ArrayList<>();
    List<Integer> kind = new ArrayList<>();
    List<int[]> own = new ArrayList<>();
    Map<List<Object>, Integer> known = new HashMap<>();
    boolean whole = standing.broken.isEmpty();
    for (int u = 0; u < units; u++) {
      Standing.Group group = standing.groups.get(u);
      SliceRequest request = group.request();
      cost[u] = Verification.disruption(group, rules);
      boolean alone =
          group.slices().size() == 1
              && request.gang().isEmpty()
              && request.spread().kind() == Spread.Kind.ANY;
      boolean moves = group.permission().move() && (alone || request.gang().isEmpty());
      members[u] = new int[group.slices().size()];
      for (int i = 0; i < members[u].length; i++) {
        RunningSlice slice = group.slices().get(i);
        int pod = podOf.getOrDefault(slice.pod(), 0);
        int s = slices.size();
        int[] at = cells(pod, slice.footprint());
        slices.add(slice);
        members[u][i] = s;
        unit.add(u);
        own.add(at);
        for (int cell : at) {
          home[cell] = s;
        }
        int k = moves ? kind(group, slice, pod, alone, known) : NOBODY;
        kind.add(k);
        whole &= !group.permission().move() || k >= 0 && alone && knowsAll(group, slice, pod);
      }
    }
    this.unitOf = unit.stream().mapToInt(Integer::intValue).toArray();
    this.kindOf = kind.stream().mapToInt(Integer::intValue).toArray();
    this.cellsOf = own.toArray(new int[0][]);
    listPlaces(phantom, standing.goals);
    places.sort((a, b) -> Long.compare(a.least, b.least));
    this.exact = whole && !tooLarge;
  }

  /**
   * Lists the ways.
   *
   * @return null if more than one slice is wanted, or something other than room for it is, or the
   *     slice is made of whole cubes, or there are too many positions
   * @throws ArithmeticException if a sum overflows
   */
  static @Nullable RoomMoves of(
      Fleet fleet,
      List<SliceRequest> requests,
      PlanningRules rules,
      Standing standing,
      List<Level> levels,
      PlaceEnumeration.Rooms rooms) {
    if (requests.size() != 1
        || requests.get(0).slices() != 1
        || standing.goals.phantoms().size() != 1
        || !standing.anyMayMove
        || levels.stream().anyMatch(l -> l.kind() == Level.Kind.DRAIN)) {
      return null;
    }
    RoomMoves all = new RoomMoves(fleet, requests.get(0), rules, standing, rooms);
    return all.tooLarge ? null : all;
  }

  // ---------------------------------------------------------------- listing

  private int[] cells(int pod, Footprint footprint) {
    int[] at = pods.get(pod).topology().cells(footprint).clone();
    for (int i = 0; i < at.length; i++) {
      at[i] += base[pod];
    }
    return at;
  }

  /** The pods to which a slice may move. */
  private List<Integer> targets(Standing.Group group, RunningSlice slice, int home, boolean alone) {
    SliceRequest request = group.request();
    boolean elsewhere =
        alone
            && !group.permission().withinPod()
            && rules.quotas().isEmpty()
            && rules.reserved().isEmpty();
    String accelerator = pods.get(home).topology().accelerator().name();
    List<Integer> out = new ArrayList<>();
    for (int p = 0; p < base.length; p++) {
      TpuTopology t = pods.get(p).topology();
      if ((p == home || elsewhere)
          && pods.get(p).whyNot(request).isEmpty()
          && t.accelerator().name().equals(accelerator)
          && t.isLegal(slice.shape())
          && t.cubesOf(slice.shape()) == 0
          && (slice.twist().isNone() || t.twist(slice.shape()).isPresent())
          && Collectives.rank(request, rooms.options(request, t), slice.shape()).isPresent()) {
        out.add(p);
      }
    }
    return out;
  }

  /** Whether there is no other way to move a slice than to one of its targets, as it is. */
  private boolean knowsAll(Standing.Group group, RunningSlice slice, int home) {
    int ways = 0;
    for (int p = 0; p < base.length; p++) {
      TpuTopology t = pods.get(p).topology();
      if (p != home && group.permission().withinPod()
          || pods.get(p).whyNot(group.request()).isPresent()) {
        continue;
      }
      for (Shape shape : rooms.options(group.request(), t)) {
        if (t.isLegal(shape)) {
          ways++;
          if (!shape.equals(slice.shape())
              && !(group.request().mayTurn() && shape.sorted().equals(slice.shape().sorted()))) {
            return false;
          }
        }
      }
    }
    return ways == targets(group, slice, home, true).size();
  }

  private int kind(
      Standing.Group group,
      RunningSlice slice,
      int home,
      boolean alone,
      Map<List<Object>, Integer> known) {
    SliceRequest request = group.request();
    if (slice.footprint() instanceof Footprint.Cubes
        || request.interconnect() == Interconnect.TWISTED && slice.twist().isNone()) {
      return NOBODY;
    }
    boolean held = false;
    for (Pod pod : pods) {
      held |= pod.holds().stream().anyMatch(h -> h.request().equals(request.id()));
    }
    List<Integer> targets = targets(group, slice, home, alone);
    List<Object> key =
        List.of(
            targets,
            request.mayTurn() ? slice.shape().sorted() : slice.shape(),
            request.mayTurn(),
            request.healthyOnly(),
            request.interconnect(),
            held ? request.id() : "");
    Integer same = known.get(key);
    if (same != null) {
      return same;
    }
    Kind kind = new Kind(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
    Seen seen = new Seen();
    for (int pod : targets) {
      rooms
          .of(pod)
          .forEachPlace(
              request,
              slice.shape(),
              footprint -> {
                int[] at = tooLarge ? new int[0] : cells(pod, footprint);
                kept += at.length;
                tooLarge |= kept > MOST_CELLS;
                if (!tooLarge && seen.isNew(at)) {
                  kind.cells.add(at);
                  kind.pods.add(pod);
                  kind.footprints.add(footprint);
                }
              });
    }
    known.put(key, kinds.size());
    kinds.add(kind);
    return kinds.size() - 1;
  }

  /** Sets of cells met before: a box round a whole axis has several origins. */
  private static final class Seen {
    private final Map<Long, List<int[]>> sets = new HashMap<>();

    boolean isNew(int[] at) {
      long hash = 0;
      for (int cell : at) {
        long x = (cell + 1) * 0x9E3779B97F4A7C15L;
        x ^= x >>> 32;
        hash += x * 0xD6E8FEB86659FD93L;
      }
      List<int[]> same = sets.computeIfAbsent(hash, k -> new ArrayList<>(1));
      int[] sorted = same.isEmpty() ? at : sorted(at);
      for (int[] other : same) {
        if (Arrays.equals(sorted(other), sorted)) {
          return false;
        }
      }
      same.add(at);
      return true;
    }

    private static int[] sorted(int[] at) {
      int[] out = at.clone();
      Arrays.sort(out);
      return out;
    }
  }

  private void listPlaces(SliceRequest phantom, Goals goals) {
    int[] stamp = new int[cost.length];
    int[] on = new int[cost.length];
    int[] mark = {0};
    long most = goals.mostGain(phantom);
    for (int p = 0; p < base.length && !tooLarge; p++) {
      int pod = p;
      TpuTopology t = pods.get(p).topology();
      if (pods.get(p).whyNot(phantom).isPresent()) {
        continue;
      }
      for (Shape shape : rooms.options(phantom, t)) {
        if (!t.isLegal(shape) || goals.gain(phantom, shape) != most) {
          continue;
        }
        if (t.cubesOf(shape) > 0) {
          tooLarge = true;
          return;
        }
        Seen seen = new Seen();
        rooms
            .of(p)
            .forEachPlace(
                phantom,
                shape,
                footprint -> {
                  int[] at = tooLarge ? new int[0] : cells(pod, footprint);
                  kept += at.length;
                  tooLarge |= kept > MOST_CELLS;
                  if (tooLarge || !seen.isNew(at)) {
                    return;
                  }
                  mark[0]++;
                  long least = 0;
                  int n = 0;
                  for (int cell : at) {
                    int s = home[cell];
                    if (s < 0) {
                      continue;
                    }
                    if (kindOf[s] < 0) {
                      return;
                    }
                    int u = unitOf[s];
                    if (stamp[u] != mark[0]) {
                      stamp[u] = mark[0];
                      least = Math.addExact(least, cost[u]);
                      on[n++] = u;
                    }
                  }
                  places.add(new Place(shape, pod, footprint, at, Arrays.copyOf(on, n), least));
                });
      }
    }
  }

  // ---------------------------------------------------------------- what there is

  /**
   * Whether all ways to move are among these, so that what is not found here does not exist.
   *
   * @return false if what moves may change its shape, or is tied to others
   */
  public boolean isExact() {
    return exact;
  }

  /**
   * The cells of all pods.
   *
   * @return the count
   */
  public int cells() {
    return cells;
  }

  /**
   * The number of a pod's first cell.
   *
   * @param pod the pod
   * @return the number
   */
  public int firstCell(int pod) {
    return base[pod];
  }

  /**
   * The running slices that may move or leave.
   *
   * @return the slices
   */
  public List<RunningSlice> slices() {
    return slices;
  }

  /**
   * By slice: the number of its request.
   *
   * @return not to be changed
   */
  public int[] unitOf() {
    return unitOf;
  }

  /**
   * By slice: the number of its kind; -1 if it stays.
   *
   * @return not to be changed
   */
  public int[] kindOf() {
    return kindOf;
  }

  /**
   * By slice: its cells.
   *
   * @return not to be changed
   */
  public int[][] cellsOf() {
    return cellsOf;
  }

  /**
   * By cell: the slice that may move or leave on it, or -1.
   *
   * @return not to be changed
   */
  public int[] home() {
    return home;
  }

  /**
   * By request: what it costs to move it, in chip-seconds.
   *
   * @return not to be changed
   */
  public long[] cost() {
    return cost;
  }

  /**
   * The kinds of slices.
   *
   * @return not to be changed
   */
  public List<Kind> kinds() {
    return kinds;
  }

  /**
   * The places, the cheapest first; those that cannot be cleared are left out.
   *
   * @return not to be changed
   */
  public List<Place> places() {
    return places;
  }

  /**
   * Whether no way costs less than a limit.
   *
   * @param limit chip-seconds
   * @param most the most steps
   * @return false also if it took more steps
   */
  boolean refutes(long limit, long most) {
    if (!exact) {
      return false;
    }
    long left = most;
    for (Place place : places) {
      if (place.least >= limit) {
        break;
      }
      Search search = search(place, left, () -> limit, () -> false, (at, sum) -> {});
      if (!search.run() || search.foundAny()) {
        return false;
      }
      left -= search.steps();
    }
    return true;
  }

  /** Told of ways found, on the threads that search. Safe for concurrent use. */
  public interface Listener {
    /**
     * A way that costs less than the limit.
     *
     * @param at by slice, its position among those of its kind; -1 if it stays
     * @param cost the chip-seconds
     */
    void found(int[] at, long cost);
  }

  /**
   * A search of one place.
   *
   * @param place one of {@link #places}
   * @param most the most steps
   * @param limit what ways have to cost less than; it may fall
   * @param stop asked now and then
   * @param listener told of ways found
   * @return the search, not run
   */
  public Search search(
      Place place, long most, LongSupplier limit, BooleanSupplier stop, Listener listener) {
    return new Search(place, most, limit, stop, listener);
  }

  private static long mix(long x) {
    long z = x * 0x9E3779B97F4A7C15L;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }

  /** All ways to make room at one place for less than a limit. Confined to one thread at a time. */
  public final class Search {
    private final Place place;
    private final BooleanSupplier stop;
    private final long most;
    private final LongSupplier limits;
    private final Listener listener;
    private boolean any;
    private long nodes;
    private final boolean[] taken = new boolean[cells];
    private final boolean[] moved = new boolean[cost.length];
    private final int[] up = new int[kinds.size()];
    private final int[][] options = new int[kinds.size()][]; // of each kind: positions in reach
    private final int[][][] hits = new int[kinds.size()][][]; // of each option: units, shares
    private final long[][][] shares = new long[kinds.size()][][];
    private final boolean[][] excluded = new boolean[kinds.size()][];
    private final List<int[]> down = new ArrayList<>(); // kind, position
    private final int[][][] cellsAt = new int[kinds.size()][][];
    private final int[][] current = new int[kinds.size()][]; // options left here
    private final int[] counts = new int[kinds.size()];
    private final List<Lists> levels = new ArrayList<>(); // by depth
    private long[] least = new long[8];
    private final long[][] priceAt = new long[kinds.size()][]; // of each option
    private final long[] unitPrice = new long[cost.length];
    private final long[] penalty = new long[cost.length];
    private int[] scarcest = {}; // kinds, those with the fewest positions first
    private final int[] covered = new int[cells];
    private int mark;
    private long leastPrice; // of what was filtered last
    private long freeSum; // prices of free cells
    private long penaltySum; // of requests that have not moved
    private final Set<Key> refuted = new HashSet<>();
    private long sum;
    private boolean over;
    private long h1;
    private long h2;

    private record Key(long a, long b) {}

    /** What a depth keeps. */
    private static final class Lists {
      final int[][] list; // as it was above
      final int[] count;
      final int[][] kept;
      int[] order = {};
      long[] costs = {};

      Lists(int kinds) {
        this.list = new int[kinds][];
        this.count = new int[kinds];
        this.kept = new int[kinds][0];
      }
    }

    private Search(
        Place place, long most, LongSupplier limit, BooleanSupplier stop, Listener listener) {
      this.place = place;
      this.most = most;
      this.limits = limit;
      this.stop = stop;
      this.listener = listener;
    }

    /**
     * The steps so far.
     *
     * @return the count
     */
    public long steps() {
      return nodes;
    }

    /**
     * Whether a way was found.
     *
     * @return false if there was none so far
     */
    public boolean foundAny() {
      return any;
    }

    /**
     * Searches, once.
     *
     * @return whether all ways were looked into; false if it gave up
     */
    public boolean run() {
      if (!exact) {
        return false;
      }
      long limit = limits.getAsLong();
      sum = place.least();
      if (sum >= limit) {
        return true;
      }
      for (int cell : place.cells()) {
        taken[cell] = true;
      }
      for (int u : place.units()) {
        moved[u] = true;
      }
      int[] rest = new int[cost.length]; // cells of a unit that could be hit
      for (int s = 0; s < kindOf.length; s++) {
        if (moved[unitOf[s]]) {
          // A slice off the place need not move with the others of its request.
          boolean on = false;
          for (int cell : cellsOf[s]) {
            on |= taken[cell];
          }
          if (on) {
            up[kindOf[s]]++;
          } else {
            over = true; // several slices: not of this kind
          }
        } else {
          rest[unitOf[s]] += cellsOf[s].length;
        }
      }
      if (over) {
        return false;
      }
      int[] stamp = new int[cost.length];
      int[] number = new int[cost.length];
      int mark = 0;
      for (int k = 0; k < up.length; k++) {
        Kind kind = kinds.get(k);
        int n = 0;
        int[] list = new int[kind.cells().size()];
        int[][] on = new int[list.length][];
        long[][] share = new long[list.length][];
        for (int i = 0; i < list.length; i++) {
          mark++;
          long real = 0;
          int count = 0;
          int[] units = new int[8];
          int[] overlap = new int[8];
          boolean ok = true;
          for (int cell : kind.cells().get(i)) {
            if (taken[cell]) {
              ok = false;
              break;
            }
            int s = home[cell];
            if (s < 0 || moved[unitOf[s]]) {
              continue;
            }
            int u = unitOf[s];
            if (stamp[u] != mark) {
              stamp[u] = mark;
              real += cost[u];
              if (kindOf[s] < 0 || sum + real >= limit) {
                ok = false;
                break;
              }
              if (count == units.length) {
                units = Arrays.copyOf(units, 2 * count);
                overlap = Arrays.copyOf(overlap, 2 * count);
              }
              number[u] = count;
              units[count++] = u;
            }
            overlap[number[u]]++;
          }
          if (ok) {
            on[n] = Arrays.copyOf(units, count);
            share[n] = new long[count];
            for (int j = 0; j < count; j++) {
              share[n][j] = cost[units[j]] / rest[units[j]] * overlap[j];
            }
            list[n++] = i;
          }
        }
        options[k] = Arrays.copyOf(list, n);
        cellsAt[k] = new int[n][];
        current[k] = new int[n];
        for (int i = 0; i < n; i++) {
          cellsAt[k][i] = kind.cells().get(list[i]);
          current[k][i] = i;
        }
        counts[k] = n;
        hits[k] = on;
        shares[k] = share;
        excluded[k] = new boolean[n];
      }
      Integer[] byCount = new Integer[up.length];
      Arrays.setAll(byCount, k -> k);
      Arrays.sort(byCount, Comparator.comparingInt(k -> counts[k]));
      scarcest = Arrays.stream(byCount).mapToInt(k -> k).toArray();
      price(limit);
      node(0);
      return !over;
    }

    /**
     * Prices cells, by subgradient steps. A slice that is up pays at least for the cheapest
     * position of its kind; of that goes what free cells are worth, and what those of a request
     * that has not moved are worth beyond its cost and the cheapest position of its own slices. So
     * the sum is a bound for any prices (weak duality of the linear program of positions).
     */
    private void price(long limit) {
      double[] price = new double[cells];
      double[] best = new double[cells];
      double[] slope = new double[cells];
      boolean[] may = new boolean[cost.length];
      int[] kind = new int[cost.length];
      boolean[] free = new boolean[cells];
      for (int cell = 0; cell < cells; cell++) {
        int s = home[cell];
        free[cell] = !taken[cell] && (s < 0 || moved[unitOf[s]]);
        if (s >= 0 && !moved[unitOf[s]] && kindOf[s] >= 0 && sum + cost[unitOf[s]] < limit) {
          int u = unitOf[s];
          may[u] = true;
          kind[u] = kindOf[s];
          price[cell] = (double) cost[u] / cellsOf[s].length;
        }
      }
      double aim = limit - sum;
      double bestSum = Double.NEGATIVE_INFINITY;
      double step = 1;
      int idle = 0;
      double[] least = new double[up.length];
      int[] cheapest = new int[up.length];
      double[] count = new double[up.length];
      double[] over = new double[cost.length];
      boolean sane = limit < Long.MAX_VALUE / 4 / (cells + 1);
      for (int round = 0; sane && round < STEPS && bestSum < aim; round++) {
        if (round == FEW_STEPS && bestSum < PROMISE * aim) {
          break;
        }
        double total = 0;
        for (int k = 0; k < up.length; k++) {
          count[k] = up[k];
          least[k] = Double.POSITIVE_INFINITY;
          int n = counts[k];
          int from = n == 0 ? 0 : (int) (round * 7919L % n);
          for (int j = 0; j < n; j++) {
            int i = from + j < n ? from + j : from + j - n;
            double p = 0;
            for (int cell : cellsAt[k][i]) {
              p += price[cell];
              if (p >= least[k]) {
                break;
              }
            }
            if (p < least[k]) {
              least[k] = p;
              cheapest[k] = i;
            }
          }
          total += up[k] == 0 ? 0 : up[k] * least[k];
        }
        Arrays.fill(over, 0);
        for (int cell = 0; cell < cells; cell++) {
          total -= free[cell] ? price[cell] : 0;
          if (!free[cell] && home[cell] >= 0 && may[unitOf[home[cell]]]) {
            over[unitOf[home[cell]]] += price[cell];
          }
        }
        for (int u = 0; u < over.length; u++) {
          if (may[u]) {
            over[u] -= cost[u] + least[kind[u]];
            if (over[u] > 0) {
              total -= over[u];
              count[kind[u]]++;
            }
          }
        }
        if (total > bestSum) {
          bestSum = total;
          System.arraycopy(price, 0, best, 0, cells);
          idle = 0;
        } else if (++idle >= 6) {
          idle = 0;
          step *= 0.7;
        }
        double square = 0;
        for (int cell = 0; cell < cells; cell++) {
          int u = home[cell] < 0 ? -1 : unitOf[home[cell]];
          slope[cell] *= 0.6;
          if (free[cell] || u >= 0 && may[u] && over[u] > 0) {
            slope[cell] -= 0.4;
          }
        }
        for (int k = 0; k < up.length; k++) {
          for (int cell : count[k] > 0 && counts[k] > 0 ? cellsAt[k][cheapest[k]] : new int[0]) {
            slope[cell] += 0.4 * count[k];
          }
        }
        for (int cell = 0; cell < cells; cell++) {
          square += price[cell] > 0 || slope[cell] > 0 ? slope[cell] * slope[cell] : 0;
        }
        if (square == 0) {
          break;
        }
        double length = step * Math.max(1.05 * aim - total, 1e-3 * aim) / square;
        for (int cell = 0; cell < cells; cell++) {
          price[cell] = Math.min(limit, Math.max(0, price[cell] + length * slope[cell]));
        }
      }
      long[] exactly = new long[cells];
      for (int cell = 0; sane && cell < cells; cell++) {
        exactly[cell] = (long) best[cell];
        int s = home[cell];
        if (free[cell]) {
          freeSum += exactly[cell];
        } else if (s >= 0 && may[unitOf[s]]) {
          unitPrice[unitOf[s]] += exactly[cell];
        }
      }
      long[] floor = new long[up.length];
      for (int k = 0; k < up.length; k++) {
        priceAt[k] = new long[counts[k]];
        floor[k] = counts[k] == 0 ? limit : Long.MAX_VALUE;
        for (int i = 0; i < counts[k]; i++) {
          for (int cell : cellsAt[k][i]) {
            priceAt[k][i] += exactly[cell];
          }
          floor[k] = Math.min(floor[k], priceAt[k][i]);
        }
      }
      for (int u = 0; u < cost.length; u++) {
        if (may[u]) {
          penalty[u] = Math.max(0, unitPrice[u] - cost[u] - floor[kind[u]]);
          penaltySum += penalty[u];
        }
      }
    }

    private void node(int depth) {
      if (over || ++nodes > most || (nodes & 63) == 0 && stop.getAsBoolean()) {
        over = true;
        return;
      }
      long limit = limits.getAsLong();
      if (sum >= limit) {
        return;
      }
      if (depth == levels.size()) {
        levels.add(new Lists(up.length));
      }
      Lists own = levels.get(depth);
      int chosen = -1;
      double fewest = Double.POSITIVE_INFINITY;
      long atLeast = 0;
      long priced = -freeSum - penaltySum;
      boolean fits = true;
      for (int k = 0; k < up.length; k++) {
        own.list[k] = current[k];
        own.count[k] = counts[k];
      }
      for (int at = 0; fits && at < scarcest.length; at++) {
        int k = scarcest[at];
        if (up[k] == 0) {
          continue;
        }
        atLeast += filter(k, own, limit - sum);
        int n = counts[k];
        fits = n >= up[k] && sum + atLeast < limit;
        fits = fits && covers(k);
        priced += up[k] * leastPrice;
        double score = (double) n / up[k];
        if (score < fewest) {
          fewest = score;
          chosen = k;
        }
      }
      fits &= sum + priced < limit;
      if (fits && chosen < 0) {
        found();
      } else if (fits && refuted.add(new Key(h1, h2))) {
        branch(chosen, depth, limit - sum - priced);
      }
      for (int k = 0; k < up.length; k++) {
        current[k] = own.list[k];
        counts[k] = own.count[k];
      }
    }

    /** Puts a slice of a kind down on each of its positions in turn. */
    private void branch(int k, int depth, long slack) {
      int n = counts[k];
      long dearest = Long.MAX_VALUE;
      for (int j = 0; j < n; j++) {
        dearest = Math.min(dearest, priceAt[k][current[k][j]]);
      }
      dearest += slack; // a position of this price makes the sum too much

      Lists own = levels.get(depth);
      if (own.order.length < n) {
        own.order = new int[2 * n];
        own.costs = new long[2 * n];
      }
      int[] order = own.order;
      long[] costs = own.costs;
      int size = 0;
      for (int j = 0; j < n; j++) {
        int i = current[k][j];
        if (priceAt[k][i] >= dearest) {
          continue;
        }
        long real = real(k, i);
        int to = size++;
        while (to > 0 && costs[to - 1] > real) {
          costs[to] = costs[to - 1];
          order[to] = order[to - 1];
          to--;
        }
        costs[to] = real;
        order[to] = i;
      }
      int done = 0;
      while (done < size && !over && sum + costs[done] < limits.getAsLong()) {
        put(k, order[done]);
        node(depth + 1);
        takeBack(k, order[done]);
        excluded[k][order[done]] = true; // slices of one kind are alike
        done++;
      }
      for (int j = 0; j < done; j++) {
        excluded[k][order[j]] = false;
      }
    }

    /** Whether the positions left of a kind have as many cells in all as its slices need. */
    private boolean covers(int k) {
      int n = counts[k];
      if (up[k] < 2 || n > MOST_COVERED) {
        return true;
      }
      int need = up[k] * cellsAt[k][current[k][0]].length;
      mark++;
      for (int j = 0; j < n; j++) {
        for (int cell : cellsAt[k][current[k][j]]) {
          if (covered[cell] != mark) {
            covered[cell] = mark;
            if (--need == 0) {
              return true;
            }
          }
        }
      }
      return false;
    }

    private long real(int k, int i) {
      long real = 0;
      for (int u : hits[k][i]) {
        real += moved[u] ? 0 : cost[u];
      }
      return real;
    }

    /**
     * Keeps the positions of a kind that are free and cost less than what is left; both only get
     * fewer on the way down.
     *
     * @return what all slices of the kind that are up cost at least, in shares
     */
    private long filter(int k, Lists own, long left) {
      int[] from = current[k];
      int size = counts[k];
      int[] to = own.kept[k];
      if (to.length < size) {
        to = new int[size];
        own.kept[k] = to;
      }
      int n = 0;
      int wanted = up[k];
      int held = 0;
      long sumOfLeast = 0;
      leastPrice = Long.MAX_VALUE;
      for (int j = 0; j < size; j++) {
        int i = from[j];
        if (excluded[k][i]) {
          continue;
        }
        boolean free = true;
        for (int cell : cellsAt[k][i]) {
          if (taken[cell]) {
            free = false;
            break;
          }
        }
        if (!free) {
          continue;
        }
        long real = 0;
        long share = 0;
        int[] on = hits[k][i];
        for (int h = 0; h < on.length; h++) {
          if (!moved[on[h]]) {
            real += cost[on[h]];
            share += shares[k][i][h];
          }
        }
        if (real >= left) {
          continue;
        }
        to[n++] = i;
        leastPrice = Math.min(leastPrice, priceAt[k][i]);
        if (held < wanted || share < least[held - 1]) {
          // The so many least shares: positions of several slices differ.
          int at = held < wanted ? held++ : held - 1;
          if (held > least.length) {
            least = Arrays.copyOf(least, 2 * held);
          }
          while (at > 0 && least[at - 1] > share) {
            least[at] = least[at - 1];
            at--;
          }
          least[at] = share;
        }
      }
      for (int j = 0; j < held; j++) {
        sumOfLeast += least[j];
      }
      current[k] = to;
      counts[k] = n;
      return sumOfLeast;
    }

    private void put(int k, int i) {
      int[] own = cellsAt[k][i];
      for (int cell : own) {
        taken[cell] = true;
        h1 ^= mix(cell + 1);
        h2 ^= mix(cell + 1_000_003);
      }
      up[k]--;
      h1 += mix(k + 2_000_003);
      h2 += mix(k + 3_000_017);
      int n = 0;
      int[] fresh = new int[hits[k][i].length];
      for (int u : hits[k][i]) {
        if (!moved[u]) {
          moved[u] = true;
          sum += cost[u];
          freeSum += unitPrice[u];
          penaltySum -= penalty[u];
          fresh[n++] = u;
          h1 += mix(u + 5_000_003);
          h2 += mix(u + 7_000_017);
          for (int s : members[u]) {
            up[kindOf[s]]++;
          }
        }
      }
      freeSum -= priceAt[k][i];
      int[] entry = new int[n + 2];
      entry[0] = k;
      entry[1] = options[k][i];
      System.arraycopy(fresh, 0, entry, 2, n);
      down.add(entry);
    }

    private void takeBack(int k, int i) {
      int[] entry = down.remove(down.size() - 1);
      for (int cell : cellsAt[k][i]) {
        taken[cell] = false;
        h1 ^= mix(cell + 1);
        h2 ^= mix(cell + 1_000_003);
      }
      freeSum += priceAt[k][i];
      up[k]++;
      h1 -= mix(k + 2_000_003);
      h2 -= mix(k + 3_000_017);
      for (int j = 2; j < entry.length; j++) {
        int u = entry[j];
        moved[u] = false;
        sum -= cost[u];
        freeSum -= unitPrice[u];
        penaltySum += penalty[u];
        h1 -= mix(u + 5_000_003);
        h2 -= mix(u + 7_000_017);
        for (int s : members[u]) {
          up[kindOf[s]]--;
        }
      }
    }

    private void found() {
      int[] at = new int[slices.size()];
      Arrays.fill(at, -1);
      boolean[] used = new boolean[at.length];
      for (int[] entry : down) {
        for (int s = 0; s < at.length; s++) {
          if (!used[s] && moved[unitOf[s]] && kindOf[s] == entry[0]) {
            used[s] = true;
            at[s] = entry[1];
            break;
          }
        }
      }
      any = true;
      listener.found(at, sum);
    }
  }
}
