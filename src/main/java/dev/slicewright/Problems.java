package dev.slicewright;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Collects every {@link Problem} of an input before one exception is thrown. Confined to one thread
 * at a time.
 *
 * <p>At most {@value #MAX_KEPT} problems are kept; those beyond are counted, and the last kept line
 * says how many more there are.
 */
public final class Problems {

  /** How many problems are kept in full. */
  public static final int MAX_KEPT = 1_000;

  private final List<Problem> found = new ArrayList<>();
  private int dropped;

  /** Makes an empty collector. */
  public Problems() {}

  /**
   * Adds one problem.
   *
   * @param path where it is
   * @param message what was expected, the value given, and what to do
   */
  public void add(String path, String message) {
    if (found.size() < MAX_KEPT) {
      found.add(new Problem(path, message));
    } else {
      dropped++;
    }
  }

  /**
   * Adds the problems of an exception, each path put behind a prefix.
   *
   * @param prefix the path of the part that failed; a dot is put between
   * @param cause what its own validation threw
   */
  public void addAll(String prefix, InvalidInputException cause) {
    Objects.requireNonNull(prefix, "prefix");
    for (Problem problem : cause.problems()) {
      String path = problem.path();
      add(
          prefix.isEmpty() ? path : path.isEmpty() ? prefix : prefix + "." + path,
          problem.message());
    }
  }

  /**
   * Whether nothing was added.
   *
   * @return true if there is no problem
   */
  public boolean isEmpty() {
    return found.isEmpty();
  }

  /**
   * What was found, in the order found.
   *
   * @return an unmodifiable copy
   */
  public List<Problem> list() {
    if (dropped == 0) {
      return List.copyOf(found);
    }
    List<Problem> all = new ArrayList<>(found);
    all.add(new Problem("…", "and " + dropped + " more problems; mend these first"));
    return List.copyOf(all);
  }

  /**
   * Throws if anything was added.
   *
   * @param what the input that was checked, for the first line of the message
   * @throws InvalidInputException listing every problem
   */
  public void throwIfAny(String what) {
    if (!found.isEmpty()) {
      throw new InvalidInputException(what, list());
    }
  }
}
