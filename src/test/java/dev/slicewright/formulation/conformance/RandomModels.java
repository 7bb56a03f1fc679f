package dev.slicewright.formulation.conformance;

import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Grid;
import dev.slicewright.formulation.PlacementModel.GridPlace;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Item;
import dev.slicewright.formulation.PlacementModel.Level;
import dev.slicewright.formulation.PlacementModel.Row;
import dev.slicewright.formulation.PlacementModel.Term;
import dev.slicewright.formulation.PlacementModel.Union;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/** Seeded random models: tiny ones with every feature, and hard ones. */
public final class RandomModels {

  private RandomModels() {}

  /**
   * A tiny model: up to 6 items of up to 5 candidates, many of them alike.
   *
   * @param seed any
   * @param sideRows whether rows, disturbed terms and unions may be there
   * @param ties whether gangs and what ties the items of a group may be there
   */
  public static PlacementModel tiny(long seed, boolean sideRows, boolean ties) {
    Random random = new Random(seed * 0x9E3779B97F4A7C15L);
    int levels = 1 + random.nextInt(3);
    int cells = random.nextInt(8);
    List<Level> objective = new ArrayList<>();
    for (int l = 0; l < levels; l++) {
      objective.add(new Level("level" + l, random.nextInt(3) > 0));
    }
    PlacementModel.Builder b = PlacementModel.builder(cells, objective);
    int rows = sideRows ? random.nextInt(4) : 0;
    for (int r = 0; r < rows; r++) {
      b.row(new Row("row" + r, random.nextInt(12) - (random.nextInt(5) == 0 ? 6 : 0)));
    }
    int scale = random.nextInt(3) == 0 ? 12 : 1;
    int items = random.nextInt(7);
    int groups = 0;
    int made = 0;
    List<Template> templates = new ArrayList<>();
    List<Group> last = new ArrayList<>();
    while (made < items || random.nextInt(12) == 0) {
      // A new group, or one like the last.
      Group group =
          !last.isEmpty() && random.nextInt(2) == 0
              ? last.get(0)
              : group(random, levels, rows, ties, scale);
      last.clear();
      last.add(group);
      int g = b.group(group);
      groups++;
      int size = random.nextInt(10) == 0 ? 0 : 1 + (random.nextInt(2) == 0 ? random.nextInt(3) : 0);
      size = Math.min(size, items - made);
      for (int n = 0; n < size; n++, made++) {
        if (templates.isEmpty() || random.nextInt(5) < 2) {
          templates.add(0, template(random, levels, rows, cells, scale));
        }
        Template t = templates.get(random.nextInt(Math.min(2, templates.size())));
        int item = b.item(new Item("item" + made, g));
        t.candidates().forEach(c -> b.candidate(with(item, c)));
        if (random.nextInt(10) == 0 && !t.candidates().isEmpty() && t.candidates().size() < 5) {
          b.candidate(with(item, t.candidates().get(0))); // the same once more
        }
      }
    }
    if (rows > 0 && groups > 0 && random.nextInt(2) == 0) {
      int count = groups;
      for (int u = 0; u <= random.nextInt(2); u++) {
        int[] members =
            IntStream.range(0, random.nextInt(4)).map(k -> random.nextInt(count)).toArray();
        b.union(new Union("union" + u, members, terms(random, rows)));
      }
    }
    return b.build();
  }

  private record Template(List<Candidate> candidates) {}

  private static Candidate with(int item, Candidate c) {
    return new Candidate(
        item, c.cells(), c.gains(), c.terms(), c.shape(), c.pod(), c.domain(), c.moves(), null);
  }

  private static Template template(Random random, int levels, int rows, int cells, int scale) {
    List<Candidate> candidates = new ArrayList<>();
    int count = random.nextInt(8) == 0 ? 0 : 1 + random.nextInt(5);
    boolean mayMove = random.nextInt(2) == 0;
    for (int k = 0; k < count; k++) {
      int[] taken =
          random.nextInt(3) == 0
              ? new int[0]
              : IntStream.range(0, cells).filter(c -> random.nextInt(4) == 0).toArray();
      candidates.add(
          new Candidate(
              0,
              taken,
              gains(random, levels, scale),
              random.nextInt(2) == 0 ? List.of() : terms(random, rows),
              random.nextInt(3),
              random.nextInt(3),
              random.nextInt(3),
              mayMove && random.nextInt(2) == 0,
              null));
    }
    return new Template(candidates);
  }

