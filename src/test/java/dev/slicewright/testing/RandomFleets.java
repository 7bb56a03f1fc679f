package dev.slicewright.testing;

import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Orientation;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.PartitionSpec;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.EnumSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;

/**
 * Small random fleets, of every slicing, with requests, rules and cost terms that use every
 * feature. Stateless; the same seed and limits give the same instance.
 *
 * <p>As jqwik arbitraries: {@link #instances()}, {@link #instances(Limits)}, {@link #fleets()}. By
 * seed: {@link #instance(long, Limits)}. A smaller limit gives a prefix of the larger one's
 * requests, running slices, faults and holds, so that jqwik shrinks by counts. {@link #footprints}
 * lists every legal footprint of a shape, for brute force.
 */
public final class RandomFleets {

  /** The point in time of every instance's rules. */
  public static final Instant NOW = Instant.parse("2026-03-01T12:00:00Z");

  private static final List<String> TENANTS = List.of("", "red", "blue");
  private static final List<String> ZONES = List.of("z1", "z2");

  /** The kinds of pod. */
  public enum Kind {
    /** Wired 2-D torus or mesh, any host-aligned box; at most 16 cells. */
    BOXES_2D,
    /** Wired 3-D torus or mesh, any host-aligned box; at most 18 cells. */
    BOXES_3D,
    /** 2-D, the v6e shapes as boxes, chips as cells; 16 or 32 cells. */
    SHAPED_BOXES,
    /** v6e partitions by halving, chips as cells; 16 or 32 cells. */
    HALVED,
    /** Partitions listed by the platform over named hosts, uneven trees; 6 to 8 cells. */
    LISTED,
    /** Two to five optical cubes, cubes halved. */
    OPTICAL,
    /** Two or three optical cubes, any box in a cube. */
    OPTICAL_BOXES,
    /** Two or three optical cubes of named hosts without coordinates, partitions listed. */
    OPTICAL_LISTED;

    /** All that take no optical switches. */
    public static final Set<Kind> WIRED =
        Collections.unmodifiableSet(EnumSet.of(BOXES_2D, BOXES_3D, SHAPED_BOXES, HALVED, LISTED));

    /** All that take optical switches. */
    public static final Set<Kind> CUBES =
        Collections.unmodifiableSet(EnumSet.of(OPTICAL, OPTICAL_BOXES, OPTICAL_LISTED));
  }

  /** Features that an instance may use. */
  public enum Feature {
    /** Several shapes in order, {@code mayTurn(false)}. */
    SHAPE_LISTS,
    /** {@code chips(n)}. */
    CHIPS,
    /** Requests of two or three slices, and spreads. */
    MULTISLICE,
    /** Gangs of two requests. */
    GANGS,
    /** Pinned pods, accelerators, required and forbidden labels. */
    SELECTORS,
    /** Wraparound and twisted. */
    INTERCONNECT,
    /** Healthy only. */
    HEALTHY_ONLY,
    /** Tenants, quotas and reservations. */
    TENANTS,
    /** More than one priority. */
    PRIORITIES,
    /** Running slices that may move or be evicted, and disruption budgets. */
    PERMISSIONS,
    /** Shapes that no pod can form. */
    IMPOSSIBLE,
    /** Prices, new hosts. */
    COST
  }

  /**
   * How large an instance may get.
   *
   * @param kinds the kinds of pod
   * @param features what may be used
   * @param pods most pods, 1 or more
   * @param running most running requests
   * @param faults most failed, degraded or cordoned parts
   * @param holds most holds
   * @param requests most requests, 1 or more
   */
  public record Limits(
      Set<Kind> kinds,
      Set<Feature> features,
      int pods,
      int running,
      int faults,
      int holds,
      int requests) {

    /** All kinds and features; 2 pods, 3 running, 3 faults, 2 holds, 4 requests. */
    public static final Limits DEFAULT =
        new Limits(EnumSet.allOf(Kind.class), EnumSet.allOf(Feature.class), 2, 3, 3, 2, 4);

    public Limits kinds(Set<Kind> value) {
      return new Limits(value, features, pods, running, faults, holds, requests);
    }

    public Limits kinds(Kind first, Kind... rest) {
      return kinds(EnumSet.of(first, rest));
    }

    public Limits features(Set<Feature> value) {
      return new Limits(kinds, value, pods, running, faults, holds, requests);
    }

    public Limits without(Feature first, Feature... rest) {
      EnumSet<Feature> left = EnumSet.noneOf(Feature.class);
      left.addAll(features);
      left.removeAll(EnumSet.of(first, rest));
      return features(left);
    }

    public Limits pods(int value) {
      return new Limits(kinds, features, value, running, faults, holds, requests);
    }

    public Limits running(int value) {
      return new Limits(kinds, features, pods, value, faults, holds, requests);
    }

    public Limits faults(int value) {
      return new Limits(kinds, features, pods, running, value, holds, requests);
    }

    public Limits holds(int value) {
      return new Limits(kinds, features, pods, running, faults, value, requests);
    }

    public Limits requests(int value) {
      return new Limits(kinds, features, pods, running, faults, holds, value);
    }

    boolean may(Feature feature) {
      return features.contains(feature);
    }
  }

