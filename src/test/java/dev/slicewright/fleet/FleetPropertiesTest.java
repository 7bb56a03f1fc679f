package dev.slicewright.fleet;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SliceId;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Function;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;

/** A fleet against a naive mutable model that knows chips only. */
class FleetPropertiesTest {

  private static final int REQUESTS = 6;
  private static final int SLICES = 2;
  private static final List<String> PODS = List.of("p0", "p1", "p2");

  private final TreeMap<SliceId, RunningSlice> running = new TreeMap<>();
  private final TreeMap<String, Hold> holds = new TreeMap<>();
  private final Map<String, TpuTopology> pods = new TreeMap<>();
  private final Map<String, Map<Part, Health>> reported = new HashMap<>();
  private final Map<String, Set<Part>> cordons = new HashMap<>();
  private final Set<String> cordonedPods = new TreeSet<>();
  private long version;

  @Property(tries = 150, edgeCases = EdgeCasesMode.NONE)
  void isTheModelAfterEveryChange(
      @ForAll @IntRange(max = 6) int kind,
      @ForAll @IntRange(max = 6) int otherKind,
      @ForAll @IntRange(min = 1, max = 60) int steps,
      @ForAll long seed) {
    // One instance serves all tries.
    running.clear();
    holds.clear();
    pods.clear();
    cordonedPods.clear();
    Random random = new Random(seed);
    Fleet.Builder builder = Fleet.builder().version(5);
    version = 5;
    TreeSet<Shape> shapes = new TreeSet<>();
    for (int i = 0; i < PODS.size(); i++) {
      TpuTopology t = RandomParts.ALL.get(i == 2 ? otherKind : kind);
      pods.put(PODS.get(i), t);
      builder.pod(PODS.get(i), t);
      reported.put(PODS.get(i), new HashMap<>());
      cordons.put(PODS.get(i), new HashSet<>());
      t.legalShapes().stream()
          .map(Shape::sorted)
          .filter(s -> s.chips() <= 256)
          .forEach(shapes::add);
    }
    List<SliceRequest> requests = new ArrayList<>();
    for (int i = 0; i < REQUESTS; i++) {
      SliceRequest.Builder request = SliceRequest.builder("r" + i).slices(SLICES);
      shapes.forEach(request::shape);
      requests.add(request.priority(i % 2 == 0 ? Long.MIN_VALUE : Long.MAX_VALUE).build());
    }
    Fleet fleet = builder.build();
    List<Fleet> snapshots = new ArrayList<>();
    List<String> shown = new ArrayList<>();
    for (int i = 0; i < steps; i++) {
      snapshots.add(fleet);
      shown.add(show(fleet));
      fleet = step(fleet, requests, random);
      assertModel(fleet);
    }
    for (int i = 0; i < snapshots.size(); i++) {
      assertThat(show(snapshots.get(i))).isEqualTo(shown.get(i));
    }
    assertThat(rebuilt()).isEqualTo(fleet).hasSameHashCodeAs(fleet);
    assertThat(show(rebuilt())).isEqualTo(show(fleet));
  }

  private Fleet step(Fleet fleet, List<SliceRequest> requests, Random random) {
    String pod = random.nextInt(30) == 0 ? "nowhere" : PODS.get(random.nextInt(PODS.size()));
    TpuTopology t = pods.getOrDefault(pod, pods.get("p0"));
    SliceRequest request = requests.get(random.nextInt(REQUESTS));
    SliceId id = new SliceId(request.id(), random.nextInt(SLICES));
    String hold = "h" + random.nextInt(4);
    Part part = RandomParts.part(t, random);
    switch (random.nextInt(10)) {
      case 0, 1, 2, 3:
        return place(fleet, request, id.index(), pod, t, random);
      case 4:
        if (random.nextBoolean()) {
          return change(
              fleet, running.containsKey(id), f -> f.release(id), () -> running.remove(id));
        }
        boolean any = running.keySet().stream().anyMatch(s -> s.request().equals(request.id()));
        return change(
            fleet,
            any,
            f -> f.release(request.id()),
            () -> running.keySet().removeIf(s -> s.request().equals(request.id())));
      case 5:
        Hold wanted =
            new Hold(
                hold,
                pod,
                RandomParts.spot(t, random).footprint(),
                request.id(),
                Instant.ofEpochSecond(random.nextInt(3)));
        return change(fleet, holdFits(wanted), f -> f.hold(wanted), () -> holds.put(hold, wanted));
      case 6:
        if (random.nextBoolean()) {
          return change(
              fleet, holds.containsKey(hold), f -> f.dropHold(hold), () -> holds.remove(hold));
        }
        Instant now = Instant.ofEpochSecond(1);
        if (holds.values().stream().allMatch(h -> now.isBefore(h.expiry()))) {
          assertThat(fleet.dropExpiredHolds(now)).isSameAs(fleet);
          return fleet;
        }
        return change(
            fleet,
            true,
            f -> f.dropExpiredHolds(now),
            () -> holds.values().removeIf(h -> !now.isBefore(h.expiry())));
      case 7:
        return leaving(fleet, id, random.nextInt(3) > 0);
      case 8:
        Health health = Health.values()[random.nextInt(3)];
        Health before = reported.getOrDefault(pod, Map.of()).getOrDefault(part, Health.HEALTHY);
        if (pods.containsKey(pod) && before == health) {
          assertThat(fleet.report(pod, part, health)).isSameAs(fleet);
          return fleet;
        }
        return change(
            fleet,
            pods.containsKey(pod),
            f -> f.report(pod, part, health),
            () -> {
              if (health == Health.HEALTHY) {
                reported.get(pod).remove(part);
              } else {
                reported.get(pod).put(part, health);
              }
            });
      default:
        return cordon(fleet, pod, part, random.nextBoolean(), random.nextInt(4) == 0);
    }
  }

