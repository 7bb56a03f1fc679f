package dev.slicewright.formulation.ortools;

import com.google.ortools.sat.BoolArgumentProto;
import com.google.ortools.sat.ConstraintProto;
import com.google.ortools.sat.CpModel;
import com.google.ortools.sat.CpModelProto;
import com.google.ortools.sat.CpObjectiveProto;
import com.google.ortools.sat.IntegerVariableProto;
import com.google.ortools.sat.LinearConstraintProto;
import com.google.ortools.sat.PartialVariableAssignment;
import dev.slicewright.formulation.PlacementModel;

/**
 * A {@link PlacementProgram} as a CP-SAT model, written straight into its protobuf. Confined to one
 * thread at a time.
 */
final class CpSatProgram extends PlacementProgram {

  private static final IntegerVariableProto BOOLEAN =
      IntegerVariableProto.newBuilder().addDomain(0).addDomain(1).build();

  private final CpModel cpModel = new CpModel();
  private final CpModelProto.Builder proto = cpModel.getBuilder();

  /**
   * Builds.
   *
   * @throws ArithmeticException if a sum passes {@link #MAX_SUM}
   */
  CpSatProgram(PlacementModel model, ItemClasses classes, int level, long[] held) {
    super(model, classes, level, held, MAX_SUM);
    build();
  }

  CpModel cpModel() {
    return cpModel;
  }

  /** The model as protobuf text, for people and for bug reports to OR-Tools. */
  String dump() {
    return cpModel.model().toString();
  }

  /** Adds a hint; returns whether it is a solution that keeps the held values. */
  boolean addHint(int[] start) {
    Hint hint = hint(start).orElse(null);
    if (hint == null) {
      return false;
    }
    PartialVariableAssignment.Builder into = proto.getSolutionHintBuilder();
    for (int v = 0; v < hint.values().length; v++) {
      into.addVars(v).addValues(hint.values()[v]);
    }
    return hint.complete();
  }

  @Override
  void writeVariables(int[] upper, int count) {
    for (int v = 0; v < count; v++) {
      proto.addVariables(
          upper[v] == 1
              ? BOOLEAN
              : IntegerVariableProto.newBuilder().addDomain(0).addDomain(upper[v]).build());
    }
  }

  @Override
  void writeObjective(int[] variables, long[] coefficients, int size) {
    CpObjectiveProto.Builder goal = proto.getObjectiveBuilder();
    for (int i = 0; i < size; i++) {
      goal.addVars(variables[i]).addCoeffs(coefficients[i]);
    }
  }

  @Override
  void writeLinear(
      int[] variables, long[] coefficients, int size, long min, long max, Origin origin) {
    LinearConstraintProto.Builder linear = LinearConstraintProto.newBuilder();
    for (int i = 0; i < size; i++) {
      linear.addVars(variables[i]).addCoeffs(coefficients[i]);
    }
    linear.addDomain(min).addDomain(max);
    proto.addConstraints(ConstraintProto.newBuilder().setLinear(linear));
  }

  @Override
  void writeAtMostOne(int[] variables, Origin origin) {
    proto.addConstraints(ConstraintProto.newBuilder().setAtMostOne(arguments(variables)));
  }

  @Override
  void writeExactlyOne(int[] variables, Origin origin) {
    proto.addConstraints(ConstraintProto.newBuilder().setExactlyOne(arguments(variables)));
  }

  @Override
  void writeOr(int[] literals, Origin origin) {
    proto.addConstraints(ConstraintProto.newBuilder().setBoolOr(arguments(literals)));
  }

  private static BoolArgumentProto.Builder arguments(int[] literals) {
    BoolArgumentProto.Builder arguments = BoolArgumentProto.newBuilder();
    for (int literal : literals) {
      arguments.addLiterals(literal);
    }
    return arguments;
  }
}
