package dev.slicewright.kubernetes;

import dev.slicewright.Problems;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.kubernetes.Claim.PodSeat;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Finds what runs: from Slices, from pods on nodes without one, and from Kueue's assignments.
 * Confined to one thread at a time.
 *
 * <p>Chips have one taker. Slices claim theirs first: what is formed before what is not, the older
 * before the newer, then by name; a partition inside one that is taken, or around it, is taken too
 * (the open-source controller compares ids only). Then come pods where no Slice is, and last what
 * Kueue has assigned to pods that are not there yet. What cannot have the chips that it names is a
 * problem and left out, and what it names and nobody else has is cordoned: something may still be
 * using it.
 */
final class RunningSlices {

  /**
   * What runs and what is held.
   *
   * @param running by slice id; no two overlap
   * @param holds by id
   * @param missing for each request some but not all of whose slices run: the numbers of those that
   *     do not, ascending
   * @param slices every Slice object, by name
   * @param cordons by domain id: partitions of failed Slices and of those left out, and nodes that
   *     are still labelled with a Slice that has none of them
   * @param stalePods pods bound to an earlier placement of their Slice, by name; restart them
   * @param workloads what is wanted, by request id, but for what names Slices that it cannot have
   * @param failures what Slices and Workloads tell of lost slices, by object
   */
  record Found(
      List<RunningSlice> running,
      List<Hold> holds,
      Map<String, List<Integer>> missing,
      List<SliceManifest> slices,
      Map<String, List<Part>> cordons,
      List<ObjectRef> stalePods,
      Map<String, Workload> workloads,
      List<SliceFailure.Notice> failures) {}

  private final KubernetesObjects objects;
  private final Domains domains;
  private final WorkloadTranslator.Translation work;
  private final ReadSettings settings;
  private final Problems problems;
  private final List<LeftOut> leftOut;
  private final TakenChips taken = new TakenChips();
  private final Cordons cordons = new Cordons();
  private final List<Claim> claims = new ArrayList<>();
  private final Map<String, SliceObject> slices = new TreeMap<>(); // by name
  private final Set<String> sliceNames = new LinkedHashSet<>(); // unreadable ones too
  private final List<SlicePlaces.Known> loose = new ArrayList<>(); // of Slices left out

  private RunningSlices(
      KubernetesObjects objects,
      Domains domains,
      WorkloadTranslator.Translation work,
      ReadSettings settings,
      Problems problems,
      List<LeftOut> leftOut) {
    this.objects = objects;
    this.domains = domains;
    this.work = work;
    this.settings = settings;
    this.problems = problems;
    this.leftOut = leftOut;
  }

  /** O(n log n) for n objects and the chips that they take. */
  static Found find(
      KubernetesObjects objects,
      Domains domains,
      WorkloadTranslator.Translation work,
      ReadSettings settings,
      Problems problems,
      List<LeftOut> leftOut) {
    return new RunningSlices(objects, domains, work, settings, problems, leftOut).find();
  }

  private Found find() {
    readSlices().forEach(this::claim);
    loose.forEach(known -> cordonFree(known.domain(), known.footprint()));
    SliceLabels labels = SliceLabels.read(objects, domains);
    readLabels(labels);
    List<ObjectRef> stale = claimPods(labels);
    WorkloadTranslator.Translation possible =
        new SelectedSlices(work, slices, claims, problems, leftOut).assign();
    claims.addAll(
        new AdmittedClaims(domains, possible, taken, cordons, problems, leftOut).claims(objects));
    SliceOwners.Owned owned = new SliceOwners(possible, settings, problems, leftOut).assign(claims);
    List<Hold> holds = new RunningHolds(domains, taken, owned, problems, leftOut).read(objects);
    return new Found(
        owned.running(),
        holds,
        owned.missing(),
        slices.values().stream().map(SliceObject::manifest).toList(),
        cordons.parts(),
        stale,
        possible.workloads(),
        Failures.read(objects, slices.values(), work.owners()));
  }

  // ---- Slices

