package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SliceId;
import dev.slicewright.SolveBudget;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.ObjectiveLevels;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Proof;
import dev.slicewright.plan.Reason;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.Score;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.request.Drain;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** What fits, against counting by brute force; and what makes no difference to it. */
class CapacityTest {

  private static final SolveBudget BUDGET = SolveBudget.within(Duration.ofSeconds(20));
  private static final SolveBudget FAST =
      SolveBudget.builder()
          .deadline(Duration.ofSeconds(20))
          .workers(2)
          .mode(SolveBudget.Mode.FAST)
          .build();

  private final SlicePlanner planner = SlicePlanner.builder().failOnRejectedPlan(true).build();

  /** The cells of each place in a pod where a slice could go now; null if there are too many. */
  private static List<BitSet> places(Pod pod, Shape shape) {
    TpuTopology t = pod.topology();
    List<BitSet> out = new ArrayList<>();
    for (Footprint footprint : RandomFleets.footprints(t, shape)) {
      int[] cells = t.cells(footprint);
      boolean free = pod.healthOf(footprint) != Health.FAILED && !pod.busy().containsAny(cells);
      free &= !pod.cordonedCells().containsAny(cells);
      for (Hold hold : pod.holds()) {
        boolean live = hold.isLive(RandomFleets.NOW);
        free &= !live || !footprintsMeet(t, hold.footprint(), cells);
      }
      if (free) {
        BitSet set = new BitSet();
        for (int cell : cells) {
          set.set(cell);
        }
        if (!out.contains(set)) {
          out.add(set);
        }
      }
    }
    return out.size() > 40 ? null : out;
  }

  private static boolean footprintsMeet(TpuTopology t, Footprint footprint, int[] cells) {
    for (int held : t.cells(footprint)) {
      for (int cell : cells) {
        if (held == cell) {
          return true;
        }
      }
    }
    return false;
  }

  private static int most(List<BitSet> places, int from, BitSet taken) {
    int best = 0;
    for (int i = from; i < places.size(); i++) {
      BitSet place = places.get(i);
      if (!taken.intersects(place)) {
        taken.or(place);
        best = Math.max(best, 1 + most(places, i + 1, taken));
        taken.andNot(place);
      }
    }
    return best;
  }

  @Test
  void bruteForceAgreesOnAllKindsOfPods() {
    RandomFleets.Limits limits =
        RandomFleets.Limits.DEFAULT
            .features(EnumSet.of(RandomFleets.Feature.MULTISLICE))
            .running(4);
    int asked = 0;
    int several = 0;
    for (long seed = 0; seed < 60; seed++) {
      Fleet fleet = RandomFleets.instance(seed, limits).fleet();
      SplittableRandom random = new SplittableRandom(seed);
      List<Shape> legal = fleet.pods().iterator().next().topology().legalShapes();
      Shape shape = legal.get(random.nextInt(legal.size()));
      long most = 0;
      long largestChips = 0;
      boolean counted = true;
      for (Pod pod : fleet.pods()) {
        List<BitSet> places = places(pod, shape);
        if (places == null || pod.topology().chipsPerCell() > shape.chips()) {
          counted = false;
          break;
        }
        most += most(places, 0, new BitSet());
      }
      if (!counted) {
        continue;
      }
      asked++;
      several += most > 1 ? 1 : 0;
      PlanningRules rules = PlanningRules.builder().now(RandomFleets.NOW).build();
      SliceRequest like = SliceRequest.builder("like").shape(shape).build();
      for (SolveBudget budget : List.of(BUDGET, FAST)) {
        Capacity capacity = planner.capacity(fleet, like, rules, budget);
        assertThat(capacity.value()).as("%s on %s", shape, fleet.pods()).isEqualTo(most);
        assertThat(capacity.bound()).as("%s on %s", shape, fleet.pods()).isEqualTo(most);
        verify(fleet, capacity, rules);
        assertThat(capacity.why() != null).isEqualTo(most == 0);
      }
      for (Pod pod : fleet.pods()) {
        for (Shape each : pod.topology().legalShapes()) {
          List<BitSet> places = places(pod, each);
          if (places == null || !places.isEmpty()) {
            largestChips = Math.max(largestChips, each.chips());
          }
        }
      }
      assertThat(
              planner
                  .largestPlaceable(fleet, like, rules)
                  .largest()
                  .map(LargestPlaceable.InPod::chips)
                  .orElse(0L))
          .as("%s", fleet.pods())
          .isEqualTo(largestChips);
    }
    assertThat(asked).isGreaterThan(25);
    assertThat(several).isGreaterThan(5);
  }

