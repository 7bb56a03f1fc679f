package dev.slicewright.kubernetes;

import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A Slice of GKE's dynamic slicing ({@code accelerator.gke.io/v1beta1}), as it is read and written.
 * Immutable, safe to share.
 *
 * <p>A Slice cannot be changed: to move one is to delete it and to create another.
 *
 * @param name its name; of the whole cluster, at most 49 characters
 * @param type {@code tpu7x}, or {@code v6e} where the open-source controller reads it
 * @param topology its shape, sorted
 * @param partitionIds whole cubes in logical order (x fastest), or the one partition of that shape
 * @param annotations its annotations
 * @param condition the reason of its condition Ready as it was read, or null before there is one
 * @param deleting whether its deletion has begun
 */
public record SliceManifest(
    String name,
    String type,
    Shape topology,
    List<String> partitionIds,
    Map<String, String> annotations,
    @Nullable String condition,
    boolean deleting) {

  /** The API version written. */
  public static final String API_VERSION = "accelerator.gke.io/v1beta1";

  /** The kind. */
  public static final String KIND = "Slice";

  /** Checks for null and copies. */
  public SliceManifest {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(topology, "topology");
    partitionIds = List.copyOf(partitionIds);
    annotations = Collections.unmodifiableMap(new TreeMap<>(annotations));
  }

  /**
   * The state, where one is known.
   *
   * @return {@link SliceState#NOT_CREATED} before there is a condition; empty if the condition has
   *     a reason that the platform does not document
   */
  public Optional<SliceState> state() {
    return condition == null ? Optional.of(SliceState.NOT_CREATED) : SliceState.of(condition);
  }

  /**
   * The epoch: a digest of type, topology and partition ids in order, which also ends the names
   * that {@link ClusterPlan} gives.
   *
   * @return ten characters of a to z and 0 to 9
   */
  public String epoch() {
    return Names.epoch(type, topology, partitionIds);
  }

  /**
   * The object to create.
   *
   * @return a new, mutable object without status
   */
  public GenericKubernetesResource toResource() {
    throw new UnsupportedOperationException();
  }
}
