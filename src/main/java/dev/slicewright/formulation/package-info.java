/**
 * The solver-neutral placement model, and the interface of whatever solves it.
 *
 * <p>Start with {@link dev.slicewright.formulation.Formulation}: it takes a {@link
 * dev.slicewright.formulation.PlacementModel}, which speaks of items, candidates, cells and rows,
 * never of TPUs.
 *
 * <p>This package knows only {@code dev.slicewright}.
 */
@NullMarked
package dev.slicewright.formulation;

import org.jspecify.annotations.NullMarked;
