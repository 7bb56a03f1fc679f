package dev.slicewright.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.fail;

import dev.slicewright.SliceId;
import dev.slicewright.cost.Collectives;
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
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.jspecify.annotations.Nullable;

/**
 * Whatever the prices: no plan that keeps the earlier levels is better than a certified bound, nor
 * than that of a tree of cases, nor than that of the case under which it falls. Every plan of tiny
 * problems is tried, or a sample of them where there are many.
 */
class CertificatePropertiesTest {

  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

  private static final List<TpuTopology> BOXES =
      List.of(
          TpuTopology.torus(4, 4),
          TpuTopology.torus(4, 6),
          TpuTopology.torusBuilder(4, 4).mesh().build(),
          TpuTopology.torus(4, 4, 2),
          TpuTopology.torusBuilder(4, 2)
              .slicing(
                  new Slicing.TorusBoxes(
                      List.of(Shape.of(1, 1), Shape.of(2, 2), Shape.of(2, 4)), false))
              .build());

  private static final List<TpuTopology> FORESTS =
      List.of(
          TpuTopology.builder(AcceleratorType.V5E).dims(4, 4).build(),
          TpuTopology.builder(AcceleratorType.V5E).dims(2, 4).build());

  private static final List<TpuTopology> OPTICAL =
      List.of(
          TpuTopology.builder(AcceleratorType.V5P).cubes(2).build(),
          TpuTopology.builder(AcceleratorType.V5P).cubes(3).build(),
          TpuTopology.builder(AcceleratorType.V5P)
              .slicing(new Slicing.OpticalCubes(96, true, List.of()))
              .cubes(1)
              .build());

  @Property(tries = 60)
  void boundsHoldOnBoxes(@ForAll long seed) {
    Trial trial = new Trial(new Random(seed), BOXES);
    trial.check();
    trial.checkAlike();
    trial.checkBranches();
  }

  @Property(tries = 60)
  void boundsHoldOnPartitions(@ForAll long seed) {
    Trial trial = new Trial(new Random(seed), FORESTS);
    trial.check();
    trial.checkAlike();
    trial.checkBranches();
  }

  @Property(tries = 60)
  void boundsHoldOnCubes(@ForAll long seed) {
    Trial trial = new Trial(new Random(seed), OPTICAL);
    trial.check();
    trial.checkAlike();
    trial.checkBranches();
  }

  /** A random problem, all its plans, and random certificates. */
  private static final class Trial {
    private final Random random;
    private final Case c;
    private final List<SliceRequest> requests = new ArrayList<>();
    private final List<long[]> values = new ArrayList<>();
    private final List<List<RequestPlacement>> placements = new ArrayList<>(); // for each of values

    Trial(Random random, List<TpuTopology> topologies) {
      this.random = random;
      Fleet.Builder b = Fleet.builder();
      int pods = 1 + random.nextInt(2);
      TpuTopology t = pick(topologies);
      for (int i = 0; i < pods; i++) {
        t = random.nextInt(3) == 0 ? pick(topologies) : t;
        b.pod("p" + i, t, Map.of("zone", "z" + random.nextInt(2)));
      }
      Fleet fleet = b.build();
      PlanningRules.Builder rules = PlanningRules.builder().now(NOW);
      int running = random.nextInt(3);
      for (int i = 0; i < running; i++) {
        SliceRequest request = request("r" + i);
        if (request.slices() == 1) {
          fleet = run(fleet, request);
          rules.permit("r" + i, new Permission(random.nextBoolean(), random.nextInt(3) > 0, false));
        }
      }
      int wanted = 1 + random.nextInt(2);
      for (int i = 0; i < wanted; i++) {
        requests.add(request("w" + i));
      }
      fleet = hurt(fleet);
      fleet = hold(fleet);
      if (random.nextInt(3) == 0) {
        rules.quota(pick(List.of("", "t")), random.nextInt(200));
      }
      if (random.nextInt(4) == 0) {
        rules.reserve(
            new PlanningRules.Reserved(
                pick(List.of("t", "u")), Map.of("zone", "z0"), random.nextInt(80)));
      }
      CostTerms.Builder cost = CostTerms.builder().newHosts(random.nextBoolean());
      if (random.nextBoolean()) {
        cost.podPricePerChipHourMicros("p0", random.nextInt(5));
      }
      this.c = new Case(fleet, requests, rules.build(), cost.build());
    }

    private <T> T pick(List<T> list) {
      return list.get(random.nextInt(list.size()));
    }

