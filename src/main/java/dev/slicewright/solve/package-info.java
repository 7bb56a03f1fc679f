/** Placeholder. */
@NullMarked
package dev.slicewright.solve;

import org.jspecify.annotations.NullMarked;
