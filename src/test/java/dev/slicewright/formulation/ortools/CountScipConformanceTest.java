package dev.slicewright.formulation.ortools;

import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.conformance.FormulationConformance;

class CountScipConformanceTest extends FormulationConformance {

  private final Formulation formulation = CountFormulation.scip();

  @Override
  protected Formulation formulation() {
    return formulation;
  }

  @Override
  protected int models() {
    return 200;
  }
}