    private SliceRequest request(String id) {
      List<Shape> shapes = new ArrayList<>();
      SliceRequest.Builder b = SliceRequest.builder(id);
      for (TpuTopology t : Stream.of(BOXES, FORESTS, OPTICAL).flatMap(List::stream).toList()) {
        shapes.addAll(t.legalShapes());
      }
      shapes.removeIf(s -> s.chips() > 192 || s.chips() < 2 && random.nextBoolean());
      Collections.shuffle(shapes, random);
      if (random.nextInt(4) == 0) {
        b.chips(shapes.get(0).chips());
      } else {
        int n = 1 + random.nextInt(6);
        List<Shape> seen = new ArrayList<>();
        for (Shape shape : shapes) {
          if (seen.size() < n && !seen.contains(shape.sorted())) {
            seen.add(shape.sorted());
            b.shape(shape);
          }
        }
      }
      if (random.nextInt(4) == 0) {
        b.slices(2).spread(pick(List.of(Spread.any(), Spread.samePod(), Spread.differentPods())));
      }
      b.mayTurn(random.nextInt(4) > 0).healthyOnly(random.nextInt(3) == 0);
      b.priority(random.nextInt(2)).tenant(pick(List.of("", "t")));
      if (random.nextInt(4) == 0) {
        b.gang("g");
      }
      if (random.nextInt(6) == 0) {
        b.interconnect(Interconnect.WRAPAROUND);
      }
      return b.build();
    }

    private Fleet run(Fleet fleet, SliceRequest request) {
      List<RunningSlice> possible = new ArrayList<>();
      for (Pod pod : fleet.pods()) {
        for (Shape shape : Collectives.shapeOptions(request, pod.topology())) {
          for (Footprint f : footprints(pod.topology(), shape)) {
            if (!pod.busy().containsAny(pod.topology().cells(f))) {
              possible.add(
                  RunningSlice.builder(request, 0, pod.id(), shape, f)
                      .restartTime(Duration.ofSeconds(random.nextInt(3)))
                      .checkpointAt(NOW)
                      .build());
            }
          }
        }
      }
      return possible.isEmpty() ? fleet : fleet.place(pick(possible));
    }

    private Fleet hurt(Fleet fleet) {
      Fleet out = fleet;
      for (Pod pod : fleet.pods()) {
        if (random.nextInt(3) == 0) {
          Part host = new Part.Host(new HostId(random.nextInt(pod.topology().hostCount())));
          out = out.report(pod.id(), host, pick(List.of(Health.FAILED, Health.DEGRADED)));
        }
        if (random.nextInt(6) == 0) {
          Part host = new Part.Host(new HostId(random.nextInt(pod.topology().hostCount())));
          out = out.cordon(pod.id(), host);
        }
        if (random.nextInt(6) == 0) {
          Part link = new Part.Link(new Chip(0, 0, 0), Axis.Y);
          out = out.report(pod.id(), link, pick(List.of(Health.FAILED, Health.DEGRADED)));
        }
      }
      return out;
    }

    private Fleet hold(Fleet fleet) {
      Pod pod = pick(List.copyOf(fleet.pods()));
      if (random.nextInt(3) != 0) {
        return fleet;
      }
      Shape shape = pick(pod.topology().legalShapes());
      for (Footprint f : footprints(pod.topology(), shape)) {
        if (!pod.busy().containsAny(pod.topology().cells(f))) {
          String holder = pick(List.of("w0", "stranger"));
          return fleet.hold(new Hold("h", pod.id(), f, holder, NOW.plusSeconds(1)));
        }
      }
      return fleet;
    }

    // ------------------------------------------------------------- all plans

    private static List<Footprint> footprints(TpuTopology t, Shape shape) {
      List<Footprint> all = new ArrayList<>();
      if (!t.isLegal(shape)) {
        return all;
      }
      int cubes = t.cubesOf(shape);
      for (int mask = 1; cubes > 0 && mask < 1 << t.cubeCount(); mask++) {
        if (Integer.bitCount(mask) == cubes) {
          int m = mask;
          all.add(
              new Footprint.Cubes(
                  IntStream.range(0, t.cubeCount())
                      .filter(i -> (m >> i & 1) != 0)
                      .mapToObj(CubeId::new)
                      .toList()));
        }
      }
      int size = t.partitions().map(f -> f.size()).orElse(0);
      for (int i = 0; i < size; i++) {
        all.add(new Footprint.Partition(new PartitionId(i)));
      }
      for (Orientation o : Orientation.ofRank(shape.rank())) {
        for (int i = 0; i < t.chipCount(); i++) {
          Footprint box = new Footprint.Box(t.chip(i), o.extents(shape));
          if (!all.contains(box)) {
            all.add(box);
          }
        }
      }
      all.removeIf(f -> t.whyNot(shape, f).isPresent());
      return all;
    }