  /** One problem to plan. Its text says how to make it again. */
  public record Instance(
      long seed,
      Limits limits,
      Fleet fleet,
      List<SliceRequest> requests,
      PlanningRules rules,
      CostTerms cost) {
    @Override
    public String toString() {
      return "RandomFleets.instance("
          + seed
          + "L, "
          + limits
          + ")\n  "
          + fleet.pods()
          + "\n  faults "
          + fleet.pods().stream().map(p -> p.reportedHealth() + " cordoned " + p.cordons()).toList()
          + "\n  running "
          + fleet.running()
          + "\n  holds "
          + fleet.holds()
          + "\n  requests "
          + requests
          + "\n  "
          + rules
          + "\n  "
          + cost;
    }
  }

  private RandomFleets() {}

  // ---------------------------------------------------------------- arbitraries

  /** Instances within {@link Limits#DEFAULT}. */
  public static Arbitrary<Instance> instances() {
    return instances(Limits.DEFAULT);
  }

  /** Instances within limits; counts shrink, the seed does not. */
  public static Arbitrary<Instance> instances(Limits limits) {
    return Combinators.combine(
            Arbitraries.longs().between(0, 1L << 40).dontShrink(),
            Arbitraries.integers().between(1, limits.pods()),
            Arbitraries.integers().between(0, limits.running()),
            Arbitraries.integers().between(0, limits.faults()),
            Arbitraries.integers().between(0, limits.holds()),
            Arbitraries.integers().between(1, Math.max(1, limits.requests())))
        .as(
            (seed, pods, running, faults, holds, requests) ->
                instance(
                    seed,
                    limits
                        .pods(pods)
                        .running(running)
                        .faults(faults)
                        .holds(holds)
                        .requests(requests)))
        .withoutEdgeCases();
  }

  /** Only the fleets of {@link #instances()}. */
  public static Arbitrary<Fleet> fleets() {
    return instances().map(Instance::fleet);
  }

  // ---------------------------------------------------------------- by seed

  /** The instance of a seed, with exactly as many pods and requests as the limits say. */
  public static Instance instance(long seed, Limits limits) {
    Fleet fleet = pods(new SplittableRandom(seed), limits);
    SplittableRandom runRandom = new SplittableRandom(seed + 1);
    for (int i = 0; i < limits.running(); i++) {
      fleet = run(fleet, "run-" + i, runRandom.split(), limits);
    }
    SplittableRandom faultRandom = new SplittableRandom(seed + 2);
    for (int i = 0; i < limits.faults(); i++) {
      fleet = fault(fleet, faultRandom.split());
    }
    SplittableRandom requestRandom = new SplittableRandom(seed + 3);
    List<SliceRequest> requests = new ArrayList<>();
    for (int i = 0; i < limits.requests(); i++) {
      requests.add(request(fleet, "req-" + i, requestRandom.split(), limits));
    }
    SplittableRandom holdRandom = new SplittableRandom(seed + 4);
    for (int i = 0; i < limits.holds(); i++) {
      fleet = hold(fleet, "hold-" + i, holdRandom.split(), limits);
    }
    SplittableRandom ruleRandom = new SplittableRandom(seed + 5);
    return new Instance(
        seed,
        limits,
        fleet,
        List.copyOf(requests),
        rules(fleet, ruleRandom, limits),
        cost(fleet, ruleRandom, limits));
  }

