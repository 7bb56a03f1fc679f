package dev.slicewright.search;

import dev.slicewright.search.PodSpace.Spot;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Makes room for one slice by moving a few of those that run. Confined to one thread at a time.
 *
 * <p>In a pod of boxes it looks at every place that the slice could take if all that may move were
 * gone, counts the running slices inside each and sums what moving them costs: one pass over the
 * origins near each slice. Places with few enough slices are tried, the cheapest first: the place
 * is taken, and those inside have to find another one, each where it destroys least or, if that
 * leaves no room for the next, anywhere. Where no place works, one inside may also push out a slice
 * elsewhere that finds a third place. Up to two moves this misses no way, but where a limit on the
 * tries cuts in; what it finds is the cheapest of those that move only slices inside the place. In
 * other pods it lifts every slice, then every two, and sees whether that makes a place.
 *
 * <p>With O origins, S running slices, V the origins near one, P places tried and F the cost of
 * finding a place: O(S·V + O·log O + P·F), and O(P·S·F) more where slices are pushed on.
 */
public final class RoomSearch {

  /** The most places tried in one pod, and the most landings tried for one place. */
  private static final int MAX_PLACES = 2_000;

  private static final int MAX_LANDINGS = 400;

  /** What a move must add to the room that is left, to be worth it. */
  private static final double LEAST_GAIN = 1;

  /**
   * A running slice that may move. Immutable, safe to share. Its arrays must not be changed.
   *
   * @param pod the number of its pod
   * @param footprint where it is
   * @param chips its chips
   * @param cost what moving it costs
   * @param pods where it may go, the preferred pod first
   * @param wants what it looks for in each of those, by number
   */
  public record Runner(
      int pod, Footprint footprint, long chips, long cost, int[] pods, int[] wants) {}

  /**
   * Where a moved slice goes. Immutable, safe to share.
   *
   * @param runner its number
   * @param pod where to
   * @param to the footprint
   */
  public record Shift(int runner, int pod, Footprint to) {}

  /**
   * A way to make room. Immutable, safe to share.
   *
   * @param pod the pod of the place
   * @param place the place that becomes free
   * @param shifts the moves
   * @param cost the sum of their costs
   */
  public record Way(int pod, Footprint place, List<Shift> shifts, long cost) {
    /** Copies the list. */
    public Way {
      shifts = List.copyOf(shifts);
    }
  }

  private final PodSpace[] spaces;
  private final Runner[] runners;
  private final boolean[] moved;
  private final Predicate<List<Shift>> allowed;
  private final BooleanSupplier stop;
  private final Map<Integer, List<Integer>> helpers = new HashMap<>();
  private boolean chains;
  private int tries;

  /**
   * A search over some pods.
   *
   * @param spaces their free room, by number, all running slices taken; as it was after each call
   * @param runners the slices that may move
   * @param allowed whether so many moves may be made
   * @param stop when to give up
   */
  public RoomSearch(
      List<PodSpace> spaces,
      List<Runner> runners,
      Predicate<List<Shift>> allowed,
      BooleanSupplier stop) {
    this.spaces = spaces.toArray(new PodSpace[0]);
    this.runners = runners.toArray(new Runner[0]);
    this.moved = new boolean[this.runners.length];
    this.allowed = allowed;
    this.stop = stop;
  }

  /**
   * The cheapest way to free a place for one slice.
   *
   * @param pods where it may go
   * @param wants what it looks for in each of those, by number
   * @param moves the most moves, 1 or more
   * @return the way, or null if none was found; deterministic, unless stopped
   */
  public @Nullable Way free(int[] pods, int[] wants, int moves) {
    Way best = null;
    for (int pass = 0; pass < 2 && best == null; pass++) {
      chains = pass == 1;
      if (chains && moves < 2) {
        break;
      }
      for (int i = 0; i < pods.length && !stop.getAsBoolean(); i++) {
        if (wants[i] < 0) {
          continue;
        }
        Way way;
        if (spaces[pods[i]] instanceof TorusSpace space) {
          way = inBoxes(space, pods[i], wants[i], moves);
        } else {
          way = chains ? null : elsewhere(pods[i], wants[i], moves);
        }
        if (way != null && (best == null || way.cost() < best.cost())) {
          best = way;
        }
      }
    }
    return best;
  }

