package dev.slicewright.solve;

import dev.slicewright.cost.Collectives;
import dev.slicewright.cost.Disruption;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Drain;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.RoomGoal;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.request.VictimRules;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The best values of a tiny problem by enumerating its plans, straight from the model's rules: no
 * search, no bounds, no verifier. Confined to one thread at a time.
 *
 * <p>Depth first over running requests that may go (stay, move, leave), then the wanted ones; a
 * branch is cut where not even all that is left could make it better than the best plan found.
 */
final class PlannerBruteForce {

  /** Too many plans to enumerate. */
  static final class TooLarge extends RuntimeException {
    private static final long serialVersionUID = 1;
  }

  private final Fleet fleet;
  private final List<SliceRequest> requests; // phantoms last
  private final int real;
  private final Map<String, Long> weights = new HashMap<>(); // of phantoms
  private final Map<String, BitSet> drained = new HashMap<>();
  private final Map<String, Long> victims = new HashMap<>(); // by tenant, so far
  private final PlanningRules rules;
  private final dev.slicewright.cost.CostTerms cost;
  private final List<Pod> pods;
  private final Map<String, BitSet> taken = new HashMap<>();
  private final Map<String, BitSet> cordoned = new HashMap<>();
  private final List<List<RunningSlice>> free = new ArrayList<>();
  private final List<String> levels = new ArrayList<>(); // "kept 10", "placed 10", "rank" ...
  private final List<Boolean> maximise = new ArrayList<>();
  private final Map<String, Boolean> gangs = new HashMap<>(); // wanted gangs decided so far
  private final Map<String, Boolean> runningGangs = new HashMap<>(); // true: some of it stays
  private final long[] quotaLimit;
  private final long[] quotaUsed;
  private final long[] reservedLimit;
  private final long[] reservedUsed;
  private final Set<String> placed = new HashSet<>();
  private long[] value;
  private long[] potential;
  private long @Nullable [] best;
  private long nodes;
  private final long maxNodes;
  private long movedSlices;
  private long lostSeconds;
  private final Map<String, Integer> tenants = new HashMap<>();

  /** One joint choice of one slice. */
  private record Way(Pod pod, Shape shape, int rank, Footprint footprint, int[] cells) {}

