package dev.slicewright.plan;

import static java.lang.Math.addExact;
import static java.lang.Math.multiplyExact;
import static java.lang.Math.subtractExact;

import dev.slicewright.cost.Collectives;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.RoomGoal;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CancellationException;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Recomputes the bound that a certificate proves: weak duality, in exact arithmetic on longs, in
 * units of 2^-20. Confined to one thread at a time.
 *
 * <p>Every candidate is enumerated anew, never taken from a solver. Requests that differ in nothing
 * but their id are evaluated once. Ties that are neither priced nor within a group's joint choice
 * (spread of running requests, the torn gang of running ones, the disruption budget) are dropped,
 * which leaves a bound. Pods that are the same to all requests are looked into until one has a
 * place. O(pods + kinds of requests × shapes × (classes of pods + cells of those looked into)); all
 * pods where cells have prices or running slices may move.
 */
final class CertificateChecker implements BoundChecker {

  private final Goals goals;
  private final List<SliceRequest> requests;
  private final PlanningRules rules;
  private final CostTerms cost;
  private final Standing standing;
  private final List<Level> levels;
  private final List<Pod> pods;
  private final @Nullable Room[] rooms; // made when first looked into
  private final Map<String, Integer> roomOf = new HashMap<>();
  private final Map<String, List<RunningSlice>> mayGo = new HashMap<>(); // by pod
  private final Set<String> items = new HashSet<>();
  private final Set<String> labels = new TreeSet<>(); // those that anything selects by
  private final Set<List<Object>> evenSizes = new HashSet<>(); // topologies and sizes of tree rows
  private final RuleLimits limits;
  private final Set<String> withHold = new HashSet<>();
  private final Map<OptionKey, List<Shape>> options = new HashMap<>();
  private final Map<Certificate, Sum> known = new IdentityHashMap<>();
  private final Map<Cheapest, Long> cheapestUnpriced = new HashMap<>();
  private final RecentPrices<Map<Cheapest, Long>> cheapest = new RecentPrices<>(1L << 22);
  private final RecentPrices<BoxSums> sums = new RecentPrices<>(1L << 17);
  private final List<SliceRequest> kinds = new ArrayList<>(); // one request of each
  private final int[] kindOf; // by request
  private final long[] trivial; // by level
  private final Fleet cordoned; // the fleet, what is drained cordoned
  private final int[] twins; // by pod: the first that is the same but for its name; -1 unknown
  private final Map<List<Object>, Integer> twinOf = new HashMap<>();
  private final BooleanSupplier stop;

  private record OptionKey(TpuTopology topology, long chips) {}

  /** All of a request that its joint choices depend on, once the level's weights are fixed. */
  private record Kind(SliceRequest request, @Nullable Long weight) {
    @Override
    public boolean equals(Object other) {
      if (!(other instanceof Kind that)) {
        return false;
      }
      SliceRequest a = request;
      SliceRequest b = that.request;
      return Objects.equals(weight, that.weight)
          && a.shapes().equals(b.shapes())
          && a.chips() == b.chips()
          && a.slices() == b.slices()
          && a.priority() == b.priority()
          && a.mayTurn() == b.mayTurn()
          && a.healthyOnly() == b.healthyOnly()
          && a.interconnect() == b.interconnect()
          && a.tenant().equals(b.tenant())
          && a.accelerators().equals(b.accelerators())
          && a.requiredLabels().equals(b.requiredLabels())
          && a.forbiddenLabels().equals(b.forbiddenLabels())
          && a.pod().equals(b.pod())
          && a.spread().equals(b.spread());
    }

    @Override
    public int hashCode() {
      int h = request.shapes().hashCode();
      h = h * 31 + Long.hashCode(request.chips());
      h = h * 31 + request.slices();
      return h * 31 + Long.hashCode(request.priority());
    }
  }

  /** A priced row, with the cells that it counts. */
  private record Row(Certificate.RowPrice row, boolean[] cubes, boolean[] nodes) {}

  /** Prices by what they are, on cells that lie alike. */
  private record SamePrices(TpuTopology topology, long[] prices) {
    @Override
    public boolean equals(Object other) {
      return other instanceof SamePrices that
          && topology.equals(that.topology)
          && Arrays.equals(prices, that.prices);
    }

    @Override
    public int hashCode() {
      return 31 * topology.hashCode() + Arrays.hashCode(prices);
    }
  }

  /** All of a request that the places of one of its slices depend on. */
  private record Seat(
      List<Shape> shapes,
      long chips,
      boolean mayTurn,
      boolean healthyOnly,
      Object wraps,
      String tenant,
      Object accelerators,
      Object required,
      Object forbidden,
      String pod,
      String holder) {}

  /** A place of a slice, but for which of the cells; those that are worth the same are one. */
  private record Offer(Joint joint, Shape shape, int rank, long price, List<Boolean> rules) {}

  /** In some pod, with what its cells and rows cost there. */
  private record Priced(int at, long cost) {}

  /** The accelerator and shape that the slices of a request have in common. */
  private record Joint(String accelerator, Shape shape) {}

