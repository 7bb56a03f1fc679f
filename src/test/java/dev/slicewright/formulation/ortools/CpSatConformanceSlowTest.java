package dev.slicewright.formulation.ortools;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;

/** The same with many more models. */
@Tag("slow")
@Timeout(value = 3_600, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CpSatConformanceSlowTest extends CpSatConformanceTest {

  @Override
  protected int models() {
    return 20_000;
  }
}