  private Fleet cordon(Fleet fleet, String pod, Part part, boolean on, boolean whole) {
    boolean known = pods.containsKey(pod);
    if (whole) {
      if (known && cordonedPods.contains(pod) == on) {
        assertThat(on ? fleet.cordonPod(pod) : fleet.uncordonPod(pod)).isSameAs(fleet);
        return fleet;
      }
      return change(
          fleet,
          known,
          f -> on ? f.cordonPod(pod) : f.uncordonPod(pod),
          () -> {
            if (!(on ? cordonedPods.add(pod) : cordonedPods.remove(pod))) {
              throw new AssertionError(pod);
            }
          });
    }
    boolean legal = known && !(part instanceof Part.Link || part instanceof Part.OcsPort);
    if (legal && cordons.get(pod).contains(part) == on) {
      assertThat(on ? fleet.cordon(pod, part) : fleet.uncordon(pod, part)).isSameAs(fleet);
      return fleet;
    }
    return change(
        fleet,
        legal,
        f -> on ? f.cordon(pod, part) : f.uncordon(pod, part),
        () -> {
          if (!(on ? cordons.get(pod).add(part) : cordons.get(pod).remove(part))) {
            throw new AssertionError(part.toString());
          }
        });
  }

  private Fleet place(
      Fleet fleet, SliceRequest request, int index, String pod, TpuTopology t, Random random) {
    RandomParts.Spot spot = RandomParts.spot(t, random);
    if (request.shapes().stream().noneMatch(s -> s.sorted().equals(spot.shape().sorted()))) {
      return fleet; // of an accelerator that the fleet does not have
    }
    boolean leaving = random.nextInt(8) == 0;
    RunningSlice slice =
        RunningSlice.builder(request, index, pod, spot.shape(), spot.footprint())
            .leaving(leaving)
            .build();
    return change(
        fleet,
        sliceFits(slice),
        f -> f.place(slice),
        () -> {
          running.put(slice.id(), slice);
          if (leaving) {
            return;
          }
          long placed =
              running.values().stream()
                  .filter(s -> s.request().equals(request) && !s.leaving())
                  .count();
          holds
              .values()
              .removeIf(
                  h ->
                      h.request().equals(request.id())
                          && (placed == SLICES
                              || overlap(pod, slice.footprint(), h.pod(), h.footprint())));
        });
  }

  private Fleet leaving(Fleet fleet, SliceId id, boolean value) {
    RunningSlice slice = running.get(id);
    if (slice != null && slice.leaving() == value) {
      assertThat(fleet.leaving(id, value)).isSameAs(fleet);
      return fleet;
    }
    boolean covered =
        slice != null
            && holds.values().stream()
                .anyMatch(h -> overlap(slice.pod(), slice.footprint(), h.pod(), h.footprint()));
    return change(
        fleet,
        slice != null && (value || !covered),
        f -> f.leaving(id, value),
        () -> running.put(id, slice.toBuilder().leaving(value).build()));
  }

  private boolean sliceFits(RunningSlice slice) {
    TpuTopology t = pods.get(slice.pod());
    return t != null
        && t.whyNot(slice.shape(), slice.footprint()).isEmpty()
        && !running.containsKey(slice.id())
        && running.values().stream()
            .noneMatch(o -> overlap(o.pod(), o.footprint(), slice.pod(), slice.footprint()))
        && running.values().stream()
            .filter(o -> o.id().request().equals(slice.id().request()))
            .allMatch(
                o ->
                    o.shape().sorted().equals(slice.shape().sorted())
                        && pods.get(o.pod()).accelerator().name().equals(t.accelerator().name()))
        && (slice.leaving()
            || holds.values().stream()
                .noneMatch(
                    h ->
                        !h.request().equals(slice.id().request())
                            && overlap(h.pod(), h.footprint(), slice.pod(), slice.footprint())));
  }

