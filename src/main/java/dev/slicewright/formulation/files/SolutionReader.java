package dev.slicewright.formulation.files;

import dev.slicewright.Problems;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.files.SolutionFile.Format;
import java.io.BufferedReader;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import javax.xml.stream.XMLInputFactory;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import org.jspecify.annotations.Nullable;

/**
 * Reads one solution file. Used once, confined to one thread at a time.
 *
 * <p>The formats, from what their owners publish and, for HiGHS and SCIP, from what these solvers
 * wrote for files of ours:
 *
 * <ul>
 *   <li>CPLEX: XML, {@code CPLEXSolution/variables/variable} with {@code name} and {@code value}
 *       ("SOL file format" of its file format reference). A file of a whole pool has the incumbent
 *       first; the others are passed over. At its write level 3 only values other than 0 are there.
 *   <li>Gurobi: lines of a name and a value, comments behind {@code #} ("SOL format" of its
 *       reference manual).
 *   <li>SCIP: {@code solution status:} (only its shell writes that), {@code objective value:}, then
 *       a name, a value and {@code (obj:…)} a line, zeros left out; or {@code no solution
 *       available} ({@code reader_sol.h} of its documentation).
 *   <li>HiGHS: {@code Model status}, then under {@code # Columns n} a name and a value a line; its
 *       sparse style gives -n and an index behind each value; its pretty style is a table.
 * </ul>
 */
final class SolutionReader {

  /** How far from 0 or 1 a value may be. The solvers' own defaults are 1e-5 and 1e-6. */
  static final double TOLERANCE = 1e-3;

  private static final int LONGEST_LINE = 4_096;

  private final PlacementModel model;
  private final int level;
  private final long[] held;
  private final Map<String, Integer> byName;
  private final long mostBytes;
  private final Problems problems = new Problems();

  private final int[] chosen;
  private final int[] lineOf; // of each variable
  private boolean none; // the file says that there is no solution
  private String status = "";
  private int line;

  SolutionReader(
      PlacementModel model, int level, long[] held, Map<String, Integer> byName, int rows) {
    this.model = model;
    this.level = level;
    this.held = held;
    this.byName = byName;
    this.mostBytes = (1L << 20) + 2_048L * (byName.size() + (long) rows);
    this.chosen = new int[model.items().size()];
    Arrays.fill(chosen, -1);
    this.lineOf = new int[byName.size()];
  }

  /** Thrown where a file goes on for too long. */
  private static final class TooLongException extends IOException {
    private static final long serialVersionUID = 1L;
  }

  /** Ends in an exception after so many bytes. */
  private static final class Limited extends FilterInputStream {
    private long left;
    @Nullable IOException failure;

    Limited(InputStream in, long most) {
      super(in);
      this.left = most;
    }

    @Override
    public int read() throws IOException {
      byte[] one = new byte[1];
      int n = read(one, 0, 1);
      return n < 0 ? -1 : one[0] & 0xFF;
    }

    @Override
    public int read(byte[] into, int at, int length) throws IOException {
      try {
        int n = super.read(into, at, length);
        left -= Math.max(0, n);
        if (left < 0) {
          throw new TooLongException();
        }
        return n;
      } catch (IOException e) {
        failure = e;
        throw e;
      }
    }

    @Override
    public boolean markSupported() {
      return false;
    }
  }

  /** Reads all; {@code in} must be able to go back a few bytes. */
  SolutionFile read(InputStream in) throws IOException {
    Format format;
    try {
      format = isXml(in) ? xml(new Limited(in, mostBytes)) : text(new Limited(in, mostBytes));
    } catch (TooLongException e) {
      problem(
          "expected at most "
              + mostBytes
              + " bytes for this model, but the file goes on; is it of another model?");
      format = Format.GUROBI; // not seen
    }
    problems.throwIfAny("solution file");
    if (none) {
      return new SolutionFile(format, status, null, List.of());
    }
    return new SolutionFile(format, status, chosen, check());
  }

  private static boolean isXml(InputStream in) throws IOException {
    in.mark(4_096);
    int c = 0;
    for (int i = 0; i < 4_000; i++) {
      c = in.read();
      // Blanks, and the marks of UTF-8 and UTF-16.
      if (c < 0 || c > ' ' && c != 0xEF && c != 0xBB && c != 0xBF && c != 0xFE && c != 0xFF) {
        break;
      }
    }
    in.reset();
    return c == '<';
  }

