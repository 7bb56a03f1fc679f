package dev.slicewright.testing;

import dev.slicewright.SliceId;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.BranchTree;
import dev.slicewright.plan.BrokenSlice;
import dev.slicewright.plan.Certificate;
import dev.slicewright.plan.CountRow;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.Move;
import dev.slicewright.plan.Phase;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.Reason;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.Score;
import dev.slicewright.plan.Staying;
import dev.slicewright.plan.StopReason;
import dev.slicewright.plan.Unplaced;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Plans that are well-formed and mean nothing: for tests of what carries plans about, not of what
 * makes them. Their footprints are legal, but may overlap. Stateless.
 */
public final class RandomPlans {

  private RandomPlans() {}

  /** A plan for an instance, with everything that a plan can hold. */
  public static Plan plan(RandomFleets.Instance instance) {
    SplittableRandom random = new SplittableRandom(instance.seed() + 77);
    PlanningRules rules = random.nextInt(3) == 0 ? PlanningRules.NONE : instance.rules();
    Plan.Builder b = Plan.builder(instance.fleet().version(), rules);
    List<Pod> pods = List.copyOf(instance.fleet().pods());
    for (SliceRequest request : instance.requests()) {
      if (random.nextInt(3) == 0) {
        b.unplaced(unplaced(request, random));
        continue;
      }
      List<Placement> slices = new ArrayList<>();
      for (int i = 0; i < request.slices(); i++) {
        slices.add(placement(new SliceId(request.id(), i), pick(random, pods), random));
      }
      b.placement(new RequestPlacement(request, slices, random.nextInt(2)));
    }
    for (RunningSlice slice : instance.fleet().running()) {
      switch (random.nextInt(6)) {
        case 0 -> b.move(new Move(slice, placement(slice.id(), pick(random, pods), random)));
        case 1 -> b.eviction(new Eviction(slice.request().id(), List.of(slice)));
        case 2 -> b.broken(new BrokenSlice(slice, Reason.PINNED, "It stays \"broken\"."));
        case 3 -> b.staying(new Staying(slice, Reason.LATE, "It is late."));
        default -> {}
      }
    }
    b.score(score(pods, random));
    b.stopped(pick(random, List.of(StopReason.values())));
    b.engine("search").engine("cp-sat").note("a note\nof two lines");
    b.phase(new Phase("bound", Duration.ofNanos(random.nextInt(1_000_000)), 12));
    b.phase(new Phase("search", Duration.ofNanos(random.nextInt(100_000_000)), 0));
    return b.time(Duration.ofNanos(123_456_789)).build();
  }

  private static Placement placement(SliceId id, Pod pod, SplittableRandom random) {
    TpuTopology t = pod.topology();
    List<Shape> legal = t.legalShapes().stream().filter(s -> s.chips() <= t.chipCount()).toList();
    while (true) {
      Shape shape = pick(random, legal);
      List<Footprint> footprints = RandomFleets.footprints(t, shape);
      if (!footprints.isEmpty()) {
        Twist twist = random.nextBoolean() ? t.twist(shape).orElse(Twist.NONE) : Twist.NONE;
        return new Placement(id, pod.id(), t, shape, pick(random, footprints), twist);
      }
    }
  }

  private static Unplaced unplaced(SliceRequest request, SplittableRandom random) {
    Unplaced.Evidence evidence =
        random.nextBoolean()
            ? Unplaced.Evidence.of(64)
            : new Unplaced.Evidence(
                64,
                32,
                1,
                Shape.of(2, 2, 1),
                List.of(new Unplaced.BlockingHost("pod-a", new HostId(0))),
                List.of("hold-0"),
                List.of(Shape.of(4, 4, 4), Shape.of(4, 4, 8)),
                128,
                100);
    return new Unplaced(
        request.id(),
        pick(random, List.of(Reason.values())),
        random.nextBoolean(),
        evidence,
        "It wants 64 chips, but 32 are free.");
  }

  private static Score score(List<Pod> pods, SplittableRandom random) {
    List<Score.LevelScore> levels = new ArrayList<>();
    for (Level.Kind kind : Level.Kind.values()) {
      boolean ranked = kind == Level.Kind.KEPT || kind == Level.Kind.PLACED;
      long value = random.nextLong(1_000_000);
      int n = levels.size();
      Proof proof =
          switch (random.nextInt(5)) {
            case 0 -> new Proof.Trivial();
            case 3 -> new Proof.Enumerated(random.nextInt(10_000));
            case 1 -> new Proof.Agreement("one", "two");
            case 2 -> new Proof.Branched(tree(n, pods, random, 3, new ArrayList<>()));
            default -> new Proof.Certified(certificate(n, pods, random));
          };
      levels.add(
          new Score.LevelScore(
              new Level(kind, ranked ? random.nextInt(3) * 50L : 0),
              value,
              value + random.nextInt(2) * 64L,
              proof,
              random.nextBoolean() ? null : (Long) value));
    }
    return new Score(levels);
  }

  /** Some leaves share their prices on cells. */
  private static BranchTree tree(
      int level, List<Pod> pods, SplittableRandom random, int depth, List<Certificate> seen) {
    if (depth > 0 && random.nextInt(3) > 0) {
      long least = random.nextInt(65);
      CountRow row =
          random.nextBoolean()
              ? CountRow.ofChips(least, least + random.nextInt(64))
              : CountRow.ofShape(Shape.of(4, 2, 1 + random.nextInt(4)));
      row = random.nextBoolean() ? row : row.inPod(pick(random, pods).id());
      row = random.nextBoolean() ? row : row.withPriorities(0, random.nextInt(3));
      return new BranchTree.Split(
          row,
          random.nextInt(9),
          tree(level, pods, random, depth - 1, seen),
          tree(level, pods, random, depth - 1, seen));
    }
    Certificate made =
        seen.isEmpty() || random.nextBoolean()
            ? certificate(level, pods, random)
            : pick(random, seen);
    seen.add(made);
    return new BranchTree.Leaf(made, random.longs(random.nextInt(4), 0, 1L << 30).toArray());
  }

  private static Certificate certificate(int level, List<Pod> pods, SplittableRandom random) {
    long[] earlier = random.longs(level, 0, 1L << 40).toArray();
    List<Certificate.CellPrices> cells = new ArrayList<>();
    for (Pod pod : pods) {
      if (random.nextBoolean()) {
        cells.add(
            new Certificate.CellPrices(
                pod.id(), random.longs(pod.topology().cellCount(), 0, 5_000_000).toArray()));
      }
    }
    List<Certificate.RowPrice> rows = new ArrayList<>();
    for (Certificate.RowKind kind : Certificate.RowKind.values()) {
      rows.add(
          new Certificate.RowPrice(
              kind, "pod-a", random.nextInt(4), random.nextBoolean(), random.nextLong(1L << 50)));
    }
    return new Certificate(level, cells, rows, earlier);
  }

  private static <T> T pick(SplittableRandom random, List<T> from) {
    return from.get(random.nextInt(from.size()));
  }
}
