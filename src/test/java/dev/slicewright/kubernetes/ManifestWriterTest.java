package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.NodeBuilder;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.PodBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.batch.v1.JobBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import net.jqwik.api.Arbitraries;
import net.jqwik.api.Arbitrary;
import net.jqwik.api.Combinators;
import net.jqwik.api.EdgeCasesMode;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.Provide;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.dataformat.yaml.YAMLMapper;

/** What is written reads back equal, here and by a reader that is not ours. */
class ManifestWriterTest {

  private static KubernetesObjects read(String text) {
    return ManifestReader.create().read(text);
  }

  @Property(tries = 120, edgeCases = EdgeCasesMode.NONE)
  void objectsReadBackEqual(@ForAll("objects") List<HasMetadata> objects) {
    String text = ManifestWriter.toYaml(objects);

    assertThat(read(text)).isEqualTo(KubernetesObjects.of(objects));
    assertThat(ManifestWriter.toYaml(read(text).all())).isEqualTo(text);
  }

  @Property(tries = 80, edgeCases = EdgeCasesMode.NONE)
  void objectsReadTheSameByYamlOnePointTwo(@ForAll("objects") List<HasMetadata> objects) {
    YAMLMapper other = new YAMLMapper();
    JsonMapper json = new JsonMapper();
    Iterator<JsonNode> documents =
        other.readerFor(JsonNode.class).<JsonNode>readValues(ManifestWriter.toYaml(objects));

    for (HasMetadata object : objects) {
      JsonNode expected = json.readTree(json.writeValueAsString(object));
      assertThat(documents.next().toString()).isEqualTo(expected.toString());
    }
    assertThat(documents.hasNext()).isFalse();
  }

  @Property(tries = 120, edgeCases = EdgeCasesMode.NONE)
  void jsonReadsAsTheSameObjects(@ForAll("objects") List<HasMetadata> objects) {
    JsonMapper json = new JsonMapper();
    StringBuilder text = new StringBuilder();
    for (HasMetadata object : objects) {
      text.append(json.writeValueAsString(object)).append(text.length() % 2 == 0 ? "" : "\n");
    }

    assertThat(read(text.toString())).isEqualTo(KubernetesObjects.of(objects));
    assertThat(
            read(
                "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":"
                    + json.writeValueAsString(objects)
                    + "}"))
        .isEqualTo(KubernetesObjects.of(objects));
  }

  @Example
  void stringsThatAreNoStringsWithoutQuotesAreQuoted() {
    for (String text :
        List.of(
            "yes",
            "No",
            "on",
            "y",
            "null",
            "~",
            "",
            "5",
            "0x1f",
            "010",
            "1e3",
            "1_000",
            ".5",
            "-1",
            "2024-01-01",
            "1:30",
            "=",
            "<<",
            "a: b",
            "a #b",
            " a",
            "a ",
            "#a",
            "- a",
            "*a",
            "&a",
            "!a",
            "@a",
            "`a",
            "%a",
            "{a}",
            "[a]",
            "a,b",
            "'a'",
            "\"a\"",
            "\\",
            "\t",
            "---",
            "...",
            "\u0085",
            "\u2028",
            "\uFEFF",
            "\u0000",
            "\u007F",
            "true\n",
            "\r")) {
      HasMetadata object = generic("x", Map.of("key", text, "keys", Map.of(text, "v")));

      String yaml = ManifestWriter.toYaml(List.of(object));

      assertThat(yaml).doesNotContain("key: " + text + "\n");
      if (!text.isEmpty()) {
        assertThat(yaml).doesNotContain("  " + text + ": v");
      }
      assertThat(read(yaml)).isEqualTo(KubernetesObjects.of(List.of(object)));
    }
  }

  @Example
  void theTextIsPlainWhereItCanBe() {
    Node node =
        new NodeBuilder()
            .withNewMetadata()
            .withName("n-1")
            .addToLabels("cloud.google.com/gke-tpu-accelerator", "tpu7x")
            .addToLabels("example.com/index", "7")
            .endMetadata()
            .build();

    assertThat(ManifestWriter.toYaml(List.of(node, node)))
        .isEqualTo(
            """
            ---
            apiVersion: v1
            kind: Node
            metadata:
              labels:
                cloud.google.com/gke-tpu-accelerator: tpu7x
                example.com/index: "7"
              name: n-1
            """
                .repeat(2));
    assertThat(ManifestWriter.toYaml(List.of())).isEmpty();
  }

