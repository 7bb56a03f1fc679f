package dev.slicewright.bench;

import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Footprint;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The slices of a problem, each with its positions and gain, for peers whose variable is a
 * position. Not safe; external synchronisation needed.
 */
final class PositionItems {

  private final BenchProblem p;
  private final List<Integer> requestOf = new ArrayList<>();

  final Positions at;
  final Weights weights;

  PositionItems(BenchProblem p) {
    this.p = p;
    this.at = new Positions(p.fleet());
    this.weights = new Weights(p);
    for (int r = 0; r < p.requests().size(); r++) {
      for (int s = 0; s < p.requests().get(r).slices(); s++) {
        requestOf.add(r);
      }
    }
  }

  /** Why a problem has no such model, or empty if it has one. */
  static Optional<String> whyNot(BenchProblem p) {
    return p.fleet().pods().stream().anyMatch(pod -> pod.topology().isOptical())
        ? Optional.of(
            "its model has one position for each slice, and n cubes anywhere in a pod are none;"
                + " written for boxes and partitions only.")
        : Optional.empty();
  }

  int size() {
    return requestOf.size();
  }

  private SliceRequest request(int item) {
    return p.requests().get(requestOf.get(item));
  }

  List<Positions.Position> positions(int item) {
    return at.of(request(item));
  }

  /** What placing one slice earns. */
  long gain(int item) {
    return weights.of(request(item)) / request(item).slices();
  }

  /** Items of equal units are placed all or none. */
  Object unit(int item) {
    SliceRequest request = request(item);
    return request.gang().map(g -> (Object) g).orElse(requestOf.get(item));
  }

  /** Requests from a position number, from 1, of each item; 0 or less is not placed. */
  Placing[] placings(int[] chosen) {
    Placing[] placed = new Placing[p.requests().size()];
    if (chosen == null) {
      return placed;
    }
    for (int i = 0; i < chosen.length; ) {
      int r = requestOf.get(i);
      List<String> pods = new ArrayList<>();
      List<Footprint> footprints = new ArrayList<>();
      for (; i < chosen.length && requestOf.get(i) == r; i++) {
        if (chosen[i] > 0) {
          Positions.Position position = positions(i).get(chosen[i] - 1);
          pods.add(at.pods.get(position.pod()).id());
          footprints.add(position.footprint());
        }
      }
      if (pods.size() == p.requests().get(r).slices()) {
        placed[r] = new Placing(Positions.shape(p.requests().get(r)), pods, footprints);
      }
    }
    return placed;
  }

  /** The bounds that a finished search claims. */
  Long[] proved(Placing[] placed) {
    long[] values = weights.values(placed);
    return weights.bounds(weights.sum(values), values);
  }
}
