package dev.slicewright.search;

import dev.slicewright.topology.Footprint;
import java.util.List;

/**
 * Where one demand goes. Immutable, safe to share: its array must not be changed.
 *
 * @param choice the index of its choice
 * @param pods the pod of each slice, by number
 * @param footprints the footprint of each slice
 */
public record Assignment(int choice, int[] pods, List<Footprint> footprints) {
  /** Copies the list. */
  public Assignment {
    footprints = List.copyOf(footprints);
  }
}
