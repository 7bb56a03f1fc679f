package dev.slicewright.formulation.ortools;

import dev.slicewright.InvalidInputException;
import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import java.lang.ref.WeakReference;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Solves placement models over counts: how many items of a kind are served in which pattern, not
 * which item has which place. For pools of optical cubes and for partitions that nest. Safe for
 * concurrent use.
 *
 * <p>Candidates of one item that differ only in which of some interchangeable places they take
 * become one pattern, cells become rows that count free places of a type, and there is one integer
 * variable for each kind of items and pattern. That is exact wherever the sets of cells that
 * candidates take nest, so that 500 requests for six shapes of partition over 64 equal pods are six
 * variables and six rows. {@link #whyNot} declines models where some overlap without nesting, such
 * as boxes on a torus: over them counts say no more than candidates do.
 *
 * <p>Kinds of items, groups, rows, levels and the solver are those of {@link CpSatFormulation} or,
 * with {@link #scip()}, of {@link MipFormulation}: capabilities, limits, determinism and native
 * code as there, sizes measured over counts. The model itself may have {@value #MAX_CANDIDATES}
 * candidates. Solutions are given places again, and are evaluated on the model before they count.
 */
public final class CountFormulation implements Formulation {

  /** The most candidates of the model, before they are counted. */
  static final int MAX_CANDIDATES = 2_000_000;

  private final boolean scip;
  private final NativeGate gate;

  /** The last model and its counts: each level of a plan asks twice. */
  private final AtomicReference<@Nullable WeakReference<CountModel>> last = new AtomicReference<>();

  private CountFormulation(boolean scip) {
    this.scip = scip;
    this.gate =
        scip
            ? new NativeGate(
                "SCIP",
                MipFormulation.MAX_LITERALS,
                MipFormulation.MICROS_PER_LITERAL,
                OrToolsNatives.shared())
            : new NativeGate(
                "CP-SAT",
                CpSatFormulation.MAX_LITERALS,
                CpSatFormulation.MICROS_PER_LITERAL,
                OrToolsNatives.shared());
  }

  /**
   * Makes one that solves with CP-SAT; loads nothing.
   *
   * @return a new formulation
   */
  public static CountFormulation create() {
    return new CountFormulation(false);
  }

  /**
   * Makes one that solves with SCIP; loads nothing.
   *
   * @return a new formulation
   */
  public static CountFormulation scip() {
    return new CountFormulation(true);
  }

  @Override
  public String name() {
    return scip ? "counts-scip" : "counts";
  }

  @Override
  public Set<Capability> capabilities() {
    EnumSet<Capability> can =
        EnumSet.of(
            Capability.BOUND, Capability.WARM_START, Capability.SIDE_ROWS, Capability.GROUP_TIES);
    if (!scip) {
      can.add(Capability.STREAM);
      can.add(Capability.INTERRUPT);
    }
    return Set.copyOf(can);
  }

  /**
   * {@inheritDoc}
   *
   * <p>Declines models whose candidates overlap without nesting, those that are too large even over
   * counts, and all where native code cannot be used. O(n log n) for n cells, gains and terms in
   * the candidates; waits for loading, three quarters of the time left at most.
   */
  @Override
  public Optional<String> whyNot(PlacementModel model, FormulationTask task) {
    if (model.candidates().size() > MAX_CANDIDATES) {
      return Optional.of(
          "Counts are made of at most "
              + MAX_CANDIDATES
              + " candidates, but this model has "
              + model.candidates().size()
              + ".");
    }
    CountModel counts;
    try {
      counts = counts(model);
    } catch (ArithmeticException e) {
      return Optional.of("Its sums over counts overflow: " + e.getMessage() + ".");
    }
    if (!counts.nests()) {
      return Optional.of(
          "Some of its candidates overlap and neither contains the other, so that counting places"
              + " says nothing; give it to a formulation over candidates.");
    }
    return gate.whyNot(counts.model(), task);
  }

  /**
   * {@inheritDoc}
   *
   * <p>Models that {@link #whyNot} declines are tried nonetheless; cells that do not nest are kept.
   */
  @Override
  public FormulationResult solve(PlacementModel model, FormulationTask task) {
    CountModel[] counts = new CountModel[1];
    FormulationResult found =
        gate.solve(
            model,
            task,
            lingering -> {
              CountModel made = counts(model);
              counts[0] = made;
              FormulationTask own = task(made, task);
              return scip
                  ? new MipRun(made.model(), own, MipFormulation.Solver.SCIP, lingering)
                  : new CpSatRun(made.model(), own, lingering);
            });
    int[] chosen = found.chosen();
    if (chosen == null) {
      return found;
    }
    long[] values = counts[0].model().evaluate(chosen);
    int[] full = places(model, counts[0], chosen, values);
    if (full == null) {
      return new FormulationResult(
          Status.FAILED,
          null,
          null,
          "a solution over counts could not be given places (" + found.message() + ")");
    }
    return new FormulationResult(
        found.status(),
        full,
        found.bound(),
        found.message() + "; " + counts[0].types() + " types of places",
        null,
        found.limit());
  }

  private CountModel counts(PlacementModel model) {
    WeakReference<CountModel> reference = last.get();
    CountModel known = reference == null ? null : reference.get();
    if (known == null || !known.isOf(model)) {
      known = CountModel.of(model);
      last.set(new WeakReference<>(known));
    }
    return known;
  }

  private static FormulationTask task(CountModel counts, FormulationTask task) {
    int[] start = task.warmStart();
    return new FormulationTask(
        task.level(),
        task.held(),
        task.deadlineNanos(),
        task.budget(),
        task.variant(),
        start == null ? null : counts.toCounted(start),
        chosen -> {
          int[] full = counts.toFull(chosen);
          if (full != null) {
            task.listener().accept(full);
          }
        },
        task.cancel());
  }

  /** The same solution with places, or null if it is not worth the same. */
  private static int @Nullable [] places(
      PlacementModel model, CountModel counts, int[] chosen, long[] values) {
    int[] full = counts.toFull(chosen);
    try {
      return full != null && Arrays.equals(model.evaluate(full), values) ? full : null;
    } catch (InvalidInputException e) {
      return null;
    }
  }
}