  CertificateChecker(
      Fleet given,
      List<SliceRequest> batch,
      CostTerms cost,
      Standing standing,
      List<Level> levels,
      BooleanSupplier stop) {
    this.stop = stop;
    this.goals = standing.goals;
    Fleet fleet = goals.cordoned(given);
    this.cordoned = fleet;
    this.requests = goals.with(batch);
    this.rules = standing.rules;
    this.cost = cost;
    this.standing = standing;
    this.levels = levels;
    this.limits = RuleLimits.of(fleet, requests, rules, standing);
    for (SliceRequest request : requests) {
      items.add(request.id());
      labels.addAll(request.requiredLabels().keySet());
      labels.addAll(request.forbiddenLabels().keySet());
    }
    rules.reserved().forEach(r -> labels.addAll(r.podLabels().keySet()));
    for (Standing.Group group : standing.groups) {
      items.add(group.request().id());
      for (RunningSlice slice : group.slices()) {
        mayGo.computeIfAbsent(slice.pod(), p -> new ArrayList<>()).add(slice);
      }
    }
    for (Hold hold : fleet.holds()) {
      withHold.add(hold.request());
    }
    this.kindOf = new int[requests.size()];
    Map<Kind, Integer> byKind = new HashMap<>();
    for (int i = 0; i < kindOf.length; i++) {
      SliceRequest request = requests.get(i);
      Integer same =
          withHold.contains(request.id())
              ? null
              : byKind.putIfAbsent(new Kind(request, goals.weight(request)), kinds.size());
      kindOf[i] = same == null ? kinds.size() : same;
      if (same == null) {
        kinds.add(request);
      }
    }
    this.trivial = Verification.trivialBounds(standing, batch, levels);
    this.pods = List.copyOf(fleet.pods());
    this.rooms = new Room[pods.size()];
    this.twins = new int[pods.size()];
    Arrays.fill(twins, -1);
    for (int at = 0; at < rooms.length; at++) {
      roomOf.put(pods.get(at).id(), at);
    }
  }

  private Room room(int at) {
    Room room = rooms[at];
    if (room == null) {
      Pod pod = pods.get(at);
      room = new Room(pod, rules, mayGo.getOrDefault(pod.id(), List.of()), items::contains);
      rooms[at] = room;
    }
    return room;
  }

  /** Where only what is taken for good limits a pod, the first pod that is so in the same cells. */
  private int twin(int at) {
    if (twins[at] < 0) {
      Pod pod = pods.get(at);
      boolean simple =
          isPlain(at)
              && pod.reportedHealth().isEmpty()
              && !pod.isCordoned()
              && pod.cordons().isEmpty();
      twins[at] =
          simple ? twinOf.computeIfAbsent(List.of(pod.topology(), pod.busy()), k -> at) : at;
    }
    return twins[at];
  }

  private void inTime() {
    if (stop.getAsBoolean()) {
      throw new CancellationException("told to stop");
    }
  }

  /** Whether nothing that runs in a pod may go, and nothing is held: its figures say it all. */
  private boolean isPlain(int at) {
    return !pods.get(at).hasHolds() && !mayGo.containsKey(pods.get(at).id());
  }

  /** Whether a pod's figures alone say that a slice of a legal shape has no place there. */
  private boolean isFull(SliceRequest request, int at, Shape shape) {
    Pod pod = pods.get(at);
    if (mayGo.containsKey(pod.id())) {
      return false;
    }
    TpuTopology t = pod.topology();
    int cubes = t.cubesOf(shape);
    if (cubes > 0) {
      return pod.room().freeCubes(request.healthyOnly()) < cubes;
    }
    int cells = (int) Math.max(1, shape.chips() / t.chipsPerCell());
    boolean boxes =
        t.slicing() instanceof Slicing.TorusBoxes
            || t.slicing() instanceof Slicing.OpticalCubes optical && optical.boxesInCube();
    return boxes ? pod.room().freeCells() < cells : pod.room().smallestFreePartition(cells) == 0;
  }

  @Override
  public long bound(Certificate certificate, long[] values) {
    Sum sum = known.get(certificate);
    if (sum == null) {
      sum = new Evaluation(certificate, List.of(), new long[0]).run();
      known.put(certificate, sum);
    }
    return bound(certificate, sum, values);
  }

  @Override
  public long bound(
      Certificate certificate, List<BranchTree.Step> path, long[] branchPrices, long[] values) {
    return bound(certificate, new Evaluation(certificate, path, branchPrices).run(), values);
  }

  @Override
  public long bound(BranchTree tree, long[] values) {
    return bound(tree, new ArrayList<>(), values);
  }

  /** The recursion is as deep as the tree, which limits that. */
  private long bound(BranchTree tree, List<BranchTree.Step> path, long[] values) {
    if (tree instanceof BranchTree.Leaf leaf) {
      return bound(leaf.certificate(), path, leaf.shared(), values);
    }
    BranchTree.Split split = (BranchTree.Split) tree;
    path.add(new BranchTree.Step(split.row(), split.atMost(), false));
    long below = bound(split.below(), path, values);
    path.set(path.size() - 1, new BranchTree.Step(split.row(), split.atMost(), true));
    long above = bound(split.above(), path, values);
    path.remove(path.size() - 1);
    return levels.get(tree.level()).kind().maximise()
        ? Math.max(below, above)
        : Math.min(below, above);
  }

  private boolean enumerated;
  private @Nullable PlaceEnumeration enumeration; // made when first asked

  private @Nullable PlaceEnumeration enumeration() {
    if (!enumerated) {
      enumerated = true;
      enumeration =
          PlaceEnumeration.of(cordoned, requests, rules, cost, standing, levels, roomsHere());
    }
    return enumeration;
  }

  private PlaceEnumeration.Rooms roomsHere() {
    return new PlaceEnumeration.Rooms() {
      @Override
      public Room of(int pod) {
        return room(pod);
      }

      @Override
      public List<Shape> options(SliceRequest request, TpuTopology topology) {
        return CertificateChecker.this.options(request, topology);
      }
    };
  }

  private boolean listed;
  private @Nullable RoomMoves roomMoves; // made when first asked

