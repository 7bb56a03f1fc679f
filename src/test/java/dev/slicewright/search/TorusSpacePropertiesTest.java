package dev.slicewright.search;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.search.PodSpace.Spot;
import dev.slicewright.topology.Axis;
import dev.slicewright.topology.CellSet;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.TreeSet;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

class TorusSpacePropertiesTest {

  @Property(tries = 1500)
  void feasibleFootprintsAreThoseOfBruteForce(@ForAll long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    TpuTopology topology = RandomTorus.topology(random);
    Pod pod = RandomTorus.pod(topology, random);
    TorusSpace space = new TorusSpace(pod, RandomTorus.NOW);
    for (int i = 0; i < 4; i++) {
      Want want = RandomTorus.want(topology, random);
      int number = space.register(want);
      Set<String> could = new TreeSet<>();
      Set<String> expected = new TreeSet<>();
      CellSet covered = CellSet.empty(topology.cellCount());
      for (Footprint.Box box : RandomTorus.boxes(topology, want)) {
        if (RandomTorus.usable(pod, want, box)) {
          could.add(RandomTorus.key(topology, box));
          if (!pod.busy().containsAny(topology.cells(box))) {
            expected.add(RandomTorus.key(topology, box));
            covered = covered.with(topology.cells(box));
          }
        }
      }

      List<String> found = new ArrayList<>();
      space.forEachCandidate(number, f -> found.add(RandomTorus.key(topology, (Footprint.Box) f)));

      assertThat(number == -1).as("%s %s %s", topology, pod, want).isEqualTo(could.isEmpty());
      assertThat(space.register(want)).isEqualTo(number);
      assertThat(found).doesNotHaveDuplicates().containsExactlyInAnyOrderElementsOf(expected);
      assertThat(space.feasibleCount(number)).isEqualTo(expected.size());
      assertThat(space.fits(number)).isEqualTo(!expected.isEmpty());
      assertThat(cells(space.coverageWords(number), topology)).isEqualTo(covered);
    }
  }

  @Property(tries = 1000)
  void findTakesTheLeastExposed(@ForAll long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    TpuTopology topology = RandomTorus.topology(random);
    Pod pod = RandomTorus.pod(topology, random);
    TorusSpace space = new TorusSpace(pod, RandomTorus.NOW);
    CellSet taken = pod.busy();
    for (int i = 0; i < 4; i++) {
      Want want = RandomTorus.want(topology, random);
      int number = space.register(want);
      TreeMap<String, Integer> scores = new TreeMap<>();
      for (Footprint.Box box : RandomTorus.boxes(topology, want)) {
        if (RandomTorus.usable(pod, want, box) && !taken.containsAny(topology.cells(box))) {
          scores.put(RandomTorus.key(topology, box), RandomTorus.exposed(pod, taken, want, box));
        }
      }

      Spot spot = space.find(number, null);
      Spot loose = space.find(number, random);
      Spot online = space.findOnline(number);

      if (scores.isEmpty()) {
        assertThat(spot).isNull();
        assertThat(loose).isNull();
        assertThat(online).isNull();
        continue;
      }
      int least = scores.values().stream().min(Integer::compare).orElseThrow();
      assertThat(scores).containsEntry(key(topology, spot), least);
      assertThat(spot.score()).isEqualTo(least);
      assertThat(scores).containsEntry(key(topology, loose), (int) loose.score());
      assertThat(scores).containsEntry(key(topology, online), (int) online.score());
      assertThat(space.find(number, null).footprint()).isEqualTo(spot.footprint());
      assertThat(space.findOnline(number).footprint()).isEqualTo(online.footprint());
      if (scores.size() <= 48) {
        assertThat(loose.score()).isEqualTo(least);
      }
      Spot next = random.nextBoolean() ? spot : loose;
      space.take(next);
      taken = taken.with(topology.cells(next.footprint()));
    }
  }