  /** In order of claiming; of Slices of one name the first only. */
  private List<SliceObject> readSlices() {
    List<SliceObject> read = new ArrayList<>();
    for (HasMetadata object : objects.all()) {
      if (!SliceManifest.isSlice(object)) {
        continue;
      }
      ObjectRef ref = ObjectRef.of(object);
      sliceNames.add(ref.name());
      Optional<SliceObject> slice = SliceObject.read(Generic.of(object), problems);
      slice.ifPresentOrElse(
          read::add, () -> leftOut.add(new LeftOut(ref, "is no Slice that can be read")));
    }
    read.sort(SliceObject.ORDER);
    List<SliceObject> distinct = new ArrayList<>();
    for (SliceObject slice : read) {
      SliceObject same = slices.putIfAbsent(slice.manifest().name(), slice);
      if (same == null) {
        distinct.add(slice);
      } else {
        refuse(
            slice,
            ".metadata.name",
            "expected one Slice of this name, but there are two"
                + (slice.ref().equals(same.ref())
                    ? ""
                    : ", as " + same.ref().apiVersion() + " and as " + slice.ref().apiVersion())
                + "; list each object once");
      }
    }
    return distinct;
  }

  private void claim(SliceObject slice) {
    SliceManifest manifest = slice.manifest();
    SlicePlaces.Found place = SlicePlaces.find(manifest, domains);
    String epoch = manifest.annotations().get(TpuLabels.OWN_EPOCH);
    if (epoch != null && !epoch.equals(manifest.epoch())) {
      problems.add(
          slice.ref().path() + ".metadata.annotations[" + TpuLabels.OWN_EPOCH + "]",
          "expected "
              + manifest.epoch()
              + ", the digest of what the Slice says, but was \""
              + epoch
              + "\"; delete the Slice and create it anew");
    }
    if (!manifest.takesPartitions()) {
      // The platform has said what is wrong. What it names stays out of use, so that the next
      // attempt goes elsewhere, as long as the object is there.
      place.known().forEach(known -> cordons.add(known.domain(), known.footprint()));
      return;
    }
    if (place.domain() == null || place.footprint() == null) {
      loose.addAll(place.known());
      refuse(slice, "." + place.field(), place.why());
      return;
    }
    Claim claim =
        new Claim(
            slice.ref(),
            ownId(manifest.name()),
            place.domain(),
            manifest.topology(),
            place.footprint(),
            slice.isLeaving(),
            manifest);
    Optional<Claim> holder = taken.holder(claim.domain, claim.cells);
    if (holder.isPresent()) {
      loose.addAll(place.known());
      refuse(slice, ".spec.partitionIds", overlap(claim, holder.get()));
      return;
    }
    claim.startedAt = slice.readySince();
    taken.add(claim);
    claims.add(claim);
  }

  /** The id of the request that a Slice becomes if it serves no other. */
  static String ownId(String slice) {
    return Names.request(SliceManifest.KIND, "", slice, "");
  }

  private static String overlap(Claim claim, Claim holder) {
    return "expected partitions that no Slice has, but "
        + claim.place()
        + " overlaps "
        + holder.domain.topology().describe(holder.footprint)
        + " of "
        + holder.object
        + "; delete one of the two";
  }

  private void refuse(SliceObject slice, String field, String why) {
    problems.add(slice.ref().path() + field, why);
    leftOut.add(new LeftOut(slice.ref(), why));
  }

  private void cordonFree(Domain domain, Footprint footprint) {
    for (int cell : domain.topology().cells(footprint)) {
      cordonFree(domain, domain.topology().hostOfCell(cell));
    }
  }

  private void cordonFree(Domain domain, HostId host) {
    if (taken.holder(domain, host).isEmpty()) {
      cordons.add(domain, host);
    }
  }

  // ---- Nodes that say which Slice they belong to

  private void readLabels(SliceLabels labels) {
    for (SliceLabels.Labelled labelled : labels.all()) {
      if (sliceNames.isEmpty()) {
        claim(labelled);
      } else {
        // A node of its Slice is taken. Else the label is from before: of a Slice that has gone,
        // or has failed; the node is free once the platform has taken the label off.
        labelled.hosts().forEach(place -> cordonFree(place.domain(), place.host()));
      }
    }
  }

