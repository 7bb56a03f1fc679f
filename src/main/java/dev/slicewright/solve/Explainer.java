package dev.slicewright.solve;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Reason;
import dev.slicewright.plan.StopReason;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.plan.Unplaced.BlockingHost;
import dev.slicewright.plan.Unplaced.Evidence;
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
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Says why a request is not placed, by asking what would have let it in: an empty fleet, healthy
 * parts, no cordons, no holds, no spread, no rivals. Each question is a placement of the request
 * alone, so an answer "it would fit" is always right; "it would not" is the search's, exact for one
 * slice.
 */
final class Explainer {

  /** Tries for a request of several slices that does not fit at once, and up to how many. */
  private static final int ROUNDS_ALONE = 50;

  private static final int MAX_SLICES_SHUFFLED = 64;

  private static final int MAX_BLOCKERS = 16;
  private static final int MAX_SHAPES_TRIED = 200;
  private static final int MAX_TAKERS = 3;

  /** Near legal shapes asked of each kind of pod, and offered of all; kinds named in a sentence. */
  private static final int NEAR_SHAPES = 3;

  private static final int MAX_SHAPES_OFFERED = 4;
  private static final int MAX_KINDS_NAMED = 3;

  private final Instance in;
  private final Solution solution;
  private final StopReason stopped;
  private final boolean proved;
  private final Stop stop;
  private final Map<Integer, PodSpace> after = new HashMap<>();
  private final Map<Integer, CellSet> busyAfter = new HashMap<>();
  private final Map<String, List<Pod>> variants = new HashMap<>();
  private final Map<List<Pod>, Map<Integer, PodSpace>> spaces = new IdentityHashMap<>();
  private final Map<List<Object>, List<Shape>> largestLegal = new HashMap<>(); // descending
  private final Map<TpuTopology, PodSpace> emptySpaces = new HashMap<>();
  private @Nullable Map<Integer, Changed> changed; // by pod; made when first asked

  Explainer(Instance in, Solution solution, StopReason stopped, boolean proved, Stop stop) {
    this.in = in;
    this.solution = solution;
    this.stopped = stopped;
    this.proved = proved;
    this.stop = stop;
    this.free = new long[in.pods.size()];
    this.freeHealthy = new long[in.pods.size()];
    Arrays.fill(free, -1);
    Arrays.fill(freeHealthy, -1);
    this.usable = new long[in.pods.size()];
    this.usableHealthy = new long[in.pods.size()];
    Arrays.fill(usable, -1);
    Arrays.fill(usableHealthy, -1);
  }

  private final Map<List<Object>, Unplaced> memo = new HashMap<>();

  /** Why a demand is not placed; alike demands get the same answer, found once. */
  Unplaced explain(int d) {
    Demand demand = in.demands.get(d);
    List<Object> key = alike(d);
    if (key == null) {
      return explainAnew(d);
    }
    key.add(demand.request().priority());
    key.add(demand.request().gang().isPresent() ? demand.unit() : -1);
    Unplaced known = memo.get(key);
    if (known == null) {
      known = explainAnew(d);
      memo.put(key, known);
    }
    return new Unplaced(
        demand.request().id(), known.reason(), known.never(), known.evidence(), known.sentence());
  }

  /** What demands that fit alike alone have in common, or null if a hold makes it unlike others. */
  private @Nullable List<Object> alike(int d) {
    Demand demand = in.demands.get(d);
    SliceRequest request = demand.request();
    if (!in.fleet.holdsOf(request.id()).isEmpty()) {
      return null;
    }
    if (request.gang().isPresent()) {
      request = request.toBuilder().gang("").build();
      demand = new Demand(request, demand.unit(), demand.priorityIndex(), demand.choices());
    }
    return PlacementSearch.classKey(demand);
  }

  private final Map<Integer, List<Integer>> units = new HashMap<>();

  /** The demands of a unit. */
  private List<Integer> unit(int number) {
    if (units.isEmpty()) {
      for (int d = 0; d < in.demands.size(); d++) {
        units.computeIfAbsent(in.demands.get(d).unit(), u -> new ArrayList<>()).add(d);
      }
    }
    return units.getOrDefault(number, List.of());
  }

  private final Map<List<Object>, Boolean> fitting = new HashMap<>();

  /** Whether a member of a gang fits, the others aside; found once for those alike. */
  private boolean memberFits(int d) {
    List<Object> key = alike(d);
    if (key == null) {
      return ruled(d, 0) == null && fitsAlone(d, in.pods);
    }
    Boolean known = fitting.get(key);
    if (known == null) {
      known = ruled(d, 0) == null && fitsAlone(d, in.pods);
      fitting.put(key, known);
    }
    return known;
  }

  /** Time is up in the midst of a question: what was not asked is not known. */
  static final class OutOfTime extends RuntimeException {
    private static final long serialVersionUID = 1;

    OutOfTime() {
      super("out of time", null, false, false);
    }
  }

  private void inTime() {
    if (stop.getAsBoolean()) {
      throw new OutOfTime();
    }
  }

  private Unplaced explainAnew(int d) {
    try {
      return explainInTime(d);
    } catch (OutOfTime e) {
      SliceRequest request = in.demands.get(d).request();
      return late(request, evidence(d, wantedChips(request)));
    }
  }

