package dev.slicewright.kubernetes;

import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.json.JsonMapper;

/**
 * What has to change in a workload so that its pods go where the plan has them, or no longer do.
 * Immutable, safe to share.
 *
 * <p>It is a merge patch (RFC 7386, {@code application/merge-patch+json}): null takes a field out,
 * and lists (tolerations, terms of affinity, replicated jobs) are replaced, so that they are
 * written whole, with what was in them. It was made against the object as it was read; send its
 * {@code metadata.resourceVersion} along if others may write it in between.
 *
 * @param object which object
 * @param requires what has to be true of the object when it is applied
 * @param patch the fields to change, unmodifiable
 */
public record WorkloadPatch(
    ObjectRef object, Requires requires, Map<String, @Nullable Object> patch) {

  private static final ObjectMapper JSON =
      JsonMapper.builder().enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS).build();

  /** What the API server asks for before it accepts a patch. Immutable, safe to share. */
  public enum Requires {
    /**
     * Nothing. A LeaderWorkerSet starts its groups anew after a change of its templates; of a pod
     * without scheduling gates only annotations and tolerations change.
     */
    NOTHING,
    /**
     * The Job or JobSet is suspended. A Job that ran before is taken as suspended once its {@code
     * status.startTime} is empty (KEP-2926).
     */
    SUSPENDED,
    /**
     * The pod has a scheduling gate (KEP-3838). The patch takes {@link TpuLabels#OWN_GATE} out,
     * other gates stay.
     */
    GATED,
    /**
     * A new object: fields change that are fixed once it exists, such as the affinity of a JobSet's
     * templates. Delete it, and create it with the patch {@linkplain #applyTo applied}.
     */
    RECREATED
  }

  /** Checks for null and copies, all the way down. */
  public WorkloadPatch {
    Objects.requireNonNull(object, "object");
    Objects.requireNonNull(requires, "requires");
    patch = MergePatch.frozen(patch);
  }

  /**
   * The object with this patch applied.
   *
   * @param fields the object as maps and lists, as they come out of JSON; left as they are
   * @return a new, mutable tree
   */
  public Map<String, @Nullable Object> applyTo(Map<String, ?> fields) {
    return MergePatch.apply(fields, patch);
  }

  /**
   * The body of the request.
   *
   * @return JSON on one line, the same text for equal patches
   */
  public String toJson() {
    return JSON.writeValueAsString(patch);
  }

  @Override
  public String toString() {
    return object + " " + toJson();
  }
}
