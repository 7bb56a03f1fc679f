package dev.slicewright.bench;

import dev.slicewright.SolveBudget;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * The command line of the solve bench. Immutable, safe to share.
 *
 * @param families the families
 * @param firstSeed the first seed
 * @param lastSeed the last one
 * @param limits what an engine may use
 * @param engines the engines
 * @param out the table's file
 * @param warm unrecorded solves of each engine and family
 * @param reachMillis how long the plain CP-SAT model may try to reach our objective; 0: not asked
 */
record SolveOptions(
    List<String> families,
    long firstSeed,
    long lastSeed,
    Engine.Limits limits,
    List<Engine> engines,
    Path out,
    int warm,
    long reachMillis) {

  static final String USAGE =
      "--family F[,F...]|all [--seeds A..B] [--limit-ms L] [--engines E[,E...]|all|peers|"
          + "formulations] [--threads N] [--mode FAST] [--out FILE] [--warm N] [--reach MILLIS]";

  /**
   * Reads a command line.
   *
   * @throws IllegalArgumentException saying what was expected
   */
  static SolveOptions of(String... args) {
    String family = "all";
    String seeds = "1..50";
    String engines = Slicewright.NAME;
    String mode = SolveBudget.Mode.FAST.name();
    String out = "target/solve-bench.csv";
    long millis = 1_000;
    int threads = 2;
    int warm = 3;
    long reach = 0;
    for (int i = 0; i < args.length; i++) {
      String option = args[i];
      boolean last = i + 1 == args.length || args[i + 1].startsWith("--");
      if (last && option.equals("--reach")) {
        reach = 60_000;
        continue;
      } else if (last && option.equals("--warm")) {
        continue;
      } else if (last) {
        throw new IllegalArgumentException(
            "Expected an option with a value, but was " + option + "; usage: " + USAGE);
      }
      String value = args[++i];
      switch (option) {
        case "--family", "--families" -> family = value;
        case "--seeds" -> seeds = value;
        case "--limit-ms" -> millis = number(option, value, 1, 86_400_000);
        case "--engines" -> engines = value;
        case "--threads" -> threads = (int) number(option, value, 1, SolveBudget.MAX_WORKERS);
        case "--mode" -> mode = value.toUpperCase(Locale.ROOT);
        case "--out" -> out = value;
        case "--warm" -> warm = (int) number(option, value, 0, 1_000);
        case "--reach" -> reach = number(option, value, 1, 86_400_000);
        default ->
            throw new IllegalArgumentException("Unknown option " + option + "; usage: " + USAGE);
      }
    }
    String[] range = seeds.split("\\.\\.", 2);
    long first = number("--seeds", range[0], Long.MIN_VALUE, Long.MAX_VALUE);
    long end = number("--seeds", range[range.length - 1], first, Long.MAX_VALUE);
    return new SolveOptions(
        Families.named(family),
        first,
        end,
        new Engine.Limits(millis, threads, mode(mode)),
        Engines.named(engines),
        Path.of(out),
        warm,
        reach);
  }

  private static SolveBudget.Mode mode(String name) {
    return Arrays.stream(SolveBudget.Mode.values())
        .filter(m -> m.name().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalArgumentException(
                    "There is no mode \""
                        + name
                        + "\"; there are "
                        + Arrays.toString(SolveBudget.Mode.values())));
  }

  private static long number(String option, String text, long least, long most) {
    try {
      long value = Long.parseLong(text);
      if (value >= least && value <= most) {
        return value;
      }
    } catch (NumberFormatException e) {
      // said below
    }
    throw new IllegalArgumentException(
        option
            + ": expected a number from "
            + least
            + " to "
            + most
            + ", but was \""
            + text
            + "\"");
  }
}
