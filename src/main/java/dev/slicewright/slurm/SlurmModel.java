package dev.slicewright.slurm;

/**
 * How the anchors of a torus are modelled in the fleet. Immutable, safe to share.
 *
 * <p>Where boxes may begin is a matter of each placement in Slurm. The fleet's pods know any box
 * along host boundaries, or listed partitions that nest; which of the two can say the same as the
 * placements depends on them. {@link #PARTITIONS} and {@link #BOXES} are exact: the planner may use
 * what Slurm may use and nothing else.
 */
public enum SlurmModel {
  /**
   * Exact: no two anchors overlap without one lying inside the other, so they are the pod's
   * partitions. A host of the pod is a node.
   */
  PARTITIONS,
  /**
   * Exact: all placements begin on one grid, wherever it allows, in every turn that is listed. A
   * host of the pod is one block of the grid: no box cuts it, and it is no better than the worst of
   * its nodes. Where the spacing is 1, it is a node.
   */
  BOXES,
  /**
   * Any box of nodes: no torus of the topology lists placements. Slurm would then take any nodes,
   * in a box or not; a job of a size that no box has never starts here.
   */
  ANY_BOX,
  /**
   * Not all: the partitions are some of the anchors, which nest: those of running jobs, then idle
   * ones of the sizes that wait, by priority, then larger ones first. All that is planned, Slurm
   * accepts; what waits may have another place that Slurm would find. For the job of the highest
   * priority there is a place if there is one at all.
   */
  SOME_ANCHORS,
  /** Too many: boxes begin on a grid that contains all anchors. */
  ANY_ANCHOR,
  /**
   * Nothing: no anchor has a node in every cell, or other toruses of the topology list placements
   * and this one does not; Slurm then places nothing on it. The pod is cordoned.
   */
  UNUSABLE
}
