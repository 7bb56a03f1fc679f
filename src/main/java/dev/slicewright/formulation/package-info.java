/** Placeholder. */
@NullMarked
package dev.slicewright.formulation;

import org.jspecify.annotations.NullMarked;