  @Override
  public @Nullable RoomMoves roomMoves() {
    if (!listed) {
      listed = true;
      roomMoves = RoomMoves.of(cordoned, requests, rules, standing, levels, roomsHere());
    }
    return roomMoves;
  }

  @Override
  public OptionalLong searchedBound(int level, long[] values, long claim, long steps) {
    Objects.checkIndex(level, levels.size());
    RoomMoves moves = roomMoves();
    if (moves == null || levels.get(level).kind() != Level.Kind.DISRUPTION) {
      return OptionalLong.empty();
    }
    for (int l = 0; l < level; l++) {
      if (values[l] != trivial[l]) {
        return OptionalLong.empty(); // something leaves, or there is no room
      }
    }
    return moves.refutes(claim, steps) ? OptionalLong.of(claim) : OptionalLong.empty();
  }

  @Override
  public OptionalLong enumeratedBound(int level, long[] values) {
    Objects.checkIndex(level, levels.size());
    PlaceEnumeration e = enumeration();
    return e == null ? OptionalLong.empty() : OptionalLong.of(e.bound(level, values, trivial));
  }

  @Override
  public long places() {
    PlaceEnumeration e = enumeration();
    return e == null ? 0 : e.places();
  }

  private long bound(Certificate certificate, Sum of, long[] values) {
    int level = certificate.level();
    if (values.length < level) {
      throw new IllegalArgumentException(
          "expected the values of " + level + " levels or more, but was " + values.length);
    }
    long sum = of.constant();
    long[] earlier = certificate.earlier();
    for (int i = 0; i < level; i++) {
      long held = levels.get(i).kind().maximise() ? values[i] : Math.negateExact(values[i]);
      sum = subtractExact(sum, multiplyExact(earlier[i], held));
    }
    return rounded(levels.get(level), trivial[level], of.gcd(), sum);
  }

  private long rounded(Level of, long trivially, long gcd, long sum) {
    long[] pinned = standing.pinnedKept.get(of.priority());
    long fixed =
        of.kind() == Level.Kind.KEPT && pinned != null
            ? pinned[0]
            : of.kind() == Level.Kind.DRAIN ? -standing.pinnedDrained : 0;
    long whole = Math.floorDiv(sum, Certificate.UNIT);
    if (gcd > 0) {
      whole = addExact(fixed, multiplyExact(gcd, Math.floorDiv(subtractExact(whole, fixed), gcd)));
    } else {
      whole = fixed; // nothing that a plan decides changes this level
    }
    return of.kind().maximise()
        ? Math.min(whole, trivially)
        : Math.max(Math.negateExact(whole), trivially);
  }

  /** The sum that prices give but for the held values, and the gcd of the level's gains. */
  private record Sum(long constant, long gcd) {}

  private record Cheapest(
      int room, Shape shape, boolean mayTurn, boolean healthyOnly, Object wraps, String holder) {}

  private int roomAt(String pod) {
    return Objects.requireNonNull(roomOf.get(pod));
  }

  private List<Shape> options(SliceRequest request, TpuTopology topology) {
    return request.shapes().isEmpty()
        ? options.computeIfAbsent(
            new OptionKey(topology, request.chips()),
            k -> Collectives.shapesByAllToAll(topology, k.chips()))
        : request.shapes();
  }

  /** One certificate, with the steps that lead to it. */
  private final class Evaluation {
    private final Certificate certificate;
    private final List<BranchTree.Step> path;
    private final long[] branchPrices;
    private final int level;
    private final Level of;
    private final Map<Long, Long> keptWeight = new HashMap<>();
    private final Map<Long, Long> placedWeight = new HashMap<>();
    private long disruptionWeight;
    private long drainWeight;
    private long rankWeight;
    private long hostWeight;
    private long priceWeight;
    private final long[] @Nullable [] prices; // by room; null where all are zero
    private final @Nullable List<Row>[] podRows; // null where there are none
    private final List<int[]> podClasses = new ArrayList<>();
    private final int[] classOf = new int[rooms.length]; // by pod
    private final Map<List<Object>, Long> cheapestOf = new HashMap<>();
    private final Map<Seat, Map<Offer, Priced>> offers = new HashMap<>();
    private final long[] quotaPrice = new long[rules.quotas().size()];
    private final long[] reservedPrice = new long[rules.reserved().size()];
    private long gcd;

    @SuppressWarnings({"unchecked", "rawtypes"}) // an array of lists
    Evaluation(Certificate certificate, List<BranchTree.Step> path, long[] branchPrices) {
      if (certificate.level() < 0 || certificate.level() >= levels.size()) {
        throw new IllegalArgumentException("there is no level " + certificate.level());
      }
      this.certificate = certificate;
      this.path = path;
      this.branchPrices = branchPrices;
      this.level = certificate.level();
      this.of = levels.get(level);
      this.prices = new long[rooms.length][];
      this.podRows = new List[rooms.length];
      long[] earlier = certificate.earlier();
      for (int i = 0; i <= level; i++) {
        long w = i == level ? Certificate.UNIT : earlier[i];
        if (w < 0) {
          throw new IllegalArgumentException("the price of level " + i + " is negative: " + w);
        }
        switch (levels.get(i).kind()) {
          case KEPT -> keptWeight.put(levels.get(i).priority(), w);
          case PLACED, ROOM -> placedWeight.put(levels.get(i).priority(), w);
          case DRAIN -> drainWeight = w;
          case DISRUPTION -> disruptionWeight = w;
          case SHAPE_RANK -> rankWeight = w;
          case NEW_HOSTS -> hostWeight = w;
          case PRICE -> priceWeight = w;
        }
      }
    }