  private List<Long> check() {
    long[] values = model.evaluate(chosen);
    Problems given = new Problems();
    for (int l = 0; l < level; l++) {
      boolean most = !model.levels().get(l).maximise();
      if (most ? values[l] > held[l] : values[l] < held[l]) {
        given.add(
            "levels[" + l + "]",
            "expected at "
                + (most ? "most " : "least ")
                + held[l]
                + ", which is held, but the solution has "
                + values[l]);
      }
    }
    given.throwIfAny("solution");
    return Arrays.stream(values).boxed().toList();
  }

  private void problem(String message) {
    problems.add("line " + line, message);
  }

  private static String shown(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (int i = 0; i < Math.min(text.length(), 60); i++) {
      char c = text.charAt(i);
      out.append(c < ' ' ? ' ' : c);
    }
    return out.append(text.length() > 60 ? "…\"" : "\"").toString();
  }

  // ---------------------------------------------------------------- variables

  private void variable(String name, String value) {
    Integer v = byName.get(name);
    if (v == null) {
      problem(
          "expected a variable of this model, but was "
              + shown(name)
              + "; is the file of another model or level?");
      return;
    }
    if (lineOf[v] > 0) {
      problem("variable " + name + " has a value on line " + lineOf[v] + " already");
      return;
    }
    lineOf[v] = line;
    Double number = number(value);
    if (number == null) {
      problem("expected a number for " + name + ", but was " + shown(value));
      return;
    }
    if (v >= model.candidates().size()) {
      return; // it follows from the candidates
    }
    if (Math.abs(number - 1) <= TOLERANCE) {
      int item = model.candidates().get(v).item();
      if (chosen[item] >= 0) {
        problem(
            name
                + " places item "
                + model.items().get(item).name()
                + ", which line "
                + lineOf[chosen[item]]
                + " places already");
      } else {
        chosen[item] = v;
      }
    } else if (!(Math.abs(number) <= TOLERANCE)) {
      problem(
          "expected 0 or 1, give or take "
              + TOLERANCE
              + ", for "
              + name
              + ", but was "
              + shown(value)
              + "; is it the solution of a relaxation?");
    }
  }

  private static @Nullable Double number(String text) {
    for (int i = 0; i < text.length(); i++) {
      // No hexadecimal, no suffixes; infinities are numbers, but no values of ours.
      if ("0123456789+-.eE".indexOf(text.charAt(i)) < 0) {
        return text.toLowerCase(Locale.ROOT).matches("[+-]?inf(inity)?")
            ? Double.POSITIVE_INFINITY
            : null;
      }
    }
    try {
      return Double.valueOf(text);
    } catch (NumberFormatException e) {
      return null;
    }
  }

  // ---------------------------------------------------------------- XML

