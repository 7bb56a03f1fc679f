/**
 * What the hardware is: accelerators, shapes, pods, partitions, and the graph of chips and ICI
 * links.
 *
 * <p>Start with {@link dev.slicewright.topology.TpuTopology}, the graph model of one pod:
 *
 * <pre>{@code
 * TpuTopology pod = TpuTopology.v5p();                    // 140 cubes, 8,960 chips
 * pod.isLegal(Shape.parse("8x8x16"));                     // true
 * pod.shapesFor(512);                                     // 4x4x32, 4x8x16, 8x8x8
 * pod.graph().degreeOf(new Chip(0, 0, 0));                // 3: a corner of a cube
 * }</pre>
 *
 * <p>Facts carry their source in the Javadoc. This package knows only {@code dev.slicewright}.
 */
@NullMarked
package dev.slicewright.topology;

import org.jspecify.annotations.NullMarked;
