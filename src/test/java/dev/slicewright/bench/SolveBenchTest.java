package dev.slicewright.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Pod;
import dev.slicewright.formulation.ortools.CpSatFormulation;
import dev.slicewright.plan.Level;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The problems and engines of the solve bench. */
class SolveBenchTest {

  private static final Map<String, BenchProblem> MADE = new HashMap<>();

  static Stream<String> families() {
    return Families.names().stream();
  }

  /** Problems of the thousand blocks take seconds to make, so none is made without need. */
  private static BenchProblem problem(String family, long seed) {
    return MADE.computeIfAbsent(family + seed, k -> Families.problem(family, seed));
  }

  @ParameterizedTest
  @MethodSource("families")
  void aSeedGivesOneProblemAndAnotherSeedAnother(String family) {
    BenchProblem one = problem(family, 3);
    assertThat(one.family()).isEqualTo(family);
    assertThat(one.seed()).isEqualTo(3);
    // Those that take long to make are made by the same code as others.
    if (family.equals("fleet-1000") || family.matches("torus-[CS]-[17]0")) {
      return;
    }
    BenchProblem again = Families.problem(family, 3);
    assertThat(again.fleet()).isEqualTo(one.fleet());
    assertThat(again).isEqualTo(one);
    BenchProblem other = problem(family, -4);
    assertThat(other.requests()).isNotEqualTo(one.requests());
    assertThat(other.requests()).isNotEmpty();
  }

  @ParameterizedTest
  @MethodSource("families")
  void everyRequestIsNamedOnceAndFormable(String family) {
    BenchProblem p = problem(family, 3);
    Set<String> ids = new HashSet<>();
    for (SliceRequest request : p.requests()) {
      assertThat(ids.add(request.id())).isTrue();
      assertThat(p.fleet().runningOf(request.id())).isEmpty();
      assertThat(p.fleet().pods()).anyMatch(pod -> pod.topology().isLegal(request.shapes().get(0)));
    }
    assertThat(Judge.levels(p))
        .allMatch(level -> level.kind().maximise() || level.kind() == Level.Kind.DISRUPTION);
  }

  @Test
  void tablesOfSizes() {
    Map<String, long[]> sizes =
        Map.of(
            "ocs-v5p", new long[] {8_960, 200},
            "block-7x", new long[] {9_216, 120},
            "nested-v6e", new long[] {16_384, 500},
            "boxes-v6e", new long[] {4_096, 200},
            "torus-F-10", new long[] {8_960, 100},
            "torus-C-40", new long[] {8_960, 100},
            "torus-S-70", new long[] {8_960, 100},
            "fleet-1000", new long[] {9_216_000, 1_000});
    sizes.forEach(
        (family, size) -> {
          BenchProblem p = problem(family, 3);
          assertThat(p.chips()).as(family).isEqualTo(size[0]);
          assertThat(p.requests()).as(family).hasSize((int) size[1]);
        });
    assertThat(problem("odd", 3).chips()).isEqualTo(24 * 24 * 24);
    assertThat(problem("odd", -4).chips()).isEqualTo(30 * 17 * 13);
    assertThat(problem("torus-faults", 3).chips()).isEqualTo(4_096);
  }

  @Test
  void churnedToriAreAsBusyAsTheySay() {
    for (String family : Families.named("torus-F,torus-C,torus-S")) {
      double load = Integer.parseInt(family.substring(8)) / 100.0;
      BenchProblem p = problem(family, 3);
      // One slice of at most 1,024 chips more, or the least that a removal leaves.
      assertThat(busy(p)).as(family).isCloseTo(load * p.chips(), within(1_024.0));
    }
  }

  private static double busy(BenchProblem p) {
    return p.fleet().running().stream().mapToLong(s -> s.shape().chips()).sum();
  }

  @Test
  void cubesAreAsBusyAsTheySay() {
    assertThat(busyCubes(problem("ocs-v5p", 3))).isEqualTo(84);
    assertThat(busyCubes(problem("block-7x", 3))).isEqualTo(86);
    BenchProblem thousand = problem("fleet-1000", 3);
    assertThat(busyCubes(thousand)).isBetween(121_000, 122_000);
    assertThat(thousand.rules().quotas()).hasSize(20);
    assertThat(thousand.requests()).anyMatch(r -> r.priority() == 1);
    assertThat(thousand.requests()).anyMatch(r -> r.priority() == 0);
  }

  private static int busyCubes(BenchProblem p) {
    int sum = 0;
    for (Pod pod : p.fleet().pods()) {
      BitSet busy = new BitSet();
      for (int cell : pod.busy().toArray()) {
        busy.set(cell / pod.topology().hostsPerCube());
      }
      sum += busy.cardinality();
    }
    return sum;
  }

