package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
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
 * @param topology its shape as the platform writes it: ascending, but for 2x2x1
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

  private static final String GROUP = "accelerator.gke.io";
  private static final List<String> VERSIONS = List.of(API_VERSION, GROUP + "/v1alpha1");
  private static final Shape HOST = Shape.of(1, 2, 2);
  private static final List<String> TYPES = List.of("tpu7x", "v6e");

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

  /** Whether its partitions are taken; in a state that nobody documents, they are. */
  boolean takesPartitions() {
    return state().map(SliceState::takesPartitions).orElse(true);
  }

  /** Whether pods may run on it. */
  boolean isReady() {
    return state().filter(SliceState::isReady).isPresent();
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
    ObjectMeta metadata = new ObjectMeta();
    metadata.setName(name);
    metadata.setAnnotations(new LinkedHashMap<>(annotations));
    Map<String, Object> spec = new LinkedHashMap<>();
    spec.put("type", type);
    spec.put("topology", topology.toString());
    spec.put("partitionIds", new ArrayList<>(partitionIds));
    GenericKubernetesResource resource = new GenericKubernetesResource();
    resource.setApiVersion(API_VERSION);
    resource.setKind(KIND);
    resource.setMetadata(metadata);
    resource.setAdditionalProperty("spec", spec);
    return resource;
  }

  /** Whether an object is a Slice of dynamic slicing, of whatever version. */
  static boolean isSlice(HasMetadata object) {
    String version = object.getApiVersion();
    return KIND.equals(object.getKind())
        && (version == null || version.equals(GROUP) || version.startsWith(GROUP + "/"));
  }

  /**
   * Reads a Slice; what is wrong with it is a problem.
   *
   * @return the Slice, its topology sorted; empty if it does not say which chips it is about
   */
  static Optional<SliceManifest> of(GenericKubernetesResource resource, Problems problems) {
    String path = ObjectRef.of(resource).path();
    String version = Objects.requireNonNullElse(resource.getApiVersion(), "missing");
    if (!VERSIONS.contains(version)) {
      problems.add(
          path + ".apiVersion",
          "expected "
              + String.join(" or ", VERSIONS)
              + ", but was "
              + version
              + "; list the Slices in one of these versions");
      return Optional.empty();
    }
    ObjectMeta metadata = resource.getMetadata();
    String name = metadata == null ? null : metadata.getName();
    if (name == null || name.isEmpty()) {
      problems.add(path + ".metadata.name", "expected a name, but it was missing; name the Slice");
    }
    Generic fields = Generic.read(resource, problems);
    if (fields.get("spec").raw() instanceof Map<?, ?> spec && spec.containsKey("acceleratorType")) {
      fields
          .get("spec", "acceleratorType")
          .problem(
              "expected type, topology and partitionIds, but this is an earlier form of v1alpha1,"
                  + " which selects nodes; list the Slices as "
                  + API_VERSION);
      return Optional.empty();
    }
    String type = type(fields.get("spec", "type"));
    Shape topology = topology(fields.get("spec", "topology"));
    List<String> ids = partitionIds(fields.get("spec", "partitionIds"));
    String condition = condition(fields);
    if (name == null || name.isEmpty() || type == null || topology == null || ids.isEmpty()) {
      return Optional.empty();
    }
    return Optional.of(
        new SliceManifest(
            name,
            type,
            topology,
            ids,
            Generic.annotations(resource),
            condition,
            metadata.getDeletionTimestamp() != null));
  }

  private static @Nullable String type(Generic field) {
    String type = field.text().orElse(null);
    if (!field.isPresent() || type != null && !TYPES.contains(type)) {
      field.problem(String.join(" or ", TYPES), "name the accelerator of the partitions");
      return null;
    }
    return type;
  }

  /** The extents as the platform writes them: ascending, but for one host, which is 2x2x1. */
  static Shape platformForm(Shape shape) {
    Shape sorted = shape.sorted();
    return sorted.equals(HOST) ? Shape.of(2, 2, 1) : sorted;
  }

  /** The sorted topology, though the text may have any order and case. */
  private static @Nullable Shape topology(Generic field) {
    String text = field.text().orElse(null);
    if (text == null) {
      if (!field.isPresent()) {
        field.problem("a shape such as 4x4x8", "give the shape of the Slice");
      }
      return null;
    }
    try {
      Shape written = platformForm(Shape.parse(text));
      if (!written.toString().equals(text)) {
        field.problem("the extents in ascending order, joined by x", "write " + written);
      }
      return written;
    } catch (InvalidInputException e) {
      field.problem(e.problems().get(0).message() + "; write one such as 4x4x8");
      return null;
    }
  }

  /** The ids; none at all if one of them is wrong, since those left would be another Slice. */
  private static List<String> partitionIds(Generic field) {
    List<Generic> entries = field.list();
    List<String> ids = new ArrayList<>(entries.size());
    for (Generic entry : entries) {
      String id = entry.text().orElse("");
      if (!id.isEmpty()) {
        ids.add(id);
      } else if (!entry.isPresent() || "".equals(entry.raw())) {
        entry.problem("the id of a partition", "copy it from the label of its nodes");
      }
    }
    if (entries.isEmpty() && (!field.isPresent() || field.raw() instanceof List)) {
      field.problem("the ids of one or more partitions, but there was none; list them");
    }
    return ids.size() == entries.size() ? ids : List.of();
  }

  /**
   * The reason of the condition Ready; SliceCreationFailed too where that is a condition of its own
   * (as the API types of the open-source controller have it).
   */
  private static @Nullable String condition(Generic fields) {
    String reason = null;
    boolean failed = false;
    for (Generic condition : fields.list("status", "conditions")) {
      String of = condition.text("type").orElse("");
      if (of.equals("Ready") && reason == null) {
        reason = reason(condition.get("reason"));
      }
      failed |=
          of.equals(SliceState.CREATION_FAILED.reason())
              && condition.text("status").orElse("").equals("True");
    }
    return failed ? SliceState.CREATION_FAILED.reason() : reason;
  }

  private static String reason(Generic field) {
    String reason = field.text().orElse("");
    boolean wrongType = field.isPresent() && !(field.raw() instanceof String);
    if (SliceState.of(reason).isEmpty() && !wrongType) {
      field.problem(
          "one of "
              + String.join(
                  ", ", Arrays.stream(SliceState.values()).map(SliceState::reason).toList()),
          "its partitions count as taken until it is one of these, or the Slice is gone");
    }
    return reason;
  }
}
