package dev.slicewright.kubernetes;

import dev.slicewright.plan.Plan;

/**
 * A plan in the words of the cluster that it was made for. Immutable, safe to share.
 */
public final class ClusterPlan {
  private ClusterPlan() {}

  public static ClusterPlan of(Cluster cluster, Plan plan) {
    throw new UnsupportedOperationException();
  }
}