  private static Group group(Random random, int levels, int rows, boolean ties, int scale) {
    boolean rich = random.nextInt(3) > 0;
    return new Group(
        "group",
        ties && random.nextInt(4) == 0 ? random.nextInt(2) : -1,
        random.nextInt(8) == 0,
        random.nextInt(3) == 0,
        ties && random.nextInt(3) == 0,
        ties && random.nextInt(4) == 0,
        ties && random.nextInt(5) == 0,
        ties && random.nextInt(3) == 0 ? 1 + random.nextInt(2) : 0,
        rich && random.nextInt(2) == 0 ? gains(random, levels, scale) : new long[0],
        rich && random.nextInt(2) == 0 ? gains(random, levels, scale) : new long[0],
        rich && random.nextInt(2) == 0 ? terms(random, rows) : List.of());
  }

  private static long[] gains(Random random, int levels, int scale) {
    return IntStream.range(0, levels)
        .mapToLong(l -> random.nextInt(4) == 0 ? 0 : scale * (long) (random.nextInt(13) - 3))
        .toArray();
  }

  private static List<Term> terms(Random random, int rows) {
    List<Term> terms = new ArrayList<>();
    for (int r = 0; r < rows; r++) {
      if (random.nextInt(2) == 0) {
        terms.add(new Term(r, random.nextInt(7) - 2));
      }
    }
    if (!terms.isEmpty() && random.nextInt(10) == 0) {
      terms.add(terms.get(0)); // a row named twice
    }
    return terms;
  }

  /** Solutions at once, but no proof for a long time: a knapsack of many dimensions. */
  public static PlacementModel knapsack(int items, int rows, long seed) {
    Random random = new Random(seed);
    PlacementModel.Builder b = PlacementModel.builder(0, List.of(new Level("value", true)));
    int[][] weights = new int[items][rows];
    long[] sums = new long[rows];
    for (int[] of : weights) {
      for (int r = 0; r < rows; r++) {
        of[r] = 1 + random.nextInt(1_000);
        sums[r] += of[r];
      }
    }
    for (int r = 0; r < rows; r++) {
      b.row(new Row("row" + r, sums[r] / 2));
    }
    for (int[] of : weights) {
      List<Term> terms = new ArrayList<>();
      long gain = random.nextInt(500);
      for (int r = 0; r < rows; r++) {
        terms.add(new Term(r, of[r]));
        gain += of[r] / rows;
      }
      single(b, new int[0], gain, terms);
    }
    return b.build();
  }

  /** No solution that anyone finds soon: market split (Cornuéjols and Dawande 1998). */
  public static PlacementModel marketSplit(int rows, long seed) {
    Random random = new Random(seed);
    int items = 10 * (rows - 1);
    PlacementModel.Builder b = PlacementModel.builder(0, List.of(new Level("value", true)));
    int[][] weights = new int[items][rows];
    long[] sums = new long[rows];
    for (int[] of : weights) {
      for (int r = 0; r < rows; r++) {
        of[r] = random.nextInt(100);
        sums[r] += of[r];
      }
    }
    for (int r = 0; r < rows; r++) {
      b.row(new Row("most" + r, sums[r] / 2));
      b.row(new Row("least" + r, -(sums[r] / 2)));
    }
    for (int[] of : weights) {
      List<Term> terms = new ArrayList<>();
      for (int r = 0; r < rows; r++) {
        terms.add(new Term(2 * r, of[r]));
        terms.add(new Term(2 * r + 1, -of[r]));
      }
      single(b, new int[0], 0, terms);
    }
    return b.build();
  }

  /** Boxes on a line of cells: every item may lie at each place; many items are alike. */
  public static PlacementModel line(int cells, int items, long seed) {
    Random random = new Random(seed);
    PlacementModel.Builder b = PlacementModel.builder(cells, List.of(new Level("chips", true)));
    for (int i = 0; i < items; i++) {
      int size = 2 + random.nextInt(6);
      int item = b.item(new Item("item" + i, b.group(Group.wanted("group" + i))));
      for (int at = 0; at + size <= cells; at++) {
        int first = at;
        int[] taken = IntStream.range(0, size).map(k -> first + k).toArray();
        b.candidate(
            new Candidate(item, taken, new long[] {4L * size}, List.of(), 0, 0, 0, false, null));
      }
    }
    return b.build();
  }

