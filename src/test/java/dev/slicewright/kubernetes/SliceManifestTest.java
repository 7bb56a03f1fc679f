package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.Problem;
import dev.slicewright.Problems;
import dev.slicewright.topology.Shape;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

class SliceManifestTest {

  private final Problems problems = new Problems();

  private static SliceManifest manifest(String topology, String... ids) {
    return new SliceManifest(
        "train-0",
        "tpu7x",
        Shape.parse(topology),
        List.of(ids),
        Map.of(TpuLabels.OWN_REQUEST, "Job/a/b"),
        null,
        false);
  }

  private Optional<SliceManifest> read(GenericKubernetesResource resource) {
    return SliceManifest.of(resource, problems);
  }

  private static GenericKubernetesResource with(String key, Object value) {
    GenericKubernetesResource resource = manifest("4x4x8", "c1", "c2").toResource();
    @SuppressWarnings("unchecked")
    Map<String, Object> spec = (Map<String, Object>) resource.getAdditionalProperties().get("spec");
    spec.put(key, value);
    return resource;
  }

  private List<String> paths() {
    return problems.list().stream().map(Problem::path).toList();
  }

  @ParameterizedTest
  @ValueSource(strings = {"4x4x8", "4x4x4", "2x2x1", "2x2x2", "2x4x4"})
  void whatIsWrittenIsReadBack(String topology) {
    SliceManifest manifest = manifest(topology, "c2", "c1");

    assertThat(read(manifest.toResource())).contains(manifest);
    assertThat(problems.isEmpty()).isTrue();
  }

  @Test
  void theObjectHasTheFieldsOfTheResource() {
    GenericKubernetesResource resource = manifest("4x4x8", "c2", "c1").toResource();

    assertThat(resource.getApiVersion()).isEqualTo("accelerator.gke.io/v1beta1");
    assertThat(resource.getKind()).isEqualTo("Slice");
    assertThat(resource.getMetadata().getName()).isEqualTo("train-0");
    assertThat(resource.getMetadata().getNamespace()).isNull();
    assertThat(resource.getAdditionalProperties())
        .isEqualTo(
            Map.of(
                "spec",
                Map.of("type", "tpu7x", "topology", "4x4x8", "partitionIds", List.of("c2", "c1"))));
  }

  @ParameterizedTest
  @EnumSource(SliceState.class)
  void everyStateIsRead(SliceState state) {
    GenericKubernetesResource resource =
        Scene.condition(manifest("4x4x4", "c1").toResource(), state.reason(), state.isReady());

    assertThat(read(resource).orElseThrow().state()).contains(state);
    assertThat(problems.isEmpty()).isTrue();
  }

  @Test
  void withoutAConditionTheSliceIsNotCreatedYet() {
    GenericKubernetesResource resource = manifest("4x4x4", "c1").toResource();
    resource.setAdditionalProperty("status", Map.of("conditions", List.of()));

    assertThat(read(resource).orElseThrow().state()).contains(SliceState.NOT_CREATED);
  }

  @Test
  void aConditionOfItsOwnSaysThatCreationFailed() {
    GenericKubernetesResource resource = manifest("4x4x4", "c1").toResource();
    resource.setAdditionalProperty(
        "status",
        Map.of(
            "conditions",
            List.of(
                Map.of("type", "Ready", "status", "False", "reason", "ACTIVATING"),
                Map.of("type", "SliceCreationFailed", "status", "True", "reason", "x"))));

    assertThat(read(resource).orElseThrow().state()).contains(SliceState.CREATION_FAILED);
  }

  @Test
  void anUnknownStateIsAProblemThatNamesTheKnownOnes() {
    GenericKubernetesResource resource =
        Scene.condition(manifest("4x4x4", "c1").toResource(), "SHINY", true);

    assertThat(read(resource).orElseThrow().state()).isEmpty();
    assertThat(problems.list())
        .singleElement()
        .satisfies(
            p -> {
              assertThat(p.path()).isEqualTo("Slice/train-0.status.conditions[0].reason");
              assertThat(p.message()).contains("ACTIVE_DEGRADED", "INCOMPLETE", "\"SHINY\"");
            });
  }