    /** All ways to place the slices of a request, each {@code null} entry for one that stays. */
    private List<List<Placement>> ways(SliceRequest request, int slices, int most) {
      List<List<Placement>> ways = new ArrayList<>();
      ways.add(List.of());
      for (int i = 0; i < slices; i++) {
        List<List<Placement>> longer = new ArrayList<>();
        for (Pod pod : c.fleet().pods()) {
          TpuTopology t = pod.topology();
          for (Shape shape : Collectives.shapeOptions(request, t)) {
            for (Footprint f : footprints(t, shape)) {
              for (List<Placement> way : ways) {
                List<Placement> next = new ArrayList<>(way);
                next.add(
                    new Placement(new SliceId(request.id(), i), pod.id(), t, shape, f, Twist.NONE));
                longer.add(next);
              }
            }
          }
        }
        Collections.shuffle(longer, random);
        ways = longer.subList(0, Math.min(longer.size(), most));
      }
      return ways;
    }

    void check() {
      List<List<List<Placement>>> choices = new ArrayList<>();
      List<RunningSlice> movable = new ArrayList<>();
      for (RunningSlice slice : c.fleet().running()) {
        Permission p = ObjectiveLevels.permission(c.fleet(), c.rules(), slice.id().request());
        if (p.move() || p.evict()) {
          movable.add(slice);
        }
      }
      // At most some 1,000 combinations.
      int most = (int) Math.pow(1_000, 1.0 / (movable.size() + requests.size())) - 1;
      for (RunningSlice slice : movable) {
        choices.add(ways(slice.request(), 1, most));
      }
      for (SliceRequest request : requests) {
        choices.add(ways(request, request.slices(), most));
      }
      enumerate(movable, choices, 0, new ArrayList<>());
      assertThat(values).isNotEmpty();
      List<Level> levels = levels();
      for (int trial = 0; trial < 12; trial++) {
        Certificate certificate = certificate(levels, random.nextInt(levels.size()));
        long[] held = pick(values);
        long bound =
            PlanVerifier.certifiedBound(
                c.fleet(), requests, c.rules(), c.cost(), certificate, held);
        for (long[] other : values) {
          if (keeps(levels, certificate.level(), held, other)) {
            int l = certificate.level();
            boolean max = levels.get(l).kind().maximise();
            if (max ? bound < other[l] : bound > other[l]) {
              fail("bound " + bound + ", value " + other[l] + ": " + certificate + levels + c);
            }
          }
        }
      }
    }

    void checkBranches() {
      List<Level> levels = levels();
      BoundChecker checker = PlanVerifier.boundChecker(c.fleet(), requests, c.rules(), c.cost());
      for (int trial = 0; trial < 6; trial++) {
        int level = random.nextInt(levels.size());
        BranchTree tree = tree(levels, level, 0);
        long[] held = pick(values);
        long bound = checker.bound(tree, held);
        for (int i = 0; i < values.size(); i++) {
          if (keeps(levels, level, held, values.get(i))) {
            List<BranchTree.Step> path = new ArrayList<>();
            BranchTree.Leaf leaf = leafOf(tree, placements.get(i), path);
            long mine = checker.bound(leaf.certificate(), path, leaf.branchPrices(), held);
            boolean max = levels.get(level).kind().maximise();
            long value = values.get(i)[level];
            if (max ? bound < mine || mine < value : bound > mine || mine > value) {
              fail(bound + ", case " + mine + ", value " + value + ": " + tree + path + c);
            }
          }
        }
      }
    }

    /** Told apart by a step that takes nothing, pods and requests give what they give together. */
    void checkAlike() {
      List<Level> levels = levels();
      BoundChecker checker = PlanVerifier.boundChecker(c.fleet(), requests, c.rules(), c.cost());
      List<BranchTree.Step> path = new ArrayList<>();
      for (Pod pod : c.fleet().pods()) {
        path.add(new BranchTree.Step(CountRow.ofChips(1, 1).inPod(pod.id()), 0, false));
      }
      for (int trial = 0; trial < 6; trial++) {
        Certificate certificate = certificate(levels, random.nextInt(levels.size()));
        long[] held = pick(values);
        assertThat(checker.bound(certificate, held))
            .as("%s of %s", certificate, c)
            .isEqualTo(checker.bound(certificate, path, new long[path.size()], held));
      }
    }

