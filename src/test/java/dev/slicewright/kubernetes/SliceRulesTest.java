package dev.slicewright.kubernetes;

import static dev.slicewright.kubernetes.Tpu7xNodes.cube;
import static dev.slicewright.kubernetes.Tpu7xNodes.id;
import static dev.slicewright.kubernetes.Tpu7xNodes.idLabel;
import static dev.slicewright.kubernetes.Tpu7xNodes.stateLabel;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.slicewright.Problem;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class SliceRulesTest {

  // ---- one object

  @Test
  void theExampleOfTheDocumentationIsSound() {
    assertThat(
            SliceRules.check(
                slice(
                    "test-slice",
                    "4x4x8",
                    "a9476d1b02bd4f4e75ffffae3bd23c01",
                    "ba898ffcac0ad0946e8ff036d771ee53")))
        .isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "2x2x1, 1",
    "2x2x2, 1",
    "2x2x4, 1",
    "2x4x4, 1",
    "4x4x4, 1",
    "4x4x8, 2",
    "8x8x8, 8",
    "12x12x24, 54",
    "16x24x24, 144",
    "4x4x576, 144"
  })
  void everyPublishedShapeIsSoundWithItsNumberOfPartitions(String topology, int partitions) {
    assertThat(SliceRules.check(slice("s", topology, ids(partitions)))).isEmpty();
    assertThat(SliceRules.check(slice("s", topology, ids(partitions + 1))))
        .singleElement()
        .matches(p -> p.path().equals("Slice/s.spec.partitionIds"))
        .matches(p -> p.message().contains("expected " + partitions + " id"))
        .matches(p -> p.message().endsWith("was " + (partitions + 1)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "4x8x4", "8x4x4", "4x4x6", "2x2x8", "2x4x8", "1x1x1", "2x4x2", "4x2x2", "4x4", "4x4x4x4",
        "4X4X8", "4x4x", "x4x4", "4x4x8 ", "04x4x4", "-4x4x4", "0x4x4", "0x0x0", "4.0x4x4", "",
        "cube", "4x4x9999999999999999999999"
      })
  void everyOtherTopologyIsNamed(String topology) {
    List<Problem> problems = SliceRules.check(slice("s", topology, ids(1)));
    assertThat(problems).extracting(Problem::path).containsOnly("Slice/s.spec.topology");
    assertThat(problems.get(0).message()).contains("\"" + topology + "\"");
  }

  @ParameterizedTest
  @ValueSource(strings = {"16x24x28", "4x4x580", "96x96x96", "999999996x999999996x999999996"})
  void moreChipsThanABlockHasAreRefused(String topology) {
    assertThat(SliceRules.check(slice("s", topology, ids(1))))
        .singleElement()
        .matches(p -> p.message().contains("at most 9216 chips"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"a", "a1", "a-1", "a--b", "abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuv"})
  void namesWithinTheRuleAreSound(String name) {
    assertThat(name.length()).isLessThanOrEqualTo(49);
    assertThat(SliceRules.check(slice(name, "4x4x4", "c1"))).isEmpty();
  }

  static Stream<Arguments> plantedErrors() {
    return Stream.of(
        planted(s -> s.setApiVersion("accelerator.gke.io/v1"), ".apiVersion", "v1beta1, was"),
        planted(s -> s.setApiVersion("accelerator.gke.io/v1alpha1"), ".apiVersion", "v1alpha1"),
        planted(s -> s.setApiVersion(null), ".apiVersion", "was nothing"),
        arguments(change(s -> s.setKind("Slices")), "Slices/train-a.kind", "\"Slices\""),
        arguments(change(s -> s.setMetadata(null)), "Slice/.metadata.name", "was nothing"),
        named(null, "was nothing"),
        named("", "was \"\" of 0"),
        named("1train", "\"1train\""),
        named("train-", "\"train-\""),
        named("-train", "\"-train\""),
        named("Train", "\"Train\""),
        named("train_a", "\"train_a\""),
        named("train.a", "\"train.a\""),
        named("train\n", "a lowercase letter"),
        named("abcdefghijklmnopqrstuvwxyz-abcdefghijklmnopqrstuvw", "of 50"),
        arguments(
            change(s -> s.getMetadata().setNamespace("team-a")),
            "Slice/team-a/train-a.metadata.namespace",
            "whole cluster"),
        planted(
            s -> s.getMetadata().setLabels(Map.of("team", "a b")), ".metadata.labels[team]", "a b"),
        planted(
            s -> s.getMetadata().setLabels(Map.of("team", "x".repeat(64))),
            ".metadata.labels[team]",
            "at most 63"),
        planted(
            s -> s.getMetadata().setLabels(Map.of("", "x")),
            ".metadata.labels[]",
            "expected a key"),
        planted(
            s -> s.getMetadata().setLabels(Map.of("Example.com/a", "x")),
            ".metadata.labels[Example.com/a]",
            "DNS"),
        planted(
            s -> s.getMetadata().setLabels(Map.of("a/b/c", "x")),
            ".metadata.labels[a/b/c]",
            "expected a key"),
        planted(
            s -> s.getMetadata().setAnnotations(Map.of("example.com/" + "k".repeat(64), "x")),
            ".metadata.annotations[example.com/" + "k".repeat(64) + "]",
            "at most 63"),
        planted(
            s -> s.getMetadata().setAnnotations(Map.of("a", "ü".repeat(131_072))),
            ".metadata.annotations",
            "262144 bytes of keys and values, was 262145"),
        planted(s -> s.setAdditionalProperties(null), ".spec", "was nothing"),
        planted(s -> s.setAdditionalProperty("spec", "x"), ".spec", "was \"x\""),
        planted(s -> s.setAdditionalProperty("speck", 1), ".speck", "no field of a Slice"),
        planted(s -> spec(s).put("partitionIDs", List.of()), ".spec.partitionIDs", "no field"),
        planted(s -> spec(s).put("twisted", true), ".spec.twisted", "partitionIds, topology, type"),
        planted(s -> spec(s).remove("type"), ".spec.type", "was nothing"),
        planted(s -> spec(s).put("type", "tpu-v6e-slice"), ".spec.type", "expected tpu7x"),
        planted(s -> spec(s).put("type", 7), ".spec.type", "was 7"),
        planted(s -> spec(s).remove("topology"), ".spec.topology", "was nothing"),
        planted(s -> spec(s).put("topology", 448), ".spec.topology", "was 448"),
        planted(s -> spec(s).remove("partitionIds"), ".spec.partitionIds", "was nothing"),
        planted(s -> spec(s).put("partitionIds", "c1"), ".spec.partitionIds", "was \"c1\""),
        planted(s -> spec(s).put("partitionIds", List.of()), ".spec.partitionIds", "empty list"),
        planted(
            s -> spec(s).put("partitionIds", List.of("c1")),
            ".spec.partitionIds",
            "expected 2 ids, one for each 64 of 128 chips, was 1"),
        planted(
            s -> spec(s).put("partitionIds", List.of("c1", "c1")),
            ".spec.partitionIds[1]",
            "\"c1\" again"),
        planted(
            s -> spec(s).put("partitionIds", List.of("c1", "")),
            ".spec.partitionIds[1]",
            "was \"\""),
        planted(
            s -> spec(s).put("partitionIds", List.of("c 1", "c2")),
            ".spec.partitionIds[0]",
            "as a label of nodes has it"),
        planted(
            s -> spec(s).put("partitionIds", List.of(1, "c2")), ".spec.partitionIds[0]", "was 1"),
        planted(
            s -> spec(s).put("partitionIds", Arrays.asList("c1", null)),
            ".spec.partitionIds[1]",
            "was nothing"));
  }

  private static Arguments planted(
      Consumer<GenericKubernetesResource> error, String path, String message) {
    return arguments(change(error), "Slice/train-a" + path, message);
  }

  private static Arguments named(String name, String message) {
    String path = "Slice/" + (name == null ? "" : name) + ".metadata.name";
    return arguments(change(s -> s.getMetadata().setName(name)), path, message);
  }

  private static Consumer<GenericKubernetesResource> change(
      Consumer<GenericKubernetesResource> change) {
    return change;
  }

  @ParameterizedTest(name = "{1}: {2}")
  @MethodSource("plantedErrors")
  void onePlantedErrorIsTheOneProblem(
      Consumer<GenericKubernetesResource> error, String path, String message) {
    GenericKubernetesResource slice = slice("train-a", "4x4x8", "c1", "c2");
    assertThat(SliceRules.check(slice)).isEmpty();
    error.accept(slice);
    assertThat(SliceRules.check(slice))
        .singleElement()
        .matches(p -> p.path().equals(path), "path " + path)
        .matches(p -> p.message().contains(message), "message with " + message);
  }

  @Test
  void allErrorsOfAnObjectAreListed() {
    GenericKubernetesResource slice = slice("Train", "8x4x6", "c1", "c1");
    slice.setApiVersion("v1");
    spec(slice).put("type", "v6e");
    assertThat(SliceRules.check(slice))
        .extracting(Problem::path)
        .containsExactly(
            "Slice/Train.apiVersion",
            "Slice/Train.metadata.name",
            "Slice/Train.spec.type",
            "Slice/Train.spec.topology",
            "Slice/Train.spec.topology",
            "Slice/Train.spec.partitionIds[1]");
    assertThat(SliceRules.check(new GenericKubernetesResource()))
        .extracting(Problem::path)
        .containsExactly("/.apiVersion", "/.kind", "/.metadata.name", "/.spec");
  }

  @Test
  void labelsAnnotationsAndStatusAreFree() {
    GenericKubernetesResource slice = slice("s", "4x4x4", "c1");
    slice.getMetadata().setLabels(Map.of("example.com/team", "", "a.B_c-1", "x".repeat(63)));
    slice.getMetadata().setAnnotations(Map.of("slice.gke.io/retry-on-failure", "true"));
    slice.setAdditionalProperty("status", Map.of("conditions", List.of()));
    assertThat(SliceRules.check(slice)).isEmpty();
    Map<String, String> nulls = new HashMap<>();
    nulls.put("key", null);
    slice.getMetadata().setLabels(nulls);
    slice.getMetadata().setAnnotations(nulls);
    assertThat(SliceRules.check(slice)).isEmpty();
  }

  // ---- changes

  @Test
  void aSpecNeverChanges() {
    GenericKubernetesResource before = slice("s", "4x4x8", "c1", "c2");
    assertThat(SliceRules.checkUpdate(before, slice("s", "4x4x8", "c1", "c2"))).isEmpty();
    assertThat(SliceRules.checkUpdate(before, slice("s", "4x4x8", "c2", "c1")))
        .extracting(Problem::path)
        .containsExactly("Slice/s.spec.partitionIds");
    assertThat(SliceRules.checkUpdate(before, slice("s", "4x4x4", "c1")))
        .extracting(Problem::path)
        .containsExactly("Slice/s.spec.partitionIds", "Slice/s.spec.topology");
    assertThat(SliceRules.checkUpdate(before, slice("t", "4x4x8", "c1", "c2")))
        .extracting(Problem::path)
        .containsExactly("Slice/t.metadata.name");
    GenericKubernetesResource broken = slice("s", "4x4x8", "c1", "c2");
    spec(broken).put("type", "v6e");
    assertThat(SliceRules.checkUpdate(before, broken))
        .extracting(Problem::path)
        .containsExactly("Slice/s.spec.type", "Slice/s.spec.type");
  }

  @Test
  void annotationsChangeFreely() {
    GenericKubernetesResource after = slice("s", "4x4x8", "c1", "c2");
    after.getMetadata().setAnnotations(Map.of("example.com/a", "b"));
    assertThat(SliceRules.checkUpdate(slice("s", "4x4x8", "c1", "c2"), after)).isEmpty();
  }

  // ---- an object and its cluster

  private final List<Node> nodes = new ArrayList<>();

  {
    nodes.addAll(cube("blk-a", "c1"));
    nodes.addAll(cube("blk-a", "c2"));
    nodes.addAll(cube("blk-a", "c3"));
    nodes.addAll(cube("blk-b", "d1"));
  }

  private List<Problem> against(
      GenericKubernetesResource slice, GenericKubernetesResource... existing) {
    return SliceRules.checkAgainst(slice, nodes, List.of(existing));
  }

  @Test
  void freePartitionsOfOneBlockAreSound() {
    assertThat(against(slice("s", "4x4x8", id("c3"), id("c1")))).isEmpty();
    for (String shape : Tpu7xNodes.SHAPES.keySet()) {
      int last = 16 / Tpu7xNodes.SHAPES.get(shape) - 1;
      assertThat(against(slice("s", shape, id("c2", shape, last)))).as(shape).isEmpty();
    }
  }

  @Test
  void whatIsWrongByItselfIsNotComparedWithNodes() {
    GenericKubernetesResource slice = slice("s", "4x8x4", "nowhere");
    assertThat(against(slice)).isEqualTo(SliceRules.check(slice)).isNotEmpty();
  }

  @Test
  void aPartitionThatNoNodeHasIsNamed() {
    assertThat(against(slice("s", "4x4x8", id("c1"), "nowhere")))
        .containsExactly(
            new Problem(
                "Slice/s.spec.partitionIds[1]",
                "expected a partition 4x4x4 of 16 nodes, but 0 have \"nowhere\" in their label "
                    + "cloud.google.com/gke-tpu-partition-4x4x4-id"));
  }

  @Test
  void anIdOfAnotherShapeIsNoPartition() {
    assertThat(against(slice("s", "2x2x2", id("c1", "2x2x4", 0))))
        .singleElement()
        .matches(p -> p.message().contains("partition 2x2x2 of 2 nodes, but 0"));
    assertThat(against(slice("s", "4x4x4", id("c1", "2x4x4", 0)))).hasSize(1);
  }

  @Test
  void aPartitionWithANodeMissingOrTooManyIsNamed() {
    nodes.remove(0);
    assertThat(against(slice("s", "4x4x4", id("c1"))))
        .singleElement()
        .matches(p -> p.message().contains("16 nodes, but 15"));
    nodes.get(20).getMetadata().getLabels().put(idLabel("2x2x2"), id("c3", "2x2x2", 0));
    assertThat(against(slice("s", "2x2x2", id("c3", "2x2x2", 0))))
        .singleElement()
        .matches(p -> p.message().contains("2 nodes, but 3"));
  }

  @Test
  void nodesOfTwoBlocksAreRefused() {
    assertThat(against(slice("s", "4x4x8", id("c1"), id("d1"))))
        .containsExactly(
            new Problem(
                "Slice/s.spec.partitionIds",
                "expected nodes of one reservation block, but they are of [blk-a, blk-b]"));
  }

  @Test
  void aNodeWithoutBlockIsNamed() {
    nodes.get(3).getMetadata().getLabels().remove(Tpu7xNodes.BLOCK);
    assertThat(against(slice("s", "4x4x4", id("c1"))))
        .singleElement()
        .matches(p -> p.message().endsWith("but node-c1-d has none"));
  }

  @Test
  void nodesOfAnotherAcceleratorAreRefused() {
    nodes.get(5).getMetadata().getLabels().put("cloud.google.com/gke-tpu-accelerator", "tpu-v5p");
    assertThat(against(slice("s", "4x4x4", id("c1"))))
        .singleElement()
        .matches(p -> p.message().contains("node-c1-f is \"tpu-v5p\""));
  }

  @ParameterizedTest
  @CsvSource({"HEALTHY, 0", "DEGRADED, 0", "UNHEALTHY, 1", "healthy, 1", "'', 1"})
  void onlyHealthyAndDegradedPartitionsAreUsable(String state, int problems) {
    nodes.get(7).getMetadata().getLabels().put(stateLabel("4x4x4"), state);
    assertThat(against(slice("s", "4x4x4", id("c1")))).hasSize(problems);
    // The state of another shape is not asked.
    assertThat(against(slice("s", "2x2x1", id("c1", "2x2x1", 7)))).isEmpty();
  }

  @Test
  void aStateThatNobodyReportsIsNoObstacle() {
    nodes.forEach(node -> node.getMetadata().getLabels().remove(stateLabel("4x4x4")));
    assertThat(against(slice("s", "4x4x4", id("c1")))).isEmpty();
  }

  @Test
  void nodesThatAreInAnotherSliceAreRefused() {
    nodes.get(9).getMetadata().getLabels().put(Tpu7xNodes.SLICE, "other");
    nodes.get(10).getMetadata().getLabels().put(Tpu7xNodes.SLICE, "other");
    assertThat(against(slice("s", "4x4x4", id("c1"))))
        .singleElement()
        .matches(p -> p.message().contains("node-c1-j is in \"other\""));
    assertThat(against(slice("other", "4x4x4", id("c1")))).as("its own").isEmpty();
    assertThat(against(slice("s", "2x4x4", id("c1", "2x4x4", 0)))).as("beside it").isEmpty();
  }

  @Test
  @DisplayName("The tpu-slice controller compares id strings only; nesting is seen by nodes")
  void aPartitionInsideAUsedOneIsTakenThoughItsIdIsAnother() {
    GenericKubernetesResource half = slice("half", "2x4x4", id("c1", "2x4x4", 0));
    assertThat(against(slice("s", "2x2x1", id("c1", "2x2x1", 7)), half))
        .containsExactly(
            new Problem(
                "Slice/s.spec.partitionIds",
                "expected partitions that are free, but some nodes are also in partition \""
                    + id("c1", "2x4x4", 0)
                    + "\" (2x4x4) of Slice/half"));
    assertThat(against(slice("s", "4x4x8", id("c2"), id("c1")), half)).hasSize(1);
    assertThat(against(slice("s", "2x2x1", id("c1", "2x2x1", 8)), half)).isEmpty();
    assertThat(against(slice("s", "4x4x8", id("c2"), id("c3")), half)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "SliceNotCreated, 1",
    "ACTIVATING, 1",
    "ACTIVE, 1",
    "ACTIVE_DEGRADED, 1",
    "DEACTIVATING, 1",
    "INCOMPLETE, 1",
    "SOMETHING_NEW, 1",
    "FAILED, 0",
    "SliceCreationFailed, 0"
  })
  void aSliceTakesItsNodesUnlessItHasFailed(String reason, int problems) {
    GenericKubernetesResource other = slice("other", "4x4x4", id("c1"));
    other.setAdditionalProperty(
        "status", Map.of("conditions", List.of(Map.of("type", "Ready", "reason", reason))));
    assertThat(against(slice("s", "4x4x4", id("c1")), other)).hasSize(problems);
  }

  @Test
  void nothingThatIsMissingInObjectsOfTheClusterMatters() {
    nodes.add(new Node());
    Node bare = new Node();
    bare.setMetadata(new ObjectMeta());
    nodes.add(bare);
    GenericKubernetesResource empty = new GenericKubernetesResource();
    GenericKubernetesResource odd = slice("odd", "4x4x4", "c1");
    spec(odd).put("partitionIds", Collections.singletonList(null));
    odd.setAdditionalProperty("status", Map.of("conditions", List.of("x")));
    assertThat(against(slice("s", "4x4x4", id("c1")), empty, odd)).isEmpty();
  }

  // ---- fixtures

  static GenericKubernetesResource slice(String name, String topology, String... partitionIds) {
    GenericKubernetesResource slice = new GenericKubernetesResource();
    slice.setApiVersion("accelerator.gke.io/v1beta1");
    slice.setKind("Slice");
    slice.setMetadata(new ObjectMetaBuilder().withName(name).build());
    Map<String, Object> spec = new HashMap<>();
    spec.put("type", "tpu7x");
    spec.put("topology", topology);
    spec.put("partitionIds", List.of(partitionIds));
    slice.setAdditionalProperty("spec", spec);
    return slice;
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> spec(GenericKubernetesResource slice) {
    return (Map<String, Object>) slice.getAdditionalProperties().get("spec");
  }

  private static String[] ids(int count) {
    return IntStream.range(0, count).mapToObj(i -> "c" + i).toArray(String[]::new);
  }
}