  private Unplaced explainInTime(int d) {
    Demand demand = in.demands.get(d);
    SliceRequest request = demand.request();
    long wanted = wantedChips(request);
    if (in.matching[d] == 0) {
      boolean never = true;
      return new Unplaced(
          request.id(),
          Reason.NO_POD_MATCHES,
          never,
          Evidence.of(wanted),
          "No pod of this fleet matches "
              + selectors(request)
              + "; add such a pod or change what the request selects.");
    }
    if (demand.choices().isEmpty()) {
      return notFormable(d, request, wanted);
    }
    if (request.interconnect() == Interconnect.WRAPAROUND && wrapsNowhere(demand)) {
      return notFormable(d, request, wanted);
    }
    if (stop.getAsBoolean()) {
      return late(request, evidence(d, wanted));
    }
    String never = never(demand);
    if (!never.isEmpty()) {
      return new Unplaced(
          request.id(),
          neverAlone(demand).isEmpty() ? Reason.GANG_INCOMPLETE : Reason.OVER_CAPACITY,
          true,
          evidence(d, wanted),
          never);
    }
    Unplaced rule = ruled(d, wanted);
    if (rule != null) {
      return rule;
    }
    Evidence evidence = evidence(d, wanted);
    if (evidence.freeChips() < least(demand)) {
      return new Unplaced(
          request.id(),
          Reason.NOT_ENOUGH_FREE,
          false,
          evidence,
          "It wants "
              + chips(wanted)
              + ", but only "
              + chips(evidence.freeChips())
              + (evidence.freeChips() == 1 ? " is" : " are")
              + " free in the "
              + matching(evidence)
              + remedy(demand));
    }
    if (stop.isLate() || stop.isCancelled()) {
      return late(request, evidence);
    }
    if (!fitsAlone(d, in.pods)) {
      try {
        int limit = bindingLimit(d);
        return limit >= 0 ? overLimit(d, limit, wanted) : alone(d, demand, evidence);
      } catch (OutOfTime e) {
        return unexplained(request, evidence);
      }
    }
    return rivals(d, demand, evidence);
  }

  private static String chips(long n) {
    return count(n) + (n == 1 ? " chip" : " chips");
  }

  /** As the reports write numbers. */
  private static String count(long n) {
    return String.format(Locale.ROOT, "%,d", n);
  }

  private static String matching(Evidence evidence) {
    return evidence.matchingPods() == 1
        ? "only pod that matches"
        : count(evidence.matchingPods()) + " pods that match";
  }

  private static long wantedChips(SliceRequest request) {
    long one = request.shapes().isEmpty() ? request.chips() : request.shapes().get(0).chips();
    return Math.multiplyExact(one, (long) request.slices());
  }

  /** What helps a request for which too few chips are free; waiting does not always. */
  private String remedy(Demand demand) {
    long usable = 0;
    BitSet pods = podsOf(demand);
    for (int p = pods.nextSetBit(0); p >= 0; p = pods.nextSetBit(p + 1)) {
      usable += usableChips(p, demand.request().healthyOnly());
    }
    return usable < least(demand)
        ? "; if all that runs there ended, "
            + chips(usable)
            + " could be used, since parts have failed or are cordoned: repair or uncordon them."
        : "; wait for a slice to end, or free room.";
  }

  /** Chips of a pod that are neither failed nor cordoned, whatever runs on them. */
  private long usableChips(int p, boolean healthyOnly) {
    long[] known = healthyOnly ? usableHealthy : usable;
    if (known[p] < 0) {
      Pod pod = in.pods.get(p);
      CellSet failed = pod.health().failedCells();
      CellSet degraded = pod.health().degradedCells();
      CellSet off = pod.cordonedCells();
      TpuTopology t = pod.topology();
      long cells = t.cellCount();
      for (int i = 0; i < failed.wordCount(); i++) {
        cells -= Long.bitCount(failed.word(i) | off.word(i) | (healthyOnly ? degraded.word(i) : 0));
      }
      known[p] = cells * t.chipsPerCell();
    }
    return known[p];
  }

  private static BitSet podsOf(Demand demand) {
    BitSet pods = new BitSet();
    for (Choice choice : demand.choices()) {
      for (int p : choice.pods()) {
        pods.set(p);
      }
    }
    return pods;
  }

  private static long least(Demand demand) {
    long least = Long.MAX_VALUE;
    for (Choice choice : demand.choices()) {
      least = Math.min(least, choice.shape().chips() * demand.request().slices());
    }
    return least;
  }

  private static String selectors(SliceRequest request) {
    List<String> parts = new ArrayList<>();
    request.pod().ifPresent(p -> parts.add("pod " + p));
    if (!request.accelerators().isEmpty()) {
      parts.add("accelerator " + String.join(" or ", request.accelerators()));
    }
    request.requiredLabels().forEach((k, v) -> parts.add("label " + k + "=" + v));
    request.forbiddenLabels().forEach((k, v) -> parts.add("not label " + k + "=" + v));
    return parts.isEmpty() ? "(the fleet has no pods)" : String.join(", ", parts);
  }

  // ---------------------------------------------------------------- never

  /** A legal shape near a wanted one, and how far off: in dimensions, in chips, in extents. */
  private record Near(Shape shape, boolean otherRank, double ratio, int extents)
      implements Comparable<Near> {

    static Near of(Shape legal, long chips) {
      return new Near(legal, false, ratio(legal.chips(), chips), 0);
    }

    static Near of(Shape legal, Shape wanted) {
      Shape s = legal.sorted();
      Shape w = wanted.sorted();
      return new Near(
          legal,
          legal.rank() != wanted.rank(),
          ratio(legal.chips(), wanted.chips()),
          Math.abs(s.x() - w.x()) + Math.abs(s.y() - w.y()) + Math.abs(s.z() - w.z()));
    }

    private static double ratio(long a, long b) {
      return (double) Math.max(a, b) / Math.min(a, b);
    }

    private static final Comparator<Near> ORDER =
        Comparator.comparing(Near::otherRank)
            .thenComparingDouble(Near::ratio)
            .thenComparingInt(Near::extents);

    @Override
    public int compareTo(Near other) {
      return ORDER.compare(this, other);
    }
  }

  /** Why one kind of pod cannot form a request; the nearest is missing where time is up. */
  private record Illegal(Pod pod, String why, @Nullable Near nearest) {}

