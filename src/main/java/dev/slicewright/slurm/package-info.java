/**
 * Slurm 26.05 in, Slurm out: {@code topology.yaml} with {@code topology/torus3d} becomes a fleet; a
 * plan becomes node lists.
 *
 * <p>Needs {@code tools.jackson.dataformat:jackson-dataformat-yaml}, an optional dependency.
 */
@NullMarked
package dev.slicewright.slurm;

import org.jspecify.annotations.NullMarked;