  /**
   * Moves that leave more room for the expected mix, in pods of boxes where a shape of the mix has
   * no place though there are chips enough for it. Each move is the one that gains most.
   *
   * @param moves the most moves
   * @return the moves, each slice at most once; none where nothing is worth it; deterministic,
   *     unless stopped
   */
  public List<Shift> tidy(int moves) {
    List<Shift> out = new ArrayList<>();
    List<Spot> taken = new ArrayList<>();
    for (int p = 0; p < spaces.length; p++) {
      while (out.size() < moves
          && !stop.getAsBoolean()
          && spaces[p] instanceof TorusSpace space
          && space.isFragmented()) {
        double most = space.room() + LEAST_GAIN;
        Spot best = null;
        int which = -1;
        for (int r = 0; r < runners.length && !stop.getAsBoolean(); r++) {
          int i = home(r);
          if (runners[r].pod() != p || moved[r] || i < 0) {
            continue;
          }
          lift(r);
          Spot spot = space.findOnline(runners[r].wants()[i]);
          if (spot != null && !spot.footprint().equals(runners[r].footprint())) {
            space.take(spot);
            double room = space.room();
            space.giveBack(spot);
            if (room > most) {
              out.add(new Shift(r, p, spot.footprint()));
              if (allowed.test(out)) {
                most = room;
                best = spot;
                which = r;
              }
              out.remove(out.size() - 1);
            }
          }
          setDown(r);
        }
        if (best == null) {
          break;
        }
        lift(which);
        space.take(best);
        taken.add(best);
        out.add(new Shift(which, p, best.footprint()));
      }
    }
    for (int k = 0; k < out.size(); k++) {
      spaces[out.get(k).pod()].giveBack(taken.get(k));
    }
    out.forEach(shift -> setDown(shift.runner()));
    return out;
  }

  private int home(int r) {
    for (int i = 0; i < runners[r].pods().length; i++) {
      if (runners[r].pods()[i] == runners[r].pod()) {
        return i;
      }
    }
    return -1;
  }

  // ---------------------------------------------------------------- places

  private record Place(int turn, int x, int y, int z, int count, long cost, boolean aligned) {}

  private @Nullable Way inBoxes(TorusSpace space, int pod, int want, int moves) {
    List<Integer> own = new ArrayList<>();
    for (int r = 0; r < runners.length; r++) {
      if (runners[r].pod() == pod) {
        own.add(r);
        lift(r);
      }
    }
    TpuTopology t = space.pod().topology();
    int nx = t.cellGrid().x();
    int ny = t.cellGrid().y();
    int turns = space.turns(want);
    int[][] counts = new int[turns][t.cellCount()];
    long[][] costs = new long[turns][t.cellCount()];
    int[][] extents = new int[turns][];
    for (int turn = 0; turn < turns; turn++) {
      extents[turn] = cells(space.extents(want, turn), t.cellTile());
      for (int r : own) {
        mark(
            t,
            (Footprint.Box) runners[r].footprint(),
            extents[turn],
            counts[turn],
            costs[turn],
            runners[r].cost());
      }
    }
    int[] dims = cells(t.cellGrid(), Shape.of(1, 1, 1));
    List<Place> places = new ArrayList<>();
    space.feasibleOrigins(
        want,
        (turn, x, y, z) -> {
          int cell = x + nx * (y + ny * z);
          int[] e = extents[turn];
          if (counts[turn][cell] <= moves) {
            boolean aligned = on(x, e[0], dims[0]) && on(y, e[1], dims[1]) && on(z, e[2], dims[2]);
            places.add(new Place(turn, x, y, z, counts[turn][cell], costs[turn][cell], aligned));
          }
        });
    own.forEach(this::setDown);
    places.sort(
        Comparator.comparingLong(Place::cost)
            .thenComparingInt(Place::count)
            .thenComparing(p -> !p.aligned()));
    int[] owner = new int[t.cellCount()];
    Arrays.fill(owner, -1);
    for (int r : own) {
      for (int cell : t.cells(runners[r].footprint())) {
        owner[cell] = r;
      }
    }
    int left = MAX_PLACES;
    for (Place p : places) {
      if (--left < 0 || stop.getAsBoolean()) {
        break;
      }
      Spot spot = space.spot(want, p.turn(), p.x(), p.y(), p.z());
      Way way = clear(pod, spot, inside(t, spot.footprint(), owner, p.count()), moves);
      if (way != null) {
        return way;
      }
    }
    return null;
  }