  PlannerBruteForce(RandomFleets.Instance i, long maxNodes) {
    this.fleet = i.fleet();
    this.requests = new ArrayList<>(i.requests());
    this.real = requests.size();
    this.rules = i.rules();
    for (RoomGoal goal : rules.rooms()) {
      for (SliceRequest phantom : goal.phantoms()) {
        requests.add(phantom);
        if (goal.weight() > 0) {
          weights.put(phantom.id(), goal.weight());
        }
      }
    }
    this.cost = i.cost();
    this.maxNodes = maxNodes;
    this.pods = List.copyOf(fleet.pods());
    for (Pod pod : pods) {
      BitSet busy = new BitSet();
      for (RunningSlice slice : pod.running()) {
        for (int cell : pod.topology().cells(slice.footprint())) {
          busy.set(cell);
        }
      }
      taken.put(pod.id(), busy);
      BitSet drain = drainedCells(pod);
      drained.put(pod.id(), drain);
      BitSet off = (BitSet) drain.clone();
      for (int cell = 0; cell < pod.topology().cellCount(); cell++) {
        if (pod.cordonedCells().contains(cell)) {
          off.set(cell);
        }
      }
      cordoned.put(pod.id(), off);
    }
    Map<String, List<RunningSlice>> byRequest = new TreeMap<>();
    fleet
        .running()
        .forEach(s -> byRequest.computeIfAbsent(s.id().request(), r -> new ArrayList<>()).add(s));
    TreeMap<Long, long[]> kept = new TreeMap<>(); // pinned chips by priority
    long pinnedDrained = 0;
    boolean mayMove = false;
    for (List<RunningSlice> slices : byRequest.values()) {
      Permission p = permission(slices);
      boolean leaving = slices.stream().anyMatch(RunningSlice::leaving);
      if ((p.move() || p.evict()) && !leaving) {
        free.add(slices);
        kept.computeIfAbsent(slices.get(0).request().priority(), k -> new long[1]);
        mayMove |= p.move();
      } else {
        for (RunningSlice s : slices) {
          if (!s.leaving()) {
            pinnedDrained += drainedChips(s);
            kept.computeIfAbsent(s.request().priority(), k -> new long[1])[0] +=
                isBroken(s) ? 0 : counted(s.request(), s.shape());
          }
          s.request().gang().filter(g -> !s.leaving()).ifPresent(g -> runningGangs.put(g, true));
        }
      }
    }
    TreeSet<Long> priorities = new TreeSet<>(kept.keySet());
    i.requests().forEach(r -> priorities.add(r.priority()));
    for (long priority : priorities.descendingSet()) {
      if (kept.containsKey(priority)) {
        level("kept " + priority, true);
      }
      if (i.requests().stream().anyMatch(r -> r.priority() == priority)) {
        level("placed " + priority, true);
      }
    }
    if (!rules.drains().isEmpty()) {
      level("drain", false);
    }
    if (!rules.rooms().isEmpty()) {
      level("room", true);
    }
    if (!free.isEmpty()) {
      level("lost", false);
    }
    if (cost.shapeRank() && i.requests().stream().anyMatch(r -> r.shapes().size() != 1)) {
      level("rank", false);
    }
    if (cost.newHosts() && mayMove) {
      level("hosts", false);
    }
    if (cost.hasPrices()) {
      level("price", false);
    }
    value = new long[levels.size()];
    potential = new long[levels.size()];
    kept.forEach((priority, sum) -> add("kept " + priority, sum[0]));
    add("drain", pinnedDrained);
    for (List<RunningSlice> slices : free) {
      for (RunningSlice s : slices) {
        potential("kept " + s.request().priority(), counted(s.request(), s.shape()));
      }
    }
    for (SliceRequest r : requests) {
      potential(levelOf(r), mostGain(r) * r.slices());
    }
    // Quotas and reserved capacity: what is used before anything changes, and the raised limits.
    quotaLimit = new long[rules.quotas().size()];
    quotaUsed = new long[quotaLimit.length];
    reservedLimit = new long[rules.reserved().size()];
    reservedUsed = new long[reservedLimit.length];
    for (RunningSlice s : fleet.running()) {
      use(s.request().tenant(), pod(s.pod()), s.shape().chips());
    }
    for (Hold hold : fleet.holds()) {
      if (rules.now().isBefore(hold.expiry())) {
        use(tenant(hold), pod(hold.pod()), chips(hold));
      }
    }
    for (int q = 0; q < quotaLimit.length; q++) {
      quotaLimit[q] = Math.max(rules.quotas().get(q).chips(), quotaUsed[q]);
    }
    for (int q = 0; q < reservedLimit.length; q++) {
      long usable = 0;
      for (Pod pod : pods) {
        if (selects(q, pod)) {
          for (int cell = 0; cell < pod.topology().cellCount(); cell++) {
            boolean off =
                pod.health().failedCells().contains(cell)
                    || pod.cordonedCells().contains(cell)
                    || drainedCells(pod).get(cell);
            usable += off ? 0 : pod.topology().chipsPerCell();
          }
        }
      }
      reservedLimit[q] = Math.max(usable - rules.reserved().get(q).chips(), reservedUsed[q]);
    }
  }

  /** The best values by level, in the order of the objective. */
  long[] solve() {
    // All that may go is lifted, and put back where it stays: so two may change places.
    free.forEach(slices -> slices.forEach(s -> lift(s, true)));
    running(0);
    if (best == null) {
      throw new AssertionError("Not even the plan that changes nothing was found.");
    }
    return best;
  }

