/**
 * What is true now: pods, their health, what runs on them and what is held.
 *
 * <p>Start with {@link dev.slicewright.fleet.Fleet}, an immutable, versioned snapshot:
 *
 * <pre>{@code
 * Fleet fleet = Fleet.builder().pod("us-east5-a/1", TpuTopology.v5p()).build();
 * fleet = fleet.failHost("us-east5-a/1", new HostId(17));
 * fleet.version();                                        // 1
 * }</pre>
 *
 * <p>This package knows {@code request}, {@code topology} and {@code dev.slicewright}.
 */
@NullMarked
package dev.slicewright.fleet;

import org.jspecify.annotations.NullMarked;
