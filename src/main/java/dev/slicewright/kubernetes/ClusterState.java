package dev.slicewright.kubernetes;

import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.Collection;

/** What a {@link Cluster} keeps of its objects, for the next update. Immutable, safe to share. */
final class ClusterState {

  private final ReadSettings settings;

  private ClusterState(ReadSettings settings) {
    this.settings = settings;
  }

  static ClusterState empty(ReadSettings settings) {
    return new ClusterState(settings);
  }

  Cluster update(
      Cluster before, Collection<? extends HasMetadata> changed, Collection<ObjectRef> gone) {
    throw new UnsupportedOperationException(settings.toString());
  }
}
