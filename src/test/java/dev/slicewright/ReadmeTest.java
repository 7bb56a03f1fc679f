package dev.slicewright;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the README shows is what is compiled and run. */
class ReadmeTest {

  @Test
  void theProgramIsTheExample() throws IOException {
    String readme = Files.readString(Path.of("README.md"), StandardCharsets.UTF_8);
    String hello =
        Files.readString(
            Path.of("examples/src/main/java/dev/slicewright/examples/Hello.java"),
            StandardCharsets.UTF_8);
    List<String> shown = readme.substring(readme.indexOf("```java") + 7).lines().skip(1).toList();
    List<String> program = shown.subList(0, shown.indexOf("```"));
    assertThat(program).hasSizeGreaterThan(10);
    assertThat(normal(hello)).contains(normal(String.join("\n", program)));
  }

  private static String normal(String text) {
    return text.replaceAll("\\s+", " ").strip();
  }

  @Test
  void everyFileThatItLinksToExists() throws IOException {
    String readme = Files.readString(Path.of("README.md"), StandardCharsets.UTF_8);
    List<String> links =
        java.util.regex.Pattern.compile("\\]\\(([^)#]+)\\)")
            .matcher(readme)
            .results()
            .map(m -> m.group(1))
            .filter(link -> !link.startsWith("http"))
            .toList();
    assertThat(links).isNotEmpty();
    assertThat(links).allSatisfy(link -> assertThat(Path.of(link)).exists());
  }
}
