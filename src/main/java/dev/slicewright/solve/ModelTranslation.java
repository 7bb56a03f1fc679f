package dev.slicewright.solve;

import dev.slicewright.cost.Collectives;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.formulation.ModelPrices;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Grid;
import dev.slicewright.formulation.PlacementModel.GridPlace;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Item;
import dev.slicewright.formulation.PlacementModel.Row;
import dev.slicewright.formulation.PlacementModel.Term;
import dev.slicewright.formulation.PlacementModel.Union;
import dev.slicewright.plan.Certificate;
import dev.slicewright.plan.Certificate.CellPrices;
import dev.slicewright.plan.Certificate.RowKind;
import dev.slicewright.plan.Certificate.RowPrice;
import dev.slicewright.plan.Level;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.PlanningRules.DisruptionBudget;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.search.Assignment;
import dev.slicewright.search.Demand;
import dev.slicewright.search.Demand.Choice;
import dev.slicewright.search.Limit;
import dev.slicewright.search.PlacementSearch;
import dev.slicewright.search.PodSpace;
import dev.slicewright.search.Want;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * An instance as a {@link PlacementModel}, and the way back.
 *
 * <p>Boxes and partitions become candidates on cells. Whole cubes become one candidate a pod that
 * takes n from its pools: for every set of kinds of requests (healthy only or not, holder of a hold
 * or not) what they take together is at most the cubes that any of them may use. By Hall's theorem
 * these rows are exact, since a slice may take any cubes. Where small slices compete for a pod's
 * cubes, an auxiliary item a cube says whether it stays whole.
 *
 * <p>A {@link #counted} model has no cells for partitions and cubes but a row for each {@linkplain
 * NodeTypes type} of them: one candidate says that an item gets some partition of a type, and
 * {@link #decode} names it. Such models grow with the items and pods, not with the partitions.
 */
final class ModelTranslation {

  /** The most kinds of whole-cube requests in one pod for which all sets get a row. */
  private static final int MAX_KINDS = 5;

  /** The most candidates in all, those of alike items counted each. */
  private static final int MAX_COPIES = 150_000;

  /** A kind of whole-cube request in one pod. */
  private record PoolKind(boolean healthyOnly, String holder) {}

  /** What a candidate stands for. */
  private record Meaning(int owner, int slice, int choice, int pod, @Nullable Footprint where) {}

  private final Instance in;
  private final PlacementModel model;
  private final List<Meaning> meanings = new ArrayList<>();
  private final Map<Meaning, Integer> byMeaning = new HashMap<>();
  private final int[] firstItem; // by demand, or -1
  private final int[] firstFreeItem; // by free running request
  private final List<int[]> wholeItems = new ArrayList<>(); // {item, pod, cube}
  private final Map<Integer, Map<PoolKind, BitSet>> pools = new HashMap<>(); // by pod
  private final List<Shape> moveShapes;
  private final boolean poolMoves;
  private final int[] cellBase; // by pod: the model's first cell
  private final int[] limitRows; // by limit of the instance
  private final Map<Integer, List<Draft.PoolRow>> poolRows;
  private final int[] budgetRows;
  private final Map<Integer, Counted> counted; // by pod

  private static final int WHOLE = -1; // owner of auxiliary items
  private static final int STAYS = -1; // choices of running slices that do not move
  private static final int ALL_STAY = -2;

  private ModelTranslation(
      Instance in, PlacementModel model, int[] firstItem, int[] firstFreeItem, Draft draft) {
    this.in = in;
    this.model = model;
    this.firstItem = firstItem;
    this.firstFreeItem = firstFreeItem;
    this.meanings.addAll(draft.meanings);
    this.wholeItems.addAll(draft.wholeItems);
    this.pools.putAll(draft.pools);
    this.moveShapes = List.copyOf(draft.moveShapes);
    this.poolMoves = draft.poolMoves;
    this.cellBase = draft.cellBase;
    this.limitRows = draft.limitRows;
    this.poolRows = Map.copyOf(draft.poolRows);
    this.budgetRows =
        IntStream.concat(
                IntStream.of(draft.budgetSlices, draft.budgetSeconds, draft.budgetTenants),
                draft.victimRows.values().stream().mapToInt(r -> r))
            .toArray();
    this.counted = Map.copyOf(draft.counted);
    for (int c = 0; c < meanings.size(); c++) {
      byMeaning.put(meanings.get(c), c);
    }
  }

  PlacementModel model() {
    return model;
  }

  /** Whether nothing but counts limits what is placed, so that the model is small and quick. */
  boolean isCounted() {
    return model.candidates().stream().allMatch(c -> c.cells().length == 0);
  }

  /** What a candidate places where, for people. */
  String nameOf(int candidate) {
    Meaning m = meanings.get(candidate);
    Candidate c = model.candidates().get(candidate);
    String item = model.items().get(c.item()).name();
    String pod = in.pods.get(m.pod()).id();
    if (m.owner() == WHOLE) {
      return item + " in " + pod;
    }
    boolean runs = m.owner() >= in.demands.size();
    if (runs && !c.moves()) {
      return item + (m.choice() == ALL_STAY ? " stays with all" : " stays");
    }
    Shape shape =
        runs
            ? moveShapes.get(m.choice())
            : in.demands.get(m.owner()).choices().get(m.choice()).shape();
    Footprint where = m.where();
    return item
        + (runs ? " moves to " : " in ")
        + pod
        + " "
        + (where == null
            ? shape + " any cubes"
            : counted.containsKey(m.pod())
                ? shape + " any like " + where
                : where instanceof Footprint.Box ? where.toString() : shape + " " + where);
  }

  /** Whether the model's price of new hosts is exact: not where moves go to unnamed cubes. */
  boolean newHostsExact() {
    return !poolMoves;
  }

  /** The part of a level's value that no plan can change. */
  long constant(int level) {
    Level l = in.levels.get(level);
    return l.kind() == Level.Kind.KEPT
        ? in.pinnedKept.getOrDefault(l.priority(), 0L)
        : l.kind() == Level.Kind.DRAIN ? in.pinnedDrained : 0;
  }

  // ---------------------------------------------------------------- prices

  /**
   * Prices of the model as a certificate, which anyone may check without the model.
   *
   * <p>Cells and rules have their counterparts. What the pool rows of a cube charge together goes
   * onto the cube's cells, so far as these are not dearer already: a slice of whole cubes then pays
   * at least as much as in the rows, since each cube that it may take is in all of its rows, and
   * the sum over the cubes is what the rows' limits (or the items that keep cubes whole) cost. So
   * the certificate proves at least as much as the prices did.
   *
   * @param level the level of the prices
   * @return the certificate; empty if the disruption budget or the most victims of a tenant have a
   *     price, which none has there
   */
  Optional<Certificate> certificate(int level, ModelPrices prices) {
    for (int row : budgetRows) {
      if (prices.rows()[row] != 0) {
        return Optional.empty();
      }
    }
    List<RowPrice> rows = new ArrayList<>();
    int quotas = in.rules.quotas().size();
    for (int l = 0; l < limitRows.length; l++) {
      long price = prices.rows()[limitRows[l]];
      if (price != 0) {
        rows.add(
            l < quotas
                ? new RowPrice(RowKind.QUOTA, "", l, false, price)
                : new RowPrice(RowKind.RESERVED, "", l - quotas, false, price));
      }
    }
    List<CellPrices> cells = new ArrayList<>();
    for (int p = 0; p < cellBase.length; p++) {
      TpuTopology t = in.pods.get(p).topology();
      long[] byCell = Arrays.copyOfRange(prices.cells(), cellBase[p], cellBase[p] + t.cellCount());
      Counted types = counted.get(p);
      if (types != null) {
        long[] byType = new long[types.rows().length];
        Arrays.setAll(byType, i -> prices.rows()[types.rows()[i]]);
        types.types().spread(byType, t.hostsPerCube(), byCell);
      }
      if (poolRows.containsKey(p)) {
        raise(byCell, t.hostsPerCube(), poolRows.getOrDefault(p, List.of()), prices.rows());
      }
      if (Arrays.stream(byCell).anyMatch(price -> price != 0)) {
        cells.add(new CellPrices(in.pods.get(p).id(), byCell));
      }
    }
    return Optional.of(new Certificate(level, cells, rows, prices.earlier()));
  }

  private static void raise(long[] byCell, int size, List<Draft.PoolRow> rows, long[] prices) {
    for (int cube = 0; cube * size < byCell.length; cube++) {
      long wanted = 0;
      for (Draft.PoolRow row : rows) {
        wanted = row.cubes().get(cube) ? Math.addExact(wanted, prices[row.row()]) : wanted;
      }
      for (int i = 0; i < size; i++) {
        wanted = Math.subtractExact(wanted, byCell[cube * size + i]);
      }
      for (int i = 0; i < size && wanted > 0; i++) {
        long share = (wanted + size - i - 1) / (size - i);
        byCell[cube * size + i] += share;
        wanted -= share;
      }
    }
  }

  // ---------------------------------------------------------------- there

  /**
   * The model, or null if it would have more candidates than allowed, or time is up.
   *
   * @param limit the most candidates, those of alike items counted once
   * @param stop whether time is up
   */
  static @Nullable ModelTranslation of(Instance in, int limit, BooleanSupplier stop) {
    return new Draft(in, false, limit, limit, stop).build();
  }

  /**
   * The same with partitions and cubes counted, where nothing that runs may move or leave.
   *
   * @param limit the most candidates, those of alike items counted once, if some are on cells
   * @param countedLimit the same if none is; at least {@code limit} is allowed
   * @param stop whether time is up
   */
  static @Nullable ModelTranslation counted(
      Instance in, int limit, int countedLimit, BooleanSupplier stop) {
    return new Draft(in, in.free.isEmpty(), limit, Math.max(limit, countedLimit), stop).build();
  }

  /** The types of a pod's nodes, the row of each, and the terms of who takes one. */
  private record Counted(NodeTypes types, int[] rows, List<Want> wants, List<List<Term>> terms) {}

  private static final class Draft {
    final Instance in;
    final boolean counts;
    final int limit;
    final int countedLimit;
    final BooleanSupplier stop;
    final Map<Integer, Set<Want>> partWants = new TreeMap<>(); // by pod whose nodes are counted
    final Map<Integer, Counted> counted = new HashMap<>();
    final List<Meaning> meanings = new ArrayList<>();
    final List<int[]> wholeItems = new ArrayList<>();
    final Map<Integer, Map<PoolKind, BitSet>> pools = new TreeMap<>();
    final PodSpace[] spaces;
    final int[] cellBase;
    final Set<Integer> cellPods = new HashSet<>(); // optical pods where small slices compete
    final Map<List<Object>, Integer> commons = new HashMap<>();
    final List<Shape> moveShapes = new ArrayList<>(); // a move's choice is an index here
    boolean poolMoves;
    boolean onCells; // whether some candidate is
    int distinct; // candidates, those of alike items counted once
    final Map<List<Object>, List<Template>> templates = new HashMap<>();
    PlacementModel.Builder b;
    int[] limitRows = new int[0];
    Map<Integer, List<PoolRow>> poolRows = new HashMap<>();
    int budgetSlices;
    int budgetSeconds;
    int budgetTenants;
    final Map<String, Integer> victimRows = new TreeMap<>(); // by tenant

    /** A candidate of one item, to be copied for items that are alike. */
    private record Template(Meaning meaning, Candidate candidate) {}

    private record PoolRow(int row, Set<PoolKind> kinds, BitSet cubes) {}

    Draft(Instance in, boolean counts, int limit, int countedLimit, BooleanSupplier stop) {
      this.in = in;
      this.counts = counts;
      this.stop = stop;
      this.limit = limit;
      this.countedLimit = countedLimit;
      this.spaces = new PodSpace[in.pods.size()];
      this.cellBase = new int[in.pods.size()];
      int cells = 0;
      for (int p = 0; p < in.pods.size(); p++) {
        cellBase[p] = cells;
        cells = Math.addExact(cells, in.pods.get(p).topology().cellCount());
      }
      this.b =
          PlacementModel.builder(
              cells,
              in.levels.stream()
                  .map(l -> new PlacementModel.Level(l.name(), l.kind().maximise()))
                  .toList());
    }

    PodSpace space(int pod) {
      PodSpace space = spaces[pod];
      if (space == null) {
        space = in.cleared(pod);
        spaces[pod] = space;
      }
      return space;
    }

    @Nullable ModelTranslation build() {
      Set<Integer> deadUnits = new HashSet<>();
      Map<Integer, Integer> unitSize = new HashMap<>();
      for (Demand demand : in.demands) {
        unitSize.merge(demand.unit(), 1, Integer::sum);
        if (demand.choices().isEmpty()) {
          deadUnits.add(demand.unit());
        }
      }
      if (isHopeless() || hasTooMany(deadUnits)) {
        return null;
      }
      findPools(deadUnits);
      grids();
      rows();
      int[] firstItem = new int[in.demands.size()];
      for (int d = 0; d < in.demands.size(); d++) {
        Demand demand = in.demands.get(d);
        firstItem[d] = -1;
        if (!deadUnits.contains(demand.unit())) {
          int gang = unitSize.getOrDefault(demand.unit(), 1) > 1 ? demand.unit() : -1;
          firstItem[d] = demand(d, gang);
          if (tooLarge()) {
            return null;
          }
        }
      }
      int[] firstFree = new int[in.free.size()];
      if (!free(firstFree) || tooLarge()) {
        return null;
      }
      wholes();
      return tooLarge() ? null : new ModelTranslation(in, b.build(), firstItem, firstFree, this);
    }

    /** Whether what can be counted without listing it is too much already. */
    private boolean hasTooMany(Set<Integer> deadUnits) {
      Map<Integer, Set<Integer>> seen = new HashMap<>(); // wants by pod
      long sum = 0;
      for (Demand demand : in.demands) {
        if (deadUnits.contains(demand.unit())) {
          continue;
        }
        for (Choice choice : demand.choices()) {
          for (int pod : choice.pods()) {
            if (in.pods.get(pod).topology().isOptical()) {
              continue;
            }
            int want =
                space(pod)
                    .register(
                        PlacementSearch.wantOf(demand, choice, in.pods.get(pod), in.rules.now()));
            if (seen.computeIfAbsent(pod, p -> new HashSet<>()).add(want)) {
              sum += space(pod).countCandidates(want);
              if (sum > limit || stop.getAsBoolean()) {
                return true;
              }
            }
          }
        }
      }
      return false;
    }

    /** Whether there are so many pods and kinds of requests that no model is worth a try. */
    private boolean isHopeless() {
      Set<List<Object>> seen = new HashSet<>();
      long most = 0;
      for (Demand demand : in.demands) {
        if (seen.add(PlacementSearch.classKey(demand))) {
          for (Choice choice : demand.choices()) {
            most += choice.pods().length;
          }
        }
      }
      return most > HOPELESS * (long) countedLimit;
    }

    private static final int HOPELESS = 10;

    // -------------------------------------------------------------- pools and rows

    private void findPools(Set<Integer> deadUnits) {
      for (Demand demand : in.demands) {
        if (deadUnits.contains(demand.unit())) {
          continue;
        }
        for (Choice choice : demand.choices()) {
          for (int pod : choice.pods()) {
            note(pod, PlacementSearch.wantOf(demand, choice, in.pods.get(pod), in.rules.now()));
          }
        }
      }
      for (Instance.Free free : in.free) {
        for (RunningSlice slice : free.slices()) {
          // What runs on named cubes competes for them by its cells.
          cellPods.add(in.podOf(slice.pod()));
          for (Goal goal : goals(free, slice)) {
            note(goal.pod(), want(free, goal.shape(), goal.pod()));
          }
        }
      }
    }

    private void note(int pod, Want want) {
      TpuTopology t = in.pods.get(pod).topology();
      if (t.cubesOf(want.shape()) == 0) {
        cellPods.add(pod);
        boolean boxes = t.slicing() instanceof Slicing.OpticalCubes o && o.boxesInCube();
        if (counts && !boxes && t.partitions().isPresent()) {
          partWants.computeIfAbsent(pod, p -> new LinkedHashSet<>()).add(want);
        }
        return;
      }
      PoolKind kind = new PoolKind(want.healthyOnly(), want.holder());
      Map<PoolKind, BitSet> kinds = pools.computeIfAbsent(pod, p -> new LinkedHashMap<>());
      if (!kinds.containsKey(kind)) {
        BitSet cubes = new BitSet();
        Want one = new Want(CUBE, true, want.healthyOnly(), false, want.holder());
        space(pod)
            .forEachCandidate(
                space(pod).register(one),
                f -> cubes.set(((Footprint.Cubes) f).cubes().get(0).index()));
        kinds.put(kind, cubes);
      }
    }

    private static final Shape CUBE = Shape.of(4, 4, 4);

    private void rows() {
      limitRows = new int[in.limits.size()];
      for (int l = 0; l < limitRows.length; l++) {
        // Limit.room is what is left with everything free still running; the model counts that.
        Limit limitOf = in.limits.get(l);
        long room = limitOf.room();
        for (Instance.Free free : in.free) {
          for (RunningSlice slice : free.slices()) {
            if (limitOf.counts(slice.request().tenant(), in.podOf(slice.pod()))) {
              room = Math.addExact(room, slice.shape().chips());
            }
          }
        }
        limitRows[l] = b.row(new Row("limit" + l, room));
      }
      for (Map.Entry<Integer, Map<PoolKind, BitSet>> entry : pools.entrySet()) {
        List<PoolKind> kinds = List.copyOf(entry.getValue().keySet());
        List<PoolRow> rows = new ArrayList<>();
        int sets = 1 << Math.min(kinds.size(), MAX_KINDS);
        for (int set = 1; set < sets; set++) {
          Set<PoolKind> of = new HashSet<>();
          BitSet cubes = new BitSet();
          for (int k = 0; k < kinds.size(); k++) {
            // Beyond the limit the last kinds go together; solutions are checked again anyway.
            if ((set & 1 << Math.min(k, MAX_KINDS - 1)) != 0) {
              of.add(kinds.get(k));
              cubes.or(entry.getValue().get(kinds.get(k)));
            }
          }
          boolean whole = cellPods.contains(entry.getKey());
          int row =
              b.row(new Row("pool" + entry.getKey() + "." + set, whole ? 0 : cubes.cardinality()));
          rows.add(new PoolRow(row, of, cubes));
        }
        poolRows.put(entry.getKey(), rows);
      }
      for (Map.Entry<Integer, Set<Want>> entry : partWants.entrySet()) {
        count(entry.getKey(), List.copyOf(entry.getValue()));
      }
      DisruptionBudget budget = in.rules.disruption();
      // Moved or evicted are those that do not stay.
      long mayGo = in.free.stream().mapToLong(f -> f.slices().size()).sum();
      budgetSlices = b.row(new Row("disturbed slices", clamp(budget.slices()) - mayGo));
      budgetSeconds = b.row(new Row("chip-seconds lost", clamp(budget.chipSeconds())));
      budgetTenants = b.row(new Row("tenants touched", clamp(budget.tenants())));
      Map<String, Long> victims = new TreeMap<>(); // that there may be at most, by tenant
      for (Instance.Free free : in.free) {
        if (free.permission().evict()) {
          victims.merge(free.request().tenant(), 1L, Long::sum);
        }
      }
      long most = in.rules.victims().mostPerTenant();
      victims.forEach(
          (tenant, n) -> {
            if (n > most) {
              // Evicted are those that do not stay.
              victimRows.put(tenant, b.row(new Row("victims of tenant " + tenant, most - n)));
            }
          });
    }

    /** The types of a pod's nodes, each with a row. */
    private void count(int pod, List<Want> wants) {
      PodSpace space = space(pod);
      List<BitSet> byWant = new ArrayList<>();
      for (Want want : wants) {
        BitSet nodes = new BitSet();
        space.forEachCandidate(
            space.register(want), f -> nodes.set(((Footprint.Partition) f).id().index()));
        byWant.add(nodes);
      }
      List<BitSet> byKind = List.copyOf(pools.getOrDefault(pod, Map.of()).values());
      NodeTypes types = NodeTypes.of(in.pods.get(pod).topology(), byWant, byKind);
      if (types == null) {
        return;
      }
      int[] rows = new int[types.size()];
      for (int type = 0; type < rows.length; type++) {
        rows[type] = b.row(new Row("nodes" + pod + "." + type, types.count(type)));
      }
      List<List<Term>> terms = new ArrayList<>();
      for (int type = 0; type < rows.length; type++) {
        List<Term> of = new ArrayList<>();
        types.within(type).forEach((part, count) -> of.add(new Term(rows[part], count)));
        terms.add(List.copyOf(of));
      }
      counted.put(pod, new Counted(types, rows, wants, terms));
    }

    private static long clamp(long limit) {
      return Math.min(limit, PlacementModel.MAX_MAGNITUDE - 1);
    }

    // -------------------------------------------------------------- wanted slices

    private int demand(int d, int gang) {
      Demand demand = in.demands.get(d);
      SliceRequest request = demand.request();
      Spread spread = request.spread();
      int group =
          b.group(
              new Group(
                  request.id(),
                  gang,
                  false,
                  false,
                  true,
                  spread.kind() == Spread.Kind.SAME_POD,
                  spread.kind() == Spread.Kind.DIFFERENT_PODS,
                  spread.kind() == Spread.Kind.AT_MOST ? spread.max() : 0,
                  new long[0],
                  new long[0],
                  List.of()));
      // Slices after the first carry no credit for holds; holders find places of their own.
      List<Object> key = null;
      if (request.gang().isEmpty() && in.fleet.holdsOf(request.id()).isEmpty()) {
        key = PlacementSearch.classKey(demand);
        key.add(request.priority());
        key.add(in.goals.mostGain(request));
      }
      int first = -1;
      for (int s = 0; s < request.slices(); s++) {
        int item = b.item(new Item(request.id() + "/" + s, group));
        first = first < 0 ? item : first;
        if (key != null) {
          List<Template> known = templates.get(key);
          if (known != null) {
            for (Template t : known) {
              copy(t, item, d, s);
            }
            continue;
          }
        }
        int before = meanings.size();
        for (int c = 0; c < demand.choices().size() && !tooLarge(); c++) {
          Choice choice = demand.choices().get(c);
          for (int at = 0; at < choice.pods().length; at++) {
            int pod = choice.pods()[at];
            Want want = PlacementSearch.wantOf(demand, choice, in.pods.get(pod), in.rules.now());
            long[] gains = new long[in.levels.size()];
            for (int l = 0; l < gains.length; l++) {
              Level level = in.levels.get(l);
              gains[l] =
                  switch (level.kind()) {
                    case PLACED, ROOM -> level.priority() == request.priority() ? choice.gain() : 0;
                    case SHAPE_RANK -> choice.shape().chips() * choice.ranks()[at];
                    case PRICE -> choice.prices()[at];
                    case KEPT, DRAIN, DISRUPTION, NEW_HOSTS -> 0;
                  };
            }
            List<Term> terms = new ArrayList<>();
            for (int l = 0; l < limitRows.length; l++) {
              long credit = in.credits != null && s == 0 ? in.credits[d][l] : 0;
              long chips =
                  in.limits.get(l).counts(request.tenant(), pod) ? choice.shape().chips() : 0;
              if (chips != credit) {
                terms.add(new Term(limitRows[l], chips - credit));
              }
            }
            candidates(item, d, s, c, c, pod, choice.domains()[at], want, gains, terms, false);
          }
        }
        distinct += meanings.size() - before;
        if (key != null && !tooLarge()) {
          List<Template> made = new ArrayList<>();
          for (int i = before; i < meanings.size(); i++) {
            made.add(new Template(meanings.get(i), b.candidateAt(i)));
          }
          templates.put(key, made);
        }
      }
      return first;
    }

    private void copy(Template t, int item, int d, int slice) {
      Candidate c = t.candidate();
      Meaning m = t.meaning();
      add(
          new Meaning(d, slice, m.choice(), m.pod(), m.where()),
          new Candidate(
              item,
              c.cells(),
              c.gains(),
              c.terms(),
              c.shape(),
              c.pod(),
              c.domain(),
              c.moves(),
              c.grid()));
    }

    /** Whether the model is larger than anything is allowed to be, or time is up. */
    private boolean tooLarge() {
      return distinct > (onCells ? limit : countedLimit)
          || meanings.size() > MAX_COPIES
          || stop.getAsBoolean();
    }

    /** All places for one item in one pod. */
    private void candidates(
        int item,
        int owner,
        int slice,
        int choice,
        int common,
        int pod,
        int domain,
        Want want,
        long[] gains,
        List<Term> terms,
        boolean moves) {
      PodSpace space = space(pod);
      TpuTopology t = in.pods.get(pod).topology();
      int n = t.cubesOf(want.shape());
      if (n > 0) {
        PoolKind kind = new PoolKind(want.healthyOnly(), want.holder());
        Map<PoolKind, BitSet> kinds = pools.getOrDefault(pod, Map.of());
        BitSet cubes = kinds.get(kind);
        if (cubes == null || cubes.cardinality() < n) {
          return;
        }
        List<Term> all = new ArrayList<>(terms);
        for (PoolRow row : poolRows.getOrDefault(pod, List.of())) {
          if (row.kinds().contains(kind)) {
            all.add(new Term(row.row(), n));
          }
        }
        add(
            new Meaning(owner, slice, choice, pod, null),
            new Candidate(item, new int[0], gains, all, common, pod, domain, moves, null));
        return;
      }
      Counted nodes = counted.get(pod);
      if (nodes != null) {
        for (int type : nodes.types().serving(nodes.wants().indexOf(want))) {
          List<Term> all = nodes.terms().get(type);
          if (!terms.isEmpty()) {
            all = new ArrayList<>(all);
            all.addAll(terms);
          }
          Footprint any = new Footprint.Partition(nodes.types().first(type));
          add(
              new Meaning(owner, slice, choice, pod, any),
              new Candidate(item, new int[0], gains, all, common, pod, domain, moves, null));
        }
        return;
      }
      space.forEachCandidate(
          space.register(want),
          f -> {
            if (meanings.size() <= MAX_COPIES) {
              add(
                  new Meaning(owner, slice, choice, pod, f),
                  new Candidate(
                      item,
                      cells(pod, f),
                      gains,
                      terms,
                      common,
                      pod,
                      domain,
                      moves,
                      place(pod, f)));
            }
          });
    }

    private void add(Meaning meaning, Candidate candidate) {
      onCells |= candidate.cells().length > 0;
      b.candidate(candidate);
      meanings.add(meaning);
    }

    private int[] cells(int pod, Footprint footprint) {
      int[] cells = in.pods.get(pod).topology().cells(footprint);
      for (int i = 0; i < cells.length; i++) {
        cells[i] += cellBase[pod];
      }
      return cells;
    }

    /** The place of a box on the grid of a pod of boxes, or null for anything else. */
    private @Nullable GridPlace place(int pod, Footprint footprint) {
      TpuTopology t = in.pods.get(pod).topology();
      if (!(t.slicing() instanceof Slicing.TorusBoxes)
          || !(footprint instanceof Footprint.Box box)) {
        return null;
      }
      Shape tile = t.cellTile();
      return new GridPlace(
          box.origin().x() / tile.x(),
          box.origin().y() / tile.y(),
          box.origin().z() / tile.z(),
          box.extents().x() / tile.x(),
          box.extents().y() / tile.y(),
          box.extents().z() / tile.z());
    }

    private void grids() {
      for (int p = 0; p < in.pods.size(); p++) {
        TpuTopology t = in.pods.get(p).topology();
        if (t.slicing() instanceof Slicing.TorusBoxes) {
          Shape grid = t.cellGrid();
          b.grid(
              new Grid(
                  p,
                  cellBase[p],
                  grid.x(),
                  grid.y(),
                  grid.z(),
                  t.wraps(Axis.X),
                  t.wraps(Axis.Y),
                  t.wraps(Axis.Z)));
        }
      }
    }

    // -------------------------------------------------------------- running slices

    /** A pod and a shape to which a running slice could move. */
    private record Goal(int pod, Shape shape) {}

    private List<Goal> goals(Instance.Free free, RunningSlice slice) {
      List<Goal> out = new ArrayList<>();
      if (!free.permission().move()) {
        return out;
      }
      SliceRequest request = free.request();
      for (int p = 0; p < in.pods.size(); p++) {
        Pod pod = in.pods.get(p);
        if (free.permission().withinPod() && !pod.id().equals(slice.pod())
            || !Instance.matches(request, pod)) {
          continue;
        }
        TpuTopology t = pod.topology();
        for (Shape shape : Collectives.shapeOptions(request, t)) {
          if (t.isLegal(shape)
              && (request.interconnect() != Interconnect.TWISTED || t.twist(shape).isPresent())) {
            out.add(new Goal(p, shape));
          }
        }
      }
      return out;
    }

    private Want want(Instance.Free free, Shape shape, int pod) {
      return Want.of(free.request(), shape, in.pods.get(pod), in.rules.now());
    }

    /** Counts a running request as no victim of its tenant, by its first slice. */
    private void victimTerm(List<Term> terms, Instance.Free free, int s) {
      Integer row = s == 0 ? victimRows.get(free.request().tenant()) : null;
      if (row != null && free.permission().evict()) {
        terms.add(new Term(row, -1));
      }
    }

    /** What the slices of a running request have in common once one of them moves; 1 or more. */
    private int common(SliceRequest request, int pod, Shape shape) {
      List<Object> key =
          List.of(
              in.pods.get(pod).topology().accelerator().name(),
              request.mayTurn() ? shape.sorted() : shape);
      return commons.computeIfAbsent(key, k -> commons.size() + 1);
    }

    private boolean free(int[] firstFree) {
      Map<String, Integer> gangs = new HashMap<>();
      Set<String> pinnedGangs = new HashSet<>();
      Set<String> freeIds = new HashSet<>();
      in.free.forEach(f -> freeIds.add(f.request().id()));
      if (!in.free.isEmpty()) {
        for (RunningSlice slice : in.fleet.running()) {
          if (!slice.leaving() && !freeIds.contains(slice.id().request())) {
            slice.request().gang().ifPresent(pinnedGangs::add);
          }
        }
      }
      Map<String, List<Integer>> groupsByTenant = new TreeMap<>();
      for (int f = 0; f < in.free.size(); f++) {
        Instance.Free free = in.free.get(f);
        SliceRequest request = free.request();
        String gangName = request.gang().orElse("");
        boolean mayLeave = free.permission().evict() && !pinnedGangs.contains(gangName);
        int gang =
            gangName.isEmpty()
                ? -1
                : gangs.computeIfAbsent(gangName, g -> in.demands.size() + gangs.size());
        long[] lost = new long[in.levels.size()];
        int disruption = in.level(Level.Kind.DISRUPTION, 0);
        long seconds = Values.disruption(in, free);
        if (disruption >= 0) {
          lost[disruption] = seconds;
        }
        Spread spread = request.spread();
        boolean loose = !in.keepsSpread(free);
        int group =
            b.group(
                new Group(
                    "running " + request.id(),
                    gang,
                    !mayLeave,
                    true,
                    true,
                    spread.kind() == Spread.Kind.SAME_POD,
                    spread.kind() == Spread.Kind.DIFFERENT_PODS,
                    spread.kind() == Spread.Kind.AT_MOST ? spread.max() : 0,
                    lost,
                    lost,
                    List.of(new Term(budgetSeconds, clamp(seconds)))));
        groupsByTenant.computeIfAbsent(request.tenant(), t -> new ArrayList<>()).add(group);
        firstFree[f] = -1;
        for (int s = 0; s < free.slices().size(); s++) {
          RunningSlice slice = free.slices().get(s);
          int item = b.item(new Item("running " + slice.id(), group));
          firstFree[f] = firstFree[f] < 0 ? item : firstFree[f];
          int before = meanings.size();
          present(item, f, s, free, slice, false);
          if (loose) {
            present(item, f, s, free, slice, true);
          }
          for (Goal goal : goals(free, slice)) {
            moved(item, f, s, free, slice, goal);
          }
          distinct += meanings.size() - before;
          if (tooLarge()) {
            return false;
          }
        }
      }
      for (Map.Entry<String, List<Integer>> tenant : groupsByTenant.entrySet()) {
        b.union(
            new Union(
                "tenant " + tenant.getKey(),
                tenant.getValue().stream().mapToInt(Integer::intValue).toArray(),
                List.of(new Term(budgetTenants, 1))));
      }
      return true;
    }

    private int domain(Instance.Free free, int pod) {
      String label = free.request().spread().label();
      String value = label.isEmpty() ? null : in.pods.get(pod).labels().get(label);
      if (value == null) {
        return pod;
      }
      for (int p = 0; p < in.pods.size(); p++) {
        if (value.equals(in.pods.get(p).labels().get(label))) {
          return in.pods.size() + p;
        }
      }
      return pod;
    }

    private List<Term> limitTerms(RunningSlice slice, int pod, long chips) {
      List<Term> terms = new ArrayList<>();
      for (int l = 0; l < limitRows.length; l++) {
        if (in.limits.get(l).counts(slice.request().tenant(), pod)) {
          terms.add(new Term(limitRows[l], chips));
        }
      }
      return terms;
    }

    /**
     * Staying; {@code loose} only together with all others of the request, however they lie: a
     * common number, pods and domains of its own that break no spread.
     */
    private void present(
        int item, int f, int s, Instance.Free free, RunningSlice slice, boolean loose) {
      long[] gains = new long[in.levels.size()];
      int kept = in.level(Level.Kind.KEPT, free.request().priority());
      if (kept >= 0) {
        gains[kept] = free.keptByStaying(s);
      }
      int drain = in.level(Level.Kind.DRAIN, 0);
      if (drain >= 0) {
        gains[drain] = free.drained()[s];
      }
      int pod = in.podOf(slice.pod());
      int beyond = 2 * in.pods.size();
      boolean samePod = free.request().spread().kind() == Spread.Kind.SAME_POD;
      List<Term> terms = limitTerms(slice, pod, slice.shape().chips());
      terms.add(new Term(budgetSlices, -1));
      victimTerm(terms, free, s);
      add(
          new Meaning(in.demands.size() + f, s, loose ? ALL_STAY : STAYS, pod, slice.footprint()),
          new Candidate(
              item,
              cells(pod, slice.footprint()),
              gains,
              terms,
              loose ? 0 : common(free.request(), pod, slice.shape()),
              !loose ? pod : samePod ? beyond : beyond + s,
              loose ? beyond + s : domain(free, pod),
              false,
              loose ? null : place(pod, slice.footprint())));
    }

    private void moved(int item, int f, int s, Instance.Free free, RunningSlice slice, Goal goal) {
      int pod = goal.pod();
      Shape shape = goal.shape();
      long[] gains = new long[in.levels.size()];
      int kept = in.level(Level.Kind.KEPT, free.request().priority());
      if (kept >= 0) {
        gains[kept] = Values.kept(slice, shape);
      }
      int price = in.level(Level.Kind.PRICE, 0);
      if (price >= 0) {
        gains[price] = Values.price(in, shape.chips(), pod);
      }
      int hosts = in.level(Level.Kind.NEW_HOSTS, 0);
      Want want = want(free, shape, pod);
      List<Term> terms = limitTerms(slice, pod, shape.chips());
      victimTerm(terms, free, s);
      int common = common(free.request(), pod, shape);
      int choice = moveShapes.indexOf(shape);
      if (choice < 0) {
        choice = moveShapes.size();
        moveShapes.add(shape);
      }
      int owner = in.demands.size() + f;
      if (in.pods.get(pod).topology().cubesOf(shape) > 0) {
        if (hosts >= 0) {
          gains[hosts] = in.pods.get(pod).topology().hostsOf(shape);
        }
        poolMoves = true;
        candidates(
            item, owner, s, choice, common, pod, domain(free, pod), want, gains, terms, true);
        return;
      }
      PodSpace space = space(pod);
      int moveChoice = choice;
      space.forEachCandidate(
          space.register(want),
          where -> {
            if (meanings.size() > MAX_COPIES
                || where.equals(slice.footprint())
                    && in.pods.get(pod).id().equals(slice.pod())
                    && shape.sorted().equals(slice.shape().sorted())) {
              return;
            }
            long[] own = gains.clone();
            if (hosts >= 0) {
              own[hosts] = Values.newHosts(in, slice, new Solution.Target(pod, shape, where));
            }
            add(
                new Meaning(owner, s, moveChoice, pod, where),
                new Candidate(
                    item,
                    cells(pod, where),
                    own,
                    terms,
                    common,
                    pod,
                    domain(free, pod),
                    true,
                    place(pod, where)));
          });
    }

    // -------------------------------------------------------------- whole cubes

    private void wholes() {
      for (Map.Entry<Integer, Map<PoolKind, BitSet>> entry : pools.entrySet()) {
        int pod = entry.getKey();
        if (!cellPods.contains(pod)) {
          continue;
        }
        BitSet any = new BitSet();
        entry.getValue().values().forEach(any::or);
        for (int cube = any.nextSetBit(0); cube >= 0; cube = any.nextSetBit(cube + 1)) {
          int group = b.group(Group.wanted("whole cube"));
          int item = b.item(new Item("whole cube " + pod + "." + cube, group));
          List<Term> terms = new ArrayList<>();
          for (PoolRow row : poolRows.getOrDefault(pod, List.of())) {
            if (row.cubes().get(cube)) {
              terms.add(new Term(row.row(), -1));
            }
          }
          Footprint footprint = new Footprint.Cubes(List.of(new CubeId(cube)));
          Counted nodes = counted.get(pod);
          if (nodes != null) {
            terms.addAll(nodes.terms().get(nodes.types().typeOfCube(cube)));
          }
          add(
              new Meaning(WHOLE, item, 0, pod, footprint),
              new Candidate(
                  item,
                  nodes != null ? new int[0] : cells(pod, footprint),
                  new long[in.levels.size()],
                  terms,
                  0,
                  pod,
                  0,
                  false,
                  null));
          wholeItems.add(new int[] {item, pod, cube});
        }
      }
    }
  }

  // ---------------------------------------------------------------- back

  /** The solution that a choice of candidates stands for, or null if its cubes cannot be named. */
  @Nullable Solution decode(int[] chosen) {
    Solution out = Solution.nothing(in.demands.size());
    Map<Integer, List<Slot>> slots = new TreeMap<>(); // by pod: who needs cubes
    Map<Integer, List<Part>> parts = new TreeMap<>(); // by pod: who needs partitions
    Map<Integer, BitSet> whole = new HashMap<>();
    for (int[] w : wholeItems) {
      if (chosen[w[0]] >= 0) {
        whole.computeIfAbsent(w[1], p -> new BitSet()).set(w[2]);
      }
    }
    for (int d = 0; d < in.demands.size(); d++) {
      if (firstItem[d] < 0 || chosen[firstItem[d]] < 0) {
        continue;
      }
      Demand demand = in.demands.get(d);
      int n = demand.request().slices();
      int[] pods = new int[n];
      List<@Nullable Footprint> where = new ArrayList<>();
      int choice = meanings.get(chosen[firstItem[d]]).choice();
      for (int s = 0; s < n; s++) {
        Meaning m = meanings.get(chosen[firstItem[d] + s]);
        pods[s] = m.pod();
        where.add(m.where());
        int slice = s;
        Counted nodes = counted.get(m.pod());
        if (nodes != null && m.where() instanceof Footprint.Partition any) {
          parts
              .computeIfAbsent(m.pod(), p -> new ArrayList<>())
              .add(new Part(nodes.types().typeOf(any.id()), f -> where.set(slice, f)));
        }
        if (m.where() == null) {
          Want want =
              PlacementSearch.wantOf(
                  demand, demand.choices().get(choice), in.pods.get(m.pod()), in.rules.now());
          slots
              .computeIfAbsent(m.pod(), p -> new ArrayList<>())
              .add(new Slot(want, f -> where.set(slice, f)));
        }
      }
      int demandIndex = d;
      finish.add(() -> out.placed().set(demandIndex, new Assignment(choice, pods, copyOf(where))));
    }
    for (int f = 0; f < in.free.size(); f++) {
      Instance.Free free = in.free.get(f);
      if (chosen[firstFreeItem[f]] < 0) {
        out.evicted().add(free.request().id());
        continue;
      }
      for (int s = 0; s < free.slices().size(); s++) {
        Candidate c = model.candidates().get(chosen[firstFreeItem[f] + s]);
        Meaning m = meanings.get(chosen[firstFreeItem[f] + s]);
        if (!c.moves()) {
          continue;
        }
        RunningSlice slice = free.slices().get(s);
        Shape shape = moveShapes.get(m.choice());
        if (m.where() != null) {
          out.moved().put(slice.id(), new Solution.Target(m.pod(), shape, m.where()));
        } else {
          Want want = Want.of(free.request(), shape, in.pods.get(m.pod()), in.rules.now());
          slots
              .computeIfAbsent(m.pod(), p -> new ArrayList<>())
              .add(new Slot(want, to -> move(out, slice, m.pod(), shape, to)));
        }
      }
    }
    for (Map.Entry<Integer, List<Slot>> entry : slots.entrySet()) {
      if (!nameCubes(entry.getKey(), entry.getValue(), whole.get(entry.getKey()))) {
        finish.clear();
        return null;
      }
    }
    for (Map.Entry<Integer, List<Part>> entry : parts.entrySet()) {
      if (!nameParts(entry.getKey(), entry.getValue(), whole.get(entry.getKey()))) {
        finish.clear();
        return null;
      }
    }
    finish.forEach(Runnable::run);
    finish.clear();
    return out;
  }

  /** Somebody who needs a partition of a type, and where to write it. */
  private record Part(int type, Consumer<Footprint> sink) {}

  /** Names partitions, largest first, beside the cubes that stay whole. */
  private boolean nameParts(int pod, List<Part> parts, @Nullable BitSet whole) {
    NodeTypes types = Objects.requireNonNull(counted.get(pod)).types();
    int size = in.pods.get(pod).topology().hostsPerCube();
    BitSet taken = new BitSet();
    if (whole != null) {
      whole.stream().forEach(cube -> taken.set(cube * size, (cube + 1) * size));
    }
    parts.sort(Comparator.comparingInt(p -> -types.cells(p.type())));
    for (Part part : parts) {
      PartitionId node = types.take(part.type(), taken);
      if (node == null) {
        return false;
      }
      part.sink().accept(new Footprint.Partition(node));
    }
    return true;
  }

  /** A slice that is given the very cubes that it has, in the same shape, stays. */
  private void move(Solution out, RunningSlice slice, int pod, Shape shape, Footprint to) {
    TpuTopology t = in.pods.get(pod).topology();
    if (pod != in.podOf(slice.pod())
        || !shape.sorted().equals(slice.shape().sorted())
        || !Arrays.equals(t.cells(to), t.cells(slice.footprint()))) {
      out.moved().put(slice.id(), new Solution.Target(pod, shape, to));
    }
  }

  private final List<Runnable> finish = new ArrayList<>();

  private static List<Footprint> copyOf(List<@Nullable Footprint> where) {
    List<Footprint> out = new ArrayList<>(where.size());
    for (Footprint footprint : where) {
      if (footprint != null) {
        out.add(footprint);
      }
    }
    return out;
  }

  /** Somebody who needs cubes, and where to write them. */
  private record Slot(Want want, Consumer<Footprint> sink) {}

  /** Names cubes by augmenting paths (bipartite matching, O(cubes² × kinds) for one pod). */
  private boolean nameCubes(int pod, List<Slot> slots, @Nullable BitSet whole) {
    Map<PoolKind, BitSet> kinds = pools.getOrDefault(pod, Map.of());
    TpuTopology t = in.pods.get(pod).topology();
    int cubes = t.cubeCount();
    List<Integer> seats = new ArrayList<>(); // the slot of each cube needed
    List<BitSet> eligible = new ArrayList<>();
    for (int s = 0; s < slots.size(); s++) {
      Want want = slots.get(s).want();
      BitSet set = kinds.get(new PoolKind(want.healthyOnly(), want.holder()));
      if (set == null) {
        return false;
      }
      BitSet own = (BitSet) set.clone();
      if (whole != null) {
        own.and(whole);
      }
      eligible.add(own);
      for (int i = 0; i < t.cubesOf(want.shape()); i++) {
        seats.add(s);
      }
    }
    int[] takenBy = new int[cubes];
    Arrays.fill(takenBy, -1);
    for (int seat = 0; seat < seats.size(); seat++) {
      if (!augment(seat, seats, eligible, takenBy, new boolean[cubes])) {
        return false;
      }
    }
    for (int s = 0; s < slots.size(); s++) {
      Set<CubeId> mine = new TreeSet<>();
      for (int c = 0; c < cubes; c++) {
        if (takenBy[c] >= 0 && seats.get(takenBy[c]) == s) {
          mine.add(new CubeId(c));
        }
      }
      slots.get(s).sink().accept(new Footprint.Cubes(List.copyOf(mine)));
    }
    return true;
  }

  private static boolean augment(
      int seat, List<Integer> seats, List<BitSet> eligible, int[] takenBy, boolean[] seen) {
    BitSet own = eligible.get(seats.get(seat));
    for (int c = own.nextSetBit(0); c >= 0; c = own.nextSetBit(c + 1)) {
      if (!seen[c]) {
        seen[c] = true;
        if (takenBy[c] < 0 || augment(takenBy[c], seats, eligible, takenBy, seen)) {
          takenBy[c] = seat;
          return true;
        }
      }
    }
    return false;
  }

  /** A solution as a choice of candidates, or null if a part of it is no candidate. */
  int @Nullable [] encode(Solution solution) {
    int[] chosen = new int[model.items().size()];
    Arrays.fill(chosen, -1);
    Map<Integer, BitSet> whole = new HashMap<>();
    for (int d = 0; d < in.demands.size(); d++) {
      Assignment a = solution.placed().get(d);
      if (a == null) {
        continue;
      }
      for (int s = 0; s < a.footprints().size(); s++) {
        Integer c = lookUp(d, s, a.choice(), a.pods()[s], a.footprints().get(s), whole);
        if (firstItem[d] < 0 || c == null) {
          return null;
        }
        chosen[firstItem[d] + s] = c;
      }
    }
    for (int f = 0; f < in.free.size(); f++) {
      Instance.Free free = in.free.get(f);
      if (solution.evicted().contains(free.request().id())) {
        continue;
      }
      int stays = Values.disturbed(free, solution) ? STAYS : ALL_STAY;
      for (int s = 0; s < free.slices().size(); s++) {
        RunningSlice slice = free.slices().get(s);
        Solution.Target to = solution.moved().get(slice.id());
        int owner = in.demands.size() + f;
        int here = in.podOf(slice.pod());
        Integer c =
            to == null
                ? byMeaning.getOrDefault(
                    new Meaning(owner, s, stays, here, slice.footprint()),
                    byMeaning.get(new Meaning(owner, s, STAYS, here, slice.footprint())))
                : lookUp(owner, s, moveShapes.indexOf(to.shape()), to.pod(), to.footprint(), whole);
        if (c == null) {
          return null;
        }
        chosen[firstFreeItem[f] + s] = c;
      }
    }
    for (int[] w : wholeItems) {
      if (whole.getOrDefault(w[1], new BitSet()).get(w[2])) {
        Integer c =
            byMeaning.get(
                new Meaning(WHOLE, w[0], 0, w[1], new Footprint.Cubes(List.of(new CubeId(w[2])))));
        if (c == null) {
          return null;
        }
        chosen[w[0]] = c;
      }
    }
    return chosen;
  }

  private @Nullable Integer lookUp(
      int owner, int slice, int choice, int pod, Footprint where, Map<Integer, BitSet> whole) {
    if (where instanceof Footprint.Cubes cubes) {
      BitSet set = whole.computeIfAbsent(pod, p -> new BitSet());
      cubes.cubes().forEach(c -> set.set(c.index()));
      return byMeaning.get(new Meaning(owner, slice, choice, pod, null));
    }
    Counted nodes = counted.get(pod);
    Footprint like = where;
    if (nodes != null && where instanceof Footprint.Partition partition) {
      int type = nodes.types().typeOf(partition.id());
      if (type < 0) {
        return null;
      }
      like = new Footprint.Partition(nodes.types().first(type));
    }
    return byMeaning.get(new Meaning(owner, slice, choice, pod, like));
  }
}