  private static Fleet pods(SplittableRandom random, Limits limits) {
    List<Kind> kinds = new ArrayList<>(limits.kinds());
    Collections.sort(kinds);
    Fleet.Builder builder = Fleet.builder().version(random.nextInt(100));
    Kind kind = pick(random, kinds);
    for (int i = 0; i < limits.pods(); i++) {
      SplittableRandom own = random.split();
      // Pods of one kind compete for requests: more often than not.
      kind = own.nextInt(3) == 0 ? pick(own, kinds) : kind;
      Map<String, String> labels = new TreeMap<>();
      if (own.nextInt(3) > 0) {
        labels.put("zone", pick(own, ZONES));
      }
      if (own.nextInt(4) == 0) {
        labels.put("power", "feed \"" + own.nextInt(2) + "\"");
      }
      builder.pod("pod-" + (char) ('a' + i), topology(kind, own), labels);
    }
    return builder.build();
  }

  /** A small topology of a kind. */
  public static TpuTopology topology(Kind kind, SplittableRandom random) {
    return switch (kind) {
      case BOXES_2D -> {
        boolean hosts = random.nextBoolean();
        TpuTopology.Builder b =
            hosts
                ? TpuTopology.torusBuilder(2 * (1 + random.nextInt(4)), 2 * (1 + random.nextInt(4)))
                : TpuTopology.torusBuilder(1 + random.nextInt(4), 1 + random.nextInt(4))
                    .hostTile(Shape.of(1, 1));
        yield wrap(b, random).build();
      }
      case BOXES_3D -> {
        boolean hosts = random.nextBoolean();
        TpuTopology.Builder b =
            hosts
                ? TpuTopology.torusBuilder(
                    2 * (1 + random.nextInt(3)), 2 * (1 + random.nextInt(2)), 1 + random.nextInt(3))
                : TpuTopology.torusBuilder(
                        1 + random.nextInt(3), 1 + random.nextInt(3), 1 + random.nextInt(2))
                    .hostTile(Shape.of(1, 1, 1));
        if (random.nextInt(4) == 0) {
          b.slicing(new Slicing.TorusBoxes(List.of(), true));
        }
        yield wrap(b, random).build();
      }
      case SHAPED_BOXES ->
          wrap(
                  TpuTopology.builder(AcceleratorType.V6E)
                      .boxes()
                      .dims(4, random.nextBoolean() ? 4 : 8)
                      .physicalHostTile(Shape.of(2, 4)),
                  random)
              .build();
      case HALVED ->
          TpuTopology.builder(random.nextBoolean() ? AcceleratorType.V6E : AcceleratorType.V5E)
              .dims(4, random.nextBoolean() ? 4 : 8)
              .physicalHostTile(Shape.of(2, 4))
              .build();
      case LISTED -> listed(random);
      case OPTICAL ->
          TpuTopology.builder(random.nextInt(3) == 0 ? AcceleratorType.TPU7X : AcceleratorType.V5P)
              .cubes(2 + random.nextInt(4))
              .build();
      case OPTICAL_BOXES ->
          TpuTopology.builder(AcceleratorType.V5P)
              .cubes(2 + random.nextInt(2))
              .slicing(new Slicing.OpticalCubes(96, true, List.of()))
              .build();
      case OPTICAL_LISTED -> opticalListed(random);
    };
  }

  private static TpuTopology.Builder wrap(TpuTopology.Builder b, SplittableRandom random) {
    for (Axis axis : Axis.values()) {
      if (random.nextInt(3) == 0) {
        b.wrap(axis, false);
      }
    }
    return b;
  }

