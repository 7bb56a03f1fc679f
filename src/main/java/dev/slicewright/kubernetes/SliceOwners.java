package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.SliceId;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.kubernetes.Claim.PodSeat;
import dev.slicewright.request.SliceRequest;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Makes running slices of claims: finds the request that each serves, and which of its slices it
 * is. All slices of one request share one {@link SliceRequest}, one shape and one accelerator, as
 * {@link dev.slicewright.fleet.Fleet#place} demands. Confined to one thread at a time.
 *
 * <p>What is leaving serves no request any more, so that its workload can be placed anew while the
 * chips are still taken: it is a slice of a request of its own, as is what nobody owns.
 */
final class SliceOwners {

  /** What runs, by slice id, and the numbers of slices that do not run, by request. */
  record Owned(List<RunningSlice> running, Map<String, List<Integer>> missing) {}

  private static final long LONGEST_SECONDS = 100L * 365 * 24 * 3600;

  private final WorkloadTranslator.Translation work;
  private final ReadSettings settings;
  private final Problems problems;
  private final List<LeftOut> leftOut;
  private final Map<SliceId, RunningSlice> running = new TreeMap<>();
  private final Map<String, List<Integer>> missing = new TreeMap<>();

  SliceOwners(
      WorkloadTranslator.Translation work,
      ReadSettings settings,
      Problems problems,
      List<LeftOut> leftOut) {
    this.work = work;
    this.settings = settings;
    this.problems = problems;
    this.leftOut = leftOut;
  }

  /**
   * Makes running slices.
   *
   * @param claims in order of claiming; no two overlap
   */
  Owned assign(List<Claim> claims) {
    Map<String, List<Claim>> byRequest = new TreeMap<>();
    List<Claim> alone = new ArrayList<>();
    for (Claim claim : claims) {
      ask(claim);
      if (claim.leaving || claim.request.isEmpty()) {
        alone.add(claim);
      } else {
        byRequest.computeIfAbsent(claim.request, id -> new ArrayList<>()).add(claim);
      }
    }
    byRequest.forEach((id, of) -> alone.addAll(serve(id, of)));
    alone.forEach(this::runAlone);
    return new Owned(List.copyOf(running.values()), Collections.unmodifiableMap(missing));
  }

  // ---- What a claim says of its owner

  private void ask(Claim claim) {
    if (claim.manifest != null) {
      String assigned = claim.request; // by Kueue or a selector, to a Slice that names nobody
      askAnnotations(claim, claim.manifest.annotations());
      claim.request = claim.request.isEmpty() ? assigned : claim.request;
    }
    if (claim.request.isEmpty() && !claim.isOfPods()) {
      claim.request = requestOfPods(claim);
    }
    for (PodSeat pod : claim.pods) {
      Owners.PodOwner owner = pod.owner();
      boolean ours = owner != null && owner.request().equals(claim.request);
      if (owner != null && ours && claim.index < 0 && owner.slice() >= 0) {
        claim.index = owner.slice();
      }
      if (claim.tenant.isEmpty() && (ours || claim.request.isEmpty())) {
        claim.tenant = tenant(pod);
      }
    }
    if (claim.priority == null) {
      claim.priority = priority(claim.pods);
    }
  }

  private void askAnnotations(Claim claim, Map<String, String> annotations) {
    String own = annotations.getOrDefault(TpuLabels.OWN_REQUEST, "");
    if (own.length() > Names.MAX_REQUEST_ID) {
      problem(
          claim,
          TpuLabels.OWN_REQUEST,
          "expected the id of a request, at most "
              + Names.MAX_REQUEST_ID
              + " characters, but it has "
              + own.length()
              + "; the Slice counts as nobody's");
      own = "";
    }
    claim.request = own.isEmpty() ? namedBySlc(annotations, work.owners()) : own;
    claim.index =
        number(claim, TpuLabels.OWN_INDEX, 0, SliceRequest.MAX_SLICES - 1)
            .orElse((long) claim.index)
            .intValue();
    claim.slices =
        number(claim, TpuLabels.OWN_SLICES, 1, SliceRequest.MAX_SLICES).orElse(0L).intValue();
    claim.priority =
        number(claim, TpuLabels.OWN_PRIORITY, Long.MIN_VALUE, Long.MAX_VALUE).orElse(null);
    claim.tenant = annotations.getOrDefault(TpuLabels.OWN_TENANT, "");
    if (claim.tenant.isEmpty()) {
      claim.tenant = annotations.getOrDefault(TpuLabels.OWNER_NAMESPACE, "");
    }
  }

  /** The request that the annotations of a Slice name; empty if they name none. */
  static String named(Map<String, String> annotations, Owners owners) {
    String own = annotations.getOrDefault(TpuLabels.OWN_REQUEST, "");
    return own.isEmpty() ? namedBySlc(annotations, owners) : own;
  }

  /** The request of the workload that the open-source controller has made a Slice for. */
  private static String namedBySlc(Map<String, String> annotations, Owners owners) {
    String name = annotations.getOrDefault(TpuLabels.OWNER_NAME, "");
    return name.isEmpty()
        ? ""
        : owners
            .of(
                annotations.getOrDefault(TpuLabels.OWNER_NAMESPACE, ""),
                name,
                annotations.getOrDefault(TpuLabels.OWNER_POD_SET, ""))
            .orElse("");
  }

  private Optional<Long> number(Claim claim, String annotation, long least, long most) {
    String text = Objects.requireNonNull(claim.manifest).annotations().get(annotation);
    if (text == null) {
      return Optional.empty();
    }
    try {
      long value = Long.parseLong(text);
      if (value >= least && value <= most) {
        return Optional.of(value);
      }
    } catch (NumberFormatException e) {
      // said below
    }
    problem(
        claim,
        annotation,
        "expected a whole number from "
            + least
            + " to "
            + most
            + ", but was \""
            + text
            + "\"; it is passed over");
    return Optional.empty();
  }

  private void problem(Claim claim, String annotation, String message) {
    problems.add(claim.object.path() + ".metadata.annotations[" + annotation + "]", message);
  }

  /** The request that most pods on a Slice belong to; empty if none does. */
  private String requestOfPods(Claim claim) {
    Map<String, Integer> counts = new TreeMap<>();
    for (PodSeat pod : claim.pods) {
      if (pod.owner() != null && !pod.leaving()) {
        counts.merge(pod.owner().request(), 1, Integer::sum);
      }
    }
    if (counts.size() > 1) {
      problems.add(
          claim.object.path() + ".metadata.name",
          "expected pods of one workload on one slice, but there are pods of "
              + String.join(" and ", counts.keySet())
              + "; restart those that do not belong there");
    }
    String most = "";
    int pods = 0;
    for (Map.Entry<String, Integer> entry : counts.entrySet()) {
      if (entry.getValue() > pods) {
        most = entry.getKey();
        pods = entry.getValue();
      }
    }
    return most;
  }

  private String tenant(PodSeat pod) {
    String namespace = pod.ref().namespace();
    String queue = Generic.labels(pod.pod()).getOrDefault(TpuLabels.QUEUE, "");
    return settings.tenantBy() == TenantBy.QUEUE && !queue.isEmpty()
        ? namespace + "/" + queue
        : namespace;
  }

  private static @Nullable Long priority(List<PodSeat> pods) {
    Long highest = null;
    for (PodSeat pod : pods) {
      var spec = pod.pod().getSpec();
      if (spec != null && spec.getPriority() != null) {
        long priority = spec.getPriority();
        highest = highest == null ? priority : Math.max(highest, priority);
      }
    }
    return highest;
  }

  // ---- Which slice of its request a claim is

  /** Makes the slices of one request run; returns those that it cannot have. */
  private List<Claim> serve(String id, List<Claim> claims) {
    Workload workload = work.workloads().get(id);
    SliceRequest request = workload == null ? rebuilt(id, claims) : workload.request();
    Map<Integer, Claim> byIndex = new TreeMap<>();
    List<Claim> refused = new ArrayList<>();
    List<Claim> numberless = new ArrayList<>();
    // Schedulers that disagree may have made two Slices of one slice: where its pods are, it is.
    claims.sort(Comparator.comparing(claim -> claim.pods.stream().noneMatch(p -> runs(p, id))));
    Claim model = null; // the first that fits: all others are as it is
    for (Claim claim : claims) {
      String why = whyNot(request, claim, model);
      if (why.isEmpty() && claim.index >= 0 && byIndex.containsKey(claim.index)) {
        why =
            "expected one slice of number "
                + claim.index
                + " of request "
                + id
                + ", but "
                + byIndex.get(claim.index).object
                + " is it already; delete one of them";
      }
      if (!why.isEmpty()) {
        problems.add(claim.object.path(), why);
        refused.add(claim);
        continue;
      }
      model = model == null ? claim : model;
      if (claim.index >= 0) {
        byIndex.put(claim.index, claim);
      } else {
        numberless.add(claim);
      }
    }
    refused.addAll(number(request, numberless, byIndex));
    Instant ends = workload == null ? null : endsAt(workload);
    byIndex.forEach((index, claim) -> run(request, index, claim, ends));
    List<Integer> absent =
        IntStream.range(0, request.slices()).filter(i -> !byIndex.containsKey(i)).boxed().toList();
    if (!byIndex.isEmpty() && !absent.isEmpty()) {
      missing.put(id, absent);
    }
    return refused;
  }

  private static boolean runs(PodSeat pod, String request) {
    return pod.owner() != null && !pod.leaving() && pod.owner().request().equals(request);
  }

  /** Gives free numbers by name, so that -2 comes before -10; returns those left without one. */
  private List<Claim> number(
      SliceRequest request, List<Claim> numberless, Map<Integer, Claim> byIndex) {
    numberless.sort(
        Comparator.comparing((Claim claim) -> claim.object.name(), NaturalOrder.INSTANCE)
            .thenComparing(claim -> claim.object));
    List<Claim> refused = new ArrayList<>();
    int next = 0;
    for (Claim claim : numberless) {
      while (byIndex.containsKey(next)) {
        next++;
      }
      if (next < request.slices()) {
        byIndex.put(next, claim);
      } else {
        problems.add(
            claim.object.path(),
            "expected at most "
                + request.slices()
                + " slices of request "
                + request.id()
                + ", which asks for so many, but this is one more; delete it");
        refused.add(claim);
      }
    }
    return refused;
  }

  /** Why a claim is no slice of a request; empty if it may be. */
  private static String whyNot(SliceRequest request, Claim claim, @Nullable Claim model) {
    String accelerator = claim.domain.topology().accelerator().name();
    boolean asked =
        request.shapes().isEmpty()
            ? request.chips() == claim.shape.chips()
            : request.shapes().stream().anyMatch(s -> s.sorted().equals(claim.shape.sorted()));
    if (!asked) {
      return "expected "
          + (request.shapes().isEmpty() ? request.chips() + " chips" : request.shapes())
          + ", as request "
          + request.id()
          + " asks, but was "
          + claim.shape
          + "; delete it, so that the request is placed anew";
    }
    if (claim.index >= request.slices()) {
      return "expected a number of slice below "
          + request.slices()
          + ", since request "
          + request.id()
          + " has so many, but was "
          + claim.index
          + "; delete it";
    }
    if (!request.accelerators().isEmpty() && !request.accelerators().contains(accelerator)) {
      return "expected "
          + request.accelerators()
          + ", as request "
          + request.id()
          + " asks, but was "
          + accelerator
          + "; delete it, so that the request is placed anew";
    }
    if (model != null
        && !(model.shape.sorted().equals(claim.shape.sorted())
            && model.domain.topology().accelerator().name().equals(accelerator))) {
      return "expected "
          + model.shape
          + " of "
          + model.domain.topology().accelerator().name()
          + " as "
          + model.object
          + " has, since all slices of request "
          + request.id()
          + " are alike, but was "
          + claim.shape
          + " of "
          + accelerator
          + "; delete one of them";
    }
    return "";
  }

  // ---- Requests of which the cluster has no workload

  private SliceRequest rebuilt(String id, List<Claim> claims) {
    Claim first = claims.get(0);
    int slices = claims.size();
    Long priority = null;
    String tenant = "";
    TreeSet<Integer> said = new TreeSet<>();
    for (Claim claim : claims) {
      slices = Math.max(slices, Math.max(claim.slices, claim.index + 1));
      if (claim.slices > 0) {
        said.add(claim.slices);
      }
      if (claim.priority != null) {
        priority = priority == null ? claim.priority : Math.max(priority, claim.priority);
      }
      tenant = tenant.isEmpty() ? claim.tenant : tenant;
    }
    if (said.size() > 1) {
      problem(
          first,
          TpuLabels.OWN_SLICES,
          "expected one number on all slices of request "
              + id
              + ", but there are "
              + said
              + "; write the same on all of them");
    }
    return rebuilt(id, first, Math.min(slices, SliceRequest.MAX_SLICES), priority, tenant);
  }

  private static SliceRequest rebuilt(
      String id, Claim claim, int slices, @Nullable Long priority, String tenant) {
    return SliceRequest.builder(id)
        .shape(claim.shape)
        .accelerators(claim.domain.topology().accelerator().name())
        .slices(slices)
        .priority(priority == null ? 0 : priority)
        .tenant(tenant)
        .build();
  }

  private void runAlone(Claim claim) {
    Workload workload = work.workloads().get(claim.request);
    SliceRequest request =
        workload == null
            ? rebuilt(claim.ownId, claim, 1, claim.priority, claim.tenant)
            : rebuilt(
                claim.ownId, claim, 1, workload.request().priority(), workload.request().tenant());
    run(request, 0, claim, null);
  }

  // ---- Running

  private void run(SliceRequest request, int index, Claim claim, @Nullable Instant ends) {
    SliceId id = new SliceId(request.id(), index);
    if (running.containsKey(id)) {
      String why =
          "expected one slice of id "
              + id
              + ", but another object is it already; name another request on it, or delete it";
      problems.add(claim.object.path(), why);
      leftOut.add(new LeftOut(claim.object, why));
      return;
    }
    RunningSlice.Builder slice =
        RunningSlice.builder(request, index, claim.domain.id(), claim.shape, claim.footprint)
            .startedAt(claim.startedAt)
            .leaving(claim.leaving);
    if (ends != null && (claim.startedAt == null || !ends.isBefore(claim.startedAt))) {
      slice.endsAt(ends);
    }
    try {
      running.put(id, slice.build());
    } catch (InvalidInputException e) {
      problems.addAll(claim.object.path(), e);
      leftOut.add(new LeftOut(claim.object, e.problems().get(0).message()));
    }
  }

  /** When a Job ends because its deadline is over, where it has one and has started. */
  private @Nullable Instant endsAt(Workload workload) {
    if (!(workload.source() instanceof Job job)
        || job.getSpec() == null
        || job.getStatus() == null) {
      return null;
    }
    Long seconds = job.getSpec().getActiveDeadlineSeconds();
    if (seconds == null || seconds < 0 || seconds > LONGEST_SECONDS) {
      return null;
    }
    Instant start =
        Times.read(
            job.getStatus().getStartTime(),
            workload.object().path() + ".status.startTime",
            problems);
    return start == null ? null : start.plusSeconds(seconds);
  }
}
