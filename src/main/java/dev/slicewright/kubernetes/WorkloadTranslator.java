package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.Problems;
import dev.slicewright.kubernetes.PodSets.Ask;
import dev.slicewright.kubernetes.PodSets.PodSet;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Makes requests of workloads. Confined to one thread at a time.
 *
 * <p>An object that has ended, is being deleted, or has no pods is no work; one that is suspended
 * is. What any part of an object has wrong leaves the whole object out, except where what is meant
 * is plain all the same (another order of a shape's extents, an unknown priority class).
 *
 * <p>Objects are taken in the order of their names, whatever the order given. Templates that say
 * the same about nodes are matched once: O(objects + distinct templates × domains).
 */
final class WorkloadTranslator {

  private static final int MAX_LABEL = 63;
  private static final int MAX_DEPTH = 16; // of a pod template in any object
  private static final String RANDOM_SUFFIX = "-abcde"; // what Kubernetes ends names of pods with

  /** Workloads by request id, in order of it, and whose pods are whose. */
  record Translation(Map<String, Workload> workloads, Owners owners) {}

  private final WorkIndex index;
  private final WorkContext context;
  private final Problems problems;
  private final List<LeftOut> leftOut;
  private final Map<String, Workload> workloads = new TreeMap<>();
  private final Map<String, PodOwners.Seat> seats = new TreeMap<>(); // by path and pod set

  private WorkloadTranslator(
      WorkIndex index, WorkContext context, Problems problems, List<LeftOut> leftOut) {
    this.index = index;
    this.context = context;
    this.problems = problems;
    this.leftOut = leftOut;
  }

  /**
   * Translates all work among objects.
   *
   * @param objects of any kinds
   * @param domains the pods of the fleet
   * @param settings what the reader was told
   * @param problems where everything wrong is added
   * @param leftOut where work that is wrong is added
   */
  static Translation translate(
      KubernetesObjects objects,
      Domains domains,
      ReadSettings settings,
      Problems problems,
      List<LeftOut> leftOut) {
    List<HasMetadata> classes = new ArrayList<>();
    for (HasMetadata object : objects.all()) {
      if (Priorities.isClass(object)) {
        classes.add(object);
      }
    }
    classes.sort(Comparator.comparing(ObjectRef::of));
    WorkIndex index = new WorkIndex(objects.all(), problems, leftOut);
    WorkContext context = new WorkContext(domains, settings, new Priorities(classes, problems));
    WorkloadTranslator translator = new WorkloadTranslator(index, context, problems, leftOut);
    for (HasMetadata object : index.objects()) {
      translator.translate(object);
    }
    PodOwners owners = new PodOwners(index, translator.workloads, translator.seats, objects.all());
    return new Translation(translator.workloads, owners);
  }

  private void translate(HasMetadata object) {
    if (index.parent(object).isPresent() || isLeaving(object)) {
      return;
    }
    WorkKind kind = WorkIndex.kind(object);
    ObjectRef ref = ObjectRef.of(object);
    if (kind == WorkKind.POD && !standsAlone(object, ref)) {
      return;
    }
    Problems found = new Problems();
    Problems mild = new Problems();
    PodSets podSets = new PodSets(object, found);
    List<HasMetadata> queued = index.workloadsOf(object);
    if (podSets.isOver() || isInactive(queued)) {
      return;
    }
    List<Ask> asks = podSets.asks();
    if (asks.isEmpty() && found.isEmpty()) {
      return;
    }
    if (asks.isEmpty() && !mentionsTpus(podSets.root().raw(), 0)) {
      return; // wrong, and none of ours
    }
    checkNames(kind, ref, asks, found);
    List<Workload> read = new ArrayList<>();
    for (Ask ask : asks) {
      read(object, kind, podSets, ask, queued, asks.size() > 1, mild, found).ifPresent(read::add);
    }
    List<Problem> wrong = found.list();
    wrong.forEach(problem -> problems.add(problem.path(), problem.message()));
    mild.list().forEach(problem -> problems.add(problem.path(), problem.message()));
    if (wrong.isEmpty()) {
      read.forEach(workload -> workloads.put(workload.request().id(), workload));
    } else {
      leftOut.add(new LeftOut(ref, wrong.get(0).message()));
    }
  }

  private static boolean isLeaving(HasMetadata object) {
    ObjectMeta metadata = object.getMetadata();
    return metadata != null && metadata.getDeletionTimestamp() != null;
  }

  /** Kueue was told to leave all that belongs to an object. */
  private static boolean isInactive(List<HasMetadata> queued) {
    Problems ignored = new Problems(); // of the Workload, which is not translated itself
    return !queued.isEmpty()
        && queued.stream()
            .allMatch(w -> !Generic.read(w, ignored).flag("spec", "active").orElse(true));
  }

  /** Whether a pod is work of its own; one that waits for an object that is not here is named. */
  private boolean standsAlone(HasMetadata pod, ObjectRef ref) {
    PodOwners.Hint hint = PodOwners.hint(pod);
    if (hint.own()) {
      return true;
    }
    PodSets read = new PodSets(pod, new Problems());
    if (!read.root().get("spec", "nodeName").isPresent() && !read.isOver()) {
      leftOut.add(
          new LeftOut(
              ref,
              "It belongs to "
                  + hint.request()
                  + ", which is not among the objects; hand that in to have it placed."));
    }
    return false;
  }

  private static boolean mentionsTpus(@Nullable Object tree, int depth) {
    if (depth > MAX_DEPTH) {
      return false;
    }
    if (tree instanceof Map<?, ?> map) {
      return map.containsKey(TpuLabels.TPU)
          || map.containsKey(TpuLabels.SLICE_TOPOLOGY)
          || map.containsKey(TpuLabels.ACCELERATOR)
          || map.values().stream().anyMatch(value -> mentionsTpus(value, depth + 1));
    }
    return tree instanceof List<?> list
        && list.stream().anyMatch(value -> mentionsTpus(value, depth + 1));
  }

  private Optional<Workload> read(
      HasMetadata object,
      WorkKind kind,
      PodSets podSets,
      Ask ask,
      List<HasMetadata> queued,
      boolean gang,
      Problems mild,
      Problems found) {
    ObjectRef ref = ObjectRef.of(object);
    String podSet = kind.hasPodSets() ? ask.name() : "";
    String id = Names.request(ref.kind(), ref.namespace(), ref.name(), podSet);
    for (PodSet member : ask.podSets()) {
      seats.put(ref.path() + "/" + member.name(), new PodOwners.Seat(id, member.pods()));
    }
    RequestReader reader = new RequestReader(context, kind, ask, podSets.root(), mild, found);
    RequestReader.Result result = reader.read(id).orElse(null);
    if (result == null) {
      return Optional.empty();
    }
    PodSet first =
        ask.podSets().stream().filter(p -> p.chips().chips() > 0).findFirst().orElseThrow();
    result
        .request()
        .priority(priority(object, kind, podSets.root(), first, queued, mild))
        .tenant(tenant(object, kind, podSets.root(), queued))
        .gang(gang ? ref.path() : "");
    try {
      return Optional.of(
          new Workload(
              ref,
              podSet,
              result.request().build(),
              result.layout(),
              podSets.isSuspended(),
              result.notes(),
              result.selection(),
              object));
    } catch (InvalidInputException e) {
      found.addAll(ref.path(), e);
      return Optional.empty();
    }
  }

  // ---------------------------------------------------------------- priority, tenant

  /**
   * What Kueue orders by goes first: the priority of the Workload, then the class that a label
   * names; then what Kubernetes orders by: the pods' priority, their class, the default class.
   */
  private long priority(
      HasMetadata object,
      WorkKind kind,
      Generic root,
      PodSet podSet,
      List<HasMetadata> queued,
      Problems mild) {
    for (HasMetadata workload : queued) {
      OptionalLong priority = queuePriority(Generic.read(workload, mild).get("spec"));
      if (priority.isPresent()) {
        return priority.getAsLong();
      }
    }
    if (kind == WorkKind.WORKLOAD) {
      OptionalLong priority = queuePriority(mildly(root, object, mild).get("spec"));
      if (priority.isPresent()) {
        return priority.getAsLong();
      }
    }
    String label = Generic.labels(object).get(TpuLabels.QUEUE_PRIORITY);
    if (label != null && !label.isEmpty()) {
      return context
          .priorities()
          .ofWorkload(
              label,
              Generic.read(
                      ObjectRef.of(object).path() + ".metadata.labels",
                      Generic.labels(object),
                      mild)
                  .get(TpuLabels.QUEUE_PRIORITY));
    }
    Generic spec = podSet.template().spec();
    OptionalLong given = spec.whole("priority");
    if (given.isPresent()) {
      return given.getAsLong();
    }
    String name = spec.text("priorityClassName").orElse("");
    return name.isEmpty()
        ? context.priorities().byDefault()
        : context
            .priorities()
            .of(name, Generic.read(spec.path(), spec.raw(), mild).get("priorityClassName"));
  }

  private static Generic mildly(Generic root, HasMetadata object, Problems mild) {
    return Generic.read(ObjectRef.of(object).path(), root.raw(), mild);
  }

  private OptionalLong queuePriority(Generic spec) {
    OptionalLong given = spec.whole("priority");
    if (given.isPresent()) {
      return given;
    }
    Generic ref = spec.get("priorityClassRef");
    if (ref.isPresent()) { // v1beta2
      String name = ref.text("name").orElse("");
      boolean ofPods = ref.text("group").filter("scheduling.k8s.io"::equals).isPresent();
      return OptionalLong.of(classValue(name, ofPods, ref.get("name")));
    }
    Generic name = spec.get("priorityClassName");
    if (name.text().orElse("").isEmpty()) {
      return OptionalLong.empty();
    }
    boolean ofQueues =
        spec.text("priorityClassSource")
            .filter("kueue.x-k8s.io/workloadpriorityclass"::equals)
            .isPresent();
    return OptionalLong.of(classValue(name.text().orElse(""), !ofQueues, name));
  }

  private long classValue(String name, boolean ofPods, Generic field) {
    return ofPods
        ? context.priorities().of(name, field)
        : context.priorities().ofWorkload(name, field);
  }

  private String tenant(HasMetadata object, WorkKind kind, Generic root, List<HasMetadata> queued) {
    String namespace = WorkIndex.namespace(object);
    if (context.tenantBy() == TenantBy.NAMESPACE) {
      return namespace;
    }
    String queue = "";
    if (kind == WorkKind.WORKLOAD) {
      queue = root.text("spec", "queueName").orElse("");
    }
    for (HasMetadata workload : queued) {
      if (queue.isEmpty()) {
        queue = Generic.read(workload, new Problems()).text("spec", "queueName").orElse("");
      }
    }
    if (queue.isEmpty()) {
      queue = Generic.labels(object).getOrDefault(TpuLabels.QUEUE, "");
    }
    return queue.isEmpty() ? namespace : namespace + "/" + queue;
  }

  // ---------------------------------------------------------------- names

  /**
   * Names that break later: pods that a controller cannot make, labels that no object can carry.
   * Limits: Kubernetes' label values, and the names that JobSet and LeaderWorkerSet give.
   */
  private static void checkNames(WorkKind kind, ObjectRef ref, List<Ask> asks, Problems found) {
    String path = ref.path() + ".metadata.name";
    if (ref.name().isEmpty()) {
      found.add(path, "expected a name, but there was none; name the object");
      return;
    }
    for (Ask ask : asks) {
      for (PodSet podSet : ask.podSets()) {
        String longest = longestName(kind, ref.name(), podSet);
        if (longest.length() > MAX_LABEL) {
          found.add(
              path,
              "expected a name so short that its pods' names have at most 63 characters, but "
                  + longest
                  + " has "
                  + longest.length()
                  + "; shorten it by "
                  + (longest.length() - MAX_LABEL));
        }
      }
    }
  }

  private static String longestName(WorkKind kind, String name, PodSet podSet) {
    int group = podSet.groups() - 1;
    int pod = podSet.pods() - 1;
    return switch (kind) {
      case JOB_SET -> name + "-" + podSet.name() + "-" + group + "-" + pod + RANDOM_SUFFIX;
      case JOB -> name + (pod > 0 ? "-" + pod : "");
      case LEADER_WORKER_SET ->
          name + "-" + group + "-" + (podSet.name().equals(PodSets.WORKER) ? pod + 1 : pod);
      default -> "";
    };
  }
}
