package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.Collection;
import java.util.Objects;

/**
 * Makes a {@link Cluster} of Kubernetes objects. Immutable, safe to share.
 *
 * <p>Read are Nodes with TPUs, Slices, Pods, Jobs, JobSets, LeaderWorkerSets, Kueue's Workloads,
 * priority classes, and the ConfigMaps that keep holds; all else is passed over. The order of the
 * objects does not matter.
 *
 * <p>Strict by default: anything wrong is thrown, all of it at once. {@link Builder#lenient} plans
 * with what is sound and names the rest.
 */
public final class ClusterReader {

  private final ReadSettings settings;

  private ClusterReader(ReadSettings settings) {
    this.settings = settings;
  }

  /**
   * A strict reader; tenants are namespaces.
   *
   * @return a reader
   */
  public static ClusterReader create() {
    return builder().build();
  }

  /**
   * A builder.
   *
   * @return a new builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * Reads a cluster. O(n log n) for n objects, and for each pod of the fleet the building of its
   * topology.
   *
   * @param objects the objects; of two of one name the later counts, which is a problem
   * @return the cluster
   * @throws InvalidInputException listing every problem, those of the objects' text included,
   *     unless the reader is lenient
   */
  public Cluster read(KubernetesObjects objects) {
    return ClusterState.empty(settings).read(objects);
  }

  /**
   * Reads a cluster.
   *
   * @param objects the objects, as a client lists them
   * @return the cluster
   * @throws InvalidInputException as {@link #read(KubernetesObjects)}
   */
  public Cluster read(Collection<? extends HasMetadata> objects) {
    return read(KubernetesObjects.of(objects));
  }

  /** Builds a {@link ClusterReader}. Confined to one thread at a time. */
  public static final class Builder {
    private boolean lenient;
    private TenantBy tenantBy = TenantBy.NAMESPACE;

    private Builder() {}

    /**
     * Sets whether what is sound is read though other things are wrong. What is wrong is then in
     * {@link Cluster#problems}, and what is not represented in {@link Cluster#leftOut}.
     *
     * @param value false by default
     * @return this
     */
    public Builder lenient(boolean value) {
      lenient = value;
      return this;
    }

    /**
     * Sets what the tenant of a workload is.
     *
     * @param value {@link TenantBy#NAMESPACE} by default
     * @return this
     */
    public Builder tenantBy(TenantBy value) {
      tenantBy = Objects.requireNonNull(value, "tenantBy");
      return this;
    }

    /**
     * Builds the reader.
     *
     * @return a reader
     */
    public ClusterReader build() {
      return new ClusterReader(new ReadSettings(lenient, tenantBy));
    }
  }
}
