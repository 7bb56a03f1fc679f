package dev.slicewright.kubernetes;

import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Shape;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/** How the chips of a host lie, by their number: GKE's machine types {@code -1t, -4t, -8t}. */
final class HostTiles {

  private static final Map<Integer, Shape> FLAT =
      new TreeMap<>(Map.of(1, Shape.of(1, 1), 4, Shape.of(2, 2), 8, Shape.of(2, 4)));
  private static final Map<Integer, Shape> CUBIC = Map.of(4, Shape.of(2, 2, 1));

  private HostTiles() {}

  private static Map<Integer, Shape> tiles(AcceleratorType type) {
    return type.rank() == 2 ? FLAT : CUBIC;
  }

  static Optional<Shape> of(AcceleratorType type, int chips) {
    return Optional.ofNullable(tiles(type).get(chips));
  }

  /** The numbers of chips that hosts have, for a message. */
  static String choices(AcceleratorType type) {
    return String.join(" or ", tiles(type).keySet().stream().map(String::valueOf).toList());
  }
}
