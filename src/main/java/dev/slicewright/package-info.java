/**
 * Decides where TPU slices go: the words that every part shares.
 *
 * <p>Start with {@link dev.slicewright.SolveBudget} (how long a plan may take and how it searches)
 * and {@link dev.slicewright.CancelToken}; the front door itself is {@code
 * dev.slicewright.solve.SlicePlanner}. Bad data is reported as one {@link
 * dev.slicewright.InvalidInputException} that lists every {@link dev.slicewright.Problem} found.
 *
 * <p>Names that the caller chooses (pods, requests, tenants, holds, labels) are strings, since the
 * caller owns them; ids that the library numbers (hosts, cubes, partitions) are records.
 */
@NullMarked
package dev.slicewright;

import org.jspecify.annotations.NullMarked;
