package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.Problem;
import dev.slicewright.Problems;
import io.fabric8.kubernetes.api.model.ContainerBuilder;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ObjectMeta;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.Quantity;
import io.fabric8.kubernetes.api.model.batch.v1.Job;
import io.fabric8.kubernetes.api.model.batch.v1.JobBuilder;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GenericTest {

  private final Problems problems = new Problems();

  @Test
  void aTypedObjectReadsAsItsFields() {
    Job job =
        new JobBuilder()
            .withNewMetadata()
            .withNamespace("a")
            .withName("b")
            .endMetadata()
            .withNewSpec()
            .withParallelism(4)
            .withNewTemplate()
            .withNewSpec()
            .addToContainers(
                new ContainerBuilder()
                    .withName("w")
                    .withNewResources()
                    .addToLimits("google.com/tpu", new Quantity("4"))
                    .endResources()
                    .build())
            .endSpec()
            .endTemplate()
            .endSpec()
            .build();

    GenericKubernetesResource generic = Generic.of(job);
    assertThat(ObjectRef.of(generic)).isEqualTo(ObjectRef.of(job));
    assertThat(generic.getAdditionalProperties()).doesNotContainKeys("kind", "metadata");

    Generic read = Generic.read(job, problems);
    assertThat(read.whole("spec", "parallelism")).hasValue(4);
    Generic container = read.list("spec", "template", "spec", "containers").get(0);
    assertThat(container.text("name")).contains("w");
    Generic chips = container.get("resources", "limits", "google.com/tpu");
    assertThat(chips.text()).contains("4");
    assertThat(chips.path())
        .isEqualTo("Job/a/b.spec.template.spec.containers[0].resources.limits[google.com/tpu]");
    assertThat(problems.list()).isEmpty();
  }

  @Test
  void aGenericObjectIsItself() {
    GenericKubernetesResource given = resource(Map.of());
    assertThat(Generic.of(given)).isSameAs(given);
  }

  @Test
  void whatIsMissingOrNullIsAbsentWithoutAProblem() {
    Map<String, Object> fields = new HashMap<>();
    fields.put("spec", null);
    Generic read = Generic.read(resource(fields), problems);

    assertThat(read.text("spec", "a", "b")).isEmpty();
    assertThat(read.whole("nothing")).isEmpty();
    assertThat(read.flag("nothing")).isEmpty();
    assertThat(read.list("spec", "list")).isEmpty();
    assertThat(read.textList("spec", "list")).isEmpty();
    assertThat(read.map("spec")).isEmpty();
    assertThat(read.texts("spec", "labels")).isEmpty();
    assertThat(read.get("spec").isPresent()).isFalse();
    assertThat(problems.list()).isEmpty();
  }

  @Test
  void everyWrongTypeIsAProblemWithItsPath() {
    Map<String, Object> labels = new HashMap<>();
    labels.put("good", "g");
    labels.put("null", null);
    labels.put("a.b/c", 7);
    List<Object> list = new ArrayList<>(List.of("x", 1));
    list.add(null);
    Generic read =
        Generic.read(
            resource(
                Map.of(
                    "text", 1, "whole", "4", "flag", "true", "list", Map.of(), "map", List.of(),
                    "labels", labels, "half", 0.5, "texts", list, "deep", "flat")),
            problems);

    assertThat(read.text("text")).isEmpty();
    assertThat(read.whole("whole")).isEmpty();
    assertThat(read.whole("half")).isEmpty();
    assertThat(read.flag("flag")).isEmpty();
    assertThat(read.list("list")).isEmpty();
    assertThat(read.map("map")).isEmpty();
    assertThat(read.texts("labels")).containsExactly(Map.entry("good", "g"));
    assertThat(read.textList("texts")).containsExactly("x");
    assertThat(read.text("deep", "er")).isEmpty();
    assertThat(problems.list())
        .extracting(Problem::toString)
        .containsExactly(
            "Thing/n.text: expected text, but was 1; write text",
            "Thing/n.whole: expected a whole number, but was \"4\"; write a whole number",
            "Thing/n.half: expected a whole number, but was 0.5; write a whole number",
            "Thing/n.flag: expected true or false, but was \"true\"; write true or false",
            "Thing/n.list: expected a list, but was a map; write a list",
            "Thing/n.map: expected a map, but was a list; write a map",
            "Thing/n.labels[a.b/c]: expected text, but was 7; write text",
            "Thing/n.texts[1]: expected text, but was 1; write text",
            "Thing/n.deep: expected a map, but was \"flat\"; write a map");
  }

  @Test
  void wholeNumbersOfEveryWidthAreRead() {
    Generic read =
        Generic.read(
            "x",
            Map.of(
                "int",
                3,
                "long",
                1L << 40,
                "double",
                4.0,
                "big",
                BigInteger.valueOf(5),
                "exact",
                new BigDecimal("6.00")),
            problems);
    assertThat(read.whole("int")).hasValue(3);
    assertThat(read.whole("long")).hasValue(1L << 40);
    assertThat(read.whole("double")).hasValue(4);
    assertThat(read.whole("big")).hasValue(5);
    assertThat(read.whole("exact")).hasValue(6);
    assertThat(problems.list()).isEmpty();
  }

  @Test
  void numbersBeyondAllMeasureEndAtOnce() {
    Generic read =
        Generic.read(
            "x",
            Map.of(
                "a",
                BigInteger.ONE.shiftLeft(70),
                "b",
                new BigDecimal("1e1000000000"),
                "c",
                Double.NaN,
                "d",
                new BigDecimal("1e-1000000000")),
            problems);
    assertThat(read.whole("a")).isEmpty();
    assertThat(read.whole("b")).isEmpty();
    assertThat(read.whole("c")).isEmpty();
    assertThat(read.whole("d")).isEmpty();
    assertThat(problems.list()).hasSize(4);
  }

  @Test
  void aClassThatCannotBeTakenApartGivesItsNameAlone() {
    GenericKubernetesResource generic = Generic.of(new Broken());
    assertThat(ObjectRef.of(generic).path()).isEqualTo("Broken/n");
    assertThat(generic.getAdditionalProperties()).isEmpty();
  }

  @Test
  void objectsWithoutMetadataHaveNoLabels() {
    Job bare = new Job();
    bare.setMetadata(null);
    assertThat(Generic.labels(bare)).isEmpty();
    assertThat(Generic.annotations(bare)).isEmpty();
    assertThat(Generic.read(bare, problems).path()).isEqualTo("Job/");

    Map<String, String> labels = new HashMap<>();
    labels.put("a", null);
    labels.put(null, "b");
    labels.put("c", "d");
    Job odd = new JobBuilder().withNewMetadata().withLabels(labels).endMetadata().build();
    assertThat(Generic.labels(odd)).containsExactly(Map.entry("c", "d"));
  }

  private static GenericKubernetesResource resource(Map<String, Object> fields) {
    GenericKubernetesResource resource = new GenericKubernetesResource();
    resource.setApiVersion("example.com/v1");
    resource.setKind("Thing");
    resource.setMetadata(new ObjectMetaBuilder().withName("n").build());
    resource.setAdditionalProperties(new HashMap<>(fields));
    return resource;
  }

  /** A class of a user whose getter fails. */
  static final class Broken implements HasMetadata {
    private static final long serialVersionUID = 1L;

    @Override
    public ObjectMeta getMetadata() {
      return new ObjectMetaBuilder().withName("n").build();
    }

    @Override
    public void setMetadata(ObjectMeta metadata) {}

    @Override
    public String getKind() {
      return "Broken";
    }

    @Override
    public String getApiVersion() {
      return "example.com/v1";
    }

    @Override
    public void setApiVersion(String version) {}

    public Object getSpec() {
      throw new IllegalStateException("not today");
    }
  }
}