  /** Whether a request fits beside what runs, alone of its batch and its gang aside. */
  static boolean fitsAlone(RandomFleets.Instance i, String request, long maxNodes) {
    PlanningRules.Builder pinned = PlanningRules.builder().now(i.rules().now());
    i.rules().quotas().forEach(pinned::quota);
    i.rules().reserved().forEach(pinned::reserve);
    i.rules().drains().forEach(pinned::drain);
    return fits(i, i.fleet(), pinned.build(), request, false, maxNodes);
  }

  /** Whether a request, with its gang, fits into the empty, healthy fleet without rules. */
  static boolean fitsEmpty(RandomFleets.Instance i, String request, long maxNodes) {
    Fleet.Builder empty = Fleet.builder();
    i.fleet().pods().forEach(p -> empty.pod(p.id(), p.topology(), p.labels()));
    return fits(i, empty.build(), PlanningRules.NONE, request, true, maxNodes);
  }

  private static boolean fits(
      RandomFleets.Instance i,
      Fleet fleet,
      PlanningRules rules,
      String request,
      boolean withGang,
      long maxNodes) {
    List<SliceRequest> batch = new ArrayList<>();
    Set<String> wanted = new HashSet<>();
    SliceRequest own =
        i.requests().stream().filter(r -> r.id().equals(request)).findFirst().orElseThrow();
    for (SliceRequest r : i.requests()) {
      // All others are in the batch, for the tenants of their holds, but are not placed.
      boolean in = r == own || withGang && own.gang().isPresent() && r.gang().equals(own.gang());
      batch.add(withGang ? r : r.toBuilder().gang("").build());
      if (in) {
        wanted.add(r.id());
      }
    }
    PlannerBruteForce b =
        new PlannerBruteForce(
            new RandomFleets.Instance(i.seed(), i.limits(), fleet, batch, rules, i.cost()),
            maxNodes);
    b.only = wanted;
    b.solve();
    return b.bestPlaced.contains(request);
  }

  private @Nullable Set<String> only;
  private Set<String> bestPlaced = Set.of();

  private void level(String name, boolean max) {
    levels.add(name);
    maximise.add(max);
  }

  private void add(String level, long gain) {
    int at = levels.indexOf(level);
    if (at >= 0) {
      value[at] += gain;
    }
  }

  private void potential(String level, long gain) {
    int at = levels.indexOf(level);
    if (at >= 0) {
      potential[at] += gain;
    }
  }

  /** Whether this branch cannot become better than the best plan. */
  private boolean hopeless() {
    if (++nodes > maxNodes) {
      throw new TooLarge();
    }
    if (best == null) {
      return false;
    }
    for (int l = 0; l < value.length; l++) {
      long most = value[l] + potential[l];
      if (most != best[l]) {
        return maximise.get(l) ? most < best[l] : most > best[l];
      }
    }
    return true;
  }

  // ---------------------------------------------------------------- goals

  private static BitSet drainedCells(Pod pod, Drain drain) {
    TpuTopology t = pod.topology();
    BitSet out = new BitSet();
    for (int cell = 0; cell < t.cellCount(); cell++) {
      int at = cell;
      boolean in;
      if (drain instanceof Drain.OfPod of) {
        in = of.pod().equals(pod.id());
      } else if (drain instanceof Drain.OfLabel of) {
        in = of.value().equals(pod.labels().get(of.key()));
      } else if (drain instanceof Drain.OfHosts of) {
        in = of.pod().equals(pod.id()) && of.hosts().contains(t.hostOfCell(cell));
      } else {
        Drain.OfCubes of = (Drain.OfCubes) drain;
        in =
            of.pod().equals(pod.id())
                && of.cubes().stream().anyMatch(c -> c.index() == at / t.hostsPerCube());
      }
      out.set(cell, in);
    }
    return out;
  }