  @ParameterizedTest
  @CsvSource({
    "4X8x4, 4x4x8",
    "8x4x4, 4x4x8",
    "4X4X8, 4x4x8",
    "04x4x8, 4x4x8",
    "1x2x2, 2x2x1",
    "2x1x2, 2x2x1",
    "4x2x4, 2x4x4"
  })
  void aTopologyInAnotherOrderOrCaseIsAProblemThatNamesTheRightOne(String given, String right) {
    assertThat(read(with("topology", given)).orElseThrow().topology())
        .isEqualTo(Shape.parse(right));
    assertThat(problems.list())
        .singleElement()
        .satisfies(
            p -> {
              assertThat(p.path()).isEqualTo("Slice/train-0.spec.topology");
              assertThat(p.message()).contains("\"" + given + "\"").endsWith("write " + right);
            });
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "4", "4x", "4x4x4x4", "-4x4x4", "4.0x4x4", "0x4x4", "4 x 4", "９x4x4"})
  void aTopologyThatIsNoShapeIsAProblem(String given) {
    assertThat(read(with("topology", given))).isEmpty();
    assertThat(paths()).containsExactly("Slice/train-0.spec.topology");
  }

  @ParameterizedTest
  @ValueSource(strings = {"accelerator.gke.io/v1beta1", "accelerator.gke.io/v1alpha1"})
  void bothVersionsAreRead(String version) {
    GenericKubernetesResource resource = manifest("4x4x4", "c1").toResource();
    resource.setApiVersion(version);

    assertThat(read(resource)).isPresent();
    assertThat(problems.isEmpty()).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"accelerator.gke.io/v1", "accelerator.gke.io/v2beta1", "accelerator.gke.io"})
  void otherVersionsAreAProblem(String version) {
    GenericKubernetesResource resource = manifest("4x4x4", "c1").toResource();
    resource.setApiVersion(version);

    assertThat(SliceManifest.isSlice(resource)).isTrue();
    assertThat(read(resource)).isEmpty();
    assertThat(paths()).containsExactly("Slice/train-0.apiVersion");
  }

  @Test
  void theFirstFormOfTheAlphaIsOneProblem() {
    GenericKubernetesResource resource = manifest("4x4x4", "c1").toResource();
    resource.setApiVersion("accelerator.gke.io/v1alpha1");
    resource.setAdditionalProperty(
        "spec",
        Map.of(
            "acceleratorType", "tpu7x",
            "acceleratorTopology", "4x4x4",
            "nodeSelector", Map.of("cube", List.of("c1"))));

    assertThat(read(resource)).isEmpty();
    assertThat(paths()).containsExactly("Slice/train-0.spec.acceleratorType");
  }

  @Test
  void slicesOfOtherGroupsAreNoneOfOurs() {
    GenericKubernetesResource resource = manifest("4x4x4", "c1").toResource();
    resource.setApiVersion("cake.example.com/v1");

    assertThat(SliceManifest.isSlice(resource)).isFalse();
  }

  @Test
  void everyFieldOfAWrongTypeIsNamedAtOnce() {
    GenericKubernetesResource resource = new GenericKubernetesResource();
    resource.setApiVersion(SliceManifest.API_VERSION);
    resource.setKind("Slice");
    resource.setMetadata(new ObjectMeta());
    resource.setAdditionalProperty(
        "spec",
        Map.of("type", 7, "topology", List.of("4x4x4"), "partitionIds", List.of(1, "c1", "")));
    resource.setAdditionalProperty("status", Map.of("conditions", "Ready"));

    assertThat(read(resource)).isEmpty();
    assertThat(paths())
        .containsExactlyInAnyOrder(
            "Slice/.metadata.name",
            "Slice/.spec.type",
            "Slice/.spec.topology",
            "Slice/.spec.partitionIds[0]",
            "Slice/.spec.partitionIds[2]",
            "Slice/.status.conditions");
  }

  @Test
  void nothingThrowsWhateverIsNullOrOfAWrongType() {
    List<Object> values = new ArrayList<>();
    values.add(null);
    values.addAll(
        List.of(
            "", "x", 1, 1.5, true, Map.of(), Map.of("conditions", 3), List.of(), List.of("c", 4)));
    values.add(Arrays.asList("c1", null));
    values.add(Map.of("conditions", Arrays.asList(null, 3, Map.of("type", 1, "reason", 2))));
    values.add(Map.of("conditions", List.of(Map.of("type", "Ready", "reason", List.of()))));
    for (Object value : values) {
      for (String key : List.of("type", "topology", "partitionIds")) {
        read(with(key, value));
      }
      for (String key : List.of("spec", "status", "metadata")) {
        GenericKubernetesResource resource = manifest("4x4x4", "c1").toResource();
        resource.setAdditionalProperty(key, value);
        read(resource);
      }
    }
    GenericKubernetesResource empty = new GenericKubernetesResource();
    assertThat(read(empty)).isEmpty();
    empty.setApiVersion(SliceManifest.API_VERSION);
    assertThat(read(empty)).isEmpty();
    empty.setAdditionalProperties(null);
    assertThat(read(empty)).isEmpty();
  }

  @Test
  @org.junit.jupiter.api.DisplayName(
      "kueue#6913: a replacement that was given an empty assignment names no partition")
  void kueue6913_aSliceOfNoPartitionsIsAProblemAndNoSlice() {
    for (Object none : Arrays.asList(null, List.of())) {
      Problems found = new Problems();
      assertThat(SliceManifest.of(with("partitionIds", none), found)).isEmpty();
      assertThat(found.list())
          .singleElement()
          .satisfies(p -> assertThat(p.path()).isEqualTo("Slice/train-0.spec.partitionIds"));
    }
  }

  @Test
  void theEpochTellsOrderTypeAndTopologyApart() {
    SliceManifest one = manifest("4x4x8", "c1", "c2");

    assertThat(one.epoch())
        .matches("[a-z0-9]{10}")
        .isEqualTo(manifest("4x4x8", "c1", "c2").epoch());
    assertThat(one.epoch()).isNotEqualTo(manifest("4x4x8", "c2", "c1").epoch());
    assertThat(one.epoch()).isNotEqualTo(manifest("4x8x8", "c1", "c2").epoch());
  }

  @Test
  void deletionIsSeen() {
    GenericKubernetesResource resource = manifest("4x4x4", "c1").toResource();
    resource.getMetadata().setDeletionTimestamp("2026-01-01T00:00:00Z");

    assertThat(read(resource).orElseThrow().deleting()).isTrue();
  }
}
