package dev.slicewright.kubernetes;

import java.util.List;

/**
 * A pod template: its spec, and its annotations. Annotations of what is around the template (a job
 * template, the object) count where the template has none.
 *
 * @param spec the pods' spec
 * @param annotations maps of annotations, the template's own first; one at least
 */
record PodTemplate(Generic spec, List<Generic> annotations) {

  private static final List<String> CONTAINERS = List.of("containers", "initContainers");

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
      if (spec.raw() instanceof java.util.Map<?, ?> fields
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

  private static boolean names(@org.jspecify.annotations.Nullable Object container) {
    return container instanceof java.util.Map<?, ?> fields
        && fields.get("resources") instanceof java.util.Map<?, ?> resources
        && (resources.get("limits") instanceof java.util.Map<?, ?> limits
                && limits.containsKey(TpuLabels.TPU)
            || resources.get("requests") instanceof java.util.Map<?, ?> requests
                && requests.containsKey(TpuLabels.TPU));
  }
}
