package dev.slicewright.formulation;

import dev.slicewright.CancelToken;
import dev.slicewright.SolveBudget;
import dev.slicewright.SolverUnavailableException;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.Group;
import dev.slicewright.formulation.PlacementModel.Item;
import dev.slicewright.formulation.PlacementModel.Level;
import dev.slicewright.formulation.ProcessWire.BadMessage;
import dev.slicewright.formulation.ProcessWire.In;
import dev.slicewright.formulation.ProcessWire.Out;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;

/**
 * The child's side of a {@link ProcessFormulation}: the main class of its JVM. Confined to one
 * thread at a time, but for what its own threads share.
 *
 * <p>Three threads: one that solves; one that tells every {@value #BEAT_MILLIS} ms that the process
 * lives and looks whether its parent does; and the main one, which reads and never does anything
 * that could block, so that the end of its input, that is of the parent, ends this process at once,
 * whatever a solver does meanwhile.
 */
final class ProcessChild {

  static final int BEAT_MILLIS = 500;

  /** Exit codes of its own making; 3 is also that of -XX:+ExitOnOutOfMemoryError. */
  static final int EXIT_OUT_OF_MEMORY = 3;

  static final int EXIT_PROTOCOL = 4;

  private static final long CLEAN_UP_MILLIS = 2_000;

  private final ProcessFrames.Writer writer;
  private final BlockingQueue<byte[]> orders = new LinkedBlockingQueue<>();

  private final Object lock = new Object();
  private long running = -1;
  private long lastCancelled = -1;
  private CancelToken cancel = new CancelToken();

  private @Nullable Formulation formulation;
  private @Nullable PlacementModel model;
  private long modelId = -1;

  private ProcessChild(ProcessFrames.Writer writer) {
    this.writer = writer;
  }

  /**
   * Runs until its input ends. The launcher asks for a public method, not for a public class.
   *
   * @param args none
   */
  public static void main(String[] args) {
    InputStream input = new FileInputStream(FileDescriptor.in);
    OutputStream output = new FileOutputStream(FileDescriptor.out);
    // Nobody else reads the one or prints on the other; native code may still, see ProcessFrames.
    System.setIn(InputStream.nullInputStream());
    System.setOut(
        new PrintStream(new FileOutputStream(FileDescriptor.err), true, StandardCharsets.UTF_8));
    int code = 0;
    try {
      read(new DataInputStream(new BufferedInputStream(input, 1 << 16)), output);
    } catch (BadMessage e) {
      code = EXIT_PROTOCOL;
    } catch (IOException e) {
      code = 0; // the parent is gone
    } catch (OutOfMemoryError e) {
      code = EXIT_OUT_OF_MEMORY;
    }
    end(code);
  }

  private static void read(DataInputStream in, OutputStream output) throws IOException {
    byte[] first = message(in);
    if (first == null) {
      return;
    }
    In hello = new In(first);
    if (hello.raw() != ProcessWire.HELLO) {
      throw new BadMessage("expected a greeting");
    }
    int version = hello.integer();
    long mark = hello.number();
    ProcessChild child = new ProcessChild(new ProcessFrames.Writer(output, mark));
    if (version != ProcessWire.VERSION) {
      child.send(
          new Out(ProcessWire.REFUSED)
              .text(
                  "the parent speaks version "
                      + version
                      + ", the class path of the child has version "
                      + ProcessWire.VERSION
                      + "; give both the same jar"));
      return;
    }
    long parent = hello.number();
    String type = hello.string();
    String factory = hello.string();
    boolean warmUp = hello.flag();
    daemon(() -> child.beat(parent), "slicewright-heartbeat");
    daemon(() -> child.work(type, factory, warmUp), "slicewright-solver");
    byte[] message;
    while ((message = message(in)) != null) {
      if (message[0] == ProcessWire.CANCEL) {
        child.cancel(new In(message));
      } else {
        child.orders.add(message);
      }
    }
  }

