package dev.slicewright.formulation;

import dev.slicewright.formulation.ProcessWire.Out;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The parent's side of one child of a {@link ProcessPool}: a process, its temporary directory and
 * the thread that reads what it says. Safe for concurrent use; the fields that say so are guarded
 * by the pool.
 */
final class ChildProcess implements Runnable {

  static final String DIRECTORY_PREFIX = "slicewright-process-";

  /** Longer class paths go through a file: Windows allows 32,767 characters in all. */
  private static final int LONG_CLASS_PATH = 8_000;

  private static final int TAIL_BYTES = 8_192;
  private static final int TAIL_LINES = 20;
  private static final int TAIL_CHARS = 1_500;

  /** What HotSpot prints of a crash. */
  private static final String FATAL = "A fatal error has been detected";

  private static final String REPORT = "An error report file";

  private static final long EXIT_MILLIS = 1_000;

  /** What a child is at. */
  enum State {
    STARTING,
    IDLE,
    BUSY,
    /** Its caller has left; it may still come back. */
    WINDING,
    DEAD
  }

  // Guarded by the pool.
  State state = State.STARTING;
  @Nullable ProcessCall holder;
  long call = -1;
  long modelId = -1;
  @Nullable WeakReference<PlacementModel> model;
  final ArrayDeque<byte[]> mail = new ArrayDeque<>();
  int solves;
  long idleSince; // in calls of the pool
  long lastHeard = System.nanoTime();
  @Nullable Future<?> timer;
  String refusal = "";
  String obituary = "";

  private final ProcessPool pool;
  private final ProcessSettings settings;
  private final long mark = new SecureRandom().nextLong();
  private final long startedAt = System.nanoTime();
  private volatile @Nullable Process process;
  private volatile String killedFor = "";

  // What was printed; guarded by the array.
  private final byte[] tail = new byte[TAIL_BYTES];
  private long tailSize;

  ChildProcess(ProcessPool pool, ProcessSettings settings) {
    this.pool = pool;
    this.settings = settings;
  }

  // ---------------------------------------------------------------- its thread

  @Override
  public void run() {
    Path directory = null;
    String trouble = "";
    try {
      directory = Files.createTempDirectory(DIRECTORY_PREFIX);
      Process started = start(directory);
      process = started;
      started.onExit().thenRun(() -> pool.exited(this));
      if (!killedFor.isEmpty()) {
        started.destroyForcibly();
      }
      Out hello = new Out(ProcessWire.HELLO).number(ProcessWire.VERSION).number(mark);
      hello.number(ProcessHandle.current().pid());
      hello.string(settings.type()).string(settings.factory()).flag(settings.warmUp());
      try {
        send(hello);
      } catch (IOException e) {
        // It is dead already; why is in what it printed.
      }
      var reader = new ProcessFrames.Reader(started.getInputStream(), mark, this::printed);
      byte[] message;
      while ((message = reader.read()) != null) {
        pool.received(this, message);
      }
    } catch (IOException | RuntimeException e) {
      trouble = String.valueOf(e.getMessage());
    } finally {
      String how = bury(trouble);
      if (directory != null) {
        ProcessChild.deleteTree(directory);
      }
      pool.died(this, () -> how);
    }
  }

  private Process start(Path directory) throws IOException {
    List<String> command = new ArrayList<>();
    command.add(settings.java().toString());
    command.add("-XX:+ExitOnOutOfMemoryError");
    command.add("-XX:-CreateCoredumpOnCrash");
    command.add("-XX:-UsePerfData"); // else a kill leaves a file behind
    command.add("-XX:ErrorFile=" + directory.resolve("hs_err.log"));
    command.add("-Djava.io.tmpdir=" + directory);
    command.addAll(settings.jvmOptions());
    String path = settings.classPath();
    if (path.length() > LONG_CLASS_PATH) {
      Path file = directory.resolve("classpath.args");
      String quoted = path.replace("\\", "\\\\").replace("\"", "\\\"");
      Files.writeString(file, "-cp \"" + quoted + "\"\n");
      command.add("@" + file);
    } else {
      command.add("-cp");
      command.add(path);
    }
    command.add(ProcessChild.class.getName());
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    Map<String, String> environment = builder.environment();
    // Meant for the host: heap sizes, agents, debuggers that wait on a port.
    environment.remove("JAVA_TOOL_OPTIONS");
    environment.remove("JDK_JAVA_OPTIONS");
    environment.putAll(settings.environment());
    return builder.start();
  }

  private void printed(int b) {
    synchronized (tail) {
      tail[(int) (tailSize++ % TAIL_BYTES)] = (byte) b;
    }
  }

