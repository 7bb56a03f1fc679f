package dev.slicewright.solve;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problem;
import dev.slicewright.formulation.DiscoveredFormulations;
import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Formulations registered on the class path. */
class DiscoverTest {

  /** One that works. */
  public static class Good implements Formulation {
    @Override
    public String name() {
      return "good";
    }

    @Override
    public Set<Capability> capabilities() {
      return Set.of();
    }

    @Override
    public Optional<String> whyNot(PlacementModel model, FormulationTask task) {
      return Optional.of("it never can");
    }

    @Override
    public FormulationResult solve(PlacementModel model, FormulationTask task) {
      throw new AssertionError();
    }
  }

  /** Has a name of another. */
  public static class Twin extends Good {}

  /** Works as well. */
  public static class Made extends Good {
    @Override
    public String name() {
      return "made";
    }
  }

  /** Cannot be made. */
  public static class Throws extends Good {
    public Throws() {
      throw new IllegalStateException("no licence");
    }
  }

  /** Cannot be loaded in full. */
  public static class Unlinked extends Good {
    public Unlinked() {
      throw new UnsatisfiedLinkError("libgone.so");
    }
  }

  /** Has no constructor without arguments. */
  public static class Wants extends Good {
    public Wants(int threads) {}
  }

  /** Does not say what it can do. */
  public static class Mute extends Good {
    @Override
    public Set<Capability> capabilities() {
      return null;
    }
  }

  /** Fails when asked for its name. */
  public static class Shy extends Good {
    @Override
    public String name() {
      throw new StackOverflowError();
    }
  }

  @TempDir Path dir;

  private ClassLoader registered(String... lines) throws IOException {
    Path file = dir.resolve("META-INF/services/" + Formulation.class.getName());
    Files.createDirectories(file.getParent());
    Files.writeString(file, String.join("\n", lines));
    return new URLClassLoader(new URL[] {dir.toUri().toURL()}, DiscoverTest.class.getClassLoader());
  }

  private static String name(Class<?> type) {
    return type.getName();
  }

  @Test
  void registeredOnesAreFoundWhenAskedFor() throws IOException {
    ClassLoader loader = registered("# ours", name(Good.class), name(Made.class));
    assertThat(
            SlicePlanner.builder().formulations(List.of()).discover(loader).build().formulations())
        .extracting(Formulation::name)
        .containsExactly("good", "made");
    assertThat(SlicePlanner.builder().discover(loader).build().formulations())
        .extracting(Formulation::name)
        .endsWith("good", "made")
        .hasSizeGreaterThan(2);
    assertThat(SlicePlanner.builder().build().formulations())
        .extracting(Formulation::name)
        .doesNotContain("good");
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    try {
      thread.setContextClassLoader(loader);
      assertThat(SlicePlanner.builder().discover().build().formulations())
          .extracting(Formulation::name)
          .contains("good");
      thread.setContextClassLoader(null);
      SlicePlanner.builder().discover().build();
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  @Test
  void brokenOnesAreNamedAndTheOthersThere() throws IOException {
    ClassLoader loader =
        registered(
            name(Throws.class),
            name(Unlinked.class),
            name(Wants.class),
            name(Mute.class),
            name(Shy.class),
            name(Good.class),
            name(Twin.class),
            "com.example.Nowhere",
            name(DiscoverTest.class),
            name(Made.class));
    DiscoveredFormulations found = DiscoveredFormulations.of(loader);
    assertThat(found.formulations()).extracting(Formulation::name).containsExactly("good", "made");
    assertThat(found.problems())
        .extracting(Problem::toString)
        .satisfiesExactlyInAnyOrder(
            p -> assertThat(p).contains(name(Throws.class), "no licence"),
            p -> assertThat(p).contains(name(Unlinked.class), "libgone.so"),
            p -> assertThat(p).contains(name(Wants.class)),
            p -> assertThat(p).contains(name(Mute.class), "capabilities"),
            p -> assertThat(p).contains(name(Shy.class), "StackOverflow"),
            p -> assertThat(p).contains(name(Twin.class), name(Good.class)),
            p -> assertThat(p).contains("com.example.Nowhere", "not found"),
            p -> assertThat(p).contains(name(DiscoverTest.class), "not a subtype"));
    assertThatThrownBy(() -> SlicePlanner.builder().discover(loader))
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContaining("8 problems")
        .hasMessageContaining("com.example.Nowhere");
  }

  @Test
  void aFileThatIsNoneIsAProblem() throws IOException {
    ClassLoader loader = registered("this is no class name", "\0\1");
    assertThat(DiscoveredFormulations.of(loader).problems()).isNotEmpty();
    assertThat(DiscoveredFormulations.of(loader).formulations()).isEmpty();
  }
}