  private BitSet drainedCells(Pod pod) {
    BitSet out = new BitSet();
    rules.drains().forEach(d -> out.or(drainedCells(pod, d)));
    return out;
  }

  private long drainedChips(RunningSlice s) {
    TpuTopology t = pod(s.pod()).topology();
    long chips = 0;
    for (int cell : t.cells(s.footprint())) {
      chips += drained.get(s.pod()).get(cell) ? t.chipsPerCell() : 0;
    }
    return chips;
  }

  private long keptByStaying(RunningSlice s, Permission permission) {
    return isBroken(s) || drainedChips(s) > 0 && permission.evict()
        ? 0
        : counted(s.request(), s.shape());
  }

  private String levelOf(SliceRequest r) {
    return requests.indexOf(r) >= real ? "room" : "placed " + r.priority();
  }

  private long gain(SliceRequest r, Shape shape) {
    return weights.getOrDefault(r.id(), counted(r, shape));
  }

  private long mostGain(SliceRequest r) {
    return weights.getOrDefault(r.id(), most(r));
  }

  /** What may be done to a running request: evicted only if no rule on victims spares it. */
  private Permission permission(List<RunningSlice> slices) {
    SliceRequest request = slices.get(0).request();
    Permission p = rules.permission(request.id());
    VictimRules v = rules.victims();
    boolean spared =
        v.mostPerTenant() == 0
            || v.protectedRequests().contains(request.id())
            || v.protectedTenants().contains(request.tenant())
            || v.belowPriority() != null && request.priority() >= v.belowPriority();
    for (RunningSlice s : slices) {
      spared |=
          !v.coolDown().isZero()
              && s.startedAt().map(at -> at.plus(v.coolDown()).isAfter(rules.now())).orElse(true);
    }
    boolean over = false;
    for (PlanningRules.Quota quota : rules.quotas()) {
      long used = 0;
      boolean own = false;
      for (RunningSlice s : fleet.running()) {
        String accelerator = pod(s.pod()).topology().accelerator().name();
        if (s.request().tenant().equals(quota.tenant())
            && (quota.accelerator().isEmpty() || quota.accelerator().equals(accelerator))) {
          used += s.shape().chips();
          own |= s.id().request().equals(request.id());
        }
      }
      over |= own && used > quota.chips();
    }
    spared |= v.overQuotaOnly() && !over;
    return new Permission(p.move(), p.evict() && !spared, p.withinPod());
  }

  // ---------------------------------------------------------------- what runs

  private void running(int f) {
    if (hopeless()) {
      return;
    }
    if (f == free.size()) {
      wanted(0);
      return;
    }
    List<RunningSlice> slices = free.get(f);
    SliceRequest request = slices.get(0).request();
    Permission permission = permission(slices);
    String kept = "kept " + request.priority();
    long potentialKept = 0;
    for (RunningSlice s : slices) {
      potentialKept += counted(request, s.shape());
    }
    potential(kept, -potentialKept);
    // Stay, all of it.
    Optional<String> gang = request.gang();
    Boolean gangStays = gang.map(runningGangs::get).orElse(null);
    if (gangStays == null || gangStays) {
      gang.ifPresent(g -> runningGangs.put(g, true));
      long here = 0;
      long left = 0;
      for (RunningSlice s : slices) {
        here += keptByStaying(s, permission);
        left += drainedChips(s);
      }
      if (slices.stream().allMatch(this::stays)) {
        slices.forEach(s -> lift(s, false));
        add(kept, here);
        add("drain", left);
        running(f + 1);
        add("drain", -left);
        add(kept, -here);
        slices.forEach(s -> lift(s, true));
      }
      if (permission.move()) {
        moves(f, slices, 0, new ArrayList<>());
      }
      gang.ifPresent(g -> restore(runningGangs, g, gangStays));
    }
    // Leave.
    if (permission.evict() && (gangStays == null || !gangStays)) {
      gang.ifPresent(g -> runningGangs.put(g, false));
      String tenant = request.tenant();
      long of = victims.merge(tenant, 1L, Long::sum);
      if (disturb(slices, slices.size(), 1) && of <= rules.victims().mostPerTenant()) {
        running(f + 1);
      }
      victims.merge(tenant, -1L, Long::sum);
      disturb(slices, slices.size(), -1);
      gang.ifPresent(g -> restore(runningGangs, g, gangStays));
    }
    potential(kept, potentialKept);
  }

