package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.topology.HostId;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;

/**
 * A cluster as its objects describe it: the fleet, the workloads, and what was wrong or left out.
 * Immutable, safe to share.
 *
 * <p>It keeps what it needs of the objects, not the objects: changing one of them afterwards
 * changes nothing here.
 */
public final class Cluster {

  /**
   * What the id of a request ends in that stands for those slices of a workload that do not run.
   */
  private static final String REST = "#rest";

  /**
   * A host of the fleet. Immutable, safe to share.
   *
   * @param pod the id of its pod
   * @param host its number in the pod
   */
  public record HostRef(String pod, HostId host) {
    /** Checks for null. */
    public HostRef {
      Objects.requireNonNull(pod, "pod");
      Objects.requireNonNull(host, "host");
    }
  }

  private final Fleet fleet;
  private final Map<String, Workload> workloads; // by request id, in order of it
  private final List<SliceManifest> slices;
  private final List<SliceRequest> requests;
  private final Domains domains;
  private final List<Problem> problems;
  private final List<LeftOut> leftOut;
  private final ClusterState state;

  /**
   * Assembles a cluster.
   *
   * @param fleet the fleet
   * @param workloads by request id
   * @param slices every Slice object, by name
   * @param missing for each request some but not all of whose slices run: which do not, ascending
   * @param domains the pods of the fleet as the nodes describe them
   * @param problems by path
   * @param leftOut by object
   * @param state what an update starts from
   */
  Cluster(
      Fleet fleet,
      Map<String, Workload> workloads,
      List<SliceManifest> slices,
      Map<String, List<Integer>> missing,
      Domains domains,
      List<Problem> problems,
      List<LeftOut> leftOut,
      ClusterState state) {
    this.fleet = fleet;
    this.workloads = Collections.unmodifiableMap(new TreeMap<>(workloads));
    this.slices = List.copyOf(slices);
    this.domains = domains;
    this.problems = List.copyOf(problems);
    this.leftOut = List.copyOf(leftOut);
    this.state = state;
    this.requests = waiting(fleet, this.workloads.values(), missing);
  }

  /** The same cluster whose hosts' health and cordons alone have changed. */
  private Cluster(
      Cluster before,
      Fleet fleet,
      Domains domains,
      List<Problem> problems,
      List<LeftOut> leftOut,
      ClusterState state) {
    this.fleet = fleet;
    this.workloads = before.workloads;
    this.slices = before.slices;
    this.requests = before.requests;
    this.domains = domains;
    this.problems = List.copyOf(problems);
    this.leftOut = List.copyOf(leftOut);
    this.state = state;
  }

  Cluster with(
      Fleet newFleet,
      Domains newDomains,
      List<Problem> newProblems,
      List<LeftOut> newLeftOut,
      ClusterState newState) {
    return new Cluster(this, newFleet, newDomains, newProblems, newLeftOut, newState);
  }

  private static List<SliceRequest> waiting(
      Fleet fleet, Collection<Workload> workloads, Map<String, List<Integer>> missing) {
    List<SliceRequest> waiting = new ArrayList<>();
    for (Workload workload : workloads) {
      SliceRequest request = workload.request();
      List<RunningSlice> running = fleet.runningOf(request.id());
      if (running.isEmpty()) {
        waiting.add(request);
        continue;
      }
      int rest = missing.getOrDefault(request.id(), List.of()).size();
      if (rest > 0) {
        waiting.add(rest(fleet, request, running.get(0), rest));
      }
    }
    return List.copyOf(waiting);
  }

  /** The slices that do not run, as alike to those that do as slices of one request have to be. */
  private static SliceRequest rest(
      Fleet fleet, SliceRequest request, RunningSlice model, int slices) {
    SliceRequest.Builder rest =
        request.toBuilder(request.id() + REST)
            .slices(slices)
            .shapes(List.of(model.shape()))
            .accelerators(fleet.pod(model.pod()).orElseThrow().topology().accelerator().name());
    if (request.spread().kind() == Spread.Kind.SAME_POD) {
      rest.pod(model.pod());
    }
    return rest.build();
  }

  /**
   * The fleet: pods, health, cordons, running slices, holds. Its pods are reservation blocks
   * ({@code block/NAME}), node pools ({@code nodepool/NAME}) or single nodes ({@code node/NAME}).
   *
   * @return the fleet
   */
  public Fleet fleet() {
    return fleet;
  }

