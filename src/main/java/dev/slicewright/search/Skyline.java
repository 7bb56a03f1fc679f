package dev.slicewright.search;

import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Whether boxes fit into a rectangle: an exhaustive search that fills it from the bottom. Confined
 * to one thread at a time. {@link MeshSearch} is its front.
 *
 * <p>A state is a skyline, the height up to which each column is settled, and the boxes that are
 * left. The search takes the lowest, leftmost niche of the skyline (a run of equal columns between
 * higher ones) and asks which box stands on its floor beside the higher of its two walls. If a
 * packing of the rest exists at all, one exists in which no box can move down or towards that wall.
 * In it
 *
 * <ul>
 *   <li>the box on the floor that is nearest to the wall touches it, or is higher than the wall:
 *       what stops it lies on the wall's top, directly or over others, and all that is between wall
 *       and box up to the wall's top is waste;
 *   <li>if no box stands on the floor, the niche is waste up to its lower wall.
 * </ul>
 *
 * These are the branches. Each speaks of the state alone, so that a state that failed once need
 * never be looked at again, nor its mirror image; such states are remembered, as far as memory
 * allows, with their whole key, so that no two are taken for each other.
 *
 * <p>A state fails at once if its waste passes the room there is to waste. In each column and each
 * run of cells of a row, only sums of the extents that are left can be filled (normal patterns;
 * Herz 1972, Christofides and Whitlock 1977).
 *
 * <p>With blocked cells the walls are no longer what stops a box. The search then goes cell by
 * cell: the lowest, leftmost open one is a box's corner or waste.
 *
 * <p>Exponential at worst; O(width² + boxes) a state. Deterministic.
 */
final class Skyline {

  /** The largest width or height. */
  static final int MAX_EXTENT = 62;

  private static final int FAR = 1 << 20;
  private static final int LOOK_EVERY = 255;

  /** Bits of counts in one word of a key. */
  private static final int COUNT_BITS = 62;

  enum Answer {
    PACKED,
    IMPOSSIBLE,
    /** The limit of states was reached. */
    LIMIT,
    STOPPED
  }

  private final int width;
  private final int height;
  private final int[][] wide; // by type and way
  private final int[][] high;
  private final int[] least; // the least area, by type
  private final int[] left; // boxes of each type that are left
  private final int[] countBits;
  private int leftBoxes;
  private final int[][] blockedBefore; // sums over [0, x) × [0, y); empty where nothing is blocked
  private final FailedStates failed;
  private final long[] key;
  private final long[] mirrored;
  private final int heightBits;
  private int[][] skies;
  private int[] placed = new int[64]; // by depth: type, way, x, y
  private int depth;
  private long states;
  private long limit;
  private boolean stopped;
  private boolean limited;
  private BooleanSupplier stop = () -> false;

  /**
   * Prepares a search.
   *
   * @param types for each type of box its ways to lie, each {width, height}
   * @param counts how many boxes of each type
   * @param blocked cells that nothing may cover, at x + width × y
   * @param memoryBytes about how much memory may be used to remember states
   */
  Skyline(
      int width, int height, List<int[][]> types, int[] counts, BitSet blocked, long memoryBytes) {
    if (width < 1 || width > MAX_EXTENT || height < 1 || height > MAX_EXTENT) {
      throw new IllegalArgumentException(
          "Expected extents of 1 to " + MAX_EXTENT + ": " + width + "x" + height);
    }
    this.width = width;
    this.height = height;
    int n = types.size();
    this.wide = new int[n][];
    this.high = new int[n][];
    this.least = new int[n];
    this.left = counts.clone();
    this.countBits = new int[n];
    for (int t = 0; t < n; t++) {
      int[][] ways = types.get(t);
      wide[t] = Arrays.stream(ways).mapToInt(way -> way[0]).toArray();
      high[t] = Arrays.stream(ways).mapToInt(way -> way[1]).toArray();
      least[t] = Arrays.stream(ways).mapToInt(way -> way[0] * way[1]).min().orElse(FAR);
      leftBoxes += counts[t];
      countBits[t] = bits(counts[t]);
    }
    this.blockedBefore = blocked.isEmpty() ? new int[0][] : sums(blocked);
    this.heightBits = bits(height);
    int skyWords = (width + 64 / heightBits - 1) / (64 / heightBits);
    int countWords = 1;
    int filled = 0;
    for (int t = 0; t < n; t++) {
      filled += countBits[t];
      if (filled > COUNT_BITS) {
        countWords++;
        filled = countBits[t];
      }
    }
    this.key = new long[skyWords + countWords];
    this.mirrored = new long[key.length];
    this.skies = new int[64][width];
    this.failed = new FailedStates(key.length, memoryBytes);
  }

