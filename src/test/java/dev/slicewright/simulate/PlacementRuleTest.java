package dev.slicewright.simulate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Part;
import dev.slicewright.simulate.BoxGrid.Extents;
import dev.slicewright.simulate.BoxGrid.Spot;
import dev.slicewright.simulate.SlurmRule.Compare;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class PlacementRuleTest {

  private static List<Extents> turns(Extents e) {
    List<Extents> out = new ArrayList<>();
    int[] v = {e.x(), e.y(), e.z()};
    for (int[] p : new int[][] {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
      Extents turned = new Extents(v[p[0]], v[p[1]], v[p[2]]);
      if (!out.contains(turned)) {
        out.add(turned);
      }
    }
    return out;
  }

  private static BoxGrid random(Extents dims, double load, SplittableRandom random) {
    BoxGrid grid =
        new BoxGrid(dims, random.nextBoolean(), random.nextBoolean(), random.nextBoolean());
    for (int i = 0; i < grid.cells(); i++) {
      grid.take(i, random.nextDouble() < load);
    }
    return grid;
  }

  @Test
  void slurmByWindowsChoosesWhatTheScanChooses() {
    SplittableRandom random = new SplittableRandom(1);
    int placed = 0;
    int turned = 0;
    for (int run = 0; run < 3_000; run++) {
      List<BoxGrid> grids = new ArrayList<>();
      for (int g = 0; g <= random.nextInt(3); g++) {
        Extents dims =
            new Extents(1 + random.nextInt(6), 1 + random.nextInt(6), 1 + random.nextInt(6));
        grids.add(random(dims, 0.4 * random.nextDouble(), random));
      }
      List<Extents> listed = new ArrayList<>();
      for (int s = 0; s <= random.nextInt(4); s++) {
        listed.addAll(
            turns(
                new Extents(1 + random.nextInt(4), 1 + random.nextInt(4), 1 + random.nextInt(3))));
      }
      Extents wanted = listed.get(random.nextInt(listed.size()));
      SlurmRule rule =
          new SlurmRule(
              listed,
              random.nextBoolean(),
              Compare.values()[random.nextInt(Compare.values().length)]);
      Spot fast = rule.place(grids, turns(wanted));
      assertThat(fast).isEqualTo(rule.placeByScan(grids, turns(wanted)));
      if (fast != null) {
        placed++;
        turned += fast.extents().equals(wanted) ? 0 : 1;
        BoxGrid grid = grids.get(fast.grid());
        assertThat(grid.isFree(fast)).isTrue();
        assertThat(grid.mayStart(fast.x(), fast.y(), fast.z(), fast.extents())).isTrue();
      }
    }
    assertThat(placed).isGreaterThan(1_000);
    assertThat(turned).isGreaterThan(100);
  }

  @Test
  void slurmSparesTheLargerShape() {
    // A ring of 8 with the pair 0-1 taken: only the pairs at even places are listed; of the
    // quadruples 0-3 and 4-7 the second is whole, so the single goes to 2, not to 4.
    BoxGrid ring = new BoxGrid(new Extents(8, 1, 1), true, true, true);
    ring.take(0, true);
    ring.take(1, true);
    List<Extents> listed =
        List.of(new Extents(1, 1, 1), new Extents(4, 1, 1), new Extents(8, 1, 1));
    SlurmRule rule = new SlurmRule(listed, false, Compare.WITHIN_PLACEMENT);
    assertThat(rule.place(List.of(ring), List.of(listed.get(0))))
        .isEqualTo(new Spot(0, 2, 0, 0, listed.get(0)));
    // The anchor at 4 is the only idle one of four.
    assertThat(rule.place(List.of(ring), List.of(listed.get(1))))
        .isEqualTo(new Spot(0, 4, 0, 0, listed.get(1)));
    assertThat(rule.place(List.of(ring), List.of(listed.get(2)))).isNull();
  }

  @Test
  void slurmTakesTheFirstListedTurnUnlessItComparesEverywhere() {
    // 2x1 spoils a quadruple wherever it goes along x; 1x2 along y can end beside them.
    BoxGrid grid = new BoxGrid(new Extents(5, 2, 1), false, false, false);
    Extents along = new Extents(2, 1, 1);
    Extents across = new Extents(1, 2, 1);
    List<Extents> listed = List.of(along, across, new Extents(4, 2, 1));
    List<Extents> turns = List.of(along, across);
    Spot within = new SlurmRule(listed, true, Compare.WITHIN_PLACEMENT).place(List.of(grid), turns);
    Spot everywhere = new SlurmRule(listed, true, Compare.EVERYWHERE).place(List.of(grid), turns);
    assertThat(within.extents()).isEqualTo(along);
    assertThat(everywhere).isEqualTo(new Spot(0, 0, 0, 0, across));
  }

  @Test
  void slurmPrefersTheFullerTorus() {
    Extents one = new Extents(1, 1, 1);
    BoxGrid empty = new BoxGrid(new Extents(4, 4, 1), true, true, true);
    BoxGrid fuller = new BoxGrid(new Extents(4, 4, 1), true, true, true);
    fuller.take(5, true);
    SlurmRule rule = new SlurmRule(List.of(one), true, Compare.WITHIN_PLACEMENT);
    assertThat(rule.place(List.of(empty, fuller), List.of(one)))
        .isEqualTo(new Spot(1, 0, 0, 0, one));
  }

  @Test
  void firstFitTakesTheFirstFreeOrigin() {
    BoxGrid mesh = new BoxGrid(new Extents(4, 2, 1), false, false, false);
    mesh.take(1, true);
    assertThat(new FirstFit().place(List.of(mesh), List.of(new Extents(2, 2, 1))))
        .isEqualTo(new Spot(0, 2, 0, 0, new Extents(2, 2, 1)));
    mesh.take(3, true);
    assertThat(new FirstFit().place(List.of(mesh), List.of(new Extents(2, 2, 1)))).isNull();
    BoxGrid torus = new BoxGrid(new Extents(4, 1, 1), true, false, false);
    torus.take(1, true);
    torus.take(2, true);
    assertThat(new FirstFit().place(List.of(torus), List.of(new Extents(2, 1, 1))))
        .isEqualTo(new Spot(0, 3, 0, 0, new Extents(2, 1, 1)));
  }

  @Test
  void gridsSeeWhatRunsAndWhatFailed() {
    TpuTopology topology = TpuTopology.torus(8, 8, 4);
    Fleet fleet =
        Fleet.builder()
            .pod("p", topology)
            .build()
            .failHost("p", new HostId(0))
            .fail("p", new Part.Link(new Chip(4, 4, 0), Axis.X));
    BoxGrid grid = BoxGrid.of(fleet).get(0);
    assertThat(grid.dims).isEqualTo(new Extents(4, 4, 4));
    assertThat(grid.free()).isEqualTo(62);
    assertThat(grid.isTaken(0)).isTrue();
    assertThat(grid.isTaken(grid.index(2, 2, 0))).isTrue();
    assertThat(BoxGrid.turns(topology, Shape.of(2, 2, 1))).containsExactly(new Extents(1, 1, 1));
    assertThat(BoxGrid.turns(topology, Shape.of(4, 4, 8)))
        .containsExactly(new Extents(2, 4, 4), new Extents(4, 2, 4));
    Spot spot = new Spot(0, 1, 2, 3, new Extents(2, 1, 4));
    assertThat(topology.cells(BoxGrid.box(topology, spot))).hasSize(8);
    assertThat(BoxGrid.box(topology, spot).extents()).isEqualTo(Shape.of(4, 2, 4));
  }
}
