package dev.slicewright.formulation.ortools;

import com.google.ortools.modelbuilder.SolveStatus;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Limit;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.ModelPrices;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.ortools.MipFormulation.Solver;
import java.util.OptionalLong;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** One linear relaxation. Safe for concurrent use; {@link #call()} is called once. */
final class LpRun extends MipRun {

  /** How far from an integer a value may be and still be read as one. */
  private static final double INTEGRAL = 1e-6;

  /** Prices beyond this are cut: any price proves a bound, and sums must stay longs. */
  private static final double MAX_PRICE = 0x1p56;

  LpRun(PlacementModel model, FormulationTask task, AtomicInteger lingering) {
    super(model, task, Solver.GLOP, lingering);
  }

  @Override
  FormulationResult read(MipProgram program, Answer answer, String message) {
    double[] values = answer.values();
    boolean solved =
        answer.status() == SolveStatus.OPTIMAL || answer.status() == SolveStatus.FEASIBLE;
    if (!solved || values == null) {
      return super.read(program, answer, message);
    }
    ModelPrices prices = prices(program, answer.duals(), answer.reducedCosts());
    OptionalLong certified = model.certifiedBound(task.level(), task.held(), prices);
    if (certified.isEmpty()) {
      return failed("gave prices that prove nothing: they are too large for longs", message);
    }
    long bound = certified.getAsLong();
    int[] chosen = integral(program, values);
    boolean optimal = chosen != null && model.evaluate(chosen)[task.level()] == bound;
    Status status = optimal ? Status.OPTIMAL : chosen != null ? Status.FEASIBLE : Status.UNKNOWN;
    return new FormulationResult(status, chosen, bound, message, prices, Limit.NONE);
  }

  /**
   * The duals of cells, rows and earlier levels, undone of all divisors, rounded, at least 0. What
   * a bound of 1 is worth where several items share a variable goes onto a cell of its way: it pays
   * there as much as before, and others pay more, so that the proof loses nothing.
   */
  private ModelPrices prices(MipProgram program, double[] duals, double[] reducedCosts) {
    ModelPrices prices = ModelPrices.zero(model, task.level());
    double scale = (double) ModelPrices.UNIT * program.objectiveDivisor();
    for (int r = 0; r < duals.length; r++) {
      PlacementProgram.Origin origin = program.origins().get(r);
      // The objective is minimised, so rows of at most have duals of at most 0.
      double price = Math.min(MAX_PRICE, -duals[r] * scale / origin.divisor());
      if (!(price > 0)) {
        continue;
      }
      switch (origin.kind()) {
        case CELL -> prices.cells()[origin.index()] = Math.round(price);
        case ROW -> prices.rows()[origin.index()] = Math.round(price);
        case LEVEL -> prices.earlier()[origin.index()] = Math.round(price);
        case TIE -> {} // part of the groups' own choices
      }
    }
    int[] cells = program.cellsBehindBounds();
    for (int v = 0; v < reducedCosts.length; v++) {
      double price = Math.min(MAX_PRICE, -reducedCosts[v] * scale);
      if (cells[v] >= 0 && price > 0) {
        prices.cells()[cells[v]] += Math.round(price);
      }
    }
    return prices;
  }

  private int @Nullable [] integral(MipProgram program, double[] values) {
    for (double value : values) {
      if (Math.abs(value - Math.rint(value)) > INTEGRAL) {
        return null;
      }
    }
    int[] chosen = program.chosen(v -> Math.round(values[v]));
    return program.complaint(chosen).isEmpty() ? chosen : null;
  }
}