    /** The leaf under which a plan falls. */
    private static BranchTree.Leaf leafOf(
        BranchTree tree, List<RequestPlacement> placed, List<BranchTree.Step> path) {
      BranchTree at = tree;
      while (at instanceof BranchTree.Split split) {
        long count = 0;
        for (RequestPlacement request : placed) {
          for (Placement slice : request.slices()) {
            count += split.row().counts(request.request(), slice.pod(), slice.shape()) ? 1 : 0;
          }
        }
        path.add(new BranchTree.Step(split.row(), split.atMost(), count > split.atMost()));
        at = count > split.atMost() ? split.above() : split.below();
      }
      return (BranchTree.Leaf) at;
    }

    private BranchTree tree(List<Level> levels, int level, int depth) {
      if (depth == 0 || depth < 3 && random.nextBoolean()) {
        SliceRequest like = pick(requests);
        Pod pod = pick(List.copyOf(c.fleet().pods()));
        List<Shape> shapes = Collectives.shapeOptions(like, pod.topology());
        Shape shape = shapes.isEmpty() ? Shape.of(2, 2) : pick(shapes);
        CountRow row =
            random.nextBoolean()
                ? CountRow.ofShape(shape)
                : CountRow.ofChips(shape.chips() / (1 + random.nextInt(2)), shape.chips());
        row = random.nextInt(3) > 0 ? row : row.inPod(pod.id());
        row = random.nextInt(3) > 0 ? row : row.withPriorities(random.nextInt(2), 1);
        return new BranchTree.Split(
            row, random.nextInt(3), tree(levels, level, depth + 1), tree(levels, level, depth + 1));
      }
      long[] branchPrices =
          random.longs(depth, 0, 200).map(p -> p * Certificate.UNIT / 2).toArray();
      return new BranchTree.Leaf(certificate(levels, level), branchPrices);
    }

    private static boolean keeps(List<Level> levels, int level, long[] held, long[] other) {
      for (int i = 0; i < level; i++) {
        if (levels.get(i).kind().maximise() ? other[i] < held[i] : other[i] > held[i]) {
          return false;
        }
      }
      return true;
    }

    private List<Level> levels() {
      return ObjectiveLevels.of(c.fleet(), requests, c.rules(), c.cost());
    }

    /** Every combination: stay, leave or move; unplaced or placed. */
    private void enumerate(
        List<RunningSlice> movable,
        List<List<List<Placement>>> choices,
        int at,
        List<@Nullable List<Placement>> chosen) {
      if (at == choices.size()) {
        evaluate(movable, chosen);
        return;
      }
      List<@Nullable List<Placement>> mine = new ArrayList<>(choices.get(at));
      mine.add(0, null);
      if (at < movable.size()) {
        mine.add(1, List.of());
      }
      for (List<Placement> way : mine) {
        chosen.add(way);
        enumerate(movable, choices, at + 1, chosen);
        chosen.remove(chosen.size() - 1);
      }
    }

    private void evaluate(List<RunningSlice> movable, List<@Nullable List<Placement>> chosen) {
      Plan.Builder b = c.plan();
      Map<String, Boolean> gone = new HashMap<>();
      for (int i = 0; i < movable.size(); i++) {
        RunningSlice slice = movable.get(i);
        List<Placement> way = chosen.get(i);
        if (way != null && way.isEmpty()) {
          b.eviction(new Eviction(slice.id().request(), List.of(slice)));
        } else if (way != null) {
          b.move(new Move(slice, way.get(0)));
        }
        gone.put(slice.id().request(), way != null);
      }
      for (RunningSlice slice : c.fleet().running()) {
        if (!gone.getOrDefault(slice.id().request(), false)
            && c.fleet().pod(slice.pod()).orElseThrow().healthOf(slice.footprint())
                == Health.FAILED) {
          b.broken(new BrokenSlice(slice, Reason.PINNED, "It is pinned."));
        }
      }
      for (int i = 0; i < requests.size(); i++) {
        List<Placement> way = chosen.get(movable.size() + i);
        if (way == null) {
          b.unplaced(Case.unplaced(requests.get(i)));
        } else {
          int rank =
              Collectives.rank(
                      requests.get(i),
                      Collectives.shapeOptions(requests.get(i), way.get(0).topology()),
                      way.get(0).shape())
                  .orElseThrow();
          b.placement(new RequestPlacement(requests.get(i), way, rank));
        }
      }
      b.score(c.score(new long[levels().size()]));
      Verification v = new Verification(c.fleet(), requests, c.rules(), c.cost(), b.build());
      if (v.run().stream().allMatch(x -> x.path().startsWith("score"))) {
        values.add(v.values());
        placements.add(List.copyOf(b.build().placements()));
      }
    }

    // ------------------------------------------------------------- random prices

