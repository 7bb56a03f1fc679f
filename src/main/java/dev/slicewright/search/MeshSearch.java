package dev.slicewright.search;

import dev.slicewright.formulation.MeshPacking;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;

/**
 * Decides whether all boxes fit into one rectangle, by exhaustive search. Confined to one thread at
 * a time.
 *
 * <p>{@link Skyline} fills the rectangle from the bottom; which of its sides is the bottom can
 * change its work thirtyfold, so both are tried: side by side on two threads, or in turns whose
 * lengths grow fourfold, with what was ruled out remembered. A box as long as the rectangle is slid
 * to its end first ({@link MeshPacking#needless}).
 *
 * <p>Exponential at worst. In turns it is deterministic unless it is stopped; on two threads the
 * answer is, but not the packing.
 */
public final class MeshSearch {

  /** About the memory for states that were ruled out, both directions together. */
  static final long MEMORY_BYTES = 256L << 20;

  private static final long FIRST_TURN = 1L << 12;

  /** How a search ended. Immutable, safe to share. */
  public enum Answer {
    /** All boxes fit; {@link MeshSearch#chosen} says how. */
    PACKED,
    /** They do not. */
    IMPOSSIBLE,
    /** It was stopped before it knew. */
    STOPPED
  }

  private final MeshPacking packing;
  private final int x0;
  private final int y0;
  private final int width;
  private final int height;
  private final int[] pinned; // by item its candidate, or -1
  private final List<List<Integer>> itemsOfType = new ArrayList<>();
  private final boolean infeasible;
  private final Skyline[] directions;
  private long states;
  private int[] chosen = {};

  /**
   * Prepares a search.
   *
   * @param packing the question
   */
  public MeshSearch(MeshPacking packing) {
    this.packing = packing;
    int n = packing.sizes().size();
    this.pinned = new int[n];
    Arrays.fill(pinned, -1);
    int[] corner = {0, 0};
    if (packing.blocked().isEmpty()) {
      pin(corner);
    }
    this.x0 = corner[0];
    this.y0 = corner[1];
    this.width = packing.width() - x0;
    this.height = packing.height() - y0;
    Map<List<MeshPacking.Size>, List<Integer>> types = new LinkedHashMap<>();
    boolean none = false;
    for (int i = 0; i < n; i++) {
      if (pinned[i] < 0) {
        none |= packing.sizes().get(i).isEmpty();
        types.computeIfAbsent(packing.sizes().get(i), s -> new ArrayList<>()).add(i);
      }
    }
    // Large ones first: whether a packing exists shows sooner.
    List<List<MeshPacking.Size>> ordered = new ArrayList<>(types.keySet());
    ordered.sort((a, b) -> Integer.compare(area(b), area(a)));
    int[] counts = new int[ordered.size()];
    for (int t = 0; t < counts.length; t++) {
      List<Integer> items = types.getOrDefault(ordered.get(t), List.of());
      itemsOfType.add(items);
      counts[t] = items.size();
    }
    boolean full = width == 0 || height == 0;
    this.infeasible = none || full && counts.length > 0;
    long memory = Math.min(MEMORY_BYTES, Runtime.getRuntime().maxMemory() / 8) / 2;
    this.directions =
        infeasible || counts.length == 0
            ? new Skyline[0]
            : new Skyline[] {
              skyline(ordered, counts, false, memory), skyline(ordered, counts, true, memory)
            };
  }

  private static int area(List<MeshPacking.Size> ways) {
    return ways.stream().mapToInt(s -> s.width() * s.height()).max().orElse(0);
  }

  /** Slides boxes as long as what is left of the rectangle to its end. */
  private void pin(int[] corner) {
    for (boolean again = true; again; ) {
      again = false;
      for (int i = 0; i < pinned.length; i++) {
        if (pinned[i] >= 0 || packing.sizes().get(i).size() != 1) {
          continue;
        }
        MeshPacking.Size size = packing.sizes().get(i).get(0);
        int w = packing.width() - corner[0];
        int h = packing.height() - corner[1];
        boolean across = size.width() == w && size.height() <= h;
        boolean along = size.height() == h && size.width() <= w;
        if (across || along) {
          pinned[i] = packing.candidate(i, 0, corner[0], corner[1]).orElseThrow();
          corner[1] += across ? size.height() : 0;
          corner[0] += across ? 0 : size.width();
          again = true;
        }
      }
    }
  }

