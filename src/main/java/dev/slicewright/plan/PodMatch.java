package dev.slicewright.plan;

import dev.slicewright.fleet.Pod;
import dev.slicewright.request.SliceRequest;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Whether a pod is one that a request would take. */
final class PodMatch {
  private PodMatch() {}

  /** What is wrong with a pod for a request, or null if it matches. */
  static @Nullable String whyNot(SliceRequest request, Pod pod) {
    if (!request.accelerators().isEmpty()
        && !request.accelerators().contains(pod.topology().accelerator().name())) {
      return "is " + pod.topology().accelerator() + ", not one of " + request.accelerators();
    }
    for (Map.Entry<String, String> label : request.requiredLabels().entrySet()) {
      if (!label.getValue().equals(pod.labels().get(label.getKey()))) {
        return "lacks the required label " + label;
      }
    }
    for (Map.Entry<String, Set<String>> label : request.forbiddenLabels().entrySet()) {
      String value = pod.labels().get(label.getKey());
      if (value != null && label.getValue().contains(value)) {
        return "has the forbidden label " + label.getKey() + "=" + value;
      }
    }
    if (request.pod().isPresent() && !request.pod().get().equals(pod.id())) {
      return "is not the pinned pod " + request.pod().get();
    }
    return null;
  }

  static boolean matches(SliceRequest request, Pod pod) {
    return whyNot(request, pod) == null;
  }
}
