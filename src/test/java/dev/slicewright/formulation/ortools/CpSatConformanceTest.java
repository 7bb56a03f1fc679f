package dev.slicewright.formulation.ortools;

import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.conformance.FormulationConformance;

class CpSatConformanceTest extends FormulationConformance {

  private final Formulation formulation = CpSatFormulation.create();

  @Override
  protected Formulation formulation() {
    return formulation;
  }
}