  private static int bits(int most) {
    return 32 - Integer.numberOfLeadingZeros(most);
  }

  private int[][] sums(BitSet blocked) {
    int[][] sums = new int[height + 1][width + 1];
    for (int y = 0; y < height; y++) {
      for (int x = 0; x < width; x++) {
        sums[y + 1][x + 1] =
            sums[y][x + 1] + sums[y + 1][x] - sums[y][x] + (blocked.get(x + width * y) ? 1 : 0);
      }
    }
    return sums;
  }

  /** Cells of a rectangle that are blocked. */
  private int blockedIn(int x, int y, int w, int h) {
    int[][] s = blockedBefore;
    return s.length == 0 ? 0 : s[y + h][x + w] - s[y][x + w] - s[y + h][x] + s[y][x];
  }

  /** States looked at so far, over all runs. */
  long states() {
    return states;
  }

  /**
   * Searches from the start. What earlier runs found impossible is remembered.
   *
   * @param moreStates after how many states to give up
   * @param stop whether to stop; asked now and then
   */
  Answer run(long moreStates, BooleanSupplier stop) {
    this.limit = states + moreStates;
    this.stop = stop;
    this.stopped = false;
    this.limited = false;
    int slack = width * height - blockedIn(0, 0, width, height);
    for (int t = 0; t < left.length; t++) {
      if (left[t] > 0 && wide[t].length == 0) {
        return Answer.IMPOSSIBLE;
      }
      slack -= left[t] * least[t];
    }
    if (slack < 0) {
      return Answer.IMPOSSIBLE;
    }
    sky(0);
    Arrays.fill(skies[0], 0);
    depth = 0;
    int all = leftBoxes;
    int[] counts = left.clone();
    if (fill(0, slack)) {
      leftBoxes = all;
      System.arraycopy(counts, 0, left, 0, left.length);
      return Answer.PACKED;
    }
    return stopped ? Answer.STOPPED : limited ? Answer.LIMIT : Answer.IMPOSSIBLE;
  }

  /** After {@link Answer#PACKED}: for each box {type, way, x, y}, in the order of placing. */
  int[][] packing() {
    int[][] boxes = new int[depth][];
    for (int d = 0; d < depth; d++) {
      boxes[d] = Arrays.copyOfRange(placed, 4 * d, 4 * d + 4);
    }
    return boxes;
  }

  private int[] sky(int level) {
    if (level >= skies.length) {
      int[][] more = Arrays.copyOf(skies, 2 * level);
      for (int i = level; i < more.length; i++) {
        more[i] = new int[width];
      }
      skies = more;
    }
    return skies[level];
  }

