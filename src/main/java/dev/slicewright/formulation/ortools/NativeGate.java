package dev.slicewright.formulation.ortools;

import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

/** What every formulation checks before native code gets a model. Safe for concurrent use. */
final class NativeGate {

  /** How many native threads may be left behind before new models are declined. */
  static final int MAX_LINGERING = 4;

  /** Beyond so many times the literals allowed, equal items are not even looked for. */
  private static final int MAX_COPIES = 16;

  private final String solver;
  private final int maxLiterals;
  private final int microsPerLiteral;
  private final OrToolsNatives natives;
  private final AtomicInteger lingering = new AtomicInteger();

  NativeGate(String solver, int maxLiterals, int microsPerLiteral, OrToolsNatives natives) {
    this.solver = solver;
    this.maxLiterals = maxLiterals;
    this.microsPerLiteral = microsPerLiteral;
    this.natives = natives;
  }

  /** Why a model cannot be taken: its size, threads left behind, or native code. */
  Optional<String> whyNot(PlacementModel model, FormulationTask task) {
    if (task.level() >= model.levels().size()) {
      return Optional.of(noSuchLevel(model, task));
    }
    long affordable =
        Math.min(
            maxLiterals, TimeUnit.NANOSECONDS.toMicros(task.remainingNanos()) / microsPerLiteral);
    long literals = literals(model, affordable);
    if (literals > affordable) {
      return Optional.of(
          String.format(
              Locale.ROOT,
              "%s is given at most %d literals, and one for each %d µs left, now %d; this"
                  + " model has %d. Give it fewer candidates or more time.",
              solver,
              maxLiterals,
              microsPerLiteral,
              affordable,
              literals));
    }
    return whyNotNow(task);
  }

  /** Why nothing can be taken: threads left behind, or native code. */
  Optional<String> whyNotNow(FormulationTask task) {
    int left = lingering.get();
    if (left >= MAX_LINGERING) {
      return Optional.of(
          left + " native solves that overran have not ended; try again when they have.");
    }
    return natives.whyNot(loadingDeadline(task));
  }

  /** Runs a solve, unless the task is over before it starts. */
  FormulationResult solve(
      PlacementModel model, FormulationTask task, Function<AtomicInteger, NativeRun> run) {
    Objects.requireNonNull(model, "model");
    if (task.level() >= model.levels().size()) {
      throw new IllegalArgumentException(noSuchLevel(model, task));
    }
    if (task.cancel().isCancelled()) {
      return new FormulationResult(Status.CANCELLED, null, null, "cancelled before the solve");
    }
    if (Thread.currentThread().isInterrupted()) {
      return new FormulationResult(Status.CANCELLED, null, null, "interrupted before the solve");
    }
    if (!natives.require(loadingDeadline(task))) {
      boolean interrupted = Thread.currentThread().isInterrupted();
      return new FormulationResult(
          interrupted ? Status.CANCELLED : Status.UNKNOWN,
          null,
          null,
          interrupted
              ? "interrupted while native code was being loaded"
              : "native code was still being loaded when time ran out");
    }
    if (task.remainingNanos() == 0) {
      return new FormulationResult(
          Status.UNKNOWN, null, null, "the deadline had passed before the solve");
    }
    return run.apply(lingering).call();
  }

  private static String noSuchLevel(PlacementModel model, FormulationTask task) {
    return "Expected a level below " + model.levels().size() + ", but was " + task.level() + ".";
  }

  /** Until when to wait for loading: three quarters of the time left. */
  private static long loadingDeadline(FormulationTask task) {
    long now = System.nanoTime();
    return now + Math.max(0, task.deadlineNanos() - now) / 4 * 3;
  }

  /**
   * Literals of a model. Equal items are counted once, unless the count is below the limit without
   * that, or far beyond it.
   */
  static long literals(PlacementModel model, long limit) {
    long tied = 0;
    for (Group group : model.groups()) {
      tied += group.disturbedTerms().size() + 1;
    }
    long all = tied;
    for (Candidate candidate : model.candidates()) {
      all += size(candidate);
    }
    if (all <= limit || all / MAX_COPIES > limit) {
      return all;
    }
    long distinct = tied;
    for (ItemClasses.ItemClass c : ItemClasses.of(model).all()) {
      for (int way : c.ways()) {
        distinct += size(model.candidates().get(way));
      }
    }
    return distinct;
  }

  private static int size(Candidate candidate) {
    return candidate.cells().length + candidate.gains().length + candidate.terms().size() + 1;
  }
}