  /**
   * A tiny model on the grid of one pod, flat or not, wrapped or not: boxes at any place of it,
   * each candidate with its {@link GridPlace}.
   *
   * @param seed any
   */
  public static PlacementModel gridded(long seed) {
    Random random = new Random(seed * 0x9E3779B97F4A7C15L + 1);
    int x = 1 + random.nextInt(4);
    int y = 1 + random.nextInt(3);
    int z = random.nextInt(3) > 0 ? 1 : 2;
    boolean wraps = random.nextInt(3) == 0;
    Grid grid = new Grid(0, 0, x, y, z, wraps, wraps && random.nextBoolean(), false);
    PlacementModel.Builder b =
        PlacementModel.builder(
                x * y * z, List.of(new Level("cells", true), new Level("cost", false)))
            .grid(grid);
    int items = random.nextInt(6);
    for (int i = 0; i < items; i++) {
      boolean must = random.nextInt(12) == 0;
      Group group =
          new Group(
              "group" + i,
              -1,
              must,
              false,
              false,
              false,
              false,
              0,
              new long[0],
              new long[0],
              List.of());
      int item = b.item(new Item("item" + i, b.group(group)));
      boolean dear = random.nextBoolean();
      box(
          b,
          grid,
          item,
          1 + random.nextInt(2),
          1 + random.nextInt(2),
          1 + random.nextInt(z),
          at -> new long[] {1, dear ? at : 0});
    }
    return b.build();
  }

  /** Boxes on a mesh of x times y cells: every item may lie at each place, unturned. */
  public static PlacementModel boxes(int x, int y, int items, long seed) {
    Random random = new Random(seed);
    Grid grid = new Grid(0, 0, x, y, 1, false, false, false);
    PlacementModel.Builder b =
        PlacementModel.builder(x * y, List.of(new Level("cells", true))).grid(grid);
    for (int i = 0; i < items; i++) {
      int item = b.item(new Item("item" + i, b.group(Group.wanted("group" + i))));
      int wide = 1 + random.nextInt(Math.max(1, x / 2));
      int high = 1 + random.nextInt(Math.max(1, y / 2));
      box(b, grid, item, wide, high, 1, at -> new long[] {1});
    }
    return b.build();
  }

  /** All places of a box; its gains are those of one cell at its origin, times its cells. */
  private static void box(
      PlacementModel.Builder b,
      Grid grid,
      int item,
      int wide,
      int high,
      int deep,
      IntFunction<long[]> gainsAt) {
    int x = grid.sizeX();
    int y = grid.sizeY();
    int z = grid.sizeZ();
    if (wide > x || high > y || deep > z) {
      return;
    }
    for (int origin = 0; origin < x * y * z; origin++) {
      int ox = origin % x;
      int oy = origin / x % y;
      int oz = origin / (x * y);
      if (!grid.wrapX() && ox + wide > x
          || !grid.wrapY() && oy + high > y
          || oz + deep > z
          || wide == x && ox > 0
          || high == y && oy > 0) {
        continue;
      }
      int[] cells =
          IntStream.range(0, wide * high * deep)
              .map(
                  k -> {
                    int cx = (ox + k % wide) % x;
                    int cy = (oy + k / wide % high) % y;
                    return cx + x * (cy + y * (oz + k / (wide * high)));
                  })
              .sorted()
              .toArray();
      long[] gains = gainsAt.apply(origin);
      for (int l = 0; l < gains.length; l++) {
        gains[l] *= cells.length;
      }
      b.candidate(
          new Candidate(
              item,
              cells,
              gains,
              List.of(),
              0,
              0,
              0,
              false,
              new GridPlace(ox, oy, oz, wide, high, deep)));
    }
  }

  /** Adds a group of one item with one candidate. */
  public static int single(PlacementModel.Builder b, int[] cells, long gain, List<Term> terms) {
    int item = b.item(new Item("item", b.group(Group.wanted("group"))));
    b.candidate(new Candidate(item, cells, new long[] {gain}, terms, 0, 0, 0, false, null));
    return item;
  }
}
