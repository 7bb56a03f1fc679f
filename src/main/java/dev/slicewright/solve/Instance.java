package dev.slicewright.solve;

import dev.slicewright.cost.Collectives;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Goals;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.ObjectiveLevels;
import dev.slicewright.plan.RuleLimits;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.search.Demand;
import dev.slicewright.search.Demand.Choice;
import dev.slicewright.search.Limit;
import dev.slicewright.search.PodSpace;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One planning problem, resolved: which pods and shapes could serve which request. */
final class Instance {

  /** A running request that the rules let a plan move or evict. */
  record Free(
      SliceRequest request,
      List<RunningSlice> slices,
      boolean[] broken,
      long[] drained,
      Permission permission) {
    /** The chips kept of a slice that stays: none where it should go, and may leave. */
    long keptByStaying(int i) {
      return broken[i] || drained[i] > 0 && permission.evict()
          ? 0
          : ObjectiveLevels.counted(request, slices.get(i).shape());
    }

    /** Whether a slice is better off elsewhere. */
    boolean shouldMove(int i) {
      return broken[i] || drained[i] > 0;
    }
  }

  final Fleet given;
  final Fleet fleet; // the same, its drained parts cordoned
  final Goals goals;
  final List<SliceRequest> requests; // without phantoms
  private final List<SliceRequest> all; // as the demands: phantoms last
  final PlanningRules rules;
  final CostTerms cost;
  final List<Pod> pods;
  private @Nullable Map<String, Integer> podIndex; // by id; made when first asked
  final List<Level> levels;
  final long[] priorities; // wanted, highest first; that of phantoms last
  final List<Demand> demands;
  final List<Limit> limits = new ArrayList<>();
  final long @Nullable [][] credits;
  final List<Free> free = new ArrayList<>();
  final List<RunningSlice> broken = new ArrayList<>(); // pinned or free
  final Map<Long, Long> pinnedKept = new HashMap<>(); // by priority
  long pinnedDrained; // chips of drained parts that nothing can empty
  final int[] matching; // pods that match each request

  Instance(Fleet fleet, List<SliceRequest> requests, PlanningRules rules, CostTerms cost) {
    this.given = fleet;
    this.goals = Goals.of(fleet, rules);
    this.fleet = goals.cordoned(fleet);
    this.requests = requests;
    this.all = goals.with(requests);
    this.rules = rules;
    this.cost = cost;
    this.pods = List.copyOf(this.fleet.pods());
    this.levels = ObjectiveLevels.of(fleet, requests, rules, cost);
    this.priorities =
        levels.stream()
            .filter(l -> l.kind() == Level.Kind.PLACED || l.kind() == Level.Kind.ROOM)
            .mapToLong(Level::priority)
            .toArray();
    readRunning();
    this.matching = new int[all.size()];
    this.demands = resolve();
    this.credits = readRules();
  }

  /** Slice by slice only what is broken or may move or leave; the rest is in the totals. */
  private void readRunning() {
    pinnedKept.putAll(fleet.totals().countedChips());
    for (RunningSlice slice : goals.onDrained(fleet)) {
      pinnedDrained = Math.addExact(pinnedDrained, goals.drainedChips(fleet, slice));
    }
    if (fleet.totals().broken() > 0) {
      for (Pod pod : pods) {
        if (pod.totals().broken() > 0) {
          pod.running().stream().filter(this::isBroken).forEach(broken::add);
        }
      }
      broken.sort(Comparator.comparing(RunningSlice::id));
    }
    if (rules.defaultPermission().move() || rules.defaultPermission().evict()) {
      String last = "";
      for (RunningSlice slice : fleet.running()) {
        if (!slice.id().request().equals(last)) {
          last = slice.id().request();
          readFree(last);
        }
      }
    } else {
      rules.permissions().keySet().forEach(this::readFree);
    }
  }

  private void readFree(String request) {
    Permission permission = ObjectiveLevels.permission(fleet, rules, request);
    if (!permission.move() && !permission.evict()) {
      return;
    }
    List<RunningSlice> all = fleet.runningOf(request);
    boolean[] hurts = new boolean[all.size()];
    long[] drained = new long[hurts.length];
    for (int i = 0; i < hurts.length; i++) {
      RunningSlice slice = all.get(i);
      hurts[i] = isBroken(slice);
      drained[i] = goals.drainedChips(fleet, slice);
      pinnedDrained -= drained[i];
      long counted = hurts[i] ? 0 : ObjectiveLevels.counted(slice.request(), slice.shape());
      pinnedKept.merge(slice.request().priority(), -counted, Math::addExact);
    }
    free.add(new Free(all.get(0).request(), all, hurts, drained, permission));
  }