  /**
   * Every workload that wants TPUs, running or not, by request id.
   *
   * @return an unmodifiable list
   */
  public List<Workload> workloads() {
    return List.copyOf(workloads.values());
  }

  /**
   * The workload that a request is of.
   *
   * @param request the id of a request, those of {@link #requests()} that stand for a rest included
   * @return the workload, or empty
   */
  public Optional<Workload> workload(String request) {
    return Optional.ofNullable(workloads.get(wholeId(request)));
  }

  /** The id of the whole request, of one that stands for its rest too. */
  static String wholeId(String request) {
    return request.endsWith(REST)
        ? request.substring(0, request.length() - REST.length())
        : request;
  }

  /**
   * What waits for slices, ready for the planner, by request id. Of a multislice some of whose
   * slices run, the rest is a request of its own, its id ending in {@code #rest}; shape and
   * accelerator are those of the slices that run, and their pod where all must share one.
   *
   * @return an unmodifiable list
   */
  public List<SliceRequest> requests() {
    return requests;
  }

  /**
   * Rules under which nothing is moved or evicted whose work is not among the objects: a {@link
   * ClusterPlan} could delete such a slice, but could neither stop its work nor send it elsewhere.
   * Plan repairs and drains with these too.
   *
   * @param rules the rules
   * @return the rules with {@link Permission#PINNED} for each running request without a workload
   */
  public PlanningRules pinned(PlanningRules rules) {
    PlanningRules.Builder pinned = rules.toBuilder();
    for (RunningSlice slice : fleet.running()) {
      String request = slice.id().request();
      if (!workloads.containsKey(request)) {
        pinned.permit(request, Permission.PINNED);
      }
    }
    return pinned.build();
  }

  /**
   * Every Slice object, failed and leaving ones included, by name.
   *
   * @return an unmodifiable list
   */
  public List<SliceManifest> slices() {
    return slices;
  }

  /**
   * What Slices and Kueue Workloads tell of slices that were lost or never formed, by object.
   *
   * @return an unmodifiable list
   */
  public List<SliceFailure.Notice> failures() {
    return state.found().map(RunningSlices.Found::failures).orElse(List.of());
  }

  /**
   * Pods that are bound to an earlier placement of their Slice, by name: restart them.
   *
   * @return an unmodifiable list
   */
  public List<ObjectRef> stalePods() {
    return state.found().map(RunningSlices.Found::stalePods).orElse(List.of());
  }

  /**
   * Where a node is.
   *
   * @param name the name of a node
   * @return its pod and host, or empty if it has no TPUs or was left out
   */
  public Optional<HostRef> host(String name) {
    return domains.node(name).map(place -> new HostRef(place.domain().id(), place.host()));
  }

  /**
   * The node of a host.
   *
   * @param pod the id of a pod
   * @param host a host of it
   * @return the name of the node; empty if there is no such host or no node is known for it
   */
  public Optional<String> node(String pod, HostId host) {
    return domains
        .domain(pod)
        .map(Domain::nodes)
        .filter(nodes -> host.index() >= 0 && host.index() < nodes.size())
        .map(nodes -> nodes.get(host.index()))
        .filter(name -> !name.isEmpty());
  }

  /**
   * Everything found wrong, by path; empty after strict reading.
   *
   * @return an unmodifiable list
   */
  public List<Problem> problems() {
    return problems;
  }

  /**
   * TPU objects that are not represented, by object.
   *
   * @return an unmodifiable list
   */
  public List<LeftOut> leftOut() {
    return leftOut;
  }

  /**
   * The cluster after changes: the same as a fresh read of the resulting objects, in less time.
   * Where only states, conditions, taints on some nodes and cordons of nodes change, only their
   * pods are looked at: O(hosts of those pods).
   *
   * @param changed objects new or changed; of two of one name, the later
   * @param gone names of objects that are no more; those unknown are passed over
   * @return the cluster afterwards, read as strictly as this one was
   * @throws InvalidInputException listing every problem, if this was read strictly
   */
  public Cluster update(Collection<? extends HasMetadata> changed, Collection<ObjectRef> gone) {
    return state.update(this, changed, gone);
  }

  Domains domains() {
    return domains;
  }

  @Override
  public String toString() {
    return fleet + ", " + workloads.size() + " workloads, " + requests.size() + " waiting";
  }
}
