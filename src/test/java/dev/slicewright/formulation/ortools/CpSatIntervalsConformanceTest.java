package dev.slicewright.formulation.ortools;

import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.conformance.FormulationConformance;
import dev.slicewright.formulation.conformance.RandomModels;

class CpSatIntervalsConformanceTest extends FormulationConformance {

  private final Formulation formulation = CpSatIntervalsFormulation.create();

  @Override
  protected Formulation formulation() {
    return formulation;
  }

  @Override
  protected int models() {
    return 200;
  }

  @Override
  protected PlacementModel tiny(long seed) {
    return RandomModels.mesh(seed);
  }
}
