package dev.slicewright.kubernetes;

import dev.slicewright.kubernetes.WorkloadPatch.Requires;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.json.JsonMapper;

/**
 * The patches of objects whose pods are to go to their slices, or no longer. Immutable, safe to
 * share.
 *
 * <p>Which fields may change: of a suspended Job's template labels, annotations, node selector,
 * node affinity and tolerations (KEP-2926); of a suspended JobSet's the same but for affinity, and
 * nothing of its job templates (JobSet's webhook); of a gated pod node selectors and expressions of
 * affinity may be added (KEP-3838); of any pod annotations, and tolerations may be added. A Kueue
 * Workload has no pods of its own.
 */
final class WorkloadPatches {

  private static final ObjectMapper MAPPER = new JsonMapper();

  private WorkloadPatches() {}

  /** The pods of one pod set of an object: how they are bound, or null if they have to wait. */
  record Change(Workload workload, @Nullable TemplateBinding binding) {}

  /**
   * The patch of one object.
   *
   * @param changes of its pod sets, one or more, all of one object
   * @param running whether its pods run, so that a pod has to be made anew
   * @return the patch; empty if nothing has to change, or there is nothing to patch
   */
  static Optional<WorkloadPatch> of(List<Change> changes, boolean running) {
    ObjectRef object = changes.get(0).workload().object();
    Map<String, @Nullable Object> before = tree(changes.get(0).workload().source());
    Map<String, @Nullable Object> after = MergePatch.copyOf(before);
    Requires requires =
        switch (object.kind()) {
          case "Job" -> job(after, changes.get(0));
          case "JobSet" -> jobSet(before, after, changes);
          case "LeaderWorkerSet" -> leaderWorkerSet(after, changes.get(0));
          case "Pod" -> pod(after, changes.get(0), running);
          default -> Requires.NOTHING;
        };
    if (changes.stream().anyMatch(change -> change.binding() == null) && isSuspendable(object)) {
      TemplateBinding.map(after, "spec").put("suspend", true);
    }
    Map<String, @Nullable Object> patch = MergePatch.between(before, after);
    return patch.isEmpty()
        ? Optional.empty()
        : Optional.of(new WorkloadPatch(object, requires, patch));
  }

  /** Whether objects of this kind have a field {@code spec.suspend}. */
  static boolean isSuspendable(ObjectRef object) {
    return object.kind().equals("Job") || object.kind().equals("JobSet");
  }

  /** An object as maps and lists, a copy. */
  static Map<String, @Nullable Object> tree(HasMetadata object) {
    return MergePatch.copyOf(MAPPER.convertValue(object, Map.class));
  }

  /** The object of a tree. */
  static GenericKubernetesResource resource(Map<String, @Nullable Object> tree) {
    return MAPPER.convertValue(tree, GenericKubernetesResource.class);
  }

  private static Requires job(Map<String, @Nullable Object> job, Change change) {
    alter(TemplateBinding.map(TemplateBinding.map(job, "spec"), "template"), change.binding());
    return Requires.SUSPENDED;
  }

  private static Requires jobSet(
      Map<String, @Nullable Object> before,
      Map<String, @Nullable Object> after,
      List<Change> changes) {
    List<Map<String, @Nullable Object>> jobs = replicatedJobs(after);
    List<Map<String, @Nullable Object>> was = replicatedJobs(before);
    boolean fixed = false;
    for (Change change : changes) {
      for (int i = 0; i < jobs.size(); i++) {
        Map<String, @Nullable Object> job = jobs.get(i);
        if (!change.workload().podSet().equals(job.get("name"))) {
          continue;
        }
        Map<String, @Nullable Object> template = TemplateBinding.map(job, "template");
        TemplateBinding binding = change.binding();
        alter(TemplateBinding.map(TemplateBinding.map(template, "spec"), "template"), binding);
        exclude(template, TpuLabels.JOBSET_EXCLUSIVE, binding);
        fixed |= !fixedParts(job).equals(fixedParts(was.get(i)));
      }
    }
    return fixed ? Requires.RECREATED : Requires.SUSPENDED;
  }

