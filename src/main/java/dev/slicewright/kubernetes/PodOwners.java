package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.OwnerReference;
import io.fabric8.kubernetes.api.model.Pod;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Finds the workload of a pod by its controllers, and where they are not among the objects by the
 * labels that they put on pods. Immutable, safe to share.
 *
 * <p>Pods that have no number of their own, but each a slice (those of a Job that is not Indexed),
 * are numbered in the order of their names. Sources of the labels: Kubernetes' Job controller,
 * JobSet's and LeaderWorkerSet's API types, Kueue's constants.
 */
final class PodOwners implements Owners {

  /** Label of pods of a JobSet: its name. */
  static final String JOB_SET = "jobset.sigs.k8s.io/jobset-name";

  /** Label of pods of a JobSet: the replicated job. */
  static final String REPLICATED_JOB = "jobset.sigs.k8s.io/replicatedjob-name";

  /** Label of pods of a JobSet: the number of their job. */
  static final String JOB_INDEX = "jobset.sigs.k8s.io/job-index";

  /** Label of pods of a Job: its name. */
  static final String JOB = "batch.kubernetes.io/job-name";

  /** Label, and in older clusters annotation, of pods of an indexed Job: their number. */
  static final String COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index";

  /** Label of pods of a LeaderWorkerSet: its name. */
  static final String LWS = "leaderworkerset.sigs.k8s.io/name";

  /** Label of pods of a LeaderWorkerSet: the number of their group. */
  static final String LWS_GROUP = "leaderworkerset.sigs.k8s.io/group-index";

  /** Label of pods of a LeaderWorkerSet: their number in the group. */
  static final String LWS_WORKER = "leaderworkerset.sigs.k8s.io/worker-index";

  /** Label of pods that Kueue has started: their pod set. */
  static final String POD_SET = "kueue.x-k8s.io/podset";

  /** Label of pods of a pod group: their number. */
  static final String POD_GROUP_INDEX = "kueue.x-k8s.io/pod-group-pod-index";

  private static final int MAX_DIGITS = 9;

  /**
   * What a pod's own labels and controller say.
   *
   * @param request the id of the request of its workload
   * @param own whether the pod is a workload of its own
   */
  record Hint(String request, boolean own, int slice, int worker) {}

  /**
   * The place of a pod set in the requests.
   *
   * @param request the id
   * @param podsPerJob pods of each job of the set
   */
  record Seat(String request, int podsPerJob) {}

  private final WorkIndex index;
  private final Map<String, Workload> workloads;
  private final Map<String, Seat> seats; // by path of the object and pod set
  private final Map<String, Integer> ranks = new HashMap<>(); // by path of the pod

  PodOwners(
      WorkIndex index,
      Map<String, Workload> workloads,
      Map<String, Seat> seats,
      List<HasMetadata> objects) {
    this.index = index;
    this.workloads = workloads;
    this.seats = seats;
    Map<String, TreeSet<String>> unnumbered = new TreeMap<>();
    for (HasMetadata object : objects) {
      if (object instanceof Pod pod
          && !PodSeats.hasEnded(pod)
          && number(pod, COMPLETION_INDEX) < 0) {
        Workload workload = workload(pod);
        if (workload != null && workload.request().slices() > 1) {
          unnumbered
              .computeIfAbsent(workload.request().id(), id -> new TreeSet<>())
              .add(ObjectRef.of(pod).path());
        }
      }
    }
    unnumbered.forEach(
        (request, paths) -> {
          int rank = 0;
          for (String path : paths) {
            ranks.put(path, rank++);
          }
        });
  }

  @Override
  public Optional<PodOwner> of(Pod pod) {
    HasMetadata top = index.top(pod);
    if (top == pod) {
      Hint hint = hint(pod);
      return WorkIndex.wantsChips(pod) || !hint.own && workloads.containsKey(hint.request)
          ? Optional.of(new PodOwner(hint.request, hint.slice, hint.worker))
          : Optional.empty();
    }
    Seat seat = seat(pod, top);
    if (seat != null) {
      Workload workload = workloads.get(seat.request);
      if (workload != null) {
        return Optional.of(owner(pod, seat, workload, podSet(pod, top)));
      }
    }
    if (!WorkIndex.wantsChips(pod)) {
      return Optional.empty();
    }
    String request = seat == null ? request(top, podSet(pod, top)) : seat.request;
    Hint hint = hint(pod);
    return Optional.of(new PodOwner(request, hint.slice, hint.worker));
  }

