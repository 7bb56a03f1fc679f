package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.kubernetes.NodeConditions.Match;
import dev.slicewright.kubernetes.NodeConditions.Slot;
import dev.slicewright.topology.AcceleratorType;
import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.Taint;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

/** Selectors, affinity and tolerations against a plain evaluation node by node. */
class NodeConditionsTest {

  private static final List<String> KEYS = List.of("a", "b", "c", "d");
  private static final List<String> VALUES = List.of("1", "2", "10", "x");
  private static final Slot SLOT = new Slot(Set.of(), Shape.of(4, 4), false, 4, false);

  /** A domain and its nodes as Kubernetes would see them. */
  private record Nodes(StubDomain domain, List<Map<String, String>> labels) {}

  @Property(tries = 2_000)
  void whatIsAllowedIsWhatEveryNodeAllows(@ForAll Random random) {
    List<Nodes> pods = pods(random, false);
    Map<String, Object> spec = spec(random, pods);
    Match match = match(pods, spec);

    assertThat(match.problems()).isEmpty();
    for (Nodes pod : pods) {
      boolean allowed =
          pod.domain.labels().entrySet().containsAll(match.base().requiredLabels().entrySet())
              && !forbidden(match).contains(pod.domain.id());
      assertThat(allowed)
          .as("%s of %s for %s", pod.domain.id(), pod.labels.get(0), spec)
          .isEqualTo(everyNodeMatches(pod, spec));
      assertThat(match.possible().contains(pod.domain)).isEqualTo(allowed);
    }
  }

  @Property(tries = 2_000)
  void whereNodesDifferTheAnswerIsRightOrAProblem(@ForAll Random random) {
    List<Nodes> pods = pods(random, true);
    Map<String, Object> spec = spec(random, pods);
    Match match = match(pods, spec);

    for (Nodes pod : pods) {
      boolean possible = match.possible().contains(pod.domain);
      boolean excluded =
          forbidden(match).contains(pod.domain.id())
              || !pod.domain
                  .labels()
                  .entrySet()
                  .containsAll(match.base().requiredLabels().entrySet());
      if (possible) {
        assertThat(everyNodeMatches(pod, spec)).as("%s for %s", pod, spec).isTrue();
        assertThat(excluded).isFalse();
      } else if (match.problems().isEmpty()) {
        assertThat(noNodeMatches(pod, spec)).as("%s for %s", pod, spec).isTrue();
        assertThat(excluded).isTrue();
      }
    }
    if (pods.stream().allMatch(p -> p.domain.varyingLabels().isEmpty())
        && !spec.toString().contains("metadata.name")) {
      assertThat(match.problems()).isEmpty();
    }
  }

  @Property(tries = 300)
  void theOrderOfPodsChangesNothing(@ForAll Random random) {
    List<Nodes> pods = pods(random, false);
    Map<String, Object> spec = spec(random, pods);
    Match match = match(pods, spec);
    List<Nodes> other = new ArrayList<>(pods);
    Collections.shuffle(other, random);
    Match again = match(other, spec);
    assertThat(again.base().requiredLabels()).isEqualTo(match.base().requiredLabels());
    assertThat(forbidden(again)).isEqualTo(forbidden(match));
  }

  @Test
  void aStateThatOnlySomeAlternativesAskForIsAProblem() {
    StubDomain block = StubDomain.block("blk", 2);
    Map<String, Object> spec =
        affinity(
            List.of(
                Map.of("matchExpressions", List.of(state("In", "HEALTHY"))),
                Map.of(
                    "matchExpressions",
                    List.of(expression(TpuLabels.BLOCK, "In", "blk"), state("Exists")))));
    Slot slot = new Slot(Set.of("tpu7x"), Shape.of(4, 4, 4), false, 4, false);
    Match match = NodeConditions.read(spec).match(new DomainColumns(List.of(block)), slot);
    // The second alternative takes degraded cubes, so that the first adds nothing.
    assertThat(match.base().healthyOnly()).isFalse();
    assertThat(match.possible()).containsExactly(block);

    Map<String, Object> either =
        affinity(
            List.of(
                Map.of("matchExpressions", List.of(state("In", "HEALTHY"))),
                Map.of("matchExpressions", List.of(expression(TpuLabels.BLOCK, "In", "another")))));
    assertThat(
            NodeConditions.read(either).match(new DomainColumns(List.of(block)), slot).problems())
        .hasSize(1);
  }