  private Skyline skyline(
      List<List<MeshPacking.Size>> types, int[] counts, boolean turned, long memory) {
    List<int[][]> ways = new ArrayList<>();
    for (List<MeshPacking.Size> sizes : types) {
      ways.add(
          sizes.stream()
              .map(
                  s ->
                      turned
                          ? new int[] {s.height(), s.width()}
                          : new int[] {s.width(), s.height()})
              .toArray(int[][]::new));
    }
    BitSet blocked = packing.blocked();
    BitSet own = new BitSet();
    blocked.stream()
        .forEach(
            cell -> {
              int x = cell % packing.width();
              int y = cell / packing.width();
              own.set(turned ? y + height * x : x + width * y);
            });
    return new Skyline(turned ? height : width, turned ? width : height, ways, counts, own, memory);
  }

  /**
   * Searches.
   *
   * @param twoThreads whether to search in both directions side by side, or in turns
   * @param stop whether to stop; asked now and then, from both threads
   * @return the answer
   */
  public Answer run(boolean twoThreads, BooleanSupplier stop) {
    if (infeasible) {
      return Answer.IMPOSSIBLE;
    }
    if (directions.length == 0) {
      chosen = pinned.clone();
      return Answer.PACKED;
    }
    return twoThreads ? race(stop) : turns(stop);
  }

  private Answer turns(BooleanSupplier stop) {
    for (long turn = FIRST_TURN; ; turn *= 4) {
      for (int d = 0; d < directions.length; d++) {
        Skyline.Answer answer = directions[d].run(turn, stop);
        if (answer != Skyline.Answer.LIMIT) {
          return finish(d, answer);
        }
      }
    }
  }

  private Answer race(BooleanSupplier stop) {
    AtomicReference<Answer> first = new AtomicReference<>();
    AtomicReference<Throwable> thrown = new AtomicReference<>();
    Skyline.Answer[] answers = new Skyline.Answer[directions.length];
    BooleanSupplier either = () -> first.get() != null || stop.getAsBoolean();
    Thread other =
        new Thread(
            () -> {
              try {
                answers[1] = direction(1, either, first);
              } catch (RuntimeException | Error e) {
                thrown.set(e);
              }
            },
            "slicewright-mesh-search");
    other.setDaemon(true);
    other.start();
    try {
      answers[0] = direction(0, either, first);
    } finally {
      first.compareAndSet(null, Answer.STOPPED);
      join(other);
    }
    Throwable failure = thrown.get();
    if (failure instanceof Error e) {
      throw e;
    } else if (failure instanceof RuntimeException e) {
      throw e;
    }
    int d = answers[0] == Skyline.Answer.STOPPED ? 1 : 0;
    return finish(d, answers[d]);
  }

  private Skyline.Answer direction(int d, BooleanSupplier stop, AtomicReference<Answer> first) {
    Skyline.Answer answer = directions[d].run(Long.MAX_VALUE / 2, stop);
    if (answer != Skyline.Answer.STOPPED) {
      first.compareAndSet(null, Answer.PACKED);
    }
    return answer;
  }

  private static void join(Thread thread) {
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private Answer finish(int d, Skyline.Answer answer) {
    states = Arrays.stream(directions).mapToLong(Skyline::states).sum();
    if (answer == Skyline.Answer.IMPOSSIBLE) {
      return Answer.IMPOSSIBLE;
    }
    if (answer != Skyline.Answer.PACKED) {
      return Answer.STOPPED;
    }
    int[] out = pinned.clone();
    int[] used = new int[itemsOfType.size()];
    for (int[] box : directions[d].packing()) {
      int item = itemsOfType.get(box[0]).get(used[box[0]]++);
      int x = x0 + (d == 0 ? box[2] : box[3]);
      int y = y0 + (d == 0 ? box[3] : box[2]);
      out[item] = packing.candidate(item, box[1], x, y).orElseThrow();
    }
    chosen = out;
    return Answer.PACKED;
  }

  /**
   * The packing, after {@link Answer#PACKED}.
   *
   * @return for each item its candidate; a copy
   */
  public int[] chosen() {
    return chosen.clone();
  }

  /**
   * How many states were looked at.
   *
   * @return 0 or more
   */
  public long states() {
    return states;
  }
}
