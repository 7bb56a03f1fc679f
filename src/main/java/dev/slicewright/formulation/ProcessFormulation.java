package dev.slicewright.formulation;

import dev.slicewright.InvalidInputException;
import dev.slicewright.Problems;
import dev.slicewright.SolverUnavailableException;
import dev.slicewright.formulation.FormulationResult.Status;
import java.io.File;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Runs any formulation in a JVM of its own, so that a native crash, or memory gone wild, cannot
 * take this one down. Safe for concurrent use.
 *
 * <pre>{@code
 * try (ProcessFormulation outside = ProcessFormulation.of(CpSatFormulation.class)) {
 *   outside.preload();
 *   SlicePlanner planner = SlicePlanner.builder().formulations(List.of(outside)).build();
 *   ...
 * }
 * }</pre>
 *
 * <p><b>Processes.</b> Each solve has a process to itself. Processes are started when a solve finds
 * none free, are kept warm between solves, and end after {@link Builder#idle}; the next solve on
 * the same model finds the model there already. A start takes about a third of a second, or
 * whatever loading native code takes, and is not cut short by the deadline of the solve that wanted
 * it: that solve comes back without an answer, and the next one finds the process. So call {@link
 * #preload()} early. When this JVM ends, however it ends, its processes see their input end and
 * halt, in the middle of a native solve too; {@link #close()}, or the garbage collection of this
 * object, ends them before. Each has a temporary directory of its own ({@code java.io.tmpdir}),
 * which is deleted after it.
 *
 * <p><b>Deadlines.</b> The caller is let go at most 20 ms after the deadline and 40 ms after a
 * cancel or an interrupt, whatever the process does; a process that is still at work a grace later
 * is killed. One that gives no sign of life for 10 s is killed too.
 *
 * <p><b>Deaths.</b> When a process dies, the solve ends with {@link Status#FAILED}, a message with
 * the exit code, the signal and the last lines that were printed, and the last improving solution
 * that had come through. The next solve gets another process. What the formulation throws is {@code
 * FAILED} too, but for {@link SolverUnavailableException}, which comes out as itself.
 *
 * <p><b>What it costs.</b> A solve on a model that the process has takes a tenth of a millisecond
 * more than in this JVM; sending a model of 6,000 candidates some milliseconds. Models beyond 256
 * MiB as bytes are declined. The heap of a process is bounded by {@link Builder#jvmOptions}; native
 * memory is not.
 *
 * <p>Answers are as deterministic as those of the formulation within. Listeners run on the calling
 * thread and may miss a solution where they are slow; what they throw comes out of the solve.
 */
public final class ProcessFormulation implements Formulation, AutoCloseable {

  private static final class Cleaning {
    private static final Cleaner CLEANER = Cleaner.create();
  }

  private final ProcessPool pool;
  private final Set<Capability> capabilities;
  private final Cleaner.Cleanable cleanable;

  private ProcessFormulation(ProcessSettings settings) {
    this.pool = new ProcessPool(settings);
    Set<Capability> set = EnumSet.of(Capability.INTERRUPT); // a process can always be killed
    set.addAll(settings.capabilities());
    this.capabilities = Set.copyOf(set);
    this.cleanable = Cleaning.CLEANER.register(this, pool);
  }

  /**
   * A formulation in processes with the defaults.
   *
   * @param type see {@link #builder(Class)}
   * @return a new formulation; starts nothing
   * @throws InvalidInputException if the class cannot be used
   */
  public static ProcessFormulation of(Class<? extends Formulation> type) {
    return builder(type).build();
  }

  /**
   * A builder for a class that this JVM has too. One object of it is made here, to ask its name and
   * what it can do; nothing is solved here.
   *
   * @param type a public class with a public constructor without parameters or, where it has no
   *     public constructor, a public static method {@code create()}; it must be on the class path
   *     of the processes
   * @return a new builder
   */
  public static Builder builder(Class<? extends Formulation> type) {
    return new Builder(type.getName(), type, "", Set.of());
  }

  /**
   * A builder for a class that only the processes have, or that must not be loaded here.
   *
   * @param type the name of a class as for {@link #builder(Class)}
   * @param name its {@link #name()}
   * @param capabilities what it can do; a process whose formulation lacks one of them is refused
   * @return a new builder
   */
  public static Builder builder(String type, String name, Set<Capability> capabilities) {
    return new Builder(
        Objects.requireNonNull(type, "type"),
        null,
        Objects.requireNonNull(name, "name"),
        Set.copyOf(capabilities));
  }

  /**
   * Starts a process on a thread of its own, if there is none, and returns at once. What goes wrong
   * shows at the next solve.
   */
  public void preload() {
    pool.preload();
  }

  /**
   * The name of the class that runs in the processes.
   *
   * @return as {@link Class#getName()}
   */
  public String type() {
    return pool.settings().type();
  }

  /**
   * {@inheritDoc}
   *
   * <p>It is that of the formulation within: the same solver in another process is no second
   * opinion.
   */
  @Override
  public String name() {
    return pool.settings().name();
  }

  /**
   * {@inheritDoc}
   *
   * <p>What the formulation within can do, and {@link
   * dev.slicewright.formulation.Formulation.Capability#INTERRUPT}.
   */
  @Override
  public Set<Capability> capabilities() {
    return capabilities;
  }

  /**
   * {@inheritDoc}
   *
   * <p>Asked in a process, which then has the model; waits for one until the deadline.
   */
  @Override
  public Optional<String> whyNot(PlacementModel model, FormulationTask task) {
    String wrong = wrongLevel(model, task);
    if (!wrong.isEmpty()) {
      return Optional.of(wrong);
    }
    try {
      String why = new ProcessCall(pool, model, task).whyNot();
      return why.isEmpty() ? Optional.empty() : Optional.of(why);
    } catch (SolverUnavailableException e) {
      return Optional.of(String.valueOf(e.getMessage()));
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * {@inheritDoc}
   *
   * @throws SolverUnavailableException also if no process can be started, and after {@link
   *     #close()}
   */
  @Override
  public FormulationResult solve(PlacementModel model, FormulationTask task) {
    String wrong = wrongLevel(model, task);
    if (!wrong.isEmpty()) {
      throw new IllegalArgumentException(wrong);
    }
    try {
      if (task.cancel().isCancelled() || Thread.currentThread().isInterrupted()) {
        return new FormulationResult(Status.CANCELLED, null, null, "cancelled before the solve");
      }
      if (task.remainingNanos() == 0) {
        return new FormulationResult(
            Status.UNKNOWN, null, null, "the deadline had passed before the solve");
      }
      return new ProcessCall(pool, model, task).solve();
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  private static String wrongLevel(PlacementModel model, FormulationTask task) {
    int levels = model.levels().size();
    return task.level() < levels
        ? ""
        : "Expected a level below " + levels + ", but was " + task.level() + ".";
  }

  /**
   * Ends every process, solves under way included, which fail, and waits until they are gone, 5 s
   * at most. Idempotent; later solves throw {@link SolverUnavailableException}.
   */
  @Override
  public void close() {
    pool.close();
    cleanable.clean();
  }

  @Override
  public String toString() {
    return "ProcessFormulation[" + name() + ", " + type() + "]";
  }

  /** For tests: the processes that live. */
  List<Long> pids() {
    return pool.pids();
  }

  /** Builds a {@link ProcessFormulation}. Confined to one thread at a time. */
  public static final class Builder {
    private static final Pattern NAME = Pattern.compile("[\\p{L}_$][\\p{L}\\p{N}_$]*");

    private final String type;
    private final @Nullable Class<? extends Formulation> here;
    private final String name;
    private final Set<Capability> capabilities;
    private String factory = "";
    private Path java =
        Path.of(System.getProperty("java.home", ""), "bin", isWindows() ? "java.exe" : "java");
    private boolean ownJava = true;
    private List<String> jvmOptions = List.of();
    private String classPath = ownClassPath();
    private Map<String, String> environment = Map.of();
    private boolean warmUp = true;
    private int maxProcesses = Math.max(1, Runtime.getRuntime().availableProcessors());
    private int solvesPerProcess = Integer.MAX_VALUE;
    private Duration idle = Duration.ofMinutes(5);
    private Duration grace = Duration.ofMillis(250);
    private Duration startLimit = Duration.ofSeconds(30);

    private Builder(
        String type,
        @Nullable Class<? extends Formulation> here,
        String name,
        Set<Capability> capabilities) {
      this.type = type;
      this.here = here;
      this.name = name;
      this.capabilities = capabilities;
    }

    private static boolean isWindows() {
      return File.separatorChar == '\\';
    }

    /** The class path, and the module path behind it as if it were one. */
    private static String ownClassPath() {
      List<String> parts = new ArrayList<>();
      for (String property : List.of("java.class.path", "jdk.module.path")) {
        String value = System.getProperty(property, "");
        if (!value.isEmpty()) {
          parts.add(value);
        }
      }
      return String.join(File.pathSeparator, parts);
    }

    /**
     * Sets the public static method without parameters that makes the formulation.
     *
     * @param method its name; by default the constructor, or {@code create} where none is public
     * @return this
     */
    public Builder factory(String method) {
      factory = Objects.requireNonNull(method, "method");
      return this;
    }

    /**
     * Sets the program that runs the processes: Java 17 or later, or something that starts one and
     * passes arguments, input and output through.
     *
     * @param executable that of this JVM by default
     * @return this
     */
    public Builder java(Path executable) {
      java = Objects.requireNonNull(executable, "executable");
      ownJava = false;
      return this;
    }

    /**
     * Sets options of the JVM. Nothing is inherited from this one but {@code java.library.path},
     * where the program is the same: neither its heap limit, nor other system properties, nor
     * {@code JAVA_TOOL_OPTIONS} and {@code JDK_JAVA_OPTIONS}. By itself a process has {@code
     * -XX:+ExitOnOutOfMemoryError}, no core dumps, and its temporary directory, where the report of
     * a crash goes too: name another place by {@code -XX:ErrorFile} to keep it.
     *
     * @param options none by default; for example {@code -Xmx1g}
     * @return this
     */
    public Builder jvmOptions(List<String> options) {
      jvmOptions = List.copyOf(options);
      return this;
    }

    /**
     * Sets the class path: this library, the formulation and what it needs. One of more than 8,000
     * characters is handed over in a file, so that no limit of the system's command lines matters.
     *
     * @param parts that of this JVM by default; where its class loader has another (application
     *     servers, nested jars), it must be given
     * @return this
     */
    public Builder classPath(List<Path> parts) {
      classPath =
          parts.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
      return this;
    }

    /**
     * Sets environment variables over the inherited ones.
     *
     * @param values none by default
     * @return this
     */
    public Builder environment(Map<String, String> values) {
      environment = Map.copyOf(values);
      return this;
    }

    /**
     * Sets whether a process solves a model of one item when it starts, so that classes and native
     * code are loaded before the first solve.
     *
     * @param value true by default
     * @return this
     */
    public Builder warmUp(boolean value) {
      warmUp = value;
      return this;
    }

    /**
     * Sets the most processes that start, work or wait at one time; as many again may be ending. A
     * solve that finds all of them at work waits, until its deadline.
     *
     * @param value from 1 to 64; the number of processors by default
     * @return this
     */
    public Builder maxProcesses(int value) {
      maxProcesses = value;
      return this;
    }

    /**
     * Sets after how many solves a process is replaced.
     *
     * @param value 1 or more; 1 gives each solve a new process; without limit by default
     * @return this
     */
    public Builder solvesPerProcess(int value) {
      solvesPerProcess = value;
      return this;
    }

    /**
     * Sets how long a process waits for the next solve before it ends.
     *
     * @param value more than zero; 5 minutes by default
     * @return this
     */
    public Builder idle(Duration value) {
      idle = Objects.requireNonNull(value, "idle");
      return this;
    }

    /**
     * Sets how long a process that did not answer in time may take to come back before it is
     * killed. Its caller does not wait for that.
     *
     * @param value zero or more; 250 ms by default
     * @return this
     */
    public Builder grace(Duration value) {
      grace = Objects.requireNonNull(value, "grace");
      return this;
    }

    /**
     * Sets how long a process may take to start, warming up included.
     *
     * @param value more than zero; 30 s by default
     * @return this
     */
    public Builder startLimit(Duration value) {
      startLimit = Objects.requireNonNull(value, "startLimit");
      return this;
    }

    /**
     * Checks and builds; starts nothing.
     *
     * @return the formulation
     * @throws InvalidInputException listing every problem
     */
    public ProcessFormulation build() {
      Problems problems = new Problems();
      String method = factory;
      String ownName = name;
      Set<Capability> can = capabilities;
      if (here != null) {
        try {
          Formulation one = ProcessChild.make(type, method);
          ownName = one.name();
          can = Set.copyOf(one.capabilities());
        } catch (ReflectiveOperationException | ClassCastException e) {
          problems.add(
              "type",
              "expected a public class with a public constructor without parameters or a public"
                  + " static method "
                  + (method.isEmpty() ? "create" : method)
                  + "() that makes a Formulation, but "
                  + type
                  + " gave "
                  + e);
        } catch (Throwable e) { // of a foreign class
          problems.add("type", "expected a formulation, but making a " + type + " threw " + e);
        }
      } else if (ownName.isEmpty()) {
        problems.add("name", "expected a name, but it was empty");
      }
      if (!method.isEmpty() && !NAME.matcher(method).matches()) {
        problems.add("factory", "expected the name of a method, but was " + method);
      }
      if (classPath.isEmpty()) {
        problems.add("classPath", "this JVM has none; say where the processes find their classes");
      }
      range(problems, "maxProcesses", maxProcesses, 64);
      range(problems, "solvesPerProcess", solvesPerProcess, Integer.MAX_VALUE);
      Duration most = Duration.ofDays(365);
      for (Map.Entry<String, Duration> d :
          Map.of("idle", idle, "startLimit", startLimit, "grace", grace.plusNanos(1)).entrySet()) {
        Duration value = d.getValue();
        if (value.isNegative() || value.isZero() || value.compareTo(most) > 0) {
          problems.add(
              d.getKey(), "expected a time that is not negative, at most a year, but was " + value);
        }
      }
      problems.throwIfAny("process formulation");
      List<String> options = new ArrayList<>();
      if (ownJava && Runtime.version().feature() >= 24) {
        options.add("--enable-native-access=ALL-UNNAMED"); // else that JVM warns
      }
      String libraries = System.getProperty("java.library.path", "");
      if (ownJava && !libraries.isEmpty()) {
        options.add("-Djava.library.path=" + libraries); // unpacked native code, if any
      }
      options.addAll(jvmOptions);
      return new ProcessFormulation(
          new ProcessSettings(
              type,
              method,
              ownName,
              can,
              java,
              List.copyOf(options),
              classPath,
              environment,
              warmUp,
              maxProcesses,
              solvesPerProcess,
              idle,
              grace,
              startLimit));
    }

    private static void range(Problems problems, String path, int value, int most) {
      if (value < 1 || value > most) {
        problems.add(path, "expected 1 to " + most + ", but was " + value);
      }
    }
  }
}
