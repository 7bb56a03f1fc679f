package dev.slicewright.plan;

import static dev.slicewright.plan.Case.all;
import static dev.slicewright.plan.Case.box;
import static dev.slicewright.plan.Case.cubes;
import static dev.slicewright.plan.Case.partition;
import static dev.slicewright.plan.Case.running;
import static dev.slicewright.plan.Case.unplaced;
import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.SliceId;
import dev.slicewright.cost.Collectives;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
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
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import dev.slicewright.topology.Twist;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Each rule is broken in turn, and the verifier has to name it. */
class PlanVerifierTest {

  private static final TpuTopology TORUS = TpuTopology.torus(8, 8, 4);
  private static final TpuTopology V5E = TpuTopology.v5e();
  private static final TpuTopology OPTICAL =
      TpuTopology.builder(AcceleratorType.V5P).cubes(8).build();
  private static final Instant NOW = Instant.parse("2026-01-01T00:00:00Z");

  private static SliceRequest.Builder want(String id, String... shapes) {
    SliceRequest.Builder b = SliceRequest.builder(id);
    for (String shape : shapes) {
      b.shape(shape);
    }
    return b;
  }

  private static Fleet fleet(TpuTopology... topologies) {
    Fleet.Builder b = Fleet.builder();
    for (int i = 0; i < topologies.length; i++) {
      b.pod("p" + i, topologies[i], Map.of("zone", "z" + i / 2, "n", "" + i));
    }
    return b.build();
  }

  // ---------------------------------------------------------------- one slice on each slicing

  @Test
  void acceptsABoxAndNamesWhatIsWrongWithIt() {
    SliceRequest a = want("a", "4x4x4").build();
    SliceRequest b = want("b", "4x8x2").build();
    Case c = Case.of(fleet(TORUS), a, b);
    RequestPlacement pa = c.one(a, "p0", "4x4x4", box("4x4x4", 6, 0, 0));
    RequestPlacement pb = c.one(b, "p0", "4x8x2", box("4x8x2", 2, 0, 0));
    Plan good = c.plan().placement(pa).placement(pb).score(c.score(128)).build();
    c.accepts(good);

    c.rejects(
        c.plan().placement(pa).placement(c.one(b, "p0", "4x8x2", box("4x8x2", 4, 0, 0))).build(),
        "placements[1].slices[0].footprint",
        "another slice has");
    c.rejects(
        c.plan().placement(pa).placement(c.one(b, "p0", "4x8x2", box("4x8x2", 3, 0, 0))).build(),
        "placements[1].slices[0].footprint",
        "host boundaries");
    c.rejects(
        c.plan().placement(pa).placement(c.one(b, "p0", "4x8x2", cubes(0))).build(),
        "placements[1].slices[0].footprint",
        "cubes");
    c.rejects(
        c.plan().placement(pa).placement(c.one(b, "p0", "4x4x2", box("4x4x2", 2, 0, 0))).build(),
        "placements[1].slices[0].shape",
        "not a shape that b asks for");
    c.rejects(
        c.plan()
            .placement(pa)
            .placement(
                all(
                    b,
                    0,
                    new Placement(
                        new SliceId("b", 0),
                        "gone",
                        TORUS,
                        Shape.parse("4x8x2"),
                        box("4x8x2", 2, 0, 0),
                        Twist.NONE)))
            .build(),
        "placements[1].slices[0].pod",
        "no pod gone");
    c.rejects(
        c.plan()
            .placement(pa)
            .placement(
                all(
                    b,
                    0,
                    new Placement(
                        new SliceId("b", 0),
                        "p0",
                        TpuTopology.torus(8, 8, 8),
                        Shape.parse("4x8x2"),
                        box("4x8x2", 2, 0, 0),
                        Twist.NONE)))
            .build(),
        "placements[1].slices[0].topology",
        "not that of pod p0");
    c.rejects(
        c.plan()
            .placement(pa)
            .placement(all(b, 0, c.slice(b, 1, "p0", "4x8x2", box("4x8x2", 2, 0, 0))))
            .build(),
        "placements[1].slices[0].id",
        "expected b/0");
  }

  @Test
  void acceptsPartitionsAndNamesWhatIsWrongWithThem() {
    SliceRequest a = want("a", "8x8").build();
    SliceRequest b = want("b", "4x4").build();
    Case c = Case.of(fleet(V5E), a, b);
    RequestPlacement pa = c.one(a, "p0", "8x8", partition(V5E, "8x8", 0));
    Plan good =
        c.plan()
            .placement(pa)
            .placement(c.one(b, "p0", "4x4", partition(V5E, "4x4", 4)))
            .score(c.score(80))
            .build();
    c.accepts(good);
    c.rejects(
        c.plan().placement(pa).placement(c.one(b, "p0", "4x4", partition(V5E, "4x4", 0))).build(),
        "placements[1].slices[0].footprint",
        "another slice has");
    c.rejects(
        c.plan().placement(pa).placement(c.one(b, "p0", "4x4", partition(V5E, "4x8", 2))).build(),
        "placements[1].slices[0].footprint",
        "Partition");
    c.rejects(
        c.plan().placement(pa).placement(c.one(b, "p0", "4x4", box("4x4", 8, 8))).build(),
        "placements[1].slices[0].footprint",
        "partitions, not boxes");
  }