  /** Where boxes do not tell what is inside: lifts one slice, or two, and looks for a place. */
  private @Nullable Way elsewhere(int pod, int want, int moves) {
    List<List<Integer>> sets = new ArrayList<>();
    for (int r = 0; r < runners.length; r++) {
      if (runners[r].pod() == pod) {
        sets.add(List.of(r));
        for (int q = 0; q < r && moves > 1; q++) {
          if (runners[q].pod() == pod) {
            sets.add(List.of(r, q));
          }
        }
      }
    }
    sets.sort(Comparator.comparingLong(this::cost));
    for (List<Integer> set : sets) {
      if (stop.getAsBoolean()) {
        return null;
      }
      set.forEach(this::lift);
      Spot spot = spaces[pod].findOnline(want);
      set.forEach(this::setDown);
      Way way = spot == null ? null : clear(pod, spot, set, moves);
      if (way != null) {
        return way;
      }
    }
    return null;
  }

  private long cost(List<Integer> set) {
    long sum = 0;
    for (int r : set) {
      sum = Math.addExact(sum, runners[r].cost());
    }
    return sum;
  }

  private static boolean on(int at, int e, int n) {
    return at % Integer.highestOneBit(e) == 0 && at + e <= n;
  }

  private static int[] cells(Shape e, Shape tile) {
    return new int[] {
      e.x() / tile.x(), e.y() / tile.y(), e.rank() == 2 ? 1 : e.z() / Math.max(1, tile.z())
    };
  }

  /** The slices inside a footprint. */
  private static List<Integer> inside(TpuTopology t, Footprint f, int[] owner, int count) {
    List<Integer> out = new ArrayList<>(count);
    for (int cell : t.cells(f)) {
      if (owner[cell] >= 0 && !out.contains(owner[cell])) {
        out.add(owner[cell]);
      }
    }
    return out;
  }

  /** Adds 1 and the cost at every origin whose box meets a slice. */
  private static void mark(
      TpuTopology t, Footprint.Box box, int[] ext, int[] counts, long[] costs, long cost) {
    int[] at = new int[3];
    int[] len = new int[3];
    int[] dims = cells(t.cellGrid(), Shape.of(1, 1, 1));
    int[] size = cells(box.extents(), t.cellTile());
    int[] org = {
      box.origin().x() / t.cellTile().x(),
      box.origin().y() / t.cellTile().y(),
      t.dims().rank() == 2 ? 0 : box.origin().z() / t.cellTile().z()
    };
    Axis[] axes = Axis.values();
    for (int i = 0; i < 3; i++) {
      if (t.wraps(axes[i])) {
        len[i] = Math.min(dims[i], size[i] + ext[i] - 1);
        at[i] = len[i] == dims[i] ? 0 : Math.floorMod(org[i] - ext[i] + 1, dims[i]);
      } else {
        at[i] = Math.max(0, org[i] - ext[i] + 1);
        len[i] = org[i] + size[i] - at[i];
      }
    }
    for (int k = 0; k < len[2]; k++) {
      int z = (at[2] + k) % dims[2];
      for (int j = 0; j < len[1]; j++) {
        int row = dims[0] * ((at[1] + j) % dims[1] + dims[1] * z);
        for (int i = 0; i < len[0]; i++) {
          int cell = row + (at[0] + i) % dims[0];
          counts[cell]++;
          costs[cell] += cost;
        }
      }
    }
  }

  // ---------------------------------------------------------------- landings

  /** The way to free a place, or null if those inside find no other. */
  private @Nullable Way clear(int pod, Spot spot, List<Integer> inside, int moves) {
    if (chains) {
      if (inside.size() >= moves) {
        return null; // none may be pushed on: the first pass was all
      }
      inside.forEach(this::helpers);
    }
    List<Integer> pending = new ArrayList<>(inside);
    pending.sort(Comparator.comparingLong((Integer v) -> runners[v].chips()).reversed());
    pending.forEach(this::lift);
    spaces[pod].take(spot);
    ArrayDeque<Landed> landed = new ArrayDeque<>();
    tries = MAX_LANDINGS;
    Way way = null;
    if (settle(pending, 0, moves - inside.size(), landed)) {
      List<Shift> shifts = shifts(landed);
      way = new Way(pod, spot.footprint(), shifts, cost(pending));
    }
    while (!landed.isEmpty()) {
      Landed last = landed.removeLast();
      spaces[last.pod()].giveBack(last.spot());
    }
    spaces[pod].giveBack(spot);
    pending.forEach(this::setDown);
    return way;
  }