  private Unplaced notFormable(int d, SliceRequest request, long wanted) {
    List<Near> near = new ArrayList<>();
    List<Illegal> illegal = new ArrayList<>();
    boolean shapes = false;
    boolean optical = false;
    Set<String> accelerators = new LinkedHashSet<>();
    Set<TpuTopology> seen = new HashSet<>();
    TpuTopology last = null;
    for (Pod pod : in.pods) {
      TpuTopology t = pod.topology();
      if (t == last || seen.contains(t) || !Instance.matches(request, pod)) {
        continue;
      }
      seen.add(t);
      last = t;
      accelerators.add(t.accelerator().toString());
      optical |= t.isOptical();
      if (request.shapes().isEmpty()) {
        if (!t.shapesFor(request.chips()).isEmpty()) {
          shapes = true;
        } else if (!stop.getAsBoolean()) {
          t.nearestLegalShapes(request.chips(), NEAR_SHAPES)
              .forEach(s -> near.add(Near.of(s, request.chips())));
        }
        continue;
      }
      Illegal here = null;
      for (Shape shape : request.shapes()) {
        String no = t.whyNotLegal(shape).orElse("");
        shapes |= no.isEmpty();
        if (no.isEmpty()) {
          continue;
        }
        Near nearest = null;
        // The reason is known without looking through a large pod's shapes.
        if (!stop.getAsBoolean()) {
          for (Shape legal : t.nearestLegalShapes(shape, NEAR_SHAPES)) {
            Near n = Near.of(legal, shape);
            near.add(n);
            nearest = nearest == null || n.compareTo(nearest) < 0 ? n : nearest;
          }
        }
        if (here == null || isNearer(nearest, here.nearest())) {
          here = new Illegal(pod, no, nearest);
        }
      }
      if (here != null) {
        illegal.add(here);
      }
    }
    List<Shape> offer = nearest(near);
    Evidence evidence =
        new Evidence(wanted, freeChips(d), in.matching[d], null, List.of(), List.of(), offer, 0, 0);
    if (shapes || !in.demands.get(d).choices().isEmpty()) {
      return new Unplaced(
          request.id(),
          Reason.INTERCONNECT_NOT_FORMABLE,
          true,
          evidence,
          request.interconnect() == Interconnect.TWISTED
              ? !optical
                  ? "Slices of "
                      + String.join(" and ", accelerators)
                      + " cannot be twisted at all: only those of whole optical cubes can."
                  : "None of its shapes can be twisted; shapes k x k x 2k and k x 2k x 2k of whole cubes"
                      + " can."
              : "None of its shapes wraps on every axis in the pods that match.");
    }
    return new Unplaced(
        request.id(),
        Reason.SHAPE_NOT_FORMABLE,
        true,
        evidence,
        (request.shapes().isEmpty()
                ? "No legal shape of "
                    + String.join(" or ", accelerators)
                    + " has exactly "
                    + chips(request.chips())
                    + "."
                : whyIllegal(illegal))
            + (offer.isEmpty()
                ? ""
                : " The nearest legal shapes are "
                    + String.join(", ", offer.stream().map(Shape::toString).toList())
                    + "."));
  }

  private static boolean isNearer(@Nullable Near a, @Nullable Near b) {
    return a != null && (b == null || a.compareTo(b) < 0);
  }

  /** The nearest few of all pods, nearest first; of turns of one shape the first. */
  private static List<Shape> nearest(List<Near> near) {
    Map<Shape, Shape> bySorted = new LinkedHashMap<>();
    near.stream().sorted().forEach(n -> bySorted.putIfAbsent(n.shape().sorted(), n.shape()));
    return bySorted.values().stream().limit(MAX_SHAPES_OFFERED).toList();
  }

  /** One sentence, or where several kinds of pods match one for each, what comes nearest first. */
  private static String whyIllegal(List<Illegal> illegal) {
    if (illegal.size() == 1) {
      return illegal.get(0).why();
    }
    List<Illegal> sorted = new ArrayList<>(illegal);
    sorted.sort(
        (a, b) ->
            isNearer(a.nearest(), b.nearest()) ? -1 : isNearer(b.nearest(), a.nearest()) ? 1 : 0);
    StringBuilder text = new StringBuilder();
    for (Illegal one : sorted.subList(0, Math.min(MAX_KINDS_NAMED, sorted.size()))) {
      text.append(text.isEmpty() ? "" : " ")
          .append("Pod ")
          .append(one.pod().id())
          .append(" (")
          .append(one.pod().topology().accelerator())
          .append("): ")
          .append(one.why());
    }
    int more = sorted.size() - MAX_KINDS_NAMED;
    if (more > 0) {
      text.append(" Nor can ").append(count(more)).append(" more ");
      text.append(more == 1 ? "kind" : "kinds").append(" of pod.");
    }
    return text.toString();
  }

  /** Why not even the empty fleet could hold its unit, or an empty string. Only what is proved. */
  private String never(Demand demand) {
    String own = neverAlone(demand);
    if (!own.isEmpty()) {
      return own;
    }
    for (int o : unit(demand.unit())) {
      Demand other = in.demands.get(o);
      String why = other == demand ? "" : neverAlone(other);
      if (!why.isEmpty()) {
        return "Its gang needs " + other.request().id() + ", which can never be placed: " + why;
      }
    }
    return "";
  }

  /** Whether only its asking for wraparound keeps a request out of every empty pod. */
  private boolean wrapsNowhere(Demand demand) {
    Demand loose =
        new Demand(
            demand.request().toBuilder().interconnect(Interconnect.ANY).build(),
            demand.unit(),
            demand.priorityIndex(),
            demand.choices());
    boolean any = false;
    for (Choice choice : demand.choices()) {
      inTime();
      for (int p : choice.pods()) {
        if (capacity(demand, choice, p) > 0) {
          return false;
        }
        any |= capacity(loose, choice, p) > 0;
      }
    }
    return any;
  }

