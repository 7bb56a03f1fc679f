package dev.slicewright.formulation.ortools;

import com.google.ortools.modelbuilder.ModelBuilderHelper;
import dev.slicewright.formulation.PlacementModel;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A {@link PlacementProgram} as rows of doubles for ModelBuilder's solvers. Confined to one thread
 * at a time.
 *
 * <p>Cells that only one way of one class may take, and those that others imply, have no row.
 */
final class MipProgram extends PlacementProgram {

  /**
   * What magnitudes may sum to in each row and the objective, after division by the common divisor:
   * 2^40. Solvers that compute with doubles hold rows to about 9 digits; beyond that they would too
   * often be wrong by one.
   */
  static final long MAX_DOUBLE_SUM = 1L << 40;

  private int[] starts = new int[64];
  private int[] rowVariables = new int[256];
  private double[] rowCoefficients = new double[256];
  private double[] lower = new double[64];
  private double[] most = new double[64];
  private int rowCount;
  private int size;
  private final List<Origin> origins = new ArrayList<>();
  private int[] objectiveVariables = new int[0];
  private long[] objectiveCoefficients = new long[0];
  private int[] uppers = new int[0];

  /**
   * Builds.
   *
   * @throws ArithmeticException if a sum passes {@link #MAX_DOUBLE_SUM}
   */
  MipProgram(PlacementModel model, ItemClasses classes, int level, long[] held) {
    super(model, classes, level, held, MAX_DOUBLE_SUM);
    build();
  }

  /** Where each row comes from. */
  List<Origin> origins() {
    return origins;
  }

  /** Whether a row without variables cannot hold: no solver needs to be asked. */
  boolean impossible() {
    for (int r = 0; r < rowCount; r++) {
      int end = r + 1 < rowCount ? starts[r + 1] : size;
      if (starts[r] == end && (lower[r] > 0 || most[r] < 0)) {
        return true;
      }
    }
    return false;
  }

  /**
   * The program in native memory, to be deleted by the caller.
   *
   * @param integer whether the variables are integers, as they are but for relaxations
   */
  ModelBuilderHelper inNativeMemory(boolean integer) {
    ModelBuilderHelper to = new ModelBuilderHelper();
    for (int upper : uppers) {
      int v = to.addVar();
      to.setVarLowerBound(v, 0);
      to.setVarUpperBound(v, upper);
      to.setVarIntegrality(v, integer);
    }
    for (int i = 0; i < objectiveVariables.length; i++) {
      to.setVarObjectiveCoefficient(objectiveVariables[i], objectiveCoefficients[i]);
    }
    for (int r = 0; r < rowCount; r++) {
      int row = to.addLinearConstraint();
      to.setConstraintLowerBound(row, lower[r]);
      to.setConstraintUpperBound(row, most[r]);
      int end = r + 1 < rowCount ? starts[r + 1] : size;
      for (int i = starts[r]; i < end; i++) {
        to.addConstraintTerm(row, rowVariables[i], rowCoefficients[i]);
      }
    }
    return to;
  }

  private void startRow(double min, double max, Origin origin) {
    if (rowCount == starts.length) {
      starts = Arrays.copyOf(starts, 2 * rowCount);
      lower = Arrays.copyOf(lower, 2 * rowCount);
      most = Arrays.copyOf(most, 2 * rowCount);
    }
    starts[rowCount] = size;
    lower[rowCount] = min;
    most[rowCount++] = max;
    origins.add(origin);
  }

  private void term(int variable, double coefficient) {
    if (size == rowVariables.length) {
      rowVariables = Arrays.copyOf(rowVariables, 2 * size);
      rowCoefficients = Arrays.copyOf(rowCoefficients, 2 * size);
    }
    rowVariables[size] = variable;
    rowCoefficients[size++] = coefficient;
  }

  @Override
  void writeLinear(
      int[] variables, long[] coefficients, int count, long min, long max, Origin origin) {
    boolean limit = origin.kind() != Kind.TIE; // its minimum is what nothing falls below
    startRow(limit ? Double.NEGATIVE_INFINITY : min, max, origin);
    for (int i = 0; i < count; i++) {
      term(variables[i], coefficients[i]);
    }
  }

  @Override
  void writeAtMostOne(int[] variables, Origin origin) {
    startRow(Double.NEGATIVE_INFINITY, 1, origin);
    for (int v : variables) {
      term(v, 1);
    }
  }

  @Override
  void writeExactlyOne(int[] variables, Origin origin) {
    startRow(1, 1, origin);
    for (int v : variables) {
      term(v, 1);
    }
  }

  @Override
  void writeOr(int[] literals, Origin origin) {
    int negated = (int) Arrays.stream(literals).filter(literal -> literal < 0).count();
    startRow(1 - negated, Double.POSITIVE_INFINITY, origin);
    for (int literal : literals) {
      if (literal < 0) {
        term(-literal - 1, -1);
      } else {
        term(literal, 1);
      }
    }
  }

  @Override
  void writeObjective(int[] variables, long[] coefficients, int count) {
    objectiveVariables = Arrays.copyOf(variables, count);
    objectiveCoefficients = Arrays.copyOf(coefficients, count);
  }

  @Override
  void writeVariables(int[] upper, int count) {
    uppers = Arrays.copyOf(upper, count);
  }
}