  private static List<Shift> shifts(ArrayDeque<Landed> landed) {
    List<Shift> out = new ArrayList<>(landed.size());
    for (Landed l : landed) {
      out.add(new Shift(l.runner(), l.pod(), l.spot().footprint()));
    }
    return out;
  }

  private record Landed(int runner, int pod, Spot spot) {}

  private record Origin(int turn, int x, int y, int z) {}

  private void lift(int r) {
    spaces[runners[r].pod()].setTaken(runners[r].footprint(), false);
    moved[r] = true;
  }

  private void setDown(int r) {
    spaces[runners[r].pod()].setTaken(runners[r].footprint(), true);
    moved[r] = false;
  }

  /**
   * Finds places for the lifted slices from a position on.
   *
   * @param more how many further slices may be lifted
   * @return whether all have one; then they are taken, else all is as it was
   */
  private boolean settle(List<Integer> pending, int from, int more, ArrayDeque<Landed> landed) {
    if (from == pending.size()) {
      return allowed.test(shifts(landed));
    }
    Runner runner = runners[pending.get(from)];
    boolean pushes = chains && more > 0;
    for (int i = 0; i < runner.pods().length; i++) {
      Spot spot = spaces[runner.pods()[i]].findOnline(runner.wants()[i]);
      if (spot != null && land(pending, from, more, landed, i, spot)) {
        return true;
      }
      if (spot != null
          && (pushes || from + 1 < pending.size())
          && anywhere(pending, from, more, landed, i)) {
        return true;
      }
    }
    if (!pushes) {
      return false;
    }
    for (int next : helpers(pending.get(from))) {
      if (moved[next] || --tries < 0) {
        continue;
      }
      lift(next);
      pending.add(next);
      for (int i = 0; i < runner.pods().length; i++) {
        if (runner.pods()[i] == runners[next].pod()
            && spaces[runner.pods()[i]].fits(runner.wants()[i])
            && anywhere(pending, from, more - 1, landed, i)) {
          return true;
        }
      }
      pending.remove(pending.size() - 1);
      setDown(next);
    }
    return false;
  }

  /** The slices whose leaving gives another one a place that it has not, the cheapest first. */
  private List<Integer> helpers(int r) {
    List<Integer> known = helpers.get(r);
    if (known != null) {
      return known;
    }
    List<Integer> out = new ArrayList<>();
    Runner runner = runners[r];
    lift(r);
    for (int i = 0; i < runner.pods().length; i++) {
      if (spaces[runner.pods()[i]] instanceof TorusSpace space) {
        int before = space.feasibleCount(runner.wants()[i]);
        for (int next = 0; next < runners.length; next++) {
          if (!moved[next] && runners[next].pod() == runner.pods()[i]) {
            lift(next);
            if (space.feasibleCount(runner.wants()[i]) > before) {
              out.add(next);
            }
            setDown(next);
          }
        }
      }
    }
    setDown(r);
    out.sort(Comparator.comparingLong(next -> runners[next].cost()));
    helpers.put(r, out);
    return out;
  }

  /** Lands a slice on every place that it has in a pod, until the others land too. */
  private boolean anywhere(
      List<Integer> pending, int from, int more, ArrayDeque<Landed> landed, int i) {
    Runner runner = runners[pending.get(from)];
    if (!(spaces[runner.pods()[i]] instanceof TorusSpace space)) {
      return false;
    }
    List<Origin> all = new ArrayList<>();
    space.feasibleOrigins(runner.wants()[i], (t, x, y, z) -> all.add(new Origin(t, x, y, z)));
    for (Origin o : all) {
      if (--tries < 0) {
        return false;
      }
      Spot spot = space.spot(runner.wants()[i], o.turn(), o.x(), o.y(), o.z());
      if (land(pending, from, more, landed, i, spot)) {
        return true;
      }
    }
    return false;
  }

  private boolean land(
      List<Integer> pending, int from, int more, ArrayDeque<Landed> landed, int i, Spot spot) {
    int r = pending.get(from);
    PodSpace space = spaces[runners[r].pods()[i]];
    space.take(spot);
    landed.addLast(new Landed(r, runners[r].pods()[i], spot));
    if (settle(pending, from + 1, more, landed)) {
      return true;
    }
    landed.removeLast();
    space.giveBack(spot);
    return false;
  }
}
