package dev.slicewright.bench;

import dev.slicewright.topology.TpuTopology;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongFunction;

/**
 * The families of problems of the solve bench. Every seed gives a problem, equal seeds equal ones.
 * Stateless.
 */
final class Families {

  private static final Map<String, LongFunction<BenchProblem>> ALL = new LinkedHashMap<>();

  static {
    add("ocs-v5p", CubeFamilies::v5p);
    add("block-7x", CubeFamilies::tpu7x);
    add("nested-v6e", FlatFamilies::nested);
    add("boxes-v6e", FlatFamilies::boxes);
    add("torus-0", TorusFamilies::empty);
    for (Churn.Rule rule :
        List.of(Churn.Rule.FIRST_FIT, Churn.Rule.LEAST_EXPOSED, Churn.Rule.SCATTER)) {
      for (int load : new int[] {10, 40, 70}) {
        String name = "torus-" + letter(rule) + "-" + load;
        add(name, seed -> TorusFamilies.churned(name, seed, rule, load / 100.0));
      }
    }
    add("torus-faults", TorusFamilies::faults);
    add("odd", TorusFamilies::odd);
    add("mesh-opp", OppFamily::problem);
    add("fleet-1000", CubeFamilies::thousand);
    add("tight", TorusFamilies::tight);
    for (boolean above : new boolean[] {true, false}) {
      String over = above ? "above" : "among";
      String torus = "preempt-20-torus-" + over;
      add(torus, s -> PreemptFamilies.joint(torus, PreemptFamilies.torus(), s, above));
      String block = "preempt-20-7x-" + over;
      add(block, s -> PreemptFamilies.joint(block, TpuTopology.tpu7x(), s, above));
    }
  }

  private Families() {}

  private static void add(String name, LongFunction<BenchProblem> maker) {
    ALL.put(name, maker);
  }

  private static String letter(Churn.Rule rule) {
    return switch (rule) {
      case FIRST_FIT -> "F";
      case LEAST_EXPOSED -> "C";
      case SCATTER -> "S";
    };
  }

  static List<String> names() {
    return List.copyOf(ALL.keySet());
  }

  static BenchProblem problem(String family, long seed) {
    return ALL.get(family).apply(seed);
  }

  /**
   * Families by name: one, several with commas, the beginning of several ({@code torus-F}), or
   * {@code all}.
   *
   * @throws IllegalArgumentException naming what there is
   */
  static List<String> named(String list) {
    List<String> out = new ArrayList<>();
    for (String name : list.split(",")) {
      List<String> found =
          names().stream()
              .filter(f -> name.equals("all") || f.equals(name) || f.startsWith(name + "-"))
              .toList();
      if (found.isEmpty()) {
        throw new IllegalArgumentException(
            "There is no family \"" + name + "\"; there are all, " + String.join(", ", names()));
      }
      found.stream().filter(f -> !out.contains(f)).forEach(out::add);
    }
    return out;
  }
}
