package dev.slicewright.kubernetes;

import java.util.List;

/**
 * The Slices that a workload's conditions on nodes name by its author's own hand: its pods can run
 * there and nowhere else. Immutable, safe to share.
 *
 * @param field the path of what names them; empty if nothing does
 * @param names those of its slices by order; empty if none is named
 */
record SliceSelection(String field, List<String> names) {

  static final SliceSelection NONE = new SliceSelection("", List.of());

  SliceSelection {
    names = List.copyOf(names);
  }

  boolean isEmpty() {
    return names.isEmpty();
  }
}
