package dev.slicewright.simulate;

import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.Slicing;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** Who decides where slices go in a simulation. Immutable, safe to share. */
public final class Policy {

  private enum Rule {
    PLANNER,
    FIRST_FIT,
    SLURM_DENSE,
    SLURM_DENSE_EVERYWHERE,
    SLURM_ALIGNED,
    POOL
  }

  private final Rule rule;
  private final @Nullable SlicePlanner planner;
  private final SolveBudget budget;
  private final int moves;
  private final boolean tidy;
  private final Duration every;

  private Policy(
      Rule rule,
      @Nullable SlicePlanner planner,
      SolveBudget budget,
      int moves,
      boolean tidy,
      Duration every) {
    this.rule = rule;
    this.planner = planner;
    this.budget = budget;
    this.moves = moves;
    this.tidy = tidy;
    this.every = every;
  }

  private static Policy of(Rule rule) {
    return new Policy(
        rule, null, SolveBudget.within(SolveBudget.DEFAULT_DEADLINE), 0, false, Duration.ZERO);
  }

  /**
   * The planner, one request at a time as they arrive, nothing moved but what is broken.
   *
   * @param planner the planner
   * @param budget for each call; a run repeats only where no deadline cuts in
   * @return the policy
   */
  public static Policy planner(SlicePlanner planner, SolveBudget budget) {
    Objects.requireNonNull(planner, "planner");
    Objects.requireNonNull(budget, "budget");
    return new Policy(Rule.PLANNER, planner, budget, 0, false, Duration.ZERO);
  }

  /**
   * The planner with its defaults.
   *
   * @return the policy
   */
  public static Policy planner() {
    return planner(SlicePlanner.create(), SolveBudget.within(SolveBudget.DEFAULT_DEADLINE));
  }

  /**
   * First fit: the first pod, the first turn, the first free origin. For pods of boxes.
   *
   * @return the policy
   */
  public static Policy firstFit() {
    return of(Rule.FIRST_FIT);
  }

  /**
   * The rule of Slurm's topology/torus3d plugin, all turns of the trace's shapes listed. For pods
   * of boxes of one topology.
   *
   * @param dense whether anchors stand on every cell; else as far apart as the shape is long
   * @return the policy
   */
  public static Policy slurmTorus3d(boolean dense) {
    return of(dense ? Rule.SLURM_DENSE : Rule.SLURM_ALIGNED);
  }

  /**
   * The same with anchors on every cell, but the spoilt anchors compared between all placements,
   * which the plugin does only within one.
   *
   * @return the policy
   */
  public static Policy slurmTorus3dEverywhere() {
    return of(Rule.SLURM_DENSE_EVERYWHERE);
  }

  /**
   * A pool without geometry: whatever there are free chips for is placed. What it turns away no
   * other policy could place in its stead. Over a whole trace it may still admit fewer than another
   * policy, since other slices then run.
   *
   * @return the policy
   */
  public static Policy pool() {
    return of(Rule.POOL);
  }

  /**
   * The planner, that may move running slices for each admission: {@link SlicePlanner#makeRoom}.
   *
   * @param perAdmission the most slices moved for one admitted request, 0 to 8
   * @return the changed policy
   * @throws InvalidInputException if this is not the planner one at a time, or out of range
   */
  public Policy withMoves(int perAdmission) {
    check(every.isZero(), "moves", "requests one at a time, but they come in batches");
    check(perAdmission >= 0 && perAdmission <= 8, "moves", "0 to 8, but was " + perAdmission);
    return new Policy(rule, planner, budget, perAdmission, tidy, every);
  }

  /**
   * The planner, that uses moves which an admission did not need to leave more room: {@link
   * SlicePlanner#tidy}. Both together stay within the moves of one admission.
   *
   * @param value whether it does; not, by default
   * @return the changed policy
   * @throws InvalidInputException if this is not the planner one at a time
   */
  public Policy withTidying(boolean value) {
    check(every.isZero(), "tidying", "requests one at a time, but they come in batches");
    return new Policy(rule, planner, budget, moves, value, every);
  }

  /**
   * The planner, that gathers requests and plans them together.
   *
   * @param value how often; zero for one at a time
   * @return the changed policy
   * @throws InvalidInputException if this is not the planner, it may move slices, or the time is
   *     negative
   */
  public Policy inBatches(Duration value) {
    check(moves == 0, "batches", "no moves for each admission, but there are " + moves);
    check(!value.isNegative(), "batches", "zero or more, but was " + value);
    return new Policy(rule, planner, budget, moves, tidy, value);
  }

  private void check(boolean fine, String path, String expected) {
    if (rule != Rule.PLANNER || !fine) {
      throw new InvalidInputException(
          "policy",
          path,
          "expected " + (rule == Rule.PLANNER ? expected : "the planner, but this is " + this));
    }
  }

  Duration every() {
    return every;
  }

  Site site(Fleet fleet, Collection<Shape> shapes) {
    if (rule == Rule.PLANNER) {
      return new PlannedSite(fleet, Objects.requireNonNull(planner), budget, moves, tidy);
    }
    if (rule == Rule.POOL) {
      return new PoolSite(fleet);
    }
    fleet
        .pods()
        .forEach(
            pod -> {
              if (!(pod.topology().slicing() instanceof Slicing.TorusBoxes)) {
                throw new InvalidInputException(
                    "simulation",
                    "pods." + pod.id(),
                    "expected a pod of boxes for " + this + "; use the planner or a pool");
              }
            });
    if (rule == Rule.FIRST_FIT) {
      return new RuledSite(fleet, new FirstFit());
    }
    List<SlurmRule.Compare> compare = List.of(SlurmRule.Compare.values());
    return new RuledSite(
        fleet,
        SlurmRule.of(
            fleet.pods().iterator().next().topology(),
            List.copyOf(shapes),
            rule != Rule.SLURM_ALIGNED,
            compare.get(rule == Rule.SLURM_DENSE_EVERYWHERE ? 1 : 0)));
  }

  @Override
  public String toString() {
    return switch (rule) {
      case PLANNER ->
          "planner"
              + (moves > 0 ? ", at most " + moves + " moves an admission" : "")
              + (tidy ? ", tidying" : "")
              + (every.isZero() ? "" : ", every " + every);
      case FIRST_FIT -> "first fit";
      case SLURM_DENSE -> "slurm torus3d, dense";
      case SLURM_DENSE_EVERYWHERE -> "slurm torus3d, dense, compared everywhere";
      case SLURM_ALIGNED -> "slurm torus3d, aligned";
      case POOL -> "pool";
    };
  }
}
