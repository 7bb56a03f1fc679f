package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.SolveBudget;
import dev.slicewright.cost.CostTerms;
import dev.slicewright.fleet.Fleet;
import dev.slicewright.fleet.Health;
import dev.slicewright.fleet.Part;
import dev.slicewright.fleet.Pod;
import dev.slicewright.plan.Plan;
import dev.slicewright.plan.PlanVerifier;
import dev.slicewright.request.Interconnect;
import dev.slicewright.request.PlanningRules;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.solve.SlicePlanner;
import dev.slicewright.topology.CubeId;
import dev.slicewright.topology.Footprint;
import dev.slicewright.topology.HostId;
import dev.slicewright.topology.PartitionForest;
import dev.slicewright.topology.PartitionId;
import dev.slicewright.topology.Shape;
import dev.slicewright.topology.TpuTopology;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeSpec;
import io.fabric8.kubernetes.api.model.NodeStatus;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NodeDomainsTest {

  private static final ClusterReader LENIENT = ClusterReader.builder().lenient(true).build();
  private static final List<String> SHAPES = List.of("4x4x4", "2x4x4", "2x2x4", "2x2x2", "2x2x1");

  private static String idLabel(String shape) {
    return TpuLabels.PARTITION_PREFIX + shape + TpuLabels.ID_SUFFIX;
  }

  private static Map<String, String> labels(Node node) {
    return node.getMetadata().getLabels();
  }

  private static Cluster strict(List<? extends HasMetadata> objects) {
    return ClusterReader.create().read(objects);
  }

  private static Pod pod(Cluster cluster, String id) {
    return cluster.fleet().pod(id).orElseThrow();
  }

  private static Plan plan(Fleet fleet, SliceRequest... requests) {
    Plan plan =
        SlicePlanner.create()
            .plan(fleet, List.of(requests), SolveBudget.within(Duration.ofSeconds(5)));
    assertThat(
            PlanVerifier.verify(
                fleet, List.of(requests), PlanningRules.NONE, CostTerms.DEFAULT, plan))
        .isEmpty();
    return plan;
  }

  // ---------------------------------------------------------------- the tree comes from labels

  /** Random ids, shuffled nodes: the partitions are the sets of nodes that share a label. */
  @Property(tries = 60)
  void aPartitionIsTheNodesThatShareItsLabel(@ForAll long seed) {
    Random random = new Random(seed);
    List<Node> nodes = ClusterFixtures.block("b", 1 + random.nextInt(3));
    List<String> hex = new ArrayList<>();
    for (int i = 0; i < 31 * 3; i++) {
      hex.add(Long.toHexString(0x1000_0000L + i * 7919L));
    }
    Collections.shuffle(hex, random);
    Map<String, String> names = new HashMap<>();
    boolean sameTexts = random.nextBoolean(); // one id text for partitions of several shapes
    for (String shape : SHAPES) {
      int next = 0;
      for (Node node : nodes) {
        String key = shape + labels(node).get(idLabel(shape));
        if (!names.containsKey(key)) {
          names.put(key, sameTexts ? hex.get(next++) : hex.remove(hex.size() - 1));
        }
        labels(node).put(idLabel(shape), names.get(key));
      }
    }
    Collections.shuffle(nodes, random);

    Cluster cluster = strict(nodes);

    Domain domain = cluster.domains().domain("block/b").orElseThrow();
    PartitionForest forest = domain.topology().partitions().orElseThrow();
    int partitions = 0;
    for (String shape : SHAPES) {
      Map<String, Set<String>> expected = new TreeMap<>();
      for (Node node : nodes) {
        expected
            .computeIfAbsent(labels(node).get(idLabel(shape)), k -> new TreeSet<>())
            .add(node.getMetadata().getName());
      }
      partitions += expected.size();
      Map<String, Set<String>> read = new TreeMap<>();
      for (PartitionId id : forest.ofShape(Shape.parse(shape))) {
        String platformId = domain.platformId(id);
        assertThat(domain.partition(Shape.parse(shape), platformId)).contains(id);
        for (int cell : domain.topology().cells(new Footprint.Partition(id))) {
          read.computeIfAbsent(platformId, k -> new TreeSet<>())
              .add(domain.nodes().get(domain.topology().hostOfCell(cell).index()));
        }
      }
      assertThat(read).isEqualTo(expected);
      assertThat(domain.idLabel(Shape.parse(shape))).isEqualTo(idLabel(shape));
    }
    assertThat(forest.size()).isEqualTo(partitions);
    for (Node node : nodes) {
      String name = node.getMetadata().getName();
      Cluster.HostRef host = cluster.host(name).orElseThrow();
      assertThat(cluster.node(host.pod(), host.host())).contains(name);
      assertThat(domain.topology().hostName(host.host())).isEqualTo(name);
      assertThat(domain.topology().cubeName(domain.topology().cubeOf(host.host())))
          .isEqualTo(labels(node).get(idLabel("4x4x4")));
    }
  }

  @Test
  void renamingNodesChangesNamesOnly() {
    List<Node> nodes = ClusterFixtures.block("b", 2);
    ClusterFixtures.state(nodes, "2x2x1", "b-c0-v3", "UNHEALTHY");
    nodes.addAll(ClusterFixtures.subslicing("v6e", "4x8"));
    Cluster before = strict(nodes);
    for (Node node : nodes) {
      // In the same order, so that nothing moves within its partition.
      String name = "renamed-" + node.getMetadata().getName();
      node.getMetadata().setName(name);
      labels(node).put(TpuLabels.HOSTNAME, name);
    }
    Cluster after = strict(nodes);

    assertThat(ClusterText.of(after).replace("renamed-", "")).isEqualTo(ClusterText.of(before));
  }

  @Test
  void hostsStandByNumberNotByText() {
    List<Node> nodes = ClusterFixtures.pool("p", "tpu-v5p-slice", "4x4x4");
    Collections.reverse(nodes);

    List<String> order = strict(nodes).domains().domain("nodepool/p").orElseThrow().nodes();

    assertThat(order.subList(0, 3)).containsExactly("p-0", "p-1", "p-2");
    assertThat(order.get(15)).isEqualTo("p-15");
  }

  @Test
  void platformIdsThatLookNestedAreNotTakenAtTheirWord() {
    // The texts say that the halves lie the other way round; the labels of the nodes decide.
    List<Node> nodes = ClusterFixtures.block("b", 1);
    for (int h = 0; h < nodes.size(); h++) {
      labels(nodes.get(h)).put(idLabel("2x4x4"), h < 8 ? "b-c0-q3-of-e7" : "b-c0-v0");
    }
    Domain domain = strict(nodes).domains().domain("block/b").orElseThrow();
    PartitionForest forest = domain.topology().partitions().orElseThrow();

    PartitionId quarter = domain.partition(Shape.parse("2x2x4"), "b-c0-q0").orElseThrow();
    assertThat(domain.platformId(forest.parent(quarter).orElseThrow())).isEqualTo("b-c0-q3-of-e7");
  }

  // ---------------------------------------------------------------- what the pods can do

  @ParameterizedTest
  @CsvSource({"4x4x4,false", "4x4x8,true", "4x8x8,true"})
  void aStaticPoolOfWholeCubesServesWhoNeedsATorus(String topology, boolean twistable) {
    Fleet fleet = strict(ClusterFixtures.pool("p", "tpu-v5p-slice", topology)).fleet();

    SliceRequest torus =
        SliceRequest.builder("r").shape(topology).interconnect(Interconnect.WRAPAROUND).build();
    assertThat(plan(fleet, torus).placement("r")).isPresent();
    SliceRequest twisted =
        SliceRequest.builder("r").shape(topology).interconnect(Interconnect.TWISTED).build();
    assertThat(plan(fleet, twisted).placement("r").isPresent()).isEqualTo(twistable);
  }

  @ParameterizedTest
  @ValueSource(strings = {"2x2x2", "2x2x4", "2x4x4"})
  void aStaticPoolOfLessThanACubeIsAMeshAndTakesNothingElse(String topology) {
    Fleet fleet = strict(ClusterFixtures.pool("p", "tpu-v4-podslice", topology)).fleet();

    assertThat(plan(fleet, SliceRequest.builder("r").shape(topology).build()).placement("r"))
        .isPresent();
    assertThat(
            plan(
                    fleet,
                    SliceRequest.builder("r")
                        .shape(topology)
                        .interconnect(Interconnect.WRAPAROUND)
                        .build())
                .placement("r"))
        .isEmpty();
    assertThat(plan(fleet, SliceRequest.builder("r").shape("2x2x1").build()).placement("r"))
        .isEmpty();
  }

  @Test
  void aCubeWhoseHalvesDoNotJoinServesHalvesOnly() {
    List<Node> nodes = ClusterFixtures.block("b", 1);
    ClusterFixtures.state(nodes, "4x4x4", "b-c0", "UNHEALTHY");
    Fleet fleet = strict(nodes).fleet();

    assertThat(plan(fleet, SliceRequest.builder("r").shape("4x4x4").build()).placement("r"))
        .isEmpty();
    Plan halves = plan(fleet, SliceRequest.builder("r").shape("2x4x4").slices(2).build());
    assertThat(halves.placement("r").orElseThrow().slices()).hasSize(2);
  }

  /** Every state at every level: a footprint is as bad as the worst of what it is and holds. */
  @Property(tries = 80)
  void aPartitionIsAsBadAsTheWorstStateInIt(@ForAll long seed) {
    Random random = new Random(seed);
    List<Node> nodes = ClusterFixtures.block("b", 1);
    Map<String, Health> given = new TreeMap<>();
    for (int i = 0; i < 1 + random.nextInt(4); i++) {
      String shape = SHAPES.get(random.nextInt(SHAPES.size()));
      Node node = nodes.get(random.nextInt(nodes.size()));
      boolean failed = random.nextBoolean();
      String id = labels(node).get(idLabel(shape));
      ClusterFixtures.state(nodes, shape, id, failed ? "UNHEALTHY" : "DEGRADED");
      given.put(shape + " " + id, failed ? Health.FAILED : Health.DEGRADED);
    }

    Cluster cluster = strict(nodes);

    Domain domain = cluster.domains().domain("block/b").orElseThrow();
    Pod pod = pod(cluster, "block/b");
    TpuTopology t = domain.topology();
    PartitionForest forest = t.partitions().orElseThrow();
    for (PartitionId id : forest.ids()) {
      Health expected = worst(domain, forest, id, given);
      Footprint footprint =
          forest.parent(id).isEmpty()
              ? new Footprint.Cubes(List.of(new CubeId(0)))
              : new Footprint.Partition(id);
      assertThat(pod.healthOf(footprint))
          .as("%s %s of %s", forest.shape(id), domain.platformId(id), given)
          .isEqualTo(expected);
    }
  }

  private static Health worst(
      Domain domain, PartitionForest forest, PartitionId id, Map<String, Health> given) {
    String key = SliceManifest.platformForm(forest.shape(id)) + " " + domain.platformId(id);
    Health worst = given.getOrDefault(key, Health.HEALTHY);
    for (PartitionId child : forest.children(id)) {
      Health below = worst(domain, forest, child, given);
      worst = below.compareTo(worst) > 0 ? below : worst;
    }
    return worst;
  }

  // ---------------------------------------------------------------- kinds

  @Test
  void aDynamicNodeThatASliceHasTakenStaysInItsBlock() {
    List<Node> nodes = ClusterFixtures.block("b", 1);
    for (Node node : nodes) {
      labels(node).put(TpuLabels.SLICE, "s");
      labels(node).put(TpuLabels.SLICE_TOPOLOGY, "4x4x4");
      labels(node).put(TpuLabels.TOPOLOGY, "4x4x4");
    }
    Cluster cluster = LENIENT.read(nodes);

    assertThat(cluster.fleet().pods()).extracting(Pod::id).containsExactly("block/b");
    assertThat(pod(cluster, "block/b").labels())
        .doesNotContainKeys(TpuLabels.SLICE, TpuLabels.SLICE_TOPOLOGY, TpuLabels.TOPOLOGY)
        .containsEntry(TpuLabels.OWN_POD, "block/b")
        .containsEntry(TpuLabels.BLOCK, "b");
  }

  @Test
  void labelsThatVaryAreNoLabelsOfThePod() {
    Domain domain = strict(ClusterFixtures.block("b", 2)).domains().domain("block/b").orElseThrow();

    assertThat(domain.varyingLabels())
        .contains(TpuLabels.HOSTNAME, TpuLabels.NODE_POOL, TpuLabels.SUBBLOCK, TpuLabels.SLICE);
    assertThat(domain.labels().keySet()).doesNotContainAnyElementsOf(domain.varyingLabels());
  }

  @ParameterizedTest
  @CsvSource({
    "tpu-v6e-slice,1x1,1,1x1", "tpu-v6e-slice,2x2,4,2x2", "tpu-v6e-slice,2x4,8,2x4",
    "tpu-v5-lite-podslice,2x4,8,2x4", "tpu-v5-lite-device,2x2,4,2x2", "tpu7,2x2x1,4,2x2x1",
    "tpu-v4-podslice,1x2x2,4,2x2x1"
  })
  void aPoolOfOneHostIsANodeOfItsOwn(String accelerator, String topology, int chips, String tile) {
    Cluster cluster =
        strict(List.of(ClusterFixtures.single("n", "p", accelerator, topology, chips)));

    TpuTopology t = pod(cluster, "node/n").topology();
    assertThat(t.hostTile()).isEqualTo(Shape.parse(tile));
    assertThat(t.legalShapes()).containsExactly(Shape.parse(tile));
  }

  @Test
  void nodesWithoutTpusArePassedOver() {
    Node bare = new Node();
    Cluster cluster = strict(List.of(ClusterFixtures.plain("cpu"), bare));

    assertThat(cluster.fleet().pods()).isEmpty();
    assertThat(cluster.problems()).isEmpty();
    assertThat(cluster.leftOut()).isEmpty();
  }

  @Test
  void aPoolWhoseNodesHaveNoAllocatableYetHasTheUsualHosts() {
    List<Node> nodes = ClusterFixtures.pool("p", "tpu-v6e-slice", "4x4");
    nodes.forEach(node -> node.setStatus(null));

    Pod pod = pod(strict(nodes), "nodepool/p");
    assertThat(pod.topology().hostTile()).isEqualTo(Shape.of(2, 2));
    assertThat(pod.reportedHealth()).isEmpty(); // no condition at all is ready
  }

  @Test
  void chipsThatADevicePluginHasLostMakeTheHostFailed() {
    List<Node> nodes = ClusterFixtures.pool("p", "tpu-v6e-slice", "4x4");
    nodes
        .get(1)
        .getStatus()
        .setAllocatable(Map.of(TpuLabels.TPU, new io.fabric8.kubernetes.api.model.Quantity("3")));

    assertThat(pod(strict(nodes), "nodepool/p").reportedHealth())
        .containsOnly(Map.entry(new dev.slicewright.fleet.Part.Host(new HostId(1)), Health.FAILED));
  }

  @Test
  void aNodeAsAGenericResourceIsANode() {
    GenericKubernetesResource node = new GenericKubernetesResource();
    node.setApiVersion("v1");
    node.setKind("Node");
    Node typed = ClusterFixtures.single("n", "p", "tpu-v6e-slice", "2x2", 4);
    node.setMetadata(typed.getMetadata());
    node.setAdditionalProperty("status", Map.of("allocatable", Map.of(TpuLabels.TPU, "4")));

    assertThat(strict(List.of(node)).fleet().pod("node/n")).isPresent();

    node.setAdditionalProperty("status", List.of("nonsense"));
    Cluster lenient = LENIENT.read(List.of(node));
    assertThat(lenient.problems()).extracting(Problem::path).containsExactly("Node/n");
    assertThat(lenient.leftOut()).hasSize(1);
  }

  // ---------------------------------------------------------------- wrong labels

  private static void assertLeavesOut(List<Node> nodes, String path, String... leftOut) {
    assertThatThrownBy(() -> strict(nodes))
        .isInstanceOfSatisfying(
            InvalidInputException.class,
            e -> assertThat(e.problems()).extracting(Problem::path).contains(path));
    Cluster lenient = LENIENT.read(nodes);
    assertThat(lenient.problems()).extracting(Problem::path).contains(path);
    assertThat(lenient.leftOut())
        .extracting(left -> left.object().name())
        .containsExactlyInAnyOrder(leftOut);
    for (String name : leftOut) {
      assertThat(lenient.host(name)).isEmpty();
    }
    int kept = lenient.fleet().pods().stream().mapToInt(p -> p.topology().hostCount()).sum();
    assertThat(kept).isGreaterThanOrEqualTo(nodes.size() - leftOut.length);
  }

  @Test
  void aNodeInAnotherBlockThanItsCubeIsLeftOut() {
    List<Node> nodes = ClusterFixtures.block("b", 2);
    labels(nodes.get(20)).put(TpuLabels.BLOCK, "other");

    assertLeavesOut(nodes, "Node/b-1-4.metadata.labels[" + idLabel("4x4x4") + "]", "b-1-4");
    assertThat(LENIENT.read(nodes).fleet().pod("block/other")).isEmpty();
  }

  @Test
  void aCubeHalfInEachOfTwoBlocksIsLeftOutWhole() {
    List<Node> nodes = ClusterFixtures.block("b", 2);
    for (int h = 0; h < 8; h++) {
      labels(nodes.get(h)).put(TpuLabels.BLOCK, "other");
    }
    Cluster lenient = LENIENT.read(nodes);

    assertThat(lenient.leftOut()).hasSize(16);
    assertThat(pod(lenient, "block/b").topology().cubeNames()).containsExactly("b-c1");
  }

  @ParameterizedTest
  @ValueSource(strings = {"2x4x4", "2x2x4", "2x2x2"})
  void aPartitionWithTwoParentsLosesTheOddNode(String shape) {
    List<Node> nodes = ClusterFixtures.block("b", 2);
    // A node of the first cube claims to be in a partition of the second.
    labels(nodes.get(3)).put(idLabel(shape), labels(nodes.get(19)).get(idLabel(shape)));

    Cluster lenient = LENIENT.read(nodes);
    assertThat(lenient.leftOut()).extracting(left -> left.object().name()).contains("b-0-3");
    assertThat(lenient.host("b-0-3")).isEmpty();
    assertThat(lenient.host("b-1-3")).isPresent();
    assertThat(pod(lenient, "block/b").topology().cubeCount()).isEqualTo(2);
  }

  @Test
  void twoNodesThatAreTheSameHostCostTheirCube() {
    List<Node> nodes = ClusterFixtures.block("b", 2);
    labels(nodes.get(5)).put(idLabel("2x2x1"), labels(nodes.get(4)).get(idLabel("2x2x1")));

    assertLeavesOut(
        nodes,
        "Node/b-0-5",
        nodes.subList(0, 16).stream().map(n -> n.getMetadata().getName()).toArray(String[]::new));
  }

  @Test
  void tooManyPartitionsCostTheirCube() {
    List<Node> nodes = ClusterFixtures.block("b", 2);
    labels(nodes.get(4)).put(idLabel("2x2x2"), "stray");
    Cluster lenient = LENIENT.read(nodes);

    assertThat(lenient.problems())
        .extracting(Problem::path)
        .contains("Node/b-0-4.metadata.labels[" + idLabel("2x2x2") + "]");
    assertThat(pod(lenient, "block/b").topology().cubeNames()).containsExactly("b-c1");
  }

  @Test
  void aNodeWithoutOneOfTheIdsOfItsCubeIsLeftOut() {
    List<Node> nodes = ClusterFixtures.block("b", 1);
    labels(nodes.get(9)).remove(idLabel("2x2x4"));

    assertLeavesOut(nodes, "Node/b-0-9.metadata.labels[" + idLabel("2x2x4") + "]", "b-0-9");
  }

  @Test
  void aCubeWithoutLabelsOfSmallerPartitionsServesWholeCubes() {
    List<Node> nodes = ClusterFixtures.block("b", 2);
    for (Node node : nodes) {
      labels(node)
          .keySet()
          .removeIf(k -> k.startsWith(TpuLabels.PARTITION_PREFIX) && !k.contains("4x4x4"));
    }
    TpuTopology t = pod(strict(nodes), "block/b").topology();

    assertThat(t.isLegal(Shape.parse("4x4x8"))).isTrue();
    assertThat(t.isLegal(Shape.parse("2x4x4"))).isFalse();
  }

  @Test
  void shapesInLabelsMayHaveAnyOrderAndCase() {
    List<Node> nodes = ClusterFixtures.block("b", 1);
    for (Node node : nodes) {
      labels(node)
          .put(TpuLabels.PARTITION_PREFIX + "4X4X2-id", labels(node).remove(idLabel("2x4x4")));
      labels(node).remove(TpuLabels.PARTITION_PREFIX + "2x4x4-state");
      labels(node).put(TpuLabels.PARTITION_PREFIX + "4X4X2-state", "DEGRADED");
    }
    Cluster cluster = strict(nodes);
    Domain domain = cluster.domains().domain("block/b").orElseThrow();

    PartitionId half = domain.partition(Shape.parse("2x4x4"), "b-c0-h1").orElseThrow();
    assertThat(pod(cluster, "block/b").healthOf(new Footprint.Partition(half)))
        .isEqualTo(Health.DEGRADED);
    assertThat(domain.idLabel(Shape.parse("2x4x4")))
        .isEqualTo(TpuLabels.PARTITION_PREFIX + "4X4X2-id");
  }

  @Test
  void aMissingNodeIsAFailedHostInItsPlace() {
    List<Node> nodes = ClusterFixtures.block("b", 2);
    nodes.remove(6);
    Cluster lenient = LENIENT.read(nodes);

    assertThat(lenient.problems()).hasSize(1);
    assertThat(lenient.leftOut()).isEmpty();
    Pod pod = pod(lenient, "block/b");
    assertThat(pod.topology().hostCount()).isEqualTo(32);
    Domain domain = lenient.domains().domain("block/b").orElseThrow();
    int missing = domain.nodes().indexOf("");
    assertThat(lenient.node("block/b", new HostId(missing))).isEmpty();
    // Its pair, quarter, half and cube are of no use; the rest is.
    PartitionId pair = domain.partition(Shape.parse("2x2x2"), "b-c0-e3").orElseThrow();
    PartitionId half = domain.partition(Shape.parse("2x4x4"), "b-c0-h1").orElseThrow();
    assertThat(pod.healthOf(new Footprint.Partition(pair))).isEqualTo(Health.FAILED);
    assertThat(pod.healthOf(new Footprint.Partition(half))).isEqualTo(Health.HEALTHY);
    assertThat(
            plan(lenient.fleet(), SliceRequest.builder("r").shape("4x4x8").build()).placement("r"))
        .isEmpty();
  }

  @Test
  void missingPartitionsAreFilledUp() {
    List<Node> nodes = ClusterFixtures.block("b", 1).subList(0, 5);
    PartitionForest forest =
        pod(LENIENT.read(nodes), "block/b").topology().partitions().orElseThrow();

    assertThat(forest.size()).isEqualTo(31);
    for (String shape : SHAPES) {
      assertThat(forest.ofShape(Shape.parse(shape))).hasSize(64 / (int) Shape.parse(shape).chips());
    }
  }

  @Test
  @DisplayName("a node listed twice is a problem; the later is taken")
  void duplicateNodes() {
    Node first = ClusterFixtures.single("n", "p", "tpu-v6e-slice", "2x2", 4);
    Node second = ClusterFixtures.single("n", "p", "tpu-v6e-slice", "2x2", 4);
    ClusterFixtures.ready(second, "False");

    assertThatThrownBy(() -> strict(List.of(first, second)))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("Node/n");
    Cluster lenient = LENIENT.read(List.of(first, second));
    assertThat(pod(lenient, "node/n").reportedHealth()).hasSize(1);
    // Mended by what comes next.
    assertThat(lenient.update(List.of(first), List.of()).problems()).isEmpty();
  }

  // ---------------------------------------------------------------- nothing throws, nothing leaks

  /** Any field of any object may be missing. */
  @Property(tries = 200)
  void nullsAnywhereEndInAClusterOrProblems(@ForAll long seed) {
    Random random = new Random(seed);
    List<Node> nodes = new ArrayList<>(ClusterFixtures.block("b", 1));
    nodes.addAll(ClusterFixtures.subslicing("v6e", "4x4"));
    nodes.addAll(ClusterFixtures.pool("v5p", "tpu-v5p-slice", "2x2x4"));
    for (int i = 0; i < 1 + random.nextInt(5); i++) {
      Node node = nodes.get(random.nextInt(nodes.size()));
      switch (random.nextInt(12)) {
        case 0 -> node.setMetadata(null);
        case 1 -> node.setSpec(null);
        case 2 -> node.setStatus(null);
        case 3 -> node.setMetadata(new ObjectMeta());
        case 4 -> node.setSpec(new NodeSpec());
        case 5 -> node.setStatus(new NodeStatus());
        case 6 ->
            spec(node).setTaints(Arrays.asList(null, new io.fabric8.kubernetes.api.model.Taint()));
        case 7 -> status(node).setConditions(Collections.singletonList(null));
        case 8 -> status(node).setAllocatable(Collections.singletonMap(TpuLabels.TPU, null));
        case 9 ->
            status(node)
                .setAllocatable(
                    Map.of(TpuLabels.TPU, new io.fabric8.kubernetes.api.model.Quantity()));
        case 10 -> {
          Map<String, String> odd = new HashMap<>();
          odd.put(TpuLabels.ACCELERATOR, "tpu7x");
          odd.put(idLabel("4x4x4"), null);
          odd.put(null, "x");
          meta(node).setLabels(odd);
        }
        default -> node.setKind(null);
      }
    }
    Cluster cluster = LENIENT.read(nodes);
    List<String> named = new ArrayList<>(cluster.problems().stream().map(Problem::path).toList());
    cluster.leftOut().forEach(left -> named.add(left.object().path()));
    for (Node node : nodes) {
      String name = ObjectRef.of(node).name();
      if (Generic.labels(node).containsKey(TpuLabels.ACCELERATOR)) {
        assertThat(
                cluster.host(name).isPresent()
                    || named.stream().anyMatch(path -> path.startsWith("Node/" + name)))
            .as("%s is in the fleet or named", name)
            .isTrue();
      }
    }
    assertThat(ClusterText.of(LENIENT.read(nodes))).isEqualTo(ClusterText.of(cluster));
  }

  private static NodeSpec spec(Node node) {
    if (node.getSpec() == null) {
      node.setSpec(new NodeSpec());
    }
    return node.getSpec();
  }

  private static NodeStatus status(Node node) {
    if (node.getStatus() == null) {
      node.setStatus(new NodeStatus());
    }
    return node.getStatus();
  }

  private static ObjectMeta meta(Node node) {
    if (node.getMetadata() == null) {
      node.setMetadata(new ObjectMeta());
    }
    return node.getMetadata();
  }

  @Test
  void changingAnObjectAfterwardsChangesNothing() {
    List<Node> nodes = ClusterFixtures.block("b", 2);
    List<HasMetadata> objects = new ArrayList<>(ClusterFixtures.fill(nodes, "b", 1, 3));
    objects.addAll(nodes);
    objects.addAll(ClusterFixtures.waiting(2, 1));
    Cluster cluster = strict(objects);
    String before = ClusterText.of(cluster);

    for (HasMetadata object : objects) {
      object.getMetadata().setName("changed");
      if (object.getMetadata().getLabels() != null) {
        object.getMetadata().getLabels().clear();
      }
      if (object instanceof GenericKubernetesResource resource) {
        resource.getAdditionalProperties().clear();
      }
      if (object instanceof io.fabric8.kubernetes.api.model.Pod pod) {
        pod.getSpec().getContainers().clear();
      }
      if (object instanceof io.fabric8.kubernetes.api.model.batch.v1.Job job) {
        job.getSpec().setTemplate(null);
      }
    }

    // Anything new makes all work be looked at again.
    Cluster after =
        cluster
            .update(List.of(ClusterFixtures.job("x", "y", "tpu7x", "4x4x4", 0)), List.of())
            .update(List.of(), List.of(new ObjectRef("batch/v1", "Job", "x", "y")));
    assertThat(ClusterText.of(after)).isEqualTo(before);
  }

  @Test
  void lookUpsOfWhatIsNotThereAreEmpty() {
    Cluster cluster = strict(ClusterFixtures.pool("p", "tpu-v6e-slice", "4x4"));

    assertThat(cluster.host("nobody")).isEqualTo(Optional.empty());
    assertThat(cluster.node("nowhere", new HostId(0))).isEmpty();
    assertThat(cluster.node("nodepool/p", new HostId(4))).isEmpty();
    assertThat(cluster.node("nodepool/p", new HostId(-1))).isEmpty();
    assertThat(cluster.node("nodepool/p", new HostId(3))).contains("p-3");
    assertThat(cluster.workload("nothing")).isEmpty();
  }

  @Test
  void aNodeWithoutANameIsNotTheMissingNodeOfItsPartition() {
    List<Node> nodes = ClusterFixtures.block("a", 1);
    nodes.get(3).getMetadata().setName(null);

    Cluster cluster = LENIENT.read(nodes);

    Domain block = cluster.domains().domain("block/a").orElseThrow();
    assertThat(block.health()).containsEntry(new Part.Host(new HostId(3)), Health.FAILED);
  }

  // ---------------------------------------------------------------- one odd node

  private static void assertOdd(List<Node> nodes, String node, String label, String... words) {
    List<HasMetadata> objects = new ArrayList<>(nodes);
    assertThatThrownBy(() -> strict(objects)).isInstanceOf(InvalidInputException.class);
    Cluster cluster = LENIENT.read(objects);
    assertThat(cluster.problems())
        .filteredOn(problem -> problem.path().equals(NodeFacts.path(node, label)))
        .singleElement()
        .satisfies(problem -> assertThat(problem.message()).contains(words));
    assertThat(cluster.host(node)).isEmpty();
    for (Node other : nodes) {
      String name = other.getMetadata().getName();
      assertThat(cluster.host(name).isPresent()).as(name).isEqualTo(!name.equals(node));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"tpu7", "tpu-v6e-slice", "tpu-v5p-slice", "tpu-v5-lite-podslice"})
  void oneNodeOfAnotherAcceleratorInABlockIsItsOwnProblem(String accelerator) {
    List<Node> nodes = ClusterFixtures.block("b", 2);
    labels(nodes.get(5)).put(TpuLabels.ACCELERATOR, accelerator);
    assertOdd(nodes, "b-0-5", TpuLabels.ACCELERATOR, "expected tpu7x", "was " + accelerator);

    // The rest of the block takes work all the same.
    List<HasMetadata> objects = new ArrayList<>(nodes);
    objects.add(ClusterFixtures.job("a", "j", "tpu7x", "4x4x4", 0));
    Cluster cluster = LENIENT.read(objects);
    assertThat(cluster.requests()).hasSize(1);
    Plan plan = plan(cluster.fleet(), cluster.requests().get(0));
    assertThat(plan.unplaced()).isEmpty();
  }

  /** A selector of 4x8 does not match a node that says 8x4. */
  @Test
  void oneNodeThatSpellsThePoolsTopologyOtherwiseIsItsOwnProblem() {
    List<Node> nodes = ClusterFixtures.pool("p", "tpu-v6e-slice", "4x8");
    labels(nodes.get(3)).put(TpuLabels.TOPOLOGY, "8x4");
    assertOdd(nodes, "p-3", TpuLabels.TOPOLOGY, "expected 4x8", "was 8x4");
  }

  @Test
  void aLabelThatFewNodesLackIsAProblemThatNamesThem() {
    String zone = "topology.kubernetes.io/zone";
    for (int odd : List.of(1, 3, 5)) {
      List<Node> nodes = ClusterFixtures.block("b", 4);
      for (int i = 0; i < odd; i++) {
        labels(nodes.get(20 + i)).remove(zone);
      }
      List<HasMetadata> objects = new ArrayList<>(nodes);
      io.fabric8.kubernetes.api.model.batch.v1.Job job =
          ClusterFixtures.job("a", "j", "tpu7x", "4x4x4", 0);
      Map<String, String> selector =
          new TreeMap<>(job.getSpec().getTemplate().getSpec().getNodeSelector());
      selector.put(zone, "us-central1-c");
      job.getSpec().getTemplate().getSpec().setNodeSelector(selector);
      objects.add(job);
      assertThat(LENIENT.read(objects).problems())
          .singleElement()
          .satisfies(
              problem ->
                  assertThat(problem.message())
                      .contains("differ in " + zone)
                      .contains(
                          odd == 1
                              ? "(b-1-4 from most)"
                              : odd == 3
                                  ? "(b-1-4, b-1-5, b-1-6 from most)"
                                  : "(b-1-4, b-1-5, b-1-6 and 2 more from most)"));
    }
  }

  // ---------------------------------------------------------------- names of hosts left out

  private static List<String> strangeHosts(Cluster cluster, String pod) {
    TpuTopology topology = pod(cluster, pod).topology();
    List<String> strange = new ArrayList<>();
    for (int host = 0; host < topology.hostCount(); host++) {
      String name = topology.hostName(new HostId(host));
      if (cluster.host(name).isEmpty()) {
        strange.add(name);
      }
    }
    return strange;
  }

  @Test
  void aHostWhoseNodeIsLeftOutHasItsNameWhereItIsKnown() {
    List<Node> nodes = ClusterFixtures.block("b", 3);
    labels(nodes.get(33)).put(TpuLabels.ACCELERATOR, "tpu9"); // unknown
    labels(nodes.get(20)).put(TpuLabels.ACCELERATOR, "tpu7"); // odd
    Cluster cluster = LENIENT.read(nodes);
    assertThat(strangeHosts(cluster, "block/b")).containsExactly("b-1-4", "b-2-1");
    assertThat(cluster.host("b-2-1")).isEmpty();

    // An update says the same as reading anew.
    Node gone = nodes.remove(33);
    Cluster without = cluster.update(List.of(), List.of(ObjectRef.of(gone)));
    assertThat(strangeHosts(without, "block/b")).containsExactly("b-1-4", "missing/33");
    Cluster back = without.update(List.of(gone), List.of());
    assertThat(strangeHosts(back, "block/b")).containsExactly("b-1-4", "b-2-1");
    labels(gone).remove(idLabel("4x4x4"));
    assertThat(strangeHosts(back.update(List.of(gone), List.of()), "block/b"))
        .containsExactly("b-1-4", "missing/33");
  }

  @Test
  void aHostThatCouldBeOneOfTwoNodesHasNeithersName() {
    List<Node> nodes = ClusterFixtures.block("b", 1);
    labels(nodes.get(2)).put(TpuLabels.ACCELERATOR, "tpu9");
    labels(nodes.get(3)).put(TpuLabels.ACCELERATOR, "tpu9");
    assertThat(strangeHosts(LENIENT.read(nodes), "block/b"))
        .containsExactly("missing/2", "missing/3");

    List<Node> pool = ClusterFixtures.pool("p", "tpu-v6e-slice", "4x8");
    labels(pool.get(3)).put(TpuLabels.TOPOLOGY, "8x4");
    assertThat(strangeHosts(LENIENT.read(pool), "nodepool/p")).containsExactly("p-3");
    labels(pool.get(4)).put(TpuLabels.TOPOLOGY, "8x4");
    assertThat(strangeHosts(LENIENT.read(pool), "nodepool/p"))
        .allMatch(name -> name.startsWith("missing/"));
  }
}
