/** Placeholder. */
@NullMarked
package dev.slicewright.cost;

import org.jspecify.annotations.NullMarked;
