package dev.slicewright.kubernetes;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A pod template: its spec, and its annotations. Annotations of what is around the template (a job
 * template, the object) count where the template has none.
 *
 * @param spec the pods' spec
 * @param annotations maps of annotations, the template's own first; one at least
 */
record PodTemplate(Generic spec, List<Generic> annotations) {

  private static final List<String> CONTAINERS = List.of("containers", "initContainers");

  /** What binding pods to slices has put in says where they were put, not what they ask for. */
  PodTemplate {
    if (annotations.get(0).raw() instanceof Map<?, ?> own
        && own.containsKey(TpuLabels.OWN_BINDING)
        && spec.raw() instanceof Map<?, ?> fields) {
      Map<String, @Nullable Object> template = new LinkedHashMap<>();
      template.put("metadata", MergePatch.copyOf(Map.of("annotations", own)));
      template.put("spec", MergePatch.copyOf(fields));
      TemplateBinding.unbind(template);
      spec = spec.instead(template.get("spec"));
      List<Generic> rest = new ArrayList<>(annotations);
      rest.set(
          0,
          annotations
              .get(0)
              .instead(
                  TemplateBinding.map(TemplateBinding.map(template, "metadata"), "annotations")));
      annotations = List.copyOf(rest);
    }
  }

  /** An annotation; absent, with the path in the template, if there is none. */
  Generic annotation(String key) {
    for (Generic map : annotations) {
      Generic found = map.get(key);
      if (found.isPresent()) {
        return found;
      }
    }
    return annotations.get(0).get(key);
  }

  /** Whether any container names the resource, be it with nonsense. */
  boolean namesChips() {
    for (String kind : CONTAINERS) {
      if (spec.raw() instanceof Map<?, ?> fields
          && fields.get(kind) instanceof List<?> containers) {
        for (Object container : containers) {
          if (names(container)) {
            return true;
          }
        }
      }
    }
    return false;
  }

  private static boolean names(@Nullable Object container) {
    return container instanceof Map<?, ?> fields
        && fields.get("resources") instanceof Map<?, ?> resources
        && (resources.get("limits") instanceof Map<?, ?> limits && limits.containsKey(TpuLabels.TPU)
            || resources.get("requests") instanceof Map<?, ?> requests
                && requests.containsKey(TpuLabels.TPU));
  }
}
