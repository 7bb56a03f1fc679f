package dev.slicewright.kubernetes;

import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.Collection;

/**
 * Makes a {@link Cluster} of Kubernetes objects. Immutable, safe to share.
 *
 * <p>Strict by default: anything wrong is thrown, all of it at once. {@link Builder#lenient} plans
 * with what is sound and names the rest.
 */
public final class ClusterReader {

  private ClusterReader() {}

  public static ClusterReader create() {
    throw new UnsupportedOperationException();
  }

  public static Builder builder() {
    throw new UnsupportedOperationException();
  }

  public Cluster read(KubernetesObjects objects) {
    throw new UnsupportedOperationException();
  }

  public Cluster read(Collection<? extends HasMetadata> objects) {
    return read(KubernetesObjects.of(objects));
  }

  /** Builds a {@link ClusterReader}. Confined to one thread at a time. */
  public static final class Builder {
    private Builder() {}

    /** Whether what is sound is read though other things are wrong; false by default. */
    public Builder lenient(boolean value) {
      throw new UnsupportedOperationException();
    }

    public ClusterReader build() {
      throw new UnsupportedOperationException();
    }
  }
}