    Sum run() {
      long sum = cellPrices();
      sum = addExact(sum, rowPrices());
      sum = addExact(sum, pathPrices());
      for (Map.Entry<Long, long[]> kept : standing.pinnedKept.entrySet()) {
        long w = keptWeight.getOrDefault(kept.getKey(), 0L);
        sum = addExact(sum, multiplyExact(w, kept.getValue()[0]));
      }
      sum = subtractExact(sum, multiplyExact(drainWeight, standing.pinnedDrained));
      sum = addExact(sum, wanted());
      for (Standing.Group group : standing.groups) {
        sum = addExact(sum, running(group));
      }
      return new Sum(sum, gcd);
    }

    private void mayGain(long gain) {
      long a = Math.abs(gain);
      long b = gcd;
      while (a != 0) {
        long rest = b % a;
        b = a;
        a = rest;
      }
      gcd = b;
    }

    // ------------------------------------------------------------- prices

    private long cellPrices() {
      Set<String> priced = new HashSet<>();
      Map<SamePrices, long[]> same = new HashMap<>();
      long sum = 0;
      for (Certificate.CellPrices given : certificate.cells()) {
        Integer at = roomOf.get(given.pod());
        if (at == null || !priced.add(given.pod())) {
          throw new IllegalArgumentException(
              "expected prices once for a pod of the fleet, but was " + given.pod());
        }
        inTime();
        Room room = room(twin(at));
        long[] byCell = given.shared();
        if (byCell.length != room.topology.cellCount()) {
          throw new IllegalArgumentException(
              "expected a price for each of the "
                  + room.topology.cellCount()
                  + " cells of pod "
                  + given.pod()
                  + ", but was "
                  + byCell.length);
        }
        long all = 0;
        for (int cell = 0; cell < byCell.length; cell++) {
          if (byCell[cell] < 0) {
            throw new IllegalArgumentException(
                "the price of cell " + cell + " of pod " + given.pod() + " is negative");
          }
          all = addExact(all, byCell[cell]);
          sum = room.counts(cell) ? addExact(sum, byCell[cell]) : sum;
        }
        prices[at] =
            all > 0
                ? same.computeIfAbsent(new SamePrices(room.topology, byCell), k -> byCell)
                : null;
      }
      return sum;
    }

    private long[] prices(int at) {
      long[] own = prices[at];
      return own == null ? room(at).free : own;
    }

    private List<Row> rows(int at) {
      List<Row> own = podRows[at];
      return own == null ? List.of() : own;
    }

    private void add(int at, Row row) {
      List<Row> own = podRows[at];
      if (own == null) {
        own = new ArrayList<>(2);
        podRows[at] = own;
      }
      own.add(row);
    }

    private long rowPrices() {
      long sum = 0;
      for (Certificate.RowPrice row : certificate.rows()) {
        if (row.price() < 0) {
          throw new IllegalArgumentException("the price of a row is negative: " + row);
        }
        long right =
            switch (row.kind()) {
              case POOL -> pool(row);
              case TREE -> tree(row);
              case QUOTA -> {
                check(row, quotaPrice.length);
                quotaPrice[row.size()] = addExact(quotaPrice[row.size()], row.price());
                yield subtractExact(limits.quotaLimit(row.size()), limits.quotaFixed(row.size()));
              }
              case RESERVED -> {
                check(row, reservedPrice.length);
                reservedPrice[row.size()] = addExact(reservedPrice[row.size()], row.price());
                yield subtractExact(
                    limits.reservedLimit(row.size()), limits.reservedFixed(row.size()));
              }
            };
        sum = addExact(sum, multiplyExact(row.price(), right));
      }
      return sum;
    }

    /** What the steps add; their counts are at most b, or at least b + 1. */
    private long pathPrices() {
      if (path.size() != branchPrices.length) {
        throw new IllegalArgumentException(
            "expected a price for each of the "
                + path.size()
                + " steps to the leaf, but was "
                + branchPrices.length);
      }
      long sum = 0;
      for (int i = 0; i < branchPrices.length; i++) {
        BranchTree.Step step = path.get(i);
        if (branchPrices[i] < 0) {
          throw new IllegalArgumentException(
              "the price of step " + i + " is negative: " + branchPrices[i]);
        }
        if (!step.row().pod().isEmpty() && !roomOf.containsKey(step.row().pod())) {
          throw new IllegalArgumentException("there is no pod for the count " + step.row());
        }
        sum =
            step.above()
                ? subtractExact(sum, multiplyExact(branchPrices[i], addExact(step.atMost(), 1)))
                : addExact(sum, multiplyExact(branchPrices[i], step.atMost()));
      }
      return sum;
    }

    /** What the steps take from a newly placed slice; less than 0 where they give. */
    private long pathCost(SliceRequest request, int at, Shape shape) {
      long sum = 0;
      for (int i = 0; i < branchPrices.length; i++) {
        if (branchPrices[i] != 0 && path.get(i).row().counts(request, pods.get(at).id(), shape)) {
          sum =
              path.get(i).above()
                  ? subtractExact(sum, branchPrices[i])
                  : addExact(sum, branchPrices[i]);
        }
      }
      return sum;
    }

