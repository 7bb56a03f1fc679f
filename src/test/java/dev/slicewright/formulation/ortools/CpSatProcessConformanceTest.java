package dev.slicewright.formulation.ortools;

import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.FormulationResult;
import dev.slicewright.formulation.PlacementModel;
import dev.slicewright.formulation.ProcessFormulation;
import dev.slicewright.formulation.conformance.FormulationConformance;
import dev.slicewright.formulation.conformance.RandomModels;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** CP-SAT in a process of its own answers as in this one. */
class CpSatProcessConformanceTest extends FormulationConformance {

  private static ProcessFormulation formulation;

  @BeforeAll
  static void open() {
    formulation =
        ProcessFormulation.builder(CpSatFormulation.class)
            .jvmOptions(List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"))
            .maxProcesses(1) // each loads native code of its own
            .grace(Duration.ofMinutes(1))
            .startLimit(Duration.ofMinutes(2))
            .build();
    // A busy machine may take its time to start a process and load native code there.
    PlacementModel model = RandomModels.line(5, 2, 1);
    for (int tries = 0; tries < 5 && !isReady(model); tries++) {
      // again
    }
  }

  private static boolean isReady(PlacementModel model) {
    return formulation.solve(model, task(0)).status() == FormulationResult.Status.OPTIMAL;
  }

  @AfterAll
  static void close() {
    formulation.close();
  }

  @Override
  protected Formulation formulation() {
    return formulation;
  }

  @Override
  protected int models() {
    return 40;
  }
}
