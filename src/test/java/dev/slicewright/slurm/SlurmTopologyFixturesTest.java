package dev.slicewright.slurm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Files of topology.yaml, good and bad, each with what is read of it. */
class SlurmTopologyFixturesTest {

  private static final Path FILES = Path.of("src", "test", "resources", "slurm");

  static Stream<Path> files() throws IOException {
    try (Stream<Path> all = Files.list(FILES)) {
      return all.filter(f -> f.toString().endsWith(".yaml")).sorted().toList().stream();
    }
  }

  static String read(String name) {
    try {
      return Files.readString(FILES.resolve(name));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void thereAreFiles() throws IOException {
    assertThat(files()).hasSizeGreaterThan(12);
  }

  @ParameterizedTest
  @MethodSource("files")
  void lenientReadingGivesWhatIsWrittenDown(Path file) throws IOException {
    Path golden = Path.of(file.toString().replace(".yaml", ".txt"));
    String seen = describe(Files.readString(file));
    if (Boolean.getBoolean("slicewright.golden")) {
      Files.writeString(golden, seen);
    }

    assertThat(seen).isEqualTo(Files.readString(golden));
  }

  @ParameterizedTest
  @MethodSource("files")
  void strictReadingThrowsAllThatLenientReadingLists(Path file) throws IOException {
    String text = Files.readString(file);
    List<Problem> listed;
    try {
      listed = SlurmTopologyReader.builder().lenient(true).build().read(text).problems();
    } catch (InvalidInputException e) {
      listed = e.problems();
    }
    if (listed.isEmpty()) {
      assertThat(SlurmTopologyReader.create().read(text).problems()).isEmpty();
      return;
    }
    List<Problem> expected = listed;
    assertThatThrownBy(() -> SlurmTopologyReader.create().read(text))
        .isInstanceOfSatisfying(
            InvalidInputException.class, e -> assertThat(e.problems()).isEqualTo(expected));
  }

  @ParameterizedTest
  @MethodSource("files")
  void whatIsReadIsWrittenAndReadBackEqual(Path file) throws IOException {
    SlurmCluster cluster;
    try {
      cluster = SlurmTopologyReader.builder().lenient(true).build().read(Files.readString(file));
    } catch (InvalidInputException e) {
      return; // nothing to write
    }

    String written = SlurmTopologyWriter.write(cluster.topology(), cluster.toruses());
    SlurmCluster again = SlurmTopologyReader.create().read(written);

    assertThat(again.toruses()).isEqualTo(cluster.toruses());
    assertThat(again.topology()).isEqualTo(cluster.topology());
    assertThat(again.fleet()).isEqualTo(cluster.fleet());
    assertThat(SlurmTopologyWriter.write(again.topology(), again.toruses())).isEqualTo(written);
  }

  private static String describe(String yaml) {
    StringBuilder text = new StringBuilder();
    try {
      SlurmCluster cluster = SlurmTopologyReader.builder().lenient(true).build().read(yaml);
      text.append("topology ").append(cluster.topology()).append('\n');
      for (SlurmTorus torus : cluster.toruses()) {
        text.append("torus ").append(torus.name()).append(' ').append(torus.dims());
        text.append(", ").append(cluster.model(torus.name()).orElseThrow());
        text.append(", ").append(cluster.fleet().pod(torus.name()).orElseThrow().topology());
        text.append("\n  nodes ")
            .append(HostList.of(torus.nodes().stream().map(n -> n.isEmpty() ? "-" : n).toList()))
            .append('\n');
        for (TorusPlacement p : torus.placements()) {
          text.append("  placement ").append(p).append('\n');
        }
      }
      cluster.leftOut().forEach(l -> text.append("left out: ").append(l).append('\n'));
      cluster.problems().forEach(p -> text.append("problem: ").append(p).append('\n'));
    } catch (InvalidInputException e) {
      e.problems().forEach(p -> text.append("refused: ").append(p).append('\n'));
    }
    return text.toString();
  }
}