    /**
     * Puts pods into classes that are the same to every wanted request: topology, labels that
     * anything selects by, price, rows and the prices of cells. One of which a step speaks is a
     * class of its own.
     */
    private void group() {
      Set<String> branched = new HashSet<>(); // a step speaks of the pod
      path.forEach(step -> branched.add(step.row().pod()));
      Map<long[], Integer> numbers = new IdentityHashMap<>(); // equal ones are the same
      Map<List<Object>, List<Integer>> classes = new LinkedHashMap<>();
      for (int at = 0; at < pods.size(); at++) {
        List<Object> key = new ArrayList<>();
        Pod pod = pods.get(at);
        if (branched.contains(pod.id())) {
          key.add(pod.id());
        } else {
          long[] own = prices[at];
          key.add(own == null ? 0 : numbers.computeIfAbsent(own, p -> numbers.size() + 1));
          key.add(pod.topology());
          key.add(cost.hasPrices() ? price(at) : 0L);
          for (String label : labels) {
            key.add(pod.labels().getOrDefault(label, ""));
            key.add(pod.labels().containsKey(label));
          }
          for (Row row : rows(at)) {
            Certificate.RowPrice r = row.row();
            key.add(List.of(r.kind(), r.size(), r.healthyOnly(), r.price()));
          }
        }
        classes.computeIfAbsent(key, c -> new ArrayList<>()).add(at);
      }
      for (List<Integer> alike : classes.values()) {
        alike.forEach(at -> classOf[at] = podClasses.size());
        podClasses.add(alike.stream().mapToInt(Integer::intValue).toArray());
      }
    }

    /** The least over the pods of a class, or none. */
    private long cheapest(SliceRequest request, int[] alike, Shape shape) {
      if (alike.length == 1) {
        return cheapest(request, alike[0], shape);
      }
      List<Object> key =
          List.of(
              classOf[alike[0]],
              shape,
              request.mayTurn(),
              request.healthyOnly(),
              request.interconnect(),
              withHold.contains(request.id()) ? request.id() : "");
      Long known = cheapestOf.get(key);
      if (known == null) {
        known = Room.NONE;
        for (int i = 0; known != 0 && i < alike.length; i++) {
          long one = cheapest(request, alike[i], shape);
          known = known == Room.NONE || one != Room.NONE && one < known ? one : known;
        }
        cheapestOf.put(key, known);
      }
      return known;
    }

    private void check(Certificate.RowPrice row, int size) {
      if (row.size() < 0 || row.size() >= size) {
        throw new IllegalArgumentException("the rules have no such row: " + row);
      }
    }

    private int podOf(Certificate.RowPrice row) {
      Integer at = roomOf.get(row.pod());
      if (at == null) {
        throw new IllegalArgumentException("there is no pod for row " + row);
      }
      return at;
    }

    private long pool(Certificate.RowPrice row) {
      int at = podOf(row);
      if (row.size() < 1 || !pods.get(at).topology().isOptical()) {
        throw new IllegalArgumentException("expected cubes in parcels of 1 or more: " + row);
      }
      if (isPlain(at)) {
        add(at, new Row(row, new boolean[0], new boolean[0]));
        return pods.get(at).room().freeCubes(row.healthyOnly()) / row.size();
      }
      boolean[] cubes = room(at).openCubes(row.healthyOnly());
      long free = 0;
      for (boolean cube : cubes) {
        free += cube ? 1 : 0;
      }
      add(at, new Row(row, cubes, new boolean[0]));
      return free / row.size();
    }

    private long tree(Certificate.RowPrice row) {
      int at = podOf(row);
      TpuTopology t = pods.get(at).topology();
      List<Object> kind = List.of(t, row.size());
      if (isPlain(at)
          && !(t.slicing() instanceof Slicing.TorusBoxes)
          && !(row.healthyOnly() && pods.get(at).room().hasDegraded())
          && evenSizes.contains(kind)) {
        add(at, new Row(row, new boolean[0], new boolean[0]));
        return pods.get(at).room().cellsInFreePartitions(row.size());
      }
      boolean[] nodes = room(at).openNodes(row.size(), row.healthyOnly());
      evenSizes.add(kind); // else it had thrown
      long free = 0;
      for (boolean cell : nodes) {
        free += cell ? 1 : 0;
      }
      add(at, new Row(row, new boolean[0], nodes));
      return free;
    }

    // ------------------------------------------------------------- candidates

    /** What the rows take from a slice on free, usable cells. */
    private long rowCost(SliceRequest request, int at, Shape shape) {
      TpuTopology t = pods.get(at).topology();
      long sum = ruleCost(request, at, shape.chips());
      for (Row row : rows(at)) {
        Certificate.RowPrice r = row.row();
        if (!r.healthyOnly() || request.healthyOnly()) {
          long cells = shape.chips() / t.chipsPerCell();
          long a =
              r.kind() == Certificate.RowKind.POOL
                  ? t.cubesOf(shape) / r.size()
                  : cells >= r.size() ? cells : 0;
          sum = addExact(sum, multiplyExact(r.price(), a));
        }
      }
      return sum;
    }

    private long ruleCost(SliceRequest request, int at, long chips) {
      Pod pod = pods.get(at);
      long sum = 0;
      for (int i = 0; i < quotaPrice.length; i++) {
        if (quotaPrice[i] != 0 && RuleLimits.counts(rules.quotas().get(i), request.tenant(), pod)) {
          sum = addExact(sum, multiplyExact(quotaPrice[i], chips));
        }
      }
      for (int i = 0; i < reservedPrice.length; i++) {
        if (reservedPrice[i] != 0
            && RuleLimits.counts(rules.reserved().get(i), request.tenant(), pod)) {
          sum = addExact(sum, multiplyExact(reservedPrice[i], chips));
        }
      }
      return sum;
    }

