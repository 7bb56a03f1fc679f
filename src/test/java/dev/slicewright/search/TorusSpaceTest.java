package dev.slicewright.search;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Pod;
import dev.slicewright.search.PodSpace.Spot;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TorusSpaceTest {

  private static Pod pod(TpuTopology topology) {
    return Fleet.builder().pod("p", topology).build().pod("p").orElseThrow();
  }

  private static TorusSpace space(TpuTopology topology) {
    return new TorusSpace(pod(topology), RandomTorus.NOW);
  }

  private static Want want(Shape shape) {
    return new Want(shape, true, false, false, "");
  }

  private static Footprint.Box box(Spot spot) {
    return (Footprint.Box) spot.footprint();
  }

  @ParameterizedTest
  @CsvSource({
    "1,1,1", "2,1,1", "1,2,2", "2,2,2", "63,3,2", "64,2,3", "3,63,2", "2,3,64", "3,65,2", "64,64,1",
    "63,1,64", "1,1,256", "64,1,2"
  })
  void countsOriginsOnEmptyPodsOfAnyLength(int x, int y, int z) {
    for (boolean wrap : new boolean[] {true, false}) {
      TpuTopology.Builder builder = TpuTopology.torusBuilder(x, y, z).hostTile(Shape.of(1, 1, 1));
      TpuTopology topology = (wrap ? builder : builder.mesh()).build();
      TorusSpace space = space(topology);
      for (int ex : new TreeSet<>(List.of(1, Math.min(2, x), Math.max(1, x - 1), x))) {
        for (int ey : new TreeSet<>(List.of(1, Math.max(1, y - 1), y))) {
          for (int ez : new TreeSet<>(List.of(1, Math.max(1, z - 1), z))) {
            int want = space.register(new Want(Shape.of(ex, ey, ez), false, false, false, ""));

            assertThat(space.feasibleCount(want))
                .isEqualTo(origins(ex, x, wrap) * origins(ey, y, wrap) * origins(ez, z, wrap));
            Spot spot = space.find(want, null);
            assertThat(box(spot).origin()).isEqualTo(new Chip(0, 0, 0));
            space.take(spot);
            assertThat(space.freeCells()).isEqualTo(x * y * z - ex * ey * ez);
            space.giveBack(spot);
          }
        }
      }
    }
  }

  private static int origins(int e, int n, boolean wrap) {
    return e == n ? 1 : wrap ? n : n - e + 1;
  }

  @Test
  void fillsATorusOfHostsWithoutWaste() {
    TpuTopology topology = TpuTopology.torus(16, 20, 28);
    TorusSpace space = space(topology);
    int want = space.register(want(Shape.of(4, 4, 4)));
    int placed = 0;
    for (Spot spot = space.find(want, null); spot != null; spot = space.find(want, null)) {
      space.take(spot);
      placed++;
    }

    assertThat(placed).isEqualTo(16 * 20 * 28 / 64);
    assertThat(space.freeCells()).isZero();
    assertThat(space.fits(want)).isFalse();
    assertThat(space.findOnline(want)).isNull();
  }

  @Test
  void worksOnTheLargestPod() {
    TpuTopology topology =
        TpuTopology.torusBuilder(64, 256, 256).hostTile(Shape.of(1, 1, 1)).build();
    TorusSpace space = space(topology);
    space.setTaken(new Footprint.Box(new Chip(60, 250, 250), Shape.of(10, 10, 10)), true);
    int want = space.register(want(Shape.of(63, 5, 7)));
    int dice = space.register(want(Shape.of(9, 9, 9)));

    Spot spot = space.find(want, null);
    space.take(spot);
    Spot other = space.find(dice, new SplittableRandom(1));
    Spot online = space.findOnline(dice);

    assertThat(space.freeCells()).isEqualTo(topology.cellCount() - 1000 - 63 * 5 * 7);
    assertThat(topology.whyNot(Shape.of(63, 5, 7), spot.footprint())).isEmpty();
    assertThat(other).isNotNull();
    assertThat(online).isNotNull();
    space.take(other);
    assertThat(space.freeCells()).isEqualTo(topology.cellCount() - 1000 - 63 * 5 * 7 - 729);
  }

  @Test
  void prefersTheCornerOfAMesh() {
    TpuTopology topology = TpuTopology.torusBuilder(8, 8).hostTile(Shape.of(1, 1)).mesh().build();
    TorusSpace space = space(topology);
    Spot spot = space.find(space.register(want(Shape.of(2, 3))), null);

    assertThat(box(spot).origin()).isEqualTo(new Chip(0, 0, 0));
    assertThat(spot.score()).isEqualTo(5);
  }

  @Test
  void fillsAHoleThatFitsExactly() {
    TpuTopology topology = TpuTopology.torusBuilder(8, 8).hostTile(Shape.of(1, 1)).build();
    TorusSpace space = space(topology);
    // A wall round 2x3 at (3,4), which passes the end of y.
    space.setTaken(new Footprint.Box(new Chip(2, 3, 0), Shape.of(4, 1)), true);
    space.setTaken(new Footprint.Box(new Chip(2, 7, 0), Shape.of(4, 1)), true);
    space.setTaken(new Footprint.Box(new Chip(2, 4, 0), Shape.of(1, 3)), true);
    space.setTaken(new Footprint.Box(new Chip(5, 4, 0), Shape.of(1, 3)), true);
    int want = space.register(want(Shape.of(3, 2)));

    for (Spot spot :
        List.of(
            space.find(want, null),
            space.find(want, new SplittableRandom(3)),
            space.findOnline(want))) {
      assertThat(box(spot)).isEqualTo(new Footprint.Box(new Chip(3, 4, 0), Shape.of(2, 3)));
      assertThat(spot.score()).isZero();
    }
  }

  @Test
  void fillsAHoleOffTheLattice() {
    TpuTopology topology = TpuTopology.torusBuilder(8, 8).hostTile(Shape.of(1, 1)).build();
    TorusSpace space = space(topology);
    // A wall round 2x2 at (3,5); without it the slice would go to (0,0) or another even place.
    space.setTaken(new Footprint.Box(new Chip(2, 4, 0), Shape.of(4, 1)), true);
    space.setTaken(new Footprint.Box(new Chip(2, 7, 0), Shape.of(4, 1)), true);
    space.setTaken(new Footprint.Box(new Chip(2, 5, 0), Shape.of(1, 2)), true);
    int want = space.register(want(Shape.of(2, 2)));
    Chip open = box(space.findOnline(want)).origin();
    space.setTaken(new Footprint.Box(new Chip(5, 5, 0), Shape.of(1, 2)), true);

    assertThat(open.x() % 2 + open.y() % 2).isZero();
    assertThat(box(space.findOnline(want)).origin()).isEqualTo(new Chip(3, 5, 0));
  }

  @Test
  void keepsToTheLatticeUntilOtherExtentsHoldAThird() {
    TpuTopology topology = TpuTopology.torusBuilder(16, 16).hostTile(Shape.of(1, 1)).build();
    TorusSpace space = space(topology);
    int want = space.register(want(Shape.of(4, 4)));
    Footprint.Box five = new Footprint.Box(new Chip(1, 1, 0), Shape.of(5, 5));
    Footprint.Box eight = new Footprint.Box(new Chip(7, 7, 0), Shape.of(8, 8));

    assertThat(isAligned(space.findOnline(want))).isTrue();
    space.setTaken(five, true);
    assertThat(isAligned(space.findOnline(want))).as("25 of 25").isFalse();
    space.setTaken(eight, true);
    assertThat(isAligned(space.findOnline(want))).as("25 of 89").isTrue();
    space.setTaken(eight, false);
    assertThat(isAligned(space.findOnline(want))).as("25 of 25").isFalse();
    space.setTaken(five, false);
    assertThat(isAligned(space.findOnline(want))).isTrue();
  }

  private static boolean isAligned(Spot spot) {
    Chip origin = box(spot).origin();
    return origin.x() % 4 == 0 && origin.y() % 4 == 0;
  }

  @Test
  void wantsThatCannotEverBePlacedHaveNoNumber() {
    TpuTopology topology = TpuTopology.torusBuilder(8, 8, 4).wrap(Axis.Z, false).build();
    TorusSpace space = space(topology);

    assertThat(space.register(want(Shape.of(3, 2, 1)))).isEqualTo(-1);
    assertThat(space.register(want(Shape.of(10, 2, 1)))).isEqualTo(-1);
    assertThat(space.register(want(Shape.of(4, 4)))).isEqualTo(-1);
    assertThat(space.register(new Want(Shape.of(1, 2, 2), false, false, false, ""))).isEqualTo(-1);
    assertThat(space.register(new Want(Shape.of(4, 4, 4), true, false, true, ""))).isEqualTo(-1);
    assertThat(space.register(new Want(Shape.of(1, 8, 8), true, false, true, ""))).isNotEqualTo(-1);
    assertThat(space.find(-1, null)).isNull();
    assertThat(space.findOnline(-1)).isNull();
    assertThat(space.fits(-1)).isFalse();
    assertThat(space.coverage(-1).isEmpty()).isTrue();
    space.forEachCandidate(-1, f -> assertThat(f).isNull());
  }

  @Test
  void equalWantsShareANumber() {
    TorusSpace space = space(TpuTopology.torus(8, 8, 8));

    int number = space.register(want(Shape.of(2, 4, 8)));

    assertThat(space.register(want(Shape.of(8, 4, 2)))).isEqualTo(number);
    assertThat(space.register(new Want(Shape.of(2, 4, 8), true, true, false, "someone")))
        .as("nothing is degraded, nothing held")
        .isEqualTo(number);
    assertThat(space.register(new Want(Shape.of(2, 4, 8), false, false, false, "")))
        .isNotEqualTo(number);
  }

  @Test
  void smallSlicesStayInsideAHost() {
    TpuTopology topology =
        TpuTopology.torusBuilder(4, 8)
            .hostTile(Shape.of(2, 4))
            .slicing(
                new Slicing.TorusBoxes(
                    List.of(Shape.of(1, 1), Shape.of(2, 2), Shape.of(2, 4)), false))
            .build();
    TorusSpace space = space(topology);

    assertThat(space.feasibleCount(space.register(want(Shape.of(1, 1))))).isEqualTo(32);
    assertThat(space.feasibleCount(space.register(want(Shape.of(2, 2))))).isEqualTo(8);
    assertThat(space.feasibleCount(space.register(want(Shape.of(2, 4))))).isEqualTo(4);
    Spot chip = space.find(space.register(want(Shape.of(1, 1))), null);
    space.take(chip);
    assertThat(space.feasibleCount(space.register(want(Shape.of(2, 2))))).isEqualTo(7);
    assertThat(space.feasibleCount(space.register(want(Shape.of(2, 4))))).isEqualTo(3);
  }

  @Test
  void windowsLieRoundFreeCells() {
    TpuTopology topology = TpuTopology.torusBuilder(40, 40).hostTile(Shape.of(1, 1)).build();
    TorusSpace space = space(topology);
    List<Spot> spots = new ArrayList<>();
    int want = space.register(want(Shape.of(4, 4)));
    for (Spot spot = space.find(want, null); spot != null; spot = space.find(want, null)) {
      space.take(spot);
      spots.add(spot);
    }
    assertThat(spots).hasSize(100);
    space.giveBack(spots.remove(37));
    SplittableRandom random = new SplittableRandom(5);
    int touched = 0;
    for (int i = 0; i < 200; i++) {
      Predicate<Spot> window = space.window(random);
      long met = spots.stream().filter(window).count();
      assertThat(met).isLessThanOrEqualTo(24);
      touched += met > 0 ? 1 : 0;
    }
    assertThat(touched).isGreaterThan(50);
    space.take(space.find(want, null));
    assertThat(spots).as("of a full pod").anyMatch(space.window(random));
  }

  @Test
  void spotsOfListedOriginsCanBeTaken() {
    TorusSpace space = space(TpuTopology.torus(4, 20, 6));
    int want = space.register(want(Shape.of(2, 4, 2)));
    List<Spot> spots = new ArrayList<>();
    space.feasibleOrigins(want, (turn, x, y, z) -> spots.add(space.spot(want, turn, x, y, z)));

    assertThat(spots).hasSize(space.feasibleCount(want));
    for (int turn = 0; turn < space.turns(want); turn++) {
      assertThat(space.extents(want, turn).sorted()).isEqualTo(Shape.of(2, 2, 4));
    }
    for (Spot spot : spots) {
      int before = space.freeCells();
      space.take(spot);
      assertThat(before - space.freeCells()).isEqualTo(4);
      space.giveBack(spot);
    }
  }
}
