package dev.slicewright.bench;

import dev.slicewright.plan.Level;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.request.SliceRequest;
import java.util.List;

/**
 * The levels of a problem as one weighted sum that loses nothing of their order: a chip of one
 * priority weighs more than all chips wanted at the lower ones. Not safe; external synchronisation
 * needed.
 */
final class Weights {

  private final BenchProblem problem;
  private final List<Level> levels;
  private final long[] weights; // of a chip, by level; 0 where nothing can change
  private final long[] wanted; // chips, by level

  Weights(BenchProblem problem) {
    this.problem = problem;
    this.levels = Judge.levels(problem);
    this.weights = new long[levels.size()];
    this.wanted = new long[levels.size()];
    for (SliceRequest request : problem.requests()) {
      wanted[level(request)] += chips(request);
    }
    long below = 0;
    for (int l = levels.size() - 1; l >= 0; l--) {
      if (levels.get(l).kind() == Level.Kind.PLACED) {
        weights[l] = below + 1;
        below = Math.addExact(below, Math.multiplyExact(weights[l], wanted[l]));
      }
    }
  }

  private int level(SliceRequest request) {
    return levels.indexOf(new Level(Level.Kind.PLACED, request.priority()));
  }

  private static long chips(SliceRequest request) {
    return Positions.shape(request).chips() * request.slices();
  }

  /** What placing all slices of a request earns. */
  long of(SliceRequest request) {
    return Math.multiplyExact(weights[level(request)], chips(request));
  }

  /** The sum for values by level. */
  long sum(long[] values) {
    long sum = 0;
    for (int l = 0; l < values.length; l++) {
      sum = Math.addExact(sum, Math.multiplyExact(weights[l], values[l]));
    }
    return sum;
  }

  /** Values by level of what is placed. */
  long[] values(Placing[] placed) {
    long[] values = new long[weights.length];
    for (int r = 0; r < placed.length; r++) {
      if (placed[r] != null) {
        values[level(problem.requests().get(r))] += chips(problem.requests().get(r));
      }
    }
    return values;
  }

  /** What a bound of the sum says of each level, the earlier ones held at their values. */
  Long[] bounds(double bound, long[] values) {
    long rest = (long) Math.floor(Math.min(bound, (double) Long.MAX_VALUE / 2) + 1e-6);
    Long[] out = new Long[weights.length];
    for (int l = 0; l < out.length; l++) {
      if (weights[l] == 0) {
        out[l] =
            PlanVerifier.trivialBound(
                problem.fleet(), problem.requests(), problem.rules(), levels.get(l));
      } else {
        out[l] = Math.max(values[l], Math.min(wanted[l], rest / weights[l]));
        rest = Math.max(0, rest - weights[l] * values[l]);
      }
    }
    return out;
  }
}