  private Format xml(Limited in) throws IOException {
    XMLInputFactory factory = XMLInputFactory.newDefaultFactory();
    factory.setProperty(XMLInputFactory.SUPPORT_DTD, false);
    factory.setProperty(XMLInputFactory.IS_SUPPORTING_EXTERNAL_ENTITIES, false);
    factory.setProperty(XMLInputFactory.IS_REPLACING_ENTITY_REFERENCES, false);
    factory.setXMLResolver(
        (publicId, systemId, base, namespace) -> {
          throw new XMLStreamException("nothing outside the file is read");
        });
    boolean known = false;
    boolean solutions = false;
    boolean variables = false;
    int count = 0;
    try {
      XMLStreamReader reader = factory.createXMLStreamReader(in);
      while (reader.hasNext()) {
        int event = reader.next();
        line = Math.max(1, reader.getLocation().getLineNumber());
        if (event == XMLStreamConstants.DTD || event == XMLStreamConstants.ENTITY_REFERENCE) {
          problem("expected no document type and no entities, but there are; remove them");
          return Format.CPLEX;
        } else if (event == XMLStreamConstants.START_ELEMENT) {
          String element = reader.getLocalName();
          switch (element) {
            case "CPLEXSolution" -> {
              if (solutions) {
                return Format.CPLEX; // the pool: the incumbent comes first
              }
              known = true;
              solutions = true;
            }
            case "header" -> {
              String word = reader.getAttributeValue(null, "solutionStatusString");
              status = word == null ? "" : word;
            }
            case "variables" -> {
              known = true;
              variables = true;
            }
            case "variable" -> {
              if (variables) {
                count++;
                element(
                    reader.getAttributeValue(null, "name"),
                    reader.getAttributeValue(null, "value"));
              }
            }
            default -> {}
          }
        } else if (event == XMLStreamConstants.END_ELEMENT
            && reader.getLocalName().equals("variables")) {
          variables = false;
        }
      }
    } catch (XMLStreamException e) {
      // The reader wraps what the stream throws, and may itself throw IOExceptions for wrong bytes.
      IOException failure = in.failure;
      if (failure != null) {
        throw failure;
      }
      if (e.getLocation() != null) {
        line = Math.max(1, e.getLocation().getLineNumber());
      }
      problem("expected well-formed XML, but: " + shown(oneLine(e)));
      return Format.CPLEX;
    } catch (RuntimeException e) { // the JDK's reader throws such for some broken files
      IOException failure = in.failure;
      if (failure != null) {
        throw failure;
      }
      problem("expected well-formed XML, but: " + shown(String.valueOf(e.getMessage())));
      return Format.CPLEX;
    }
    if (!known) {
      problem("expected a CPLEXSolution with variables, but it is other XML");
    }
    none = known && count == 0 && !status.isEmpty() && !mayBeAllZero();
    return Format.CPLEX;
  }

  /** At write level 3, a solution without any 1 has no variables at all. */
  private boolean mayBeAllZero() {
    String word = status.toLowerCase(Locale.ROOT);
    return !word.contains("infeasible")
        && !word.contains("no integer")
        && (word.contains("optimal") || word.contains("feasible"));
  }

  private static String oneLine(XMLStreamException e) {
    String message = String.valueOf(e.getMessage());
    int at = message.indexOf("Message: ");
    return at < 0 ? message : message.substring(at + 9);
  }

  private void element(@Nullable String name, @Nullable String value) {
    if (name == null || value == null) {
      problem(
          "expected a variable with name and value, but "
              + (name == null ? "its name" : "its value")
              + " is missing; export names with the solution");
    } else {
      variable(name, value);
    }
  }

  // ---------------------------------------------------------------- text

  private Format text(InputStream in) throws IOException {
    Reader reader = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
    Text text = new Text();
    StringBuilder buffer = new StringBuilder();
    boolean end = false;
    while (!end) {
      buffer.setLength(0);
      boolean tooLong = false;
      int c;
      while ((c = reader.read()) >= 0 && c != '\n') {
        if (buffer.length() < LONGEST_LINE) {
          buffer.append((char) c);
        } else {
          tooLong = true;
        }
      }
      end = c < 0;
      if (end && buffer.length() == 0) {
        break;
      }
      line++;
      if (line == 1 && buffer.length() > 0 && buffer.charAt(0) == '\uFEFF') {
        buffer.deleteCharAt(0);
      }
      String content = buffer.toString().strip();
      if (tooLong) {
        problem("expected at most " + LONGEST_LINE + " characters, but the line is longer");
      } else if (!content.isEmpty() && !text.take(content)) {
        break;
      }
    }
    return text.end();
  }

  /** Where a text file is. */
  private enum Part {
    START,
    STATUS, // the next line is the status
    BETWEEN,
    PRIMAL, // the next line says whether there are values
    VALUES,
    TABLE, // HiGHS's pretty columns
    PASSED // what is of no interest
  }

  /** Takes the lines of a text file that are not blank. */
  private final class Text {
    private @Nullable Format format;
    private Part part = Part.START;
    private long expected = -1; // variables, or -1
    private long count;
    private boolean indexed;
    private boolean complete; // whether HiGHS's columns were there

    /** Takes one; false if no further ones are wanted. */
    boolean take(String text) {
      if (part == Part.START && !begin(text)) {
        return format != null;
      }
      if (format == Format.HIGHS) {
        highs(text);
      } else if (format == Format.SCIP) {
        scip(text);
      } else {
        gurobi(text);
      }
      return true;
    }