  @Test
  void acceptsCubesAndNamesWhatIsWrongWithThem() {
    SliceRequest a = want("a", "4x8x8").build();
    SliceRequest b = want("b", "2x2x4").build();
    Case c = Case.of(fleet(OPTICAL), a, b);
    RequestPlacement pa = c.one(a, "p0", "4x8x8", cubes(7, 1, 3, 5));
    Footprint inCube2 = partition(OPTICAL, "2x2x4", 2 * 4);
    Plan good =
        c.plan()
            .placement(pa)
            .placement(c.one(b, "p0", "2x2x4", inCube2))
            .score(c.score(256 + 16))
            .build();
    c.accepts(good);
    c.rejects(
        c.plan()
            .placement(c.one(a, "p0", "4x8x8", cubes(7, 1, 2, 5)))
            .placement(c.one(b, "p0", "2x2x4", inCube2))
            .build(),
        "placements[1].slices[0].footprint",
        "another slice has");
    c.rejects(
        c.plan()
            .placement(c.one(a, "p0", "4x8x8", cubes(7, 1, 1, 5)))
            .placement(c.one(b, "p0", "2x2x4", inCube2))
            .build(),
        "placements[0].slices[0].footprint",
        "twice");
  }

  // ---------------------------------------------------------------- which pod, which way round

  @Test
  void namesAccelerators() {
    SliceRequest a = want("a", "4x4x4").accelerators("v5p").build();
    Case c = Case.of(fleet(TORUS, OPTICAL), a);
    c.accepts(c.plan().placement(c.one(a, "p1", "4x4x4", cubes(3))).score(c.score(64)).build());
    c.rejects(
        c.plan().placement(c.one(a, "p0", "4x4x4", box("4x4x4", 0, 0, 0))).build(),
        "placements[0].slices[0].pod",
        "not one of [v5p]");
  }

  @Test
  void namesLabelsAndPinnedPods() {
    Footprint at = box("4x4x4", 0, 0, 0);
    SliceRequest required = want("a", "4x4x4").requireLabel("n", "1").build();
    SliceRequest forbidden = want("a", "4x4x4").forbidLabel("n", "0").build();
    SliceRequest pinned = want("a", "4x4x4").pod("p1").build();
    for (SliceRequest a : List.of(required, forbidden, pinned)) {
      Case c = Case.of(fleet(TORUS, TORUS), a);
      c.accepts(c.plan().placement(c.one(a, "p1", "4x4x4", at)).score(c.score(64)).build());
      c.rejects(
          c.plan().placement(c.one(a, "p0", "4x4x4", at)).score(c.score(64)).build(),
          "placements[0].slices[0].pod",
          a == required ? "required label" : a == forbidden ? "forbidden label" : "pinned pod");
    }
  }

  @Test
  void namesATurn() {
    SliceRequest a = want("a", "4x8x2").mayTurn(false).build();
    Case c = Case.of(fleet(TORUS), a);
    c.accepts(
        c.plan()
            .placement(c.one(a, "p0", "4x8x2", box("4x8x2", 0, 0, 0)))
            .score(c.score(64))
            .build());
    c.rejects(
        c.plan().placement(c.one(a, "p0", "4x8x2", box("8x4x2", 0, 0, 0))).build(),
        "placements[0].slices[0].footprint",
        "may not be turned");
    c.rejects(
        c.plan().placement(c.one(a, "p0", "8x4x2", box("8x4x2", 0, 0, 0))).build(),
        "placements[0].slices[0].shape",
        "not a shape");
    SliceRequest partition = want("a", "8x16").mayTurn(false).build();
    Case e = Case.of(fleet(V5E), partition);
    Footprint at = partition(V5E, "8x16", 0);
    boolean turned =
        !V5E.partitions()
            .orElseThrow()
            .box(((Footprint.Partition) at).id())
            .orElseThrow()
            .extents()
            .equals(Shape.parse("8x16"));
    Plan plan = e.plan().placement(e.one(partition, "p0", "8x16", at)).score(e.score(128)).build();
    assertThat(e.verify(plan).isEmpty()).isEqualTo(!turned);
  }

  @Test
  void namesAMeshWhereATorusIsAsked() {
    SliceRequest wrap = want("a", "4x8x8").interconnect(Interconnect.WRAPAROUND).build();
    Case c = Case.of(fleet(TORUS), wrap);
    c.accepts(
        c.plan()
            .placement(c.one(wrap, "p0", "4x8x8", box("8x8x4", 0, 0, 0)))
            .score(c.score(256))
            .build());
    SliceRequest less = want("a", "4x4x4").interconnect(Interconnect.WRAPAROUND).build();
    Case mesh = Case.of(fleet(TORUS), less);
    mesh.rejects(
        mesh.plan().placement(mesh.one(less, "p0", "4x4x4", box("4x4x4", 0, 0, 0))).build(),
        "placements[0].slices[0].footprint",
        "does not wrap");
  }