  private boolean holdFits(Hold hold) {
    TpuTopology t = pods.get(hold.pod());
    if (t == null || holds.containsKey(hold.id())) {
      return false;
    }
    if (hold.footprint() instanceof Footprint.Partition p
        && t.isOptical()
        && t.partitions().orElseThrow().shape(p.id()).chips() == 64) {
      return false; // to be named as a cube
    }
    if (hold.footprint() instanceof Footprint.Box box && t.whyNot(box.extents(), box).isPresent()) {
      return false;
    }
    return holds.values().stream()
            .noneMatch(h -> overlap(h.pod(), h.footprint(), hold.pod(), hold.footprint()))
        && running.values().stream()
            .filter(s -> !s.leaving())
            .noneMatch(s -> overlap(s.pod(), s.footprint(), hold.pod(), hold.footprint()));
  }

  private boolean overlap(String podA, Footprint a, String podB, Footprint b) {
    if (!podA.equals(podB)) {
      return false;
    }
    Set<Integer> chips = new HashSet<>();
    pods.get(podA).forEachChip(a, chips::add);
    boolean[] hit = {false};
    pods.get(podA).forEachChip(b, c -> hit[0] |= chips.contains(c));
    return hit[0];
  }

  private Fleet change(Fleet fleet, boolean legal, Function<Fleet, Fleet> act, Runnable onModel) {
    if (!legal) {
      InvalidInputException e =
          catchThrowableOfType(InvalidInputException.class, () -> act.apply(fleet));
      assertThat(e).isNotNull();
      assertThat(e.problems()).isNotEmpty();
      return fleet;
    }
    Fleet changed = act.apply(fleet);
    onModel.run();
    version++;
    return changed;
  }

  private void assertModel(Fleet fleet) {
    assertThat(fleet.version()).isEqualTo(version);
    assertThat(fleet.running()).containsExactlyElementsOf(running.values());
    assertThat(fleet.holds()).containsExactlyElementsOf(holds.values());
    for (int i = 0; i < REQUESTS; i++) {
      String request = "r" + i;
      assertThat(fleet.runningOf(request))
          .containsExactlyElementsOf(
              running.values().stream().filter(s -> s.id().request().equals(request)).toList());
      assertThat(fleet.holdsOf(request))
          .containsExactlyElementsOf(
              holds.values().stream().filter(h -> h.request().equals(request)).toList());
    }
    for (Pod pod : fleet.pods()) {
      TpuTopology t = pod.topology();
      assertThat(pod.reportedHealth()).isEqualTo(reported.get(pod.id()));
      assertThat(pod.cordons()).isEqualTo(cordons.get(pod.id()));
      assertThat(pod.isCordoned()).isEqualTo(cordonedPods.contains(pod.id()));
      List<RunningSlice> mine =
          running.values().stream().filter(s -> s.pod().equals(pod.id())).toList();
      assertThat(pod.running()).containsExactlyElementsOf(mine);
      assertThat(pod.holds())
          .containsExactlyElementsOf(
              holds.values().stream().filter(h -> h.pod().equals(pod.id())).toList());
      RunningSlice[] owner = new RunningSlice[t.cellCount()];
      mine.forEach(s -> t.forEachChip(s.footprint(), c -> owner[t.cellOf(t.chip(c))] = s));
      boolean[] held = new boolean[t.cellCount()];
      pod.holds().forEach(h -> t.forEachChip(h.footprint(), c -> held[t.cellOf(t.chip(c))] = true));
      int idle = t.chipCount();
      for (int cell = 0; cell < owner.length; cell++) {
        assertThat(pod.busy().contains(cell)).isEqualTo(owner[cell] != null);
        assertThat(pod.held().contains(cell)).isEqualTo(held[cell]);
        idle -= owner[cell] == null ? 0 : t.chipsPerCell();
      }
      int some = (int) (version % owner.length);
      assertThat(pod.runningAt(some).orElse(null)).isEqualTo(owner[some]);
      assertThat(pod.idleChips()).isEqualTo(idle);
    }
  }

  /** All that a fleet shows, what is derived on first use included. */
  private static String show(Fleet fleet) {
    StringBuilder text = new StringBuilder();
    for (Pod pod : fleet.pods()) {
      text.append(pod).append(pod.running()).append(pod.holds()).append(pod.reportedHealth());
      text.append(pod.cordons()).append(pod.isCordoned()).append(pod.freeChips());
      text.append(pod.health().failedCells().hashCode()).append(pod.health().brokenCubes());
      text.append(pod.health().failedLinks()).append(pod.health().degradedLinks());
      text.append(pod.busy().hashCode()).append(pod.cordonedCells().hashCode());
      pod.running().forEach(s -> text.append(s.leaving()));
    }
    return text.append(fleet.running()).append(fleet.holds()).toString();
  }

  private Fleet rebuilt() {
    Fleet.Builder builder = Fleet.builder();
    pods.forEach(builder::pod);
    reported.forEach((pod, parts) -> parts.forEach((p, h) -> builder.health(pod, p, h)));
    cordons.forEach((pod, parts) -> parts.forEach(p -> builder.cordon(pod, p)));
    cordonedPods.forEach(builder::cordonPod);
    running.values().forEach(builder::running);
    holds.values().forEach(builder::hold);
    return builder.build();
  }
}
