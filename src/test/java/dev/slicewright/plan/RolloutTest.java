package dev.slicewright.plan;

import static dev.slicewright.plan.Case.box;
import static dev.slicewright.plan.Case.cubes;
import static dev.slicewright.plan.Case.partition;
import static dev.slicewright.plan.Case.running;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SliceId;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.StalePlanException.ConflictKind;
import dev.slicewright.plan.Step.Kind;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RolloutChecks;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;

class RolloutTest {

  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");
  private static final PlanningRules RULES =
      PlanningRules.builder().now(NOW).permitByDefault(Permission.ANY).build();

  /** Four places of 4x4x4 in a row. */
  private static final TpuTopology ROW = TpuTopology.torus(16, 4, 4);

  private static Footprint place(int nth) {
    return box("4x4x4", 4 * nth, 0, 0);
  }

  private static SliceRequest request(String id) {
    return SliceRequest.builder(id).shape("4x4x4").build();
  }

  /** Slices named by letters on places: {@code "ab.c"} has nothing on the third. */
  private static Fleet row(String letters) {
    Fleet fleet = Fleet.builder().pod("p", ROW).build();
    for (int i = 0; i < letters.length(); i++) {
      if (letters.charAt(i) != '.') {
        String id = letters.substring(i, i + 1);
        fleet = fleet.place(running(request(id), 0, "p", "4x4x4", place(i)));
      }
    }
    return fleet;
  }

  /** The plan that makes one row of another: capitals are new, what is missing is evicted. */
  private static Plan plan(Fleet fleet, String to, PlanningRules rules) {
    Case c = new Case(fleet, List.of(), rules, CostTerms.DEFAULT);
    Plan.Builder b = c.plan();
    for (RunningSlice slice : fleet.running()) {
      String id = slice.id().request();
      int at = to.indexOf(id);
      if (at < 0) {
        b.eviction(new Eviction(id, List.of(slice)));
      } else if (!slice.footprint().equals(place(at))) {
        b.move(new Move(slice, c.slice(slice.request(), 0, "p", "4x4x4", place(at))));
      }
    }
    for (int i = 0; i < to.length(); i++) {
      String id = to.substring(i, i + 1);
      if (!id.equals(".") && fleet.runningOf(id).isEmpty()) {
        b.placement(c.one(request(id), "p", "4x4x4", place(i)));
      }
    }
    return b.build();
  }

  private static Rollout rollout(String from, String to) {
    Fleet fleet = row(from);
    Rollout rollout = Rollout.of(fleet, plan(fleet, to, RULES));
    RolloutChecks.check(rollout, 1);
    return rollout;
  }

  /** Waves as words. */
  private static List<String> words(Rollout rollout) {
    return rollout.waves().stream()
        .map(
            wave ->
                String.join(
                    ", ",
                    wave.steps().stream().map(s -> s.kind() + " " + s.slice().request()).toList()))
        .toList();
  }

  @Test
  void emptyPlanHasNoSteps() {
    Rollout rollout = rollout("ab..", "ab..");
    assertThat(rollout.waves()).isEmpty();
    assertThat(rollout.time()).isZero();
    assertThat(rollout.at(List.of()).waiting()).isEmpty();
  }

  @Test
  void victimRunsUntilItsPlaceIsNeededAndNewSlicesThatWaitForNothingComeFirst() {
    assertThat(words(rollout("ab..", "aXY."))).containsExactly("evict b, create Y", "create X");
  }

  @Test
  void chainMovesFromItsFreeEndAndTheVictimGoesLate() {
    // c goes to free room, b follows, then a, then X where a was.
    assertThat(words(rollout("abc.", "Xabc")))
        .containsExactly(
            "delete c",
            "delete b, create c",
            "delete a, create b, restore c",
            "create X, create a, restore b",
            "restore a");
    assertThat(words(rollout("abcd", "Xabc")))
        .containsExactly(
            "evict d",
            "delete c",
            "delete b, create c",
            "delete a, create b, restore c",
            "create X, create a, restore b",
            "restore a");
  }