    /** What cells and rows take from a running slice where it is. */
    private long stayCost(SliceRequest request, RunningSlice slice) {
      int at = roomAt(slice.pod());
      int[] cells = pods.get(at).topology().cells(slice.footprint());
      long sum = ruleCost(request, at, slice.shape().chips());
      for (int cell : cells) {
        sum = addExact(sum, prices(at)[cell]);
      }
      for (Row row : rows(at)) {
        Certificate.RowPrice r = row.row();
        if (r.healthyOnly() && !request.healthyOnly()) {
          continue;
        }
        long a = 0;
        if (r.kind() == Certificate.RowKind.TREE) {
          for (int cell : cells) {
            a += cells.length >= r.size() && row.nodes()[cell] ? 1 : 0;
          }
        } else if (slice.footprint() instanceof Footprint.Cubes cubes) {
          for (CubeId cube : cubes.cubes()) {
            a += row.cubes()[cube.index()] ? 1 : 0;
          }
          a /= r.size();
        }
        sum = addExact(sum, multiplyExact(r.price(), a));
      }
      return sum;
    }

    private long price(int at) {
      Pod pod = pods.get(at);
      return cost.pricePerChipHourMicros(pod.id(), pod.topology().accelerator().name());
    }

    private long cheapest(SliceRequest request, int at, Shape shape) {
      if (!pods.get(at).topology().isLegal(shape) || isFull(request, at, shape)) {
        return Room.NONE;
      }
      int twin = twin(at);
      Cheapest key =
          new Cheapest(
              twin,
              shape,
              request.mayTurn(),
              request.healthyOnly(),
              request.interconnect(),
              withHold.contains(request.id()) ? request.id() : "");
      long[] priced = prices[at];
      Map<Cheapest, Long> found =
          priced == null ? cheapestUnpriced : cheapest.get(priced, p -> new HashMap<>());
      Long least = found.get(key);
      if (least == null) {
        inTime();
        Room room = room(twin);
        long[] by = priced == null ? room.free : priced;
        least = room.cheapest(request, shape, by, p -> sums.get(p, room::sums));
        found.put(key, least);
      }
      return least;
    }

    // ------------------------------------------------------------- wanted requests

    private long wanted() {
      group();
      List<@Nullable Long> best = new ArrayList<>();
      for (SliceRequest request : kinds) {
        best.add(best(request));
      }
      Map<String, @Nullable Long> gangs = new LinkedHashMap<>();
      long sum = 0;
      for (int i = 0; i < kindOf.length; i++) {
        SliceRequest request = requests.get(i);
        Long w = best.get(kindOf[i]);
        Optional<String> gang = request.gang();
        if (gang.isPresent()) {
          Long before = gangs.containsKey(gang.get()) ? gangs.get(gang.get()) : Long.valueOf(0);
          gangs.put(gang.get(), before == null || w == null ? null : addExact(before, w));
        } else if (w != null && w > 0) {
          sum = addExact(sum, w);
        }
      }
      for (Long w : gangs.values()) {
        if (w != null && w > 0) {
          sum = addExact(sum, w);
        }
      }
      return sum;
    }

    /** The best joint choice of a wanted request, or null if there is none. */
    private @Nullable Long best(SliceRequest request) {
      int k = request.slices();
      Spread spread = request.spread();
      boolean apart =
          spread.kind() == Spread.Kind.DIFFERENT_PODS || spread.kind() == Spread.Kind.AT_MOST;
      if ((!apart || k == 1) && path.isEmpty()) {
        return bestOffer(request); // steps may tell apart what a seat does not
      }
      int most = spread.kind() == Spread.Kind.DIFFERENT_PODS ? 1 : spread.max();
      Map<Joint, Map<String, Long>> joint = new HashMap<>();
      int pinned = request.pod().isPresent() ? roomOf.getOrDefault(request.pod().get(), -1) : -1;
      for (int[] alike : podClasses) {
        inTime();
        // Pods of a class differ in nothing but where there is room, and in their names.
        boolean one = !apart || k == 1;
        for (int i = 0; i < (one ? 1 : alike.length); i++) {
          int at = one && pinned >= 0 && classOf[pinned] == classOf[alike[0]] ? pinned : alike[i];
          Pod pod = pods.get(at);
          if (pod.whyNot(request).isPresent()) {
            continue;
          }
          List<Shape> shapes = options(request, pod.topology());
          for (int rank = 0; rank < shapes.size(); rank++) {
            Shape shape = shapes.get(rank);
            if (passesRule(request, pod, shape)) {
              continue;
            }
            long cells =
                one && pinned < 0 ? cheapest(request, alike, shape) : cheapest(request, at, shape);
            if (cells == Room.NONE) {
              continue;
            }
            long gain = gain(request, at, shape, rank);
            gain = subtractExact(gain, rowCost(request, at, shape));
            gain = subtractExact(gain, pathCost(request, at, shape));
            gain = subtractExact(gain, cells);
            joint
                .computeIfAbsent(
                    new Joint(
                        pod.topology().accelerator().name(),
                        request.mayTurn() ? shape.sorted() : shape),
                    j -> new TreeMap<>())
                .merge(apart && k > 1 ? Verification.domain(spread, pod) : "", gain, Math::max);
          }
        }
      }
      Long best = null;
      for (Map<String, Long> domains : joint.values()) {
        Long sum = sumOfBest(domains, k, apart ? most : k);
        best = sum == null || best != null && best >= sum ? best : sum;
      }
      return best;
    }