  private String neverAlone(Demand demand) {
    SliceRequest request = demand.request();
    int most = 0;
    if (demand.choices().isEmpty()) {
      return "No pod that matches can form it.";
    }
    for (Choice choice : demand.choices()) {
      inTime();
      Map<Integer, Long> byDomain = new HashMap<>();
      long sum = 0;
      long best = 0;
      int podsAble = 0;
      for (int at = 0; at < choice.pods().length; at++) {
        long n = capacity(demand, choice, choice.pods()[at]);
        best = Math.max(best, n);
        podsAble += n > 0 ? 1 : 0;
        sum += n;
        byDomain.merge(choice.domains()[at], n, Long::sum);
      }
      long can =
          switch (request.spread().kind()) {
            case ANY -> sum;
            case SAME_POD -> best;
            case DIFFERENT_PODS -> podsAble;
            case AT_MOST ->
                byDomain.values().stream()
                    .mapToLong(n -> Math.min(n, request.spread().max()))
                    .sum();
          };
      most = (int) Math.max(most, Math.min(can, Integer.MAX_VALUE));
    }
    return most >= request.slices()
        ? ""
        : "Even empty and healthy, the pods that match hold at most "
            + count(most)
            + " of its "
            + count(request.slices())
            + (request.slices() == 1 ? " slice" : " slices")
            + (request.spread().kind() == Spread.Kind.ANY ? "." : " under its spread rule.");
  }

  /** At most how many slices of a choice an empty pod holds: an upper bound. */
  private long capacity(Demand demand, Choice choice, int pod) {
    TpuTopology t = in.pods.get(pod).topology();
    PodSpace space = emptySpaces.get(t);
    if (space == null) {
      Fleet fleet = Fleet.builder().pod("empty", t).build();
      space = PodSpace.of(fleet.pods().iterator().next(), in.rules.now(), false);
      emptySpaces.put(t, space);
    }
    Want want = PlacementSearch.wantOf(demand, choice, space.pod(), in.rules.now());
    int number = space.register(want);
    if (number < 0) {
      return 0;
    }
    int cubes = t.cubesOf(choice.shape());
    if (cubes > 0) {
      return t.cubeCount() / cubes;
    }
    if (t.partitions().isPresent()
        && !(t.slicing() instanceof Slicing.OpticalCubes o && o.boxesInCube())) {
      return t.partitions().get().ofShape(choice.shape()).size();
    }
    return t.chipCount() / choice.shape().chips();
  }

  // ---------------------------------------------------------------- rules

  private @Nullable Unplaced ruled(int d, long wanted) {
    Demand demand = in.demands.get(d);
    SliceRequest request = demand.request();
    for (int l = 0; l < in.limits.size(); l++) {
      boolean binds = true;
      for (Choice choice : demand.choices()) {
        long need = choice.shape().chips() * request.slices();
        for (int pod : choice.pods()) {
          long credit = in.credits == null ? 0 : in.credits[d][l];
          binds &=
              in.limits.get(l).counts(request.tenant(), pod)
                  && need - credit > in.limits.get(l).room();
        }
      }
      if (binds) {
        return overLimit(d, l, wanted);
      }
    }
    return null;
  }

  /** The limit but for which a request would fit alone, or -1. */
  private int bindingLimit(int d) {
    if (in.limits.isEmpty() || !fits(d, in.pods, false, List.of(), null)) {
      return -1;
    }
    for (int l = 0; l < in.limits.size(); l++) {
      List<Limit> others = new ArrayList<>(in.limits);
      Limit own = others.get(l);
      others.set(l, new Limit(own.tenant(), own.others(), own.pods(), Long.MAX_VALUE / 4));
      if (fits(d, in.pods, false, others, in.credits)) {
        return l;
      }
    }
    return 0; // several together
  }

  private Unplaced overLimit(int d, int l, long wanted) {
    SliceRequest request = in.demands.get(d).request();
    int quotas = in.rules.quotas().size();
    Instance.Usage usage = in.usages.get(l);
    Evidence e =
        new Evidence(
            wanted,
            freeChips(d),
            in.matching[d],
            null,
            List.of(),
            List.of(),
            List.of(),
            usage.limit(),
            usage.used());
    return l < quotas
        ? new Unplaced(
            request.id(),
            Reason.OVER_QUOTA,
            false,
            e,
            "Tenant "
                + request.tenant()
                + " may have "
                + chips(usage.limit())
                + " and uses "
                + count(usage.used())
                + ", so "
                + chips(wanted)
                + " more would pass its quota.")
        : new Unplaced(
            request.id(),
            Reason.RESERVED,
            false,
            e,
            reserved(in.rules.reserved().get(l - quotas).tenant(), usage, wanted));
  }

  private static String reserved(String tenant, Instance.Usage usage, long wanted) {
    long sum = usage.used() + wanted;
    return sum > usage.limit()
        ? count(wanted)
            + " more would make "
            + chips(sum)
            + " there; all but tenant "
            + tenant
            + " may have "
            + count(Math.max(0, usage.limit()))
            + " of the pods where capacity is reserved for it."
        : "All but tenant "
            + tenant
            + " may have "
            + chips(Math.max(0, usage.limit()))
            + " of the pods where capacity is reserved for it and use "
            + count(usage.used())
            + ", and with what else limits it the rest does not do.";
  }

  // ---------------------------------------------------------------- room

  private final long[] free; // by pod, for requests without holds; -1 where not counted yet
  private final long[] freeHealthy; // the same for those that want healthy parts
  private final long[] usable; // chips neither failed nor cordoned, by pod; -1 before it is known
  private final long[] usableHealthy; // the same for those that want healthy parts