  /** The number of a pod of the fleet. */
  int podOf(String id) {
    Map<String, Integer> numbers = podIndex;
    if (numbers == null) {
      numbers = new HashMap<>(2 * pods.size());
      for (int p = 0; p < pods.size(); p++) {
        numbers.put(pods.get(p).id(), p);
      }
      podIndex = numbers;
    }
    Integer index = numbers.get(id);
    if (index == null) {
      throw new IllegalStateException("The fleet has no pod " + id + ".");
    }
    return index;
  }

  private boolean isBroken(RunningSlice slice) {
    Pod pod = pods.get(podOf(slice.pod()));
    return !pod.reportedHealth().isEmpty() && pod.healthOf(slice.footprint()) == Health.FAILED;
  }

  // ---------------------------------------------------------------- requests

  /** What all slices of a request have in common. */
  private record ChoiceKey(String accelerator, Shape shape) {}

  private List<Demand> resolve() {
    List<Demand> out = new ArrayList<>(all.size());
    Map<String, Integer> units = new HashMap<>();
    Map<Alike, Ways> alike = new HashMap<>();
    Map<Long, Integer> indexOf = new HashMap<>();
    for (int i = 0; i < priorities.length; i++) {
      indexOf.put(priorities[i], i);
    }
    int unitCount = 0;
    for (int r = 0; r < all.size(); r++) {
      SliceRequest request = all.get(r);
      int unit;
      if (request.gang().isPresent()) {
        Integer known = units.putIfAbsent(request.gang().get(), unitCount);
        unit = known == null ? unitCount++ : known;
      } else {
        unit = unitCount++;
      }
      int priorityIndex = Objects.requireNonNull(indexOf.get(request.priority()));
      boolean phantom = isPhantom(r);
      long gain = phantom ? goals.mostGain(request) : 0;
      Ways ways =
          alike.computeIfAbsent(new Alike(request, phantom, gain), k -> ways(request, phantom));
      matching[r] = ways.matching();
      out.add(new Demand(request, unit, priorityIndex, ways.choices()));
    }
    return out;
  }

  /** How a request could be served, and how many pods match it. */
  private record Ways(List<Choice> choices, int matching) {}

  /** All of a request that its choices depend on. */
  private record Alike(
      boolean phantom,
      long gain,
      List<Shape> shapes,
      long chips,
      boolean mayTurn,
      Interconnect interconnect,
      Spread spread,
      String pod,
      List<String> accelerators,
      Map<String, String> required,
      Map<String, Set<String>> forbidden,
      int slices) {
    Alike(SliceRequest r, boolean phantom, long gain) {
      this(
          phantom,
          gain,
          r.shapes(),
          r.chips(),
          r.mayTurn(),
          r.interconnect(),
          r.spread(),
          r.pod().orElse(""),
          r.accelerators(),
          r.requiredLabels(),
          r.forbiddenLabels(),
          r.slices());
    }
  }

  /** The pods that can form a shape. */
  private static final class Homes {
    final Shape shape; // as in the first of them
    private int[] pods = new int[4];
    private int[] ranks = new int[4];
    private int size;

    Homes(Shape shape) {
      this.shape = shape;
    }

    void add(int pod, int rank) {
      if (size == pods.length) {
        pods = Arrays.copyOf(pods, 2 * size);
        ranks = Arrays.copyOf(ranks, 2 * size);
      }
      pods[size] = pod;
      ranks[size++] = rank;
    }

    int[] pods() {
      return Arrays.copyOf(pods, size);
    }

    int[] ranks() {
      return Arrays.copyOf(ranks, size);
    }
  }

  /** A shape that the pods of one topology can form, and its homes. */
  private record Form(Homes homes, int rank) {}