  private static void restore(Map<String, Boolean> map, String key, @Nullable Boolean before) {
    if (before == null) {
      map.remove(key);
    } else {
      map.put(key, before);
    }
  }

  /** Counts a disturbed request; false if that breaks the budget. */
  private boolean disturb(List<RunningSlice> slices, int moved, int sign) {
    long seconds = 0;
    for (RunningSlice s : slices) {
      seconds += Disruption.chipSeconds(s, isBroken(s), rules.now());
    }
    movedSlices += (long) sign * moved;
    lostSeconds += sign * seconds;
    add("lost", sign * seconds);
    String tenant = slices.get(0).request().tenant();
    tenants.merge(tenant, sign, Integer::sum);
    tenants.remove(tenant, 0);
    return movedSlices <= rules.disruption().slices()
        && lostSeconds <= rules.disruption().chipSeconds()
        && tenants.size() <= rules.disruption().tenants();
  }

  /** Frees the cells of a running slice and its quota, or takes them again. */
  private void lift(RunningSlice s, boolean up) {
    Pod pod = pod(s.pod());
    for (int cell : pod.topology().cells(s.footprint())) {
      taken.get(s.pod()).set(cell, !up);
    }
    use(s.request().tenant(), pod, up ? -s.shape().chips() : s.shape().chips());
  }

  private boolean stays(RunningSlice s) {
    for (int cell : pod(s.pod()).topology().cells(s.footprint())) {
      if (taken.get(s.pod()).get(cell)) {
        return false;
      }
    }
    return true;
  }

  /** Chooses for each slice: null stays. */
  private void moves(int f, List<RunningSlice> slices, int at, List<@Nullable Way> ways) {
    if (at == slices.size()) {
      if (ways.stream().anyMatch(w -> w != null)) {
        move(f, slices, ways);
      }
      return;
    }
    if (++nodes > maxNodes) {
      throw new TooLarge();
    }
    RunningSlice s = slices.get(at);
    ways.add(null);
    moves(f, slices, at + 1, ways);
    ways.remove(at);
    boolean within = rules.permission(s.id().request()).withinPod();
    for (Pod pod : pods) {
      if (within && !pod.id().equals(s.pod())) {
        continue;
      }
      for (Way way : ways(s.request(), pod)) {
        boolean same =
            pod.id().equals(s.pod())
                && java.util.Arrays.equals(way.cells(), pod.topology().cells(s.footprint()))
                && (way.footprint().equals(s.footprint())
                    || way.footprint() instanceof Footprint.Cubes)
                && way.shape().sorted().equals(s.shape().sorted());
        if (!same) {
          ways.add(way);
          moves(f, slices, at + 1, ways);
          ways.remove(at);
        }
      }
    }
  }

