package dev.slicewright.formulation.ortools;

import com.google.ortools.sat.CpModel;
import com.google.ortools.sat.SatParameters;
import java.util.function.IntToLongFunction;

/** One level of a placement model as a CP-SAT model. Confined to one thread at a time. */
interface CpProgram {

  CpModel cpModel();

  int variables();

  /** Literals and terms in all constraints. */
  long literals();

  /** Sets what suits this program, by variant of the task. */
  void configure(SatParameters.Builder parameters, int variant);

  /** A bound of the level from a lower bound of the minimised, divided objective. */
  long boundOfLevel(long innerLowerBound);

  boolean hasObjective();

  /** The solution in terms of items. */
  int[] chosen(IntToLongFunction value);

  /**
   * Hints a solution, in full if it is one, else what can be read of it.
   *
   * @param start for each item a candidate or -1; anything else is left out
   * @return whether it was hinted in full
   */
  boolean addHint(int[] start);

  /** Why a solution breaks the model or the held values, or empty. */
  String complaint(int[] chosen);
}
