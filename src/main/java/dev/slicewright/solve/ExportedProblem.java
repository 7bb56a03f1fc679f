package dev.slicewright.solve;

import dev.slicewright.CancelToken;
import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.files.ModelFile;
import dev.slicewright.formulation.files.SolutionFile;
import dev.slicewright.plan.Level;
import dev.slicewright.plan.Plan;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A planning problem for other solvers: files out, a verified plan back. Safe for concurrent use.
 *
 * <p>One file optimises one level and holds those before it, so a problem is solved level by level:
 *
 * <pre>{@code
 * ExportedProblem problem = planner.export(fleet, requests, rules, budget);
 * ModelFile first = problem.file(0);
 * first.writeLp(Path.of("problem.lp"));
 * // ... some solver turns problem.lp into problem.sol ...
 * Plan plan = problem.plan(first.read(Path.of("problem.sol"))).orElseThrow();
 * if (problem.levels().size() > 1) {
 *   ModelFile second = problem.file(1, plan);
 * }
 * }</pre>
 *
 * <p>What the solver claims of its solution counts for nothing: the plan's bounds are our own, and
 * where they leave a gap, a note of the plan says so.
 */
public final class ExportedProblem {

  private final SlicePlanner planner;
  private final Instance in;
  private final SolveBudget budget;
  private final ModelTranslation translation; // used by one thread at a time

  private ExportedProblem(
      SlicePlanner planner, Instance in, SolveBudget budget, ModelTranslation translation) {
    this.planner = planner;
    this.in = in;
    this.budget = budget;
    this.translation = translation;
  }

  static ExportedProblem of(SlicePlanner planner, Instance in, SolveBudget budget, long start) {
    if (in.levels.isEmpty()) {
      throw new InvalidInputException(
          "planning problem", "requests", "expected something to decide, but nothing is wanted");
    }
    Stop stop = new Stop(new CancelToken(), start + budget.deadline().toNanos());
    ModelTranslation translation = ModelTranslation.of(in, Integer.MAX_VALUE, stop);
    if (translation == null) {
      throw stop.isLate()
          ? new InvalidInputException(
              "planning problem",
              "budget.deadline",
              "expected time to list all candidates, but "
                  + budget.deadline().toMillis()
                  + " ms were not enough; give more, or fewer requests")
          : new InvalidInputException(
              "planning problem",
              "requests",
              "expected at most 150,000 candidates, but there are more; name pods or shapes, or"
                  + " give fewer requests");
    }
    return new ExportedProblem(planner, in, budget, translation);
  }

  /**
   * The model that all files are of.
   *
   * @return the model
   */
  public PlacementModel model() {
    return translation.model();
  }

  /**
   * The levels of the objective, most important first.
   *
   * @return an unmodifiable list, not empty
   */
  public List<Level> levels() {
    return in.levels;
  }

  /**
   * What a candidate of the model places where, as the files' names say it.
   *
   * @param candidate its index in the model
   * @return a few words
   */
  public String nameOf(int candidate) {
    return translation.nameOf(Objects.checkIndex(candidate, model().candidates().size()));
  }

  /**
   * The file of one level. Where moves may go to whole cubes, which a model does not name, it
   * counts the hosts that are new to a slice too high; that level is then never held.
   *
   * @param level the index of the level
   * @param held the value that each earlier level must at least keep (at most, where it is
   *     minimised), as plans give it: slices that cannot move included
   * @return the file, not yet written
   * @throws InvalidInputException if the level or the number of held values is wrong
   */
  public ModelFile file(int level, long... held) {
    long[] own = held.clone();
    for (int l = 0; l < own.length && l < in.levels.size(); l++) {
      own[l] =
          in.levels.get(l).kind() == Level.Kind.NEW_HOSTS && !translation.newHostsExact()
              ? Long.MAX_VALUE
              : Math.subtractExact(own[l], translation.constant(l));
    }
    return ModelFile.of(model(), level, own, translation::nameOf);
  }

  /**
   * The file of one level, what a plan has reached on all earlier ones held.
   *
   * @param level the index of the level
   * @param reached a plan for this problem
   * @return the file, not yet written
   * @throws InvalidInputException if there is no such level or the plan is of another problem
   */
  public ModelFile file(int level, Plan reached) {
    if (!reached.score().levels().stream().map(l -> l.level()).toList().equals(in.levels)) {
      throw new InvalidInputException(
          "planning problem",
          "reached",
          "expected a plan for this problem, but it has other levels");
    }
    return file(
        level,
        reached.score().levels().stream()
            .limit(Math.max(0, level))
            .mapToLong(l -> l.value())
            .toArray());
  }

  /**
   * The plan that a solution of the model stands for: verified, with bounds, and a reason for every
   * request that is not placed. It is taken as it is, not improved.
   *
   * @param chosen for each item of the model the index of its candidate, or -1
   * @return the plan
   * @throws InvalidInputException listing every rule that the solution breaks
   */
  public synchronized Plan plan(int[] chosen) {
    long start = System.nanoTime();
    model().evaluate(chosen);
    Solution solution = translation.decode(chosen);
    if (solution == null) {
      throw new InvalidInputException(
          "solution",
          "chosen",
          "expected slices of whole cubes for which there are cubes enough, but there are none;"
              + " take another solution");
    }
    return new SolveRun(planner, in, budget, new CancelToken(), SlicePlanner.NOBODY, start)
        .planOf(solution, "import");
  }

  /**
   * The plan that a solver's file stands for, as {@link #plan(int[])}.
   *
   * @param answer what {@link ModelFile#read(java.nio.file.Path)} returned for a file of this
   *     problem
   * @return the plan, or empty if the solver had found no solution
   * @throws InvalidInputException listing every rule that the solution breaks
   */
  public Optional<Plan> plan(SolutionFile answer) {
    int @Nullable [] chosen = answer.chosen();
    return chosen == null ? Optional.empty() : Optional.of(plan(chosen));
  }

  @Override
  public String toString() {
    return "ExportedProblem[" + levels().size() + " levels, " + model() + "]";
  }
}
