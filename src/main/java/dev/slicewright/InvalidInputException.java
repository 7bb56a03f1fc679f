package dev.slicewright;

import java.util.List;

/**
 * Thrown for bad data, with every problem found, each with its path. Immutable, safe to share.
 *
 * <p>Nothing was done when it is thrown: no half-built value escapes.
 */
public class InvalidInputException extends IllegalArgumentException {

  private static final long serialVersionUID = 1L;

  private static final int SHOWN = 20;

  private final transient List<Problem> problems;

  /**
   * Makes one for a list of problems.
   *
   * @param what the input that was checked, for example {@code "fleet"}
   * @param problems everything found, in the order found; not empty
   */
  public InvalidInputException(String what, List<Problem> problems) {
    super(message(what, problems));
    this.problems = List.copyOf(problems);
  }

  /**
   * Makes one for a single problem.
   *
   * @param what the input that was checked
   * @param path where the problem is
   * @param message what was expected, the value given, and what to do
   */
  public InvalidInputException(String what, String path, String message) {
    this(what, List.of(new Problem(path, message)));
  }

  /**
   * Everything found, in the order found.
   *
   * @return an unmodifiable list, not empty (empty only after Java serialisation)
   */
  public List<Problem> problems() {
    return problems == null ? List.of() : problems;
  }

  private static String message(String what, List<Problem> problems) {
    StringBuilder text =
        new StringBuilder("Invalid ")
            .append(what)
            .append(": ")
            .append(problems.size())
            .append(problems.size() == 1 ? " problem" : " problems");
    int shown = Math.min(SHOWN, problems.size());
    for (int i = 0; i < shown; i++) {
      text.append("\n  ").append(problems.get(i));
    }
    if (shown < problems.size()) {
      text.append("\n  … ").append(problems.size() - shown).append(" more in problems()");
    }
    return text.toString();
  }
}