  private long freeChips(int d) {
    Demand demand = in.demands.get(d);
    SliceRequest request = demand.request();
    BitSet seen = podsOf(demand);
    if (demand.choices().isEmpty()) { // no pod can form it; free chips there are all the same
      for (int p = 0; p < in.pods.size(); p++) {
        seen.set(p, Instance.matches(request, in.pods.get(p)));
      }
    }
    boolean holds = !in.fleet.holdsOf(request.id()).isEmpty();
    long[] known = request.healthyOnly() ? freeHealthy : free;
    long sum = 0;
    for (int p = seen.nextSetBit(0); p >= 0; p = seen.nextSetBit(p + 1)) {
      if (holds) {
        sum += freeChips(in.pods.get(p), request, in.pods.get(p).busy());
        continue;
      }
      if (known[p] < 0) {
        known[p] = freeChips(in.pods.get(p), request, in.pods.get(p).busy());
      }
      sum += known[p];
    }
    return sum;
  }

  /**
   * Chips free for a request: neither taken, failed, cordoned nor held, nor degraded if it minds.
   */
  private long freeChips(Pod pod, SliceRequest request, CellSet busy) {
    TpuTopology t = pod.topology();
    if (busy == pod.busy() && !pod.hasHolds() && !request.healthyOnly()) {
      return (long) pod.room().freeCells() * t.chipsPerCell();
    }
    CellSet failed = pod.health().failedCells();
    CellSet degraded = pod.health().degradedCells();
    CellSet off = pod.cordonedCells();
    CellSet held = CellSet.empty(t.cellCount());
    for (Hold hold : pod.holds()) {
      if (hold.isLive(in.rules.now()) && !hold.request().equals(request.id())) {
        held = held.with(t.cells(hold.footprint()));
      }
    }
    long cells = 0;
    for (int i = 0; i < busy.wordCount(); i++) {
      cells +=
          Long.bitCount(
              busy.word(i)
                  | failed.word(i)
                  | off.word(i)
                  | held.word(i)
                  | (request.healthyOnly() ? degraded.word(i) : 0));
    }
    return (t.cellCount() - cells) * t.chipsPerCell();
  }

  private Evidence evidence(int d, long wanted) {
    return new Evidence(
        wanted, freeChips(d), in.matching[d], largest(d), List.of(), List.of(), List.of(), 0, 0);
  }

  /** The largest legal shape, no larger than the one wanted, that still fits after the plan. */
  private @Nullable Shape largest(int d) {
    Demand demand = in.demands.get(d);
    Shape best = null;
    long limit = demand.sliceChips();
    for (Choice choice : demand.choices()) {
      for (int p : choice.pods()) {
        Pod pod = in.pods.get(p);
        TpuTopology t = pod.topology();
        if (best != null && best.chips() >= limit) {
          return best;
        }
        if (stop.getAsBoolean()) {
          return null;
        }
        long free = (long) pod.room().freeCells() * t.chipsPerCell();
        if (best != null && !freed(p) && free <= best.chips()) {
          continue;
        }
        List<Shape> shapes =
            largestLegal.computeIfAbsent(
                List.of(t, limit), k -> t.largestLegalShapes(limit, MAX_SHAPES_TRIED));
        for (Shape shape : shapes) {
          if (stop.getAsBoolean()) {
            return null; // a larger one may fit
          }
          if (best != null && shape.chips() <= best.chips()) {
            break;
          }
          if (!freed(p)
              && PodSpace.bestCase(pod, shape, demand.request().healthyOnly())
                  == Double.POSITIVE_INFINITY) {
            continue;
          }
          PodSpace space = after(p);
          if (space.fits(
              space.register(new Want(shape, true, demand.request().healthyOnly(), false, "")))) {
            best = shape;
            break;
          }
        }
      }
      break;
    }
    return best;
  }

  /** What the plan changes in a pod. */
  private record Changed(List<Footprint> freed, List<Footprint> taken) {}

  private Map<Integer, Changed> changed() {
    Map<Integer, Changed> known = changed;
    if (known == null) {
      known = new HashMap<>();
      for (Instance.Free free : in.free) {
        for (RunningSlice slice : free.slices()) {
          if (solution.evicted().contains(free.request().id())
              || solution.moved().containsKey(slice.id())) {
            changed(known, in.podOf(slice.pod())).freed().add(slice.footprint());
          }
        }
      }
      for (Assignment a : solution.placed()) {
        for (int s = 0; a != null && s < a.footprints().size(); s++) {
          changed(known, a.pods()[s]).taken().add(a.footprints().get(s));
        }
      }
      for (Solution.Target target : solution.moved().values()) {
        changed(known, target.pod()).taken().add(target.footprint());
      }
      changed = known;
    }
    return known;
  }

  private static Changed changed(Map<Integer, Changed> changes, int pod) {
    return changes.computeIfAbsent(pod, p -> new Changed(new ArrayList<>(), new ArrayList<>()));
  }

  private static final Changed NOTHING = new Changed(List.of(), List.of());

  /**
   * Whether the plan frees anything in a pod, so that it may have more room than its figures say.
   */
  private boolean freed(int p) {
    return !changed().getOrDefault(p, NOTHING).freed().isEmpty();
  }

  /** The taken cells of a pod after the plan. */
  private CellSet busyAfter(int p) {
    TpuTopology t = in.pods.get(p).topology();
    CellSet busy = in.pods.get(p).busy();
    Changed change = changed().getOrDefault(p, NOTHING);
    for (Footprint footprint : change.freed()) {
      busy = busy.without(t.cells(footprint));
    }
    for (Footprint footprint : change.taken()) {
      busy = busy.with(t.cells(footprint));
    }
    return busy;
  }

  /** A pod after the plan. */
  private PodSpace after(int p) {
    PodSpace known = after.get(p);
    if (known == null) {
      known = PodSpace.of(in.pods.get(p), in.rules.now(), false);
      Changed change = changed().getOrDefault(p, NOTHING);
      for (Footprint footprint : change.freed()) {
        known.setTaken(footprint, false);
      }
      for (Footprint footprint : change.taken()) {
        known.setTaken(footprint, true);
      }
      after.put(p, known);
    }
    return known;
  }

