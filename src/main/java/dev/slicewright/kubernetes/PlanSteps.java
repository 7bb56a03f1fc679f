package dev.slicewright.kubernetes;

import dev.slicewright.SliceId;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.kubernetes.ClusterStep.Kind;
import dev.slicewright.kubernetes.WorkloadPatch.Requires;
import dev.slicewright.plan.Rollout;
import dev.slicewright.plan.Step;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The steps of a rollout as things done to objects of the cluster. Confined to one thread at a
 * time.
 *
 * <p>A workload stops once, before the first of its slices is deleted, and goes on once all of them
 * are there again, patched to where they are then. O(steps, and nodes of the workloads they
 * concern).
 */
final class PlanSteps {

  private final Cluster cluster;
  private final PlanPlaces places;
  private final Rollout rollout;
  private final Set<String> leftOut; // requests that are not carried out
  private final Map<ObjectRef, List<Workload>> byObject = new HashMap<>();

  private final List<ClusterStep> steps = new ArrayList<>();
  private final Map<Integer, Set<Integer>> done = new HashMap<>(); // by step of the rollout
  private final Map<String, Map<SliceId, PlacedSlice>> now = new HashMap<>(); // by request
  private final Map<String, Integer> wanted = new HashMap<>(); // slices in the end, by request
  private final Map<ObjectRef, Integer> stopped = new HashMap<>(); // by which step
  private final Map<ObjectRef, Set<Integer>> made = new HashMap<>(); // since it last went on
  private final Set<String> evicted = new HashSet<>(); // requests
  private final Set<SliceId> moved = new HashSet<>();
  private final Set<ObjectRef> dropped = new TreeSet<>(); // of these, already patched

  private PlanSteps(Cluster cluster, PlanPlaces places, Rollout rollout, Set<String> leftOut) {
    this.cluster = cluster;
    this.places = places;
    this.rollout = rollout;
    this.leftOut = leftOut;
    for (Workload workload : cluster.workloads()) {
      byObject.computeIfAbsent(workload.object(), object -> new ArrayList<>()).add(workload);
    }
    rollout.plan().evictions().forEach(eviction -> evicted.add(eviction.request()));
    rollout.plan().moves().forEach(move -> moved.add(move.from().id()));
  }

  static List<ClusterStep> of(
      Cluster cluster, PlanPlaces places, Rollout rollout, Set<String> leftOut) {
    return new PlanSteps(cluster, places, rollout, leftOut).run();
  }

  private List<ClusterStep> run() {
    for (String request : places.changed()) {
      wanted.put(request, places.after(request).size());
    }
    for (Step step : rollout.steps()) {
      String request = Cluster.wholeId(step.slice().request());
      Set<Integer> after = new TreeSet<>();
      step.after().forEach(number -> after.addAll(done.getOrDefault(number, Set.of())));
      if (leftOut.contains(request)) {
        done.put(step.number(), after);
        continue;
      }
      Workload workload = cluster.workload(request).orElse(null);
      Set<Integer> last =
          step.kind().vacates()
              ? vacate(step, workload, after)
              : step.kind().takes() ? take(step, workload, after) : goOn(workload, after);
      done.put(step.number(), last);
    }
    finishBindings();
    dropSurplus();
    return List.copyOf(steps);
  }

  private Map<SliceId, PlacedSlice> now(String request) {
    return now.computeIfAbsent(
        request,
        id -> {
          Map<SliceId, PlacedSlice> running = new TreeMap<>();
          Fleet fleet = cluster.fleet();
          for (RunningSlice slice : fleet.runningOf(id)) {
            running.put(slice.id(), places.running(slice));
          }
          return running;
        });
  }

  // ---------------------------------------------------------------- slices

  private Set<Integer> vacate(Step step, @Nullable Workload workload, Set<Integer> after) {
    SliceId id = places.idOf(step.slice());
    PlacedSlice place = now(id.request()).remove(id);
    Set<Integer> before = new TreeSet<>(after);
    if (workload != null) {
      before.add(stop(workload, after));
    }
    Set<Integer> last = before;
    SliceManifest slice = place == null ? null : place.slice();
    if (slice != null && !slice.deleting()) {
      last = Set.of(add(before, Kind.DELETE_SLICE, ref(slice), id.request(), null, null));
    }
    if (step.kind() == Step.Kind.EVICT && workload != null) {
      drop(workload, before);
    }
    return last;
  }