  @Test
  void namesTwists() {
    SliceRequest a = want("a", "4x4x8").interconnect(Interconnect.TWISTED).build();
    Case c = Case.of(fleet(OPTICAL), a);
    Twist twist = OPTICAL.twist(Shape.parse("4x4x8")).orElseThrow();
    c.accepts(
        c.plan()
            .placement(all(a, 0, c.slice(a, 0, "p0", "4x4x8", cubes(0, 4), twist)))
            .score(c.score(128))
            .build());
    c.rejects(
        c.plan().placement(c.one(a, "p0", "4x4x8", cubes(0, 4))).build(),
        "placements[0].slices[0].twist",
        "asks for a twisted");
    SliceRequest b = want("b", "4x4x12").build();
    Case d = Case.of(fleet(OPTICAL), b);
    d.rejects(
        d.plan().placement(all(b, 0, d.slice(b, 0, "p0", "4x4x12", cubes(0, 4, 5), twist))).build(),
        "placements[0].slices[0].twist",
        "cannot be twisted");
    Twist far = new Twist(new Chip(0, 0, 8), new Chip(0, 0, 0), new Chip(0, 0, 0));
    c.rejects(
        c.plan().placement(all(a, 0, c.slice(a, 0, "p0", "4x4x8", cubes(0, 4), far))).build(),
        "placements[0].slices[0].twist",
        "whole extent");
  }

  @Test
  void namesDegradedPartsOnlyWhereHealthyIsAsked() {
    Part host = new Part.Host(new HostId(0));
    for (boolean healthyOnly : new boolean[] {false, true}) {
      SliceRequest a = want("a", "4x4x4").healthyOnly(healthyOnly).build();
      Case c = Case.of(fleet(TORUS).report("p0", host, Health.DEGRADED), a);
      Plan plan =
          c.plan()
              .placement(c.one(a, "p0", "4x4x4", box("4x4x4", 0, 0, 0)))
              .score(c.score(64))
              .build();
      if (healthyOnly) {
        c.rejects(plan, "placements[0].slices[0].footprint", "degraded");
      } else {
        c.accepts(plan);
      }
    }
  }

  @Test
  void namesFailedParts() {
    SliceRequest a = want("a", "4x4x4").build();
    Footprint at = box("4x4x4", 0, 0, 0);
    for (Part part :
        List.of(
            new Part.Host(new HostId(1)),
            new Part.Chip(new Chip(0, 0, 0)),
            new Part.Link(new Chip(1, 1, 1), Axis.X))) {
      Case c = Case.of(fleet(TORUS).fail("p0", part), a);
      c.rejects(
          c.plan().placement(c.one(a, "p0", "4x4x4", at)).score(c.score(64)).build(),
          "placements[0].slices[0].footprint",
          "failed part");
    }
    Case cube = Case.of(fleet(OPTICAL).failHost("p0", new HostId(33)), a);
    cube.rejects(
        cube.plan().placement(cube.one(a, "p0", "4x4x4", cubes(2))).build(),
        "placements[0].slices[0].footprint",
        "failed part");
  }

  @Test
  void namesCordons() {
    SliceRequest a = want("a", "4x4x4").build();
    Footprint at = box("4x4x4", 0, 0, 0);
    for (Fleet fleet :
        List.of(
            fleet(TORUS).cordonPod("p0"),
            fleet(TORUS).cordon("p0", new Part.Host(new HostId(1))))) {
      Case c = Case.of(fleet, a);
      c.rejects(
          c.plan().placement(c.one(a, "p0", "4x4x4", at)).score(c.score(64)).build(),
          "placements[0].slices[0].footprint",
          "cordoned");
    }
  }

  @Test
  void namesHoldsForOthers() {
    SliceRequest a = want("a", "4x4x4").build();
    Footprint at = box("4x4x4", 0, 0, 0);
    for (String holder : List.of("a", "other")) {
      Fleet fleet = fleet(TORUS).hold(new Hold("h", "p0", at, holder, NOW.plusSeconds(10)));
      Case c = Case.of(fleet, a).with(PlanningRules.builder().now(NOW).build());
      Plan plan = c.plan().placement(c.one(a, "p0", "4x4x4", at)).score(c.score(64)).build();
      if (holder.equals("a")) {
        c.accepts(plan);
      } else {
        c.rejects(plan, "placements[0].slices[0].footprint", "hold h");
        Case late = c.with(PlanningRules.builder().now(NOW.plusSeconds(10)).build());
        late.accepts(
            late.plan().placement(c.one(a, "p0", "4x4x4", at)).score(late.score(64)).build());
      }
    }
  }

  // ---------------------------------------------------------------- answers

  @Test
  void namesRequestsAnsweredNotOnce() {
    SliceRequest a = want("a", "4x4x4").build();
    SliceRequest b = want("b", "4x4x4").build();
    Case c = Case.of(fleet(TORUS), a, b);
    RequestPlacement pa = c.one(a, "p0", "4x4x4", box("4x4x4", 0, 0, 0));
    RequestPlacement pb = c.one(b, "p0", "4x4x4", box("4x4x4", 4, 0, 0));
    c.accepts(c.plan().placement(pa).unplaced(unplaced(b)).score(c.score(64)).build());
    c.rejects(c.plan().placement(pa).build(), "requests[1]", "neither placed nor unplaced");
    c.rejects(
        c.plan().placement(pa).placement(pb).unplaced(unplaced(b)).build(),
        "unplaced[0]",
        "answered twice");
    c.rejects(
        c.plan().placement(pb).placement(pa).build(), "placements[1]", "out of the order given");
    SliceRequest stranger = want("x", "4x4x4").build();
    c.rejects(
        c.plan().placement(pa).placement(pb).unplaced(unplaced(stranger)).build(),
        "unplaced[0]",
        "no request x");
    SliceRequest other = want("b", "4x4x4").priority(9).build();
    c.rejects(
        c.plan()
            .placement(pa)
            .placement(c.one(other, "p0", "4x4x4", box("4x4x4", 4, 0, 0)))
            .build(),
        "placements[1].request",
        "differs");
  }

