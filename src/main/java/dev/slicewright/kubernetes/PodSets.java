package dev.slicewright.kubernetes;

import dev.slicewright.Problems;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The pod sets of an object, whatever its kind: the one place that knows how each kind writes pods
 * down. Confined to one thread at a time.
 *
 * <p>Sources: Kubernetes' Job API; JobSet's v1alpha2, LeaderWorkerSet's v1, Kueue's v1beta1 and
 * v1beta2 API types.
 */
final class PodSets {

  /**
   * Pods of one template.
   *
   * @param name the name of the replicated job, template or pod set; empty where there is one
   * @param template their template
   * @param chips chips of each
   * @param groups how many jobs, or groups of a LeaderWorkerSet, there are; 1 or more
   * @param pods pods of each group, 1 or more
   * @param count the field that says how many
   * @param job the spec of the job that makes them, if one does
   * @param exclusive the annotation that keeps groups apart
   * @param wish what it asks of the topology
   */
  record PodSet(
      String name,
      PodTemplate template,
      PodChips chips,
      int groups,
      int pods,
      Generic count,
      @Nullable Generic job,
      Generic exclusive,
      TopologyWish wish) {}

  /**
   * Pod sets that fill slices together.
   *
   * @param name the name of the pod set or of their group; empty where the object has one
   * @param podSets one or more, in worker order
   */
  record Ask(String name, List<PodSet> podSets) {}

  static final String LEADER = "leader";
  static final String WORKER = "worker";

  private static final Map<WorkKind, Set<String>> FINAL_CONDITIONS =
      Map.of(
          WorkKind.JOB, Set.of("Complete", "Failed"),
          WorkKind.JOB_SET, Set.of("Completed", "Failed"),
          WorkKind.WORKLOAD, Set.of("Finished"));

  private final WorkKind kind;
  private final ObjectRef ref;
  private final Generic root;
  private final Generic annotations; // of the object

  PodSets(HasMetadata object, Problems problems) {
    this.kind = WorkIndex.kind(object);
    this.ref = ObjectRef.of(object);
    this.root = Generic.read(object, problems);
    this.annotations =
        Generic.read(ref.path() + ".metadata.annotations", Generic.annotations(object), problems);
  }

  /** The fields of the object. */
  Generic root() {
    return root;
  }

  /** Whether its pods have ended, or Kueue was told to leave it. */
  boolean isOver() {
    if (kind == WorkKind.POD) {
      String phase = root.text("status", "phase").orElse("");
      return phase.equals("Succeeded") || phase.equals("Failed");
    }
    if (kind == WorkKind.WORKLOAD && !root.flag("spec", "active").orElse(true)) {
      return true;
    }
    Set<String> last = FINAL_CONDITIONS.getOrDefault(kind, Set.of());
    for (Generic condition : root.list("status", "conditions")) {
      if (condition.text("type").filter(last::contains).isPresent()
          && condition.text("status").filter("True"::equals).isPresent()) {
        return true;
      }
    }
    return false;
  }

  /** Whether its pods are not to start yet. */
  boolean isSuspended() {
    return (kind == WorkKind.JOB || kind == WorkKind.JOB_SET)
        && root.flag("spec", "suspend").orElse(false);
  }

  /** What it asks for: pod sets that have chips, or keep those that do company. */
  List<Ask> asks() {
    List<PodSet> all =
        switch (kind) {
          case POD -> pod();
          case JOB -> job();
          case JOB_SET -> jobSet();
          case LEADER_WORKER_SET -> leaderWorkerSet();
          case WORKLOAD -> workload();
        };
    Map<String, List<PodSet>> groups = new LinkedHashMap<>();
    for (PodSet podSet : all) {
      // Names of groups and of pod sets are apart: "/" is in no name.
      String group =
          kind == WorkKind.LEADER_WORKER_SET ? "" : podSet.wish.group().text().orElse("");
      groups
          .computeIfAbsent(group.isEmpty() ? "/" + podSet.name : group, g -> new ArrayList<>())
          .add(podSet);
    }
    if (!hasChips(all)) {
      nameChips(all);
      return List.of();
    }
    if (kind == WorkKind.LEADER_WORKER_SET) {
      return List.of(new Ask("", all));
    }
    List<Ask> asks = new ArrayList<>();
    groups.forEach(
        (group, members) -> {
          if (hasChips(members)) {
            asks.add(new Ask(group.startsWith("/") ? group.substring(1) : group, members));
          }
        });
    return asks;
  }

  /** Without chips a wish for a slice is in vain. */
  private static void nameChips(List<PodSet> podSets) {
    for (PodSet podSet : podSets) {
      Generic wish = podSet.template.annotation(TpuLabels.SLICE_TOPOLOGY);
      if (wish.isPresent()) {
        podSet
            .template
            .spec()
            .get("containers")
            .problem(
                "expected "
                    + TpuLabels.TPU
                    + " in the limits of a container, as pods of a slice of "
                    + wish.shown()
                    + " need, but there was none; add it, or drop "
                    + TpuLabels.SLICE_TOPOLOGY);
        return;
      }
    }
  }

