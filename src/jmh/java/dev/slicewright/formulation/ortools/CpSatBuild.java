package dev.slicewright.formulation.ortools;

import dev.slicewright.formulation.PlacementModel;

/** Lets benchmarks time the parts of a CP-SAT solve that are ours. */
public final class CpSatBuild {

  private CpSatBuild() {}

  /** Classes of equal items alone; returns how many. */
  public static int classes(PlacementModel model) {
    return ItemClasses.of(model).all().size();
  }

  /** The whole CP-SAT model; returns its number of literals. */
  public static long model(PlacementModel model, int level, long[] held) {
    return program(model, level, held).literals();
  }

  /** The model and its protobuf bytes, which every native call costs; returns their number. */
  public static int bytes(PlacementModel model, int level, long[] held) {
    return program(model, level, held).cpModel().model().toByteArray().length;
  }

  private static CpSatProgram program(PlacementModel model, int level, long[] held) {
    return new CpSatProgram(model, ItemClasses.of(model), level, held);
  }
}
