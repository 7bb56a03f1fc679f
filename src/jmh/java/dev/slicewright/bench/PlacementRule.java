package dev.slicewright.bench;

import java.util.List;

/** How another scheduler chooses where one box goes. Confined to one thread at a time. */
interface PlacementRule {

  /**
   * Chooses; the grids stay as they are.
   *
   * @param grids the pods
   * @param turns the ways in which the box may be turned, in cells: {@link BoxGrid#turns}
   * @return where it goes, or null if nowhere
   */
  BoxGrid.Spot place(List<BoxGrid> grids, List<BoxGrid.Extents> turns);
}