  @Test
  void swapGoesRoundThroughFreeRoom() {
    Rollout rollout = rollout("abc.", "bac.");
    assertThat(words(rollout))
        .containsExactly(
            "delete a",
            "delete b, detour a",
            "create b, restore a",
            "delete a, restore b",
            "create a",
            "restore a");
    assertThat(rollout.givingWay())
        .containsExactly(new Rollout.GivingWay(Kind.DETOUR, "a", 64, 2, 5, 64 * 600));
  }

  @Test
  void swapWithoutRoomSuspendsOne() {
    Rollout rollout = rollout("abcd", "bacd");
    assertThat(words(rollout))
        .containsExactly("suspend a", "delete b", "create a, create b", "restore a, restore b");
    assertThat(rollout.givingWay())
        .containsExactly(new Rollout.GivingWay(Kind.SUSPEND, "a", 64, 1, 3, 0));
    Fleet fleet = row("abcd");
    Rollout timed =
        Rollout.of(
            fleet,
            plan(fleet, "bacd", RULES),
            new Rollout.Times(Duration.ofSeconds(5), Duration.ofSeconds(10)));
    assertThat(timed.givingWay().get(0).chipSeconds()).isEqualTo(64 * 5);
    assertThat(timed.time()).isEqualTo(Duration.ofSeconds(5 + 5 + 10 + 600));
    assertThat(timed.waves().get(2).timeKnown()).isTrue();
    assertThat(timed.waves().get(3).timeKnown()).isFalse();
  }

  @Test
  void roomOfNewSlicesIsLentFirst() {
    // X could go to the last place at once, but then a or b would be suspended.
    Rollout rollout = rollout("abc.", "bacX");
    assertThat(words(rollout).get(1)).isEqualTo("delete b, detour a");
    assertThat(rollout.givingWay())
        .extracting(Rollout.GivingWay::kind)
        .containsExactly(Kind.DETOUR);
    assertThat(rollout.holds(NOW.plusSeconds(60)))
        .extracting(Hold::request)
        .containsExactlyInAnyOrder("a", "b");
  }

  @Test
  void longerCyclesHaveOneThatGivesWay() {
    assertThat(rollout("abcd", "bcda").givingWay()).hasSize(1);
    assertThat(words(rollout("abcd", "cabd")))
        .containsExactly(
            "suspend a",
            "delete c",
            "delete b, create c",
            "create a, create b, restore c",
            "restore a, restore b");
    assertThat(rollout("abc.", "cab.").givingWay())
        .extracting(Rollout.GivingWay::kind)
        .containsExactly(Kind.DETOUR);
    assertThat(rollout("abcd", "badc").givingWay()).hasSize(2);
  }

  @Test
  void theCheapestGivesWay() {
    Fleet fleet =
        row("ab.d")
            .release("b")
            .place(
                running(request("b"), 0, "p", "4x4x4", place(1)).toBuilder()
                    .restartTime(Duration.ofSeconds(60))
                    .build());
    Rollout rollout = Rollout.of(fleet, plan(fleet, "ba.d", RULES));
    assertThat(rollout.givingWay())
        .containsExactly(new Rollout.GivingWay(Kind.DETOUR, "b", 64, 2, 5, 64 * 60));
  }

  @Test
  void placeHeldOrFailedIsNoDetour() {
    Fleet held = row("abc.").hold(new Hold("h", "p", place(3), "stranger", NOW.plusSeconds(60)));
    assertThat(Rollout.of(held, plan(held, "bac.", RULES)).givingWay())
        .extracting(Rollout.GivingWay::kind)
        .containsExactly(Kind.SUSPEND);
    Fleet expired = row("abc.").hold(new Hold("h", "p", place(3), "stranger", NOW.minusSeconds(9)));
    Rollout rollout = Rollout.of(expired, plan(expired, "bac.", RULES));
    RolloutChecks.check(rollout, 1);
    Fleet failed = row("abc.").failHost("p", ROW.hostOf(new Chip(13, 0, 0)));
    Rollout around = Rollout.of(failed, plan(failed, "bac.", RULES));
    RolloutChecks.check(around, 1);
    assertThat(around.givingWay())
        .extracting(Rollout.GivingWay::kind)
        .containsExactly(Kind.SUSPEND);
  }

