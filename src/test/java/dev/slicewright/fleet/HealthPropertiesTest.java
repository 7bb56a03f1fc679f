package dev.slicewright.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.topology.Axis;
import dev.slicewright.topology.Chip;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.TpuTopology;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** The rules of health, chip by chip and link by link. */
class HealthPropertiesTest {

  @Property(tries = 1500)
  void whatHealthMeansIsWhatTheRulesSay(
      @ForAll @IntRange(max = 6) int kind,
      @ForAll @IntRange(max = 4) int parts,
      @ForAll long seed) {
    TpuTopology t = RandomParts.ALL.get(kind);
    Random random = new Random(seed);
    Fleet fleet = Fleet.builder().pod("p", t).build();
    Map<Part, Health> reported = new HashMap<>();
    for (int i = 0; i < parts; i++) {
      Part part = RandomParts.part(t, random);
      Health health = Health.values()[random.nextInt(3)];
      fleet = fleet.report("p", part, health);
      reported.put(part, health);
    }
    Pod pod = fleet.pod("p").orElseThrow();
    for (int i = 0; i < 20; i++) {
      RandomParts.Spot spot = RandomParts.spot(t, random);
      if (t.whyNot(spot.shape(), spot.footprint()).isPresent()) {
        continue;
      }
      Health expected = bruteForce(t, reported, spot.footprint());
      assertThat(pod.healthOf(spot.footprint()))
          .as("%s with %s", spot, reported)
          .isEqualTo(expected);
      assertThat(pod.health().of(t, spot.footprint(), t.cells(spot.footprint())))
          .isEqualTo(expected);
    }
  }

  @Property(tries = 300)
  void cordonsCoverTheHostsOfTheirParts(
      @ForAll @IntRange(max = 6) int kind,
      @ForAll @IntRange(max = 5) int parts,
      @ForAll long seed) {
    TpuTopology t = RandomParts.ALL.get(kind);
    Random random = new Random(seed);
    Fleet fleet = Fleet.builder().pod("p", t).build();
    Set<HostId> hosts = new HashSet<>();
    for (int i = 0; i < parts; i++) {
      Part part = RandomParts.part(t, random);
      if (part instanceof Part.Link || part instanceof Part.OcsPort) {
        continue;
      }
      fleet = fleet.cordon("p", part);
      for (int c = 0; c < t.chipCount(); c++) {
        Chip chip = t.chip(c);
        if (part instanceof Part.Chip p && t.hostOf(p.chip()).equals(t.hostOf(chip))
            || part instanceof Part.Host h && h.host().equals(t.hostOf(chip))
            || part instanceof Part.Cube q && q.cube().equals(t.cubeOf(chip))) {
          hosts.add(t.hostOf(chip));
        }
      }
    }
    Pod pod = fleet.pod("p").orElseThrow();
    for (int cell = 0; cell < t.cellCount(); cell++) {
      assertThat(pod.cordonedCells().contains(cell)).isEqualTo(hosts.contains(t.hostOfCell(cell)));
    }
    assertThat(fleet.cordonPod("p").pod("p").orElseThrow().cordonedCells().cardinality())
        .isEqualTo(t.cellCount());
    assertThat(pod.freeChips())
        .isEqualTo(t.chipCount() - hosts.size() * (int) t.hostTile().chips());
  }

  private static Health bruteForce(TpuTopology t, Map<Part, Health> reported, Footprint footprint) {
    Set<Chip> chips = new HashSet<>();
    t.forEachChip(footprint, c -> chips.add(t.chip(c)));
    Set<Part.Link> links = links(t, footprint, chips);
    Set<CubeId> cubes = new HashSet<>();
    if (footprint instanceof Footprint.Cubes whole) {
      cubes.addAll(whole.cubes());
    }
    Health worst = Health.HEALTHY;
    for (Map.Entry<Part, Health> entry : reported.entrySet()) {
      Part part = entry.getKey();
      boolean failed = entry.getValue() == Health.FAILED;
      boolean touched;
      boolean degradesOnly = false;
      if (part instanceof Part.Chip chip) {
        touched =
            failed
                ? chips.stream().anyMatch(c -> t.hostOf(c).equals(t.hostOf(chip.chip())))
                : chips.contains(chip.chip());
      } else if (part instanceof Part.Host host) {
        touched = chips.stream().anyMatch(c -> t.hostOf(c).equals(host.host()));
      } else if (part instanceof Part.Cube cube) {
        touched = chips.stream().anyMatch(c -> t.cubeOf(c).equals(cube.cube()));
      } else if (part instanceof Part.OcsPort port) {
        touched = cubes.contains(port.cube());
        degradesOnly = true;
      } else {
        Part.Link link = (Part.Link) part;
        boolean optical = t.isOptical() && link.from().get(link.axis()) % 4 == 3;
        touched = optical ? cubes.contains(t.cubeOf(link.from())) : links.contains(link);
        degradesOnly = optical;
      }
      Health effect =
          entry.getValue() == Health.HEALTHY || !touched
              ? Health.HEALTHY
              : failed && !degradesOnly ? Health.FAILED : Health.DEGRADED;
      worst = effect.compareTo(worst) > 0 ? effect : worst;
    }
    return worst;
  }

  /** The copper links of a slice: step from every chip along every axis. */
  private static Set<Part.Link> links(TpuTopology t, Footprint footprint, Set<Chip> chips) {
    Set<Part.Link> links = new HashSet<>();
    for (Chip chip : chips) {
      for (Axis axis : Axis.values()) {
        int n = t.dims().get(axis);
        int next = chip.get(axis) + 1;
        if (n == 1 || t.isOptical() && next % 4 == 0 || next == n && !t.wraps(axis)) {
          continue;
        }
        Chip to =
            switch (axis) {
              case X -> new Chip(next % n, chip.y(), chip.z());
              case Y -> new Chip(chip.x(), next % n, chip.z());
              case Z -> new Chip(chip.x(), chip.y(), next % n);
            };
        // A ring closes only where the slice spans the axis; a box's last chip has no link onward.
        boolean last =
            footprint instanceof Footprint.Box box
                && box.extents().get(axis) < n
                && chip.get(axis) == (box.origin().get(axis) + box.extents().get(axis) - 1) % n;
        if (chips.contains(to) && !last) {
          links.add(new Part.Link(chip, axis));
        }
      }
    }
    return links;
  }
}