  @Test
  void namesOtherVersionsAndRules() {
    Case c = Case.of(fleet(TORUS));
    c.accepts(c.plan().score(c.score()).build());
    c.rejects(Plan.builder(7, c.rules()).build(), "fleetVersion", "expected 0");
    c.rejects(
        Plan.builder(0, PlanningRules.builder().now(NOW).build()).build(), "rules", "other rules");
  }

  @Test
  void namesASliceThatRuns() {
    SliceRequest a = want("a", "4x4x4").build();
    Fleet fleet = fleet(TORUS).place(running(a, 0, "p0", "4x4x4", box("4x4x4", 0, 0, 0)));
    Case c = Case.of(fleet, a);
    c.rejects(
        c.plan().placement(c.one(a, "p0", "4x4x4", box("4x4x4", 4, 0, 0))).build(),
        "placements[0].slices[0]",
        "runs already");
  }

  @Test
  void namesShapeRanks() {
    SliceRequest a = want("a", "8x8x4", "4x4x4", "4x2x4").build();
    Case c = Case.of(fleet(TORUS), a);
    Placement slice = c.slice(a, 0, "p0", "4x4x4", box("4x4x4", 0, 0, 0));
    c.accepts(c.plan().placement(all(a, 1, slice)).score(c.score(64, 64)).build());
    c.rejects(
        c.plan().placement(all(a, 0, slice)).score(c.score(64, 0)).build(),
        "placements[0].shapeRank",
        "expected 1");
    c.rejects(
        c.plan().placement(all(a, 1, slice)).score(c.score(64, 0)).build(),
        "score.levels[1].value",
        "expected 64");
  }

  @Test
  void ranksShapesOfANumberOfChipsByAllToAll() {
    SliceRequest a = SliceRequest.builder("a").chips(64).build();
    Case c = Case.of(fleet(OPTICAL, TORUS), a);
    c.accepts(c.plan().placement(c.one(a, "p0", "4x4x4", cubes(0))).score(c.score(64, 0)).build());
    TpuTopology t = TORUS;
    List<Shape> order = Collectives.shapesByAllToAll(t, 64);
    int slow = order.size() - 1;
    Shape last = order.get(slow);
    Footprint at =
        Orientation.ofRank(3).stream()
            .map(o -> (Footprint) new Footprint.Box(new Chip(0, 0, 0), o.extents(last)))
            .filter(f -> t.whyNot(last, f).isEmpty())
            .findFirst()
            .orElseThrow();
    Placement slice = c.slice(a, 0, "p1", last.toString(), at);
    c.accepts(c.plan().placement(all(a, slow, slice)).score(c.score(64, 64L * slow)).build());
    c.rejects(c.plan().placement(all(a, 0, slice)).build(), "placements[0].shapeRank", "expected");
    c.rejects(
        c.plan().placement(c.one(a, "p1", "4x4x2", box("4x4x2", 0, 0, 0))).build(),
        "placements[0].slices[0].shape",
        "not a shape");
  }

  // ---------------------------------------------------------------- several slices

  @Test
  void namesMissingAndUnequalSlices() {
    SliceRequest a = want("a", "4x4x4", "4x4x2").slices(2).build();
    Case c = Case.of(fleet(TORUS), a);
    Placement first = c.slice(a, 0, "p0", "4x4x4", box("4x4x4", 0, 0, 0));
    Placement second = c.slice(a, 1, "p0", "4x4x4", box("4x4x4", 4, 0, 0));
    c.accepts(c.plan().placement(all(a, 0, first, second)).score(c.score(128, 0)).build());
    c.rejects(c.plan().placement(all(a, 0, first)).build(), "placements[0].slices", "all 2 slices");
    c.rejects(
        c.plan()
            .placement(all(a, 0, first, c.slice(a, 1, "p0", "4x4x2", box("4x4x2", 4, 0, 0))))
            .build(),
        "placements[0].slices[1].shape",
        "expected 4x4x4");
  }

  @Test
  void namesSpread() {
    record Rule(Spread spread, int good, int bad, String text) {}
    for (Rule rule :
        List.of(
            new Rule(Spread.samePod(), 0, 1, "one pod"),
            new Rule(Spread.differentPods(), 1, 0, "at most 1"),
            new Rule(Spread.atMost(1, ""), 1, 0, "at most 1"),
            new Rule(Spread.atMost(1, "zone"), 2, 1, "at most 1"))) {
      SliceRequest a = want("a", "4x4x4").slices(2).spread(rule.spread()).build();
      Case c = Case.of(fleet(TORUS, TORUS, TORUS), a);
      Placement first = c.slice(a, 0, "p0", "4x4x4", box("4x4x4", 0, 0, 0));
      Footprint at = box("4x4x4", 4, 0, 0);
      c.accepts(
          c.plan()
              .placement(all(a, 0, first, c.slice(a, 1, "p" + rule.good(), "4x4x4", at)))
              .score(c.score(128))
              .build());
      c.rejects(
          c.plan()
              .placement(all(a, 0, first, c.slice(a, 1, "p" + rule.bad(), "4x4x4", at)))
              .score(c.score(128))
              .build(),
          "placements[0]",
          rule.text());
    }
  }