  private static boolean hasChips(List<PodSet> podSets) {
    return podSets.stream().anyMatch(p -> p.template.namesChips());
  }

  // ---------------------------------------------------------------- kinds

  private List<PodSet> pod() {
    PodTemplate template = new PodTemplate(root.get("spec"), List.of(annotations));
    Generic count = root.get("spec", "containers");
    return List.of(
        new PodSet(
            "",
            template,
            PodChips.of(template.spec()),
            1,
            1,
            count,
            null,
            template.annotation(TpuLabels.JOBSET_EXCLUSIVE),
            TopologyWish.of(template)));
  }

  private List<PodSet> job() {
    List<PodSet> into = new ArrayList<>();
    addJob("", 1, root.get("spec"), List.of(annotations), into);
    return into;
  }

  private List<PodSet> jobSet() {
    List<PodSet> into = new ArrayList<>();
    for (Generic replicated : root.list("spec", "replicatedJobs")) {
      Generic job = replicated.get("template");
      addJob(
          name(replicated),
          count(replicated.get("replicas")),
          job.get("spec"),
          List.of(job.get("metadata", "annotations"), annotations),
          into);
    }
    return into;
  }

  private static String name(Generic named) {
    Generic field = named.get("name");
    String name = field.text().orElse("");
    if (name.isEmpty() && (!field.isPresent() || field.raw() instanceof String)) {
      field.problem("a name", "name it");
    }
    return name;
  }

  private void addJob(
      String name, int groups, Generic spec, List<Generic> around, List<PodSet> into) {
    Generic parallelism = spec.get("parallelism");
    add(
        name,
        groups,
        count(parallelism),
        parallelism,
        spec,
        template(spec.get("template"), around),
        null,
        into);
  }

  private List<PodSet> leaderWorkerSet() {
    Generic spec = root.get("spec", "leaderWorkerTemplate");
    int groups = count(root.get("spec", "replicas"));
    int size = count(spec.get("size"));
    Generic leader = spec.get("leaderTemplate");
    List<PodSet> into = new ArrayList<>();
    if (leader.isPresent()) {
      PodTemplate template = template(leader, List.of(annotations));
      add(LEADER, groups, Math.min(1, size), spec.get("size"), null, template, null, into);
    }
    PodTemplate template = template(spec.get("workerTemplate"), List.of(annotations));
    add(
        leader.isPresent() ? WORKER : "",
        groups,
        leader.isPresent() ? Math.max(0, size - 1) : size,
        spec.get("size"),
        null,
        template,
        null,
        into);
    return into;
  }

  private List<PodSet> workload() {
    List<PodSet> into = new ArrayList<>();
    for (Generic podSet : root.list("spec", "podSets")) {
      Generic request = podSet.get("topologyRequest");
      Generic count = podSet.get("count");
      int pods = count(count);
      Generic groups = request.get("subGroupCount");
      int jobs = count(groups);
      if (jobs < 1 || pods % jobs != 0) {
        groups.problem(
            "a number of groups that divides the " + pods + " pods",
            "write how many jobs the pods come from");
        jobs = 1;
      }
      String name = podSet.text("name").orElse("main");
      PodTemplate template = template(podSet.get("template"), List.of(annotations));
      add(name, jobs, pods / jobs, count, null, template, request, into);
    }
    return into;
  }

  private void add(
      String name,
      int groups,
      int pods,
      Generic count,
      @Nullable Generic job,
      PodTemplate template,
      @Nullable Generic request,
      List<PodSet> into) {
    if (groups > 0 && pods > 0) {
      String exclusive =
          kind == WorkKind.LEADER_WORKER_SET ? TpuLabels.LWS_EXCLUSIVE : TpuLabels.JOBSET_EXCLUSIVE;
      into.add(
          new PodSet(
              name,
              template,
              PodChips.of(template.spec()),
              groups,
              pods,
              count,
              job,
              template.annotation(exclusive),
              TopologyWish.of(template, request)));
    }
  }

  private static PodTemplate template(Generic template, List<Generic> around) {
    List<Generic> annotations = new ArrayList<>();
    annotations.add(template.get("metadata", "annotations"));
    annotations.addAll(around);
    return new PodTemplate(template.get("spec"), annotations);
  }

  /** A number of pods or groups: 1 where none is given, and, with a problem, where it is none. */
  private static int count(Generic field) {
    long count = field.whole().orElse(1);
    if (count < 0 || count > Integer.MAX_VALUE) {
      field.problem("0 to 2147483647", "write how many there are");
      return 1;
    }
    return (int) count;
  }
}
