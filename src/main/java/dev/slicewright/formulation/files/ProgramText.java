package dev.slicewright.formulation.files;

import java.io.IOException;
import java.util.List;

/**
 * A linear program as MPS and as LP text. Each writes in one pass over the program; MPS, which goes
 * by columns, needs one more index array.
 *
 * <p>MPS is free format (names may be longer than eight characters) and always minimised: CPLEX's
 * reference gives the sense as two lines, Gurobi's as one, and older readers know none. So a level
 * that is maximised is written negated, as the head of the file says. Bounds are given as {@code
 * BV} inside integer markers, as some readers take only the one and some only the other. The LP
 * lines stay far below the 560 characters that CPLEX reads.
 */
final class ProgramText {

  private static final int LINE = 100;

  private ProgramText() {}

  private static void head(Appendable out, String comment, List<String> lines) throws IOException {
    for (String line : lines) {
      out.append(comment).append(' ').append(line).append('\n');
    }
  }

  // ---------------------------------------------------------------- MPS

  static void mps(LinearProgram p, boolean maximise, List<String> head, Appendable out)
      throws IOException {
    head(out, "*", head);
    if (maximise) {
      head(out, "*", List.of("The level is maximised, so its negative is minimised here."));
    }
    out.append("NAME slicewright\nROWS\n N ").append(p.objectiveName).append('\n');
    for (int r = 0; r < p.rows(); r++) {
      out.append(' ').append(p.senses.get(r).letter).append(' ');
      out.append(p.rowNames.get(r)).append('\n');
    }
    out.append("COLUMNS\n M1 'MARKER' 'INTORG'\n");
    columns(p, maximise, out);
    out.append(" M2 'MARKER' 'INTEND'\nRHS\n");
    for (int r = 0; r < p.rows(); r++) {
      if (p.limits.get(r) != 0) {
        entry(out, "rhs", p.rowNames.get(r), p.limits.get(r));
      }
    }
    out.append("BOUNDS\n");
    for (String variable : p.variables) {
      out.append(" BV bounds ").append(variable).append('\n');
    }
    out.append("ENDATA\n");
  }

  private static void columns(LinearProgram p, boolean maximise, Appendable out)
      throws IOException {
    int n = p.variables.size();
    int[] next = new int[n + 1]; // after filling: the end of each column
    for (int k = 0; k < p.columns.size(); k++) {
      next[p.columns.get(k) + 1]++;
    }
    for (int v = 0; v < n; v++) {
      next[v + 1] += next[v];
    }
    int[] entries = new int[p.columns.size()];
    int[] rowOf = new int[p.columns.size()];
    for (int r = 0; r < p.rows(); r++) {
      for (int k = p.starts.get(r); k < p.starts.get(r + 1); k++) {
        int at = next[p.columns.get(k)]++;
        entries[at] = k;
        rowOf[at] = r;
      }
    }
    long[] gain = new long[n];
    for (int k = 0; k < p.objectiveColumns.size(); k++) {
      gain[p.objectiveColumns.get(k)] = p.objective.get(k);
    }
    int at = 0;
    for (int v = 0; v < n; v++) {
      String name = p.variables.get(v);
      if (gain[v] != 0 || at == next[v]) {
        entry(out, name, p.objectiveName, maximise ? -gain[v] : gain[v]);
      }
      for (; at < next[v]; at++) {
        entry(out, name, p.rowNames.get(rowOf[at]), p.coefficients.get(entries[at]));
      }
    }
  }

  private static void entry(Appendable out, String column, String row, long value)
      throws IOException {
    out.append(' ').append(column).append(' ').append(row).append(' ');
    out.append(Long.toString(value)).append('\n');
  }

  // ---------------------------------------------------------------- LP

  static void lp(LinearProgram p, boolean maximise, List<String> head, Appendable out)
      throws IOException {
    head(out, "\\", head);
    out.append(maximise ? "Maximize\n" : "Minimize\n");
    Line line = new Line(out);
    line.begin(p.objectiveName);
    for (int k = 0; k < p.objectiveColumns.size(); k++) {
      line.term(p.objective.get(k), p.variables.get(p.objectiveColumns.get(k)));
    }
    if (p.objectiveColumns.size() == 0) {
      line.term(0, p.variables.get(0)); // some readers want one
    }
    line.end("");
    out.append("Subject To\n");
    for (int r = 0; r < p.rows(); r++) {
      line.begin(p.rowNames.get(r));
      for (int k = p.starts.get(r); k < p.starts.get(r + 1); k++) {
        line.term(p.coefficients.get(k), p.variables.get(p.columns.get(k)));
      }
      if (p.starts.get(r) == p.starts.get(r + 1)) {
        line.term(0, p.variables.get(0));
      }
      line.end(" " + p.senses.get(r).sign + " " + p.limits.get(r));
    }
    out.append("Binary\n");
    for (String variable : p.variables) {
      out.append(' ').append(variable).append('\n');
    }
    out.append("End\n");
  }

  /** One expression, broken into lines between its terms. */
  private static final class Line {
    private final Appendable out;
    private int length;
    private boolean first;

    Line(Appendable out) {
      this.out = out;
    }

    void begin(String name) throws IOException {
      out.append(' ').append(name).append(':');
      length = name.length() + 2;
      first = true;
    }

    void term(long coefficient, String variable) throws IOException {
      if (length > LINE) {
        out.append("\n  ");
        length = 2;
      }
      String sign = coefficient < 0 ? " - " : first ? " " : " + ";
      // The magnitude of any coefficient is below 2^62.
      long size = Math.abs(coefficient);
      String text = sign + (size == 1 ? "" : size + " ") + variable;
      out.append(text);
      length += text.length();
      first = false;
    }

    void end(String text) throws IOException {
      out.append(text).append('\n');
    }
  }
}