  private void move(int f, List<RunningSlice> slices, List<@Nullable Way> ways) {
    SliceRequest request = slices.get(0).request();
    List<Pod> on = new ArrayList<>();
    Set<List<Object>> common = new HashSet<>();
    int moved = 0;
    for (int i = 0; i < slices.size(); i++) {
      Way way = ways.get(i);
      Pod pod = way == null ? pod(slices.get(i).pod()) : way.pod();
      Shape shape = way == null ? slices.get(i).shape() : way.shape();
      on.add(pod);
      common.add(
          List.of(pod.topology().accelerator().name(), request.mayTurn() ? shape.sorted() : shape));
      moved += way == null ? 0 : 1;
    }
    if (common.size() > 1 || !spreadHolds(request.spread(), on)) {
      return;
    }
    boolean ok = disturb(slices, moved, 1);
    int done = 0;
    long[] before = value.clone();
    for (; ok && done < slices.size(); done++) {
      Way way = ways.get(done);
      RunningSlice s = slices.get(done);
      if (way == null) {
        if (!stays(s)) {
          ok = false;
          break;
        }
        lift(s, false);
        add("kept " + request.priority(), keptByStaying(s, permission(slices)));
        add("drain", drainedChips(s));
        continue;
      }
      if (!take(way)) {
        ok = false;
        break;
      }
      use(request.tenant(), way.pod(), way.shape().chips());
      add(
          "kept " + request.priority(),
          Math.min(counted(request, s.shape()), counted(request, way.shape())));
      add("price", price(way));
      add("hosts", newHosts(s, way));
    }
    if (ok) {
      running(f + 1);
    }
    for (int i = 0; i < done; i++) {
      Way way = ways.get(i);
      if (way == null) {
        lift(slices.get(i), true);
      } else {
        giveBack(way);
        use(request.tenant(), way.pod(), -way.shape().chips());
      }
    }
    value = before;
    disturb(slices, moved, -1);
  }

  private static long newHosts(RunningSlice s, Way way) {
    TpuTopology t = way.pod().topology();
    Set<HostId> hosts = new HashSet<>();
    for (int cell : way.cells()) {
      hosts.add(t.hostOfCell(cell));
    }
    if (way.pod().id().equals(s.pod())) {
      for (int cell : t.cells(s.footprint())) {
        hosts.remove(t.hostOfCell(cell));
      }
    }
    return hosts.size();
  }

  // ---------------------------------------------------------------- what is wanted

  private void wanted(int r) {
    if (hopeless()) {
      return;
    }
    if (r == requests.size()) {
      if (limitsHold()) {
        best = value.clone();
        bestPlaced = Set.copyOf(placed);
      }
      return;
    }
    SliceRequest request = requests.get(r);
    String level = levelOf(request);
    long most = mostGain(request) * request.slices();
    potential(level, -most);
    Optional<String> gang = request.gang();
    Boolean decided = gang.map(gangs::get).orElse(null);
    if ((decided == null || decided) && (only == null || only.contains(request.id()))) {
      gang.ifPresent(g -> gangs.put(g, true));
      placed.add(request.id());
      Map<List<Object>, List<Way>> common =
          new TreeMap<>(java.util.Comparator.comparing(List::toString));
      for (Pod pod : pods) {
        for (Way way : ways(request, pod)) {
          common
              .computeIfAbsent(
                  List.of(
                      pod.topology().accelerator().name(),
                      request.mayTurn() ? way.shape().sorted() : way.shape()),
                  k -> new ArrayList<>())
              .add(way);
        }
      }
      for (List<Way> ways : common.values()) {
        slices(r, request, ways, 0, new ArrayList<>());
      }
      placed.remove(request.id());
      gang.ifPresent(g -> restore(gangs, g, decided));
    }
    if (decided == null || !decided) {
      gang.ifPresent(g -> gangs.put(g, false));
      wanted(r + 1);
      gang.ifPresent(g -> restore(gangs, g, decided));
    }
    potential(level, most);
  }