  @Test
  void multisliceStopsAndStartsAsAWhole() {
    SliceRequest two = SliceRequest.builder("m").shape("4x4x4").slices(2).build();
    Fleet fleet =
        Fleet.builder()
            .pod("p", ROW)
            .build()
            .place(running(two, 0, "p", "4x4x4", place(0)))
            .place(running(two, 1, "p", "4x4x4", place(1)));
    Case c = new Case(fleet, List.of(), RULES, CostTerms.DEFAULT);
    RunningSlice second = fleet.running(new SliceId("m", 1)).orElseThrow();
    Plan plan =
        c.plan()
            .move(new Move(second, c.slice(two, 1, "p", "4x4x4", place(2))))
            .placement(c.one(request("X"), "p", "4x4x4", place(1)))
            .build();
    Rollout rollout = Rollout.of(fleet, plan);
    RolloutChecks.check(rollout, 3);
    assertThat(words(rollout))
        .containsExactly("delete m", "create X, create m", "restart m, restore m");
    Rollout.Progress progress = rollout.at(List.of(1));
    assertThat(progress.waiting()).extracting(SliceRequest::id).containsExactly("m", "X");
    assertThat(progress.remnants())
        .extracting(RunningSlice::id)
        .containsExactly(new SliceId("m", 0));
    assertThat(progress.cleared().running()).isEmpty();
  }

  @Test
  void quotaWaitsForWhatGoes() {
    SliceRequest big = SliceRequest.builder("X").shape("4x4x4").tenant("t").build();
    SliceRequest old = SliceRequest.builder("o").shape("4x4x4").tenant("t").build();
    Fleet fleet =
        Fleet.builder().pod("p", ROW).build().place(running(old, 0, "p", "4x4x4", place(0)));
    PlanningRules rules = RULES.toBuilder().quota("t", 64).build();
    Case c = new Case(fleet, List.of(big), rules, CostTerms.DEFAULT);
    Plan plan =
        c.plan()
            .eviction(new Eviction("o", fleet.runningOf("o")))
            .placement(c.one(big, "p", "4x4x4", place(3)))
            .build();
    Rollout rollout = Rollout.of(fleet, plan);
    RolloutChecks.check(rollout, 3);
    assertThat(words(rollout)).containsExactly("evict o", "create X");
    assertThatThrownBy(() -> rollout.replay(List.of(2)))
        .asInstanceOf(InstanceOfAssertFactories.type(StalePlanException.class))
        .satisfies(
            e -> assertThat(e.conflicts().get(0).kind()).isEqualTo(ConflictKind.RULE_BROKEN));
  }

  @Test
  void stepsOutOfTurnNameTheConflict() {
    Rollout rollout = rollout("abcd", "bacX");
    Map<ConflictKind, Integer> seen = new EnumMap<>(ConflictKind.class);
    for (Step step : rollout.steps()) {
      if (!step.after().isEmpty()) {
        try {
          rollout.replay(List.of(step.number()));
          // Only what gives way early may be deleted before its turn.
          assertThat(step.kind()).isIn(Kind.DELETE, Kind.RESTORE);
        } catch (StalePlanException e) {
          e.conflicts().forEach(conflict -> seen.merge(conflict.kind(), 1, Integer::sum));
        }
      }
    }
    assertThat(seen).containsKeys(ConflictKind.CHIPS_TAKEN, ConflictKind.SLICE_CHANGED);
    assertThatThrownBy(() -> rollout.replay(List.of(99)))
        .isInstanceOf(IllegalArgumentException.class);
    Fleet fleet = row("abc.");
    assertThatThrownBy(() -> Rollout.of(row("ab.c"), plan(fleet, "bacX", RULES)))
        .isInstanceOf(StalePlanException.class);
  }