  @Test
  void aPodWithoutTheLabelIsADomainOfItsOwn() {
    SliceRequest a = want("a", "4x4x4").slices(2).spread(Spread.atMost(1, "rack")).build();
    Case c = Case.of(fleet(TORUS, TORUS), a);
    c.accepts(
        c.plan()
            .placement(
                all(
                    a,
                    0,
                    c.slice(a, 0, "p0", "4x4x4", box("4x4x4", 0, 0, 0)),
                    c.slice(a, 1, "p1", "4x4x4", box("4x4x4", 0, 0, 0))))
            .score(c.score(128))
            .build());
  }

  @Test
  void namesSlicesOfTwoAccelerators() {
    SliceRequest a = want("a", "4x4x4").slices(2).build();
    Case c = Case.of(fleet(TORUS, OPTICAL), a);
    c.rejects(
        c.plan()
            .placement(
                all(
                    a,
                    0,
                    c.slice(a, 0, "p0", "4x4x4", box("4x4x4", 0, 0, 0)),
                    c.slice(a, 1, "p1", "4x4x4", cubes(0))))
            .build(),
        "placements[0]",
        "one accelerator");
  }

  @Test
  void namesGangsPlacedInPart() {
    SliceRequest a = want("a", "4x4x4").gang("g").build();
    SliceRequest b = want("b", "4x4x4").gang("g").build();
    Case c = Case.of(fleet(TORUS), a, b);
    RequestPlacement pa = c.one(a, "p0", "4x4x4", box("4x4x4", 0, 0, 0));
    c.accepts(
        c.plan()
            .placement(pa)
            .placement(c.one(b, "p0", "4x4x4", box("4x4x4", 4, 0, 0)))
            .score(c.score(128))
            .build());
    c.accepts(c.plan().unplaced(unplaced(a)).unplaced(unplaced(b)).score(c.score(0)).build());
    c.rejects(
        c.plan().placement(pa).unplaced(unplaced(b)).score(c.score(64)).build(),
        "requests[1]",
        "gang g");
  }

  // ---------------------------------------------------------------- running slices

  private static final SliceRequest LOW = want("low", "4x4x4").slices(2).tenant("t").build();
  private static final SliceRequest HIGH = want("high", "8x8x4").priority(5).tenant("u").build();

  /** Two slices of low run, high wants the pod; p1 is another pod. */
  private static Case contest(Permission permission) {
    Fleet fleet =
        fleet(TORUS, TORUS)
            .place(running(LOW, 0, "p0", "4x4x4", box("4x4x4", 0, 0, 0)))
            .place(running(LOW, 1, "p0", "4x4x4", box("4x4x4", 4, 0, 0)));
    return Case.of(fleet, HIGH.toBuilder().pod("p0").build())
        .with(PlanningRules.builder().permit("low", permission).build());
  }

  private static final long LOST = 2 * 64 * (600 + 3600);

  private static Plan.Builder evicting(Case c) {
    return c.plan()
        .placement(c.one(c.requests().get(0), "p0", "8x8x4", box("8x8x4", 0, 0, 0)))
        .eviction(new Eviction("low", c.fleet().runningOf("low")));
  }

  private static Plan.Builder moving(Case c) {
    List<RunningSlice> low = c.fleet().runningOf("low");
    return c.plan()
        .placement(c.one(c.requests().get(0), "p0", "8x8x4", box("8x8x4", 0, 0, 0)))
        .move(new Move(low.get(0), c.slice(LOW, 0, "p1", "4x4x4", box("4x4x4", 0, 0, 0))))
        .move(new Move(low.get(1), c.slice(LOW, 1, "p1", "4x4x4", box("4x4x4", 0, 4, 0))));
  }

  @Test
  void evictsOnlyWhatMayBeEvicted() {
    Case c = contest(Permission.EVICTABLE);
    c.accepts(evicting(c).score(c.score(256, 0, LOST)).build());
    Case pinned = contest(Permission.MOVABLE);
    pinned.rejects(
        evicting(pinned).score(pinned.score(256, 0, LOST)).build(),
        "evictions[0]",
        "may not be evicted");
    c.rejects(
        c.plan()
            .placement(c.one(c.requests().get(0), "p0", "8x8x4", box("8x8x4", 0, 0, 0)))
            .score(c.score(256, 128, 0))
            .build(),
        "placements[0].slices[0].footprint",
        "another slice has");
  }

  @Test
  void evictsWholeRequestsOnce() {
    Case c = contest(Permission.ANY);
    List<RunningSlice> low = c.fleet().runningOf("low");
    c.rejects(
        c.plan()
            .unplaced(unplaced(c.requests().get(0)))
            .eviction(new Eviction("low", low.subList(0, 1)))
            .build(),
        "evictions[0].slices",
        "all slices");
    c.rejects(evicting(c).eviction(new Eviction("low", low)).build(), "evictions[1]", "each once");
    c.rejects(
        evicting(c).eviction(new Eviction("nobody", List.of())).build(), "evictions[1]", "runs");
    c.rejects(
        evicting(c)
            .move(new Move(low.get(0), c.slice(LOW, 0, "p1", "4x4x4", box("4x4x4", 0, 0, 0))))
            .build(),
        "moves[0]",
        "moved and evicted");
  }

  @Test
  void movesOnlyWhatMayBeMoved() {
    Case c = contest(Permission.MOVABLE);
    c.accepts(moving(c).score(c.score(256, 128, LOST)).build());
    Case evictable = contest(Permission.EVICTABLE);
    evictable.rejects(
        moving(evictable).score(evictable.score(256, 128, LOST)).build(),
        "moves[0]",
        "may not be moved");
    Case within = contest(new Permission(true, false, true));
    within.rejects(
        moving(within).score(within.score(256, 128, LOST)).build(), "moves[0]", "within pod p0");
  }

