package dev.slicewright.formulation.ortools;

import com.google.ortools.Loader;
import com.google.ortools.modelbuilder.LinearExpr;
import com.google.ortools.modelbuilder.LinearExprBuilder;
import com.google.ortools.modelbuilder.ModelBuilder;
import com.google.ortools.modelbuilder.ModelSolver;
import com.google.ortools.modelbuilder.SolveStatus;
import com.google.ortools.modelbuilder.Variable;
import dev.slicewright.formulation.files.ParsedProgram;
import java.util.HashMap;
import java.util.Map;

/** Solves what a file says with SCIP; the answer is a file as Gurobi writes it, or null. */
public final class SolvedPrograms {

  private SolvedPrograms() {}

  public static String solve(ParsedProgram program) {
    Loader.loadNativeLibraries();
    ModelBuilder builder = new ModelBuilder();
    Map<String, Variable> variables = new HashMap<>();
    program.binaries().forEach(name -> variables.put(name, builder.newBoolVar(name)));
    program
        .rows()
        .forEach(
            (name, row) -> {
              LinearExpr sum = sum(row.terms(), variables);
              switch (row.sense()) {
                case 'L' -> builder.addLessOrEqual(sum, row.limit());
                case 'G' -> builder.addGreaterOrEqual(sum, row.limit());
                default -> builder.addEquality(sum, row.limit());
              }
            });
    builder.optimize(sum(program.objective(), variables), program.maximise());
    return solve(builder, variables);
  }

  private static LinearExpr sum(Map<String, Long> terms, Map<String, Variable> variables) {
    LinearExprBuilder sum = LinearExpr.newBuilder();
    terms.forEach((name, coefficient) -> sum.addTerm(variables.get(name), coefficient));
    return sum.build();
  }

  static String solve(ModelBuilder builder, Map<String, Variable> variables) {
    ModelSolver solver = new ModelSolver("SCIP");
    SolveStatus status = solver.solve(builder);
    if (status == SolveStatus.INFEASIBLE) {
      return null;
    }
    if (status != SolveStatus.OPTIMAL) {
      throw new IllegalStateException("" + status);
    }
    StringBuilder text = new StringBuilder("# Objective value = " + solver.getObjectiveValue());
    variables.forEach(
        (name, variable) ->
            text.append('\n').append(name).append(' ').append(solver.getValue(variable)));
    return text.append('\n').toString();
  }
}