    /** The best joint choice where all slices may have the same place; found once for a seat. */
    private @Nullable Long bestOffer(SliceRequest request) {
      inTime();
      Seat seat =
          new Seat(
              request.shapes(),
              request.chips(),
              request.mayTurn(),
              request.healthyOnly(),
              request.interconnect(),
              request.tenant(),
              request.accelerators(),
              request.requiredLabels(),
              request.forbiddenLabels(),
              request.pod().orElse(""),
              withHold.contains(request.id()) ? request.id() : "");
      Map<Offer, Priced> of = offers.get(seat);
      if (of == null) {
        of = offers(request);
        offers.put(seat, of);
      }
      Long best = null;
      for (Map.Entry<Offer, Priced> entry : of.entrySet()) {
        int at = entry.getValue().at();
        Offer offer = entry.getKey();
        if (passesRule(request, pods.get(at), offer.shape())) {
          continue;
        }
        long gain = gain(request, at, offer.shape(), offer.rank());
        gain = multiplyExact(subtractExact(gain, entry.getValue().cost()), request.slices());
        best = best == null ? gain : Math.max(best, gain);
      }
      return best;
    }

    /** The places of one slice of a request, by what a plan gains with it; the cheapest of each. */
    private Map<Offer, Priced> offers(SliceRequest request) {
      Map<Offer, Priced> out = new LinkedHashMap<>();
      int pinned = request.pod().isPresent() ? roomOf.getOrDefault(request.pod().get(), -1) : -1;
      for (int[] alike : podClasses) {
        inTime();
        int at = pinned >= 0 && classOf[pinned] == classOf[alike[0]] ? pinned : alike[0];
        Pod pod = pods.get(at);
        if (pod.whyNot(request).isPresent()) {
          continue;
        }
        List<Boolean> counted = ruled(request, pod);
        List<Shape> shapes = options(request, pod.topology());
        for (int rank = 0; rank < shapes.size(); rank++) {
          Shape shape = shapes.get(rank);
          long cells = pinned < 0 ? cheapest(request, alike, shape) : cheapest(request, at, shape);
          if (cells == Room.NONE) {
            continue;
          }
          long cost = addExact(cells, rowCost(request, at, shape));
          Joint joint =
              new Joint(
                  pod.topology().accelerator().name(), request.mayTurn() ? shape.sorted() : shape);
          out.merge(
              new Offer(joint, shape, rank, price(at), counted),
              new Priced(at, cost),
              (a, b) -> b.cost() < a.cost() ? b : a);
        }
      }
      return out;
    }

    /** By rule: whether a slice in a pod counts in it. */
    private List<Boolean> ruled(SliceRequest request, Pod pod) {
      List<Boolean> counted = new ArrayList<>(rules.quotas().size() + rules.reserved().size());
      rules.quotas().forEach(q -> counted.add(RuleLimits.counts(q, request.tenant(), pod)));
      rules.reserved().forEach(r -> counted.add(RuleLimits.counts(r, request.tenant(), pod)));
      return counted;
    }

    /**
     * Whether a request of this shape, alone, would pass a quota, or one slice of it in this pod a
     * reservation: then it is no choice at all.
     */
    private boolean passesRule(SliceRequest request, Pod pod, Shape shape) {
      for (int i = 0; i < rules.quotas().size(); i++) {
        if (RuleLimits.counts(rules.quotas().get(i), request.tenant(), pod)
            && multiplyExact(shape.chips(), (long) request.slices())
                > subtractExact(limits.quotaLimit(i), limits.quotaFixed(i))) {
          return true;
        }
      }
      for (int i = 0; i < rules.reserved().size(); i++) {
        if (RuleLimits.counts(rules.reserved().get(i), request.tenant(), pod)
            && shape.chips() > subtractExact(limits.reservedLimit(i), limits.reservedFixed(i))) {
          return true;
        }
      }
      return false;
    }

    private @Nullable Long sumOfBest(Map<String, Long> domains, int k, int most) {
      List<Long> sorted = new ArrayList<>(domains.values());
      sorted.sort(Collections.reverseOrder());
      long sum = 0;
      int left = k;
      for (long value : sorted) {
        int n = Math.min(left, most);
        sum = addExact(sum, multiplyExact(value, (long) n));
        left -= n;
      }
      return left > 0 ? null : sum;
    }

    /** The weighted gain of one newly placed slice; notes what it may add to the level. */
    private long gain(SliceRequest request, int at, Shape shape, int rank) {
      long chips = shape.chips();
      long counted = goals.gain(request, shape);
      boolean phantom = request.priority() == RoomGoal.PRIORITY && !goals.phantoms().isEmpty();
      long ranked = phantom ? 0 : multiplyExact(chips, (long) rank);
      long priced = phantom ? 0 : multiplyExact(chips, price(at));
      switch (of.kind()) {
        case PLACED, ROOM -> {
          if (of.priority() == request.priority()) {
            mayGain(multiplyExact(counted, (long) request.slices()));
          }
        }
        case SHAPE_RANK ->
            mayGain(request.shapes().isEmpty() ? ranked : multiplyExact(ranked, request.slices()));
        case PRICE -> mayGain(priced);
        default -> {}
      }
      long gain = multiplyExact(placedWeight.getOrDefault(request.priority(), 0L), counted);
      if (rankWeight != 0) {
        gain = subtractExact(gain, multiplyExact(rankWeight, ranked));
      }
      return priceWeight == 0 ? gain : subtractExact(gain, multiplyExact(priceWeight, priced));
    }

    // ------------------------------------------------------------- running requests