  @Test
  void gangsOfTheBlockHaveTwoToFourSlices() {
    Map<String, Integer> slices = new HashMap<>();
    for (SliceRequest request : problem("block-7x", 3).requests()) {
      slices.merge(request.gang().orElse(request.id()), request.slices(), Integer::sum);
    }
    assertThat(slices.values()).allMatch(n -> n >= 2 && n <= 4);
    assertThat(problem("block-7x", 3).fleet().pods())
        .allMatch(pod -> pod.reportedHealth().size() == 12 + 69);
  }

  @Test
  void faultsAndDemandAreAsStated() {
    for (long seed : new long[] {3, -4}) {
      BenchProblem p = problem("torus-faults", seed);
      assertThat(p.fleet().pods().iterator().next().reportedHealth()).hasSize(30);
      double live = 4_096 - 20 * 4;
      double share = seed == 3 ? 1 : 2;
      assertThat((double) p.demand()).isBetween(share * live, share * live + 1_024);
    }
    assertThat((double) problem("torus-0", 3).demand()).isBetween(1.1 * 8_960, 1.1 * 8_960 + 1_024);
  }

  @Test
  void tightProblemsAskForEveryChipAndNoMore() {
    for (long seed : new long[] {3, -4}) {
      assertThat(problem("tight", seed).demand()).isEqualTo(8_960);
      assertThat(problem("tight", seed).requests().size()).isBetween(20, 400);
    }
  }

  @Test
  void publishedInstancesAreReadWhole() {
    assertThat(OppFamily.count()).isEqualTo(41);
    BenchProblem first = problem("mesh-opp", 1);
    assertThat(OppFamily.name(1)).isEqualTo("E00N10");
    assertThat(first.feasible()).contains(false);
    assertThat(first.chips()).isEqualTo(400);
    assertThat(first.requests()).hasSize(10);
    assertThat(first.requests().get(9).shapes()).containsExactly(Shape.of(17, 6));
    assertThat(first.requests()).allMatch(r -> !r.mayTurn() && r.gang().isPresent());
    assertThat(problem("mesh-opp", 42).requests()).isEqualTo(first.requests());
  }

  @Test
  void sumsOverBoxesAgreeWithCounting() {
    BenchProblem p = problem("torus-C-40", 3);
    Pod pod = p.fleet().pods().iterator().next();
    BitSet busy = new BitSet();
    for (int cell : pod.busy().toArray()) {
      busy.set(cell);
    }
    BoxSums sums = new BoxSums(pod.topology(), busy);
    Shape grid = pod.topology().cellGrid();
    for (int cell = 0; cell < pod.topology().cellCount(); cell += 37) {
      Footprint.Box box = new Footprint.Box(pod.topology().originOfCell(cell), Shape.of(4, 6, 9));
      int count = 0;
      for (int c : pod.topology().cells(box)) {
        count += busy.get(c) ? 1 : 0;
      }
      int x = cell % grid.x();
      int y = cell / grid.x() % grid.y();
      int z = cell / grid.x() / grid.y();
      assertThat(sums.isInside(x, y, z, 2, 3, 9)).isTrue();
      assertThat(sums.busyIn(x, y, z, 2, 3, 9)).isEqualTo(count);
      assertThat(sums.exposed(x, y, z, 2, 3, 9, Integer.MAX_VALUE))
          .isEqualTo(exposed(pod, busy, box));
    }
  }

  private static int exposed(Pod pod, BitSet busy, Footprint.Box box) {
    Set<Integer> own = new HashSet<>();
    for (int c : pod.topology().cells(box)) {
      own.add(c);
    }
    Shape grid = pod.topology().cellGrid();
    int free = 0;
    for (int c : own) {
      int x = c % grid.x();
      int y = c / grid.x() % grid.y();
      int z = c / grid.x() / grid.y();
      int[][] around = {
        {x + 1, y, z}, {x - 1, y, z}, {x, y + 1, z}, {x, y - 1, z}, {x, y, z + 1}, {x, y, z - 1}
      };
      for (int[] at : around) {
        int next =
            Math.floorMod(at[0], grid.x())
                + grid.x()
                    * (Math.floorMod(at[1], grid.y()) + grid.y() * Math.floorMod(at[2], grid.z()));
        free += own.contains(next) || busy.get(next) ? 0 : 1;
      }
    }
    return free;
  }