  /** Equal slices are interchangeable: ways in ascending order. */
  private void slices(int r, SliceRequest request, List<Way> ways, int from, List<Way> chosen) {
    if (chosen.size() == request.slices()) {
      if (spreadHolds(request.spread(), chosen.stream().map(Way::pod).toList())) {
        wanted(r + 1);
      }
      return;
    }
    if (++nodes > maxNodes) {
      throw new TooLarge();
    }
    for (int w = from; w < ways.size(); w++) {
      Way way = ways.get(w);
      if (!take(way)) {
        continue;
      }
      use(request.tenant(), way.pod(), way.shape().chips());
      boolean phantom = r >= real;
      add(levelOf(request), gain(request, way.shape()));
      add("rank", phantom ? 0 : way.shape().chips() * way.rank());
      add("price", phantom ? 0 : price(way));
      chosen.add(way);
      slices(r, request, ways, w + 1, chosen);
      chosen.remove(chosen.size() - 1);
      add("price", phantom ? 0 : -price(way));
      add("rank", phantom ? 0 : -way.shape().chips() * way.rank());
      add(levelOf(request), -gain(request, way.shape()));
      use(request.tenant(), way.pod(), -way.shape().chips());
      giveBack(way);
    }
  }

  private static boolean spreadHolds(Spread spread, List<Pod> on) {
    Map<String, Integer> byPod = new HashMap<>();
    Map<String, Integer> byDomain = new HashMap<>();
    for (Pod pod : on) {
      byPod.merge(pod.id(), 1, Integer::sum);
      String label = pod.labels().get(spread.label());
      byDomain.merge(label == null ? "pod " + pod.id() : "label " + label, 1, Integer::sum);
    }
    return switch (spread.kind()) {
      case ANY -> true;
      case SAME_POD -> byPod.size() == 1;
      case DIFFERENT_PODS -> byPod.size() == on.size();
      case AT_MOST -> byDomain.values().stream().allMatch(n -> n <= spread.max());
    };
  }

  // ---------------------------------------------------------------- footprints

  private final Map<String, List<Way>> waysOf = new HashMap<>();

  /** All ways of one slice in a pod, what runs or is placed aside. */
  private List<Way> ways(SliceRequest request, Pod pod) {
    return waysOf.computeIfAbsent(
        request.id() + "/" + request.slices() + "@" + pod.id(), k -> listWays(request, pod));
  }

  private List<Way> listWays(SliceRequest request, Pod pod) {
    List<Way> out = new ArrayList<>();
    TpuTopology t = pod.topology();
    boolean matches =
        request.pod().map(pod.id()::equals).orElse(true)
            && (request.accelerators().isEmpty()
                || request.accelerators().contains(t.accelerator().name()))
            && request.requiredLabels().entrySet().stream()
                .allMatch(e -> e.getValue().equals(pod.labels().get(e.getKey())))
            && request.forbiddenLabels().entrySet().stream()
                .noneMatch(
                    e ->
                        pod.labels().containsKey(e.getKey())
                            && e.getValue().contains(pod.labels().get(e.getKey())));
    if (!matches) {
      return out;
    }
    List<Shape> shapes =
        request.shapes().isEmpty()
            ? Collectives.shapesByAllToAll(t, request.chips())
            : request.shapes();
    for (int rank = 0; rank < shapes.size(); rank++) {
      Shape shape = shapes.get(rank);
      if (request.interconnect() == Interconnect.TWISTED && t.twist(shape).isEmpty()) {
        continue;
      }
      for (Footprint f : RandomFleets.footprints(t, shape)) {
        if (request.interconnect() == Interconnect.WRAPAROUND && !t.isTorus(shape, f)
            || !request.mayTurn() && isTurned(t, shape, f)) {
          continue;
        }
        Health health = pod.health().of(t, f);
        if (health == Health.FAILED || health == Health.DEGRADED && request.healthyOnly()) {
          continue;
        }
        int[] cells = t.cells(f);
        BitSet own = new BitSet();
        for (int cell : cells) {
          own.set(cell);
        }
        if (own.intersects(cordoned.get(pod.id())) || isHeld(request, pod, own)) {
          continue;
        }
        out.add(new Way(pod, shape, rank, f, cells));
      }
    }
    return out;
  }

