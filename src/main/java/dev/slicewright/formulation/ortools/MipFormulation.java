package dev.slicewright.formulation.ortools;

import dev.slicewright.SolveBudget;
import dev.slicewright.SolverUnavailableException;
import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;

/**
 * Solves placement models as integer programs over candidates, with SCIP, CP-SAT's own reading of
 * such programs, HiGHS or Gurobi, through OR-Tools' ModelBuilder. Safe for concurrent use.
 *
 * <p>Equal items are aggregated, cells are rows of at most one, rows that others imply are left
 * out; earlier levels are rows held at their values. All of a placement model is understood.
 *
 * <p><b>What each can do</b> (OR-Tools 9.15, measured):
 *
 * <ul>
 *   <li>{@code SCIP}: bounds and warm starts. It cannot be interrupted: a cancelled solve gives the
 *       caller back within 50 ms, but its thread works on until the task's deadline.
 *   <li>{@code SAT}: bounds, warm starts, interrupts; several workers.
 *   <li>{@code HIGHS}: proofs and bounds only where it ends. At a limit its Java binding loses both
 *       solution and bound, so the result is {@code UNKNOWN}. It cannot be interrupted, takes no
 *       warm start, and writes one line about itself to the process's standard output.
 *   <li>{@code GUROBI}: as {@code SAT}, where it is installed; not tested with a licence.
 * </ul>
 *
 * <p><b>Native code, limits, size</b> as {@link CpSatFormulation}: the same loading, reserve,
 * release of the caller and count of threads left behind. {@link #whyNot} declines models of more
 * than {@value #MAX_LITERALS} literals and those with less than {@value #MICROS_PER_LITERAL} µs
 * left for each. Sums of magnitudes beyond 2^40 in one row or level fail, since these solvers
 * compute with doubles.
 *
 * <p><b>Claims.</b> Values are rounded to integers and the solution is evaluated on the model; one
 * that breaks it turns the result into {@code FAILED}. A bound is rounded away from the value by
 * what doubles may be wrong (1e-6 and a billionth), and {@code OPTIMAL} is claimed only where it
 * then meets the value.
 *
 * <p><b>Determinism.</b> Equal tasks give equal answers unless the wall clock cut in, with one
 * worker or without mode {@code FAST}.
 *
 * @see <a href="https://developers.google.com/optimization/math_opt">OR-Tools, linear and integer
 *     solvers</a>
 */
public final class MipFormulation implements Formulation {

  /** The most literals that a model may have. */
  static final int MAX_LITERALS = 300_000;

  /** Time that must be left for each literal: building, handing over and the first relaxation. */
  static final int MICROS_PER_LITERAL = 8;

  /** Which solver. Immutable, safe to share. */
  public enum Solver {
    /** SCIP on SoPlex: the default. */
    SCIP,
    /** CP-SAT, given an integer program. */
    SAT,
    /** HiGHS. */
    HIGHS,
    /** Gurobi, where {@code GUROBI_HOME} names its installation. */
    GUROBI,
    /** GLOP: only for relaxations, see {@link LpRelaxation}. */
    GLOP;

    String title() {
      return switch (this) {
        case SCIP -> "SCIP";
        case SAT -> "SAT";
        case HIGHS -> "HiGHS";
        case GUROBI -> "Gurobi";
        case GLOP -> "GLOP";
      };
    }

    boolean takesHints() {
      return this == SCIP || this == SAT || this == GUROBI;
    }

    /** Seed, gap, workers and a second configuration, in the solver's own words. */
    String parameters(FormulationTask task, boolean small) {
      long mixed = task.budget().seed() * 0x9E3779B97F4A7C15L + task.variant();
      int seed = Long.hashCode(mixed) & 0x3FFFFFFF;
      boolean other = task.variant() != 0;
      double gap = Math.max(0, task.budget().gapTarget());
      int workers = small ? 1 : task.budget().workers();
      boolean interleave = task.budget().mode() == SolveBudget.Mode.REPRODUCIBLE_PARALLEL;
      return switch (this) {
        case SCIP ->
            "randomization/randomseedshift = "
                + seed
                + "\nnumerics/feastol = 1e-9\nlimits/gap = "
                + gap
                + (other ? "\npresolving/maxrounds = 0\nseparating/maxrounds = 0" : "")
                + "\n";
        case SAT ->
            "num_workers: "
                + workers
                + " random_seed: "
                + seed
                + " relative_gap_limit: "
                + gap
                + (interleave && workers > 1 ? " interleave_search: true" : "")
                + (other ? " cp_model_presolve: false linearization_level: 2" : "");
        case HIGHS ->
            "output_flag=false,threads=1,random_seed="
                + seed
                + ",mip_rel_gap="
                + gap
                + ",mip_abs_gap=0,mip_feasibility_tolerance=1e-9"
                + (other ? ",presolve=off" : "");
        case GUROBI ->
            "Seed "
                + seed
                + "\nThreads "
                + workers
                + "\nMIPGap "
                + gap
                + "\nFeasibilityTol 1e-9\nIntFeasTol 1e-9"
                + (other ? "\nPresolve 0" : "")
                + "\n";
        case GLOP -> "random_seed: " + seed + (other ? " use_dual_simplex: true" : "");
      };
    }
  }

