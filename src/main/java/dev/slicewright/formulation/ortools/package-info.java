/**
 * CP-SAT behind the {@link dev.slicewright.formulation.Formulation} interface.
 *
 * <p>Start with {@link dev.slicewright.formulation.ortools.CpSatFormulation}. This is the only
 * package that names a type of OR-Tools or protobuf, and none stands in a public signature. Native
 * code is loaded at the first use, never when a class is loaded.
 */
@NullMarked
package dev.slicewright.formulation.ortools;

import org.jspecify.annotations.NullMarked;