  /** A 1-deep to 3-deep uneven tree over six or eight named hosts of a custom accelerator. */
  private static TpuTopology listed(SplittableRandom random) {
    int hosts = random.nextBoolean() ? 6 : 8;
    AcceleratorType lab =
        AcceleratorType.builder("lab")
            .podDims(Shape.of(2, hosts))
            .hostTile(Shape.of(2, 1))
            .hbmGib(16)
            .bf16Tflops(12.5)
            .machine("lab-2t", 2, 8, 64)
            .build();
    List<PartitionSpec> specs = new ArrayList<>();
    specs.add(new PartitionSpec("all", Shape.of(2, hosts), range(0, hosts)));
    int split = random.nextBoolean() ? hosts / 2 : 2;
    specs.add(new PartitionSpec("west", Shape.of(2, split), range(0, split)));
    specs.add(new PartitionSpec("east", Shape.of(2, hosts - split), range(split, hosts)));
    for (int h = 0; h < hosts; h++) {
      if (random.nextInt(4) > 0) {
        specs.add(new PartitionSpec("one-" + h, Shape.of(1, 2), range(h, h + 1)));
      }
    }
    List<String> names = new ArrayList<>();
    for (int h = 0; h < hosts; h++) {
      names.add("node-" + (char) ('a' + h));
    }
    TpuTopology.Builder b =
        TpuTopology.builder(lab).slicing(new Slicing.NestedPartitions(specs)).hostNames(names);
    return (random.nextBoolean() ? b.coordinatesUnknown() : b).build();
  }

  private static TpuTopology opticalListed(SplittableRandom random) {
    int cubes = 2 + random.nextInt(2);
    List<PartitionSpec> specs = new ArrayList<>();
    List<String> hostNames = new ArrayList<>();
    List<String> cubeNames = new ArrayList<>();
    for (int c = 0; c < cubes; c++) {
      cubeNames.add("rack<" + c + ">");
      for (int h = 0; h < 16; h++) {
        hostNames.add("r" + c + "-n" + h);
      }
      int first = 16 * c;
      specs.add(new PartitionSpec("c" + c + "-half0", Shape.of(2, 4, 4), range(first, first + 8)));
      specs.add(
          new PartitionSpec("c" + c + "-half1", Shape.of(2, 4, 4), range(first + 8, first + 16)));
      for (int q = 0; q < 4; q++) {
        if (random.nextInt(3) > 0) {
          specs.add(
              new PartitionSpec(
                  "c" + c + "-q" + q, Shape.of(2, 2, 4), range(first + 4 * q, first + 4 * q + 4)));
        }
      }
    }
    return TpuTopology.builder(AcceleratorType.TPU7X)
        .cubes(cubes)
        .slicing(new Slicing.OpticalCubes(144, false, specs))
        .hostNames(hostNames)
        .cubeNames(cubeNames)
        .coordinatesUnknown()
        .build();
  }

  private static List<HostId> range(int from, int to) {
    List<HostId> hosts = new ArrayList<>();
    for (int h = from; h < to; h++) {
      hosts.add(new HostId(h));
    }
    return hosts;
  }

  // ---------------------------------------------------------------- what runs

  private static Fleet run(Fleet fleet, String id, SplittableRandom random, Limits limits) {
    Pod pod = pick(random, List.copyOf(fleet.pods()));
    TpuTopology t = pod.topology();
    Shape shape = shape(t, random, true);
    int wanted = limits.may(Feature.MULTISLICE) && random.nextInt(4) == 0 ? 2 : 1;
    List<Pod> homes = new ArrayList<>();
    for (Pod other : fleet.pods()) {
      if (other.topology().accelerator().equals(t.accelerator())
          && other.topology().isLegal(shape)) {
        homes.add(other);
      }
    }
    record Found(String pod, Footprint footprint) {}
    List<Found> found = new ArrayList<>();
    Fleet trial = fleet;
    for (int i = 0; i < wanted; i++) {
      Pod home = i == 0 ? pod : pick(random, homes);
      List<Footprint> free = free(trial.pod(home.id()).orElseThrow(), shape);
      if (free.isEmpty()) {
        break;
      }
      Footprint footprint = pick(random, free);
      found.add(new Found(home.id(), footprint));
      SliceRequest dummy = SliceRequest.builder("dummy").shape(shape).slices(2).build();
      trial = trial.place(RunningSlice.builder(dummy, i, home.id(), shape, footprint).build());
    }
    if (found.isEmpty()) {
      return fleet;
    }
    SliceRequest.Builder b = SliceRequest.builder(id).slices(found.size());
    if (random.nextBoolean()) {
      b.shape(shape);
    } else {
      b.chips(shape.chips());
    }
    decorate(b, random, limits);
    SliceRequest request = b.build();
    Fleet changed = fleet;
    Twist twist = random.nextInt(3) == 0 ? t.twist(shape).orElse(Twist.NONE) : Twist.NONE;
    for (int i = 0; i < found.size(); i++) {
      RunningSlice.Builder slice =
          RunningSlice.builder(request, i, found.get(i).pod(), shape, found.get(i).footprint());
      if (found.get(i).footprint() instanceof Footprint.Cubes) {
        slice.twist(twist);
      }
      if (random.nextBoolean()) {
        slice.startedAt(NOW.minusSeconds(random.nextInt(100_000)));
      }
      if (random.nextInt(3) == 0) {
        slice.checkpointAt(NOW.minusSeconds(random.nextInt(5_000)).plusMillis(random.nextInt(999)));
      }
      if (random.nextInt(3) == 0) {
        slice.restartTime(Duration.ofSeconds(random.nextInt(900)));
      }
      slice.leaving(random.nextInt(8) == 0);
      changed = changed.place(slice.build());
    }
    return changed;
  }