  /** The last lines that were printed. */
  private String lastLines() {
    byte[] bytes;
    synchronized (tail) {
      int n = (int) Math.min(tailSize, TAIL_BYTES);
      bytes = new byte[n];
      for (int i = 0; i < n; i++) {
        bytes[i] = tail[(int) ((tailSize - n + i) % TAIL_BYTES)];
      }
    }
    List<String> lines =
        new String(bytes, StandardCharsets.UTF_8)
            .lines()
            .map(line -> line.replaceAll("\\p{Cntrl}", " ").strip())
            .filter(line -> !line.isEmpty() && !line.equals("#"))
            .toList();
    int from = Math.max(0, lines.size() - TAIL_LINES);
    int to = lines.size();
    for (int i = from; i < lines.size(); i++) {
      if (lines.get(i).contains(FATAL)) {
        from = i;
      } else if (lines.get(i).contains(REPORT)) {
        to = i; // where its report lies, which goes with the directory
        break;
      }
    }
    String text = String.join(" | ", lines.subList(from, to));
    return text.length() <= TAIL_CHARS
        ? text
        : "…" + text.substring(text.length() - TAIL_CHARS + 1);
  }

  /** Sees that the process is dead; returns how it died. */
  String bury(String trouble) {
    Process dead = process;
    StringBuilder text = new StringBuilder();
    if (dead == null) {
      return "its process cannot be started: " + trouble;
    }
    if (!trouble.isEmpty()) {
      kill(trouble);
    }
    int code = -1;
    try {
      if (!dead.waitFor(EXIT_MILLIS, TimeUnit.MILLISECONDS)) {
        kill("it closed its output");
        dead.waitFor(EXIT_MILLIS, TimeUnit.MILLISECONDS);
      }
      code = dead.exitValue();
    } catch (InterruptedException e) {
      dead.destroyForcibly(); // nobody has this thread to interrupt it
    } catch (IllegalThreadStateException e) {
      text.append("(it does not end) ");
    }
    double seconds = (System.nanoTime() - startedAt) / 1e9;
    String last = lastLines();
    if (killedFor.isEmpty()) {
      text.append(
          String.format(
              Locale.ROOT,
              "its process died with exit code %d%s, %.1f s after it was started",
              code,
              last.contains(FATAL) ? " (a native crash)" : meaning(code),
              seconds));
    } else {
      text.append("its process was killed: ").append(killedFor);
    }
    return last.isEmpty()
        ? text.toString()
        : text.append("; last output: ").append(last).toString();
  }

  private static String meaning(int code) {
    return switch (code) {
      case ProcessChild.EXIT_OUT_OF_MEMORY -> " (out of memory)";
      case ProcessChild.EXIT_PROTOCOL -> " (it did not understand its parent)";
      case 128 + 4 -> " (signal 4, SIGILL)";
      case 128 + 6 -> " (signal 6, SIGABRT: a native crash)";
      case 128 + 7 -> " (signal 7, SIGBUS)";
      case 128 + 8 -> " (signal 8, SIGFPE)";
      case 128 + 9 -> " (signal 9, SIGKILL: killed from outside, perhaps for want of memory)";
      case 128 + 11 -> " (signal 11, SIGSEGV: a native crash)";
      case 128 + 15 -> " (signal 15, SIGTERM)";
      default -> code > 128 && code < 160 ? " (signal " + (code - 128) + ")" : "";
    };
  }

  // ---------------------------------------------------------------- for all threads

  /** Writes a message. May block while the child does not read; a kill ends that. */
  void send(Out message) throws IOException {
    Process to = process;
    if (to == null) {
      throw new IOException("The process has not been started.");
    }
    byte[] bytes = message.toBytes();
    OutputStream out = to.getOutputStream();
    DataOutputStream data = new DataOutputStream(out);
    data.writeInt(bytes.length);
    data.write(bytes);
    data.flush();
  }

  /** Kills it, and what it has started. */
  void kill(String why) {
    synchronized (mail) {
      if (killedFor.isEmpty()) {
        killedFor = why;
      }
    }
    Process victim = process;
    if (victim != null && victim.isAlive()) {
      List<ProcessHandle> offspring = victim.descendants().toList();
      victim.destroyForcibly();
      offspring.forEach(ProcessHandle::destroyForcibly);
    }
  }

  boolean isAlive() {
    Process now = process;
    return now != null && now.isAlive();
  }

  /** For tests. */
  long pid() {
    Process now = process;
    return now == null ? -1 : now.pid();
  }
}