  /** Whether one slice of a choice fits in a pod after the plan. */
  private boolean fitsAfter(Demand demand, Choice choice, int p) {
    Pod pod = in.pods.get(p);
    return (freed(p)
            || PodSpace.bestCase(pod, choice.shape(), demand.request().healthyOnly())
                < Double.POSITIVE_INFINITY)
        && after(p)
            .fits(after(p).register(PlacementSearch.wantOf(demand, choice, pod, in.rules.now())));
  }

  // ---------------------------------------------------------------- what if

  private enum Change {
    CLEARED,
    HEALTHY,
    UNCORDONED,
    UNHELD
  }

  private List<Pod> variant(Change change) {
    List<Pod> known = variants.get(change.name());
    if (known != null) {
      return known;
    }
    Fleet fleet = in.fleet;
    switch (change) {
      case CLEARED -> {
        for (Instance.Free free : in.free) {
          inTime();
          fleet = fleet.release(free.request().id());
        }
      }
      case HEALTHY -> {
        for (Pod pod : in.pods) {
          for (Part part : pod.reportedHealth().keySet()) {
            inTime();
            fleet = fleet.repair(pod.id(), part);
          }
        }
      }
      case UNCORDONED -> {
        for (Pod pod : in.pods) {
          for (Part part : pod.cordons()) {
            inTime();
            fleet = fleet.uncordon(pod.id(), part);
          }
          fleet = pod.isCordoned() ? fleet.uncordonPod(pod.id()) : fleet;
        }
      }
      case UNHELD -> {
        for (Hold hold : in.fleet.holds()) {
          inTime();
          fleet = fleet.dropHold(hold.id());
        }
      }
    }
    List<Pod> made = List.copyOf(fleet.pods());
    variants.put(change.name(), made);
    return made;
  }

  /** Whether a demand fits with none of its rivals there, all rules kept. */
  boolean fitsAlone(int d, List<Pod> pods) {
    return fits(d, pods, false, in.limits, in.credits);
  }

  private boolean fits(
      int d,
      List<Pod> pods,
      boolean anySpread,
      List<Limit> limits,
      long @Nullable [] @Nullable [] credits) {
    Demand demand = in.demands.get(d);
    SliceRequest request = demand.request();
    if (request.slices() == 1 && limits.isEmpty()) {
      return demand.choices().stream()
          .anyMatch(c -> Arrays.stream(c.pods()).anyMatch(p -> fits(demand, c, pods, p)));
    }
    if (anySpread) {
      request = request.toBuilder().spread(Spread.any()).build();
    }
    Demand lone = new Demand(request, 0, 0, demand.choices());
    PlacementSearch search =
        new PlacementSearch(
            pods,
            List.of(lone),
            limits,
            1,
            in.rules.now(),
            1,
            credits == null ? null : new long[][] {credits[d]});
    search.construct(stop);
    if (search.assignments().get(0) == null) {
      inTime();
    }
    if (search.assignments().get(0) == null
        && request.slices() > 1
        && request.slices() <= MAX_SLICES_SHUFFLED) {
      // Several slices: the first that comes to hand may stand in the way of the next.
      search.improve(ROUNDS_ALONE, () -> search.value()[0] > 0 || stop.getAsBoolean(), NONE);
      if (search.assignments().get(0) == null) {
        inTime();
      }
    }
    return search.assignments().get(0) != null;
  }

  private static final Runnable NONE = () -> {};

  boolean fits(Demand demand, Choice choice, List<Pod> pods, int p) {
    inTime();
    if (PodSpace.bestCase(pods.get(p), choice.shape(), demand.request().healthyOnly())
        == Double.POSITIVE_INFINITY) {
      return false;
    }
    PodSpace space = space(pods, p);
    return space.fits(
        space.register(PlacementSearch.wantOf(demand, choice, pods.get(p), in.rules.now())));
  }

  /** A pod of one of the lists, nothing of this batch placed. */
  private PodSpace space(List<Pod> pods, int p) {
    return spaces
        .computeIfAbsent(pods, key -> new HashMap<>())
        .computeIfAbsent(p, q -> PodSpace.of(pods.get(q), in.rules.now(), false));
  }

  private Unplaced late(SliceRequest request, Evidence evidence) {
    boolean cancelled = stop.isCancelled();
    return new Unplaced(
        request.id(),
        cancelled ? Reason.CANCELLED : Reason.DEADLINE,
        false,
        evidence,
        cancelled
            ? "The solve was cancelled before a place was found or ruled out."
            : proved
                ? "No best plan has room for it; time ran out before the reason was narrowed down."
                : "Time ran out before a place was found or ruled out; allow a longer deadline.");
  }

  /** That it does not fit alone is known, but not why. */
  private Unplaced unexplained(SliceRequest request, Evidence evidence) {
    return proved || stop.isCancelled()
        ? late(request, evidence)
        : new Unplaced(
            request.id(),
            Reason.DEADLINE,
            false,
            evidence,
            "Even with nothing of this batch placed it "
                + (request.slices() == 1 ? "has no room" : "found no room")
                + "; time ran out before it was known what is in its way.");
  }

