package dev.slicewright.solve;

import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.RoomMoves;
import dev.slicewright.plan.RoomMoves.Kind;
import dev.slicewright.plan.RoomMoves.Place;
import dev.slicewright.search.Assignment;
import dev.slicewright.search.Demand;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
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
  private static final int PLACE = -2;

  private final Instance in;
  private final RoomMoves moves;
  private final long seed;
  private final int cells;
  private final int[] @Nullable [] near; // by cell: those that touch it, made when first asked
  private final List<RunningSlice> slices;
  private final int[] unitOf;
  private final int[] kindOf;
  private final int[][] cellsOf;
  private final int[] home;
  private final long[] cost;
  private final List<Kind> kinds;
  private final List<Place> places;

  private final AtomicLong best = new AtomicLong(Long.MAX_VALUE);
  private @Nullable Found found;

  /** A way to make room: where each slice goes, by slice; -1 if it stays. */
  private record Found(Place place, int[] at, long cost) {}

  Compaction(Instance in, RoomMoves moves, long seed) {
    this.in = in;
    this.moves = moves;
    this.seed = seed;
    this.cells = moves.cells();
    this.near = new int[cells][];
    this.slices = moves.slices();
    this.unitOf = moves.unitOf();
    this.kindOf = moves.kindOf();
    this.cellsOf = moves.cellsOf();
    this.home = moves.home();
    this.cost = moves.cost();
    this.kinds = moves.kinds();
    this.places = moves.places();
  }

  int[] near(int cell) {
    int[] out = near[cell];
    if (out == null) {
      int pod = in.pods.size() - 1;
      while (moves.firstCell(pod) > cell) {
        pod--;
      }
      TpuTopology t = in.pods.get(pod).topology();
      Chip at = t.originOfCell(cell - moves.firstCell(pod));
      Shape grid = t.dims();
      Shape tile = t.cellTile();
      int[] list = new int[6];
      int n = 0;
      if (!(t.slicing() instanceof Slicing.TorusBoxes)) {
        near[cell] = new int[0];
        return new int[0];
      }
      int[] size = {grid.x(), grid.y(), grid.z()};
      int[] step = {tile.x(), tile.y(), tile.z()};
      int[] own = {at.x(), at.y(), at.z()};
      for (int a = 0; a < 3; a++) {
        for (int sign = -1; sign <= 1; sign += 2) {
          int[] to = own.clone();
          to[a] += sign * step[a];
          if (to[a] < 0 || to[a] >= size[a]) {
            if (!t.wraps(Axis.values()[a])) {
              continue;
            }
            to[a] = Math.floorMod(to[a], size[a]);
          }
          list[n++] = moves.firstCell(pod) + t.cellOf(new Chip(to[0], to[1], to[2]));
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
      for (int cell : place.cells()) {
        int s = occupant[cell];
        if (s >= 0) {
          lift(s);
        }
        occupant[cell] = PLACE;
      }
    }

    private void lift(int s) {
      int[] own = at[s] < 0 ? cellsOf[s] : kinds.get(kindOf[s]).cells().get(at[s]);
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
      int size = kind.cells().size();
      int ties = 1;
      for (int i = 0; i < size; i++) {
        int[] own = kind.cells().get(i);
        double price = 0;
        long real = 0;
        stamp++;
        boolean ok = true;
        for (int cell : own) {
          int t = occupant[cell];
          if (t == NOBODY) {
            continue;
          }
          if (t == PLACE || kindOf[t] < 0) {
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
      int[] own = kind.cells().get(choice);
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
    void search(long rounds, BooleanSupplier stop) {
      for (long round = 0; round < rounds && !stop.getAsBoolean(); round++) {
        int open = 0;
        long limit = best.get();
        while (open < places.size() && places.get(open).least() < limit) {
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

  // ---------------------------------------------------------------- all ways

  private final AtomicInteger next = new AtomicInteger();
  private final Map<Integer, long[]> looked = new ConcurrentHashMap<>(); // limit, steps

  /** Searches by chance, then looks into all ways; the workers of several threads at once. */
  void run(int number, long rounds, BooleanSupplier first, long most, BooleanSupplier second) {
    new Worker(seed + 0x9E3779B97F4A7C15L * number).search(rounds, first);
    exhaust(most, second);
  }

  /** Looks into all ways at one place after the other; several threads may at once. */
  private void exhaust(long most, BooleanSupplier stop) {
    while (moves.isExact() && best.get() < Long.MAX_VALUE) {
      int at = next.getAndIncrement();
      if (at >= places.size() || places.get(at).least() >= best.get() || !look(at, most, stop)) {
        return;
      }
    }
  }

  private boolean look(int at, long most, BooleanSupplier stop) {
    Place place = places.get(at);
    long limit = best.get();
    RoomMoves.Search search =
        moves.search(place, most, best::get, stop, (to, sum) -> accept(place, to, sum));
    boolean all = !stop.getAsBoolean() && search.run();
    if (all) {
      looked.put(at, new long[] {limit, search.steps()});
    }
    return all;
  }

  /**
   * Whether all ways were looked into, so that none is cheaper than the best. What was looked into
   * with another limit is so again, for the verifier does it with the last one.
   */
  boolean isProved(long most, BooleanSupplier stop) {
    if (!moves.isExact() || best.get() == Long.MAX_VALUE) {
      return false;
    }
    for (int at = 0; at < places.size() && places.get(at).least() < best.get(); at++) {
      long[] known = looked.get(at);
      if (known == null || known[0] != best.get() && !look(at, most, stop)) {
        return false;
      }
    }
    return true;
  }

  /** The steps that a proof takes. */
  long steps() {
    long sum = 0;
    for (int at = 0; at < places.size() && places.get(at).least() < best.get(); at++) {
      sum += looked.getOrDefault(at, new long[2])[1];
    }
    return sum;
  }

  private synchronized void accept(Place place, int[] at, long sum) {
    if (sum < best.get()) {
      best.set(sum);
      found = new Found(place, at, sum);
    }
  }

  /** The best way found, or null. */
  synchronized @Nullable Solution solution() {
    Found f = found;
    if (f == null) {
      return null;
    }
    List<@Nullable Assignment> placed = new ArrayList<>();
    placed.add(assignment(f.place));
    Solution out = Solution.of(placed);
    for (int s = 0; s < f.at.length; s++) {
      if (f.at[s] >= 0) {
        Kind kind = kinds.get(kindOf[s]);
        RunningSlice slice = slices.get(s);
        Footprint to = kind.footprints().get(f.at[s]);
        if (!same(kind.cells().get(f.at[s]), cellsOf[s])) {
          out.moved()
              .put(slice.id(), new Solution.Target(kind.pods().get(f.at[s]), slice.shape(), to));
        }
      }
    }
    return Displacement.keepsRules(in, out) ? out : null;
  }

  private static boolean same(int[] a, int[] b) {
    return Arrays.equals(sorted(a), sorted(b));
  }

  private static int[] sorted(int[] at) {
    int[] out = at.clone();
    Arrays.sort(out);
    return out;
  }

  private Assignment assignment(Place place) {
    List<Demand.Choice> choices = in.demands.get(0).choices();
    for (int c = 0; c < choices.size(); c++) {
      if (choices.get(c).shape().sorted().equals(place.shape().sorted())
          && Arrays.stream(choices.get(c).pods()).anyMatch(p -> p == place.pod())) {
        return new Assignment(c, new int[] {place.pod()}, List.of(place.footprint()));
      }
    }
    throw new IllegalStateException("No choice of " + place.shape());
  }
}
