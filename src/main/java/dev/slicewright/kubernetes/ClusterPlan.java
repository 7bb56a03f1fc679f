package dev.slicewright.kubernetes;

import dev.slicewright.Problems;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Move;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.plan.Rollout;
import dev.slicewright.plan.StalePlanException;
import dev.slicewright.request.SliceRequest;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.Event;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * A plan in the words of the cluster that it was made for: the Slices to create, what each workload
 * needs so that its pods go there, which pod goes to which node, what to tell people, and in which
 * order to do it all. Immutable, safe to share.
 *
 * <p>Nothing here talks to a cluster. Names and digests follow from places alone: told twice, the
 * same plan gives the same objects, so that creating them may be repeated, by another replica of a
 * scheduler too. What is emitted reads back as the same plan: the cluster's objects with these
 * Slices and pods on these nodes give the fleet that {@link Plan#applyTo} gives.
 *
 * <p>A request that stands for the rest of a multislice is told as the slices that it stands for.
 * Work on node pools and sub-slices has no Slice objects: its pods are deleted and made anew.
 */
public final class ClusterPlan {

  private final Cluster cluster;
  private final Plan plan;
  private final PlanPlaces places;
  private final Map<String, LeftOut> leftOut; // by request
  private volatile @Nullable List<WorkloadPatch> patches; // made once, when first asked for
  private volatile @Nullable List<ClusterStep> steps;

  private ClusterPlan(Cluster cluster, Plan plan) {
    this.cluster = cluster;
    this.plan = plan;
    plan.applyTo(cluster.fleet());
    checkRequests();
    this.places = new PlanPlaces(cluster, plan);
    this.leftOut = partial();
  }

  /**
   * A plan for a cluster.
   *
   * @param cluster the cluster
   * @param plan a plan made on its {@link Cluster#fleet() fleet}, of its {@link Cluster#requests()
   *     requests}, or to repair, drain, defragment or make room in it
   * @return the plan in the cluster's words. O(chips of the plan's slices + Slices)
   * @throws StalePlanException if the plan does not fit the fleet, naming every conflict
   * @throws dev.slicewright.InvalidInputException if it places another shape or number of slices
   *     than the cluster's request of that id wants
   */
  public static ClusterPlan of(Cluster cluster, Plan plan) {
    return new ClusterPlan(
        Objects.requireNonNull(cluster, "cluster"), Objects.requireNonNull(plan, "plan"));
  }

  /** A plan for another shape, such as one that an explanation tries, is of no use to the pods. */
  private void checkRequests() {
    Map<String, SliceRequest> wanted = new HashMap<>();
    cluster.requests().forEach(request -> wanted.put(request.id(), request));
    Problems problems = new Problems();
    for (RequestPlacement placement : plan.placements()) {
      SliceRequest planned = placement.request();
      SliceRequest is = wanted.getOrDefault(planned.id(), planned);
      if (!is.shapes().equals(planned.shapes())
          || is.chips() != planned.chips()
          || is.slices() != planned.slices()) {
        problems.add(
            "plan.placements[" + planned.id() + "]",
            "expected a plan for what the cluster wants, "
                + is
                + ", but it is for "
                + planned
                + "; change the workload, read it again and plan anew");
      }
    }
    problems.throwIfAny("plan");
  }

  /** Kueue admits all pod sets of a Workload or none: where one waits, the others are not begun. */
  private Map<String, LeftOut> partial() {
    Set<String> evicted = new HashSet<>();
    plan.evictions().forEach(eviction -> evicted.add(eviction.request()));
    Map<ObjectRef, List<String>> waiting = new TreeMap<>();
    for (Workload workload : cluster.workloads()) {
      String id = workload.request().id();
      int slices =
          evicted.contains(id)
              ? 0
              : Math.max(places.after(id).size(), cluster.fleet().runningOf(id).size());
      if (KueueAdmission.isAdmittedByKueue(workload) && slices < workload.request().slices()) {
        waiting.computeIfAbsent(workload.object(), object -> new ArrayList<>()).add(id);
      }
    }
    Map<String, LeftOut> found = new LinkedHashMap<>();
    for (RequestPlacement placement : plan.placements()) {
      String id = Cluster.wholeId(placement.request().id());
      cluster
          .workload(id)
          .map(Workload::object)
          .filter(waiting::containsKey)
          .ifPresent(
              object ->
                  found.put(
                      id,
                      new LeftOut(
                          object,
                          "expected room for all its pod sets, but "
                              + waiting.get(object)
                              + " is not placed whole; Kueue admits all or none, so none begins")));
    }
    return found;
  }

  /**
   * The cluster.
   *
   * @return as given
   */
  public Cluster cluster() {
    return cluster;
  }

  /**
   * The plan.
   *
   * @return as given
   */
  public Plan plan() {
    return plan;
  }

  /**
   * What the plan places and this does not emit: work of which Kueue would have to admit a part.
   *
   * @return an unmodifiable list, empty as long as requests of one object are planned together
   */
  public List<LeftOut> leftOut() {
    return leftOut.values().stream().distinct().toList();
  }

  private List<PlacedSlice> created() {
    return places.created().stream()
        .filter(place -> !leftOut.containsKey(place.id().request()))
        .toList();
  }

  private List<String> changed() {
    return places.changed().stream().filter(request -> !leftOut.containsKey(request)).toList();
  }

  // ---------------------------------------------------------------- what to create and change

  /**
   * The Slices to create, for placements and moves in reservation blocks. {@link #steps} says when.
   *
   * @return in the plan's order, placements before moves; an unmodifiable list
   */
  public List<SliceManifest> slices() {
    List<SliceManifest> slices = new ArrayList<>();
    for (PlacedSlice place : created()) {
      if (place.slice() != null) {
        slices.add(place.slice());
      }
    }
    return List.copyOf(slices);
  }

  /**
   * What each workload needs so that its pods go to its slices; of evicted ones, so that they no
   * longer ask for slices that are gone. One patch for each object, none where nothing has to
   * change.
   *
   * @return in the plan's order, evicted ones last; an unmodifiable list. O(size of the objects)
   *     the first time
   */
  public List<WorkloadPatch> patches() {
    List<WorkloadPatch> made = patches;
    if (made == null) {
      made = makePatches();
      patches = made;
    }
    return made;
  }

  private List<WorkloadPatch> makePatches() {
    Set<String> moved = new HashSet<>();
    for (Move move : plan.moves()) {
      moved.add(move.from().id().request());
    }
    Map<ObjectRef, List<WorkloadPatches.Change>> changes = new LinkedHashMap<>();
    Set<ObjectRef> running = new HashSet<>();
    for (String request : changed()) {
      cluster
          .workload(request)
          .ifPresent(
              workload -> {
                add(changes, workload, new TemplateBinding(workload, places.after(request)));
                if (moved.contains(request)) {
                  running.add(workload.object());
                }
              });
    }
    for (Eviction eviction : plan.evictions()) {
      cluster
          .workload(eviction.request())
          .ifPresent(
              workload -> {
                add(changes, workload, null);
                running.add(workload.object());
              });
    }
    List<WorkloadPatch> made = new ArrayList<>();
    changes.forEach(
        (object, of) -> WorkloadPatches.of(of, running.contains(object)).ifPresent(made::add));
    return List.copyOf(made);
  }

  private static void add(
      Map<ObjectRef, List<WorkloadPatches.Change>> changes,
      Workload workload,
      @Nullable TemplateBinding binding) {
    changes
        .computeIfAbsent(workload.object(), object -> new ArrayList<>())
        .add(new WorkloadPatches.Change(workload, binding));
  }

  /**
   * The node of each pod of the slices that the plan places or moves.
   *
   * @return slices in the plan's order, their pods in worker order; an unmodifiable list
   */
  public List<PodNode> podsToNodes() {
    return created().stream()
        .flatMap(
            place ->
                PodNodes.of(place, cluster.workload(place.id().request()).orElse(null)).stream())
        .toList();
  }

  /**
   * Everything to apply: the Slices, then the workloads with their patches applied, without status.
   * It takes no account of order in time, which {@link #steps} does.
   *
   * @return new, mutable objects
   */
  public List<HasMetadata> manifests() {
    List<HasMetadata> objects = new ArrayList<>();
    slices().forEach(slice -> objects.add(slice.toResource()));
    Map<ObjectRef, Workload> byObject = new LinkedHashMap<>();
    cluster.workloads().forEach(w -> byObject.putIfAbsent(w.object(), w));
    for (WorkloadPatch patch : patches()) {
      Workload workload = byObject.get(patch.object());
      if (workload != null) {
        objects.add(patched(workload, patch));
      }
    }
    return objects;
  }

  private static GenericKubernetesResource patched(Workload workload, WorkloadPatch patch) {
    Map<String, @Nullable Object> tree = patch.applyTo(WorkloadPatches.tree(workload.source()));
    tree.remove("status");
    return WorkloadPatches.resource(tree);
  }

  // ---------------------------------------------------------------- order, holds, words

  /**
   * What to do, in order: workloads stop, old Slices are deleted, new ones created, workloads are
   * patched and go on. A Slice is deleted before what takes its partitions is created; a failed
   * Slice is deleted once the one that replaces it is there. Steps may be started as soon as those
   * that they come {@linkplain ClusterStep#after() after} are done.
   *
   * <p>Last comes what earlier plans have begun, so that nobody has to remember them: work whose
   * Slices have become ready is patched and goes on; Slices are deleted whose work runs in others
   * by now, and failed ones whose work finds no other place.
   *
   * @return by number, an unmodifiable list. What it costs the first time: see {@link
   *     Rollout#of(Fleet, Plan)}
   */
  public List<ClusterStep> steps() {
    List<ClusterStep> made = steps;
    if (made == null) {
      made = PlanSteps.of(cluster, places, Rollout.of(cluster.fleet(), plan), leftOut.keySet());
      steps = made;
    }
    return made;
  }

  /**
   * What the plan means for each workload, as Events in the namespace of its object. The reason is
   * {@code Placed}, {@code Moved} or {@code Evicted}; for what is not placed a {@link
   * dev.slicewright.plan.Reason} in camel case, such as {@code NotEnoughFree}, after {@code Never}
   * where nothing could ever satisfy it; {@code Broken} or {@code Staying} and such a reason for
   * each slice on failed or drained parts. What is {@linkplain #leftOut left out} waits for the
   * rest of its object: {@code GangIncomplete}.
   *
   * @param now when they are said
   * @return new, mutable objects, in the plan's order. The name of an event follows from its object
   *     and reason: said again, it is the same object
   */
  public List<Event> events(Instant now) {
    return PlanEvents.of(cluster, plan, places, leftOut, Objects.requireNonNull(now, "now"));
  }

  /**
   * The places of slices to be created, kept for them over later readings of the cluster until they
   * are, and the {@linkplain Plan#room() room} that the plan makes.
   *
   * @param namespace where the objects go
   * @param expiry when the holds end by themselves
   * @return a new ConfigMap for each hold, which {@link ClusterReader} reads back
   */
  public List<ConfigMap> holds(String namespace, Instant expiry) {
    Objects.requireNonNull(namespace, "namespace");
    Fleet fleet = cluster.fleet();
    List<Hold> holds = new ArrayList<>(Rollout.of(fleet, plan).holds(expiry));
    for (Hold hold : plan.holdRoom(plan.applyTo(fleet), expiry).holds()) {
      if (fleet.hold(hold.id()).filter(hold::equals).isEmpty()) {
        holds.add(hold);
      }
    }
    return holds.stream()
        .map(hold -> HoldObjects.toConfigMap(hold, places.domain(hold.pod()), namespace))
        .toList();
  }

  // ---------------------------------------------------------------- Kueue and DRA

  /**
   * The topology assignment of a pod set. Immutable, safe to share.
   *
   * @param object the object that Kueue admits, or whose Workload it does
   * @param podSet the name of the pod set, {@code main} where the object has one only
   * @param assignment for all its pods
   */
  public record PodSetAssignment(ObjectRef object, String podSet, TopologyAssignment assignment) {
    /** Checks for null. */
    public PodSetAssignment {
      Objects.requireNonNull(object, "object");
      Objects.requireNonNull(podSet, "podSet");
      Objects.requireNonNull(assignment, "assignment");
    }
  }

  /**
   * The topology assignments for Kueue's Workloads, and for objects with a local queue, that the
   * plan places or moves: those of all pod sets of an object, or none.
   *
   * @return by object in the plan's order; an unmodifiable list
   */
  public List<PodSetAssignment> topologyAssignments() {
    Map<ObjectRef, List<Workload>> byObject = new LinkedHashMap<>();
    for (String request : changed()) {
      cluster
          .workload(request)
          .filter(KueueAdmission::isAdmittedByKueue)
          .ifPresent(workload -> byObject.put(workload.object(), new ArrayList<>()));
    }
    for (Workload workload : cluster.workloads()) {
      Optional.ofNullable(byObject.get(workload.object())).ifPresent(list -> list.add(workload));
    }
    List<PodSetAssignment> assignments = new ArrayList<>();
    byObject.forEach(
        (object, workloads) -> {
          for (Workload workload : workloads) {
            KueueAdmission.assignments(workload, inTheEnd(workload.request().id()))
                .forEach(
                    (podSet, assignment) ->
                        assignments.add(
                            new PodSetAssignment(
                                object, podSetName(podSet, workload), assignment)));
          }
        });
    return List.copyOf(assignments);
  }

  private List<PlacedSlice> inTheEnd(String request) {
    List<PlacedSlice> changed = places.after(request);
    if (!changed.isEmpty()) {
      return changed;
    }
    List<PlacedSlice> running = new ArrayList<>();
    for (RunningSlice slice : cluster.fleet().runningOf(request)) {
      running.add(places.running(slice));
    }
    return running;
  }

  private static String podSetName(String podSet, Workload workload) {
    return !podSet.isEmpty() ? podSet : workload.podSet().isEmpty() ? "main" : workload.podSet();
  }

  /**
   * The chips of each slice that the plan places or moves, node by node, for dynamic resource
   * allocation (KEP-4815).
   *
   * @param driver the driver that publishes the chips as devices
   * @return slices in the plan's order, nodes in worker order; an unmodifiable list
   */
  public List<DeviceAllocation> deviceAllocations(String driver) {
    Objects.requireNonNull(driver, "driver");
    return created().stream().flatMap(place -> PodNodes.devices(place, driver).stream()).toList();
  }

  @Override
  public String toString() {
    return created().size() + " slices to create, " + plan;
  }
}