  /** A Slice that is known only by the labels of its nodes. */
  private void claim(SliceLabels.Labelled labelled) {
    HostFootprints.Found found = labelled.footprint().orElse(null);
    Domain domain = labelled.hosts().get(0).domain();
    Claim claim =
        found == null
            ? null
            : new Claim(
                labelled.firstNode(),
                ownId(labelled.slice()),
                domain,
                found.shape(),
                found.footprint(),
                false,
                null);
    if (claim == null || taken.holder(domain, claim.cells).isPresent()) {
      String why =
          "expected the nodes of Slice "
              + labelled.slice()
              + " to be one slice"
              + (labelled.topology().isEmpty() ? "" : " of " + labelled.topology())
              + ", but its "
              + labelled.hosts().size()
              + " nodes are none, or another Slice has some of them; list the Slices too";
      problems.add(labelled.firstNode().path() + ".metadata.labels[" + TpuLabels.SLICE + "]", why);
      leftOut.add(
          new LeftOut(
              new ObjectRef(SliceManifest.API_VERSION, SliceManifest.KIND, "", labelled.slice()),
              why));
      labelled.hosts().forEach(place -> cordonFree(place.domain(), place.host()));
      return;
    }
    taken.add(claim);
    claims.add(claim);
  }

  // ---- Pods

  /** Gives pods to the Slices that they are on, and lets the others claim; returns stale ones. */
  private List<ObjectRef> claimPods(SliceLabels labels) {
    Map<String, Claim> byName = new HashMap<>();
    for (Claim claim : claims) {
      if (claim.manifest != null) {
        byName.put(claim.manifest.name(), claim);
      }
    }
    List<PodSeat> free = new ArrayList<>();
    List<ObjectRef> stale = new ArrayList<>();
    for (PodSeat seat : PodSeats.read(objects, domains, work.owners())) {
      String selected = PodSeats.selectedSlice(seat.pod());
      Claim claim =
          seat.place() == null
              ? byName.get(selected)
              : taken.holder(seat.place().domain(), seat.place().host()).orElse(null);
      String why = whyStale(seat, selected, claim);
      if (!why.isEmpty()) {
        stale.add(seat.ref());
        leftOut.add(new LeftOut(seat.ref(), why));
      } else if (claim != null) {
        claim.pods.add(seat);
      } else if (seat.place() != null && seat.wantsChips() && labels.at(seat.place()).isEmpty()) {
        if (sliceNames.contains(selected)) {
          // Left over from a Slice that has failed: it runs nothing, but its node is not free.
          cordonFree(seat.place().domain(), seat.place().host());
        } else {
          free.add(seat);
        }
      }
    }
    for (Claim claim : claims) {
      if (claim.startedAt == null && !claim.pods.isEmpty()) {
        claim.startedAt = PodClaims.earliestStart(claim.pods, problems);
      }
    }
    claims.addAll(new PodClaims(work.workloads(), taken, cordons, problems, leftOut).claims(free));
    return List.copyOf(stale);
  }

  /** Why a pod is bound to another placement than its Slice has now; empty if it is not. */
  private String whyStale(PodSeat seat, String selected, @Nullable Claim on) {
    SliceManifest manifest =
        on != null && on.manifest != null
            ? on.manifest
            : Optional.ofNullable(slices.get(selected)).map(SliceObject::manifest).orElse(null);
    if (manifest == null || seat.leaving()) {
      return "";
    }
    if (on != null && !selected.isEmpty() && !selected.equals(manifest.name())) {
      return "selects Slice "
          + selected
          + ", but its node belongs to Slice "
          + manifest.name()
          + " now; restart the pod";
    }
    String epoch = Generic.annotations(seat.pod()).getOrDefault(TpuLabels.OWN_EPOCH, "");
    // Pods of several slices share a template, and so a list of epochs.
    return epoch.isEmpty() || List.of(epoch.split(",", -1)).contains(manifest.epoch())
        ? ""
        : "is bound to epoch "
            + epoch
            + " of Slice "
            + manifest.name()
            + ", which is at epoch "
            + manifest.epoch()
            + " now; restart the pod";
  }
}