  /** Its placements are a plan that the verifier accepts. */
  private static void verify(Fleet fleet, Capacity capacity, PlanningRules rules) {
    List<SliceRequest> requests =
        capacity.placements().stream().map(RequestPlacement::request).toList();
    List<LevelScore> levels = new ArrayList<>();
    for (Level level : ObjectiveLevels.of(fleet, requests, rules, CostTerms.DEFAULT)) {
      long value =
          switch (level.kind()) {
            case KEPT -> fleet.totals().countedChips().getOrDefault(level.priority(), 0L);
            case PLACED -> capacity.placements().stream().mapToLong(RequestPlacement::chips).sum();
            default -> 0;
          };
      levels.add(new LevelScore(level, value, value, new Proof.Trivial(), null));
    }
    Plan.Builder plan = Plan.builder(fleet.version(), rules).score(new Score(levels));
    capacity.placements().forEach(plan::placement);
    capacity.parts().stream()
        .flatMap(part -> java.util.stream.Stream.ofNullable(part.plan()))
        .findFirst()
        .ifPresent(p -> p.broken().forEach(plan::broken));
    if (!requests.isEmpty()) {
      assertThat(
              PlanVerifier.verify(fleet, requests, rules, CostTerms.DEFAULT, plan.build()).stream()
                  .filter(v -> !v.path().startsWith("stopped"))
                  .toList())
          .isEmpty();
    }
  }

  /**
   * A torus of hosts of 2x2x1 with random boxes running, moved round and its axes x and y swapped.
   */
  private static Fleet torus(long seed, int shift, boolean swapped) {
    TpuTopology t = TpuTopology.torus(8, 8, 8);
    SplittableRandom random = new SplittableRandom(seed);
    BitSet busy = new BitSet();
    Fleet.Builder fleet = Fleet.builder().pod("pod", t);
    for (int i = 0; i < 40; i++) {
      int x = 2 * random.nextInt(4);
      int y = 2 * random.nextInt(4);
      int z = random.nextInt(8);
      Shape extents = random.nextInt(2) == 0 ? Shape.of(2, 4, 2) : Shape.of(4, 2, 1);
      Footprint.Box plain = new Footprint.Box(new Chip(x, y, z), extents);
      boolean free = true;
      for (int cell : t.cells(plain)) {
        free &= !busy.get(cell);
      }
      if (!free) {
        continue;
      }
      for (int cell : t.cells(plain)) {
        busy.set(cell);
      }
      Chip at =
          new Chip((swapped ? y : x + 2 * shift) % 8, (swapped ? x : y) % 8, (z + 3 * shift) % 8);
      Shape turned = swapped ? Shape.of(extents.y(), extents.x(), extents.z()) : extents;
      SliceRequest request = SliceRequest.builder("run-" + i).shape(extents).build();
      fleet.running(
          RunningSlice.builder(request, 0, "pod", extents, new Footprint.Box(at, turned)).build());
    }
    return fleet.build();
  }

  @Test
  void movingTheTorusRoundOrTurningItChangesNothing() {
    int exact = 0;
    for (long seed = 1; seed <= 2; seed++) {
      for (String text : List.of("2x2x2", "2x2x4", "2x4x4", "4x4x4")) {
        Shape shape = Shape.parse(text);
        Capacity plain = planner.capacity(torus(seed, 0, false), shape, BUDGET);
        for (Fleet other : List.of(torus(seed, 1, false), torus(seed, 0, true))) {
          Capacity same = planner.capacity(other, shape, FAST);
          assertThat(same.value()).isLessThanOrEqualTo(plain.bound());
          assertThat(plain.value()).isLessThanOrEqualTo(same.bound());
          exact += plain.isExact() && same.isExact() ? 1 : 0;
        }
      }
      SliceRequest any = SliceRequest.builder("any").chips(1).build();
      Optional<Long> largest = largest(torus(seed, 0, false), any);
      assertThat(largest).isPresent();
      assertThat(largest(torus(seed, 1, false), any)).isEqualTo(largest);
      assertThat(largest(torus(seed, 0, true), any)).isEqualTo(largest);
    }
    assertThat(exact).isPositive();
  }

  private Optional<Long> largest(Fleet fleet, SliceRequest like) {
    return planner
        .largestPlaceable(fleet, like, PlanningRules.NONE)
        .largest()
        .map(LargestPlaceable.InPod::chips);
  }

  @Test
  void withNoTimeItIsHonest() {
    Fleet fleet =
        Fleet.builder()
            .pod("a", TpuTopology.v5p())
            .pod("b", TpuTopology.torus(16, 16, 16))
            .pod("c", TpuTopology.torus(16, 16, 16))
            .build();
    for (String text : List.of("2x2x1", "2x2x2", "4x4x4", "8x8x8")) {
      Shape shape = Shape.parse(text);
      Capacity hurried = planner.capacity(fleet, shape, SolveBudget.within(Duration.ofMillis(1)));
      long most = (8_960 + 2 * 4_096) / shape.chips();
      assertThat(hurried.value()).isBetween(0L, most);
      assertThat(hurried.bound()).isBetween(most - (shape.chips() == 512 ? 1 : 0), most);
      assertThat(hurried.placements()).hasSize((int) hurried.value());
    }
  }

