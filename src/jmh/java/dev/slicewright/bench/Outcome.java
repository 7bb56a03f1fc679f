package dev.slicewright.bench;

import dev.slicewright.plan.Plan;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * What an engine found. Immutable, safe to share. Its array must not be changed.
 *
 * @param millis wall time from the problem to the answer
 * @param stopped why it stopped
 * @param placed for each request where it goes, or null; empty if there is a plan
 * @param bounds for each level the bound that it claims, or null; null if it claims none
 * @param plan our own plan, or null
 */
record Outcome(double millis, String stopped, List<Placing> placed, Long[] bounds, Plan plan) {

  static final String OPTIMAL = "OPTIMAL";
  static final String DEADLINE = "DEADLINE";
  static final String DONE = "DONE"; // a heuristic that has no more to say
  static final String NO_SOLUTION = "NO_SOLUTION";
  static final String DECLINED = "DECLINED"; // it has no model of this problem

  Outcome {
    placed = Collections.unmodifiableList(new ArrayList<>(placed));
  }

  static Outcome of(long sinceNanos, String stopped, List<Placing> placed, Long[] bounds) {
    return new Outcome(since(sinceNanos), stopped, placed, bounds, null);
  }

  static Outcome of(long sinceNanos, String stopped, Placing[] placed, Long[] bounds) {
    return of(sinceNanos, stopped, Arrays.asList(placed), bounds);
  }

  static double since(long nanos) {
    return (System.nanoTime() - nanos) / 1e6;
  }
}
