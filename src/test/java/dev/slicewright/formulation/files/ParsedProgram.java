package dev.slicewright.formulation.files;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** What an LP or MPS file says, read by the rules of the formats and not by our writer. */
public record ParsedProgram(
    boolean maximise,
    Map<String, Long> objective,
    Map<String, Row> rows,
    Set<String> binaries,
    int longestLine) {

  /** One row; {@code sense} is L, G or E. */
  public record Row(char sense, Map<String, Long> terms, long limit) {}

  public static ParsedProgram lp(String text) {
    List<String> tokens = new ArrayList<>();
    for (String line : text.lines().toList()) {
      int comment = line.indexOf('\\');
      String code = comment < 0 ? line : line.substring(0, comment);
      tokens.addAll(Arrays.stream(code.trim().split("\\s+")).filter(t -> !t.isEmpty()).toList());
    }
    Iterator<String> in = tokens.iterator();
    String direction = in.next();
    if (!Set.of("Maximize", "Minimize").contains(direction)) {
      throw new IllegalStateException(direction);
    }
    Map<String, Long> objective = new LinkedHashMap<>();
    Map<String, Row> rows = new LinkedHashMap<>();
    Set<String> binaries = new TreeSet<>();
    String token = in.next(); // the objective's name
    if (!token.endsWith(":")) {
      throw new IllegalStateException(token);
    }
    String name = null; // of the row under way; the objective's is null
    Map<String, Long> terms = objective;
    long sign = 1;
    Long coefficient = null;
    while (!(token = in.next()).equals("Binary")) {
      if (token.equals("Subject")) {
        in.next();
      } else if (token.endsWith(":")) {
        name = token.substring(0, token.length() - 1);
        terms = new LinkedHashMap<>();
      } else if (token.equals("+") || token.equals("-")) {
        sign = token.equals("-") ? -1 : 1;
      } else if (Set.of("<=", ">=", "=").contains(token)) {
        char sense = token.equals("<=") ? 'L' : token.equals(">=") ? 'G' : 'E';
        if (rows.put(name, new Row(sense, terms, Long.parseLong(in.next()))) != null) {
          throw new IllegalStateException("row " + name + " twice");
        }
      } else if (Character.isDigit(token.charAt(0))) {
        coefficient = Long.parseLong(token);
      } else {
        put(terms, token, sign * (coefficient == null ? 1 : coefficient));
        sign = 1;
        coefficient = null;
      }
    }
    while (!(token = in.next()).equals("End")) {
      if (!binaries.add(token)) {
        throw new IllegalStateException("variable " + token + " twice");
      }
    }
    return new ParsedProgram(
        direction.equals("Maximize"), objective, rows, binaries, longest(text));
  }

  public static ParsedProgram mps(String text) {
    Map<String, Character> senses = new LinkedHashMap<>();
    Map<String, Map<String, Long>> terms = new LinkedHashMap<>();
    Map<String, Long> limits = new LinkedHashMap<>();
    Set<String> binaries = new TreeSet<>();
    Set<String> columns = new TreeSet<>();
    String objective = "";
    String section = "";
    boolean whole = false;
    String last = "";
    for (String line : text.lines().filter(l -> !l.startsWith("*")).toList()) {
      String[] f = line.trim().split("\\s+");
      if (!line.startsWith(" ")) {
        section = f[0];
        continue;
      }
      switch (section) {
        case "ROWS" -> {
          if (senses.put(f[1], f[0].charAt(0)) != null) {
            throw new IllegalStateException("row " + f[1] + " twice");
          }
          terms.put(f[1], new LinkedHashMap<>());
          objective = f[0].equals("N") ? f[1] : objective;
        }
        case "COLUMNS" -> {
          if (f[1].equals("'MARKER'")) {
            whole = f[2].equals("'INTORG'");
            continue;
          }
          if (!whole || !f[0].equals(last) && !columns.add(f[0])) {
            throw new IllegalStateException("column " + f[0]);
          }
          last = f[0];
          put(terms.get(f[1]), f[0], Long.parseLong(f[2]));
        }
        case "RHS" -> limits.put(f[1], Long.parseLong(f[2]));
        case "BOUNDS" -> {
          if (!f[0].equals("BV") || !binaries.add(f[2])) {
            throw new IllegalStateException(line);
          }
        }
        default -> throw new IllegalStateException(section);
      }
    }
    if (!section.equals("ENDATA") || !columns.equals(binaries)) {
      throw new IllegalStateException(section);
    }
    Map<String, Row> rows = new LinkedHashMap<>();
    for (Map.Entry<String, Character> row : senses.entrySet()) {
      if (row.getValue() != 'N') {
        rows.put(
            row.getKey(),
            new Row(
                row.getValue(), terms.get(row.getKey()), limits.getOrDefault(row.getKey(), 0L)));
      }
    }
    return new ParsedProgram(false, terms.get(objective), rows, binaries, longest(text));
  }

  private static void put(Map<String, Long> terms, String variable, long coefficient) {
    if (terms.containsKey(variable)) {
      throw new IllegalStateException("variable " + variable + " twice in a row");
    }
    if (coefficient != 0) {
      terms.put(variable, coefficient);
    }
  }

  private static int longest(String text) {
    return text.lines().mapToInt(String::length).max().orElse(0);
  }
}