  @Property(tries = 500)
  void onlineSpoilsTheLeast(@ForAll long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    TpuTopology topology = RandomTorus.topology(random);
    Pod pod = RandomTorus.pod(topology, random);
    TorusSpace space = new TorusSpace(pod, RandomTorus.NOW);
    Want want = new Want(RandomTorus.shape(topology, random), true, false, false, "");
    int number = space.register(want);
    List<TorusSpace.Share> mix = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      mix.add(new TorusSpace.Share(RandomTorus.shape(topology, random), 1 + random.nextInt(20)));
    }
    List<Footprint.Box> free = free(pod, want);

    Spot spot = space.findDestroyLeast(number, mix);

    if (free.isEmpty()) {
      assertThat(spot).isNull();
      return;
    }
    boolean even = isLatticeUsed(pod, want);
    List<Footprint.Box> lattice = even ? lattice(topology, free) : List.of();
    Map<Footprint.Box, Integer> exposed = new LinkedHashMap<>();
    for (Footprint.Box box : free) {
      int score = RandomTorus.exposed(pod, pod.busy(), want, box);
      if (lattice.isEmpty() || lattice.contains(box) || score == 0) {
        exposed.put(box, score);
      }
    }
    Map<Footprint.Box, Double> spoilt = new LinkedHashMap<>();
    exposed.keySet().forEach(box -> spoilt.put(box, spoilt(pod, mix, want, box, even)));
    double least = spoilt.values().stream().min(Double::compare).orElseThrow();
    List<Footprint.Box> best =
        spoilt.keySet().stream().filter(box -> spoilt.get(box) == least).toList();
    assertThat(best).as("%s %s %s", topology, pod, want).contains((Footprint.Box) spot.footprint());
    if (lattice.isEmpty()) {
      assertThat(spot.score()).isEqualTo(best.stream().mapToInt(exposed::get).min().orElseThrow());
    } else {
      assertThat(spot.footprint())
          .isEqualTo(
              best.stream()
                  .min(
                      Comparator.comparing((Footprint.Box box) -> exposed.get(box) > 0)
                          .thenComparing(Footprint.Box::extents)
                          .thenComparing(box -> box.origin().x())
                          .thenComparing(box -> box.origin().y())
                          .thenComparing(box -> box.origin().z()))
                  .orElseThrow());
    }
  }

  /** Whether all extents are powers of two, and in less than a third of the taken cells not. */
  private static boolean isLatticeUsed(Pod pod, Want want) {
    TpuTopology topology = pod.topology();
    int odd = 0;
    int all = 0;
    for (RunningSlice slice : pod.running()) {
      int cells = topology.cells(slice.footprint()).length;
      all += cells;
      odd += isEven(topology, (Footprint.Box) slice.footprint()) ? 0 : cells;
    }
    return 3 * odd <= all
        && RandomTorus.boxes(topology, want).stream()
            .filter(box -> RandomTorus.usable(pod, want, box))
            .allMatch(box -> isEven(topology, box));
  }

  private static boolean isEven(TpuTopology topology, Footprint.Box box) {
    for (Axis axis : Axis.values()) {
      int extent = box.extents().get(axis) / topology.cellTile().get(axis);
      if (Integer.highestOneBit(extent) != extent) {
        return false;
      }
    }
    return true;
  }

  /** Those at multiples of the largest power of two within each extent, and not over an end. */
  private static List<Footprint.Box> lattice(TpuTopology topology, List<Footprint.Box> boxes) {
    List<Footprint.Box> on = new ArrayList<>();
    for (Footprint.Box box : boxes) {
      boolean all = true;
      for (Axis axis : Axis.values()) {
        int extent = box.extents().get(axis) / topology.cellTile().get(axis);
        int at = box.origin().get(axis) / topology.cellTile().get(axis);
        all &= at % Integer.highestOneBit(extent) == 0;
        all &= at + extent <= topology.cellGrid().get(axis);
      }
      if (all) {
        on.add(box);
      }
    }
    return on;
  }

  private static List<Footprint.Box> free(Pod pod, Want want) {
    Set<String> seen = new TreeSet<>();
    List<Footprint.Box> free = new ArrayList<>();
    for (Footprint.Box box : RandomTorus.boxes(pod.topology(), want)) {
      if (RandomTorus.usable(pod, want, box)
          && !pod.busy().containsAny(pod.topology().cells(box))
          && seen.add(RandomTorus.key(pod.topology(), box))) {
        free.add(box);
      }
    }
    return free;
  }

  /** Summed up as the rule does, so that ties are ties. */
  private static double spoilt(
      Pod pod, List<TorusSpace.Share> mix, Want own, Footprint.Box placed, boolean even) {
    TpuTopology topology = pod.topology();
    CellSet cells = CellSet.empty(topology.cellCount()).with(topology.cells(placed));
    double cost = 0;
    boolean any = false;
    for (int i = mix.size() - 1; i >= 0; i--) {
      TorusSpace.Share share = mix.get(i);
      Want want = new Want(share.shape(), true, false, false, "");
      any |=
          RandomTorus.boxes(topology, want).stream()
              .anyMatch(box -> RandomTorus.usable(pod, want, box));
      cost += spoilt(pod, want, share.share() * share.shape().chips(), cells, even);
    }
    return any ? cost : spoilt(pod, own, 1, cells, even);
  }

  private static double spoilt(Pod pod, Want want, double worth, CellSet cells, boolean even) {
    List<Footprint.Box> free = free(pod, want);
    List<Footprint.Box> left = even ? lattice(pod.topology(), free) : free;
    long gone = left.stream().filter(box -> cells.containsAny(pod.topology().cells(box))).count();
    return gone == 0 ? 0 : worth / left.size() * gone;
  }

  @Property(tries = 300)
  void takingAndGivingBackChangesNothing(@ForAll long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    TpuTopology topology = RandomTorus.topology(random);
    Pod pod = RandomTorus.pod(topology, random);
    TorusSpace space = new TorusSpace(pod, RandomTorus.NOW);
    List<Want> wants = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      wants.add(RandomTorus.want(topology, random));
    }
    List<List<Footprint>> before = candidates(space, wants);
    List<Footprint> online = online(space, wants);
    int free = space.freeCells();
    List<Spot> held = new ArrayList<>();
    CellSet taken = pod.busy();
    for (int i = 0; i < 40; i++) {
      Spot spot = space.find(space.register(wants.get(random.nextInt(3))), random);
      if (spot != null && random.nextInt(3) > 0) {
        int[] cells = topology.cells(spot.footprint());
        assertThat(taken.containsAny(cells)).isFalse();
        taken = taken.with(cells);
        space.take(spot);
        held.add(spot);
      } else if (!held.isEmpty()) {
        Spot back = held.remove(random.nextInt(held.size()));
        taken = taken.without(topology.cells(back.footprint()));
        space.giveBack(back);
      }
      if (random.nextInt(4) == 0) {
        Want want = wants.get(random.nextInt(3));
        Set<String> expected = new TreeSet<>();
        for (Footprint.Box box : RandomTorus.boxes(topology, want)) {
          if (RandomTorus.usable(pod, want, box) && !taken.containsAny(topology.cells(box))) {
            expected.add(RandomTorus.key(topology, box));
          }
        }
        Set<String> found = new TreeSet<>();
        space.forEachCandidate(
            space.register(want), f -> found.add(RandomTorus.key(topology, (Footprint.Box) f)));
        assertThat(found).isEqualTo(expected);
      }
    }
    held.forEach(space::giveBack);

    assertThat(candidates(space, wants)).isEqualTo(before);
    assertThat(online(space, wants)).isEqualTo(online);
    assertThat(space.freeCells()).isEqualTo(free);
  }

  @Property(tries = 300)
  void freedSlicesLeaveWhatAFleetWithoutThemHas(@ForAll long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    TpuTopology topology = RandomTorus.topology(random);
    Pod pod = RandomTorus.pod(topology, random);
    List<Want> wants = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      wants.add(RandomTorus.want(topology, random));
    }
    TorusSpace freed = new TorusSpace(pod, RandomTorus.NOW);
    TorusSpace untouched = new TorusSpace(pod, RandomTorus.NOW);
    CellSet taken = pod.busy();
    for (RunningSlice slice : pod.running()) {
      freed.setTaken(slice.footprint(), false);
      taken = taken.without(topology.cells(slice.footprint()));
    }

    assertThat(taken.isEmpty()).isTrue();
    for (Want want : wants) {
      int number = freed.register(want);
      CellSet covered = CellSet.empty(topology.cellCount());
      for (Footprint.Box box : RandomTorus.boxes(topology, want)) {
        if (RandomTorus.usable(pod, want, box)) {
          covered = covered.with(topology.cells(box));
        }
      }
      assertThat(cells(freed.coverageWords(number), topology)).isEqualTo(covered);
    }
    for (RunningSlice slice : pod.running()) {
      freed.setTaken(slice.footprint(), true);
    }
    assertThat(candidates(freed, wants)).isEqualTo(candidates(untouched, wants));
    assertThat(online(freed, wants)).isEqualTo(online(untouched, wants));
  }

  @Property(tries = 200)
  void translatingAnEmptyTorusChangesNothing(@ForAll long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    int x = 1 + random.nextInt(6);
    int y = 1 + random.nextInt(6);
    int z = 1 + random.nextInt(6);
    TpuTopology topology = TpuTopology.torusBuilder(x, y, z).hostTile(Shape.of(1, 1, 1)).build();
    Pod pod = Fleet.builder().pod("p", topology).build().pod("p").orElseThrow();
    Want want = new Want(RandomTorus.shape(topology, random), true, false, false, "");
    Shape block = Shape.of(1 + random.nextInt(x), 1 + random.nextInt(y), 1 + random.nextInt(z));
    TorusSpace here = new TorusSpace(pod, RandomTorus.NOW);
    TorusSpace there = new TorusSpace(pod, RandomTorus.NOW);
    here.setTaken(new Footprint.Box(new Chip(0, 0, 0), block), true);
    there.setTaken(new Footprint.Box(RandomTorus.chip(topology, random), block), true);

    int h = here.register(want);
    int t = there.register(want);

    assertThat(there.feasibleCount(t)).isEqualTo(here.feasibleCount(h));
    Spot one = here.find(h, null);
    Spot two = there.find(t, null);
    assertThat(one == null).isEqualTo(two == null);
    if (one != null) {
      assertThat(two.score()).isEqualTo(one.score());
    }
    assertThat(cells(there.coverageWords(t), topology).cardinality())
        .isEqualTo(cells(here.coverageWords(h), topology).cardinality());
  }

  private static List<List<Footprint>> candidates(TorusSpace space, List<Want> wants) {
    List<List<Footprint>> all = new ArrayList<>();
    for (Want want : wants) {
      List<Footprint> found = new ArrayList<>();
      space.forEachCandidate(space.register(want), found::add);
      all.add(found);
    }
    return all;
  }

  private static List<Footprint> online(TorusSpace space, List<Want> wants) {
    List<Footprint> found = new ArrayList<>();
    for (Want want : wants) {
      Spot spot = space.findOnline(space.register(want));
      found.add(spot == null ? null : spot.footprint());
    }
    return found;
  }

  private static String key(TpuTopology topology, Spot spot) {
    return RandomTorus.key(topology, (Footprint.Box) spot.footprint());
  }

  private static CellSet cells(long[] bits, TpuTopology topology) {
    List<Integer> cells = new ArrayList<>();
    for (int i = 0; i < bits.length * 64; i++) {
      if ((bits[i >>> 6] >>> i & 1) != 0) {
        cells.add(i);
      }
    }
    return CellSet.empty(topology.cellCount())
        .with(cells.stream().mapToInt(Integer::intValue).toArray());
  }
}
