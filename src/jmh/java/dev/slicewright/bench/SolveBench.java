package dev.slicewright.bench;

import dev.slicewright.formulation.ortools.CpSatFormulation;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * How good is a plan after one second, and against whom? Solves seeded problems with every engine
 * asked for, one after another, has every answer verified, writes one line for each to a table and
 * ends with a summary for each family and engine.
 *
 * <p>{@code mvn -q -Psolve-bench verify -Dsolve.args="--family torus-F --seeds 1..50 --limit-ms
 * 1000 --engines slicewright,peers"}
 *
 * <p>Families stand in {@link Families}, engines in {@link Engines}; {@link SolveOptions} has the
 * options. Wall time is from problem to answer, an engine's own model included, making the problem
 * and verifying the answer not. Before a family each engine solves a few problems of other seeds
 * that are not recorded ({@code --warm 0}: none).
 */
public final class SolveBench {

  private final SolveOptions options;
  private final Summary summary = new Summary();
  private final Set<String> skipped = new HashSet<>();

  private SolveBench(SolveOptions options) {
    this.options = options;
  }

  /**
   * Runs it; ends with exit code 2 if the options are wrong, 1 if an answer was refused.
   *
   * @param args {@code --family --seeds --limit-ms --engines --threads --mode --out --warm --reach}
   * @throws IOException if the table cannot be written
   */
  public static void main(String[] args) throws IOException {
    SolveOptions options;
    try {
      options = SolveOptions.of(args);
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.exit(2);
      return;
    }
    // Natives are loaded once in a process, whose figures are for a warm one.
    CpSatFormulation.availability();
    boolean sound = new SolveBench(options).run();
    // A native solver that lingers must not keep the JVM.
    System.exit(sound ? 0 : 1);
  }

  private boolean run() throws IOException {
    Path parent = options.out().toAbsolutePath().getParent();
    if (parent != null) {
      Files.createDirectories(parent);
    }
    try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(options.out()))) {
      out.println(Row.HEADER);
      for (String family : options.families()) {
        warm(family);
        for (long seed = options.firstSeed(); ; seed++) {
          for (Row row : rows(Families.problem(family, seed))) {
            summary.add(row);
            out.println(row.csv());
            System.out.println(row.csv());
          }
          out.flush();
          if (seed == options.lastSeed()) {
            break;
          }
        }
      }
    }
    summary.lines().forEach(System.out::println);
    return summary.isSound();
  }

  private void warm(String family) {
    for (int i = 1; i <= options.warm(); i++) {
      BenchProblem problem = Families.problem(family, Long.MAX_VALUE / 2 + i);
      for (Engine engine : options.engines()) {
        if (!isSkipped(engine, problem)) {
          engine.solve(problem, options.limits());
        }
      }
    }
  }

  private List<Row> rows(BenchProblem problem) {
    List<Row> rows = new ArrayList<>();
    for (Engine engine : options.engines()) {
      if (!isSkipped(engine, problem)) {
        Quiet.await();
        Outcome outcome = engine.solve(problem, options.limits());
        rows.add(Judge.judge(problem, engine.name(), options.limits().millis(), outcome));
      }
    }
    if (options.reachMillis() > 0) {
      rows.add(reach(problem, rows));
    }
    return rows;
  }

  /** How long the plain CP-SAT model takes to be as good as we are. */
  private Row reach(BenchProblem problem, List<Row> rows) {
    Row ours =
        rows.stream()
            .filter(r -> r.engine().equals(Slicewright.NAME))
            .findFirst()
            .orElseGet(
                () -> {
                  Engine engine = Engines.named(Slicewright.NAME).get(0);
                  Outcome outcome = engine.solve(problem, options.limits());
                  return Judge.judge(problem, engine.name(), options.limits().millis(), outcome);
                });
    Quiet.await();
    double millis =
        new CpSatPlain()
            .reach(
                problem,
                ours.values(),
                new Engine.Limits(
                    options.reachMillis(), options.limits().workers(), options.limits().mode()));
    return Row.reached(ours, options.reachMillis(), millis);
  }

  private boolean isSkipped(Engine engine, BenchProblem problem) {
    Optional<String> why = engine.whyNot(problem);
    if (why.isPresent() && skipped.add(problem.family() + " " + engine.name())) {
      System.out.println(problem.family() + " " + engine.name() + " skipped: " + why.get());
      summary.skip(problem.family(), engine.name(), why.get());
    }
    return why.isPresent();
  }
}
