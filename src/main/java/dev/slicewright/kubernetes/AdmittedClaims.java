package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Finds the chips that Kueue has assigned to admitted Workloads whose pods are not there yet: an
 * assignment of nodes is a promise, so nobody else is given them. What is admitted without one owns
 * nothing. Confined to one thread at a time.
 *
 * <p>Slices and pods that are there go first: a slice of the Workload that has its chips already is
 * passed over, and so is one that takes part of them for another, which is a problem. The nodes of
 * several slices are cut into them in the order of the assignment, as the controllers do that form
 * slices of it.
 */
final class AdmittedClaims {

  private static final String ASSIGNMENT = "topologyAssignment";
  private static final String FINISHED = "Finished";
  private static final String EVICTED = "Evicted";

  /** The nodes of a request in one domain, in the order of its assignments. */
  private record Group(
      ObjectRef workload, String path, String request, Domain domain, Set<HostId> hosts) {}

  /** A request, and the domain in which it has nodes. */
  private record Key(String request, String domain) {}

  private final Domains domains;
  private final WorkloadTranslator.Translation work;
  private final TakenChips taken;
  private final Cordons cordons;
  private final Problems problems;
  private final List<LeftOut> leftOut;
  private int number; // of slices of the Workload at hand

  AdmittedClaims(
      Domains domains,
      WorkloadTranslator.Translation work,
      TakenChips taken,
      Cordons cordons,
      Problems problems,
      List<LeftOut> leftOut) {
    this.domains = domains;
    this.work = work;
    this.taken = taken;
    this.cordons = cordons;
    this.problems = problems;
    this.leftOut = leftOut;
  }

  /** The claims, by Workload. O(n log n) for n objects and assigned nodes. */
  List<Claim> claims(KubernetesObjects objects) {
    Map<ObjectRef, HasMetadata> workloads = new TreeMap<>();
    for (HasMetadata object : objects.all()) {
      String version = object.getApiVersion();
      if (WorkKind.WORKLOAD.kind().equals(object.getKind())
          && WorkKind.WORKLOAD.versions().contains(version == null ? "" : version)) {
        workloads.put(ObjectRef.of(object), object);
      }
    }
    List<Claim> claims = new ArrayList<>();
    workloads.forEach(
        (ref, workload) -> {
          number = 0;
          for (Group group : groups(ref, workload)) {
            claims.addAll(claims(group));
          }
        });
    return claims;
  }

  // ---------------------------------------------------------------- what is assigned

  private Collection<Group> groups(ObjectRef ref, HasMetadata workload) {
    Generic root = Generic.read(workload, new Problems()); // its own reading tells what is wrong
    Map<Key, Group> groups = new LinkedHashMap<>();
    if (!isPromise(workload, root)) {
      return List.of();
    }
    Map<String, Generic> podSets = new TreeMap<>();
    for (Generic podSet : root.list("spec", "podSets")) {
      podSets.putIfAbsent(podSet.text("name").orElse("main"), podSet);
    }
    Generic admission = Generic.read(workload, problems).get("status", "admission");
    for (Generic given : admission.list("podSetAssignments")) {
      Generic field = given.get(ASSIGNMENT);
      String name = given.text("name").orElse("main");
      Generic podSet = podSets.get(name);
      if (!field.isPresent() || podSet != null && !wantsChips(podSet)) {
        continue;
      }
      String request = work.owners().of(ref.namespace(), ref.name(), name).orElse("");
      TopologyAssignment assignment = podSet == null ? null : read(field);
      if (podSet == null) {
        given
            .get("name")
            .problem("one of the pod sets " + podSets.keySet(), "have Kueue admit it anew");
      } else if (assignment != null) {
        checkPods(given, podSet, assignment);
        for (TopologyAssignment.Domain domain : assignment.domains()) {
          add(ref, request, field, assignment.levels(), domain, groups);
        }
      }
      if (assignment == null) {
        leftOut.add(new LeftOut(ref, "has a topology assignment that cannot be read"));
      }
    }
    return groups.values();
  }

