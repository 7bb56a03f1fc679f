/** Placeholder. */
@NullMarked
package dev.slicewright.report;

import org.jspecify.annotations.NullMarked;
