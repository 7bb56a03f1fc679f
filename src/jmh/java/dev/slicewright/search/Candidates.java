package dev.slicewright.search;

/** Lets benchmarks of other packages see what a space keeps to its package. Stateless. */
public final class Candidates {
  private Candidates() {}

  /**
   * The feasible footprints of a want in a pod of boxes, counted without listing them.
   *
   * @param space a space of boxes
   * @param want a want's number
   * @return the count
   */
  public static int count(PodSpace space, int want) {
    return ((TorusSpace) space).feasibleCount(want);
  }
}
