package dev.slicewright.formulation.ortools;

import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.conformance.FormulationConformance;

class MipSatConformanceTest extends FormulationConformance {

  private final Formulation formulation = MipFormulation.create(MipFormulation.Solver.SAT);

  @Override
  protected Formulation formulation() {
    return formulation;
  }

  @Override
  protected int models() {
    return 200;
  }
}
