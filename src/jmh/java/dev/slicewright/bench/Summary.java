package dev.slicewright.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * What the rows of a run say together: for each family and engine, and for ours against each other
 * engine. Not safe; external synchronisation needed.
 */
final class Summary {

  private static final double PERCENT = 100;
  private static final int MAX_LISTED = 20;

  private final Map<String, Map<String, List<Row>>> rows = new LinkedHashMap<>();
  private final Map<String, Map<String, String>> skips = new LinkedHashMap<>();
  private boolean sound = true;

  void add(Row row) {
    rows.computeIfAbsent(row.family(), f -> new LinkedHashMap<>())
        .computeIfAbsent(row.engine(), e -> new ArrayList<>())
        .add(row);
    sound &= row.verified();
  }

  void skip(String family, String engine, String why) {
    skips.computeIfAbsent(family, f -> new LinkedHashMap<>()).put(engine, why);
  }

  /** Whether every answer was verified. */
  boolean isSound() {
    return sound;
  }

  List<String> lines() {
    List<String> out = new ArrayList<>();
    rows.forEach((family, engines) -> family(family, engines, out));
    skips.forEach(
        (family, engines) ->
            engines.forEach((engine, why) -> out.add(family + " " + engine + ": skipped: " + why)));
    pooled(out);
    return out;
  }

  /** Families whose name differs in the load alone, with equal weight, and all together. */
  private void pooled(List<String> out) {
    Map<String, Map<String, List<Row>>> pools = new LinkedHashMap<>();
    Map<String, Integer> members = new TreeMap<>();
    rows.forEach(
        (family, engines) -> {
          List<String> names = new ArrayList<>(List.of("all"));
          if (family.matches("torus-[FCS]-\\d+")) {
            names.add(family.substring(0, 7));
            if (!family.startsWith("torus-S")) {
              names.add("torus-F+C");
            }
          }
          for (String name : names) {
            members.merge(name, 1, Integer::sum);
            engines.forEach(
                (engine, own) ->
                    pools
                        .computeIfAbsent(name, n -> new LinkedHashMap<>())
                        .computeIfAbsent(engine, e -> new ArrayList<>())
                        .addAll(own));
          }
        });
    pools.forEach(
        (name, engines) -> {
          if (members.get(name) > 1) {
            family(name, engines, out);
          }
        });
  }

  private static void family(String family, Map<String, List<Row>> engines, List<String> out) {
    engines.forEach(
        (engine, own) ->
            out.add(
                family + " " + engine + ": " + (own.get(0).isReach() ? reach(own) : line(own))));
    List<Row> ours = engines.get(Slicewright.NAME);
    if (ours != null) {
      engines.forEach(
          (engine, theirs) -> {
            if (!engine.equals(Slicewright.NAME) && !engine.equals(Row.REACH)) {
              out.add(family + " slicewright against " + engine + ": " + against(ours, theirs));
            }
          });
    }
  }

  private static String reach(List<Row> own) {
    double[] times = own.stream().mapToDouble(Row::millis).toArray();
    return text(
        "%d compared, reaches our objective in the median after %.1f s, soonest %.1f s, never within"
            + " %.0f s on %d (each counts as that)",
        own.size(),
        quantile(times, 0.5) / 1e3,
        quantile(times, 0) / 1e3,
        own.get(0).limitMillis() / 1e3,
        own.stream().filter(r -> r.stopped().equals("NEVER")).count());
  }