    /** The best joint choice of a running request: stay, leave, or move some of it. */
    private long running(Standing.Group group) {
      SliceRequest request = group.request();
      List<RunningSlice> slices = group.slices();
      long weight = keptWeight.getOrDefault(request.priority(), 0L);
      boolean here = of.kind() == Level.Kind.KEPT && of.priority() == request.priority();
      long[] stay = new long[slices.size()];
      long all = 0;
      long keptTotal = 0;
      for (int i = 0; i < stay.length; i++) {
        long kept = group.keptByStaying(i);
        keptTotal = addExact(keptTotal, kept);
        if (here && group.permission().move()) {
          mayGain(kept);
        }
        if (of.kind() == Level.Kind.DRAIN) {
          mayGain(group.drained(i));
        }
        stay[i] = subtractExact(multiplyExact(weight, kept), stayCost(request, slices.get(i)));
        stay[i] = subtractExact(stay[i], multiplyExact(drainWeight, group.drained(i)));
        all = addExact(all, stay[i]);
      }
      if (here && !group.permission().move()) {
        mayGain(keptTotal);
      }
      long lost = Verification.disruption(group, rules);
      if (of.kind() == Level.Kind.DISRUPTION) {
        mayGain(lost);
      }
      long disrupted =
          disruptionWeight == 0 ? 0 : Math.negateExact(multiplyExact(disruptionWeight, lost));
      long best = all;
      if (group.permission().evict()) {
        best = Math.max(best, disrupted);
      }
      if (group.permission().move()) {
        Long moved = moved(group, stay, weight, here);
        if (moved != null) {
          best = Math.max(best, addExact(moved, disrupted));
        }
      }
      return best;
    }

    private @Nullable Long moved(Standing.Group group, long[] stay, long weight, boolean here) {
      SliceRequest request = group.request();
      boolean samePod = request.spread().kind() == Spread.Kind.SAME_POD;
      // By common choice: the best value of each slice, Long.MIN_VALUE where it has none.
      Map<List<Object>, long[]> joint = new HashMap<>();
      for (int at = 0; at < rooms.length; at++) {
        Room room = room(at);
        String accelerator = room.topology.accelerator().name();
        if (of.kind() == Level.Kind.NEW_HOSTS) {
          mayGain(1);
        }
        List<Shape> shapes = new ArrayList<>();
        if (room.pod.whyNot(request).isEmpty()) {
          shapes.addAll(options(request, room.topology));
        }
        for (Shape shape : shapes) {
          Shape common = request.mayTurn() ? shape.sorted() : shape;
          long[] best = null;
          for (int i = 0; i < stay.length; i++) {
            RunningSlice slice = group.slices().get(i);
            if (group.permission().withinPod() && !slice.pod().equals(room.pod.id())) {
              continue;
            }
            long value = move(request, slice, at, shape, weight, here);
            if (value == Long.MIN_VALUE) {
              continue;
            }
            if (best == null) {
              best =
                  joint.computeIfAbsent(
                      List.of(accelerator, common, samePod ? room.pod.id() : ""),
                      j -> none(stay.length));
            }
            best[i] = Math.max(best[i], value);
          }
        }
      }
      Long best = null;
      for (Map.Entry<List<Object>, long[]> choice : joint.entrySet()) {
        long sum = 0;
        boolean possible = true;
        for (int i = 0; i < stay.length; i++) {
          RunningSlice slice = group.slices().get(i);
          Room room = room(roomAt(slice.pod()));
          Shape own = request.mayTurn() ? slice.shape().sorted() : slice.shape();
          String pod = (String) choice.getKey().get(2);
          boolean mayStay =
              choice.getKey().get(0).equals(room.topology.accelerator().name())
                  && choice.getKey().get(1).equals(own)
                  && (pod.isEmpty() || pod.equals(slice.pod()));
          long value = choice.getValue()[i];
          value = mayStay ? Math.max(value, stay[i]) : value;
          possible &= value != Long.MIN_VALUE;
          sum = possible ? addExact(sum, value) : sum;
        }
        if (possible && (best == null || sum > best)) {
          best = sum;
        }
      }
      return best;
    }

    private long[] none(int n) {
      long[] values = new long[n];
      Arrays.fill(values, Long.MIN_VALUE);
      return values;
    }

    /** The value of moving one slice, its disruption aside; Long.MIN_VALUE if it cannot. */
    private long move(
        SliceRequest request, RunningSlice slice, int at, Shape shape, long weight, boolean here) {
      Room room = room(at);
      TpuTopology t = room.topology;
      long hosts = 0;
      long cells;
      boolean own = slice.pod().equals(room.pod.id());
      if (hostWeight != 0 && own && t.cellTile().equals(t.hostTile())) {
        // Each host of the pod is a cell: those that it holds already cost nothing.
        long[] now = prices(at);
        long[] dearer = new long[now.length];
        long all = 0;
        for (int cell = 0; cell < dearer.length; cell++) {
          dearer[cell] = addExact(now[cell], hostWeight);
          all = addExact(all, dearer[cell]);
        }
        for (int cell : t.cells(slice.footprint())) {
          dearer[cell] = now[cell];
        }
        cells = room.cheapest(request, shape, dearer);
      } else {
        hosts = t.isLegal(shape) ? t.hostsOf(shape) : 0;
        if (own) {
          hosts = Math.max(0, hosts - t.cells(slice.footprint()).length);
        }
        cells = cheapest(request, at, shape);
      }
      if (cells == Room.NONE) {
        return Long.MIN_VALUE;
      }
      long counted =
          Math.min(
              ObjectiveLevels.counted(request, shape),
              ObjectiveLevels.counted(request, slice.shape()));
      long priced = multiplyExact(shape.chips(), price(at));
      if (here) {
        mayGain(counted);
      } else if (of.kind() == Level.Kind.PRICE) {
        mayGain(priced);
      }
      long value = subtractExact(multiplyExact(weight, counted), cells);
      value = subtractExact(value, rowCost(request, at, shape));
      value = subtractExact(value, multiplyExact(hostWeight, hosts));
      return priceWeight == 0 ? value : subtractExact(value, multiplyExact(priceWeight, priced));
    }
  }
}