  private static boolean isTurned(TpuTopology t, Shape shape, Footprint f) {
    if (!t.coordinatesKnown() || f instanceof Footprint.Cubes) {
      return false;
    }
    if (f instanceof Footprint.Box box) {
      return !box.extents().equals(shape);
    }
    PartitionForest forest = t.partitions().orElseThrow();
    return forest
        .box(((Footprint.Partition) f).id())
        .map(box -> !box.extents().equals(shape))
        .orElse(false);
  }

  private boolean isHeld(SliceRequest request, Pod pod, BitSet cells) {
    for (Hold hold : pod.holds()) {
      if (rules.now().isBefore(hold.expiry()) && !hold.request().equals(request.id())) {
        for (int cell : pod.topology().cells(hold.footprint())) {
          if (cells.get(cell)) {
            return true;
          }
        }
      }
    }
    return false;
  }

  private boolean take(Way way) {
    BitSet busy = taken.get(way.pod().id());
    for (int cell : way.cells()) {
      if (busy.get(cell)) {
        return false;
      }
    }
    for (int cell : way.cells()) {
      busy.set(cell);
    }
    return true;
  }

  private void giveBack(Way way) {
    for (int cell : way.cells()) {
      taken.get(way.pod().id()).clear(cell);
    }
  }

  // ---------------------------------------------------------------- rules

  private boolean selects(int reserved, Pod pod) {
    return pod.labels()
        .entrySet()
        .containsAll(rules.reserved().get(reserved).podLabels().entrySet());
  }

  private void use(String tenant, Pod pod, long chips) {
    for (int q = 0; q < quotaUsed.length; q++) {
      String accelerator = rules.quotas().get(q).accelerator();
      if (rules.quotas().get(q).tenant().equals(tenant)
          && (accelerator.isEmpty() || accelerator.equals(pod.topology().accelerator().name()))) {
        quotaUsed[q] += chips;
      }
    }
    for (int q = 0; q < reservedUsed.length; q++) {
      if (!rules.reserved().get(q).tenant().equals(tenant) && selects(q, pod)) {
        reservedUsed[q] += chips;
      }
    }
  }

  private String tenant(Hold hold) {
    for (SliceRequest request : requests) {
      if (request.id().equals(hold.request())) {
        return request.tenant();
      }
    }
    for (RunningSlice s : fleet.running()) {
      if (s.id().request().equals(hold.request())) {
        return s.request().tenant();
      }
    }
    return "";
  }

  private long chips(Hold hold) {
    TpuTopology t = pod(hold.pod()).topology();
    return (long) t.cells(hold.footprint()).length * t.chipsPerCell();
  }

  private boolean limitsHold() {
    List<Hold> ended = new ArrayList<>();
    for (Hold hold : fleet.holds()) {
      if (rules.now().isBefore(hold.expiry()) && placed.contains(hold.request())) {
        ended.add(hold);
      }
    }
    ended.forEach(h -> use(tenant(h), pod(h.pod()), -chips(h)));
    boolean ok = true;
    for (int q = 0; q < quotaUsed.length; q++) {
      ok &= quotaUsed[q] <= quotaLimit[q];
    }
    for (int q = 0; q < reservedUsed.length; q++) {
      ok &= reservedUsed[q] <= reservedLimit[q];
    }
    ended.forEach(h -> use(tenant(h), pod(h.pod()), chips(h)));
    return ok;
  }

  // ---------------------------------------------------------------- small things

  private Pod pod(String id) {
    return fleet.pod(id).orElseThrow();
  }

  private boolean isBroken(RunningSlice s) {
    Pod pod = pod(s.pod());
    return pod.health().of(pod.topology(), s.footprint()) == Health.FAILED;
  }

  private static long most(SliceRequest r) {
    return r.shapes().isEmpty() ? r.chips() : r.shapes().get(0).chips();
  }

  private static long counted(SliceRequest r, Shape shape) {
    return Math.min(shape.chips(), most(r));
  }

  private long price(Way way) {
    return way.shape().chips()
        * cost.pricePerChipHourMicros(way.pod().id(), way.pod().topology().accelerator().name());
  }
}
