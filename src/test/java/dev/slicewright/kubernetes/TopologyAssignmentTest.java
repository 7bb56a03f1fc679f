package dev.slicewright.kubernetes;

import static dev.slicewright.kubernetes.PlanCase.tree;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.kubernetes.TopologyAssignment.Domain;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class TopologyAssignmentTest {

  private static Domain domain(int count, String... values) {
    return new Domain(List.of(values), count);
  }

  /** The examples in the comments of Kueue's v1beta2 types, the values their own. */
  @Test
  void theCompressedFormIsThatOfTheApi() {
    TopologyAssignment twoRacks =
        new TopologyAssignment(
            List.of("block", "rack"),
            List.of(domain(4, "block-1", "rack-1"), domain(2, "block-1", "rack-2")));

    assertThat(twoRacks.toV1Beta2())
        .isEqualTo(
            tree(
                "levels",
                List.of("block", "rack"),
                "slices",
                List.of(
                    tree(
                        "domainCount",
                        2,
                        "valuesPerLevel",
                        List.of(
                            tree("universalValue", "block-1"),
                            tree("prefix", "rack-", "roots", List.of("1", "2"))),
                        "podCounts",
                        List.of(4, 2)))));
    assertThat(twoRacks.toV1Beta1())
        .isEqualTo(
            tree(
                "levels",
                List.of("block", "rack"),
                "domains",
                List.of(
                    tree("values", List.of("block-1", "rack-1"), "count", 4),
                    tree("values", List.of("block-1", "rack-2"), "count", 2))));
  }

  @Test
  void aBeginningAndAnEndNeverShareACharacter() {
    TopologyAssignment assignment =
        new TopologyAssignment(List.of("l"), List.of(domain(1, "ababa"), domain(1, "aba")));

    assertThat(TopologyAssignment.read(assignment.toV1Beta2())).isEqualTo(assignment);
    checkAgainstTheApisRules(assignment.toV1Beta2());
  }

  @Test
  void bothFormsReadBackAndKeepTheApisRules() {
    Random random = new Random(11);
    for (int round = 0; round < 2_000; round++) {
      int levels = 1 + random.nextInt(3);
      List<String> keys = new ArrayList<>();
      for (int i = 0; i < levels; i++) {
        keys.add("level-" + i);
      }
      List<Domain> domains = new ArrayList<>();
      boolean even = random.nextBoolean();
      for (int i = 0; i < 1 + random.nextInt(6); i++) {
        List<String> values = new ArrayList<>();
        for (int k = 0; k < levels; k++) {
          values.add(randomName(random));
        }
        domains.add(new Domain(values, even ? 3 : 1 + random.nextInt(4)));
      }
      TopologyAssignment assignment = new TopologyAssignment(keys, domains);

      assertThat(TopologyAssignment.read(assignment.toV1Beta1())).isEqualTo(assignment);
      assertThat(TopologyAssignment.read(assignment.toV1Beta2())).isEqualTo(assignment);
      checkAgainstTheApisRules(assignment.toV1Beta2());
    }
  }

  private static String randomName(Random random) {
    StringBuilder text = new StringBuilder("a");
    for (int i = random.nextInt(5); i > 0; i--) {
      text.append((char) ('a' + random.nextInt(2)));
    }
    return text.toString();
  }

  /** The CEL rules of the v1beta2 type, read from its API and not from the writer. */
  private static void checkAgainstTheApisRules(Map<String, Object> tree) {
    List<?> levels = (List<?>) tree.get("levels");
    for (Object entry : (List<?>) tree.get("slices")) {
      Map<?, ?> slice = (Map<?, ?>) entry;
      int count = (Integer) slice.get("domainCount");
      List<?> perLevel = (List<?>) slice.get("valuesPerLevel");
      assertThat(perLevel).hasSameSizeAs(levels);
      assertThat(slice.containsKey("podCounts"))
          .isNotEqualTo(slice.containsKey("universalPodCount"));
      if (slice.get("podCounts") instanceof List<?> counts) {
        assertThat(counts).hasSize(count);
        assertThat(new HashSet<>(counts)).as("one number is told once").hasSizeGreaterThan(1);
      }
      for (Object level : perLevel) {
        Map<?, ?> values = (Map<?, ?>) level;
        assertThat(values.containsKey("roots")).isNotEqualTo(values.containsKey("universalValue"));
        if (values.containsKey("universalValue")) {
          assertThat(values.keySet()).isEqualTo(Set.of("universalValue"));
        } else {
          assertThat((List<?>) values.get("roots")).hasSize(count);
        }
      }
    }
  }

  @Test
  void whatIsReadWrongIsListedWithItsPath() {
    assertThatThrownBy(
            () ->
                TopologyAssignment.read(
                    tree(
                        "levels",
                        List.of("l"),
                        "slices",
                        List.of(
                            tree(
                                "domainCount",
                                2,
                                "valuesPerLevel",
                                List.of(tree("roots", List.of("a"))),
                                "universalPodCount",
                                1)))))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("topologyAssignment.slices[0].valuesPerLevel[0].roots");
    assertThatThrownBy(
            () ->
                TopologyAssignment.read(
                    tree(
                        "levels",
                        List.of("l"),
                        "domains",
                        List.of(tree("values", List.of("a"), "count", -1)))))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("topologyAssignment.domains[0].count");
  }

  @Test
  void noInputCrashesTheReader() {
    Random random = new Random(5);
    Object[] values = {null, 1, -1, "a", List.of(), true, 1.5, Long.MAX_VALUE};
    for (int i = 0; i < 5_000; i++) {
      Map<String, Object> tree =
          new TopologyAssignment(
                  List.of("x", "y"), List.of(domain(1, "a", "b"), domain(2, "a", "c")))
              .toV1Beta2();
      mutate(tree, random, values);
      try {
        assertThat(TopologyAssignment.read(tree).pods()).isPositive();
      } catch (InvalidInputException e) {
        assertThat(e.problems()).isNotEmpty();
      }
    }
  }

  @SuppressWarnings("unchecked")
  private static void mutate(Object tree, Random random, Object[] values) {
    if (tree instanceof Map<?, ?> map && !map.isEmpty()) {
      List<Object> keys = new ArrayList<>(map.keySet());
      Object key = keys.get(random.nextInt(keys.size()));
      Object inner = map.get(key);
      if (random.nextInt(3) > 0 && (inner instanceof Map || inner instanceof List)) {
        mutate(inner, random, values);
      } else {
        ((Map<Object, Object>) map).put(key, values[random.nextInt(values.length)]);
      }
    } else if (tree instanceof List<?> list && !list.isEmpty()) {
      int at = random.nextInt(list.size());
      Object inner = list.get(at);
      if (random.nextInt(3) > 0 && (inner instanceof Map || inner instanceof List)) {
        mutate(inner, random, values);
      } else {
        ((List<Object>) list).set(at, values[random.nextInt(values.length)]);
      }
    }
  }

  // ---------------------------------------------------------------- of a plan

  @Test
  void aPlacedWorkloadGetsEveryPodSortedByBlockThenCubeThenNode() {
    PlanCase given = new PlanCase().domain(StubDomain.block("blk-a", 12));
    PlanCase.kueue("wl", "4x4x8", "main").forEach(given::workload);
    // Cubes 0 and 1 in use: the text "c10" comes before "c2".
    dev.slicewright.request.SliceRequest other =
        dev.slicewright.request.SliceRequest.builder("other").shape("4x4x4").slices(9).build();
    for (int i = 0; i < 9; i++) {
      given.running(other, i, "block/blk-a", "4x4x4", i == 8 ? 9 : i < 2 ? i : i + 1);
    }
    Cluster cluster = given.build();
    ClusterPlan plan = PlanCase.planned(cluster);

    assertThat(plan.topologyAssignments()).hasSize(1);
    ClusterPlan.PodSetAssignment assigned = plan.topologyAssignments().get(0);
    TopologyAssignment assignment = assigned.assignment();
    assertThat(assigned.object().path()).isEqualTo("Workload/team-a/wl");
    assertThat(assigned.podSet()).isEqualTo("main");
    assertThat(assignment.levels()).containsExactly("kubernetes.io/hostname");
    assertThat(assignment.pods()).isEqualTo(32);
    assertThat(new HashSet<>(assignment.domains().stream().map(d -> d.values().get(0)).toList()))
        .isEqualTo(new HashSet<>(plan.podsToNodes().stream().map(PodNode::node).toList()));
    List<String> cubes = new ArrayList<>();
    for (Domain domain : assignment.domains()) {
      int host = Integer.parseInt(domain.values().get(0).replaceAll(".*-n", ""));
      cubes.add("c" + host / 16);
    }
    assertThat(cubes).isSorted();
    assertThat(cubes.stream().distinct()).hasSize(2);
  }

  @Test
  void theSlicesOfAKueueWorkloadNameItAsOwner() {
    PlanCase given = new PlanCase().domain(StubDomain.block("blk-a", 4));
    PlanCase.kueue("wl", "4x4x4", "main").forEach(given::workload);

    assertThat(PlanCase.planned(given.build()).slices().get(0).annotations())
        .containsEntry("accelerator.gke.io/owner-workload-namespace", "team-a")
        .containsEntry("accelerator.gke.io/owner-workload-name", "wl")
        .containsEntry("accelerator.gke.io/owner-podset-name", "main");
  }

  @Test
  void whatKueueDoesNotAdmitHasNoAssignment() {
    PlanCase given = new PlanCase().domain(StubDomain.block("blk-a", 4));
    assertThat(
            PlanCase.planned(given.workload(PlanCase.job("train", "4x4x4")).build())
                .topologyAssignments())
        .isEmpty();
  }
}