  @Test
  void namesWrongMoves() {
    Case c = contest(Permission.MOVABLE);
    List<RunningSlice> low = c.fleet().runningOf("low");
    Placement elsewhere = c.slice(LOW, 0, "p1", "4x4x4", box("4x4x4", 0, 0, 0));
    Unplaced high = unplaced(c.requests().get(0));
    c.accepts(
        c.plan()
            .unplaced(high)
            .move(new Move(low.get(0), elsewhere))
            .score(c.score(0, 128, LOST))
            .build());
    c.rejects(
        c.plan().unplaced(high).move(new Move(low.get(1), elsewhere)).build(),
        "moves[0].to",
        "expected low/1");
    c.rejects(
        c.plan()
            .unplaced(high)
            .move(new Move(low.get(0), c.slice(LOW, 0, "p0", "4x4x4", box("4x4x4", 0, 0, 0))))
            .build(),
        "moves[0]",
        "where it is");
    c.rejects(
        c.plan()
            .unplaced(high)
            .move(new Move(low.get(0).toBuilder().restartTime(Duration.ZERO).build(), elsewhere))
            .build(),
        "moves[0].from",
        "does not run like this");
    c.rejects(
        c.plan()
            .unplaced(high)
            .move(new Move(low.get(0), elsewhere))
            .move(new Move(low.get(0), elsewhere))
            .build(),
        "moves[1]",
        "each once");
    c.rejects(
        c.plan()
            .unplaced(high)
            .move(new Move(low.get(0), c.slice(LOW, 0, "p0", "4x4x4", box("4x4x4", 4, 0, 0))))
            .build(),
        "moves[0].footprint",
        "another slice has");
    c.rejects(
        c.plan()
            .unplaced(high)
            .move(new Move(low.get(0), c.slice(LOW, 0, "p1", "4x4x2", box("4x4x2", 4, 0, 0))))
            .build(),
        "moves low",
        "is not a shape");
    c.rejects(
        c.plan()
            .unplaced(high)
            .move(new Move(low.get(0), c.slice(LOW, 0, "p1", "4x4x2", box("4x4x2", 4, 0, 0))))
            .build(),
        "moves low",
        "keep one shape");
  }

  @Test
  void aMovedRequestKeepsItsSpread() {
    SliceRequest low = LOW.toBuilder().spread(Spread.samePod()).build();
    Fleet fleet =
        fleet(TORUS, TORUS)
            .place(running(low, 0, "p0", "4x4x4", box("4x4x4", 0, 0, 0)))
            .place(running(low, 1, "p0", "4x4x4", box("4x4x4", 4, 0, 0)));
    Case c =
        Case.of(fleet).with(PlanningRules.builder().permitByDefault(Permission.MOVABLE).build());
    Placement away = c.slice(low, 0, "p1", "4x4x4", box("4x4x4", 0, 0, 0));
    c.rejects(
        c.plan()
            .move(new Move(fleet.runningOf("low").get(0), away))
            .score(c.score(128, LOST))
            .build(),
        "moves low",
        "one pod");
  }

  @Test
  void slicesThatLeavePinTheirRequestAndEarnNothing() {
    Case before = contest(Permission.ANY);
    Case c = before.with(before.fleet().leaving(new SliceId("low", 1), true));
    assertThat(ObjectiveLevels.of(c.fleet(), c.requests(), c.rules(), c.cost()))
        .extracting(Level::kind)
        .doesNotContain(Level.Kind.DISRUPTION);
    c.accepts(c.plan().unplaced(unplaced(c.requests().get(0))).score(c.score(0, 64)).build());
    c.rejects(evicting(c).score(c.score(256, 0)).build(), "evictions[0]", "leaving");
  }

  @Test
  void runningGangsLeaveTogether() {
    SliceRequest a = want("a", "4x4x4").gang("g").build();
    SliceRequest b = want("b", "4x4x4").gang("g").build();
    SliceRequest w = want("w", "4x4x4").priority(1).build();
    Fleet fleet =
        fleet(TORUS)
            .place(running(a, 0, "p0", "4x4x4", box("4x4x4", 0, 0, 0)))
            .place(running(b, 0, "p0", "4x4x4", box("4x4x4", 4, 0, 0)));
    Case c =
        Case.of(fleet, w)
            .with(PlanningRules.builder().permitByDefault(Permission.EVICTABLE).build());
    RequestPlacement pw = c.one(w, "p0", "4x4x4", box("4x4x4", 0, 0, 0));
    Eviction ea = new Eviction("a", fleet.runningOf("a"));
    Eviction eb = new Eviction("b", fleet.runningOf("b"));
    c.accepts(c.plan().placement(pw).eviction(ea).eviction(eb).score(c.score(64, 0, LOST)).build());
    c.rejects(
        c.plan().placement(pw).eviction(ea).score(c.score(64, 64, LOST / 2)).build(),
        "evictions",
        "gang g");
  }

