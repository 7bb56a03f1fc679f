package dev.slicewright.bench;

import dev.slicewright.request.SliceRequest;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What schedulers that place one after another have in common. Stateless. */
final class Queue {

  private Queue() {}

  /**
   * Requests that are placed all or none, each as a list of their numbers: by the highest priority
   * in it, then as given.
   */
  static List<List<Integer>> units(BenchProblem p) {
    Map<String, List<Integer>> units = new LinkedHashMap<>();
    for (int r = 0; r < p.requests().size(); r++) {
      SliceRequest request = p.requests().get(r);
      String key = request.gang().map(g -> "gang " + g).orElse("request " + request.id());
      units.computeIfAbsent(key, k -> new ArrayList<>()).add(r);
    }
    List<List<Integer>> out = new ArrayList<>(units.values());
    out.sort(
        Comparator.comparingLong(
            u -> -u.stream().mapToLong(r -> p.requests().get(r).priority()).max().orElse(0)));
    return out;
  }

  static boolean isFree(int[] cells, BitSet taken) {
    for (int cell : cells) {
      if (taken.get(cell)) {
        return false;
      }
    }
    return true;
  }
}
