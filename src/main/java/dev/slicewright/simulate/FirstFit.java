package dev.slicewright.simulate;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * First fit: the first pod, the first turn, the first free origin, x fastest. O(pods · turns ·
 * cells). Confined to one thread at a time.
 */
final class FirstFit implements PlacementRule {

  @Override
  public BoxGrid.@Nullable Spot place(List<BoxGrid> grids, List<BoxGrid.Extents> turns) {
    for (int g = 0; g < grids.size(); g++) {
      BoxGrid grid = grids.get(g);
      for (BoxGrid.Extents turn : turns) {
        if (turn.size() > grid.free()) {
          continue;
        }
        int[] inTheWay = grid.takenInBox(turn);
        for (int z = 0, i = 0; z < grid.dims.z(); z++) {
          for (int y = 0; y < grid.dims.y(); y++) {
            for (int x = 0; x < grid.dims.x(); x++, i++) {
              if (inTheWay[i] == 0 && grid.mayStart(x, y, z, turn)) {
                return new BoxGrid.Spot(g, x, y, z, turn);
              }
            }
          }
        }
      }
    }
    return null;
  }
}