    private Certificate certificate(List<Level> levels, int level) {
      int scale = 1 + random.nextInt(64);
      List<Certificate.CellPrices> cells = new ArrayList<>();
      List<Certificate.RowPrice> rows = new ArrayList<>();
      for (Pod pod : c.fleet().pods()) {
        TpuTopology t = pod.topology();
        if (random.nextInt(4) > 0) {
          long[] prices = new long[t.cellCount()];
          boolean even = random.nextBoolean();
          for (int i = 0; i < prices.length; i++) {
            prices[i] =
                even ? scale * Certificate.UNIT : random.nextInt(2 * scale) * Certificate.UNIT / 2;
          }
          cells.add(new Certificate.CellPrices(pod.id(), prices));
        }
        if (t.isOptical() && random.nextBoolean()) {
          rows.add(
              row(Certificate.RowKind.POOL, pod.id(), 1 + random.nextInt(3), 64 * scale / 4 + 1));
        }
        boolean boxes = t.slicing() instanceof Slicing.OpticalCubes o && o.boxesInCube();
        if (t.partitions().isPresent() && random.nextBoolean()) {
          int size = boxes ? 16 : 1 << random.nextInt(t.isOptical() ? 5 : 3);
          size = t.cellCount() == 16 && size == 2 ? 4 : size; // 2x2 falls into four chips
          size = t.cellCount() == 8 && size == 2 ? 1 : size;
          rows.add(row(Certificate.RowKind.TREE, pod.id(), size, scale));
        }
      }
      for (int i = 0; i < c.rules().quotas().size(); i++) {
        rows.add(row(Certificate.RowKind.QUOTA, "", i, 2));
      }
      for (int i = 0; i < c.rules().reserved().size(); i++) {
        rows.add(row(Certificate.RowKind.RESERVED, "", i, 2));
      }
      long[] earlier = new long[level];
      for (int i = 0; i < level; i++) {
        earlier[i] = random.nextInt(3) == 0 ? 0 : random.nextInt(5 * scale) * Certificate.UNIT / 2;
      }
      return new Certificate(level, cells, rows, earlier);
    }

    private Certificate.RowPrice row(Certificate.RowKind kind, String pod, int size, int most) {
      long price = random.nextInt(most + 1) * Certificate.UNIT / 2;
      return new Certificate.RowPrice(kind, pod, size, random.nextBoolean(), price);
    }
  }

  // ---------------------------------------------------------------- exact prices

  private static final List<TpuTopology> LARGER_BOXES =
      List.of(
          TpuTopology.torus(10, 6),
          TpuTopology.torusBuilder(8, 10).mesh().build(),
          TpuTopology.torus(6, 4, 4),
          TpuTopology.torusBuilder(4, 6, 5).hostTile(Shape.of(1, 2, 1)).build());

  /**
   * The cheapest footprint is the cheapest of all that the verifier accepts. Many single chips
   * elsewhere, all priced out by a step, make the bound a sum of whole prices below the trivial.
   */
  @Example
  void aCheckerThatIsToldToStopGivesNoBound() {
    Fleet fleet = Fleet.builder().pod("p", TpuTopology.torus(8, 8)).build();
    List<SliceRequest> requests = List.of(SliceRequest.builder("one").shape("8x8").build());
    AtomicBoolean stop = new AtomicBoolean();
    BoundChecker checker =
        PlanVerifier.boundChecker(
            fleet, requests, PlanningRules.NONE, CostTerms.DEFAULT, stop::get);
    Certificate known = new Certificate(0, List.of(), List.of(), new long[0]);
    long bound = checker.bound(known, new long[1]);
    stop.set(true);
    assertThat(checker.bound(known, new long[1])).isEqualTo(bound);
    long[] prices = new long[TpuTopology.torus(8, 8).cellCount()];
    Arrays.fill(prices, 1);
    Certificate other =
        new Certificate(
            0, List.of(new Certificate.CellPrices("p", prices)), List.of(), new long[0]);
    assertThatThrownBy(() -> checker.bound(other, new long[1]))
        .isInstanceOf(CancellationException.class);
    stop.set(false);
    assertThat(checker.bound(other, new long[1])).isEqualTo(64);
  }

