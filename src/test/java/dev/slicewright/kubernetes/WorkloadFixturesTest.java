package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;

import dev.slicewright.Problems;
import dev.slicewright.request.SliceRequest;
import dev.slicewright.request.Spread;
import dev.slicewright.topology.AcceleratorType;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Workloads as YAML, and the requests and problems that they become, next to each. Run with {@code
 * -Dgolden.write=true} to write the expectations anew, then look at them.
 *
 * <p>Numbers of kueue, marin and ray in file names and comments are issues of those projects.
 */
class WorkloadFixturesTest {

  private static final Path FIXTURES =
      Path.of("src", "test", "resources", "kubernetes", "workloads");

  /** Two blocks of TPU7x, and pools of every kind. */
  static final Domains CLUSTER =
      StubDomains.of(
          StubDomain.block("blk-a", 4),
          StubDomain.block("blk-b", 2).label("team", "research"),
          StubDomain.subslicing("sub", "8x8"),
          StubDomain.pool(AcceleratorType.V6E, "ms-0", "4x4").label("rank", "3"),
          StubDomain.pool(AcceleratorType.V6E, "ms-1", "4x4").taint("spot", "true", "NoSchedule"),
          StubDomain.pool(AcceleratorType.V5P, "p-448", "4x4x8"),
          StubDomain.node(AcceleratorType.V5E, "solo", "2x4"));

  static Stream<String> fixtures() throws IOException {
    try (Stream<Path> files = Files.list(FIXTURES)) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.endsWith(".yaml"))
          .map(name -> name.substring(0, name.length() - ".yaml".length()))
          .sorted()
          .toList()
          .stream();
    }
  }

  @Test
  void thereAreThirtyAtLeast() throws IOException {
    assertThat(fixtures().count()).isGreaterThanOrEqualTo(30);
  }

  @ParameterizedTest
  @MethodSource("fixtures")
  void aFixtureBecomesWhatStandsNextToIt(String name) throws IOException {
    String text = describe(objects(name), TenantBy.QUEUE);
    Path expected = FIXTURES.resolve(name + ".txt");
    if (Boolean.getBoolean("golden.write")) {
      Files.writeString(expected, text);
    }
    assertThat(text).isEqualTo(Files.readString(expected).replace("\r\n", "\n"));
  }

  @ParameterizedTest
  @MethodSource("fixtures")
  void theOrderOfTheObjectsChangesNothing(String name) throws IOException {
    List<HasMetadata> objects = new ArrayList<>(objects(name));
    String text = describe(objects, TenantBy.NAMESPACE);
    for (int seed = 0; seed < 5; seed++) {
      Collections.shuffle(objects, new Random(seed));
      assertThat(describe(objects, TenantBy.NAMESPACE)).isEqualTo(text);
    }
  }

  @ParameterizedTest
  @MethodSource("fixtures")
  void objectsAreNotChanged(String name) throws IOException {
    List<HasMetadata> objects = objects(name);
    describe(objects, TenantBy.NAMESPACE);
    // Field by field: quantities that are no numbers cannot be compared by fabric8's equals.
    List<HasMetadata> fresh = objects(name);
    for (int i = 0; i < fresh.size(); i++) {
      assertThat(Generic.of(objects.get(i)).getAdditionalProperties())
          .isEqualTo(Generic.of(fresh.get(i)).getAdditionalProperties());
    }
  }

  @ParameterizedTest
  @MethodSource("fixtures")
  void genericObjectsReadAsTypedOnes(String name) throws IOException {
    List<HasMetadata> objects = objects(name);
    List<HasMetadata> generic = new ArrayList<>();
    objects.forEach(object -> generic.add(Generic.of(object)));
    assertThat(describe(generic, TenantBy.QUEUE)).isEqualTo(describe(objects, TenantBy.QUEUE));
  }

  static List<HasMetadata> objects(String name) throws IOException {
    return read(Files.readString(FIXTURES.resolve(name + ".yaml")));
  }

  static List<HasMetadata> read(String yaml) {
    return ManifestReader.create().read(yaml).all();
  }

  // ---------------------------------------------------------------- words

  static String describe(List<HasMetadata> objects, TenantBy tenantBy) {
    Problems problems = new Problems();
    List<LeftOut> leftOut = new ArrayList<>();
    WorkloadTranslator.Translation translation =
        WorkloadTranslator.translate(
            KubernetesObjects.of(objects),
            CLUSTER,
            new ReadSettings(true, tenantBy),
            problems,
            leftOut);
    StringBuilder text = new StringBuilder();
    translation.workloads().values().forEach(workload -> describe(workload, text));
    problems.list().forEach(p -> text.append("problem ").append(p).append('\n'));
    leftOut.forEach(o -> text.append("left out ").append(o).append('\n'));
    return text.length() == 0 ? "nothing\n" : text.toString();
  }

  private static void describe(Workload workload, StringBuilder text) {
    SliceRequest request = workload.request();
    text.append(request.id())
        .append(": ")
        .append(request.slices())
        .append(" x ")
        .append(request.shapes().get(0))
        .append(request.accelerators().isEmpty() ? "" : " of " + request.accelerators())
        .append(", priority ")
        .append(request.priority())
        .append(", tenant ")
        .append(request.tenant())
        .append(workload.suspended() ? ", suspended" : "")
        .append('\n');
    request.gang().ifPresent(gang -> text.append("  gang ").append(gang).append('\n'));
    if (!request.spread().equals(Spread.any())) {
      text.append("  spread ").append(request.spread().kind()).append('\n');
    }
    if (request.healthyOnly()) {
      text.append("  healthy only\n");
    }
    request.requiredLabels().forEach((k, v) -> text.append("  " + k + " = " + v + "\n"));
    request.forbiddenLabels().forEach((k, v) -> text.append("  " + k + " not in " + v + "\n"));
    List<Workload.Member> first = workload.members(0);
    text.append("  pods ").append(pods(first)).append('\n');
    for (int slice = 1; slice < request.slices(); slice++) {
      if (!workload.members(slice).equals(first)) {
        text.append("  pods of slice " + slice + " " + pods(workload.members(slice)) + "\n");
      }
    }
    workload.notes().forEach(note -> text.append("  note: ").append(note).append('\n'));
  }

  private static String pods(List<Workload.Member> members) {
    List<String> words = new ArrayList<>();
    for (Workload.Member member : members) {
      words.add(
          member.pods()
              + (member.podSet().isEmpty() ? "" : " " + member.podSet())
              + " of "
              + member.chips());
    }
    return String.join(", ", words);
  }
}
