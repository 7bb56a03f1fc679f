package dev.slicewright.simulate;

import java.util.List;
import org.jspecify.annotations.Nullable;

/** How another scheduler chooses where one box goes. Confined to one thread at a time. */
interface PlacementRule {

  /**
   * Chooses; the grids stay as they are.
   *
   * @param grids the pods
   * @param turns the ways in which the box may be turned, in cells: {@link BoxGrid#turns}
   * @return where it goes, or null if nowhere
   */
  BoxGrid.@Nullable Spot place(List<BoxGrid> grids, List<BoxGrid.Extents> turns);
}
