package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.Problem;
import dev.slicewright.Problems;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.RunningSlice;
import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.OwnerReference;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** What runs on domains that are read from nodes. */
class RunningOnNodesTest {

  private final Problems problems = new Problems();
  private final List<LeftOut> leftOut = new ArrayList<>();

  /** Whose pods are whose by controller references alone. */
  static final Owners BY_REFERENCE =
      new Owners() {
        @Override
        public Optional<PodOwner> of(Pod pod) {
          for (OwnerReference owner : pod.getMetadata().getOwnerReferences()) {
            if (owner.getKind().equals("Job")) {
              String id =
                  Names.request("Job", pod.getMetadata().getNamespace(), owner.getName(), "");
              return Optional.of(new PodOwner(id, 0, -1));
            }
          }
          return Optional.empty();
        }

        @Override
        public Optional<String> of(String namespace, String workload, String podSet) {
          return Optional.empty();
        }
      };

  static NodeDomains domains(List<? extends HasMetadata> objects) {
    NodeFacts.Reader reader = new NodeFacts.Reader();
    Map<String, NodeFacts> facts = new HashMap<>();
    for (HasMetadata object : objects) {
      if (object instanceof Node node) {
        reader.read(node).ifPresent(read -> facts.put(read.name(), read));
      }
    }
    return NodeDomains.read(facts);
  }

  private RunningSlices.Found find(List<HasMetadata> objects) {
    NodeDomains domains = domains(objects);
    assertThat(domains.problems()).isEmpty();
    RunningSlices.Found found =
        RunningSlices.find(
            KubernetesObjects.of(objects),
            domains,
            new WorkloadTranslator.Translation(Map.of(), BY_REFERENCE),
            new ReadSettings(true, TenantBy.NAMESPACE),
            problems,
            leftOut);
    Fleet.Builder fleet = Fleet.builder();
    domains.all().forEach(domain -> fleet.pod(domain.id(), domain.topology()));
    found.running().forEach(fleet::running);
    fleet.build();
    return found;
  }

  private static Set<String> nodes(Domains domains, RunningSlice slice) {
    return new TreeSet<>(
        StubDomains.nodesOf(domains.domain(slice.pod()).orElseThrow(), slice.footprint()));
  }

  @Test
  void everyPodOfALargeClusterRunsOnTheNodesOfItsSlice() {
    List<HasMetadata> objects = ClusterFixtures.large(12_000, 7);
    Map<String, Set<String>> expected = new TreeMap<>();
    for (HasMetadata object : objects) {
      if (object instanceof Pod pod && BY_REFERENCE.of(pod).isPresent()) {
        expected
            .computeIfAbsent(BY_REFERENCE.of(pod).get().request() + "/0", id -> new TreeSet<>())
            .add(pod.getSpec().getNodeName());
      }
    }
    assertThat(expected).hasSizeGreaterThan(60);

    RunningSlices.Found found = find(objects);

    assertThat(problems.list()).isEmpty();
    assertThat(leftOut).isEmpty();
    assertThat(found.cordons()).isEmpty();
    Domains domains = domains(objects);
    assertThat(
            found.running().stream()
                .collect(Collectors.toMap(s -> s.id().toString(), s -> nodes(domains, s))))
        .isEqualTo(expected);
  }

  @Test
  void withoutTheSlicesTheLabelsOfTheNodesSayTheSame() {
    List<Node> nodes = ClusterFixtures.block("a", 40);
    List<HasMetadata> objects = new ArrayList<>(ClusterFixtures.fill(nodes, "a", 0.9, 3));
    objects.addAll(nodes);
    List<String> bySlices =
        find(objects).running().stream()
            .map(s -> s.id() + " " + nodes(domains(objects), s))
            .toList();
    objects.removeIf(GenericKubernetesResource.class::isInstance);

    List<String> byLabels =
        find(objects).running().stream()
            .map(s -> s.id() + " " + nodes(domains(objects), s))
            .toList();

    assertThat(problems.list()).isEmpty();
    assertThat(byLabels).hasSizeGreaterThan(3).isEqualTo(bySlices);
  }

