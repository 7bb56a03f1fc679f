package dev.slicewright.formulation.files;

import dev.slicewright.InvalidInputException;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.PlacementModel.Candidate;
import dev.slicewright.formulation.PlacementModel.GridPlace;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;

/**
 * One level of a placement model as a file for another solver: written as MPS or LP, and the
 * solver's answer read back. Immutable, safe to share.
 *
 * <p>Every rule of the model is there as rows over 0/1 variables, one of them for each candidate,
 * named after what it places where; the levels before this one are rows that hold their values. All
 * numbers are written as exact integers; what a solver makes of those beyond 2^53 is its own
 * matter, so every solution read is checked against the model in exact arithmetic.
 *
 * <p>Both texts depend on the model alone: the same model gives the same bytes. Building takes O(n)
 * time and memory for n cells, gains and terms in the model, writing O(n) time.
 */
public final class ModelFile {

  private final PlacementModel model;
  private final int level;
  private final long[] held;
  private final LinearProgram program;

  private ModelFile(
      PlacementModel model, int level, long[] held, IntFunction<String> candidateNames) {
    this.model = model;
    this.level = level;
    this.held = held.clone();
    if (level > 0 && model.levels().size() == 1) {
      throw new InvalidInputException(
          "model file",
          "level",
          "this problem has only one level, so expected level 0, but was level " + level);
    }
    if (level < 0 || level >= model.levels().size() || held.length != level) {
      throw new InvalidInputException(
          "model file",
          "level",
          "expected a level below "
              + model.levels().size()
              + " and one held value for each level before it, but was level "
              + level
              + " with "
              + held.length
              + " values");
    }
    this.program = new LinearProgram(model, level, held, candidateNames);
  }

  /**
   * The file of one level, candidates named by item, pod and cells.
   *
   * @param model the model
   * @param level the level to optimise
   * @param held the value that each earlier level must at least keep (at most, where it is
   *     minimised), as in {@link dev.slicewright.formulation.FormulationTask}
   * @return the file, not yet written
   * @throws InvalidInputException if the level or the number of held values is wrong, or there are
   *     more than 200,000,000 coefficients
   */
  public static ModelFile of(PlacementModel model, int level, long... held) {
    return new ModelFile(model, level, held, c -> name(model, c));
  }

  /**
   * The file of one level, candidates named by the caller.
   *
   * @param model the model
   * @param level the level to optimise
   * @param held as in {@link #of(PlacementModel, int, long...)}
   * @param candidateNames a name for each candidate's index; what the formats do not allow becomes
   *     an underscore, and a number makes equal ones differ
   * @return the file, not yet written
   * @throws InvalidInputException as {@link #of(PlacementModel, int, long...)}
   */
  public static ModelFile of(
      PlacementModel model, int level, long[] held, IntFunction<String> candidateNames) {
    return new ModelFile(model, level, held, candidateNames);
  }

  private static String name(PlacementModel model, int candidate) {
    Candidate c = model.candidates().get(candidate);
    StringBuilder name = new StringBuilder(model.items().get(c.item()).name());
    name.append(" pod ").append(c.pod());
    GridPlace grid = c.grid();
    if (grid != null) {
      name.append(" at ").append(grid.x()).append('.').append(grid.y()).append('.');
      name.append(grid.z()).append(" size ").append(grid.sizeX()).append('x');
      name.append(grid.sizeY()).append('x').append(grid.sizeZ());
    } else if (c.cells().length > 0) {
      name.append(c.cells().length == 1 ? " cell " : " cells ").append(c.cells()[0]);
      if (c.cells().length > 1) {
        name.append(" to ").append(c.cells()[c.cells().length - 1]);
      }
    }
    return c.moves() ? name.append(" moved").toString() : name.toString();
  }

  /**
   * The number of 0/1 variables.
   *
   * @return 1 or more
   */
  public int variables() {
    return program.variables.size();
  }

  /**
   * The number of rows.
   *
   * @return 0 or more
   */
  public int rows() {
    return program.rows();
  }

