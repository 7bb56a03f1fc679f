package dev.slicewright.kubernetes;

import dev.slicewright.SliceId;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Move;
import dev.slicewright.plan.Placement;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Shape;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The places of a plan's slices in the words of the cluster: a request that stands for the rest of
 * a multislice is told as the slices that it stands for. Immutable, safe to share.
 */
final class PlanPlaces {

  private static final String TYPE = "tpu7x"; // the only one that the platform's CRD takes

  private final Cluster cluster;
  private final Fleet fleet;
  private final Map<String, List<Integer>> rests = new HashMap<>(); // missing slices, ascending
  private final Map<List<Object>, SliceManifest> objects = new HashMap<>(); // by place
  private final Map<String, SliceRequest> requests = new HashMap<>(); // whole ones
  private final Map<String, Map<SliceId, PlacedSlice>> after = new LinkedHashMap<>();

  PlanPlaces(Cluster cluster, Plan plan) {
    this.cluster = cluster;
    this.fleet = cluster.fleet();
    for (SliceManifest slice : cluster.slices()) {
      if (slice.takesPartitions()) {
        objects.put(key(slice.topology(), slice.partitionIds()), slice);
      }
    }
    for (RequestPlacement placement : plan.placements()) {
      SliceRequest whole = whole(placement.request());
      for (Placement slice : placement.slices()) {
        put(whole, slice);
      }
      addRunning(whole.id());
    }
    for (Move move : plan.moves()) {
      SliceRequest whole = whole(move.from().request());
      put(whole, move.to());
      addRunning(whole.id());
    }
  }

  private void put(SliceRequest whole, Placement at) {
    SliceId id = idOf(at.id());
    after.computeIfAbsent(whole.id(), r -> new TreeMap<>()).put(id, place(at, true));
  }

  /** Slices that stay are part of what the pods of the request select. */
  private void addRunning(String request) {
    Map<SliceId, PlacedSlice> places = after.get(request);
    if (places != null) {
      for (RunningSlice running : fleet.runningOf(request)) {
        places.computeIfAbsent(running.id(), id -> running(running));
      }
    }
  }

  /** The workload's request, where a request stands for its rest. */
  SliceRequest whole(SliceRequest request) {
    return requests.computeIfAbsent(
        Cluster.wholeId(request.id()),
        id -> {
          if (!id.equals(request.id())) {
            List<RunningSlice> running = fleet.runningOf(id);
            Optional<Workload> workload = cluster.workload(id);
            if (workload.isPresent()) {
              return workload.get().request();
            }
            if (!running.isEmpty()) {
              return running.get(0).request();
            }
          }
          return request;
        });
  }

  /** A slice's number among all slices of its workload. */
  SliceId idOf(SliceId id) {
    String whole = Cluster.wholeId(id.request());
    if (whole.equals(id.request())) {
      return id;
    }
    List<Integer> missing = rests.computeIfAbsent(whole, this::missing);
    return new SliceId(whole, id.index() < missing.size() ? missing.get(id.index()) : id.index());
  }

  private List<Integer> missing(String request) {
    List<RunningSlice> running = fleet.runningOf(request);
    int slices =
        cluster
            .workload(request)
            .map(workload -> workload.request().slices())
            .orElseGet(() -> running.isEmpty() ? 0 : running.get(0).request().slices());
    List<Integer> missing = new ArrayList<>();
    for (int i = 0; i < slices; i++) {
      if (fleet.running(new SliceId(request, i)).isEmpty()) {
        missing.add(i);
      }
    }
    return missing;
  }

  /** A place that a slice comes to. */
  PlacedSlice place(Placement at, boolean isNew) {
    SliceId id = idOf(at.id());
    Domain domain = domain(at.pod());
    SliceManifest slice = domain.kind() == Domain.Kind.DYNAMIC ? manifest(id, at, domain) : null;
    return new PlacedSlice(id, at, domain, slice, isNew);
  }

  /** The place that a slice has. */
  PlacedSlice running(RunningSlice running) {
    Domain domain = domain(running.pod());
    Placement at =
        new Placement(
            running.id(),
            running.pod(),
            domain.topology(),
            running.shape(),
            running.footprint(),
            running.twist());
    return new PlacedSlice(running.id(), at, domain, object(at, domain), false);
  }

  /** The Slice object at a place. */
  @Nullable SliceManifest object(Placement at, Domain domain) {
    if (domain.kind() != Domain.Kind.DYNAMIC) {
      return null;
    }
    return objects.get(
        key(
            domain.topology().platformForm(at.shape()),
            PlacedSlice.partitionIds(domain, at.footprint())));
  }

  private static List<Object> key(Shape topology, List<String> partitionIds) {
    return List.of(topology.sorted(), partitionIds);
  }

  Domain domain(String pod) {
    return cluster
        .domains()
        .domain(pod)
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "Expected a plan for the fleet of this cluster, but it uses pod \""
                        + pod
                        + "\", which the cluster lacks; plan on cluster.fleet()"));
  }

  private SliceManifest manifest(SliceId id, Placement at, Domain domain) {
    SliceRequest request =
        requests.getOrDefault(id.request(), SliceRequest.builder(id.request()).chips(1).build());
    Shape topology = domain.topology().platformForm(at.shape());
    List<String> partitionIds = PlacedSlice.partitionIds(domain, at.footprint());
    String epoch = Names.epoch(TYPE, topology, partitionIds);
    Map<String, String> annotations = new TreeMap<>();
    annotations.put(TpuLabels.OWN_REQUEST, id.request());
    annotations.put(TpuLabels.OWN_INDEX, Integer.toString(id.index()));
    annotations.put(TpuLabels.OWN_SLICES, Integer.toString(request.slices()));
    annotations.put(TpuLabels.OWN_PRIORITY, Long.toString(request.priority()));
    if (!request.tenant().isEmpty()) {
      annotations.put(TpuLabels.OWN_TENANT, request.tenant());
    }
    annotations.put(TpuLabels.OWN_EPOCH, epoch);
    cluster
        .workload(id.request())
        .filter(KueueAdmission::isKueueWorkload)
        .ifPresent(
            workload -> {
              annotations.put(TpuLabels.OWNER_NAMESPACE, workload.object().namespace());
              annotations.put(TpuLabels.OWNER_NAME, workload.object().name());
              annotations.put(TpuLabels.OWNER_POD_SET, workload.podSet());
            });
    return new SliceManifest(
        Names.slice(id.request(), id.index(), epoch),
        TYPE,
        topology,
        partitionIds,
        annotations,
        null,
        false);
  }

  /** The requests that have slices at new places, in the plan's order. */
  List<String> changed() {
    return List.copyOf(after.keySet());
  }

  /** All slices of a request once the plan is carried out, by number; empty if none is new. */
  List<PlacedSlice> after(String request) {
    return List.copyOf(after.getOrDefault(request, Map.of()).values());
  }

  /** The slices that the plan brings to a new place, in its order. */
  List<PlacedSlice> created() {
    return after.values().stream()
        .flatMap(places -> places.values().stream())
        .filter(PlacedSlice::isNew)
        .toList();
  }
}
