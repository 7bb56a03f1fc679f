package dev.slicewright.solve;

import dev.slicewright.cost.Collectives;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Level;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.RoomGoal;
import dev.slicewright.request.Spread;
import dev.slicewright.search.Assignment;
import dev.slicewright.search.Demand;
import dev.slicewright.search.PlacementSearch;
import dev.slicewright.search.PodSpace;
import dev.slicewright.search.Want;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Makes room for one slice by moving what runs, at the fewest chip-seconds.
 *
 * <p>A place costs at least what the requests on it cost. For a place, those are taken up, largest
 * first, and each goes where least has to move for it in turn, until all are down or the sum is no
 * better than the best known. Confined to one thread at a time, but for its workers.
 */
final class Compaction {

  private static final int NOBODY = -1;

  /** Cells of listed positions that are kept, in all. */
  private static final long MOST_CELLS = 8_000_000;

  final Instance in;
  private final long seed;
  private final int[] base; // first cell of each pod
  private final int cells;
  private final int[] @Nullable [] near; // by cell: those that touch it, where boxes
  final List<RunningSlice> slices = new ArrayList<>();
  final int[] unitOf; // by slice: its free request
  final int[] kindOf; // by slice
  final int[][] cellsOf; // by slice
  final int[] home; // by cell: the slice, or NOBODY
  final long[] cost; // by unit
  final int[][] members; // by unit
  final List<Kind> kinds = new ArrayList<>();
  final List<Place> places = new ArrayList<>(); // cheapest first
  final boolean exact; // whether all ways of moving are known here
  private long kept;
  private boolean tooLarge;

  private final AtomicLong best = new AtomicLong(Long.MAX_VALUE);
  private @Nullable Found found;

  /** Slices that may take the same positions. */
  static final class Kind {
    final List<int[]> cells = new ArrayList<>();
    final List<Footprint> footprints = new ArrayList<>();
    final List<Integer> pods = new ArrayList<>();

    int size() {
      return cells.isEmpty() ? 0 : cells.get(0).length;
    }
  }

  /** Where the slice for which there is to be room could go. */
  static final class Place {
    final int choice;
    final int pod;
    final Footprint footprint;
    final int[] cells;
    final int[] units; // on it
    final long least; // what those cost
    boolean tried;

    Place(int choice, int pod, Footprint footprint, int[] cells, int[] units, long least) {
      this.choice = choice;
      this.pod = pod;
      this.footprint = footprint;
      this.cells = cells;
      this.units = units;
      this.least = least;
    }
  }

  /** A way to make room: where each slice goes, by slice; -1 if it stays. */
  private record Found(Place place, int[] at, long cost) {}

  /** Whether a problem is of this kind. */
  static boolean applies(Instance in) {
    if (in.demands.size() != 1
        || !in.isPhantom(0)
        || in.demands.get(0).request().slices() != 1
        || in.level(Level.Kind.DRAIN, 0) >= 0
        || !Displacement.anyMayMove(in)) {
      return false;
    }
    for (Level level : in.levels) {
      if (level.kind() == Level.Kind.DRAIN) {
        return false;
      }
    }
    Demand demand = in.demands.get(0);
    for (Demand.Choice choice : demand.choices()) {
      for (int pod : choice.pods()) {
        if (in.pods.get(pod).topology().cubesOf(choice.shape()) > 0) {
          return false;
        }
      }
    }
    return true;
  }

