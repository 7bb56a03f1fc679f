package dev.slicewright.formulation.ortools;

import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.conformance.FormulationConformance;

class MipHighsConformanceTest extends FormulationConformance {

  private final Formulation formulation = MipFormulation.create(MipFormulation.Solver.HIGHS);

  @Override
  protected Formulation formulation() {
    return formulation;
  }

  @Override
  protected int models() {
    return 200;
  }
}
