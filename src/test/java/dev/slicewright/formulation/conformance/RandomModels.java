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
import java.util.BitSet;
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

  /**
   * A tiny model of boxes on one or two flat grids: up to 4 items, many of them alike; some places
   * are left out, some cells blocked.
   *
   * @param seed any
   */
  public static PlacementModel mesh(long seed) {
    Random random = new Random(seed * 0x9E3779B97F4A7C15L + 1);
    int levels = 1 + random.nextInt(3);
    List<Level> objective = new ArrayList<>();
    for (int l = 0; l < levels; l++) {
      objective.add(new Level("level" + l, random.nextInt(3) > 0));
    }
    List<Grid> grids = new ArrayList<>();
    int cells = random.nextInt(3);
    for (int g = 0; g <= random.nextInt(2); g++) {
      int w = 1 + random.nextInt(4);
      int h = 1 + random.nextInt(3);
      grids.add(new Grid(g, cells, w, h, 1, false, false, false));
      cells += w * h;
    }
    PlacementModel.Builder b = PlacementModel.builder(cells, objective);
    grids.forEach(b::grid);
    int rows = random.nextInt(3);
    for (int r = 0; r < rows; r++) {
      b.row(new Row("row" + r, random.nextInt(12) - (random.nextInt(6) == 0 ? 6 : 0)));
    }
    int groups = 1 + random.nextInt(3);
    int made = 0;
    List<Template> templates = new ArrayList<>();
    for (int k = 0; k < groups; k++) {
      Group group =
          random.nextInt(3) == 0 ? Group.wanted("g") : group(random, levels, rows, true, 1);
      int g = b.group(group);
      for (int n = 0; n <= random.nextInt(2) && made < 4; n++, made++) {
        if (templates.isEmpty() || random.nextInt(2) == 0) {
          templates.add(0, boxes(random, levels, rows, grids));
        }
        int item = b.item(new Item("item" + made, g));
        templates.get(0).candidates().forEach(c -> b.candidate(with(item, c)));
      }
    }
    if (rows > 0 && random.nextInt(3) == 0) {
      b.union(new Union("union", new int[] {random.nextInt(groups)}, terms(random, rows)));
    }
    return b.build();
  }

  /** All or some places of one or two sizes. */
  private static Template boxes(Random random, int levels, int rows, List<Grid> grids) {
    List<Candidate> candidates = new ArrayList<>();
    boolean mayMove = random.nextInt(4) == 0;
    int leftOut = random.nextInt(3) * 3;
    for (int size = 0; size <= random.nextInt(2); size++) {
      int w = 1 + random.nextInt(3);
      int h = 1 + random.nextInt(3);
      for (Grid grid : grids) {
        long[] gains = gains(random, levels, 1);
        List<Term> terms = random.nextInt(2) == 0 ? List.of() : terms(random, rows);
        int shape = random.nextInt(2);
        int domain = random.nextInt(2);
        for (int y = 0; y + h <= grid.sizeY(); y++) {
          for (int x = 0; x + w <= grid.sizeX(); x++) {
            if (random.nextInt(10) < leftOut) {
              continue;
            }
            boolean own = random.nextInt(12) == 0;
            GridPlace place = new GridPlace(x, y, 0, w, h, 1);
            candidates.add(
                new Candidate(
                    0,
                    grid.cells(place),
                    own ? gains(random, levels, 1) : gains,
                    terms,
                    shape,
                    grid.pod(),
                    domain,
                    mayMove && own,
                    place));
          }
        }
      }
    }
    return new Template(candidates);
  }

  /**
   * A model that asks whether all boxes fit into one rectangle together.
   *
   * @param width cells along x
   * @param height cells along y
   * @param blocked cells that nothing may take
   * @param mandatory whether they must; if not, all or none is a gang
   * @param ways for each box its sizes, each {width, height}
   */
  public static PlacementModel packing(
      int width, int height, BitSet blocked, boolean mandatory, List<int[][]> ways) {
    PlacementModel.Builder b =
        PlacementModel.builder(width * height, List.of(new Level("cells", true)));
    Grid grid = new Grid(0, 0, width, height, 1, false, false, false);
    b.grid(grid);
    for (int[][] of : ways) {
      Group group =
          new Group(
              "box",
              mandatory ? -1 : 0,
              mandatory,
              false,
              false,
              false,
              false,
              0,
              new long[0],
              new long[0],
              List.of());
      int item = b.item(new Item("box", b.group(group)));
      for (int[] size : of) {
        for (int y = 0; y + size[1] <= height; y++) {
          for (int x = 0; x + size[0] <= width; x++) {
            GridPlace place = new GridPlace(x, y, 0, size[0], size[1], 1);
            int[] cells = grid.cells(place);
            if (IntStream.of(cells).noneMatch(blocked::get)) {
              long gain = (long) of[0][0] * of[0][1];
              b.candidate(
                  new Candidate(item, cells, new long[] {gain}, List.of(), 0, 0, 0, false, place));
            }
          }
        }
      }
    }
    return b.build();
  }

  private record Template(List<Candidate> candidates) {}

  private static Candidate with(int item, Candidate c) {
    return new Candidate(
        item, c.cells(), c.gains(), c.terms(), c.shape(), c.pod(), c.domain(), c.moves(), c.grid());
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
    b.grid(new Grid(0, 0, cells, 1, 1, false, false, false));
    for (int i = 0; i < items; i++) {
      int size = 2 + random.nextInt(6);
      int item = b.item(new Item("item" + i, b.group(Group.wanted("group" + i))));
      for (int at = 0; at + size <= cells; at++) {
        int first = at;
        int[] taken = IntStream.range(0, size).map(k -> first + k).toArray();
        b.candidate(
            new Candidate(
                item,
                taken,
                new long[] {4L * size},
                List.of(),
                0,
                0,
                0,
                false,
                new GridPlace(at, 0, 0, size, 1, 1)));
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