  private Unplaced alone(int d, Demand demand, Evidence evidence) {
    SliceRequest request = demand.request();
    boolean bounded = !in.rules.disruption().equals(DisruptionBudget.UNLIMITED);
    if (bounded && !in.free.isEmpty() && fitsAlone(d, variant(Change.CLEARED))) {
      DisruptionBudget budget = in.rules.disruption();
      return new Unplaced(
          request.id(),
          Reason.DISRUPTION_BUDGET,
          false,
          evidence,
          "It fits only where slices run that may move or leave, and no plan within the disruption"
              + " budget ("
              + (budget.slices() == Long.MAX_VALUE ? "any" : budget.slices())
              + " slices) that the objective prefers makes room for it.");
    }
    boolean reported = in.pods.stream().anyMatch(p -> !p.reportedHealth().isEmpty());
    if (reported && fitsAlone(d, variant(Change.HEALTHY))) {
      List<BlockingHost> blockers = blockers(demand);
      Evidence more =
          new Evidence(
              evidence.wantedChips(),
              evidence.freeChips(),
              evidence.matchingPods(),
              evidence.largestFit(),
              blockers,
              List.of(),
              List.of(),
              0,
              0);
      return new Unplaced(
          request.id(),
          Reason.BLOCKED_BY_HEALTH,
          false,
          more,
          "It would fit if all parts were healthy"
              + (blockers.isEmpty()
                  ? "."
                  : "; the fewest in its way: "
                      + String.join(
                          ", ",
                          blockers.stream()
                              .map(b -> "host " + hostName(b) + " of pod " + b.pod())
                              .toList())
                      + "."));
    }
    boolean cordoned = in.pods.stream().anyMatch(p -> p.isCordoned() || !p.cordons().isEmpty());
    if (cordoned && fitsAlone(d, variant(Change.UNCORDONED))) {
      return new Unplaced(
          request.id(),
          Reason.BLOCKED_BY_CORDON,
          false,
          evidence,
          (in.rules.drains().isEmpty()
                  ? "It would fit if nothing were cordoned; "
                  : "It would fit if nothing were cordoned or drained; ")
              + chips(evidence.freeChips())
              + " are free outside the cordons.");
    }
    List<String> live = new ArrayList<>();
    for (Hold hold : in.fleet.holds()) {
      if (hold.isLive(in.rules.now()) && !hold.request().equals(request.id())) {
        live.add(hold.id());
      }
    }
    if (!live.isEmpty() && fitsAlone(d, variant(Change.UNHELD))) {
      Evidence more =
          new Evidence(
              evidence.wantedChips(),
              evidence.freeChips(),
              evidence.matchingPods(),
              evidence.largestFit(),
              List.of(),
              live.stream().limit(MAX_BLOCKERS).toList(),
              List.of(),
              0,
              0);
      return new Unplaced(
          request.id(),
          Reason.BLOCKED_BY_HOLD,
          false,
          more,
          "It would fit if nothing were held for other requests; live holds: "
              + String.join(", ", more.holds())
              + ".");
    }
    if (request.spread().kind() != Spread.Kind.ANY
        && fits(d, in.pods, true, in.limits, in.credits)) {
      return new Unplaced(
          request.id(),
          Reason.SPREAD,
          false,
          evidence,
          "Its "
              + request.slices()
              + " slices would fit, but not spread as it asks ("
              + request.spread().kind()
              + ").");
    }
    Evidence then = afterPlan(d, evidence);
    return new Unplaced(
        request.id(),
        Reason.FRAGMENTED,
        false,
        then,
        (in.free.isEmpty()
                ? "Even with nothing of this batch placed, "
                : "With nothing of this batch placed, and nothing that runs moved or evicted, ")
            + (request.slices() == 1 ? "" : count(request.slices()) + " x ")
            + demand.choices().get(0).shape()
            + (request.slices() == 1 ? " has no room" : " found no room")
            + " in the "
            + matching(evidence)
            + "; after this plan "
            + chips(then.freeChips())
            + (then.freeChips() == 1 ? " is" : " are")
            + " free there"
            + (then.largestFit() == null
                ? "."
                : ", and the largest slice that still fits is " + then.largestFit() + "."));
  }

  private String hostName(BlockingHost blocker) {
    return in.pods.get(in.podOf(blocker.pod())).topology().hostName(blocker.host());
  }

  /** The failed (or degraded) hosts in the way where the fewest are. */
  private List<BlockingHost> blockers(Demand demand) {
    List<Pod> healthy = variant(Change.HEALTHY);
    List<BlockingHost> best = List.of();
    for (Choice choice : demand.choices()) {
      for (int p : choice.pods()) {
        Pod pod = in.pods.get(p);
        TpuTopology t = pod.topology();
        if (stop.getAsBoolean()) {
          return List.of(); // there may be fewer elsewhere
        }
        PodSpace space = PodSpace.of(healthy.get(p), in.rules.now(), false);
        int want =
            space.register(PlacementSearch.wantOf(demand, choice, healthy.get(p), in.rules.now()));
        List<List<HostId>> found = new ArrayList<>();
        int cubes = t.cubesOf(choice.shape());
        List<Footprint> places = new ArrayList<>();
        space.forEachCandidate(
            want,
            f -> {
              if (places.size() < 20_000) {
                places.add(f);
              }
            });
        for (Footprint place : places) {
          Set<HostId> hosts = new TreeSet<>();
          for (int cell : t.cells(place)) {
            if (pod.health().failedCells().contains(cell)
                || demand.request().healthyOnly() && pod.health().degradedCells().contains(cell)) {
              hosts.add(t.hostOfCell(cell));
            }
          }
          boolean bad =
              place instanceof Footprint.Cubes c
                  && (pod.health().brokenCubes().contains(c.cubes().get(0))
                      || demand.request().healthyOnly()
                          && pod.health().degradedCubes().contains(c.cubes().get(0)));
          if (hosts.isEmpty() && bad) {
            CubeId cube = ((Footprint.Cubes) place).cubes().get(0);
            hosts.add(t.hostOfCell(t.firstCell(cube)));
          }
          found.add(List.copyOf(hosts));
        }
        found.sort(Comparator.comparingInt(List::size));
        List<BlockingHost> here = new ArrayList<>();
        int take = Math.max(1, cubes);
        for (int i = 0; i < Math.min(take, found.size()); i++) {
          found.get(i).forEach(h -> here.add(new BlockingHost(pod.id(), h)));
        }
        if (found.size() >= take
            && !here.isEmpty()
            && (best.isEmpty() || here.size() < best.size())) {
          best = here;
        }
      }
    }
    return best.stream().limit(MAX_BLOCKERS).toList();
  }