  @Test
  void namesTheDisruptionBudget() {
    record Budget(PlanningRules.DisruptionBudget budget, String text) {}
    long max = Long.MAX_VALUE;
    for (Budget b :
        List.of(
            new Budget(new PlanningRules.DisruptionBudget(1, max, max), "slices"),
            new Budget(new PlanningRules.DisruptionBudget(max, LOST - 1, max), "chip-seconds"),
            new Budget(new PlanningRules.DisruptionBudget(max, max, 0), "tenants"))) {
      Case c = contest(Permission.ANY);
      Case tight = c.with(c.rules().toBuilder().disruption(b.budget()).build());
      tight.rejects(
          evicting(tight).score(tight.score(256, 0, LOST)).build(), "disruption budget", b.text());
      tight.rejects(
          moving(tight).score(tight.score(256, 128, LOST)).build(), "disruption budget", b.text());
      Case just =
          c.with(
              c.rules().toBuilder()
                  .disruption(new PlanningRules.DisruptionBudget(2, LOST, 1))
                  .build());
      just.accepts(evicting(just).score(just.score(256, 0, LOST)).build());
    }
  }

  @Test
  void listsBrokenSlicesThatStay() {
    Case before = contest(Permission.ANY);
    Case c = before.with(before.fleet().failHost("p0", new HostId(0)));
    RunningSlice hurt = c.fleet().runningOf("low").get(0);
    RunningSlice well = c.fleet().runningOf("low").get(1);
    Unplaced high = unplaced(c.requests().get(0));
    c.accepts(
        c.plan()
            .unplaced(high)
            .broken(new BrokenSlice(hurt, Reason.FRAGMENTED, "No room."))
            .score(c.score(0, 64, 0))
            .build());
    c.rejects(c.plan().unplaced(high).score(c.score(0, 64, 0)).build(), "broken", "not listed");
    c.rejects(
        c.plan()
            .unplaced(high)
            .broken(new BrokenSlice(hurt, Reason.FRAGMENTED, "No room."))
            .broken(new BrokenSlice(well, Reason.FRAGMENTED, "No room."))
            .build(),
        "broken[1]",
        "is not broken");
    long lost = 64 * 600 + 64 * (600 + 3600);
    c.accepts(
        c.plan()
            .unplaced(high)
            .move(new Move(hurt, c.slice(LOW, 0, "p1", "4x4x4", box("4x4x4", 0, 0, 0))))
            .score(c.score(0, 128, lost))
            .build());
  }

  // ---------------------------------------------------------------- quotas and reserved capacity

  @Test
  void namesQuotas() {
    SliceRequest a = want("a", "4x4x4").tenant("t").build();
    Fleet fleet = fleet(TORUS).place(running(LOW, 0, "p0", "4x4x4", box("4x4x4", 0, 0, 0)));
    for (String accelerator : List.of("", "torus")) {
      PlanningRules.Quota enough = new PlanningRules.Quota("t", accelerator, 128);
      PlanningRules.Quota less = new PlanningRules.Quota("t", accelerator, 127);
      Case c = Case.of(fleet, a).with(PlanningRules.builder().quota(enough).build());
      Plan plan =
          c.plan()
              .placement(c.one(a, "p0", "4x4x4", box("4x4x4", 4, 0, 0)))
              .score(c.score(64, 64))
              .build();
      c.accepts(plan);
      Case tight = c.with(PlanningRules.builder().quota(less).build());
      tight.rejects(
          tight
              .plan()
              .placement(c.one(a, "p0", "4x4x4", box("4x4x4", 4, 0, 0)))
              .score(tight.score(64, 64))
              .build(),
          "quotas[0]",
          "at most 127");
    }
    Case raised = Case.of(fleet, a).with(PlanningRules.builder().quota("t", 1).build());
    raised.accepts(raised.plan().unplaced(unplaced(a)).score(raised.score(64, 0)).build());
  }

  @Test
  void holdsCountInQuotasUntilTheirRequestIsPlaced() {
    SliceRequest a = want("a", "4x4x4").tenant("t").build();
    SliceRequest b = want("b", "4x4x4").tenant("t").build();
    Footprint left = box("4x4x4", 0, 0, 0);
    Footprint right = box("4x4x4", 4, 0, 0);
    Fleet fleet = fleet(TORUS).hold(new Hold("h", "p0", left, "a", NOW.plusSeconds(1)));
    Case c = Case.of(fleet, a, b).with(PlanningRules.builder().now(NOW).quota("t", 64).build());
    c.accepts(
        c.plan()
            .placement(c.one(a, "p0", "4x4x4", left))
            .unplaced(unplaced(b))
            .score(c.score(64))
            .build());
    c.rejects(
        c.plan()
            .placement(c.one(b, "p0", "4x4x4", right))
            .unplaced(unplaced(a))
            .score(c.score(64))
            .build(),
        "quotas[0]",
        "would have 128");
  }

  @Test
  void namesReservedCapacity() {
    SliceRequest a = want("a", "4x8x4").tenant("t").build();
    PlanningRules.Reserved half = new PlanningRules.Reserved("u", Map.of("zone", "z0"), 128);
    PlanningRules.Reserved more = new PlanningRules.Reserved("u", Map.of("zone", "z0"), 129);
    PlanningRules.Reserved away = new PlanningRules.Reserved("u", Map.of("zone", "z1"), 999);
    PlanningRules.Reserved own = new PlanningRules.Reserved("t", Map.of(), 256);
    for (PlanningRules.Reserved rule : List.of(half, more, away, own)) {
      Case c = Case.of(fleet(TORUS), a).with(PlanningRules.builder().reserve(rule).build());
      Plan plan =
          c.plan()
              .placement(c.one(a, "p0", "4x8x4", box("4x8x4", 4, 0, 0)))
              .score(c.score(128))
              .build();
      if (rule == more) {
        c.rejects(plan, "reserved[0]", "at most 127");
      } else {
        c.accepts(plan);
      }
    }
  }

