package dev.slicewright.kubernetes;

import static java.nio.charset.StandardCharsets.UTF_16BE;
import static java.nio.charset.StandardCharsets.UTF_16LE;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Node;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class ManifestReaderTest {

  private static final String NODE = "{apiVersion: v1, kind: Node, metadata: {name: %s}}";
  private static final String JSON_NODE =
      "{\"apiVersion\": \"v1\", \"kind\": \"Node\", \"metadata\": {\"name\": \"%s\"}}";

  private static KubernetesObjects read(String text) {
    return ManifestReader.create().read(text);
  }

  private static List<String> names(KubernetesObjects objects) {
    return objects.all().stream().map(o -> ObjectRef.of(o).path()).toList();
  }

  /** The paths of problems, in order. */
  private static List<String> paths(KubernetesObjects objects) {
    return objects.problems().stream().map(Problem::path).toList();
  }

  private static String node(String name) {
    return NODE.formatted(name);
  }

  private static String jsonNode(String name) {
    return JSON_NODE.formatted(name);
  }

  // ---------------------------------------------------------------- streams and lists

  static Stream<Arguments> streams() {
    return Stream.of(
        arguments("one document", node("a"), List.of("Node/a")),
        arguments("documents", node("a") + "\n---\n" + node("b"), List.of("Node/a", "Node/b")),
        arguments("content after the marker", "--- " + node("a"), List.of("Node/a")),
        arguments("ends of documents", "---\n" + node("a") + "\n...\n", List.of("Node/a")),
        arguments(
            "a document after an end without a marker",
            node("a") + "\n...\n" + node("b"),
            List.of("Node/a", "Node/b")),
        arguments(
            "directives",
            "%YAML 1.2\n---\n" + node("a") + "\n...\n%YAML 1.1\n# c\n---\n" + node("b"),
            List.of("Node/a", "Node/b")),
        arguments("nothing", "", List.of()),
        arguments("blanks and comments", "\n  # nothing\n\n", List.of()),
        arguments(
            "empty documents",
            "---\n---\n# c\n---\nnull\n---\n~\n--- \n" + node("a") + "\n---\n",
            List.of("Node/a")),
        arguments(
            "carriage returns",
            "---\r\n" + node("a") + "\r\n---\r" + node("b") + "\r",
            List.of("Node/a", "Node/b")),
        arguments("JSON", jsonNode("a"), List.of("Node/a")),
        arguments(
            "JSON values in a row",
            jsonNode("a") + jsonNode("b") + "\n\n" + jsonNode("c"),
            List.of("Node/a", "Node/b", "Node/c")),
        arguments(
            "JSON with tabs",
            jsonNode("a").replace("{", "{\n\t").replace(",", "\t,\r\n\t\t"),
            List.of("Node/a")),
        arguments(
            "JSON escapes of pairs and slashes",
            "{\"apiVersion\": \"batch\\/v1\", \"kind\": \"\\u004aob\", \"metadata\":"
                + " {\"name\": \"\\ud83d\\ude00\"}}",
            List.of("Job/\uD83D\uDE00")),
        arguments(
            "JSON between YAML",
            node("a") + "\n---\n" + jsonNode("b") + jsonNode("c") + "\n---\n" + node("d"),
            List.of("Node/a", "Node/b", "Node/c", "Node/d")),
        arguments(
            "a bare list in JSON",
            "[" + jsonNode("a") + ", " + jsonNode("b") + "]" + jsonNode("c"),
            List.of("Node/a", "Node/b", "Node/c")),
        arguments(
            "a bare list in YAML",
            "- " + node("a") + "\n- " + node("b"),
            List.of("Node/a", "Node/b")),
        arguments(
            "kubectl's list, whose kind comes last",
            "apiVersion: v1\nitems:\n- " + node("a") + "\n- " + node("b") + "\nkind: List\n",
            List.of("Node/a", "Node/b")),
        arguments(
            "a typed list",
            "{apiVersion: v1, kind: NodeList, items: [{metadata: {name: a}}, " + node("b") + "]}",
            List.of("Node/a", "Node/b")),
        arguments(
            "a typed list whose type comes last",
            "items: [{metadata: {name: a}}, "
                + node("b")
                + ", {metadata: {name: c}, kind: Pod}]\n"
                + "kind: NodeList\napiVersion: v1\n",
            List.of("Node/a", "Node/b", "Pod/c")),
        arguments(
            "a typed list of another group",
            "{apiVersion: x.io/v1, kind: ThingList, items: [{metadata: {name: a, namespace: b}}]}",
            List.of("Thing/b/a")),
        arguments(
            "lists in lists",
            "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: NodeList, items:"
                + " [{metadata: {name: a}}]}, {apiVersion: v1, kind: List, items: ["
                + node("b")
                + "]}]}",
            List.of("Node/a", "Node/b")),
        arguments("a list of nothing", "{apiVersion: v1, kind: PodList, items: null}", List.of()),
        arguments("an empty list", "{apiVersion: v1, kind: List, items: []}", List.of()));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("streams")
  void streamsAndListsBecomeObjectsInTheirOrder(String what, String text, List<String> expected) {
    KubernetesObjects read = read(text);

    assertThat(read.problems()).isEmpty();
    assertThat(names(read)).isEqualTo(expected);
  }

  @Test
  void aKindWithItemsThatIsNoListKeepsThem() {
    KubernetesObjects read =
        read(
            "apiVersion: x/v1\nitems: ["
                + node("a")
                + ", {b: c}]\nkind: Thing\n"
                + "metadata: {name: t}\n");

    assertThat(names(read)).containsExactly("Thing/t");
    GenericKubernetesResource thing = (GenericKubernetesResource) read.all().get(0);
    assertThat((List<?>) thing.get("items")).hasSize(2);
    assertThat(thing.<String>get("items", "1", "b")).isNull();
  }

  // ---------------------------------------------------------------- types

  @Test
  void knownKindsAreTypedAndAllOthersGeneric() {
    KubernetesObjects read =
        read(
            Stream.of(
                    "v1 Node",
                    "v1 Pod",
                    "v1 ConfigMap",
                    "batch/v1 Job",
                    "batch/v1beta1 Job",
                    "v2 Node",
                    "x.io/v1 Pod",
                    "accelerator.gke.io/v1beta1 Slice",
                    "jobset.x-k8s.io/v1alpha2 JobSet")
                .map(t -> t.split(" "))
                .map(t -> "apiVersion: %s\nkind: %s\nmetadata: {name: a}\n".formatted(t[0], t[1]))
                .reduce("", (a, b) -> a + "---\n" + b));

    assertThat(read.problems()).isEmpty();
    assertThat(read.all().stream().map(Object::getClass).map(Class::getSimpleName))
        .containsExactly(
            "Node",
            "Pod",
            "ConfigMap",
            "Job",
            "GenericKubernetesResource",
            "GenericKubernetesResource",
            "GenericKubernetesResource",
            "GenericKubernetesResource",
            "GenericKubernetesResource");
    assertThat(read.all()).extracting(HasMetadata::getApiVersion).contains("v2", "batch/v1beta1");
  }

  @Test
  void fieldsArriveWhereTheyBelong() throws IOException {
    Node node = (Node) seed("nodes.yaml").all().get(0);
    assertThat(node.getMetadata().getLabels())
        .containsEntry("cloud.google.com/gke-tpu-partition-4x4x4-id", "c17");
    assertThat(node.getSpec().getTaints().get(0).getEffect()).isEqualTo("NoSchedule");
    assertThat(node.getStatus().getAllocatable())
        .containsEntry("google.com/tpu", new Quantity("4"));

    Pod pod = (Pod) seed("pods.yaml").all().get(0);
    assertThat(pod.getMetadata().getOwnerReferences().get(0).getController()).isTrue();
    assertThat(pod.getSpec().getPriority()).isEqualTo(100);

    Job job = (Job) seed("job.yaml").all().get(0);
    assertThat(job.getSpec().getParallelism()).isEqualTo(32);

    ConfigMap holds = (ConfigMap) seed("list.yaml").all().get(1);
    assertThat(holds.getData()).containsEntry("hold.json", "{\"pod\": \"block/blk-a\"}\n");

    GenericKubernetesResource slice = (GenericKubernetesResource) seed("slices.yaml").all().get(0);
    assertThat(slice.<List<String>>get("spec", "partitionIds")).containsExactly("c17", "0042");
  }

  private static KubernetesObjects seed(String name) throws IOException {
    return ManifestReader.create().read(Path.of("src/test/resources/kubernetes/seeds", name));
  }

  // ---------------------------------------------------------------- what scalars mean

  static Stream<Arguments> scalars() {
    return Stream.of(
        arguments("12", 12),
        arguments("-12", -12),
        arguments("+12", 12),
        arguments("0x1F", 31),
        arguments("0b101", 5),
        arguments("010", 8),
        arguments("0o10", 8),
        arguments("08", 8),
        arguments("1_000", 1000),
        arguments("12345678901", 12345678901L),
        arguments("2.0", 2),
        arguments("2.5", 2.5),
        arguments(".5", 0.5),
        arguments("1e3", 1000),
        arguments("1.5e-3", 0.0015),
        arguments("1e999", "1e999"),
        arguments("1.2.3", "1.2.3"),
        arguments("1:30", "1:30"),
        arguments("4x4x4", "4x4x4"),
        arguments("0x", "0x"),
        arguments("+", "+"),
        arguments("._", "._"),
        arguments("2024-01-01", "2024-01-01"),
        arguments("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        arguments("true", true),
        arguments("True", true),
        arguments("yes", true),
        arguments("Off", false),
        arguments("n", false),
        arguments("nO", "nO"),
        arguments("~", null),
        arguments("null", null),
        arguments("", null),
        arguments("'5'", "5"),
        arguments("\"yes\"", "yes"),
        arguments("\"a\\u00e9\\x41\\t\"", "a\u00e9A\t"),
        arguments("!!str 5", "5"),
        arguments("! 5", "5"),
        arguments("!!int \"5\"", 5),
        arguments("!!float 2", 2),
        arguments("!!bool yes", true),
        arguments("!!null ''", null));
  }

  @ParameterizedTest(name = "{0} is {1}")
  @MethodSource("scalars")
  void plainScalarsMeanWhatTheyMeanToKubectl(String written, Object expected) {
    KubernetesObjects read =
        read("apiVersion: x/v1\nkind: Thing\nmetadata: {name: t}\nspec:\n  v: " + written + "\n");

    assertThat(read.problems()).isEmpty();
    GenericKubernetesResource thing = (GenericKubernetesResource) read.all().get(0);
    assertThat(thing.<Object>get("spec", "v")).isEqualTo(expected);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        ".inf",
        "-.INF",
        ".nan",
        "!!binary aGk=",
        "!x 5",
        "!!int a",
        "!!bool 5",
        "!!set {a}",
        "!!map [a]",
        "!!null 5"
      })
  void whatJsonCannotCarryIsAProblem(String written) {
    KubernetesObjects read =
        read("apiVersion: x/v1\nkind: Thing\nmetadata: {name: t}\nspec:\n  v: " + written + "\n");

    assertThat(read.all()).isEmpty();
    assertThat(paths(read)).containsExactly("Thing/t.spec.v");
  }

  @Test
  void numbersAndBooleansForStringsAreProblemsButReadAsWritten() {
    KubernetesObjects read =
        read(
            "apiVersion: v1\nkind: Node\nmetadata:\n  name: 17\n  labels: {a: 5, b/c: yes, d: 0012,"
                + " e: 1.10, f: text, g: 1e999}\n");

    Node node = (Node) read.all().get(0);
    assertThat(node.getMetadata().getName()).isEqualTo("17");
    assertThat(node.getMetadata().getLabels())
        .isEqualTo(
            Map.of("a", "5", "b/c", "yes", "d", "0012", "e", "1.10", "f", "text", "g", "1e999"));
    assertThat(paths(read))
        .containsExactly(
            "Node/17.metadata.name",
            "Node/17.metadata.labels[a]",
            "Node/17.metadata.labels[b/c]",
            "Node/17.metadata.labels[d]",
            "Node/17.metadata.labels[e]");
    assertThat(read.problems().get(3).message())
        .isEqualTo(
            "expected a string, got the number 0012; quote it (it is read as the text written)");
  }

  @Test
  void keysThatAreNoStringsAreReadAsTheirText() {
    Node node =
        (Node) read(node("a").replace("name: a", "name: a, labels: {5: x, yes: z}")).all().get(0);

    assertThat(node.getMetadata().getLabels()).containsOnlyKeys("5", "true");
  }

  // ---------------------------------------------------------------- anchors

  @Test
  void aliasesAndMergeKeysMeanTheirAnchors() throws IOException {
    KubernetesObjects read = seed("anchors.yaml");

    assertThat(read.problems()).isEmpty();
    assertThat(read.all().get(1).getMetadata().getLabels())
        .isEqualTo(
            Map.of(
                "cloud.google.com/gke-tpu-accelerator", "tpu7x",
                "cloud.google.com/gce-topology-block", "blk-a",
                "cloud.google.com/gke-nodepool", "tpu7x"));
  }

  @Test
  void ownKeysWinOverMergedOnesAndEarlierMergesOverLater() {
    KubernetesObjects read =
        read(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
                + "binaryData: &x {a: x, b: x, c: x}\ndata: &y\n  a: own\n  <<: *x\n"
                + "immutable: true\nthird:\n  <<: [*y, {b: z, d: z}]\n  c: own\n  \"<<\": text\n");

    ConfigMap map = (ConfigMap) read.all().get(0);
    assertThat(map.getData()).isEqualTo(Map.of("a", "own", "b", "x", "c", "x"));
    assertThat(map.getAdditionalProperties().get("third"))
        .isEqualTo(Map.of("a", "own", "b", "x", "c", "own", "d", "z", "<<", "text"));
  }

  @Test
  void objectsThatShareAnAliasShareNoState() {
    KubernetesObjects read =
        read(
            "[{apiVersion: x/v1, kind: A, metadata: {name: a}, spec: &s {l: [1], n: {5: 6}}},"
                + " {apiVersion: x/v1, kind: A, metadata: {name: b}, spec: *s}]");

    GenericKubernetesResource first = (GenericKubernetesResource) read.all().get(0);
    GenericKubernetesResource second = (GenericKubernetesResource) read.all().get(1);
    first.<List<Object>>get("spec", "l").add(2);
    assertThat(second.<List<Object>>get("spec", "l")).containsExactly(1);
  }

  @Test
  void anAnchorMayBeGivenAnewAndEndsWithItsDocument() {
    KubernetesObjects read =
        read(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
                + "data: {a: &x one, b: *x, c: &x two, d: *x}\n"
                + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: *x}\n");

    assertThat(((ConfigMap) read.all().get(0)).getData())
        .isEqualTo(Map.of("a", "one", "b", "one", "c", "two", "d", "two"));
    assertThat(paths(read)).containsExactly("document[1].metadata.name");
  }

  // ---------------------------------------------------------------- wrong objects

  static Stream<Arguments> wrong() {
    String head = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, namespace: t}\n";
    return Stream.of(
        arguments("text", "document[0]", "line 1: expected an object", "text \"foo\""),
        arguments("--- 5", "document[0]", "line 1: expected an object", "got the number 5"),
        arguments("---\n\n- a", "document[0][0]", "line 3: expected an object", "\"a\""),
        arguments("kind: Node", "document[0].apiVersion", "line 1: expected a string", "nothing"),
        arguments("apiVersion: v1", "document[0].kind", "line 1: expected a string", "nothing"),
        arguments(
            "{apiVersion: v1, kind: 5, metadata: {name: a}}",
            "document[0].kind",
            "expected a string",
            "got the number 5"),
        arguments(
            "{apiVersion: [v1], kind: Node, metadata: {name: a}}",
            "Node/a.apiVersion",
            "expected a string",
            "got a list"),
        arguments(
            "{apiVersion: v1, kind: List, items: [5]}",
            "document[0].items[0]",
            "expected an object",
            "got the number 5"),
        arguments(
            "{apiVersion: v1, kind: List, items: [null]}",
            "document[0].items[0]",
            "expected an object",
            "got nothing"),
        arguments(
            "{apiVersion: v1, kind: List, items: [{apiVersion: v1, metadata: {name: x}}]}",
            "document[0].items[0].kind",
            "expected a string",
            "got nothing"),
        arguments(
            "{apiVersion: v1, kind: List, items: {a: b}}",
            "document[0].items",
            "expected a list",
            "got a mapping"),
        arguments(
            "{apiVersion: v1, kind: List}", "document[0].items", "expected a list", "got nothing"),
        arguments(
            head + "spec: {parallelism: four}",
            "Job/t/j.spec.parallelism",
            "expected a whole number",
            "\"four\""),
        arguments(
            head + "spec: {parallelism: '4'}",
            "Job/t/j.spec.parallelism",
            "expected a whole number",
            "\"4\""),
        arguments(
            head + "spec: {parallelism: 2.5}",
            "Job/t/j.spec.parallelism",
            "expected a whole number",
            "2.5"),
        arguments(
            head + "spec: {parallelism: 99999999999}",
            "Job/t/j.spec.parallelism",
            "out of range",
            "99999999999"),
        arguments(
            head + "spec: {parallelism: []}",
            "Job/t/j.spec.parallelism",
            "expected a whole number",
            "got a list"),
        arguments(
            head + "spec: {suspend: 'yes'}",
            "Job/t/j.spec.suspend",
            "expected true or false",
            "\"yes\""),
        arguments(head + "spec: none", "Job/t/j.spec", "expected a mapping", "\"none\""),
        arguments(
            head + "spec: {template: {spec: {containers: {}}}}",
            "Job/t/j.spec.template.spec.containers",
            "expected a list",
            "got a mapping"),
        arguments(
            head
                + "spec: {template: {spec: {containers: [{resources: {limits: {google.com/tpu:"
                + " [4]}}}]}}}",
            "Job/t/j.spec.template.spec.containers[0].resources.limits[google.com/tpu]",
            "expected a string or number",
            "got a list"),
        arguments(
            "{apiVersion: v1, kind: Node, metadata: {name: a, labels: [x]}}",
            "Node/a.metadata.labels",
            "expected a mapping",
            "got a list"),
        arguments(
            "{apiVersion: x/v1, kind: A, metadata: {name: a, labels: {b: {}}}}",
            "A/a.metadata.labels[b]",
            "expected a string",
            "got a mapping"),
        arguments(
            "{apiVersion: x/v1, kind: A, metadata: 5}",
            "document[0].metadata",
            "expected a mapping",
            "got the number 5"),
        arguments(
            head + "spec:\n  suspend: true\n  suspend: false\n",
            "Job/t/j.spec.suspend",
            "line 6: expected each key once",
            "again"),
        arguments(
            "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"a\",\"name\":\"b\"}}",
            "Node/b.metadata.name",
            "expected each key once",
            "again"),
        arguments(
            head + "spec: {[a]: b}", "Job/t/j.spec", "expected a string as key", "got a list"),
        arguments(head + "spec: {~: b}", "Job/t/j.spec", "expected a string as key", "got nothing"),
        arguments(head + "spec: {<<: 5}", "Job/t/j.spec[<<]", "to merge", "got the number 5"),
        arguments(head + "spec: {<<: [{}, 5]}", "Job/t/j.spec[<<]", "to merge", "got a list"),
        arguments(head + "spec: *s", "Job/t/j.spec", "expected an anchor", "*s without &s"),
        arguments(head + "spec: &s {a: *s}", "Job/t/j.spec.a", "the alias *s", "contains itself"));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("wrong")
  void whatIsWrongHasItsPlaceAndLeavesTheRestRead(
      String document, String path, String expected, String given) {
    String text = document.equals("text") ? "foo" : document;
    KubernetesObjects read = read(text + "\n---\n" + node("sound") + "\n");

    assertThat(names(read)).containsExactly("Node/sound");
    assertThat(paths(read)).containsExactly(path);
    assertThat(read.problems().get(0).message())
        .contains(expected)
        .contains(given.replace("text ", "string "));
  }

  @Test
  void everyProblemOfAnObjectIsFound() {
    KubernetesObjects read =
        read(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, annotations: 5, labels: {a: 1}}\n"
                + "spec:\n  parallelism: x\n  completions: 2.5\n  template: {spec: {containers:"
                + " [{name: 5}, 7]}}\n");

    assertThat(read.all()).isEmpty();
    assertThat(paths(read))
        .containsExactlyInAnyOrder(
            "Job/j.metadata.annotations",
            "Job/j.metadata.labels[a]",
            "Job/j.spec.parallelism",
            "Job/j.spec.completions",
            "Job/j.spec.template.spec.containers[0].name",
            "Job/j.spec.template.spec.containers[1]");
  }

  @Test
  void oneWrongItemLeavesTheOthersOfItsListRead() {
    KubernetesObjects read =
        read(
            "apiVersion: v1\nitems:\n- "
                + node("a")
                + "\n- {apiVersion: v1, kind: Node, metadata: {name: b, name: b}}"
                + "\n- {apiVersion: v1, kind: Node, metadata: {name: c}, spec: 5}\n- "
                + node("d")
                + "\nkind: List\n");

    assertThat(names(read)).containsExactly("Node/a", "Node/d");
    assertThat(paths(read)).containsExactly("Node/b.metadata.name", "Node/c.spec");
  }

  @Test
  void anAliasOfWhatIsNotSoundIsNotSound() {
    KubernetesObjects read =
        read(
            "- {apiVersion: x/v1, kind: A, metadata: {name: a}, spec: &s {b: 1, b: 2}}\n"
                + "- {apiVersion: x/v1, kind: A, metadata: {name: b}, spec: *s}\n");

    assertThat(read.all()).isEmpty();
    assertThat(paths(read)).containsExactly("A/a.spec.b", "A/b.spec");
  }

  // ---------------------------------------------------------------- broken texts

  static Stream<Arguments> broken() {
    return Stream.of(
        arguments("a tab for indentation", "a:\n\tb: c", 2, 1),
        arguments("an open quote", "a: \"b", 2, 1),
        arguments("an open mapping", "a: {b: c", 2, 1),
        arguments("two values", "a: b: c", 1, 5),
        arguments("wrong indentation", "a: b\n  c: d", 2, 4),
        arguments("a forbidden start", "a: @b", 1, 4),
        arguments("a code point that does not exist", "a: \"\\UFFFFFFFF\"", 1, 1),
        arguments("a NUL", "a: b\nc: d\u0000e", 2, 5),
        arguments("a control character", "a: \u0007", 1, 4),
        arguments("half a pair", "a: \uD83Dx", 1, 4),
        arguments("open JSON", "{\"a\": [1,", 2, 1),
        arguments("a comma too many", "{\"a\": {\"b\": 1,,}\n}", 1, 15));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("broken")
  void aBrokenDocumentIsAProblemWithLineAndColumnAndTheNextOneIsRead(
      String what, String text, int line, int column) {
    KubernetesObjects read = read(node("a") + "\n---\n" + text + "\n---\n" + node("z"));

    assertThat(names(read)).containsExactly("Node/a", "Node/z");
    assertThat(paths(read)).containsExactly("document[1]");
    assertThat(read.problems().get(0).message())
        .startsWith("line " + (line + 2) + ", column " + column + ": ");
  }

  @Test
  void whatStandsBeforeABreakInAListIsRead() {
    for (String text :
        List.of(
            "apiVersion: v1\nitems:\n- " + node("a") + "\n- " + node("b") + "\n- {apiVersion: v1",
            "{\"kind\": \"List\", \"items\": [" + jsonNode("a") + "," + jsonNode("b") + ", {")) {
      KubernetesObjects read = read(text);

      assertThat(names(read)).containsExactly("Node/a", "Node/b");
      assertThat(paths(read)).containsExactly("document[0]");
      assertThat(read.problems().get(0).message()).endsWith("; the objects before it are read");
    }
  }

  @Test
  void itemsOfABrokenListWhoseTypeWouldFollowAreNamed() {
    KubernetesObjects read =
        read("items:\n- " + node("a") + "\n- {metadata: {name: b}}\n- " + node("c") + "\n- {");

    assertThat(names(read)).containsExactly("Node/a", "Node/c");
    assertThat(paths(read))
        .containsExactly(
            "document[0].items[1].apiVersion", "document[0].items[1].kind", "document[0]");
  }

  @Test
  void aBrokenValueInAJsonStreamLeavesTheOthersRead() {
    KubernetesObjects read =
        read(
            jsonNode("a")
                + "\n{\"apiVersion\": \"v1\", \n"
                + jsonNode("b")
                + "\n}{]\n"
                + jsonNode("c")
                + " 5 "
                + jsonNode("d")
                + "\n{\"a\": tru}\n"
                + jsonNode("e"));

    assertThat(names(read)).containsExactly("Node/a", "Node/b", "Node/c", "Node/d", "Node/e");
    assertThat(paths(read))
        .containsExactly("document[1]", "document[3]", "document[5]", "document[7]");
  }

  @Test
  void whatIsNoJsonMayBeYamlInBraces() {
    assertThat(names(read("{apiVersion: v1, \"kind\": Node, metadata: {name: 'a'}} # c")))
        .containsExactly("Node/a");
  }

  @Test
  void placesCountEmptyDocumentsAndJsonValues() {
    KubernetesObjects read = read("# c\n---\n---\nx\n---\n" + jsonNode("a") + "5 6\n---\n{a: b}\n");

    assertThat(paths(read))
        .containsExactly(
            "document[1]",
            "document[3]",
            "document[4]",
            "document[5].apiVersion",
            "document[5].kind");
    assertThat(read.problems().get(0).message()).startsWith("line 4: ");
    assertThat(read.problems().get(2).message()).startsWith("line 6: ");
  }

  // ---------------------------------------------------------------- encodings

  static Stream<Arguments> encodings() {
    return Stream.of(
        arguments("UTF-8", UTF_8, new byte[0]),
        arguments("UTF-8 with a mark", UTF_8, new byte[] {(byte) 0xEF, (byte) 0xBB, (byte) 0xBF}),
        arguments("UTF-16BE", UTF_16BE, new byte[] {(byte) 0xFE, (byte) 0xFF}),
        arguments("UTF-16LE", UTF_16LE, new byte[] {(byte) 0xFF, (byte) 0xFE}),
        arguments(
            "UTF-32BE", Charset.forName("UTF-32BE"), new byte[] {0, 0, (byte) 0xFE, (byte) 0xFF}),
        arguments(
            "UTF-32LE", Charset.forName("UTF-32LE"), new byte[] {(byte) 0xFF, (byte) 0xFE, 0, 0}));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("encodings")
  void everyEncodingReadsTheSame(String what, Charset charset, byte[] mark) throws IOException {
    for (String name : List.of("\u00e9\u4e2d\uD83D\uDE00", "with\uFFFDreplacement")) {
      for (String text : List.of(node(name), jsonNode(name))) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        bytes.write(mark);
        bytes.write(text.getBytes(charset));

        KubernetesObjects read = ManifestReader.create().read(bytes.toByteArray());

        assertThat(read.problems()).isEmpty();
        assertThat(names(read)).containsExactly("Node/" + name);
      }
    }
  }

  @Test
  void bytesOfNoEncodingAreAProblemOfTheirDocument() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.write((node("a") + "\n---\nx: ").getBytes(UTF_8));
    bytes.write(new byte[] {(byte) 0xC3, 0x28, (byte) 0xFF});
    bytes.write(("\n---\n" + node("b")).getBytes(UTF_8));

    KubernetesObjects read = ManifestReader.create().read(bytes.toByteArray());

    assertThat(names(read)).containsExactly("Node/a", "Node/b");
    assertThat(read.problems())
        .singleElement()
        .satisfies(p -> assertThat(p.path()).isEqualTo("document[1]"))
        .satisfies(p -> assertThat(p.message()).startsWith("line 3, column 4: expected UTF-8"));
  }

  @Test
  void utf16WithoutAMarkIsNamed() {
    KubernetesObjects read = ManifestReader.create().read(node("a").getBytes(UTF_16LE));

    assertThat(read.problems()).singleElement().asString().contains("NUL").contains("UTF-16");
  }

  @Test
  void jsonMayHaveCharactersThatYamlMayNot() {
    String text = jsonNode("a\u007F\u0080");

    assertThat(names(read(text))).containsExactly("Node/a\u007F\u0080");
    assertThat(paths(read(text.replace("\u007F", "\u0007")))).containsExactly("document[0]");
    assertThat(paths(read(text.replace("\u007F", "\uFFFF")))).containsExactly("document[0]");
    assertThat(paths(read(node("\u007F")))).containsExactly("document[0]");
  }

  // ---------------------------------------------------------------- sources and limits

  @Test
  void allSourcesReadTheSame(@TempDir Path directory) throws IOException {
    byte[] bytes = Files.readAllBytes(Path.of("src/test/resources/kubernetes/seeds/anchors.yaml"));
    ManifestReader reader = ManifestReader.create();
    Path file = Files.write(directory.resolve("x.yaml"), bytes);

    KubernetesObjects read = reader.read(bytes);

    assertThat(read.all()).hasSize(2);
    assertThat(reader.read(new String(bytes, UTF_8))).isEqualTo(read);
    assertThat(reader.read(file)).isEqualTo(read);
    try (InputStream in = Files.newInputStream(file)) {
      assertThat(reader.read(in)).isEqualTo(read);
    }
  }

  @Test
  void aTextMayHaveWhatIsAllowedAndNotOneByteMore(@TempDir Path directory) throws IOException {
    String text = node("a");
    Path file = Files.writeString(directory.resolve("x.yaml"), text);
    for (int room : new int[] {0, -1}) {
      ManifestReader reader = ManifestReader.builder().maxBytes(text.length() + room).build();
      List<KubernetesObjects> reads =
          List.of(
              reader.read(text),
              reader.read(text.getBytes(UTF_8)),
              reader.read(file),
              reader.read(Files.newInputStream(file)));
      for (KubernetesObjects read : reads) {
        assertThat(read.all()).hasSize(room == 0 ? 1 : 0);
        assertThat(paths(read)).isEqualTo(room == 0 ? List.of() : List.of("text"));
      }
    }
  }

  @Test
  void depthIsCountedAlsoThroughAliases() {
    // Three: the list, its element and the list in that.
    ManifestReader three = ManifestReader.builder().maxDepth(3).build();
    String flat = "{apiVersion: x/v1, kind: A, a: {b: %s}}";

    assertThat(three.read(flat.formatted("{c: d}")).all()).hasSize(1);
    assertThat(three.read(flat.formatted("{c: []}")).all()).isEmpty();
    String aliased = "{apiVersion: x/v1, kind: A, x: &x {y: %s}, a: {b: *x}}";
    assertThat(three.read(aliased.formatted("z")).all()).hasSize(1);
    assertThat(three.read(aliased.formatted("[]")).problems())
        .singleElement()
        .asString()
        .contains("document[0].a.b")
        .contains("through the alias *x");
  }

  @Test
  void anObjectThatIsTooLargeIsLeftOutAlone() {
    ManifestReader small = ManifestReader.builder().maxObjectSize(200).build();
    String large = node("b").replace("name: b", "name: b, labels: {a: " + "x".repeat(150) + "}");
    String manyFields =
        node("c").replace("name: c", "name: c, finalizers: [" + "x,".repeat(99) + "]");
    String aliased =
        node("d").replace("name: d", "name: d, l: &x " + "y".repeat(50) + ", m: *x," + " n: *x");

    KubernetesObjects read =
        small.read(
            "- "
                + node("a")
                + "\n- "
                + large
                + "\n- "
                + manyFields
                + "\n- "
                + aliased
                + "\n- "
                + node("e"));

    assertThat(names(read)).containsExactly("Node/a", "Node/e");
    assertThat(paths(read)).hasSize(3);
    assertThat(read.problems()).allMatch(p -> p.message().contains("at most 200 fields"));
  }

  @Test
  void whatFollowsTheLastObjectAllowedIsNotRead() {
    ManifestReader two = ManifestReader.builder().maxObjects(2).build();

    for (String between : List.of("\n---\n", "\n")) {
      KubernetesObjects read =
          two.read(
              jsonNode("a") + between + jsonNode("b") + between + jsonNode("c") + between + "{");
      assertThat(names(read)).containsExactly("Node/a", "Node/b");
      assertThat(paths(read)).containsExactly("document[2]");
    }
    assertThat(two.read(jsonNode("a") + jsonNode("b")).problems()).isEmpty();
  }

  @Test
  void problemsBeyondThoseListedAreCounted() {
    ManifestReader three = ManifestReader.builder().maxProblems(3).build();

    KubernetesObjects read = three.read("5\n---\n".repeat(10) + node("a"));

    assertThat(names(read)).containsExactly("Node/a");
    assertThat(paths(read)).containsExactly("document[0]", "document[1]", "document[2]", "text");
    assertThat(read.problems().get(3).message()).contains("7 more problems");
  }

  @Test
  void aliasesMayStandForWhatIsAllowed() {
    String text =
        "{apiVersion: x/v1, kind: A, metadata: {name: a}, a: &x " + "y".repeat(99) + ", b: *x}";

    assertThat(ManifestReader.builder().maxAliasSize(217).build().read(text).all()).hasSize(1);
    assertThat(paths(ManifestReader.builder().maxAliasSize(216).build().read(text)))
        .containsExactly("A/a.b");
    assertThat(paths(ManifestReader.builder().maxAliasSize(0).build().read(text)))
        .containsExactly("A/a.b");
  }

  @Test
  void limitsOutOfRangeAreRefusedTogether() {
    assertThatExceptionOfType(InvalidInputException.class)
        .isThrownBy(
            () ->
                ManifestReader.builder()
                    .maxBytes(0)
                    .maxDepth(501)
                    .maxObjectSize(-1)
                    .maxAliasSize(-1)
                    .maxObjects(0)
                    .maxProblems(Integer.MAX_VALUE)
                    .build())
        .satisfies(e -> assertThat(e.problems()).hasSize(6));
  }
}