  /** A phantom's ranks and prices do not count: it does not come to run. */
  private Ways ways(SliceRequest request, boolean phantom) {
    int matches = 0;
    Map<ChoiceKey, Homes> homesOf = new HashMap<>();
    Map<TpuTopology, List<Form>> formsOf = new HashMap<>();
    TpuTopology last = null;
    List<Form> forms = List.of();
    for (int p = 0; p < pods.size(); p++) {
      Pod pod = pods.get(p);
      if (!matches(request, pod)) {
        continue;
      }
      matches++;
      TpuTopology t = pod.topology();
      if (t != last) {
        forms = formsOf.computeIfAbsent(t, k -> forms(request, k, homesOf));
        last = t;
      }
      for (Form form : forms) {
        form.homes().add(p, form.rank());
      }
    }
    List<Choice> out = new ArrayList<>(homesOf.size());
    for (Homes homes : homesOf.values()) {
      Shape shape = homes.shape;
      int[] own = homes.pods();
      int[] ranks = phantom ? new int[own.length] : homes.ranks();
      long[] prices = new long[own.length];
      for (int i = 0; cost.hasPrices() && !phantom && i < own.length; i++) {
        prices[i] = Values.price(this, shape.chips(), own[i]);
      }
      out.add(
          new Choice(
              shape,
              Arrays.stream(homes.ranks()).min().orElse(0),
              phantom ? goals.gain(request, shape) : ObjectiveLevels.counted(request, shape),
              own,
              domains(request.spread(), own),
              ranks,
              prices,
              request.interconnect() == Interconnect.TWISTED));
    }
    // Better rank first; equal there, the cheaper accelerator; then a fixed order.
    out.sort(
        Comparator.comparingInt(Choice::rank)
            .thenComparingLong(c -> Arrays.stream(c.prices()).min().orElse(0))
            .thenComparing(c -> pods.get(c.pods()[0]).topology().accelerator().name())
            .thenComparing(Choice::shape));
    return new Ways(List.copyOf(out), matches);
  }

  private List<Form> forms(SliceRequest request, TpuTopology t, Map<ChoiceKey, Homes> homesOf) {
    List<Shape> options = Collectives.shapeOptions(request, t);
    List<Form> forms = new ArrayList<>(options.size());
    for (int rank = 0; rank < options.size(); rank++) {
      Shape shape = options.get(rank);
      if (t.isLegal(shape)
          && (request.interconnect() != Interconnect.TWISTED || t.twist(shape).isPresent())) {
        ChoiceKey key =
            new ChoiceKey(t.accelerator().name(), request.mayTurn() ? shape.sorted() : shape);
        forms.add(new Form(homesOf.computeIfAbsent(key, k -> new Homes(shape)), rank));
      }
    }
    return forms;
  }

  private int[] domains(Spread spread, int[] own) {
    int[] domains = new int[own.length];
    if (spread.label().isEmpty()) {
      Arrays.setAll(domains, i -> i);
      return domains;
    }
    Map<String, Integer> known = new HashMap<>();
    for (int i = 0; i < own.length; i++) {
      String label = spread.label();
      String value = label.isEmpty() ? null : pods.get(own[i]).labels().get(label);
      // A pod without the label is a domain of its own; labels and pods must not meet.
      String key = value == null ? "pod " + own[i] : "label " + value;
      domains[i] = known.computeIfAbsent(key, k -> known.size());
    }
    return domains;
  }

  /** Whether a request may be placed in a pod, its shapes aside. */
  static boolean matches(SliceRequest request, Pod pod) {
    if (request.pod().isPresent() && !request.pod().get().equals(pod.id())) {
      return false;
    }
    if (!request.accelerators().isEmpty()
        && !request.accelerators().contains(pod.topology().accelerator().name())) {
      return false;
    }
    for (Map.Entry<String, String> label : request.requiredLabels().entrySet()) {
      if (!label.getValue().equals(pod.labels().get(label.getKey()))) {
        return false;
      }
    }
    for (Map.Entry<String, Set<String>> label : request.forbiddenLabels().entrySet()) {
      String has = pod.labels().get(label.getKey());
      if (has != null && label.getValue().contains(has)) {
        return false;
      }
    }
    return true;
  }

  // ---------------------------------------------------------------- rules

  /** What a rule allows, and what its tenant, or all others, use now. */
  record Usage(long limit, long used) {}

  final List<Usage> usages = new ArrayList<>();

