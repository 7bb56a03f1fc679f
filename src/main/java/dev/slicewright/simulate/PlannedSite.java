package dev.slicewright.simulate;

import dev.slicewright.SolveBudget;
import dev.slicewright.cost.Disruption;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Pod;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.plan.Move;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.RequestPlacement;
import dev.slicewright.request.Permission;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.search.PodSpace;
import dev.slicewright.search.Want;
import dev.slicewright.simulate.Trace.Change;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.Shape;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Under the planner. Confined to one thread at a time. */
final class PlannedSite extends Site {

  private final SlicePlanner planner;
  private final SolveBudget budget;
  private final int most;
  private final boolean tidy;
  private final Map<String, PodSpace> spaces = new HashMap<>(); // of the fleet as it is
  private Fleet fleet;

  PlannedSite(Fleet fleet, SlicePlanner planner, SolveBudget budget, int most, boolean tidy) {
    this.fleet = fleet;
    this.planner = planner;
    this.budget = budget;
    this.most = most;
    this.tidy = tidy;
  }

  @Override
  List<String> place(List<SliceRequest> requests, Instant now) {
    PlanningRules rules = PlanningRules.builder().now(now).build();
    if (most == 0 || requests.size() > 1) {
      return placed(apply(planner.plan(fleet, requests, rules, budget), now));
    }
    PlanningRules loose = rules.toBuilder().permitByDefault(Permission.MOVABLE).build();
    Plan plan = apply(planner.makeRoom(fleet, requests.get(0), most, loose, budget), now);
    int left = most - plan.moves().size();
    if (tidy && left > 0 && !plan.placements().isEmpty()) {
      PlanningRules others =
          loose.toBuilder().permit(requests.get(0).id(), Permission.PINNED).build();
      apply(planner.tidy(fleet, left, others, budget), now);
    }
    return placed(plan);
  }

  private static List<String> placed(Plan plan) {
    return plan.placements().stream().map((RequestPlacement p) -> p.request().id()).toList();
  }

  private Plan apply(Plan plan, Instant now) {
    for (Move move : plan.moves()) {
      moves++;
      movedChipSeconds =
          Math.addExact(
              movedChipSeconds, Disruption.chipSeconds(move.from(), isBroken(move.from()), now));
    }
    if (!plan.placements().isEmpty() || !plan.moves().isEmpty()) {
      change(plan.applyTo(fleet));
    }
    return plan;
  }

  private void change(Fleet to) {
    fleet = to;
    spaces.clear();
  }

  private boolean isBroken(RunningSlice slice) {
    Pod pod = fleet.pod(slice.pod()).orElseThrow();
    return !pod.reportedHealth().isEmpty() && pod.healthOf(slice.footprint()) == Health.FAILED;
  }

  @Override
  void leave(String request) {
    change(fleet.release(request));
  }

  @Override
  List<String> change(Change change, Instant now) {
    switch (change.kind()) {
      case FAIL -> change(fleet.fail(change.pod(), change.part()));
      case REPAIR -> change(fleet.repair(change.pod(), change.part()));
      case CORDON -> change(fleet.cordon(change.pod(), change.part()));
      case UNCORDON -> change(fleet.uncordon(change.pod(), change.part()));
    }
    if (change.kind() != Trace.Kind.FAIL) {
      return List.of();
    }
    Set<String> broken = broken(change.pod());
    if (broken.isEmpty()) {
      return List.of();
    }
    PlanningRules.Builder rules = PlanningRules.builder().now(now);
    broken.forEach(id -> rules.permit(id, Permission.MOVABLE));
    Plan plan = apply(planner.plan(fleet, List.of(), rules.build(), budget), now);
    repairs += plan.moves().size();
    List<String> gone = new ArrayList<>(broken(change.pod()));
    gone.forEach(this::leave);
    return gone;
  }

  private Set<String> broken(String pod) {
    Set<String> broken = new TreeSet<>();
    for (RunningSlice slice : fleet.pod(pod).orElseThrow().running()) {
      if (isBroken(slice)) {
        broken.add(slice.request().id());
      }
    }
    return broken;
  }

  @Override
  long usableChips() {
    return PoolSite.usable(fleet);
  }

  @Override
  boolean fits(Shape shape) {
    for (Pod pod : fleet.pods()) {
      PodSpace space =
          spaces.computeIfAbsent(pod.id(), id -> PodSpace.of(pod, Instant.EPOCH, false));
      if (space.fits(space.register(new Want(shape, true, false, false, "")))) {
        return true;
      }
    }
    return false;
  }
}
