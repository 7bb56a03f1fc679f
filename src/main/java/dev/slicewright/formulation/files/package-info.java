/**
 * Files for other solvers: writes a placement model as MPS or LP, and reads the solution file that
 * CPLEX, Gurobi, SCIP or HiGHS writes for it.
 *
 * <p>Start with {@link dev.slicewright.formulation.files.ModelFile}.
 *
 * <p>This package knows only {@code dev.slicewright} and {@code dev.slicewright.formulation}.
 */
@NullMarked
package dev.slicewright.formulation.files;

import org.jspecify.annotations.NullMarked;
