/**
 * What things are worth: prices, preferences, disruption, and how fast collectives run on a shape.
 *
 * <p>Start with {@link dev.slicewright.cost.CostTerms}, which says which preferences count, and
 * {@link dev.slicewright.cost.Collectives}, which tells shapes of one chip count apart.
 *
 * <p>This package knows {@code fleet} and what it knows.
 */
@NullMarked
package dev.slicewright.cost;

import org.jspecify.annotations.NullMarked;