  Compaction(Instance in, long seed) {
    this.in = in;
    this.seed = seed;
    this.base = new int[in.pods.size()];
    int n = 0;
    for (int p = 0; p < base.length; p++) {
      base[p] = n;
      n = Math.addExact(n, in.pods.get(p).topology().cellCount());
    }
    this.cells = n;
    this.home = new int[n];
    Arrays.fill(home, NOBODY);
    this.near = new int[n][];
    int units = in.free.size();
    this.cost = new long[units];
    this.members = new int[units][];
    List<Integer> unit = new ArrayList<>();
    List<Integer> kind = new ArrayList<>();
    List<int[]> own = new ArrayList<>();
    Map<List<Object>, Integer> kindIndex = new LinkedHashMap<>();
    Map<Integer, PodSpace> cleared = new HashMap<>();
    boolean whole = in.broken.isEmpty();
    for (int u = 0; u < units; u++) {
      Instance.Free free = in.free.get(u);
      cost[u] = Values.disruption(in, free);
      boolean moves = free.permission().move() && in.keepsSpread(free);
      members[u] = new int[moves ? free.slices().size() : 0];
      for (int i = 0; i < free.slices().size(); i++) {
        RunningSlice slice = free.slices().get(i);
        int pod = in.podOf(slice.pod());
        int[] at = cells(pod, slice.footprint());
        int s = slices.size();
        slices.add(slice);
        unit.add(u);
        own.add(at);
        for (int cell : at) {
          home[cell] = s;
        }
        boolean twisted =
            free.request().interconnect() == Interconnect.TWISTED && slice.twist().isNone();
        if (!moves || twisted) {
          kind.add(NOBODY);
          continue;
        }
        members[u][i] = s;
        boolean alone =
            free.slices().size() == 1
                && free.request().gang().isEmpty()
                && free.request().spread().kind() == Spread.Kind.ANY;
        whole &=
            alone
                && !(slice.footprint() instanceof Footprint.Cubes)
                && knowsAll(free, slice, pod);
        kind.add(kind(free, slice, pod, alone, kindIndex, cleared));
      }
    }
    this.unitOf = unit.stream().mapToInt(Integer::intValue).toArray();
    this.kindOf = kind.stream().mapToInt(Integer::intValue).toArray();
    this.cellsOf = own.toArray(new int[0][]);
    listPlaces(cleared);
    this.exact = whole && !tooLarge;
  }

  private int[] cells(int pod, Footprint footprint) {
    int[] at = in.pods.get(pod).topology().cells(footprint);
    if (base[pod] == 0) {
      return at;
    }
    int[] out = at.clone();
    for (int i = 0; i < out.length; i++) {
      out[i] += base[pod];
    }
    return out;
  }

  /** Whether a slice can move in no other way than as it is, to the pods looked at here. */
  private boolean knowsAll(Instance.Free free, RunningSlice slice, int home) {
    int elsewhere = 0;
    for (int p = 0; p < base.length; p++) {
      if (!Instance.matches(free.request(), in.pods.get(p))) {
        continue;
      }
      for (Shape shape : Collectives.shapeOptions(free.request(), in.pods.get(p).topology())) {
        if (!in.pods.get(p).topology().isLegal(shape)) {
          continue;
        }
        elsewhere += p == home ? 0 : 1;
        if (!shape.sorted().equals(slice.shape().sorted())
            || !free.request().mayTurn() && !shape.equals(slice.shape())) {
          return false;
        }
      }
    }
    return elsewhere == 0 || Completion.pods(in, free, slice, home).size() == elsewhere + 1;
  }

