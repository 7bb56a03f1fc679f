package dev.slicewright.kubernetes;

import dev.slicewright.fleet.Part;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/** Collects what nothing new may use. Confined to one thread at a time. */
final class Cordons {

  /** Confined to one thread at a time. */
  private record Of(Domain domain, TreeSet<CubeId> cubes, TreeSet<HostId> hosts) {

    /** Cubes by number, then hosts of other cubes by number. */
    List<Part> parts() {
      List<Part> parts = new ArrayList<>();
      cubes.forEach(cube -> parts.add(new Part.Cube(cube)));
      for (HostId host : hosts) {
        if (cubes.isEmpty() || !cubes.contains(domain.topology().cubeOf(host))) {
          parts.add(new Part.Host(host));
        }
      }
      return List.copyOf(parts);
    }
  }

  private final Map<String, Of> byDomain = new TreeMap<>();

  void add(Domain domain, Footprint footprint) {
    if (footprint instanceof Footprint.Cubes whole) {
      of(domain).cubes().addAll(whole.cubes());
      return;
    }
    for (int cell : domain.topology().cells(footprint)) {
      add(domain, domain.topology().hostOfCell(cell));
    }
  }

  void add(Domain domain, HostId host) {
    of(domain).hosts().add(host);
  }

  private Of of(Domain domain) {
    return byDomain.computeIfAbsent(
        domain.id(), id -> new Of(domain, new TreeSet<>(), new TreeSet<>()));
  }

  /** By domain id. */
  Map<String, List<Part>> parts() {
    Map<String, List<Part>> parts = new TreeMap<>();
    byDomain.forEach((id, of) -> parts.put(id, of.parts()));
    return Collections.unmodifiableMap(parts);
  }
}