  @Test
  void everyKindOfDomainTakesPodsByItsOwnRule() {
    List<HasMetadata> objects = new ArrayList<>();
    objects.addAll(ClusterFixtures.block("a", 1));
    objects.addAll(ClusterFixtures.subslicing("sub", "8x8"));
    objects.addAll(ClusterFixtures.provisioned("prov"));
    objects.addAll(ClusterFixtures.pool("v5p", "tpu-v5p-slice", "2x2x4"));
    objects.addAll(ClusterFixtures.pool("big", "tpu-v5p-slice", "4x8x8"));
    objects.add(ClusterFixtures.single("alone", "p", "tpu-v5-lite-podslice", "2x4", 8));
    Map<String, List<String>> places = new TreeMap<>();
    places.put("dyn", List.of("a-0-6", "a-0-7"));
    places.put("sub", List.of("sub-4", "sub-5", "sub-6", "sub-7"));
    places.put("prov", List.of("prov-2", "prov-3"));
    places.put("pool", List.of("v5p-0"));
    places.put("cubes", List.of("big-17"));
    places.put("node", List.of("alone"));
    places.forEach(
        (name, on) -> {
          for (String node : on) {
            objects.add(pod("t", name, node));
          }
        });

    Map<String, Shape> shapes = new TreeMap<>();
    Map<String, Set<String>> taken = new TreeMap<>();
    Domains domains = domains(objects);
    for (RunningSlice slice : find(objects).running()) {
      String name = slice.request().id().substring("Job/t/".length());
      shapes.put(name, slice.shape());
      taken.put(name, nodes(domains, slice));
    }

    assertThat(problems.list()).isEmpty();
    assertThat(shapes)
        .isEqualTo(
            Map.of(
                "dyn", Shape.of(2, 2, 2),
                "sub", Shape.of(4, 4),
                "prov", Shape.of(2, 4),
                "pool", Shape.of(2, 2, 4),
                "cubes", Shape.of(4, 8, 8),
                "node", Shape.of(2, 4)));
    for (String exact : List.of("dyn", "sub", "prov", "node")) {
      assertThat(taken.get(exact)).isEqualTo(new TreeSet<>(places.get(exact)));
    }
    assertThat(taken.get("pool")).hasSize(4);
    assertThat(taken.get("cubes")).hasSize(64);
  }

  @Test
  void slicesOfEveryShapeAreFoundByTheIdsOnTheNodes() {
    List<Node> nodes = ClusterFixtures.block("a", 2);
    for (String shape : List.of("2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4")) {
      String label = TpuLabels.PARTITION_PREFIX + shape + TpuLabels.ID_SUFFIX;
      String id = nodes.get(21).getMetadata().getLabels().get(label);
      Set<String> expected =
          nodes.stream()
              .filter(node -> id.equals(node.getMetadata().getLabels().get(label)))
              .map(node -> node.getMetadata().getName())
              .collect(Collectors.toCollection(TreeSet::new));
      List<HasMetadata> objects = new ArrayList<>(nodes);
      objects.add(ClusterFixtures.slice("s", shape, "ACTIVE", List.of(id)));

      RunningSlices.Found found = find(objects);

      assertThat(problems.list()).extracting(Problem::toString).isEmpty();
      assertThat(found.running())
          .singleElement()
          .satisfies(slice -> assertThat(nodes(domains(objects), slice)).isEqualTo(expected));
    }
  }

  private static Pod pod(String namespace, String job, String node) {
    Job owner = ClusterFixtures.job(namespace, job, "tpu7x", "2x2x1", 0);
    Pod pod = ClusterFixtures.podOf(owner, 0, node);
    return new PodBuilder(pod)
        .editMetadata()
        .withName(job + "-on-" + node)
        .endMetadata()
        .editSpec()
        .withNodeSelector(null)
        .endSpec()
        .build();
  }

  @Test
  void holdsOfEveryKindOfDomainAreReadBack() {
    List<HasMetadata> objects = new ArrayList<>();
    objects.addAll(ClusterFixtures.block("a", 2));
    objects.addAll(ClusterFixtures.subslicing("sub", "4x8"));
    objects.addAll(ClusterFixtures.pool("big", "tpu-v5p-slice", "4x4x8"));
    objects.add(ClusterFixtures.single("alone", "p", "tpu-v5-lite-podslice", "2x4", 8));
    NodeDomains domains = domains(objects);
    List<dev.slicewright.fleet.Hold> holds = new ArrayList<>();
    for (Domain domain : domains.all()) {
      for (int host : Arrays.asList(0, domain.topology().hostCount() - 1)) {
        HostFootprints.find(
                domain,
                new TreeSet<>(List.of(new dev.slicewright.topology.HostId(host))),
                List.of())
            .map(HostFootprints.Found::footprint)
            .ifPresent(
                footprint ->
                    holds.add(
                        new dev.slicewright.fleet.Hold(
                            domain.id() + host,
                            domain.id(),
                            footprint,
                            "r",
                            java.time.Instant.EPOCH)));
      }
    }
    assertThat(holds).hasSize(8);

    for (dev.slicewright.fleet.Hold hold : holds) {
      Domain domain = domains.domain(hold.pod()).orElseThrow();
      assertThat(HoldObjects.read(HoldObjects.toConfigMap(hold, domain, "ns"), domains, problems))
          .contains(hold);
    }
    assertThat(problems.list()).isEmpty();
  }

  @Test
  void aPodWithTheLongestNameRunsThoughNoRequestCanBeCalledSo() {
    List<HasMetadata> objects = new ArrayList<>(ClusterFixtures.subslicing("v6e", "4x4"));
    Job job = ClusterFixtures.job("team", "gone", "tpu-v6e-slice", "2x4", 0);
    List<String> names = List.of("a".repeat(253), "a".repeat(252) + "b");
    for (int i = 0; i < 2; i++) {
      Pod pod = ClusterFixtures.podOf(job, 0, "v6e-" + 2 * i);
      pod.getMetadata().setName(names.get(i));
      pod.getMetadata().setDeletionTimestamp("2026-01-01T00:00:00Z");
      objects.add(pod);
    }

    assertThat(ClusterReader.create().read(objects).fleet().running())
        .hasSize(1)
        .allSatisfy(slice -> assertThat(slice.request().id()).hasSizeLessThan(254));
  }
}
