package dev.slicewright.plan;

import dev.slicewright.SliceId;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.PlanVerifier.Violation;
import dev.slicewright.plan.Step.Kind;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Checks a rollout from fleet and plan alone, never from how it was made. Immutable, safe to share.
 *
 * <p>It proves that every state that a rollout can pass through is legal: all waves up to one, and
 * any part of the next, in any order. Side by side nothing may depend on anything: so a step is
 * held against the state before its wave, a slice has one step a wave, what is taken in a wave does
 * not overlap, and quotas are held against all that comes and nothing that goes. Steps started by
 * {@link Step#after} alone are covered too: on each chip, and for each slice, a step names the one
 * before it.
 */
public final class RolloutVerifier {

  private record At(String pod, Shape shape, Footprint footprint) {}

  private final Fleet fleet;
  private final Plan plan;
  private final Rollout rollout;
  private final List<Violation> found = new ArrayList<>();

  private final Map<SliceId, At> running = new TreeMap<>();
  private final Map<SliceId, At> ends = new TreeMap<>();
  private final Map<SliceId, SliceRequest> requests = new HashMap<>();
  private final Set<SliceId> evicted = new HashSet<>();
  private final Map<SliceId, Placement> comes = new LinkedHashMap<>();
  private final Map<SliceId, Integer> lastOf = new HashMap<>();
  private final Map<SliceId, Kind> lastTake = new HashMap<>();
  private final Set<SliceId> moved = new HashSet<>();
  private final Set<SliceId> stopped = new HashSet<>();
  private final Map<String, @Nullable SliceId[]> takenBy = new HashMap<>();
  private final Map<String, int[]> lastAt = new HashMap<>();

  private RolloutVerifier(Fleet fleet, Plan plan, Rollout rollout) {
    this.fleet = fleet;
    this.plan = plan;
    this.rollout = rollout;
  }

  /**
   * Checks a rollout.
   *
   * @param fleet the fleet that it starts from
   * @param plan the plan that it carries out
   * @param rollout the rollout
   * @return every violation, with paths like {@code waves[1].steps[0]}; empty if it is right.
   *     O(chips and waits of its steps + rules × waves × slices)
   */
  public static List<Violation> verify(Fleet fleet, Plan plan, Rollout rollout) {
    RolloutVerifier verifier =
        new RolloutVerifier(
            Objects.requireNonNull(fleet, "fleet"), Objects.requireNonNull(plan, "plan"), rollout);
    verifier.run();
    return List.copyOf(verifier.found);
  }

  private void bad(String path, String message) {
    found.add(new Violation(path, message));
  }

  private void run() {
    start();
    int number = 0;
    for (int w = 0; w < rollout.waves().size(); w++) {
      Wave wave = rollout.waves().get(w);
      String path = "waves[" + w + "]";
      if (wave.number() != w + 1 || wave.steps().isEmpty()) {
        bad(path, "expected wave " + (w + 1) + " with steps");
      }
      wave(path, w + 1, wave, number);
      number += wave.steps().size();
    }
    for (SliceId id : ends.keySet()) {
      if (!Objects.equals(ends.get(id), running.get(id))) {
        bad("waves", id + " ends at " + running.get(id) + ", but the plan has " + ends.get(id));
      }
    }
    for (SliceId id : running.keySet()) {
      if (!ends.containsKey(id)) {
        bad("waves", id + " still runs, but the plan evicts it");
      }
    }
    for (SliceId id : comes.keySet()) {
      if (lastTake.get(id) != Kind.CREATE) {
        bad("waves", id + " is not created where the plan has it");
      }
    }
    for (SliceId id : stopped) {
      if (!evicted.contains(id)) {
        bad("waves", id + " was stopped and never restored");
      }
    }
  }

  private void start() {
    for (RunningSlice slice : fleet.running()) {
      At at = new At(slice.pod(), slice.shape(), slice.footprint());
      running.put(slice.id(), at);
      ends.put(slice.id(), at);
      requests.put(slice.id(), slice.request());
    }
    for (Eviction eviction : plan.evictions()) {
      for (RunningSlice slice : eviction.slices()) {
        evicted.add(slice.id());
        ends.remove(slice.id());
      }
    }
    for (Move move : plan.moves()) {
      moved.add(move.from().id());
      comes.put(move.from().id(), move.to());
      ends.put(move.from().id(), at(move.to()));
    }
    for (RequestPlacement answer : plan.placements()) {
      for (Placement slice : answer.slices()) {
        comes.put(slice.id(), slice);
        ends.put(slice.id(), at(slice));
        requests.put(slice.id(), answer.request());
      }
    }
    running.forEach(
        (id, at) -> {
          for (int cell : fleet.pod(at.pod()).orElseThrow().topology().cells(at.footprint())) {
            takenBy(at.pod())[cell] = id;
          }
        });
  }

  private static At at(Placement slice) {
    return new At(slice.pod(), slice.shape(), slice.footprint());
  }

  private @Nullable SliceId[] takenBy(String pod) {
    return takenBy.computeIfAbsent(
        pod, id -> new SliceId[fleet.pod(id).orElseThrow().topology().cellCount()]);
  }

  private int[] lastAt(String pod) {
    return lastAt.computeIfAbsent(
        pod, id -> new int[fleet.pod(id).orElseThrow().topology().cellCount()]);
  }

  private void wave(String path, int number, Wave wave, int before) {
    Set<SliceId> touched = new HashSet<>();
    Map<String, Set<Integer>> takes = new HashMap<>();
    Map<String, At> shapes = new HashMap<>();
    for (int i = 0; i < wave.steps().size(); i++) {
      Step step = wave.steps().get(i);
      String at = path + ".steps[" + i + "]";
      if (step.number() != before + i + 1 || step.wave() != number) {
        bad(at, "expected step " + (before + i + 1) + " of wave " + number + ", but was " + step);
      }
      for (int need : step.after()) {
        if (need < 1 || need > before) {
          bad(at, "waits for step " + need + ", which is not of an earlier wave");
        }
      }
      if (!touched.add(step.slice())) {
        bad(at, step.slice() + " has two steps in one wave");
      }
      Pod pod = fleet.pod(step.at().pod()).orElse(null);
      if (pod == null
          || pod.topology().whyNot(step.at().shape(), step.at().footprint()).isPresent()) {
        bad(at, "no such place: " + step.at());
        continue;
      }
      if (!Objects.equals(requests.get(step.slice()), step.request())) {
        bad(at, "not the request of " + step.slice());
        continue;
      }
      Integer last = lastOf.get(step.slice());
      if (last != null && !step.after().contains(last)) {
        bad(at, "does not wait for step " + last + " of the same slice");
      }
      if (step.kind().takes()) {
        takes(at, step, pod, takes.computeIfAbsent(pod.id(), p -> new HashSet<>()), shapes);
      } else if (!at(step.at()).equals(running.get(step.slice()))) {
        bad(at, step.slice() + " does not run there before wave " + number);
      }
      if (step.kind().vacates()) {
        vacates(at, step);
      } else if (step.kind() == Kind.RESTORE || step.kind() == Kind.RESTART) {
        restores(at, step, wave);
      }
    }
    rules(path, wave);
    for (Step step : wave.steps()) {
      done(step);
    }
  }

  private void takes(String path, Step step, Pod pod, Set<Integer> taken, Map<String, At> shapes) {
    TpuTopology t = pod.topology();
    SliceRequest request = step.request();
    Placement end = comes.get(step.slice());
    boolean detour = step.kind() == Kind.DETOUR;
    if (end == null || !detour && !at(end).equals(at(step.at()))) {
      bad(path, "the plan does not place " + step.slice() + " there");
    }
    if (running.containsKey(step.slice())) {
      bad(path, step.slice() + " runs already");
    }
    if (detour) {
      RunningSlice was = fleet.running(step.slice()).orElse(null);
      if (was == null || !moved.contains(step.slice())) {
        bad(path, "only a slice that moves takes a detour");
      } else if (plan.rules().permission(request.id()).withinPod() && !was.pod().equals(pod.id())) {
        bad(path, request.id() + " may not leave its pod");
      }
      if (pod.whyNot(request).isPresent()
          || request.interconnect() == Interconnect.WRAPAROUND
              && !t.isTorus(step.at().shape(), step.at().footprint())) {
        bad(path, "request " + request.id() + " does not take that place");
      }
    }
    int[] cells = t.cells(step.at().footprint());
    int[] last = lastAt(pod.id());
    @Nullable SliceId[] by = takenBy(pod.id());
    for (int cell : cells) {
      if (by[cell] != null) {
        bad(path, "chips are taken by " + by[cell]);
        break;
      }
      if (last[cell] > 0 && !step.after().contains(last[cell])) {
        bad(path, "does not wait for step " + last[cell] + ", which frees its chips");
        break;
      }
      if (!taken.add(cell)) {
        bad(path, "chips are taken by another step of this wave");
        break;
      }
    }
    Health health = pod.healthOf(step.at().footprint());
    if (health == Health.FAILED || health == Health.DEGRADED && request.healthyOnly()) {
      bad(path, "a part there is not healthy");
    }
    if (pod.cordonedCells().containsAny(cells)) {
      bad(path, "a part there is cordoned");
    }
    for (Hold hold : pod.holds()) {
      if (hold.isLive(plan.rules().now()) && !hold.request().equals(request.id())) {
        Set<Integer> held = new HashSet<>();
        for (int cell : t.cells(hold.footprint())) {
          held.add(cell);
        }
        for (int cell : cells) {
          if (held.contains(cell)) {
            bad(path, "chips are held for " + hold.request());
            break;
          }
        }
      }
    }
    siblings(path, step, shapes);
  }

  /** Slices of a request that run at once have one shape and one accelerator. */
  private void siblings(String path, Step step, Map<String, At> shapes) {
    At at = at(step.at());
    At other = shapes.putIfAbsent(step.request().id(), at);
    for (int i = 0; i < step.request().slices() && other == null; i++) {
      other = running.get(new SliceId(step.request().id(), i));
    }
    if (other != null
        && !(other.shape().sorted().equals(at.shape().sorted())
            && accelerator(other.pod()).equals(accelerator(at.pod())))) {
      bad(path, "another slice of " + step.request().id() + " runs in another shape");
    }
  }

  private String accelerator(String pod) {
    return fleet.pod(pod).orElseThrow().topology().accelerator().name();
  }

  private void vacates(String path, Step step) {
    boolean right =
        step.kind() == Kind.EVICT ? evicted.contains(step.slice()) : moved.contains(step.slice());
    if (!right) {
      bad(path, "the plan does not " + step.kind() + " " + step.slice());
    }
    if (step.kind() != Kind.EVICT && stopped.contains(step.slice())) {
      bad(path, step.slice() + " was not restored since it was stopped");
    }
    if (step.kind() == Kind.DELETE) {
      // Its place, final or temporary, must be free, what its own request leaves now aside.
      for (Wave wave : rollout.waves()) {
        for (Step next : wave.steps()) {
          if (next.number() > step.number()
              && next.slice().equals(step.slice())
              && next.kind().takes()) {
            if (!isFreeFor(step, next.at())) {
              bad(path, "its next place is not free yet, so this is a suspension");
            }
            return;
          }
        }
      }
    }
  }

  private boolean isFreeFor(Step step, Placement place) {
    @Nullable SliceId[] by = takenBy(place.pod());
    for (int cell : place.topology().cells(place.footprint())) {
      SliceId in = by[cell];
      if (in != null && !in.request().equals(step.slice().request())) {
        return false;
      }
    }
    return true;
  }

  private void restores(String path, Step step, Wave wave) {
    if (!stopped.contains(step.slice())) {
      bad(path, step.slice() + " was not stopped");
    }
    if (step.kind() == Kind.RESTORE && lastOf.get(step.slice()) == null) {
      bad(path, step.slice() + " was not created");
    }
    boolean whole = true;
    for (RunningSlice slice : fleet.runningOf(step.request().id())) {
      whole &= running.containsKey(slice.id());
    }
    for (Step other : wave.steps()) {
      whole &= !(other.kind().vacates() && other.request().id().equals(step.request().id()));
    }
    if (!whole) {
      bad(path, "not all slices of " + step.request().id() + " run");
    }
  }

  private void done(Step step) {
    Kind kind = step.kind();
    if (kind.vacates() || kind.takes()) {
      At at = at(step.at());
      Pod pod = fleet.pod(at.pod()).orElse(null);
      if (pod != null) {
        for (int cell : pod.topology().cells(at.footprint())) {
          takenBy(at.pod())[cell] = kind.takes() ? step.slice() : null;
          lastAt(at.pod())[cell] = step.number();
        }
      }
      if (kind.takes()) {
        running.put(step.slice(), at);
        lastTake.put(step.slice(), kind);
      } else {
        running.remove(step.slice());
      }
      if (moved.contains(step.slice())) {
        for (RunningSlice slice : fleet.runningOf(step.request().id())) {
          stopped.add(slice.id());
        }
      }
    } else {
      stopped.remove(step.slice());
    }
    lastOf.put(step.slice(), step.number());
  }

  // ---------------------------------------------------------------- quotas and reserved capacity

  private void rules(String path, Wave wave) {
    PlanningRules rules = plan.rules();
    if (rules.quotas().isEmpty() && rules.reserved().isEmpty()) {
      return;
    }
    List<SliceRequest> placed = plan.placements().stream().map(RequestPlacement::request).toList();
    RuleLimits limits = RuleLimits.of(fleet, placed, rules);
    for (int i = 0; i < rules.quotas().size(); i++) {
      PlanningRules.Quota quota = rules.quotas().get(i);
      rule(
          path,
          wave,
          (tenant, pod) -> RuleLimits.counts(quota, tenant, pod),
          limits.quotaLimit(i),
          "quota of tenant " + quota.tenant());
    }
    for (int i = 0; i < rules.reserved().size(); i++) {
      PlanningRules.Reserved reserved = rules.reserved().get(i);
      rule(
          path,
          wave,
          (tenant, pod) -> RuleLimits.counts(reserved, tenant, pod),
          limits.reservedLimit(i),
          "capacity reserved for tenant " + reserved.tenant());
    }
  }

  private interface Counts {
    boolean test(String tenant, Pod pod);
  }

  private void rule(String path, Wave wave, Counts counts, long limit, String what) {
    long held = 0;
    Map<String, SliceRequest> batch = new HashMap<>();
    plan.placements().forEach(p -> batch.put(p.request().id(), p.request()));
    for (Hold hold : fleet.holds()) {
      Pod pod = fleet.pod(hold.pod()).orElseThrow();
      boolean own = batch.containsKey(hold.request());
      for (SliceId id : moved) {
        own |= id.request().equals(hold.request());
      }
      if (!own
          && hold.isLive(plan.rules().now())
          && counts.test(RuleLimits.tenantOf(fleet, batch, hold), pod)) {
        held += RuleLimits.chips(pod, hold);
      }
    }
    long start = held;
    for (RunningSlice slice : fleet.running()) {
      start += chips(counts, slice.request(), slice.pod(), slice.shape());
    }
    long worst = held;
    long end = held;
    for (Map.Entry<SliceId, At> e : running.entrySet()) {
      worst += chips(counts, request(e.getKey()), e.getValue().pod(), e.getValue().shape());
    }
    for (Map.Entry<SliceId, At> e : ends.entrySet()) {
      end += chips(counts, request(e.getKey()), e.getValue().pod(), e.getValue().shape());
    }
    for (Step step : wave.steps()) {
      if (step.kind().takes()) {
        worst += chips(counts, step.request(), step.at().pod(), step.at().shape());
      }
    }
    long most = Math.max(limit, Math.max(start, end));
    if (worst > most) {
      bad(path, "the " + what + " allows " + most + " chips, but there may be " + worst);
    }
  }

  private SliceRequest request(SliceId id) {
    return Objects.requireNonNull(requests.get(id));
  }

  private long chips(Counts counts, SliceRequest request, String pod, Shape shape) {
    return counts.test(request.tenant(), fleet.pod(pod).orElseThrow()) ? shape.chips() : 0;
  }
}