  @Property(tries = 40)
  void oneSliceIsPricedExactly(@ForAll long seed) {
    Random random = new Random(seed);
    TpuTopology t = LARGER_BOXES.get(random.nextInt(LARGER_BOXES.size()));
    Fleet fleet = Fleet.builder().pod("p", t).pod("other", TpuTopology.v5e()).build();
    for (int i = random.nextInt(3); i > 0; i--) {
      fleet = fleet.failHost("p", new HostId(random.nextInt(t.hostCount())));
    }
    if (random.nextBoolean()) {
      Part link = new Part.Link(t.chip(random.nextInt(t.chipCount())), Axis.X);
      Health health = random.nextBoolean() ? Health.FAILED : Health.DEGRADED;
      fleet = t.wraps(Axis.X) ? fleet.report("p", link, health) : fleet;
    }
    List<Shape> legal = t.legalShapes();
    SliceRequest request =
        SliceRequest.builder("one")
            .shape(legal.get(random.nextInt(legal.size())))
            .pod("p")
            .mayTurn(random.nextInt(3) > 0)
            .healthyOnly(random.nextBoolean())
            .interconnect(random.nextInt(4) > 0 ? Interconnect.ANY : Interconnect.WRAPAROUND)
            .build();
    Shape shape = request.shapes().get(0);
    List<SliceRequest> requests = new ArrayList<>(List.of(request));
    for (int i = 0; i < 256; i++) {
      requests.add(SliceRequest.builder("other-" + i).shape(Shape.of(1, 1)).pod("other").build());
    }
    Case c = new Case(fleet, requests, PlanningRules.NONE, CostTerms.DEFAULT);
    List<Footprint> accepted = new ArrayList<>();
    for (Footprint footprint : Trial.footprints(t, shape)) {
      Plan.Builder plan = c.plan().placement(c.one(request, "p", shape.toString(), footprint));
      requests.stream().skip(1).forEach(r -> plan.unplaced(Case.unplaced(r)));
      if (c.verify(plan.score(c.score(new long[1])).build()).stream()
          .allMatch(v -> v.path().startsWith("score"))) {
        accepted.add(footprint);
      }
    }
    BoundChecker checker =
        PlanVerifier.boundChecker(fleet, requests, PlanningRules.NONE, CostTerms.DEFAULT);
    List<BranchTree.Step> path =
        List.of(new BranchTree.Step(CountRow.ofChips(1, 1).inPod("other"), 0, false));
    for (int trial = 0; trial < 4; trial++) {
      long[] prices =
          random.longs(t.cellCount(), 0, trial + 1).map(p -> p * Certificate.UNIT).toArray();
      long all = 0;
      for (int cell = 0; cell < prices.length; cell++) {
        boolean failed = fleet.pod("p").orElseThrow().health().failedCells().contains(cell);
        all += failed ? 0 : prices[cell] / Certificate.UNIT;
      }
      long least = Long.MAX_VALUE;
      for (Footprint footprint : accepted) {
        long sum = 0;
        for (int cell : t.cells(footprint)) {
          sum += prices[cell] / Certificate.UNIT;
        }
        least = Math.min(least, sum);
      }
      long expected = accepted.isEmpty() ? all : all + Math.max(0, shape.chips() - least);
      Certificate certificate =
          new Certificate(
              0, List.of(new Certificate.CellPrices("p", prices)), List.of(), new long[0]);
      assertThat(checker.bound(certificate, path, new long[] {Certificate.UNIT}, new long[1]))
          .as("%s on %s with %s", request, t, Arrays.toString(prices))
          .isEqualTo(Math.min(expected, 256 + shape.chips()));
    }
  }

  // ---------------------------------------------------------------- bounds that meet

  private static SliceRequest want(String id, String shape) {
    return SliceRequest.builder(id).shape(shape).build();
  }

  private static long bound(Case c, int level, Certificate certificate, long... values) {
    assertThat(certificate.level()).isEqualTo(level);
    return PlanVerifier.certifiedBound(
        c.fleet(), c.requests(), c.rules(), c.cost(), certificate, values);
  }

  @Example
  void uniformPricesProveThatAFullPodIsFull() {
    TpuTopology t = TpuTopology.torus(8, 8);
    Case c =
        Case.of(
            Fleet.builder().pod("p", t).build(),
            want("a", "4x4"),
            want("b", "4x4"),
            want("c", "4x4"),
            want("d", "4x4"),
            want("e", "4x4"));
    long[] prices = new long[TpuTopology.torus(8, 8).cellCount()];
    Arrays.fill(prices, 4 * Certificate.UNIT);
    Certificate full =
        new Certificate(
            0, List.of(new Certificate.CellPrices("p", prices)), List.of(), new long[0]);
    assertThat(bound(c, 0, full)).isEqualTo(64);
    Case less = c.with(c.fleet().failHost("p", new HostId(0)));
    assertThat(bound(less, 0, full)).as("60 chips, rounded to whole slices").isEqualTo(48);
  }