  private static String line(List<Row> all) {
    List<Row> own = all.stream().filter(r -> !r.isDeclined()).toList();
    int n = own.size();
    if (n == 0) {
      return "declined all " + all.size();
    }
    double[] gaps = own.stream().filter(r -> r.gap() != null).mapToDouble(Row::gap).toArray();
    double[] times = own.stream().mapToDouble(Row::millis).toArray();
    long proved = own.stream().filter(Row::isProved).count();
    StringBuilder s = new StringBuilder();
    s.append(n).append(n == 1 ? " instance" : " instances");
    if (n < all.size()) {
      s.append(" (declined ").append(all.size() - n).append(" more)");
    }
    s.append(", proved optimal ").append(percent(proved, n));
    if (gaps.length == 0) {
      s.append(", no bound");
    } else {
      s.append(
          text(
              ", gap median %.3f %% worst %.3f %%, at most 1 %% on %s",
              PERCENT * quantile(gaps, 0.5),
              PERCENT * quantile(gaps, 1),
              percent(Arrays.stream(gaps).filter(g -> g <= 0.01).count(), n)));
      if (gaps.length < n) {
        s.append(", no bound on ").append(n - gaps.length);
      }
    }
    s.append(text(", wall p50 %.1f ms p99 %.1f ms", quantile(times, 0.5), quantile(times, 0.99)));
    s.append(", verified ").append(own.stream().filter(Row::verified).count());
    int certificates = own.stream().mapToInt(r -> r.proofs().certificates()).sum();
    if (certificates > 0 || own.get(0).engine().equals(Slicewright.NAME)) {
      long agreed = own.stream().filter(r -> r.proofs().agreement()).count();
      int checked = own.stream().mapToInt(r -> r.proofs().checked()).sum();
      s.append(
          text(
              ", proofs resting on agreement %d of %d, certificates re-checked %d of %d",
              agreed, proved, checked, certificates));
    }
    long asked = own.stream().filter(r -> r.right() != null).count();
    if (asked > 0) {
      long right = own.stream().filter(r -> Boolean.TRUE.equals(r.right())).count();
      s.append(text(", right %d of %d", right, asked));
      String wrong =
          own.stream()
              .filter(r -> Boolean.FALSE.equals(r.right()))
              .limit(MAX_LISTED)
              .map(r -> OppFamily.name(r.seed()))
              .reduce((a, b) -> a + " " + b)
              .orElse("");
      s.append(wrong.isEmpty() ? "" : " (not: " + wrong + ")");
    }
    return s.toString();
  }

  private static String against(List<Row> ours, List<Row> theirs) {
    Map<String, Row> mine = new TreeMap<>();
    ours.forEach(r -> mine.put(r.family() + " " + r.seed(), r));
    double ourWorst = Double.POSITIVE_INFINITY;
    double theirWorst = Double.POSITIVE_INFINITY;
    int n = 0;
    int ahead = 0;
    List<String> losses = new ArrayList<>();
    for (Row other : theirs) {
      Row own = mine.get(other.family() + " " + other.seed());
      if (own == null || other.isDeclined()) {
        continue;
      }
      n++;
      int level = firstDifference(own.values(), other.values());
      double a = level < 0 ? 1 : own.values()[level];
      double b = level < 0 ? 1 : other.values()[level];
      ourWorst = Math.min(ourWorst, a / b);
      theirWorst = Math.min(theirWorst, b / a);
      if (a < b) {
        losses.add(
            text(
                "%s seed %d (%s < %s)",
                own.family(), own.seed(), own.objective(), other.objective()));
      }
      boolean faster = own.isProved() && own.millis() <= other.millis() / 10;
      if (a > b || a == b && own.isProved() && !other.isProved() || a == b && faster) {
        ahead++;
      }
    }
    if (n == 0) {
      return "nothing to compare";
    }
    String lost = String.join(", ", losses.subList(0, Math.min(MAX_LISTED, losses.size())));
    return text(
        "%d compared, worst ratio ours/theirs %s, theirs/ours %s, not lower on %s, higher or proved"
            + " alone or ten times sooner on %s, losses %d%s",
        n,
        ratio(ourWorst),
        ratio(theirWorst),
        percent(n - losses.size(), n),
        percent(ahead, n),
        losses.size(),
        losses.isEmpty() ? "" : ": " + lost + (losses.size() > MAX_LISTED ? ", ..." : ""));
  }

  /** The first level at which two differ, or -1. All levels of the bench are maximised. */
  private static int firstDifference(long[] a, long[] b) {
    for (int l = 0; l < a.length; l++) {
      if (a[l] != b[l]) {
        return l;
      }
    }
    return -1;
  }

  private static String ratio(double value) {
    return Double.isInfinite(value) ? "infinite" : text("%.4f", value);
  }

  private static String percent(long of, long all) {
    return text("%.1f %%", all == 0 ? 0.0 : PERCENT * of / all);
  }

  static String text(String format, Object... args) {
    return String.format(Locale.ROOT, format, args);
  }

  static double quantile(double[] values, double q) {
    if (values.length == 0) {
      return Double.NaN;
    }
    double[] sorted = values.clone();
    Arrays.sort(sorted);
    return sorted[(int) Math.max(0, Math.ceil(q * sorted.length) - 1)];
  }
}
