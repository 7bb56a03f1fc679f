/** Placeholder. */
@NullMarked
package dev.slicewright.formulation.ortools;

import org.jspecify.annotations.NullMarked;
