package dev.slicewright.bench;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.NoBenchmarksException;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.CommandLineOptionException;
import org.openjdk.jmh.runner.options.CommandLineOptions;
import org.openjdk.jmh.util.Statistics;

/**
 * JMH with thresholds: takes the arguments of JMH's own main class and does the same, then ends
 * with exit code 1 if a benchmark that says {@link AtMost} was slower, or had too few samples, and
 * prints those rows. A failed or missing benchmark is exit code 1 as well.
 */
public final class BenchGate {

  /**
   * One measured row.
   *
   * @param name the benchmark and its parameters
   * @param p99Millis the 99th percentile
   * @param samples how many
   */
  record Row(String name, double p99Millis, long samples) {}

  private BenchGate() {}

  /**
   * Runs benchmarks.
   *
   * @param args as for JMH
   * @throws Exception if JMH cannot list what is asked for
   */
  public static void main(String[] args) throws Exception {
    System.exit(run(args));
  }

  /** Runs and gives the exit code. */
  static int run(String... args) throws Exception {
    CommandLineOptions options;
    try {
      options = new CommandLineOptions(args);
    } catch (CommandLineOptionException e) {
      System.err.println(e.getMessage());
      return 1;
    }
    if (options.shouldHelp()
        || options.shouldList()
        || options.shouldListWithParams()
        || options.shouldListProfilers()
        || options.shouldListResultFormats()) {
      org.openjdk.jmh.Main.main(args);
      return 0;
    }
    Collection<RunResult> results;
    try {
      results = new Runner(options).run();
    } catch (NoBenchmarksException e) {
      System.err.println("No benchmark matches " + options.getIncludes() + "; -l lists them.");
      return 1;
    } catch (RunnerException e) {
      System.err.println("ERROR: " + e.getMessage());
      return 1;
    }
    List<String> misses = new ArrayList<>();
    int held = 0;
    for (RunResult result : results) {
      AtMost limit = limit(result.getParams());
      if (limit != null) {
        held++;
        misses.addAll(misses(row(result), limit.p99Millis(), limit.samples()));
      }
    }
    if (held > 0) {
      System.out.println();
      misses.forEach(System.out::println);
      System.out.println(
          "Rows with a limit: " + held + (misses.isEmpty() ? ", all kept." : "; see above."));
    }
    return misses.isEmpty() ? 0 : 1;
  }

  /** What a row misses, in sentences; none if it keeps the limit. */
  static List<String> misses(Row row, double p99Millis, long samples) {
    List<String> out = new ArrayList<>();
    if (row.samples() < samples) {
      out.add(
          String.format(
              Locale.ROOT,
              "%s: expected %d samples or more, but there are %d; give it more iterations.",
              row.name(),
              samples,
              row.samples()));
    }
    if (!(row.p99Millis() < p99Millis)) {
      out.add(
          String.format(
              Locale.ROOT,
              "%s: expected a 99th percentile below %.1f ms, but it is %.1f ms.",
              row.name(),
              p99Millis,
              row.p99Millis()));
    }
    return out;
  }

  private static Row row(RunResult result) {
    BenchmarkParams params = result.getParams();
    StringBuilder name = new StringBuilder(params.getBenchmark());
    for (String key : params.getParamsKeys()) {
      name.append(' ').append(key).append('=').append(params.getParam(key));
    }
    if (params.getMode() != Mode.SampleTime) {
      throw new IllegalStateException(
          name
              + " has a limit; expected it to run in sample mode, but it ran in "
              + params.getMode());
    }
    Statistics times = result.getPrimaryResult().getStatistics();
    double unit = params.getTimeUnit().toNanos(1) / (double) TimeUnit.MILLISECONDS.toNanos(1);
    return new Row(name.toString(), times.getPercentile(99) * unit, times.getN());
  }

  private static AtMost limit(BenchmarkParams params) throws ClassNotFoundException {
    String method = params.getBenchmark();
    return Class.forName(method.substring(0, method.lastIndexOf('.'))).getAnnotation(AtMost.class);
  }
}