  @Test
  void holdsKeepThePlaceWhileVictimsLeave() {
    Rollout rollout = rollout("abcd", "aXcd");
    Fleet fleet = rollout.hold(rollout.fleet(), NOW.plusSeconds(600));
    assertThat(fleet.runningOf("b").get(0).leaving()).isTrue();
    assertThat(fleet.holds()).extracting(Hold::request).containsExactly("X");
    Fleet gone = rollout.apply(fleet, rollout.steps().get(0));
    assertThat(gone.holds()).hasSize(1);
    assertThatThrownBy(() -> gone.place(running(request("thief"), 0, "p", "4x4x4", place(1))))
        .hasMessageContaining("held for request X");
    Fleet end = rollout.apply(gone, rollout.steps().get(1));
    assertThat(end).isEqualTo(rollout.plan().applyTo(rollout.fleet()));
  }

  @Test
  void swapsOfCubesAndPartitions() {
    TpuTopology optical = TpuTopology.tpu7x();
    SliceRequest a = SliceRequest.builder("a").shape("4x4x8").build();
    SliceRequest b = SliceRequest.builder("b").shape("4x4x8").build();
    Fleet fleet =
        Fleet.builder()
            .pod("p", optical)
            .build()
            .place(running(a, 0, "p", "4x4x8", cubes(0, 1)))
            .place(running(b, 0, "p", "4x4x8", cubes(2, 3)));
    Case c = new Case(fleet, List.of(), RULES, CostTerms.DEFAULT);
    Plan plan =
        c.plan()
            .move(new Move(fleet.runningOf("a").get(0), c.slice(a, 0, "p", "4x4x8", cubes(1, 2))))
            .move(new Move(fleet.runningOf("b").get(0), c.slice(b, 0, "p", "4x4x8", cubes(3, 0))))
            .build();
    Rollout rollout = Rollout.of(fleet, plan);
    RolloutChecks.check(rollout, 5);
    assertThat(rollout.givingWay())
        .extracting(Rollout.GivingWay::kind)
        .containsExactly(Kind.DETOUR);

    TpuTopology halved = TpuTopology.v6e();
    SliceRequest e = SliceRequest.builder("a").shape("8x16").build();
    SliceRequest f = SliceRequest.builder("b").shape("8x16").build();
    Fleet full =
        Fleet.builder()
            .pod("p", halved)
            .build()
            .place(running(e, 0, "p", "8x16", partition(halved, "8x16", 0)))
            .place(running(f, 0, "p", "8x16", partition(halved, "8x16", 1)));
    Case d = new Case(full, List.of(), RULES, CostTerms.DEFAULT);
    Plan swap =
        d.plan()
            .move(
                new Move(
                    full.runningOf("a").get(0),
                    d.slice(e, 0, "p", "8x16", partition(halved, "8x16", 1))))
            .move(
                new Move(
                    full.runningOf("b").get(0),
                    d.slice(f, 0, "p", "8x16", partition(halved, "8x16", 0))))
            .build();
    Rollout suspended = Rollout.of(full, swap);
    RolloutChecks.check(suspended, 5);
    assertThat(suspended.givingWay())
        .extracting(Rollout.GivingWay::kind)
        .containsExactly(Kind.SUSPEND);
  }

  // ---------------------------------------------------------------- the verifier

