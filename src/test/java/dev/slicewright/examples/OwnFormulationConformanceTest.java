package dev.slicewright.examples;

import dev.slicewright.formulation.Formulation;
import dev.slicewright.formulation.conformance.FormulationConformance;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;

/** The example of a formulation of one's own says nothing that is not so. */
class OwnFormulationConformanceTest extends FormulationConformance {

  private final Formulation formulation = load();

  /** Examples are compiled to a directory of their own, which is on no class path. */
  private static Formulation load() {
    try (URLClassLoader loader =
        new URLClassLoader(
            new URL[] {Path.of("target", "examples").toUri().toURL()},
            OwnFormulationConformanceTest.class.getClassLoader())) {
      return (Formulation)
          loader
              .loadClass("dev.slicewright.examples.OwnFormulation")
              .getConstructor()
              .newInstance();
    } catch (IOException | ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  protected Formulation formulation() {
    return formulation;
  }

  @Override
  protected int models() {
    return 300;
  }
}
