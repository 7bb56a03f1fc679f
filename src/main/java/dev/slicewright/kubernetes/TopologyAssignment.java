package dev.slicewright.kubernetes;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Which nodes the pods of one pod set go to, as Kueue's Workload carries it in its admission.
 * Immutable, safe to share.
 *
 * <p>The same in both versions of the API: {@code kueue.x-k8s.io/v1beta1} lists the domains one by
 * one, {@code v1beta2} by level with common beginnings and ends taken out. It is never empty or
 * partial: it stands for all pods of its pod set.
 *
 * @param levels keys of node labels, from the widest; {@code kubernetes.io/hostname} alone where
 *     the topology ends in it, as Kueue itself writes it
 * @param domains the domains of the last level that get pods, one or more, each with a value for
 *     every level; in ascending order of all levels of the topology
 */
public record TopologyAssignment(List<String> levels, List<Domain> domains) {

  private static final int MAX_VALUE = 63; // of a label, and so of a beginning or an end
  private static final int MAX_PODS = 100_000; // of a slice of v1beta2

  /**
   * Pods in one domain. Immutable, safe to share.
   *
   * @param values the values of the levels' labels
   * @param count how many pods, 1 or more
   */
  public record Domain(List<String> values, int count) {
    /** Copies the list. */
    public Domain {
      values = List.copyOf(values);
    }
  }

  /**
   * Checks that it is whole.
   *
   * @throws InvalidInputException if there are no levels or domains, or a domain has another number
   *     of values than there are levels, or no pods
   */
  public TopologyAssignment {
    levels = List.copyOf(levels);
    domains = List.copyOf(domains);
    Problems problems = new Problems();
    if (levels.isEmpty()) {
      problems.add("levels", "expected one level or more, but there were none; name one");
    }
    if (domains.isEmpty()) {
      problems.add(
          "domains",
          "expected a domain for the pods, but there was none; an assignment covers all pods of its"
              + " pod set, or there is none");
    }
    for (int i = 0; i < domains.size(); i++) {
      Domain domain = domains.get(i);
      if (domain.values().size() != levels.size()) {
        problems.add(
            "domains[" + i + "].values",
            "expected a value for each of "
                + levels
                + ", but was "
                + domain.values()
                + "; give one");
      }
      if (domain.count() < 1) {
        problems.add(
            "domains[" + i + "].count",
            "expected 1 pod or more, but was " + domain.count() + "; leave the domain out");
      }
    }
    problems.throwIfAny("topology assignment");
  }

  /**
   * All its pods.
   *
   * @return 1 or more
   */
  public int pods() {
    return domains.stream().mapToInt(Domain::count).sum();
  }

  /**
   * The field {@code topologyAssignment} of {@code kueue.x-k8s.io/v1beta1}.
   *
   * @return a new, mutable tree of maps and lists
   */
  public Map<String, @Nullable Object> toV1Beta1() {
    List<@Nullable Object> list = new ArrayList<>();
    for (Domain domain : domains) {
      Map<String, @Nullable Object> entry = new LinkedHashMap<>();
      entry.put("values", new ArrayList<>(domain.values()));
      entry.put("count", domain.count());
      list.add(entry);
    }
    Map<String, @Nullable Object> tree = new LinkedHashMap<>();
    tree.put("levels", new ArrayList<>(levels));
    tree.put("domains", list);
    return tree;
  }

  /**
   * The field {@code topologyAssignment} of {@code kueue.x-k8s.io/v1beta2}, all domains in one
   * slice.
   *
   * @return a new, mutable tree of maps and lists
   */
  public Map<String, @Nullable Object> toV1Beta2() {
    List<@Nullable Object> values = new ArrayList<>();
    for (int level = 0; level < levels.size(); level++) {
      int at = level;
      values.add(compressed(domains.stream().map(domain -> domain.values().get(at)).toList()));
    }
    Map<String, @Nullable Object> slice = new LinkedHashMap<>();
    slice.put("domainCount", domains.size());
    slice.put("valuesPerLevel", values);
    int first = domains.get(0).count();
    if (domains.stream().allMatch(domain -> domain.count() == first)) {
      slice.put("universalPodCount", first);
    } else {
      slice.put("podCounts", new ArrayList<>(domains.stream().map(Domain::count).toList()));
    }
    Map<String, @Nullable Object> tree = new LinkedHashMap<>();
    tree.put("levels", new ArrayList<>(levels));
    tree.put("slices", new ArrayList<>(List.of(slice)));
    return tree;
  }

