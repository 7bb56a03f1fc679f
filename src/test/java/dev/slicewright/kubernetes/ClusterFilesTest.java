package dev.slicewright.kubernetes;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.slicewright.InvalidInputException;
import io.fabric8.kubernetes.api.model.HasMetadata;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
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
 * Clusters written from the platform's documentation, and what they are read as. Run with {@code
 * -Dgolden.write=true} to write the expected texts anew, then look at them.
 */
class ClusterFilesTest {

  private static final Path CLUSTERS = Path.of("src/test/resources/kubernetes/clusters");
  private static final ClusterReader LENIENT = ClusterReader.builder().lenient(true).build();

  static List<String> clusters() throws IOException {
    try (Stream<Path> files = Files.list(CLUSTERS)) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.endsWith(".yaml"))
          .map(name -> name.substring(0, name.length() - ".yaml".length()))
          .sorted()
          .toList();
    }
  }

  private static KubernetesObjects objects(String name) throws IOException {
    return ManifestReader.create().read(CLUSTERS.resolve(name + ".yaml"));
  }

  @Test
  void thereAreAtLeastFifteenClusters() throws IOException {
    assertThat(clusters()).hasSizeGreaterThanOrEqualTo(15);
  }

  @ParameterizedTest
  @MethodSource("clusters")
  void readsAsExpected(String name) throws IOException {
    String text = ClusterText.of(LENIENT.read(objects(name)));
    Path expected = CLUSTERS.resolve(name + ".expected.txt");
    if (Boolean.getBoolean("golden.write")) {
      Files.writeString(expected, text);
    }
    assertThat(text).isEqualTo(Files.readString(expected, StandardCharsets.UTF_8));
  }

  @ParameterizedTest
  @MethodSource("clusters")
  void strictReadingThrowsWhatLenientReadingLists(String name) throws IOException {
    Cluster lenient = LENIENT.read(objects(name));
    if (lenient.problems().isEmpty()) {
      Cluster strict = ClusterReader.create().read(objects(name));
      assertThat(ClusterText.of(strict)).isEqualTo(ClusterText.of(lenient));
      return;
    }
    InvalidInputException thrown =
        catchThrowableOfType(
            InvalidInputException.class, () -> ClusterReader.create().read(objects(name)));
    assertThat(thrown.problems()).isEqualTo(lenient.problems());
  }

  @ParameterizedTest
  @MethodSource("clusters")
  void theOrderOfTheObjectsChangesNothing(String name) throws IOException {
    KubernetesObjects objects = objects(name);
    Cluster read = LENIENT.read(objects);
    List<HasMetadata> shuffled = new ArrayList<>(objects.all());
    for (int seed = 0; seed < 3; seed++) {
      Collections.shuffle(shuffled, new Random(seed));
      Cluster other = LENIENT.read(shuffled);
      assertThat(other.fleet()).isEqualTo(read.fleet());
      assertThat(ClusterText.of(other)).isEqualTo(ClusterText.of(read));
    }
  }

  @ParameterizedTest
  @MethodSource("clusters")
  void everyProblemNamesAnObjectAndWhatIsLeftOutIsAmongThem(String name) throws IOException {
    KubernetesObjects objects = objects(name);
    Cluster cluster = LENIENT.read(objects);
    List<String> paths = objects.all().stream().map(o -> ObjectRef.of(o).path()).toList();
    assertThat(cluster.problems())
        .allSatisfy(
            problem ->
                assertThat(paths)
                    .anyMatch(
                        path ->
                            problem.path().equals(path)
                                || problem.path().startsWith(path + ".")
                                || problem.path().startsWith(path + "[")));
    assertThat(cluster.leftOut())
        .allSatisfy(left -> assertThat(paths).contains(left.object().path()));
  }
}