  /** Packs what is left above the skyline of a level; false if that cannot be, or it must stop. */
  private boolean fill(int level, int room) {
    if (leftBoxes == 0) {
      return true;
    }
    if ((++states & LOOK_EVERY) == 0 && stop.getAsBoolean()) {
      stopped = true;
      return false;
    }
    if (states >= limit) {
      limited = true;
      return false;
    }
    int[] sky = sky(level);
    int slack = room;
    int x;
    int end;
    int y;
    while (true) {
      x = lowest(sky);
      y = sky[x];
      end = x + 1;
      while (end < width && sky[end] == y) {
        end++;
      }
      if (y >= height) {
        return false;
      }
      if (fitsAny(end - x, height - y)) {
        break;
      }
      int up = Math.min(wall(sky, x - 1), Math.min(wall(sky, end), height));
      slack -= (end - x) * (up - y) - blockedIn(x, y, end - x, up - y);
      if (slack < 0) {
        return false;
      }
      Arrays.fill(sky, x, end, up);
    }
    if (waste(sky, y) > slack) {
      return false;
    }
    writeKey(sky);
    if (failed.contains(key)) {
      return false;
    }
    long before = states;
    boolean found =
        blockedBefore.length == 0
            ? niche(level, sky, x, end, y, slack)
            : corner(level, sky, x, end, y, slack);
    if (!found && !stopped && !limited) {
      writeKey(sky);
      failed.add(key, states - before);
    }
    return found;
  }

  private int lowest(int[] sky) {
    int x = 0;
    for (int c = 1; c < width; c++) {
      if (sky[c] < sky[x]) {
        x = c;
      }
    }
    return x;
  }

  private int wall(int[] sky, int column) {
    return column < 0 || column >= width ? FAR : sky[column];
  }

  private boolean fitsAny(int w, int h) {
    for (int t = 0; t < left.length; t++) {
      if (left[t] > 0) {
        for (int way = 0; way < wide[t].length; way++) {
          if (wide[t][way] <= w && high[t][way] <= h) {
            return true;
          }
        }
      }
    }
    return false;
  }

  // ---- branches --------------------------------------------------------------------------------

  private boolean niche(int level, int[] sky, int x, int end, int y, int slack) {
    int g = end - x;
    int leftWall = wall(sky, x - 1);
    int rightWall = wall(sky, end);
    boolean atLeft = leftWall >= rightWall;
    int depthOfWall = Math.max(leftWall, rightWall) - y;
    int[] next = sky(level + 1);
    for (int gap = 0; gap == 0 || gap < g && (long) gap * depthOfWall <= slack; gap++) {
      for (int t = 0; t < left.length; t++) {
        if (left[t] == 0) {
          continue;
        }
        for (int way = 0; way < wide[t].length; way++) {
          int w = wide[t][way];
          int h = high[t][way];
          int rest = slack - gap * depthOfWall - (w * h - least[t]);
          if (w > g - gap || h > height - y || gap > 0 && h <= depthOfWall || rest < 0) {
            continue;
          }
          System.arraycopy(sky, 0, next, 0, width);
          int at = atLeft ? x + gap : end - gap - w;
          if (gap > 0) {
            Arrays.fill(next, atLeft ? x : end - gap, atLeft ? x + gap : end, y + depthOfWall);
          }
          if (place(level, next, t, way, at, y, rest)) {
            return true;
          }
          if (stopped || limited) {
            return false;
          }
        }
      }
    }
    int up = Math.min(leftWall, rightWall);
    if (up >= FAR) {
      return false; // nothing stands on the floor, so nothing stands on anything
    }
    int lost = g * (up - y);
    if (lost > slack) {
      return false;
    }
    System.arraycopy(sky, 0, next, 0, width);
    Arrays.fill(next, x, end, up);
    return fill(level + 1, slack - lost);
  }

  private boolean corner(int level, int[] sky, int x, int end, int y, int slack) {
    int[] next = sky(level + 1);
    boolean open = blockedIn(x, y, 1, 1) == 0;
    for (int t = 0; open && t < left.length; t++) {
      if (left[t] == 0) {
        continue;
      }
      for (int way = 0; way < wide[t].length; way++) {
        int w = wide[t][way];
        int h = high[t][way];
        int rest = slack - (w * h - least[t]);
        if (w > end - x || h > height - y || rest < 0 || blockedIn(x, y, w, h) > 0) {
          continue;
        }
        System.arraycopy(sky, 0, next, 0, width);
        if (place(level, next, t, way, x, y, rest)) {
          return true;
        }
        if (stopped || limited) {
          return false;
        }
      }
    }
    int lost = open ? 1 : 0;
    if (lost > slack) {
      return false;
    }
    System.arraycopy(sky, 0, next, 0, width);
    next[x]++;
    return fill(level + 1, slack - lost);
  }

