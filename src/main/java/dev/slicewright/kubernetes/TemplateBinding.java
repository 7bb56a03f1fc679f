package dev.slicewright.kubernetes;

import dev.slicewright.kubernetes.PlacedSlice.Binding;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * What pods of a template need so that they go to their slices, written into a tree of the
 * template. Confined to one thread at a time.
 *
 * <p>Pods of one slice select it by a label; of several slices that share a template, they may go
 * to any of these, and the exclusive topology of JobSet and LeaderWorkerSet keeps each job or group
 * in one. What was put in is noted in the annotation {@link TpuLabels#OWN_BINDING}, so that a later
 * binding takes the place of an earlier one, and what the user wrote is never taken for ours.
 */
final class TemplateBinding {

  private static final String REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution";

  private final String key;
  private final Set<String> values;
  private final boolean exclusive;
  private final Map<String, String> selector = new TreeMap<>();
  private final Map<String, String> annotations = new TreeMap<>();
  private final @Nullable String sliceTopology; // annotation, unless the user wrote it

  /**
   * The binding of a workload to all its slices.
   *
   * @param places all its slices, not empty
   */
  TemplateBinding(Workload workload, List<PlacedSlice> places) {
    this(workload.request().id(), workload.layout().slicesPerGroup() == 1, places);
  }

  /**
   * The binding of a request to all its slices.
   *
   * @param exclusive whether each job or group has a slice of its own
   */
  TemplateBinding(String request, boolean exclusive, List<PlacedSlice> places) {
    this.exclusive = exclusive;
    PlacedSlice first = places.get(0);
    List<Binding> bindings = places.stream().map(PlacedSlice::binding).toList();
    this.key = bindings.get(0).key();
    this.values = new LinkedHashSet<>();
    for (Binding binding : bindings) {
      if (!binding.value().isEmpty()) { // else pods run without a Slice, which nobody can select
        values.add(binding.value());
      }
    }
    Domain domain = first.domain();
    boolean dynamic = domain.kind() == Domain.Kind.DYNAMIC;
    putIfKnown(TpuLabels.ACCELERATOR, domain);
    if (dynamic) {
      selector.put(TpuLabels.TOPOLOGY, first.shape().toString());
    } else {
      putIfKnown(TpuLabels.TOPOLOGY, domain); // of the pool, for sub-slices too
    }
    if (values.size() == 1) {
      selector.put(key, values.iterator().next());
    }
    annotations.put(TpuLabels.OWN_REQUEST, request);
    sliceTopology =
        dynamic || domain.kind() == Domain.Kind.SUBSLICING ? first.shape().toString() : null;
    List<String> epochs = new ArrayList<>();
    for (PlacedSlice place : places) {
      if (place.slice() != null) {
        epochs.add(place.slice().epoch());
      }
    }
    if (!epochs.isEmpty()) {
      annotations.put(TpuLabels.OWN_EPOCH, String.join(",", epochs));
    }
  }

  private void putIfKnown(String label, Domain domain) {
    String value = domain.labels().get(label);
    if (value != null) {
      selector.put(label, value);
    }
  }

  /**
   * The label of which each job or group has one value of its own, where slices share a template.
   */
  Optional<String> exclusiveTopology() {
    return exclusive && values.size() > 1 ? Optional.of(key) : Optional.empty();
  }

  /**
   * Whether a pod's selector would only gain labels: none has another value, and none that an
   * earlier binding put there is of no use any more.
   */
  boolean onlyAdds(Map<String, @Nullable Object> pod) {
    Map<String, @Nullable Object> after = MergePatch.copyOf(pod);
    bind(after);
    return !(map(MergePatch.copyOf(pod), "spec").get("nodeSelector") instanceof Map<?, ?> was)
        || map(map(after, "spec"), "nodeSelector").entrySet().containsAll(was.entrySet());
  }

  /** Puts it into a template, or a pod: a map with metadata and spec. */
  void bind(Map<String, @Nullable Object> template) {
    unbind(template);
    Map<String, @Nullable Object> notes = map(map(template, "metadata"), "annotations");
    Map<String, @Nullable Object> spec = map(template, "spec");
    Set<String> ours = new TreeSet<>();
    Map<String, @Nullable Object> present = map(spec, "nodeSelector");
    selector.forEach(
        (label, value) -> {
          if (!value.equals(present.put(label, value))) {
            ours.add(label);
          }
        });
    if (values.size() > 1) {
      addAffinity(spec);
      ours.add(key);
    }
    if (sliceTopology != null && !notes.containsKey(TpuLabels.SLICE_TOPOLOGY)) {
      notes.put(TpuLabels.SLICE_TOPOLOGY, sliceTopology);
      ours.add(TpuLabels.SLICE_TOPOLOGY);
    }
    tolerate(spec);
    notes.putAll(annotations);
    notes.put(TpuLabels.OWN_BINDING, String.join(",", ours));
  }

  /** Notes and tolerations alone: all that a pod without scheduling gates may still be given. */
  void annotate(Map<String, @Nullable Object> pod) {
    map(map(pod, "metadata"), "annotations").putAll(annotations);
    tolerate(map(pod, "spec"));
  }

  /** Takes an earlier binding out of a template. */
  static void unbind(Map<String, @Nullable Object> template) {
    if (!(template.get("metadata") instanceof Map<?, ?> metadata)
        || !(metadata.get("annotations") instanceof Map<?, ?> notes)
        || !(notes.get(TpuLabels.OWN_BINDING) instanceof String binding)) {
      return;
    }
    Map<String, @Nullable Object> spec = map(template, "spec");
    for (String label : binding.split(",", -1)) {
      if (spec.get("nodeSelector") instanceof Map<?, ?> selector) {
        selector.remove(label);
      }
      notes.remove(label);
      removeAffinity(spec, label);
    }
    removeIfEmpty(spec, "nodeSelector");
    for (String own : List.of(TpuLabels.OWN_BINDING, TpuLabels.OWN_REQUEST, TpuLabels.OWN_EPOCH)) {
      notes.remove(own);
    }
  }

  // ---------------------------------------------------------------- affinity

  /** Terms are alternatives, and a term's expressions hold together: ours goes into every term. */
  private void addAffinity(Map<String, @Nullable Object> spec) {
    Map<String, @Nullable Object> required =
        map(map(map(spec, "affinity"), "nodeAffinity"), REQUIRED);
    List<@Nullable Object> terms = list(required, "nodeSelectorTerms");
    if (terms.isEmpty()) {
      terms.add(new LinkedHashMap<String, @Nullable Object>());
      list(cast(terms.get(0)), "matchExpressions").add(expression());
      return;
    }
    for (Object term : terms) {
      // An empty term matches no node, and must not come to match some.
      if (term instanceof Map<?, ?> map && !isEmptyTerm(map)) {
        list(cast(map), "matchExpressions").add(expression());
      }
    }
  }

  private static boolean isEmptyTerm(Map<?, ?> term) {
    return isEmptyList(term.get("matchExpressions")) && isEmptyList(term.get("matchFields"));
  }

  private static boolean isEmptyList(@Nullable Object value) {
    return !(value instanceof List<?> list) || list.isEmpty();
  }

  private Map<String, @Nullable Object> expression() {
    Map<String, @Nullable Object> expression = new LinkedHashMap<>();
    expression.put("key", key);
    expression.put("operator", "In");
    expression.put("values", new ArrayList<>(values));
    return expression;
  }

  private static void removeAffinity(Map<String, @Nullable Object> spec, String label) {
    if (!(spec.get("affinity") instanceof Map<?, ?> affinity)
        || !(affinity.get("nodeAffinity") instanceof Map<?, ?> node)
        || !(node.get(REQUIRED) instanceof Map<?, ?> required)
        || !(required.get("nodeSelectorTerms") instanceof List<?> terms)) {
      return;
    }
    boolean removed = false;
    for (Object term : terms) {
      if (term instanceof Map<?, ?> map
          && map.get("matchExpressions") instanceof List<?> expressions
          && !expressions.isEmpty()
          && expressions.get(expressions.size() - 1) instanceof Map<?, ?> last
          && label.equals(last.get("key"))
          && "In".equals(last.get("operator"))) {
        expressions.remove(expressions.size() - 1);
        removed = true;
        if (expressions.isEmpty()) {
          map.remove("matchExpressions");
        }
      }
    }
    // A term of ours alone stood for there being none.
    if (removed && terms.stream().allMatch(term -> term instanceof Map<?, ?> m && m.isEmpty())) {
      node.remove(REQUIRED);
      removeIfEmpty(cast(affinity), "nodeAffinity");
      removeIfEmpty(spec, "affinity");
    }
  }

  // ---------------------------------------------------------------- tolerations

  private static void tolerate(Map<String, @Nullable Object> spec) {
    List<@Nullable Object> tolerations = list(spec, "tolerations");
    for (Object toleration : tolerations) {
      if (toleration instanceof Map<?, ?> map && toleratesTpu(map)) {
        return;
      }
    }
    Map<String, @Nullable Object> tpu = new LinkedHashMap<>();
    tpu.put("key", TpuLabels.TPU);
    tpu.put("operator", "Exists");
    tpu.put("effect", "NoSchedule");
    tolerations.add(tpu);
  }

  private static boolean toleratesTpu(Map<?, ?> toleration) {
    Object key = toleration.get("key");
    Object effect = toleration.get("effect");
    return "Exists".equals(toleration.get("operator"))
        && (key == null || key.equals("") || key.equals(TpuLabels.TPU))
        && (effect == null || effect.equals("") || effect.equals("NoSchedule"));
  }

  // ---------------------------------------------------------------- trees

  /** The map of a field, made where there is none. */
  static Map<String, @Nullable Object> map(Map<String, @Nullable Object> tree, String field) {
    if (!(tree.get(field) instanceof Map<?, ?>)) {
      tree.put(field, new LinkedHashMap<String, @Nullable Object>());
    }
    return cast(tree.get(field));
  }

  /** The list of a field, made where there is none. */
  static List<@Nullable Object> list(Map<String, @Nullable Object> tree, String field) {
    if (!(tree.get(field) instanceof List<?>)) {
      tree.put(field, new ArrayList<@Nullable Object>());
    }
    return castList(tree.get(field));
  }

  private static void removeIfEmpty(Map<String, @Nullable Object> tree, String field) {
    if (tree.get(field) instanceof Map<?, ?> map && map.isEmpty()) {
      tree.remove(field);
    }
  }

  @SuppressWarnings("unchecked") // trees are copies of our own, with text as keys throughout
  static Map<String, @Nullable Object> cast(@Nullable Object map) {
    return (Map<String, @Nullable Object>) Objects.requireNonNull(map);
  }

  @SuppressWarnings("unchecked")
  private static List<@Nullable Object> castList(@Nullable Object list) {
    return (List<@Nullable Object>) Objects.requireNonNull(list);
  }
}