  @Test
  void verifierFindsWhatIsWrong() {
    Fleet fleet = row("abcd");
    Plan plan = plan(fleet, "bacX", RULES);
    Rollout right = Rollout.of(fleet, plan);
    // Each step left out, moved a wave earlier, or made another kind.
    for (Step step : right.steps()) {
      List<Wave> without = new ArrayList<>();
      List<Wave> earlier = new ArrayList<>();
      List<Wave> other = new ArrayList<>();
      for (Wave wave : right.waves()) {
        List<Step> kept = new ArrayList<>(wave.steps());
        kept.remove(step);
        List<Step> more = new ArrayList<>(kept);
        if (wave.number() == step.wave() - 1) {
          more.add(step);
        }
        List<Step> changed = new ArrayList<>(wave.steps());
        changed.replaceAll(
            s -> s.equals(step) ? as(s, s.kind() == Kind.DETOUR ? Kind.CREATE : Kind.DETOUR) : s);
        add(without, kept);
        add(earlier, more);
        add(other, changed);
      }
      assertThat(RolloutVerifier.verify(fleet, plan, of(right, without))).isNotEmpty();
      if (step.wave() > 1 && step.kind() != Kind.EVICT) { // victims may always go earlier
        assertThat(RolloutVerifier.verify(fleet, plan, of(right, earlier)))
            .as("%s", step)
            .isNotEmpty();
      }
      assertThat(RolloutVerifier.verify(fleet, plan, of(right, other))).isNotEmpty();
    }
  }

  private static Rollout of(Rollout right, List<Wave> waves) {
    return new Rollout(right.fleet(), right.plan(), right.plan().applyTo(right.fleet()), waves);
  }

  private static Step as(Step s, Kind kind) {
    return new Step(
        s.number(), s.wave(), kind, s.request(), s.at(), s.after(), s.time(), s.timeKnown());
  }

  /** Adds a wave, numbered anew; what a step waits for keeps its number. */
  private static void add(List<Wave> waves, List<Step> steps) {
    int before = waves.stream().mapToInt(w -> w.steps().size()).sum();
    List<Step> again = new ArrayList<>();
    for (Step s : steps) {
      again.add(
          new Step(
              before + again.size() + 1,
              waves.size() + 1,
              s.kind(),
              s.request(),
              s.at(),
              s.after().stream().filter(n -> n <= before).toList(),
              s.time(),
              s.timeKnown()));
    }
    if (!again.isEmpty()) {
      waves.add(Wave.of(waves.size() + 1, again));
    }
  }

  // ---------------------------------------------------------------- random

  /** Two random packings of the same slices; some leave, some come. */
  @Test
  void randomRepackings() {
    Map<Kind, Integer> kinds = new EnumMap<>(Kind.class);
    for (long seed = 0; seed < 250; seed++) {
      Random random = new Random(seed);
      RandomFleets.Limits limits =
          RandomFleets.Limits.DEFAULT.running(0).requests(1).faults(2).holds(0).pods(2);
      Fleet empty = RandomFleets.instance(seed, limits).fleet();
      PlanningRules.Builder rules = RULES.toBuilder();
      if (seed % 3 == 0) {
        rules.quota("t", random.nextInt(40)).quota("u", random.nextInt(40));
      }
      Repacking repacking = new Repacking(empty, rules.build(), random);
      Plan plan = repacking.plan();
      Rollout rollout;
      try {
        rollout = Rollout.of(repacking.fleet, plan);
      } catch (StalePlanException e) {
        // A quota forbids it.
        assertThat(e.conflicts()).allMatch(conflict -> conflict.kind() == ConflictKind.RULE_BROKEN);
        continue;
      }
      try {
        RolloutChecks.check(rollout, seed);
        assertThat(Rollout.of(repacking.fleet, plan)).isEqualTo(rollout);
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError("seed " + seed + "\n" + rollout, e);
      }
      rollout.steps().forEach(step -> kinds.merge(step.kind(), 1, Integer::sum));
    }
    assertThat(kinds).containsOnlyKeys(Kind.values());
    assertThat(kinds.values()).allMatch(count -> count >= 10);
  }

  private static final class Repacking {
    final Random random;
    final PlanningRules rules;
    Fleet fleet;
    Fleet target;
    final List<SliceRequest> evicted = new ArrayList<>();
    final List<SliceRequest> placed = new ArrayList<>();