  private boolean place(int level, int[] next, int t, int way, int x, int y, int slack) {
    Arrays.fill(next, x, x + wide[t][way], y + high[t][way]);
    if (4 * depth == placed.length) {
      placed = Arrays.copyOf(placed, 8 * depth);
    }
    placed[4 * depth] = t;
    placed[4 * depth + 1] = way;
    placed[4 * depth + 2] = x;
    placed[4 * depth + 3] = y;
    depth++;
    left[t]--;
    leftBoxes--;
    boolean found = fill(level + 1, slack);
    left[t]++;
    leftBoxes++;
    if (!found) {
      depth--;
    }
    return found;
  }

  // ---- what must be wasted ---------------------------------------------------------------------

  /** A lower bound of the cells above the skyline that nothing can cover. */
  private int waste(int[] sky, int lowest) {
    long heights = 1;
    long widths = 1;
    for (int t = 0; t < left.length; t++) {
      for (int n = left[t]; n > 0; n--) {
        long h = heights;
        long w = widths;
        for (int way = 0; way < wide[t].length; way++) {
          heights |= h << high[t][way];
          widths |= w << wide[t][way];
        }
      }
    }
    int columns = 0;
    for (int c = 0; c < width; c++) {
      int open = height - sky[c];
      if (blockedIn(c, sky[c], 1, open) == 0) {
        columns += open - most(heights, open);
      }
    }
    int rows = 0;
    int from = lowest;
    while (from < height) {
      int to = height;
      int lost = 0;
      int run = 0;
      for (int c = 0; c <= width; c++) {
        if (c < width && sky[c] <= from) {
          run++;
          continue;
        }
        if (c < width) {
          to = Math.min(to, sky[c]);
        }
        lost += run == 0 ? 0 : run - most(widths, run);
        run = 0;
      }
      if (blockedBefore.length == 0) {
        rows += lost * (to - from);
      }
      from = to;
    }
    return Math.max(columns, rows);
  }

  private static int most(long sums, int limit) {
    return 63 - Long.numberOfLeadingZeros(sums & (2L << limit) - 1);
  }

  // ---- keys ------------------------------------------------------------------------------------

  /**
   * The state, or its mirror image if that comes first: one packs if and only if the other does.
   */
  private void writeKey(int[] sky) {
    int word = writeSky(sky, key, false);
    if (blockedBefore.length == 0) {
      writeSky(sky, mirrored, true);
      for (int i = 0; i <= word; i++) {
        if (key[i] != mirrored[i]) {
          if (mirrored[i] < key[i]) {
            System.arraycopy(mirrored, 0, key, 0, word + 1);
          }
          break;
        }
      }
    }
    int shift = 0;
    long bits = 1; // no key is all zeros
    word++;
    for (int t = 0; t < left.length; t++) {
      int need = countBits[t];
      if (shift + need > COUNT_BITS) {
        key[word++] = bits;
        bits = 1;
        shift = 0;
      }
      bits = bits << need | left[t];
      shift += need;
    }
    key[word] = bits;
  }

  private int writeSky(int[] sky, long[] to, boolean backwards) {
    int word = 0;
    int shift = 0;
    long bits = 0;
    for (int c = 0; c < width; c++) {
      if (shift + heightBits > 64) {
        to[word++] = bits;
        bits = 0;
        shift = 0;
      }
      bits = bits << heightBits | sky[backwards ? width - 1 - c : c];
      shift += heightBits;
    }
    to[word] = bits;
    return word;
  }
}
