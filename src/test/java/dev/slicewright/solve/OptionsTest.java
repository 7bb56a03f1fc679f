package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Reason;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.Options.Leaves;
import dev.slicewright.solve.Options.Option;
import dev.slicewright.testing.RandomFleets;
import dev.slicewright.testing.RandomFleets.Instance;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class OptionsTest {

  private static final SolveBudget AMPLE = SolveBudget.within(Duration.ofSeconds(20));
  private static final int SEEDS = 30;

  static SlicePlanner planner(Instance i) {
    return SlicePlanner.builder()
        .formulations(List.of())
        .cost(i.cost())
        .failOnRejectedPlan(true)
        .build();
  }

  /** The first request of a problem, alone and pinned to what runs. */
  static Instance alone(Instance i, boolean single) {
    SliceRequest.Builder b = i.requests().get(0).toBuilder().gang("");
    if (single) {
      b.slices(1);
    }
    PlanningRules.Builder rules = i.rules().toBuilder().permitByDefault(Permission.PINNED);
    i.rules().permissions().keySet().forEach(id -> rules.permit(id, Permission.PINNED));
    return new Instance(
        i.seed(), i.limits(), i.fleet(), List.of(b.build()), rules.build(), i.cost());
  }

  @ParameterizedTest
  @EnumSource(RandomFleets.Kind.class)
  void optionsAreTheBestOfAllPlaces(RandomFleets.Kind kind) {
    int found = 0;
    int seeds = kind == RandomFleets.Kind.OPTICAL_BOXES ? SEEDS / 3 : SEEDS; // many places each
    for (long seed = 1; seed <= seeds; seed++) {
      Instance i = alone(TinyProblems.of(seed, EnumSet.of(kind)), true);
      try {
        found += compare(i, (int) (seed % 5 == 0 ? 500 : 1 + seed % 7));
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError(kind + ", seed " + seed + "\n" + i, e);
      }
    }
    assertThat(found).isGreaterThanOrEqualTo(seeds / 2);
  }

  private static int compare(Instance i, int k) {
    SliceRequest request = i.requests().get(0);
    Options options = planner(i).options(i.fleet(), request, k, i.rules(), AMPLE);
    List<List<Long>> expected = enumerate(i);
    assertThat(options.unplaced().isPresent()).isEqualTo(expected.isEmpty());
    assertThat(options.complete()).isTrue();
    List<List<Long>> got = new ArrayList<>();
    Set<Set<List<Object>>> chips = new HashSet<>();
    for (Option option : options.options()) {
      assertThat(PlanVerifier.verify(i.fleet(), i.requests(), i.rules(), i.cost(), option.plan()))
          .isEmpty();
      Fleet after = option.plan().applyTo(i.fleet());
      assertThat(after.runningOf(request.id())).hasSize(1);
      RunningSlice slice = after.runningOf(request.id()).get(0);
      Pod pod = after.pod(slice.pod()).orElseThrow();
      assertThat(chips.add(cellsOf(pod, slice.footprint()))).isTrue();
      Leaves leaves = option.leaves().get(0);
      assertThat(leaves.pod()).isEqualTo(slice.pod());
      assertThat(leaves.freeChips()).isEqualTo(free(pod, i));
      got.add(key(i, request, pod.id(), slice.shape(), option));
      long first =
          option.levels().stream()
              .mapToLong(d -> d.worse())
              .filter(w -> w != 0)
              .findFirst()
              .orElse(0);
      assertThat(first).isGreaterThanOrEqualTo(0);
    }
    assertThat(got).isEqualTo(expected.subList(0, Math.min(k, expected.size())));
    return got.size();
  }

  private static Set<List<Object>> cellsOf(Pod pod, Footprint footprint) {
    Set<List<Object>> out = new HashSet<>();
    Arrays.stream(pod.topology().cells(footprint)).forEach(c -> out.add(List.of(pod.id(), c)));
    return out;
  }

  /** The order of an option, from the option's own footprint and the fleet alone. */
  private static List<Long> key(
      Instance i, SliceRequest request, String pod, Shape shape, Option option) {
    return keyOf(i, request, pod, shape, option.placement().slices().get(0).footprint());
  }

  /** Every distinct place, in order, by hand. */
  private static List<List<Long>> enumerate(Instance i) {
    SliceRequest request = i.requests().get(0);
    List<List<Long>> all = new ArrayList<>();
    Map<List<Object>, List<Long>> alike = new HashMap<>();
    for (Pod pod : i.fleet().pods()) {
      TpuTopology t = pod.topology();
      List<Shape> shapes =
          request.shapes().isEmpty() ? t.shapesFor(request.chips()) : request.shapes();
      for (Shape shape : shapes) {
        if (!t.isLegal(shape)
            || request.interconnect() == Interconnect.TWISTED && t.twist(shape).isEmpty()) {
          continue;
        }
        boolean possible =
            request.pod().map(pod.id()::equals).orElse(true)
                && PlannerBruteForce.fitsAlone(
                    new Instance(
                        i.seed(),
                        i.limits(),
                        i.fleet(),
                        List.of(request.toBuilder().pod(pod.id()).shapes(List.of(shape)).build()),
                        i.rules(),
                        i.cost()),
                    request.id(),
                    1_000_000);
        if (!possible) {
          continue;
        }
        Set<Set<List<Object>>> seen = new HashSet<>();
        for (Footprint f : RandomFleets.footprints(t, shape)) {
          if (!isFree(i, pod, request, shape, f) || !seen.add(cellsOf(pod, f))) {
            continue;
          }
          List<Long> key = keyOf(i, request, pod.id(), shape, f);
          if (t.isOptical()) {
            int n = key.size();
            long degraded = key.get(n - 1);
            List<Object> kind =
                List.of(
                    pod.id(),
                    request.mayTurn() ? shape.sorted() : shape,
                    key.get(n - 3),
                    f instanceof Footprint.Cubes ? degraded : Math.min(1, degraded));
            alike.merge(kind, key, (a, b) -> order(a, b) <= 0 ? a : b);
          } else {
            all.add(key);
          }
        }
      }
    }
    all.addAll(alike.values());
    all.sort(OptionsTest::order);
    return all;
  }

  private static int order(List<Long> a, List<Long> b) {
    for (int x = 0; x < a.size(); x++) {
      int c = Long.compare(a.get(x), b.get(x));
      if (c != 0) {
        return c;
      }
    }
    return 0;
  }

  private static Fleet bare(Instance i, SliceRequest request) {
    Fleet fleet = i.fleet();
    for (Hold hold : fleet.holdsOf(request.id())) {
      fleet = fleet.dropHold(hold.id());
    }
    return fleet;
  }

  private static List<Long> keyOf(
      Instance i, SliceRequest request, String podId, Shape shape, Footprint f) {
    Fleet before = bare(i, request);
    Pod pod = before.pod(podId).orElseThrow();
    TpuTopology t = pod.topology();
    Fleet dropped = before.dropExpiredHolds(i.rules().now());
    Pod after =
        dropped
            .place(RunningSlice.builder(request, 0, podId, shape, f).build())
            .pod(podId)
            .orElseThrow();
    List<Shape> shapes =
        request.shapes().isEmpty()
            ? dev.slicewright.cost.Collectives.shapesByAllToAll(t, request.chips())
            : request.shapes();
    int rank = 0;
    while (!(request.mayTurn()
        ? shapes.get(rank).sorted().equals(shape.sorted())
        : shapes.get(rank).equals(shape))) {
      rank++;
    }
    long counted =
        Math.min(
            shape.chips(),
            request.shapes().isEmpty() ? request.chips() : request.shapes().get(0).chips());
    List<Long> key = new ArrayList<>();
    key.add(-counted);
    key.add(i.cost().shapeRank() && request.shapes().size() != 1 ? shape.chips() * rank : 0);
    key.add(
        i.cost().hasPrices()
            ? shape.chips() * i.cost().pricePerChipHourMicros(podId, t.accelerator().name())
            : 0);
    long outside = 0;
    List<Hold> own =
        i.fleet().holdsOf(request.id()).stream().filter(h -> h.isLive(i.rules().now())).toList();
    if (!own.isEmpty()) {
      Set<Integer> cells = new TreeSet<>();
      Arrays.stream(t.cells(f)).forEach(cells::add);
      for (Hold hold : own) {
        if (hold.pod().equals(podId)) {
          Arrays.stream(t.cells(hold.footprint())).forEach(cells::remove);
        }
      }
      outside = cells.size();
    }
    key.add(outside);
    key.add(largest(i, pod) - largest(i, after));
    int cubes = t.cubesOf(shape);
    key.add(t.isOptical() ? wholeCubes(i, pod) - wholeCubes(i, after) - cubes : 0L);
    key.add(alike(i, pod, request, shape, cubes) - alike(i, after, request, shape, cubes));
    long degraded = 0;
    if (pod.healthOf(f) == Health.DEGRADED) {
      degraded =
          cubes > 0
              ? ((Footprint.Cubes) f)
                  .cubes().stream()
                      .filter(c -> pod.healthOf(new Footprint.Cubes(List.of(c))) == Health.DEGRADED)
                      .count()
              : Math.max(1, pod.health().degradedCells().countOf(t.cells(f)));
    }
    key.add(degraded);
    return key;
  }

  private static long wholeCubes(Instance i, Pod pod) {
    SliceRequest any = SliceRequest.builder("probe").shape("4x4x4").build();
    long n = 0;
    for (int c = 0; c < pod.topology().cubeCount(); c++) {
      Footprint cube = new Footprint.Cubes(List.of(new CubeId(c)));
      n += isFree(i, pod, any, Shape.of(4, 4, 4), cube) ? 1 : 0;
    }
    return n;
  }

  private static long alike(Instance i, Pod pod, SliceRequest request, Shape shape, int cubes) {
    if (cubes == 0) {
      Set<Set<List<Object>>> seen = new HashSet<>();
      for (Footprint f : RandomFleets.footprints(pod.topology(), shape)) {
        if (isFree(i, pod, request, shape, f)) {
          seen.add(cellsOf(pod, f));
        }
      }
      return seen.size();
    }
    long n = 0;
    for (int c = 0; c < pod.topology().cubeCount(); c++) {
      Footprint cube = new Footprint.Cubes(List.of(new CubeId(c)));
      SliceRequest plain = request.toBuilder().interconnect(Interconnect.ANY).build();
      n += isFree(i, pod, plain, Shape.of(4, 4, 4), cube) ? 1 : 0;
    }
    return n / cubes;
  }

  private static long largest(Instance i, Pod pod) {
    SliceRequest any = SliceRequest.builder("probe").shape("4x4x4").build();
    long most = 0;
    for (Shape shape : pod.topology().legalShapes()) {
      if (shape.chips() > most) {
        for (Footprint f : RandomFleets.footprints(pod.topology(), shape)) {
          if (isFree(i, pod, any, shape, f)) {
            most = shape.chips();
            break;
          }
        }
      }
    }
    return most;
  }

  private static long free(Pod pod, Instance i) {
    TpuTopology t = pod.topology();
    long n = 0;
    for (int cell = 0; cell < t.cellCount(); cell++) {
      boolean blocked =
          pod.busy().contains(cell)
              || pod.cordonedCells().contains(cell)
              || pod.health().failedCells().contains(cell);
      for (Hold hold : pod.holds()) {
        int at = cell;
        blocked |=
            hold.isLive(i.rules().now())
                && Arrays.stream(t.cells(hold.footprint())).anyMatch(c -> c == at);
      }
      n += blocked ? 0 : t.chipsPerCell();
    }
    return n;
  }

  private static boolean isFree(
      Instance i, Pod pod, SliceRequest request, Shape shape, Footprint f) {
    TpuTopology t = pod.topology();
    int[] cells = t.cells(f);
    if (pod.busy().containsAny(cells) || pod.cordonedCells().containsAny(cells)) {
      return false;
    }
    Health health = pod.healthOf(f);
    if (health == Health.FAILED || health == Health.DEGRADED && request.healthyOnly()) {
      return false;
    }
    for (Hold hold : pod.holds()) {
      if (hold.isLive(i.rules().now()) && !hold.request().equals(request.id())) {
        for (int cell : t.cells(hold.footprint())) {
          if (Arrays.stream(cells).anyMatch(c -> c == cell)) {
            return false;
          }
        }
      }
    }
    if (request.interconnect() != Interconnect.ANY && !t.isTorus(shape, f)) {
      return false;
    }
    return request.mayTurn() || !isTurned(t, shape, f);
  }

  private static boolean isTurned(TpuTopology t, Shape shape, Footprint f) {
    @Nullable Footprint box =
        f instanceof Footprint.Partition p
            ? t.partitions().orElseThrow().box(p.id()).orElse(null)
            : f;
    return t.coordinatesKnown() && box instanceof Footprint.Box at && !at.extents().equals(shape);
  }

  @ParameterizedTest
  @EnumSource(RandomFleets.Kind.class)
  void severalSlicesGoToDistinctSetsOfPods(RandomFleets.Kind kind) {
    for (long seed = 1; seed <= SEEDS; seed++) {
      Instance i = alone(TinyProblems.of(seed, EnumSet.of(kind)), false);
      SliceRequest request = i.requests().get(0).toBuilder().slices(2).build();
      List<SliceRequest> batch = List.of(request);
      Instance two = new Instance(i.seed(), i.limits(), i.fleet(), batch, i.rules(), i.cost());
      Options options = planner(two).options(i.fleet(), request, 5, i.rules(), AMPLE);
      boolean fits = PlannerBruteForce.fitsAlone(two, request.id(), 10_000_000);
      assertThat(options.options().isEmpty()).as("%s %s", kind, seed).isEqualTo(!fits);
      Set<Set<Object>> sets = new HashSet<>();
      for (Option option : options.options()) {
        assertThat(PlanVerifier.verify(i.fleet(), batch, i.rules(), i.cost(), option.plan()))
            .isEmpty();
        Set<Object> set = new HashSet<>();
        option.placement().slices().forEach(s -> set.add(s.pod()));
        assertThat(option.leaves()).hasSize(set.size());
        set.add(option.placement().slices().get(0).shape());
        assertThat(sets.add(set)).isTrue();
      }
    }
  }

  @Test
  void cubesThatAreAlikeAreOneOption() {
    Fleet fleet = Fleet.builder().pod("a", TpuTopology.v4()).pod("b", TpuTopology.v4()).build();
    SliceRequest small = SliceRequest.builder("small").shape("2x2x2").build();
    fleet = SlicePlanner.create().plan(fleet, List.of(small), AMPLE).applyTo(fleet);
    SliceRequest next = SliceRequest.builder("next").shape("2x2x2").build();
    Options options = SlicePlanner.create().options(fleet, next, 10, PlanningRules.NONE, AMPLE);
    assertThat(options.options()).hasSize(3); // beside the other; in a new cube of either pod
    assertThat(options.options().get(0).leaves().get(0).brokenUp()).isZero();
    assertThat(options.options().get(1).leaves().get(0).brokenUp()).isEqualTo(1);
    SliceRequest large = SliceRequest.builder("large").shape("8x8x8").build();
    options = SlicePlanner.create().options(fleet, large, 10, PlanningRules.NONE, AMPLE);
    assertThat(options.options()).hasSize(2);
    assertThat(options.sentence()).contains("2 distinct places");
  }

  @Test
  void whereOnlyEvictionHelpsThePlannersPlanIsTheOption() {
    Fleet fleet = Fleet.builder().pod("p", TpuTopology.torus(4, 4)).build();
    SliceRequest low = SliceRequest.builder("low").shape("4x4").build();
    SliceRequest top = SliceRequest.builder("top").shape("4x4").priority(9).build();
    fleet = SlicePlanner.create().plan(fleet, List.of(low), AMPLE).applyTo(fleet);
    PlanningRules rules = PlanningRules.builder().permitByDefault(Permission.EVICTABLE).build();
    Options options = SlicePlanner.create().options(fleet, top, 3, rules, AMPLE);
    assertThat(options.options()).hasSize(1);
    assertThat(options.complete()).isFalse();
    assertThat(options.options().get(0).plan().evictions()).hasSize(1);
    options = SlicePlanner.create().options(fleet, top, 3, PlanningRules.NONE, AMPLE);
    assertThat(options.best()).isEmpty();
    assertThat(options.unplaced().orElseThrow().reason()).isEqualTo(Reason.NOT_ENOUGH_FREE);
  }

  @Test
  void badInputIsTyped() {
    Fleet fleet = Fleet.builder().pod("p", TpuTopology.torus(4, 4)).build();
    SlicePlanner planner = SlicePlanner.create();
    SliceRequest request = SliceRequest.builder("r").shape("2x2").build();
    for (int k : new int[] {0, -1, Options.MAX + 1}) {
      assertThatThrownBy(() -> planner.options(fleet, request, k, PlanningRules.NONE, AMPLE))
          .isInstanceOf(InvalidInputException.class)
          .hasMessageContaining("expected 1 to 1000 options");
    }
    SliceRequest elsewhere = request.toBuilder().pod("nowhere").build();
    Options none = planner.options(fleet, elsewhere, 1, PlanningRules.NONE, AMPLE);
    assertThat(none.unplaced().orElseThrow().reason()).isEqualTo(Reason.NO_POD_MATCHES);
  }

  @Test
  void littleTimeGivesHonestParts() {
    Fleet.Builder b = Fleet.builder();
    for (int p = 0; p < 20; p++) {
      b.pod("p" + p, TpuTopology.torus(16, 16, 16));
    }
    Fleet fleet = b.build().failHost("p3", new HostId(5));
    SliceRequest request = SliceRequest.builder("r").shape("4x4x8").build();
    Options options =
        SlicePlanner.create()
            .options(
                fleet, request, 5, PlanningRules.NONE, SolveBudget.within(Duration.ofMillis(1)));
    assertThat(options.complete()).isFalse();
    assertThat(options.options().isEmpty()).isEqualTo(options.unplaced().isPresent());
  }
}
