package dev.slicewright.kubernetes;

import dev.slicewright.Problems;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.RunningSlice;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Reads the holds that still mean something: on chips that are free, or that leaving slices have,
 * for requests that do not run yet. Confined to one thread at a time.
 *
 * <p>Of holds that overlap, the one of the ConfigMap created first stays, then the one that comes
 * first by name. Whether a hold has expired is for the fleet to say.
 */
final class RunningHolds {

  private record Kept(ConfigMap map, ObjectRef ref, Hold hold, Domain domain, int[] cells) {}

  private final Domains domains;
  private final TakenChips taken;
  private final Set<String> running = new TreeSet<>();
  private final Set<String> missing;
  private final Problems problems;
  private final List<LeftOut> leftOut;
  private final Map<String, @Nullable Kept[]> held = new HashMap<>();
  private final Map<String, Kept> byId = new TreeMap<>();

  RunningHolds(
      Domains domains,
      TakenChips taken,
      SliceOwners.Owned owned,
      Problems problems,
      List<LeftOut> leftOut) {
    this.domains = domains;
    this.taken = taken;
    for (RunningSlice slice : owned.running()) {
      running.add(slice.request().id());
    }
    this.missing = owned.missing().keySet();
    this.problems = problems;
    this.leftOut = leftOut;
  }

  /** The holds, by id. */
  List<Hold> read(KubernetesObjects objects) {
    List<ConfigMap> maps = new ArrayList<>();
    for (HasMetadata object : objects.all()) {
      if (HoldObjects.isHold(object)) {
        maps.add((ConfigMap) object);
      }
    }
    maps.sort(Comparator.comparing(RunningHolds::created).thenComparing(map -> ObjectRef.of(map)));
    maps.forEach(this::keep);
    return byId.values().stream().map(Kept::hold).toList();
  }

  private static String created(ConfigMap map) {
    String text = map.getMetadata().getCreationTimestamp();
    return text == null ? "~" : text; // after every year
  }

  private void keep(ConfigMap map) {
    ObjectRef ref = ObjectRef.of(map);
    Hold hold = HoldObjects.read(map, domains, problems).orElse(null);
    Domain domain = hold == null ? null : domains.domain(hold.pod()).orElse(null);
    if (hold == null || domain == null) {
      leftOut.add(new LeftOut(ref, "is no hold that can be read"));
      return;
    }
    boolean runs = running.contains(hold.request());
    if (runs && !missing.contains(hold.request())) {
      leftOut.add(
          new LeftOut(ref, "its request " + hold.request() + " runs; delete the ConfigMap"));
      return;
    }
    Kept kept = new Kept(map, ref, hold, domain, domain.topology().cells(hold.footprint()));
    Optional<Claim> own = staying(kept).filter(claim -> runsFor(claim, hold));
    if (own.isPresent()) {
      leftOut.add(
          new LeftOut(
              ref,
              "a slice of its request runs on its chips, as "
                  + own.get().object
                  + "; delete the ConfigMap"));
      return;
    }
    String why = whyNot(kept);
    if (!why.isEmpty()) {
      problems.add(ref.path() + ".data", why);
      leftOut.add(new LeftOut(ref, why));
      return;
    }
    byId.put(hold.id(), kept);
    @Nullable Kept[] cells =
        held.computeIfAbsent(domain.id(), id -> new @Nullable Kept[domain.topology().cellCount()]);
    for (int cell : kept.cells) {
      cells[cell] = kept;
    }
  }

  private static boolean runsFor(Claim claim, Hold hold) {
    return claim.request.equals(hold.request());
  }

  /** A slice that stays, on chips of a hold. */
  private Optional<Claim> staying(Kept kept) {
    for (int cell : kept.cells) {
      Optional<Claim> holder = taken.holder(kept.domain, new int[] {cell});
      if (holder.isPresent() && !holder.get().leaving) {
        return holder;
      }
    }
    return Optional.empty();
  }

  private String whyNot(Kept kept) {
    Kept same = byId.get(kept.hold.id());
    if (same != null) {
      return "expected an id of its own, but "
          + same.ref
          + " keeps hold "
          + kept.hold.id()
          + " too;"
          + " delete one of them";
    }
    Optional<Claim> claim = staying(kept);
    if (claim.isPresent()) {
      return "expected free chips, but "
          + claim.get()
          + " has some of those that are held for "
          + kept.hold.request()
          + "; delete the ConfigMap";
    }
    @Nullable Kept[] cells = held.get(kept.domain.id());
    for (int i = 0; cells != null && i < kept.cells.length; i++) {
      Kept other = cells[kept.cells[i]];
      if (other != null) {
        return "expected chips of its own, but "
            + other.ref
            + " holds some of them for "
            + other.hold.request()
            + "; delete one of them";
      }
    }
    return "";
  }
}