  private Unplaced rivals(int d, Demand demand, Evidence evidence) {
    SliceRequest request = demand.request();
    List<Integer> unit = unit(demand.unit());
    if (unit.size() > 1) {
      List<String> missing = new ArrayList<>();
      for (int o : unit) {
        if (o != d && (in.demands.get(o).choices().isEmpty() || !memberFits(o))) {
          missing.add(in.demands.get(o).request().id());
        }
      }
      if (!missing.isEmpty()) {
        return new Unplaced(
            request.id(),
            Reason.GANG_INCOMPLETE,
            false,
            evidence,
            "It would fit, but its gang "
                + request.gang().orElse("")
                + " is placed all or none, and "
                + String.join(", ", missing.stream().limit(5).toList())
                + " does not fit.");
      }
    }
    if (!proved && unit.size() == 1 && request.slices() == 1) {
      boolean roomLeft = false;
      for (Choice choice : demand.choices()) {
        for (int p : choice.pods()) {
          inTime();
          roomLeft = roomLeft || fitsAfter(demand, choice, p);
        }
      }
      if (roomLeft && (stopped == StopReason.DEADLINE || stopped == StopReason.CANCELLED)) {
        return late(request, evidence);
      }
      if (roomLeft) {
        return new Unplaced(
            request.id(),
            Reason.UNDECIDED,
            false,
            evidence,
            "It still fits, but the solve ended before it was weighed against the rest; allow more"
                + " time, or plan it alone.");
      }
    }
    Evidence then = afterPlan(d, evidence);
    return new Unplaced(
        request.id(),
        Reason.OUTRANKED,
        false,
        then,
        (unit.size() > 1 ? "Its gang" : "It")
            + " would fit alone, but other requests of this batch took the room"
            + takers(demand)
            + left(demand, then));
  }

  /** The evidence with the free chips after the plan, as its largest shape is. */
  private Evidence afterPlan(int d, Evidence before) {
    Demand demand = in.demands.get(d);
    Set<Integer> seen = new TreeSet<>();
    demand.choices().forEach(c -> Arrays.stream(c.pods()).forEach(seen::add));
    long sum = 0;
    for (int p : seen) {
      sum +=
          freeChips(
              in.pods.get(p), demand.request(), busyAfter.computeIfAbsent(p, this::busyAfter));
    }
    return new Evidence(
        before.wantedChips(),
        sum,
        before.matchingPods(),
        before.largestFit(),
        before.blockers(),
        before.holds(),
        before.nearestShapes(),
        before.limit(),
        before.used());
  }

  /**
   * The placed requests of other units in pods that a demand could use, by priority: those that
   * rank no lower, if there are any, since nobody gives way to what ranks lower.
   */
  private String takers(Demand demand) {
    Set<Integer> pods = new TreeSet<>();
    demand.choices().forEach(c -> Arrays.stream(c.pods()).forEach(pods::add));
    List<SliceRequest> takers = new ArrayList<>();
    for (int o = 0; o < in.demands.size(); o++) {
      Assignment a = solution.placed().get(o);
      if (a != null
          && !in.isPhantom(o)
          && in.demands.get(o).unit() != demand.unit()
          && Arrays.stream(a.pods()).anyMatch(pods::contains)) {
        takers.add(in.demands.get(o).request());
      }
    }
    long own = demand.request().priority();
    if (takers.stream().anyMatch(r -> r.priority() >= own)) {
      takers.removeIf(r -> r.priority() < own);
    }
    takers.sort(Comparator.comparing((SliceRequest r) -> -(long) r.priority()));
    int shown = Math.min(MAX_TAKERS, takers.size());
    return shown == 0
        ? ""
        : ": "
            + String.join(
                ", ",
                takers.subList(0, shown).stream()
                    .map(r -> r.id() + " (priority " + count(r.priority()) + ")")
                    .toList())
            + (shown < takers.size() ? " and " + count(takers.size() - shown) + " more" : "");
  }

  /** What of a demand still fits after the plan. */
  private String left(Demand demand, Evidence then) {
    int slices = demand.request().slices();
    if (slices > 1 && in.limits.isEmpty()) {
      int fit = slicesAfter(demand);
      if (fit > 0 && fit < slices) {
        return "; " + count(fit) + " of its " + count(slices) + " slices would still fit.";
      }
    }
    Shape largest = then.largestFit();
    return largest == null || slices > 1 && largest.chips() >= demand.sliceChips()
        ? "."
        : "; the largest that still fits is " + largest + ".";
  }

  /** How many slices of a demand fit after the plan, taken as they come; its spread is kept. */
  private int slicesAfter(Demand demand) {
    SliceRequest request = demand.request();
    int most = 0;
    for (Choice choice : demand.choices()) {
      Map<Integer, Integer> byDomain = new HashMap<>();
      int sum = 0;
      int best = 0;
      for (int at = 0; at < choice.pods().length && !stop.getAsBoolean(); at++) {
        int p = choice.pods()[at];
        int room =
            switch (request.spread().kind()) {
              case ANY, SAME_POD -> request.slices();
              case DIFFERENT_PODS -> 1;
              case AT_MOST ->
                  request.spread().max() - byDomain.getOrDefault(choice.domains()[at], 0);
            };
        if (!fitsAfter(demand, choice, p)) {
          continue;
        }
        PodSpace space = after(p);
        int want =
            space.register(PlacementSearch.wantOf(demand, choice, in.pods.get(p), in.rules.now()));
        List<PodSpace.Spot> taken = new ArrayList<>();
        while (taken.size() < room && sum + taken.size() < request.slices()) {
          PodSpace.Spot spot = space.find(want, null);
          if (spot == null) {
            break;
          }
          space.take(spot);
          taken.add(spot);
        }
        for (int i = taken.size() - 1; i >= 0; i--) {
          space.giveBack(taken.get(i));
        }
        byDomain.merge(choice.domains()[at], taken.size(), Integer::sum);
        best = Math.max(best, taken.size());
        if (request.spread().kind() != Spread.Kind.SAME_POD) {
          sum += taken.size();
        }
      }
      most = Math.max(most, Math.max(best, sum));
    }
    return most;
  }
}