  private Set<Integer> take(Step step, @Nullable Workload workload, Set<Integer> after) {
    PlacedSlice place = places.place(step.at(), true);
    String request = place.id().request();
    now(request).put(place.id(), place);
    Set<Integer> last = after;
    SliceManifest slice = place.slice();
    if (slice != null) {
      int created = add(after, Kind.CREATE_SLICE, ref(slice), request, slice, null);
      last = Set.of(created);
      for (SliceManifest failed : failed(slice, workload)) {
        add(last, Kind.DELETE_SLICE, ref(failed), request, null, null);
      }
    }
    if (workload != null) {
      made.computeIfAbsent(workload.object(), object -> new TreeSet<>()).addAll(last);
      if (step.kind() != Step.Kind.DETOUR && !moved.contains(place.id())) {
        goOn(workload, last); // what is new has no step of its own for going on
      }
    }
    return last;
  }

  /** Failed Slices of the same slice: once there is a better one they are in the way. */
  private List<SliceManifest> failed(SliceManifest created, @Nullable Workload workload) {
    List<SliceManifest> failed = new ArrayList<>();
    for (SliceManifest slice : cluster.slices()) {
      boolean hasFailed = !slice.takesPartitions();
      if (hasFailed
          && !slice.deleting()
          && !slice.name().equals(created.name())
          && isOfSame(slice, created, workload)) {
        failed.add(slice);
      }
    }
    return failed;
  }

  private static boolean isOfSame(
      SliceManifest slice, SliceManifest created, @Nullable Workload workload) {
    Map<String, String> theirs = slice.annotations();
    Map<String, String> ours = created.annotations();
    if (theirs.containsKey(TpuLabels.OWN_REQUEST)) {
      return same(theirs, ours, TpuLabels.OWN_REQUEST) && same(theirs, ours, TpuLabels.OWN_INDEX);
    }
    return workload != null
        && ours.containsKey(TpuLabels.OWNER_NAME)
        && same(theirs, ours, TpuLabels.OWNER_NAMESPACE)
        && same(theirs, ours, TpuLabels.OWNER_NAME)
        && same(theirs, ours, TpuLabels.OWNER_POD_SET);
  }

  private static boolean same(Map<String, String> a, Map<String, String> b, String key) {
    return a.containsKey(key) && a.get(key).equals(b.get(key));
  }

  // ---------------------------------------------------------------- workloads

  /** Stops a workload, unless that is done; the number of the step that does. */
  private int stop(Workload workload, Set<Integer> after) {
    Integer already = stopped.get(workload.object());
    if (already != null) {
      return already;
    }
    int number =
        add(
            after,
            canSuspend(workload) ? Kind.SUSPEND : Kind.DELETE_PODS,
            workload.object(),
            workload.request().id(),
            null,
            null);
    stopped.put(workload.object(), number);
    return number;
  }

  private static boolean canSuspend(Workload workload) {
    return WorkloadPatches.isSuspendable(workload.object())
        || KueueAdmission.isKueueWorkload(workload);
  }

  /**
   * Takes the earlier binding out of what has to wait again. What else its object has does not go
   * on without it, and is bound in the same patch to where it moves.
   */
  private void drop(Workload workload, Set<Integer> after) {
    if (!dropped.add(workload.object())) {
      return;
    }
    List<WorkloadPatches.Change> changes = new ArrayList<>();
    for (Workload sibling : byObject.getOrDefault(workload.object(), List.of())) {
      String request = sibling.request().id();
      List<PlacedSlice> at = places.after(request);
      if (evicted.contains(request)) {
        changes.add(new WorkloadPatches.Change(sibling, null));
      } else if (!at.isEmpty()) {
        changes.add(new WorkloadPatches.Change(sibling, new TemplateBinding(sibling, at)));
      }
    }
    WorkloadPatches.of(changes, true)
        .ifPresent(
            patch ->
                add(
                    after,
                    patch.requires() == Requires.RECREATED ? Kind.RECREATE : Kind.PATCH,
                    workload.object(),
                    workload.request().id(),
                    null,
                    patch));
  }

  /**
   * Lets a workload go on, if all that it waits for is there. What rested before starts only with
   * all its slices; what ran with fewer goes on with as many.
   *
   * @return what has to be done before it has
   */
  private Set<Integer> goOn(@Nullable Workload workload, Set<Integer> after) {
    if (workload == null) {
      return after;
    }
    ObjectRef object = workload.object();
    List<Workload> parts = byObject.getOrDefault(object, List.of());
    Set<Integer> before = made.get(object);
    if (before == null || !parts.stream().allMatch(this::isComplete)) {
      return after;
    }
    made.remove(object);
    before.addAll(after);
    boolean ran = stopped.containsKey(object);
    Integer stop = stopped.remove(object);
    if (stop != null) {
      before.add(stop);
    }
    if (KueueAdmission.isKueueWorkload(workload)) {
      return next(before, Kind.ADMIT, workload, null);
    }
    Optional<WorkloadPatch> patch = WorkloadPatches.of(bound(parts), ran);
    boolean rests = workload.suspended();
    Set<Integer> last = before;
    if (patch.isPresent()) {
      boolean anew = patch.get().requires() == Requires.RECREATED;
      if (patch.get().requires() == Requires.SUSPENDED && !ran && !rests) {
        last = next(last, Kind.SUSPEND, workload, null);
        rests = true;
      }
      last = next(last, anew ? Kind.RECREATE : Kind.PATCH, workload, patch.get());
    }
    if (WorkloadPatches.isSuspendable(object)) {
      boolean starts = !workload.suspended() || parts.stream().allMatch(this::isWhole);
      return starts && (ran || rests) ? next(last, Kind.RESUME, workload, null) : last;
    }
    return object.kind().equals("LeaderWorkerSet")
        ? last
        : next(last, Kind.BIND_PODS, workload, null);
  }

