package dev.slicewright.solve;

import dev.slicewright.SliceId;
import dev.slicewright.search.Assignment;
import dev.slicewright.topology.Footprint;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** A solution under way: where demands go, what moves, what leaves. */
record Solution(
    List<@Nullable Assignment> placed, Map<SliceId, Target> moved, Set<String> evicted) {

  /** Where a moved slice goes. */
  record Target(int pod, Footprint footprint) {}

  static Solution nothing(int demands) {
    List<@Nullable Assignment> none = new ArrayList<>(demands);
    for (int i = 0; i < demands; i++) {
      none.add(null);
    }
    return new Solution(none, new TreeMap<>(), new TreeSet<>());
  }

  static Solution of(List<@Nullable Assignment> placed) {
    return new Solution(placed, new TreeMap<>(), new TreeSet<>());
  }
}
