package dev.slicewright.bench;

import java.util.Arrays;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Collectors;

/**
 * One line of the table. Immutable, safe to share. Its arrays must not be changed.
 *
 * @param bounds for each level the bound, or null
 * @param gap the gap, or null if no bound is claimed
 * @param proofs what our own proof rests on
 * @param right whether the published answer was given, or null if there is none
 */
record Row(
    String family,
    long seed,
    long chips,
    int items,
    String engine,
    long limitMillis,
    double millis,
    String stopped,
    long placedChips,
    long[] values,
    Long[] bounds,
    Double gap,
    boolean verified,
    Proofs proofs,
    Boolean right) {

  static final String HEADER =
      "family,seed,chips,items,engine,limit_ms,wall_ms,stopped,placed_chips,objective,bound,gap,"
          + "verified";

  /**
   * What a plan's bounds rest on. Immutable, safe to share.
   *
   * @param agreement whether the proof of optimality rests on two agreeing solves
   * @param certificates bounds with a certificate
   * @param checked those that the verifier derived anew
   */
  record Proofs(boolean agreement, int certificates, int checked) {
    static final Proofs NONE = new Proofs(false, 0, 0);
  }

  /** The engine of rows that say when plain CP-SAT was as good as we are. */
  static final String REACH = CpSatPlain.NAME + "-reach";

  /**
   * A row that says when another engine was as good as we are: its objective is ours.
   *
   * @param millis the time, negative if it never was
   */
  static Row reached(Row ours, long limitMillis, double millis) {
    boolean reached = millis >= 0;
    return new Row(
        ours.family,
        ours.seed,
        ours.chips,
        ours.items,
        REACH,
        limitMillis,
        reached ? millis : limitMillis,
        reached ? "REACHED" : "NEVER",
        reached ? ours.placedChips : 0,
        ours.values,
        new Long[ours.values.length],
        null,
        true,
        Proofs.NONE,
        null);
  }

  boolean isReach() {
    return engine.equals(REACH);
  }

  boolean isDeclined() {
    return stopped.equals(Outcome.DECLINED);
  }

  boolean isProved() {
    return gap != null && gap == 0;
  }

  String objective() {
    return Arrays.stream(values).mapToObj(Long::toString).collect(Collectors.joining("/"));
  }

  String bound() {
    return Arrays.stream(bounds).allMatch(Objects::isNull)
        ? ""
        : Arrays.stream(bounds)
            .map(b -> b == null ? "" : b.toString())
            .collect(Collectors.joining("/"));
  }

  String csv() {
    return String.join(
        ",",
        family,
        Long.toString(seed),
        Long.toString(chips),
        Integer.toString(items),
        engine,
        Long.toString(limitMillis),
        String.format(Locale.ROOT, "%.2f", millis),
        stopped,
        Long.toString(placedChips),
        objective(),
        bound(),
        gap == null ? "" : String.format(Locale.ROOT, "%.6f", gap),
        Boolean.toString(verified));
  }
}