  private int kind(
      Instance.Free free,
      RunningSlice slice,
      int home,
      boolean alone,
      Map<List<Object>, Integer> index,
      Map<Integer, PodSpace> cleared) {
    if (slice.footprint() instanceof Footprint.Cubes) {
      return NOBODY;
    }
    List<Object> key = new ArrayList<>();
    for (int p : Completion.pods(in, free, slice, home)) {
      if (p != home && !alone) {
        continue;
      }
      PodSpace space = cleared.computeIfAbsent(p, in::cleared);
      int want =
          space.register(Want.of(free.request(), slice.shape(), in.pods.get(p), in.rules.now()));
      if (want >= 0) {
        key.add(List.of(p, want));
      }
    }
    Integer known = index.get(key);
    if (known != null) {
      return known;
    }
    Kind kind = new Kind();
    Seen seen = new Seen();
    for (Object o : key) {
      int pod = (Integer) ((List<?>) o).get(0);
      int want = (Integer) ((List<?>) o).get(1);
      cleared
          .computeIfAbsent(pod, in::cleared)
          .forEachCandidate(
              want,
              footprint -> {
                int[] at = cells(pod, footprint);
                kept += at.length;
                if (kept > MOST_CELLS) {
                  tooLarge = true;
                } else if (seen.isNew(at)) {
                  kind.cells.add(at);
                  kind.footprints.add(footprint);
                  kind.pods.add(pod);
                }
              });
    }
    index.put(key, kinds.size());
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

  private void listPlaces(Map<Integer, PodSpace> cleared) {
    Demand demand = in.demands.get(0);
    int[] stamp = new int[cost.length];
    int[] mark = {0};
    for (int c = 0; c < demand.choices().size(); c++) {
      int choice = c;
      for (int pod : demand.choices().get(c).pods()) {
        PodSpace space = cleared.computeIfAbsent(pod, in::cleared);
        int want =
            space.register(
                PlacementSearch.wantOf(
                    demand, demand.choices().get(c), in.pods.get(pod), in.rules.now()));
        Seen seen = new Seen();
        space.forEachCandidate(
            want,
            footprint -> {
              int[] at = cells(pod, footprint);
              if (!seen.isNew(at)) {
                return;
              }
              mark[0]++;
              long least = 0;
              int count = 0;
              int[] on = new int[cost.length];
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
                  on[count++] = u;
                }
              }
              places.add(
                  new Place(choice, pod, footprint, at, Arrays.copyOf(on, count), least));
            });
      }
    }
    places.sort((a, b) -> Long.compare(a.least, b.least));
  }

  int[] near(int cell) {
    int[] out = near[cell];
    if (out == null) {
      int pod = base.length - 1;
      while (base[pod] > cell) {
        pod--;
      }
      TpuTopology t = in.pods.get(pod).topology();
      Chip at = t.originOfCell(cell - base[pod]);
      Shape grid = t.dims();
      Shape tile = t.cellTile();
      int[] list = new int[6];
      int n = 0;
      int[] size = {grid.x(), grid.y(), grid.z()};
      int[] step = {tile.x(), tile.y(), tile.z()};
      int[] own = {at.x(), at.y(), at.z()};
      for (int a = 0; a < 3; a++) {
        for (int sign = -1; sign <= 1; sign += 2) {
          int[] to = own.clone();
          to[a] += sign * step[a];
          if (to[a] < 0 || to[a] >= size[a]) {
            if (!t.wraps(dev.slicewright.topology.Axis.values()[a])) {
              continue;
            }
            to[a] = Math.floorMod(to[a], size[a]);
          }
          list[n++] = base[pod] + t.cellOf(new Chip(to[0], to[1], to[2]));
        }
      }
      out = Arrays.copyOf(list, n);
      near[cell] = out;
    }
    return out;
  }

  // ---------------------------------------------------------------- search

  long best() {
    return best.get();
  }

  /** Tells of a cost that is known to be possible. */
  void known(long cost) {
    best.accumulateAndGet(cost, Math::min);
  }

  /** One thread's view. */
  final class Worker {
    private final SplittableRandom random;
    private final int[] occupant = new int[cells]; // slice, NOBODY, or -2 for the place
    private final int[] at = new int[slices.size()]; // position, -1 home, -2 up
    private final boolean[] moved = new boolean[cost.length];
    private final int[] lifted = new int[slices.size()]; // how often
    private final int[] seen = new int[slices.size()];
    private final int[] seenUnit = new int[cost.length];
    private int stamp;
    private long sum;
    private final List<Integer> up = new ArrayList<>();

    Worker(long seed) {
      this.random = new SplittableRandom(seed);
    }

    private void reset(Place place) {
      System.arraycopy(home, 0, occupant, 0, cells);
      Arrays.fill(at, -1);
      Arrays.fill(moved, false);
      Arrays.fill(lifted, 0);
      up.clear();
      sum = 0;
      for (int cell : place.cells) {
        int s = occupant[cell];
        if (s >= 0) {
          lift(s);
        }
        occupant[cell] = -2;
      }
    }

    private void lift(int s) {
      int[] own = at[s] < 0 ? cellsOf[s] : kinds.get(kindOf[s]).cells.get(at[s]);
      for (int cell : own) {
        if (occupant[cell] == s) {
          occupant[cell] = NOBODY;
        }
      }
      at[s] = -2;
      lifted[s]++;
      up.add(s);
      int u = unitOf[s];
      if (!moved[u]) {
        moved[u] = true;
        sum += cost[u];
      }
    }

    /** One try at a place; true if all found room at less than the best cost. */
    boolean attempt(Place place, BooleanSupplier stop) {
      reset(place);
      double noise = random.nextInt(4) == 0 ? 0 : 0.5 * random.nextDouble();
      int steps = 60 + 4 * up.size();
      while (!up.isEmpty()) {
        if (sum >= best.get() || steps-- == 0 || stop.getAsBoolean()) {
          return false;
        }
        int pick = 0;
        double top = -1;
        for (int i = 0; i < up.size(); i++) {
          int s = up.get(i);
          double key = cellsOf[s].length * (1 + noise * random.nextDouble());
          if (key > top) {
            top = key;
            pick = i;
          }
        }
        int s = up.remove(pick);
        if (!put(s, noise)) {
          return false;
        }
      }
      return sum < best.get();
    }

    private boolean put(int s, double noise) {
      Kind kind = kinds.get(kindOf[s]);
      double least = Double.POSITIVE_INFINITY;
      int choice = -1;
      long slack = best.get() - sum;
      // A cell that a moved slice has to give up again costs about this.
      double perCell = (double) Math.max(1, best.get() == Long.MAX_VALUE ? sum : best.get()) / 400;
      int size = kind.cells.size();
      int ties = 1;
      for (int i = 0; i < size; i++) {
        int[] own = kind.cells.get(i);
        double price = 0;
        long real = 0;
        stamp++;
        boolean ok = true;
        for (int cell : own) {
          int t = occupant[cell];
          if (t == NOBODY) {
            continue;
          }
          if (t == -2 || kindOf[t] < 0) {
            ok = false;
            break;
          }
          if (seen[t] == stamp) {
            continue;
          }
          seen[t] = stamp;
          int u = unitOf[t];
          int volume = cellsOf[t].length;
          if (!moved[u] && seenUnit[u] != stamp) {
            seenUnit[u] = stamp;
            real += cost[u];
            price += cost[u];
            if (real >= slack) {
              ok = false;
              break;
            }
          }
          price += perCell * volume * (volume >= own.length ? 4 : 1) * (1 + lifted[t]);
          if (price > least) {
            ok = false;
            break;
          }
        }
        if (!ok) {
          continue;
        }
        if (noise > 0) {
          price *= 1 + noise * random.nextDouble();
        }
        if (price > least) {
          continue;
        }
        if (price == 0) {
          price = -1e6 + exposed(own, s);
        }
        if (price < least) {
          least = price;
          choice = i;
          ties = 1;
        } else if (price == least && random.nextInt(++ties) == 0) {
          choice = i;
        }
      }
      if (choice < 0) {
        return false;
      }
      int[] own = kind.cells.get(choice);
      for (int cell : own) {
        int t = occupant[cell];
        if (t >= 0) {
          lift(t);
        }
      }
      for (int cell : own) {
        occupant[cell] = s;
      }
      at[s] = choice;
      return true;
    }

    /** Free cells that touch a box: those it would leave exposed. */
    private int exposed(int[] own, int s) {
      int n = 0;
      for (int cell : own) {
        occupant[cell] = s;
      }
      for (int cell : own) {
        for (int other : near(cell)) {
          n += occupant[other] == NOBODY ? 1 : 0;
        }
      }
      for (int cell : own) {
        occupant[cell] = NOBODY;
      }
      return n;
    }

    /** Tries places, the cheapest most often, until told to stop. */
    void search(BooleanSupplier stop) {
      for (long round = 0; !stop.getAsBoolean(); round++) {
        int open = 0;
        long limit = best.get();
        while (open < places.size() && places.get(open).least < limit) {
          open++;
        }
        if (open == 0) {
          return;
        }
        double r = random.nextDouble();
        int pick = round < open ? (int) round : (int) (r * r * open);
        Place place = places.get(pick);
        if (attempt(place, stop)) {
          accept(place, at.clone(), sum);
        }
      }
    }
  }

  private synchronized void accept(Place place, int[] at, long sum) {
    if (sum < best.get()) {
      best.set(sum);
      found = new Found(place, at, sum);
      if (System.getProperty("trace") != null) {
        System.err.println(System.nanoTime() / 1000000 % 100000 + " " + sum + " least " + place.least);
      }
    }
  }

  Worker worker(int number) {
    return new Worker(seed + 0x9E3779B97F4A7C15L * number);
  }

  /** The best way found, or null. */
  synchronized @Nullable Solution solution() {
    Found f = found;
    if (f == null) {
      return null;
    }
    List<@Nullable Assignment> placed = new ArrayList<>();
    placed.add(
        new Assignment(
            f.place.choice, new int[] {f.place.pod}, List.of(f.place.footprint)));
    Solution out = Solution.of(placed);
    for (int s = 0; s < f.at.length; s++) {
      if (f.at[s] >= 0) {
        Kind kind = kinds.get(kindOf[s]);
        RunningSlice slice = slices.get(s);
        Footprint to = kind.footprints.get(f.at[s]);
        if (!same(kind.cells.get(f.at[s]), cellsOf[s])) {
          out.moved()
              .put(
                  slice.id(),
                  new Solution.Target(kind.pods.get(f.at[s]), slice.shape(), to));
        }
      }
    }
    return Displacement.keepsRules(in, out) ? out : null;
  }

  private static boolean same(int[] a, int[] b) {
    return Arrays.equals(Seen.sorted(a), Seen.sorted(b));
  }
}
