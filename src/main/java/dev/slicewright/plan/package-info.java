/** Placeholder. */
@NullMarked
package dev.slicewright.plan;

import org.jspecify.annotations.NullMarked;
