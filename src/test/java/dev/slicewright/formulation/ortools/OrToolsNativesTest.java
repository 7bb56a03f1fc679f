package dev.slicewright.formulation.ortools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import dev.slicewright.SolverUnavailableException;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.FormulationTask;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.conformance.RandomModels;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OrToolsNativesTest {

  private static final PlacementModel MODEL = RandomModels.line(10, 2, 1);

  private static FormulationTask task() {
    return task(Duration.ofSeconds(30));
  }

  private static FormulationTask task(Duration left) {
    return new FormulationTask(
        0,
        new long[0],
        System.nanoTime() + left.toNanos(),
        SolveBudget.within(Duration.ofSeconds(30)),
        0,
        null,
        solution -> {},
        new CancelToken());
  }

  private static <T extends Throwable> void sneak(Throwable t) throws T {
    @SuppressWarnings("unchecked")
    T unchecked = (T) t;
    throw unchecked;
  }

  @Test
  void loadsHere() {
    CpSatFormulation.preload();
    assertThat(CpSatFormulation.availability()).isEmpty();
    assertThat(CpSatFormulation.create().whyNot(MODEL, task())).isEmpty();
  }

  @Test
  void everyFailureIsTypedAndRemembered() {
    List<Throwable> failures =
        List.of(
            new UnsatisfiedLinkError("libjniortools.so: failed to map segment"),
            new NoClassDefFoundError("com/google/protobuf/RuntimeVersion"),
            new ExceptionInInitializerError(new IllegalStateException("gencode 4.33.1")),
            new NoSuchMethodError("com.google.protobuf.Message.isInitialized"),
            new IllegalStateException("java.nio.file.NoSuchFileException: nested.jar"),
            new Exception("checked"));
    for (Throwable failure : failures) {
      AtomicInteger loads = new AtomicInteger();
      CpSatFormulation formulation =
          new CpSatFormulation(
              new OrToolsNatives(
                  () -> {
                    loads.incrementAndGet();
                    OrToolsNativesTest.<RuntimeException>sneak(failure);
                  }));
      for (int n = 0; n < 3; n++) {
        assertThatThrownBy(() -> formulation.solve(MODEL, task()))
            .isInstanceOf(SolverUnavailableException.class)
            .hasCause(failure)
            .hasMessageContaining(failure.toString())
            .hasMessageContaining("java.io.tmpdir")
            .hasMessageContaining("noexec")
            .hasMessageContaining("MB")
            .hasMessageContaining("-Djava.library.path")
            .hasMessageContaining("protobuf-java 4.33.1");
        assertThat(formulation.whyNot(MODEL, task()).orElseThrow())
            .contains(failure.toString(), "availability()")
            .doesNotContain("\n");
      }
      assertThat(loads).hasValue(1);
    }
  }

  @Test
  void classPathTroubleIsNamedFirst() {
    assertThat(OrToolsNatives.explain(new NoSuchMethodError("x"))).contains("Most likely");
    assertThat(OrToolsNatives.explain(new UnsatisfiedLinkError("x"))).doesNotContain("Most likely");
  }

  @Test
  void slowLoadingEndsWithTheDeadline() {
    CountDownLatch hang = new CountDownLatch(1);
    CpSatFormulation formulation =
        new CpSatFormulation(
            new OrToolsNatives(
                () -> {
                  try {
                    hang.await();
                  } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                  }
                }));
    FormulationResult result = formulation.solve(MODEL, task(Duration.ofMillis(20)));
    assertThat(result.status()).isEqualTo(Status.UNKNOWN);
    assertThat(result.message()).contains("loaded");
    assertThat(formulation.whyNot(MODEL, task(Duration.ofMillis(20))).orElseThrow())
        .contains("availability()");
    Thread.currentThread().interrupt();
    assertThat(formulation.solve(MODEL, task()).status()).isEqualTo(Status.CANCELLED);
    assertThat(Thread.interrupted()).isTrue();
    hang.countDown();
  }

  @Test
  void switchedOff() {
    System.setProperty(OrToolsNatives.SWITCH, "off");
    try {
      assertThat(CpSatFormulation.availability().orElseThrow())
          .contains("dev.slicewright.natives=off");
      assertThat(CpSatFormulation.create().whyNot(MODEL, task()).orElseThrow())
          .contains("dev.slicewright.natives=off");
      assertThatThrownBy(() -> CpSatFormulation.create().solve(MODEL, task()))
          .isInstanceOf(SolverUnavailableException.class)
          .hasMessageContaining("dev.slicewright.natives=off");
    } finally {
      System.clearProperty(OrToolsNatives.SWITCH);
    }
    assertThat(CpSatFormulation.availability()).isEmpty();
  }

  // ---- in JVMs of their own --------------------------------------------------------------------

  /** Prints what a user would see. */
  static final class Child {
    private Child() {}

    public static void main(String[] args) {
      CpSatFormulation formulation = CpSatFormulation.create();
      print("AVAILABILITY " + CpSatFormulation.availability().orElse("fine"));
      print("WHY NOT " + formulation.whyNot(MODEL, task()).orElse("fine"));
      try {
        print("STATUS " + formulation.solve(MODEL, task()).status());
      } catch (SolverUnavailableException e) {
        print("TYPED " + e.getMessage());
      }
    }

    private static void print(String line) {
      System.out.println(line);
    }
  }

  private record Ended(int code, String output) {}

  private static Ended child(Path dir, List<String> options, String withoutJars) throws Exception {
    String path =
        String.join(
            File.pathSeparator,
            Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(
                    jar ->
                        withoutJars.isEmpty() || !new File(jar).getName().startsWith(withoutJars))
                .toList());
    Path output = dir.resolve("output.txt");
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.add("-XX:-UsePerfData");
    command.addAll(options);
    command.addAll(List.of("-cp", path, Child.class.getName()));
    Process process =
        new ProcessBuilder(command)
            .directory(Path.of("").toAbsolutePath().toFile())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
    assertThat(process.waitFor(60, TimeUnit.SECONDS)).as("the child ends").isTrue();
    return new Ended(process.exitValue(), Files.readString(output, StandardCharsets.UTF_8));
  }

  @Test
  void childWithEverything(@TempDir Path dir) throws Exception {
    Ended ended = child(dir, List.of("-Djava.io.tmpdir=" + dir), "");
    assertThat(ended.output()).contains("AVAILABILITY fine", "WHY NOT fine", "STATUS OPTIMAL");
    assertThat(ended.code()).isZero();
  }

  @Test
  void childWithoutATemporaryDirectory(@TempDir Path dir) throws Exception {
    Ended ended = child(dir, List.of("-Djava.io.tmpdir=" + dir.resolve("missing")), "");
    assertThat(ended.output())
        .contains("TYPED CP-SAT is unavailable", "which is no directory", "AVAILABILITY CP-SAT");
    assertThat(ended.code()).isZero();
  }

  @Test
  void childWithAFileForATemporaryDirectory(@TempDir Path dir) throws Exception {
    Path file = Files.createFile(dir.resolve("file"));
    Ended ended = child(dir, List.of("-Djava.io.tmpdir=" + file), "");
    assertThat(ended.output()).contains("TYPED CP-SAT is unavailable", "which is no directory");
    assertThat(ended.code()).isZero();
  }

  @Test
  void childWithADamagedLibrary(@TempDir Path dir) throws Exception {
    Files.writeString(dir.resolve(System.mapLibraryName("jniortools")), "not a library");
    Ended ended =
        child(
            dir,
            List.of("-Djava.library.path=" + dir, "-Djava.io.tmpdir=" + dir.resolve("missing")),
            "");
    assertThat(ended.output()).contains("TYPED CP-SAT is unavailable");
    assertThat(ended.code()).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"protobuf-java", "ortools-java", "ortools-linux", "jna"})
  void childWithoutAJar(String jar, @TempDir Path dir) throws Exception {
    Ended ended = child(dir, List.of("-Djava.io.tmpdir=" + dir), jar);
    if (jar.equals("ortools-linux") && ended.output().contains("STATUS OPTIMAL")) {
      return; // another platform
    }
    assertThat(ended.output()).contains("TYPED CP-SAT is unavailable");
    assertThat(ended.code()).isZero();
  }

  @Test
  void childSwitchedOffNeedsNoJars(@TempDir Path dir) throws Exception {
    Ended ended = child(dir, List.of("-Ddev.slicewright.natives=off"), "ortools");
    assertThat(ended.output()).contains("TYPED", "dev.slicewright.natives=off");
    assertThat(ended.code()).isZero();
  }
}