    /** Finds the format; false if this line has been dealt with. */
    private boolean begin(String text) {
      part = Part.BETWEEN;
      if (text.equals("Model status")) {
        format = Format.HIGHS;
        part = Part.STATUS;
        return false;
      }
      if (text.equals("Columns")) {
        format = Format.HIGHS;
        part = Part.TABLE;
        return false;
      }
      String lower = text.toLowerCase(Locale.ROOT);
      if (lower.startsWith("solution status:")
          || lower.startsWith("objective value:")
          || lower.equals("no solution available")) {
        format = Format.SCIP;
        return true;
      }
      String[] fields = text.split("\\s+");
      if (text.startsWith("#") || fields.length == 2 && number(fields[1]) != null) {
        format = Format.GUROBI;
        return true;
      }
      problem(
          "expected a solution file of CPLEX (XML), Gurobi, SCIP or HiGHS (style 0, 1 or 4), but"
              + " it begins with "
              + shown(text));
      return false;
    }

    private void gurobi(String text) {
      if (!text.startsWith("#")) {
        pair(text, 2, 2);
      }
    }

    private void scip(String text) {
      String lower = text.toLowerCase(Locale.ROOT);
      if (lower.startsWith("solution status:")) {
        status = text.substring("solution status:".length()).strip();
      } else if (lower.equals("no solution available")) {
        none = true;
      } else if (lower.startsWith("objective value:")) {
        part = Part.VALUES;
      } else {
        pair(text, 2, 3);
      }
    }

    private void highs(String text) {
      if (text.startsWith("#")) {
        cutOff();
        if (text.startsWith("# Primal")) {
          part = Part.PRIMAL;
        } else if (text.startsWith("# Columns")) {
          Double n = number(text.substring("# Columns".length()).strip());
          part = Part.VALUES;
          complete = true;
          if (n == null) {
            problem("expected the number of columns, but was " + shown(text));
          } else {
            expected = (long) Math.abs(n);
            indexed = n < 0;
          }
        } else {
          part = Part.PASSED;
        }
        return;
      }
      if (text.startsWith("Model status:")) {
        status = text.substring("Model status:".length()).strip();
        none = count == 0;
        return;
      }
      switch (part) {
        case STATUS -> {
          status = text;
          part = Part.BETWEEN;
        }
        case PRIMAL -> {
          none = text.equals("None");
          part = Part.BETWEEN;
        }
        case VALUES -> pair(text, indexed ? 3 : 2, indexed ? 3 : 2);
        case TABLE -> table(text);
        case START, BETWEEN, PASSED -> {} // the objective, rows, duals, the basis
      }
    }

    private void table(String text) {
      String[] fields = text.split("\\s+");
      if (text.equals("Rows")) {
        part = Part.PASSED;
        complete = count > 0;
      } else if (fields[0].equals("Index")) {
        return;
      } else if (fields.length == 6 || fields.length == 8) {
        // Index, bounds, value, type, name; of a continuous problem also status and dual.
        count++;
        variable(fields[fields.length - 1], fields[fields.length == 6 ? 3 : 4]);
      } else if (fields.length != 5) { // that is one without a value
        problem("expected a line of the table of columns, but was " + shown(text));
      }
    }

    /** A name and a value, perhaps with something behind. */
    private void pair(String text, int least, int most) {
      String[] fields = text.split("\\s+", 5);
      if (fields.length < least || fields.length > most) {
        problem("expected a name and a value, but was " + shown(text));
        return;
      }
      count++;
      variable(fields[0], fields[1]);
    }

    private void cutOff() {
      if (expected >= 0 && count != expected) {
        problem(
            "expected "
                + expected
                + " columns, but there are "
                + count
                + "; was the file cut off?");
      }
      expected = -1;
    }

    Format end() {
      if (format == null) {
        if (problems.isEmpty()) {
          line = Math.max(1, line);
          problem("expected a solution file, but it is empty");
        }
        return Format.GUROBI; // not seen
      }
      cutOff();
      if (format == Format.GUROBI && count == 0) {
        problem("expected a value for each variable, but there is none");
      } else if (format == Format.HIGHS && !none && (part == Part.TABLE || !complete)) {
        problem("expected the values of the variables, but the file ends before or among them");
      }
      return format;
    }
  }
}