    Repacking(Fleet empty, PlanningRules rules, Random random) {
      this.random = random;
      this.rules = rules;
      this.fleet = empty;
      this.target = empty;
      List<SliceRequest> requests = new ArrayList<>();
      for (int i = 0; i < 9; i++) {
        var pods = List.copyOf(empty.pods());
        List<Shape> shapes =
            pods.get(random.nextInt(pods.size())).topology().legalShapes().stream()
                .filter(s -> s.chips() <= 128)
                .toList();
        if (!shapes.isEmpty()) {
          Shape shape = shapes.get(random.nextInt(Math.min(shapes.size(), 4)));
          requests.add(
              SliceRequest.builder("r" + i)
                  .shape(shape)
                  .slices(random.nextInt(4) == 0 ? 2 : 1)
                  .tenant(random.nextBoolean() ? "t" : "u")
                  .build());
        }
      }
      for (SliceRequest request : requests) {
        fleet = add(fleet, request);
      }
      List<SliceRequest> again = new ArrayList<>(requests);
      Collections.shuffle(again, random);
      for (SliceRequest request : again) {
        boolean runs = !fleet.runningOf(request.id()).isEmpty();
        if (runs && random.nextInt(8) == 0) {
          evicted.add(request);
          continue;
        }
        Fleet more = null;
        if (runs && random.nextInt(4) == 0) {
          try {
            more = target;
            for (RunningSlice slice : fleet.runningOf(request.id())) {
              more = more.place(slice);
            }
          } catch (InvalidInputException e) {
            more = null;
          }
        }
        target = more != null ? more : add(target, request);
        if (runs && target.runningOf(request.id()).isEmpty()) {
          evicted.add(request);
        } else if (!runs && !target.runningOf(request.id()).isEmpty()) {
          placed.add(request);
        }
      }
    }

    private Fleet add(Fleet to, SliceRequest request) {
      Fleet result = to;
      for (int i = 0; i < request.slices(); i++) {
        Fleet more = add(result, request, i);
        if (more == null) {
          return to;
        }
        result = more;
      }
      return result;
    }

    private Fleet add(Fleet to, SliceRequest request, int index) {
      var pods = new ArrayList<>(to.pods());
      Collections.shuffle(pods, random);
      Shape shape = request.shapes().get(0);
      for (var pod : pods) {
        List<Footprint> free = new ArrayList<>();
        for (Footprint footprint : RandomFleets.footprints(pod.topology(), shape)) {
          int[] cells = pod.topology().cells(footprint);
          if (!pod.busy().containsAny(cells)
              && !pod.cordonedCells().containsAny(cells)
              && pod.healthOf(footprint) != Health.FAILED) {
            free.add(footprint);
          }
        }
        if (!free.isEmpty()) {
          Footprint at = free.get(random.nextInt(free.size()));
          try {
            return to.place(
                RunningSlice.builder(request, index, pod.id(), shape, at).startedAt(NOW).build());
          } catch (InvalidInputException e) {
            continue; // a sibling has another accelerator
          }
        }
      }
      return null;
    }

    Plan plan() {
      Case c = new Case(fleet, placed, rules, CostTerms.DEFAULT);
      Plan.Builder b = c.plan();
      Set<String> gone = new HashSet<>();
      for (SliceRequest request : evicted) {
        gone.add(request.id());
        b.eviction(new Eviction(request.id(), fleet.runningOf(request.id())));
      }
      for (RunningSlice slice : fleet.running()) {
        if (!gone.contains(slice.id().request())) {
          RunningSlice to = target.running(slice.id()).orElseThrow();
          if (!to.pod().equals(slice.pod()) || !to.footprint().equals(slice.footprint())) {
            b.move(new Move(slice, placement(to)));
          }
        }
      }
      for (SliceRequest request : placed) {
        b.placement(
            new RequestPlacement(
                request, target.runningOf(request.id()).stream().map(this::placement).toList(), 0));
      }
      return b.build();
    }

    private Placement placement(RunningSlice slice) {
      return new Placement(
          slice.id(),
          slice.pod(),
          fleet.pod(slice.pod()).orElseThrow().topology(),
          slice.shape(),
          slice.footprint(),
          slice.twist());
    }
  }
}
