package dev.slicewright.bench;

import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import java.util.List;

/**
 * Where an engine puts all slices of one request. Immutable, safe to share.
 *
 * @param shape their shape
 * @param pods the pod's id of each
 * @param footprints the footprint of each
 */
record Placing(Shape shape, List<String> pods, List<Footprint> footprints) {
  Placing {
    pods = List.copyOf(pods);
    footprints = List.copyOf(footprints);
  }
}