  @Example
  void parcelsOfCubesProveWhatCountingCannot() {
    TpuTopology t = TpuTopology.builder(AcceleratorType.V5P).cubes(5).build();
    Case c =
        Case.of(
            Fleet.builder().pod("p", t).build(),
            want("a", "4x4x8"),
            want("b", "4x4x8"),
            want("c", "4x4x8"));
    Certificate parcels =
        new Certificate(
            0,
            List.of(),
            List.of(
                new Certificate.RowPrice(
                    Certificate.RowKind.POOL, "p", 2, false, 128 * Certificate.UNIT)),
            new long[0]);
    assertThat(bound(c, 0, parcels)).isEqualTo(256);
  }

  @Example
  void nodesOfATreeProveThatHalvesAreSpoilt() {
    TpuTopology t = TpuTopology.v5e();
    SliceRequest small = want("s", "1x1");
    Fleet fleet = Fleet.builder().pod("p", t).build();
    for (int i = 0; i < 2; i++) {
      SliceRequest s = want("s" + i, "1x1");
      fleet = fleet.place(Case.running(s, 0, "p", "1x1", Case.partition(t, "1x1", 128 * i)));
    }
    Case c = Case.of(fleet, small, want("a", "8x16"));
    Certificate tree =
        new Certificate(
            1,
            List.of(),
            List.of(
                new Certificate.RowPrice(
                    Certificate.RowKind.TREE, "p", 128, false, Certificate.UNIT)),
            new long[1]);
    assertThat(bound(c, 1, tree, 2)).isEqualTo(1);
  }

  @Example
  void rowsOfHealthyPartsCountOnlyWhoAsksForThem() {
    TpuTopology t = TpuTopology.builder(AcceleratorType.V5P).cubes(2).build();
    Fleet fleet =
        Fleet.builder()
            .pod("p", t)
            .build()
            .report("p", new Part.Host(new HostId(0)), Health.DEGRADED);
    record Rows(Certificate.RowKind kind, int size, long price) {}
    for (Rows r :
        List.of(
            new Rows(Certificate.RowKind.POOL, 1, 64 * Certificate.UNIT),
            new Rows(Certificate.RowKind.TREE, 16, 4 * Certificate.UNIT))) {
      List<Certificate.RowPrice> rows =
          List.of(new Certificate.RowPrice(r.kind(), "p", r.size(), true, r.price()));
      SliceRequest a = want("a", "4x4x4");
      SliceRequest b = want("b", "4x4x4");
      Certificate placed = new Certificate(0, List.of(), rows, new long[0]);
      assertThat(bound(Case.of(fleet, a, b), 0, placed)).isEqualTo(128);
      SliceRequest x = a.toBuilder().healthyOnly(true).build();
      SliceRequest y = b.toBuilder().healthyOnly(true).build();
      assertThat(bound(Case.of(fleet, x, y), 0, placed)).isEqualTo(64);
      assertThat(bound(Case.of(fleet, a, y), 0, placed)).isEqualTo(128);
      // Running ones may stay on what is degraded, whether they asked for healthy parts or not.
      for (boolean healthyOnly : new boolean[] {false, true}) {
        SliceRequest here = a.toBuilder().healthyOnly(healthyOnly).build();
        SliceRequest there = b.toBuilder().healthyOnly(healthyOnly).build();
        Case c =
            Case.of(
                    fleet
                        .place(Case.running(here, 0, "p", "4x4x4", Case.cubes(0)))
                        .place(Case.running(there, 0, "p", "4x4x4", Case.cubes(1))))
                .with(PlanningRules.builder().permitByDefault(Permission.ANY).build());
        assertThat(bound(c, 0, placed)).isEqualTo(128);
      }
    }
  }