  // ---------------------------------------------------------------- score

  @Test
  void namesLevelsValuesAndBounds() {
    SliceRequest a = want("a", "4x4x4").build();
    Case c = Case.of(fleet(TORUS), a);
    Plan.Builder b = c.plan().placement(c.one(a, "p0", "4x4x4", box("4x4x4", 4, 0, 0)));
    Level placed = new Level(Level.Kind.PLACED, 0);
    Proof trivial = new Proof.Trivial();
    c.rejects(b.score(new Score(List.of())).build(), "score.levels", "expected [Level");
    c.rejects(b.score(level(placed, 65, 65, trivial)).build(), "score.levels[0].value", "64");
    c.rejects(b.score(level(placed, 64, 63, trivial)).build(), "score.levels[0].bound", "worse");
    c.accepts(b.score(level(placed, 64, 70, new Proof.Agreement("a", "b"))).build());
    c.accepts(b.score(level(placed, 64, 70, trivial)).build());
    c.rejects(
        b.score(level(placed, 64, 70, new Proof.Agreement("a", "a"))).build(),
        "score.levels[0].proof",
        "two different");
    c.rejects(
        b.score(level(placed, 64, 70, new Proof.Agreement("", "a"))).build(),
        "score.levels[0].proof",
        "two different");
    c.rejects(
        b.score(level(placed, 64, 70, trivial)).stopped(StopReason.OPTIMAL).build(),
        "stopped",
        "not proved");
    Case un = Case.of(fleet(TORUS), a);
    un.rejects(
        un.plan().unplaced(unplaced(a)).score(level(placed, 0, 0, trivial)).build(),
        "score.levels[0].bound",
        "what is asked for");
  }

  private static Score level(Level level, long value, long bound, Proof proof) {
    return new Score(List.of(new Score.LevelScore(level, value, bound, proof, null)));
  }

  @Test
  void minimisedLevelsHaveBoundsFromBelow() {
    Case c = contest(Permission.EVICTABLE);
    Plan good = evicting(c).score(c.score(256, 0, LOST)).build();
    Score score = good.score();
    Score.LevelScore last = score.levels().get(2);
    Score wrong =
        new Score(
            List.of(
                score.levels().get(0),
                score.levels().get(1),
                new Score.LevelScore(last.level(), LOST, LOST, new Proof.Trivial(), null)));
    c.rejects(evicting(c).score(wrong).build(), "score.levels[2].bound", "or less");
  }

  @Test
  void pricesAndNewHostsCountForWhatIsPlacedOrMoved() {
    CostTerms cost =
        CostTerms.builder()
            .newHosts(true)
            .pricePerChipHourMicros("torus", 10)
            .podPricePerChipHourMicros("p1", 3)
            .build();
    Case c = contest(Permission.MOVABLE).with(cost);
    c.accepts(moving(c).score(c.score(256, 128, LOST, 32, 256 * 10 + 128 * 3)).build());
    List<RunningSlice> low = c.fleet().runningOf("low");
    Move slide = new Move(low.get(0), c.slice(LOW, 0, "p0", "4x4x4", box("4x4x4", 2, 4, 0)));
    c.accepts(
        c.plan()
            .unplaced(unplaced(c.requests().get(0)))
            .move(slide)
            .score(c.score(0, 128, LOST, 16, 640))
            .build());
  }

  @Test
  void onlyChipsUpToTheFirstShapeCount() {
    SliceRequest a = want("a", "4x4x2", "4x4x4").build();
    Case c = Case.of(fleet(TORUS), a);
    c.accepts(
        c.plan()
            .placement(all(a, 1, c.slice(a, 0, "p0", "4x4x4", box("4x4x4", 0, 0, 0))))
            .score(c.score(32, 64))
            .build());
  }

  @Test
  void overflowIsAViolation() {
    SliceRequest a = want("a", "8x8x4", "4x4x4").build();
    CostTerms cost =
        CostTerms.builder().pricePerChipHourMicros("torus", 1_000_000_000_000L).build();
    Case c = Case.of(fleet(TORUS), a).with(cost);
    long[] zero = new long[TORUS.cellCount()];
    Arrays.fill(zero, Long.MAX_VALUE / 2);
    Certificate certificate =
        new Certificate(0, List.of(new Certificate.CellPrices("p0", zero)), List.of(), new long[0]);
    Score score = c.score(0, 0, 0);
    Score.LevelScore first = score.levels().get(0);
    Score claimed =
        new Score(
            List.of(
                new Score.LevelScore(
                    first.level(), 0, first.bound(), new Proof.Certified(certificate), null),
                score.levels().get(1),
                score.levels().get(2)));
    c.rejects(
        c.plan().unplaced(unplaced(a)).score(claimed).build(), "score.levels[0].proof", "overflow");
  }

  @Test
  void brokenCubesServeNoWholeCubes() {
    SliceRequest a = want("a", "2x2x1").build();
    Case c = Case.of(fleet(OPTICAL).failHost("p0", new HostId(0)), a);
    assertThat(c.fleet().pod("p0").orElseThrow().health().brokenCubes())
        .containsExactly(new CubeId(0));
    c.accepts(
        c.plan()
            .placement(c.one(a, "p0", "2x2x1", partition(OPTICAL, "2x2x1", 5)))
            .score(c.score(4))
            .build());
  }
}