  /** Kueue keeps the admission of what has ended; evicted pods will not come. */
  private static boolean isPromise(HasMetadata workload, Generic root) {
    boolean leaving =
        workload.getMetadata() != null && workload.getMetadata().getDeletionTimestamp() != null;
    if (leaving || !root.flag("spec", "active").orElse(true)) {
      return false;
    }
    for (Generic condition : root.list("status", "conditions")) {
      String type = condition.text("type").orElse("");
      if ((type.equals(FINISHED) || type.equals(EVICTED))
          && condition.text("status").orElse("").equals("True")) {
        return false;
      }
    }
    return true;
  }

  private static boolean wantsChips(Generic podSet) {
    Generic template = podSet.get("template");
    return new PodTemplate(template.get("spec"), List.of(template.get("metadata", "annotations")))
        .namesChips();
  }

  private @Nullable TopologyAssignment read(Generic field) {
    if (!(field.raw() instanceof Map<?, ?> map)) {
      field.problem("levels and domains", "have Kueue admit the Workload anew");
      return null;
    }
    Map<String, @Nullable Object> tree = new LinkedHashMap<>();
    map.forEach((key, value) -> tree.put(String.valueOf(key), value));
    try {
      return TopologyAssignment.read(tree);
    } catch (InvalidInputException e) {
      String prefix = field.path();
      e.problems()
          .forEach(
              problem ->
                  problems.add(
                      problem.path().startsWith(ASSIGNMENT)
                          ? prefix + problem.path().substring(ASSIGNMENT.length())
                          : prefix + "." + problem.path(),
                      problem.message()));
      return null;
    }
  }

  /** An assignment stands for all pods of its pod set: those admitted, or all. */
  private static void checkPods(Generic given, Generic podSet, TopologyAssignment assignment) {
    long pods = given.whole("count").orElse(podSet.whole("count").orElse(1));
    if (pods != assignment.pods()) {
      given
          .get(ASSIGNMENT)
          .problem(
              "expected nodes for the "
                  + pods
                  + " pods of the pod set, but there are nodes for "
                  + assignment.pods()
                  + "; have Kueue admit the Workload anew");
    }
  }

  private void add(
      ObjectRef ref,
      String request,
      Generic field,
      List<String> levels,
      TopologyAssignment.Domain assigned,
      Map<Key, Group> groups) {
    String level = levels.get(levels.size() - 1);
    String value = assigned.values().get(levels.size() - 1);
    Domain domain;
    List<HostId> hosts;
    if (level.equals(TpuLabels.HOSTNAME)) {
      Domains.Place place = domains.node(value).orElse(null);
      domain = place == null ? null : place.domain();
      hosts = place == null ? List.of() : List.of(place.host());
    } else if (level.equals(TpuLabels.NODE_POOL)) {
      domain = domains.domain("nodepool/" + value).orElse(null);
      hosts = domain == null ? List.of() : allHosts(domain);
    } else {
      Shape shape = TopologyWish.shapeOf(level).orElse(null);
      List<Domain> having = shape == null ? List.of() : domains.withPartition(shape, value);
      domain = having.isEmpty() ? null : having.get(0);
      hosts =
          shape == null || having.isEmpty()
              ? List.of()
              : having
                  .get(0)
                  .partition(shape, value)
                  .map(id -> hosts(having.get(0), new Footprint.Partition(id)))
                  .map(List::copyOf)
                  .orElse(List.of());
    }
    if (domain == null) {
      field.problem(
          "expected nodes with TPUs of this cluster, but there are none of "
              + level
              + " "
              + value
              + "; hand them in, or have Kueue admit the Workload anew");
      return;
    }
    Domain in = domain;
    groups
        .computeIfAbsent(
            new Key(request, in.id()),
            key -> new Group(ref, field.path(), request, in, new LinkedHashSet<>()))
        .hosts()
        .addAll(hosts);
  }

  private static List<HostId> allHosts(Domain domain) {
    List<HostId> hosts = new ArrayList<>();
    for (int i = 0; i < domain.topology().hostCount(); i++) {
      hosts.add(new HostId(i));
    }
    return hosts;
  }

  private static SortedSet<HostId> hosts(Domain domain, Footprint footprint) {
    return hosts(domain, domain.topology().cells(footprint));
  }

  private static SortedSet<HostId> hosts(Domain domain, int[] cells) {
    SortedSet<HostId> hosts = new TreeSet<>();
    for (int cell : cells) {
      hosts.add(domain.topology().hostOfCell(cell));
    }
    return hosts;
  }