  @Example
  void earlierLevelsProveWhatALaterOneCannotGain() {
    // To place the urgent one, the only other running has to leave: that costs its restart.
    TpuTopology t = TpuTopology.torus(4, 4);
    SliceRequest low = want("low", "4x4");
    SliceRequest high = want("high", "4x4").toBuilder().priority(1).build();
    Fleet fleet =
        Fleet.builder()
            .pod("p", t)
            .build()
            .place(Case.running(low, 0, "p", "4x4", Case.box("4x4", 0, 0)));
    Case c =
        Case.of(fleet, high)
            .with(PlanningRules.builder().permitByDefault(Permission.EVICTABLE).build());
    List<Level> levels = ObjectiveLevels.of(fleet, c.requests(), c.rules(), c.cost());
    assertThat(levels)
        .extracting(Level::kind)
        .containsExactly(Level.Kind.PLACED, Level.Kind.KEPT, Level.Kind.DISRUPTION);
    long lost = 16 * (600 + 3600);
    long[] prices = new long[4];
    Arrays.fill(prices, lost * Certificate.UNIT / 4);
    List<Certificate.CellPrices> cells = List.of(new Certificate.CellPrices("p", prices));
    long[] earlier = {lost * Certificate.UNIT / 16, 0};
    assertThat(bound(c, 2, new Certificate(2, cells, List.of(), earlier), 16, 0)).isEqualTo(lost);
    Plan plan =
        c.plan()
            .placement(c.one(high, "p", "4x4", Case.box("4x4", 0, 0)))
            .eviction(new Eviction("low", fleet.runningOf("low")))
            .stopped(StopReason.OPTIMAL)
            .score(
                new Score(
                    List.of(
                        new Score.LevelScore(levels.get(0), 16, 16, new Proof.Trivial(), null),
                        new Score.LevelScore(
                            levels.get(1),
                            0,
                            0,
                            new Proof.Certified(
                                new Certificate(
                                    1,
                                    List.of(new Certificate.CellPrices("p", ofUnits(4, 4, 4, 4))),
                                    List.of(),
                                    new long[] {Certificate.UNIT})),
                            null),
                        new Score.LevelScore(
                            levels.get(2),
                            lost,
                            lost,
                            new Proof.Certified(new Certificate(2, cells, List.of(), earlier)),
                            null))))
            .build();
    c.accepts(plan);
  }

  private static long[] ofUnits(long... units) {
    return Arrays.stream(units).map(u -> u * Certificate.UNIT).toArray();
  }

  @Example
  void malformedCertificatesAreNamed() {
    TpuTopology t = TpuTopology.v5e();
    SliceRequest a = want("a", "8x16");
    Case c = Case.of(Fleet.builder().pod("p", t).build(), a);
    Level placed = new Level(Level.Kind.PLACED, 0);
    Certificate.CellPrices few = new Certificate.CellPrices("p", new long[3]);
    Certificate.CellPrices fit = new Certificate.CellPrices("p", new long[256]);
    long[] negative = new long[256];
    negative[7] = -1;
    Certificate.RowKind tree = Certificate.RowKind.TREE;
    Certificate.RowKind quota = Certificate.RowKind.QUOTA;
    record Bad(List<Certificate.CellPrices> cells, List<Certificate.RowPrice> rows, String text) {}
    for (Bad bad :
        List.of(
            new Bad(List.of(few), List.of(), "256 cells"),
            new Bad(List.of(fit, fit), List.of(), "once"),
            new Bad(List.of(new Certificate.CellPrices("q", new long[256])), List.of(), "was q"),
            new Bad(List.of(new Certificate.CellPrices("p", negative)), List.of(), "negative"),
            new Bad(List.of(), List.of(rowOf(tree, "p", 3, 1)), "split"),
            new Bad(List.of(), List.of(rowOf(tree, "q", 4, 1)), "no pod"),
            new Bad(List.of(), List.of(rowOf(tree, "p", 4, -1)), "negative"),
            new Bad(List.of(), List.of(rowOf(quota, "", 0, 1)), "no such row"),
            new Bad(List.of(), List.of(rowOf(Certificate.RowKind.RESERVED, "", 0, 1)), "no such"),
            new Bad(List.of(), List.of(rowOf(Certificate.RowKind.POOL, "p", 1, 1)), "cubes"))) {
      Certificate certificate = new Certificate(0, bad.cells(), bad.rows(), new long[0]);
      Plan plan =
          c.plan()
              .placement(c.one(a, "p", "8x16", Case.partition(t, "8x16", 0)))
              .score(
                  new Score(
                      List.of(
                          new Score.LevelScore(
                              placed, 128, 128, new Proof.Certified(certificate), null))))
              .build();
      c.rejects(plan, "score.levels[0].proof", bad.text());
    }
    Certificate other = new Certificate(1, List.of(), List.of(), new long[1]);
    c.rejects(
        c.plan()
            .unplaced(Case.unplaced(a))
            .score(
                new Score(
                    List.of(
                        new Score.LevelScore(placed, 0, 128, new Proof.Certified(other), null))))
            .build(),
        "score.levels[0].proof",
        "for level 1");
    Certificate weak = new Certificate(0, List.of(), List.of(), new long[0]);
    c.rejects(
        c.plan()
            .unplaced(Case.unplaced(a))
            .score(
                new Score(
                    List.of(new Score.LevelScore(placed, 0, 0, new Proof.Certified(weak), null))))
            .build(),
        "score.levels[0].bound",
        "the certificate proves");
  }

  private static Certificate.RowPrice rowOf(
      Certificate.RowKind kind, String pod, int size, long price) {
    return new Certificate.RowPrice(kind, pod, size, false, price);
  }
}
