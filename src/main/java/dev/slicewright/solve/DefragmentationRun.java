package dev.slicewright.solve;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Eviction;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.Move;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.plan.Score.LevelScore;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.RoomGoal;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/** What fits as the fleet is, then what moves gain. Stateless. */
final class DefragmentationRun {
  private DefragmentationRun() {}

  static Defragmentation of(
      SlicePlanner planner,
      Fleet fleet,
      List<RoomGoal> goals,
      PlanningRules rules,
      SolveBudget budget,
      double leastPerChipHour) {
    long start = System.nanoTime();
    if (goals.isEmpty()) {
      throw new InvalidInputException(
          "defragmentation", "goals", "expected one or more, but there are none");
    }
    if (!(leastPerChipHour >= 0)) {
      throw new InvalidInputException(
          "defragmentation",
          "leastPerChipHour",
          "expected 0 or more, but was " + leastPerChipHour + "; 0 for whatever it gains");
    }
    PlanningRules.Builder with = rules.toBuilder();
    goals.forEach(with::room);
    PlanningRules all = with.build();
    PlanningRules.Builder still = all.toBuilder().permitByDefault(Permission.PINNED);
    all.permissions().keySet().forEach(id -> still.permit(id, Permission.PINNED));
    PlanningRules pinned = still.build();
    Duration third = budget.deadline().dividedBy(3);
    SolveBudget first = third.isZero() ? budget : budget.toBuilder().deadline(third).build();
    Plan now = planner.plan(fleet, List.of(), pinned, first);
    LevelScore before = room(now);
    if (before.isProved() && before.value() == wanted(fleet, all)) {
      return nothing(now, pinned, before, "All the room that is asked for is there already.");
    }
    Duration left = budget.deadline().minusNanos(System.nanoTime() - start);
    Duration least = Duration.ofMillis(1);
    SolveBudget second =
        budget.toBuilder().deadline(left.compareTo(least) < 0 ? least : left).build();
    Plan plan = planner.plan(fleet, List.of(), all, second);
    LevelScore after = room(plan);
    if (after.value() <= before.value()) {
      boolean sure = after.bound() <= before.value();
      return nothing(
          now,
          pinned,
          before,
          sure
              ? "No moves that the rules allow make more room than there is."
              : String.format(
                  Locale.ROOT,
                  "No moves were found that make more room, of at most %,d, in time; a longer"
                      + " deadline may find some.",
                  after.bound()));
    }
    long seconds = 0;
    for (LevelScore level : plan.score().levels()) {
      seconds += level.level().kind() == Level.Kind.DISRUPTION ? level.value() : 0;
    }
    int slices = plan.moves().size();
    Set<String> tenants = new HashSet<>();
    for (Move move : plan.moves()) {
      tenants.add(move.from().request().tenant());
    }
    for (Eviction eviction : plan.evictions()) {
      slices += eviction.slices().size();
      for (RunningSlice slice : eviction.slices()) {
        tenants.add(slice.request().tenant());
      }
    }
    Defragmentation done =
        new Defragmentation(
            plan,
            all,
            before.value(),
            before.bound(),
            after.value(),
            slices,
            seconds,
            tenants.size(),
            null);
    if (done.gainPerChipHour() < leastPerChipHour) {
      return nothing(
          now,
          pinned,
          before,
          String.format(
              Locale.ROOT,
              "Moves found gain %,d for %,.1f chip-hours, %.3f each, less than the %.3f asked for.",
              done.gained(),
              done.chipHours(),
              done.gainPerChipHour(),
              leastPerChipHour));
    }
    return done;
  }

  private static Defragmentation nothing(
      Plan plan, PlanningRules rules, LevelScore before, String why) {
    return new Defragmentation(
        plan, rules, before.value(), before.bound(), before.value(), 0, 0, 0, why);
  }

  private static LevelScore room(Plan plan) {
    for (LevelScore level : plan.score().levels()) {
      if (level.level().kind() == Level.Kind.ROOM) {
        return level;
      }
    }
    throw new IllegalStateException("No level of room in " + plan.score());
  }

  /** All that the goals ask for. */
  private static long wanted(Fleet fleet, PlanningRules rules) {
    return PlanVerifier.trivialBound(
        fleet, List.of(), rules, new Level(Level.Kind.ROOM, RoomGoal.PRIORITY));
  }
}