  /** Fills {@link #limits}; returns what each demand's own live holds count in them. */
  private long @Nullable [][] readRules() {
    int quotas = rules.quotas().size();
    int n = quotas + rules.reserved().size();
    if (n == 0) {
      return null;
    }
    RuleLimits sums = RuleLimits.of(fleet, requests, rules);
    long[][] credit = null;
    for (int l = 0; l < n; l++) {
      boolean others = l >= quotas;
      String tenant =
          others ? rules.reserved().get(l - quotas).tenant() : rules.quotas().get(l).tenant();
      Limit probe = new Limit(tenant, others, podsOf(l, quotas), 0);
      long used = others ? sums.reservedFixed(l - quotas) : sums.quotaFixed(l);
      for (Free running : free) {
        for (RunningSlice slice : running.slices()) {
          if (probe.counts(slice.request().tenant(), podOf(slice.pod()))) {
            used += slice.shape().chips();
          }
        }
      }
      for (int r = 0; !fleet.holds().isEmpty() && r < all.size(); r++) {
        for (Hold hold : fleet.holdsOf(all.get(r).id())) {
          int p = podOf(hold.pod());
          if (hold.isLive(rules.now()) && probe.counts(all.get(r).tenant(), p)) {
            TpuTopology t = pods.get(p).topology();
            long chips = (long) t.cells(hold.footprint()).length * t.chipsPerCell();
            used += chips;
            credit = credit == null ? new long[all.size()][n] : credit;
            credit[r][l] += chips;
          }
        }
      }
      Usage usage = new Usage(others ? sums.reservedLimit(l - quotas) : sums.quotaLimit(l), used);
      usages.add(usage);
      limits.add(new Limit(tenant, others, probe.pods(), usage.limit() - usage.used()));
    }
    return credit;
  }

  /** The pods where a limit counts; null for all. */
  private @Nullable BitSet podsOf(int l, int quotas) {
    boolean others = l >= quotas;
    if (others
        ? rules.reserved().get(l - quotas).podLabels().isEmpty()
        : rules.quotas().get(l).accelerator().isEmpty()) {
      return null;
    }
    BitSet in = new BitSet();
    for (int p = 0; p < pods.size(); p++) {
      in.set(p, others ? selects(l - quotas, pods.get(p)) : counts(l, pods.get(p)));
    }
    return in;
  }

  private boolean counts(int quota, Pod pod) {
    String accelerator = rules.quotas().get(quota).accelerator();
    return accelerator.isEmpty()
        || accelerator.equalsIgnoreCase(pod.topology().accelerator().name());
  }

  private boolean selects(int reserved, Pod pod) {
    return pod.labels()
        .entrySet()
        .containsAll(rules.reserved().get(reserved).podLabels().entrySet());
  }

  /** Whether the slices of a running request lie as it asks. */
  boolean keepsSpread(Free free) {
    Spread spread = free.request().spread();
    Map<String, Integer> count = new HashMap<>();
    for (RunningSlice slice : free.slices()) {
      String label = spread.label();
      String value = label.isEmpty() ? null : pods.get(podOf(slice.pod())).labels().get(label);
      count.merge(value == null ? "pod " + slice.pod() : "label " + value, 1, Integer::sum);
    }
    int most = count.values().stream().mapToInt(Integer::intValue).max().orElse(0);
    return switch (spread.kind()) {
      case ANY -> true;
      case SAME_POD -> count.size() <= 1;
      case DIFFERENT_PODS -> most <= 1;
      case AT_MOST -> most <= spread.max();
    };
  }

  /** A pod as it would be if all that may move or leave had gone, nothing of the batch placed. */
  PodSpace cleared(int pod) {
    PodSpace space = PodSpace.of(pods.get(pod), rules.now(), false);
    for (Free running : free) {
      for (RunningSlice slice : running.slices()) {
        if (podOf(slice.pod()) == pod) {
          space.setTaken(slice.footprint(), false);
        }
      }
    }
    return space;
  }

  /** Whether a demand only asks for room. */
  boolean isPhantom(int demand) {
    return demand >= requests.size();
  }

  /** Whether a demand only asks for room. */
  boolean isPhantom(Demand demand) {
    return !goals.phantoms().isEmpty() && demand.priorityIndex() == priorities.length - 1;
  }

  /** Whether one slice is all that is wanted, if only room for it. */
  boolean isSingle() {
    return demands.size() == 1 && demands.get(0).request().slices() == 1;
  }

  /** The index of a level. */
  int level(Level.Kind kind, long priority) {
    for (int i = 0; i < levels.size(); i++) {
      if (levels.get(i).kind() == kind && levels.get(i).priority() == priority) {
        return i;
      }
    }
    return -1;
  }
}
