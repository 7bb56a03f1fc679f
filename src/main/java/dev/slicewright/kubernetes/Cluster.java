package dev.slicewright.kubernetes;

import dev.slicewright.Problem;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.request.SliceRequest;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

/**
 * A cluster as its objects describe it: the fleet, the workloads, and what was wrong or left out.
 * Immutable, safe to share.
 */
public final class Cluster {

  private Cluster() {}

  /** The fleet: pods, health, cordons, running slices, holds. */
  public Fleet fleet() {
    throw new UnsupportedOperationException();
  }

  /** Every workload that wants TPUs, running or not, by request id. */
  public List<Workload> workloads() {
    throw new UnsupportedOperationException();
  }

  public Optional<Workload> workload(String request) {
    throw new UnsupportedOperationException();
  }

  /**
   * What waits for slices, ready for the planner. Of a multislice some of whose slices run, the
   * rest is a request of its own, its id ending in {@code #rest}.
   */
  public List<SliceRequest> requests() {
    throw new UnsupportedOperationException();
  }

  /** Every Slice object, failed and leaving ones included, by name. */
  public List<SliceManifest> slices() {
    throw new UnsupportedOperationException();
  }

  /** Everything found wrong; empty after strict reading. */
  public List<Problem> problems() {
    throw new UnsupportedOperationException();
  }

  /** TPU objects that are not represented, by object. */
  public List<LeftOut> leftOut() {
    throw new UnsupportedOperationException();
  }

  /**
   * The cluster after changes: objects new or changed, and names of objects gone.
   */
  public Cluster update(Collection<? extends HasMetadata> changed, Collection<ObjectRef> gone) {
    throw new UnsupportedOperationException();
  }

  Domains domains() {
    throw new UnsupportedOperationException();
  }
}