  /** The workload that a pod is part of by way of objects that are here. */
  private @Nullable Workload workload(Pod pod) {
    HasMetadata top = index.top(pod);
    Seat seat = top == pod ? null : seat(pod, top);
    return seat == null ? null : workloads.get(seat.request);
  }

  private @Nullable Seat seat(Pod pod, HasMetadata top) {
    return seats.get(ObjectRef.of(top).path() + "/" + podSet(pod, top));
  }

  private static String request(HasMetadata top, String podSet) {
    ObjectRef ref = ObjectRef.of(top);
    boolean named = WorkIndex.kind(top).hasPodSets();
    return Names.request(ref.kind(), ref.namespace(), ref.name(), named ? podSet : "");
  }

  /** The pod set of a pod in the object that it belongs to. */
  private String podSet(Pod pod, HasMetadata top) {
    return switch (WorkIndex.kind(top)) {
      case POD, JOB -> "";
      case JOB_SET -> label(pod, REPLICATED_JOB);
      case LEADER_WORKER_SET ->
          seats.containsKey(ObjectRef.of(top).path() + "/" + PodSets.LEADER)
              ? number(pod, LWS_WORKER) == 0 ? PodSets.LEADER : PodSets.WORKER
              : "";
      case WORKLOAD -> {
        String named = label(pod, POD_SET);
        String replicated = named.isEmpty() ? label(pod, REPLICATED_JOB) : named;
        yield replicated.isEmpty() ? "main" : replicated;
      }
    };
  }

  /** A label of the pod, else of the job that made it. */
  private String label(Pod pod, String key) {
    String own = Generic.labels(pod).get(key);
    if (own != null) {
      return own;
    }
    String above = index.parent(pod).map(job -> Generic.labels(job).get(key)).orElse(null);
    return above == null ? "" : above;
  }

  /** Where a pod stands among those of its request. */
  private PodOwner owner(Pod pod, Seat seat, Workload workload, String podSet) {
    Workload.Layout layout = workload.layout();
    int before = 0;
    Workload.Member member = null;
    for (Workload.Member next : layout.group()) {
      if (next.podSet().equals(podSet)) {
        member = next;
        break;
      }
      before += next.chips() > 0 ? next.pods() : 0;
    }
    int groups = workload.request().slices() / layout.slicesPerGroup();
    int job = Math.max(0, job(pod));
    int group = groups > 1 && job < groups ? job : 0;
    int slice = group * layout.slicesPerGroup();
    if (member == null || member.chips() == 0) {
      return new PodOwner(seat.request, slice, -1);
    }
    int at = place(pod, seat, layout, groups > 1 ? 0 : job);
    if (at < 0 && workload.request().slices() * layout.podsPerSlice() == 1) {
      at = 0;
    }
    Integer rank = at < 0 ? ranks.get(ObjectRef.of(pod).path()) : null;
    if (rank != null && rank < workload.request().slices() && layout.podsPerSlice() == 1) {
      return new PodOwner(seat.request, rank, 0);
    }
    if (at < 0 || at >= member.pods()) {
      return new PodOwner(seat.request, slice, -1);
    }
    int place = before + at;
    return new PodOwner(
        seat.request, slice + place / layout.podsPerSlice(), place % layout.podsPerSlice());
  }

  /** The number of a pod in its pod set's group; -1 if it has none. */
  private int place(Pod pod, Seat seat, Workload.Layout layout, int job) {
    int worker = number(pod, LWS_WORKER);
    if (worker >= 0) {
      boolean led = layout.group().get(0).podSet().equals(PodSets.LEADER);
      return led && worker > 0 ? worker - 1 : worker;
    }
    int number = number(pod, COMPLETION_INDEX);
    if (number < 0) {
      return number(pod, POD_GROUP_INDEX);
    }
    // A Workload that does not say how many jobs its pods come from: each fills a slice.
    int perJob =
        job > 0 && seat.podsPerJob > layout.podsPerSlice() * job
            ? layout.podsPerSlice()
            : seat.podsPerJob;
    return job * perJob + number;
  }

