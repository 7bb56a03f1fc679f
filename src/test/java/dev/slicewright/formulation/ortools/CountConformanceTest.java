package dev.slicewright.formulation.ortools;

import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.conformance.FormulationConformance;

class CountConformanceTest extends FormulationConformance {

  private final Formulation formulation = CountFormulation.create();

  @Override
  protected Formulation formulation() {
    return formulation;
  }

  @Override
  protected int models() {
    return 200;
  }
}