  private static List<Footprint> free(Pod pod, Shape shape) {
    List<Footprint> free = new ArrayList<>();
    for (Footprint f : footprints(pod.topology(), shape)) {
      if (!pod.busy().containsAny(pod.topology().cells(f))) {
        free.add(f);
      }
    }
    return free;
  }

  /** A legal shape, small ones more often; perhaps turned. */
  private static Shape shape(TpuTopology t, SplittableRandom random, boolean inPod) {
    List<Shape> legal = t.legalShapes().stream().filter(s -> s.chips() <= t.chipCount()).toList();
    int i = Math.min(random.nextInt(legal.size()), random.nextInt(legal.size()));
    Shape shape = legal.get(i);
    List<Orientation> turns = Orientation.ofRank(shape.rank());
    return random.nextBoolean() ? shape : turns.get(random.nextInt(turns.size())).extents(shape);
  }

  private static Fleet fault(Fleet fleet, SplittableRandom random) {
    Pod pod = pick(random, List.copyOf(fleet.pods()));
    TpuTopology t = pod.topology();
    Chip chip = t.chip(random.nextInt(t.chipCount()));
    Part host = new Part.Host(new HostId(random.nextInt(t.hostCount())));
    Health health = random.nextBoolean() ? Health.FAILED : Health.DEGRADED;
    switch (random.nextInt(t.isOptical() ? 10 : 7)) {
      case 0, 1:
        return fleet.report(pod.id(), host, health);
      case 2:
        return fleet.report(pod.id(), new Part.Chip(chip), health);
      case 3:
        Axis axis = Axis.values()[random.nextInt(t.dims().rank())];
        boolean last = chip.get(axis) == t.dims().get(axis) - 1;
        if (!t.isOptical() && last && (!t.wraps(axis) || t.dims().get(axis) == 1)) {
          return fleet.report(pod.id(), host, health);
        }
        return fleet.report(pod.id(), new Part.Link(chip, axis), health);
      case 4, 5:
        return fleet.cordon(pod.id(), random.nextBoolean() ? host : new Part.Chip(chip));
      case 6:
        return random.nextInt(3) == 0 ? fleet.cordonPod(pod.id()) : fleet.cordon(pod.id(), host);
      case 7:
        return fleet.report(pod.id(), new Part.Cube(t.cubeOf(chip)), health);
      case 8:
        return fleet.cordon(pod.id(), new Part.Cube(t.cubeOf(chip)));
      default:
        return fleet.report(
            pod.id(),
            new Part.OcsPort(
                t.cubeOf(chip),
                Axis.values()[random.nextInt(3)],
                random.nextBoolean(),
                random.nextInt(16)),
            health);
    }
  }

  private static Fleet hold(Fleet fleet, String id, SplittableRandom random, Limits limits) {
    Pod pod = pick(random, List.copyOf(fleet.pods()));
    Set<Integer> blocked = new LinkedHashSet<>();
    pod.running().stream()
        .filter(s -> !s.leaving())
        .forEach(s -> addAll(blocked, pod.topology().cells(s.footprint())));
    pod.holds().forEach(h -> addAll(blocked, pod.topology().cells(h.footprint())));
    List<Footprint> free = new ArrayList<>();
    for (Footprint f : footprints(pod.topology(), shape(pod.topology(), random, true))) {
      if (Arrays.stream(pod.topology().cells(f)).noneMatch(blocked::contains)) {
        free.add(f);
      }
    }
    if (free.isEmpty()) {
      return fleet;
    }
    String owner =
        random.nextInt(3) == 0
            ? "stranger"
            : "req-" + random.nextInt(Math.max(1, limits.requests()));
    Instant expiry = NOW.plusSeconds(random.nextInt(4) == 0 ? -60 : 1 + random.nextInt(600));
    return fleet.hold(new Hold(id, pod.id(), pick(random, free), owner, expiry));
  }