  private static List<Map<String, @Nullable Object>> replicatedJobs(
      Map<String, @Nullable Object> jobSet) {
    List<Map<String, @Nullable Object>> jobs = new ArrayList<>();
    if (TemplateBinding.map(jobSet, "spec").get("replicatedJobs") instanceof List<?> list) {
      for (Object job : list) {
        if (job instanceof Map<?, ?>) {
          jobs.add(TemplateBinding.cast(job));
        }
      }
    }
    return jobs;
  }

  /** What a JobSet's webhook lets nobody change, suspended or not, of what a binding touches. */
  private static List<@Nullable Object> fixedParts(Map<String, @Nullable Object> job) {
    return Arrays.asList(
        at(job, "template", "metadata", "annotations"),
        at(job, "template", "spec", "template", "spec", "affinity"));
  }

  private static @Nullable Object at(@Nullable Object tree, String... fields) {
    Object here = tree;
    for (String field : fields) {
      here = here instanceof Map<?, ?> map ? map.get(field) : null;
    }
    return here;
  }

  /**
   * A LeaderWorkerSet cannot be suspended. One that has to wait keeps its binding to Slices that
   * are gone, so that its pods, made anew at once, wait too instead of taking slices of others.
   */
  private static Requires leaderWorkerSet(Map<String, @Nullable Object> set, Change change) {
    TemplateBinding binding = change.binding();
    if (binding != null) {
      Map<String, @Nullable Object> group =
          TemplateBinding.map(TemplateBinding.map(set, "spec"), "leaderWorkerTemplate");
      binding.bind(TemplateBinding.map(group, "workerTemplate"));
      if (group.get("leaderTemplate") instanceof Map<?, ?>) {
        binding.bind(TemplateBinding.map(group, "leaderTemplate"));
      }
      exclude(set, TpuLabels.LWS_EXCLUSIVE, binding);
    }
    return Requires.NOTHING;
  }

  /** A pod that has to wait again is made anew with a gate of ours. */
  private static Requires pod(Map<String, @Nullable Object> pod, Change change, boolean running) {
    TemplateBinding binding = change.binding();
    Map<String, @Nullable Object> spec = TemplateBinding.map(pod, "spec");
    List<@Nullable Object> gates = TemplateBinding.list(spec, "schedulingGates");
    boolean gated = !gates.isEmpty();
    gates.removeIf(WorkloadPatches::isOurs);
    if (binding == null) {
      gates.add(new LinkedHashMap<>(Map.of("name", TpuLabels.OWN_GATE)));
    } else if (gates.isEmpty()) {
      spec.remove("schedulingGates");
    }
    if (binding == null || running || (gated && !binding.onlyAdds(pod))) {
      alter(pod, binding);
      spec.remove("nodeName"); // where it was
      return Requires.RECREATED;
    }
    if (gated) {
      binding.bind(pod);
      return Requires.GATED;
    }
    binding.annotate(pod);
    return Requires.NOTHING;
  }

  private static boolean isOurs(@Nullable Object gate) {
    return gate instanceof Map<?, ?> map && TpuLabels.OWN_GATE.equals(map.get("name"));
  }

  /** Gives each job or group a domain of its own, by an annotation around their templates. */
  private static void exclude(
      Map<String, @Nullable Object> around, String annotation, @Nullable TemplateBinding binding) {
    if (binding != null) {
      binding
          .exclusiveTopology()
          .ifPresent(
              label ->
                  TemplateBinding.map(TemplateBinding.map(around, "metadata"), "annotations")
                      .put(annotation, label));
    }
  }

  private static void alter(
      Map<String, @Nullable Object> template, @Nullable TemplateBinding binding) {
    if (binding == null) {
      TemplateBinding.unbind(template);
    } else {
      binding.bind(template);
    }
  }
}