  @Test
  void statesOfPartitionsSayWhetherDegradedOnesWillDo() {
    StubDomain block = StubDomain.block("blk", 2);
    Slot slot = new Slot(Set.of("tpu7x"), Shape.of(4, 4, 4), false, 4, false);
    Map<Map<String, Object>, Boolean> healthyOnly = new LinkedHashMap<>();
    healthyOnly.put(state("In", "HEALTHY"), true);
    healthyOnly.put(state("In", "HEALTHY", "DEGRADED"), false);
    healthyOnly.put(state("NotIn", "DEGRADED"), true);
    healthyOnly.put(state("NotIn", "UNHEALTHY"), false);
    healthyOnly.put(state("Exists"), false);
    healthyOnly.forEach(
        (expression, expected) -> {
          Map<String, Object> spec =
              affinity(List.of(Map.of("matchExpressions", List.of(expression))));
          Match match = NodeConditions.read(spec).match(new DomainColumns(List.of(block)), slot);
          assertThat(match.base().healthyOnly()).as("%s", expression).isEqualTo(expected);
          assertThat(match.possible()).as("%s", expression).containsExactly(block);
          assertThat(match.problems()).isEmpty();
        });

    Match sick =
        NodeConditions.read(
                affinity(List.of(Map.of("matchExpressions", List.of(state("In", "DEGRADED"))))))
            .match(new DomainColumns(List.of(block)), slot);
    assertThat(sick.possible()).isEmpty();
    assertThat(sick.problems()).hasSize(1);
  }

  @Test
  void hostsOfAnotherSizeWillNotDo() {
    StubDomain four = StubDomain.pool(AcceleratorType.V5E, "four", "2x4");
    StubDomain eight = StubDomain.node(AcceleratorType.V5E, "eight", "2x4");
    Match match =
        NodeConditions.read(Map.of())
            .match(
                new DomainColumns(List.of(four, eight)),
                new Slot(Set.of("v5e"), Shape.of(2, 4), false, 8, false));
    assertThat(match.possible()).containsExactly(eight);
    assertThat(forbidden(match)).containsExactly("nodepool/four");
  }

  // ---------------------------------------------------------------- random clusters