  // ---------------------------------------------------------------- slices of it

  private List<Claim> claims(Group group) {
    Workload workload = work.workloads().get(group.request());
    List<Shape> wanted = workload == null ? List.of() : workload.request().shapes();
    List<Claim> claims = new ArrayList<>();
    Set<HostId> left = new TreeSet<>(group.hosts());
    for (HostId host : group.hosts()) {
      if (!left.contains(host)) {
        continue;
      }
      HostFootprints.Found found = around(group, host, left, wanted);
      SortedSet<HostId> inside =
          found == null ? new TreeSet<>(Set.of(host)) : hosts(group.domain(), found.footprint());
      boolean whole = found != null && group.hosts().containsAll(inside);
      left.removeAll(inside);
      if (found == null || !whole) {
        refuse(
            group,
            inside,
            "expected all nodes of a slice of "
                + (wanted.isEmpty() ? "its request" : wanted)
                + ", but of those around "
                + group.domain().topology().hostName(host)
                + " of "
                + group.domain().id()
                + " some are not assigned");
        continue;
      }
      claim(group, found).ifPresent(claims::add);
    }
    return claims;
  }

  /** The slice that a host is part of, with others that are left. */
  private static HostFootprints.@Nullable Found around(
      Group group, HostId host, Set<HostId> left, List<Shape> wanted) {
    Domain domain = group.domain();
    TpuTopology topology = domain.topology();
    if (domain.isAtomic()) {
      return HostFootprints.whole(domain).orElse(null);
    }
    if (wanted.isEmpty()) {
      return HostFootprints.exact(topology, new TreeSet<>(left)).orElse(null);
    }
    for (Shape shape : wanted) {
      int cubes = topology.isLegal(shape) ? topology.cubesOf(shape) : 0;
      SortedSet<HostId> seeds = new TreeSet<>(Set.of(host));
      if (cubes > 1) {
        // Further cubes in the order of the assignment.
        Set<Integer> touched = new TreeSet<>();
        for (HostId other : group.hosts()) {
          int cube = topology.cubeOf(other).index();
          if (left.contains(other) && (touched.contains(cube) || touched.size() < cubes)) {
            touched.add(cube);
            seeds.add(other);
          }
        }
      }
      Optional<HostFootprints.Found> found = HostFootprints.around(topology, seeds, shape);
      if (found.isPresent()) {
        return found.get();
      }
    }
    return null;
  }

  private Optional<Claim> claim(Group group, HostFootprints.Found found) {
    Claim claim =
        new Claim(
            group.workload(),
            group.workload().path() + "#" + number++,
            group.domain(),
            found.shape(),
            found.footprint(),
            false,
            null);
    Claim holder = taken.holder(group.domain(), claim.cells).orElse(null);
    if (holder != null) {
      if (!holds(holder, group.request())) {
        refuse(
            group,
            hosts(group.domain(), claim.cells),
            "expected " + claim.place() + " free for its pods, but " + holder + " is on it");
      }
      return Optional.empty();
    }
    claim.request = group.request();
    taken.add(claim);
    return Optional.of(claim);
  }

  /** Whether what has some of the chips is of the request, or its Slice that names nobody. */
  private boolean holds(Claim holder, String request) {
    String of =
        holder.manifest != null && holder.request.isEmpty()
            ? SliceOwners.named(holder.manifest.annotations(), work.owners())
            : holder.request;
    if (!of.isEmpty()) {
      return of.equals(request);
    }
    if (holder.leaving || holder.isOfPods()) {
      return false;
    }
    if (holder.pods.isEmpty()) {
      holder.request = request;
      return true;
    }
    return holder.pods.stream()
        .anyMatch(pod -> pod.owner() != null && pod.owner().request().equals(request));
  }

  /** What is promised and cannot be had whole: nothing else may start on the rest of it. */
  private void refuse(Group group, SortedSet<HostId> hosts, String why) {
    String message = why + "; have Kueue admit the Workload anew";
    problems.add(group.path(), message);
    leftOut.add(new LeftOut(group.workload(), message));
    for (HostId host : hosts) {
      if (group.hosts().contains(host) && taken.holder(group.domain(), host).isEmpty()) {
        cordons.add(group.domain(), host);
      }
    }
  }
}