  private static void addAll(Set<Integer> set, int[] cells) {
    for (int cell : cells) {
      set.add(cell);
    }
  }

  // ---------------------------------------------------------------- what is wanted

  private static SliceRequest request(
      Fleet fleet, String id, SplittableRandom random, Limits limits) {
    Pod pod = pick(random, List.copyOf(fleet.pods()));
    TpuTopology t = pod.topology();
    SliceRequest.Builder b = SliceRequest.builder(id);
    Shape shape = shape(t, random, true);
    if (limits.may(Feature.IMPOSSIBLE) && random.nextInt(15) == 0) {
      b.shape(random.nextBoolean() ? Shape.of(3, 7, 5) : Shape.of(32, 32));
    } else if (limits.may(Feature.CHIPS) && random.nextInt(3) == 0) {
      b.chips(shape.chips());
    } else {
      b.shape(shape);
      if (limits.may(Feature.SHAPE_LISTS)) {
        for (int i = random.nextInt(4); i > 1; i--) {
          Shape more = shape(t, random, true);
          if (!more.sorted().equals(shape.sorted())) {
            b.shape(more);
            break;
          }
        }
        b.mayTurn(random.nextInt(5) > 0);
      }
    }
    if (limits.may(Feature.MULTISLICE) && random.nextInt(4) == 0) {
      b.slices(2 + random.nextInt(2));
      switch (random.nextInt(5)) {
        case 0 -> b.spread(Spread.samePod());
        case 1 -> b.spread(Spread.differentPods());
        case 2 ->
            b.spread(Spread.atMost(1 + random.nextInt(2), random.nextBoolean() ? "zone" : ""));
        default -> b.spread(Spread.any());
      }
    }
    if (limits.may(Feature.SELECTORS)) {
      switch (random.nextInt(10)) {
        case 0 -> b.pod(pod.id());
        case 1 -> b.accelerators(t.accelerator().name());
        case 2 -> b.accelerators("v6e", "v5p", "torus");
        case 3 -> b.requireLabel("zone", pick(random, ZONES));
        case 4 -> b.forbidLabel("zone", pick(random, ZONES));
        default -> {}
      }
    }
    if (limits.may(Feature.INTERCONNECT) && random.nextInt(6) == 0) {
      b.interconnect(random.nextInt(3) == 0 ? Interconnect.TWISTED : Interconnect.WRAPAROUND);
    }
    if (limits.may(Feature.GANGS) && random.nextInt(4) == 0) {
      b.gang("gang");
    }
    decorate(b, random, limits);
    return b.build();
  }

  private static void decorate(SliceRequest.Builder b, SplittableRandom random, Limits limits) {
    if (limits.may(Feature.HEALTHY_ONLY)) {
      b.healthyOnly(random.nextInt(4) == 0);
    }
    if (limits.may(Feature.TENANTS)) {
      b.tenant(pick(random, TENANTS));
    }
    if (limits.may(Feature.PRIORITIES)) {
      b.priority(random.nextInt(3) == 0 ? 100 : random.nextInt(2) * 10);
    }
  }

  // ---------------------------------------------------------------- rules