  private static List<Nodes> pods(Random random, boolean differing) {
    List<Nodes> pods = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      StubDomain domain = StubDomain.pool(AcceleratorType.V6E, "p" + i, "4x4");
      List<Map<String, String>> labels = new ArrayList<>();
      Map<String, String> shared = labels(random);
      for (int node = 0; node < 4; node++) {
        Map<String, String> own = new TreeMap<>(shared);
        if (differing && random.nextInt(3) == 0) {
          own.putAll(labels(random));
        }
        labels.add(own);
      }
      Set<String> varying = new TreeSet<>();
      Map<String, String> common = new TreeMap<>(domain.labels());
      for (String key : KEYS) {
        Set<String> values = new TreeSet<>();
        labels.forEach(own -> values.add(own.getOrDefault(key, "")));
        if (values.size() > 1) {
          varying.add(key);
        } else if (!values.contains("")) {
          common.put(key, values.iterator().next());
        }
      }
      List<Taint> taints = new ArrayList<>();
      if (random.nextInt(3) == 0) {
        taints.add(
            new Taint(
                pick(random, List.of("NoSchedule", "NoExecute", "PreferNoSchedule")),
                pick(random, KEYS),
                null,
                random.nextBoolean() ? pick(random, VALUES) : null));
      }
      pods.add(
          new Nodes(
              new StubDomain(
                  domain.id(),
                  domain.kind(),
                  domain.topology(),
                  common,
                  varying,
                  taints,
                  domain.nodes(),
                  domain.health(),
                  domain.cordons(),
                  domain.idPrefix()),
              labels));
    }
    return pods;
  }

  private static Map<String, String> labels(Random random) {
    Map<String, String> labels = new TreeMap<>();
    for (String key : KEYS) {
      if (random.nextInt(3) > 0) {
        labels.put(key, pick(random, VALUES));
      }
    }
    return labels;
  }

  private static Map<String, Object> spec(Random random, List<Nodes> pods) {
    Map<String, Object> spec = new LinkedHashMap<>();
    if (random.nextInt(3) == 0) {
      spec.put("nodeSelector", Map.of(pick(random, KEYS), pick(random, VALUES)));
    }
    if (random.nextInt(4) > 0) {
      List<Object> terms = new ArrayList<>();
      for (int i = random.nextInt(3); i >= 0; i--) {
        Map<String, Object> term = new LinkedHashMap<>();
        List<Object> expressions = new ArrayList<>();
        for (int j = random.nextInt(3); j > 0; j--) {
          expressions.add(randomExpression(random));
        }
        if (!expressions.isEmpty()) {
          term.put("matchExpressions", expressions);
        }
        if (random.nextInt(6) == 0) {
          // A whole pod is one name only where it has one node; these have four.
          String name = random.nextBoolean() ? "elsewhere" : "nowhere";
          term.put(
              "matchFields",
              List.of(expression("metadata.name", pick(random, List.of("In", "NotIn")), name)));
        }
        terms.add(term);
      }
      spec.putAll(affinity(terms));
    }
    List<Object> tolerations = new ArrayList<>();
    for (int i = random.nextInt(3); i > 0; i--) {
      Map<String, Object> toleration = new LinkedHashMap<>();
      boolean exists = random.nextBoolean();
      if (!exists || random.nextBoolean()) {
        toleration.put("key", pick(random, KEYS));
      }
      if (exists) {
        toleration.put("operator", "Exists");
      } else {
        toleration.put("value", pick(random, VALUES));
      }
      if (random.nextBoolean()) {
        toleration.put("effect", pick(random, List.of("NoSchedule", "NoExecute")));
      }
      tolerations.add(toleration);
    }
    spec.put("tolerations", tolerations);
    return spec;
  }

  private static Map<String, Object> randomExpression(Random random) {
    String key = pick(random, KEYS);
    return switch (random.nextInt(6)) {
      case 0 -> expression(key, "In", pick(random, VALUES));
      case 1 -> expression(key, "In", pick(random, VALUES), pick(random, VALUES));
      case 2 -> expression(key, "NotIn", pick(random, VALUES), pick(random, VALUES));
      case 3 -> expression(key, "Exists");
      case 4 -> expression(key, "DoesNotExist");
      default -> expression(key, random.nextBoolean() ? "Gt" : "Lt", random.nextInt(12) + "");
    };
  }

  private static Map<String, Object> affinity(List<?> terms) {
    return Map.of(
        "affinity",
        Map.of(
            "nodeAffinity",
            Map.of(
                "requiredDuringSchedulingIgnoredDuringExecution",
                Map.of("nodeSelectorTerms", terms))));
  }

  private static Map<String, Object> state(String operator, String... values) {
    return expression(
        TpuLabels.PARTITION_PREFIX + "4x4x4" + TpuLabels.STATE_SUFFIX, operator, values);
  }

  private static Map<String, Object> expression(String key, String operator, String... values) {
    Map<String, Object> expression = new LinkedHashMap<>();
    expression.put("key", key);
    expression.put("operator", operator);
    if (values.length > 0) {
      expression.put("values", List.of(values));
    }
    return expression;
  }

  private static <T> T pick(Random random, List<T> from) {
    return from.get(random.nextInt(from.size()));
  }

  private static Set<String> forbidden(Match match) {
    return match.base().forbiddenLabels().getOrDefault(TpuLabels.OWN_POD, Set.of());
  }

  private static Match match(List<Nodes> pods, Map<String, Object> spec) {
    NodeConditions conditions = NodeConditions.read(spec);
    assertThat(conditions.problems()).isEmpty();
    List<Domain> domains = new ArrayList<>();
    pods.forEach(pod -> domains.add(pod.domain));
    return conditions.match(new DomainColumns(domains), SLOT);
  }

  // ---------------------------------------------------------------- the plain evaluation

  private static boolean everyNodeMatches(Nodes pod, Map<String, Object> spec) {
    return tolerates(pod, spec) && IntStream.range(0, 4).allMatch(i -> matches(pod, i, spec));
  }

  private static boolean noNodeMatches(Nodes pod, Map<String, Object> spec) {
    return !tolerates(pod, spec) || IntStream.range(0, 4).noneMatch(i -> matches(pod, i, spec));
  }

  @SuppressWarnings("unchecked")
  private static boolean tolerates(Nodes pod, Map<String, Object> spec) {
    for (Taint taint : pod.domain.taints()) {
      if (taint.getEffect().equals("PreferNoSchedule")) {
        continue;
      }
      boolean tolerated = false;
      for (Map<String, String> t : (List<Map<String, String>>) spec.get("tolerations")) {
        String value = taint.getValue() == null ? "" : taint.getValue();
        boolean key = !t.containsKey("key") || t.get("key").equals(taint.getKey());
        boolean same = "Exists".equals(t.get("operator")) || value.equals(t.get("value"));
        boolean effect = !t.containsKey("effect") || t.get("effect").equals(taint.getEffect());
        tolerated |= key && same && effect;
      }
      if (!tolerated) {
        return false;
      }
    }
    return true;
  }

  @SuppressWarnings("unchecked")
  private static boolean matches(Nodes pod, int node, Map<String, Object> spec) {
    Map<String, String> labels = pod.labels.get(node);
    Map<String, String> selector =
        (Map<String, String>) spec.getOrDefault("nodeSelector", Map.of());
    if (!labels.entrySet().containsAll(selector.entrySet())) {
      return false;
    }
    if (!spec.containsKey("affinity")) {
      return true;
    }
    Map<String, Map<String, Map<String, Object>>> affinity =
        (Map<String, Map<String, Map<String, Object>>>) spec.get("affinity");
    List<Map<String, List<Map<String, Object>>>> terms =
        (List<Map<String, List<Map<String, Object>>>>)
            affinity
                .get("nodeAffinity")
                .get("requiredDuringSchedulingIgnoredDuringExecution")
                .get("nodeSelectorTerms");
    String name = pod.domain.nodes().get(node);
    return terms.stream()
        .anyMatch(
            term ->
                !term.isEmpty()
                    && term.getOrDefault("matchExpressions", List.of()).stream()
                        .allMatch(e -> holds(e, labels.get((String) e.get("key"))))
                    && term.getOrDefault("matchFields", List.of()).stream()
                        .allMatch(e -> holds(e, name)));
  }

  @SuppressWarnings("unchecked")
  private static boolean holds(Map<String, Object> expression, String value) {
    List<String> values = (List<String>) expression.getOrDefault("values", List.of());
    switch ((String) expression.get("operator")) {
      case "In":
        return value != null && values.contains(value);
      case "NotIn":
        return value == null || !values.contains(value);
      case "Exists":
        return value != null;
      case "DoesNotExist":
        return value == null;
      default:
        if (value == null || !value.matches("-?[0-9]+")) {
          return false;
        }
        int compared = Integer.compare(Integer.parseInt(value), Integer.parseInt(values.get(0)));
        return expression.get("operator").equals("Gt") ? compared > 0 : compared < 0;
    }
  }
}