  @Example
  void allSeedsReadBackEqual() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("src/test/resources/kubernetes/seeds"))) {
      for (Path file : files.toList()) {
        KubernetesObjects objects = ManifestReader.create().read(file);
        assertThat(read(ManifestWriter.toYaml(objects.all()))).isEqualTo(objects);
      }
    }
  }

  // ---------------------------------------------------------------- objects

  @Provide
  Arbitrary<List<HasMetadata>> objects() {
    return Arbitraries.oneOf(nodes(), pods(), jobs(), configMaps(), generics())
        .list()
        .ofMinSize(1)
        .ofMaxSize(4);
  }

  private static Arbitrary<HasMetadata> nodes() {
    return Combinators.combine(metadata(), texts(), Arbitraries.integers().between(0, 8))
        .as(
            (metadata, text, chips) ->
                new NodeBuilder()
                    .withMetadata(metadata)
                    .withNewSpec()
                    .withProviderID(text)
                    .withUnschedulable(chips % 2 == 0)
                    .addNewTaint(chips % 3 == 0 ? "NoSchedule" : null, "google.com/tpu", null, text)
                    .endSpec()
                    .withNewStatus()
                    .addToAllocatable("google.com/tpu", new Quantity(String.valueOf(chips)))
                    .addToCapacity("memory", new Quantity("1.5Gi"))
                    .endStatus()
                    .build());
  }

  private static Arbitrary<HasMetadata> pods() {
    return Combinators.combine(metadata(), texts(), Arbitraries.integers())
        .as(
            (metadata, text, priority) ->
                new PodBuilder()
                    .withMetadata(metadata)
                    .withNewSpec()
                    .withNodeName(text)
                    .withPriority(priority)
                    .addToNodeSelector(text, text)
                    .addNewContainer()
                    .withName("w")
                    .withCommand(text, "b")
                    .withNewResources()
                    .addToLimits("google.com/tpu", new Quantity("4"))
                    .endResources()
                    .endContainer()
                    .endSpec()
                    .build());
  }

  private static Arbitrary<HasMetadata> jobs() {
    return Combinators.combine(metadata(), Arbitraries.integers())
        .as(
            (metadata, count) ->
                new JobBuilder()
                    .withMetadata(metadata)
                    .withNewSpec()
                    .withParallelism(count)
                    .withNewTemplate()
                    .withMetadata(metadata)
                    .endTemplate()
                    .endSpec()
                    .build());
  }

  private static Arbitrary<HasMetadata> configMaps() {
    return Combinators.combine(metadata(), maps(texts()))
        .as(
            (metadata, data) ->
                new ConfigMapBuilder().withMetadata(metadata).withData(data).build());
  }

  private static Arbitrary<HasMetadata> generics() {
    return maps(values(3)).map(fields -> generic("g", fields));
  }

  private static HasMetadata generic(String name, Map<String, ?> fields) {
    GenericKubernetesResource object = new GenericKubernetesResource();
    object.setApiVersion("example.com/v1");
    object.setKind("Thing");
    object.setMetadata(new ObjectMetaBuilder().withName(name).build());
    object.setAdditionalProperty("spec", new LinkedHashMap<>(fields));
    return object;
  }

  private static Arbitrary<ObjectMeta> metadata() {
    return Combinators.combine(maps(texts()), maps(texts()), texts())
        .as(
            (labels, annotations, name) ->
                new ObjectMetaBuilder()
                    .withName(name)
                    .withNamespace("n")
                    .withLabels(labels)
                    .withAnnotations(annotations)
                    .withCreationTimestamp("2026-01-01T00:00:00Z")
                    .build());
  }

  /** What JSON has; numbers as a reader makes them, so whole ones are integers. */
  private static Arbitrary<Object> values(int depth) {
    Arbitrary<Object> scalars =
        Arbitraries.oneOf(
            texts().map(t -> t),
            Arbitraries.integers().map(i -> i),
            Arbitraries.longs().filter(l -> l != l.intValue()).map(l -> l),
            Arbitraries.doubles().filter(d -> d != Math.rint(d)).map(d -> d),
            Arbitraries.of(true, false).map(b -> b),
            Arbitraries.just(1e300),
            Arbitraries.just(null));
    return depth == 0
        ? scalars
        : Arbitraries.oneOf(
            scalars,
            values(depth - 1).list().ofMaxSize(3).map(list -> new ArrayList<>(list)),
            maps(values(depth - 1)).map(map -> map));
  }

  private static <T> Arbitrary<Map<String, T>> maps(Arbitrary<T> values) {
    return Arbitraries.maps(texts(), values.injectNull(0)).ofMaxSize(3).map(LinkedHashMap::new);
  }

  /** Words of manifests, words that YAML reads as something else, and any characters. */
  private static Arbitrary<String> texts() {
    Arbitrary<String> words =
        Arbitraries.of(
            "a",
            "tpu7x",
            "4x4x8",
            "google.com/tpu",
            "yes",
            "off",
            "null",
            "~",
            "",
            "12",
            "0012",
            "1e3",
            "0x1f",
            "12e4567",
            ".inf",
            "2026-01-01",
            "a: b",
            "- a",
            " a",
            "a ",
            "#",
            "<<",
            "one\ntwo",
            "one\n\n two\n",
            "\n",
            "\n a",
            "a\n\n\n",
            "---",
            "a\n---\nb",
            "*a",
            "&a");
    Arbitrary<String> ascii = Arbitraries.strings().withCharRange(' ', '~').ofMaxLength(12);
    Arbitrary<String> any =
        Arbitraries.strings()
            .all()
            .ofMaxLength(8)
            // Halves of pairs are no text, and U+FFFF in JSON counts as bytes of no encoding.
            .filter(t -> t.chars().noneMatch(c -> Character.isSurrogate((char) c) || c == 0xFFFF));
    Arbitrary<String> lines =
        Arbitraries.strings().withChars(" \t\n\r:#-'\"\\{}[],&*!|>%@ab1").ofMaxLength(12);
    Arbitrary<String> pairs = Arbitraries.just("\uD83D\uDE00");
    return Arbitraries.oneOf(words, words, ascii, any, lines, pairs);
  }
}