  private int job(Pod pod) {
    int group = number(pod, LWS_GROUP);
    return group >= 0 ? group : whole(label(pod, JOB_INDEX));
  }

  /** The number in a label, or in an annotation of the same name; -1 if there is none. */
  private static int number(HasMetadata pod, String key) {
    int label = whole(Generic.labels(pod).get(key));
    return label >= 0 ? label : whole(Generic.annotations(pod).get(key));
  }

  private static int whole(@Nullable String digits) {
    return digits == null
            || digits.isEmpty()
            || digits.length() > MAX_DIGITS
            || !digits.chars().allMatch(c -> c >= '0' && c <= '9')
        ? -1
        : Integer.parseInt(digits);
  }

  // ---------------------------------------------------------------- without the objects above

  /** What a pod says of itself. */
  static Hint hint(HasMetadata pod) {
    ObjectRef ref = ObjectRef.of(pod);
    Map<String, String> labels = Generic.labels(pod);
    String namespace = ref.namespace();
    int number = number(pod, COMPLETION_INDEX);
    String jobSet = labels.get(JOB_SET);
    if (jobSet != null) {
      String replicated = labels.getOrDefault(REPLICATED_JOB, "");
      return new Hint(
          Names.request(WorkKind.JOB_SET.kind(), namespace, jobSet, replicated),
          false,
          Math.max(0, number(pod, JOB_INDEX)),
          number);
    }
    String set = labels.get(LWS);
    if (set != null) {
      return new Hint(
          Names.request(WorkKind.LEADER_WORKER_SET.kind(), namespace, set, ""),
          false,
          Math.max(0, number(pod, LWS_GROUP)),
          number(pod, LWS_WORKER));
    }
    OwnerReference controller = WorkIndex.controller(pod).orElse(null);
    String job = labels.get(JOB);
    if (job == null
        && controller != null
        && WorkKind.of(controller.getApiVersion(), controller.getKind())
            .filter(WorkKind.JOB::equals)
            .isPresent()) {
      job = controller.getName();
    }
    if (job != null) {
      return new Hint(Names.request(WorkKind.JOB.kind(), namespace, job, ""), false, 0, number);
    }
    if (controller != null && controller.getName() != null && isOfSeveralHosts(pod)) {
      return new Hint(
          Names.request(String.valueOf(controller.getKind()), namespace, controller.getName(), ""),
          false,
          0,
          -1);
    }
    return new Hint(Names.request(WorkKind.POD.kind(), namespace, ref.name(), ""), true, 0, 0);
  }

  /** Whether the slice that a pod wants has more chips than the pod. */
  private static boolean isOfSeveralHosts(HasMetadata pod) {
    Problems ignored = new Problems(); // named where the pod is translated, if it is
    Generic spec = Generic.read(pod, ignored).get("spec");
    String wanted = Generic.annotations(pod).get(TpuLabels.SLICE_TOPOLOGY);
    String shape =
        wanted == null ? spec.text("nodeSelector", TpuLabels.TOPOLOGY).orElse("") : wanted;
    try {
      return Shape.parse(shape).chips() > PodChips.of(spec).chips();
    } catch (InvalidInputException e) {
      return false;
    }
  }

  // ---------------------------------------------------------------- Slices

  @Override
  public Optional<String> of(String namespace, String workload, String podSet) {
    for (WorkKind kind :
        new WorkKind[] {
          WorkKind.WORKLOAD,
          WorkKind.JOB_SET,
          WorkKind.JOB,
          WorkKind.LEADER_WORKER_SET,
          WorkKind.POD
        }) {
      HasMetadata found = index.find(kind, namespace, workload).orElse(null);
      if (found != null) {
        HasMetadata top = index.top(found);
        String path = ObjectRef.of(top).path() + "/";
        Seat seat = seats.get(path + podSet);
        Seat only = seat == null ? seats.get(path) : seat;
        return Optional.of(only == null ? request(top, podSet) : only.request);
      }
    }
    return Optional.empty();
  }
}