  @Test
  void rulesHoldsAndIdsCount() {
    Fleet fleet =
        Fleet.builder()
            .pod("a", TpuTopology.torus(8, 8))
            .pod("b", TpuTopology.v5e())
            .running(
                RunningSlice.builder(
                        SliceRequest.builder("like").shape("4x4").tenant("red").build(),
                        0,
                        "a",
                        Shape.of(4, 4),
                        new Footprint.Box(new Chip(0, 0, 0), Shape.of(4, 4)))
                    .build())
            .hold(
                new Hold(
                    "h",
                    "a",
                    new Footprint.Box(new Chip(4, 4, 0), Shape.of(4, 4)),
                    "held",
                    RandomFleets.NOW.plusSeconds(60)))
            .build();
    SliceRequest like = SliceRequest.builder("like").shape("4x4").tenant("red").build();
    PlanningRules.Builder rules = PlanningRules.builder().now(RandomFleets.NOW);
    assertThat(planner.capacity(fleet, like, rules.build(), BUDGET).value()).isEqualTo(18);
    SliceRequest held = SliceRequest.builder("held").shape("4x4").pod("a").build();
    Capacity own = planner.capacity(fleet, held, rules.build(), BUDGET);
    assertThat(own.value()).isEqualTo(3);
    assertThat(own.placements().get(0).request()).isEqualTo(held);
    assertThat(own.slices().get(0).id()).isEqualTo(new SliceId("held", 0));
    verify(fleet, own, rules.build());
    rules.quota("red", 16 + 40);
    Capacity limited = planner.capacity(fleet, like, rules.build(), BUDGET);
    assertThat(limited.value()).isEqualTo(2);
    assertThat(limited.isExact()).isTrue();
    verify(fleet, limited, rules.build());
    SliceRequest pairs =
        SliceRequest.builder("pairs").shape("4x4").slices(2).pod("a").gang("g").build();
    assertThat(planner.capacity(fleet, pairs, rules.build(), BUDGET).value()).isEqualTo(1);
  }

  @Test
  void whatNeverFitsHasAReason() {
    Fleet fleet = Fleet.builder().pod("a", TpuTopology.v5e()).build();
    SliceRequest odd = SliceRequest.builder("odd").shape("3x5").build();
    Capacity none = planner.capacity(fleet, odd, PlanningRules.NONE, BUDGET);
    assertThat(none.bound()).isZero();
    assertThat(none.why().reason()).isEqualTo(Reason.SHAPE_NOT_FORMABLE);
    SliceRequest nowhere = SliceRequest.builder("odd").shape("4x4").pod("zz").build();
    none = planner.capacity(fleet, nowhere, PlanningRules.NONE, BUDGET);
    assertThat(none.bound()).isZero();
    assertThat(none.why().reason()).isEqualTo(Reason.NO_POD_MATCHES);
    assertThat(planner.largestPlaceable(fleet, nowhere, PlanningRules.NONE).pods()).isEmpty();
    assertThat(planner.capacity(Fleet.builder().build(), Shape.of(4, 4), BUDGET).bound()).isZero();
  }

  @Test
  void theLargestGoesByChipsThenByEvenness() {
    Fleet fleet =
        Fleet.builder()
            .pod("a", TpuTopology.torus(16, 16, 16))
            .pod("b", TpuTopology.v5p())
            .build()
            .fail("a", new Part.Host(new HostId(0)));
    LargestPlaceable found =
        planner.largestPlaceable(
            fleet, SliceRequest.builder("any").chips(1).build(), PlanningRules.NONE);
    assertThat(found.pods()).hasSize(2);
    assertThat(found.pods().get(0).shape()).isEqualTo(Shape.of(16, 16, 15));
    assertThat(found.largest().orElseThrow().pod()).isEqualTo("b");
  }

  @Test
  void drainedPartsHoldNothing() {
    TpuTopology t = TpuTopology.torus(4, 4, 4);
    Fleet fleet = Fleet.builder().pod("a", t).pod("b", t).build();
    SliceRequest like = SliceRequest.builder("like").shape("2x2x2").build();
    SlicePlanner planner = SlicePlanner.create();
    SolveBudget budget = SolveBudget.within(Duration.ofSeconds(20));
    PlanningRules one = PlanningRules.builder().drain(Drain.pod("a")).build();
    assertThat(planner.capacity(fleet, like, one, budget).value()).isEqualTo(8);
    assertThat(planner.capacity(fleet, like, one, budget).bound()).isEqualTo(8);
    assertThat(planner.largestPlaceable(fleet, like, one).pods())
        .extracting(LargestPlaceable.InPod::chips)
        .containsExactly(0L, 64L);
    PlanningRules nobody = PlanningRules.builder().drain(Drain.pod("c")).build();
    assertThatThrownBy(() -> planner.capacity(fleet, like, nobody, budget))
        .isInstanceOf(InvalidInputException.class);
    assertThatThrownBy(() -> planner.largestPlaceable(fleet, like, nobody))
        .isInstanceOf(InvalidInputException.class);
  }
}
