/**
 * The solvers of OR-Tools behind the {@link dev.slicewright.formulation.Formulation} interface.
 *
 * <p>Start with {@link dev.slicewright.formulation.ortools.CpSatFormulation}; {@link
 * dev.slicewright.formulation.ortools.CountFormulation} is far smaller where places nest, {@link
 * dev.slicewright.formulation.ortools.LpRelaxation} gives bounds that anyone can check, and {@link
 * dev.slicewright.formulation.ortools.MipFormulation} a second opinion. This is the only package
 * that names a type of OR-Tools or protobuf, and none stands in a public signature. Native code is
 * loaded at the first use, never when a class is loaded.
 */
@NullMarked
package dev.slicewright.formulation.ortools;

import org.jspecify.annotations.NullMarked;