  private static PlanningRules rules(Fleet fleet, SplittableRandom random, Limits limits) {
    PlanningRules.Builder b = PlanningRules.builder().now(NOW);
    long chips = fleet.pods().stream().mapToLong(p -> p.topology().chipCount()).sum();
    if (limits.may(Feature.TENANTS)) {
      if (random.nextInt(3) == 0) {
        b.quota("red", random.nextLong(chips + 1));
      }
      if (random.nextInt(4) == 0) {
        String accelerator =
            pick(random, List.copyOf(fleet.pods())).topology().accelerator().name();
        b.quota(new PlanningRules.Quota("blue", accelerator, random.nextLong(chips + 1)));
      }
      if (random.nextInt(4) == 0) {
        Map<String, String> where =
            random.nextBoolean() ? Map.of() : Map.of("zone", pick(random, ZONES));
        b.reserve(new PlanningRules.Reserved("red", where, random.nextLong(chips / 2 + 1)));
      }
    }
    if (limits.may(Feature.PERMISSIONS)) {
      List<Permission> all =
          List.of(
              Permission.PINNED,
              Permission.MOVABLE,
              Permission.EVICTABLE,
              Permission.ANY,
              new Permission(true, false, true),
              new Permission(true, true, true));
      b.permitByDefault(pick(random, all));
      fleet.running().stream()
          .map(s -> s.id().request())
          .distinct()
          .forEach(
              id -> {
                if (random.nextInt(3) == 0) {
                  b.permit(id, pick(random, all));
                }
              });
      if (random.nextInt(4) == 0) {
        b.disruption(
            new PlanningRules.DisruptionBudget(
                random.nextInt(4),
                random.nextBoolean() ? Long.MAX_VALUE : random.nextLong(1_000_000),
                random.nextInt(3)));
      }
    }
    return b.build();
  }

  private static CostTerms cost(Fleet fleet, SplittableRandom random, Limits limits) {
    if (!limits.may(Feature.COST) || random.nextBoolean()) {
      return CostTerms.DEFAULT;
    }
    CostTerms.Builder b =
        CostTerms.builder().shapeRank(random.nextInt(4) > 0).newHosts(random.nextBoolean());
    for (Pod pod : fleet.pods()) {
      if (random.nextBoolean()) {
        b.pricePerChipHourMicros(
            pod.topology().accelerator().name(), 1_000_000L + random.nextInt(5_000_000));
      }
      if (random.nextInt(3) == 0) {
        b.podPricePerChipHourMicros(pod.id(), 500_000L + random.nextInt(500_000));
      }
    }
    return b.build();
  }

  // ---------------------------------------------------------------- for brute force

  /**
   * Every legal footprint of a shape on a pod, health and occupancy aside. Of whole cubes, every
   * set once, ascending: which cube stands where in the torus makes no difference to what is free.
   */
  public static List<Footprint> footprints(TpuTopology t, Shape shape) {
    List<Footprint> all = new ArrayList<>();
    int cubes = t.cubesOf(shape);
    if (!t.isLegal(shape)) {
      return all;
    }
    if (cubes > 0) {
      choose(all, new ArrayList<>(), 0, t.cubeCount(), cubes);
      return all;
    }
    boolean boxes =
        t.slicing() instanceof Slicing.TorusBoxes
            || t.slicing() instanceof Slicing.OpticalCubes o && o.boxesInCube();
    if (boxes) {
      Set<Shape> extents = new LinkedHashSet<>();
      for (Orientation o : Orientation.ofRank(shape.rank())) {
        extents.add(o.extents(shape));
      }
      for (Shape e : extents) {
        Set<List<Integer>> seen = new LinkedHashSet<>();
        for (int i = 0; i < t.chipCount(); i++) {
          Footprint.Box box = new Footprint.Box(t.chip(i), e);
          // A box as long as a ring covers the same chips from every origin along it.
          if (t.whyNot(shape, box).isEmpty()) {
            List<Integer> cells = new ArrayList<>();
            for (int cell : t.cells(box)) {
              cells.add(cell);
            }
            boolean inHost = e.chips() < t.chipsPerCell();
            if (seen.add(cells) || inHost) {
              all.add(box);
            }
          }
        }
      }
    }
    if (!(t.slicing() instanceof Slicing.TorusBoxes)) {
      PartitionForest forest = t.partitions().orElseThrow();
      for (int i = 0; i < forest.size(); i++) {
        Footprint.Partition partition = new Footprint.Partition(new PartitionId(i));
        if (t.whyNot(shape, partition).isEmpty()) {
          all.add(partition);
        }
      }
    }
    return all;
  }

  private static void choose(
      List<Footprint> out, List<CubeId> chosen, int from, int cubes, int need) {
    if (need == 0) {
      out.add(new Footprint.Cubes(chosen));
      return;
    }
    for (int c = from; c <= cubes - need; c++) {
      chosen.add(new CubeId(c));
      choose(out, chosen, c + 1, cubes, need - 1);
      chosen.remove(chosen.size() - 1);
    }
  }

  private static <T> T pick(SplittableRandom random, List<T> from) {
    return from.get(random.nextInt(from.size()));
  }
}
