/**
 * Slurm 26.05 in, Slurm out: {@code topology.yaml} with {@code topology/torus3d} becomes a fleet,
 * the queue becomes requests; a plan becomes node lists and commands. It talks to no cluster.
 *
 * <p>In: {@link dev.slicewright.slurm.SlurmTopologyReader} reads the toruses into a {@link
 * dev.slicewright.slurm.SlurmCluster}, which takes the states of nodes and the jobs as {@code
 * sinfo}, {@code scontrol} and {@code squeue} print them. Out: {@link
 * dev.slicewright.slurm.SlurmPlan}, and {@link dev.slicewright.slurm.SlurmTopologyWriter} for
 * toruses that were built in Java. {@link dev.slicewright.slurm.HostList} reads and writes node
 * lists.
 *
 * <p>A pod of the fleet is a torus, and a chip of it is one node whatever hardware is in it: Slurm
 * places nodes. Nodes are taken to be given to one job at a time.
 *
 * <p>Needs {@code tools.jackson.dataformat:jackson-dataformat-yaml}, an optional dependency, to
 * read YAML and JSON; host lists, the text forms of nodes and jobs, plans and the writer do
 * without.
 */
@NullMarked
package dev.slicewright.slurm;

import org.jspecify.annotations.NullMarked;
