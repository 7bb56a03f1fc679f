package dev.slicewright.formulation;

import dev.slicewright.SolverUnavailableException;
import dev.slicewright.formulation.FormulationResult.Status;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A formulation that tells of the first candidate of each item, then does what the last level of
 * the model is called. For processes of their own only.
 */
public final class Wayward implements Formulation {

  private final List<Object> kept = new ArrayList<>();

  public Wayward() {}

  /** A model whose formulation misbehaves. */
  static PlacementModel model(String deed) {
    PlacementModel.Builder b =
        PlacementModel.builder(
            2,
            List.of(new PlacementModel.Level("value", true), new PlacementModel.Level(deed, true)));
    for (int i = 0; i < 2; i++) {
      int item =
          b.item(new PlacementModel.Item("i" + i, b.group(PlacementModel.Group.wanted("g"))));
      b.candidate(
          new PlacementModel.Candidate(
              item, new int[] {i}, new long[] {5, 0}, List.of(), 0, 0, 0, false, null));
    }
    return b.build();
  }

  @Override
  public String name() {
    return "wayward";
  }

  @Override
  public Set<Capability> capabilities() {
    return EnumSet.of(
        Capability.STREAM, Capability.BOUND, Capability.SIDE_ROWS, Capability.GROUP_TIES);
  }

  @Override
  public Optional<String> whyNot(PlacementModel model, FormulationTask task) {
    return deed(model).equals("decline") ? Optional.of("It would rather not.") : Optional.empty();
  }

  private static String deed(PlacementModel model) {
    return System.getProperty("wayward.deed", model.levels().get(model.levels().size() - 1).name());
  }

  /** The first candidate of each item that fits. */
  private static int[] first(PlacementModel model) {
    int[] chosen = new int[model.items().size()];
    Arrays.fill(chosen, -1);
    boolean[] taken = new boolean[model.cellCount()];
    for (int c = 0; c < model.candidates().size(); c++) {
      PlacementModel.Candidate candidate = model.candidates().get(c);
      if (chosen[candidate.item()] < 0
          && Arrays.stream(candidate.cells()).noneMatch(cell -> taken[cell])) {
        chosen[candidate.item()] = c;
        Arrays.stream(candidate.cells()).forEach(cell -> taken[cell] = true);
      }
    }
    return chosen;
  }

  @Override
  public FormulationResult solve(PlacementModel model, FormulationTask task) {
    int[] chosen = first(model);
    task.listener().accept(chosen);
    try {
      switch (deed(model)) {
        case "halt" -> {
          System.out.println("about to halt");
          Runtime.getRuntime().halt(77);
        }
        case "loop" -> {
          for (long i = 0; ; i++) {
            kept.clear();
          }
        }
        case "sleep" -> Thread.sleep(Long.MAX_VALUE);
        case "obedient" -> {
          while (!task.cancel().isCancelled()) {
            Thread.sleep(1);
          }
        }
        case "throw" -> throw new IllegalStateException("out of luck");
        case "overflow" -> overflow(0);
        case "unavailable" -> throw new SolverUnavailableException("no solver here", null);
        case "oom" -> throw new OutOfMemoryError("as if");
        case "allocate" -> {
          while (true) {
            kept.add(new long[1 << 20]);
          }
        }
        case "exit" -> System.exit(5);
        case "orphan" -> {
          // What it starts outlives it and holds its output open.
          new ProcessBuilder("sleep", "20").inheritIO().start();
          Runtime.getRuntime().halt(78);
        }
        case "null" -> {
          return null;
        }
        case "print" -> print();
        case "nonsense" -> task.listener().accept(new int[] {1, 2, 3, 4, 5, 6, 7});
        case "litter" -> litter();
        default -> {}
      }
    } catch (InterruptedException | IOException e) {
      throw new IllegalStateException(e);
    }
    long value = model.evaluate(chosen)[task.level()];
    return new FormulationResult(
        task.cancel().isCancelled() ? Status.CANCELLED : Status.OPTIMAL,
        chosen,
        value,
        System.getProperty("wayward.word", "done") + System.getenv().getOrDefault("WAYWARD", ""));
  }

  private static int overflow(int depth) {
    return depth < 0 ? 0 : 1 + overflow(depth + 1);
  }

  /** As native code does: on the very descriptor. */
  private static void print() throws IOException {
    byte[] garbage = new byte[100_000];
    Arrays.fill(garbage, (byte) 'x');
    System.out.println("to System.out");
    new FileOutputStream(FileDescriptor.out).write(garbage);
    new FileOutputStream(FileDescriptor.err).write(garbage);
  }

  private static void litter() throws IOException {
    Path dir = Path.of(System.getProperty("java.io.tmpdir"));
    Files.createDirectories(dir.resolve("a/b"));
    Files.writeString(dir.resolve("a/b/c"), "litter");
    throw new IllegalStateException("dir=" + dir + ";");
  }
}
