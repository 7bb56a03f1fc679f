package dev.slicewright.formulation.ortools;

import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.ProcessFormulation;
import dev.slicewright.formulation.conformance.FormulationConformance;
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
            .build();
    formulation.preload();
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
    return 120;
  }
}