  /** Whether the slices of a request that the plan touches are all there. */
  private boolean isComplete(Workload workload) {
    String request = workload.request().id();
    Integer slices = wanted.get(request);
    return !evicted.contains(request) && (slices == null || now(request).size() == slices);
  }

  private boolean isWhole(Workload workload) {
    return now(workload.request().id()).size() == workload.request().slices();
  }

  private List<WorkloadPatches.Change> bound(List<Workload> parts) {
    List<WorkloadPatches.Change> changes = new ArrayList<>();
    for (Workload part : parts) {
      Collection<PlacedSlice> at = now(part.request().id()).values();
      if (!at.isEmpty()) {
        changes.add(new WorkloadPatches.Change(part, new TemplateBinding(part, List.copyOf(at))));
      }
    }
    return changes;
  }

  // ---------------------------------------------------------------- what an earlier plan began

  /**
   * Sends work to its slices whose Slices are ready by now. The plan that made them may be gone: a
   * scheduler that waits for Slices need not remember it, and its successor never knew it.
   */
  private void finishBindings() {
    Set<ObjectRef> seen = new TreeSet<>();
    steps.forEach(step -> seen.add(step.object()));
    for (Workload workload : cluster.workloads()) {
      ObjectRef object = workload.object();
      List<Workload> parts = byObject.getOrDefault(object, List.of());
      if (!seen.add(object)
          || KueueAdmission.isAdmittedByKueue(workload)
          || !parts.stream().allMatch(this::isReady)) {
        continue;
      }
      if (workload.suspended() || WorkloadPatches.of(bound(parts), false).isPresent()) {
        made.put(object, new TreeSet<>());
        goOn(workload, Set.of());
      }
    }
  }

  /** Whether all its slices run, in ready Slices that a plan of ours has made. */
  private boolean isReady(Workload workload) {
    String request = workload.request().id();
    Collection<PlacedSlice> places = now(request).values();
    return places.size() == workload.request().slices()
        && places.stream()
            .map(PlacedSlice::slice)
            .allMatch(
                slice ->
                    slice != null
                        && !slice.deleting()
                        && request.equals(slice.annotations().get(TpuLabels.OWN_REQUEST))
                        && slice.isReady());
  }

  /**
   * Slices of ours that nobody needs: whose work runs in others by now, whether they failed or were
   * made by schedulers that disagreed; and failed ones whose work finds no other place, since what
   * is in order of their partitions is then of use again.
   */
  private void dropSurplus() {
    Set<String> unplaced = new TreeSet<>();
    rollout.plan().unplaced().forEach(u -> unplaced.add(Cluster.wholeId(u.request())));
    Set<ObjectRef> touched = new HashSet<>();
    steps.forEach(step -> touched.add(step.object()));
    for (SliceManifest slice : cluster.slices()) {
      String request = slice.annotations().getOrDefault(TpuLabels.OWN_REQUEST, "");
      boolean failed = !slice.takesPartitions();
      boolean surplus =
          cluster.workload(request).filter(this::isReady).isPresent()
              && now(request).values().stream()
                  .map(PlacedSlice::slice)
                  .noneMatch(used -> used != null && used.name().equals(slice.name()));
      if ((surplus || failed && unplaced.contains(request))
          && !slice.deleting()
          && touched.add(ref(slice))) {
        add(Set.of(), Kind.DELETE_SLICE, ref(slice), request, null, null);
      }
    }
  }

  private Set<Integer> next(
      Set<Integer> after, Kind kind, Workload workload, @Nullable WorkloadPatch patch) {
    return Set.of(add(after, kind, workload.object(), workload.request().id(), null, patch));
  }

  private int add(
      Set<Integer> after,
      Kind kind,
      ObjectRef object,
      String request,
      @Nullable SliceManifest slice,
      @Nullable WorkloadPatch patch) {
    int number = steps.size() + 1;
    steps.add(
        new ClusterStep(
            number, List.copyOf(new TreeSet<>(after)), kind, object, request, slice, patch));
    return number;
  }

  static ObjectRef ref(SliceManifest slice) {
    return new ObjectRef(SliceManifest.API_VERSION, SliceManifest.KIND, "", slice.name());
  }
}
