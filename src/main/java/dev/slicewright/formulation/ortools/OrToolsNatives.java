package dev.slicewright.formulation.ortools;

import com.google.ortools.Loader;
import com.google.ortools.sat.CpModelProto;
import com.google.ortools.sat.CpSatHelper;
import dev.slicewright.SolverUnavailableException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Loads OR-Tools' native code once, at the first use, on a thread of its own, and remembers how it
 * went. Safe for concurrent use.
 *
 * <p>OR-Tools' own loader may return normally though nothing was loaded (a temporary directory
 * mounted {@code noexec}, or too small); the failure then shows at the first native call. So one
 * cheap native call is made right after loading, inside the same guard.
 *
 * <p>Loading unpacks about 71 MB into {@code java.io.tmpdir} and takes about 0.6 s, or 20 ms and no
 * files where {@code -Djava.library.path} points at an unpacked copy.
 */
final class OrToolsNatives {

  /** System property: {@code off} keeps native code from being loaded or used. */
  static final String SWITCH = "dev.slicewright.natives";

  private static final Logger LOG = System.getLogger(OrToolsNatives.class.getName());

  /** What unpacking needs, with some room. */
  private static final long NEEDED_BYTES = 80L << 20;

  /** How long those wait who have no deadline. */
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);

  private static final OrToolsNatives SHARED = new OrToolsNatives(OrToolsNatives::loadNow);

  private final Runnable loader;
  private final Object lock = new Object();
  private final CountDownLatch finished = new CountDownLatch(1);
  private boolean started;
  private volatile @Nullable Throwable failure;
  private volatile String diagnosis = "";

  /**
   * For tests.
   *
   * @param loader loads, or throws anything
   */
  OrToolsNatives(Runnable loader) {
    this.loader = loader;
  }

  /** The one of this JVM (of this class loader). */
  static OrToolsNatives shared() {
    return SHARED;
  }

  /** Why native code cannot be used, after waiting for it to load; empty if it can. */
  Optional<String> whyUnavailable() {
    return whyUnavailable(System.nanoTime() + PATIENCE_NANOS);
  }

  /** As {@link #whyUnavailable()}, waiting until a moment of {@link System#nanoTime()} at most. */
  Optional<String> whyUnavailable(long deadlineNanos) {
    if (isOff()) {
      return Optional.of(offMessage());
    }
    if (!await(deadlineNanos)) {
      return Optional.of(
          "The native code of OR-Tools is still being loaded; call"
              + " CpSatFormulation.availability() once at start-up, without a deadline.");
    }
    return failure == null ? Optional.empty() : Optional.of(message());
  }

  /** As {@link #whyUnavailable(long)}, in one sentence. */
  Optional<String> whyNot(long deadlineNanos) {
    Optional<String> why = whyUnavailable(deadlineNanos);
    Throwable cause = failure;
    return cause == null || isOff()
        ? why
        : Optional.of(
            "The native code of OR-Tools does not load or link here ("
                + cause
                + "); CpSatFormulation.availability() says what was found and how to mend it.");
  }

  /**
   * Waits until native code is usable.
   *
   * @return false if the deadline came first, or the thread was interrupted (its flag is kept)
   * @throws SolverUnavailableException if native code is switched off or does not load
   */
  boolean require(long deadlineNanos) {
    if (isOff()) {
      throw new SolverUnavailableException(offMessage(), null);
    }
    if (!await(deadlineNanos)) {
      return false;
    }
    Throwable cause = failure;
    if (cause != null) {
      throw new SolverUnavailableException(message(), cause);
    }
    return true;
  }

  /** An exception for a linkage error that shows only later. */
  static SolverUnavailableException late(LinkageError error) {
    return new SolverUnavailableException(explain(error), error);
  }

  /** Starts loading, if nothing forbids it, and returns at once. */
  void start() {
    if (isOff()) {
      return;
    }
    synchronized (lock) {
      if (!started) {
        started = true;
        Thread thread = new Thread(this::load, "slicewright-ortools-loader");
        thread.setDaemon(true);
        thread.start();
      }
    }
  }

  private boolean await(long deadlineNanos) {
    start();
    try {
      return finished.await(Math.max(0, deadlineNanos - System.nanoTime()), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  private void load() {
    try {
      loader.run();
      LOG.log(Level.DEBUG, "The native code of OR-Tools is loaded.");
    } catch (Throwable t) { // whatever native loading throws is remembered, Errors above all
      diagnosis = explain(t);
      failure = t;
      LOG.log(Level.DEBUG, "The native code of OR-Tools does not load.", t);
    } finally {
      finished.countDown();
    }
  }

  private static void loadNow() {
    Loader.loadNativeLibraries();
    // Any native call would do; this one also runs protobuf's generated code.
    String complaint = CpSatHelper.validateModel(CpModelProto.getDefaultInstance());
    if (!complaint.isEmpty()) {
      throw new IllegalStateException("OR-Tools rejects an empty model: " + complaint);
    }
  }

  static boolean isOff() {
    return "off".equalsIgnoreCase(System.getProperty(SWITCH));
  }

  private static String offMessage() {
    return "CP-SAT is unavailable: native code is switched off by the system property "
        + SWITCH
        + "=off; remove the property to use it.";
  }

  private String message() {
    return diagnosis;
  }

  /** What failed, what was found here, and how to mend it. Throws nothing. */
  static String explain(Throwable failure) {
    StringBuilder text =
        new StringBuilder(
            "CP-SAT is unavailable: the native code of OR-Tools does not load or link.");
    Throwable cause = failure;
    for (int depth = 0; cause != null && depth < 5; depth++, cause = cause.getCause()) {
      text.append("\n  ").append(depth == 0 ? "It threw " : "caused by ").append(cause);
    }
    for (String line :
        List.of(tempDirectory(), musl(), libraryPath(), protobuf(failure), platform())) {
      if (!line.isEmpty()) {
        text.append("\n  - ").append(line);
      }
    }
    return text.append(
            "\n  Slicewright plans without it; " + SWITCH + "=off says so once and for all.")
        .toString();
  }

  private static String tempDirectory() {
    String name = System.getProperty("java.io.tmpdir", "");
    StringBuilder text = new StringBuilder("java.io.tmpdir is ").append(name);
    try {
      Path dir = Path.of(name);
      if (!Files.isDirectory(dir)) {
        text.append(", which is no directory");
      } else if (!Files.isWritable(dir)) {
        text.append(", which is not writable");
      } else {
        long free = Files.getFileStore(dir).getUsableSpace();
        text.append(" with ").append(free >> 20).append(" MB of free space");
        if (free < NEEDED_BYTES) {
          text.append(", too little");
        }
        if (isNoexec(dir)) {
          text.append(", mounted noexec");
        }
      }
    } catch (IOException | RuntimeException e) {
      text.append(", which cannot be examined (").append(e).append(')');
    }
    return text.append(
            ". Unpacking needs "
                + (NEEDED_BYTES >> 20)
                + " MB there, writable and not mounted noexec: point -Djava.io.tmpdir at such a"
                + " directory.")
        .toString();
  }

  /** Whether the longest mount point above a directory says noexec. Linux only. */
  private static boolean isNoexec(Path dir) throws IOException {
    Path mounts = Path.of("/proc/self/mounts");
    if (!Files.isReadable(mounts)) {
      return false;
    }
    Path real = dir.toRealPath();
    Path best = null;
    boolean noexec = false;
    for (String line : Files.readAllLines(mounts, StandardCharsets.ISO_8859_1)) {
      String[] fields = line.split(" ", -1);
      if (fields.length < 4) {
        continue;
      }
      Path point = Path.of(fields[1].replace("\\040", " "));
      if (real.startsWith(point) && (best == null || point.getNameCount() >= best.getNameCount())) {
        best = point;
        noexec = List.of(fields[3].split(",", -1)).contains("noexec");
      }
    }
    return noexec;
  }

  private static String musl() {
    Path lib = Path.of("/lib");
    if (Files.isDirectory(lib)) {
      try (DirectoryStream<Path> found = Files.newDirectoryStream(lib, "ld-musl-*")) {
        for (Path file : found) {
          return "This system has "
              + file
              + " (musl, as on Alpine): OR-Tools needs glibc 2.26 or newer; use a glibc base"
              + " image.";
        }
      } catch (IOException | UncheckedIOException | java.nio.file.DirectoryIteratorException e) {
        return "";
      }
    }
    return "";
  }

  private static String libraryPath() {
    return "Best in containers: unpack the ortools native jar of your platform at build time and"
        + " give -Djava.library.path=<its folder>; now it is "
        + System.getProperty("java.library.path", "not set")
        + ". Nested jars (Spring Boot) must be unpacked.";
  }

  private static String protobuf(Throwable failure) {
    String found;
    try {
      found = protobufVersion();
    } catch (Throwable t) { // a broken class path may throw any LinkageError here
      found = "not found (" + t + ")";
    }
    boolean suspect = false;
    Throwable cause = failure;
    for (int depth = 0; cause != null && depth < 10; depth++, cause = cause.getCause()) {
      suspect |=
          cause instanceof LinkageError && !(cause instanceof UnsatisfiedLinkError)
              || String.valueOf(cause.getMessage()).contains("protobuf");
    }
    return (suspect ? "Most likely: OR-Tools or protobuf is missing or clashes. " : "")
        + "OR-Tools 9.15 needs com.google.protobuf:protobuf-java 4.33.1 or a newer 4.x; here it is "
        + found
        + ". Pin that version, and keep com.google.ortools:ortools-java on the class path.";
  }

  private static String protobufVersion() throws ClassNotFoundException {
    Class<?> type =
        Class.forName(
            "com.google.protobuf.RuntimeVersion", false, OrToolsNatives.class.getClassLoader());
    StringBuilder text = new StringBuilder();
    for (String part : List.of("MAJOR", "MINOR", "PATCH")) {
      try {
        Object value = type.getField(part).get(null);
        text.append(text.length() == 0 ? "" : ".").append(value);
      } catch (ReflectiveOperationException e) {
        return "of an unknown version";
      }
    }
    return text.toString();
  }

  private static String platform() {
    return "Natives exist for Linux (x86-64, aarch64), macOS (x86-64, aarch64) and Windows"
        + " (x86-64); this is "
        + System.getProperty("os.name")
        + " on "
        + System.getProperty("os.arch")
        + ".";
  }
}