  private final Solver solver;
  private final NativeGate gate;
  private final Map<String, String> environment;

  /** For tests. */
  MipFormulation(Solver solver, OrToolsNatives natives, Map<String, String> environment) {
    this.solver = solver;
    this.environment = environment;
    this.gate = new NativeGate(solver.title(), MAX_LITERALS, MICROS_PER_LITERAL, natives);
  }

  /**
   * Makes one with SCIP; loads nothing.
   *
   * @return a new formulation
   */
  public static MipFormulation create() {
    return create(Solver.SCIP);
  }

  /**
   * Makes one; loads and tries nothing.
   *
   * @param solver any but {@code GLOP}
   * @return a new formulation
   */
  public static MipFormulation create(Solver solver) {
    if (solver == Solver.GLOP) {
      throw new IllegalArgumentException(
          "Expected a solver of integer programs, but was GLOP; use LpRelaxation.create().");
    }
    return new MipFormulation(solver, OrToolsNatives.shared(), System.getenv());
  }

  @Override
  public String name() {
    return "mip-" + solver.name().toLowerCase(Locale.ROOT);
  }

  @Override
  public Set<Capability> capabilities() {
    EnumSet<Capability> can =
        EnumSet.of(Capability.BOUND, Capability.SIDE_ROWS, Capability.GROUP_TIES);
    if (solver.takesHints()) {
      can.add(Capability.WARM_START);
    }
    if (solver == Solver.SAT || solver == Solver.GUROBI) {
      can.add(Capability.INTERRUPT);
    }
    return Set.copyOf(can);
  }

  /**
   * {@inheritDoc}
   *
   * <p>Declines models that are too large, and all models where native code cannot be used or the
   * solver is not installed. O(model size), without native code; waits for loading, three quarters
   * of the time left at most.
   */
  @Override
  public Optional<String> whyNot(PlacementModel model, FormulationTask task) {
    Optional<String> absent = whyAbsent();
    return absent.isPresent() ? absent : gate.whyNot(model, task);
  }

  /**
   * {@inheritDoc}
   *
   * <p>Models that {@link #whyNot} declines for their size are tried nonetheless.
   */
  @Override
  public FormulationResult solve(PlacementModel model, FormulationTask task) {
    whyAbsent()
        .ifPresent(
            why -> {
              throw new SolverUnavailableException(why, null);
            });
    return gate.solve(model, task, lingering -> new MipRun(model, task, solver, lingering));
  }

  /** Why the solver cannot be here; asks files, never the solver: OR-Tools warns on stderr. */
  private Optional<String> whyAbsent() {
    if (solver != Solver.GUROBI) {
      return Optional.empty();
    }
    String home = environment.get("GUROBI_HOME");
    if (home == null || home.isBlank()) {
      return Optional.of(
          "Gurobi was asked for, but GUROBI_HOME is not set: set it to the directory of a Gurobi"
              + " installation, or use MipFormulation.create() for SCIP.");
    }
    Path root = Path.of(home);
    for (Path directory : new Path[] {root.resolve("lib"), root.resolve("bin")}) {
      if (Files.isDirectory(directory)) {
        try (Stream<Path> files = Files.list(directory)) {
          if (files.anyMatch(f -> f.getFileName().toString().matches("(lib)?gurobi\\d+\\..*"))) {
            return Optional.empty();
          }
        } catch (IOException e) {
          return Optional.of("Gurobi's directory " + directory + " cannot be read: " + e + ".");
        }
      }
    }
    return Optional.of(
        "Expected Gurobi's library in lib or bin of GUROBI_HOME, which is "
            + home
            + ", but there is none: correct it, or use MipFormulation.create() for SCIP.");
  }
}
