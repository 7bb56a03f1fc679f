package dev.slicewright.fleet;

import dev.slicewright.topology.Chip;
import java.util.Comparator;

/** Orders parts by kind, then place, so that equal pods list their parts equally. */
final class PartOrder implements Comparator<Part> {

  static final PartOrder INSTANCE = new PartOrder();

  private PartOrder() {}

  @Override
  public int compare(Part a, Part b) {
    int[] left = key(a);
    int[] right = key(b);
    for (int i = 0; i < left.length; i++) {
      int c = Integer.compare(left[i], right[i]);
      if (c != 0) {
        return c;
      }
    }
    return 0;
  }

  private static int[] key(Part part) {
    if (part instanceof Part.Chip chip) {
      Chip at = chip.chip();
      return new int[] {0, at.z(), at.y(), at.x(), 0};
    }
    if (part instanceof Part.Host host) {
      return new int[] {1, host.host().index(), 0, 0, 0};
    }
    if (part instanceof Part.Link link) {
      Chip at = link.from();
      return new int[] {2, at.z(), at.y(), at.x(), link.axis().ordinal()};
    }
    if (part instanceof Part.Cube cube) {
      return new int[] {3, cube.cube().index(), 0, 0, 0};
    }
    Part.OcsPort port = (Part.OcsPort) part;
    return new int[] {
      4, port.cube().index(), port.axis().ordinal(), port.positive() ? 1 : 0, port.index()
    };
  }
}