  /** The values of a level: one for all, or what they begin and end with in common and the rest. */
  private static Map<String, @Nullable Object> compressed(List<String> values) {
    String first = values.get(0);
    Map<String, @Nullable Object> tree = new LinkedHashMap<>();
    if (values.stream().allMatch(first::equals)) {
      tree.put("universalValue", first);
      return tree;
    }
    int prefix = MAX_VALUE;
    int suffix = MAX_VALUE;
    int shortest = Integer.MAX_VALUE;
    for (String value : values) {
      prefix = Math.min(prefix, common(first, value, i -> i, i -> i));
      suffix =
          Math.min(
              suffix,
              common(first, value, i -> first.length() - 1 - i, i -> value.length() - 1 - i));
      shortest = Math.min(shortest, value.length());
    }
    int end = Math.min(suffix, shortest - Math.min(prefix, shortest)); // no character in both
    int begin = prefix;
    if (begin > 0) {
      tree.put("prefix", first.substring(0, begin));
    }
    if (end > 0) {
      tree.put("suffix", first.substring(first.length() - end));
    }
    tree.put(
        "roots",
        new ArrayList<>(values.stream().map(v -> v.substring(begin, v.length() - end)).toList()));
    return tree;
  }

  private static int common(String a, String b, IntUnaryOperator inA, IntUnaryOperator inB) {
    int most = Math.min(a.length(), b.length());
    int n = 0;
    while (n < most && a.charAt(inA.applyAsInt(n)) == b.charAt(inB.applyAsInt(n))) {
      n++;
    }
    return n;
  }

  /**
   * Reads the field of either version.
   *
   * @param tree the value of {@code topologyAssignment}, as it comes out of JSON
   * @return the assignment
   * @throws InvalidInputException listing all that is wrong, each with its path in the field
   */
  public static TopologyAssignment read(Map<String, ?> tree) {
    Problems problems = new Problems();
    Generic field = Generic.read("topologyAssignment", tree, problems);
    List<String> levels = field.textList("levels");
    List<Domain> domains = new ArrayList<>();
    if (field.get("slices").isPresent()) {
      for (Generic slice : field.list("slices")) {
        readSlice(slice, levels.size(), domains);
      }
    } else {
      for (Generic domain : field.list("domains")) {
        domains.add(new Domain(domain.textList("values"), count(domain.get("count"))));
      }
    }
    problems.throwIfAny("topology assignment");
    return new TopologyAssignment(levels, domains);
  }

  private static void readSlice(Generic slice, int levels, List<Domain> into) {
    int size = count(slice.get("domainCount"));
    List<Generic> perLevel = slice.list("valuesPerLevel");
    if (perLevel.size() != levels) {
      slice
          .get("valuesPerLevel")
          .problem("an entry for each of " + levels + " levels", "give one for each");
      return;
    }
    List<List<String>> values = new ArrayList<>();
    for (Generic level : perLevel) {
      values.add(readValues(level, size));
    }
    Generic counts = slice.get("podCounts");
    List<Generic> each = slice.list("podCounts");
    if (counts.isPresent() && each.size() != size) {
      counts.problem("a number for each of " + size + " domains", "give one for each");
      return;
    }
    if (values.stream().anyMatch(list -> list.size() != size)) {
      return; // told already
    }
    for (int i = 0; i < size; i++) {
      int at = i;
      into.add(
          new Domain(
              values.stream().map(list -> list.get(at)).toList(),
              count(counts.isPresent() ? each.get(i) : slice.get("universalPodCount"))));
    }
  }

  private static List<String> readValues(Generic level, int size) {
    IntFunction<String> value;
    if (level.get("roots").isPresent()) {
      String prefix = level.text("prefix").orElse("");
      String suffix = level.text("suffix").orElse("");
      List<String> roots = level.textList("roots");
      if (roots.size() != size) {
        level.get("roots").problem("a text for each of " + size + " domains", "give one for each");
        return List.of();
      }
      value = i -> prefix + roots.get(i) + suffix;
    } else {
      String universal = level.text("universalValue").orElse("");
      if (universal.isEmpty()) {
        level.problem("roots or universalValue", "give one of them");
        return List.of();
      }
      value = i -> universal;
    }
    return IntStream.range(0, size).mapToObj(value).toList();
  }

  private static int count(Generic field) {
    long number = field.whole().orElse(0);
    if (number < 1 || number > MAX_PODS) {
      field.problem("1 to " + MAX_PODS, "give how many there are");
      return 0;
    }
    return (int) number;
  }
}
