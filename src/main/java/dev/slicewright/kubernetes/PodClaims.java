package dev.slicewright.kubernetes;

import dev.slicewright.Problems;
import dev.slicewright.kubernetes.Claim.PodSeat;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.Shape;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Finds the chips that pods take where no Slice says it: the pods of one slice of a workload take
 * the whole of an atomic pool, or the partition that they fill. Confined to one thread at a time.
 */
final class PodClaims {

  /** Pods of one slice in one domain. */
  private record Group(String request, int slice, Domain domain, List<PodSeat> pods) {

    boolean leaving() {
      return pods.stream().allMatch(PodSeat::leaving);
    }

    SortedSet<HostId> hosts() {
      SortedSet<HostId> hosts = new TreeSet<>();
      for (PodSeat pod : pods) {
        if (pod.place() != null) {
          hosts.add(pod.place().host());
        }
      }
      return hosts;
    }

    ObjectRef first() {
      return pods.get(0).ref();
    }

    String slicePath() {
      return request + "/" + slice;
    }
  }

  private record Key(String request, int slice, String domain) {}

  private final Map<String, Workload> workloads;
  private final TakenChips taken;
  private final Cordons cordons;
  private final Problems problems;
  private final List<LeftOut> leftOut;

  PodClaims(
      Map<String, Workload> workloads,
      TakenChips taken,
      Cordons cordons,
      Problems problems,
      List<LeftOut> leftOut) {
    this.workloads = workloads;
    this.taken = taken;
    this.cordons = cordons;
    this.problems = problems;
    this.leftOut = leftOut;
  }

  /** The claims of pods that run where no Slice is, given by name. */
  List<Claim> claims(List<PodSeat> seats) {
    List<Group> groups = groups(seats);
    Map<String, Group> homes = homes(groups);
    List<Claim> claims = new ArrayList<>();
    for (Group group : groups) {
      Claim claim = claim(group);
      if (claim == null) {
        continue;
      }
      Group home = homes.getOrDefault(group.slicePath(), group);
      if (group == home && !group.leaving()) {
        claim.request = group.request();
        claim.index = group.slice();
      } else if (!group.leaving()) {
        problems.add(
            group.first().path() + ".spec.nodeName",
            "expected all pods of slice "
                + group.slicePath()
                + " in one pod of the fleet, since a slice shares one interconnect, but some are"
                + " in "
                + home.domain().id()
                + " and some in "
                + group.domain().id()
                + "; restart the workload");
      }
      taken.add(claim);
      claims.add(claim);
    }
    return claims;
  }

  /** In order of claiming: what stays before what leaves, then by slice and domain. */
  private static List<Group> groups(List<PodSeat> seats) {
    Map<Key, Group> groups = new LinkedHashMap<>();
    for (PodSeat seat : seats) {
      if (seat.place() == null) {
        continue;
      }
      Domain domain = seat.place().domain();
      String request = seat.owner() == null ? Names.id(seat.ref().path()) : seat.owner().request();
      int slice = seat.owner() == null ? 0 : seat.owner().slice();
      groups
          .computeIfAbsent(
              new Key(request, slice, domain.id()),
              key -> new Group(request, slice, domain, new ArrayList<>()))
          .pods()
          .add(seat);
    }
    List<Group> ordered = new ArrayList<>(groups.values());
    ordered.sort(
        Comparator.comparing(Group::leaving)
            .thenComparing(Group::request)
            .thenComparing(Group::slice)
            .thenComparing(group -> group.domain().id()));
    return ordered;
  }

  /** Of the slices whose pods are in several domains, the group that has most of them. */
  private static Map<String, Group> homes(List<Group> groups) {
    Map<String, Group> homes = new TreeMap<>();
    for (Group group : groups) {
      if (!group.leaving()) {
        homes.merge(group.slicePath(), group, (a, b) -> b.pods().size() > a.pods().size() ? b : a);
      }
    }
    return homes;
  }

  /** The claim of a group, or null if it cannot have what it stands on. */
  private @Nullable Claim claim(Group group) {
    SortedSet<HostId> hosts = group.hosts();
    Workload workload = workloads.get(group.request());
    List<Shape> wanted = workload == null ? List.of() : workload.request().shapes();
    HostFootprints.Found found = HostFootprints.find(group.domain(), hosts, wanted).orElse(null);
    if (found == null) {
      refuse(
          group,
          "expected all pods of slice "
              + group.slicePath()
              + " in one partition of "
              + group.domain().id()
              + ", but no partition has all of their "
              + hosts.size()
              + " nodes; restart the workload");
      return null;
    }
    Claim claim =
        new Claim(
            group.first(),
            group.first().path() + (group.leaving() ? "#leaving" : ""),
            group.domain(),
            found.shape(),
            found.footprint(),
            group.leaving(),
            null);
    Optional<Claim> holder = taken.holder(group.domain(), claim.cells);
    if (holder.isPresent()) {
      conflict(group, claim, holder.get());
      return null;
    }
    claim.pods.addAll(group.pods());
    claim.startedAt = earliestStart(group.pods(), problems);
    return claim;
  }

  private void conflict(Group group, Claim claim, Claim holder) {
    if (group.leaving()) {
      // Its chips are taken by who comes after it, or are not free before its neighbour goes.
      leaveOut(group, "leaves, and " + holder.object + " has its chips already");
      return;
    }
    refuse(
        group,
        "expected pods of one slice alone on "
            + claim.place()
            + ", but "
            + (group.request().equals(holder.request)
                ? "slices " + holder.index + " and " + group.slice() + " of " + group.request()
                : holderName(holder) + " and " + group.request())
            + " both run there; nothing new is placed there before "
            + group.first()
            + " has ended; let it, and give the next such work a place of its own");
    // Should the holder go first, its chips are not free.
    group.hosts().forEach(host -> cordons.add(group.domain(), host));
  }

  private static String holderName(Claim holder) {
    return holder.request.isEmpty() ? holder.object.path() : holder.request;
  }

  private void refuse(Group group, String why) {
    problems.add(group.first().path() + ".spec.nodeName", why);
    leaveOut(group, why);
  }

  /** What is left out still runs: nothing else may start there. */
  private void leaveOut(Group group, String why) {
    group.pods().forEach(pod -> leftOut.add(new LeftOut(pod.ref(), why)));
    for (HostId host : group.hosts()) {
      if (taken.holder(group.domain(), host).isEmpty()) {
        cordons.add(group.domain(), host);
      }
    }
  }

  /** When the first of some pods started; null if none says. */
  static @Nullable Instant earliestStart(List<PodSeat> pods, Problems problems) {
    Instant first = null;
    for (PodSeat seat : pods) {
      var status = seat.pod().getStatus();
      Instant start =
          status == null
              ? null
              : Times.read(
                  status.getStartTime(), seat.ref().path() + ".status.startTime", problems);
      if (start != null && (first == null || start.isBefore(first))) {
        first = start;
      }
    }
    return first;
  }
}
