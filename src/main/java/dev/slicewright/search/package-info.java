/** Placeholder. */
@NullMarked
package dev.slicewright.search;

import org.jspecify.annotations.NullMarked;
