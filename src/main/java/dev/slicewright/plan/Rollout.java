package dev.slicewright.plan;

import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Hold;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.StalePlanException.Conflict;
import dev.slicewright.plan.StalePlanException.ConflictKind;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.topology.CellSet;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A plan as ordered steps: waves, one after another, whose steps run side by side. Immutable, safe
 * to share.
 *
 * <p><b>Moves.</b> TPU slices do not move in place: a moved slice is deleted, created at its new
 * place, and restored from its checkpoint. The job of a slice is one set of chips, so the old and
 * the new slice never exist at once. A request restarts as a whole: all its slices that move are
 * deleted in one wave, and those that stay are restarted when all are back.
 *
 * <p><b>What holds.</b> Every state is a legal fleet: all waves up to one, and any part of the
 * next, in any order; likewise any set of steps that has, with each step, those that it {@linkplain
 * Step#after() waits for}. No chips are shared, nothing new stands on failed, cordoned or held
 * chips, and no quota or reservation is exceeded that the plan keeps. {@link RolloutVerifier}
 * checks this without regard to how a rollout was made; each one is checked when it is made.
 *
 * <p><b>What is aimed at</b>, in this order.
 *
 * <ol>
 *   <li>A slice is deleted for a move only when its new place is free. So whatever fails later, it
 *       can be created; and it is down for no longer than its own delete, create and restore. Only
 *       where moves wait for one another in a circle must some request give way first.
 *   <li>Such circles (strongly connected components of "must vacate first") are broken by detours
 *       where there is a free legal place at that time, else by suspensions. What is minimised is
 *       first the sum over suspended requests of chips × restart times of all others in the
 *       component (what they would wait were the others moved one after another), then the sum over
 *       detoured ones of chips × their restart time (a detour is one more restart), both in
 *       chip-seconds: a feedback vertex set, exact in components of up to {@value
 *       FeedbackSet#EXACT} requests, greedy beyond. Which requests have a detour is asked for each
 *       alone; if those chosen cannot all have one at once, the first that cannot is suspended or
 *       passed over, and the choice is made anew.
 *   <li>The number of waves. New slices come in the first wave if they wait for nothing, later only
 *       if their place is in use, or lent for a detour.
 *   <li>What is evicted or suspended runs for as long as the waves allow.
 * </ol>
 *
 * <p>Within a wave what vacates is listed first, then what is created, then what is restored, each
 * by priority, then id. A detour stays in its pod, unless the request has one slice and the plan's
 * rules name neither quotas nor reservations nor forbid it to leave its pod.
 *
 * <p>O(chips of the plan's slices + waits) apart from circles. Deterministic.
 */
public final class Rollout {

  /**
   * How long steps take besides restoring, for estimates. Immutable, safe to share.
   *
   * @param delete to delete a slice, 0 or more
   * @param create to form a slice, 0 or more
   */
  public record Times(Duration delete, Duration create) {
    /** Nothing: restarts alone take time. */
    public static final Times ZERO = new Times(Duration.ZERO, Duration.ZERO);

    /**
     * Checks the times.
     *
     * @throws IllegalArgumentException if one is negative or above a year
     */
    public Times {
      for (Duration time : List.of(delete, create)) {
        if (time.isNegative() || time.compareTo(Duration.ofDays(365)) > 0) {
          throw new IllegalArgumentException(
              "Expected times from 0 to 365 days, but was "
                  + time
                  + "; give how long a step takes");
        }
      }
    }
  }

  /**
   * A request that gives way so that others of a circle can move. Immutable, safe to share.
   *
   * @param kind {@link Step.Kind#DETOUR} or {@link Step.Kind#SUSPEND}
   * @param request its id
   * @param chips of all its slices
   * @param from the wave in which it is suspended, or its detour created
   * @param to the wave in which it is created where the plan has it
   * @param chipSeconds what it costs beyond the move itself: for a detour chips × restart time; for
   *     a suspension chips × the times of the waves between its deletion and its creation
   */
  public record GivingWay(
      Step.Kind kind, String request, long chips, int from, int to, long chipSeconds) {
    /** Checks for null. */
    public GivingWay {
      Objects.requireNonNull(kind, "kind");
      Objects.requireNonNull(request, "request");
    }
  }

  /**
   * A rollout as far as it got. Immutable, safe to share.
   *
   * <p>To plan again from here: delete {@code remnants}, and plan {@code waiting}, with whatever
   * else waits, on {@link #cleared()}. Moves and evictions not yet begun do not wait: to have them
   * still, plan with the permissions and goals that led to them.
   *
   * @param fleet the fleet as it stands
   * @param waiting requests not all of whose slices run: first those deleted and not yet created
   *     again, then those that the plan places
   * @param remnants slices that run, but are of no use, since others of their request do not: of
   *     requests that wait, or that are half evicted
   */
  public record Progress(Fleet fleet, List<SliceRequest> waiting, List<RunningSlice> remnants) {
    /** Checks for null and copies the lists. */
    public Progress {
      Objects.requireNonNull(fleet, "fleet");
      waiting = List.copyOf(waiting);
      remnants = List.copyOf(remnants);
    }

    /**
     * The fleet without the remnants.
     *
     * @return the fleet to plan from; what waits has no slice there
     */
    public Fleet cleared() {
      Fleet result = fleet;
      for (RunningSlice slice : remnants) {
        result = result.release(slice.id());
      }
      return result;
    }
  }

  private final Fleet fleet;
  private final Plan plan;
  private final Fleet after;
  private final RuleRows rows;
  private final List<Wave> waves;
  private final List<Step> steps;

  /** A rollout as given, right or not. */
  Rollout(Fleet fleet, Plan plan, Fleet after, List<Wave> waves) {
    this.fleet = fleet;
    this.plan = plan;
    this.after = after;
    this.rows = new RuleRows(fleet, plan, after);
    this.waves = List.copyOf(waves);
    this.steps = this.waves.stream().flatMap(wave -> wave.steps().stream()).toList();
  }

  /**
   * The rollout of a plan, where only restarts take time.
   *
   * @param fleet the fleet that it starts from
   * @param plan the plan
   * @return the rollout, empty if the plan changes nothing
   * @throws StalePlanException if the plan does not fit the fleet, naming every conflict
   */
  public static Rollout of(Fleet fleet, Plan plan) {
    return of(fleet, plan, Times.ZERO);
  }

  /**
   * The rollout of a plan.
   *
   * @param fleet the fleet that it starts from
   * @param plan the plan
   * @param times how long steps take besides restarts, for estimates
   * @return the rollout, empty if the plan changes nothing
   * @throws StalePlanException if the plan does not fit the fleet, naming every conflict
   */
  public static Rollout of(Fleet fleet, Plan plan, Times times) {
    Fleet after = plan.applyTo(fleet);
    Rollout rollout =
        new Rollout(fleet, plan, after, RolloutBuilder.build(fleet, plan, after, times));
    List<PlanVerifier.Violation> violations = RolloutVerifier.verify(fleet, plan, rollout);
    if (!violations.isEmpty()) {
      throw new IllegalStateException(
          "Expected every state of a rollout to be legal, but " + violations + "; report this");
    }
    return rollout;
  }

  /**
   * The fleet that it starts from.
   *
   * @return the fleet
   */
  public Fleet fleet() {
    return fleet;
  }

  /**
   * The plan that it carries out.
   *
   * @return the plan
   */
  public Plan plan() {
    return plan;
  }

  /**
   * The waves in order.
   *
   * @return an unmodifiable list
   */
  public List<Wave> waves() {
    return waves;
  }

  /**
   * The steps of all waves, by number.
   *
   * @return an unmodifiable list
   */
  public List<Step> steps() {
    return steps;
  }

  /**
   * How long it takes, wave by wave.
   *
   * @return the sum over the waves
   */
  public Duration time() {
    Duration sum = Duration.ZERO;
    for (Wave wave : waves) {
      sum = sum.plus(wave.time());
    }
    return sum;
  }

  /**
   * The requests that give way so that others can move, by the wave in which they do, then id.
   *
   * @return an unmodifiable list, empty where no moves wait for one another in a circle
   */
  public List<GivingWay> givingWay() {
    List<GivingWay> found = new ArrayList<>();
    Set<String> seen = new HashSet<>();
    for (Step step : steps) {
      Step.Kind kind = step.kind();
      String id = step.request().id();
      if ((kind == Step.Kind.DETOUR || kind == Step.Kind.SUSPEND) && seen.add(id)) {
        long chips = 0;
        for (RunningSlice slice : fleet.runningOf(id)) {
          chips = Math.addExact(chips, slice.shape().chips());
        }
        int to = step.wave();
        long restart = 0;
        for (Step other : steps) {
          if (other.request().id().equals(id)) {
            to = other.kind() == Step.Kind.CREATE ? Math.max(to, other.wave()) : to;
            restart =
                other.kind() == Step.Kind.RESTORE
                    ? Math.max(restart, other.time().toSeconds())
                    : restart;
          }
        }
        long seconds = kind == Step.Kind.DETOUR ? restart : 0;
        for (int w = step.wave() + 1; kind == Step.Kind.SUSPEND && w < to; w++) {
          seconds = Math.addExact(seconds, waves.get(w - 1).time().toSeconds());
        }
        found.add(
            new GivingWay(kind, id, chips, step.wave(), to, Math.multiplyExact(chips, seconds)));
      }
    }
    return List.copyOf(found);
  }

  // ---------------------------------------------------------------- replay

  /**
   * The fleet after the first steps.
   *
   * @param steps how many, from 0 to all; after all it equals {@code plan.applyTo(fleet)}
   * @return the fleet. O(chips of these steps)
   * @throws IndexOutOfBoundsException if there are not so many
   */
  public Fleet after(int steps) {
    Objects.checkFromToIndex(0, steps, this.steps.size());
    Fleet result = fleet;
    for (Step step : this.steps.subList(0, steps)) {
      result = apply(result, step);
    }
    return result;
  }

  /**
   * The fleet after some steps, done in the order given.
   *
   * @param numbers their numbers
   * @return the fleet
   * @throws IllegalArgumentException if there is no such step
   * @throws StalePlanException if a step is not possible at its turn, naming every conflict
   */
  public Fleet replay(Collection<Integer> numbers) {
    Fleet result = fleet;
    for (int number : numbers) {
      result = apply(result, step(number));
    }
    return result;
  }

  private Step step(int number) {
    if (number < 1 || number > steps.size()) {
      throw new IllegalArgumentException(
          "Expected a step from 1 to "
              + steps.size()
              + ", but was "
              + number
              + "; see steps() for those of this rollout");
    }
    return steps.get(number - 1);
  }

  /**
   * A fleet after one step more, which is checked against that fleet: it may be newer than the one
   * that the rollout starts from.
   *
   * @param present the fleet as it stands
   * @param step a step of this rollout
   * @return the changed fleet; {@code present} itself for {@link Step.Kind#RESTORE} and {@link
   *     Step.Kind#RESTART}
   * @throws IllegalArgumentException if the step is not of this rollout
   * @throws StalePlanException if it is not possible, naming every conflict
   */
  public Fleet apply(Fleet present, Step step) {
    if (!step(step.number()).equals(step)) {
      throw new IllegalArgumentException(
          "Expected a step of this rollout, but was " + step + "; take one of steps()");
    }
    Placement at = step.at();
    List<Conflict> conflicts = new ArrayList<>();
    RunningSlice now = present.running(step.slice()).orElse(null);
    if (!step.kind().takes()) {
      boolean there =
          now != null
              && now.pod().equals(at.pod())
              && now.shape().equals(at.shape())
              && now.footprint().equals(at.footprint())
              && now.request().equals(step.request());
      if (!there) {
        conflicts.add(
            new Conflict(
                ConflictKind.SLICE_CHANGED,
                step.slice().toString(),
                step.slice() + " was to run at " + at + (now == null ? ", but does not run" : "")));
      }
      check(present, conflicts);
      return step.kind().vacates() ? present.release(step.slice()) : present;
    }
    if (now != null) {
      conflicts.add(
          new Conflict(
              ConflictKind.RUNS_ALREADY,
              step.slice().toString(),
              "slice " + step.slice() + " runs already"));
    }
    conflicts.addAll(PlanApplication.whyNot(plan, present, step.request(), at));
    siblings(present, step, conflicts);
    Pod pod = present.pod(at.pod()).orElse(null);
    for (int row = 0; pod != null && row < rows.size(); row++) {
      long used = rows.used(row, present);
      if (rows.counts(row, step.request().tenant(), pod) && used + at.chips() > rows.most(row)) {
        conflicts.add(
            new Conflict(
                ConflictKind.RULE_BROKEN,
                step.request().id(),
                "the "
                    + rows.name(row)
                    + " allows "
                    + rows.most(row)
                    + " chips, but with this step it would be "
                    + (used + at.chips())));
      }
    }
    check(present, conflicts);
    return RolloutBuilder.place(present, slice(step), plan.rules().now());
  }

  private void check(Fleet present, List<Conflict> conflicts) {
    if (!conflicts.isEmpty()) {
      throw new StalePlanException(plan.fleetVersion(), present.version(), conflicts);
    }
  }

  private static void siblings(Fleet present, Step step, List<Conflict> conflicts) {
    for (RunningSlice sibling : present.runningOf(step.request().id())) {
      String type = present.pod(sibling.pod()).orElseThrow().topology().accelerator().name();
      if (!sibling.id().equals(step.slice())
          && !(sibling.request().equals(step.request())
              && sibling.shape().sorted().equals(step.at().shape().sorted())
              && type.equals(step.at().topology().accelerator().name()))) {
        conflicts.add(
            new Conflict(
                ConflictKind.SLICE_CHANGED,
                sibling.id().toString(),
                "slice " + sibling + " of the same request still runs in another shape"));
      }
    }
  }

  /** The slice that a step creates. */
  private RunningSlice slice(Step step) {
    if (step.kind() == Step.Kind.CREATE) {
      return after.running(step.slice()).orElseThrow();
    }
    RunningSlice was = fleet.running(step.slice()).orElseThrow();
    Placement at = step.at();
    Instant now = plan.rules().now();
    return RunningSlice.builder(
            was.request(), was.id().index(), at.pod(), at.shape(), at.footprint())
        .twist(at.twist())
        .startedAt(now.equals(Instant.EPOCH) ? null : now)
        .restartTime(was.restartTime().orElse(null))
        .checkpointAt(was.checkpointAt().orElse(null))
        .endsAt(was.endsAt().filter(end -> !end.isBefore(now)).orElse(null))
        .build();
  }

  /**
   * Where the rollout stands once some steps are done: the fleet, and what waits in it, so that a
   * caller can plan anew after a step failed.
   *
   * @param done the numbers of the steps done; with each those that it {@linkplain Step#after()
   *     waits for}. Their order does not matter
   * @return what stands and what waits
   * @throws IllegalArgumentException if there is no such step
   * @throws StalePlanException if these steps are not possible without others
   */
  public Progress at(Collection<Integer> done) {
    List<Integer> sorted = new ArrayList<>(new LinkedHashSet<>(done));
    sorted.sort(null);
    return progress(replay(sorted));
  }

  /**
   * What waits in a fleet in which this rollout was begun.
   *
   * @param present the fleet as it stands
   * @return what stands and what waits. O(slices of the plan)
   */
  public Progress progress(Fleet present) {
    Map<String, SliceRequest> waiting = new LinkedHashMap<>();
    List<RunningSlice> remnants = new ArrayList<>();
    for (Move move : plan.moves()) {
      SliceRequest request = move.from().request();
      if (present.running(move.from().id()).isEmpty()) {
        waiting.put(request.id(), request);
      }
    }
    for (RequestPlacement answer : plan.placements()) {
      if (present.runningOf(answer.request().id()).size() < answer.slices().size()) {
        waiting.put(answer.request().id(), answer.request());
      }
    }
    for (String id : waiting.keySet()) {
      remnants.addAll(present.runningOf(id));
    }
    for (Eviction eviction : plan.evictions()) {
      List<RunningSlice> left = present.runningOf(eviction.request());
      if (left.size() < eviction.slices().size()) {
        remnants.addAll(left);
      }
    }
    return new Progress(present, List.copyOf(waiting.values()), remnants);
  }

  // ---------------------------------------------------------------- holds

  /**
   * Holds that keep the place of each slice to be created until it is, over later planning cycles,
   * while victims leave. Places that a detour uses in between are not held.
   *
   * @param expiry when they end by themselves
   * @return one hold for each created slice, named {@code rollout:} and the slice, in the order of
   *     the steps; see {@link #hold} to put them into a fleet
   */
  public List<Hold> holds(Instant expiry) {
    Objects.requireNonNull(expiry, "expiry");
    List<Hold> holds = new ArrayList<>();
    for (Step step : steps) {
      if (step.kind() == Step.Kind.CREATE && !isLent(step)) {
        holds.add(
            new Hold(
                "rollout:" + step.slice(),
                step.at().pod(),
                step.at().footprint(),
                step.request().id(),
                expiry));
      }
    }
    return List.copyOf(holds);
  }

  private boolean isLent(Step create) {
    @Nullable CellSet cells = null;
    for (Step other : steps) {
      if (other.kind() == Step.Kind.DETOUR && other.at().pod().equals(create.at().pod())) {
        if (cells == null) {
          cells =
              CellSet.empty(create.at().topology().cellCount())
                  .with(create.at().topology().cells(create.at().footprint()));
        }
        if (cells.containsAny(other.at().topology().cells(other.at().footprint()))) {
          return true;
        }
      }
    }
    return false;
  }

  /**
   * A fleet with the {@linkplain #holds holds} of this rollout, in which all that it deletes or
   * evicts is {@linkplain RunningSlice#leaving() leaving}: pinned and worth nothing to later plans,
   * and a hold may cover it. The steps of this rollout can be {@linkplain #apply applied} to it; a
   * hold ends when its slice is created. Holds of the same requests on the same chips, and expired
   * ones of others, give way.
   *
   * @param present the fleet as it stands, before the first step
   * @param expiry when the holds end by themselves
   * @return the changed fleet
   * @throws StalePlanException if the plan does not fit that fleet, naming every conflict
   */
  public Fleet hold(Fleet present, Instant expiry) {
    plan.applyTo(present);
    Fleet result = present;
    for (Eviction eviction : plan.evictions()) {
      for (RunningSlice slice : eviction.slices()) {
        result = result.leaving(slice.id(), true);
      }
    }
    for (Move move : plan.moves()) {
      result = result.leaving(move.from().id(), true);
    }
    for (Hold hold : holds(expiry)) {
      Pod pod = result.pod(hold.pod()).orElseThrow();
      int[] cells = pod.topology().cells(hold.footprint());
      for (Hold other : pod.holds()) {
        if (Arrays.stream(pod.topology().cells(other.footprint()))
            .anyMatch(cell -> Arrays.binarySearch(cells, cell) >= 0)) {
          result = result.dropHold(other.id());
        }
      }
      result = result.hold(hold);
    }
    return result;
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder("Rollout[");
    for (Wave wave : waves) {
      text.append(wave.number() > 1 ? "; " : "").append(wave.steps());
    }
    return text.append(']').toString();
  }

  /** Compares fleet, plan and steps. */
  @Override
  public boolean equals(Object other) {
    return this == other
        || other instanceof Rollout that
            && waves.equals(that.waves)
            && plan.equals(that.plan)
            && fleet.equals(that.fleet);
  }

  @Override
  public int hashCode() {
    return waves.hashCode();
  }
}