  @Test
  void namesResolveAndUnknownOnesSayWhatThereIs() {
    assertThat(Families.named("all")).isEqualTo(Families.names());
    assertThat(Families.named("torus-F")).hasSize(3);
    for (String name : Engines.names()) {
      List<Engine> found = Engines.named(name);
      assertThat(found).hasSize(1);
      assertThat(found.get(0).name()).isEqualTo(name);
    }
    assertThat(Engines.names()).contains("slicewright", "cp-sat", "first-fit");
    assertThatThrownBy(() -> SolveOptions.of("--family", "nonesuch"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("torus-F-10")
        .hasMessageContaining("nonesuch");
    assertThatThrownBy(() -> SolveOptions.of("--engines", "nonesuch"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("first-fit");
    assertThatThrownBy(() -> SolveOptions.of("--seeds", "5..x"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("--seeds");
    SolveOptions options =
        SolveOptions.of("--family", "odd,tight", "--seeds", "3..7", "--limit-ms", "200");
    assertThat(options.families()).containsExactly("odd", "tight");
    assertThat(options.lastSeed()).isEqualTo(7);
    assertThat(options.limits().millis()).isEqualTo(200);
  }

  @Test
  void anEnginesPlacementsAreVerifiedAndScored() {
    for (String family : List.of("ocs-v5p", "block-7x", "torus-F-40", "torus-faults")) {
      BenchProblem p = problem(family, 3);
      Engine engine = Engines.named("first-fit").get(0);
      Outcome outcome = engine.solve(p, SolveOptions.of("--limit-ms", "20000").limits());
      Row row = Judge.judge(p, engine.name(), 20_000, outcome);
      assertThat(row.verified()).as(family).isTrue();
      assertThat(row.placedChips()).as(family).isPositive();
      assertThat(row.gap()).as(family).isNull();
      assertThat(row.csv().split(",", -1)).hasSameSizeAs(Row.HEADER.split(","));
    }
  }

  /** Small enough for everybody. */
  @Test
  void enginesAgreeOnSmallProblems() {
    Fleet torus = Fleet.builder().pod("t", TpuTopology.torus(4, 4, 4)).build();
    // Four columns of four hosts; three hosts in a row leave a column one host.
    List<SliceRequest> boxes =
        List.of(
            want("a", "2x2x3").build(),
            want("b", "2x2x3").build(),
            want("c", "2x2x3").build(),
            want("d", "2x2x2").build(),
            want("e", "2x2x2").gang("g").build(),
            want("f", "2x2x2").gang("g").build(),
            want("h", "4x2x1").build());
    // a, b and c; e and f fill the last column; h takes two of the three hosts left over.
    agree(new BenchProblem("small", 1, torus, boxes), 3 * 12 + 2 * 8 + 8);
    Fleet cubes =
        Fleet.builder().pod("c", TpuTopology.builder(AcceleratorType.V4).cubes(4).build()).build();
    List<SliceRequest> slices =
        List.of(
            want("a", "4x4x8").build(),
            want("b", "4x4x4").slices(3).build(),
            want("c", "2x2x1").build(),
            want("d", "2x2x2").slices(3).build());
    // b takes three cubes, c and d share the last.
    agree(new BenchProblem("small", 2, cubes, slices), 3 * 64 + 4 + 3 * 8);
  }

  private static SliceRequest.Builder want(String id, String shape) {
    return SliceRequest.builder(id).shape(shape);
  }

  private static void agree(BenchProblem p, long optimum) {
    CpSatFormulation.availability();
    for (Engine engine : Engines.named("cp-sat,scip,sat,first-fit,cp-sat-plain,choco")) {
      check(p, engine, 20_000, optimum);
    }
    // These may use all the time they have.
    for (Engine engine : Engines.named("slicewright,timefold")) {
      check(p, engine, 300, optimum);
    }
  }

  private static void check(BenchProblem p, Engine engine, long millis, long optimum) {
    if (engine.whyNot(p).isPresent()) {
      return;
    }
    Engine.Limits limits = new Engine.Limits(millis, 2, SolveBudget.Mode.FAST);
    Row row = Judge.judge(p, engine.name(), millis, engine.solve(p, limits));
    assertThat(row.verified()).as(engine.name()).isTrue();
    assertThat(row.placedChips()).as(engine.name()).isLessThanOrEqualTo(optimum);
    // Whoever claims an optimum claims the same one; whether there was time to is not the question.
    if (row.isProved()) {
      assertThat(row.placedChips()).as(engine.name()).isEqualTo(optimum);
    }
  }

  @Test
  void theSummaryCountsLossesAndProofs() {
    Summary summary = new Summary();
    summary.add(row(1, "slicewright", 10, 10L, 5));
    summary.add(row(1, "first-fit", 10, null, 1));
    summary.add(row(2, "slicewright", 8, 10L, 1_000));
    summary.add(row(2, "first-fit", 9, null, 1));
    assertThat(summary.lines())
        .anySatisfy(
            line ->
                assertThat(line)
                    .startsWith("x slicewright: 2 instances, proved optimal 50.0 %")
                    .contains("gap median 0.000 % worst 20.000 %"))
        .anySatisfy(
            line ->
                assertThat(line)
                    .startsWith("x slicewright against first-fit: 2 compared")
                    .contains("ours/theirs 0.8889", "not lower on 50.0 %", "sooner on 50.0 %")
                    .contains("losses 1: x seed 2 (8 < 9)"));
  }

  private static Row row(long seed, String engine, long value, Long bound, double millis) {
    return new Row(
        "x",
        seed,
        64,
        3,
        engine,
        1_000,
        millis,
        "DONE",
        value,
        new long[] {value},
        new Long[] {bound},
        bound == null ? null : (bound - value) / (double) bound,
        true,
        Row.Proofs.NONE,
        null);
  }
}