  private static byte @Nullable [] message(DataInputStream in) throws IOException {
    int high = in.read();
    if (high < 0) {
      return null;
    }
    int length = high << 24 | in.readUnsignedByte() << 16 | in.readUnsignedShort();
    if (length <= 0 || length > ProcessWire.MAX_MESSAGE) {
      throw new BadMessage("a message of " + length + " bytes");
    }
    // In parts, so that a wrong length allocates nothing that is not there.
    byte[] message = in.readNBytes(length);
    return message.length < length ? null : message;
  }

  private static void daemon(Runnable task, String name) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    thread.start();
  }

  // ---------------------------------------------------------------- ends

  /** Ends this process, after its children and its temporary files, but soon in any case. */
  private static void end(int code) {
    daemon(
        () -> {
          sleep(CLEAN_UP_MILLIS);
          Runtime.getRuntime().halt(code);
        },
        "slicewright-halt");
    try {
      ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
      deleteTree(Path.of(System.getProperty("java.io.tmpdir", "")));
    } catch (RuntimeException | Error e) {
      // There is nobody left to tell.
    }
    Runtime.getRuntime().halt(code);
  }

  /** Deletes a directory that a parent made for its child; leaves all others alone. */
  static void deleteTree(Path directory) {
    Path name = directory.getFileName();
    if (name == null || !name.toString().startsWith(ChildProcess.DIRECTORY_PREFIX)) {
      return;
    }
    try {
      Files.walkFileTree(
          directory,
          new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
              return delete(file);
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException e) {
              return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path dir, @Nullable IOException e) {
              return delete(dir);
            }

            private FileVisitResult delete(Path path) {
              try {
                Files.deleteIfExists(path);
              } catch (IOException e) {
                // Still in use somewhere; what else is there can go.
              }
              return FileVisitResult.CONTINUE;
            }
          });
    } catch (IOException e) {
      // As above.
    }
  }

  private static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void beat(long parent) {
    // A pipe may outlive the parent where something else has inherited its end.
    ProcessHandle handle = ProcessHandle.of(parent).orElse(null);
    while (true) {
      sleep(BEAT_MILLIS);
      if (handle != null && !handle.isAlive()) {
        end(0);
      }
      send(new Out(ProcessWire.BEAT));
    }
  }

  private void send(Out message) {
    try {
      writer.write(message.toBytes());
    } catch (IOException e) {
      end(0); // nobody listens any more
    }
  }

  // ---------------------------------------------------------------- solves

  private void cancel(In in) throws BadMessage {
    in.raw();
    long call = in.number();
    CancelToken token;
    synchronized (lock) {
      lastCancelled = call; // it may be waiting still
      if (call != running) {
        return;
      }
      token = cancel;
    }
    // Not on the reading thread: what a formulation does when cancelled may take its time.
    daemon(token::cancel, "slicewright-cancel");
  }

  private void work(String type, String factory, boolean warmUp) {
    try {
      Formulation made = make(type, factory);
      formulation = made;
      if (warmUp) {
        warmUp(made);
      }
      Out ready = new Out(ProcessWire.READY).string(made.name());
      ProcessWire.capabilities(ready, made.capabilities());
      send(ready);
      while (true) {
        obey(orders.take());
      }
    } catch (SolverUnavailableException e) {
      send(new Out(ProcessWire.REFUSED).text(String.valueOf(e.getMessage())));
    } catch (BadMessage e) {
      end(EXIT_PROTOCOL);
    } catch (Throwable e) { // of a foreign class
      send(new Out(ProcessWire.REFUSED).text("it cannot be made: " + describe(e)));
      end(e instanceof OutOfMemoryError ? EXIT_OUT_OF_MEMORY : EXIT_PROTOCOL);
    }
  }

  /** Makes the formulation: by a static method or, where none is named, its constructor. */
  static Formulation make(String type, String factory) throws Throwable {
    Class<?> found = Class.forName(type);
    Object made;
    try {
      made =
          factory.isEmpty() && found.getConstructors().length > 0
              ? found.getConstructor().newInstance()
              : found.getMethod(factory.isEmpty() ? "create" : factory).invoke(null);
    } catch (InvocationTargetException e) {
      throw e.getCause() == null ? e : e.getCause();
    }
    if (made instanceof Formulation formulation) {
      return formulation;
    }
    throw new ClassCastException(type + " made no formulation, but " + made);
  }

  /** Has classes and native code loaded before the first solve is timed. */
  private static void warmUp(Formulation formulation) {
    PlacementModel.Builder b = PlacementModel.builder(1, List.of(new Level("warm up", true)));
    int item = b.item(new Item("item", b.group(Group.wanted("group"))));
    b.candidate(
        new Candidate(item, new int[] {0}, new long[] {1}, List.of(), 0, 0, 0, false, null));
    PlacementModel tiny = b.build();
    Duration most = Duration.ofSeconds(10);
    FormulationTask task =
        new FormulationTask(
            0,
            new long[0],
            System.nanoTime() + most.toNanos(),
            SolveBudget.within(most),
            0,
            null,
            solution -> {},
            new CancelToken());
    try {
      if (formulation.whyNot(tiny, task).isEmpty()) {
        formulation.solve(tiny, task);
      }
    } catch (SolverUnavailableException e) {
      throw e;
    } catch (RuntimeException e) {
      // It may dislike this model and still like the next one.
    }
  }

  private void obey(byte[] message) throws BadMessage {
    In in = new In(message);
    byte type = in.raw();
    long call = in.number();
    try {
      switch (type) {
        case ProcessWire.MODEL -> {
          model = null; // the old one may go before the new one comes
          modelId = call;
          model = ProcessWire.model(in);
          in.end();
          send(new Out(ProcessWire.MODEL_TAKEN).number(call));
        }
        case ProcessWire.WHY_NOT -> whyNot(call, in);
        case ProcessWire.SOLVE -> solve(call, in);
        default -> throw new BadMessage("there is no message " + type);
      }
    } catch (BadMessage | RuntimeException | StackOverflowError e) {
      threw(call, e, false);
    } catch (VirtualMachineError e) {
      threw(call, e, true);
      end(EXIT_OUT_OF_MEMORY); // nothing here can be relied on any more
    } catch (Error e) {
      threw(call, e, false);
    }
  }

  private void threw(long call, Throwable e, boolean last) {
    send(new Out(ProcessWire.THREW).number(call).flag(last).text(describe(e)));
  }

  private PlacementModel model(In in) throws BadMessage {
    long id = in.number();
    PlacementModel known = model;
    if (known == null || id != modelId) {
      throw new BadMessage("model " + id + " is not here");
    }
    return known;
  }

  private Formulation formulation() {
    Formulation made = formulation;
    if (made == null) {
      throw new IllegalStateException("There is no formulation yet.");
    }
    return made;
  }

  private void whyNot(long call, In in) throws BadMessage {
    PlacementModel asked = model(in);
    FormulationTask task = ProcessWire.task(in, solution -> {}, new CancelToken());
    in.end();
    String why = formulation().whyNot(asked, task).orElse("");
    send(new Out(ProcessWire.WHY).number(call).text(why));
  }

  private void solve(long call, In in) throws BadMessage {
    PlacementModel asked = model(in);
    CancelToken token = new CancelToken();
    FormulationTask task =
        ProcessWire.task(
            in,
            solution -> send(new Out(ProcessWire.SOLUTION).number(call).solution(solution.clone())),
            token);
    in.end();
    synchronized (lock) {
      running = call;
      cancel = token;
      if (lastCancelled == call) {
        token.cancel();
      }
    }
    try {
      FormulationResult result = formulation().solve(asked, task);
      if (result == null) {
        throw new IllegalStateException("it gave no answer");
      }
      Out out = new Out(ProcessWire.RESULT).number(call);
      ProcessWire.result(out, result);
      send(out);
    } catch (SolverUnavailableException e) {
      send(new Out(ProcessWire.UNAVAILABLE).number(call).text(String.valueOf(e.getMessage())));
    } finally {
      synchronized (lock) {
        running = -1;
      }
    }
  }

  private static String describe(Throwable e) {
    StringBuilder text = new StringBuilder(String.valueOf(e));
    StackTraceElement[] trace = e.getStackTrace();
    for (int i = 0; i < Math.min(3, trace.length); i++) {
      text.append(" at ").append(trace[i]);
    }
    return text.toString();
  }
}
