package dev.slicewright.formulation;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.slicewright.CancelToken;
import dev.slicewright.InvalidInputException;
import dev.slicewright.SolveBudget;
import dev.slicewright.SolverUnavailableException;
import dev.slicewright.formulation.Formulation.Capability;
import dev.slicewright.formulation.FormulationResult.Status;
import dev.slicewright.formulation.conformance.RandomModels;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever a process does, its solve ends in time and honestly, and the next one works. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ProcessFormulationTest {

  /** Generous, since machines are busy; what hangs takes for ever. */
  private static final Duration SLACK = Duration.ofSeconds(30);

  private static ProcessFormulation shared;

  @BeforeAll
  static void open() {
    shared = wayward().build();
  }

  @AfterAll
  static void close() {
    works(shared);
    List<Long> pids = shared.pids();
    shared.close();
    assertThat(pids).isNotEmpty().noneMatch(ProcessFormulationTest::lives);
    assertThat(shared.pids()).isEmpty();
  }

  private static boolean lives(long pid) {
    return ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false);
  }

  private static ProcessFormulation.Builder wayward(String... options) {
    List<String> all =
        new ArrayList<>(List.of("-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
    all.addAll(List.of(options));
    return ProcessFormulation.builder(Wayward.class).jvmOptions(all).grace(Duration.ofMillis(100));
  }

  private static FormulationTask task(Duration time, CancelToken cancel, List<int[]> heard) {
    return new FormulationTask(
        0,
        new long[0],
        System.nanoTime() + time.toNanos(),
        SolveBudget.within(time),
        0,
        null,
        heard::add,
        cancel);
  }

  private static FormulationTask task(Duration time) {
    return task(time, new CancelToken(), new ArrayList<>());
  }

  private static final Duration LONG = Duration.ofSeconds(30);

  private static void works(ProcessFormulation formulation) {
    List<int[]> heard = new ArrayList<>();
    FormulationResult result =
        formulation.solve(Wayward.model("behave"), task(LONG, new CancelToken(), heard));
    assertThat(result.status()).as(result.message()).isEqualTo(Status.OPTIMAL);
    assertThat(result.solution().orElseThrow()).containsExactly(0, 1);
    assertThat(result.claimedBound()).hasValue(10);
    assertThat(heard).hasSize(1);
  }

  // ---------------------------------------------------------------- deaths

  @ParameterizedTest
  @CsvSource({
    "halt, 'exit code 77.*about to halt'",
    "exit, 'exit code 5'",
    "oom, 'OutOfMemoryError'",
    "allocate, '(?i)out of memory|OutOfMemoryError'",
    "throw, 'it threw .*out of luck'",
    "overflow, 'it threw .*StackOverflowError'",
    "'null', 'gave no answer'",
  })
  void aDeathIsAResult(String deed, String message) {
    List<int[]> heard = new ArrayList<>();
    FormulationResult result =
        shared.solve(Wayward.model(deed), task(LONG, new CancelToken(), heard));
    assertThat(result.status()).isEqualTo(Status.FAILED);
    assertThat(result.message()).containsPattern("(?s)" + message);
    assertThat(result.solution().orElseThrow()).as("what came before").containsExactly(0, 1);
    assertThat(result.claimedBound()).isEmpty();
    assertThat(heard).hasSize(1);
    works(shared);
  }

  @Test
  void anOrphanHidesNoDeath() {
    assumeTrue(File.separatorChar == '/');
    FormulationResult result = shared.solve(Wayward.model("orphan"), task(Duration.ofSeconds(15)));
    assertThat(result.status()).isEqualTo(Status.FAILED);
    assertThat(result.message()).contains("exit code 78");
    works(shared);
  }

  @Test
  void aSignalIsNamed() throws Exception {
    assumeTrue(File.separatorChar == '/');
    for (String signal : List.of("KILL", "SEGV")) {
      works(shared);
      Thread killer =
          new Thread(
              () -> {
                for (long pid : shared.pids()) {
                  try {
                    new ProcessBuilder("kill", "-" + signal, "" + pid).start().waitFor();
                  } catch (IOException | InterruptedException e) {
                    throw new IllegalStateException(e);
                  }
                }
              });
      FormulationTask task =
          new FormulationTask(
              0,
              new long[0],
              System.nanoTime() + LONG.toNanos(),
              SolveBudget.within(LONG),
              0,
              null,
              s -> killer.start(),
              new CancelToken());
      FormulationResult result = shared.solve(Wayward.model("sleep"), task);
      killer.join();
      assertThat(result.status()).isEqualTo(Status.FAILED);
      // A SIGSEGV is taken by the JVM, which says so and aborts.
      assertThat(result.message())
          .contains(signal.equals("KILL") ? "signal 9, SIGKILL" : "(a native crash), ")
          .contains("exit code");
      assertThat(result.message().contains("SIGSEGV")).isEqualTo(signal.equals("SEGV"));
      assertThat(result.solution().orElseThrow()).containsExactly(0, 1);
      works(shared);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"loop", "sleep"})
  void theDeafAreLeftAndKilled(String deed) throws InterruptedException {
    works(shared); // so that a process is there
    List<int[]> heard = new ArrayList<>();
    FormulationResult late =
        shared.solve(Wayward.model(deed), task(Duration.ofMillis(500), new CancelToken(), heard));
    assertThat(late.status()).isEqualTo(heard.isEmpty() ? Status.UNKNOWN : Status.FEASIBLE);
    assertThat(late.solution().isPresent()).isEqualTo(!heard.isEmpty());
    assertThat(late.message()).contains("did not answer in time");
    works(shared);

    CancelToken cancel = new CancelToken();
    FormulationTask task =
        new FormulationTask(
            0,
            new long[0],
            System.nanoTime() + Duration.ofHours(10).toNanos(),
            SolveBudget.within(Duration.ofHours(10)),
            0,
            null,
            s -> cancel.cancel(),
            cancel);
    FormulationResult cancelled = shared.solve(Wayward.model(deed), task);
    assertThat(cancelled.status()).isEqualTo(Status.CANCELLED);
    assertThat(cancelled.solution().orElseThrow()).containsExactly(0, 1);
    works(shared);
    gone(shared, 1);
  }

  /** Waits until no more than so many processes are left. */
  private static void gone(ProcessFormulation formulation, int most) throws InterruptedException {
    long until = System.nanoTime() + SLACK.toNanos();
    while (formulation.pids().size() > most && System.nanoTime() < until) {
      Thread.sleep(5);
    }
    assertThat(formulation.pids().size()).isLessThanOrEqualTo(most);
  }

  @Test
  void theObedientAreKept() {
    try (ProcessFormulation own = wayward().grace(LONG).maxProcesses(1).build()) {
      works(own);
      List<Long> before = own.pids();
      List<int[]> heard = new ArrayList<>();
      FormulationResult result =
          own.solve(
              Wayward.model("obedient"), task(Duration.ofMillis(200), new CancelToken(), heard));
      // It calls that a cancel, but nobody cancelled.
      assertThat(result.status()).isEqualTo(heard.isEmpty() ? Status.UNKNOWN : Status.FEASIBLE);
      works(own);
      assertThat(own.pids()).containsAll(before);
    }
  }

  @Test
  void aStoppedProcessDoesNotHoldItsCaller() throws Exception {
    assumeTrue(File.separatorChar == '/');
    try (ProcessFormulation own = wayward().maxProcesses(1).build()) {
      works(own);
      long pid = own.pids().get(0);
      new ProcessBuilder("kill", "-STOP", "" + pid).start().waitFor();
      // Larger than any pipe holds.
      PlacementModel large = RandomModels.line(200, 200, 1);
      FormulationResult result = own.solve(large, task(Duration.ofMillis(300)));
      assertThat(result.status()).isIn(Status.UNKNOWN, Status.FAILED);
      works(own);
      assertThat(lives(pid)).isFalse();
    }
  }

  // ---------------------------------------------------------------- what comes through

  @Test
  void printsDoNoHarm() {
    assumeTrue(File.separatorChar == '/');
    List<int[]> heard = new ArrayList<>();
    FormulationResult result =
        shared.solve(Wayward.model("print"), task(LONG, new CancelToken(), heard));
    assertThat(result.status()).as(result.message()).isEqualTo(Status.OPTIMAL);
    assertThat(result.solution().orElseThrow()).containsExactly(0, 1);
    assertThat(heard).hasSize(1);
  }

  @Test
  void nonsenseIsNamed() {
    FormulationResult result = shared.solve(Wayward.model("nonsense"), task(LONG));
    assertThat(result.status()).isEqualTo(Status.FAILED);
    assertThat(result.message()).contains("a solution of another model");
    works(shared);
  }

  @Test
  void unavailableAndDeclinedComeThrough() {
    assertThatThrownBy(() -> shared.solve(Wayward.model("unavailable"), task(LONG)))
        .isInstanceOf(SolverUnavailableException.class)
        .hasMessage("no solver here");
    assertThat(shared.whyNot(Wayward.model("decline"), task(LONG)))
        .contains("It would rather not.");
    assertThat(shared.whyNot(Wayward.model("behave"), task(LONG))).isEmpty();
    assertThat(shared.name()).isEqualTo("wayward");
    assertThat(shared.capabilities()).contains(Capability.INTERRUPT, Capability.STREAM);
    works(shared);
  }

  @Test
  void aListenerMayThrow() {
    FormulationTask task =
        new FormulationTask(
            0,
            new long[0],
            System.nanoTime() + LONG.toNanos(),
            SolveBudget.within(LONG),
            0,
            null,
            s -> {
              throw new IllegalStateException("mine");
            },
            new CancelToken());
    assertThatThrownBy(() -> shared.solve(Wayward.model("loop"), task)).hasMessage("mine");
    works(shared);
  }

  @Test
  void optionsAndEnvironmentReachTheProcess() {
    try (ProcessFormulation own =
        wayward("-Dwayward.word=hello ").environment(Map.of("WAYWARD", "world")).build()) {
      assertThat(own.solve(Wayward.model("behave"), task(LONG)).message()).isEqualTo("hello world");
    }
  }

  @Test
  void aLongClassPathGoesThroughAFile() {
    List<Path> path = new ArrayList<>();
    for (String part : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
      path.add(Path.of(part));
    }
    Path odd = Path.of("no such", "folder with \"quotes\" and back\\slashes");
    IntStream.range(0, 300).forEach(i -> path.add(0, odd.resolve("entry-" + i)));
    assertThat(path.toString().length()).isGreaterThan(20_000);
    try (ProcessFormulation own = wayward().classPath(path).build()) {
      works(own);
    }
  }

  // ---------------------------------------------------------------- starts and ends

  @Test
  void whatCannotStartSaysWhy() {
    PlacementModel model = Wayward.model("behave");
    try (ProcessFormulation own = wayward().java(Path.of("/no/such/java")).build()) {
      assertThatThrownBy(() -> own.solve(model, task(LONG)))
          .isInstanceOf(SolverUnavailableException.class)
          .hasMessageContainingAll("/no/such/java", "cannot be started");
      assertThat(own.whyNot(model, task(LONG)).orElseThrow()).contains("/no/such/java");
    }
    try (ProcessFormulation own = wayward("-XX:NoSuchOption").build()) {
      assertThatThrownBy(() -> own.solve(model, task(LONG)))
          .isInstanceOf(SolverUnavailableException.class)
          .hasMessageContainingAll("exit code 1", "NoSuchOption");
    }
    try (ProcessFormulation own = wayward().classPath(List.of(Path.of("nothing.jar"))).build()) {
      assertThatThrownBy(() -> own.solve(model, task(LONG)))
          .isInstanceOf(SolverUnavailableException.class)
          .hasMessageContainingAll("ProcessChild", "classPath");
    }
    try (ProcessFormulation own =
        ProcessFormulation.builder("no.such.Class", "absent", Set.of()).build()) {
      assertThatThrownBy(() -> own.solve(model, task(LONG)))
          .isInstanceOf(SolverUnavailableException.class)
          .hasMessageContaining("ClassNotFoundException: no.such.Class");
    }
    try (ProcessFormulation own =
        ProcessFormulation.builder(Wayward.class.getName(), "w", Set.of(Capability.NEEDS_GRID))
            .build()) {
      assertThatThrownBy(() -> own.solve(model, task(LONG)))
          .isInstanceOf(SolverUnavailableException.class)
          .hasMessageContaining("NEEDS_GRID");
    }
    try (ProcessFormulation own = wayward("-Dwayward.deed=unavailable").build()) {
      assertThatThrownBy(() -> own.solve(model, task(LONG)))
          .isInstanceOf(SolverUnavailableException.class)
          .hasMessageContaining("no solver here");
    }
    try (ProcessFormulation own =
        wayward("-Dwayward.deed=sleep").startLimit(Duration.ofMillis(500)).build()) {
      assertThatThrownBy(() -> own.solve(model, task(LONG)))
          .isInstanceOf(SolverUnavailableException.class)
          .hasMessageContaining("not ready");
    }
  }

  @Test
  void badSettingsAreNamedTogether() {
    assertThatThrownBy(
            () ->
                ProcessFormulation.builder(Hidden.class)
                    .factory("no method")
                    .maxProcesses(0)
                    .solvesPerProcess(0)
                    .idle(Duration.ZERO)
                    .grace(Duration.ofNanos(-1))
                    .classPath(List.of())
                    .build())
        .isInstanceOf(InvalidInputException.class)
        .hasMessageContainingAll(
            "type:",
            "factory:",
            "maxProcesses:",
            "solvesPerProcess:",
            "idle:",
            "grace:",
            "classPath:");
  }

  /** Nothing that a process could make. */
  private abstract static class Hidden implements Formulation {}

  @Test
  void aStartIsNotCutShort() throws InterruptedException {
    try (ProcessFormulation own = wayward().build()) {
      FormulationResult first = own.solve(Wayward.model("behave"), task(Duration.ofMillis(1)));
      assertThat(first.status()).isEqualTo(Status.UNKNOWN);
      assertThat(first.message()).containsAnyOf("no process was ready", "deadline had passed");
      own.preload(); // starts no second one
      works(own);
      assertThat(own.pids()).hasSize(1);
    }
  }

  @Test
  void eachSolveMayHaveItsOwn() throws InterruptedException {
    try (ProcessFormulation own = wayward().solvesPerProcess(1).build()) {
      works(own);
      // Used once, it ends; that may take a moment.
      gone(own, 0);
      works(own);
      gone(own, 0);
    }
  }

  @Test
  void theIdleEnd() throws InterruptedException {
    try (ProcessFormulation own = wayward().idle(Duration.ofMillis(50)).build()) {
      works(own);
      gone(own, 0);
      works(own);
    }
  }

  @Test
  void closingEndsWhatRuns() throws Exception {
    ProcessFormulation own = wayward().build();
    List<FormulationResult> results = new ArrayList<>();
    FormulationTask task =
        new FormulationTask(
            0,
            new long[0],
            System.nanoTime() + LONG.toNanos(),
            SolveBudget.within(LONG),
            0,
            null,
            s -> new Thread(own::close).start(),
            new CancelToken());
    results.add(own.solve(Wayward.model("loop"), task));
    assertThat(results.get(0).status()).isEqualTo(Status.FAILED);
    assertThat(results.get(0).message()).contains("closed");
    assertThatThrownBy(() -> own.solve(Wayward.model("behave"), task(LONG)))
        .isInstanceOf(SolverUnavailableException.class)
        .hasMessageContaining("closed");
    own.close();
    assertThat(own.pids()).isEmpty();
  }

  @Test
  void nothingIsLeftLying() throws Exception {
    Set<Thread> before = threads();
    Path dir;
    try (ProcessFormulation own = wayward().build()) {
      String message = own.solve(Wayward.model("litter"), task(LONG)).message();
      dir = Path.of(message.replaceAll("(?s).*dir=", "").replaceAll("(?s);.*", ""));
      assertThat(dir.resolve("a/b/c")).exists();
      assertThat(before.containsAll(threads())).isFalse();
    }
    assertThat(dir).doesNotExist();
    long until = System.nanoTime() + SLACK.toNanos();
    while (!before.containsAll(threads()) && System.nanoTime() < until) {
      Thread.sleep(10);
    }
    assertThat(before).containsAll(threads());
  }

  private static Set<Thread> threads() {
    return Thread.getAllStackTraces().keySet().stream()
        .filter(t -> t.getName().startsWith("slicewright-process"))
        .collect(Collectors.toSet());
  }

  /** A host that is killed in the middle of a solve. */
  public static final class Host {
    public static void main(String[] args) throws IOException {
      Path told = Path.of(args[0]);
      ProcessFormulation own = wayward().build();
      own.solve(
          Wayward.model("loop"),
          new FormulationTask(
              0,
              new long[0],
              System.nanoTime() + LONG.toNanos(),
              SolveBudget.within(LONG),
              0,
              null,
              s -> {
                try {
                  Path part = told.resolveSibling("part");
                  Files.writeString(part, own.pids().get(0) + "");
                  Files.move(part, told);
                } catch (IOException e) {
                  throw new IllegalStateException(e);
                }
              },
              new CancelToken()));
    }
  }

  @Test
  void theProcessesOfAKilledHostEnd(@org.junit.jupiter.api.io.TempDir Path temp) throws Exception {
    Path told = temp.resolve("pid");
    Process host =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-Djava.io.tmpdir=" + temp,
                "-cp",
                System.getProperty("java.class.path"),
                Host.class.getName(),
                told.toString())
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    try {
      long until = System.nanoTime() + LONG.multipliedBy(3).toNanos();
      while (!Files.exists(told) && host.isAlive() && System.nanoTime() < until) {
        Thread.sleep(10);
      }
      long pid = Long.parseLong(Files.readString(told));
      assertThat(lives(pid)).isTrue();
      host.destroyForcibly().waitFor();
      until = System.nanoTime() + LONG.toNanos();
      while (lives(pid) && System.nanoTime() < until) {
        Thread.sleep(10);
      }
      assertThat(lives(pid)).isFalse();
      try (var left = Files.list(temp)) {
        assertThat(left.map(p -> p.getFileName().toString()))
            .noneMatch(name -> name.startsWith("slicewright-process"));
      }
    } finally {
      host.destroyForcibly();
    }
  }
}