  /**
   * The name that the files use for a candidate.
   *
   * @param candidate its index in the model
   * @return ASCII letters, digits, underscores and periods
   */
  public String variableOf(int candidate) {
    if (candidate < 0 || candidate >= model.candidates().size()) {
      throw new IndexOutOfBoundsException(
          "There are " + model.candidates().size() + " candidates, so no " + candidate + ".");
    }
    return program.variables.get(candidate);
  }

  private List<String> head() {
    List<String> lines = new ArrayList<>();
    lines.add(
        "Level "
            + level
            + " of "
            + model.levels().size()
            + ", "
            + (model.levels().get(level).maximise() ? "maximised" : "minimised")
            + ": "
            + model.items().size()
            + " items, "
            + model.candidates().size()
            + " candidates.");
    lines.add("A variable x_... is 1 if its item is placed as its name says.");
    if (program.leftOut > 0) {
      lines.add("Rows left out because they always hold: " + program.leftOut + ".");
    }
    return lines;
  }

  /**
   * Writes free-format MPS, always as a minimum: a level that is maximised is written negated. Free
   * format, because readable names are longer than the eight characters of the fixed one.
   *
   * @param out where to; neither flushed nor closed. Many short strings come: give it a buffer
   * @throws IOException if {@code out} throws it
   */
  public void writeMps(Appendable out) throws IOException {
    ProgramText.mps(program, model.levels().get(level).maximise(), head(), out);
  }

  /**
   * Writes free-format MPS to a file, as {@link #writeMps(Appendable)}.
   *
   * @param file the file; overwritten if there is one
   * @throws IOException if it cannot be written
   */
  public void writeMps(Path file) throws IOException {
    try (Writer out = Files.newBufferedWriter(file, StandardCharsets.US_ASCII)) {
      writeMps(out);
    }
  }

  /**
   * Writes LP, as CPLEX defined it and the others read it.
   *
   * @param out where to; neither flushed nor closed. Many short strings come: give it a buffer
   * @throws IOException if {@code out} throws it
   */
  public void writeLp(Appendable out) throws IOException {
    ProgramText.lp(program, model.levels().get(level).maximise(), head(), out);
  }

  /**
   * Writes LP to a file, as {@link #writeLp(Appendable)}.
   *
   * @param file the file; overwritten if there is one
   * @throws IOException if it cannot be written
   */
  public void writeLp(Path file) throws IOException {
    try (Writer out = Files.newBufferedWriter(file, StandardCharsets.US_ASCII)) {
      writeLp(out);
    }
  }

  /**
   * Reads a solution file that CPLEX, Gurobi, SCIP or HiGHS wrote for this model and level; which
   * of them is found out. Values within 0.001 of 0 or 1 are taken for these; variables that the
   * file does not name are 0. Memory is O(model) whatever the file is: one longer than could be of
   * this model ends in an exception.
   *
   * @param in the file; read to its end or to the first 2,048 bytes or so a variable and row too
   *     many, not closed
   * @return the solution, checked against the model; without one where the solver found none
   * @throws InvalidInputException listing every problem with its line: names that the model does
   *     not have, values that are no 0 or 1, a file that is cut off or of no known format; or every
   *     rule that the solution breaks, the held levels included
   * @throws IOException if {@code in} throws it
   */
  public SolutionFile read(InputStream in) throws IOException {
    Map<String, Integer> byName = new HashMap<>();
    for (int v = 0; v < program.variables.size(); v++) {
      byName.put(program.variables.get(v), v);
    }
    return new SolutionReader(model, level, held, byName, rows()).read(new BufferedInputStream(in));
  }

  /**
   * Reads a solution file, as {@link #read(InputStream)}.
   *
   * @param file the file
   * @return the solution
   * @throws InvalidInputException as {@link #read(InputStream)}
   * @throws IOException if it cannot be read
   */
  public SolutionFile read(Path file) throws IOException {
    try (InputStream in = Files.newInputStream(file)) {
      return read(in);
    }
  }

  @Override
  public String toString() {
    return "ModelFile[level " + level + ", " + variables() + " variables, " + rows() + " rows]";
  }
}
