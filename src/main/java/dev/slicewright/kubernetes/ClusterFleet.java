package dev.slicewright.kubernetes;

import dev.slicewright.SliceId;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.topology.HostId;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;

/** Makes a fleet of domains and of what runs in them. */
final class ClusterFleet {

  private ClusterFleet() {}

  static Fleet of(NodeDomains domains, RunningSlices.Found found, long version) {
    Fleet.Builder fleet = Fleet.builder().version(version);
    for (NodeDomain domain : domains.byId().values()) {
      Map<String, String> labels = new TreeMap<>(domain.labels());
      labels.put(TpuLabels.OWN_POD, domain.id());
      fleet.pod(domain.id(), domain.topology(), labels);
      domain.health().forEach((part, health) -> fleet.health(domain.id(), part, health));
      cordons(domain, found).forEach(part -> fleet.cordon(domain.id(), part));
    }
    found.running().forEach(fleet::running);
    found.holds().forEach(fleet::hold);
    return fleet.build();
  }

  private static Set<Part> cordons(NodeDomain domain, RunningSlices.Found found) {
    Set<Part> parts = new LinkedHashSet<>();
    for (HostId host : domain.cordons()) {
      parts.add(new Part.Host(host));
    }
    parts.addAll(found.cordons().getOrDefault(domain.id(), List.of()));
    return parts;
  }

  /**
   * The fleet after a change that leaves pods and their labels as they are. O(hosts of the domains
   * whose nodes change, and slices that start or end), and once over domains and slices.
   */
  static Fleet refreshed(
      Fleet before,
      NodeDomains from,
      NodeDomains to,
      RunningSlices.Found foundBefore,
      RunningSlices.Found found) {
    Changes changes = new Changes(foundBefore, found);
    if (foundBefore != found && changes.touchesHolds()) {
      return of(to, found, before.version() + 1);
    }
    Fleet fleet = before;
    for (NodeDomain domain : to.byId().values()) {
      NodeDomain old = Objects.requireNonNull(from.get(domain.id()));
      if (old != domain) {
        changes.compareHealth(old, domain);
      }
      if (old != domain || changes.cordonsDiffer(domain.id())) {
        fleet = recordoned(fleet, domain.id(), cordons(old, foundBefore), cordons(domain, found));
      }
    }
    return changes.apply(fleet);
  }

  private static Fleet recordoned(Fleet before, String pod, Set<Part> from, Set<Part> to) {
    Fleet fleet = before;
    for (Part part : to) {
      fleet = from.contains(part) ? fleet : fleet.cordon(pod, part);
    }
    for (Part part : from) {
      fleet = to.contains(part) ? fleet : fleet.uncordon(pod, part);
    }
    return fleet;
  }

  /** What has to be told to a fleet. Confined to one thread at a time. */
  private static final class Changes {
    private final RunningSlices.Found before;
    private final RunningSlices.Found after;
    private final Map<SliceId, RunningSlice> ended = new TreeMap<>();
    private final List<RunningSlice> started = new ArrayList<>();
    private final Map<Health, Map<String, List<Part>>> reports = new EnumMap<>(Health.class);

    Changes(RunningSlices.Found before, RunningSlices.Found after) {
      this.before = before;
      this.after = after;
      if (before != after) {
        before.running().forEach(slice -> ended.put(slice.id(), slice));
        for (RunningSlice slice : after.running()) {
          if (Objects.equals(slice, ended.get(slice.id()))) {
            ended.remove(slice.id());
          } else {
            started.add(slice);
          }
        }
      }
    }

    /** Placing a slice ends its holds, which are not ours to end. */
    boolean touchesHolds() {
      return !before.holds().equals(after.holds())
          || !after.holds().isEmpty() && !(started.isEmpty() && ended.isEmpty());
    }

    boolean cordonsDiffer(String domain) {
      return before != after
          && !Objects.equals(before.cordons().get(domain), after.cordons().get(domain));
    }

    void compareHealth(NodeDomain old, NodeDomain domain) {
      domain
          .health()
          .forEach(
              (part, health) -> {
                if (old.health().get(part) != health) {
                  report(health, domain.id(), part);
                }
              });
      for (Part part : old.health().keySet()) {
        if (!domain.health().containsKey(part)) {
          report(Health.HEALTHY, domain.id(), part);
        }
      }
    }

    private void report(Health health, String pod, Part part) {
      reports
          .computeIfAbsent(health, k -> new TreeMap<>())
          .computeIfAbsent(pod, k -> new ArrayList<>())
          .add(part);
    }

    Fleet apply(Fleet given) {
      Fleet fleet = given;
      for (Map.Entry<Health, Map<String, List<Part>>> entry : reports.entrySet()) {
        fleet = fleet.report(entry.getValue(), entry.getKey());
      }
      for (SliceId id : ended.keySet()) {
        fleet = fleet.release(id);
      }
      for (RunningSlice slice : started) {
        fleet = fleet.place(slice);
      }
      return fleet;
    }
  }
}
