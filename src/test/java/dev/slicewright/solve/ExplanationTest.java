package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.cost.Disruption;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Reason;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.PlanningRules.Quota;
import dev.slicewright.request.PlanningRules.Reserved;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.Remedy.Kind;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomFleets.Instance;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ExplanationTest {

  private static final SolveBudget AMPLE = SolveBudget.within(Duration.ofSeconds(20));
  private static final int SEEDS = 24;
  private static final long MAX_NODES = 1_000_000;

  /** A problem of one request, some of what runs with an end. */
  private static Instance problem(long seed, RandomFleets.Kind kind, boolean rules) {
    Instance i =
        RandomFleets.instance(
            seed, RandomFleets.Limits.DEFAULT.kinds(kind).pods(1).running(5).faults(3).holds(2));
    i = OptionsTest.alone(i, seed % 4 != 0);
    SplittableRandom random = new SplittableRandom(seed);
    Fleet fleet = i.fleet();
    for (RunningSlice slice : i.fleet().running()) {
      if (random.nextInt(3) > 0) {
        long seconds = random.nextInt(1_000) - 100;
        fleet = fleet.release(slice.id());
        fleet =
            fleet.place(
                slice.toBuilder()
                    .startedAt(null)
                    .endsAt(RandomFleets.NOW.plusSeconds(seconds))
                    .build());
      }
    }
    PlanningRules.Builder b =
        rules ? i.rules().toBuilder() : PlanningRules.builder().now(i.rules().now());
    return new Instance(i.seed(), i.limits(), fleet, i.requests(), b.build(), i.cost());
  }

  @ParameterizedTest
  @EnumSource(RandomFleets.Kind.class)
  void remediesWorkAndAreTheSmallest(RandomFleets.Kind kind) {
    Map<Kind, Integer> seen = new EnumMap<>(Kind.class);
    int seeds = kind == RandomFleets.Kind.OPTICAL_BOXES ? SEEDS / 6 : SEEDS; // many places each
    for (long seed = 1; seed <= seeds; seed++) {
      Instance i = problem(seed, kind, seed % 2 == 0);
      try {
        check(i, seen);
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError(kind + ", seed " + seed + "\n" + i, e);
      }
    }
    assertThat(seen.keySet()).contains(Kind.EVICT);
  }

  private static boolean fits(Instance i, Fleet fleet, SliceRequest request, PlanningRules rules) {
    return PlannerBruteForce.fitsAlone(
        new Instance(i.seed(), i.limits(), fleet, List.of(request), rules, i.cost()),
        request.id(),
        MAX_NODES);
  }

  private static void check(Instance i, Map<Kind, Integer> seen) {
    SliceRequest request = i.requests().get(0);
    SlicePlanner planner = OptionsTest.planner(i);
    Explanation e = planner.explain(i.fleet(), request, i.rules(), AMPLE);
    assertThat(e.fits()).isEqualTo(e.unplaced().isEmpty());
    assertThat(e.fits()).isEqualTo(fits(i, i.fleet(), request, i.rules()));
    if (e.fits()) {
      assertThat(e.remedies()).isEmpty();
      return;
    }
    long before = 0;
    for (Remedy remedy : e.remedies()) {
      seen.merge(remedy.kind(), 1, Integer::sum);
      Remedy.Change c = remedy.change();
      assertThat(c.plan().placement(request.id())).isPresent();
      assertThat(
              PlanVerifier.verify(c.fleet(), List.of(c.request()), c.rules(), i.cost(), c.plan()))
          .isEmpty();
      assertThat(c.plan().applyTo(c.fleet()).runningOf(request.id())).hasSize(request.slices());
      assertThat(remedy.chipSeconds()).isGreaterThanOrEqualTo(before);
      assertThat(remedy.sentence()).endsWith(".");
      before = remedy.chipSeconds();
      if (!(remedy instanceof Remedy.Move) && !(remedy instanceof Remedy.Evict)) {
        assertThat(fits(i, c.fleet(), c.request(), c.rules())).isTrue();
      }
    }
    boolean plain = i.rules().quotas().isEmpty() && i.rules().reserved().isEmpty();
    boolean one = request.slices() == 1;
    boolean never = e.unplaced().orElseThrow().never();
    List<UnaryOperator<Fleet>> repairs = new ArrayList<>();
    List<UnaryOperator<Fleet>> cordons = new ArrayList<>();
    for (Pod pod : i.fleet().pods()) {
      pod.reportedHealth()
          .forEach(
              (part, health) -> {
                if (health == Health.FAILED || request.healthyOnly()) {
                  repairs.add(f -> f.repair(pod.id(), part));
                }
              });
      pod.cordons().forEach(part -> cordons.add(f -> f.uncordon(pod.id(), part)));
      if (pod.isCordoned()) {
        cordons.add(f -> f.uncordonPod(pod.id()));
      }
    }
    List<UnaryOperator<Fleet>> holds = new ArrayList<>();
    for (Hold hold : i.fleet().holds()) {
      if (hold.isLive(i.rules().now()) && !hold.request().equals(request.id())) {
        holds.add(f -> f.dropHold(hold.id()));
      }
    }
    Map<Kind, List<UnaryOperator<Fleet>>> changes =
        Map.of(Kind.REPAIR, repairs, Kind.UNCORDON, cordons, Kind.DROP_HOLDS, holds);
    changes.forEach(
        (kind, all) -> {
          int least = least(i, request, all);
          Remedy remedy = e.remedy(kind).orElse(null);
          int size =
              remedy instanceof Remedy.Repair r
                  ? r.parts().size()
                  : remedy instanceof Remedy.Uncordon u
                      ? u.parts().size()
                      : remedy instanceof Remedy.DropHolds d ? d.holds().size() : -1;
          if (remedy != null && remedy.smallest()) {
            assertThat(size).as(kind.name()).isEqualTo(least);
          } else if (remedy != null) {
            assertThat(size).as(kind.name()).isGreaterThanOrEqualTo(least);
          } else if (one && plain && !never) {
            assertThat(least).as(kind.name()).isEqualTo(-1);
          }
          if (remedy != null && one && plain) {
            assertThat(remedy.smallest()).as(kind.name()).isTrue();
          }
        });
    evictions(i, request, e, one && plain && !never);
    waiting(i, request, e, one && !never);
    moves(i, request, e, never);
    limits(i, request, e);
    shapes(i, request, e);
    assertThat(e.notExamined()).isSubsetOf(Kind.MOVE, Kind.EVICT, Kind.RESHAPE);
  }

  /** The fewest of some changes that let a request in, or -1. */
  private static int least(Instance i, SliceRequest request, List<UnaryOperator<Fleet>> changes) {
    int least = -1;
    for (int mask = 0; mask < 1 << changes.size(); mask++) {
      int size = Integer.bitCount(mask);
      if (least >= 0 && size >= least) {
        continue;
      }
      Fleet fleet = i.fleet();
      for (int c = 0; c < changes.size(); c++) {
        fleet = (mask >> c & 1) == 1 ? changes.get(c).apply(fleet) : fleet;
      }
      if (fits(i, fleet, request, i.rules())) {
        least = size;
      }
    }
    return least;
  }

  private static void evictions(Instance i, SliceRequest request, Explanation e, boolean complete) {
    List<String> ids =
        List.copyOf(
            new TreeSet<>(i.fleet().running().stream().map(s -> s.id().request()).toList()));
    long least = -1;
    for (int mask = 0; mask < 1 << ids.size(); mask++) {
      Fleet fleet = i.fleet();
      long cost = 0;
      boolean legal = true;
      for (int r = 0; r < ids.size(); r++) {
        if ((mask >> r & 1) == 0) {
          continue;
        }
        for (RunningSlice slice : i.fleet().runningOf(ids.get(r))) {
          legal &= !slice.leaving();
          Pod pod = i.fleet().pod(slice.pod()).orElseThrow();
          boolean broken = pod.healthOf(slice.footprint()) == Health.FAILED;
          cost += Disruption.chipSeconds(slice, broken, i.rules().now());
          String gang = slice.request().gang().orElse("");
          for (int o = 0; o < ids.size() && !gang.isEmpty(); o++) {
            List<RunningSlice> other = i.fleet().runningOf(ids.get(o));
            boolean tied = other.get(0).request().gang().orElse("").equals(gang);
            legal &=
                !tied || (mask >> o & 1) == 1 || other.stream().allMatch(RunningSlice::leaving);
          }
        }
        fleet = fleet.release(ids.get(r));
      }
      if (legal && (least < 0 || cost < least) && fits(i, fleet, request, i.rules())) {
        least = cost;
      }
    }
    Remedy.Evict evict = (Remedy.Evict) e.remedy(Kind.EVICT).orElse(null);
    if (evict == null) {
      if (complete) {
        assertThat(least).isEqualTo(-1);
      }
      return;
    }
    if (complete) {
      assertThat(evict.smallest()).isTrue();
    }
    if (evict.smallest()) {
      assertThat(evict.chipSeconds()).isEqualTo(least);
    }
    assertThat(evict.plan().evictions().stream().map(Eviction::request).toList())
        .containsExactlyInAnyOrderElementsOf(
            evict.evictions().stream().map(Eviction::request).toList());
    assertThat(evict.forbidden()).hasSize(evict.evictions().size()); // all are pinned
    Fleet fleet = i.fleet();
    for (Eviction eviction : evict.evictions()) {
      fleet = fleet.release(eviction.request());
    }
    assertThat(fits(i, fleet, request, i.rules())).isTrue();
  }

  private static void waiting(Instance i, SliceRequest request, Explanation e, boolean complete) {
    Instant now = i.rules().now();
    TreeSet<Instant> times = new TreeSet<>();
    i.fleet()
        .running()
        .forEach(s -> s.endsAt().ifPresent(t -> times.add(t.isBefore(now) ? now : t)));
    i.fleet().holds().stream().filter(h -> h.isLive(now)).forEach(h -> times.add(h.expiry()));
    Instant first = null;
    for (Instant time : times) {
      Fleet fleet = i.fleet();
      for (RunningSlice slice : i.fleet().running()) {
        if (slice.endsAt().map(t -> !t.isAfter(time)).orElse(false)) {
          fleet = fleet.release(slice.id());
        }
      }
      if (fits(i, fleet, request, i.rules().toBuilder().now(time).build())) {
        first = time;
        break;
      }
    }
    Remedy.Wait wait = (Remedy.Wait) e.remedy(Kind.WAIT).orElse(null);
    if (wait != null && wait.smallest()) {
      assertThat(wait.until()).isEqualTo(first);
    } else if (complete) {
      assertThat(wait).isNull();
      assertThat(first).isNull();
    }
  }

  private static void moves(Instance i, SliceRequest request, Explanation e, boolean never) {
    PlanningRules rules =
        i.rules().toBuilder()
            .disruption(PlanningRules.DisruptionBudget.UNLIMITED)
            .permitByDefault(Permission.MOVABLE)
            .build();
    for (String id : rules.permissions().keySet()) {
      rules = rules.toBuilder().permit(id, Permission.MOVABLE).build();
    }
    Plan plan =
        OptionsTest.planner(i).plan(i.fleet(), List.of(request), rules, AMPLE); // for its levels
    long[] best;
    try {
      best =
          new PlannerBruteForce(
                  new Instance(i.seed(), i.limits(), i.fleet(), List.of(request), rules, i.cost()),
                  MAX_NODES)
              .solve();
    } catch (PlannerBruteForce.TooLarge tooLarge) {
      return;
    }
    long placed = 0;
    long lost = 0;
    for (int l = 0; l < best.length; l++) {
      Level.Kind kind = plan.score().levels().get(l).level().kind();
      placed = kind == Level.Kind.PLACED ? best[l] : placed;
      lost = kind == Level.Kind.DISRUPTION ? best[l] : lost;
    }
    Remedy.Move move = (Remedy.Move) e.remedy(Kind.MOVE).orElse(null);
    if (move == null) {
      if (!never && !e.notExamined().contains(Kind.MOVE)) {
        assertThat(placed).isZero();
      }
      return;
    }
    assertThat(placed).isPositive();
    assertThat(move.forbidden()).isNotEmpty(); // all are pinned
    boolean broken =
        i.fleet().running().stream()
            .anyMatch(
                s -> i.fleet().pod(s.pod()).orElseThrow().healthOf(s.footprint()) == Health.FAILED);
    // A plan mends what is broken as well, which costs more.
    if (request.shapes().size() == 1 && request.slices() == 1 && !broken) {
      if (move.smallest()) {
        assertThat(move.chipSeconds()).isEqualTo(lost);
      } else {
        assertThat(move.chipSeconds()).isGreaterThanOrEqualTo(lost);
      }
    }
  }

  private static void limits(Instance i, SliceRequest request, Explanation e) {
    Remedy.RaiseQuota raise = (Remedy.RaiseQuota) e.remedy(Kind.RAISE_QUOTA).orElse(null);
    if (raise != null && raise.smallest()) {
      for (Remedy.Raise r : raise.raises()) {
        List<Quota> less = new ArrayList<>(raise.change().rules().quotas());
        less.replaceAll(
            q ->
                q.tenant().equals(r.quota().tenant())
                        && q.accelerator().equals(r.quota().accelerator())
                    ? new Quota(q.tenant(), q.accelerator(), r.to() - 1)
                    : q);
        PlanningRules rules = raise.change().rules().toBuilder().quotas(less).build();
        if (raise.raises().size() == 1) {
          assertThat(fits(i, i.fleet(), request, rules)).isFalse();
        }
      }
    }
    Remedy.LowerReserved lower = (Remedy.LowerReserved) e.remedy(Kind.LOWER_RESERVED).orElse(null);
    if (lower != null && lower.smallest() && lower.cuts().size() == 1) {
      Remedy.Cut cut = lower.cuts().get(0);
      List<Reserved> more = new ArrayList<>(i.rules().reserved());
      more.replaceAll(
          r ->
              r.equals(cut.reserved()) ? new Reserved(r.tenant(), r.podLabels(), cut.to() + 1) : r);
      PlanningRules rules = i.rules().toBuilder().reserved(more).build();
      assertThat(fits(i, i.fleet(), request, rules)).isFalse();
    }
  }

  private static void shapes(Instance i, SliceRequest request, Explanation e) {
    Remedy.Reshape reshape = (Remedy.Reshape) e.remedy(Kind.RESHAPE).orElse(null);
    if (reshape == null || !reshape.smallest()) {
      return;
    }
    long wanted =
        request.shapes().isEmpty()
            ? request.chips()
            : request.shapes().stream().mapToLong(Shape::chips).max().orElse(0);
    for (Pod pod : i.fleet().pods()) {
      for (Shape shape : pod.topology().legalShapes()) {
        if (shape.chips() <= wanted && shape.chips() > reshape.shape().chips()) {
          SliceRequest other = request.toBuilder().shapes(List.of(shape)).build();
          assertThat(fits(i, i.fleet(), other, i.rules())).isFalse();
        }
      }
    }
  }

  // ---------------------------------------------------------------- by hand

  private static RunningSlice running(String id, Footprint f, String shape, long ends) {
    SliceRequest request = SliceRequest.builder(id).shape(shape).build();
    return RunningSlice.builder(request, 0, "p", Shape.parse(shape), f)
        .endsAt(Instant.EPOCH.plusSeconds(ends))
        .build();
  }

  @Test
  void movesMakeRoomWhereNothingElseDoes() {
    TpuTopology t = TpuTopology.torusBuilder(8, 2).mesh().build();
    Fleet fleet = Fleet.builder().pod("p", t).build();
    SliceRequest small = SliceRequest.builder("small").shape("2x2").build();
    RunningSlice inTheWay =
        RunningSlice.builder(
                small,
                0,
                "p",
                Shape.of(2, 2),
                new Footprint.Box(new dev.slicewright.topology.Chip(4, 0, 0), Shape.of(2, 2)))
            .build();
    fleet = fleet.place(inTheWay);
    SliceRequest large = SliceRequest.builder("large").shape("6x2").build();
    Explanation e = SlicePlanner.create().explain(fleet, large, PlanningRules.NONE, AMPLE);
    assertThat(e.fits()).isFalse();
    Remedy.Move move = (Remedy.Move) e.remedy(Kind.MOVE).orElseThrow();
    assertThat(move.forbidden()).containsExactly("small");
    assertThat(move.smallest()).isTrue();
    assertThat(move.chipSeconds()).isEqualTo(4 * (3600 + 600));
    assertThat(move.plan().applyTo(fleet).running()).hasSize(2);
    assertThat(e.remedy(Kind.EVICT).orElseThrow().chipSeconds()).isEqualTo(4 * (3600 + 600));
    assertThat(e.notExamined()).isEmpty();
  }

  @Test
  void onCubesTheCheapestVictimsTogetherFreeEnough() {
    Fleet.Builder b =
        Fleet.builder()
            .pod(
                "p",
                TpuTopology.builder(dev.slicewright.topology.AcceleratorType.V5P).cubes(4).build());
    b.running(
        running("a", new Footprint.Cubes(List.of(new CubeId(0), new CubeId(1))), "4x4x8", 90));
    b.running(running("b", new Footprint.Cubes(List.of(new CubeId(2))), "4x4x4", 50));
    b.running(running("c", new Footprint.Cubes(List.of(new CubeId(3))), "4x4x4", 70));
    Fleet fleet = b.build().failHost("p", new HostId(0));
    SliceRequest two = SliceRequest.builder("two").shape("4x4x8").build();
    Explanation e = SlicePlanner.create().explain(fleet, two, PlanningRules.NONE, AMPLE);
    Remedy.Evict evict = (Remedy.Evict) e.remedy(Kind.EVICT).orElseThrow();
    // One cube of the two of a, which has lost its work already, and that of b.
    assertThat(evict.evictions().stream().map(Eviction::request)).containsExactly("a", "b");
    assertThat(evict.chipSeconds()).isEqualTo(128 * 600 + 64 * 4200);
    assertThat(evict.smallest()).isTrue();
    Remedy.Wait wait = (Remedy.Wait) e.remedy(Kind.WAIT).orElseThrow();
    assertThat(wait.until()).isEqualTo(Instant.EPOCH.plusSeconds(70));
    assertThat(wait.chipSeconds()).isEqualTo(128 * 70);
    assertThat(wait.ending()).hasSize(2);
    assertThat(e.remedies().get(e.remedies().size() - 1)).isEqualTo(evict);
  }

  @Test
  void theFewestFailedHostsAreNamed() {
    Fleet fleet = Fleet.builder().pod("p", TpuTopology.v5p()).build();
    for (int cube = 0; cube < 139; cube++) {
      fleet = fleet.failHost("p", new HostId(16 * cube));
      fleet = cube % 2 == 0 ? fleet.failHost("p", new HostId(16 * cube + 3)) : fleet;
    }
    SliceRequest two = SliceRequest.builder("two").shape("4x4x8").build();
    Explanation e = SlicePlanner.create().explain(fleet, two, PlanningRules.NONE, AMPLE);
    assertThat(e.unplaced().orElseThrow().reason()).isEqualTo(Reason.BLOCKED_BY_HEALTH);
    Remedy.Repair repair = (Remedy.Repair) e.remedy(Kind.REPAIR).orElseThrow();
    assertThat(repair.parts()).hasSize(1);
    assertThat(repair.parts().get(0).part()).isInstanceOf(Part.Host.class);
    assertThat(repair.smallest()).isTrue();
  }

  @Test
  void littleTimeNamesWhatWasNotExamined() {
    Fleet fleet = Fleet.builder().pod("p", TpuTopology.torus(16, 16, 16)).build();
    for (int h = 0; h < fleet.pod("p").orElseThrow().topology().hostCount(); h += 3) {
      fleet = fleet.failHost("p", new HostId(h));
    }
    SliceRequest request = SliceRequest.builder("r").shape("8x8x8").build();
    Explanation e =
        SlicePlanner.create()
            .explain(fleet, request, PlanningRules.NONE, SolveBudget.within(Duration.ofMillis(1)));
    assertThat(e.fits()).isFalse();
    assertThat(e.notExamined()).contains(Kind.REPAIR, Kind.WAIT, Kind.MOVE);
  }

  @Test
  void badInputIsTypedAndUnknownPodsAreAReason() {
    Fleet fleet = Fleet.builder().pod("p", TpuTopology.torus(4, 4)).build();
    SlicePlanner planner = SlicePlanner.create();
    SliceRequest request = SliceRequest.builder("r").shape("2x2").pod("nowhere").build();
    Explanation e = planner.explain(fleet, request, PlanningRules.NONE, AMPLE);
    assertThat(e.unplaced().orElseThrow().reason()).isEqualTo(Reason.NO_POD_MATCHES);
    assertThat(e.remedies()).isEmpty();
    Fleet runs =
        fleet.place(
            running(
                "r",
                new Footprint.Box(new dev.slicewright.topology.Chip(0, 0, 0), Shape.of(2, 2)),
                "2x2",
                5));
    assertThatThrownBy(() -> planner.explain(runs, request, PlanningRules.NONE, AMPLE))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("runs already");
    assertThatThrownBy(
            () ->
                RunningSlice.builder(
                        request,
                        0,
                        "p",
                        Shape.of(2, 2),
                        runs.running().iterator().next().footprint())
                    .startedAt(Instant.EPOCH.plusSeconds(1))
                    .endsAt(Instant.EPOCH)
                    .build())
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("endsAt");
  }
}
