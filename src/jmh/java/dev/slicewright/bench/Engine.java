package dev.slicewright.bench;

import dev.slicewright.SolveBudget;
import java.time.Duration;
import java.util.Optional;

/** What the solve bench compares. Confined to one thread at a time. */
interface Engine {

  /**
   * What an engine may use. Immutable, safe to share.
   *
   * @param millis wall time for everything, building its model included
   * @param workers threads
   * @param mode the mode of our own solves
   */
  record Limits(long millis, int workers, SolveBudget.Mode mode) {
    SolveBudget budget() {
      return SolveBudget.builder()
          .deadline(Duration.ofMillis(millis))
          .workers(workers)
          .mode(mode)
          .build();
    }

    long deadlineNanos() {
      return System.nanoTime() + millis * 1_000_000;
    }
  }

  /** The name in tables and on the command line. */
  String name();

  /** Why it has no honest model of a problem, or empty if it has one. */
  default Optional<String> whyNot(BenchProblem problem) {
    return Optional.empty();
  }

  /** Solves. */
  Outcome solve(BenchProblem problem, Limits limits);
}
